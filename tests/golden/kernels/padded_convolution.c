/* einc compile 'where(@h+@r >= 1 && @h+@r <= 56 && @w+@s >= 1 && @w+@s <= 56, x[n,c,h+r-1,w+s-1], 0), k[o,c,r,s] -> [n,o,h,w]' -o padded_convolution.c -d n=1,c=64,h=56,w=56,o=64,r=3,s=3 --target avx512
 *
 *     where(@h + @r >= 1 && @h + @r <= 56 && @w + @s >= 1 && @w + @s <= 56, x[n,c,h+r-1,w+s-1], 0), k[o,c,r,s] -> nohw
 *
 * target avx512, 16 lanes
 * launch 1: block of o: tile_1_1 = min(64, o), block of n: 1, block of h: tile_1_3 = min(4, h),
 *         block of w: tile_1_4 = min(56, w)
 *   step 1: store out[n,o,h,w] = sum[r,s,c](where(((((@h + @r) >= 1) && ((@h + @r) <= 56)) && ((@w + @s) >= 1))
 *           && ((@w + @s) <= 56), x[n,c,h+r-1,w+s-1], 0) * k[o,c,r,s])
 *     tiles of 14 x 32: rows w, columns o, contracted c r s, rows in a window
 *     loops n h w o, 16 lanes along o
 * workspace workers * (align(align(tile_1_1, 32) * c * r * s * 4, 64) + align(c * r * s * 8, 64)
 *         + align(c * (tile_1_3 + r) * (tile_1_4 + s) * 4, 64)
 *         + align(min(1, c * r * s / 1025) * align(tile_1_1, 32) * 448, 64) + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef PADDED_CONVOLUTION_H
#define PADDED_CONVOLUTION_H
#ifdef __cplusplus
extern "C" {
#endif

#ifndef EINC_HOST
#define EINC_HOST
/* Whose threads and messages. Every member may be 0, and so may the pointer to it. parallel_for runs
 * task(argument, index, worker) once for every 0 <= index < tasks, in any order, at once on up to `workers` threads,
 * 0 <= worker < workers, no two calls with the same worker at once; it returns 0, or a number that the kernel gives back. */
typedef struct einc_host {
    void *(*alloc)(void *user, size_t bytes, size_t align);
    void (*free)(void *user, void *memory);
    int (*parallel_for)(void *user, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument);
    int workers;
    int (*cancelled)(void *user);
    void (*error)(void *user, int code, const char *message);
    void *user;
} einc_host;
#endif

/* Strides count elements, and may be 0 or negative; data need not be aligned. An array of rank 0 has no shape.
 * Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct padded_convolution_args {
    struct {    /* input x, f32 */
        const float *data;
        int64_t shape[4], stride[4];
    } x;
    struct {    /* input k, f32 */
        const float *data;
        int64_t shape[4], stride[4];
    } k;
    struct {    /* output, f32[n,o,h,w] */
        float *data;
        int64_t shape[4], stride[4];
    } out;
    int64_t given_h;    /* the extent of index h, which no operand fixes */
    int64_t given_w;    /* the extent of index w, which no operand fixes */
} padded_convolution_args;

