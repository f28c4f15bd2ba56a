/* einc compile 'bhqd:bf16,bhkd:bf16->bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bhkv:bf16 -> bhqv' --target cuda:sm_90a -d b=2,h=4,q=128,k=128,d=64,v=64 -o narrow_attention.cu --header narrow_attention.h
 *
 *     bhqd:bf16, bhkd:bf16 -> bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | _ * bhkv:bf16 -> bhqv
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of b: 1, block of h: 1, block of q: tile_1_3 = min(64, q)
 *   step 1: store tmp1[b,h,q,k] = where(@q >= @k, sum[d](A[b,h,q,d] * B[b,h,k,d]) * 0.125, -(inf))
 *     tiles of 64 x 32: rows q, columns k, contracted d, 32 at a time in shared memory, 2 x 8 sums of a thread,
 *             on tensor cores
 *     loops b h q k, 32 lanes along k
 *   step 2: store tmp2[b,h,q] = max[k](where(@q >= @k, tmp1[b,h,q,k], -(inf)))
 *     loops b h q, 32 lanes along k
 *   step 3: store tmp3[b,h,q,k] = where(@q >= @k, where(tmp2[b,h,q] == -inf, 0, exp(tmp1[b,h,q,k] - tmp2[b,h,q])), 0)
 *     loops b h q k, 32 lanes along k
 *   step 4: store tmp4[b,h,q] = sum[k](where(@q >= @k, tmp3[b,h,q,k], 0))
 *     loops b h q, 32 lanes along k
 *   step 5: store out[b,h,q,v] = sum[k](tmp3[b,h,q,k] * C[b,h,k,v]) / where(tmp4[b,h,q] == 0, 1, tmp4[b,h,q])
 *     tiles of 64 x 64: rows q, columns v, contracted k, 32 at a time in shared memory, 2 x 16 sums of a thread,
 *             on tensor cores
 *     loops b h q v, 32 lanes along v
 * tmp1: in registers
 * tmp2: in registers
 * tmp3: in registers
 * tmp4: in registers
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

#ifndef NARROW_ATTENTION_H
#define NARROW_ATTENTION_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct narrow_attention_args {
    struct {    /* input, bf16 */
        const uint16_t *data;
        int64_t shape[4], stride[4];
    } A;
    struct {    /* input, bf16 */
        const uint16_t *data;
        int64_t shape[4], stride[4];
    } B;
    struct {    /* input, bf16 */
        const uint16_t *data;
        int64_t shape[4], stride[4];
    } C;
    struct {    /* output, f32[b,h,q,v] */
        float *data;
        int64_t shape[4], stride[4];
    } out;
} narrow_attention_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that narrow_attention() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int narrow_attention_workspace(const narrow_attention_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int narrow_attention(const narrow_attention_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int narrow_attention_status(const void *workspace, void *stream);
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

#define UNROLL_NOT _Pragma("unroll 1")

/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED

typedef uint16_t bf16u UNALIGNED;

typedef float f32u UNALIGNED;

INLINE uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

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

/* What the lane has whose number differs in one bit. */
INLINE float other_f32(float x, int apart)
{
    return __shfl_xor_sync(0xFFFFFFFF, x, apart);
}

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
/* Four matrices of 8 lines by 16 bytes from shared memory: lanes 8 * m to 8 * m + 7 say where the lines of the m-th begin, and
 * each lane gets word lane % 4 of line lane / 4 of all. */
INLINE void load_matrices(uint32_t words[4], const void *line)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"((unsigned)__cvta_generic_to_shared(line)) : "memory");
}
#endif

#ifndef EINC_MODEL
/* The same of numbers of 16 bits, with each matrix turned: a lane gets numbers 2 * (lane % 4) and the next of column lane / 4. */
INLINE void load_matrices_turned(uint32_t words[4], const void *line)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"((unsigned)__cvta_generic_to_shared(line)) : "memory");
}
#endif

/* The first 16 bits of two numbers; these become what is left of them. Three times, and nothing is. */
INLINE uint32_t part_bf16(float *first, float *second)
{
    const uint32_t bits[2] = { bits_f32(*first), bits_f32(*second) };
    const uint32_t part[2] = { bits[0] & 0xFFFF0000, bits[1] & 0xFFFF0000 };
    *first = bits[0] == part[0] ? 0 : *first - from_bits_f32(part[0]);
    *second = bits[1] == part[1] ? 0 : *second - from_bits_f32(part[1]);
    return part[0] >> 16 | part[1];
}

