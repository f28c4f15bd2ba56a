/* The skeleton of one step as a tiled product on Hopper's tensor cores.
 *
 * Three groups of four warps work together. One thread of the first asks for the slices of both operands: the tensor memory
 * accelerator copies them into a ring of STAGES in shared memory, swizzled as the tensor cores read them. The other two groups
 * multiply, each TALL times 64 of the left side's LEFT lines with all RIGHT lines of the right side; their sums stay in registers. A
 * stage is full when its bytes are there, and empty again when all eight warps have multiplied it: the ring never stops, from one tile
 * to the next. A sum's row is a line of the left side, its column one of the right side. The first reduction behind the product goes
 * along the columns: each thread takes its own sums, tile after tile, and in the end the four lanes of a row merge what they found.
 *
 * Where the left side's slices of a tile, KEPT at most, meet many lines of the right side, they are kept: those of two tiles, so that
 * the next ones come while these are multiplied. Then the ring has the right side's slices alone. The sample keeps them, with
 * SAMPLE_KEPT.
 *
 * The emitter puts the step's number for N. The sample is out[i] = max[j](sum[k](A[i,k] * B[j,k])). */
#include "tma.cu"
#include "wgmma.cu"
#include "team.cu"
#include "../half.c"
#include "../minmax.c"
#include "../size.c"
typedef bf16u partu;
typedef struct Frame {
    float *out;
    int64_t extent_i, extent_j, extent_k;
    TensorMap left_N, right_N;
} Frame;
CONSTANTS(GROUP = 4 * WARP, GROUPS = 3);
#ifdef SAMPLE_KEPT
CONSTANTS(TALL_N = 2, KEPT_N = 2, LEFT_STAGES_N = 2 * KEPT_N);
__shared__ __align__(1024) char ring_memory[156672];
#else
CONSTANTS(TALL_N = 1, LEFT_STAGES_N = 3);
__shared__ __align__(1024) char ring_memory[73792];
#endif
#ifndef EINC_MODEL
/* Begins to add products of 64 by 64 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_bf16_64(float sums[32], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, adds, 1, 1, %35, %36;\n"
                 "}"
                 : SUMS_4_f32(0), SUMS_4_f32(4), SUMS_4_f32(8), SUMS_4_f32(12),
                   SUMS_4_f32(16), SUMS_4_f32(20), SUMS_4_f32(24), SUMS_4_f32(28)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//---
//{ title
/* out[i] = max[j](sum[k](A[i,k] * B[j,k])) */
//}
//{ constants
CONSTANTS(LEFT_N = 128 * TALL_N, RIGHT_N = 64, SLICE_N = 64, POINTS_N = 16, RING_STAGES_N = 3, SUMS_N = RIGHT_N / 2);
typedef float Sums_N[SUMS_N];
//}

/* What the block has in shared memory: slices of both operands, 128 bytes of contracted points of each line; or, of a side whose lines
 * lie side by side, panels: SLICE points with 128 bytes of lines each, in the place of as many lines. */
typedef struct __align__(1024) Ring_N {
    partu left[LEFT_STAGES_N][LEFT_N][SLICE_N], right[RING_STAGES_N][RIGHT_N][SLICE_N];
    Barrier full[RING_STAGES_N], empty[RING_STAGES_N];
    //{ kept_barriers
#ifdef SAMPLE_KEPT
    Barrier left_full[2], left_empty[2];
#endif
    //}
} Ring_N;

INLINE void begin_ring_N(Ring_N *ring)
{
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < RING_STAGES_N; stage++) {
            barrier_init(&ring->full[stage], 1);
            barrier_init(&ring->empty[stage], (GROUPS - 1) * GROUP / WARP);
        }
        //{ begin_kept
#ifdef SAMPLE_KEPT
        for (int kept = 0; kept < 2; kept++) {
            barrier_init(&ring->left_full[kept], 1);
            barrier_init(&ring->left_empty[kept], (GROUPS - 1) * GROUP / WARP);
        }
#endif
        //}
        barriers_ready();
    }
    __syncthreads();
}

INLINE void next_stage_N(Turn *turn)
{
    turn->stage = turn->stage + 1 < RING_STAGES_N ? turn->stage + 1 : 0;
    turn->phase ^= turn->stage == 0;
}

/* Which line of the left side is a thread's r-th row, */
INLINE int left_line_N(int r)
{
    const int warp = ((int)threadIdx.x - GROUP) / WARP;
    return (warp / 4 * TALL_N + r / 2) * 64 + warp % 4 * 16 + r % 2 * 8 + (int)threadIdx.x % WARP / 4;
}

