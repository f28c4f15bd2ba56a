/* Which products are cut along what they contract, or along rows that are reduced, into parts that are added in their order. */
#include <math.h>

#include "planning.h"

enum {
    SPLIT_SIDE = 512, SPLIT_SWEEPS = 4,    /* deep products in parts: the largest side, a part's sweeps */
    PART_WORK = 1 << 22           /* or its products, if these are fewer sweeps, and those of a part of rows that are reduced */
};

static double all_rows(const Planner *planner, const Contract *c)
{
    return planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows);
}

/* The fewest points of a part. */
static double part_least(const Planner *planner, const Contract *c, double sweep)
{
    double work = fmax(all_rows(planner, c) * planner_points(planner, &c->columns), 1);
    return planner->hints->nests == NESTS_TILED ? sweep : fmax(sweep, fmin(SPLIT_SWEEPS * sweep, PART_WORK / work));
}

double contract_parts(const Planner *planner, const Contract *c, double sweep)
{
    bool small = all_rows(planner, c) <= SPLIT_SIDE && planner_points(planner, &c->columns) <= SPLIT_SIDE;
    bool few = c->batch.count == 0 && small && !planner->hints->uncut;
    return few ? fmin(floor(planner_points(planner, &c->depth) / part_least(planner, c, sweep)), SPLIT_PARTS) : 1;
}

/* So many points of its parts that each has some work, and there are no more than SPLIT_PARTS: all as many. */
static const Size *part_of(const Planner *planner, const Index *split, double least)
{
    Arena *arena = planner->arena;
    const Size *extent = size_extent(arena, split->origin), *one = size_constant(arena, 1);
    const Size *most = size_op(arena, SIZE_DIV, extent, size_constant(arena, (int64_t)ceil(least)));
    const Size *parts = size_op(arena, SIZE_MIN, size_op(arena, SIZE_MAX_OF, most, one), size_constant(arena, SPLIT_PARTS));
    return size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_CEIL_DIV, extent, parts), one);
}

/* The rows of a product are cut whose reduction leaves all columns to one unit of work. */
static const Size *split_rows(const Planner *planner, const Contract *c, Index **split)
{
    double columns = planner_points(planner, &c->columns), depth = planner_points(planner, &c->depth), size = (double)dtype_size(c->packed);
    double points = planner_points(planner, &c->batch) * planner_points(planner, &c->kept_rows);
    bool one = points == 1 && !c->sweep && c->run <= 1 &&
               (columns <= UNIT_COLUMNS_LEAST || columns * depth * size <= contract_near(planner->plan->target));
    *split = c->rows.list[0];
    double extent = planner_extent(planner, *split), rows = planner_points(planner, &c->rows), work = fmax(rows * columns * depth, 1);
    double least = planner->hints->nests == NESTS_TILED ? c->tile_rows : ceil(extent * fmax(PART_WORK / work, UNIT_ROWS_LEAST / fmax(rows, 1)));
    return one && extent >= 2 * least ? part_of(planner, *split, least) : NULL;
}

const Size *contract_split(const Planner *planner, const Step *step, Index **split)
{
    const Contract *c = step->contract;
    bool is_plain = c && c->tile && !c->parts && !c->places && !c->window;
    if (!is_plain || planner->hints->smallest_tiles || planner->hints->uncut || !step_can_split(step) || step->statement->swept)
        return NULL;
    if (c->reduces)
        return split_rows(planner, c, split);
    if (!c->sweep || step->root_count != 1 || step->roots[0] != c->product)
        return NULL;
    double extent = planner_extent(planner, c->depth.list[0]), least = part_least(planner, c, c->sweep) * extent / planner_points(planner, &c->depth);
    if (contract_parts(planner, c, c->sweep) < 2 || extent < 2 * ceil(least))
        return NULL;
    *split = c->depth.list[0];
    return part_of(planner, *split, least);
}
