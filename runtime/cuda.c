/* The device and its modules. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_machine.h"

enum { DRIVER_LEAST = 11070, NVRTC_LEAST = 1107, ARCHITECTURE_BYTES = 24 };

int cuda_fail(einc_context *context, const Cuda *cuda, int error, const char *what)
{
    const char *name = NULL;
    if (cuda->driver.error_name(error, &name) || !name)
        name = "an unknown error";
    return context_fail(context, EINC_FAILED, "error: CUDA: %s: %s (%d)", what, name, error);
}

/* ---- the device ---- */

static int fail_missing(einc_context *context, const char *what)
{
    return context_fail(context, EINC_NO_COMPILER, "error: no kernel for CUDA can run here: %s\nhint: without --device cuda, it runs on "
                        "this CPU", what);
}

static int find_device(einc_context *context, Cuda *cuda)
{
    CudaDriver *driver = &cuda->driver;
    int version = 0, count = 0, error = driver->init(0);
    if (!error)
        error = driver->driver_version(&version);
    if (!error)
        error = driver->device_count(&count);
    if (error || count < 1)
        return fail_missing(context, "the driver finds no device");
    if (version < DRIVER_LEAST)
        return fail_missing(context, "the driver is too old: install one for CUDA 11.7 or later");
    error = driver->device_get(&cuda->device, 0);
    if (!error)
        error = driver->device_attribute(&cuda->multiprocessors, CUDA_MULTIPROCESSORS, cuda->device);
    if (!error)
        error = driver->device_attribute(&cuda->major, CUDA_MAJOR, cuda->device);
    if (!error)
        error = driver->device_attribute(&cuda->minor, CUDA_MINOR, cuda->device);
    if (error)
        return cuda_fail(context, cuda, error, "the device cannot be asked what it is");
    if (cuda->major < 8)
        return fail_missing(context, "the device has a compute capability below 8.0");
    error = driver->context_retain(&cuda->context, cuda->device);
    return error ? cuda_fail(context, cuda, error, "the device cannot be used") : EINC_OK;
}

static int find_compiler(einc_context *context, Cuda *cuda)
{
    int major = 0, minor = 0;
    const char *missing = nvrtc_load(&cuda->nvrtc);
    if (missing)
        return fail_missing(context, missing);
    if (!cuda->nvrtc.version(&major, &minor))
        cuda->nvrtc_version = 100 * major + minor;
    return cuda->nvrtc_version >= NVRTC_LEAST ? EINC_OK
           : fail_missing(context, "libnvrtc.so is too old: install that of CUDA 11.7 or later");
}

static void let_go(Cuda *cuda)
{
    if (cuda && cuda->context)
        cuda->driver.context_release(cuda->device);
    free(cuda);
}

int cuda_open(einc_context *context)
{
    pthread_mutex_lock(&context->lock);
    bool open = context->cuda != NULL;
    pthread_mutex_unlock(&context->lock);
    if (open)
        return EINC_OK;
    Cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return context_fail(context, EINC_FAILED, "error: out of memory");
    const char *missing = cuda_driver_load(&cuda->driver);
    int status = missing ? fail_missing(context, missing) : find_compiler(context, cuda);
    if (!status)
        status = find_device(context, cuda);
    pthread_mutex_lock(&context->lock);
    if (!status && !context->cuda) {    /* another thread may have been faster */
        context->cuda = cuda;
        cuda = NULL;
    }
    pthread_mutex_unlock(&context->lock);
    let_go(cuda);
    return status;
}

void cuda_close(einc_context *context)
{
    let_go(context->cuda);
    context->cuda = NULL;
}

/* "sm_90a": what only these have is for these alone. */
static void spell_architecture(const Cuda *cuda, char text[ARCHITECTURE_BYTES])
{
    bool own = cuda->minor == 0 && (cuda->major == 9 || cuda->major == 10);
    snprintf(text, ARCHITECTURE_BYTES, "sm_%d%d%s", cuda->major, cuda->minor, own ? "a" : "");
}

const Target *cuda_target(const einc_context *context)
{
    char name[ARCHITECTURE_BYTES];
    spell_architecture(context->cuda, name);
    for (const Target *t = grid_targets; t->name; t++)
        if (!strcmp(strchr(t->name, ':') + 1, name))
            return t;
    return &grid_targets[0];
}

/* ---- modules ---- */

