/* Reductions of values with bounds, but for those that compare. Each bound holds for every way that a kernel may take:
 * any order, in one pass or two, online with rescaling, or in parts that are merged. */
#include <float.h>
#include <math.h>

#include "evaluate_value.h"

static bool is_complex(Dtype dtype)
{
    return dtype_kind(dtype) == KIND_COMPLEX;
}

/* ---- sums, means ---- */

static Value sum_of(Dtype dtype, const Value *x, int64_t count)
{
    Sum sum = { .dtype = dtype };
    for (int64_t i = 0; i < count; i++)
        sum_add(&sum, &x[i]);
    return sum_value(&sum);
}

static void cumulative_sum(Dtype dtype, const Value *x, int64_t count, Value *result)
{
    Sum sum = { .dtype = dtype };
    for (int64_t i = 0; i < count; i++) {
        sum_add(&sum, &x[i]);
        result[i] = sum_value(&sum);
    }
}

/* A kernel may divide by the count or multiply by its rounded reciprocal; both are exact for powers of 2. */
static Value mean_of(Dtype dtype, const Value *x, int64_t count)
{
    enum { ULPS = 2 };
    Value sum = sum_of(dtype, x, count);
    if (sum.open)
        return sum;
    if (count == 0)
        return value_parts(NAN, is_complex(dtype) ? NAN : 0);
    double n = (double)count;
    bool exact = (count & (count - 1)) == 0;
    Value re = isfinite(sum.re) ? value_rounded(dtype, sum.re / n, sum.bound / n, ULPS, exact) : value_exact(sum.re);
    Value im = isfinite(sum.im) ? value_rounded(dtype, sum.im / n, sum.bound / n, ULPS, exact) : value_exact(sum.im);
    if (re.open || im.open)
        return value_open();
    return (Value){ .re = re.re, .im = im.re, .bound = fmax(re.bound, im.bound), .either = re.either || im.either };
}

/* ---- any, all ---- */

static Value any_of(const Value *x, int64_t count, bool all)
{
    bool open = false;
    for (int64_t i = 0; i < count; i++) {
        if (!x[i].open && (x[i].integer != 0) != all)
            return value_whole(!all);
        open |= x[i].open;
    }
    return open ? value_open() : value_whole(all);
}

/* ---- products ---- */

/* Of numbers, in any order: what partial products can come to decides whether one of them overflows or underflows. */
typedef struct Product {
    Dtype dtype;
    int64_t count;
    uint64_t integer;
    double re, im;                /* of the finite factors */
    double reach;                 /* of the moduli, each as large as its bound allows */
    double largest, least;        /* of the moduli above 1, as large, and below 1, as small as bounds allow; no zeros */
    double odd;                   /* of the factors' significands without trailing zeros */
    int infinities, zeros, unsure_zeros;
    bool nan, inexact, open, either;
} Product;

static Product product_new(Dtype dtype)
{
    return (Product){ .dtype = dtype, .integer = 1, .re = 1, .reach = 1, .largest = 1, .least = 1, .odd = 1 };
}

static void product_add(Product *p, Value x)
{
    p->open |= x.open;
    p->integer *= (uint64_t)x.integer;
    if (p->open || dtype_kind(p->dtype) < KIND_FLOAT)
        return;
    double size = is_complex(p->dtype) ? hypot(x.re, x.im) : fabs(x.re), moved = value_distance(p->dtype, x);
    p->count++;
    p->inexact |= x.bound > 0;
    p->nan |= value_is_nan(x);
    p->infinities += isinf(x.re) || isinf(x.im);
    p->either |= x.either && isinf(x.re);
    p->zeros += size == 0 && x.bound == 0;
    p->unsure_zeros += size <= moved && x.bound > 0;
    if (isinf(x.re) && x.re < 0)
        p->re = -p->re;
    if (!value_is_finite(x))
        return;
    double re = p->re * x.re - p->im * x.im;
    p->im = p->re * x.im + p->im * x.re;
    p->re = re;
    p->reach *= size + moved;
    p->largest *= fmax(1, size + moved);
    if (size > moved) {
        p->least *= fmin(1, size - moved);
        p->odd *= is_complex(p->dtype) ? INFINITY : ldexp(size, -last_bit(size));
    }
}

