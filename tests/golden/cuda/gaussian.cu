/* einc compile '(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv' --target cuda:sm_90a -o gaussian.cu --header gaussian.h
 *
 *     (id - jd)^2 -> ij | exp(-0.5 * _) | _ * jv -> iv
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of i: tile_1_1 = min(64, i)
 *   step 1: store tmp1[i,j] = sum[d](pow(A[i,d] - B[j,d], 2))
 *     tiles of 64 x 32: rows i, columns j, contracted d, 8 at a time in shared memory, 4 x 4 sums of a thread
 *     loops i j, 32 lanes along j
 *   step 2: store out[i,v] = sum[j](exp(-(0.5) * tmp1[i,j]) * C[j,v])
 *     tiles of 64 x 64: rows i, columns v, contracted j, 32 at a time in shared memory, 4 x 8 sums of a thread
 *     loops i v, 32 lanes along v
 * tmp1: in registers
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

#ifndef GAUSSIAN_H
#define GAUSSIAN_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct gaussian_args {
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
        int64_t shape[2], stride[2];
    } C;
    struct {    /* output, f32[i,v] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} gaussian_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that gaussian() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int gaussian_workspace(const gaussian_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int gaussian(const gaussian_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int gaussian_status(const void *workspace, void *stream);
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
CONSTANTS(THREADS = 128, WARP = 32, WARPS = THREADS / WARP, RESIDENT = 2);

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

#ifndef INFINITY
#define INFINITY (__int_as_float(0x7F800000))
#define NAN (__int_as_float(0x7FFFFFFF))
#endif

#define INLINE static __device__ __forceinline__

#define UNROLL _Pragma("unroll")

#define UNROLL_TWICE _Pragma("unroll 2")

#define UNROLL_SOME _Pragma("unroll 4")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef float f32u UNALIGNED;

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

#ifndef EINC_MODEL
/* Begins to copy a number; without one, a zero. */
INLINE void copy_f32(float *to, const float *from, int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 4 : 0) : "memory");
}
#endif

#ifndef EINC_MODEL
/* Begins to copy the first `bytes` of 16; the others become zeros. Both ends are aligned to 16. */
INLINE void copy_line(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes) : "memory");
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

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    gaussian_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_d;
    int64_t extent_j;
    int64_t extent_v;
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
__shared__ __align__(16) char block_memory[25888];

