/* What the parts of the emitter of tiled products on a grid share: emit_block.c (the functions), emit_block_slices.c (how operands
 * come to shared memory) and emit_block_sums.c (what becomes of the sums). Only they include it. */
#ifndef EINC_EMIT_BLOCK_H
#define EINC_EMIT_BLOCK_H

#include "emitting.h"

/* Where a flattened group of indices has one of them. */
typedef struct Along {
    const Index *index;
    const char *first, *end;      /* as C, in all functions */
} Along;

typedef struct BlockTiling {
    const Contract *c;
    const Step *step;
    int number;                   /* of the step */
    Dtype dtype;                  /* of the sums */
    const char **names;           /* [lowered index id]: of the indices' variables, the same in all functions */
    Along *rows, *columns, *depth;
    const Term **first;           /* the reductions behind the product, as their domain leaves them */
    int first_count;
    const Term **inside;          /* under these conditions */
    int inside_count;
    const Term *asked;            /* where it holds nowhere in a tile, nobody asks for the tile's sums; NULL: all are asked for */
    bool copied[2];               /* whether rows, and columns, are copied as they are */
    ParameterSet parameters;      /* all that a function may ask for */
} BlockTiling;

/* emit_block.c */
Scope *block_open(Emitter *e, BlockTiling *t);
const char *block_close(Emitter *e);             /* what was written, with the declarations that it needs */
void block_decode(Emitter *e, const BlockTiling *t, const IndexSet *set, const Along *along, const char *number);   /* the indices of a flattened number */
const char *block_state(Emitter *e, int r, const Component *component);    /* the name of a thread's array */
void block_bind_kept(Emitter *e, const BlockTiling *t);                  /* the indices of the loops around the tiles */
void block_know_sum(Emitter *e, const BlockTiling *t);                   /* sums[r][c] */

/* emit_block_slices.c */
bool block_is_copied(Emitter *e, const BlockTiling *t, int side);
/* The functions that bring one side's slices. calls: that of what finds where they begin, or ""; the text of what fetches them; that
 * of what puts them where they belong, or "". */
const char *block_slices(Emitter *e, BlockTiling *t, int side, const char *calls[3]);
const char *block_call(Emitter *e, const BlockTiling *t, const char *name, const char *body);

/* emit_block_sums.c: whole functions */
const char *block_take(Emitter *e, BlockTiling *t, const char **call);
const char *block_meet(Emitter *e, BlockTiling *t, const char **call);
const char *block_finish(Emitter *e, BlockTiling *t, const char **call);

#endif
