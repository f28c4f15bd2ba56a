/* What a unit of work of a tiled product stores on the way: packed rows and panels, sums that wait, states. */
#include <stdlib.h>

#include "planning.h"

enum { RUN_MOST = 16 };           /* so many points of a kept index have states at once */

static const Size *block_size(Planner *planner, const Launch *launch, const Index *index)
{
    const Block *block = launch_block_of(launch, index);
    return block ? block->tile : size_extent(planner->arena, index->origin);
}

static const Size *add_scratch(Planner *planner, const Step *step, const Contract *c, const char *word, Dtype dtype,
                               const Size *count, const Size **end)
{
    Arena *arena = planner->arena;
    Scratch scratch = { .step = step, .dtype = dtype, .name = arena_format(arena, "%s_%d", word, c->number),
                        .bytes = size_op(arena, SIZE_MUL, count, size_constant(arena, (int64_t)dtype_size(dtype))) };
    scratch.offset = planner_reserve(planner, end, scratch.name, scratch.bytes);
    ARENA_APPEND(arena, planner->plan->scratch, planner->plan->scratch_count, scratch);
    return scratch.offset;
}

/* 1 where a size is more than `most`, else 0. */
static const Size *one_beyond(Arena *arena, const Size *size, int most)
{
    return size_op(arena, SIZE_MIN, size_constant(arena, 1), size_op(arena, SIZE_DIV, size, size_constant(arena, most + 1)));
}

/* How many contracted points are inside of each of the outermost index. */
static const Size *inner_points(Arena *arena, const Contract *c)
{
    const Size *inner = size_constant(arena, 1);
    for (int i = 1; i < c->depth.count; i++)
        inner = size_op(arena, SIZE_MUL, inner, size_extent(arena, c->depth.list[i]->origin));
    return inner;
}

/* How many points of this are packed at a time, at most. */
static const Size *sweep_outer(Arena *arena, const Contract *c)
{
    const Size *some = size_op(arena, SIZE_DIV, size_constant(arena, c->sweep), inner_points(arena, c));
    return size_op(arena, SIZE_MIN, size_op(arena, SIZE_MAX_OF, some, size_constant(arena, 1)), size_extent(arena, c->depth.list[0]->origin));
}

static const Size *sweep_points(Arena *arena, const Contract *c)
{
    return size_op(arena, SIZE_MUL, sweep_outer(arena, c), inner_points(arena, c));
}

/* The rows of a unit of work, in whole tiles. */
static const Size *swept_rows(Planner *planner, const Launch *launch, const Contract *c)
{
    Arena *arena = planner->arena;
    const Size *rows = size_align(arena, block_size(planner, launch, c->rows.list[0]), c->tile_rows);
    for (int i = 0; i < c->kept_rows.count; i++)
        rows = size_op(arena, SIZE_MUL, rows, block_size(planner, launch, c->kept_rows.list[i]));
    return rows;
}

/* Whether what is reduced behind a product in registers of tiles is made of its sums and nothing else, so that it does not
 * matter to them which rows share a tile. */
static int run_of(const Planner *planner, const Launch *launch, const Step *step, const Contract *c)
{
    bool runs = c->tile->dot && c->reduces && !c->sweep && c->rows.count == 1 && c->kept_rows.count > 0 &&
                c->left->kind == TERM_READ && !launch_block_of(launch, c->rows.list[0]) && !step->statement->swept;
    for (int r = 0; r < step->root_count; r++)
        runs = runs && state_is_simple(step->roots[r]) && contract_is_of_sums(step->roots[r]->reduce.argument, c->product);
    return runs && !planner->plan->memory && !planner->hints->smallest_tiles ? RUN_MOST : 1;
}

