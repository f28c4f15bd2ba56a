/* A sweep while lower() makes it: lower_sweep.c finds which statements make a chain, lower_carry.c writes them anew. */
#ifndef EINC_LOWER_SWEEP_H
#define EINC_LOWER_SWEEP_H

#include "lowering.h"
#include "scale.h"

typedef struct Sweeper {
    Lower *l;
    int *parent;                  /* [index id]: classes of indices along which temporaries are read: a forest */
    int index_count, tensor_count;    /* before anything is written */
    int class;                    /* of the indices that are swept */
    Index **swept;                /* [statement id]: its index of that class; NULL: it has none */
    Scale *scales;                /* [tensor id]: of what is kept along it */
    bool *is_maximum;             /* [tensor id]: the largest along it, and nothing else */
    Index ***axes;                /* [tensor id]: as its statement has them that is taken apart */
    Tensor **before, **factor;    /* [tensor id]: of a maximum: that of the blocks before, and exp(before - now) */
    Sweep *sweep;
    int *order, order_count;      /* the statements' new order */
    Scaling scaling;
} Sweeper;

typedef struct Roots {
    const Index *swept;
    Term **list;                  /* the reductions over the index that is swept */
    int count;
    bool fits;                    /* nothing else is there that would have to be cut */
    bool *seen;                   /* [term id] */
    Arena *arena;
} Roots;

/* lower_sweep.c */
int sweep_class(const Sweeper *s, int index);
/* The one index of a class that a statement has; NULL when it has none; *count: how many. */
Index *sweep_member(const Sweeper *s, const Statement *statement, int class, int *count);
bool sweep_stores(const Tensor *tensor);                       /* it is a temporary */
bool sweep_keeps(const Sweeper *s, const Statement *statement);    /* its result has the index that is swept */
bool sweep_ranks(const Statement *statement);                  /* its results are the best of all points, or their places */
Roots sweep_roots(const Sweeper *s, const Statement *statement);
/* The indices that a statement has for the axes of a maximum: those that it keeps. NULL: it lacks one. */
Index **sweep_axes(const Sweeper *s, const Statement *statement, const Tensor *maximum);

/* lower_carry.c: the statements have their new order in l->ended */
void sweep_rewrite(Sweeper *s);

#endif
