/* What is the tensor cores' own in fuse.cu: values have a line for each of the first product's columns, of 16-byte chunks. What a
 * lane has of two times 8 columns of sums is what it has to have of 16 points of a left operand: factors stay where they are, and
 * are taken apart into numbers of 16 bits that add up to them. What is infinite, or none, meets the first of these alone. */
//---
CONSTANTS(LINES_N = COLUMNS_N, CHUNK_N = 16 / sizeof(partu), CHUNKS_N = DEPTH_N / CHUNK_N);
/* A line of 8 chunks has all banks: so many lines do, and so many have their chunks in different orders. */
CONSTANTS(LINES_OF_BANKS_N = CHUNKS_N < 8 ? 8 / CHUNKS_N : 1, ORDERS_N = CHUNKS_N < 8 ? CHUNKS_N : 8);

/* What the block has of the values in shared memory, and where in its array each line begins. */
typedef struct __align__(16) Slices_N {
    partu columns[1][COLUMNS_N][DEPTH_N];
    int64_t columns_at[COLUMNS_N];
} Slices_N;

/* Where a chunk of a line is. */
INLINE int chunk_N(int line, int chunk)
{
    return (chunk ^ (line / LINES_OF_BANKS_N & (ORDERS_N - 1))) * CHUNK_N;
}

/* Which of the tile's values is a thread's c-th. */
INLINE int value_N(int c)
{
    return c / 2 * 8 + (int)threadIdx.x % LANES_N * 2 + c % 2;
}

/* Adds the products of factors and values; those of columns that are not there are zeros. */
INLINE void multiply_values_N(const Slices_N *slices, int64_t points, float factors[HIGH_N][FACTORS_N], float products[HIGH_N][WIDE_N])
{
    const int lane = (int)threadIdx.x % WARP;
    (void)points;
    UNROLL
    for (int k = 0; k < LINES_N / 16; k++) {
        uint32_t left[PARTS_N][HIGH_N / 2][4];
        UNROLL
        for (int r = 0; r < HIGH_N / 2; r++) {
            UNROLL
            for (int word = 0; word < 4; word++) {
                float *pair = &factors[2 * r + word % 2][4 * k + word / 2 * 2];
                UNROLL
                for (int part = 0; part < PARTS_N; part++)
                    left[part][r][word] = part_bf16(&pair[0], &pair[1]);
            }
        }
        UNROLL
        for (int c = 0; c < WIDE_N / 4; c++) {
            uint32_t right[4], finite[4];
            const int line = 16 * k + lane % 16;
            load_matrices_turned(right, slices->columns[0][line] + chunk_N(line, 2 * c + lane / 16));
            UNROLL
            for (int word = 0; word < 4; word++)
                finite[word] = finite_bf16(right[word]);
            UNROLL
            for (int part = PARTS_N - 1; part >= 0; part--) {
                const uint32_t *numbers = part > 0 ? finite : right;
                UNROLL
                for (int r = 0; r < HIGH_N / 2; r++) {
                    mma_bf16(&products[2 * r][4 * c], &products[2 * r + 1][4 * c], left[part][r], numbers);
                    mma_bf16(&products[2 * r][4 * c + 2], &products[2 * r + 1][4 * c + 2], left[part][r], numbers + 2);
                }
            }
        }
    }
}
