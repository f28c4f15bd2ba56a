/* Modules: the kernels of a unit, compiled for an architecture and loaded on a device when they are first called there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "cuda_machine.h"

#define STANDARD "--std=c++11"    /* what NVRTC is told beside the architecture */

struct CudaModule {
    const einc_kernel *kernel;
    const Variant *variant;
    const EmittedUnit *unit;      /* the variant's */
    pthread_mutex_t lock;         /* of loading */
    char *image;                  /* what was compiled first, until it is loaded */
    char architecture[ARCHITECTURE_BYTES];    /* that it is for */
    CudaCode *_Atomic codes[];    /* [device] */
};

/* ---- compiling ---- */

/* NVRTC's log, as far as there is room for it. */
static int fail_compile(const einc_kernel *kernel, void *program)
{
    const Nvrtc *nvrtc = &kernel->context->cuda->nvrtc;
    size_t bytes = 0;
    char *log = nvrtc->log_size(program, &bytes) || !bytes ? NULL : calloc(1, bytes + 1);
    if (log && nvrtc->log(program, log))
        *log = 0;
    context_fail(kernel->context, EINC_FAILED, "error: NVRTC does not compile %s, for '%.200s':\n%s", kernel->options.name,
                 kernel->source.text, log ? log : "");
    free(log);
    return EINC_FAILED;
}

/* Code ("sm_90a"), or text that the driver compiles ("compute_90"). To be freed; NULL after context_fail(). */
static char *make_image(const einc_kernel *kernel, void *program, const char *architecture, size_t *bytes)
{
    einc_context *context = kernel->context;
    const Nvrtc *nvrtc = &context->cuda->nvrtc;
    bool text = !strncmp(architecture, "compute", strlen("compute"));
    char option[64];
    snprintf(option, sizeof option, "--gpu-architecture=%s", architecture);
    if (nvrtc->compile(program, 2, (const char *[]){ option, STANDARD }) ||
        (text ? nvrtc->ptx_size : nvrtc->cubin_size)(program, bytes)) {
        fail_compile(kernel, program);
        return NULL;
    }
    char *image = calloc(1, *bytes + 1);
    if (!image || (text ? nvrtc->ptx : nvrtc->cubin)(program, image)) {
        context_fail(context, EINC_FAILED, image ? "error: NVRTC gives no code" : "error: out of memory");
        free(image);
        return NULL;
    }
    return image;
}

static char *compile_unit(einc_context *context, const CudaModule *module, const char *architecture, size_t *bytes)
{
    void *program = NULL;
    char *image = NULL;
    Arena arena = context_arena(context, NULL);
    const EmittedUnit *unit = module->variant->whole;
    if (!unit)
        unit = build_text(context, &arena, &module->kernel->source, module->variant->compiled);
    if (unit && context->cuda->nvrtc.create(&program, unit->source, module->kernel->options.name, 0, NULL, NULL))
        context_fail(context, EINC_FAILED, "error: NVRTC does not take the kernel's text");
    else if (unit)
        image = make_image(module->kernel, program, architecture, bytes);
    if (program)
        context->cuda->nvrtc.destroy(&program);
    arena_free(&arena);
    return image;
}

/* From the cache, or compiled and kept there under the text, NVRTC's version and the architecture. */
static char *find_image(einc_context *context, const CudaModule *module, const char *architecture)
{
    char version[32];
    size_t bytes = 0;
    snprintf(version, sizeof version, "NVRTC %d", context->cuda->nvrtc_version);
    CacheKey key = cache_key((const char *[]){ module->variant->digest, version, architecture, STANDARD }, 4);
    const Cache *cache = build_cache(context);
    char *image = cache ? cache_fetch(cache, &key, &bytes) : NULL;
    if (image)
        return image;
    image = compile_unit(context, module, architecture, &bytes);
    if (image && cache)
        cache_keep(cache, &key, module->kernel->source.text, image, bytes);
    return image;
}

/* ---- loading ---- */

static int fail_load(const einc_kernel *kernel, CudaDevice *device, int error)
{
    const Cuda *cuda = kernel->context->cuda;
    char what[400];
    bool newer = cuda->nvrtc_version / 100 > cuda->driver_version / 1000;
    snprintf(what, sizeof what, newer ? "the code of %.200s cannot be loaded (libnvrtc.so is of CUDA %d, the driver of CUDA %d)"
                                      : "the code of %.200s cannot be loaded",
             kernel->options.name, cuda->nvrtc_version / 100, cuda->driver_version / 1000);
    return cuda_fail_kernel(kernel, device, error, what);
}

