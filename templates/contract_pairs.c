/* A tile's sums, of two contracted points at a time: the part of contract_vectors.c for tiles of few columns. */
#include "fold.c"
#include "memory.c"
#include "pairs.c"
#include "size.c"
//---
/* The same for points that lie side by side in each row, two at a time, with what the sums start from. A pair of a row's
 * numbers is loaded at once for all lanes, and meets the panel's two rows woven, half of a vector's columns in each of PAIRS
 * vectors: so one load is for twice as many products. Lanes side by side then have sums of every other point, which are added
 * up at the end. */
INLINE void multiply_pairs_N(const int height, const partu *rows, int64_t row_step, const wordu *panel, int64_t depth,
                             const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step,
                             f32v sums[ROWS_N][VECTORS_N])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    f32v parts[ROWS_N][PAIRS_N];
    UNROLL
    for (int r = 0; r < ROWS_N; r++) {
        UNROLL
        for (int v = 0; v < PAIRS_N; v++)
            parts[r][v] = splat_f32v(0);
    }
    UNROLL_TWICE
    for (int64_t k = 0; k + 2 <= depth; k += 2) {
        f32v right[PAIRS_N];
        HOLD_STEPS(one, three, five);
        UNROLL
        for (int point = 0; point < 2; point++) {
            //{ ahead
            PREFETCH(ahead);
            //}
            ahead += ahead_step;
        }
        UNROLL
        for (int v = 0; v < PAIRS_N / 2; v++) {
            const f32v even = load_f32v(panel + v * LANES, 1, LANES), odd = load_f32v(panel + COLUMNS_N + v * LANES, 1, LANES);
            right[2 * v] = weave_f32v(even, odd, 0);
            right[2 * v + 1] = weave_f32v(even, odd, 1);
        }
        //{ half
        //}
        UNROLL
        for (int r = 0; r < ROWS_N; r++) {
            if (r >= height)
                continue;
            const f32v left = splat_pair_f32v((const partu *)row_address(r < 7 ? low : high, one, three, five, r % 7));
            UNROLL
            for (int v = 0; v < PAIRS_N; v++) {
                //{ step
                parts[r][v] = parts[r][v] + left * right[v];
                //}
            }
        }
        low += 2 * sizeof *rows;
        high += 2 * sizeof *rows;
        panel += 2 * COLUMNS_N;
    }
    UNROLL
    for (int r = 0; r < ROWS_N; r++) {
        UNROLL
        for (int v = 0; v < PAIRS_N / 2; v++)
            sums[r][v] = add_pairs_f32v(parts[r][2 * v], parts[r][2 * v + 1]);
        //{ half_sums
        //}
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_N; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_N; v++)
                sums[r][v] = sums[r][v] + load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
    if (depth % 2 != 0)
        multiply_N(height, (const partu *)low, row_step, 1, panel, 1, ahead, ahead_step, sums);
}
