/* The Plan: how a lowered Program runs.
 *
 * A Step makes what one statement stores: a nest of loops over the indices that it keeps, with the loops of its
 * reductions inside. A Launch is what one parallel_for runs: steps that work together on one block of the indices that
 * all of them keep, so that what passes between them has the block's size. Launches run one after the other.
 *
 * Extents and strides that are known when planning are hints: they choose loops and tiles, never correctness. */
#ifndef EINC_PLAN_H
#define EINC_PLAN_H

#include "bundle.h"
#include "product.h"
#include "size.h"
#include "target.h"

typedef enum {
    STEP_STORE,                   /* each element once: a value of reductions and functions */
    STEP_SCAN,                    /* cumsum and its kin: one loop carries a state and stores at each turn */
    STEP_RANK,                    /* topk and its kin: the best, sorted along the index of ranks */
    STEP_ADD                      /* `+=` at computed positions: in order, one task for each part of the target */
} StepKind;

/* An access along the vector's index that is fast when its stride is 1: checked once, at the kernel's entry. */
typedef struct Unit {
    const Tensor *tensor;         /* of the lowered program, passed by the caller */
    int axis;
} Unit;

typedef struct UnitSet {
    Unit *list;
    int count;
} UnitSet;

enum { CONTRACT_LINE = 64 };      /* bytes between packed rows */
enum { CONTRACT_SETS = 2048 };     /* rows that are a multiple of so many bytes apart fall into few sets of the first cache */
/* Of rows that come from memory, so many bytes further are on their way into the second cache. */
enum { STREAM_AHEAD = 16 << 10 };

enum { LOW_TILES = 2 };           /* what many rows leave behind their whole tiles: templates/size.c's size_next() */
enum { BLOCK_LINE = 16 };         /* of shared memory that a thread reads or writes at once */

/* What a tile of rows may leave out of the columns, or of the contracted points: a where decides, in the step itself or in
 * the one that makes what is read. */
typedef struct Reach {
    const Term *condition;        /* what is left out does not meet it; NULL: nothing is */
    Index *along;                 /* the column, or contracted point, in the condition's statement; */
    Index **theirs, **own;        /* [count]: this statement's indices, and the step's for them */
    int count;
    const Term *where;            /* of columns: the step's own, if a tile that meets its condition everywhere goes without; */
    bool splits;                  /* or such a tile is to be known; */
    bool fills;                   /* and one that meets it nowhere is stored, too; */
    bool clears;                  /* of points: or what is left out is not, and becomes zeros where it is multiplied after all */
} Reach;

/* The numbers of a product's rows, once each where several rows have them at different contracted points, as neighbours
 * read at x[h + r] have: an axis for each index that stands alone, and for each pair of which only the sum row_factor * row +
 * point_factor * point tells which number it is. */
typedef struct WindowAxis {
    Index *row, *point;           /* of a pair both, else one; one of a pair's factors is 1, the other may be negative, as for x[h - r] */
    int64_t row_factor, point_factor;
} WindowAxis;

typedef struct Window {
    WindowAxis *axes;             /* in the order of the memory they are read from: neighbours along the last lie side by side */
    int count;
} Window;

Index *window_base(const WindowAxis *axis);    /* its one index, or that which alone meets all points: the one with the factor 1 */

