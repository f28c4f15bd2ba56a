/* What the parts of the planner share: plan.c (the whole), plan_step.c (one nest), plan_launch.c (what runs together)
 * and plan_storage.c (where temporaries are). Only they include it. */
#ifndef EINC_PLANNING_H
#define EINC_PLANNING_H

#include "plan.h"
#include "state.h"

typedef struct Planner {
    Arena *arena;
    Plan *plan;
    const PlanHints *hints;
    bool *reads;                  /* [step * step_count + maker]: see planner_reads(); once all steps are there */
} Planner;

enum {
    EXTENT_GUESS = 64,
    NO_STRIDE = -1,
    FAR = 1 << 30,                /* elements: so far apart is what is farther, or not known */
    AHEAD_BYTES = 1024            /* of a prefetch: the hardware's own gets lost among many rows */
};

/* An index's extent as far as it is known, of one that is swept that of a block; EXTENT_GUESS otherwise. */
double planner_extent(const Planner *planner, const Index *index);
bool planner_knows(const Planner *planner, const Index *index);    /* whether that is its extent */

/* The stride that the caller's tensor is expected to have along an axis; NO_STRIDE for temporaries. */
int64_t planner_stride(const Planner *planner, const Tensor *tensor, int axis);

/* plan_step.c */
Step *plan_step(Planner *planner, const Statement *statement, int id);

/* The axis of a temporary whose elements lie side by side: the one that its maker's lanes run along. */
int step_inner_axis(const Step *maker, const Tensor *tensor);

int64_t planner_add_stride(int64_t sum, int64_t coefficient, int64_t stride);    /* what is too large a number is far */
/* Whether what is read at neighbours along an index lies side by side. */
bool planner_reads_runs(const Planner *planner, const Term *read, const Index *index);

/* The same for a step of a launch of several, now that its blocks are known, if one point of what its lanes run along would be left. */
void step_plan_again(Planner *planner, const Launch *launch, int place);

/* Whether the step's reductions all run over the same indices, so that their outermost loop can be cut into parts. */
bool step_can_split(const Step *step);
void step_move_last(Step *step, const Index *index);    /* the loop over it is the innermost one */
bool step_has_teams(const Step *step);    /* on a grid: the lanes of a warp work on one point */

/* plan_lanes.c: sets the index along which a step's lanes run where loops make it, or NULL; one of which the launch's blocks, if they are
 * known, have several points. And for how many lanes the values that vary along it leave room */
void step_choose_vector(const Planner *planner, Step *step, const Launch *launch, int place);
int step_lanes(const Planner *planner, const Step *step);
bool step_has_one_point(const Launch *launch, int place, const Index *index);    /* of an index that blocks are cut along */
/* What a step does for one point of its kept loops: operations, in vectors where it has lanes. */
double step_work(const Planner *planner, const Step *step);

/* plan_launch.c */
bool planner_may_be_block(const Step *step, const Index *index);
/* The blocks that all steps of a group have in common, in the order of the last step's loops; or of the index `split` that it reduces. */
Block *planner_common_blocks(Planner *planner, Step *const *group, int count, int *block_count, Index **split);
double planner_kept_points(const Planner *planner, const Step *step);
const Size *planner_most_parts(const Planner *planner, double points);    /* of a reduction with so many kept points */

/* plan_idle.c: whether steps that have blocks in common, of which the first makes what others read, leave a machine idle together */
bool planner_idles(Planner *planner, Step *const *group, int count);

/* plan_alone.c: the blocks of a launch of one step; then their tiles, where these are not known otherwise */
void plan_alone(Planner *planner, Launch *launch);
void plan_tile_alone(Planner *planner, Launch *launch);
Index *plan_added(const Planner *planner, const Step *step);    /* of a step whose row of results is no block: Step.added, or NULL */
bool plan_reads_rows(const Planner *planner, Step *step);           /* whether it adds up whole rows of a large matrix, which in blocks of columns
                                                                     * would be read in pieces, each of another page */

/* plan_result.c: what a turned copy has its squares along, and where a large result goes past the caches: one of more bytes
 * would be gone from any of them before something reads it */
enum { RESULT_PAST = 32 << 20 };
void plan_turned(const Planner *planner, Step *step);
void plan_result(Planner *planner, Step *step);

