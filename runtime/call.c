/* Calls: the args struct filled in from tensors, the workspace, the threads, and what to say when a kernel says no. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calling.h"

enum { STACK_WORDS = 256, WORKSPACE_ALIGN = 64 };

/* ---- the args struct ---- */

/* Members are words of 8 bytes: of a tensor the data, the shape and the strides, of which there is one at least. */
static size_t slot_words(const Slot *slot)
{
    return slot->kind == SLOT_EXTENT ? 1 : 1 + 2 * (size_t)(slot->rank ? slot->rank : 1);
}

static int64_t option_extent(const einc_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->options.check.extent_count; i++)
        if (!strcmp(kernel->options.check.extents[i].name, name))
            return kernel->options.check.extents[i].extent;
    return -1;
}

static int place_of_output(const Compiled *compiled, const Tensor *tensor)
{
    for (int o = 0; o < compiled->output_count; o++)
        if (compiled->outputs[o] == tensor)
            return o;
    return -1;
}

void kernel_lay_out(einc_kernel *kernel, const Compiled *compiled)
{
    const EmittedUnit *unit = compiled->unit;
    kernel->slots = ARENA_ARRAY(&kernel->arena, Slot, unit->argument_count);
    kernel->slot_count = unit->argument_count;
    for (int i = 0; i < unit->argument_count; i++) {
        const Argument *argument = &unit->arguments[i];
        Slot *slot = &kernel->slots[i];
        slot->at = kernel->args_words;
        if (argument->extent) {
            slot->kind = SLOT_EXTENT;
            slot->extent = option_extent(kernel, argument->extent->name);
            slot->name = argument->extent->name;
        } else {
            slot->kind = argument->shape_only ? SLOT_SHAPE : argument->is_output ? SLOT_OUTPUT : SLOT_INPUT;
            slot->which = slot->kind == SLOT_OUTPUT ? place_of_output(compiled, argument->tensor)
                          : slot->kind == SLOT_INPUT ? argument->tensor->input : argument->tensor->id;
            slot->rank = argument->tensor->rank;
            slot->dtype = argument->tensor->dtype;
            slot->name = argument->tensor->name;
        }
        kernel->args_words += slot_words(slot);
    }
}

int call_fail_tensor(const einc_kernel *kernel, const Slot *slot, const char *wrong)
{
    const char *kind = slot->kind == SLOT_OUTPUT ? "output" : "operand";
    if (slot->name)
        return context_fail(kernel->context, EINC_EXPRESSION, "error: %s '%s' %s", kind, slot->name, wrong);
    return context_fail(kernel->context, EINC_EXPRESSION, "error: %s %d %s", kind, slot->which + 1, wrong);
}

static int check_tensor(const einc_kernel *kernel, const Slot *slot, const DLTensor *tensor, Array *array)
{
    char text[80];
    const char *wrong = tensor_read(array, tensor);
    if (!wrong && array->dtype != slot->dtype) {
        snprintf(text, sizeof text, "is %s, but the kernel was compiled for %s", dtype_name(array->dtype), dtype_name(slot->dtype));
        wrong = text;
    } else if (!wrong && array->rank != slot->rank) {
        snprintf(text, sizeof text, "has rank %d, but the expression gives it %d", array->rank, slot->rank);
        wrong = text;
    }
    return wrong ? call_fail_tensor(kernel, slot, wrong) : EINC_OK;
}

/* What is written has a place of its own for each element, but in an array of none. */
static bool writes_twice(const Array *array)
{
    bool twice = false;
    for (int a = 0; a < array->rank; a++) {
        if (!array->shape[a])
            return false;
        twice |= array->shape[a] > 1 && !array->stride[a];
    }
    return twice;
}

static int fill_tensor(const einc_kernel *kernel, const Slot *slot, const DLTensor *tensor, uint64_t *words)
{
    Array array;
    int status = check_tensor(kernel, slot, tensor, &array);
    if (status)
        return status;
    if (!array.data && array_count(&array))
        return call_fail_tensor(kernel, slot, "has no data");
    if (slot->kind == SLOT_OUTPUT && writes_twice(&array))
        return call_fail_tensor(kernel, slot, "has a stride of 0: its elements would overlap");
    size_t rank = (size_t)array.rank, room = rank ? rank : 1;
    words[slot->at] = (uint64_t)(uintptr_t)array.data;
    memcpy(words + slot->at + 1, array.shape, rank * sizeof *words);
    memcpy(words + slot->at + 1 + room, array.stride, rank * sizeof *words);
    return EINC_OK;
}

