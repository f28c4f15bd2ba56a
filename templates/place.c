/* The state of argmax and argmin: one step, several elements at once, and the merge of two. */
#ifndef TEMPLATES_PLACE
#define TEMPLATES_PLACE

#include "arith.c"
#include "complex.c"
#include "fold.c"
#include "integer.c"
#include "mask.c"
#include "extremes.c"
#include "real.c"
#include "real_exp.c"
#include "real_round.c"

/* argmax and argmin: the best element and its place. A NaN is better than any number, and of equals the first place
 * wins, so that neither the order of the elements nor that of merges matters. A state that has seen nothing has the worst
 * element at place 0: if none is better, all are as bad, and the first of them wins. */

//{ better_f32
INLINE int better_f32(int most, float x, float best)
{
    return x != x ? best == best : most ? x > best : x < best;
}
//}

//{ better_f64
INLINE int better_f64(int most, double x, double best)
{
    return x != x ? best == best : most ? x > best : x < best;
}
//}

//{ better_i32
INLINE int better_i32(int most, int32_t x, int32_t best)
{
    return most ? x > best : x < best;
}
//}

//{ better_i64
INLINE int better_i64(int most, int64_t x, int64_t best)
{
    return most ? x > best : x < best;
}
//}

//{ better_bool
INLINE int better_bool(int most, int x, int best)
{
    return most ? x > best : x < best;
}
//}

//{ better_f32v
INLINE boolv better_f32v(int most, f32v x, f32v best)
{
    boolv wins = most ? x > best : x < best;
    return or_boolv(wins, and_boolv(isnan_f32v(x), not_boolv(isnan_f32v(best))));
}
//}

//{ better_f64v
INLINE boolv better_f64v(int most, f64v x, f64v best)
{
    boolv wins = narrow_boolv(most ? x > best : x < best);
    return or_boolv(wins, and_boolv(isnan_f64v(x), not_boolv(isnan_f64v(best))));
}
//}

//{ better_i32v
INLINE boolv better_i32v(int most, i32v x, i32v best)
{
    return most ? x > best : x < best;
}
//}

//{ better_i64v
INLINE boolv better_i64v(int most, i64v x, i64v best)
{
    return narrow_boolv(most ? x > best : x < best);
}
//}

//{ better_boolv
INLINE boolv better_boolv(int most, boolv x, boolv best)
{
    return most ? and_boolv(x, not_boolv(best)) : and_boolv(best, not_boolv(x));
}
//}

//{ merge_place_f32
/* The better of two elements with its place; of equals the one that comes first. */
INLINE void merge_place_f32(int most, float *best, int64_t *place, float other, int64_t other_place)
{
    int wins = better_f32(most, other, *best), ties = !wins && !better_f32(most, *best, other);
    if (wins || (ties && other_place < *place)) {
        *best = other;
        *place = other_place;
    }
}
//}

//{ merge_place_f64
/* The better of two elements with its place; of equals the one that comes first. */
INLINE void merge_place_f64(int most, double *best, int64_t *place, double other, int64_t other_place)
{
    int wins = better_f64(most, other, *best), ties = !wins && !better_f64(most, *best, other);
    if (wins || (ties && other_place < *place)) {
        *best = other;
        *place = other_place;
    }
}
//}

//{ merge_place_i32
/* The better of two elements with its place; of equals the one that comes first. */
INLINE void merge_place_i32(int most, int32_t *best, int64_t *place, int32_t other, int64_t other_place)
{
    int wins = better_i32(most, other, *best), ties = !wins && !better_i32(most, *best, other);
    if (wins || (ties && other_place < *place)) {
        *best = other;
        *place = other_place;
    }
}
//}

//{ merge_place_i64
/* The better of two elements with its place; of equals the one that comes first. */
INLINE void merge_place_i64(int most, int64_t *best, int64_t *place, int64_t other, int64_t other_place)
{
    int wins = better_i64(most, other, *best), ties = !wins && !better_i64(most, *best, other);
    if (wins || (ties && other_place < *place)) {
        *best = other;
        *place = other_place;
    }
}
//}

