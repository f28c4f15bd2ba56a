/* What a product's tile is, and how it meets its rows and columns. */
#include <math.h>

#include "planning.h"

enum {
    HALVES_MOST = 7,              /* twice as many vectors are no more than loops that are unrolled */
    TALL_FORCED = 4,              /* so few points stay in the first cache where all is small */
    PAIR_POINTS = 16,             /* of fewer, adding up what they make takes as long as they do */
    SETS_SHARE = 4, MET_FORCED = 64,    /* of the second cache's ways in some sets, for lines; words for small arrays to have points too far apart */
    FEW_TILES = 8,                /* of rows: for more of them packing is next to nothing beside products; */
    FEW_POINTS = 32,              /* fewer, where their sums come and go for fewer points than these at a time */
    SWEPT_TILES = 6,
    SWEEP_RUNS = 2,               /* so often the columns that a sweep has at least are worth it */
    PAGE = 4096, NEAR_POINTS = 96,     /* of columns in place at a time; bytes */
    CLOSE_ROWS = 28, CLOSE_PANELS = 3,     /* more rows of an index take a panel from the second cache seldom enough; so many panels pay for their rows */
    WIDEST = 5, LOWEST = 4,       /* vectors and rows of tiles */
    LOOPS_MOST = 64,              /* loops keep so many results in registers */
    SWEPT_VECTORS = 4,            /* wider tiles are lower than two rows */
    WHOLE_MOST = 128              /* products of so many words stand one after the other in a kernel */
};

#define ROW_COST 1.25   /* what a row costs beside its vectors' products, which take 1 each, to judge by the clock; */
#define PAIR_COST 0.08  /* what a product costs more that takes two points at a time, */
#define LONG_PAIR_COST 0.35    /* of pairs of 16 bytes, which some processors load in two steps; */
#define TILE_COST 0.2   /* what a tile takes beside its products, by a vector's; */
#define TALL_COST 0.5   /* and in a tile of one vector that has as many sums as others */
#define CLOSE_SHARE 1.25    /* so much of what is close are panels that all rows of an index meet at once */

/* What a product costs in tiles of so many vectors and few rows, by one in the target's: others than these are no narrower than two. */
static const double wide_costs[WIDEST + 1] = { [3] = 1.03, [4] = INFINITY, [5] = 1.04 };

/* Whether tiles of one vector of columns may take two contracted points at a time: a sum of products, whose rows have these side
 * by side, or are packed so. Such tiles are low: where panels come from afar, they come for few rows. */
static bool may_pair(const Planner *planner, const Contract *c)
{
    double points = planner_points(planner, &c->depth);
    bool fused = state_adds_products(c->product) && dtype_kind(c->packed) == KIND_FLOAT;
    bool side_by_side = !c->window && !c->rows_along && (!c->in_place || lies_along(planner, c->left, c->depth.list[c->depth.count - 1]));
    bool whole = planner->plan->lanes * (int)dtype_size(c->packed) == planner->plan->target->vector_bytes;
    bool pays = points >= PAIR_POINTS && points * planner_points(planner, &c->columns) <= c->near;
    return c->tile->pair_rows > 0 && !c->rows_spread && !c->tames && !c->places && fused && side_by_side && whole &&
           (pays || planner->hints->nests == NESTS_TILED);
}

/* How high a tile is that has so many vectors, and no more of all in registers than the target's: sums, a point's columns and a row's
 * number. In fours, so that what is cut off a run of rows is even where those are. */
static int rows_of(const Tile *tile, int vectors)
{
    int rows = (tile->rows * tile->vectors + tile->vectors + 1 - vectors) / vectors;    /* tiles leave one register free */
    return rows < 4 ? rows / 2 * 2 : rows / 4 * 4;
}

static double rows_of_all(const Planner *planner, const Contract *c)
{
    return planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows);
}

/* So many contracted points of a tile of one vector, each number of whose rows fills a vector, stay in the first cache. */
static int tall_depth(const Planner *planner, const Contract *c)
{
    const Target *target = planner->plan->target;
    return target->l1_bytes * 3 / 4 / (rows_of(c->tile, 1) * target->vector_bytes);
}

/* Whether tiles of one vector may have as many sums as others, where each number of a row fills a vector: a product then loads what
 * others copy, since it overwrites an operand. Their rows have to be close, and sums that are stored would leave vector by vector. */
