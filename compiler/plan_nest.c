/* Whether a product is made in loops or in tiles: what either is expected to take of a core. Tiles find their rows and columns anew in each
 * unit of work, and pack what does not lie as they read it; loops fetch it again for each few points that go together. The figures are those
 * of a Zen 5, which makes a multiply-add of a vector in half a cycle: docs/measurements.md says how far off they are there. */
#include <math.h>

#include "planning.h"

/* Halves of a cycle, or multiply-adds of a vector where products stand beside it. */
enum {
    LOOPS_UNIT = 60, TILES_UNIT = 250,       /* a point of the batch: to find its rows and columns */
    SUMS_TURN = 24, TILE_TURN = 10,          /* sums in registers: to begin with them, and to leave them */
    TILE_STORE = 2, PAIR_STORE = 3,          /* a tile's sum: to be stored; and to add up both of its points before */
    LANE_LOADED = 6, LANE_STORED = 4,        /* a lane that is loaded or stored apart from its neighbours */
    FOLD_REST = 8,                           /* a sum of lanes whose last vector is not whole */
    WIDEN = 1, DOT = 2,                      /* a vector of narrow numbers: to become wide ones, or words for an instruction that adds some up, */
    SLOW_PAIR = 3,                           /* which may take that long; fitted, by itself it is 4 */
    NEAR_LINE = 4, FAR_LINE = 13,            /* a line's way from the second cache, and from memory, */
    LONG_LINE = 7,                           /* and from that cache as part of a long row, where memory comes page by page */
    ROW_PACKED = 6,                          /* a line that is packed, of rows; */
    LINE_PACKED = 9, LINE_PACKED_APART = 13, /* of columns; where each is in a page of its own; */
    PANEL_LINE = 16,                         /* and of a panel that goes behind the second cache and comes back */
    REST_PACKED = 40                         /* a point of columns that are packed and are no whole vector */
};
#define HALVES_OF(target) (2 / (target)->fma_per_cycle)    /* a multiply-add takes */
#define LINE_WAITS 0.5           /* how long products wait for a line that is on its way, */
#define APART_WAITS 1.0          /* of a row of which others come later, */
#define PAGE_WAITS 1.6           /* and that is in a page of its own, */
#define ROW_WAITS 2.5            /* of a row that a tile reads in place, */
#define IN_PLACE_WAITS 6.5       /* and of its columns */
#define FOLD 0.022               /* to add up a vector's lanes: for each of them, and each of the others */
#define SHORT_PACKED 4           /* in vectors that are short, also in place, */
#define ROW_SPREAD 3             /* and of rows each number of which fills one; */
#define ODD_PAIRS 1.5            /* products of two points at once, if a vector has but half of both; */
#define OUT 4                    /* a line that comes out of memory's order; */
#define STRIP_OUT 2              /* and one of rows that are read in strips, in the same page */
#define BESIDE 0.3               /* how much of what takes less is not done beside what takes more, */
#define SMALL_BESIDE 0.6         /* and of small products in loops */

/* Bytes: of a row that are read together, of which fewer come alone; of rows that are read together, of which more leave memory's
 * order; that a cache behind the second one mostly has for a core. And so many rows at once come as fast as memory can, or where it is fast page by page. */
enum { STRIP = 384, IN_ORDER = 2048, CACHED = 16 << 20, PAGE = 4096, SHORT_VECTOR = 32, ROWS_AT_ONCE = 5, PAGES_AT_ONCE = 4 };

/* A product both of whose sides are read as they lie. */
typedef struct Plain {
    const Planner *planner;
    const Product *product;
    const Term *reads[2];
    double batch, own[2], depth;             /* points */
    double bytes[2], result, all;            /* of a side and of the result for a point of the batch; of everything */
} Plain;

static bool find_plain(const Planner *planner, const Product *product, const Tensor *result, Plain *p)
{
    const IndexSet over = { product->reduce->reduce.over, product->reduce->reduce.over_count };
    *p = (Plain){ planner, product, .batch = planner_points(planner, &product->batch), .depth = planner_points(planner, &over) };
    for (int s = 0; s < 2; s++) {
        p->reads[s] = plain_read(product->side[s]);
        if (!p->reads[s])
            return false;
        p->own[s] = planner_points(planner, &product->own[s]);
        p->bytes[s] = p->own[s] * p->depth * (double)dtype_size(p->reads[s]->dtype);
    }
    p->result = p->own[0] * p->own[1] * (double)dtype_size(result->dtype);
    p->all = p->batch * (p->bytes[0] + p->bytes[1] + p->result);
    return true;
}

