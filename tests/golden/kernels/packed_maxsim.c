/* einc compile 'Q[i,j,k], D[start[m]:i64+n,k] -> [i,j,m,n] | where(@n < len[m]:i64, _, -inf) | max n | sum j' -o packed_maxsim.c
 *
 *     Q[i,j,k], D[start[m]:i64+n,k] -> ijmn | where(@n < len[m]:i64, _, -inf) | max n | sum j
 *
 * target portable, 4 lanes
 * launch 1: block of i: 8, block of m: 1
 *   step 1: store out[i,m] = sum[j](max[n](where(@n < len[m], sum[k](Q[i,j,k] * D[start[m]+n,k]), -(inf))))
 *     loops i m, 4 lanes along k, stride 1 expected: Q axis 2, D axis 1
 * workspace 0 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef PACKED_MAXSIM_H
#define PACKED_MAXSIM_H
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
typedef struct packed_maxsim_args {
    struct {    /* input Q, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } Q;
    struct {    /* input D, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } D;
    struct {    /* input start, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } start;
    struct {    /* input len, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } len;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
    int64_t given_n;    /* the extent of index n, which no operand fixes */
} packed_maxsim_args;

/* The bytes of workspace that packed_maxsim() wants for these shapes and so many workers. 0, or why not. */
int packed_maxsim_workspace(const packed_maxsim_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int packed_maxsim(const packed_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host);

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

INLINE u32v load_u32v(const void *p, int64_t stride, int count)
{
    u32v x;
    if (stride != 1 || count != LANES)
        return load_lanes_u32v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}

/* a * b + c, rounded once or twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
    CONTRACT
    return a * b + c;
}

INLINE float max_f32(float a, float b)
{
    return b > a || b != b ? b : a;
}

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
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

PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    packed_maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int unit_1;    /* the lanes' strides are 1 */
    int64_t shared;
    int64_t per_worker;
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

/* out[i,m] = sum[j](max[n](where(@n < len[m], sum[k](Q[i,j,k] * D[start[m]+n,k]), -(inf)))) */
INLINE void step_1_at(const Frame *f, int64_t i, int64_t m, const int unit)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n;
    const f32u *Q = (const f32u *)f->in.Q.data;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    const int64_t Q_2 = unit ? 1 : f->in.Q.stride[2];
    const f32u *D = (const f32u *)f->in.D.data;
    const int64_t D_0 = f->in.D.stride[0], D_1 = unit ? 1 : f->in.D.stride[1];
    const i64u *start = (const i64u *)f->in.start.data;
    const int64_t start_0 = f->in.start.stride[0];
    const i64u *len = (const i64u *)f->in.len.data;
    const int64_t len_0 = f->in.len.stride[0];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    float sum = 0.0f;
    const int64_t len_at = len[m * len_0];
    const int64_t start_at = start[m * start_0];
    for (int64_t j = 0; j < extent_j; j++) {
        const int64_t limit = len_at;
        const int64_t n_to = size_min(extent_n, limit);
        float largest = -INFINITY;
        for (int64_t n = 0; n < n_to; n++) {
            f32v sum_lanes[4];
            for (int chain = 0; chain < 4; chain++)
                sum_lanes[chain] = splat_f32v(0.0f);
            int64_t k_at = 0;
            for (; k_at + 4 * LANES <= extent_k; k_at += 4 * LANES) {
                UNROLL
                for (int chain = 0; chain < 4; chain++) {
                    const int64_t k = k_at + chain * LANES;
                    f32v found = splat_f32v(0.0f);
                    if (is_inside(start_at + n, f->in.D.shape[0]))
                        found = load_f32v(D + (start_at + n) * D_0 + k * D_1, D_1, LANES);
                    else
                        FAIL(f, OUT_OF_RANGE - 2);
                    sum_lanes[chain] = fma_f32v(load_f32v(Q + i * Q_0 + j * Q_1 + k * Q_2, Q_2, LANES), found,
                            sum_lanes[chain]);
                }
            }
            for (; k_at < extent_k; k_at += LANES) {
                const int count_2 = extent_k - k_at < LANES ? (int)(extent_k - k_at) : LANES;
                const f32v before = sum_lanes[0];
                f32v found_2 = splat_f32v(0.0f);
                if (is_inside(start_at + n, f->in.D.shape[0]))
                    found_2 = load_f32v(D + (start_at + n) * D_0 + k_at * D_1, D_1, count_2);
                else
                    FAIL(f, OUT_OF_RANGE - 2);
                sum_lanes[0] = fma_f32v(load_f32v(Q + i * Q_0 + j * Q_1 + k_at * Q_2, Q_2, count_2), found_2,
                        sum_lanes[0]);
                sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
            }
            for (int chain = 1; chain < 4; chain++)
                sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
            float sum_2 = fold_sum_f32v(sum_lanes[0]);
            largest = max_f32(largest, sum_2);
        }
        sum = sum + largest;
    }
    out[i * out_0 + m * out_1] = sum;
}

KERNEL static void step_1(const Frame *f, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    if (f->unit_1) {
        for (int64_t i = i_first; i < i_end; i++)
            for (int64_t m = m_first; m < m_end; m++)
                step_1_at(f, i, m, 1);
    } else {
        for (int64_t i = i_first; i < i_end; i++)
            for (int64_t m = m_first; m < m_end; m++)
                step_1_at(f, i, m, 0);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    const int64_t extent_i = f->extent_i, extent_m = f->extent_m;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t m_first = rest % extent_m, m_end = m_first + 1;
        rest /= size_max(extent_m, 1);
        const int64_t i_first = rest * 8, i_end = size_min(i_first + 8, extent_i);
        step_1(f, i_first, i_end, m_first, m_end);
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
static int prepare(Frame *f, const packed_maxsim_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.Q.shape, f->in.Q.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.D.shape, f->in.D.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.start.shape, f->in.start.stride, 1))
        return BAD_SHAPES;
    if (!settle(f->in.len.shape, f->in.len.stride, 1))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.Q.shape[0];
    const int64_t extent_j = f->extent_j = f->in.Q.shape[1];
    const int64_t extent_k = f->extent_k = meet(f->in.Q.shape[2], f->in.D.shape[1]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = meet(f->in.start.shape[0], f->in.len.shape[0]);
    if (extent_m < 0)
        return BAD_SHAPES;
    const int64_t extent_n = f->extent_n = args->given_n;
    if (extent_n < 0)
        return BAD_SHAPES;
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_m)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_m > 0 && extent_j > 0 && extent_n < 1)
        return BAD_SHAPES;
    f->units_1 = size_mul(size_ceil_div(extent_i, 8), extent_m);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(extent_i, extent_j),
            extent_k), extent_m), extent_n), 32768), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.Q.stride[2] == 1 && f->in.D.stride[1] == 1;
    return 0;
}

int packed_maxsim_workspace(const packed_maxsim_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int packed_maxsim(const packed_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host)
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
