/* What emit_fuse.c, steps that run together on a grid, and emit_hopper_fuse.c, the same in a ring, share. Only they include it. */
#ifndef EINC_EMIT_FUSE_H
#define EINC_EMIT_FUSE_H

#include "emit_block.h"

typedef struct Fused {
    const Launch *launch;
    const Fuse *fuse;
    const Step *last;
    BlockTiling first, values;    /* the first product, and how values come to shared memory */
    Contract behind;              /* the latter: its columns are what has a line or a place of its own there */
    RingStep *ring;               /* of the first product, for templates/cuda/hopper_fuse.cu; NULL: for fuse.cu */
    const char *sum, *product;    /* a thread's */
    const Term *scaled;           /* the first product times a number, which is left to the powers; NULL: they take what it is */
    const char *scale;            /* that number, for powers of 2 */
    bool reaches;                 /* a ring leaves out columns that nobody asks for, and */
    bool masks;                   /* asks only at the edges of what it reaches, behind the first map */
    ParameterSet parameters;      /* all that a function may ask for */
} Fused;

bool fused_is_state(const Fused *f, int s);
const char *fused_state(Emitter *e, const Fused *f, int s);    /* the name of a thread's array of its rows' states */
/* The functions of the steps between the products, and the calls of these. */
const char *fused_between(Emitter *e, Fused *f, const char **calls);
const char *fused_finish(Emitter *e, Fused *f, const char **call);    /* what the last step stores */

/* emit_hopper_fuse.c: whether a row's columns are those from one on to another of a tile, by lines in front of its columns' loop; NULL:
 * the condition says more than that */
const char *fused_limits(Emitter *e, const Fused *f, const Term *condition);

/* emit_fuse_power.c: in a ring, how powers of a row's sums are taken, exp(x - its maximum) */
void fused_find_scale(Emitter *e, Fused *f);
const char *fused_find_most(Emitter *e, const Fused *f, const Step *step);    /* a row's line before those of its columns; its name, or "" */
void fused_bind_power(Emitter *e, const Fused *f, const Step *step, const char *most);    /* in a column */
const char *fused_change(Emitter *e, const Fused *f, const char *before, const char *now);    /* when the maximum has changed */

#endif
