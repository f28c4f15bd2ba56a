/* The roof over a kernel's figures: how fast this machine calculates and reads, measured. */
#ifndef EINC_PEAK_H
#define EINC_PEAK_H

#include "dtype.h"
#include "pool.h"
#include "target.h"

/* Operations a second of multiply-adds (two each) on `dtype`, f32 or f64, with the target's instructions, on `workers`
 * threads: the best of three kernels, which differ in how many sums they carry. */
double peak_flops(Pool *pool, int workers, const Target *target, Dtype dtype);

/* Bytes a second that `workers` threads read from a buffer that no cache holds. 0 when there is no memory for it. */
double peak_bytes(Pool *pool, int workers);

#endif