/* A step as a tiled product, rows of one operand times columns of the other: see templates/contract.c. */
typedef struct Contract {
    const Term *product;          /* the reduction over the contracted indices */
    const Term *left, *right;     /* what it combines: values of rows, values of columns */
    const Index *read_along;      /* it is tiled so because a side that lies along this is read in memory's order; or NULL */
    UnitSet units;                /* strides that are 1 then: other ones are worth another plan */
    IndexSet batch;               /* indices of both that stay, and one of the columns alone, with which the result is turned */
    IndexSet kept_rows;           /* rows that stay, */
    IndexSet rows;                /* and those that the first reduction runs over, or the innermost that stays; that of a
                                   * tile's rows last */
    IndexSet columns;             /* outermost first; the last one has the lanes */
    IndexSet depth;               /* the contracted indices */
    bool places;                  /* each of its extrema is found with its place among the contracted points, in their order */
    bool reduces;                 /* the step's roots are reductions behind the product, over `rows` */
    Dtype packed;                 /* of what is multiplied: the sums', or with groups a narrow one */
    const Tile *tile;             /* on a grid: of f32 numbers that tensor cores multiply in parts; else NULL there */
    int group;                    /* the tile's: more than 1, and a word is one of 32 bits */
    bool pieces;                  /* there is a table of where the result has the columns of several indices */
    bool stages;                  /* runs of these may be put together in whole lines before they are stored past the caches */
    int halves;                   /* a run of columns is so many halves of a line, an odd number: two rows' are whole lines, and leave
                                   * the registers as such, of tiles that have whole runs; 0: they do not */
    const Size *panels_of;        /* where a worker notes whose panels it has, for the next unit of work with the same
                                   * columns: in bytes from its part's beginning. NULL: no two units have the same */
    Reach columns_met;            /* whose sums somebody asks for */
    Reach points_met;             /* where a row's numbers are no zeros: the others are left out if all columns are finite */
    bool in_place;                /* rows may be read where they are */
    const Window *window;         /* a unit of work's rows are packed so, and read where a table says; NULL: they are not */
    bool streams;                 /* rows come from memory, and meet few columns */
    bool rows_apart;              /* rows that stream have others of another index between them: these come next, tile after tile */
    bool columns_stream;          /* columns that are packed as they lie come from memory: run by run, */
    IndexSet points_read;         /* their contracted points in this order, those farthest apart first */
    bool columns_in_place;        /* tiles read those of whole runs where they are, */
    const Term *widened;          /* what those are read from that have 8 or 16 bits, in panels as in memory, and become numbers as they are
                                   * loaded; or NULL */
    bool columns_copied;          /* or the first tile of rows does, and packs them for the others */
    bool rows_near;               /* rows come from the second cache for each panel where panels are there, too: they are not packed for being far apart */
    int close_columns;            /* so many are a unit of work's, at most, whose panels stay in the first cache while sums go past the caches;
                                   * 0: more */
    bool columns_unasked;         /* a sweep's columns in place come from memory by themselves: nothing is asked for beside them */
    IndexSet columns_asked;       /* the columns' indices and the contracted one, nearest points first: of columns that are met in place
                                   * those that come next are asked for in this order; none: a tile asks for those at its place */
    int asked_lines;              /* so many of their lines at each point of a tile; 0: they are not asked for so */
    int asked_points;             /* so many contracted points at a time then, for what has been asked for to be near still; 0: no fewer */
    bool rows_stay;               /* rows that are packed are the same for all of a unit's batch, and so few that they are packed once; then
                                   * tiles pack the columns of the batch's next point, where these are not met in place, */
    int met_words;                /* since their points, a power of 2 apart, would take the place of more words than this */
    bool tames;                   /* an extremum of sums or extrema: of numbers that cannot make a NaN it is cheaper */
    bool columns_turned;          /* a column's contracted points lie side by side: packing turns squares of them */
    const Index *within;          /* of the contracted indices the outermost, where a column's points lie side by side along it and others
                                   * are inside of it: packing turns squares of columns and these; or NULL */
    const Index *across;          /* of the columns, along which they lie side by side while the lanes' are apart: packing turns
                                   * squares of these two; or NULL */
    bool sums_turned;             /* the result has rows side by side: squares of sums are turned before they are stored */
    bool rows_along;              /* packed rows lie side by side; else each row's contracted points do */
    bool rows_inside;             /* a row's points are in runs, and other rows' lie between these: packing takes a run of all rows at a time */
    bool rows_spread;             /* each number of a packed row fills a vector, and these lie side by side */
    int tile_rows, tile_vectors;  /* of the latter as many as the columns need, */
    bool usual;                   /* but no more than the target's */
    int pairs;                    /* two contracted points at a time, a tile's columns in so many halves of vectors; an odd number has one
                                   * half of the last vector: templates/contract_pairs.c; 0: one point at a time */
    int whole;                    /* all words of a tile in registers of tiles where they are known and few: such a tile has code
                                   * of its own; else 0 */
    int low[LOW_TILES];           /* rows of the tiles that are lower, where extents are known; 0: no more */
    const BlockTile *block;       /* on a grid: what a block of threads makes at a time; else NULL. Then without a reduction all that
                                   * stays is in `rows` */
    const BlockTile *brief;       /* on a grid: the same where there are `points` contracted points, as few as that; NULL: none */
    int points;
    const Term *power;            /* of a brief one: what its reduction adds up is this power times factors that have no column; or NULL */
    const Term **factors;
    int factor_count;
    double squares;               /* the power is 2^(squares * the product), which adds up squared differences: of points that are near to 0
                                   * tensor cores make them; 0: they do not */
    const RingTile *ring;         /* on a grid: the same where tensor maps describe both operands; NULL: there is no such form */
    const Size *ring_tiles;       /* so many of these there are */
    const Size *ring_boxes[2][2], *ring_counts[2][2];    /* [side][its high index, not its low one]: the points of a tile, and how often these
                                   * are all */
    bool ring_panels[2];          /* of its sides: see RingSide */
    int resident;                 /* on a grid: so many blocks have registers at once */
    bool is_cut;                  /* on a grid: its tile is one for parts of its rows */
    struct Contract *cut;         /* the same like that; NULL: its rows are in one piece */
    bool columns_along;           /* on a grid: neighbouring columns lie side by side, so that neighbouring threads copy them */
    int shared;                   /* on a grid: bytes of shared memory that it takes */
    struct Contract *parts;       /* the same for the parts of its numbers: taken where those add up to them; or NULL */
    int number;                   /* in the names of its functions and of what they store */
    int depth_block;              /* more words of contracted points are taken some at a time, */
    int deep_block;               /* so many where panels are far; 0: no more */
    int sweep;                    /* so many contracted points are packed at a time, and met by all rows of a unit of work,
                                   * whose sums are kept until the last; 0: all of them */
    const Term *next_read[2];     /* what a sweep reads of rows and of columns, where both lie in memory as it meets them: that of the next one is
                                   * asked for beside the products; or NULL, both. Several operands may make columns: then the largest that lies so, or none */
    bool sweep_whole;             /* so many that whole rows of memory are a panel */
    bool sweep_far;               /* their panels and sums may be behind the second cache: rows are packed for each unit's columns */
    int near, row_block;          /* panels of more words are taken one at a time, by so many tiles of rows; */
    int close, close_block;       /* likewise those of more words than are close; 0: panels that are near are */
    int run;                      /* rows of so many points of the last index of `kept_rows`, at most, are tiled as one run where
                                   * they follow each other in memory, with states for each point; 1: each point's by themselves */
} Contract;

