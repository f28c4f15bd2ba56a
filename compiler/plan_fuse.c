/* Launches on a grid whose steps run together, tile by tile: a product, what comes of its sums, and a product of that with other
 * values, as in softmax(A B) C or exp(A B) C. The first one's columns are what the last one contracts. A block of threads has some
 * rows, and goes over the columns once: a tile of sums, the steps between on these while they are in registers, and their products
 * with the other values are added up.
 *
 * What the steps between reduce is the state of a row, which in a tile is not yet that of all columns. So a step may read only a
 * maximum, and only as in exp(x - maximum): then what was added up before, when the maximum was another, is as many times
 * exp(before - maximum), and so may be mended. Others read what is reduced behind the last product alone. */
#include <math.h>

#include "planning.h"
#include "scale.h"

enum { PASSES_MOST = 2 };     /* over the first product's columns, each for some columns of the last one */

typedef struct Fusing {
    Planner *planner;
    const Launch *launch;
    Fuse *fuse;
    Scale *scales;                /* [step of the launch]: of what it stores */
    Scaling scaling;
} Fusing;

/* The step of the launch that makes what is read; -1: none. */
static int maker_of(const Fusing *f, const Term *read)
{
    for (int s = 0; s < f->launch->step_count; s++)
        if (read->read.tensor->maker == f->launch->steps[s]->statement)
            return s;
    return -1;
}

static const Term *value_of(const Step *step)
{
    return step->statement->outputs[0].value;
}

static bool has(const IndexSet *set, const Index *index)
{
    return indices_have(set->list, set->count, index);
}

/* ---- which index is which ---- */

static bool align_read(const Fusing *f, const Term *read, const Step *maker)
{
    Index **same = f->fuse->same;
    const Tensor *tensor = read->read.tensor;
    for (int a = 0; a < tensor->rank; a++) {
        const Position *position = &read->read.positions[a];
        Index *index = tensor->axes[a] ? same[tensor->axes[a]->id] : NULL;
        if (!index || !position_is_plain(position) || !position_is_plain(&maker->statement->outputs[0].positions[a]))
            return false;
        Index **own = &same[position->parts[0].index->id];
        if (*own && *own != index)
            return false;
        *own = index;
    }
    return true;
}

static bool align(const Fusing *f)
{
    const Program *lowered = f->planner->plan->lowered;
    const Launch *launch = f->launch;
    for (int i = 0; i < launch->steps[0]->loop_count; i++)
        f->fuse->same[launch->steps[0]->loops[i]->id] = launch->steps[0]->loops[i];
    for (int s = 1; s < launch->step_count; s++) {
        for (int i = 0; i < lowered->term_count; i++) {
            const Term *term = lowered->terms[i];
            int maker = term->kind == TERM_READ && term->statement == launch->steps[s]->statement->id ? maker_of(f, term) : -1;
            if (maker >= 0 && !align_read(f, term, launch->steps[maker]))
                return false;
        }
        for (int i = 0; i < lowered->index_count; i++)    /* no two are one */
            for (int k = 0; k < i; k++)
                if (lowered->indices[i]->statement == launch->steps[s]->statement->id &&
                    lowered->indices[k]->statement == lowered->indices[i]->statement && f->fuse->same[i] &&
                    f->fuse->same[i] == f->fuse->same[k])
                    return false;
    }
    return true;
}

/* Whether indices are those of a set, and others, of another. */
static bool are(const Fusing *f, Index *const *list, int count, const IndexSet *set, const IndexSet *more, const IndexSet *most)
{
    if (count != set->count + (more ? more->count : 0) + (most ? most->count : 0))
        return false;
    for (int i = 0; i < count; i++) {
        const Index *index = f->fuse->same[list[i]->id];
        if (!index || !(has(set, index) || (more && has(more, index)) || (most && has(most, index))))
            return false;
    }
    return true;
}

/* ---- how values depend on the maximum ---- */

static bool goes_together(void *user, const Index *a, const Index *b)
{
    Index *const *same = ((Fusing *)user)->fuse->same;
    return same[a->id] && same[a->id] == same[b->id];
}

