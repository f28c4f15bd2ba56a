/* The evaluator: what programs mean. */
#include "evaluate_testing.h"

/* ---- values ---- */

static void integers_in_floats_are_exact(void **unused)
{
    (void)unused;
    float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 7, -8, 9, 10, 11, 12 };
    Array arrays[] = { F32(a, 2, 2, 3), F32(b, 2, 3, 2) };
    Run *run = begin("ik,kj->ij", "", NULL, 2, arrays);
    assert_exact(element(run, 0, 0, 0, 0), 7 + 18 + 33);
    assert_exact(element(run, 0, 1, 1, 0), -32 + 50 + 72);
    end(run);
    float wide[] = { 16777216, 1 };     /* 2^24 + 1 takes 25 digits */
    Value value = one("i->", F32(wide, 1, 2));
    assert_true(value.re == 16777217 && value.bound >= 1);
}

static void a_cast_rounds_in_the_bound(void **unused)
{
    (void)unused;
    float x[] = { 0.1f };
    Value value = one("f16(i)", F32(x, 1, 1));
    assert_true(value.re == (double)0.1f && value.bound == 0x1p-15);
    x[0] = 0.5f;
    assert_exact(one("f16(i)", F32(x, 1, 1)), 0.5);
    x[0] = 70000;
    assert_true(one("f16(i)", F32(x, 1, 1)).open);
}

static void integers_wrap_and_saturate(void **unused)
{
    (void)unused;
    int32_t x[] = { INT32_MAX };
    assert_int_equal(one("i + 1", I32(x, 1, 1)).integer, INT32_MIN);
    assert_int_equal(one("square(i)", I32(x, 1, 1)).integer, 1);
    assert_int_equal(one("i8(i)", I32(x, 1, 1)).integer, -1);
    assert_int_equal(one("i ^ 0", I32(x, 1, 1)).integer, 1);
    x[0] = INT32_MIN;
    assert_int_equal(one("abs(i)", I32(x, 1, 1)).integer, INT32_MIN);
    x[0] = -7;
    assert_int_equal(one("mod(i, 4)", I32(x, 1, 1)).integer, 1);
    assert_int_equal(one("mod(i, 0)", I32(x, 1, 1)).integer, 0);
    double y[] = { 3e9 };
    assert_int_equal(one("i32(i)", F64(y, 1, 1)).integer, INT32_MAX);
    y[0] = -2.9;
    assert_int_equal(one("i32(i)", F64(y, 1, 1)).integer, -2);
    y[0] = NAN;
    assert_int_equal(one("i32(i)", F64(y, 1, 1)).integer, 0);
}

static void nan_and_infinity(void **unused)
{
    (void)unused;
    float x[] = { 1, NAN, 3, NAN };
    assert_exact(one("i | max i", F32(x, 1, 4)), NAN);
    assert_int_equal(one("i | argmax i", F32(x, 1, 4)).integer, 1);
    assert_int_equal(one("i | argmin i", F32(x, 1, 4)).integer, 1);
    float y[] = { INFINITY, 1, -INFINITY };
    assert_exact(one("i -> ", F32(y, 1, 3)), NAN);
    assert_exact(one("i | logsumexp i", F32(y, 1, 3)), INFINITY);
    assert_exact(one("i | softmax i | max i", F32(y, 1, 3)), NAN);
    float none[] = { -INFINITY, -INFINITY };
    assert_exact(one("i | logsumexp i", F32(none, 1, 2)), -INFINITY);
    assert_exact(one("i | softmax i | max i", F32(none, 1, 2)), 0);
    assert_exact(one("i | log_softmax i | max i", F32(none, 1, 2)), -INFINITY);
}

static void signs_of_zeros(void **unused)
{
    (void)unused;
    float x[] = { -0.0f, 5 };
    assert_exact(one("1 / i | min i", F32(x, 1, 2)), -INFINITY);
    x[0] = 5, x[1] = -5;
    Value value = one("i -> | 1 / _", F32(x, 1, 2));
    assert_true(isinf(value.re) && value.either && !value.open);
}

