/* Folds of a vector's lanes into one number, as a tree of halves: the same order of additions on every machine with as
 * many lanes. */
#ifndef TEMPLATES_FOLD
#define TEMPLATES_FOLD

#include "minmax.c"
#include "integer.c"
#include "memory.c"

//{ flip_f32v
/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE f32v flip_f32v(f32v x, int n)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, lanes_i32v() ^ n);
#else
    float lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
#endif
}
//}

//{ fold_sum_f32v
INLINE float fold_sum_f32v(f32v x)
{
    if (LANES > 8)
        x = x + flip_f32v(x, 8);
    if (LANES > 4)
        x = x + flip_f32v(x, 4);
    if (LANES > 2)
        x = x + flip_f32v(x, 2);
    if (LANES > 1)
        x = x + flip_f32v(x, 1);
    return lane_f32v(x, 0);
}
//}

//{ are_finite_f32
/* Whether so many numbers, of whole vectors, are finite: others times 0 are NaN. */
INLINE int are_finite_f32(const float *x, int64_t count)
{
    f32v sum = splat_f32v(0.0f);
    for (int64_t i = 0; i < count; i += LANES)
        sum = sum + load_f32v(x + i, 1, LANES) * 0.0f;
    return fold_sum_f32v(sum) == 0;
}
//}

//{ are_finite_bf16
/* Whether so many pairs of numbers, of whole vectors, are finite: others times 0 are NaN. */
INLINE int are_finite_bf16(const float *pairs, int64_t count)
{
    f32v sum = splat_f32v(0.0f);
    for (int64_t i = 0; i < count; i += LANES) {
        const u32v bits = bits_f32v(load_f32v(pairs + i, 1, LANES));
        sum = sum + from_bits_f32v(bits << 16) * 0.0f;
        sum = sum + from_bits_f32v(bits & 0xFFFF0000) * 0.0f;
    }
    return fold_sum_f32v(sum) == 0;
}
//}

//{ fold_prod_f32v
INLINE float fold_prod_f32v(f32v x)
{
    if (LANES > 8)
        x = x * flip_f32v(x, 8);
    if (LANES > 4)
        x = x * flip_f32v(x, 4);
    if (LANES > 2)
        x = x * flip_f32v(x, 2);
    if (LANES > 1)
        x = x * flip_f32v(x, 1);
    return lane_f32v(x, 0);
}
//}

//{ fold_max_f32v
INLINE float fold_max_f32v(f32v x)
{
    if (LANES > 8)
        x = max_f32v(x, flip_f32v(x, 8));
    if (LANES > 4)
        x = max_f32v(x, flip_f32v(x, 4));
    if (LANES > 2)
        x = max_f32v(x, flip_f32v(x, 2));
    if (LANES > 1)
        x = max_f32v(x, flip_f32v(x, 1));
    return lane_f32v(x, 0);
}
//}

//{ fold_min_f32v
INLINE float fold_min_f32v(f32v x)
{
    if (LANES > 8)
        x = min_f32v(x, flip_f32v(x, 8));
    if (LANES > 4)
        x = min_f32v(x, flip_f32v(x, 4));
    if (LANES > 2)
        x = min_f32v(x, flip_f32v(x, 2));
    if (LANES > 1)
        x = min_f32v(x, flip_f32v(x, 1));
    return lane_f32v(x, 0);
}
//}

//{ flip_f64v
/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE f64v flip_f64v(f64v x, int n)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, lanes_i64v() ^ n);
#else
    double lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
#endif
}
//}

//{ fold_sum_f64v
INLINE double fold_sum_f64v(f64v x)
{
    if (LANES > 8)
        x = x + flip_f64v(x, 8);
    if (LANES > 4)
        x = x + flip_f64v(x, 4);
    if (LANES > 2)
        x = x + flip_f64v(x, 2);
    if (LANES > 1)
        x = x + flip_f64v(x, 1);
    return lane_f64v(x, 0);
}
//}

