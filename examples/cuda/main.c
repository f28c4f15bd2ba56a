/* Calls maxsim(), which einc generated for CUDA, on a stream of its own, and compares it with plain loops. */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "maxsim.h"

enum { QUERIES = 3, WORDS = 5, DOCUMENTS = 40, LONGEST = 12, WIDTH = 64, BLOCKS = 256 };

static float Q[QUERIES][WORDS][WIDTH], D[DOCUMENTS][LONGEST][WIDTH], scores[QUERIES][DOCUMENTS];
static int64_t lengths[DOCUMENTS];

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

static void fill(float *x, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int)(seed >> 16) / 32768.0f - 1;
    }
}

/* Memory of the device, with what the host has there. */
static void *on_device(const void *data, size_t bytes, cudaStream_t stream)
{
    void *there = NULL;
    must(cudaMalloc(&there, bytes ? bytes : 1), "memory of the device");
    if (data)
        must(cudaMemcpyAsync(there, data, bytes, cudaMemcpyHostToDevice, stream), "a copy to the device");
    return there;
}

/* The largest difference from the same in double. */
static double largest_error(void)
{
    double largest = 0;
    for (int i = 0; i < QUERIES; i++)
        for (int m = 0; m < DOCUMENTS; m++) {
            double score = 0;
            for (int j = 0; j < WORDS; j++) {
                double best = -INFINITY;
                for (int64_t n = 0; n < lengths[m]; n++) {
                    double sum = 0;
                    for (int k = 0; k < WIDTH; k++)
                        sum += (double)Q[i][j][k] * (double)D[m][n][k];
                    best = fmax(best, sum);
                }
                score += best;
            }
            double error = fabs(score - (double)scores[i][m]);
            largest = error > largest || isnan(error) ? error : largest;
        }
    return largest;
}

int main(void)
{
    cudaStream_t stream;
    must(cudaStreamCreate(&stream), "a stream");
    fill(&Q[0][0][0], QUERIES * WORDS * WIDTH, 1);
    fill(&D[0][0][0], DOCUMENTS * LONGEST * WIDTH, 2);
    for (int m = 0; m < DOCUMENTS; m++)
        lengths[m] = 1 + m * 7 % LONGEST;
    maxsim_args args = {
        { (const float *)on_device(Q, sizeof Q, stream), { QUERIES, WORDS, WIDTH }, { WORDS * WIDTH, WIDTH, 1 } },
        { (const float *)on_device(D, sizeof D, stream), { DOCUMENTS, LONGEST, WIDTH }, { LONGEST * WIDTH, WIDTH, 1 } },
        { (const int64_t *)on_device(lengths, sizeof lengths, stream), { DOCUMENTS }, { 1 } },
        { (float *)on_device(NULL, sizeof scores, stream), { QUERIES, DOCUMENTS }, { DOCUMENTS, 1 } },
    };
    size_t bytes = 0;
    int failed = maxsim_workspace(&args, BLOCKS, &bytes);
    void *workspace = on_device(NULL, bytes, stream);
    if (!failed)
        failed = maxsim(&args, workspace, bytes, stream);    /* only puts the work into the stream */
    if (!failed)
        failed = maxsim_status(workspace, stream);           /* waits for it */
    if (failed) {
        fprintf(stderr, "maxsim failed: %d, %s\n", failed, cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    must(cudaMemcpyAsync(scores, args.out.data, sizeof scores, cudaMemcpyDeviceToHost, stream), "a copy from the device");
    must(cudaStreamSynchronize(stream), "the scores");
    double error = largest_error();
    printf("MaxSim, %d queries and %d documents: workspace %zu bytes, max error %.1e\n", QUERIES, DOCUMENTS, bytes, error);
    cudaFree((void *)args.Q.data);
    cudaFree((void *)args.D.data);
    cudaFree((void *)args.length.data);
    cudaFree(args.out.data);
    cudaFree(workspace);
    must(cudaStreamDestroy(stream), "the stream");
    return error < 1e-4 ? 0 : 1;
}
