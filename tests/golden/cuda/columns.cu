/* einc compile 'A[j,m] -> [m]' --target cuda:sm_90a -d j=1000000,m=1000 -o columns.cu --header columns.h
 *
 *     A[j,m] -> m
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of m: tile_1_1 = min(points_1, m), block of j: tile_1_2 = max(ceil(j / 128), 1)
 *   step 1: store out[m] = sum[j](A[j,m])
 *     loops m, 32 lanes along m, split along j into parts_1 = ceil(j / tile_1_2)
 * workspace align(parts_1 * m * 4, 64) */
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

#ifndef COLUMNS_H
#define COLUMNS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct columns_args {
    struct {    /* input A, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* output, f32[m] */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} columns_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that columns() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int columns_workspace(const columns_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int columns(const columns_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int columns_status(const void *workspace, void *stream);
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

#define UNROLL _Pragma("unroll")

#define UNROLL_NOT _Pragma("unroll 1")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef float f32u UNALIGNED;

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

/* What is read in so many turns of a loop is on its way at once. */
#define UNROLL_MUCH _Pragma("unroll 16")

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    columns_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_j;
    int64_t extent_m;
    int64_t tile_1_2;
    int64_t parts_1;
    int64_t shared;
    int64_t points_1;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int64_t per_worker;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* out[m] = sum[j](A[j,m]) */
INLINE void step_1_at(const Frame *f, int64_t j_first, int64_t j_end, int64_t part, int64_t m)
{
    const int64_t extent_m = f->extent_m;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    f32u *parts_sum_1_1 = (f32u *)f->workspace;
    const int64_t place = (part) * extent_m + m;
    float sum[8];
    for (int chain = 0; chain < 8; chain++)
        sum[chain] = 0.0f;
    int64_t j_at = j_first;
    for (; j_at + 8 <= j_end; j_at += 8) {
        UNROLL
        for (int chain = 0; chain < 8; chain++) {
            const int64_t j = j_at + chain;
            sum[chain] = sum[chain] + A[j * A_0 + m * A_1];
        }
    }
    for (; j_at < j_end; j_at++) {
        sum[0] = sum[0] + A[j_at * A_0 + m * A_1];
    }
    for (int chain = 1; chain < 8; chain++)
        sum[0] = sum[0] + sum[chain];
    parts_sum_1_1[place] = sum[0];
}

INLINE void step_1(const Frame *f, int64_t m_first, int64_t m_end, int64_t j_first, int64_t j_end, int64_t part)
{
    const int64_t points = m_end - m_first;
    UNROLL_NOT
    for (int64_t point = threadIdx.x; point < points; point += THREADS) {
        const int64_t m = m_first + point;
        step_1_at(f, j_first, j_end, part, m);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) columns_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_j = f->extent_j, extent_m = f->extent_m;
    const int64_t tile_1_2 = f->tile_1_2, tile_1_1 = f->tile_1_1;
    for (unsigned task = blockIdx.x; task < (unsigned)f->tasks_1; task += gridDim.x) {
        const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
        for (int64_t unit = task * f->grain_1; unit < units_end; unit++) {
            int64_t rest = unit;
            const int64_t j_tiles = size_max(size_ceil_div(extent_j, tile_1_2), 1);
            const int64_t j_first = rest % j_tiles * tile_1_2, j_end = size_min(j_first + tile_1_2, extent_j);
            rest /= j_tiles;
            const int64_t m_first = rest * tile_1_1, m_end = size_min(m_first + tile_1_1, extent_m);
            const int64_t part = j_first / tile_1_2;
            step_1(f, m_first, m_end, j_first, j_end, part);
            __syncthreads();
        }
    }
}

/* the parts, in order */
INLINE void merge_1_at(const Frame *f, int64_t m)
{
    const int64_t extent_m = f->extent_m, parts_1 = f->parts_1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0];
    f32u *parts_sum_1_1 = (f32u *)f->workspace;
    float sum = 0.0f;
    UNROLL_MUCH
    for (int64_t part = 0; part < parts_1; part++) {
        const int64_t place = (part) * extent_m + m;
        sum = sum + parts_sum_1_1[place];
    }
    out[m * out_0] = sum;
}

INLINE void merge_1(const Frame *f)
{
    const int64_t extent_m = f->extent_m;
    const int64_t points = extent_m;
    UNROLL_NOT
    for (int64_t point = (int64_t)blockIdx.x * THREADS + threadIdx.x; point < points; point
            += (int64_t)gridDim.x * THREADS) {
        const int64_t m = point;
        merge_1_at(f, m);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) columns_merge_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    merge_1(f);
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const columns_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 1))
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.A.shape[0];
    const int64_t extent_m = f->extent_m = f->in.A.shape[1];
    if (f->in.out.shape[0] != extent_m)
        return BAD_SHAPES;
    const int64_t tile_1_2 = f->tile_1_2 = size_max(size_ceil_div(extent_j, 128), 1);
    const int64_t parts_1 = f->parts_1 = size_ceil_div(extent_j, tile_1_2);
    f->shared = size_align(size_mul(size_mul(parts_1, extent_m), 4), 64);
    const int64_t points_1 = f->points_1 = size_min(size_max(size_ceil_div(extent_m, 1024), 128), 1024);
    const int64_t tile_1_1 = f->tile_1_1 = size_min(points_1, extent_m);
    f->units_1 = size_mul(size_ceil_div(extent_m, tile_1_1), size_ceil_div(extent_j, tile_1_2));
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

int columns_workspace(const columns_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int columns(const columns_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.A.data % 4 || (uintptr_t)f->in.out.data % 4)
        return BAD_ARGUMENT;
    const int64_t extent_m = f->extent_m;
    if (launch(columns_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    if (launch(columns_merge_1, f, size_ceil_div(extent_m, 128), workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int columns_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