/* NVRTC's log, as far as there is room for it. */
static int fail_compile(einc_context *context, const Nvrtc *nvrtc, void *program)
{
    size_t bytes = 0;
    char *log = nvrtc->log_size(program, &bytes) || !bytes ? NULL : calloc(1, bytes + 1);
    if (log && nvrtc->log(program, log))
        *log = 0;
    context_fail(context, EINC_FAILED, "error: NVRTC does not compile the kernel:\n%s", log ? log : "");
    free(log);
    return EINC_FAILED;
}

/* The code for the device; for one that NVRTC does not know the text that the driver compiles. To be freed; NULL after
 * context_fail(). */
static char *make_image(einc_context *context, void *program, size_t *bytes)
{
    const Nvrtc *nvrtc = &context->cuda->nvrtc;
    char architecture[ARCHITECTURE_BYTES], option[64];
    spell_architecture(context->cuda, architecture);
    snprintf(option, sizeof option, "--gpu-architecture=%s", architecture);
    const char *options[] = { option, "--std=c++11" };
    int error = nvrtc->compile(program, 2, options);
    bool text = error == NVRTC_INVALID_OPTION;
    if (text) {
        options[0] = "--gpu-architecture=compute_80";
        error = nvrtc->compile(program, 2, options);
    }
    if (error || (text ? nvrtc->ptx_size : nvrtc->cubin_size)(program, bytes)) {
        fail_compile(context, nvrtc, program);
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

static char *compile_unit(einc_context *context, const EmittedUnit *unit, const char *name, size_t *bytes)
{
    void *program = NULL;
    if (context->cuda->nvrtc.create(&program, unit->source, name, 0, NULL, NULL)) {
        context_fail(context, EINC_FAILED, "error: NVRTC does not take the kernel's text");
        return NULL;
    }
    char *image = make_image(context, program, bytes);
    context->cuda->nvrtc.destroy(&program);
    return image;
}

/* From the cache, or compiled and kept there under the text, NVRTC's version and the device's architecture. */
static char *find_image(einc_context *context, const EmittedUnit *unit, const char *name, const char *description)
{
    char architecture[ARCHITECTURE_BYTES], version[32];
    size_t bytes = 0;
    spell_architecture(context->cuda, architecture);
    snprintf(version, sizeof version, "NVRTC %d", context->cuda->nvrtc_version);
    CacheKey key = cache_key((const char *[]){ unit->source, version, architecture }, 3);
    pthread_mutex_lock(&context->lock);
    if (!context->cache)
        context->cache = cache_open(NULL);
    const Cache *cache = context->cache;
    pthread_mutex_unlock(&context->lock);
    char *image = cache ? cache_fetch(cache, &key, &bytes) : NULL;
    if (image)
        return image;
    image = compile_unit(context, unit, name, &bytes);
    if (image && cache)
        cache_keep(cache, &key, description, image, bytes);
    return image;
}

static int find_functions(einc_context *context, CudaModule *module, const EmittedUnit *unit)
{
    const Cuda *cuda = context->cuda;
    for (int w = 0; w < unit->work_count; w++) {
        const char *kernel = unit->work[w].kernel;
        int error = kernel ? cuda->driver.module_function(&module->functions[w], module->module, kernel) : 0;
        if (error)
            return cuda_fail(context, cuda, error, kernel);
    }
    return EINC_OK;
}

CudaModule *cuda_module_new(einc_context *context, const EmittedUnit *unit, const char *name, const char *description)
{
    const Cuda *cuda = context->cuda;
    char *image = find_image(context, unit, name, description);
    CudaModule *module = image ? calloc(1, sizeof *module + (size_t)unit->work_count * sizeof *module->functions) : NULL;
    if (!module) {
        if (image)
            context_fail(context, EINC_FAILED, "error: out of memory");
        free(image);
        return NULL;
    }
    int error = cuda->driver.context_push(cuda->context), status = EINC_OK;
    bool pushed = !error;
    if (!error)
        error = cuda->driver.module_load(&module->module, image);
    free(image);
    if (error)
        status = cuda_fail(context, cuda, error, "the kernel's code cannot be loaded");
    else
        status = find_functions(context, module, unit);
    if (pushed)
        cuda->driver.context_pop(&(void *){ NULL });
    if (!status)
        return module;
    cuda_module_free(context, module);
    return NULL;
}

void cuda_module_free(einc_context *context, CudaModule *module)
{
    const Cuda *cuda = context->cuda;
    if (module->module && !cuda->driver.context_push(cuda->context)) {
        cuda->driver.module_unload(module->module);
        cuda->driver.context_pop(&(void *){ NULL });
    }
    free(module);
}
