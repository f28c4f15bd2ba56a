/* What the parts of lower share: lower.c (statements), lower_copy.c (terms), lower_softmax.c, lower_mask.c and lower_make.c
 * (the new program). Only they include it. */
#ifndef EINC_LOWERING_H
#define EINC_LOWERING_H

#include "lower.h"
#include "product.h"

/* Which indices of the new program stand for those of the text that is being copied. */
typedef struct Instance Instance;
struct Instance {
    const Instance *outer;
    const Index *from;
    Index *to;
};

/* The conditions of the wheres around a term. */
typedef struct Path Path;
struct Path {
    const Path *outer;
    const Term *condition;
    const Instance *instance;
    bool negated;
};

typedef struct Memo Memo;
struct Memo {
    Memo *next;
    const Term *from;
    const Instance *instance;
    const Path *path;             /* inside these wheres; NULL: anywhere */
    Term *to;
};

/* The loops around the place that is being written. */
typedef struct Context Context;
struct Context {
    int statement;
    const Term *root;             /* of the checked program: the whole value of the statement */
    Index **loops;
    int loop_count;
    const Term *reduced;          /* of the checked program: what the innermost reduction around reduces; NULL: there is none */
    bool again;                   /* what it reduces is a product that is made for each point, whether it depends on it or not */
    bool taken;                   /* by a scan or a ranking, one element after the other, or not from a product's registers */
    const Path *path;
    Memo *memo;
    Context *inner, *next;        /* the contexts of the reductions inside, by their loops */
};

/* Terms that are read from a temporary wherever they are met. */
typedef struct Forced Forced;
struct Forced {
    const Forced *outer;
    const Term *term;
    Tensor *tensor;
    Index *const *axes;           /* its indices in the order of the tensor's axes */
};

/* A reduction of the checked program as one of another's results. */
typedef struct Across Across;
struct Across {
    const Across *next;
    const Term *term;
    Term *first, *second;
    Tensor *stored;               /* what the first one makes */
};

/* What is known of a term of the checked program. */
typedef struct Facts {
    int cost;                     /* operations for one element, roughly; a reduction is COST_LIMIT */
    bool can_miss;                /* reads where a read can be out of range */
    bool is_rounded;              /* all that becomes of it is rounded to bf16 */
} Facts;

enum { COST_LIMIT = 1000, COST_CHEAP = 12 };

typedef struct Lower {
    Arena *arena;
    const Program *in;
    Program *out;
    int *ended;                   /* statements in the order in which they were ended */
    int ended_count;
    Tensor **tensors;             /* [in tensor id]: its copy, or NULL when it is written into its readers */
    Facts *facts;                 /* [in term id] */
    Tensor **temporaries;         /* [in term id]: what it was stored in, */
    Tensor **parts[2];            /* or its parts, of a complex product, */
    Tensor **masked;              /* and where all who read it ask its where themselves */
    int temporary_count;
    const unsigned short *kinds;   /* [in term id]: see lower() */
    const Forced *forced;
    const Across *across;
    const Turn *turns;            /* [in statement id]: see lower(); NULL: none */
    const int64_t *const *strides;
    const Sweeping *sweeping;
    int sweep_count;
    const Index *turned;          /* of the statement at hand, that it is turned along; NULL: it is not; */
    bool rows_short;              /* and whether that is as short rows */
} Lower;

/* lower_make.c */
Term *lower_term(Lower *l, const Context *c, TermKind kind, Dtype dtype, Span span);
void lower_depend_on_index(Lower *l, Term *term, Index *index);
void lower_depend_on(Lower *l, Term *term, const Term *used);
Term *lower_map(Lower *l, const Context *c, Function function, Dtype dtype, Term *a, Term *b);
Term *lower_cast(Lower *l, const Context *c, Dtype dtype, Term *x);      /* `x`, if it has that dtype */
Term *lower_number(Lower *l, const Context *c, Dtype dtype, double value, Span span);
Term *lower_select(Lower *l, const Context *c, Term *condition, Term *yes, Term *no);
Term *lower_read(Lower *l, const Context *c, Tensor *tensor, Position *positions, Span span);
Index *lower_index(Lower *l, int statement, const Index *origin);
Tensor *lower_tensor(Lower *l, const Tensor *origin, bool wanted);
Tensor *lower_temporary(Lower *l, int rank, Dtype dtype);
Tensor *lower_parts(Lower *l, const Tensor *whole);    /* of an input */
Position lower_plain(Lower *l, Index *index);
int lower_begin(Lower *l);
void lower_output(Lower *l, int statement, Tensor *tensor, Term *value, Position *positions);
void lower_end(Lower *l, int statement, Span span);
const Instance *lower_link(Lower *l, const Instance *outer, const Index *from, Index *to);
Index *lower_image(const Instance *instance, const Index *index);
Context lower_open(Lower *l, Index *const *indices, int count, const Instance **instance);
/* The links to fresh indices of a statement for those that a reduction runs over, listed in `over`. */
const Instance *lower_link_over(Lower *l, const Context *c, const Term *reduce, const Instance *instance, Index **over);
/* Opens a statement over the images of `kept`, with the links to its loops. */
Context lower_open_over(Lower *l, Index *const *kept, int count, const Instance *outside, const Instance **instance);

