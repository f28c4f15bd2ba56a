/* The skeleton of two products one behind the other on Hopper's tensor cores: what comes of the first one's sums is multiplied with
 * other values while it is in registers, as in fuse.cu, and slices come in a ring, as in hopper.cu.
 *
 * A block has LEFT rows at a time, 64 of each of the two groups that multiply. All that the left side has of them stays in shared
 * memory while what the right side has of RIGHT columns, and the values of as many, come in turn. A thread has two rows: SUMS sums
 * of a tile, what the steps between make of them, and PRODUCTS sums of the second product. Factors are rounded to 16 bits, two in a
 * word, where the tensor cores look for a left operand in registers. While those of one tile are multiplied with values, the steps
 * between take the sums of the next one; where these change what is behind, it is multiplied by a factor of the row.
 *
 * The emitter puts the last step's number for N. The sample is out[i,v] = sum[j](bf16(sum[k](A[i,k] * B[j,k]) + 1) * C[j,v]). */
#include "tma.cu"
#include "mma.cu"
#include "wgmma.cu"
#include "team.cu"
#include "../half.c"
#include "../size.c"
typedef bf16u partu;
typedef struct Frame {
    float *out;
    int64_t extent_i, extent_j, extent_v;
    TensorMap left_N, right_N, values_N;
} Frame;
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

