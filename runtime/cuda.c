/* The devices. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_machine.h"

enum { DRIVER_LEAST = 11070, NVRTC_LEAST = 1107, NVRTC_OWN = 1200, ARCHITECTURE_LEAST = 80, ARCHITECTURES_MAX = 64 };

/* ---- failures ---- */

/* Errors after which a device's context answers every call with the same one. */
static bool loses_context(int error)
{
    static const int errors[] = { 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i] == error)
            return true;
    return false;
}

static const char *error_name(const CudaDriver *driver, int error)
{
    const char *name = NULL;
    return driver->error_name(error, &name) || !name ? "an unknown error" : name;
}

int cuda_fail(einc_context *context, CudaDevice *device, int error, const char *what)
{
    const char *name = error_name(&context->cuda->driver, error);
    if (!loses_context(error))
        return context_fail(context, EINC_FAILED, "error: CUDA: %s: %s (%d)", what, name, error);
    device->lost = error;
    return context_fail(context, EINC_FAILED, "error: CUDA: %s: %s (%d)\nhint: device %d serves this process no more: start another "
                        "process", what, name, error, device->number);
}

int cuda_fail_kernel(const einc_kernel *kernel, CudaDevice *device, int error, const char *what)
{
    char text[800];
    snprintf(text, sizeof text, "%s, for '%.200s'", what, kernel->source.text);
    return cuda_fail(kernel->context, device, error, text);
}

static int fail_missing(einc_context *context, const char *what)
{
    return context_fail(context, EINC_NO_COMPILER, "error: no kernel for CUDA can run here: %s\nhint: without --device cuda and a target "
                        "for CUDA, it runs on this CPU", what);
}

/* Of a call without which no device is known: what the driver itself says. */
static int fail_driver(einc_context *context, const CudaDriver *driver, const char *call, int error)
{
    char what[300];
    const char *words = NULL;
    if (driver->error_string(error, &words) || !words)
        words = "the driver does not say why";
    snprintf(what, sizeof what, "%s() fails: %.150s: %s (%d)", call, words, error_name(driver, error), error);
    return fail_missing(context, what);
}

/* ---- architectures ---- */

/* The table's row of an architecture, with what only this very one has ("sm_90a") or without. */
static const Target *row_of(int architecture, const char *own)
{
    char name[ARCHITECTURE_BYTES];
    snprintf(name, sizeof name, "cuda:sm_%d%s", architecture, own);
    return target_find(name);
}

void cuda_spell_architecture(const CudaDevice *device, char text[ARCHITECTURE_BYTES])
{
    bool newer = device->compiled / 10 != device->architecture / 10;    /* code is for all of a major version */
    bool own = device->own && row_of(device->compiled, "a");
    snprintf(text, ARCHITECTURE_BYTES, "%s_%d%s", newer ? "compute" : "sm", device->compiled, own ? "a" : "");
}

bool cuda_runs(const CudaDevice *device, const Target *target)
{
    char *end;
    const char *number = strchr(target->name, '_');
    long architecture = number ? strtol(number + 1, &end, 10) : 0;
    if (!architecture)
        return false;
    return *end ? device->own && architecture == device->compiled : architecture <= device->compiled;
}

static const Target *best_target(const CudaDevice *device)
{
    const Target *best = &grid_targets[0];
    for (const Target *t = grid_targets; t->name; t++)
        if (cuda_runs(device, t))
            best = t;
    return best;
}

/* ---- finding devices ---- */

/* The newest architecture of NVRTC's that is no newer than the device; 0: none. */
static int newest_architecture(const CudaDevice *device, const int *list, int count)
{
    int newest = 0;
    for (int i = 0; i < count; i++)
        if (list[i] <= device->architecture && list[i] > newest)
            newest = list[i];
    return newest;
}

static int ask_device(const CudaDriver *driver, CudaDevice *device)
{
    int major = 0, minor = 0, pools = 0, error = driver->device_get(&device->handle, device->number);
    if (!error)
        error = driver->device_attribute(&device->multiprocessors, CUDA_MULTIPROCESSORS, device->handle);
    if (!error)
        error = driver->device_attribute(&major, CUDA_MAJOR, device->handle);
    if (!error)
        error = driver->device_attribute(&minor, CUDA_MINOR, device->handle);
    if (!error)
        error = driver->device_attribute(&pools, CUDA_MEMORY_POOLS, device->handle);
    device->architecture = 10 * major + minor;
    device->pools = pools != 0;
    return error;
}

