/* How tensor cores multiply narrow numbers in contract.cu, as they are. */
//---
/* Adds the products of a slice; points that are not there are zeros. */
INLINE void multiply_N(const Slices_N *slices, int stage, int64_t points, float sums[HIGH_N][WIDE_N])
{
    const int lane = (int)threadIdx.x % WARP;
    (void)points;
    UNROLL
    for (int chunk = 0; chunk < CHUNKS_N; chunk += 2) {
        uint32_t left[HIGH_N / 2][4], right[WIDE_N / 4][4];
        UNROLL
        for (int r = 0; r < HIGH_N / 2; r++) {
            const int line = warp_row_N() + r * 16 + lane % 16;
            load_matrices(left[r], slices->rows[stage][line] + chunk_N(line, chunk + lane / 16));
        }
        UNROLL
        for (int c = 0; c < WIDE_N / 4; c++) {
            const int line = warp_column_N() + c * 16 + lane / 16 * 8 + lane % 8;
            load_matrices(right[c], slices->columns[stage][line] + chunk_N(line, chunk + lane / 8 % 2));
        }
        UNROLL
        for (int r = 0; r < HIGH_N / 2; r++) {
            UNROLL
            for (int c = 0; c < WIDE_N / 2; c++) {
                //{ multiply
                mma_bf16(&sums[2 * r][2 * c], &sums[2 * r + 1][2 * c], left[r], &right[c / 2][c % 2 * 2]);
                //}
            }
        }
    }
}
