/* Tiled products on a grid: which side is rows and which columns, and what tile a block of threads has. */
#include <math.h>

#include "planning.h"

enum {
    UNKNOWN = 1024,               /* rows or columns where an extent is not known: large tiles do badly on few */
    STATE_WORDS = 16,             /* of a thread's registers, that leave room for the rest */
    WORDS = 192,                  /* of its 255 where two blocks have registers at once, that leave room for addresses, */
    REDUCTION_WORDS = 16,         /* of which a reduction needs more, */
    MAPPED_WORDS = 64,            /* and a map in front of it that is of f64 numbers, as an exponential is, */
    SUMS_MOST = 64,               /* of a thread on tensor cores */
    NEEDED = 4,                   /* of the blocks that give all of the machine work this part keeps its multipliers busy */
    ROW_TILES = 2,                /* of a part of a reduction, at least: so many pay for merging it, */
    POINTS = 256,                 /* and so many contracted points for storing a part of a sum */
    AT_ONCE = 128,                /* multiprocessors, each with so many blocks as a tile leaves room for */
    CHUNK = 2,                    /* rows that a thread brings at a time: templates/cuda/contract_brief.cu */
    OFFSET_BYTES = 8              /* of a row or column: where it begins */
};

#define READ_COST 2.0   /* what a number costs that a thread reads from shared memory, in multiplications */

/* The index along which a side's elements are stored side by side, else that of the innermost loop. */
static Index *last_of(const Planner *planner, const Step *step, const IndexSet *own)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    Index *last = NULL;
    for (int i = 0; i < step->loop_count; i++)
        if (indices_have(own->list, own->count, step->loops[i]))
            last = step->loops[i];
    for (int a = 0; a < tensor->rank; a++) {
        int64_t stride = planner_stride(planner, tensor, a);
        if ((stride == 1 || (stride == NO_STRIDE && a == tensor->rank - 1)) && indices_have(own->list, own->count, tensor->axes[a]))
            last = (Index *)tensor->axes[a];
    }
    return last;
}

/* Neighbouring threads have neighbouring columns, which is how results are stored. */
bool block_choose_sides(const Planner *planner, const Step *step, const Product *product, Sides *sides)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    *sides = (Sides){ .left = 0 };
    for (int a = 0; a < tensor->rank; a++) {
        int64_t stride = planner_stride(planner, tensor, a);
        bool along = stride == 1 || (stride == NO_STRIDE && a == tensor->rank - 1);
        if (along && indices_have(product->own[0].list, product->own[0].count, tensor->axes[a]))
            sides->left = 1;
    }
    sides->row = last_of(planner, step, &product->own[sides->left]);
    sides->column = last_of(planner, step, &product->own[1 - sides->left]);
    return sides->row && sides->column;
}

/* ---- which tile ---- */

static double points(const Planner *planner, const IndexSet *set)
{
    const Extents *extents = planner->hints->extents;
    double product = 1;
    for (int i = 0; i < set->count; i++) {
        int64_t extent = extents ? extents->of[set->list[i]->origin->id] : -1;
        product *= extent < 0 ? UNKNOWN : fmax((double)extent, 1);
    }
    return product;
}

/* How many contracted points a slice has. */
int block_slice_depth(const Contract *c)
{
    return c->block->is_matrix ? c->block->depth * BLOCK_LINE / (int)dtype_size(c->packed) : c->block->depth;
}

/* Slices of both operands, and where their lines begin. Behind each point's rows there is room for a line, so that different points
 * are in different banks. */
int block_operand_bytes(const Contract *c)
{
    int lines = c->block->rows + c->block->columns, pad = c->block->is_matrix ? 0 : BLOCK_LINE;
    int padded = lines * (int)dtype_size(c->packed) + 2 * pad;
    return c->block->stages * block_slice_depth(c) * padded + lines * OFFSET_BYTES;
}

