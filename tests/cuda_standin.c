/* A stand-in for libcuda: runs kernels in tests/cuda_emulator.h. Code is the path of an object that tests/cuda_cc.sh made. Memory of
 * the device is memory whose pages around it are closed. What is put into a stream is done when somebody waits for it, and not
 * before; a stream that is captured makes a graph.
 *
 *     CUDA_STANDIN_DEVICES=90,80   the devices' architectures; 90 alone without it
 *     CUDA_STANDIN_DRIVER=11060    the version of CUDA that the driver is of; 13000 without it
 *     CUDA_STANDIN_LOST=1          kernels fail with an error after which the process has the device no more
 *     CUDA_STANDIN_POOLS=0         the devices take memory at once only, not in a stream's order
 *
 * and what tests/cuda_standin.h says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "cuda_map.h"
#include "cuda_standin.h"

enum { BAD_VALUE = 1, NO_MEMORY = 2, NO_DEVICE = 100, NO_IMAGE = 200, NO_CONTEXT = 201, BAD_HANDLE = 400, NOT_FOUND = 500, LOST = 700,
       NOT_IN_CAPTURE = 900 };
enum { RELAXED = 2 };
enum { MEMORIES = 256, PAGE = 4096, DEVICES_MAX = 4, DEPTH = 8 };

typedef struct Device {
    int architecture, references, lost;
} Device;

typedef struct Memory {
    char *map;
    size_t bytes, map_bytes;
    uintptr_t at;
    Device *device;
} Memory;

typedef struct Function Function;
struct Function {
    Function *next;
    int (*run)(void **arguments, unsigned blocks, unsigned threads);
    size_t frame_bytes;
    int more_shared;              /* that launches may add */
    Device *device;
};

typedef struct Module Module;
struct Module {
    Module *next;
    void *library;
    Device *device;
};

/* What waits in a stream: a kernel and its frame, bytes to be written, or memory to be given back. */
typedef struct Work Work;
struct Work {
    Work *next;
    const Function *function;
    unsigned blocks, threads;
    uintptr_t to, gives_back;
    size_t bytes;
    char data[];
};

typedef struct Stream Stream;
struct Stream {
    Stream *next;
    Device *device;
    Work *first, **end;
    bool captured;
    int failure;
};

static Device devices[DEVICES_MAX];
static Stream defaults[DEVICES_MAX];
static Stream *streams;           /* the others */
static int device_count;
static Memory memories[MEMORIES];
static int modules;               /* of those kept: they go with the context */
static Module *all_modules;       /* whose libraries stay, as a stream may still have work of their functions */
static Function *all_functions;
static int captures;              /* that go on */
static _Thread_local int capture_mode;
static _Thread_local Device *stack[DEPTH];
static _Thread_local int depth;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("CUDA_STANDIN_DEVICES");
    for (text = text ? text : "90"; *text && device_count < DEVICES_MAX; text += *text == ',') {
        devices[device_count] = (Device){ .architecture = (int)strtol(text, (char **)&text, 10) };
        defaults[device_count] = (Stream){ .device = &devices[device_count], .end = &defaults[device_count].first };
        device_count++;
    }
}

static Device *current(void)
{
    return depth ? stack[depth - 1] : NULL;
}

/* For tests in the same process: the n-th call from here fails; what is not given back, contexts of this thread among it. */
__attribute__((visibility("default"))) void standin_fail(int number)
{
    failing = number ? calls + number : 0;
}

__attribute__((visibility("default"))) int standin_kept(void)
{
    return kept + depth;
}

/* Of a call that needs a context. */
#define BEGIN_WITHIN BEGIN; do { if (!current()) return NO_CONTEXT; if (current()->lost) return current()->lost; } while (0)

/* ---- devices and contexts ---- */

CALL(cuInit, unsigned flags) { (void)flags; BEGIN; return device_count ? 0 : NO_DEVICE; }
CALL(cuDeviceGetCount, int *count) { BEGIN; *count = device_count; return 0; }
CALL(cuDeviceGet, int *device, int number) { BEGIN; *device = number; return 0; }
CALL(cuDeviceGetName, char *name, int bytes, int device) { HOLD; snprintf(name, (size_t)bytes, "stand-in %d", device); return 0; }
CALL(cuDeviceTotalMem_v2, size_t *bytes, int device) { HOLD; (void)device; *bytes = (size_t)1 << 30; return 0; }
CALL(cuGetErrorName, int error, const char **name)
{
    *name = error == FAILED ? "CUDA_ERROR_UNKNOWN" : error == LOST ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == NOT_IN_CAPTURE ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" : "CUDA_ERROR";
    return 0;
}

