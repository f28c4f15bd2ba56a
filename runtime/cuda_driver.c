#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>

typedef struct Symbol {
    const char *name;
    size_t at;                    /* the pointer's place in the struct */
} Symbol;

#define DRIVER_SYMBOL(name, symbol, parameters) { symbol, offsetof(CudaDriver, name) },
#define NVRTC_SYMBOL(name, symbol, parameters) { symbol, offsetof(Nvrtc, name) },

static const Symbol driver_symbols[] = { CUDA_FUNCTIONS(DRIVER_SYMBOL) };
static const Symbol newer_symbols[] = { CUDA_OPTIONAL(DRIVER_SYMBOL) };
static const Symbol nvrtc_symbols[] = { NVRTC_FUNCTIONS(NVRTC_SYMBOL) };

/* The first of the libraries that is there; it stays open, as libraries of this kind do not clean up behind themselves. */
static void *open_first(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool find_all(void *library, const Symbol *symbols, size_t count, void *functions)
{
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, symbols[i].name);
        if (!function)
            return false;
        *(void **)((char *)functions + symbols[i].at) = function;
    }
    return true;
}

const char *cuda_driver_load(CudaDriver *driver)
{
    static const char *const names[] = { "libcuda.so.1", "libcuda.so", NULL };
    driver->library = open_first(names);
    if (!driver->library)
        return "there is no libcuda.so.1, which comes with NVIDIA's driver";
    for (size_t i = 0; i < sizeof newer_symbols / sizeof *newer_symbols; i++)
        *(void **)((char *)driver + newer_symbols[i].at) = dlsym(driver->library, newer_symbols[i].name);
    return find_all(driver->library, driver_symbols, sizeof driver_symbols / sizeof *driver_symbols, driver)
               ? NULL : "libcuda.so.1 is too old: install a driver for CUDA 11.7 or later";
}

const char *nvrtc_load(Nvrtc *nvrtc, int newest)
{
    static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL };
    nvrtc->library = open_first(newest < 12 ? names + 2 : newest < 13 ? names + 1 : names);
    if (!nvrtc->library)
        nvrtc->library = open_first(names);
    if (!nvrtc->library)
        return "there is no libnvrtc.so, which is part of the CUDA toolkit and of the Python package nvidia-cuda-nvrtc";
    return find_all(nvrtc->library, nvrtc_symbols, sizeof nvrtc_symbols / sizeof *nvrtc_symbols, nvrtc)
               ? NULL : "libnvrtc.so is too old: install that of CUDA 11.7 or later";
}
