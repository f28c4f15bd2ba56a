/* A row made ready, compared with the evaluator, and timed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "rows.h"

enum { OPERANDS_MAX = 4, AXES_MAX = 8, PATTERN = 1048573, CHECK_MOST = 100 };

#define CHECK_SECONDS 1.0
#define CUBLAS_SHARE 0.85
#define SHARE_MAX 1.05            /* nothing beats its bound by more: the figure would be wrong */

typedef struct Work {
    Gpu *gpu;
    const Row *row;
    einc_kernel *kernel;
    int64_t shapes[OPERANDS_MAX + 1][AXES_MAX];
    DLTensor host[OPERANDS_MAX + 1], there[OPERANDS_MAX + 1];    /* the output last */
    const DLTensor *inputs[OPERANDS_MAX];
    int input_count;
    einc_call_options options;
    double bytes;                 /* of operands and output */
    const char *dtype;            /* of the first operand */
    const char *failure;
} Work;

static bool fail(Work *work, const char *words)
{
    if (!work->failure)
        work->failure = words;
    return false;
}

static bool fail_runtime(Work *work, Arena *arena)
{
    return fail(work, arena_format(arena, "%s", einc_error(work->gpu->context)));
}

/* ---- tensors ---- */

/* "f32 16,32,128; f32 256,180,128" */
static void read_operands(Work *work, Arena *arena)
{
    const char *at = work->gpu->trial ? work->row->trial : work->row->operands;
    while (*at) {
        char dtype[8];
        int length, rank = 0;
        int64_t *shape = work->shapes[work->input_count];
        sscanf(at, " %7[a-z0-9]%n", dtype, &length);
        for (at += length; *at && *at != ';'; at += *at == ',')
            shape[rank++] = strtoll(at, (char **)&at, 10);
        at += *at == ';';
        if (!work->dtype)
            work->dtype = arena_copy(arena, dtype, strlen(dtype));
        work->host[work->input_count] = einc_tensor(NULL, dtype, rank, shape);
        work->inputs[work->input_count] = &work->there[work->input_count];
        work->input_count++;
    }
}

static size_t bytes_of(const DLTensor *tensor)
{
    size_t bytes = tensor->dtype.bits / 8;
    for (int a = 0; a < tensor->ndim; a++)
        bytes *= (size_t)tensor->shape[a];
    return bytes;
}

/* Numbers in [-0.5, 0.5), or whole ones to 63, which repeat. */
static void fill(const DLTensor *tensor, uint64_t state)
{
    Array array;
    tensor_read(&array, tensor);
    double most = dtype_kind(array.dtype) == KIND_INT ? 127 : 1;
    size_t size = dtype_size(array.dtype), bytes = bytes_of(tensor), done = 0;
    for (; done < bytes && done < PATTERN * size; done += size) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        array_store(array.dtype, (char *)array.data + done, (Number){ .re = most * ((double)(state >> 40) / (1 << 24) - 0.5) });
    }
    for (size_t part; done < bytes; done += part) {
        part = bytes - done < PATTERN * size ? bytes - done : PATTERN * size;
        memcpy((char *)array.data + done, array.data, part);
    }
}

/* Memory on both sides. */
static bool place(Work *work, int i)
{
    const CudaDriver *driver = work->gpu->driver;
    CudaAddress address;
    size_t bytes = bytes_of(&work->host[i]);
    work->host[i].data = calloc(bytes + 1, 1);
    if (!work->host[i].data || driver->alloc(&address, bytes))
        return fail(work, "no memory for a tensor");
    work->there[i] = work->host[i];
    work->there[i].data = (void *)(uintptr_t)address;
    work->there[i].device = (DLDevice){ kDLCUDA, work->gpu->device->number };
    work->bytes += (double)bytes;
    if (i == work->input_count)
        return true;
    fill(&work->host[i], (uint64_t)i + 1);
    return !driver->copy_in(address, work->host[i].data, bytes, work->gpu->stream) || fail(work, "an operand cannot be copied");
}

static bool make(Work *work, Arena *arena)
{
    int o = work->input_count;
    size_t bytes;
    CudaAddress workspace;
    for (int i = 0; i < work->input_count; i++)
        if (!place(work, i))
            return false;
    if (einc_output_shape(work->kernel, work->inputs, o, 0, work->shapes[o]))
        return fail_runtime(work, arena);
    work->host[o] = einc_tensor(NULL, einc_output_dtype(work->kernel, 0), einc_output_rank(work->kernel, 0), work->shapes[o]);
    if (!place(work, o))
        return false;
    if (einc_workspace(work->kernel, work->inputs, o, 0, &bytes))
        return fail_runtime(work, arena);
    work->options = (einc_call_options){ .stream = work->gpu->stream };
    if (bytes && work->gpu->driver->alloc(&workspace, bytes))
        return fail(work, "no memory for the workspace");
    if (bytes) {
        work->options.workspace = (void *)(uintptr_t)workspace;
        work->options.workspace_bytes = bytes;
    }
    return true;
}

static void let_go(Work *work)
{
    for (int i = 0; i <= work->input_count; i++) {
        free(work->host[i].data);
        if (work->there[i].data)
            work->gpu->driver->free((CudaAddress)(uintptr_t)work->there[i].data);
    }
    if (work->options.workspace)
        work->gpu->driver->free((CudaAddress)(uintptr_t)work->options.workspace);
    einc_kernel_free(work->kernel);
}

