/* Stand-ins for libcuda and libnvrtc, as one library under both names: "compiles" a kernel's text with CUDA_STANDIN_CC into an
 * object in which it runs in tests/cuda_emulator.h, and gives that object's path for the code. Memory of the device is memory
 * whose pages around it are closed; nothing is done on a stream before somebody waits for it but in its order, at once. With
 * CUDA_STANDIN_FAIL=7 the seventh call fails, counted over both libraries' calls that einc makes; with CUDA_STANDIN_LOG=file the
 * number of calls, and of what was not given back, is written there at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FAILED = 999, MEMORIES = 256, PAGE = 4096 };

typedef struct Memory {
    char *map;
    size_t bytes, map_bytes;
    uintptr_t at;
} Memory;

static Memory memories[MEMORIES];
static int calls, kept;           /* contexts, memory, programs that somebody still has */
static int modules;               /* likewise; they go with the context */
static char object[512];

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("CUDA_STANDIN_LOG");
    FILE *file = path && calls ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%d %d\n", calls, kept + modules);
        fclose(file);
    }
}

/* Whether the call at hand is the one that fails. */
static int fails(void)
{
    const char *number = getenv("CUDA_STANDIN_FAIL");
    return ++calls == (number ? atoi(number) : -1);
}

#define CALL(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define BEGIN do { if (fails()) return FAILED; } while (0)

/* ---- the driver ---- */