static bool may_be_tall(const Planner *planner, const Contract *c)
{
    double points = c->sweep ? c->sweep : planner_points(planner, &c->depth);
    int most = planner->hints->nests == NESTS_TILED ? TALL_FORCED : tall_depth(planner, c);
    return c->rows_spread && c->reduces && c->tile_rows == c->tile->rows && points <= most;
}

/* Whether tiles of so many halves of vectors take two points at a time: of one vector, or where the last one's other half would
 * be empty, which only a single tile of all columns leaves so. */
static bool are_pairs(const Planner *planner, const Contract *c, int halves)
{
    bool is_single = !c->pieces && planner_points(planner, &c->columns) <= halves * planner->plan->lanes / 2.0;
    return (halves == 2 || (halves % 2 == 1 && is_single)) && may_pair(planner, c);
}

/* What a product of one vector costs in tiles of so many halves. */
static double product_cost(const Planner *planner, const Contract *c, int halves)
{
    double pair = dtype_size(c->packed) > 4 ? LONG_PAIR_COST : PAIR_COST;
    if (halves == 2 && may_be_tall(planner, c))
        return 1 + TALL_COST;
    return are_pairs(planner, c, halves) ? 1 + pair + ROW_COST / halves : 1 + 2 * ROW_COST / halves;
}

/* Whether tiles may be wider than the target's, and lower: of columns that are one run, whose number is known. */
static bool may_be_wide(const Planner *planner, const Contract *c, int vectors)
{
    bool known = c->columns.count == 1 && planner->hints->extents && planner->hints->extents->of[c->columns.list[0]->origin->id] >= 0;
    return known && !c->usual && !c->tile->dot && !c->places && rows_of(c->tile, vectors) >= LOWEST;
}

/* How many halves of vectors a tile is wide: the target's, or others where few columns would leave much of the last tile empty.
 * With fewer, each number of a row is loaded for fewer products; with more, each of a column. */
static int tile_halves(const Planner *planner, const Contract *c)
{
    const double columns = planner_points(planner, &c->columns);
    double least = 0;
    int best = 0;
    for (int h = 2 * WIDEST; h > 0; h--) {
        const bool is_wide = h > 2 * c->tile->vectors, odd = h % 2 == 1;
        const bool exists = is_wide ? !odd && may_be_wide(planner, c, h / 2) : !odd || are_pairs(planner, c, h);
        double width = h * planner->plan->lanes / 2.0, work = ceil(columns / width) * width;
        work *= is_wide ? product_cost(planner, c, 2 * c->tile->vectors) * wide_costs[h / 2] : product_cost(planner, c, h);
        if (exists && (!best || work < least)) {
            best = h;
            least = work;
        }
    }
    return best;
}

/* How high a tile is that takes two points at a time; what half a vector is woven by is in one more register. */
static int pair_rows(const Tile *tile, int halves)
{
    int rows = (tile->rows * tile->vectors + tile->vectors - halves - 1) / halves;
    return halves == 2 ? tile->pair_rows : rows < tile->rows ? rows : tile->rows;
}

/* How many halves of lines a run of columns is, where two rows' leave as lines: an odd number, and so many vectors, which are lines
 * or halves of them, have whole runs. A panel that is that wide is loaded for fewer rows: low tiles want it in the first cache. 0:
 * sums leave otherwise. */
static int halves_of(const Planner *planner, const Step *step, const Contract *c)
{
    int line = planner->plan->lanes * (int)dtype_size(state_dtype(c->product));
    bool is_line = line == CONTRACT_LINE || 2 * line == CONTRACT_LINE;
    int halves = c->pieces && step->result && is_line && c->tile_rows == c->tile->rows ? columns_halves(planner, step, c) : 0;
    if (halves <= 1 || halves > HALVES_MOST || planner_points(planner, &c->columns) < halves * planner->plan->lanes)
        return 0;
    bool is_low = rows_of(c->tile, halves) < c->tile->rows / 2;
    bool is_close = planner_points(planner, &c->depth) * halves * line <= planner->plan->target->l1_bytes;
    return rows_of(c->tile, halves) > 0 && (is_close || !is_low) ? halves : 0;
}

/* How high tiles of few points are whose sums go to memory in halves of lines: no two rows' lines have the same place, if so few rows
 * keep the multipliers busy. */
