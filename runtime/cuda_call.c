/* A call: with arrays of a device in place, on the caller's stream; with arrays of the host, which are copied to the device,
 * worked on and copied back. */
#include <stdio.h>
#include <string.h>

#include "cuda.h"
#include "cuda_machine.h"
#include "grid.h"

enum { FRAME_WORDS = 512 };       /* more are seldom needed */

/* An array on both sides: all bytes from its lowest element to its highest. */
typedef struct Staged {
    char *host;
    CudaAddress device;
    size_t bytes;
    bool output;
} Staged;

typedef struct DeviceCall {
    einc_kernel *kernel;
    const Prepared *prepared;
    const Compiled *compiled;     /* its variant's */
    const CudaDriver *driver;
    CudaDevice *device;
    CudaCode *code;
    void *stream;
    Staged *arrays;               /* [slot] */
    CudaAddress workspace;
    size_t workspace_bytes;
    bool owns_workspace;
} DeviceCall;

/* With the kernel's name between the words. */
static int fail(const DeviceCall *call, int error, const char *before, const char *after)
{
    char text[400];
    snprintf(text, sizeof text, "%s%.200s%s", before, call->kernel->options.name, after);
    return cuda_fail_kernel(call->kernel, call->device, error, text);
}

/* Of a launch, or of what came of those that were made. */
static int fail_kernel(const DeviceCall *call, int error, const char *what)
{
    char text[500];
    int shared = 0, last = call->code ? call->code->last : -1;
    unsigned blocks = last < 0 ? 0 : call->code->blocks, threads = last < 0 ? 0 : call->code->threads;
    if (last >= 0 && call->driver->function_attribute(&shared, CUDA_SHARED_BYTES, call->code->functions[last]))
        shared = 0;
    if (last >= 0)
        shared += (int)call->compiled->unit->work[last].asked_bytes;
    if (last >= 0)
        snprintf(text, sizeof text, "%s%.300s with %u block%s of %u threads and %d bytes of shared memory", what,
                 call->compiled->unit->work[last].kernel, blocks, blocks == 1 ? "" : "s", threads, shared);
    else
        snprintf(text, sizeof text, "%sthe launches of %.300s", what, call->kernel->options.name);
    return cuda_fail_kernel(call->kernel, call->device, error, text);
}

/* ---- memory of the device ---- */

/* In the order of the stream's work, where the device can. */
static int take(const DeviceCall *call, CudaAddress *memory, size_t bytes, const char *what)
{
    int error = !bytes ? 0 : call->device->pools ? call->driver->alloc_in_order(memory, bytes, call->stream)
                                                 : call->driver->alloc(memory, bytes);
    return error ? fail(call, error, what, "") : EINC_OK;
}

static void give_back(const DeviceCall *call, CudaAddress memory)
{
    if (memory && call->device->pools)
        call->driver->free_in_order(memory, call->stream);
    else if (memory)
        call->driver->free(memory);    /* waits for what uses it */
}

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
        int status = take(call, &array->device, array->bytes, "memory for an array of ");
        if (status)
            return status;
        int error = array->bytes ? call->driver->copy_in(array->device, array->host, array->bytes, call->stream) : 0;
        if (error)
            return fail(call, error, "an array of ", " cannot be copied to the device");
        words[slot->at] = array->device + below;
    }
    return EINC_OK;
}

static int copy_out(const DeviceCall *call)
{
    for (int i = 0; i < call->kernel->slot_count; i++) {
        const Staged *array = &call->arrays[i];
        int error = array->output && array->bytes ? call->driver->copy_out(array->host, array->device, array->bytes, call->stream) : 0;
        if (error)
            return fail(call, error, "a result of ", " cannot be copied from the device");
    }
    int error = call->driver->wait(call->stream);
    return error ? fail(call, error, "the results of ", " do not come") : EINC_OK;
}

/* ---- work ---- */

static int launch(void *user, const char *kernel, unsigned blocks, unsigned threads, unsigned shared, void *frame)
{
    DeviceCall *call = user;
    int w = 0;
    while (call->compiled->unit->work[w].kernel != kernel)
        w++;
    call->code->last = w;
    call->code->blocks = blocks;
    call->code->threads = threads;
    int error = call->driver->launch(call->code->functions[w], blocks, 1, 1, threads, 1, 1, shared, call->stream, (void *[]){ frame }, NULL);
    return error ? fail_kernel(call, error, "") : 0;
}

static int clear(void *user, void *at, size_t bytes)
{
    const DeviceCall *call = user;
    int error = bytes ? call->driver->clear((CudaAddress)(uintptr_t)at, 0, bytes, call->stream) : 0;
    return error ? fail(call, error, "the workspace of ", " cannot be cleared") : 0;
}

/* The bytes of workspace for so many blocks; what is no size is an expression's fault. */
static int need(const DeviceCall *call, int workers, int64_t *bytes)
{
    const Extents *extents = call->prepared->extents;
    SizeValues values = { extents->of, extents->shape, workers };
    *bytes = workers == 1 ? call->prepared->least : size_evaluate(call->compiled->plan->workspace, &values);
    return *bytes < 0 || *bytes == SIZE_TOO_LARGE ? -EINC_EXPRESSION : EINC_OK;
}

/* As many blocks' own parts as keep the device busy, or as the budget allows. */
static int reserve(DeviceCall *call, int most)
{
    int64_t bytes, memory = call->kernel->options.memory;
    for (int workers = most;; workers -= (workers + 7) / 8) {
        int status = need(call, workers, &bytes);
        if (status)
            return status;
        if (!memory || bytes <= memory)
            break;
        if (workers == 1)
            return context_fail(call->kernel->context, EINC_BUDGET, "error: the kernel needs %lld bytes of workspace, but the budget is "
                                "%lld", (long long)bytes, (long long)memory);
    }
    call->workspace_bytes = (size_t)bytes;
    call->owns_workspace = true;
    return take(call, &call->workspace, call->workspace_bytes, "memory for the workspace of ");
}