/* tmp1[i,j] = sum[d](pow(A[i,d] - B[j,d], 2)) */
CONSTANTS(ROWS_1 = 64, COLUMNS_1 = 32, DEPTH_1 = 8, STAGES_1 = 2, HIGH_1 = 4, WIDE_1 = 4, SIDE_1 = 4, PAD_1 = 4);
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
            sums[r][c] = sums[r][c] + square_f32(left[r] - right[c]);
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
INLINE void find_rows_1(const Frame *f, int64_t i_first, Slices_1 *slices, int64_t row, int64_t rows)
{
    const int64_t A_0 = f->in.A.stride[0];
    const int r = (int)threadIdx.x;
    if (r < ROWS_1) {
        const int64_t row_at = size_min(row + r, rows - 1);
        int64_t from;
        const int64_t i = i_first + row_at;
        from = i * A_0;
        slices->rows_at[r] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
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
INLINE void find_columns_1(const Frame *f, Slices_1 *slices, int64_t column, int64_t columns)
{
    const int64_t B_0 = f->in.B.stride[0];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        const int64_t j = column_at;
        from = j * B_0;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
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
    const f32u *A = (const f32u *)f->in.A.data;
    const f32u *data = A;
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
    const int64_t A_1 = f->in.A.stride[1];
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int64_t d = point_at;
    const int64_t offset = d * A_1;
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
    const int64_t B_1 = f->in.B.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const f32u *data = B;
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    int64_t places[COLUMNS_1 * DEPTH_1 / THREADS];
    const int64_t d = point_at;
    const int64_t offset = d * B_1;
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
    find_rows_1(f, i_first, slices, row, rows);
    __syncthreads();
    for (int stage = 0; stage < STAGES_1 - 1; stage++) {
        const int64_t point = stage * DEPTH_1;
        if (point < depth) {
            fetch_rows_1(f, slices, stage, point, depth);
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




/* out[i,v] = sum[j](exp(-(0.5) * tmp1[i,j]) * C[j,v]) */
CONSTANTS(ROWS_2 = ROWS_1, COLUMNS_2 = 64, DEPTH_2 = COLUMNS_1, HIGH_2 = HIGH_1, WIDE_2 = 8, FACTORS_2 = WIDE_1,
        LANES_2 = LANES_1, SIDE_2 = 4, PAD_2 = 4);
CONSTANTS(LINES_2 = DEPTH_2);

/* What the block has in shared memory: values, factors, and where in its array each column of values begins. */
typedef struct __align__(16) Slices_2 {
    float columns[1][DEPTH_2][COLUMNS_2 + PAD_2], factors[ROWS_2][DEPTH_2 + PAD_2];
    int64_t columns_at[COLUMNS_2];
} Slices_2;

/* Which of the tile's values is a thread's c-th: it has SIDE of them side by side, and then some further on. */
INLINE int value_2(int c)
{
    return (c / SIDE_2 * LANES_2 + (int)threadIdx.x % LANES_2) * SIDE_2 + c % SIDE_2;
}

/* Which of the tile's rows is a thread's r-th, and which of its columns its c-th, in the first product. */
INLINE int row_of_2(int r)
{
    return row_1(r);
}

INLINE int column_of_2(int c)
{
    return column_1(c);
}

/* Adds the products of factors and values. */
INLINE void multiply_values_2(Slices_2 *slices, int64_t points, float factors[HIGH_2][FACTORS_2],
        float products[HIGH_2][WIDE_2])
{
    UNROLL
    for (int r = 0; r < HIGH_2; r++) {
        UNROLL
        for (int c = 0; c < FACTORS_2; c++)
            slices->factors[row_of_2(r)][column_of_2(c)] = factors[r][c];
    }
    __syncwarp();
    const int end = (int)size_min(points, LINES_2);
    UNROLL_TWICE
    for (int p = 0; p < end; p++) {
        float left[HIGH_2], right[WIDE_2];
        UNROLL
        for (int r = 0; r < HIGH_2; r++)
            left[r] = slices->factors[row_of_2(r)][p];
        UNROLL
        for (int c = 0; c < WIDE_2; c++)
            right[c] = slices->columns[0][p][value_2(c)];
        UNROLL
        for (int r = 0; r < HIGH_2; r++) {
            UNROLL
            for (int c = 0; c < WIDE_2; c++) {
                products[r][c] = products[r][c] + (left[r] * right[c]);
            }
        }
    }
}

/* Where each column begins in its array; behind the last one its. */
INLINE void find_columns_2(const Frame *f, Slices_2 *slices, int64_t column, int64_t columns)
{
    const int64_t C_1 = f->in.C.stride[1];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_2) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        const int64_t v = column_at;
        from = v * C_1;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on. */
INLINE void fetch_columns_2(const Frame *f, Slices_2 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t C_0 = f->in.C.stride[0];
    const f32u *C = (const f32u *)f->in.C.data;
    const f32u *data = C;
    UNROLL_SOME
    for (int at = (int)threadIdx.x; at < COLUMNS_2 / PAD_2 * DEPTH_2; at += THREADS) {
        const int p = at / (COLUMNS_2 / PAD_2), r = at % (COLUMNS_2 / PAD_2) * PAD_2;
        const int64_t point_at = point + p, from = slices->columns_at[r];
        int is_line = from != INT64_MIN && point_at < depth;
        const int64_t j = point_at;
        const int64_t offset = j * C_0;
        for (int next = 1; next < PAD_2; next++)
            is_line &= slices->columns_at[r + next] == from + next;
        if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
            copy_line(&slices->columns[stage][p][r], data + from + offset, 16);
            continue;
        }
        for (int next = 0; next < PAD_2; next++) {
            const int64_t one = slices->columns_at[r + next];
            const int is_there = one != INT64_MIN && point_at < depth;
            copy_f32(&slices->columns[stage][p][r + next], is_there ? data + one + offset : data, is_there);
        }
    }
}

/* tmp1[i,j] = sum[d](pow(A[i,d] - B[j,d], 2)) */
INLINE void map_1(int64_t column, int64_t columns, float sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            sums[r][c] = column_1(c) < columns - column ? sums[r][c] : INFINITY;
        }
    }
}

/* What is multiplied with the values. */
INLINE void factors_2(float sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const float exp_of = exp2_f32((-0.721347511f) * sums[r][c]);
            sums[r][c] = exp_of;
        }
    }
}

