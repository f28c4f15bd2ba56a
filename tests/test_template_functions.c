/* The helpers of generated kernels that compute functions: no result is further from the true one than compiler/ops.h
 * says, over the whole range of the arguments, and infinities, NaN and the sign of 0 are as in C. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops.h"
#include "templates.h"

#include <complex.h>
#undef complex
#undef I

/* How far apart the patterns of f32 are that are tried, how many f64 and how many pairs. */
enum { F32_STEP = 20011, F64_COUNT = 40000, PAIRS = 40000, BLOCK = 64 };

/* ---- errors ---- */

/* In units of the last place that `digits` significant bits and a least exponent give the true value. Infinite where
 * one is NaN or infinite and the other is not, or zeros differ in sign. */
static double error_of(long double got, long double wanted, int digits, int least, int greatest)
{
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got) ? 0 : INFINITY;
    int exponent = least;
    if (wanted != 0 && !isinf(wanted))
        frexpl(wanted, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    long double ulp = ldexpl(1, exponent - digits + 1), end = ldexpl(1, greatest + 1);
    if (isinf(wanted))
        return got == wanted ? 0 : INFINITY;
    if (isinf(got))
        return (got > 0) != (wanted > 0) ? INFINITY : fabsl(wanted) >= end ? 0 : (double)((end - fabsl(wanted)) / ulp);
    if (fabsl(wanted) >= end)
        return (double)((fabsl(wanted) - fabsl(got)) / ulp);
    if (got == 0 && wanted == 0)
        return !signbit(got) == !signbit(wanted) ? 0 : INFINITY;
    return (double)(fabsl(got - wanted) / ulp);
}

static double error_f32(float got, double wanted)
{
    return error_of(got, wanted, 24, -126, 127);
}

static double error_f64(double got, long double wanted)
{
    return error_of(got, wanted, 53, -1022, 1023);
}

/* ---- functions of one argument ---- */

typedef struct Unary {
    const char *name;
    Function function;
    void (*f32)(const float *x, float *vector, float *scalar);      /* BLOCK of them */
    void (*f64)(const double *x, double *vector, double *scalar);
    double (*true_f32)(double);
    long double (*true_f64)(long double);
} Unary;

static double neg(double x) { return -x; }
static double square(double x) { return x * x; }
static double recip(double x) { return 1 / x; }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x + 0.0; }
static double rsqrt(double x) { return 1 / sqrt(x); }
static double relu(double x) { return x < 0 ? 0 : x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double silu(double x) { return x / (1 + exp(-x)); }
static double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
static double gelu(double x) { return x * 0.5 * erfc(x * -0.70710678118654752); }
static long double negl(long double x) { return -x; }
static long double squarel(long double x) { return x * x; }
static long double recipl(long double x) { return 1 / x; }
static long double signl(long double x) { return x > 0 ? 1 : x < 0 ? -1 : x + 0.0L; }
static long double rsqrtl(long double x) { return 1 / sqrtl(x); }
static long double relul(long double x) { return x < 0 ? 0 : x; }
static long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }
static long double silul(long double x) { return x / (1 + expl(-x)); }
static long double softplusl(long double x) { return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))); }
static long double gelul(long double x) { return x * 0.5L * erfcl(x * -0.707106781186547524400844362104849L); }

#define UNARIES(X)                                                                                                    \
    X(NEG, neg, neg) X(ABS, abs, fabs) X(SIGN, sign, sign) X(SQUARE, square, square) X(SQRT, sqrt, sqrt)              \
    X(RSQRT, rsqrt, rsqrt) X(RECIP, recip, recip) X(EXP, exp, exp) X(EXP2, exp2, exp2) X(EXPM1, expm1, expm1)         \
    X(LOG, log, log) X(LOG2, log2, log2) X(LOG10, log10, log10) X(LOG1P, log1p, log1p) X(SIN, sin, sin)               \
    X(COS, cos, cos) X(TAN, tan, tan) X(ASIN, asin, asin) X(ACOS, acos, acos) X(ATAN, atan, atan)                     \
    X(SINH, sinh, sinh) X(COSH, cosh, cosh) X(TANH, tanh, tanh) X(SIGMOID, sigmoid, sigmoid)                          \
    X(SOFTPLUS, softplus, softplus) X(RELU, relu, relu) X(GELU, gelu, gelu) X(SILU, silu, silu) X(ERF, erf, erf)      \
    X(FLOOR, floor, floor) X(CEIL, ceil, ceil) X(ROUND, round, rint) X(TRUNC, trunc, trunc)

