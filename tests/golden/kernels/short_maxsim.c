/* einc compile 'jk,mnk->jmn | max n | sum j' -o short_maxsim.c -d j=16,k=128,m=1000,n=180 --target avx512
 *
 *     jk, mnk -> jmn | max n | sum j
 *
 * target avx512, 16 lanes
 * launch 1: block of m: tile_1_1 = min(22, m)
 *   step 1: store tmp1[j,m] = max[n](sum[k](A[j,k] * B[m,n,k]))
 *     tiles of 12 x 16: rows n, columns j, contracted k, rows in place, two points at once
 *     loops m j, 16 lanes along j
 *   step 2: store out[m] = sum[j](tmp1[j,m])
 *     loops m, 16 lanes along j
 * tmp1: a block, row_tmp1 * tile_1_1 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_1 * 4, 64) + align(align(j, 16) * k * 4, 64)
 *         + align((1 + min(1, align(j, 16) * k / 163841) * 7) * (k + 16) * 48, 64)
 *         + align(min(1, k / 1025) * align(j, 16) * 384, 64) + 64 + align(align(j, 16) * 4, 64)) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef SHORT_MAXSIM_H
#define SHORT_MAXSIM_H
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
typedef struct short_maxsim_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } B;
    struct {    /* output, f32[m] */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} short_maxsim_args;

/* The bytes of workspace that short_maxsim() wants for these shapes and so many workers. 0, or why not. */
int short_maxsim_workspace(const short_maxsim_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int short_maxsim(const short_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* The same into the second cache, for what is read later than the first would keep it. */
#ifdef __GNUC__
#define PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)
#else
#define PREFETCH_FAR(p) ((void)(p))
#endif

/* A longer vector is in several registers. */
#define REGISTER_BYTES 64

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

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    short_maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t tile_1_1;
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

/* tmp1[j,m] = max[n](sum[k](A[j,k] * B[m,n,k])) */
enum { ROWS_1 = 12, VECTORS_1 = 1, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 163840, BLOCK_1 = 8,
        PAIRS_1 = 2 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t j, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        float *to = panels_1 + place * depth + from_point * COLUMNS_1 + v * LANES;
        for (int64_t k = from_point; k < to_point; k += LANES) {
            const int lanes = (int)size_min(LANES, to_point - k);
            const f32u *from = A + (j + v * LANES) * A_0 + k * A_1;
            turn_f32(to, COLUMNS_1, 1, from, A_0, A_1, (int)size_min(LANES, count - v * LANES), lanes, from
                    + LANES * (A_0), A_0);
            to += lanes * COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t m, int64_t n, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int r = 0; r < height; r++) {
        const int64_t n_at = n + r;
        float *to = packed_1 + r * (depth + 16);
        for (int64_t k = 0; k < extent_k; k += LANES) {
            const int lanes = (int)size_min(LANES, extent_k - k);
            store_f32v(to, 1, load_f32v(B + m * B_0 + n_at * B_1 + k * B_2, B_2, lanes), lanes);
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
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    UNROLL_SOME
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
        HOLD_STEPS(one, three, five);
        PREFETCH(ahead);
        PREFETCH_FAR(line_of_pages(ahead + PAGES_BYTES));
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
                sums[r][v] = fma_f32v(right[v], splat_f32v(*at), sums[r][v]);
            }
        }
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        panel += COLUMNS_1;
    }
}

/* The same for points that lie side by side in each row, two at a time, with what the sums start from. A pair of a row's
 * numbers is loaded at once for all lanes, and meets the panel's two rows woven, half of a vector's columns in each of PAIRS
 * vectors: so one load is for twice as many products. Lanes side by side then have sums of every other point, which are added
 * up at the end. */
INLINE void multiply_pairs_1(const int height, const f32u *rows, int64_t row_step, const float *panel, int64_t depth,
                             const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step,
                             f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    f32v parts[ROWS_1][PAIRS_1];
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < PAIRS_1; v++)
            parts[r][v] = splat_f32v(0);
    }
    UNROLL_TWICE
    for (int64_t k = 0; k + 2 <= depth; k += 2) {
        f32v right[PAIRS_1];
        HOLD_STEPS(one, three, five);
        UNROLL
        for (int point = 0; point < 2; point++) {
            PREFETCH(ahead);
            PREFETCH_FAR(line_of_pages(ahead + PAGES_BYTES));
            ahead += ahead_step;
        }
        UNROLL
        for (int v = 0; v < PAIRS_1 / 2; v++) {
            const f32v even = load_f32v(panel + v * LANES, 1, LANES),
                    odd = load_f32v(panel + COLUMNS_1 + v * LANES, 1, LANES);
            right[2 * v] = weave_f32v(even, odd, 0);
            right[2 * v + 1] = weave_f32v(even, odd, 1);
        }
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                continue;
            const f32v left = splat_pair_f32v((const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7));
            UNROLL
            for (int v = 0; v < PAIRS_1; v++) {
                parts[r][v] = fma_f32v(right[v], left, parts[r][v]);
            }
        }
        low += 2 * sizeof *rows;
        high += 2 * sizeof *rows;
        panel += 2 * COLUMNS_1;
    }
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < PAIRS_1 / 2; v++)
            sums[r][v] = add_pairs_f32v(parts[r][2 * v], parts[r][2 * v + 1]);
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_1; v++)
                sums[r][v] = sums[r][v] + load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
    if (depth % 2 != 0)
        multiply_1(height, (const f32u *)low, row_step, 1, panel, 1, ahead, ahead_step, sums);
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_1(int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
        int64_t depth, const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step, const Frame *f, char *own, int64_t place)
{
    f32v sums[ROWS_1][VECTORS_1];
    if (LANES >= 4 && k_step == 1) {
        if (height == ROWS_1)
            multiply_pairs_1(ROWS_1, rows, row_step, panel, depth, ahead, ahead_step, start, start_step, sums);
        else
            multiply_pairs_1(height, rows, row_step, panel, depth, ahead, ahead_step, start, start_step, sums);
    } else {
        begin_1(start, start_step, sums);
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    }
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    if (!kept) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            f32v largest = load_f32v(largest_1_1 + place + v * LANES, 1, LANES);
            largest = max_all_f32v(largest, &sums[0][v], ROWS_1, VECTORS_1, height);
            store_f32v(largest_1_1 + place + v * LANES, 1, largest, LANES);
        }
        return;
    }
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}


