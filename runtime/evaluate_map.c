/* Functions of values with bounds: of integers and bools, of real numbers, and what a function is of each. */
#include <float.h>
#include <math.h>

#include "evaluate_value.h"

/* ---- integers and bools ---- */

static int64_t integer_mod(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int64_t rest = a % b;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t integer_clamp(int64_t x, int64_t low, int64_t high)
{
    int64_t raised = x > low ? x : low;
    return raised < high ? raised : high;
}

/* What wraps is computed without a sign. */
static uint64_t integer_apply(Function function, Dtype dtype, const Value *x)
{
    int64_t a = x[0].integer, b = x[1].integer;
    switch (function) {
    case FUNCTION_ADD: return (uint64_t)a + (uint64_t)b;
    case FUNCTION_SUB: return (uint64_t)a - (uint64_t)b;
    case FUNCTION_MUL: return (uint64_t)a * (uint64_t)b;
    case FUNCTION_SQUARE: return (uint64_t)a * (uint64_t)a;
    case FUNCTION_NEG: return -(uint64_t)a;
    case FUNCTION_ABS: return a < 0 ? -(uint64_t)a : (uint64_t)a;
    case FUNCTION_SIGN: return (uint64_t)(a > 0) - (uint64_t)(a < 0);
    case FUNCTION_RELU: return a > 0 ? (uint64_t)a : 0;
    case FUNCTION_MIN: return (uint64_t)(a < b ? a : b);
    case FUNCTION_MAX: return (uint64_t)(a > b ? a : b);
    case FUNCTION_CLAMP: return (uint64_t)integer_clamp(a, b, x[2].integer);
    case FUNCTION_MOD: return (uint64_t)integer_mod(a, b);
    case FUNCTION_POW: return (uint64_t)integer_power(dtype, a, b);
    case FUNCTION_IMAG: return 0;
    default: return (uint64_t)a;    /* floor, real, conj, …: what they are already */
    }
}

static Value map_integer(Function function, Dtype dtype, const Value *arguments)
{
    int arity = function_facts[function].arity;
    Value x[3] = { arguments[0], value_whole(0), value_whole(0) };
    for (int i = 0; i < arity; i++) {
        if (arguments[i].open)
            return value_open();
        x[i] = arguments[i];
    }
    return value_whole(wrap(dtype, integer_apply(function, dtype, x)));
}

static Value logic(Function function, Value a, Value b)
{
    if (function == FUNCTION_NOT)
        return a.open ? a : value_whole(!a.integer);
    int64_t decides = function == FUNCTION_OR || function == FUNCTION_ADD;
    if ((!a.open && a.integer == decides) || (!b.open && b.integer == decides))
        return value_whole(decides);
    return a.open || b.open ? value_open() : value_whole(!decides);
}

/* ---- comparisons and tests ---- */

typedef enum { LESS, SAME, GREATER, UNORDERED, UNKNOWN } Order;

static Order order_of(double a, double b)
{
    return a < b ? LESS : a > b ? GREATER : a == b ? SAME : UNORDERED;
}

static Order order_parts(double a, double b, double bound)
{
    double apart = a - b;
    if (isnan(apart) || isinf(apart) || bound == 0)
        return order_of(a, b);
    return fabs(apart) * (1 - DBL_EPSILON) > bound * (1 + DBL_EPSILON) ? order_of(a, b) : UNKNOWN;
}

static bool has_unsure_infinity(Value a)
{
    return a.either && (isinf(a.re) || isinf(a.im));
}

static Order order_of_values(Dtype dtype, Value a, Value b)
{
    if (a.open || b.open || has_unsure_infinity(a) || has_unsure_infinity(b))
        return UNKNOWN;
    if (dtype_kind(dtype) < KIND_FLOAT)
        return a.integer < b.integer ? LESS : a.integer > b.integer ? GREATER : SAME;
    if (value_is_nan(a) || value_is_nan(b))
        return UNORDERED;
    Order re = order_parts(a.re, b.re, a.bound + b.bound);
    if (dtype_kind(dtype) == KIND_FLOAT)
        return re;
    Order im = order_parts(a.im, b.im, a.bound + b.bound);
    bool differ = re == LESS || re == GREATER || im == LESS || im == GREATER;
    return differ ? LESS : re == SAME && im == SAME ? SAME : UNKNOWN;
}

static Value compare(Function function, Dtype dtype, Value a, Value b)
{
    Order order = order_of_values(dtype, a, b);
    if (order == UNKNOWN)
        return value_open();
    switch (function) {
    case FUNCTION_LT: return value_whole(order == LESS);
    case FUNCTION_LE: return value_whole(order == LESS || order == SAME);
    case FUNCTION_GT: return value_whole(order == GREATER);
    case FUNCTION_GE: return value_whole(order == GREATER || order == SAME);
    case FUNCTION_EQ: return value_whole(order == SAME);
    default: return value_whole(order != SAME);
    }
}

static Value test(Function function, Value a)
{
    if (a.open)
        return a;
    bool infinite = isinf(a.re) || isinf(a.im);
    return value_whole(function == FUNCTION_ISNAN   ? value_is_nan(a)
                       : function == FUNCTION_ISINF ? infinite
                                                    : value_is_finite(a));
}

/* ---- real functions of one argument ---- */

static double rsqrt(double x) { return 1 / sqrt(x); }
static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }
/* Far below 0 e^x would lose digits, or be 0, before the product does. */
static double silu(double x) { return x < -700 ? x * exp(x / 2) * exp(x / 2) : x / (1 + exp(-x)); }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double relu(double x) { return x > 0 ? x : 0; }

