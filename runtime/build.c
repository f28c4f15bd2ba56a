/* From an expression and options to a function: the compiler's passes, then the C compiler or the cache. */
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

/* ---- options ---- */

/* NULL, or what is wrong with it. */
static const char *add_extent(Arena *arena, ExtentSpec extent, bool constant, GivenExtents *given)
{
    for (int i = 0; i < given->extent_count; i++)
        if (!strcmp(given->extents[i].name, extent.name) && given->extents[i].extent != extent.extent)
            return arena_format(arena, "index '%s' is given as %lld and as %lld", extent.name,
                                (long long)given->extents[i].extent, (long long)extent.extent);
    ARENA_APPEND(arena, given->extents, given->extent_count, extent);
    if (constant)
        ARENA_APPEND(arena, given->statics, given->static_count, extent);
    return NULL;
}

const char *read_extents(Arena *arena, const char *text, bool constant, GivenExtents *given)
{
    const char *wrong = NULL;
    text += strspn(text, " ");
    do {
        size_t length = strcspn(text, ",");
        const char *piece = arena_copy(arena, text, length), *is = strchr(piece, '=');
        char *end;
        errno = 0;
        long long value = is ? strtoll(is + 1, &end, 10) : -1;
        if (!is || is == piece || end == is + 1 || end[strspn(end, " ")] || value < 0 || errno)
            return arena_format(arena, "'%s' is no extent\nhint: an index and a whole number, as in 'n=30,k=128'", piece);
        while (is > piece + 1 && is[-1] == ' ')
            is--;
        ExtentSpec extent = { .name = arena_copy(arena, piece, (size_t)(is - piece)), .extent = value };
        wrong = add_extent(arena, extent, constant, given);
        text += length + (text[length] == ',');
        text += strspn(text, " ");
    } while (*text && !wrong);
    return wrong;
}

void give_extents(const GivenExtents *given, CompileOptions *options)
{
    options->check.extents = given->extents;
    options->check.extent_count = given->extent_count;
    options->statics = given->statics;
    options->static_count = given->static_count;
}

static int read_examples(einc_context *context, Arena *arena, const einc_options *given, CompileOptions *options)
{
    int count = given->example_count;
    if (count < 0 || (count && !given->examples))
        return context_fail(context, EINC_USAGE, count < 0 ? "error: there cannot be %d examples" : "error: the list of %d examples is NULL",
                            count);
    OperandSpec *operands = ARENA_ARRAY(arena, OperandSpec, count);
    const int64_t **strides = ARENA_ARRAY(arena, const int64_t *, count);
    for (int i = 0; i < count; i++) {
        Array *array = ARENA_NEW(arena, Array);
        const DLTensor *tensor = given->examples[i];
        operands[i] = (OperandSpec){ .dtype = DTYPE_NONE, .rank = -1 };
        const char *name = given->example_names ? given->example_names[i] : NULL;
        operands[i].name = name ? arena_copy(arena, name, strlen(name)) : NULL;
        for (int k = 0; k < i && name; k++)
            if (operands[k].name && !strcmp(operands[k].name, name))
                return context_fail(context, EINC_USAGE, "error: there are two examples of '%s'", name);
        if (!tensor)
            continue;
        const char *wrong = tensor_read(array, tensor);
        if (wrong)
            return context_fail(context, EINC_EXPRESSION, "error: example %d %s", i + 1, wrong);
        operands[i].dtype = array->dtype;
        operands[i].rank = array->rank;
        operands[i].shape = array->shape;
        strides[i] = array->stride;
    }
    options->check.operands = operands;
    options->check.operand_count = count;
    options->strides = strides;
    return EINC_OK;
}