#define X(tag, name, reference)                                                              \
    TARGETED static void name##_all_f32(const float *x, float *vector, float *scalar)        \
    {                                                                                        \
        for (int i = 0; i < BLOCK; i += LANES) {                                             \
            f32v v = load_f32v((const f32u *)x + i, 1, LANES);                               \
            store_f32v((f32u *)vector + i, 1, name##_f32v(v), LANES);                        \
            for (int l = i; l < i + LANES; l++)                                              \
                scalar[l] = name##_f32(x[l]);                                                \
        }                                                                                    \
    }                                                                                        \
    TARGETED static void name##_all_f64(const double *x, double *vector, double *scalar)     \
    {                                                                                        \
        for (int i = 0; i < BLOCK; i += LANES) {                                             \
            f64v v = load_f64v((const f64u *)x + i, 1, LANES);                               \
            store_f64v((f64u *)vector + i, 1, name##_f64v(v), LANES);                        \
            for (int l = i; l < i + LANES; l++)                                              \
                scalar[l] = name##_f64(x[l]);                                                \
        }                                                                                    \
    }
UNARIES(X)
#undef X

static const double ulps[] = {
#define X(tag, name, arity, rule, complex, ulp) ulp,
    FUNCTIONS(X)
#undef X
};

static const Unary unaries[] = {
#define X(tag, name, reference) { #name, FUNCTION_##tag, name##_all_f32, name##_all_f64, reference, reference##l },
    UNARIES(X)
#undef X
};
enum { UNARY_COUNT = sizeof unaries / sizeof *unaries };

static void check(const char *name, double x, double got, double error, double ulp)
{
    if (!(error <= ulp))
        fail_msg("%s(%a) = %a is %g ulp off, not %g", name, x, got, error, ulp);
}

static void check_f32(const Unary *u, const float *x)
{
    float vector[BLOCK], scalar[BLOCK];
    u->f32(x, vector, scalar);
    for (int i = 0; i < BLOCK; i++) {
        double wanted = u->true_f32(x[i]), ulp = ulps[u->function];
        check(u->name, x[i], vector[i], error_f32(vector[i], wanted), ulp);
        check(u->name, x[i], scalar[i], error_f32(scalar[i], wanted), ulp);
    }
}

static void check_f64(const Unary *u, const double *x)
{
    double vector[BLOCK], scalar[BLOCK];
    u->f64(x, vector, scalar);
    for (int i = 0; i < BLOCK; i++) {
        long double wanted = u->true_f64(x[i]);
        double ulp = ulps[u->function];
        check(u->name, x[i], vector[i], error_f64(vector[i], wanted), ulp);
        check(u->name, x[i], scalar[i], error_f64(scalar[i], wanted), ulp);
    }
}

static void test_unary_f32(void **state)
{
    (void)state;
    for (int f = 0; f < UNARY_COUNT; f++) {
        float x[BLOCK];
        int count = 0;
        for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += F32_STEP) {
            uint32_t pattern = (uint32_t)bits;
            memcpy(&x[count++], &pattern, sizeof pattern);
            if (count == BLOCK) {
                check_f32(&unaries[f], x);
                count = 0;
            }
        }
    }
}

/* What is rounded to bf16 next: by how large a part of it exp and exp2 may be off, and where that is below the normal numbers by
 * FLT_MIN. */
static void check_coarse(const char *name, float x, double wanted, double most, float vector, float scalar)
{
    const float got[2] = { vector, scalar };
    const double size = fmin(fmax(wanted, FLT_MIN), FLT_MAX);
    for (int i = 0; i < 2; i++)
        if (!(wanted < FLT_MIN * (1 + most) && got[i] >= 0 && got[i] < 2 * FLT_MIN))
            check(name, x, got[i], error_f32(got[i], wanted), most * size / ldexp(1, ilogb(size) - 23) + 1);
}

TARGETED static void test_coarse(void **state)
{
    (void)state;
#define X(tag, dtype, error) [FUNCTION_##tag] = (error),
    static const double most[FUNCTION_COUNT] = { COARSE_FUNCTIONS(X) };
#undef X
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += F32_STEP / 8) {
        uint32_t pattern = (uint32_t)bits;
        float x;
        memcpy(&x, &pattern, sizeof x);
        check_coarse("coarse_exp", x, exp(x), most[FUNCTION_EXP], lane_f32v(coarse_exp_f32v(splat_f32v(x)), 0), coarse_exp_f32(x));
        check_coarse("coarse_exp2", x, exp2(x), most[FUNCTION_EXP2], lane_f32v(coarse_exp2_f32v(splat_f32v(x)), 0), coarse_exp2_f32(x));
    }
}

