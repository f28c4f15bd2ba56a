/* Reductions of a reduction of the same kind, as in x[i,j,k] | sum i | sum k: one of all their indices, whose loops go along memory, whichever
 * is written first. */
#include "lowering.h"

typedef struct Uses {
    const Term *of;
    int count, reads;             /* of the term; arrays below it */
} Uses;

static void count_use(void *user, const Term *term)
{
    Uses *uses = user;
    uses->count += term == uses->of;
}

static void count_read(void *user, const Term *term)
{
    Uses *uses = user;
    uses->reads += term->kind == TERM_READ;
}

/* Whether a reduction is of the same one of an array's elements, which nobody else asks for: then it is one of all of these. */
static bool goes_through(const Lower *l, const Term *term)
{
    const Term *inner = term->reduce.argument;
    Uses uses = { .of = inner };
    if ((inner->kind != TERM_REDUCE && inner->kind != TERM_CONTRACT) || inner->reduce.reduction != term->reduce.reduction ||
        inner->reduce.parameter != term->reduce.parameter || inner->dtype != term->dtype || !reduction_nests(inner) || !reduction_nests(term) ||
        dtype_kind(inner->reduce.argument->dtype) == KIND_COMPLEX || (l->kinds[inner->id] | l->kinds[term->id]) & ~PRODUCT_ROUNDS ||
        l->facts[inner->id].can_miss ||
        (l->facts[inner->reduce.argument->id].cost > COST_CHEAP && !goes_through(l, inner)))
        return false;
    for (int i = 0; i < l->in->term_count; i++)
        term_each_argument(l->in->terms[i], count_use, &uses);
    for (int s = 0; s < l->in->statement_count; s++)
        for (int o = 0; o < l->in->statements[s]->output_count; o++)
            count_use(&uses, l->in->statements[s]->outputs[o].value);
    term_each_below(l->arena, inner->reduce.argument, count_read, &uses);
    return uses.count == 1 && uses.reads == 1;
}

Term lower_as_one(const Lower *l, const Term *term)
{
    Term one = *term;
    while (one.kind != TERM_CONTRACT && goes_through(l, &one)) {
        const Term *inner = one.reduce.argument;
        Index **over = ARENA_ARRAY(l->arena, Index *, one.reduce.over_count + inner->reduce.over_count);
        int count = 0;
        for (int i = 0; i < one.reduce.over_count + inner->reduce.over_count; i++) {
            Index *index = i < one.reduce.over_count ? one.reduce.over[i] : inner->reduce.over[i - one.reduce.over_count];
            int at = count++;
            for (; at > 0 && over[at - 1]->id > index->id; at--)
                over[at] = over[at - 1];
            over[at] = index;
        }
        one.reduce.over = over;
        one.reduce.over_count = count;
        one.reduce.declared = inner->reduce.declared;
        one.reduce.argument = inner->reduce.argument;
    }
    return one;
}