//{ tile
/* Where a tile is. */
typedef struct Tile_N {
    int64_t i_first, j_from, j_to;
} Tile_N;

INLINE Tile_N find_tile_N(const Frame *f, int64_t number)
{
    Tile_N tile;
    tile.i_first = number * LEFT_N;
    tile.j_from = 0;
    tile.j_to = f->extent_j;
    return tile;
}
//}

//{ bring_left
#ifdef SAMPLE_KEPT
/* Asks for all slices of a tile's left side. */
INLINE void bring_left_N(const Frame *f, Ring_N *ring, int64_t i_first, int64_t slices, Turn *turn)
{
    Barrier *full = &ring->left_full[turn->stage];
    barrier_wait(&ring->left_empty[turn->stage], turn->phase ^ 1);
    barrier_expect(full, LEFT_N * SLICE_N * (int)sizeof(partu) * (int)slices);
    for (int64_t slice = 0; slice < slices; slice++)
        load_tile_2(ring->left[turn->stage * KEPT_N + slice], &f->left_N, full, slice * SLICE_N, i_first);
    turn->stage ^= 1;
    turn->phase ^= turn->stage == 0;
}

/* These slices, from one on; */
INLINE int wait_left_N(Ring_N *ring, const Turn *turn)
{
    barrier_wait(&ring->left_full[turn->stage], turn->phase);
    return turn->stage * KEPT_N;
}

/* and nobody multiplies these any more. */
INLINE void give_left_N(Ring_N *ring, Turn *turn)
{
    if (threadIdx.x % WARP == 0)
        barrier_arrive(&ring->left_empty[turn->stage]);
    turn->stage ^= 1;
    turn->phase ^= turn->stage == 0;
}
#endif
//}

/* Asks for the slices of a tile, one after the other. */
//{ bring_head
INLINE void bring_N(const Frame *f, Ring_N *ring, int64_t i_first, int64_t j_first, int64_t slices, Turn *turn)
//}
{
    //{ bytes
#ifdef SAMPLE_KEPT
    (void)i_first;
    const int bytes = RIGHT_N * SLICE_N * (int)sizeof(partu);
#else
    const int bytes = (LEFT_N + RIGHT_N) * SLICE_N * (int)sizeof(partu);
#endif
    //}
    for (int64_t slice = 0; slice < slices; slice++, next_stage_N(turn)) {
        const int stage = turn->stage;
        Barrier *full = &ring->full[stage];
        barrier_wait(&ring->empty[stage], turn->phase ^ 1);
        barrier_expect(full, bytes);
        //{ load
#ifndef SAMPLE_KEPT
        load_tile_2(ring->left[stage], &f->left_N, full, slice * SLICE_N, i_first);
#endif
        load_tile_2(ring->right[stage], &f->right_N, full, slice * SLICE_N, j_first);
        //}
    }
}

/* Begins to multiply a slice. */
//{ begin_slice_head
template <int IS_FIRST>
INLINE void begin_slice_N(Ring_N *ring, int kept, int64_t slice, Sums_N sums[TALL_N], const Turn *turn)
//}
{
    const int first = ((int)threadIdx.x / GROUP - 1) * 64 * TALL_N, stage = turn->stage;
    barrier_wait(&ring->full[stage], turn->phase);
    //{ matrices
    const int64_t left_stage = kept < 0 ? stage : kept + slice;
    const uint64_t left = matrix_of(ring->left[left_stage][first]), right = matrix_of(ring->right[stage][0]);
    //}
    wgmma_fence();
    UNROLL
    for (int high = 0; high < TALL_N; high++) {
        UNROLL
        for (int points = 0; points < SLICE_N / POINTS_N; points++)
            //{ multiply
            wgmma_bf16_64<0, 0>(sums[high], left + 512 * high + 2 * points, right + 2 * points, !IS_FIRST || points > 0);
            //}
    }
    wgmma_commit();
}

/* The sums of the slices that are brought. While one is multiplied, the one before it is given back. The first one stands by
 * itself: ptxas before CUDA 12.9 makes products wait for each other unless it sees where sums begin (C7515). */
//{ multiply_head
INLINE void multiply_slices_N(Ring_N *ring, int kept, int64_t slices, Sums_N sums[TALL_N], Turn *turn)
//}
{
    const int lane = (int)threadIdx.x % WARP;
    int before = turn->stage;
    //{ begin_first
    begin_slice_N<1>(ring, kept, 0, sums, turn);
    //}
    next_stage_N(turn);
    for (int64_t slice = 1; slice < slices; slice++, next_stage_N(turn)) {
        //{ begin_next
        begin_slice_N<0>(ring, kept, slice, sums, turn);
        //}
        wgmma_wait<1>();
        if (lane == 0)
            barrier_arrive(&ring->empty[before]);
        before = turn->stage;
    }
    wgmma_wait<0>();
    UNROLL
    for (int at = 0; at < TALL_N * SUMS_N; at++)
        wgmma_settle_f32(&sums[at / SUMS_N][at % SUMS_N]);
    if (lane == 0)
        barrier_arrive(&ring->empty[before]);
}

