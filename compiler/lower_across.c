/* A reduction of what becomes of a product, over indices of both of its sides, is the same reduction twice: over one side's own
 * indices, which takes the products from a tile's registers, and over the others, of its results. */
#include "lowering.h"

/* The term with other indices to run over and to keep. */
static Term *reduced_along(Lower *l, const Term *term, Term *argument, const IndexSet *over, Index **indices, int rank)
{
    Term *copy = ARENA_NEW(l->arena, Term);
    *copy = *term;
    copy->indices = indices;
    copy->rank = rank;
    copy->reduce.argument = argument;
    copy->reduce.over = over->list;
    copy->reduce.over_count = over->count;
    return copy;
}

bool lower_is_across(const Lower *l, const Term *term)
{
    return l->kinds[term->id] & (PRODUCT_ACROSS | PRODUCT_ACROSS_SECOND);
}

void lower_across_first(Lower *l, const Term *const *terms, int count)
{
    const Term *lead = terms[0];
    Product product;
    IndexSet over, rest, kept = { NULL, 0 };
    product_match(l->arena, product_inside(l->arena, lead->reduce.argument), &product);
    product_divide(l->arena, &product, (l->kinds[lead->id] & PRODUCT_ACROSS_SECOND) != 0, lead, &over, &rest);
    for (int i = 0; i < lead->rank; i++)
        ARENA_APPEND(l->arena, kept.list, kept.count, lead->indices[i]);
    for (int i = 0; i < rest.count; i++)
        ARENA_APPEND(l->arena, kept.list, kept.count, rest.list[i]);
    const Instance *instance = NULL;
    Context own = lower_open(l, kept.list, kept.count, &instance);
    for (int i = 0; i < over.count; i++)
        instance = lower_link(l, instance, over.list[i], lower_index(l, own.statement, over.list[i]));
    for (int t = 0; t < count; t++) {
        Across *across = ARENA_NEW(l->arena, Across);
        across->first = reduced_along(l, terms[t], terms[t]->reduce.argument, &over, kept.list, kept.count);
        across->second = reduced_along(l, terms[t], across->first, &rest, terms[t]->indices, terms[t]->rank);
        own.root = across->first;
        across->stored = lower_store_in(l, &own, lower_copy_reduction(l, &own, across->first, instance));
        across->term = terms[t];
        across->next = l->across;
        l->across = across;
    }
    lower_end(l, own.statement, lead->span);
}

Term *lower_across(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    const Across *across = l->across;
    while (across && across->term != term)
        across = across->next;
    if (!across) {
        lower_across_first(l, &term, 1);
        across = l->across;
    }
    Forced forced = { l->forced, across->first, across->stored, across->first->indices };
    l->forced = &forced;
    Term *made = lower_copy_reduction(l, c, across->second, instance);
    l->forced = forced.outer;
    return made;
}
