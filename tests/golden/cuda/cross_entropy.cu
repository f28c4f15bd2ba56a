/* einc compile 'lse = X[t,h], W[v,h] -> [t,v] | logsumexp v; pick = X[t,h], W[y[t]:i64,h] -> [t]; lse[t] - pick[t] | mean t' --target cuda:sm_90a -o cross_entropy.cu --header cross_entropy.h
 *
 *     lse[t] = X[t,h], W[v,h] -> tv | logsumexp v
 *     pick[t] = X[t,h], W[y[t]:i64,h] -> t
 *     lse[t] - pick[t] | mean t
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of t: tile_1_1 = min(32, t)
 *   step 1: store tmp1[t] = logsumexp[v](sum[h](X[t,h] * W[v,h]))
 *     tiles of 128 x 32: rows v, columns t, contracted h, 8 at a time in shared memory, 8 x 4 sums of a thread
 *     loops t, 32 lanes along t
 *   step 2: store out[] = mean[t](tmp1[t] - sum[h](X[t,h] * W[y[t],h]))
 *     loops, 32 lanes along h, split along t into parts_2 = min(t, 1024)
 * tmp1: a block, tile_1_1 * 4 bytes
 * workspace 64 + align(parts_2 * 4, 64) + workers * (align(tile_1_1 * 4, 64)) */
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

