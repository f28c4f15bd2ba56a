/* One statement becomes a nest: the order of its kept loops, and what follows from the index along which the lanes run. */
#include <math.h>
#include <string.h>

#include "planning.h"

double planner_extent(const Planner *planner, const Index *index)
{
    int64_t extent = planner->hints->extents ? planner->hints->extents->of[index->origin->id] : -1;
    const Statement *statement = planner->plan->lowered->statements[index->statement];
    double known = extent < 0 ? EXTENT_GUESS : (double)extent;
    return statement->swept == index ? fmin(known, (double)statement->sweep->points) : known;
}

int step_inner_axis(const Step *maker, const Tensor *tensor)
{
    for (int a = 0; a < tensor->rank && maker->vector_kept; a++)
        if (tensor->axes[a] == maker->vector)
            return a;
    return tensor->rank - 1;
}

int64_t planner_stride(const Planner *planner, const Tensor *tensor, int axis)
{
    if (tensor->whole)
        return axis < tensor->whole->rank ? 2 * planner_stride(planner, tensor->whole, axis) : 1;
    const Tensor *origin = tensor->home->origin;
    const Plan *plan = planner->plan;
    /* A temporary lies as the step that makes it has its lanes, once that is known. */
    for (int s = 0; s < plan->step_count && !origin; s++)
        if (plan->steps[s]->statement == tensor->maker)
            return axis == step_inner_axis(plan->steps[s], tensor) ? 1 : 1000;
    if (!origin)
        return NO_STRIDE;
    const int64_t *strides = planner->hints->strides ? planner->hints->strides[origin->id] : NULL;
    if (strides)
        return strides[axis];
    int64_t stride = 1;           /* C order; what is not known is far */
    for (int a = axis + 1; a < tensor->rank; a++) {
        int64_t size = planner->hints->extents ? planner->hints->extents->shape[origin->id][a] : -1;
        stride *= size >= 0 && size < FAR ? size : 1000;
        stride = stride > FAR ? FAR : stride;
    }
    return stride;
}

/* ---- loops ---- */

/* Whether a `+=` may meet an element twice, or leave one out: at computed positions, and on diagonals. */
static bool scatters(const Statement *statement)
{
    const Output *output = &statement->outputs[0];
    for (int a = 0; a < output->tensor->rank; a++)
        for (int b = 0; b <= a && statement->accumulate; b++)
            if (!output->tensor->axes[a] || (a != b && output->tensor->axes[a] == output->tensor->axes[b]))
                return true;
    return false;
}

static StepKind kind_of(const Statement *statement)
{
    const Term *value = statement->outputs[0].value;
    if (value->kind == TERM_REDUCE && reduction_facts[value->reduce.reduction].leaves == LEAVES_ALL)
        return STEP_SCAN;
    if (value->kind == TERM_REDUCE && reduction_facts[value->reduce.reduction].leaves == LEAVES_RANKS)
        return STEP_RANK;
    return scatters(statement) ? STEP_ADD : STEP_STORE;
}

static void add_loop(Planner *planner, Step *step, Index *index)
{
    if (!indices_have(step->loops, step->loop_count, index))
        ARENA_APPEND(planner->arena, step->loops, step->loop_count, index);
}

/* The kept indices, in the order of the output's axes; of a ranking without the index of the ranks. */
static void list_loops(Planner *planner, Step *step)
{
    const Output *output = &step->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++) {
            const PositionPart *part = &output->positions[a].parts[k];
            if (part->index && !(step->kind == STEP_RANK && part->index == output->value->reduce.ranks))
                add_loop(planner, step, part->index);
            for (int i = 0; part->gather && i < part->gather->rank; i++)
                if (!(step->kind == STEP_RANK && part->gather->indices[i] == output->value->reduce.ranks))
                    add_loop(planner, step, part->gather->indices[i]);
        }
    for (int i = 0; i < output->value->rank; i++)
        if (!(step->kind == STEP_RANK && output->value->indices[i] == output->value->reduce.ranks))
            add_loop(planner, step, output->value->indices[i]);
}

