/* einc compile 'ijk,mnk->ijmn | max n | sum j' -o maxsim_in_parts.c --precision bf16x6 --target amx
 *
 *     ijk, mnk -> ijmn | max n | sum j
 *
 * target amx, 16 lanes
 * launch 1: block of i: tile_1_1 = min(64, i), block of m: tile_1_2 = min(8, m)
 *   step 1: store tmp1[i,j,m] = max[n](sum[k](A[i,j,k] * B[m,n,k]))
 *     tiles of 14 x 32: rows n, columns i j, contracted k, rows in place
 *     loops i m j, 16 lanes along j
 *   step 2: store out[i,m] = sum[j](tmp1[i,j,m])
 *     loops i m, 16 lanes along j
 *   where all numbers have 3 parts of bf16: tiles of 32 x 32, products of parts
 * tmp1: a block, row_tmp1 * tile_1_2 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_2 * 4, 64) + align(align(tile_1_1 * j, 32) * k * 4, 64)
 *         + align((1 + min(1, align(tile_1_1 * j, 32) * k / 327681) * 7) * (k + 16) * 56, 64)
 *         + align(min(1, k / 1025) * align(tile_1_1 * j, 32) * 448, 64) + 64 + align(align(tile_1_1 * j, 32) * 4, 64)
 *         + align(align(tile_1_1 * j, 32) * ceil(ceil(k / 2) / 16) * 192, 64)
 *         + align((1 + min(1, align(tile_1_1 * j, 32) * ceil(ceil(k / 2) / 16) * 48 / 327681) * 7) * (ceil(ceil(k / 2) / 16) * 48 + 16) * 256, 64) + align(min(1, ceil(ceil(k / 2) / 16) * 48 / 193) * align(tile_1_1 * j, 32) * 1024, 64) + 64 + align(align(tile_1_1 * j, 32) * min(16, tile_1_2) * 4, 64) + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef MAXSIM_IN_PARTS_H
#define MAXSIM_IN_PARTS_H
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
typedef struct maxsim_in_parts_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } B;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} maxsim_in_parts_args;

/* The bytes of workspace that maxsim_in_parts() wants for these shapes and so many workers. 0, or why not. */
int maxsim_in_parts_workspace(const maxsim_in_parts_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -6 a machine that lacks what this is for, or whose system does not allow it (nothing was written),
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int maxsim_in_parts(const maxsim_in_parts_args *args, void *workspace, size_t bytes, const einc_host *host);

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

INLINE i32v splat_i32v(int32_t x)
{
#if EINC_VECTORS
    i32v zero = {0};
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

INLINE i32v min_i32v(i32v a, i32v b)
{
#if EINC_VECTORS && LANES >= 4 && LANES <= 16
    i32v r;
    __asm__("vpminsd %1, %2, %0" : "=v"(r) : "v"(b), "v"(a));
    return r;
#else
    return select_i32v(a < b, a, b);
#endif
}

INLINE i32v max_i32v(i32v a, i32v b)
{
#if EINC_VECTORS && LANES >= 4 && LANES <= 16
    i32v r;
    __asm__("vpmaxsd %1, %2, %0" : "=v"(r) : "v"(b), "v"(a));
    return r;
#else
    return select_i32v(a > b, a, b);
#endif
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

/* The nearest number of bf16, of two the greater in size, in the upper half of a word; x is what that leaves. */
INLINE u32v part_bf16v(f32v *x)
{
    const u32v part = (bits_f32v(*x) + 0x8000) & 0xFFFF0000;
    *x = *x - from_bits_f32v(part);
    return part;
}

/* Words of two points each, one for each part of their numbers, so many words behind each other. */
INLINE void store_parts_bf16v(u32u *to, f32v low, f32v high, const int parts, int64_t apart, int lanes)
{
    UNROLL
    for (int part = 0; part < parts; part++) {
        const u32v word = part_bf16v(&low) >> 16;
        store_u32v(to + part * apart, 1, word | part_bf16v(&high), lanes);
    }
}

/* Keeps the greatest size of the numbers so far, and the least: as a number with a sign of which 0's is the greatest of all. */
INLINE void note_sizes(i32v *most, i32v *least, f32v x)
{
    const u32v size = bits_f32v(x) & 0x7FFFFFFF;
    *most = max_i32v(*most, (i32v)size);
    *least = min_i32v(*least, (i32v)(size + 0x7FFFFFFF));
}

/* Not 0 in lanes where a number was neither 0 nor of a size between 2^-40 and 2^40: others have parts too small for a unit that
 * takes denormal numbers for 0, or products whose sum may overflow. */
INLINE u32v odd_sizes(i32v most, i32v least)
{
    return (u32v)(most > 0x53800000) | (u32v)(least < -0x54800001);
}

/* Whether a lane is not 0. */
INLINE int any_u32v(u32v x)
{
    uint32_t lanes[LANES], any = 0;
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        any |= lanes[l];
    return any != 0;
}

/* Rows that are cut into parts a few blocks of 32 numbers at a time, while others are multiplied. */
typedef struct Cutting {
    const f32u *from;             /* the next block, */
    int64_t from_step;            /* and how far a row's end is from the next row */
    u32u *to, *packed[2];         /* in turns: rows that are cut, and those that are multiplied */
    int64_t to_step;
    int64_t row, blocks;          /* blocks of a row: to come, and all */
    int64_t left, share;          /* blocks of all rows to come, and how many at a time */
    i32v most, least;             /* sizes */
} Cutting;

/* For rows of so many blocks, with none for rows that are not cut so; packed in two places, so many words apart. */
INLINE void cut_begin(Cutting *c, u32u *packed, int64_t apart, int64_t blocks, int64_t from_step, int64_t to_step)
{
    memset(c, 0, sizeof *c);
    c->to = c->packed[0] = packed;
    c->packed[1] = packed + apart;
    c->blocks = blocks;
    c->from_step = from_step;
    c->to_step = to_step;
}

/* The rows from `from` on are next, in `shares`; those that were go where they are multiplied. */
INLINE void cut_next(Cutting *c, const f32u *from, int64_t rows, int64_t shares)
{
    u32u *to = c->packed[0];
    c->packed[0] = c->packed[1];
    c->packed[1] = c->to = to;
    c->from = from;
    c->row = c->blocks;
    c->left = rows * c->blocks;
    c->share = size_ceil_div(c->left, shares);
}

/* Cuts so many blocks. */
INLINE void cut_some(Cutting *c, int64_t some, const int parts)
{
    const f32u *from = c->from;
    u32u *to = c->to;
    int64_t row = c->row;
    i32v most = c->most, least = c->least;
    some = size_min(some, c->left);
    c->left -= some;
    for (; some > 0; some--) {
        for (int word = 0; word < 16; word += LANES) {
            const f32v low = load_f32v(from + word, 1, LANES), high = load_f32v(from + word + 16, 1, LANES);
            note_sizes(&most, &least, low);
            note_sizes(&most, &least, high);
            store_parts_bf16v(to + word, low, high, parts, 16, LANES);
        }
        from += 32;
        to += 16 * parts;
        if (--row == 0) {
            row = c->blocks;
            from += c->from_step;
            to += c->to_step;
        }
    }
    c->from = from, c->to = to, c->row = row;
    c->most = most, c->least = least;
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
    maxsim_in_parts_args in;    /* strides of axes of size 1 are 0 here */
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
    int64_t at_panels_3;
    int64_t at_packed_3;
    int64_t at_kept_3;
    int64_t at_panels_of_3;
    int64_t at_largest_1_3;
    int64_t at_odd_3;
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

/* tmp1[i,j,m] = max[n](sum[k](A[i,j,k] * B[m,n,k])) */
enum { ROWS_1 = 14, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 327680, BLOCK_1 = 8 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t i, int64_t j, int64_t depth, int64_t tile_place,
        int64_t place, int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        float *to = panels_1 + tile_place * depth + from_point * COLUMNS_1 + place - tile_place + v * LANES;
        for (int64_t k = from_point; k < to_point; k += LANES) {
            const int lanes = (int)size_min(LANES, to_point - k);
            const f32u *from = A + i * A_0 + (j + v * LANES) * A_1 + k * A_2;
            turn_f32(to, COLUMNS_1, 1, from, A_1, A_2, (int)size_min(LANES, count - v * LANES), lanes, from
                    + LANES * (A_1), A_1);
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
    UNROLL_TWICE
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
            f32v left = splat_f32v(*at);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                sums[r][v] = fma_f32v(right[v], left, sums[r][v]);
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
        int64_t kept_step, const Frame *f, char *own, int64_t tile_place)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    if (!kept) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            f32v largest = load_f32v(largest_1_1 + tile_place + v * LANES, 1, LANES);
            largest = max_all_f32v(largest, &sums[0][v], ROWS_1, VECTORS_1, height);
            store_f32v(largest_1_1 + tile_place + v * LANES, 1, largest, LANES);
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
KERNEL static void finish_1(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t m, int64_t i,
        int64_t j, int64_t place, int count)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        f32v largest = load_f32v(largest_1_1 + place + v * LANES, 1, lanes);
        store_f32v(tmp1 + (i - i_first) * tmp1_0 + j_lanes + (m - m_first) * tmp1_2, 1, largest, lanes);
    }
}

/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n, at_panels_1 = f->at_panels_1;
    const int64_t at_packed_1 = f->at_packed_1, at_kept_1 = f->at_kept_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1, at_largest_1_1 = f->at_largest_1_1;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2], tmp1_0 = extent_j;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    const int64_t depth = extent_k;
    const int64_t columns = (i_end - i_first) * extent_j, places = size_align(columns, COLUMNS_1);
    int64_t width = extent_j;
    if (A_0 == A_1 * extent_j && tmp1_0 == 1 * extent_j)
        width *= i_end - i_first;
    const int64_t columns_at = i_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 256) {
            const int64_t to_point = size_min(from_point + 256, extent_k);
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
            if (tiles > 4 && k_step * 4 >= 64) {
                pack_rows_1(f, own, m, n, depth, height);
                rows = packed_1;
                row_step = depth + 16;
                k_step = 1;
            }
            /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. */
            const char *ahead = (const char *)(rows + (tiles < 4 ? 2 : 1) * height * row_step);
            const int64_t ahead_step =
                block > 1 ? COLUMNS_1 * 4 / (2 * (n_stop - n_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                        : (BLOCK_1 + 1) / 2) :
                k_step == 1 ? size_ceil_div(height * 4, tiles) : 0;
            do {
                points = size_even(depth - done, DEPTH_1);
                float *kept = points < depth ? kept_1 : NULL;
                const int is_last = done + points >= depth;
                for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                    if (block > 1)
                        ahead = (const char *)(panels_1 + (tile_place + COLUMNS_1) * depth + done * COLUMNS_1);
                    for (n = n_block; n < n_stop; n += height) {
                        height = (int)size_next(n_stop - n, ROWS_1, ROWS_1);
                        const f32u *here = rows + (n - n_block) * row_step + done * k_step;
                        tile_1(height, here, row_step, k_step, panels_1 + tile_place * depth + done * COLUMNS_1,
                                points, ahead, ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, is_last ? NULL
                                : kept, COLUMNS_1, f, own, tile_place);
                        kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                        ahead += points * ahead_step;
                    }
                }
                done += points;
            } while (done < depth);
        }
        for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
            const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
            for (int64_t place = tile_place; place < tile_end;) {
                const int count = (int)size_min(width - place % width, tile_end - place);
                const int64_t j = place % width;
                const int64_t i = i_first + (place - place % width) / extent_j;
                finish_1(f, own, i_first, m_first, m, i, j, place, count);
                place += count;
            }
        }
    }
}

