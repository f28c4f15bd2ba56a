/* The device: its streams and events, and what it can do at most. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cuda.h"
#include "gpu.h"
#include "library.h"

enum { TIMES_LEAST = 5, TIMES_MOST = 1000 };

#define LONG 2e-3                 /* seconds beside which what the host takes to begin is nothing */

double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Those that NVIDIA's data sheets are known of, the more special name first: https://www.nvidia.com/en-us/data-center/h200/ and those
 * beside it. */
enum { H100, H100_PCIE, A100, SHEETS };
static const struct {
    const char *name;
    int sheet;
} cards[] = {
    { "H200", H100 }, { "H100 PCIe", H100_PCIE }, { "H100", H100 }, { "A100", A100 },
};

#define X(tag, words, loop, flops, sxm, pcie, a100) words,
const char *const peak_words[PEAK_COUNT] = { PEAKS(X) };
#undef X

static const struct {
    const char *kernel;
    double flops, paper[SHEETS];  /* of a thread's chain in a round; TFLOP/s */
} peaks[PEAK_COUNT] = {
#define X(tag, words, loop, flops, sxm, pcie, a100) { loop, flops, { sxm, pcie, a100 } },
    PEAKS(X)
#undef X
};

static bool find_functions(Gpu *gpu)
{
#define FIND(name, symbol, parameters) found &= (*(void **)&gpu->name = dlsym(gpu->driver->library, symbol)) != NULL;
    bool found = true;
    GPU_FUNCTIONS(FIND)
    return found;
}

static int fail(Gpu *gpu, Arena *arena, int status)
{
    gpu->failure = arena_format(arena, "%s", einc_error(gpu->context));
    return status;
}

int gpu_open(Gpu *gpu, Arena *arena, einc_context *context, bool trial)
{
    *gpu = (Gpu){ .trial = trial, .context = context };
    int status = cuda_open(gpu->context);
    if (status)
        return fail(gpu, arena, status);
    Cuda *cuda = gpu->context->cuda;
    CudaDevice *device = &cuda->devices[cuda->first];
    gpu->driver = &cuda->driver;
    status = cuda_enter(gpu->context, device);
    if (status)
        return fail(gpu, arena, status);
    gpu->device = device;
    gpu->failure = "the driver lacks functions";
    if (!find_functions(gpu))
        return EINC_FAILED;
    gpu->failure = "the device gives no stream or no events";
    if (gpu->device_name(gpu->name, sizeof gpu->name, device->handle) || gpu->stream_create(&gpu->stream, 1) ||
        gpu->event_create(&gpu->begin, 0) || gpu->event_create(&gpu->end, 0))
        return EINC_FAILED;
    gpu->failure = NULL;
    for (size_t c = sizeof cards / sizeof *cards; c-- > 0;)
        for (int p = 0; p < PEAK_COUNT && strstr(gpu->name, cards[c].name); p++)
            gpu->paper[p] = 1e12 * peaks[p].paper[cards[c].sheet];
    return EINC_OK;
}

void gpu_close(Gpu *gpu)
{
    if (gpu->begin)
        gpu->event_destroy(gpu->begin);
    if (gpu->end)
        gpu->event_destroy(gpu->end);
    if (gpu->stream)
        gpu->stream_destroy(gpu->stream);
    if (gpu->device)
        cuda_leave(gpu->context);
}

double gpu_time_calls(Gpu *gpu, bool (*work)(void *user), void *user, int calls)
{
    float milliseconds;
    bool runs = !gpu->event_record(gpu->begin, gpu->stream);
    for (int call = 0; call < calls && runs; call++)
        runs = work(user);
    runs = runs && !gpu->event_record(gpu->end, gpu->stream) && !gpu->event_wait(gpu->end) &&
           !gpu->event_elapsed(&milliseconds, gpu->begin, gpu->end);
    return runs ? milliseconds / 1e3 / calls : -1;
}

int gpu_calls(double seconds)
{
    return seconds > 0 && seconds < LONG ? (int)(LONG / seconds) + 1 : 1;
}

