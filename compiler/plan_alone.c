/* A step that runs on its own: cut along kept loops, along a reduced one, or both; and its tiles. */
#include <math.h>
#include <string.h>

#include "planning.h"

enum {
    SPLIT_WORK = 20000,           /* fewer operations are not worth a split */
    PARTS_ENOUGH = 32,            /* points of an index that can be cut for several threads */
    UNIT_WORK = 4096,             /* operations of one unit, so that finding its indices costs little, */
    BUNDLE_WORK = 16384,          /* and so what a bundle does before its loops */
    ROWS_WHOLE = 64,              /* rows of a matrix that are not cut */
    FEW_ROWS = 8,                 /* that use again what the innermost loop has brought into a cache */
    SQUARE = 64,                  /* points of either loop where an array is turned, */
    LAST_SQUARES = 4,             /* and so many times as many where its rows are followed */
    ROWS = 8,                     /* of a matrix, that are added up at once into sums in memory */
    ROWS_PARTS = 32,              /* so many such sums */
    ROWS_LONGEST = 1 << 18,       /* of no more elements */
    STRETCH_BYTES = 1 << 14       /* that each of some rows which are read at once follows: a few pages */
};

/* ---- tiles ---- */

static int64_t round_to_lanes(const Planner *planner, double tile)
{
    int lanes = planner->plan->lanes ? planner->plan->lanes : 1;
    double vectors = tile / lanes;
    return vectors < 1 ? lanes : (int64_t)(vectors > 1024 ? 1024 : vectors) * lanes;
}

/* Whether some array that the innermost loop walks through lies along another one. */
typedef struct Crossing {
    const Planner *planner;
    const Index *index, *inner;
    bool crosses;
} Crossing;

static void find_crossing(void *user, const Term *term)
{
    Crossing *c = user;
    c->crosses |= term->kind == TERM_READ && !term->read.tensor->maker && term_has_index(term, c->inner) &&
                  planner_reads_runs(c->planner, term, c->index);
}

static bool output_crosses(const Planner *planner, const Output *output, const Index *index, const Index *inner)
{
    bool along = false, walks = false;
    for (int a = 0; a < output->tensor->rank; a++) {
        along |= output->tensor->axes[a] == index && planner_stride(planner, output->tensor, a) == 1;
        walks |= output->tensor->axes[a] == inner;
    }
    return along && walks;
}

/* The outer loop of a map that turns an array: squares of both loops use whole lines of either side. NULL: there is none. */
static const Index *crossing_loop(const Planner *planner, const Step *step)
{
    for (int i = step->loop_count - 2; i >= 0 && !step->root_count; i--) {
        Crossing c = { planner, step->loops[i], step->loops[step->loop_count - 1], false };
        for (int o = 0; o < step->statement->output_count; o++) {
            const Output *output = &step->statement->outputs[o];
            c.crosses |= output_crosses(planner, output, c.index, c.inner);
            term_each_below(planner->arena, output->value, find_crossing, &c);
        }
        if (c.crosses)
            return step->loops[i];
    }
    return NULL;
}

static const char *tile_name(const Planner *planner, const Launch *launch, int block)
{
    return arena_format(planner->arena, "tile_%d_%d", launch->id + 1, block + 1);
}

/* Points that give a unit of one step some work. */
static int64_t inner_tile(const Planner *planner, const Step *step, bool lanes)
{
    double work = step_work(planner, step), points = (step->bundle ? BUNDLE_WORK : UNIT_WORK) / (work > 1 ? work : 1);
    return lanes ? round_to_lanes(planner, points * planner->plan->lanes) : points < 1 ? 1 : (int64_t)points;
}

static const Size *at_least(Arena *arena, const Size *one_or_more, int64_t least)
{
    return least > 1 ? size_op(arena, SIZE_MAX_OF, one_or_more, size_constant(arena, least)) : one_or_more;
}

/* As many points as have STRETCH_BYTES in one piece, where each has `row` numbers. */
static const Size *stretch(Arena *arena, const Size *row, Dtype dtype)
{
    return size_op(arena, SIZE_CEIL_DIV, size_constant(arena, STRETCH_BYTES / (int64_t)dtype_size(dtype)), row);
}

static const Size *extents_of(Arena *arena, Index *const *indices, int count)
{
    const Size *points = size_constant(arena, 1);
    for (int i = 0; i < count; i++)
        points = size_op(arena, SIZE_MUL, points, size_extent(arena, indices[i]->origin));
    return points;
}

