/* templates/extremes.c as it stands, for every vector length and instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "templates.h"
#include "../templates/extremes.c"

enum { ROUNDS = 4000, MOST = 13 };

/* Small integers, so that there are ties; now and then what is no such number. */
static double any_number(void)
{
    switch (random_bits() % 40) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return -INFINITY;
    default: return (double)(random_bits() % 17) - 12;
    }
}

static double extreme(double a, double b, bool least)
{
    return isnan(a) || isnan(b) ? NAN : least ? fmin(a, b) : fmax(a, b);
}

/* `most` is a constant where the functions stand, so that their loops are unrolled. */
#define CHECK(type, element, most, step) do { \
        double numbers[MOST * 2 + 1][LANES]; \
        type##v x[MOST * 2], state, found[2]; \
        const int count = (int)(random_bits() % (most + 1)); \
        for (int i = 0; i < MOST * 2 + 1; i++) { \
            element lanes[LANES]; \
            for (int l = 0; l < LANES; l++) \
                lanes[l] = (element)(numbers[i][l] = i < MOST * 2 && i >= count * step ? 0 : any_number()); \
            if (i < MOST * 2) \
                FROM_LANES(x[i], lanes); \
            else \
                FROM_LANES(state, lanes); \
        } \
        found[0] = max_all_##type##v(state, x, most, step, count); \
        found[1] = min_all_##type##v(state, x, most, step, count); \
        for (int m = 0; m < 2; m++) { \
            element lanes[LANES]; \
            memcpy(lanes, &found[m], sizeof lanes); \
            for (int l = 0; l < LANES; l++) { \
                double wanted = numbers[MOST * 2][l]; \
                for (int i = 0; i < count; i++) \
                    wanted = extreme(wanted, numbers[i * step][l], m); \
                assert_true(isnan(wanted) ? isnan(lanes[l]) : (double)lanes[l] == wanted); \
            } \
        } \
    } while (0)

TARGETED static void extremes_of_many(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(f32, float, 1, 1);
        CHECK(f32, float, 6, 2);
        CHECK(f32, float, 13, 1);
        CHECK(f64, double, 1, 1);
        CHECK(f64, double, 6, 2);
        CHECK(f64, double, 13, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(extremes_of_many) };
    return machine_fits() ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
}
