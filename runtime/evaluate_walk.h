/* The walk over a Program: what evaluate.c (the interface), evaluate_term.c (terms) and evaluate_statement.c (what
 * statements make) share. Only they include it. */
#ifndef EINC_EVALUATE_WALK_H
#define EINC_EVALUATE_WALK_H

#include <setjmp.h>

#include "evaluate_value.h"
#include "semiring.h"

/* What a term was at some points, so that none is computed twice. A row is what a reduction makes at once: one element,
 * or all along the indices that it keeps. */
typedef struct Memo {
    bool wanted;
    Index **keys;                 /* the indices that number the rows */
    int key_count;
    int64_t rows, length;         /* rows: -1 where their number does not fit into 63 bits */
    bool whole;                   /* all rows are kept, else only the last */
    int64_t held;                 /* which row that is */
    unsigned char *known;         /* by row */
    Value *values;                /* NULL until the first is computed */
} Memo;

/* Memory that a computation holds; in a list, so that it can be given back when the computation stops. */
typedef struct Scratch Scratch;

/* What a product is of: numbers of f32, two of bf16 that are multiplied as such, one of them; or another dtype's. */
typedef enum { OTHERS, SINGLE, FLUSHED, MIXED } Products;

/* What is known of a term wherever the loops stand. */
typedef struct Facts {
    const Term *same;             /* a cast's argument, whose dtype has no number that the cast's lacks; NULL of others */
    bool plain;                   /* a read of an array, each axis at an index */
    Products products;
    bool rounds_softmax;
    double scaling, coarseness;   /* how exact the argument is that a kernel has: so many units; to this part of it */
} Facts;

struct Evaluator {
    const Program *program;
    const Extents *extents;
    const Array *const *arrays;
    int64_t *at;                  /* [index id]: where the loops stand */
    Memo *memos;                  /* [term id] */
    Facts *facts;                  /* [term id] */
    const Term **joined;          /* [term id]: of a combination whose factors a kernel may contract in any order
                                     (semiring.h), the reduction over it */
    Value **scattered;            /* [tensor id]: all elements of what a scatter makes; NULL until one is asked for */
    Scratch *scratch, *spare;     /* the latter: of small ones that were given back */
    jmp_buf *stop;                /* where to go when something is out of range, or memory runs out */
    const Term *culprit;
    const Position *astray;       /* what is out of range where nothing was read: a target's position */
    double product_error;         /* of products of f32, beside their rounding: so much of their size */
    bool scales;                  /* some functions' arguments are scaled first */
    bool may_miss;                /* an open condition chose a branch that reads out of range */
    char error[200];
    bool (*goes_on)(void *user);  /* NULL: it does */
    void *user;
    unsigned terms;               /* how many were asked for so far */
};

/* ---- evaluate_term.c ---- */

void walk_find_facts(Evaluator *e);

/* The term where the loops stand. */
void walk_term(Evaluator *e, const Term *term, Value *value);

/* The argument of a reduction at all `count` points of the reduced indices, into `x` or, where that is NULL, into
 * `sum`. */
void walk_reduced(Evaluator *e, const Term *term, int64_t count, Value *x, Sum *sum);

/* The positions of a read, or of a target when `read` is NULL. False when one depends on an open value; what is out of
 * range stops. */
bool walk_positions(Evaluator *e, const Term *read, const Tensor *tensor, const Position *positions, int64_t *at);

/* Which element of its row a term is at. */
int64_t walk_place(const Evaluator *e, const Term *term);

/* The number of points that indices run over, -1 when it does not fit into 63 bits; and the loop over them. */
int64_t walk_count(const Evaluator *e, Index *const *indices, int count);
void walk_first(Evaluator *e, Index *const *indices, int count);
void walk_next(Evaluator *e, Index *const *indices, int count);

Value walk_load(const Array *array, const int64_t *position);

/* Zeroed memory, until walk_give_back(). */
void *walk_take(Evaluator *e, int64_t count, size_t size);
void walk_give_back(Evaluator *e, Scratch *down_to);
void walk_free_spare(Evaluator *e);
_Noreturn void walk_stop_without_memory(Evaluator *e);

/* ---- evaluate_join.c ---- */

/* Finds the combinations that kernels may contract in any order. */
void walk_find_joined(Evaluator *e);

/* One of them where the loops stand. */
Value walk_joined(Evaluator *e, const Term *top);

/* ---- evaluate_statement.c ---- */

const Output *walk_output(const Tensor *tensor);

/* Puts the loops where a plain target has this element. False where it has none: beside the diagonal of an index that
 * stands twice. */
bool walk_to(Evaluator *e, const Output *output, const int64_t *position);

/* An element of what a statement makes. */
Value walk_element(Evaluator *e, const Tensor *tensor, const int64_t *position);

#endif
