/* Loops that are joined: what a reduction reads is made, and stored, in the reduction's own loop.
 *
 *     p[q,k] = exp(s[q,k] - m[q])          l[q] = p[q,k] | sum k          b[q,k] = bf16(p[q,k])
 *
 * Each of these on its own goes over its rows once. In one loop p is in a register when l and b take it, and where nobody else
 * reads p, it is not stored at all. So it is with a value and its reduction that stand behind each other in a launch, and with
 * values behind them that are made of the same elements. */
#include "planning.h"

/* The only output of a step, whose elements it makes one by one; NULL: it is no such step. */
static const Output *stored_alone(const Step *step)
{
    const Output *output = &step->statement->outputs[0];
    const Tensor *tensor = output->tensor;
    bool plain = step->kind == STEP_STORE && !step->contract && !step->split && !step->jammed && !step->bounded &&
                 !step->result && !step->turned && !step->statement->turned && !step->statement->accumulate && !step->scatters &&
                 step->units.count == 0;
    if (!plain || step->statement->output_count != 1 || tensor->home != tensor || tensor->origin || tensor->previous)
        return NULL;
    for (int a = 0; a < tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]) || indices_have(tensor->axes, a, tensor->axes[a]))
            return NULL;
    return output;
}

static bool is_pointwise(const Planner *planner, const Step *step)
{
    const Output *output = stored_alone(step);
    return output && step->root_count == 0 && step->vector && step->vector_kept && step->loop_count == output->tensor->rank &&
           planner_reads_plainly(planner, output->value);
}

/* Whether a step is one simple reduction of all elements along the index that has its lanes. */
static bool reduces_all(const Planner *planner, const Step *step)
{
    if (!stored_alone(step) || step->root_count != 1 || !step->vector || step->vector_kept)
        return false;
    const Term *root = step->roots[0], *element = root->reduce.argument;
    return root->reduce.over_count == 1 && root->reduce.over[0] == step->vector && state_is_simple(root) &&
           !state_takes_rows(root) && element->kind != TERM_SELECT && !product_inside(planner->arena, element) &&
           planner_reads_plainly(planner, element);
}

/* Whether all reads of a tensor by a step are of the element at hand. Of the reduction that they are joined with, `note` says which
 * of its indices each of the tensor's is; of another step each of its own is the same one as the tensor's. */
static bool reads_at_hand(const Planner *planner, const Step *reader, const Tensor *tensor, const Join *join, bool note)
{
    const Program *lowered = planner->plan->lowered;
    bool reads = false;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->kind != TERM_READ || term->statement != reader->statement->id || term->read.tensor != tensor)
            continue;
        for (int a = 0; a < tensor->rank; a++) {
            Index *index = position_is_plain(&term->read.positions[a]) ? term->read.positions[a].parts[0].index : NULL;
            Index **made = &join->same[tensor->axes[a]->id], **other = index ? &join->same[index->id] : NULL;
            Index *noted = note ? index : *made;
            Index **place = note ? made : other;
            if (!index || term->read.carried || (*place && *place != noted))
                return false;
            *place = noted;
        }
        reads = true;
    }
    return reads;
}

/* Whether a step may run as soon as the maker has: it reads what that makes, and nothing else that the launch makes. */
static bool reads_only(const Planner *planner, const Launch *launch, const Step *step, const Step *maker)
{
    for (int s = 0; s < launch->step_count; s++)
        if (planner_reads(planner, step, launch->steps[s]) != (launch->steps[s] == maker))
            return false;
    return true;
}

static void join(Join *joined, Arena *arena, Step *step, const Step *reduction)
{
    ARENA_APPEND(arena, joined->steps, joined->count, step);
    step->joined = reduction;
}

/* Whether nobody but the steps of a join reads what one of them makes. */
static bool is_passed_on(const Planner *planner, const Step *reduction, const Join *joined, const Step *maker)
{
    const Plan *plan = planner->plan;
    for (int s = 0; s < plan->step_count; s++)
        if (planner_reads(planner, plan->steps[s], maker) && plan->steps[s] != reduction && plan->steps[s]->joined != reduction)
            return false;
    return joined->count > 0;
}

/* Whether two steps that follow each other run for the same blocks. */
static bool run_alike(const Launch *launch, int a, int b)
{
    return launch_sweeps(launch, a) == launch_sweeps(launch, b) &&
           (launch_sweeps(launch, a) || (a < launch->sweep_from) == (b < launch->sweep_from));
}

void plan_join(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    for (int r = 1; r < launch->step_count; r++) {
        Step *reduction = launch->steps[r], *maker = launch->steps[r - 1];
        const Tensor *made = maker->statement->outputs[0].tensor;
        if (!reduces_all(planner, reduction) || !is_pointwise(planner, maker) || !run_alike(launch, r - 1, r))
            continue;
        Join *joined = ARENA_NEW(arena, Join);
        joined->same = ARENA_ARRAY(arena, Index *, planner->plan->lowered->index_count);
        if (!reads_at_hand(planner, reduction, made, joined, true) || joined->same[maker->vector->id] != reduction->vector ||
            reduction->loop_count + 1 != maker->loop_count)
            continue;
        join(joined, arena, maker, reduction);
        bool others = false;    /* who would find another's elements in the place of these, if that were made before */
        for (int s = r + 1; s < launch->step_count && !others; s++) {
            Step *step = launch->steps[s];
            if (run_alike(launch, r, s) && is_pointwise(planner, step) && step->loop_count == maker->loop_count &&
                reads_only(planner, launch, step, maker) && reads_at_hand(planner, step, made, joined, false) &&
                joined->same[step->vector->id] == reduction->vector)
                join(joined, arena, step, reduction);
            others = planner_reads(planner, step, maker) && !step->joined;
        }
        reduction->join = joined;
        maker->is_passed_on = register_dtype(made->dtype) == made->dtype && is_passed_on(planner, reduction, joined, maker);
    }
}
