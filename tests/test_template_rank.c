/* templates/rank.c as it stands: the three largest elements of rows of all lengths, in one block and in several; and the best
 * points of templates/place.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "templates.h"

#define KERNEL TARGETED
#include "../templates/rank.c"

enum { LONGEST = 40 * SOME_N };

static float element(int kind)
{
    uint64_t bits = random_bits();
    switch (kind) {
    case 0: return (float)(bits % 1000003);
    case 1: return (float)(bits % 3) * (bits & 64 ? 1 : -1);    /* ties, and zeros of both signs */
    case 2: return bits % 5 == 0 ? NAN : bits % 5 == 1 ? INFINITY : bits % 5 == 2 ? -INFINITY : (float)(bits % 100);
    default: return -INFINITY;
    }
}

/* Whether an element comes before another. */
static bool comes_before(const float *x, int64_t a, int64_t b)
{
    bool better = isnan(x[a]) ? !isnan(x[b]) : x[a] > x[b], worse = isnan(x[b]) ? !isnan(x[a]) : x[b] > x[a];
    return better || (!worse && a < b);
}

static void check_row(const float *x, int64_t count, int64_t block)
{
    static float values[2][ROOM_N + SOME_N];
    static int64_t places[2][ROOM_N + SOME_N];
    Ranking_N r = { values[0], values[1], places[0], places[1], 0, -INFINITY, 0 };
    for (int64_t from = 0; from < count; from += block)
        rank_N(&r, x + from, count - from < block ? count - from : block, from);
    settle_N(&r);
    assert_int_equal(r.count, RANKS_N);
    for (int rank = 0; rank < RANKS_N; rank++) {
        int64_t before = 0;
        for (int64_t i = 0; i < count; i++)
            before += comes_before(x, i, r.places[rank]);
        if (before != rank || memcmp(&r.values[rank], &x[r.places[rank]], sizeof(float)))
            fail_msg("of %lld elements in blocks of %lld: rank %d has element %lld", (long long)count, (long long)block, rank,
                     (long long)r.places[rank]);
    }
}

static void rows_of_all_lengths(void **state)
{
    (void)state;
    static float x[LONGEST];
    for (int64_t count = RANKS_N; count < LONGEST; count += 1 + count / 9)
        for (int kind = 0; kind < 4; kind++) {
            for (int64_t i = 0; i < count; i++)
                x[i] = element(kind);
            check_row(x, count, count);
            check_row(x, count, 1 + count / 3);
            check_row(x, count, 5);
        }
}

static void sorted_rows(void **state)
{
    (void)state;
    static float x[LONGEST];
    for (int turn = -1; turn < 2; turn += 2) {
        for (int64_t i = 0; i < LONGEST; i++)
            x[i] = (float)(turn * i);
        check_row(x, LONGEST, LONGEST);
        check_row(x, LONGEST, 3 * SOME_N + 1);
    }
}

/* ---- the best of some points, one after the other: step_point_… ---- */

enum { POINTS = 7, TURNS = 300 };

static float point(int tame)
{
    float x = element(1);
    return !tame && random_bits() % 3 == 0 ? element(2) : x;
}

static bool is_better(int most, float x, float best)
{
    return isnan(x) ? !isnan(best) : most ? x > best : x < best;
}

static void check_point(const float *x, int count, int most, double best, int64_t place)
{
    int expected = 0;
    for (int k = 1; k < count; k++)
        expected = is_better(most, x[k], x[expected]) ? k : expected;
    if (place != expected || !(best == x[expected] || (isnan(best) && isnan(x[expected]))))
        fail_msg("of %d points, most %d: %g at %lld instead of %g at %d", count, most, best, (long long)place, x[expected], expected);
}

/* All points in two turns, the second of which begins with what the first has found. */
#define CHECK_POINTS(dtype, number, wide, most, tame) \
    do { \
        float x[LANES][POINTS]; \
        number lanes[LANES]; \
        int64_t places[LANES]; \
        dtype##v best = splat_##dtype##v(0); \
        i64v found = splat_i64v(0); \
        for (int l = 0; l < LANES; l++) \
            for (int k = 0; k < POINTS; k++) \
                x[l][k] = point(tame); \
        for (int from = 0; from < POINTS; from += 4) { \
            wide##v points = splat_##wide##v(-1); \
            for (int k = from; k < POINTS && k < from + 4; k++) { \
                dtype##v value; \
                for (int l = 0; l < LANES; l++) \
                    lanes[l] = (number)x[l][k]; \
                FROM_LANES(value, lanes); \
                if (k == 0) \
                    best = value; \
                step_point_##dtype##v(most, tame, &best, &points, value, k - from); \
            } \
            found = found_places_##dtype##v(points, from, found); \
        } \
        LANES_OF(lanes, best); \
        LANES_OF(places, found); \
        for (int l = 0; l < LANES; l++) \
            check_point(x[l], POINTS, most, (double)lanes[l], places[l]); \
    } while (0)

TARGETED static void best_points(void **state)
{
    (void)state;
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK_POINTS(f32, float, i32, 1, 0);
        CHECK_POINTS(f32, float, i32, 0, 0);
        CHECK_POINTS(f32, float, i32, 1, 1);
        CHECK_POINTS(f32, float, i32, 0, 1);
        CHECK_POINTS(f64, double, i64, 1, 0);
        CHECK_POINTS(f64, double, i64, 0, 0);
        CHECK_POINTS(f64, double, i64, 1, 1);
        CHECK_POINTS(f64, double, i64, 0, 1);
        CHECK_POINTS(i32, int32_t, i32, 1, 1);
        CHECK_POINTS(i32, int32_t, i32, 0, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_lengths),
        cmocka_unit_test(sorted_rows),
        cmocka_unit_test(best_points),
    };
    return machine_fits() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
