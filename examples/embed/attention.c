/* einc compile 'Q[q,d], K[k,d] -> [q,k] | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * V[k,v] -> [q,v]' --name attention -o attention.c --header attention.h
 *
 *     Q[q,d], K[k,d] -> qk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | _ * V[k,v] -> qv
 *
 * target portable, 4 lanes
 * launch 1: block of q: tile_1_1 = min(64, q)
 *   step 1: store tmp1[q,k] = sum[d](Q[q,d] * K[k,d])
 *     tiles of 6 x 8: rows q, columns k, contracted d, rows packed as vectors
 *     loops q k, 4 lanes along k
 *   step 2: store tmp2[q] = max[k](where(@q >= @k, tmp1[q,k] * 0.125, -(inf)))
 *     loops q, 4 lanes along k
 *   step 3: store tmp3[q,k] = where(tmp2[q] == -inf, 0, exp(where(@q >= @k, tmp1[q,k] * 0.125, -(inf)) - tmp2[q]))
 *     loops q k, 4 lanes along k, in that of step 4
 *   step 4: store tmp4[q] = sum[k](tmp3[q,k])
 *     loops q, 4 lanes along k
 *   step 5: store out[q,v] = sum[k](tmp3[q,k] * V[k,v]) / where(tmp4[q] == 0, 1, tmp4[q])
 *     tiles of 6 x 8: rows q, columns v, contracted k, rows packed as vectors
 *     loops q v, 4 lanes along v, past the caches from 32 MB
 *   where guessed maxima are good: tmp1 to tmp4 tile by tile
 *   where none of them overflows: sums of powers 2^50 times as large
 * tmp1: a block, row_tmp1 * tile_1_1 * 4 bytes
 * tmp2: a block, tile_1_1 * 4 bytes
 * tmp3: in the place of tmp1
 * tmp4: a block, tile_1_1 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_1 * 4, 64) + align(tile_1_1 * 4, 64) + align(tile_1_1 * 4, 64)
 *         + align(align(k, 8) * d * 4, 64) + align((1 + min(1, align(k, 8) * d / 20481) * 5) * d * 96, 64)
 *         + align(min(1, d / 1025) * align(k, 8) * 144, 64) + 64 + align(tile_1_1 * 16, 64)
 *         + align(align(v, 8) * k * 4, 64) + align((1 + min(1, align(v, 8) * k / 4097) * 7) * k * 96, 64)
 *         + align(min(1, k / 1025) * align(v, 8) * 144, 64) + 64 + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef ATTENTION_H
#define ATTENTION_H
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
typedef struct attention_args {
    struct {    /* input Q, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } Q;
    struct {    /* input K, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } K;
    struct {    /* input V, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } V;
    struct {    /* output, f32[q,v] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} attention_args;

/* The bytes of workspace that attention() wants for these shapes and so many workers. 0, or why not. */
int attention_workspace(const attention_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int attention(const attention_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* What was stored past the caches is there for other threads. */
#if defined(__GNUC__) && defined(__SSE2__)
#define STREAM_END() __asm__ volatile("sfence" : : : "memory")
#else
#define STREAM_END() ((void)0)
#endif

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

INLINE f32v abs_f32v(f32v x)
{
    return from_bits_f32v(bits_f32v(x) & 0x7FFFFFFF);
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

/* up * e^(by * x) for up a power of two, and 0 where e^(by * x) is. */
INLINE f32v lifted_exp_f32v(f32v x, float by, float up)
{
    f32v least = splat_f32v(-103.972f), y = x * by;
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(least, y));
    f32v n, p = exp_parts_f32v(x, 1, up, &n);
    return select_f32v(y < least, splat_f32v(0), scale_f32v(p, n));
}

/* A sum that was made `up` times as large. */
INLINE float lowered_f32(float sum, float up, int *overflow)
{
    *overflow |= !(fabsf(sum) < INFINITY);
    return sum * (1 / up);
}

/* A sum that was made `up` times as large. */
INLINE f32v lowered_f32v(f32v sum, float up, int *overflow)
{
    *overflow |= any_boolv(not_boolv(abs_f32v(sum) < splat_f32v(INFINITY)));
    return sum * splat_f32v(1 / up);
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

/* Whether so many numbers, of whole vectors, are finite: others times 0 are NaN. */
INLINE int are_finite_f32(const float *x, int64_t count)
{
    f32v sum = splat_f32v(0.0f);
    for (int64_t i = 0; i < count; i += LANES)
        sum = sum + load_f32v(x + i, 1, LANES) * 0.0f;
    return fold_sum_f32v(sum) == 0;
}

INLINE float fold_max_f32v(f32v x)
{
    if (LANES > 8)
        x = max_f32v(x, flip_f32v(x, 8));
    if (LANES > 4)
        x = max_f32v(x, flip_f32v(x, 4));
    if (LANES > 2)
        x = max_f32v(x, flip_f32v(x, 2));
    if (LANES > 1)
        x = max_f32v(x, flip_f32v(x, 1));
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

/* How many of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
static inline int lanes_before(int64_t first, int64_t bound)
{
    return first >= bound ? 0 : (uint64_t)bound - (uint64_t)first < LANES ? (int)(bound - first) : LANES;
}

/* Which of them are not more. */
INLINE boolv are_up_to(int64_t first, int64_t bound)
{
    return first_boolv(first > bound ? 0 : lanes_before(first, bound) + 1);
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    attention_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_q;
    int64_t extent_d;
    int64_t extent_k;
    int64_t extent_v;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t at_tmp2;
    int64_t at_tmp4;
    int64_t at_panels_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_panels_of_1;
    int64_t at_seen_1;
    int64_t at_panels_5;
    int64_t at_packed_5;
    int64_t at_kept_5;
    int64_t at_panels_of_5;
    int64_t at_finite_5;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int past_5;    /* whether the result is stored past the caches */
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

/* tmp1[q,k] = sum[d](Q[q,d] * K[k,d]) */
enum { ROWS_1 = 6, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 20480, BLOCK_1 = 6 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t k, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const f32u *K = (const f32u *)f->in.K.data;
    const int64_t K_0 = f->in.K.stride[0], K_1 = f->in.K.stride[1];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        float *to = panels_1 + place * depth + from_point * COLUMNS_1 + v * LANES;
        for (int64_t d = from_point; d < to_point; d += LANES) {
            const int lanes = (int)size_min(LANES, to_point - d);
            const f32u *from = K + (k + v * LANES) * K_0 + d * K_1;
            turn_f32(to, COLUMNS_1, 1, from, K_0, K_1, (int)size_min(LANES, count - v * LANES), lanes, from
                    + LANES * (K_0), K_0);
            to += lanes * COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t q, int64_t depth, int height)
{
    const int64_t extent_d = f->extent_d, at_packed_1 = f->at_packed_1;
    const f32u *Q = (const f32u *)f->in.Q.data;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_1, ROWS_1);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t q_at = q + before + r;
            float *to = packed_1 + (before * depth + r) * LANES;
            for (int64_t d = 0; d < extent_d; d += LANES) {
                const int lanes = (int)size_min(LANES, extent_d - d);
                const f32v value = load_f32v(Q + q_at * Q_0 + d * Q_1, Q_1, lanes);
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
                sums[r][v] = fma_f32v(left, right[v], sums[r][v]);
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
KERNEL static void after_1(const Frame *f, char *own, int64_t q_first, int64_t q, int64_t k, int count, int height,
        const float *kept)
{
    const int64_t row_tmp1 = f->row_tmp1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    for (int r = 0; r < height; r++) {
        const int64_t q_at = q + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t k_lanes = k + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + v * LANES, 1, lanes);
            store_f32v(tmp1 + (q_at - q_first) * tmp1_0 + k_lanes, 1, sum, lanes);
        }
    }
}

/* A tile's sums as powers, with guessed maxima: those of a row's first columns. */
KERNEL static void guessed_1(const Frame *f, char *own, int64_t q_first, float up, int64_t q, int64_t k, int count,
        int height, const float *kept, int64_t *whole_from, int at_tile, int is_whole)
{
    const int64_t row_tmp1 = f->row_tmp1, at_tmp2 = f->at_tmp2;
    const int64_t at_seen_1 = f->at_seen_1;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    f32u *tmp3 = (f32u *)own;
    const int64_t tmp3_0 = row_tmp1;
    float *seen_1 = (float *)(own + at_seen_1);
    const float cast_of = -INFINITY;
    if (!is_whole || k <= whole_from[at_tile]) {
        for (int at_row = 0; at_row < height; at_row++) {
            const int64_t q_at = q + at_row;
            if (*(tmp2 + (q_at - q_first)) != -INFINITY)
                continue;
            f32v largest_lanes = splat_f32v(-INFINITY);
            for (int v = 0; v * LANES < count; v++) {
                const int lanes = (int)size_min(LANES, count - v * LANES);
                const f32v sum = load_f32v(kept + at_row * COLUMNS_1 + v * LANES, 1, lanes);
                const f32v before = largest_lanes;
                const boolv value = are_up_to((k + v * LANES), q_at);
                largest_lanes = max_f32v(largest_lanes, select_f32v(value, sum * 0.125f, splat_f32v(cast_of)));
                largest_lanes = select_f32v(first_boolv(lanes), largest_lanes, before);
            }
            float largest = fold_max_f32v(largest_lanes);
            tmp2[(q_at - q_first)] = largest;
        }
    }
    if (is_whole && count == COLUMNS_1) {
        for (int at_row = 0; at_row < height; at_row++) {
            const int64_t q_at_2 = q + at_row;
            float *const seen = seen_1 + LANES * ((q_at_2 - q_first));
            const float tmp2_at = tmp2[(q_at_2 - q_first)];
            f32v total = load_f32v(seen, 1, LANES);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                const f32v sum_2 = load_f32v(kept + at_row * COLUMNS_1 + v * LANES, 1, LANES);
                const f32v power = lifted_exp_f32v((sum_2 * 0.125f) - tmp2_at, 1.0f, up);
                total = total + power;
                store_f32v(tmp3 + (q_at_2 - q_first) * tmp3_0 + (k + v * LANES), 1, power, LANES);
            }
            store_f32v(seen, 1, total, LANES);
        }
        return;
    }
    const float cast_of_2 = -INFINITY;
    if (count == COLUMNS_1) {
        for (int at_row = 0; at_row < height; at_row++) {
            const int64_t q_at_3 = q + at_row;
            float *const seen = seen_1 + LANES * ((q_at_3 - q_first));
            const float tmp2_at_2 = tmp2[(q_at_3 - q_first)];
            const float shift = tmp2_at_2 == -INFINITY ? 0 : tmp2_at_2;
            f32v total = load_f32v(seen, 1, LANES);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                const f32v sum_3 = load_f32v(kept + at_row * COLUMNS_1 + v * LANES, 1, LANES);
                const boolv value_2 = are_up_to((k + v * LANES), q_at_3);
                const f32v exp_of = lifted_exp_f32v(select_f32v(value_2, sum_3 * 0.125f, splat_f32v(cast_of_2))
                        - shift, 1.0f, up);
                const f32v power_2 = exp_of;
                total = total + power_2;
                store_f32v(tmp3 + (q_at_3 - q_first) * tmp3_0 + (k + v * LANES), 1, power_2, LANES);
            }
            store_f32v(seen, 1, total, LANES);
        }
        return;
    }
    for (int at_row = 0; at_row < height; at_row++) {
        const int64_t q_at_4 = q + at_row;
        float *const seen = seen_1 + LANES * ((q_at_4 - q_first));
        const float tmp2_at_3 = tmp2[(q_at_4 - q_first)];
        const float shift = tmp2_at_3 == -INFINITY ? 0 : tmp2_at_3;
        f32v total = load_f32v(seen, 1, LANES);
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const f32v sum_4 = load_f32v(kept + at_row * COLUMNS_1 + v * LANES, 1, lanes);
            const boolv value_3 = are_up_to((k + v * LANES), q_at_4);
            const f32v exp_of_2 = lifted_exp_f32v(select_f32v(value_3, sum_4 * 0.125f, splat_f32v(cast_of_2)) - shift,
                    1.0f, up);
            const f32v power_3 = exp_of_2;
            total = total + select_f32v(first_boolv(lanes), power_3, splat_f32v(0.0f));
            store_f32v(tmp3 + (q_at_4 - q_first) * tmp3_0 + (k + v * LANES), 1, power_3, lanes);
        }
        store_f32v(seen, 1, total, LANES);
    }
}

/* Powers of no tile. */
KERNEL static void start_1(const Frame *f, char *own, int64_t q_first, int64_t q_end)
{
    const int64_t at_tmp2 = f->at_tmp2, at_seen_1 = f->at_seen_1;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    float *seen_1 = (float *)(own + at_seen_1);
    for (int64_t q = q_first; q < q_end; q++) {
        store_f32v(seen_1 + LANES * ((q - q_first)), 1, splat_f32v(0.0f), LANES);
        tmp2[(q - q_first)] = -INFINITY;
    }
}

/* Whether no power of a guessed maximum was too large, nor all of them too small. */
KERNEL static int near_1(const Frame *f, char *own, int64_t q_first, int64_t q_end, float up)
{
    const int64_t at_tmp2 = f->at_tmp2, at_tmp4 = f->at_tmp4;
    const int64_t at_seen_1 = f->at_seen_1;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    f32u *tmp4 = (f32u *)(own + at_tmp4);
    float *seen_1 = (float *)(own + at_seen_1);
    int near = 1;
    for (int64_t q = q_first; q < q_end; q++) {
        const f32v seen = load_f32v(seen_1 + LANES * ((q - q_first)), 1, LANES);
        float sum = fold_sum_f32v(seen);
        const float lowered = sum * (1 / up);
        tmp4[(q - q_first)] = lowered;
        near &= (lowered >= 0.5f && lowered <= 0x1p58f) || (lowered == 0 && *(tmp2 + (q - q_first)) == -INFINITY);
    }
    return near;
}

/* The columns of a tile that somebody asks for. */
KERNEL static void meet_columns_1(const Frame *f, int64_t q, int height, int64_t *columns_from, int64_t *columns_to,
        int64_t *whole_from, int64_t *whole_to, int at_tile)
{
    const int64_t extent_k = f->extent_k;
    int64_t from = extent_k, to = 0;
    whole_from[at_tile] = 0, whole_to[at_tile] = extent_k;
    for (int64_t q_at = q; q_at < q + height; q_at++) {
        const int64_t limit = q_at;
        whole_from[at_tile] = size_max(whole_from[at_tile], 0);
        whole_to[at_tile] = size_min(whole_to[at_tile], size_min(extent_k, size_add(limit, 1)));
        from = size_min(from, 0);
        to = size_max(to, size_min(extent_k, size_add(limit, 1)));
    }
    columns_from[at_tile] = from;
    columns_to[at_tile] = to;
}

/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t q_first, int64_t q_end, float up, int guessed)
{
    const int64_t extent_d = f->extent_d, extent_k = f->extent_k;
    const int64_t row_tmp1 = f->row_tmp1, at_panels_1 = f->at_panels_1;
    const int64_t at_packed_1 = f->at_packed_1, at_kept_1 = f->at_kept_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    const int64_t depth = extent_d;
    const int64_t columns = extent_k, places = size_align(columns, COLUMNS_1);
    float tile[ROWS_1 * COLUMNS_1];
    const int64_t columns_at = 0;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_d; from_point += 256) {
            const int64_t to_point = size_min(from_point + 256, extent_d);
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t k = place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                pack_columns_1(f, own, k, depth, place, from_point, to_point, count);
            }
        }
        *panels_of_1 = columns_at;
    }
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t q_block = q_first, q_stop; q_block < q_end; q_block = q_stop) {
        int height = (int)size_next(q_end - q_block, block * ROWS_1, ROWS_1);
        int64_t q = q_block, done = 0, points;
        q_stop = q_block + height;
        int64_t columns_from[BLOCK_1], columns_to[BLOCK_1];
        int64_t whole_from[BLOCK_1], whole_to[BLOCK_1];
        int at_tile = 0;
        for (; q < q_stop; q += height, at_tile++) {
            height = (int)size_next(q_stop - q, ROWS_1, ROWS_1);
            meet_columns_1(f, q, height, columns_from, columns_to, whole_from, whole_to, at_tile);
        }
        q = q_block;
        height = (int)(q_stop - q);
        pack_rows_1(f, own, q, depth, height);
        const f32u *const rows = packed_1;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. */
        const char *ahead = NULL;
        const int64_t ahead_step =
            block > 1 ? COLUMNS_1 * 4 / (2 * (q_stop - q_block) > BLOCK_1 * ROWS_1 ? BLOCK_1 : (BLOCK_1 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_1) * 4;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : tile;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t k = place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                if (block > 1)
                    ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                at_tile = 0;
                for (q = q_block; q < q_stop; q += height, at_tile++) {
                    height = (int)size_next(q_stop - q, ROWS_1, ROWS_1);
                    if (k >= columns_to[at_tile] || k + COLUMNS_1 <= columns_from[at_tile])
                        continue;
                    const int is_whole = k >= whole_from[at_tile] && k + count <= whole_to[at_tile];
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (q - q_block) * tile_step + done * k_step;
                    if (block == 1)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_1
                                + (place + COLUMNS_1) * depth);
                    const int64_t result_step = tmp1_0;
                    f32u *result = NULL;
                    if (is_last && !guessed && 1 == 1 && columns - place >= COLUMNS_1)
                        result = tmp1 + (q - q_first) * tmp1_0 + (place);
                    tile_1(height, here, row_step, k_step, panels_1 + place * depth + done * COLUMNS_1, points, ahead,
                            ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept, COLUMNS_1, result,
                            result_step);
                    if (is_last && guessed)
                        guessed_1(f, own, q_first, up, q, k, count, height, kept, whole_from, at_tile, is_whole);
                    else if (is_last && !result)
                        after_1(f, own, q_first, q, k, count, height, kept);
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
    }
}

