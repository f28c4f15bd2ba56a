/* The index along which a loop nest's lanes run: that with which it takes the fewest operations. */
#include <math.h>

#include "planning.h"

/* What a number of a scan waits for the one before, where no other chain is on its way; of fewer numbers there is one chain; what a number
 * of a square takes that is turned. */
enum { SCAN_WAIT = 4, CHAINED = 8 };
#define TURNED 0.25
enum { FOLD_TEAM = 16, REST = 8 };    /* what the states of a team cost to become one; and a vector that is not whole */

/* ---- what a nest costs with lanes along some index ---- */

typedef struct Costing {
    const Planner *planner;
    const Step *step;
    const Index *vector;          /* NULL: no lanes */
    int lanes;
    const Index *loops[128];      /* around the term at hand, outermost first */
    int loop_count;
    size_t widest;                /* dtype that the lanes carry */
    bool *seen;                   /* [term id]: what is shared costs once */
    double cost;
} Costing;

/* How often a term is evaluated: at each turn of the loops up to the innermost that it depends on. */
static double turns(const Costing *c, const Term *term, bool *in_lanes)
{
    double count = 1, all = 1;
    *in_lanes = false;
    bool vector_seen = false;
    for (int i = 0; i < c->loop_count; i++) {
        double extent = planner_extent(c->planner, c->loops[i]);
        bool vector = c->loops[i] == c->vector;
        all *= vector ? (extent + c->lanes - 1) / c->lanes : extent;
        vector_seen |= vector;
        if (term_has_index(term, c->loops[i])) {
            count = all;
            *in_lanes = vector_seen && term_has_index(term, c->vector);
        }
    }
    return count;
}

enum { NEAR = 4 };              /* so few elements apart they are picked out of as many whole vectors */

/* Of a vector from places that are found, which are taken out of one vector and put together in another; and whether they
 * are inside the array. */
#define FOUND 2.5
#define FOUND_LANE 0.6
#define FOUND_INSIDE 0.5

int64_t planner_add_stride(int64_t sum, int64_t coefficient, int64_t stride)
{
    int64_t further;
    return __builtin_mul_overflow(coefficient, stride, &further) || __builtin_add_overflow(sum, further, &sum) ? FAR : sum;
}

/* How many elements further a read is with the next of an index: 0, it does not depend on it; FAR, that is not known. */
static int64_t read_stride(const Planner *planner, const Term *read, const Index *index)
{
    int64_t all = 0;
    const Tensor *tensor = read->read.tensor;
    for (int a = 0; a < tensor->rank; a++)
        for (int k = 0; k < read->read.positions[a].count; k++) {
            const PositionPart *part = &read->read.positions[a].parts[k];
            int64_t stride = planner_stride(planner, tensor, a);
            if (part->gather && term_has_index(part->gather, index))
                return FAR;
            if (!part->gather && part->index == index)
                all = planner_add_stride(all, part->coefficient, stride == NO_STRIDE ? 1 : stride);
        }
    return all;
}

bool planner_reads_runs(const Planner *planner, const Term *read, const Index *index)
{
    return read_stride(planner, read, index) == 1;
}

static void cost_term(Costing *c, const Term *term);

static void cost_read(Costing *c, const Term *term, double count, bool in_lanes)
{
    double size = (double)dtype_size(register_dtype(term->dtype)) / 4;
    int64_t stride = in_lanes ? read_stride(c->planner, term, c->vector) : 0;
    double apart = stride == FAR ? FOUND + FOUND_LANE * c->lanes : 1.3 * c->lanes;
    if (stride > 1 && stride <= NEAR)
        apart = fmin(apart, 2 * size * (double)stride);
    else if (stride != 0 && stride != 1 && planner_crosses(c->planner, c->step, term, c->vector))
        apart = TURNED * c->lanes;
    c->cost += count * (stride == 0 ? 0.6 : stride == 1 ? size : apart);
    for (int a = 0; a < term->read.tensor->rank; a++)
        for (int k = 0; k < term->read.positions[a].count; k++) {
            const Term *gather = term->read.positions[a].parts[k].gather;
            if (!gather)
                continue;
            cost_term(c, gather);
            c->cost += count * FOUND_INSIDE;
            if (in_lanes && term_has_index(gather, c->vector) && sizeof(int64_t) > c->widest)
                c->widest = sizeof(int64_t);    /* places in memory */
        }
}

static bool has_loop(const Costing *c, const Index *index)
{
    for (int i = 0; i < c->loop_count; i++)
        if (c->loops[i] == index)
            return true;
    return false;
}

