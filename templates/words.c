/* Elements of 1, 2, 4 or 8 bytes in memory, whatever they mean: what the loads and stores of each dtype are made of.
 *
 * The first `count` lanes, 1 <= count <= LANES, are p[0], p[stride], ..., and nothing past them is touched. In a load
 * the other lanes repeat the first. */
#ifndef TEMPLATES_WORDS
#define TEMPLATES_WORDS

#include "mask.c"

//{ load_lanes_u8v
/* One lane after the other. */
APART u8v load_lanes_u8v(const void *p, int64_t stride, int count)
{
    uint8_t lanes[LANES];
    u8v x;
    if (count == LANES) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + stride * l, 1);
    } else {
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + stride * (l < count ? l : 0), 1);
    }
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ store_lanes_u8v
/* One lane after the other. */
APART void store_lanes_u8v(void *p, int64_t stride, u8v x, int count)
{
    uint8_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + stride * l, &lanes[l], 1);
}
//}

#ifndef EINC_AVX512

//{ load_u8v
INLINE u8v load_u8v(const void *p, int64_t stride, int count)
{
    u8v x;
    if (stride != 1 || count != LANES)
        return load_lanes_u8v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}
//}

//{ store_u8v
INLINE void store_u8v(void *p, int64_t stride, u8v x, int count)
{
    if (stride == 1 && count == LANES)
        memcpy(p, &x, sizeof x);
    else
        store_lanes_u8v(p, stride, x, count);
}
//}

#endif

#ifdef EINC_AVX512
//{ load_u8v@avx512
INLINE u8v load_u8v(const void *p, int64_t stride, int count)
{
    u8v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && LANES == 16
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        u8v zero = {0};
        uint8_t first;
        memcpy(&first, p, 1);
        x = first | zero;
        __asm__("vmovdqu8 (%1), %0%{%2%}" : "+v"(x) : "r"(p), "Yk"(m) : "memory");
        return x;
    }
#endif
    return load_lanes_u8v(p, stride, count);
}
//}

//{ store_u8v@avx512
INLINE void store_u8v(void *p, int64_t stride, u8v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && LANES == 16
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        __asm__ volatile("vmovdqu8 %1, (%0)%{%2%}" : : "r"(p), "v"(x), "Yk"(m) : "memory");
        return;
    }
#endif
    store_lanes_u8v(p, stride, x, count);
}
//}
#endif

//{ load_near_u16v
#if EINC_SHUFFLES
/* Elements few apart, out of as many whole vectors, the last of which ends with the last of them. */
INLINE u16v load_near_u16v(const void *p, const int stride)
{
    u16v x;
    memcpy(&x, p, sizeof x);
    UNROLL
    for (int v = 1; v < stride; v++) {
        const int first = v == stride - 1 ? v * (LANES - 1) : v * LANES;
        i16v from = {0};
        UNROLL
        for (int l = 0; l < LANES; l++)
            from[l] = l * stride >= v * LANES ? l * stride - first + LANES : v == 1 ? l * stride : l;
        u16v y;
        memcpy(&y, (const char *)p + 2 * first, sizeof y);
        x = __builtin_shuffle(x, y, from);
    }
    return x;
}
#endif
//}

//{ load_lanes_u16v
/* One lane after the other. */
APART u16v load_lanes_u16v(const void *p, int64_t stride, int count)
{
#if EINC_SHUFFLES
    if (stride >= 2 && stride <= (LANES < 4 ? LANES : 4) && count == LANES)
        return stride == 2 ? load_near_u16v(p, 2) : stride == 3 ? load_near_u16v(p, 3) : load_near_u16v(p, 4);
#endif
    uint16_t lanes[LANES];
    u16v x;
    if (count == LANES) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 2 * stride * l, 2);
    } else {
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 2 * stride * (l < count ? l : 0), 2);
    }
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ store_lanes_u16v
/* One lane after the other. */
APART void store_lanes_u16v(void *p, int64_t stride, u16v x, int count)
{
    uint16_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 2 * stride * l, &lanes[l], 2);
}
//}