static void nothing_to_reduce(void **unused)
{
    (void)unused;
    float x[] = { 0 };
    Array empty = F32(x, 1, 0);
    assert_exact(one("i | sum i", empty), 0);
    assert_exact(one("i | prod i", empty), 1);
    assert_exact(one("i | mean i", empty), NAN);
    assert_exact(one("i | var i", empty), NAN);
    assert_exact(one("i | norm i", empty), 0);
    assert_exact(one("i | logsumexp i", empty), -INFINITY);
    assert_int_equal(one("i > 0 | any i", empty).integer, 0);
    assert_int_equal(one("i > 0 | all i", empty).integer, 1);
    float alone[] = { 3 };
    assert_exact(one("i | var i", F32(alone, 1, 1)), 0);
    assert_exact(one("i | var(1) i", F32(alone, 1, 1)), NAN);
}

static void functions_have_their_ulps(void **unused)
{
    (void)unused;
    float x[] = { 0.7f };
    double v = 0.7f;
    Array array = F32(x, 1, 1);
    assert_near(one("exp(i)", array), exp(v), 5);
    assert_near(one("log(i)", array), log(v), 5);
    assert_near(one("tanh(i)", array), tanh(v), 5);
    assert_near(one("gelu(i)", array), v / 2 * (1 + erf(v / sqrt(2))), 9);
    assert_near(one("i ^ 3", array), pow(v, 3), 9);
    assert_near(one("sqrt(i)", array), sqrt(v), 1);
    assert_near(one("1 / i", array), 1 / v, 1);
    assert_near(one("atan2(i, -1)", array), atan2(v, -1), 5);
    assert_near(one("sin(exp(i))", array), sin(exp(v)), 40);
    x[0] = -9;
    assert_near(one("gelu(i)", array), -4.5 * erfc(9 / sqrt(2)), 9);
}

static void a_gelu_of_infinity_is_what_its_formula_says(void **unused)
{
    (void)unused;
    float x[] = { -INFINITY };
    assert_exact(one("gelu(i)", F32(x, 1, 1)), NAN);
    x[0] = INFINITY;
    assert_exact(one("gelu(i)", F32(x, 1, 1)), INFINITY);
}

/* ---- what is decided by less than the bounds ---- */

static void close_decisions_are_open(void **unused)
{
    (void)unused;
    float x[] = { 0.1f, 0.2f, 0.3f };
    /* 0.1f + 0.2f and 0.3f are the same number to within a rounding. */
    assert_true(one("x[0] + x[1] > x[2]", F32(x, 1, 3)).open);
    assert_false(one("x[0] + x[1] > x[0]", F32(x, 1, 3)).open);
    assert_true(one("i32((x[0] + x[1]) / x[2])", F32(x, 1, 3)).open);
    /* A floor is not: it is one number or the next. */
    Value value = one("floor((x[0] + x[1]) / x[2])", F32(x, 1, 3));
    assert_true(!value.open && value.bound >= 0.99 && value.bound < 1.01);
    /* Nor is a choice between two numbers. */
    value = one("where(x[0] + x[1] > x[2], 5, 7)", F32(x, 1, 3));
    assert_true(value.open);            /* of integers */
    value = one("where(x[0] + x[1] > x[2], 5.0, 7.0)", F32(x, 1, 3));
    assert_true(!value.open && value.bound >= 2 && value.bound < 2.1);
    assert_true(one("x[i]/(x[0] + x[1] - x[2]) | sum i", F32(x, 1, 3)).open);
    assert_true(one("1 / (x[0] + x[1] - x[2])", F32(x, 1, 3)).open);
}

