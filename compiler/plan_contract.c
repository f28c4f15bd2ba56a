/* Steps that run as tiled products: which they are, which side is rows and which columns, and how much of each a unit of
 * work takes. */
#include <math.h>
#include <string.h>

#include "planning.h"
#include "turn.h"

enum {
    SWEEP = 384,                  /* points at a time, */
    SWEEP_BYTES = 3072,           /* or so many bytes of each column's where SWEEP_NEAR columns of them are near, */
    SWEEP_NEAR = 256,
    SWEEP_FAR = 896,              /* or so many where panels are far, for sums are kept far, too, */
    SWEEP_NEXT = 192, SWEEP_SOON = 96,    /* or so many where the next ones' come beside; the latter with sums in the first cache */
    SWEEP_COLUMNS = 512,          /* where fewer columns than these would have all of theirs packed, */
    SWEEP_COLUMNS_ALONG = 1024,   /* or than these where each point has its rows side by side, elsewhere than the next point's */
    DEPTH_FORCED = 24, DEEP_FORCED = 40, ROW_FORCED = 2, NEAR_FORCED = 1024,     /* short, for small arrays to reach all that a product does */
    PACKED_MOST = 1 << 20,        /* bytes of packed rows */
    ROW_BLOCK_ALONG = 24,         /* tiles of such rows in a sweep, so that what is read of a point is long */
    DEPTH_MOST = 1 << 19,         /* more contracted points leave panels of few columns */
    COLUMNS_LEAST = 3,            /* fewer are products with vectors */
    WIDENED_TILES = 3             /* of rows: those of f32 keep up with memory */
};

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
    int only = state_only((const Term *const *)step->roots, step->root_count);
    if (only >= 0 && product_match(planner->arena, step->roots[only], product))
        return true;
    *reduces = true;
    const Term *inside = !is_first_reduction(planner, step) ? NULL
                         : product_inside(planner->arena, step->roots[0]->reduce.argument);
    return inside && product_match(planner->arena, inside, product) && !product->places;
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

/* The contracted indices as the reduction has them, so that points follow each other as their places do. */
static IndexSet points_in_order(Planner *planner, const Contract *c)
{
    IndexSet points = { NULL, 0 };
    for (int i = 0; i < c->product->reduce.over_count; i++)
        append(planner, &points, c->product->reduce.over[i]);
    return points;
}

/* The contracted indices as a side has them, those farthest apart first, so that a row may be one run. */
static IndexSet points_of(Planner *planner, const Contract *c, const Term *side)
{
    IndexSet points = { NULL, 0 };
    for (int i = 0; i < c->product->reduce.over_count; i++) {
        Index *index = c->product->reduce.over[i];
        int64_t stride = side_stride(planner, side, index);
        int at = points.count;
        append(planner, &points, index);
        for (; at > 0 && side_stride(planner, side, points.list[at - 1]) < stride; at--) {
            points.list[at] = points.list[at - 1];
            points.list[at - 1] = index;
        }
    }
    return points;
}

/* Whether a product's sums are of products of both sides' narrow numbers. */
static bool product_of_narrow(const Contract *c, const Component *sum, const Term **left, const Term **right)
{
    const Term *sides[2], *factors[2];
    if (!sum_of_narrow(c->product, sum, sides, factors))
        return false;
    int first = factors[1] == c->left;
    *left = sides[first];
    *right = sides[1 - first];
    return factors[first] == c->left && factors[1 - first] == c->right;
}

bool contract_is_of_sums(const Term *term, const Term *product)
{
    if (term == product || term->kind == TERM_CONSTANT)
        return true;
    for (int i = 0; term->kind == TERM_MAP && i < term->map.count; i++)
        if (!contract_is_of_sums(term->map.arguments[i], product))
            return false;
    return term->kind == TERM_MAP;
}

bool product_of_reads(const Contract *c, const Component *sum, const Term **left, const Term **right)
{
    return product_of_narrow(c, sum, left, right) && (*left)->kind == TERM_READ && (*right)->kind == TERM_READ;
}

/* Whether panels of all contracted points, or of a block of those, would have few columns. */
static bool is_too_deep(const Planner *planner, const Step *step, const Contract *c)
{
    const Index *swept = step->statement->swept;
    bool sweeps = indices_have(c->depth.list, c->depth.count, swept);
    double points = planner_points(planner, &c->depth) / (sweeps ? fmax(planner_extent(planner, swept), 1) : 1);
    return planner->hints->nests == NESTS_BY_COST && points > DEPTH_MOST;
}

