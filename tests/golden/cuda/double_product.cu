/* einc compile 'A[i,k]:f64, B[k,j]:f64 -> [i,j]' --target cuda:sm_90a -o double_product.cu --header double_product.h
 *
 *     A[i,k]:f64, B[k,j]:f64 -> ij
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of j: tile_1_1 = min(64, j), block of i: tile_1_2 = min(64, i)
 *   step 1: store out[i,j] = sum[k](A[i,k] * B[k,j])
 *     tiles of 64 x 64: rows i, columns j, contracted k, 16 at a time in shared memory, 4 x 8 sums of a thread,
 *             on tensor cores
 *     loops i j, 32 lanes along j
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

#ifndef DOUBLE_PRODUCT_H
#define DOUBLE_PRODUCT_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct double_product_args {
    struct {    /* input A, f64 */
        const double *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input B, f64 */
        const double *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* output, f64[i,j] */
        double *data;
        int64_t shape[2], stride[2];
    } out;
} double_product_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that double_product() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int double_product_workspace(const double_product_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int double_product(const double_product_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int double_product_status(const void *workspace, void *stream);
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

#define INLINE static __device__ __forceinline__

#define UNROLL _Pragma("unroll")

#define UNROLL_NOT _Pragma("unroll 1")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef double f64u UNALIGNED;

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

/* The unit of a plane of inner by outer that is the n-th where `band` of the inner ones meet all of the outer ones, then the next;
 * plane by plane. */
PLAIN int64_t size_in_bands(int64_t n, int64_t inner, int64_t outer, int64_t band)
{
    const int64_t plane = n / (inner * outer) * (inner * outer), first = (n - plane) / (band * outer) * band;
    const int64_t width = size_min(band, inner - first), at = n - plane - first * outer;
    return plane + at / width * inner + first + at % width;
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
INLINE void copy_f64(double *to, const double *from, int is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(is_there ? 8 : 0) : "memory");
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

#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. Of 8 points a lane has those lane % 4 and 4 more, of both rows and of
 * a column. */
INLINE void mma_f64(double *sums, double *below, const double left[4], const double right[2])
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(sums[0]), "+d"(sums[1]), "+d"(below[0]), "+d"(below[1])
        : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(right[0]), "d"(right[1]));
#else
    UNROLL
    for (int far = 0; far < 2; far++) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sums[0]), "+d"(sums[1]) : "d"(left[2 * far]), "d"(right[far]));
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(below[0]), "+d"(below[1]) : "d"(left[2 * far + 1]), "d"(right[far]));
    }
#endif
}
#endif

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    double_product_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_k;
    int64_t extent_j;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int64_t shared;
    int64_t per_worker;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* Shared memory of a block, which its products use one after the other. */
#ifdef EINC_MODEL
__shared__ __align__(16) char block_memory[50176];
#else
extern __shared__ __align__(16) char block_memory[];
#endif

/* out[i,j] = sum[k](A[i,k] * B[k,j]) */
CONSTANTS(ROWS_1 = 64, COLUMNS_1 = 64, DEPTH_1 = 16, STAGES_1 = 3, HIGH_1 = 4, WIDE_1 = 8);
/* Warps side by side in a tile, and lanes of one; what a warp has of it. */
CONSTANTS(LANES_1 = 4, WARPS_ACROSS_1 = COLUMNS_1 / WIDE_1 / LANES_1);
CONSTANTS(WARP_ROWS_1 = HIGH_1 * WARP / LANES_1, WARP_COLUMNS_1 = WIDE_1 * LANES_1);

/* The first row and column of a warp. */
INLINE int warp_row_1(void)
{
    return (int)threadIdx.x / WARP / WARPS_ACROSS_1 * WARP_ROWS_1;
}

INLINE int warp_column_1(void)
{
    return (int)threadIdx.x / WARP % WARPS_ACROSS_1 * WARP_COLUMNS_1;
}

