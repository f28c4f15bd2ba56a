/* The roof over a kernel's figures: how fast this machine calculates and moves bytes, measured beside it. */
#ifndef EINC_PEAK_H
#define EINC_PEAK_H

#include "dtype.h"
#include "pool.h"
#include "target.h"

/* The best rates seen so far, a second, of all workers together. */
typedef struct Peaks {
    double flops;                 /* multiply-adds, two each, with the target's instructions: the best of three loops */
    double read, updated, written;/* bytes, of a buffer as large as the operands, so in the same caches; in `updated`
                                     each is counted as read and as written */
    Pool *pool;
    int workers;
    const Target *target;
    Dtype dtype;                  /* f32 or f64 */
    void *buffer;
    size_t bytes;
} Peaks;

/* `operands`: the bytes that the kernel reads and writes. False when there is no memory. */
bool peaks_open(Peaks *peaks, Pool *pool, int workers, const Target *target, Dtype dtype, double operands);

/* One round of all loops, some 50 ms; what is better than before is kept. Rounds before, between and after what they are
 * compared with see the same machine. */
void peaks_measure(Peaks *peaks);

/* The time that it takes at the least to read and write so many bytes. */
double peaks_seconds(const Peaks *peaks, double read, double written);

void peaks_close(Peaks *peaks);

#endif
