/* What cuda.c and cuda_call.c share. */
#ifndef EINC_CUDA_MACHINE_H
#define EINC_CUDA_MACHINE_H

#include "cuda_driver.h"
#include "runtime.h"

struct Cuda {
    CudaDriver driver;
    Nvrtc nvrtc;
    int nvrtc_version;            /* 1300 for 13.0 */
    int device, multiprocessors, major, minor;
    void *context;                /* the device's primary one */
};

struct CudaModule {
    void *module;
    void *functions[];            /* [work of the unit] */
};

/* EINC_FAILED, after context_fail() with the error's name. */
int cuda_fail(einc_context *context, const Cuda *cuda, int error, const char *what);

#endif