/* Two numbers, with zeros for those that are infinite or none. */
INLINE uint32_t finite_bf16(uint32_t pair)
{
    const uint32_t odd = ((pair & 0x7F807F80) + 0x00800080) & 0x80008000;
    return odd ? pair & ~((odd >> 15) * 0xFFFF) : pair;
}

#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. */
INLINE void mma_bf16(float *sums, float *below, const uint32_t left[4], const uint32_t right[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    narrow_attention_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_b;
    int64_t extent_h;
    int64_t extent_q;
    int64_t extent_d;
    int64_t extent_k;
    int64_t extent_v;
    int64_t tile_1_3;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int64_t shared;
    int64_t per_worker;
    char *workspace;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* Shared memory of a block, which its products use one after the other. */
__shared__ __align__(16) char block_memory[23584];

/* tmp1[b,h,q,k] = where(@q >= @k, sum[d](A[b,h,q,d] * B[b,h,k,d]) * 0.125, -(inf)) */
CONSTANTS(ROWS_1 = 64, COLUMNS_1 = 32, DEPTH_1 = 32, STAGES_1 = 3, HIGH_1 = 2, WIDE_1 = 8);
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
CONSTANTS(CHUNK_1 = 16 / sizeof(bf16u), CHUNKS_1 = DEPTH_1 / CHUNK_1);

/* What the block has in shared memory: some slices of both operands, and where in its array each row and each column begins. */
typedef struct __align__(16) Slices_1 {
    bf16u rows[STAGES_1][ROWS_1][DEPTH_1], columns[STAGES_1][COLUMNS_1][DEPTH_1];
    int64_t rows_at[ROWS_1], columns_at[COLUMNS_1];
} Slices_1;

/* Where a chunk of a line is: 8 of them have all banks, so each 8 chunks' lines have them in another order. */
INLINE int chunk_1(int line, int chunk)
{
    return (chunk ^ (line * CHUNKS_1 / 8 & (CHUNKS_1 - 1))) * CHUNK_1;
}

/* Adds the products of a slice; points that are not there are zeros. */
INLINE void multiply_1(const Slices_1 *slices, int stage, int64_t points, float sums[HIGH_1][WIDE_1])
{
    const int lane = (int)threadIdx.x % WARP;
    (void)points;
    UNROLL
    for (int chunk = 0; chunk < CHUNKS_1; chunk += 2) {
        uint32_t left[HIGH_1 / 2][4], right[WIDE_1 / 4][4];
        UNROLL
        for (int r = 0; r < HIGH_1 / 2; r++) {
            const int line = warp_row_1() + r * 16 + lane % 16;
            load_matrices(left[r], slices->rows[stage][line] + chunk_1(line, chunk + lane / 16));
        }
        UNROLL
        for (int c = 0; c < WIDE_1 / 4; c++) {
            const int line = warp_column_1() + c * 16 + lane / 16 * 8 + lane % 8;
            load_matrices(right[c], slices->columns[stage][line] + chunk_1(line, chunk + lane / 8 % 2));
        }
        UNROLL
        for (int r = 0; r < HIGH_1 / 2; r++) {
            UNROLL
            for (int c = 0; c < WIDE_1 / 2; c++) {
                mma_bf16(&sums[2 * r][2 * c], &sums[2 * r + 1][2 * c], left[r], &right[c / 2][c % 2 * 2]);
            }
        }
    }
}

/* Where each row begins in its array; behind the last one its. */
INLINE void find_rows_1(const Frame *f, int64_t q_first, Slices_1 *slices, int64_t b, int64_t h, int64_t row,
        int64_t rows)
{
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    const int r = (int)threadIdx.x;
    if (r < ROWS_1) {
        const int64_t row_at = size_min(row + r, rows - 1);
        int64_t from;
        const int64_t q = q_first + row_at;
        from = b * A_0 + h * A_1 + q * A_2;
        slices->rows_at[r] = from;
    }
}

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t A_3 = f->in.A.stride[3];
    const bf16u *A = (const bf16u *)f->in.A.data;
    const bf16u *data = A;
    UNROLL_NOT
    for (int at = (int)threadIdx.x; at < ROWS_1 * CHUNKS_1; at += THREADS) {
        const int chunk = at % CHUNKS_1, r = at / CHUNKS_1;
        const int64_t point_at = point + chunk * CHUNK_1, from = slices->rows_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_1);
        bf16u *to = slices->rows[stage][r] + chunk_1(r, chunk);
        if (count > 0) {
            const int64_t d = point_at;
            const int64_t offset = d * A_3;
            const int is_line = A_3 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(bf16u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_1; next++) {
            const int64_t next_at = point_at + next;
            bf16u value = 0;
            if (next < count) {
                const int64_t d = next_at;
                value = data[from + d * A_3];
            }
            to[next] = value;
        }
    }
}

/* Where each column begins in its array; behind the last one its. */
INLINE void find_columns_1(const Frame *f, Slices_1 *slices, int64_t b, int64_t h, int64_t column, int64_t columns)
{
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        const int64_t k = column_at;
        from = b * B_0 + h * B_1 + k * B_2;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t B_3 = f->in.B.stride[3];
    const bf16u *B = (const bf16u *)f->in.B.data;
    const bf16u *data = B;
    UNROLL_NOT
    for (int at = (int)threadIdx.x; at < COLUMNS_1 * CHUNKS_1; at += THREADS) {
        const int chunk = at % CHUNKS_1, r = at / CHUNKS_1;
        const int64_t point_at = point + chunk * CHUNK_1, from = slices->columns_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_1);
        bf16u *to = slices->columns[stage][r] + chunk_1(r, chunk);
        if (count > 0) {
            const int64_t d = point_at;
            const int64_t offset = d * B_3;
            const int is_line = B_3 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(bf16u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_1; next++) {
            const int64_t next_at = point_at + next;
            bf16u value = 0;
            if (next < count) {
                const int64_t d = next_at;
                value = data[from + d * B_3];
            }
            to[next] = value;
        }
    }
}

CONSTANTS(ROWS_OWN_1 = ROWS_1 * CHUNKS_1 / THREADS);

/* Where those rows begin; whether one has no place, or no 16-byte chunks. */
INLINE int keep_rows_1(const Frame *f, Slices_1 *slices, const bf16u *from[ROWS_OWN_1])
{
    const bf16u *A = (const bf16u *)f->in.A.data;
    const bf16u *data = A;
    const int64_t A_3 = f->in.A.stride[3];
    int misses = !(A_3 == 1);
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_1; turn++) {
        const int64_t at = slices->rows_at[(int)threadIdx.x / CHUNKS_1 + turn * (THREADS / CHUNKS_1)];
        from[turn] = at == INT64_MIN ? data : data + at;
        misses |= at == INT64_MIN || (uint64_t)from[turn] % 16 != 0;
    }
    return misses;
}

