/* einc compile 'lse = X[t,h], W[v,h] -> [t,v] | logsumexp v; pick = X[t,h], W[y[t]:i64,h] -> [t]; lse[t] - pick[t] | mean t' -o cross_entropy.c
 *
 *     lse[t] = X[t,h], W[v,h] -> tv | logsumexp v
 *     pick[t] = X[t,h], W[y[t]:i64,h] -> t
 *     lse[t] - pick[t] | mean t
 *
 * target portable, 4 lanes
 * launch 1: block of t: tile_1_1 = min(64, t)
 *   step 1: store tmp1[t] = logsumexp[v](sum[h](X[t,h] * W[v,h]))
 *     tiles of 12 x 4: rows v, columns t, contracted h, rows packed as vectors
 *     loops t, 4 lanes along t
 *   step 2: store out[] = mean[t](tmp1[t] - sum[h](X[t,h] * W[y[t],h]))
 *     loops, 4 lanes along h, split along t into parts_2 = min(t, 64), stride 1 expected: X axis 1, W axis 1
 * tmp1: a block, tile_1_1 * 4 bytes
 * workspace align(parts_2 * 4, 64) + workers * (align(tile_1_1 * 4, 64) + align(align(tile_1_1, 4) * h * 4, 64)
 *         + align(h * 192, 64) + align(min(1, h / 129) * align(tile_1_1, 4) * 48, 64)
 *         + align(align(tile_1_1, 4) * 4, 64) + align(align(tile_1_1, 4) * 4, 64)) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef CROSS_ENTROPY_H
#define CROSS_ENTROPY_H
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
typedef struct cross_entropy_args {
    struct {    /* input X, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } X;
    struct {    /* input W, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } W;
    struct {    /* input y, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } y;
    struct {    /* output, f32 */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} cross_entropy_args;

