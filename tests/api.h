/* What the tests of the C API share. */
#ifndef EINC_TESTS_API_H
#define EINC_TESTS_API_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "einc.h"

#define assert_near(a, b) api_assert_near((double)(a), (double)(b), __FILE__, __LINE__)

static inline void api_assert_near(double a, double b, const char *file, int line)
{
    if (fabs(a - b) <= 1e-5 * (1 + fabs(b)))
        return;
    print_error("%g is not %g\n", a, b);
    _fail(file, line);
}

/* Numbers between -1 and 1. */
static inline void fill(float *x, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1;
    }
}

/* An element of a matrix of f32, as its strides say. */
static inline float element(const DLTensor *t, int64_t i, int64_t j)
{
    float value;
    int64_t at = t->strides ? i * t->strides[0] + j * t->strides[1] : i * t->shape[1] + j;
    memcpy(&value, (const char *)t->data + t->byte_offset + at * (int64_t)sizeof value, sizeof value);
    return value;
}

/* A cache of the test's own. */
static inline int api_begin(void **state)
{
    static char folder[] = "/tmp/einc-api-XXXXXX";
    (void)state;
    return !mkdtemp(folder) || setenv("EINC_CACHE_DIR", folder, 1);
}

static inline int api_end(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", getenv("EINC_CACHE_DIR"));
    return system(command);
}

#endif
