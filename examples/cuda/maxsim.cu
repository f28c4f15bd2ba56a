/* einc compile 'Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < length[m]:i64, _, -inf) | max n | sum j' --target cuda:sm_80 --name maxsim -o maxsim.cu --header maxsim.h
 *
 *     Q[i,j,k], D[m,n,k] -> ijmn | where(@n < length[m]:i64, _, -inf) | max n | sum j
 *
 * target cuda:sm_80, 32 lanes
 * launch 1: block of i: tile_1_1 = min(ceil(16 / tile_1_2), i), block of m: tile_1_2 = min(16, m)
 *   step 1: store out[i,m] = sum[j](max[n](where(@n < length[m], sum[k](Q[i,j,k] * D[m,n,k]), -(inf))))
 *     loops i m, 32 lanes along k
 * workspace 0 */
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

#ifndef MAXSIM_H
#define MAXSIM_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct maxsim_args {
    struct {    /* input Q, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } Q;
    struct {    /* input D, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } D;
    struct {    /* input length, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } length;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} maxsim_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that maxsim() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int maxsim_workspace(const maxsim_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int maxsim(const maxsim_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int maxsim_status(const void *workspace, void *stream);
#endif

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, OUT_OF_RANGE = -16 };

/* Threads of a block and of a warp, and how many blocks have registers at once. */
enum { THREADS = 128, WARP = 32, WARPS = THREADS / WARP, RESIDENT = 4 };

#ifndef INFINITY
#define INFINITY (__int_as_float(0x7F800000))
#define NAN (__int_as_float(0x7FFFFFFF))
#endif

#define INLINE static __device__ __forceinline__

#define UNROLL _Pragma("unroll")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef int64_t i64u UNALIGNED;

typedef float f32u UNALIGNED;

INLINE float max_f32(float a, float b)
{
    return b > a || b != b ? b : a;
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
    maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t tile_1_2;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int64_t shared;
    int64_t per_worker;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* out[i,m] = sum[j](max[n](where(@n < length[m], sum[k](Q[i,j,k] * D[m,n,k]), -(inf)))) */
INLINE void step_1_at(const Frame *f, int64_t i, int64_t m, const Team team)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n;
    const f32u *Q = (const f32u *)f->in.Q.data;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    const int64_t Q_2 = f->in.Q.stride[2];
    const f32u *D = (const f32u *)f->in.D.data;
    const int64_t D_0 = f->in.D.stride[0], D_1 = f->in.D.stride[1];
    const int64_t D_2 = f->in.D.stride[2];
    const i64u *length = (const i64u *)f->in.length.data;
    const int64_t length_0 = f->in.length.stride[0];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    float sum = 0.0f;
    const int64_t length_at = length[m * length_0];
    for (int64_t j = 0; j < extent_j; j++) {
        const int64_t limit = length_at;
        const int64_t n_to = size_min(extent_n, limit);
        float largest = -INFINITY;
        for (int64_t n = 0; n < n_to; n++) {
            float sum_2[4];
            for (int chain = 0; chain < 4; chain++)
                sum_2[chain] = 0.0f;
            int64_t k_at = team.rank;
            for (; k_at + 3 * team.size < extent_k; k_at += 4 * team.size) {
                UNROLL
                for (int chain = 0; chain < 4; chain++) {
                    const int64_t k = k_at + chain * team.size;
                    sum_2[chain] = sum_2[chain] + (Q[i * Q_0 + j * Q_1 + k * Q_2] * D[m * D_0 + n * D_1 + k * D_2]);
                }
            }
            for (; k_at < extent_k; k_at += team.size) {
                sum_2[0] = sum_2[0] + (Q[i * Q_0 + j * Q_1 + k_at * Q_2] * D[m * D_0 + n * D_1 + k_at * D_2]);
            }
            for (int chain = 1; chain < 4; chain++)
                sum_2[0] = sum_2[0] + sum_2[chain];
            for (int apart = WARP / 2; apart > 0; apart /= 2) {
                const float later_sum = later_f32(sum_2[0], apart);
                sum_2[0] = sum_2[0] + later_sum;
            }
            __shared__ float sum_of[WARPS];
            if (threadIdx.x % WARP == 0) {
                sum_of[threadIdx.x / WARP] = sum_2[0];
            }
            team_wait(team);
            sum_2[0] = sum_of[team.size > WARP ? 0 : threadIdx.x / WARP];
            for (int warp = 1; warp < team.size / WARP; warp++) {
                sum_2[0] = sum_2[0] + sum_of[warp];
            }
            team_wait(team);
            largest = max_f32(largest, sum_2[0]);
        }
        sum = sum + largest;
    }
    team_wait(team);
    if (team.rank == 0) {
        out[i * out_0 + m * out_1] = sum;
    }
}

INLINE void step_1(const Frame *f, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t points = (i_end - i_first) * (m_end - m_first);
    const Team team = team_of(points);
    for (int64_t point = team.number; point < points; point += team.count) {
        int64_t rest = point;
        const int64_t m = m_first + take_index(&rest, m_end - m_first);
        const int64_t i = i_first + rest;
        step_1_at(f, i, m, team);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) maxsim_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_i = f->extent_i, extent_m = f->extent_m;
    const int64_t tile_1_2 = f->tile_1_2, tile_1_1 = f->tile_1_1;
    for (int64_t task = blockIdx.x; task < f->tasks_1; task += gridDim.x) {
        const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
        for (int64_t unit = task * f->grain_1; unit < units_end; unit++) {
            int64_t rest = unit;
            const int64_t m_tiles = size_max(size_ceil_div(extent_m, tile_1_2), 1);
            const int64_t m_first = rest % m_tiles * tile_1_2, m_end = size_min(m_first + tile_1_2, extent_m);
            rest /= m_tiles;
            const int64_t i_first = rest * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
            step_1(f, i_first, i_end, m_first, m_end);
        }
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const maxsim_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.Q.shape, f->in.Q.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.D.shape, f->in.D.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.length.shape, f->in.length.stride, 1))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.Q.shape[0];
    const int64_t extent_j = f->extent_j = f->in.Q.shape[1];
    const int64_t extent_k = f->extent_k = meet(f->in.Q.shape[2], f->in.D.shape[2]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = meet(f->in.D.shape[0], f->in.length.shape[0]);
    if (extent_m < 0)
        return BAD_SHAPES;
    const int64_t extent_n = f->extent_n = f->in.D.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_m)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_m > 0 && extent_j > 0 && extent_n < 1)
        return BAD_SHAPES;
    const int64_t tile_1_2 = f->tile_1_2 = size_min(16, extent_m);
    const int64_t tile_1_1 = f->tile_1_1 = size_min(size_ceil_div(16, tile_1_2), extent_i);
    f->units_1 = size_mul(size_ceil_div(extent_i, tile_1_1), size_ceil_div(extent_m, tile_1_2));
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

int maxsim_workspace(const maxsim_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int maxsim(const maxsim_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.Q.data % 4 || (uintptr_t)f->in.D.data % 4 || (uintptr_t)f->in.length.data % 8
            || (uintptr_t)f->in.out.data % 4)
        return BAD_ARGUMENT;
    if (launch(maxsim_launch_1, f, f->tasks_1, workers, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int maxsim_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
