/* einc compile 'Q[i,j,k]:bf16, D[m,n,k]:bf16 -> [i,j,m,n] | max n | sum j' --target cuda:sm_90a -o narrow_maxsim.cu --header narrow_maxsim.h
 *
 *     Q[i,j,k]:bf16, D[m,n,k]:bf16 -> ijmn | max n | sum j
 *
 * target cuda:sm_90a, 32 lanes
 * launch 1: block of i: 1, block of j: tile_1_2 = min(64, j), block of m: 1
 *   step 1: store tmp1[i,j,m] = max[n](sum[k](Q[i,j,k] * D[m,n,k]))
 *     tiles of 128 x 64: rows n, columns i j, contracted k, 32 at a time in shared memory, 8 x 8 sums of a thread,
 *             on tensor cores
 *     loops i m j, 32 lanes along j
 *   where tensor maps describe both sides: tiles of 256 x 128 in a ring of 6 stages, rows kept,
 *           multiplied by groups of four warps
 * launch 2: block of i: tile_2_1 = min(ceil(points_2 / tile_2_2), i), block of m: tile_2_2 = min(points_2, m)
 *   step 2: store out[i,m] = sum[j](tmp1[i,j,m])
 *     loops i m, 32 lanes along j
 * tmp1: whole, row_tmp1 * m * 4 bytes
 * workspace align(row_tmp1 * m * 4, 64) */
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

#ifndef NARROW_MAXSIM_H
#define NARROW_MAXSIM_H
#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0
 * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct narrow_maxsim_args {
    struct {    /* input Q, bf16 */
        const uint16_t *data;
        int64_t shape[3], stride[3];
    } Q;
    struct {    /* input D, bf16 */
        const uint16_t *data;
        int64_t shape[3], stride[3];
    } D;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} narrow_maxsim_args;

#ifndef __CUDACC_RTC__
/* The bytes of workspace, on the device, that narrow_maxsim() wants for these shapes and so many blocks of threads at once. 0, or why
 * not. */
int narrow_maxsim_workspace(const narrow_maxsim_args *args, int workers, size_t *bytes);

/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one
 * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not
 * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */
int narrow_maxsim(const narrow_maxsim_args *args, void *workspace, size_t bytes, void *stream);

/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a
 * position out of range (outputs are then undefined). */
int narrow_maxsim_status(const void *workspace, void *stream);
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

typedef uint16_t bf16u UNALIGNED;

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
/* Adds to two sums of one row and two of the row 8 further on. */
INLINE void mma_bf16(float *sums, float *below, const uint32_t left[4], const uint32_t right[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif

/* Whether this is compiled for sm_90a: text for all devices of compute capability 9.0 has no groups of warps that multiply. */
#if defined __CUDA_ARCH__ && !defined __CUDA_ARCH_FEAT_SM90_ALL
#define IS_SM_90A 0
#else
#define IS_SM_90A 1
#endif

/* Where an array is and which tiles are copied from it: a CUtensorMap, which the driver makes. */
typedef struct __align__(128) TensorMap {
    uint64_t words[16];
} TensorMap;

/* In shared memory: counts threads that arrive and bytes that are copied; when all are there its next phase begins. */
typedef uint64_t Barrier;

/* Where in a ring of stages, and in which phase its barriers are: 0 and 1 in turn, as often as it has come round. */
typedef struct Turn {
    int stage, phase;
} Turn;

#ifndef EINC_MODEL
/* A phase ends when so many have arrived. */
INLINE void barrier_init(Barrier *barrier, int count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(count) : "memory");
}
#endif

#ifndef EINC_MODEL
/* Copies, too, see the barriers that this thread has made. */
INLINE void barriers_ready(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
#endif

#ifndef EINC_MODEL
/* Arrives; the phase waits for so many bytes more. */
INLINE void barrier_expect(Barrier *barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(bytes) : "memory");
}
#endif

#ifndef EINC_MODEL
INLINE void barrier_arrive(Barrier *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"((unsigned)__cvta_generic_to_shared(barrier)) : "memory");
}
#endif

#ifndef EINC_MODEL
/* Until a phase has ended: of a new barrier that of 1 has. */
INLINE void barrier_wait(Barrier *barrier, int phase)
{
    asm volatile("{\n"
                 ".reg .pred ended;\n"
                 "AGAIN_%=:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
                 "@!ended bra AGAIN_%=;\n"
                 "}" :: "r"((unsigned)__cvta_generic_to_shared(barrier)), "r"(phase) : "memory");
}
#endif

#ifndef EINC_MODEL
/* Begins to copy a tile, at these places of the map's three axes; what lies outside of the array are zeros. The barrier counts its bytes. */
INLINE void load_tile_3(void *to, const TensorMap *map, Barrier *barrier, int64_t x, int64_t y, int64_t z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"((unsigned)__cvta_generic_to_shared(barrier)),
                    "r"((int)x), "r"((int)y), "r"((int)z) : "memory");
}
#endif

