/* A row made ready: the kernel, its operands, its result compared with the evaluator's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "evaluate.h"
#include "npy.h"
#include "runtime.h"

enum {
    GAP = 4096 + 192,             /* between operands, so that they do not begin at the same place of a page */
    PATTERN = 1048573,            /* random numbers before they repeat */
    CHECK_LEAST = 4, CHECK_MOST = 400,
    HUGE_PAGE = 2 << 20,
    EXTRA_BYTES_MAX = 16 << 20    /* that the process may grow by in a call */
};

#define CHECK_SECONDS 0.5

static bool fail(Work *work, Arena *arena, const char *format, const char *words)
{
    char *text = arena_format(arena, format, words);
    text[strcspn(text, "\n")] = 0;
    work->failure = text;
    return false;
}

static bool fail_runtime(Work *work, Arena *arena)
{
    return fail(work, arena, "%s", einc_error(work->context));
}

/* ---- operands ---- */

/* "f32 16,32,128; f32 256,180,128" */
static void read_operands(Work *work)
{
    const char *at = work->row->operands;
    while (*at) {
        char dtype[8];
        int length, rank = 0;
        int64_t *shape = work->shapes[work->input_count];
        sscanf(at, " %7[a-z0-9]%n", dtype, &length);
        for (at += length; *at && *at != ';'; at += *at == ',')
            shape[rank++] = strtoll(at, (char **)&at, 10);
        at += *at == ';';
        work->tensors[work->input_count] = einc_tensor(NULL, dtype, rank, shape);
        work->inputs[work->input_count] = &work->tensors[work->input_count];
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

static void *huge_pages(size_t bytes)
{
    bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    char *memory = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;    /* huge pages begin at multiples of their size */
    if (before)
        munmap(memory, before);
    memory += before;
    munmap(memory + bytes, HUGE_PAGE - before);
    madvise(memory, bytes, MADV_HUGEPAGE);
    memset(memory, 0, bytes);
    return memory;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;    /* splitmix64 */
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static int64_t random_integer(const Row *row, Dtype dtype, uint64_t random)
{
    if (dtype == DTYPE_I8)
        return (int8_t)random;
    return row->labels ? (int64_t)(random % (uint64_t)row->labels)
                       : row->least + (int64_t)(random % (uint64_t)(row->most - row->least + 1));
}

/* Floats as the row says, i8 in all of its range, i64 between the row's lengths or its labels. Large ones repeat. */
static void fill(const Work *work, int i)
{
    const Row *row = work->row;
    Array array;
    tensor_read(&array, &work->tensors[i]);
    size_t size = dtype_size(array.dtype), bytes = bytes_of(&work->tensors[i]), done = 0;
    uint64_t state = (uint64_t)i + 1;
    for (; done < bytes && done < PATTERN * size; done += size) {
        uint64_t random = next_random(&state);
        double width = row->data == DATA_WIDE ? 1000 : 1;
        Number number = { .re = ((double)(random >> 40) / (1 << 24) - 0.5) * width,
                          .im = ((double)(random & 0xFFFFFF) / (1 << 24) - 0.5) * width };
        if (row->data == DATA_ONE_NAN && i == work->input_count - 1 && done == 0)
            number.re = NAN;
        if (dtype_kind(array.dtype) == KIND_INT) {
            number.integer = random_integer(row, array.dtype, random);
            number.re = (double)number.integer;
        }
        array_store(array.dtype, (char *)array.data + done, number);
    }
    for (size_t part; done < bytes; done += part) {
        part = bytes - done < PATTERN * size ? bytes - done : PATTERN * size;
        memcpy((char *)array.data + done, array.data, part);
    }
}

static bool make_operands(Work *work, Arena *arena)
{
    for (int i = 0; i < work->input_count; i++)
        work->in_bytes += bytes_of(&work->tensors[i]) + GAP;
    char *at = work->in = huge_pages(work->in_bytes);
    if (!at)
        return fail(work, arena, "%s", "no memory for the operands");
    for (int i = 0; i < work->input_count; i++) {
        work->tensors[i].data = at;
        at += (bytes_of(&work->tensors[i]) + GAP) / 64 * 64;
        fill(work, i);
    }
    return true;
}

static bool make_output(Work *work, Arena *arena)
{
    int64_t *shape = work->shapes[work->input_count];
    work->output = &work->tensors[work->input_count];
    if (einc_output_shape(work->kernel, work->inputs, work->input_count, 0, shape))
        return fail_runtime(work, arena);
    *work->output = einc_tensor(NULL, einc_output_dtype(work->kernel, 0), einc_output_rank(work->kernel, 0), shape);
    work->out_bytes = bytes_of(work->output);
    work->output->data = work->out = huge_pages(work->out_bytes);
    if (!work->out)
        return fail(work, arena, "%s", "no memory for the output");
    if (einc_workspace(work->kernel, work->inputs, work->input_count, work->row->threads, &work->workspace_bytes))
        return fail_runtime(work, arena);
    work->workspace = huge_pages(work->workspace_bytes + 1);
    return work->workspace || fail(work, arena, "%s", "no memory for the workspace");
}

/* Of ragged operands only what the lengths leave. */
static double useful_flops(const Work *work)
{
    const Row *row = work->row;
    if (!row->most)
        return row->flops;
    const DLTensor *lengths = &work->tensors[work->input_count - 1];
    double sum = 0;
    for (int64_t i = 0; i < lengths->shape[0]; i++)
        sum += (double)((const int64_t *)lengths->data)[i];
    return row->flops * sum / ((double)lengths->shape[0] * row->most);
}

/* ---- the first call ---- */

static double resident_bytes(const char *key)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)))
            kib = strtod(line + strlen(key) + 1, NULL);
    if (file)
        fclose(file);
    return kib * 1024;
}

