/* Where a thread's sums are in a tile whose products tensor cores make: contract_mma.cu, contract_squares.cu. */
//---
/* Warps side by side in a tile, and lanes of one; what a warp has of it. */
CONSTANTS(LANES_N = 4, WARPS_ACROSS_N = COLUMNS_N / WIDE_N / LANES_N);
CONSTANTS(WARP_ROWS_N = HIGH_N * WARP / LANES_N, WARP_COLUMNS_N = WIDE_N * LANES_N);

/* The first row and column of a warp. */
INLINE int warp_row_N(void)
{
    return (int)threadIdx.x / WARP / WARPS_ACROSS_N * WARP_ROWS_N;
}

INLINE int warp_column_N(void)
{
    return (int)threadIdx.x / WARP % WARPS_ACROSS_N * WARP_COLUMNS_N;
}

/* Which of the tile's rows, or columns, is a thread's r-th: of 16 rows and 8 columns it has rows 8 apart, and two columns. */
INLINE int row_N(int r)
{
    return warp_row_N() + r / 2 * 16 + r % 2 * 8 + (int)threadIdx.x % WARP / LANES_N;
}

INLINE int column_N(int c)
{
    return warp_column_N() + c / 2 * 8 + (int)threadIdx.x % LANES_N * 2 + c % 2;
}
