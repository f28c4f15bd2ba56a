/* The types that a kernel's helpers share: vectors of LANES elements, masks, and the ways to make and choose them.
 *
 * Kernel text is written once and compiles twice: with GNU vectors, and, where the compiler has none or EINC_SCALAR is
 * defined, with LANES = 1 and plain scalars for vectors. So it keeps to operators that mean the same for both:
 * arithmetic and comparisons. A comparison gives 0 and -1 in a vector and 0 and 1 in a scalar; what it gives is a
 * boolv, and only the helpers here look into one.
 *
 * This file is part of a library of regions. A region, from its opening mark to its closing one, defines the
 * identifier that the mark names, and is copied into a generated file when that name occurs there. "name@feature" is
 * the same for a machine that has the feature; if a machine has several, the last such region in the library counts.
 * What stands outside of regions lets the library compile by itself: INLINE and LANES are samples of what the emitter
 * writes, and EINC_FMA, EINC_F16C, EINC_AVX512, EINC_ADDERS and EINC_NEON choose among the regions of one name. Those for
 * CUDA, whose threads have no vectors, are in templates/cuda/. */
#ifndef TEMPLATES_TYPES
#define TEMPLATES_TYPES

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

//{ acos acosf asin asinf atan atan2 atan2f atanf atanh ceil ceilf copysign copysignf cos cosf cosh coshf erf erfc
//{ erff exp exp2 exp2f expf expm1 expm1f fabs fabsf floor floorf fma fmaf fmod fmodf hypot hypotf log log10 log10f
//{ log1p log1pf log2 log2f logf pow powf rint rintf sin sinf sinh sinhf sqrt sqrtf tan tanf tanh tanhf trunc truncf
#include <math.h>
//}

//{ INFINITY NAN
/* Most kernels need no more of math.h, which takes longer to read than they do. */
#if !defined(INFINITY) && defined(__GNUC__)
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#elif !defined(INFINITY)
#include <math.h>
#endif
//}

//{ EINC_VECTORS
/* Whether vectors are GNU vectors; without them LANES is 1 and each vector type is its element. They only pass between
 * functions that are inlined, so that the ABI is no concern. */
#if defined(__GNUC__) && !defined(EINC_SCALAR)
#define EINC_VECTORS 1
#pragma GCC diagnostic ignored "-Wpsabi"
#else
#define EINC_VECTORS 0
#endif
//}

#ifndef INLINE
//{ INLINE
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused))
#else
#define INLINE static inline
#endif
//}
#endif

#ifndef APART
//{ APART
/* Of what is long and seldom in a hurry: one copy keeps the compile short. */
#ifdef __GNUC__
#define APART static __attribute__((noinline, unused))
#else
#define APART static
#endif
//}
#endif

#ifndef LANES
//{ LANES
#if EINC_VECTORS
#define LANES 16
#else
#define LANES 1
#endif
//}
#endif

//{ LONG
/* What makes a vector of elements of 8 bytes, which may take several registers: it is aligned as one of them. gcc would
 * remark that it passes vectors with a larger alignment unlike its version 4.4. */
#define LONG __attribute__((vector_size(8 * LANES), aligned(16), may_alias))
//}

//{ CONVERT
/* The numbers of one vector in the element type of another. */
#if EINC_VECTORS
#define CONVERT(x, type) __builtin_convertvector(x, type)
#else
#define CONVERT(x, type) ((type)(x))
#endif
//}

//{ EINC_SHUFFLES
/* Whether __builtin_shuffle is there; clang needs loops for it to see through. */
#if EINC_VECTORS && !defined(__clang__)
#define EINC_SHUFFLES 1
#else
#define EINC_SHUFFLES 0
#endif
//}

//{ UNROLL
/* Before a loop over lanes that is to become a handful of shuffles, or over a tile's sums, which are to be registers. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 16")
#elif EINC_VECTORS
#define UNROLL _Pragma("clang loop unroll(full)")
#pragma clang diagnostic ignored "-Wpass-failed"    /* of those whose turns are not known, which stay loops */
#else
#define UNROLL
#endif
//}

//{ UNROLL_POINTS
/* Before a loop over points that go together, a number that is known when this is compiled: their sums are in registers. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_POINTS _Pragma("GCC unroll 16")
#elif EINC_VECTORS
#define UNROLL_POINTS _Pragma("clang loop unroll(full)")
#else
#define UNROLL_POINTS
#endif
//}

//{ UNROLL_TWICE
/* clang is told only of loops that become as many copies as they have turns: it keeps the sums of others in memory. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define UNROLL_TWICE
#endif
//}

//{ UNROLL_NOT
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_NOT _Pragma("GCC unroll 1")
#else
#define UNROLL_NOT
#endif
//}

//{ UNROLL_SOME
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_SOME _Pragma("GCC unroll 4")
#else
#define UNROLL_SOME
#endif
//}

//{ PREFETCH
/* Asks for the cache line at p, which need not be one that may be read. */
#ifdef __GNUC__
#define PREFETCH(p) __builtin_prefetch((p), 0, 3)
#else
#define PREFETCH(p) ((void)(p))
#endif
//}

