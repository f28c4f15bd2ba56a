/* How fast a device is, and how fast work on it: timed by its own events, beside what it can do at most. */
#ifndef EINC_GPU_H
#define EINC_GPU_H

#include "arena.h"
#include "cuda_machine.h"
#include "einc.h"

/* X(tag, in words, its loop in templates/cuda/peaks.cu, what a chain of a thread does in a round, TFLOP/s on the data sheets of H100 and
 * H200, H100 PCIe, A100, without sparsity): the units that multiply these numbers. Those of i8 are no FLOP, but as many operations. */
#define PEAKS(X)                                                                                        \
    X(F32, "f32", "peak_f32", 2, 67, 51, 19.5)                                                          \
    X(F64, "f64", "peak_f64", 2, 34, 26, 9.7)                                                           \
    X(F64_MATRICES, "f64, by mma.sync", "peak_f64_matrices", 2 * 16 * 8 * 8 / 32, 67, 51, 19.5)         \
    X(TF32, "tf32, by mma.sync", "peak_tf32", 2 * 16 * 8 * 8 / 32, 494.7, 378, 156)                     \
    X(BF16, "bf16, by mma.sync", "peak_bf16", 2 * 16 * 8 * 16 / 32, 989, 756, 312)                      \
    X(I8, "i8, by mma.sync", "peak_i8", 2 * 16 * 8 * 32 / 32, 1979, 1513, 624)

typedef enum {
#define X(tag, words, loop, flops, sxm, pcie, a100) PEAK_##tag,
    PEAKS(X)
#undef X
    PEAK_COUNT
} Peak;

extern const char *const peak_words[PEAK_COUNT];

/* What is called of the driver beside what kernels need. */
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

typedef struct Gpu {
    GPU_FUNCTIONS(CUDA_MEMBER)
    const CudaDriver *driver;
    einc_context *context;
    CudaDevice *device;           /* the first that can run kernels; its context is this thread's */
    char name[200];
    void *stream, *begin, *end;
    bool trial;                   /* small sizes, one call each: to see that all runs */
    double bandwidth;             /* bytes a second that a copy reads and writes */
    double measured[PEAK_COUNT];  /* FLOP/s of loops of our own: templates/cuda/peaks.cu */
    double paper[PEAK_COUNT];     /* of NVIDIA's data sheet; 0: not known */
    const char *failure;          /* NULL, or what went wrong */
} Gpu;

/* The first device that can run kernels, in a context that outlives this. EINC_OK, or a status after gpu->failure was set.
 * gpu_close() is due in any case. */
int gpu_open(Gpu *gpu, Arena *arena, einc_context *context, bool trial);
void gpu_close(Gpu *gpu);

/* Peaks, and the bandwidth of copying so many bytes. */
bool gpu_measure_peaks(Gpu *gpu, Arena *arena, size_t bytes);

/* The greater of the peaks known. */
double gpu_peak(const Gpu *gpu, Peak peak);

/* Seconds of a call of work(), which puts something into gpu->stream: of the fastest of some times. Short calls are so many at a time
 * that the device never waits for the host. Less than 0 when one fails. */
double gpu_time(Gpu *gpu, bool (*work)(void *user), void *user, double seconds);

/* Seconds of each of so many calls, one behind the other; less than 0 when one fails. And how many calls of so many seconds it takes
 * that the host's part is nothing beside them. */
double gpu_time_calls(Gpu *gpu, bool (*work)(void *user), void *user, int calls);
int gpu_calls(double seconds);

double wall_seconds(void);

#endif
