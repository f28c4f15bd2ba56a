/* einc run: operands from files, the kernel, results into files or onto the screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "print.h"
#include "progress.h"

/* -o */
typedef struct Wanted {
    const char *name;             /* NULL: the next of the results */
    const char *path;
} Wanted;

/* An output of the kernel. */
typedef struct Made {
    const Tensor *tensor;         /* of the job's front */
    const char *path;             /* NULL: it is printed, or nobody asked for it */
    bool printed;
    NpyWriter writer;             /* where there is a path */
    Array array;                  /* its data is the writer's, or `memory` */
    void *memory;
} Made;

typedef struct Run {
    Job job;
    Wanted *wanted;
    int wanted_count;
    Made *made;
    int made_count;
    const Tensor **results;       /* those of --outputs, or of the last statement */
    int result_count;
    const Array **arrays;         /* [tensor id of the job's front]: operands, and what is added to */
} Run;

/* ---- -o ---- */

static int read_output(Run *run, const char *value)
{
    Job *job = &run->job;
    Cli *cli = job->cli;
    Wanted wanted = { 0 };
    wanted.name = job_split_name(cli, value, &wanted.path);
    if (wanted.name && !expression_made(&job->expression, wanted.name)) {
        const char *near = expression_nearest(cli, &job->expression, wanted.name, true);
        bool operand = expression_operand(&job->expression, wanted.name);
        return cli_fail(cli, EINC_USAGE, operand ? "'%s' is an operand, not a result%s%s%s"
                                                 : "no statement makes '%s'\nhint: %s%s%sa file of that name is './%s'",
                        wanted.name, !operand && near ? "did you mean '" : "", !operand && near ? near : "",
                        !operand && near ? "'? " : "", value);
    }
    for (int i = 0; i < run->wanted_count; i++) {
        if (wanted.name && run->wanted[i].name && !strcmp(run->wanted[i].name, wanted.name))
            return cli_fail(cli, EINC_USAGE, "'%s' is asked for twice", wanted.name);
        if (!strcmp(run->wanted[i].path, wanted.path) && strcmp(wanted.path, "-") && strncmp(wanted.path, "/dev/", 5))
            return cli_fail(cli, EINC_USAGE, "two results cannot both be written to '%s'", wanted.path);
    }
    ARENA_APPEND(&cli->arena, run->wanted, run->wanted_count, wanted);
    return EINC_OK;
}

static int read_files(Run *run)
{
    const Cli *cli = run->job.cli;
    int status = EINC_OK;
    for (int i = 0; i < cli->given_count && !status; i++)
        if (cli->given[i].id == OPTION_OUTPUT)
            status = read_output(run, cli->given[i].value);
    return status;
}

static bool wants_results(const Run *run)
{
    for (int i = 0; i < run->wanted_count; i++)
        if (!run->wanted[i].name)
            return true;
    return run->wanted_count == 0;
}

static void add_result(Run *run, const Tensor *tensor)
{
    for (int r = 0; r < run->result_count; r++)
        if (run->results[r] == tensor)
            return;
    ARENA_APPEND(&run->job.cli->arena, run->results, run->result_count, tensor);
}

/* Of the names of --outputs; an empty one stands for the last statement's. */
static void find_results(Run *run, const char *const *names, int count)
{
    const Program *p = run->job.front->program;
    const Statement *last = program_result(p);
    for (int i = 0; i < count || (i == 0 && count == 0); i++)
        if (count && names[i][0])
            add_result(run, program_find(p, names[i]));
        else
            for (int o = 0; o < last->output_count; o++)
                add_result(run, last->outputs[o].tensor);
}

/* What the kernel has to make: what is asked for, and what is added to an array that was given. */
static void ask_outputs(Run *run)
{
    Job *job = &run->job;
    Arena *arena = &job->cli->arena;
    const char **names = NULL;
    int count = 0;
    for (int i = 0; i < job->options.output_count; i++)
        ARENA_APPEND(arena, names, count, job->options.outputs[i]);
    if (!count && wants_results(run))
        ARENA_APPEND(arena, names, count, "");
    for (int i = 0; i < run->wanted_count; i++)
        if (run->wanted[i].name)
            ARENA_APPEND(arena, names, count, run->wanted[i].name);
    for (int k = 0; k < job->known_count; k++)
        if (job->known[k]->name && expression_made(&job->expression, job->known[k]->name))
            ARENA_APPEND(arena, names, count, job->known[k]->name);
    job->options.outputs = names;
    job->options.output_count = count;
}

static Made *made_of(const Run *run, const Tensor *tensor)
{
    int m = 0;
    while (run->made[m].tensor != tensor)
        m++;
    return &run->made[m];
}

