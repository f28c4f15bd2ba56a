/* einc compile 'Q[q,d], K[k,d] -> [q,k] | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * V[k,v] -> [q,v]' --name attention -o attention.c --header attention.h
 *
 *     Q[q,d], K[k,d] -> qk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | _ * V[k,v] -> qv
 *
 * target portable, 4 lanes
 * launch 1: block of q: tile_1 = max(min(130816 / (4 * k + 4 + 4 * k + 4), max(4, ceil(q / 32)), q), 1)
 *   step 1: store tmp1[q,k] = where(@q >= @k, sum[d](Q[q,d] * K[k,d]) * 0.125, -(inf))
 *     loops q k, 4 lanes along d, stride 1 expected: Q axis 1, K axis 1
 *   step 2: store tmp2[q] = max[k](tmp1[q,k])
 *     loops q, 4 lanes along q
 *   step 3: store tmp3[q,k] = where(tmp2[q] == -inf, 0, exp(tmp1[q,k] - tmp2[q]))
 *     loops q k, 4 lanes along k
 *   step 4: store tmp4[q] = sum[k](tmp3[q,k])
 *     loops q, 4 lanes along q
 *   step 5: store out[q,v] = sum[k](where(tmp4[q] == 0, 0, tmp3[q,k] / tmp4[q]) * V[k,v])
 *     loops q v, 4 lanes along v, stride 1 expected: V axis 1, out axis 1
 * tmp1: a block, tile_1 * k * 4 bytes
 * tmp2: a block, tile_1 * 4 bytes
 * tmp3: a block, tile_1 * k * 4 bytes
 * tmp4: a block, tile_1 * 4 bytes
 * workspace workers * (align(tile_1 * k * 4, 64) + align(tile_1 * 4, 64) + align(tile_1 * k * 4, 64)
 *         + align(tile_1 * 4, 64)) */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__(())
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa))
#else
#define KERNEL
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

#if EINC_VECTORS
#define LANES 4
#else
#define LANES 1
#endif

/* Before a loop over lanes that is to become a handful of shuffles. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
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
    int32_t lanes[LANES];
    i32v x;
    UNROLL
    for (int l = 0; l < LANES; l++)
        lanes[l] = l;
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

/* One lane after the other. */
INLINE u32v load_lanes_u32v(const void *p, int64_t stride, int count)
{
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
INLINE void store_lanes_u32v(void *p, int64_t stride, u32v x, int count)
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
    return select_f32v(a > b, a, b);
}

/* The lesser, and b where either is NaN. */
INLINE f32v lesser_f32v(f32v a, f32v b)
{
    return select_f32v(a < b, a, b);
}

/* The greater; NaN where either is. The way through a, which may be an accumulator, is the short one. */
INLINE f32v max_f32v(f32v a, f32v b)
{
    return select_f32v(b != b, b, greater_f32v(b, a));
}

INLINE float to_f32_f64(double x)
{
    return (float)x;
}

