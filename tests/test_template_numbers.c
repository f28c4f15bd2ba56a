/* The helpers of generated kernels that convert and compute exactly: 16-bit floats, casts, integers, folds, products of
 * narrow numbers. Each is compared with plain C on every lane. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "templates.h"

enum { ROUNDS = 2000, PATTERNS = 1 << 16 };

static bool same(double a, double b)
{
    return a == b ? !signbit(a) == !signbit(b) : a != a && b != b;
}

/* ---- 16-bit floats ---- */

/* A 16-bit float's value by its definition. */
static double value_of(unsigned h, int exponent_bits)
{
    int digits = 15 - exponent_bits, top = (1 << exponent_bits) - 1, bias = top / 2;
    int exponent = (int)(h >> digits) & top, fraction = (int)(h & ((1u << digits) - 1));
    double m = ldexp(fraction + (exponent ? 1 << digits : 0), (exponent ? exponent : 1) - bias - digits);
    if (exponent == top)
        m = fraction ? NAN : INFINITY;
    return h & 0x8000 ? -m : m;
}

/* The nearest 16-bit float, ties to even: the two around |x| by bisection over the patterns, which are in order. */
static unsigned nearest(double x, int exponent_bits)
{
    unsigned sign = signbit(x) ? 0x8000 : 0, low = 0, high = ((1u << exponent_bits) - 1) << (15 - exponent_bits);
    unsigned infinite = high;
    double a = fabs(x);
    if (x != x)
        return sign | (infinite + 1);
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        *(value_of(middle, exponent_bits) <= a ? &low : &high) = middle;
    }
    if (a >= value_of(infinite, exponent_bits))
        return sign | infinite;
    /* The number after the greatest would be its last step further. */
    double below = value_of(low, exponent_bits);
    double above = high == infinite ? 2 * below - value_of(low - 1, exponent_bits) : value_of(high, exponent_bits);
    double down = a - below, up = above - a;
    return sign | (down < up || (down == up && !(low & 1)) ? low : high);
}

static bool is_nan16(unsigned h, int exponent_bits)
{
    return (h & 0x7FFF) > ((1u << exponent_bits) - 1) << (15 - exponent_bits);
}

static void check16(unsigned got, double x, int exponent_bits)
{
    unsigned wanted = nearest(x, exponent_bits);
    if (got != wanted && !(is_nan16(got, exponent_bits) && x != x))
        fail_msg("%a became %x, not %x", x, got, wanted);
}

TARGETED static void check_from_f32(const float *x)
{
    uint16_t f16[LANES], bf16[LANES], factor[LANES];
    float round16[LANES], roundb16[LANES];
    f32v v;
    FROM_LANES(v, x);
    u16v h = to_f16_f32v(v), b = to_bf16_f32v(v), a = factor_bf16v(v);
    f32v r = round_f16v(v), s = round_bf16v(v);
    LANES_OF(f16, h);
    LANES_OF(bf16, b);
    LANES_OF(factor, a);
    LANES_OF(round16, r);
    LANES_OF(roundb16, s);
    for (int l = 0; l < LANES; l++) {
        check16(f16[l], x[l], 5);
        check16(to_f16_f32(x[l]), x[l], 5);
        check16(pack_f16(x[l]), x[l], 5);
        check16(bf16[l], x[l], 8);
        check16(to_bf16_f32(x[l]), x[l], 8);
        bool below = fabsf(x[l]) < 0x1p-126f && (factor[l] & 0x7FFF) == 0;
        assert_true(below || factor[l] == bf16[l] || (x[l] != x[l] && is_nan16(factor[l], 8)));
        assert_true(same(round16[l], value_of(f16[l], 5)) && same(round_f16(x[l]), round16[l]));
        assert_true(same(roundb16[l], value_of(bf16[l], 8)) && same(round_bf16(x[l]), roundb16[l]));
    }
    u16v portable = pack_f16v(v);
    LANES_OF(f16, portable);
    for (int l = 0; l < LANES; l++)
        check16(f16[l], x[l], 5);
}