/* The tensor of the maxima that are read; NULL: none are. The first that is asked for is the one. */
static const Tensor *maximum_read(void *user, const Term *read)
{
    Fusing *f = user;
    int s = maker_of(f, read);
    const Step *step = s < 0 ? NULL : f->launch->steps[s];
    if (!step || step->root_count == 0 || step->contract || step->roots[0]->reduce.reduction != REDUCTION_MAX ||
        f->scales[s].kind != SCALE_NONE || (f->fuse->largest && f->fuse->largest != step))
        return NULL;
    f->fuse->largest = step;
    return read->read.tensor;
}

/* A row's state is not yet that of all columns. */
static Scale read_scale(void *user, const Term *read)
{
    const Fusing *f = user;
    int s = maker_of(f, read);
    bool state = s > 0 && f->launch->steps[s]->root_count;
    if (state || (s < 0 && !planner_reads_plainly(f->planner, read)))
        return (Scale){ SCALE_OTHER, NULL };
    return s < 0 ? (Scale){ SCALE_NONE, NULL } : f->scales[s];
}

/* ---- the steps ---- */

static bool is_plain_step(const Step *step)
{
    const Statement *statement = step->statement;
    return step->kind == STEP_STORE && !step->split && !step->scatters && !statement->accumulate && statement->output_count == 1 &&
           !step->turned && !step->statement->turned;
}

static bool is_kept(const Tensor *tensor)
{
    return !tensor->origin && !tensor->previous && tensor->home == tensor && tensor->dtype == DTYPE_F32;
}

/* Whether somebody outside of the launch reads what one of its steps stores. */
static bool is_read_outside(const Fusing *f)
{
    const Program *lowered = f->planner->plan->lowered;
    for (int i = 0; i < lowered->term_count; i++) {
        bool inside = false;
        for (int s = 0; s < f->launch->step_count; s++)
            inside |= lowered->terms[i]->statement == f->launch->steps[s]->statement->id;
        if (!inside && lowered->terms[i]->kind == TERM_READ && maker_of(f, lowered->terms[i]) >= 0)
            return true;
    }
    return false;
}

/* A value for each sum: the only one that later steps read, so that it takes the place of what it is made of. */
static bool is_map(Fusing *f, int s)
{
    const Step *step = f->launch->steps[s];
    const Contract *c = f->launch->steps[0]->contract;
    f->scales[s] = scale_of(&f->scaling, value_of(step));
    return are(f, step->loops, step->loop_count, &c->batch, &c->rows, &c->columns) && f->scales[s].kind < SCALE_BARE;
}

/* A number for each row. */
static bool is_state(Fusing *f, int s)
{
    const Step *step = f->launch->steps[s];
    const Contract *c = f->launch->steps[0]->contract;
    const Term *root = step->roots[0];
    Component components[STATE_COMPONENTS_MAX];
    if (step->root_count != 1 || value_of(step) != root || !are(f, step->loops, step->loop_count, &c->batch, &c->rows, NULL) ||
        !are(f, root->reduce.over, root->reduce.over_count, &c->columns, NULL, NULL) ||
        state_components(root, components) != 1 || components[0].dtype != DTYPE_F32 ||
        reduction_facts[root->reduce.reduction].leaves != LEAVES_NOTHING)
        return false;
    Scale scale = scale_of(&f->scaling, root->reduce.argument);
    bool adds = components[0].merge == MERGE_ADD && components[0].lift == LIFT_ELEMENT && root->reduce.reduction != REDUCTION_NORM;
    f->scales[s] = scale_is_fixed(scale) ? (Scale){ SCALE_NONE, NULL } : scale;
    return scale_is_fixed(scale) || (scale.kind == SCALE_POWER && adds);
}