INLINE double neg_f64(double x)
{
    return -x;
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

INLINE f32v exp_f32v(f32v x)
{
    x = lesser_f32v(splat_f32v(89.0f), greater_f32v(splat_f32v(-104.0f), x));
    f32v n, rest = exp_rest_f32v(x, splat_f32v(0), &n);
    return scale_f32v(exp_near_f32v(rest), n);
}

/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE f32v flip_f32v(f32v x, int n)
{
    float lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    UNROLL
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
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

/* Helpers that run once a call are for any machine, whatever the kernel's instruction set. */
#ifdef __GNUC__
#define PLAIN static inline __attribute__((unused))
#else
#define PLAIN static inline
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

PLAIN int64_t size_add(int64_t a, int64_t b)
{
    return a > SIZE_TOO_LARGE - b ? SIZE_TOO_LARGE : a + b;
}

PLAIN int64_t size_mul(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b && a > SIZE_TOO_LARGE / b ? SIZE_TOO_LARGE : a * b;
}

PLAIN int64_t size_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b : a;
}

PLAIN int64_t size_ceil_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b + (a % b != 0) : a;
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

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    attention_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_q;
    int64_t extent_d;
    int64_t extent_k;
    int64_t extent_v;
    int64_t tile_1;
    int64_t units_1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int unit_1;    /* the lanes' strides are 1 */
    int unit_5;    /* the lanes' strides are 1 */
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

/* tmp1[q,k] = where(@q >= @k, sum[d](Q[q,d] * K[k,d]) * 0.125, -(inf)) */
INLINE void step_1_at(const Frame *f, char *own, int64_t q_first, int64_t q, int64_t k, const int unit)
{
    const int64_t extent_d = f->extent_d, tile_1 = f->tile_1;
    const f32u *Q = (const f32u *)f->in.Q.data;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = unit ? 1 : f->in.Q.stride[1];
    const f32u *K = (const f32u *)f->in.K.data;
    const int64_t K_0 = f->in.K.stride[0], K_1 = unit ? 1 : f->in.K.stride[1];
    f32u *tmp1 = (f32u *)(own + 0);
    const int64_t tmp1_1 = tile_1;
    const int value = q >= k;
    const float cast_of = to_f32_f64(neg_f64(INFINITY));
    float chosen;
    if (value) {
        f32v sum_lanes[4];
        for (int chain = 0; chain < 4; chain++)
            sum_lanes[chain] = splat_f32v(0.0f);
        int64_t d_at = 0;
        for (; d_at + 4 * LANES <= extent_d; d_at += 4 * LANES) {
            UNROLL
            for (int chain = 0; chain < 4; chain++) {
                const int64_t d = d_at + chain * LANES;
                sum_lanes[chain] = fma_f32v(load_f32v(Q + q * Q_0 + d * Q_1, Q_1, LANES),
                        load_f32v(K + k * K_0 + d * K_1, K_1, LANES), sum_lanes[chain]);
            }
        }
        for (; d_at < extent_d; d_at += LANES) {
            const int count_2 = extent_d - d_at < LANES ? (int)(extent_d - d_at) : LANES;
            const f32v before = sum_lanes[0];
            sum_lanes[0] = fma_f32v(load_f32v(Q + q * Q_0 + d_at * Q_1, Q_1, count_2),
                    load_f32v(K + k * K_0 + d_at * K_1, K_1, count_2), sum_lanes[0]);
            sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
        }
        for (int chain = 1; chain < 4; chain++)
            sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
        float sum = fold_sum_f32v(sum_lanes[0]);
        chosen = sum * 0.125f;
    } else {
        chosen = cast_of;
    }
    tmp1[(q - q_first) + k * tmp1_1] = chosen;
}

KERNEL static void step_1(const Frame *f, char *own, int64_t q_first, int64_t q_end)
{
    const int64_t extent_k = f->extent_k;
    if (f->unit_1) {
        for (int64_t q = q_first; q < q_end; q++)
            for (int64_t k = 0; k < extent_k; k++)
                step_1_at(f, own, q_first, q, k, 1);
    } else {
        for (int64_t q = q_first; q < q_end; q++)
            for (int64_t k = 0; k < extent_k; k++)
                step_1_at(f, own, q_first, q, k, 0);
    }
}

/* tmp2[q] = max[k](tmp1[q,k]) */
INLINE void step_2_at(const Frame *f, char *own, int64_t q_first, int64_t q, const int count)
{
    const int64_t extent_k = f->extent_k, tile_1 = f->tile_1;
    f32u *tmp1 = (f32u *)(own + 0);
    const int64_t tmp1_1 = tile_1;
    f32u *tmp2 = (f32u *)(own + size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64));
    f32v largest[4];
    for (int chain = 0; chain < 4; chain++)
        largest[chain] = splat_f32v(-INFINITY);
    int64_t k_at = 0;
    for (; k_at + 4 <= extent_k; k_at += 4) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t k = k_at + chain;
            largest[chain] = max_f32v(largest[chain], load_f32v(tmp1 + (q - q_first) + k * tmp1_1, 1, count));
        }
    }
    for (; k_at < extent_k; k_at += 1) {
        largest[0] = max_f32v(largest[0], load_f32v(tmp1 + (q - q_first) + k_at * tmp1_1, 1, count));
    }
    for (int chain = 1; chain < 4; chain++)
        largest[0] = max_f32v(largest[0], largest[chain]);
    store_f32v(tmp2 + (q - q_first), 1, largest[0], count);
}

