/* einc compile 'a[b,n,d] + c[b,n,d]' -o short_rows.c -d b=4,n=1000,d=3
 *
 *     a[b,n,d] + c[b,n,d]
 *
 * target portable, 4 lanes
 * launch 1: block of b: tile_1_1 = ceil(4096 / (min(4096, d) * min(tile_1_2, n))),
 *         block of n: tile_1_2 = max(ceil(4096 / min(4096, d)), 8), block of d: 4096
 *   step 1: store out[b,n,d] = a[b,n,d] + c[b,n,d]
 *     loops b n d, 4 lanes along d, stride 1 expected: a axis 2, c axis 2, out axis 2
 * workspace 0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef SHORT_ROWS_H
#define SHORT_ROWS_H
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
typedef struct short_rows_args {
    struct {    /* input a, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } a;
    struct {    /* input c, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } c;
    struct {    /* output, f32[b,n,d] */
        float *data;
        int64_t shape[3], stride[3];
    } out;
} short_rows_args;

/* The bytes of workspace that short_rows() wants for these shapes and so many workers. 0, or why not. */
int short_rows_workspace(const short_rows_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int short_rows(const short_rows_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Axes of an array that may become one, outermost first. */
typedef struct Rows {
    int64_t *shape, *stride;
    int axis[8];
} Rows;

static inline int rows_agree(const Rows *rows, int arrays, int axes)
{
    for (int r = 1; r < arrays; r++)
        for (int a = 0; a < axes; a++)
            if (rows[r].shape[rows[r].axis[a]] != rows[0].shape[rows[0].axis[a]])
                return 0;
    return 1;
}

/* Whether in all arrays the points of two axes follow each other as those of one would. Of one point only the innermost axis takes
 * another's: elsewhere what is further out would come further in, past the loops between. */
static inline int rows_follow(const Rows *rows, int arrays, int outer, int inner, int innermost)
{
    for (int r = 0; r < arrays; r++) {
        const int64_t *shape = rows[r].shape, *stride = rows[r].stride;
        const int from = rows[r].axis[outer], to = rows[r].axis[inner];
        if (shape[to] == 1 ? !innermost : (uint64_t)stride[from] != (uint64_t)shape[to] * (uint64_t)stride[to])
            return 0;
    }
    return 1;
}

/* Where rows follow each other in all arrays the inner axis takes their points, and the outer one keeps one. */
SHARED void coalesce(const Rows *rows, int arrays, int axes)
{
    if (!rows_agree(rows, arrays, axes))
        return;
    const Rows *first = &rows[0];
    for (int outer = axes - 2; outer >= 0; outer--) {
        int inner = axes - 1;
        while (inner > outer && !rows_follow(rows, arrays, outer, inner, inner == axes - 1))
            inner--;
        const int64_t points = size_mul(first->shape[first->axis[outer]], first->shape[first->axis[inner]]);
        if (inner == outer || first->shape[first->axis[outer]] == 1 || points == SIZE_TOO_LARGE)
            continue;
        for (int r = 0; r < arrays; r++) {
            int64_t *shape = rows[r].shape, *stride = rows[r].stride;
            const int from = rows[r].axis[outer], to = rows[r].axis[inner];
            if (shape[to] == 1)
                stride[to] = stride[from];
            shape[to] = points;
            shape[from] = 1;
            stride[from] = 0;
        }
    }
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
    short_rows_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_b;
    int64_t extent_n;
    int64_t extent_d;
    int64_t tile_1_2;
    int64_t tile_1_1;
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

/* out[b,n,d] = a[b,n,d] + c[b,n,d] */
INLINE void step_1_at(const Frame *f, int64_t b, int64_t n, int64_t d, const int count, const int unit)
{
    const f32u *a = (const f32u *)f->in.a.data;
    const int64_t a_0 = f->in.a.stride[0], a_1 = f->in.a.stride[1];
    const int64_t a_2 = unit ? 1 : f->in.a.stride[2];
    const f32u *c = (const f32u *)f->in.c.data;
    const int64_t c_0 = f->in.c.stride[0], c_1 = f->in.c.stride[1];
    const int64_t c_2 = unit ? 1 : f->in.c.stride[2];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = unit ? 1 : f->in.out.stride[2];
    const f32v value = load_f32v(a + b * a_0 + n * a_1 + d * a_2, a_2, count)
            + load_f32v(c + b * c_0 + n * c_1 + d * c_2, c_2, count);
    store_f32v(out + b * out_0 + n * out_1 + d * out_2, out_2, value, count);
}

KERNEL static void step_1(const Frame *frame, int64_t b_first, int64_t b_end, int64_t n_first, int64_t n_end,
        int64_t d_first, int64_t d_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    if (f->unit_1) {
        for (int64_t b = b_first; b < b_end; b++)
            for (int64_t n = n_first; n < n_end; n++) {
                int64_t d = d_first;
                for (; d + LANES <= d_end; d += LANES)
                    step_1_at(f, b, n, d, LANES, 1);
                if (d < d_end)
                    step_1_at(f, b, n, d, (int)(d_end - d), 1);
            }
    } else {
        for (int64_t b = b_first; b < b_end; b++)
            for (int64_t n = n_first; n < n_end; n++)
                for (int64_t d = d_first; d < d_end; d += LANES)
                    step_1_at(f, b, n, d, (int)size_min(LANES, d_end - d), 0);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    const int64_t extent_b = f->extent_b, extent_n = f->extent_n;
    const int64_t extent_d = f->extent_d, tile_1_2 = f->tile_1_2;
    const int64_t tile_1_1 = f->tile_1_1;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t d_tiles = size_max(size_ceil_div(extent_d, 4096), 1);
        const int64_t d_first = rest % d_tiles * 4096, d_end = size_min(d_first + 4096, extent_d);
        rest /= d_tiles;
        const int64_t n_tiles = size_max(size_ceil_div(extent_n, tile_1_2), 1);
        const int64_t n_first = rest % n_tiles * tile_1_2, n_end = size_min(n_first + tile_1_2, extent_n);
        rest /= n_tiles;
        const int64_t b_first = rest * tile_1_1, b_end = size_min(b_first + tile_1_1, extent_b);
        step_1(f, b_first, b_end, n_first, n_end, d_first, d_end);
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
static int prepare(Frame *f, const short_rows_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.a.shape, f->in.a.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.c.shape, f->in.c.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 3))
        return BAD_SHAPES;
    const Rows rows_1[] = {
        { f->in.a.shape, f->in.a.stride, { 0, 1, 2 } },
        { f->in.c.shape, f->in.c.stride, { 0, 1, 2 } },
        { f->in.out.shape, f->in.out.stride, { 0, 1, 2 } },
    };
    coalesce(rows_1, 3, 3);
    const int64_t extent_b = f->extent_b = meet(f->in.a.shape[0], f->in.c.shape[0]);
    if (extent_b < 0)
        return BAD_SHAPES;
    const int64_t extent_n = f->extent_n = meet(f->in.a.shape[1], f->in.c.shape[1]);
    if (extent_n < 0)
        return BAD_SHAPES;
    const int64_t extent_d = f->extent_d = meet(f->in.a.shape[2], f->in.c.shape[2]);
    if (extent_d < 0)
        return BAD_SHAPES;
    if (f->in.out.shape[0] != extent_b || f->in.out.shape[1] != extent_n || f->in.out.shape[2] != extent_d)
        return BAD_SHAPES;
    const int64_t tile_1_2 = f->tile_1_2 = size_max(size_ceil_div(4096, size_min(4096, extent_d)), 8);
    const int64_t tile_1_1 = f->tile_1_1 = size_ceil_div(4096,
            size_mul(size_min(4096, extent_d), size_min(tile_1_2, extent_n)));
    f->units_1 = size_mul(size_mul(size_ceil_div(extent_b, tile_1_1), size_ceil_div(extent_n, tile_1_2)),
            size_ceil_div(extent_d, 4096));
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(extent_b, extent_n), extent_d), 65536),
            1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.a.stride[2] == 1 && f->in.c.stride[2] == 1 && f->in.out.stride[2] == 1;
    return 0;
}

int short_rows_workspace(const short_rows_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int short_rows(const short_rows_args *args, void *workspace, size_t bytes, const einc_host *host)
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