/* These rows have their chunks in the same order. */
INLINE void copy_rows_1(Slices_1 *slices, int stage, int64_t point, const bf16u *const from[ROWS_OWN_1])
{
    const int chunk = (int)threadIdx.x % CHUNKS_1, first = (int)threadIdx.x / CHUNKS_1;
    const int64_t point_at = point + chunk * CHUNK_1;
    const int64_t offset = point_at;
    bf16u *to = slices->rows[stage][first] + chunk_1(first, chunk);
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_1; turn++)
        copy_line(to + turn * (THREADS / CHUNKS_1) * DEPTH_1, from[turn] + offset, 16);
}

CONSTANTS(COLUMNS_OWN_1 = COLUMNS_1 * CHUNKS_1 / THREADS);

/* Where those columns begin; whether one has no place, or no 16-byte chunks. */
INLINE int keep_columns_1(const Frame *f, Slices_1 *slices, const bf16u *from[COLUMNS_OWN_1])
{
    const bf16u *B = (const bf16u *)f->in.B.data;
    const bf16u *data = B;
    const int64_t B_3 = f->in.B.stride[3];
    int misses = !(B_3 == 1);
    UNROLL
    for (int turn = 0; turn < COLUMNS_OWN_1; turn++) {
        const int64_t at = slices->columns_at[(int)threadIdx.x / CHUNKS_1 + turn * (THREADS / CHUNKS_1)];
        from[turn] = at == INT64_MIN ? data : data + at;
        misses |= at == INT64_MIN || (uint64_t)from[turn] % 16 != 0;
    }
    return misses;
}

