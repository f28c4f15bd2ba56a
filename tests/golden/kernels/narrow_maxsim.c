/* einc compile 'Q[i,j,k]:bf16, D[m,n,k]:bf16 -> [i,j,m,n] | max n | sum j' -o narrow_maxsim.c --target amx
 *
 *     Q[i,j,k]:bf16, D[m,n,k]:bf16 -> ijmn | max n | sum j
 *
 * target amx, 16 lanes
 * launch 1: block of i: tile_1_1 = min(64, i), block of m: tile_1_2 = min(8, m)
 *   step 1: store tmp1[i,j,m] = max[n](sum[k](Q[i,j,k] * D[m,n,k]))
 *     tiles of 32 x 32: rows n, columns i j, contracted k, rows in place
 *     loops i m j, 16 lanes along j
 *   step 2: store out[i,m] = sum[j](tmp1[i,j,m])
 *     loops i m, 16 lanes along j
 * tmp1: a block, row_tmp1 * tile_1_2 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_2 * 4, 64)
 *         + align(align(tile_1_1 * j, 32) * align(ceil(k / 2), 16) * 4, 64)
 *         + align((1 + min(1, align(tile_1_1 * j, 32) * align(ceil(k / 2), 16) / 327681) * 6
 *         + min(1, align(tile_1_1 * j, 32) * align(ceil(k / 2), 16) / 6145)) * (align(ceil(k / 2), 16) + 16) * 128, 64)
 *         + align(min(1, align(ceil(k / 2), 16) / 129) * align(tile_1_1 * j, 32) * 1024, 64) + 64
 *         + align(align(tile_1_1 * j, 32) * min(16, tile_1_2) * 4, 64)) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef NARROW_MAXSIM_H
#define NARROW_MAXSIM_H
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
typedef struct narrow_maxsim_args {
    struct {    /* input Q, bf16 */
        const uint16_t *data;
        int64_t shape[3], stride[3];
    } Q;
    struct {    /* input D, bf16 */
        const uint16_t *data;
        int64_t shape[3], stride[3];
    } D;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} narrow_maxsim_args;

