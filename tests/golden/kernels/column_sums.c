/* einc compile 'ij->j' -o column_sums.c -d i=131072,j=1024 --target avx512
 *
 *     ij -> j
 *
 * target avx512, 16 lanes
 * launch 1: block of i: 8
 *   step 1: store out[j] = sum[i](A[i,j])
 *     loops j, 16 lanes along j, 8 points of i together, rows of 0 to 1024 numbers one by one,
 *             prefetching 16 vectors ahead, split along i into parts_1 = min(ceil(i / 8), 32),
 *             stride 1 expected: A axis 1, out axis 0
 * workspace align(parts_1 * j * 4, 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef COLUMN_SUMS_H
#define COLUMN_SUMS_H
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
typedef struct column_sums_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* output, f32[j] */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} column_sums_args;

/* The bytes of workspace that column_sums() wants for these shapes and so many workers. 0, or why not. */
int column_sums_workspace(const column_sums_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int column_sums(const column_sums_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Before a loop over points that go together, a number that is known when this is compiled: their sums are in registers. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_POINTS _Pragma("GCC unroll 16")
#elif EINC_VECTORS
#define UNROLL_POINTS _Pragma("clang loop unroll(full)")
#else
#define UNROLL_POINTS
#endif

/* clang is told only of loops that become as many copies as they have turns: it keeps the sums of others in memory. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define UNROLL_TWICE
#endif

/* The same into the second cache, for what is read later than the first would keep it. */
#ifdef __GNUC__
#define PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)
#else
#define PREFETCH_FAR(p) ((void)(p))
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

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
}

INLINE void store_f32v(f32u *p, int64_t stride, f32v x, int count)
{
    store_u32v(p, stride, bits_f32v(x), count);
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

PLAIN int is_shape(const int64_t *shape, int rank)
{
    for (int a = 0; a < rank; a++)
        if (shape[a] < 0)
            return 0;
    return 1;
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    column_sums_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t parts_1;
    int64_t shared;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int unit_1;    /* the lanes' strides are 1 */
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

/* out[j] = sum[i](A[i,j]) */
INLINE void step_1_at(const Frame *f, int64_t i_first, int64_t part, int first_unit, const int points, const int unit)
{
    const int64_t extent_j = f->extent_j;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = unit ? 1 : f->in.A.stride[1];
    f32u *parts_sum_1_1 = (f32u *)f->workspace;
    const f32u *A_points[8];
    UNROLL_POINTS
    for (int point = 0; point < points; point++) {
        const int64_t i = i_first + point;
        A_points[point] = A + i * A_0;
    }
    int64_t j = 0;
    UNROLL_TWICE
    for (; j + LANES <= extent_j; j += LANES) {
        f32v sum = splat_f32v(0.0f);
        UNROLL_POINTS
        for (int point = 0; point < points; point++) {
            PREFETCH_FAR(A_points[point] + (j + 16 * LANES) * A_1);
            sum = sum + load_f32v(A_points[point] + j * A_1, A_1, LANES);
        }
        const int64_t place = (part) * extent_j + j;
        if (!first_unit) {
            f32v sum_before = load_f32v(parts_sum_1_1 + place, 1, LANES);
            sum_before = sum_before + sum;
            sum = sum_before;
        }
        store_f32v(parts_sum_1_1 + place, 1, sum, LANES);
    }
    if (j < extent_j) {
        const int rest_2 = (int)(extent_j - j);
        f32v sum_2 = splat_f32v(0.0f);
        UNROLL_POINTS
        for (int point = 0; point < points; point++) {
            sum_2 = sum_2 + load_f32v(A_points[point] + j * A_1, A_1, rest_2);
        }
        const int64_t place_2 = (part) * extent_j + j;
        if (!first_unit) {
            f32v sum_before_2 = load_f32v(parts_sum_1_1 + place_2, 1, rest_2);
            sum_before_2 = sum_before_2 + sum_2;
            sum_2 = sum_before_2;
        }
        store_f32v(parts_sum_1_1 + place_2, 1, sum_2, rest_2);
    }
}

KERNEL static void step_1(const Frame *frame, int64_t i_first, int64_t i_end, int64_t part, int first_unit)
{
    const Frame unchanged = *frame, *f = &unchanged;
    const int64_t extent_j = f->extent_j;
    if (f->unit_1) {
        int64_t i = i_first;
        for (; extent_j > 1024 && i + 8 <= i_end; i += 8)
            step_1_at(f, i, part, first_unit && i == i_first, 8, 1);
        for (; i < i_end; i++)
            step_1_at(f, i, part, first_unit && i == i_first, 1, 1);
    } else {
        int64_t i = i_first;
        for (; i < i_end; i++)
            step_1_at(f, i, part, first_unit && i == i_first, 1, 0);
    }
}

/* the parts, in order */
INLINE void merge_1_at(const Frame *f, int64_t j, const int count, const int unit)
{
    const int64_t extent_j = f->extent_j;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = unit ? 1 : f->in.out.stride[0];
    f32u *parts_sum_1_1 = (f32u *)f->workspace;
    f32v sum = splat_f32v(0.0f);
    for (int64_t part = 0; part < f->tasks_1; part++) {
        const int64_t place = (part) * extent_j + j;
        sum = sum + load_f32v(parts_sum_1_1 + place, 1, count);
    }
    store_f32v(out + j * out_0, out_0, sum, count);
}

KERNEL static void merge_1(const Frame *frame)
{
    const Frame unchanged = *frame, *f = &unchanged;
    const int64_t extent_j = f->extent_j;
    if (f->unit_1) {
        int64_t j = 0;
        for (; j + LANES <= extent_j; j += LANES)
            merge_1_at(f, j, LANES, 1);
        if (j < extent_j)
            merge_1_at(f, j, (int)(extent_j - j), 1);
    } else {
        for (int64_t j = 0; j < extent_j; j += LANES)
            merge_1_at(f, j, (int)size_min(LANES, extent_j - j), 0);
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
        const int64_t i_first = unit * 8, i_end = size_min(i_first + 8, extent_i);
        const int64_t part = task;
        const int first_unit = unit == task * f->grain_1;
        step_1(f, i_first, i_end, part, first_unit);
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
static int prepare(Frame *f, const column_sums_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 1))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_j = f->extent_j = f->in.A.shape[1];
    if (f->in.out.shape[0] != extent_j)
        return BAD_SHAPES;
    const int64_t parts_1 = f->parts_1 = size_min(size_ceil_div(extent_i, 8), 32);
    f->shared = size_align(size_mul(size_mul(parts_1, extent_j), 4), 64);
    f->units_1 = size_ceil_div(extent_i, 8);
    f->grain_1 = size_max(size_ceil_div(f->units_1, parts_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.A.stride[1] == 1 && f->in.out.stride[0] == 1;
    return 0;
}

int column_sums_workspace(const column_sums_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int column_sums(const column_sums_args *args, void *workspace, size_t bytes, const einc_host *host)
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