//{ merge_place_bool
/* The better of two elements with its place; of equals the one that comes first. */
INLINE void merge_place_bool(int most, int *best, int64_t *place, int other, int64_t other_place)
{
    int wins = better_bool(most, other, *best), ties = !wins && !better_bool(most, *best, other);
    if (wins || (ties && other_place < *place)) {
        *best = other;
        *place = other_place;
    }
}
//}

//{ merge_place_f32v
/* The better of two elements with its place, lane by lane; of equals the one that comes first. */
INLINE void merge_place_f32v(int most, f32v *best, i64v *place, f32v other, i64v other_place)
{
    boolv wins = better_f32v(most, other, *best), loses = better_f32v(most, *best, other);
    boolv first = and_boolv(not_boolv(loses), narrow_boolv(other_place < *place));
    boolv takes = or_boolv(wins, first);
    *best = select_f32v(takes, other, *best);
    *place = select_i64v(takes, other_place, *place);
}
//}

//{ merge_place_f64v
/* The better of two elements with its place, lane by lane; of equals the one that comes first. */
INLINE void merge_place_f64v(int most, f64v *best, i64v *place, f64v other, i64v other_place)
{
    boolv wins = better_f64v(most, other, *best), loses = better_f64v(most, *best, other);
    boolv first = and_boolv(not_boolv(loses), narrow_boolv(other_place < *place));
    boolv takes = or_boolv(wins, first);
    *best = select_f64v(takes, other, *best);
    *place = select_i64v(takes, other_place, *place);
}
//}

//{ merge_place_i32v
/* The better of two elements with its place, lane by lane; of equals the one that comes first. */
INLINE void merge_place_i32v(int most, i32v *best, i64v *place, i32v other, i64v other_place)
{
    boolv wins = better_i32v(most, other, *best), loses = better_i32v(most, *best, other);
    boolv first = and_boolv(not_boolv(loses), narrow_boolv(other_place < *place));
    boolv takes = or_boolv(wins, first);
    *best = select_i32v(takes, other, *best);
    *place = select_i64v(takes, other_place, *place);
}
//}

//{ merge_place_i64v
/* The better of two elements with its place, lane by lane; of equals the one that comes first. */
INLINE void merge_place_i64v(int most, i64v *best, i64v *place, i64v other, i64v other_place)
{
    boolv wins = better_i64v(most, other, *best), loses = better_i64v(most, *best, other);
    boolv first = and_boolv(not_boolv(loses), narrow_boolv(other_place < *place));
    boolv takes = or_boolv(wins, first);
    *best = select_i64v(takes, other, *best);
    *place = select_i64v(takes, other_place, *place);
}
//}

//{ merge_place_boolv
/* The better of two elements with its place, lane by lane; of equals the one that comes first. */
INLINE void merge_place_boolv(int most, boolv *best, i64v *place, boolv other, i64v other_place)
{
    boolv wins = better_boolv(most, other, *best), loses = better_boolv(most, *best, other);
    boolv first = and_boolv(not_boolv(loses), narrow_boolv(other_place < *place));
    boolv takes = or_boolv(wins, first);
    *best = select_boolv(takes, other, *best);
    *place = select_i64v(takes, other_place, *place);
}
//}

/* What the best of many elements is found with. */

//{ ahead_f32v
/* Whether x is better than y, or with `ties` as good; no NaN is. */
INLINE boolv ahead_f32v(int most, int ties, f32v x, f32v y)
{
    if (ties)
        return most ? x >= y : x <= y;
    return most ? x > y : x < y;
}
//}

//{ unordered_f32
INLINE int unordered_f32(float x)
{
    return x != x;
}
//}

