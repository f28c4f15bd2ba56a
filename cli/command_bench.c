/* einc bench: how fast the kernel is, beside how fast the machine is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "cost.h"
#include "sample.h"

enum { ROUNDS = 5, RUNS_MAX = 200000, RETRIES = 3, ALIGN = 64 };

/* More than that much of the roof is a fault of the measurement. */
#define EFFICIENCY_MAX 1.02

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- data ---- */

static int make_array(Bench *b, const Tensor *tensor, Array **made)
{
    Array *array = *made = &b->made[b->made_count++];
    array->dtype = tensor->dtype;
    array->rank = tensor->rank;
    memcpy(array->shape, b->job.front->extents->shape[tensor->id], (size_t)tensor->rank * sizeof *array->shape);
    array_lay_out(array, false);
    size_t bytes = (size_t)array_count(array) * dtype_size(array->dtype);
    array->data = aligned_alloc(ALIGN, bytes / ALIGN * ALIGN + ALIGN);
    if (!array->data)
        return cli_fail(b->job.cli, EINC_FAILED, "no memory for the %zu bytes of '%s'", bytes, tensor->label);
    memset(array->data, 0, bytes);
    return EINC_OK;
}

static void set_tensor(DLTensor *tensor, const Array *array)
{
    *tensor = einc_tensor(array->data, dtype_name(array->dtype), array->rank, (int64_t *)array->shape);
    tensor->strides = (int64_t *)array->stride;
}

static int make_data(Bench *b)
{
    const Compiled *front = b->job.front;
    const Program *p = front->program;
    Arena *arena = &b->job.cli->arena;
    int count = p->input_count + front->output_count;
    b->made = ARENA_ARRAY(arena, Array, count);
    b->tensors = ARENA_ARRAY(arena, DLTensor, count);
    b->inputs = ARENA_ARRAY(arena, const DLTensor *, p->input_count);
    b->outputs = ARENA_ARRAY(arena, DLTensor *, front->output_count);
    for (int i = 0; i < count; i++) {
        const Tensor *tensor = i < p->input_count ? p->inputs[i] : front->outputs[i - p->input_count];
        int known = i < p->input_count ? job_known_of(&b->job, tensor) : -1;
        Array *array = NULL;
        if (known >= 0 && b->job.known[known]->path) {
            array = &b->job.known[known]->file.array;
        } else {
            int status = make_array(b, tensor, &array);
            if (status)
                return status;
            if (i < p->input_count)
                sample_fill(front, tensor, array);
        }
        set_tensor(&b->tensors[i], array);
        if (i < p->input_count)
            b->inputs[i] = &b->tensors[i];
        else
            b->outputs[i - p->input_count] = &b->tensors[i];
    }
    return EINC_OK;
}

/* As einc_call() has it. */
int bench_fit_workers(Bench *b, const einc_kernel *kernel, int most)
{
    size_t budget = (size_t)b->job.options.memory;
    for (b->workers = most;; b->workers -= (b->workers + 7) / 8) {
        if (einc_workspace(kernel, b->inputs, b->job.front->program->input_count, b->workers, &b->workspace_bytes))
            return cli_fail_runtime(b->job.cli);
        if (!budget || b->workspace_bytes <= budget || b->workers == 1)
            return EINC_OK;
    }
}

static int make_workspace(Bench *b, const einc_kernel *kernel)
{
    Cli *cli = b->job.cli;
    int status = bench_fit_workers(b, kernel, context_workers(cli->context));
    if (status)
        return status;
    size_t bytes = b->workspace_bytes / ALIGN * ALIGN + ALIGN;
    b->workspace = aligned_alloc(ALIGN, bytes);
    if (!b->workspace)
        return cli_fail(cli, EINC_FAILED, "no memory for a workspace of %zu bytes", b->workspace_bytes);
    memset(b->workspace, 0, bytes);
    return EINC_OK;
}

/* ---- measuring ---- */

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_add_time(Bench *b, double seconds)
{
    ARENA_APPEND(&b->job.cli->arena, b->times, b->runs, seconds);
}

void bench_sort_times(Bench *b)
{
    qsort(b->times, (size_t)b->runs, sizeof *b->times, compare_times);
}

static int call(Bench *b, const einc_kernel *kernel, double *taken)
{
    einc_call_options options = { .workspace = b->workspace, .workspace_bytes = b->workspace_bytes, .workers = b->workers };
    int inputs = b->job.front->program->input_count, outputs = b->job.front->output_count;
    double begin = seconds_now();
    int status = einc_call(kernel, b->inputs, inputs, b->outputs, outputs, &options);
    *taken = seconds_now() - begin;
    return status ? cli_fail_runtime(b->job.cli) : EINC_OK;
}

