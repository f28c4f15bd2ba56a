/* The skeleton of a generated kernel for CUDA: what is the same in all of them. The sample doubles a vector. */
#include "../size.c"
//---
//{ title
//}
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define INT64_C(x) x##LL
#else
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

//{ declarations
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

extern "C" int sample_workspace(const sample_args *args, int workers, size_t *bytes);
extern "C" int sample(const sample_args *args, void *workspace, size_t bytes, void *stream);
extern "C" int sample_status(const void *workspace, void *stream);
//}

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, OUT_OF_RANGE = -16 };

/* C++20 has no arithmetic between the constants of two enums. */
#if __cplusplus > 201703L
#define CONSTANTS(...) [[maybe_unused]] static constexpr int __VA_ARGS__
#else
#define CONSTANTS(...) enum { __VA_ARGS__ }
#endif

/* Threads of a block and of a warp, and how many blocks have registers at once. */
//{ threads
CONSTANTS(THREADS = 128, WARP = 32, WARPS = THREADS / WARP, RESIDENT = 4);
//}

//{ prelude
//}

/* One call: the operands, what follows from their shapes, and the workspace. */
//{ frame
typedef struct Frame {
    sample_args in;
    int64_t extent_i;
    int64_t tile_1_1, units_1, grain_1, tasks_1;
    int64_t shared, per_worker;
    char *workspace;
} Frame;
//}

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

//{ functions
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) sample_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    for (unsigned task = blockIdx.x; task < (unsigned)f->tasks_1; task += gridDim.x) {
        const int64_t i = task * THREADS + threadIdx.x;
        if (i < f->extent_i)
            f->in.out.data[i * f->in.out.stride[0]] = 2 * f->in.x.data[i * f->in.x.stride[0]];
    }
}
//}

#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
//{ prepare
static int prepare(Frame *f, const sample_args *args, int workers)
{
    memset(f, 0, sizeof *f);
    f->in = *args;
    f->extent_i = args->x.shape[0];
    if (args->out.shape[0] != f->extent_i)
        return BAD_SHAPES;
    f->tile_1_1 = THREADS;
    f->units_1 = size_ceil_div(f->extent_i, f->tile_1_1);
    f->grain_1 = 1;
    f->tasks_1 = f->units_1;
    (void)workers;
    return 0;
}
//}

/* Starts a block for each task, or as many as there are own parts of the workspace for. Each asks for so many bytes of shared
 * memory. */
static int launch(void (*kernel)(const Frame), const Frame *f, int64_t tasks, int64_t workers, int bytes, cudaStream_t stream)
{
    void *arguments[] = { (void *)f };
    if (tasks == 0)
        return 0;
    if (bytes && cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return 1;
    return cudaLaunchKernel(kernel, dim3((unsigned)size_min(tasks, workers)), dim3(THREADS), arguments, (size_t)bytes,
                            stream) != cudaSuccess;
}

//{ workspace_head
extern "C" int sample_workspace(const sample_args *args, int workers, size_t *bytes)
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
extern "C" int sample(const sample_args *args, void *workspace, size_t bytes, void *stream)
//}
{
    Frame frame, *f = &frame;
    int status = args ? prepare(f, args, 1) : BAD_ARGUMENT;
    if (status)
        return status;
    int64_t all = size_add(f->shared, f->per_worker), workers = INT32_MAX;
    if (all > 0 && (all == SIZE_TOO_LARGE || (uint64_t)all > bytes || !workspace || (uintptr_t)workspace % 64))
        return BAD_WORKSPACE;
    if (f->per_worker > 0)
        workers = size_min(workers, (int64_t)((bytes - (uint64_t)f->shared) / (uint64_t)f->per_worker));
    f->workspace = (char *)workspace;
    //{ launches
    if (launch(sample_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    //}
    return 0;
}

//{ status_head
extern "C" int sample_status(const void *workspace, void *stream)
//}
{
    int status = 0;
    //{ status
    (void)workspace;
    //}
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
