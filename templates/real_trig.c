/* Trigonometric functions and their inverses. In f64 they go lane by lane. */
#ifndef TEMPLATES_REAL_TRIG
#define TEMPLATES_REAL_TRIG

#include "arith.c"
#include "real.c"

//{ sin_f32
INLINE float sin_f32(float x)
{
    return sinf(x);
}
//}

//{ sin_f64
INLINE double sin_f64(double x)
{
    return sin(x);
}
//}

//{ cos_f32
INLINE float cos_f32(float x)
{
    return cosf(x);
}
//}

//{ cos_f64
INLINE double cos_f64(double x)
{
    return cos(x);
}
//}

//{ tan_f32
INLINE float tan_f32(float x)
{
    return tanf(x);
}
//}

//{ tan_f64
INLINE double tan_f64(double x)
{
    return tan(x);
}
//}

//{ asin_f32
INLINE float asin_f32(float x)
{
    return asinf(x);
}
//}

//{ asin_f64
INLINE double asin_f64(double x)
{
    return asin(x);
}
//}

//{ acos_f32
INLINE float acos_f32(float x)
{
    return acosf(x);
}
//}

//{ acos_f64
INLINE double acos_f64(double x)
{
    return acos(x);
}
//}

//{ atan_f32
/* Out of gcc's sight: without errno it makes a square root of sin(atan(x)) and cos(atan(x)), which loses NaN. */
APART float atan_f32(float x)
{
    return atanf(x);
}
//}

//{ atan_f64
/* See atan_f32. */
APART double atan_f64(double x)
{
    return atan(x);
}
//}

//{ atan2_f32
INLINE float atan2_f32(float y, float x)
{
    return atan2f(y, x);
}
//}

//{ atan2_f64
INLINE double atan2_f64(double y, double x)
{
    return atan2(y, x);
}
//}

