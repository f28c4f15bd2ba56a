/* The evaluator's bounds: that they hold for what kernels do, and for little more. */
#include "evaluate_testing.h"

/* Whether a float32 that a kernel made is accepted, and one that is as wrong as three bounds is not. */
static void judge(const char *text, Array x, Array y, bool two, float result)
{
    Array arrays[] = { x, y };
    Run *run = begin(text, "", NULL, two ? 2 : 1, arrays);
    Value value = element(run, 0, 0, 0, 0);
    assert_false(value.open);
    if (!accepts(run, 0, 0, &result))
        fail_msg("%s: %.9g is refused: %.12g, bound %g", text, (double)result, value.re, value.bound);
    float wrong = (float)(value.re + 3 * value.bound);
    wrong = nextafterf(wrong, INFINITY);
    assert_false(accepts(run, 0, 0, &wrong));
    end(run);
}

static float dot(const float *x, const float *y, int count, int way)
{
    float sum = 0, parts[4] = { 0 };
    for (int i = 0; i < count; i++) {
        if (way == 0)
            sum += x[i] * y[i];
        else if (way == 1)
            sum = fmaf(x[i], y[i], sum);
        else
            parts[i & 3] = fmaf(x[i], y[i], parts[i & 3]);
    }
    return way < 2 ? sum : (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

static void welford(const float *x, int count, float *mean, float *squares)
{
    *mean = *squares = 0;
    for (int i = 0; i < count; i++) {
        float apart = x[i] - *mean;
        *mean += apart / (float)(i + 1);
        *squares += apart * (x[i] - *mean);
    }
}

static float variance(const float *x, int count, int way)
{
    float mean, squares;
    if (way == 0) {
        welford(x, count, &mean, &squares);
        return squares / (float)count;
    }
    if (way == 1) {
        float other_mean, other;
        int half = count / 2;
        welford(x, half, &mean, &squares);
        welford(x + half, count - half, &other_mean, &other);
        float apart = other_mean - mean;
        return (squares + other + apart * apart * ((float)half * (float)(count - half) / (float)count)) / (float)count;
    }
    mean = squares = 0;
    for (int i = 0; i < count; i++)
        mean += x[i];
    mean /= (float)count;
    for (int i = 0; i < count; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return squares / (float)count;
}

/* The running maximum and sum, rescaled at each new maximum. */
static float log_sum(const float *x, int count, float *softmax_of_first)
{
    float top = -INFINITY, sum = 0;
    for (int i = 0; i < count; i++) {
        float new = fmaxf(top, x[i]);
        sum = sum * expf(top - new) + expf(x[i] - new);
        top = new;
    }
    *softmax_of_first = expf(x[0] - top) / sum;
    return top + logf(sum);
}

static void kernels_keep_the_bounds(void **unused)
{
    (void)unused;
    enum { TRIALS = 300, LONGEST = 200 };
    static float x[LONGEST], y[LONGEST], shuffled[LONGEST];
    state = 1;
    for (int trial = 0; trial < TRIALS; trial++) {
        int n = 2 + (int)(uniform() * (LONGEST - 2));
        double spread = pow(10, uniform() * 4 - 2), offset = trial % 3 ? 0 : 30 * uniform();
        fill(x, n, offset - spread, offset + spread);
        fill(y, n, -1, 1);
        Array xs = F32(x, 1, n), ys = F32(y, 1, n);
        judge("x[i] * y[i] ->", xs, ys, true, dot(x, y, n, trial % 3));
        judge("x[i] | var i", xs, ys, false, variance(x, n, trial % 3));
        judge("x[i] | std i", xs, ys, false, sqrtf(variance(x, n, trial % 3)));
        judge("x[i] | norm i", xs, ys, false, sqrtf(dot(x, x, n, trial % 3)));
        float ones[LONGEST], first, log;
        for (int i = 0; i < n; i++)
            ones[i] = 1;
        memcpy(shuffled, x, sizeof x);
        shuffle(shuffled, n);
        judge("x[i] | mean i", xs, ys, false, dot(shuffled, ones, n, trial % 3) * (1 / (float)n));
        log = log_sum(x, n, &first);
        judge("x[i] | logsumexp i", xs, ys, false, log);
        judge("x[i] | softmax i", xs, ys, false, first);
        judge("x[i] | log_softmax i", xs, ys, false, x[0] - log);
    }
}

/* softmax times values, normalised at the end, as attention kernels do. */
static void delayed_softmax_keeps_the_bounds(void **unused)
{
    (void)unused;
    enum { N = 64, TRIALS = 100 };
    float x[N], v[N];
    state = 2;
    for (int trial = 0; trial < TRIALS; trial++) {
        fill(x, N, -8, 8);
        fill(v, N, -1, 1);
        float top = -INFINITY, sum = 0, total = 0;
        for (int i = 0; i < N; i++) {
            float new = fmaxf(top, x[i]), scale = expf(top - new), power = expf(x[i] - new);
            sum = sum * scale + power;
            total = fmaf(power, v[i], total * scale);
            top = new;
        }
        judge("x[i] | softmax i | _ * v[i] ->", F32(x, 1, N), F32(v, 1, N), true, total / sum);
    }
}

static void products_keep_the_bounds(void **unused)
{
    (void)unused;
    enum { N = 20, TRIALS = 200 };
    float x[N], shuffled[N];
    state = 3;
    for (int trial = 0; trial < TRIALS; trial++) {
        fill(x, N, 0.2, 3);
        memcpy(shuffled, x, sizeof x);
        shuffle(shuffled, N);
        float product = 1;
        for (int i = 0; i < N; i++)
            product *= shuffled[i];
        judge("x[i] | prod i", F32(x, 1, N), F32(x, 1, N), false, product);
    }
    float halves[] = { 3, 0.5f, 7, 0.25f };
    assert_exact(one("i | prod i", F32(halves, 1, 4)), 2.625);
    float huge[] = { 1e30f, 1e30f, 1e-30f, 1e-30f };
    assert_true(one("i | prod i", F32(huge, 1, 4)).open);    /* some order overflows */
}

/* On a grid an exponential's argument is scaled first: what is far from 0 may be off by more. */
static void scaled_arguments_widen_the_bound(void **state)
{
    (void)state;
    float numbers[] = { 80, 0.5f };
    Array array = F32(numbers, 1, 2);
    Run *run = begin("x[i] | exp(_)", "", NULL, 1, &array);
    double most = 80 * 0x1p-24 * expl(80);    /* one rounding of the argument */
    assert_true(element(run, 0, 0, 0, 0).bound < most / 4);
    end(run);
    run = begin("x[i] | exp(_)", "", NULL, 1, &array);
    evaluator_scales(run->evaluator);
    assert_true(element(run, 0, 0, 0, 0).bound > most && element(run, 0, 0, 0, 0).bound < 2 * most);
    assert_true(element(run, 0, 1, 0, 0).bound < 8 * 0x1p-24 * exp(0.5));
    end(run);
}

static double bound_of(const char *text, Array array)
{
    Run *run = begin(text, "", NULL, 1, &array);
    Value value = element(run, 0, 0, 0, 0);
    end(run);
    assert_false(value.open);
    return value.bound;
}

/* Products of which each is exact, where a kernel sums a factor up first. */
static void sums_of_factors_keep_the_bounds(void **unused)
{
    (void)unused;
    enum { N = 2, TRIALS = 1000 };
    float x[N], y[N];
    state = 4;
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < N; i++) {
            x[i] = ldexpf(1 + rintf((float)uniform() * 127) / 128, (int)(uniform() * 30));
            y[i] = 1 + rintf((float)uniform() * 127) / 128;
        }
        judge("x[i] * y[0] * y[1] ->", F32(x, 1, N), F32(y, 1, N), true, (x[0] + x[1]) * y[0] * y[1]);
    }
}

/* A sum of small sums of large products, where a kernel sums each column of a factor up first. */
static void sums_of_sums_keep_the_bounds(void **unused)
{
    (void)unused;
    enum { ROWS = 200, TRIALS = 100 };
    float x[ROWS * 2], ones[] = { 1, 1 };
    state = 5;
    for (int trial = 0; trial < TRIALS; trial++) {
        float first = 0, second = 0;
        for (int t = 0; t < ROWS; t++) {
            x[2 * t] = 1 + (float)uniform();
            x[2 * t + 1] = -x[2 * t] * (1 + 0x1p-20f * (float)uniform());
            first += x[2 * t];
            second += x[2 * t + 1];
        }
        judge("x[t,i] * y[i,k] -> [t,k] | sum t", F32(x, 2, ROWS, 2), F32(ones, 2, 2, 1), true, first * ones[0] + second * ones[1]);
    }
}

/* What is rounded to bf16 next may be made with fewer instructions, which shows beside the rounding, and in nothing else. */
static void coarse_functions_widen_the_bound(void **state)
{
    (void)state;
    float numbers[] = { 0.5f, 0.5f };
    Array array = F32(numbers, 1, 2);
    double coarse = function_coarseness(FUNCTION_EXP, DTYPE_F32), half = 0x1p-8, of = exp(0.5);
    assert_true(coarse > 0 && coarse <= half / 32);
    assert_true(bound_of("x[i] | exp", array) < coarse * of / 8);
    double bound = bound_of("x[i] | exp | bf16", array);
    assert_true(bound >= half + coarse * of && bound < half + 1.1 * coarse * of);
    assert_true(bound_of("x[i] | square | bf16", array) < half);
    assert_true(bound_of("x[i] | softmax i", array) < coarse / 8);
    bound = bound_of("x[i] | softmax i | bf16", array);    /* each is 0.5; what a power has before it is divided, and the sum */
    assert_true(bound >= half + 2 * coarse && bound < half + 3 * coarse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_keep_the_bounds),
        cmocka_unit_test(delayed_softmax_keeps_the_bounds),
        cmocka_unit_test(products_keep_the_bounds),
        cmocka_unit_test(sums_of_factors_keep_the_bounds),
        cmocka_unit_test(sums_of_sums_keep_the_bounds),
        cmocka_unit_test(scaled_arguments_widen_the_bound),
        cmocka_unit_test(coarse_functions_widen_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