#ifndef EINC_MODEL
/* The group of four warps has so many registers a thread from here on, a multiple of 8; */
template <int COUNT>
INLINE void registers_fewer(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(COUNT));
}
#endif

#ifndef EINC_MODEL
/* and waits here until others have given them back. */
template <int COUNT>
INLINE void registers_more(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(COUNT));
}
#endif

#ifndef EINC_MODEL
/* Describes a matrix whose lines of 128 bytes of contracted points lie one below the other, swizzled: in each 8 lines, which begin at
 * a multiple of 1024 bytes, line n has its 16-byte chunk c in place c ^ n. 32 bytes further on, 2 in the description, are the
 * next points. */
INLINE uint64_t matrix_of(const void *lines)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(lines), swizzle = 1, eight_lines = 1024;
    return (address & 0x3FFFF) >> 4 | (uint64_t)1 << 16 | eight_lines >> 4 << 32 | swizzle << 62;
}
#endif

#ifndef EINC_MODEL
/* The sums' registers are as the thread has left them before the products that follow. */
INLINE void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
#endif

#ifndef EINC_MODEL
/* The products since the last time are a group. */
INLINE void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#endif

#ifndef EINC_MODEL
/* All groups but the last OPEN are done. */
template <int OPEN>
INLINE void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(OPEN) : "memory");
}
#endif

#ifndef EINC_MODEL
/* What reads a sum from here on reads it behind the last wait, and not before. */
INLINE void wgmma_settle_f32(float *sum)
{
    asm volatile("" : "+f"(*sum));
}
#endif

#define SUMS_4_f32(at) "+f"(sums[at]), "+f"(sums[at + 1]), "+f"(sums[at + 2]), "+f"(sums[at + 3])

/* An axis of a tensor map: its points, how far apart they are in elements, and how many of them a tile has. */
typedef struct MapAxis {
    int64_t extent, stride, box;
} MapAxis;

#ifndef __CUDACC_RTC__
/* As the driver calls elements of 8 and of 16 bits. */
enum { MAP_U8 = 0, MAP_F16 = 6, MAP_BF16 = 9 };

typedef int EncodeTiled(TensorMap *map, int type, uint32_t rank, void *data, const uint64_t *extents, const uint64_t *strides,
                        const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);

/* The driver's function; NULL where it has none. */
static EncodeTiled *find_encode(void)
{
    static const char name[] = "cuTensorMapEncodeTiled";
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? (EncodeTiled *)function : NULL;
}

/* Whether the current device has such tensor cores. */
static int has_rings(void)
{
    int device = 0, major = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
}

/* Whether an array can be copied by a map in tiles whose lines are swizzled: its first axis without gaps, all else in steps of 16
 * bytes, upwards. Then the map is made. */
static int make_map(TensorMap *map, int type, const void *data, const MapAxis *axes, int rank)
{
    enum { STEP = 16, SWIZZLE_128 = 3, PROMOTION_256 = 3 };
    const int bytes = type == MAP_U8 ? 1 : 2;
    EncodeTiled *encode = find_encode();
    uint64_t extents[5], strides[5];
    uint32_t box[5], steps[5];
    for (int a = 0; a < rank; a++) {
        const int64_t stride = axes[a].extent == 1 ? a == 0 ? 1 : STEP : axes[a].stride;
        if (axes[a].extent < 1 || axes[a].extent > INT32_MAX || stride < 1 || (a == 0 ? stride != 1 : stride * bytes % STEP != 0))
            return 0;
        extents[a] = (uint64_t)axes[a].extent;
        strides[a] = (uint64_t)(stride * bytes);
        box[a] = (uint32_t)axes[a].box;
        steps[a] = 1;
    }
    return encode && (uintptr_t)data % STEP == 0 &&
           encode(map, type, (uint32_t)rank, (void *)data, extents, strides + 1, box, steps, 0, SWIZZLE_128, PROMOTION_256, 0) == 0;
}
#endif

#ifndef __CUDACC_RTC__
/* Starts a block for each tile, or for each multiprocessor. */
template <class F>
static int launch_ring(void (*kernel)(const F), const F *f, int64_t tiles, int threads, int bytes, cudaStream_t stream)
{
    int device = 0, processors = 0;
    void *arguments[] = { (void *)f };
    if (tiles == 0)
        return 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) != cudaSuccess)
        return 1;
    return cudaLaunchKernel(kernel, dim3((unsigned)size_min(tiles, processors)), dim3((unsigned)threads), arguments, (size_t)bytes,
                            stream) != cudaSuccess;
}
#endif

