/* The 16-bit floats. In registers their values are f32; here they are rounded, to the nearest and ties to even, and
 * widened. A NaN stays a NaN, of no particular payload. */
#ifndef TEMPLATES_HALF
#define TEMPLATES_HALF

#include "real.c"
#include "words.c"

//{ unpack_f16
/* f16 to f32 by the bits: the exponent moves by 112; below 2^-14, f16's least normal number, m counts 2^-24s. */
INLINE float unpack_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, m = (uint32_t)(h & 0x7FFF) << 13;
    if (m < 0x00800000)
        return from_bits_f32(sign | 0x3F800000) * ((float)(m >> 13) * 5.9604644775390625e-8f);
    return from_bits_f32(sign | (m >= 0x0F800000 ? m | 0x7F800000 : m + 0x38000000));
}
//}

//{ unpack_f16v
/* f16 to f32 by the bits: the exponent moves by 112; below 2^-14, f16's least normal number, m counts 2^-24s. */
INLINE f32v unpack_f16v(u16v h)
{
    u32v all = CONVERT(h, u32v), m = (all & 0x7FFF) << 13, sign = (all & 0x8000) << 16;
    u32v tiny = bits_f32v(from_bits_f32v(m + 0x38800000) - 6.103515625e-5f);
    m = select_u32v((i32v)m < 0x00800000, tiny, select_u32v((i32v)m >= 0x0F800000, m | 0x7F800000, m + 0x38000000));
    return from_bits_f32v(sign | m);
}
//}