static int placed_rows(const Planner *planner, const Step *step, const Contract *c)
{
    bool is_brief = !c->reduces && planner_points(planner, &c->depth) < c->tile_rows * ROW_BLOCK;
    int rows = is_brief ? rows_with_places(planner, step, c->rows.list[c->rows.count - 1]) : c->tile_rows;
    return rows < c->tile_rows && rows * c->tile_vectors >= SUMS_BUSY ? rows : c->tile_rows;
}

/* How long rows' products of a vector of columns take in tiles of so many vectors: each tile takes a sum's time at least, and some
 * for itself. */
static double rows_cost(const Tile *tile, double rows, int vectors)
{
    int most = vectors == tile->vectors ? tile->rows : rows_of(tile, vectors);
    double cost = 0;
    for (double height; most > 0 && rows > 0; rows -= height) {
        height = (double)planner_next_height((int64_t)rows, most);
        cost += fmax(height * vectors, SUMS_BUSY) / vectors + TILE_COST;
    }
    return most > 0 ? cost : INFINITY;
}

/* How many vectors a tile has in which few rows meet a sweep's columns as they lie: for low tiles more than others. 0: as others. */
static int swept_vectors(const Planner *planner, const Step *step, const Contract *c)
{
    double rows = rows_of_all(planner, c);
    int best = c->tile->vectors;
    if (!contract_sweep_in_order(planner, step, c) || c->columns.count > 1 || c->tile_rows != c->tile->rows || !planner->plan->target->row_bytes)
        return 0;
    for (int vectors = best + 1; vectors <= SWEPT_VECTORS; vectors++)
        if (rows_cost(c->tile, rows, vectors) <= rows_cost(c->tile, rows, best))
            best = vectors;
    return best > c->tile->vectors ? best : 0;
}

static void set_tile(const Planner *planner, const Step *step, Contract *c)
{
    c->pieces = !c->reduces && !c->sums_turned && c->columns.count > 1 && !c->tile->dot;
    c->halves = halves_of(planner, step, c);
    int wide = tile_halves(planner, c), swept = swept_vectors(planner, step, c);
    c->tile_vectors = c->halves ? c->halves : swept ? swept : (wide + 1) / 2;
    c->pairs = !c->halves && !swept && are_pairs(planner, c, wide) ? wide : 0;
    bool tall = !c->halves && !swept && wide == 2 && may_be_tall(planner, c);
    bool is_wide = wide > 2 * c->tile->vectors;
    c->tile_rows = c->halves || tall || swept || is_wide ? rows_of(c->tile, c->tile_vectors)
                 : c->pairs ? pair_rows(c->tile, c->pairs) : placed_rows(planner, step, c);
    if (!tall)
        return;
    c->row_block = 1;    /* a tile's rows stay while panels come */
    c->depth_block = tall_depth(planner, c) < c->depth_block ? tall_depth(planner, c) : c->depth_block;
}

bool contract_streams(const Planner *planner, const Contract *c)
{
    double bytes = rows_of_all(planner, c) * planner_points(planner, &c->depth) * (double)dtype_size(c->packed);
    double lanes = planner->plan->target->vector_bytes / (double)dtype_size(state_dtype(c->product));
    bool few = planner_points(planner, &c->columns) <= (PANELS_FEW - 1) * c->tile_vectors * lanes;
    return few && c->in_place && !c->rows_along && !c->rows_spread && bytes > planner->plan->target->l2_bytes;
}

/* Whether rows that are read in place have others of another kept index between them, which follow each of theirs in memory. */
static bool rows_apart(const Planner *planner, const Contract *c)
{
    const Index *row = c->rows.list[c->rows.count - 1], *point = c->depth.list[c->depth.count - 1];
    bool apart = false;
    for (int i = 0; i < c->kept_rows.count; i++) {
        int64_t stride = side_stride(planner, c->left, c->kept_rows.list[i]);
        apart |= stride > 0 && stride < side_stride(planner, c->left, row);
    }
    return apart && c->streams && !c->reduces && lies_along(planner, c->left, point);
}

/* Whether columns that are packed as they lie come from memory. */
static bool columns_stream(const Planner *planner, const Contract *c)
{
    const Term *read = c->widened ? c->widened : c->right;
    double columns = planner_points(planner, &c->batch) * planner_points(planner, &c->columns);
    double bytes = columns * planner_points(planner, &c->depth) * (double)dtype_size(c->packed);
    return read->kind == TERM_READ && lies_along(planner, read, c->columns.list[c->columns.count - 1]) && c->group == 1 &&
           (bytes > planner->plan->target->l2_bytes || planner->hints->nests == NESTS_TILED);
}

