/* Benchmarks on a GPU: rows of a table, timed by the device's own events, each beside what bounds it on that device. */
#ifndef EINC_BENCH_GPU_ROWS_H
#define EINC_BENCH_GPU_ROWS_H

#include "gpu.h"

/* cuBLAS's product beside a row's [i,k] by [k,j], or by [j,k], of one dtype; rounded to tf32. */
typedef enum { BESIDE_NOTHING, BESIDE_PRODUCT, BESIDE_TF32, BESIDE_ALONG } Beside;

typedef struct Row {
    const char *name, *work;
    const char *expression;
    const char *operands;         /* "bf16 1024,128; bf16 1000,1024,128" */
    const char *trial;            /* smaller ones, for a run that times nothing */
    double flops;                 /* of the large ones: multiply-adds count two */
    Peak peak;
    int parts;                    /* so many products of those numbers make one of the row's; 0: one */
    const char *precision;        /* as --precision takes it; NULL: exact */
    double goal_rate;             /* FLOP/s; 0: none */
    double goal_seconds;          /* likewise */
    Beside beside;
    bool has_goal;                /* which is 85 % of cuBLAS's rate */
} Row;

extern const Row rows[];          /* ends in a NULL name */

/* ---- work.c ---- */

typedef struct Figure {
    const char *name, *work, *goal, *by;
    double seconds, rate;         /* seconds 0: not measured */
    double bound;                 /* seconds that the peaks allow */
    double peer;                  /* cuBLAS's seconds; 0: none */
    bool met;
    int checked;                  /* elements compared with the evaluator */
    const char *failure;
} Figure;

/* Makes a row ready, compares some elements of its result with the evaluator, and times it. */
Figure measure_row(Gpu *gpu, Arena *arena, const Row *row, double seconds);

/* From the text to the first result, with an empty cache and with a full one; then what a call costs the host; of the latter two the
 * driver's part, too. */
enum { HOST_FIGURES = 5 };
int measure_host(Gpu *gpu, Arena *arena, Figure figures[HOST_FIGURES]);

/* ---- cublas.c ---- */

/* C = A B, of `dtype` and in C's order, like the row's kernel. Whether there is a cuBLAS; whether it has such a product. */
bool cublas_begin(Gpu *gpu);
bool cublas_product(Gpu *gpu, const char *dtype, Beside how, int64_t i, int64_t k, int64_t j, const void *A, const void *B, void *C);
void cublas_end(void);

#endif