/* The bytes of workspace that narrow_maxsim() wants for these shapes and so many workers. 0, or why not. */
int narrow_maxsim_workspace(const narrow_maxsim_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -6 a machine that lacks what this is for, or whose system does not allow it (nothing was written),
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int narrow_maxsim(const narrow_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
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
#define INLINE static inline __attribute__((always_inline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#else
#define INLINE static inline
#endif

/* Of what is long and seldom in a hurry one copy keeps the compile short. */
#if defined(__GNUC__) && !defined(__clang__)
#define APART static __attribute__((noinline, noclone, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#else
#define APART static
#endif

#if EINC_VECTORS
#define LANES 16
#else
#define LANES 1
#endif

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
typedef uint16_t u16v __attribute__((vector_size(2 * LANES)));
#else
typedef uint16_t u16v;
#endif

#if EINC_VECTORS
typedef int16_t i16v __attribute__((vector_size(2 * LANES)));
#else
typedef int16_t i16v;
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

typedef uint16_t bf16u UNALIGNED;

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

INLINE u32v splat_u32v(uint32_t x)
{
#if EINC_VECTORS
    u32v zero = {0};
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

INLINE uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE float from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE float lane_f32v(f32v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
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

/* The first `count` lanes. */
INLINE boolv first_boolv(int count)
{
    return lanes_i32v() < count;
}

INLINE f32v select_f32v(boolv m, f32v a, f32v b)
{
#if EINC_VECTORS
    return (f32v)((m & (i32v)a) ^ (~m & (i32v)b));
#else
    return m ? a : b;
#endif
}

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

/* One lane after the other. */
APART void store_lanes_u16v(void *p, int64_t stride, u16v x, int count)
{
    uint16_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 2 * stride * l, &lanes[l], 2);
}

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

enum { PAGES = 4, PAGE_LINES = 64, LINE_BYTES = 64, PAGES_BYTES = PAGES * PAGE_LINES * LINE_BYTES };

/* The line that comes in the place of that at p. */
INLINE const char *line_of_pages(const char *p)
{
    const uintptr_t line = (uintptr_t)p / LINE_BYTES, place = line % (PAGES * PAGE_LINES);
    return (const char *)((line - place + place % PAGES * PAGE_LINES + place / PAGES) * LINE_BYTES);
}

/* Asks for the lines of so many bytes from p on, PAGES of them at a time. */
INLINE void bring_pages(const char *p, int64_t bytes)
{
    const uintptr_t lines = PAGES * LINE_BYTES, end = ((uintptr_t)p + (uintptr_t)bytes + lines - 1) / lines;
    for (uintptr_t at = ((uintptr_t)p + lines - 1) / lines; at < end; at++) {
        const char *line = line_of_pages((const char *)(at * lines));
        UNROLL
        for (int page = 0; page < PAGES; page++)
            PREFETCH(line + page * PAGE_LINES * LINE_BYTES);
    }
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

INLINE f32v to_f32_bf16v(u16v h)
{
    return from_bits_f32v(widen_u16v(h) << 16);
}

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
}

INLINE void store_f32v(f32u *p, int64_t stride, f32v x, int count)
{
    store_u32v(p, stride, bits_f32v(x), count);
}

INLINE f32v load_bf16v(const bf16u *p, int64_t stride, int count)
{
    return to_f32_bf16v(load_u16v(p, stride, count));
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

INLINE float fold_sum_f32v(f32v x)
{
    if (LANES > 8)
        x = x + flip_f32v(x, 8);
    if (LANES > 4)
        x = x + flip_f32v(x, 4);
    if (LANES > 2)
        x = x + flip_f32v(x, 2);
    if (LANES > 1)
        x = x + flip_f32v(x, 1);
    return lane_f32v(x, 0);
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

/* What is below the normal numbers is 0, of the same sign. */
INLINE float flush_f32(float x)
{
    uint32_t bits = bits_f32(x);
    return from_bits_f32((bits & 0x7FFFFFFF) < 0x00800000 ? bits & 0x80000000 : bits);
}

/* So many words of the rows from `from` on, so many bytes apart, become rows of a panel. Back comes how many: none where a
 * row is no whole number of words further. */
APART int64_t turn_words(u32u *to, int64_t to_word, const void *from, int64_t apart, int rows, int64_t words)
{
    if (apart % 4 != 0)
        return 0;
    for (int64_t k = 0; k < words; k += LANES) {
        const f32u *square = (const f32u *)from + k;
        const int columns = (int)size_min(LANES, words - k);
        turn_f32((f32u *)to + k * to_word, to_word, 1, square, apart / 4, 1, rows, columns, square + LANES, apart / 4);
    }
    return words;
}

/* So many words of two numbers: those of a row, from `from` on, and those of the next, so many numbers further. They become a
 * row of a panel. Back comes how many: none where there are fewer than lanes. */
INLINE int64_t weave_words(u32u *to, int64_t to_word, const void *from, int64_t apart, int lanes, int64_t words)
{
    const bf16u *at = (const bf16u *)from;
    if (lanes < LANES)
        return 0;
    for (int64_t k = 0; k < words; k++) {
        const u16v low = load_u16v(at + 2 * k * apart, 1, LANES), high = load_u16v(at + (2 * k + 1) * apart, 1, LANES);
        store_u32v(to + k * to_word, 1, widen_u16v(low) | widen_u16v(high) << 16, LANES);
    }
    return words;
}

INLINE u32v place_bf16v(f32v x, int at)
{
    return bits_f32v(x) >> 16 << 16 * at;
}

INLINE void store_row_bf16v(void *p, f32v x, int count)
{
    store_u16v(p, 1, CONVERT(bits_f32v(x) >> 16, u16v), count);
}

INLINE void copy_row_bf16(void *to, const void *from, int64_t count)
{
    memcpy(to, from, (size_t)(2 * count));
}

/* Whether there are instructions for tiles. Assemblers that know them do so without being told for which machine. */
#if defined(__x86_64__) && (__GNUC__ >= 11 || defined(__clang__)) && !defined(EINC_SCALAR) && !defined(EINC_MODEL)
#define EINC_TILES 1
#else
#define EINC_TILES 0
#endif

/* Rows of a tile, and words of a row. */
#define TILE_ROWS 16
#define TILE_WORDS 16

/* What is in the registers where there are none. */
typedef struct TileModel {
    int bytes[8];                 /* of a tile's row */
    uint32_t words[8][TILE_ROWS][TILE_WORDS];
} TileModel;

INLINE void model_tile_zero(TileModel *model, int t)
{
    memset(model->words[t], 0, sizeof model->words[t]);
}

INLINE void model_tile_load(TileModel *model, int t, const void *p, int64_t apart)
{
    model_tile_zero(model, t);
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy(model->words[t][r], (const char *)p + r * apart, (size_t)model->bytes[t]);
}

INLINE void model_tile_store(const TileModel *model, int t, void *p, int64_t apart)
{
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy((char *)p + r * apart, model->words[t][r], (size_t)model->bytes[t]);
}

/* What the unit does: the first numbers of all words make a sum and the second ones another, each product added with one
 * rounding; these two are added, and that to what was there. It flushes all that it takes and gives. */
APART void model_tile_bf16(TileModel *model, int sums, int rows, int columns)
{
    for (int r = 0; r < TILE_ROWS; r++)
        for (int c = 0; c < model->bytes[sums] / 4; c++) {
            float both[2] = { 0, 0 };
            for (int k = 0; k < TILE_WORDS; k++) {
                const uint32_t left = model->words[rows][r][k], right = model->words[columns][k][c];
                both[0] = flush_f32(fmaf(flush_f32(from_bits_f32(left << 16)), flush_f32(from_bits_f32(right << 16)), both[0]));
                both[1] = flush_f32(fmaf(flush_f32(from_bits_f32(left & 0xFFFF0000)),
                                         flush_f32(from_bits_f32(right & 0xFFFF0000)), both[1]));
            }
            const float sum = flush_f32(from_bits_f32(model->words[sums][r][c]));
            model->words[sums][r][c] = bits_f32(flush_f32(sum + flush_f32(both[0] + both[1])));
        }
}

/* What the machine is told of its registers, in the order that LDTILECFG wants, or without a machine what is in them. */
typedef struct TileRegisters {
    uint8_t palette, start_row, zeros[14];
    uint16_t bytes[16];           /* of a row */
    uint8_t rows[16];
#if !EINC_TILES
    TileModel model;
#endif
} TileRegisters;

/* The tile whose sums wait in the registers. The machine is not told of it, so that it need not be in memory. */
typedef struct Pending {
    int height;                   /* 0: there is none */
    int64_t lower, place;         /* its lower half begins at this row; its columns have this place */
    int64_t rows_left;            /* of its rows, those of the point whose states are there; the next one's have rows_each each, */
    int64_t rows_each, places;    /* and states so many places behind */
} Pending;

/* Makes the registers ready for sums of so many columns: 0 to 3 for the sums, 4 and 5 for words of rows, 6 and 7 for
 * words of columns. All are 0. */
INLINE void tiles_begin(TileRegisters *registers, int columns)
{
    memset(registers, 0, sizeof *registers);
    registers->palette = 1;
    for (int t = 0; t < 8; t++) {
        registers->rows[t] = TILE_ROWS;
        registers->bytes[t] = (uint16_t)(4 * (t == 4 || t == 5 || columns > TILE_WORDS ? TILE_WORDS : columns));
    }
#if EINC_TILES
    __asm__ volatile("ldtilecfg %0" : : "m"(*registers) : "memory");
#else
    for (int t = 0; t < 8; t++)
        registers->model.bytes[t] = registers->bytes[t];
#endif
}

/* The thread's registers are free again, and cost nothing more when it gives way to another. */
INLINE void tiles_end(void)
{
#if EINC_TILES
    __asm__ volatile("tilerelease" : : : "memory");
#endif
}

/* Whether the machine has tiles of bf16 and i8, and the system lets this process use them: it wants to be asked once. */
PLAIN int has_tiles(void)
{
#if EINC_TILES && defined(__linux__)
    enum { SAVED_BY_SYSTEM = 1 << 27, ALL_UNITS = 1 << 22 | 1 << 24 | 1 << 25, TILE_STATE = 3 << 17 };
    enum { ARCH_PRCTL = 158, ASK_PERMISSION = 0x1023, TILE_DATA = 18, YES = 1, NO = 2 };
    static int known;
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        uint32_t a = 0, b, c = 0, d, most, saved = 0;
        __asm__("cpuid" : "=a"(most), "=b"(b), "=c"(c), "=d"(d) : "0"(0), "2"(0));
        __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(1), "2"(0));
        if (most >= 7 && (c & SAVED_BY_SYSTEM))
            __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
        __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(7), "2"(0));
        answer = NO;
        if ((d & ALL_UNITS) == ALL_UNITS && (saved & TILE_STATE) == TILE_STATE) {
            int64_t status = ARCH_PRCTL;
            __asm__ volatile("syscall" : "+a"(status) : "D"((int64_t)ASK_PERMISSION), "S"((int64_t)TILE_DATA)
                             : "rcx", "r11", "memory");
            answer = status == 0 ? YES : NO;
        }
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == YES;
#else
    return 0;
#endif
}

/* The rows of tile `t` from p on, so many bytes apart. */
#if EINC_TILES
#define TILE_LOAD(registers, t, p, apart) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((int64_t)(apart)) : "memory")
#else
#define TILE_LOAD(registers, t, p, apart) model_tile_load(&(registers)->model, t, p, apart)
#endif

#if EINC_TILES
#define TILE_STORE(registers, t, p, apart) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(p), "r"((int64_t)(apart)) : "memory")
#else
#define TILE_STORE(registers, t, p, apart) model_tile_store(&(registers)->model, t, p, apart)
#endif

#if EINC_TILES
#define TILE_ZERO(registers, t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#else
#define TILE_ZERO(registers, t) model_tile_zero(&(registers)->model, t)
#endif

/* Begins a tile with sums, rows so many bytes apart, or with zeros, which are the same row for all: 0 bytes. */
#define TILE_BEGIN(registers, t, p, apart) \
    do { \
        if ((apart) == 0) \
            TILE_ZERO(registers, t); \
        else \
            TILE_LOAD(registers, t, p, apart); \
    } while (0)

/* Stores a tile, and begins it with zeros. */
#define TILE_RENEW(registers, t, p, apart) \
    do { \
        TILE_STORE(registers, t, p, apart); \
        TILE_ZERO(registers, t); \
    } while (0)

/* Adds rows times columns to sums. */
#if EINC_TILES
#define TILE_DOT_BF16(registers, sums, rows, columns) \
    __asm__ volatile("tdpbf16ps %%tmm" #columns ", %%tmm" #rows ", %%tmm" #sums : : : "memory")
#else
#define TILE_DOT_BF16(registers, sums, rows, columns) model_tile_bf16(&(registers)->model, sums, rows, columns)
#endif

/* The greatest of `state` and so many elements of x, at least one, `step` apart in memory; NaN where one is. */
INLINE f32v max_some_f32v(f32v state, const f32v *x, int rows, const int step)
{
    f32v most[4] = { state, x[0], x[0], x[0] };
    for (; rows >= 4; rows -= 4, x += 4 * step) {
        UNROLL
        for (int c = 0; c < 4; c++)
            most[c] = max_f32v(most[c], x[c * step]);
    }
    for (; rows > 0; rows--, x += step)
        most[0] = max_f32v(most[0], x[0]);
    return max_f32v(max_f32v(most[0], most[1]), max_f32v(most[2], most[3]));
}

/* The greatest of `state` and so many elements of x, a multiple of 4, `step` apart in memory; NaN where one is. In four chains,
 * since each instruction waits for the one before, and each element is loaded once. */
INLINE f32v max_rows_f32v(f32v state, const f32v *x, const int rows, const int step)
{
#if EINC_VECTORS && LANES >= 4
    f32v most[4];
    uint16_t ordered[2] = { 0xffff, 0xffff };
    UNROLL
    for (int i = 0; i < rows; i += 2) {
        f32v a = x[i * step], b = x[(i + 1) * step];
        HOLD(a);
        HOLD(b);
        __asm__("vcmpps $7, %2, %1, %0%{%0%}" : "+Yk"(ordered[i / 2 % 2]) : "v"(a), "v"(b));
        most[i % 4] = i < 4 ? a : greater_f32v(most[i % 4], a);
        most[i % 4 + 1] = i < 4 ? b : greater_f32v(most[i % 4 + 1], b);
    }
    most[0] = greater_f32v(greater_f32v(most[0], most[1]), greater_f32v(most[2], most[3]));
    state = greater_f32v(most[0], state);
    ordered[0] = (uint16_t)~(ordered[0] & ordered[1]);
    __asm__("vmovaps %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered[0]), "v"(splat_f32v((float)NAN)));
#else
    state = max_all_f32v(state, x, rows, step, rows);
#endif
    return state;
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    narrow_maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t at_panels_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_panels_of_1;
    int64_t at_largest_1_1;
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

/* tmp1[i,j,m] = max[n](sum[k](Q[i,j,k] * D[m,n,k])) */
enum { ROWS_1 = 32, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 128, DEEP_1 = 1024, NEAR_1 = 327680,
        BLOCK_1 = 8, CLOSE_1 = 6144, CLOSE_BLOCK_1 = 2, RUN_1 = 16 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t i, int64_t j, int64_t depth, int64_t tile_place,
        int64_t place, int64_t from_point, int64_t to_point, int count)
{
    const int64_t extent_k = f->extent_k, at_panels_1 = f->at_panels_1;
    const bf16u *Q = (const bf16u *)f->in.Q.data;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    const int64_t Q_2 = f->in.Q.stride[2];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        u32u *panel = (u32u *)panels_1 + tile_place * depth + place - tile_place + v * LANES;
        u32u *to = panel + from_point / 2 * COLUMNS_1;
        const int64_t words_copied =
            Q_2 == 1 ? turn_words(to, COLUMNS_1, Q + i * Q_0 + j_lanes * Q_1 + from_point * Q_2, 2 * (Q_1), lanes,
                    (to_point - from_point) / 2) :
            Q_1 == 1 ? weave_words(to, COLUMNS_1, Q + i * Q_0 + j_lanes * Q_1 + from_point * Q_2, Q_2, lanes,
                    (to_point - from_point) / 2) :
            0;
        to += words_copied * COLUMNS_1;
        for (int64_t k = from_point + 2 * words_copied; k < to_point; k += 2) {
            u32v words = splat_u32v(0);
            for (int64_t k_at = k; k_at < size_min(k + 2, extent_k); k_at++) {
                words |= place_bf16v(load_bf16v(Q + i * Q_0 + j_lanes * Q_1 + k_at * Q_2, Q_1, lanes),
                        (int)(k_at - k));
            }
            store_u32v(to, 1, words, lanes);
            to += COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t m, int64_t n, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const bf16u *D = (const bf16u *)f->in.D.data;
    const int64_t D_0 = f->in.D.stride[0], D_1 = f->in.D.stride[1];
    const int64_t D_2 = f->in.D.stride[2];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int r = 0; r < height; r++) {
        const int64_t n_at = n + r;
        uint16_t *to = (uint16_t *)packed_1 + r * (depth * 2 + 32);
        uint16_t *const end = to + depth * 2;
        if (D_2 == 1) {
            copy_row_bf16(to, D + m * D_0 + n_at * D_1, extent_k);
            to += extent_k;
        } else
        for (int64_t k = 0; k < extent_k; k += LANES) {
            const int lanes = (int)size_min(LANES, extent_k - k);
            store_row_bf16v(to, load_bf16v(D + m * D_0 + n_at * D_1 + k * D_2, D_2, lanes), lanes);
            to += lanes;
        }
        while (to < end)
            *to++ = 0;
    }
}

#define DOT_1 TILE_DOT_BF16
#define BEGIN_1 TILE_BEGIN
/* Numbers are multiplied as they are: of one part. */
enum { PARTS_1 = 1, PAIRS_1 = 1 };
static const unsigned char row_parts_1[] = { 0 };
static const unsigned char column_parts_1[] = { 0 };

/* What a tile's products are of: rows, the lower ones of them from `lower` on, and a panel. Meanwhile what is needed next
 * comes nearer: `ahead`, so many bytes for each word, of a stream `by_pages`. */
typedef struct Factors_1 {
    const bf16u *rows;
    int64_t row_step, k_step, lower;
    const u32u *panel;
    int64_t depth;
    const char *ahead;
    int64_t ahead_step;
    int by_pages;
} Factors_1;

/* One of the `shares` of what is to come nearer with a tile: all lines where they follow each other, else two for a word. */
INLINE void bring_1(const Factors_1 *from, int share, int shares)
{
    const int64_t step = from->ahead_step, bytes = from->depth * step / shares;
    const char *ahead = from->ahead + share * bytes;
    if (from->by_pages)
        bring_pages(ahead, bytes);
    for (int64_t at = 0; at < bytes && !from->by_pages; at += step <= 128 ? 64 : step) {
        PREFETCH_FAR(ahead + at);
        if (step > 128)
            PREFETCH_FAR(ahead + at + 64);
    }
}

/* One of the four products of TILE_WORDS words, a pair of parts of those from k on: the first two are of the upper rows, the others
 * of the lower ones, of which there are some if `both` is true. The first one loads the words; what the pair before has left in
 * the registers is not loaded again. Where a tile begins, the sums of the one before go to `last`, the lower ones last_lower rows
 * behind, each just before its register is needed. */
INLINE void multiply_one_1(TileRegisters *registers, const Factors_1 *from, int64_t k, const int pair,
                           const int number, const int both, const int begins, f32v (*last)[VECTORS_1],
                           int64_t last_lower)
{
    const bf16u *rows = from->rows + (k + TILE_WORDS * row_parts_1[pair]) * from->k_step;
    const u32u *panel = from->panel + (k + TILE_WORDS * column_parts_1[pair]) * COLUMNS_1;
    const int new_rows = pair == 0 || row_parts_1[pair] != row_parts_1[pair - 1];
    const int new_columns = pair == 0 || column_parts_1[pair] != column_parts_1[pair - 1];
    const int64_t apart = from->row_step * (int64_t)sizeof *rows, across = COLUMNS_1 * 4;
    char *const to = begins ? (char *)(last + number / 2 * last_lower) + number % 2 * 64 : NULL;
    (void)registers;
    if (number == 0 && new_rows)
        TILE_LOAD(registers, 4, rows, apart);
    if (number == 0 && new_columns)
        TILE_LOAD(registers, 6, panel, across);
    if (number == 0 && COLUMNS_1 > TILE_WORDS && new_columns)
        TILE_LOAD(registers, 7, panel + TILE_WORDS, across);
    if (number == 0 && both && new_rows)
        TILE_LOAD(registers, 5, rows + from->lower * from->row_step, apart);
    switch (number) {
    case 0:
        if (begins)
            TILE_RENEW(registers, 0, to, across);
        DOT_1(registers, 0, 4, 6);
        break;
    case 1:
        if (begins && COLUMNS_1 > TILE_WORDS)
            TILE_RENEW(registers, 1, to, across);
        if (COLUMNS_1 > TILE_WORDS)
            DOT_1(registers, 1, 4, 7);
        break;
    case 2:
        if (begins)
            TILE_RENEW(registers, 2, to, across);
        if (both)
            DOT_1(registers, 2, 5, 6);
        break;
    default:
        if (begins && COLUMNS_1 > TILE_WORDS)
            TILE_RENEW(registers, 3, to, across);
        if (both && COLUMNS_1 > TILE_WORDS)
            DOT_1(registers, 3, 5, 7);
    }
}

/* One after the other. */
INLINE void multiply_1(TileRegisters *registers, const Factors_1 *from, int64_t k, const int pair, const int both,
                       const int begins, f32v (*last)[VECTORS_1], int64_t last_lower)
{
    UNROLL
    for (int number = 0; number < 4; number++) {
        multiply_one_1(registers, from, k, pair, number, both, begins, last, last_lower);
    }
}

/* The other pairs of the words from k on. */
INLINE void multiply_others_1(TileRegisters *registers, const Factors_1 *from, int64_t k, const int both)
{
    UNROLL
    for (int pair = 1; pair < PAIRS_1; pair++)
        multiply_1(registers, from, k, pair, both, 0, NULL, 0);
}

/* Words of a tile from k to `end`. */
INLINE void multiply_words_1(TileRegisters *registers, const Factors_1 *from, int64_t k, int64_t end, const int both)
{
    for (; k < end; k += PARTS_1 * TILE_WORDS) {
        multiply_1(registers, from, k, 0, both, 0, NULL, 0);
        multiply_others_1(registers, from, k, both);
    }
}

/* All words from k on: of many, addresses that are made anew for each few of them take as long as the products. */
INLINE void multiply_rest_1(TileRegisters *registers, const Factors_1 *from, int64_t k, const int both)
{
    enum { STEP = PARTS_1 * TILE_WORDS };
    Factors_1 at = *from;
    at.rows += k * from->k_step;
    at.panel += k * COLUMNS_1;
    for (; k < from->depth; k += STEP) {
        multiply_words_1(registers, &at, 0, STEP, both);
        at.rows += STEP * from->k_step;
        at.panel += STEP * COLUMNS_1;
    }
}

/* The loop stands twice, so that nothing is asked between products. */
INLINE void go_through_1(TileRegisters *registers, const Factors_1 *from, int64_t k)
{
    if (from->lower > 0)
        multiply_rest_1(registers, from, k, 1);
    else
        multiply_rest_1(registers, from, k, 0);
}

/* Adds a tile's products to the sums from `start` on; they are kept. What becomes of rows that a tile has not does not
 * matter, but there is room for TILE_ROWS. */
INLINE void add_1(TileRegisters *registers, const Factors_1 *from, const f32u *start, int64_t start_step, f32u *kept,
                  int64_t kept_step)
{
    const int64_t lower = from->lower > 0 ? from->lower : 0;
    const f32u *lower_start = start + lower * start_step;
    BEGIN_1(registers, 0, start, 4 * start_step);
    if (from->lower > 0)
        BEGIN_1(registers, 2, lower_start, 4 * start_step);
    if (COLUMNS_1 > TILE_WORDS) {
        BEGIN_1(registers, 1, start + TILE_WORDS, 4 * start_step);
        if (from->lower > 0)
            BEGIN_1(registers, 3, lower_start + TILE_WORDS, 4 * start_step);
    }
    bring_1(from, 0, 1);
    go_through_1(registers, from, 0);
    f32u *lower_kept = kept + lower * kept_step;
    TILE_STORE(registers, 0, kept, 4 * kept_step);
    if (from->lower > 0)
        TILE_STORE(registers, 2, lower_kept, 4 * kept_step);
    if (COLUMNS_1 > TILE_WORDS) {
        TILE_STORE(registers, 1, kept + TILE_WORDS, 4 * kept_step);
        if (from->lower > 0)
            TILE_STORE(registers, 3, lower_kept + TILE_WORDS, 4 * kept_step);
    }
}

/* Stores the sums that wait in the registers, which are 0 then. */
INLINE void renew_1(TileRegisters *registers, f32v (*last)[VECTORS_1], int64_t lower)
{
    (void)registers;
    TILE_RENEW(registers, 0, last[0], COLUMNS_1 * 4);
    TILE_RENEW(registers, 2, last[lower], COLUMNS_1 * 4);
    if (COLUMNS_1 > TILE_WORDS) {
        TILE_RENEW(registers, 1, (char *)last[0] + 64, COLUMNS_1 * 4);
        TILE_RENEW(registers, 3, (char *)last[lower] + 64, COLUMNS_1 * 4);
    }
}

/* Begins a tile; the sums of the one before go to `last`. Back comes how many words are multiplied: so many that those sums
 * are there while others remain. */
INLINE int64_t begin_1(TileRegisters *registers, const Factors_1 *from, f32v (*last)[VECTORS_1], int64_t lower)
{
    const int64_t some = PARTS_1 * TILE_WORDS,
            words = size_min(from->depth, from->depth > 2 * some ? 2 * some : some);
    if (words == 0) {
        renew_1(registers, last, lower);
    } else if (from->lower > 0) {
        multiply_1(registers, from, 0, 0, 1, 1, last, lower);
        multiply_others_1(registers, from, 0, 1);
        multiply_words_1(registers, from, some, words, 1);
    } else {
        multiply_1(registers, from, 0, 0, 0, 1, last, lower);
        multiply_others_1(registers, from, 0, 0);
        multiply_words_1(registers, from, some, words, 0);
    }
    return words;
}

/* The same from k to `end`. */
INLINE void go_on_1(TileRegisters *registers, const Factors_1 *from, int64_t k, int64_t end)
{
    if (from->lower > 0)
        multiply_words_1(registers, from, k, end, 1);
    else
        multiply_words_1(registers, from, k, end, 0);
}

/* The rows that a tile has not are as its last one. */
INLINE void complete_1(int height, int v, f32v (*sums)[VECTORS_1])
{
    for (int r = height; r < ROWS_1; r++)
        sums[r][v] = sums[height - 1][v];
}

/* Takes a tile's sums in one of the vectors. */
INLINE void take_1(int height, int64_t place, int v, f32v (*sums)[VECTORS_1], const Frame *f, char *own)
{
    complete_1(height, v, sums);
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    const int64_t tile_place = place;
    f32v largest = load_f32v(largest_1_1 + tile_place + v * LANES, 1, LANES);
    largest = max_rows_f32v(largest, &sums[0][v], ROWS_1, VECTORS_1);
    store_f32v(largest_1_1 + tile_place + v * LANES, 1, largest, LANES);
}

/* The same for so many rows of a tile. */
INLINE void take_some_1(int height, int64_t place, int v, f32v (*sums)[VECTORS_1], const Frame *f, char *own)
{
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    const int64_t tile_place = place;
    f32v largest = load_f32v(largest_1_1 + tile_place + v * LANES, 1, LANES);
    largest = max_some_f32v(largest, &sums[0][v], height, VECTORS_1);
    store_f32v(largest_1_1 + tile_place + v * LANES, 1, largest, LANES);
}

/* Takes the sums of a tile in which rows of several points follow each other. */
INLINE void take_each_1(Pending taken, int v, f32v (*sums)[VECTORS_1], const Frame *f, char *own)
{
    for (int first = 0, rows; first < taken.height; first += rows) {
        rows = (int)size_min(taken.rows_left, taken.height - first);
        take_some_1(rows, taken.place, v, sums + first, f, own);
        taken.rows_left = taken.rows_each;
        taken.place += taken.places;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product, when the next tile is on its way. */
INLINE void tile_1(int height, const bf16u *rows, int64_t row_step, int64_t k_step, const u32u *panel, int64_t depth,
        const char *ahead, int64_t ahead_step, int by_pages, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step, TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_1], int64_t place,
        int64_t rows_left, const Frame *f, char *own)
{
    const Factors_1 from = { rows, row_step, k_step, height - TILE_ROWS, panel, depth, ahead, ahead_step, by_pages };
    if (kept) {
        add_1(registers, &from, start, start_step, kept, kept_step);
        return;
    }
    int64_t words = depth;
    if (start_step)
        add_1(registers, &from, start, start_step, (f32u *)sums, COLUMNS_1);
    else
        words = begin_1(registers, &from, sums, pending->lower);
    const Pending now = { height, from.lower > 0 ? from.lower : TILE_ROWS, place, rows_left, pending->rows_each,
            pending->places };
    const Pending taken = start_step ? now : *pending;
    UNROLL
    for (int v = 0; v < VECTORS_1; v++) {
        if (!start_step)
            bring_1(&from, v, VECTORS_1);
        if (taken.height && taken.height <= taken.rows_left)
            take_1(taken.height, taken.place, v, sums, f, own);
        else if (taken.height)
            take_each_1(taken, v, sums, f, own);
        const int64_t end = size_min(depth, words + PARTS_1 * TILE_WORDS);
        go_on_1(registers, &from, words, end);
        words = end;
    }
    go_through_1(registers, &from, words);
    *pending = now;
    if (start_step)
        pending->height = 0;
}

/* The sums that still wait are taken. */
INLINE void leave_1(TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_1], const Frame *f, char *own)
{
    const Pending taken = *pending;
    renew_1(registers, sums, taken.lower);
    pending->height = 0;
    for (int v = 0; v < VECTORS_1; v++)
        if (taken.height && taken.height <= taken.rows_left)
            take_1(taken.height, taken.place, v, sums, f, own);
        else if (taken.height)
            take_each_1(taken, v, sums, f, own);
}


/* The columns' results. */
KERNEL static void finish_1(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t m, int64_t i,
        int64_t j, int64_t place, int64_t behind, int count)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        f32v largest = load_f32v(largest_1_1 + behind + place + v * LANES, 1, lanes);
        store_f32v(tmp1 + (i - i_first) * tmp1_0 + j_lanes + (m - m_first) * tmp1_2, 1, largest, lanes);
    }
}

/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_m = f->extent_m, extent_n = f->extent_n;
    const int64_t at_panels_1 = f->at_panels_1, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_panels_of_1 = f->at_panels_of_1;
    const int64_t at_largest_1_1 = f->at_largest_1_1, Q_0 = f->in.Q.stride[0];
    const int64_t Q_1 = f->in.Q.stride[1], Q_2 = f->in.Q.stride[2];
    const bf16u *D = (const bf16u *)f->in.D.data;
    const int64_t D_0 = f->in.D.stride[0], D_1 = f->in.D.stride[1];
    const int64_t D_2 = f->in.D.stride[2], tmp1_0 = extent_j;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    const int64_t words = size_ceil_div(extent_k, 2), depth = size_align(words, 16);
    const int64_t columns = (i_end - i_first) * extent_j, places = size_align(columns, COLUMNS_1);
    int64_t width = extent_j;
    if (Q_0 == Q_1 * extent_j && tmp1_0 == 1 * extent_j)
        width *= i_end - i_first;
    float start[COLUMNS_1];
    for (int c = 0; c < COLUMNS_1; c++)
        start[c] = 0.0f;
    f32v sums[ROWS_1][VECTORS_1];
    TileRegisters registers;
    tiles_begin(&registers, COLUMNS_1);
    Pending pending = { 0, TILE_ROWS, 0, 0, extent_n, places };
    const int64_t columns_at = i_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += (Q_2 == 1 ? 256 : 32)) {
            const int64_t to_point = size_min(from_point + (Q_2 == 1 ? 256 : 32), extent_k);
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t j = place % width;
                    const int64_t i = i_first + (place - place % width) / extent_j;
                    pack_columns_1(f, own, i, j, depth, tile_place, place, from_point, to_point, count);
                    place += count;
                }
            }
        }
        for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
            memset((u32u *)panels_1 + tile_place * depth + words * COLUMNS_1, 0,
                    (size_t)((depth - words) * COLUMNS_1) * 4);
        }
        *panels_of_1 = columns_at;
    }
    const int64_t tiles = places / COLUMNS_1;
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : depth * places > CLOSE_1 ? CLOSE_BLOCK_1 : 1;
    int is_back = 1;
    const int64_t spare = (size_align(extent_n, TILE_ROWS) - extent_n) * depth / 8;    /* cycles */
    const int follows = D_0 == extent_n * D_1;
    const int64_t run = follows && tiles * (100 - spare) < 300 ? RUN_1 : 1;
    for (int64_t m = m_first, m_stop; m < m_end;) {
        m_stop = size_min(m + run, m_end);
        const int64_t run_rows = (m_stop - m) * extent_n;
        for (int64_t place = 0; place < (m_stop - m) * places; place += LANES) {
            store_f32v(largest_1_1 + place, 1, splat_f32v(-INFINITY), LANES);
        }
        for (int64_t n_block = 0, n_stop; n_block < run_rows; n_block = n_stop) {
            int height = (int)size_next(run_rows - n_block, block * ROWS_1, ROWS_1);
            is_back = !is_back;    /* what was met last is nearest */
            int64_t n = n_block, done = 0, points;
            n_stop = n_block + height;
            const bf16u *rows = D + m * D_0 + n * D_1;
            int64_t row_step = D_1, k_step = 2;
            if (D_2 != 1 || extent_k % 32 != 0 || height < 16 || (tiles > 4 && row_step * 2 % 2048 == 0)) {
                pack_rows_1(f, own, m, n, depth, height);
                rows = (const bf16u *)packed_1;
                row_step = depth * 2 + 32;
                k_step = 2;
            }
            /* What comes nearer: the next rows; a share for each tile. */
            const int by_pages = follows && row_step * 2 == depth * 4;
            const char *ahead = by_pages ? (const char *)rows + PAGES_BYTES
                    : (const char *)(rows + (tiles < 4 ? 2 : 1) * height * row_step);
            const int64_t ahead_step =
                block > CLOSE_BLOCK_1 ? 0 :
                extent_m * extent_n * extent_k > 786432 && k_step == 2 ? size_ceil_div(height * 4, tiles) : 0;
            do {
                points = size_even(depth - done, block > CLOSE_BLOCK_1 ? DEEP_1 : DEPTH_1);
                points = size_align(points, 16);
                float *kept = points < depth ? kept_1 : NULL;
                const int is_last = done + points >= depth;
                for (int64_t turn = 0; turn < tiles; turn++) {
                    const int64_t tile_place = (is_back ? tiles - 1 - turn : turn) * COLUMNS_1;
                    for (n = n_block; n < n_stop; n += height) {
                        height = (int)size_next(n_stop - n, ROWS_1, ROWS_1);
                        const bf16u *here = rows + (n - n_block) * row_step + done * k_step;
                        const int64_t nth = n / extent_n, rows_left = (nth + 1) * extent_n
                                - n;    /* of the run's points */
                        tile_1(height, here, row_step, k_step, (const u32u *)panels_1 + tile_place * depth
                                + done * COLUMNS_1, points, ahead, ahead_step, by_pages, done ? kept : start, done
                                ? COLUMNS_1 : 0, is_last ? NULL : kept, COLUMNS_1, &registers, &pending, sums,
                                tile_place + nth * places, rows_left, f, own);
                        kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                        ahead += points * ahead_step;
                    }
                }
                done += points;
            } while (done < depth);
        }
        leave_1(&registers, &pending, sums, f, own);
        for (int64_t behind = 0; m < m_stop; m++, behind += places) {
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t j = place % width;
                    const int64_t i = i_first + (place - place % width) / extent_j;
                    finish_1(f, own, i_first, m_first, m, i, j, place, behind, count);
                    place += count;
                }
            }
        }
    }
    tiles_end();
}

