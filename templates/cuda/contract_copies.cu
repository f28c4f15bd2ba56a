/* How rows come to shared memory that are read as they are: by copies that need no register. Where a row begins is found once for
 * a tile, and how far on a contracted point is, for all rows. The emitter writes the same for columns. */
//---
//{ find
//}

/* Begins to copy the slice from a contracted point on: number by number, neighbouring threads neighbouring points. */
//{ head
INLINE void fetch_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, int64_t depth)
//}
{
    //{ locals
    const float *data = f->A;
    //}
    UNROLL_SOME
    for (int at = (int)threadIdx.x; at < ROWS_N * DEPTH_N; at += THREADS) {
        const int p = at % DEPTH_N, r = at / DEPTH_N;
        const int64_t point_at = point + p, from = slices->rows_at[r];
        const int is_there = from != INT64_MIN && point_at < depth;
        //{ offset
        const int64_t offset = point_at;
        //}
        copy_f32(&slices->rows[stage][p][r], is_there ? data + from + offset : data, is_there);
    }
}
