/* einc compile 'ij | cumsum j' -o cumulative.c
 *
 *     ij -> ij | cumsum j
 *
 * target portable, 4 lanes
 * launch 1: block of i: 455
 *   step 1: scan out[i,j] = cumsum[j](A[i,j])
 *     loops i j, 4 lanes along j, past the caches from 32 MB, stride 1 expected: A axis 1, out axis 1
 * workspace 0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef CUMULATIVE_H
#define CUMULATIVE_H
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
typedef struct cumulative_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* output, f32[i,j] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} cumulative_args;

/* The bytes of workspace that cumulative() wants for these shapes and so many workers. 0, or why not. */
int cumulative_workspace(const cumulative_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int cumulative(const cumulative_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Stores 16 bytes past the caches, at a multiple of 16. */
INLINE void leave_quarter(char *p, const char *x)
{
#if EINC_VECTORS && defined(__SSE2__)
    typedef float Quarter __attribute__((vector_size(16), may_alias));
    Quarter y;
    memcpy(&y, x, 16);
#ifdef __clang__
    __builtin_nontemporal_store(y, (Quarter *)p);
#else
    __builtin_ia32_movntps((float *)p, y);
#endif
#else
    memcpy(p, x, 16);
#endif
}

/* Stores x past the caches, 16 bytes at a time; 0 where that cannot be. */
INLINE int stream_quarters(void *p, const void *x, int bytes)
{
    if ((uintptr_t)p % 16 || bytes % 16)
        return 0;
    UNROLL
    for (int b = 0; b < bytes; b += 16)
        leave_quarter((char *)p + b, (const char *)x + b);
    return 1;
}

/* Stores x past the caches, which would read the line that it is in before; 0 where that cannot be. */
INLINE int stream_bytes(void *p, const void *x, int bytes)
{
    return stream_quarters(p, x, bytes);
}

/* The same of the first bytes of a vector that has `whole` of them; of less than these where `past` is 2. */
INLINE int stream_first(void *p, const void *x, int whole, int bytes, int past)
{
    if (bytes == whole)
        return stream_bytes(p, x, whole);
    if (past < 2 || whole < 16 || (uintptr_t)p % 16 || bytes % 16)
        return 0;
    for (int b = 0; b < bytes; b += 16)
        leave_quarter((char *)p + b, (const char *)x + b);
    return 1;
}

/* What was stored past the caches is there for other threads. */
#if defined(__GNUC__) && defined(__SSE2__)
#define STREAM_END() __asm__ volatile("sfence" : : : "memory")
#else
#define STREAM_END() ((void)0)
#endif

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
}

INLINE void store_f32v(f32u *p, int64_t stride, f32v x, int count)
{
    store_u32v(p, stride, bits_f32v(x), count);
}

INLINE void stream_f32v(f32u *p, int64_t stride, f32v x, int count, int past)
{
    if (!past || stride != 1 || !stream_first(p, &x, sizeof x, count * (int)sizeof *p, past))
        store_f32v(p, stride, x, count);
}

/* Each lane's number n lanes later; the first n are `first`. */
INLINE f32v later_f32v(f32v x, int n, float first)
{
#if EINC_SHUFFLES
    const i32v from = lanes_i32v() - n;
    return __builtin_shuffle(splat_f32v(first), x, from + LANES);
#else
    float lanes[LANES], moved[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        moved[l] = l < n ? first : lanes[l - n];
    memcpy(&x, moved, sizeof x);
    return x;
#endif
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

/* How rows of a large result are stored past the caches, the first of them at p, the next so many bytes further: 2, all of them; 1,
 * their whole vectors; 0, not at all. A line that goes past them in part takes 10 times as long unless the next row has the rest
 * of it: so rows are whole pieces of 16 bytes without gaps, or whole lines, or long and the numbers before a line have a turn of their own. */
PLAIN int stream_rows(const void *p, int64_t bytes, int64_t apart, int leads)
{
    const uint64_t odd = (uintptr_t)p | (uint64_t)bytes | (uint64_t)apart;
    return odd % 16 == 0 && bytes == apart ? 2 : odd % 64 == 0 || (leads && bytes >= 4096);
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    cumulative_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int unit_1;    /* the lanes' strides are 1 */
    int past_1;    /* whether the result is stored past the caches */
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

/* out[i,j] = cumsum[j](A[i,j]) */
INLINE void step_1_at(const Frame *f, int64_t i, const int unit)
{
    const int64_t extent_j = f->extent_j;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = unit ? 1 : f->in.A.stride[1];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = unit ? 1 : f->in.out.stride[1];
    float sum = 0.0f;
    int64_t j_2 = 0;
    for (; j_2 + LANES <= extent_j; j_2 += LANES) {
        f32v sum_lanes = splat_f32v(0.0f);
        sum_lanes = sum_lanes + load_f32v(A + i * A_0 + j_2 * A_1, A_1, LANES);
        sum_lanes = sum_lanes + later_f32v(sum_lanes, 1, 0.0f);
        sum_lanes = sum_lanes + later_f32v(sum_lanes, 2, 0.0f);
        sum_lanes = sum_lanes + splat_f32v(sum);
        sum = lane_f32v(sum_lanes, LANES - 1);
        stream_f32v(out + i * out_0 + j_2 * out_1, out_1, sum_lanes, LANES, f->past_1);
    }
    if (j_2 < extent_j) {
        const int rest_2 = (int)(extent_j - j_2);
        f32v sum_lanes_2 = splat_f32v(0.0f);
        sum_lanes_2 = sum_lanes_2 + load_f32v(A + i * A_0 + j_2 * A_1, A_1, rest_2);
        sum_lanes_2 = sum_lanes_2 + later_f32v(sum_lanes_2, 1, 0.0f);
        sum_lanes_2 = sum_lanes_2 + later_f32v(sum_lanes_2, 2, 0.0f);
        sum_lanes_2 = sum_lanes_2 + splat_f32v(sum);
        sum = lane_f32v(sum_lanes_2, rest_2 - 1);
        stream_f32v(out + i * out_0 + j_2 * out_1, out_1, sum_lanes_2, rest_2, f->past_1);
    }
}

KERNEL static void step_1(const Frame *frame, int64_t i_first, int64_t i_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    if (f->unit_1) {
        for (int64_t i = i_first; i < i_end; i++)
            step_1_at(f, i, 1);
    } else {
        for (int64_t i = i_first; i < i_end; i++)
            step_1_at(f, i, 0);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    const int64_t extent_i = f->extent_i;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t i_first = unit * 455, i_end = size_min(i_first + 455, extent_i);
        step_1(f, i_first, i_end);
    }
    if (f->past_1)
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
static int prepare(Frame *f, const cumulative_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_j = f->extent_j = f->in.A.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_j)
        return BAD_SHAPES;
    f->units_1 = size_ceil_div(extent_i, 455);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(extent_i, extent_j), 16384), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.A.stride[1] == 1 && f->in.out.stride[1] == 1;
    f->past_1 = size_mul(size_mul(extent_i, extent_j), 4) > 33554432
            ? stream_rows(f->in.out.data, size_mul(extent_j, 4), f->in.out.stride[0] * 4, 0) : 0;
    return 0;
}

int cumulative_workspace(const cumulative_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int cumulative(const cumulative_args *args, void *workspace, size_t bytes, const einc_host *host)
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