/* Which tile the sums make. One instruction multiplies and adds several points of narrow numbers, of a dtype that the target has
 * such an instruction for; columns that have starts have all points, not those of a sweep's block, and so have panels of
 * such words, which are not too deep. Few rows take less time than their columns' way from memory whatever the instruction. */
static void set_tile(const Planner *planner, const Step *step, Contract *c, const Component *sum, bool sweeps)
{
    const Target *target = planner->plan->target;
    const Term *left, *right;
    double rows = planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows);
    c->packed = sum->dtype;
    c->tile = target->tile;
    if (!product_of_narrow(c, sum, &left, &right) || !target->narrow[left->dtype] || is_too_deep(planner, step, c) ||
        (sweeps && target->narrow[left->dtype]->has_starts))
        return;
    if (planner->hints->nests == NESTS_BY_COST && rows <= WIDENED_TILES * target->tile->rows && !sweeps && contract_widened(planner, step, c))
        return;
    c->tile = target->narrow[left->dtype];
    c->packed = dtype_in_word(left->dtype, c->tile->group);
    c->left = left;
    c->right = right;
}

/* Which squares of columns packing turns: with the innermost contracted points, or the outermost, or with another index of
 * columns, which then comes before the lanes'. */
static void set_turns(const Planner *planner, Contract *c, Dtype dtype)
{
    const Index *column = c->columns.list[c->columns.count - 1];
    c->columns_turned = c->tile->group == 1 && !lies_along(planner, c->right, column) &&
                        lies_along(planner, c->right, c->depth.list[c->depth.count - 1]);
    if (c->tile->group > 1 || c->columns_turned || lies_along(planner, c->right, column))
        return;
    const Index *outer = c->depth.list[0];
    if (c->depth.count > 1 && lies_along(planner, c->right, outer) && c->right->kind == TERM_READ && turn_has_squares(c->right->dtype))
        c->within = outer;
    if (c->within)
        return;
    c->across = lies_across(planner, c->right, &c->columns, column, planner_points(planner, &c->depth), dtype);
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

/* Whether something is made of complex numbers that has no lanes: a tile has nothing else. */
static bool has_whole_numbers(const Planner *planner, const Step *step)
{
    const Program *lowered = planner->plan->lowered;
    for (int i = 0; i < lowered->term_count; i++)
        if (lowered->terms[i]->statement == step->statement->id && term_is_whole(lowered->terms[i]))
            return true;
    return false;
}

/* Whether rows are read along the tile's: they lie side by side, or so do fewer of their contracted points than there are
 * lanes, and the next row's follow. */
static bool reads_along_rows(const Planner *planner, const Contract *c, Dtype dtype)
{
    const Index *row = c->rows.list[c->rows.count - 1], *point = c->depth.list[c->depth.count - 1];
    double run = planner_extent(planner, point);
    bool follows = lies_along(planner, c->left, point) && (double)side_stride(planner, c->left, row) == run &&
                   run * (double)dtype_size(dtype) < planner->plan->target->vector_bytes;
    return c->group == 1 && (lies_along(planner, c->left, row) || follows);
}

/* Panels of so many words stay in the first cache. */
static int close_words(const Planner *planner, Dtype dtype)
{
    return planner->hints->nests == NESTS_TILED ? NEAR_FORCED / 2 : planner->plan->target->l1_bytes / 2 / (int)dtype_size(dtype);
}

/* Whether a sweep's rows are packed from where each point has them side by side, elsewhere than the next point's: as many at a time as
 * have room, for vectors that are lines leave no time to wait for short runs. */
static bool wants_long_runs(const Planner *planner, const Contract *c)
{
    return c->rows_along && c->sweep_far && planner->plan->target->vector_bytes == CONTRACT_LINE;
}

/* In which order tiles meet panels. */
static void set_blocks(const Planner *planner, Contract *c, Dtype dtype)
{
    const Target *target = planner->plan->target;
    double size = (double)dtype_size(dtype), number = c->rows_spread ? target->vector_bytes : size;
    double points = c->sweep ? c->sweep : planner_points(planner, &c->depth) / c->group;
    bool forced = planner->hints->nests == NESTS_TILED, far_along = c->sweep && wants_long_runs(planner, c);
    double blocks = (far_along ? fmin(PACKED_MOST, target->l2_bytes / 4 * 3) : PACKED_MOST) / (c->tile_rows * points * number);
    int most = far_along ? ROW_BLOCK_ALONG : ROW_BLOCK;
    c->depth_block = forced ? DEPTH_FORCED : c->tile->depth;
    c->deep_block = forced && c->tile->deep ? DEEP_FORCED : c->tile->deep;
    c->near = forced ? NEAR_FORCED : (int)(contract_near(target) / size);
    c->row_block = forced ? ROW_FORCED : blocks >= most ? most : blocks > 1 ? (int)blocks : 1;
    if (planner->hints->smallest_tiles)
        c->row_block = 1;
    /* Registers of tiles load a panel so fast that it has to be close; of numbers in parts one beside a tile of rows fills L1. */
    c->close_block = c->tile->dot && !c->tile->parts && c->row_block > 1 ? 2 : 1;
    c->close = c->close_block > 1 ? close_words(planner, dtype) : 0;
}

/* While sums go past the caches, what comes from the second one waits for them: panels have to be close. */
void plan_contract_past(const Planner *planner, Contract *c)
{
    if (c->tile->dot || c->sweep || c->row_block == 1)
        return;
    c->close = close_words(planner, state_dtype(c->product));
    c->close_block = c->row_block;
}

/* Whether rows are packed: they may not be read in place, or their points are not side by side, or they fall into few sets of the
 * cache there, which more than a few panels meet. */
static bool packs_rows(const Planner *planner, const Contract *c)
{
    int64_t row_bytes = side_stride(planner, c->left, c->rows.list[c->rows.count - 1]) * (int64_t)dtype_size(c->packed);
    bool few = planner_points(planner, &c->columns) <= PANELS_FEW * c->tile->vectors * planner->plan->lanes;
    double next = 1;
    for (int i = c->depth.count - 1; i >= 0; i--) {
        if ((double)side_stride(planner, c->left, c->depth.list[i]) != next)
            return true;
        next *= planner_extent(planner, c->depth.list[i]);
    }
    return !c->in_place || (!few && row_bytes % CONTRACT_SETS == 0);
}

/* Whether a sweep's panels are behind the second cache, beside sums that are. Where memory is fast page by page, those of few results
 * come sooner a little at a time, if whole lines of them are not turned. */
static bool is_sweep_far(const Planner *planner, const Contract *c)
{
    double rows = planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows);
    double results = planner_points(planner, &c->batch) * rows * planner_points(planner, &c->columns);
    bool few = results * (double)dtype_size(state_dtype(c->product)) <= SWEEP_SUMS;
    return packs_rows(planner, c) && !(few && !c->within && planner->plan->target->by_pages);
}

