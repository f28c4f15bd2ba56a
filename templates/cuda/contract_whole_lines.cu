/* The same where rows may lie side by side: a thread copies some points of one row. */
//---
CONSTANTS(ROWS_OWN_N = 1);

/* Where it begins; whether it is not there. */
//{ keep_head
INLINE int keep_rows_N(const Slices_N *slices, const Frame *f, const partu *from[ROWS_OWN_N])
//}
{
    //{ data
    const partu *data = f->A;
    //}
    const int64_t at = slices->rows_at[threadIdx.x % ROWS_N];
    from[0] = at == INT64_MIN ? data : data + at;
    return at == INT64_MIN;
}

//{ head
INLINE void copy_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, const partu *const from[ROWS_OWN_N])
//}
{
    //{ locals
    (void)f;
    //}
    const int first = (int)threadIdx.x / ROWS_N, r = (int)threadIdx.x % ROWS_N;
    UNROLL
    for (int turn = 0; turn < ROWS_N * DEPTH_N / THREADS; turn++) {
        const int p = first + turn * (THREADS / ROWS_N);
        const int64_t point_at = point + first + turn * (THREADS / ROWS_N);
        //{ offset
        const int64_t offset = point_at;
        //}
        copy_f32(&slices->rows[stage][p][r], from[0] + offset, 1);
    }
}
