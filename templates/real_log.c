/* Logarithms and softplus.
 *
 * All are made of x = 2^k * (1 + r), with 1 + r between sqrt(1/2) and sqrt(2), so that k is 0 around 1, and of
 * log(1 + r), which is relatively exact there. */
#ifndef TEMPLATES_REAL_LOG
#define TEMPLATES_REAL_LOG

#include "real_exp.c"

//{ log_f32
INLINE float log_f32(float x)
{
    return logf(x);
}
//}

//{ log_f64
INLINE double log_f64(double x)
{
    return log(x);
}
//}

//{ log2_f32
INLINE float log2_f32(float x)
{
    return log2f(x);
}
//}

//{ log2_f64
INLINE double log2_f64(double x)
{
    return log2(x);
}
//}

//{ log10_f32
INLINE float log10_f32(float x)
{
    return log10f(x);
}
//}

//{ log10_f64
INLINE double log10_f64(double x)
{
    return log10(x);
}
//}

//{ log1p_f32
INLINE float log1p_f32(float x)
{
    return log1pf(x);
}
//}

//{ log1p_f64
INLINE double log1p_f64(double x)
{
    return log1p(x);
}
//}

//{ softplus_f32
/* log(1 + e^x), by the exponential that cannot overflow. */
INLINE float softplus_f32(float x)
{
    return (x > 0 ? x : 0) + log1pf(expf(-fabsf(x)));
}
//}

//{ softplus_f64
/* log(1 + e^x), by the exponential that cannot overflow. */
INLINE double softplus_f64(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}
//}

//{ log_near_f32v
/* log(1 + r) = r + r^2 (r P(r) - 1/2) for 1 + r between sqrt(1/2) and sqrt(2); relative error 2^-24.9. */
INLINE f32v log_near_f32v(f32v r)
{
    f32v p = splat_f32v(8.7005429e-2f);
    p = horner_f32v(p, r, -1.42669603e-1f);
    p = horner_f32v(p, r, 1.49144799e-1f);
    p = horner_f32v(p, r, -1.65776491e-1f);
    p = horner_f32v(p, r, 1.9963102e-1f);
    p = horner_f32v(p, r, -2.50013351e-1f);
    p = horner_f32v(p, r, 3.33339095e-1f);
    p = horner_f32v(p, r, -0.5f);
    return fma_f32v(r * r, p, r);
}
//}

//{ log_near_f64v
/* log(1 + r) = 2 atanh(s), s = r / (2 + r), for 1 + r between sqrt(1/2) and sqrt(2): with 2 s = r - s r and the series
 * 2 atanh(s) = 2 s + s R(s^2) it is r - s (r - R). Relative error 2^-59.5. */
INLINE f64v log_near_f64v(f64v r)
{
    f64v s = r / (r + 2.0), z = s * s;
    f64v p = splat_f64v(1.4795364077809806e-1);
    p = horner_f64v(p, z, 1.5314110848425702e-1);
    p = horner_f64v(p, z, 1.8183561889679556e-1);
    p = horner_f64v(p, z, 2.2222198621893391e-1);
    p = horner_f64v(p, z, 2.8571428741890570e-1);
    p = horner_f64v(p, z, 3.9999999999417052e-1);
    p = horner_f64v(p, z, 6.6666666666667340e-1);
    return r - s * (r - z * p);
}
//}

//{ log_split_f32v
/* k and r of a positive x. A denormal x is lifted by 2^23; k stands in the low bits of a sum of its biased self and
 * 2^23. */
INLINE f32v log_split_f32v(f32v x, f32v *k)
{
    boolv tiny = x < splat_f32v(1.17549435e-38f);
    u32v bits = bits_f32v(select_f32v(tiny, x * 8388608.0f, x)) + (0x3F800000 - 0x3F3504F3);
    f32v bias = select_f32v(tiny, splat_f32v(8388758.0f), splat_f32v(8388735.0f));
    *k = from_bits_f32v(bits >> 23 | 0x4B000000) - bias;
    return from_bits_f32v((bits & 0x7FFFFF) + 0x3F3504F3) - 1.0f;
}
//}

//{ log_special_f32v
/* y, the logarithm of x, or what it is where x is not positive and finite. */
INLINE f32v log_special_f32v(f32v x, f32v y)
{
    f32v zero = splat_f32v(0), infinite = splat_f32v(INFINITY);
    y = select_f32v(x > zero, y, select_f32v(x == zero, -infinite, splat_f32v(NAN)));
    return select_f32v(x == infinite, x, y);
}
//}

//{ log_f32v
INLINE f32v log_f32v(f32v x)
{
    f32v k, y = log_near_f32v(log_split_f32v(x, &k));
    y = fma_f32v(k, splat_f32v(0.693359375f), fma_f32v(k, splat_f32v(-2.12194440e-4f), y));
    return log_special_f32v(x, y);
}
//}

//{ log2_f32v
INLINE f32v log2_f32v(f32v x)
{
    f32v k, y = log_near_f32v(log_split_f32v(x, &k));
    return log_special_f32v(x, fma_f32v(y, splat_f32v(1.44269504f), k));
}
//}

//{ log10_f32v
INLINE f32v log10_f32v(f32v x)
{
    f32v k, y = log_near_f32v(log_split_f32v(x, &k));
    y = fma_f32v(k, splat_f32v(4.60503898e-6f), y * 0.434294482f);
    return log_special_f32v(x, fma_f32v(k, splat_f32v(0.3010253906f), y));
}
//}