/* Products and the way from memory, which goes on beside them: the less, the smaller they are. `small`: how much of what takes less does
 * not, of small ones. */
static double with_memory(const Plain *p, double halves, double far, double small)
{
    double left = p->bytes[0] + p->bytes[1] > p->planner->plan->target->l2_bytes ? BESIDE : small;
    return p->all <= CACHED ? halves : fmax(halves, far) + left * fmin(halves, far);
}

/* Bytes from a side's numbers to those of the next point of an index. */
static double bytes_apart(const Plain *p, int side, const Index *index)
{
    return fabs((double)side_stride(p->planner, p->product->side[side], index)) * (double)dtype_size(p->reads[side]->dtype);
}

/* ---- loops ---- */

/* How often so many points of an index go together, and how often one alone; of the lanes' index they are vectors, the last in part. */
typedef struct Groups {
    double count[2];
    int points[2];
    double all;
} Groups;

static Groups groups_of(const Planner *planner, const Step *step, const Index *index, int together)
{
    double points = index ? planner_extent(planner, index) : 1, lanes = planner->plan->lanes, rest = 0;
    if (index && index == step->vector) {
        rest = fmod(points, lanes) > 0;
        points = floor(points / lanes);
    }
    double whole = floor(points / together);
    rest += points - whole * together;
    return (Groups){ { whole, rest }, { together, 1 }, whole + rest };
}

static Groups groups_along(const Planner *planner, const Step *step, const Index *index)
{
    return groups_of(planner, step, index, index == step->jammed ? step->jam : index == step->met ? step->meets : 1);
}

/* How many points of what goes together a side has numbers of its own for. */
static double times_read(const Step *step, const Term *side, int jam, int meets)
{
    return (step->jammed && term_has_index(side, step->jammed) ? jam : 1) * (step->met && term_has_index(side, step->met) ? meets : 1);
}

/* What a vector of a side takes to load, or a number to fill one. */
static double load_units(const Planner *planner, const Step *step, const Term *side)
{
    bool apart = term_has_index(side, step->vector) && side_stride(planner, side, step->vector) != 1;
    return apart ? LANE_LOADED * planner->plan->lanes : 1;
}

/* What it takes more where a vector's narrow numbers become wide ones before they are multiplied, or words of as many as an instruction adds
 * up. */
static double widen_units(const Step *step, const Term *read)
{
    return step->dots ? DOT : dtype_size(read->dtype) < dtype_size(register_dtype(read->dtype)) ? WIDEN : 0;
}

/* Whether the lanes' sums lie side by side in the result. */
static bool stores_along(const Planner *planner, const Step *step)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    for (int a = 0; a < tensor->rank; a++)
        if (tensor->axes[a] == step->vector) {
            int64_t stride = planner_stride(planner, tensor, a);
            return stride == 1 || stride == NO_STRIDE;
        }
    return true;
}

/* What a sum takes behind its products. */
static double leave_units(const Planner *planner, const Step *step)
{
    const double lanes = planner->plan->lanes;
    if (step->vector_kept)
        return stores_along(planner, step) ? 1 : LANE_STORED * lanes;
    return FOLD * lanes * lanes + (fmod(planner_extent(planner, step->vector), lanes) > 0 ? FOLD_REST : 0);
}

/* What a vector's products take that are added up, or those of several numbers where an instruction adds these up. */
static double product_units(const Plain *p, const Step *step)
{
    return step->dots && p->planner->plan->target->slow_pairs && p->reads[0]->dtype == DTYPE_BF16 ? SLOW_PAIR : 1;
}

