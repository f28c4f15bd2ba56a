/* einc compile '(id - jd)^2 -> ij | exp(-0.5 * _) | * j -> i' --target cuda:sm_90a -d i=1000000,j=1000000,d=3 -o few_points.cu --header few_points.h
 *
 *     (id - jd)^2 -> ij | exp(-0.5 * _) | _ * j -> i
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of i: tile_1_1 = min(128, i)
 *   step 1: store out[i] = sum[j](exp(-(0.5) * sum[d](pow(A[i,d] - B[j,d], 2))) * C[j])
 *     tiles of 32 x 64: rows j, columns i, contracted d, 8 at a time in shared memory, 4 x 4 sums of a thread
 *     loops i, 32 lanes along i
 *   where 3 points are contracted: tiles of 32 x 128, 4 x 8 sums of a thread, each taken at once,
 *           made in f64 on tensor cores where points are near to 0
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

#ifndef FEW_POINTS_H
#define FEW_POINTS_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct few_points_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[1], stride[1];
    } C;
    struct {    /* output, f32[i] */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} few_points_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that few_points() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int few_points_workspace(const few_points_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int few_points(const few_points_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int few_points_status(const void *workspace, void *stream);
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

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef float f32u UNALIGNED;

INLINE float from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

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

INLINE float square_f32(float x)
{
    return x * x;
}

INLINE float exp2_f32(float x)
{
    return exp2f(x);
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

/* 2^x; with FLUSHES 0 where that is denormal, for three instructions less. */
template <int FLUSHES>
INLINE float exp2_lossy_f32(float x)
{
    if (!FLUSHES)
        return exp2f(x);
#ifdef EINC_MODEL
    const float power = exp2f(x);
    return power < 1.17549435e-38f ? 0 : power;
#else
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#endif
}

INLINE float later_f32(float x, int apart)
{
    return __shfl_down_sync(0xFFFFFFFF, x, apart);
}

/* What another lane of the warp has. */
INLINE double of_lane_f64(double x, int lane)
{
    return __shfl_sync(0xFFFFFFFF, x, lane);
}

#ifndef EINC_MODEL
/* Begins to copy a number; without one, a zero. */
INLINE void copy_f32(float *to, const float *from, int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 4 : 0) : "memory");
}
#endif

#ifndef EINC_MODEL
/* What this thread has begun to copy since the last time is a group. */
INLINE void copies_end(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
#endif

#ifndef EINC_MODEL
/* All groups of this thread but the last OPEN are there. */
template <int OPEN>
INLINE void copies_wait(void)
{
    asm volatile("cp.async.wait_group %0;" :: "n"(OPEN) : "memory");
}
#endif

#ifndef EINC_MODEL
/* The same of 4 points, each lane's lane % 4, beginning with other sums, for tensor cores that have such an instruction. */
INLINE void mma_f64_few(double sums[4], const double begin[4], const double left[2], double right)
{
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=d"(sums[0]), "=d"(sums[1]), "=d"(sums[2]), "=d"(sums[3])
        : "d"(left[0]), "d"(left[1]), "d"(right), "d"(begin[0]), "d"(begin[1]), "d"(begin[2]), "d"(begin[3]));
}
#endif

/* The size of what is 2^896 times a number, rounded toward zero, where f32 has that: the number's exponent has its bits. */
INLINE float size_up_f32(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return from_bits_f32((uint32_t)(bits >> 29));
}

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    few_points_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_d;
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

/* Shared memory of a block, which its products use one after the other. */
__shared__ __align__(16) char block_memory[26640];

/* The same where there are 3 of d. */
CONSTANTS(ROWS_2 = 32, COLUMNS_2 = 128, POINTS_2 = 3, HIGH_2 = 4, WIDE_2 = 8, SIDE_2 = 4);
/* Warps side by side in a tile, and lanes of one; what a warp has of it. */
CONSTANTS(LANES_2 = 4, WARPS_ACROSS_2 = COLUMNS_2 / WIDE_2 / LANES_2);
CONSTANTS(WARP_ROWS_2 = HIGH_2 * WARP / LANES_2, WARP_COLUMNS_2 = WIDE_2 * LANES_2);

/* The first row and column of a warp. */
INLINE int warp_row_2(void)
{
    return (int)threadIdx.x / WARP / WARPS_ACROSS_2 * WARP_ROWS_2;
}

INLINE int warp_column_2(void)
{
    return (int)threadIdx.x / WARP % WARPS_ACROSS_2 * WARP_COLUMNS_2;
}

/* Which of the tile's rows, or columns, is a thread's r-th: of 16 rows and 8 columns it has rows 8 apart, and two columns. */
INLINE int row_2(int r)
{
    return warp_row_2() + r / 2 * 16 + r % 2 * 8 + (int)threadIdx.x % WARP / LANES_2;
}

INLINE int column_2(int c)
{
    return warp_column_2() + c / 2 * 8 + (int)threadIdx.x % LANES_2 * 2 + c % 2;
}

/* What the block has in shared memory: some rows, and the next; what the reduction reads for each. */
CONSTANTS(CHUNK_2 = 2 * THREADS);
typedef struct __align__(16) Slices_2 {
    float rows[2][POINTS_2][CHUNK_2];
    float value_1[2][CHUNK_2];
    double numbers[2][CHUNK_2][4];    /* what tensor cores multiply */
} Slices_2;

/* A thread's columns. */
typedef struct Held_2 {
    float right[POINTS_2][WIDE_2];
} Held_2;

/* Begins to copy rows from one on; behind the last one it. */
INLINE void fetch_2(const Frame *f, Slices_2 *slices, int64_t row, int64_t rows, int stage)
{
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const f32u *C = (const f32u *)f->in.C.data;
    const int64_t C_0 = f->in.C.stride[0];
    UNROLL
    for (int turn = 0; turn < CHUNK_2 / THREADS; turn++) {
        const int r = turn * THREADS + (int)threadIdx.x;
        const int64_t row_at = size_min(row + r, rows - 1);
        const int64_t j = row_at;
        UNROLL
        for (int p = 0; p < POINTS_2; p++) {
            const int64_t d = p;
            copy_f32(&slices->rows[stage][p][r], B + j * B_0 + d * B_1, 1);
        }
        copy_f32(&slices->value_1[stage][r], C + j * C_0, 1);
    }
    copies_end();
}

/* Reads a thread's columns; behind the last one it. */
INLINE void hold_2(const Frame *f, int64_t i_first, int64_t column, int64_t columns, Held_2 *held)
{
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    UNROLL
    for (int c = 0; c < WIDE_2; c++) {
        const int64_t column_at = size_min(column + column_2(c), columns - 1);
        const int64_t i = i_first + column_at;
        UNROLL
        for (int p = 0; p < POINTS_2; p++) {
            const int64_t d = p;
            held->right[p][c] = A[i * A_0 + d * A_1];
        }
    }
}

/* Reads the tile's columns; behind the last one it. */
INLINE void share_2(const Frame *f, int64_t i_first, Slices_2 *slices, int64_t column, int64_t columns)
{
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    for (int c = (int)threadIdx.x; c < COLUMNS_2; c += THREADS) {
        const int64_t column_at = size_min(column + c, columns - 1);
        const int64_t i = i_first + column_at;
        UNROLL
        for (int p = 0; p < POINTS_2; p++) {
            const int64_t d = p;
            slices->rows[1][p][c] = A[i * A_0 + d * A_1];
        }
    }
}

CONSTANTS(SETS_2 = POINTS_2 / 4 + 1);

/* What rows are multiplied with: a lane's number of each 8 columns; and what the distances of a thread's columns begin with, for two
 * rows. */
typedef struct Near_2 {
    double right[SETS_2][WIDE_2 / 2], begin[WIDE_2 / 2][4];
} Near_2;

INLINE int is_far_2(double square)
{
    return !(square <= 46516319.872180812);
}

/* The tile's columns, which lie where rows will, become those. They have the factor of the power's argument, and rows do not. Whether
 * one is far. */
INLINE int spread_2(const Slices_2 *slices, Near_2 *near)
{
    const int lane = (int)threadIdx.x % WARP, point = lane % LANES_2;
    const double down = 1.3758210268297398e-135, scale = 9.9244514543335031e-136;
    int is_far = 0;
    UNROLL
    for (int c = 0; c < WIDE_2; c++) {
        double square = 0;
        UNROLL
        for (int p = 0; p < POINTS_2; p++) {
            const double number = slices->rows[1][p][column_2(c)];
            square += number * number;
        }
        is_far |= is_far_2(square);
        near->begin[c / 2][c % 2] = square * down * scale;
        near->begin[c / 2][c % 2 + 2] = of_lane_f64(near->begin[c / 2][c % 2], lane);    /* in registers of its own */
    }
    UNROLL
    for (int set = 0; set < SETS_2; set++) {
        UNROLL
        for (int c = 0; c < WIDE_2; c += 2) {
            const int p = 4 * set + point, column = warp_column_2() + c / 2 * 8 + lane / LANES_2;
            near->right[set][c / 2] = p < POINTS_2 ? -2 * scale * slices->rows[1][p][column] : p == POINTS_2 ? scale
                    : 0;
        }
    }
    return is_far;
}

/* The rows that this thread has copied: their points, and |b|^2. Whether one is far. */
INLINE int widen_2(Slices_2 *slices, int stage)
{
    const double down = 1.3758210268297398e-135;
    int is_far = 0;
    UNROLL
    for (int turn = 0; turn < CHUNK_2 / THREADS; turn++) {
        const int r = turn * THREADS + (int)threadIdx.x;
        double *numbers = slices->numbers[stage][r], square = 0;
        UNROLL
        for (int p = 0; p < POINTS_2; p++) {
            const double number = slices->rows[stage][p][r];
            numbers[p] = number * down;
            square += number * number;
        }
        UNROLL
        for (int p = POINTS_2; p < 4 * SETS_2; p++)
            numbers[p] = p == POINTS_2 ? square * down : 0;
        is_far |= is_far_2(square);
    }
    return is_far;
}

/* The arguments of powers, but for their sign, of a thread's row and the next one. */
INLINE void squares_2(const Slices_2 *slices, int stage, int row, const Near_2 *near, float squares[2][WIDE_2])
{
    const int point = (int)threadIdx.x % LANES_2;
    double left[SETS_2][2];
    UNROLL
    for (int set = 0; set < SETS_2; set++) {
        left[set][0] = slices->numbers[stage][row][4 * set + point];
        left[set][1] = slices->numbers[stage][row + 8][4 * set + point];
    }
    UNROLL
    for (int c = 0; c < WIDE_2; c += 2) {
        double square[4];
        mma_f64_few(square, near->begin[c / 2], left[0], near->right[0][c / 2]);
        UNROLL
        for (int set = 1; set < SETS_2; set++)
            mma_f64_few(square, square, left[set], near->right[set][c / 2]);
        UNROLL
        for (int sum = 0; sum < 4; sum++)
            squares[sum / 2][c + sum % 2] = size_up_f32(square[sum]);
    }
}

/* The sum of a row that is in shared memory and a column. */
INLINE float sum_2(const Slices_2 *slices, int stage, int r, const Held_2 *held, int c)
{
    float sum = 0.0f;
    UNROLL
    for (int p = 0; p < POINTS_2; p++) {
        const float left = slices->rows[stage][p][r], right = held->right[p][c];
        sum = sum + square_f32(right - left);
    }
    return sum;
}

/* The reduction takes a tile of sums, of which all or some rows are there. */
template <int IS_WHOLE, int FLUSHES>
INLINE void take_2(Slices_2 *slices, int stage, float *sum_1, int at, int there, Held_2 *held, Near_2 *near,
        float *most)
{
    float squares[2][WIDE_2];
    UNROLL
    for (int r = 0; r < HIGH_2; r++) {
        if (FLUSHES && r % 2 == 0)
            squares_2(slices, stage, at + row_2(r), near, squares);
        if (!IS_WHOLE && at + row_2(r) >= there)
            continue;
        const float value_2 = slices->value_1[stage][at + row_2(r)];
        if (FLUSHES)
            *most = max_f32(*most, fabsf(value_2));
        UNROLL
        for (int c = 0; c < WIDE_2; c++) {
            const float exponent = FLUSHES ? -squares[r % 2][c]
                    : (-0.721347511f) * sum_2(slices, stage, at + row_2(r), held, c);
            sum_1[c] = sum_1[c] + (exp2_lossy_f32<FLUSHES>(exponent) * value_2);
        }
    }
}

/* All rows, for a thread's columns. With FLUSHES powers that would be denormal may be 0. */
template <int FLUSHES>
INLINE void rows_2(const Frame *f, Slices_2 *slices, int64_t rows, float *sum_1, Held_2 *held, Near_2 *near,
        float *most)
{
    int stage = 0;
    if (rows > 0) {
        fetch_2(f, slices, 0, rows, 0);
    }
    for (int64_t row = 0; row < rows; row += CHUNK_2, stage = 1 - stage) {
        copies_wait<0>();
        if (FLUSHES && widen_2(slices, stage))
            *most = INFINITY;
        __syncthreads();
        if (row + CHUNK_2 < rows) {
            fetch_2(f, slices, row + CHUNK_2, rows, 1 - stage);
        }
        const int there = (int)size_min(rows - row, CHUNK_2);
        for (int at = 0; at < CHUNK_2; at += ROWS_2) {
            if (there == CHUNK_2)
                take_2<1, FLUSHES>(slices, stage, sum_1, at, there, held, near, most);
            else
                take_2<0, FLUSHES>(slices, stage, sum_1, at, there, held, near, most);
        }
    }
}

/* The threads of a column merge what they found: the lanes of a warp first, then its warps through shared memory. */
INLINE void finish_2(const Frame *f, int64_t i_first, Slices_2 *slices, int64_t column, int64_t columns, float *sum_1)
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0];
    typedef struct States {
        float sum_1[WARPS / WARPS_ACROSS_2][COLUMNS_2];
    } States;
    States *states = (States *)(slices + 1);
    for (int apart = WARP / 2; apart >= LANES_2; apart /= 2) {
        UNROLL
        for (int c = 0; c < WIDE_2; c++) {
            const float later_sum = later_f32(sum_1[c], apart);
            sum_1[c] = sum_1[c] + later_sum;
        }
    }
    if ((int)threadIdx.x % WARP < LANES_2) {
        UNROLL
        for (int c = 0; c < WIDE_2; c++) {
            states->sum_1[(int)threadIdx.x / WARP / WARPS_ACROSS_2][column_2(c)] = sum_1[c];
        }
    }
    __syncthreads();
    for (int c = (int)threadIdx.x; c < COLUMNS_2; c += THREADS) {
        const int64_t column_at = column + c;
        if (column_at >= columns)
            break;
        const int64_t i = i_first + column_at;
        float sum = states->sum_1[0][c];
        for (int warp = 1; warp < WARPS / WARPS_ACROSS_2; warp++) {
            sum = sum + states->sum_1[warp][c];
        }
        out[i * out_0] = sum;
    }
    __syncthreads();
}

