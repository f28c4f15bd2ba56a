/* Arithmetic on i32 and i64. It wraps around, by way of unsigned numbers, and never traps. */
#ifndef TEMPLATES_INTEGER
#define TEMPLATES_INTEGER

#include "mask.c"

//{ add_i32
INLINE int32_t add_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}
//}

//{ sub_i32
INLINE int32_t sub_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}
//}

//{ mul_i32
INLINE int32_t mul_i32(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}
//}

//{ neg_i32
INLINE int32_t neg_i32(int32_t x)
{
    return (int32_t)-(uint32_t)x;
}
//}

//{ square_i32
INLINE int32_t square_i32(int32_t x)
{
    return (int32_t)((uint32_t)x * (uint32_t)x);
}
//}

//{ abs_i32
/* The least integer stays as it is. */
INLINE int32_t abs_i32(int32_t x)
{
    return x < 0 ? (int32_t)-(uint32_t)x : x;
}
//}

//{ sign_i32
INLINE int32_t sign_i32(int32_t x)
{
    return (x > 0) - (x < 0);
}
//}

//{ min_i32
INLINE int32_t min_i32(int32_t a, int32_t b)
{
    return a < b ? a : b;
}
//}

//{ max_i32
INLINE int32_t max_i32(int32_t a, int32_t b)
{
    return a > b ? a : b;
}
//}

//{ relu_i32
INLINE int32_t relu_i32(int32_t x)
{
    return x < 0 ? 0 : x;
}
//}

//{ clamp_i32
INLINE int32_t clamp_i32(int32_t x, int32_t low, int32_t high)
{
    return min_i32(max_i32(x, low), high);
}
//}

//{ mod_i32
/* The remainder with the divisor's sign, as in Python; 0 for a divisor of 0. */
INLINE int32_t mod_i32(int32_t a, int32_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int32_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//}

//{ pow_i32
/* By squaring. A negative exponent gives what is left of the fraction: 0, or 1 and -1 for the bases 1 and -1. */
INLINE int32_t pow_i32(int32_t x, int32_t exponent)
{
    if (exponent < 0)
        return x == 1 ? 1 : x == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint32_t base = (uint32_t)x, power = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            power *= base;
        base *= base;
    }
    return (int32_t)power;
}
//}

//{ add_i32v
INLINE i32v add_i32v(i32v a, i32v b)
{
    return (i32v)((u32v)a + (u32v)b);
}
//}

//{ sub_i32v
INLINE i32v sub_i32v(i32v a, i32v b)
{
    return (i32v)((u32v)a - (u32v)b);
}
//}

//{ mul_i32v
INLINE i32v mul_i32v(i32v a, i32v b)
{
    return (i32v)((u32v)a * (u32v)b);
}
//}

//{ neg_i32v
INLINE i32v neg_i32v(i32v x)
{
    return (i32v)-(u32v)x;
}
//}

//{ square_i32v
INLINE i32v square_i32v(i32v x)
{
    return (i32v)((u32v)x * (u32v)x);
}
//}

//{ abs_i32v
/* The least integer stays as it is. */
INLINE i32v abs_i32v(i32v x)
{
    return select_i32v(x < 0, (i32v)-(u32v)x, x);
}
//}

//{ sign_i32v
INLINE i32v sign_i32v(i32v x)
{
    i32v zero = splat_i32v(0);
    return select_i32v(x > zero, splat_i32v(1), select_i32v(x < zero, splat_i32v(-1), zero));
}
//}

#ifndef EINC_AVX512
//{ min_i32v
INLINE i32v min_i32v(i32v a, i32v b)
{
    return select_i32v(a < b, a, b);
}
//}
#else
//{ min_i32v@avx512
INLINE i32v min_i32v(i32v a, i32v b)
{
#if EINC_VECTORS && LANES >= 4 && LANES <= 16
    i32v r;
    __asm__("vpminsd %1, %2, %0" : "=v"(r) : "v"(b), "v"(a));
    return r;
#else
    return select_i32v(a < b, a, b);
#endif
}
//}
#endif

#ifndef EINC_AVX512
//{ max_i32v
INLINE i32v max_i32v(i32v a, i32v b)
{
    return select_i32v(a > b, a, b);
}
//}
#else
//{ max_i32v@avx512
INLINE i32v max_i32v(i32v a, i32v b)
{
#if EINC_VECTORS && LANES >= 4 && LANES <= 16
    i32v r;
    __asm__("vpmaxsd %1, %2, %0" : "=v"(r) : "v"(b), "v"(a));
    return r;
#else
    return select_i32v(a > b, a, b);
#endif
}
//}
#endif

//{ relu_i32v
INLINE i32v relu_i32v(i32v x)
{
    return max_i32v(x, splat_i32v(0));
}
//}

//{ clamp_i32v
INLINE i32v clamp_i32v(i32v x, i32v low, i32v high)
{
    return min_i32v(max_i32v(x, low), high);
}
//}

