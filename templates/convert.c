/* Casts between the dtypes that registers hold, named to_TO_FROM. A float becomes an integer by cutting off its
 * fraction; what does not fit becomes the nearest integer that does, and NaN becomes 0. A wide integer loses its upper
 * bits. A number is true where it is not 0, so NaN is. */
#ifndef TEMPLATES_CONVERT
#define TEMPLATES_CONVERT

#include "minmax.c"

//{ to_f32_f64
INLINE float to_f32_f64(double x)
{
    return (float)x;
}
//}

//{ to_f32_f64v
INLINE f32v to_f32_f64v(f64v x)
{
    return CONVERT(x, f32v);
}
//}

//{ to_f32_i32
INLINE float to_f32_i32(int32_t x)
{
    return (float)x;
}
//}

//{ to_f32_i32v
INLINE f32v to_f32_i32v(i32v x)
{
    return CONVERT(x, f32v);
}
//}

//{ to_f32_i64
INLINE float to_f32_i64(int64_t x)
{
    return (float)x;
}
//}

//{ to_f32_i64v
INLINE f32v to_f32_i64v(i64v x)
{
    return CONVERT(x, f32v);
}
//}

//{ line_f32v
/* first, first + step, first + 2 * step, ...: as whole numbers that f32 holds they are added exactly, else one by one. */
INLINE f32v line_f32v(int64_t first, int64_t step)
{
    const int64_t most = (INT64_C(1) << 24) - LANES * (step < 0 ? -step : step);
    if (-most <= first && first <= most)
        return CONVERT(lanes_i32v(), f32v) * (float)step + (float)first;
    f32v x;
    float lanes[LANES];
    for (int l = 0; l < LANES; l++)
        lanes[l] = (float)(first + step * l);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ line_f64v
/* first, first + step, first + 2 * step, ...: as whole numbers that f64 holds they are added exactly, else one by one. */
INLINE f64v line_f64v(int64_t first, int64_t step)
{
    const int64_t most = (INT64_C(1) << 53) - LANES * (step < 0 ? -step : step);
    if (-most <= first && first <= most)
        return CONVERT(lanes_i32v(), f64v) * (double)step + (double)first;
    f64v x;
    double lanes[LANES];
    for (int l = 0; l < LANES; l++)
        lanes[l] = (double)(first + step * l);
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ to_f32_bool
INLINE float to_f32_bool(int x)
{
    return (float)x;
}
//}

//{ to_f32_boolv
INLINE f32v to_f32_boolv(boolv m)
{
    return CONVERT(m & 1, f32v);
}
//}

//{ to_f64_f32
INLINE double to_f64_f32(float x)
{
    return (double)x;
}
//}

#ifndef EINC_AVX512
//{ to_f64_f32v
INLINE f64v to_f64_f32v(f32v x)
{
    return CONVERT(x, f64v);
}
//}
#else
//{ to_f64_f32v@avx512
INLINE f64v to_f64_f32v(f32v x)
{
#if EINC_VECTORS && LANES == 8    /* one instruction; gcc makes halves, and puts them together */
    f64v y;
    __asm__("vcvtps2pd %1, %0" : "=v"(y) : "vm"(x));
    return y;
#else
    return CONVERT(x, f64v);
#endif
}
//}
#endif

//{ to_f64_i32
INLINE double to_f64_i32(int32_t x)
{
    return (double)x;
}
//}

#ifndef EINC_AVX512
//{ to_f64_i32v
INLINE f64v to_f64_i32v(i32v x)
{
    return CONVERT(x, f64v);
}
//}
#else
//{ to_f64_i32v@avx512
INLINE f64v to_f64_i32v(i32v x)
{
#if EINC_VECTORS && LANES == 8    /* one instruction; gcc makes halves, and puts them together */
    f64v y;
    __asm__("vcvtdq2pd %1, %0" : "=v"(y) : "vm"(x));
    return y;
#else
    return CONVERT(x, f64v);
#endif
}
//}
#endif

//{ to_f64_i64
INLINE double to_f64_i64(int64_t x)
{
    return (double)x;
}
//}

//{ to_f64_i64v
INLINE f64v to_f64_i64v(i64v x)
{
    return CONVERT(x, f64v);
}
//}

//{ to_f64_bool
INLINE double to_f64_bool(int x)
{
    return (double)x;
}
//}

//{ to_f64_boolv
INLINE f64v to_f64_boolv(boolv m)
{
    return CONVERT(m & 1, f64v);
}
//}

//{ to_i32_f32
INLINE int32_t to_i32_f32(float x)
{
    if (x >= 2147483648.0f)
        return INT32_MAX;
    if (x <= -2147483648.0f)
        return INT32_MIN;
    return x != x ? 0 : (int32_t)x;
}
//}

//{ to_i32_f32v
INLINE i32v to_i32_f32v(f32v x)
{
    f32v y = lesser_f32v(splat_f32v(2147483520.0f), greater_f32v(splat_f32v(-2147483648.0f), x));
    y = select_f32v(x == x, y, splat_f32v(0));
    return select_i32v(x >= splat_f32v(2147483648.0f), splat_i32v(INT32_MAX), CONVERT(y, i32v));
}
//}

//{ to_i32_f64
INLINE int32_t to_i32_f64(double x)
{
    if (x >= 2147483647.0)
        return INT32_MAX;
    if (x <= -2147483648.0)
        return INT32_MIN;
    return x != x ? 0 : (int32_t)x;
}
//}

//{ to_i32_f64v
INLINE i32v to_i32_f64v(f64v x)
{
    f64v y = lesser_f64v(splat_f64v(2147483647.0), greater_f64v(splat_f64v(-2147483648.0), x));
    return CONVERT(choose_f64v(x == x, y, splat_f64v(0)), i32v);
}
//}

//{ to_i32_i64
INLINE int32_t to_i32_i64(int64_t x)
{
    return (int32_t)x;
}
//}

//{ to_i32_i64v
INLINE i32v to_i32_i64v(i64v x)
{
    return CONVERT(x, i32v);
}
//}

//{ to_i32_bool
INLINE int32_t to_i32_bool(int x)
{
    return (int32_t)x;
}
//}

//{ to_i32_boolv
INLINE i32v to_i32_boolv(boolv m)
{
    return m & 1;
}
//}

//{ to_i64_f32
INLINE int64_t to_i64_f32(float x)
{
    if (x >= 9223372036854775808.0f)
        return INT64_MAX;
    if (x <= -9223372036854775808.0f)
        return INT64_MIN;
    return x != x ? 0 : (int64_t)x;
}
//}

//{ to_i64_f32v
INLINE i64v to_i64_f32v(f32v x)
{
    f32v y = lesser_f32v(splat_f32v(9223371487098961920.0f), greater_f32v(splat_f32v(-9223372036854775808.0f), x));
    y = select_f32v(x == x, y, splat_f32v(0));
    return select_i64v(x >= splat_f32v(9223372036854775808.0f), splat_i64v(INT64_MAX), CONVERT(y, i64v));
}
//}

//{ to_i64_f64
INLINE int64_t to_i64_f64(double x)
{
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    if (x <= -9223372036854775808.0)
        return INT64_MIN;
    return x != x ? 0 : (int64_t)x;
}
//}

//{ to_i64_f64v
INLINE i64v to_i64_f64v(f64v x)
{
    f64v y = lesser_f64v(splat_f64v(9223372036854774784.0), greater_f64v(splat_f64v(-9223372036854775808.0), x));
    y = choose_f64v(x == x, y, splat_f64v(0));
    return choose_i64v(x >= splat_f64v(9223372036854775808.0), splat_i64v(INT64_MAX), CONVERT(y, i64v));
}
//}

//{ to_i64_i32
INLINE int64_t to_i64_i32(int32_t x)
{
    return (int64_t)x;
}
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ to_i64_i32v
INLINE i64v to_i64_i32v(i32v x)
{
    return CONVERT(x, i64v);
}
//}
#endif

#if !defined EINC_AVX512 && defined EINC_FMA
//{ to_i64_i32v@fma
INLINE i64v to_i64_i32v(i32v x)
{
#if EINC_VECTORS && LANES == 4    /* one instruction; gcc makes halves, and puts them together */
    i64v y;
    __asm__("vpmovsxdq %1, %0" : "=x"(y) : "xm"(x));
    return y;
#else
    return CONVERT(x, i64v);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ to_i64_i32v@avx512
INLINE i64v to_i64_i32v(i32v x)
{
#if EINC_VECTORS && LANES == 8    /* one instruction; gcc makes halves, and puts them together */
    i64v y;
    __asm__("vpmovsxdq %1, %0" : "=v"(y) : "vm"(x));
    return y;
#else
    return CONVERT(x, i64v);
#endif
}
//}
#endif

//{ to_i64_bool
INLINE int64_t to_i64_bool(int x)
{
    return (int64_t)x;
}
//}

//{ to_i64_boolv
INLINE i64v to_i64_boolv(boolv m)
{
    return CONVERT(m & 1, i64v);
}
//}

//{ to_bool_f32
INLINE int to_bool_f32(float x)
{
    return x != 0;
}
//}

//{ to_bool_f32v
INLINE boolv to_bool_f32v(f32v x)
{
    return x != 0;
}
//}

//{ to_bool_f64
INLINE int to_bool_f64(double x)
{
    return x != 0;
}
//}

//{ to_bool_f64v
INLINE boolv to_bool_f64v(f64v x)
{
    return narrow_boolv(x != 0);
}
//}

//{ to_bool_i32
INLINE int to_bool_i32(int32_t x)
{
    return x != 0;
}
//}

//{ to_bool_i32v
INLINE boolv to_bool_i32v(i32v x)
{
    return x != 0;
}
//}

//{ to_bool_i64
INLINE int to_bool_i64(int64_t x)
{
    return x != 0;
}
//}

//{ to_bool_i64v
INLINE boolv to_bool_i64v(i64v x)
{
    return narrow_boolv(x != 0);
}
//}

//{ to_i8_i32
/* Wrapped to 8 bits. */
INLINE int32_t to_i8_i32(int32_t x)
{
    return (int8_t)x;
}
//}

//{ to_i8_i32v
/* Wrapped to 8 bits. */
INLINE i32v to_i8_i32v(i32v x)
{
    return (i32v)((u32v)x << 24) >> 24;
}
//}

//{ to_i16_i32
/* Wrapped to 16 bits. */
INLINE int32_t to_i16_i32(int32_t x)
{
    return (int16_t)x;
}
//}

//{ to_i16_i32v
/* Wrapped to 16 bits. */
INLINE i32v to_i16_i32v(i32v x)
{
    return (i32v)((u32v)x << 16) >> 16;
}
//}

#endif
