/* Runs compiled kernels against the evaluator, one job a line, so that thousands of expressions need one process only.
 *
 * A job is fields with tabs between them, in which \t, \n and \\ stand for those characters:
 *
 *     expression  -s seed  [-t target]  [-n tiled|loops]  {"|"  [-d index=extent]…  [-i [NAME=]in.npy]…}…
 *
 * Behind each "|" stands a data set: the expression is compiled once, for the dtypes and, as hints, the shapes of the
 * first, and run on each of them. The seed chooses what is laid out how: axes in any order, gaps, negative and zero
 * strides, unaligned data, and which named statements are asked for beside the result. Every array ends, or begins, at a
 * page without access; so does the workspace. Then the kernel is compiled again for the least memory that its plan can
 * do with, and for one byte less, which must be refused.
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
#include "evaluate.h"
#include "npy.h"
#include "runtime.h"

enum { FIELDS_MAX = 4096, SETS_MAX = 64, ARRAYS_MAX = 64, MESSAGE_BYTES = 2048, POISON = 0xA5, ALIGNMENT = 64 };

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

/* ---- jobs ---- */

typedef struct Set {
    ExtentSpec extents[ARRAYS_MAX];
    OperandSpec operands[ARRAYS_MAX];
    NpyFile files[ARRAYS_MAX];
    int extent_count, operand_count;
} Set;

/* Memory between two pages without access. */
typedef struct Guarded {
    char *map;
    size_t map_bytes, page;
    char *bytes;
    size_t size;
} Guarded;

typedef struct Job {
    Arena arena;
    jmp_buf full;
    const char *expression, *target;
    Nests nests;
    uint64_t seed;
    Set *sets;
    int set_count;
    Guarded guarded[4 * ARRAYS_MAX];
    int guarded_count;
    long elements, refused, planned_pages, touched_pages;
    char message[MESSAGE_BYTES];
} Job;

static bool fail(Job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!job->message[0])
        vsnprintf(job->message, sizeof job->message, format, arguments);
    va_end(arguments);
    return false;
}

