/* einc compile '(ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j' -o ranked.c
 *
 *     (ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j
 *
 * target portable, 4 lanes
 * launch 1: block of i: tile_1_1 = min(64, i)
 *   steps 1 to 2 for each block of j: sweep_1 = max(min(512, j), 1)
 *   step 1: store tmp1[i,j] = sum[k](pow(A[i,k] - B[j,k], 2))
 *     tiles of 6 x 8: rows j, columns i, contracted k, rows packed as vectors
 *     loops j i, 4 lanes along i
 *   step 2: rank out[i,j] = bottomk(10)[j](tmp1[i,j]) & out1[i,j] = argbottomk(10)[j](tmp1[i,j]), and of the best before
 *     loops i, 4 lanes along i
 * tmp1: a block, row_tmp1 * sweep_1 * 4 bytes
 * workspace workers * (align(row_tmp1 * sweep_1 * 4, 64) + align(align(tile_1_1, 8) * k * 4, 64)
 *         + align((1 + min(1, align(tile_1_1, 8) * k / 40961) * 5) * k * 96, 64)
 *         + align(min(1, k / 1025) * align(tile_1_1, 8) * 144, 64) + align((tile_1_1 * 42 + 16) * 4, 64)
 *         + align((tile_1_1 * 42 + 16) * 8, 64) + align(tile_1_1 * 4, 64) + align(tile_1_1 * 8, 64) + 256 + 512 + 8192) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef RANKED_H
#define RANKED_H
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
typedef struct ranked_args {
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
} ranked_args;

/* The bytes of workspace that ranked() wants for these shapes and so many workers. 0, or why not. */
int ranked_workspace(const ranked_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int ranked(const ranked_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__(())
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa))
#else
#define KERNEL
#endif

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
#define INLINE static inline __attribute__((always_inline, unused))
#else
#define INLINE static inline
#endif

/* Of what is long and seldom in a hurry one copy keeps the compile short. */
#if defined(__GNUC__) && !defined(__clang__)
#define APART static __attribute__((noinline, noclone, unused))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, unused))
#else
#define APART static
#endif

#if EINC_VECTORS
#define LANES 4
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

/* A vector stays in its register: gcc would load it again for each use, and loads are scarcer than copies. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
#define HOLD(x) __asm__("" : "+x"(x))
#else
#define HOLD(x) ((void)0)
#endif

/* Steps from row to row are as the compiler sees them: so few rows have a register each. */
#define HOLD_STEPS(one, three, five) ((void)0)

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

typedef int32_t i32u UNALIGNED;

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
    int32_t lanes[LANES], any = 0;
    memcpy(lanes, &m, sizeof lanes);
    UNROLL
    for (int l = 0; l < LANES; l++)
        any |= lanes[l];
    return any != 0;
}

/* A bit for each lane, set where it is true. */
INLINE uint32_t bits_boolv(boolv m)
{
    uint32_t bits = 0;
    if (any_boolv(m))
        for (int l = 0; l < LANES; l++)
            bits |= (uint32_t)(lane_boolv(m, l) != 0) << l;
    return bits;
}

/* One more in each lane that is true. */
INLINE i32v count_boolv(i32v count, boolv m)
{
#if EINC_VECTORS
    return count - m;
#else
    return count + m;
#endif
}

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

/* Whether every lane is true. */
INLINE int all_boolv(boolv m)
{
    return !any_boolv(not_boolv(m));
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
    if (stride != 1 || count != LANES)
        return load_lanes_u32v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store_u32v(void *p, int64_t stride, u32v x, int count)
{
    if (stride == 1 && count == LANES)
        memcpy(p, &x, sizeof x);
    else
        store_lanes_u32v(p, stride, x, count);
}

/* a * b + c, rounded once or twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
    CONTRACT
    return a * b + c;
}

/* The greater, and b where either is NaN. */
INLINE f32v greater_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return __builtin_ia32_maxps(a, b);
#else
    return select_f32v(a > b, a, b);
#endif
}

/* The lesser, and b where either is NaN. */
INLINE f32v lesser_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return __builtin_ia32_minps(a, b);
#else
    return select_f32v(a < b, a, b);
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