/* The caller's workspace: grid_run() makes of it what it can. */
static int take_given(DeviceCall *call, const einc_call_options *options)
{
    int64_t bytes;
    int status = need(call, 1, &bytes);
    if (!status && (uint64_t)bytes > options->workspace_bytes)
        status = context_fail(call->kernel->context, EINC_BUDGET, "error: the workspace has %zu bytes, but the kernel needs %lld",
                              options->workspace_bytes, (long long)bytes);
    call->workspace = (CudaAddress)(uintptr_t)options->workspace;
    call->workspace_bytes = options->workspace_bytes;
    return status;
}

/* What the kernels noted; waits for them. */
static int read_status(const DeviceCall *call)
{
    int32_t status = 0;
    int error = call->compiled->plan->status ? call->driver->copy_out(&status, call->workspace, sizeof status, call->stream) : 0;
    if (!error)
        error = call->driver->wait(call->stream);
    return error ? fail_kernel(call, error, "after ") : status;
}

/* Of arrays on the device, and of staged ones behind copy_in(). */
static int run(DeviceCall *call, const uint64_t *words, uint64_t *frame, const einc_call_options *options)
{
    const GridMachine machine = { launch, clear, call->driver->encode, (unsigned)call->device->multiprocessors, call };
    bool given = options && options->workspace && !call->arrays;
    int most = cuda_workers(call->kernel->context, call->device->number);
    if (options && options->workers > 0 && options->workers < most)
        most = options->workers;
    int status = given ? take_given(call, options) : reserve(call, most);
    if (!status)
        status = grid_run(call->prepared->call, words, (void *)(uintptr_t)call->workspace, call->workspace_bytes, frame, &machine);
    if (!status && (call->arrays || (call->owns_workspace && call->compiled->plan->status)))
        status = read_status(call);
    return status;
}

/* With the device's context in use. */
static int run_entered(DeviceCall *call, const uint64_t *words, uint64_t *frame, const einc_call_options *options)
{
    call->code = cuda_module_load(call->kernel->context, call->prepared->variant->object->module, call->device);
    int status = call->code ? run(call, words, frame, options) : EINC_FAILED;
    if (call->owns_workspace)
        give_back(call, call->workspace);
    return status;
}

/* Of arrays of the host. */
static int run_staged(DeviceCall *call, const uint64_t *words, uint64_t *frame, const einc_call_options *options)
{
    jmp_buf full;
    Arena arena = context_arena(call->kernel->context, &full);
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(call->kernel->context, EINC_FAILED, "error: out of memory");
    }
    uint64_t *own = ARENA_ARRAY(&arena, uint64_t, call->kernel->args_words);
    call->arrays = ARENA_ARRAY(&arena, Staged, call->kernel->slot_count);
    memcpy(own, words, call->kernel->args_words * sizeof *own);
    int status = copy_in(call, own);
    if (!status)
        status = run_entered(call, own, frame, options);
    if (!status)
        status = copy_out(call);
    for (int i = 0; i < call->kernel->slot_count; i++)
        give_back(call, call->arrays[i].device);
    arena_free(&arena);
    return status;
}

static DeviceCall begin_call(einc_kernel *kernel, const Variant *variant, int device, const einc_call_options *options)
{
    Cuda *cuda = kernel->context->cuda;
    return (DeviceCall){ .kernel = kernel, .compiled = variant->compiled, .driver = &cuda->driver,
                         .device = &cuda->devices[device == CUDA_HOST ? cuda->first : device],
                         .stream = options ? options->stream : NULL };
}

int cuda_call(einc_kernel *kernel, const Prepared *prepared, int device, const uint64_t *words, const einc_call_options *options)
{
    einc_context *context = kernel->context;
    uint64_t on_stack[FRAME_WORDS], *frame = on_stack;
    size_t bytes = (size_t)prepared->variant->compiled->unit->frame_bytes;
    DeviceCall call = begin_call(kernel, prepared->variant, device, options);
    call.prepared = prepared;
    if (bytes > sizeof on_stack && !(frame = context_alloc(context, bytes, _Alignof(max_align_t))))
        return context_fail(context, EINC_FAILED, "error: out of memory");
    int status = cuda_enter(context, call.device);
    if (!status) {
        status = (device == CUDA_HOST ? run_staged : run_entered)(&call, words, frame, options);
        cuda_leave(context);
    }
    if (frame != on_stack)
        context_free(context, frame);
    return status;
}

int cuda_wait(einc_kernel *kernel, int device, const einc_call_options *options)
{
    einc_context *context = kernel->context;
    const Variant *variant = cuda_variant(kernel, device);
    if (!variant)
        return EINC_FAILED;
    DeviceCall call = begin_call(kernel, variant, device, options);
    int32_t noted = 0;
    bool asks = variant->compiled->plan->status && options && options->workspace;
    int status = cuda_enter(context, call.device);
    if (status)
        return status;
    call.code = cuda_module_load(context, variant->object->module, call.device);
    int error = asks ? call.driver->copy_out(&noted, (CudaAddress)(uintptr_t)options->workspace, sizeof noted, call.stream) : 0;
    if (!error)
        error = call.driver->wait(call.stream);
    status = error ? fail_kernel(&call, error, "after ") : EINC_OK;
    cuda_leave(context);
    return status ? status : noted;
}