/* Products alone, with what loads them and where their sums go. */
static double loops_units(const Plain *p, const Step *step)
{
    const Planner *planner = p->planner;
    const Groups jam = groups_of(planner, step, step->jammed, step->jam), met = groups_of(planner, step, step->met, step->meets);
    double turns = p->depth, outer = 1, units = 0, leave = leave_units(planner, step), product = product_units(p, step);
    if (!step->vector_kept) {
        double extent = fmax(planner_extent(planner, step->vector), 1);
        turns *= ceil(extent / (planner->plan->lanes * (step->dots ? step->dots : 1))) / extent;
    }
    for (int i = 0; i < step->loop_count; i++)
        if (step->loops[i] != step->jammed && step->loops[i] != step->met)
            outer *= groups_of(planner, step, step->loops[i], 1).all;
    for (int j = 0; j < 2; j++)
        for (int m = 0; m < 2; m++) {
            double sums = jam.points[j] * met.points[m], loads = 0, widened = 0;
            for (int s = 0; s < 2; s++) {
                double times = times_read(step, p->product->side[s], jam.points[j], met.points[m]);
                loads += times * load_units(planner, step, p->product->side[s]);
                widened += times * widen_units(step, p->reads[s]);
            }
            units += jam.count[j] * met.count[m] * (turns * (fmax(fmax(sums * product, SUMS_BUSY), loads) + widened) + SUMS_TURN + sums * leave);
        }
    return units * outer + p->batch * LOOPS_UNIT;
}

/* How often a side comes: of loops that it lacks, once for each group of points before the last loop that it has; and again for each
 * group after that one. */
static double passes_over(const Plain *p, const Step *step, const Term *side, double *again)
{
    double passes = 1, since = 1;
    for (int i = 0; i < step->loop_count; i++) {
        bool has = term_has_index(side, step->loops[i]);
        passes *= has ? since : 1;
        since = has ? 1 : since * groups_along(p->planner, step, step->loops[i]).all;
    }
    *again = since;
    return passes;
}

/* Whether a side's points lie side by side for each contracted one. */
static bool lies_along_own(const Plain *p, int side)
{
    const IndexSet *own = &p->product->own[side];
    for (int i = 0; i < own->count; i++)
        if (lies_along(p->planner, p->product->side[side], own->list[i]))
            return true;
    return false;
}

/* Bytes of lines of a side in which points that go together have numbers: in rows of its own, or in a run of each contracted point. */
static double bytes_together(const Plain *p, const Step *step, int side)
{
    const Term *term = p->product->side[side];
    double together = times_read(step, term, step->jam, step->meets), row = p->bytes[side] / p->own[side];
    if (step->vector_kept && term_has_index(term, step->vector))
        together *= p->planner->plan->lanes;
    return !lies_along_own(p, side) ? together * row
           : p->depth * fmin(fmax(together * row / p->depth, CONTRACT_LINE), p->own[side] * row / p->depth);
}

/* How much longer a side's lines take to come from memory than in its order: of rows a few bytes of which are read before the next one's,
 * and of rows that come several at once. */
static double lateness(const Plain *p, const Step *step, int side)
{
    const Term *term = p->product->side[side], *reduce = step->roots[0];
    double row = p->bytes[side] / p->own[side];
    if (step->vector_kept && term_has_index(term, step->vector)) {
        double apart = bytes_apart(p, side, reduce->reduce.over[reduce->reduce.over_count - 1]);
        double strip = fmax((step->jammed == step->vector ? step->jam : 1) * (double)p->planner->plan->target->vector_bytes, CONTRACT_LINE);
        double late = fmax(STRIP / strip, 1);
        return strip >= apart ? 1 : apart >= PAGE ? late : fmin(late, STRIP_OUT);
    }
    double together = times_read(step, term, step->jam, step->meets);
    if (together > 1 && row < PAGE && together * row > IN_ORDER)
        return OUT;
    double at_once = p->planner->plan->target->by_pages ? PAGES_AT_ONCE : ROWS_AT_ONCE;
    return step->jammed && term_has_index(term, step->jammed) ? fmax(1, at_once / step->jam) : 1;
}

/* How many groups a side's own points are. */
static double groups_over(const Plain *p, const Step *step, const Term *side)
{
    double groups = 1;
    for (int i = 0; i < step->loop_count; i++)
        if (term_has_index(side, step->loops[i]) && !indices_have(p->product->batch.list, p->product->batch.count, step->loops[i]))
            groups *= groups_along(p->planner, step, step->loops[i]).all;
    return groups;
}

