/* Rounding to whole numbers, remainders, and which numbers are none. */
#ifndef TEMPLATES_REAL_ROUND
#define TEMPLATES_REAL_ROUND

#include "real.c"

//{ floor_f32
INLINE float floor_f32(float x)
{
    return floorf(x);
}
//}

//{ floor_f64
INLINE double floor_f64(double x)
{
    return floor(x);
}
//}

//{ ceil_f32
INLINE float ceil_f32(float x)
{
    return ceilf(x);
}
//}

//{ ceil_f64
INLINE double ceil_f64(double x)
{
    return ceil(x);
}
//}

//{ trunc_f32
INLINE float trunc_f32(float x)
{
    return truncf(x);
}
//}

//{ trunc_f64
INLINE double trunc_f64(double x)
{
    return trunc(x);
}
//}

//{ round_f32
/* To the nearest, halves to even. */
INLINE float round_f32(float x)
{
    return rintf(x);
}
//}

//{ round_f64
/* To the nearest, halves to even. */
INLINE double round_f64(double x)
{
    return rint(x);
}
//}

//{ round_f32v
/* To the nearest, halves to even: what adding 2^23 does to a smaller number. */
INLINE f32v round_f32v(f32v x)
{
    f32v big = splat_f32v(8388608.0f), a = abs_f32v(x);
    return select_f32v(a < big, copysign_f32v((a + big) - big, x), x);
}
//}

//{ trunc_f32v
INLINE f32v trunc_f32v(f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1), a = abs_f32v(x), r = round_f32v(a);
    return copysign_f32v(r - select_f32v(r > a, one, zero), x);
}
//}

//{ floor_f32v
INLINE f32v floor_f32v(f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1), r = round_f32v(x);
    return copysign_f32v(r - select_f32v(r > x, one, zero), x);
}
//}

//{ ceil_f32v
INLINE f32v ceil_f32v(f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1), r = round_f32v(x);
    return copysign_f32v(r + select_f32v(r < x, one, zero), x);
}
//}

//{ round_f64v
/* To the nearest, halves to even: what adding 2^52 does to a smaller number. */
INLINE f64v round_f64v(f64v x)
{
    f64v big = splat_f64v(4503599627370496.0), a = abs_f64v(x);
    return choose_f64v(a < big, copysign_f64v((a + big) - big, x), x);
}
//}

//{ trunc_f64v
INLINE f64v trunc_f64v(f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1), a = abs_f64v(x), r = round_f64v(a);
    return copysign_f64v(r - choose_f64v(r > a, one, zero), x);
}
//}

//{ floor_f64v
INLINE f64v floor_f64v(f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1), r = round_f64v(x);
    return copysign_f64v(r - choose_f64v(r > x, one, zero), x);
}
//}

//{ ceil_f64v
INLINE f64v ceil_f64v(f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1), r = round_f64v(x);
    return copysign_f64v(r + choose_f64v(r < x, one, zero), x);
}
//}

//{ mod_f32
/* The remainder with the divisor's sign, as in Python; NaN for a divisor of 0. */
INLINE float mod_f32(float a, float b)
{
    float r = fmodf(a, b);
    if (r == 0)
        return copysignf(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}
//}

//{ mod_f64
/* The remainder with the divisor's sign, as in Python; NaN for a divisor of 0. */
INLINE double mod_f64(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0)
        return copysign(0.0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}
//}

//{ mod_f32v
/* The remainder with the divisor's sign, as in Python; NaN for a divisor of 0. */
INLINE f32v mod_f32v(f32v a, f32v b)
{
    float lanes[LANES], divisors[LANES];
    memcpy(lanes, &a, sizeof a);
    memcpy(divisors, &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = mod_f32(lanes[l], divisors[l]);
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ mod_f64v
/* The remainder with the divisor's sign, as in Python; NaN for a divisor of 0. */
INLINE f64v mod_f64v(f64v a, f64v b)
{
    double lanes[LANES], divisors[LANES];
    memcpy(lanes, &a, sizeof a);
    memcpy(divisors, &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = mod_f64(lanes[l], divisors[l]);
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ isnan_f32
INLINE int isnan_f32(float x)
{
    return x != x;
}
//}

//{ isinf_f32
INLINE int isinf_f32(float x)
{
    return fabsf(x) == (float)INFINITY;
}
//}

//{ isfinite_f32
INLINE int isfinite_f32(float x)
{
    return fabsf(x) < (float)INFINITY;
}
//}

//{ isnan_f32v
INLINE boolv isnan_f32v(f32v x)
{
    return x != x;
}
//}

//{ isinf_f32v
INLINE boolv isinf_f32v(f32v x)
{
    return abs_f32v(x) == splat_f32v(INFINITY);
}
//}

//{ isfinite_f32v
INLINE boolv isfinite_f32v(f32v x)
{
    return abs_f32v(x) < splat_f32v(INFINITY);
}
//}

//{ isnan_f64
INLINE int isnan_f64(double x)
{
    return x != x;
}
//}

//{ isinf_f64
INLINE int isinf_f64(double x)
{
    return fabs(x) == (double)INFINITY;
}
//}

//{ isfinite_f64
INLINE int isfinite_f64(double x)
{
    return fabs(x) < (double)INFINITY;
}
//}

//{ isnan_f64v
INLINE boolv isnan_f64v(f64v x)
{
    return narrow_boolv(x != x);
}
//}

//{ isinf_f64v
INLINE boolv isinf_f64v(f64v x)
{
    return narrow_boolv(abs_f64v(x) == splat_f64v(INFINITY));
}
//}

//{ isfinite_f64v
INLINE boolv isfinite_f64v(f64v x)
{
    return narrow_boolv(abs_f64v(x) < splat_f64v(INFINITY));
}
//}

#endif
