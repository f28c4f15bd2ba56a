/* The skeleton of one step as a tiled product on a grid, and what follows while the sums are at hand.
 *
 * A block of threads makes a tile of ROWS x COLUMNS sums at a time, of which each thread has HIGH x WIDE in registers. The
 * contracted points come in slices of DEPTH: while one is multiplied, the next STAGES - 1 are on their way into shared memory. The
 * first reduction behind the product goes down the rows: each thread takes its own sums, tile after tile, and in the end the
 * threads of a column merge what they found. Without a reduction the sums are stored from the registers.
 *
 * How numbers are multiplied is in contract_plain.cu or contract_mma.cu; how a slice comes to shared memory in contract_copies.cu,
 * contract_lines.cu, contract_chunks.cu or contract_values.cu, for rows and columns alike, and of whole slices for plain units in
 * contract_whole.cu. The emitter puts the step's number for N and the dtype of its sums for f32. The sample is
 * out[j] = max[i](sum[k](A[i,k] * B[j,k])). */
#include "copy.cu"
#include "mma.cu"
#include "team.cu"
#include "../half.c"
#include "../minmax.c"
#include "../size.c"
#if defined SAMPLE_NARROW
typedef bf16u partu;
#else
#if defined SAMPLE_DOUBLE
#define float double
#define max_f32 max_f64
#define later_f32 later_f64
#endif
typedef float partu;
#endif
typedef struct Frame {
    const partu *A, *B;
    float *out;
    int64_t extent_i, extent_j, extent_k;
} Frame;
__shared__ __align__(16) char block_memory[32768];
#if defined SAMPLE_DOUBLE
CONSTANTS(SAMPLE_DEPTH = 16);
#else
CONSTANTS(SAMPLE_DEPTH = 32);
#endif
//---
//{ title
/* out[j] = max[i](sum[k](A[i,k] * B[j,k])) */
//}
//{ constants
CONSTANTS(ROWS_N = 32, COLUMNS_N = 64, DEPTH_N = SAMPLE_DEPTH, HIGH_N = 4, WIDE_N = 4, SIDE_N = 2, PAD_N = 4, STAGES_N = 2);
//}
//{ units
#if defined SAMPLE_NARROW
#include "contract_mma.cu"
#include "contract_narrow.cu"
#elif defined SAMPLE_PARTS
#include "contract_mma.cu"
#include "contract_parts.cu"
#elif defined SAMPLE_DOUBLE
#include "contract_mma.cu"
#include "contract_double.cu"
#else
#include "contract_threads.cu"
#include "contract_plain.cu"
#endif
//}

//{ fetch
INLINE void find_rows_N(Slices_N *slices, const Frame *f, int64_t row, int64_t rows)
{
    for (int r = (int)threadIdx.x; r < ROWS_N; r += THREADS)
        slices->rows_at[r] = row + r < rows ? (row + r) * f->extent_k : INT64_MIN;
}

INLINE void find_columns_N(Slices_N *slices, const Frame *f, int64_t column, int64_t columns)
{
    for (int c = (int)threadIdx.x; c < COLUMNS_N; c += THREADS)
        slices->columns_at[c] = column + c < columns ? (column + c) * f->extent_k : INT64_MIN;
}

#if defined SAMPLE_NARROW || defined SAMPLE_PARTS || defined SAMPLE_DOUBLE
#define SAMPLE_FETCH "contract_chunks.cu"
#else
#define SAMPLE_FETCH "contract_copies.cu"
#endif
#include SAMPLE_FETCH
#define A B
#define ROWS_N COLUMNS_N
#define rows columns
#define rows_at columns_at
#define fetch_rows_N fetch_columns_N
#include SAMPLE_FETCH
#undef A
#undef ROWS_N
#undef rows
#undef rows_at
#undef fetch_rows_N
#if !defined SAMPLE_NARROW && !defined SAMPLE_PARTS && !defined SAMPLE_DOUBLE
#include "contract_whole_copies.cu"
#define A B
#define ROWS_N COLUMNS_N
#define ROWS_OWN_N COLUMNS_OWN_N
#define rows columns
#define rows_at columns_at
#define keep_rows_N keep_columns_N
#define copy_rows_N copy_columns_N
#include "contract_whole_copies.cu"
#undef A
#undef ROWS_N
#undef ROWS_OWN_N
#undef rows
#undef rows_at
#undef keep_rows_N
#undef copy_rows_N
#include "contract_whole.cu"
#endif
//}