/* These columns have their chunks in the same order. */
INLINE void copy_columns_1(Slices_1 *slices, int stage, int64_t point, const bf16u *const from[COLUMNS_OWN_1])
{
    const int chunk = (int)threadIdx.x % CHUNKS_1, first = (int)threadIdx.x / CHUNKS_1;
    const int64_t point_at = point + chunk * CHUNK_1;
    const int64_t offset = point_at;
    bf16u *to = slices->columns[stage][first] + chunk_1(first, chunk);
    UNROLL
    for (int turn = 0; turn < COLUMNS_OWN_1; turn++)
        copy_line(to + turn * (THREADS / CHUNKS_1) * DEPTH_1, from[turn] + offset, 16);
}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on. */
INLINE int64_t slices_1(const Frame *f, Slices_1 *slices, int64_t depth, float sums[HIGH_1][WIDE_1])
{
    enum { AHEAD = (STAGES_1 - 1) * DEPTH_1 };
    const bf16u *rows_from[ROWS_OWN_1], *columns_from[COLUMNS_OWN_1];
    const int count = depth < AHEAD ? 0 : (int)size_min((depth - AHEAD) / DEPTH_1, INT32_MAX);
    if (count == 0)
        return 0;
    const int misses = keep_rows_1(f, slices, rows_from) | keep_columns_1(f, slices, columns_from);
    if (__syncthreads_or(misses))
        return 0;
    for (int slice = 0, now = 0; slice < count; slice++) {
        const int stage = now > 0 ? now - 1 : STAGES_1 - 1;
        const int64_t point = (int64_t)slice * DEPTH_1 + AHEAD;
        copies_wait<STAGES_1 - 2>();
        __syncthreads();
        multiply_1(slices, now, DEPTH_1, sums);
        copy_rows_1(slices, stage, point, rows_from);
        copy_columns_1(slices, stage, point, columns_from);
        copies_end();
        now = now + 1 < STAGES_1 ? now + 1 : 0;
    }
    return (int64_t)count * DEPTH_1;
}

