/* Powers: of integers, of real and of complex numbers. The square is a product, everywhere: an exact one where its
 * argument is. */
#include <math.h>
#include <stdlib.h>

#include "evaluate_value.h"

int64_t integer_power(Dtype dtype, int64_t base, int64_t exponent)
{
    if (exponent < 0)
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t power = 1, factor = (uint64_t)base;
    for (; exponent; exponent >>= 1, factor *= factor)
        if (exponent & 1)
            power *= factor;
    return wrap(dtype, power);
}

static bool is_exactly(Value a, double number)
{
    return a.re == number && a.im == 0 && a.bound == 0;
}

static bool may_be(Value a, double number)
{
    return fabs(a.re - number) <= a.bound;
}

/* ---- real numbers ---- */

static bool is_whole(Value a)
{
    return a.bound == 0 && a.re == trunc(a.re);
}

static bool is_odd(Value a)
{
    return is_whole(a) && fmod(a.re, 2) != 0;
}

static Value power_of_zero(Value x, Value y)
{
    if (may_be(y, 0) || (y.re < 0 && y.bound > 0))
        return value_open();
    return (Value){ .re = pow(x.re, y.re), .either = y.re > 0 || (is_odd(y) && x.either) };
}

/* Either is infinite, and none in doubt. */
static Value power_at_infinity(Dtype dtype, Value x, Value y)
{
    if (x.bound > 0 || y.bound > 0 || (isinf(y.re) && y.either) || (isinf(x.re) && x.either && is_whole(y)))
        return value_open();
    double power = pow(x.re, y.re);
    if (power != 0 && isfinite(power))
        return value_rounded(dtype, power, 0, function_facts[FUNCTION_POW].ulp, false);
    return (Value){ .re = power, .either = power == 0 };
}

/* How far x^y can be from `power` for an x between `low` and `high`: at a corner, as it rises or falls along both. */
static double corners(double low, double high, Value y, double power)
{
    double far = 0, ends[2] = { low, high }, exponents[2] = { value_low(y), value_high(y) };
    for (int i = 0; i < 4; i++)
        far = fmax(far, fabs(pow(ends[i & 1], exponents[i >> 1]) - power));
    return far;
}

static Value real_power(Dtype dtype, Value x, Value y, bool is_size)
{
    double ulp = function_facts[FUNCTION_POW].ulp;
    if (is_exactly(y, 0) || is_exactly(x, 1))
        return value_rounded(dtype, 1, 0, ulp, false);
    /* NaN^0 and 1^NaN are 1. */
    if (isnan(x.re) || isnan(y.re))
        return may_be(y, 0) || may_be(x, 1) ? value_open() : value_exact(NAN);
    if (is_exactly(y, 1))
        return x;
    if (is_exactly(y, 2))
        return value_mul(dtype, &x, &x);
    if (isinf(x.re) || isinf(y.re))
        return power_at_infinity(dtype, x, y);
    if (is_exactly(x, 0))
        return power_of_zero(x, y);
    double low = value_low(x), high = value_high(x), power = pow(x.re, y.re), carried;
    if (is_size)
        low = fmax(low, 0);
    if (low > 0 || (low == 0 && value_low(y) > 0))
        carried = corners(low, high, y, power);
    else if (is_whole(y) && (y.re > 0 || high < 0))
        carried = fmax(corners(low, high, y, power), is_odd(y) || high < 0 ? 0 : power);
    else
        return high < 0 && y.bound == 0 ? value_exact(NAN) : value_open();
    return isfinite(power) ? value_rounded(dtype, power, carried, ulp, false) : value_open();
}

/* ---- complex numbers ---- */

/* By products; a kernel may also take exp(y log x), so that its error is allowed as well. */
static Value whole_power(Dtype dtype, Value x, int exponent)
{
    Value power = value_exact(1), factor = x;
    for (int n = abs(exponent); n; n >>= 1) {
        if (n & 1)
            power = n == abs(exponent) && n == 1 ? factor : value_mul(dtype, &power, &factor);
        if (n > 1)
            factor = value_mul(dtype, &factor, &factor);
    }
    return exponent < 0 ? value_div(dtype, value_exact(1), power) : power;
}

static Value complex_power(Dtype dtype, Value x, Value y)
{
    enum { WHOLE_MAX = 64 };
    if (!value_is_finite(x) || !value_is_finite(y))
        return value_open();
    bool whole = y.im == 0 && is_whole(y) && fabs(y.re) <= WHOLE_MAX;
    if (is_exactly(y, 1) || is_exactly(y, 2))
        return whole_power(dtype, x, (int)y.re);
    Value log = map_complex(FUNCTION_LOG, dtype, x), exponent = value_mul(dtype, &y, &log);
    Value power = map_complex(FUNCTION_EXP, dtype, exponent);
    if (!power.open)
        power.bound += hypot(power.re, power.im) * 2 * function_facts[FUNCTION_POW].ulp * format_of(dtype)->unit;
    if (!whole)
        return power;
    Value product = is_exactly(y, 0) ? value_exact(1) : whole_power(dtype, x, (int)y.re);
    if (product.open)
        return product;
    /* Near 0 and at the cut the logarithm is open, but products are what kernels use there. */
    if (!power.open)
        product.bound = fmax(product.bound, power.bound);
    return product;
}

/* ---- either ---- */

Value map_power(Dtype dtype, Value x, Value y)
{
    if (x.open || y.open)
        return value_open();
    return dtype_kind(dtype) == KIND_COMPLEX ? complex_power(dtype, x, y) : real_power(dtype, x, y, false);
}

Value map_power_of_size(Dtype dtype, Value x, Value y)
{
    return x.open || y.open ? value_open() : real_power(dtype, x, y, true);
}