/* A side of a product in a ring: what it reads, and its own indices, of which a tile has some points of `low`, and of `high`, or NULL,
 * as many as then fit. The left side, 0, has the rows of sums. */
typedef struct RingSide {
    const Term *read;
    const IndexSet *own;
    const Index *low, *high;
    bool panels;                  /* its lines lie side by side, points of `low`, and come in panels; else its contracted points do */
} RingSide;

RingSide ring_side(const Contract *c, int side);
const Size *ring_box(Arena *arena, const Contract *c, int side, const Index *index);    /* so many points of an index a tile has, */
const Size *ring_count(Arena *arena, const Contract *c, int side, const Index *index);  /* and so many tiles have all, once chosen */
const Index *ring_index(const Term *read, int axis);    /* along which it reads an axis; a tile may begin elsewhere */
bool ring_has(const Term *read, const Index *index);

/* What a loop along a row of memory asks for at each of its vectors. */
typedef struct Ask {
    const Term *read;
    int vectors;                  /* what is read so many vectors later, if that is what follows in memory, or the row is long */
    const Index *row;             /* each point of it has a row that other steps of the launch read, too; NULL: none does. Rows of up to */
    int near;                     /* so many numbers are near for all of these steps but the first, which asks for none of them, */
    bool is_last;                 /* and the last one asks for the next point's */
} Ask;

enum { ASK_LONG = 8 };            /* a row is long that has so many times as many vectors as it is asked for ahead */

typedef struct Step Step;

enum { RANKING_RUN = 256 };       /* so many candidates are sorted by comparing all pairs of them, */
enum { RANKING_VECTORS = 4 };     /* and so many vectors of elements are looked at together */

/* How a ranking looks for the best: see templates/rank.c. */
typedef struct Ranking {
    const Index *over;
    int64_t ranks;
    int64_t kept;                 /* in a sweep: so many candidates of each point have room, from block to block; else 0 */
    Dtype dtype;                  /* of the elements as they are compared */
    int block;                    /* so many elements are looked at together */
    bool copies;                  /* they may have to be put side by side for that */
    int rows;                     /* so many go together, which lie side by side, and are turned: the lanes, or 1 */
    int64_t room;                 /* for the candidates of one row */
    int few;                      /* rows of no more elements have their best in vectors, of as many rows as go together; 0: none have */
} Ranking;

/* A reduction's loop in which other steps make their elements, too: see plan_join.c. */
typedef struct Join {
    Step **steps;                 /* in order; the reduction reads what the first makes */
    int count;
    Index **same;                 /* [lowered index id]: the reduction's index that one of theirs is */
} Join;