/* A reduction's argument, without a where that is a matter of the loops' bounds. */
static const Term *inside_bounds(const Costing *c, const Term *reduce)
{
    const Term *x = reduce->reduce.argument;
    bool bounds = c->vector && reduction_facts[reduce->reduce.reduction].leaves == LEAVES_NOTHING && x->kind == TERM_SELECT && state_skips(reduce, x->select.no) &&
                  condition_bounds(x->select.condition, (Index *const *)&c->vector, 1) &&
                  condition_only_bounds(x->select.condition, c->vector);
    return bounds ? x->select.yes : x;
}

/* Lanes are folded in halves, by a permutation and one more instruction each where a state is one number; before, a rest of a vector
 * is taken apart from the others. */
static double fold_cost(const Costing *c, const Term *term)
{
    if (c->planner->plan->target->grid)
        return FOLD_TEAM;
    bool rest = fmod(planner_extent(c->planner, c->vector), c->lanes) > 0;
    return state_is_simple(term) ? 2 + 2 * log2(c->lanes) + (rest ? REST : 0) : 2 * c->lanes;
}

/* A vector is scanned in steps of twice as many lanes each, a permutation and one more instruction, and takes the last number before it. */
static double scan_cost(const Costing *c)
{
    return 2 + 2 * log2(c->lanes);
}

/* Whether a loop without lanes ends before several chains of it would have begun. */
static bool is_short(const Costing *c, const Term *reduce)
{
    int last = reduce->reduce.over_count - 1;
    return !c->vector && last >= 0 && planner_extent(c->planner, reduce->reduce.over[last]) < CHAINED;
}

static void cost_reduce(Costing *c, const Term *term)
{
    bool in_lanes;
    double outside = turns(c, term, &in_lanes);
    int loops = c->loop_count;
    for (int i = 0; i < term->reduce.over_count && c->loop_count < 128; i++)
        if (term->reduce.over[i] != c->vector && !has_loop(c, term->reduce.over[i]))
            c->loops[c->loop_count++] = term->reduce.over[i];
    bool across = indices_have(term->reduce.over, term->reduce.over_count, c->vector);
    Component components[STATE_COMPONENTS_MAX];
    for (int i = 0, n = state_components(term, components); i < n && (across || in_lanes); i++)
        if (dtype_size(dtype_real(components[i].dtype)) > c->widest)
            c->widest = dtype_size(dtype_real(components[i].dtype));
    if (across && c->loop_count < 128 && !has_loop(c, c->vector))
        c->loops[c->loop_count++] = c->vector;
    cost_term(c, inside_bounds(c, term));
    bool scans = term->kind == TERM_REDUCE && reduction_facts[term->reduce.reduction].leaves == LEAVES_ALL;
    double elements = turns(c, term->reduce.argument, &in_lanes);
    c->cost += !in_lanes && (scans || is_short(c, term)) ? elements * SCAN_WAIT : elements;
    if (across)
        c->cost += outside * (scans ? scan_cost(c) : fold_cost(c, term));
    c->loop_count = loops;
}

static const Term *without_casts(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->dtype == DTYPE_I64)
        term = term->map.arguments[0];
    return term;
}

bool lanes_is_small(const Term *term, const Index *vector)
{
    term = without_casts(term);
    if (term->kind == TERM_POSITION)
        return term->position != vector;
    if (term->kind == TERM_CONSTANT)
        return term->constant.is_integer && term->constant.integer < INT32_MAX && term->constant.integer > INT32_MIN;
    return term->kind == TERM_MAP && (term->map.function == FUNCTION_ADD || term->map.function == FUNCTION_SUB) && term->map.count == 2 &&
           lanes_is_small(term->map.arguments[0], vector) && lanes_is_small(term->map.arguments[1], vector);
}

/* Whether it is one more in each lane than in the one before. */
static bool is_line(const Term *term, const Index *vector)
{
    term = without_casts(term);
    if (term->kind == TERM_POSITION)
        return term->position == vector;
    Term *const *a = term->kind == TERM_MAP && term->dtype == DTYPE_I64 && term->map.count == 2 ? term->map.arguments : NULL;
    bool adds = a && term->map.function == FUNCTION_ADD;
    return (adds && is_line(a[1], vector) && lanes_is_small(a[0], vector)) ||
           ((adds || (a && term->map.function == FUNCTION_SUB)) && is_line(a[0], vector) && lanes_is_small(a[1], vector));
}