CALL(cuInit, unsigned flags) { (void)flags; BEGIN; return 0; }
CALL(cuDriverGetVersion, int *version) { BEGIN; *version = 13000; return 0; }
CALL(cuDeviceGetCount, int *count) { BEGIN; *count = 1; return 0; }
CALL(cuDeviceGet, int *device, int number) { BEGIN; *device = number; return 0; }
CALL(cuCtxPushCurrent_v2, void *context) { (void)context; BEGIN; return 0; }
CALL(cuCtxPopCurrent_v2, void **context) { *context = NULL; return 0; }
CALL(cuDevicePrimaryCtxRetain, void **context, int device) { (void)device; BEGIN; *context = &kept; kept++; return 0; }
CALL(cuDevicePrimaryCtxRelease_v2, int device) { (void)device; kept--; modules = 0; return 0; }
CALL(cuGetErrorName, int error, const char **name) { *name = error == FAILED ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR"; return 0; }
CALL(cuStreamSynchronize, void *stream) { (void)stream; BEGIN; return 0; }

CALL(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    (void)device;
    BEGIN;
    *value = attribute == 16 ? 3 : attribute == 75 ? 9 : 0;
    return 0;
}

CALL(cuModuleLoadData, void **module, const void *image)
{
    BEGIN;
    *module = dlopen(image, RTLD_NOW | RTLD_LOCAL);
    if (!*module)
        fprintf(stderr, "stand-in: %s\n", dlerror());
    modules += *module != NULL;
    return *module ? 0 : 200;
}

CALL(cuModuleUnload, void *module)
{
    modules--;
    return dlclose(module);
}

CALL(cuModuleGetFunction, void **function, void *module, const char *name)
{
    char symbol[256];
    BEGIN;
    snprintf(symbol, sizeof symbol, "emulated_%s", name);
    *function = dlsym(module, symbol);
    return *function ? 0 : 500;
}

CALL(cuLaunchKernel, void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
     unsigned shared, void *stream, void **arguments, void **extra)
{
    int (*emulated)(void **arguments, unsigned blocks, unsigned threads);
    BEGIN;
    if (y != 1 || z != 1 || threads_y != 1 || threads_z != 1 || shared || stream || extra || !x)
        return 1;
    *(void **)&emulated = function;
    return emulated(arguments, x, threads_x);
}

/* Ends where a closed page begins, as far as alignment lets it. */
CALL(cuMemAlloc_v2, uintptr_t *memory, size_t bytes)
{
    int i = 0;
    BEGIN;
    while (i < MEMORIES && memories[i].map)
        i++;
    if (i == MEMORIES || !bytes)
        return 2;
    size_t inside = (bytes + PAGE - 1) / PAGE * PAGE;
    Memory *m = &memories[i];
    m->map_bytes = inside + 2 * PAGE;
    m->map = mmap(NULL, m->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->map == MAP_FAILED || mprotect(m->map + PAGE, inside, PROT_READ | PROT_WRITE))
        abort();
    memset(m->map + PAGE, 0xA5, inside);
    m->bytes = bytes;
    *memory = m->at = (uintptr_t)(m->map + PAGE + (inside - bytes) / 64 * 64);
    kept++;
    return 0;
}

CALL(cuMemFree_v2, uintptr_t memory)
{
    for (int i = 0; i < MEMORIES; i++)
        if (memories[i].map && memories[i].at == memory) {
            munmap(memories[i].map, memories[i].map_bytes);
            memories[i].map = NULL;
            kept--;
            return 0;
        }
    return 1;
}

CALL(cuMemcpyHtoDAsync_v2, uintptr_t to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    BEGIN;
    memcpy((void *)to, from, bytes);
    return 0;
}

CALL(cuMemcpyDtoHAsync_v2, void *to, uintptr_t from, size_t bytes, void *stream)
{
    (void)stream;
    BEGIN;
    memcpy(to, (const void *)from, bytes);
    return 0;
}

CALL(cuMemsetD8Async, uintptr_t at, unsigned char value, size_t bytes, void *stream)
{
    (void)stream;
    BEGIN;
    memset((void *)at, value, bytes);
    return 0;
}

/* ---- the compiler ---- */

CALL(nvrtcVersion, int *major, int *minor) { BEGIN; *major = 13; *minor = 0; return 0; }
CALL(nvrtcGetProgramLogSize, void *program, size_t *bytes) { (void)program; *bytes = 8; return 0; }
CALL(nvrtcGetProgramLog, void *program, char *log) { (void)program; memcpy(log, "the log", 8); return 0; }
CALL(nvrtcGetCUBINSize, void *program, size_t *bytes) { (void)program; BEGIN; *bytes = sizeof object; return 0; }
CALL(nvrtcGetCUBIN, void *program, char *cubin) { (void)program; BEGIN; memcpy(cubin, object, sizeof object); return 0; }
CALL(nvrtcGetPTXSize, void *program, size_t *bytes) { (void)program; BEGIN; *bytes = sizeof object; return 0; }
CALL(nvrtcGetPTX, void *program, char *ptx) { (void)program; BEGIN; memcpy(ptx, object, sizeof object); return 0; }

CALL(nvrtcCreateProgram, void **program, const char *source, const char *name, int headers, const char *const *texts,
     const char *const *names)
{
    (void)name;
    (void)texts;
    (void)names;
    BEGIN;
    *program = headers ? NULL : strdup(source);
    kept++;
    return *program ? 0 : 1;
}

CALL(nvrtcDestroyProgram, void **program)
{
    free(*program);
    *program = NULL;
    kept--;
    return 0;
}

/* With CUDA_STANDIN_OLD it does not know the architecture, only that of the text that the driver compiles. */
CALL(nvrtcCompileProgram, void *program, int count, const char *const *options)
{
    char command[1200];
    BEGIN;
    if (count < 1 || strncmp(options[0], "--gpu-architecture=", 19) || (getenv("CUDA_STANDIN_OLD") && strstr(options[0], "sm_")))
        return 5;
    snprintf(object, sizeof object, "%s/standin-%d.so", getenv("CUDA_STANDIN_FOLDER"), (int)getpid());
    snprintf(command, sizeof command, "%s -o %s", getenv("CUDA_STANDIN_CC"), object);
    FILE *compiler = popen(command, "w");
    if (!compiler || fputs(program, compiler) < 0)
        return 6;
    return pclose(compiler) ? 6 : 0;
}