/* tmp2[q] = max[k](where(@q >= @k, tmp1[q,k] * 0.125, -(inf))) */
INLINE void step_2_at(const Frame *f, char *own, int64_t q_first, int64_t q)
{
    const int64_t extent_k = f->extent_k, row_tmp1 = f->row_tmp1;
    const int64_t at_tmp2 = f->at_tmp2;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t limit = q;
    const int64_t k_to = size_min(extent_k, size_add(limit, 1));
    f32v largest_lanes[4];
    UNROLL
    for (int chain = 0; chain < 4; chain++)
        largest_lanes[chain] = splat_f32v(-INFINITY);
    int64_t k_at = 0;
    for (; k_at + 4 * LANES <= k_to; k_at += 4 * LANES) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t k = k_at + chain * LANES;
            largest_lanes[chain] = max_f32v(largest_lanes[chain],
                    load_f32v(tmp1 + (q - q_first) * tmp1_0 + k, 1, LANES) * 0.125f);
        }
    }
    for (; k_at < k_to; k_at += LANES) {
        const int count_2 = k_to - k_at < LANES ? (int)(k_to - k_at) : LANES;
        const f32v before = largest_lanes[0];
        largest_lanes[0] = max_f32v(largest_lanes[0],
                load_f32v(tmp1 + (q - q_first) * tmp1_0 + k_at, 1, count_2) * 0.125f);
        largest_lanes[0] = select_f32v(first_boolv(count_2), largest_lanes[0], before);
    }
    UNROLL
    for (int chain = 1; chain < 4; chain++)
        largest_lanes[0] = max_f32v(largest_lanes[0], largest_lanes[chain]);
    float largest = fold_max_f32v(largest_lanes[0]);
    tmp2[(q - q_first)] = largest;
}