//{ are_finite_f64
/* Whether so many numbers, of whole vectors, are finite: others times 0 are NaN. */
INLINE int are_finite_f64(const double *x, int64_t count)
{
    f64v sum = splat_f64v(0.0);
    for (int64_t i = 0; i < count; i += LANES)
        sum = sum + load_f64v(x + i, 1, LANES) * 0.0;
    return fold_sum_f64v(sum) == 0;
}
//}

//{ fold_prod_f64v
INLINE double fold_prod_f64v(f64v x)
{
    if (LANES > 8)
        x = x * flip_f64v(x, 8);
    if (LANES > 4)
        x = x * flip_f64v(x, 4);
    if (LANES > 2)
        x = x * flip_f64v(x, 2);
    if (LANES > 1)
        x = x * flip_f64v(x, 1);
    return lane_f64v(x, 0);
}
//}

//{ fold_max_f64v
INLINE double fold_max_f64v(f64v x)
{
    if (LANES > 8)
        x = max_f64v(x, flip_f64v(x, 8));
    if (LANES > 4)
        x = max_f64v(x, flip_f64v(x, 4));
    if (LANES > 2)
        x = max_f64v(x, flip_f64v(x, 2));
    if (LANES > 1)
        x = max_f64v(x, flip_f64v(x, 1));
    return lane_f64v(x, 0);
}
//}

//{ fold_min_f64v
INLINE double fold_min_f64v(f64v x)
{
    if (LANES > 8)
        x = min_f64v(x, flip_f64v(x, 8));
    if (LANES > 4)
        x = min_f64v(x, flip_f64v(x, 4));
    if (LANES > 2)
        x = min_f64v(x, flip_f64v(x, 2));
    if (LANES > 1)
        x = min_f64v(x, flip_f64v(x, 1));
    return lane_f64v(x, 0);
}
//}

//{ flip_i32v
/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE i32v flip_i32v(i32v x, int n)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, lanes_i32v() ^ n);
#else
    int32_t lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
#endif
}
//}

//{ fold_sum_i32v
INLINE int32_t fold_sum_i32v(i32v x)
{
    if (LANES > 8)
        x = add_i32v(x, flip_i32v(x, 8));
    if (LANES > 4)
        x = add_i32v(x, flip_i32v(x, 4));
    if (LANES > 2)
        x = add_i32v(x, flip_i32v(x, 2));
    if (LANES > 1)
        x = add_i32v(x, flip_i32v(x, 1));
    return lane_i32v(x, 0);
}
//}

//{ fold_prod_i32v
INLINE int32_t fold_prod_i32v(i32v x)
{
    if (LANES > 8)
        x = mul_i32v(x, flip_i32v(x, 8));
    if (LANES > 4)
        x = mul_i32v(x, flip_i32v(x, 4));
    if (LANES > 2)
        x = mul_i32v(x, flip_i32v(x, 2));
    if (LANES > 1)
        x = mul_i32v(x, flip_i32v(x, 1));
    return lane_i32v(x, 0);
}
//}

//{ fold_max_i32v
INLINE int32_t fold_max_i32v(i32v x)
{
    if (LANES > 8)
        x = max_i32v(x, flip_i32v(x, 8));
    if (LANES > 4)
        x = max_i32v(x, flip_i32v(x, 4));
    if (LANES > 2)
        x = max_i32v(x, flip_i32v(x, 2));
    if (LANES > 1)
        x = max_i32v(x, flip_i32v(x, 1));
    return lane_i32v(x, 0);
}
//}

//{ fold_min_i32v
INLINE int32_t fold_min_i32v(i32v x)
{
    if (LANES > 8)
        x = min_i32v(x, flip_i32v(x, 8));
    if (LANES > 4)
        x = min_i32v(x, flip_i32v(x, 4));
    if (LANES > 2)
        x = min_i32v(x, flip_i32v(x, 2));
    if (LANES > 1)
        x = min_i32v(x, flip_i32v(x, 1));
    return lane_i32v(x, 0);
}
//}

//{ flip_i64v
/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE i64v flip_i64v(i64v x, int n)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, lanes_i64v() ^ n);
#else
    int64_t lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
#endif
}
//}

