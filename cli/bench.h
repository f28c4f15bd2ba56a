/* What command_bench.c and bench_device.c share. */
#ifndef EINC_BENCH_H
#define EINC_BENCH_H

#include "job.h"
#include "peak.h"

typedef struct Bench {
    Job job;
    DLTensor *tensors;            /* the inputs, then the outputs */
    const DLTensor **inputs;
    DLTensor **outputs;
    Array *made;                  /* [made_count]: arrays whose data is ours */
    int made_count;
    void *workspace;
    size_t workspace_bytes;
    int workers;
    Peaks peaks;
    double *times;                /* in order, when all are there */
    int runs;
    int calls;                    /* of each run, one behind the other */
    const char *device;           /* where it runs; NULL: on the CPU */
    const char *beyond;           /* why the kernel can be faster than its bound; or NULL */
} Bench;

/* What is reported. */
typedef struct Figures {
    double seconds, best, flops, bytes, peak_flops, peak_bytes, bound;
    bool compute;
} Figures;

/* As many workers as the budget allows, of so many at most, and the bytes of their workspace. */
int bench_fit_workers(Bench *b, const einc_kernel *kernel, int most);
void bench_add_time(Bench *b, double seconds);
void bench_sort_times(Bench *b);

/* Figures of calls on the first device, of `flops` and `bytes`. */
int bench_on_device(Bench *b, const einc_kernel *kernel, double seconds, Figures *figures);

#endif
