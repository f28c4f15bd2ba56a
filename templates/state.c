/* States of reductions that are more than one number: one step of a new element, and the merge of two states. Each
 * component is a variable of its own. Sums, products and extrema need nothing here: their step is an operator. */
#ifndef TEMPLATES_STATE
#define TEMPLATES_STATE

#include "arith.c"
#include "complex.c"
#include "fold.c"
#include "integer.c"
#include "mask.c"
#include "minmax.c"
#include "real.c"
#include "real_exp.c"
#include "real_round.c"

/* logsumexp: the largest element, and the sum of exp(element - largest). A state that has seen nothing is (-inf, 0);
 * equal arguments differ by 0 even where both are infinite. */

//{ merge_exponentials_f32
/* largest' = max of the two, sum' = both sums, each times exp(its largest - largest'). */
INLINE void merge_exponentials_f32(float *largest, float *sum, float other, float other_sum)
{
    float difference = other == *largest ? 0 : other - *largest;
    float power = exp_f32(difference > 0 ? -difference : difference);
    *sum = difference > 0 ? *sum * power + other_sum : *sum + other_sum * power;
    *largest = max_f32(*largest, other);
}
//}

//{ merge_exponentials_f64
/* largest' = max of the two, sum' = both sums, each times exp(its largest - largest'). */
INLINE void merge_exponentials_f64(double *largest, double *sum, double other, double other_sum)
{
    double difference = other == *largest ? 0 : other - *largest;
    double power = exp_f64(difference > 0 ? -difference : difference);
    *sum = difference > 0 ? *sum * power + other_sum : *sum + other_sum * power;
    *largest = max_f64(*largest, other);
}
//}

//{ merge_exponentials_f32v
/* largest' = max of the two, sum' = both sums, each times exp(its largest - largest'). */
INLINE void merge_exponentials_f32v(f32v *largest, f32v *sum, f32v other, f32v other_sum)
{
    f32v zero = splat_f32v(0);
    f32v difference = select_f32v(other == *largest, zero, other - *largest);
    boolv grows = difference > zero;
    f32v power = exp_f32v(select_f32v(grows, zero - difference, difference));
    *sum = select_f32v(grows, fma_f32v(*sum, power, other_sum), fma_f32v(other_sum, power, *sum));
    *largest = max_f32v(*largest, other);
}
//}

//{ merge_exponentials_f64v
/* largest' = max of the two, sum' = both sums, each times exp(its largest - largest'). */
INLINE void merge_exponentials_f64v(f64v *largest, f64v *sum, f64v other, f64v other_sum)
{
    f64v zero = splat_f64v(0);
    f64v difference = select_f64v(narrow_boolv(other == *largest), zero, other - *largest);
    boolv grows = narrow_boolv(difference > zero);
    f64v power = exp_f64v(select_f64v(grows, zero - difference, difference));
    *sum = select_f64v(grows, fma_f64v(*sum, power, other_sum), fma_f64v(other_sum, power, *sum));
    *largest = max_f64v(*largest, other);
}
//}

//{ endless_exponentials_f32v
/* Where the largest of some elements is infinite, so that what others differ from it by may be no number. */
INLINE boolv endless_exponentials_f32v(f32v top)
{
    return top == splat_f32v(INFINITY);
}
//}

//{ raise_exponentials_f32v
/* The largest is `top` from now on, which is no less. Gives what is taken from elements before their exponentials are added. */
INLINE f32v raise_exponentials_f32v(f32v *largest, f32v *sum, f32v top)
{
    f32v zero = splat_f32v(0), before = *largest;
    *sum = *sum * exp_f32v(select_f32v(top == before, zero, before - top));
    *largest = top;
    return select_f32v(top == splat_f32v(-INFINITY), zero, top);
}
//}