/* plan_dot.c: whether the lanes' sum is made by an instruction for products of narrow numbers */
void plan_dot(const Planner *planner, Step *step);

/* plan_jam.c: chooses the loop whose points go together; of a step whose reductions are split, that of the rows it adds; and the same
 * of one whose reductions are not */
void plan_jam(Planner *planner, const Launch *launch, int place);
bool plan_states_go_together(const Planner *planner, Step *step);    /* of points; sets the step's guard, as these do */
void plan_points(const Planner *planner, Step *step);

/* plan_ahead.c: what the loops along rows ask for before its turn, once nothing else changes about them */
void plan_ahead(Planner *planner, const Launch *launch, int place);

/* plan_nest.c: whether what a product takes in loops and in tiles can be said: it is one of numbers that are read, and its points are known
 * but for the batch; then whether loops are expected to make a step's sooner than its tiles, where no reduction stands behind it, which
 * they would have but one sum for. Sets `expected` */
bool plan_has_choice(const Planner *planner, const Product *product);
bool plan_prefers_loops(Planner *planner, Step *step);

/* plan_cross.c: which operands are turned on their way; and the index that one lies along that would be turned if the lanes ran
 * along `vector`, or NULL */
void plan_cross(const Planner *planner, Step *step);
bool plan_crosses_last(const Planner *planner, const Step *step);    /* once its result is planned */
Index *planner_crosses(const Planner *planner, const Step *step, const Term *read, const Index *vector);

/* plan_join.c: which steps are made in the loop of a reduction that stands beside them */
void plan_join(Planner *planner, Launch *launch);

/* plan_guess.c: which run tile by tile behind a product, with maxima that are guessed */
void plan_guess(Planner *planner, Launch *launch);

/* plan_lift.c: which sums of powers are made larger than they are; once storage is planned */
void plan_lift(Planner *planner);

/* plan_sides.c */
double planner_points(const Planner *planner, const IndexSet *set);    /* of all its indices, by the extents at hand */
const Term *plain_read(const Term *side);                /* what a side reads and no more than converts; else NULL */
const Term *narrow_side(const Term *side);              /* what a side is read as, or cast to, before it is converted; else NULL */
/* Whether a reduction's component is the sum of products of two numbers that are read as they are or cast, both of one dtype, in
 * which nothing is lost: these two, and the factors that they are converted to. */
bool sum_of_narrow(const Term *reduce, const Component *sum, const Term *sides[2], const Term *factors[2]);

/* How far neighbours along an index are apart in the memory that a side is read from; 0: that is not known, or they are not. */
int64_t side_stride(const Planner *planner, const Term *side, const Index *index);

/* The tile of narrow numbers that a product has; NULL: none. */
const Tile *narrow_tile(const Planner *planner, const Term *product);

/* Whether neighbours along an index are neighbours there. */
bool lies_along(const Planner *planner, const Term *side, const Index *index);

/* The other index of a side along which its numbers lie side by side, where they can be copied in squares across it and
 * `column`; NULL: they are no such numbers, or lie otherwise, or columns are so deep that few squares stay near. `dtype`: of
 * the sums. */
const Index *lies_across(const Planner *planner, const Term *side, const IndexSet *own, const Index *column, double depth, Dtype dtype);

/* Whether runs of columns, those of known extents that follow each other in what is read and in the result, may be no whole lines,
 * and a row's run follows another's. */
bool columns_may_stage(const Planner *planner, const Step *step, const Contract *c);

/* Where these are an odd number of halves of a line, and a row's run follows another's: how many; else 0. */
int columns_halves(const Planner *planner, const Step *step, const Contract *c);
/* How many rows next to each other have lines in different places of the first cache, where vectors go to memory in halves of lines. */
int rows_with_places(const Planner *planner, const Step *step, const Index *row);
enum { SUMS_BUSY = 8 };           /* so many sums in registers keep the multipliers busy */

typedef struct Sides {
    int left;                     /* the side of the rows */
    Index *row, *column;          /* along which a tile has its rows, and its lanes */
    bool turns;                   /* the result lies along the rows */
} Sides;

/* Of a product that its step stores; false when a side has no index of its own. */
bool product_choose_sides(const Planner *planner, const Step *step, const Product *product, Sides *sides);

