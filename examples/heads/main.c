/* A linear layer in heads, bij,abj->abi: token a's head b is multiplied by head b's own matrix. Compared with plain
 * loops; the exit status is 1 when a number is wrong. */
#include "../example.h"

enum { A = 8192, B = 8, I = 64, J = 64 };

/* The largest difference from the sums in double. */
static double largest_error(const Array *weights, const Array *inputs, const Array *outputs)
{
    const float(*w)[I][J] = weights->tensor.data, (*x)[B][J] = inputs->tensor.data, (*y)[B][I] = outputs->tensor.data;
    double largest = 0;
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int i = 0; i < I; i++) {
                double sum = 0;
                for (int j = 0; j < J; j++)
                    sum += (double)w[b][i][j] * (double)x[a][b][j];
                largest = worse(largest, fabs(sum - (double)y[a][b][i]));
            }
    return largest;
}

int main(void)
{
    Array *weights = array_new("f32", 3, (int64_t[]){ B, I, J }), *inputs = array_new("f32", 3, (int64_t[]){ A, B, J });
    Array *outputs = array_new("f32", 3, (int64_t[]){ A, B, I });
    array_fill(weights, 1);
    array_fill(inputs, 2);
    const DLTensor *in[] = { &weights->tensor, &inputs->tensor };
    DLTensor *out[] = { &outputs->tensor };
    size_t workspace = 0;
    double error = INFINITY;

    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, "bij,abj->abi", &(einc_options){ .examples = in, .example_count = 2 });
    if (!kernel || einc_workspace(kernel, in, 2, 1, &workspace) || einc_call(kernel, in, 2, out, 1, NULL)) {
        fprintf(stderr, "%s", einc_error(context));
    } else {
        double seconds = INFINITY;            /* the best of five calls */
        for (int call = 0; call < 5; call++) {
            double begin = seconds_now();
            einc_call(kernel, in, 2, out, 1, NULL);
            seconds = fmin(seconds, seconds_now() - begin);
        }
        error = largest_error(weights, inputs, outputs);
        printf("bij,abj->abi: %d tokens, %d heads of %dx%d\n", A, B, I, J);
        printf("time       %.1f ms, %.1f Gflop/s\n", 1e3 * seconds, 2e-9 * A * B * I * J / seconds);
        printf("workspace  %zu bytes; a matrix for each token would take %.2f GB\n", workspace, 4e-9 * A * B * I * J);
        printf("max error  %.1e\n", error);
    }
    einc_kernel_free(kernel);
    einc_context_free(context);
    array_free(weights);
    array_free(inputs);
    array_free(outputs);
    return error <= 1e-5 ? 0 : 1;
}