/* Powers for sums that are lifted: as exact as exp, times a power of two, where that is not below the normal numbers; 0 where exp is. */
TARGETED static void test_lifted(void **state)
{
    (void)state;
    const float ups[] = { 1, 0x1p50f };
    for (int u = 0; u < 2; u++)
        for (double at = -120; at < 100; at += 0x1p-6 + 0x1p-15) {
            float x = (float)at, half = -0.5f;
            double wanted = exp((double)(x * half)) * ups[u];
            float got[] = { lane_f32v(lifted_exp_f32v(splat_f32v(x), half, ups[u]), 0), lifted_exp_f32(x, half, ups[u]),
                            lane_f32v(lifted_exp_f32v(splat_f32v(x * half), 1, ups[u]), 0), lifted_exp_f32(x * half, 1, ups[u]) };
            for (int i = 0; i < 4; i++)
                check("lifted_exp", x, got[i], error_f32(got[i], wanted), 4);
        }
    for (double at = -200; at < 60; at += 0x1p-5 + 0x1p-14) {
        float x = (float)at, got[] = { lane_f32v(lifted_exp_f32v(splat_f32v(x), 1, ups[1]), 0), lifted_exp_f32(x, 1, ups[1]) };
        for (int i = 0; i < 2; i++)
            if (x < -104 || (got[i] == 0 && x < -103.9))
                assert_true(got[i] == 0);
            else
                check("lifted_exp", x, got[i], error_f32(got[i], exp(x) * ups[1]), 4);
    }
    assert_true(isnan(lane_f32v(lifted_exp_f32v(splat_f32v(NAN), 1, ups[1]), 0)) && isnan(lifted_exp_f32(NAN, 1, ups[1])));
    assert_true(lane_f32v(lifted_exp_f32v(splat_f32v(-INFINITY), 1, ups[1]), 0) == 0);
    assert_true(lane_f32v(lifted_exp_f32v(splat_f32v(INFINITY), 1, ups[1]), 0) == INFINITY);
    int overflow = 0;
    assert_true(lane_f32v(lowered_f32v(splat_f32v(0x1p60f), ups[1], &overflow), 0) == 0x1p10f && !overflow);
    assert_true(lowered_f32(0x1p-90f, ups[1], &overflow) == 0x1p-140f && !overflow);
    lowered_f32v(splat_f32v(-INFINITY), ups[1], &overflow);
    assert_true(overflow == 1);
    overflow = 0;
    lowered_f32(NAN, ups[1], &overflow);
    assert_true(overflow == 1);
}

/* Pairs of numbers of bf16 in words, of which one in either half may be none. */
TARGETED static void test_finite_pairs(void **state)
{
    (void)state;
    const uint32_t words[] = { 0x3F803F80, 0xFF7F7F7F, 0x7F803F80, 0x3F80FF80, 0x00007FC0, 0x80010001 };
    float pairs[2 * LANES];
    for (int w = 0; w < 6; w++)
        for (int at = 0; at < 2 * LANES; at++) {
            for (int i = 0; i < 2 * LANES; i++)
                memcpy(&pairs[i], &words[i == at ? w : 0], sizeof *pairs);
            assert_int_equal(are_finite_bf16(pairs, 2 * LANES), w < 2 || w == 5);
        }
}

/* Factors: exp, or 0 where that is less than the root of the least normal number, so that no product of two is below those. */
/* clang may fuse the products of one and not of the other. */
static bool is_same(double x, double y, double off)
{
#ifdef __clang__
    return x == y || fabs(x - y) <= off * fabs(y);
#else
    (void)off;
    return x == y;
#endif
}

TARGETED static void test_large(void **state)
{
    (void)state;
    for (double x = -800; x < 800; x += 0x1p-4 + 0x1p-13) {
        float f32[2] = { lane_f32v(large_exp_f32v(splat_f32v((float)x)), 0), large_exp_f32((float)x) };
        double f64[2] = { lane_f64v(large_exp_f64v(splat_f64v(x)), 0), large_exp_f64(x) };
        for (int i = 0; i < 2; i++) {
            bool zero = f32[i] == 0 && exp((float)x) < 0x1.1p-63;
            assert_true(zero || (f32[i] * f32[i] >= FLT_MIN && is_same(f32[i], i ? expf((float)x) : lane_f32v(exp_f32v(splat_f32v((float)x)), 0), 0x1p-22)));
            zero = f64[i] == 0 && exp(x) < 0x1.1p-511;
            assert_true(zero || (f64[i] * f64[i] >= DBL_MIN && is_same(f64[i], i ? exp(x) : lane_f64v(exp_f64v(splat_f64v(x)), 0), 0x1p-51)));
        }
    }
    assert_true(isnan(lane_f32v(large_exp_f32v(splat_f32v(NAN)), 0)) && isnan(lane_f64v(large_exp_f64v(splat_f64v(NAN)), 0)));
    assert_true(lane_f32v(large_exp_f32v(splat_f32v(-INFINITY)), 0) == 0 && lane_f64v(large_exp_f64v(splat_f64v(-INFINITY)), 0) == 0);
}

