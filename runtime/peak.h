/* The roof over a kernel's figures: how fast this machine calculates, reads and writes, measured. A sample is short
 * (tens of milliseconds), so that samples can stand between the runs of what they are compared with: a shared machine
 * is not equally fast for long. */
#ifndef EINC_PEAK_H
#define EINC_PEAK_H

#include "dtype.h"
#include "pool.h"
#include "target.h"

/* The clock of all measurements: of one worker the calling thread's own time, which other programs on the same core do
 * not add to; of several the time of day. */
double peak_seconds(int workers);

/* An instruction that multiplies and adds. */
typedef struct PeakUnit PeakUnit;

/* The one with which `target` multiplies `dtype`: "avx512" "avx2" "portable" f32 and f64; "avx512bf16" and "amx" bf16;
 * "avx512vnni" and "amx" i8. NULL when there is none or this CPU (for AMX also the kernel) lacks it. */
const PeakUnit *peak_unit(const char *target, Dtype dtype);

/* Operations a second (a multiply-add is two) on `workers` threads: the best of three kernels. Those of AMX are loops
 * over 2 x 2 tiles which load random numbers from L1; the others keep all in registers. */
double peak_sample(Pool *pool, int workers, const PeakUnit *unit);

typedef enum { PEAK_READ, PEAK_WRITE, PEAK_UPDATE } PeakAccess;

/* Bytes a second at which `workers` threads move this memory: the best of three loops or four, each of which passes it once
 * (more often when it is small). What is updated counts as read and as written. `memory` is aligned to 64. 0 when there
 * is less than a page of it. */
double peak_stream(Pool *pool, int workers, PeakAccess access, void *memory, size_t bytes);

/* The roof of a kernel: the best rates seen so far, a second, of all workers together. */
typedef struct Peaks {
    double flops;
    double read, updated, written;/* of a buffer as large as the operands, so in the same caches */
    Pool *pool;
    int workers;
    const PeakUnit *unit;
    void *buffer;
    size_t bytes;
} Peaks;

/* `operands`: the bytes that the kernel reads and writes. The portable unit counts where the target has none of its own
 * for f32 or f64; for another `dtype` it must have one. False when there is no memory. */
bool peaks_open(Peaks *peaks, Pool *pool, int workers, const Target *target, Dtype dtype, double operands);

/* One sample of each; what is better than before is kept. */
void peaks_measure(Peaks *peaks);

/* The time that it takes at the least to read and write so many bytes. */
double peaks_seconds(const Peaks *peaks, double read, double written);

void peaks_close(Peaks *peaks);

#endif
