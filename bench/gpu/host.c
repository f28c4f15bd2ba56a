/* What the host takes: from the text to the first result, and for a call. */
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "rows.h"

enum { CALLS = 200, BATCHES = 50, SIDE = 4 };

#define EXPRESSION "ijk,mnk->ijmn | max n | sum j"

typedef struct Tiny {
    CudaAddress memory;
    int64_t shape[3];
    DLTensor a, b, out;
    einc_call_options options;
} Tiny;

/* ---- the driver's own part ---- */

/* What the driver's functions below took since it was last set to 0, and those of the driver that are called through them. */
static double driver_seconds;
static CudaDriver driver_own;

#define TIMED(name, parameters, arguments)                                                                                     \
    static int timed_##name parameters                                                                                         \
    {                                                                                                                          \
        double begin = wall_seconds();                                                                                         \
        int error = driver_own.name arguments;                                                                                 \
        driver_seconds += wall_seconds() - begin;                                                                              \
        return error;                                                                                                          \
    }

TIMED(context_push, (void *context), (context))
TIMED(context_pop, (void **context), (context))
TIMED(module_load, (void **module, const void *image), (module, image))
TIMED(module_function, (void **function, void *module, const char *name), (function, module, name))
TIMED(wait, (void *stream), (stream))
TIMED(launch, (void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
               unsigned shared, void *stream, void **arguments, void **extra),
      (function, x, y, z, threads_x, threads_y, threads_z, shared, stream, arguments, extra))

static void time_driver(CudaDriver *driver)
{
    driver_own = *driver;
    driver->context_push = timed_context_push;
    driver->context_pop = timed_context_pop;
    driver->module_load = timed_module_load;
    driver->module_function = timed_module_function;
    driver->wait = timed_wait;
    driver->launch = timed_launch;
    driver_seconds = 0;
}

/* ---- calls ---- */

static bool make_tiny(Gpu *gpu, Tiny *tiny)
{
    *tiny = (Tiny){ .shape = { SIDE, SIDE, SIDE } };
    if (gpu->driver->alloc(&tiny->memory, 1 << 20))
        return false;
    void *data = (void *)(uintptr_t)tiny->memory;
    tiny->a = einc_tensor(data, "f32", 3, tiny->shape);
    tiny->a.device = (DLDevice){ kDLCUDA, gpu->device->number };
    tiny->b = tiny->out = tiny->a;
    tiny->b.byte_offset = 4096;
    tiny->out.byte_offset = 8192;
    tiny->out.ndim = 2;
    tiny->options = (einc_call_options){ .workspace = (char *)data + 16384, .workspace_bytes = (1 << 20) - 16384, .stream = gpu->stream };
    return !gpu->driver->clear(tiny->memory, 0, 1 << 20, gpu->stream) && !gpu->driver->wait(gpu->stream);
}

static int call(const einc_kernel *kernel, Tiny *tiny)
{
    return einc_call(kernel, (const DLTensor *[]){ &tiny->a, &tiny->b }, 2, (DLTensor *[]){ &tiny->out }, 1, &tiny->options);
}

/* Seconds to the first result in a context whose device is open; less than 0 when something fails. */
static double first_result(Tiny *tiny)
{
    einc_context *context = einc_context_new(NULL);
    double seconds = -1;
    if (!cuda_open(context)) {
        time_driver(&context->cuda->driver);
        double begin = wall_seconds();
        einc_kernel *kernel = einc_compile(context, EXPRESSION, &(einc_options){ .target = "cuda" });
        if (kernel && !call(kernel, tiny) && !einc_wait(kernel, tiny->a.device, &tiny->options))
            seconds = wall_seconds() - begin;
        einc_kernel_free(kernel);
    }
    einc_context_free(context);
    return seconds;
}

/* Seconds of a call, in the batch of calls that took least; less than 0 when one fails. */
static double least_call(Gpu *gpu, Tiny *tiny, const einc_kernel *kernel, double *in_driver)
{
    double best = -1;
    for (int batch = 0; batch < (gpu->trial ? 1 : BATCHES); batch++) {
        int calls = gpu->trial ? 2 : CALLS, status = 0;
        driver_seconds = 0;
        double begin = wall_seconds();
        for (int c = 0; c < calls; c++)
            status |= call(kernel, tiny);
        double seconds = (wall_seconds() - begin) / calls, inside = driver_seconds / calls;
        if (status || einc_wait(kernel, tiny->a.device, &tiny->options))
            return -1;
        if (best < 0 || seconds < best) {
            best = seconds;
            *in_driver = inside;
        }
    }
    return best;
}

/* The same with nothing else timed, and then once more to see the driver's part. */
static double measure_call(Gpu *gpu, Tiny *tiny, double *in_driver)
{
    CudaDriver *driver = &gpu->context->cuda->driver;
    einc_kernel *kernel = einc_compile(gpu->context, EXPRESSION, &(einc_options){ .target = "cuda" });
    double seconds = kernel ? least_call(gpu, tiny, kernel, in_driver) : -1;
    time_driver(driver);
    if (seconds > 0)
        least_call(gpu, tiny, kernel, in_driver);
    *driver = driver_own;
    einc_kernel_free(kernel);
    return seconds;
}

int measure_host(Gpu *gpu, Arena *arena, Figure figures[HOST_FIGURES])
{
    static const struct {
        const char *name, *work, *goal;
        double most;
    } rows[HOST_FIGURES] = {
        { "cold", "from the text of MaxSim to its first result, NVRTC included, without the device's opening", "≤ 200 ms", 0.2 },
        { "warm", "the same from the cache", "≤ 1 ms", 1e-3 },
        { "warm-driver", "of that, the driver's own: the code is loaded, the kernel runs", "", 1 },
        { "launch", "einc_call() of a small kernel, in the host's time", "≤ 5 µs", 5e-6 },
        { "launch-driver", "of that, the driver's own: cuCtxPushCurrent, cuLaunchKernel, cuCtxPopCurrent", "", 1 },
    };
    char folder[] = "/tmp/einc-gpu-XXXXXX";
    const char *kept = getenv("EINC_CACHE_DIR"), *before = kept ? arena_copy(arena, kept, strlen(kept)) : NULL;
    Tiny tiny;
    if (!mkdtemp(folder) || !make_tiny(gpu, &tiny))
        return EINC_FAILED;
    setenv("EINC_CACHE_DIR", folder, 1);
    double seconds[HOST_FIGURES] = { 0 };
    seconds[0] = first_result(&tiny);
    seconds[1] = first_result(&tiny);
    seconds[2] = driver_seconds;
    seconds[3] = measure_call(gpu, &tiny, &seconds[4]);
    for (int r = 0; r < HOST_FIGURES; r++) {
        figures[r] = (Figure){ .name = rows[r].name, .work = rows[r].work, .goal = rows[r].goal, .seconds = seconds[r] };
        figures[r].met = figures[r].seconds > 0 && figures[r].seconds <= rows[r].most;
        figures[r].failure = figures[r].seconds > 0 ? NULL : "it fails";
    }
    if (before)
        setenv("EINC_CACHE_DIR", before, 1);
    else
        unsetenv("EINC_CACHE_DIR");
    gpu->driver->free(tiny.memory);
    int left = system(arena_format(arena, "rm -rf '%s'", folder));
    return left ? EINC_FAILED : EINC_OK;
}
