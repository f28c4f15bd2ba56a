#include "ops.h"

#include <ctype.h>
#include <string.h>

#include "diag.h"
#include "dtype.h"
#include "text.h"

const FunctionFacts function_facts[FUNCTION_COUNT] = {
#define X(tag, name, arity, rule, complex, ulp) { name, arity, rule, complex, ulp },
    FUNCTIONS(X)
#undef X
};

double function_scaling(Function function, Dtype dtype)
{
#define X(tag, of, roundings)                          \
    if (function == FUNCTION_##tag && dtype == (of)) \
        return roundings;
    SCALED_FUNCTIONS(X)
#undef X
    return 0;
}

double function_coarseness(Function function, Dtype dtype)
{
#define X(tag, of, error)                              \
    if (function == FUNCTION_##tag && dtype == (of)) \
        return error;
    COARSE_FUNCTIONS(X)
#undef X
    return 0;
}

const ReductionFacts reduction_facts[REDUCTION_COUNT] = {
#define X(tag, name, parameters, leaves, gives, empty, ordered, nests, state) \
    { name, parameters, leaves, gives, empty, ordered, nests, state },
    REDUCTIONS(X)
#undef X
};

static const char *const function_names[] = {
#define X(tag, name, arity, rule, complex, ulp) name,
    FUNCTIONS(X)
#undef X
#define X(tag, name, bytes, kind, bits, c) name,
    DTYPES(X)
#undef X
};

static const char *const reduction_names[] = {
#define X(tag, name, parameters, leaves, gives, empty, ordered, nests, state) name,
    REDUCTIONS(X)
#undef X
};

/* What reductions are called elsewhere. */
static const struct {
    const char *written;
    Reduction reduction;
} foreign[] = {
    { "avg", REDUCTION_MEAN },       { "average", REDUCTION_MEAN },    { "total", REDUCTION_SUM },
    { "count", REDUCTION_SUM },      { "add", REDUCTION_SUM },         { "product", REDUCTION_PROD },
    { "maximum", REDUCTION_MAX },    { "minimum", REDUCTION_MIN },     { "variance", REDUCTION_VAR },
    { "stddev", REDUCTION_STD },     { "lse", REDUCTION_LOGSUMEXP },   { "sort", REDUCTION_TOPK },
    { "argsort", REDUCTION_ARGTOPK },
};

Function function_find(const char *name, size_t length)
{
    if (dtype_find(name, length) != DTYPE_NONE)
        return FUNCTION_CAST;
    for (int f = 0; f < FUNCTION_CAST; f++) {
        const char *own = function_facts[f].name;
        if (isalpha((unsigned char)own[0]) && strlen(own) == length && !memcmp(own, name, length))
            return (Function)f;
    }
    return FUNCTION_NONE;
}

Reduction reduction_find(const char *name, size_t length)
{
    for (int r = 0; r < REDUCTION_COUNT; r++)
        if (strlen(reduction_facts[r].name) == length && !memcmp(reduction_facts[r].name, name, length))
            return (Reduction)r;
    return REDUCTION_NONE;
}

const char *ops_nearest_function(const char *word, size_t length)
{
    const char *near = diag_nearest(word, length, function_names, sizeof function_names / sizeof *function_names);
    return near && strlen(near) == length && !memcmp(near, word, length) ? NULL : near;    /* "cast" is not for writing */
}

const char *ops_nearest_reduction(Arena *arena, const char *word, size_t length)
{
    const char *near = diag_nearest(word, length, reduction_names, REDUCTION_COUNT);
    Reduction reduction = near ? reduction_find(near, strlen(near)) : REDUCTION_NONE;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strlen(foreign[i].written) == length && !memcmp(foreign[i].written, word, length))
            reduction = foreign[i].reduction;
    if (reduction == REDUCTION_NONE)
        return NULL;
    const ReductionFacts *facts = &reduction_facts[reduction];
    return arena_format(arena, "did you mean '%s%s'?", facts->name, facts->parameters == NEEDS_PARAMETER ? "(10)" : "");
}

const char *ops_reduction_hint(Arena *arena, const char *word, size_t length)
{
    const char *near = ops_nearest_reduction(arena, word, length);
    Text text = text_new(arena);
    text_put(&text, "the reductions are");
    for (int r = 0; r < REDUCTION_COUNT; r++)
        text_print(&text, "%s %s", r ? "," : "", reduction_names[r]);
    return near ? near : text.bytes;
}