/* Whether steps read only the last value for each sum: those before it have no registers any more. */
static bool reads_last_map(const Fusing *f, int s, int map)
{
    for (int earlier = 0; earlier < s; earlier++) {
        const Step *maker = f->launch->steps[earlier];
        if ((earlier == 0 || maker->root_count == 0) && earlier != map && planner_reads(f->planner, f->launch->steps[s], maker))
            return false;
    }
    return true;
}

typedef struct Reads {
    const Fusing *f;
    bool any;
} Reads;

static void find_read(void *user, const Term *term)
{
    Reads *reads = user;
    reads->any |= term->kind == TERM_READ && maker_of(reads->f, term) >= 0;
}

static bool reads_launch(const Fusing *f, const Term *side)
{
    Reads reads = { f, false };
    term_each_below(f->planner->arena, side, find_read, &reads);
    return reads.any;
}

static void swap_sides(const Fusing *f, Step *step)
{
    Contract *c = step->contract;
    const Term *left = c->left;
    IndexSet rows = c->rows;
    bool along = c->rows_along;
    c->left = c->right;
    c->rows = c->columns;
    c->rows_along = c->columns_along;
    c->right = left;
    c->columns = rows;
    c->columns_along = along;
    step->vector = c->columns.list[c->columns.count - 1];
    Index **loops = ARENA_ARRAY(f->planner->arena, Index *, step->loop_count);
    for (int i = 0, count = 0; i < step->loop_count; i++)
        if (step->loops[i] != step->vector)
            loops[count++] = step->loops[i];
    loops[step->loop_count - 1] = step->vector;
    step->loops = loops;
}

/* The first product's rows are the last one's, and its columns what that contracts, whichever way they were planned. */
static bool match_sides(const Fusing *f)
{
    Step *steps[2] = { f->launch->steps[0], f->launch->steps[f->launch->step_count - 1] };
    Contract *first = steps[0]->contract, *last = steps[1]->contract;
    const Term *product = last->product;
    if (first->reduces || last->reduces || first->kept_rows.count || last->kept_rows.count)
        return false;
    if (!reads_launch(f, last->left))
        swap_sides(f, steps[1]);
    if (!reads_launch(f, last->left) || reads_launch(f, last->right))
        return false;
    if (!are(f, product->reduce.over, product->reduce.over_count, &first->columns, NULL, NULL))
        swap_sides(f, steps[0]);
    for (int i = 0; i < last->right->rank; i++) {    /* a tile of rows meets one of values */
        const Index *index = f->fuse->same[last->right->indices[i]->id];
        if (index && has(&first->rows, index))
            return false;
    }
    IndexSet kept = { NULL, 0 };
    for (int i = 0; i < last->batch.count + last->rows.count; i++)
        ARENA_APPEND(f->planner->arena, kept.list, kept.count,
                     i < last->batch.count ? last->batch.list[i] : last->rows.list[i - last->batch.count]);
    return are(f, product->reduce.over, product->reduce.over_count, &first->columns, NULL, NULL) &&
           are(f, kept.list, kept.count, &first->batch, &first->rows, NULL);
}

/* Whether a product adds up its sides' products. */
static bool adds_products(const Contract *c)
{
    Component sum[STATE_COMPONENTS_MAX];
    const Term *x = c->product->reduce.argument;
    while (x->kind == TERM_MAP && x->map.function == FUNCTION_CAST && x->map.implicit)
        x = x->map.arguments[0];
    return state_components(c->product, sum) == 1 && sum[0].merge == MERGE_ADD && sum[0].lift == LIFT_ELEMENT && x->kind == TERM_MAP &&
           x->map.function == FUNCTION_MUL && c->product->reduce.reduction != REDUCTION_NORM &&
           ((x->map.arguments[0] == c->left && x->map.arguments[1] == c->right) ||
            (x->map.arguments[0] == c->right && x->map.arguments[1] == c->left));
}