TARGETED static void check_from_f64(const double *x)
{
    uint16_t f16[LANES], bf16[LANES];
    float round16[LANES], roundb16[LANES];
    f64v v;
    FROM_LANES(v, x);
    f32v r = round_f16_f64v(v), s = round_bf16_f64v(v);
    u16v h = to_f16_f32v(r), b = to_bf16_f32v(s);
    LANES_OF(f16, h);
    LANES_OF(bf16, b);
    LANES_OF(round16, r);
    LANES_OF(roundb16, s);
    for (int l = 0; l < LANES; l++) {
        check16(f16[l], x[l], 5);
        check16(to_f16_f32(round_f16_f64(x[l])), x[l], 5);
        check16(bf16[l], x[l], 8);
        check16(to_bf16_f32(round_bf16_f64(x[l])), x[l], 8);
        assert_true(same(round16[l], value_of(f16[l], 5)) && same(round_f16_f64(x[l]), round16[l]));
        assert_true(same(roundb16[l], value_of(bf16[l], 8)) && same(round_bf16_f64(x[l]), roundb16[l]));
    }
}

TARGETED static void test_widening(void **state)
{
    (void)state;
    for (unsigned h = 0; h < PATTERNS; h += LANES) {
        uint16_t halves[LANES];
        float f16[LANES], bf16[LANES], portable[LANES];
        u16v v;
        for (unsigned l = 0; l < LANES; l++)
            halves[l] = (uint16_t)(h + l);
        FROM_LANES(v, halves);
        f32v x = to_f32_f16v(v), y = to_f32_bf16v(v), z = unpack_f16v(v);
        LANES_OF(f16, x);
        LANES_OF(bf16, y);
        LANES_OF(portable, z);
        for (unsigned l = 0; l < LANES; l++) {
            assert_true(same(f16[l], value_of(h + l, 5)) && same(portable[l], f16[l]));
            assert_true(same(to_f32_f16(halves[l]), f16[l]) && same(unpack_f16(halves[l]), f16[l]));
            assert_true(same(bf16[l], value_of(h + l, 8)) && same(to_f32_bf16(halves[l]), bf16[l]));
        }
    }
}

/* Every 16-bit float, the midpoint to the next, and what lies just beside them. */
TARGETED static void test_rounding(void **state)
{
    (void)state;
    for (unsigned h = 0; h < PATTERNS; h += 3) {
        float x[LANES];
        double d[LANES];
        for (unsigned l = 0; l < LANES; l++) {
            int exponent_bits = random_bits() & 1 ? 5 : 8;
            double at = value_of(h, exponent_bits), next = value_of((h + 1) & 0xFFFF, exponent_bits);
            double base = random_bits() & 1 ? at : at / 2 + next / 2;
            d[l] = random_bits() & 1 ? base : nextafter(base, random_bits() & 1 ? INFINITY : -INFINITY);
            x[l] = random_bits() & 1 ? (float)base : nextafterf((float)base, random_bits() & 1 ? INFINITY : -INFINITY);
        }
        check_from_f32(x);
        check_from_f64(d);
    }
    for (int round = 0; round < ROUNDS; round++) {
        float x[LANES];
        double d[LANES];
        for (int l = 0; l < LANES; l++) {
            x[l] = from_bits_f32((uint32_t)random_bits());
            d[l] = ldexp((double)random_bits(), (int)(random_bits() % 400) - 264);
        }
        check_from_f32(x);
        check_from_f64(d);
    }
}

/* ---- casts ---- */

static const double notable[] = {
    0.0, -0.0, 0.5, -0.5, 0.99999994, 1, -1, 1.5, -1.5, 127, 128, -129, 255.9, 32767.5, -32769, 2147483520.0,
    2147483647.0, 2147483647.5, 2147483648.0, -2147483648.0, -2147483648.5, -2147483904.0, 4294967296.0,
    9223372036854774784.0, 9223371487098961920.0, 9223372036854775808.0, -9223372036854775808.0,
    -9223373136366403584.0, 1e30, -1e30, 1e-40, NAN, INFINITY, -INFINITY
};
enum { NOTABLE = sizeof notable / sizeof *notable };

static double number_at(int round)
{
    if (round < NOTABLE)
        return notable[round];
    double x = ldexp((double)(int64_t)random_bits(), -(int)(random_bits() % 70));
    return round & 1 ? trunc(x) : x;
}