//{ nearer_f32v
/* The better, and y where either is NaN. */
INLINE f32v nearer_f32v(int most, f32v x, f32v y)
{
    return most ? greater_f32v(x, y) : lesser_f32v(x, y);
}
//}

//{ ahead_f64v
/* Whether x is better than y, or with `ties` as good; no NaN is. */
INLINE boolv ahead_f64v(int most, int ties, f64v x, f64v y)
{
    if (ties)
        return narrow_boolv(most ? x >= y : x <= y);
    return narrow_boolv(most ? x > y : x < y);
}
//}

//{ unordered_f64
INLINE int unordered_f64(double x)
{
    return x != x;
}
//}

//{ nearer_f64v
/* The better, and y where either is NaN. */
INLINE f64v nearer_f64v(int most, f64v x, f64v y)
{
    return most ? greater_f64v(x, y) : lesser_f64v(x, y);
}
//}

//{ ahead_i32v
/* Whether x is better than y, or with `ties` as good. */
INLINE boolv ahead_i32v(int most, int ties, i32v x, i32v y)
{
    if (ties)
        return most ? x >= y : x <= y;
    return most ? x > y : x < y;
}
//}

//{ unordered_i32
INLINE int unordered_i32(int32_t x)
{
    (void)x;
    return 0;
}
//}

//{ nearer_i32v
/* The better. */
INLINE i32v nearer_i32v(int most, i32v x, i32v y)
{
    return most ? max_i32v(x, y) : min_i32v(x, y);
}
//}

//{ ahead_i64v
/* Whether x is better than y, or with `ties` as good. */
INLINE boolv ahead_i64v(int most, int ties, i64v x, i64v y)
{
    if (ties)
        return narrow_boolv(most ? x >= y : x <= y);
    return narrow_boolv(most ? x > y : x < y);
}
//}

//{ unordered_i64
INLINE int unordered_i64(int64_t x)
{
    (void)x;
    return 0;
}
//}

//{ nearer_i64v
/* The better. */
INLINE i64v nearer_i64v(int most, i64v x, i64v y)
{
    return most ? max_i64v(x, y) : min_i64v(x, y);
}
//}

/* The same for several elements at once, each further by `apart` places than the one before, such as a tile's rows: the first
 * `count` of `rows` elements of x, which are `step` apart. Mostly each lane's best is behind what it has seen, which is all that
 * is looked at then. */

//{ row_places
INLINE i64v row_places(i32v row, i64v first, int64_t apart)
{
    return first + CONVERT(row, i64v) * splat_i64v(apart);
}
//}

//{ best_of_all_f32v
INLINE f32v best_of_all_f32v(int most, const f32v *x, const int rows, const int step, int count)
{
    return most ? max_all_f32v(x[0], x, rows, step, count) : min_all_f32v(x[0], x, rows, step, count);
}
//}

//{ place_all_f32v
INLINE void place_all_f32v(int most, f32v *best, i64v *place, const f32v *x, const int rows, const int step, int count,
                          i64v first, int64_t apart)
{
    const f32v top = best_of_all_f32v(most, x, rows, step, count);
    if (all_boolv(ahead_f32v(most, 0, *best, top)))
        return;
    i32v row = splat_i32v(0);
    UNROLL
    for (int i = rows - 1; i >= 0; i--)
        if (i < count)
            row = select_i32v(or_boolv(x[i * step] == top, isnan_f32v(x[i * step])), splat_i32v(i), row);
    merge_place_f32v(most, best, place, top, row_places(row, first, apart));
}
//}

//{ step_row_f32v
/* One row. */
INLINE void step_row_f32v(int most, f32v *best, i32v *row, f32v x, int r)
{
    const boolv wins = better_f32v(most, x, *best);
    *best = select_f32v(wins, x, *best);
    *row = select_i32v(wins, splat_i32v(r), *row);
}
//}

