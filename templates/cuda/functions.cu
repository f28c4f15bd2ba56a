/* Functions that GPUs have instructions for: in these regions' places stand those of the library's files. */
#include "../real.c"

//{ exp_f32
/* 2^(x log2 e): one product, and an instruction of 2 ulp. */
INLINE float exp_f32(float x)
{
    return exp2f(x * 1.44269504f);
}
//}

/* What is not a number stays so. */

//{ max_f32
#ifdef EINC_MODEL
INLINE float max_f32(float a, float b)
{
    return b > a || b != b ? b : a;
}
#else
INLINE float max_f32(float a, float b)
{
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif
//}

//{ min_f32
#ifdef EINC_MODEL
INLINE float min_f32(float a, float b)
{
    return b < a || b != b ? b : a;
}
#else
INLINE float min_f32(float a, float b)
{
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif
//}
