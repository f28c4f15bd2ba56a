/* The skeleton of a product of few contracted points, whose number is known, and the first reduction behind it, on a grid's plain
 * units.
 *
 * A thread has all points of WIDE columns in registers. Rows come CHUNK at a time to shared memory, with what the reduction reads
 * for each of them, while those before are taken: a sum is made and taken at once, and many of them side by side, so that what
 * the reduction computes goes on while other sums are made. In the end the threads of a column merge what they found, as those
 * of contract.cu do. Squared distances may come of tensor cores: contract_squares.cu.
 *
 * The emitter puts a number for N and the dtype of the sums for f32. The sample is out[j] = max[i](v[i] * sum[k](A[i,k] * B[j,k]))
 * where k has 3 points. */
#include "copy.cu"
#include "team.cu"
#include "../minmax.c"
#include "../size.c"
typedef float partu;
typedef struct Frame {
    const partu *A, *B, *v;
    float *out;
    int64_t extent_i, extent_j, extent_k;
} Frame;
__shared__ __align__(16) char block_memory[32768];
//---
//{ title
/* out[j] = max[i](v[i] * sum[k](A[i,k] * B[j,k])), where there are 3 of k */
//}
//{ constants
CONSTANTS(ROWS_N = 64, COLUMNS_N = 128, POINTS_N = 3, HIGH_N = 8, WIDE_N = 8, SIDE_N = 4);
//}
//{ threads
#include "contract_threads.cu"
//}

/* What the block has in shared memory: some rows, and the next; what the reduction reads for each. */
CONSTANTS(CHUNK_N = 2 * THREADS);
typedef struct __align__(16) Slices_N {
    float rows[2][POINTS_N][CHUNK_N];
    //{ values
    float value_1[2][CHUNK_N];
    //}
} Slices_N;

/* A thread's columns. */
typedef struct Held_N {
    float right[POINTS_N][WIDE_N];
} Held_N;

//{ fetch
/* Begins to copy rows from one on; behind the last one it. */
INLINE void fetch_N(Slices_N *slices, const Frame *f, int stage, int64_t row, int64_t rows)
{
    UNROLL
    for (int turn = 0; turn < CHUNK_N / THREADS; turn++) {
        const int r = turn * THREADS + (int)threadIdx.x;
        const int64_t i = size_min(row + r, rows - 1);
        UNROLL
        for (int p = 0; p < POINTS_N; p++)
            copy_f32(&slices->rows[stage][p][r], f->A + i * POINTS_N + p, 1);
        copy_f32(&slices->value_1[stage][r], f->v + i, 1);
    }
    copies_end();
}

/* Reads a thread's columns; behind the last one it. */
INLINE void hold_N(const Frame *f, int64_t column, int64_t columns, Held_N *held)
{
    UNROLL
    for (int c = 0; c < WIDE_N; c++) {
        const int64_t j = size_min(column + column_N(c), columns - 1);
        UNROLL
        for (int p = 0; p < POINTS_N; p++)
            held->right[p][c] = f->B[j * POINTS_N + p];
    }
}
//}

/* The sum of a row that is in shared memory and a column. */
INLINE float sum_N(const Slices_N *slices, int stage, int r, const Held_N *held, int c)
{
    //{ start
    float sum = 0;
    //}
    UNROLL
    for (int p = 0; p < POINTS_N; p++) {
        const float left = slices->rows[stage][p][r], right = held->right[p][c];
        //{ step
        sum = sum + left * right;
        //}
    }
    return sum;
}

//{ take
/* The reduction takes a tile of sums, of which all or some rows are there. */
template <int IS_WHOLE, int FLUSHES>
INLINE void take_N(const Slices_N *slices, int stage, int at, int there, const Held_N *held, float *largest)
{
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        if (!IS_WHOLE && at + row_N(r) >= there)
            break;
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            largest[c] = max_f32(largest[c], slices->value_1[stage][at + row_N(r)] * sum_N(slices, stage, at + row_N(r), held, c));
    }
}
//}

/* All rows, for a thread's columns. With FLUSHES powers that would be denormal may be 0. */
//{ rows_head
template <int FLUSHES>
INLINE void rows_N(Slices_N *slices, const Frame *f, int64_t rows, const Held_N *held, float *largest)
//}
{
    int stage = 0;
    if (rows > 0) {
        //{ first
        fetch_N(slices, f, 0, 0, rows);
        //}
    }
    for (int64_t row = 0; row < rows; row += CHUNK_N, stage = 1 - stage) {
        copies_wait<0>();
        //{ widen
        //}
        __syncthreads();
        if (row + CHUNK_N < rows) {
            //{ next
            fetch_N(slices, f, 1 - stage, row + CHUNK_N, rows);
            //}
        }
        const int there = (int)size_min(rows - row, CHUNK_N);
        for (int at = 0; at < CHUNK_N; at += ROWS_N) {
            //{ use
            if (there == CHUNK_N)
                take_N<1, FLUSHES>(slices, stage, at, there, held, largest);
            else
                take_N<0, FLUSHES>(slices, stage, at, there, held, largest);
            //}
        }
    }
}

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
    const int64_t rows = f->extent_i, columns = f->extent_j;
    for (int64_t column = 0; column < columns; column += COLUMNS_N) {
        float largest[WIDE_N];
        for (int c = 0; c < WIDE_N; c++)
            largest[c] = -INFINITY;
        Held_N held;
        hold_N(f, column, columns, &held);
        rows_N<0>(slices, f, rows, &held, largest);
        finish_N(f, slices, column, columns, largest);
    }
}
//}
