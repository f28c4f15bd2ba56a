/* Steps that run as tiled products: which they are, which side is rows and which columns, and how much of each a unit of
 * work takes. */
#include <math.h>
#include <string.h>

#include "planning.h"
#include "turn.h"

enum {
    UNIT_ROWS = 4096,             /* so many rows pay for packing the columns that they meet */
    ROWS_LEAST = 128,             /* fewer are not worth it */
    UNITS_LEAST = 12,             /* so many units of work keep all workers busy */
    COLUMNS_LEAST = 256, WORKERS_LEAST = 4,    /* the same where rows are few */
    ROW_BLOCK = 8,
    DEPTH_FORCED = 24, ROW_FORCED = 2, NEAR_FORCED = 1024,     /* short, for small arrays to reach all that a product does */
    PANELS_MOST = 8 << 20,        /* bytes of packed columns, whatever the cache, */
    PACKED_MOST = 1 << 20,        /* and of packed rows */
    ROWS_NEAR = 4                 /* rows of this part of what stays near stay there beside panels */
};

#define ROW_COST 1.25   /* what a row costs beside its vectors' products, which take 1 each, to judge by the clock */

/* ---- the shape ---- */

static bool is_first_reduction(Planner *planner, const Step *step)
{
    for (int i = 0; i < step->root_count; i++) {
        const Term *root = step->roots[i];
        if (reduction_facts[root->reduce.reduction].leaves != LEAVES_NOTHING ||
            product_inside(planner->arena, root->reduce.argument) !=
                product_inside(planner->arena, step->roots[0]->reduce.argument))
            return false;
    }
    return step->root_count == 1 || step_can_split(step);
}

/* The product of a step, and whether its roots are reductions behind it. */
static bool find_product(Planner *planner, const Step *step, Product *product, bool *reduces)
{
    *reduces = false;
    if (step->kind != STEP_STORE || step->root_count == 0)
        return false;
    const Term *only = step->root_count == 1 ? step->roots[0] : NULL;
    if (only && product_match(planner->arena, only, product))
        return true;
    *reduces = true;
    const Term *inside = !is_first_reduction(planner, step) ? NULL
                         : product_inside(planner->arena, step->roots[0]->reduce.argument);
    return inside && product_match(planner->arena, inside, product);
}

static void append(Planner *planner, IndexSet *set, Index *index)
{
    ARENA_APPEND(planner->arena, set->list, set->count, index);
}

/* The indices of a side in the order of the step's loops; reduced ones behind them. */
static IndexSet in_order(Planner *planner, const Step *step, const IndexSet *own)
{
    IndexSet ordered = { NULL, 0 };
    for (int i = 0; i < step->loop_count; i++)
        if (indices_have(own->list, own->count, step->loops[i]))
            append(planner, &ordered, step->loops[i]);
    return ordered;
}

static void move_last(IndexSet *set, const Index *last)
{
    for (int i = 0; i + 1 < set->count; i++)
        if (set->list[i] == last) {
            Index *next = set->list[i + 1];
            set->list[i + 1] = set->list[i];
            set->list[i] = next;
        }
}

static void set_rows(Planner *planner, const Step *step, Contract *c, const IndexSet *own, const Index *row)
{
    c->kept_rows = in_order(planner, step, own);
    if (c->reduces) {
        for (int i = 0; i < step->roots[0]->reduce.over_count; i++)
            append(planner, &c->rows, step->roots[0]->reduce.over[i]);
    } else {
        move_last(&c->kept_rows, row);
        append(planner, &c->rows, c->kept_rows.list[--c->kept_rows.count]);
    }
    for (int i = 0; i < c->rows.count; i++)
        if (lies_along(planner, c->left, c->rows.list[i]))
            move_last(&c->rows, c->rows.list[i]);
}