INLINE void store_i32v(i32u *p, int64_t stride, i32v x, int count)
{
    store_u32v(p, stride, (u32v)x, count);
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

INLINE int better_f32(int most, float x, float best)
{
    return x != x ? best == best : most ? x > best : x < best;
}

/* Whether x is better than y, or with `ties` as good; no NaN is. */
INLINE boolv ahead_f32v(int most, int ties, f32v x, f32v y)
{
    if (ties)
        return most ? x >= y : x <= y;
    return most ? x > y : x < y;
}

INLINE int unordered_f32(float x)
{
    return x != x;
}

/* The better, and y where either is NaN. */
INLINE f32v nearer_f32v(int most, f32v x, f32v y)
{
    return most ? greater_f32v(x, y) : lesser_f32v(x, y);
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    ranked_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_k;
    int64_t extent_j;
    int64_t tile_1_1;
    int64_t sweep_1;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t at_panels_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_ranked_2;
    int64_t at_ranked_place_2;
    int64_t at_bounds_2;
    int64_t at_candidates_2;
    int64_t at_sorted_2;
    int64_t at_sorted_place_2;
    int64_t at_row_2;
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

/* tmp1[i,j] = sum[k](pow(A[i,k] - B[j,k], 2)) */
enum { ROWS_1 = 6, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 40960, BLOCK_1 = 6 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t i, int64_t depth, int64_t place,
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
            const f32u *from = A + (i + v * LANES) * A_0 + k * A_1;
            turn_f32(to, COLUMNS_1, 1, from, A_0, A_1, (int)size_min(LANES, count - v * LANES), lanes, from
                    + LANES * (A_0), A_0);
            to += lanes * COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t j, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_1, ROWS_1);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t j_at = j + before + r;
            float *to = packed_1 + (before * depth + r) * LANES;
            for (int64_t k = 0; k < extent_k; k += LANES) {
                const int lanes = (int)size_min(LANES, extent_k - k);
                const f32v value = load_f32v(B + j_at * B_0 + k * B_1, B_1, lanes);
                for (int c = 0; c < lanes; c++)
                    store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value, c)), LANES);
                to += lanes * rows * LANES;
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
        ahead += ahead_step;
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            right[v] = load_f32v(panel + v * LANES, 1, LANES);
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = load_f32v(at, 1, LANES);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                const f32v base = right[v] - left;
                sums[r][v] = fma_f32v(base, base, sums[r][v]);
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
        int64_t kept_step, f32u *result, int64_t result_step)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, LANES, ROWS_1 * LANES, panel, depth, ahead, ahead_step, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    if (result) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            UNROLL
            for (int r = 0; r < ROWS_1; r++) {
                if (r >= height)
                    break;
                store_f32v(result + r * result_step + v * LANES, 1, sums[r][v], LANES);
            }
        }
        return;
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
KERNEL static void after_1(const Frame *f, char *own, int64_t i_first, int64_t j_first, int64_t j, int64_t i,
        int count, int height, const float *kept)
{
    const int64_t row_tmp1 = f->row_tmp1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_1 = row_tmp1;
    for (int r = 0; r < height; r++) {
        const int64_t j_at = j + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t i_lanes = i + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + v * LANES, 1, lanes);
            store_f32v(tmp1 + (i_lanes - i_first) + (j_at - j_first) * tmp1_1, 1, sum, lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t j_first, int64_t j_end)
{
    const int64_t extent_k = f->extent_k, row_tmp1 = f->row_tmp1;
    const int64_t at_panels_1 = f->at_panels_1, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_1 = row_tmp1;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    const int64_t depth = extent_k;
    const int64_t columns = i_end - i_first, places = size_align(columns, COLUMNS_1);
    float tile[ROWS_1 * COLUMNS_1];
    if (places > columns)    /* so that what is there is numbers */
        memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
    for (int64_t from_point = 0; from_point < extent_k; from_point += 256) {
        const int64_t to_point = size_min(from_point + 256, extent_k);
        for (int64_t place = 0; place < places; place += COLUMNS_1) {
            const int64_t i = i_first + place;
            const int count = (int)size_min(COLUMNS_1, columns - place);
            pack_columns_1(f, own, i, depth, place, from_point, to_point, count);
        }
    }
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t j_block = j_first, j_stop; j_block < j_end; j_block = j_stop) {
        int height = (int)size_next(j_end - j_block, block * ROWS_1, ROWS_1);
        int64_t j = j_block, done = 0, points;
        j_stop = j_block + height;
        pack_rows_1(f, own, j, depth, height);
        const f32u *const rows = packed_1;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. */
        const char *ahead = NULL;
        const int64_t ahead_step =
            block > 1 ? COLUMNS_1 * 4 / (2 * (j_stop - j_block) > BLOCK_1 * ROWS_1 ? BLOCK_1 : (BLOCK_1 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_1) * 4;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : tile;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t i = i_first + place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                if (block > 1)
                    ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                for (j = j_block; j < j_stop; j += height) {
                    height = (int)size_next(j_stop - j, ROWS_1, ROWS_1);
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (j - j_block) * tile_step + done * k_step;
                    if (block == 1)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_1
                                + (place + COLUMNS_1) * depth);
                    const int64_t result_step = tmp1_1;
                    f32u *result = NULL;
                    if (is_last && 1 == 1 && columns - place >= COLUMNS_1)
                        result = tmp1 + ((i_first + place) - i_first) + (j - j_first) * tmp1_1;
                    tile_1(height, here, row_step, k_step, panels_1 + place * depth + done * COLUMNS_1, points, ahead,
                            ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept, COLUMNS_1, result,
                            result_step);
                    if (is_last && !result)
                        after_1(f, own, i_first, j_first, j, i, count, height, kept);
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
    }
}

/* The best of a row, for bottomk(10)[j](tmp1[i,j]) */
enum { RANKS_2 = 10, MOST_2 = 0, VECTORS_2 = 4, SOME_2 = VECTORS_2 * LANES, RUN_2 = 256, BLOCK_2 = 512 };
enum { GROUPS_2 = (RANKS_2 * 3 / 2 + LANES - 1) / LANES, PARTS_2 = GROUPS_2 < 4 ? 4 : 1 };
enum { PLACES_2 = GROUPS_2 * LANES > RUN_2 ? GROUPS_2 * LANES : RUN_2 };
enum { ROOM_2 = 42 };

/* The candidates for a row's best elements. */
typedef struct Ranking_2 {
    float *values, *spare;        /* ROOM_2, and some that are read for nothing */
    int64_t *places, *spare_places;
    int64_t count;
    float bound;
    int exceeds;                  /* what is no better than the bound comes too late */
} Ranking_2;

/* How many of `count` values are better than each of some vectors of them. */
INLINE void count_better_2(const float *values, int count, int from, int32_t *order, const int vectors)
{
    f32v own[VECTORS_2];
    i32v better[VECTORS_2];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        own[v] = load_f32v(values + from + v * LANES, 1, LANES);
        better[v] = splat_i32v(0);
    }
    for (int other = 0; other < count; other++) {
        UNROLL
        for (int v = 0; v < vectors; v++)
            better[v] = count_boolv(better[v], ahead_f32v(MOST_2, 0, splat_f32v(values[other]), own[v]));
    }
    UNROLL
    for (int v = 0; v < vectors; v++)
        store_i32v(order + from + v * LANES, 1, better[v], LANES);
}

