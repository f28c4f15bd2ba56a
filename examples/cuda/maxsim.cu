/* einc compile 'Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < length[m]:i64, _, -inf) | max n | sum j' --target cuda:sm_80 --name maxsim -o maxsim.cu --header maxsim.h
 *
 *     Q[i,j,k], D[m,n,k] -> ijmn | where(@n < length[m]:i64, _, -inf) | max n | sum j
 *
 * target cuda:sm_80, 32 lanes
 * launch 1: block of i: tile_1_1 = min(2, i), block of m: 1
 *   step 1: store tmp1[i,j,m] = max[n](where(@n < length[m], sum[k](Q[i,j,k] * D[m,n,k]), -(inf)))
 *     tiles of 64 x 128: rows n, columns i j, contracted k, 8 at a time in shared memory, 8 x 8 sums of a thread
 *     loops i m j, 32 lanes along j
 *   step 2: store out[i,m] = sum[j](tmp1[i,j,m])
 *     loops i m, 32 lanes along j
 * tmp1: a block, row_tmp1 * 4 bytes
 * workspace workers * (align(row_tmp1 * 4, 64)) */
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

/* C++20 has no arithmetic between the constants of two enums. */
#if __cplusplus > 201703L
#define CONSTANTS(...) [[maybe_unused]] static constexpr int __VA_ARGS__
#else
#define CONSTANTS(...) enum { __VA_ARGS__ }
#endif

/* Threads of a block and of a warp, and how many blocks have registers at once. */
CONSTANTS(THREADS = 128, WARP = 32, WARPS = THREADS / WARP, RESIDENT = 2);

#ifndef INFINITY
#define INFINITY (__int_as_float(0x7F800000))
#define NAN (__int_as_float(0x7FFFFFFF))
#endif

#define INLINE static __device__ __forceinline__

#define UNROLL _Pragma("unroll")

#define UNROLL_NOT _Pragma("unroll 1")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef int64_t i64u UNALIGNED;

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

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int64_t shared;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* Shared memory of a block, which its products use one after the other. */
__shared__ __align__(16) char block_memory[22800];

/* tmp1[i,j,m] = max[n](where(@n < length[m], sum[k](Q[i,j,k] * D[m,n,k]), -(inf))) */
CONSTANTS(ROWS_1 = 64, COLUMNS_1 = 128, DEPTH_1 = 8, STAGES_1 = 3, HIGH_1 = 8, WIDE_1 = 8, SIDE_1 = 4, PAD_1 = 4);
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
            sums[r][c] = sums[r][c] + (right[c] * left[r]);
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
INLINE void find_rows_1(const Frame *f, Slices_1 *slices, int64_t m, int64_t row, int64_t rows)
{
    const int64_t D_0 = f->in.D.stride[0], D_1 = f->in.D.stride[1];
    const int r = (int)threadIdx.x;
    if (r < ROWS_1) {
        const int64_t row_at = size_min(row + r, rows - 1);
        int64_t from;
        const int64_t n = row_at;
        from = m * D_0 + n * D_1;
        slices->rows_at[r] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t D_2 = f->in.D.stride[2];
    const f32u *D = (const f32u *)f->in.D.data;
    const f32u *data = D;
    const int p = (int)threadIdx.x % DEPTH_1, first = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    const int64_t k = point_at;
    const int64_t offset = k * D_2;
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
    const int64_t extent_j = f->extent_j, Q_0 = f->in.Q.stride[0];
    const int64_t Q_1 = f->in.Q.stride[1];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        int64_t column_rest = column_at;
        const int64_t j = take_index(&column_rest, extent_j);
        const int64_t i = i_first + column_rest;
        from = i * Q_0 + j * Q_1;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t Q_2 = f->in.Q.stride[2];
    const f32u *Q = (const f32u *)f->in.Q.data;
    const f32u *data = Q;
    const int p = (int)threadIdx.x % DEPTH_1, first = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    const int64_t k = point_at;
    const int64_t offset = k * Q_2;
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
    const f32u *D = (const f32u *)f->in.D.data;
    const f32u *data = D;
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
    const int64_t D_2 = f->in.D.stride[2];
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int64_t k = point_at;
    const int64_t offset = k * D_2;
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
    const int64_t Q_2 = f->in.Q.stride[2];
    const f32u *Q = (const f32u *)f->in.Q.data;
    const f32u *data = Q;
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    int64_t places[COLUMNS_1 * DEPTH_1 / THREADS];
    const int64_t k = point_at;
    const int64_t offset = k * Q_2;
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
INLINE void begin_1(const Frame *f, int64_t i_first, Slices_1 *slices, int64_t m, int64_t row, int64_t rows,
        int64_t column, int64_t columns, int64_t depth)
{
    find_rows_1(f, slices, m, row, rows);
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
INLINE void take_1(int64_t row, int64_t rows, float *largest_1, float sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = row + row_1(r);
        if (!IS_WHOLE && row_at >= rows)
            break;
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            largest_1[c] = max_f32(largest_1[c], sums[r][c]);
        }
    }
}

/* The threads of a column merge what they found: the lanes of a warp first, then its warps through shared memory. */
INLINE void finish_1(const Frame *f, char *own, int64_t i_first, int64_t m_first, Slices_1 *slices, int64_t m,
        int64_t column, int64_t columns, float *largest_1)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    typedef struct States {
        float largest_1[WARPS / WARPS_ACROSS_1][COLUMNS_1];
    } States;
    States *states = (States *)(slices + 1);
    for (int apart = WARP / 2; apart >= LANES_1; apart /= 2) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const float later_largest = later_f32(largest_1[c], apart);
            largest_1[c] = max_f32(largest_1[c], later_largest);
        }
    }
    if ((int)threadIdx.x % WARP < LANES_1) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            states->largest_1[(int)threadIdx.x / WARP / WARPS_ACROSS_1][column_1(c)] = largest_1[c];
        }
    }
    __syncthreads();
    for (int c = (int)threadIdx.x; c < COLUMNS_1; c += THREADS) {
        const int64_t column_at = column + c;
        if (column_at >= columns)
            break;
        int64_t column_rest = column_at;
        const int64_t j = take_index(&column_rest, extent_j);
        const int64_t i = i_first + column_rest;
        float largest = states->largest_1[0][c];
        for (int warp = 1; warp < WARPS / WARPS_ACROSS_1; warp++) {
            largest = max_f32(largest, states->largest_1[warp][c]);
        }
        tmp1[(i - i_first) * tmp1_0 + j + (m - m_first) * tmp1_2] = largest;
    }
    __syncthreads();
}

