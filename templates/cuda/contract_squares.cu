/* Squared distances of few points on tensor cores of f64, for sums of their powers in contract_brief.cu:
 * |a - b|^2 = |a|^2 + |b|^2 - 2 a b. Of points that are near enough to 0 f64 loses so little by it that a power, exp(-k |a - b|^2),
 * is off by 2^-25 of it. Sums are made again as others are where a row or a column is farther.
 *
 * All numbers are 2^-448 times as large as they are. So the exponent of a product has the bits of an f32's, and a distance becomes one
 * by a shift, toward zero: half a last place is added before. */
//---
CONSTANTS(SETS_N = POINTS_N / 4 + 1);

/* What rows are multiplied with: a lane's number of each 8 columns; and what the distances of a thread's columns begin with, for two
 * rows. */
typedef struct Near_N {
    double right[SETS_N][WIDE_N / 2], begin[WIDE_N / 2][4];
} Near_N;

//{ far
INLINE int is_far_N(double square)
{
    return !(square <= 33554432);
}
//}

/* The tile's columns, which lie where rows will, become those. They have the factor of the power's argument, and rows do not. Whether
 * one is far. */
INLINE int spread_N(const Slices_N *slices, Near_N *near)
{
    const int lane = (int)threadIdx.x % WARP, point = lane % LANES_N;
    //{ scale
    const double down = 1.3762e-135, scale = down;
    //}
    int is_far = 0;
    UNROLL
    for (int c = 0; c < WIDE_N; c++) {
        double square = 0;
        UNROLL
        for (int p = 0; p < POINTS_N; p++) {
            const double number = slices->rows[1][p][column_N(c)];
            square += number * number;
        }
        is_far |= is_far_N(square);
        near->begin[c / 2][c % 2] = square * down * scale;
        near->begin[c / 2][c % 2 + 2] = of_lane_f64(near->begin[c / 2][c % 2], lane);    /* in registers of its own */
    }
    UNROLL
    for (int set = 0; set < SETS_N; set++) {
        UNROLL
        for (int c = 0; c < WIDE_N; c += 2) {
            const int p = 4 * set + point, column = warp_column_N() + c / 2 * 8 + lane / LANES_N;
            near->right[set][c / 2] = p < POINTS_N ? -2 * scale * slices->rows[1][p][column] : p == POINTS_N ? scale : 0;
        }
    }
    return is_far;
}

/* The rows that this thread has copied: their points, and |b|^2. Whether one is far. */
INLINE int widen_N(Slices_N *slices, int stage)
{
    //{ down
    const double down = 1.3762e-135;
    //}
    int is_far = 0;
    UNROLL
    for (int turn = 0; turn < CHUNK_N / THREADS; turn++) {
        const int r = turn * THREADS + (int)threadIdx.x;
        double *numbers = slices->numbers[stage][r], square = 0;
        UNROLL
        for (int p = 0; p < POINTS_N; p++) {
            const double number = slices->rows[stage][p][r];
            numbers[p] = number * down;
            square += number * number;
        }
        UNROLL
        for (int p = POINTS_N; p < 4 * SETS_N; p++)
            numbers[p] = p == POINTS_N ? square * down : 0;
        is_far |= is_far_N(square);
    }
    return is_far;
}

/* The arguments of powers, but for their sign, of a thread's row and the next one. */
INLINE void squares_N(const Slices_N *slices, int stage, int row, const Near_N *near, float squares[2][WIDE_N])
{
    const int point = (int)threadIdx.x % LANES_N;
    double left[SETS_N][2];
    UNROLL
    for (int set = 0; set < SETS_N; set++) {
        left[set][0] = slices->numbers[stage][row][4 * set + point];
        left[set][1] = slices->numbers[stage][row + 8][4 * set + point];
    }
    UNROLL
    for (int c = 0; c < WIDE_N; c += 2) {
        double square[4];
        mma_f64_few(square, near->begin[c / 2], left[0], near->right[0][c / 2]);
        UNROLL
        for (int set = 1; set < SETS_N; set++)
            mma_f64_few(square, square, left[set], near->right[set][c / 2]);
        UNROLL
        for (int sum = 0; sum < 4; sum++)
            squares[sum / 2][c + sum % 2] = size_up_f32(square[sum]);
    }
}