/* The columns' results. */
KERNEL static void finish_1(const Frame *f, char *own, int64_t m_first, int64_t m, int64_t j, int64_t place,
        int count)
{
    const int64_t row_tmp1 = f->row_tmp1, at_largest_1_1 = f->at_largest_1_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_1 = row_tmp1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        f32v largest = load_f32v(largest_1_1 + place + v * LANES, 1, lanes);
        store_f32v(tmp1 + j_lanes + (m - m_first) * tmp1_1, 1, largest, lanes);
    }
}

/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t m_first, int64_t m_end)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n, at_panels_1 = f->at_panels_1;
    const int64_t at_packed_1 = f->at_packed_1, at_kept_1 = f->at_kept_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1, at_largest_1_1 = f->at_largest_1_1;
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2];
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    const int64_t depth = extent_k;
    const int64_t columns = extent_j, places = size_align(columns, COLUMNS_1);
    const int64_t columns_at = 0;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 256) {
            const int64_t to_point = size_min(from_point + 256, extent_k);
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t j = place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                pack_columns_1(f, own, j, depth, place, from_point, to_point, count);
            }
        }
        *panels_of_1 = columns_at;
    }
    const int64_t tiles = places / COLUMNS_1;
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t m = m_first; m < m_end; m++) {
        for (int64_t place = 0; place < places; place += LANES) {
            store_f32v(largest_1_1 + place, 1, splat_f32v(-INFINITY), LANES);
        }
        for (int64_t n_block = 0, n_stop; n_block < extent_n; n_block = n_stop) {
            int height = (int)size_next(extent_n - n_block, block * ROWS_1, ROWS_1);
            int64_t n = n_block, done = 0, points;
            n_stop = n_block + height;
            const f32u *rows = B + m * B_0 + n * B_1;
            int64_t row_step = B_1, k_step = B_2;
            if (tiles > 4 && (row_step * 4 % 2048 == 0 || k_step * 4 >= 64)) {
                pack_rows_1(f, own, m, n, depth, height);
                rows = packed_1;
                row_step = depth + 16;
                k_step = 1;
            }
            /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. */
            const char *ahead = (const char *)(rows + height * row_step);
            const int64_t ahead_step =
                block > 1 ? COLUMNS_1 * 4 / (2 * (n_stop - n_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                        : (BLOCK_1 + 1) / 2) :
                k_step == 1 ? size_ceil_div(height * 4, tiles) : 0;
            do {
                points = size_even(depth - done, DEPTH_1);
                float *kept = points < depth ? kept_1 : NULL;
                const int is_last = done + points >= depth;
                for (int64_t place = 0; place < places; place += COLUMNS_1) {
                    if (block > 1)
                        ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                    for (n = n_block; n < n_stop; n += height) {
                        height = (int)size_next(n_stop - n, ROWS_1, ROWS_1);
                        const f32u *here = rows + (n - n_block) * row_step + done * k_step;
                        tile_1(height, here, row_step, k_step, panels_1 + place * depth + done * COLUMNS_1, points,
                                ahead, ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, is_last ? NULL : kept,
                                COLUMNS_1, f, own, place);
                        kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                        ahead += points * ahead_step;
                    }
                }
                done += points;
            } while (done < depth);
        }
        for (int64_t place = 0; place < places; place += COLUMNS_1) {
            const int64_t j = place;
            const int count = (int)size_min(COLUMNS_1, columns - place);
            finish_1(f, own, m_first, m, j, place, count);
        }
    }
}