/* Ties each -o to an output. `all`: each result is to have one, if any has. */
static int place_outputs(Run *run, bool all)
{
    const Compiled *front = run->job.front;
    int plain = 0, placed = 0;
    run->made_count = front->output_count;
    run->made = ARENA_ARRAY(&run->job.cli->arena, Made, run->made_count);
    for (int m = 0; m < run->made_count; m++)
        run->made[m].tensor = front->outputs[m];
    for (int i = 0; i < run->wanted_count; i++) {
        const Wanted *wanted = &run->wanted[i];
        if (!wanted->name && plain == run->result_count)
            return cli_fail(run->job.cli, EINC_USAGE, "the expression has %d result%s, so there is none for '-o %s'", plain,
                            plain == 1 ? "" : "s", wanted->path);
        Made *made = made_of(run, wanted->name ? program_find(front->program, wanted->name) : run->results[plain++]);
        if (made->path)
            return cli_fail(run->job.cli, EINC_USAGE, "'%s' is asked for twice", made->tensor->label);
        made->path = wanted->path;
    }
    for (int r = 0; r < run->result_count && (all || plain || !run->wanted_count); r++) {
        Made *made = made_of(run, run->results[r]);
        made->printed = !run->wanted_count;
        placed += made->path != NULL;
    }
    if ((all || plain) && run->wanted_count && placed < run->result_count)
        return cli_fail(run->job.cli, EINC_USAGE, "the expression has %d results, but only %d of them %s a file\nhint: give one "
                        "-o for each, '-o /dev/null' for one that is not needed", run->result_count, placed,
                        placed == 1 ? "has" : "have");
    return EINC_OK;
}

/* ---- memory ---- */

/* What a `+=` adds to, or NULL: zeros. */
static const Array *added_to(const Run *run, const Tensor *tensor)
{
    while (tensor->previous)
        tensor = tensor->previous;
    return tensor->from_caller ? run->arrays[tensor->id] : NULL;
}

static void copy_array(Array *to, const Array *from)
{
    int64_t at[RANK_MAX] = { 0 };
    size_t size = dtype_size(to->dtype);
    if (!array_count(to))
        return;
    if (!memcmp(to->stride, from->stride, (size_t)to->rank * sizeof *to->stride)) {
        memcpy(to->data, from->data, (size_t)array_count(to) * size);
        return;
    }
    do
        memcpy(array_at(to, at), array_at(from, at), size);
    while (array_next(to, at));
}

static int make_output(Run *run, Made *made)
{
    Cli *cli = run->job.cli;
    const int64_t *shape = run->job.front->extents->shape[made->tensor->id];
    char error[ERROR_BYTES];
    if (made->path) {
        if (!npy_create(&made->writer, made->path, made->tensor->dtype, made->tensor->rank, shape, error, sizeof error))
            return cli_fail(cli, EINC_FAILED, "%s", error);
        made->array = made->writer.array;
    } else {
        made->array.dtype = made->tensor->dtype;
        made->array.rank = made->tensor->rank;
        memcpy(made->array.shape, shape, (size_t)made->array.rank * sizeof *shape);
        array_lay_out(&made->array, false);
        size_t size = dtype_size(made->array.dtype), count = (size_t)array_count(&made->array);
        made->memory = made->array.data = calloc(count ? count : 1, size);
        if (!made->memory)
            return cli_fail(cli, EINC_FAILED, "no memory for a result of %zu elements of %zu bytes", count, size);
    }
    const Array *before = added_to(run, made->tensor);
    if (before)
        copy_array(&made->array, before);
    return EINC_OK;
}

static DLTensor tensor_of(const Array *array)
{
    DLTensor tensor = einc_tensor(array->data, dtype_name(array->dtype), array->rank, (int64_t *)array->shape);
    tensor.strides = (int64_t *)array->stride;
    return tensor;
}

/* ---- the call ---- */

static int call_kernel(Run *run, const einc_kernel *kernel)
{
    const Program *p = run->job.front->program;
    Arena *arena = &run->job.cli->arena;
    DLTensor *tensors = ARENA_ARRAY(arena, DLTensor, p->input_count + run->made_count);
    const DLTensor **inputs = ARENA_ARRAY(arena, const DLTensor *, p->input_count);
    DLTensor **outputs = ARENA_ARRAY(arena, DLTensor *, run->made_count);
    for (int i = 0; i < p->input_count; i++) {
        tensors[i] = tensor_of(run->arrays[p->inputs[i]->id]);
        inputs[i] = &tensors[i];
    }
    for (int m = 0; m < run->made_count; m++) {
        tensors[p->input_count + m] = tensor_of(&run->made[m].array);
        outputs[m] = &tensors[p->input_count + m];
    }
    Progress progress = progress_begin();
    einc_call_options options = { .progress = progress.wanted ? progress_show : NULL, .user = &progress };
    int status = einc_call(kernel, inputs, p->input_count, outputs, run->made_count, &options);
    progress_end(&progress);
    return status;
}