/* tmp1[i,j,m] = max[n](sum[k](A[i,j,k] * B[m,n,k])) */
enum { ROWS_3 = 32, VECTORS_3 = 2, COLUMNS_3 = VECTORS_3 * LANES, DEPTH_3 = 192, NEAR_3 = 327680, BLOCK_3 = 8,
        RUN_3 = 16 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_3(const Frame *f, char *own, int64_t i, int64_t j, int64_t depth, int64_t tile_place,
        int64_t place, int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_3 = f->at_panels_3, at_odd_3 = f->at_odd_3;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    float *panels_3 = (float *)(own + at_panels_3);
    int64_t *odd_3 = (int64_t *)(own + at_odd_3);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        u32u *panel = (u32u *)panels_3 + tile_place * depth + place - tile_place + v * LANES;
        i32v most = splat_i32v(0), least = splat_i32v(0);    /* sizes */
        int64_t k = from_point;
        for (; A_2 == 1 && k + 32 <= to_point; k += 32) {
            uint32_t turned[LANES * 48];
            for (int c = 0; c < lanes; c++) {
                const f32u *from = A + i * A_0 + j_lanes * A_1 + k * A_2 + c * A_1;
                for (int word = 0; word < 16; word += LANES) {
                    const f32v both[] = { load_f32v(from + word, 1, LANES), load_f32v(from + word + 16, 1, LANES) };
                    note_sizes(&most, &least, both[0]);
                    note_sizes(&most, &least, both[1]);
                    store_parts_bf16v((u32u *)turned + c * 48 + word, both[0], both[1], 3, 16, LANES);
                }
            }
            turn_words(panel + k / 32 * 48 * COLUMNS_3, COLUMNS_3, turned, 48 * 4, lanes, 48);
        }
        for (; k < to_point; k += 32) {
            for (int word = 0; word < 16; word++) {
                f32v both[2] = { splat_f32v(0), splat_f32v(0) };
                for (int half = 0; half < 2 && k + word + 16 * half < to_point; half++) {
                    const int64_t k_at = k + word + 16 * half;
                    both[half] = load_f32v(A + i * A_0 + j_lanes * A_1 + k_at * A_2, A_1, lanes);
                }
                note_sizes(&most, &least, both[0]);
                note_sizes(&most, &least, both[1]);
                store_parts_bf16v(panel + (k / 32 * 48 + word) * COLUMNS_3, both[0], both[1], 3, 16 * COLUMNS_3,
                        lanes);
            }
        }
        *odd_3 |= any_u32v(odd_sizes(most, least));
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_3(const Frame *f, char *own, int64_t m, int64_t n, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_3 = f->at_packed_3;
    const int64_t at_odd_3 = f->at_odd_3;
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2];
    float *packed_3 = (float *)(own + at_packed_3);
    int64_t *odd_3 = (int64_t *)(own + at_odd_3);
    i32v most = splat_i32v(0), least = splat_i32v(0);    /* sizes */
    for (int r = 0; r < height; r++) {
        const int64_t n_at = n + r;
        u32u *to = (u32u *)((uint16_t *)packed_3 + r * (depth * 2 + 32));
        int64_t k = 0;
        for (; k + 32 <= extent_k; k += 32, to += 48) {
            for (int word = 0; word < 16; word += LANES) {
                f32v both[2];
                UNROLL
                for (int half = 0; half < 2; half++) {
                    const int64_t k_at = k + word + 16 * half;
                    both[half] = load_f32v(B + m * B_0 + n_at * B_1 + k_at * B_2, B_2, LANES);
                }
                note_sizes(&most, &least, both[0]);
                note_sizes(&most, &least, both[1]);
                store_parts_bf16v(to + word, both[0], both[1], 3, 16, LANES);
            }
        }
        for (int word = 0; word < 16 && k < extent_k; word += LANES) {
            f32v both[2] = { splat_f32v(0), splat_f32v(0) };
            for (int half = 0; half < 2 && k + word + 16 * half < extent_k; half++) {
                const int64_t k_at_2 = k + word + 16 * half;
                const int lanes = (int)size_min(LANES, extent_k - k_at_2);
                both[half] = select_f32v(first_boolv(lanes),
                        load_f32v(B + m * B_0 + n_at * B_1 + k_at_2 * B_2, B_2, lanes), both[half]);
            }
            note_sizes(&most, &least, both[0]);
            note_sizes(&most, &least, both[1]);
            store_parts_bf16v(to + word, both[0], both[1], 3, 16, LANES);
        }
    }
    *odd_3 |= any_u32v(odd_sizes(most, least));
}

#define DOT_3 TILE_DOT_BF16
#define BEGIN_3 TILE_BEGIN
/* Which parts of numbers are multiplied, in this order. */
enum { PARTS_3 = 3, PAIRS_3 = 6 };
static const unsigned char row_parts_3[] = { 0, 0, 1, 1, 2, 0 };
static const unsigned char column_parts_3[] = { 2, 1, 1, 0, 0, 0 };

/* Cuts a share of the rows to come. */
KERNEL static void cut_3(Cutting *cutting)
{
    cut_some(cutting, cutting->share, PARTS_3);
}
/* What a tile's products are of: rows, the lower ones of them from `lower` on, and a panel. Meanwhile what is needed next
 * comes nearer: `ahead`, so many bytes for each word, of a stream `by_pages`. */
typedef struct Factors_3 {
    const bf16u *rows;
    int64_t row_step, k_step, lower;
    const u32u *panel;
    int64_t depth;
    const char *ahead;
    int64_t ahead_step;
    int by_pages;
    Cutting *cutting;
} Factors_3;

/* One of the `shares` of what is to come nearer with a tile: all lines where they follow each other, else two for a word. */
INLINE void bring_3(const Factors_3 *from, int share, int shares)
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
INLINE void multiply_one_3(TileRegisters *registers, const Factors_3 *from, int64_t k, const int pair,
                           const int number, const int both, const int begins, f32v (*last)[VECTORS_3],
                           int64_t last_lower)
{
    const bf16u *rows = from->rows + (k + TILE_WORDS * row_parts_3[pair]) * from->k_step;
    const u32u *panel = from->panel + (k + TILE_WORDS * column_parts_3[pair]) * COLUMNS_3;
    const int new_rows = pair == 0 || row_parts_3[pair] != row_parts_3[pair - 1];
    const int new_columns = pair == 0 || column_parts_3[pair] != column_parts_3[pair - 1];
    const int64_t apart = from->row_step * (int64_t)sizeof *rows, across = COLUMNS_3 * 4;
    char *const to = begins ? (char *)(last + number / 2 * last_lower) + number % 2 * 64 : NULL;
    (void)registers;
    if (number == 0 && new_rows)
        TILE_LOAD(registers, 4, rows, apart);
    if (number == 0 && new_columns)
        TILE_LOAD(registers, 6, panel, across);
    if (number == 0 && COLUMNS_3 > TILE_WORDS && new_columns)
        TILE_LOAD(registers, 7, panel + TILE_WORDS, across);
    if (number == 0 && both && new_rows)
        TILE_LOAD(registers, 5, rows + from->lower * from->row_step, apart);
    switch (number) {
    case 0:
        if (begins)
            TILE_RENEW(registers, 0, to, across);
        DOT_3(registers, 0, 4, 6);
        break;
    case 1:
        if (begins && COLUMNS_3 > TILE_WORDS)
            TILE_RENEW(registers, 1, to, across);
        if (COLUMNS_3 > TILE_WORDS)
            DOT_3(registers, 1, 4, 7);
        break;
    case 2:
        if (begins)
            TILE_RENEW(registers, 2, to, across);
        if (both)
            DOT_3(registers, 2, 5, 6);
        break;
    default:
        if (begins && COLUMNS_3 > TILE_WORDS)
            TILE_RENEW(registers, 3, to, across);
        if (both && COLUMNS_3 > TILE_WORDS)
            DOT_3(registers, 3, 5, 7);
    }
}

/* One after the other. */
INLINE void multiply_3(TileRegisters *registers, const Factors_3 *from, int64_t k, const int pair, const int both,
                       const int begins, f32v (*last)[VECTORS_3], int64_t last_lower)
{
    UNROLL
    for (int number = 0; number < 4; number++) {
        multiply_one_3(registers, from, k, pair, number, both, begins, last, last_lower);
    }
    cut_3(from->cutting);
}

/* The other pairs of the words from k on. */
INLINE void multiply_others_3(TileRegisters *registers, const Factors_3 *from, int64_t k, const int both)
{
    UNROLL
    for (int pair = 1; pair < PAIRS_3; pair++)
        multiply_3(registers, from, k, pair, both, 0, NULL, 0);
}

/* Words of a tile from k to `end`. */
INLINE void multiply_words_3(TileRegisters *registers, const Factors_3 *from, int64_t k, int64_t end, const int both)
{
    for (; k < end; k += PARTS_3 * TILE_WORDS) {
        multiply_3(registers, from, k, 0, both, 0, NULL, 0);
        multiply_others_3(registers, from, k, both);
    }
}

/* All words from k on: of many, addresses that are made anew for each few of them take as long as the products. */
INLINE void multiply_rest_3(TileRegisters *registers, const Factors_3 *from, int64_t k, const int both)
{
    enum { STEP = PARTS_3 * TILE_WORDS };
    Factors_3 at = *from;
    at.rows += k * from->k_step;
    at.panel += k * COLUMNS_3;
    for (; k < from->depth; k += STEP) {
        multiply_words_3(registers, &at, 0, STEP, both);
        at.rows += STEP * from->k_step;
        at.panel += STEP * COLUMNS_3;
    }
}

/* The loop stands twice, so that nothing is asked between products. */
INLINE void go_through_3(TileRegisters *registers, const Factors_3 *from, int64_t k)
{
    if (from->lower > 0)
        multiply_rest_3(registers, from, k, 1);
    else
        multiply_rest_3(registers, from, k, 0);
}

/* Adds a tile's products to the sums from `start` on; they are kept. What becomes of rows that a tile has not does not
 * matter, but there is room for TILE_ROWS. */
INLINE void add_3(TileRegisters *registers, const Factors_3 *from, const f32u *start, int64_t start_step, f32u *kept,
                  int64_t kept_step)
{
    const int64_t lower = from->lower > 0 ? from->lower : 0;
    const f32u *lower_start = start + lower * start_step;
    BEGIN_3(registers, 0, start, 4 * start_step);
    if (from->lower > 0)
        BEGIN_3(registers, 2, lower_start, 4 * start_step);
    if (COLUMNS_3 > TILE_WORDS) {
        BEGIN_3(registers, 1, start + TILE_WORDS, 4 * start_step);
        if (from->lower > 0)
            BEGIN_3(registers, 3, lower_start + TILE_WORDS, 4 * start_step);
    }
    bring_3(from, 0, 1);
    go_through_3(registers, from, 0);
    f32u *lower_kept = kept + lower * kept_step;
    TILE_STORE(registers, 0, kept, 4 * kept_step);
    if (from->lower > 0)
        TILE_STORE(registers, 2, lower_kept, 4 * kept_step);
    if (COLUMNS_3 > TILE_WORDS) {
        TILE_STORE(registers, 1, kept + TILE_WORDS, 4 * kept_step);
        if (from->lower > 0)
            TILE_STORE(registers, 3, lower_kept + TILE_WORDS, 4 * kept_step);
    }
}

/* Stores the sums that wait in the registers, which are 0 then. */
INLINE void renew_3(TileRegisters *registers, f32v (*last)[VECTORS_3], int64_t lower)
{
    (void)registers;
    TILE_RENEW(registers, 0, last[0], COLUMNS_3 * 4);
    TILE_RENEW(registers, 2, last[lower], COLUMNS_3 * 4);
    if (COLUMNS_3 > TILE_WORDS) {
        TILE_RENEW(registers, 1, (char *)last[0] + 64, COLUMNS_3 * 4);
        TILE_RENEW(registers, 3, (char *)last[lower] + 64, COLUMNS_3 * 4);
    }
}

/* Begins a tile; the sums of the one before go to `last`. Back comes how many words are multiplied: so many that those sums
 * are there while others remain. */
INLINE int64_t begin_3(TileRegisters *registers, const Factors_3 *from, f32v (*last)[VECTORS_3], int64_t lower)
{
    const int64_t some = PARTS_3 * TILE_WORDS,
            words = size_min(from->depth, from->depth > 2 * some ? 2 * some : some);
    if (words == 0) {
        renew_3(registers, last, lower);
    } else if (from->lower > 0) {
        multiply_3(registers, from, 0, 0, 1, 1, last, lower);
        multiply_others_3(registers, from, 0, 1);
        multiply_words_3(registers, from, some, words, 1);
    } else {
        multiply_3(registers, from, 0, 0, 0, 1, last, lower);
        multiply_others_3(registers, from, 0, 0);
        multiply_words_3(registers, from, some, words, 0);
    }
    return words;
}

/* The same from k to `end`. */
INLINE void go_on_3(TileRegisters *registers, const Factors_3 *from, int64_t k, int64_t end)
{
    if (from->lower > 0)
        multiply_words_3(registers, from, k, end, 1);
    else
        multiply_words_3(registers, from, k, end, 0);
}

/* The rows that a tile has not are as its last one. */
INLINE void complete_3(int height, int v, f32v (*sums)[VECTORS_3])
{
    for (int r = height; r < ROWS_3; r++)
        sums[r][v] = sums[height - 1][v];
}

/* Takes a tile's sums in one of the vectors. */
INLINE void take_3(int height, int64_t place, int v, f32v (*sums)[VECTORS_3], const Frame *f, char *own)
{
    complete_3(height, v, sums);
    const int64_t at_largest_1_3 = f->at_largest_1_3;
    float *largest_1_3 = (float *)(own + at_largest_1_3);
    const int64_t tile_place = place;
    f32v largest = load_f32v(largest_1_3 + tile_place + v * LANES, 1, LANES);
    largest = max_rows_f32v(largest, &sums[0][v], ROWS_3, VECTORS_3);
    store_f32v(largest_1_3 + tile_place + v * LANES, 1, largest, LANES);
}

/* The same for so many rows of a tile. */
INLINE void take_some_3(int height, int64_t place, int v, f32v (*sums)[VECTORS_3], const Frame *f, char *own)
{
    const int64_t at_largest_1_3 = f->at_largest_1_3;
    float *largest_1_3 = (float *)(own + at_largest_1_3);
    const int64_t tile_place = place;
    f32v largest = load_f32v(largest_1_3 + tile_place + v * LANES, 1, LANES);
    largest = max_some_f32v(largest, &sums[0][v], height, VECTORS_3);
    store_f32v(largest_1_3 + tile_place + v * LANES, 1, largest, LANES);
}

/* Takes the sums of a tile in which rows of several points follow each other. */
INLINE void take_each_3(Pending taken, int v, f32v (*sums)[VECTORS_3], const Frame *f, char *own)
{
    for (int first = 0, rows; first < taken.height; first += rows) {
        rows = (int)size_min(taken.rows_left, taken.height - first);
        take_some_3(rows, taken.place, v, sums + first, f, own);
        taken.rows_left = taken.rows_each;
        taken.place += taken.places;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product, when the next tile is on its way. */
INLINE void tile_3(int height, const bf16u *rows, int64_t row_step, int64_t k_step, const u32u *panel, int64_t depth,
        const char *ahead, int64_t ahead_step, int by_pages, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step, TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_3], int64_t place,
        int64_t rows_left, Cutting *cutting, const Frame *f, char *own)
{
    const Factors_3 from = { rows, row_step, k_step, height - TILE_ROWS, panel, depth, ahead, ahead_step, by_pages,
            cutting };
    if (kept) {
        add_3(registers, &from, start, start_step, kept, kept_step);
        return;
    }
    int64_t words = depth;
    if (start_step)
        add_3(registers, &from, start, start_step, (f32u *)sums, COLUMNS_3);
    else
        words = begin_3(registers, &from, sums, pending->lower);
    const Pending now = { height, from.lower > 0 ? from.lower : TILE_ROWS, place, rows_left, pending->rows_each,
            pending->places };
    const Pending taken = start_step ? now : *pending;
    UNROLL
    for (int v = 0; v < VECTORS_3; v++) {
        if (!start_step)
            bring_3(&from, v, VECTORS_3);
        if (taken.height && taken.height <= taken.rows_left)
            take_3(taken.height, taken.place, v, sums, f, own);
        else if (taken.height)
            take_each_3(taken, v, sums, f, own);
        const int64_t end = size_min(depth, words + PARTS_3 * TILE_WORDS);
        go_on_3(registers, &from, words, end);
        words = end;
    }
    go_through_3(registers, &from, words);
    *pending = now;
    if (start_step)
        pending->height = 0;
}

/* The sums that still wait are taken. */
INLINE void leave_3(TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_3], const Frame *f, char *own)
{
    const Pending taken = *pending;
    renew_3(registers, sums, taken.lower);
    pending->height = 0;
    for (int v = 0; v < VECTORS_3; v++)
        if (taken.height && taken.height <= taken.rows_left)
            take_3(taken.height, taken.place, v, sums, f, own);
        else if (taken.height)
            take_each_3(taken, v, sums, f, own);
}


/* The columns' results. */
KERNEL static void finish_3(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t m, int64_t i,
        int64_t j, int64_t place, int64_t behind, int count)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    const int64_t at_largest_1_3 = f->at_largest_1_3;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    float *largest_1_3 = (float *)(own + at_largest_1_3);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        f32v largest = load_f32v(largest_1_3 + behind + place + v * LANES, 1, lanes);
        store_f32v(tmp1 + (i - i_first) * tmp1_0 + j_lanes + (m - m_first) * tmp1_2, 1, largest, lanes);
    }
}