KERNEL static void step_2(const Frame *f, char *own, int64_t q_first, int64_t q_now)
{
    const int64_t q = q_now;
    step_2_at(f, own, q_first, q);
}

/* tmp3[q,k] = where(tmp2[q] == -inf, 0, exp(where(@q >= @k, tmp1[q,k] * 0.125, -(inf)) - tmp2[q]));
 * tmp4[q] = sum[k](tmp3[q,k]) */
INLINE void step_4_at(const Frame *f, char *own, int64_t q_first, float up, int *overflow, int64_t q)
{
    const int64_t extent_k = f->extent_k, row_tmp1 = f->row_tmp1;
    const int64_t at_tmp2 = f->at_tmp2, at_tmp4 = f->at_tmp4;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    f32u *tmp3 = (f32u *)own;
    const int64_t tmp3_0 = row_tmp1;
    f32u *tmp4 = (f32u *)(own + at_tmp4);
    f32v sum_lanes[4];
    UNROLL
    for (int chain = 0; chain < 4; chain++)
        sum_lanes[chain] = splat_f32v(0.0f);
    int64_t k_at = 0;
    const float tmp2_at = tmp2[(q - q_first)];
    const int value = tmp2_at == (-INFINITY);
    const float cast_of = -INFINITY;
    for (; k_at + 4 * LANES <= extent_k; k_at += 4 * LANES) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t k = k_at + chain * LANES;
            const boolv value_2 = are_up_to(k, q);
            const f32v chosen = select_f32v(value_2, load_f32v(tmp1 + (q - q_first) * tmp1_0 + k, 1, LANES) * 0.125f,
                    splat_f32v(cast_of));
            const f32v chosen_2 = select_f32v(splat_boolv(value), splat_f32v(0.0f),
                    lifted_exp_f32v(chosen - tmp2_at, 1.0f, up));
            const f32v element = chosen_2;
            store_f32v(tmp3 + (q - q_first) * tmp3_0 + k, 1, element, LANES);
            sum_lanes[chain] = sum_lanes[chain] + element;
        }
    }
    for (; k_at < extent_k; k_at += LANES) {
        const int count_2 = extent_k - k_at < LANES ? (int)(extent_k - k_at) : LANES;
        const boolv value_3 = are_up_to(k_at, q);
        const f32v chosen_3 = select_f32v(value_3,
                load_f32v(tmp1 + (q - q_first) * tmp1_0 + k_at, 1, count_2) * 0.125f, splat_f32v(cast_of));
        const f32v chosen_4 = select_f32v(splat_boolv(value), splat_f32v(0.0f),
                lifted_exp_f32v(chosen_3 - tmp2_at, 1.0f, up));
        const f32v element_2 = chosen_4;
        store_f32v(tmp3 + (q - q_first) * tmp3_0 + k_at, 1, element_2, count_2);
        const f32v before = sum_lanes[0];
        sum_lanes[0] = sum_lanes[0] + element_2;
        sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
    }
    UNROLL
    for (int chain = 1; chain < 4; chain++)
        sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
    float sum = fold_sum_f32v(sum_lanes[0]);
    const float sum_2 = lowered_f32(sum, up, overflow);
    tmp4[(q - q_first)] = sum_2;
}

