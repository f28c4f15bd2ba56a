#include "state.h"

#include <math.h>

/* Of which dtype a component is: the element's, its real part's, or a position. */
typedef enum { OF_ELEMENT, OF_REAL, OF_PLACE } Of;

typedef struct ComponentFacts {
    const char *name;
    Of of;
    Start start;
    Lift lift;
    Merge merge;                  /* of one that merges by itself, and of the element that is sought with its place */
} ComponentFacts;

typedef struct StateFacts {
    int count;
    ComponentFacts components[STATE_COMPONENTS_MAX];
    const char *merge;            /* merge_NAME_… of templates/state.c, which merges all components at once */
    const char *leading;          /* and its first argument, or "" */
    const char *group;            /* add_NAME_… of templates/state.c, which adds several elements at once, or NULL */
    bool skips;                   /* whether there is an element that changes nothing: */
    Start neutral;
} StateFacts;

static const StateFacts facts[STATE_COUNT] = {
    [STATE_SUM] = { 1, { { "sum", OF_ELEMENT, START_ZERO, LIFT_ELEMENT, MERGE_ADD } }, .skips = true, .neutral = START_ZERO },
    [STATE_PROD] = { 1, { { "product", OF_ELEMENT, START_ONE, LIFT_ELEMENT, MERGE_MUL } }, .skips = true,
                     .neutral = START_ONE },
    [STATE_MAX] = { 1, { { "largest", OF_ELEMENT, START_LEAST, LIFT_ELEMENT, MERGE_MAX } }, .skips = true,
                    .neutral = START_LEAST },
    [STATE_MIN] = { 1, { { "smallest", OF_ELEMENT, START_MOST, LIFT_ELEMENT, MERGE_MIN } }, .skips = true,
                    .neutral = START_MOST },
    [STATE_ANY] = { 1, { { "any", OF_ELEMENT, START_ZERO, LIFT_ELEMENT, MERGE_OR } }, .skips = true, .neutral = START_ZERO },
    [STATE_ALL] = { 1, { { "all", OF_ELEMENT, START_ONE, LIFT_ELEMENT, MERGE_AND } }, .skips = true, .neutral = START_ONE },
    /* Of powers of absolute values; see norm_component() for the others. */
    [STATE_NORM] = { 1, { { "norm", OF_REAL, START_ZERO, LIFT_ELEMENT, MERGE_ADD } }, .skips = true, .neutral = START_ZERO },
    [STATE_MOMENTS] = { 3, { { "count", OF_REAL, START_ZERO, LIFT_ONE, 0 },
                             { "mean", OF_ELEMENT, START_ZERO, LIFT_ELEMENT, 0 },
                             { "squares", OF_REAL, START_ZERO, LIFT_ZERO, 0 } }, .merge = "moments", .leading = "", .group = "moments" },
    [STATE_EXPONENTIALS] = { 2, { { "largest", OF_ELEMENT, START_LEAST, LIFT_ELEMENT, 0 },
                                  { "sum", OF_ELEMENT, START_ZERO, LIFT_ONE, 0 } },
                             .merge = "exponentials", .leading = "", .group = "exponentials", .skips = true, .neutral = START_LEAST },
    [STATE_ARGMAX] = { 2, { { "largest", OF_ELEMENT, START_LEAST, LIFT_ELEMENT, MERGE_MAX },
                            { "place", OF_PLACE, START_ZERO, LIFT_PLACE, 0 } },
                       .merge = "place", .leading = "1, ", .skips = true, .neutral = START_LEAST },
    [STATE_ARGMIN] = { 2, { { "smallest", OF_ELEMENT, START_MOST, LIFT_ELEMENT, MERGE_MIN },
                            { "place", OF_PLACE, START_ZERO, LIFT_PLACE, 0 } },
                       .merge = "place", .leading = "0, ", .skips = true, .neutral = START_MOST },
};

static State state_of(const Term *reduce)
{
    return reduce->kind == TERM_CONTRACT && reduce->reduce.reduction == REDUCTION_SUM
               ? STATE_SUM : reduction_facts[reduce->reduce.reduction].state;
}

Dtype register_dtype(Dtype dtype)
{
    return dtype_widen(dtype);
}

