/* Products of matrices in a warp's registers. A library of regions, as templates/types.c is. With EINC_MODEL they are whoever's
 * who compiles: tests/cuda_emulator.h has models in C++.
 *
 * Of 16 rows by 32 bytes a lane has four words: with row = lane / 4 and word = lane % 4 those at (row, word), (row + 8, word),
 * (row, word + 4), (row + 8, word + 4). Of 8 columns by 32 bytes it has (column, word) and (column, word + 4) with column = lane /
 * 4. Of the sums it has columns 2 * word and 2 * word + 1 of both rows. */
#include "../types.c"

//{ load_matrices
#ifndef EINC_MODEL
/* Four matrices of 8 lines by 16 bytes from shared memory: lanes 8 * m to 8 * m + 7 say where the lines of the m-th begin, and
 * each lane gets word lane % 4 of line lane / 4 of all. */
INLINE void load_matrices(uint32_t words[4], const void *line)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"((unsigned)__cvta_generic_to_shared(line)) : "memory");
}
#endif
//}

//{ load_matrices_turned
#ifndef EINC_MODEL
/* The same of numbers of 16 bits, with each matrix turned: a lane gets numbers 2 * (lane % 4) and the next of column lane / 4. */
INLINE void load_matrices_turned(uint32_t words[4], const void *line)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"((unsigned)__cvta_generic_to_shared(line)) : "memory");
}
#endif
//}

//{ part_bf16
/* The first 16 bits of two numbers; these become what is left of them. Three times, and nothing is. */
INLINE uint32_t part_bf16(float *first, float *second)
{
    const uint32_t bits[2] = { bits_f32(*first), bits_f32(*second) };
    const uint32_t part[2] = { bits[0] & 0xFFFF0000, bits[1] & 0xFFFF0000 };
    *first = bits[0] == part[0] ? 0 : *first - from_bits_f32(part[0]);
    *second = bits[1] == part[1] ? 0 : *second - from_bits_f32(part[1]);
    return part[0] >> 16 | part[1];
}
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

//{ part_near_bf16
/* The numbers of 16 bits that are nearest to two, given as bits; these become what is left of them. */
INLINE uint32_t part_near_bf16(uint32_t *first, uint32_t *second)
{
    const float x = from_bits_f32(*first), y = from_bits_f32(*second);
    const uint32_t part = pair_bf16(x, y);
    *first = bits_f32(x - from_bits_f32(part << 16));
    *second = bits_f32(y - from_bits_f32(part & 0xFFFF0000));
    return part;
}
//}

//{ near_tf32
#ifndef EINC_MODEL
/* The number of 19 bits that is nearest to one, given as bits. */
INLINE uint32_t near_tf32(uint32_t number)
{
    uint32_t word;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(from_bits_f32(number)));
    return word;
}
#endif
//}

//{ finite_bf16
/* Two numbers, with zeros for those that are infinite or none. */
INLINE uint32_t finite_bf16(uint32_t pair)
{
    const uint32_t odd = ((pair & 0x7F807F80) + 0x00800080) & 0x80008000;
    return odd ? pair & ~((odd >> 15) * 0xFFFF) : pair;
}
//}

//{ mma_bf16
#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. */
INLINE void mma_bf16(float *sums, float *below, const uint32_t left[4], const uint32_t right[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif
//}

//{ mma_tf32
#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. */
INLINE void mma_tf32(float *sums, float *below, const uint32_t left[4], const uint32_t right[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif
//}

//{ mma_f16
#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. */
INLINE void mma_f16(float *sums, float *below, const uint32_t left[4], const uint32_t right[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif
//}

//{ mma_i8
#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. */
INLINE void mma_i8(int32_t *sums, int32_t *below, const uint32_t left[4], const uint32_t right[2])
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(below[0]), "+r"(below[1])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif
//}

//{ mma_f64
#ifndef EINC_MODEL
/* Adds to two sums of one row and two of the row 8 further on. Of 8 points a lane has those lane % 4 and 4 more, of both rows and of
 * a column. */
INLINE void mma_f64(double *sums, double *below, const double left[4], const double right[2])
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(sums[0]), "+d"(sums[1]), "+d"(below[0]), "+d"(below[1])
        : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(right[0]), "d"(right[1]));
#else
    UNROLL
    for (int far = 0; far < 2; far++) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sums[0]), "+d"(sums[1]) : "d"(left[2 * far]), "d"(right[far]));
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(below[0]), "+d"(below[1]) : "d"(left[2 * far + 1]), "d"(right[far]));
    }
#endif
}
#endif
//}

//{ mma_f64_few
#ifndef EINC_MODEL
/* The same of 4 points, each lane's lane % 4, beginning with other sums, for tensor cores that have such an instruction. */
INLINE void mma_f64_few(double sums[4], const double begin[4], const double left[2], double right)
{
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=d"(sums[0]), "=d"(sums[1]), "=d"(sums[2]), "=d"(sums[3])
        : "d"(left[0]), "d"(left[1]), "d"(right), "d"(begin[0]), "d"(begin[1]), "d"(begin[2]), "d"(begin[3]));
}
#endif
//}

//{ size_up_f32
/* The size of what is 2^896 times a number, rounded toward zero, where f32 has that: the number's exponent has its bits. */
INLINE float size_up_f32(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return from_bits_f32((uint32_t)(bits >> 29));
}
//}
