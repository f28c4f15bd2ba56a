/* What the files of CUDA share: cuda.c, of the devices; cuda_module.c, of what is loaded on them; cuda_call.c. */
#ifndef EINC_CUDA_MACHINE_H
#define EINC_CUDA_MACHINE_H

#include "cuda_driver.h"
#include "runtime.h"

enum { ARCHITECTURE_BYTES = 24 };

typedef struct CudaDevice {
    int number, handle, multiprocessors;
    int architecture;             /* 90: of the hardware */
    int compiled;                 /* the newest that NVRTC knows and that runs here; */
    bool own;                     /* it knows what only that one has, too: "sm_90a" */
    bool pools;                   /* takes memory in the order of a stream's work */
    const Target *target;         /* whose kernels are made for it */
    void *_Atomic context;        /* the primary one; NULL until a call needs it */
    _Atomic int lost;             /* the error after which the context serves no more; 0 */
} CudaDevice;

struct Cuda {
    CudaDriver driver;
    Nvrtc nvrtc;
    int driver_version, nvrtc_version;   /* 13000 and 1300 for 13.0 */
    pthread_mutex_t lock;         /* of taking devices' contexts */
    int first;                    /* of the devices that can run kernels */
    int device_count;
    CudaDevice devices[];
};

/* The kernels on one device, and which was launched last, for messages: with several threads perhaps another's. */
typedef struct CudaCode {
    void *module;
    _Atomic int last;             /* its place among the unit's work; -1: none yet */
    _Atomic unsigned blocks, threads;
    void *functions[];            /* [work of the unit] */
} CudaCode;

/* EINC_FAILED, after context_fail() with the error's name. An error that leaves the device's context without use is noted. */
int cuda_fail(einc_context *context, CudaDevice *device, int error, const char *what);

/* The same of a kernel, with its expression. */
int cuda_fail_kernel(const einc_kernel *kernel, CudaDevice *device, int error, const char *what);

/* Makes a device's context this thread's, until cuda_leave(). EINC_OK, or another status after context_fail(). */
int cuda_enter(einc_context *context, CudaDevice *device);
void cuda_leave(const einc_context *context);

/* "sm_90a" as NVRTC's option says it: of code, or of text that the driver compiles, where NVRTC does not know the device. */
void cuda_spell_architecture(const CudaDevice *device, char text[ARCHITECTURE_BYTES]);

/* Whether a target's kernels run on a device. */
bool cuda_runs(const CudaDevice *device, const Target *target);

/* The kernels on a device whose context is this thread's. NULL after context_fail(). */
CudaCode *cuda_module_load(einc_context *context, CudaModule *module, CudaDevice *device);

#endif
