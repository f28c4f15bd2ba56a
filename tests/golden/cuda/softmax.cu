/* einc compile 'ij | softmax j' --target cuda:sm_90a -o softmax.cu --header softmax.h
 *
 *     ij -> ij | softmax j
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of i: block_1 = max(min(32576 / (4 + j * 4 + 4), max(1, ceil(i / 1024)), i), 1)
 *   step 1: store tmp1[i] = max[j](A[i,j])
 *     loops i, 32 lanes along j
 *   step 2: store tmp2[i,j] = where(tmp1[i] == -inf, 0, exp(A[i,j] - tmp1[i]))
 *     loops i j, 32 lanes along j
 *   step 3: store tmp3[i] = sum[j](tmp2[i,j])
 *     loops i, 32 lanes along j
 *   step 4: store out[i,j] = where(tmp3[i] == 0, 0, tmp2[i,j] / tmp3[i])
 *     loops i j, 32 lanes along j
 * tmp1: a block, block_1 * 4 bytes
 * tmp2: a block, j * block_1 * 4 bytes
 * tmp3: a block, block_1 * 4 bytes
 * workspace workers * (align(block_1 * 4, 64) + align(j * block_1 * 4, 64) + align(block_1 * 4, 64)) */
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

#ifndef SOFTMAX_H
#define SOFTMAX_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct softmax_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* output, f32[i,j] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} softmax_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that softmax() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int softmax_workspace(const softmax_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int softmax(const softmax_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int softmax_status(const void *workspace, void *stream);
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

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#ifndef INFINITY
#define INFINITY (__int_as_float(0x7F800000))
#define NAN (__int_as_float(0x7FFFFFFF))
#endif

#define INLINE static __device__ __forceinline__

#define UNROLL _Pragma("unroll")

#define UNROLL_NOT _Pragma("unroll 1")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef float f32u UNALIGNED;

#ifdef EINC_MODEL
INLINE float max_f32(float a, float b)
{
    return b > a || b != b ? b : a;
}
#else
INLINE float max_f32(float a, float b)
{
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif

/* 2^(x log2 e): one product, and an instruction of 2 ulp. */
INLINE float exp_f32(float x)
{
    return exp2f(x * 1.44269504f);
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

SHARED int64_t size_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b : a;
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

/* The threads that work on one point: a warp, or the whole block where it has fewer points than warps. */
typedef struct Team {
    int rank, size;            /* of a thread among its team */
    int number, count;         /* of the team among those of the block */
} Team;

INLINE Team team_of(int64_t points)
{
    Team team;
    team.size = points < WARPS ? THREADS : WARP;
    team.rank = (int)threadIdx.x % team.size;
    team.number = (int)threadIdx.x / team.size;
    team.count = THREADS / team.size;
    return team;
}

/* What the team's threads have read and written is done. */
INLINE void team_wait(Team team)
{
    if (team.size > WARP)
        __syncthreads();
    else
        __syncwarp();
}

INLINE float later_f32(float x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    softmax_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t block_1;
    int64_t units_1;
    int64_t at_tmp2;
    int64_t at_tmp3;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int64_t shared;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* tmp1[i] = max[j](A[i,j]) */
INLINE void step_1_at(const Frame *f, char *own, int64_t i_first, int64_t i, const Team team)
{
    const int64_t extent_j = f->extent_j;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    f32u *tmp1 = (f32u *)own;
    float largest[4];
    for (int chain = 0; chain < 4; chain++)
        largest[chain] = -INFINITY;
    int64_t j_at = team.rank;
    for (; j_at + 3 * team.size < extent_j; j_at += 4 * team.size) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * team.size;
            largest[chain] = max_f32(largest[chain], A[i * A_0 + j * A_1]);
        }
    }
    for (; j_at < extent_j; j_at += team.size) {
        largest[0] = max_f32(largest[0], A[i * A_0 + j_at * A_1]);
    }
    for (int chain = 1; chain < 4; chain++)
        largest[0] = max_f32(largest[0], largest[chain]);
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        const float later_largest = later_f32(largest[0], apart);
        largest[0] = max_f32(largest[0], later_largest);
    }
    __shared__ float largest_of[WARPS];
    if (threadIdx.x % WARP == 0) {
        largest_of[threadIdx.x / WARP] = largest[0];
    }
    team_wait(team);
    largest[0] = largest_of[team.size > WARP ? 0 : threadIdx.x / WARP];
    for (int warp = 1; warp < team.size / WARP; warp++) {
        largest[0] = max_f32(largest[0], largest_of[warp]);
    }
    team_wait(team);
    team_wait(team);
    if (team.rank == 0) {
        tmp1[(i - i_first)] = largest[0];
    }
}