/* Where each of `count` values stands when they are sorted. Equals are better than as few, and are so many behind that as
 * came before. */
KERNEL static void order_2(const float *values, int count, int32_t *order)
{
    int32_t equals[PLACES_2];
    int odd = 0, seen = 0;
    for (int from = 0; from < count; from += SOME_2) {
        if (count - from <= LANES)
            count_better_2(values, count, from, order, 1);
        else
            count_better_2(values, count, from, order, VECTORS_2);
    }
    for (int c = 0; c < count; c++) {
        odd += unordered_f32(values[c]);
        equals[c] = 0;
    }
    for (int c = 0; c < count; c++) {
        const int32_t better = order[c];
        order[c] = unordered_f32(values[c]) ? seen++ : odd + better + equals[better]++;
    }
}

static void swap_2(Ranking_2 *r)
{
    float *values = r->values;
    int64_t *places = r->places;
    r->values = r->spare;
    r->places = r->spare_places;
    r->spare = values;
    r->spare_places = places;
}

/* Sorts pairs of neighbours of `width` candidates, each sorted. */
KERNEL static void merge_pairs_2(Ranking_2 *r, int64_t width)
{
    for (int64_t from = 0; from < r->count; from += 2 * width) {
        const int64_t half = size_min(from + width, r->count), end = size_min(half + width, r->count);
        int64_t first = from, second = half;
        for (int64_t at = from; at < end; at++) {
            const int later = second < end && (first == half
                    || better_f32(MOST_2, r->values[second], r->values[first]));
            const int64_t next = later ? second++ : first++;
            r->spare[at] = r->values[next];
            r->spare_places[at] = r->places[next];
        }
    }
    swap_2(r);
}