/* Begins to copy the first slices of the tile from a row and a column on. */
INLINE void begin_1(const Frame *f, int64_t q_first, Slices_1 *slices, int64_t b, int64_t h, int64_t row,
        int64_t rows, int64_t column, int64_t columns, int64_t depth)
{
    find_rows_1(f, q_first, slices, b, h, row, rows);
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




/* out[b,h,q,v] = sum[k](tmp3[b,h,q,k] * C[b,h,k,v]) / where(tmp4[b,h,q] == 0, 1, tmp4[b,h,q]) */
CONSTANTS(COLUMNS_5 = COLUMNS_1, DEPTH_5 = 64, HIGH_5 = HIGH_1, WIDE_5 = 16, FACTORS_5 = WIDE_1, LANES_5 = LANES_1,
        PARTS_5 = 3);
CONSTANTS(LINES_5 = COLUMNS_5, CHUNK_5 = 16 / sizeof(bf16u), CHUNKS_5 = DEPTH_5 / CHUNK_5);
/* A line of 8 chunks has all banks: so many lines do, and so many have their chunks in different orders. */
CONSTANTS(LINES_OF_BANKS_5 = CHUNKS_5 < 8 ? 8 / CHUNKS_5 : 1, ORDERS_5 = CHUNKS_5 < 8 ? CHUNKS_5 : 8);

/* What the block has of the values in shared memory, and where in its array each line begins. */
typedef struct __align__(16) Slices_5 {
    bf16u columns[1][COLUMNS_5][DEPTH_5];
    int64_t columns_at[COLUMNS_5];
} Slices_5;

/* Where a chunk of a line is. */
INLINE int chunk_5(int line, int chunk)
{
    return (chunk ^ (line / LINES_OF_BANKS_5 & (ORDERS_5 - 1))) * CHUNK_5;
}

/* Which of the tile's values is a thread's c-th. */
INLINE int value_5(int c)
{
    return c / 2 * 8 + (int)threadIdx.x % LANES_5 * 2 + c % 2;
}

/* Adds the products of factors and values; those of columns that are not there are zeros. */
INLINE void multiply_values_5(const Slices_5 *slices, int64_t points, float factors[HIGH_5][FACTORS_5],
        float products[HIGH_5][WIDE_5])
{
    const int lane = (int)threadIdx.x % WARP;
    (void)points;
    UNROLL
    for (int k = 0; k < LINES_5 / 16; k++) {
        uint32_t left[PARTS_5][HIGH_5 / 2][4];
        UNROLL
        for (int r = 0; r < HIGH_5 / 2; r++) {
            UNROLL
            for (int word = 0; word < 4; word++) {
                float *pair = &factors[2 * r + word % 2][4 * k + word / 2 * 2];
                UNROLL
                for (int part = 0; part < PARTS_5; part++)
                    left[part][r][word] = part_bf16(&pair[0], &pair[1]);
            }
        }
        UNROLL
        for (int c = 0; c < WIDE_5 / 4; c++) {
            uint32_t right[4], finite[4];
            const int line = 16 * k + lane % 16;
            load_matrices_turned(right, slices->columns[0][line] + chunk_5(line, 2 * c + lane / 16));
            UNROLL
            for (int word = 0; word < 4; word++)
                finite[word] = finite_bf16(right[word]);
            UNROLL
            for (int part = PARTS_5 - 1; part >= 0; part--) {
                const uint32_t *numbers = part > 0 ? finite : right;
                UNROLL
                for (int r = 0; r < HIGH_5 / 2; r++) {
                    mma_bf16(&products[2 * r][4 * c], &products[2 * r + 1][4 * c], left[part][r], numbers);
                    mma_bf16(&products[2 * r][4 * c + 2], &products[2 * r + 1][4 * c + 2], left[part][r], numbers
                            + 2);
                }
            }
        }
    }
}

/* Where each column begins in its array; INT64_MIN for those that are not there. */
INLINE void find_columns_5(const Frame *f, Slices_5 *slices, int64_t b, int64_t h, int64_t column, int64_t columns)
{
    const int64_t C_0 = f->in.C.stride[0], C_1 = f->in.C.stride[1];
    const int64_t C_2 = f->in.C.stride[2];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_5) {
        const int64_t column_at = column + c;
        int64_t from = INT64_MIN;
        if (column_at < columns) {
            const int64_t k = column_at;
            from = b * C_0 + h * C_1 + k * C_2;
        }
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_columns_5(const Frame *f, Slices_5 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t C_3 = f->in.C.stride[3];
    const bf16u *C = (const bf16u *)f->in.C.data;
    const bf16u *data = C;
    UNROLL_TWICE
    for (int at = (int)threadIdx.x; at < COLUMNS_5 * CHUNKS_5; at += THREADS) {
        const int chunk = at % CHUNKS_5, r = at / CHUNKS_5;
        const int64_t point_at = point + chunk * CHUNK_5, from = slices->columns_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_5);
        bf16u *to = slices->columns[stage][r] + chunk_5(r, chunk);
        if (count > 0) {
            const int64_t v = point_at;
            const int64_t offset = v * C_3;
            const int is_line = C_3 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(bf16u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_5; next++) {
            const int64_t next_at = point_at + next;
            bf16u value = 0;
            if (next < count) {
                const int64_t v = next_at;
                value = data[from + v * C_3];
            }
            to[next] = value;
        }
    }
}

/* Whether somebody asks for a sum of the tile. */
INLINE int meet_1(int64_t q_first, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    int is_met = 0;
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = row + row_1(r);
        if (row_at >= rows)
            break;
        const int64_t q = q_first + row_at;
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const int64_t column_at = column + column_1(c);
            if (column_at >= columns)
                break;
            const int64_t k = column_at;
            const int value_2 = q >= k;
            is_met |= value_2;
        }
    }
    return __syncthreads_or(is_met);
}

/* Whether some value in the tile is infinite or none, so that its product with 0 is not 0. All threads have the same answer. */
INLINE int is_odd_5(const Slices_5 *slices)
{
    int is_odd = 0;
    copies_wait<0>();
    __syncthreads();
    for (int at = (int)threadIdx.x; at < COLUMNS_5 * DEPTH_5; at += THREADS) {
        is_odd |= (slices->columns[0][at / DEPTH_5][at % DEPTH_5] & 0x7F80) == 0x7F80;
    }
    return __syncthreads_or(is_odd);
}