/* The step for one unit of work. */
KERNEL static void step_3(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n, at_panels_3 = f->at_panels_3;
    const int64_t at_packed_3 = f->at_packed_3, at_kept_3 = f->at_kept_3;
    const int64_t at_panels_of_3 = f->at_panels_of_3, at_largest_1_3 = f->at_largest_1_3;
    const int64_t at_odd_3 = f->at_odd_3, A_0 = f->in.A.stride[0];
    const int64_t A_1 = f->in.A.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2], tmp1_0 = extent_j;
    float *panels_3 = (float *)(own + at_panels_3);
    float *packed_3 = (float *)(own + at_packed_3);
    float *kept_3 = (float *)(own + at_kept_3);
    int64_t *panels_of_3 = (int64_t *)(own + at_panels_of_3);
    float *largest_1_3 = (float *)(own + at_largest_1_3);
    int64_t *odd_3 = (int64_t *)(own + at_odd_3);
    const int64_t words = size_ceil_div(extent_k, 2), depth = size_ceil_div(words, 16) * 48;
    const int64_t columns = (i_end - i_first) * extent_j, places = size_align(columns, COLUMNS_3);
    int64_t width = extent_j;
    if (A_0 == A_1 * extent_j && tmp1_0 == 1 * extent_j)
        width *= i_end - i_first;
    float start[COLUMNS_3];
    for (int c = 0; c < COLUMNS_3; c++)
        start[c] = 0.0f;
    f32v sums[ROWS_3][VECTORS_3];
    TileRegisters registers;
    *odd_3 = 0;
    tiles_begin(&registers, COLUMNS_3);
    Pending pending = { 0, TILE_ROWS, 0, 0, extent_n, places };
    const int64_t columns_at = i_first;
    if (*panels_of_3 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_3 + (places - COLUMNS_3) * depth, 0, (size_t)(COLUMNS_3 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 32) {
            const int64_t to_point = size_min(from_point + 32, extent_k);
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_3) {
                const int64_t tile_end = size_min(tile_place + COLUMNS_3, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t j = place % width;
                    const int64_t i = i_first + (place - place % width) / extent_j;
                    pack_columns_3(f, own, i, j, depth, tile_place, place, from_point, to_point, count);
                    place += count;
                }
            }
        }
        if (*odd_3) {
            tiles_end();
            return;
        }
        *panels_of_3 = columns_at;
    }
    const int64_t tiles = places / COLUMNS_3;
    const int64_t block = depth * places > NEAR_3 ? BLOCK_3 : 1;
    int is_back = 1;
    Cutting cutting;
    cut_begin(&cutting, (u32u *)packed_3, block * ROWS_3 * (depth + 16),
            B_2 == 1 && extent_k % 32 == 0 ? extent_k / 32 : 0, B_1 - extent_k, 16);
    const int64_t spare = (size_align(extent_n, TILE_ROWS) - extent_n) * depth / 8;    /* cycles */
    const int follows = B_0 == extent_n * B_1;
    const int64_t run = follows && tiles * (100 - spare) < 300 ? RUN_3 : 1;
    for (int64_t m = m_first, m_stop; m < m_end;) {
        m_stop = size_min(m + run, m_end);
        const int64_t run_rows = (m_stop - m) * extent_n;
        for (int64_t place = 0; place < (m_stop - m) * places; place += LANES) {
            store_f32v(largest_1_3 + place, 1, splat_f32v(-INFINITY), LANES);
        }
        for (int64_t n_block = 0, n_stop; n_block < run_rows; n_block = n_stop) {
            int height = (int)size_next(run_rows - n_block, block * ROWS_3, ROWS_3);
            is_back = !is_back;    /* what was met last is nearest */
            int64_t n = n_block, done = 0, points;
            n_stop = n_block + height;
            const bf16u *rows = (const bf16u *)packed_3;
            const int64_t row_step = depth * 2 + 32, k_step = 2;
            if (cutting.blocks) {
                if (n_block == 0)
                    cut_next(&cutting, B + m * B_0 + n * B_1, height, 1);
                cut_some(&cutting, cutting.left, 3);
                *odd_3 |= any_u32v(odd_sizes(cutting.most, cutting.least));
                rows = (const bf16u *)cutting.packed[1];
                cut_next(&cutting, B + m * B_0 + n_stop * B_1, size_next(run_rows - n_stop, block * ROWS_3, ROWS_3),
                        size_max(tiles, 1) * size_ceil_div(height, ROWS_3) * (depth / 48) * PAIRS_3);
            } else {
                pack_rows_3(f, own, m, n, depth, height);
            }
            if (*odd_3) {
                tiles_end();
                return;
            }
            /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. */
            const char *ahead = (const char *)(B + m * B_0 + (n + (tiles < 4 ? 2 : 1) * height) * B_1);
            const int64_t ahead_step =
                block > 1 ? COLUMNS_3 * 4 / (2 * (n_stop - n_block) > BLOCK_3 * ROWS_3 ? BLOCK_3
                        : (BLOCK_3 + 1) / 2) :
                0 && k_step == 2 ? size_ceil_div(height * 8, tiles) : 0;
            do {
                points = size_even(depth - done, DEPTH_3);
                points = size_align(points, 48);
                float *kept = points < depth ? kept_3 : NULL;
                const int is_last = done + points >= depth;
                for (int64_t turn = 0; turn < tiles; turn++) {
                    const int64_t tile_place = (is_back ? tiles - 1 - turn : turn) * COLUMNS_3;
                    if (block > 1)
                        ahead = (const char *)(panels_3 + (tile_place + (is_back ? -1 : 1) * COLUMNS_3) * depth
                                + done * COLUMNS_3);
                    for (n = n_block; n < n_stop; n += height) {
                        height = (int)size_next(n_stop - n, ROWS_3, ROWS_3);
                        const bf16u *here = rows + (n - n_block) * row_step + done * k_step;
                        const int64_t nth = n / extent_n, rows_left = (nth + 1) * extent_n
                                - n;    /* of the run's points */
                        tile_3(height, here, row_step, k_step, (const u32u *)panels_3 + tile_place * depth
                                + done * COLUMNS_3, points, ahead, ahead_step, 0, done ? kept : start, done
                                ? COLUMNS_3 : 0, is_last ? NULL : kept, COLUMNS_3, &registers, &pending, sums,
                                tile_place + nth * places, rows_left, &cutting, f, own);
                        kept += points < depth ? ROWS_3 * COLUMNS_3 : 0;
                        ahead += points * ahead_step;
                    }
                }
                done += points;
            } while (done < depth);
        }
        leave_3(&registers, &pending, sums, f, own);
        for (int64_t behind = 0; m < m_stop; m++, behind += places) {
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_3) {
                const int64_t tile_end = size_min(tile_place + COLUMNS_3, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t j = place % width;
                    const int64_t i = i_first + (place - place % width) / extent_j;
                    finish_3(f, own, i_first, m_first, m, i, j, place, behind, count);
                    place += count;
                }
            }
        }
    }
    tiles_end();
}

