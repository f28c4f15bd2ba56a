/* The greatest and the least of many vectors: a chain of them alone, and NaN looked for beside it. */
#ifndef TEMPLATES_EXTREMES
#define TEMPLATES_EXTREMES

#include "minmax.c"

#if !defined EINC_AVX512 && !defined EINC_FMA && !defined EINC_NEON
//{ unordered_f32v
/* Whether a or b is NaN. */
INLINE boolv unordered_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return (boolv)__builtin_ia32_cmpunordps(a, b);
#else
    return (a != a) | (b != b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ unordered_f32v@fma
/* Whether a or b is NaN. */
INLINE boolv unordered_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    __asm__("vcmpunordps %2, %1, %0" : "=x"(a) : "x"(a), "x"(b));
    return (boolv)a;
#else
    return (a != a) | (b != b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ max_all_f32v
/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: it is looked
 * for in two elements at a time, and put in at the end. The others are none. */
INLINE f32v max_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
    boolv lost = {0};
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = greater_f32v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        lost |= unordered_f32v(x[i * step], x[(i + 1 < most ? i + 1 : i) * step]);
    return select_f32v(lost, splat_f32v((float)NAN), state);
}
//}
#endif

#ifdef EINC_NEON
//{ max_all_f32v@neon
/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one is. */
INLINE f32v max_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = max_f32v(state, x[i * step]);
    }
    return state;
}
//}
#endif

#ifdef EINC_AVX512
//{ max_all_f32v@avx512
/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: one
 * instruction looks for it in two elements, and those that it leaves behind are put in at the end. The others are none. */
INLINE f32v max_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
#if EINC_VECTORS && LANES >= 4
    uint16_t ordered = 0xffff;
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = greater_f32v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        __asm__("vcmpps $7, %2, %1, %0%{%0%}" : "+Yk"(ordered) : "v"(x[i * step]), "v"(x[(i + 1 < most ? i + 1 : i) * step]));
    ordered = (uint16_t)~ordered;
    __asm__("vmovaps %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered), "v"(splat_f32v((float)NAN)));
#else
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = max_f32v(state, x[i * step]);
    }
#endif
    return state;
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ min_all_f32v
/* The least of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: it is looked
 * for in two elements at a time, and put in at the end. The others are none. */
INLINE f32v min_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
    boolv lost = {0};
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = lesser_f32v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        lost |= unordered_f32v(x[i * step], x[(i + 1 < most ? i + 1 : i) * step]);
    return select_f32v(lost, splat_f32v((float)NAN), state);
}
//}
#endif

#ifdef EINC_NEON
//{ min_all_f32v@neon
/* The least of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one is. */
INLINE f32v min_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = min_f32v(state, x[i * step]);
    }
    return state;
}
//}
#endif

#ifdef EINC_AVX512
//{ min_all_f32v@avx512
/* The least of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: one
 * instruction looks for it in two elements, and those that it leaves behind are put in at the end. The others are none. */
INLINE f32v min_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
#if EINC_VECTORS && LANES >= 4
    uint16_t ordered = 0xffff;
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = lesser_f32v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        __asm__("vcmpps $7, %2, %1, %0%{%0%}" : "+Yk"(ordered) : "v"(x[i * step]), "v"(x[(i + 1 < most ? i + 1 : i) * step]));
    ordered = (uint16_t)~ordered;
    __asm__("vmovaps %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered), "v"(splat_f32v((float)NAN)));
#else
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = min_f32v(state, x[i * step]);
    }
#endif
    return state;
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA && !defined EINC_NEON
//{ unordered_f64v
/* Whether a or b is NaN. */
INLINE i64v unordered_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 2
    return (i64v)__builtin_ia32_cmpunordpd(a, b);
#else
    return (a != a) | (b != b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ unordered_f64v@fma
/* Whether a or b is NaN. */
INLINE i64v unordered_f64v(f64v a, f64v b)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 2 || LANES == 4)
    __asm__("vcmpunordpd %2, %1, %0" : "=x"(a) : "x"(a), "x"(b));
    return (i64v)a;
#else
    return (a != a) | (b != b);
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ max_all_f64v
/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: it is looked
 * for in two elements at a time, and put in at the end. The others are none. */
INLINE f64v max_all_f64v(f64v state, const f64v *x, const int most, const int step, int count)
{
    i64v lost = {0};
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = greater_f64v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        lost |= unordered_f64v(x[i * step], x[(i + 1 < most ? i + 1 : i) * step]);
    return choose_f64v(lost, splat_f64v((double)NAN), state);
}
//}
#endif

#ifdef EINC_NEON
//{ max_all_f64v@neon
/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one is. */
INLINE f64v max_all_f64v(f64v state, const f64v *x, const int most, const int step, int count)
{
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = max_f64v(state, x[i * step]);
    }
    return state;
}
//}
#endif

#ifdef EINC_AVX512
//{ max_all_f64v@avx512
/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: one
 * instruction looks for it in two elements, and those that it leaves behind are put in at the end. The others are none. */
INLINE f64v max_all_f64v(f64v state, const f64v *x, const int most, const int step, int count)
{
#if EINC_VECTORS && LANES <= 8
    uint16_t ordered = 0xffff;
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = greater_f64v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        __asm__("vcmppd $7, %2, %1, %0%{%0%}" : "+Yk"(ordered) : "v"(x[i * step]), "v"(x[(i + 1 < most ? i + 1 : i) * step]));
    ordered = (uint16_t)~ordered;
    __asm__("vmovapd %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered), "v"(splat_f64v((double)NAN)));
#else
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = max_f64v(state, x[i * step]);
    }
#endif
    return state;
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_NEON
//{ min_all_f64v
/* The least of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: it is looked
 * for in two elements at a time, and put in at the end. The others are none. */
INLINE f64v min_all_f64v(f64v state, const f64v *x, const int most, const int step, int count)
{
    i64v lost = {0};
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = lesser_f64v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        lost |= unordered_f64v(x[i * step], x[(i + 1 < most ? i + 1 : i) * step]);
    return choose_f64v(lost, splat_f64v((double)NAN), state);
}
//}
#endif

#ifdef EINC_NEON
//{ min_all_f64v@neon
/* The least of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one is. */
INLINE f64v min_all_f64v(f64v state, const f64v *x, const int most, const int step, int count)
{
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = min_f64v(state, x[i * step]);
    }
    return state;
}
//}
#endif

#ifdef EINC_AVX512
//{ min_all_f64v@avx512
/* The least of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: one
 * instruction looks for it in two elements, and those that it leaves behind are put in at the end. The others are none. */
INLINE f64v min_all_f64v(f64v state, const f64v *x, const int most, const int step, int count)
{
#if EINC_VECTORS && LANES <= 8
    uint16_t ordered = 0xffff;
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = lesser_f64v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        __asm__("vcmppd $7, %2, %1, %0%{%0%}" : "+Yk"(ordered) : "v"(x[i * step]), "v"(x[(i + 1 < most ? i + 1 : i) * step]));
    ordered = (uint16_t)~ordered;
    __asm__("vmovapd %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered), "v"(splat_f64v((double)NAN)));
#else
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = min_f64v(state, x[i * step]);
    }
#endif
    return state;
}
//}
#endif

#endif
