/* The rest of einc.h: kernels made, asked and freed. */
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

static void kernel_free(einc_kernel *kernel)
{
    einc_context *context = kernel->context;
    for (Variant *v = kernel->variants; v; v = v->next)
        object_release(context, v->object);
    for (Prepared *p = kernel->prepared, *next; p; p = next) {
        next = p->next;
        call_forget_prepared(p);
    }
    arena_free(&kernel->arena);
    pthread_mutex_destroy(&kernel->lock);
    context_free(context, kernel);
}

static const char *keep_text(Arena *arena, const char *text)
{
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

static ExtentSpec *keep_extents(Arena *arena, const ExtentSpec *list, int count)
{
    ExtentSpec *copy = ARENA_ARRAY(arena, ExtentSpec, count);
    for (int i = 0; i < count; i++)
        copy[i] = (ExtentSpec){ .name = keep_text(arena, list[i].name), .extent = list[i].extent };
    return copy;
}

/* An extent that is given holds for what is known when compiling; operands of calls may have another, but of a constant. */
static void keep_hints(einc_kernel *kernel, const CompileOptions *options)
{
    ExtentSpec *extents = keep_extents(&kernel->arena, options->check.extents, options->check.extent_count);
    for (int i = 0; i < options->check.extent_count; i++) {
        extents[i].is_hint = true;
        for (int s = 0; s < options->static_count; s++)
            extents[i].is_hint &= strcmp(options->statics[s].name, extents[i].name) != 0;
    }
    kernel->options.check.extents = extents;
}

/* What is known of the operands, for the plans of other devices; those for other strides bring their own. */
static void keep_operands(einc_kernel *kernel, const CompileOptions *options)
{
    Arena *arena = &kernel->arena;
    int count = options->check.operand_count;
    OperandSpec *operands = ARENA_ARRAY(arena, OperandSpec, count);
    const int64_t **strides = ARENA_ARRAY(arena, const int64_t *, count);
    for (int i = 0; i < count; i++) {
        const OperandSpec *from = &options->check.operands[i];
        size_t bytes = from->rank > 0 ? (size_t)from->rank * sizeof *from->shape : 0;
        operands[i] = *from;
        operands[i].name = keep_text(arena, from->name);
        operands[i].shape = bytes && from->shape ? memcpy(arena_alloc(arena, bytes), from->shape, bytes) : NULL;
        if (bytes && options->strides && options->strides[i])
            strides[i] = memcpy(arena_alloc(arena, bytes), options->strides[i], bytes);
    }
    kernel->options.check.operands = operands;
    kernel->options.strides = strides;
}

/* What later variants of the kernel are compiled with. */
static void keep_options(einc_kernel *kernel, const CompileOptions *options)
{
    Arena *arena = &kernel->arena;
    const char **outputs = ARENA_ARRAY(arena, const char *, options->output_count);
    for (int i = 0; i < options->output_count; i++)
        outputs[i] = keep_text(arena, options->outputs[i]);
    kernel->options = *options;
    kernel->options.outputs = outputs;
    keep_operands(kernel, options);
    keep_hints(kernel, options);
    kernel->options.statics = keep_extents(arena, options->statics, options->static_count);
    kernel->options.name = keep_text(arena, options->name);
    kernel->options.command = keep_text(arena, options->command);
    kernel->options.dump = NULL;
}

/* Whether the plan was made without some extent. */
static bool is_open(const Compiled *compiled)
{
    bool open = false;
    for (int i = 0; i < compiled->program->index_count; i++)
        open |= compiled->extents->of[i] < 0;
    return open;
}

static bool guesses_order(const Compiled *compiled)
{
    bool guesses = false;
    for (int p = 0; compiled->order && p < compiled->order->path_count; p++)
        guesses |= compiled->order->paths[p].guessed;
    return guesses;
}

static bool make_first_variant(einc_kernel *kernel, const CompileOptions *options)
{
    keep_options(kernel, options);
    CompileOptions kept = kernel->options;
    kept.check.extents = options->check.extents;
    kept.dump = options->dump;
    Variant *variant = ARENA_NEW(&kernel->arena, Variant);
    variant->compiled = build_plan(kernel->context, &kernel->arena, &kernel->source, &kept);
    if (!variant->compiled)
        return false;
    kernel_lay_out(kernel, variant->compiled);
    variant_find_units(kernel, variant);
    variant->object = object_get(kernel, variant, &kept);
    kernel->open = is_open(variant->compiled);
    kernel->guesses = guesses_order(variant->compiled);
    kernel->variants = variant;
    kernel->variant_count = 1;
    return variant->object != NULL;
}

einc_kernel *kernel_make(einc_context *context, const Source *source, const CompileOptions *options)
{
    einc_kernel *kernel = context_alloc(context, sizeof *kernel, _Alignof(max_align_t));
    if (!kernel) {
        context_fail(context, EINC_FAILED, "error: out of memory");
        return NULL;
    }
    memset(kernel, 0, sizeof *kernel);
    kernel->context = context;
    pthread_mutex_init(&kernel->lock, NULL);
    jmp_buf full;
    kernel->arena = context_arena(context, &full);
    if (setjmp(full)) {
        context_fail(context, EINC_FAILED, "error: out of memory");
        kernel_free(kernel);
        return NULL;
    }
    kernel->source = (Source){ keep_text(&kernel->arena, source->name),
                               arena_copy(&kernel->arena, source->text, source->length), source->length };
    bool made = make_first_variant(kernel, options);
    kernel->arena.failed = NULL;
    if (made)
        return kernel;
    kernel_free(kernel);
    return NULL;
}

static bool check_target(einc_context *context, CompileOptions *options, bool each_device)
{
    const Target *target = options->target;
    if (target->grid) {
        bool open = cuda_open(context) == EINC_OK;
        if (open && each_device)
            options->target = cuda_target(context, CUDA_HOST);
        return open;
    }
    if (target_runs_here(target))
        return true;
    context_fail(context, EINC_NO_COMPILER, "error: this CPU cannot run kernels for '%s': it lacks some of %s", target->name,
                 target->cpu);
    return false;
}

static int check_expression(einc_context *context, const char *expression)
{
    return expression ? EINC_OK : context_fail(context, EINC_USAGE, "error: the expression is NULL");
}

einc_kernel *einc_compile(einc_context *context, const char *expression, const einc_options *given)
{
    if (!context || check_expression(context, expression))
        return NULL;
    jmp_buf full;
    Arena arena = context_arena(context, &full);
    CompileOptions options;
    einc_kernel *volatile kernel = NULL;
    Source source = { "expr", expression, strlen(expression) };
    bool each_device = given && given->target && !strcmp(given->target, "cuda");
    if (setjmp(full))
        context_fail(context, EINC_FAILED, "error: out of memory");
    else if (!read_options(context, &arena, given, &options) && check_target(context, &options, each_device))
        kernel = kernel_make(context, &source, &options);
    if (kernel)
        kernel->each_device = each_device;
    arena_free(&arena);
    return kernel;
}

void einc_kernel_free(einc_kernel *kernel)
{
    if (kernel)
        kernel_free(kernel);
}

/* ---- questions ---- */

int einc_input_count(const einc_kernel *kernel) { return kernel ? kernel->variants->compiled->program->input_count : 0; }
int einc_output_count(const einc_kernel *kernel) { return kernel ? kernel->variants->compiled->output_count : 0; }

static const Tensor *input_of(const einc_kernel *kernel, int i)
{
    return i >= 0 && i < einc_input_count(kernel) ? kernel->variants->compiled->program->inputs[i] : NULL;
}

static const Tensor *output_of(const einc_kernel *kernel, int i)
{
    return i >= 0 && i < einc_output_count(kernel) ? kernel->variants->compiled->outputs[i] : NULL;
}

static const char *name_of(const Tensor *tensor)
{
    return tensor && tensor->name ? tensor->name : "";
}

const char *einc_input_name(const einc_kernel *kernel, int i) { return name_of(input_of(kernel, i)); }
const char *einc_output_name(const einc_kernel *kernel, int i) { return name_of(output_of(kernel, i)); }

const char *einc_input_dtype(const einc_kernel *kernel, int i)
{
    const Tensor *tensor = input_of(kernel, i);
    return tensor ? dtype_name(tensor->dtype) : "";
}

const char *einc_output_dtype(const einc_kernel *kernel, int i)
{
    const Tensor *tensor = output_of(kernel, i);
    return tensor ? dtype_name(tensor->dtype) : "";
}

int einc_input_rank(const einc_kernel *kernel, int i)
{
    const Tensor *tensor = input_of(kernel, i);
    return tensor ? tensor->rank : -1;
}

int einc_output_rank(const einc_kernel *kernel, int i)
{
    const Tensor *tensor = output_of(kernel, i);
    return tensor ? tensor->rank : -1;
}

const char *einc_version(void) { return EINC_VERSION; }
int einc_abi(void) { return EINC_ABI; }

/* ---- texts, made when they are asked for ---- */

static const EmittedUnit *unit_of(einc_kernel *kernel)
{
    if (!kernel)
        return NULL;
    pthread_mutex_lock(&kernel->lock);
    const EmittedUnit *unit = build_whole(kernel, kernel->variants);
    pthread_mutex_unlock(&kernel->lock);
    return unit;
}

const char *einc_source(const einc_kernel *kernel)
{
    const EmittedUnit *unit = unit_of((einc_kernel *)kernel);
    return unit ? unit->source : NULL;
}

const char *einc_header(const einc_kernel *kernel)
{
    const EmittedUnit *unit = unit_of((einc_kernel *)kernel);
    return unit ? unit->header : NULL;
}

const char *einc_explain(const einc_kernel *constant)
{
    einc_kernel *kernel = (einc_kernel *)constant;
    jmp_buf full;
    if (!kernel)
        return NULL;
    pthread_mutex_lock(&kernel->lock);
    kernel->arena.failed = &full;
    if (setjmp(full))
        context_fail(kernel->context, EINC_FAILED, "error: out of memory");
    else if (!kernel->explanation)
        kernel->explanation = kernel_explain(&kernel->arena, variant_first(kernel->variants)->compiled, false);
    kernel->arena.failed = NULL;
    pthread_mutex_unlock(&kernel->lock);
    return kernel->explanation;
}

/* ---- text without a compiler ---- */

/* Into *copy, where one is wanted. */
static bool copy_text(einc_context *context, const char *text, char **copy)
{
    size_t bytes = strlen(text) + 1;
    if (copy && (*copy = context_alloc(context, bytes, 1)))
        memcpy(*copy, text, bytes);
    return !copy || *copy;
}

static int generate(einc_context *context, Arena *arena, const char *expression, const einc_options *given, char **source, char **header)
{
    CompileOptions options;
    Source text = { "expr", expression, strlen(expression) };
    int status = read_options(context, arena, given, &options);
    const Compiled *compiled = status ? NULL : build_compile(context, arena, &text, &options);
    if (!compiled)
        return status ? status : context_status(context);
    if (copy_text(context, compiled->unit->source, source) && copy_text(context, compiled->unit->header, header))
        return EINC_OK;
    if (source && *source)
        einc_text_free(context, *source), *source = NULL;
    return context_fail(context, EINC_FAILED, "error: out of memory");
}

int einc_generate(einc_context *context, const char *expression, const einc_options *given, char **source, char **header)
{
    if (source)
        *source = NULL;
    if (header)
        *header = NULL;
    int status = context ? check_expression(context, expression) : EINC_USAGE;
    if (status)
        return status;
    jmp_buf full;
    Arena arena = context_arena(context, &full);
    status = setjmp(full) ? context_fail(context, EINC_FAILED, "error: out of memory")
                          : generate(context, &arena, expression, given, source, header);
    arena_free(&arena);
    return status;
}

void einc_text_free(einc_context *context, char *text)
{
    if (context)
        context_free(context, text);
}
