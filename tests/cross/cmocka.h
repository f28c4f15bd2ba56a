/* The part of cmocka that the template tests use, for cross-compiled programs: no distribution installs cmocka for a
 * second architecture without changing the system. A test ends at its first failed assertion. */
#ifndef TESTS_CROSS_CMOCKA_H
#define TESTS_CROSS_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function) { #function, function }

static jmp_buf test_failed;

#define fail_msg(...) (printf(__VA_ARGS__), printf("\n%s:%d: failed\n", __FILE__, __LINE__), longjmp(test_failed, 1))
#define assert_true(condition) ((condition) ? (void)0 : fail_msg("not true: %s", #condition))
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_memory_equal(a, b, bytes) assert_true(!memcmp(a, b, bytes))

#define cmocka_run_group_tests(tests, set_up, tear_down) \
    run_group(tests, sizeof(tests) / sizeof(*(tests)), set_up, tear_down)

static inline int run_group(const struct CMUnitTest *tests, size_t count, int (*set_up)(void **), int (*tear_down)(void **))
{
    volatile int failed = 0;      /* volatile: kept over a longjmp */
    void *state = NULL;
    if (set_up && set_up(&state))
        return 1;
    for (volatile size_t t = 0; t < count; t++) {
        if (setjmp(test_failed)) {
            printf("[  FAILED  ] %s\n", tests[t].name);
            failed++;
            continue;
        }
        tests[t].run(&state);
        printf("[       OK ] %s\n", tests[t].name);
    }
    if (tear_down)
        tear_down(&state);
    printf("[  %s  ] %zu test(s), %d failed.\n", failed ? "FAILED" : "PASSED", count, failed);
    return failed;
}

#endif