static void open_positions_name_what_is_near_the_best(void **unused)
{
    (void)unused;
    float x[] = { 0.1f, 0.7f, 0.25f, 0.7f, 0.2f }, y[] = { 3, 1, 2, 1, 3 };
    Array arrays[] = { F32(x, 1, 5), F32(y, 1, 5) };
    /* 0.7 / 1 three times over; two of them were computed. */
    Run *run = begin("(x[n] * y[n]) / y[n] | argmax n & argtopk(3) n & topk(2) n", "", NULL, 2, arrays);
    int64_t position = 1;
    Value value = element(run, 0, 0, 0, 0);
    assert_false(value.open);           /* 0.7 * 1 / 1 is exact, a tie goes to the first */
    assert_int_equal(value.integer, 1);
    assert_true(accepts(run, 0, 0, &position));
    position = 3;
    assert_false(accepts(run, 0, 0, &position));
    assert_true(accepts(run, 1, 1, &position));
    float best = 0.7f;
    assert_true(accepts(run, 2, 1, &best));
    best = 0.25f;
    assert_false(accepts(run, 2, 1, &best));
    end(run);
    float third[] = { 0.1f, 2.1f, 0.25f, 2.1f, 0.2f }, three[] = { 3, 3, 2, 3, 3 };
    arrays[0] = F32(third, 1, 5);
    arrays[1] = F32(three, 1, 5);
    run = begin("x[n] / y[n] | argmax n & argtopk(3) n", "", NULL, 2, arrays);
    assert_true(element(run, 0, 0, 0, 0).open);
    for (position = 0; position < 6; position++) {
        assert_int_equal(accepts(run, 0, 0, &position), position == 1 || position == 3);
        assert_int_equal(accepts(run, 1, 1, &position), position == 1 || position == 3);
        assert_int_equal(accepts(run, 1, 2, &position), position == 2);
    }
    end(run);
}

static void a_row_of_ties_is_ranked_by_position(void **unused)
{
    (void)unused;
    int32_t x[] = { 2, 5, 5, 1, 5, 2 };
    Array array = I32(x, 1, 6);
    Run *run = begin("n | argtopk(4) n & argbottomk(4) n & bottomk(3) n", "", NULL, 1, &array);
    const int64_t top[] = { 1, 2, 4, 0 }, bottom[] = { 3, 0, 5, 1 }, values[] = { 1, 2, 2 };
    for (int r = 0; r < 4; r++) {
        assert_int_equal(element(run, 0, r, 0, 0).integer, top[r]);
        assert_int_equal(element(run, 1, r, 0, 0).integer, bottom[r]);
    }
    for (int r = 0; r < 3; r++)
        assert_int_equal(element(run, 2, r, 0, 0).integer, values[r]);
    end(run);
}

static void a_gather_by_an_open_position_is_open(void **unused)
{
    (void)unused;
    float x[] = { 2.1f, 2.1f, 1 }, y[] = { 3, 3, 3 };
    Array arrays[] = { F32(x, 1, 3), F32(y, 1, 3) };
    Run *run = begin("best = x[n] / y[n] | argmax n ; x[best[]]", "", NULL, 2, arrays);
    assert_true(element(run, 0, 0, 0, 0).open);
    end(run);
    y[1] = 2;
    run = begin("best = x[n] / y[n] | argmax n ; x[best[]] + 1", "", NULL, 2, arrays);
    assert_exact(element(run, 0, 0, 0, 0), 2.1f + 1.0);
    end(run);
}

/* ---- reads ---- */

static void a_where_reads_its_branch_alone(void **unused)
{
    (void)unused;
    float x[] = { 1, 2, 3 };
    Array array = F32(x, 1, 3);
    const char *const texts[] = { "where(@i >= 1, x[i-1], 0)", "x[i-1] | where(@i >= 1, _, 0)",
                                  "x[i-1] | exp | log | where(@i >= 1, _, 0)" };
    for (int k = 0; k < 3; k++) {
        Run *run = begin(texts[k], "i=4", NULL, 1, &array);
        for (int i = 0; i < 4; i++)
            assert_true(fabs(element(run, 0, i, 0, 0).re - i) < 1e-9);
        end(run);
    }
}