static const Result *results_of(Run *run)
{
    Result *results = ARENA_ARRAY(&run->job.cli->arena, Result, run->made_count);
    for (int m = 0; m < run->made_count; m++)
        results[m] = (Result){ run->made[m].tensor, &run->made[m].array };
    return results;
}

/* Copies, as a signal may come when a file has its place and its writer no name for it. */
static const char *const *unfinished_files(Run *run)
{
    Arena *arena = &run->job.cli->arena;
    const char **files = ARENA_ARRAY(arena, const char *, run->made_count + 1);
    for (int m = 0, count = 0; m < run->made_count; m++) {
        const char *temporary = run->made[m].writer.temporary;
        if (temporary)
            files[count++] = arena_copy(arena, temporary, strlen(temporary));
    }
    return files;
}

static int compute(Run *run, const einc_kernel *kernel)
{
    Cli *cli = run->job.cli;
    bool check = option_given(cli, OPTION_CHECK);
    int status = EINC_OK;
    for (int m = 0; m < run->made_count && !status; m++)
        status = make_output(run, &run->made[m]);
    if (status)
        return status;
    cancel_removes(unfinished_files(run));
    status = call_kernel(run, kernel);
    if (cancel_asked(NULL))
        return cancel_status();
    if (status) {
        bool explained = status == EINC_EXPRESSION && check &&
                         compare_find_fault(&run->job, results_of(run), run->made_count, run->arrays);
        return explained ? status : cli_fail_runtime(cli);
    }
    if (check)
        status = compare_results(&run->job, results_of(run), run->made_count, run->arrays);
    return cancel_asked(NULL) ? cancel_status() : status;
}

/* ---- results ---- */

static int commit(Run *run, Made *made)
{
    char error[ERROR_BYTES];
    return npy_commit(&made->writer, error, sizeof error) ? EINC_OK : cli_fail(run->job.cli, EINC_FAILED, "%s", error);
}

/* Files take their places one after the other, at once; what goes elsewhere may have to wait for who reads it. */
static int deliver(Run *run)
{
    int status = EINC_OK, printed = 0;
    for (int m = 0; m < run->made_count && !status; m++)
        if (run->made[m].path && run->made[m].writer.temporary)
            status = commit(run, &run->made[m]);
    cancel_release();
    for (int m = 0; m < run->made_count && !status; m++) {
        Made *made = &run->made[m];
        if (made->path && made->writer.path)
            status = commit(run, made);
        if (!made->printed)
            continue;
        Text text = text_new(&run->job.cli->arena);
        print_array(&text, &made->array);
        printf("%s%s", printed++ ? "\n" : "", text.bytes);
    }
    return status;
}

/* ---- the command ---- */

static void bind_arrays(Run *run)
{
    Job *job = &run->job;
    const int *places = check_bind(&job->cli->arena, job->front->program, &job->options.check);
    run->arrays = ARENA_ARRAY(&job->cli->arena, const Array *, job->front->program->tensor_count);
    for (int k = 0; k < job->known_count; k++)
        if (places[k] >= 0 && job->known[k]->path)
            run->arrays[places[k]] = &job->known[k]->file.array;
}

static int run_job(Run *run)
{
    Job *job = &run->job;
    Cli *cli = job->cli;
    int threads, status = read_files(run);
    if (status || !option_threads(cli, &threads))
        return status ? status : EINC_USAGE;
    einc_context_set_threads(cli->context, threads);
    const char *const *names = job->options.outputs;
    const int named = job->options.output_count;
    ask_outputs(run);
    status = job_front(job);
    if (!status)
        status = job_require_extents(job);
    if (status)
        return status;
    find_results(run, names, named);
    status = place_outputs(run, named > 0);
    if (status)
        return status;
    bind_arrays(run);
    cancel_catch();
    einc_kernel *kernel = kernel_make(cli->context, &job->expression.source, &job->options);
    if (cancel_asked(NULL))
        status = cancel_status();
    else if (!kernel)
        status = cli_fail_runtime(cli);
    else
        status = job_check_budget(job, kernel->variants->compiled);
    if (!status)
        status = compute(run, kernel);
    if (!status)
        status = deliver(run);
    einc_kernel_free(kernel);
    return status;
}

int command_run(Cli *cli)
{
    Run run = { 0 };
    int status = job_read(cli, &run.job);
    if (!status)
        status = run_job(&run);
    for (int m = 0; m < run.made_count; m++) {
        npy_abort(&run.made[m].writer);
        free(run.made[m].memory);
    }
    job_close(&run.job);
    return status;
}