/* The step for one unit of work. */
INLINE void step_2(const Frame *f, int64_t i_first, int64_t i_end)
{
    const int64_t extent_j = f->extent_j;
    Slices_2 *slices = (Slices_2 *)block_memory;
    const int64_t columns = i_end - i_first;
    const int64_t rows = extent_j;
    const int64_t column = 0;
    float sum_1[WIDE_2];
    UNROLL
    for (int c = 0; c < WIDE_2; c++) {
        sum_1[c] = 0.0f;
    }
    Held_2 own_columns, *held = &own_columns;
    Near_2 own_near, *near = &own_near;
    share_2(f, i_first, slices, column, columns);
    __syncthreads();
    const int is_far = spread_2(slices, near);
    float own_most = is_far ? INFINITY : 0;
    float *most = &own_most;
    rows_2<1>(f, slices, rows, sum_1, held, near, most);
    int is_lost = 0;
    UNROLL
    for (int c = 0; c < WIDE_2; c++)
        is_lost |= !(fabsf(sum_1[c]) >= 5.42101086e-20f * *most);
    if (__syncthreads_or(is_lost)) {
        UNROLL
        for (int c = 0; c < WIDE_2; c++) {
            sum_1[c] = 0.0f;
        }
        hold_2(f, i_first, column, columns, held);
        rows_2<0>(f, slices, rows, sum_1, held, near, most);
    }
    finish_2(f, i_first, slices, column, columns, sum_1);
}