/* Which of the tile's rows, or columns, is a thread's r-th: of 16 rows and 8 columns it has rows 8 apart, and two columns. */
INLINE int row_1(int r)
{
    return warp_row_1() + r / 2 * 16 + r % 2 * 8 + (int)threadIdx.x % WARP / LANES_1;
}

INLINE int column_1(int c)
{
    return warp_column_1() + c / 2 * 8 + (int)threadIdx.x % LANES_1 * 2 + c % 2;
}
/* A line's chunks, and a chunk's points. */
CONSTANTS(CHUNK_1 = 16 / sizeof(f64u), CHUNKS_1 = DEPTH_1 / CHUNK_1);

/* What the block has in shared memory: some slices of both operands, and where in its array each row and each column begins. */
typedef struct __align__(16) Slices_1 {
    f64u rows[STAGES_1][ROWS_1][DEPTH_1], columns[STAGES_1][COLUMNS_1][DEPTH_1];
    int64_t rows_at[ROWS_1], columns_at[COLUMNS_1];
} Slices_1;

/* Where a chunk of a line is: 8 of them have all banks, so each 8 chunks' lines have them in another order. */
INLINE int chunk_1(int line, int chunk)
{
    return (chunk ^ (line * CHUNKS_1 / 8 & (CHUNKS_1 - 1))) * CHUNK_1;
}

CONSTANTS(POINTS_1 = 8, TURNS_1 = DEPTH_1 / POINTS_1);

/* Which of a line's numbers a lane multiplies: of the two of a chunk even lanes have the first and odd ones the second, of two chunks
 * that are half a line apart, so that 16 lanes, of four lines, meet all banks. These are other points than the instruction says, the
 * same on both sides. Lines that are 8 apart have their chunks in the same order. */
INLINE int number_1(int turn, int far)
{
    const int lane = (int)threadIdx.x % WARP, line = lane / LANES_1;
    return chunk_1(line, lane % LANES_1 / 2 * (CHUNKS_1 / 2) + 2 * turn + far) + lane % 2;
}

/* What a lane multiplies of 16 rows, the r-th of a warp's. */
INLINE void load_left_1(const Slices_1 *slices, int stage, int turn, int r, double left[4])
{
    const int near = number_1(turn, 0), far = number_1(turn, 1);
    const f64u *upper = slices->rows[stage][warp_row_1() + 16 * r + (int)threadIdx.x % WARP / LANES_1],
            *lower = upper + 8 * DEPTH_1;
    left[0] = upper[near];
    left[1] = lower[near];
    left[2] = upper[far];
    left[3] = lower[far];
}

/* And of a warp's columns, 8 at a time. */
INLINE void load_right_1(const Slices_1 *slices, int stage, int turn, double right[WIDE_1 / 2][2])
{
    const int near = number_1(turn, 0), far = number_1(turn, 1);
    const f64u *columns = slices->columns[stage][warp_column_1() + (int)threadIdx.x % WARP / LANES_1];
    UNROLL
    for (int c = 0; c < WIDE_1 / 2; c++) {
        right[c][0] = columns[8 * c * DEPTH_1 + near];
        right[c][1] = columns[8 * c * DEPTH_1 + far];
    }
}

/* Adds their products. */
INLINE void add_1(int r, const double left[4], const double right[WIDE_1 / 2][2], double sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int c = 0; c < WIDE_1 / 2; c++)
        mma_f64(&sums[2 * r][2 * c], &sums[2 * r + 1][2 * c], left, right[c]);
}

