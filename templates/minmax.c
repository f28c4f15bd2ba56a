/* Maximum and minimum: with NaN winning or losing, of two and of many vectors; and clamps. */
#ifndef TEMPLATES_MINMAX
#define TEMPLATES_MINMAX

#include "mask.c"

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ greater_f32v
/* The greater, and b where either is NaN. */
INLINE f32v greater_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return __builtin_ia32_maxps(a, b);
#else
    return select_f32v(a > b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ greater_f32v@fma
/* The greater, and b where either is NaN. */
INLINE f32v greater_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    __asm__("vmaxps %2, %1, %0" : "=x"(a) : "x"(a), "xm"(b));
    return a;
#else
    return select_f32v(a > b, a, b);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ greater_f32v@avx512
/* The greater, and b where either is NaN. */
INLINE f32v greater_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES >= 4
    __asm__("vmaxps %2, %1, %0" : "=v"(a) : "v"(a), "vm"(b));
    return a;
#else
    return select_f32v(a > b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ greater_f64v
/* The greater, and b where either is NaN. */
INLINE f64v greater_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 2
    return __builtin_ia32_maxpd(a, b);
#else
    return choose_f64v(a > b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ greater_f64v@fma
/* The greater, and b where either is NaN. */
INLINE f64v greater_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 4
    __asm__("vmaxpd %2, %1, %0" : "=x"(a) : "x"(a), "xm"(b));
    return a;
#else
    return choose_f64v(a > b, a, b);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ greater_f64v@avx512
/* The greater, and b where either is NaN. */
INLINE f64v greater_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 8
    __asm__("vmaxpd %2, %1, %0" : "=v"(a) : "v"(a), "vm"(b));
    return a;
#else
    return choose_f64v(a > b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ lesser_f32v
/* The lesser, and b where either is NaN. */
INLINE f32v lesser_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return __builtin_ia32_minps(a, b);
#else
    return select_f32v(a < b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ lesser_f32v@fma
/* The lesser, and b where either is NaN. */
INLINE f32v lesser_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    __asm__("vminps %2, %1, %0" : "=x"(a) : "x"(a), "xm"(b));
    return a;
#else
    return select_f32v(a < b, a, b);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ lesser_f32v@avx512
/* The lesser, and b where either is NaN. */
INLINE f32v lesser_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES >= 4
    __asm__("vminps %2, %1, %0" : "=v"(a) : "v"(a), "vm"(b));
    return a;
#else
    return select_f32v(a < b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ lesser_f64v
/* The lesser, and b where either is NaN. */
INLINE f64v lesser_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 2
    return __builtin_ia32_minpd(a, b);
#else
    return choose_f64v(a < b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ lesser_f64v@fma
/* The lesser, and b where either is NaN. */
INLINE f64v lesser_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 4
    __asm__("vminpd %2, %1, %0" : "=x"(a) : "x"(a), "xm"(b));
    return a;
#else
    return choose_f64v(a < b, a, b);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ lesser_f64v@avx512
/* The lesser, and b where either is NaN. */
INLINE f64v lesser_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 8
    __asm__("vminpd %2, %1, %0" : "=v"(a) : "v"(a), "vm"(b));
    return a;
#else
    return choose_f64v(a < b, a, b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ max_f32v
/* The greater; NaN where either is. The way through a, which may be an accumulator, is the short one. */
INLINE f32v max_f32v(f32v a, f32v b)
{
    return select_f32v(b != b, b, greater_f32v(b, a));
}
//}
#endif

#ifdef EINC_AVX512
//{ max_f32v@avx512
/* The greater; NaN where either is: the instruction gives a where that is NaN, and what it loses of b comes after. The
 * way through a, which may be an accumulator, is the short one. */
INLINE f32v max_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && LANES >= 4
    f32v r;
    uint16_t nan;
    __asm__("vcmpps $3, %3, %3, %1\n\tvmaxps %2, %3, %0\n\tvmovaps %3, %0%{%1%}"
            : "=&v"(r), "=&Yk"(nan) : "v"(a), "v"(b));
    return r;
#else
    return select_f32v(b != b, b, greater_f32v(b, a));
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ max_f32v@neon
/* The greater; NaN where either is. */
INLINE f32v max_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && LANES == 4
    __asm__("fmax %0.4s, %1.4s, %2.4s" : "=w"(a) : "w"(a), "w"(b));
    return a;
#else
    return select_f32v(b != b, b, greater_f32v(b, a));
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ max_f64v
/* The greater; NaN where either is. The way through a, which may be an accumulator, is the short one. */
INLINE f64v max_f64v(f64v a, f64v b)
{
    return choose_f64v(b != b, b, greater_f64v(b, a));
}
//}
#endif

#ifdef EINC_AVX512
//{ max_f64v@avx512
/* The greater; NaN where either is: the instruction gives a where that is NaN, and what it loses of b comes after. The
 * way through a, which may be an accumulator, is the short one. */
INLINE f64v max_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && LANES <= 8
    f64v r;
    uint8_t nan;
    __asm__("vcmppd $3, %3, %3, %1\n\tvmaxpd %2, %3, %0\n\tvmovapd %3, %0%{%1%}"
            : "=&v"(r), "=&Yk"(nan) : "v"(a), "v"(b));
    return r;
#else
    return choose_f64v(b != b, b, greater_f64v(b, a));
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ max_f64v@neon
/* The greater; NaN where either is. */
INLINE f64v max_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && LANES == 2
    __asm__("fmax %0.2d, %1.2d, %2.2d" : "=w"(a) : "w"(a), "w"(b));
    return a;
#else
    return choose_f64v(b != b, b, greater_f64v(b, a));
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ min_f32v
/* The lesser; NaN where either is. The way through a, which may be an accumulator, is the short one. */
INLINE f32v min_f32v(f32v a, f32v b)
{
    return select_f32v(b != b, b, lesser_f32v(b, a));
}
//}
#endif

#ifdef EINC_AVX512
//{ min_f32v@avx512
/* The lesser; NaN where either is: the instruction gives a where that is NaN, and what it loses of b comes after. The
 * way through a, which may be an accumulator, is the short one. */
INLINE f32v min_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && LANES >= 4
    f32v r;
    uint16_t nan;
    __asm__("vcmpps $3, %3, %3, %1\n\tvminps %2, %3, %0\n\tvmovaps %3, %0%{%1%}"
            : "=&v"(r), "=&Yk"(nan) : "v"(a), "v"(b));
    return r;
#else
    return select_f32v(b != b, b, lesser_f32v(b, a));
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ min_f32v@neon
/* The lesser; NaN where either is. */
INLINE f32v min_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && LANES == 4
    __asm__("fmin %0.4s, %1.4s, %2.4s" : "=w"(a) : "w"(a), "w"(b));
    return a;
#else
    return select_f32v(b != b, b, lesser_f32v(b, a));
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ min_f64v
/* The lesser; NaN where either is. The way through a, which may be an accumulator, is the short one. */
INLINE f64v min_f64v(f64v a, f64v b)
{
    return choose_f64v(b != b, b, lesser_f64v(b, a));
}
//}
#endif

#ifdef EINC_AVX512
//{ min_f64v@avx512
/* The lesser; NaN where either is: the instruction gives a where that is NaN, and what it loses of b comes after. The
 * way through a, which may be an accumulator, is the short one. */
INLINE f64v min_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && LANES <= 8
    f64v r;
    uint8_t nan;
    __asm__("vcmppd $3, %3, %3, %1\n\tvminpd %2, %3, %0\n\tvmovapd %3, %0%{%1%}"
            : "=&v"(r), "=&Yk"(nan) : "v"(a), "v"(b));
    return r;
#else
    return choose_f64v(b != b, b, lesser_f64v(b, a));
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ min_f64v@neon
/* The lesser; NaN where either is. */
INLINE f64v min_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && LANES == 2
    __asm__("fmin %0.2d, %1.2d, %2.2d" : "=w"(a) : "w"(a), "w"(b));
    return a;
#else
    return choose_f64v(b != b, b, lesser_f64v(b, a));
#endif
}
//}
#endif

//{ max_f32
INLINE float max_f32(float a, float b)
{
    return b > a || b != b ? b : a;
}
//}

//{ max_f64
INLINE double max_f64(double a, double b)
{
    return b > a || b != b ? b : a;
}
//}

//{ min_f32
INLINE float min_f32(float a, float b)
{
    return b < a || b != b ? b : a;
}
//}

//{ min_f64
INLINE double min_f64(double a, double b)
{
    return b < a || b != b ? b : a;
}
//}

//{ clamp_f32
INLINE float clamp_f32(float x, float low, float high)
{
    return min_f32(max_f32(x, low), high);
}
//}

//{ clamp_f64
INLINE double clamp_f64(double x, double low, double high)
{
    return min_f64(max_f64(x, low), high);
}
//}

//{ clamp_f32v
INLINE f32v clamp_f32v(f32v x, f32v low, f32v high)
{
    return min_f32v(max_f32v(x, low), high);
}
//}

//{ clamp_f64v
INLINE f64v clamp_f64v(f64v x, f64v low, f64v high)
{
    return min_f64v(max_f64v(x, low), high);
}
//}

#endif
