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
        double begin = wall_seconds();
        einc_kernel *kernel = einc_compile(context, EXPRESSION, &(einc_options){ .target = "cuda" });
        if (kernel && !call(kernel, tiny) && !einc_wait(kernel, tiny->a.device, &tiny->options))
            seconds = wall_seconds() - begin;
        einc_kernel_free(kernel);
    }
    einc_context_free(context);
    return seconds;
}

static double least_call(Gpu *gpu, Tiny *tiny)
{
    double best = -1;
    einc_kernel *kernel = einc_compile(gpu->context, EXPRESSION, &(einc_options){ .target = "cuda" });
    for (int batch = 0; batch < (gpu->trial ? 1 : BATCHES) && kernel; batch++) {
        int calls = gpu->trial ? 2 : CALLS, status = 0;
        double begin = wall_seconds();
        for (int c = 0; c < calls; c++)
            status |= call(kernel, tiny);
        double seconds = (wall_seconds() - begin) / calls;
        if (status || einc_wait(kernel, tiny->a.device, &tiny->options))
            break;
        best = best < 0 || seconds < best ? seconds : best;
    }
    einc_kernel_free(kernel);
    return best;
}

int measure_host(Gpu *gpu, Arena *arena, Figure figures[3])
{
    static const struct {
        const char *name, *work, *goal;
        double most;
    } rows[3] = {
        { "cold", "from the text of MaxSim to its first result, NVRTC included, without the device's opening", "≤ 200 ms", 0.2 },
        { "warm", "the same from the cache", "≤ 1 ms", 1e-3 },
        { "launch", "einc_call() of a small kernel, in the host's time", "≤ 5 µs", 5e-6 },
    };
    char folder[] = "/tmp/einc-gpu-XXXXXX";
    const char *kept = getenv("EINC_CACHE_DIR"), *before = kept ? arena_copy(arena, kept, strlen(kept)) : NULL;
    Tiny tiny;
    if (!mkdtemp(folder) || !make_tiny(gpu, &tiny))
        return EINC_FAILED;
    setenv("EINC_CACHE_DIR", folder, 1);
    for (int r = 0; r < 3; r++) {
        figures[r] = (Figure){ .name = rows[r].name, .work = rows[r].work, .goal = rows[r].goal };
        figures[r].seconds = r < 2 ? first_result(&tiny) : least_call(gpu, &tiny);
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
