/* The skeleton of a ranking: topk and its kin, of one step.
 *
 * A row's elements come in blocks. A candidate is an element that is no worse than a bound, which so many elements are known
 * to reach as are ranked: at first one of each of so many groups of the row's first block, later the candidates themselves.
 * They wait, with their places, in the order in which they came; where no more have room the best are sorted out, and the
 * last of those is the new bound, which later elements must exceed. So a vector of worse elements costs a comparison, and
 * sorting has little to do.
 *
 * A NaN is better than any number, and of equals the first to come is.
 *
 * The emitter puts the step's number for N and the dtype for f32. The sample is out[i,r] = topk(3)[j](A[i,j]). */
#include "fold.c"
#include "memory.c"
#include "size.c"
#include "place.c"
typedef struct Frame {
    const f32u *A;
    f32u *out;
    int64_t extent_i, extent_j;
} Frame;
#ifndef KERNEL
#define KERNEL
#endif
//---
//{ title
/* topk(3)[j](A[i,j]) */
//}
//{ constants
enum { RANKS_N = 3, MOST_N = 1, VECTORS_N = 4, SOME_N = VECTORS_N * LANES, RUN_N = 8, ROOM_N = RANKS_N + SOME_N };
enum { GROUPS_N = (RANKS_N * 3 / 2 + LANES - 1) / LANES, PARTS_N = GROUPS_N < 4 ? 4 : 1 };
enum { PLACES_N = GROUPS_N * LANES > RUN_N ? GROUPS_N * LANES : RUN_N };
//}

/* The candidates for a row's best elements. */
typedef struct Ranking_N {
    float *values, *spare;        /* ROOM_N, and some that are read for nothing */
    int64_t *places, *spare_places;
    int64_t count;
    float bound;
    int exceeds;                  /* what is no better than the bound comes too late */
} Ranking_N;

/* How many of `count` values are better than each of some vectors of them. */
INLINE void count_better_N(const float *values, int count, int from, int32_t *order, const int vectors)
{
    f32v own[VECTORS_N];
    i32v better[VECTORS_N];
    UNROLL
    for (int v = 0; v < vectors; v++) {
        own[v] = load_f32v(values + from + v * LANES, 1, LANES);
        better[v] = splat_i32v(0);
    }
    for (int other = 0; other < count; other++) {
        UNROLL
        for (int v = 0; v < vectors; v++)
            better[v] = count_boolv(better[v], ahead_f32v(MOST_N, 0, splat_f32v(values[other]), own[v]));
    }
    UNROLL
    for (int v = 0; v < vectors; v++)
        store_i32v(order + from + v * LANES, 1, better[v], LANES);
}

/* Where each of `count` values stands when they are sorted. Equals are better than as few, and are so many behind that as
 * came before. */
KERNEL static void order_N(const float *values, int count, int32_t *order)
{
    int32_t equals[PLACES_N];
    int odd = 0, seen = 0;
    for (int from = 0; from < count; from += SOME_N) {
        if (count - from <= LANES)
            count_better_N(values, count, from, order, 1);
        else
            count_better_N(values, count, from, order, VECTORS_N);
    }
    for (int c = 0; c < count; c++) {
        odd += unordered_f32(values[c]);
        equals[c] = 0;
    }
    for (int c = 0; c < count; c++) {
        const int32_t better = order[c];
        order[c] = unordered_f32(values[c]) ? seen++ : odd + better + equals[better]++;
    }
}

static void swap_N(Ranking_N *r)
{
    float *values = r->values;
    int64_t *places = r->places;
    r->values = r->spare;
    r->places = r->spare_places;
    r->spare = values;
    r->spare_places = places;
}

/* Sorts pairs of neighbours of `width` candidates, each sorted. */
KERNEL static void merge_pairs_N(Ranking_N *r, int64_t width)
{
    for (int64_t from = 0; from < r->count; from += 2 * width) {
        const int64_t half = size_min(from + width, r->count), end = size_min(half + width, r->count);
        int64_t first = from, second = half;
        for (int64_t at = from; at < end; at++) {
            const int later = second < end && (first == half || better_f32(MOST_N, r->values[second], r->values[first]));
            const int64_t next = later ? second++ : first++;
            r->spare[at] = r->values[next];
            r->spare_places[at] = r->places[next];
        }
    }
    swap_N(r);
}

