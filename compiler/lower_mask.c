/* Masks: where(c, x, -inf) in front of a softmax, whose condition bounds the loops of all who read it. Such a where is
 * written again into each reader, and only where it chooses x is anything of x stored and read. */
#include <math.h>

#include "lowering.h"
#include "state.h"

enum { COST_MASK = 40 };    /* of a condition that is worth asking again */

const Term *lower_mask(const Lower *l, const Term *softmax)
{
    const Term *x = softmax->reduce.argument;
    while (x->kind == TERM_CONTRACT && x->reduce.over_count == 0)    /* an arrow that puts indices in order */
        x = x->reduce.argument;
    Term largest = { .kind = TERM_REDUCE, .reduce = { .reduction = REDUCTION_MAX, .argument = (Term *)x } };
    bool masks = x->kind == TERM_SELECT && !l->facts[x->id].can_miss &&
                 l->facts[x->select.condition->id].cost <= COST_MASK && state_skips(&largest, x->select.no) &&
                 condition_bounds(x->select.condition, softmax->reduce.over, softmax->reduce.over_count);
    return masks ? x : NULL;
}