/* The contracted indices as the rows have them, the one whose points lie side by side last, so that a row may be one run. */
static void set_depth(Planner *planner, Contract *c)
{
    for (int i = 0; i < c->product->reduce.over_count; i++) {
        Index *index = c->product->reduce.over[i];
        int64_t stride = side_stride(planner, c->left, index);
        int at = c->depth.count;
        append(planner, &c->depth, index);
        for (; at > 0 && side_stride(planner, c->left, c->depth.list[at - 1]) < stride; at--) {
            c->depth.list[at] = c->depth.list[at - 1];
            c->depth.list[at - 1] = index;
        }
    }
}

/* Which tile the sums make. One instruction multiplies and adds several points of a sum of products of two numbers that are
 * read as they are, of a dtype that the target has such an instruction for. */
static void set_tile(const Target *target, Contract *c, const Component *sum)
{
    const Term *x = c->product->reduce.argument, *left = plain_read(c->left), *right = plain_read(c->right);
    while (x->kind == TERM_MAP && x->map.function == FUNCTION_CAST && x->map.implicit)
        x = x->map.arguments[0];
    bool sums = sum->merge == MERGE_ADD && sum->lift == LIFT_ELEMENT && x->kind == TERM_MAP && x->map.function == FUNCTION_MUL;
    int first = sums && x->map.arguments[1] == c->left;
    c->packed = sum->dtype;
    c->tile = target->tile;
    if (!sums || !left || !right || left->dtype != right->dtype || x->map.arguments[first] != c->left ||
        x->map.arguments[1 - first] != c->right || sum->dtype != dtype_widen(left->dtype) || !target->narrow[left->dtype])
        return;
    c->packed = left->dtype;
    c->tile = target->narrow[left->dtype];
    c->left = left;
    c->right = right;
}

static double points(const Planner *planner, const IndexSet *set)
{
    double product = 1;
    for (int i = 0; i < set->count; i++)
        product *= planner_extent(planner, set->list[i]);
    return product;
}

/* Which squares of columns packing turns: with the contracted points, or with another index of columns, which then comes
 * before the lanes'. */
static void set_turns(const Planner *planner, Contract *c, Dtype dtype)
{
    const Index *column = c->columns.list[c->columns.count - 1];
    c->columns_turned = c->tile->group == 1 && !lies_along(planner, c->right, column) &&
                        lies_along(planner, c->right, c->depth.list[c->depth.count - 1]);
    if (c->tile->group > 1 || c->columns_turned || lies_along(planner, c->right, column))
        return;
    c->across = lies_across(planner, c->right, &c->columns, column, points(planner, &c->depth), dtype);
    if (c->across) {
        move_last(&c->columns, c->across);
        move_last(&c->columns, column);
    }
}

/* max[k](A[i,k] + B[k,j]), or min; and either of the lesser or the greater of two. */
static bool is_tropical(const Contract *c, const Component *state)
{
    const Term *x = c->product->reduce.argument;
    if (x->kind != TERM_MAP || (x->map.function != FUNCTION_ADD && x->map.function != FUNCTION_MIN && x->map.function != FUNCTION_MAX))
        return false;
    return (state->merge == MERGE_MAX || state->merge == MERGE_MIN) && state->lift == LIFT_ELEMENT && dtype_kind(state->dtype) == KIND_FLOAT &&
           ((x->map.arguments[0] == c->left && x->map.arguments[1] == c->right) ||
            (x->map.arguments[0] == c->right && x->map.arguments[1] == c->left));
}

/* Rows that one stride reaches, that of all contracted indices together, need no packing. Those that are looked at are
 * packed. */
static bool is_in_place(const Contract *c)
{
    if (c->tames || c->left->kind != TERM_READ || c->left->dtype != c->packed || (c->depth.count != 1 && c->group > 1) || c->tile->has_starts)
        return false;
    for (int a = 0; a < c->left->read.tensor->rank; a++)
        if (position_has_gather(&c->left->read.positions[a]))
            return false;
    return true;
}

