/* The same where rows may lie side by side instead: a thread copies some points of some rows, number by number. */
//---
CONSTANTS(ROWS_ONCE_N = ROWS_N * CHUNK_N < THREADS ? ROWS_N : THREADS / CHUNK_N, ROWS_OWN_N = ROWS_N / ROWS_ONCE_N);
CONSTANTS(ROWS_CHUNKS_N = THREADS / CHUNK_N / ROWS_ONCE_N);    /* that threads copy at a time */

/* Where those rows begin; whether one has no place. */
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
        const int64_t at = slices->rows_at[(int)threadIdx.x / CHUNK_N % ROWS_ONCE_N + turn * ROWS_ONCE_N];
        from[turn] = at == INT64_MIN ? data : data + at;
        misses |= at == INT64_MIN;
    }
    return misses;
}

//{ head
INLINE void copy_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, const partu *const from[ROWS_OWN_N])
//}
{
    const int next = (int)threadIdx.x % CHUNK_N, first = (int)threadIdx.x / CHUNK_N % ROWS_ONCE_N;
    const int group = ROWS_CHUNKS_N == 1 ? 0 : (int)threadIdx.x / CHUNK_N / ROWS_ONCE_N;
    //{ locals
    (void)f;
    //}
    UNROLL
    //{ turns
    for (int chunk = 0; chunk < CHUNKS_N; chunk += ROWS_CHUNKS_N) {
    //}
        const int64_t point_at = point + (chunk + group) * CHUNK_N + next;
        //{ offset
        const int64_t offset = point_at;
        //}
        partu *to = slices->rows[stage][first] + chunk_N(first, chunk + group) + next;
        UNROLL
        for (int turn = 0; turn < ROWS_OWN_N; turn++)
            copy_f32(to + turn * ROWS_ONCE_N * DEPTH_N, from[turn] + offset, 1);
    }
}
