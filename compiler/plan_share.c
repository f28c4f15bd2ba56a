/* Places in the part of the workspace that outlives launches. Launches run one after the other, so what a launch makes can
 * lie where something was that no later launch reads. Sizes are formulas: a place has the largest of those that it is for,
 * and hints only choose between places. */
#include "planning.h"

typedef struct SharedPlace {
    Storage *first;
    double bytes;                 /* as the hints say */
    int last;                     /* the last launch that reads what is there now */
} SharedPlace;

/* Whether a tensor is made once, as a whole, and is no part of an array that `+=` changes. */
static bool may_share(const Plan *plan, const Tensor *tensor)
{
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (plan->lowered->tensors[t] != tensor && plan->lowered->tensors[t]->home == tensor)
            return false;
    return plan->storage[tensor->id].place == PLACE_SHARED && tensor->home == tensor && !tensor->previous &&
           !tensor->maker->accumulate;
}

static double guess_bytes(const Planner *planner, const Tensor *tensor)
{
    double bytes = (double)dtype_size(tensor->dtype);
    for (int a = 0; a < tensor->rank; a++)
        bytes *= planner_extent(planner, tensor->axes[a]);
    return bytes;
}

/* The smallest place with room, or the largest without; NULL: all are in use. */
static SharedPlace *free_place(SharedPlace *places, int count, int launch, double bytes)
{
    SharedPlace *best = NULL;
    for (int p = 0; p < count; p++) {
        SharedPlace *place = &places[p];
        if (place->last >= launch)
            continue;
        bool fits = place->bytes >= bytes, best_fits = best && best->bytes >= bytes;
        if (!best || (fits && (!best_fits || place->bytes < best->bytes)) || (!fits && !best_fits && place->bytes > best->bytes))
            best = place;
    }
    return best;
}

void plan_share(Planner *planner)
{
    Plan *plan = planner->plan;
    SharedPlace *places = ARENA_ARRAY(planner->arena, SharedPlace, plan->lowered->tensor_count);
    int count = 0;
    for (int l = 0; l < plan->launch_count; l++)
        for (int s = 0; s < plan->launches[l]->step_count; s++) {
            const Tensor *tensor = plan->launches[l]->steps[s]->statement->outputs[0].tensor;
            Storage *storage = &plan->storage[tensor->id];
            if (!may_share(plan, tensor))
                continue;
            double bytes = guess_bytes(planner, tensor);
            SharedPlace *place = free_place(places, count, l, bytes);
            if (place) {
                storage->after = place->first;
                place->first->room = size_op(planner->arena, SIZE_MAX_OF, place->first->room, storage->bytes);
                place->bytes = bytes > place->bytes ? bytes : place->bytes;
            } else {
                place = &places[count++];
                *place = (SharedPlace){ .first = storage, .bytes = bytes };
            }
            place->last = plan_last_reader(plan, tensor);
        }
}
