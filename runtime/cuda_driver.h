/* CUDA's driver and its run-time compiler, both found when they are first needed: declarations of our own of what is called of
 * them, so that nothing of CUDA is needed to build einc, and nothing is linked. */
#ifndef EINC_CUDA_DRIVER_H
#define EINC_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t CudaAddress;    /* on the device */

enum { CUDA_MULTIPROCESSORS = 16, CUDA_MAJOR = 75, CUDA_MINOR = 76, CUDA_MEMORY_POOLS = 115 };    /* attributes of a device */
enum { CUDA_SHARED_BYTES = 1, CUDA_MORE_SHARED_BYTES = 8 };   /* of a function: what it has itself, and what launches may add */

enum { CUDA_NO_DEVICE = 100 };    /* an error */
enum { CUDA_CAPTURE_RELAXED = 2 };    /* how streams are captured: meanwhile a thread may load */

/* name, what the library calls it, parameters; each returns 0, or what went wrong. */
#define CUDA_FUNCTIONS(X)                                                                                                      \
    X(init, "cuInit", (unsigned flags))                                                                                        \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                                    \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                          \
    X(device_get, "cuDeviceGet", (int *device, int number))                                                                    \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                                       \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                                \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                           \
    X(context_push, "cuCtxPushCurrent_v2", (void *context))                                                                    \
    X(context_pop, "cuCtxPopCurrent_v2", (void **context))                                                                     \
    X(module_load, "cuModuleLoadData", (void **module, const void *image))                                                     \
    X(module_unload, "cuModuleUnload", (void *module))                                                                         \
    X(module_function, "cuModuleGetFunction", (void **function, void *module, const char *name))                               \
    X(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, void *function))                                   \
    X(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))                                          \
    X(launch, "cuLaunchKernel", (void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,   \
                                 unsigned threads_z, unsigned shared, void *stream, void **arguments, void **extra))           \
    X(alloc, "cuMemAlloc_v2", (CudaAddress *memory, size_t bytes))                                                             \
    X(free, "cuMemFree_v2", (CudaAddress memory))                                                                              \
    X(alloc_in_order, "cuMemAllocAsync", (CudaAddress *memory, size_t bytes, void *stream))                                    \
    X(free_in_order, "cuMemFreeAsync", (CudaAddress memory, void *stream))                                                     \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (CudaAddress to, const void *from, size_t bytes, void *stream))                         \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, CudaAddress from, size_t bytes, void *stream))                              \
    X(clear, "cuMemsetD8Async", (CudaAddress at, unsigned char value, size_t bytes, void *stream))                             \
    X(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                                                          \
    X(wait, "cuStreamSynchronize", (void *stream))                                                                             \
    X(error_name, "cuGetErrorName", (int error, const char **name))                                                            \
    X(error_string, "cuGetErrorString", (int error, const char **words))

/* Likewise, but NULL where the driver is too old for them. */
#define CUDA_OPTIONAL(X)                                                                                                       \
    X(encode, "cuTensorMapEncodeTiled", (void *map, int type, uint32_t rank, void *data, const uint64_t *extents,              \
                                         const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,  \
                                         int swizzle, int promotion, int fill))

#define NVRTC_FUNCTIONS(X)                                                                                                     \
    X(version, "nvrtcVersion", (int *major, int *minor))                                                                       \
    X(architecture_count, "nvrtcGetNumSupportedArchs", (int *count))                                                           \
    X(architectures, "nvrtcGetSupportedArchs", (int *list))                                                                    \
    X(create, "nvrtcCreateProgram", (void **program, const char *source, const char *name, int headers,                        \
                                     const char *const *texts, const char *const *names))                                      \
    X(destroy, "nvrtcDestroyProgram", (void **program))                                                                        \
    X(compile, "nvrtcCompileProgram", (void *program, int count, const char *const *options))                                  \
    X(log_size, "nvrtcGetProgramLogSize", (void *program, size_t *bytes))                                                      \
    X(log, "nvrtcGetProgramLog", (void *program, char *log))                                                                   \
    X(cubin_size, "nvrtcGetCUBINSize", (void *program, size_t *bytes))                                                         \
    X(cubin, "nvrtcGetCUBIN", (void *program, char *cubin))                                                                    \
    X(ptx_size, "nvrtcGetPTXSize", (void *program, size_t *bytes))                                                             \
    X(ptx, "nvrtcGetPTX", (void *program, char *ptx))

#define CUDA_MEMBER(name, symbol, parameters) int (*name) parameters;

typedef struct CudaDriver {
    void *library;
    CUDA_FUNCTIONS(CUDA_MEMBER)
    CUDA_OPTIONAL(CUDA_MEMBER)
} CudaDriver;

typedef struct Nvrtc {
    void *library;
    NVRTC_FUNCTIONS(CUDA_MEMBER)
} Nvrtc;

/* NULL, or what is missing. `newest` is the greatest major version of CUDA whose code the driver takes: a newer NVRTC is taken
 * where there is no other. */
const char *cuda_driver_load(CudaDriver *driver);
const char *nvrtc_load(Nvrtc *nvrtc, int newest);

#endif