/* Asks what the devices are. `made` gets the struct, whatever it returns. */
static int find_devices(einc_context *context, const Cuda *libraries, Cuda **made)
{
    const CudaDriver *driver = &libraries->driver;
    int list[ARCHITECTURES_MAX], known = 0, count = 0, error = driver->init(0);
    const char *call = error ? "cuInit" : "cuDeviceGetCount";
    if (!error)
        error = driver->device_count(&count);
    if (error && error != CUDA_NO_DEVICE)
        return fail_driver(context, driver, call, error);
    if (count < 1)
        return fail_missing(context, "the driver finds no device");
    if (libraries->nvrtc.architecture_count(&known) || known > ARCHITECTURES_MAX || libraries->nvrtc.architectures(list))
        return context_fail(context, EINC_FAILED, "error: NVRTC does not say what it compiles for");
    Cuda *cuda = *made = calloc(1, sizeof *cuda + (size_t)count * sizeof *cuda->devices);
    if (!cuda)
        return context_fail(context, EINC_FAILED, "error: out of memory");
    *cuda = *libraries;
    cuda->device_count = count;
    cuda->first = -1;
    for (int d = 0; d < count; d++) {
        CudaDevice *device = &cuda->devices[d];
        device->number = d;
        error = ask_device(driver, device);
        if (error)
            return context_fail(context, EINC_FAILED, "error: CUDA: device %d cannot be asked what it is: %s (%d)", d,
                                error_name(driver, error), error);
        device->compiled = newest_architecture(device, list, known);
        device->own = device->compiled == device->architecture && cuda->nvrtc_version >= NVRTC_OWN;
        device->target = best_target(device);
        if (cuda->first < 0 && device->compiled >= ARCHITECTURE_LEAST)
            cuda->first = d;
    }
    return cuda->first < 0 ? fail_missing(context, "no device has a compute capability of 8.0 or more that libnvrtc.so knows") : EINC_OK;
}

static int find_libraries(einc_context *context, Cuda *cuda)
{
    int major = 0, minor = 0;
    const char *missing = cuda_driver_load(&cuda->driver);
    int error = missing ? 0 : cuda->driver.driver_version(&cuda->driver_version);
    if (error)
        return fail_driver(context, &cuda->driver, "cuDriverGetVersion", error);
    if (!missing && cuda->driver_version < DRIVER_LEAST)
        missing = "the driver is too old: install one for CUDA 11.7 or later";
    if (!missing)
        missing = nvrtc_load(&cuda->nvrtc, cuda->driver_version / 1000);
    if (missing)
        return fail_missing(context, missing);
    if (cuda->nvrtc.version(&major, &minor))
        return fail_missing(context, "libnvrtc.so does not say which version it is");
    cuda->nvrtc_version = 100 * major + minor;
    return cuda->nvrtc_version >= NVRTC_LEAST ? EINC_OK
           : fail_missing(context, "libnvrtc.so is too old: install that of CUDA 11.7 or later");
}

static void let_go(Cuda *cuda)
{
    for (int d = 0; cuda && d < cuda->device_count; d++)
        if (cuda->devices[d].context)
            cuda->driver.context_release(cuda->devices[d].handle);
    if (cuda)
        pthread_mutex_destroy(&cuda->lock);
    free(cuda);
}

int cuda_open(einc_context *context)
{
    pthread_mutex_lock(&context->lock);
    bool open = context->cuda != NULL;
    pthread_mutex_unlock(&context->lock);
    if (open)
        return EINC_OK;
    Cuda libraries = { .nvrtc_version = 0 }, *cuda = NULL;
    int status = find_libraries(context, &libraries);
    if (!status)
        status = find_devices(context, &libraries, &cuda);
    if (cuda)
        pthread_mutex_init(&cuda->lock, NULL);
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

/* ---- using one ---- */

static int retain(Cuda *cuda, CudaDevice *device)
{
    void *context = NULL;
    pthread_mutex_lock(&cuda->lock);
    int error = device->context ? 0 : cuda->driver.context_retain(&context, device->handle);
    if (context)
        device->context = context;
    pthread_mutex_unlock(&cuda->lock);
    return error;
}

int cuda_enter(einc_context *context, CudaDevice *device)
{
    Cuda *cuda = context->cuda;
    if (device->compiled < ARCHITECTURE_LEAST)
        return context_fail(context, EINC_NO_COMPILER, "error: device %d has compute capability %d.%d: kernels need 8.0 or more, and a "
                            "libnvrtc.so that knows it", device->number, device->architecture / 10, device->architecture % 10);
    if (device->lost)
        return context_fail(context, EINC_FAILED, "error: CUDA: device %d serves this process no more since an earlier call failed: %s "
                            "(%d)\nhint: start another process",
                            device->number, error_name(&cuda->driver, device->lost), device->lost);
    int error = device->context ? 0 : retain(cuda, device);
    if (!error)
        error = cuda->driver.context_push(device->context);
    return error ? cuda_fail(context, device, error, "the device cannot be used") : EINC_OK;
}

void cuda_leave(const einc_context *context)
{
    context->cuda->driver.context_pop(&(void *){ NULL });
}

static const CudaDevice *device_of(const Cuda *cuda, int device)
{
    return &cuda->devices[device == CUDA_HOST ? cuda->first : device];
}

int cuda_count(const einc_context *context)
{
    return context->cuda->device_count;
}

int cuda_workers(const einc_context *context, int device)
{
    enum { BLOCKS_OF_MULTIPROCESSOR = 8 };
    const Cuda *cuda = context->cuda;
    return device_of(cuda, device)->multiprocessors * BLOCKS_OF_MULTIPROCESSOR;
}

const Target *cuda_target(const einc_context *context, int device)
{
    return device_of(context->cuda, device)->target;
}

const Variant *cuda_variant(einc_kernel *kernel, int device)
{
    const CudaDevice *own = device_of(kernel->context->cuda, device);
    const Target *asked = kernel->options.target, *target = own->target;
    if (asked != target && !kernel->each_device && cuda_runs(own, asked))
        target = asked;
    return variant_of_target(kernel, target);
}