/* Behind them the states of columns, of each warp. */
static int state_bytes(const Planner *planner, const Step *step, const Contract *c, const BlockTile *tile)
{
    int bytes = 0, warps = planner->plan->target->grid->threads / planner->plan->target->grid->lanes;
    for (int r = 0; r < step->root_count && c->reduces; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(step->roots[r], components); i < n; i++)
            bytes += warps * tile->columns * (int)fmax((double)dtype_size(components[i].dtype), 4) + OFFSET_BYTES;
    }
    return bytes;
}

/* Whether what reduces a product's rows, or the product itself, may be cut into parts. */
static bool may_split(const Planner *planner, const Step *step, const Contract *c)
{
    const PlanHints *hints = planner->hints;
    bool known = hints->extents && hints->extents->complete;
    bool one = c->reduces ? c->rows.count == 1 : step->root_count == 1 && step->roots[0] == c->product;
    return one && step_can_split(step) && !hints->uncut && (known || hints->nests == NESTS_TILED);
}

/* How many parts the contracted points of so many blocks' tiles are cut into. */
static double parts_of_points(const Planner *planner, const Contract *c, const BlockTile *tile, double blocks)
{
    return fmax(floor(fmin(AT_ONCE * tile->resident / blocks, points(planner, &c->depth) / POINTS)), 1);
}

/* The time of tiles of this kind: of one after the other, or of a part's, where all blocks at once make them; in multiplications of a
 * thread. */
static double time_of(const Planner *planner, const Contract *c, const BlockTile *tile)
{
    const Grid *grid = planner->plan->target->grid;
    double one = (double)tile->high * tile->wide + READ_COST * (tile->high + tile->wide);
    double row_tiles = ceil(points(planner, &c->rows) / tile->rows);
    double column_tiles = ceil(points(planner, &c->columns) / tile->columns);
    double blocks = column_tiles * points(planner, &c->batch) * (c->reduces ? points(planner, &c->kept_rows) : row_tiles);
    double share = blocks * NEEDED / grid->blocks, parts = c->is_cut ? floor(fmin(1 / share, row_tiles / ROW_TILES)) : 1;
    if (c->is_cut && !c->reduces)
        parts = 2 * parts_of_points(planner, c, tile, blocks) / tile->resident;
    return one * (c->reduces ? row_tiles : 1) * fmax(share, 1 / fmax(parts, 1));
}

/* Whether a read that may be out of range stands in a where that the first reduction does not take as bounds of the rows: then it
 * is made only where it is chosen, and a tile has all of them. */
static void find_where(void *user, const Term *term)
{
    *(bool *)user |= term->kind == TERM_SELECT;
}

static bool has_column(const Contract *c, const Term *condition)
{
    for (int i = 0; i < c->columns.count; i++)
        if (term_has_index(condition, c->columns.list[i]))
            return true;
    return false;
}

static bool is_read_rashly(const Planner *planner, const Step *step, const Contract *c)
{
    if (planner_reads_plainly(planner, c->left) && planner_reads_plainly(planner, c->right))
        return false;
    const Term *x = c->reduces ? step->roots[0]->reduce.argument : NULL;
    if (x && step->root_count == 1 && x->kind == TERM_SELECT && state_skips(step->roots[0], x->select.no))
        return has_column(c, x->select.condition) || c->rows.count > 1 ||
               !condition_only_bounds(x->select.condition, c->rows.list[0]);
    bool where = false;
    for (int o = 0; o < step->statement->output_count; o++)
        term_each_below(planner->arena, step->statement->outputs[o].value, find_where, &where);
    bool inside = false;    /* a where of the sides' own is evaluated with them */
    term_each_below(planner->arena, c->left, find_where, &inside);
    term_each_below(planner->arena, c->right, find_where, &inside);
    return where && !inside;
}