const char *read_outputs(Arena *arena, const char *text, CompileOptions *options)
{
    const char **names = NULL;
    int count = 0;
    for (bool more = text && *text; more; text++) {
        text += strspn(text, " ");
        size_t all = strcspn(text, ","), length = all;
        while (length && text[length - 1] == ' ')
            length--;
        const char *name = arena_copy(arena, text, length);
        if (strchr(name, ' '))
            return arena_format(arena, "'%s' is no name\nhint: between names stands ',', as in 'best,dQ'", name);
        for (int i = 0; i < count; i++)
            if (!strcmp(names[i], name))
                return arena_format(arena, "the output '%s' is asked for twice", name);
        ARENA_APPEND(arena, names, count, name);
        text += all;
        more = *text == ',';
    }
    options->outputs = names;
    options->output_count = count;
    return NULL;
}

static int read_both_extents(einc_context *context, Arena *arena, const einc_options *given, CompileOptions *options)
{
    const char *const texts[] = { given->extents, given->statics };
    GivenExtents extents = { NULL, NULL, 0, 0 };
    for (int i = 0; i < 2; i++) {
        const char *wrong = texts[i] && *texts[i] ? read_extents(arena, texts[i], i == 1, &extents) : NULL;
        if (wrong)
            return context_fail(context, EINC_USAGE, "error: %s", wrong);
    }
    give_extents(&extents, options);
    return EINC_OK;
}

int read_options(einc_context *context, Arena *arena, const einc_options *given, CompileOptions *options)
{
    static const einc_options plain = { 0 };
    if (!given)
        given = &plain;
    memset(options, 0, sizeof *options);
    bool any_gpu = given->target && !strcmp(given->target, "cuda");
    options->target = any_gpu ? &grid_targets[0] : context_target(context, given->target);
    if (!options->target)
        return EINC_USAGE;
    options->name = given->name ? arena_copy(arena, given->name, strlen(given->name)) : "einc_kernel";
    const char *fault = given->name ? emit_name_fault(arena, options->target, given->name) : NULL;
    if (fault)
        return context_fail(context, EINC_USAGE, "error: %s", fault);
    if (given->flags)
        return context_fail(context, EINC_USAGE, given->flags == EINC_FAST_MATH ? "error: there are no faster and less precise functions yet"
                                                                                 : "error: unknown flags 0x%x", given->flags);
    int precision = precision_find(given->precision ? given->precision : "exact");
    if (precision < 0)
        return context_fail(context, EINC_USAGE, "error: there is no precision '%s'\nhint: there are exact, bf16x6, bf16x3 and tf32",
                            given->precision);
    options->precision = (Precision)precision;
    options->memory = given->memory > INT64_MAX ? INT64_MAX : (int64_t)given->memory;
    const char *wrong = read_outputs(arena, given->outputs, options);
    if (wrong)
        return context_fail(context, EINC_USAGE, "error: %s", wrong);
    int status = read_both_extents(context, arena, given, options);
    return status ? status : read_examples(context, arena, given, options);
}

/* ---- the passes ---- */

/* Numbers are read and printed with a '.', whatever the program's locale. */
static locale_t begin_c_locale(locale_t *c)
{
    *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *c ? uselocale(*c) : (locale_t)0;
}

static void end_c_locale(locale_t c, locale_t before)
{
    if (c) {
        uselocale(before);
        freelocale(c);
    }
}

/* What there is to do: the passes over a source, or the text of what they made. */
typedef struct Pass {
    Compiled *(*over)(Arena *, const Source *, const CompileOptions *, Diags *);
    const CompileOptions *options;
    const Compiled *compiled;
} Pass;

/* NULL after a failure was reported. */
static const void *run_pass(einc_context *context, Arena *arena, const Source *source, const Pass *pass)
{
    Diags diags = { .arena = arena, .source = source };
    jmp_buf *outer = arena->failed, full;
    locale_t c, before = begin_c_locale(&c);
    const void *volatile made = NULL;
    arena->failed = &full;
    if (setjmp(full) == 0)
        made = pass->over ? (const void *)pass->over(arena, source, pass->options, &diags) : compile_text(arena, pass->compiled, &diags);
    else
        diags.errors = -1;
    arena->failed = outer;
    end_c_locale(c, before);
    if (diags.errors < 0)
        context_fail(context, EINC_FAILED, "error: out of memory");
    else if (!made)
        context_report(context, EINC_EXPRESSION, &diags);
    return made;
}

