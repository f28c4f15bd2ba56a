/* Operands of a map that lie along another kept index than the lanes run along, as in A[i,j] + B[j,i]: squares of them are
 * turned, for as many points of that index as there are lanes. */
#include <math.h>

#include "planning.h"
#include "turn.h"

static bool is_map(const Planner *planner, const Step *step)
{
    bool is_map = step->kind == STEP_STORE && !step->root_count && !step->contract && !planner->plan->target->grid &&
                  !step->statement->turned && !step->statement->swept;
    for (int o = 0; o < step->statement->output_count; o++)
        is_map &= step->statement->outputs[o].tensor->home->origin != NULL;
    return is_map;
}

Index *planner_crosses(const Planner *planner, const Step *step, const Term *read, const Index *vector)
{
    if (!is_map(planner, step) || read->kind != TERM_READ || !read->read.tensor->home->origin || !turn_has_squares(register_dtype(read->dtype)) ||
        !term_has_index(read, vector) || !indices_have(step->loops, step->loop_count, vector) ||
        planner_reads_runs(planner, read, vector))
        return NULL;
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return NULL;
    double lanes = planner->plan->target->vector_bytes / (double)dtype_size(read->dtype);
    for (int i = 0; i < step->loop_count; i++)
        if (step->loops[i] != vector && planner_reads_runs(planner, read, step->loops[i]))
            return 2 * fmin(planner_extent(planner, step->loops[i]), planner_extent(planner, vector)) >= lanes ? step->loops[i] : NULL;
    return NULL;
}

typedef struct Crossing {
    const Planner *planner;
    Step *step;
    int others;                   /* reads along the lanes' index that are not turned */
} Crossing;

static void note_read(void *user, const Term *term)
{
    Crossing *c = user;
    Index *index = planner_crosses(c->planner, c->step, term, c->step->vector);
    if (index && !c->step->crossed)
        c->step->crossed = index;
    if (index && c->step->crossed == index)
        ARENA_APPEND(c->planner->arena, c->step->crossing, c->step->crossing_count, term);
    else
        c->others += term->kind == TERM_READ && term_has_index(term, c->step->vector);
}

void plan_cross(const Planner *planner, Step *step)
{
    Crossing c = { planner, step, 0 };
    bool may = step->vector_kept && !planner_is_bounded(planner, step, step->vector);
    for (int o = 0; o < step->statement->output_count && may; o++)
        term_each_below(planner->arena, step->statement->outputs[o].value, note_read, &c);
    step->crossed_alone = step->crossed && c.others == 0;
}

/* Rows of the operands are streams, and lines that are stored past the caches are none: squares of a row follow each other where it is
 * long and the result is known to go there. */
bool plan_crosses_last(const Planner *planner, const Step *step)
{
    enum { LONG = 96 };
    const Tensor *tensor = step->statement->outputs[0].tensor;
    bool last = step->crossed && step->result && !step->strip && planner->hints->extents && planner_extent(planner, step->crossed) >= LONG;
    for (int a = 0; a < tensor->rank && last; a++)
        last = planner->hints->extents->of[tensor->axes[a]->origin->id] >= 0;
    return last;
}
