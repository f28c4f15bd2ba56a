/* The skeleton of a generated kernel: what is the same in all of them. The sample doubles a vector. */
#include "fold.c"
#include "size.c"
//---
//{ title
//}
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

//{ declarations
#ifndef EINC_HOST
#define EINC_HOST
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

typedef struct sample_args {
    struct {
        const float *data;
        int64_t shape[1], stride[1];
    } x;
    struct {
        float *data;
        int64_t shape[1], stride[1];
    } out;
} sample_args;

int sample_workspace(const sample_args *args, int workers, size_t *bytes);
int sample(const sample_args *args, void *workspace, size_t bytes, const einc_host *host);
//}

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

//{ prelude
#define KERNEL
//}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
//{ frame
typedef struct Frame {
    sample_args in;
    int64_t extent_i;
    int64_t tile_1, units_1, grain_1, tasks_1;
    int64_t shared, per_worker;
    char *workspace;
    const einc_host *host;
    int *status;
} Frame;
//}

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

//{ functions
KERNEL static void step_1(const Frame *f, int64_t i_first, int64_t i_end)
{
    for (int64_t i = i_first; i < i_end; i++)
        f->in.out.data[i * f->in.out.stride[0]] = 2 * f->in.x.data[i * f->in.x.stride[0]];
}

static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    for (int64_t unit = task * f->grain_1; unit < size_min((task + 1) * f->grain_1, f->units_1) && !is_stopped(f); unit++)
        step_1(f, unit * f->tile_1, size_min((unit + 1) * f->tile_1, f->extent_i));
}
//}

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
//{ prepare
static int prepare(Frame *f, const sample_args *args, int workers)
{
    memset(f, 0, sizeof *f);
    f->in = *args;
    f->extent_i = args->x.shape[0];
    if (args->out.shape[0] != f->extent_i)
        return BAD_SHAPES;
    f->tile_1 = 16;
    f->units_1 = size_ceil_div(f->extent_i, f->tile_1);
    f->grain_1 = 1;
    f->tasks_1 = f->units_1;
    (void)workers;
    return 0;
}
//}

//{ workspace_head
int sample_workspace(const sample_args *args, int workers, size_t *bytes)
//}
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

//{ kernel_head
int sample(const sample_args *args, void *workspace, size_t bytes, const einc_host *host)
//}
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
    //{ launches
    if (run(f, launch_1, f->tasks_1))
        return failure;
    //}
    return 0;
}