/* out[m] = sum[j](tmp1[j,m]) */
INLINE void step_2_at(const Frame *f, char *own, int64_t m_first, int64_t m)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_1 = row_tmp1;
    f32v sum_lanes[4];
    UNROLL
    for (int chain = 0; chain < 4; chain++)
        sum_lanes[chain] = splat_f32v(0.0f);
    int64_t j_at = 0;
    for (; j_at + 4 * LANES <= extent_j; j_at += 4 * LANES) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * LANES;
            sum_lanes[chain] = sum_lanes[chain] + load_f32v(tmp1 + j + (m - m_first) * tmp1_1, 1, LANES);
        }
    }
    for (; j_at < extent_j; j_at += LANES) {
        const int count_2 = extent_j - j_at < LANES ? (int)(extent_j - j_at) : LANES;
        const f32v before = sum_lanes[0];
        sum_lanes[0] = sum_lanes[0] + load_f32v(tmp1 + j_at + (m - m_first) * tmp1_1, 1, count_2);
        sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
    }
    UNROLL
    for (int chain = 1; chain < 4; chain++)
        sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
    float sum = fold_sum_f32v(sum_lanes[0]);
    out[m * out_0] = sum;
}

KERNEL static void step_2(const Frame *frame, char *own, int64_t m_first, int64_t m_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    for (int64_t m = m_first; m < m_end; m++)
        step_2_at(f, own, m_first, m);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_m = f->extent_m, tile_1_1 = f->tile_1_1;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t m_first = unit * tile_1_1, m_end = size_min(m_first + tile_1_1, extent_m);
        step_1(f, own, m_first, m_end);
        step_2(f, own, m_first, m_end);
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
static int prepare(Frame *f, const short_maxsim_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 1))
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.A.shape[0];
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[1], f->in.B.shape[2]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = f->in.B.shape[0];
    const int64_t extent_n = f->extent_n = f->in.B.shape[1];
    if (f->in.out.shape[0] != extent_m)
        return BAD_SHAPES;
    if (extent_m > 0 && extent_j > 0 && extent_n < 1)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(22, extent_m);
    f->units_1 = size_ceil_div(extent_m, tile_1_1);
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(extent_j, 15), 32), 32), 16);
    const int64_t at_panels_1 = f->at_panels_1 = size_align(size_mul(size_mul(row_tmp1, tile_1_1), 4), 64);
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(extent_j, 16), extent_k), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(extent_j, 16), extent_k), 163841)), 7)), size_add(extent_k, 16)), 48), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 1025)), size_align(extent_j, 16)), 384), 64));
    const int64_t at_largest_1_1 = f->at_largest_1_1 = size_add(at_panels_of_1, 64);
    f->per_worker = size_add(at_largest_1_1, size_align(size_mul(size_align(extent_j, 16), 4), 64));
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(extent_j, extent_k), extent_m),
            extent_n), 32768), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int short_maxsim_workspace(const short_maxsim_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int short_maxsim(const short_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host)
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