/* Sorts the candidates, best first, and keeps the best. */
KERNEL static void settle_N(Ranking_N *r)
{
    for (int64_t from = 0; from < r->count; from += RUN_N) {
        int32_t order[RUN_N + SOME_N];
        const int count = (int)size_min(RUN_N, r->count - from);
        order_N(r->values + from, count, order);
        for (int c = 0; c < count; c++) {
            r->spare[from + order[c]] = r->values[from + c];
            r->spare_places[from + order[c]] = r->places[from + c];
        }
    }
    swap_N(r);
    for (int64_t width = RUN_N; width < r->count; width *= 2)
        merge_pairs_N(r, width);
    if (r->count >= RANKS_N) {
        r->count = RANKS_N;
        r->bound = r->values[RANKS_N - 1];
        r->exceeds = 1;
    }
}

/* What at least RANKS_N of the elements reach: each of so many groups has one that does. A group is what one lane sees. */
KERNEL static float bound_N(const f32u *x, int64_t count)
{
    float best[GROUPS_N * LANES + SOME_N];
    int32_t order[GROUPS_N * LANES + SOME_N];
    f32v groups[GROUPS_N * PARTS_N];
    UNROLL
    for (int g = 0; g < GROUPS_N * PARTS_N; g++)
        groups[g] = load_f32v(x + g * LANES, 1, LANES);
    const int64_t step = GROUPS_N * PARTS_N * LANES;
    for (int64_t at = step; at + step <= count; at += step) {
        UNROLL
        for (int g = 0; g < GROUPS_N * PARTS_N; g++)
            groups[g] = nearer_f32v(MOST_N, load_f32v(x + at + g * LANES, 1, LANES), groups[g]);
    }
    for (int g = 0; g < GROUPS_N; g++) {
        for (int p = 1; p < PARTS_N; p++)
            groups[g] = nearer_f32v(MOST_N, groups[p * GROUPS_N + g], groups[g]);
        store_f32v(best + g * LANES, 1, groups[g], LANES);
    }
    order_N(best, GROUPS_N * LANES, order);
    int last = 0;
    while (order[last] != RANKS_N - 1)
        last++;
    return best[last];
}

/* A vector's elements that may be among the best, a bit for each. */
INLINE uint64_t chosen_N(const f32u *x, int lanes, float bound, const int exceeds)
{
    const boolv worse = ahead_f32v(MOST_N, exceeds, splat_f32v(bound), load_f32v(x, 1, lanes));
    return bits_boolv(not_boolv(worse)) & (0xffffffffu >> (32 - lanes));
}

/* Some of the elements at x become candidates. Gives how many there are then. */
INLINE int64_t add_N(Ranking_N *r, int64_t filled, const f32u *x, uint64_t chosen, int64_t place)
{
    for (; chosen; chosen &= chosen - 1) {
        const int at = lowest_bit(chosen);
        r->values[filled] = x[at];
        r->places[filled++] = place + at;
    }
    return filled;
}

/* The elements at x as long as there is room for candidates. Gives how many it has seen. */
INLINE int64_t scan_N(Ranking_N *r, const f32u *x, int64_t count, int64_t place, const int exceeds)
{
    const float bound = r->bound;
    int64_t filled = r->count, at = 0;
    for (; at + SOME_N <= count && filled + SOME_N <= ROOM_N; at += SOME_N) {
        boolv worse = first_boolv(LANES);
        UNROLL
        for (int v = 0; v < VECTORS_N; v++)
            worse = and_boolv(worse, ahead_f32v(MOST_N, exceeds, splat_f32v(bound), load_f32v(x + at + v * LANES, 1, LANES)));
        if (all_boolv(worse))
            continue;
        uint64_t chosen = 0;
        UNROLL
        for (int v = 0; v < VECTORS_N; v++)
            chosen |= chosen_N(x + at + v * LANES, LANES, bound, exceeds) << (v * LANES);
        filled = add_N(r, filled, x + at, chosen, place + at);
    }
    for (; at < count && at + SOME_N > count && filled + SOME_N <= ROOM_N; at += LANES)
        filled = add_N(r, filled, x + at, chosen_N(x + at, (int)size_min(LANES, count - at), bound, exceeds), place + at);
    r->count = filled;
    return size_min(at, count);
}

/* The next `count` elements of a row, the first of them at `place`. */
KERNEL static void rank_N(Ranking_N *r, const f32u *x, int64_t count, int64_t place)
{
    if (r->count == 0 && RANKS_N <= RUN_N && count >= 4 * GROUPS_N * PARTS_N * LANES) {
        const float bound = bound_N(x, count);
        r->bound = better_f32(MOST_N, bound, r->bound) ? bound : r->bound;
    }
    for (int64_t at = 0; at < count;) {
        const f32u *next = x + at;
        at += r->exceeds ? scan_N(r, next, count - at, place + at, 1) : scan_N(r, next, count - at, place + at, 0);
        if (at < count)
            settle_N(r);
    }
}