/* ---- what is timed, and what it gives ---- */

static bool call_kernel(void *user)
{
    Work *work = user;
    DLTensor *output = &work->there[work->input_count];
    return einc_call(work->kernel, work->inputs, work->input_count, &output, 1, &work->options) == EINC_OK;
}

static bool call_cublas(void *user)
{
    Work *work = user;
    const DLTensor *a = &work->there[0], *b = &work->there[1], *c = &work->there[2];
    return cublas_product(work->gpu, work->dtype, work->row->beside, a->shape[0], a->shape[1], c->shape[1], a->data, b->data, c->data);
}

static bool check_result(Work *work, Arena *arena, Figure *figure)
{
    const Compiled *compiled = work->kernel->variants->compiled;
    const DLTensor *output = &work->host[work->input_count];
    Array *arrays = ARENA_ARRAY(arena, Array, work->input_count), result;
    const Array **of = ARENA_ARRAY(arena, const Array *, compiled->program->tensor_count);
    if (work->gpu->driver->copy_out(output->data, (CudaAddress)(uintptr_t)work->there[work->input_count].data, bytes_of(output),
                                    work->gpu->stream) || einc_wait(work->kernel, work->there[0].device, &work->options))
        return fail(work, "the result does not come");
    for (int i = 0; i < work->input_count; i++) {
        tensor_read(&arrays[i], &work->host[i]);
        of[compiled->program->inputs[i]->id] = &arrays[i];
    }
    tensor_read(&result, output);
    Evaluator *evaluator = evaluator_new(compiled->program, compiled->extents, of);
    if (evaluator)
        evaluator_scales(evaluator);
    uint64_t state = 1;
    bool right = evaluator != NULL, failed = false;
    for (double end = wall_seconds() + CHECK_SECONDS; right && figure->checked < CHECK_MOST; figure->checked++) {
        int64_t position[RANK_MAX];
        for (int a = 0; a < result.rank; a++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            position[a] = (int64_t)((state >> 33) % (uint64_t)result.shape[a]);
        }
        right = evaluator_accepts(evaluator, &compiled->outputs[0]->maker->outputs[0], position, array_at(&result, position), &failed);
        if (wall_seconds() > end && ++figure->checked)
            break;
    }
    if (evaluator)
        evaluator_free(evaluator);
    return right || fail(work, "the result is wrong");
}

static void set_bound(Figure *figure, const Work *work)
{
    double by_bytes = work->gpu->bandwidth > 0 ? work->bytes / work->gpu->bandwidth : 0;
    double peak = gpu_peak(work->gpu, work->row->peak), by_flops = peak > 0 ? (work->row->parts ? work->row->parts : 1) * work->row->flops / peak : 0;
    figure->bound = by_bytes > by_flops ? by_bytes : by_flops;
    figure->by = by_bytes > by_flops ? "memory" : "arithmetic";
}

static void set_goal(Figure *figure, const Work *work, Arena *arena)
{
    const Row *row = work->row;
    figure->goal = row->goal_rate > 0      ? arena_format(arena, "≥ %.0f TFLOP/s", row->goal_rate / 1e12)
                   : row->goal_seconds > 0 ? arena_format(arena, "≤ %.2f s", row->goal_seconds)
                   : row->has_goal         ? "≥ 85 % of cuBLAS" : "";
    figure->met = row->goal_rate > 0      ? figure->rate >= row->goal_rate
                  : row->goal_seconds > 0 ? figure->seconds <= row->goal_seconds
                  : row->has_goal         ? figure->peer > 0 && figure->peer >= CUBLAS_SHARE * figure->seconds : true;
}

Figure measure_row(Gpu *gpu, Arena *arena, const Row *row, double seconds)
{
    Figure figure = { .name = row->name, .work = row->work, .goal = "" };
    Work work = { .gpu = gpu, .row = row };
    read_operands(&work, arena);
    const DLTensor *examples[OPERANDS_MAX];
    for (int i = 0; i < work.input_count; i++)
        examples[i] = &work.host[i];
    work.kernel = einc_compile(gpu->context, row->expression, &(einc_options){ .examples = examples, .example_count = work.input_count,
                                                                               .target = "cuda", .precision = row->precision });
    bool right = work.kernel ? make(&work, arena) : fail_runtime(&work, arena);
    if (right && !call_kernel(&work))
        right = fail_runtime(&work, arena);
    if (right && check_result(&work, arena, &figure)) {
        figure.seconds = gpu_time(gpu, call_kernel, &work, seconds);
        if (figure.seconds < 0)
            fail_runtime(&work, arena);
        if (row->beside && !gpu->trial && cublas_begin(gpu))
            figure.peer = gpu_time(gpu, call_cublas, &work, seconds);
        if (figure.peer < 0)
            figure.peer = 0;
        figure.rate = figure.seconds > 0 ? row->flops / figure.seconds : 0;
        set_bound(&figure, &work);
        set_goal(&figure, &work, arena);
        if (!gpu->trial && figure.seconds > 0 && figure.bound > SHARE_MAX * figure.seconds)
            fail(&work, "it beats its bound: an error of measurement");
    }
    let_go(&work);
    figure.failure = work.failure;
    return figure;
}