#ifndef CROSS_ENTROPY_H
#define CROSS_ENTROPY_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct cross_entropy_args {
    struct {    /* input X, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } X;
    struct {    /* input W, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } W;
    struct {    /* input y, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } y;
    struct {    /* output, f32 */
        float *data;
        int64_t shape[1], stride[1];
    } out;
} cross_entropy_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that cross_entropy() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int cross_entropy_workspace(const cross_entropy_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int cross_entropy(const cross_entropy_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int cross_entropy_status(const void *workspace, void *stream);
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

/* 2^(x log2 e): one product, and an instruction of 2 ulp. */
INLINE float exp_f32(float x)
{
    return exp2f(x * 1.44269504f);
}

INLINE float log_f32(float x)
{
    return logf(x);
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

/* The common size of two axes, where 1 gives way; -1 when they disagree. */
PLAIN int64_t meet(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}

PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}

/* largest' = max of the two, sum' = both sums, each times exp(its largest - largest'). */
INLINE void merge_exponentials_f32(float *largest, float *sum, float other, float other_sum)
{
    float difference = other == *largest ? 0 : other - *largest;
    float power = exp_f32(difference > 0 ? -difference : difference);
    *sum = difference > 0 ? *sum * power + other_sum : *sum + other_sum * power;
    *largest = max_f32(*largest, other);
}

/* What is read in so many turns of a loop is on its way at once. */
#define UNROLL_MUCH _Pragma("unroll 16")

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
    cross_entropy_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_t;
    int64_t extent_h;
    int64_t extent_v;
    int64_t extent_t_2;
    int64_t extent_h_2;
    int64_t extent_t_3;
    int64_t parts_2;
    int64_t shared;
    int64_t tile_1_1;
    int64_t units_1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* Shared memory of a block, which its products use one after the other. */
__shared__ __align__(16) char block_memory[18448];

/* tmp1[t] = logsumexp[v](sum[h](X[t,h] * W[v,h])) */
CONSTANTS(ROWS_1 = 128, COLUMNS_1 = 32, DEPTH_1 = 8, STAGES_1 = 3, HIGH_1 = 8, WIDE_1 = 4, SIDE_1 = 4, PAD_1 = 4);
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
INLINE void find_rows_1(const Frame *f, Slices_1 *slices, int64_t row, int64_t rows)
{
    const int64_t W_0 = f->in.W.stride[0];
    const int r = (int)threadIdx.x;
    if (r < ROWS_1) {
        const int64_t row_at = size_min(row + r, rows - 1);
        int64_t from;
        const int64_t v = row_at;
        from = v * W_0;
        slices->rows_at[r] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t W_1 = f->in.W.stride[1];
    const f32u *W = (const f32u *)f->in.W.data;
    const f32u *data = W;
    const int p = (int)threadIdx.x % DEPTH_1, first = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    const int64_t h = point_at;
    const int64_t offset = h * W_1;
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
INLINE void find_columns_1(const Frame *f, int64_t t_first, Slices_1 *slices, int64_t column, int64_t columns)
{
    const int64_t X_0 = f->in.X.stride[0];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        const int64_t t = t_first + column_at;
        from = t * X_0;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t X_1 = f->in.X.stride[1];
    const f32u *X = (const f32u *)f->in.X.data;
    const f32u *data = X;
    const int p = (int)threadIdx.x % DEPTH_1, first = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    const int64_t h = point_at;
    const int64_t offset = h * X_1;
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
    const f32u *W = (const f32u *)f->in.W.data;
    const f32u *data = W;
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
    const int64_t W_1 = f->in.W.stride[1];
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    const int64_t h = point_at;
    const int64_t offset = h * W_1;
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
    const int64_t X_1 = f->in.X.stride[1];
    const f32u *X = (const f32u *)f->in.X.data;
    const f32u *data = X;
    const int p = (int)threadIdx.x % DEPTH_1, r = (int)threadIdx.x / DEPTH_1;
    const int64_t point_at = point + p;
    int64_t places[COLUMNS_1 * DEPTH_1 / THREADS];
    const int64_t h = point_at;
    const int64_t offset = h * X_1;
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
INLINE void begin_1(const Frame *f, int64_t t_first, Slices_1 *slices, int64_t row, int64_t rows, int64_t column,
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
INLINE void take_1(int64_t row, int64_t rows, float *largest_1, float *sum_1, float sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = row + row_1(r);
        if (!IS_WHOLE && row_at >= rows)
            break;
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            merge_exponentials_f32(&largest_1[c], &sum_1[c], sums[r][c], 1.0f);
        }
    }
}

/* The threads of a column merge what they found: the lanes of a warp first, then its warps through shared memory. */
INLINE void finish_1(char *own, int64_t t_first, Slices_1 *slices, int64_t column, int64_t columns, float *largest_1,
        float *sum_1)
{
    f32u *tmp1 = (f32u *)own;
    typedef struct States {
        float largest_1[WARPS / WARPS_ACROSS_1][COLUMNS_1];
        float sum_1[WARPS / WARPS_ACROSS_1][COLUMNS_1];
    } States;
    States *states = (States *)(slices + 1);
    for (int apart = WARP / 2; apart >= LANES_1; apart /= 2) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const float later_largest = later_f32(largest_1[c], apart);
            const float later_sum = later_f32(sum_1[c], apart);
            merge_exponentials_f32(&largest_1[c], &sum_1[c], later_largest, later_sum);
        }
    }
    if ((int)threadIdx.x % WARP < LANES_1) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            states->largest_1[(int)threadIdx.x / WARP / WARPS_ACROSS_1][column_1(c)] = largest_1[c];
            states->sum_1[(int)threadIdx.x / WARP / WARPS_ACROSS_1][column_1(c)] = sum_1[c];
        }
    }
    __syncthreads();
    for (int c = (int)threadIdx.x; c < COLUMNS_1; c += THREADS) {
        const int64_t column_at = column + c;
        if (column_at >= columns)
            break;
        const int64_t t = t_first + column_at;
        float largest = states->largest_1[0][c];
        float sum = states->sum_1[0][c];
        for (int warp = 1; warp < WARPS / WARPS_ACROSS_1; warp++) {
            merge_exponentials_f32(&largest, &sum, states->largest_1[warp][c], states->sum_1[warp][c]);
        }
        tmp1[(t - t_first)] = largest + log_f32(sum);
    }
    __syncthreads();
}

