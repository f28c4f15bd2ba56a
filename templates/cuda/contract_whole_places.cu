/* As contract_whole_copies.cu, but where rows begin stays in shared memory: where registers
 * are few. */
//---
CONSTANTS(ROWS_OWN_N = 1);

/* Whether one of them is not there. */
//{ keep_head
INLINE int keep_rows_N(const Slices_N *slices, const partu *from[ROWS_OWN_N])
//}
{
    int misses = 0;
    UNROLL
    for (int turn = 0; turn < ROWS_N * DEPTH_N / THREADS; turn++)
        misses |= slices->rows_at[(int)threadIdx.x / DEPTH_N + turn * (THREADS / DEPTH_N)] == INT64_MIN;
    from[0] = NULL;
    return misses;
}

//{ head
INLINE void copy_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, const partu *const from[ROWS_OWN_N])
//}
{
    //{ locals
    const partu *data = f->A;
    //}
    const int p = (int)threadIdx.x % DEPTH_N, r = (int)threadIdx.x / DEPTH_N;
    const int64_t point_at = point + p;
    int64_t places[ROWS_N * DEPTH_N / THREADS];
    //{ offset
    const int64_t offset = point_at;
    //}
    (void)from;
    UNROLL
    for (int turn = 0; turn < ROWS_N * DEPTH_N / THREADS; turn++)
        places[turn] = slices->rows_at[r + turn * (THREADS / DEPTH_N)];
    UNROLL
    for (int turn = 0; turn < ROWS_N * DEPTH_N / THREADS; turn++)
        copy_f32(&slices->rows[stage][p][r + turn * (THREADS / DEPTH_N)], data + offset + places[turn], 1);
}