/* How many of a thread's registers its states take. */
static int state_words(const Step *step, const Contract *c)
{
    int words = 0;
    for (int r = 0; r < step->root_count && c->reduces; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(step->roots[r], components); i < n; i++)
            words += c->block->wide * (dtype_size(components[i].dtype) > 4 ? 2 : 1);
    }
    return words;
}

/* What becomes of the sums takes registers, too: a reduction, or an address of several indices. */
static int words_after(const Step *step, const Contract *c)
{
    if (c->reduces) {
        bool mapped = step->roots[0]->reduce.argument != c->product && c->packed == DTYPE_F64;
        return REDUCTION_WORDS + state_words(step, c) + (mapped ? MAPPED_WORDS : 0);
    }
    return c->batch.count + c->rows.count + c->columns.count > 2 ? 2 * STATE_WORDS : 0;
}

/* Whether a thread has registers for its sums, what it multiplies now and next, and what becomes of the sums. On tensor cores
 * it has, but for the most sums beside three parts of each number, or beside more states than one of a column; of f64, beside anything. */
static bool has_registers(const Step *step, const Contract *c, Dtype sum)
{
    const BlockTile *tile = c->block;
    int words = tile->high * tile->wide + 2 * (tile->high + tile->wide);
    if (tile->is_matrix && c->tile && c->tile->parts > 1)
        return tile->high * tile->wide < SUMS_MOST || (c->tile->parts == 2 && state_words(step, c) <= tile->wide);
    if (tile->is_matrix && sum == DTYPE_F64)
        return tile->high * tile->wide < SUMS_MOST || words_after(step, c) == 0;
    return tile->is_matrix || words * (int)dtype_size(sum) / 4 + words_after(step, c) <= WORDS;
}

/* What a thread's states take of its registers may leave room for fewer blocks, and so may where results go that have several
 * indices, parts of numbers, and what is chosen for a side as it is fetched. */
static int resident_blocks(const Step *step, const Contract *c)
{
    bool parts = c->tile && c->tile->parts > 1;
    bool doubles = c->packed == DTYPE_F64, few = doubles && !c->block->is_matrix && 2 * c->block->high * c->block->wide >= SUMS_MOST;
    bool chosen = !c->block->is_matrix && (c->left->kind == TERM_SELECT || c->right->kind == TERM_SELECT);
    if ((parts || few || chosen || ((doubles || !c->block->is_matrix) && words_after(step, c) > 0)) && c->block->resident > 2)
        return 2;
    int words = state_words(step, c);
    if (!c->reduces && c->rows.count + c->columns.count > 2)
        words = 2 * STATE_WORDS;
    return words > STATE_WORDS && c->block->resident > 2 ? 2 : c->block->resident;
}

/* Whether a read's contracted indices stand alone at axes. */
static bool stands_alone(const Contract *c, const Term *read)
{
    for (int a = 0; a < read->read.tensor->rank; a++)
        for (int k = 0; k < c->depth.count; k++) {
            const Position *position = &read->read.positions[a];
            bool there = false;
            for (int i = 0; i < position->count; i++)
                there |= position->parts[i].gather ? term_has_index(position->parts[i].gather, c->depth.list[k])
                                                   : position->parts[i].index == c->depth.list[k];
            if (there && !position_is_plain(position))
                return false;
        }
    return true;
}

/* Whether tensor cores multiply it: a sum of products of two narrow numbers that are read as they are, or of f32 if their
 * parts will do. Then those are packed. */
static bool is_for_matrices(const Planner *planner, Contract *c)
{
    Component sum[STATE_COMPONENTS_MAX];
    state_components(c->product, sum);
    const Term *left, *right;
    if (!product_of_reads(c, sum, &left, &right) || !stands_alone(c, left) || !stands_alone(c, right))
        return false;
    c->tile = left->dtype == DTYPE_F32 ? planner->plan->target->parts[planner->hints->precision] : NULL;
    bool doubles = left->dtype == DTYPE_F64 && planner->plan->target->grid->doubles != NULL;
    if (!c->tile && !doubles && left->dtype != DTYPE_BF16 && left->dtype != DTYPE_F16 && left->dtype != DTYPE_I8)
        return false;
    c->packed = left->dtype;
    c->left = left;
    c->right = right;
    return true;
}

