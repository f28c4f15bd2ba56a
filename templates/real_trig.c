/* Trigonometric functions and their inverses. */
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

/* sin, cos and tan of f64 do the same with parts of 33 bits, of which a product with k is exact. */

//{ turn_limit_f64
static const double turn_limit_f64 = 1.6e6;
//}

//{ turn_rest_f64v
/* What is left of x >= 0, and k, of which the last two bits count. What the second and the third step lose is added again. */
INLINE f64v turn_rest_f64v(f64v x, u64v *k)
{
    f64v shift = splat_f64v(6755399441055744.0), sum = fma_f64v(x, splat_f64v(0.63661977236758138), shift), n = sum - shift;
    *k = bits_f64v(sum);
    x = fma_f64v(n, splat_f64v(-1.5707963267341256), x);
    f64v second = n * 6.077100506303966e-11, third = n * 2.0222662487111665e-21;
    f64v a = x - second, lost = (x - a) - second, b = a - third;
    lost = lost + ((a - b) - third);
    return b + fma_f64v(n, splat_f64v(-8.4784276603688996e-32), lost);
}
//}

//{ is_far_f64v
/* Whether one of the angles is beyond turn_limit_f64, or none. */
INLINE int is_far_f64v(f64v x)
{
    return any_boolv(not_boolv(narrow_boolv(abs_f64v(x) <= splat_f64v(turn_limit_f64))));
}
//}

//{ sin_near_f64v
/* sin x for |x| <= pi/4; relative error 2^-57.9. */
INLINE f64v sin_near_f64v(f64v x)
{
    f64v z = x * x, p = splat_f64v(1.5896213861930996e-10);
    p = horner_f64v(p, z, -2.5050747489944069e-08);
    p = horner_f64v(p, z, 2.7557313619698005e-06);
    p = horner_f64v(p, z, -0.00019841269829584844);
    p = horner_f64v(p, z, 0.008333333333322113);
    p = horner_f64v(p, z, -0.1666666666666663);
    return fma_f64v(p * z, x, x);
}
//}

//{ cos_near_f64v
/* cos x for |x| <= pi/4; relative error 2^-64. */
INLINE f64v cos_near_f64v(f64v x)
{
    f64v z = x * x, p = splat_f64v(-1.1358525223256963e-11);
    p = horner_f64v(p, z, 2.0875700628842476e-09);
    p = horner_f64v(p, z, -2.7557314177767533e-07);
    p = horner_f64v(p, z, 2.480158728884655e-05);
    p = horner_f64v(p, z, -0.0013888888888873049);
    p = horner_f64v(p, z, 0.041666666666666595);
    return fma_f64v(fma_f64v(p, z, splat_f64v(-0.5)), z, splat_f64v(1));
}
//}

//{ sin_f64v
INLINE f64v sin_f64v(f64v x)
{
    if (is_far_f64v(x)) {
        double lanes[LANES];
        memcpy(lanes, &x, sizeof x);
        for (int l = 0; l < LANES; l++)
            lanes[l] = sin(lanes[l]);
        memcpy(&x, lanes, sizeof x);
        return x;
    }
    u64v k;
    f64v rest = turn_rest_f64v(abs_f64v(x), &k);
    f64v y = choose_f64v((i64v)(k & 1) != 0, cos_near_f64v(rest), sin_near_f64v(rest));
    return from_bits_f64v(bits_f64v(y) ^ (k & 2) << 62 ^ (bits_f64v(x) & 0x8000000000000000));
}
//}

//{ cos_f64v
INLINE f64v cos_f64v(f64v x)
{
    if (is_far_f64v(x)) {
        double lanes[LANES];
        memcpy(lanes, &x, sizeof x);
        for (int l = 0; l < LANES; l++)
            lanes[l] = cos(lanes[l]);
        memcpy(&x, lanes, sizeof x);
        return x;
    }
    u64v k;
    f64v rest = turn_rest_f64v(abs_f64v(x), &k);
    f64v y = choose_f64v((i64v)(k & 1) != 0, sin_near_f64v(rest), cos_near_f64v(rest));
    return from_bits_f64v(bits_f64v(y) ^ ((k + 1) & 2) << 62);
}
//}

//{ tan_f64v
/* sin over cos, or -cos over sin. */
INLINE f64v tan_f64v(f64v x)
{
    if (is_far_f64v(x)) {
        double lanes[LANES];
        memcpy(lanes, &x, sizeof x);
        for (int l = 0; l < LANES; l++)
            lanes[l] = tan(lanes[l]);
        memcpy(&x, lanes, sizeof x);
        return x;
    }
    u64v k;
    f64v rest = turn_rest_f64v(abs_f64v(x), &k), s = sin_near_f64v(rest), c = cos_near_f64v(rest);
    i64v odd = (i64v)(k & 1) != 0;
    f64v y = choose_f64v(odd, -c, s) / choose_f64v(odd, s, c);
    return from_bits_f64v(bits_f64v(y) ^ (bits_f64v(x) & 0x8000000000000000));
}
//}

