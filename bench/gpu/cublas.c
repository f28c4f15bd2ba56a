/* cuBLAS, where it is installed. */
#include <dlfcn.h>
#include <string.h>

#include "rows.h"

enum { REAL_F32 = 0, REAL_F64 = 1, REAL_BF16 = 14, COMPUTE_F32 = 68, COMPUTE_F64 = 70, AS_IT_IS = 0, DEFAULT_ALGORITHM = -1 };

static struct {
    void *library, *handle;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*multiply)(void *handle, int as_a, int as_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                    const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algorithm);
} cublas;

bool cublas_begin(Gpu *gpu)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so" };
    for (size_t n = 0; n < sizeof names / sizeof *names && !cublas.library; n++)
        cublas.library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
    if (!cublas.library)
        return false;
    *(void **)&cublas.create = dlsym(cublas.library, "cublasCreate_v2");
    *(void **)&cublas.destroy = dlsym(cublas.library, "cublasDestroy_v2");
    *(void **)&cublas.set_stream = dlsym(cublas.library, "cublasSetStream_v2");
    *(void **)&cublas.multiply = dlsym(cublas.library, "cublasGemmEx");
    return cublas.create && cublas.destroy && cublas.set_stream && cublas.multiply && !cublas.create(&cublas.handle) &&
           !cublas.set_stream(cublas.handle, gpu->stream);
}

/* Its matrices are in Fortran's order: C' = B' A'. */
bool cublas_product(Gpu *gpu, const char *dtype, int64_t i, int64_t k, int64_t j, const void *A, const void *B, void *C)
{
    static const float one = 1, zero = 0;
    static const double one_f64 = 1, zero_f64 = 0;
    bool f64 = !strcmp(dtype, "f64");
    int type = f64 ? REAL_F64 : !strcmp(dtype, "f32") ? REAL_F32 : REAL_BF16;
    (void)gpu;
    return !cublas.multiply(cublas.handle, AS_IT_IS, AS_IT_IS, (int)j, (int)i, (int)k, f64 ? (const void *)&one_f64 : &one, B, type, (int)j,
                            A, type, (int)k, f64 ? (const void *)&zero_f64 : &zero, C, type, (int)j, f64 ? COMPUTE_F64 : COMPUTE_F32,
                            DEFAULT_ALGORITHM);
}

void cublas_end(void)
{
    if (cublas.handle)
        cublas.destroy(cublas.handle);
}
