/* The skeleton of one step as a tiled product on Hopper's tensor cores.
 *
 * Three groups of four warps work together. One thread of the first asks for the slices of both operands: the tensor memory
 * accelerator copies them into a ring of STAGES in shared memory, swizzled as the tensor cores read them. The other two groups
 * multiply, each 64 of the left side's LEFT lines with all RIGHT lines of the right side; their sums stay in registers. A stage is
 * full when its bytes are there, and empty again when all eight warps have multiplied it: the ring never stops, from one tile to the
 * next. A sum's row is a line of the left side, its column one of the right side. The first reduction behind the product goes along
 * the columns: each thread takes its own sums, tile after tile, and in the end the four lanes of a row merge what they found.
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
enum { GROUP = 4 * WARP, GROUPS = 3 };
__shared__ __align__(1024) char ring_memory[73792];
//---
//{ title
/* out[i] = max[j](sum[k](A[i,k] * B[j,k])) */
//}
//{ constants
enum { LEFT_N = 128, RIGHT_N = 64, SLICE_N = 64, RING_STAGES_N = 3, SUMS_N = RIGHT_N / 2 };
//}

/* What the block has in shared memory: slices of both operands, 128 bytes of contracted points of each line; or, of a side whose lines
 * lie side by side, panels: SLICE points with 128 bytes of lines each, in the place of as many lines. */
typedef struct __align__(1024) Ring_N {
    partu left[RING_STAGES_N][LEFT_N][SLICE_N], right[RING_STAGES_N][RIGHT_N][SLICE_N];
    Barrier full[RING_STAGES_N], empty[RING_STAGES_N];
} Ring_N;

INLINE void begin_ring_N(Ring_N *ring)
{
    if (threadIdx.x == 0) {
        for (int stage = 0; stage < RING_STAGES_N; stage++) {
            barrier_init(&ring->full[stage], 1);
            barrier_init(&ring->empty[stage], (GROUPS - 1) * GROUP / WARP);
        }
        barriers_ready();
    }
    __syncthreads();
}

INLINE void next_stage_N(Turn *turn)
{
    turn->stage = turn->stage + 1 < RING_STAGES_N ? turn->stage + 1 : 0;
    turn->phase ^= turn->stage == 0;
}

/* Which line of the left side is a thread's r-th row, and which of the right side its c-th column. */
INLINE int left_line_N(int r)
{
    return ((int)threadIdx.x - GROUP) / WARP * 16 + r * 8 + (int)threadIdx.x % WARP / 4;
}

INLINE int right_line_N(int c)
{
    return c / 2 * 8 + (int)threadIdx.x % 4 * 2 + c % 2;
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

/* Asks for the slices of both sides, one after the other. */
//{ bring_head
INLINE void bring_N(const Frame *f, Ring_N *ring, int64_t i_first, int64_t j_first, int64_t slices, Turn *turn)
//}
{
    //{ bytes
    const int bytes = (LEFT_N + RIGHT_N) * SLICE_N * (int)sizeof(partu);
    //}
    for (int64_t slice = 0; slice < slices; slice++, next_stage_N(turn)) {
        const int stage = turn->stage;
        Barrier *full = &ring->full[stage];
        barrier_wait(&ring->empty[stage], turn->phase ^ 1);
        barrier_expect(full, bytes);
        //{ load
        load_tile_2(ring->left[stage], &f->left_N, full, slice * SLICE_N, i_first);
        load_tile_2(ring->right[stage], &f->right_N, full, slice * SLICE_N, j_first);
        //}
    }
}

/* The sums of the slices that are brought. While one is multiplied, the one before it is given back. */
INLINE void multiply_slices_N(Ring_N *ring, int64_t slices, float sums[SUMS_N], Turn *turn)
{
    const int first = ((int)threadIdx.x / GROUP - 1) * 64, lane = (int)threadIdx.x % WARP;
    int before = 0;
    for (int64_t slice = 0; slice < slices; slice++, next_stage_N(turn)) {
        const int stage = turn->stage;
        barrier_wait(&ring->full[stage], turn->phase);
        //{ matrices
        const uint64_t left = matrix_of(ring->left[stage][first]), right = matrix_of(ring->right[stage][0]);
        //}
        wgmma_fence();
        UNROLL
        for (int points = 0; points < SLICE_N / 16; points++)
            //{ multiply
            wgmma_bf16_64<0, 0>(sums, left + 2 * points, right + 2 * points, slice + points > 0);
            //}
        wgmma_commit();
        wgmma_wait<1>();
        if (slice > 0 && lane == 0)
            barrier_arrive(&ring->empty[before]);
        before = stage;
    }
    wgmma_wait<0>();
    UNROLL
    for (int at = 0; at < SUMS_N; at++)
        wgmma_settle(&sums[at]);
    if (lane == 0)
        barrier_arrive(&ring->empty[before]);
}

//{ use
/* The reduction takes a tile's sums. */
template <int EDGE>
INLINE void use_N(int64_t j_first, int64_t j_to, const float sums[SUMS_N], float largest[2])
{
    UNROLL
    for (int r = 0; r < 2; r++) {
        UNROLL
        for (int c = 0; c < RIGHT_N / 4; c++) {
            if (EDGE && j_first + right_line_N(c) >= j_to)
                break;
            largest[r] = max_f32(largest[r], sums[c / 2 * 4 + r * 2 + c % 2]);
        }
    }
}
//}

//{ finish
/* The lanes of a row merge what they found, and one stores it. */
INLINE void finish_row_N(const Frame *f, int64_t i_first, float largest[2])
{
    UNROLL
    for (int r = 0; r < 2; r++) {
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
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile_N tile = find_tile_N(f, number);
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
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
        const Tile_N tile = find_tile_N(f, number);
        float largest[2] = { -INFINITY, -INFINITY };
        for (int64_t j_first = tile.j_from; j_first < tile.j_to; j_first += RIGHT_N) {
            float sums[SUMS_N];
            multiply_slices_N(ring, slices, sums, &turn);
            if (j_first + RIGHT_N <= tile.j_to)
                use_N<0>(j_first, tile.j_to, sums, largest);
            else
                use_N<1>(j_first, tile.j_to, sums, largest);
        }
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
