/* The exponential function and its kin.
 *
 * All are made of e^x = p * 2^n: n is the whole number nearest to x / ln 2, p a polynomial of the rest, and the power
 * of two comes last, so that overflow and gradual underflow are those of one multiplication. Polynomials are minimax
 * fits of the relative error, their coefficients rounded one after the other and the rest fitted again. */
#ifndef TEMPLATES_REAL_EXP
#define TEMPLATES_REAL_EXP

#include "arith.c"
#include "real.c"

//{ exp_f32
INLINE float exp_f32(float x)
{
    return expf(x);
}
//}

//{ exp_f64
INLINE double exp_f64(double x)
{
    return exp(x);
}
//}

//{ exp2_f32
INLINE float exp2_f32(float x)
{
    return exp2f(x);
}
//}

//{ exp2_f64
INLINE double exp2_f64(double x)
{
    return exp2(x);
}
//}

//{ expm1_f32
INLINE float expm1_f32(float x)
{
    return expm1f(x);
}
//}

//{ expm1_f64
INLINE double expm1_f64(double x)
{
    return expm1(x);
}
//}

#ifndef EINC_AVX512
//{ scale_f32v
/* x * 2^n for whole n from -252 to 254, in two steps, so that a denormal result is rounded once: the sum below has
 * n + 254 in its low bits. */
INLINE f32v scale_f32v(f32v x, f32v n)
{
    u32v sum = bits_f32v(n + splat_f32v(12583166.0f)), half = sum >> 1;
    return x * from_bits_f32v(half << 23) * from_bits_f32v((sum - half) << 23);
}
//}
#else
//{ scale_f32v@avx512
/* x * 2^n for whole n from -252 to 254, rounded once. */
INLINE f32v scale_f32v(f32v x, f32v n)
{
#if EINC_VECTORS && LANES >= 4
    __asm__("vscalefps %2, %1, %0" : "=v"(x) : "v"(x), "v"(n));
    return x;
#else
    u32v sum = bits_f32v(n + splat_f32v(12583166.0f)), half = sum >> 1;
    return x * from_bits_f32v(half << 23) * from_bits_f32v((sum - half) << 23);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ scale_from_f32v
#if EINC_VECTORS
/* x * 2^n rounded once, n taken down to a whole number, and 0 where n is less than `least`: vscalefps takes 40 times as long
 * where it underflows, even to 0. */
INLINE f32v scale_from_f32v(f32v x, f32v n, float least)
{
    uint16_t lanes;
    __asm__("vcmpps $5, %2, %1, %0" : "=Yk"(lanes) : "v"(n), "v"(splat_f32v(least)));    /* not less */
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(x) : "v"(x), "v"(n), "Yk"(lanes));
    return x;
}
#endif
//}
#endif

#ifndef EINC_AVX512
//{ scale_f64v
/* x * 2^n for whole n from -2044 to 2046, in two steps, so that a denormal result is rounded once: the sum below has
 * n + 2046 in its low bits. */
INLINE f64v scale_f64v(f64v x, f64v n)
{
    u64v sum = bits_f64v(n + splat_f64v(6755399441057790.0)), half = sum >> 1;
    return x * from_bits_f64v(half << 52) * from_bits_f64v((sum - half) << 52);
}
//}
#else
//{ scale_f64v@avx512
/* x * 2^n for whole n from -2044 to 2046, rounded once, of an x less than 2^20; slow where it underflows, except far down. */
INLINE f64v scale_f64v(f64v x, f64v n)
{
#if EINC_VECTORS && LANES <= 8
    uint16_t lanes;
    __asm__("vcmppd $5, %2, %1, %0" : "=Yk"(lanes) : "v"(n), "v"(splat_f64v(-1100)));    /* not less */
    __asm__("vscalefpd %2, %1, %0%{%3%}%{z%}" : "=v"(x) : "v"(x), "v"(n), "Yk"(lanes));
    return x;
#else
    u64v sum = bits_f64v(n + splat_f64v(6755399441057790.0)), half = sum >> 1;
    return x * from_bits_f64v(half << 52) * from_bits_f64v((sum - half) << 52);
#endif
}
//}
#endif

