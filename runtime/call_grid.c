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

/* ---- shapes that have been met ---- */

/* A tensor's shape and strides in the args struct; of nothing else does a call's form depend. */
static size_t met_words(const Slot *slot)
{
    return slot->kind == SLOT_INPUT || slot->kind == SLOT_OUTPUT ? 2 * (size_t)slot->rank : 0;
}

static bool has_met(const einc_kernel *kernel, const Prepared *prepared, const uint64_t *words)
{
    const uint64_t *met = prepared->met;
    for (int i = 0; i < kernel->slot_count; i++) {
        const Slot *slot = &kernel->slots[i];
        if (memcmp(met, words + slot->at + 1, met_words(slot) * sizeof *met))
            return false;
        met += met_words(slot);
    }
    return true;
}

static const Prepared *find_prepared(const einc_kernel *kernel, const Variant *variant, const uint64_t *words)
{
    const Prepared *p = kernel->prepared;
    while (p && !(p->variant == variant && has_met(kernel, p, words)))
        p = p->next;
    return p;
}

static const uint64_t *copy_met(const einc_kernel *kernel, Arena *arena, const uint64_t *words)
{
    uint64_t *met = ARENA_ARRAY(arena, uint64_t, kernel->args_words), *end = met;
    for (int i = 0; i < kernel->slot_count; end += met_words(&kernel->slots[i++]))
        memcpy(end, words + kernel->slots[i].at + 1, met_words(&kernel->slots[i]) * sizeof *met);
    return met;
}

/* Whether the outputs have their shapes: what kernels on a CPU find out themselves. */
static bool fits(const einc_kernel *kernel, const Extents *extents, DLTensor *const *outputs)
{
    const Compiled *compiled = kernel->variants->compiled;
    for (int o = 0; o < compiled->output_count; o++)
        for (int a = 0; a < compiled->outputs[o]->rank; a++)
            if (outputs[o]->shape[a] != extents->shape[compiled->outputs[o]->id][a])
                return false;
    return true;
}

/* EINC_OK, or as kernels return it. */
static int fill_prepared(const einc_kernel *kernel, Prepared *prepared, const uint64_t *words, const DLTensor *const *inputs,
                         DLTensor *const *outputs)
{
    const Compiled *compiled = prepared->variant->compiled;
    Extents *extents = prepared->extents = call_infer(kernel, &prepared->arena, inputs, outputs, true);
    if (!extents)
        return EINC_EXPRESSION;
    if (!fits(kernel, extents, outputs))
        return -EINC_EXPRESSION;
    SizeValues values = { extents->of, extents->shape, 1 };
    prepared->met = copy_met(kernel, &prepared->arena, words);
    prepared->least = size_evaluate(compiled->plan->workspace, &values);
    prepared->call = grid_prepare(&prepared->arena, compiled, words, &values);
    return prepared->call ? EINC_OK : -EINC_EXPRESSION;
}

static int prepare(const einc_kernel *kernel, const Variant *variant, const uint64_t *words, const DLTensor *const *inputs,
                   DLTensor *const *outputs, Prepared **made)
{
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    Prepared *volatile prepared = NULL;
    if (setjmp(full)) {
        if (prepared)
            call_forget_prepared(prepared);
        else
            arena_free(&arena);
        return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    prepared = *made = ARENA_NEW(&arena, Prepared);
    prepared->arena = arena;
    prepared->variant = variant;
    int status = fill_prepared(kernel, prepared, words, inputs, outputs);
    prepared->arena.failed = NULL;
    if (status)
        call_forget_prepared(prepared);
    return status;
}

void call_forget_prepared(Prepared *prepared)
{
    Arena arena = prepared->arena;    /* which the struct lies in */
    arena_free(&arena);
}

/* Whether it is kept, which the first few are. */
static bool keep_prepared(einc_kernel *kernel, Prepared *prepared)
{
    enum { MOST = 8 };
    int count = 0;
    pthread_mutex_lock(&kernel->lock);
    for (const Prepared *p = kernel->prepared; p; p = p->next)
        count++;
    if (count < MOST) {
        prepared->next = kernel->prepared;
        kernel->prepared = prepared;
    }
    pthread_mutex_unlock(&kernel->lock);
    return count < MOST;
}

/* ---- calls ---- */

int call_on_grid(einc_kernel *kernel, const uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs, int device,
                 const einc_call_options *options)
{
    const Variant *variant = cuda_variant(kernel, device);
    if (!variant)
        return EINC_FAILED;
    const Prepared *met = find_prepared(kernel, variant, words);
    if (met)
        return cuda_call(kernel, met, device, words, options);
    Prepared *made;
    int status = prepare(kernel, variant, words, inputs, outputs, &made);
    if (status)
        return status;
    bool kept = keep_prepared(kernel, made);
    status = cuda_call(kernel, made, device, words, options);
    if (!kept)
        call_forget_prepared(made);
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
    if (!kernel)
        return EINC_USAGE;
    DLTensor there = { .device = device };
    int number = tensor_device(&there);
    if (number == TENSOR_HOST)    /* such calls have waited */
        return EINC_OK;
    if (!call_is_on_grid(kernel) || number < 0 || number >= cuda_count(kernel->context))
        return context_fail(kernel->context, EINC_USAGE, "error: the kernel has not been called for that device");
    int status = cuda_wait(kernel, number, options);
    return status <= -16 ? call_explain_range(kernel, status) : status;
}
