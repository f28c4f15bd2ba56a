/* einc compile '(ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j' --target cuda:sm_90a -o ranked.cu --header ranked.h
 *
 *     (ik - jk)^2 -> ij | bottomk(10) j & argbottomk(10) j
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of i: tile_1_1 = min(128, i)
 *   step 1: rank out[i,j] = bottomk(10)[j](sum[k](pow(A[i,k] - B[j,k], 2)))
 *           & out1[i,j] = argbottomk(10)[j](sum[k](pow(A[i,k] - B[j,k], 2)))
 *     loops i, 32 lanes along i
 * workspace workers * (15360) */
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

#ifndef RANKED_H
#define RANKED_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct ranked_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* output, f32[i,j] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
    struct {    /* output, i64[i,j] */
        int64_t *data;
        int64_t shape[2], stride[2];
    } out1;
} ranked_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that ranked() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int ranked_workspace(const ranked_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int ranked(const ranked_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int ranked_status(const void *workspace, void *stream);
#endif

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, OUT_OF_RANGE = -16 };

/* Threads of a block and of a warp, and how many blocks have registers at once. */
enum { THREADS = 128, WARP = 32, WARPS = THREADS / WARP, RESIDENT = 4 };

#define INLINE static __device__ __forceinline__

#define UNROLL _Pragma("unroll")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef int64_t i64u UNALIGNED;

typedef float f32u UNALIGNED;

INLINE float square_f32(float x)
{
    return x * x;
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

/* Puts x into the sorted list of at most `ranks` elements, of which `*filled` are there. A NaN is better than any number; of
 * equals the first to come stays in front. */
template <class T, class X>
INLINE void insert_rank(int most, T *list, int64_t *places, int64_t ranks, int64_t *filled, X element, int64_t place)
{
    const T x = (T)element;
    int64_t at = *filled;
    for (; at > 0; at--) {
        const T other = list[at - 1];
        const int better = x != x ? other == other : most ? x > other : x < other;
        if (!better)
            break;
        if (at < ranks) {
            list[at] = other;
            places[at] = places[at - 1];
        }
    }
    if (at == ranks)
        return;
    list[at] = x;
    places[at] = place;
    *filled += *filled < ranks;
}

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    ranked_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_k;
    int64_t extent_j;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int64_t shared;
    int64_t per_worker;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* out[i,j] = bottomk(10)[j](sum[k](pow(A[i,k] - B[j,k], 2))) & out1[i,j] = argbottomk(10)[j](sum[k](pow(A[i,k] - B[j,k], 2))) */
INLINE void step_1_at(const Frame *f, char *own, int64_t i)
{
    const int64_t extent_k = f->extent_k, extent_j = f->extent_j;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    i64u *out1 = (i64u *)f->in.out1.data;
    const int64_t out1_0 = f->in.out1.stride[0], out1_1 = f->in.out1.stride[1];
    float *ranked_1 = (float *)own + threadIdx.x * 10;
    int64_t *ranked_place_1 = (int64_t *)(own + 5120) + threadIdx.x * 10;
    int64_t filled = 0;
    for (int64_t j = 0; j < extent_j; j++) {
        float sum[4];
        for (int chain = 0; chain < 4; chain++)
            sum[chain] = 0.0f;
        int64_t k_at = 0;
        for (; k_at + 4 <= extent_k; k_at += 4) {
            UNROLL
            for (int chain = 0; chain < 4; chain++) {
                const int64_t k = k_at + chain;
                sum[chain] = sum[chain] + square_f32(A[i * A_0 + k * A_1] - B[j * B_0 + k * B_1]);
            }
        }
        for (; k_at < extent_k; k_at++) {
            sum[0] = sum[0] + square_f32(A[i * A_0 + k_at * A_1] - B[j * B_0 + k_at * B_1]);
        }
        for (int chain = 1; chain < 4; chain++)
            sum[0] = sum[0] + sum[chain];
        insert_rank(0, ranked_1, ranked_place_1, 10, &filled, sum[0], j);
    }
    for (int64_t rank = 0; rank < 10; rank++) {
        out[i * out_0 + rank * out_1] = ranked_1[rank];
        out1[i * out1_0 + rank * out1_1] = ranked_place_1[rank];
    }
}

INLINE void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end)
{
    const int64_t points = i_end - i_first;
    for (int64_t point = threadIdx.x; point < points; point += THREADS) {
        const int64_t i = i_first + point;
        step_1_at(f, own, i);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) ranked_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    char *own = f->workspace + f->shared + blockIdx.x * f->per_worker;
    const int64_t extent_i = f->extent_i, tile_1_1 = f->tile_1_1;
    for (int64_t task = blockIdx.x; task < f->tasks_1; task += gridDim.x) {
        const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
        for (int64_t unit = task * f->grain_1; unit < units_end; unit++) {
            const int64_t i_first = unit * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
            step_1(f, own, i_first, i_end);
        }
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const ranked_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out1.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[1], f->in.B.shape[1]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.B.shape[0];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != 10)
        return BAD_SHAPES;
    if (f->in.out1.shape[0] != extent_i || f->in.out1.shape[1] != 10)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_j < 10)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_j < 10)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(128, extent_i);
    f->units_1 = size_ceil_div(extent_i, tile_1_1);
    f->per_worker = 15360;
    f->grain_1 = size_max(size_ceil_div(f->units_1, 2147483647), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

/* Starts a block for each task, or as many as there are own parts of the workspace for. */
static int launch(void (*kernel)(const Frame), const Frame *f, int64_t tasks, int64_t workers, cudaStream_t stream)
{
    void *arguments[] = { (void *)f };
    if (tasks == 0)
        return 0;
    return cudaLaunchKernel(kernel, dim3((unsigned)size_min(tasks, workers)), dim3(THREADS), arguments, 0,
                            stream) != cudaSuccess;
}

int ranked_workspace(const ranked_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int ranked(const ranked_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.A.data % 4 || (uintptr_t)f->in.B.data % 4 || (uintptr_t)f->in.out.data % 4
            || (uintptr_t)f->in.out1.data % 8)
        return BAD_ARGUMENT;
    if (launch(ranked_launch_1, f, f->tasks_1, workers, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int ranked_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
