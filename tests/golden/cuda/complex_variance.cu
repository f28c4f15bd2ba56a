/* einc compile 'x[i,j]:c128 | var j' --target cuda:sm_90a -o complex_variance.cu --header complex_variance.h
 *
 *     x[i,j]:c128 | var j
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of i: tile_1_1 = min(points_1, i)
 *   step 1: store out[i] = var[j](x[i,j])
 *     loops i, 32 lanes along j
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

#ifndef COMPLEX_VARIANCE_H
#define COMPLEX_VARIANCE_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct complex_variance_args {
    struct {    /* input x, c128 */
        const double *data;
        int64_t shape[2], stride[2];
    } x;
    struct {    /* output, f64[i] */
        double *data;
        int64_t shape[1], stride[1];
    } out;
} complex_variance_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that complex_variance() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int complex_variance_workspace(const complex_variance_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int complex_variance(const complex_variance_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int complex_variance_status(const void *workspace, void *stream);
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

typedef double f64u UNALIGNED;

typedef struct c128 {
    double re, im;
} c128;

typedef struct c128u {
    f64u re, im;
} c128u;

INLINE double max_f64(double a, double b)
{
    return b > a || b != b ? b : a;
}

INLINE c128 load_c128(const c128u *p)
{
    c128 x;
    x.re = p->re;
    x.im = p->im;
    return x;
}

INLINE c128 make_c128(double re, double im)
{
    c128 x;
    x.re = re;
    x.im = im;
    return x;
}

INLINE c128 sub_c128(c128 a, c128 b)
{
    return make_c128(a.re - b.re, a.im - b.im);
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

INLINE void merge_moments_c128(double *count, c128 *mean, double *squares, double other, c128 other_mean,
                               double other_squares)
{
    double all = *count + other, share = all > 0 ? other / all : 0;
    c128 distance = sub_c128(other_mean, *mean);
    *squares += other_squares + (distance.re * *count) * (distance.re * share) + (distance.im * *count) * (distance.im * share)
                + (other_mean.re - other_mean.re) + (other_mean.im - other_mean.im);
    mean->re += distance.re * share;
    mean->im += distance.im * share;
    *count = all;
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

INLINE double later_f64(double x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}

INLINE c128 later_c128(c128 x, int apart)
{
    x.re = __shfl_down_sync(0xFFFFFFFF, x.re, apart);
    x.im = __shfl_down_sync(0xFFFFFFFF, x.im, apart);
    return x;
}

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    complex_variance_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
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

/* out[i] = var[j](x[i,j]) */
INLINE void step_1_at(const Frame *f, int64_t i, const Team team)
{
    const int64_t extent_j = f->extent_j;
    const c128u *x = (const c128u *)f->in.x.data;
    const int64_t x_0 = f->in.x.stride[0], x_1 = f->in.x.stride[1];
    f64u *out = (f64u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0];
    double count_2 = 0.0;
    c128 mean = make_c128(0.0, 0);
    double squares = 0.0;
    for (int64_t j = team.rank; j < extent_j; j += team.size) {
        merge_moments_c128(&count_2, &mean, &squares, 1.0, load_c128(x + i * x_0 + j * x_1), 0.0);
    }
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        const double later_count = later_f64(count_2, apart);
        const c128 later_mean = later_c128(mean, apart);
        const double later_squares = later_f64(squares, apart);
        merge_moments_c128(&count_2, &mean, &squares, later_count, later_mean, later_squares);
    }
    __shared__ double count_of[WARPS];
    __shared__ c128 mean_of[WARPS];
    __shared__ double squares_of[WARPS];
    if (threadIdx.x % WARP == 0) {
        count_of[threadIdx.x / WARP] = count_2;
        mean_of[threadIdx.x / WARP] = mean;
        squares_of[threadIdx.x / WARP] = squares;
    }
    team_wait(team);
    count_2 = count_of[team.size > WARP ? 0 : threadIdx.x / WARP];
    mean = mean_of[team.size > WARP ? 0 : threadIdx.x / WARP];
    squares = squares_of[team.size > WARP ? 0 : threadIdx.x / WARP];
    for (int warp = 1; warp < team.size / WARP; warp++) {
        merge_moments_c128(&count_2, &mean, &squares, count_of[warp], mean_of[warp], squares_of[warp]);
    }
    team_wait(team);
    const double var = squares / max_f64(((double)extent_j) - 0.0, 0);
    team_wait(team);
    if (team.rank == 0) {
        out[i * out_0] = var;
    }
}

INLINE void step_1(const Frame *f, int64_t i_first, int64_t i_end)
{
    const int64_t points = i_end - i_first;
    const Team team = team_of(points);
    UNROLL_NOT
    for (int64_t point = team.number; point < points; point += team.count) {
        const int64_t i = i_first + point;
        step_1_at(f, i, team);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) complex_variance_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_i = f->extent_i, tile_1_1 = f->tile_1_1;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        const int64_t i_first = unit * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
        step_1(f, i_first, i_end);
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const complex_variance_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.x.shape, f->in.x.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 1))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.x.shape[0];
    f->extent_j = f->in.x.shape[1];
    if (f->in.out.shape[0] != extent_i)
        return BAD_SHAPES;
    const int64_t points_1 = f->points_1 = size_min(size_ceil_div(extent_i, 1024), 16);
    const int64_t tile_1_1 = f->tile_1_1 = size_min(points_1, extent_i);
    f->units_1 = size_ceil_div(extent_i, tile_1_1);
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

int complex_variance_workspace(const complex_variance_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int complex_variance(const complex_variance_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.x.data % 8 || (uintptr_t)f->in.out.data % 8)
        return BAD_ARGUMENT;
    if (launch(complex_variance_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int complex_variance_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