/* out[i] = sum[j](exp(-(0.5) * sum[d](pow(A[i,d] - B[j,d], 2))) * C[j]) */
CONSTANTS(ROWS_1 = 32, COLUMNS_1 = 64, DEPTH_1 = 8, STAGES_1 = 2, HIGH_1 = 4, WIDE_1 = 4, SIDE_1 = 4, PAD_1 = 4);
/* Threads one above the other and side by side in a tile, and lanes of a warp side by side. */
CONSTANTS(DOWN_1 = ROWS_1 / HIGH_1, ACROSS_1 = COLUMNS_1 / WIDE_1);
CONSTANTS(LANES_1 = ACROSS_1 < 8 ? ACROSS_1 : 8, WARPS_ACROSS_1 = ACROSS_1 / LANES_1);

/* Which of the tile's rows, or columns, is a thread's r-th: it has SIDE of them side by side, and then some further on. */
INLINE int row_1(int r)
{
    const int down = (int)threadIdx.x / WARP / WARPS_ACROSS_1 * (WARP / LANES_1) + (int)threadIdx.x % WARP / LANES_1;
    return (r / SIDE_1 * DOWN_1 + down) * SIDE_1 + r % SIDE_1;
}

INLINE int column_1(int c)
{
    const int across = (int)threadIdx.x / WARP % WARPS_ACROSS_1 * LANES_1 + (int)threadIdx.x % LANES_1;
    return (c / SIDE_1 * ACROSS_1 + across) * SIDE_1 + c % SIDE_1;
}