struct Step {
    int id;
    StepKind kind;
    const Statement *statement;
    bool scatters;                /* a `+=` that adds to each element as often as it is met: its target begins as zeros */
    Index **loops;                /* kept indices, outermost first; the vector's, if kept, last, but for `crossed_last` */
    int loop_count;
    Index *vector;                /* the index that the lanes run along, or NULL */
    bool vector_kept;             /* one of `loops`, or one that a reduction runs over */
    bool bounded;                 /* what it stores is a where whose condition bounds the lanes' loop: others are made apart */
    Term **roots;                 /* the reductions that depend on the kept loops alone */
    int root_count;
    Contract *contract;           /* NULL: a nest of loops */
    const Ranking *ranking;       /* of a STEP_RANK, once storage is planned; else NULL */
    /* So many points of one kept loop, or vectors of them, go through the reductions together (unroll and jam), so that
     * what does not depend on that loop is loaded once for all of them. */
    Index *jammed;                /* NULL: one at a time */
    int jam;
    /* Each of them meets so many points of another kept loop, which are loaded once for all of them, too: a tile of sums. */
    Index *met;                   /* NULL: one at a time */
    int meets;
    int later;                    /* of rows along the lanes what so many reduced points later want is prefetched; 0: nothing */
    /* The reduced index whose points go together instead, rows of memory: each is added to sums that stand where the result will. */
    Index *added;
    const Term *guard;            /* the where whose branch the reduction is, which runs where one of the points asks for it; NULL: always */
    /* Of sums of exponentials of sums: a row's and a column's number, each of which has its exponential made once for all
     * that it meets. NULL: the sums have theirs. */
    const Term *powers[2];
    int shares;                   /* of a `+=` on a grid: so many threads go through the points that may meet, each for elements of its own */
    /* Of a sum of products of two narrow numbers along the vector: the reads, and how many of these products, whose numbers lie side by
     * side, an instruction adds to each lane's sum. NULL and 0: numbers are widened, and multiplied one by one. */
    const Term *dot[2];
    int dots;
    int ahead;                    /* what is read so many vectors later is prefetched; 0: nothing */
    int soon;                     /* … what some of the next points read, so many numbers later */
    Ask *asks;                    /* of rows that its points have for themselves */
    int ask_count;
    bool has_runs;                /* a copy of runs that lie apart: the fewer instructions each has, the more runs are loaded at once */
    int alone[2];                 /* points that reduce so many numbers, from and to, go one by one all the same: a row is a stream; or 0, 0 */
    int near;                     /* but where all points reduce no more than so many */
    bool apart;                   /* or rather each that goes with others follows a stretch of memory of its own */
    const Bundle *bundle;         /* where strides allow it when the kernel runs, several axes share its lanes; NULL: never */
    Index *crossed;               /* of a map: squares of operands that lie along it are turned; NULL: none */
    const Term **crossing;        /* those operands */
    int crossing_count;
    bool crossed_last;            /* a square is followed by the next one along `crossed`; else by the next vector's */
    bool crossed_alone;           /* nothing else is read along the lanes, so that a turn of their loop may be a line of the result */
    int strip;                    /* so many numbers along the lanes are turned before they are stored, in whole lines; 0: a vector */
    Index *turned;                /* a copy of squares, from or to a tensor that lies along it; NULL: it is none */
    const Size *result;           /* bytes of what it stores. NULL: they never go past the caches */
    int past;                     /* more of them do */
    UnitSet units;
    /* Where kept indices give too little work, the outermost loop of the reductions is cut into parts; each part's state
     * is stored, and they are merged in order. */
    Index *split;                 /* NULL: not cut */
    const Size *parts;
    const Join *join;             /* others are made in its loop; NULL: none */
    const Step *joined;           /* the reduction in whose loop it is made; NULL: it has its own */
    bool is_passed_on;            /* nobody reads what it makes but the steps that are made in one loop with it */
    double flops, bytes;          /* -1: not known */
    double expected[2];           /* cycles of a core in loops and in tiles, of a product that either may make; or 0, 0 */
};

int step_points(const Step *step);                            /* so many go through the reductions together */
bool step_has_points(const Step *step, const Term *term);     /* whether these differ in a term */

Dtype step_multiplies(const Step *step);                      /* what its products are of, as they are multiplied; else f32 */

