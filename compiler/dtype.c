#include "dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    Kind kind;
    int bits;
    const char *c;
} facts[] = {
#define X(tag, name, bytes, kind, bits, c) { name, bytes, kind, bits, c },
    DTYPES(X)
#undef X
    { "none", 0, KIND_BOOL, 0, "void" },
};

const char *dtype_name(Dtype dtype) { return facts[dtype].name; }
size_t dtype_size(Dtype dtype) { return facts[dtype].bytes; }
Kind dtype_kind(Dtype dtype) { return facts[dtype].kind; }
int dtype_significand(Dtype dtype) { return facts[dtype].bits; }
int dtype_exponent(Dtype dtype) { return (1 << (8 * (int)facts[dtype].bytes - facts[dtype].bits - 1)) - 1; }
const char *dtype_c(Dtype dtype) { return facts[dtype].c; }

Dtype dtype_in_word(Dtype narrow, int count)
{
    return (int)facts[narrow].bytes * count < 4 ? DTYPE_I16 : narrow;
}

Dtype dtype_find(const char *name, size_t length)
{
    for (int d = 0; d < DTYPE_COUNT; d++)
        if (strlen(facts[d].name) == length && !memcmp(facts[d].name, name, length))
            return (Dtype)d;
    return DTYPE_NONE;
}

/* The narrowest float that holds every value of an integer type exactly, up to f64: numpy's rule for int with float. */
static Dtype float_for_int(Dtype dtype)
{
    switch (dtype) {
    case DTYPE_BOOL: case DTYPE_I8: return DTYPE_F16;
    case DTYPE_I16: return DTYPE_F32;
    default: return DTYPE_F64;
    }
}

static Dtype promote_floats(Dtype a, Dtype b)
{
    if (a == b)
        return a;
    bool both_narrow = facts[a].bytes == 2 && facts[b].bytes == 2;
    return both_narrow ? DTYPE_F32 : facts[a].bytes > facts[b].bytes ? a : b;
}

Dtype dtype_promote(Dtype a, Dtype b)
{
    if (facts[a].kind > facts[b].kind) {
        Dtype c = a;
        a = b;
        b = c;
    }
    Kind low = facts[a].kind, high = facts[b].kind;
    if (low == KIND_BOOL)
        return b;
    if (high == KIND_INT)
        return facts[a].bytes > facts[b].bytes ? a : b;
    if (high == KIND_FLOAT) {
        if (low == KIND_FLOAT)
            return promote_floats(a, b);
        Dtype f = float_for_int(a);
        return f == DTYPE_F16 && b == DTYPE_BF16 ? b : promote_floats(f, b);
    }
    Dtype part = low == KIND_COMPLEX ? dtype_real(a) : low == KIND_FLOAT ? a : float_for_int(a);
    return dtype_complex(promote_floats(part, dtype_real(b)));
}

Dtype dtype_widen(Dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16: case DTYPE_BF16: return DTYPE_F32;
    case DTYPE_I8: case DTYPE_I16: return DTYPE_I32;
    default: return dtype;
    }
}

Dtype dtype_float(Dtype dtype)
{
    return dtype_widen(facts[dtype].kind < KIND_FLOAT ? float_for_int(dtype) : dtype);
}

Dtype dtype_real(Dtype dtype)
{
    return dtype == DTYPE_C64 ? DTYPE_F32 : dtype == DTYPE_C128 ? DTYPE_F64 : dtype;
}

Dtype dtype_complex(Dtype dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_C128 ? DTYPE_C128 : DTYPE_C64;
}