/* What the block has in shared memory: some slices of both operands, with a line for each contracted point, and where in its
 * array each row and each column begins. */
typedef struct __align__(16) Slices_1 {
    float rows[STAGES_1][DEPTH_1][ROWS_1 + PAD_1], columns[STAGES_1][DEPTH_1][COLUMNS_1 + PAD_1];
    int64_t rows_at[ROWS_1], columns_at[COLUMNS_1];
} Slices_1;

/* What a thread multiplies of a contracted point. Those side by side are read at once. */
typedef struct Numbers_1 {
    float left[HIGH_1], right[WIDE_1];
} Numbers_1;

typedef struct __align__(SIDE_1 * sizeof(float)) Side_1 {
    float number[SIDE_1];
} Side_1;

INLINE void load_1(const Slices_1 *slices, int stage, int p, Numbers_1 *numbers)
{
    UNROLL
    for (int r = 0; r < HIGH_1; r += SIDE_1) {
        const Side_1 side = *(const Side_1 *)&slices->rows[stage][p][row_1(r)];
        UNROLL
        for (int next = 0; next < SIDE_1; next++)
            numbers->left[r + next] = side.number[next];
    }
    UNROLL
    for (int c = 0; c < WIDE_1; c += SIDE_1) {
        const Side_1 side = *(const Side_1 *)&slices->columns[stage][p][column_1(c)];
        UNROLL
        for (int next = 0; next < SIDE_1; next++)
            numbers->right[c + next] = side.number[next];
    }
}