/* Adds the products of a slice; points that are not there are zeros. */
INLINE void multiply_1(const Slices_1 *slices, int stage, int64_t points, double sums[HIGH_1][WIDE_1])
{
    double left[4], right[WIDE_1 / 2][2];
    (void)points;
    UNROLL
    for (int turn = 0; turn < TURNS_1; turn++) {
        load_right_1(slices, stage, turn, right);
        UNROLL
        for (int r = 0; r < HIGH_1 / 2; r++) {
            load_left_1(slices, stage, turn, r, left);
            add_1(r, left, right, sums);
        }
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

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t A_1 = f->in.A.stride[1];
    const f64u *A = (const f64u *)f->in.A.data;
    const f64u *data = A;
    UNROLL_NOT
    for (int at = (int)threadIdx.x; at < ROWS_1 * CHUNKS_1; at += THREADS) {
        const int chunk = at % CHUNKS_1, r = at / CHUNKS_1;
        const int64_t point_at = point + chunk * CHUNK_1, from = slices->rows_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_1);
        f64u *to = slices->rows[stage][r] + chunk_1(r, chunk);
        if (count > 0) {
            const int64_t k = point_at;
            const int64_t offset = k * A_1;
            const int is_line = A_1 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(f64u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_1; next++) {
            const int64_t next_at = point_at + next;
            const int64_t k = next_at;
            copy_f64(&to[next], next < count ? data + from + k * A_1 : data, next < count);
        }
    }
}

/* Where each column begins in its array; behind the last one its. */
INLINE void find_columns_1(const Frame *f, int64_t j_first, Slices_1 *slices, int64_t column, int64_t columns)
{
    const int64_t B_1 = f->in.B.stride[1];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        const int64_t j = j_first + column_at;
        from = j * B_1;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t B_0 = f->in.B.stride[0];
    const f64u *B = (const f64u *)f->in.B.data;
    const f64u *data = B;
    UNROLL_NOT
    for (int at = (int)threadIdx.x; at < COLUMNS_1 * CHUNKS_1; at += THREADS) {
        const int chunk = at % CHUNKS_1, r = at / CHUNKS_1;
        const int64_t point_at = point + chunk * CHUNK_1, from = slices->columns_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_1);
        f64u *to = slices->columns[stage][r] + chunk_1(r, chunk);
        if (count > 0) {
            const int64_t k = point_at;
            const int64_t offset = k * B_0;
            const int is_line = B_0 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(f64u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_1; next++) {
            const int64_t next_at = point_at + next;
            const int64_t k = next_at;
            copy_f64(&to[next], next < count ? data + from + k * B_0 : data, next < count);
        }
    }
}

CONSTANTS(LAST_1 = TURNS_1 * HIGH_1 / 2 - 1);    /* of the 16 rows by 8 points that a slice has for a warp; what is copied comes before it */
CONSTANTS(ROWS_OWN_1 = ROWS_1 * CHUNKS_1 / THREADS);

/* Where those rows begin; whether one has no place, or no 16-byte chunks. */
INLINE int keep_rows_1(const Frame *f, Slices_1 *slices, const f64u *from[ROWS_OWN_1])
{
    const f64u *A = (const f64u *)f->in.A.data;
    const f64u *data = A;
    const int64_t A_1 = f->in.A.stride[1];
    int misses = !(A_1 == 1);
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_1; turn++) {
        const int64_t at = slices->rows_at[(int)threadIdx.x / CHUNKS_1 + turn * (THREADS / CHUNKS_1)];
        from[turn] = at == INT64_MIN ? data : data + at;
        misses |= at == INT64_MIN || (uint64_t)from[turn] % 16 != 0;
    }
    return misses;
}

/* These rows have their chunks in the same order. */
INLINE void copy_rows_1(Slices_1 *slices, int stage, int64_t point, int portion, const f64u *const from[ROWS_OWN_1])
{
    const int chunk = (int)threadIdx.x % CHUNKS_1, first = (int)threadIdx.x / CHUNKS_1;
    const int64_t point_at = point + chunk * CHUNK_1;
    const int64_t offset = point_at;
    f64u *to = slices->rows[stage][first] + chunk_1(first, chunk);
    UNROLL
    for (int turn = portion; turn < ROWS_OWN_1; turn += LAST_1)
        copy_line(to + turn * (THREADS / CHUNKS_1) * DEPTH_1, from[turn] + offset, 16);
}