/* The bytes of workspace that padded_convolution() wants for these shapes and so many workers. 0, or why not. */
int padded_convolution_workspace(const padded_convolution_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int padded_convolution(const padded_convolution_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#else
#define KERNEL
#endif

#include <math.h>

/* Whether vectors are GNU vectors; without them LANES is 1 and each vector type is its element. They only pass between
 * functions that are inlined, so that the ABI is no concern. */
#if defined(__GNUC__) && !defined(EINC_SCALAR)
#define EINC_VECTORS 1
#pragma GCC diagnostic ignored "-Wpsabi"
#else
#define EINC_VECTORS 0
#endif

/* Helpers are inlined; all functions are for the same instruction set. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#else
#define INLINE static inline
#endif

/* Of what is long and seldom in a hurry one copy keeps the compile short. */
#if defined(__GNUC__) && !defined(__clang__)
#define APART static __attribute__((noinline, noclone, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#else
#define APART static
#endif

#if EINC_VECTORS
#define LANES 16
#else
#define LANES 1
#endif

/* A vector of elements of 8 bytes may take several registers, and is aligned as one of them. */
#define LONG __attribute__((vector_size(8 * LANES), aligned(64), may_alias))

/* The numbers of one vector in the element type of another. */
#if EINC_VECTORS
#define CONVERT(x, type) __builtin_convertvector(x, type)
#else
#define CONVERT(x, type) ((type)(x))
#endif

/* Whether __builtin_shuffle is there; clang needs loops for it to see through. */
#if EINC_VECTORS && !defined(__clang__)
#define EINC_SHUFFLES 1
#else
#define EINC_SHUFFLES 0
#endif

/* Before a loop over lanes that is to become a handful of shuffles, or over a tile's sums, which are to be registers. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 16")
#elif EINC_VECTORS
#define UNROLL _Pragma("clang loop unroll(full)")
#pragma clang diagnostic ignored "-Wpass-failed"    /* of those whose turns are not known, which stay loops */
#else
#define UNROLL
#endif

/* clang is told only of loops that become as many copies as they have turns: it keeps the sums of others in memory. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define UNROLL_TWICE
#endif

/* Asks for the cache line at p, which need not be one that may be read. */
#ifdef __GNUC__
#define PREFETCH(p) __builtin_prefetch((p), 0, 3)
#else
#define PREFETCH(p) ((void)(p))
#endif

/* The same into the second cache, for what is read later than the first would keep it. */
#ifdef __GNUC__
#define PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)
#else
#define PREFETCH_FAR(p) ((void)(p))
#endif

/* A vector stays in its register: gcc would load it again for each use, and loads are scarcer than copies. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOLD(x) __asm__("" : "+v"(x))
#else
#define HOLD(x) ((void)0)
#endif

/* Steps from row to row that might have become others: so the compiler multiplies them in addresses, where it costs
 * nothing, and not before, where more products than there are registers would wait in memory. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HOLD_STEPS(one, three, five) __asm__("" : "+r"(one), "+r"(three), "+r"(five))
#else
#define HOLD_STEPS(one, three, five) ((void)0)
#endif

/* At the beginning of a function whose a * b + c is to be one instruction where the machine has it. */
#ifdef __clang__
#define CONTRACT _Pragma("clang fp contract(fast)")
#else
#define CONTRACT
#endif

#if EINC_VECTORS
typedef float f32v __attribute__((vector_size(4 * LANES)));
#else
typedef float f32v;
#endif

#if EINC_VECTORS
typedef int32_t i32v __attribute__((vector_size(4 * LANES)));
#else
typedef int32_t i32v;
#endif

#if EINC_VECTORS
typedef int64_t i64v LONG;
#else
typedef int64_t i64v;
#endif

#if EINC_VECTORS
typedef uint32_t u32v __attribute__((vector_size(4 * LANES)));
#else
typedef uint32_t u32v;
#endif

/* A truth per lane: 0 or -1 in a vector, 0 or 1 in a scalar. */
typedef i32v boolv;

#ifdef __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif

typedef uint32_t u32u UNALIGNED;

typedef float f32u UNALIGNED;

INLINE f32v splat_f32v(float x)
{
#if EINC_VECTORS
    f32v zero = {0};
    return x - zero;    /* which keeps -0 */
#else
    return x;
#endif
}

INLINE i64v splat_i64v(int64_t x)
{
#if EINC_VECTORS
    i64v zero = {0};
    return x | zero;
#else
    return x;
#endif
}

INLINE boolv splat_boolv(int x)
{
#if EINC_VECTORS
    boolv zero = {0};
    return -(x != 0) | zero;
#else
    return x != 0;
#endif
}

INLINE u32v bits_f32v(f32v x)
{
    u32v bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE f32v from_bits_f32v(u32v bits)
{
    f32v x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE int64_t lane_i64v(i64v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}

/* 0 or 1. */
INLINE int lane_boolv(boolv m, int l)
{
#if EINC_VECTORS
    return m[l] & 1;
#else
    (void)l;
    return m;
#endif
}

/* 0, 1, 2, ... */
INLINE i32v lanes_i32v(void)
{
    static const int32_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i32v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}

/* 0, 1, 2, ... */
INLINE i64v lanes_i64v(void)
{
    static const int64_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i64v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}

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

/* The first `count` lanes. */
INLINE boolv first_boolv(int count)
{
    return lanes_i32v() < count;
}

INLINE boolv and_boolv(boolv a, boolv b)
{
    return a & b;
}

INLINE boolv not_boolv(boolv m)
{
#if EINC_VECTORS
    return ~m;
#else
    return !m;
#endif
}

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

/* Whether every lane is true. */
INLINE int all_boolv(boolv m)
{
    return !any_boolv(not_boolv(m));
}

INLINE u32v select_u32v(boolv m, u32v a, u32v b)
{
#if EINC_VECTORS
    return ((u32v)m & a) ^ (~(u32v)m & b);
#else
    return m ? a : b;
#endif
}

INLINE f32v select_f32v(boolv m, f32v a, f32v b)
{
#if EINC_VECTORS
    return (f32v)((m & (i32v)a) ^ (~m & (i32v)b));
#else
    return m ? a : b;
#endif
}

/* select_i64v by what a comparison of f64v or i64v gives. */
INLINE i64v choose_i64v(i64v m, i64v a, i64v b)
{
#if EINC_VECTORS
    return (m & a) ^ (~m & b);
#else
    return m ? a : b;
#endif
}

INLINE i64v select_i64v(boolv m, i64v a, i64v b)
{
    return choose_i64v(widen_boolv(m), a, b);
}

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

/* One lane after the other. */
APART void store_lanes_u32v(void *p, int64_t stride, u32v x, int count)
{
    uint32_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 4 * stride * l, &lanes[l], 4);
}

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

/* The r-th row from `first` on, 0 <= r < 8. One row is `one` bytes further, three and five rows are `three` and `five`:
 * an address is made of one of these, twice or four times, as machines add them for nothing. */
INLINE const char *row_address(const char *first, int64_t one, int64_t three, int64_t five, int r)
{
    return first + (r % 3 == 0 ? three * (r / 3) : r == 5 ? five : r == 7 ? three + one * 4 : one * r);
}

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
}

INLINE void store_f32v(f32u *p, int64_t stride, f32v x, int count)
{
    store_u32v(p, stride, bits_f32v(x), count);
}

/* p[offset] of each lane, as a vector is written. */
#define AT_2(p, offset, l) (p)[lane_i64v(offset, l)], (p)[lane_i64v(offset, (l) + 1)]
#define AT_4(p, offset, l) AT_2(p, offset, l), AT_2(p, offset, (l) + 2)
#define AT_8(p, offset, l) AT_4(p, offset, l), AT_4(p, offset, (l) + 4)
#if LANES == 16
#define AT_OFFSETS(p, offset) AT_8(p, offset, 0), AT_8(p, offset, 8)
#elif LANES == 8
#define AT_OFFSETS(p, offset) AT_8(p, offset, 0)
#elif LANES == 4
#define AT_OFFSETS(p, offset) AT_4(p, offset, 0)
#elif LANES == 2
#define AT_OFFSETS(p, offset) AT_2(p, offset, 0)
#else
#define AT_OFFSETS(p, offset) (p)[lane_i64v(offset, 0)]
#endif

/* Where lanes are not active, what the first one that is has: so all can be read from, and no lane waits for a branch. */
INLINE i64v fill_i64v(i64v x, boolv active)
{
    int l = 0;
    while (!lane_boolv(active, l))
        l++;
    return select_i64v(active, x, splat_i64v(lane_i64v(x, l)));
}

/* gather_u32v where some lanes are not active. */
APART u32v gather_some_u32v(const void *p, i64v offset, boolv active)
{
    const u32v none = {0};
    if (!any_boolv(active))
        return none;
    const i64v from = fill_i64v(offset, active);
    const u32v all = { AT_OFFSETS((const u32u *)p, from) };
    return select_u32v(active, all, none);
}

/* p[offset] in the active lanes. */
INLINE u32v gather_u32v(const void *p, i64v offset, boolv active)
{
    if (!all_boolv(active))
        return gather_some_u32v(p, offset, active);
    const u32v all = { AT_OFFSETS((const u32u *)p, offset) };
    return all;
}

/* p[0], p[stride], ... in the active lanes. */
INLINE u32v pick_u32v(const void *p, int64_t stride, boolv active)
{
#if EINC_VECTORS && LANES >= 4
    if (stride == 1) {
        u32v x;
        uint16_t m;
        __asm__("vptestmd %3, %3, %1\n\tvmovdqu32 (%2), %0%{%1%}%{z%}" : "=v"(x), "=&Yk"(m) : "r"(p), "v"(active) : "memory");
        return x;
    }
#endif
    return all_boolv(active) ? load_u32v(p, stride, LANES) : gather_u32v(p, lanes_i64v() * stride, active);
}

INLINE f32v pick_f32v(const f32u *p, int64_t stride, boolv active)
{
    return from_bits_f32v(pick_u32v(p, stride, active));
}

/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE f32v flip_f32v(f32v x, int n)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, lanes_i32v() ^ n);
#else
    float lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
#endif
}