static bool steps_fit(Fusing *f)
{
    const Launch *launch = f->launch;
    const Step *first = launch->steps[0], *last = launch->steps[launch->step_count - 1];
    int map = 0;
    if (first->root_count != 1 || last->root_count != 1 || !is_plain_step(last) || launch->block_count == 0)
        return false;
    for (int s = 0; s + 1 < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        if (!is_plain_step(step) || !is_kept(step->statement->outputs[0].tensor) || (s > 0 && step->contract) || !reads_last_map(f, s, map))
            return false;
        if (s > 0 && !(step->root_count ? is_state : is_map)(f, s))
            return false;
        map = s > 0 && step->root_count == 0 ? s : map;
        f->fuse->scaled[s] = f->scales[s].kind == SCALE_POWER;
    }
    Scale scale = scale_of(&f->scaling, last->contract->left);
    f->fuse->scaled[launch->step_count - 1] = scale.kind == SCALE_POWER;
    return reads_last_map(f, launch->step_count - 1, map) && (scale_is_fixed(scale) || (scale.kind == SCALE_POWER && adds_products(last->contract)));
}

/* ---- tiles that add nothing ---- */

/* What terms come to where the first step stores some number; NaN: it may be anything. */
typedef struct Left {
    const Fusing *f;
    const double *of_step;        /* NULL: nothing is known of what steps store */
    double *known;                /* [term id] */
    bool *seen;                   /* [term id] */
} Left;

static Left left_of(const Fusing *f, const double *of_step)
{
    Arena *arena = f->planner->arena;
    int count = f->planner->plan->lowered->term_count;
    return (Left){ f, of_step, ARENA_ARRAY(arena, double, count), ARENA_ARRAY(arena, bool, count) };
}

static double left_inside(const Left *left, const Term *term);

static double left_value(const Left *left, const Term *term)
{
    if (!left->seen[term->id]) {
        left->known[term->id] = left_inside(left, term);
        left->seen[term->id] = true;
    }
    return left->known[term->id];
}

static double left_of_map(const Left *left, const Term *term)
{
    const Fusing *f = left->f;
    double x = term->map.count > 0 ? left_value(left, term->map.arguments[0]) : NAN;
    double y = term->map.count > 1 ? left_value(left, term->map.arguments[1]) : NAN;
    switch (term->map.function) {
    case FUNCTION_CAST: return x;
    case FUNCTION_NEG: return -x;
    case FUNCTION_EXP: return exp(x);
    case FUNCTION_MUL: return x * y;
    case FUNCTION_SUB:    /* of the maximum, which is a number where it counts */
        return x == -INFINITY && term->map.arguments[1]->kind == TERM_READ && maker_of(f, term->map.arguments[1]) >= 0 &&
               f->launch->steps[maker_of(f, term->map.arguments[1])] == f->fuse->largest ? x : x - y;
    default: return NAN;
    }
}

/* A row whose maximum is no number has none in the end, too. */
static double left_inside(const Left *left, const Term *term)
{
    double x, y;
    switch (term->kind) {
    case TERM_READ: return maker_of(left->f, term) < 0 || !left->of_step ? NAN : left->of_step[maker_of(left->f, term)];
    case TERM_CONSTANT: return term->constant.is_integer ? (double)term->constant.integer : term->constant.value;
    case TERM_SELECT:
        x = left_value(left, term->select.yes);
        y = left_value(left, term->select.no);
        return x == y ? x : NAN;
    case TERM_MAP: return left_of_map(left, term);
    default: return NAN;
    }
}

/* What a step stores, or reduces. */
static const Term *element_of(const Step *step)
{
    return step->root_count ? step->roots[0]->reduce.argument : value_of(step);
}

/* Whether a sum for which the first step stores a number changes no state, and becomes a factor of 0. */
static bool is_neutral(const Fusing *f, double number)
{
    const Launch *launch = f->launch;
    const Contract *last = launch->steps[launch->step_count - 1]->contract;
    double *of_step = ARENA_ARRAY(f->planner->arena, double, launch->step_count);
    const Left known = left_of(f, of_step);
    of_step[0] = number;
    for (int s = 1; s + 1 < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        double left = left_value(&known, element_of(step));
        Component components[STATE_COMPONENTS_MAX];
        of_step[s] = step->root_count ? NAN : left;
        if (!step->root_count)
            continue;
        state_components(step->roots[0], components);
        bool adds = components[0].merge == MERGE_ADD && components[0].lift == LIFT_ELEMENT;
        if (!(adds && left == 0) && !(step->roots[0]->reduce.reduction == REDUCTION_MAX && left == -INFINITY))
            return false;
    }
    return adds_products(last) && left_value(&known, last->left) == 0;
}

