#include "semiring.h"

static const struct {
    Reduction reduction;
    Function function;
    bool floats;                  /* only of floats */
} semirings[] = {
#define X(reduction, function, floats) { REDUCTION_##reduction, FUNCTION_##function, floats },
    SEMIRINGS(X)
#undef X
};

/* A mean is a sum that is divided in the end. */
static Reduction sum_of(const Term *reduce)
{
    return reduce->reduce.reduction == REDUCTION_MEAN ? REDUCTION_SUM : reduce->reduce.reduction;
}

static bool is_pair(Reduction reduction, const Term *map)
{
    for (size_t i = 0; i < sizeof semirings / sizeof *semirings; i++)
        if (semirings[i].reduction == reduction && semirings[i].function == map->map.function &&
            (!semirings[i].floats || dtype_kind(map->dtype) == KIND_FLOAT))
            return true;
    return false;
}

static bool only_orders(const Term *term)
{
    return term->kind == TERM_CONTRACT && term->reduce.over_count == 0 && term->dtype == term->reduce.argument->dtype;
}

/* A cast that loses nothing and that multiplying and adding know nothing of: among floats, or among complex numbers. */
static bool only_widens(const Term *term)
{
    if (term->kind != TERM_MAP || term->map.function != FUNCTION_CAST || term->map.arguments[0]->weak)
        return false;
    Dtype to = term->dtype, from = term->map.arguments[0]->dtype;
    return dtype_kind(to) >= KIND_FLOAT && dtype_kind(from) == dtype_kind(to) && dtype_significand(to) >= dtype_significand(from) &&
           dtype_size(to) > dtype_size(from);
}

static bool is_reduction(const Term *term)
{
    return term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE;
}

static const Term *argument_of(const Term *reduce)
{
    const Term *argument = reduce->reduce.argument;
    while (only_orders(argument) || only_widens(argument))
        argument = argument->kind == TERM_MAP ? argument->map.arguments[0] : argument->reduce.argument;
    return argument;
}

static const Term *combination(const Term *reduce, const Term *argument, Reduction reduction)
{
    bool pairs = argument->kind == TERM_MAP && argument->weak == WEAK_NO && is_pair(reduction, argument);
    return pairs && reduce->reduce.over_count ? argument : NULL;
}

const Term *semiring_top(const Term *reduce)
{
    return is_reduction(reduce) ? combination(reduce, argument_of(reduce), reduce->reduce.reduction) : NULL;
}

const Term *semiring_inner(const Term *reduce)
{
    const Term *inner = argument_of(reduce);
    return is_reduction(inner) && sum_of(inner) == sum_of(reduce) && inner->dtype == inner->reduce.argument->dtype ? inner : NULL;
}

/* Of a * b * c, (a * b) is no factor; of i32(a * b) * c, whose first product wraps around by itself, it is. */
static void each_factor(const Term *term, const Term *top, OnTerm *on, void *user)
{
    while (only_orders(term) && term->dtype == top->dtype)
        term = term->reduce.argument;
    if (term->kind != TERM_MAP || term->map.function != top->map.function || term->dtype != top->dtype) {
        on(user, term);
        return;
    }
    for (int i = 0; i < term->map.count; i++)
        each_factor(term->map.arguments[i], top, on, user);
}

void semiring_each_factor(const Term *top, OnTerm *on, void *user)
{
    each_factor(top, top, on, user);
}

static void count_factor(void *user, const Term *factor)
{
    (void)factor;
    ++*(int *)user;
}

int semiring_factor_count(const Term *top)
{
    int count = 0;
    semiring_each_factor(top, count_factor, &count);
    return count;
}

typedef struct Factors {
    const Term *first[2];
    int count;
} Factors;

static void note_factor(void *user, const Term *factor)
{
    Factors *f = user;
    if (f->count < 2)
        f->first[f->count] = factor;
    f->count++;
}

static bool is_reduced_alone(const Term *reduce, const Term *top, const Term *a, const Term *b)
{
    for (int i = 0; i < top->rank; i++)
        if (!indices_have(reduce->indices, reduce->rank, top->indices[i]) &&
            (!indices_have(a->indices, a->rank, top->indices[i]) || !indices_have(b->indices, b->rank, top->indices[i])))
            return true;
    return false;
}

const Term *semiring_any_order(const Term *reduce)
{
    if (!is_reduction(reduce))
        return NULL;
    const Term *innermost = reduce, *inner;
    while ((inner = semiring_inner(innermost)))
        innermost = inner;
    const Term *top = combination(innermost, argument_of(innermost), sum_of(innermost));
    Factors f = { .count = 0 };
    if (!top || !reduce->reduce.over_count)
        return NULL;
    semiring_each_factor(top, note_factor, &f);
    if (f.count > 2)
        return top;
    const Term *a = f.first[0], *b = f.first[1];
    return a->rank < top->rank && b->rank < top->rank && is_reduced_alone(reduce, top, a, b) ? top : NULL;
}