/* In each square of 2n by 2n the two n by n corners off the diagonal change places. */
INLINE void exchange_f32v(f32v *x, int n)
{
#if EINC_SHUFFLES
    const i32v lane = lanes_i32v(), from = lane + (((lane & n) != 0) & (LANES - n));    /* lanes of two vectors */
#else
    const boolv upper = (lanes_i32v() & n) != 0;
#endif
    UNROLL
    for (int pair = 0; pair < LANES / 2; pair++) {
        const int i = pair / n * 2 * n + pair % n;
        const f32v a = x[i], b = x[i + n];
#if EINC_SHUFFLES
        x[i] = __builtin_shuffle(a, b, from);
        x[i + n] = __builtin_shuffle(a, b, from + n);
#else
        x[i] = select_f32v(upper, flip_f32v(b, n), a);
        x[i + n] = select_f32v(upper, b, flip_f32v(a, n));
#endif
    }
}

/* Lane j of x[i] becomes lane i of x[j]. */
APART void transpose_f32v(f32v *x)
{
    if (LANES > 1)
        exchange_f32v(x, 1);
    if (LANES > 2)
        exchange_f32v(x, 2);
    if (LANES > 4)
        exchange_f32v(x, 4);
    if (LANES > 8)
        exchange_f32v(x, 8);
}

