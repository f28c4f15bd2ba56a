/* einc compile 'nd,nd->' -o short_rows_in_parts.c -d n=100000,d=3
 *
 *     nd, nd -> []
 *
 * target portable, 4 lanes
 * launch 1: block of n: max(ceil(n / 64), 1)
 *   step 1: store out[] = sum[n,d](A[n,d] * B[n,d])
 *     loops, 4 lanes along d, split along n into parts_1 = ceil(n / max(ceil(n / 64), 1)), stride 1 expected: A axis 1,
 *             B axis 1
 * workspace align(parts_1 * 4, 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef SHORT_ROWS_IN_PARTS_H
#define SHORT_ROWS_IN_PARTS_H
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
typedef struct short_rows_in_parts_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* output, f32 */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} short_rows_in_parts_args;

/* The bytes of workspace that short_rows_in_parts() wants for these shapes and so many workers. 0, or why not. */
int short_rows_in_parts_workspace(const short_rows_in_parts_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int short_rows_in_parts(const short_rows_in_parts_args *args, void *workspace, size_t bytes, const einc_host *host);

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

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
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

SHARED int64_t size_ceil_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b + (a % b != 0) : a;
}

/* Up to a multiple of the unit. */
SHARED int64_t size_align(int64_t a, int64_t unit)
{
    return a > SIZE_TOO_LARGE - unit ? SIZE_TOO_LARGE : (a + unit - 1) / unit * unit;
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

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    short_rows_in_parts_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_n;
    int64_t extent_d;
    int64_t parts_1;
    int64_t shared;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int unit_1;    /* the lanes' strides are 1 */
    int rows_follow_1;    /* each other, so that one loop has them all */
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

/* out[] = sum[n,d](A[n,d] * B[n,d]) */
INLINE void step_1_at(const Frame *f, int64_t n_first, int64_t n_end, int64_t part, int first_unit, const int unit)
{
    const int64_t extent_d = f->extent_d;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = unit ? 1 : f->in.A.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = unit ? 1 : f->in.B.stride[1];
    f32u *parts_sum_1_1 = (f32u *)f->workspace;
    const int64_t n_from = f->rows_follow_1 ? 0 : n_first, n_to = f->rows_follow_1 ? 1 : n_end;
    const int64_t d_from = f->rows_follow_1 ? n_first * extent_d : 0, d_to = f->rows_follow_1 ? n_end * extent_d
            : extent_d;
    const int64_t place = part;
    f32v sum_lanes[4];
    UNROLL
    for (int chain = 0; chain < 4; chain++)
        sum_lanes[chain] = splat_f32v(0.0f);
    for (int64_t n = n_from; n < n_to; n++) {
        int64_t d_at = d_from;
        for (; d_at + 4 * LANES <= d_to; d_at += 4 * LANES) {
            UNROLL
            for (int chain = 0; chain < 4; chain++) {
                const int64_t d = d_at + chain * LANES;
                sum_lanes[chain] = fma_f32v(load_f32v(A + n * A_0 + d * A_1, A_1, LANES),
                        load_f32v(B + n * B_0 + d * B_1, B_1, LANES), sum_lanes[chain]);
            }
        }
        for (; d_at < d_to; d_at += LANES) {
            const int count_2 = d_to - d_at < LANES ? (int)(d_to - d_at) : LANES;
            const f32v before = sum_lanes[0];
            sum_lanes[0] = fma_f32v(load_f32v(A + n * A_0 + d_at * A_1, A_1, count_2),
                    load_f32v(B + n * B_0 + d_at * B_1, B_1, count_2), sum_lanes[0]);
            sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
        }
    }
    UNROLL
    for (int chain = 1; chain < 4; chain++)
        sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
    float sum = fold_sum_f32v(sum_lanes[0]);
    if (!first_unit) {
        float sum_before = parts_sum_1_1[place];
        sum_before = sum_before + sum;
        sum = sum_before;
    }
    parts_sum_1_1[place] = sum;
}

KERNEL static void step_1(const Frame *f, int64_t n_first, int64_t n_end, int64_t part, int first_unit)
{
    if (f->unit_1) {
        step_1_at(f, n_first, n_end, part, first_unit, 1);
    } else {
        step_1_at(f, n_first, n_end, part, first_unit, 0);
    }
}

/* the parts, in order */
INLINE void merge_1_at(const Frame *f)
{
    f32u *out = (f32u *)f->in.out.data;
    f32u *parts_sum_1_1 = (f32u *)f->workspace;
    float sum = 0.0f;
    for (int64_t part = 0; part < f->tasks_1; part++) {
        const int64_t place = part;
        sum = sum + parts_sum_1_1[place];
    }
    out[0] = sum;
}

KERNEL static void merge_1(const Frame *f)
{
    merge_1_at(f);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    const int64_t extent_n = f->extent_n;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t n_first = unit * size_max(size_ceil_div(extent_n, 64), 1),
                n_end = size_min(n_first + size_max(size_ceil_div(extent_n, 64), 1), extent_n);
        const int64_t part = task;
        const int first_unit = unit == task * f->grain_1;
        step_1(f, n_first, n_end, part, first_unit);
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
static int prepare(Frame *f, const short_rows_in_parts_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    const int64_t extent_n = f->extent_n = meet(f->in.A.shape[0], f->in.B.shape[0]);
    if (extent_n < 0)
        return BAD_SHAPES;
    const int64_t extent_d = f->extent_d = meet(f->in.A.shape[1], f->in.B.shape[1]);
    if (extent_d < 0)
        return BAD_SHAPES;
    const int64_t parts_1 = f->parts_1 = size_ceil_div(extent_n, size_max(size_ceil_div(extent_n, 64), 1));
    f->shared = size_align(size_mul(parts_1, 4), 64);
    f->units_1 = size_ceil_div(extent_n, size_max(size_ceil_div(extent_n, 64), 1));
    f->grain_1 = size_max(size_ceil_div(f->units_1, parts_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.A.stride[1] == 1 && f->in.B.stride[1] == 1;
    f->rows_follow_1 = f->in.A.stride[0] == extent_d * f->in.A.stride[1]
            && f->in.B.stride[0] == extent_d * f->in.B.stride[1];
    return 0;
}

int short_rows_in_parts_workspace(const short_rows_in_parts_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int short_rows_in_parts(const short_rows_in_parts_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    merge_1(f);
    return 0;
}