static bool has_index_of_all_loops(const Step *step, const Product *product)
{
    for (int i = 0; i < step->loop_count; i++) {
        bool found = indices_have(product->batch.list, product->batch.count, step->loops[i]);
        for (int s = 0; s < 2; s++)
            found |= indices_have(product->own[s].list, product->own[s].count, step->loops[i]);
        if (!found)
            return false;
    }
    return true;
}

/* Complex numbers have no lanes, and a tile has nothing else. */
static bool has_complex_numbers(const Planner *planner, const Step *step)
{
    const Program *lowered = planner->plan->lowered;
    for (int i = 0; i < lowered->term_count; i++)
        if (lowered->terms[i]->statement == step->statement->id && dtype_kind(lowered->terms[i]->dtype) == KIND_COMPLEX)
            return true;
    return false;
}

/* Panels of at most so many bytes stay near while all rows meet them. */
static double near_bytes(const Target *target)
{
    return target->l2_bytes * 5.0 / 8;
}

/* In which order tiles meet panels. */
static void set_blocks(const Planner *planner, Contract *c, Dtype dtype)
{
    const Target *target = planner->plan->target;
    double size = (double)dtype_size(dtype), number = c->rows_spread ? target->vector_bytes : size;
    double blocks = PACKED_MOST / (c->tile_rows * points(planner, &c->depth) / c->group * number);
    bool forced = planner->hints->nests == NESTS_TILED;
    c->depth_block = forced ? DEPTH_FORCED : c->tile->depth;
    c->near = forced ? NEAR_FORCED : (int)(near_bytes(target) / size);
    c->row_block = forced ? ROW_FORCED : blocks >= ROW_BLOCK ? ROW_BLOCK : blocks > 1 ? (int)blocks : 1;
    if (planner->hints->smallest_tiles)
        c->row_block = 1;
}

/* The same product with each number taken apart: of two numbers that are read as they are, along one contracted index. A unit
 * of work with numbers that have no such parts is done again, so nothing may be added to what was there. */
static Contract *plan_parts(Planner *planner, const Step *step, const Contract *whole, const Component *sum)
{
    const Term *x = whole->product->reduce.argument, *left = plain_read(whole->left), *right = plain_read(whole->right);
    const Tile *tile = planner->plan->target->parts[planner->hints->precision];
    bool sums = sum->merge == MERGE_ADD && sum->lift == LIFT_ELEMENT && x->kind == TERM_MAP && x->map.function == FUNCTION_MUL;
    if (!tile || !sums || whole->tile->dot || !left || !right || left->dtype != DTYPE_F32 || right->dtype != DTYPE_F32 ||
        sum->dtype != DTYPE_F32 || whole->depth.count != 1 || step->statement->accumulate || planner->hints->smallest_tiles)
        return NULL;
    Contract *c = ARENA_NEW(planner->arena, Contract);
    *c = *whole;
    c->left = left;
    c->right = right;
    c->packed = DTYPE_BF16;
    c->tile = tile;
    c->group = tile->group;
    c->tames = false;
    c->tile_rows = tile->rows;
    c->rows_along = c->columns_turned = c->rows_spread = c->in_place = false;
    c->across = NULL;
    c->columns_met.condition = c->points_met.condition = NULL;
    set_blocks(planner, c, sum->dtype);
    return c;
}