/* The bytes of workspace that cross_entropy() wants for these shapes and so many workers. 0, or why not. */
int cross_entropy_workspace(const cross_entropy_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int cross_entropy(const cross_entropy_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* p * x + c: one step of a polynomial. */
INLINE f32v horner_f32v(f32v p, f32v x, float c)
{
    return fma_f32v(p, x, splat_f32v(c));
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

/* The greater; NaN where either is. The way through a, which may be an accumulator, is the short one. */
INLINE f32v max_f32v(f32v a, f32v b)
{
    return select_f32v(b != b, b, greater_f32v(b, a));
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

/* x * 2^n for whole n from -252 to 254, in two steps, so that a denormal result is rounded once: the sum below has
 * n + 254 in its low bits. */
INLINE f32v scale_f32v(f32v x, f32v n)
{
    u32v sum = bits_f32v(n + splat_f32v(12583166.0f)), half = sum >> 1;
    return x * from_bits_f32v(half << 23) * from_bits_f32v((sum - half) << 23);
}

/* e^x for |x| <= ln 2 / 2; relative error 2^-23.4. */
INLINE f32v exp_near_f32v(f32v x)
{
    f32v p = splat_f32v(8.28957744e-3f);
    p = horner_f32v(p, x, 4.18978222e-2f);
    p = horner_f32v(p, x, 1.66676491e-1f);
    p = horner_f32v(p, x, 4.99991506e-1f);
    p = horner_f32v(p, x, 9.99999702e-1f);
    return horner_f32v(p, x, 1.0f);
}

/* n, the whole number nearest to (high - low) / ln 2, and what is left of high - low without n * ln 2. `low` is small;
 * ln 2 is in two parts, the first so short that its product with n is exact. */
INLINE f32v exp_rest_f32v(f32v high, f32v low, f32v *n)
{
    f32v shift = splat_f32v(12582912.0f);
    *n = fma_f32v(high - low, splat_f32v(1.44269504f), shift) - shift;
    f32v rest = fma_f32v(*n, splat_f32v(-0.693359375f), high);
    return fma_f32v(*n, splat_f32v(2.12194440e-4f), rest) - low;
}

/* p, where up * e^(by * x) = p * 2^n. */
INLINE f32v exp_parts_f32v(f32v x, float by, float up, f32v *n)
{
    return exp_near_f32v(exp_rest_f32v(x * by, splat_f32v(0), n)) * up;
}

/* e^(by * x) */
INLINE f32v exp_times_f32v(f32v x, float by)
{
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(splat_f32v(-150.0f), x * by));
    f32v n, p = exp_parts_f32v(x, 1, 1, &n);
    return scale_f32v(p, n);
}

INLINE f32v exp_f32v(f32v x)
{
    return exp_times_f32v(x, 1);
}

/* e^x for x up to 0, where its error counts beside 1: ln 2 is in one part. */
INLINE f32v exp_below_f32v(f32v x)
{
    f32v shift = splat_f32v(12582912.0f);
    x = greater_f32v(splat_f32v(-150.0f), x);
    f32v n = fma_f32v(x, splat_f32v(1.44269504f), shift) - shift;
    return scale_f32v(exp_near_f32v(fma_f32v(n, splat_f32v(-0.693147181f), x)), n);
}

/* log(1 + r) = r + r^2 (r P(r) - 1/2) for 1 + r between sqrt(1/2) and sqrt(2); relative error 2^-24.9. */
INLINE f32v log_near_f32v(f32v r)
{
    f32v p = splat_f32v(8.7005429e-2f);
    p = horner_f32v(p, r, -1.42669603e-1f);
    p = horner_f32v(p, r, 1.49144799e-1f);
    p = horner_f32v(p, r, -1.65776491e-1f);
    p = horner_f32v(p, r, 1.9963102e-1f);
    p = horner_f32v(p, r, -2.50013351e-1f);
    p = horner_f32v(p, r, 3.33339095e-1f);
    p = horner_f32v(p, r, -0.5f);
    return fma_f32v(r * r, p, r);
}

/* k and r of a positive x. A denormal x is lifted by 2^23; k stands in the low bits of a sum of its biased self and
 * 2^23. */
INLINE f32v log_split_f32v(f32v x, f32v *k)
{
    boolv tiny = x < splat_f32v(1.17549435e-38f);
    u32v bits = bits_f32v(select_f32v(tiny, x * 8388608.0f, x)) + (0x3F800000 - 0x3F3504F3);
    f32v bias = select_f32v(tiny, splat_f32v(8388758.0f), splat_f32v(8388735.0f));
    *k = from_bits_f32v(bits >> 23 | 0x4B000000) - bias;
    return from_bits_f32v((bits & 0x7FFFFF) + 0x3F3504F3) - 1.0f;
}

/* y, the logarithm of x, or what it is where x is not positive and finite. */
INLINE f32v log_special_f32v(f32v x, f32v y)
{
    f32v zero = splat_f32v(0), infinite = splat_f32v(INFINITY);
    y = select_f32v(x > zero, y, select_f32v(x == zero, -infinite, splat_f32v(NAN)));
    return select_f32v(x == infinite, x, y);
}

INLINE f32v log_f32v(f32v x)
{
    f32v k, y = log_near_f32v(log_split_f32v(x, &k));
    y = fma_f32v(k, splat_f32v(0.693359375f), fma_f32v(k, splat_f32v(-2.12194440e-4f), y));
    return log_special_f32v(x, y);
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

/* The common size of two axes, where 1 gives way; -1 when they disagree. */
PLAIN int64_t meet(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}

PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}

/* largest' = max of the two, sum' = both sums, each times exp(its largest - largest'). */
INLINE void merge_exponentials_f32v(f32v *largest, f32v *sum, f32v other, f32v other_sum)
{
    f32v zero = splat_f32v(0);
    f32v difference = select_f32v(other == *largest, zero, other - *largest);
    boolv grows = difference > zero;
    f32v power = exp_f32v(select_f32v(grows, zero - difference, difference));
    *sum = select_f32v(grows, fma_f32v(*sum, power, other_sum), fma_f32v(other_sum, power, *sum));
    *largest = max_f32v(*largest, other);
}

/* Where the largest of some elements is infinite, so that what others differ from it by may be no number. */
INLINE boolv endless_exponentials_f32v(f32v top)
{
    return top == splat_f32v(INFINITY);
}

/* The largest is `top` from now on, which is no less. Gives what is taken from elements before their exponentials are added. */
INLINE f32v raise_exponentials_f32v(f32v *largest, f32v *sum, f32v top)
{
    f32v zero = splat_f32v(0), before = *largest;
    *sum = *sum * exp_f32v(select_f32v(top == before, zero, before - top));
    *largest = top;
    return select_f32v(top == splat_f32v(-INFINITY), zero, top);
}

/* The same for `count` elements at once: their maximum first, so that the sum is rescaled once for all of them. */
INLINE void add_exponentials_f32v(f32v *largest, f32v *sum, const f32v *others, int count)
{
    f32v top = *largest, odd_top = top;
    int i = 0;
    UNROLL_SOME
    for (; i + 2 <= count; i += 2) {
        top = greater_f32v(others[i], top);    /* no NaN, which the sum will have */
        odd_top = greater_f32v(others[i + 1], odd_top);
    }
    top = greater_f32v(i < count ? others[i] : odd_top, greater_f32v(odd_top, top));
    if (any_boolv(endless_exponentials_f32v(top))) {
        for (i = 0; i < count; i++)
            merge_exponentials_f32v(largest, sum, others[i], splat_f32v(1));
        return;
    }
    const f32v shift = raise_exponentials_f32v(largest, sum, top);
    UNROLL_SOME
    for (i = 0; i < count; i++)
        *sum = *sum + exp_below_f32v(others[i] - shift);
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    cross_entropy_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_t;
    int64_t extent_h;
    int64_t extent_v;
    int64_t extent_t_2;
    int64_t extent_h_2;
    int64_t extent_t_3;
    int64_t parts_2;
    int64_t shared;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t at_panels_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_largest_1_1;
    int64_t at_sum_1_1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int unit_2;    /* the lanes' strides are 1 */
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

/* tmp1[t] = logsumexp[v](sum[h](X[t,h] * W[v,h])) */
enum { ROWS_1 = 12, VECTORS_1 = 1, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 128, NEAR_1 = 40960, BLOCK_1 = 1 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t t, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const f32u *X = (const f32u *)f->in.X.data;
    const int64_t X_0 = f->in.X.stride[0], X_1 = f->in.X.stride[1];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        float *to = panels_1 + place * depth + from_point * COLUMNS_1 + v * LANES;
        for (int64_t h = from_point; h < to_point; h += LANES) {
            const int lanes = (int)size_min(LANES, to_point - h);
            const f32u *from = X + (t + v * LANES) * X_0 + h * X_1;
            turn_f32(to, COLUMNS_1, 1, from, X_0, X_1, (int)size_min(LANES, count - v * LANES), lanes, from
                    + LANES * (X_0), X_0);
            to += lanes * COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t v_2, int64_t depth, int height)
{
    const int64_t extent_h = f->extent_h, at_packed_1 = f->at_packed_1;
    const f32u *W = (const f32u *)f->in.W.data;
    const int64_t W_0 = f->in.W.stride[0], W_1 = f->in.W.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_1, ROWS_1);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t v_2_at = v_2 + before + r;
            float *to = packed_1 + (before * depth + r) * LANES;
            for (int64_t h = 0; h < extent_h; h += LANES) {
                const int lanes = (int)size_min(LANES, extent_h - h);
                const f32v value = load_f32v(W + v_2_at * W_0 + h * W_1, W_1, lanes);
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
        int64_t kept_step, const Frame *f, char *own, int64_t place)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, LANES, ROWS_1 * LANES, panel, depth, ahead, ahead_step, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    const int64_t at_largest_1_1 = f->at_largest_1_1, at_sum_1_1 = f->at_sum_1_1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    float *sum_1_1 = (float *)(own + at_sum_1_1);
    if (!kept) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            f32v largest = load_f32v(largest_1_1 + place + v * LANES, 1, LANES);
            f32v sum = load_f32v(sum_1_1 + place + v * LANES, 1, LANES);
            f32v others[ROWS_1];
            UNROLL
            for (int r = 0; r < ROWS_1; r++) {
                if (r >= height)
                    break;
                others[r] = sums[r][v];
            }
            add_exponentials_f32v(&largest, &sum, others, height);
            store_f32v(largest_1_1 + place + v * LANES, 1, largest, LANES);
            store_f32v(sum_1_1 + place + v * LANES, 1, sum, LANES);
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
KERNEL static void finish_1(const Frame *f, char *own, int64_t t_first, int64_t t, int64_t place, int count)
{
    const int64_t at_largest_1_1 = f->at_largest_1_1, at_sum_1_1 = f->at_sum_1_1;
    f32u *tmp1 = (f32u *)own;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    float *sum_1_1 = (float *)(own + at_sum_1_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t t_lanes = t + v * LANES;
        f32v largest = load_f32v(largest_1_1 + place + v * LANES, 1, lanes);
        f32v sum = load_f32v(sum_1_1 + place + v * LANES, 1, lanes);
        store_f32v(tmp1 + (t_lanes - t_first), 1, largest + log_f32v(sum), lanes);
    }
}

/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t t_first, int64_t t_end)
{
    const int64_t extent_h = f->extent_h, extent_v = f->extent_v;
    const int64_t at_panels_1 = f->at_panels_1, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_largest_1_1 = f->at_largest_1_1;
    const int64_t at_sum_1_1 = f->at_sum_1_1;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    float *sum_1_1 = (float *)(own + at_sum_1_1);
    const int64_t depth = extent_h;
    const int64_t columns = t_end - t_first, places = size_align(columns, COLUMNS_1);
    if (places > columns)    /* so that what is there is numbers */
        memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
    for (int64_t from_point = 0; from_point < extent_h; from_point += 256) {
        const int64_t to_point = size_min(from_point + 256, extent_h);
        for (int64_t place = 0; place < places; place += COLUMNS_1) {
            const int64_t t = t_first + place;
            const int count = (int)size_min(COLUMNS_1, columns - place);
            pack_columns_1(f, own, t, depth, place, from_point, to_point, count);
        }
    }
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t place = 0; place < places; place += LANES) {
        store_f32v(largest_1_1 + place, 1, splat_f32v(-INFINITY), LANES);
        store_f32v(sum_1_1 + place, 1, splat_f32v(0.0f), LANES);
    }
    for (int64_t v_2_block = 0, v_2_stop; v_2_block < extent_v; v_2_block = v_2_stop) {
        int height = (int)size_next(extent_v - v_2_block, block * ROWS_1, ROWS_1);
        int64_t v_2 = v_2_block, done = 0, points;
        v_2_stop = v_2_block + height;
        pack_rows_1(f, own, v_2, depth, height);
        const f32u *const rows = packed_1;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. */
        const char *ahead = NULL;
        const int64_t ahead_step =
            block > 1 ? COLUMNS_1 * 4 / (2 * (v_2_stop - v_2_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                    : (BLOCK_1 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_1) * 4;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : NULL;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                if (block > 1)
                    ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                for (v_2 = v_2_block; v_2 < v_2_stop; v_2 += height) {
                    height = (int)size_next(v_2_stop - v_2, ROWS_1, ROWS_1);
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (v_2 - v_2_block) * tile_step + done * k_step;
                    if (block == 1)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_1
                                + (place + COLUMNS_1) * depth);
                    tile_1(height, here, row_step, k_step, panels_1 + place * depth + done * COLUMNS_1, points, ahead,
                            ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, is_last ? NULL : kept, COLUMNS_1, f,
                            own, place);
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
    }
    for (int64_t place = 0; place < places; place += COLUMNS_1) {
        const int64_t t = t_first + place;
        const int count = (int)size_min(COLUMNS_1, columns - place);
        finish_1(f, own, t_first, t, place, count);
    }
}

/* out[] = mean[t](tmp1[t] - sum[h](X[t,h] * W[y[t],h])) */
INLINE void step_2_at(const Frame *f, char *own, int64_t t_first, int64_t t_end, int64_t part, int first_unit,
        const int unit)
{
    const int64_t extent_h_2 = f->extent_h_2;
    const f32u *X = (const f32u *)f->in.X.data;
    const int64_t X_0 = f->in.X.stride[0], X_1 = unit ? 1 : f->in.X.stride[1];
    const f32u *W = (const f32u *)f->in.W.data;
    const int64_t W_0 = f->in.W.stride[0], W_1 = unit ? 1 : f->in.W.stride[1];
    const i64u *y = (const i64u *)f->in.y.data;
    const int64_t y_0 = f->in.y.stride[0];
    f32u *tmp1 = (f32u *)own;
    f32u *parts_sum_2_1 = (f32u *)f->workspace;
    const int64_t place = part;
    float sum = 0.0f;
    for (int64_t t = t_first; t < t_end; t++) {
        f32v sum_lanes[4];
        UNROLL
        for (int chain = 0; chain < 4; chain++)
            sum_lanes[chain] = splat_f32v(0.0f);
        int64_t h_at = 0;
        const int64_t y_at = y[t * y_0];
        for (; h_at + 4 * LANES <= extent_h_2; h_at += 4 * LANES) {
            UNROLL
            for (int chain = 0; chain < 4; chain++) {
                const int64_t h = h_at + chain * LANES;
                f32v found = splat_f32v(0.0f);
                if (is_inside(y_at, f->in.W.shape[0]))
                    found = load_f32v(W + y_at * W_0 + h * W_1, W_1, LANES);
                else
                    FAIL(f, OUT_OF_RANGE - 7);
                sum_lanes[chain] = fma_f32v(load_f32v(X + t * X_0 + h * X_1, X_1, LANES), found, sum_lanes[chain]);
            }
        }
        for (; h_at < extent_h_2; h_at += LANES) {
            const int count_2 = extent_h_2 - h_at < LANES ? (int)(extent_h_2 - h_at) : LANES;
            const f32v before = sum_lanes[0];
            f32v found_2 = splat_f32v(0.0f);
            if (is_inside(y_at, f->in.W.shape[0]))
                found_2 = load_f32v(W + y_at * W_0 + h_at * W_1, W_1, count_2);
            else
                FAIL(f, OUT_OF_RANGE - 7);
            sum_lanes[0] = fma_f32v(load_f32v(X + t * X_0 + h_at * X_1, X_1, count_2), found_2, sum_lanes[0]);
            sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
        }
        UNROLL
        for (int chain = 1; chain < 4; chain++)
            sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
        float sum_2 = fold_sum_f32v(sum_lanes[0]);
        sum = sum + (tmp1[(t - t_first)] - sum_2);
    }
    if (!first_unit) {
        float sum_before = parts_sum_2_1[place];
        sum_before = sum_before + sum;
        sum = sum_before;
    }
    parts_sum_2_1[place] = sum;
}

KERNEL static void step_2(const Frame *f, char *own, int64_t t_first, int64_t t_end, int64_t part, int first_unit)
{
    if (f->unit_2) {
        step_2_at(f, own, t_first, t_end, part, first_unit, 1);
    } else {
        step_2_at(f, own, t_first, t_end, part, first_unit, 0);
    }
}

/* the parts, in order */
INLINE void merge_2_at(const Frame *f)
{
    const int64_t extent_t_3 = f->extent_t_3;
    f32u *out = (f32u *)f->in.out.data;
    f32u *parts_sum_2_1 = (f32u *)f->workspace;
    float sum = 0.0f;
    for (int64_t part = 0; part < f->tasks_1; part++) {
        const int64_t place = part;
        sum = sum + parts_sum_2_1[place];
    }
    const float mean = sum / ((float)extent_t_3);
    out[0] = mean;
}

KERNEL static void merge_2(const Frame *f)
{
    merge_2_at(f);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_t_3 = f->extent_t_3, tile_1_1 = f->tile_1_1;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t t_first = unit * tile_1_1, t_end = size_min(t_first + tile_1_1, extent_t_3);
        const int64_t part = task;
        const int first_unit = unit == task * f->grain_1;
        step_1(f, own, t_first, t_end);
        step_2(f, own, t_first, t_end, part, first_unit);
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
static int prepare(Frame *f, const cross_entropy_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.X.shape, f->in.X.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.W.shape, f->in.W.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.y.shape, f->in.y.stride, 1))
        return BAD_SHAPES;
    const int64_t extent_t = f->extent_t = f->in.X.shape[0];
    const int64_t extent_h = f->extent_h = meet(f->in.X.shape[1], f->in.W.shape[1]);
    if (extent_h < 0)
        return BAD_SHAPES;
    f->extent_v = f->in.W.shape[0];
    const int64_t extent_t_2 = f->extent_t_2 = meet(f->in.X.shape[0], f->in.y.shape[0]);
    if (extent_t_2 < 0)
        return BAD_SHAPES;
    const int64_t extent_h_2 = f->extent_h_2 = meet(f->in.X.shape[1], f->in.W.shape[1]);
    if (extent_h_2 < 0)
        return BAD_SHAPES;
    const int64_t extent_t_3 = f->extent_t_3 = extent_t;
    if (extent_t_2 != extent_t_3)
        return BAD_SHAPES;
    const int64_t parts_2 = f->parts_2 = size_min(extent_t_3, 64);
    f->shared = size_align(size_mul(parts_2, 4), 64);
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_t_3);
    f->units_1 = size_ceil_div(extent_t_3, tile_1_1);
    const int64_t at_panels_1 = f->at_panels_1 = size_align(size_mul(tile_1_1, 4), 64);
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(tile_1_1, 4), extent_h), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1, size_align(size_mul(extent_h, 192), 64));
    const int64_t at_largest_1_1 = f->at_largest_1_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_h, 129)), size_align(tile_1_1, 4)), 48), 64));
    const int64_t at_sum_1_1 = f->at_sum_1_1 = size_add(at_largest_1_1,
            size_align(size_mul(size_align(tile_1_1, 4), 4), 64));
    f->per_worker = size_add(at_sum_1_1, size_align(size_mul(size_align(tile_1_1, 4), 4), 64));
    f->grain_1 = size_max(size_ceil_div(f->units_1, parts_2), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_2 = f->in.X.stride[1] == 1 && f->in.W.stride[1] == 1;
    return 0;
}

int cross_entropy_workspace(const cross_entropy_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int cross_entropy(const cross_entropy_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    merge_2(f);
    return 0;
}