//{ fold_sum_i64v
INLINE int64_t fold_sum_i64v(i64v x)
{
    if (LANES > 8)
        x = add_i64v(x, flip_i64v(x, 8));
    if (LANES > 4)
        x = add_i64v(x, flip_i64v(x, 4));
    if (LANES > 2)
        x = add_i64v(x, flip_i64v(x, 2));
    if (LANES > 1)
        x = add_i64v(x, flip_i64v(x, 1));
    return lane_i64v(x, 0);
}
//}

//{ fold_prod_i64v
INLINE int64_t fold_prod_i64v(i64v x)
{
    if (LANES > 8)
        x = mul_i64v(x, flip_i64v(x, 8));
    if (LANES > 4)
        x = mul_i64v(x, flip_i64v(x, 4));
    if (LANES > 2)
        x = mul_i64v(x, flip_i64v(x, 2));
    if (LANES > 1)
        x = mul_i64v(x, flip_i64v(x, 1));
    return lane_i64v(x, 0);
}
//}

//{ fold_max_i64v
INLINE int64_t fold_max_i64v(i64v x)
{
    if (LANES > 8)
        x = max_i64v(x, flip_i64v(x, 8));
    if (LANES > 4)
        x = max_i64v(x, flip_i64v(x, 4));
    if (LANES > 2)
        x = max_i64v(x, flip_i64v(x, 2));
    if (LANES > 1)
        x = max_i64v(x, flip_i64v(x, 1));
    return lane_i64v(x, 0);
}
//}

//{ fold_min_i64v
INLINE int64_t fold_min_i64v(i64v x)
{
    if (LANES > 8)
        x = min_i64v(x, flip_i64v(x, 8));
    if (LANES > 4)
        x = min_i64v(x, flip_i64v(x, 4));
    if (LANES > 2)
        x = min_i64v(x, flip_i64v(x, 2));
    if (LANES > 1)
        x = min_i64v(x, flip_i64v(x, 1));
    return lane_i64v(x, 0);
}
//}

//{ exchange_f32v
/* In each square of 2n by 2n the two n by n corners off the diagonal change places. */
INLINE void exchange_f32v(f32v *x, int n)
{
#if EINC_SHUFFLES
    const i32v lane = lanes_i32v(), from = lane + (((lane & n) != 0) & (LANES - n));    /* lanes of two vectors */
#else
    const boolv upper = (lanes_i32v() & n) != 0;
#endif
    UNROLL
    for (int pair = 0; pair < LANES / 2; pair++) {
        const int i = pair / n * 2 * n + pair % n;
        const f32v a = x[i], b = x[i + n];
#if EINC_SHUFFLES
        x[i] = __builtin_shuffle(a, b, from);
        x[i + n] = __builtin_shuffle(a, b, from + n);
#else
        x[i] = select_f32v(upper, flip_f32v(b, n), a);
        x[i + n] = select_f32v(upper, b, flip_f32v(a, n));
#endif
    }
}
//}

//{ transpose_f32v
/* Lane j of x[i] becomes lane i of x[j]. */
APART void transpose_f32v(f32v *x)
{
    if (LANES > 1)
        exchange_f32v(x, 1);
    if (LANES > 2)
        exchange_f32v(x, 2);
    if (LANES > 4)
        exchange_f32v(x, 4);
    if (LANES > 8)
        exchange_f32v(x, 8);
}
//}

//{ exchange_f64v
/* In each square of 2n by 2n the two n by n corners off the diagonal change places. */
INLINE void exchange_f64v(f64v *x, int n)
{
#if EINC_SHUFFLES
    const i64v lane = lanes_i64v(), from = lane + (((lane & n) != 0) & (LANES - n));    /* lanes of two vectors */
#else
    const boolv upper = (lanes_i32v() & n) != 0;
#endif
    UNROLL
    for (int pair = 0; pair < LANES / 2; pair++) {
        const int i = pair / n * 2 * n + pair % n;
        const f64v a = x[i], b = x[i + n];
#if EINC_SHUFFLES
        x[i] = __builtin_shuffle(a, b, from);
        x[i + n] = __builtin_shuffle(a, b, from + n);
#else
        x[i] = select_f64v(upper, flip_f64v(b, n), a);
        x[i + n] = select_f64v(upper, b, flip_f64v(a, n));
#endif
    }
}
//}