#ifndef EINC_AVX512

//{ load_u16v
INLINE u16v load_u16v(const void *p, int64_t stride, int count)
{
    u16v x;
    if (stride != 1 || count != LANES)
        return load_lanes_u16v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}
//}

//{ store_u16v
INLINE void store_u16v(void *p, int64_t stride, u16v x, int count)
{
    if (stride == 1 && count == LANES)
        memcpy(p, &x, sizeof x);
    else
        store_lanes_u16v(p, stride, x, count);
}
//}

#endif

#ifdef EINC_AVX512
//{ load_u16v@avx512
INLINE u16v load_u16v(const void *p, int64_t stride, int count)
{
    u16v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && LANES >= 8
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        u16v zero = {0};
        uint16_t first;
        memcpy(&first, p, 2);
        x = first | zero;
        __asm__("vmovdqu16 (%1), %0%{%2%}" : "+v"(x) : "r"(p), "Yk"(m) : "memory");
        return x;
    }
#endif
    return load_lanes_u16v(p, stride, count);
}
//}

//{ store_u16v@avx512
INLINE void store_u16v(void *p, int64_t stride, u16v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && LANES >= 8
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        __asm__ volatile("vmovdqu16 %1, (%0)%{%2%}" : : "r"(p), "v"(x), "Yk"(m) : "memory");
        return;
    }
#endif
    store_lanes_u16v(p, stride, x, count);
}
//}
#endif

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ widen_u16v
INLINE u32v widen_u16v(u16v x)
{
    return CONVERT(x, u32v);
}
//}

//{ widen_i16v
INLINE i32v widen_i16v(i16v x)
{
    return CONVERT(x, i32v);
}
//}

//{ widen_i8v
INLINE i32v widen_i8v(i8v x)
{
    return CONVERT(CONVERT(x, i16v), i32v);
}
//}
#elif !defined EINC_AVX512
/* One instruction each; gcc makes halves, and puts them together. */
//{ widen_u16v@fma
INLINE u32v widen_u16v(u16v x)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    u32v y;
    __asm__("vpmovzxwd %1, %0" : "=x"(y) : "xm"(x));
    return y;
#else
    return CONVERT(x, u32v);
#endif
}
//}

//{ widen_i16v@fma
INLINE i32v widen_i16v(i16v x)
{
#if EINC_VECTORS && !defined(__clang__) && (LANES == 4 || LANES == 8)
    i32v y;
    __asm__("vpmovsxwd %1, %0" : "=x"(y) : "xm"(x));
    return y;
#else
    return CONVERT(x, i32v);
#endif
}
//}

//{ widen_i8v@fma
INLINE i32v widen_i8v(i8v x)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 8
    i32v y;
    __asm__("vpmovsxbd %1, %0" : "=x"(y) : "xm"(x));
    return y;
#else
    return CONVERT(CONVERT(x, i16v), i32v);
#endif
}
//}
#else
/* Likewise. */
//{ widen_u16v@avx512
INLINE u32v widen_u16v(u16v x)
{
#if EINC_VECTORS && !defined(__clang__) && LANES >= 8
    u32v y;
    __asm__("vpmovzxwd %1, %0" : "=v"(y) : "vm"(x));
    return y;
#else
    return CONVERT(x, u32v);
#endif
}
//}

//{ widen_i16v@avx512
INLINE i32v widen_i16v(i16v x)
{
#if EINC_VECTORS && !defined(__clang__) && LANES >= 8
    i32v y;
    __asm__("vpmovsxwd %1, %0" : "=v"(y) : "vm"(x));
    return y;
#else
    return CONVERT(x, i32v);
#endif
}
//}

//{ widen_i8v@avx512
INLINE i32v widen_i8v(i8v x)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 16
    i32v y;
    __asm__("vpmovsxbd %1, %0" : "=v"(y) : "vm"(x));
    return y;
#else
    return CONVERT(CONVERT(x, i16v), i32v);
#endif
}
//}
#endif