KERNEL static void step_4(const Frame *f, char *own, int64_t q_first, int64_t q_now, float up, int *overflow)
{
    const int64_t q = q_now;
    step_4_at(f, own, q_first, up, overflow, q);
}

/* out[q,v] = sum[k](tmp3[q,k] * V[k,v]) / where(tmp4[q] == 0, 1, tmp4[q]) */
enum { ROWS_5 = 6, VECTORS_5 = 2, COLUMNS_5 = VECTORS_5 * LANES, DEPTH_5 = 1024, NEAR_5 = 20480, BLOCK_5 = 6,
        CLOSE_5 = 4096 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_5(const Frame *f, char *own, int64_t v_2, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_5 = f->at_panels_5;
    const f32u *V = (const f32u *)f->in.V.data;
    const int64_t V_0 = f->in.V.stride[0], V_1 = f->in.V.stride[1];
    float *panels_5 = (float *)(own + at_panels_5);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t v_2_lanes = v_2 + v * LANES;
        float *to = panels_5 + place * depth + from_point * COLUMNS_5 + v * LANES;
        for (int64_t k = from_point; k < to_point; k++) {
            store_f32v(to, 1, load_f32v(V + k * V_0 + v_2_lanes * V_1, V_1, lanes), lanes);
            to += COLUMNS_5;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_5(const Frame *f, char *own, int64_t q_first, int64_t q, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, row_tmp1 = f->row_tmp1;
    const int64_t at_packed_5 = f->at_packed_5;
    f32u *tmp3 = (f32u *)own;
    const int64_t tmp3_0 = row_tmp1;
    float *packed_5 = (float *)(own + at_packed_5);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_5, ROWS_5);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t q_at = q + before + r;
            float *to = packed_5 + (before * depth + r) * LANES;
            for (int64_t k = 0; k < extent_k; k += LANES) {
                const int lanes = (int)size_min(LANES, extent_k - k);
                const f32v value = load_f32v(tmp3 + (q_at - q_first) * tmp3_0 + k, 1, lanes);
                for (int c = 0; c < lanes; c++)
                    store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value, c)), LANES);
                to += lanes * rows * LANES;
            }
        }
    }
}