static void a_read_out_of_range_is_an_error(void **unused)
{
    (void)unused;
    float x[] = { 1, 2, 3 };
    int64_t y[] = { 0, 3, -1 };
    Array arrays[] = { F32(x, 1, 3), I64(y, 1, 3) };
    Run *run = begin("x[y[t]]", "", NULL, 2, arrays);
    int64_t position = 0;
    Value value;
    assert_true(evaluator_element(run->evaluator, output_at(run, 0), &position, &value));
    assert_exact(value, 1);
    assert_string_equal(evaluator_error(run->evaluator), "");
    position = 1;
    assert_false(evaluator_element(run->evaluator, output_at(run, 0), &position, &value));
    assert_string_equal(evaluator_error(run->evaluator), "'x' at 3, but axis 0 has 3");
    assert_ptr_equal(evaluator_culprit(run->evaluator)->read.tensor, run->program->inputs[0]);
    float result = 1;
    bool failed;
    assert_false(evaluator_accepts(run->evaluator, output_at(run, 0), &position, &result, &failed));
    assert_true(failed);
    end(run);
    run = begin("where(y[t] >= 0, x[y[t]], 0) -> ", "", NULL, 2, (Array[]){ arrays[1], arrays[0] });
    position = 0;
    assert_false(evaluator_element(run->evaluator, output_at(run, 0), &position, &value));
    y[1] = 2;
    assert_true(evaluator_element(run->evaluator, output_at(run, 0), &position, &value));
    assert_exact(value, 4);
    end(run);
}

/* A where hides the empty row from the extents; choosing it is an error of the run. */
static void an_axis_of_size_1_is_broadcast(void **unused)
{
    (void)unused;
    float x[] = { 1, 2, 3 }, y[] = { 10 };
    Array arrays[] = { F32(x, 1, 3), F32(y, 1, 1) };
    Run *run = begin("i + i", "", NULL, 2, arrays);
    assert_exact(element(run, 0, 2, 0, 0), 13);
    end(run);
}

/* ---- statements ---- */

static void a_scatter_adds_duplicates_to_what_was_there(void **unused)
{
    (void)unused;
    int64_t y[] = { 0, 2, 0, 2 };
    float g[] = { 1, 2, 4, 8 }, old[] = { 100, 200, 300 };
    Array arrays[] = { I64(y, 1, 4), F32(g, 1, 4), F32(old, 1, 3) };
    Run *run = begin("d[y[t]] += g[t]", "", "d", 3, arrays);
    assert_exact(element(run, 0, 0, 0, 0), 105);
    assert_exact(element(run, 0, 1, 0, 0), 200);
    assert_exact(element(run, 0, 2, 0, 0), 310);
    end(run);
    y[1] = 3;
    run = begin("d[y[t]] += g[t]", "", "d", 3, arrays);
    int64_t position = 0;
    Value value;
    assert_false(evaluator_element(run->evaluator, output_at(run, 0), &position, &value));
    assert_string_equal(evaluator_error(run->evaluator), "'d' at 3, but axis 0 has 3");
    end(run);
}

/* Of more points than are gone through for one element. */
static void an_element_of_a_large_scatter_is_made_by_itself(void **unused)
{
    (void)unused;
    enum { I = 5000, J = 2000, SOME = 500 };
    static float x[I], z[J], old[(I + 1) * J];
    static int64_t y[I];
    for (int i = 0; i < I; i++) {
        x[i] = (float)(i % 7);
        y[i] = i % 10;
    }
    for (int j = 0; j < J; j++)
        z[j] = (float)(j % 5 - 2);
    old[4 * J + 7] = 1000;
    Array arrays[] = { F32(x, 1, I), F32(z, 1, J), F32(old, 2, I + 1, J) };
    Run *run = begin("d[i+r,j] += x[i] * z[j]", "r=2", "d", 3, arrays);
    assert_exact(element(run, 0, 4, 7, 0), 1000 + (x[4] + x[3]) * z[7]);
    assert_exact(element(run, 0, 0, 9, 0), x[0] * z[9]);
    assert_exact(element(run, 0, I, J - 1, 0), x[I - 1] * z[J - 1]);
    end(run);
    Array others[] = { I64(y, 1, I), F32(x, 1, I), F32(z, 1, J), F32(old, 2, 10, J) };
    run = begin("d[y[i],j] += x[i] * z[j]", "", "d", 4, others);
    double sum = 1000;
    for (int i = 4; i < I; i += 10)
        sum += x[i] * z[7];
    assert_true(fabs(element(run, 0, 4, 7, 0).re - sum) < 1e-9);
    end(run);
    y[SOME] = 10;
    run = begin("d[y[i],j] += x[i] * z[j]", "", "d", 4, others);
    int64_t position[] = { 4, 7 };
    Value value;
    assert_false(evaluator_element(run->evaluator, output_at(run, 0), position, &value));
    assert_string_equal(evaluator_error(run->evaluator), "'d' at 10, but axis 0 has 10");
    end(run);
}

