/* What is the plain units' own in fuse.cu: values have a line for each of the first product's columns, and factors one for each row,
 * through which the threads of a row have each other's. */
//---
CONSTANTS(LINES_N = DEPTH_N);

/* What the block has in shared memory: values, factors, and where in its array each column of values begins. */
typedef struct __align__(16) Slices_N {
    float columns[1][DEPTH_N][COLUMNS_N + PAD_N], factors[ROWS_N][DEPTH_N + PAD_N];
    int64_t columns_at[COLUMNS_N];
} Slices_N;

/* Which of the tile's values is a thread's c-th: it has SIDE of them side by side, and then some further on. */
INLINE int value_N(int c)
{
    return (c / SIDE_N * LANES_N + (int)threadIdx.x % LANES_N) * SIDE_N + c % SIDE_N;
}

/* Which of the tile's rows is a thread's r-th, and which of its columns its c-th, in the first product. */
//{ places
INLINE int row_of_N(int r)
{
    return r * (THREADS / LANES_N) + (int)threadIdx.x / LANES_N;
}

INLINE int column_of_N(int c)
{
    return c * LANES_N + (int)threadIdx.x % LANES_N;
}
//}

/* Adds the products of factors and values. */
INLINE void multiply_values_N(Slices_N *slices, int64_t points, float factors[HIGH_N][FACTORS_N], float products[HIGH_N][WIDE_N])
{
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        UNROLL
        for (int c = 0; c < FACTORS_N; c++)
            slices->factors[row_of_N(r)][column_of_N(c)] = factors[r][c];
    }
    __syncwarp();
    const int end = (int)size_min(points, LINES_N);
    UNROLL_TWICE
    for (int p = 0; p < end; p++) {
        float left[HIGH_N], right[WIDE_N];
        UNROLL
        for (int r = 0; r < HIGH_N; r++)
            left[r] = slices->factors[row_of_N(r)][p];
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            right[c] = slices->columns[0][p][value_N(c)];
        UNROLL
        for (int r = 0; r < HIGH_N; r++) {
            UNROLL
            for (int c = 0; c < WIDE_N; c++) {
                //{ step
                products[r][c] = products[r][c] + left[r] * right[c];
                //}
            }
        }
    }
}