/* x / 2 * (1 + erf(x / sqrt 2)), without what that loses where erf is near -1. */
static double gelu(double x)
{
    return 0.5 * x * erfc(x * -0.70710678118654752);
}

/* How a function runs over its domain. A STEP takes no values but those that the dtype holds. */
typedef enum { RISING, FALLING, VALLEY, STEP } Shape;

typedef struct Curve {
    double (*of)(double);
    Shape shape;
    double low, high;             /* the domain */
    double turn;                  /* VALLEY: where its bottom is */
} Curve;

/* The functions that the ends of an interval, and the bottom of a valley in it, bound. */
static const Curve curves[FUNCTION_COUNT] = {
    [FUNCTION_SQRT] = { sqrt, RISING, 0, INFINITY, 0 },
    [FUNCTION_RSQRT] = { rsqrt, FALLING, 0, INFINITY, 0 },
    [FUNCTION_EXP] = { exp, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_EXP2] = { exp2, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_EXPM1] = { expm1, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_LOG] = { log, RISING, 0, INFINITY, 0 },
    [FUNCTION_LOG2] = { log2, RISING, 0, INFINITY, 0 },
    [FUNCTION_LOG10] = { log10, RISING, 0, INFINITY, 0 },
    [FUNCTION_LOG1P] = { log1p, RISING, -1, INFINITY, 0 },
    [FUNCTION_ASIN] = { asin, RISING, -1, 1, 0 },
    [FUNCTION_ACOS] = { acos, FALLING, -1, 1, 0 },
    [FUNCTION_ATAN] = { atan, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_SINH] = { sinh, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_COSH] = { cosh, VALLEY, -INFINITY, INFINITY, 0 },
    [FUNCTION_TANH] = { tanh, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_SIGMOID] = { sigmoid, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_SOFTPLUS] = { softplus, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_GELU] = { gelu, VALLEY, -INFINITY, INFINITY, -0.7517915246935645 },
    [FUNCTION_SILU] = { silu, VALLEY, -INFINITY, INFINITY, -1.2784645427610738 },
    [FUNCTION_ERF] = { erf, RISING, -INFINITY, INFINITY, 0 },
    [FUNCTION_SIGN] = { sign, STEP, -INFINITY, INFINITY, 0 },
    [FUNCTION_RELU] = { relu, STEP, -INFINITY, INFINITY, 0 },
    [FUNCTION_FLOOR] = { floor, STEP, -INFINITY, INFINITY, 0 },
    [FUNCTION_CEIL] = { ceil, STEP, -INFINITY, INFINITY, 0 },
    [FUNCTION_ROUND] = { nearbyint, STEP, -INFINITY, INFINITY, 0 },    /* half to even */
    [FUNCTION_TRUNC] = { trunc, STEP, -INFINITY, INFINITY, 0 },
};

/* An infinite result is certain at infinity and at a pole; anywhere else it is an overflow. */
static Value infinite_result(Function function, Value x, double y)
{
    bool pole = function == FUNCTION_LOG || function == FUNCTION_LOG2 || function == FUNCTION_LOG10 ||
                function == FUNCTION_LOG1P || function == FUNCTION_RSQRT;
    if (isfinite(x.re) && (!pole || x.bound > 0))
        return value_open();
    return (Value){ .re = y, .either = function == FUNCTION_RSQRT && x.either };
}