//{ log1p_f32v
/* k is that of u = 1 + x, and r = 2^-k * x + (2^-k - 1), which is x where k is 0; s = 2^(2-k) is never denormal. */
INLINE f32v log1p_f32v(f32v x)
{
    f32v u = x + 1.0f, one = splat_f32v(1);
    u32v e = (bits_f32v(u) + (0x3F800000 - 0x3F3504F3)) >> 23;
    f32v k = from_bits_f32v(e | 0x4B000000) - splat_f32v(8388735.0f);
    f32v s = from_bits_f32v((256 - e) << 23);
    f32v y = log_near_f32v(fma_f32v(s, x * 0.25f, s * 0.25f - one));
    y = fma_f32v(k, splat_f32v(0.693359375f), fma_f32v(k, splat_f32v(-2.12194440e-4f), y));
    return select_f32v(abs_f32v(x) < splat_f32v(5.9604645e-8f), x, log_special_f32v(u, y));
}
//}

//{ softplus_f32v
/* log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|; where 1 + e is more than sqrt(2), half of it is used. */
INLINE f32v softplus_f32v(f32v x)
{
    f32v zero = splat_f32v(0), n;
    f32v p = exp_parts_f32v(greater_f32v(splat_f32v(-150.0f), -abs_f32v(x)), 1, 1, &n), e = scale_f32v(p, n);
    boolv large = e > splat_f32v(0.414213562f);
    f32v y = log_near_f32v(select_f32v(large, e * 0.5f - 0.5f, e));
    return greater_f32v(zero, x) + (y + select_f32v(large, splat_f32v(0.693147181f), zero));
}
//}

//{ log_split_f64v
/* k and r of a positive x. A denormal x is lifted by 2^52; k stands in the low bits of a sum of its biased self and
 * 2^52. */
INLINE f64v log_split_f64v(f64v x, f64v *k)
{
    i64v tiny = x < splat_f64v(2.2250738585072014e-308);
    u64v bits = bits_f64v(choose_f64v(tiny, x * 4503599627370496.0, x)) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD);
    f64v bias = choose_f64v(tiny, splat_f64v(4503599627371571.0), splat_f64v(4503599627371519.0));
    *k = from_bits_f64v(bits >> 52 | 0x4330000000000000) - bias;
    return from_bits_f64v((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD) - 1.0;
}
//}

//{ log_special_f64v
/* y, the logarithm of x, or what it is where x is not positive and finite. */
INLINE f64v log_special_f64v(f64v x, f64v y)
{
    f64v zero = splat_f64v(0), infinite = splat_f64v(INFINITY);
    y = choose_f64v(x > zero, y, choose_f64v(x == zero, -infinite, splat_f64v(NAN)));
    return choose_f64v(x == infinite, x, y);
}
//}

//{ log_f64v
INLINE f64v log_f64v(f64v x)
{
    f64v k, y = log_near_f64v(log_split_f64v(x, &k));
    y = fma_f64v(k, splat_f64v(0.69314718036912382), fma_f64v(k, splat_f64v(1.9082149292705877e-10), y));
    return log_special_f64v(x, y);
}
//}

//{ log2_f64v
INLINE f64v log2_f64v(f64v x)
{
    f64v k, y = log_near_f64v(log_split_f64v(x, &k));
    return log_special_f64v(x, fma_f64v(y, splat_f64v(1.4426950408889634), k));
}
//}

//{ log10_f64v
INLINE f64v log10_f64v(f64v x)
{
    f64v k, y = log_near_f64v(log_split_f64v(x, &k));
    y = fma_f64v(k, splat_f64v(1.1451100898021839e-10), y * 0.43429448190325183);
    return log_special_f64v(x, fma_f64v(k, splat_f64v(0.30102999554947019), y));
}
//}

//{ log1p_f64v
/* k is that of u = 1 + x, and r = 2^-k * x + (2^-k - 1), which is x where k is 0; s = 2^(2-k) is never denormal. */
INLINE f64v log1p_f64v(f64v x)
{
    f64v u = x + 1.0, one = splat_f64v(1);
    u64v e = (bits_f64v(u) + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD)) >> 52;
    f64v k = from_bits_f64v(e | 0x4330000000000000) - splat_f64v(4503599627371519.0);
    f64v s = from_bits_f64v((2048 - e) << 52);
    f64v y = log_near_f64v(fma_f64v(s, x * 0.25, s * 0.25 - one));
    y = fma_f64v(k, splat_f64v(0.69314718036912382), fma_f64v(k, splat_f64v(1.9082149292705877e-10), y));
    return choose_f64v(abs_f64v(x) < splat_f64v(1.1102230246251565e-16), x, log_special_f64v(u, y));
}
//}

//{ softplus_f64v
/* log(1 + e^x) = max(x, 0) + log(1 + e), e = e^-|x|; where 1 + e is more than sqrt(2), half of it is used. */
INLINE f64v softplus_f64v(f64v x)
{
    f64v zero = splat_f64v(0), n;
    f64v rest = exp_rest_f64v(greater_f64v(splat_f64v(-1000.0), -abs_f64v(x)), zero, &n);
    f64v e = scale_f64v(exp_near_f64v(rest), n);
    i64v large = e > splat_f64v(0.41421356237309505);
    f64v y = log_near_f64v(choose_f64v(large, e * 0.5 - 0.5, e));
    return greater_f64v(zero, x) + (y + choose_f64v(large, splat_f64v(0.69314718055994531), zero));
}
//}

#endif
