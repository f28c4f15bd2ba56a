/* What plain units do as long as whole slices follow, of operands that are copied as they are: nothing is asked, and what comes next
 * is on its way while a thread multiplies, from an array to shared memory and from there to registers. */
//---
//{ keep
//}

/* Takes slices as long as those are whole that are copied meanwhile. Where to go on. */
//{ head
INLINE int64_t slices_N(Slices_N *slices, const Frame *f, int64_t depth, float sums[HIGH_N][WIDE_N])
//}
{
    enum { AHEAD = (STAGES_N - 1) * DEPTH_N, LAST = DEPTH_N - 1 };
    const partu *rows_from[ROWS_OWN_N], *columns_from[COLUMNS_OWN_N];
    Numbers_N numbers[2];
    int64_t at = 0;
    if (depth < AHEAD + DEPTH_N)
        return 0;
    //{ find
    const int misses = keep_rows_N(slices, f, rows_from) | keep_columns_N(slices, f, columns_from);
    //}
    if (__syncthreads_or(misses))
        return 0;
    copies_wait<STAGES_N - 2>();
    __syncthreads();
    load_N(slices, 0, 0, &numbers[0]);
    for (int now = 0; at + AHEAD + DEPTH_N <= depth; at += DEPTH_N) {
        const int next = now + 1 < STAGES_N ? now + 1 : 0, stage = now > 0 ? now - 1 : STAGES_N - 1;
        const int64_t point = at + AHEAD;
        UNROLL
        for (int p = 0; p < DEPTH_N; p++) {
            if (p == LAST) {
                copies_end();
                copies_wait<STAGES_N - 2>();
                __syncthreads();
            }
            load_N(slices, p < LAST ? now : next, p < LAST ? p + 1 : 0, &numbers[(p + 1) % 2]);
            if (p == 0) {
                //{ rows
                copy_rows_N(slices, f, stage, point, rows_from);
                //}
            }
            if (p == 2) {
                //{ columns
                copy_columns_N(slices, f, stage, point, columns_from);
                //}
            }
            add_N(&numbers[p % 2], sums);
        }
        now = next;
    }
    return at;
}
