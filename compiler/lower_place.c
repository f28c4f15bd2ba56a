/* The place of an extremum of a sum, argmax[k](A[i,k] + B[k,j] + C[i,j]), as that of a product's, argmax[k](A[i,k] + B[k,j]).
 *
 * What lacks all contracted indices moves all elements alike. Where it is a finite number, elements that it makes equal are
 * closer than their roundings, and either may be the first; where it is infinite or a NaN, so are they, and the reduction
 * itself finds the first. */
#include <math.h>

#include "lowering.h"

/* Stores the places in the sides' sum. */
static Tensor *store_places(Lower *l, const Term *place, const PlaceSum *sum, const Instance *outside)
{
    const Instance *instance = NULL;
    Context c = lower_open_over(l, place->indices, place->rank, outside, &instance);
    Index **over = ARENA_ARRAY(l->arena, Index *, place->reduce.over_count);
    instance = lower_link_over(l, &c, place, instance, over);
    Context inner = lower_widen(l, &c, over, place->reduce.over_count);
    Term *x = lower_map(l, &inner, FUNCTION_ADD, place->reduce.argument->dtype, lower_copy_again(l, &inner, sum->sides[0], instance),
                        lower_copy_again(l, &inner, sum->sides[1], instance));
    return lower_store(l, &c, lower_reduction(l, &c, place, over, place->reduce.over_count, x), place->span);
}

Term *lower_refused(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    int first = l->out->term_count;
    Term *exact = lower_copy_reduction(l, c, term, instance);
    for (int i = first; i < l->out->term_count; i++)
        l->out->terms[i]->refused = true;
    return exact;
}

Term *lower_place_product(Lower *l, Context *c, const Term *place, const Instance *instance)
{
    PlaceSum sum;
    product_of_place(l->arena, place, &sum);
    Dtype dtype = place->reduce.argument->dtype;
    Tensor *places = store_places(l, place, &sum, instance);
    Term *others = lower_copy(l, c, sum.others[0], instance);
    for (int i = 1; i < sum.other_count; i++)
        others = lower_map(l, c, FUNCTION_ADD, dtype, others, lower_copy(l, c, sum.others[i], instance));
    Term *size = lower_map(l, c, FUNCTION_ABS, dtype, others, NULL);
    Term *finite = lower_map(l, c, FUNCTION_LT, DTYPE_BOOL, size, lower_number(l, c, dtype, INFINITY, place->span));
    Term *fast = lower_read_temporary(l, c, places, place->indices, instance, place->span);
    return lower_select(l, c, finite, fast, lower_refused(l, c, place, instance));
}