Contract *plan_contract(Planner *planner, const Step *step)
{
    Product product;
    bool reduces;
    const Target *target = planner->plan->target;
    if (!target->tile || has_complex_numbers(planner, step) || !find_product(planner, step, &product, &reduces) ||
        !has_index_of_all_loops(step, &product))
        return NULL;
    Sides sides = { .left = -1 };
    if (reduces)
        sides.left = product_side(&product, step->roots[0]->reduce.over, step->roots[0]->reduce.over_count);
    else if (!product_choose_sides(planner, step, &product, &sides))
        return NULL;
    int left = sides.left;
    if (left < 0 || !product_pays(&product, planner->hints->nests, planner->hints->extents, reduces ? step->roots[0]->reduce.over : NULL,
                                  reduces ? step->roots[0]->reduce.over_count : 0))
        return NULL;
    Component component[STATE_COMPONENTS_MAX];
    state_components(product.reduce, component);
    Dtype dtype = component[0].dtype;
    for (int s = 0; s < 2; s++)
        if (register_dtype(product.side[s]->dtype) != dtype)
            return NULL;
    Contract *c = ARENA_NEW(planner->arena, Contract);
    c->product = product.reduce;
    c->left = product.side[left];
    c->right = product.side[1 - left];
    c->batch = in_order(planner, step, &product.batch);
    c->reduces = reduces;
    c->columns = in_order(planner, step, &product.own[1 - left]);
    if (c->columns.count == 0)
        return NULL;
    if (sides.column)
        move_last(&c->columns, sides.column);
    set_rows(planner, step, c, &product.own[left], sides.row);
    set_depth(planner, c);
    set_tile(target, c, component);
    set_turns(planner, c, dtype);
    c->group = c->tile->group;
    c->tames = is_tropical(c, component);
    c->tile_rows = c->tile->rows - c->tames;    /* a sum and a 1 need registers, too */
    c->rows_along = c->group == 1 && lies_along(planner, c->left, c->rows.list[c->rows.count - 1]);
    c->sums_turned = sides.turns && step->statement->output_count == 1 && turn_has_squares(register_dtype(step->statement->outputs[0].value->dtype));
    c->rows_spread = c->group == 1 && target->spreads;
    c->in_place = !c->rows_spread && is_in_place(c);
    set_blocks(planner, c, dtype);
    plan_reach(planner, step, c);
    c->parts = plan_parts(planner, step, c, component);
    return c;
}

/* ---- how much a unit of work takes ---- */

/* What one block is to a product. */
typedef enum { ROLE_BATCH, ROLE_ROW, ROLE_COLUMN } Role;

static Role role_of(const Contract *c, const Index *index)
{
    if (indices_have(c->columns.list, c->columns.count, index))
        return ROLE_COLUMN;
    bool kept = indices_have(c->kept_rows.list, c->kept_rows.count, index);
    return kept || indices_have(c->rows.list, c->rows.count, index) ? ROLE_ROW : ROLE_BATCH;
}

/* How many columns of each index of the squares that are turned make a unit of at most `most`: whole squares of both, so
 * that neither what is read nor what is stored is a short run. */
static void square_tiles(const Planner *planner, const Contract *c, double most, double side[2])
{
    const Index *index[2] = { c->across, c->columns.list[c->columns.count - 1] };
    double lanes = planner->plan->lanes;
    side[0] = side[1] = 1;
    for (bool grows = true; grows;) {
        int next = side[0] <= side[1] ? 0 : 1;
        grows = false;
        for (int turn = 0; turn < 2 && !grows; turn++, next = 1 - next) {
            double extent = planner_extent(planner, index[next]), more = side[next] < lanes ? lanes : side[next] + lanes;
            grows = side[next] < extent && fmin(more, extent) * side[1 - next] <= most;
            side[next] = grows ? fmin(more, extent) : side[next];
        }
    }
}

/* Shrinks the blocks of one role until no more than `most` points of them are in a unit: those of a tile's rows, or of the
 * squares that are turned, last, the others outermost first. */
static void shrink(const Planner *planner, const Launch *launch, const Contract *c, int place, Role role, double most,
                   double *tiles)
{
    double inside = 1, side[2];
    const Index *row = c->rows.list[c->rows.count - 1], *column = c->columns.list[c->columns.count - 1];
    if (c->across)
        square_tiles(planner, c, most, side);
    for (int pass = 0; pass < 2; pass++)
        for (int b = launch->block_count - 1; b >= 0; b--) {
            const Index *index = launch->blocks[b].of_step[place];
            bool turned = c->across && (index == c->across || index == column);
            if (role_of(c, index) != role || (index == row || turned) != (pass == 0))
                continue;
            double extent = planner_extent(planner, index);
            double tile = inside * extent <= most ? extent : most / inside < 1 ? 1 : (double)(int64_t)(most / inside);
            tiles[b] = turned ? side[index == column] : tile;
            inside *= tiles[b];
        }
}

