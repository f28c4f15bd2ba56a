/* Products of matrices in shared memory by Hopper's tensor cores, asynchronous, by a group of four warps. A library of regions, as
 * templates/types.c is. With EINC_MODEL they are whoever's who compiles: tests/cuda_hopper.h has models in C++.
 *
 * Each instruction adds the products of 64 lines of the left matrix and some of the right one, of 16 contracted points each. Of the
 * sums a warp has 16 rows, and a lane in two rows, 8 apart, two of each 8 columns: with row = lane / 4 and column = lane % 4 * 2
 * the sums 4 * n + 2 * r + c are those at (row + 8 * r, 8 * n + column + c). The left matrix may be in registers: then its words,
 * two numbers each, are where the sums of 16 columns would be. */
#include "../types.c"

//{ matrix_of
#ifndef EINC_MODEL
/* Describes a matrix whose lines of 128 bytes of contracted points lie one below the other, swizzled: in each 8 lines, which begin at
 * a multiple of 1024 bytes, line n has its 16-byte chunk c in place c ^ n. 32 bytes further on, 2 in the description, are the
 * next points. */
INLINE uint64_t matrix_of(const void *lines)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(lines), swizzle = 1, eight_lines = 1024;
    return (address & 0x3FFFF) >> 4 | (uint64_t)1 << 16 | eight_lines >> 4 << 32 | swizzle << 62;
}
#endif
//}

//{ panels_of
#ifndef EINC_MODEL
/* The same of a matrix whose lines lie side by side: 64 contracted points, one below the other, each with 128 bytes of 64 lines, are a
 * panel, and the next lines are in the next one. 16 points further on are 128 in the description. */
INLINE uint64_t panels_of(const void *lines)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(lines), swizzle = 1, eight_points = 1024, panel = 64 * 128;
    return (address & 0x3FFFF) >> 4 | panel >> 4 << 16 | eight_points >> 4 << 32 | swizzle << 62;
}
#endif
//}

//{ panels_apart
#ifndef EINC_MODEL
/* The same where a panel has other points than 64: the next one begins so many bytes further on. */
INLINE uint64_t panels_apart(const void *lines, int panel)
{
    const uint64_t address = (uint64_t)__cvta_generic_to_shared(lines), swizzle = 1, eight_points = 1024;
    return (address & 0x3FFFF) >> 4 | (uint64_t)panel >> 4 << 16 | eight_points >> 4 << 32 | swizzle << 62;
}
#endif
//}

//{ power_f32
#ifndef EINC_MODEL
/* 2^x of what is at most 1, to be rounded to 16 bits: those below 2^-126 are zeros. */
INLINE float power_f32(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}
#endif
//}

//{ pair_bf16
#ifndef EINC_MODEL
/* Two numbers, rounded, in a word. */
INLINE uint32_t pair_bf16(float first, float second)
{
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
}
#endif
//}

//{ pair_f16
#ifndef EINC_MODEL
/* Two numbers, rounded, in a word. */
INLINE uint32_t pair_f16(float first, float second)
{
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
    return word;
}
#endif
//}

//{ wgmma_fence
#ifndef EINC_MODEL
/* The sums' registers are as the thread has left them before the products that follow. */
INLINE void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
#endif
//}

//{ wgmma_commit
#ifndef EINC_MODEL
/* The products since the last time are a group. */
INLINE void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#endif
//}

//{ wgmma_wait
#ifndef EINC_MODEL
/* All groups but the last OPEN are done. */
template <int OPEN>
INLINE void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(OPEN) : "memory");
}
#endif
//}

//{ wgmma_settle
#ifndef EINC_MODEL
/* What reads a sum from here on reads it behind the last wait, and not before. */
INLINE void wgmma_settle(float *sum)
{
    asm volatile("" : "+f"(*sum));
}
#endif
//}

//{ SUMS_8
#define SUMS_8(at) "+f"(sums[at]), "+f"(sums[at + 1]), "+f"(sums[at + 2]), "+f"(sums[at + 3]), \
                   "+f"(sums[at + 4]), "+f"(sums[at + 5]), "+f"(sums[at + 6]), "+f"(sums[at + 7])
//}