/* What turn_f32() does, for less than whole squares: short rows, or columns, one at a time, as are those whose elements
 * are few apart. */
APART void turn_part_f32(f32u *to, int64_t to_column, int64_t to_row, const f32u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns)
{
    f32v x[LANES];
    if (4 * columns <= LANES || (from_row >= 2 && from_row <= 4 && rows == LANES)) {
        for (int c = 0; c < columns; c++)
            store_f32v(to + c * to_column, to_row, load_f32v(from + c * from_column, from_row, rows), rows);
        return;
    }
    if (4 * rows <= LANES) {
        for (int r = 0; r < rows; r++)
            store_f32v(to + r * to_row, to_column, load_f32v(from + r * from_row, from_column, columns), columns);
        return;
    }
    for (int r = 0; r < LANES; r++)
        x[r] = load_f32v(from + (r < rows ? r : 0) * from_row, from_column, columns);
    transpose_f32v(x);
    for (int c = 0; c < columns; c++)
        store_f32v(to + c * to_column, to_row, x[c], rows);
}

/* to[c * to_column + r * to_row] = from[r * from_row + c * from_column], for so many rows and columns, at most LANES. What
 * is `soon`, so many lines `line` apart, is asked for: the next squares, which are no stream that the machine sees. */
APART void turn_f32(f32u *to, int64_t to_column, int64_t to_row, const f32u *from, int64_t from_row, int64_t from_column,
                    int rows, int columns, const f32u *soon, int64_t line)
{
    f32v x[LANES];
    for (int r = 0; r < LANES; r++)
        PREFETCH_FAR(soon + r * line);
    if (rows < LANES || columns < LANES || from_column != 1 || to_row != 1) {
        turn_part_f32(to, to_column, to_row, from, from_row, from_column, rows, columns);
        return;
    }
    UNROLL
    for (int r = 0; r < LANES; r++)
        x[r] = load_f32v(from + r * from_row, 1, LANES);
    if (LANES > 1)
        exchange_f32v(x, 1);
    if (LANES > 2)
        exchange_f32v(x, 2);
    if (LANES > 4)
        exchange_f32v(x, 4);
    if (LANES > 8)
        exchange_f32v(x, 8);
    UNROLL
    for (int c = 0; c < LANES; c++)
        store_f32v(to + c * to_column, 1, x[c], LANES);
}

/* Helpers that run once a call are for any machine, whatever the kernel's instruction set. */
#ifdef __GNUC__
#define PLAIN static inline __attribute__((unused))
#else
#define PLAIN static inline
#endif

/* What a formula has dozens of: one copy keeps the compile short. */
#ifdef __GNUC__
#define SHARED static __attribute__((noinline, unused))
#else
#define SHARED static
#endif

#define SIZE_TOO_LARGE INT64_MAX

PLAIN int64_t size_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

PLAIN int64_t size_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

SHARED int64_t size_add(int64_t a, int64_t b)
{
    return a > SIZE_TOO_LARGE - b ? SIZE_TOO_LARGE : a + b;
}

SHARED int64_t size_mul(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b && a > SIZE_TOO_LARGE / b ? SIZE_TOO_LARGE : a * b;
}

SHARED int64_t size_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b : a;
}

SHARED int64_t size_ceil_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b + (a % b != 0) : a;
}

/* So much of what is left that it makes as few shares of at most `most` as can be, all nearly equal. */
PLAIN int64_t size_even(int64_t left, int64_t most)
{
    return left <= most ? left : size_ceil_div(left, size_ceil_div(left, most));
}

/* Up to a multiple of the unit. */
SHARED int64_t size_align(int64_t a, int64_t unit)
{
    return a > SIZE_TOO_LARGE - unit ? SIZE_TOO_LARGE : (a + unit - 1) / unit * unit;
}

/* How many points there are from the first row's first to the last row's last one, where rows are row_apart and a row's points
 * point_apart. */
PLAIN int64_t size_span(int64_t rows, int64_t row_apart, int64_t points, int64_t point_apart)
{
    return rows > 0 && points > 0 ? (rows - 1) * row_apart + (points - 1) * point_apart + 1 : 0;
}

/* How many of `left` rows come next, of at most `most`, which are whole tiles: those, but so that no tile that is lower
 * than half of one is left behind them. */
PLAIN int64_t size_next(int64_t left, int64_t most, int64_t tile)
{
    return left <= most ? left : left - most >= tile / 2 ? most : most - tile / 2;
}

