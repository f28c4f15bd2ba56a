/* order: products of many factors, contracted two at a time.
 *
 * Takes a checked Program. Wherever a reduction runs over a combination from which factors can be taken out (a sum of
 * products, a maximum of sums: semiring.h), of three or more of them or of two of which one is reduced alone, chooses in
 * which order to contract them. A sum of sums is one, where nothing else reads the inner ones, and a mean a sum that is
 * divided. Gives a Program of the same meaning in which each value in between that sums something is a statement of its
 * own, before the one that it is for:
 *
 *     ij, jk, kl -> il        becomes        tmp1[i,k] = ij, jk -> ik
 *                                            tmp1[i,k], kl -> il
 *
 * What one factor alone has is reduced before; what only multiplies is written where it is read. A reduction is left as
 * it is when that does not cost much less in operations and bytes, when no order keeps each of its values within the
 * memory budget, and where a read in it may be out of range and is perhaps behind a `where`. Extents that are not known
 * count as 64. Indices, inputs and what statements make point at those of the checked Program, as lowered ones do. */
#ifndef EINC_ORDER_H
#define EINC_ORDER_H

#include "product.h"

/* One contraction. */
typedef struct OrderStep {
    const char *letters;          /* "ij,jk->ik" */
    double flops;
    double size;                  /* of what it makes, in elements */
    bool stored;                  /* else it is a factor of what reads it, or the result */
} OrderStep;

/* The order of one reduction. */
typedef struct OrderPath {
    const Term *reduction;        /* of the checked Program, the outermost of a sum of sums */
    const char *letters;          /* of all: "ij,jk,kl->il" */
    OrderStep *steps;
    int step_count;
    Dtype dtype;                  /* of what is stored */
    double flops, naive_flops;    /* of all steps, and of one nest over all indices */
    double largest;               /* elements of the largest value that is stored */
    bool guessed;                 /* some extent is not known */
} OrderPath;

typedef struct Order {
    Program *program;
    OrderPath *paths;
    int path_count;
} Order;

/* NULL where everything stays as it is. `wanted`: by tensor id. `memory`: the budget in bytes; 0: none. With NESTS_TILED
 * whatever can be ordered is, with NESTS_LOOPS nothing. */
Order *order(Arena *arena, const Program *program, const bool *wanted, const Extents *extents, Nests nests, int64_t memory);

/* A copy of a program, checked or ordered, whose indices, tensors and terms point at those of the checked one. */
Program *order_copy(Arena *arena, const Program *program);

#endif
