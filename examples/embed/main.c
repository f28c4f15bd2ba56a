/* Calls attention(), which einc generated, and compares it with plain loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention.h"

enum { QUERIES = 100, KEYS = 100, WIDTH = 64 };

static float Q[QUERIES][WIDTH], K[KEYS][WIDTH], V[KEYS][WIDTH], out[QUERIES][WIDTH];

static void fill(float (*x)[WIDTH], int rows, unsigned seed)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < WIDTH; c++) {
            seed = seed * 1664525u + 1013904223u;
            x[r][c] = (float)(int)(seed >> 16) / 16384.0f - 2;
        }
}

/* The largest difference from the same in double, one query at a time. */
static double largest_error(void)
{
    double largest = 0;
    for (int q = 0; q < QUERIES; q++) {
        double score[KEYS], most = -INFINITY, sum = 0;
        for (int k = 0; k <= q; k++) {
            score[k] = 0;
            for (int d = 0; d < WIDTH; d++)
                score[k] += 0.125 * (double)Q[q][d] * (double)K[k][d];
            most = fmax(most, score[k]);
        }
        for (int k = 0; k <= q; k++)
            sum += score[k] = exp(score[k] - most);
        for (int v = 0; v < WIDTH; v++) {
            double value = 0;
            for (int k = 0; k <= q; k++)
                value += score[k] / sum * (double)V[k][v];
            double error = fabs(value - (double)out[q][v]);
            largest = error > largest || isnan(error) ? error : largest;
        }
    }
    return largest;
}

int main(void)
{
    fill(Q, QUERIES, 1);
    fill(K, KEYS, 2);
    fill(V, KEYS, 3);
    attention_args args = {
        .Q = { &Q[0][0], { QUERIES, WIDTH }, { WIDTH, 1 } },
        .K = { &K[0][0], { KEYS, WIDTH }, { WIDTH, 1 } },
        .V = { &V[0][0], { KEYS, WIDTH }, { WIDTH, 1 } },
        .out = { &out[0][0], { QUERIES, WIDTH }, { WIDTH, 1 } },
    };
    size_t bytes;
    int failed = attention_workspace(&args, 1, &bytes);
    void *workspace = failed ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!failed)
        failed = workspace ? attention(&args, workspace, bytes, NULL) : 1;
    free(workspace);
    if (failed) {
        fprintf(stderr, "attention failed: %d\n", failed);
        return 1;
    }
    double error = largest_error();
    printf("causal attention, %d queries and %d keys: workspace %zu bytes, max error %.1e\n", QUERIES, KEYS, bytes,
           error);
    return error < 1e-5 ? 0 : 1;
}