bool planner_knows(const Planner *planner, const Index *index)
{
    return planner->hints->extents && planner->hints->extents->of[index->origin->id] >= 0;
}

/* Whether all rows of a point of what is outside of them are one unit's: so few columns have meanwhile left a cache, or not yet been read. */
static bool is_few(const Planner *planner, const Step *step, const Index *rows)
{
    return step->vector_kept && planner_knows(planner, rows) && planner_extent(planner, rows) <= ROWS_WHOLE;
}

/* A nest without temporaries: the innermost block is as long as gives a unit some work, and short enough that what it
 * reads stays in the cache while the block outside of it, of a few rows, uses it again. Where its loop is shorter, those
 * outside have more. */
static void tile_loops(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    const Step *step = launch->steps[0];
    const Index *crossing = crossing_loop(planner, step);
    const Size *want = NULL, *have = NULL;
    for (int b = launch->block_count - 1; b >= 0; b--) {
        Block *block = &launch->blocks[b];
        bool inner = b == launch->block_count - 1, lanes = block->of_step[0] == step->vector;
        int64_t tile = step->added ? 1 : inner ? inner_tile(planner, step, lanes) : b == launch->block_count - 2 ? FEW_ROWS : 1;
        bool jammed = block->of_step[0] == step->jammed;
        if (crossing)
            tile = inner && step->crossed_last ? LAST_SQUARES * SQUARE
                 : lanes && step->strip ? step->strip
                 : inner || block->of_step[0] == crossing ? SQUARE : 1;
        bool met = step->met && block->of_step[0] == step->met;
        bool whole = b > 0 && !inner && !crossing && (met || jammed) && is_few(planner, step, block->of_step[0]);
        int64_t together = jammed ? step->jam * (int64_t)(lanes ? planner->plan->lanes : 1) : met ? step->meets : 1;
        tile = whole ? (int64_t)planner_extent(planner, block->of_step[0]) : tile;
        tile = (tile + together - 1) / together * together;
        block->tile = size_constant(arena, tile);
        if (jammed && step->apart) {
            const Term *reduce = step->roots[0];
            const Size *rows = stretch(arena, extents_of(arena, reduce->reduce.over, reduce->reduce.over_count), reduce->dtype);
            block->tile = size_named(arena, tile_name(planner, launch, b), size_op(arena, SIZE_MUL, size_constant(arena, step->jam), rows));
        }
        if (!inner && !crossing && !jammed && !whole) {
            const Size *rows = at_least(arena, size_op(arena, SIZE_CEIL_DIV, want, have), tile);
            block->tile = size_named(arena, tile_name(planner, launch, b), size_align(arena, rows, together));
        }
        want = inner ? block->tile : want;
        const Size *points = size_op(arena, SIZE_MIN, block->tile, block->extent);
        have = have ? size_op(arena, SIZE_MUL, have, points) : points;
    }
}

/* As many points as a block of threads has at least, one for each thread, or one that its threads work on together. */
static int points_of_block(const Planner *planner, const Step *step)
{
    return step_has_teams(step) ? 1 : planner->plan->target->grid->threads;
}

/* Along the innermost loops as far as these go; where an array is turned, in squares. A block has few points as long as the grid is not busy
 * with these, and more where it is, which share what it takes to begin one: some for each thread, or for each warp that works on one. */
static void tile_grid(Planner *planner, Launch *launch)
{
    enum { POINTS_OF_THREAD = 8, POINTS_OF_WARP = 4, SIDE = 32 };
    Arena *arena = planner->arena;
    const Grid *grid = planner->plan->target->grid;
    int64_t least = points_of_block(planner, launch->steps[0]);
    int64_t most = step_has_teams(launch->steps[0]) ? POINTS_OF_WARP * grid->threads / grid->lanes : POINTS_OF_THREAD * grid->threads;
    const Index *crossing = crossing_loop(planner, launch->steps[0]);
    const Size *all = size_constant(arena, 1), *have = NULL;
    for (int b = 0; b < launch->block_count; b++)
        all = size_op(arena, SIZE_MUL, all, launch->blocks[b].extent);
    const Size *want = size_op(arena, SIZE_CEIL_DIV, all, size_constant(arena, grid->blocks));
    want = planner->hints->nests == NESTS_BY_COST ? size_op(arena, SIZE_MIN, at_least(arena, want, least), size_constant(arena, most))
                                                  : size_constant(arena, most);
    want = size_named(arena, arena_format(arena, "points_%d", launch->id + 1), want);
    for (int b = launch->block_count - 1; b >= 0; b--) {
        Block *block = &launch->blocks[b];
        bool square = crossing && (block->of_step[0] == crossing || b == launch->block_count - 1);
        const Size *tile = have ? size_op(arena, SIZE_CEIL_DIV, want, have) : want;
        tile = square ? size_op(arena, SIZE_MIN, tile, size_constant(arena, SIDE)) : tile;
        block->tile = size_named(arena, tile_name(planner, launch, b), size_op(arena, SIZE_MIN, tile, block->extent));
        have = have ? size_op(arena, SIZE_MUL, have, block->tile) : block->tile;
    }
}

