/* einc compile 'ik + kj -> ikj | max k & argmax k' -o viterbi.c --target avx512
 *
 *     ik + kj | max k & argmax k
 *
 * target avx512, 16 lanes
 * launch 1: block of j: tile_1_1 = min(64, j), block of i: tile_1_2 = min(64, i)
 *   step 1: store out[i,j] = max[k](A[i,k] + B[k,j]) & out1[i,j] = argmax[k](A[i,k] + B[k,j])
 *     tiles of 12 x 32 with places: rows i, columns j, contracted k, rows packed
 *     loops i j, 16 lanes along j
 * workspace workers * (align(align(tile_1_1, 32) * k * 4, 64)
 *         + align((1 + min(1, align(tile_1_1, 32) * k / 163841) * 7) * (k + 16) * 48, 64)
 *         + align(min(1, k / 1025) * align(tile_1_1, 32) * 384, 64)
 *         + align(min(1, k / 1025) * align(tile_1_1, 32) * 768, 64) + 64 + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef VITERBI_H
#define VITERBI_H
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
typedef struct viterbi_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* output, f32[i,j] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
    struct {    /* output, i64[i,j] */
        int64_t *data;
        int64_t shape[2], stride[2];
    } out1;
} viterbi_args;

/* The bytes of workspace that viterbi() wants for these shapes and so many workers. 0, or why not. */
int viterbi_workspace(const viterbi_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int viterbi(const viterbi_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Most kernels need no more of math.h, which takes longer to read than they do. */
#if !defined(INFINITY) && defined(__GNUC__)
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#elif !defined(INFINITY)
#include <math.h>
#endif

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

#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_SOME _Pragma("GCC unroll 4")
#else
#define UNROLL_SOME
#endif

/* Asks for the cache line at p, which need not be one that may be read. */
#ifdef __GNUC__
#define PREFETCH(p) __builtin_prefetch((p), 0, 3)
#else
#define PREFETCH(p) ((void)(p))
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

#if EINC_VECTORS
typedef uint64_t u64v LONG;
#else
typedef uint64_t u64v;
#endif

/* A truth per lane: 0 or -1 in a vector, 0 or 1 in a scalar. */
typedef i32v boolv;

#ifdef __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif

typedef int64_t i64u UNALIGNED;

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

INLINE i32v splat_i32v(int32_t x)
{
#if EINC_VECTORS
    i32v zero = {0};
    return x | zero;
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

INLINE boolv or_boolv(boolv a, boolv b)
{
    return a | b;
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

INLINE i32v select_i32v(boolv m, i32v a, i32v b)
{
#if EINC_VECTORS
    return (m & a) ^ (~m & b);
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

/* One lane after the other. */
APART void store_lanes_u64v(void *p, int64_t stride, u64v x, int count)
{
    uint64_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 8 * stride * l, &lanes[l], 8);
}

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

INLINE f32v plus_f32v(const f32u *a, f32v b)
{
#if EINC_VECTORS && !defined(__clang__) && LANES == 16
    __asm__("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(b) : "m"(*a), "v"(splat_f32v(1)));
    return b;
#else
    return fma_f32v(splat_f32v(*a), splat_f32v(1), b);
#endif
}

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

INLINE boolv isnan_f32v(f32v x)
{
    return x != x;
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

INLINE i64v load_i64v(const i64u *p, int64_t stride, int count)
{
    return (i64v)load_u64v(p, stride, count);
}

INLINE void store_i64v(i64u *p, int64_t stride, i64v x, int count)
{
    store_u64v(p, stride, (u64v)x, count);
}

INLINE int all_tame_f32v(const f32u *x, int64_t rows, int64_t row_step, int64_t count, float sign)
{
    boolv wild = not_boolv(first_boolv(LANES));
    for (int64_t r = 0; r < rows; r++, x += row_step)
        for (int64_t i = 0; i < count; i += LANES) {
            const f32v y = load_f32v(x + i, 1, count - i < LANES ? (int)(count - i) : LANES) * sign;
            wild = or_boolv(wild, not_boolv(y < splat_f32v(INFINITY)));
        }
    return !any_boolv(wild);
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

INLINE boolv better_f32v(int most, f32v x, f32v best)
{
    boolv wins = most ? x > best : x < best;
    return or_boolv(wins, and_boolv(isnan_f32v(x), not_boolv(isnan_f32v(best))));
}

/* Whether x is better than y, or with `ties` as good; no NaN is. */
INLINE boolv ahead_f32v(int most, int ties, f32v x, f32v y)
{
    if (ties)
        return most ? x >= y : x <= y;
    return most ? x > y : x < y;
}

/* The better, and y where either is NaN. */
INLINE f32v nearer_f32v(int most, f32v x, f32v y)
{
    return most ? greater_f32v(x, y) : lesser_f32v(x, y);
}

/* Points wait in memory: to store them under a mask is no arithmetic. */
INLINE void step_point_f32v(const int most, const int tame, f32v *best, i32v *point, f32v x, int64_t k)
{
#if EINC_VECTORS && LANES >= 4
    uint16_t wins;
    if (tame && most)
        __asm__("vcmpps $30, %0, %2, %1\n\tvmaxps %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else if (tame)
        __asm__("vcmpps $17, %0, %2, %1\n\tvminps %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else if (most)
        __asm__("vcmpps $7, %0, %0, %1\n\tvcmpps $22, %0, %2, %1%{%1%}\n\tvmovaps %2, %0%{%1%}" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else
        __asm__("vcmpps $7, %0, %0, %1\n\tvcmpps $25, %0, %2, %1%{%1%}\n\tvmovaps %2, %0%{%1%}" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    __asm__("vmovdqu32 %1, %0%{%2%}" : "+m"(*point) : "v"(splat_i32v((int32_t)k)), "Yk"(wins));
#else
    const boolv wins = tame ? ahead_f32v(most, 0, x, *best) : better_f32v(most, x, *best);
    *best = tame ? nearer_f32v(most, x, *best) : select_f32v(wins, x, *best);
    *point = select_i32v(wins, splat_i32v((int32_t)k), *point);
#endif
}

INLINE i64v found_places_f32v(i32v points, int64_t from, i64v before)
{
    return select_i64v(points < 0, before, CONVERT(points, i64v) + splat_i64v(from));
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    viterbi_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_k;
    int64_t extent_j;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t units_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_kept_places_1;
    int64_t at_panels_of_1;
    int64_t at_columns_tame_1;
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

/* out[i,j] = max[k](A[i,k] + B[k,j]) & out1[i,j] = argmax[k](A[i,k] + B[k,j]) */
enum { ROWS_1 = 12, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 163840, BLOCK_1 = 8 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t j, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    float *panels_1 = (float *)own;
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        float *to = panels_1 + place * depth + from_point * COLUMNS_1 + v * LANES;
        for (int64_t k = from_point; k < to_point; k++) {
            store_f32v(to, 1, load_f32v(B + k * B_0 + j_lanes * B_1, B_1, lanes), lanes);
            to += COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t i, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int r = 0; r < height; r++) {
        const int64_t i_at = i + r;
        float *to = packed_1 + r * (depth + 16);
        for (int64_t k = 0; k < extent_k; k += LANES) {
            const int lanes = (int)size_min(LANES, extent_k - k);
            store_f32v(to, 1, load_f32v(A + i_at * A_0 + k * A_1, A_1, lanes), lanes);
            to += lanes;
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
            sums[r][v] = splat_f32v(-INFINITY);
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
/* `tame`: no number is infinite in the direction that is sought, or a NaN, so that no sum is a NaN. */
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const int tame,
        const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, i32v places[ROWS_1][VECTORS_1],
                               f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    UNROLL_SOME
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
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
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                step_point_f32v(1, tame, &sums[r][v], &places[r][v], plus_f32v(at, right[v]), k);
            }
        }
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        panel += COLUMNS_1;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_1(int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
        int64_t depth, const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step, int64_t *kept_places, int64_t places_from, int tame)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    i32v places[ROWS_1][VECTORS_1];    /* the best of these points; -1: what was found before is better */
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            places[r][v] = splat_i32v(-1);
    }
    if (!tame)
        multiply_1(height, rows, row_step, k_step, 0, panel, depth, ahead, ahead_step, places, sums);
    else if (height == ROWS_1)
        multiply_1(ROWS_1, rows, row_step, k_step, 1, panel, depth, ahead, ahead_step, places, sums);
    else
        multiply_1(height, rows, row_step, k_step, 1, panel, depth, ahead, ahead_step, places, sums);
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        if (r >= height)
            break;
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            int64_t *const at = kept_places + r * COLUMNS_1 + v * LANES;
            const i64v before = start ? load_i64v(at, 1, LANES) : splat_i64v(0);
            store_i64v(at, 1, found_places_f32v(places[r][v], places_from, before), LANES);
        }
    }
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
KERNEL static void after_1(const Frame *f, int64_t i, int64_t j, int count, int height, const float *kept,
        int64_t *kept_places)
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    i64u *out1 = (i64u *)f->in.out1.data;
    const int64_t out1_0 = f->in.out1.stride[0], out1_1 = f->in.out1.stride[1];
    for (int r = 0; r < height; r++) {
        const int64_t i_at = i + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t j_lanes = j + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + v * LANES, 1, lanes);
            const i64v place_found = load_i64v(kept_places + r * COLUMNS_1 + v * LANES, 1, lanes);
            store_f32v(out + i_at * out_0 + j_lanes * out_1, out_1, sum, lanes);
            store_i64v(out1 + i_at * out1_0 + j_lanes * out1_1, out1_1, place_found, lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t j_first, int64_t j_end)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_kept_places_1 = f->at_kept_places_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1;
    const int64_t at_columns_tame_1 = f->at_columns_tame_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    float *panels_1 = (float *)own;
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *kept_places_1 = (int64_t *)(own + at_kept_places_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    int64_t *columns_tame_1 = (int64_t *)(own + at_columns_tame_1);
    const int64_t depth = extent_k;
    const int64_t columns = j_end - j_first, places = size_align(columns, COLUMNS_1);
    float tile[ROWS_1 * COLUMNS_1];
    int64_t tile_places[ROWS_1 * COLUMNS_1];
    const int64_t columns_at = j_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 16) {
            const int64_t to_point = size_min(from_point + 16, extent_k);
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t j = j_first + place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                pack_columns_1(f, own, j, depth, place, from_point, to_point, count);
            }
        }
        *columns_tame_1 = all_tame_f32v(panels_1, 1, 0, places * depth, 1);
        *panels_of_1 = columns_at;
    }
    const int64_t tiles = places / COLUMNS_1;
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t i_block = i_first, i_stop; i_block < i_end; i_block = i_stop) {
        int height = (int)size_next(i_end - i_block, block * ROWS_1, ROWS_1);
        int64_t i = i_block, done = 0, points;
        i_stop = i_block + height;
        pack_rows_1(f, own, i, depth, height);
        const f32u *const rows = packed_1;
        const int64_t row_step = depth + 16, k_step = 1;
        const int tame = *columns_tame_1 && all_tame_f32v(rows, i_stop - i_block, row_step, depth, 1);
        /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. Of few points what is written takes longest. */
        const char *ahead = (const char *)(A + (i + (tiles < 4 ? 2 : 1) * height) * A_0);
        const int writes = depth < size_min(places, ROWS_1 * BLOCK_1);
        const int nears = writes && (out_0 < COLUMNS_1 || depth <= 2 * ROWS_1);
        const int64_t ahead_step =
            nears ? (out_0 < COLUMNS_1 ? 64 : out_0 * 4) :
            block > 1 ? COLUMNS_1 * 4 / (2 * (i_stop - i_block) > BLOCK_1 * ROWS_1 ? BLOCK_1 : (BLOCK_1 + 1) / 2) :
            k_step == 1 ? size_ceil_div(height * 4, tiles) : 0;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : tile;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t j = j_first + place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                if (block > 1)
                    ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                for (i = i_block; i < i_stop; i += height) {
                    height = (int)size_next(i_stop - i, ROWS_1, ROWS_1);
                    const f32u *here = rows + (i - i_block) * row_step + done * k_step;
                    if (nears)
                        ahead = (const char *)(out + i * out_0 + (j_first + (place + COLUMNS_1)) * out_1);
                    int64_t *const kept_places = points < depth ? kept_places_1 + (kept - kept_1) : tile_places;
                    const int64_t places_from = done;
                    tile_1(height, here, row_step, k_step, panels_1 + place * depth + done * COLUMNS_1, points, ahead,
                            ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept, COLUMNS_1, kept_places,
                            places_from, tame);
                    if (is_last)
                        after_1(f, i, j, count, height, kept, kept_places);
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t tile_1_1 = f->tile_1_1, tile_1_2 = f->tile_1_2;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t i_tiles = size_max(size_ceil_div(extent_i, tile_1_2), 1);
        const int64_t i_first = rest % i_tiles * tile_1_2, i_end = size_min(i_first + tile_1_2, extent_i);
        rest /= i_tiles;
        const int64_t j_first = rest * tile_1_1, j_end = size_min(j_first + tile_1_1, extent_j);
        step_1(f, own, i_first, i_end, j_first, j_end);
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
static int prepare(Frame *f, const viterbi_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out1.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[1], f->in.B.shape[0]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.B.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_j)
        return BAD_SHAPES;
    if (f->in.out1.shape[0] != extent_i || f->in.out1.shape[1] != extent_j)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_j > 0 && extent_k < 1)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_j > 0 && extent_k < 1)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_j);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(64, extent_i);
    f->units_1 = size_mul(size_ceil_div(extent_j, tile_1_1), size_ceil_div(extent_i, tile_1_2));
    const int64_t at_packed_1 = f->at_packed_1 = size_align(size_mul(size_mul(size_align(tile_1_1, 32), extent_k), 4),
            64);
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(tile_1_1, 32), extent_k), 163841)), 7)), size_add(extent_k, 16)), 48), 64));
    const int64_t at_kept_places_1 = f->at_kept_places_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 1025)), size_align(tile_1_1, 32)), 384), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_places_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 1025)), size_align(tile_1_1, 32)), 768), 64));
    const int64_t at_columns_tame_1 = f->at_columns_tame_1 = size_add(at_panels_of_1, 64);
    f->per_worker = size_add(at_columns_tame_1, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(extent_i, extent_k), extent_j), 131072),
            1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int viterbi_workspace(const viterbi_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int viterbi(const viterbi_args *args, void *workspace, size_t bytes, const einc_host *host)
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