/* Begins to add products of 64 lines of words and 128 lines in panels to the sums. */
INLINE void wgmma_words_bf16_128(float sums[64], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : SUMS_4_f32(0), SUMS_4_f32(4), SUMS_4_f32(8), SUMS_4_f32(12),
                   SUMS_4_f32(16), SUMS_4_f32(20), SUMS_4_f32(24), SUMS_4_f32(28),
                   SUMS_4_f32(32), SUMS_4_f32(36), SUMS_4_f32(40), SUMS_4_f32(44),
                   SUMS_4_f32(48), SUMS_4_f32(52), SUMS_4_f32(56), SUMS_4_f32(60)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
CONSTANTS(GROUP = 4 * WARP, GROUPS = 3);
__shared__ __align__(1024) char ring_memory[82944];
//---
//{ title
/* out[i,v] = sum[j](bf16(sum[k](A[i,k] * B[j,k]) + 1) * C[j,v]) */
//}
//{ constants
CONSTANTS(LEFT_N = 128, RIGHT_N = 64, SLICE_N = 64, POINTS_N = 128, VALUES_N = 128, RING_STAGES_N = 3);
CONSTANTS(REGISTERS_N = 240, REGISTERS_LEFT_N = 24);
//}
CONSTANTS(SUMS_N = RIGHT_N / 2, PRODUCTS_N = VALUES_N / 2, SLICES_N = POINTS_N / SLICE_N, PANELS_N = VALUES_N / SLICE_N,
          BOXES_N = SLICES_N > PANELS_N ? SLICES_N : PANELS_N);

/* What the block has in shared memory: slices of 128 bytes of contracted points of each line; in a stage those of the right side, or
 * the values of as many columns, in panels of 128 bytes of each. */
typedef struct __align__(1024) Ring_N {
    partu left[SLICES_N][LEFT_N][SLICE_N], stages[RING_STAGES_N][BOXES_N][RIGHT_N][SLICE_N];
    Barrier left_full, left_empty, full[RING_STAGES_N], empty[RING_STAGES_N];
} Ring_N;

INLINE void begin_ring_N(Ring_N *ring)
{
    if (threadIdx.x == 0) {
        barrier_init(&ring->left_full, 1);
        barrier_init(&ring->left_empty, (GROUPS - 1) * GROUP / WARP);
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

/* Which line of the left side is a thread's r-th row, and which of the right side, or which value, its c-th column. */
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

/* Asks for what the left side has of a tile's rows, */
INLINE void bring_left_N(const Frame *f, Ring_N *ring, const Tile_N &tile, int phase)
{
    //{ left
    const int64_t i_first = tile.i_first;
    const int bytes = LEFT_N * POINTS_N * (int)sizeof(partu);
    //}
    Barrier *full = &ring->left_full;
    barrier_wait(&ring->left_empty, phase ^ 1);
    barrier_expect(full, bytes);
    for (int slice = 0; slice < SLICES_N; slice++) {
        const int64_t point = slice * SLICE_N;
        //{ left_load
        load_tile_2(ring->left[slice], &f->left_N, full, point, i_first);
        //}
    }
}

/* for what the right side has of some columns, */
//{ right_head
INLINE void bring_right_N(const Frame *f, Ring_N *ring, const Tile_N &tile, int64_t j_first, Turn *turn)
//}
{
    //{ right
    (void)tile;
    //}
    Barrier *full = &ring->full[turn->stage];
    barrier_wait(&ring->empty[turn->stage], turn->phase ^ 1);
    barrier_expect(full, RIGHT_N * POINTS_N * (int)sizeof(partu));
    for (int slice = 0; slice < SLICES_N; slice++) {
        const int64_t point = slice * SLICE_N;
        //{ right_load
        load_tile_2(ring->stages[turn->stage][slice], &f->right_N, full, point, j_first);
        //}
    }
    next_stage_N(turn);
}

/* and for their values. */
//{ values_head
INLINE void bring_values_N(const Frame *f, Ring_N *ring, const Tile_N &tile, int64_t j_first, Turn *turn)
//}
{
    //{ values
    (void)tile;
    //}
    Barrier *full = &ring->full[turn->stage];
    barrier_wait(&ring->empty[turn->stage], turn->phase ^ 1);
    barrier_expect(full, RIGHT_N * VALUES_N * (int)sizeof(partu));
    for (int slice = 0; slice < PANELS_N; slice++) {
        const int64_t value = slice * SLICE_N;
        //{ values_load
        load_tile_2(ring->stages[turn->stage][slice], &f->values_N, full, value, j_first);
        //}
    }
    next_stage_N(turn);
}

/* Begins to make the sums of the columns that come next. */
INLINE void begin_sums_N(Ring_N *ring, float sums[SUMS_N], const Turn &turn)
{
    const int first = ((int)threadIdx.x / GROUP - 1) * 64;
    barrier_wait(&ring->full[turn.stage], turn.phase);
    wgmma_fence();
    UNROLL
    for (int slice = 0; slice < SLICES_N; slice++) {
        const uint64_t left = matrix_of(ring->left[slice][first]), right = matrix_of(ring->stages[turn.stage][slice]);
        UNROLL
        for (int points = 0; points < SLICE_N / 16; points++)
            //{ multiply
            wgmma_bf16_64<0, 0>(sums, left + 2 * points, right + 2 * points, slice + points > 0);
            //}
    }
    wgmma_commit();
}

/* Begins to add the products of factors and the values that come next. */
INLINE void begin_products_N(Ring_N *ring, const uint32_t factors[SUMS_N / 2], float products[PRODUCTS_N], const Turn &turn)
{
    barrier_wait(&ring->full[turn.stage], turn.phase);
    const uint64_t right = panels_apart(ring->stages[turn.stage], RIGHT_N * SLICE_N * (int)sizeof(partu));
    wgmma_fence();
    UNROLL
    for (int points = 0; points < RIGHT_N / 16; points++)
        //{ multiply_values
        wgmma_words_bf16_128(products, factors + 4 * points, right + 128 * points);
        //}
    wgmma_commit();
}

/* The sums are there: what they were made of is given back. */
template <int OPEN>
INLINE void end_sums_N(Ring_N *ring, float sums[SUMS_N], int stage)
{
    wgmma_wait<OPEN>();
    UNROLL
    for (int at = 0; at < SUMS_N; at++)
        wgmma_settle_f32(&sums[at]);
    if (threadIdx.x % WARP == 0)
        barrier_arrive(&ring->empty[stage]);
}

INLINE void end_products_N(Ring_N *ring, float products[PRODUCTS_N], int stage)
{
    wgmma_wait<0>();
    UNROLL
    for (int at = 0; at < PRODUCTS_N; at++)
        wgmma_settle_f32(&products[at]);
    if (threadIdx.x % WARP == 0)
        barrier_arrive(&ring->empty[stage]);
}

/* Two factors in a word, as they are multiplied. */
INLINE void round_factors_N(const float sums[SUMS_N], uint32_t factors[SUMS_N / 2])
{
    UNROLL
    for (int at = 0; at < SUMS_N / 2; at++)
        //{ round
        factors[at] = pair_bf16(sums[2 * at], sums[2 * at + 1]);
        //}
}

//{ steps
/* Of what is not there values are zeros, and so is what comes of it. */
INLINE void use_N(int64_t j_first, int64_t j_to, float sums[SUMS_N])
{
    UNROLL
    for (int r = 0; r < 2; r++) {
        UNROLL
        for (int c = 0; c < RIGHT_N / 4; c++) {
            if (j_first + right_line_N(c) >= j_to)
                break;
            sums[c / 2 * 4 + r * 2 + c % 2] += 1;
        }
    }
}

INLINE void finish_N(const Frame *f, const Tile_N &tile, const float products[PRODUCTS_N])
{
    UNROLL
    for (int r = 0; r < 2; r++) {
        UNROLL
        for (int c = 0; c < VALUES_N / 4; c++) {
            const int64_t i = tile.i_first + left_line_N(r);
            if (i < f->extent_i && right_line_N(c) < f->extent_v)
                f->out[i * f->extent_v + right_line_N(c)] = products[c / 2 * 4 + r * 2 + c % 2];
        }
    }
}
//}

//{ zeros
/* Nobody asks for these columns' sums: their factors are zeros. What is infinite is no number then. */
INLINE void add_zeros_N(Ring_N *ring, float products[PRODUCTS_N], Turn *turn)
{
    const uint32_t factors[SUMS_N / 2] = { 0 };
    begin_products_N(ring, factors, products, *turn);
    end_products_N(ring, products, turn->stage);
    next_stage_N(turn);
}
//}

/* The part of the warp whose first thread brings, for all tiles of the block; */
INLINE void bring_tiles_N(const Frame *f, Ring_N *ring)
{
    //{ tiles
    const int64_t tiles = size_ceil_div(f->extent_i, LEFT_N);
    //}
    Turn turn = { 0, 0 };
    int phase = 0;
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x, phase ^= 1) {
        //{ find
        const Tile_N tile = find_tile_N(f, number);
        //}
        //{ range
        const int64_t from = tile.j_from, to = tile.j_to;
        //}
        if (threadIdx.x > 0)
            continue;
        bring_left_N(f, ring, tile, phase);
        for (int64_t column = from; column < to; column += RIGHT_N) {
            bring_right_N(f, ring, tile, column, &turn);
            if (column > from)
                bring_values_N(f, ring, tile, column - RIGHT_N, &turn);
            if (column + RIGHT_N >= to)
                bring_values_N(f, ring, tile, column, &turn);
        }
        //{ bring_others
        //}
    }
}

/* and that of those that multiply. */
INLINE void multiply_tiles_N(const Frame *f, Ring_N *ring)
{
    //{ tiles
    const int64_t tiles = size_ceil_div(f->extent_i, LEFT_N);
    //}
    Turn turn = { 0, 0 };
    int phase = 0;
    for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x, phase ^= 1) {
        //{ find
        const Tile_N tile = find_tile_N(f, number);
        //}
        //{ range
        const int64_t from = tile.j_from, to = tile.j_to;
        //}
        float products[PRODUCTS_N], sums[SUMS_N];
        uint32_t factors[SUMS_N / 2];
        //{ states
        //}
        UNROLL
        for (int at = 0; at < PRODUCTS_N; at++)
            products[at] = 0;
        barrier_wait(&ring->left_full, phase);
        if (from < to) {
            const int64_t column = from;
            begin_sums_N(ring, sums, turn);
            end_sums_N<0>(ring, sums, turn.stage);
            next_stage_N(&turn);
            //{ use
            use_N(column, to, sums);
            //}
            round_factors_N(sums, factors);
        }
        for (int64_t column = from + RIGHT_N; column < to; column += RIGHT_N) {
            const int stage = turn.stage;
            begin_sums_N(ring, sums, turn);
            next_stage_N(&turn);
            begin_products_N(ring, factors, products, turn);
            end_sums_N<1>(ring, sums, stage);
            //{ use
            use_N(column, to, sums);
            //}
            end_products_N(ring, products, turn.stage);
            next_stage_N(&turn);
            //{ rescale
            //}
            round_factors_N(sums, factors);
        }
        if (threadIdx.x % WARP == 0)
            barrier_arrive(&ring->left_empty);
        if (from < to) {
            begin_products_N(ring, factors, products, turn);
            end_products_N(ring, products, turn.stage);
            next_stage_N(&turn);
        }
        //{ add_others
        //}
        //{ finish
        finish_N(f, tile, products);
        //}
    }
}

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
        registers_fewer<REGISTERS_LEFT_N>();
        if (threadIdx.x < WARP)
            bring_tiles_N(f, ring);
    } else {
        registers_more<REGISTERS_N>();
        multiply_tiles_N(f, ring);
    }
}