/* The sides' lines as they come to a nest of loops. */
typedef struct Lines {
    double near;                  /* what their way from the second cache takes: halves of a cycle; */
    double far;                   /* those from memory, */
    double late;                  /* which takes so many more lines' time where they leave its order; */
    double waits;                 /* and how long products wait for near ones: halves of a cycle */
} Lines;

static void add_lines(const Plain *p, const Step *step, int side, Lines *all)
{
    const Target *target = p->planner->plan->target;
    const Term *term = p->product->side[side], *reduce = step->roots[0];
    const double lines = p->batch * p->bytes[side] / CONTRACT_LINE, together = bytes_together(p, step, side), longer = lateness(p, step, side);
    const double apart = bytes_apart(p, side, reduce->reduce.over[reduce->reduce.over_count - 1]);
    double again, passes = passes_over(p, step, term, &again), far = lines * (p->bytes[side] > target->l2_bytes ? passes : 1);
    all->far += far;
    all->late += far * (longer - 1);
    if (p->bytes[0] + p->bytes[1] <= target->l1_bytes)
        return;
    double shared = fmax(1, together * groups_over(p, step, term) / p->bytes[side]);    /* groups have parts of the same lines */
    bool stays = p->bytes[side] <= target->l1_bytes / 2, runs = together / p->depth < apart && lies_along_own(p, side);
    double near = stays ? lines : lines * shared * passes * (together > target->l1_bytes ? again : 1);
    bool is_long = target->by_pages && passes > 1 && p->bytes[side] / p->own[side] > IN_ORDER;
    all->near += near * (!runs && is_long ? LONG_LINE : NEAR_LINE);
    all->waits += near * (!runs ? LINE_WAITS : apart >= PAGE ? PAGE_WAITS * longer : APART_WAITS);
}

static double loops_cycles(const Planner *planner, const Step *step, const Product *product)
{
    Plain p;
    Lines lines = { 0, 0, 0, 0 };
    if (!step->vector || !find_plain(planner, product, step->statement->outputs[0].tensor, &p))
        return INFINITY;
    for (int s = 0; s < 2; s++)
        add_lines(&p, step, s, &lines);
    double results = p.batch * p.result / CONTRACT_LINE, far = lines.far + results * (p.batch * p.result > RESULT_PAST ? 2 : 1);    /* read before */
    double halves = fmax(loops_units(&p, step) * HALVES_OF(planner->plan->target), lines.near);
    return (with_memory(&p, halves, far * FAR_LINE, SMALL_BESIDE) + (p.all > CACHED ? lines.late * FAR_LINE : 0) + lines.waits) / 2;
}

/* ---- tiles ---- */

static double tiles_units(const Plain *p, const Contract *c)
{
    double rows = planner_points(p->planner, &c->kept_rows) * planner_points(p->planner, &c->rows), lanes = p->planner->plan->lanes;
    double rate = c->group > 1 ? fmax(p->planner->plan->target->rates[c->left->dtype] / c->group, 1) : 1;
    double words = ceil(p->depth / c->group) / rate, points = c->pairs ? 2 : 1;
    double vectors = ceil(planner_points(p->planner, &c->columns) * points / lanes), across = ceil(vectors / (c->pairs ? c->pairs : c->tile_vectors));
    double down = ceil(rows / c->tile_rows), sums = rows / fmax(down, 1) * vectors / fmax(across, 1);
    return down * across * (words / points * fmax(sums, SUMS_BUSY) * (c->pairs % 2 ? ODD_PAIRS : 1) + TILE_TURN +
                            sums * (c->pairs ? PAIR_STORE : TILE_STORE));
}