static Value apply_curve(Function function, Dtype dtype, Value x)
{
    const Curve *curve = &curves[function];
    double low = value_low(x), high = value_high(x), y = curve->of(x.re);
    if (isnan(x.re) || high < curve->low || low > curve->high)
        return value_exact(NAN);
    if (low < curve->low || high > curve->high)
        return value_open();
    if (!isfinite(y))
        return infinite_result(function, x, y);
    double carried = x.bound > 0 ? fmax(fabs(curve->of(low) - y), fabs(curve->of(high) - y)) : 0;
    if (curve->shape == VALLEY && low < curve->turn && curve->turn < high)
        carried = fmax(carried, y - curve->of(curve->turn));
    if (function == FUNCTION_GELU && x.re < 0)
        carried += fabs(y) * x.re * x.re * DBL_EPSILON;    /* the rounding of x / sqrt 2 */
    bool exact = curve->shape == STEP || (function == FUNCTION_SQRT && product_is_exact(y, y) && y * y == x.re);
    return value_rounded(dtype, y, carried, function_facts[function].ulp, exact);
}

/* |sin(x + d) - sin x| <= |cos x| |d| + d^2 / 2, and no more than |d| or 2; the cosine likewise. */
static Value apply_wave(Function function, Dtype dtype, Value x)
{
    if (!isfinite(x.re))
        return value_exact(NAN);
    bool sine = function == FUNCTION_SIN;
    double y = sine ? sin(x.re) : cos(x.re), slope = fabs(sine ? cos(x.re) : sin(x.re));
    double carried = fmin(fmin(slope * x.bound + x.bound * x.bound / 2, x.bound), 2);
    return value_rounded(dtype, y, carried, function_facts[function].ulp, false);
}

/* |tan(x + d) - tan x| = |sin d| / |cos x cos(x + d)| */
static Value apply_tan(Dtype dtype, Value x)
{
    if (!isfinite(x.re))
        return value_exact(NAN);
    double slope = fabs(cos(x.re)), least = slope - x.bound;
    if (!(least > 0))
        return value_open();
    double carried = x.bound / (slope * least) * (1 + 4 * DBL_EPSILON);
    return value_rounded(dtype, tan(x.re), carried, function_facts[FUNCTION_TAN].ulp, false);
}

Value map_real(Function function, Dtype dtype, Value x)
{
    if (x.open)
        return x;
    switch (function) {
    case FUNCTION_NEG: return value_negate(dtype, x);
    case FUNCTION_ABS: return value_modulus(dtype, x);
    case FUNCTION_SQUARE: return value_mul(dtype, &x, &x);
    case FUNCTION_RECIP: return value_div(dtype, value_exact(1), x);
    default: break;
    }
    if (has_unsure_infinity(x))
        return value_open();
    switch (function) {
    case FUNCTION_SIN:
    case FUNCTION_COS: return apply_wave(function, dtype, x);
    case FUNCTION_TAN: return apply_tan(dtype, x);
    default: return apply_curve(function, dtype, x);
    }
}

/* ---- real functions of several arguments ---- */

static Value pick(bool largest, Value a, Value b)
{
    if (a.open || b.open || has_unsure_infinity(a) || has_unsure_infinity(b))
        return value_open();
    if (isnan(a.re) || isnan(b.re))
        return value_exact(NAN);
    double (*of)(double, double) = largest ? fmax : fmin;
    double y = of(a.re, b.re);
    Value result = { .re = y, .either = y == 0 };
    if (isfinite(y))
        result.bound = fmax(of(value_high(a), value_high(b)) - y, y - of(value_low(a), value_low(b)));
    return result;
}

/* The remainder by a divisor that is known to fit `quotient` times, or once less where the rest takes its sign. */
static Value apply_mod(Dtype dtype, Value x, Value y)
{
    if (x.open || y.open || has_unsure_infinity(x) || has_unsure_infinity(y))
        return value_open();
    if (isnan(x.re) || isnan(y.re) || isinf(x.re) || (y.re == 0 && y.bound == 0))
        return value_exact(NAN);
    if (y.bound > 0 && fabs(y.re) <= y.bound)
        return value_open();
    double rest = fmod(x.re, y.re), ulp = function_facts[FUNCTION_MOD].ulp;
    bool other_sign = rest != 0 && (rest < 0) != (y.re < 0), exact = !other_sign || sum_is_exact(rest, y.re);
    double result = other_sign ? rest + y.re : rest;
    if (x.bound == 0 && (y.bound == 0 || x.re == 0))
        return isinf(result) ? value_exact(result) : value_rounded(dtype, result, 0, ulp, exact);
    if (isinf(y.re))
        return fabs(x.re) > x.bound && !other_sign ? value_rounded(dtype, x.re, x.bound, ulp, false) : value_open();
    double quotient = (x.re - result) / y.re, carried = x.bound + fabs(quotient) * y.bound;
    /* The quotient is certain where the rest keeps clear of 0 and of the divisor. */
    double least = fabs(y.re) - y.bound;
    if (!(fabs(result) > carried * (1 + 1e-12) && fabs(result) + carried * (1 + 1e-12) < least))
        return value_open();
    return value_rounded(dtype, result, carried + fabs(x.re) * DBL_EPSILON, ulp, false);
}

