/* Masks: a truth per lane, and the choices made by it. The only helpers that know what a comparison gives. */
#ifndef TEMPLATES_MASK
#define TEMPLATES_MASK

#include "types.c"

#if defined EINC_AVX512 || !defined EINC_FMA
//{ narrow_boolv
/* What a comparison of f64v or i64v gives, as a mask of any type's lanes. */
INLINE boolv narrow_boolv(i64v m)
{
    return CONVERT(m, boolv);
}
//}

//{ widen_boolv
/* A mask as a comparison of f64v or i64v would give it. */
INLINE i64v widen_boolv(boolv m)
{
    return CONVERT(m, i64v);
}
//}
#else
//{ narrow_boolv@fma
/* What a comparison of f64v or i64v gives, as a mask of any type's lanes. */
INLINE boolv narrow_boolv(i64v m)
{
#if EINC_VECTORS && LANES == 4    /* gcc makes six instructions */
    boolv x;
    __asm__("vextracti128 $1, %1, %x0\n\tvshufps $0x88, %x0, %x1, %x0" : "=&x"(x) : "x"(m));
    return x;
#else
    return CONVERT(m, boolv);
#endif
}
//}

//{ widen_boolv@fma
/* A mask as a comparison of f64v or i64v would give it. */
INLINE i64v widen_boolv(boolv m)
{
#if EINC_VECTORS && LANES == 4    /* gcc makes halves, and puts them together */
    i64v x;
    __asm__("vpmovsxdq %1, %0" : "=x"(x) : "xm"(m));
    return x;
#else
    return CONVERT(m, i64v);
#endif
}
//}
#endif

//{ first_boolv
/* The first `count` lanes. */
INLINE boolv first_boolv(int count)
{
    return lanes_i32v() < count;
}
//}

//{ and_boolv
INLINE boolv and_boolv(boolv a, boolv b)
{
    return a & b;
}
//}

//{ or_boolv
INLINE boolv or_boolv(boolv a, boolv b)
{
    return a | b;
}
//}

//{ not_boolv
INLINE boolv not_boolv(boolv m)
{
#if EINC_VECTORS
    return ~m;
#else
    return !m;
#endif
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ any_boolv
/* Whether some lane is true. */
INLINE int any_boolv(boolv m)
{
    int32_t lanes[LANES], any = 0;
    memcpy(lanes, &m, sizeof lanes);
    UNROLL
    for (int l = 0; l < LANES; l++)
        any |= lanes[l];
    return any != 0;
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ any_boolv@fma
/* Whether some lane is true. */
INLINE int any_boolv(boolv m)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    unsigned char any;
    __asm__("vptest %1, %1\n\tsetnz %0" : "=r"(any) : "x"(m) : "cc");
    return any;
#else
    int any = 0;
    for (int l = 0; l < LANES; l++)
        any |= lane_boolv(m, l);
    return any;
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ any_boolv@avx512
/* Whether some lane is true. */
INLINE int any_boolv(boolv m)
{
#if EINC_VECTORS && LANES >= 4
    unsigned char any;
    uint16_t k;
    __asm__("vptestmd %2, %2, %1\n\tkortestw %1, %1\n\tsetnz %0" : "=r"(any), "=Yk"(k) : "v"(m) : "cc");
    return any;
#else
    int any = 0;
    for (int l = 0; l < LANES; l++)
        any |= lane_boolv(m, l);
    return any;
#endif
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ bits_boolv
/* A bit for each lane, set where it is true. */
INLINE uint32_t bits_boolv(boolv m)
{
    uint32_t bits = 0;
    if (any_boolv(m))
        for (int l = 0; l < LANES; l++)
            bits |= (uint32_t)(lane_boolv(m, l) != 0) << l;
    return bits;
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ bits_boolv@fma
/* A bit for each lane, set where it is true. */
INLINE uint32_t bits_boolv(boolv m)
{
    uint32_t bits = 0;
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    __asm__("vmovmskps %1, %0" : "=r"(bits) : "x"(m));
#else
    for (int l = 0; l < LANES; l++)
        bits |= (uint32_t)(lane_boolv(m, l) != 0) << l;
#endif
    return bits;
}
//}
#endif

#ifdef EINC_AVX512
//{ bits_boolv@avx512
/* A bit for each lane, set where it is true. */
INLINE uint32_t bits_boolv(boolv m)
{
    uint32_t bits = 0;
#if EINC_VECTORS && LANES >= 4
    uint16_t k;
    __asm__("vptestmd %2, %2, %1\n\tkmovw %1, %0" : "=r"(bits), "=Yk"(k) : "v"(m));
#else
    for (int l = 0; l < LANES; l++)
        bits |= (uint32_t)(lane_boolv(m, l) != 0) << l;
#endif
    return bits;
}
//}
#endif

//{ count_boolv
/* One more in each lane that is true. */
INLINE i32v count_boolv(i32v count, boolv m)
{
#if EINC_VECTORS
    return count - m;
#else
    return count + m;
#endif
}
//}

//{ lowest_bit
/* Where the lowest bit is that is set; one is. */
INLINE int lowest_bit(uint64_t bits)
{
#ifdef __GNUC__
    return __builtin_ctzll(bits);
#else
    int at = 0;
    while (!(bits >> at & 1))
        at++;
    return at;
#endif
}
//}

//{ all_boolv
/* Whether every lane is true. */
INLINE int all_boolv(boolv m)
{
    return !any_boolv(not_boolv(m));
}
//}

/* a where the mask is true, b elsewhere. The exclusive or of the two masked parts, not their or, is the form that
 * compilers turn into one blend. */

//{ select_i32v
INLINE i32v select_i32v(boolv m, i32v a, i32v b)
{
#if EINC_VECTORS
    return (m & a) ^ (~m & b);
#else
    return m ? a : b;
#endif
}
//}

//{ select_u32v
INLINE u32v select_u32v(boolv m, u32v a, u32v b)
{
#if EINC_VECTORS
    return ((u32v)m & a) ^ (~(u32v)m & b);
#else
    return m ? a : b;
#endif
}
//}

//{ select_f32v
INLINE f32v select_f32v(boolv m, f32v a, f32v b)
{
#if EINC_VECTORS
    return (f32v)((m & (i32v)a) ^ (~m & (i32v)b));
#else
    return m ? a : b;
#endif
}
//}

//{ select_boolv
INLINE boolv select_boolv(boolv m, boolv a, boolv b)
{
#if EINC_VECTORS
    return (m & a) ^ (~m & b);
#else
    return m ? a : b;
#endif
}
//}

//{ choose_i64v
/* select_i64v by what a comparison of f64v or i64v gives. */
INLINE i64v choose_i64v(i64v m, i64v a, i64v b)
{
#if EINC_VECTORS
    return (m & a) ^ (~m & b);
#else
    return m ? a : b;
#endif
}
//}

//{ choose_f64v
/* select_f64v by what a comparison of f64v or i64v gives. */
INLINE f64v choose_f64v(i64v m, f64v a, f64v b)
{
#if EINC_VECTORS
    return (f64v)((m & (i64v)a) ^ (~m & (i64v)b));
#else
    return m ? a : b;
#endif
}
//}

//{ select_i64v
INLINE i64v select_i64v(boolv m, i64v a, i64v b)
{
    return choose_i64v(widen_boolv(m), a, b);
}
//}

//{ select_f64v
INLINE f64v select_f64v(boolv m, f64v a, f64v b)
{
    return choose_f64v(widen_boolv(m), a, b);
}
//}

#endif
