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
    const int p = (int)threadIdx.x % DEPTH_N, first = (int)threadIdx.x / DEPTH_N;
    const int64_t point_at = point + p;
    const int is_point = point_at < depth;
    //{ offset
    const int64_t offset = point_at;
    //}
    const float *there = is_point ? data + offset : data;
    int64_t from[ROWS_N * DEPTH_N / THREADS];
    UNROLL
    for (int turn = 0; turn < ROWS_N * DEPTH_N / THREADS; turn++)
        from[turn] = slices->rows_at[first + turn * (THREADS / DEPTH_N)];
    UNROLL
    for (int turn = 0; turn < ROWS_N * DEPTH_N / THREADS; turn++) {
        float *to = &slices->rows[stage][p][first + turn * (THREADS / DEPTH_N)];
        //{ copy
        const int is_there = is_point && from[turn] != INT64_MIN;
        copy_f32(to, is_there ? there + from[turn] : data, is_there);
        //}
    }
}