/* Rounds of calls, with the machine's peaks before, between and behind them. */
static int measure(Bench *b, const einc_kernel *kernel, double seconds)
{
    double taken;
    int status = call(b, kernel, &taken);    /* for the caches and for threads to wake */
    peaks_measure(&b->peaks);
    for (int round = 0; round < ROUNDS && !status; round++) {
        double end = seconds_now() + seconds / ROUNDS;
        for (int run = 0; !status && run < RUNS_MAX && (run == 0 || seconds_now() < end); run++) {
            status = call(b, kernel, &taken);
            bench_add_time(b, taken);
        }
        peaks_measure(&b->peaks);
    }
    bench_sort_times(b);
    return status;
}

/* Which peak is the roof: that of the instruction for narrow numbers where a product has it, and that of f64 where
 * nothing is calculated in less. */
static Dtype working_dtype(const Plan *plan)
{
    const Program *lowered = plan->lowered;
    for (int s = 0; s < plan->step_count; s++)
        if (dtype_size(step_multiplies(plan->steps[s])) < 4)
            return step_multiplies(plan->steps[s]);
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool works = term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE || term->kind == TERM_MAP;
        if (works && term->dtype != DTYPE_BOOL && dtype_size(dtype_real(term->dtype)) < 8)
            return DTYPE_F32;
    }
    return DTYPE_F64;
}

static double bytes_written(const Bench *b)
{
    double written = 0;
    for (int o = 0; o < b->job.front->output_count; o++) {
        const Tensor *tensor = b->job.front->outputs[o];
        double bytes = (double)dtype_size(tensor->dtype);
        for (int a = 0; a < tensor->rank; a++)
            bytes *= (double)b->job.front->extents->shape[tensor->id][a];
        written += bytes;
    }
    return written;
}

static void find_figures(const Bench *b, Figures *f)
{
    double written = bytes_written(b), read = f->bytes > written ? f->bytes - written : 0;
    double memory = peaks_seconds(&b->peaks, read, written), compute = f->flops / b->peaks.flops;
    f->seconds = b->times[b->runs / 2];
    f->best = b->times[0];
    f->peak_flops = b->peaks.flops;
    f->peak_bytes = memory > 0 ? (read + written) / memory : b->peaks.read;
    f->compute = compute >= memory;
    f->bound = f->compute ? compute : memory;
}

static const Term *without_casts(const Term *x)
{
    while (x->kind == TERM_MAP && x->map.function == FUNCTION_CAST)
        x = x->map.arguments[0];
    return x;
}

/* A sum of differences, or a maximum of sums: the roof is that of multiply-adds, and other instructions may go beside those. */
static bool is_no_multiply_add(const Term *term)
{
    bool reduces = term->kind == TERM_REDUCE || term->kind == TERM_CONTRACT;
    if (!reduces || without_casts(term->reduce.argument)->kind != TERM_MAP)
        return false;
    const Term *x = without_casts(term->reduce.argument);
    bool plain = x->map.function == FUNCTION_MUL && term->reduce.reduction == REDUCTION_SUM;
    for (int i = 0; i < x->map.count; i++)
        plain &= without_casts(x->map.arguments[i])->kind != TERM_MAP;
    return !plain;
}

/* Why a kernel can be faster than its bound, in words: some of the work that is counted need not be done, which a `where` leaves
 * out, or rows that a gather does not take; or it is none that the roof is measured with. NULL: it cannot. */
static const char *why_beyond(const Program *lowered)
{
    const char *why = NULL;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool skips = term->kind == TERM_SELECT;
        for (int a = 0; term->kind == TERM_READ && a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                skips |= term->read.positions[a].parts[k].gather != NULL;
        if (skips)
            return "what 'where' or a gather leaves out counts as done";
        if (is_no_multiply_add(term))
            why = "in multiply-adds, beside which sums and maxima may be made";
    }
    return why;
}

/* ---- reporting ---- */

static void print_json(const Bench *b, const Figures *f)
{
    printf("{\n  \"seconds\": %.9g,\n  \"flops\": %.17g,\n  \"bytes\": %.17g,\n", f->seconds, f->flops, f->bytes);
    printf("  \"flops_per_second\": %.9g,\n  \"bytes_per_second\": %.9g,\n", f->flops / f->seconds, f->bytes / f->seconds);
    printf("  \"peak_flops_per_second\": %.9g,\n  \"peak_bytes_per_second\": %.9g,\n", f->peak_flops, f->peak_bytes);
    printf("  \"efficiency\": %.6g,\n  \"workspace_bytes\": %zu,\n", f->bound / f->seconds, b->workspace_bytes);
    if (b->device)
        printf("  \"device\": \"%s\",\n", b->device);
    else
        printf("  \"threads\": %d,\n", b->workers);
    printf("  \"target\": \"%s\"\n}\n", b->job.options.target->name);
}