/* The number, the same in all lanes, that a position along them is compared with: that takes no vector of positions; else NULL. */
static const Term *compared_with_line(const Costing *c, const Term *term)
{
    if (!c->vector || term->kind != TERM_MAP || term->map.function < FUNCTION_LT || term->map.function > FUNCTION_NE)
        return NULL;
    for (int s = 0; s < 2; s++)
        if (!term_has_index(term->map.arguments[1 - s], c->vector) && is_line(term->map.arguments[s], c->vector))
            return term->map.arguments[1 - s];
    return NULL;
}

static void cost_term(Costing *c, const Term *term)
{
    bool in_lanes;
    if (c->seen[term->id])
        return;
    c->seen[term->id] = true;
    double count = turns(c, term, &in_lanes);
    bool ranks = term->kind == TERM_REDUCE && term->reduce.ranks;    /* the best come one by one */
    size_t size = dtype_size(dtype_real(register_dtype(term->dtype)));    /* complex numbers are two vectors */
    if (in_lanes && !ranks && size > c->widest && term->kind != TERM_CONSTANT)
        c->widest = size;
    switch (term->kind) {
    case TERM_READ: cost_read(c, term, count, in_lanes); break;
    case TERM_MAP:
        c->cost += count * (function_facts[term->map.function].ulp > 0.5 ? 12 : 1);
        if (compared_with_line(c, term)) {
            cost_term(c, compared_with_line(c, term));
            break;
        }
        for (int i = 0; i < term->map.count; i++)
            cost_term(c, term->map.arguments[i]);
        break;
    case TERM_SELECT:
        c->cost += count;
        cost_term(c, term->select.condition);
        cost_term(c, term->select.yes);
        cost_term(c, term->select.no);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: cost_reduce(c, term); break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

/* The cost of the whole step with lanes along `vector`; *widest is the widest dtype that the lanes carry. */
static double cost_step(const Planner *planner, const Step *step, const Index *vector, int lanes, size_t *widest)
{
    Costing c = { .planner = planner, .step = step, .vector = vector, .lanes = vector ? lanes : 1 };
    c.seen = ARENA_ARRAY(planner->arena, bool, planner->plan->lowered->term_count);
    for (int i = 0; i < step->loop_count; i++)
        if (step->loops[i] != vector)
            c.loops[c.loop_count++] = step->loops[i];
    if (vector && indices_have(step->loops, step->loop_count, vector))
        c.loops[c.loop_count++] = vector;
    for (int o = 0; o < step->statement->output_count; o++) {
        const Output *output = &step->statement->outputs[o];
        bool bounded = vector && planner_is_bounded(planner, step, (Index *)vector) && condition_only_bounds(output->value->select.condition, vector);
        cost_term(&c, bounded ? output->value->select.yes : output->value);
        for (int a = 0; a < output->tensor->rank; a++)
            if (vector && output->tensor->axes[a] == vector) {
                bool in_lanes;
                int64_t stride = planner_stride(planner, output->tensor, a);
                c.cost += turns(&c, output->value, &in_lanes) * (stride == 1 || stride == NO_STRIDE ? 1 : 1.3 * lanes);
            }
    }
    *widest = c.widest;
    return c.cost;
}

/* ---- which indices may carry the lanes ---- */

enum { CANDIDATES = 32 };         /* of more indices, no step has its lanes */

typedef struct Candidates {
    const Index *indices[CANDIDATES];
    int count;
    bool whole;                   /* something is made of complex numbers that has no lanes */
} Candidates;

static void add_candidate(Candidates *c, const Index *index)
{
    for (int i = 0; i < c->count; i++)
        if (c->indices[i] == index)
            return;
    if (c->count < CANDIDATES)
        c->indices[c->count++] = index;
}

static void find_candidates(void *user, const Term *term)
{
    Candidates *c = user;
    c->whole |= term_is_whole(term);
    /* A scan's loop carries its state. */
    if (term->kind == TERM_CONTRACT || (term->kind == TERM_REDUCE && reduction_facts[term->reduce.reduction].leaves != LEAVES_ALL))
        for (int i = 0; i < term->reduce.over_count; i++)
            add_candidate(c, term->reduce.over[i]);
}

/* Whether each lane adds to an element of its own: the index is in one position of the target, alone or, for lanes that add at the same
 * time, in a sum of indices. */
static bool adds_apart(const Output *output, const Index *index, bool together)
{
    int positions = 0;
    for (int a = 0; a < output->tensor->rank; a++) {
        const Position *position = &output->positions[a];
        bool may = output->tensor->axes[a] == index || (together && !position_has_gather(position));
        for (int k = 0; k < position->count; k++) {
            const PositionPart *part = &position->parts[k];
            if (part->gather ? term_has_index(part->gather, index) : part->index == index && !may)
                return false;
            positions += part->index == index;
        }
    }
    return positions == 1;
}

/* Whether a vector's elements can be scanned at once, in a few steps: along the index that runs fastest. */
static bool scans_in_lanes(const Term *scan, const Index *index)
{
    Component components[STATE_COMPONENTS_MAX];
    return scan->reduce.over[scan->reduce.over_count - 1] == index && state_components(scan, components) == 1 &&
           components[0].dtype != DTYPE_BOOL;
}

/* How many lanes carry numbers of so many bytes; threads carry any. */
static int lanes_of(const Planner *planner, size_t widest)
{
    const Target *target = planner->plan->target;
    return target->grid ? target->grid->lanes : target->vector_bytes / (int)(widest > 4 ? widest : 4);
}

static bool may_carry_lanes(const Planner *planner, const Step *step, const Index *index)
{
    const Term *value = step->statement->outputs[0].value;
    bool threads = planner->plan->target->grid != NULL;
    if (step->kind == STEP_RANK)
        return threads || ranking_turns(step->statement);
    /* Of a sum's indices some are short, as those of a window. */
    bool is_long = !threads && planner->hints->extents && planner->hints->extents->of[index->origin->id] >= lanes_of(planner, sizeof(float));
    if (step->scatters && !adds_apart(&step->statement->outputs[0], index, is_long))
        return false;
    return step->kind != STEP_SCAN || !indices_have(value->reduce.over, value->reduce.over_count, index) ||
           (!threads && scans_in_lanes(value, index));
}

/* Steps that hand each other temporaries run for a block of what they all keep, which has some points of its last index, and of those
 * before it one, or of one of them a tile's rows. */
bool step_has_one_point(const Launch *launch, int place, const Index *index)
{
    for (int b = 0; launch && b + 1 < launch->block_count; b++)
        if (launch->blocks[b].of_step[place] == index)
            return true;
    return false;
}

void step_choose_vector(const Planner *as_it_is, Step *step, const Launch *launch, int place)
{
    /* What is reduced altogether is one loop where its arrays allow that. */
    PlanHints hints = *as_it_is->hints;
    Planner coalesced = *as_it_is;
    coalesced.hints = &hints;
    hints.extents = step->loop_count == 0 && hints.coalesced ? hints.coalesced : hints.extents;
    const Planner *planner = &coalesced;
    bool threads = planner->plan->target->grid != NULL;
    Candidates c = { .count = 0 };
    for (int i = 0; i < step->loop_count; i++)
        if (may_carry_lanes(planner, step, step->loops[i]) && !step_has_one_point(launch, place, step->loops[i]))
            add_candidate(&c, step->loops[i]);
    if (threads && step->kind == STEP_RANK && (step->vector = rank_shared(planner, step)))
        return;
    /* Else a ranking's list is one thread's. */
    for (int o = 0; o < step->statement->output_count && !(threads && step->kind == STEP_RANK); o++)
        term_each_below(planner->arena, step->statement->outputs[o].value, find_candidates, &c);
    if (c.whole && !threads)
        return;
    size_t widest;
    double best = cost_step(planner, step, NULL, 1, &widest);
    for (int i = 0; i < c.count; i++) {
        cost_step(planner, step, c.indices[i], lanes_of(planner, 4), &widest);
        int lanes = lanes_of(planner, widest);
        double cost = cost_step(planner, step, c.indices[i], lanes, &widest);
        if (lanes > 1 && cost < best) {
            best = cost;
            step->vector = (Index *)c.indices[i];
        }
    }
    if (step->kind == STEP_RANK && !step->vector && !threads)
        step->vector = step->statement->outputs[0].value->reduce.over[0];    /* comparisons have lanes, however a row is read */
    step->vector_kept = step->vector && indices_have(step->loops, step->loop_count, step->vector);
}

int step_lanes(const Planner *planner, const Step *step)
{
    size_t widest = 4;
    cost_step(planner, step, step->vector, lanes_of(planner, widest), &widest);
    return lanes_of(planner, widest);
}


double step_work(const Planner *planner, const Step *step)
{
    size_t widest;
    double work = cost_step(planner, step, step->vector, planner->plan->lanes, &widest);
    for (int i = 0; i < step->loop_count; i++) {
        double extent = planner_extent(planner, step->loops[i]);
        if (step->loops[i] == step->vector)
            extent = (extent + planner->plan->lanes - 1) / planner->plan->lanes;
        work /= extent > 1 ? extent : 1;
    }
    return work;
}
