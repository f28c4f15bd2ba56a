/* What the parts of the emitter of tiled products on a grid share: emit_block.c (the functions), emit_block_fetch.c and
 * emit_block_slices.c (how operands come to shared memory), emit_block_sums.c (what becomes of the sums), and for products in a
 * ring emit_hopper.c (the functions), emit_hopper_sums.c (the sums), emit_wgmma.c (the instruction) and emit_hopper_maps.c (the
 * host's side). Only they include it. */
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
    bool rows_pass;               /* tiles of rows follow each other, whose columns of a single slice stay */
    bool copied[2];               /* whether rows, and columns, are copied as they are */
    bool zeros;                   /* lines that are not there are zeros: factors that nobody made are multiplied with them */
    ParameterSet parameters;      /* all that a function may ask for */
} BlockTiling;

/* emit_block.c */
Scope *block_open(Emitter *e, BlockTiling *t);
const char *block_close(Emitter *e);             /* what was written, with the declarations that it needs */
void block_decode(Emitter *e, const BlockTiling *t, const IndexSet *set, const Along *along, const char *number);   /* the indices of a flattened number */
const char *block_state(Emitter *e, int r, const Component *component);    /* the name of a thread's array */
void block_bind_kept(Emitter *e, const BlockTiling *t);                  /* the indices of the loops around the tiles */
void block_know_sum(Emitter *e, const BlockTiling *t, const char *sum);

/* The functions that bring slices, and what the tile's function does with them. */
typedef struct BlockFetch {
    const char *functions[2];
    const char *find_columns, *begin, *sums, *tile;    /* calls, or ""; the last is both before it */
    const char *whole, *quick;    /* what takes whole slices, and its call; "" */
    Text find, room, first, next, put, before, mentions;
} BlockFetch;

void block_begin(Emitter *e, BlockTiling *t);    /* finds the names, and what the step goes over */
/* The product's functions, with what follows it. */
const char *block_text(Emitter *e, BlockTiling *t, const BlockFetch *f, const char *title, const char *after, const char *finish, const char *whole);
/* One product is added to its sum. */
const char *block_step_lines(Emitter *e, BlockTiling *t, const char *sum, const char *left, const char *right, int indent);
const char *block_renamed(Emitter *e, const char *text, const char *name, const char *as);    /* a call, with other words for a name */
void block_open_tiles(Emitter *e, const BlockTiling *t, int side);    /* what is done for each tile of rows, or columns */
void block_close_tiles(Emitter *e, const BlockTiling *t, int side);
void block_declare_states(Emitter *e, const BlockTiling *t);
void block_start_states(Emitter *e, const BlockTiling *t);
int block_side(const BlockTile *tile, Dtype dtype);    /* so many rows, or columns, of a thread lie side by side */
const Along *block_plain_bounds(Emitter *e, const IndexSet *set);
const char *block_count(Emitter *e, const IndexSet *set, const Along *along);  /* how many points a flattened group has */
void block_find_rows(Emitter *e, BlockTiling *t);                              /* that the step goes over, inside its loops */
void block_open_loops(Emitter *e, const BlockTiling *t, const IndexSet *set);
void block_close_loops(Emitter *e, int count);
/* What of the rows the first reduction asks for, as its domain leaves it: their bounds, and a condition that they have to meet, or
 * NULL. */
const LoopBounds *block_bounds(Emitter *e, BlockTiling *t, const char **around);

Sample block_sample(const BlockTiling *t, const char *file);

/* emit_block_fetch.c */
void block_fetch(Emitter *e, BlockTiling *t, BlockFetch *f);
/* The parameters of a function that finds points and stages itself, as far as some text mentions them. */
const char *block_tile_list(Emitter *e, const BlockTiling *t, const char *mentions, bool declare);

/* emit_block_matrices.c: what is the tensor cores' own, and the function around the sums of numbers in parts */
const char *block_matrices(Emitter *e, const BlockTiling *t);
const char *block_again(Emitter *e, const BlockTiling *t, const BlockFetch *f);