static double sums_of(const Planner *planner, const Contract *c)
{
    return planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows) * planner_points(planner, &c->columns);
}

typedef struct InOrder {
    const Planner *planner;
    const Contract *c;
    const Term *read;
    double numbers;
} InOrder;

/* Of the reads whose contracted points follow each other in memory, all of one before the next one's: that of the most numbers. */
static void note_in_order(void *user, const Term *read)
{
    InOrder *found = user;
    const Contract *c = found->c;
    const IndexSet *sets[] = { &c->kept_rows, &c->rows, &c->columns, &c->depth };
    const Index *outer = c->depth.list[0];
    double numbers = 1;
    if (read->kind != TERM_READ || !term_has_index(read, outer))
        return;
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return;
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < sets[s]->count; i++)
            if (sets[s]->list[i] != outer && term_has_index(read, sets[s]->list[i]))
                numbers *= planner_extent(found->planner, sets[s]->list[i]);
    if (numbers <= found->numbers || (double)side_stride(found->planner, read, outer) != numbers)
        return;
    found->read = read;
    found->numbers = numbers;
}

static const Term *read_in_order(const Planner *planner, const Contract *c, const Term *side)
{
    InOrder found = { .planner = planner, .c = c };
    term_each_below(planner->arena, side, note_in_order, &found);
    return found.read;
}