/* Blocks of rows come last, so that units with the same columns follow each other. */
static void rows_last(Planner *planner, Launch *launch, int place)
{
    Block *blocks = NULL;
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < launch->block_count; b++)
            if ((role_of(launch->steps[place]->contract, launch->blocks[b].of_step[place]) == ROLE_ROW) == (pass == 1))
                ARENA_APPEND(planner->arena, blocks, count, launch->blocks[b]);
    launch->blocks = blocks;
}

/* The bytes of what one unit of work stores for the steps behind it. */
static double temporary_bytes(const Planner *planner, const Launch *launch, const double *tiles)
{
    const Plan *plan = planner->plan;
    double sum = 0;
    for (int t = 0; t < plan->lowered->tensor_count; t++) {
        const Tensor *tensor = plan->lowered->tensors[t];
        if (!plan_is_temporary_of(plan, tensor, launch->id))
            continue;
        double bytes = (double)dtype_size(tensor->dtype);
        for (int a = 0; a < tensor->rank; a++) {
            double size = planner_extent(planner, tensor->axes[a]);
            for (int b = 0; b < launch->block_count; b++)
                for (int s = 0; s < launch->step_count; s++)
                    size = launch->blocks[b].of_step[s] == tensor->axes[a] ? tiles[b] : size;
            bytes *= size;
        }
        sum += bytes;
    }
    return sum;
}

static double units_of(const Planner *planner, const Launch *launch, const double *tiles)
{
    double units = 1;
    for (int b = 0; b < launch->block_count; b++)
        units *= (double)(int64_t)((planner_extent(planner, launch->blocks[b].of_step[0]) + tiles[b] - 1) / tiles[b]);
    return units;
}

/* How many vectors a tile is wide: the target's, or fewer where few columns would leave much of the last tile empty. With
 * fewer, each number of a row is loaded for fewer products. */
static int tile_vectors(const Planner *planner, const Contract *c)
{
    double columns = points(planner, &c->columns), least = 0;
    int best = 0;
    for (int v = c->tile->vectors; v > 0; v--) {
        double width = v * planner->plan->lanes, work = ceil(columns / width) * width * (1 + ROW_COST / v);
        if (!best || work < least) {
            best = v;
            least = work;
        }
    }
    return best;
}

/* Columns as many as their packed panels may take, at most; rows as many as pay for the packing, if enough units are
 * left; of batches one. */