static const char *time_words(Arena *arena, double seconds)
{
    return seconds >= 1      ? arena_format(arena, "%.3g s", seconds)
           : seconds >= 1e-3 ? arena_format(arena, "%.3g ms", seconds * 1e3)
                             : arena_format(arena, "%.3g us", seconds * 1e6);
}

static void print_text(const Bench *b, const Figures *f)
{
    Arena *arena = &b->job.cli->arena;
    double efficiency = 100 * f->bound / f->seconds;
    printf("time        %s, the median of %d runs%s; the best took %s\n", time_words(arena, f->seconds), b->runs,
           b->calls > 1 ? arena_format(arena, " of %d calls", b->calls) : "", time_words(arena, f->best));
    printf("work        %s, %s", count_words(arena, f->flops, "flop"), count_words(arena, f->flops / f->seconds, "flop/s"));
    printf(f->peak_flops > 0 ? " of %s\n" : "\n", count_words(arena, f->peak_flops, "flop/s"));
    printf("operands    %s, %s of %s\n", byte_words(arena, f->bytes), count_words(arena, f->bytes / f->seconds, "B/s"),
           count_words(arena, f->peak_bytes, "B/s"));
    printf("efficiency  %.1f %% of what %s allows%s\n", efficiency, f->compute ? "arithmetic" : "memory",
           b->beyond ? arena_format(arena, "; %s", b->beyond) : "");
    printf("workspace   %s\n", byte_words(arena, (double)b->workspace_bytes));
    if (b->device)
        printf("target      %s: %s\n", b->job.options.target->words, b->device);
    else
        printf("target      %s, %d thread%s\n", b->job.options.target->words, b->workers, b->workers == 1 ? "" : "s");
}

/* ---- the command ---- */

/* Measures again while the kernel seems to be faster than the machine: that happens when others keep it busy. */
static int measure_well(Bench *b, const einc_kernel *kernel, double seconds, Figures *figures)
{
    Cli *cli = b->job.cli;
    const Compiled *compiled = kernel->variants->compiled;
    Pool *pool = context_pool(cli->context);
    Dtype dtype = working_dtype(compiled->plan);
    if (!pool || !peaks_open(&b->peaks, pool, b->workers, b->job.options.target, dtype, figures->bytes))
        return cli_fail(cli, EINC_FAILED, "no memory to measure how fast this machine is");
    for (int turn = 0; turn < RETRIES; turn++) {
        b->runs = 0;
        int status = measure(b, kernel, seconds);
        if (status)
            return status;
        find_figures(b, figures);
        if (b->beyond || figures->bound <= EFFICIENCY_MAX * figures->seconds)
            return EINC_OK;
    }
    return cli_fail(cli, EINC_CHECK, "the kernel seems to reach %.1f %% of what this machine can do\nhint: the machine is too "
                    "busy to be measured; try again, or with a larger --seconds", 100 * figures->bound / figures->seconds);
}

static int bench_kernel(Bench *b, const einc_kernel *kernel, double seconds)
{
    const Compiled *compiled = kernel->variants->compiled;
    Cost cost = plan_cost(compiled->plan, b->job.front->extents, 1);
    Figures figures = { .flops = cost.flops, .bytes = cost.bytes };
    bool on_device = compiled->plan->target->grid != NULL;
    b->beyond = why_beyond(compiled->lowered);
    int status = make_data(b);
    if (!status && !on_device)
        status = make_workspace(b, kernel);
    if (!status)
        status = (on_device ? bench_on_device : measure_well)(b, kernel, seconds, &figures);
    if (status)
        return status;
    if (option_given(b->job.cli, OPTION_JSON))
        print_json(b, &figures);
    else
        print_text(b, &figures);
    return EINC_OK;
}

static int bench_job(Bench *b)
{
    Job *job = &b->job;
    Cli *cli = job->cli;
    int threads;
    double seconds;
    if (!option_threads(cli, &threads) || !option_seconds(cli, &seconds))
        return EINC_USAGE;
    einc_context_set_threads(cli->context, threads);
    int status = job_front(job);
    if (!status)
        status = job_derive_shapes(job);
    if (!status)
        status = job_require_extents(job);
    if (status)
        return status;
    einc_kernel *kernel = kernel_make(cli->context, &job->expression.source, &job->options);
    if (!kernel)
        return cli_fail_runtime(cli);
    status = job_check_budget(job, kernel->variants->compiled);
    if (!status)
        status = bench_kernel(b, kernel, seconds);
    einc_kernel_free(kernel);
    return status;
}

int command_bench(Cli *cli)
{
    Bench b = { 0 };
    int status = job_read(cli, &b.job);
    if (!status)
        status = bench_job(&b);
    for (int i = 0; i < b.made_count; i++)
        free(b.made[i].data);
    free(b.workspace);
    peaks_close(&b.peaks);
    job_close(&b.job);
    return status;
}