/* The step with its numbers in parts; where they have none, as they are. */
KERNEL static void parts_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t at_odd_3 = f->at_odd_3;
    int64_t *odd_3 = (int64_t *)(own + at_odd_3);
    step_3(f, own, i_first, i_end, m_first, m_end);
    if (*odd_3)
        step_1(f, own, i_first, i_end, m_first, m_end);
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
        parts_1(f, own, i_first, i_end, m_first, m_end);
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
static int prepare(Frame *f, const maxsim_in_parts_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_j = f->extent_j = f->in.A.shape[1];
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[2], f->in.B.shape[2]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = f->in.B.shape[0];
    const int64_t extent_n = f->extent_n = f->in.B.shape[1];
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
            size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j), 32), extent_k), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(size_mul(tile_1_1, extent_j), 32), extent_k), 327681)), 7)),
            size_add(extent_k, 16)), 56), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 1025)),
            size_align(size_mul(tile_1_1, extent_j), 32)), 448), 64));
    const int64_t at_largest_1_1 = f->at_largest_1_1 = size_add(at_panels_of_1, 64);
    const int64_t at_panels_3 = f->at_panels_3 = size_add(at_largest_1_1,
            size_align(size_mul(size_align(size_mul(tile_1_1, extent_j), 32), 4), 64));
    const int64_t at_packed_3 = f->at_packed_3 = size_add(at_panels_3,
            size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j), 32),
            size_ceil_div(size_ceil_div(extent_k, 2), 16)), 192), 64));
    const int64_t at_kept_3 = f->at_kept_3 = size_add(at_packed_3,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j), 32),
            size_ceil_div(size_ceil_div(extent_k, 2), 16)), 48), 327681)), 7)),
            size_add(size_mul(size_ceil_div(size_ceil_div(extent_k, 2), 16), 48), 16)), 256), 64));
    const int64_t at_panels_of_3 = f->at_panels_of_3 = size_add(at_kept_3,
            size_align(size_mul(size_mul(size_min(1, size_div(size_mul(size_ceil_div(size_ceil_div(extent_k, 2), 16),
            48), 193)), size_align(size_mul(tile_1_1, extent_j), 32)), 1024), 64));
    const int64_t at_largest_1_3 = f->at_largest_1_3 = size_add(at_panels_of_3, 64);
    const int64_t at_odd_3 = f->at_odd_3 = size_add(at_largest_1_3,
            size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j), 32), size_min(16, tile_1_2)), 4),
            64));
    f->per_worker = size_add(at_odd_3, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(extent_i, extent_j),
            extent_k), extent_m), extent_n), 32768), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int maxsim_in_parts_workspace(const maxsim_in_parts_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int maxsim_in_parts(const maxsim_in_parts_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    const int64_t at_panels_of_1 = f->at_panels_of_1, at_panels_of_3 = f->at_panels_of_3;
    if (EINC_TILES && !has_tiles())
        return BAD_MACHINE;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_1) = -1;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_3) = -1;
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
