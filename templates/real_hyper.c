/* Functions made of the exponential: those of hyperbolas, and the sigmoid. */
#ifndef TEMPLATES_REAL_HYPER
#define TEMPLATES_REAL_HYPER

#include "real_exp.c"

//{ sinh_f32
INLINE float sinh_f32(float x)
{
    return sinhf(x);
}
//}

//{ sinh_f64
INLINE double sinh_f64(double x)
{
    return sinh(x);
}
//}

//{ sinh_f32v
/* Near 0 the odd polynomial, relative error 2^-25.3; else with h = e^|x| / 2 it is h - 1 / (4 h). */
INLINE f32v sinh_f32v(f32v x)
{
    f32v a = abs_f32v(x), z = x * x, n;
    f32v q = exp_parts_f32v(lesser_f32v(splat_f32v(90.0f), a), 1, 1, &n), h = scale_f32v(q, n - 1.0f);
    f32v p = splat_f32v(2.03733405e-4f);
    p = horner_f32v(p, z, 8.33027065e-3f);
    p = horner_f32v(p, z, 1.66667163e-1f);
    return select_f32v(a < splat_f32v(1.0f), fma_f32v(z * x, p, x), copysign_f32v(h - 0.25f / h, x));
}
//}

//{ sinh_f64v
INLINE f64v sinh_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = sinh(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ cosh_f32
INLINE float cosh_f32(float x)
{
    return coshf(x);
}
//}

//{ cosh_f64
INLINE double cosh_f64(double x)
{
    return cosh(x);
}
//}

//{ cosh_f32v
/* With h = e^|x| / 2 it is h + 1 / (4 h). */
INLINE f32v cosh_f32v(f32v x)
{
    f32v n, p = exp_parts_f32v(lesser_f32v(splat_f32v(90.0f), abs_f32v(x)), 1, 1, &n), h = scale_f32v(p, n - 1.0f);
    return h + 0.25f / h;
}
//}

//{ cosh_f64v
INLINE f64v cosh_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = cosh(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ tanh_f32
INLINE float tanh_f32(float x)
{
    return tanhf(x);
}
//}

//{ tanh_f64
INLINE double tanh_f64(double x)
{
    return tanh(x);
}
//}

//{ tanh_f32v
/* (e^2|x| - 1) / (e^2|x| + 1), where e^2|x| = s * (1 + e). */
INLINE f32v tanh_f32v(f32v x)
{
    f32v a = lesser_f32v(splat_f32v(10.0f), abs_f32v(x)), n;
    f32v e = expm1_near_f32v(exp_rest_f32v(a + a, splat_f32v(0), &n));
    f32v s = from_bits_f32v(bits_f32v(n + splat_f32v(12583039.0f)) << 23);
    f32v t = fma_f32v(s, e, s - 1.0f);
    return copysign_f32v(t / (t + 2.0f), x);
}
//}

//{ tanh_f64v
/* (e^2|x| - 1) / (e^2|x| + 1), where e^2|x| = s * (1 + e). */
INLINE f64v tanh_f64v(f64v x)
{
    f64v a = lesser_f64v(splat_f64v(20.0), abs_f64v(x)), n;
    f64v e = expm1_near_f64v(exp_rest_f64v(a + a, splat_f64v(0), &n));
    f64v s = from_bits_f64v(bits_f64v(n + splat_f64v(6755399441056767.0)) << 52);
    f64v t = fma_f64v(s, e, s - 1.0);
    return copysign_f64v(t / (t + 2.0), x);
}
//}

//{ sigmoid_f32
/* 1 / (1 + e^-x), by the exponential that cannot overflow. */
INLINE float sigmoid_f32(float x)
{
    float e = expf(-fabsf(x));
    return (x < 0 ? e : 1) / (1 + e);
}
//}

//{ sigmoid_f64
/* 1 / (1 + e^-x), by the exponential that cannot overflow. */
INLINE double sigmoid_f64(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
//}

//{ sigmoid_f32v
/* 1 / (1 + e^-x), by the exponential that cannot overflow. */
INLINE f32v sigmoid_f32v(f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1), n;
    f32v p = exp_parts_f32v(greater_f32v(splat_f32v(-150.0f), -abs_f32v(x)), 1, 1, &n), e = scale_f32v(p, n);
    return select_f32v(x < zero, e, one) / (e + one);
}
//}

//{ sigmoid_f64v
/* 1 / (1 + e^-x), by the exponential that cannot overflow. */
INLINE f64v sigmoid_f64v(f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1), n;
    f64v rest = exp_rest_f64v(greater_f64v(splat_f64v(-1000.0), -abs_f64v(x)), zero, &n);
    f64v e = scale_f64v(exp_near_f64v(rest), n);
    return choose_f64v(x < zero, e, one) / (e + one);
}
//}

//{ silu_f32
/* x * sigmoid(x), in f64: the sigmoid underflows before the product does. */
INLINE float silu_f32(float x)
{
    return (float)(x / (1 + exp(-(double)x)));
}
//}

//{ silu_f32v
/* x * sigmoid(x). Where x is negative, the power of two comes after the product, which underflows later than its
 * factors; x * 0 makes it NaN where x is infinite. */
INLINE f32v silu_f32v(f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1), n;
    f32v y = greater_f32v(splat_f32v(-120.0f), -abs_f32v(x)), p = exp_parts_f32v(y, 1, 1, &n);
    f32v e = scale_f32v(p, n);
    f32v product = select_f32v(x < zero, fma_f32v(y, p, x * zero), x);
    return scale_f32v(product / (e + one), select_f32v(x < zero, n, zero));
}
//}

//{ silu_f64v
/* x * sigmoid(x). Where x is negative, the power of two comes after the product, which underflows later than its
 * factors; x * 0 makes it NaN where x is infinite. */
INLINE f64v silu_f64v(f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1), n;
    f64v y = greater_f64v(splat_f64v(-760.0), -abs_f64v(x)), p = exp_near_f64v(exp_rest_f64v(y, zero, &n));
    f64v e = scale_f64v(p, n);
    f64v product = choose_f64v(x < zero, fma_f64v(y, p, x * zero), x);
    return scale_f64v(product / (e + one), choose_f64v(x < zero, n, zero));
}
//}

//{ silu_f64
INLINE double silu_f64(double x)
{
    return lane_f64v(silu_f64v(splat_f64v(x)), 0);
}
//}

#endif