/* Sorts the candidates, best first, and keeps the best. */
KERNEL static void settle_2(Ranking_2 *r)
{
    for (int64_t from = 0; from < r->count; from += RUN_2) {
        int32_t order[RUN_2 + SOME_2];
        const int count = (int)size_min(RUN_2, r->count - from);
        order_2(r->values + from, count, order);
        for (int c = 0; c < count; c++) {
            r->spare[from + order[c]] = r->values[from + c];
            r->spare_places[from + order[c]] = r->places[from + c];
        }
    }
    swap_2(r);
    for (int64_t width = RUN_2; width < r->count; width *= 2)
        merge_pairs_2(r, width);
    if (r->count >= RANKS_2) {
        r->count = RANKS_2;
        r->bound = r->values[RANKS_2 - 1];
        r->exceeds = 1;
    }
}

/* What at least RANKS_2 of the elements reach: each of so many groups has one that does. A group is what one lane sees. */
KERNEL static float bound_2(const f32u *x, int64_t count)
{
    float best[GROUPS_2 * LANES + SOME_2];
    int32_t order[GROUPS_2 * LANES + SOME_2];
    f32v groups[GROUPS_2 * PARTS_2];
    UNROLL
    for (int g = 0; g < GROUPS_2 * PARTS_2; g++)
        groups[g] = load_f32v(x + g * LANES, 1, LANES);
    const int64_t step = GROUPS_2 * PARTS_2 * LANES;
    for (int64_t at = step; at + step <= count; at += step) {
        UNROLL
        for (int g = 0; g < GROUPS_2 * PARTS_2; g++)
            groups[g] = nearer_f32v(MOST_2, load_f32v(x + at + g * LANES, 1, LANES), groups[g]);
    }
    for (int g = 0; g < GROUPS_2; g++) {
        for (int p = 1; p < PARTS_2; p++)
            groups[g] = nearer_f32v(MOST_2, groups[p * GROUPS_2 + g], groups[g]);
        store_f32v(best + g * LANES, 1, groups[g], LANES);
    }
    order_2(best, GROUPS_2 * LANES, order);
    int last = 0;
    while (order[last] != RANKS_2 - 1)
        last++;
    return best[last];
}

/* A vector's elements that may be among the best, a bit for each. */
INLINE uint64_t chosen_2(const f32u *x, int lanes, float bound, const int exceeds)
{
    const boolv worse = ahead_f32v(MOST_2, exceeds, splat_f32v(bound), load_f32v(x, 1, lanes));
    return bits_boolv(not_boolv(worse)) & (0xffffffffu >> (32 - lanes));
}

/* Some of the elements at x become candidates. Gives how many there are then. */
INLINE int64_t add_2(Ranking_2 *r, int64_t filled, const f32u *x, uint64_t chosen, int64_t place)
{
    for (; chosen; chosen &= chosen - 1) {
        const int at = lowest_bit(chosen);
        r->values[filled] = x[at];
        r->places[filled++] = place + at;
    }
    return filled;
}

/* The elements at x as long as there is room for candidates. Gives how many it has seen. */
INLINE int64_t scan_2(Ranking_2 *r, const f32u *x, int64_t count, int64_t place, const int exceeds)
{
    const float bound = r->bound;
    int64_t filled = r->count, at = 0;
    for (; at + SOME_2 <= count && filled + SOME_2 <= ROOM_2; at += SOME_2) {
        boolv worse = first_boolv(LANES);
        UNROLL
        for (int v = 0; v < VECTORS_2; v++)
            worse = and_boolv(worse, ahead_f32v(MOST_2, exceeds, splat_f32v(bound),
                    load_f32v(x + at + v * LANES, 1, LANES)));
        if (all_boolv(worse))
            continue;
        uint64_t chosen = 0;
        UNROLL
        for (int v = 0; v < VECTORS_2; v++)
            chosen |= chosen_2(x + at + v * LANES, LANES, bound, exceeds) << (v * LANES);
        filled = add_2(r, filled, x + at, chosen, place + at);
    }
    for (; at < count && at + SOME_2 > count && filled + SOME_2 <= ROOM_2; at += LANES)
        filled = add_2(r, filled, x + at, chosen_2(x + at, (int)size_min(LANES, count - at), bound, exceeds), place
                + at);
    r->count = filled;
    return size_min(at, count);
}

