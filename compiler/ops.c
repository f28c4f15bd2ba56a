#include "ops.h"

#include <ctype.h>
#include <string.h>

#include "dtype.h"

const FunctionFacts function_facts[FUNCTION_COUNT] = {
#define X(tag, name, arity, rule, complex, ulp) { name, arity, rule, complex, ulp },
    FUNCTIONS(X)
#undef X
};

const ReductionFacts reduction_facts[REDUCTION_COUNT] = {
#define X(tag, name, parameters, leaves, gives, empty, ordered, state) \
    { name, parameters, leaves, gives, empty, ordered, state },
    REDUCTIONS(X)
#undef X
};

const char *const ops_function_names[] = {
#define X(tag, name, arity, rule, complex, ulp) name,
    FUNCTIONS(X)
#undef X
#define X(tag, name, bytes, kind, bits, c) name,
    DTYPES(X)
#undef X
    NULL
};

const char *const ops_reduction_names[] = {
#define X(tag, name, parameters, leaves, gives, empty, ordered, state) name,
    REDUCTIONS(X)
#undef X
    NULL
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
