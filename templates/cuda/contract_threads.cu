/* Which of a tile's rows and columns a thread of plain units has: contract_plain.cu, contract_brief.cu. */
//---
/* Threads one above the other and side by side in a tile, and lanes of a warp side by side. */
CONSTANTS(DOWN_N = ROWS_N / HIGH_N, ACROSS_N = COLUMNS_N / WIDE_N);
CONSTANTS(LANES_N = ACROSS_N < 8 ? ACROSS_N : 8, WARPS_ACROSS_N = ACROSS_N / LANES_N);

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