CALL(cuDriverGetVersion, int *version)
{
    BEGIN;
    const char *text = getenv("CUDA_STANDIN_DRIVER");
    *version = text ? atoi(text) : 13000;
    return 0;
}

CALL(cuGetErrorString, int error, const char **words)
{
    *words = error == FAILED ? "unknown error" : "an error";
    return 0;
}

CALL(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    BEGIN;
    int architecture = devices[device].architecture;
    *value = attribute == 16 ? 3 : attribute == 75 ? architecture / 10 : attribute == 76 ? architecture % 10
             : attribute == 115 ? !getenv("CUDA_STANDIN_POOLS") || is_set("CUDA_STANDIN_POOLS") : 0;
    return 0;
}

CALL(cuDevicePrimaryCtxRetain, void **context, int device)
{
    BEGIN;
    if (devices[device].lost)
        return devices[device].lost;
    *context = &devices[device];
    devices[device].references++;
    kept++;
    return 0;
}

CALL(cuCtxPushCurrent_v2, void *context)
{
    BEGIN;
    if (depth == DEPTH || !((Device *)context)->references)
        return NO_CONTEXT;
    stack[depth++] = context;
    return 0;
}

CALL(cuCtxPopCurrent_v2, void **context)
{
    HOLD;
    if (!depth)
        return NO_CONTEXT;
    *context = stack[--depth];
    return 0;
}

/* ---- modules ---- */

CALL(cuModuleLoadData, void **made, const void *image)
{
    BEGIN_WITHIN;
    if (captures && capture_mode != RELAXED)
        return NOT_IN_CAPTURE;
    Module *module = calloc(1, sizeof *module);
    module->library = dlopen(image, RTLD_NOW | RTLD_LOCAL);
    module->device = current();
    if (!module->library) {
        fprintf(stderr, "stand-in: %s\n", dlerror());
        free(module);
        return NO_IMAGE;
    }
    modules++;
    kept++;
    module->next = all_modules;
    *made = all_modules = module;
    return 0;
}

CALL(cuModuleUnload, void *module)
{
    HOLD;
    (void)module;
    modules--;
    kept--;
    return 0;
}

CALL(cuModuleGetFunction, void **found, void *of, const char *name)
{
    char symbol[256];
    size_t (*frame_bytes)(void);
    const Module *module = of;
    BEGIN_WITHIN;
    if (module->device != current())
        return BAD_HANDLE;
    Function *function = calloc(1, sizeof *function);
    snprintf(symbol, sizeof symbol, "emulated_%s", name);
    *(void **)&function->run = dlsym(module->library, symbol);
    snprintf(symbol, sizeof symbol, "frame_bytes_%s", name);
    *(void **)&frame_bytes = dlsym(module->library, symbol);
    if (!function->run || !frame_bytes)
        return NOT_FOUND;
    function->frame_bytes = frame_bytes();
    function->device = current();
    function->next = all_functions;
    *found = all_functions = function;
    return 0;
}

CALL(cuFuncGetAttribute, int *value, int attribute, void *function)
{
    BEGIN_WITHIN;
    (void)function;
    *value = 16 * attribute;
    return 0;
}

CALL(cuFuncSetAttribute, void *of, int attribute, int value)
{
    BEGIN_WITHIN;
    if (attribute != 8 || value > 227 << 10)
        return BAD_VALUE;
    ((Function *)of)->more_shared = value;
    return 0;
}

CALL(cuTensorMapEncodeTiled, void *map, int type, uint32_t rank, void *data, const uint64_t *extents, const uint64_t *strides,
     const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)
{
    BEGIN;
    return map_encode(map, type, rank, data, extents, strides, box, steps, interleave, swizzle, promotion, fill);
}

/* ---- memory ---- */

/* Ends where a closed page begins, as far as alignment lets it. */
static int take(uintptr_t *memory, size_t bytes)
{
    int i = 0;
    while (i < MEMORIES && memories[i].map)
        i++;
    if (i == MEMORIES || !bytes)
        return NO_MEMORY;
    size_t inside = (bytes + PAGE - 1) / PAGE * PAGE;
    Memory *m = &memories[i];
    m->map_bytes = inside + 2 * PAGE;
    m->map = mmap(NULL, m->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->map == MAP_FAILED || mprotect(m->map + PAGE, inside, PROT_READ | PROT_WRITE))
        abort();
    memset(m->map + PAGE, 0xA5, inside);
    m->bytes = bytes;
    m->device = current();
    *memory = m->at = (uintptr_t)(m->map + PAGE + (inside - bytes) / 64 * 64);
    kept++;
    return 0;
}

