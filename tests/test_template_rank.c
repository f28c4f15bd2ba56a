/* templates/rank.c as it stands: the three largest elements of rows of all lengths, in one block and in several. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_all_lengths),
        cmocka_unit_test(sorted_rows),
    };
    return machine_fits() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