/* ---- blocks ---- */

static double elements_of(const Planner *planner, const Tensor *tensor)
{
    double elements = 1;
    for (int a = 0; a < tensor->rank; a++)
        elements *= (double)planner->hints->extents->shape[tensor->home->origin->id][a];
    return elements;
}

/* Whether a step reduces the rows of a matrix that no near cache holds, one after the other. With its states in registers it
 * would go down a few columns at a time, each line of another page; with states in memory it reads some whole rows at once. */
static bool adds_rows(const Planner *planner, const Step *step, const Index *split, double points)
{
    if (!split || step->roots[0]->reduce.over_count != 1 || !step->vector_kept ||
        planner->hints->nests != NESTS_BY_COST || !planner->hints->extents ||
        planner->hints->extents->of[split->origin->id] < 0 || points > ROWS_LONGEST ||
        !planner_reads_plainly(planner, step->roots[0]->reduce.argument))
        return false;
    double largest = 0;
    for (int u = 0; u < step->units.count; u++)
        if (!step->units.list[u].tensor->maker && step->units.list[u].tensor->rank > 1)
            largest = fmax(largest, elements_of(planner, step->units.list[u].tensor));
    double rows = points * planner_extent(planner, split);
    return largest >= rows && rows * 4 > 2.0 * planner->plan->target->l2_bytes;
}

/* The largest array that a step reduces. */
typedef struct Largest {
    const Planner *planner;
    const Term *read;
    double elements;
    bool simple;                  /* nothing is reduced but reads and functions of them: no condition bounds the reduction */
} Largest;

static void note_largest(void *user, const Term *term)
{
    Largest *largest = user;
    largest->simple &= term->kind == TERM_READ || term->kind == TERM_MAP || term->kind == TERM_CONSTANT;
    double elements = term->kind == TERM_READ && !term->read.tensor->maker ? elements_of(largest->planner, term->read.tensor) : 0;
    if (elements > largest->elements) {
        largest->read = term;
        largest->elements = elements;
    }
}

static Largest largest_of(const Planner *planner, const Step *step)
{
    Largest largest = { planner, NULL, 0, true };
    term_each_below(planner->arena, step->roots[0]->reduce.argument, note_largest, &largest);
    return largest;
}

/* Whether an index is at an axis of it, counted from the last one where that is negative. */
static bool is_axis(const Largest *largest, const Index *index, int axis)
{
    int rank = largest->read ? largest->read->read.tensor->rank : 0, a = axis < 0 ? rank + axis : axis;
    return a >= 0 && a < rank && position_is_plain(&largest->read->read.positions[a]) && largest->read->read.positions[a].parts[0].index == index;
}

/* Whether all that a step makes at one point of its kept loops but the vector's is in rows of memory which it adds up, and each sum has
 * the result's dtype, so that it can stand there. */
Index *plan_added(const Planner *planner, const Step *step)
{
    Component components[STATE_COMPONENTS_MAX];
    const Output *output = &step->statement->outputs[0];
    const Term *root = step->root_count == 1 ? step->roots[0] : NULL;
    if (planner->plan->target->grid || !root || step->kind != STEP_STORE || step->contract || step->scatters || step->bounded ||
        step->loop_count < 2 || step->loops[step->loop_count - 1] != step->vector || step->statement->accumulate ||
        step->statement->output_count > 1 || output->partly || step->statement->swept || output->tensor->previous ||
        output->tensor->from_caller || state_components(root, components) != 1 || components[0].dtype != output->tensor->dtype)
        return NULL;
    for (int a = 0; a < output->tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]))
            return NULL;
    Index *rows = root->reduce.over_count == 1 ? root->reduce.over[0] : NULL;
    double unit = rows ? planner_extent(planner, rows) * planner_extent(planner, step->vector) * (double)dtype_size(output->tensor->dtype) : 0;
    Largest largest = largest_of(planner, step);
    bool outermost = is_axis(&largest, rows, 0);    /* whose parts lie in one piece, too */
    bool adds = largest.simple && is_axis(&largest, rows, -2) && (planner->plan->target->apart || !outermost) &&
                adds_rows(planner, step, rows, planner_kept_points(planner, step));
    return adds && unit >= ROWS * STRETCH_BYTES ? rows : NULL;
}