static int give_back(uintptr_t memory)
{
    for (int i = 0; i < MEMORIES; i++)
        if (memories[i].map && memories[i].at == memory) {
            munmap(memories[i].map, memories[i].map_bytes);
            memories[i].map = NULL;
            kept--;
            return 0;
        }
    return BAD_VALUE;
}

/* Whether all the bytes are memory of the device. */
static bool is_there(const Device *device, uintptr_t at, size_t bytes)
{
    for (int i = 0; i < MEMORIES; i++)
        if (memories[i].map && memories[i].device == device && memories[i].at <= at && at + bytes <= memories[i].at + memories[i].bytes)
            return true;
    return false;
}

/* ---- streams ---- */

/* NULL is the context's default one. */
static Stream *stream_of(void *stream)
{
    return stream ? stream : &defaults[current() - devices];
}

static Work *add(Stream *stream, size_t bytes)
{
    Work *work = calloc(1, sizeof *work + bytes);
    work->bytes = bytes;
    *stream->end = work;
    stream->end = &work->next;
    return work;
}

static int do_work(Device *device, const Work *work)
{
    if (work->gives_back)
        return give_back(work->gives_back);
    if (!work->function)
        return memcpy((void *)work->to, work->data, work->bytes), 0;
    if (is_set("CUDA_STANDIN_LOST"))
        return device->lost = LOST;
    return work->function->run((void *[]){ (void *)work->data }, work->blocks, work->threads);
}

/* Does all that waits. */
static int run(Stream *stream)
{
    Work *work = stream->first;
    stream->first = NULL;
    stream->end = &stream->first;
    for (Work *next; work; work = next) {
        int status = stream->failure && !work->gives_back ? 0 : do_work(stream->device, work);
        if (status)
            stream->failure = status;
        next = work->next;
        free(work);
    }
    int status = stream->failure;
    stream->failure = 0;
    return status;
}

CALL(cuStreamCreate, void **made, unsigned flags)
{
    HOLD;
    (void)flags;
    if (!current())
        return NO_CONTEXT;
    Stream *stream = calloc(1, sizeof *stream);
    *stream = (Stream){ .next = streams, .device = current(), .end = &stream->first };
    streams = stream;
    *made = stream;
    kept++;
    return 0;
}

CALL(cuStreamDestroy_v2, void *stream)
{
    HOLD;
    Stream **at = &streams;
    run(stream);
    while (*at != stream)
        at = &(*at)->next;
    *at = (*at)->next;
    free(stream);
    kept--;
    return 0;
}

CALL(cuStreamSynchronize, void *of)
{
    BEGIN_WITHIN;
    Stream *stream = stream_of(of);
    if (stream->device != current())
        return BAD_HANDLE;
    return stream->captured ? NOT_IN_CAPTURE : run(stream);
}

/* With the last one goes what the context has. */
CALL(cuDevicePrimaryCtxRelease_v2, int device)
{
    HOLD;
    kept--;
    if (--devices[device].references == 0) {
        run(&defaults[device]);
        kept -= modules;
        modules = 0;
    }
    return 0;
}

CALL(cuLaunchKernel, void *of, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
     unsigned shared, void *to, void **arguments, void **extra)
{
    BEGIN_WITHIN;
    const Function *function = of;
    Stream *stream = stream_of(to);
    if (y != 1 || z != 1 || threads_y != 1 || threads_z != 1 || extra || !x)
        return BAD_VALUE;
    if (function->device != current() || stream->device != current())
        return BAD_HANDLE;
    if (shared > (unsigned)function->more_shared)
        return BAD_VALUE;
    Work *work = add(stream, function->frame_bytes);
    work->function = function;
    work->blocks = x;
    work->threads = threads_x;
    memcpy(work->data, arguments[0], function->frame_bytes);
    return 0;
}

CALL(cuMemAlloc_v2, uintptr_t *memory, size_t bytes)
{
    BEGIN_WITHIN;
    return captures && capture_mode != RELAXED ? NOT_IN_CAPTURE : take(memory, bytes);
}

CALL(cuMemAllocAsync, uintptr_t *memory, size_t bytes, void *stream)
{
    BEGIN_WITHIN;
    return stream_of(stream)->captured ? NOT_IN_CAPTURE : take(memory, bytes);
}

