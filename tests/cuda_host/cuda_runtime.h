/* What programs for the host call of CUDA's run time beside kernels, for tests/cuda_emulator.h: memory of the device is the
 * host's, at addresses of its own. */
#ifndef TESTS_CUDA_RUNTIME_H
#define TESTS_CUDA_RUNTIME_H

#include <stdlib.h>
#include <string.h>

enum { cudaMemcpyHostToDevice = 1 };

__attribute__((unused)) static cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory)
        memset(*memory, 0xA5, bytes);
    return *memory ? cudaSuccess : 2;
}

__attribute__((unused)) static cudaError_t cudaFree(void *memory)
{
    free(memory);
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = malloc(1);
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return cudaSuccess;
}

__attribute__((unused)) static cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

__attribute__((unused)) static const char *cudaGetErrorString(cudaError_t error)
{
    return error ? "an error of the emulator" : "no error";
}

#endif
