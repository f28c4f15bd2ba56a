/* Extrema whose places are those of a product: see PlaceSum. */
#include "product.h"
#include "semiring.h"
#include "state.h"

typedef struct Summing {
    Arena *arena;
    const Term *reduce;
    PlaceSum *sum;
} Summing;

static void add_summand(void *user, const Term *value)
{
    Summing *s = user;
    bool contracted = false;
    for (int i = 0; i < s->reduce->reduce.over_count; i++)
        contracted |= term_has_index(value, s->reduce->reduce.over[i]);
    if (!contracted)
        ARENA_APPEND(s->arena, s->sum->others, s->sum->other_count, value);
    else if (s->sum->side_count++ < 2)
        s->sum->sides[s->sum->side_count - 1] = value;
}

bool product_of_place(Arena *arena, const Term *term, PlaceSum *sum)
{
    const Term *x = term->reduce.argument;
    *sum = (PlaceSum){ .side_count = 0 };
    if (term->kind != TERM_REDUCE || !state_needs_place(term) || dtype_kind(x->dtype) != KIND_FLOAT || x->kind != TERM_MAP ||
        x->map.function != FUNCTION_ADD || x->weak != WEAK_NO)
        return false;
    semiring_each_factor(x, add_summand, &(Summing){ arena, term, sum });
    return sum->side_count == 2 && sum->other_count > 0;
}

const Term *product_place_of_sides(Arena *arena, const Term *term, const PlaceSum *sum)
{
    Index **indices = NULL;
    int count = 0;
    Term *reduce = ARENA_NEW(arena, Term), *x = ARENA_NEW(arena, Term);
    *reduce = *term;
    *x = *term->reduce.argument;
    reduce->reduce.argument = x;
    x->map.arguments = ARENA_ARRAY(arena, Term *, 2);
    for (int s = 0; s < 2; s++) {
        x->map.arguments[s] = (Term *)sum->sides[s];
        for (int i = 0; i < sum->sides[s]->rank; i++)
            if (!indices_have(indices, count, sum->sides[s]->indices[i]))
                ARENA_APPEND(arena, indices, count, sum->sides[s]->indices[i]);
    }
    x->map.count = 2;
    x->indices = indices;
    x->rank = count;
    for (int i = 0; i < term->rank; i++)
        if (!indices_have(indices, count, term->indices[i]))
            return NULL;
    return reduce;
}
