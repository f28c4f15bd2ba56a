/* How tensor cores multiply f32 numbers in contract.cu: each is rounded to one of their own, or cut into several that add
 * up to it, the largest first, when it comes to registers. A sum that is infinite, or none, may be so for its parts alone:
 * then the tile is made again, of the numbers themselves. */
//---
//{ constants
CONSTANTS(PARTS_N = 2, POINTS_N = 2);
//}
/* What a lane has of 16 lines by POINTS times 32 bytes, as words of so many numbers: those that are as far on in each 32
 * bytes, which are other points than their place in the word says, the same on both sides. */
INLINE void cut_N(uint32_t numbers[POINTS_N][4], uint32_t words[PARTS_N][4])
{
    UNROLL
    for (int part = 0; part < PARTS_N; part++) {
        UNROLL
        for (int word = 0; word < 4; word++)
            //{ cut
            words[part][word] = part_near_bf16(&numbers[0][word], &numbers[1][word]);
            //}
    }
}

/* Adds the products of one part of all rows and one of 16 columns. */
INLINE void add_N(const uint32_t left[HIGH_N / 2][PARTS_N][4], int part, const uint32_t right[4], int c,
        float sums[HIGH_N][WIDE_N])
{
    UNROLL
    for (int r = 0; r < HIGH_N / 2; r++) {
        UNROLL
        for (int c_at = 0; c_at < 4; c_at += 2) {
            //{ add
            mma_bf16(&sums[2 * r][4 * c + c_at], &sums[2 * r + 1][4 * c + c_at], left[r][part], right + c_at);
            //}
        }
    }
}

/* Adds the products of a slice's numbers themselves. */
INLINE void multiply_whole_N(const Slices_N *slices, int stage, int64_t points, float sums[HIGH_N][WIDE_N])
{
    for (int p = 0; p < size_min(points, DEPTH_N); p++) {
        float left[HIGH_N], right[WIDE_N];
        UNROLL
        for (int r = 0; r < HIGH_N; r++)
            left[r] = slices->rows[stage][row_N(r)][chunk_N(row_N(r), p / CHUNK_N) + p % CHUNK_N];
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            right[c] = slices->columns[stage][column_N(c)][chunk_N(column_N(c), p / CHUNK_N) + p % CHUNK_N];
        UNROLL
        for (int r = 0; r < HIGH_N; r++) {
            UNROLL
            for (int c = 0; c < WIDE_N; c++)
                sums[r][c] += left[r] * right[c];
        }
    }
}

/* Adds the products of a slice's parts, small ones first; points that are not there are zeros. */
INLINE void multiply_parts_N(const Slices_N *slices, int stage, float sums[HIGH_N][WIDE_N])
{
    const int lane = (int)threadIdx.x % WARP;
    UNROLL
    for (int chunk = 0; chunk < CHUNKS_N; chunk += 2 * POINTS_N) {
        uint32_t numbers[POINTS_N][4], left[HIGH_N / 2][PARTS_N][4], right[PARTS_N][4];
        UNROLL
        for (int r = 0; r < HIGH_N / 2; r++) {
            const int line = warp_row_N() + r * 16 + lane % 16;
            UNROLL
            for (int next = 0; next < POINTS_N; next++)
                load_matrices(numbers[next], slices->rows[stage][line] + chunk_N(line, chunk + 2 * next + lane / 16));
            cut_N(numbers, left[r]);
        }
        UNROLL
        for (int c = 0; c < WIDE_N / 4; c++) {
            const int line = warp_column_N() + c * 16 + lane / 16 * 8 + lane % 8;
            UNROLL
            for (int next = 0; next < POINTS_N; next++)
                load_matrices(numbers[next], slices->columns[stage][line] + chunk_N(line, chunk + 2 * next + lane / 8 % 2));
            cut_N(numbers, right);
            //{ pairs
            add_N(left, 0, right[1], c, sums);
            add_N(left, 1, right[0], c, sums);
            add_N(left, 0, right[0], c, sums);
            //}
        }
    }
}

INLINE void multiply_N(const Slices_N *slices, int stage, int64_t points, int is_whole, float sums[HIGH_N][WIDE_N])
{
    if (is_whole)
        multiply_whole_N(slices, stage, points, sums);
    else
        multiply_parts_N(slices, stage, sums);
}

/* Whether a sum is infinite or none. All threads have the same answer. */
INLINE int is_odd_N(const float sums[HIGH_N][WIDE_N])
{
    int is_odd = 0;
    UNROLL
    for (int r = 0; r < HIGH_N; r++) {
        UNROLL
        for (int c = 0; c < WIDE_N; c++)
            is_odd |= sums[r][c] - sums[r][c] != 0;
    }
    return __syncthreads_or(is_odd);
}
