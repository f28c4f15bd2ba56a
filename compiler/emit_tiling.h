/* What the parts of a tiled product's emitter share: emit_contract.c (its functions), emit_tiles.c (the one that runs the
 * tiles), emit_pack.c (packing) and emit_sums.c (what becomes of the sums). Only they include it. */
#ifndef EINC_EMIT_TILING_H
#define EINC_EMIT_TILING_H

#include "emitting.h"

typedef struct Tiling {
    const Contract *c;
    const Step *step;
    int number;                   /* of the step */
    Dtype dtype;                  /* of the sums */
    const char **names;           /* [lowered index id]: of the indices' variables, the same in all functions */
    const Term **first;           /* the reductions behind the product, as their domains leave them */
    int first_count;
    const Term *branch;           /* of the step's where, the one that is true of all of a tile that the text is for; or NULL */
    bool in_registers;            /* they take the sums from there */
    bool some;                    /* the text is for a part of a tile's rows */
    bool cuts;                    /* rows are cut into parts while others are multiplied */
    bool runs;                    /* rows of several points of the last index that stays are tiled as one run */
    bool is_stored;               /* what the step stores is made from the sums in registers, */
    bool in_pieces;               /* of columns of several indices in pieces: templates/pieces.c; */
    bool may_pass;                /* a large result's go past the caches */
    const Guess *guess;           /* `guessed` maxima may take the sums at once; NULL: there are none */
    bool is_guess_whole;          /* what is written is for a tile that meets the mask's condition everywhere */
    const char *waits;            /* a condition: of a tile whose rows wait for the next one's products; NULL: there is none; */
    const char *waiting;          /* what is noted of it, */
    const char *taken_beside;     /* and the functions that take its rows then */
    ParameterSet parameters;      /* all that a function may ask for */
} Tiling;

/* emit_tiling.c */
const IndexSet *tiling_set(const Contract *c, int i);
Index *tiling_last(const IndexSet *set);
Scope *tiling_open(Emitter *e, Tiling *t, const Index *vector);
void tiling_bind(Emitter *e, const Tiling *t, const IndexSet *set, int count);
const char *tiling_close(Emitter *e);
const char *tiling_first(const Emitter *e, const Index *index);
const char *tiling_end(Emitter *e, const Index *index);
/* Where the outermost contracted index begins and ends in what is packed at a time: of a sweep's block, or of the product's own. */
const char *tiling_depth_first(const Emitter *e, const Tiling *t);
const char *tiling_depth_end(Emitter *e, const Tiling *t);
const char *tiling_word(const Tiling *t);
const char *tiling_part(const Tiling *t);
const char *tiling_panel_depth(const Tiling *t);
bool tiling_has_registers(const Tiling *t);  /* that hold tiles: templates/tiles.c */
bool tiling_asks_further(const Tiling *t);   /* for rows that are read later than the next tile's */
bool tiling_packs_tiles(const Tiling *t);    /* a point's numbers of all rows lie side by side, each tile for itself */
bool tiling_asks_next(const Tiling *t);      /* a sweep asks for all that the next one reads */
bool tiling_brings_rows(const Tiling *t);    /* or for such rows where they are in place */
const char *tiling_points_apart(Emitter *e, const Tiling *t);    /* of such tiles */
const char *tiling_packed_step(Emitter *e, const Tiling *t);
const char *tiling_is_flat(Emitter *e, const Tiling *t, const Term *side);    /* whether the points of a side that is read are equally far apart; NULL: it has one contracted index */

/* emit_places.c: loops over tiles of columns, and inside of a tile over the runs of columns that it has, around `call`,
 * which is told a tile's `tile_place` and a run's `place`, `count` and indices. A single index of columns makes one run of
 * a tile, and its place is the tile's. */