static Value real_infinite_product(const Product *p, const Format *format)
{
    if (p->zeros)
        return value_exact(NAN);
    if (p->unsure_zeros || p->least < format->tiny || !(p->largest < format->huge))
        return value_open();
    return (Value){ .re = copysign(INFINITY, p->re), .either = p->either };
}

static Value float_product(const Product *p)
{
    const Format *format = format_of(p->dtype);
    bool complex = is_complex(p->dtype);
    if (complex && (p->nan || p->infinities))
        return value_open();
    if (p->nan)
        return value_exact(NAN);
    if (p->infinities)
        return real_infinite_product(p, format);
    double n = (double)p->count, rounding = rounding_errors(format, complex ? 4 * n : n - 1);
    if (!(p->largest * (1 + rounding) * (complex ? 2 : 1) < format->huge))
        return value_open();
    Value value = { .re = p->re, .im = p->im, .either = p->re == 0 || (complex && p->im == 0) };
    bool underflows = p->unsure_zeros || p->least * format->unit < format->tiny;
    bool exact = !p->inexact && !complex && p->odd <= ldexp(1, format->digits);
    if (!p->zeros && (!exact || underflows))
        value.bound = p->reach * (1 + rounding + 8 * n * DBL_EPSILON) - hypot(p->re, p->im) +
                      (underflows ? 2 * n * format->tiny * p->largest : 0);
    return value;
}

static Value product_value(const Product *p)
{
    if (p->open)
        return value_open();
    return dtype_kind(p->dtype) < KIND_FLOAT ? value_whole(wrap(p->dtype, p->integer)) : float_product(p);
}

Value value_product(Dtype dtype, const Value *x, int64_t count, double *largest)
{
    Product product = product_new(dtype);
    for (int64_t i = 0; i < count; i++)
        product_add(&product, x[i]);
    *largest = product.largest;
    return product_value(&product);
}

/* One Value, or where `result` has room for all, the product so far at each. */
static void products(Dtype dtype, const Value *x, int64_t count, bool all, Value *result)
{
    Product product = product_new(dtype);
    for (int64_t i = 0; i < count; i++) {
        product_add(&product, x[i]);
        if (all)
            result[i] = i == 0 && !product.infinities && !product.nan ? x[i] : product_value(&product);
    }
    if (!all)
        result[0] = count == 1 && !product.infinities && !product.nan ? x[0] : product_value(&product);
}

/* ---- norm ---- */

static Value count_of_nonzeros(Dtype dtype, Dtype from, const Value *x, int64_t count)
{
    int64_t least = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        Value is = value_cast(DTYPE_BOOL, from, x[i]);
        least += !is.open && is.integer;
        most += is.open || is.integer;
    }
    Value counted = value_cast(dtype, DTYPE_I64, value_whole(least));
    counted.bound += (double)(most - least);
    return counted;
}

static Value extreme_modulus(Dtype from, const Value *x, int64_t count, bool largest)
{
    Dtype dtype = dtype_real(from);
    Value best = value_exact(largest ? 0 : INFINITY);
    for (int64_t i = 0; i < count; i++) {
        Value pair[2] = { best, value_modulus(from, x[i]) };
        best = map_apply(largest ? FUNCTION_MAX : FUNCTION_MIN, dtype, dtype, pair);
    }
    return best;
}

/* (sum |x|^p)^(1/p). Squares need no modulus: a complex number's is the sum of two. */
static Value norm_of(const Term *term, const Value *x, int64_t count)
{
    Dtype from = term->reduce.argument->dtype, dtype = term->dtype;
    double p = term->reduce.parameter;
    if (p == 0)
        return count_of_nonzeros(dtype, from, x, count);
    if (isinf(p))
        return extreme_modulus(from, x, count, p > 0);
    Sum sum = { .dtype = dtype };
    Value power = value_cast(dtype, DTYPE_F64, value_exact(p));
    for (int64_t i = 0; i < count; i++) {
        Value size = value_modulus(from, x[i]);
        Value powered = p == 1 ? size : p == 2 ? value_mul(dtype, &size, &size) : map_power_of_size(dtype, size, power);
        sum_add(&sum, &powered);
    }
    Value total = sum_value(&sum);
    if (p == 1)
        return total;
    return p == 2 ? value_root(dtype, total)
                  : map_power_of_size(dtype, total, value_div(dtype, value_exact(1), power));
}

