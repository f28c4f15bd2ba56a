/* contract_quick.cu for f64, of which a product of matrices takes so long that what comes next can be on its way from an array to
 * shared memory, and from there to registers. Copies come a few at a time between products: many at once would keep those waiting. */
//---
CONSTANTS(LAST_N = TURNS_N * HIGH_N / 2 - 1);    /* of the 16 rows by 8 points that a slice has for a warp; what is copied comes before it */
//{ copies
//}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on. */
//{ head
INLINE int64_t slices_N(Slices_N *slices, const Frame *f, int64_t depth, float sums[HIGH_N][WIDE_N])
//}
{
    enum { AHEAD = (STAGES_N - 1) * DEPTH_N, HIGH = HIGH_N / 2 };
    const partu *rows_from[ROWS_OWN_N], *columns_from[COLUMNS_OWN_N];
    float left[2][4], right[2][WIDE_N / 2][2];
    const int count = depth < AHEAD ? 0 : (int)size_min((depth - AHEAD) / DEPTH_N, INT32_MAX);
    if (count == 0)
        return 0;
    //{ find
    const int misses = keep_rows_N(slices, f, rows_from) | keep_columns_N(slices, f, columns_from);
    //}
    if (__syncthreads_or(misses))
        return 0;
    copies_wait<STAGES_N - 2>();
    __syncthreads();
    load_right_N(slices, 0, 0, right[0]);
    load_left_N(slices, 0, 0, 0, left[0]);
    for (int slice = 0, now = 0; slice < count; slice++) {
        const int next = now + 1 < STAGES_N ? now + 1 : 0, stage = now > 0 ? now - 1 : STAGES_N - 1;
        const int64_t point = (int64_t)slice * DEPTH_N + AHEAD;
        UNROLL
        for (int portion = 0; portion <= LAST_N; portion++) {
            const int reached = portion == LAST_N ? next : now, turn = (portion + 1) / HIGH % TURNS_N, r = portion % HIGH;
            if (portion == LAST_N) {
                copies_end();
                copies_wait<STAGES_N - 2>();
                __syncthreads();
            }
            if (r == HIGH - 1)
                load_right_N(slices, reached, turn, right[turn % 2]);
            load_left_N(slices, reached, turn, (portion + 1) % HIGH, left[(portion + 1) % 2]);
            if (portion < LAST_N) {
                //{ copy
                copy_rows_N(slices, f, stage, point, portion, rows_from);
                copy_columns_N(slices, f, stage, point, portion, columns_from);
                //}
            }
            add_N(r, left[portion % 2], right[portion / HIGH % 2], sums);
        }
        now = next;
    }
    return (int64_t)count * DEPTH_N;
}