void tiling_declare_places(Emitter *e, const Tiling *t);
const char *tiling_extent_here(Emitter *e, const Index *index);  /* how many of its points a unit of work has */
const char *tiling_tile_place(const Tiling *t);                 /* the name of a tile's place */
const char *tiling_column_at(Emitter *e, const Tiling *t, const char *place, int column);           /* an index there */
const char *tiling_piece_offset(Emitter *e, const Tiling *t, const char *place);    /* of the result, from the unit's first columns */
const char *tiling_columns_of(Emitter *e, const Tiling *t, const char *place, const char *call);    /* declares indices */
const char *tiling_each_run(Emitter *e, const Tiling *t, const char *call);
void tiling_each_tile(Emitter *e, const Tiling *t, const char *call);
void tiling_each_tile_back(Emitter *e, const Tiling *t, const char *call);    /* from the last one on where it `is_back` */
void tiling_find_pieces(Emitter *e, const Tiling *t);    /* declares `pieces` and whether a tile `is_placed` by them */
void tiling_lines(Text *text, const char *indent, const char *lines);
void tiling_put(Emitter *e, const char *lines);
/* Of columns that are packed together, so that each line of theirs is whole. */
enum { PACKED_POINTS = 16, PACKED_POINTS_TURNED = 256 };
bool tiling_copies_words(Emitter *e, const Tiling *t);    /* of columns, many at a time */
void tiling_find_tame(Emitter *e, const Tiling *t, const char *to, const char *numbers, const char *runs);
void tiling_pack_all(Emitter *e, const Tiling *t, const char *pack);

/* emit_points.c: the lines of a tile in vectors, at its beginning and at each point */
const char *tiling_begin_lines(Emitter *e, const Tiling *t);
const char *tiling_left_line(Emitter *e, const Tiling *t);
const char *tiling_step_line(Emitter *e, Tiling *t);
const char *tiling_pair_line(Emitter *e, Tiling *t);
bool tiling_has_pairs(const Tiling *t);       /* points are taken two at a time where they lie side by side */
const char *tiling_multiply_lines(Emitter *e, const Tiling *t);
bool tiling_is_tight(const Tiling *t);        /* a point has so few products that a loop's own instructions count */

/* emit_found.c: of extrema that are found with their places */
const char *tiling_found(Emitter *e, const Tiling *t);              /* declares where a tile's are kept, and its first point's */
const char *tiling_keep_found(Emitter *e, const Tiling *t);         /* keeps them behind the tile's points */
const char *tiling_points_type(const Tiling *t);
const char *tiling_begin_found(Emitter *e, const Tiling *t);        /* begins them */
const char *tiling_find(Emitter *e, const Tiling *t, const char *value);    /* at a point, with the sum */

/* emit_lines.c */
bool tiling_pairs_rows(const Tiling *t);     /* lines have columns of two rows */
void tiling_stream(Emitter *e, Tiling *t);   /* a tile's sums leave past the caches, and its function ends */
/* All tiles of a block of rows do so in one function where points are few: else what goes on around their products would take half as
 * long as these. That function, or "", and what calls it. */
const char *tiling_pass_function(Emitter *e, Tiling *t);
void tiling_pass_block(Emitter *e, const Tiling *t);
/* Whether a tile's rows, or two of them, are whole lines if they begin where these do: else only runs on a stage go past the caches. */
bool tiling_is_lines(const Emitter *e, const Tiling *t);
/* Whether the columns of a unit of work may do so, of one vector at a place; and whether all lines of a tile begin where those of the
 * cache do, if that at an address of its first row does. */
const char *tiling_may_be_past(Emitter *e, const Tiling *t);
const char *tiling_piece_is_past(Emitter *e, const Tiling *t);
const char *tiling_lines_begin(Emitter *e, const Tiling *t, const char *at, const char *row_step);

/* emit_stage.c */
enum { STAGE_BYTES = 8192 };                 /* of a tile's runs beside each other, on the stack */
bool tiling_has_stage(const Tiling *t);      /* columns' runs may be put together before they are stored */
void tiling_find_stage(Emitter *e, const Tiling *t);                    /* declares it, and whether the unit of work `is_staged`, */
const char *tiling_stage_offset(Emitter *e, const char *place);
void tiling_find_runs(Emitter *e, const Tiling *t);                     /* where the result has its runs */
const char *tiling_begin_leaving(Emitter *e, const Tiling *t, const char *first_row);    /* before a panel's tiles, */
const char *tiling_leave(Emitter *e, const Tiling *t);                                  /* behind each, */
void tiling_leave_last(Emitter *e, const Tiling *t, const char *first_row);             /* and behind all panels */
const char *tiling_ahead_lines(Emitter *e, const Tiling *t, const char *indent);            /* what comes nearer at each point, or leaves */
void tiling_find_following(Emitter *e, const Tiling *t);                                    /* what the next sweep reads */
const char *tiling_ask_kept(Emitter *e, const Tiling *t);                                   /* before a tile: a sweep's next sums, or where its own go */
const char *tiling_before_points(Emitter *e, const Tiling *t, bool is_tight);    /* and what stands before the loop over them */