//{ load_near_u32v
#if EINC_SHUFFLES
/* Elements few apart, out of as many whole vectors, the last of which ends with the last of them. */
INLINE u32v load_near_u32v(const void *p, const int stride)
{
    u32v x;
    memcpy(&x, p, sizeof x);
    UNROLL
    for (int v = 1; v < stride; v++) {
        const int first = v == stride - 1 ? v * (LANES - 1) : v * LANES;
        i32v from = {0};
        UNROLL
        for (int l = 0; l < LANES; l++)
            from[l] = l * stride >= v * LANES ? l * stride - first + LANES : v == 1 ? l * stride : l;
        u32v y;
        memcpy(&y, (const char *)p + 4 * first, sizeof y);
        x = __builtin_shuffle(x, y, from);
    }
    return x;
}
#endif
//}

//{ load_lanes_u32v
/* One lane after the other. */
APART u32v load_lanes_u32v(const void *p, int64_t stride, int count)
{
#if EINC_SHUFFLES
    if (stride >= 2 && stride <= (LANES < 4 ? LANES : 4) && count == LANES)
        return stride == 2 ? load_near_u32v(p, 2) : stride == 3 ? load_near_u32v(p, 3) : load_near_u32v(p, 4);
#endif
    uint32_t lanes[LANES];
    u32v x;
    if (count == LANES) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 4 * stride * l, 4);
    } else {
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 4 * stride * (l < count ? l : 0), 4);
    }
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ store_lanes_u32v
/* One lane after the other. */
APART void store_lanes_u32v(void *p, int64_t stride, u32v x, int count)
{
    uint32_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 4 * stride * l, &lanes[l], 4);
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA

//{ load_u32v
INLINE u32v load_u32v(const void *p, int64_t stride, int count)
{
    u32v x;
    if (stride != 1 || count != LANES)
        return load_lanes_u32v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}
//}

//{ store_u32v
INLINE void store_u32v(void *p, int64_t stride, u32v x, int count)
{
    if (stride == 1 && count == LANES)
        memcpy(p, &x, sizeof x);
    else
        store_lanes_u32v(p, stride, x, count);
}
//}

#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ load_u32v@fma
INLINE u32v load_u32v(const void *p, int64_t stride, int count)
{
    u32v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    if (stride == 1) {
        boolv m = first_boolv(count);
        u32v zero = {0};
        uint32_t first;
        memcpy(&first, p, 4);
        __asm__("vpmaskmovd (%1), %2, %0" : "=x"(x) : "r"(p), "x"(m) : "memory");
        return select_u32v(m, x, first - zero);
    }
#endif
    return load_lanes_u32v(p, stride, count);
}
//}

//{ store_u32v@fma
INLINE void store_u32v(void *p, int64_t stride, u32v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    if (stride == 1) {
        boolv m = first_boolv(count);
        __asm__ volatile("vpmaskmovd %1, %2, (%0)" : : "r"(p), "x"(x), "x"(m) : "memory");
        return;
    }
#endif
    store_lanes_u32v(p, stride, x, count);
}
//}
#endif

#ifdef EINC_AVX512
//{ load_u32v@avx512
INLINE u32v load_u32v(const void *p, int64_t stride, int count)
{
    u32v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && LANES >= 4
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        u32v zero = {0};
        uint32_t first;
        memcpy(&first, p, 4);
        x = first | zero;
        __asm__("vmovdqu32 (%1), %0%{%2%}" : "+v"(x) : "r"(p), "Yk"(m) : "memory");
        return x;
    }
#endif
    return load_lanes_u32v(p, stride, count);
}
//}

//{ store_u32v@avx512
INLINE void store_u32v(void *p, int64_t stride, u32v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && LANES >= 4
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        __asm__ volatile("vmovdqu32 %1, (%0)%{%2%}" : : "r"(p), "v"(x), "Yk"(m) : "memory");
        return;
    }
#endif
    store_lanes_u32v(p, stride, x, count);
}
//}
#endif