/* The angle of a point that moves by no more than `carried` seen from 0, of which it keeps clear. */
static Value apply_atan2(Dtype dtype, Value y, Value x)
{
    if (x.open || y.open || has_unsure_infinity(x) || has_unsure_infinity(y))
        return value_open();
    if (isnan(x.re) || isnan(y.re))
        return value_exact(NAN);
    double ulp = function_facts[FUNCTION_ATAN2].ulp, angle = atan2(y.re, x.re);
    bool zero = y.re == 0 && y.bound == 0, at_cut = fabs(y.re) <= y.bound && value_low(x) <= 0;
    if (zero ? y.either && (value_low(x) <= 0) : at_cut)
        return value_open();
    if (zero && fabs(x.re) <= x.bound)
        return x.bound > 0 || x.either ? value_open() : value_rounded(dtype, angle, 0, ulp, angle == 0);
    if (zero || isinf(x.re) || isinf(y.re))
        return value_rounded(dtype, angle, 0, ulp, angle == 0);
    double size = hypot(x.re, y.re), moved = hypot(x.bound, y.bound) * (1 + 1e-12);
    if (moved >= size)
        return value_open();
    return value_rounded(dtype, angle, asin(moved / size) * (1 + 1e-12), ulp, false);
}

/* ---- which is which ---- */

static Value choose(Function function, Dtype dtype, const Value *a)
{
    if (dtype_kind(dtype) < KIND_FLOAT)
        return map_integer(function, dtype, a);
    if (function == FUNCTION_CLAMP)
        return pick(false, pick(true, a[0], a[1]), a[2]);
    return pick(function == FUNCTION_MAX, a[0], a[1]);
}

static Value join(Value re, Value im)
{
    if (re.open || im.open)
        return value_open();
    return (Value){ .re = re.re, .im = im.re, .bound = fmax(re.bound, im.bound), .either = re.either || im.either };
}

static Value part(Function function, Dtype from, Value a)
{
    double im = dtype_kind(from) == KIND_COMPLEX ? -a.im : 0;
    switch (function) {
    case FUNCTION_REAL: a.im = 0; break;
    case FUNCTION_IMAG: a.re = a.im, a.im = 0; break;
    default: a.im = im; break;
    }
    return a;
}

static Value map_float(Function function, Dtype dtype, Dtype from, const Value *a)
{
    switch (function) {
    case FUNCTION_ADD: return value_add(dtype, a[0], a[1]);
    case FUNCTION_SUB: return value_add(dtype, a[0], value_negate(dtype, a[1]));
    case FUNCTION_MUL: return value_mul(dtype, &a[0], &a[1]);
    case FUNCTION_DIV: return value_div(dtype, a[0], a[1]);
    case FUNCTION_POW: return map_power(dtype, a[0], a[1]);
    case FUNCTION_ATAN2: return apply_atan2(dtype, a[0], a[1]);
    case FUNCTION_MOD: return apply_mod(dtype, a[0], a[1]);
    case FUNCTION_COMPLEX: return join(a[0], a[1]);
    case FUNCTION_REAL:
    case FUNCTION_IMAG:
    case FUNCTION_CONJ: return part(function, from, a[0]);
    default: break;
    }
    return dtype_kind(from) == KIND_COMPLEX ? map_complex(function, from, a[0]) : map_real(function, dtype, a[0]);
}

Value map_apply(Function function, Dtype dtype, Dtype from, const Value *arguments)
{
    switch (function_facts[function].rule) {
    case RULE_CAST: return value_cast(dtype, from, arguments[0]);
    case RULE_COMPARE:
    case RULE_EQUAL: return compare(function, from, arguments[0], arguments[1]);
    case RULE_LOGIC: return logic(function, arguments[0], function == FUNCTION_NOT ? arguments[0] : arguments[1]);
    case RULE_TEST: return test(function, arguments[0]);
    case RULE_CHOOSE: return choose(function, dtype, arguments);
    default: break;
    }
    if (from == DTYPE_BOOL && (function == FUNCTION_ADD || function == FUNCTION_MUL))
        return logic(function, arguments[0], arguments[1]);
    if (dtype_kind(from) < KIND_FLOAT)
        return map_integer(function, dtype, arguments);
    return map_float(function, dtype, from, arguments);
}