//{ keep_block_f32v
/* Of a block of rows each lane's best, if it is better than what the lane has from those before. */
INLINE void keep_block_f32v(int most, f32v *best, i32v *block, const f32v *x, const int rows, int number)
{
    step_row_f32v(most, best, block, best_of_all_f32v(most, x, rows, 1, rows), number);
}
//}

//{ lanes_of_best_f32v
INLINE boolv lanes_of_best_f32v(int most, f32v lanes, float *best)
{
    *best = most ? fold_max_f32v(lanes) : fold_min_f32v(lanes);
    return or_boolv(lanes == splat_f32v(*best), isnan_f32v(lanes));
}
//}

//{ first_block_f32v
/* The first block that has the best. */
INLINE int32_t first_block_f32v(int most, f32v lanes, i32v block)
{
    float best;
    const boolv have = lanes_of_best_f32v(most, lanes, &best);
    return fold_min_i32v(select_i32v(have, block, splat_i32v(INT32_MAX)));
}
//}

//{ fold_place_f32v
/* The lanes' states as one. */
INLINE void fold_place_f32v(int most, f32v lanes, i64v places, float *best, int64_t *place)
{
    const boolv have = lanes_of_best_f32v(most, lanes, best);
    *place = fold_min_i64v(select_i64v(have, places, splat_i64v(INT64_MAX)));
}
//}

//{ best_of_all_f64v
INLINE f64v best_of_all_f64v(int most, const f64v *x, const int rows, const int step, int count)
{
    return most ? max_all_f64v(x[0], x, rows, step, count) : min_all_f64v(x[0], x, rows, step, count);
}
//}

//{ place_all_f64v
INLINE void place_all_f64v(int most, f64v *best, i64v *place, const f64v *x, const int rows, const int step, int count,
                          i64v first, int64_t apart)
{
    const f64v top = best_of_all_f64v(most, x, rows, step, count);
    if (all_boolv(ahead_f64v(most, 0, *best, top)))
        return;
    i32v row = splat_i32v(0);
    UNROLL
    for (int i = rows - 1; i >= 0; i--)
        if (i < count)
            row = select_i32v(or_boolv(narrow_boolv(x[i * step] == top), isnan_f64v(x[i * step])), splat_i32v(i), row);
    merge_place_f64v(most, best, place, top, row_places(row, first, apart));
}
//}

//{ step_row_f64v
/* One row. */
INLINE void step_row_f64v(int most, f64v *best, i32v *row, f64v x, int r)
{
    const boolv wins = better_f64v(most, x, *best);
    *best = select_f64v(wins, x, *best);
    *row = select_i32v(wins, splat_i32v(r), *row);
}
//}

//{ keep_block_f64v
/* Of a block of rows each lane's best, if it is better than what the lane has from those before. */
INLINE void keep_block_f64v(int most, f64v *best, i32v *block, const f64v *x, const int rows, int number)
{
    step_row_f64v(most, best, block, best_of_all_f64v(most, x, rows, 1, rows), number);
}
//}

//{ lanes_of_best_f64v
INLINE boolv lanes_of_best_f64v(int most, f64v lanes, double *best)
{
    *best = most ? fold_max_f64v(lanes) : fold_min_f64v(lanes);
    return or_boolv(narrow_boolv(lanes == splat_f64v(*best)), isnan_f64v(lanes));
}
//}

//{ first_block_f64v
/* The first block that has the best. */
INLINE int32_t first_block_f64v(int most, f64v lanes, i32v block)
{
    double best;
    const boolv have = lanes_of_best_f64v(most, lanes, &best);
    return fold_min_i32v(select_i32v(have, block, splat_i32v(INT32_MAX)));
}
//}

//{ fold_place_f64v
/* The lanes' states as one. */
INLINE void fold_place_f64v(int most, f64v lanes, i64v places, double *best, int64_t *place)
{
    const boolv have = lanes_of_best_f64v(most, lanes, best);
    *place = fold_min_i64v(select_i64v(have, places, splat_i64v(INT64_MAX)));
}
//}

