/* What is the tensor cores' own in contract.cu: a slice has a line for each row and each column, of 16-byte chunks of contracted
 * points. A warp multiplies 16 rows with 8 columns and 32 bytes of points at once: contract_narrow.cu, contract_parts.cu; of f64, 64 bytes: contract_double.cu. */
//---
/* Warps side by side in a tile, and lanes of one; what a warp has of it; a line's chunks, and a chunk's points. */
enum { LANES_N = 4, WARPS_ACROSS_N = COLUMNS_N / WIDE_N / LANES_N };
enum { WARP_ROWS_N = HIGH_N * WARP / LANES_N, WARP_COLUMNS_N = WIDE_N * LANES_N };
enum { CHUNK_N = 16 / sizeof(partu), CHUNKS_N = DEPTH_N / CHUNK_N };

/* What the block has in shared memory: some slices of both operands, and where in its array each row and each column begins. */
typedef struct __align__(16) Slices_N {
    partu rows[STAGES_N][ROWS_N][DEPTH_N], columns[STAGES_N][COLUMNS_N][DEPTH_N];
    int64_t rows_at[ROWS_N], columns_at[COLUMNS_N];
} Slices_N;

/* Where a chunk of a line is: two lines have all banks, so each pair of lines has its chunks in another order. */
INLINE int chunk_N(int line, int chunk)
{
    return (chunk ^ (line / 2 & (CHUNKS_N - 1))) * CHUNK_N;
}

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