/* ---- var, std ---- */

/* The sum of the squared distances from the mean, and how far off it a kernel may be. */
typedef struct Moments {
    double squares, bound;
    bool nan, open;
} Moments;

static double mean_part(const Value *x, int64_t count, bool imaginary)
{
    double mean = 0, rest = 0;
    for (int64_t i = 0; i < count; i++)
        mean += (imaginary ? x[i].im : x[i].re) / (double)count;
    for (int64_t i = 0; i < count; i++)
        rest += ((imaginary ? x[i].im : x[i].re) - mean) / (double)count;
    return mean + rest;
}

/* In one pass (Welford, or parts that are merged) each step moves the mean, with an error of a few units of the largest
 * number, so that after n steps the mean is off by no more than `off`. A step adds weight * distance^2 to the squares;
 * the weights of all steps come to no more than n (1 + log2 n), whatever the merges, and so by Cauchy and Schwarz the
 * squares are off by 2 off sqrt(weights * squares) + weights * off^2. Two passes do better. */
static Moments moments_of(Dtype dtype, const Value *x, int64_t count)
{
    const Format *format = format_of(dtype);
    Moments m = { 0 };
    double n = (double)count, re = mean_part(x, count, false), im = mean_part(x, count, true), reach = 0, bounds = 0;
    for (int64_t i = 0; i < count; i++) {
        m.open |= x[i].open;
        m.nan |= !value_is_finite(x[i]);
        double a = x[i].re - re, b = x[i].im - im, moved = value_distance(dtype, x[i]);
        m.squares += a * a + b * b;
        bounds += moved * moved;
        reach = fmax(reach, value_reach(x[i]));
    }
    if (m.open || m.nan || count < 2)
        return m;
    double root = sqrt(m.squares) + sqrt(bounds), squares = root * root, weights = n * (1 + log2(n));
    double off = 2 * (n + 8) * (format->unit + DBL_EPSILON) * reach;
    m.bound = squares - m.squares + 2 * off * sqrt(weights * squares) + weights * off * off +
              (rounding_errors(format, 2 * n + 8) + 4 * n * DBL_EPSILON) * squares + 2 * n * format->tiny;
    m.open = !(n * reach < format->huge && m.squares + m.bound < format->huge);
    return m;
}

static Value variance_of(const Term *term, const Value *x, int64_t count)
{
    enum { ULPS = 2 };
    Moments m = moments_of(term->reduce.argument->dtype, x, count);
    double divisor = fmax((double)count - term->reduce.parameter, 0);
    if (m.open)
        return value_open();
    if (m.nan || count == 0)
        return value_exact(NAN);
    if (divisor == 0)
        return m.squares > m.bound ? value_exact(INFINITY) : m.bound == 0 ? value_exact(NAN) : value_open();
    Value variance = value_rounded(term->dtype, m.squares / divisor, m.bound / divisor, ULPS, m.squares == 0);
    return term->reduce.reduction == REDUCTION_STD ? value_root(term->dtype, variance) : variance;
}

/* ---- logsumexp, softmax, log_softmax ---- */

typedef struct Exponentials {
    double top, sum;              /* the largest, and the sum of exp(x - top) */
    int64_t count, finite;
    double moved;                 /* how far the bounds of the arguments can move the logarithm of the sum */
    double off;                   /* the relative error of a kernel's sum */
    bool nan, up, open;           /* what else is there: a NaN, +inf */
} Exponentials;

/* The relative error of one exp(x - top) in a kernel: the difference, which it may scale to take exp2 instead, and the
 * exponential; then an online kernel rescales it, at most once for each other element, -inf too, by one more. */
static double exponential_error(const Format *format, double distance, int64_t count)
{
    double once = 2 * function_facts[FUNCTION_EXP].ulp, others = (double)(count - 1);
    return format->unit * (4 * distance + once + others * (once + 1)) + 8 * DBL_EPSILON;
}

