/* How tensor cores multiply f64 numbers in contract.cu. */
//---
/* Adds the products of a slice; points that are not there are zeros. Of the two numbers of a chunk even lanes have the first and
 * odd ones the second, of two chunks: so 16 lanes, of four lines, meet all banks. These are other points than the instruction
 * says, the same on both sides. Lines that are 8 apart have their chunks in the same order. */
INLINE void multiply_N(const Slices_N *slices, int stage, int64_t points, float sums[HIGH_N][WIDE_N])
{
    const int lane = (int)threadIdx.x % WARP, line = lane / LANES_N, chunk = lane % LANES_N / 2 * 2;
    const int near = chunk_N(line, chunk) + lane % 2, far = chunk_N(line, chunk + 1) + lane % 2;
    const partu *rows = slices->rows[stage][warp_row_N() + line], *columns = slices->columns[stage][warp_column_N() + line];
    float left[HIGH_N / 2][4];
    (void)points;
    UNROLL
    for (int r = 0; r < HIGH_N / 2; r++) {
        const partu *upper = rows + 16 * r * DEPTH_N, *lower = upper + 8 * DEPTH_N;
        left[r][0] = upper[near];
        left[r][1] = lower[near];
        left[r][2] = upper[far];
        left[r][3] = lower[far];
    }
    UNROLL
    for (int c = 0; c < WIDE_N / 2; c++) {
        const float right[2] = { columns[8 * c * DEPTH_N + near], columns[8 * c * DEPTH_N + far] };
        UNROLL
        for (int r = 0; r < HIGH_N / 2; r++)
            mma_f64(&sums[2 * r][2 * c], &sums[2 * r + 1][2 * c], left[r], right);
    }
}