/* Any pattern, any magnitude around 1, and evenly where functions are neither 0 nor 1 nor infinite. */
static double sample(int i)
{
    uint64_t bits = random_bits();
    double x;
    memcpy(&x, &bits, sizeof x);
    switch (i % 4) {
    case 0: return x;
    case 1: return ldexp((double)(int64_t)bits, (int)(random_bits() % 24) - 72);
    case 2: return ldexp((double)(int64_t)bits, -63);
    default: return ldexp((double)(int64_t)bits, -63) * 40;
    }
}

static void test_unary_f64(void **state)
{
    (void)state;
    for (int f = 0; f < UNARY_COUNT; f++)
        for (int done = 0; done < F64_COUNT; done += BLOCK) {
            double x[BLOCK];
            for (int i = 0; i < BLOCK; i++)
                x[i] = sample(i);
            check_f64(&unaries[f], x);
        }
}

static const double notable[] = {
    0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2, 1e-45, -1e-45, 1.17549435e-38, 5e-324, -5e-324,
    2.2250738585072014e-308, 8388607.5, -8388607.5, 8388608, 4503599627370495.5, -4503599627370497.0, 88.72284,
    -103.97208, -103.28, 89.4159, 709.782712893384, -745.1332191019412, 710.4758600739439, 0.41421357, -0.29289323,
    3.40282347e38, -3.40282347e38, 1.7976931348623157e308, -1.7976931348623157e308, -17.5, 17.5, 100, -100, 1e10, -1e10,
    INFINITY, -INFINITY, NAN
};
enum { NOTABLE = sizeof notable / sizeof *notable };

static void test_notable(void **state)
{
    (void)state;
    for (int f = 0; f < UNARY_COUNT; f++) {
        float x[BLOCK] = { 0 };
        double y[BLOCK] = { 0 };
        for (int i = 0; i < NOTABLE; i++)
            x[i] = (float)(y[i] = notable[i]);
        check_f32(&unaries[f], x);
        check_f64(&unaries[f], y);
    }
}

TARGETED static void test_tests(void **state)
{
    (void)state;
    for (int i = 0; i < NOTABLE; i++) {
        double y = notable[i];
        float x = (float)y;
        f32v f = splat_f32v(x);
        f64v d = splat_f64v(y);
        assert_true(isnan_f32(x) == !!isnan(x) && lane_boolv(isnan_f32v(f), 0) == !!isnan(x));
        assert_true(isinf_f32(x) == !!isinf(x) && lane_boolv(isinf_f32v(f), 0) == !!isinf(x));
        assert_true(isfinite_f32(x) == !!isfinite(x) && lane_boolv(isfinite_f32v(f), 0) == !!isfinite(x));
        assert_true(isnan_f64(y) == !!isnan(y) && lane_boolv(isnan_f64v(d), 0) == !!isnan(y));
        assert_true(isinf_f64(y) == !!isinf(y) && lane_boolv(isinf_f64v(d), 0) == !!isinf(y));
        assert_true(isfinite_f64(y) == !!isfinite(y) && lane_boolv(isfinite_f64v(d), 0) == !!isfinite(y));
    }
}

/* ---- functions of two and three arguments ---- */

static double true_max(double a, double b) { return a != a ? a : b > a || b != b ? b : a; }
static double true_min(double a, double b) { return a != a ? a : b < a || b != b ? b : a; }

static double true_mod(double a, double b)
{
    double r = fmod(a, b);
    return r == 0 ? copysign(0, b) : (r < 0) != (b < 0) ? r + b : r;
}

static long double true_maxl(long double a, long double b) { return a != a ? a : b > a || b != b ? b : a; }
static long double true_minl(long double a, long double b) { return a != a ? a : b < a || b != b ? b : a; }

static long double true_modl(long double a, long double b)
{
    long double r = fmodl(a, b);
    return r == 0 ? copysignl(0, b) : (r < 0) != (b < 0) ? r + b : r;
}

typedef struct Binary {
    const char *name;
    Function function;
    void (*f32)(const float *x, const float *y, float *vector, float *scalar);
    void (*f64)(const double *x, const double *y, double *vector, double *scalar);
    double (*true_f32)(double, double);
    long double (*true_f64)(long double, long double);
} Binary;

#define BINARIES(X) \
    X(ATAN2, atan2, atan2) X(POW, pow, pow) X(MIN, min, true_min) X(MAX, max, true_max) X(MOD, mod, true_mod)

