/* The same where rows may lie side by side: 16 bytes at a time where a line of them does. */
//---
//{ find
//}

/* Begins to copy the slice from a contracted point on. */
//{ head
INLINE void fetch_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, int64_t depth)
//}
{
    //{ locals
    const float *data = f->A;
    //}
    UNROLL_SOME
    for (int at = (int)threadIdx.x; at < ROWS_N / PAD_N * DEPTH_N; at += THREADS) {
        const int p = at / (ROWS_N / PAD_N), r = at % (ROWS_N / PAD_N) * PAD_N;
        const int64_t point_at = point + p, from = slices->rows_at[r];
        int is_line = from != INT64_MIN && point_at < depth;
        //{ offset
        const int64_t offset = point_at;
        //}
        for (int next = 1; next < PAD_N; next++)
            is_line &= slices->rows_at[r + next] == from + next;
        if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
            copy_line(&slices->rows[stage][p][r], data + from + offset, 16);
            continue;
        }
        for (int next = 0; next < PAD_N; next++) {
            const int64_t one = slices->rows_at[r + next];
            const int is_there = one != INT64_MIN && point_at < depth;
            copy_f32(&slices->rows[stage][p][r + next], is_there ? data + one + offset : data, is_there);
        }
    }
}