CONSTANTS(COLUMNS_ONCE_1 = COLUMNS_1 * CHUNK_1 < THREADS ? COLUMNS_1 : THREADS / CHUNK_1,
        COLUMNS_OWN_1 = COLUMNS_1 / COLUMNS_ONCE_1);
CONSTANTS(COLUMNS_CHUNKS_1 = THREADS / CHUNK_1 / COLUMNS_ONCE_1);    /* that threads copy at a time */

/* Where those columns begin; whether one has no place. */
INLINE int keep_columns_1(const Frame *f, Slices_1 *slices, const f64u *from[COLUMNS_OWN_1])
{
    const f64u *B = (const f64u *)f->in.B.data;
    const f64u *data = B;
    int misses = 0;
    UNROLL
    for (int turn = 0; turn < COLUMNS_OWN_1; turn++) {
        const int64_t at = slices->columns_at[(int)threadIdx.x / CHUNK_1 % COLUMNS_ONCE_1 + turn * COLUMNS_ONCE_1];
        from[turn] = at == INT64_MIN ? data : data + at;
        misses |= at == INT64_MIN;
    }
    return misses;
}

INLINE void copy_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int portion,
        const f64u *const from[COLUMNS_OWN_1])
{
    const int next = (int)threadIdx.x % CHUNK_1, first = (int)threadIdx.x / CHUNK_1 % COLUMNS_ONCE_1;
    const int group = COLUMNS_CHUNKS_1 == 1 ? 0 : (int)threadIdx.x / CHUNK_1 / COLUMNS_ONCE_1;
    const int64_t B_0 = f->in.B.stride[0];
    UNROLL
    for (int chunk = portion * COLUMNS_CHUNKS_1; chunk < CHUNKS_1; chunk += LAST_1 * COLUMNS_CHUNKS_1) {
        const int64_t point_at = point + (chunk + group) * CHUNK_1 + next;
        const int64_t k = point_at;
        const int64_t offset = k * B_0;
        f64u *to = slices->columns[stage][first] + chunk_1(first, chunk + group) + next;
        UNROLL
        for (int turn = 0; turn < COLUMNS_OWN_1; turn++)
            copy_f64(to + turn * COLUMNS_ONCE_1 * DEPTH_1, from[turn] + offset, 1);
    }
}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on. */
INLINE int64_t slices_1(const Frame *f, Slices_1 *slices, int64_t depth, double sums[HIGH_1][WIDE_1])
{
    enum { AHEAD = (STAGES_1 - 1) * DEPTH_1, HIGH = HIGH_1 / 2 };
    const f64u *rows_from[ROWS_OWN_1], *columns_from[COLUMNS_OWN_1];
    double left[2][4], right[2][WIDE_1 / 2][2];
    const int count = depth < AHEAD ? 0 : (int)size_min((depth - AHEAD) / DEPTH_1, INT32_MAX);
    if (count == 0)
        return 0;
    const int misses = keep_rows_1(f, slices, rows_from) | keep_columns_1(f, slices, columns_from);
    if (__syncthreads_or(misses))
        return 0;
    copies_wait<STAGES_1 - 2>();
    __syncthreads();
    load_right_1(slices, 0, 0, right[0]);
    load_left_1(slices, 0, 0, 0, left[0]);
    for (int slice = 0, now = 0; slice < count; slice++) {
        const int next = now + 1 < STAGES_1 ? now + 1 : 0, stage = now > 0 ? now - 1 : STAGES_1 - 1;
        const int64_t point = (int64_t)slice * DEPTH_1 + AHEAD;
        UNROLL
        for (int portion = 0; portion <= LAST_1; portion++) {
            const int reached = portion == LAST_1 ? next : now, turn = (portion + 1) / HIGH % TURNS_1,
                    r = portion % HIGH;
            if (portion == LAST_1) {
                copies_end();
                copies_wait<STAGES_1 - 2>();
                __syncthreads();
            }
            if (r == HIGH - 1)
                load_right_1(slices, reached, turn, right[turn % 2]);
            load_left_1(slices, reached, turn, (portion + 1) % HIGH, left[(portion + 1) % 2]);
            if (portion < LAST_1) {
                copy_rows_1(slices, stage, point, portion, rows_from);
                copy_columns_1(f, slices, stage, point, portion, columns_from);
            }
            add_1(r, left[portion % 2], right[portion / HIGH % 2], sums);
        }
        now = next;
    }
    return (int64_t)count * DEPTH_1;
}