//{ add_exponentials_f32v
/* The same for `count` elements at once: their maximum first, so that the sum is rescaled once for all of them. */
INLINE void add_exponentials_f32v(f32v *largest, f32v *sum, const f32v *others, int count)
{
    f32v top = *largest, odd_top = top;
    int i = 0;
    UNROLL_SOME
    for (; i + 2 <= count; i += 2) {
        top = greater_f32v(others[i], top);    /* no NaN, which the sum will have */
        odd_top = greater_f32v(others[i + 1], odd_top);
    }
    top = greater_f32v(i < count ? others[i] : odd_top, greater_f32v(odd_top, top));
    if (any_boolv(endless_exponentials_f32v(top))) {
        for (i = 0; i < count; i++)
            merge_exponentials_f32v(largest, sum, others[i], splat_f32v(1));
        return;
    }
    const f32v shift = raise_exponentials_f32v(largest, sum, top);
    UNROLL_SOME
    for (i = 0; i < count; i++)
        *sum = *sum + exp_below_f32v(others[i] - shift);
}
//}

//{ reach_exponentials_f32v
/* The first half of it, element by element: what `top` becomes. */
INLINE void reach_exponentials_f32v(f32v *top, f32v other)
{
    *top = greater_f32v(other, *top);
}
//}

//{ weigh_exponentials_f32v
/* The second half, when the state was raised. */
INLINE void weigh_exponentials_f32v(f32v *sum, f32v other, f32v shift)
{
    *sum = *sum + exp_below_f32v(other - shift);
}
//}

//{ endless_exponentials_f64v
/* Where the largest of some elements is infinite, so that what others differ from it by may be no number. */
INLINE boolv endless_exponentials_f64v(f64v top)
{
    return narrow_boolv(top == splat_f64v(INFINITY));
}
//}

//{ raise_exponentials_f64v
/* The largest is `top` from now on, which is no less. Gives what is taken from elements before their exponentials are added. */
INLINE f64v raise_exponentials_f64v(f64v *largest, f64v *sum, f64v top)
{
    f64v zero = splat_f64v(0), before = *largest;
    *sum = *sum * exp_f64v(select_f64v(narrow_boolv(top == before), zero, before - top));
    *largest = top;
    return select_f64v(narrow_boolv(top == splat_f64v(-INFINITY)), zero, top);
}
//}

//{ add_exponentials_f64v
/* The same for `count` elements at once: their maximum first, so that the sum is rescaled once for all of them. */
INLINE void add_exponentials_f64v(f64v *largest, f64v *sum, const f64v *others, int count)
{
    f64v top = *largest, odd_top = top;
    int i = 0;
    UNROLL_SOME
    for (; i + 2 <= count; i += 2) {
        top = greater_f64v(others[i], top);    /* no NaN, which the sum will have */
        odd_top = greater_f64v(others[i + 1], odd_top);
    }
    top = greater_f64v(i < count ? others[i] : odd_top, greater_f64v(odd_top, top));
    if (any_boolv(endless_exponentials_f64v(top))) {
        for (i = 0; i < count; i++)
            merge_exponentials_f64v(largest, sum, others[i], splat_f64v(1));
        return;
    }
    const f64v shift = raise_exponentials_f64v(largest, sum, top);
    UNROLL_SOME
    for (i = 0; i < count; i++)
        *sum = *sum + exp_below_f64v(others[i] - shift);
}
//}

//{ reach_exponentials_f64v
/* The first half of it, element by element: what `top` becomes. */
INLINE void reach_exponentials_f64v(f64v *top, f64v other)
{
    *top = greater_f64v(other, *top);
}
//}

//{ weigh_exponentials_f64v
/* The second half, when the state was raised. */
INLINE void weigh_exponentials_f64v(f64v *sum, f64v other, f64v shift)
{
    *sum = *sum + exp_below_f64v(other - shift);
}
//}

/* Of sums of a row's and a column's numbers, each exponential is made once for all that it meets, as a number times a power of
 * two: then neither is too large or too small, an element's is their product, and the largest has the largest whole number,
 * nearly. While such a state is made, its whole number stands in the place of its largest element. */