/* emit_block_slices.c */
bool block_is_copied(Emitter *e, const BlockTiling *t, int side);
/* The functions that bring one side's slices. calls: that of what finds where they begin, or ""; the text of what fetches them; that
 * of what puts them where they belong, or "". */
const char *block_slices(Emitter *e, BlockTiling *t, int side, const char *calls[3]);

/* The same for whole slices of what is copied, where both sides are, for plain units: calls of what finds where rows begin and of
 * what copies them, and what those mention. */
typedef struct BlockWhole {
    const char *functions, *keep, *copy, *mentions;
} BlockWhole;

void block_whole_side(Emitter *e, BlockTiling *t, int side, BlockWhole *whole);

/* The same on tensor cores, where such copies can bring both sides. */
bool block_are_quick(const Emitter *e, const BlockTiling *t);
void block_quick_side(Emitter *e, BlockTiling *t, int side, BlockWhole *whole);
const char *block_call(Emitter *e, const BlockTiling *t, const char *name, const char *body);

/* emit_block_brief.c: appends the functions for the number of contracted points that is expected, if that is small: the lines that
 * take them, or "" */
const char *block_brief(Emitter *e, const BlockTiling *t);

/* emit_block_sums.c: one sum is taken, or stored; the ends of the loops over a thread's columns and rows; whole functions */
void block_use_sum(Emitter *e, const BlockTiling *t, const char *sum);
void block_close_sums(Emitter *e, const BlockTiling *t);
const char *block_take(Emitter *e, BlockTiling *t, const char **call);
const char *block_meet(Emitter *e, BlockTiling *t, const char **call);
const char *block_finish(Emitter *e, BlockTiling *t, const char **call);

/* A step in a ring: templates/cuda/hopper.cu. */
typedef struct RingStep {
    BlockTiling t;
    RingSide side[2];
    const char **first, **end;    /* [lowered index id]: the first point of an index that a tile has; behind the last that is asked for */
    const char *shift;            /* how much further on the right side's lines are than their index says; or NULL */
    const char **members;         /* of the tile's struct */
    int member_count;
    ParameterSet parameters;
} RingStep;

/* emit_hopper.c */
RingStep ring_begin(Emitter *e, const Step *step, const Contract *c, int number);
void ring_forget_blocks(Emitter *e);                 /* of the step that has just begun: those are the plain form's */
const char *ring_tile(Emitter *e, RingStep *r);      /* where a tile is: its struct, and what finds it */
const char *ring_tile_count(Emitter *e, const RingStep *r);    /* how many tiles there are */
const char *ring_lines(Emitter *e, const RingStep *r);    /* of the left side in a tile */
const char *ring_place(Emitter *e, const RingStep *r, int side, const Index *index);    /* where a tile begins along an axis */
const char *ring_from(Emitter *e, const RingStep *r, const Index *index);    /* the first point that a tile goes over: its member */
void ring_add_member(Emitter *e, RingStep *r, const char *name);    /* of a tile */
void ring_open(Emitter *e, RingStep *r);
const char *ring_close(Emitter *e, RingStep *r);     /* with what it mentions of its tile */
void ring_bind_others(Emitter *e, const RingStep *r);

/* emit_hopper_sums.c: the indices of a thread's r-th row, and of its c-th column. The conditions that the row is there, and that the
 * column is not */
const char *ring_bind_row(Emitter *e, const RingStep *r, bool clamps);    /* one that is not there is taken for the last */
void ring_bind_column(Emitter *e, const RingStep *r, bool clamps);
const char *ring_row_there(Emitter *e, const RingStep *r);
const char *ring_column_past(Emitter *e, const RingStep *r);
/* Whole functions, and their calls. */
const char *ring_use(Emitter *e, RingStep *r, const char *calls[2]);
const char *ring_finish(Emitter *e, RingStep *r, const char **call);

/* emit_wgmma.c: products with so many lines of the right side, unless the function is there; the left side in shared memory, or in words */
void emit_wgmma(Emitter *e, Dtype dtype, int columns);
void emit_wgmma_words(Emitter *e, Dtype dtype, int columns);

/* emit_hopper_maps.c */
int ring_axes(Emitter *e, const Contract *c, int side, const Index **axes);    /* of a side's map, innermost first */

#endif