/* What a tile's sums start from: `start`, where a row's are start_step further than the row's before; with NULL they
 * begin. The sums of rows that a tile has not start, too, and stay so: there are starts for them. */
INLINE void begin_5(const f32u *start, int64_t start_step, f32v sums[ROWS_5][VECTORS_5])
{
    UNROLL
    for (int r = 0; r < ROWS_5; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_5; v++)
            sums[r][v] = splat_f32v(0.0f);
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_5; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_5; v++)
                sums[r][v] = load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
}

/* Adds the products of `height` rows and one panel to the sums. A row's points are k_step apart, rows row_step. What is
 * needed next comes nearer meanwhile: `ahead`, so many bytes for each point. Loops over rows are unrolled, so that sums
 * have registers, and left early where a tile is low; a whole one's `height` is a constant, so that it goes without
 * comparisons. Two points at a turn make turns few enough for their end to be foreseen. */
INLINE void multiply_5(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, f32v sums[ROWS_5][VECTORS_5])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    UNROLL_SOME
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_5];
        HOLD_STEPS(one, three, five);
        PREFETCH(ahead);
        ahead += ahead_step;
        UNROLL
        for (int v = 0; v < VECTORS_5; v++)
            right[v] = load_f32v(panel + v * LANES, 1, LANES);
        UNROLL
        for (int r = 0; r < ROWS_5; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = load_f32v(at, 1, LANES);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_5; v++) {
                sums[r][v] = fma_f32v(left, right[v], sums[r][v]);
            }
        }
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        panel += COLUMNS_5;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_5(int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
        int64_t depth, const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step)
{
    f32v sums[ROWS_5][VECTORS_5];
    begin_5(start, start_step, sums);
    if (height == ROWS_5)
        multiply_5(ROWS_5, rows, LANES, ROWS_5 * LANES, panel, depth, ahead, ahead_step, sums);
    else
        multiply_5(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    UNROLL
    for (int r = 0; r < ROWS_5; r++) {
        if (r >= height)
            continue;
        UNROLL
        for (int v = 0; v < VECTORS_5; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}

/* What becomes of a tile's sums. */
KERNEL static void after_5(const Frame *f, char *own, int64_t q_first, float up, int *overflow, int64_t q,
        int64_t v_2, int count, int height, const float *kept)
{
    const int64_t at_tmp4 = f->at_tmp4;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    f32u *tmp4 = (f32u *)(own + at_tmp4);
    for (int r = 0; r < height; r++) {
        const int64_t q_at = q + r;
        const float tmp4_at = tmp4[(q_at - q_first)];
        const int value = tmp4_at == 0.0f;
        const float chosen = value ? 1.0f : tmp4_at;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t v_2_lanes = v_2 + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_5 + v * LANES, 1, lanes);
            store_f32v(out + q_at * out_0 + v_2_lanes * out_1, out_1, lowered_f32v(sum, up, overflow) / chosen,
                    lanes);
        }
    }
}

/* The contracted points at which a tile's rows are no zeros. */
KERNEL static void meet_points_5(const Frame *f, char *own, int64_t q_first, int64_t q, int height,
        int64_t *points_from, int64_t *points_to, int at_tile)
{
    const int64_t extent_k = f->extent_k, row_tmp1 = f->row_tmp1;
    const int64_t at_finite_5 = f->at_finite_5;
    f32u *tmp3 = (f32u *)own;
    const int64_t tmp3_0 = row_tmp1;
    int64_t *finite_5 = (int64_t *)(own + at_finite_5);
    int64_t from = extent_k, to = 0;
    for (int64_t q_at = q; q_at < q + height; q_at++) {
        const int64_t limit = q_at;
        from = size_min(from, 0);
        to = size_max(to, size_min(extent_k, size_add(limit, 1)));
    }
    if (!*finite_5) {    /* what was not made is multiplied, too */
        for (int64_t q_at_2 = q; q_at_2 < q + height; q_at_2++) {
            memset(tmp3 + (q_at_2 - q_first) * tmp3_0, 0, (size_t)from * sizeof(float));
            memset(tmp3 + (q_at_2 - q_first) * tmp3_0 + to, 0, (size_t)(extent_k - to) * sizeof(float));
        }
        from = 0;
        to = extent_k;
    }
    points_from[at_tile] = from;
    points_to[at_tile] = to;
}

/* The step for one unit of work. */
KERNEL static void step_5(const Frame *f, char *own, int64_t q_first, int64_t q_end, float up, int *overflow)
{
    const int64_t extent_k = f->extent_k, extent_v = f->extent_v;
    const int64_t at_panels_5 = f->at_panels_5, at_packed_5 = f->at_packed_5;
    const int64_t at_kept_5 = f->at_kept_5, at_panels_of_5 = f->at_panels_of_5;
    const int64_t at_finite_5 = f->at_finite_5;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    float *panels_5 = (float *)(own + at_panels_5);
    float *packed_5 = (float *)(own + at_packed_5);
    float *kept_5 = (float *)(own + at_kept_5);
    int64_t *panels_of_5 = (int64_t *)(own + at_panels_of_5);
    int64_t *finite_5 = (int64_t *)(own + at_finite_5);
    const int64_t depth = extent_k;
    const int64_t columns = extent_v, places = size_align(columns, COLUMNS_5);
    float tile[ROWS_5 * COLUMNS_5];
    const int64_t columns_at = 0;
    if (*panels_of_5 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_5 + (places - COLUMNS_5) * depth, 0, (size_t)(COLUMNS_5 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 16) {
            const int64_t to_point = size_min(from_point + 16, extent_k);
            for (int64_t place = 0; place < places; place += COLUMNS_5) {
                const int64_t v_2 = place;
                const int count = (int)size_min(COLUMNS_5, columns - place);
                pack_columns_5(f, own, v_2, depth, place, from_point, to_point, count);
            }
        }
        *finite_5 = are_finite_f32(panels_5, places * depth);
        *panels_of_5 = columns_at;
    }
    const int64_t block = depth * places > (f->past_5 ? CLOSE_5 : NEAR_5) ? BLOCK_5 : 1;
    for (int64_t q_block = q_first, q_stop; q_block < q_end; q_block = q_stop) {
        int height = (int)size_next(q_end - q_block, block * ROWS_5, ROWS_5);
        int64_t q = q_block, done = 0, points;
        q_stop = q_block + height;
        int64_t points_from[BLOCK_5], points_to[BLOCK_5];
        int at_tile = 0;
        for (; q < q_stop; q += height, at_tile++) {
            height = (int)size_next(q_stop - q, ROWS_5, ROWS_5);
            meet_points_5(f, own, q_first, q, height, points_from, points_to, at_tile);
        }
        q = q_block;
        height = (int)(q_stop - q);
        pack_rows_5(f, own, q_first, q, depth, height);
        const f32u *const rows = packed_5;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. Of few points what is written takes longest. */
        const char *ahead = NULL;
        const int writes = depth < size_min(places, ROWS_5 * BLOCK_5);
        const int nears = writes && (out_0 < COLUMNS_5 || depth <= 2 * ROWS_5);
        const int64_t ahead_step =
            nears ? (out_0 < COLUMNS_5 ? 64 : out_0 * 4) :
            block > 1 ? COLUMNS_5 * 4 / (2 * (q_stop - q_block) > BLOCK_5 * ROWS_5 ? BLOCK_5 : (BLOCK_5 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_5) * 4;
        do {
            points = size_even(depth - done, DEPTH_5);
            float *kept = points < depth ? kept_5 : tile;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_5) {
                const int64_t v_2 = place;
                const int count = (int)size_min(COLUMNS_5, columns - place);
                if (block > 1)
                    ahead = (const char *)(panels_5 + (place + COLUMNS_5) * depth + done * COLUMNS_5);
                at_tile = 0;
                for (q = q_block; q < q_stop; q += height, at_tile++) {
                    height = (int)size_next(q_stop - q, ROWS_5, ROWS_5);
                    const int64_t first_point = size_max(done, points_from[at_tile]);
                    const int64_t end_point = size_max(size_min(done + points, points_to[at_tile]), first_point);
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (q - q_block) * tile_step + first_point * k_step;
                    if (block == 1)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_5
                                + (place + COLUMNS_5) * depth);
                    if (nears)
                        ahead = (const char *)(out + q * out_0 + ((place + COLUMNS_5)) * out_1);
                    tile_5(height, here, row_step, k_step, panels_5 + place * depth + first_point * COLUMNS_5,
                            end_point - first_point, ahead, ahead_step, done ? kept : NULL, done ? COLUMNS_5 : 0,
                            kept, COLUMNS_5);
                    if (is_last)
                        after_5(f, own, q_first, up, overflow, q, v_2, count, height, kept);
                    kept += points < depth ? ROWS_5 * COLUMNS_5 : 0;
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
    const int64_t extent_q = f->extent_q, extent_k = f->extent_k;
    const int64_t tile_1_1 = f->tile_1_1;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t q_first = unit * tile_1_1, q_end = size_min(q_first + tile_1_1, extent_q);
        /* Sums of powers are so many times as large as they are, so that no power is below the normal numbers; where
         * one overflows, all is done again as it is. */
        for (float up = 0x1p50f; up > 0;) {
            int overflows = 0, *const overflow = &overflows;
            int guessed = extent_k >= 16;
            if (guessed) {
                start_1(f, own, q_first, q_end);
                step_1(f, own, q_first, q_end, up, guessed);
                guessed = near_1(f, own, q_first, q_end, up);
            }
            if (!guessed) {
                step_1(f, own, q_first, q_end, up, guessed);
                for (int64_t q_now = q_first; q_now < q_end; q_now++) {
                    step_2(f, own, q_first, q_now);
                    step_4(f, own, q_first, q_now, up, overflow);
                }
            }
            step_5(f, own, q_first, q_end, up, overflow);
            up = overflows && up > 1 ? 1.0f : 0.0f;
        }
    }
    if (f->past_5)
        STREAM_END();
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
static int prepare(Frame *f, const attention_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.Q.shape, f->in.Q.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.K.shape, f->in.K.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.V.shape, f->in.V.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_q = f->extent_q = f->in.Q.shape[0];
    const int64_t extent_d = f->extent_d = meet(f->in.Q.shape[1], f->in.K.shape[1]);
    if (extent_d < 0)
        return BAD_SHAPES;
    const int64_t extent_k = f->extent_k = meet(f->in.K.shape[0], f->in.V.shape[0]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_v = f->extent_v = f->in.V.shape[1];
    if (f->in.out.shape[0] != extent_q || f->in.out.shape[1] != extent_v)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_q);
    f->units_1 = size_ceil_div(extent_q, tile_1_1);
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(extent_k, 15), 32), 32), 16);
    const int64_t at_tmp2 = f->at_tmp2 = size_align(size_mul(size_mul(row_tmp1, tile_1_1), 4), 64);
    const int64_t at_tmp4 = f->at_tmp4 = size_add(at_tmp2, size_align(size_mul(tile_1_1, 4), 64));
    const int64_t at_panels_1 = f->at_panels_1 = size_add(at_tmp4, size_align(size_mul(tile_1_1, 4), 64));
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(extent_k, 8), extent_d), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(extent_k, 8), extent_d), 20481)), 5)), extent_d), 96), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_d, 1025)), size_align(extent_k, 8)), 144), 64));
    const int64_t at_seen_1 = f->at_seen_1 = size_add(at_panels_of_1, 64);
    const int64_t at_panels_5 = f->at_panels_5 = size_add(at_seen_1, size_align(size_mul(tile_1_1, 16), 64));
    const int64_t at_packed_5 = f->at_packed_5 = size_add(at_panels_5,
            size_align(size_mul(size_mul(size_align(extent_v, 8), extent_k), 4), 64));
    const int64_t at_kept_5 = f->at_kept_5 = size_add(at_packed_5,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(extent_v, 8), extent_k), 4097)), 7)), extent_k), 96), 64));
    const int64_t at_panels_of_5 = f->at_panels_of_5 = size_add(at_kept_5,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 1025)), size_align(extent_v, 8)), 144), 64));
    const int64_t at_finite_5 = f->at_finite_5 = size_add(at_panels_of_5, 64);
    f->per_worker = size_add(at_finite_5, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(extent_q, extent_d), extent_k), 32768),
            1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->past_5 = size_mul(size_mul(extent_q, extent_v), 4) > 33554432;
    return 0;
}

int attention_workspace(const attention_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int attention(const attention_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    const int64_t at_panels_of_1 = f->at_panels_of_1, at_panels_of_5 = f->at_panels_of_5;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_1) = -1;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_5) = -1;
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
