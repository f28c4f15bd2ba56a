/* What is the tensor cores' own in contract.cu: a slice has a line for each row and each column, of 16-byte chunks of contracted
 * points. A warp multiplies 16 rows with 8 columns and 32 bytes of points at once: contract_narrow.cu, contract_parts.cu; of f64, 64
 * bytes: contract_double.cu. */
//---
//{ places
#include "contract_places.cu"
//}
/* A line's chunks, and a chunk's points. */
CONSTANTS(CHUNK_N = 16 / sizeof(partu), CHUNKS_N = DEPTH_N / CHUNK_N);

/* What the block has in shared memory: some slices of both operands, and where in its array each row and each column begins. */
typedef struct __align__(16) Slices_N {
    partu rows[STAGES_N][ROWS_N][DEPTH_N], columns[STAGES_N][COLUMNS_N][DEPTH_N];
    int64_t rows_at[ROWS_N], columns_at[COLUMNS_N];
} Slices_N;

/* Where a chunk of a line is: 8 of them have all banks, so each 8 chunks' lines have them in another order. */
INLINE int chunk_N(int line, int chunk)
{
    return (chunk ^ (line * CHUNKS_N / 8 & (CHUNKS_N - 1))) * CHUNK_N;
}