/* One call: the operands, what follows from their shapes, and the workspace. */
typedef struct Frame {
    narrow_maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t row_tmp1;
    int64_t shared;
    int64_t tile_1_2;
    int64_t units_1;
    int64_t points_2;
    int64_t tile_2_2;
    int64_t tile_2_1;
    int64_t units_2;
    int64_t j_box_1;
    int64_t i_box_1;
    int64_t i_tiles_1;
    int64_t j_tiles_1;
    int64_t ring_tiles_1;
    int64_t grain_1, tasks_1;
    int64_t grain_2, tasks_2;
    int64_t per_worker;
    char *workspace;
    TensorMap left_1, right_1;
} Frame;

/* The workspace begins with the status where positions are computed: a failure is noted, and the kernels run on. */
#define FAIL(f, code) (*(volatile int *)(f)->workspace = (code))

/* Shared memory of a block, which its products use one after the other. */
__shared__ __align__(16) char block_memory[39440];

/* A block that multiplies from a ring has more threads, in groups of four warps, and as much shared memory as its launch
 * says. */
CONSTANTS(GROUP = 4 * WARP, GROUPS = 3, RING_THREADS = GROUPS * GROUP);

#ifdef EINC_MODEL
__shared__ __align__(1024) char ring_memory[230400];
#else
extern __shared__ __align__(1024) char ring_memory[];
#endif

/* tmp1[i,j,m] = max[n](sum[k](Q[i,j,k] * D[m,n,k])) */
CONSTANTS(ROWS_1 = 128, COLUMNS_1 = 64, DEPTH_1 = 32, STAGES_1 = 3, HIGH_1 = 8, WIDE_1 = 8);
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

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_rows_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t D_2 = f->in.D.stride[2];
    const bf16u *D = (const bf16u *)f->in.D.data;
    const bf16u *data = D;
    UNROLL_NOT
    for (int at = (int)threadIdx.x; at < ROWS_1 * CHUNKS_1; at += THREADS) {
        const int chunk = at % CHUNKS_1, r = at / CHUNKS_1;
        const int64_t point_at = point + chunk * CHUNK_1, from = slices->rows_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_1);
        bf16u *to = slices->rows[stage][r] + chunk_1(r, chunk);
        if (count > 0) {
            const int64_t k = point_at;
            const int64_t offset = k * D_2;
            const int is_line = D_2 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(bf16u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_1; next++) {
            const int64_t next_at = point_at + next;
            bf16u value = 0;
            if (next < count) {
                const int64_t k = next_at;
                value = data[from + k * D_2];
            }
            to[next] = value;
        }
    }
}

/* Where each column begins in its array; behind the last one its. */
INLINE void find_columns_1(const Frame *f, int64_t i_first, int64_t j_first, int64_t j_end, Slices_1 *slices,
        int64_t column, int64_t columns)
{
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    const int c = (int)threadIdx.x;
    if (c < COLUMNS_1) {
        const int64_t column_at = size_min(column + c, columns - 1);
        int64_t from;
        int64_t column_rest = column_at;
        const int64_t j = j_first + take_index(&column_rest, j_end - j_first);
        const int64_t i = i_first + column_rest;
        from = i * Q_0 + j * Q_1;
        slices->columns_at[c] = from;
    }
}

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
INLINE void fetch_columns_1(const Frame *f, Slices_1 *slices, int stage, int64_t point, int64_t depth)
{
    const int64_t Q_2 = f->in.Q.stride[2];
    const bf16u *Q = (const bf16u *)f->in.Q.data;
    const bf16u *data = Q;
    UNROLL_NOT
    for (int at = (int)threadIdx.x; at < COLUMNS_1 * CHUNKS_1; at += THREADS) {
        const int chunk = at % CHUNKS_1, r = at / CHUNKS_1;
        const int64_t point_at = point + chunk * CHUNK_1, from = slices->columns_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_1);
        bf16u *to = slices->columns[stage][r] + chunk_1(r, chunk);
        if (count > 0) {
            const int64_t k = point_at;
            const int64_t offset = k * Q_2;
            const int is_line = Q_2 == 1;
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(bf16u));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_1; next++) {
            const int64_t next_at = point_at + next;
            bf16u value = 0;
            if (next < count) {
                const int64_t k = next_at;
                value = data[from + k * Q_2];
            }
            to[next] = value;
        }
    }
}