Compiled *build_front(einc_context *context, Arena *arena, const Source *source, const CompileOptions *options)
{
    return (Compiled *)run_pass(context, arena, source, &(Pass){ .over = compile_front, .options = options });
}

Compiled *build_plan(einc_context *context, Arena *arena, const Source *source, const CompileOptions *options)
{
    return (Compiled *)run_pass(context, arena, source, &(Pass){ .over = compile_plan, .options = options });
}

Compiled *build_compile(einc_context *context, Arena *arena, const Source *source, const CompileOptions *options)
{
    return (Compiled *)run_pass(context, arena, source, &(Pass){ .over = compile, .options = options });
}

const EmittedUnit *build_text(einc_context *context, Arena *arena, const Source *source, const Compiled *compiled)
{
    return run_pass(context, arena, source, &(Pass){ .compiled = compiled });
}

const EmittedUnit *build_whole(einc_kernel *kernel, Variant *variant)
{
    if (!variant->whole)
        variant->whole = build_text(kernel->context, &kernel->arena, &kernel->source, variant->compiled);
    return variant->whole;
}

/* ---- the C compiler and the cache ---- */

const Cache *build_cache(einc_context *context)
{
    pthread_mutex_lock(&context->lock);
    if (!context->cache)
        context->cache = cache_open(NULL);
    const Cache *cache = context->cache;
    pthread_mutex_unlock(&context->lock);
    return cache;
}

/* Which compiler it is costs a process to ask: the cache remembers the answer under the compiler's stamp. */
static int identify(einc_context *context, char *error, size_t bytes)
{
    Compiler *compiler = context->compiler;
    char version[sizeof compiler->version];
    if (compiler->version[0])
        return EINC_OK;
    CacheKey key = cache_key((const char *[]){ "version", compiler->stamp }, 2);
    if (cache_recall(context->cache, &key, version, sizeof version))
        return compiler_identify(compiler, version, error, bytes);
    int status = compiler_identify(compiler, NULL, error, bytes);
    if (status == EINC_OK)
        cache_remember(context->cache, &key, compiler->version);
    return status;
}

/* Finds the compiler, once. */
static int find_compiler(einc_context *context, char *error, size_t bytes)
{
    pthread_mutex_lock(&context->lock);
    int status = context->compiler ? EINC_OK : compiler_find(&context->compiler, error, bytes);
    if (status == EINC_OK)
        status = identify(context, error, bytes);
    pthread_mutex_unlock(&context->lock);
    return status;
}

typedef struct Build {
    const Compiler *compiler;
    const EmittedUnit *unit;
} Build;

static int build_object(void *user, const char *path, char *error, size_t bytes)
{
    const Build *build = user;
    const char *source = build->unit->source;
    return compiler_run(build->compiler, build->unit->target->attribute, source, strlen(source), path, error, bytes);
}

static bool resolve(Object *object, const char *const names[2])
{
    *(void **)&object->kernel = dlsym(object->handle, names[0]);
    *(void **)&object->workspace = dlsym(object->handle, names[1]);
    return object->kernel && object->workspace;
}

static Object *find_object(einc_context *context, const CacheKey *key)
{
    for (Object *o = context->objects; o; o = o->next)
        if (!memcmp(&o->key, key, sizeof *key)) {
            o->users++;
            return o;
        }
    return NULL;
}

