/* How rows of a whole slice come to shared memory for tensor cores whose contracted points lie side by side: a thread copies the same
 * chunk of some rows. The emitter writes the same for columns. */
//---
CONSTANTS(ROWS_OWN_N = ROWS_N * CHUNKS_N / THREADS);

/* Where those rows begin; whether one has no place, or no 16-byte chunks. */
//{ keep_head
INLINE int keep_rows_N(const Slices_N *slices, const Frame *f, const partu *from[ROWS_OWN_N])
//}
{
    //{ data
    const partu *data = f->A;
    //}
    //{ misses
    int misses = 0;
    //}
    UNROLL
    for (int turn = 0; turn < ROWS_OWN_N; turn++) {
        const int64_t at = slices->rows_at[(int)threadIdx.x / CHUNKS_N + turn * (THREADS / CHUNKS_N)];
        from[turn] = at == INT64_MIN ? data : data + at;
        misses |= at == INT64_MIN || (uint64_t)from[turn] % 16 != 0;
    }
    return misses;
}

/* These rows have their chunks in the same order. */
//{ head
INLINE void copy_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, const partu *const from[ROWS_OWN_N])
//}
{
    const int chunk = (int)threadIdx.x % CHUNKS_N, first = (int)threadIdx.x / CHUNKS_N;
    const int64_t point_at = point + chunk * CHUNK_N;
    //{ locals
    (void)f;
    //}
    //{ offset
    const int64_t offset = point_at;
    //}
    partu *to = slices->rows[stage][first] + chunk_N(first, chunk);
    UNROLL
    //{ turns
    for (int turn = 0; turn < ROWS_OWN_N; turn++)
    //}
        copy_line(to + turn * (THREADS / CHUNKS_N) * DEPTH_N, from[turn] + offset, 16);
}
