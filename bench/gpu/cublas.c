/* cuBLAS, where it is installed. */
#include <dlfcn.h>
#include <string.h>

#include "rows.h"

enum { REAL_F32 = 0, REAL_F64 = 1, REAL_I8 = 3, REAL_I32 = 10, REAL_BF16 = 14 };
enum { COMPUTE_F32 = 68, COMPUTE_F64 = 70, COMPUTE_I32 = 72, COMPUTE_TF32 = 77, AS_IT_IS = 0, TURNED = 1, DEFAULT_ALGORITHM = -1 };

/* What it takes for a dtype: those of operands and result, what it computes in, and 1 and 0 in that. */
static const struct {
    const char *dtype;
    int operands, result, compute;
    union {
        float f32;
        double f64;
        int i32;
    } one, zero;
} kinds[] = {
    { "f32", REAL_F32, REAL_F32, COMPUTE_F32, { .f32 = 1 }, { .f32 = 0 } },
    { "f64", REAL_F64, REAL_F64, COMPUTE_F64, { .f64 = 1 }, { .f64 = 0 } },
    { "bf16", REAL_BF16, REAL_BF16, COMPUTE_F32, { .f32 = 1 }, { .f32 = 0 } },
    { "i8", REAL_I8, REAL_I32, COMPUTE_I32, { .i32 = 1 }, { .i32 = 0 } },
};

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
bool cublas_product(Gpu *gpu, const char *dtype, Beside how, int64_t i, int64_t k, int64_t j, const void *A, const void *B, void *C)
{
    size_t n = 0;
    bool along = how == BESIDE_ALONG;
    (void)gpu;
    while (strcmp(kinds[n].dtype, dtype))
        if (++n == sizeof kinds / sizeof *kinds)
            return false;
    return !cublas.multiply(cublas.handle, along ? TURNED : AS_IT_IS, AS_IT_IS, (int)j, (int)i, (int)k, &kinds[n].one, B, kinds[n].operands,
                            (int)(along ? k : j), A, kinds[n].operands, (int)k, &kinds[n].zero, C, kinds[n].result, (int)j,
                            how == BESIDE_TF32 ? COMPUTE_TF32 : kinds[n].compute, DEFAULT_ALGORITHM);
}

void cublas_end(void)
{
    if (cublas.handle)
        cublas.destroy(cublas.handle);
}