INLINE void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end)
{
    const int64_t points = i_end - i_first;
    const Team team = team_of(points);
    UNROLL_NOT
    for (int64_t point = team.number; point < points; point += team.count) {
        const int64_t i = i_first + point;
        step_1_at(f, own, i_first, i, team);
    }
}

/* tmp2[i,j] = where(tmp1[i] == -inf, 0, exp(A[i,j] - tmp1[i])) */
INLINE void step_2_at(const Frame *f, char *own, int64_t i_first, int64_t i, int64_t j)
{
    const int64_t extent_j = f->extent_j, at_tmp2 = f->at_tmp2;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    f32u *tmp1 = (f32u *)own;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t tmp2_0 = extent_j;
    const float tmp1_at = tmp1[(i - i_first)];
    const int value = tmp1_at == (-INFINITY);
    tmp2[(i - i_first) * tmp2_0 + j] = value ? 0.0f : exp_f32(A[i * A_0 + j * A_1] - tmp1_at);
}

INLINE void step_2(const Frame *f, char *own, int64_t i_first, int64_t i_end)
{
    const int64_t extent_j = f->extent_j;
    const int64_t points = (i_end - i_first) * extent_j;
    if (points <= 0)
        return;
    int64_t rest = threadIdx.x, skip = THREADS;
    int64_t j_at = take_index(&rest, extent_j);
    const int64_t j_skip = take_index(&skip, extent_j);
    int64_t i_at = rest;
    const int64_t i_skip = skip;
    UNROLL_NOT
    for (int64_t point = threadIdx.x; point < points; point += THREADS) {
        const int64_t j = j_at;
        const int64_t i = i_first + i_at;
        step_2_at(f, own, i_first, i, j);
        int64_t carry = add_index(&j_at, j_skip, extent_j);
        i_at += i_skip + carry;
    }
}

/* tmp3[i] = sum[j](tmp2[i,j]) */
INLINE void step_3_at(const Frame *f, char *own, int64_t i_first, int64_t i, const Team team)
{
    const int64_t extent_j = f->extent_j, at_tmp2 = f->at_tmp2;
    const int64_t at_tmp3 = f->at_tmp3;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t tmp2_0 = extent_j;
    f32u *tmp3 = (f32u *)(own + at_tmp3);
    float sum[4];
    for (int chain = 0; chain < 4; chain++)
        sum[chain] = 0.0f;
    int64_t j_at = team.rank;
    for (; j_at + 3 * team.size < extent_j; j_at += 4 * team.size) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * team.size;
            sum[chain] = sum[chain] + tmp2[(i - i_first) * tmp2_0 + j];
        }
    }
    for (; j_at < extent_j; j_at += team.size) {
        sum[0] = sum[0] + tmp2[(i - i_first) * tmp2_0 + j_at];
    }
    for (int chain = 1; chain < 4; chain++)
        sum[0] = sum[0] + sum[chain];
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        const float later_sum = later_f32(sum[0], apart);
        sum[0] = sum[0] + later_sum;
    }
    __shared__ float sum_of[WARPS];
    if (threadIdx.x % WARP == 0) {
        sum_of[threadIdx.x / WARP] = sum[0];
    }
    team_wait(team);
    sum[0] = sum_of[team.size > WARP ? 0 : threadIdx.x / WARP];
    for (int warp = 1; warp < team.size / WARP; warp++) {
        sum[0] = sum[0] + sum_of[warp];
    }
    team_wait(team);
    team_wait(team);
    if (team.rank == 0) {
        tmp3[(i - i_first)] = sum[0];
    }
}