CONSTANTS(ROWS_OWN_1 = ROWS_1 * CHUNKS_1 / THREADS);

/* Where those rows begin; whether one has no place, or no 16-byte chunks. */
INLINE int keep_rows_1(const Frame *f, Slices_1 *slices, const bf16u *from[ROWS_OWN_1])
{
    const bf16u *D = (const bf16u *)f->in.D.data;
    const bf16u *data = D;
    const int64_t D_2 = f->in.D.stride[2];
    int misses = !(D_2 == 1);
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
    const bf16u *Q = (const bf16u *)f->in.Q.data;
    const bf16u *data = Q;
    const int64_t Q_2 = f->in.Q.stride[2];
    int misses = !(Q_2 == 1);
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
INLINE void begin_1(const Frame *f, int64_t i_first, int64_t j_first, int64_t j_end, Slices_1 *slices, int64_t m,
        int64_t row, int64_t rows, int64_t column, int64_t columns, int64_t depth)
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
INLINE void finish_1(const Frame *f, int64_t i_first, int64_t j_first, int64_t j_end, Slices_1 *slices, int64_t m,
        int64_t column, int64_t columns, float *largest_1)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *tmp1 = (f32u *)f->workspace;
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
        const int64_t j = j_first + take_index(&column_rest, j_end - j_first);
        const int64_t i = i_first + column_rest;
        float largest = states->largest_1[0][c];
        for (int warp = 1; warp < WARPS / WARPS_ACROSS_1; warp++) {
            largest = max_f32(largest, states->largest_1[warp][c]);
        }
        tmp1[i * tmp1_0 + j + m * tmp1_2] = largest;
    }
    __syncthreads();
}

/* The step for one unit of work. */
INLINE void step_1(const Frame *f, int64_t i_first, int64_t i_end, int64_t j_first, int64_t j_end, int64_t m_first,
        int64_t m_end)
{
    const int64_t extent_k = f->extent_k, extent_n = f->extent_n;
    Slices_1 *slices = (Slices_1 *)block_memory;
    const int64_t columns = (i_end - i_first) * (j_end - j_first), depth = extent_k;
    for (int64_t m = m_first; m < m_end; m++) {
        const int64_t rows = extent_n;
        for (int64_t column = 0; column < columns; column += COLUMNS_1) {
            float largest_1[WIDE_1];
            UNROLL
            for (int c = 0; c < WIDE_1; c++) {
                largest_1[c] = -INFINITY;
            }
            find_columns_1(f, i_first, j_first, j_end, slices, column, columns);
            for (int64_t row = 0; row < rows; row += ROWS_1) {
                float sums[HIGH_1][WIDE_1];
                begin_1(f, i_first, j_first, j_end, slices, m, row, rows, column, columns, depth);
                tile_1(f, slices, depth, sums);
                if (row + ROWS_1 <= rows && column + COLUMNS_1 <= columns)
                    take_1<1>(row, rows, largest_1, sums);
                else
                    take_1<0>(row, rows, largest_1, sums);
            }
            finish_1(f, i_first, j_first, j_end, slices, m, column, columns, largest_1);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) narrow_maxsim_launch_1(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_j = f->extent_j, extent_m = f->extent_m;
    const int64_t tile_1_2 = f->tile_1_2;
    for (int64_t unit = blockIdx.x; unit < f->units_1; unit += gridDim.x) {
        int64_t rest = unit;
        const int64_t m_first = rest % extent_m, m_end = m_first + 1;
        rest /= size_max(extent_m, 1);
        const int64_t j_tiles = size_max(size_ceil_div(extent_j, tile_1_2), 1);
        const int64_t j_first = rest % j_tiles * tile_1_2, j_end = size_min(j_first + tile_1_2, extent_j);
        rest /= j_tiles;
        const int64_t i_first = rest, i_end = i_first + 1;
        step_1(f, i_first, i_end, j_first, j_end, m_first, m_end);
    }
}

#ifndef EINC_MODEL
/* Begins to add products of 64 by 128 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_bf16_128(float sums[64], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, adds, 1, 1, %67, %68;\n"
                 "}"
                 : SUMS_4_f32(0), SUMS_4_f32(4), SUMS_4_f32(8), SUMS_4_f32(12),
                   SUMS_4_f32(16), SUMS_4_f32(20), SUMS_4_f32(24), SUMS_4_f32(28),
                   SUMS_4_f32(32), SUMS_4_f32(36), SUMS_4_f32(40), SUMS_4_f32(44),
                   SUMS_4_f32(48), SUMS_4_f32(52), SUMS_4_f32(56), SUMS_4_f32(60)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif

/* tmp1[i,j,m] = max[n](sum[k](Q[i,j,k] * D[m,n,k])) */
CONSTANTS(LEFT_1 = 256, RIGHT_1 = 128, SLICE_1 = 64, POINTS_1 = 16, TALL_1 = LEFT_1 / 128, SUMS_1 = RIGHT_1 / 2);
CONSTANTS(RING_STAGES_1 = 6, KEPT_1 = 2, LEFT_STAGES_1 = 2 * KEPT_1);
typedef float Sums_1[SUMS_1];

/* What the block has in shared memory: slices of both operands, 128 bytes of contracted points of each line; or, of a side whose lines
 * lie side by side, panels: SLICE points with 128 bytes of lines each, in the place of as many lines. */
typedef struct __align__(1024) Ring_1 {
    bf16u left[LEFT_STAGES_1][LEFT_1][SLICE_1], right[RING_STAGES_1][RIGHT_1][SLICE_1];
    Barrier full[RING_STAGES_1], empty[RING_STAGES_1];
    Barrier left_full[2], left_empty[2];
} Ring_1;

INLINE void begin_ring_1(Ring_1 *ring)
{
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < RING_STAGES_1; stage++) {
            barrier_init(&ring->full[stage], 1);
            barrier_init(&ring->empty[stage], (GROUPS - 1) * GROUP / WARP);
        }
        for (int kept = 0; kept < 2; kept++) {
            barrier_init(&ring->left_full[kept], 1);
            barrier_init(&ring->left_empty[kept], (GROUPS - 1) * GROUP / WARP);
        }
        barriers_ready();
    }
    __syncthreads();
}

