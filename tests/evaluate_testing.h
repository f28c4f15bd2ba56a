/* What the tests of the evaluator share: a program with its data, and what is expected of a value. */
#ifndef TESTS_EVALUATE_TESTING_H
#define TESTS_EVALUATE_TESTING_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evaluate.h"

enum { MOST = 8 };

/* A program with its data. */
typedef struct Run {
    Arena arena;
    jmp_buf failed;
    Array arrays[MOST];
    const Array **by_tensor;
    Program *program;
    Extents *extents;
    Evaluator *evaluator;
} Run;

/* ---- running a program ---- */

static inline Array array_of(Dtype dtype, void *data, int rank, ...)
{
    Array array = { .data = data, .dtype = dtype, .rank = rank };
    va_list extents;
    va_start(extents, rank);
    for (int i = 0; i < rank; i++)
        array.shape[i] = va_arg(extents, int);
    va_end(extents);
    array_lay_out(&array, false);
    return array;
}

#define F32(data, ...) array_of(DTYPE_F32, data, __VA_ARGS__)
#define F64(data, ...) array_of(DTYPE_F64, data, __VA_ARGS__)
#define I32(data, ...) array_of(DTYPE_I32, data, __VA_ARGS__)
#define I64(data, ...) array_of(DTYPE_I64, data, __VA_ARGS__)

/* Operands in order; behind them, when `old`, one more for the array that `+=` adds to. Extents as "i=3 j=4". */
static inline Run *begin(const char *text, const char *given, const char *old, int count, const Array *arrays)
{
    Run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    run->arena.failed = &run->failed;
    assert_int_equal(setjmp(run->failed), 0);
    Source *source = ARENA_NEW(&run->arena, Source);
    *source = (Source){ "expr", text, strlen(text) };
    Diags diags = { .arena = &run->arena, .source = source };
    OperandSpec operands[MOST];
    ExtentSpec extents[MOST];
    int extent_count = 0;
    for (int i = 0; i < count; i++) {
        run->arrays[i] = arrays[i];
        operands[i] = (OperandSpec){ old && i == count - 1 ? old : NULL, arrays[i].dtype, arrays[i].rank,
                                     run->arrays[i].shape };
    }
    char *names = arena_copy(&run->arena, given, strlen(given));
    for (char *name = strtok(names, "= "); name; name = strtok(NULL, "= "))
        extents[extent_count++] = (ExtentSpec){ .name = name, .extent = atoll(strtok(NULL, "= ")) };
    CheckOptions options = { operands, count, extents, extent_count };
    Ast *ast = parse(&run->arena, source, &diags);
    run->program = ast ? check(&run->arena, ast, &options, &diags) : NULL;
    if (!run->program)
        fail_msg("%s: %s", text, diags.first->message);
    const int64_t **shapes = ARENA_ARRAY(&run->arena, const int64_t *, run->program->tensor_count);
    run->by_tensor = ARENA_ARRAY(&run->arena, const Array *, run->program->tensor_count);
    for (int t = 0; t < run->program->tensor_count; t++) {
        const Tensor *tensor = run->program->tensors[t];
        int k = tensor->input >= 0 ? tensor->input : tensor->from_caller && old ? count - 1 : -1;
        run->by_tensor[t] = k < 0 ? NULL : &run->arrays[k];
        shapes[t] = k < 0 ? NULL : run->arrays[k].shape;
    }
    run->extents = extents_infer(&run->arena, run->program, shapes, extents, extent_count, &diags);
    if (!run->extents || !extents_require(run->extents, &diags))
        fail_msg("%s: %s", text, diags.first->message);
    run->evaluator = evaluator_new(run->program, run->extents, run->by_tensor);
    assert_non_null(run->evaluator);
    return run;
}

static inline void end(Run *run)
{
    evaluator_free(run->evaluator);
    arena_free(&run->arena);
    free(run);
}

static inline const Output *output_at(const Run *run, int k)
{
    return &program_result(run->program)->outputs[k];
}

/* The k-th output at a position of up to three numbers. */
static inline Value element(Run *run, int k, int64_t a, int64_t b, int64_t c)
{
    int64_t position[] = { a, b, c };
    Value value;
    if (!evaluator_element(run->evaluator, output_at(run, k), position, &value))
        fail_msg("%s", evaluator_error(run->evaluator));
    return value;
}

static inline bool accepts(Run *run, int k, int64_t a, const void *result)
{
    int64_t position[] = { a, 0, 0 };
    bool failed, accepted = evaluator_accepts(run->evaluator, output_at(run, k), position, result, &failed);
    assert_false(failed);
    return accepted;
}

/* An expression of one array whose result is one number. */
static inline Value one(const char *text, Array array)
{
    Run *run = begin(text, "", NULL, 1, &array);
    Value value = element(run, 0, 0, 0, 0);
    end(run);
    return value;
}

static inline void assert_exact(Value value, double expected)
{
    assert_false(value.open);
    if (isnan(expected))
        assert_true(isnan(value.re));
    else
        assert_true(value.re == expected);
    assert_true(value.bound == 0);
}

/* Near what is expected, with a bound of no more than `ulps` of its float32. */
static inline void assert_near(Value value, double expected, double ulps)
{
    double ulp = ldexp(fmax(fabs(expected), FLT_MIN), -23);
    assert_false(value.open);
    assert_true(fabs(value.re - expected) <= 1e-9 * fabs(expected));
    assert_true(value.bound > 0 && value.bound <= ulps * ulp);
}

/* ---- random numbers ---- */

static uint64_t state;

static inline double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static inline void fill(float *x, int count, double low, double high)
{
    for (int i = 0; i < count; i++)
        x[i] = (float)(low + uniform() * (high - low));
}

static inline void shuffle(float *x, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(uniform() * (i + 1));
        float swap = x[i];
        x[i] = x[j];
        x[j] = swap;
    }
}

#endif