/* So many rows meet columns as they lie, where memory is fast in its own order; else packing them is next to nothing. More do so in a
 * sweep whose columns come by themselves. */
static double few_rows(const Target *target, bool sweeps)
{
    double tiles = target->row_bytes && sweeps ? SWEPT_TILES : FEW_TILES * fmin(target->in_order / (double)FEW_POINTS, 1);
    return tiles * target->tile->rows;
}

/* Whether what is asked for of columns in place goes by their order in memory. */
static bool goes_in_order(const Planner *planner, const Contract *c)
{
    const Target *target = planner->plan->target;
    return target->in_order && (c->sweep || !target->lines_apart || planner->hints->nests == NESTS_TILED);
}

/* Whether columns that stream are met where they are: they are multiplied as they are read, their points are equally far apart,
 * and what packing finds out about them is not asked for. */
static bool columns_in_place(const Planner *planner, const Step *step, const Contract *c)
{
    bool many = goes_in_order(planner, c) && rows_of_all(planner, c) > few_rows(planner->plan->target, c->sweep > 0);
    bool known = c->columns_met.condition || c->points_met.condition || c->tames || c->places;    /* by packing, or asked for apart */
    return c->columns_stream && (c->right->dtype == c->packed || c->widened) && c->depth.count == 1 && !known && !c->pairs &&
           (!c->sweep || c->sweep == contract_sweep_in_order(planner, step, c)) &&
           (c->tile_vectors <= 2 || c->columns.count == 1) && (!many || planner->hints->nests == NESTS_TILED);
}

/* Whether so many rows meet them that they are packed all the same. */
static bool columns_copied(const Planner *planner, const Contract *c)
{
    return c->columns_in_place && !c->sweep && (rows_of_all(planner, c) > IN_PLACE_TILES * c->tile_rows || (planner->hints->nests == NESTS_TILED && c->columns.count > 1));
}

/* Whether the few rows that meet columns in place are the same for each point of the batch. */
static bool rows_stay(const Planner *planner, const Contract *c)
{
    bool differ = c->batch.count == 0;
    for (int i = 0; i < c->batch.count; i++)
        differ |= term_has_index(c->left, c->batch.list[i]);
    return c->columns_in_place && !c->columns_copied && !c->sweep && !differ && !c->reduces && c->kept_rows.count == 0 && c->rows.count == 1 && !c->window &&
           !c->tile->parts && c->row_block > 1 && !planner->plan->memory;
}

/* Bytes from one point of a column's or the contracted index to the next. */
static double apart(const Planner *planner, const Contract *c, const Index *index)
{
    return fabs((double)side_stride(planner, c->right, index)) * (double)dtype_size(c->packed);
}

/* The indices of columns in place, and their contracted one, as their points lie in memory. Where a sweep's
 * come faster from several rows together without being asked for, none. */
static IndexSet columns_asked(const Planner *planner, const Contract *c)
{
    const Target *target = planner->plan->target;
    IndexSet asked = { NULL, 0 };
    if (!c->columns_in_place || !goes_in_order(planner, c) || (c->sweep && target->row_bytes && planner->hints->nests != NESTS_TILED))
        return asked;
    for (int i = c->columns.count - 1; i >= -1; i--) {
        Index *index = i < 0 ? c->depth.list[0] : c->columns.list[i];
        ARENA_APPEND(planner->arena, asked.list, asked.count, index);
        int at = asked.count - 1;
        for (; at > 0 && apart(planner, c, asked.list[at - 1]) > apart(planner, c, index); at--)
            asked.list[at] = asked.list[at - 1];
        asked.list[at] = index;
    }
    return asked;
}

/* So many points at a time of columns that lie so far apart from one to the next; fewer where each is in another page. */
static int points_together(const Target *target, double bytes)
{
    return bytes < PAGE ? NEAR_POINTS : target->in_order;
}

static int asked_points(const Planner *planner, const Contract *c)
{
    int most = points_together(planner->plan->target, apart(planner, c, c->depth.list[0]));
    return most < c->depth_block ? most : c->depth_block;
}

