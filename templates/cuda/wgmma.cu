/* Products of matrices in shared memory by Hopper's tensor cores, asynchronous, by a group of four warps. A library of regions, as
 * templates/types.c is. With EINC_MODEL they are whoever's who compiles: tests/cuda_hopper.h has models in C++.
 *
 * Each instruction adds the products of 64 lines of the left matrix and some of the right one, of 32 bytes of contracted points
 * each. Of the
 * sums a warp has 16 rows, and a lane in two rows, 8 apart, two of each 8 columns: with row = lane / 4 and column = lane % 4 * 2
 * the sums 4 * n + 2 * r + c are those at (row + 8 * r, 8 * n + column + c). The left matrix may be in registers: then its words,
 * two numbers each, are where the sums of 16 columns would be. The instruction itself, whose text is another for each number of
 * lines, is written by compiler/emit_wgmma.c. */
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

//{ wgmma_settle_f32
#ifndef EINC_MODEL
/* What reads a sum from here on reads it behind the last wait, and not before. */
INLINE void wgmma_settle_f32(float *sum)
{
    asm volatile("" : "+f"(*sum));
}
#endif
//}

//{ wgmma_settle_i32
#ifndef EINC_MODEL
/* What reads a sum from here on reads it behind the last wait, and not before. */
INLINE void wgmma_settle_i32(int32_t *sum)
{
    asm volatile("" : "+r"(*sum));
}
#endif
//}

//{ SUMS_4_i32
#define SUMS_4_i32(at) "+r"(sums[at]), "+r"(sums[at + 1]), "+r"(sums[at + 2]), "+r"(sums[at + 3])
//}

//{ SUMS_4_f32
#define SUMS_4_f32(at) "+f"(sums[at]), "+f"(sums[at + 1]), "+f"(sums[at + 2]), "+f"(sums[at + 3])
//}
