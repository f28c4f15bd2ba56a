/* What a ranking in parts has beside rank.c: the parts' candidates, in order, make one row's. */
#include "rank.c"
//---

/* So many candidates of the next part, of which equals come in the order of their places. */
KERNEL static void merge_ranks_N(Ranking_N *r, const float *values, const int64_t *places, int64_t count)
{
    for (int64_t c = 0; c < count; c++) {
        if (r->count == ROOM_N)
            settle_N(r);
        r->values[r->count] = values[c];
        r->places[r->count++] = places[c];
    }
}
