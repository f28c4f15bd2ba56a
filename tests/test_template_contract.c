/* templates/contract.c as it stands: its sample, out[i,j] = sum[k](A[i,k] * B[j,k]), for all edges of its tiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "templates.h"

#define KERNEL TARGETED
#include "../templates/contract.c"

enum { MOST = 70 };

static void check_sizes(int64_t rows, int64_t columns, int64_t depth)
{
    static float a[MOST * MOST], b[MOST * MOST], out[MOST * MOST];
    static float panel[(MOST + COLUMNS_N) * MOST], packed[ROWS_N * MOST], tile[ROWS_N * COLUMNS_N];
    for (int64_t i = 0; i < MOST * MOST; i++) {
        a[i] = (float)(random_bits() % 17) - 8;
        b[i] = (float)(random_bits() % 17) - 8;
        out[i] = NAN;
    }
    Frame f = { a, b, out, rows, columns, depth };
    step_N(&f, panel, packed, tile);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            float sum = 0;    /* of small integers: exact in any order */
            for (int64_t k = 0; k < depth; k++)
                sum += a[i * depth + k] * b[j * depth + k];
            if (out[i * columns + j] != sum)
                fail_msg("%lld x %lld x %lld: [%lld,%lld] is %g instead of %g", (long long)rows, (long long)columns,
                         (long long)depth, (long long)i, (long long)j, out[i * columns + j], sum);
        }
    for (int64_t i = rows * columns; i < MOST * MOST; i++)
        assert_true(isnan(out[i]));
}

static void tiles_of_all_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 3, 5, 6, 7, 11, 12, 13, 16, 17, 31, 32, 33, 63, 64, 65, 70 };
    int count = sizeof sizes / sizeof *sizes;
    for (int r = 0; r < count; r++)
        for (int c = 0; c < count; c++)
            for (int d = 0; d < count; d += 1 + (r + c) % 3)
                check_sizes(sizes[r], sizes[c], sizes[d]);
    check_sizes(0, 5, 3);
    check_sizes(5, 0, 3);
    check_sizes(7, 9, 0);
}

/* size_in_bands() goes through each plane's units once, a band after the other. */
static void units_in_bands(void **state)
{
    (void)state;
    enum { PLANES = 3, SIDE_MOST = 9 };
    for (int64_t inner = 1; inner <= SIDE_MOST; inner++)
        for (int64_t outer = 1; outer <= SIDE_MOST; outer++)
            for (int64_t band = 1; band <= SIDE_MOST; band++) {
                bool seen[PLANES * SIDE_MOST * SIDE_MOST] = { false };
                for (int64_t n = 0, last = 0; n < PLANES * inner * outer; n++) {
                    int64_t unit = size_in_bands(n, inner, outer, band), at = unit / (inner * outer) * inner + unit % inner / band * band;
                    assert_true(unit >= 0 && unit < PLANES * inner * outer && !seen[unit] && at >= last);
                    seen[unit] = true;
                    last = at;
                }
            }
}

static void points_in_two_turns(void **state)
{
    (void)state;
    enum { DEPTH = 9, FIRST = 4, STEP = COLUMNS_N + 3 };
    static float a[ROWS_N * DEPTH], panel[DEPTH * COLUMNS_N], whole[ROWS_N * COLUMNS_N], kept[ROWS_N * STEP];
    float start[COLUMNS_N];
    for (int i = 0; i < ROWS_N * DEPTH; i++)
        a[i] = (float)(random_bits() % 17) - 8;
    for (int i = 0; i < DEPTH * COLUMNS_N; i++)
        panel[i] = (float)(random_bits() % 17) - 8;
    for (int c = 0; c < COLUMNS_N; c++)
        start[c] = (float)c;
    for (int height = 1; height <= ROWS_N; height++) {
        tile_N(height, a, DEPTH, 1, panel, DEPTH, (const char *)a, 0, start, 0, whole, COLUMNS_N);
        tile_N(height, a, DEPTH, 1, panel, FIRST, (const char *)a, 0, start, 0, kept, STEP);
        tile_N(height, a + FIRST, DEPTH, 1, panel + FIRST * COLUMNS_N, DEPTH - FIRST, (const char *)a, 0, kept, STEP,
               kept, STEP);
        for (int r = 0; r < height; r++)
            assert_memory_equal(whole + r * COLUMNS_N, kept + r * STEP, COLUMNS_N * sizeof(float));
    }
}

/* Rows whose points lie side by side are taken two points at a time; those that lie apart give the same. */
static void points_apart(void **state)
{
    (void)state;
    enum { DEPTH = 9, STRIDE = 3 };
    static float near[ROWS_N * DEPTH], far[ROWS_N * DEPTH * STRIDE], panel[DEPTH * COLUMNS_N], tiles[2][ROWS_N * COLUMNS_N];
    for (int i = 0; i < ROWS_N * DEPTH; i++)
        near[i] = far[i * STRIDE] = (float)(random_bits() % 17) - 8;
    near[DEPTH] = far[DEPTH * STRIDE] = INFINITY;
    near[2 * DEPTH - 1] = far[(2 * DEPTH - 1) * STRIDE] = -INFINITY;    /* the last one, which is in no pair */
    for (int i = 0; i < DEPTH * COLUMNS_N; i++)
        panel[i] = (float)(random_bits() % 17) - 8;
    for (int64_t depth = 0; depth <= DEPTH; depth++)
        for (int height = 1; height <= ROWS_N; height++) {
            tile_N(height, near, DEPTH, 1, panel, depth, (const char *)near, 0, NULL, 0, tiles[0], COLUMNS_N);
            tile_N(height, far, DEPTH * STRIDE, STRIDE, panel, depth, (const char *)far, 0, NULL, 0, tiles[1], COLUMNS_N);
            for (int i = 0; i < height * COLUMNS_N; i++)
                assert_true(tiles[0][i] == tiles[1][i] || (isnan(tiles[0][i]) && isnan(tiles[1][i])));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_of_all_sizes),
        cmocka_unit_test(units_in_bands),
        cmocka_unit_test(points_in_two_turns),
        cmocka_unit_test(points_apart),
    };
    return machine_fits() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