/* The rows' threads merge what they found, and store what comes of it. */
INLINE void finish_2(const Frame *f, int64_t i_first, int64_t row, int64_t rows, int64_t value, int64_t values,
        float products[HIGH_1][WIDE_2])
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = size_min(row + row_1(r), rows - 1);
        const int64_t i = i_first + row_at;
        UNROLL
        for (int c = 0; c < WIDE_2; c++) {
            const int64_t value_at = value + value_2(c);
            if (row + row_1(r) >= rows || value_at >= values)
                break;
            const int64_t v = value_at;
            out[i * out_0 + v * out_1] = products[r][c];
        }
    }
}


/* Some rows, and some of the values. */
INLINE void pass_2(const Frame *f, int64_t i_first, Slices_1 *slices, int64_t row, int64_t rows, int64_t columns,
        int64_t depth, Slices_2 *behind, int64_t value, int64_t values)
{
    float products[HIGH_2][WIDE_2];
    UNROLL
    for (int r = 0; r < HIGH_2; r++) {
        UNROLL
        for (int c = 0; c < WIDE_2; c++)
            products[r][c] = 0.0f;
    }
    for (int64_t column = 0; column < columns; column += LINES_2) {
        find_columns_2(f, behind, value, values);
        find_columns_1(f, slices, column, columns);
        __syncthreads();
        fetch_columns_2(f, behind, 0, column, columns);
        copies_end();
        float sums[HIGH_1][WIDE_1];
        begin_1(f, i_first, slices, row, rows, column, columns, depth);
        tile_1(f, slices, depth, sums);
        map_1(column, columns, sums);
        factors_2(sums);
        copies_wait<0>();
        __syncthreads();
        multiply_values_2(behind, columns - column, sums, products);
    }
    finish_2(f, i_first, row, rows, value, values, products);
}

/* The steps for one unit of work. */
INLINE void step_2(const Frame *f, int64_t i_first, int64_t i_end)
{
    const int64_t extent_d = f->extent_d, extent_j = f->extent_j;
    const int64_t extent_v = f->extent_v;
    Slices_1 *slices = (Slices_1 *)block_memory;
    Slices_2 *behind = (Slices_2 *)(slices + 1);
    const int64_t columns = extent_j, depth = extent_d;
    const int64_t values = extent_v;
    const int64_t rows = i_end - i_first;
    for (int64_t row = 0; row < rows; row += ROWS_1) {
        for (int64_t value = 0; value < values; value += COLUMNS_2)
            pass_2(f, i_first, slices, row, rows, columns, depth, behind, value, values);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) gaussian_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_i = f->extent_i, tile_1_1 = f->tile_1_1;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        const int64_t i_first = unit * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
        step_2(f, i_first, i_end);
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const gaussian_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.C.shape, f->in.C.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_d = f->extent_d = meet(f->in.A.shape[1], f->in.B.shape[1]);
    if (extent_d < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = meet(f->in.B.shape[0], f->in.C.shape[0]);
    if (extent_j < 0)
        return BAD_SHAPES;
    const int64_t extent_v = f->extent_v = f->in.C.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_v)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_i);
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

int gaussian_workspace(const gaussian_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int gaussian(const gaussian_args *args, void *workspace, size_t bytes, void *stream)
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
    if (launch(gaussian_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int gaussian_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