/* When all work that may use it is done. */
CALL(cuMemFree_v2, uintptr_t memory)
{
    HOLD;
    Stream *first = current() ? stream_of(NULL) : NULL;
    if (first)
        first->failure = run(first);
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->device == current() && !stream->captured)
            stream->failure = run(stream);
    return give_back(memory);
}

CALL(cuMemFreeAsync, uintptr_t memory, void *stream)
{
    HOLD;
    add(stream_of(stream), 0)->gives_back = memory;
    return 0;
}

CALL(cuMemcpyHtoDAsync_v2, uintptr_t to, const void *from, size_t bytes, void *of)
{
    BEGIN_WITHIN;
    Stream *stream = stream_of(of);
    if (stream->device != current() || !is_there(current(), to, bytes))
        return BAD_VALUE;
    Work *work = add(stream, bytes);
    work->to = to;
    memcpy(work->data, from, bytes);
    return 0;
}

/* Into memory that is not the driver's it waits, as it does into any here. */
CALL(cuMemcpyDtoHAsync_v2, void *to, uintptr_t from, size_t bytes, void *of)
{
    BEGIN_WITHIN;
    Stream *stream = stream_of(of);
    if (stream->captured)
        return NOT_IN_CAPTURE;
    int status = run(stream);
    if (!status && (stream->device != current() || !is_there(current(), from, bytes)))
        status = BAD_VALUE;
    if (!status)
        memcpy(to, (const void *)from, bytes);
    return status;
}

CALL(cuMemsetD8Async, uintptr_t at, unsigned char value, size_t bytes, void *of)
{
    BEGIN_WITHIN;
    if (!is_there(current(), at, bytes))
        return BAD_VALUE;
    Work *work = add(stream_of(of), bytes);
    work->to = at;
    memset(work->data, value, bytes);
    return 0;
}

CALL(cuMemcpyDtoDAsync_v2, uintptr_t to, uintptr_t from, size_t bytes, void *of)
{
    BEGIN_WITHIN;
    if (!is_there(current(), from, bytes) || !is_there(current(), to, bytes))
        return BAD_VALUE;
    run(stream_of(of));
    Work *work = add(stream_of(of), bytes);
    work->to = to;
    memcpy(work->data, (const void *)from, bytes);
    return 0;
}

/* ---- events: by the host's clock, when the stream has done what is before them ---- */

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

CALL(cuEventCreate, void **made, unsigned flags) { BEGIN; (void)flags; *made = calloc(1, sizeof(double)); kept++; return 0; }
CALL(cuEventDestroy_v2, void *event) { HOLD; free(event); kept--; return 0; }
CALL(cuEventElapsedTime, float *milliseconds, void *from, void *to)
{
    *milliseconds = (float)(1e3 * (*(double *)to - *(double *)from));
    return 0;
}

CALL(cuEventRecord, void *event, void *stream)
{
    BEGIN_WITHIN;
    int error = run(stream_of(stream));
    *(double *)event = seconds_now();
    return error;
}

CALL(cuEventSynchronize, void *event) { BEGIN_WITHIN; (void)event; return 0; }

/* ---- graphs: what a stream had when its capture ended ---- */

CALL(cuThreadExchangeStreamCaptureMode, int *mode)
{
    BEGIN;
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}

CALL(cuStreamBeginCapture_v2, void *of, int mode)
{
    HOLD;
    Stream *stream = of;
    (void)mode;
    if (!stream || run(stream))
        return BAD_VALUE;
    stream->captured = true;
    captures++;
    return 0;
}

CALL(cuStreamEndCapture, void *of, void **graph)
{
    HOLD;
    Stream *stream = of;
    *graph = stream->first;
    stream->first = NULL;
    stream->end = &stream->first;
    stream->captured = false;
    captures--;
    return 0;
}

CALL(cuGraphInstantiateWithFlags, void **made, void *graph, unsigned long long flags)
{
    (void)flags;
    *made = graph;
    return 0;
}

CALL(cuGraphLaunch, void *graph, void *stream)
{
    HOLD;
    for (const Work *work = graph; work; work = work->next) {
        Work *copy = add(stream_of(stream), work->bytes);
        Work *next = copy->next;
        memcpy(copy, work, sizeof *work + work->bytes);
        copy->next = next;
    }
    return 0;
}

CALL(cuGraphExecDestroy, void *graph) { (void)graph; return 0; }

CALL(cuGraphDestroy, void *graph)
{
    for (Work *work = graph, *next; work; work = next) {
        next = work->next;
        free(work);
    }
    return 0;
}