/* The states of so many columns. */
static void reserve_states(Planner *planner, const Launch *launch, const Step *step, Contract *c, const Size *states, const Size **end)
{
    Arena *arena = planner->arena;
    c->run = run_of(planner, launch, step, c);
    if (c->run > 1)
        states = size_op(arena, SIZE_MUL, states, size_op(arena, SIZE_MIN, size_constant(arena, c->run),
                                                           block_size(planner, launch, c->kept_rows.list[c->kept_rows.count - 1])));
    for (int r = 0; r < step->root_count && c->reduces; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(step->roots[r], components); i < n; i++)
            add_scratch(planner, step, c, arena_format(arena, "%s_%d", components[i].name, r + 1), components[i].dtype, states, end);
    }
}

/* A unit of work's window of rows, or a little more. */
static const Size *window_size(Planner *planner, const Launch *launch, const Contract *c)
{
    Arena *arena = planner->arena;
    const Size *product = size_constant(arena, 1);
    for (int i = 0; i < c->window->count; i++) {
        const WindowAxis *axis = &c->window->axes[i];
        const Size *rows = axis->row ? block_size(planner, launch, axis->row) : size_constant(arena, 0);
        const Size *points = axis->point ? block_size(planner, launch, axis->point) : size_constant(arena, 0);
        if (c->sweep && axis->point == c->depth.list[0])
            points = sweep_outer(arena, c);
        rows = size_op(arena, SIZE_MUL, rows, size_constant(arena, llabs(axis->row_factor)));
        points = size_op(arena, SIZE_MUL, points, size_constant(arena, llabs(axis->point_factor)));
        product = size_op(arena, SIZE_MUL, product, size_op(arena, SIZE_ADD, rows, points));
    }
    return product;
}