/* What the next sweep reads, beside sums that leave room for it: rows, and columns if they are read in order or several operands make them. */
static void set_next_read(const Planner *planner, Contract *c, Dtype dtype)
{
    const Term *left = read_in_order(planner, c, c->left), *right = read_in_order(planner, c, c->right);
    bool asks = left && (right || !plain_read(c->right)) &&
                contract_sums_leave_room(planner->plan->target, sums_of(planner, c) * (double)dtype_size(dtype));
    c->next_read[0] = asks ? left : NULL;
    c->next_read[1] = asks ? right : NULL;
}

/* Whether all sums stay near, and panels of all points would not, or where they come in order all that is read would not: then that comes
 * from memory once, some points at a time. */
static bool keeps_sums(const Planner *planner, const Contract *c, double columns, double depth, double size)
{
    double rows = planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows), near = planner->plan->target->l2_bytes;
    double panels = columns * depth * size, all = (rows + columns) * depth * size;
    return c->next_read[0] ? panels > near / 16 || all > near / 2 : rows * columns * size <= near / 8 && panels > near * 3 / 8;
}

/* So many contracted points that panels of them all would be few columns, whose rows come anew for each: they are taken some
 * at a time, and the sums of all rows and columns of a unit of work kept. */
static int sweep_of(const Planner *planner, const Step *step, const Contract *c, Dtype dtype)
{
    double depth = planner_points(planner, &c->depth), columns = planner_points(planner, &c->columns);
    double room = planner->plan->memory ? fmin(PANELS_MOST, (double)planner->plan->memory / 4) : PANELS_MOST;
    bool is_paired = false;    /* the index of which some points come at a time */
    for (int i = 0; c->window && i < c->window->count; i++)
        is_paired |= c->window->axes[i].row && c->window->axes[i].point == c->depth.list[0];
    bool is_plain = !is_paired && !c->reduces && !c->tames && c->group == 1 && !c->tile->dot && !c->columns_met.condition && !c->points_met.condition;
    if (!is_plain || planner->plan->lowered->statements[c->product->statement]->swept || planner->hints->smallest_tiles)
        return 0;
    if (planner->hints->nests == NESTS_TILED)
        return depth > SWEEP_FORCED ? SWEEP_FORCED : 0;
    if (contract_sweep_whole(planner, c))
        return contract_sweep_whole(planner, c);
    if (contract_sweep_in_order(planner, step, c))
        return contract_sweep_in_order(planner, step, c);
    double size = (double)dtype_size(dtype), most = room / size;    /* words */
    bool soon = sums_of(planner, c) * size <= planner->plan->target->l1_bytes / 2.0;
    double inner = depth / fmax(planner_extent(planner, c->depth.list[0]), 1);
    double sweep = c->next_read[0] ? soon ? SWEEP_SOON : SWEEP_NEXT
                   : c->sweep_far  ? SWEEP_FAR
                                   : fmax(SWEEP, fmin(SWEEP_BYTES, contract_near(planner->plan->target) / SWEEP_NEAR) / size);
    sweep = fmin(sweep, floor(most / fmin(columns, SWEEP_LEAST)));    /* a budget has room for few */
    double lines = inner * CONTRACT_LINE / (double)dtype_size(c->right->dtype);
    if (c->depth.count > 1 && lies_along(planner, c->right, c->depth.list[0]))
        sweep = fmax(floor(sweep / lines), 1) * lines;
    bool few = most / depth < fmin(columns, wants_long_runs(planner, c) ? SWEEP_COLUMNS_ALONG : SWEEP_COLUMNS);
    return (few || (depth > sweep && keeps_sums(planner, c, columns, depth, size))) && sweep >= SWEEP_SHORTEST ? (int)sweep : 0;
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
    c->rows_along = c->columns_turned = c->rows_spread = c->rows_inside = c->in_place = c->columns_in_place = c->columns_copied = c->rows_stay = false;
    c->across = c->within = NULL;
    c->window = NULL;
    c->sweep = 0;
    c->next_read[0] = c->next_read[1] = NULL;
    c->columns_met.condition = c->points_met.condition = NULL;
    set_blocks(planner, c, sum->dtype);
    return c;
}

/* The rows' window, where they are multiplied as they are packed. A table tells where each contracted point is, so that they may be in
 * the order of the columns' memory. */
static void set_window(const Planner *planner, const Step *step, Contract *c, const IndexSet *rows)
{
    if (!c->reduces && !c->tames && !c->rows_spread && c->group == 1 && !step->statement->swept)
        c->window = plan_window(planner, c->left, rows, &c->depth);
    if (c->window)
        c->depth = c->points_read;
}