#define X(tag, name, reference)                                                                                    \
    TARGETED static void name##_all_f32(const float *x, const float *y, float *vector, float *scalar)              \
    {                                                                                                              \
        for (int i = 0; i < BLOCK; i += LANES) {                                                                   \
            f32v a = load_f32v((const f32u *)x + i, 1, LANES), b = load_f32v((const f32u *)y + i, 1, LANES);       \
            store_f32v((f32u *)vector + i, 1, name##_f32v(a, b), LANES);                                           \
            for (int l = i; l < i + LANES; l++)                                                                    \
                scalar[l] = name##_f32(x[l], y[l]);                                                                \
        }                                                                                                          \
    }                                                                                                              \
    TARGETED static void name##_all_f64(const double *x, const double *y, double *vector, double *scalar)          \
    {                                                                                                              \
        for (int i = 0; i < BLOCK; i += LANES) {                                                                   \
            f64v a = load_f64v((const f64u *)x + i, 1, LANES), b = load_f64v((const f64u *)y + i, 1, LANES);       \
            store_f64v((f64u *)vector + i, 1, name##_f64v(a, b), LANES);                                           \
            for (int l = i; l < i + LANES; l++)                                                                    \
                scalar[l] = name##_f64(x[l], y[l]);                                                                \
        }                                                                                                          \
    }
BINARIES(X)
#undef X

static const Binary binaries[] = {
#define X(tag, name, reference) { #name, FUNCTION_##tag, name##_all_f32, name##_all_f64, reference, reference##l },
    BINARIES(X)
#undef X
};
enum { BINARY_COUNT = sizeof binaries / sizeof *binaries };

static void check_pairs_f32(const Binary *b, const float *x, const float *y)
{
    float vector[BLOCK], scalar[BLOCK];
    b->f32(x, y, vector, scalar);
    for (int i = 0; i < BLOCK; i++) {
        double wanted = b->true_f32(x[i], y[i]);
        double error = error_f32(vector[i], wanted), other = error_f32(scalar[i], wanted);
        bool zeros = (b->function == FUNCTION_MIN || b->function == FUNCTION_MAX) && x[i] == 0 && y[i] == 0;
        if (!zeros && !(error <= ulps[b->function] && other <= ulps[b->function]))
            fail_msg("%s(%a, %a) = %a or %a, %g or %g ulp off", b->name, x[i], y[i], vector[i], scalar[i], error,
                     other);
    }
}

static void check_pairs_f64(const Binary *b, const double *x, const double *y)
{
    double vector[BLOCK], scalar[BLOCK];
    b->f64(x, y, vector, scalar);
    for (int i = 0; i < BLOCK; i++) {
        long double wanted = b->true_f64(x[i], y[i]);
        double error = error_f64(vector[i], wanted), other = error_f64(scalar[i], wanted);
        bool zeros = (b->function == FUNCTION_MIN || b->function == FUNCTION_MAX) && x[i] == 0 && y[i] == 0;
        if (!zeros && !(error <= ulps[b->function] && other <= ulps[b->function]))
            fail_msg("%s(%a, %a) = %a or %a, %g or %g ulp off", b->name, x[i], y[i], vector[i], scalar[i], error,
                     other);
    }
}

static void test_binary(void **state)
{
    (void)state;
    for (int f = 0; f < BINARY_COUNT; f++)
        for (int done = 0; done < NOTABLE * NOTABLE + PAIRS; done += BLOCK) {
            float x[BLOCK], y[BLOCK];
            double p[BLOCK], q[BLOCK];
            for (int i = 0; i < BLOCK; i++) {
                int place = done + i;
                p[i] = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 80) - 100);
                q[i] = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 80) - 100);
                if (place < NOTABLE * NOTABLE) {
                    p[i] = notable[place % NOTABLE];
                    q[i] = notable[place / NOTABLE];
                }
                x[i] = (float)p[i];
                y[i] = (float)q[i];
            }
            check_pairs_f32(&binaries[f], x, y);
            check_pairs_f64(&binaries[f], p, q);
        }
}

static double fraction(void) { return ldexp((double)(int64_t)random_bits(), -63); }

/* A number as far from 0 as `exponent` says, or, of two, as far from 1. */
static double base(int i, int exponent)
{
    int size = (int)(random_bits() % (unsigned)exponent);
    return i % 2 ? 1 + ldexp(fraction(), -(size % 50) - 1) : ldexp(fabs(fraction()) + 0.001, 2 * size - exponent);
}

/* Angles next to where sin or cos is 0, and powers as large and small as there are. */
static void test_hard(void **state)
{
    (void)state;
    for (int done = 0; done < F64_COUNT; done += BLOCK) {
        float x[BLOCK], y[BLOCK];
        double turns[BLOCK], p[BLOCK], q[BLOCK];
        for (int i = 0; i < BLOCK; i++) {
            double k = (double)(random_bits() >> (44 + random_bits() % 20));
            turns[i] = nextafter(k * 1.5707963267948966, random_bits() % 2 ? INFINITY : -INFINITY);
            p[i] = base(i, 950);
            q[i] = 1085 * fraction() / log2(p[i]);
            x[i] = (float)base(i, 120);
            y[i] = (float)(152 * fraction() / log2(x[i]));
        }
        for (int f = 0; f < UNARY_COUNT; f++)
            if (unaries[f].function == FUNCTION_SIN || unaries[f].function == FUNCTION_COS || unaries[f].function == FUNCTION_TAN)
                check_f64(&unaries[f], turns);
        for (int f = 0; f < BINARY_COUNT; f++)
            if (binaries[f].function == FUNCTION_POW) {
                check_pairs_f32(&binaries[f], x, y);
                check_pairs_f64(&binaries[f], p, q);
            }
    }
}