/* The next `count` elements of a row, the first of them at `place`. */
KERNEL static void rank_2(Ranking_2 *r, const f32u *x, int64_t count, int64_t place)
{
    if (r->count == 0 && RANKS_2 <= RUN_2 && count >= 4 * GROUPS_2 * PARTS_2 * LANES) {
        const float bound = bound_2(x, count);
        r->bound = better_f32(MOST_2, bound, r->bound) ? bound : r->bound;
    }
    for (int64_t at = 0; at < count;) {
        const f32u *next = x + at;
        at += r->exceeds ? scan_2(r, next, count - at, place + at, 1) : scan_2(r, next, count - at, place + at, 0);
        if (at < count)
            settle_2(r);
    }
}

/* The elements of a row's next block. Behind the last one, and as long as no bound has to be exceeded, the candidates are sorted. */
KERNEL static void rank_on_2(Ranking_2 *r, const f32u *x, int64_t count, int64_t place, int is_last)
{
    float *const values = r->values;
    int64_t *const places = r->places;
    rank_2(r, x, count, place);
    if (is_last || !r->exceeds)
        settle_2(r);
    for (int64_t c = 0; r->values != values && c < r->count; c++) {
        values[c] = r->values[c];
        places[c] = r->places[c];
    }
    r->values = values;
    r->places = places;
}

/* out[i,j] = bottomk(10)[j](tmp1[i,j]) & out1[i,j] = argbottomk(10)[j](tmp1[i,j]) */
INLINE void step_2_at(const Frame *f, char *own, int64_t i_first, int64_t j_first, int64_t j_end, int64_t i,
        const int count)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    const int64_t at_ranked_2 = f->at_ranked_2, at_ranked_place_2 = f->at_ranked_place_2;
    const int64_t at_bounds_2 = f->at_bounds_2, at_candidates_2 = f->at_candidates_2;
    const int64_t at_sorted_2 = f->at_sorted_2, at_sorted_place_2 = f->at_sorted_place_2;
    const int64_t at_row_2 = f->at_row_2;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    i64u *out1 = (i64u *)f->in.out1.data;
    const int64_t out1_0 = f->in.out1.stride[0], out1_1 = f->in.out1.stride[1];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_1 = row_tmp1;
    float *ranked_2 = (float *)(own + at_ranked_2);
    int64_t *ranked_place_2 = (int64_t *)(own + at_ranked_place_2);
    float *bounds_2 = (float *)(own + at_bounds_2);
    int64_t *candidates_2 = (int64_t *)(own + at_candidates_2);
    float *sorted_2 = (float *)(own + at_sorted_2);
    int64_t *sorted_place_2 = (int64_t *)(own + at_sorted_place_2);
    float *row_2 = (float *)(own + at_row_2);
    const int64_t place = i - i_first;
    uint64_t any = 0xffffffffu >> (32 - count);
    if (!(j_end == extent_j) && (j_first > 0) && candidates_2[place] >= RANKS_2) {
        boolv worse = first_boolv(LANES);
        const f32v bound = load_f32v(bounds_2 + place, 1, count);
        for (int64_t j = j_first; j < j_end; j++) {
            const f32v tmp1_at = load_f32v(tmp1 + (i - i_first) + (j - j_first) * tmp1_1, 1, count);
            worse = and_boolv(worse, ahead_f32v(MOST_2, 1, bound, tmp1_at));
        }
        any &= bits_boolv(not_boolv(worse));
    }
    if (!any)
        return;
    for (int64_t square_from = j_first; square_from < j_end; square_from += LANES) {
        f32v square[LANES];
        for (int s = 0; s < LANES; s++) {
            const int64_t j_2 = size_min(square_from + s, j_end - 1);
            const f32v tmp1_at_2 = load_f32v(tmp1 + (i - i_first) + (j_2 - j_first) * tmp1_1, 1, count);
            square[s] = tmp1_at_2;
        }
        transpose_f32v(square);
        for (int row = 0; row < LANES; row++)
            store_f32v(row_2 + row * BLOCK_2 + (square_from - j_first), 1, square[row], LANES);
    }
    for (; any; any &= any - 1) {
        const int lane_2 = lowest_bit(any);
        const int64_t i_at = i + lane_2;
        Ranking_2 ranking = { ranked_2 + (place + lane_2) * 42, sorted_2, ranked_place_2 + (place + lane_2) * 42,
                sorted_place_2, 0, INFINITY, 0 };
        if (j_first > 0) {
            ranking.count = candidates_2[(place + lane_2)];
            ranking.bound = bounds_2[(place + lane_2)];
            ranking.exceeds = ranking.count >= RANKS_2;
        }
        rank_on_2(&ranking, row_2 + lane_2 * BLOCK_2, j_end - j_first, j_first, j_end == extent_j);
        candidates_2[(place + lane_2)] = ranking.count;
        bounds_2[(place + lane_2)] = ranking.bound;
        if (j_end == extent_j) {
            for (int64_t rank = 0; rank < RANKS_2; rank++) {
                out[i_at * out_0 + rank * out_1] = ranking.values[rank];
                out1[i_at * out1_0 + rank * out1_1] = ranking.places[rank];
            }
        }
    }
}

