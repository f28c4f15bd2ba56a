/* Arithmetic on values with bounds. */
#include "evaluate_value.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- formats ---- */

const Format *format_of(Dtype dtype)
{
    static const Format half = { 11, -24, 0x1p-11, 0x1p-24, 65504 };
    static const Format brain = { 8, -133, 0x1p-8, 0x1p-133, 0x1.FEp127 };
    static const Format single = { 24, -149, 0x1p-24, 0x1p-149, FLT_MAX };
    static const Format full = { 53, -1074, 0x1p-53, 0x1p-1072, DBL_MAX };   /* tiny: the evaluator's own as well */
    switch (dtype_real(dtype)) {
    case DTYPE_F16: return &half;
    case DTYPE_BF16: return &brain;
    case DTYPE_F32: return &single;
    default: return &full;
    }
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t significand_of(double x, int *weight)
{
    uint64_t bits = bits_of(x), fraction = bits & ((1ull << 52) - 1);
    int exponent = bits >> 52 & 2047;
    *weight = (exponent ? exponent : 1) - 1075;
    return exponent ? fraction | 1ull << 52 : fraction;
}

int last_bit(double x)
{
    int weight;
    uint64_t significand = significand_of(x, &weight);
    return weight + __builtin_ctzll(significand);
}

static int first_bit(double x)
{
    int weight;
    uint64_t significand = significand_of(x, &weight);
    return weight + 63 - __builtin_clzll(significand);
}

static bool format_holds(const Format *format, double x)
{
    if (x == 0)
        return true;
    if (!(fabs(x) <= format->huge))
        return false;
    int last = last_bit(x);
    return last >= format->lowest && first_bit(x) - last < format->digits;
}

double rounding_errors(const Format *format, double n)
{
    double error = n * format->unit;
    return error < 1 ? error / (1 - error) : INFINITY;
}

bool sum_is_exact(double a, double b)
{
    double sum = a + b, back = sum - a;
    return (a - (sum - back)) + (b - back) == 0;
}

/* Whether its significand has no more than half of a float64's digits, as that of each f32. */
static bool is_half_as_long(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << (64 - (DBL_MANT_DIG + 1) / 2) == 0;
}

bool product_is_exact(double a, double b)
{
    double product = a * b;
    bool fits = (is_half_as_long(a) && is_half_as_long(b)) || fma(a, b, -product) == 0;
    /* fma() cannot see what lies below the smallest denormal. */
    return fits && (product == 0 ? a == 0 || b == 0 : fabs(product) >= DBL_MIN / DBL_EPSILON);
}

int64_t wrap(Dtype dtype, uint64_t integer)
{
    switch (dtype) {
    case DTYPE_BOOL: return integer != 0;
    case DTYPE_I8: return (int8_t)integer;
    case DTYPE_I16: return (int16_t)integer;
    case DTYPE_I32: return (int32_t)integer;
    default: return (int64_t)integer;
    }
}

/* ---- making Values ---- */

Value value_exact(double re)
{
    return (Value){ .re = re };
}

Value value_whole(int64_t integer)
{
    return (Value){ .re = (double)integer, .integer = integer };
}

Value value_parts(double re, double im)
{
    return (Value){ .re = re, .im = im };
}

Value value_open(void)
{
    return (Value){ .bound = INFINITY, .open = true };
}

static bool is_complex(Dtype dtype)
{
    return dtype_kind(dtype) == KIND_COMPLEX;
}

/* An infinity or a NaN that every kernel has; of an infinity, perhaps with the other sign. */
static Value special(double re, bool either)
{
    return (Value){ .re = re, .either = either && isinf(re) };
}

/* 2^n, of a normal number. */
static double power_of_2(int n)
{
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double ulp_of(const Format *format, double x)
{
    int exponent = x == 0 ? -1074 : first_bit(x) - format->digits + 1;
    return exponent < -1022 ? format->tiny : fmax(power_of_2(exponent), format->tiny);
}

/* How far a result's parts, the larger of which has this size, may be off; infinite where it may be anything. `error` is the
 * evaluator's own. */
static double rounding_bound(const Format *format, double largest, double carried, double ulps, double error)
{
    double size = largest + carried;
    /* The nearest number is within half an ulp of the exact one; what is further off may have larger ulps. */
    double reach = ulps > 0.5 ? size * (1 + 2 * ulps * format->unit) : size;
    double bound = carried + ulps * ulp_of(format, reach) + size * error;
    /* What may round to infinity may be anything further on. */
    return size + bound < format->huge ? bound : INFINITY;
}

/* The bound of one operation's result: see value_rounded(). */
static double result_bound(const Format *format, double re, double carried, double ulps, bool exact)
{
    return exact && carried == 0 && format_holds(format, re) ? 0 : rounding_bound(format, fabs(re), carried, ulps, VALUE_ERROR);
}

static Value bounded(double re, double im, double bound, bool either)
{
    return bound == INFINITY ? value_open() : (Value){ .re = re, .im = im, .bound = bound, .either = either };
}

Value value_rounded(Dtype dtype, double re, double carried, double ulps, bool exact)
{
    return bounded(re, 0, result_bound(format_of(dtype), re, carried, ulps, exact), re == 0);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

Value value_either(Dtype dtype, Value a, Value b)
{
    if (a.open || b.open)
        return value_open();
    if (dtype_kind(dtype) < KIND_FLOAT)
        return a.integer == b.integer ? a : value_open();
    Value both = a;
    both.either = a.either || b.either || signbit(a.re) != signbit(b.re) || signbit(a.im) != signbit(b.im);
    if (same(a.re, b.re) && same(a.im, b.im)) {
        both.bound = fmax(a.bound, b.bound);
        return both;
    }
    if (!value_is_finite(a) || !value_is_finite(b))
        return value_open();
    both.bound = fmax(a.bound, (fmax(fabs(a.re - b.re), fabs(a.im - b.im)) + b.bound) * (1 + VALUE_ERROR));
    return both;
}

bool value_is_nan(Value a)
{
    return isnan(a.re) || isnan(a.im);
}

bool value_is_finite(Value a)
{
    return isfinite(a.re) && isfinite(a.im);
}

double value_low(Value a)
{
    return a.bound > 0 ? nextafter(a.re - a.bound, -INFINITY) : a.re;
}

double value_high(Value a)
{
    return a.bound > 0 ? nextafter(a.re + a.bound, INFINITY) : a.re;
}

double value_distance(Dtype dtype, Value a)
{
    return is_complex(dtype) ? a.bound * 1.4142135623730952 : a.bound;
}

double value_reach(Value a)
{
    double size = a.im == 0 ? fabs(a.re) : hypot(a.re, a.im) * (1 + VALUE_ERROR);
    return size + a.bound * 1.5;    /* more than sqrt 2, for both parts */
}

/* ---- real arithmetic ---- */

static Value real_add(Dtype dtype, Value a, Value b)
{
    if (isfinite(a.re) && isfinite(b.re))
        return value_rounded(dtype, a.re + b.re, a.bound + b.bound, 0.5, sum_is_exact(a.re, b.re));
    bool unsure = (isinf(a.re) && a.either) || (isinf(b.re) && b.either);
    if (unsure && isinf(a.re) && isinf(b.re))
        return value_open();
    return special(a.re + b.re, unsure);
}

static bool surely_not_zero(Value a)
{
    return fabs(a.re) > a.bound;
}

static bool is_zero(Value a)
{
    return a.re == 0 && a.bound == 0;
}

static Value real_mul(Dtype dtype, const Value *a, const Value *b)
{
    bool unsure = ((a->re == 0 || isinf(a->re)) && a->either) || ((b->re == 0 || isinf(b->re)) && b->either);
    double product = a->re * b->re;
    if (isfinite(a->re) && isfinite(b->re)) {
        double carried = fabs(a->re) * b->bound + fabs(b->re) * a->bound + a->bound * b->bound;
        double bound = result_bound(format_of(dtype), product, carried, 0.5, product_is_exact(a->re, b->re));
        return bounded(product, 0, bound, bound > 0 ? product == 0 : unsure);
    }
    /* What may be 0 or not makes NaN or infinity of infinity. */
    bool unsure_zero = !surely_not_zero(*a) || !surely_not_zero(*b), zero = is_zero(*a) || is_zero(*b);
    if (isnan(a->re) || isnan(b->re) || zero || !unsure_zero)
        return special(product, unsure);
    return value_open();
}

static Value divide_by_zero(Value a, Value b)
{
    if (isnan(a.re) || is_zero(a))
        return special(NAN, false);
    if (!surely_not_zero(a))
        return value_open();
    return special(a.re / b.re, b.either || (isinf(a.re) && a.either));
}

static Value real_div(Dtype dtype, Value a, Value b)
{
    if (isnan(a.re) || isnan(b.re) || (isinf(a.re) && isinf(b.re)))
        return special(NAN, false);
    if (is_zero(b))
        return divide_by_zero(a, b);
    if (!surely_not_zero(b))
        return value_open();
    double quotient = a.re / b.re;
    bool unsure = ((a.re == 0 || isinf(a.re)) && a.either) || (isinf(b.re) && b.either);
    if (isinf(a.re))
        return special(quotient, unsure);
    if (isinf(b.re))
        return (Value){ .re = quotient, .either = true };
    double carried = (a.bound + fabs(quotient) * b.bound) / (fabs(b.re) - b.bound) * (1 + VALUE_ERROR);
    bool exact = product_is_exact(quotient, b.re) && quotient * b.re == a.re;
    Value result = value_rounded(dtype, quotient, carried, 0.5, exact);
    result.either = result.bound > 0 ? result.either : unsure;
    return result;
}

/* ---- complex arithmetic: the bounds hold for each part ---- */

/* A kernel's complex operation is a few real ones; so many ulps of the modulus cover them. */
static const double complex_ulps = 4;

static Value complex_add(Dtype dtype, Value a, Value b)
{
    Value re = real_add(dtype, (Value){ .re = a.re, .bound = a.bound, .either = a.either },
                        (Value){ .re = b.re, .bound = b.bound, .either = b.either });
    Value im = real_add(dtype, (Value){ .re = a.im, .bound = a.bound, .either = a.either },
                        (Value){ .re = b.im, .bound = b.bound, .either = b.either });
    if (re.open || im.open)
        return value_open();
    return (Value){ .re = re.re, .im = im.re, .bound = fmax(re.bound, im.bound), .either = re.either || im.either };
}

static double least_bit(const double *x, int count)
{
    double least = INFINITY;
    for (int i = 0; i < count; i++)
        least = x[i] == 0 ? least : fmin(least, ldexp(1, last_bit(x[i])));
    return isinf(least) ? 0 : least;
}

static bool complex_product_is_exact(const Format *format, Value a, Value b, const double p[4], double re, double im)
{
    bool exact = a.bound == 0 && b.bound == 0 && product_is_exact(a.re, b.re) && product_is_exact(a.im, b.im) &&
                 product_is_exact(a.re, b.im) && product_is_exact(a.im, b.re) && sum_is_exact(p[0], -p[1]) &&
                 sum_is_exact(p[2], p[3]) && format_holds(format, re) && format_holds(format, im);
    for (int i = 0; i < 4 && exact; i++)
        exact = format_holds(format, p[i]);
    return exact;
}

static Value complex_mul(Dtype dtype, Value a, Value b)
{
    if (!value_is_finite(a) || !value_is_finite(b))
        return value_open();
    const Format *format = format_of(dtype);
    const double p[4] = { a.re * b.re, a.im * b.im, a.re * b.im, a.im * b.re };
    double re = p[0] - p[1], im = p[2] + p[3], inside = fmax(fmax(fabs(p[0]), fabs(p[1])), fmax(fabs(p[2]), fabs(p[3])));
    if (complex_product_is_exact(format, a, b, p, re, im))
        return (Value){ .re = re, .im = im, .either = re == 0 || im == 0, .inside = 2 * inside, .grain = least_bit(p, 4) };
    double carried = (fabs(a.re) + fabs(a.im)) * b.bound + (fabs(b.re) + fabs(b.im)) * a.bound + 2 * a.bound * b.bound;
    double size = value_reach(a) * value_reach(b);
    double rounding = size * (complex_ulps * format->unit + VALUE_ERROR) + complex_ulps * format->tiny;
    if (!(2 * size + carried + rounding < format->huge))
        return value_open();
    return (Value){ .re = re, .im = im, .bound = carried + rounding, .either = re == 0 || im == 0, .inside = 2 * inside };
}

/* The textbook's way squares the divisor's modulus; where that leaves the range of the dtype, kernels may differ. */
static Value complex_div(Dtype dtype, Value a, Value b)
{
    const Format *format = format_of(dtype);
    double size = hypot(b.re, b.im), away = size - value_distance(dtype, b), top = value_reach(a);
    if (!value_is_finite(a) || !value_is_finite(b) || !(away > 0))
        return value_open();
    double reach = value_reach(b), least = format->tiny / (format->unit * format->unit);
    if (!(4 * reach * reach < format->huge && 4 * reach * top < format->huge && away * away > least))
        return value_open();
    double norm = b.re * b.re + b.im * b.im;
    double re = (a.re * b.re + a.im * b.im) / norm, im = (a.im * b.re - a.re * b.im) / norm, quotient = hypot(re, im);
    double carried = (value_distance(dtype, a) + quotient * value_distance(dtype, b)) / away * (1 + VALUE_ERROR);
    double rounding = (quotient + carried) * (4 * complex_ulps * format->unit + 2 * VALUE_ERROR) +
                      complex_ulps * format->tiny * (1 + (1 + top) / fmin(away, away * away));
    if (!(quotient + carried + rounding < format->huge))
        return value_open();
    return (Value){ .re = re, .im = im, .bound = carried + rounding, .either = re == 0 || im == 0 };
}

/* ---- arithmetic of either kind ---- */

Value value_add(Dtype dtype, Value a, Value b)
{
    if (a.open || b.open)
        return value_open();
    return is_complex(dtype) ? complex_add(dtype, a, b) : real_add(dtype, a, b);
}

Value value_negate(Dtype dtype, Value a)
{
    a.re = -a.re;
    a.im = is_complex(dtype) ? -a.im : 0;
    return a;
}

Value value_mul(Dtype dtype, const Value *a, const Value *b)
{
    if (a->open || b->open)
        return value_open();
    return is_complex(dtype) ? complex_mul(dtype, *a, *b) : real_mul(dtype, a, b);
}

static bool may_be_denormal(const Value *a)
{
    return fabs(a->re) - a->bound < FLT_MIN && (a->re != 0 || a->bound > 0);
}

/* The units that add up products of bf16 take denormal numbers for 0, products and sums of that size as well. Sums of
 * multiples of the least normal number are none; to others a product, and the addition that takes it, add so much. */
Value value_mul_flushed(const Value *a, const Value *b)
{
    Value product = value_mul(DTYPE_F32, a, b);
    bool flushes = !a->open && !b->open && (may_be_denormal(a) || may_be_denormal(b));
    if (product.open || isnan(product.re))
        return product;
    if (isinf(product.re))
        return flushes ? value_open() : product;
    if (flushes)
        product.bound += value_reach(product);
    if (product.bound > 0 || (product.re != 0 && last_bit(product.re) < FLT_MIN_EXP - 1))
        product.bound += 4 * FLT_MIN;
    product.either |= flushes;
    return product;
}

Value value_div(Dtype dtype, Value a, Value b)
{
    if (a.open || b.open)
        return value_open();
    return is_complex(dtype) ? complex_div(dtype, a, b) : real_div(dtype, a, b);
}

Value value_root(Dtype dtype, Value a)
{
    if (a.open || isnan(a.re) || isinf(a.re))
        return a;
    double root = sqrt(a.re), low = sqrt(fmax(0, value_low(a))), high = sqrt(value_high(a));
    return value_rounded(dtype, root, fmax(high - root, root - low), 0.5,
                         product_is_exact(root, root) && root * root == a.re);
}

Value value_modulus(Dtype dtype, Value a)
{
    if (a.open)
        return a;
    if (!is_complex(dtype)) {
        a.re = fabs(a.re);
        a.either = false;
        return a;
    }
    if (value_is_nan(a) && (isinf(a.re) || isinf(a.im)))
        return value_open();    /* C says infinity, the formula NaN */
    if (!value_is_finite(a))
        return value_exact(isnan(a.re) || isnan(a.im) ? NAN : INFINITY);
    double modulus = hypot(a.re, a.im);
    Value result = value_rounded(dtype_real(dtype), modulus, value_distance(dtype, a), function_facts[FUNCTION_ABS].ulp,
                                 modulus == 0);
    result.either = false;
    return result;
}

/* ---- casts ---- */

/* Cut towards zero, saturated; NaN is 0. */
static int64_t float_to_integer(Dtype to, double x)
{
    int bits = dtype_significand(to);
    double limit = ldexp(1, bits - 1);
    int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
    return isnan(x) ? 0 : x >= limit ? most : x <= -limit ? -most - 1 : (int64_t)x;
}

static Value cast_to_integer(Dtype to, Value a)
{
    if (isinf(a.re) && a.either)
        return value_open();
    int64_t low = float_to_integer(to, value_low(a)), high = float_to_integer(to, value_high(a));
    return low == high ? value_whole(low) : value_open();
}

static Value cast_to_bool(Dtype from, Value a)
{
    if (dtype_kind(from) < KIND_FLOAT)
        return value_whole(a.integer != 0);
    bool yes = fabs(a.re) > a.bound || fabs(a.im) > a.bound || value_is_nan(a);
    return yes ? value_whole(1) : a.bound == 0 ? value_whole(0) : value_open();
}

/* A float64 cannot hold every i64; a kernel rounds it once, the evaluator twice. */
static Value cast_from_integer(Dtype to, int64_t integer)
{
    double re = (double)integer;
    bool exact = fabs(re) < 0x1p63 && (int64_t)re == integer;
    Value result = value_rounded(to, re, 0, 0.5, exact);
    result.either = false;
    return result;
}

/* Between floats, or between the complex: half an ulp where `to` does not hold the number. */
static Value cast_float(Dtype to, Value a)
{
    const Format *format = format_of(to);
    if (!value_is_finite(a))
        return is_complex(to) ? value_open() : a;
    if (a.bound == 0 && format_holds(format, a.re) && format_holds(format, a.im))
        return a;
    return bounded(a.re, a.im, rounding_bound(format, fmax(fabs(a.re), fabs(a.im)), a.bound, 0.5, 0), a.either);
}

bool value_is_same(Dtype to, Dtype from)
{
    bool floats = dtype_kind(from) >= KIND_FLOAT && dtype_kind(to) >= KIND_FLOAT;
    return floats && format_of(to)->digits >= format_of(from)->digits && format_of(to)->lowest <= format_of(from)->lowest;
}

Value value_cast(Dtype to, Dtype from, Value a)
{
    if (a.open)
        return a;
    Kind kind = dtype_kind(to);
    if (kind == KIND_BOOL)
        return cast_to_bool(from, a);
    if (dtype_kind(from) < KIND_FLOAT)
        return kind == KIND_INT ? value_whole(wrap(to, (uint64_t)a.integer)) : cast_from_integer(to, a.integer);
    if (kind == KIND_INT)
        return cast_to_integer(to, a);
    return value_is_same(to, from) ? a : cast_float(to, a);
}
