/* Functions of real numbers that are exact or rounded correctly. */
#ifndef TEMPLATES_REAL
#define TEMPLATES_REAL

#include "minmax.c"

//{ abs_f32
INLINE float abs_f32(float x)
{
    return fabsf(x);
}
//}

//{ abs_f64
INLINE double abs_f64(double x)
{
    return fabs(x);
}
//}

//{ abs_f32v
INLINE f32v abs_f32v(f32v x)
{
    return from_bits_f32v(bits_f32v(x) & 0x7FFFFFFF);
}
//}

//{ abs_f64v
INLINE f64v abs_f64v(f64v x)
{
    return from_bits_f64v(bits_f64v(x) & 0x7FFFFFFFFFFFFFFF);
}
//}

//{ copysign_f32v
/* x with the sign of y. */
INLINE f32v copysign_f32v(f32v x, f32v y)
{
    return from_bits_f32v((bits_f32v(x) & 0x7FFFFFFF) | (bits_f32v(y) & 0x80000000));
}
//}

//{ copysign_f64v
/* x with the sign of y. */
INLINE f64v copysign_f64v(f64v x, f64v y)
{
    return from_bits_f64v((bits_f64v(x) & 0x7FFFFFFFFFFFFFFF) | (bits_f64v(y) & 0x8000000000000000));
}
//}

//{ KEEP_ROUNDED
/* gcc fuses a product with the sum that takes it, across statements too; here it may not. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define KEEP_ROUNDED(x) ((x) = __builtin_assoc_barrier(x))
#elif defined(__GNUC__) && !defined(__clang__)
#define KEEP_ROUNDED(x) __asm__("" : "+m"(x))
#else
#define KEEP_ROUNDED(x) ((void)0)
#endif
//}

//{ rounded_f32
/* The number that x was rounded to, where the same expression stands elsewhere too. */
INLINE float rounded_f32(float x)
{
    KEEP_ROUNDED(x);
    return x;
}
//}

//{ rounded_f64
/* The number that x was rounded to, where the same expression stands elsewhere too. */
INLINE double rounded_f64(double x)
{
    KEEP_ROUNDED(x);
    return x;
}
//}

//{ rounded_f32v
/* The number that x was rounded to, where the same expression stands elsewhere too. */
INLINE f32v rounded_f32v(f32v x)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES * 4 <= REGISTER_BYTES
    HOLD(x);    /* gcc would take a vector apart to keep each number */
#else
    KEEP_ROUNDED(x);
#endif
    return x;
}
//}

//{ rounded_f64v
/* The number that x was rounded to, where the same expression stands elsewhere too. */
INLINE f64v rounded_f64v(f64v x)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES * 8 <= REGISTER_BYTES
    HOLD(x);    /* gcc would take a vector apart to keep each number */
#else
    KEEP_ROUNDED(x);
#endif
    return x;
}
//}

//{ neg_f32
INLINE float neg_f32(float x)
{
    return -x;
}
//}

//{ square_f32
INLINE float square_f32(float x)
{
    return x * x;
}
//}

//{ recip_f32
INLINE float recip_f32(float x)
{
    return 1.0f / x;
}
//}

//{ neg_f64
INLINE double neg_f64(double x)
{
    return -x;
}
//}

//{ square_f64
INLINE double square_f64(double x)
{
    return x * x;
}
//}

//{ recip_f64
INLINE double recip_f64(double x)
{
    return 1.0 / x;
}
//}

//{ neg_f32v
INLINE f32v neg_f32v(f32v x)
{
    return -x;
}
//}

//{ square_f32v
INLINE f32v square_f32v(f32v x)
{
    return x * x;
}
//}

//{ recip_f32v
INLINE f32v recip_f32v(f32v x)
{
    return 1.0f / x;
}
//}

//{ neg_f64v
INLINE f64v neg_f64v(f64v x)
{
    return -x;
}
//}

//{ square_f64v
INLINE f64v square_f64v(f64v x)
{
    return x * x;
}
//}

//{ recip_f64v
INLINE f64v recip_f64v(f64v x)
{
    return 1.0 / x;
}
//}

//{ sign_f32
/* -1, 0, 1 or NaN. */
INLINE float sign_f32(float x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x + 0.0f;
}
//}

//{ sign_f64
/* -1, 0, 1 or NaN. */
INLINE double sign_f64(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x + 0.0;
}
//}