//{ sin_f64v
INLINE f64v sin_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = sin(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ cos_f64v
INLINE f64v cos_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = cos(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ tan_f64v
INLINE f64v tan_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = tan(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ asin_f64v
INLINE f64v asin_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = asin(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ acos_f64v
INLINE f64v acos_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = acos(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ atan_f64v
INLINE f64v atan_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = atan(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ atan2_f64v
INLINE f64v atan2_f64v(f64v y, f64v x)
{
    double lanes[LANES], others[LANES];
    memcpy(lanes, &y, sizeof y);
    memcpy(others, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = atan2(lanes[l], others[l]);
    memcpy(&y, lanes, sizeof y);
    return y;
}
//}

/* sin, cos and tan of f32 bring the angle into [-pi/4, pi/4] by subtracting k * pi/2 in parts of 9 bits, whose products
 * with k are exact up to turn_limit_f32; a vector with a greater one goes lane by lane. */

//{ turn_limit_f32
static const float turn_limit_f32 = 51400.0f;
//}

//{ turn_rest_f32v
/* What is left of x >= 0, and k, of which the last two bits count. What the fourth step loses is added again. */
INLINE f32v turn_rest_f32v(f32v x, u32v *k)
{
    f32v shift = splat_f32v(12582912.0f), sum = fma_f32v(x, splat_f32v(0.636619772f), shift), n = sum - shift;
    *k = bits_f32v(sum);
    x = fma_f32v(n, splat_f32v(-1.5703125f), x);
    x = fma_f32v(n, splat_f32v(-0.000483512878f), x);
    x = fma_f32v(n, splat_f32v(-3.13855708e-7f), x);
    f32v fourth = splat_f32v(-6.07087713e-11f), rest = fma_f32v(n, fourth, x), lost = fma_f32v(n, fourth, x - rest);
    lost = fma_f32v(n, splat_f32v(-6.21724894e-14f), lost);
    return rest + fma_f32v(n, splat_f32v(-6.123234e-17f), lost);
}
//}

//{ sin_near_f32v
/* sin x for |x| <= pi/4; relative error 2^-27.9. */
INLINE f32v sin_near_f32v(f32v x)
{
    f32v z = x * x, p = splat_f32v(-1.95182918e-4f);
    p = horner_f32v(p, z, 8.33218917e-3f);
    p = horner_f32v(p, z, -1.66666552e-1f);
    return x * horner_f32v(p, z, 1.0f);
}
//}

//{ cos_near_f32v
/* cos x for |x| <= pi/4; relative error 2^-33. */
INLINE f32v cos_near_f32v(f32v x)
{
    f32v z = x * x, p = splat_f32v(2.44323273e-5f);
    p = horner_f32v(p, z, -1.38873095e-3f);
    p = horner_f32v(p, z, 4.16666456e-2f);
    p = horner_f32v(p, z, -0.5f);
    return horner_f32v(p, z, 1.0f);
}
//}

//{ sin_f32v
INLINE f32v sin_f32v(f32v x)
{
    if (any_boolv(not_boolv(abs_f32v(x) <= splat_f32v(turn_limit_f32)))) {
        float lanes[LANES];
        memcpy(lanes, &x, sizeof x);
        for (int l = 0; l < LANES; l++)
            lanes[l] = sinf(lanes[l]);
        memcpy(&x, lanes, sizeof x);
        return x;
    }
    u32v k;
    f32v rest = turn_rest_f32v(abs_f32v(x), &k);
    f32v y = select_f32v((i32v)(k & 1) != 0, cos_near_f32v(rest), sin_near_f32v(rest));
    return from_bits_f32v(bits_f32v(y) ^ (k & 2) << 30 ^ (bits_f32v(x) & 0x80000000));
}
//}

//{ cos_f32v
INLINE f32v cos_f32v(f32v x)
{
    if (any_boolv(not_boolv(abs_f32v(x) <= splat_f32v(turn_limit_f32)))) {
        float lanes[LANES];
        memcpy(lanes, &x, sizeof x);
        for (int l = 0; l < LANES; l++)
            lanes[l] = cosf(lanes[l]);
        memcpy(&x, lanes, sizeof x);
        return x;
    }
    u32v k;
    f32v rest = turn_rest_f32v(abs_f32v(x), &k);
    f32v y = select_f32v((i32v)(k & 1) != 0, sin_near_f32v(rest), cos_near_f32v(rest));
    return from_bits_f32v(bits_f32v(y) ^ ((k + 1) & 2) << 30);
}
//}

//{ tan_f32v
/* x + x^3 T(x^2) for |x| <= pi/4, relative error 2^-25.7, or -1 over that; x is |x| less k * pi/2. */
INLINE f32v tan_f32v(f32v x)
{
    if (any_boolv(not_boolv(abs_f32v(x) <= splat_f32v(turn_limit_f32)))) {
        float lanes[LANES];
        memcpy(lanes, &x, sizeof x);
        for (int l = 0; l < LANES; l++)
            lanes[l] = tanf(lanes[l]);
        memcpy(&x, lanes, sizeof x);
        return x;
    }
    u32v k;
    f32v r = turn_rest_f32v(abs_f32v(x), &k), z = r * r, p = splat_f32v(9.40341409e-3f), one = splat_f32v(1);
    p = horner_f32v(p, z, 3.09081213e-3f);
    p = horner_f32v(p, z, 2.44472586e-2f);
    p = horner_f32v(p, z, 5.34068644e-2f);
    p = horner_f32v(p, z, 1.3338846e-1f);
    p = horner_f32v(p, z, 3.33331555e-1f);
    f32v y = r + r * (z * p);
    boolv odd = (i32v)(k & 1) != 0;
    y = select_f32v(odd, -one, y) / select_f32v(odd, y, one);
    return from_bits_f32v(bits_f32v(y) ^ (bits_f32v(x) & 0x80000000));
}
//}

//{ asin_near_f32v
/* asin s for 0 <= s <= 1/2, z = s^2; relative error 2^-27.6. */
INLINE f32v asin_near_f32v(f32v s, f32v z)
{
    f32v p = splat_f32v(4.21583876e-2f);
    p = horner_f32v(p, z, 2.41847429e-2f);
    p = horner_f32v(p, z, 4.54691537e-2f);
    p = horner_f32v(p, z, 7.49530941e-2f);
    p = horner_f32v(p, z, 1.66667521e-1f);
    return fma_f32v(p * z, s, s);
}
//}

//{ asin_f32v
/* Beyond 1/2 it is pi/2 - 2 asin(sqrt((1 - |x|) / 2)). */
INLINE f32v asin_f32v(f32v x)
{
    f32v half = splat_f32v(0.5f), a = abs_f32v(x), z = (1.0f - a) * half;
    boolv large = a > half;
    z = select_f32v(large, z, a * a);
    f32v y = asin_near_f32v(select_f32v(large, sqrt_f32v(z), a), z);
    return copysign_f32v(select_f32v(large, (1.57079637f - (y + y)) - 4.37113883e-8f, y), x);
}
//}

//{ acos_f32v
/* Beyond 1/2 it is 2 asin(sqrt((1 - |x|) / 2)), or pi less that. */
INLINE f32v acos_f32v(f32v x)
{
    f32v zero = splat_f32v(0), half = splat_f32v(0.5f), a = abs_f32v(x), z = (1.0f - a) * half;
    boolv large = a > half;
    z = select_f32v(large, z, a * a);
    f32v y = asin_near_f32v(select_f32v(large, sqrt_f32v(z), a), z);
    f32v far = select_f32v(x < zero, (3.14159274f - (y + y)) - 8.74227766e-8f, y + y);
    return select_f32v(large, far, (1.57079637f - copysign_f32v(y, x)) - 4.37113883e-8f);
}
//}

//{ atan_near_f32v
/* atan t for 0 <= t <= 1; relative error 2^-25.8. */
INLINE f32v atan_near_f32v(f32v t)
{
    f32v z = t * t, p = splat_f32v(2.91939313e-3f);
    p = horner_f32v(p, z, -1.63631029e-2f);
    p = horner_f32v(p, z, 4.32046354e-2f);
    p = horner_f32v(p, z, -7.55165592e-2f);
    p = horner_f32v(p, z, 1.06657684e-1f);
    p = horner_f32v(p, z, -1.4211002e-1f);
    p = horner_f32v(p, z, 1.99937671e-1f);
    p = horner_f32v(p, z, -3.33331525e-1f);
    return fma_f32v(p * z, t, t);
}
//}

//{ atan_f32v
/* Beyond 1 it is pi/2 - atan(1 / |x|). */
INLINE f32v atan_f32v(f32v x)
{
    f32v one = splat_f32v(1), a = abs_f32v(x);
    boolv large = a > one;
    f32v y = atan_near_f32v(select_f32v(large, one / a, a));
    return copysign_f32v(select_f32v(large, (1.57079637f - y) - 4.37113883e-8f, y), x);
}
//}

//{ atan2_f32v
/* The angle to the nearer axis, between 0 and pi/4, then the octant. Equal sides, infinite ones too, are pi/4 apart. */
INLINE f32v atan2_f32v(f32v y, f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1), a = abs_f32v(y), b = abs_f32v(x);
    boolv steep = a > b;
    f32v t = select_f32v(steep, b, a) / select_f32v(steep, a, b);
    f32v r = atan_near_f32v(select_f32v(a == b, select_f32v(a == zero, zero, one), t));
    r = select_f32v(steep, (1.57079637f - r) - 4.37113883e-8f, r);
    r = select_f32v((i32v)bits_f32v(x) < 0, (3.14159274f - r) - 8.74227766e-8f, r);
    return copysign_f32v(r, y);
}
//}

#endif
