/* A call with arrays of the host: copied to the device, worked on, copied back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "cuda_machine.h"
#include "grid.h"

enum { BLOCKS_OF_MULTIPROCESSOR = 8 };

/* An array on both sides: all bytes from its lowest element to its highest. */
typedef struct Staged {
    char *host;
    CudaAddress device;
    size_t bytes;
    bool output;
} Staged;

typedef struct DeviceCall {
    einc_kernel *kernel;
    const Compiled *compiled;
    const Cuda *cuda;
    const CudaModule *module;
    Staged *arrays;               /* [slot], and last the workspace */
    int count;
} DeviceCall;

static int fail(const DeviceCall *call, int error, const char *what)
{
    return cuda_fail(call->kernel->context, call->cuda, error, what);
}

/* ---- arrays ---- */

/* The bytes that a slot's array reaches, and how many of them lie below its first element. */
static size_t span_of(const Slot *slot, const uint64_t *words, size_t *below)
{
    int room = slot->rank ? slot->rank : 1;
    int64_t low = 0, high = 0;
    for (int a = 0; a < slot->rank; a++) {
        int64_t size = (int64_t)words[slot->at + 1 + (size_t)a], stride = (int64_t)words[slot->at + 1 + (size_t)(room + a)];
        if (size == 0)
            return *below = 0;
        *(stride < 0 ? &low : &high) += stride * (size - 1);
    }
    *below = (size_t)-low * dtype_size(slot->dtype);
    return (size_t)(high - low + 1) * dtype_size(slot->dtype);
}

static int allocate(const DeviceCall *call, Staged *array, const char *what)
{
    int error = array->bytes ? call->cuda->driver.alloc(&array->device, array->bytes) : 0;
    return error ? fail(call, error, what) : EINC_OK;
}

/* Copies the operands, and outputs too, since what lies between their elements comes back; `words` then has addresses of the
 * device. */
static int copy_in(DeviceCall *call, uint64_t *words)
{
    for (int i = 0; i < call->kernel->slot_count; i++) {
        const Slot *slot = &call->kernel->slots[i];
        if (slot->kind != SLOT_INPUT && slot->kind != SLOT_OUTPUT)
            continue;
        size_t below;
        Staged *array = &call->arrays[i];
        array->bytes = span_of(slot, words, &below);
        array->host = (char *)(uintptr_t)words[slot->at] - below;
        array->output = slot->kind == SLOT_OUTPUT;
        int status = allocate(call, array, "memory for an array");
        if (status)
            return status;
        int error = array->bytes ? call->cuda->driver.copy_in(array->device, array->host, array->bytes, NULL) : 0;
        if (error)
            return fail(call, error, "an array cannot be copied to the device");
        words[slot->at] = array->device + below;
    }
    return EINC_OK;
}

static int copy_out(const DeviceCall *call)
{
    for (int i = 0; i < call->count; i++) {
        const Staged *array = &call->arrays[i];
        int error = array->output && array->bytes ? call->cuda->driver.copy_out(array->host, array->device, array->bytes, NULL) : 0;
        if (error)
            return fail(call, error, "a result cannot be copied from the device");
    }
    int error = call->cuda->driver.wait(NULL);
    return error ? fail(call, error, "the results do not come") : EINC_OK;
}

/* ---- work ---- */

static int launch(void *user, const char *kernel, unsigned blocks, unsigned threads, void *frame)
{
    const DeviceCall *call = user;
    int w = 0;
    while (call->compiled->unit->work[w].kernel != kernel)
        w++;
    int error = call->cuda->driver.launch(call->module->functions[w], blocks, 1, 1, threads, 1, 1, 0, NULL, (void *[]){ frame }, NULL);
    char what[400];
    snprintf(what, sizeof what, "%s with %u blocks of %u threads, for '%.200s'", kernel, blocks, threads, call->kernel->source.text);
    return error ? fail(call, error, what) : 0;
}

static int clear(void *user, void *at, size_t bytes)
{
    const DeviceCall *call = user;
    int error = bytes ? call->cuda->driver.clear((CudaAddress)(uintptr_t)at, 0, bytes, NULL) : 0;
    return error ? fail(call, error, "the workspace cannot be cleared") : 0;
}

/* As many blocks' own parts as keep the device busy, or as the budget allows. */
static int reserve(DeviceCall *call, const Extents *extents, int64_t memory)
{
    Staged *workspace = &call->arrays[call->count - 1];
    SizeValues values = { extents->of, extents->shape, call->cuda->multiprocessors * BLOCKS_OF_MULTIPROCESSOR };
    int64_t bytes;
    for (;; values.workers -= (values.workers + 7) / 8) {
        bytes = size_evaluate(call->compiled->plan->workspace, &values);
        if (bytes < 0 || bytes == SIZE_TOO_LARGE)
            return -EINC_EXPRESSION;
        if (!memory || bytes <= memory)
            break;
        if (values.workers == 1)
            return context_fail(call->kernel->context, EINC_BUDGET, "error: the kernel needs %lld bytes of workspace, but the budget is "
                                "%lld", (long long)bytes, (long long)memory);
    }
    workspace->bytes = (size_t)bytes;
    return allocate(call, workspace, "memory for the workspace");
}

/* What the kernels noted. */
static int read_status(const DeviceCall *call)
{
    const Staged *workspace = &call->arrays[call->count - 1];
    int32_t status = 0;
    int error = call->compiled->plan->status ? call->cuda->driver.copy_out(&status, workspace->device, sizeof status, NULL) : 0;
    if (!error)
        error = call->cuda->driver.wait(NULL);
    return error ? fail(call, error, "the kernels fail") : status;
}

static int work(DeviceCall *call, uint64_t *words, uint64_t *frame, const Extents *extents, int64_t memory)
{
    const GridMachine machine = { launch, clear, call };
    const Staged *workspace = &call->arrays[call->count - 1];
    SizeValues values = { extents->of, extents->shape, 1 };
    int status = copy_in(call, words);
    if (!status)
        status = reserve(call, extents, memory);
    if (!status)
        status = grid_run(call->compiled, words, &values, (void *)(uintptr_t)workspace->device, workspace->bytes, frame, &machine);
    if (!status)
        status = read_status(call);
    return status ? status : copy_out(call);
}

int cuda_call(einc_kernel *kernel, const Variant *variant, const uint64_t *words, const Extents *extents, int64_t memory)
{
    einc_context *context = kernel->context;
    DeviceCall call = { .kernel = kernel, .compiled = variant->compiled, .cuda = context->cuda, .module = variant->object->module,
                        .count = kernel->slot_count + 1 };
    const CudaDriver *driver = &call.cuda->driver;
    uint64_t *own = malloc(kernel->args_words * sizeof *own), *frame = malloc((size_t)variant->compiled->unit->frame_bytes);
    call.arrays = calloc((size_t)call.count, sizeof *call.arrays);
    int status = own && frame && call.arrays ? EINC_OK : context_fail(context, EINC_FAILED, "error: out of memory");
    int error = status ? 0 : driver->context_push(call.cuda->context);
    if (error)
        status = fail(&call, error, "the device cannot be used");
    if (!status) {
        memcpy(own, words, kernel->args_words * sizeof *own);
        status = work(&call, own, frame, extents, memory);
        for (int i = 0; i < call.count; i++)
            if (call.arrays[i].device)
                driver->free(call.arrays[i].device);
        driver->context_pop(&(void *){ NULL });
    }
    free(own);
    free(frame);
    free(call.arrays);
    return status;
}
