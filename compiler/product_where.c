/* Products under a where. In sum[k](where(M[i,k], A[i,k] * B[k,j], 0)) all of the condition's indices are one side's or contracted, so
 * that this side may be under it alone: sum[k](where(M[i,k], A[i,k], 0) * B[k,j]) is a product. */
#include "product.h"
#include "state.h"

/* Whether what the where leaves out stays so, combined with any finite number: 0 times it, or an infinity and it. */
static bool absorbs(const Term *reduce, const Term *value)
{
    const bool adds_up = reduce->reduce.reduction == REDUCTION_SUM, real = dtype_kind(value->dtype) == KIND_FLOAT;
    if (value->kind != TERM_MAP || value->dtype != reduce->dtype || value->dtype != reduce->reduce.argument->dtype)
        return false;
    if (adds_up)
        return value->map.function == FUNCTION_MUL && (real || dtype_kind(value->dtype) == KIND_INT);
    return value->map.function == FUNCTION_ADD && real &&
           (reduce->reduce.reduction == REDUCTION_MAX || reduce->reduce.reduction == REDUCTION_MIN);
}

/* From how many sides a condition bounds a loop. */
static int count_bounds(const Term *condition, Index *index)
{
    if (condition->kind == TERM_MAP && condition->map.function == FUNCTION_AND)
        return count_bounds(condition->map.arguments[0], index) + count_bounds(condition->map.arguments[1], index);
    if (!condition_bounds(condition, &index, 1))
        return 0;
    return condition->map.function == FUNCTION_EQ ? 2 : 1;
}

/* Whether the condition leaves a band of the contracted points, which loops keep to: bounds on both sides, but for those of a window. */
static bool is_band(Arena *arena, const Term *reduce, const WhereProduct *w)
{
    bool band = false;
    for (int i = 0; i < reduce->reduce.over_count; i++)
        band |= count_bounds(w->condition, reduce->reduce.over[i]) > 1;
    return band && term_reads_plainly(arena, w->value);
}

static void depend_on(Arena *arena, Term *term, const Term *used)
{
    for (int i = 0; i < used->rank; i++)
        if (!term_has_index(term, used->indices[i]))
            ARENA_APPEND(arena, term->indices, term->rank, used->indices[i]);
}

static Term *like(Arena *arena, const Term *term)
{
    Term *copy = ARENA_NEW(arena, Term);
    *copy = *term;
    return copy;
}

/* The reduction with only the factor in place `under` of the combination under the where. */
static const Term *with_one_under(Arena *arena, const Term *reduce, const WhereProduct *w)
{
    const Term *where = term_without_arrow(reduce->reduce.argument);
    Term *select = like(arena, where), *value = like(arena, w->value), *whole = like(arena, reduce);
    select->select.yes = w->value->map.arguments[w->under];
    select->indices = NULL;
    select->rank = 0;
    depend_on(arena, select, w->condition);
    depend_on(arena, select, select->select.yes);
    value->map.arguments = ARENA_ARRAY(arena, Term *, 2);
    value->map.arguments[w->under] = select;
    value->map.arguments[1 - w->under] = w->value->map.arguments[1 - w->under];
    value->indices = NULL;
    value->rank = 0;
    for (int i = 0; i < 2; i++)
        depend_on(arena, value, value->map.arguments[i]);
    whole->reduce.argument = value;
    return whole;
}

bool product_of_where(Arena *arena, const Term *reduce, WhereProduct *w, Product *product)
{
    if ((reduce->kind != TERM_REDUCE && reduce->kind != TERM_CONTRACT) || reduce->reduce.over_count == 0)
        return false;
    const Term *where = term_without_arrow(reduce->reduce.argument);
    if (where->kind != TERM_SELECT || !state_skips(reduce, where->select.no))
        return false;
    *w = (WhereProduct){ where->select.condition, term_without_arrow(where->select.yes), where->select.no, 0 };
    if (!absorbs(reduce, w->value) || is_band(arena, reduce, w))
        return false;
    for (; w->under < 2; w->under++)
        if (term_reads_plainly(arena, w->value->map.arguments[1 - w->under]) &&    /* it is had where the condition fails, too */
            product_match(arena, with_one_under(arena, reduce, w), product))
            return true;
    return false;
}