/* Which numbers are neutral, and what the first step's where says about tiles; its condition stands in later steps, too. */
static void find_neutral(Fusing *f)
{
    const Launch *launch = f->launch;
    const Term *value = value_of(launch->steps[0]);
    const double candidates[] = { -INFINITY, INFINITY, 0 };
    f->fuse->implied = ARENA_ARRAY(f->planner->arena, bool, launch->step_count);
    f->fuse->neutral = NAN;
    for (int i = 0; i < 3 && isnan(f->fuse->neutral); i++)
        if (is_neutral(f, candidates[i]))
            f->fuse->neutral = candidates[i];
    const Left known = left_of(f, NULL);
    if (value->kind != TERM_SELECT || !planner_reads_plainly(f->planner, value->select.condition) ||
        !is_neutral(f, left_value(&known, value->select.no)))
        return;
    f->fuse->met = value->select.condition;
    for (int s = 1; s + 1 < launch->step_count; s++) {
        const Term *element = element_of(launch->steps[s]);
        f->fuse->implied[s] = element->kind == TERM_SELECT && scaling_is_same(&f->scaling, element->select.condition, f->fuse->met);
    }
}

/* ---- tiles ---- */

/* Tensor cores multiply bf16 numbers, and of an f32 number its parts: as many as hold all its bits. */
static int parts_of(const Fusing *f)
{
    enum { ALL_BITS = 3, MOST_BITS = 2, ROUNDED_BITS = 1 };
    const Contract *first = f->launch->steps[0]->contract, *last = f->launch->steps[f->launch->step_count - 1]->contract;
    const Term *read = plain_read(last->right);
    if (!first->block->is_matrix || !adds_products(last) || !read || read->dtype != DTYPE_BF16 || last->columns.count != 1)
        return 0;
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return 0;
    const Term *factor = narrow_side(last->left);
    if (factor && factor->dtype == DTYPE_BF16)
        return ROUNDED_BITS;
    f->fuse->leaves_out = f->planner->hints->precision == PRECISION_BF16X3;
    return f->fuse->leaves_out ? MOST_BITS : ALL_BITS;
}

/* Both products as a tile has them, and the bytes of shared memory that they take. */
static int set_tile(const Fusing *f, const FuseTile *tile, BlockTile *behind)
{
    Contract *first = f->launch->steps[0]->contract, *last = f->launch->steps[f->launch->step_count - 1]->contract;
    first->block = &tile->of;
    *behind = tile->of;
    behind->columns = tile->values;
    behind->wide = tile->values / (tile->of.columns / tile->of.wide);
    behind->depth = tile->of.columns;
    behind->stages = 1;
    behind->is_matrix = f->fuse->parts > 0;
    last->block = behind;
    int number = f->fuse->parts ? 2 : 4, line = BLOCK_LINE / 4;
    int values = tile->of.columns * (tile->values + (f->fuse->parts ? 0 : line)) * number + (f->fuse->parts ? tile->of.columns : tile->values) * 8;
    int factors = f->fuse->parts ? 0 : tile->of.rows * (tile->of.columns + line) * number;
    return (block_operand_bytes(first) + 2 * BLOCK_LINE + values + factors) / BLOCK_LINE * BLOCK_LINE;
}

static double points_of(const Fusing *f, const IndexSet *set)
{
    double points = 1;
    for (int i = 0; i < set->count; i++)
        points *= fmax(planner_extent(f->planner, set->list[i]), 1);
    return points;
}

