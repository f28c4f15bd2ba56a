/* Powers x^y = 2^(y log2 x), of the size of x; its sign and what whole exponents are come last, x^1 and x^2 as they are.
 *
 * An error of the logarithm counts y times as much in the power's exponent. So the logarithm is a number and what that lacks,
 * and so is what it is made of; of a product that is one multiply-add. Without such an instruction powers go lane by lane. */
#ifndef TEMPLATES_REAL_POW
#define TEMPLATES_REAL_POW

#include "real_log.c"
#include "real_round.c"

//{ pow_f32
INLINE float pow_f32(float x, float y)
{
    return powf(x, y);
}
//}

//{ pow_f64
INLINE double pow_f64(double x, double y)
{
    return pow(x, y);
}
//}

//{ lost_of_halves_f32v
/* What p, which a * b was rounded to, lacks: a sum of products of halves, each of which is exact. Where a compiler does not round
 * a * b in what p is used for, this is 0. */
INLINE f32v lost_of_halves_f32v(f32v a, f32v b, f32v p)
{
    f32v a_high = from_bits_f32v(bits_f32v(a) & 0xFFFFF000), a_low = a - a_high;
    f32v b_high = from_bits_f32v(bits_f32v(b) & 0xFFFFF000), b_low = b - b_high;
    return a_high * b_high - p + a_high * b_low + a_low * b_high + a_low * b_low;
}
//}