/* From here on VmHWM is the most memory held since now. */
static void forget_most_resident(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

static bool call_first(Work *work, Arena *arena)
{
    forget_most_resident();
    double before = resident_bytes("VmRSS");
    bool right = work_call(work, arena, work->row->threads) >= 0;
    work->extra_bytes = resident_bytes("VmHWM") - before;
    work->broken = right && work->extra_bytes > EXTRA_BYTES_MAX;
    if (work->broken)
        return fail(work, arena, "takes %s beyond operands, output and workspace",
                    byte_words(arena, work->extra_bytes));
    return right;
}

static bool check_elements(Work *work, Arena *arena, Evaluator *evaluator, const Output *output)
{
    Array result;
    int64_t position[RANK_MAX];
    uint64_t state = 1;
    double end = peak_seconds(2) + CHECK_SECONDS;
    int64_t least = work->row->only_named ? 1 : CHECK_LEAST;
    bool failed = false;
    tensor_read(&result, work->output);
    while (work->checked < least || (work->checked < CHECK_MOST && peak_seconds(2) < end)) {
        for (int a = 0; a < result.rank; a++)
            position[a] = (int64_t)(next_random(&state) % (uint64_t)result.shape[a]);
        bool right = evaluator_accepts(evaluator, output, position, array_at(&result, position), &failed);
        if (failed)
            return fail(work, arena, "the evaluator: %s", evaluator_error(evaluator));
        if (!right) {
            work->broken = true;
            return fail(work, arena, "%s", "the result is wrong");
        }
        work->checked++;
    }
    return true;
}

static bool check_result(Work *work, Arena *arena)
{
    const Compiled *compiled = work->kernel->variants->compiled;
    const Program *program = compiled->program;
    Array *arrays = ARENA_ARRAY(arena, Array, work->input_count);
    const Array **of = ARENA_ARRAY(arena, const Array *, program->tensor_count);
    for (int i = 0; i < work->input_count; i++) {
        tensor_read(&arrays[i], &work->tensors[i]);
        of[program->inputs[i]->id] = &arrays[i];
    }
    Evaluator *evaluator = evaluator_new(program, compiled->extents, of);
    if (!evaluator)
        return fail(work, arena, "%s", "no memory for the evaluator");
    evaluator_allow(evaluator, precisions[compiled->plan->precision].error);
    bool right = check_elements(work, arena, evaluator, &compiled->outputs[0]->maker->outputs[0]);
    evaluator_free(evaluator);
    return right;
}

/* ---- the interface ---- */

static double deadline;           /* of the call under way */

static int is_late(void *user)
{
    (void)user;
    return peak_seconds(2) > deadline;
}

static void show_progress(void *user, double done)
{
    (void)user;
    fprintf(stderr, "\r%5.1f %%", 100 * done);
}

static bool is_here(const Row *row)
{
    Dtype dtype = row->precision ? DTYPE_BF16 : row->dtype;
    return (!row->target || peak_unit(row->target, dtype)) && (!row->unit || peak_unit(row->unit, row->dtype));
}

static bool begin_other(Work *work, Arena *arena)
{
    Row *row = ARENA_NEW(arena, Row);
    *row = *work->row;
    row->expression = row->other;
    row->operands = row->other_operands ? row->other_operands : row->operands;
    row->other = row->extents = NULL;
    row->data = DATA_UNIFORM;    /* far apart, some exponentials are denormal, each of which takes 40 times as long */
    work->other = ARENA_NEW(arena, Work);
    bool right = work_begin(work->other, arena, row, work->limit);
    work->failure = work->other->failure;
    work->broken |= work->other->broken;
    return right;
}

bool work_begin(Work *work, Arena *arena, const Row *row, double limit)
{
    const einc_host host = { .cancelled = is_late };
    *work = (Work){ .row = row, .limit = limit, .absent = !is_here(row) };
    if (work->absent)
        return fail(work, arena, "this CPU has no %s", row->target ? row->target : row->unit);
    work->context = einc_context_new(&host);
    einc_context_set_threads(work->context, row->threads);
    read_operands(work);
    einc_options options = { .examples = work->inputs, .example_count = work->input_count, .target = row->target,
                             .precision = row->precision, .extents = row->extents };
    work->kernel = einc_compile(work->context, row->expression, &options);
    if (!work->kernel)
        return fail_runtime(work, arena);
    if (!make_operands(work, arena) || !make_output(work, arena))
        return false;
    work->flops = useful_flops(work);
    return call_first(work, arena) && check_result(work, arena) && (!row->other || begin_other(work, arena));
}

void work_end(Work *work)
{
    if (work->other)
        work_end(work->other);
    if (work->in)
        munmap(work->in, (work->in_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    if (work->out)
        munmap(work->out, (work->out_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    if (work->workspace)
        munmap(work->workspace, (work->workspace_bytes + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE);
    if (work->kernel)
        einc_kernel_free(work->kernel);
    if (work->context)
        einc_context_free(work->context);
}

double work_call(Work *work, Arena *arena, int workers)
{
    einc_call_options options = { .workspace = work->workspace,
                                  .workspace_bytes = work->workspace_bytes,
                                  .workers = workers,
                                  .progress = work->row->only_named ? show_progress : NULL };
    deadline = peak_seconds(2) + work->limit;
    double begin = peak_seconds(workers);
    int status = einc_call(work->kernel, work->inputs, work->input_count, &work->output, 1, &options);
    double seconds = peak_seconds(workers) - begin;
    if (status == EINC_CANCELLED)
        fail(work, arena, "%s", "given up: one call takes longer than the limit");
    else if (status)
        fail_runtime(work, arena);
    return status ? -1 : seconds;
}

bool work_export(Work *work, Arena *arena, const char *folder)
{
    char error[512];
    for (int i = 0; i <= work->input_count; i++) {
        NpyWriter writer;
        Array array;
        tensor_read(&array, &work->tensors[i]);
        const char *name = i < work->input_count ? arena_format(arena, "%d", i) : "result";
        const char *path = arena_format(arena, "%s/%s.npy", folder, name);
        if (!npy_create(&writer, path, array.dtype, array.rank, array.shape, error, sizeof error))
            return fail(work, arena, "%s", error);
        memcpy(writer.array.data, array.data, bytes_of(&work->tensors[i]));
        if (!npy_commit(&writer, error, sizeof error))
            return fail(work, arena, "%s", error);
    }
    return true;
}