/* The tile that takes the fewest multiplications; the last one, for tests, where tiles are forced. */
static bool choose_tile(Fusing *f)
{
    const Grid *grid = f->planner->plan->target->grid;
    Contract *first = f->launch->steps[0]->contract, *last = f->launch->steps[f->launch->step_count - 1]->contract;
    const FuseTile *chosen = NULL;
    BlockTile *behind = ARENA_NEW(f->planner->arena, BlockTile);
    bool forced = f->planner->hints->nests == NESTS_TILED;
    double best = 0, values = points_of(f, &last->columns), depth = points_of(f, &first->depth);
    for (const FuseTile *tile = first->block->is_matrix ? grid->fuse_matrices : grid->fuse_tiles; tile->values; tile++) {
        double passes = ceil(values / tile->values), work = passes * (depth + fmax(f->fuse->parts, 1) * tile->values);
        if (forced != (tile[1].values == 0) || (passes > PASSES_MOST && !forced) || set_tile(f, tile, behind) > grid->shared_bytes ||
            (chosen && work >= best))
            continue;
        best = work;
        chosen = tile;
    }
    if (!chosen)
        return false;
    f->fuse->tile = chosen;
    first->shared = set_tile(f, chosen, behind);
    last->shared = 0;
    first->resident = last->resident = chosen->of.resident;
    first->tile_rows = last->tile_rows = chosen->of.rows;
    first->tile_vectors = (chosen->of.columns + grid->lanes - 1) / grid->lanes;
    last->tile_vectors = (chosen->values + grid->lanes - 1) / grid->lanes;
    first->depth_block = block_slice_depth(first);
    last->depth_block = chosen->of.columns;
    last->tile = NULL;
    if (f->fuse->parts)
        last->packed = DTYPE_BF16;
    return true;
}

const Fuse *plan_fuse(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    int count = launch->step_count;
    if (count < 2 || !launch->steps[0]->contract || !launch->steps[count - 1]->contract)
        return NULL;
    Fuse *fuse = ARENA_NEW(arena, Fuse);
    fuse->same = ARENA_ARRAY(arena, Index *, planner->plan->lowered->index_count);
    fuse->scaled = ARENA_ARRAY(arena, bool, count);
    Fusing f = { .planner = planner, .launch = launch, .fuse = fuse, .scales = ARENA_ARRAY(arena, Scale, count) };
    f.scaling = (Scaling){ .user = &f, .read = read_scale, .maximum = maximum_read, .is_same = goes_together };
    scaling_start(&f.scaling, arena, planner->plan->lowered);
    Contract *first = launch->steps[0]->contract, *last = launch->steps[count - 1]->contract, before[2] = { *first, *last };
    const Step steps[2] = { *launch->steps[0], *launch->steps[count - 1] };
    bool floats = register_dtype(first->product->dtype) == DTYPE_F32 && register_dtype(last->product->dtype) == DTYPE_F32;
    if (floats && !is_read_outside(&f) && align(&f) && match_sides(&f) && steps_fit(&f)) {
        find_neutral(&f);
        fuse->parts = parts_of(&f);
        if (choose_tile(&f)) {
            if (adds_products(last))
                ring_fuse(planner, launch, fuse);
            return fuse;
        }
    }
    *first = before[0];
    *last = before[1];
    *launch->steps[0] = steps[0];
    *launch->steps[count - 1] = steps[1];
    return NULL;
}

/* A unit of work is a tile of rows. */
void fuse_tiles(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    const Contract *c = launch->steps[0]->contract;
    const Size *want = size_constant(arena, c->block->rows), *have = NULL;
    for (int b = launch->block_count - 1; b >= 0; b--) {
        Block *block = &launch->blocks[b];
        block->tile = size_constant(arena, 1);
        if (!has(&c->rows, block->of_step[0]))
            continue;
        const Size *most = have ? size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_DIV, want, have), block->tile) : want;
        block->tile = size_named(arena, arena_format(arena, "tile_%d_%d", launch->id + 1, b + 1), size_op(arena, SIZE_MIN, most, block->extent));
        have = have ? size_op(arena, SIZE_MUL, have, block->tile) : block->tile;
    }
}