/* So many lines at each point; of a single tile of rows all of its own. */
static int asked_lines(const Planner *planner, const Contract *c)
{
    bool is_single = planner_points(planner, &c->kept_rows) == 1 && rows_of_all(planner, c) <= c->tile_rows;
    double part = c->widened ? (double)dtype_size(c->widened->dtype) / (double)dtype_size(c->packed) : 1;    /* of a line a vector has */
    return c->columns_asked.count == 0 ? 0 : is_single ? (int)ceil(c->tile_vectors * part) : 1;
}

int columns_sweep_in_order(const Planner *planner, const Term *right, const IndexSet *own, const Index *column, const IndexSet *depth, double rows)
{
    const Target *target = planner->plan->target;
    const Term *read = plain_read(right);
    if (!target->in_order || depth->count > 1 || !read || !lies_along(planner, read, column))
        return 0;
    bool forced = planner->hints->nests == NESTS_TILED;
    double columns = planner_points(planner, own), deep = planner_points(planner, depth), size = (double)dtype_size(register_dtype(right->dtype));
    double bytes = fabs((double)side_stride(planner, read, depth->list[0])) * (double)dtype_size(read->dtype);
    int points = forced ? SWEEP_FORCED : points_together(target, bytes);
    bool few = rows > 1 && rows <= few_rows(target, true) && columns >= SWEEP_RUNS * SWEEP_LEAST;
    bool cut = deep >= 2 * points && columns * deep * size > target->l2_bytes;
    return (few && cut) || (forced && deep > points) ? points : 0;
}

/* Whether squares of a step's result are turned behind it. */
static bool is_turned(const Planner *planner, const Step *step)
{
    const Program *lowered = planner->plan->lowered;
    bool turned = false;
    for (int s = 0; s < lowered->statement_count; s++) {
        const Term *value = lowered->statements[s]->outputs[0].value;
        turned |= lowered->statements[s]->turned && value->kind == TERM_READ && value->read.tensor == step->statement->outputs[0].tensor;
    }
    return turned;
}

int contract_sweep_in_order(const Planner *planner, const Step *step, const Contract *c)
{
    return is_turned(planner, step) ? 0 : columns_sweep_in_order(planner, c->right, &c->columns, c->columns.list[c->columns.count - 1], &c->depth,
                                                                 rows_of_all(planner, c));
}

int contract_sweep_whole(const Planner *planner, const Contract *c)
{
    const Target *target = planner->plan->target;
    const Index *column = c->columns.list[c->columns.count - 1];
    const Term *read = plain_read(c->right);
    double columns = planner_extent(planner, column), deep = planner_points(planner, &c->depth), rows = rows_of_all(planner, c);
    bool few = target->row_bytes && c->depth.count == 1 && rows > 1 && rows <= few_rows(target, true);
    if (!few || !read || read->dtype != c->packed || !lies_along(planner, read, column) ||
        (double)side_stride(planner, read, c->depth.list[0]) != columns || columns * (double)dtype_size(read->dtype) > PAGE)
        return 0;
    double size = (double)dtype_size(c->packed), width = (double)(c->tile->vectors * target->vector_bytes) / size;
    double places = ceil(columns / width) * width, others = planner_points(planner, &c->batch) * planner_points(planner, &c->columns) / columns;
    double near = planner->plan->memory ? fmin(contract_near(target), (double)planner->plan->memory / 4) : contract_near(target);
    int points = (int)(near / (places * size));
    bool many = others * fmax(contract_parts(planner, c, points), 1) >= RUNS_LEAST && rows * columns > LOOPS_MOST;
    return columns >= width && many && points >= SWEEP_SHORTEST && deep > points ? points : 0;
}

const Term *contract_widened(const Planner *planner, const Step *step, const Contract *c)
{
    const Term *read = plain_read(c->right);
    bool is_narrow = read && c->packed == DTYPE_F32 && dtype_size(read->dtype) < 4 &&
                     (dtype_kind(read->dtype) == KIND_FLOAT || dtype_kind(read->dtype) == KIND_INT);
    for (int a = 0; is_narrow && a < read->read.tensor->rank; a++)
        is_narrow = position_is_plain(&read->read.positions[a]);
    return is_narrow && !c->reduces && contract_sweep_in_order(planner, step, c) ? read : NULL;
}

