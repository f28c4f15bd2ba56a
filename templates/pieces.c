/* Storing vectors whose lanes lie in two runs of memory: of columns of several indices, where an inner one begins anew in
 * a vector's middle. */
#ifndef TEMPLATES_PIECES
#define TEMPLATES_PIECES

#include "words.c"

//{ Piece
/* Where the lanes of a vector lie: those before `here` side by side at `first`, others before `end` at `rest`. */
typedef struct Piece {
    int64_t first, rest;
    int here, end;
} Piece;
//}

//{ is_of_line
/* Whether the columns' vector at a place, whose numbers have so many bytes, goes where it is whole lines or, with those beside it,
 * one line. Behind the last column is nothing; there lines end. */
INLINE int is_of_line(const Piece *piece, int64_t place, int bytes)
{
    const int is_first = place * bytes % 64 == 0;    /* of a line's vectors */
    if (piece->end == 0)
        return is_first || piece[-1].end == 0;
    return piece->here == LANES && (is_first ? piece->first * bytes % 64 == 0 : piece->first == piece[-1].first + LANES);
}
//}

//{ store_rest_lanes_u32v
/* One lane after the other. */
APART void store_rest_lanes_u32v(void *p, u32v x, int first, int end)
{
    uint32_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = first; l < end; l++)
        memcpy((char *)p + 4 * (l - first), &lanes[l], 4);
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ store_rest_u32v
/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u32v(void *p, u32v x, int first, int end)
{
    store_rest_lanes_u32v(p, x, first, end);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ store_rest_u32v@fma
/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u32v(void *p, u32v x, int first, int end)
{
#if EINC_VECTORS && (LANES == 4 || LANES == 8)
    const i32v m = first_boolv(end) & ~first_boolv(first);
    __asm__ volatile("vpmaskmovd %1, %2, (%0)" : : "r"((uintptr_t)p - 4 * (uintptr_t)first), "x"(x), "x"(m) : "memory");
#else
    store_rest_lanes_u32v(p, x, first, end);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ store_rest_u32v@avx512
/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u32v(void *p, u32v x, int first, int end)
{
#if EINC_VECTORS && LANES >= 4
    const uint16_t m = (uint16_t)((1u << end) - (1u << first));
    __asm__ volatile("vmovdqu32 %1, (%0)%{%2%}" : : "r"((uintptr_t)p - 4 * (uintptr_t)first), "v"(x), "Yk"(m) : "memory");
#else
    store_rest_lanes_u32v(p, x, first, end);
#endif
}
//}
#endif

//{ store_piece_u32v
INLINE void store_piece_u32v(void *to, const Piece *piece, u32v x)
{
    store_u32v((char *)to + 4 * piece->first, 1, x, piece->here);
    if (piece->here < piece->end)
        store_rest_u32v((char *)to + 4 * piece->rest, x, piece->here, piece->end);
}
//}

//{ store_rest_lanes_u64v
/* One lane after the other. */
APART void store_rest_lanes_u64v(void *p, u64v x, int first, int end)
{
    uint64_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = first; l < end; l++)
        memcpy((char *)p + 8 * (l - first), &lanes[l], 8);
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ store_rest_u64v
/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u64v(void *p, u64v x, int first, int end)
{
    store_rest_lanes_u64v(p, x, first, end);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ store_rest_u64v@fma
/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u64v(void *p, u64v x, int first, int end)
{
#if EINC_VECTORS && LANES <= 4
    const i64v m = widen_boolv(first_boolv(end) & ~first_boolv(first));
    __asm__ volatile("vpmaskmovq %1, %2, (%0)" : : "r"((uintptr_t)p - 8 * (uintptr_t)first), "x"(x), "x"(m) : "memory");
#else
    store_rest_lanes_u64v(p, x, first, end);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ store_rest_u64v@avx512
/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u64v(void *p, u64v x, int first, int end)
{
#if EINC_VECTORS && LANES <= 8
    const uint16_t m = (uint16_t)((1u << end) - (1u << first));
    __asm__ volatile("vmovdqu64 %1, (%0)%{%2%}" : : "r"((uintptr_t)p - 8 * (uintptr_t)first), "v"(x), "Yk"(m) : "memory");
#else
    store_rest_lanes_u64v(p, x, first, end);
#endif
}
//}
#endif

//{ store_piece_u64v
INLINE void store_piece_u64v(void *to, const Piece *piece, u64v x)
{
    store_u64v((char *)to + 8 * piece->first, 1, x, piece->here);
    if (piece->here < piece->end)
        store_rest_u64v((char *)to + 8 * piece->rest, x, piece->here, piece->end);
}
//}

//{ store_piece_f32v
INLINE void store_piece_f32v(f32u *to, const Piece *piece, f32v x)
{
    store_piece_u32v(to, piece, bits_f32v(x));
}
//}

//{ store_piece_f64v
INLINE void store_piece_f64v(f64u *to, const Piece *piece, f64v x)
{
    store_piece_u64v(to, piece, bits_f64v(x));
}
//}

//{ store_piece_i32v
INLINE void store_piece_i32v(i32u *to, const Piece *piece, i32v x)
{
    store_piece_u32v(to, piece, (u32v)x);
}
//}

//{ store_piece_i64v
INLINE void store_piece_i64v(i64u *to, const Piece *piece, i64v x)
{
    store_piece_u64v(to, piece, (u64v)x);
}
//}

#ifndef EINC_AVX512
//{ join_halves
/* Puts half a vector of a and half of b into x: the lower one, or the upper one where a_high or b_high is 1. */
INLINE void join_halves(void *x, const void *a, const int a_high, const void *b, const int b_high, const size_t half)
{
    memcpy(x, (const char *)a + half * a_high, half);
    memcpy((char *)x + half, (const char *)b + half * b_high, half);
}
//}
#endif

#ifdef EINC_AVX512
//{ join_halves@avx512
/* Puts half a vector of a and half of b into x: the lower one, or the upper one where a_high or b_high is 1. */
INLINE void join_halves(void *x, const void *a, const int a_high, const void *b, const int b_high, const size_t half)
{
#if EINC_SHUFFLES
    typedef int64_t Line __attribute__((vector_size(64)));
    if (half == sizeof(Line) / 2) {
        const int64_t p = 4 * a_high, q = 8 + 4 * b_high;
        const Line from = { p, p + 1, p + 2, p + 3, q, q + 1, q + 2, q + 3 };
        Line low, high;
        memcpy(&low, a, sizeof low);
        memcpy(&high, b, sizeof high);
        low = __builtin_shuffle(low, high, from);
        memcpy(x, &low, sizeof low);
        return;
    }
#endif
    memcpy(x, (const char *)a + half * a_high, half);
    memcpy((char *)x + half, (const char *)b + half * b_high, half);
}
//}
#endif

//{ join_f32v
INLINE f32v join_f32v(f32v a, const int a_high, f32v b, const int b_high)
{
    f32v x = a;
    join_halves(&x, &a, a_high, &b, b_high, sizeof x / 2);
    return x;
}
//}

//{ join_f64v
INLINE f64v join_f64v(f64v a, const int a_high, f64v b, const int b_high)
{
    f64v x = a;
    join_halves(&x, &a, a_high, &b, b_high, sizeof x / 2);
    return x;
}
//}

//{ join_i32v
INLINE i32v join_i32v(i32v a, const int a_high, i32v b, const int b_high)
{
    i32v x = a;
    join_halves(&x, &a, a_high, &b, b_high, sizeof x / 2);
    return x;
}
//}

//{ join_i64v
INLINE i64v join_i64v(i64v a, const int a_high, i64v b, const int b_high)
{
    i64v x = a;
    join_halves(&x, &a, a_high, &b, b_high, sizeof x / 2);
    return x;
}
//}

#endif