/* The step for one unit of work. */
INLINE void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n;
    const i64u *length = (const i64u *)f->in.length.data;
    const int64_t length_0 = f->in.length.stride[0];
    Slices_1 *slices = (Slices_1 *)block_memory;
    const int64_t columns = (i_end - i_first) * extent_j, depth = extent_k;
    for (int64_t m = m_first; m < m_end; m++) {
        const int64_t limit = length[m * length_0];
        const int64_t n_to = size_min(extent_n, limit);
        const int64_t rows = n_to;
        for (int64_t column = 0; column < columns; column += COLUMNS_1) {
            float largest_1[WIDE_1];
            UNROLL
            for (int c = 0; c < WIDE_1; c++) {
                largest_1[c] = -INFINITY;
            }
            find_columns_1(f, i_first, slices, column, columns);
            if (rows > 0)
                begin_1(f, i_first, slices, m, 0, rows, column, columns, depth);
            for (int64_t row = 0; row < rows; row += ROWS_1) {
                float sums[HIGH_1][WIDE_1];
                tile_1(f, slices, depth, sums);
                if (row + ROWS_1 < rows)
                    begin_1(f, i_first, slices, m, row + ROWS_1, rows, column, columns, depth);
                if (row + ROWS_1 <= rows && column + COLUMNS_1 <= columns)
                    take_1<1>(row, rows, largest_1, sums);
                else
                    take_1<0>(row, rows, largest_1, sums);
            }
            finish_1(f, own, i_first, m_first, slices, m, column, columns, largest_1);
        }
    }
}

/* out[i,m] = sum[j](tmp1[i,j,m]) */
INLINE void step_2_at(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t i, int64_t m,
        const Team team)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    float sum[4];
    for (int chain = 0; chain < 4; chain++)
        sum[chain] = 0.0f;
    int64_t j_at = team.rank;
    for (; j_at + 3 * team.size < extent_j; j_at += 4 * team.size) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * team.size;
            sum[chain] = sum[chain] + tmp1[(i - i_first) * tmp1_0 + j + (m - m_first) * tmp1_2];
        }
    }
    for (; j_at < extent_j; j_at += team.size) {
        sum[0] = sum[0] + tmp1[(i - i_first) * tmp1_0 + j_at + (m - m_first) * tmp1_2];
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
        out[i * out_0 + m * out_1] = sum[0];
    }
}

INLINE void step_2(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t points = (i_end - i_first) * (m_end - m_first);
    const Team team = team_of(points);
    if (points <= 0)
        return;
    int64_t rest = team.number, skip = team.count;
    int64_t m_at = take_index(&rest, m_end - m_first);
    const int64_t m_skip = take_index(&skip, m_end - m_first);
    int64_t i_at = rest;
    const int64_t i_skip = skip;
    UNROLL_NOT
    for (int64_t point = team.number; point < points; point += team.count) {
        const int64_t m = m_first + m_at;
        const int64_t i = i_first + i_at;
        step_2_at(f, own, i_first, m_first, i, m, team);
        int64_t carry = add_index(&m_at, m_skip, m_end - m_first);
        i_at += i_skip + carry;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) maxsim_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    char *own = f->workspace + f->shared + blockIdx.x * f->per_worker;
    const int64_t extent_i = f->extent_i, extent_m = f->extent_m;
    const int64_t tile_1_1 = f->tile_1_1;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        int64_t rest = unit;
        const int64_t m_first = rest % extent_m, m_end = m_first + 1;
        rest /= size_max(extent_m, 1);
        const int64_t i_first = rest * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
        step_1(f, own, i_first, i_end, m_first, m_end);
        __syncthreads();
        step_2(f, own, i_first, i_end, m_first, m_end);
        __syncthreads();
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
    const int64_t tile_1_1 = f->tile_1_1 = size_min(2, extent_i);
    f->units_1 = size_mul(size_ceil_div(extent_i, tile_1_1), extent_m);
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(size_mul(extent_j, tile_1_1), 15), 32),
            32), 16);
    f->per_worker = size_align(size_mul(row_tmp1, 4), 64);
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
    if (launch(maxsim_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
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