/* out[i,m] = sum[j](tmp1[i,j,m]) */
INLINE void step_2_at(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t i, int64_t m)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    f32v sum_lanes[4];
    UNROLL
    for (int chain = 0; chain < 4; chain++)
        sum_lanes[chain] = splat_f32v(0.0f);
    int64_t j_at = 0;
    for (; j_at + 4 * LANES <= extent_j; j_at += 4 * LANES) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * LANES;
            const f32v tmp1_at = load_f32v(tmp1 + (i - i_first) * tmp1_0 + j + (m - m_first) * tmp1_2, 1, LANES);
            sum_lanes[chain] = sum_lanes[chain] + tmp1_at;
        }
    }
    for (; j_at < extent_j; j_at += LANES) {
        const int count_2 = extent_j - j_at < LANES ? (int)(extent_j - j_at) : LANES;
        const f32v before = sum_lanes[0];
        const f32v tmp1_at_2 = load_f32v(tmp1 + (i - i_first) * tmp1_0 + j_at + (m - m_first) * tmp1_2, 1, count_2);
        sum_lanes[0] = sum_lanes[0] + tmp1_at_2;
        sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
    }
    UNROLL
    for (int chain = 1; chain < 4; chain++)
        sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
    float sum = fold_sum_f32v(sum_lanes[0]);
    out[i * out_0 + m * out_1] = sum;
}