void contract_tiles(Planner *planner, Launch *launch)
{
    const Plan *plan = planner->plan;
    int place = 0;
    while (!launch->steps[place]->contract)
        place++;
    rows_last(planner, launch, place);
    for (int s = place; s < launch->step_count; s++)
        for (Contract *c = launch->steps[s]->contract; c; c = c->parts)
            c->tile_vectors = tile_vectors(planner, c);
    const Contract *c = launch->steps[place]->contract;
    double *tiles = ARENA_ARRAY(planner->arena, double, launch->block_count);
    double depth = points(planner, &c->depth) / c->group, size = (double)dtype_size(register_dtype(c->product->dtype));
    double near = near_bytes(plan->target), most = PANELS_MOST, room_behind = 2.0 * plan->target->l2_bytes;
    if (plan->memory) {
        double budget = (double)plan->memory / 4;
        near = fmin(near, budget);
        most = fmin(most, budget);
        room_behind = fmin(room_behind, budget);
    }
    int tile_columns = c->tile_vectors * plan->lanes;
    double fixed = 1;    /* columns that are no blocks */
    for (int i = 0; i < c->columns.count; i++) {
        bool block = false;
        for (int b = 0; b < launch->block_count; b++)
            block |= launch->blocks[b].of_step[place] == c->columns.list[i];
        fixed *= block ? 1 : planner_extent(planner, c->columns.list[i]);
    }
    /* Rows that stay near meet panels that do; others come anew for each unit's columns, and are worth more of those. */
    double rows_bytes = points(planner, &c->kept_rows) * points(planner, &c->rows) * depth * size;
    bool is_near = points(planner, &c->columns) * depth * size <= near || rows_bytes <= near / ROWS_NEAR;
    double columns = (is_near ? near : most) / (depth * size * fixed);
    if (planner->hints->smallest_tiles || columns < tile_columns / fixed)
        columns = tile_columns / fixed;
    if (fixed == 1)
        columns = (double)((int64_t)columns / tile_columns * tile_columns);
    for (int b = 0; b < launch->block_count; b++)
        tiles[b] = 1;
    shrink(planner, launch, c, place, ROLE_COLUMN, columns < 1 ? 1 : columns, tiles);
    double inner_rows = c->reduces ? points(planner, &c->rows) : 1, rows = UNIT_ROWS / (inner_rows < 1 ? 1 : inner_rows);
    rows = planner->hints->smallest_tiles ? 1 : rows;
    shrink(planner, launch, c, place, ROLE_ROW, rows < 1 ? 1 : rows, tiles);
    while (units_of(planner, launch, tiles) < UNITS_LEAST && rows * inner_rows / 2 >= ROWS_LEAST)
        shrink(planner, launch, c, place, ROLE_ROW, (rows /= 2) < 1 ? 1 : rows, tiles);
    while (units_of(planner, launch, tiles) < WORKERS_LEAST && columns / 2 >= COLUMNS_LEAST)
        shrink(planner, launch, c, place, ROLE_COLUMN, columns /= 2, tiles);
    while (rows >= 2 && temporary_bytes(planner, launch, tiles) > room_behind)
        shrink(planner, launch, c, place, ROLE_ROW, rows /= 2, tiles);
    for (int b = 0; b < launch->block_count; b++) {
        Block *block = &launch->blocks[b];
        const Size *tile = size_constant(planner->arena, tiles[b] < 1 ? 1 : (int64_t)tiles[b]);
        if (tiles[b] > 1)
            tile = size_named(planner->arena, arena_format(planner->arena, "tile_%d_%d", launch->id + 1, b + 1),
                              size_op(planner->arena, SIZE_MIN, tile, block->extent));
        block->tile = tile;
    }
}

/* ---- what it stores on the way ---- */