/* So many that are added up at once, of short ones each the first of a stretch. */
static const Size *rows_of_unit(const Planner *planner, const Launch *launch)
{
    Arena *arena = planner->arena;
    const Step *step = launch->steps[0];
    const Size *rows = size_constant(arena, ROWS);
    if (!planner->plan->target->apart)
        return rows;
    const Size *one = stretch(arena, extents_of(arena, step->loops, step->loop_count), step->roots[0]->dtype);
    return size_named(arena, tile_name(planner, launch, 0), size_op(arena, SIZE_MUL, rows, one));
}

/* Cuts the launch of one step along a reduced index, so much of it for each part. */
static void split_step(Planner *planner, Launch *launch, Index *split, const Size *tile, const Size *parts)
{
    Step *step = launch->steps[0];
    step->split = split;
    step->parts = size_named(planner->arena, arena_format(planner->arena, "parts_%d", step->id + 1), parts);
    Block block = { ARENA_NEW(planner->arena, Index *), size_extent(planner->arena, split->origin), tile };
    block.of_step[0] = split;
    ARENA_APPEND(planner->arena, launch->blocks, launch->block_count, block);
}

static void block_kept(Planner *planner, Launch *launch)
{
    Step *step = launch->steps[0];
    bool added = plan_added(planner, step) != NULL;    /* of whole rows */
    for (int i = 0; i < step->loop_count - added; i++) {
        if (!planner_may_be_block(step, step->loops[i]))
            continue;
        Block block = { .of_step = ARENA_NEW(planner->arena, Index *), .extent = size_extent(planner->arena, step->loops[i]->origin) };
        block.of_step[0] = step->loops[i];
        ARENA_APPEND(planner->arena, launch->blocks, launch->block_count, block);
    }
}

/* On a grid: how many parts the reduction has in each tile of kept points, where these are so few that much of the grid would be
 * idle; 0: one. A part takes as long as merging them all does, or there are as many as the grid takes, or points of the index. */
static double parts_of_tile(const Planner *planner, const Step *step, const Index *split, double points)
{
    enum { IDLE = 4, LEAST = 64 };
    const Grid *grid = planner->plan->target->grid;
    bool known = grid && split && planner_knows(planner, split);
    for (int i = 0; i < step->loop_count && known; i++)
        known = planner_knows(planner, step->loops[i]);
    if (!known)
        return 0;
    double tiles = ceil(points / points_of_block(planner, step));
    double steps = 1.0 / (step_has_teams(step) ? grid->lanes : 1);
    for (int i = 0; i < step->roots[0]->reduce.over_count; i++)
        steps *= planner_extent(planner, step->roots[0]->reduce.over[i]);
    double most = fmin(grid->blocks / tiles, planner_extent(planner, split));
    return tiles * IDLE > grid->blocks || steps < LEAST ? 0 : floor(fmin(most, 2 * sqrt(steps)));
}

/* Whether a reduction is long enough to be cut into parts, as far as is known. */
static bool may_pay(const Planner *planner, const Step *step, const Index *split, double work)
{
    const Term *reduce = step->roots[0];
    for (int i = 0; i < reduce->reduce.over_count; i++)
        if (!planner_knows(planner, reduce->reduce.over[i]))
            return true;
    return work > SPLIT_WORK && planner_extent(planner, split) > 1;
}

/* Cut along its kept loops and, behind them, along a reduced one. */
static void block_both(Planner *planner, Launch *launch, Index *split, double parts)
{
    Arena *arena = planner->arena;
    const Size *extent = size_extent(arena, split->origin);
    block_kept(planner, launch);
    tile_grid(planner, launch);
    const Size *tile = size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_CEIL_DIV, extent, size_constant(arena, (int64_t)parts)),
                               size_constant(arena, 1));
    tile = size_named(arena, tile_name(planner, launch, launch->block_count), tile);
    split_step(planner, launch, split, tile, size_op(arena, SIZE_CEIL_DIV, extent, tile));
}

