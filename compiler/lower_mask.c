/* Masks: where(c, x, -inf) in front of a softmax, whose condition bounds the loops of all who read it. Such a where is
 * written again into each reader, and only where it chooses x is anything of x stored and read. */
#include <math.h>

#include "lowering.h"
#include "state.h"

enum { COST_MASK = 40 };    /* of a condition that is worth asking again */

/* ---- wheres the other way round ---- */

static Function opposite(Function comparison)
{
    switch (comparison) {
    case FUNCTION_LT: return FUNCTION_GE;
    case FUNCTION_LE: return FUNCTION_GT;
    case FUNCTION_GT: return FUNCTION_LE;
    case FUNCTION_GE: return FUNCTION_LT;
    case FUNCTION_EQ: return FUNCTION_NE;
    default: return FUNCTION_EQ;
    }
}

/* A condition that holds where another does not, of comparisons of integers; NULL: it is no such. It stands for the other,
 * under the same number. */
static Term *negate(Lower *l, const Term *condition)
{
    if (condition->kind != TERM_MAP)
        return NULL;
    Function f = condition->map.function;
    bool joins = f == FUNCTION_AND || f == FUNCTION_OR, compares = comparison_is_of_integers(condition);
    if (!joins && !compares)
        return NULL;
    Term *other = ARENA_NEW(l->arena, Term);
    *other = *condition;
    if (compares) {
        other->map.function = opposite(f);
        return other;
    }
    other->map.function = f == FUNCTION_AND ? FUNCTION_OR : FUNCTION_AND;
    other->map.arguments = ARENA_ARRAY(l->arena, Term *, 2);
    for (int i = 0; i < 2; i++)
        if (!(other->map.arguments[i] = negate(l, condition->map.arguments[i])))
            return NULL;
    return other;
}

static bool is_number(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.count == 1)
        term = term->map.arguments[0];
    return term->kind == TERM_CONSTANT;
}

const Term *lower_turned_where(Lower *l, const Term *where)
{
    Term *condition = is_number(where->select.yes) && !is_number(where->select.no) ? negate(l, where->select.condition) : NULL;
    if (!condition || !condition_bounds(condition, condition->indices, condition->rank))
        return where;
    Term *turned = ARENA_NEW(l->arena, Term);
    *turned = *where;
    turned->select.condition = condition;
    turned->select.yes = where->select.no;
    turned->select.no = where->select.yes;
    return turned;
}

/* ---- masks ---- */

const Term *lower_mask(Lower *l, const Term *softmax)
{
    const Term *x = term_without_arrow(softmax->reduce.argument);
    if (x->kind == TERM_SELECT)
        x = lower_turned_where(l, x);
    Term largest = { .kind = TERM_REDUCE, .reduce = { .reduction = REDUCTION_MAX, .argument = (Term *)x } };
    bool masks = x->kind == TERM_SELECT && !l->facts[x->id].can_miss &&
                 l->facts[x->select.condition->id].cost <= COST_MASK && state_skips(&largest, x->select.no) &&
                 condition_bounds(x->select.condition, softmax->reduce.over, softmax->reduce.over_count);
    return masks ? x : NULL;
}
