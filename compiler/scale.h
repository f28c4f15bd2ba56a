/* How values change with a maximum that is known of some points of an index, and not yet of all: where a chain of reductions is
 * gone through in blocks, as lower_sweep.c and plan_fuse.c do.
 *
 * What was made with the maximum so far is exp(x - before) and not exp(x - now). As both differ by a factor that is the same for
 * all points, sums of them can be mended. So a value that reads such a maximum has to be homogeneous in exp(-maximum), of degree
 * 1. Besides x must be what the maximum is of: else a power could be infinite before the maximum has grown. */
#ifndef EINC_SCALE_H
#define EINC_SCALE_H

#include "program.h"

typedef enum {
    SCALE_NONE,                   /* not at all */
    SCALE_ZERO,                   /* it is 0 */
    SCALE_POWER,                  /* by a factor exp(before - now) */
    SCALE_BARE,                   /* likewise, but not where the maximum is still -inf */
    SCALE_OTHER                   /* in another way, or nobody knows */
} ScaleKind;

typedef struct Scale {
    ScaleKind kind;
    const Tensor *of;             /* SCALE_POWER, SCALE_BARE: the maximum */
} Scale;

/* Who asks, and what is known; a term is looked at once. */
typedef struct Scaling {
    void *user;
    Scale (*read)(void *user, const Term *read);               /* how what a tensor has changes */
    const Tensor *(*maximum)(void *user, const Term *read);    /* the tensor, if it has such maxima; else NULL */
    bool (*is_same)(void *user, const Index *a, const Index *b);    /* indices of two statements that go together */
    bool sums;                    /* sums inside of a value change as what they add up */
    Scale *known;                 /* [term id] */
    const Term **partner;         /* [term id]: another statement's term that is the same; NULL: none was found */
    bool *seen;                   /* [term id] */
} Scaling;

/* What is known of a program's terms; the caller fills in who asks. */
void scaling_start(Scaling *s, Arena *arena, const Program *program);

/* Tensors that the term reads were asked for before. */
Scale scale_of(Scaling *s, const Term *term);
bool scale_is_power(Scale scale);
bool scale_is_fixed(Scale scale);

/* Whether terms of two statements are one, up to the names of indices. */
bool scaling_is_same(Scaling *s, const Term *a, const Term *b);

#endif