INLINE void next_stage_1(Turn *turn)
{
    turn->stage = turn->stage + 1 < RING_STAGES_1 ? turn->stage + 1 : 0;
    turn->phase ^= turn->stage == 0;
}

/* Which line of the left side is a thread's r-th row, */
INLINE int left_line_1(int r)
{
    const int warp = ((int)threadIdx.x - GROUP) / WARP;
    return (warp / 4 * TALL_1 + r / 2) * 64 + warp % 4 * 16 + r % 2 * 8 + (int)threadIdx.x % WARP / 4;
}

/* Where a tile is: the first points that it has, and what it goes over. */
typedef struct Tile_1 {
    int64_t j_first, i_first, m, n_from, n_to;
} Tile_1;

INLINE Tile_1 find_tile_1(const Frame *f, int64_t number)
{
    const int64_t extent_n = f->extent_n, j_box_1 = f->j_box_1;
    const int64_t i_box_1 = f->i_box_1, i_tiles_1 = f->i_tiles_1;
    const int64_t j_tiles_1 = f->j_tiles_1;
    Tile_1 tile;
    int64_t rest = number;
    const int64_t j_first = tile.j_first = take_index(&rest, j_tiles_1) * j_box_1;
    const int64_t i_first = tile.i_first = take_index(&rest, i_tiles_1) * i_box_1;
    const int64_t m = tile.m = rest;
    tile.n_from = 0;
    tile.n_to = extent_n;
    return tile;
}

/* Asks for all slices of a tile's left side. */
INLINE void bring_left_1(const Frame *f, Ring_1 *ring, const Tile_1 &tile, int64_t slices, Turn *turn)
{
    const int64_t j_box_1 = f->j_box_1, i_box_1 = f->i_box_1;
    const int64_t j_first = tile.j_first;
    const int64_t i_first = tile.i_first;
    const int bytes = (int)(j_box_1 * i_box_1) * SLICE_1 * (int)sizeof(bf16u) * (int)slices;
    Barrier *full = &ring->left_full[turn->stage];
    barrier_wait(&ring->left_empty[turn->stage], turn->phase ^ 1);
    barrier_expect(full, bytes);
    for (int64_t slice = 0; slice < slices; slice++) {
        const int64_t point = slice * SLICE_1;
        load_tile_3(ring->left[turn->stage * KEPT_1 + slice], &f->left_1, full, point, j_first, i_first);
    }
    turn->stage ^= 1;
    turn->phase ^= turn->stage == 0;
}

/* These slices, from one on; */
INLINE int wait_left_1(Ring_1 *ring, const Turn *turn)
{
    barrier_wait(&ring->left_full[turn->stage], turn->phase);
    return turn->stage * KEPT_1;
}

/* and nobody multiplies these any more. */
INLINE void give_left_1(Ring_1 *ring, Turn *turn)
{
    if (threadIdx.x % WARP == 0)
        barrier_arrive(&ring->left_empty[turn->stage]);
    turn->stage ^= 1;
    turn->phase ^= turn->stage == 0;
}