/* Packed columns and rows, a tile of sums, and the states of the columns. */
static void reserve(Planner *planner, const Launch *launch, const Step *step, Contract *c, const Size **end)
{
    Arena *arena = planner->arena;
    const Size *depth = size_constant(arena, 1), *columns = depth;
    for (int i = 0; i < c->depth.count; i++) {
        const Size *extent = block_size(planner, launch, c->depth.list[i]);
        if (i == c->depth.count - 1 && c->group > 1)
            extent = size_op(arena, SIZE_CEIL_DIV, extent, size_constant(arena, c->group));
        depth = size_op(arena, SIZE_MUL, depth, extent);
    }
    if (c->tile->parts)
        depth = size_op(arena, SIZE_MUL, size_op(arena, SIZE_CEIL_DIV, depth, size_constant(arena, c->tile->words / c->tile->parts)),
                        size_constant(arena, c->tile->words));
    else if (c->tile->words > 1)
        depth = size_align(arena, depth, c->tile->words);
    if (c->sweep)
        depth = sweep_points(arena, c);
    for (int i = 0; i < c->columns.count; i++)
        columns = size_op(arena, SIZE_MUL, columns, block_size(planner, launch, c->columns.list[i]));
    columns = size_align(arena, columns, c->tile_vectors * planner->plan->lanes);
    Dtype dtype = state_dtype(c->product);
    const Size *panel = c->tile->has_starts ? size_op(arena, SIZE_ADD, depth, size_constant(arena, 1)) : depth;
    add_scratch(planner, step, c, "panels", c->widened ? c->widened->dtype : dtype, size_op(arena, SIZE_MUL, columns, panel), end);
    if (c->rows_stay)
        add_scratch(planner, step, c, "coming", dtype, size_op(arena, SIZE_MUL, columns, panel), end);
    const Size *is_far = c->sweep ? size_constant(arena, 1) : one_beyond(arena, size_op(arena, SIZE_MUL, columns, depth), c->near);
    const Size *more = size_constant(arena, 0);
    if (c->row_block > c->close_block)
        more = size_op(arena, SIZE_MUL, is_far, size_constant(arena, c->row_block - c->close_block));
    if (c->close)
        more = size_op(arena, SIZE_ADD, more, size_op(arena, SIZE_MUL, size_constant(arena, c->close_block - 1),
                                                      one_beyond(arena, size_op(arena, SIZE_MUL, columns, depth), c->close)));
    const Size *rows = size_op(arena, SIZE_MUL, size_op(arena, SIZE_ADD, size_constant(arena, 1), more),
                               size_constant(arena, c->tile_rows));
    const Size *row = size_op(arena, SIZE_ADD, depth, size_constant(arena, CONTRACT_LINE / (int)dtype_size(dtype)));
    if (c->rows_spread)
        row = size_op(arena, SIZE_MUL, depth, size_constant(arena, planner->plan->lanes));
    if (c->window) {
        rows = window_size(planner, launch, c);
        row = size_constant(arena, 1);
        add_scratch(planner, step, c, "spots", DTYPE_I64, depth, end);
    }
    if (c->tile->parts)    /* rows that are multiplied, and those that are cut meanwhile */
        rows = size_op(arena, SIZE_MUL, rows, size_constant(arena, 2));
    add_scratch(planner, step, c, "packed", dtype, size_op(arena, SIZE_MUL, rows, row), end);
    const Size *kept = size_op(arena, SIZE_MUL, size_op(arena, SIZE_MUL, one_beyond(arena, depth, c->asked_points ? c->asked_points : c->depth_block), columns),
                               size_constant(arena, c->row_block * c->tile_rows));
    if (c->sweep)
        kept = size_op(arena, SIZE_MUL, columns, swept_rows(planner, launch, c));
    add_scratch(planner, step, c, "kept", dtype, kept, end);
    if (c->places)
        add_scratch(planner, step, c, "kept_places", DTYPE_I64, kept, end);
    if (c->pieces) {    /* a vector's place is three numbers; there is a tile more, to look ahead */
        const Size *vectors = size_op(arena, SIZE_CEIL_DIV, columns, size_constant(arena, planner->plan->lanes));
        vectors = size_op(arena, SIZE_ADD, vectors, size_constant(arena, c->tile_vectors));
        add_scratch(planner, step, c, "pieces", DTYPE_I64, size_op(arena, SIZE_MUL, vectors, size_constant(arena, 3)), end);
        c->stages = step->result && !c->halves && columns_may_stage(planner, step, c);
        if (c->stages)    /* runs of columns are no shorter than vectors */
            add_scratch(planner, step, c, "runs", DTYPE_I64, vectors, end);
    }
    c->panels_of = NULL;
    if (!c->sweep && contract_meets_again(launch, step))
        c->panels_of = add_scratch(planner, step, c, "panels_of", DTYPE_I64, size_constant(arena, 1), end);
    reserve_states(planner, launch, step, c, columns, end);
    if (c->tames)
        add_scratch(planner, step, c, "columns_tame", DTYPE_I64, size_constant(arena, 1), end);
    if (c->points_met.condition)
        add_scratch(planner, step, c, "finite", DTYPE_I64, size_constant(arena, 1), end);
    if (launch->guess && launch->guess->product == step) {    /* a vector of sums for each maximum */
        const Tensor *largest = launch->guess->largest->statement->outputs[0].tensor;
        const Size *vectors = size_constant(arena, planner->plan->lanes / (int64_t)dtype_size(largest->dtype));
        add_scratch(planner, step, c, "seen", DTYPE_F32, size_op(arena, SIZE_MUL, planner->plan->storage[largest->id].bytes, vectors), end);
    }
    if (c->tile->parts)
        add_scratch(planner, step, c, "odd", DTYPE_I64, size_constant(arena, 1), end);
}

void contract_reserve(Planner *planner, const Launch *launch, const Step *step, const Size **end)
{
    Contract *c = step->contract;
    c->number = step->id + 1;
    if (c->block)    /* all that it needs is in shared memory */
        return;
    reserve(planner, launch, step, c, end);
    if (c->parts) {
        c->parts->number = planner->plan->step_count + step->id + 1;
        reserve(planner, launch, step, c->parts, end);
    }
}