static int load(einc_context *context, const CudaModule *module, CudaDevice *device, const char *image, CudaCode *code)
{
    const CudaDriver *driver = &context->cuda->driver;
    int error = driver->module_load(&code->module, image);
    if (error)
        return fail_load(module->kernel, device, error);
    for (int w = 0; w < module->unit->work_count; w++) {
        const char *kernel = module->unit->work[w].kernel;
        error = kernel ? driver->module_function(&code->functions[w], code->module, kernel) : 0;
        if (!error && module->unit->work[w].asked_bytes)
            error = driver->function_set(code->functions[w], CUDA_MORE_SHARED_BYTES, (int)module->unit->work[w].asked_bytes);
        if (error)
            return cuda_fail_kernel(module->kernel, device, error, kernel);
    }
    return EINC_OK;
}

/* The same, whatever streams are captured meanwhile: loading is no part of what these do. */
static int load_beside_captures(einc_context *context, const CudaModule *module, CudaDevice *device, const char *image, CudaCode *code)
{
    const CudaDriver *driver = &context->cuda->driver;
    int mode = CUDA_CAPTURE_RELAXED, error = driver->capture_mode(&mode);
    if (error)
        return fail_load(module->kernel, device, error);
    int status = load(context, module, device, image, code);
    error = driver->capture_mode(&mode);
    return status || !error ? status : fail_load(module->kernel, device, error);
}

static CudaCode *load_new(einc_context *context, CudaModule *module, CudaDevice *device)
{
    char architecture[ARCHITECTURE_BYTES];
    cuda_spell_architecture(device, architecture);
    char *image = module->image && !strcmp(architecture, module->architecture) ? module->image : NULL;
    if (image)
        module->image = NULL;
    else
        image = find_image(context, module, architecture);
    if (!image)
        return NULL;
    CudaCode *code = calloc(1, sizeof *code + (size_t)module->unit->work_count * sizeof *code->functions);
    if (code)
        code->last = -1;
    int status = code ? load_beside_captures(context, module, device, image, code)
                      : context_fail(context, EINC_FAILED, "error: out of memory");
    free(image);
    if (!status)
        return code;
    if (code && code->module)
        context->cuda->driver.module_unload(code->module);
    free(code);
    return NULL;
}

CudaCode *cuda_module_load(einc_context *context, CudaModule *module, CudaDevice *device)
{
    CudaCode *code = module->codes[device->number];
    if (code)
        return code;
    pthread_mutex_lock(&module->lock);
    code = module->codes[device->number];
    if (!code) {
        code = load_new(context, module, device);
        module->codes[device->number] = code;
    }
    pthread_mutex_unlock(&module->lock);
    return code;
}

/* ---- modules ---- */

CudaModule *cuda_module_new(const einc_kernel *kernel, const Variant *variant)
{
    einc_context *context = kernel->context;
    const Cuda *cuda = context->cuda;
    CudaModule *module = calloc(1, sizeof *module + (size_t)cuda->device_count * sizeof *module->codes);
    if (!module) {
        context_fail(context, EINC_FAILED, "error: out of memory");
        return NULL;
    }
    module->kernel = kernel;
    module->variant = variant;
    module->unit = variant->compiled->unit;
    pthread_mutex_init(&module->lock, NULL);
    for (int d = cuda->first; d < cuda->device_count && !module->architecture[0]; d++)
        if (cuda_runs(&cuda->devices[d], module->unit->target))
            cuda_spell_architecture(&cuda->devices[d], module->architecture);
    if (!module->architecture[0])    /* no device takes it: each call will have a plan for its own */
        return module;
    module->image = find_image(context, module, module->architecture);
    if (module->image)
        return module;
    cuda_module_free(context, module);
    return NULL;
}

void cuda_module_free(einc_context *context, CudaModule *module)
{
    Cuda *cuda = context->cuda;
    for (int d = 0; d < cuda->device_count; d++) {
        CudaCode *code = module->codes[d];
        if (code && !cuda->driver.context_push(cuda->devices[d].context)) {
            cuda->driver.module_unload(code->module);
            cuda_leave(context);
        }
        free(code);
    }
    pthread_mutex_destroy(&module->lock);
    free(module->image);
    free(module);
}