/* What a reduction behind a product reads for a row, whatever the column. */
static void find_row_reads(const Contract *c, const Term *term, const Term **reads, int *count)
{
    if (term == c->product)
        return;
    for (int i = 0; term->kind == TERM_MAP && i < term->map.count; i++)
        find_row_reads(c, term->map.arguments[i], reads, count);
    bool found = term->kind != TERM_READ || *count == ROW_READS_MAX || has_column(c, term) || term->dtype != DTYPE_F32;
    for (int i = 0; i < *count; i++)
        found |= reads[i] == term;
    if (!found)
        reads[(*count)++] = term;
}

int block_row_reads(const Contract *c, const Step *step, const Term *reads[ROW_READS_MAX])
{
    int count = 0;
    for (int r = 0; r < step->root_count; r++)
        find_row_reads(c, step->roots[r]->reduce.argument, reads, &count);
    return count;
}

/* Tensor cores take 4 points at a time; one more is a row's distance from 0. */
int block_near_points(const Contract *c)
{
    return (c->points / 4 + 1) * 4;
}

/* Rows, the next, and what is read for each, in shared memory. */
static int brief_bytes(const Planner *planner, const Step *step, const Contract *c)
{
    const Term *reads[ROW_READS_MAX];
    int numbers = c->points + block_row_reads(c, step, reads), rows = CHUNK * planner->plan->target->grid->threads;
    int doubles = c->squares != 0 ? block_near_points(c) : 0;
    return 2 * rows * (numbers * (int)sizeof(float) + doubles * (int)sizeof(double)) + state_bytes(planner, step, c, c->brief);
}

/* Whether so few contracted points are expected of f32 numbers, read as they are, and a reduction behind them, that a tile of their
 * own does no worse than one for any number of points. */
static bool is_brief(const Planner *planner, const Step *step, Contract *c)
{
    const BlockTile *brief = planner->plan->target->grid->brief;
    bool where = false, plain = true;
    if (!brief || !c->reduces || c->block->is_matrix || c->packed != DTYPE_F32 || c->depth.count > 1 || c->rows.count > 1 ||
        c->left->kind != TERM_READ || c->left->dtype != DTYPE_F32 || !planner_reads_plainly(planner, c->left) ||
        !planner_reads_plainly(planner, c->right) || state_words(step, c) > STATE_WORDS)
        return false;
    for (int r = 0; r < step->root_count; r++)
        term_each_below(planner->arena, step->roots[r]->reduce.argument, find_where, &where),
        plain &= planner_reads_plainly(planner, step->roots[r]->reduce.argument);
    const Extents *extents = planner->hints->extents;
    int64_t points = extents ? extents->of[c->depth.list[0]->origin->id] : -1;
    if (where || !plain || points < 1 || points > brief->depth)
        return false;
    c->points = (int)points;
    return planner->hints->nests == NESTS_TILED || time_of(planner, c, brief) <= time_of(planner, c, c->block);
}

/* The tile of a list that takes the least time, of those of which so many blocks have registers at once; the last one, for tests,
 * where tiles are forced. */
static const BlockTile *choose(Planner *planner, const Step *step, Contract *c, const BlockTile *tiles, Dtype sum, int resident)
{
    const Grid *grid = planner->plan->target->grid;
    const BlockTile *chosen = NULL;
    double best = 0;
    for (const BlockTile *tile = tiles; tile->rows; tile++) {
        bool last = tile[1].rows == 0, forced = planner->hints->nests == NESTS_TILED;
        double time = time_of(planner, c, tile);
        c->block = tile;
        int bytes = block_operand_bytes(c) + state_bytes(planner, step, c, c->block), room = tile->asks ? grid->asked_bytes : grid->shared_bytes;
        if (forced != last || tile->resident < resident || (int)dtype_size(sum) > tile->bytes || bytes > room || (chosen && time >= best) ||
            !(last || has_registers(step, c, sum)))
            continue;
        best = time;
        chosen = tile;
    }
    return chosen;
}