/* Adds their products. */
INLINE void add_1(const Numbers_1 *numbers, float sums[HIGH_1][WIDE_1])
{
    const float *left = numbers->left, *right = numbers->right;
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            sums[r][c] = sums[r][c] + square_f32(right[c] - left[r]);
        }
    }
}

/* Adds the products of a slice, of which so many points are there. A point's numbers are read while those of the one before are
 * multiplied. */
INLINE void multiply_1(const Slices_1 *slices, int stage, int64_t points, float sums[HIGH_1][WIDE_1])
{
    const int last = (int)size_min(points, DEPTH_1) - 1;
    Numbers_1 now, next;
    load_1(slices, stage, 0, &now);
    for (int p = 0; p <= last; p += 2) {
        load_1(slices, stage, p < last ? p + 1 : last, &next);
        add_1(&now, sums);
        if (p == last)
            break;
        load_1(slices, stage, p + 2 < last ? p + 2 : last, &now);
        add_1(&next, sums);
    }
}

/* Where each row begins in its array; behind the last one its. */
INLINE void find_rows_1(const Frame *f, Slices_1 *slices, int64_t row, int64_t rows)
{
    const int64_t B_0 = f->in.B.stride[0];
    const int r = (int)threadIdx.x;
    if (r < ROWS_1) {
        const int64_t row_at = size_min(row + r, rows - 1);
        int64_t from;
        const int64_t j = row_at;
        from = j * B_0;
        slices->rows_at[r] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t B_1 = f->in.B.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const f32u *data = B;
    const int p = (int)threadIdx.x % DEPTH_1, first = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    const int64_t d = point_at;
    const int64_t offset = d * B_1;
    const float *there = is_point ? data + offset : data;
    int64_t from[ROWS_1 * DEPTH_1 / THREADS];
    UNROLL
    for (int turn = 0; turn < ROWS_1 * DEPTH_1 / THREADS; turn++)
        from[turn] = slices->rows_at[first + turn * (THREADS / DEPTH_1)];
    UNROLL
    for (int turn = 0; turn < ROWS_1 * DEPTH_1 / THREADS; turn++) {
        float *to = &slices->rows[stage][p][first + turn * (THREADS / DEPTH_1)];
        copy_f32(to, there + from[turn], is_point);
    }
}

/* Where each column begins in its array; behind the last one its. */
INLINE void find_columns_1(const Frame *f, int64_t i_first, Slices_1 *slices, int64_t column, int64_t columns)
{
    const int64_t A_0 = f->in.A.stride[0];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        const int64_t i = i_first + column_at;
        from = i * A_0;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t A_1 = f->in.A.stride[1];
    const f32u *A = (const f32u *)f->in.A.data;
    const f32u *data = A;
    const int p = (int)threadIdx.x % DEPTH_1, first = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    const int64_t d = point_at;
    const int64_t offset = d * A_1;
    const float *there = is_point ? data + offset : data;
    int64_t from[COLUMNS_1 * DEPTH_1 / THREADS];
    UNROLL
    for (int turn = 0; turn < COLUMNS_1 * DEPTH_1 / THREADS; turn++)
        from[turn] = slices->columns_at[first + turn * (THREADS / DEPTH_1)];
    UNROLL
    for (int turn = 0; turn < COLUMNS_1 * DEPTH_1 / THREADS; turn++) {
        float *to = &slices->columns[stage][p][first + turn * (THREADS / DEPTH_1)];
        copy_f32(to, there + from[turn], is_point);
    }
}

CONSTANTS(ROWS_OWN_1 = ROWS_1 * DEPTH_1 / THREADS);

/* Where those rows begin; whether one is not there. */
INLINE int keep_rows_1(const Frame *f, Slices_1 *slices, const f32u *from[ROWS_OWN_1])
{
    const f32u *B = (const f32u *)f->in.B.data;
    const f32u *data = B;
    int misses = 0;
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_1; turn++) {
        const int64_t at = slices->rows_at[(int)threadIdx.x / DEPTH_1 + turn * (THREADS / DEPTH_1)];
        misses |= at == INT64_MIN;
        from[turn] = at == INT64_MIN ? data : data + at;
    }
    return misses;
}