/* Begins to copy the first slices of the tile from a row and a column on. */
//{ begin_head
INLINE void begin_N(Slices_N *slices, const Frame *f, int64_t row, int64_t rows, int64_t depth)
//}
{
    //{ find
    find_rows_N(slices, f, row, rows);
    //}
    __syncthreads();
    for (int stage = 0; stage < STAGES_N - 1; stage++) {
        const int64_t point = stage * DEPTH_N;
        if (point < depth) {
            //{ first
            fetch_rows_N(slices, f, stage, point, depth);
            fetch_columns_N(slices, f, stage, point, depth);
            //}
        }
        copies_end();
    }
}

/* The sums of that tile. */
//{ tile_head
#ifdef SAMPLE_PARTS
INLINE void sums_N(Slices_N *slices, const Frame *f, int64_t depth, int is_whole, float sums[HIGH_N][WIDE_N])
#else
INLINE void tile_N(Slices_N *slices, const Frame *f, int64_t depth, float sums[HIGH_N][WIDE_N])
#endif
//}
{
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            //{ start
            sums[r][c] = 0;
            //}
    }
    //{ room
    //}
    //{ quick
#if defined SAMPLE_NARROW || defined SAMPLE_PARTS || defined SAMPLE_DOUBLE
    int64_t at = 0;
#else
    int64_t at = slices_N(slices, f, depth, sums);
#endif
    //}
    for (int now = (int)(at / DEPTH_N % STAGES_N); at < depth; at += DEPTH_N, now = now + 1 < STAGES_N ? now + 1 : 0) {
        copies_wait<STAGES_N - 2>();
        __syncthreads();
        const int64_t point = at + (STAGES_N - 1) * DEPTH_N;
        const int stage = now > 0 ? now - 1 : STAGES_N - 1;
        if (point < depth) {
            //{ next
            fetch_rows_N(slices, f, stage, point, depth);
            fetch_columns_N(slices, f, stage, point, depth);
            //}
        }
        copies_end();
        //{ multiply
#ifdef SAMPLE_PARTS
        multiply_N(slices, now, depth - at, is_whole, sums);
#else
        multiply_N(slices, now, depth - at, sums);
#endif
        //}
        //{ put
        //}
    }
}
//{ again
#ifdef SAMPLE_PARTS
#include "contract_again.cu"
#endif
//}

//{ after
/* The reduction takes a tile's sums. */
INLINE void take_N(int64_t row, int64_t rows, float sums[HIGH_N][WIDE_N], float *largest)
{
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        if (row + row_N(r) >= rows)
            break;
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            largest[c] = max_f32(largest[c], sums[r][c]);
    }
}
//}

//{ finish
/* The threads of a column merge what they found: the lanes of a warp first, then its warps through shared memory. */
INLINE void finish_N(const Frame *f, Slices_N *slices, int64_t column, int64_t columns, float *largest)
{
    typedef struct States {
        float largest[WARPS / WARPS_ACROSS_N][COLUMNS_N];
    } States;
    States *states = (States *)(slices + 1);
    for (int apart = WARP / 2; apart >= LANES_N; apart /= 2)
        for (int c = 0; c < WIDE_N; c++)
            largest[c] = max_f32(largest[c], later_f32(largest[c], apart));
    for (int c = 0; c < WIDE_N; c++)
        if ((int)threadIdx.x % WARP < LANES_N)
            states->largest[threadIdx.x / WARP / WARPS_ACROSS_N][column_N(c)] = largest[c];
    __syncthreads();
    for (int c = (int)threadIdx.x; c < COLUMNS_N && column + c < columns; c += THREADS) {
        float most = states->largest[0][c];
        for (int warp = 1; warp < WARPS / WARPS_ACROSS_N; warp++)
            most = max_f32(most, states->largest[warp][c]);
        f->out[column + c] = most;
    }
    __syncthreads();
}
//}

//{ whole
INLINE void step_N(const Frame *f)
{
    Slices_N *slices = (Slices_N *)block_memory;
    const int64_t rows = f->extent_i, columns = f->extent_j, depth = f->extent_k;
    for (int64_t column = 0; column < columns; column += COLUMNS_N) {
        float largest[WIDE_N];
        for (int c = 0; c < WIDE_N; c++)
            largest[c] = -INFINITY;
        find_columns_N(slices, f, column, columns);
        for (int64_t row = 0; row < rows; row += ROWS_N) {
            float sums[HIGH_N][WIDE_N];
#ifdef SAMPLE_PARTS
            tile_N(slices, f, row, rows, depth, sums);
#else
            if (row == 0)
                begin_N(slices, f, row, rows, depth);
            tile_N(slices, f, depth, sums);
            if (row + ROWS_N < rows)
                begin_N(slices, f, row + ROWS_N, rows, depth);
#endif
            take_N(row, rows, sums, largest);
        }
        finish_N(f, slices, column, columns, largest);
    }
}
//}