void step_move_last(Step *step, const Index *index)
{
    int at = 0;
    while (at < step->loop_count && step->loops[at] != index)
        at++;
    if (at == step->loop_count)
        return;
    Index *moved = step->loops[at];
    memmove(&step->loops[at], &step->loops[at + 1], (size_t)(step->loop_count - at - 1) * sizeof moved);
    step->loops[step->loop_count - 1] = moved;
}

/* ---- units ---- */

static void add_unit(Planner *planner, UnitSet *units, const Tensor *tensor, int axis)
{
    if (!tensor->home->origin || planner_stride(planner, tensor, axis) != 1)
        return;
    for (int i = 0; i < units->count; i++)
        if (units->list[i].tensor == tensor->home && units->list[i].axis == axis)
            return;
    Unit unit = { tensor->home, axis };
    ARENA_APPEND(planner->arena, units->list, units->count, unit);
}

/* Of what a step reads along an index. */
static void find_units_read(Planner *planner, const Step *step, const Index *along, UnitSet *units)
{
    const Program *lowered = planner->plan->lowered;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->statement != step->statement->id || term->kind != TERM_READ)
            continue;
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].index == along)
                    add_unit(planner, units, term->read.tensor, a);
    }
}

static void find_units(Planner *planner, Step *step)
{
    if (step->contract && step->contract->read_along)
        find_units_read(planner, step, step->contract->read_along, &step->contract->units);
    if (step->contract || !step->vector)
        return;
    find_units_read(planner, step, step->vector, &step->units);
    for (int o = 0; o < step->statement->output_count && step->vector_kept; o++) {
        const Output *output = &step->statement->outputs[o];
        for (int a = 0; a < output->tensor->rank; a++)
            for (int k = 0; k < output->positions[a].count; k++)
                if (output->positions[a].parts[k].index == step->vector)
                    add_unit(planner, &step->units, output->tensor, a);
    }
}

/* ---- shares ---- */

/* As many threads as a block has beside those for points that are apart, a power of two. */
static void set_shares(const Planner *planner, Step *step)
{
    const Grid *grid = planner->plan->target->grid;
    const Output *output = &step->statement->outputs[0];
    bool computed = false;
    double apart = 1;
    for (int a = 0; a < output->tensor->rank; a++) {
        computed |= !output->tensor->axes[a];
        if (output->tensor->axes[a])
            apart *= planner_extent(planner, output->tensor->axes[a]);
    }
    step->shares = 1;
    while (grid && step->kind == STEP_ADD && computed && (!step->vector || step->vector_kept) && 2 * step->shares * apart <= grid->threads)
        step->shares *= 2;
}

/* ---- the step ---- */

typedef struct Roots {
    const Planner *planner;
    Step *step;
    bool *seen;                   /* [term id] */
} Roots;

/* The reductions at the top of a pointwise expression. */
static void find_roots(void *user, const Term *term)
{
    Roots *roots = user;
    if (roots->seen[term->id])
        return;
    roots->seen[term->id] = true;
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
        ARENA_APPEND(roots->planner->arena, roots->step->roots, roots->step->root_count,
                     roots->planner->plan->lowered->terms[term->id]);
    else if (term->kind != TERM_READ)
        term_each_argument(term, find_roots, roots);
}

static bool same_loops(const Term *a, const Term *b)
{
    if (a->reduce.over_count != b->reduce.over_count)
        return false;
    for (int i = 0; i < a->reduce.over_count; i++)
        if (!indices_have(b->reduce.over, b->reduce.over_count, a->reduce.over[i]))
            return false;
    return true;
}

static void set_roots(Planner *planner, Step *step)
{
    Roots roots = { planner, step, ARENA_ARRAY(planner->arena, bool, planner->plan->lowered->term_count) };
    for (int o = 0; o < step->statement->output_count; o++)
        find_roots(&roots, step->statement->outputs[o].value);
}