//{ transpose_f64v
/* Lane j of x[i] becomes lane i of x[j]. */
APART void transpose_f64v(f64v *x)
{
    if (LANES > 1)
        exchange_f64v(x, 1);
    if (LANES > 2)
        exchange_f64v(x, 2);
    if (LANES > 4)
        exchange_f64v(x, 4);
    if (LANES > 8)
        exchange_f64v(x, 8);
}
//}

//{ exchange_i32v
/* In each square of 2n by 2n the two n by n corners off the diagonal change places. */
INLINE void exchange_i32v(i32v *x, int n)
{
#if EINC_SHUFFLES
    const i32v lane = lanes_i32v(), from = lane + (((lane & n) != 0) & (LANES - n));    /* lanes of two vectors */
#else
    const boolv upper = (lanes_i32v() & n) != 0;
#endif
    UNROLL
    for (int pair = 0; pair < LANES / 2; pair++) {
        const int i = pair / n * 2 * n + pair % n;
        const i32v a = x[i], b = x[i + n];
#if EINC_SHUFFLES
        x[i] = __builtin_shuffle(a, b, from);
        x[i + n] = __builtin_shuffle(a, b, from + n);
#else
        x[i] = select_i32v(upper, flip_i32v(b, n), a);
        x[i + n] = select_i32v(upper, b, flip_i32v(a, n));
#endif
    }
}
//}

//{ transpose_i32v
/* Lane j of x[i] becomes lane i of x[j]. */
APART void transpose_i32v(i32v *x)
{
    if (LANES > 1)
        exchange_i32v(x, 1);
    if (LANES > 2)
        exchange_i32v(x, 2);
    if (LANES > 4)
        exchange_i32v(x, 4);
    if (LANES > 8)
        exchange_i32v(x, 8);
}
//}

/* Scans. */

//{ later_f32v
/* Each lane's number n lanes later; the first n are `first`. */
INLINE f32v later_f32v(f32v x, int n, float first)
{
#if EINC_SHUFFLES
    const i32v from = lanes_i32v() - n;
    return __builtin_shuffle(splat_f32v(first), x, from + LANES);
#else
    float lanes[LANES], moved[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        moved[l] = l < n ? first : lanes[l - n];
    memcpy(&x, moved, sizeof x);
    return x;
#endif
}
//}

//{ later_f64v
/* Each lane's number n lanes later; the first n are `first`. */
INLINE f64v later_f64v(f64v x, int n, double first)
{
#if EINC_SHUFFLES
    const i64v from = lanes_i64v() - n;
    return __builtin_shuffle(splat_f64v(first), x, from + LANES);
#else
    double lanes[LANES], moved[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        moved[l] = l < n ? first : lanes[l - n];
    memcpy(&x, moved, sizeof x);
    return x;
#endif
}
//}

//{ later_i32v
/* Each lane's number n lanes later; the first n are `first`. */
INLINE i32v later_i32v(i32v x, int n, int32_t first)
{
#if EINC_SHUFFLES
    const i32v from = lanes_i32v() - n;
    return __builtin_shuffle(splat_i32v(first), x, from + LANES);
#else
    int32_t lanes[LANES], moved[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        moved[l] = l < n ? first : lanes[l - n];
    memcpy(&x, moved, sizeof x);
    return x;
#endif
}
//}

//{ later_i64v
/* Each lane's number n lanes later; the first n are `first`. */
INLINE i64v later_i64v(i64v x, int n, int64_t first)
{
#if EINC_SHUFFLES
    const i64v from = lanes_i64v() - n;
    return __builtin_shuffle(splat_i64v(first), x, from + LANES);
#else
    int64_t lanes[LANES], moved[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        moved[l] = l < n ? first : lanes[l - n];
    memcpy(&x, moved, sizeof x);
    return x;
#endif
}
//}

#endif