TARGETED static void test_exact_powers(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        double d = base(i, 400);
        float f = (float)base(i, 50);
        assert_true(lane_f32v(pow_f32v(splat_f32v(f), splat_f32v(1)), 0) == f);
        assert_true(lane_f32v(pow_f32v(splat_f32v(f), splat_f32v(2)), 0) == f * f);
        assert_true(lane_f64v(pow_f64v(splat_f64v(d), splat_f64v(1)), 0) == d);
        assert_true(lane_f64v(pow_f64v(splat_f64v(d), splat_f64v(2)), 0) == d * d);
    }
}

TARGETED static void test_clamp_and_fma(void **state)
{
    (void)state;
    for (int i = 0; i < NOTABLE; i++) {
        double y = notable[i], wanted = y != y ? y : y < -2 ? -2 : y > 3 ? 3 : y;
        float x = (float)y;
        f32v f = splat_f32v(x);
        f64v d = splat_f64v(y);
        assert_true(error_f32(clamp_f32(x, -2, 3), (float)wanted) == 0);
        assert_true(error_f32(lane_f32v(clamp_f32v(f, splat_f32v(-2), splat_f32v(3)), 0), (float)wanted) == 0);
        assert_true(error_f64(clamp_f64(y, -2, 3), wanted) == 0);
        assert_true(error_f64(lane_f64v(clamp_f64v(d, splat_f64v(-2), splat_f64v(3)), 0), wanted) == 0);
        assert_true(isnan(lane_f32v(clamp_f32v(f, splat_f32v(NAN), splat_f32v(3)), 0)) || x > 3);
    }
    f32v third = splat_f32v(1.0f / 3), f = fma_f32v(third, splat_f32v(3), splat_f32v(-1));
    f64v tenth = splat_f64v(0.1), d = fma_f64v(tenth, splat_f64v(10), splat_f64v(-1));
    for (int l = 0; l < LANES; l++) {
        assert_true(lane_f32v(f, l) == 0 || lane_f32v(f, l) == fmaf(1.0f / 3, 3, -1));
        assert_true(lane_f64v(d, l) == 0 || lane_f64v(d, l) == fma(0.1, 10, -1));
    }
}

/* ---- complex numbers ---- */

static double _Complex c_recip(double _Complex x) { return 1 / x; }
static double _Complex c_square(double _Complex x) { return x * x; }
static double _Complex c_rsqrt(double _Complex x) { return 1 / csqrt(x); }

typedef struct Complex {
    const char *name;
    c128 (*f)(c128 x);
    c64 (*narrow)(c64 x);
    double _Complex (*truth)(double _Complex x);
    bool strict;                  /* C says what the result is for infinities, NaN and zeros, and so it is here */
} Complex;

#define COMPLEXES(X)                                                                                                  \
    X(exp, cexp, true) X(log, clog, true) X(sqrt, csqrt, true) X(rsqrt, c_rsqrt, false) X(recip, c_recip, false)      \
    X(square, c_square, false) X(sinh, csinh, true) X(cosh, ccosh, true) X(tanh, ctanh, true) X(sin, csin, true)      \
    X(cos, ccos, true) X(tan, ctan, true) X(conj, conj, true)

#define X(name, truth, strict)                                             \
    TARGETED static c128 name##_one(c128 x) { return name##_c128(x); }     \
    TARGETED static c64 name##_narrow(c64 x) { return name##_c64(x); }
COMPLEXES(X)
#undef X

static const Complex complexes[] = {
#define X(name, truth, strict) { #name, name##_one, name##_narrow, truth, strict },
    COMPLEXES(X)
#undef X
};
enum { COMPLEX_COUNT = sizeof complexes / sizeof *complexes };

static double _Complex made(double re, double im)
{
    double parts[2] = { re, im };
    double _Complex x;
    memcpy(&x, parts, sizeof x);
    return x;
}

/* The distance in units of the last place of the larger part; 0 for what f32 or f64 cannot hold. */
static double distance(double re, double im, double _Complex wanted, double epsilon, double least)
{
    if (cabs(wanted) > 1 / least)
        return 0;
    double size = fmax(fmax(fabs(creal(wanted)), fabs(cimag(wanted))), least);
    return fmax(fabs(re - creal(wanted)), fabs(im - cimag(wanted))) / (size * epsilon);
}