/* tmp1[b,h,q,k] = where(@q >= @k, sum[d](A[b,h,q,d] * B[b,h,k,d]) * 0.125, -(inf)) */
INLINE void map_1(int64_t q_first, int64_t row, int64_t rows, int64_t column, int64_t columns,
        float sums[HIGH_1][WIDE_1])
{
    const float cast_of = -INFINITY;
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int64_t row_at = size_min(row + row_1(r), rows - 1);
        const int64_t q = q_first + row_at;
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            const int64_t column_at = size_min(column + column_1(c), columns - 1);
            const int64_t k = column_at;
            const int value_2 = q >= k;
            float chosen;
            if (value_2) {
                chosen = sums[r][c] * 0.125f;
            } else {
                chosen = cast_of;
            }
            sums[r][c] = column_1(c) < columns - column ? chosen : -INFINITY;
        }
    }
}

/* tmp2[b,h,q] = max[k](where(@q >= @k, tmp1[b,h,q,k], -(inf))) */
INLINE void take_2(float *largest_2, float *sum_4, float sums[HIGH_1][WIDE_1], float products[HIGH_1][WIDE_5])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const float before = largest_2[r];
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            largest_2[r] = max_f32(largest_2[r], sums[r][c]);
        }
        for (int apart = 1; apart < LANES_1; apart *= 2)
            largest_2[r] = max_f32(largest_2[r], other_f32(largest_2[r], apart));
        const float factor = before == largest_2[r] ? 1.0f : exp_f32(before - largest_2[r]);
        sum_4[r] *= factor;
        UNROLL
        for (int c = 0; c < WIDE_5; c++)
            products[r][c] *= factor;
    }
}

/* tmp3[b,h,q,k] = where(@q >= @k, where(tmp2[b,h,q] == -inf, 0, exp(tmp1[b,h,q,k] - tmp2[b,h,q])), 0) */
INLINE void map_3(float *largest_2, float sums[HIGH_1][WIDE_1])
{
    const float cast_of = -INFINITY;
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        const int value_2 = largest_2[r] == cast_of;
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            sums[r][c] = value_2 ? 0.0f : exp_f32(sums[r][c] - largest_2[r]);
        }
    }
}

/* tmp4[b,h,q] = sum[k](where(@q >= @k, tmp3[b,h,q,k], 0)) */
INLINE void take_4(float *sum_4, float sums[HIGH_1][WIDE_1])
{
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        UNROLL
        for (int c = 0; c < WIDE_1; c++) {
            sum_4[r] = sum_4[r] + sums[r][c];
        }
    }
}

/* The rows' threads merge what they found, and store what comes of it. */
INLINE void finish_5(const Frame *f, int64_t q_first, int64_t b, int64_t h, int64_t row, int64_t rows, int64_t value,
        int64_t values, float *sum_4, float products[HIGH_1][WIDE_5])
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2], out_3 = f->in.out.stride[3];
    UNROLL
    for (int r = 0; r < HIGH_1; r++) {
        for (int apart = 1; apart < LANES_1; apart *= 2)
            sum_4[r] = sum_4[r] + other_f32(sum_4[r], apart);
        const int64_t row_at = size_min(row + row_1(r), rows - 1);
        const int64_t q = q_first + row_at;
        const int value_2 = sum_4[r] == 0.0f;
        const float chosen = value_2 ? 1.0f : sum_4[r];
        UNROLL
        for (int c = 0; c < WIDE_5; c++) {
            const int64_t value_at = value + value_5(c);
            if (row + row_1(r) >= rows || value_at >= values)
                break;
            const int64_t v = value_at;
            out[b * out_0 + h * out_1 + q * out_2 + v * out_3] = products[r][c] / chosen;
        }
    }
}


/* Some rows, and some of the values. */
INLINE void pass_5(const Frame *f, int64_t q_first, Slices_1 *slices, int64_t b, int64_t h, int64_t row, int64_t rows,
        int64_t columns, int64_t depth, Slices_5 *behind, int64_t value, int64_t values)
{
    float products[HIGH_5][WIDE_5];
    UNROLL
    for (int r = 0; r < HIGH_5; r++) {
        UNROLL
        for (int c = 0; c < WIDE_5; c++)
            products[r][c] = 0.0f;
    }
    float largest_2[HIGH_5], sum_4[HIGH_5];
    UNROLL
    for (int r = 0; r < HIGH_5; r++) {
        largest_2[r] = -INFINITY;
        sum_4[r] = 0.0f;
    }
    for (int64_t column = 0; column < columns; column += LINES_5) {
        find_columns_5(f, behind, b, h, column, columns);
        find_columns_1(f, slices, b, h, column, columns);
        __syncthreads();
        fetch_columns_5(f, behind, 0, value, values);
        copies_end();
        if (!meet_1(q_first, row, rows, column, columns) && !is_odd_5(behind))
            continue;
        float sums[HIGH_1][WIDE_1];
        begin_1(f, q_first, slices, b, h, row, rows, column, columns, depth);
        tile_1(f, slices, depth, sums);
        map_1(q_first, row, rows, column, columns, sums);
        take_2(largest_2, sum_4, sums, products);
        map_3(largest_2, sums);
        take_4(sum_4, sums);
        copies_wait<0>();
        __syncthreads();
        multiply_values_5(behind, columns - column, sums, products);
    }
    finish_5(f, q_first, b, h, row, rows, value, values, sum_4, products);
}

