/* The macros of the library's other files as CUDA has them: in these regions' places stand those of templates/types.c,
 * templates/size.c and templates/real.c. */

//{ acos
#ifndef __CUDACC_RTC__
#include <math.h>
#endif
//}

//{ INFINITY
#ifndef INFINITY
#define INFINITY (__int_as_float(0x7F800000))
#define NAN (__int_as_float(0x7FFFFFFF))
#endif
//}

//{ EINC_VECTORS
/* Threads instead of vectors. */
#define EINC_VECTORS 0
//}

//{ LANES
#define LANES 1
//}

//{ INLINE
#define INLINE static __device__ __forceinline__
//}

//{ APART
#define APART static __device__ __noinline__
//}

//{ PLAIN
/* Helpers of both the launcher and the kernels. */
#define PLAIN static inline __host__ __device__ __attribute__((unused))
//}

//{ SHARED
#define SHARED static inline __host__ __device__ __attribute__((unused))
//}

//{ UNROLL
#define UNROLL _Pragma("unroll")
//}

//{ UNROLL_TWICE
#define UNROLL_TWICE _Pragma("unroll 2")
//}

//{ UNROLL_NOT
#define UNROLL_NOT _Pragma("unroll 1")
//}

//{ UNROLL_SOME
#define UNROLL_SOME _Pragma("unroll 4")
//}

//{ UNALIGNED
/* Elements are aligned to their size: the launcher looks. */
#define UNALIGNED
//}

//{ CONTRACT
#define CONTRACT
//}

//{ KEEP_ROUNDED
/* No product is fused with the sum that takes it across an addition of this kind. It changes no number. A kernel may need one of the
 * two. */
#define KEEP_ROUNDED(x) ((x) = keep_rounded(x))

static __device__ __forceinline__ __attribute__((unused)) float keep_rounded(float x)
{
    return __fadd_rn(x, -0.0f);
}

static __device__ __forceinline__ __attribute__((unused)) double keep_rounded(double x)
{
    return __dadd_rn(x, -0.0);
}
//}
