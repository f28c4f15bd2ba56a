/* What tensor cores do as long as whole slices follow that contract_quick_lines.cu and contract_quick_apart.cu can bring: nothing is
 * asked, and what comes next is begun while products are made. */
//---
//{ copies
//}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on. */
//{ head
INLINE int64_t slices_N(Slices_N *slices, const Frame *f, int64_t depth, float sums[HIGH_N][WIDE_N])
//}
{
    enum { AHEAD = (STAGES_N - 1) * DEPTH_N };
    const partu *rows_from[ROWS_OWN_N], *columns_from[COLUMNS_OWN_N];
    const int count = depth < AHEAD ? 0 : (int)size_min((depth - AHEAD) / DEPTH_N, INT32_MAX);
    if (count == 0)
        return 0;
    //{ find
    const int misses = keep_rows_N(slices, f, rows_from) | keep_columns_N(slices, f, columns_from);
    //}
    if (__syncthreads_or(misses))
        return 0;
    for (int slice = 0, now = 0; slice < count; slice++) {
        const int stage = now > 0 ? now - 1 : STAGES_N - 1;
        const int64_t point = (int64_t)slice * DEPTH_N + AHEAD;
        copies_wait<STAGES_N - 2>();
        __syncthreads();
        //{ multiply
        multiply_N(slices, now, DEPTH_N, sums);
        //}
        //{ copy
        copy_rows_N(slices, f, stage, point, rows_from);
        copy_columns_N(slices, f, stage, point, columns_from);
        //}
        copies_end();
        now = now + 1 < STAGES_N ? now + 1 : 0;
    }
    return (int64_t)count * DEPTH_N;
}