INLINE void step_3(const Frame *f, char *own, int64_t i_first, int64_t i_end)
{
    const int64_t points = i_end - i_first;
    const Team team = team_of(points);
    UNROLL_NOT
    for (int64_t point = team.number; point < points; point += team.count) {
        const int64_t i = i_first + point;
        step_3_at(f, own, i_first, i, team);
    }
}

/* out[i,j] = where(tmp3[i] == 0, 0, tmp2[i,j] / tmp3[i]) */
INLINE void step_4_at(const Frame *f, char *own, int64_t i_first, int64_t i, int64_t j)
{
    const int64_t extent_j = f->extent_j, at_tmp2 = f->at_tmp2;
    const int64_t at_tmp3 = f->at_tmp3;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t tmp2_0 = extent_j;
    f32u *tmp3 = (f32u *)(own + at_tmp3);
    const float tmp3_at = tmp3[(i - i_first)];
    const int value = tmp3_at == 0.0f;
    out[i * out_0 + j * out_1] = value ? 0.0f : (tmp2[(i - i_first) * tmp2_0 + j] / tmp3_at);
}

INLINE void step_4(const Frame *f, char *own, int64_t i_first, int64_t i_end)
{
    const int64_t extent_j = f->extent_j;
    const int64_t points = (i_end - i_first) * extent_j;
    if (points <= 0)
        return;
    int64_t rest = threadIdx.x, skip = THREADS;
    int64_t j_at = take_index(&rest, extent_j);
    const int64_t j_skip = take_index(&skip, extent_j);
    int64_t i_at = rest;
    const int64_t i_skip = skip;
    UNROLL_NOT
    for (int64_t point = threadIdx.x; point < points; point += THREADS) {
        const int64_t j = j_at;
        const int64_t i = i_first + i_at;
        step_4_at(f, own, i_first, i, j);
        int64_t carry = add_index(&j_at, j_skip, extent_j);
        i_at += i_skip + carry;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) softmax_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    char *own = f->workspace + f->shared + blockIdx.x * f->per_worker;
    const int64_t extent_i = f->extent_i, block_1 = f->block_1;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        const int64_t i_first = unit * block_1, i_end = size_min(i_first + block_1, extent_i);
        step_1(f, own, i_first, i_end);
        __syncthreads();
        step_2(f, own, i_first, i_end);
        __syncthreads();
        step_3(f, own, i_first, i_end);
        __syncthreads();
        step_4(f, own, i_first, i_end);
        __syncthreads();
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const softmax_args *args, int workers)
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
    const int64_t block_1 = f->block_1 = size_max(size_min(size_min(size_div(32576,
            size_add(size_add(4, size_mul(extent_j, 4)), 4)), size_max(1, size_ceil_div(extent_i, 1024))), extent_i),
            1);
    f->units_1 = size_ceil_div(extent_i, block_1);
    const int64_t at_tmp2 = f->at_tmp2 = size_align(size_mul(block_1, 4), 64);
    const int64_t at_tmp3 = f->at_tmp3 = size_add(at_tmp2, size_align(size_mul(size_mul(extent_j, block_1), 4), 64));
    f->per_worker = size_add(at_tmp3, size_align(size_mul(block_1, 4), 64));
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

int softmax_workspace(const softmax_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int softmax(const softmax_args *args, void *workspace, size_t bytes, void *stream)
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
    if (launch(softmax_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int softmax_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
