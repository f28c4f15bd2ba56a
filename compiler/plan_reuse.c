/* Temporaries that take the place of one whose last reader makes them: element by element, so that each is read before it is
 * written over. */
#include "planning.h"

static bool is_plain_block(const Plan *plan, const Tensor *tensor, int launch)
{
    const Storage *storage = &plan->storage[tensor->id];
    return tensor->maker && tensor->home == tensor && storage->place == PLACE_BLOCK && storage->launch == launch;
}

/* Whether a term reads an array at the indices of its own axes' order that the output has. */
static bool reads_at(const Term *read, const Output *output)
{
    if (read->read.tensor->rank != output->tensor->rank)
        return false;
    for (int a = 0; a < output->tensor->rank; a++) {
        const Position *from = &read->read.positions[a], *to = &output->positions[a];
        if (!position_is_plain(from) || !position_is_plain(to) || from->parts[0].index != to->parts[0].index)
            return false;
    }
    return true;
}

static int place_of(const Launch *launch, const Statement *statement)
{
    int place = 0;
    while (launch->steps[place]->statement != statement)
        place++;
    return place;
}

/* Whether something reads in a sweep's next block what this one leaves. */
static bool is_carried(const Plan *plan, const Tensor *tensor)
{
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind == TERM_READ && term->read.carried && term->read.tensor == tensor)
            return true;
    }
    return false;
}

/* Whether the step is the last reader of an array, and reads it only where it stores its own. */
static bool is_last_reader(const Plan *plan, const Launch *launch, int s, const Tensor *tensor)
{
    const Output *output = &launch->steps[s]->statement->outputs[0];
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor)
            continue;
        if (launch_sweeps(launch, s) != launch_sweeps(launch, place_of(launch, tensor->maker)))
            return false;    /* the next block reads it, too */
        for (int later = s + 1; later < launch->step_count; later++)
            if (launch->steps[later]->statement->id == term->statement)
                return false;
        if (launch->steps[s]->statement->id == term->statement && !reads_at(term, output))
            return false;
    }
    return true;
}

/* The array whose place what a step makes can take; NULL: none. */
static const Tensor *place_for(const Planner *planner, const Launch *launch, int s)
{
    const Plan *plan = planner->plan;
    const Step *step = launch->steps[s];
    const Tensor *made = step->statement->outputs[0].tensor;
    if (step->kind != STEP_STORE || step->root_count || step->statement->output_count > 1 || step->statement->accumulate ||
        step->scatters || !is_plain_block(plan, made, launch->id) || is_carried(plan, made))
        return NULL;
    for (int earlier = 0; earlier < s; earlier++) {
        const Step *maker = launch->steps[earlier];
        const Tensor *old = maker->statement->outputs[0].tensor;
        bool alike = !is_carried(plan, old) && maker->statement->output_count == 1 && is_plain_block(plan, old, launch->id) && old->dtype == made->dtype &&
                     step_inner_axis(maker, old) == step_inner_axis(step, made);
        if (alike && planner_reads(planner, step, maker) && is_last_reader(plan, launch, s, old))
            return old;
    }
    return NULL;
}

void plan_reuse(Planner *planner, const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++)
        planner->plan->storage[launch->steps[s]->statement->outputs[0].tensor->id].over = place_for(planner, launch, s);
}