#ifndef EINC_AVX512
//{ scale_down_f32v
/* x * 2^n for whole n up to 0, and 0 where n is less than -126. */
INLINE f32v scale_down_f32v(f32v x, f32v n)
{
    u32v sum = bits_f32v(greater_f32v(n, splat_f32v(-127)) + splat_f32v(12583039.0f));    /* n + 127 in its low bits */
    return x * from_bits_f32v(sum << 23);
}
//}

//{ scale_down_f64v
/* x * 2^n for whole n up to 0, and 0 where n is less than -1022. */
INLINE f64v scale_down_f64v(f64v x, f64v n)
{
    u64v sum = bits_f64v(greater_f64v(n, splat_f64v(-1023)) + splat_f64v(6755399441056767.0));    /* n + 1023 in its low bits */
    return x * from_bits_f64v(sum << 52);
}
//}
#else
//{ scale_down_f32v@avx512
/* x * 2^n for whole n up to 0, and 0 where n is less than -126. */
INLINE f32v scale_down_f32v(f32v x, f32v n)
{
#if EINC_VECTORS
    return scale_from_f32v(x, n, -126);
#else
    u32v sum = bits_f32v(greater_f32v(n, splat_f32v(-127)) + splat_f32v(12583039.0f));
    return x * from_bits_f32v(sum << 23);
#endif
}
//}

//{ scale_down_f64v@avx512
/* x * 2^n for whole n up to 0, and 0 where n is less than -1022. */
INLINE f64v scale_down_f64v(f64v x, f64v n)
{
#if EINC_VECTORS && LANES <= 8
    uint16_t lanes;
    __asm__("vcmppd $5, %2, %1, %0" : "=Yk"(lanes) : "v"(n), "v"(splat_f64v(-1022)));    /* not less */
    __asm__("vscalefpd %2, %1, %0%{%3%}%{z%}" : "=v"(x) : "v"(x), "v"(n), "Yk"(lanes));
    return x;
#else
    u64v sum = bits_f64v(greater_f64v(n, splat_f64v(-1023)) + splat_f64v(6755399441056767.0));
    return x * from_bits_f64v(sum << 52);
#endif
}
//}
#endif

//{ exp_near_f32v
/* e^x for |x| <= ln 2 / 2; relative error 2^-23.4. */
INLINE f32v exp_near_f32v(f32v x)
{
    f32v p = splat_f32v(8.28957744e-3f);
    p = horner_f32v(p, x, 4.18978222e-2f);
    p = horner_f32v(p, x, 1.66676491e-1f);
    p = horner_f32v(p, x, 4.99991506e-1f);
    p = horner_f32v(p, x, 9.99999702e-1f);
    return horner_f32v(p, x, 1.0f);
}
//}

//{ expm1_near_f32v
/* e^x - 1 for |x| <= ln 2 / 2; relative error 2^-26.1. */
INLINE f32v expm1_near_f32v(f32v x)
{
    f32v p = splat_f32v(1.38696702e-3f);
    p = horner_f32v(p, x, 8.36624857e-3f);
    p = horner_f32v(p, x, 4.16674465e-2f);
    p = horner_f32v(p, x, 1.66665465e-1f);
    p = horner_f32v(p, x, 4.99999970e-1f);
    return fma_f32v(x * x, p, x);
}
//}

//{ expm1_near_f64v
/* e^x - 1 for |x| <= ln 2 / 2; relative error 2^-55.6. */
INLINE f64v expm1_near_f64v(f64v x)
{
    f64v p = splat_f64v(2.5064133339719515e-8);
    p = horner_f64v(p, x, 2.7625874516536583e-7);
    p = horner_f64v(p, x, 2.7557369099830407e-6);
    p = horner_f64v(p, x, 2.4801505635810167e-5);
    p = horner_f64v(p, x, 1.9841269770693804e-4);
    p = horner_f64v(p, x, 1.3888888931379395e-3);
    p = horner_f64v(p, x, 8.3333333333599942e-3);
    p = horner_f64v(p, x, 4.1666666666576264e-2);
    p = horner_f64v(p, x, 1.6666666666666649e-1);
    p = horner_f64v(p, x, 5.0000000000000056e-1);
    return fma_f64v(x * x, p, x);
}
//}