/* emit_pack.c: the bodies of functions */
const char *tiling_words_along(Emitter *e, const Tiling *t, int level);
bool tiling_reads_safely(Emitter *e, const Term *side);
bool tiling_packs_runs(Emitter *e, const Tiling *t);    /* of columns as they lie, from memory */
bool tiling_turns_as_read(Emitter *e, const Tiling *t, const Term *side);
void tiling_declare_panel(Emitter *e, const Tiling *t);
const char *tiling_pack_columns(Emitter *e, Tiling *t);
const char *tiling_pack_rows(Emitter *e, Tiling *t);

/* Vectors of values that are packed, in loops over some indices. */
typedef struct Masked {
    const Term *side;
    const Index *lanes;
    const LoopBounds *loops;      /* outermost first */
    int loop_count;
    const LoopBounds *vectors;    /* of the lanes' index; NULL: the text around them has it */
    const char *place;            /* where the vector goes at a loops' point, as C */
} Masked;

/* emit_masked.c: whether they are read behind a where that is the same for some of the loops' points; packs them */
bool tiling_is_masked(Emitter *e, const Tiling *t, const Masked *masked);
void tiling_pack_masked(Emitter *e, const Tiling *t, const Masked *masked);

/* emit_window.c: the body of the function that packs rows as a window, and its call and places in the step */
const char *tiling_pack_window(Emitter *e, Tiling *t);
void tiling_make_window(Emitter *e, const Tiling *t, const char *pack);
void tiling_find_window_rows(Emitter *e, const Tiling *t);

/* emit_squares.c: packs a vector's columns in squares with the outermost contracted points */
void tiling_pack_within(Emitter *e, Tiling *t);

/* emit_parts.c: the same for numbers in parts */
const char *tiling_pack_column_parts(Emitter *e, Tiling *t);
const char *tiling_pack_row_parts(Emitter *e, Tiling *t);
bool tiling_may_cut(Emitter *e, const Tiling *t);       /* while other rows are multiplied */
void tiling_declare_cutting(Emitter *e, const Tiling *t);
void tiling_cut_rows(Emitter *e, const Tiling *t, const char *pack, const char *first, const char *end);
void tiling_leave_odd(Emitter *e, const Tiling *t);     /* the step ends where numbers have no parts */

/* emit_reach.c: what tiles of rows leave out of the columns (0), or of the contracted points (1) */
void tiling_reach_parameters(Emitter *e, Tiling *t);
const char *tiling_meet(Emitter *e, Tiling *t, int points);                 /* the body of a function; "" where there is none */
const char *tiling_meet_function(int points);
void tiling_find_reach(Emitter *e, const Tiling *t, const char *const calls[2], const char *height);
const char *tiling_reach_lines(Emitter *e, const Tiling *t, const char *fill);
bool tiling_has_reach(const Tiling *t);
const Term *tiling_where(const Tiling *t);    /* that tiles which meet its condition everywhere go without; or NULL */
const Term *tiling_whole_value(const Tiling *t);    /* of such a tile's output */
const Term *tiling_whole_first(Emitter *e, const Tiling *t, int r);    /* and the reduction that takes it */

/* emit_sums.c: likewise */
const char *tiling_state_array(Emitter *e, const Tiling *t, int r, const Component *component);
void tiling_know_product(Emitter *e, const Tiling *t, const char *sum);     /* its value, from the sum as it is */
void tiling_open_rows(Emitter *e, const Tiling *t, const char *step);       /* a loop over the rows of a tile in registers */
const char *tiling_taken(Emitter *e, Tiling *t);
bool tiling_takes_extrema(const Tiling *t);     /* of sums as they are: a few instructions */
bool tiling_is_by_itself(const Tiling *t);      /* a whole tile of all words has code of its own */
void tiling_share_states(Emitter *e, Tiling *t, const char *lines[3]);    /* loads states, takes a share, stores states */
bool tiling_stores_whole(const Tiling *t);   /* what is stored after a tile is for whole ones apart from others */
const char *tiling_after(Emitter *e, Tiling *t);
const char *tiling_finish(Emitter *e, Tiling *t);

/* emit_multiply.c: the functions that make a tile's sums; a skeleton with the step's names; and what a tile is handed beside its rows and
 * panel: what its sums are taken with, and of tiles in registers these. */
const char *tiling_functions(Emitter *e, Tiling *t);
const char *tiling_skeleton(Emitter *e, const Tiling *t, const char *name, const Hole *holes, int count);
const char *tiling_extra(Emitter *e, const Tiling *t, const char *body, bool declare);
const char *tiling_registers(Emitter *e, const Tiling *t, const char *place);

