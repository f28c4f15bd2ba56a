/* How tensor cores multiply f64 numbers in contract.cu, a slice's points 8 at a time. */
//---
CONSTANTS(POINTS_N = 8, TURNS_N = DEPTH_N / POINTS_N);

/* Which of a line's numbers a lane multiplies: of the two of a chunk even lanes have the first and odd ones the second, of two chunks
 * that are half a line apart, so that 16 lanes, of four lines, meet all banks. These are other points than the instruction says, the
 * same on both sides. Lines that are 8 apart have their chunks in the same order. */
INLINE int number_N(int turn, int far)
{
    const int lane = (int)threadIdx.x % WARP, line = lane / LANES_N;
    return chunk_N(line, lane % LANES_N / 2 * (CHUNKS_N / 2) + 2 * turn + far) + lane % 2;
}

/* What a lane multiplies of 16 rows, the r-th of a warp's. */
INLINE void load_left_N(const Slices_N *slices, int stage, int turn, int r, float left[4])
{
    const int near = number_N(turn, 0), far = number_N(turn, 1);
    const partu *upper = slices->rows[stage][warp_row_N() + 16 * r + (int)threadIdx.x % WARP / LANES_N], *lower = upper + 8 * DEPTH_N;
    left[0] = upper[near];
    left[1] = lower[near];
    left[2] = upper[far];
    left[3] = lower[far];
}

/* And of a warp's columns, 8 at a time. */
INLINE void load_right_N(const Slices_N *slices, int stage, int turn, float right[WIDE_N / 2][2])
{
    const int near = number_N(turn, 0), far = number_N(turn, 1);
    const partu *columns = slices->columns[stage][warp_column_N() + (int)threadIdx.x % WARP / LANES_N];
    UNROLL
    for (int c = 0; c < WIDE_N / 2; c++) {
        right[c][0] = columns[8 * c * DEPTH_N + near];
        right[c][1] = columns[8 * c * DEPTH_N + far];
    }
}

/* Adds their products. */
INLINE void add_N(int r, const float left[4], const float right[WIDE_N / 2][2], float sums[HIGH_N][WIDE_N])
{
    UNROLL
    for (int c = 0; c < WIDE_N / 2; c++)
        mma_f64(&sums[2 * r][2 * c], &sums[2 * r + 1][2 * c], left, right[c]);
}

/* Adds the products of a slice; points that are not there are zeros. */
INLINE void multiply_N(const Slices_N *slices, int stage, int64_t points, float sums[HIGH_N][WIDE_N])
{
    float left[4], right[WIDE_N / 2][2];
    (void)points;
    UNROLL
    for (int turn = 0; turn < TURNS_N; turn++) {
        load_right_N(slices, stage, turn, right);
        UNROLL
        for (int r = 0; r < HIGH_N / 2; r++) {
            load_left_N(slices, stage, turn, r, left);
            add_N(r, left, right, sums);
        }
    }
}