//{ exp_near_f64v
/* e^x for |x| <= ln 2 / 2. */
INLINE f64v exp_near_f64v(f64v x)
{
    return expm1_near_f64v(x) + 1.0;
}
//}

//{ exp_rest_f32v
/* n, the whole number nearest to (high - low) / ln 2, and what is left of high - low without n * ln 2. `low` is small;
 * ln 2 is in two parts, the first so short that its product with n is exact. */
INLINE f32v exp_rest_f32v(f32v high, f32v low, f32v *n)
{
    f32v shift = splat_f32v(12582912.0f);
    *n = fma_f32v(high - low, splat_f32v(1.44269504f), shift) - shift;
    f32v rest = fma_f32v(*n, splat_f32v(-0.693359375f), high);
    return fma_f32v(*n, splat_f32v(2.12194440e-4f), rest) - low;
}
//}

//{ exp_rest_f64v
/* n, the whole number nearest to (high - low) / ln 2, and what is left of high - low without n * ln 2. `low` is small;
 * ln 2 is in two parts, the first so short that its product with n is exact. */
INLINE f64v exp_rest_f64v(f64v high, f64v low, f64v *n)
{
    f64v shift = splat_f64v(6755399441055744.0);
    *n = fma_f64v(high - low, splat_f64v(1.4426950408889634), shift) - shift;
    f64v rest = fma_f64v(*n, splat_f64v(-0.69314718036912382), high);
    return fma_f64v(*n, splat_f64v(-1.9082149292705877e-10), rest) - low;
}
//}

#ifndef EINC_AVX512
//{ exp_parts_f32v
/* p, where up * e^(by * x) = p * 2^n. */
INLINE f32v exp_parts_f32v(f32v x, float by, float up, f32v *n)
{
    return exp_near_f32v(exp_rest_f32v(x * by, splat_f32v(0), n)) * up;
}
//}
#else
//{ exp_parts_f32v@avx512
/* p, where up * e^(by * x) = p * 2^m and m is the greatest whole number up to n, as scale_f32v() takes it: n is in 32nds, and
 * their powers are in a table of two registers. So the rest of the power of 2 is 1/64 at most, and two terms do. */
INLINE f32v exp_parts_f32v(f32v x, float by, float up, f32v *n)
{
#if EINC_VECTORS && LANES == 16
    static const float powers[] = {
        1.00000000f, 1.02189715f, 1.04427378f, 1.06714040f, 1.09050773f, 1.11438674f, 1.13878863f,
        1.16372486f, 1.18920712f, 1.21524736f, 1.24185781f, 1.26905096f, 1.29683955f, 1.32523664f,
        1.35425555f, 1.38390988f, 1.41421356f, 1.44518081f, 1.47682615f, 1.50916443f, 1.54221083f,
        1.57598085f, 1.61049033f, 1.64575548f, 1.68179283f, 1.71861930f, 1.75625216f, 1.79470908f,
        1.83400809f, 1.87416763f, 1.91520656f, 1.95714412f };
    const double factor = 1.4426950408889634 * (double)by;
    const f32v high = splat_f32v((float)factor), low = splat_f32v((float)(factor - (double)(float)factor));
    f32v shift = splat_f32v(393216.0f), power = fma_f32v(x, high, shift), first, second;
    memcpy(&first, powers, sizeof first);
    memcpy(&second, powers + LANES, sizeof second);
    first = first * up;
    second = second * up;
    *n = power - shift;
    f32v rest = fma_f32v(x, low, fma_f32v(x, high, -*n));
    __asm__("vpermi2ps %2, %1, %0" : "+v"(power) : "v"(first), "v"(second));    /* by the last 5 bits */
    return fma_f32v(rest * horner_f32v(splat_f32v(0.240226507f), rest, 0.693157315f), power, power);
#else
    return exp_near_f32v(exp_rest_f32v(x * by, splat_f32v(0), n)) * up;
#endif
}
//}
#endif