INLINE void copy_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point,
        const f32u *const from[ROWS_OWN_1])
{
    const int64_t B_1 = f->in.B.stride[1];
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int64_t d = point_at;
    const int64_t offset = d * B_1;
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_1; turn++)
        copy_f32(&slices->rows[stage][p][r + turn * (THREADS / DEPTH_1)], from[turn] + offset, 1);
}

CONSTANTS(COLUMNS_OWN_1 = 1);

/* Whether one of them is not there. */
INLINE int keep_columns_1(Slices_1 *slices, const f32u *from[COLUMNS_OWN_1])
{
    int misses = 0;
    UNROLL
    for (int turn = 0; turn < COLUMNS_1 * DEPTH_1 / THREADS; turn++)
        misses |= slices->columns_at[(int)threadIdx.x / DEPTH_1 + turn * (THREADS / DEPTH_1)] == INT64_MIN;
    from[0] = NULL;
    return misses;
}

INLINE void copy_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point,
        const f32u *const from[COLUMNS_OWN_1])
{
    const int64_t A_1 = f->in.A.stride[1];
    const f32u *A = (const f32u *)f->in.A.data;
    const f32u *data = A;
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    int64_t places[COLUMNS_1 * DEPTH_1 / THREADS];
    const int64_t d = point_at;
    const int64_t offset = d * A_1;
    (void)from;
    UNROLL
    for (int turn = 0; turn < COLUMNS_1 * DEPTH_1 / THREADS; turn++)
        places[turn] = slices->columns_at[r + turn * (THREADS / DEPTH_1)];
    UNROLL
    for (int turn = 0; turn < COLUMNS_1 * DEPTH_1 / THREADS; turn++)
        copy_f32(&slices->columns[stage][p][r + turn * (THREADS / DEPTH_1)], data + offset + places[turn], 1);
}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on. */
INLINE int64_t slices_1(const Frame *f, Slices_1 *slices, int64_t depth, float sums[HIGH_1][WIDE_1])
{
    enum { AHEAD = (STAGES_1 - 1) * DEPTH_1, LAST = DEPTH_1 - 1 };
    const f32u *rows_from[ROWS_OWN_1], *columns_from[COLUMNS_OWN_1];
    Numbers_1 numbers[2];
    int64_t at = 0;
    if (depth < AHEAD + DEPTH_1)
        return 0;
    const int misses = keep_rows_1(f, slices, rows_from) | keep_columns_1(slices, columns_from);
    if (__syncthreads_or(misses))
        return 0;
    copies_wait<STAGES_1 - 2>();
    __syncthreads();
    load_1(slices, 0, 0, &numbers[0]);
    for (int now = 0; at + AHEAD + DEPTH_1 <= depth; at += DEPTH_1) {
        const int next = now + 1 < STAGES_1 ? now + 1 : 0, stage = now > 0 ? now - 1 : STAGES_1 - 1;
        const int64_t point = at + AHEAD;
        UNROLL
        for (int p = 0; p < DEPTH_1; p++) {
            if (p == LAST) {
                copies_end();
                copies_wait<STAGES_1 - 2>();
                __syncthreads();
            }
            load_1(slices, p < LAST ? now : next, p < LAST ? p + 1 : 0, &numbers[(p + 1) % 2]);
            if (p == 0) {
                copy_rows_1(f, slices, stage, point, rows_from);
            }
            if (p == 2) {
                copy_columns_1(f, slices, stage, point, columns_from);
            }
            add_1(&numbers[p % 2], sums);
        }
        now = next;
    }
    return at;
}