/* splitmix64 (Steele, Lea and Flood 2014) */
static uint64_t next_random(Job *job)
{
    uint64_t z = job->seed += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int pick(Job *job, int below)
{
    return (int)(next_random(job) % (uint64_t)below);
}

static void unescape(char *field)
{
    char *to = field;
    for (const char *from = field; *from; from++)
        *to++ = *from != '\\' || !from[1] ? *from : *++from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
    *to = 0;
}

static bool add_operand(Job *job, Set *set, char *field)
{
    char *equals = strchr(field, '='), *path = equals ? equals + 1 : field;
    int k = set->operand_count;
    char error[512];
    if (k == ARRAYS_MAX || !npy_open(&set->files[k], path, error, sizeof error))
        return fail(job, "%s", k == ARRAYS_MAX ? "too many operands" : error);
    if (equals)
        *equals = 0;
    const Array *array = &set->files[k].array;
    set->operands[k] = (OperandSpec){ equals ? field : NULL, array->dtype, array->rank, array->shape };
    set->operand_count++;
    return true;
}

static bool add_field(Job *job, const char *option, char *field)
{
    Set *set = job->set_count ? &job->sets[job->set_count - 1] : NULL;
    char *equals = strchr(field, '=');
    if (!strcmp(option, "-s")) {
        job->seed = strtoull(field, NULL, 10);
    } else if (!strcmp(option, "-t")) {
        job->target = field;
    } else if (!strcmp(option, "-n")) {
        job->nests = !strcmp(field, "tiled") ? NESTS_TILED : !strcmp(field, "loops") ? NESTS_LOOPS : NESTS_BY_COST;
    } else if (set && !strcmp(option, "-d") && equals) {
        *equals = 0;
        set->extents[set->extent_count++] = (ExtentSpec){ field, atoll(equals + 1) };
    } else if (set && !strcmp(option, "-i")) {
        return add_operand(job, set, field);
    } else {
        return fail(job, "no such option: %s", option);
    }
    return true;
}

static bool read_job(Job *job, char *line)
{
    char **fields = ARENA_ARRAY(&job->arena, char *, FIELDS_MAX);
    int count = 0;
    for (char *field = line; field && count < FIELDS_MAX;) {
        char *tab = strchr(field, '\t');
        if (tab)
            *tab = 0;
        unescape(field);
        fields[count++] = field;
        field = tab ? tab + 1 : NULL;
    }
    job->expression = fields[0];
    job->sets = ARENA_ARRAY(&job->arena, Set, SETS_MAX);
    for (int i = 1; i < count;) {
        if (!strcmp(fields[i], "|")) {
            if (job->set_count++ == SETS_MAX)
                return fail(job, "too many data sets");
            i++;
        } else if (i + 1 >= count || !add_field(job, fields[i], fields[i + 1])) {
            return fail(job, "an option without a value");
        } else {
            i += 2;
        }
    }
    return job->set_count > 0 || fail(job, "no data set");
}

/* ---- memory ---- */

/* `at_end`: the bytes end where the page without access begins; else they begin where one ends. */
static char *guard(Job *job, size_t bytes, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page + page;
    Guarded *g = &job->guarded[job->guarded_count++];
    g->page = page;
    g->map_bytes = inside + 2 * page;
    g->map = mmap(NULL, g->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->map == MAP_FAILED || mprotect(g->map + page, inside, PROT_READ | PROT_WRITE))
        abort();
    memset(g->map + page, POISON, inside);
    g->size = bytes;
    return g->bytes = at_end ? g->map + page + inside - bytes : g->map + page;
}

static void release(Job *job)
{
    for (int i = 0; i < job->guarded_count; i++)
        munmap(job->guarded[i].map, job->guarded[i].map_bytes);
    job->guarded_count = 0;
}

/* Strides of some layout for the shape, and how many elements it reaches below and above the first. */
static void choose_strides(Job *job, Array *array, bool output, int64_t *below, int64_t *above)
{
    int order[RANK_MAX], rank = array->rank, kind = pick(job, 6);
    for (int a = 0; a < rank; a++)
        order[a] = kind == 0 ? a : rank - 1 - a;                 /* Fortran's order, or C's */
    for (int a = rank - 1; a > 0 && kind >= 3; a--) {
        int b = pick(job, a + 1), swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    int64_t stride = 1;
    *below = *above = 0;
    for (int k = 0; k < rank; k++) {
        int a = order[k];
        int64_t size = array->shape[a], extent = size > 0 ? size : 1;
        bool gap = kind >= 4 && pick(job, 3) == 0, negative = kind >= 4 && pick(job, 3) == 0;
        stride *= gap ? 2 : 1;
        bool zero = kind == 5 && !output && pick(job, 4) == 0;
        array->stride[a] = zero ? 0 : negative ? -stride : stride;
        *(negative ? below : above) += zero ? 0 : stride * (extent - 1);
        stride *= extent;
    }
}

/* A copy of an array, laid out anew between pages without access. */
static Array lay_out(Job *job, const Array *from, bool output)
{
    Array array = *from;
    int64_t below, above;
    size_t size = dtype_size(from->dtype);
    bool empty = array_count(from) == 0, shifted = pick(job, 4) == 0;
    choose_strides(job, &array, output, &below, &above);
    size_t bytes = empty ? 0 : (size_t)(below + above + 1) * size;
    char *memory = guard(job, bytes, !shifted);
    array.data = memory + (size_t)below * size;
    if (shifted && bytes) {      /* one byte further, where nothing is aligned */
        array.data = (char *)array.data + 1;
        job->guarded[job->guarded_count - 1].bytes++;
    }
    int64_t position[RANK_MAX] = { 0 };
    for (bool more = !empty && from->data; more; more = array_next(from, position))
        memcpy(array_at(&array, position), array_at(from, position), size);
    return array;
}

/* Whether what lies between an output's elements is as it was. */
static bool gaps_are_clean(Job *job, const Array *array, const Guarded *g)
{
    unsigned char *marks = arena_alloc(&job->arena, g->size + 1);
    int64_t position[RANK_MAX] = { 0 };
    for (bool more = array_count(array) > 0; more; more = array_next(array, position))
        memset(marks + ((char *)array_at(array, position) - g->bytes), 1, dtype_size(array->dtype));
    for (size_t i = 0; i < g->size; i++)
        if (!marks[i] && (unsigned char)g->bytes[i] != POISON)
            return fail(job, "wrote %zu bytes behind the beginning of an output, between its elements", i);
    return true;
}

static DLTensor as_tensor(Array *array)
{
    DLTensor tensor = einc_tensor(array->data, dtype_name(array->dtype), array->rank, array->shape);
    tensor.strides = array->stride;
    return tensor;
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
            return fail(job, "operand %d has no file", i + 1);
        run->inputs[i] = lay_out(job, file, false);
        shapes[program->inputs[i]->id] = run->inputs[i].shape;
    }
    for (int t = 0; t < program->tensor_count; t++) {
        const Array *file = program->tensors[t]->from_caller ? file_of(set, program, program->tensors[t]) : NULL;
        if (file)
            shapes[t] = file->shape;
    }
    run->extents = extents_infer(&job->arena, program, shapes, set->extents, set->extent_count, &diags);
    if (run->extents && !extents_require(run->extents, &diags))
        return fail(job, "%s", diags.first->message);
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
        run->outputs[o] = lay_out(job, &run->before[o], true);
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
 * which may be read in place; not that for the parts of a split reduction, which may come out fewer. */
static bool uses_all(const Run *run)
{
    const Plan *plan = run->compiled->plan;
    bool all = !plan_has_contract(plan);
    for (int i = 0; i < run->compiled->program->index_count; i++)
        all &= run->extents->of[i] != 0;
    for (int s = 0; s < plan->step_count; s++)
        all &= plan->steps[s]->split == NULL;
    return all;
}

/* Whether one worker wrote to all of the workspace that the plan asked for, up to the alignment of its last array. */
static bool used_workspace(Job *job, const Run *run)
{
    const Guarded *g = &job->guarded[job->guarded_count - 1];
    size_t used = g->size;
    if (!uses_all(run))
        return true;
    while (used > 0 && (unsigned char)g->bytes[used - 1] == POISON)
        used--;
    job->planned_pages += (long)((g->size + g->page - 1) / g->page);
    job->touched_pages += (long)((used + g->page - 1) / g->page);
    return g->size - used < ALIGNMENT ||
           fail(job, "the plan has %zu bytes of workspace, but %zu were used", g->size, used);
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
        options.workspace = guard(job, (size_t)bytes, true);
        options.workspace_bytes = (size_t)bytes;
    }
    allocations = 0;
    kernel_base = object_base(*(void **)&kernel->variants->object->kernel);
    int status = einc_call(kernel, inputs, compiled->program->input_count, outputs, compiled->output_count, &options);
    kernel_base = NULL;
    if (run->extents && status == EINC_OK && workers == 1 && !used_workspace(job, run))
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

static bool compare_output(Job *job, Evaluator *e, const Run *run, int o, bool *missed)
{
    const Output *output = output_of(run->compiled->outputs[o]);
    const Array *array = &run->outputs[o];
    int64_t position[RANK_MAX] = { 0 };
    for (bool more = array_count(array) > 0; more; more = array_next(array, position)) {
        bool failed = false;
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
        return fail(job, "output %d at [%s] is %s, but must be %.17g%+.17gi or %lld, bound %g", o + 1,
                    spell_position(job, position, array->rank), spell(job, array->dtype, element), v.re, v.im,
                    (long long)v.integer, v.bound);
    }
    return gaps_are_clean(job, array, run->kept[o]);
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
    return evaluator_new(program, run->extents, arrays);
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
        good = fail(job, "the kernel failed with %d: %s", status, error);
    } else {
        for (int o = 0; o < run->compiled->output_count && good; o++)
            good = compare_output(job, e, run, o, &missed);
        if (good && missed)
            good = fail(job, "the kernel did not notice a read out of range: %s", evaluator_error(e));
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
            good = fail(job, "the kernel takes shapes that the front end refuses");
        job->refused++;
    } else if (good) {
        int status = call(job, kernel, &run, workers);
        good = compare(job, &run, status, einc_error(context));
        if (good && allocations && !status)
            good = fail(job, "the kernel took memory %d times", (int)allocations);
    }
    release(job);
    return good;
}

/* ---- one job ---- */

/* The result alone, or with it some of the named statements. */
static void choose_outputs(Job *job, const Program *program, CompileOptions *options)
{
    const char **names = ARENA_ARRAY(&job->arena, const char *, program->tensor_count + 1);
    int count = 0;
    names[count++] = "";
    bool more = pick(job, 3) == 0;
    for (int t = 0; t < program->tensor_count; t++) {
        const Tensor *tensor = program->tensors[t];
        bool listed = false;
        for (int i = 0; i < count && tensor->name; i++)
            listed |= !strcmp(names[i], tensor->name);
        if (tensor->maker && tensor->name && !listed && ((more && pick(job, 2)) || tensor->from_caller))
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
            return fail(job, "with --memory %lld: %s", (long long)options.memory, einc_error(context));
        Run run = { .compiled = kernel->variants->compiled };
        set_given(kernel, &job->sets[0]);
        bool good = prepare(job, &run, &job->sets[0]);
        if (good && run.extents) {
            int status = call(job, kernel, &run, 1);
            if (less && status != EINC_BUDGET)
                good = fail(job, "a budget of %lld is one byte too small, but the call gives %d",
                            (long long)options.memory, status);
            else if (!less)
                good = compare(job, &run, status, einc_error(context));
        }
        release(job);
        einc_kernel_free(kernel);
        if (!good)
            return false;
    }
    return true;
}

static bool run_job(Job *job, einc_context *context, char *line, const char **refusal)
{
    if (!read_job(job, line))
        return false;
    Source source = { "expr", job->expression, strlen(job->expression) };
    CompileOptions options = { .name = "fuzzed" };
    options.target = context_target(context, job->target);
    if (!options.target) {
        *refusal = einc_error(context);
        return true;
    }
    options.nests = job->nests;
    Set *first = &job->sets[0];
    options.check = (CheckOptions){ first->operands, first->operand_count, first->extents, first->extent_count };
    if (pick(job, 3) == 0) {      /* without hints, as ahead of time */
        OperandSpec *bare = ARENA_ARRAY(&job->arena, OperandSpec, first->operand_count);
        memcpy(bare, first->operands, (size_t)first->operand_count * sizeof *bare);
        for (int i = 0; i < first->operand_count; i++)
            bare[i].shape = NULL;
        options.check.operands = bare;
    }
    Compiled *front = build_front(context, &job->arena, &source, &options);
    if (!front) {
        *refusal = einc_error(context);
        return true;
    }
    choose_outputs(job, front->program, &options);
    einc_kernel *kernel = kernel_make(context, &source, &options);
    if (!kernel)
        return fail(job, "%s", einc_error(context));
    bool good = true;
    for (int s = 0; s < job->set_count && good; s++)
        good = run_set(job, context, kernel, &job->sets[s], 1 + s % 2);
    if (good)
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