static int64_t integer_of(double x, int64_t least, int64_t greatest)
{
    return x != x ? 0 : x >= -(double)least ? greatest : x <= (double)least ? least : (int64_t)x;
}

TARGETED static void test_casts_of_floats(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        float x[LANES];
        double y[LANES];
        for (int l = 0; l < LANES; l++)
            x[l] = (float)(y[l] = number_at(l ? ROUNDS : round));
        f32v f;
        f64v d;
        FROM_LANES(f, x);
        FROM_LANES(d, y);
        i32v i = to_i32_f32v(f), j = to_i32_f64v(d);
        i64v k = to_i64_f32v(f), m = to_i64_f64v(d);
        for (int l = 0; l < LANES; l++) {
            int64_t near = integer_of(x[l], INT32_MIN, INT32_MAX), exact = integer_of(y[l], INT32_MIN, INT32_MAX);
            assert_true(lane_i32v(i, l) == near && to_i32_f32(x[l]) == near);
            assert_true(lane_i32v(j, l) == exact && to_i32_f64(y[l]) == exact);
            near = integer_of(x[l], INT64_MIN, INT64_MAX);
            exact = integer_of(y[l], INT64_MIN, INT64_MAX);
            assert_true(lane_i64v(k, l) == near && to_i64_f32(x[l]) == near);
            assert_true(lane_i64v(m, l) == exact && to_i64_f64(y[l]) == exact);
            assert_true(same(lane_f64v(to_f64_f32v(f), l), x[l]) && same(to_f64_f32(x[l]), x[l]));
            assert_true(same(lane_f32v(to_f32_f64v(d), l), (float)y[l]) && same(to_f32_f64(y[l]), (float)y[l]));
            assert_true(lane_boolv(to_bool_f32v(f), l) == (x[l] != 0) && to_bool_f32(x[l]) == (x[l] != 0));
            assert_true(lane_boolv(to_bool_f64v(d), l) == (y[l] != 0) && to_bool_f64(y[l]) == (y[l] != 0));
        }
    }
}

TARGETED static void test_casts_of_integers(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int32_t x[LANES];
        int64_t y[LANES];
        for (int l = 0; l < LANES; l++) {
            y[l] = (int64_t)random_bits() >> random_bits() % 64;
            x[l] = (int32_t)y[l];
        }
        i32v i;
        i64v k;
        FROM_LANES(i, x);
        FROM_LANES(k, y);
        boolv odd = to_bool_i32v(i & 1);
        int64_t first = y[0] / 2, step = x[0] % 4;
        f32v line = line_f32v(first, step);
        f64v long_line = line_f64v(first, step);
        for (int l = 0; l < LANES; l++) {
            int64_t at = first + step * l;
            assert_true(same(lane_f32v(line, l), (float)at) && same(lane_f64v(long_line, l), (double)at));
            assert_true(lane_i64v(to_i64_i32v(i), l) == x[l] && to_i64_i32(x[l]) == x[l]);
            assert_true(lane_i32v(to_i32_i64v(k), l) == x[l] && to_i32_i64(y[l]) == x[l]);
            assert_true(lane_f32v(to_f32_i32v(i), l) == (float)x[l] && to_f32_i32(x[l]) == (float)x[l]);
            assert_true(lane_f64v(to_f64_i32v(i), l) == x[l] && to_f64_i32(x[l]) == x[l]);
            assert_true(lane_f32v(to_f32_i64v(k), l) == (float)y[l] && to_f32_i64(y[l]) == (float)y[l]);
            assert_true(lane_f64v(to_f64_i64v(k), l) == (double)y[l] && to_f64_i64(y[l]) == (double)y[l]);
            assert_true(lane_boolv(to_bool_i32v(i), l) == (x[l] != 0) && to_bool_i32(x[l]) == (x[l] != 0));
            assert_true(lane_boolv(to_bool_i64v(k), l) == (y[l] != 0) && to_bool_i64(y[l]) == (y[l] != 0));
            assert_true(lane_i32v(to_i8_i32v(i), l) == (int8_t)x[l] && to_i8_i32(x[l]) == (int8_t)x[l]);
            assert_true(lane_i32v(to_i16_i32v(i), l) == (int16_t)x[l] && to_i16_i32(x[l]) == (int16_t)x[l]);
            assert_true(lane_i32v(to_i32_boolv(odd), l) == (x[l] & 1) && to_i32_bool(x[l] & 1) == (x[l] & 1));
            assert_true(lane_i64v(to_i64_boolv(odd), l) == (x[l] & 1) && to_i64_bool(x[l] & 1) == (x[l] & 1));
            assert_true(lane_f32v(to_f32_boolv(odd), l) == (x[l] & 1) && to_f32_bool(x[l] & 1) == (x[l] & 1));
            assert_true(lane_f64v(to_f64_boolv(odd), l) == (x[l] & 1) && to_f64_bool(x[l] & 1) == (x[l] & 1));
        }
    }
}