//{ use
/* and which of the right side its c-th column. */
INLINE int right_line_N(int c)
{
    return c / 2 * 8 + (int)threadIdx.x % 4 * 2 + c % 2;
}

/* The reduction takes a tile's sums. */
template <int EDGE>
INLINE void use_N(int64_t j_first, int64_t j_to, const Sums_N *sums, float largest[2 * TALL_N])
{
    const int columns = (int)size_min(j_to - j_first, RIGHT_N);
    UNROLL
    for (int r = 0; r < 2 * TALL_N; r++) {
        UNROLL
        for (int c = 0; c < RIGHT_N / 4; c++) {
            if (EDGE && right_line_N(c) >= columns)
                continue;
            largest[r] = max_f32(largest[r], sums[r / 2][c / 2 * 4 + r % 2 * 2 + c % 2]);
        }
    }
}
//}

//{ finish
/* The lanes of a row merge what they found, and one stores it. */
INLINE void finish_row_N(const Frame *f, int64_t i_first, float largest[2 * TALL_N])
{
    UNROLL
    for (int r = 0; r < 2 * TALL_N; r++) {
        for (int apart = 2; apart > 0; apart /= 2)
            largest[r] = max_f32(largest[r], later_f32(largest[r], apart));
        const int64_t i = i_first + left_line_N(r);
        if (threadIdx.x % 4 == 0 && i < f->extent_i)
            f->out[i] = largest[r];
    }
}
//}

/* The part of the thread that brings, for all tiles of the block; */
//{ bring_tiles
INLINE void bring_tiles_N(const Frame *f, Ring_N *ring)
{
    const int64_t slices = size_ceil_div(f->extent_k, SLICE_N), tiles = size_ceil_div(f->extent_i, LEFT_N);
    Turn turn = { 0, 0 };
#ifdef SAMPLE_KEPT
    Turn left_turn = { 0, 0 };
#endif
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile_N tile = find_tile_N(f, number);
#ifdef SAMPLE_KEPT
        bring_left_N(f, ring, tile.i_first, slices, &left_turn);
#endif
        for (int64_t j_first = tile.j_from; j_first < tile.j_to; j_first += RIGHT_N)
            bring_N(f, ring, tile.i_first, j_first, slices, &turn);
    }
}
//}

/* and that of those that multiply. */
//{ multiply_tiles
INLINE void multiply_tiles_N(const Frame *f, Ring_N *ring)
{
    const int64_t slices = size_ceil_div(f->extent_k, SLICE_N), tiles = size_ceil_div(f->extent_i, LEFT_N);
    Turn turn = { 0, 0 };
    int kept = -1;
#ifdef SAMPLE_KEPT
    Turn left_turn = { 0, 0 };
#endif
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile_N tile = find_tile_N(f, number);
#ifdef SAMPLE_KEPT
        kept = wait_left_N(ring, &left_turn);
#endif
        float largest[2 * TALL_N];
        for (int r = 0; r < 2 * TALL_N; r++)
            largest[r] = -INFINITY;
        for (int64_t j_first = tile.j_from; j_first < tile.j_to; j_first += RIGHT_N) {
            Sums_N sums[TALL_N];
            multiply_slices_N(ring, kept, slices, sums, &turn);
            if (j_first + RIGHT_N <= tile.j_to)
                use_N<0>(j_first, tile.j_to, sums, largest);
            else
                use_N<1>(j_first, tile.j_to, sums, largest);
        }
#ifdef SAMPLE_KEPT
        give_left_N(ring, &left_turn);
#endif
        finish_row_N(f, tile.i_first, largest);
    }
}
//}

//{ kernel_head
extern "C" __global__ void __launch_bounds__(GROUPS *GROUP, 1) sample_ring_N(const __grid_constant__ Frame frame)
//}
{
    if (!IS_SM_90A) {
        __trap();
        return;
    }
    const Frame *f = &frame;
    Ring_N *ring = (Ring_N *)ring_memory;
    begin_ring_N(ring);
    if (threadIdx.x < GROUP) {
        registers_fewer<40>();
        if (threadIdx.x == 0)
            bring_tiles_N(f, ring);
    } else {
        registers_more<232>();
        multiply_tiles_N(f, ring);
    }
}
