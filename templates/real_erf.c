/* The error function, and gelu, which is made of its tail; and powers. */
#ifndef TEMPLATES_REAL_ERF
#define TEMPLATES_REAL_ERF

#include "real_exp.c"

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
/* erfc(u / sqrt(2)) / 2 * e^(u^2 / 2) for 0 <= u <= 15 as a quotient of polynomials; relative error 2^-26.7. */
INLINE f32v tail_near_f32v(f32v u)
{
    f32v p = splat_f32v(7.16497703e-3f);
    p = horner_f32v(p, u, 7.06862211e-2f);
    p = horner_f32v(p, u, 3.18622679e-1f);
    p = horner_f32v(p, u, 7.61867106e-1f);
    p = horner_f32v(p, u, 8.68725002e-1f);
    f32v q = splat_f32v(1.79597288e-2f);
    q = horner_f32v(q, u, 1.77195162e-1f);
    q = horner_f32v(q, u, 8.16370308e-1f);
    q = horner_f32v(q, u, 2.09037161f);
    q = horner_f32v(q, u, 2.9100194f);
    q = horner_f32v(q, u, 1.73745f);
    return p / q;
}
//}

//{ tail_near_f64v
/* erfc(u / sqrt(2)) / 2 * e^(u^2 / 2) for 0 <= u <= 39 as a quotient of polynomials; relative error 2^-54.3. */
INLINE f64v tail_near_f64v(f64v u)
{
    f64v p = splat_f64v(1.7311757417083727e-8);
    p = horner_f64v(p, u, 5.8191437387190176e-7);
    p = horner_f64v(p, u, 9.9645549790422921e-6);
    p = horner_f64v(p, u, 1.1244345023184186e-4);
    p = horner_f64v(p, u, 9.2025339267806313e-4);
    p = horner_f64v(p, u, 5.7118402715635149e-3);
    p = horner_f64v(p, u, 2.7440573407770237e-2);
    p = horner_f64v(p, u, 1.0253769853277141e-1);
    p = horner_f64v(p, u, 2.9551384768387728e-1);
    p = horner_f64v(p, u, 6.4117460923808278e-1);
    p = horner_f64v(p, u, 9.9714178190934111e-1);
    p = horner_f64v(p, u, 1.0039060650309561);
    p = horner_f64v(p, u, 0.5);
    f64v q = splat_f64v(4.3394140625220796e-8);
    q = horner_f64v(q, u, 1.4586430229605145e-6);
    q = horner_f64v(q, u, 2.5020829395281225e-5);
    q = horner_f64v(q, u, 2.8331257466800733e-4);
    q = horner_f64v(q, u, 2.3316238209729633e-3);
    q = horner_f64v(q, u, 1.4596396968794369e-2);
    q = horner_f64v(q, u, 7.1040529444095876e-2);
    q = horner_f64v(q, u, 2.7079223301253136e-1);
    q = horner_f64v(q, u, 8.0515978194893678e-1);
    q = horner_f64v(q, u, 1.8382859687013420);
    q = horner_f64v(q, u, 3.1238901670155252);
    q = horner_f64v(q, u, 3.7329056357553059);
    q = horner_f64v(q, u, 2.8056966908647798);
    q = horner_f64v(q, u, 1.0);
    return p / q;
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

//{ pow_f32
INLINE float pow_f32(float x, float y)
{
    return powf(x, y);
}
//}

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

//{ pow_f64
INLINE double pow_f64(double x, double y)
{
    return pow(x, y);
}
//}

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