/* Not inlined: gcc 12 vectorises such a pair and then forgets that it was rounded to float. */
__attribute__((noinline)) static c64 narrowed(double re, double im)
{
    c64 x = { (float)re, (float)im };
    return x;
}

static void test_complex_functions(void **state)
{
    (void)state;
    for (int f = 0; f < COMPLEX_COUNT; f++)
        for (int i = 0; i < PAIRS; i++) {
            const Complex *c = &complexes[f];
            double re = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 12) - 67);
            double im = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 12) - 67);
            c128 x = { re, im }, y = c->f(x);
            c64 narrow = narrowed(re, im), z = c->narrow(narrow);
            double error = distance(y.re, y.im, c->truth(made(re, im)), 0x1p-52, DBL_MIN);
            double other = distance(z.re, z.im, c->truth(made(narrow.re, narrow.im)), 0x1p-23, FLT_MIN);
            if (error > 8 || other > 4)
                fail_msg("%s(%a + %a i) is %g ulp off, %g in c64", c->name, re, im, error, other);
        }
}

/* The sign of a part is C's only where both parts of the argument are finite. */
static bool same_kind(double got, double wanted, bool finite)
{
    if (!finite)
        return isnan(got) ? isnan(wanted) : fabs(got) == fabs(wanted) || fabs(got - wanted) < 1e-14;
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got);
    if (isinf(wanted) || isinf(got) || wanted == 0)
        return got == wanted;
    return fabs(got - wanted) <= 1e-14 * fabs(wanted);
}

static void test_complex_specials(void **state)
{
    (void)state;
    const double parts[] = {
        0.0, -0.0, 1, -1, 0.5, 3, -700, 1e-310, 709.9, -711, 1e300, -1.7e308, INFINITY, -INFINITY, NAN
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    for (int f = 0; f < COMPLEX_COUNT; f++)
        for (int i = 0; i < PARTS * PARTS; i++) {
            const Complex *c = &complexes[f];
            c128 x = { parts[i % PARTS], parts[i / PARTS] }, y = c->f(x);
            double _Complex wanted = c->truth(made(x.re, x.im));
            bool finite = isfinite(x.re) && isfinite(x.im);
            if (c->strict && !(same_kind(y.re, creal(wanted), finite) && same_kind(y.im, cimag(wanted), finite)))
                fail_msg("%s(%g + %g i) = %g + %g i, not %g + %g i", c->name, x.re, x.im, y.re, y.im, creal(wanted),
                         cimag(wanted));
        }
}

TARGETED static void test_complex_arithmetic(void **state)
{
    (void)state;
    for (int i = 0; i < PAIRS; i++) {
        double parts[4];
        for (int k = 0; k < 4; k++)
            parts[k] = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 12) - 67);
        c128 a = { parts[0], parts[1] }, b = { parts[2], parts[3] };
        double _Complex p = made(a.re, a.im), q = made(b.re, b.im);
        c128 sum = add_c128(a, b), rest = sub_c128(a, b), product = mul_c128(a, b), quotient = div_c128(a, b);
        assert_true(sum.re == a.re + b.re && sum.im == a.im + b.im && rest.re == a.re - b.re && rest.im == a.im - b.im);
        assert_true(distance(product.re, product.im, p * q, DBL_EPSILON, DBL_MIN) < 4);
        assert_true(distance(quotient.re, quotient.im, p / q, DBL_EPSILON, DBL_MIN) < 8);
        assert_true(fabs(abs_c128(a) - cabs(p)) <= 2 * DBL_EPSILON * cabs(p));
        c64 c = narrowed(a.re, a.im), d = narrowed(b.re, b.im), near = mul_c64(c, d), ratio = div_c64(c, d);
        double _Complex r = made(c.re, c.im), t = made(d.re, d.im);
        assert_true(distance(near.re, near.im, r * t, FLT_EPSILON, FLT_MIN) < 4);
        assert_true(distance(ratio.re, ratio.im, r / t, FLT_EPSILON, FLT_MIN) < 8);
        assert_true(fabs(abs_c64(c) - cabs(r)) <= 2 * (double)FLT_EPSILON * cabs(r));
        c128 power = pow_c128(a, make_c128(0.75, -0.5));
        assert_true(distance(power.re, power.im, cpow(p, made(0.75, -0.5)), DBL_EPSILON, DBL_MIN) < 32);
    }
    assert_true(abs_c128(make_c128(3e300, 4e300)) == 5e300 && abs_c64(make_c64(3e30f, 4e30f)) == 5e30f);
    c128 x = make_c128(1, 2), cube = pow_c128(x, make_c128(3, 0)), none = pow_c128(x, make_c128(0, 0));
    assert_true(cube.re == -11 && cube.im == -2 && none.re == 1 && none.im == 0);
    c64 square = pow_c64(make_c64(1, 2), make_c64(2, 0)), inverse = pow_c64(make_c64(0, 2), make_c64(-2, 0));
    assert_true(square.re == -3 && square.im == 4 && inverse.re == -0.25f && inverse.im == 0);
    c128 zero = pow_c128(make_c128(0, 0), make_c128(2, 0)), undefined = pow_c128(make_c128(0, 0), make_c128(-1, 0));
    assert_true(zero.re == 0 && zero.im == 0 && isnan_c128(undefined));
    c128 pole = div_c128(make_c128(1, -1), make_c128(0, 0));
    assert_true(pole.re == INFINITY && pole.im == -INFINITY);
}

