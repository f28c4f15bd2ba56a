/* Benchmarks on a GPU: rows of a table, timed by the device's own events, each beside what bounds it on that device. */
#ifndef EINC_BENCH_GPU_H
#define EINC_BENCH_GPU_H

#include "arena.h"
#include "cuda_machine.h"
#include "einc.h"

/* Whose peaks bound rows: the units that multiply these. */
typedef enum { PEAK_F32, PEAK_F64, PEAK_BF16, PEAK_COUNT } Peak;

typedef struct Row {
    const char *name, *work;
    const char *expression;
    const char *operands;         /* "bf16 1024,128; bf16 1000,1024,128" */
    const char *trial;            /* smaller ones, for a run that times nothing */
    double flops;                 /* of the large ones: multiply-adds count two */
    Peak peak;
    double goal_rate;             /* FLOP/s; 0: none */
    double goal_seconds;          /* likewise */
    bool beside_cublas;           /* a product [i,k] by [k,j] of one dtype, whose goal is 85 % of cuBLAS's rate */
} Row;

extern const Row rows[];          /* ends in a NULL name */

/* What the benchmarks call of the driver beside what kernels need. */
#define GPU_FUNCTIONS(X)                                                                                                       \
    X(device_name, "cuDeviceGetName", (char *name, int bytes, int device))                                                     \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                                        \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                                                    \
    X(event_create, "cuEventCreate", (void **event, unsigned flags))                                                           \
    X(event_destroy, "cuEventDestroy_v2", (void *event))                                                                       \
    X(event_record, "cuEventRecord", (void *event, void *stream))                                                              \
    X(event_wait, "cuEventSynchronize", (void *event))                                                                         \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, void *begin, void *end))                                      \
    X(copy, "cuMemcpyDtoDAsync_v2", (CudaAddress to, CudaAddress from, size_t bytes, void *stream))

/* ---- device.c ---- */

typedef struct Gpu {
    GPU_FUNCTIONS(CUDA_MEMBER)
    const CudaDriver *driver;
    einc_context *context;
    CudaDevice *device;           /* the first that can run kernels; its context is this thread's */
    char name[200];
    void *stream, *begin, *end;
    bool trial;                   /* small sizes, one call each: to see that all runs */
    double bandwidth;             /* bytes a second that a copy reads and writes */
    double measured[PEAK_COUNT];  /* FLOP/s of loops of our own: peaks.cu */
    double paper[PEAK_COUNT];     /* of NVIDIA's data sheet; 0: not known */
    const char *failure;          /* NULL, or what went wrong */
} Gpu;

/* EINC_OK, or a status after gpu->failure was set. gpu_close() is due in any case. */
int gpu_open(Gpu *gpu, Arena *arena, bool trial);
void gpu_close(Gpu *gpu);

/* Bandwidth and peaks, of which the folder has peaks.cu. */
bool gpu_measure_peaks(Gpu *gpu, Arena *arena, const char *folder);

/* The greater of the peaks known. */
double gpu_peak(const Gpu *gpu, Peak peak);

/* Seconds of a call of work(), which puts something into gpu->stream: of the fastest of some times. Short calls are so many at a time
 * that the device never waits for the host. Less than 0 when one fails. */
double gpu_time(Gpu *gpu, bool (*work)(void *user), void *user, double seconds);

double wall_seconds(void);

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

/* From the text to the first result, with an empty cache and with a full one; then what a call costs the host. */
int measure_host(Gpu *gpu, Arena *arena, Figure figures[3]);

/* ---- cublas.c ---- */

/* C = A B, of `dtype` and in C's order, like the row's kernel. Whether there is a cuBLAS. */
bool cublas_begin(Gpu *gpu);
bool cublas_product(Gpu *gpu, const char *dtype, int64_t i, int64_t k, int64_t j, const void *A, const void *B, void *C);
void cublas_end(void);

#endif
