/* Functions of a complex number. A kernel makes them of several real ones, so its error is counted in ulps of the
 * modulus, for each part; bounds of arguments pass through the largest slope nearby. */
#include "evaluate_value.h"

#include <complex.h>              /* after the others: its `complex` is a field's name there */
#include <float.h>
#include <math.h>
#include <string.h>

/* Both parts as they are: re + im * I would lose an infinity or the sign of a zero. */
static double complex number_of(Value z)
{
    double parts[2] = { z.re, z.im };
    double complex number;
    memcpy(&number, parts, sizeof number);
    return number;
}

static Value rounded(Dtype dtype, Function function, double complex w, double carried)
{
    const Format *format = format_of(dtype);
    double ulps = 3 * function_facts[function].ulp + 8, size = cabs(w) + carried;
    double bound = carried * (1 + 1e-12) + ulps * fmax(2 * format->unit * size, format->tiny) + 32 * DBL_EPSILON * size;
    if (!(size + bound < format->huge))
        return value_open();
    return (Value){ .re = creal(w), .im = cimag(w), .bound = bound, .either = creal(w) == 0 || cimag(w) == 0 };
}

/* The square root and the logarithm jump at the negative real numbers, by the sign of the zero beside them. */
static bool is_at_cut(Value z)
{
    return value_low(z) < 0 && fabs(z.im) <= z.bound && (z.bound > 0 || z.either);
}

static Value square_root(Dtype dtype, Value z)
{
    if (z.re == 0 && z.im == 0 && z.bound == 0)
        return z;
    double size = hypot(z.re, z.im), moved = value_distance(dtype, z);
    if (is_at_cut(z) || moved >= size)
        return value_open();
    return rounded(dtype, FUNCTION_SQRT, csqrt(number_of(z)), moved / sqrt(size));
}

static Value logarithm(Dtype dtype, Value z)
{
    double size = hypot(z.re, z.im), moved = value_distance(dtype, z);
    if (is_at_cut(z) || moved >= size)
        return value_open();
    /* Where the modulus is near 1, its logarithm is as far off as the modulus. */
    double carried = -log1p(-moved / size) + 8 * format_of(dtype)->unit;
    return rounded(dtype, FUNCTION_LOG, clog(number_of(z)), carried);
}

/* tan and tanh: |tan(a) - tan(b)| = |sin(a - b)| / |cos a cos b|. `along`: the part along which the divisor grows. */
static Value tangent(Dtype dtype, Function function, Value z, double complex w, double divisor, double along)
{
    double moved = value_distance(dtype, z), least = divisor - moved * cosh(fabs(along) + moved);
    if (moved == 0)
        return rounded(dtype, function, w, 0);
    if (!(least > 0) || !isfinite(divisor))
        return value_open();
    return rounded(dtype, function, w, sinh(moved) / divisor / least);
}

Value map_complex(Function function, Dtype dtype, Value z)
{
    if (z.open)
        return z;
    switch (function) {
    case FUNCTION_NEG: return value_negate(dtype, z);
    case FUNCTION_ABS: return value_modulus(dtype, z);
    case FUNCTION_SQUARE: return value_mul(dtype, &z, &z);
    default: break;
    }
    if (!value_is_finite(z))
        return value_open();
    double complex w = number_of(z);
    double moved = value_distance(dtype, z), across = cosh(fabs(z.im) + moved), along = cosh(fabs(z.re) + moved);
    switch (function) {
    case FUNCTION_RECIP: return value_div(dtype, value_exact(1), z);
    case FUNCTION_SQRT: return square_root(dtype, z);
    case FUNCTION_RSQRT: return value_div(dtype, value_exact(1), square_root(dtype, z));
    case FUNCTION_LOG: return logarithm(dtype, z);
    case FUNCTION_EXP: return rounded(dtype, function, cexp(w), cabs(cexp(w)) * expm1(moved));
    case FUNCTION_SIN: return rounded(dtype, function, csin(w), moved > 0 ? moved * across : 0);
    case FUNCTION_COS: return rounded(dtype, function, ccos(w), moved > 0 ? moved * across : 0);
    case FUNCTION_SINH: return rounded(dtype, function, csinh(w), moved > 0 ? moved * along : 0);
    case FUNCTION_COSH: return rounded(dtype, function, ccosh(w), moved > 0 ? moved * along : 0);
    case FUNCTION_TAN: return tangent(dtype, function, z, ctan(w), cabs(ccos(w)), z.im);
    case FUNCTION_TANH: return tangent(dtype, function, z, ctanh(w), cabs(ccosh(w)), z.re);
    default: return value_open();
    }
}