#ifndef EINC_AVX512
//{ exp_times_f32v
/* e^(by * x) */
INLINE f32v exp_times_f32v(f32v x, float by)
{
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(splat_f32v(-150.0f), x * by));
    f32v n, p = exp_parts_f32v(x, 1, 1, &n);
    return scale_f32v(p, n);
}
//}
#else
//{ exp_times_f32v@avx512
/* e^(by * x). Neither end needs a limit with 16 lanes. What is left of too large a product is anything, but 1 + x + x^2 / 2 of
 * it is more than 0, and what vscalefps makes of that or of a NaN and a large n is infinite. */
INLINE f32v exp_times_f32v(f32v x, float by)
{
#if EINC_VECTORS && LANES == 16
    f32v n, p = exp_parts_f32v(x, by, 1, &n);
    return scale_from_f32v(p, n, -150);
#else
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(splat_f32v(-150.0f), x * by));
    f32v n, p = exp_parts_f32v(x, 1, 1, &n);
    return scale_f32v(p, n);
#endif
}
//}
#endif

//{ lifted_exp_f32
/* up * e^(by * x) for up a power of two, and 0 where e^(by * x) is. */
INLINE float lifted_exp_f32(float x, float by, float up)
{
    x = x * by;
    return x < -103.972f ? 0 : (float)(exp(x) * up);
}
//}

#ifndef EINC_AVX512
//{ lifted_exp_f32v
/* up * e^(by * x) for up a power of two, and 0 where e^(by * x) is. */
INLINE f32v lifted_exp_f32v(f32v x, float by, float up)
{
    f32v least = splat_f32v(-103.972f), y = x * by;
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(least, y));
    f32v n, p = exp_parts_f32v(x, 1, up, &n);
    return select_f32v(y < least, splat_f32v(0), scale_f32v(p, n));
}
//}
#else
//{ lifted_exp_f32v@avx512
/* up * e^(by * x) for up a power of two, and 0 where e^(by * x) is. */
INLINE f32v lifted_exp_f32v(f32v x, float by, float up)
{
#if EINC_VECTORS && LANES == 16
    f32v n, p = exp_parts_f32v(x, by, up, &n);
    return scale_from_f32v(p, n, -150);
#else
    f32v least = splat_f32v(-103.972f), y = x * by;
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(least, y));
    f32v n, p = exp_parts_f32v(x, 1, up, &n);
    return select_f32v(y < least, splat_f32v(0), scale_f32v(p, n));
#endif
}
//}
#endif

//{ lowered_f32
/* A sum that was made `up` times as large. */
INLINE float lowered_f32(float sum, float up, int *overflow)
{
    *overflow |= !(fabsf(sum) < INFINITY);
    return sum * (1 / up);
}
//}

//{ lowered_f32v
/* A sum that was made `up` times as large. */
INLINE f32v lowered_f32v(f32v sum, float up, int *overflow)
{
    *overflow |= any_boolv(not_boolv(abs_f32v(sum) < splat_f32v(INFINITY)));
    return sum * splat_f32v(1 / up);
}
//}

//{ exp_f32v
INLINE f32v exp_f32v(f32v x)
{
    return exp_times_f32v(x, 1);
}
//}

#ifdef EINC_AVX512
//{ exp2_from_f32v
/* 2^x, and 0 where x is less than `least`: by what x has beyond a whole number, which vreduceps gives (of infinities 0), and
 * that whole number, which vscalefps takes; relative error of the polynomial 2^-23.5. */
INLINE f32v exp2_from_f32v(f32v x, float least)
{
#if EINC_VECTORS && LANES >= 4
    f32v rest, p = splat_f32v(1.86695263e-3f);
    __asm__("vreduceps $9, %1, %0" : "=v"(rest) : "v"(x));
    p = horner_f32v(p, rest, 9.01748054e-3f);
    p = horner_f32v(p, rest, 5.57995141e-2f);
    p = horner_f32v(p, rest, 2.40164593e-1f);
    p = horner_f32v(p, rest, 6.93151295e-1f);
    return scale_from_f32v(horner_f32v(p, rest, 1.0f), x, least);
#else
    return x < least ? 0 : exp2f(x);
#endif
}
//}
#endif