bool step_can_split(const Step *step)
{
    if (step->kind != STEP_STORE || step->root_count == 0 || step->roots[0]->reduce.over_count == 0)
        return false;
    for (int i = 1; i < step->root_count; i++)
        if (!same_loops(step->roots[0], step->roots[i]))
            return false;
    return true;
}

bool step_has_teams(const Step *step)
{
    return step->vector && !step->vector_kept;
}

static void plan_bundle(const Planner *planner, Step *step)
{
    const Statement *statement = step->statement;
    const BundleHints hints = { planner->plan->target, planner->hints->extents, planner->hints->strides };
    if (planner->hints->nests != NESTS_TILED && step->kind == STEP_STORE && !statement->turned && statement->outputs[0].tensor->home->origin)
        step->bundle = bundle_choose(planner->arena, planner->plan->lowered, statement, &hints);
}

/* Without lanes, the longest index of the last sum is the innermost loop: of the others' some few points, each would add to elements
 * that the one before has just stored. */
static void order_scatter(const Planner *planner, Step *step)
{
    const Output *output = &step->statement->outputs[0];
    const Position *last = NULL;
    const Index *longest = NULL;
    for (int a = 0; a < output->tensor->rank; a++)
        last = output->tensor->axes[a] ? last : &output->positions[a];
    for (int k = 0; last && k < last->count; k++)
        if (last->parts[k].index && (!longest || planner_extent(planner, last->parts[k].index) > planner_extent(planner, longest)))
            longest = last->parts[k].index;
    if (longest && step->kind == STEP_ADD && !step->vector && !planner->plan->target->grid)
        step_move_last(step, longest);
}

/* What follows from the index that the lanes run along. */
static void plan_along(Planner *planner, Step *step)
{
    if (!step->contract)
        plan_cross(planner, step);
    if (step->crossed)
        step_move_last(step, step->crossed);
    if (step->vector_kept)
        step_move_last(step, step->vector);
    step->bounded = !step->contract && step->vector_kept && planner_is_bounded(planner, step, step->vector);
    if (step->vector) {
        int lanes = step_lanes(planner, step);
        if (planner->plan->lanes == 0 || lanes < planner->plan->lanes)
            planner->plan->lanes = lanes;
    }
    if (!step->turned && !planner->plan->target->grid)
        find_units(planner, step);
    plan_result(planner, step);
    step->crossed_last = plan_crosses_last(planner, step);
    if (step->crossed_last)
        step_move_last(step, step->crossed);
}

Step *plan_step(Planner *planner, const Statement *statement, int id)
{
    Step *step = ARENA_NEW(planner->arena, Step);
    step->id = id;
    step->statement = statement;
    step->kind = kind_of(statement);
    step->scatters = scatters(statement);
    list_loops(planner, step);
    set_roots(planner, step);
    plan_bundle(planner, step);
    step->contract = statement->turned || step->bundle ? NULL : plan_contract(planner, step);
    if (step->contract && plan_prefers_loops(planner, step))
        step->contract = NULL;
    if (statement->turned) {
        plan_turned(planner, step);
    } else if (step->contract) {
        step->vector = step->contract->columns.list[step->contract->columns.count - 1];
        step->vector_kept = true;
    } else {
        step_choose_vector(planner, step, NULL, 0);
    }
    order_scatter(planner, step);
    plan_along(planner, step);
    set_shares(planner, step);
    return step;
}

void step_plan_again(Planner *planner, const Launch *launch, int place)
{
    Step *step = launch->steps[place];
    if (launch->step_count == 1 || planner->plan->target->grid || step->kind != STEP_STORE || step->contract || step->turned || !step->vector_kept ||
        !step_has_one_point(launch, place, step->vector))
        return;
    step->vector = step->crossed = NULL;
    step->crossing_count = step->units.count = step->loop_count = 0;
    step->result = NULL;
    step->strip = 0;
    list_loops(planner, step);
    step_choose_vector(planner, step, launch, place);
    plan_along(planner, step);
}
