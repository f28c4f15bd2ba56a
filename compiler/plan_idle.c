/* On a grid: whether steps that would run together had better run one after the other. A launch of few blocks leaves most of the machine
 * idle, so that memory gives it but a part of what it could. Alone each step has blocks, or parts, of all that it goes over, and what passes
 * between them is stored; where that is no more than the operands, and little beside what they would read so slowly, it pays. */
#include "planning.h"

enum {
    AT_ONCE = 512,                /* blocks: four on each multiprocessor of the largest cards; */
    AT_ONCE_FUSED = 256,          /* half as many of two products one behind the other, whose copies are asked for ahead */
    BYTES_OF_LAUNCH = 12 << 20,   /* what memory gives in the time that one more launch takes */
    PASSES = 3,                   /* over what is stored: it is written and read, perhaps more than once */
    TILE = 32                     /* rows or columns of a product that a block has at least */
};

/* Of an array as a step knows it. */
static double bytes_of(const Planner *planner, const Tensor *tensor)
{
    if (tensor->whole)
        return bytes_of(planner, tensor->whole);
    double bytes = (double)dtype_size(tensor->dtype);
    for (int a = 0; a < tensor->rank; a++)
        if (!tensor->maker)
            bytes *= (double)planner->hints->extents->shape[tensor->home->origin->id][a];
        else if (tensor->axes[a])
            bytes *= planner_extent(planner, tensor->axes[a]);
    return bytes;
}

static bool makes(Step *const *group, int count, const Tensor *tensor)
{
    for (int s = 0; s < count; s++)
        if (tensor->maker == group[s]->statement)
            return true;
    return false;
}

/* What the steps read that they do not make, or all that is read of the caller's if there are no steps; each array once. */
static double bytes_read(const Planner *planner, Step *const *group, int count)
{
    const Program *lowered = planner->plan->lowered;
    bool *seen = ARENA_ARRAY(planner->arena, bool, lowered->tensor_count);
    double bytes = 0;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool inside = count == 0 && term->kind == TERM_READ && !term->read.tensor->maker;
        for (int s = 0; s < count; s++)
            inside |= term->statement == group[s]->statement->id;
        if (!inside || term->kind != TERM_READ || makes(group, count, term->read.tensor) || seen[term->read.tensor->id])
            continue;
        seen[term->read.tensor->id] = true;
        bytes += bytes_of(planner, term->read.tensor);
    }
    return bytes;
}

/* How many points of a block a unit of work has: a tile of them where a product has these for rows or columns. */
static double points_of_unit(Step *const *group, int count, const Block *block)
{
    for (int s = 0; s < count; s++) {
        const Contract *c = group[s]->contract;
        if (c && (indices_have(c->rows.list, c->rows.count, block->of_step[s]) || indices_have(c->columns.list, c->columns.count, block->of_step[s])))
            return TILE;
    }
    return 1;
}

/* Whether a group that ends with a product may be, or become, two of them one behind the other: a product is what its first step reads. */
static bool may_be_fused(const Planner *planner, Step *const *group, int count)
{
    const Plan *plan = planner->plan;
    bool *feeds = ARENA_ARRAY(planner->arena, bool, plan->step_count), product = group[0]->contract != NULL;
    feeds[group[0]->id] = true;
    for (int s = group[0]->id - 1; s >= 0; s--) {
        for (int r = s + 1; r <= group[0]->id && !feeds[s]; r++)
            feeds[s] = feeds[r] && planner_reads(planner, plan->steps[r], plan->steps[s]);
        product |= feeds[s] && plan->steps[s]->contract;
    }
    return product && count > 1 && group[count - 1]->contract;
}

bool planner_idles(const Planner *planner, Step *const *group, int count, const Block *blocks, int block_count)
{
    const PlanHints *hints = planner->hints;
    if (!planner->plan->target->grid || hints->uncut || hints->nests != NESTS_BY_COST || !hints->extents || !hints->extents->complete)
        return false;
    double units = 1, stored = 0;
    for (int b = 0; b < block_count; b++) {
        double tiles = planner_extent(planner, blocks[b].of_step[0]) / points_of_unit(group, count, &blocks[b]);
        units *= tiles > 1 ? tiles : 1;
    }
    for (int o = 0; o < group[0]->statement->output_count; o++)
        stored += bytes_of(planner, group[0]->statement->outputs[o].tensor);
    double read = bytes_read(planner, group, count), busy = may_be_fused(planner, group, count) ? AT_ONCE_FUSED : AT_ONCE;
    return stored <= bytes_read(planner, NULL, 0) && PASSES * stored + BYTES_OF_LAUNCH < read * (busy / units - 1);
}
