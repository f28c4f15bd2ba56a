/* Calls of kernels on GPUs: which device the tensors are on, and what a kernel there does not find out itself. */
#include <stdio.h>
#include <string.h>

#include "calling.h"
#include "cuda.h"

/* ---- where they are ---- */

bool call_is_on_grid(const einc_kernel *kernel)
{
    return kernel->variants->object->module != NULL;
}

static const DLTensor *tensor_of(const Slot *slot, const DLTensor *const *inputs, DLTensor *const *outputs)
{
    return slot->kind == SLOT_INPUT ? inputs[slot->which] : slot->kind == SLOT_OUTPUT ? outputs[slot->which] : NULL;
}

static const char *place_words(int device, char words[40])
{
    snprintf(words, 40, device == TENSOR_HOST ? "in the host's memory" : "on device %d", device);
    return words;
}

static int fail_place(const einc_kernel *kernel, const Slot *slot, int own, const Slot *first, int device)
{
    char text[300], here[40], there[40];
    snprintf(text, sizeof text, "is %s, but %s %d is %s\nhint: all tensors of a call are on one device, or all in the host's memory",
             place_words(own, here), first->kind == SLOT_OUTPUT ? "output" : "operand", first->which + 1, place_words(device, there));
    return call_fail_tensor(kernel, slot, text);
}

/* Whether a kernel can take a tensor where it is. */
static int check_place(const einc_kernel *kernel, const Slot *slot, int device, const uint64_t *words)
{
    size_t size = dtype_size(dtype_real(slot->dtype));
    char text[120];
    if (device == TENSOR_HOST)
        return EINC_OK;
    if (!call_is_on_grid(kernel))
        return call_fail_tensor(kernel, slot, "is not in the CPU's memory\nhint: the target \"cuda\" is for tensors on a GPU");
    if (device == TENSOR_ELSEWHERE)
        return call_fail_tensor(kernel, slot, "is neither in the host's memory nor on a device of CUDA");
    if (device >= cuda_count(kernel->context)) {
        snprintf(text, sizeof text, "is on device %d, but the machine has %d", device, cuda_count(kernel->context));
        return call_fail_tensor(kernel, slot, text);
    }
    if (words[slot->at] % size == 0)
        return EINC_OK;
    snprintf(text, sizeof text, "is on a device and not aligned to its numbers, which have %zu bytes", size);
    return call_fail_tensor(kernel, slot, text);
}

int call_find_device(const einc_kernel *kernel, const uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs,
                     int *device)
{
    const Slot *first = NULL;
    *device = TENSOR_HOST;
    for (int i = 0; i < kernel->slot_count; i++) {
        const Slot *slot = &kernel->slots[i];
        const DLTensor *tensor = tensor_of(slot, inputs, outputs);
        int own = tensor ? tensor_device(tensor) : TENSOR_HOST;
        int status = tensor ? check_place(kernel, slot, own, words) : EINC_OK;
        if (!status && tensor && first && own != *device)
            status = fail_place(kernel, slot, own, first, *device);
        if (status)
            return status;
        if (tensor && !first) {
            first = slot;
            *device = own;
        }
    }
    return EINC_OK;
}

/* ---- calls ---- */

/* Whether the outputs have their shapes and the constants are what they were compiled as: what kernels on a CPU find out
 * themselves. */
static bool fits(const einc_kernel *kernel, const Extents *extents, DLTensor *const *outputs)
{
    const Compiled *compiled = kernel->variants->compiled;
    for (int o = 0; o < compiled->output_count; o++)
        for (int a = 0; a < compiled->outputs[o]->rank; a++)
            if (outputs[o]->shape[a] != extents->shape[compiled->outputs[o]->id][a])
                return false;
    for (int i = 0; i < compiled->program->index_count; i++)
        for (int s = 0; s < kernel->options.static_count; s++) {
            const Index *index = compiled->program->indices[i];
            if (!index->in_dots && !strcmp(index->name, kernel->options.statics[s].name) &&
                extents->of[i] != kernel->options.statics[s].extent)
                return false;
        }
    return true;
}

int call_on_grid(einc_kernel *kernel, const uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs, int device,
                 const einc_call_options *options)
{
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    Extents *extents = call_infer(kernel, &arena, inputs, outputs, true);
    int status = !extents ? EINC_EXPRESSION : !fits(kernel, extents, outputs) ? -EINC_EXPRESSION
                 : cuda_call(kernel, &arena, device, words, extents, options);
    arena_free(&arena);
    return status;
}

const Variant *call_grid_variant(einc_kernel *kernel, int device, int *workers)
{
    if (device < 0 || device >= cuda_count(kernel->context))
        device = CUDA_HOST;
    *workers = cuda_workers(kernel->context, device);
    return cuda_variant(kernel, device);
}

int einc_wait(const einc_kernel *constant, DLDevice device, const einc_call_options *options)
{
    einc_kernel *kernel = (einc_kernel *)constant;
    DLTensor there = { .device = device };
    int number = tensor_device(&there);
    if (number == TENSOR_HOST)    /* such calls have waited */
        return EINC_OK;
    if (!call_is_on_grid(kernel) || number < 0 || number >= cuda_count(kernel->context))
        return context_fail(kernel->context, EINC_USAGE, "error: the kernel has not been called for that device");
    int status = cuda_wait(kernel, number, options);
    return status <= -16 ? call_explain_range(kernel, status) : status;
}
