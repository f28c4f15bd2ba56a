/* Plans that a kernel gets by its calls: of other strides, and of sizes that were not known when it was compiled. */
#include "api.h"
#include "runtime.h"

enum { MANY = 2100, ELEMENTS = MANY * MANY };    /* of more elements than a plan for their sizes takes */

static float *numbers[3];

/* A product of matrices of equal numbers, the second one turned or not; each result is how many are added. Gives how many plans
 * there are behind it. */
static int plans(einc_kernel *kernel, int64_t rows, int64_t points, int64_t columns, bool turned)
{
    int64_t left[] = { rows, points }, right[] = { points, columns }, results[] = { rows, columns }, strides[] = { 1, points };
    DLTensor x = einc_tensor(numbers[0], "f32", 2, left), y = einc_tensor(numbers[1], "f32", 2, right),
             z = einc_tensor(numbers[2], "f32", 2, results);
    if (turned)
        y.strides = strides;
    memset(numbers[2], 0, (size_t)(rows * columns) * sizeof *numbers[2]);
    assert_int_equal(einc_call(kernel, (const DLTensor *[]){ &x, &y }, 2, (DLTensor *[]){ &z }, 1, NULL), EINC_OK);
    for (int64_t i = 0; i < rows * columns; i++)
        if (numbers[2][i] != 2 * (float)points)
            fail_msg("%g is not %g", numbers[2][i], 2 * (double)points);
    return kernel->variant_count;
}

static void test_sizes(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "ik,kj->ij", NULL);
    assert_non_null(kernel);
    assert_int_equal(plans(kernel, 3, 500, 500, false), 1);        /* too small to be worth one */
    assert_int_equal(plans(kernel, 3, MANY, MANY, false), 2);
    assert_int_equal(plans(kernel, 4, MANY - 60, MANY, false), 2);  /* as large */
    assert_int_equal(plans(kernel, 1, MANY, MANY, false), 3);
    assert_int_equal(plans(kernel, 3, 500, 500, false), 3);
    assert_int_equal(plans(kernel, 0, MANY, MANY, false), 3);
    const Variant *tall = kernel->variants;
    assert_string_not_equal(tall->digest, variant_first(tall)->digest);
    for (int64_t points = 1; points <= 64; points *= 4)             /* there is an end to it */
        plans(kernel, MANY * MANY / 70, points, 5, false);
    assert_true(kernel->variant_count <= VARIANTS_MAX);
    einc_kernel_free(kernel);
    einc_context_free(context);
}

/* The order of three matrices' products goes by their extents, and is worth a plan sooner. */
static void test_order(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "ij,jk,kl->il", NULL);
    assert_non_null(kernel);
    for (int64_t points = 100; points <= 500; points += 400) {
        int64_t square[] = { points, points }, tall[] = { points, 3 };
        DLTensor x = einc_tensor(numbers[0], "f32", 2, square), y = einc_tensor(numbers[1], "f32", 2, tall),
                 z = einc_tensor(numbers[2], "f32", 2, tall);
        assert_int_equal(einc_call(kernel, (const DLTensor *[]){ &x, &x, &y }, 3, (DLTensor *[]){ &z }, 1, NULL), EINC_OK);
        for (int64_t i = 0; i < 3 * points; i++)
            assert_true(numbers[2][i] == 2 * (float)(points * points));
        assert_int_equal(kernel->variant_count, points == 500 ? 2 : 1);
    }
    einc_kernel_free(kernel);
    einc_context_free(context);
}

/* Rows that are shorter than a vector are worth a plan sooner, too. */
static void test_short(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "bij,bjk->bik", NULL);
    assert_non_null(kernel);
    for (int64_t count = 1000; count <= 100000; count *= 100) {
        int64_t shape[] = { count, 3, 3 };
        DLTensor x = einc_tensor(numbers[0], "f32", 3, shape), y = einc_tensor(numbers[1], "f32", 3, shape),
                 z = einc_tensor(numbers[2], "f32", 3, shape);
        assert_int_equal(einc_call(kernel, (const DLTensor *[]){ &x, &y }, 2, (DLTensor *[]){ &z }, 1, NULL), EINC_OK);
        for (int64_t i = 0; i < 9 * count; i++)
            assert_true(numbers[2][i] == 6);
        assert_int_equal(kernel->variant_count, count == 1000 ? 1 : 2);
    }
    einc_kernel_free(kernel);
    einc_context_free(context);
}

/* Shapes that do not agree are refused, and the next call gets its plan all the same. */
static void test_mistake(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "ik,kj->ij", NULL);
    int64_t left[] = { 3, MANY - 1 }, right[] = { MANY, MANY }, results[] = { 3, MANY };
    DLTensor x = einc_tensor(numbers[0], "f32", 2, left), y = einc_tensor(numbers[1], "f32", 2, right),
             z = einc_tensor(numbers[2], "f32", 2, results);
    assert_int_equal(einc_call(kernel, (const DLTensor *[]){ &x, &y }, 2, (DLTensor *[]){ &z }, 1, NULL), EINC_EXPRESSION);
    assert_non_null(strstr(einc_error(context), "2099"));
    assert_int_equal(plans(kernel, 3, MANY, MANY, false), 2);
    einc_kernel_free(kernel);
    einc_context_free(context);
}

static void test_strides(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_options options = { .extents = "i=3,k=2100,j=2100" };      /* nothing is open */
    einc_kernel *kernel = einc_compile(context, "ik,kj->ij", &options);
    assert_non_null(kernel);
    assert_int_equal(plans(kernel, 3, MANY, MANY, false), 1);
    assert_int_equal(plans(kernel, 3, 500, 500, true), 2);
    assert_int_equal(plans(kernel, 3, MANY, MANY, true), 2);
    assert_int_equal(plans(kernel, 3, MANY, MANY, false), 2);
    einc_kernel_free(kernel);
    einc_context_free(context);
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        numbers[i] = malloc(ELEMENTS * sizeof *numbers[i]);
    for (int i = 0; i < ELEMENTS; i++)
        numbers[0][i] = 1, numbers[1][i] = 2;
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_order),
                                        cmocka_unit_test(test_short), cmocka_unit_test(test_mistake),
                                        cmocka_unit_test(test_strides) };
    int failed = cmocka_run_group_tests(tests, api_begin, api_end);
    for (int i = 0; i < 3; i++)
        free(numbers[i]);
    return failed;
}