#ifndef EINC_AVX512
//{ exp2_f32v
INLINE f32v exp2_f32v(f32v x)
{
    f32v shift = splat_f32v(12582912.0f);
    x = lesser_f32v(splat_f32v(129.0f), greater_f32v(splat_f32v(-216.0f), x));
    f32v n = (x + shift) - shift;
    return scale_f32v(exp_near_f32v((x - n) * 0.693147181f), n);
}
//}

//{ exp_below_f32v
/* e^x for x up to 0, where its error counts beside 1: ln 2 is in one part. */
INLINE f32v exp_below_f32v(f32v x)
{
    f32v shift = splat_f32v(12582912.0f);
    x = greater_f32v(splat_f32v(-150.0f), x);
    f32v n = fma_f32v(x, splat_f32v(1.44269504f), shift) - shift;
    return scale_f32v(exp_near_f32v(fma_f32v(n, splat_f32v(-0.693147181f), x)), n);
}
//}
#else
//{ exp2_f32v@avx512
INLINE f32v exp2_f32v(f32v x)
{
    return exp2_from_f32v(x, -150);
}
//}

//{ exp_below_f32v@avx512
/* e^x for x up to 0, where its error counts beside 1: the power of 2 is rounded once, and what would be denormal is 0. */
INLINE f32v exp_below_f32v(f32v x)
{
    return exp2_from_f32v(x * splat_f32v(1.44269504f), -126);
}
//}
#endif

//{ coarse_exp_f32
INLINE float coarse_exp_f32(float x)
{
    return expf(x);
}
//}

//{ coarse_exp2_f32
INLINE float coarse_exp2_f32(float x)
{
    return exp2f(x);
}
//}

//{ exp2_rest_f32v
/* 2^x for x from 0 to 1; relative error 2^-13.5, and none at 0. */
INLINE f32v exp2_rest_f32v(f32v x)
{
    f32v p = splat_f32v(7.70671517e-2f);
    p = horner_f32v(p, x, 2.27644876e-1f);
    p = horner_f32v(p, x, 6.95116818e-1f);
    return horner_f32v(p, x, 1.0f);
}
//}

#ifndef EINC_AVX512
//{ coarse_exp2_f32v
/* 2^x, to be rounded to bf16; relative error 2^-13.5, and what is below the normal numbers, which take long, is 0. */
INLINE f32v coarse_exp2_f32v(f32v x)
{
    f32v shift = splat_f32v(12582912.0f), least = splat_f32v(-126.0f), y = x;
    x = lesser_f32v(splat_f32v(129.0f), greater_f32v(least, y));
    f32v n = ((x - 0.5f) + shift) - shift;
    return select_f32v(y < least, splat_f32v(0), scale_f32v(exp2_rest_f32v(x - n), n));
}
//}
#else
//{ coarse_exp2_f32v@avx512
/* 2^x, to be rounded to bf16; relative error 2^-13.5, and what is below the normal numbers, which take long, is 0. Scaling takes
 * of x what is in front of its point, at any size. */
INLINE f32v coarse_exp2_f32v(f32v x)
{
    f32v least = splat_f32v(-126.0f);
#if EINC_VECTORS && LANES >= 4
    f32v rest, power;
    uint16_t normal;    /* or NaN */
    __asm__("vreduceps $1, %1, %0" : "=v"(rest) : "v"(x));
    __asm__("vcmpps $21, %2, %1, %0" : "=Yk"(normal) : "v"(x), "v"(least));
    __asm__("vscalefps %2, %1, %0%{%3%}%{z%}" : "=v"(power) : "v"(exp2_rest_f32v(rest)), "v"(x), "Yk"(normal));
    return power;
#else
    f32v shift = splat_f32v(12582912.0f), y = x;
    x = lesser_f32v(splat_f32v(129.0f), greater_f32v(least, y));
    f32v n = ((x - 0.5f) + shift) - shift;
    return select_f32v(y < least, splat_f32v(0), scale_f32v(exp2_rest_f32v(x - n), n));
#endif
}
//}
#endif

