/* What a ranking of short rows that lie side by side has beside rank.c: the few best of each row are vectors, sorted. */
#include "rank.c"
//---

/* A vector of elements, of a row each, goes where it belongs among the best of `count` elements before; of equals it is the last. */
INLINE void insert_N(f32v *best, i32v *places, int64_t count, f32v x, int32_t place)
{
    boolv ahead = count < RANKS_N ? first_boolv(LANES) : better_f32v(MOST_N, x, best[RANKS_N - 1]);
    UNROLL
    for (int r = RANKS_N - 1; r > 0; r--) {
        const boolv before = count < r ? first_boolv(LANES) : better_f32v(MOST_N, x, best[r - 1]);
        best[r] = select_f32v(before, best[r - 1], select_f32v(ahead, x, best[r]));
        places[r] = select_i32v(before, places[r - 1], select_i32v(ahead, splat_i32v(place), places[r]));
        ahead = before;
    }
    best[0] = select_f32v(ahead, x, best[0]);
    places[0] = select_i32v(ahead, splat_i32v(place), places[0]);
}
