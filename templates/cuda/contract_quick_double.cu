/* contract_quick.cu for f64, of which a product of matrices takes so long that what comes next can be on its way from an array to
 * shared memory, and from there to registers: before the last rows of a slice are multiplied nobody reads it any more, and the slice
 * that is as many further on as there are stages begins to take its place. */
//---
//{ copies
//}

/* Begins to copy a slice. */
//{ copy_head
INLINE void copy_N(Slices_N *slices, const Frame *f, int stage, int64_t point, const partu *const rows_from[ROWS_OWN_N],
        const partu *const columns_from[COLUMNS_OWN_N])
//}
{
    //{ copy
    copy_rows_N(slices, f, stage, point, rows_from);
    copy_columns_N(slices, f, stage, point, columns_from);
    //}
    copies_end();
}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on: as many slices have begun to come from there as
 * there are stages. */
//{ head
INLINE int64_t slices_N(Slices_N *slices, const Frame *f, int64_t depth, float sums[HIGH_N][WIDE_N])
//}
{
    enum { AHEAD = STAGES_N * DEPTH_N, LAST = HIGH_N / 2 - 1 };
    const partu *rows_from[ROWS_OWN_N], *columns_from[COLUMNS_OWN_N];
    float left[2][4], right[WIDE_N / 2][2], coming[WIDE_N / 2][2];
    const int count = depth < AHEAD ? 0 : (int)size_min((depth - AHEAD) / DEPTH_N, INT32_MAX);
    if (count == 0)
        return 0;
    //{ find
    const int misses = keep_rows_N(slices, f, rows_from) | keep_columns_N(slices, f, columns_from);
    //}
    if (__syncthreads_or(misses))
        return 0;
    //{ begin
    copy_N(slices, f, STAGES_N - 1, AHEAD - DEPTH_N, rows_from, columns_from);
    //}
    copies_wait<STAGES_N - 1>();
    __syncthreads();
    load_right_N(slices, 0, right);
    load_left_N(slices, 0, 0, left[0]);
    for (int slice = 0, stage = 0; slice < count; slice++) {
        const int next = stage + 1 < STAGES_N ? stage + 1 : 0;
        UNROLL
        for (int r = 0; r < LAST; r++) {
            load_left_N(slices, stage, r + 1, left[(r + 1) % 2]);
            add_N(r, left[r % 2], right, sums);
        }
        copies_wait<STAGES_N - 2>();
        __syncthreads();
        //{ next
        copy_N(slices, f, stage, (int64_t)slice * DEPTH_N + AHEAD, rows_from, columns_from);
        //}
        load_right_N(slices, next, coming);
        load_left_N(slices, next, 0, left[1 - LAST % 2]);
        add_N(LAST, left[LAST % 2], right, sums);
        UNROLL
        for (int c = 0; c < WIDE_N / 2; c++) {
            right[c][0] = coming[c][0];
            right[c][1] = coming[c][1];
        }
        UNROLL
        for (int number = 0; number < 4; number++)
            left[0][number] = left[1 - LAST % 2][number];
        stage = next;
    }
    return (int64_t)count * DEPTH_N;
}