//{ part_powers_f32v
/* e^x = power * 2^whole for x from -16384 to 16384, and 0 for minus infinity. Anything else gives a NaN, with a whole
 * number so large that no other term hides it. */
INLINE void part_powers_f32v(f32v x, f32v *power, f32v *whole)
{
    f32v n, p = exp_near_f32v(exp_rest_f32v(x, splat_f32v(0), &n));
    boolv none = x == splat_f32v(-INFINITY), usual = abs_f32v(x) <= splat_f32v(16384);
    *power = select_f32v(usual, p, select_f32v(none, splat_f32v(0), splat_f32v(NAN)));
    *whole = select_f32v(usual, n, select_f32v(none, splat_f32v(-131072), splat_f32v(524288)));
}
//}

//{ raise_powers_f32v
/* The sum is one of powers times 2^(whole - top) from now on. */
INLINE void raise_powers_f32v(f32v *whole, f32v *sum, f32v top)
{
    *sum = *sum * scale_down_f32v(splat_f32v(1), *whole - top);
    *whole = top;
}
//}

//{ weigh_powers_f32v
/* Adds the product of two powers, times 2^whole for a whole number up to 0. */
INLINE void weigh_powers_f32v(f32v *sum, float power, f32v other, f32v whole)
{
    *sum = fma_f32v(splat_f32v(power), scale_down_f32v(other, whole), *sum);
}
//}

//{ settle_powers_f32v
/* The sum of powers as a state: its largest element is nearly whole * ln 2, in one part of two. Gives where it is a NaN. */
INLINE boolv settle_powers_f32v(f32v *largest, f32v *sum)
{
    f32v whole = *largest;
    *largest = whole * 0.693359375f;
    *sum = *sum * exp_f32v(whole * -2.12194440e-4f);
    return *sum != *sum;
}
//}

//{ part_powers_f64v
/* e^x = power * 2^whole for x from -262144 to 262144, and 0 for minus infinity. Anything else gives a NaN, with a whole
 * number so large that no other term hides it. */
INLINE void part_powers_f64v(f64v x, f64v *power, f64v *whole)
{
    f64v n, p = exp_near_f64v(exp_rest_f64v(x, splat_f64v(0), &n));
    boolv none = narrow_boolv(x == splat_f64v(-INFINITY)), usual = narrow_boolv(abs_f64v(x) <= splat_f64v(262144));
    *power = select_f64v(usual, p, select_f64v(none, splat_f64v(0), splat_f64v(NAN)));
    *whole = select_f64v(usual, n, select_f64v(none, splat_f64v(-2097152), splat_f64v(8388608)));
}
//}

//{ raise_powers_f64v
/* The sum is one of powers times 2^(whole - top) from now on. */
INLINE void raise_powers_f64v(f64v *whole, f64v *sum, f64v top)
{
    *sum = *sum * scale_down_f64v(splat_f64v(1), *whole - top);
    *whole = top;
}
//}

//{ weigh_powers_f64v
/* Adds the product of two powers, times 2^whole for a whole number up to 0. */
INLINE void weigh_powers_f64v(f64v *sum, double power, f64v other, f64v whole)
{
    *sum = fma_f64v(splat_f64v(power), scale_down_f64v(other, whole), *sum);
}
//}

//{ settle_powers_f64v
/* The sum of powers as a state: its largest element is nearly whole * ln 2, in one part of two. Gives where it is a NaN. */
INLINE boolv settle_powers_f64v(f64v *largest, f64v *sum)
{
    f64v whole = *largest;
    *largest = whole * 0.69314718036912382;
    *sum = *sum * exp_f64v(whole * 1.9082149292705877e-10);
    return narrow_boolv(*sum != *sum);
}
//}

//{ fold_exponentials_f32v
/* The lanes' states as one. */
INLINE void fold_exponentials_f32v(f32v lanes, f32v sums, float *largest, float *sum)
{
    *largest = fold_max_f32v(lanes);
    f32v shift = splat_f32v(*largest), difference = select_f32v(lanes == shift, splat_f32v(0), lanes - shift);
    *sum = fold_sum_f32v(sums * exp_f32v(difference));
}
//}

