/* The skeleton of two products one behind the other: what comes of the first one's sums is multiplied with other values while it is
 * in registers, and never stored.
 *
 * A block of threads has some rows, and goes over the columns of the first product, a tile at a time. Steps between the products
 * make factors of the sums, and states of the rows. The threads of a row are neighbours in a warp. Of the second product, whose
 * columns are called values here, each thread has HIGH x WIDE sums, of the same rows.
 *
 * How factors and values are multiplied is in fuse_mma.cu or fuse_plain.cu; how the first product is made, in contract.cu. The
 * emitter puts the last step's number for N. The sample is out[i,v] = sum[j](A[i] * B[j] * C[j,v]). */
#include "copy.cu"
#include "mma.cu"
#include "team.cu"
#include "../half.c"
#include "../size.c"
#include "../real.c"
#ifdef SAMPLE_NARROW
typedef bf16u partu;
#else
typedef float partu;
#endif
typedef struct Frame {
    const float *A, *B;
    const partu *C;
    float *out;
    int64_t extent_i, extent_j, extent_v;
} Frame;
__shared__ __align__(16) char block_memory[32768];
//---
//{ title
/* out[i,v] = sum[j](A[i] * B[j] * C[j,v]) */
//}
//{ constants
#ifdef SAMPLE_NARROW
CONSTANTS(ROWS_N = 64, COLUMNS_N = 32, DEPTH_N = 32, HIGH_N = 2, WIDE_N = 8, FACTORS_N = 8, LANES_N = 4, PARTS_N = 3);
#else
CONSTANTS(ROWS_N = 32, COLUMNS_N = 32, DEPTH_N = 16, HIGH_N = 2, WIDE_N = 4, FACTORS_N = 2, LANES_N = 8, SIDE_N = 4, PAD_N = 4);
#endif
//}
//{ units
#ifdef SAMPLE_NARROW
#include "fuse_mma.cu"
#else
#include "fuse_plain.cu"
#endif
//}

//{ fetch
/* The values of some columns. */
INLINE void fetch_N(Slices_N *behind, const Frame *f, int64_t column, int64_t columns, int64_t value, int64_t values)
{
    for (int at = (int)threadIdx.x; at < COLUMNS_N * DEPTH_N; at += THREADS) {
#ifdef SAMPLE_NARROW
        const int line = at / DEPTH_N, v = at % DEPTH_N;
        partu *to = &behind->columns[0][line][chunk_N(line, v / CHUNK_N) + v % CHUNK_N];
#else
        const int line = at / COLUMNS_N, v = at % COLUMNS_N;
        partu *to = &behind->columns[0][line][v];
#endif
        *to = column + line < columns && value + v < values ? f->C[(column + line) * values + value + v] : 0;
    }
}
//}

//{ steps
#ifdef SAMPLE_NARROW
INLINE int row_of_N(int r)
{
    return (int)threadIdx.x / WARP * 16 + r * 8 + (int)threadIdx.x % WARP / LANES_N;
}

INLINE int column_of_N(int c)
{
    return c / 2 * 8 + (int)threadIdx.x % LANES_N * 2 + c % 2;
}
#endif

/* The factors of a tile. */
INLINE void take_N(const Frame *f, int64_t row, int64_t rows, int64_t column, int64_t columns, float sums[HIGH_N][FACTORS_N])
{
    for (int r = 0; r < HIGH_N; r++)
        for (int c = 0; c < FACTORS_N; c++) {
            const int64_t i = row + row_of_N(r), j = column + column_of_N(c);
            sums[r][c] = i < rows && j < columns ? f->A[i] * f->B[j] : 0;
        }
}

INLINE void finish_N(const Frame *f, int64_t row, int64_t rows, int64_t value, int64_t values, float products[HIGH_N][WIDE_N])
{
    for (int r = 0; r < HIGH_N; r++)
        for (int c = 0; c < WIDE_N; c++)
            if (row + row_of_N(r) < rows && value + value_N(c) < values)
                f->out[(row + row_of_N(r)) * values + value + value_N(c)] = products[r][c];
}
//}

/* Some rows, and some of the values. */
//{ head
INLINE void pass_N(const Frame *f, Slices_N *behind, int64_t row, int64_t rows, int64_t columns, int64_t value, int64_t values)
//}
{
    float products[HIGH_N][WIDE_N];
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            //{ start
            products[r][c] = 0;
            //}
    }
    //{ states
    //}
    for (int64_t column = 0; column < columns; column += LINES_N) {
        //{ find
        //}
        __syncthreads();
        //{ next
        fetch_N(behind, f, column, columns, value, values);
        //}
        copies_end();
        //{ met
        //}
        //{ sums
        float sums[HIGH_N][FACTORS_N];
        //}
        //{ use
        take_N(f, row, rows, column, columns, sums);
        //}
        copies_wait<0>();
        __syncthreads();
        multiply_values_N(behind, columns - column, sums, products);
    }
    //{ finish
    finish_N(f, row, rows, value, values, products);
    //}
}

//{ whole
INLINE void step_N(const Frame *f)
{
    enum { ROWS = HIGH_N * THREADS / LANES_N, VALUES = WIDE_N * LANES_N };
    Slices_N *behind = (Slices_N *)block_memory;
    for (int64_t row = 0; row < f->extent_i; row += ROWS)
        for (int64_t value = 0; value < f->extent_v; value += VALUES)
            pass_N(f, behind, row, f->extent_i, f->extent_j, value, f->extent_v);
}
//}
