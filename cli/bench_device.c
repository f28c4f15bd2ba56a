/* einc bench on a GPU: arrays and workspace in its memory, calls one behind the other, by the device's own clock. */
#include <string.h>

#include "bench.h"
#include "cuda.h"
#include "gpu.h"

enum { ROUNDS = 5, COPY_LEAST = 1 << 20, COPY_MOST = 1 << 30 };

typedef struct OnDevice {
    Bench *bench;
    const einc_kernel *kernel;
    Gpu gpu;
    CudaAddress *memory;          /* of each array, then of the workspace */
    int count;
    einc_call_options options;
} OnDevice;

static int fail(OnDevice *d, const char *what)
{
    return cli_fail(d->bench->job.cli, EINC_FAILED, "%s", what);
}

/* What gpu.c found: the run time's own message, or its. */
static int fail_gpu(OnDevice *d)
{
    Cli *cli = d->bench->job.cli;
    return *einc_error(cli->context) ? cli_fail_runtime(cli) : fail(d, d->gpu.failure);
}

/* ---- memory ---- */

static int take(OnDevice *d, size_t bytes, CudaAddress *memory)
{
    if (d->gpu.driver->alloc(memory, bytes ? bytes : 1))
        return cli_fail(d->bench->job.cli, EINC_FAILED, "no memory of the device for %zu bytes", bytes);
    d->memory[d->count++] = *memory;
    return EINC_OK;
}

static int move(OnDevice *d, DLTensor *tensor)
{
    Array array;
    CudaAddress memory;
    const char *wrong = tensor_read(&array, tensor);
    size_t bytes = wrong ? 0 : (size_t)array_count(&array) * dtype_size(array.dtype);
    int status = wrong ? fail(d, wrong) : take(d, bytes, &memory);
    if (status)
        return status;
    if (bytes && d->gpu.driver->copy_in(memory, array.data, bytes, d->gpu.stream))
        return fail(d, "an array cannot be copied to the device");
    *tensor = einc_tensor((void *)(uintptr_t)memory, dtype_name(array.dtype), array.rank, tensor->shape);
    tensor->device = (DLDevice){ kDLCUDA, d->gpu.device->number };
    return EINC_OK;
}

static int make_ready(OnDevice *d)
{
    Bench *b = d->bench;
    CudaAddress workspace = 0;
    int count = b->job.front->program->input_count + b->job.front->output_count, status = EINC_OK;
    d->memory = ARENA_ARRAY(&b->job.cli->arena, CudaAddress, count + 1);
    for (int i = 0; i < count && !status; i++)
        status = move(d, &b->tensors[i]);
    if (!status)
        status = bench_fit_workers(b, d->kernel, cuda_workers(b->job.cli->context, d->gpu.device->number));
    if (!status)
        status = take(d, b->workspace_bytes, &workspace);
    d->options = (einc_call_options){ .workspace = (void *)(uintptr_t)workspace, .workspace_bytes = b->workspace_bytes,
                                      .workers = b->workers, .stream = d->gpu.stream };
    return status;
}

/* ---- measuring ---- */

static bool call(void *user)
{
    OnDevice *d = user;
    const Bench *b = d->bench;
    return !einc_call(d->kernel, b->inputs, b->job.front->program->input_count, b->outputs, b->job.front->output_count, &d->options);
}

/* The first call loads the kernel, and waits. */
static int call_once(OnDevice *d)
{
    DLDevice device = { kDLCUDA, d->gpu.device->number };
    return call(d) && !einc_wait(d->kernel, device, &d->options) ? EINC_OK : cli_fail_runtime(d->bench->job.cli);
}

/* Rounds of runs, each of so many calls that what the host takes to begin is nothing beside them. */
static int measure(OnDevice *d, double seconds)
{
    double one = gpu_time_calls(&d->gpu, call, d, 1);
    d->bench->calls = gpu_calls(one);
    for (double end = wall_seconds() + seconds; one >= 0 && (d->bench->runs < ROUNDS || wall_seconds() < end);) {
        one = gpu_time_calls(&d->gpu, call, d, d->bench->calls);
        bench_add_time(d->bench, one);
    }
    bench_sort_times(d->bench);
    return one < 0 ? cli_fail_runtime(d->bench->job.cli) : EINC_OK;
}

/* Of the units that multiply what the kernel's products have; 0: not known. */
static double peak_flops(const OnDevice *d, const Compiled *compiled)
{
    Peak peak = PEAK_F64;
    for (int i = 0; i < compiled->lowered->term_count; i++) {
        const Term *term = compiled->lowered->terms[i];
        bool works = term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE || term->kind == TERM_MAP;
        if (works && term->dtype != DTYPE_BOOL && dtype_size(dtype_real(term->dtype)) < 8)
            peak = PEAK_F32;
    }
    for (int s = 0; s < compiled->plan->step_count; s++) {
        const Contract *c = compiled->plan->steps[s]->contract;
        if (c && c->packed == DTYPE_I8)
            peak = PEAK_I8;
        if (c && (c->packed == DTYPE_BF16 || c->packed == DTYPE_F16))
            peak = PEAK_BF16;
        if (c && c->packed == DTYPE_F64 && c->block->is_matrix && peak == PEAK_F64)
            peak = PEAK_F64_MATRICES;
    }
    return gpu_peak(&d->gpu, peak);
}

static void find_figures(const OnDevice *d, const Compiled *compiled, Figures *f)
{
    Bench *b = d->bench;
    double peak = peak_flops(d, compiled), memory = f->bytes / d->gpu.bandwidth, compute = peak > 0 ? f->flops / peak : 0;
    f->seconds = b->times[b->runs / 2];
    f->best = b->times[0];
    f->peak_flops = peak;
    f->peak_bytes = d->gpu.bandwidth;
    f->compute = compute >= memory;
    f->bound = f->compute ? compute : memory;
    if (f->bound > f->seconds && !f->compute && !b->beyond)
        b->beyond = "what is read again comes from the device's cache";
}

static int measure_all(OnDevice *d, double seconds, Figures *figures)
{
    const Compiled *compiled = cuda_variant((einc_kernel *)d->kernel, d->gpu.device->number)->compiled;
    double bytes = figures->bytes / 2;    /* a copy reads and writes as much as the kernel has operands */
    int status = call_once(d);
    if (status)
        return status;
    size_t copied = bytes < COPY_LEAST ? COPY_LEAST : bytes > COPY_MOST ? COPY_MOST : (size_t)bytes;
    if (!gpu_measure_peaks(&d->gpu, &d->bench->job.cli->arena, copied))
        return fail_gpu(d);
    status = measure(d, seconds);
    if (!status)
        find_figures(d, compiled, figures);
    return status;
}

int bench_on_device(Bench *b, const einc_kernel *kernel, double seconds, Figures *figures)
{
    Cli *cli = b->job.cli;
    OnDevice d = { .bench = b, .kernel = kernel };
    int status = gpu_open(&d.gpu, &cli->arena, cli->context, false);
    if (status)
        status = fail_gpu(&d);
    b->device = arena_copy(&cli->arena, d.gpu.name, strlen(d.gpu.name));
    if (!status)
        status = make_ready(&d);
    if (!status)
        status = measure_all(&d, seconds, figures);
    if (d.gpu.stream)
        d.gpu.driver->wait(d.gpu.stream);
    while (d.count)
        d.gpu.driver->free(d.memory[--d.count]);
    gpu_close(&d.gpu);
    return status;
}