//{ PREFETCH_FAR
/* The same into the second cache, for what is read later than the first would keep it. */
#ifdef __GNUC__
#define PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)
#else
#define PREFETCH_FAR(p) ((void)(p))
#endif
//}

#if !defined EINC_AVX512 && !defined EINC_FMA
//{ REGISTER_BYTES
/* A longer vector is in several registers. */
#define REGISTER_BYTES 16
//}
#endif

#if defined EINC_FMA && !defined EINC_AVX512
//{ REGISTER_BYTES@fma
/* A longer vector is in several registers. */
#define REGISTER_BYTES 32
//}
#endif

#ifdef EINC_AVX512
//{ REGISTER_BYTES@avx512
/* A longer vector is in several registers. */
#define REGISTER_BYTES 64
//}
#endif

#ifndef EINC_AVX512
//{ HOLD
/* A vector stays in its register: gcc would load it again for each use, and loads are scarcer than copies. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
#define HOLD(x) __asm__("" : "+x"(x))
#else
#define HOLD(x) ((void)0)
#endif
//}
#endif

#ifdef EINC_AVX512
//{ HOLD@avx512
/* A vector stays in its register: gcc would load it again for each use, and loads are scarcer than copies. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOLD(x) __asm__("" : "+v"(x))
#else
#define HOLD(x) ((void)0)
#endif
//}
#endif

//{ HOLD_POINTER
/* A pointer that might have become another: what is loaded from it is loaded again. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOLD_POINTER(p) __asm__("" : "+r"(p))
#else
#define HOLD_POINTER(p) ((void)0)
#endif
//}

#ifndef EINC_AVX512
//{ HOLD_STEPS
/* Steps from row to row are as the compiler sees them: so few rows have a register each. */
#define HOLD_STEPS(one, three, five) ((void)0)
//}
#endif

#ifdef EINC_AVX512
//{ HOLD_STEPS@avx512
/* Steps from row to row that might have become others: so the compiler multiplies them in addresses, where it costs
 * nothing, and not before, where more products than there are registers would wait in memory. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HOLD_STEPS(one, three, five) __asm__("" : "+r"(one), "+r"(three), "+r"(five))
#else
#define HOLD_STEPS(one, three, five) ((void)0)
#endif
//}
#endif

//{ CONTRACT
/* At the beginning of a function whose a * b + c is to be one instruction where the machine has it. */
#ifdef __clang__
#define CONTRACT _Pragma("clang fp contract(fast)")
#else
#define CONTRACT
#endif
//}

/* Registers. */

//{ f32v
#if EINC_VECTORS
typedef float f32v __attribute__((vector_size(4 * LANES)));
#else
typedef float f32v;
#endif
//}

//{ f64v
#if EINC_VECTORS
typedef double f64v LONG;
#else
typedef double f64v;
#endif
//}

//{ i32v
#if EINC_VECTORS
typedef int32_t i32v __attribute__((vector_size(4 * LANES)));
#else
typedef int32_t i32v;
#endif
//}

//{ i64v
#if EINC_VECTORS
typedef int64_t i64v LONG;
#else
typedef int64_t i64v;
#endif
//}

//{ u8v
#if EINC_VECTORS
typedef uint8_t u8v __attribute__((vector_size(LANES)));
#else
typedef uint8_t u8v;
#endif
//}

//{ i8v
#if EINC_VECTORS
typedef int8_t i8v __attribute__((vector_size(LANES)));
#else
typedef int8_t i8v;
#endif
//}

//{ u16v
#if EINC_VECTORS
typedef uint16_t u16v __attribute__((vector_size(2 * LANES)));
#else
typedef uint16_t u16v;
#endif
//}

//{ i16v
#if EINC_VECTORS
typedef int16_t i16v __attribute__((vector_size(2 * LANES)));
#else
typedef int16_t i16v;
#endif
//}

//{ u32v
#if EINC_VECTORS
typedef uint32_t u32v __attribute__((vector_size(4 * LANES)));
#else
typedef uint32_t u32v;
#endif
//}

//{ u64v
#if EINC_VECTORS
typedef uint64_t u64v LONG;
#else
typedef uint64_t u64v;
#endif
//}

