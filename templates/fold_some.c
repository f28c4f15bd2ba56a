/* Sums of several vectors' lanes at once: vectors share the additions of a tree, which is that of the folds of one. */
#ifndef TEMPLATES_FOLD_SOME
#define TEMPLATES_FOLD_SOME

#include "fold.c"

//{ pair_f32v
#if EINC_SHUFFLES
/* A level of two trees: lanes without the bit n have a's lane and its partner, those with it b's. */
INLINE f32v pair_f32v(f32v a, f32v b, int n)
{
    const i32v second = (lanes_i32v() & n) != 0, own = lanes_i32v() ^ (second & (n | LANES));
    return __builtin_shuffle(a, b, own) + __builtin_shuffle(a, b, own ^ n);
}
#endif
//}

//{ fold_sums_f32v
/* What fold_sum_f32v() makes of each of so many vectors, a number that is known when this is compiled. */
INLINE void fold_sums_f32v(const f32v *x, int points, float *sums)
{
#if EINC_SHUFFLES
    UNROLL
    for (int first = 0; first < points; first += LANES) {
        const int count = points - first < LANES ? points - first : LANES;
        const int pairs = count > 8 ? 8 : count > 4 ? 4 : count > 2 ? 2 : count > 1;
        f32v some[LANES];
        float lanes[LANES];
        UNROLL
        for (int i = 0; i < LANES; i++)
            some[i] = i < count ? x[first + i] : splat_f32v(0);
        UNROLL
        for (int level = 1; level < LANES; level *= 2) {
            const int apart = pairs / level, n = LANES / 2 / level;
            UNROLL
            for (int i = 0; i < LANES / 2; i++)
                if (i < apart)
                    some[i] = pair_f32v(some[i], some[i + apart], n);
            if (apart == 0)
                some[0] = some[0] + flip_f32v(some[0], n);
        }
        memcpy(lanes, some, sizeof lanes);
        UNROLL
        for (int i = 0; i < LANES; i++)
            if (i < count)
                sums[first + i] = lanes[i * (LANES / (pairs ? 2 * pairs : 1)) & (LANES - 1)];
    }
#else
    UNROLL_POINTS
    for (int i = 0; i < points; i++)
        sums[i] = fold_sum_f32v(x[i]);
#endif
}
//}

//{ pair_f64v
#if EINC_SHUFFLES
/* A level of two trees: lanes without the bit n have a's lane and its partner, those with it b's. */
INLINE f64v pair_f64v(f64v a, f64v b, int n)
{
    const i64v second = (lanes_i64v() & n) != 0, own = lanes_i64v() ^ (second & (n | LANES));
    return __builtin_shuffle(a, b, own) + __builtin_shuffle(a, b, own ^ n);
}
#endif
//}

//{ fold_sums_f64v
/* What fold_sum_f64v() makes of each of so many vectors, a number that is known when this is compiled. */
INLINE void fold_sums_f64v(const f64v *x, int points, double *sums)
{
#if EINC_SHUFFLES
    UNROLL
    for (int first = 0; first < points; first += LANES) {
        const int count = points - first < LANES ? points - first : LANES;
        const int pairs = count > 8 ? 8 : count > 4 ? 4 : count > 2 ? 2 : count > 1;
        f64v some[LANES];
        double lanes[LANES];
        UNROLL
        for (int i = 0; i < LANES; i++)
            some[i] = i < count ? x[first + i] : splat_f64v(0);
        UNROLL
        for (int level = 1; level < LANES; level *= 2) {
            const int apart = pairs / level, n = LANES / 2 / level;
            UNROLL
            for (int i = 0; i < LANES / 2; i++)
                if (i < apart)
                    some[i] = pair_f64v(some[i], some[i + apart], n);
            if (apart == 0)
                some[0] = some[0] + flip_f64v(some[0], n);
        }
        memcpy(lanes, some, sizeof lanes);
        UNROLL
        for (int i = 0; i < LANES; i++)
            if (i < count)
                sums[first + i] = lanes[i * (LANES / (pairs ? 2 * pairs : 1)) & (LANES - 1)];
    }
#else
    UNROLL_POINTS
    for (int i = 0; i < points; i++)
        sums[i] = fold_sum_f64v(x[i]);
#endif
}
//}

//{ pair_i32v
#if EINC_SHUFFLES
/* A level of two trees: lanes without the bit n have a's lane and its partner, those with it b's. */
INLINE i32v pair_i32v(i32v a, i32v b, int n)
{
    const i32v second = (lanes_i32v() & n) != 0, own = lanes_i32v() ^ (second & (n | LANES));
    return add_i32v(__builtin_shuffle(a, b, own), __builtin_shuffle(a, b, own ^ n));
}
#endif
//}

//{ fold_sums_i32v
/* What fold_sum_i32v() makes of each of so many vectors, a number that is known when this is compiled. */
INLINE void fold_sums_i32v(const i32v *x, int points, int32_t *sums)
{
#if EINC_SHUFFLES
    UNROLL
    for (int first = 0; first < points; first += LANES) {
        const int count = points - first < LANES ? points - first : LANES;
        const int pairs = count > 8 ? 8 : count > 4 ? 4 : count > 2 ? 2 : count > 1;
        i32v some[LANES];
        int32_t lanes[LANES];
        UNROLL
        for (int i = 0; i < LANES; i++)
            some[i] = i < count ? x[first + i] : splat_i32v(0);
        UNROLL
        for (int level = 1; level < LANES; level *= 2) {
            const int apart = pairs / level, n = LANES / 2 / level;
            UNROLL
            for (int i = 0; i < LANES / 2; i++)
                if (i < apart)
                    some[i] = pair_i32v(some[i], some[i + apart], n);
            if (apart == 0)
                some[0] = add_i32v(some[0], flip_i32v(some[0], n));
        }
        memcpy(lanes, some, sizeof lanes);
        UNROLL
        for (int i = 0; i < LANES; i++)
            if (i < count)
                sums[first + i] = lanes[i * (LANES / (pairs ? 2 * pairs : 1)) & (LANES - 1)];
    }
#else
    UNROLL_POINTS
    for (int i = 0; i < points; i++)
        sums[i] = fold_sum_i32v(x[i]);
#endif
}
//}

#endif