/* Asks for the slices of a tile, one after the other. */
INLINE void bring_1(const Frame *f, Ring_1 *ring, const Tile_1 &tile, int64_t n_first, int64_t slices, Turn *turn)
{
    const int64_t m = tile.m;
    const int bytes = RIGHT_1 * SLICE_1 * (int)sizeof(bf16u);
    for (int64_t slice = 0; slice < slices; slice++, next_stage_1(turn)) {
        const int stage = turn->stage;
        Barrier *full = &ring->full[stage];
        barrier_wait(&ring->empty[stage], turn->phase ^ 1);
        barrier_expect(full, bytes);
        const int64_t point = slice * SLICE_1;
        load_tile_3(ring->right[stage], &f->right_1, full, point, n_first, m);
    }
}

/* Begins to multiply a slice. */
template <int IS_FIRST>
INLINE void begin_slice_1(Ring_1 *ring, int kept, int64_t slice, Sums_1 sums[TALL_1], const Turn *turn)
{
    const int first = ((int)threadIdx.x / GROUP - 1) * 64 * TALL_1, stage = turn->stage;
    barrier_wait(&ring->full[stage], turn->phase);
    const uint64_t left = matrix_of(ring->left[kept + slice][first]), right = matrix_of(ring->right[stage][0]);
    wgmma_fence();
    UNROLL
    for (int high = 0; high < TALL_1; high++) {
        UNROLL
        for (int points = 0; points < SLICE_1 / POINTS_1; points++)
            wgmma_bf16_128<0, 0>(sums[high], left + 512 * high + 2 * points, right + 2 * points, !IS_FIRST || points
                    > 0);
    }
    wgmma_commit();
}

/* The sums of the slices that are brought. While one is multiplied, the one before it is given back. The first one stands by
 * itself: ptxas before CUDA 12.9 makes products wait for each other unless it sees where sums begin (C7515). */
INLINE void multiply_slices_1(Ring_1 *ring, int kept, int64_t slices, Sums_1 sums[TALL_1], Turn *turn)
{
    const int lane = (int)threadIdx.x % WARP;
    int before = turn->stage;
    begin_slice_1<1>(ring, kept, 0, sums, turn);
    next_stage_1(turn);
    for (int64_t slice = 1; slice < slices; slice++, next_stage_1(turn)) {
        begin_slice_1<0>(ring, kept, slice, sums, turn);
        wgmma_wait<1>();
        if (lane == 0)
            barrier_arrive(&ring->empty[before]);
        before = turn->stage;
    }
    wgmma_wait<0>();
    UNROLL
    for (int at = 0; at < TALL_1 * SUMS_1; at++)
        wgmma_settle_f32(&sums[at / SUMS_1][at % SUMS_1]);
    if (lane == 0)
        barrier_arrive(&ring->empty[before]);
}

/* and which of the right side its c-th column. */
INLINE int right_line_1(int c)
{
    return c / 2 * 8 + (int)threadIdx.x % 4 * 2 + c % 2;
}

/* The first reduction takes a tile's sums. A tile that goes past the last column has an EDGE. */
template <int EDGE>
INLINE void take_sums_1(const Tile_1 &tile, int64_t n_first, const Sums_1 *sums, float *largest_1)
{
    const int64_t n_to = tile.n_to;
    const int columns = (int)size_min(n_to - n_first, RIGHT_1);
    UNROLL
    for (int r = 0; r < 2 * TALL_1; r++) {
        UNROLL
        for (int c = 0; c < RIGHT_1 / 4; c++) {
            if (EDGE && right_line_1(c) >= columns)
                continue;
            largest_1[r] = max_f32(largest_1[r], sums[r / 2][c / 2 * 4 + r % 2 * 2 + c % 2]);
        }
    }
}

/* The lanes of a row merge what they found, and one stores what comes of it. */
INLINE void finish_rows_1(const Frame *f, const Tile_1 &tile, float *largest_1)
{
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t row_tmp1 = f->row_tmp1, j_box_1 = f->j_box_1;
    const int64_t i_box_1 = f->i_box_1;
    f32u *tmp1 = (f32u *)f->workspace;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    const int64_t m = tile.m;
    const int64_t i_first = tile.i_first;
    const int64_t j_first = tile.j_first;
    UNROLL
    for (int r = 0; r < 2 * TALL_1; r++) {
        for (int apart = 2; apart > 0; apart /= 2) {
            const float later_largest = later_f32(largest_1[r], apart);
            largest_1[r] = max_f32(largest_1[r], later_largest);
        }
        const int place = left_line_1(r);
        const int64_t j = j_first + place % (int)j_box_1;
        const int64_t i = i_first + place / (int)j_box_1;
        if (threadIdx.x % 4 == 0 && place < (int)j_box_1 * (int)i_box_1 && j < extent_j && i < extent_i) {
            tmp1[i * tmp1_0 + j + m * tmp1_2] = largest_1[r];
        }
    }
}

