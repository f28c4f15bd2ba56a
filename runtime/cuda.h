/* Kernels on a GPU: one device, its modules, and calls with arrays of the host, which are copied there and back. */
#ifndef EINC_CUDA_H
#define EINC_CUDA_H

#include "runtime.h"

/* Finds driver, compiler and the first device, once for a context. EINC_OK, or EINC_NO_COMPILER or EINC_FAILED after
 * context_fail(). */
int cuda_open(einc_context *context);
void cuda_close(einc_context *context);

/* Of the device, or what is next to it. */
const Target *cuda_target(const einc_context *context);

/* The unit's kernels on the device; NULL after context_fail(). */
CudaModule *cuda_module_new(einc_context *context, const EmittedUnit *unit, const char *name, const char *description);
void cuda_module_free(einc_context *context, CudaModule *module);

/* Runs a kernel: `words` is its args struct of host memory. What kernels return, or EINC_FAILED after context_fail(). */
int cuda_call(einc_kernel *kernel, const Variant *variant, const uint64_t *words, const Extents *extents, int64_t memory);

#endif
