/* Products: reductions of a pointwise combination of two values, such as sum[k](A[i,j,k] * B[m,n,k]) or
 * min[k](A[i,k] + B[k,j]), in which the indices that stay belong to one side or to both. They are recognised by the
 * shape of terms, in checked and in lowered programs. */
#ifndef EINC_PRODUCT_H
#define EINC_PRODUCT_H

#include "extents.h"
#include "target.h"

typedef struct Product {
    const Term *reduce;           /* the reduction over the contracted indices; one simple state, */
    bool places;                  /* or an extremum and its place */
    const Term *side[2];          /* what it combines: pointwise values, each of its own indices and shared ones */
    IndexSet own[2];              /* the indices that stay, of one side only */
    IndexSet batch;               /* that stay, of both sides or of neither: for each of these it is made again */
} Product;

/* Whether a term is a product; fills it in. */
bool product_match(Arena *arena, const Term *term, Product *product);

/* The one product that a pointwise expression is made of, or NULL: of several terms no nest makes all. */
const Term *product_inside(Arena *arena, const Term *term);

/* The side whose own indices hold all of `over`: those of a reduction behind the product. -1: neither. */
int product_side(const Product *product, Index *const *over, int count);

/* Those of a reduction's indices that are a side's own, in `over`, and the others, in `rest`. */
void product_divide(Arena *arena, const Product *product, int side, const Term *reduce, IndexSet *over, IndexSet *rest);

/* Of columns that lie as tiles read them and come from memory, so few tiles of rows are done before packing would be: they are met
 * where they are. */
enum { IN_PLACE_TILES = 2 };

/* Rows that meet fewer panels are asked for earlier, and read in place where they come from memory. */
enum { PANELS_FEW = 4 };

/* Which nests a plan may have: a product is tiled where that pays; wherever it can be, in short
 * blocks, for tests; or never. */
typedef enum { NESTS_BY_COST, NESTS_TILED, NESTS_LOOPS } Nests;

/* Whether a tiled product is worth its packing: enough rows, columns and contracted points. Extents that are not known
 * count as 64. `over`: what a first reduction behind the product runs over. On a grid, and with a
 * reduction behind it where rows need not be packed as vectors, few rows pay that meet many columns; not where there is no `target`. */
bool product_pays(const Product *product, Nests nests, const Extents *extents, Index *const *over, int count, const Target *target);

/* The place of an extremum of a sum some of whose values lack all that is contracted: where those are finite, that of the others. */
typedef struct PlaceSum {
    const Term *sides[2];
    const Term **others;
    int side_count, other_count;
} PlaceSum;

bool product_of_place(Arena *arena, const Term *term, PlaceSum *sum);
/* The place in the sum of the two sides alone, if that has all its indices; else NULL. */
const Term *product_place_of_sides(Arena *arena, const Term *term, const PlaceSum *sum);

/* A reduction of two values' combination where a condition holds, which one of them may be under alone: what is left out stays so,
 * combined with any finite number. */
typedef struct WhereProduct {
    const Term *condition;
    const Term *value;            /* the combination, a map of two */
    const Term *other;            /* what it is where the condition fails */
    int under;                    /* which of the two */
} WhereProduct;

/* `product`: what it is then. */
bool product_of_where(Arena *arena, const Term *term, WhereProduct *w, Product *product);

/* Whether a norm is lowered to a sum of sizes, or the root of one of squares. */
bool norm_is_sum(const Term *term);

/* Whether a reduction of all elements is that of its values of parts of equal size, which may be taken in any order. */
bool reduction_nests(const Term *term);

/* What a reduction of a checked program is to the products that pay. */
enum {
    PRODUCT_ITSELF = 1,
    PRODUCT_END = 2,              /* the first reduction behind one: what is done with it next has its own loops */
    PRODUCT_GUARDED = 4,          /* most numbers are those of a product: of exponentials for a logsumexp of a sum of two values, of its
                                   * sides for a PlaceSum */
    PRODUCT_OF_BF16 = 8,          /* a sum of products of two bf16 numbers */
    PRODUCT_ROUNDS = 16,          /* its factors that are rounded to bf16 are stored so; */
    PRODUCT_STRAIGHT = 32,        /* its sums are stored as they are, and multiplied by a constant where they are read: those of a
                                   * softmax, on CPUs */
    PRODUCT_AGAIN = 64,           /* a first reduction whose product is made for each point of the indices it lacks */
    PRODUCT_OF_COMPLEX = 128,     /* a sum of products of two complex numbers */
    PRODUCT_ACROSS = 256,         /* a first reduction of both sides' indices: two, over those of the first side before the others, */
    PRODUCT_ACROSS_SECOND = 512,  /* or over those of the second one */
    PRODUCT_STORED = 1024,        /* a reduction whose product is stored, for it cannot take that from registers */
    PRODUCT_WHERE = 2048,         /* a WhereProduct */
    PRODUCT_SCATTERED = 4096      /* on CPUs, one that is stored before a `+=` scatters it */
};

/* By term id. */
unsigned short *product_kinds(Arena *arena, const Program *program, Nests nests, const Extents *extents, const Target *target);

#endif