/* The sizes of vectors of complex numbers, whatever their exponents, infinities and NaN: of `l`, where lanes have others. */
TARGETED static void test_complex_sizes(void **state)
{
    (void)state;
    static const double notable[] = { 0, -0.0, 1, -3, 5e-324, 1e-310, 1e-45, 1e-40, FLT_MIN, FLT_MAX, DBL_MIN, DBL_MAX, INFINITY, -INFINITY, NAN };
    enum { NOTABLE = sizeof notable / sizeof *notable };
    for (int i = 0; i < PAIRS; i++) {
        double re = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 2100) - 1130), im = ldexp(re, (int)(random_bits() % 80) - 40);
        double tiny = ldexp((double)(int64_t)random_bits(), (int)(random_bits() % 280) - 212), other = ldexp(tiny, (int)(random_bits() % 40) - 20);
        if (i < NOTABLE * NOTABLE) {
            re = tiny = notable[i % NOTABLE];
            im = other = notable[i / NOTABLE];
        }
        const int l = i % LANES;
        c128v wide = splat_c128v(make_c128(1, 1));
        c64v narrow = splat_c64v(make_c64(1, 1));
        boolv at = and_boolv(first_boolv(l + 1), not_boolv(first_boolv(l)));
        wide = select_c128v(at, splat_c128v(make_c128(re, im)), wide);
        narrow = select_c64v(at, splat_c64v(narrowed(tiny, other)), narrow);
        double error = error_f64(lane_f64v(abs_c128v(wide), l), hypotl(re, im));
        double less = error_f32(lane_f32v(abs_c64v(narrow), l), hypot((float)tiny, (float)other));
        if (!(error <= 2) || !(less <= 2))
            fail_msg("abs(%a + %a i) is %g ulp off, or abs(%a + %a i) %g", re, im, error, tiny, other, less);
    }
}

TARGETED static void test_complex_parts(void **state)
{
    (void)state;
    c64 x = complex_f32(1.5f, -2), y = make_c64(NAN, 0), z = make_c64(0, INFINITY);
    c128 w = to_c128_c64(x), v = complex_f64(3e9, 1);
    assert_true(real_c64(x) == 1.5f && imag_c64(x) == -2 && conj_c64(x).im == 2 && neg_c64(x).re == -1.5f);
    assert_true(real_c128(w) == 1.5 && imag_c128(w) == -2 && conj_c128(w).im == 2 && neg_c128(w).im == 2);
    assert_true(eq_c64(x, x) && !ne_c64(x, x) && !eq_c64(y, y) && ne_c64(y, y) && eq_c128(w, w) && !ne_c128(w, w));
    assert_true(isnan_c64(y) && !isnan_c64(z) && isinf_c64(z) && isfinite_c64(x) && !isfinite_c64(y));
    assert_true(!isnan_c128(w) && !isinf_c128(w) && isfinite_c128(w));
    assert_true(to_bool_c64(z) && !to_bool_c64(make_c64(0, -0.0f)) && to_bool_c128(v));
    assert_true(to_c64_f32(2).re == 2 && to_c64_f64(2).im == 0 && to_c64_i32(-3).re == -3 && to_c64_i64(4).re == 4);
    assert_true(to_c128_f32(2).re == 2 && to_c128_f64(2).im == 0 && to_c128_i32(-3).re == -3 && to_c128_i64(4).re == 4);
    assert_true(to_c64_bool(1).re == 1 && to_c128_bool(1).re == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_f32),
        cmocka_unit_test(test_unary_f64),
        cmocka_unit_test(test_coarse),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_lifted),
        cmocka_unit_test(test_finite_pairs),
        cmocka_unit_test(test_notable),
        cmocka_unit_test(test_tests),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_hard), cmocka_unit_test(test_exact_powers),
        cmocka_unit_test(test_clamp_and_fma),
        cmocka_unit_test(test_complex_functions),
        cmocka_unit_test(test_complex_specials),
        cmocka_unit_test(test_complex_arithmetic),
        cmocka_unit_test(test_complex_parts),
        cmocka_unit_test(test_complex_sizes),
    };
    return machine_fits() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