/* Whether a shape is one; axes of size 1 get stride 0, so that they stretch. */
PLAIN int settle(const int64_t *shape, int64_t *stride, int rank)
{
    for (int a = 0; a < rank; a++) {
        if (shape[a] < 0)
            return 0;
        if (shape[a] == 1)
            stride[a] = 0;
    }
    return 1;
}

PLAIN int is_shape(const int64_t *shape, int rank)
{
    for (int a = 0; a < rank; a++)
        if (shape[a] < 0)
            return 0;
    return 1;
}

/* The common size of two axes, where 1 gives way; -1 when they disagree. */
PLAIN int64_t meet(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}

PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}

/* How many of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
static inline int lanes_before(int64_t first, int64_t bound)
{
    return first >= bound ? 0 : (uint64_t)bound - (uint64_t)first < LANES ? (int)(bound - first) : LANES;
}

/* Which of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
INLINE boolv are_before(int64_t first, int64_t bound)
{
    return first_boolv(lanes_before(first, bound));
}

/* Which of them are not more. */
INLINE boolv are_up_to(int64_t first, int64_t bound)
{
    return first_boolv(first > bound ? 0 : lanes_before(first, bound) + 1);
}

/* Which of them are in range. */
INLINE boolv are_inside(int64_t first, int64_t extent)
{
    return and_boolv(not_boolv(are_before(first, 0)), are_before(first, extent));
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    padded_convolution_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_h;
    int64_t extent_r;
    int64_t extent_w;
    int64_t extent_s;
    int64_t extent_n;
    int64_t extent_c;
    int64_t extent_o;
    int64_t tile_1_1;
    int64_t tile_1_3;
    int64_t tile_1_4;
    int64_t units_1;
    int64_t at_spots_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_panels_of_1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int64_t shared;
    char *workspace;
    const einc_host *host;
    int *status;
} Frame;

/* The first failure counts. Tasks run on several threads, so the status is read and written whole. */
#ifdef __GNUC__
#define STATUS(f) __atomic_load_n((f)->status, __ATOMIC_RELAXED)
#define FAIL(f, code) __atomic_store_n((f)->status, (code), __ATOMIC_RELAXED)
#else
#define STATUS(f) (*(volatile int *)(f)->status)
#define FAIL(f, code) (*(volatile int *)(f)->status = (code))
#endif

static int is_stopped(const Frame *f)
{
    if (STATUS(f) == 0 && f->host && f->host->cancelled && f->host->cancelled(f->host->user))
        FAIL(f, CANCELLED);
    return STATUS(f) != 0;
}

/* out[n,o,h,w] = sum[r,s,c](where(((((@h + @r) >= 1) && ((@h + @r) <= 56)) && ((@w + @s) >= 1)) && ((@w + @s) <= 56), x[n,c,h+r-1,w+s-1], 0) * k[o,c,r,s]) */
enum { ROWS_1 = 14, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 163840, BLOCK_1 = 8 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t o, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t extent_r = f->extent_r, extent_s = f->extent_s;
    const f32u *k = (const f32u *)f->in.k.data;
    const int64_t k_0 = f->in.k.stride[0], k_1 = f->in.k.stride[1];
    const int64_t k_2 = f->in.k.stride[2], k_3 = f->in.k.stride[3];
    float *panels_1 = (float *)own;
    for (int v = 0; v * LANES < count; v++) {
        float *to = panels_1 + place * depth + from_point * extent_r * extent_s * COLUMNS_1 + v * LANES;
        if (k_2 == k_3 * extent_s && k_1 == k_2 * extent_r) {
            for (int64_t flat = from_point * extent_r * extent_s; flat < to_point * extent_r * extent_s; flat
                    += LANES) {
                const int lanes = (int)size_min(LANES, to_point * extent_r * extent_s - flat);
                const f32u *from = k + (o + v * LANES) * k_0 + flat * k_3;
                turn_f32(to, COLUMNS_1, 1, from, k_0, k_3, (int)size_min(LANES, count - v * LANES), lanes, from
                        + LANES * (k_0), k_0);
                to += lanes * COLUMNS_1;
            }
        } else {
            for (int64_t c_2 = from_point; c_2 < to_point; c_2++) {
                for (int64_t r_2 = 0; r_2 < extent_r; r_2++) {
                    for (int64_t s_2 = 0; s_2 < extent_s; s_2 += LANES) {
                        const int lanes = (int)size_min(LANES, extent_s - s_2);
                        const f32u *from = k + (o + v * LANES) * k_0 + c_2 * k_1 + r_2 * k_2 + s_2 * k_3;
                        turn_f32(to, COLUMNS_1, 1, from, k_0, k_3, (int)size_min(LANES, count - v * LANES), lanes,
                                from + LANES * (k_0), k_0);
                        to += lanes * COLUMNS_1;
                    }
                }
            }
        }
    }
}