/* Begins to copy the first slices of the tile from a row and a column on. */
INLINE void begin_1(const Frame *f, int64_t i_first, Slices_1 *slices, int64_t row, int64_t rows, int64_t column,
        int64_t columns, int64_t depth)
{
    find_rows_1(f, slices, row, rows);
    __syncthreads();
    for (int stage = 0; stage < STAGES_1 - 1; stage++) {
        const int64_t point = stage * DEPTH_1;
        if (point < depth) {
            fetch_rows_1(f, slices, stage, point, depth);
            if (row == 0 || depth > DEPTH_1)
                fetch_columns_1(f, slices, stage, point, depth);
        }
        copies_end();
    }
}

/* The sums of that tile. */
INLINE void tile_1(const Frame *f, Slices_1 *slices, int64_t depth, float sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++)
            sums[r][c] = 0.0f;
    }
    int64_t at = slices_1(f, slices, depth, sums);
    for (int now = (int)(at / DEPTH_1 % STAGES_1); at < depth; at += DEPTH_1, now = now + 1 < STAGES_1 ? now + 1
            : 0) {
        copies_wait<STAGES_1 - 2>();
        __syncthreads();
        const int64_t point = at + (STAGES_1 - 1) * DEPTH_1;
        const int stage = now > 0 ? now - 1 : STAGES_1 - 1;
        if (point < depth) {
            fetch_rows_1(f, slices, stage, point, depth);
            fetch_columns_1(f, slices, stage, point, depth);
        }
        copies_end();
        multiply_1(slices, now, depth - at, sums);
    }
}

