/* What is the plain units' own in contract.cu: a slice has a line for each contracted point, of which a thread takes its rows' and
 * its columns' numbers. */
//---
/* Threads one above the other and side by side in a tile, and lanes of a warp side by side. */
enum { DOWN_N = ROWS_N / HIGH_N, ACROSS_N = COLUMNS_N / WIDE_N };
enum { LANES_N = ACROSS_N < 8 ? ACROSS_N : 8, WARPS_ACROSS_N = ACROSS_N / LANES_N };

/* What the block has in shared memory: some slices of both operands, with a line for each contracted point, and where in its
 * array each row and each column begins. */
typedef struct __align__(16) Slices_N {
    float rows[STAGES_N][DEPTH_N][ROWS_N + PAD_N], columns[STAGES_N][DEPTH_N][COLUMNS_N + PAD_N];
    int64_t rows_at[ROWS_N], columns_at[COLUMNS_N];
} Slices_N;

/* Which of the tile's rows, or columns, is a thread's r-th: it has SIDE of them side by side, and then some further on. */
INLINE int row_N(int r)
{
    const int down = (int)threadIdx.x / WARP / WARPS_ACROSS_N * (WARP / LANES_N) + (int)threadIdx.x % WARP / LANES_N;
    return (r / SIDE_N * DOWN_N + down) * SIDE_N + r % SIDE_N;
}

INLINE int column_N(int c)
{
    const int across = (int)threadIdx.x / WARP % WARPS_ACROSS_N * LANES_N + (int)threadIdx.x % LANES_N;
    return (c / SIDE_N * ACROSS_N + across) * SIDE_N + c % SIDE_N;
}

/* Adds the products of some points of a slice. */
INLINE void multiply_points_N(const Slices_N *slices, int stage, int first, int end, float sums[HIGH_N][WIDE_N])
{
    UNROLL_TWICE
    for (int p = first; p < end; p++) {
        float left[HIGH_N], right[WIDE_N];
        UNROLL
        for (int r = 0; r < HIGH_N; r++)
            left[r] = slices->rows[stage][p][row_N(r)];
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            right[c] = slices->columns[stage][p][column_N(c)];
        UNROLL
        for (int r = 0; r < HIGH_N; r++) {
            UNROLL
            for (int c = 0; c < WIDE_N; c++) {
                //{ step
                sums[r][c] = sums[r][c] + left[r] * right[c];
                //}
            }
        }
    }
}

/* Adds the products of a slice, of which so many points are there. */
INLINE void multiply_N(const Slices_N *slices, int stage, int64_t points, float sums[HIGH_N][WIDE_N])
{
    if (points >= DEPTH_N)
        multiply_points_N(slices, stage, 0, DEPTH_N, sums);
    for (int p = 0; points < DEPTH_N && p < (int)points; p++)
        multiply_points_N(slices, stage, p, p + 1, sums);
}