KERNEL static void step_2(const Frame *f, char *own, int64_t q_first, int64_t q_end)
{
    for (int64_t q = q_first; q < q_end; q += LANES)
        step_2_at(f, own, q_first, q, (int)size_min(LANES, q_end - q));
}

/* tmp3[q,k] = where(tmp2[q] == -inf, 0, exp(tmp1[q,k] - tmp2[q])) */
INLINE void step_3_at(const Frame *f, char *own, int64_t q_first, int64_t q, int64_t k, const int count)
{
    const int64_t extent_k = f->extent_k, tile_1 = f->tile_1;
    f32u *tmp1 = (f32u *)(own + 0);
    const int64_t tmp1_1 = tile_1;
    f32u *tmp2 = (f32u *)(own + size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64));
    f32u *tmp3 = (f32u *)(own + size_add(size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64),
            size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64)));
    const int64_t tmp3_1 = tile_1;
    const float tmp2_at = tmp2[(q - q_first)];
    const int value = tmp2_at == (-INFINITY);
    const f32v exp_of = exp_f32v(load_f32v(tmp1 + (q - q_first) + k * tmp1_1, tmp1_1, count) - tmp2_at);
    store_f32v(tmp3 + (q - q_first) + k * tmp3_1, tmp3_1, value ? splat_f32v(0.0f) : exp_of, count);
}

KERNEL static void step_3(const Frame *f, char *own, int64_t q_first, int64_t q_end)
{
    const int64_t extent_k = f->extent_k;
    for (int64_t q = q_first; q < q_end; q++)
        for (int64_t k = 0; k < extent_k; k += LANES)
            step_3_at(f, own, q_first, q, k, (int)size_min(LANES, extent_k - k));
}

/* tmp4[q] = sum[k](tmp3[q,k]) */
INLINE void step_4_at(const Frame *f, char *own, int64_t q_first, int64_t q, const int count)
{
    const int64_t extent_k = f->extent_k, tile_1 = f->tile_1;
    f32u *tmp3 = (f32u *)(own + size_add(size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64),
            size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64)));
    const int64_t tmp3_1 = tile_1;
    f32u *tmp4 = (f32u *)(own + size_add(size_add(size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64),
            64), size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64)),
            size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64)));
    f32v sum[4];
    for (int chain = 0; chain < 4; chain++)
        sum[chain] = splat_f32v(0.0f);
    int64_t k_at = 0;
    for (; k_at + 4 <= extent_k; k_at += 4) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t k = k_at + chain;
            sum[chain] = sum[chain] + load_f32v(tmp3 + (q - q_first) + k * tmp3_1, 1, count);
        }
    }
    for (; k_at < extent_k; k_at += 1) {
        sum[0] = sum[0] + load_f32v(tmp3 + (q - q_first) + k_at * tmp3_1, 1, count);
    }
    for (int chain = 1; chain < 4; chain++)
        sum[0] = sum[0] + sum[chain];
    store_f32v(tmp4 + (q - q_first), 1, sum[0], count);
}

KERNEL static void step_4(const Frame *f, char *own, int64_t q_first, int64_t q_end)
{
    for (int64_t q = q_first; q < q_end; q += LANES)
        step_4_at(f, own, q_first, q, (int)size_min(LANES, q_end - q));
}