/* What a reduction behind a product reads for each row, whatever the column: as much as there is room for in shared memory. */
enum { ROW_READS_MAX = 4 };
int block_near_points(const Contract *c);    /* so many numbers of a row tensor cores multiply for its distances */
int block_row_reads(const Contract *c, const Step *step, const Term *reads[ROW_READS_MAX]);

/* An index that all steps of a launch keep, under the name it has in each. */
typedef struct Block {
    Index **of_step;              /* [step_count] */
    const Size *extent;
    const Size *tile;             /* how much of it one unit of work takes */
} Block;

/* A launch on a grid whose first step is a product and whose last one multiplies what comes of its sums: a block of threads has a
 * tile of rows for all columns, and what passes between its steps stays in registers. See templates/cuda/fuse.cu. */
typedef struct Fuse {
    const FuseTile *tile;
    Index **same;                 /* [lowered index id]: which of the first product's indices it is, in a later step; NULL: none */
    const Step *largest;          /* stores the maxima that others subtract before they take powers; NULL: there are none */
    bool *scaled;                 /* [step of the launch]: what it stores, or adds up, is so many times exp(-the maximum) */
    int parts;                    /* bf16 numbers that a factor is taken apart into, for tensor cores; 0: it is multiplied as it is */
    bool leaves_out;              /* they do not hold all its bits, as the plan's precision allows */
    double neutral;               /* a sum whose place this takes changes no state, and becomes a factor of 0; NaN: there is no such number */
    const Term *met;              /* a tile nowhere of which this holds has only such sums; NULL: all are made */
    bool *implied;                /* [step of the launch]: it asks the same again, which may be taken for granted */
    /* On tensor cores that multiply from a ring, where maps describe all operands: the first product as one whose columns are gone over,
     * and the last one; NULL: there is no such form. */
    Contract *ring;
    const Contract *ring_values;
} Fuse;

/* Some steps of a launch that run together with guessed maxima, and where the guess was no good one after the other: plan_guess.c. */
typedef struct Guess {
    const Step *product, *largest, *reduction, *factors;    /* the latter is made in the reduction's loop */
    int from, to;                 /* the launch's steps from one up to before the other */
    int most;                     /* a guess is good for sums of powers of up to 2^most */
} Guess;

enum { LIFT = 50 };               /* powers that are not 0 are then 2^-100 or more */

typedef struct Launch {
    int id;
    Step **steps;
    int step_count;
    Block *blocks;                /* none: one unit of work */
    int block_count;
    /* Some steps run for each tile of one more index, which others have reduced behind the last: statement->sweep. */
    const Block *sweep;           /* NULL: there is none; `of_step` is NULL where a step lacks the index */
    int sweep_from, sweep_to;     /* the steps from one up to before the other */
    const Size *units;            /* of work; each is one tile of every block */
    /* A few tiles of the last blocks, those of rows, meet all of the blocks before these, those of columns, then the next few: what
     * units that run at once read is less so than where all rows come for each columns, and stays in the second cache. How many
     * blocks each has; 0: units come in their order. */
    int band_rows, band_columns;
    const Size *tasks;            /* at most so many, each of the same number of units */
    const Size *bytes;            /* of temporaries of the block's size, for one worker */
    const Fuse *fuse;             /* its steps run together, tile by tile; NULL: one after the other */
    const Guess *guess;           /* some of them do, with maxima that are guessed; or NULL */
    bool lifts;                   /* a unit makes sums of powers 2^LIFT times as large, and again as they are where one overflows */
} Launch;

typedef enum {
    PLACE_CALLER,                 /* an input or an output */
    PLACE_SHARED,                 /* a temporary that outlives a launch, whole, in the workspace */
    PLACE_BLOCK,                  /* a temporary of a launch, a block of it, in the worker's part of the workspace */
    PLACE_REGISTERS               /* a temporary of a launch whose steps run together: a tile of it at a time */
} Place;

/* Where a tensor of the lowered program is. */
typedef struct Storage {
    Place place;
    int launch;                   /* PLACE_BLOCK */
    const Tensor *over;           /* whose place it takes, which nobody reads any more; NULL: it has one of its own */
    const struct Storage *after;  /* PLACE_SHARED: the first in its place, which earlier launches have used; NULL: this is it */
    const Size *room;             /* PLACE_SHARED, of the first: what the place has for all */
    bool has_padding;             /* rows of it have an odd number of lines */
    bool at_point;                /* PLACE_BLOCK: of the last block one point at a time, since all its steps follow each other for each */
    const Size **stride;          /* [rank], in elements; NULL for PLACE_CALLER and PLACE_REGISTERS */
    const Size *offset;           /* in bytes, from the workspace's or the worker's part's beginning */
    const Size *bytes;
} Storage;

