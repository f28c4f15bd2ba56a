/* How rows of a whole slice come to shared memory whose contracted points lie side by side, or anyhow: a thread copies the same
 * point of some rows. The emitter writes the same for columns. */
//---
CONSTANTS(ROWS_OWN_N = ROWS_N * DEPTH_N / THREADS);

/* Where those rows begin; whether one is not there. */
//{ keep_head
INLINE int keep_rows_N(const Slices_N *slices, const Frame *f, const partu *from[ROWS_OWN_N])
//}
{
    //{ data
    const partu *data = f->A;
    //}
    int misses = 0;
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_N; turn++) {
        const int64_t at = slices->rows_at[(int)threadIdx.x / DEPTH_N + turn * (THREADS / DEPTH_N)];
        misses |= at == INT64_MIN;
        from[turn] = at == INT64_MIN ? data : data + at;
    }
    return misses;
}

//{ head
INLINE void copy_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, const partu *const from[ROWS_OWN_N])
//}
{
    //{ locals
    (void)f;
    //}
    const int p = (int)threadIdx.x % DEPTH_N, r = (int)threadIdx.x / DEPTH_N;
    const int64_t point_at = point + p;
    //{ offset
    const int64_t offset = point_at;
    //}
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_N; turn++)
        copy_f32(&slices->rows[stage][p][r + turn * (THREADS / DEPTH_N)], from[turn] + offset, 1);
}