/* For p = inf and -inf a norm is an extremum of absolute values: none is below 0, and of none the norm is 0. */
static void norm_component(double p, Component *component)
{
    if (isinf(p)) {
        component->merge = p > 0 ? MERGE_MAX : MERGE_MIN;
        component->start = p > 0 ? START_ZERO : START_MOST;
    }
}

int state_components(const Term *reduce, Component components[STATE_COMPONENTS_MAX])
{
    const StateFacts *state = &facts[state_of(reduce)];
    Dtype element = register_dtype(reduce->reduce.argument->dtype);
    for (int c = 0; c < state->count; c++) {
        const ComponentFacts *f = &state->components[c];
        Dtype dtype = f->of == OF_PLACE ? DTYPE_I64 : f->of == OF_REAL ? dtype_real(element) : element;
        components[c] = (Component){ f->name, dtype, f->start, f->lift, f->merge };
    }
    if (state_of(reduce) == STATE_NORM)
        norm_component(reduce->reduce.parameter, &components[0]);
    return state->count;
}

Dtype state_dtype(const Term *reduce)
{
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    return components[0].dtype;
}

const char *state_group(const Term *reduce)
{
    bool is_real = dtype_kind(register_dtype(reduce->reduce.argument->dtype)) == KIND_FLOAT;
    return is_real ? facts[state_of(reduce)].group : NULL;
}

bool state_adds_exponentials(const Term *reduce)
{
    return state_of(reduce) == STATE_EXPONENTIALS;
}

const char *state_merge(const Term *reduce, const char **leading)
{
    *leading = facts[state_of(reduce)].leading;
    return facts[state_of(reduce)].merge;
}

int state_uses(const Term *reduce)
{
    const StateFacts *state = &facts[state_of(reduce)];
    return state_of(reduce) == STATE_NORM ? 2 : state->merge || !state->count ? 1 : state->count;
}

bool state_is_simple(const Term *reduce)
{
    return facts[state_of(reduce)].count == 1;
}

bool state_adds_products(const Term *reduce)
{
    const Term *element = reduce->reduce.argument;
    return state_of(reduce) == STATE_SUM && element->kind == TERM_MAP && element->map.function == FUNCTION_MUL;
}

bool state_needs_place(const Term *reduce)
{
    const StateFacts *state = &facts[state_of(reduce)];
    for (int c = 0; c < state->count; c++)
        if (state->components[c].lift == LIFT_PLACE)
            return true;
    return false;
}

bool state_wants_most(const Term *reduce)
{
    return state_of(reduce) == STATE_ARGMAX;
}

bool state_takes_rows(const Term *reduce)
{
    return state_needs_place(reduce) && register_dtype(reduce->reduce.argument->dtype) != DTYPE_BOOL;
}

int state_finder(const Term *const *reduces, int count, int r)
{
    State state = state_of(reduces[r]), finder = state == STATE_MAX ? STATE_ARGMAX : state == STATE_MIN ? STATE_ARGMIN : STATE_COUNT;
    for (int other = 0; other < count; other++)
        if (state_of(reduces[other]) == finder && reduces[other]->reduce.argument == reduces[r]->reduce.argument)
            return other;
    return -1;
}

int state_only(const Term *const *reduces, int count)
{
    int only = 0;
    for (int r = 1; r < count; r++)
        only = state_needs_place(reduces[r]) ? r : only;
    for (int r = 0; r < count; r++)
        if (r != only && state_finder(reduces, count, r) != only)
            return -1;
    return only;
}

bool state_skips(const Term *reduce, const Term *value)
{
    double sign = 1, p = reduce->reduce.parameter;
    while (value->kind == TERM_MAP && value->map.function == FUNCTION_CAST)
        value = value->map.arguments[0];
    if (value->kind == TERM_MAP && value->map.function == FUNCTION_NEG) {
        sign = -1;
        value = value->map.arguments[0];
    }
    const StateFacts *state = &facts[state_of(reduce)];
    if (value->kind != TERM_CONSTANT || !state->skips || (state_of(reduce) == STATE_NORM && !(p >= 0 && !isinf(p))))
        return false;
    double number = sign * value->constant.value;
    bool real = dtype_kind(reduce->reduce.argument->dtype) == KIND_FLOAT;
    switch (state->neutral) {
    case START_ZERO: return number == 0;
    case START_ONE: return number == 1;
    case START_LEAST: return number == -INFINITY && real;
    case START_MOST: return number == INFINITY && real;
    }
    return false;
}
