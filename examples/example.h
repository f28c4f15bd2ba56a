/* What the examples share: arrays, .npy files into them, numbers to compute with, a clock. A program has something like
 * it already. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "einc.h"

enum { RANK = 4 };

typedef struct Array {
    DLTensor tensor;
    int64_t shape[RANK];
} Array;

static inline int64_t array_count(const Array *array)
{
    int64_t count = 1;
    for (int a = 0; a < array->tensor.ndim; a++)
        count *= array->shape[a];
    return count;
}

static inline size_t array_bytes(const Array *array)
{
    return (size_t)array_count(array) * array->tensor.dtype.bits / 8;
}

/* All zeros, C order; shape[0 .. ndim-1]. */
static inline Array *array_new(const char *dtype, int ndim, const int64_t *shape)
{
    Array *array = calloc(1, sizeof *array);
    if (!array)
        abort();
    memcpy(array->shape, shape, (size_t)ndim * sizeof *shape);
    array->tensor = einc_tensor(NULL, dtype, ndim, array->shape);
    size_t bytes = array_bytes(array);
    array->tensor.data = calloc(bytes ? bytes : 1, 1);
    if (!array->tensor.data)
        abort();
    return array;
}

static inline void array_free(Array *array)
{
    if (array)
        free(array->tensor.data);
    free(array);
}

/* What .npy calls the dtypes that the data has. */
static inline const char *npy_dtype(const char *code)
{
    static const char *const names[][2] = { { "<f2", "f16" }, { "<f4", "f32" }, { "<f8", "f64" }, { "<i4", "i32" },
                                            { "<i8", "i64" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(code, names[i][0], 3))
            return names[i][1];
    return NULL;
}

/* A .npy file of version 1.0 in C order; NULL, after a message, when it is none. */
static inline Array *array_load(const char *folder, const char *name)
{
    char path[4096], header[4096];
    unsigned char start[10];
    int64_t shape[RANK];
    int ndim = 0;
    Array *array = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t length = 0;
    if (file && fread(start, 1, 10, file) == 10 && !memcmp(start, "\x93NUMPY\1", 7))
        length = start[8] + 256u * start[9];
    if (length && length < sizeof header && fread(header, 1, length, file) == length) {
        header[length] = 0;
        const char *descr = strstr(header, "'descr': '"), *order = strstr(header, "'fortran_order': False");
        const char *dims = strstr(header, "'shape': (");
        const char *dtype = descr ? npy_dtype(descr + 10) : NULL;
        for (char *at = dims ? (char *)dims + 10 : header; dims && *at >= '0' && *at <= '9' && ndim < RANK; ndim++) {
            shape[ndim] = strtoll(at, &at, 10);
            at += strspn(at, ", ");
        }
        if (dtype && order && dims)
            array = array_new(dtype, ndim, shape);
    }
    if (array && fread(array->tensor.data, 1, array_bytes(array), file) != array_bytes(array)) {
        array_free(array);
        array = NULL;
    }
    if (!array)
        fprintf(stderr, "%s is missing, or no .npy file that this program reads\n", path);
    if (file)
        fclose(file);
    return array;
}

/* Numbers between -1 and 1 into an f32 array. */
static inline void array_fill(Array *array, uint32_t seed)
{
    float *data = array->tensor.data;
    for (int64_t e = 0; e < array_count(array); e++) {
        seed = seed * 1664525u + 1013904223u;
        data[e] = (float)(int32_t)seed / 2147483648.0f;
    }
}

static inline double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The larger one; NaN when there is one, so that it is not overlooked. */
static inline double worse(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

#endif
