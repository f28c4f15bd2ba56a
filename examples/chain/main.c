/* A chain of log-space matrix products, as in the forward pass of a hidden Markov model: 40 rows of 200 states go
 * through 500 matrices of 200 x 200. Each step is one call of the same kernel. Compared with the same chain in ordinary
 * numbers; the exit status is 1 when it differs. */
#include <sys/resource.h>

#include "../example.h"

enum { STEPS = 500, ROWS = 40, STATES = 200 };

/* The logarithms of step t's matrix: numbers of many sizes, so small that a product of 500 would underflow. */
static void fill_matrix(Array *matrix, uint32_t t)
{
    float *m = matrix->tensor.data;
    array_fill(matrix, t + 1);
    for (int e = 0; e < STATES * STATES; e++)
        m[e] = 8 * m[e] - 15;
}

/* ---- the same in ordinary numbers: doubles, and a factor for each row that keeps them from underflow ---- */

static double probability[ROWS][STATES], logarithm[ROWS];

static void reference_step(const Array *matrix)
{
    static double likely[STATES][STATES];
    const float(*m)[STATES] = matrix->tensor.data;
    for (int k = 0; k < STATES; k++)
        for (int j = 0; j < STATES; j++)
            likely[k][j] = exp((double)m[k][j]);
    for (int v = 0; v < ROWS; v++) {
        double next[STATES] = { 0 }, sum = 0;
        for (int k = 0; k < STATES; k++)
            for (int j = 0; j < STATES; j++)
                next[j] += probability[v][k] * likely[k][j];
        for (int j = 0; j < STATES; j++)
            sum += next[j];
        for (int j = 0; j < STATES; j++)
            probability[v][j] = next[j] / sum;
        logarithm[v] += log(sum);
    }
}

static double peak_megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024e-6;
}

typedef struct Chain {
    einc_kernel *step;
    Array *state, *next, *matrix;             /* [v,k] [v,j] [k,j] */
    size_t workspace;
    double seconds;
} Chain;

/* Row v begins in state 5v. */
static void begin(Chain *chain)
{
    float(*start)[STATES] = chain->state->tensor.data;
    for (int v = 0; v < ROWS; v++)
        for (int j = 0; j < STATES; j++) {
            probability[v][j] = j == 5 * v;
            start[v][j] = j == 5 * v ? 0 : -INFINITY;
        }
}

static bool run(Chain *chain, einc_context *context)
{
    const DLTensor *in[] = { &chain->state->tensor, &chain->matrix->tensor };
    einc_options options = { .examples = in, .example_count = 2 };
    chain->step = einc_compile(context, "vk + kj -> vkj | logsumexp k", &options);
    if (!chain->step || einc_workspace(chain->step, in, 2, 1, &chain->workspace))
        return false;
    for (uint32_t t = 0; t < STEPS; t++) {
        fill_matrix(chain->matrix, t);
        reference_step(chain->matrix);
        double started = seconds_now();
        in[0] = &chain->state->tensor;
        if (einc_call(chain->step, in, 2, (DLTensor *[]){ &chain->next->tensor }, 1, NULL))
            return false;
        chain->seconds += seconds_now() - started;
        Array *swap = chain->state;
        chain->state = chain->next;
        chain->next = swap;
    }
    return true;
}

/* Relative to the exact logarithm, whose largest size goes to `largest`. */
static double largest_error(const Chain *chain, double *largest)
{
    const float(*last)[STATES] = chain->state->tensor.data;
    double error = 0;
    for (int v = 0; v < ROWS; v++)
        for (int j = 0; j < STATES; j++) {
            double exact = log(probability[v][j]) + logarithm[v];
            error = worse(error, fabs(((double)last[v][j] - exact) / exact));
            *largest = fmax(*largest, fabs(exact));
        }
    return error;
}

int main(void)
{
    const int64_t rows[] = { ROWS, STATES }, square[] = { STATES, STATES };
    Chain chain = { .state = array_new("f32", 2, rows), .next = array_new("f32", 2, rows),
                    .matrix = array_new("f32", 2, square) };
    einc_context *context = einc_context_new(NULL);
    double largest = 0, error = INFINITY;
    begin(&chain);
    if (run(&chain, context)) {
        error = largest_error(&chain, &largest);
        double terms = (double)ROWS * STATES * STATES;
        printf("vk + kj -> vkj | logsumexp k: %d rows of %d states through %d matrices\n", ROWS, STATES, STEPS);
        printf("time         %.0f ms, %.2f G terms/s\n", 1e3 * chain.seconds, 1e-9 * STEPS * terms / chain.seconds);
        printf("workspace    %zu bytes\n", chain.workspace);
        printf("peak memory  %.1f MB, the whole process\n", peak_megabytes());
        printf("             storing [v,k,j] takes %.1f MB more in each step, %.1f GB where steps are kept\n",
               4e-6 * terms, 4e-9 * STEPS * terms);
        printf("logarithms   down to -%.0f, max relative error %.1e\n", largest, error);
    } else {
        fprintf(stderr, "%s", einc_error(context));
    }
    einc_kernel_free(chain.step);
    einc_context_free(context);
    array_free(chain.state);
    array_free(chain.next);
    array_free(chain.matrix);
    return error < 1e-5 ? 0 : 1;
}
