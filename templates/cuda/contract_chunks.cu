/* How narrow rows come to shared memory: 16 bytes at a time where so many contracted points lie side by side, else one by one. The
 * emitter writes the same for columns. Where contract_quick_lines.cu or contract_quick_apart.cu bring whole slices, this is for the
 * others. */
//---
//{ find
//}

/* Begins to copy the slice from a contracted point on; points that are not there are zeros. */
//{ head
INLINE void fetch_rows_N(Slices_N *slices, const Frame *f, int stage, int64_t point, int64_t depth)
//}
{
    //{ locals
    const partu *data = f->A;
    //}
    //{ unroll
    UNROLL_TWICE
    //}
    for (int at = (int)threadIdx.x; at < ROWS_N * CHUNKS_N; at += THREADS) {
        const int chunk = at % CHUNKS_N, r = at / CHUNKS_N;
        const int64_t point_at = point + chunk * CHUNK_N, from = slices->rows_at[r];
        const int count = from == INT64_MIN ? 0 : (int)size_min(depth - point_at, CHUNK_N);
        partu *to = slices->rows[stage][r] + chunk_N(r, chunk);
        if (count > 0) {
            //{ offset
            const int64_t offset = point_at;
            const int is_line = 1;
            //}
            if (is_line && (uint64_t)(data + from + offset) % 16 == 0) {
                copy_line(to, data + from + offset, count * (int)sizeof(partu));
                continue;
            }
        }
        for (int next = 0; next < CHUNK_N; next++) {
            const int64_t next_at = point_at + next;
            //{ one
            partu value = 0;
            if (next < count)
                value = data[from + next_at];
            to[next] = value;
            //}
        }
    }
}