/* The part of the thread that brings, for all tiles of the block; */
INLINE void bring_tiles_1(const Frame *f, Ring_1 *ring)
{
    const int64_t extent_k = f->extent_k, ring_tiles_1 = f->ring_tiles_1;
    const int64_t slices = size_ceil_div(extent_k, SLICE_1);
    const int64_t tiles = ring_tiles_1;
    Turn turn = { 0, 0 }, left_turn = { 0, 0 };
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile_1 tile = find_tile_1(f, number);
        bring_left_1(f, ring, tile, slices, &left_turn);
        for (int64_t n_first = tile.n_from; n_first < tile.n_to; n_first += RIGHT_1) {
            bring_1(f, ring, tile, n_first, slices, &turn);
        }
    }
}

/* and that of those that multiply. */
INLINE void multiply_tiles_1(const Frame *f, Ring_1 *ring)
{
    const int64_t extent_k = f->extent_k, ring_tiles_1 = f->ring_tiles_1;
    const int64_t slices = size_ceil_div(extent_k, SLICE_1);
    const int64_t tiles = ring_tiles_1;
    Turn turn = { 0, 0 }, left_turn = { 0, 0 };
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile_1 tile = find_tile_1(f, number);
        const int kept = wait_left_1(ring, &left_turn);
        float largest_1[2 * TALL_1];
        for (int r = 0; r < 2 * TALL_1; r++)
            largest_1[r] = -INFINITY;
        for (int64_t n_first = tile.n_from; n_first < tile.n_to; n_first += RIGHT_1) {
            Sums_1 sums[TALL_1];
            multiply_slices_1(ring, kept, slices, sums, &turn);
            if (n_first + RIGHT_1 <= tile.n_to)
                take_sums_1<0>(tile, n_first, sums, largest_1);
            else
                take_sums_1<1>(tile, n_first, sums, largest_1);
        }
        give_left_1(ring, &left_turn);
        finish_rows_1(f, tile, largest_1);
    }
}

extern "C" __global__ void __launch_bounds__(RING_THREADS,
        1) narrow_maxsim_ring_1(const __grid_constant__ Frame frame)
{
    if (!IS_SM_90A) {
        __trap();
        return;
    }
    const Frame *f = &frame;
    Ring_1 *ring = (Ring_1 *)ring_memory;
    begin_ring_1(ring);
    if (threadIdx.x < GROUP) {
        registers_fewer<40>();
        if (threadIdx.x == 0)
            bring_tiles_1(f, ring);
    } else {
        registers_more<232>();
        multiply_tiles_1(f, ring);
    }
}