/* plan_window.c: of a side's values with such rows and contracted points; NULL where no sum tells which they are, or more numbers are
 * between them than they have. And how many these are, of all rows, or of those of a unit of work with such tiles of a launch's blocks */
Window *plan_window(const Planner *planner, const Term *side, const IndexSet *rows, const IndexSet *points);
double window_points(const Planner *planner, const Window *window, const Launch *launch, int place, const double *tiles);

/* plan_block.c: the same on a grid, and the tile of a block of threads; false when there is none for a product, or loops do better */
bool block_choose_sides(const Planner *planner, const Step *step, const Product *product, Sides *sides);
/* How many rows, or contracted points of an index, each part of such a step takes, whose tiles are too few for all blocks: its product is
 * made for parts then. NULL: they are not, or parts are of no use. */
const Size *block_split(const Planner *planner, Step *step, Index **split);
bool block_choose_tile(Planner *planner, const Step *step, Contract *c);
void block_find_power(Planner *planner, const Step *step, Contract *c);    /* plan_power.c */
int block_slice_depth(const Contract *c);        /* how many contracted points a slice has */
int block_operand_bytes(const Contract *c);      /* what its operands take of shared memory */

/* plan_fuse.c: on a grid; NULL when its steps run one after the other */
const Fuse *plan_fuse(Planner *planner, Launch *launch);
void fuse_tiles(Planner *planner, Launch *launch);    /* its blocks' */

/* plan_hopper.c: the tile in a ring, and how many there are; none where a product has no such form, or plain tiles do better */
void ring_choose(const Planner *planner, const Step *step, Contract *c);
void ring_fuse(const Planner *planner, const Launch *launch, Fuse *fuse);    /* the same of two products one behind the other */

/* plan_reach.c: whether nothing below a term is read at computed positions, so that it can be evaluated anywhere */
bool planner_reads_plainly(const Planner *planner, const Term *term);
/* Whether what a step stores is a where with a dear value, or one that is stored alone, and a condition that bounds the loop
 * over an index. */
bool planner_is_bounded(const Planner *planner, const Step *step, Index *vector);
/* What each tile of a product's rows may leave out. */
void plan_reach(const Planner *planner, const Step *step, Contract *c);

/* plan_contract.c: whether a sum is of products of two numbers that are read as they are */
bool product_of_reads(const Contract *c, const Component *sum, const Term **left, const Term **right);

/* NULL when the step is no product, or one that loops make as fast */
Contract *plan_contract(Planner *planner, const Step *step);
void plan_contract_past(const Planner *planner, Contract *c);

/* plan_tile.c: of a tiled product on a CPU; c is changed */
void contract_shape(const Planner *planner, const Step *step, Contract *c);
/* Whether reading the rows takes about as long as what is made of them. */
int64_t planner_next_height(int64_t left, int64_t most);    /* of a tile of so many rows: templates/size.c's size_next() */
bool contract_streams(const Planner *planner, const Contract *c);
/* So many contracted points at a time of columns that few rows meet, of which units of work would have but short runs if they had all
 * points: where memory is fast in its own order alone. 0: they are not such. The same of a side before it is chosen. */
int columns_sweep_in_order(const Planner *planner, const Term *right, const IndexSet *own, const Index *column, const IndexSet *depth, double rows);
int contract_sweep_in_order(const Planner *planner, const Step *step, const Contract *c);
/* So many that a panel has whole rows of memory, of columns whose rows are shorter than a page and follow each other: packed in memory's
 * order few rows meet them sooner than as they lie, or than in units with short runs of each row. 0: they are not such. */
int contract_sweep_whole(const Planner *planner, const Contract *c);
/* What such columns of 8 or 16 bits are read from, which become numbers as tiles load them. NULL: they are none. */
const Term *contract_widened(const Planner *planner, const Step *step, const Contract *c);

/* plan_split.c: on a CPU a deep product of few results is made in parts, which are units of work: in how many, with so many points at a
 * time; 1: in one. And how many points of which index a part has; NULL: it is made in one. */
enum { SPLIT_PARTS = 16 };                       /* at most */
double contract_parts(const Planner *planner, const Contract *c, double sweep);
const Size *contract_split(const Planner *planner, const Step *step, Index **split);

