/* A tile's sums in vectors: the part of contract.c that makes them, and what contract.c says holds here. */
#include "fold.c"
#include "memory.c"
#include "size.c"
#ifndef KERNEL
#define KERNEL
#endif
//---
/* What a tile's sums start from: `start`, where a row's are start_step further than the row's before; with NULL they
 * begin. The sums of rows that a tile has not start, too, and stay so: there are starts for them. */
INLINE void begin_N(const f32u *start, int64_t start_step, f32v sums[ROWS_N][VECTORS_N])
{
    //{ begin
    UNROLL
    for (int r = 0; r < ROWS_N; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_N; v++)
            sums[r][v] = splat_f32v(0);
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_N; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_N; v++)
                sums[r][v] = load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
    //}
}

/* Adds the products of `height` rows and one panel to the sums. A row's points are k_step apart, rows row_step. What is
 * needed next comes nearer meanwhile: `ahead`, so many bytes for each point. Loops over rows are unrolled, so that sums
 * have registers, and left early where a tile is low; a whole one's `height` is a constant, so that it goes without
 * comparisons. Two points at a turn make turns few enough for their end to be foreseen. */
//{ multiply_head
INLINE void multiply_N(const int height, const partu *rows, int64_t row_step, int64_t k_step, const wordu *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, f32v sums[ROWS_N][VECTORS_N])
//}
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    //{ turns
    UNROLL_TWICE
    //}
    for (int64_t k = 0; k < depth; k++) {
        wordv right[VECTORS_N];
        //{ point
        //}
        HOLD_STEPS(one, three, five);
        //{ ahead
        PREFETCH(ahead);
        //}
        ahead += ahead_step;
        //{ next_ahead
        //}
        UNROLL
        //{ columns
        for (int v = 0; v < VECTORS_N; v++)
            right[v] = load_wordv(panel + v * LANES, 1, LANES);
        //}
        UNROLL
        for (int r = 0; r < ROWS_N; r++) {
            if (r >= height)
                continue;
            const partu *at = (const partu *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            //{ left
            const f32v left = splat_f32v(*at);
            //}
            UNROLL
            for (int v = 0; v < VECTORS_N; v++) {
                //{ step
                sums[r][v] = sums[r][v] + left * right[v];
                //}
            }
        }
        //{ next_point
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        //}
        //{ next_columns
        panel += COLUMNS_N;
        //}
    }
}
//{ pairs

#include "contract_pairs.c"
//}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
//{ tile_head
KERNEL static void tile_N(int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel, int64_t depth,
                          const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept, int64_t kept_step)
//}
{
    f32v sums[ROWS_N][VECTORS_N];
    //{ multiply
    if (LANES >= 4 && k_step == 1) {
        multiply_pairs_N(height, rows, row_step, panel, depth, ahead, ahead_step, start, start_step, sums);
    } else {
        begin_N(start, start_step, sums);
        multiply_N(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    }
    //}
    //{ taken
    //}
    UNROLL
    for (int r = 0; r < ROWS_N; r++) {
        //{ kept_rows
        if (r >= height)
            continue;
        //}
        UNROLL
        for (int v = 0; v < VECTORS_N; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}