/* Which index of a reduction is cut: the outermost that has enough points, for parts of it lie each in one piece, else the longest. */
static Index *index_to_cut(const Planner *planner, const Term *reduce)
{
    Index *longest = reduce->reduce.over[0];
    double enough = planner->plan->target->grid ? INFINITY : PARTS_ENOUGH;
    for (int i = 0; i < reduce->reduce.over_count && planner_extent(planner, longest) < enough; i++)
        if (planner_extent(planner, reduce->reduce.over[i]) > planner_extent(planner, longest))
            longest = reduce->reduce.over[i];
    return longest;
}

static Index *index_of_parts(const Planner *planner, const Step *step)
{
    return step_can_split(step) && !step->contract && !planner->hints->uncut ? index_to_cut(planner, step->roots[0]) : NULL;
}

/* Whether a step is cut into parts of rows, which it adds up. Of each point of an outer index some lines lie together, which go
 * down as fast, if states do. */
static bool has_parts_of_rows(const Planner *planner, Step *step, const Index *split, double points)
{
    if (points < KEPT_ENOUGH || !adds_rows(planner, step, split, points))
        return false;
    Largest largest = largest_of(planner, step);
    return is_axis(&largest, split, 0) || (!planner->plan->target->apart && !plan_states_go_together(planner, step));
}

bool plan_reads_rows(const Planner *planner, Step *step)
{
    return plan_added(planner, step) ||
           has_parts_of_rows(planner, step, index_of_parts(planner, step), planner_kept_points(planner, step));
}

/* One step on its own: cut along all of its kept loops, or along a reduced one where they give too little work, or both. */
void plan_alone(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    Step *step = launch->steps[0];
    double work = step_work(planner, step), points = planner_kept_points(planner, step);
    Index *split = index_of_parts(planner, step);
    double both = parts_of_tile(planner, step, split, points);
    if (both > 1) {
        block_both(planner, launch, split, both);
        return;
    }
    if (plan_added(planner, step)) {
        block_kept(planner, launch);
        return;
    }
    bool rows = has_parts_of_rows(planner, step, split, points);
    if (rows || (split && points < KEPT_ENOUGH && may_pay(planner, step, split, work * points))) {
        const Size *extent = size_extent(arena, split->origin), *most = planner_most_parts(planner, points);
        double least = planner_knows(planner, split) ? 1 : UNIT_WORK * planner_extent(planner, split) / fmax(work, 1);
        const Size *tile = size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_CEIL_DIV, extent, most),
                                   size_constant(arena, step->vector == split ? round_to_lanes(planner, least) : (int64_t)ceil(least)));
        tile = rows ? rows_of_unit(planner, launch) : tile;
        step->ahead = rows ? AHEAD_BYTES / planner->plan->target->vector_bytes : 0;
        const Size *parts = size_op(arena, SIZE_CEIL_DIV, extent, tile);
        parts = rows ? size_op(arena, SIZE_MIN, parts, size_constant(arena, ROWS_PARTS)) : parts;
        split_step(planner, launch, split, tile, parts);
        return;
    }
    const Size *part = step->contract && step->contract->block ? block_split(planner, step, &split) : NULL;
    if (part) {
        block_kept(planner, launch);
        part = size_named(arena, tile_name(planner, launch, launch->block_count), part);
        split_step(planner, launch, split, part, size_op(arena, SIZE_CEIL_DIV, size_extent(arena, split->origin), part));
        return;
    }
    part = planner->plan->target->grid ? NULL : contract_split(planner, step, &split);
    if (part) {
        split_step(planner, launch, split, size_named(arena, tile_name(planner, launch, 0), part),
                   size_op(arena, SIZE_CEIL_DIV, size_extent(arena, split->origin), part));
        return;
    }
    block_kept(planner, launch);
}

void plan_tile_alone(Planner *planner, Launch *launch)
{
    if (launch->step_count > 1 || launch->steps[0]->split || launch->steps[0]->contract)    /* a product's tiles follow with its storage */
        return;
    if (planner->plan->target->grid)
        tile_grid(planner, launch);
    else
        tile_loops(planner, launch);
}