//{ boolv
/* A truth per lane: 0 or -1 in a vector, 0 or 1 in a scalar. */
typedef i32v boolv;
//}

/* Memory. Arrays need not be aligned to their elements, so each dtype's element has a type of its own here. */

//{ UNALIGNED
#ifdef __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif
//}

//{ boolu
typedef uint8_t boolu;
//}

//{ i8u
typedef int8_t i8u;
//}

//{ i16u
typedef int16_t i16u UNALIGNED;
//}

//{ i32u
typedef int32_t i32u UNALIGNED;
//}

//{ u32u
typedef uint32_t u32u UNALIGNED;
//}

//{ i64u
typedef int64_t i64u UNALIGNED;
//}

//{ f16u
typedef uint16_t f16u UNALIGNED;
//}

//{ bf16u
typedef uint16_t bf16u UNALIGNED;
//}

//{ f32u
typedef float f32u UNALIGNED;
//}

//{ f64u
typedef double f64u UNALIGNED;
//}

/* Complex numbers; of a vector of them the parts are vectors. */

//{ c64
typedef struct c64 {
    float re, im;
} c64;
//}

//{ c128
typedef struct c128 {
    double re, im;
} c128;
//}

//{ c64v
typedef struct c64v {
    f32v re, im;
} c64v;
//}

//{ c128v
typedef struct c128v {
    f64v re, im;
} c128v;
//}

//{ c64u
typedef struct c64u {
    f32u re, im;
} c64u;
//}

//{ c128u
typedef struct c128u {
    f64u re, im;
} c128u;
//}

/* The same number in every lane. */

//{ splat_f32v
INLINE f32v splat_f32v(float x)
{
#if EINC_VECTORS
    f32v zero = {0};
    return x - zero;    /* which keeps -0 */
#else
    return x;
#endif
}
//}

//{ splat_f64v
INLINE f64v splat_f64v(double x)
{
#if EINC_VECTORS
    f64v zero = {0};
    return x - zero;
#else
    return x;
#endif
}
//}

//{ splat_i32v
INLINE i32v splat_i32v(int32_t x)
{
#if EINC_VECTORS
    i32v zero = {0};
    return x | zero;
#else
    return x;
#endif
}
//}

//{ splat_u32v
INLINE u32v splat_u32v(uint32_t x)
{
#if EINC_VECTORS
    u32v zero = {0};
    return x | zero;
#else
    return x;
#endif
}
//}

//{ splat_i64v
INLINE i64v splat_i64v(int64_t x)
{
#if EINC_VECTORS
    i64v zero = {0};
    return x | zero;
#else
    return x;
#endif
}
//}

//{ splat_boolv
INLINE boolv splat_boolv(int x)
{
#if EINC_VECTORS
    boolv zero = {0};
    return -(x != 0) | zero;
#else
    return x != 0;
#endif
}
//}

//{ splat_c64v
INLINE c64v splat_c64v(c64 x)
{
    c64v all;
    all.re = splat_f32v(x.re);
    all.im = splat_f32v(x.im);
    return all;
}
//}

//{ splat_c128v
INLINE c128v splat_c128v(c128 x)
{
    c128v all;
    all.re = splat_f64v(x.re);
    all.im = splat_f64v(x.im);
    return all;
}
//}

/* The same bits as another type. */

//{ bits_f32v
INLINE u32v bits_f32v(f32v x)
{
    u32v bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
//}

//{ from_bits_f32v
INLINE f32v from_bits_f32v(u32v bits)
{
    f32v x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
//}

//{ bits_f64v
INLINE u64v bits_f64v(f64v x)
{
    u64v bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
//}

//{ from_bits_f64v
INLINE f64v from_bits_f64v(u64v bits)
{
    f64v x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
//}

//{ bits_f32
INLINE uint32_t bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
//}

//{ from_bits_f32
INLINE float from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
//}

/* Single lanes. */

//{ lane_f32v
INLINE float lane_f32v(f32v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}
//}

//{ lane_f64v
INLINE double lane_f64v(f64v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}
//}

//{ lane_i32v
INLINE int32_t lane_i32v(i32v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}
//}

//{ lane_i64v
INLINE int64_t lane_i64v(i64v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}
//}

//{ lane_boolv
/* 0 or 1. */
INLINE int lane_boolv(boolv m, int l)
{
#if EINC_VECTORS
    return m[l] & 1;
#else
    (void)l;
    return m;
#endif
}
//}

//{ lanes_i32v
/* 0, 1, 2, ... */
INLINE i32v lanes_i32v(void)
{
    static const int32_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i32v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

//{ lanes_i64v
/* 0, 1, 2, ... */
INLINE i64v lanes_i64v(void)
{
    static const int64_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i64v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}
//}

#endif