/* The first reduction takes the sums of a tile, of which all or some rows and columns are there. */
template <int IS_WHOLE>
INLINE void take_1(const Frame *f, int64_t row, int64_t rows, float *sum_1, float sums[HIGH_1][WIDE_1])
{
    const f32u *C = (const f32u *)f->in.C.data;
    const int64_t C_0 = f->in.C.stride[0];
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = row + row_1(r);
        if (!IS_WHOLE && row_at >= rows)
            break;
        const int64_t j = row_at;
        const float c_2 = C[j * C_0];
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            sum_1[c] = sum_1[c] + (exp2_f32((-0.721347511f) * sums[r][c]) * c_2);
        }
    }
}

/* The threads of a column merge what they found: the lanes of a warp first, then its warps through shared memory. */
INLINE void finish_1(const Frame *f, int64_t i_first, Slices_1 *slices, int64_t column, int64_t columns, float *sum_1)
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0];
    typedef struct States {
        float sum_1[WARPS / WARPS_ACROSS_1][COLUMNS_1];
    } States;
    States *states = (States *)(slices + 1);
    for (int apart = WARP / 2; apart >= LANES_1; apart /= 2) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const float later_sum = later_f32(sum_1[c], apart);
            sum_1[c] = sum_1[c] + later_sum;
        }
    }
    if ((int)threadIdx.x % WARP < LANES_1) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            states->sum_1[(int)threadIdx.x / WARP / WARPS_ACROSS_1][column_1(c)] = sum_1[c];
        }
    }
    __syncthreads();
    for (int c = (int)threadIdx.x; c < COLUMNS_1; c += THREADS) {
        const int64_t column_at = column + c;
        if (column_at >= columns)
            break;
        const int64_t i = i_first + column_at;
        float sum = states->sum_1[0][c];
        for (int warp = 1; warp < WARPS / WARPS_ACROSS_1; warp++) {
            sum = sum + states->sum_1[warp][c];
        }
        out[i * out_0] = sum;
    }
    __syncthreads();
}

/* The step for one unit of work. */
INLINE void step_1(const Frame *f, int64_t i_first, int64_t i_end)
{
    const int64_t extent_d = f->extent_d, extent_j = f->extent_j;
    Slices_1 *slices = (Slices_1 *)block_memory;
    const int64_t columns = i_end - i_first, depth = extent_d;
    if (depth == POINTS_2) {
        step_2(f, i_first, i_end);
        return;
    }
    const int64_t rows = extent_j;
    for (int64_t column = 0; column < columns; column += COLUMNS_1) {
        float sum_1[WIDE_1];
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            sum_1[c] = 0.0f;
        }
        find_columns_1(f, i_first, slices, column, columns);
        if (rows > 0)
            begin_1(f, i_first, slices, 0, rows, column, columns, depth);
        for (int64_t row = 0; row < rows; row += ROWS_1) {
            float sums[HIGH_1][WIDE_1];
            tile_1(f, slices, depth, sums);
            if (row + ROWS_1 < rows)
                begin_1(f, i_first, slices, row + ROWS_1, rows, column, columns, depth);
            if (row + ROWS_1 <= rows && column + COLUMNS_1 <= columns)
                take_1<1>(f, row, rows, sum_1, sums);
            else
                take_1<0>(f, row, rows, sum_1, sums);
        }
        finish_1(f, i_first, slices, column, columns, sum_1);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) few_points_launch_1(const __grid_constant__ Frame frame)
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
static int prepare(Frame *f, const few_points_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.C.shape, f->in.C.stride, 1))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 1))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_d = f->extent_d = meet(f->in.A.shape[1], f->in.B.shape[1]);
    if (extent_d < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = meet(f->in.B.shape[0], f->in.C.shape[0]);
    if (extent_j < 0)
        return BAD_SHAPES;
    if (f->in.out.shape[0] != extent_i)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(128, extent_i);
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

int few_points_workspace(const few_points_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int few_points(const few_points_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.A.data % 4 || (uintptr_t)f->in.B.data % 4 || (uintptr_t)f->in.C.data % 4
            || (uintptr_t)f->in.out.data % 4)
        return BAD_ARGUMENT;
    if (launch(few_points_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int few_points_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