/* A new object under the key; `handle` is its own from here on. Another thread may have been faster. */
static Object *enter_object(einc_context *context, const CacheKey *key, void *handle, const char *const names[2])
{
    Object *object = context_alloc(context, sizeof *object, _Alignof(max_align_t)), *other;
    if (!object) {
        dlclose(handle);
        context_fail(context, EINC_FAILED, "error: out of memory");
        return NULL;
    }
    *object = (Object){ .key = *key, .handle = handle, .users = 1 };
    if (!resolve(object, names)) {
        dlclose(handle);
        context_free(context, object);
        context_fail(context, EINC_FAILED, "error: the compiled kernel has no function '%s'", names[0]);
        return NULL;
    }
    pthread_mutex_lock(&context->lock);
    other = find_object(context, key);
    if (!other) {
        object->next = context->objects;
        context->objects = object;
    }
    pthread_mutex_unlock(&context->lock);
    if (other) {
        dlclose(handle);
        context_free(context, object);
    }
    return other ? other : object;
}

static Object *object_on_device(einc_kernel *kernel, const Variant *variant)
{
    einc_context *context = kernel->context;
    CudaModule *module = cuda_module_new(kernel, variant);
    Object *object = module ? context_alloc(context, sizeof *object, _Alignof(max_align_t)) : NULL;
    if (object)
        *object = (Object){ .module = module, .users = 1 };
    else if (module)
        cuda_module_free(context, module);
    return object;
}

/* The text's digest, by which what was compiled is found: as it is remembered of this request, or of the text, made now. */
static bool find_digest(einc_kernel *kernel, Variant *variant, const Cache *cache, const CompileOptions *options)
{
    CacheKey request = request_key(&kernel->arena, &kernel->source, options);
    if (cache_recall(cache, &request, variant->digest, sizeof variant->digest))
        return true;
    if (!build_whole(kernel, variant))
        return false;
    CacheKey digest = cache_key(&variant->whole->source, 1);
    cache_key_spell(&digest, variant->digest);
    cache_remember(cache, &request, variant->digest);
    return true;
}

static Object *object_on_cpu(einc_kernel *kernel, Variant *variant, const Cache *cache)
{
    einc_context *context = kernel->context;
    char error[8192] = "";
    int status = find_compiler(context, error, sizeof error);
    if (status != EINC_OK) {
        context_fail(context, status, "error: %s", error);
        return NULL;
    }
    const Compiler *compiler = context->compiler;
    const char *flags[2];
    compiler_flags(compiler, flags);
    CacheKey key = cache_key((const char *[]){ variant->digest, compiler->stamp, compiler->version, flags[0], flags[1] }, 5);
    pthread_mutex_lock(&context->lock);
    Object *object = find_object(context, &key);
    pthread_mutex_unlock(&context->lock);
    if (object)
        return object;
    const char *name = kernel->options.name, *const names[] = { name, arena_format(&kernel->arena, "%s_workspace", name) };
    void *handle = cache_load(cache, &key);
    if (!handle) {
        Build build = { compiler, build_whole(kernel, variant) };
        if (!build.unit)
            return NULL;
        status = cache_build(cache, &key, kernel->source.text, build_object, &build, &handle, error, sizeof error);
        if (status != EINC_OK) {
            context_fail(context, status, "error: %s", error);
            return NULL;
        }
    }
    return enter_object(context, &key, handle, names);
}

Object *object_get(einc_kernel *kernel, Variant *variant, const CompileOptions *options)
{
    const Cache *cache = build_cache(kernel->context);
    if (!cache) {
        context_fail(kernel->context, EINC_FAILED, "error: out of memory");
        return NULL;
    }
    if (!find_digest(kernel, variant, cache, options))
        return NULL;
    return options->target->grid && kernel->context->cuda ? object_on_device(kernel, variant) : object_on_cpu(kernel, variant, cache);
}

void object_release(einc_context *context, Object *object)
{
    if (!object)
        return;
    if (object->module) {
        cuda_module_free(context, object->module);
        context_free(context, object);
        return;
    }
    pthread_mutex_lock(&context->lock);
    bool last = --object->users == 0;
    for (Object **at = &context->objects; *at && last; at = &(*at)->next)
        if (*at == object) {
            *at = object->next;
            break;
        }
    pthread_mutex_unlock(&context->lock);
    if (last) {
        dlclose(object->handle);
        context_free(context, object);
    }
}