//{ wgmma_bf16_64
#ifndef EINC_MODEL
/* Begins to add products of 64 by 64 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_bf16_64(float sums[32], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, adds, 1, 1, %35, %36;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_bf16_128
#ifndef EINC_MODEL
/* Begins to add products of 64 by 128 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_bf16_128(float sums[64], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, adds, 1, 1, %67, %68;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_bf16_160
#ifndef EINC_MODEL
/* Begins to add products of 64 by 160 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_bf16_160(float sums[80], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %82, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n160k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}, "
                 "%80, %81, adds, 1, 1, %83, %84;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
                   SUMS_8(64), SUMS_8(72)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_bf16_256
#ifndef EINC_MODEL
/* Begins to add products of 64 by 256 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_bf16_256(float sums[128], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, adds, 1, 1, %131, %132;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
                   SUMS_8(64), SUMS_8(72), SUMS_8(80), SUMS_8(88), SUMS_8(96), SUMS_8(104), SUMS_8(112), SUMS_8(120)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_f16_64
#ifndef EINC_MODEL
/* Begins to add products of 64 by 64 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_f16_64(float sums[32], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, adds, 1, 1, %35, %36;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_f16_128
#ifndef EINC_MODEL
/* Begins to add products of 64 by 128 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_f16_128(float sums[64], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, adds, 1, 1, %67, %68;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_f16_160
#ifndef EINC_MODEL
/* Begins to add products of 64 by 160 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_f16_160(float sums[80], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %82, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n160k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79}, "
                 "%80, %81, adds, 1, 1, %83, %84;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
                   SUMS_8(64), SUMS_8(72)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_f16_256
#ifndef EINC_MODEL
/* Begins to add products of 64 by 256 lines to the sums; without `adds`, in their place. */
template <int LEFT_PANELS, int RIGHT_PANELS>
INLINE void wgmma_f16_256(float sums[128], uint64_t left, uint64_t right, int adds)
{
    asm volatile("{\n"
                 ".reg .pred adds;\n"
                 "setp.ne.b32 adds, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, adds, 1, 1, %131, %132;\n"
                 "}"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
                   SUMS_8(64), SUMS_8(72), SUMS_8(80), SUMS_8(88), SUMS_8(96), SUMS_8(104), SUMS_8(112), SUMS_8(120)
                 : "l"(left), "l"(right), "r"(adds), "n"(LEFT_PANELS), "n"(RIGHT_PANELS));
}
#endif
//}

//{ wgmma_words_bf16_64
#ifndef EINC_MODEL
/* Begins to add products of 64 lines of words and 64 lines in panels to the sums. */
INLINE void wgmma_words_bf16_64(float sums[32], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
//}

//{ wgmma_words_bf16_128
#ifndef EINC_MODEL
/* Begins to add products of 64 lines of words and 128 lines in panels to the sums. */
INLINE void wgmma_words_bf16_128(float sums[64], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
//}

//{ wgmma_words_bf16_256
#ifndef EINC_MODEL
/* Begins to add products of 64 lines of words and 256 lines in panels to the sums. */
INLINE void wgmma_words_bf16_256(float sums[128], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "{%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
                   SUMS_8(64), SUMS_8(72), SUMS_8(80), SUMS_8(88), SUMS_8(96), SUMS_8(104), SUMS_8(112), SUMS_8(120)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
//}

//{ wgmma_words_f16_64
#ifndef EINC_MODEL
/* Begins to add products of 64 lines of words and 64 lines in panels to the sums. */
INLINE void wgmma_words_f16_64(float sums[32], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
//}

//{ wgmma_words_f16_128
#ifndef EINC_MODEL
/* Begins to add products of 64 lines of words and 128 lines in panels to the sums. */
INLINE void wgmma_words_f16_128(float sums[64], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
//}

//{ wgmma_words_f16_256
#ifndef EINC_MODEL
/* Begins to add products of 64 lines of words and 256 lines in panels to the sums. */
INLINE void wgmma_words_f16_256(float sums[128], const uint32_t left[4], uint64_t right)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "{%128, %129, %130, %131}, %132, 1, 1, 1, 1;"
                 : SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56),
                   SUMS_8(64), SUMS_8(72), SUMS_8(80), SUMS_8(88), SUMS_8(96), SUMS_8(104), SUMS_8(112), SUMS_8(120)
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));
}
#endif
//}