//{ coarse_exp_f32v
/* e^x; relative error 2^-13.4. */
INLINE f32v coarse_exp_f32v(f32v x)
{
    return coarse_exp2_f32v(x * 1.44269504f);
}
//}

//{ expm1_f32v
/* With s = 2^(n-1), half of it is s * (e^rest - 1) + (s - 1/2). */
INLINE f32v expm1_f32v(f32v x)
{
    f32v n, y = lesser_f32v(splat_f32v(89.0f), greater_f32v(splat_f32v(-18.0f), x));
    f32v e = expm1_near_f32v(exp_rest_f32v(y, splat_f32v(0), &n));
    f32v s = from_bits_f32v(bits_f32v(n + splat_f32v(12583038.0f)) << 23);
    f32v half = fma_f32v(s, e, s - 0.5f);
    return select_f32v(abs_f32v(x) < splat_f32v(5.9604645e-8f), x, half + half);
}
//}

//{ exp_f64v
INLINE f64v exp_f64v(f64v x)
{
    x = lesser_f64v(splat_f64v(710.0), greater_f64v(splat_f64v(-1000.0), x));
    f64v n, rest = exp_rest_f64v(x, splat_f64v(0), &n);
    return scale_f64v(exp_near_f64v(rest), n);
}
//}

//{ large_exp_f32
/* e^x, and 0 where a product of two of them would be below the normal numbers. */
INLINE float large_exp_f32(float x)
{
    return x < -43.66f ? 0 : expf(x);
}
//}

//{ large_exp_f64
/* e^x, and 0 where a product of two of them would be below the normal numbers. */
INLINE double large_exp_f64(double x)
{
    return x < -354.19 ? 0 : exp(x);
}
//}

//{ large_exp_f32v
/* e^x, and 0 where a product of two of them would be below the normal numbers, which take long. */
INLINE f32v large_exp_f32v(f32v x)
{
    f32v least = splat_f32v(-43.66f);
    return select_f32v(x < least, splat_f32v(0), exp_f32v(greater_f32v(least, x)));
}
//}

//{ large_exp_f64v
/* e^x, and 0 where a product of two of them would be below the normal numbers, which take long. */
INLINE f64v large_exp_f64v(f64v x)
{
    f64v least = splat_f64v(-354.19);
    return select_f64v(narrow_boolv(x < least), splat_f64v(0), exp_f64v(greater_f64v(least, x)));
}
//}

//{ exp_below_f64v
/* e^x for x up to 0, where its error counts beside 1: ln 2 is in one part. */
INLINE f64v exp_below_f64v(f64v x)
{
    f64v shift = splat_f64v(6755399441055744.0);
    x = greater_f64v(splat_f64v(-1000.0), x);
    f64v n = fma_f64v(x, splat_f64v(1.4426950408889634), shift) - shift;
    return scale_f64v(exp_near_f64v(fma_f64v(n, splat_f64v(-0.69314718055994531), x)), n);
}
//}

//{ exp2_f64v
INLINE f64v exp2_f64v(f64v x)
{
    f64v shift = splat_f64v(6755399441055744.0);
    x = lesser_f64v(splat_f64v(1025.0), greater_f64v(splat_f64v(-1443.0), x));
    f64v n = (x + shift) - shift;
    return scale_f64v(exp_near_f64v((x - n) * 0.69314718055994531), n);
}
//}

//{ expm1_f64v
/* With s = 2^(n-1), half of it is s * (e^rest - 1) + (s - 1/2). */
INLINE f64v expm1_f64v(f64v x)
{
    f64v n, y = lesser_f64v(splat_f64v(710.0), greater_f64v(splat_f64v(-38.0), x));
    f64v e = expm1_near_f64v(exp_rest_f64v(y, splat_f64v(0), &n));
    f64v s = from_bits_f64v(bits_f64v(n + splat_f64v(6755399441056766.0)) << 52);
    f64v half = fma_f64v(s, e, s - 0.5);
    return choose_f64v(abs_f64v(x) < splat_f64v(1.1102230246251565e-16), x, half + half);
}
//}

#endif
