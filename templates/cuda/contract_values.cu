/* How rows come to shared memory that are computed, or converted: through a thread's registers, where they wait until the slice
 * before is multiplied. The emitter writes the same for columns. */
//---
CONSTANTS(ROWS_EACH_N = (ROWS_N * DEPTH_N + THREADS - 1) / THREADS);

/* Which point, and which row, a number of the slice is of: neighbouring threads take what lies side by side. */
INLINE int rows_point_N(int at)
{
    //{ point_of
    return at % DEPTH_N;
    //}
}

INLINE int rows_place_N(int at)
{
    //{ place_of
    return at / DEPTH_N;
    //}
}

/* The slice from a contracted point on, in registers; zeros where there is nothing. */
//{ head
INLINE void fetch_rows_N(const Frame *f, int64_t row, int64_t rows, int64_t point, int64_t depth, float fetched[ROWS_EACH_N])
//}
{
    //{ locals
    const float *data = f->A;
    //}
    UNROLL
    for (int turn = 0; turn < ROWS_EACH_N; turn++) {
        const int at = turn * THREADS + (int)threadIdx.x;
        const int64_t row_at = row + rows_place_N(at), point_at = point + rows_point_N(at);
        float value = 0;
        if (at < ROWS_N * DEPTH_N && row_at < rows && point_at < depth) {
            //{ value
            value = data[row_at * depth + point_at];
            //}
        }
        fetched[turn] = value;
    }
}

INLINE void put_rows_N(Slices_N *slices, int stage, const float fetched[ROWS_EACH_N])
{
    UNROLL
    for (int turn = 0; turn < ROWS_EACH_N; turn++) {
        const int at = turn * THREADS + (int)threadIdx.x;
        if (at < ROWS_N * DEPTH_N)
            slices->rows[stage][rows_point_N(at)][rows_place_N(at)] = fetched[turn];
    }
}