KERNEL static void step_2(const Frame *frame, char *own, int64_t i_first, int64_t i_end, int64_t j_first,
        int64_t j_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    for (int64_t i = i_first; i < i_end; i += LANES)
        step_2_at(f, own, i_first, j_first, j_end, i, (int)size_min(LANES, i_end - i));
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t tile_1_1 = f->tile_1_1, sweep_1 = f->sweep_1;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t i_first = unit * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
        for (int64_t j_first = 0; j_first == 0 || j_first < extent_j; j_first += sweep_1) {
            const int64_t j_end = size_min(j_first + sweep_1, extent_j);
            step_1(f, own, i_first, i_end, j_first, j_end);
            step_2(f, own, i_first, i_end, j_first, j_end);
        }
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
static int prepare(Frame *f, const ranked_args *args, int workers)
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
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[1], f->in.B.shape[1]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.B.shape[0];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != 10)
        return BAD_SHAPES;
    if (f->in.out1.shape[0] != extent_i || f->in.out1.shape[1] != 10)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_j < 10)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_j < 10)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_i);
    const int64_t sweep_1 = f->sweep_1 = size_max(size_min(512, extent_j), 1);
    f->units_1 = size_ceil_div(extent_i, tile_1_1);
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(tile_1_1, 15), 32), 32), 16);
    const int64_t at_panels_1 = f->at_panels_1 = size_align(size_mul(size_mul(row_tmp1, sweep_1), 4), 64);
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(tile_1_1, 8), extent_k), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(tile_1_1, 8), extent_k), 40961)), 5)), extent_k), 96), 64));
    const int64_t at_ranked_2 = f->at_ranked_2 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 1025)), size_align(tile_1_1, 8)), 144), 64));
    const int64_t at_ranked_place_2 = f->at_ranked_place_2 = size_add(at_ranked_2,
            size_align(size_mul(size_add(size_mul(tile_1_1, 42), 16), 4), 64));
    const int64_t at_bounds_2 = f->at_bounds_2 = size_add(at_ranked_place_2,
            size_align(size_mul(size_add(size_mul(tile_1_1, 42), 16), 8), 64));
    const int64_t at_candidates_2 = f->at_candidates_2 = size_add(at_bounds_2, size_align(size_mul(tile_1_1, 4), 64));
    const int64_t at_sorted_2 = f->at_sorted_2 = size_add(at_candidates_2, size_align(size_mul(tile_1_1, 8), 64));
    const int64_t at_sorted_place_2 = f->at_sorted_place_2 = size_add(at_sorted_2, 256);
    const int64_t at_row_2 = f->at_row_2 = size_add(at_sorted_place_2, 512);
    f->per_worker = size_add(at_row_2, 8192);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(extent_i, extent_k), extent_j), 8192),
            1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int ranked_workspace(const ranked_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int ranked(const ranked_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