#if !defined EINC_FMA && !defined EINC_AVX512 && !defined EINC_NEON
//{ lost_f32v
/* What p, which a * b was rounded to, lacks. */
INLINE f32v lost_f32v(f32v a, f32v b, f32v p)
{
    return lost_of_halves_f32v(a, b, p);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ lost_f32v@fma
/* What p, which a * b was rounded to, lacks. */
INLINE f32v lost_f32v(f32v a, f32v b, f32v p)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    return fma_f32v(a, b, -p);    /* one instruction, which no compiler takes apart */
#else
    return lost_of_halves_f32v(a, b, p);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ lost_f32v@avx512
/* What p, which a * b was rounded to, lacks. */
INLINE f32v lost_f32v(f32v a, f32v b, f32v p)
{
#if EINC_VECTORS && !defined(__clang__) && LANES >= 4
    return fma_f32v(a, b, -p);    /* one instruction, which no compiler takes apart */
#else
    return lost_of_halves_f32v(a, b, p);
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ lost_f32v@neon
/* What p, which a * b was rounded to, lacks. */
INLINE f32v lost_f32v(f32v a, f32v b, f32v p)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 4
    return fma_f32v(a, b, -p);    /* one instruction, which no compiler takes apart */
#else
    return lost_of_halves_f32v(a, b, p);
#endif
}
//}
#endif

//{ log2_parts_f32v
/* log2 of x > 0, and what that lacks: k + 2/ln 2 * atanh(s), s = r / (2 + r). Of the series s + s^3/3 + s^5 Q(s^2) the first
 * two terms are made so; relative error of Q there 2^-36.8. */
INLINE f32v log2_parts_f32v(f32v x, f32v *rest)
{
    f32v k, r = log_split_f32v(x, &k), d = r + 2.0f, recip = 1.0f / d, s = r * recip, sd = s * d;
    f32v s_rest = (((r - sd) - lost_f32v(s, d, sd)) - s * (r - (d - 2.0f))) * recip;
    f32v z = s * s, z_rest = lost_f32v(s, s, z) + (s + s) * s_rest, q = splat_f32v(0.11709092f);
    q = horner_f32v(q, z, 0.142735762f);
    q = horner_f32v(q, z, 0.20000076f);
    f32v third = splat_f32v(0.333333343f), t = z * third, u = t + 1.0f;
    f32v u_rest = (1.0f - u) + t + (lost_f32v(z, third, t) + (z * -9.93410776e-9f + z_rest * third) + z * z * q);
    f32v v = s * u, v_rest = lost_f32v(s, u, v) + (s * u_rest + s_rest * u), by = splat_f32v(2.88539004f), w = v * by;
    f32v w_rest = lost_f32v(v, by, w) + (v * 3.85192607e-8f + v_rest * by), sum = k + w;
    *rest = (k - sum) + w + w_rest;
    return log_special_f32v(x, sum);
}
//}

//{ power_f32v
INLINE f32v power_f32v(f32v x, f32v y)
{
    f32v zero = splat_f32v(0), most = splat_f32v(160.0f), size = abs_f32v(x), half = y * 0.5f;
    f32v rest, log = log2_parts_f32v(size, &rest), e = y * log, e_rest = lost_f32v(y, log, e) + y * rest;
    e_rest = select_f32v(abs_f32v(e) < most, e_rest, zero);    /* beyond, and where it is NaN, it may be anything */
    e = lesser_f32v(most, greater_f32v(-most, e));
    e = select_f32v(size == splat_f32v(1), zero, select_f32v(y == zero, zero, e));
    f32v n = round_f32v(e + e_rest), power = scale_f32v(exp_near_f32v(((e - n) + e_rest) * 0.693147181f), n);
    boolv whole = round_f32v(y) == y, odd = and_boolv(whole, round_f32v(half) != half);
    boolv wrong = and_boolv(and_boolv(x < zero, not_boolv(whole)), size < splat_f32v(INFINITY));
    power = select_f32v(wrong, splat_f32v(NAN), select_f32v(odd, copysign_f32v(power, x), power));
    return select_f32v(y == splat_f32v(1), x, select_f32v(y == splat_f32v(2), x * x, power));
}
//}

#if !defined EINC_FMA && !defined EINC_AVX512 && !defined EINC_NEON
//{ pow_f32v
INLINE f32v pow_f32v(f32v x, f32v y)
{
    float lanes[LANES], exponents[LANES];
    memcpy(lanes, &x, sizeof x);
    memcpy(exponents, &y, sizeof y);
    for (int l = 0; l < LANES; l++)
        lanes[l] = powf(lanes[l], exponents[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}
#endif

#if defined EINC_FMA || defined EINC_AVX512
//{ pow_f32v@fma
INLINE f32v pow_f32v(f32v x, f32v y)
{
    return power_f32v(x, y);
}
//}
#endif

#ifdef EINC_NEON
//{ pow_f32v@neon
INLINE f32v pow_f32v(f32v x, f32v y)
{
    return power_f32v(x, y);
}
//}
#endif

//{ lost_of_halves_f64v
/* What p, which a * b was rounded to, lacks: a sum of products of halves, each of which is exact. Where a compiler does not round
 * a * b in what p is used for, this is 0. */
INLINE f64v lost_of_halves_f64v(f64v a, f64v b, f64v p)
{
    f64v a_high = from_bits_f64v(bits_f64v(a) & 0xFFFFFFFFF8000000), a_low = a - a_high;
    f64v b_high = from_bits_f64v(bits_f64v(b) & 0xFFFFFFFFF8000000), b_low = b - b_high;
    return a_high * b_high - p + a_high * b_low + a_low * b_high + a_low * b_low;
}
//}

#if !defined EINC_FMA && !defined EINC_AVX512 && !defined EINC_NEON
//{ lost_f64v
/* What p, which a * b was rounded to, lacks. */
INLINE f64v lost_f64v(f64v a, f64v b, f64v p)
{
    return lost_of_halves_f64v(a, b, p);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ lost_f64v@fma
/* What p, which a * b was rounded to, lacks. */
INLINE f64v lost_f64v(f64v a, f64v b, f64v p)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 4
    return fma_f64v(a, b, -p);    /* one instruction, which no compiler takes apart */
#else
    return lost_of_halves_f64v(a, b, p);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ lost_f64v@avx512
/* What p, which a * b was rounded to, lacks. */
INLINE f64v lost_f64v(f64v a, f64v b, f64v p)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 8
    return fma_f64v(a, b, -p);    /* one instruction, which no compiler takes apart */
#else
    return lost_of_halves_f64v(a, b, p);
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ lost_f64v@neon
/* What p, which a * b was rounded to, lacks. */
INLINE f64v lost_f64v(f64v a, f64v b, f64v p)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 2
    return fma_f64v(a, b, -p);    /* one instruction, which no compiler takes apart */
#else
    return lost_of_halves_f64v(a, b, p);
#endif
}
//}
#endif

//{ log2_parts_f64v
/* log2 of x > 0, and what that lacks: k + 2/ln 2 * atanh(s), s = r / (2 + r). Of the series s + s^3/3 + s^5 Q(s^2) the first
 * two terms are made so; relative error of Q there 2^-66.3. */
INLINE f64v log2_parts_f64v(f64v x, f64v *rest)
{
    f64v k, r = log_split_f64v(x, &k), d = r + 2.0, recip = 1.0 / d, s = r * recip, sd = s * d;
    f64v s_rest = (((r - sd) - lost_f64v(s, d, sd)) - s * (r - (d - 2.0))) * recip;
    f64v z = s * s, z_rest = lost_f64v(s, s, z) + (s + s) * s_rest, q = splat_f64v(0.065979835106081144);
    q = horner_f64v(q, z, 0.066284290275461469);
    q = horner_f64v(q, z, 0.076933777697136677);
    q = horner_f64v(q, z, 0.090908922037060566);
    q = horner_f64v(q, z, 0.11111111259722849);
    q = horner_f64v(q, z, 0.14285714285051174);
    q = horner_f64v(q, z, 0.20000000000001125);
    f64v third = splat_f64v(0.33333333333333331), t = z * third, u = t + 1.0;
    f64v u_rest = (1.0 - u) + t + (lost_f64v(z, third, t) + (z * 1.8503717077085941e-17 + z_rest * third) + z * z * q);
    f64v v = s * u, v_rest = lost_f64v(s, u, v) + (s * u_rest + s_rest * u), by = splat_f64v(2.8853900817779268), w = v * by;
    f64v w_rest = lost_f64v(v, by, w) + (v * 4.0710547481862066e-17 + v_rest * by), sum = k + w;
    *rest = (k - sum) + w + w_rest;
    return log_special_f64v(x, sum);
}
//}

//{ power_f64v
INLINE f64v power_f64v(f64v x, f64v y)
{
    f64v zero = splat_f64v(0), most = splat_f64v(1100.0), size = abs_f64v(x), half = y * 0.5;
    f64v rest, log = log2_parts_f64v(size, &rest), e = y * log, e_rest = lost_f64v(y, log, e) + y * rest;
    e_rest = choose_f64v(abs_f64v(e) < most, e_rest, zero);    /* beyond, and where it is NaN, it may be anything */
    e = lesser_f64v(most, greater_f64v(-most, e));
    e = choose_f64v(size == splat_f64v(1), zero, choose_f64v(y == zero, zero, e));
    f64v n = round_f64v(e + e_rest), power = scale_f64v(exp_near_f64v(((e - n) + e_rest) * 0.69314718055994531), n);
    boolv whole = narrow_boolv(round_f64v(y) == y), odd = and_boolv(whole, narrow_boolv(round_f64v(half) != half));
    boolv wrong = and_boolv(and_boolv(narrow_boolv(x < zero), not_boolv(whole)), narrow_boolv(size < splat_f64v(INFINITY)));
    power = choose_f64v(widen_boolv(odd), copysign_f64v(power, x), power);
    power = choose_f64v(widen_boolv(wrong), splat_f64v(NAN), power);
    return choose_f64v(y == splat_f64v(1), x, choose_f64v(y == splat_f64v(2), x * x, power));
}
//}

#if !defined EINC_FMA && !defined EINC_AVX512 && !defined EINC_NEON
//{ pow_f64v
INLINE f64v pow_f64v(f64v x, f64v y)
{
    double lanes[LANES], exponents[LANES];
    memcpy(lanes, &x, sizeof x);
    memcpy(exponents, &y, sizeof y);
    for (int l = 0; l < LANES; l++)
        lanes[l] = pow(lanes[l], exponents[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}
#endif

#if defined EINC_FMA || defined EINC_AVX512
//{ pow_f64v@fma
INLINE f64v pow_f64v(f64v x, f64v y)
{
    return power_f64v(x, y);
}
//}
#endif

#ifdef EINC_NEON
//{ pow_f64v@neon
INLINE f64v pow_f64v(f64v x, f64v y)
{
    return power_f64v(x, y);
}
//}
#endif

#endif