//{ mod_i32v
INLINE i32v mod_i32v(i32v a, i32v b)
{
    int32_t lanes[LANES], others[LANES];
    memcpy(lanes, &a, sizeof a);
    memcpy(others, &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = mod_i32(lanes[l], others[l]);
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ pow_i32v
INLINE i32v pow_i32v(i32v a, i32v b)
{
    int32_t lanes[LANES], others[LANES];
    memcpy(lanes, &a, sizeof a);
    memcpy(others, &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = pow_i32(lanes[l], others[l]);
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ add_i64
INLINE int64_t add_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
//}

//{ sub_i64
INLINE int64_t sub_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}
//}

//{ mul_i64
INLINE int64_t mul_i64(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}
//}

//{ neg_i64
INLINE int64_t neg_i64(int64_t x)
{
    return (int64_t)-(uint64_t)x;
}
//}

//{ square_i64
INLINE int64_t square_i64(int64_t x)
{
    return (int64_t)((uint64_t)x * (uint64_t)x);
}
//}

//{ abs_i64
/* The least integer stays as it is. */
INLINE int64_t abs_i64(int64_t x)
{
    return x < 0 ? (int64_t)-(uint64_t)x : x;
}
//}

//{ sign_i64
INLINE int64_t sign_i64(int64_t x)
{
    return (x > 0) - (x < 0);
}
//}

//{ min_i64
INLINE int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
//}

//{ max_i64
INLINE int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
//}

//{ relu_i64
INLINE int64_t relu_i64(int64_t x)
{
    return x < 0 ? 0 : x;
}
//}

//{ clamp_i64
INLINE int64_t clamp_i64(int64_t x, int64_t low, int64_t high)
{
    return min_i64(max_i64(x, low), high);
}
//}

//{ mod_i64
/* The remainder with the divisor's sign, as in Python; 0 for a divisor of 0. */
INLINE int64_t mod_i64(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
//}

//{ pow_i64
/* By squaring. A negative exponent gives what is left of the fraction: 0, or 1 and -1 for the bases 1 and -1. */
INLINE int64_t pow_i64(int64_t x, int64_t exponent)
{
    if (exponent < 0)
        return x == 1 ? 1 : x == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)x, power = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            power *= base;
        base *= base;
    }
    return (int64_t)power;
}
//}

//{ add_i64v
INLINE i64v add_i64v(i64v a, i64v b)
{
    return (i64v)((u64v)a + (u64v)b);
}
//}

//{ sub_i64v
INLINE i64v sub_i64v(i64v a, i64v b)
{
    return (i64v)((u64v)a - (u64v)b);
}
//}

//{ mul_i64v
INLINE i64v mul_i64v(i64v a, i64v b)
{
    return (i64v)((u64v)a * (u64v)b);
}
//}

//{ neg_i64v
INLINE i64v neg_i64v(i64v x)
{
    return (i64v)-(u64v)x;
}
//}

//{ square_i64v
INLINE i64v square_i64v(i64v x)
{
    return (i64v)((u64v)x * (u64v)x);
}
//}

//{ abs_i64v
/* The least integer stays as it is. */
INLINE i64v abs_i64v(i64v x)
{
    return choose_i64v(x < 0, (i64v)-(u64v)x, x);
}
//}

//{ sign_i64v
INLINE i64v sign_i64v(i64v x)
{
    i64v zero = splat_i64v(0);
    return choose_i64v(x > zero, splat_i64v(1), choose_i64v(x < zero, splat_i64v(-1), zero));
}
//}

//{ min_i64v
INLINE i64v min_i64v(i64v a, i64v b)
{
    return choose_i64v(a < b, a, b);
}
//}

//{ max_i64v
INLINE i64v max_i64v(i64v a, i64v b)
{
    return choose_i64v(a > b, a, b);
}
//}

//{ relu_i64v
INLINE i64v relu_i64v(i64v x)
{
    return max_i64v(x, splat_i64v(0));
}
//}

//{ clamp_i64v
INLINE i64v clamp_i64v(i64v x, i64v low, i64v high)
{
    return min_i64v(max_i64v(x, low), high);
}
//}

//{ mod_i64v
INLINE i64v mod_i64v(i64v a, i64v b)
{
    int64_t lanes[LANES], others[LANES];
    memcpy(lanes, &a, sizeof a);
    memcpy(others, &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = mod_i64(lanes[l], others[l]);
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

//{ pow_i64v
INLINE i64v pow_i64v(i64v a, i64v b)
{
    int64_t lanes[LANES], others[LANES];
    memcpy(lanes, &a, sizeof a);
    memcpy(others, &b, sizeof b);
    for (int l = 0; l < LANES; l++)
        lanes[l] = pow_i64(lanes[l], others[l]);
    memcpy(&a, lanes, sizeof a);
    return a;
}
//}

#endif