/* out[i,m] = sum[j](tmp1[i,j,m]) */
INLINE void step_2_at(const Frame *f, int64_t i, int64_t m, const Team team)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    f32u *tmp1 = (f32u *)f->workspace;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    float sum[4];
    for (int chain = 0; chain < 4; chain++)
        sum[chain] = 0.0f;
    int64_t j_at = team.rank;
    for (; j_at + 3 * team.size < extent_j; j_at += 4 * team.size) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * team.size;
            sum[chain] = sum[chain] + tmp1[i * tmp1_0 + j + m * tmp1_2];
        }
    }
    for (; j_at < extent_j; j_at += team.size) {
        sum[0] = sum[0] + tmp1[i * tmp1_0 + j_at + m * tmp1_2];
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

INLINE void step_2(const Frame *f, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
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
        step_2_at(f, i, m, team);
        int64_t carry = add_index(&m_at, m_skip, m_end - m_first);
        i_at += i_skip + carry;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS,
        RESIDENT) narrow_maxsim_launch_2(const __grid_constant__ Frame frame)
{
    const Frame *f = &frame;
    const int64_t extent_i = f->extent_i, extent_m = f->extent_m;
    const int64_t tile_2_2 = f->tile_2_2, tile_2_1 = f->tile_2_1;
    for (int64_t unit = blockIdx.x; unit < f->units_2; unit += gridDim.x) {
        int64_t rest = unit;
        const int64_t m_tiles = size_max(size_ceil_div(extent_m, tile_2_2), 1);
        const int64_t m_first = rest % m_tiles * tile_2_2, m_end = size_min(m_first + tile_2_2, extent_m);
        rest /= m_tiles;
        const int64_t i_first = rest * tile_2_1, i_end = size_min(i_first + tile_2_1, extent_i);
        step_2(f, i_first, i_end, m_first, m_end);
    }
}


#ifndef __CUDACC_RTC__
/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
/* Whether tensor maps describe what step 1 multiplies: then it has them. */
static int map_step_1(Frame *f)
{
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t extent_k = f->extent_k, extent_m = f->extent_m;
    const int64_t extent_n = f->extent_n, j_box_1 = f->j_box_1;
    const int64_t i_box_1 = f->i_box_1, Q_0 = f->in.Q.stride[0];
    const int64_t Q_1 = f->in.Q.stride[1], Q_2 = f->in.Q.stride[2];
    const int64_t D_0 = f->in.D.stride[0], D_1 = f->in.D.stride[1];
    const int64_t D_2 = f->in.D.stride[2];
    const MapAxis left[] = { { extent_k, Q_2, 64 }, { extent_j, Q_1, j_box_1 }, { extent_i, Q_0, i_box_1 } };
    const MapAxis right[] = { { extent_k, D_2, 64 }, { extent_n, D_1, 128 }, { extent_m, D_0, 1 } };
    return has_rings() && extent_k <= 128 && make_map(&f->left_1, MAP_BF16, f->in.Q.data, left,
            (int)(sizeof left / sizeof *left)) &&
           make_map(&f->right_1, MAP_BF16, f->in.D.data, right, (int)(sizeof right / sizeof *right));
}

static int prepare(Frame *f, const narrow_maxsim_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.Q.shape, f->in.Q.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.D.shape, f->in.D.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.Q.shape[0];
    const int64_t extent_j = f->extent_j = f->in.Q.shape[1];
    const int64_t extent_k = f->extent_k = meet(f->in.Q.shape[2], f->in.D.shape[2]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = f->in.D.shape[0];
    const int64_t extent_n = f->extent_n = f->in.D.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_m)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_m > 0 && extent_j > 0 && extent_n < 1)
        return BAD_SHAPES;
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(size_mul(extent_j, extent_i), 15), 32),
            32), 16);
    f->shared = size_align(size_mul(size_mul(row_tmp1, extent_m), 4), 64);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(64, extent_j);
    f->units_1 = size_mul(size_mul(extent_i, size_ceil_div(extent_j, tile_1_2)), extent_m);
    const int64_t points_2 = f->points_2 = size_min(size_ceil_div(size_mul(extent_i, extent_m), 1024), 16);
    const int64_t tile_2_2 = f->tile_2_2 = size_min(points_2, extent_m);
    const int64_t tile_2_1 = f->tile_2_1 = size_min(size_ceil_div(points_2, tile_2_2), extent_i);
    f->units_2 = size_mul(size_ceil_div(extent_i, tile_2_1), size_ceil_div(extent_m, tile_2_2));
    const int64_t j_box_1 = f->j_box_1 = size_min(extent_j, 256);
    const int64_t i_box_1 = f->i_box_1 = size_div(256, j_box_1);
    const int64_t i_tiles_1 = f->i_tiles_1 = size_ceil_div(extent_i, i_box_1);
    const int64_t j_tiles_1 = f->j_tiles_1 = size_ceil_div(extent_j, j_box_1);
    f->ring_tiles_1 = size_mul(size_mul(extent_m, i_tiles_1), j_tiles_1);
    f->grain_1 = size_max(size_ceil_div(f->units_1, 2147483647), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->grain_2 = size_max(size_ceil_div(f->units_2, 2147483647), 1);
    f->tasks_2 = size_ceil_div(f->units_2, f->grain_2);
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

int narrow_maxsim_workspace(const narrow_maxsim_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int narrow_maxsim(const narrow_maxsim_args *args, void *workspace, size_t bytes, void *stream)
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
    if ((uintptr_t)f->in.Q.data % 2 || (uintptr_t)f->in.D.data % 2 || (uintptr_t)f->in.out.data % 4)
        return BAD_ARGUMENT;
    const int64_t ring_tiles_1 = f->ring_tiles_1;
    const int is_mapped_1 = map_step_1(f);
    if (is_mapped_1 && launch_ring(narrow_maxsim_ring_1, f, ring_tiles_1, RING_THREADS, 230400, (cudaStream_t)stream))
        return BAD_MACHINE;
    if (!is_mapped_1 && launch(narrow_maxsim_launch_1, f, f->tasks_1, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    if (launch(narrow_maxsim_launch_2, f, f->tasks_2, workers, 0, (cudaStream_t)stream))
        return BAD_MACHINE;
    return 0;
}

int narrow_maxsim_status(const void *workspace, void *stream)
{
    int status = 0;
    (void)workspace;
    return cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess ? status : BAD_MACHINE;
}
#endif