/* Packs all rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t n_first, int64_t n_end, int64_t h_first,
        int64_t h_end, int64_t w_first, int64_t w_end, int64_t depth)
{
    const int64_t extent_r = f->extent_r, extent_s = f->extent_s;
    const int64_t extent_c = f->extent_c, at_packed_1 = f->at_packed_1;
    const f32u *x = (const f32u *)f->in.x.data;
    const int64_t x_0 = f->in.x.stride[0], x_1 = f->in.x.stride[1];
    const int64_t x_2 = f->in.x.stride[2], x_3 = f->in.x.stride[3];
    float *packed_1 = (float *)(own + at_packed_1);
    const int64_t n_span = n_end - n_first;
    const int64_t c_2_span = extent_c;
    const int64_t h_span = size_span(h_end - h_first, 1, extent_r, 1);
    const int64_t w_span = size_span(w_end - w_first, 1, extent_s, 1);
    for (int64_t h = h_first; h < h_first + h_span; h++) {
        const int value = (h >= 1) && (h <= 56);
        for (int64_t w = w_first; w < w_first + w_span; w += LANES) {
            const int lanes = (int)size_min(LANES, w_first + w_span - w);
            const boolv value_2 = and_boolv(and_boolv(splat_boolv(value), not_boolv(are_before(w, 1))),
                    are_up_to(w, 56));
            const boolv where = and_boolv(first_boolv(lanes), value_2);
            const boolv may = and_boolv(where, and_boolv(are_inside(w - 1, f->in.x.shape[3]),
                    splat_boolv(is_inside(h - 1, f->in.x.shape[2]))));
            if (depth > 0 && any_boolv(and_boolv(where, not_boolv(may))))
                FAIL(f, OUT_OF_RANGE - 23);
            const int some = any_boolv(may);
            if (x_3 == 1) {
                for (int64_t n = n_first; n < n_first + n_span; n++) {
                    for (int64_t c_2 = 0; c_2 < c_2_span; c_2++) {
                        const f32v value_3 = some ? pick_f32v(x + n * x_0 + c_2 * x_1 + (h - 1) * x_2 + (w - 1) * x_3,
                                1, may) : splat_f32v(0.0f);
                        store_f32v(packed_1 + (((n - n_first) * c_2_span + c_2) * h_span + (h - h_first)) * w_span
                                + (w - w_first), 1, value_3, lanes);
                    }
                }
            } else {
                for (int64_t n = n_first; n < n_first + n_span; n++) {
                    for (int64_t c_2 = 0; c_2 < c_2_span; c_2++) {
                        const f32v value_4 = some ? pick_f32v(x + n * x_0 + c_2 * x_1 + (h - 1) * x_2 + (w - 1) * x_3,
                                x_3, may) : splat_f32v(0.0f);
                        store_f32v(packed_1 + (((n - n_first) * c_2_span + c_2) * h_span + (h - h_first)) * w_span
                                + (w - w_first), 1, value_4, lanes);
                    }
                }
            }
        }
    }
}

/* What a tile's sums start from: `start`, where a row's are start_step further than the row's before; with NULL they
 * begin. The sums of rows that a tile has not start, too, and stay so: there are starts for them. */
INLINE void begin_1(const f32u *start, int64_t start_step, f32v sums[ROWS_1][VECTORS_1])
{
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            sums[r][v] = splat_f32v(0.0f);
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_1; v++)
                sums[r][v] = load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
}

/* Adds the products of `height` rows and one panel to the sums. A row's points are k_step apart, rows row_step. What is
 * needed next comes nearer meanwhile: `ahead`, so many bytes for each point. Loops over rows are unrolled, so that sums
 * have registers, and left early where a tile is low; a whole one's `height` is a constant, so that it goes without
 * comparisons. Two points at a turn make turns few enough for their end to be foreseen. */
/* Where a row has its points `spots` tells. */
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, const int64_t *spots, const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    UNROLL_TWICE
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
        low = (const char *)(rows + spots[k]);
        high = low + 7 * apart;
        HOLD_STEPS(one, three, five);
        PREFETCH(ahead);
        ahead += ahead_step;
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            right[v] = load_f32v(panel + v * LANES, 1, LANES);
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = splat_f32v(*at);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                sums[r][v] = fma_f32v(left, right[v], sums[r][v]);
            }
        }
        panel += COLUMNS_1;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_1(int height, const f32u *rows, int64_t row_step, const int64_t *spots, const float *panel,
        int64_t depth, const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, row_step, spots, panel, depth, ahead, ahead_step, sums);
    else
        multiply_1(height, rows, row_step, spots, panel, depth, ahead, ahead_step, sums);
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        if (r >= height)
            continue;
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}