static const Size *block_size(Planner *planner, const Launch *launch, const Index *index)
{
    for (int b = 0; b < launch->block_count; b++)
        for (int s = 0; s < launch->step_count; s++)
            if (launch->blocks[b].of_step[s] == index)
                return launch->blocks[b].tile;
    return size_extent(planner->arena, index->origin);
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

/* Whether units of work that follow each other may have the same columns: a launch has blocks of rows, and one of each
 * index that the packed columns depend on, so that their first points tell which columns those are. */
static bool meets_again(const Launch *launch, const Step *step)
{
    const Contract *c = step->contract;
    int place = 0, batch = 0;
    bool rows = false;
    while (launch->steps[place] != step)
        place++;
    for (int b = 0; b < launch->block_count; b++) {
        Role role = role_of(c, launch->blocks[b].of_step[place]);
        rows |= role == ROLE_ROW;
        batch += role == ROLE_BATCH;
    }
    return rows && batch == c->batch.count;
}

/* 1 where a size is more than `most`, else 0. */
static const Size *one_beyond(Arena *arena, const Size *size, int most)
{
    return size_op(arena, SIZE_MIN, size_constant(arena, 1), size_op(arena, SIZE_DIV, size, size_constant(arena, most + 1)));
}

/* Packed columns and rows, a tile of sums, and the states of the columns. */
static void reserve(Planner *planner, const Launch *launch, const Step *step, Contract *c, const Size **end)
{
    Arena *arena = planner->arena;
    const Size *depth = size_constant(arena, 1), *columns = depth;
    for (int i = 0; i < c->depth.count; i++) {
        const Size *extent = size_extent(arena, c->depth.list[i]->origin);
        if (i == c->depth.count - 1 && c->group > 1)
            extent = size_op(arena, SIZE_CEIL_DIV, extent, size_constant(arena, c->group));
        depth = size_op(arena, SIZE_MUL, depth, extent);
    }
    if (c->tile->parts)
        depth = size_op(arena, SIZE_MUL, size_op(arena, SIZE_CEIL_DIV, depth, size_constant(arena, c->tile->words / c->tile->parts)),
                        size_constant(arena, c->tile->words));
    else if (c->tile->words > 1)
        depth = size_align(arena, depth, c->tile->words);
    for (int i = 0; i < c->columns.count; i++)
        columns = size_op(arena, SIZE_MUL, columns, block_size(planner, launch, c->columns.list[i]));
    columns = size_align(arena, columns, c->tile_vectors * planner->plan->lanes);
    Dtype dtype = register_dtype(c->product->dtype);
    const Size *panel = c->tile->has_starts ? size_op(arena, SIZE_ADD, depth, size_constant(arena, 1)) : depth;
    add_scratch(planner, step, c, "panels", dtype, size_op(arena, SIZE_MUL, columns, panel), end);
    const Size *is_far = one_beyond(arena, size_op(arena, SIZE_MUL, columns, depth), c->near);
    const Size *more = size_op(arena, SIZE_MUL, is_far, size_constant(arena, c->row_block - 1));
    const Size *rows = size_op(arena, SIZE_MUL, size_op(arena, SIZE_ADD, size_constant(arena, 1), more),
                               size_constant(arena, c->tile_rows));
    const Size *row = size_op(arena, SIZE_ADD, depth, size_constant(arena, CONTRACT_LINE / (int)dtype_size(dtype)));
    if (c->rows_spread)
        row = size_op(arena, SIZE_MUL, depth, size_constant(arena, planner->plan->lanes));
    add_scratch(planner, step, c, "packed", dtype, size_op(arena, SIZE_MUL, rows, row), end);
    const Size *kept = size_op(arena, SIZE_MUL, size_op(arena, SIZE_MUL, one_beyond(arena, depth, c->depth_block), columns),
                               size_constant(arena, c->row_block * c->tile_rows));
    add_scratch(planner, step, c, "kept", dtype, kept, end);
    c->pieces = !c->reduces && !c->sums_turned && c->columns.count > 1 && !c->tile->dot;
    if (c->pieces) {    /* a vector's place is three numbers; there is a tile more, to look ahead */
        const Size *vectors = size_op(arena, SIZE_CEIL_DIV, columns, size_constant(arena, planner->plan->lanes));
        vectors = size_op(arena, SIZE_ADD, vectors, size_constant(arena, c->tile_vectors));
        add_scratch(planner, step, c, "pieces", DTYPE_I64, size_op(arena, SIZE_MUL, vectors, size_constant(arena, 3)), end);
    }
    c->panels_of = NULL;
    if (meets_again(launch, step))
        c->panels_of = add_scratch(planner, step, c, "panels_of", DTYPE_I64, size_constant(arena, 1), end);
    for (int r = 0; r < step->root_count && c->reduces; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(step->roots[r], components); i < n; i++)
            add_scratch(planner, step, c, arena_format(arena, "%s_%d", components[i].name, r + 1), components[i].dtype, columns, end);
    }
    if (c->points_met.condition)
        add_scratch(planner, step, c, "finite", DTYPE_I64, size_constant(arena, 1), end);
    if (c->tile->parts)
        add_scratch(planner, step, c, "odd", DTYPE_I64, size_constant(arena, 1), end);
}

void contract_reserve(Planner *planner, const Launch *launch, const Step *step, const Size **end)
{
    Contract *c = step->contract;
    c->number = step->id + 1;
    reserve(planner, launch, step, c, end);
    if (c->parts) {
        c->parts->number = planner->plan->step_count + step->id + 1;
        reserve(planner, launch, step, c->parts, end);
    }
}
