/* Runs compiled kernels against the evaluator, one job a line, so that thousands of expressions need one process only.
 *
 * A job is fields with tabs between them, in which \t, \n and \\ stand for those characters:
 *
 *     expression  -s seed  [-t target]  [-n tiled|loops]  [-p precision]  [-b bare]  [-l lines]  [-c order|all]  [-g device]  [-e shape]…  {"|"  [-d index=extent]…  [-i [NAME=]in.npy]…}…
 *
 * Behind each "|" stands a data set: the expression is compiled once, for the dtypes and, as hints, the shapes of the
 * first (with -b and every third seed without its shapes, but not with -c), or for those that -e says of each operand, and run on
 * each of them. The seed chooses what is laid out how: axes in any order, gaps, negative and zero strides, unaligned data, and which named
 * statements are asked for beside the result; with -l operands lie as C has them, in lines that are aligned to 16
 * bytes, with -c results from a line of the cache on. Every array ends, or begins, at a page without access; so does
 * the workspace. Then every fourth kernel is compiled again for the least memory that its plan can do with, and for
 * one byte less, which must be refused. Of a large result a fourth of the elements is compared.
 *
 * Kernels for CUDA run in tests/cuda_emulator.h where tests/cuda_cc.sh is the C compiler; with -g on a GPU, to which arrays are
 * copied, so that less is known of what they do.
 *
 * The answer is one line: "ok", how many elements were compared, how many runs were refused for good reason, and how many
 * pages of workspace one worker wrote to and the plan has; or "refused\tmessage" for an expression that the compiler does
 * not take; or "failed\tmessage". */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cost.h"
#include "cuda_map.h"
#include "cuda.h"
#include "evaluate.h"
#include "grid.h"
#include "kernel_job.h"

enum { ALIGNMENT = 64 };

/* ---- what a kernel may not do: take memory ---- */

static const void *_Atomic kernel_base;           /* where the kernel that runs is loaded; NULL while none runs */
static _Atomic int allocations;