/* Whether all rows stay in the second cache, or nearly, while units of work meet them. */
static bool rows_near(const Planner *planner, const Contract *c)
{
    const Target *target = planner->plan->target;
    double bytes = planner_points(planner, &c->batch) * rows_of_all(planner, c) * planner_points(planner, &c->depth) * (double)dtype_size(c->packed);
    return target->rows_come && !c->sweep && !c->columns_in_place && c->near > 0 && bytes <= 2.0 * target->l2_bytes;
}

/* So many columns whose panels stay in the first cache, where sums leave past the caches by whole lines, for which what comes from the second
 * one waits, and one index has so few rows that all panels would come for each of its neighbours' points. Rows come again for each such
 * unit of work: from the second cache, and whole lines of it. 0: units have as many as are near. */
static int close_columns(const Planner *planner, const Contract *c)
{
    const Index *row = c->rows.list[c->rows.count - 1], *column = c->columns.list[c->columns.count - 1];
    double line = planner_extent(planner, column) * (double)dtype_size(state_dtype(c->product));
    bool known = planner->hints->extents && planner->hints->extents->complete;
    bool lines = known && (c->halves || fmod(line, CONTRACT_LINE) == 0) && planner->plan->target->vector_bytes == CONTRACT_LINE;
    bool along = lies_along(planner, c->left, row) || lies_along(planner, c->left, c->depth.list[c->depth.count - 1]);
    if (!c->close || !c->pieces || !c->rows_near || !lines || !along || planner_extent(planner, row) > CLOSE_ROWS)
        return 0;
    double columns = c->close * CLOSE_SHARE / fmax(planner_points(planner, &c->depth), 1);
    return columns >= CLOSE_PANELS * c->tile_vectors * planner->plan->lanes ? (int)columns : 0;
}

/* So many words columns may push out of the second cache whose points' lines fall into few of its sets. */
static int met_words(const Planner *planner, const Contract *c)
{
    return planner->hints->nests == NESTS_TILED ? MET_FORCED : planner->plan->target->l2_bytes / SETS_SHARE / (int)dtype_size(state_dtype(c->product));
}

/* All words of a tile in registers of tiles, where they are known: so few that their products stand one after the other in a
 * kernel. 0: they are not. What cuts numbers into parts meanwhile leaves no time for anything else. */
static int whole_words(const Planner *planner, const Contract *c)
{
    int64_t words = 1, most = c->depth_block < WHOLE_MOST ? c->depth_block : WHOLE_MOST;
    if (!c->tile->dot || c->tile->parts || !planner->hints->extents)
        return 0;
    for (int i = 0; i < c->depth.count; i++) {
        int64_t extent = planner->hints->extents->of[c->depth.list[i]->origin->id];
        extent = i == c->depth.count - 1 ? (extent + c->group - 1) / c->group : extent;
        if (extent <= 0 || extent > most)
            return 0;
        words *= extent;
    }
    words = (words + c->tile->words - 1) / c->tile->words * c->tile->words;
    return words > c->tile->words && words <= most ? (int)words : 0;
}

/* Where tiles meet the columns, and whether they are widened there. */
static void set_columns(const Planner *planner, const Step *step, Contract *c)
{
    c->widened = c->sweep ? contract_widened(planner, step, c) : NULL;
    c->columns_stream = columns_stream(planner, c);
    c->columns_in_place = columns_in_place(planner, step, c);
    if (c->columns_in_place)
        return;
    c->widened = NULL;
    c->columns_stream = columns_stream(planner, c);
}

void contract_shape(const Planner *planner, const Step *step, Contract *c)
{
    set_tile(planner, step, c);
    c->streams = contract_streams(planner, c);
    c->rows_apart = rows_apart(planner, c);
    set_columns(planner, step, c);
    c->columns_copied = columns_copied(planner, c);
    c->columns_asked = columns_asked(planner, c);
    c->columns_unasked = c->columns_in_place && c->sweep && !c->columns_asked.count;
    c->asked_points = c->columns_asked.count && !c->columns_copied && !c->sweep ? asked_points(planner, c) : 0;
    c->asked_lines = asked_lines(planner, c);
    c->rows_stay = rows_stay(planner, c);
    c->met_words = met_words(planner, c);
    if (c->rows_stay)    /* all of them are one block */
        c->near = 0;
    c->rows_near = rows_near(planner, c);
    c->close_columns = close_columns(planner, c);
    c->whole = whole_words(planner, c);
}