static void targets_of_other_forms(void **unused)
{
    (void)unused;
    float x[] = { 1, 2, 3 };
    Array array = F32(x, 1, 3);
    Run *run = begin("d[i,i] += x[i]", "", NULL, 1, &array);
    assert_exact(element(run, 0, 1, 1, 0), 2);
    assert_exact(element(run, 0, 1, 2, 0), 0);
    end(run);
    run = begin("d[2*i+r] += x[i]", "r=2", NULL, 1, &array);
    assert_int_equal(run->extents->shape[output_at(run, 0)->tensor->id][0], 6);
    for (int k = 0; k < 6; k++)
        assert_exact(element(run, 0, k, 0, 0), x[k / 2]);
    end(run);
    run = begin("d[i,j] = x[i]", "j=2", NULL, 1, &array);
    assert_exact(element(run, 0, 2, 1, 0), 3);
    end(run);
    run = begin("s = x[i] -> ; s[] += x[i] -> ; 10 * s[]", "", NULL, 1, &array);
    assert_exact(element(run, 0, 0, 0, 0), 120);
    end(run);
}

static void a_deep_chain_computes_nothing_twice(void **unused)
{
    (void)unused;
    char text[2000] = "i";
    for (int k = 0; k < 60; k++)
        strcat(text, " | _ - 0.5 * _");
    float x[] = { 1 };
    assert_true(fabs(one(text, F32(x, 1, 1)).re - 0x1p-60) < 1e-30);
    strcpy(text, "a0 = i -> i");
    for (int k = 0; k < 40; k++) {
        char more[60];
        snprintf(more, sizeof more, " ; a%d = (a%d[i] + a%d[i]) / 2", k + 1, k, k);
        strcat(text, more);
    }
    assert_true(fabs(one(text, F32(x, 1, 1)).re - 1) < 1e-9);
}

static void a_product_of_a_million_steps_is_quick(void **unused)
{
    (void)unused;
    enum { N = 100 };
    static float a[N * N], b[N * N];
    fill(a, N * N, -1, 1);
    fill(b, N * N, -1, 1);
    Array arrays[] = { F32(a, 2, N, N), F32(b, 2, N, N) };
    Run *run = begin("ik,kj->ij", "", NULL, 2, arrays);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            assert_false(element(run, 0, i, j, 0).open);
    end(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_in_floats_are_exact),
        cmocka_unit_test(a_cast_rounds_in_the_bound),
        cmocka_unit_test(integers_wrap_and_saturate),
        cmocka_unit_test(nan_and_infinity),
        cmocka_unit_test(signs_of_zeros),
        cmocka_unit_test(nothing_to_reduce),
        cmocka_unit_test(functions_have_their_ulps),
        cmocka_unit_test(a_gelu_of_infinity_is_what_its_formula_says),
        cmocka_unit_test(close_decisions_are_open),
        cmocka_unit_test(open_positions_name_what_is_near_the_best),
        cmocka_unit_test(a_row_of_ties_is_ranked_by_position),
        cmocka_unit_test(a_gather_by_an_open_position_is_open),
        cmocka_unit_test(a_where_reads_its_branch_alone),
        cmocka_unit_test(a_read_out_of_range_is_an_error),
        cmocka_unit_test(an_axis_of_size_1_is_broadcast),
        cmocka_unit_test(a_scatter_adds_duplicates_to_what_was_there),
        cmocka_unit_test(an_element_of_a_large_scatter_is_made_by_itself),
        cmocka_unit_test(targets_of_other_forms),
        cmocka_unit_test(a_deep_chain_computes_nothing_twice),
        cmocka_unit_test(a_product_of_a_million_steps_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