/* The step for one unit of work. */
INLINE void step_1(const Frame *f, char *own, int64_t t_first, int64_t t_end)
{
    const int64_t extent_h = f->extent_h, extent_v = f->extent_v;
    Slices_1 *slices = (Slices_1 *)block_memory;
    const int64_t columns = t_end - t_first, depth = extent_h;
    const int64_t rows = extent_v;
    const int64_t column = 0;
    float largest_1[WIDE_1];
    float sum_1[WIDE_1];
    UNROLL
    for (int c = 0; c < WIDE_1; c++) {
        largest_1[c] = -INFINITY;
        sum_1[c] = 0.0f;
    }
    find_columns_1(f, t_first, slices, column, columns);
    if (rows > 0)
        begin_1(f, t_first, slices, 0, rows, column, columns, depth);
    for (int64_t row = 0; row < rows; row += ROWS_1) {
        float sums[HIGH_1][WIDE_1];
        tile_1(f, slices, depth, sums);
        if (row + ROWS_1 < rows)
            begin_1(f, t_first, slices, row + ROWS_1, rows, column, columns, depth);
        if (row + ROWS_1 <= rows && column + COLUMNS_1 <= columns)
            take_1<1>(row, rows, largest_1, sum_1, sums);
        else
            take_1<0>(row, rows, largest_1, sum_1, sums);
    }
    finish_1(own, t_first, slices, column, columns, largest_1, sum_1);
}