//{ pack_f16
/* f32 to f16 by the bits. Adding 0.5 rounds what is less than 2^-14 to 2^-24s; from 65520 on all is infinite. */
INLINE uint16_t pack_f16(float x)
{
    uint32_t bits = bits_f32(x), a = bits & 0x7FFFFFFF, sign = bits >> 16 & 0x8000;
    if (a > 0x7F800000)
        return (uint16_t)(sign | 0x7E00);
    if (a >= 0x477FF000)
        return (uint16_t)(sign | 0x7C00);
    if (a < 0x38800000)
        return (uint16_t)(sign | (bits_f32(from_bits_f32(a) + 0.5f) - 0x3F000000));
    return (uint16_t)(sign | ((a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13));
}
//}

//{ pack_f16v
/* f32 to f16 by the bits. Adding 0.5 rounds what is less than 2^-14 to 2^-24s; from 65520 on all is infinite. */
INLINE u16v pack_f16v(f32v x)
{
    u32v bits = bits_f32v(x), a = bits & 0x7FFFFFFF, sign = bits >> 16 & 0x8000;
    u32v h = (a - 0x38000000 + 0xFFF + (a >> 13 & 1)) >> 13;
    h = select_u32v((i32v)a < 0x38800000, bits_f32v(from_bits_f32v(a) + 0.5f) - 0x3F000000, h);
    h = select_u32v((i32v)a >= 0x477FF000, splat_u32v(0x7C00), h);
    h = select_u32v((i32v)a > 0x7F800000, splat_u32v(0x7E00), h);
    return CONVERT(sign | h, u16v);
}
//}

#ifndef EINC_F16C
//{ to_f32_f16
INLINE float to_f32_f16(uint16_t h)
{
    return unpack_f16(h);
}
//}

//{ to_f16_f32
INLINE uint16_t to_f16_f32(float x)
{
    return pack_f16(x);
}
//}
#else
//{ to_f32_f16@f16c
INLINE float to_f32_f16(uint16_t h)
{
#if EINC_VECTORS
    float x;
    __asm__("vmovd %1, %0\n\tvcvtph2ps %0, %0" : "=x"(x) : "r"((uint32_t)h));
    return x;
#else
    return unpack_f16(h);
#endif
}
//}

//{ to_f16_f32@f16c
INLINE uint16_t to_f16_f32(float x)
{
#if EINC_VECTORS
    uint32_t h;
    __asm__("vcvtps2ph $0, %1, %1\n\tvmovd %1, %0" : "=r"(h), "+x"(x));
    return (uint16_t)h;
#else
    return pack_f16(x);
#endif
}
//}
#endif

#if !defined EINC_F16C && !defined EINC_AVX512
//{ to_f32_f16v
INLINE f32v to_f32_f16v(u16v h)
{
    return unpack_f16v(h);
}
//}

//{ to_f16_f32v
INLINE u16v to_f16_f32v(f32v x)
{
    return pack_f16v(x);
}
//}
#endif

#if defined EINC_F16C && !defined EINC_AVX512
//{ to_f32_f16v@f16c
INLINE f32v to_f32_f16v(u16v h)
{
#if EINC_VECTORS && LANES == 8
    f32v x;
    __asm__("vcvtph2ps %1, %0" : "=x"(x) : "xm"(h));
    return x;
#else
    return unpack_f16v(h);
#endif
}
//}

//{ to_f16_f32v@f16c
INLINE u16v to_f16_f32v(f32v x)
{
#if EINC_VECTORS && LANES == 8
    u16v h;
    __asm__("vcvtps2ph $0, %1, %0" : "=x"(h) : "x"(x));
    return h;
#else
    return pack_f16v(x);
#endif
}
//}
#endif

#ifdef EINC_AVX512
//{ to_f32_f16v@avx512
INLINE f32v to_f32_f16v(u16v h)
{
#if EINC_VECTORS && LANES >= 8
    f32v x;
    __asm__("vcvtph2ps %1, %0" : "=v"(x) : "v"(h));
    return x;
#else
    return unpack_f16v(h);
#endif
}
//}

//{ to_f16_f32v@avx512
INLINE u16v to_f16_f32v(f32v x)
{
#if EINC_VECTORS && LANES >= 8
    u16v h;
    __asm__("vcvtps2ph $0, %1, %0" : "=v"(h) : "v"(x));
    return h;
#else
    return pack_f16v(x);
#endif
}
//}
#endif

//{ to_f32_bf16
INLINE float to_f32_bf16(uint16_t h)
{
    return from_bits_f32((uint32_t)h << 16);
}
//}

//{ to_f32_bf16v
INLINE f32v to_f32_bf16v(u16v h)
{
    return from_bits_f32v(widen_u16v(h) << 16);
}
//}

//{ to_bf16_f32
INLINE uint16_t to_bf16_f32(float x)
{
    uint32_t bits = bits_f32(x);
    return (uint16_t)(x != x ? bits >> 16 | 0x40 : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
//}

#ifndef EINC_AVX512BF16
//{ to_bf16_f32v
INLINE u16v to_bf16_f32v(f32v x)
{
    u32v bits = bits_f32v(x);
    return CONVERT(select_u32v(x != x, bits >> 16 | 0x40, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16), u16v);
}
//}

//{ factor_bf16v
/* For a product that takes what is below the normal numbers for 0. */
INLINE u16v factor_bf16v(f32v x)
{
    return to_bf16_f32v(x);
}
//}
#else
//{ factor_bf16v@avx512bf16
/* For a product that takes what is below the normal numbers for 0, as the instruction does. */
INLINE u16v factor_bf16v(f32v x)
{
#if EINC_VECTORS && LANES >= 8
    u16v rounded;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(x));
    return rounded;
#else
    u32v bits = bits_f32v(x);
    return CONVERT(select_u32v(x != x, bits >> 16 | 0x40, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16), u16v);
#endif
}
//}

//{ to_bf16_f32v@avx512bf16
INLINE u16v to_bf16_f32v(f32v x)
{
    u32v bits = bits_f32v(x);
#if EINC_VECTORS && LANES >= 8
    uint16_t below;
    __asm__("vfpclassps $32, %1, %0" : "=Yk"(below) : "v"(x));
    if (below == 0)
        return factor_bf16v(x);
#endif
    return CONVERT(select_u32v(x != x, bits >> 16 | 0x40, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16), u16v);
}
//}
#endif

/* From f64 they are rounded once: the f32 between is rounded to odd, which keeps what lies beyond its last bit. */

//{ odd_f32_f64
/* To f32: cut off, and the last bit set where that lost anything. */
INLINE float odd_f32_f64(double x)
{
    float r = (float)x;
    uint32_t bits = bits_f32(r);
    if (r != x && x == x)
        bits = (bits - (fabs(r) > fabs(x))) | 1;
    return from_bits_f32(bits);
}
//}

//{ odd_f32_f64v
/* To f32: cut off, and the last bit set where that lost anything. */
INLINE f32v odd_f32_f64v(f64v x)
{
    f32v r = CONVERT(x, f32v);
    f64v wide = CONVERT(r, f64v);
    u32v bits = bits_f32v(r);
    u32v cut = bits - select_u32v(narrow_boolv(abs_f64v(wide) > abs_f64v(x)), splat_u32v(1), splat_u32v(0));
    return from_bits_f32v(select_u32v(narrow_boolv(wide != x), cut | 1, bits));
}
//}

/* A number in a register, rounded to what a 16-bit float holds. */

//{ round_f16
INLINE float round_f16(float x)
{
    return to_f32_f16(to_f16_f32(x));
}
//}

//{ round_f16v
INLINE f32v round_f16v(f32v x)
{
    return to_f32_f16v(to_f16_f32v(x));
}
//}

//{ round_bf16
INLINE float round_bf16(float x)
{
    return to_f32_bf16(to_bf16_f32(x));
}
//}

//{ round_bf16v
INLINE f32v round_bf16v(f32v x)
{
    u32v bits = bits_f32v(x);
    bits = select_u32v(x != x, bits | 0x400000, bits + 0x7FFF + (bits >> 16 & 1));
    return from_bits_f32v(bits & 0xFFFF0000);
}
//}

//{ round_f16_f64
INLINE float round_f16_f64(double x)
{
    return round_f16(odd_f32_f64(x));
}
//}

//{ round_f16_f64v
INLINE f32v round_f16_f64v(f64v x)
{
    return round_f16v(odd_f32_f64v(x));
}
//}

//{ round_bf16_f64
INLINE float round_bf16_f64(double x)
{
    return round_bf16(odd_f32_f64(x));
}
//}

//{ round_bf16_f64v
INLINE f32v round_bf16_f64v(f64v x)
{
    return round_bf16v(odd_f32_f64v(x));
}
//}

#endif