/* All that follows from the tile that takes the least time; false where there is none. */
static bool set_block(Planner *planner, const Step *step, Contract *c)
{
    const Grid *grid = planner->plan->target->grid;
    Dtype sum = register_dtype(c->product->dtype);
    c->packed = sum;
    c->group = c->row_block = c->near = 1;
    bool is_matrix = is_for_matrices(planner, c);
    const BlockTile *chosen = is_matrix ? choose(planner, step, c, c->packed == DTYPE_F64 ? grid->doubles : grid->matrices, sum, 0) : NULL;
    if (!chosen) {
        c->tile = NULL;
        c->packed = sum;
        chosen = choose(planner, step, c, grid->tiles, sum, 0);
    }
    if (!chosen || is_read_rashly(planner, step, c))
        return false;
    c->block = chosen;
    if (is_brief(planner, step, c)) {
        block_find_power(planner, step, c);
        c->brief = c->squares != 0 ? grid->near : grid->brief;
        if (c->squares != 0 && brief_bytes(planner, step, c) > grid->shared_bytes) {    /* of many numbers for a row */
            c->squares = 0;
            c->brief = grid->brief;
        }
        c->block = chosen = choose(planner, step, c, grid->tiles, sum, c->brief->resident < grid->resident ? c->brief->resident + 1 : grid->resident);
    }
    int bytes = block_operand_bytes(c) + state_bytes(planner, step, c, c->block);
    if (c->brief)
        bytes = (int)fmax(bytes, brief_bytes(planner, step, c));
    c->shared = (bytes + BLOCK_LINE - 1) / BLOCK_LINE * BLOCK_LINE;
    bool several = c->squares != 0 && c->kept_rows.count + c->batch.count > 0;    /* indices, which take registers, too */
    c->resident = c->brief ? c->brief->resident - several : resident_blocks(step, c);
    c->tile_rows = chosen->rows;
    c->tile_vectors = chosen->columns / grid->lanes;
    c->depth_block = block_slice_depth(c);
    c->rows_along = !lies_along(planner, c->left, c->depth.list[c->depth.count - 1]);
    c->columns_along = !lies_along(planner, c->right, c->depth.list[c->depth.count - 1]);
    ring_choose(planner, step, c);
    return true;
}

bool block_choose_tile(Planner *planner, const Step *step, Contract *c)
{
    for (int i = c->kept_rows.count - 1; i >= 0 && !c->reduces; i--) {    /* all that stays is flattened */
        ARENA_APPEND(planner->arena, c->rows.list, c->rows.count, c->kept_rows.list[i]);
        for (int k = c->rows.count - 1; k > 0; k--) {
            Index *moved = c->rows.list[k];
            c->rows.list[k] = c->rows.list[k - 1];
            c->rows.list[k - 1] = moved;
        }
    }
    if (!c->reduces)
        c->kept_rows.count = 0;
    Contract cut = *c;
    cut.is_cut = true;
    if (!set_block(planner, step, c))
        return false;
    if (may_split(planner, step, c) && set_block(planner, step, &cut)) {
        c->cut = ARENA_NEW(planner->arena, Contract);
        *c->cut = cut;
    }
    return true;
}

/* Whether a ring has so few tiles that parts are made faster, by slower instructions, on all of the machine: less than a third of an
 * H200's 132 multiprocessors would have one, or next to none where numbers would come one by one. */