static void *object_base(void *address)
{
    Dl_info info;
    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Only what the kernel itself calls counts: the runtime around it may take memory. */
#define COUNT_ALLOCATION() (allocations += kernel_base && object_base(__builtin_return_address(0)) == kernel_base)

/* The kernel calls these, not the C library's. */
#define INTERPOSED __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

INTERPOSED void *malloc(size_t bytes)
{
    COUNT_ALLOCATION();
    return __libc_malloc(bytes);
}

INTERPOSED void *calloc(size_t count, size_t bytes)
{
    COUNT_ALLOCATION();
    return __libc_calloc(count, bytes);
}

INTERPOSED void *realloc(void *memory, size_t bytes)
{
    COUNT_ALLOCATION();
    return __libc_realloc(memory, bytes);
}

INTERPOSED void *aligned_alloc(size_t align, size_t bytes)
{
    COUNT_ALLOCATION();
    return __libc_memalign(align, bytes);
}

INTERPOSED void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    COUNT_ALLOCATION();
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

/* ---- one data set ---- */

typedef struct Run {
    const Compiled *compiled;
    Extents *extents;             /* NULL: these shapes do not fit the expression */
    Array inputs[ARRAYS_MAX], outputs[ARRAYS_MAX];
    const Guarded *kept[ARRAYS_MAX];              /* the outputs' memory */
    Array before[ARRAYS_MAX];     /* what `+=` adds to */
    bool adds[ARRAYS_MAX];
} Run;

static DLTensor as_tensor(Array *array)
{
    DLTensor tensor = einc_tensor(array->data, dtype_name(array->dtype), array->rank, array->shape);
    tensor.strides = array->stride;
    return tensor;
}

static const Output *output_of(const Tensor *tensor)
{
    for (int o = 0; o < tensor->maker->output_count; o++)
        if (tensor->maker->outputs[o].tensor == tensor)
            return &tensor->maker->outputs[o];
    return NULL;
}

/* The first of the tensors that `+=` makes of a name: what the caller's array stands for. */
static const Tensor *root_of(const Tensor *tensor)
{
    while (tensor->previous)
        tensor = tensor->previous;
    return tensor;
}

static const Array *file_of(const Set *set, const Program *program, const Tensor *tensor)
{
    CheckOptions options = { set->operands, set->operand_count, NULL, 0 };
    const int *places = check_bind(program->arena, program, &options);
    for (int i = 0; i < set->operand_count; i++)
        if (places[i] == tensor->id)
            return &set->files[i].array;
    return NULL;
}

static bool prepare(Job *job, Run *run, const Set *set)
{
    const Program *program = run->compiled->program;
    Diags diags = { .arena = &job->arena, .source = program->source };
    const int64_t **shapes = ARENA_ARRAY(&job->arena, const int64_t *, program->tensor_count);
    for (int i = 0; i < program->input_count; i++) {
        const Array *file = file_of(set, program, program->inputs[i]);
        if (!file)
            return job_fail(job, "operand %d has no file", i + 1);
        run->inputs[i] = job_lay_out(job, file, false);
        shapes[program->inputs[i]->id] = run->inputs[i].shape;
    }
    for (int t = 0; t < program->tensor_count; t++) {
        const Array *file = program->tensors[t]->from_caller ? file_of(set, program, program->tensors[t]) : NULL;
        if (file)
            shapes[t] = file->shape;
    }
    run->extents = extents_infer(&job->arena, program, shapes, set->extents, set->extent_count, &diags);
    if (run->extents && !extents_require(run->extents, &diags))
        return job_fail(job, "%s", diags.first->message);
    for (int o = 0; o < run->compiled->output_count; o++) {
        const Tensor *tensor = run->compiled->outputs[o], *root = root_of(tensor);
        const Array *file = root->from_caller ? file_of(set, program, root) : NULL;
        Array plain = { .dtype = tensor->dtype, .rank = tensor->rank };
        for (int a = 0; a < tensor->rank; a++)      /* where the shapes do not fit the expression, any */
            plain.shape[a] = run->extents ? run->extents->shape[tensor->id][a] : 2;
        run->adds[o] = root->from_caller;
        if (run->adds[o] && !file) {
            array_lay_out(&plain, false);
            plain.data = arena_alloc(&job->arena, (size_t)array_count(&plain) * dtype_size(plain.dtype) + 1);
        }
        run->before[o] = file ? *file : plain;
        run->outputs[o] = job_lay_out(job, &run->before[o], true);
        run->kept[o] = &job->guarded[job->guarded_count - 1];
    }
    return true;
}

/* Extents that no operand fixes are options of a kernel: here they change from one data set to the next. */
static void set_given(einc_kernel *kernel, const Set *set)
{
    kernel->options.check.extents = set->extents;
    kernel->options.check.extent_count = set->extent_count;
    for (int s = 0; s < kernel->slot_count; s++)
        for (int i = 0; i < set->extent_count && kernel->slots[s].kind == SLOT_EXTENT; i++)
            if (!strcmp(set->extents[i].name, kernel->slots[s].name))
                kernel->slots[s].extent = set->extents[i].extent;
}

/* Whether all of the workspace has a use whatever the strides: not where an extent is 0; not the room for packed rows,
 * which may be read in place; not that for the parts of a split reduction, which may come out fewer; not that of a
 * ranking, whose candidates are as many as the values have it, and on a grid of each thread. */
static bool uses_all(const Run *run)
{
    const Plan *plan = run->compiled->plan;
    bool all = !plan_has_contract(plan);
    for (int i = 0; i < run->compiled->program->index_count; i++)
        all &= run->extents->of[i] != 0;
    for (int s = 0; s < plan->step_count; s++)
        all &= plan->steps[s]->split == NULL && plan->steps[s]->kind != STEP_RANK;
    return all;
}

/* Whether one worker wrote to all of the workspace that the plan asked for, up to the alignment of its last array. */
static bool used_workspace(Job *job, const Run *run)
{
    const Guarded *g = &job->guarded[job->guarded_count - 1];
    size_t used = g->size;
    if (!uses_all(run))
        return true;
    while (used > 0 && (unsigned char)g->bytes[used - 1] == job_poison(g->bytes + used - 1))
        used--;
    job->planned_pages += (long)((g->size + g->page - 1) / g->page);
    job->touched_pages += (long)((used + g->page - 1) / g->page);
    return g->size - used < ALIGNMENT ||
           job_fail(job, "the plan has %zu bytes of workspace, but %zu were used", g->size, used);
}

/* ---- kernels for a grid ---- */

/* The run whose kernel's launches are read from the list instead of compiled in. */
static struct { Job *job; const Run *run; void *handle; } listed;

static int launch_listed(void *user, const char *kernel, unsigned blocks, unsigned threads, unsigned shared, void *frame)
{
    int (*emulated)(void **arguments, unsigned blocks, unsigned threads);
    (void)user;
    (void)shared;
    *(void **)&emulated = dlsym(listed.handle, arena_format(&listed.job->arena, "emulated_%s", kernel));
    return emulated ? emulated(&frame, blocks, threads) : 1;
}

static int clear_listed(void *user, void *at, size_t bytes)
{
    (void)user;
    memset(at, 0, bytes);
    return 0;
}

/* In the place of the kernel's own launcher. */
static int run_listed(const void *args, void *workspace, size_t bytes, const einc_host *host)
{
    static const GridMachine machine = { launch_listed, clear_listed, map_encode, 3, NULL };
    const Run *run = listed.run;
    SizeValues values = { run->extents->of, run->extents->shape, host->workers };
    uint64_t *frame = arena_alloc(&listed.job->arena, (size_t)run->compiled->unit->frame_bytes);
    const GridCall *call = grid_prepare(&listed.job->arena, run->compiled, args, &values);
    return call ? grid_run(call, args, workspace, bytes, frame, &machine) : -EINC_EXPRESSION;
}

/* What a kernel for a device knows only when it is done. */
static int late_status(einc_kernel *kernel, const einc_call_options *options)
{
    int (*ask)(const void *workspace, void *stream);
    *(void **)&ask = dlsym(kernel->variants->object->handle, "fuzzed_status");
    int status = ask(options->workspace, NULL);
    return status <= -16 ? EINC_EXPRESSION : status;
}

static int call(Job *job, einc_kernel *kernel, Run *run, int workers)
{
    const Compiled *compiled = run->compiled;
    DLTensor tensors[2 * ARRAYS_MAX];
    const DLTensor *inputs[ARRAYS_MAX];
    DLTensor *outputs[ARRAYS_MAX];
    for (int i = 0; i < compiled->program->input_count; i++) {
        tensors[i] = as_tensor(&run->inputs[i]);
        inputs[i] = &tensors[i];
    }
    for (int o = 0; o < compiled->output_count; o++) {
        tensors[ARRAYS_MAX + o] = as_tensor(&run->outputs[o]);
        outputs[o] = &tensors[ARRAYS_MAX + o];
    }
    einc_call_options options = { .workers = workers };
    if (run->extents) {
        /* Variants for other strides may want another workspace: the guard is for the plan at hand. */
        SizeValues values = { run->extents->of, run->extents->shape, workers };
        int64_t bytes = size_evaluate(compiled->plan->workspace, &values);
        options.workspace = job_guard(job, (size_t)bytes, true);
        options.workspace_bytes = (size_t)bytes;
    }
    allocations = 0;
    kernel_base = object_base(*(void **)&kernel->variants->object->kernel);
    Object *object = kernel->variants->object;
    int (*launcher)(const void *, void *, size_t, const einc_host *) = object->kernel;
    bool emulated = kernel->options.target->grid && !object->module && run->extents, from_list = emulated && workers > 1;
    if (from_list) {
        memset(&listed, 0, sizeof listed);
        listed.job = job;
        listed.run = run;
        listed.handle = object->handle;
        object->kernel = run_listed;
        kernel_base = NULL;
    }
    int status = einc_call(kernel, inputs, compiled->program->input_count, outputs, compiled->output_count, &options);
    object->kernel = launcher;
    kernel_base = NULL;
    if (status == EINC_OK && emulated)
        status = late_status(kernel, &options);
    bool is_first = kernel->variants->next == NULL;    /* else the plan at hand is perhaps not the one that ran */
    if (run->extents && status == EINC_OK && workers == 1 && is_first && !object->module && !used_workspace(job, run))
        return EINC_FAILED;
    return status;
}

/* ---- comparing ---- */

static const char *spell(Job *job, Dtype dtype, const void *element)
{
    Number n = array_load(dtype, element);
    if (dtype_kind(dtype) <= KIND_INT)
        return arena_format(&job->arena, "%lld", (long long)n.integer);
    return arena_format(&job->arena, dtype_kind(dtype) == KIND_COMPLEX ? "%.17g%+.17gi" : "%.17g", n.re, n.im);
}

static const char *spell_position(Job *job, const int64_t *position, int rank)
{
    Text text = text_new(&job->arena);
    for (int a = 0; a < rank; a++)
        text_print(&text, "%s%lld", a ? "," : "", (long long)position[a]);
    return text.bytes;
}

enum { COMPARED_EACH = 1024, COMPARED_BITS = 2 };

/* Of a large result the first elements are compared, the last, and of those between one in 2^COMPARED_BITS, by chance. */
static bool is_compared(const Job *job, int64_t number, int64_t count)
{
    uint64_t mixed = ((uint64_t)number + job->seed) * 0x9E3779B97F4A7C15u;    /* Knuth's multiplicative hash */
    return number < COMPARED_EACH || number >= count - COMPARED_EACH || mixed >> (64 - COMPARED_BITS) == 0;
}

static bool compare_output(Job *job, Evaluator *e, const Run *run, int o, bool *missed)
{
    const Output *output = output_of(run->compiled->outputs[o]);
    const Array *array = &run->outputs[o];
    int64_t position[RANK_MAX] = { 0 }, number = 0, count = array_count(array);
    for (bool more = count > 0; more; more = array_next(array, position)) {
        bool failed = false;
        if (!is_compared(job, number++, count))
            continue;
        const void *element = array_at(array, position);
        if (evaluator_accepts(e, output, position, element, &failed)) {
            job->elements++;
            continue;
        }
        *missed |= failed;
        if (failed)
            return true;
        Value v;
        evaluator_element(e, output, position, &v);
        return job_fail(job, "output %d at [%s] is %s, but must be %.17g%+.17gi or %lld, bound %g", o + 1,
                    spell_position(job, position, array->rank), spell(job, array->dtype, element), v.re, v.im,
                    (long long)v.integer, v.bound);
    }
    return job_gaps_are_clean(job, array, run->kept[o]);
}

static Evaluator *evaluator_for(Job *job, const Run *run)
{
    const Program *program = run->compiled->program;
    const Array **arrays = ARENA_ARRAY(&job->arena, const Array *, program->tensor_count);
    for (int i = 0; i < program->input_count; i++)
        arrays[program->inputs[i]->id] = &run->inputs[i];
    for (int o = 0; o < run->compiled->output_count; o++)
        if (run->adds[o])
            arrays[root_of(run->compiled->outputs[o])->id] = &run->before[o];
    Evaluator *evaluator = evaluator_new(program, run->extents, arrays);
    if (evaluator)
        evaluator_allow(evaluator, precisions[job->precision].error);
    if (evaluator && run->compiled->plan->target->grid)
        evaluator_scales(evaluator);
    return evaluator;
}

/* Whether some element of some statement reads out of range: a kernel may compute what nobody asks for. */
static bool misses_somewhere(const Run *run, Evaluator *e)
{
    const Program *program = run->compiled->program;
    for (int s = 0; s < program->statement_count; s++)
        for (int o = 0; o < program->statements[s]->output_count; o++) {
            const Output *output = &program->statements[s]->outputs[o];
            Array shape = { .rank = output->tensor->rank };
            memcpy(shape.shape, run->extents->shape[output->tensor->id], (size_t)shape.rank * sizeof *shape.shape);
            int64_t position[RANK_MAX] = { 0 };
            Value value;
            for (bool more = array_count(&shape) > 0; more; more = array_next(&shape, position))
                if (!evaluator_element(e, output, position, &value))
                    return true;
        }
    return evaluator_may_miss(e);
}

static bool compare(Job *job, Run *run, int status, const char *error)
{
    Evaluator *e = evaluator_for(job, run);
    bool missed = false, good = true;
    if (status == EINC_EXPRESSION && misses_somewhere(run, e)) {
        job->refused++;
    } else if (status) {
        good = job_fail(job, "the kernel failed with %d: %s", status, error);
    } else {
        for (int o = 0; o < run->compiled->output_count && good; o++)
            good = compare_output(job, e, run, o, &missed);
        if (good && missed)
            good = job_fail(job, "the kernel did not notice a read out of range: %s", evaluator_error(e));
    }
    evaluator_free(e);
    return good;
}

/* The plan that the kernel was made with: the last of its variants, since calls may add others. */
static const Compiled *first_compiled(const einc_kernel *kernel)
{
    const Variant *variant = kernel->variants;
    while (variant->next)
        variant = variant->next;
    return variant->compiled;
}

static bool run_set(Job *job, einc_context *context, einc_kernel *kernel, const Set *set, int workers)
{
    Run run = { .compiled = first_compiled(kernel) };
    set_given(kernel, set);
    bool good = prepare(job, &run, set);
    if (good && !run.extents) {
        /* What no output needs is not in the kernel, and so is not checked. */
        if (call(job, kernel, &run, workers) == EINC_OK && run.compiled->program->statement_count == 1)
            good = job_fail(job, "the kernel takes shapes that the front end refuses");
        job->refused++;
    } else if (good) {
        int status = call(job, kernel, &run, workers);
        good = compare(job, &run, status, einc_error(context));
        if (good && allocations && !status)
            good = job_fail(job, "the kernel took memory %d times", (int)allocations);
    }
    job_release(job);
    return good;
}

/* ---- one job ---- */

/* The result alone, or with it some of the named statements. */
static void choose_outputs(Job *job, const Program *program, CompileOptions *options)
{
    const char **names = ARENA_ARRAY(&job->arena, const char *, program->tensor_count + 1);
    int count = 0;
    names[count++] = "";
    bool more = job_pick(job, 3) == 0;
    for (int t = 0; t < program->tensor_count; t++) {
        const Tensor *tensor = program->tensors[t];
        bool listed = false;
        for (int i = 0; i < count && tensor->name; i++)
            listed |= !strcmp(names[i], tensor->name);
        if (tensor->maker && tensor->name && !listed && ((more && job_pick(job, 2)) || tensor->from_caller))
            names[count++] = tensor->name;
    }
    options->outputs = names;
    options->output_count = count;
}

/* The least budget that the plan can do with runs right, one byte less is refused; where it needs none, one byte will do. */
static bool refuses_less(Job *job, einc_context *context, const Source *source, CompileOptions options,
                         const Compiled *compiled)
{
    if (!compiled->extents->complete)
        return true;
    Cost cost = plan_cost(compiled->plan, compiled->extents, 1);
    for (int less = 0; less < 2 && cost.workspace > 0; less++) {
        options.memory = cost.smallest > 0 ? cost.smallest - less : 1 - less;
        if (options.memory == 0)
            return true;
        einc_kernel *kernel = kernel_make(context, source, &options);
        if (!kernel)
            return job_fail(job, "with --memory %lld: %s", (long long)options.memory, einc_error(context));
        Run run = { .compiled = kernel->variants->compiled };
        set_given(kernel, &job->sets[0]);
        bool good = prepare(job, &run, &job->sets[0]);
        if (good && run.extents) {
            int status = call(job, kernel, &run, 1);
            if (less && status != EINC_BUDGET)
                good = job_fail(job, "a budget of %lld is one byte too small, but the call gives %d",
                            (long long)options.memory, status);
            else if (!less)
                good = compare(job, &run, status, einc_error(context));
        }
        job_release(job);
        einc_kernel_free(kernel);
        if (!good)
            return false;
    }
    return true;
}

static bool run_job(Job *job, einc_context *context, char *line, const char **refusal)
{
    if (!job_read(job, line))
        return false;
    Source source = { "expr", job->expression, strlen(job->expression) };
    CompileOptions options = { .name = "fuzzed" };
    if (job->on_device && cuda_open(context))
        return job_fail(job, "%s", einc_error(context));
    bool own = job->on_device && !strcmp(job->target, "cuda");
    options.target = own ? cuda_target(context, CUDA_HOST) : context_target(context, job->target);
    if (!options.target) {
        *refusal = einc_error(context);
        return true;
    }
    options.nests = job->nests;
    options.sweep = job->sweep;
    job->aligned = options.target->grid;
    options.precision = job->precision;
    Set *first = &job->sets[0];
    options.check = (CheckOptions){ first->operands, first->operand_count, first->extents, first->extent_count };
    if ((job_pick(job, 3) == 0 && !job->ordered) || job->bare || job->expected_count) {    /* without hints, as ahead of time, or for others */
        OperandSpec *others = ARENA_ARRAY(&job->arena, OperandSpec, first->operand_count);
        memcpy(others, first->operands, (size_t)first->operand_count * sizeof *others);
        for (int i = 0; i < first->operand_count; i++)
            others[i].shape = job->expected_count ? job->expected[i] : NULL;
        options.check.operands = others;
    }
    Compiled *front = build_front(context, &job->arena, &source, &options);
    if (!front) {
        *refusal = einc_error(context);
        return true;
    }
    choose_outputs(job, front->program, &options);
    einc_kernel *kernel = kernel_make(context, &source, &options);
    if (!kernel)
        return job_fail(job, "%s", einc_error(context));
    bool good = true;
    for (int s = 0; s < job->set_count && good; s++)
        good = run_set(job, context, kernel, &job->sets[s], 1 + s % 2);
    if (good && !job->expected_count && job_pick(job, 4) == 0)
        good = refuses_less(job, context, &source, options, first_compiled(kernel));
    einc_kernel_free(kernel);
    return good;
}

static void answer(const char *word, const char *message)
{
    printf("%s\t", word);
    for (const char *c = message; *c; c++) {
        if (*c == '\n')
            fputs(c[1] ? "\\n" : "", stdout);
        else
            putchar(*c);
    }
    putchar('\n');
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    einc_context *context = einc_context_new(NULL);
    einc_context_set_threads(context, 2);
    pool_run(context_pool(context), 2, 0, NULL, NULL);
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        Job *job = calloc(1, sizeof *job);
        const char *refusal = NULL;
        job->arena.failed = &job->full;
        if (line[length - 1] == '\n')
            line[length - 1] = 0;
        bool good = setjmp(job->full) == 0 && run_job(job, context, line, &refusal);
        if (refusal)
            answer("refused", refusal);
        else if (good)
            printf("ok\t%ld\t%ld\t%ld\t%ld\n", job->elements, job->refused, job->touched_pages, job->planned_pages);
        else
            answer("failed", job->message[0] ? job->message : "out of memory");
        fflush(stdout);
        for (int s = 0; s < job->set_count; s++)
            for (int i = 0; i < job->sets[s].operand_count; i++)
                npy_close(&job->sets[s].files[i]);
        arena_free(&job->arena);
        free(job);
    }
    free(line);
    einc_context_free(context);
    return 0;
}