/* emit_guess.c: the bodies of what takes a tile's sums with such maxima, or what waits of them, of what stands for a tile that
 * nobody asks for, of what begins the powers' sums, and of what ends them and says whether the guess was good */
const char *tiling_guessed(Emitter *e, Tiling *t);
const char *tiling_guesses(Emitter *e, const Tiling *t);
const char *tiling_waits(Emitter *e, const Tiling *t);
bool tiling_holds(const Tiling *t);          /* such a tile stays in its registers, if it is whole: templates/contract_waiting.c; */
const char *tiling_stays(Emitter *e, const Tiling *t);    /* whether the one at hand does */
const char *tiling_waiting(Emitter *e, Tiling *t);
const char *tiling_taken_beside(Emitter *e, Tiling *t);
const char *tiling_cleared(Emitter *e, Tiling *t);
const char *tiling_started(Emitter *e, Tiling *t);
const char *tiling_near(Emitter *e, Tiling *t);

/* emit_columns.c: the body of what packs a run of columns as it lies in memory; and of columns that tiles read where they are: what says
 * whether the unit's can be, and the tile's at a place, where they are, and what of those that come next a tile asks for. */
const char *tiling_pack_runs(Emitter *e, Tiling *t);
bool tiling_meets_columns(Emitter *e, const Tiling *t);
Dtype tiling_panel_dtype(const Tiling *t);                 /* of panels that have one number in a word */
const Term *tiling_columns_read(const Tiling *t);          /* what whole runs of columns are read from */
void tiling_find_columns(Emitter *e, const Tiling *t);
const char *tiling_is_met(Emitter *e, const Tiling *t);
const char *tiling_panel_lines(Emitter *e, const Tiling *t);
const char *tiling_ask_columns(Emitter *e, const Tiling *t);
const char *tiling_next_asked(Emitter *e, const Tiling *t);
bool tiling_copies_columns(Emitter *e, const Tiling *t);    /* the first tile of rows packs what it reads */
/* Of columns that tiles pack for the batch's next point: whether there are such; what declares them, and packs what no tile has; how a tile
 * packs a vector at each point, and how that is noted behind it. */
bool tiling_has_coming(Emitter *e, const Tiling *t);
void tiling_declare_coming(Emitter *e, const Tiling *t);
void tiling_find_coming(Emitter *e, const Tiling *t);
/* Whether columns to come are asked for as they lie in memory, and what finds those of some points. */
bool tiling_asks_in_order(Emitter *e, const Tiling *t);
void tiling_find_asked(Emitter *e, const Tiling *t);
const char *tiling_coming_start(Emitter *e, const Tiling *t);
const char *tiling_coming_lines(Emitter *e, const Tiling *t);
const char *tiling_went_on(Emitter *e, const Tiling *t);
/* Of a tile's functions: how they are told where a panel has its points, and what is said of that; and how they load a point's. */
const char *tiling_panel_parameters(Emitter *e, const Tiling *t);
const char *tiling_panel_arguments(Emitter *e, const Tiling *t, bool packs);
const char *tiling_panel_comment(Emitter *e, const Tiling *t);
const char *tiling_column_lines(Emitter *e, const Tiling *t);

/* emit_ahead.c: where a block of rows begins and ends; whether the result, or panels, are asked for, and when panels are far; where
 * results go; and what comes nearer while tiles multiply */
const char *tiling_block_start(Emitter *e, const Tiling *t);
const char *tiling_block_stop(Emitter *e, const Tiling *t);
bool tiling_asks_result(const Emitter *e, const Tiling *t);
bool tiling_asks_panels(const Tiling *t);
bool tiling_comes_by_pages(const Emitter *e, const Tiling *t);
const char *tiling_panels_are_far(Emitter *e, const Tiling *t);
const char *tiling_find_target(Emitter *e, const Tiling *t);
/* The address of what the step stores for a tile's first row and the column at `place`; NULL: the unit's first one. */
const char *tiling_target_at(Emitter *e, const Tiling *t, const char *place);
const char *tiling_near_target(Emitter *e, const Tiling *t);
void tiling_find_ahead(Emitter *e, const Tiling *t, const char *row);

/* emit_tiles.c: the body of the step's function. `calls`: of pack_columns, pack_rows, tiles, finish, what takes the last
 * tile's sums, what finds the columns and the points that a tile meets, and what stores one that meets no column. */
const char *tiling_step(Emitter *e, Tiling *t, const char *const calls[8]);

#endif