/* ---- slow answers: extents as the compiler sees them ---- */

Extents *call_infer(const einc_kernel *kernel, Arena *arena, const DLTensor *const *inputs, DLTensor *const *outputs,
                    bool require)
{
    const Compiled *compiled = kernel->variants->compiled;
    const Program *program = compiled->program;
    const int64_t **shapes = ARENA_ARRAY(arena, const int64_t *, program->tensor_count);
    for (int i = 0; i < program->input_count; i++)
        shapes[program->inputs[i]->id] = inputs[i]->shape;
    for (int o = 0; o < compiled->output_count && outputs; o++)
        for (const Tensor *t = compiled->outputs[o]; t; t = t->previous)
            if (t->from_caller)
                shapes[t->id] = outputs[o]->shape;
    Diags diags = { .arena = arena, .source = &kernel->source };
    Extents *extents = extents_infer(arena, program, shapes, kernel->options.check.extents, kernel->options.check.extent_count,
                                     &diags);
    if (extents && require)
        extents_require(extents, &diags);
    if (diags.errors) {
        context_report(kernel->context, EINC_EXPRESSION, &diags);
        return NULL;
    }
    return extents;
}

static int check_count(const einc_kernel *kernel, const char *what, const void *list, int count, int wanted)
{
    if (count != wanted)
        return context_fail(kernel->context, EINC_EXPRESSION, "error: the kernel has %d %s%s, but %d were given", wanted, what,
                            wanted == 1 ? "" : "s", count);
    return list || !wanted ? EINC_OK : context_fail(kernel->context, EINC_USAGE, "error: the list of %ss is NULL", what);
}

static int check_operands(const einc_kernel *kernel, const DLTensor *const *inputs, int input_count)
{
    int status = check_count(kernel, "operand", inputs, input_count, kernel->variants->compiled->program->input_count);
    Array array;
    for (int i = 0; i < kernel->slot_count && !status; i++)
        if (kernel->slots[i].kind == SLOT_INPUT)
            status = check_tensor(kernel, &kernel->slots[i], inputs[kernel->slots[i].which], &array);
    return status;
}

/* ---- what a kernel's refusal means ---- */

int call_explain_range(const einc_kernel *kernel, int status)
{
    const Program *program = kernel->variants->compiled->program;
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(kernel->context, EINC_EXPRESSION, "error: a position is out of range");
    }
    Diags diags = { .arena = &arena, .source = &kernel->source };
    const Term *read = emit_culprit(program, status);
    int written = -16 - status - program->term_count;
    if (read) {
        diag_error(&diags, read->span, "%s was read out of range", tensor_words(&arena, read->read.tensor));
        diag_hint(&diags, "a position comes from the data here, or is not inside a 'where'; '--check' says which one");
    } else if (written >= 0 && written < kernel->variants->compiled->lowered->tensor_count) {
        const Tensor *target = kernel->variants->compiled->lowered->tensors[written];
        diag_error(&diags, target->span, "'%s' was written out of range", target->label);
    } else {
        diag_error_nowhere(&diags, "a position was out of range");
    }
    int result = context_report(kernel->context, EINC_EXPRESSION, &diags);
    arena_free(&arena);
    return result;
}

static int explain_shapes(const einc_kernel *kernel, const DLTensor *const *inputs, DLTensor *const *outputs)
{
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    int result = EINC_EXPRESSION;
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    const Compiled *compiled = kernel->variants->compiled;
    Extents *extents = call_infer(kernel, &arena, inputs, outputs, true);
    for (int o = 0; extents && o < compiled->output_count; o++)
        for (int a = 0; a < compiled->outputs[o]->rank; a++) {
            int64_t want = extents->shape[compiled->outputs[o]->id][a], have = outputs[o]->shape[a];
            if (want == have)
                continue;
            context_fail(kernel->context, EINC_EXPRESSION, "error: axis %d of output %d has %lld, but must have %lld", a, o + 1,
                         (long long)have, (long long)want);
            arena_free(&arena);
            return result;
        }
    if (extents)
        context_fail(kernel->context, EINC_EXPRESSION, "error: the shapes do not fit the kernel");
    arena_free(&arena);
    return result;
}

/* ---- threads and progress ---- */