double gpu_time(Gpu *gpu, bool (*work)(void *user), void *user, double seconds)
{
    double first = gpu_time_calls(gpu, work, user, 1), best = first, end = wall_seconds() + seconds;
    int calls = gpu_calls(first);
    for (int time = 0; time < (gpu->trial ? 0 : TIMES_MOST) && best > 0 && (time < TIMES_LEAST || wall_seconds() < end); time++) {
        double one = gpu_time_calls(gpu, work, user, calls);
        best = one < best ? one : best;
    }
    return best;
}

/* ---- peaks ---- */

enum { CHAINS = 8, THREADS = 128 };

typedef struct Loop {
    Gpu *gpu;
    void *function;
    unsigned blocks;
    struct {
        CudaAddress out;
        int64_t rounds;
    } frame;
    CudaAddress other;
    size_t bytes;
} Loop;

static bool run_loop(void *user)
{
    Loop *loop = user;
    return !loop->gpu->driver->launch(loop->function, loop->blocks, 1, 1, THREADS, 1, 1, 0, loop->gpu->stream, (void *[]){ &loop->frame },
                                      NULL);
}

static bool run_copy(void *user)
{
    Loop *loop = user;
    return !loop->gpu->copy(loop->other, loop->frame.out, loop->bytes, loop->gpu->stream);
}

static bool measure_loops(Gpu *gpu, Arena *arena, Loop *loop)
{
    const char *source = embedded_find("cuda/peaks.cu");
    GridWork *work = ARENA_ARRAY(arena, GridWork, PEAK_COUNT);
    for (int u = 0; u < PEAK_COUNT; u++)
        work[u].kernel = peaks[u].kernel;
    EmittedUnit unit = { .source = source, .work = work, .work_count = PEAK_COUNT, .target = cuda_target(gpu->context, gpu->device->number) };
    Compiled compiled = { .unit = &unit };
    einc_kernel kernel = { .context = gpu->context, .source = { .text = "peaks of the device" }, .options = { .name = "peaks" } };
    Variant variant = { .compiled = &compiled, .whole = &unit };
    CacheKey digest = cache_key(&source, 1);
    cache_key_spell(&digest, variant.digest);
    CudaModule *module = cuda_module_new(&kernel, &variant);
    CudaCode *code = module ? cuda_module_load(gpu->context, module, gpu->device) : NULL;
    for (int u = 0; u < PEAK_COUNT && code; u++) {
        loop->function = code->functions[u];
        for (loop->frame.rounds = 2; !gpu->trial && loop->frame.rounds < 1 << 15 && gpu_time_calls(gpu, run_loop, loop, 1) < LONG;)
            loop->frame.rounds *= 4;
        double seconds = gpu_time(gpu, run_loop, loop, 0.3);
        if (seconds < 0)
            gpu->failure = arena_format(arena, "%s does not run", peaks[u].kernel);
        gpu->measured[u] = seconds > 0 ? peaks[u].flops * CHAINS * THREADS * loop->blocks * (double)loop->frame.rounds / seconds : 0;
    }
    if (!code)
        fail(gpu, arena, EINC_FAILED);
    if (module)
        cuda_module_free(gpu->context, module);
    return !gpu->failure;
}

bool gpu_measure_peaks(Gpu *gpu, Arena *arena, size_t bytes)
{
    Loop loop = { .gpu = gpu, .bytes = bytes };
    loop.blocks = (unsigned)gpu->device->multiprocessors * (gpu->trial ? 1 : 16);
    size_t most = (size_t)loop.blocks * THREADS * sizeof(double) > bytes ? (size_t)loop.blocks * THREADS * sizeof(double) : bytes;
    if (gpu->driver->alloc(&loop.frame.out, most) || gpu->driver->alloc(&loop.other, bytes))
        gpu->failure = "no memory of the device for a copy";
    if (!gpu->failure) {
        double seconds = gpu_time(gpu, run_copy, &loop, 0.3);
        if (seconds < 0)
            gpu->failure = "the device does not copy";
        gpu->bandwidth = seconds > 0 ? 2 * (double)loop.bytes / seconds : 0;
    }
    if (!gpu->failure)
        measure_loops(gpu, arena, &loop);
    if (loop.frame.out)
        gpu->driver->free(loop.frame.out);
    if (loop.other)
        gpu->driver->free(loop.other);
    return !gpu->failure;
}

double gpu_peak(const Gpu *gpu, Peak peak)
{
    return gpu->paper[peak] > gpu->measured[peak] ? gpu->paper[peak] : gpu->measured[peak];
}