/* The steps for one unit of work. */
INLINE void step_5(const Frame *f, int64_t b_first, int64_t b_end, int64_t h_first, int64_t h_end, int64_t q_first,
        int64_t q_end)
{
    const int64_t extent_d = f->extent_d, extent_k = f->extent_k;
    const int64_t extent_v = f->extent_v;
    Slices_1 *slices = (Slices_1 *)block_memory;
    Slices_5 *behind = (Slices_5 *)(slices + 1);
    const int64_t columns = extent_k, depth = extent_d;
    const int64_t values = extent_v;
    for (int64_t b = b_first; b < b_end; b++) {
        for (int64_t h = h_first; h < h_end; h++) {
            const int64_t rows = q_end - q_first;
            for (int64_t row = 0; row < rows; row += ROWS_1) {
                for (int64_t value = 0; value < values; value += DEPTH_5)
                    pass_5(f, q_first, slices, b, h, row, rows, columns, depth, behind, value, values);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) narrow_attention_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_h = f->extent_h, extent_q = f->extent_q;
    const int64_t tile_1_3 = f->tile_1_3;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        int64_t rest = unit;
        const int64_t q_tiles = size_max(size_ceil_div(extent_q, tile_1_3), 1);
        const int64_t q_first = rest % q_tiles * tile_1_3, q_end = size_min(q_first + tile_1_3, extent_q);
        rest /= q_tiles;
        const int64_t h_first = rest % extent_h, h_end = h_first + 1;
        rest /= size_max(extent_h, 1);
        const int64_t b_first = rest, b_end = b_first + 1;
        step_5(f, b_first, b_end, h_first, h_end, q_first, q_end);
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const narrow_attention_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 4))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 4))
        return BAD_SHAPES;
    if (!settle(f->in.C.shape, f->in.C.stride, 4))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 4))
        return BAD_SHAPES;
    const int64_t extent_b = f->extent_b = meet(meet(f->in.A.shape[0], f->in.B.shape[0]), f->in.C.shape[0]);
    if (extent_b < 0)
        return BAD_SHAPES;
    const int64_t extent_h = f->extent_h = meet(meet(f->in.A.shape[1], f->in.B.shape[1]), f->in.C.shape[1]);
    if (extent_h < 0)
        return BAD_SHAPES;
    const int64_t extent_q = f->extent_q = f->in.A.shape[2];
    const int64_t extent_d = f->extent_d = meet(f->in.A.shape[3], f->in.B.shape[3]);
    if (extent_d < 0)
        return BAD_SHAPES;
    const int64_t extent_k = f->extent_k = meet(f->in.B.shape[2], f->in.C.shape[2]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_v = f->extent_v = f->in.C.shape[3];
    if (f->in.out.shape[0] != extent_b || f->in.out.shape[1] != extent_h || f->in.out.shape[2] != extent_q
            || f->in.out.shape[3] != extent_v)
        return BAD_SHAPES;
    const int64_t tile_1_3 = f->tile_1_3 = size_min(64, extent_q);
    f->units_1 = size_mul(size_mul(extent_b, extent_h), size_ceil_div(extent_q, tile_1_3));
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

int narrow_attention_workspace(const narrow_attention_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int narrow_attention(const narrow_attention_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.A.data % 2 || (uintptr_t)f->in.B.data % 2 || (uintptr_t)f->in.C.data % 2
            || (uintptr_t)f->in.out.data % 4)
        return BAD_ARGUMENT;
    if (launch(narrow_attention_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int narrow_attention_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