//{ load_near_u64v
#if EINC_SHUFFLES
/* Elements few apart, out of as many whole vectors, the last of which ends with the last of them. */
INLINE u64v load_near_u64v(const void *p, const int stride)
{
    u64v x;
    memcpy(&x, p, sizeof x);
    UNROLL
    for (int v = 1; v < stride; v++) {
        const int first = v == stride - 1 ? v * (LANES - 1) : v * LANES;
        i64v from = {0};
        UNROLL
        for (int l = 0; l < LANES; l++)
            from[l] = l * stride >= v * LANES ? l * stride - first + LANES : v == 1 ? l * stride : l;
        u64v y;
        memcpy(&y, (const char *)p + 8 * first, sizeof y);
        x = __builtin_shuffle(x, y, from);
    }
    return x;
}
#endif
//}

//{ load_lanes_u64v
/* One lane after the other. */
APART u64v load_lanes_u64v(const void *p, int64_t stride, int count)
{
#if EINC_SHUFFLES
    if (stride >= 2 && stride <= (LANES < 4 ? LANES : 4) && count == LANES)
        return stride == 2 ? load_near_u64v(p, 2) : stride == 3 ? load_near_u64v(p, 3) : load_near_u64v(p, 4);
#endif
    uint64_t lanes[LANES];
    u64v x;
    if (count == LANES) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 8 * stride * l, 8);
    } else {
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 8 * stride * (l < count ? l : 0), 8);
    }
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ store_lanes_u64v
/* One lane after the other. */
APART void store_lanes_u64v(void *p, int64_t stride, u64v x, int count)
{
    uint64_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 8 * stride * l, &lanes[l], 8);
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA

//{ load_u64v
INLINE u64v load_u64v(const void *p, int64_t stride, int count)
{
    u64v x;
    if (stride != 1 || count != LANES)
        return load_lanes_u64v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}
//}

//{ store_u64v
INLINE void store_u64v(void *p, int64_t stride, u64v x, int count)
{
    if (stride == 1 && count == LANES)
        memcpy(p, &x, sizeof x);
    else
        store_lanes_u64v(p, stride, x, count);
}
//}

#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ load_u64v@fma
INLINE u64v load_u64v(const void *p, int64_t stride, int count)
{
    u64v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && LANES <= 4
    if (stride == 1) {
        i64v m = widen_boolv(first_boolv(count));
        u64v zero = {0};
        uint64_t first;
        memcpy(&first, p, 8);
        __asm__("vpmaskmovq (%1), %2, %0" : "=x"(x) : "r"(p), "x"(m) : "memory");
        return (u64v)choose_i64v(m, (i64v)x, (i64v)(first - zero));
    }
#endif
    return load_lanes_u64v(p, stride, count);
}
//}

//{ store_u64v@fma
INLINE void store_u64v(void *p, int64_t stride, u64v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && LANES <= 4
    if (stride == 1) {
        i64v m = widen_boolv(first_boolv(count));
        __asm__ volatile("vpmaskmovq %1, %2, (%0)" : : "r"(p), "x"(x), "x"(m) : "memory");
        return;
    }
#endif
    store_lanes_u64v(p, stride, x, count);
}
//}
#endif

#ifdef EINC_AVX512
//{ load_u64v@avx512
INLINE u64v load_u64v(const void *p, int64_t stride, int count)
{
    u64v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && LANES <= 8
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        u64v zero = {0};
        uint64_t first;
        memcpy(&first, p, 8);
        x = first | zero;
        __asm__("vmovdqu64 (%1), %0%{%2%}" : "+v"(x) : "r"(p), "Yk"(m) : "memory");
        return x;
    }
#endif
    return load_lanes_u64v(p, stride, count);
}
//}

//{ store_u64v@avx512
INLINE void store_u64v(void *p, int64_t stride, u64v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && LANES <= 8
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        __asm__ volatile("vmovdqu64 %1, (%0)%{%2%}" : : "r"(p), "v"(x), "Yk"(m) : "memory");
        return;
    }
#endif
    store_lanes_u64v(p, stride, x, count);
}
//}
#endif

#endif
