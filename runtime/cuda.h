/* Kernels on GPUs: devices, what is loaded on them, and calls, of arrays on a device or of the host's, which are copied there
 * and back. */
#ifndef EINC_CUDA_H
#define EINC_CUDA_H

#include "grid.h"
#include "runtime.h"

/* Finds driver, compiler and devices, once for a context. EINC_OK, or EINC_NO_COMPILER or EINC_FAILED after
 * context_fail(). */
int cuda_open(einc_context *context);
void cuda_close(einc_context *context);

/* The devices of an open context are numbered from 0, as DLPack and the driver do. CUDA_HOST in the place of one: arrays of the
 * host, for which the first device works that can. */
enum { CUDA_HOST = -1 };

int cuda_count(const einc_context *context);

/* The target whose kernels are made for a device. */
const Target *cuda_target(const einc_context *context, int device);

/* A variant's kernels, compiled for the first device: others compile and load them when they are first called. Kernel and variant
 * must outlive it. NULL after context_fail(). */
CudaModule *cuda_module_new(const einc_kernel *kernel, const Variant *variant);
void cuda_module_free(einc_context *context, CudaModule *module);

/* The kernel's plan for a device; NULL after context_fail(). */
const Variant *cuda_variant(einc_kernel *kernel, int device);

/* So many blocks with a part of the workspace of their own keep a device busy. */
int cuda_workers(const einc_context *context, int device);

/* What a variant's call comes to for given shapes and strides, wherever the arrays are. It is not changed any more, and some of a
 * kernel's are kept until its end. */
struct Prepared {
    Prepared *next;
    Arena arena;                  /* it lies in this itself */
    const Variant *variant;
    const uint64_t *met;          /* the shapes and strides, slot after slot */
    Extents *extents;
    GridCall *call;
    int64_t least;                /* bytes of workspace for one block at once */
};

/* Runs a kernel: `words` is its args struct. What kernels return, or another status after context_fail(). With a device it only
 * starts the work, unless it has to give back what the work needs. */
int cuda_call(einc_kernel *kernel, const Prepared *prepared, int device, const uint64_t *words, const einc_call_options *options);

/* Waits for a stream, and says what kernels have noted in the workspace. */
int cuda_wait(einc_kernel *kernel, int device, const einc_call_options *options);

#endif