KERNEL static void step_2(const Frame *frame, char *own, int64_t i_first, int64_t i_end, int64_t m_first,
        int64_t m_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    for (int64_t i = i_first; i < i_end; i++)
        for (int64_t m = m_first; m < m_end; m++)
            step_2_at(f, own, i_first, m_first, i, m);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_i = f->extent_i, extent_m = f->extent_m;
    const int64_t tile_1_1 = f->tile_1_1, tile_1_2 = f->tile_1_2;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t m_tiles = size_max(size_ceil_div(extent_m, tile_1_2), 1);
        const int64_t m_first = rest % m_tiles * tile_1_2, m_end = size_min(m_first + tile_1_2, extent_m);
        rest /= m_tiles;
        const int64_t i_first = rest * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
        step_1(f, own, i_first, i_end, m_first, m_end);
        step_2(f, own, i_first, i_end, m_first, m_end);
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
static int prepare(Frame *f, const narrow_maxsim_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.Q.shape, f->in.Q.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.D.shape, f->in.D.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.Q.shape[0];
    const int64_t extent_j = f->extent_j = f->in.Q.shape[1];
    const int64_t extent_k = f->extent_k = meet(f->in.Q.shape[2], f->in.D.shape[2]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = f->in.D.shape[0];
    const int64_t extent_n = f->extent_n = f->in.D.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_m)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_m > 0 && extent_j > 0 && extent_n < 1)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_i);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(8, extent_m);
    f->units_1 = size_mul(size_ceil_div(extent_i, tile_1_1), size_ceil_div(extent_m, tile_1_2));
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(size_mul(extent_j, tile_1_1), 15), 32),
            32), 16);
    const int64_t at_panels_1 = f->at_panels_1 = size_align(size_mul(size_mul(row_tmp1, tile_1_2), 4), 64);
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j), 32),
            size_align(size_ceil_div(extent_k, 2), 16)), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_add(size_mul(size_min(1,
            size_div(size_mul(size_align(size_mul(tile_1_1, extent_j), 32),
            size_align(size_ceil_div(extent_k, 2), 16)), 327681)), 6),
            size_min(1, size_div(size_mul(size_align(size_mul(tile_1_1, extent_j), 32),
            size_align(size_ceil_div(extent_k, 2), 16)), 6145)))),
            size_add(size_align(size_ceil_div(extent_k, 2), 16), 16)), 128), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(size_align(size_ceil_div(extent_k, 2), 16), 129)),
            size_align(size_mul(tile_1_1, extent_j), 32)), 1024), 64));
    const int64_t at_largest_1_1 = f->at_largest_1_1 = size_add(at_panels_of_1, 64);
    f->per_worker = size_add(at_largest_1_1, size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j),
            32), size_min(16, tile_1_2)), 4), 64));
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(extent_i, extent_j),
            extent_k), extent_m), extent_n), 32768), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int narrow_maxsim_workspace(const narrow_maxsim_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int narrow_maxsim(const narrow_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    if (EINC_TILES && !has_tiles())
        return BAD_MACHINE;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_1) = -1;
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