static bool has_idle_ring(const Planner *planner, const Contract *c)
{
    enum { BUSY = 24, BUSY_ONE_BY_ONE = 256 };    /* blocks of those that give all of the machine work, for a tile */
    double tiles = ceil(points(planner, &c->columns) / c->ring->left) * points(planner, &c->batch) * points(planner, &c->kept_rows);
    tiles *= c->reduces ? 1 : ceil(points(planner, &c->rows) / c->ring->right);
    return tiles * (!c->reduces && (c->rows_along || c->columns_along) ? BUSY_ONE_BY_ONE : BUSY) < planner->plan->target->grid->blocks;
}

/* The blocks of a launch before its reduction is cut. */
static double blocks_of(const Planner *planner, const Contract *c)
{
    const BlockTile *tile = c->brief ? c->brief : c->block;
    double tiles = ceil(points(planner, &c->columns) / tile->columns) * points(planner, &c->batch) * points(planner, &c->kept_rows);
    return c->reduces ? tiles : tiles * ceil(points(planner, &c->rows) / tile->rows);
}

/* The rows, or the contracted index of which there are most. */
static Index *index_to_split(const Planner *planner, const Contract *c)
{
    const IndexSet *set = c->reduces ? &c->rows : &c->depth;
    Index *longest = set->list[0];
    for (int i = 1; i < set->count; i++)
        if (planner_extent(planner, set->list[i]) > planner_extent(planner, longest))
            longest = set->list[i];
    return longest;
}

/* Whether a product in so many parts takes less time than as a whole, in cycles of a multiprocessor: its parts are stored, and read by one
 * more kernel. */
static bool pays(const Planner *planner, const Contract *whole, const Contract *c, double parts)
{
    enum { LAUNCH = 6000, BYTES_PER_CYCLE = 3000, MATRIX_RATE = 2 };
    const Contract *of[] = { whole, c };
    double time[2], sums = points(planner, &c->rows) * points(planner, &c->columns) * points(planner, &c->batch);
    for (int i = 0; i < 2; i++)
        time[i] = time_of(planner, of[i], of[i]->block) * points(planner, &c->depth) / (of[i]->block->is_matrix ? MATRIX_RATE : 1);
    double bytes = 2 * parts * sums * (double)dtype_size(register_dtype(c->product->dtype));
    return time[1] + LAUNCH + bytes / BYTES_PER_CYCLE < time[0];
}

const Size *block_split(const Planner *planner, Step *step, Index **split)
{
    Contract *whole = step->contract, *c = whole->cut;
    const Grid *grid = planner->plan->target->grid;
    int64_t part = planner->hints->part;
    bool forced = planner->hints->nests == NESTS_TILED;
    if (!c || (c->ring && (forced || !has_idle_ring(planner, c))) || (forced && !c->reduces && !part))
        return NULL;
    *split = index_to_split(planner, c);
    double blocks = blocks_of(planner, c), extent = planner_extent(planner, *split), slice = 1, least, parts;
    if (c->reduces) {
        least = ROW_TILES * (c->brief ? CHUNK * grid->threads : c->block->rows);
        parts = grid->blocks / (NEEDED * blocks);
    } else {    /* chunks of what lies side by side stay aligned */
        slice = *split == c->depth.list[c->depth.count - 1] ? block_slice_depth(c) : 1;
        least = slice * (forced ? (double)part : ceil(POINTS * extent / fmax(points(planner, &c->depth), 1) / slice));
        parts = parts_of_points(planner, c, c->block, blocks);
    }
    if (!forced && (parts < 2 || extent < 2 * least || !(c->reduces || pays(planner, whole, c, parts))))
        return NULL;
    c->ring = NULL;
    step->contract = c;
    Arena *arena = planner->arena;
    const Size *most = size_constant(arena, (int64_t)(forced ? grid->blocks : parts) * (int64_t)slice);
    const Size *fair = size_op(arena, SIZE_CEIL_DIV, size_extent(arena, (*split)->origin), most);
    return size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_MUL, fair, size_constant(arena, (int64_t)slice)), size_constant(arena, (int64_t)least));
}