/* What becomes of a tile's sums. */
KERNEL static void after_1(const Frame *f, int64_t n, int64_t h, int64_t w, int64_t o, int count, int height,
        const float *kept)
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2], out_3 = f->in.out.stride[3];
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        for (int from = 0; from < height; from += LANES) {
            const int rows = (int)size_min(LANES, height - from);
            f32v square[LANES];
            for (int s = 0; s < LANES; s++) {
            const int r = from + (s < rows ? s : 0);
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + v * LANES, 1, lanes);
            square[s] = sum;
            }
            transpose_f32v(square);
            for (int c = 0; c < lanes; c++) {
            const int64_t w_rows = w + from, o_at = o + v * LANES + c;
            store_f32v(out + n * out_0 + o_at * out_1 + h * out_2 + w_rows * out_3, out_3, square[c], rows);
            }
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t n_first, int64_t n_end, int64_t o_first, int64_t o_end,
        int64_t h_first, int64_t h_end, int64_t w_first, int64_t w_end)
{
    const int64_t extent_r = f->extent_r, extent_s = f->extent_s;
    const int64_t extent_c = f->extent_c, at_spots_1 = f->at_spots_1;
    const int64_t at_packed_1 = f->at_packed_1, at_kept_1 = f->at_kept_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2], out_3 = f->in.out.stride[3];
    float *panels_1 = (float *)own;
    int64_t *spots_1 = (int64_t *)(own + at_spots_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    const int64_t depth = extent_c * extent_r * extent_s;
    const int64_t columns = o_end - o_first, places = size_align(columns, COLUMNS_1);
    float tile[ROWS_1 * COLUMNS_1];
    const int64_t columns_at = o_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_c; from_point += 256) {
            const int64_t to_point = size_min(from_point + 256, extent_c);
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t o = o_first + place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                pack_columns_1(f, own, o, depth, place, from_point, to_point, count);
            }
        }
        *panels_of_1 = columns_at;
    }
    const int64_t c_2_span = extent_c;
    const int64_t h_span = size_span(h_end - h_first, 1, extent_r, 1);
    const int64_t w_span = size_span(w_end - w_first, 1, extent_s, 1);
    pack_rows_1(f, own, n_first, n_end, h_first, h_end, w_first, w_end, depth);
    int64_t *spot = spots_1;    /* where a row has each contracted point, from its first one on */
    for (int64_t c_2 = 0; c_2 < extent_c; c_2++)
        for (int64_t r_2 = 0; r_2 < extent_r; r_2++)
            for (int64_t s_2 = 0; s_2 < extent_s; s_2++)
                *spot++ = c_2 * h_span * w_span + r_2 * w_span + s_2;
    const int64_t tiles = places / COLUMNS_1;
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t n = n_first; n < n_end; n++) {
        for (int64_t h = h_first; h < h_end; h++) {
            for (int64_t w_block = w_first, w_stop; w_block < w_end; w_block = w_stop) {
                int height = (int)size_next(w_end - w_block, block * ROWS_1, ROWS_1);
                int64_t w = w_block, done = 0, points;
                w_stop = w_block + height;
                const f32u *const rows = packed_1 + (n - n_first) * c_2_span * h_span * w_span
                        + (h - h_first) * w_span + (w - w_first);
                const int64_t row_step = 1;
                /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. Of few points what is written takes longest. */
                const char *ahead = (const char *)(rows + (tiles < 4 ? 2 : 1) * height * row_step);
                const int writes = depth < size_min(places, ROWS_1 * BLOCK_1);
                const int nears = writes && (out_3 < COLUMNS_1 || depth <= 2 * ROWS_1);
                const int64_t ahead_step =
                    nears ? (out_3 < COLUMNS_1 ? 64 : out_3 * 4) :
                    block > 1 ? COLUMNS_1 * 4 / (2 * (w_stop - w_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                            : (BLOCK_1 + 1) / 2) :
                    0;
                do {
                    points = size_even(depth - done, DEPTH_1);
                    float *kept = points < depth ? kept_1 : tile;
                    const int is_last = done + points >= depth;
                    for (int64_t place = 0; place < places; place += COLUMNS_1) {
                        const int64_t o = o_first + place;
                        const int count = (int)size_min(COLUMNS_1, columns - place);
                        if (block > 1)
                            ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                        for (w = w_block; w < w_stop; w += height) {
                            height = (int)size_next(w_stop - w, ROWS_1, ROWS_1);
                            const f32u *here = rows + (w - w_block) * row_step;
                            if (nears)
                                ahead = (const char *)(out + n * out_0 + (o_first + (place + COLUMNS_1)) * out_1
                                        + h * out_2 + w * out_3);
                            tile_1(height, here, row_step, spots_1 + done, panels_1 + place * depth
                                    + done * COLUMNS_1, points, ahead, ahead_step, done ? kept : NULL, done
                                    ? COLUMNS_1 : 0, kept, COLUMNS_1);
                            if (is_last)
                                after_1(f, n, h, w, o, count, height, kept);
                            kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                            ahead += points * ahead_step;
                        }
                    }
                    done += points;
                } while (done < depth);
            }
        }
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_h = f->extent_h, extent_w = f->extent_w;
    const int64_t extent_n = f->extent_n, extent_o = f->extent_o;
    const int64_t tile_1_1 = f->tile_1_1, tile_1_3 = f->tile_1_3;
    const int64_t tile_1_4 = f->tile_1_4;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t w_tiles = size_max(size_ceil_div(extent_w, tile_1_4), 1);
        const int64_t w_first = rest % w_tiles * tile_1_4, w_end = size_min(w_first + tile_1_4, extent_w);
        rest /= w_tiles;
        const int64_t h_tiles = size_max(size_ceil_div(extent_h, tile_1_3), 1);
        const int64_t h_first = rest % h_tiles * tile_1_3, h_end = size_min(h_first + tile_1_3, extent_h);
        rest /= h_tiles;
        const int64_t n_first = rest % extent_n, n_end = n_first + 1;
        rest /= size_max(extent_n, 1);
        const int64_t o_first = rest * tile_1_1, o_end = size_min(o_first + tile_1_1, extent_o);
        step_1(f, own, n_first, n_end, o_first, o_end, h_first, h_end, w_first, w_end);
    }
}