/* out[q,v] = sum[k](where(tmp4[q] == 0, 0, tmp3[q,k] / tmp4[q]) * V[k,v]) */
INLINE void step_5_at(const Frame *f, char *own, int64_t q_first, int64_t q, int64_t v, const int count,
        const int unit)
{
    const int64_t extent_k = f->extent_k, tile_1 = f->tile_1;
    const f32u *V = (const f32u *)f->in.V.data;
    const int64_t V_0 = f->in.V.stride[0], V_1 = unit ? 1 : f->in.V.stride[1];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = unit ? 1 : f->in.out.stride[1];
    f32u *tmp3 = (f32u *)(own + size_add(size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64),
            size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64)));
    const int64_t tmp3_1 = tile_1;
    f32u *tmp4 = (f32u *)(own + size_add(size_add(size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64),
            64), size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64)),
            size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64)));
    f32v sum[4];
    for (int chain = 0; chain < 4; chain++)
        sum[chain] = splat_f32v(0.0f);
    int64_t k_at = 0;
    const float tmp4_at = tmp4[(q - q_first)];
    const int value = tmp4_at == 0.0f;
    for (; k_at + 4 <= extent_k; k_at += 4) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t k = k_at + chain;
            sum[chain] = fma_f32v(splat_f32v(value ? 0.0f : (tmp3[(q - q_first) + k * tmp3_1] / tmp4_at)),
                    load_f32v(V + k * V_0 + v * V_1, V_1, count), sum[chain]);
        }
    }
    for (; k_at < extent_k; k_at += 1) {
        sum[0] = fma_f32v(splat_f32v(value ? 0.0f : (tmp3[(q - q_first) + k_at * tmp3_1] / tmp4_at)),
                load_f32v(V + k_at * V_0 + v * V_1, V_1, count), sum[0]);
    }
    for (int chain = 1; chain < 4; chain++)
        sum[0] = sum[0] + sum[chain];
    store_f32v(out + q * out_0 + v * out_1, out_1, sum[0], count);
}

KERNEL static void step_5(const Frame *f, char *own, int64_t q_first, int64_t q_end)
{
    const int64_t extent_v = f->extent_v;
    if (f->unit_5) {
        for (int64_t q = q_first; q < q_end; q++) {
            int64_t v = 0;
            for (; v + LANES <= extent_v; v += LANES)
                step_5_at(f, own, q_first, q, v, LANES, 1);
            if (v < extent_v)
                step_5_at(f, own, q_first, q, v, (int)(extent_v - v), 1);
        }
    } else {
        for (int64_t q = q_first; q < q_end; q++)
            for (int64_t v = 0; v < extent_v; v += LANES)
                step_5_at(f, own, q_first, q, v, (int)size_min(LANES, extent_v - v), 0);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_q = f->extent_q, tile_1 = f->tile_1;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t q_first = unit * tile_1, q_end = size_min(q_first + tile_1, extent_q);
        step_1(f, own, q_first, q_end);
        step_2(f, own, q_first, q_end);
        step_3(f, own, q_first, q_end);
        step_4(f, own, q_first, q_end);
        step_5(f, own, q_first, q_end);
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
    const int64_t tile_1 = f->tile_1 = size_max(size_min(size_min(size_div(130816,
            size_add(size_add(size_add(size_mul(4, extent_k), 4), size_mul(4, extent_k)), 4)),
            size_max(4, size_ceil_div(extent_q, 32))), extent_q), 1);
    f->units_1 = size_ceil_div(extent_q, tile_1);
    f->per_worker = size_add(size_add(size_add(size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64),
            64), size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64)),
            size_mul(size_ceil_div(size_mul(size_mul(tile_1, extent_k), 4), 64), 64)),
            size_mul(size_ceil_div(size_mul(tile_1, 4), 64), 64));
    f->grain_1 = size_max(size_ceil_div(f->units_1, 1024), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.Q.stride[1] == 1 && f->in.K.stride[1] == 1;
    f->unit_5 = f->in.V.stride[1] == 1 && f->in.out.stride[1] == 1;
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
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
