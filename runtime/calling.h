/* What call.c and call_grid.c share. */
#ifndef EINC_CALLING_H
#define EINC_CALLING_H

#include "runtime.h"

/* call.c */
int call_fail_tensor(const einc_kernel *kernel, const Slot *slot, const char *wrong);
/* The extents for these tensors; NULL after a failure was reported. `outputs` may be NULL. */
Extents *call_infer(const einc_kernel *kernel, Arena *arena, const DLTensor *const *inputs, DLTensor *const *outputs, bool require);
/* What a kernel's number of a position out of range means. */
int call_explain_range(const einc_kernel *kernel, int status);

/* call_grid.c */

/* Whether the kernel is on GPUs. Tests have kernels for these compiled for the host. */
bool call_is_on_grid(const einc_kernel *kernel);
/* The device that all tensors are on, or TENSOR_HOST. `words` is the filled args struct. */
int call_find_device(const einc_kernel *kernel, const uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs,
                     int *device);
/* What kernels return, or another status after context_fail(). */
int call_on_grid(einc_kernel *kernel, const uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs, int device,
                 const einc_call_options *options);
/* The kernel's plan on a device, and how many blocks with a part of the workspace keep that busy. */
const Variant *call_grid_variant(einc_kernel *kernel, int device, int *workers);

#endif