//{ asin_near_f64v
/* asin s for 0 <= s <= 1/2, z = s^2; relative error 2^-59.9. */
INLINE f64v asin_near_f64v(f64v s, f64v z)
{
    f64v p = splat_f64v(0.032628649171476933);
    p = horner_f64v(p, z, -0.020999106319986038);
    p = horner_f64v(p, z, 0.021707481254443398);
    p = horner_f64v(p, z, 0.0037063927636267354);
    p = horner_f64v(p, z, 0.010780257792250392);
    p = horner_f64v(p, z, 0.011398911117731312);
    p = horner_f64v(p, z, 0.013980820721868474);
    p = horner_f64v(p, z, 0.017351611994628858);
    p = horner_f64v(p, z, 0.022372214989018958);
    p = horner_f64v(p, z, 0.030381942707721356);
    p = horner_f64v(p, z, 0.044642857174613519);
    p = horner_f64v(p, z, 0.074999999999707981);
    p = horner_f64v(p, z, 0.1666666666666676);
    return fma_f64v(p * z, s, s);
}
//}

//{ asin_f64v
/* Beyond 1/2 it is pi/2 - 2 asin(sqrt((1 - |x|) / 2)). */
INLINE f64v asin_f64v(f64v x)
{
    f64v half = splat_f64v(0.5), a = abs_f64v(x), z = (1.0 - a) * half;
    i64v large = a > half;
    z = choose_f64v(large, z, a * a);
    f64v y = asin_near_f64v(choose_f64v(large, sqrt_f64v(z), a), z);
    return copysign_f64v(choose_f64v(large, (1.5707963267948966 - (y + y)) + 6.123233995736766e-17, y), x);
}
//}

//{ acos_f64v
/* Beyond 1/2 it is 2 asin(sqrt((1 - |x|) / 2)), or pi less that. */
INLINE f64v acos_f64v(f64v x)
{
    f64v zero = splat_f64v(0), half = splat_f64v(0.5), a = abs_f64v(x), z = (1.0 - a) * half;
    i64v large = a > half;
    z = choose_f64v(large, z, a * a);
    f64v y = asin_near_f64v(choose_f64v(large, sqrt_f64v(z), a), z);
    f64v far = choose_f64v(x < zero, (3.1415926535897931 - (y + y)) + 1.2246467991473532e-16, y + y);
    return choose_f64v(large, far, (1.5707963267948966 - copysign_f64v(y, x)) + 6.123233995736766e-17);
}
//}

//{ atan_near_f64v
/* atan t for 0 <= t <= 1, beyond tan(pi/8) as pi/4 + atan((t - 1) / (t + 1)); relative error 2^-59.4. */
INLINE f64v atan_near_f64v(f64v t)
{
    i64v far = t > splat_f64v(0.41421356237309505);
    t = choose_f64v(far, (t - 1.0) / (t + 1.0), t);
    f64v z = t * t, p = splat_f64v(-0.017903550747235274);
    p = horner_f64v(p, z, 0.038060806737525696);
    p = horner_f64v(p, z, -0.050391390513288843);
    p = horner_f64v(p, z, 0.058478481311592757);
    p = horner_f64v(p, z, -0.066630977107363112);
    p = horner_f64v(p, z, 0.076920595897213298);
    p = horner_f64v(p, z, -0.090908977182953127);
    p = horner_f64v(p, z, 0.11111110781921645);
    p = horner_f64v(p, z, -0.14285714280162085);
    p = horner_f64v(p, z, 0.19999999999953205);
    p = horner_f64v(p, z, -0.33333333333333198);
    f64v y = fma_f64v(p * z, t, t);
    return choose_f64v(far, 0.78539816339744828 + (y + 3.061616997868383e-17), y);
}
//}

//{ atan_f64v
/* Beyond 1 it is pi/2 - atan(1 / |x|). */
INLINE f64v atan_f64v(f64v x)
{
    f64v one = splat_f64v(1), a = abs_f64v(x);
    i64v large = a > one;
    f64v y = atan_near_f64v(choose_f64v(large, one / a, a));
    return copysign_f64v(choose_f64v(large, (1.5707963267948966 - y) + 6.123233995736766e-17, y), x);
}
//}

//{ atan2_f64v
/* The angle to the nearer axis, between 0 and pi/4, then the octant. Equal sides, infinite ones too, are pi/4 apart. */
INLINE f64v atan2_f64v(f64v y, f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1), a = abs_f64v(y), b = abs_f64v(x);
    i64v steep = a > b;
    f64v t = choose_f64v(steep, b, a) / choose_f64v(steep, a, b);
    f64v r = atan_near_f64v(choose_f64v(a == b, choose_f64v(a == zero, zero, one), t));
    r = choose_f64v(steep, (1.5707963267948966 - r) + 6.123233995736766e-17, r);
    r = choose_f64v((i64v)bits_f64v(x) < 0, (3.1415926535897931 - r) + 1.2246467991473532e-16, r);
    return copysign_f64v(r, y);
}
//}

#endif