static double tiles_cycles(const Planner *planner, const Step *step, const Product *product)
{
    const Target *target = planner->plan->target;
    Contract shaped = *step->contract, *c = &shaped;
    Plain p;
    if (!find_plain(planner, product, step->statement->outputs[0].tensor, &p))
        return INFINITY;
    c->usual = true;    /* small products in tiles that are as wide as their columns take longer than this would expect */
    contract_shape(planner, step, c);
    const int right = plain_read(c->right) == p.reads[1];
    const double size = (double)dtype_size(state_dtype(c->product));
    const double longer = target->vector_bytes < SHORT_VECTOR ? SHORT_PACKED : 1;
    const double panels = p.own[right] * p.depth * size / c->group;
    double lines[2], apart = 0, halves = tiles_units(&p, c) * HALVES_OF(target) + TILES_UNIT;
    for (int s = 0; s < 2; s++) {
        bool widened = c->group == 1 && dtype_size(p.reads[s]->dtype) < size;
        bool words = s != right && lies_along(planner, product->side[s], c->depth.list[c->depth.count - 1]);    /* copied a group at a time */
        lines[s] = p.own[s] * p.depth * size / CONTRACT_LINE * longer;
        lines[s] *= (!widened ? 1 : s == right ? COLUMN_WIDENED : ROW_WIDENED) / (words ? c->group : 1.0);
    }
    if (c->depth.count == 1 && lies_along(planner, c->right, c->columns.list[c->columns.count - 1]))
        apart = bytes_apart(&p, right, c->depth.list[0]);
    double packed = (apart >= PAGE ? LINE_PACKED_APART : LINE_PACKED) + (panels > target->l2_bytes && !c->sweep ? PANEL_LINE : 0);
    double rest = fmod(p.own[right], planner->plan->lanes) > 0 ? p.depth * REST_PACKED : 0;
    halves += c->columns_in_place ? p.bytes[right] / CONTRACT_LINE * IN_PLACE_WAITS * longer : lines[right] * packed + rest;
    if (c->in_place && !c->rows_along)
        halves += p.bytes[!right] / CONTRACT_LINE * ROW_WAITS;
    else
        halves += lines[!right] * ROW_PACKED * (c->rows_spread ? ROW_SPREAD : 1);
    bool asks = c->columns_stream && p.own[right] <= c->tile_vectors * planner->plan->lanes && fmod(p.own[right], planner->plan->lanes) == 0;
    return with_memory(&p, p.batch * halves, p.all / CONTRACT_LINE * FAR_LINE, asks ? BESIDE : 1) / 2;
}

/* ---- the choice ---- */

static bool are_known(const Planner *planner, Index *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (planner->hints->extents->of[list[i]->origin->id] < 0)
            return false;
    return true;
}

bool plan_has_choice(const Planner *planner, const Product *product)
{
    const Term *reduce = product->reduce;
    return planner->plan->target->sums && planner->hints->nests == NESTS_BY_COST && planner->hints->extents && !product->places &&
           plain_read(product->side[0]) && plain_read(product->side[1]) && are_known(planner, reduce->reduce.over, reduce->reduce.over_count) &&
           are_known(planner, product->own[0].list, product->own[0].count) && are_known(planner, product->own[1].list, product->own[1].count);
}

/* The step as loops make it: its lanes, and which points go together, are those of a launch of its own. */
static Step as_loops(Planner *planner, const Step *step)
{
    Step loops = *step;
    loops.contract = NULL;
    loops.loops = ARENA_ARRAY(planner->arena, Index *, step->loop_count);
    for (int i = 0; i < step->loop_count; i++)
        loops.loops[i] = step->loops[i];
    step_choose_vector(planner, &loops, NULL, 0);
    if (loops.vector_kept)
        step_move_last(&loops, loops.vector);
    planner->plan->lanes = step_lanes(planner, &loops);
    plan_dot(planner, &loops);
    loops.jam = loops.meets = 1;
    plan_points(planner, &loops);
    return loops;
}

bool plan_prefers_loops(Planner *planner, Step *step)
{
    Product product;
    const Statement *statement = step->statement;
    if (statement->sweep && program_scattered_read(planner->plan->lowered, statement->outputs[0].tensor))
        return false;    /* units have few columns, which meet many rows: loops would have few sums at a time */
    if (step->contract->reduces || !product_match(planner->arena, step->contract->product, &product) || !plan_has_choice(planner, &product))
        return false;
    Plan plan = *planner->plan;    /* of this step alone, whose lanes may be more */
    Planner alone = *planner;
    alone.plan = &plan;
    Step loops = as_loops(&alone, step);
    step->expected[0] = loops_cycles(&alone, &loops, &product);
    plan.lanes = planner->plan->target->vector_bytes / (int)dtype_size(state_dtype(step->contract->product));
    step->expected[1] = tiles_cycles(&alone, step, &product);
    return step->expected[0] < step->expected[1];
}