//{ best_of_all_i32v
INLINE i32v best_of_all_i32v(int most, const i32v *x, const int rows, const int step, int count)
{
    i32v top = x[0];
    UNROLL
    for (int i = 1; i < rows; i++)
        if (i < count)
            top = nearer_i32v(most, x[i * step], top);
    return top;
}
//}

//{ place_all_i32v
INLINE void place_all_i32v(int most, i32v *best, i64v *place, const i32v *x, const int rows, const int step, int count,
                          i64v first, int64_t apart)
{
    const i32v top = best_of_all_i32v(most, x, rows, step, count);
    if (all_boolv(ahead_i32v(most, 0, *best, top)))
        return;
    i32v row = splat_i32v(0);
    UNROLL
    for (int i = rows - 1; i >= 0; i--)
        if (i < count)
            row = select_i32v(x[i * step] == top, splat_i32v(i), row);
    merge_place_i32v(most, best, place, top, row_places(row, first, apart));
}
//}

//{ step_row_i32v
/* One row. */
INLINE void step_row_i32v(int most, i32v *best, i32v *row, i32v x, int r)
{
    const boolv wins = better_i32v(most, x, *best);
    *best = select_i32v(wins, x, *best);
    *row = select_i32v(wins, splat_i32v(r), *row);
}
//}

//{ keep_block_i32v
/* Of a block of rows each lane's best, if it is better than what the lane has from those before. */
INLINE void keep_block_i32v(int most, i32v *best, i32v *block, const i32v *x, const int rows, int number)
{
    step_row_i32v(most, best, block, best_of_all_i32v(most, x, rows, 1, rows), number);
}
//}

//{ lanes_of_best_i32v
INLINE boolv lanes_of_best_i32v(int most, i32v lanes, int32_t *best)
{
    *best = most ? fold_max_i32v(lanes) : fold_min_i32v(lanes);
    return lanes == splat_i32v(*best);
}
//}

//{ first_block_i32v
/* The first block that has the best. */
INLINE int32_t first_block_i32v(int most, i32v lanes, i32v block)
{
    int32_t best;
    const boolv have = lanes_of_best_i32v(most, lanes, &best);
    return fold_min_i32v(select_i32v(have, block, splat_i32v(INT32_MAX)));
}
//}

//{ fold_place_i32v
/* The lanes' states as one. */
INLINE void fold_place_i32v(int most, i32v lanes, i64v places, int32_t *best, int64_t *place)
{
    const boolv have = lanes_of_best_i32v(most, lanes, best);
    *place = fold_min_i64v(select_i64v(have, places, splat_i64v(INT64_MAX)));
}
//}

//{ best_of_all_i64v
INLINE i64v best_of_all_i64v(int most, const i64v *x, const int rows, const int step, int count)
{
    i64v top = x[0];
    UNROLL
    for (int i = 1; i < rows; i++)
        if (i < count)
            top = nearer_i64v(most, x[i * step], top);
    return top;
}
//}

//{ place_all_i64v
INLINE void place_all_i64v(int most, i64v *best, i64v *place, const i64v *x, const int rows, const int step, int count,
                          i64v first, int64_t apart)
{
    const i64v top = best_of_all_i64v(most, x, rows, step, count);
    if (all_boolv(ahead_i64v(most, 0, *best, top)))
        return;
    i32v row = splat_i32v(0);
    UNROLL
    for (int i = rows - 1; i >= 0; i--)
        if (i < count)
            row = select_i32v(narrow_boolv(x[i * step] == top), splat_i32v(i), row);
    merge_place_i64v(most, best, place, top, row_places(row, first, apart));
}
//}

//{ step_row_i64v
/* One row. */
INLINE void step_row_i64v(int most, i64v *best, i32v *row, i64v x, int r)
{
    const boolv wins = better_i64v(most, x, *best);
    *best = select_i64v(wins, x, *best);
    *row = select_i32v(wins, splat_i32v(r), *row);
}
//}

