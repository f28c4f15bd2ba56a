/* Two numbers of a row in each broadcast, and vectors in which two rows' numbers take turns: templates/contract_pairs.c. What
 * is woven stays within 16 bytes, where one instruction does it. There are four lanes or more, or nobody calls these. */
#ifndef TEMPLATES_PAIRS
#define TEMPLATES_PAIRS

#include "types.c"
#include "words.c"

//{ splat_each_pair_f32v
/* What splat_pair_f32v() does, lane by lane. */
INLINE f32v splat_each_pair_f32v(const f32u *p)
{
    float lanes[LANES];
    f32v x;
    for (int l = 0; l < LANES; l++)
        lanes[l] = p[l & 1];
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ weave_each_f32v
/* What weave_f32v() does, lane by lane. */
INLINE f32v weave_each_f32v(f32v a, f32v b, const int upper)
{
    float both[2][LANES], lanes[LANES];
    memcpy(both[0], &a, sizeof a), memcpy(both[1], &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = both[l & 1][((l & ~3) + ((l & 2) >> 1) + 2 * upper) % LANES];
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ add_each_pair_f32v
/* What add_pairs_f32v() does, lane by lane. */
INLINE f32v add_each_pair_f32v(f32v lower, f32v upper)
{
    float both[2][LANES], lanes[LANES];
    memcpy(both[0], &lower, sizeof lower), memcpy(both[1], &upper, sizeof upper);
    for (int l = 0; l < LANES; l++) {
        const float *half = both[(l & 2) >> 1];
        lanes[l] = half[((l & ~3) + 2 * (l & 1)) % LANES] + half[((l & ~3) + 2 * (l & 1) + 1) % LANES];
    }
    memcpy(&lower, lanes, sizeof lower);
    return lower;
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ splat_pair_f32v
/* The two numbers at p, again and again. */
INLINE f32v splat_pair_f32v(const f32u *p)
{
    return splat_each_pair_f32v(p);
}
//}

//{ weave_f32v
/* Of each four lanes of a and b the lower two, or the upper two, in turns: a0 b0 a1 b1. */
INLINE f32v weave_f32v(f32v a, f32v b, const int upper)
{
    return weave_each_f32v(a, b, upper);
}
//}

//{ add_pairs_f32v
/* Sums of lanes side by side, in the order in which weave_f32v() took them. */
INLINE f32v add_pairs_f32v(f32v lower, f32v upper)
{
    return add_each_pair_f32v(lower, upper);
}
//}
#else
//{ splat_pair_f32v@fma
/* The two numbers at p, again and again. */
INLINE f32v splat_pair_f32v(const f32u *p)
{
#if EINC_VECTORS && LANES >= 8 && LANES * 4 <= REGISTER_BYTES
    f32v x;
    __asm__("vbroadcastsd %1, %0" : "=v"(x) : "m"(*(const char (*)[8])p));
    return x;
#else
    return splat_each_pair_f32v(p);
#endif
}
//}

//{ weave_f32v@fma
/* Of each four lanes of a and b the lower two, or the upper two, in turns: a0 b0 a1 b1. */
INLINE f32v weave_f32v(f32v a, f32v b, const int upper)
{
#if EINC_VECTORS && LANES >= 4 && LANES * 4 <= REGISTER_BYTES
    if (upper)
        __asm__("vunpckhps %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
    else
        __asm__("vunpcklps %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
    return a;
#else
    return weave_each_f32v(a, b, upper);
#endif
}
//}

//{ add_pairs_f32v@fma
/* Sums of lanes side by side, in the order in which weave_f32v() took them. */
INLINE f32v add_pairs_f32v(f32v lower, f32v upper)
{
#if EINC_VECTORS && LANES >= 4 && LANES * 4 <= REGISTER_BYTES
    f32v even, odd;
    __asm__("vshufps $0x88, %2, %1, %0" : "=v"(even) : "v"(lower), "v"(upper));
    __asm__("vshufps $0xdd, %2, %1, %0" : "=v"(odd) : "v"(lower), "v"(upper));
    return even + odd;
#else
    return add_each_pair_f32v(lower, upper);
#endif
}
//}
#endif

//{ weave_half_f32v
/* The lower half of the lanes of a and b in turns: a0 b0 a1 b1. */
INLINE f32v weave_half_f32v(f32v a, f32v b)
{
#if EINC_SHUFFLES
    const i32v lane = lanes_i32v();
    return __builtin_shuffle(a, b, lane / 2 + lane % 2 * LANES);
#else
    float both[2][LANES], lanes[LANES];
    memcpy(both[0], &a, sizeof a), memcpy(both[1], &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = both[l & 1][l / 2];
    memcpy(&a, lanes, sizeof a);
    return a;
#endif
}
//}

//{ add_half_f32v
/* Sums of lanes side by side, in the lower half of the lanes and again in the upper one. */
INLINE f32v add_half_f32v(f32v x)
{
#if EINC_SHUFFLES
    const i32v lane = lanes_i32v() % (LANES > 1 ? LANES / 2 : 1) * 2;
    return __builtin_shuffle(x, lane) + __builtin_shuffle(x, lane + 1);
#else
    float lanes[LANES], sums[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        sums[l] = lanes[2 * l % LANES] + lanes[(2 * l + 1) % LANES];
    memcpy(&x, sums, sizeof x);
    return x;
#endif
}
//}

//{ splat_each_pair_f64v
/* What splat_pair_f64v() does, lane by lane. */
INLINE f64v splat_each_pair_f64v(const f64u *p)
{
    double lanes[LANES];
    f64v x;
    for (int l = 0; l < LANES; l++)
        lanes[l] = p[l & 1];
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ weave_each_f64v
/* What weave_f64v() does, lane by lane. */
INLINE f64v weave_each_f64v(f64v a, f64v b, const int upper)
{
    double both[2][LANES], lanes[LANES];
    memcpy(both[0], &a, sizeof a), memcpy(both[1], &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = both[l & 1][((l & ~1) + upper) % LANES];
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ add_each_pair_f64v
/* What add_pairs_f64v() does, lane by lane. */
INLINE f64v add_each_pair_f64v(f64v lower, f64v upper)
{
    double both[2][LANES], lanes[LANES];
    memcpy(both[0], &lower, sizeof lower), memcpy(both[1], &upper, sizeof upper);
    for (int l = 0; l < LANES; l++) {
        const double *half = both[l & 1];
        lanes[l] = half[(l & ~1) % LANES] + half[((l & ~1) + 1) % LANES];
    }
    memcpy(&lower, lanes, sizeof lower);
    return lower;
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ splat_pair_f64v
/* The two numbers at p, again and again. */
INLINE f64v splat_pair_f64v(const f64u *p)
{
    return splat_each_pair_f64v(p);
}
//}

//{ weave_f64v
/* Of each two lanes of a and b the lower ones, or the upper ones: a0 b0. */
INLINE f64v weave_f64v(f64v a, f64v b, const int upper)
{
    return weave_each_f64v(a, b, upper);
}
//}

//{ add_pairs_f64v
/* Sums of lanes side by side, in the order in which weave_f64v() took them. */
INLINE f64v add_pairs_f64v(f64v lower, f64v upper)
{
    return add_each_pair_f64v(lower, upper);
}
//}
#else
//{ splat_pair_f64v@fma
/* The two numbers at p, again and again. */
INLINE f64v splat_pair_f64v(const f64u *p)
{
#if EINC_VECTORS && LANES >= 4 && LANES * 8 <= REGISTER_BYTES
    f64v x;
#if LANES == 4
    __asm__("vbroadcastf128 %1, %0" : "=x"(x) : "m"(*(const char (*)[16])p));
#else
    __asm__("vbroadcastf64x2 %1, %0" : "=v"(x) : "m"(*(const char (*)[16])p));
#endif
    return x;
#else
    return splat_each_pair_f64v(p);
#endif
}
//}

//{ weave_f64v@fma
/* Of each two lanes of a and b the lower ones, or the upper ones: a0 b0. */
INLINE f64v weave_f64v(f64v a, f64v b, const int upper)
{
#if EINC_VECTORS && LANES >= 4 && LANES * 8 <= REGISTER_BYTES
    if (upper)
        __asm__("vunpckhpd %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
    else
        __asm__("vunpcklpd %2, %1, %0" : "=v"(a) : "v"(a), "v"(b));
    return a;
#else
    return weave_each_f64v(a, b, upper);
#endif
}
//}

//{ add_pairs_f64v@fma
/* Sums of lanes side by side, in the order in which weave_f64v() took them. */
INLINE f64v add_pairs_f64v(f64v lower, f64v upper)
{
#if EINC_VECTORS && LANES >= 4 && LANES * 8 <= REGISTER_BYTES
    f64v even, odd;
    __asm__("vunpcklpd %2, %1, %0" : "=v"(even) : "v"(lower), "v"(upper));
    __asm__("vunpckhpd %2, %1, %0" : "=v"(odd) : "v"(lower), "v"(upper));
    return even + odd;
#else
    return add_each_pair_f64v(lower, upper);
#endif
}
//}
#endif

//{ weave_half_f64v
/* The lower half of the lanes of a and b in turns: a0 b0 a1 b1. */
INLINE f64v weave_half_f64v(f64v a, f64v b)
{
#if EINC_SHUFFLES
    const i64v lane = lanes_i64v();
    return __builtin_shuffle(a, b, lane / 2 + lane % 2 * LANES);
#else
    double both[2][LANES], lanes[LANES];
    memcpy(both[0], &a, sizeof a), memcpy(both[1], &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = both[l & 1][l / 2];
    memcpy(&a, lanes, sizeof a);
    return a;
#endif
}
//}

//{ add_half_f64v
/* Sums of lanes side by side, in the lower half of the lanes and again in the upper one. */
INLINE f64v add_half_f64v(f64v x)
{
#if EINC_SHUFFLES
    const i64v lane = lanes_i64v() % (LANES > 1 ? LANES / 2 : 1) * 2;
    return __builtin_shuffle(x, lane) + __builtin_shuffle(x, lane + 1);
#else
    double lanes[LANES], sums[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        sums[l] = lanes[2 * l % LANES] + lanes[(2 * l + 1) % LANES];
    memcpy(&x, sums, sizeof x);
    return x;
#endif
}
//}

#endif
