/* einc compile 'dW[y[t]:i64,h]:f32 += g[t,h]:bf16' --target cuda:sm_90a -o scatter.cu --header scatter.h
 *
 *     dW[y[t]:i64,h]:f32 += g[t,h]:bf16 -> th:f32
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of h: tile_1_1 = min(points_1, h)
 *   step 1: add dW[y[t],h] += g[t,h]
 *     loops t h, 32 lanes along h, 2 threads for elements of their own
 * workspace 64 */
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

#ifndef SCATTER_H
#define SCATTER_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct scatter_args {
    struct {    /* input y, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } y;
    struct {    /* input g, bf16 */
        const uint16_t *data;
        int64_t shape[2], stride[2];
    } g;
    struct {    /* output dW, f32[*,h], added to */
        float *data;
        int64_t shape[2], stride[2];
    } dW;
} scatter_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that scatter() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int scatter_workspace(const scatter_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int scatter(const scatter_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int scatter_status(const void *workspace, void *stream);
#endif

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, OUT_OF_RANGE = -16 };

/* C++20 has no arithmetic between the constants of two enums. */
#if __cplusplus > 201703L
#define CONSTANTS(...) [[maybe_unused]] static constexpr int __VA_ARGS__
#else
#define CONSTANTS(...) enum { __VA_ARGS__ }
#endif

/* Threads of a block and of a warp, and how many blocks have registers at once. */
CONSTANTS(THREADS = 128, WARP = 32, WARPS = THREADS / WARP, RESIDENT = 4);

#define INLINE static __device__ __forceinline__

#define UNROLL_NOT _Pragma("unroll 1")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef int64_t i64u UNALIGNED;

typedef uint16_t bf16u UNALIGNED;

typedef float f32u UNALIGNED;

INLINE float from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE float to_f32_bf16(uint16_t h)
{
    return from_bits_f32((uint32_t)h << 16);
}

/* Helpers of both the launcher and the kernels. */
#define PLAIN static inline __host__ __device__ __attribute__((unused))

#define SHARED static inline __host__ __device__ __attribute__((unused))

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

/* The common size of two axes, where 1 gives way; -1 when they disagree. */
PLAIN int64_t meet(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}

PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}

/* The last index of a point's number, and what is left of it. Most numbers are short, and dividing these is cheap. */
INLINE int64_t take_index(int64_t *rest, int64_t extent)
{
    const int64_t all = *rest;
    if ((uint64_t)(all | extent) >> 32 == 0) {
        *rest = (uint32_t)all / (uint32_t)extent;
        return (uint32_t)all % (uint32_t)extent;
    }
    *rest = all / extent;
    return all % extent;
}

/* Goes on with an index, of which there are so many, by no more than that; back comes what is carried to the one around it. */
INLINE int64_t add_index(int64_t *index, int64_t more, int64_t extent)
{
    const int64_t sum = *index + more, carry = sum >= extent;
    *index = carry ? sum - extent : sum;
    return carry;
}

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    scatter_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_t;
    int64_t extent_h;
    int64_t points_1;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int64_t shared;
    int64_t per_worker;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* dW[y[t],h] += g[t,h] */
INLINE void step_1_at(const Frame *f, int64_t t, int64_t h, int64_t share)
{
    const i64u *y = (const i64u *)f->in.y.data;
    const int64_t y_0 = f->in.y.stride[0];
    const bf16u *g = (const bf16u *)f->in.g.data;
    const int64_t g_0 = f->in.g.stride[0], g_1 = f->in.g.stride[1];
    f32u *dW = (f32u *)f->in.dW.data;
    const int64_t dW_0 = f->in.dW.stride[0], dW_1 = f->in.dW.stride[1];
    if ((uint64_t)(y[t * y_0]) % 2 != (uint64_t)share)
        return;
    if (!(is_inside(y[t * y_0], f->in.dW.shape[0]))) {
        FAIL(f, OUT_OF_RANGE - 6);
        return;
    }
    dW[y[t * y_0] * dW_0 + h * dW_1] = dW[y[t * y_0] * dW_0 + h * dW_1] + to_f32_bf16(g[t * g_0 + h * g_1]);
}

INLINE void step_1(const Frame *f, int64_t h_first, int64_t h_end)
{
    const int64_t extent_t = f->extent_t;
    const int64_t points = 2 * (h_end - h_first);
    if (points <= 0)
        return;
    int64_t rest = threadIdx.x, skip = THREADS;
    int64_t h_at = take_index(&rest, h_end - h_first);
    const int64_t h_skip = take_index(&skip, h_end - h_first);
    int64_t share_at = rest;
    const int64_t share_skip = skip;
    UNROLL_NOT
    for (int64_t point = threadIdx.x; point < points; point += THREADS) {
        const int64_t h = h_first + h_at;
        const int64_t share = share_at;
        for (int64_t t = 0; t < extent_t; t++)
            step_1_at(f, t, h, share);
        int64_t carry = add_index(&h_at, h_skip, h_end - h_first);
        share_at += share_skip + carry;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) scatter_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_h = f->extent_h, tile_1_1 = f->tile_1_1;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        const int64_t h_first = unit * tile_1_1, h_end = size_min(h_first + tile_1_1, extent_h);
        step_1(f, h_first, h_end);
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const scatter_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.y.shape, f->in.y.stride, 1))
        return BAD_SHAPES;
    if (!settle(f->in.g.shape, f->in.g.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.dW.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_t = f->extent_t = meet(f->in.y.shape[0], f->in.g.shape[0]);
    if (extent_t < 0)
        return BAD_SHAPES;
    const int64_t extent_h = f->extent_h = f->in.dW.shape[1];
    if (f->in.g.shape[1] != extent_h && f->in.g.shape[1] != 1)
        return BAD_SHAPES;
    if (f->in.dW.shape[1] != extent_h)
        return BAD_SHAPES;
    const int64_t points_1 = f->points_1 = size_min(size_max(size_ceil_div(extent_h, 1024), 128), 1024);
    const int64_t tile_1_1 = f->tile_1_1 = size_min(points_1, extent_h);
    f->units_1 = size_ceil_div(extent_h, tile_1_1);
    f->shared = 64;
    f->grain_1 = size_max(size_ceil_div(f->units_1, 2147483647), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

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

int scatter_workspace(const scatter_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int scatter(const scatter_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.y.data % 8 || (uintptr_t)f->in.g.data % 2 || (uintptr_t)f->in.dW.data % 4)
        return BAD_ARGUMENT;
    if (cudaMemsetAsync(f->workspace, 0, (size_t)4, (cudaStream_t)stream) != cudaSuccess)
        return BAD_MACHINE;
    if (launch(scatter_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int scatter_status(const void *workspace, void *stream)
{
    int status = 0;
    if (cudaMemcpyAsync(&status, workspace, sizeof status, cudaMemcpyDeviceToHost, (cudaStream_t)stream) != cudaSuccess)
        return BAD_MACHINE;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
