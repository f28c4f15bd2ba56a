/* A reduction of a product under a where, sum[k](where(M[i,k], A[i,k] * B[k,j], 0)), as that of a product of which one side is:
 * sum[k](where(M[i,k], A[i,k], 0) * B[k,j]).
 *
 * Times a number that is not finite, 0 is a NaN, and so are infinities added to others. Such a NaN stays one in the result, and
 * there the reduction itself runs. */
#include "lowering.h"

/* The reduction with one side under the where, in the loops of a context. */
static Term *reduce_sides(Lower *l, const Context *c, const Term *term, const WhereProduct *w, const Instance *instance)
{
    Index **over = ARENA_ARRAY(l->arena, Index *, term->reduce.over_count);
    instance = lower_link_over(l, c, term, instance, over);
    Context inner = lower_widen(l, c, over, term->reduce.over_count);
    const Path path = { .condition = w->condition, .instance = instance };
    Term *condition = lower_copy(l, &inner, w->condition, instance), *sides[2];
    sides[1 - w->under] = lower_copy(l, &inner, w->value->map.arguments[1 - w->under], instance);
    inner.path = &path;
    Term *under = lower_copy(l, &inner, w->value->map.arguments[w->under], instance);
    inner.path = NULL;
    sides[w->under] = lower_select(l, &inner, condition, under, lower_copy(l, &inner, w->other, instance));
    Term *value = lower_map(l, &inner, w->value->map.function, w->value->dtype, sides[0], sides[1]);
    return lower_reduction(l, c, term, over, term->reduce.over_count, value);
}

/* The results' indices in the order in which they lie: those of the other side's columns innermost, where the rows of the one under the
 * where share a window. */
static Index **results_order(Lower *l, const Term *term, const WhereProduct *w)
{
    const Term *under = w->value->map.arguments[w->under];
    Index **order = ARENA_ARRAY(l->arena, Index *, term->rank);
    const bool window = !term_reads_plainly(l->arena, under);
    int count = 0;
    for (int inner = 0; inner < 2; inner++)
        for (int i = 0; i < term->rank; i++)
            if ((window && !term_has_index(under, term->indices[i])) == (inner == 1))
                order[count++] = term->indices[i];
    return order;
}

Term *lower_where_product(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    WhereProduct w;
    Product product;
    product_of_where(l->arena, term, &w, &product);
    if (dtype_kind(term->dtype) != KIND_FLOAT)
        return reduce_sides(l, c, term, &w, instance);
    const Instance *own = NULL;
    Index **order = results_order(l, term, &w);
    Context stored = lower_open_over(l, order, term->rank, instance, &own);
    Tensor *results = lower_store(l, &stored, reduce_sides(l, &stored, term, &w, own), term->span);
    Term *result = lower_read_temporary(l, c, results, order, instance, term->span);
    Term *is_number = lower_map(l, c, FUNCTION_EQ, DTYPE_BOOL, result, result);
    return lower_select(l, c, is_number, result, lower_refused(l, c, term, instance));
}
