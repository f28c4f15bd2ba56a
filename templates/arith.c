/* Multiply-add, sums by it, and polynomials of it. */
#ifndef TEMPLATES_ARITH
#define TEMPLATES_ARITH

#include "mask.c"

/* a * b + c. Polynomials are sums of these; what they compute must hold whether it rounds once or twice. */

#if !defined EINC_AVX512 && !defined EINC_FMA && !defined EINC_NEON
//{ fma_f32v
/* a * b + c, rounded once or twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
    CONTRACT
    return a * b + c;
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ fma_f32v@fma
/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(c) : "%x"(a), "xm"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ fma_f32v@avx512
/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C, clang not where a * b is used twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
#if EINC_VECTORS && LANES == 16
    return __builtin_ia32_vfmaddps512_mask(a, b, c, (uint16_t)-1, 4);
#elif EINC_VECTORS && !defined(__clang__) && LANES >= 4
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "%v"(a), "vm"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ fma_f32v@neon
/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 4
    __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA && !defined EINC_NEON
//{ fma_f64v
/* a * b + c, rounded once or twice. */
INLINE f64v fma_f64v(f64v a, f64v b, f64v c)
{
    CONTRACT
    return a * b + c;
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ fma_f64v@fma
/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C. */
INLINE f64v fma_f64v(f64v a, f64v b, f64v c)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 4
    __asm__("vfmadd231pd %2, %1, %0" : "+x"(c) : "%x"(a), "xm"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ fma_f64v@avx512
/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C, clang not where a * b is used twice. */
INLINE f64v fma_f64v(f64v a, f64v b, f64v c)
{
#if EINC_VECTORS && LANES == 8
    return __builtin_ia32_vfmaddpd512_mask(a, b, c, (uint8_t)-1, 4);
#elif EINC_VECTORS && !defined(__clang__) && LANES < 8
    __asm__("vfmadd231pd %2, %1, %0" : "+v"(c) : "%v"(a), "vm"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}
//}
#endif

#ifdef EINC_NEON
//{ fma_f64v@neon
/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C. */
INLINE f64v fma_f64v(f64v a, f64v b, f64v c)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 2
    __asm__("fmla %0.2d, %1.2d, %2.2d" : "+w"(c) : "w"(a), "w"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}
//}
#endif

/* *a in all lanes, and b. Where a CPU multiplies and adds in one unit, the sum comes from that: the one that only adds has
 * maxima to take, and broadcasts to make that no instruction does on its way. Where both units do all of it, a sum leaves the
 * clock higher than a product with 1, and so does one broadcast for several. */
#if !defined EINC_ADDERS && !defined EINC_AVX512 && !defined EINC_FMA
//{ plus_f32v
INLINE f32v plus_f32v(const f32u *a, f32v b)
{
    return splat_f32v(*a) + b;
}
//}

//{ plus_f64v
INLINE f64v plus_f64v(const f64u *a, f64v b)
{
    return splat_f64v(*a) + b;
}
//}
#elif !defined EINC_ADDERS && !defined EINC_AVX512
//{ plus_f32v@fma
/* In the place of *a in all lanes, whose last sum needs no copy then. */
INLINE f32v plus_f32v(const f32u *a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    f32v sum = splat_f32v(*a);
    __asm__("vfmadd132ps %1, %2, %0" : "+x"(sum) : "xm"(splat_f32v(1)), "x"(b));
    return sum;
#else
    return fma_f32v(splat_f32v(*a), splat_f32v(1), b);
#endif
}
//}

//{ plus_f64v@fma
/* In the place of *a in all lanes, whose last sum needs no copy then. */
INLINE f64v plus_f64v(const f64u *a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES <= 4
    f64v sum = splat_f64v(*a);
    __asm__("vfmadd132pd %1, %2, %0" : "+x"(sum) : "xm"(splat_f64v(1)), "x"(b));
    return sum;
#else
    return fma_f64v(splat_f64v(*a), splat_f64v(1), b);
#endif
}
//}
#elif !defined EINC_ADDERS
//{ plus_f32v@avx512
INLINE f32v plus_f32v(const f32u *a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 16
    __asm__("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(b) : "m"(*a), "v"(splat_f32v(1)));
    return b;
#else
    return fma_f32v(splat_f32v(*a), splat_f32v(1), b);
#endif
}
//}

//{ plus_f64v@avx512
INLINE f64v plus_f64v(const f64u *a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 8
    __asm__("vfmadd231pd %1%{1to8%}, %2, %0" : "+v"(b) : "m"(*a), "v"(splat_f64v(1)));
    return b;
#else
    return fma_f64v(splat_f64v(*a), splat_f64v(1), b);
#endif
}
//}
#else
//{ plus_f32v@adders
INLINE f32v plus_f32v(const f32u *a, f32v b)
{
    return splat_f32v(*a) + b;
}
//}

//{ plus_f64v@adders
INLINE f64v plus_f64v(const f64u *a, f64v b)
{
    return splat_f64v(*a) + b;
}
//}
#endif

//{ horner_f32v
/* p * x + c: one step of a polynomial. */
INLINE f32v horner_f32v(f32v p, f32v x, float c)
{
    return fma_f32v(p, x, splat_f32v(c));
}
//}

//{ horner_f64v
/* p * x + c: one step of a polynomial. */
INLINE f64v horner_f64v(f64v p, f64v x, double c)
{
    return fma_f64v(p, x, splat_f64v(c));
}
//}

#endif