//{ keep_block_i64v
/* Of a block of rows each lane's best, if it is better than what the lane has from those before. */
INLINE void keep_block_i64v(int most, i64v *best, i32v *block, const i64v *x, const int rows, int number)
{
    step_row_i64v(most, best, block, best_of_all_i64v(most, x, rows, 1, rows), number);
}
//}

//{ lanes_of_best_i64v
INLINE boolv lanes_of_best_i64v(int most, i64v lanes, int64_t *best)
{
    *best = most ? fold_max_i64v(lanes) : fold_min_i64v(lanes);
    return narrow_boolv(lanes == splat_i64v(*best));
}
//}

//{ first_block_i64v
/* The first block that has the best. */
INLINE int32_t first_block_i64v(int most, i64v lanes, i32v block)
{
    int64_t best;
    const boolv have = lanes_of_best_i64v(most, lanes, &best);
    return fold_min_i32v(select_i32v(have, block, splat_i32v(INT32_MAX)));
}
//}

//{ fold_place_i64v
/* The lanes' states as one. */
INLINE void fold_place_i64v(int most, i64v lanes, i64v places, int64_t *best, int64_t *place)
{
    const boolv have = lanes_of_best_i64v(most, lanes, best);
    *place = fold_min_i64v(select_i64v(have, places, splat_i64v(INT64_MAX)));
}
//}

//{ step_row_boolv
/* One row. */
INLINE void step_row_boolv(int most, boolv *best, i32v *row, boolv x, int r)
{
    const boolv wins = better_boolv(most, x, *best);
    *best = select_boolv(wins, x, *best);
    *row = select_i32v(wins, splat_i32v(r), *row);
}
//}

/* The same for each of a product's contracted points: the best element beside the number of its point, which is as wide. `tame`:
 * neither the element nor the best one is a NaN. */

