/* einc compile 'a[]*b[] + 1' -o scalars.c
 *
 *     a[] * b[] + 1
 *
 * target portable, 1 lanes
 * launch 1: one unit
 *   step 1: store out[] = (a * b) + 1
 *     loops
 * workspace 0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef SCALARS_H
#define SCALARS_H
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
typedef struct scalars_args {
    struct {    /* input a, f32 */
        const float *data;
        int64_t shape[1], stride[1];
    } a;
    struct {    /* input b, f32 */
        const float *data;
        int64_t shape[1], stride[1];
    } b;
    struct {    /* output, f32 */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} scalars_args;

/* The bytes of workspace that scalars() wants for these shapes and so many workers. 0, or why not. */
int scalars_workspace(const scalars_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int scalars(const scalars_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Helpers are inlined; all functions are for the same instruction set. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused))
#else
#define INLINE static inline
#endif

#ifdef __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif

typedef float f32u UNALIGNED;

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

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    scalars_args in;    /* strides of axes of size 1 are 0 here */
    int64_t units_1, grain_1, tasks_1;
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

/* out[] = (a * b) + 1 */
INLINE void step_1_at(const Frame *f)
{
    const f32u *a = (const f32u *)f->in.a.data;
    const f32u *b = (const f32u *)f->in.b.data;
    f32u *out = (f32u *)f->in.out.data;
    out[0] = (a[0] * b[0]) + 1.0f;
}

KERNEL static void step_1(const Frame *f)
{
    step_1_at(f);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        step_1(f);
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
static int prepare(Frame *f, const scalars_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    f->units_1 = 1;
    f->grain_1 = size_max(size_ceil_div(f->units_1, 1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int scalars_workspace(const scalars_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int scalars(const scalars_args *args, void *workspace, size_t bytes, const einc_host *host)
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