/* A part of the workspace that belongs to a step: the parts' states, or the lists of topk. */
typedef struct Scratch {
    const Step *step;
    const char *name;
    Dtype dtype;
    bool shared;                  /* in the shared part of the workspace, else in the worker's */
    const Size *offset, *bytes;
} Scratch;

typedef struct Plan {
    const Program *program;       /* the checked one */
    const Program *lowered;
    const Target *target;
    int lanes;
    Step **steps;                 /* in order */
    int step_count;
    Launch **launches;
    int launch_count;
    Storage *storage;             /* [lowered tensor id] */
    Scratch *scratch;
    int scratch_count;
    const Size *shared, *per_worker, *workspace;   /* bytes; workspace = shared + workers * per_worker */
    const Size *smallest;         /* the workspace of one worker with tiles of one: the least that can be met */
    int64_t memory;               /* the budget in bytes; 0: none */
    Precision precision;          /* of products: the least that would do */
    bool *lifted;                 /* [lowered term id]: a power, or a sum of such, that a launch lifts: plan_lift.c */
    int block_bytes;              /* on a grid: the shared memory that products take */
    bool stores_whole;            /* what passes between some steps is stored, though they could run together */
    bool status;                  /* the workspace begins with a line for what kernels on a grid have to say */
} Plan;

typedef struct PlanHints {
    const Extents *extents;       /* of the checked program; may be incomplete */
    const Extents *coalesced;     /* the same where axes that follow each other in all arrays are one: coalesce.h; may be NULL */
    const int64_t *const *strides;/* [checked tensor id]; NULL: C order */
    int64_t memory;
    Nests nests;
    Precision precision;
    int64_t part;                 /* for tests, on a grid: so many slices of contracted points are a part of a tiled product; 0: it has no parts */
    bool smallest_tiles;          /* of products */
    bool uncut;                   /* no reduction is cut into parts, whose states would take memory */
} PlanHints;

Plan *plan(Arena *arena, const Program *program, const Program *lowered, const Target *target, const PlanHints *hints);

bool plan_has_contract(const Plan *plan);
int launch_products(const Launch *launch);    /* so many of its steps are tiled products */
bool plan_has_split(const Plan *plan);    /* a reduction in parts */

bool plan_sweeps(const Plan *plan);
bool plan_has_steps_together(const Plan *plan);    /* in one launch */

/* Whether the statements of each sweep are in one launch, as they have to be. */
bool plan_has_whole_sweeps(const Plan *plan);

/* The block of a launch that an index of its steps belongs to, or its sweep; NULL: none. */
const Block *launch_block_of(const Launch *launch, const Index *index);
bool contract_is_of_sums(const Term *term, const Term *product);    /* whether a value is made of a product's sums and constants alone */

/* Whether a step runs for each tile of the launch's sweep. */
bool launch_sweeps(const Launch *launch, int step);

bool plan_has_parts(const Plan *plan);     /* a product of its numbers' parts */

/* The function that must allow the plan's kernel to run: the target's, where a product needs it; else NULL. */
const char *plan_permission(const Plan *plan);

/* Whether its nests want more of the workspace than plain loops would. */
bool plan_wants_room(const Plan *plan);
/* Whether a value is made of positions that are the same in all lanes along an index, and of small constants, so that sums do not overflow. */
bool lanes_is_small(const Term *term, const Index *vector);

/* Whether a step runs point by point of the launch's last block, in turn with its neighbours, so that what passes between
 * them for one point is still near. */
bool launch_runs_by_points(const Launch *launch, int step);
bool launch_goes_by_points(const Launch *launch, int from, int to);    /* whether those from one to another do, if the block has some */

/* NULL, or which invariant does not hold: of steps, their order, loops and products, of blocks, and of sizes with some
 * extents. */
const char *plan_verify(const Plan *plan);

/* For `-dplan`. */
void plan_dump(Text *text, const Plan *plan);

/* What a launch's kernel does in the place of what its steps say, where it finds when it runs that it may. How many there are. */
typedef struct Form {
    const char *when, *what;
} Form;

int launch_forms(Arena *arena, const Plan *plan, const Launch *launch, Form **list);

/* A term of a lowered program as a formula: "max[n](sum[k](A[i,j,k] * B[m,n,k]))". */
void plan_print_term(Text *text, const Term *term);
void plan_print_position(Text *text, const Position *position);

#endif