/* Begins to copy the first slices of the tile from a row and a column on. */
INLINE void begin_1(const Frame *f, int64_t i_first, int64_t j_first, Slices_1 *slices, int64_t row, int64_t rows,
        int64_t column, int64_t columns, int64_t depth)
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
INLINE void tile_1(const Frame *f, Slices_1 *slices, int64_t depth, double sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++)
            sums[r][c] = 0.0;
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

/* Stores what comes of the sums of a tile, of which all or some rows and columns are there. */
template <int IS_WHOLE>
INLINE void store_1(const Frame *f, int64_t i_first, int64_t j_first, int64_t row, int64_t rows, int64_t column,
        int64_t columns, double sums[HIGH_1][WIDE_1])
{
    f64u *out = (f64u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = row + row_1(r);
        if (!IS_WHOLE && row_at >= rows)
            break;
        const int64_t i = i_first + row_at;
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const int64_t column_at = column + column_1(c);
            if (!IS_WHOLE && column_at >= columns)
                break;
            const int64_t j = j_first + column_at;
            out[i * out_0 + j * out_1] = sums[r][c];
        }
    }
}


/* The step for one unit of work. */
INLINE void step_1(const Frame *f, int64_t i_first, int64_t i_end, int64_t j_first, int64_t j_end)
{
    const int64_t extent_k = f->extent_k;
    Slices_1 *slices = (Slices_1 *)block_memory;
    const int64_t columns = j_end - j_first, depth = extent_k;
    const int64_t rows = i_end - i_first;
    const int64_t column = 0;
    find_columns_1(f, j_first, slices, column, columns);
    const int64_t row = 0;
    double sums[HIGH_1][WIDE_1];
    begin_1(f, i_first, j_first, slices, row, rows, column, columns, depth);
    tile_1(f, slices, depth, sums);
    if (row + ROWS_1 <= rows && column + COLUMNS_1 <= columns)
        store_1<1>(f, i_first, j_first, row, rows, column, columns, sums);
    else
        store_1<0>(f, i_first, j_first, row, rows, column, columns, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) double_product_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t tile_1_1 = f->tile_1_1, tile_1_2 = f->tile_1_2;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        int64_t rest = size_in_bands(unit, size_ceil_div(extent_i, tile_1_2), size_ceil_div(extent_j, tile_1_1), 16);
        const int64_t i_tiles = size_max(size_ceil_div(extent_i, tile_1_2), 1);
        const int64_t i_first = rest % i_tiles * tile_1_2, i_end = size_min(i_first + tile_1_2, extent_i);
        rest /= i_tiles;
        const int64_t j_first = rest * tile_1_1, j_end = size_min(j_first + tile_1_1, extent_j);
        step_1(f, i_first, i_end, j_first, j_end);
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const double_product_args *args, int workers)
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
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[1], f->in.B.shape[0]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.B.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_j)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_j);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(64, extent_i);
    f->units_1 = size_mul(size_ceil_div(extent_j, tile_1_1), size_ceil_div(extent_i, tile_1_2));
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

int double_product_workspace(const double_product_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int double_product(const double_product_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.A.data % 8 || (uintptr_t)f->in.B.data % 8 || (uintptr_t)f->in.out.data % 8)
        return BAD_ARGUMENT;
    if (launch(double_product_launch_1, f, f->tasks_1, workers, 50176, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int double_product_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