static Exponentials exponentials_of(Dtype dtype, const Value *x, int64_t count)
{
    const Format *format = format_of(dtype);
    Exponentials e = { .top = -INFINITY, .count = count };
    for (int64_t i = 0; i < count; i++) {
        e.open |= x[i].open || (isinf(x[i].re) && x[i].either);
        e.nan |= isnan(x[i].re);
        e.up |= x[i].re == INFINITY;
        e.finite += isfinite(x[i].re);
        e.top = fmax(e.top, x[i].re);
    }
    if (e.open || e.nan || e.up)
        return e;
    double grown = 0, off = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(x[i].re))
            continue;
        double power = exp(x[i].re - e.top);
        e.sum += power;
        grown += power * expm1(x[i].bound);
        off += power * exponential_error(format, e.top - x[i].re, count);
    }
    if (e.finite) {
        e.moved = log1p(grown / e.sum);
        e.off = off / e.sum + rounding_errors(format, (double)(e.finite - 1)) +
                (double)e.finite * (DBL_EPSILON + 8 * format->tiny);
        e.open = !(e.off < 0.5 && isfinite(e.moved));
    }
    return e;
}

static Value logarithm_of_sum(Dtype dtype, const Value *x, int64_t count)
{
    Exponentials e = exponentials_of(dtype, x, count);
    if (e.open)
        return value_open();
    if (e.nan || e.up || !e.finite)
        return value_exact(e.nan ? NAN : e.up ? INFINITY : -INFINITY);
    double log_sum = log(e.sum), unit = format_of(dtype)->unit, ulp = function_facts[FUNCTION_LOG].ulp;
    double carried = e.moved - log1p(-e.off) + unit * (2 * ulp * log_sum + 4 * (fabs(e.top) + log_sum));
    return value_rounded(dtype, e.top + log_sum, carried, 0.5, false);
}

static Value softmax_at(Dtype dtype, const Exponentials *e, Value x)
{
    const Format *format = format_of(dtype);
    if (!isfinite(x.re))
        return value_exact(0);
    double share = exp(x.re - e->top) / e->sum;
    double error = x.bound + e->moved + exponential_error(format, e->top - x.re, e->count) + 2 * e->off;
    return value_rounded(dtype, share, share * expm1(error) + 16 * format->tiny, 2, false);
}

static Value log_softmax_at(Dtype dtype, const Exponentials *e, Value x)
{
    if (!isfinite(x.re))
        return value_exact(-INFINITY);
    double log_sum = log(e->sum), unit = format_of(dtype)->unit, ulp = function_facts[FUNCTION_LOG].ulp;
    double carried = x.bound + e->moved - log1p(-e->off) +
                     unit * (2 * ulp * log_sum + 4 * (fabs(e->top) + fabs(x.re) + log_sum));
    return value_rounded(dtype, x.re - e->top - log_sum, carried, 0.5, false);
}

static void softmax_of(const Term *term, const Value *x, int64_t count, Value *result)
{
    Exponentials e = exponentials_of(term->dtype, x, count);
    bool log = term->reduce.reduction == REDUCTION_LOG_SOFTMAX;
    for (int64_t i = 0; i < count; i++)
        result[i] = e.open          ? value_open()
                    : e.nan || e.up ? value_exact(NAN)
                    : log           ? log_softmax_at(term->dtype, &e, x[i])
                                    : softmax_at(term->dtype, &e, x[i]);
}

/* ---- which is which ---- */

void reduce_values(const Term *term, const Value *x, int64_t count, Ranked *scratch, Value *result)
{
    switch (term->reduce.reduction) {
    case REDUCTION_SUM: *result = sum_of(term->dtype, x, count); break;
    case REDUCTION_MEAN: *result = mean_of(term->dtype, x, count); break;
    case REDUCTION_CUMSUM: cumulative_sum(term->dtype, x, count, result); break;
    case REDUCTION_PROD: products(term->dtype, x, count, false, result); break;
    case REDUCTION_CUMPROD: products(term->dtype, x, count, true, result); break;
    case REDUCTION_ANY: *result = any_of(x, count, false); break;
    case REDUCTION_ALL: *result = any_of(x, count, true); break;
    case REDUCTION_NORM: *result = norm_of(term, x, count); break;
    case REDUCTION_VAR:
    case REDUCTION_STD: *result = variance_of(term, x, count); break;
    case REDUCTION_LOGSUMEXP: *result = logarithm_of_sum(term->dtype, x, count); break;
    case REDUCTION_SOFTMAX:
    case REDUCTION_LOG_SOFTMAX: softmax_of(term, x, count, result); break;
    default: order_values(term, x, count, scratch, result); break;
    }
}
