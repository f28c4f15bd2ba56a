/* Sums of products of narrow numbers in loops, as of a matrix of bf16 times a vector: an instruction takes lines of both operands as
 * they lie, and adds several products to each lane's sum. */
#include "planning.h"

/* Whether a factor's lanes are read as they lie, and what is in one word of 32 bits in one load. */
static bool reads_words(const Planner *planner, const Step *step, const Term *factor)
{
    const Term *read = plain_read(factor);
    for (int a = 0; read && a < read->read.tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return false;
    return read && side_stride(planner, read, step->vector) == 1;
}

void plan_dot(const Planner *planner, Step *step)
{
    Component components[STATE_COMPONENTS_MAX];
    const Term *sides[2], *factors[2], *root = step->root_count == 1 ? step->roots[0] : NULL;
    if (!root || step->contract || !step->vector || step->vector_kept ||
        reduction_facts[root->reduce.reduction].state == STATE_NORM || state_components(root, components) != 1 ||
        !sum_of_narrow(root, components, sides, factors) ||
        !reads_words(planner, step, factors[0]) || !reads_words(planner, step, factors[1]))
        return;
    step->dots = planner->plan->target->dots[sides[0]->dtype];
    for (int i = 0; i < 2 && step->dots; i++)
        step->dot[i] = sides[i];
}

Dtype step_multiplies(const Step *step)
{
    const Contract *c = step->contract && step->contract->parts ? step->contract->parts : step->contract;
    bool parts = c && c->tile && c->tile->parts > 0;
    return parts ? DTYPE_BF16 : c ? c->packed : step->dots ? dtype_in_word(step->dot[0]->dtype, step->dots) : DTYPE_F32;
}