/* ---- integers ---- */

static const int64_t integers[] = { 0, 1, -1, 2, -2, 3, 7, -7, 10, 255, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
enum { INTEGERS = sizeof integers / sizeof *integers };

static int64_t integer_at(int round, int other)
{
    int i = other ? round / INTEGERS : round % INTEGERS;
    return round < INTEGERS * INTEGERS ? integers[i] : (int64_t)random_bits() >> random_bits() % 64;
}

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

/* What operations on integers of 32 or 64 bits give, computed in 128 and cut off. */
static int64_t cut(Wide x, int bits)
{
    return bits == 32 ? (int32_t)(uint32_t)x : (int64_t)(uint64_t)x;
}

static int64_t true_mod(int64_t a, int64_t b)
{
    Wide rest = b ? (Wide)a % b : 0;
    return (int64_t)(rest && (rest < 0) != (b < 0) ? rest + b : rest);
}

static int64_t true_pow(int64_t x, int64_t exponent, int bits)
{
    if (exponent < 0)
        return x == 1 ? 1 : x == -1 ? (exponent % 2 ? -1 : 1) : 0;
    int64_t power = 1;
    for (int64_t i = 0; i < exponent % 64; i++)
        power = cut((Wide)power * x, bits);
    return power;
}

TARGETED static void test_i32(void **state)
{
    (void)state;
    for (int round = 0; round < INTEGERS * INTEGERS + ROUNDS; round++) {
        int32_t x[LANES], y[LANES];
        for (int l = 0; l < LANES; l++) {
            x[l] = (int32_t)integer_at(l ? INTEGERS * INTEGERS : round, 0);
            y[l] = (int32_t)integer_at(l ? INTEGERS * INTEGERS : round, 1);
        }
        i32v a, b;
        FROM_LANES(a, x);
        FROM_LANES(b, y);
        i32v small = b & 63, power = pow_i32v(a, small), fraction = pow_i32v(a, -1 - small), rest = mod_i32v(a, b);
        for (int l = 0; l < LANES; l++) {
            Wide p = x[l], q = y[l];
            int32_t exponent = y[l] & 63;
#define CHECK(name, wanted)                                          \
    assert_int_equal(lane_i32v(name##_i32v(a, b), l), cut(wanted, 32)); \
    assert_int_equal(name##_i32(x[l], y[l]), cut(wanted, 32))
            CHECK(add, p + q);
            CHECK(sub, p - q);
            CHECK(mul, p * q);
            CHECK(min, p < q ? p : q);
            CHECK(max, p > q ? p : q);
#undef CHECK
#define CHECK(name, wanted)                                          \
    assert_int_equal(lane_i32v(name##_i32v(a), l), cut(wanted, 32)); \
    assert_int_equal(name##_i32(x[l]), cut(wanted, 32))
            CHECK(neg, -p);
            CHECK(abs, p < 0 ? -p : p);
            CHECK(sign, p > 0 ? 1 : p < 0 ? -1 : 0);
            CHECK(square, p * p);
            CHECK(relu, p > 0 ? p : 0);
#undef CHECK
            assert_int_equal(lane_i32v(rest, l), true_mod(x[l], y[l]));
            assert_int_equal(lane_i32v(power, l), true_pow(x[l], exponent, 32));
            assert_int_equal(lane_i32v(fraction, l), true_pow(x[l], -1 - exponent, 32));
            assert_int_equal(mod_i32(x[l], y[l]), lane_i32v(rest, l));
            int32_t clamped = x[l] < -5 ? -5 : x[l] > 9 ? 9 : x[l];
            assert_int_equal(lane_i32v(clamp_i32v(a, splat_i32v(-5), splat_i32v(9)), l), clamped);
            assert_int_equal(clamp_i32(x[l], -5, 9), clamped);
        }
    }
    assert_int_equal(clamp_i32(3, 9, 1), 1);
}

TARGETED static void test_i64(void **state)
{
    (void)state;
    for (int round = 0; round < INTEGERS * INTEGERS + ROUNDS; round++) {
        int64_t x[LANES], y[LANES];
        for (int l = 0; l < LANES; l++) {
            x[l] = integer_at(l ? INTEGERS * INTEGERS : round, 0);
            y[l] = integer_at(l ? INTEGERS * INTEGERS : round, 1);
        }
        i64v a, b;
        FROM_LANES(a, x);
        FROM_LANES(b, y);
        i64v small = b & 63, power = pow_i64v(a, small), fraction = pow_i64v(a, -1 - small), rest = mod_i64v(a, b);
        for (int l = 0; l < LANES; l++) {
            Wide p = x[l], q = y[l];
            int64_t exponent = y[l] & 63;
#define CHECK(name, wanted)                                                  \
    assert_true(lane_i64v(name##_i64v(a, b), l) == cut(wanted, 64));         \
    assert_true(name##_i64(x[l], y[l]) == cut(wanted, 64))
            CHECK(add, p + q);
            CHECK(sub, p - q);
            CHECK(mul, (Wide)((UnsignedWide)p * (UnsignedWide)q));
            CHECK(min, p < q ? p : q);
            CHECK(max, p > q ? p : q);
#undef CHECK
#define CHECK(name, wanted)                                                  \
    assert_true(lane_i64v(name##_i64v(a), l) == cut(wanted, 64));            \
    assert_true(name##_i64(x[l]) == cut(wanted, 64))
            CHECK(neg, -p);
            CHECK(abs, p < 0 ? -p : p);
            CHECK(sign, p > 0 ? 1 : p < 0 ? -1 : 0);
            CHECK(square, (Wide)((UnsignedWide)p * (UnsignedWide)p));
            CHECK(relu, p > 0 ? p : 0);
#undef CHECK
            assert_true(lane_i64v(rest, l) == true_mod(x[l], y[l]));
            assert_true(lane_i64v(power, l) == true_pow(x[l], exponent, 64));
            assert_true(lane_i64v(fraction, l) == true_pow(x[l], -1 - exponent, 64));
            assert_true(mod_i64(x[l], y[l]) == lane_i64v(rest, l));
            int64_t clamped = x[l] < -5 ? -5 : x[l] > 9 ? 9 : x[l];
            assert_true(lane_i64v(clamp_i64v(a, splat_i64v(-5), splat_i64v(9)), l) == clamped);
            assert_true(clamp_i64(x[l], -5, 9) == clamped);
        }
    }
    assert_true(clamp_i64(3, 9, 1) == 1);
}

/* ---- folds ---- */

/* A tree of halves, which fixes the rounding. */
static double tree(double *x, int product)
{
    for (int n = LANES / 2; n; n /= 2)
        for (int l = 0; l < n; l++)
            x[l] = product ? x[l] * x[l + n] : x[l] + x[l + n];
    return x[0];
}

static float tree_f32(float *x, int product)
{
    for (int n = LANES / 2; n; n /= 2)
        for (int l = 0; l < n; l++)
            x[l] = product ? x[l] * x[l + n] : x[l] + x[l + n];
    return x[0];
}

TARGETED static void test_folds_of_floats(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        float x[LANES], s[LANES], p[LANES], most = -INFINITY, least = INFINITY;
        double y[LANES], t[LANES], q[LANES];
        int nan = round % 3 ? -1 : (int)(random_bits() % LANES);
        for (int l = 0; l < LANES; l++) {
            x[l] = s[l] = p[l] = l == nan ? NAN : (float)(int64_t)random_bits() * 0x1p-60f;
            y[l] = t[l] = q[l] = x[l];
            most = x[l] > most ? x[l] : most;
            least = x[l] < least ? x[l] : least;
        }
        f32v f;
        f64v d;
        FROM_LANES(f, x);
        FROM_LANES(d, y);
        assert_true(same(fold_sum_f32v(f), tree_f32(s, 0)) && same(fold_prod_f32v(f), tree_f32(p, 1)));
        assert_true(same(fold_sum_f64v(d), tree(t, 0)) && same(fold_prod_f64v(d), tree(q, 1)));
        assert_true(same(fold_max_f32v(f), nan < 0 ? most : NAN) && same(fold_min_f32v(f), nan < 0 ? least : NAN));
        assert_true(same(fold_max_f64v(d), nan < 0 ? most : NAN) && same(fold_min_f64v(d), nan < 0 ? least : NAN));
    }
}

TARGETED static void test_folds_of_integers(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int32_t x[LANES], most = INT32_MIN, least = INT32_MAX;
        int64_t y[LANES];
        uint32_t sum = 0, product = 1;
        uint64_t far_sum = 0, far_product = 1;
        for (int l = 0; l < LANES; l++) {
            x[l] = (int32_t)random_bits();
            y[l] = x[l] * INT64_C(4294967296) + 1;
            sum += (uint32_t)x[l];
            product *= (uint32_t)x[l];
            far_sum += (uint64_t)y[l];
            far_product *= (uint64_t)y[l];
            most = x[l] > most ? x[l] : most;
            least = x[l] < least ? x[l] : least;
        }
        i32v i;
        i64v k;
        FROM_LANES(i, x);
        FROM_LANES(k, y);
        assert_true((uint32_t)fold_sum_i32v(i) == sum && (uint32_t)fold_prod_i32v(i) == product);
        assert_true((uint64_t)fold_sum_i64v(k) == far_sum && (uint64_t)fold_prod_i64v(k) == far_product);
        assert_true(fold_max_i32v(i) == most && fold_min_i32v(i) == least);
        assert_true(fold_max_i64v(k) >> 32 == most && fold_min_i64v(k) >> 32 == least);
    }
}

/* Sums of several vectors at once are those of each, to the last bit. */
TARGETED static void test_folds_of_some(void **state)
{
    (void)state;
    enum { MOST = 19 };
    for (int count = 1; count <= MOST; count++) {
        f32v x[MOST];
        f64v y[MOST];
        i32v z[MOST];
        float some[MOST];
        double far[MOST];
        int32_t whole[MOST];
        for (int i = 0; i < count; i++) {
            float numbers[LANES];
            double doubles[LANES];
            int32_t integers[LANES];
            for (int l = 0; l < LANES; l++) {
                numbers[l] = random_bits() % 100 == 0 ? NAN : (float)(int64_t)random_bits() * 0x1p-60f;
                doubles[l] = (double)(int64_t)random_bits() * 1e-9;
                integers[l] = (int32_t)random_bits();
            }
            FROM_LANES(x[i], numbers);
            FROM_LANES(y[i], doubles);
            FROM_LANES(z[i], integers);
        }
        fold_sums_f32v(x, count, some);
        fold_sums_f64v(y, count, far);
        fold_sums_i32v(z, count, whole);
        for (int i = 0; i < count; i++)
            assert_true(same(some[i], fold_sum_f32v(x[i])) && same(far[i], fold_sum_f64v(y[i])) && whole[i] == fold_sum_i32v(z[i]));
    }
}

/* ---- products of narrow numbers ---- */

static float bf16_at(uint32_t word, int at)
{
    uint32_t bits = word >> 16 * at << 16;
    float x;
    memcpy(&x, &bits, 4);
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* Any bits, or those of numbers of one size, whose products add up. */
static uint32_t random_bf16s(int round)
{
    uint32_t bits = (uint32_t)random_bits();
    return round % 3 == 0 ? bits : round % 3 == 1 ? (bits & 0x80ff80ff) | 0x3f003f00 : (bits & 0x81ff81ff) | 0x20002000;
}

/* The instruction, or its model, against plain C, bit by bit; of NaN only that it is one. */
TARGETED static void test_dots(void **state)
{
    (void)state;
    for (int round = 0; round < 20 * ROUNDS; round++) {
        uint32_t left[LANES], right[LANES];
        float sums[LANES], made[LANES];
        int32_t whole[LANES], wholes[LANES];
        for (int l = 0; l < LANES; l++) {
            uint32_t bits = (uint32_t)random_bits();
            left[l] = random_bf16s(round), right[l] = random_bf16s(round);
            bits = round % 3 ? (bits & 0x80ffffff) | (round % 3 == 1 ? 0x3f000000 : 0x01000000) : bits;
            memcpy(&sums[l], &bits, 4);
            whole[l] = (int32_t)random_bits();
        }
        f32v f;
        i32v i;
        u32v a, b;
        FROM_LANES(f, sums), FROM_LANES(i, whole), FROM_LANES(a, left), FROM_LANES(b, right);
        f = dot_bf16v(f, a, b);
        i = dot_i8v(i, a, b);
        LANES_OF(made, f);
        LANES_OF(wholes, i);
        for (int l = 0; l < LANES; l++) {
            float sum = flushed(sums[l]);
            uint32_t total = (uint32_t)whole[l];
            for (int at = 1; at >= 0; at--)
                sum = flushed(fmaf(bf16_at(left[l], at), bf16_at(right[l], at), sum));
            for (int at = 0; at < 32; at += 8)
                total += (uint32_t)((int32_t)(uint8_t)(left[l] >> at) * (int8_t)(right[l] >> at));
            assert_true(same(made[l], sum));
            assert_true((uint32_t)wholes[l] == total);
        }
    }
}

/* A number of f32 in parts of bf16: three are all of it, what two leave is small; those that have none are told. */
TARGETED static void test_parts(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        float x[LANES], parts[3][LANES], rest[LANES];
        uint32_t odd[LANES];
        bool any = false;
        for (int l = 0; l < LANES; l++)
            x[l] = from_bits_f32((uint32_t)random_bits());
        if (round % 2)
            for (int l = 0; l < LANES; l++)
                x[l] = from_bits_f32((bits_f32(x[l]) & 0x87FFFFFF) | 0x38000000);
        if (round % 4 == 3)
            x[round % LANES] = round % 8 == 3 ? 0 : 0x1p40f;
        f32v left = load_f32v((const f32u *)x, 1, LANES);
        i32v most = splat_i32v(0), least = splat_i32v(0);
        note_sizes(&most, &least, left);
        u32v odds = odd_sizes(most, least);
        LANES_OF(odd, odds);
        for (int p = 0; p < 3; p++) {
            f32v part = from_bits_f32v(part_bf16v(&left));
            LANES_OF(parts[p], part);
        }
        LANES_OF(rest, left);
        for (int l = 0; l < LANES; l++) {
            const bool has = x[l] == 0 || (fabsf(x[l]) >= 0x1p-40f && fabsf(x[l]) <= 0x1p40f);
            assert_true(has == (odd[l] == 0));
            any |= !has;
            for (int p = 0; p < 3; p++)
                assert_true((bits_f32(parts[p][l]) & 0xFFFF) == 0);
            if (has)
                assert_true(rest[l] == 0 && (double)parts[0][l] + parts[1][l] + parts[2][l] == x[l] &&
                            fabsf(parts[1][l]) <= 0x1p-8f * fabsf(x[l]) && fabsf(parts[2][l]) <= 0x1p-17f * fabsf(x[l]));
        }
        assert_true(any_u32v(odds) == any);
    }
}

/* Packed columns and rows, as the product needs them: exact for all i8. */
TARGETED static void test_packed_dots(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int8_t row[4 * LANES + 5], columns[4][LANES];
        uint8_t packed[4 * LANES + 5], stored[LANES];
        int32_t made[LANES];
        for (size_t i = 0; i < sizeof row; i++)
            row[i] = (int8_t)random_bits();
        copy_row_i8(packed, row, sizeof row);
        store_row_i8v(stored, load_i8v((const i8u *)row, 1, LANES), LANES);
        for (size_t i = 0; i < sizeof row; i++)
            assert_true((int8_t)packed[i] == row[i] && (i >= LANES || stored[i] == packed[i]));
        copy_row_without_sign_i8(packed, row, sizeof row);
        store_row_without_sign_i8v(stored, load_i8v((const i8u *)row, 1, LANES), LANES);
        for (size_t i = 0; i < sizeof row; i++)
            assert_true(packed[i] == row[i] + 128 && (i >= LANES || stored[i] == packed[i]));
        u32v words = splat_u32v(0);
        for (int at = 0; at < 4; at++) {
            for (int l = 0; l < LANES; l++)
                columns[at][l] = (int8_t)random_bits();
            words |= place_i8v(load_i8v((const i8u *)columns[at], 1, LANES), at);
        }
        i32v sum = dot_i8v(offset_i8v(splat_i32v(0), words), splat_word(packed), words);
        LANES_OF(made, sum);
        for (int l = 0; l < LANES; l++) {
            int32_t sum_of = 0;
            for (int at = 0; at < 4; at++)
                sum_of += row[at] * columns[at][l];
            assert_int_equal(made[l], sum_of);
        }
    }
}

/* The same in words of two numbers of 16 bits, and of 8 that are widened: sums wrap around. */
TARGETED static void test_packed_pairs(void **state)
{
    (void)state;
    enum { PAIRS = LANES + LANES / 2 };
    for (int round = 0; round < ROUNDS; round++) {
        int8_t small[LANES + 1][2 * PAIRS + 1];
        int16_t row[2 * PAIRS], packed[2 * PAIRS + 1], columns[2][LANES];
        uint32_t words[PAIRS][LANES], woven[LANES];
        int32_t made[LANES];
        for (size_t i = 0; i < sizeof small; i++)
            ((int8_t *)small)[i] = (int8_t)random_bits();
        copy_row_i8_i16(packed, small[0], 2 * PAIRS + 1);
        for (int i = 0; i < 2 * PAIRS + 1; i++)
            assert_int_equal(packed[i], small[0][i]);
        store_row_i16v(row, load_i16v((const i16u *)packed, 1, LANES), LANES);
        assert_memory_equal(row, packed, LANES * sizeof *row);
        const int rows = round % 3 ? LANES : 1 + round % LANES;
        assert_int_equal(turn_words_i8_i16((u32u *)words, LANES, (const i8u *)small, sizeof small[0], rows, PAIRS), PAIRS);
        for (int l = 0; l < rows; l++)
            for (int k = 0; k < PAIRS; k++)
                assert_true(words[k][l] == ((uint32_t)(uint16_t)small[l][2 * k] | (uint32_t)(uint16_t)small[l][2 * k + 1] << 16));
        assert_int_equal(weave_words_i8_i16((u32u *)woven, LANES, (const i8u *)small, sizeof small[0], LANES, 1), 1);
        for (int l = 0; l < LANES; l++)
            assert_true(woven[l] == ((uint32_t)(uint16_t)small[0][l] | (uint32_t)(uint16_t)small[1][l] << 16));
        u32v word = splat_u32v(0);
        for (int at = 0; at < 2; at++) {
            row[at] = (int16_t)(round % 5 ? (int)random_bits() : -32768);
            for (int l = 0; l < LANES; l++)
                columns[at][l] = (int16_t)(round % 7 ? (int)random_bits() : -32768);
            word |= place_i16v(load_i16v((const i16u *)columns[at], 1, LANES), at);
        }
        i32v sum = dot_i16v(splat_i32v(round), splat_word(row), word);
        LANES_OF(made, sum);
        for (int l = 0; l < LANES; l++)
            assert_true((uint32_t)made[l] == (uint32_t)round + (uint32_t)(row[0] * columns[0][l]) + (uint32_t)(row[1] * columns[1][l]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widening),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_casts_of_floats),
        cmocka_unit_test(test_casts_of_integers),
        cmocka_unit_test(test_i32),
        cmocka_unit_test(test_i64),
        cmocka_unit_test(test_folds_of_floats),
        cmocka_unit_test(test_folds_of_integers),
        cmocka_unit_test(test_folds_of_some),
        cmocka_unit_test(test_dots),
        cmocka_unit_test(test_packed_dots),
        cmocka_unit_test(test_packed_pairs),
        cmocka_unit_test(test_parts),
    };
    return machine_fits() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