//{ fold_exponentials_f64v
/* The lanes' states as one. */
INLINE void fold_exponentials_f64v(f64v lanes, f64v sums, double *largest, double *sum)
{
    *largest = fold_max_f64v(lanes);
    f64v shift = splat_f64v(*largest), difference = select_f64v(narrow_boolv(lanes == shift), splat_f64v(0), lanes - shift);
    *sum = fold_sum_f64v(sums * exp_f64v(difference));
}
//}

/* Variance: how many elements, their mean, and the sum of the squared distances from it (Welford 1962; the merge is
 * Chan, Golub and LeVeque 1983). The distance from an infinite mean is NaN: what x - x adds is that, or 0.
 * A square that overflows is no harm where the count is 0: it is not made. */

//{ merge_moments_f32
INLINE void merge_moments_f32(float *count, float *mean, float *squares, float other, float other_mean, float other_squares)
{
    float all = *count + other, distance = other_mean - *mean, share = all > 0 ? other / all : 0;
    *squares += other_squares + (distance * *count) * (distance * share) + (other_mean - other_mean);
    *mean += distance * share;
    *count = all;
}
//}

//{ merge_moments_f64
INLINE void merge_moments_f64(double *count, double *mean, double *squares, double other, double other_mean,
                              double other_squares)
{
    double all = *count + other, distance = other_mean - *mean, share = all > 0 ? other / all : 0;
    *squares += other_squares + (distance * *count) * (distance * share) + (other_mean - other_mean);
    *mean += distance * share;
    *count = all;
}
//}

//{ merge_moments_f32v
INLINE void merge_moments_f32v(f32v *count, f32v *mean, f32v *squares, f32v other, f32v other_mean, f32v other_squares)
{
    f32v zero = splat_f32v(0), all = *count + other, distance = other_mean - *mean;
    f32v share = select_f32v(all > zero, other / all, zero);
    *squares = *squares + (other_squares + (distance * *count) * (distance * share) + (other_mean - other_mean));
    *mean = *mean + distance * share;
    *count = all;
}
//}

//{ merge_moments_f64v
INLINE void merge_moments_f64v(f64v *count, f64v *mean, f64v *squares, f64v other, f64v other_mean, f64v other_squares)
{
    f64v zero = splat_f64v(0), all = *count + other, distance = other_mean - *mean;
    f64v share = select_f64v(narrow_boolv(all > zero), other / all, zero);
    *squares = *squares + (other_squares + (distance * *count) * (distance * share) + (other_mean - other_mean));
    *mean = *mean + distance * share;
    *count = all;
}
//}

//{ add_moments_f32v
/* The same for `count` elements at once: their own mean and squares first, so that there is one division for all of them. The mean is one
 * of distances from the first, which are not so large as the elements, and each is divided before they are added: no sum overflows. */
INLINE void add_moments_f32v(f32v *before, f32v *mean, f32v *squares, const f32v *others, int count)
{
    const f32v zero = splat_f32v(0), first = others[0], share = splat_f32v(1 / (float)count);
    f32v sum[4] = { zero, zero, zero, zero }, square[4] = { zero, zero, zero, zero };
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        UNROLL
        for (int k = 0; k < 4; k++)
            sum[k] = fma_f32v(others[i + k] - first, share, sum[k]);
    }
    for (; i < count; i++)
        sum[0] = fma_f32v(others[i] - first, share, sum[0]);
    const f32v middle = first + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (i = 0; i + 4 <= count; i += 4) {
        UNROLL
        for (int k = 0; k < 4; k++)
            square[k] = fma_f32v(others[i + k] - middle, others[i + k] - middle, square[k]);
    }
    for (; i < count; i++)
        square[0] = fma_f32v(others[i] - middle, others[i] - middle, square[0]);
    merge_moments_f32v(before, mean, squares, splat_f32v((float)count), middle,
                       (square[0] + square[1]) + (square[2] + square[3]));
}
//}