typedef struct Call {
    einc_host host;               /* what the kernel sees: its user is this */
    einc_context *context;
    Pool *pool;
    int workers;
    const einc_call_options *options;
    int launch, launches;
    int64_t tasks;
    int refusal;                  /* what the host's parallel_for gave, if that was no 0 */
    _Atomic int64_t finished;
    _Atomic int64_t told;         /* milliseconds: when progress was last told */
    void (*task)(void *argument, int64_t index, int worker);
    void *argument;
} Call;

/* What workers share out among themselves, where the host's threads may be more than the call's workers. */
typedef struct Share {
    int64_t tasks;
    _Atomic int64_t next;
    void (*task)(void *argument, int64_t index, int worker);
    void *argument;
} Share;

/* One for each worker: its number is the worker's. */
static void shared_task(void *argument, int64_t index, int worker)
{
    Share *share = argument;
    (void)worker;
    for (int64_t i; (i = share->next++) < share->tasks;)
        share->task(share->argument, i, (int)index);
}

static int64_t milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void tell_progress(Call *call)
{
    int64_t now = milliseconds(), before = call->told;
    if (now - before < 50 || !__atomic_compare_exchange_n((int64_t *)&call->told, &before, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    double part = call->tasks ? (double)call->finished / (double)call->tasks : 1;
    call->options->progress(call->options->user, (call->launch - 1 + part) / call->launches);
}

static void counted_task(void *argument, int64_t index, int worker)
{
    Call *call = argument;
    call->task(call->argument, index, worker);
    call->finished++;
    tell_progress(call);
}

/* On the host's threads. A number of the host's must not be taken for one of the kernel's. */
static int run_by_host(Call *call, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument)
{
    const einc_host *host = &call->context->host;
    if (call->workers < host->workers) {
        Share share = { .tasks = tasks, .task = task, .argument = argument };
        call->refusal = host->parallel_for(host->user, call->workers, shared_task, &share);
    } else {
        call->refusal = host->parallel_for(host->user, tasks, task, argument);
    }
    return call->refusal ? EINC_FAILED : EINC_OK;
}

static int call_parallel_for(void *user, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument)
{
    Call *call = user;
    if (call->options && call->options->progress) {
        call->launch++;
        call->tasks = tasks;
        call->finished = 0;
        call->task = task;
        call->argument = argument;
        task = counted_task;
        argument = call;
    }
    if (call->context->host.parallel_for && call->workers > 1)
        return run_by_host(call, tasks, task, argument);
    if (call->pool)
        return pool_run(call->pool, call->workers, tasks, task, argument);
    for (int64_t i = 0; i < tasks; i++)
        task(argument, i, 0);
    return 0;
}

static int call_cancelled(void *user)
{
    const Call *call = user;
    return call->context->host.cancelled(call->context->host.user);
}

/* ---- workspace ---- */

static int need_workspace(const einc_kernel *kernel, const Variant *variant, const void *args, int workers, size_t *bytes)
{
    *bytes = 0;
    if (size_is_constant(variant->compiled->plan->workspace, 0))
        return 0;
    int status = variant->object->workspace(args, workers, bytes);
    return status != -EINC_BUDGET ? status
           : context_fail(kernel->context, EINC_EXPRESSION, "error: the kernel needs a workspace of more than 2^63 bytes");
}

/* As many workers as the budget allows. EINC_BUDGET when it does not allow one. */
static int fit_budget(const einc_kernel *kernel, const Variant *variant, const void *args, int *workers, size_t *bytes)
{
    uint64_t budget = (uint64_t)kernel->options.memory;
    for (;; *workers -= (*workers + 7) / 8) {
        int status = need_workspace(kernel, variant, args, *workers, bytes);
        if (status || !budget || *bytes <= budget)
            return status;
        if (*workers == 1)
            return EINC_BUDGET;
    }
}

/* The variant, the workers and the workspace of a call. The first variant serves where another wants more memory than
 * there is: einc_workspace() speaks of the first. */
static int fit_memory(const einc_kernel *kernel, const Variant **variant, const void *args, const einc_call_options *options,
                      int *workers, size_t *bytes)
{
    bool given = options && options->workspace;
    int most = *workers;
    for (;; *variant = variant_first(*variant), *workers = most) {
        int status = fit_budget(kernel, *variant, args, workers, bytes);
        bool fits = status == EINC_OK && (!given || *bytes <= options->workspace_bytes);
        if (fits || (status && status != EINC_BUDGET))
            return status;
        if ((*variant)->next)
            continue;
        if (status)
            return context_fail(kernel->context, EINC_BUDGET, "error: the kernel needs %zu bytes of workspace, but the budget is "
                                "%lld\nhint: the smallest budget for these shapes is %zu bytes", *bytes,
                                (long long)kernel->options.memory, *bytes);
        return context_fail(kernel->context, EINC_BUDGET, "error: the workspace has %zu bytes, but the kernel needs %zu",
                            options->workspace_bytes, *bytes);
    }
}

/* ---- calls ---- */

static int launch(einc_kernel *kernel, const Variant *variant, const uint64_t *words, const einc_call_options *options)
{
    einc_context *context = kernel->context;
    Call call = { .context = context, .options = options };
    call.pool = context_pool(context);
    call.workers = call.pool ? pool_workers(call.pool) : context_workers(context);
    if (options && options->workers > 0 && options->workers < call.workers)
        call.workers = options->workers;
    bool counts = options && options->progress;
    call.told = counts ? milliseconds() : 0;
    size_t bytes;
    int status = fit_memory(kernel, &variant, words, options, &call.workers, &bytes);
    if (status)
        return status;
    call.launches = variant->compiled->plan->launch_count;
    void *workspace = options && options->workspace ? options->workspace : NULL, *own = NULL;
    if (bytes && !workspace) {
        workspace = own = context_alloc(context, bytes, WORKSPACE_ALIGN);
        if (!own)
            return context_fail(context, EINC_FAILED, "error: no memory for a workspace of %zu bytes", bytes);
    }
    call.host = (einc_host){ .workers = call.workers, .user = &call };
    call.host.parallel_for = call_parallel_for;
    call.host.cancelled = context->host.cancelled ? call_cancelled : NULL;
    status = variant->object->kernel(words, workspace, bytes, &call.host);
    context_free(context, own);
    if (status == EINC_FAILED && call.refusal)
        return context_fail(context, EINC_FAILED, "error: the host's parallel_for gave %d", call.refusal);
    return status;
}

static int fill_args(einc_kernel *kernel, uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs)
{
    for (int i = 0; i < kernel->slot_count; i++) {
        const Slot *slot = &kernel->slots[i];
        int status = EINC_OK;
        switch (slot->kind) {
        case SLOT_INPUT: status = fill_tensor(kernel, slot, inputs[slot->which], words); break;
        case SLOT_OUTPUT: status = fill_tensor(kernel, slot, outputs[slot->which], words); break;
        case SLOT_EXTENT:
            words[slot->at] = (uint64_t)slot->extent;
            if (slot->extent < 0)
                status = context_fail(kernel->context, EINC_EXPRESSION, "error: the extent of index '%s' is not known\n"
                                      "hint: give it when compiling, as in '%s=100'", slot->name, slot->name);
            break;
        case SLOT_SHAPE: break;
        }
        if (status)
            return status;
    }
    return EINC_OK;
}

/* The shapes of temporaries that only the compiler's inference knows. */
static int fill_shapes(einc_kernel *kernel, uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs)
{
    bool any = false;
    for (int i = 0; i < kernel->slot_count; i++)
        any |= kernel->slots[i].kind == SLOT_SHAPE;
    if (!any)
        return EINC_OK;
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    Extents *extents = call_infer(kernel, &arena, inputs, outputs, true);
    for (int i = 0; i < kernel->slot_count && extents; i++)
        if (kernel->slots[i].kind == SLOT_SHAPE)
            memcpy(words + kernel->slots[i].at + 1, extents->shape[kernel->slots[i].which],
                   (size_t)kernel->slots[i].rank * sizeof *words);
    arena_free(&arena);
    return extents ? EINC_OK : EINC_EXPRESSION;
}

static int call_with(einc_kernel *kernel, uint64_t *words, const DLTensor *const *inputs, DLTensor *const *outputs,
                     const einc_call_options *options)
{
    int device, status = fill_args(kernel, words, inputs, outputs);
    if (!status)
        status = call_find_device(kernel, words, inputs, outputs, &device);
    if (!status)
        status = fill_shapes(kernel, words, inputs, outputs);
    if (status)
        return status;
    if (call_is_on_grid(kernel))
        status = call_on_grid(kernel, words, inputs, outputs, device, options);
    else
        status = launch(kernel, variant_choose(kernel, words), words, options);
    if (status <= -16)
        return call_explain_range(kernel, status);
    switch (status) {
    case -EINC_USAGE:
    case -EINC_EXPRESSION: return explain_shapes(kernel, inputs, outputs);
    case -EINC_BUDGET: return context_fail(kernel->context, EINC_USAGE, "error: the workspace is not aligned to 64 bytes");
    case -EINC_NO_COMPILER: return context_fail(kernel->context, EINC_NO_COMPILER, "error: the system does not let this process "
                                                "use what kernels for '%s' need", kernel->options.target->name);
    case -EINC_CANCELLED: return context_fail(kernel->context, EINC_CANCELLED, "error: cancelled");
    default: return status;
    }
}

int einc_call(const einc_kernel *constant, const DLTensor *const *inputs, int input_count, DLTensor *const *outputs,
              int output_count, const einc_call_options *options)
{
    einc_kernel *kernel = (einc_kernel *)constant;
    if (!kernel)
        return EINC_USAGE;
    const Compiled *compiled = kernel->variants->compiled;
    uint64_t on_stack[STACK_WORDS], *words = on_stack;
    int status = check_count(kernel, "operand", inputs, input_count, compiled->program->input_count);
    if (!status)
        status = check_count(kernel, "output", outputs, output_count, compiled->output_count);
    if (status)
        return status;
    if (kernel->args_words > STACK_WORDS) {
        words = context_alloc(kernel->context, kernel->args_words * sizeof *words, sizeof *words);
        if (!words)
            return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    status = call_with(kernel, words, inputs, outputs, options);
    if (words != on_stack)
        context_free(kernel->context, words);
    return status;
}

/* ---- questions ---- */

int einc_output_shape(const einc_kernel *kernel, const DLTensor *const *inputs, int input_count, int i, int64_t *shape)
{
    if (!kernel)
        return EINC_USAGE;
    const Compiled *compiled = kernel->variants->compiled;
    if (i < 0 || i >= compiled->output_count)
        return context_fail(kernel->context, EINC_USAGE, "error: there is no output %d: the kernel has %d, counted from 0", i,
                            compiled->output_count);
    if (!shape && compiled->outputs[i]->rank)
        return context_fail(kernel->context, EINC_USAGE, "error: 'shape' is NULL");
    int status = check_operands(kernel, inputs, input_count);
    if (status)
        return status;
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    Extents *extents = call_infer(kernel, &arena, inputs, NULL, false);
    const Tensor *tensor = compiled->outputs[i];
    for (int a = 0; a < tensor->rank && extents; a++)
        shape[a] = extents->shape[tensor->id][a];
    arena_free(&arena);
    return extents ? EINC_OK : EINC_EXPRESSION;
}

/* Whose workspace is asked for, and how many workers it is for where nobody says. NULL after context_fail(). */
static const Variant *variant_of_workspace(einc_kernel *kernel, const DLTensor *const *inputs, int input_count, int *workers)
{
    if (call_is_on_grid(kernel))
        return call_grid_variant(kernel, input_count ? tensor_device(inputs[0]) : TENSOR_HOST, workers);
    *workers = context_workers(kernel->context);
    return variant_first(kernel->variants);
}

int einc_workspace(const einc_kernel *kernel, const DLTensor *const *inputs, int input_count, int workers, size_t *bytes)
{
    if (!kernel)
        return EINC_USAGE;
    if (!bytes)
        return context_fail(kernel->context, EINC_USAGE, "error: 'bytes' is NULL");
    *bytes = 0;
    int busy, status = check_operands(kernel, inputs, input_count);
    const Variant *variant = status ? NULL : variant_of_workspace((einc_kernel *)kernel, inputs, input_count, &busy);
    if (!variant)
        return status ? status : EINC_FAILED;
    jmp_buf full;
    Arena arena = context_arena(kernel->context, &full);
    if (setjmp(full)) {
        arena_free(&arena);
        return context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    }
    Extents *extents = call_infer(kernel, &arena, inputs, NULL, false);
    if (extents) {
        SizeValues values = { extents->of, extents->shape, workers > 0 ? workers : busy };
        int64_t needed = size_evaluate(variant->compiled->plan->workspace, &values);
        if (needed < 0 || needed == SIZE_TOO_LARGE)
            status = context_fail(kernel->context, EINC_EXPRESSION, "error: the workspace's size is not known or too large");
        else
            *bytes = (size_t)needed;
    }
    arena_free(&arena);
    return extents ? status : EINC_EXPRESSION;
}
