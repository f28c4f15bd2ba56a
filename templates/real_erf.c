/* The error function, and gelu, which is made of its tail. */
#ifndef TEMPLATES_REAL_ERF
#define TEMPLATES_REAL_ERF

#include "real_hyper.c"

//{ erf_f32
INLINE float erf_f32(float x)
{
    return erff(x);
}
//}

//{ erf_f64
INLINE double erf_f64(double x)
{
    return erf(x);
}
//}

//{ erf_f32v
/* 1 - e^(-a S(a)), a = |x|, with a polynomial S that gives 2^-24.2 of relative error up to where erf rounds to 1. */
INLINE f32v erf_f32v(f32v x)
{
    f32v n, a = lesser_f32v(splat_f32v(4.0f), abs_f32v(x)), p = splat_f32v(3.48283756e-5f);
    p = horner_f32v(p, a, -3.43553023e-4f);
    p = horner_f32v(p, a, 1.16151408e-3f);
    p = horner_f32v(p, a, 3.09183757e-4f);
    p = horner_f32v(p, a, -1.9379925e-2f);
    p = horner_f32v(p, a, 1.0282924e-1f);
    p = horner_f32v(p, a, 6.36615157e-1f);
    p = horner_f32v(p, a, 1.12837923f);
    f32v e = expm1_near_f32v(exp_rest_f32v(-a * p, splat_f32v(0), &n));
    f32v s = from_bits_f32v(bits_f32v(n + splat_f32v(12583039.0f)) << 23);
    return copysign_f32v(fma_f32v(s, e, s - 1.0f), x);
}
//}

//{ erf_f64v
INLINE f64v erf_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = erf(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ tail_near_f32v
/* erfc(u / sqrt(2)) / 2 * e^(u^2 / 2) for 0 <= u <= 15 as 1 / (a u + N(u) / D(u)), where the quotient's rounding errors
 * count the less, the greater u is. Relative error 2^-24.3. */
INLINE f32v tail_near_f32v(f32v u)
{
    f32v n = splat_f32v(2.87606157e-2f);
    n = horner_f32v(n, u, 2.56583244e-1f);
    n = horner_f32v(n, u, 9.9630928e-1f);
    n = horner_f32v(n, u, 2.0f);
    f32v d = splat_f32v(1.14833778e-2f);
    d = horner_f32v(d, u, 1.02004647e-1f);
    d = horner_f32v(d, u, 4.25982773e-1f);
    d = horner_f32v(d, u, 9.53582287e-1f);
    d = horner_f32v(d, u, 1.0f);
    return 1.0f / fma_f32v(u, splat_f32v(2.50662827f), n / d);
}
//}

//{ tail_near_f64v
/* erfc(u / sqrt(2)) / 2 * e^(u^2 / 2) for 0 <= u <= 39 as 1 / (a u + N(u) / D(u)), where the quotient's rounding errors
 * count the less, the greater u is. Relative error 2^-54.6. */
INLINE f64v tail_near_f64v(f64v u)
{
    f64v n = splat_f64v(-2.3689119056300360e-18);
    n = horner_f64v(n, u, 8.6788281390721009e-8);
    n = horner_f64v(n, u, 2.9172860395422670e-6);
    n = horner_f64v(n, u, 4.9781294121434039e-5);
    n = horner_f64v(n, u, 5.5787328783067072e-4);
    n = horner_f64v(n, u, 4.5144245361645203e-3);
    n = horner_f64v(n, u, 2.7536677309325099e-2);
    n = horner_f64v(n, u, 1.2883283159886436e-1);
    n = horner_f64v(n, u, 4.6219912841893157e-1);
    n = horner_f64v(n, u, 1.2488527653305959);
    n = horner_f64v(n, u, 2.4329726161496534);
    n = horner_f64v(n, u, 3.1047651070982245);
    n = horner_f64v(n, u, 2.0);
    f64v d = splat_f64v(3.4623514834167447e-8);
    d = horner_f64v(d, u, 1.1638287477438035e-6);
    d = horner_f64v(d, u, 1.9929109958084584e-5);
    d = horner_f64v(d, u, 2.2488690046368372e-4);
    d = horner_f64v(d, u, 1.8405067853561261e-3);
    d = horner_f64v(d, u, 1.1423680543127030e-2);
    d = horner_f64v(d, u, 5.4881146815540474e-2);
    d = horner_f64v(d, u, 2.0507539706554281e-1);
    d = horner_f64v(d, u, 5.9102769536775457e-1);
    d = horner_f64v(d, u, 1.2823492184761656);
    d = horner_f64v(d, u, 1.9942835638186822);
    d = horner_f64v(d, u, 2.0078121300619123);
    d = horner_f64v(d, u, 1.0);
    return 1.0 / fma_f64v(u, splat_f64v(2.5066282746313355), n / d);
}
//}

//{ gelu_f32v
/* x * (1 + erf(x / sqrt(2))) / 2. With the tail t = erfc(|x| / sqrt(2)) / 2 it is x * t where x is negative and
 * x - x * t elsewhere. The exponent -u^2/2 is the exact square of the upper half of u and a small rest; the power of
 * two comes after the product, which underflows later than the tail. x * 0 makes it NaN where x is -infinite. */
INLINE f32v gelu_f32v(f32v x)
{
    f32v zero = splat_f32v(0), half = splat_f32v(0.5f), n;
    f32v u = lesser_f32v(splat_f32v(15.0f), abs_f32v(x)), upper = from_bits_f32v(bits_f32v(u) & 0xFFFFF000);
    f32v rest = exp_rest_f32v(-half * upper * upper, half * (u - upper) * (u + upper), &n);
    f32v t = tail_near_f32v(u);
    t = fma_f32v(expm1_near_f32v(rest), t, t);
    t = scale_f32v(select_f32v(x < zero, fma_f32v(-u, t, x * zero), t), n);
    return select_f32v(x < zero, t, x - u * t);
}
//}

//{ gelu_f64v
/* x * (1 + erf(x / sqrt(2))) / 2. With the tail t = erfc(|x| / sqrt(2)) / 2 it is x * t where x is negative and
 * x - x * t elsewhere. The exponent -u^2/2 is the exact square of the upper half of u and a small rest; the power of
 * two comes after the product, which underflows later than the tail. x * 0 makes it NaN where x is -infinite. */
INLINE f64v gelu_f64v(f64v x)
{
    f64v zero = splat_f64v(0), half = splat_f64v(0.5), n;
    f64v u = lesser_f64v(splat_f64v(39.0), abs_f64v(x)), upper = from_bits_f64v(bits_f64v(u) & 0xFFFFFFFFF8000000);
    f64v rest = exp_rest_f64v(-half * upper * upper, half * (u - upper) * (u + upper), &n);
    f64v t = tail_near_f64v(u);
    t = fma_f64v(expm1_near_f64v(rest), t, t);
    t = scale_f64v(choose_f64v(x < zero, fma_f64v(-u, t, x * zero), t), n);
    return choose_f64v(x < zero, t, x - u * t);
}
//}

//{ gelu_f32
/* In f64, since the error of erfc's argument counts x^2 times in its tail. */
INLINE float gelu_f32(float x)
{
    return (float)(x * 0.5 * erfc(-0.70710678118654752 * x));
}
//}

//{ gelu_f64
INLINE double gelu_f64(double x)
{
    return lane_f64v(gelu_f64v(splat_f64v(x)), 0);
}
//}

#endif
