/* Arithmetic on values with bounds. */
#include "evaluate_value.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The evaluator's own error: its functions are float64's, a few of them composed. */
static const double own_error = 4 * DBL_EPSILON;

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

bool product_is_exact(double a, double b)
{
    double product = a * b;
    /* fma() cannot see what lies below the smallest denormal. */
    return fma(a, b, -product) == 0 && (product == 0 ? a == 0 || b == 0 : fabs(product) >= DBL_MIN / DBL_EPSILON);
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

/* Both parts of a result with one bound; `error` is the evaluator's own. */
static Value rounded_parts(const Format *format, double re, double im, double carried, double ulps, double error)
{
    double size = fmax(fabs(re), fabs(im)) + carried;
    /* The nearest number is within half an ulp of the exact one; what is further off may have larger ulps. */
    double reach = ulps > 0.5 ? size * (1 + 2 * ulps * format->unit) : size;
    double bound = carried + ulps * ulp_of(format, reach) + size * error;
    /* What may round to infinity may be anything further on. */
    if (!(size + bound < format->huge))
        return value_open();
    return (Value){ .re = re, .im = im, .bound = bound, .either = re == 0 || im == 0 };
}

Value value_rounded(Dtype dtype, double re, double carried, double ulps, bool exact)
{
    const Format *format = format_of(dtype);
    if (exact && carried == 0 && format_holds(format, re))
        return (Value){ .re = re, .either = re == 0 };
    Value result = rounded_parts(format, re, 0, carried, ulps, own_error);
    result.either = re == 0;
    return result;
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
    both.bound = fmax(a.bound, (fmax(fabs(a.re - b.re), fabs(a.im - b.im)) + b.bound) * (1 + own_error));
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
    double size = a.im == 0 ? fabs(a.re) : hypot(a.re, a.im) * (1 + own_error);
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

static Value real_mul(Dtype dtype, Value a, Value b)
{
    bool unsure = ((a.re == 0 || isinf(a.re)) && a.either) || ((b.re == 0 || isinf(b.re)) && b.either);
    double product = a.re * b.re;
    if (isfinite(a.re) && isfinite(b.re)) {
        double carried = fabs(a.re) * b.bound + fabs(b.re) * a.bound + a.bound * b.bound;
        Value result = value_rounded(dtype, product, carried, 0.5, product_is_exact(a.re, b.re));
        result.either = result.bound > 0 ? result.either : unsure;
        return result;
    }
    /* What may be 0 or not makes NaN or infinity of infinity. */
    bool unsure_zero = !surely_not_zero(a) || !surely_not_zero(b), zero = is_zero(a) || is_zero(b);
    if (isnan(a.re) || isnan(b.re) || zero || !unsure_zero)
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
    double carried = (a.bound + fabs(quotient) * b.bound) / (fabs(b.re) - b.bound) * (1 + own_error);
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
    double rounding = size * (complex_ulps * format->unit + own_error) + complex_ulps * format->tiny;
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
    double carried = (value_distance(dtype, a) + quotient * value_distance(dtype, b)) / away * (1 + own_error);
    double rounding = (quotient + carried) * (4 * complex_ulps * format->unit + 2 * own_error) +
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

Value value_mul(Dtype dtype, Value a, Value b)
{
    if (a.open || b.open)
        return value_open();
    return is_complex(dtype) ? complex_mul(dtype, a, b) : real_mul(dtype, a, b);
}

static bool may_be_denormal(Value a)
{
    return fabs(a.re) - a.bound < FLT_MIN && (a.re != 0 || a.bound > 0);
}

/* The units that add up products of bf16 take denormal numbers for 0, products and sums of that size as well. Sums of
 * multiples of the least normal number are none; to others a product, and the addition that takes it, add so much. */
Value value_mul_flushed(Value a, Value b)
{
    Value product = value_mul(DTYPE_F32, a, b);
    bool flushes = !a.open && !b.open && (may_be_denormal(a) || may_be_denormal(b));
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
    Value result = rounded_parts(format, a.re, a.im, a.bound, 0.5, 0);
    result.either = a.either;
    return result;
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

/* ---- sums ---- */

static void note_last(Sum *sum, int last)
{
    if (!sum->begun || last < sum->last)
        sum->last = last;
    sum->begun = true;
}

static void add_part(Sum *sum, int i, double x)
{
    if (!isfinite(x)) {
        sum->nan[i] |= isnan(x);
        sum->up[i] |= x > 0;
        sum->down[i] |= x < 0;
        return;
    }
    /* Neumaier: what each addition loses is kept, so that the sum is as good as exact. */
    double s = sum->part[i], t = s + x;
    sum->rest[i] += fabs(s) >= fabs(x) ? (s - t) + x : (x - t) + s;
    sum->part[i] = t;
    sum->size[i] += fabs(x);
    if (x == 0 || sum->inexact)
        return;
    note_last(sum, last_bit(x));
}

void sum_add(Sum *sum, Value value)
{
    Kind kind = dtype_kind(sum->dtype);
    if (kind == KIND_BOOL) {
        sum->integer |= !value.open && value.integer;
        sum->open |= value.open;
        return;
    }
    sum->open |= value.open || (value.either && (isinf(value.re) || isinf(value.im)));
    if (kind == KIND_INT) {
        sum->integer += (uint64_t)value.integer;
        return;
    }
    if (sum->open)
        return;
    sum->count += value.re != 0 || value.im != 0 || value.bound > 0;
    sum->inexact |= value.bound > 0;
    sum->bound += value.bound;
    add_part(sum, 0, value.re);
    if (kind != KIND_COMPLEX)
        return;
    add_part(sum, 1, value.im);
    sum->count += value.inside > 0;
    sum->size[0] += fmax(value.inside - fabs(value.re), 0);
    sum->size[1] += fmax(value.inside - fabs(value.im), 0);
    if (value.grain > 0)
        note_last(sum, last_bit(value.grain));
}

/* Every partial sum is a multiple of 2^last and no larger than `size`: all of them can be held when that takes no more
 * digits than there are, and then no order rounds. */
static bool sum_holds_exactly(const Sum *sum, const Format *format, double size)
{
    return !sum->inexact && (size == 0 || (sum->last >= format->lowest && size <= format->huge &&
                                           size <= ldexp(1, sum->last + format->digits)));
}

static double sum_part(const Sum *sum, int i)
{
    if (sum->nan[i] || (sum->up[i] && sum->down[i]))
        return NAN;
    return sum->up[i] ? INFINITY : sum->down[i] ? -INFINITY : sum->part[i] + sum->rest[i];
}

Value sum_value(const Sum *sum)
{
    if (sum->dtype == DTYPE_BOOL)
        return sum->integer ? value_whole(1) : sum->open ? value_open() : value_whole(0);
    if (sum->open)
        return value_open();
    if (dtype_kind(sum->dtype) == KIND_INT)
        return value_whole(wrap(sum->dtype, sum->integer));
    const Format *format = format_of(sum->dtype);
    Value value = { .re = sum_part(sum, 0), .im = is_complex(sum->dtype) ? sum_part(sum, 1) : 0 };
    double size = fmax(sum->size[0], sum->size[1]);
    double largest = fmax(isfinite(value.re) ? fabs(value.re) : 0, isfinite(value.im) ? fabs(value.im) : 0);
    value.either = value.re == 0 || (is_complex(sum->dtype) && value.im == 0);
    if (sum->count <= 1)
        value.bound = sum->bound;
    else if (!sum_holds_exactly(sum, format, size))
        value.bound = sum->bound + rounding_errors(format, (double)(sum->count - 1) * (1 + sum->truncates)) * (size + sum->bound) +
                      largest * own_error + (double)sum->count * DBL_EPSILON * DBL_EPSILON * size;
    /* Some order may overflow on the way. */
    if (!(size + value.bound < format->huge) && !(sum->count <= 1 && size <= format->huge))
        return value_open();
    if (!is_complex(sum->dtype) && !isfinite(value.re))
        value.bound = 0;
    return value;
}