/* plan_tiles.c */
enum { PANELS_MOST = 8 << 20 };                  /* bytes of packed columns, whatever the cache, */
enum { SWEEP_PANELS = 4 << 20, SWEEP_SUMS = 8 << 20 };    /* and of those of a sweep and its sums, which leave room for each other */
enum { SWEEP_LEAST = 128 };                      /* so many columns a sweep has at a time */
enum { RUNS_LEAST = 8 };                         /* units of work where memory is all that they wait for, of which one core has not all */
enum { UNIT_ROWS_LEAST = 128, UNIT_COLUMNS_LEAST = 256 };    /* fewer in a unit of work are not worth packing the others for it */
enum { SWEEP_FORCED = 40 };                      /* short, for small arrays to reach all that a product does */
#define ROW_WIDENED 1.4                          /* how much longer it takes to pack narrow numbers as wide ones, of rows */
#define COLUMN_WIDENED 2                         /* and of columns */
enum { SWEEP_SHORTEST = 64 };                      /* points of a sweep: fewer take less time than their sums' coming and going */
enum { ROW_BLOCK = 8 };                            /* tiles of rows that meet a panel that is not near before the next */
bool contract_sums_leave_room(const Target *target, double bytes);    /* of the second cache, for what the next sweep reads */
double contract_near(const Target *target);      /* panels of at most so many bytes stay near while all rows meet them */
/* Whether panels of a unit of work do: those of all columns, or of some for which rows come again that are near themselves. */
bool contract_is_near(const Planner *planner, double rows_bytes, double columns_bytes);
void contract_tiles(Planner *planner, Launch *launch);    /* the blocks of a launch that has a tiled product */
/* plan_heights.c: of a unit of work that has so much of each block */
void contract_set_heights(const Planner *planner, const Launch *launch, int place, const double *tiles);
bool contract_meets_again(const Launch *launch, const Step *step);       /* units of work that follow each other may have the same columns */

/* plan_room.c: what a tiled product stores on the way; `end`: of the worker's part */
void contract_reserve(Planner *planner, const Launch *launch, const Step *step, const Size **end);

/* plan_rank.c */
/* At most so many bytes it takes of the worker's part, whatever the tiles. */
Dtype ranking_dtype(const Term *reduce);                     /* of the elements as they are compared */
Index *rank_shared(const Planner *planner, const Step *step);    /* on a grid: a long row, whose elements a team shares; NULL: a thread has all */
bool ranking_turns(const Statement *statement);              /* whether rows that lie side by side can be ranked together */
/* Of a ranking that goes on from block to block: what it keeps of a point, and of so many points the launch's blocks have, or one of each
 * block's tile. */
int64_t rank_point_bytes(const Planner *planner, const Step *step);
const Size *rank_points(Planner *planner, const Launch *launch, const Step *step, bool tiles);
const Size *rank_kept_bytes(Planner *planner, const Launch *launch);    /* for one point of every block */
int rank_parts(const Planner *planner, const Statement *statement);    /* into how many a ranking may be cut behind what it ranks; 1: it is not */
void rank_reserve_parts(Planner *planner, const Step *step, const Size *points);    /* of so many points of parts, and to merge these */
/* What a ranking has of the worker's part; with what it keeps of so many points. */
const Size *rank_bytes(Planner *planner, const Step *step, const Size *points);
void rank_reserve(Planner *planner, const Launch *launch, Step *step, const Size **end);

/* plan_launch.c */
void plan_launches(Planner *planner);
bool planner_reads(const Planner *planner, const Step *step, const Step *maker);

/* plan_reuse.c: before temporaries have places */
void plan_reuse(Planner *planner, const Launch *launch);

/* plan_share.c: which temporaries that outlive their launches lie in one place, one after the other */
void plan_share(Planner *planner);

/* plan_storage.c */
void plan_storage(Planner *planner);
int plan_last_reader(const Plan *plan, const Tensor *tensor);    /* the last launch that reads a temporary, or makes it */
bool plan_is_temporary_of(const Plan *plan, const Tensor *tensor, int launch);

/* The offset of so many bytes at the end of what was reserved before; it gets a name where it is no constant. */
const Size *planner_reserve(Planner *planner, const Size **end, const char *name, const Size *bytes);

#endif