/* lower_compare.c: a comparison of integers as bounds want it; NULL: it is no such */
Term *lower_comparison(Lower *l, Context *c, const Term *term, const Instance *instance);

/* lower_copy.c */
Term *lower_copy(Lower *l, Context *c, const Term *term, const Instance *instance);
Position *lower_positions(Lower *l, Context *c, const Position *positions, int rank, const Instance *instance);
Tensor *lower_store_in(Lower *l, const Context *c, Term *value);
Tensor *lower_store(Lower *l, const Context *c, Term *value, Span span);
bool lower_is_written_in(const Lower *l, const Tensor *tensor);
const Term *lower_value(const Tensor *tensor);
Context lower_widen(Lower *l, const Context *c, Index *const *more, int count);
Term *lower_reduction(Lower *l, const Context *c, const Term *like, Index **over, int over_count, Term *argument);
Term *lower_copy_reduction(Lower *l, Context *c, const Term *term, const Instance *instance);
Term *lower_copy_again(Lower *l, Context *c, const Term *term, const Instance *instance);
Term *lower_copy_stored(Lower *l, Context *c, Tensor **stored, const Term *term, const Instance *instance);
Term *lower_read_temporary(Lower *l, Context *c, Tensor *tensor, Index *const *indices, const Instance *instance, Span span);

/* lower_nested.c: a reduction with those of the same kind that it goes through, as one */
Term lower_as_one(const Lower *l, const Term *term);

/* lower_softmax.c: with NaN nowhere in a row of nothing but -inf */
Term *lower_softmax(Lower *l, Context *c, const Term *term, const Instance *instance);

/* lower_log.c: of a log-space product, in the loops around it */
Term *lower_log_product(Lower *l, Context *c, const Term *log, const Instance *instance);

/* lower_where.c: of a WhereProduct, likewise */
Term *lower_where_product(Lower *l, Context *c, const Term *term, const Instance *instance);

/* lower_across.c: a reduction of indices of both sides of a product, as two; whether it is one, and the first of each of several
 * that share their loops and their value, in one statement */
bool lower_is_across(const Lower *l, const Term *term);
void lower_across_first(Lower *l, const Term *const *terms, int count);
Term *lower_across(Lower *l, Context *c, const Term *term, const Instance *instance);

/* lower_place.c: of an extremum of a PlaceSum, likewise */
Term *lower_place_product(Lower *l, Context *c, const Term *place, const Instance *instance);
/* A reduction as it stands, where a guard refuses what is faster. */
Term *lower_refused(Lower *l, Context *c, const Term *term, const Instance *instance);

const Instance *lower_link_all(Lower *l, const Term *term, const Context *c);
Index **lower_images(Lower *l, const Term *term, const Instance *instance);

/* lower_parts.c: complex numbers as two real ones. A function or a sum of such, NULL where it stays one; whether a sum
 * is one that may be two; and a product as two, in statements of their own */
Term *lower_parted_map(Lower *l, const Context *c, const Term *term, Term *const *arguments);
bool lower_sums_parts(const Term *term);
Term *lower_parted_sum(Lower *l, const Context *c, const Context *inner, const Term *term, Index **over, Term *argument);
Term *lower_parted_product(Lower *l, Context *c, const Term *term, const Instance *instance);

/* lower_round.c: an element of a sum of products whose factors, where they are temporaries that are cast to bf16, are read as such */
Term *lower_rounded(Lower *l, const Context *c, Term *x);
/* Of the checked program: the sums that a term is a multiple of, by a constant, where they are stored without it; else NULL. */
const Term *lower_straight(const Lower *l, const Term *term, const Term **constant);

/* What is copied from one statement into another. */
typedef struct TermCopy {
    Lower *l;
    int statement;
    const Instance *instance;     /* grows as indices are met */
    Term **copies;                /* [term id] */
} TermCopy;

/* lower_again.c: a value is made again for one of its readers; false where it cannot be. The statements' new order is that of
 * l->ended. */
bool lower_again(Lower *l, const Extents *extents, Again again);
Term *lower_copy_term(TermCopy *c, const Term *term);

/* lower_sweep.c: takes one index of temporaries in blocks; false when there is none that can be. The statements' new order is that
 * in which they "ended". */
bool lower_sweep(Lower *l, const Sweeping *sweeping);
bool lower_may_sweep(const Sweeping *sweeping, const Index *index);    /* whether it is long enough */

/* lower_mask.c: the argument of a softmax if it is where(c, x, -inf), with a condition that bounds loops over the softmax's
 * indices and may be asked by each reader; else NULL */
const Term *lower_mask(Lower *l, const Term *softmax);
/* where(c, 0, x) as where(!c, x, 0), if that bounds loops; else as it is. */
const Term *lower_turned_where(Lower *l, const Term *where);

#endif