/* Runs tasks on the host's threads, or here. */
static int run(Frame *f, void (*task)(void *argument, int64_t index, int worker), int64_t tasks)
{
    if (tasks > 1 && f->host && f->host->parallel_for) {
        int status = f->host->parallel_for(f->host->user, tasks, task, f);
        if (status && STATUS(f) == 0)
            FAIL(f, status);
    } else {
        for (int64_t index = 0; index < tasks; index++)
            task(f, index, 0);
    }
    return STATUS(f);
}

/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const padded_convolution_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.x.shape, f->in.x.stride, 4))
        return BAD_SHAPES;
    if (!settle(f->in.k.shape, f->in.k.stride, 4))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 4))
        return BAD_SHAPES;
    const int64_t extent_h = f->extent_h = args->given_h;
    if (extent_h < 0)
        return BAD_SHAPES;
    const int64_t extent_r = f->extent_r = f->in.k.shape[2];
    const int64_t extent_w = f->extent_w = args->given_w;
    if (extent_w < 0)
        return BAD_SHAPES;
    const int64_t extent_s = f->extent_s = f->in.k.shape[3];
    const int64_t extent_n = f->extent_n = f->in.x.shape[0];
    const int64_t extent_c = f->extent_c = meet(f->in.x.shape[1], f->in.k.shape[1]);
    if (extent_c < 0)
        return BAD_SHAPES;
    const int64_t extent_o = f->extent_o = f->in.k.shape[0];
    if (f->in.out.shape[0] != extent_n || f->in.out.shape[1] != extent_o || f->in.out.shape[2] != extent_h
            || f->in.out.shape[3] != extent_w)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_o);
    const int64_t tile_1_3 = f->tile_1_3 = size_min(4, extent_h);
    const int64_t tile_1_4 = f->tile_1_4 = size_min(56, extent_w);
    f->units_1 = size_mul(size_mul(size_mul(size_ceil_div(extent_o, tile_1_1), extent_n),
            size_ceil_div(extent_h, tile_1_3)), size_ceil_div(extent_w, tile_1_4));
    const int64_t at_spots_1 = f->at_spots_1 = size_align(size_mul(size_mul(size_align(tile_1_1, 32),
            size_mul(size_mul(extent_c, extent_r), extent_s)), 4), 64);
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_spots_1,
            size_align(size_mul(size_mul(size_mul(extent_c, extent_r), extent_s), 8), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_mul(extent_c, size_add(tile_1_3, extent_r)),
            size_add(tile_1_4, extent_s)), 4), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(size_mul(size_mul(extent_c, extent_r), extent_s),
            1025)), size_align(tile_1_1, 32)), 448), 64));
    f->per_worker = size_add(at_panels_of_1, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(size_mul(size_mul(extent_h, extent_r), extent_w), extent_s), extent_n), extent_c), extent_o), 32768), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int padded_convolution_workspace(const padded_convolution_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int padded_convolution(const padded_convolution_args *args, void *workspace, size_t bytes, const einc_host *host)
{
    Frame frame, *f = &frame;
    int workers = host && host->workers > 1 ? host->workers : 1, failure = 0;
    int status = args ? prepare(f, args, workers) : BAD_ARGUMENT;
    if (status)
        return status;
    int64_t all = size_add(f->shared, size_mul(workers, f->per_worker));
    if (all > 0 && (all == SIZE_TOO_LARGE || (uint64_t)all > bytes || !workspace || (uintptr_t)workspace % 64))
        return BAD_WORKSPACE;
    f->workspace = (char *)workspace;
    f->host = host;
    f->status = &failure;
    const int64_t at_panels_of_1 = f->at_panels_of_1;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_1) = -1;
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
