/* What a ranking in a sweep or in parts has beside rank.c: a row's candidates wait from block to block, where those of other rows do. */
#include "rank.c"
//---

/* The elements of a row's next block. Behind the last one, and as long as no bound has to be exceeded, the candidates are sorted. */
KERNEL static void rank_on_N(Ranking_N *r, const f32u *x, int64_t count, int64_t place, int is_last)
{
    float *const values = r->values;
    int64_t *const places = r->places;
    rank_N(r, x, count, place);
    if (is_last || !r->exceeds)
        settle_N(r);
    for (int64_t c = 0; r->values != values && c < r->count; c++) {
        values[c] = r->values[c];
        places[c] = r->places[c];
    }
    r->values = values;
    r->places = places;
}