/* How the tile reads its rows and its columns, and which way results leave it. */
static void set_reading(Planner *planner, const Step *step, Contract *c, const IndexSet *rows, const Sides *sides, Dtype dtype)
{
    const Target *target = planner->plan->target;
    c->group = c->tile->group;
    /* A sum and a 1 need registers, too; and so does a point, or one for each sum. */
    c->tile_vectors = c->tile->vectors;
    c->tile_rows = c->places && !target->masks ? (c->tile->rows - c->tames) / 2 : c->tile->rows - c->tames - c->places;
    c->rows_spread = c->group == 1 && target->spreads;
    if (!c->places)
        set_window(planner, step, c, rows);
    set_turns(planner, c, dtype);
    c->rows_along = !c->window && reads_along_rows(planner, c, dtype);
    c->rows_inside = c->group == 1 && c->depth.count > 1 && lies_along(planner, c->left, c->depth.list[c->depth.count - 1]) &&
                     side_stride(planner, c->left, c->rows.list[c->rows.count - 1]) < side_stride(planner, c->left, c->depth.list[c->depth.count - 2]);
    c->sums_turned = sides->turns && !c->places && step->statement->output_count == 1 &&
                     turn_has_squares(register_dtype(step->statement->outputs[0].value->dtype));
    c->in_place = !c->window && !c->rows_spread && is_in_place(c);
    if (!c->places)
        plan_reach(planner, step, c);
}

/* The index along which a product of few rows reads its columns in memory's order, or one that would pay for nothing else its rows, which
 * loops would read line by line, or with too much else to do. */
static const Index *read_along(const Planner *planner, const Step *step, const Contract *c, bool pays)
{
    if (c->sweep)
        return c->sweep_whole || c->sweep == contract_sweep_in_order(planner, step, c) ? c->columns.list[c->columns.count - 1] : NULL;
    bool streams = !pays && planner_points(planner, &c->columns) >= COLUMNS_LEAST && contract_streams(planner, c);
    return streams ? c->depth.list[c->depth.count - 1] : NULL;
}

Contract *plan_contract(Planner *planner, const Step *step)
{
    Product product;
    bool reduces;
    const Target *target = planner->plan->target;
    if (!(target->tile || target->grid) || has_whole_numbers(planner, step) || !find_product(planner, step, &product, &reduces) ||
        !has_index_of_all_loops(step, &product))
        return NULL;
    Sides sides = { .left = -1 };
    if (reduces)
        sides.left = product_side(&product, step->roots[0]->reduce.over, step->roots[0]->reduce.over_count);
    else if (!(target->grid ? block_choose_sides : product_choose_sides)(planner, step, &product, &sides))
        return NULL;
    int left = sides.left;
    bool sweeps = indices_have(product.reduce->reduce.over, product.reduce->reduce.over_count, step->statement->swept);
    if (left < 0 || (product.places && (target->grid || sweeps)))
        return NULL;
    bool pays = product_pays(&product, planner->hints->nests, planner->hints->extents, reduces ? step->roots[0]->reduce.over : NULL,
                             reduces ? step->roots[0]->reduce.over_count : 0, target);
    bool has_choice = !reduces && !target->grid && plan_has_choice(planner, &product);
    if (!pays && !has_choice && (!target->in_order || planner->hints->nests != NESTS_BY_COST))
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
    c->places = product.places;
    c->depth = c->places ? points_in_order(planner, c) : points_of(planner, c, c->left);
    c->points_read = points_of(planner, c, c->right);
    if (target->grid)
        return block_choose_tile(planner, step, c) ? c : NULL;
    set_tile(planner, step, c, component, sweeps);
    c->tames = is_tropical(c, component);
    set_reading(planner, step, c, &product.own[left], &sides, dtype);
    c->sweep_far = is_sweep_far(planner, c);
    set_next_read(planner, c, dtype);
    c->sweep = sweep_of(planner, step, c, dtype);
    c->sweep_whole = c->sweep && c->sweep == contract_sweep_whole(planner, c);
    c->read_along = read_along(planner, step, c, pays);
    if ((!pays && !has_choice && !c->read_along) || (!c->sweep && is_too_deep(planner, step, c)))
        return NULL;
    set_blocks(planner, c, dtype);
    c->parts = sweeps || is_too_deep(planner, step, c) ? NULL : plan_parts(planner, step, c, component);
    return c;
}