#ifndef EINC_AVX512
//{ step_point_f32v
INLINE void step_point_f32v(const int most, const int tame, f32v *best, i32v *point, f32v x, int64_t k)
{
    const boolv wins = tame ? ahead_f32v(most, 0, x, *best) : better_f32v(most, x, *best);
    *best = tame ? nearer_f32v(most, x, *best) : select_f32v(wins, x, *best);
    *point = select_i32v(wins, splat_i32v((int32_t)k), *point);
}
//}
#else
//{ step_point_f32v@avx512
/* Points wait in memory: to store them under a mask is no arithmetic. */
INLINE void step_point_f32v(const int most, const int tame, f32v *best, i32v *point, f32v x, int64_t k)
{
#if EINC_VECTORS && LANES >= 4
    uint16_t wins;
    if (tame && most)
        __asm__("vcmpps $30, %0, %2, %1\n\tvmaxps %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else if (tame)
        __asm__("vcmpps $17, %0, %2, %1\n\tvminps %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else if (most)
        __asm__("vcmpps $7, %0, %0, %1\n\tvcmpps $22, %0, %2, %1%{%1%}\n\tvmovaps %2, %0%{%1%}" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else
        __asm__("vcmpps $7, %0, %0, %1\n\tvcmpps $25, %0, %2, %1%{%1%}\n\tvmovaps %2, %0%{%1%}" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    __asm__("vmovdqu32 %1, %0%{%2%}" : "+m"(*point) : "v"(splat_i32v((int32_t)k)), "Yk"(wins));
#else
    const boolv wins = tame ? ahead_f32v(most, 0, x, *best) : better_f32v(most, x, *best);
    *best = tame ? nearer_f32v(most, x, *best) : select_f32v(wins, x, *best);
    *point = select_i32v(wins, splat_i32v((int32_t)k), *point);
#endif
}
//}
#endif

#ifndef EINC_AVX512
//{ step_point_f64v
INLINE void step_point_f64v(const int most, const int tame, f64v *best, i64v *point, f64v x, int64_t k)
{
    i64v wins = most ? (i64v)(x > *best) : (i64v)(x < *best);
    if (!tame)
        wins |= (i64v)(x != x) & (i64v)(*best == *best);
    *best = tame ? nearer_f64v(most, x, *best) : choose_f64v(wins, x, *best);
    *point = choose_i64v(wins, splat_i64v(k), *point);
}
//}
#else
//{ step_point_f64v@avx512
/* Points wait in memory: to store them under a mask is no arithmetic. */
INLINE void step_point_f64v(const int most, const int tame, f64v *best, i64v *point, f64v x, int64_t k)
{
#if EINC_VECTORS && LANES <= 8
    uint16_t wins;
    if (tame && most)
        __asm__("vcmppd $30, %0, %2, %1\n\tvmaxpd %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else if (tame)
        __asm__("vcmppd $17, %0, %2, %1\n\tvminpd %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else if (most)
        __asm__("vcmppd $7, %0, %0, %1\n\tvcmppd $22, %0, %2, %1%{%1%}\n\tvmovapd %2, %0%{%1%}" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else
        __asm__("vcmppd $7, %0, %0, %1\n\tvcmppd $25, %0, %2, %1%{%1%}\n\tvmovapd %2, %0%{%1%}" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    __asm__("vmovdqu64 %1, %0%{%2%}" : "+m"(*point) : "v"(splat_i64v(k)), "Yk"(wins));
#else
    i64v wins = most ? (i64v)(x > *best) : (i64v)(x < *best);
    if (!tame)
        wins |= (i64v)(x != x) & (i64v)(*best == *best);
    *best = tame ? nearer_f64v(most, x, *best) : choose_f64v(wins, x, *best);
    *point = choose_i64v(wins, splat_i64v(k), *point);
#endif
}
//}
#endif

#ifndef EINC_AVX512
//{ step_point_i32v
INLINE void step_point_i32v(const int most, const int tame, i32v *best, i32v *point, i32v x, int64_t k)
{
    (void)tame;
    const boolv wins = better_i32v(most, x, *best);
    *best = nearer_i32v(most, x, *best);
    *point = select_i32v(wins, splat_i32v((int32_t)k), *point);
}
//}
#else
//{ step_point_i32v@avx512
/* Points wait in memory: to store them under a mask is no arithmetic. */
INLINE void step_point_i32v(const int most, const int tame, i32v *best, i32v *point, i32v x, int64_t k)
{
#if EINC_VECTORS && LANES >= 4
    uint16_t wins;
    (void)tame;
    if (most)
        __asm__("vpcmpgtd %0, %2, %1\n\tvpmaxsd %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    else
        __asm__("vpcmpgtd %2, %0, %1\n\tvpminsd %0, %2, %0" : "+v"(*best), "=&Yk"(wins) : "v"(x));
    __asm__("vmovdqu32 %1, %0%{%2%}" : "+m"(*point) : "v"(splat_i32v((int32_t)k)), "Yk"(wins));
#else
    (void)tame;
    const boolv wins = better_i32v(most, x, *best);
    *best = nearer_i32v(most, x, *best);
    *point = select_i32v(wins, splat_i32v((int32_t)k), *point);
#endif
}
//}
#endif

/* Where points have been found, those from `from` on; where none was, for which -1 stands, the places before. */

//{ found_places_f32v
INLINE i64v found_places_f32v(i32v points, int64_t from, i64v before)
{
    return select_i64v(points < 0, before, CONVERT(points, i64v) + splat_i64v(from));
}
//}

//{ found_places_f64v
INLINE i64v found_places_f64v(i64v points, int64_t from, i64v before)
{
    return select_i64v(narrow_boolv(points < 0), before, points + splat_i64v(from));
}
//}

//{ found_places_i32v
INLINE i64v found_places_i32v(i32v points, int64_t from, i64v before)
{
    return select_i64v(points < 0, before, CONVERT(points, i64v) + splat_i64v(from));
}
//}

#endif