/* out[] = mean[t](tmp1[t] - sum[h](X[t,h] * W[y[t],h])) */
INLINE void step_2_at(const Frame *f, char *own, int64_t t_first, int64_t t_end, int64_t part, int first_unit,
        const Team team)
{
    const int64_t extent_h_2 = f->extent_h_2;
    const f32u *X = (const f32u *)f->in.X.data;
    const int64_t X_0 = f->in.X.stride[0], X_1 = f->in.X.stride[1];
    const f32u *W = (const f32u *)f->in.W.data;
    const int64_t W_0 = f->in.W.stride[0], W_1 = f->in.W.stride[1];
    const i64u *y = (const i64u *)f->in.y.data;
    const int64_t y_0 = f->in.y.stride[0];
    f32u *tmp1 = (f32u *)own;
    f32u *parts_sum_2_1 = (f32u *)(f->workspace + 64);
    const int64_t place = part;
    float sum = 0.0f;
    for (int64_t t = t_first; t < t_end; t++) {
        float sum_2[4];
        for (int chain = 0; chain < 4; chain++)
            sum_2[chain] = 0.0f;
        int64_t h_at = team.rank;
        const int64_t y_at = y[t * y_0];
        for (; h_at + 3 * team.size < extent_h_2; h_at += 4 * team.size) {
            UNROLL
            for (int chain = 0; chain < 4; chain++) {
                const int64_t h = h_at + chain * team.size;
                float found = 0.0f;
                if (is_inside(y_at, f->in.W.shape[0]))
                    found = W[y_at * W_0 + h * W_1];
                else
                    FAIL(f, OUT_OF_RANGE - 7);
                sum_2[chain] = sum_2[chain] + (X[t * X_0 + h * X_1] * found);
            }
        }
        for (; h_at < extent_h_2; h_at += team.size) {
            float found_2 = 0.0f;
            if (is_inside(y_at, f->in.W.shape[0]))
                found_2 = W[y_at * W_0 + h_at * W_1];
            else
                FAIL(f, OUT_OF_RANGE - 7);
            sum_2[0] = sum_2[0] + (X[t * X_0 + h_at * X_1] * found_2);
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
        sum = sum + (tmp1[(t - t_first)] - sum_2[0]);
    }
    if (!first_unit) {
        float sum_before = parts_sum_2_1[place];
        sum_before = sum_before + sum;
        sum = sum_before;
    }
    team_wait(team);
    if (team.rank == 0) {
        parts_sum_2_1[place] = sum;
    }
}

INLINE void step_2(const Frame *f, char *own, int64_t t_first, int64_t t_end, int64_t part, int first_unit)
{
    const int64_t points = 1;
    const Team team = team_of(points);
    UNROLL_NOT
    for (int64_t point = team.number; point < points; point += team.count) {
        step_2_at(f, own, t_first, t_end, part, first_unit, team);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) cross_entropy_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    char *own = f->workspace + f->shared + blockIdx.x * f->per_worker;
    const int64_t extent_t_3 = f->extent_t_3, tile_1_1 = f->tile_1_1;
    for (unsigned task = blockIdx.x; task < (unsigned)f->tasks_1; task += gridDim.x) {
        const int64_t part = task;
        const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
        for (int64_t unit = task * f->grain_1; unit < units_end; unit++) {
            const int64_t t_first = unit * tile_1_1, t_end = size_min(t_first + tile_1_1, extent_t_3);
            const int first_unit = unit == task * f->grain_1;
            step_1(f, own, t_first, t_end);
            __syncthreads();
            step_2(f, own, t_first, t_end, part, first_unit);
            __syncthreads();
        }
    }
}

/* the parts, in order */
INLINE void merge_2_at(const Frame *f)
{
    const int64_t extent_t_3 = f->extent_t_3;
    f32u *out = (f32u *)f->in.out.data;
    f32u *parts_sum_2_1 = (f32u *)(f->workspace + 64);
    float sum = 0.0f;
    UNROLL_MUCH
    for (int64_t part = 0; part < f->tasks_1; part++) {
        const int64_t place = part;
        sum = sum + parts_sum_2_1[place];
    }
    const float mean = sum / ((float)extent_t_3);
    out[0] = mean;
}

INLINE void merge_2(const Frame *f)
{
    const int64_t points = 1;
    UNROLL_NOT
    for (int64_t point = (int64_t)blockIdx.x * THREADS + threadIdx.x; point < points; point
            += (int64_t)gridDim.x * THREADS) {
        merge_2_at(f);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) cross_entropy_merge_2(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    merge_2(f);
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const cross_entropy_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.X.shape, f->in.X.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.W.shape, f->in.W.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.y.shape, f->in.y.stride, 1))
        return BAD_SHAPES;
    const int64_t extent_t = f->extent_t = f->in.X.shape[0];
    const int64_t extent_h = f->extent_h = meet(f->in.X.shape[1], f->in.W.shape[1]);
    if (extent_h < 0)
        return BAD_SHAPES;
    f->extent_v = f->in.W.shape[0];
    const int64_t extent_t_2 = f->extent_t_2 = meet(f->in.X.shape[0], f->in.y.shape[0]);
    if (extent_t_2 < 0)
        return BAD_SHAPES;
    const int64_t extent_h_2 = f->extent_h_2 = meet(f->in.X.shape[1], f->in.W.shape[1]);
    if (extent_h_2 < 0)
        return BAD_SHAPES;
    const int64_t extent_t_3 = f->extent_t_3 = extent_t;
    if (extent_t_2 != extent_t_3)
        return BAD_SHAPES;
    const int64_t parts_2 = f->parts_2 = size_min(extent_t_3, 1024);
    f->shared = size_add(64, size_align(size_mul(parts_2, 4), 64));
    const int64_t tile_1_1 = f->tile_1_1 = size_min(32, extent_t_3);
    f->units_1 = size_ceil_div(extent_t_3, tile_1_1);
    f->per_worker = size_align(size_mul(tile_1_1, 4), 64);
    f->grain_1 = size_max(size_ceil_div(f->units_1, parts_2), 1);
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

int cross_entropy_workspace(const cross_entropy_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int cross_entropy(const cross_entropy_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.X.data % 4 || (uintptr_t)f->in.W.data % 4 || (uintptr_t)f->in.y.data % 8
            || (uintptr_t)f->in.out.data % 4)
        return BAD_ARGUMENT;
    if (cudaMemsetAsync(f->workspace, 0, (size_t)4, (cudaStream_t)stream) != cudaSuccess)
        return BAD_MACHINE;
    if (launch(cross_entropy_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    if (launch(cross_entropy_merge_2, f, 1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int cross_entropy_status(const void *workspace, void *stream)
{
    int status = 0;
    if (cudaMemcpyAsync(&status, workspace, sizeof status, cudaMemcpyDeviceToHost, (cudaStream_t)stream) != cudaSuccess)
        return BAD_MACHINE;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