//{ fold_moments_f32v
/* The lanes' states as one. */
INLINE void fold_moments_f32v(f32v counts, f32v means, f32v lanes, float *count, float *mean, float *squares)
{
    const f32v first = splat_f32v(lane_f32v(means, 0));
    *count = fold_sum_f32v(counts);
    const f32v share = counts / splat_f32v(*count > 0 ? *count : 1);
    *mean = lane_f32v(first, 0) + fold_sum_f32v((means - first) * share);
    const f32v distance = means - splat_f32v(*mean);
    *squares = fold_sum_f32v(lanes + (distance * counts) * distance);
}
//}

//{ add_moments_f64v
/* The same for `count` elements at once: their own mean and squares first, so that there is one division for all of them. The mean is one
 * of distances from the first, which are not so large as the elements, and each is divided before they are added: no sum overflows. */
INLINE void add_moments_f64v(f64v *before, f64v *mean, f64v *squares, const f64v *others, int count)
{
    const f64v zero = splat_f64v(0), first = others[0], share = splat_f64v(1 / (double)count);
    f64v sum[4] = { zero, zero, zero, zero }, square[4] = { zero, zero, zero, zero };
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        UNROLL
        for (int k = 0; k < 4; k++)
            sum[k] = fma_f64v(others[i + k] - first, share, sum[k]);
    }
    for (; i < count; i++)
        sum[0] = fma_f64v(others[i] - first, share, sum[0]);
    const f64v middle = first + ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (i = 0; i + 4 <= count; i += 4) {
        UNROLL
        for (int k = 0; k < 4; k++)
            square[k] = fma_f64v(others[i + k] - middle, others[i + k] - middle, square[k]);
    }
    for (; i < count; i++)
        square[0] = fma_f64v(others[i] - middle, others[i] - middle, square[0]);
    merge_moments_f64v(before, mean, squares, splat_f64v((double)count), middle,
                       (square[0] + square[1]) + (square[2] + square[3]));
}
//}

//{ fold_moments_f64v
/* The lanes' states as one. */
INLINE void fold_moments_f64v(f64v counts, f64v means, f64v lanes, double *count, double *mean, double *squares)
{
    const f64v first = splat_f64v(lane_f64v(means, 0));
    *count = fold_sum_f64v(counts);
    const f64v share = counts / splat_f64v(*count > 0 ? *count : 1);
    *mean = lane_f64v(first, 0) + fold_sum_f64v((means - first) * share);
    const f64v distance = means - splat_f64v(*mean);
    *squares = fold_sum_f64v(lanes + (distance * counts) * distance);
}
//}

//{ merge_moments_c64
INLINE void merge_moments_c64(float *count, c64 *mean, float *squares, float other, c64 other_mean, float other_squares)
{
    float all = *count + other, share = all > 0 ? other / all : 0;
    c64 distance = sub_c64(other_mean, *mean);
    *squares += other_squares + (distance.re * *count) * (distance.re * share) + (distance.im * *count) * (distance.im * share)
                + (other_mean.re - other_mean.re) + (other_mean.im - other_mean.im);
    mean->re += distance.re * share;
    mean->im += distance.im * share;
    *count = all;
}
//}

//{ merge_moments_c128
INLINE void merge_moments_c128(double *count, c128 *mean, double *squares, double other, c128 other_mean,
                               double other_squares)
{
    double all = *count + other, share = all > 0 ? other / all : 0;
    c128 distance = sub_c128(other_mean, *mean);
    *squares += other_squares + (distance.re * *count) * (distance.re * share) + (distance.im * *count) * (distance.im * share)
                + (other_mean.re - other_mean.re) + (other_mean.im - other_mean.im);
    mean->re += distance.re * share;
    mean->im += distance.im * share;
    *count = all;
}
//}

#endif