//{ sign_f32v
/* -1, 0, 1 or NaN. */
INLINE f32v sign_f32v(f32v x)
{
    f32v zero = splat_f32v(0), one = splat_f32v(1);
    return select_f32v(x > zero, one, select_f32v(x < zero, -one, x + zero));
}
//}

//{ sign_f64v
/* -1, 0, 1 or NaN. */
INLINE f64v sign_f64v(f64v x)
{
    f64v zero = splat_f64v(0), one = splat_f64v(1);
    return choose_f64v(x > zero, one, choose_f64v(x < zero, -one, x + zero));
}
//}

//{ relu_f32
INLINE float relu_f32(float x)
{
    return x < 0 ? 0 : x;
}
//}

//{ relu_f64
INLINE double relu_f64(double x)
{
    return x < 0 ? 0 : x;
}
//}

//{ relu_f32v
INLINE f32v relu_f32v(f32v x)
{
    return greater_f32v(splat_f32v(0), x);
}
//}

//{ relu_f64v
INLINE f64v relu_f64v(f64v x)
{
    return greater_f64v(splat_f64v(0), x);
}
//}

//{ sqrt_f32
INLINE float sqrt_f32(float x)
{
    return sqrtf(x);
}
//}

//{ sqrt_f64
INLINE double sqrt_f64(double x)
{
    return sqrt(x);
}
//}

//{ sqrt_lanes_f32v
/* Square roots, one lane after the other. */
INLINE f32v sqrt_lanes_f32v(f32v x)
{
    float lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = sqrtf(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA && !defined EINC_NEON
//{ sqrt_f32v
INLINE f32v sqrt_f32v(f32v x)
{
    return sqrt_lanes_f32v(x);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ sqrt_f32v@fma
INLINE f32v sqrt_f32v(f32v x)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    __asm__("vsqrtps %1, %0" : "=x"(x) : "x"(x));
    return x;
#else
    return sqrt_lanes_f32v(x);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ sqrt_f32v@avx512
INLINE f32v sqrt_f32v(f32v x)
{
#if EINC_VECTORS && LANES >= 4
    __asm__("vsqrtps %1, %0" : "=v"(x) : "v"(x));
    return x;
#else
    return sqrt_lanes_f32v(x);
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ sqrt_f32v@neon
INLINE f32v sqrt_f32v(f32v x)
{
#if EINC_VECTORS && LANES == 4
    __asm__("fsqrt %0.4s, %1.4s" : "=w"(x) : "w"(x));
    return x;
#else
    return sqrt_lanes_f32v(x);
#endif
}
//}
#endif

//{ sqrt_lanes_f64v
/* Square roots, one lane after the other. */
INLINE f64v sqrt_lanes_f64v(f64v x)
{
    double lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        lanes[l] = sqrt(lanes[l]);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA && !defined EINC_NEON
//{ sqrt_f64v
INLINE f64v sqrt_f64v(f64v x)
{
    return sqrt_lanes_f64v(x);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ sqrt_f64v@fma
INLINE f64v sqrt_f64v(f64v x)
{
#if EINC_VECTORS && LANES <= 4
    __asm__("vsqrtpd %1, %0" : "=x"(x) : "x"(x));
    return x;
#else
    return sqrt_lanes_f64v(x);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ sqrt_f64v@avx512
INLINE f64v sqrt_f64v(f64v x)
{
#if EINC_VECTORS && LANES <= 8
    __asm__("vsqrtpd %1, %0" : "=v"(x) : "v"(x));
    return x;
#else
    return sqrt_lanes_f64v(x);
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ sqrt_f64v@neon
INLINE f64v sqrt_f64v(f64v x)
{
#if EINC_VECTORS && LANES == 2
    __asm__("fsqrt %0.2d, %1.2d" : "=w"(x) : "w"(x));
    return x;
#else
    return sqrt_lanes_f64v(x);
#endif
}
//}
#endif

//{ rsqrt_f32
INLINE float rsqrt_f32(float x)
{
    return 1.0f / sqrtf(x);
}
//}

//{ rsqrt_f64
INLINE double rsqrt_f64(double x)
{
    return 1.0 / sqrt(x);
}
//}

//{ rsqrt_f32v
INLINE f32v rsqrt_f32v(f32v x)
{
    return 1.0f / sqrt_f32v(x);
}
//}

//{ rsqrt_f64v
INLINE f64v rsqrt_f64v(f64v x)
{
    return 1.0 / sqrt_f64v(x);
}
//}

#endif
