/* Sums of values in any order. */
#include <float.h>
#include <math.h>

#include "evaluate_value.h"

static void note_last(Sum *sum, int last)
{
    if (!sum->begun || last < sum->last)
        sum->last = last;
    sum->begun = true;
}

static void add_part(Sum *sum, int i, double x)
{
    if (!isfinite(x)) {
        sum->nan[i] |= isnan(x);
        sum->up[i] |= x > 0;
        sum->down[i] |= x < 0;
        return;
    }
    /* Neumaier: what each addition loses is kept, so that the sum is as good as exact. */
    double s = sum->part[i], t = s + x;
    sum->rest[i] += fabs(s) >= fabs(x) ? (s - t) + x : (x - t) + s;
    sum->part[i] = t;
    sum->size[i] += fabs(x);
    if (x == 0 || sum->inexact)
        return;
    note_last(sum, last_bit(x));
}

void sum_add(Sum *sum, const Value *value)
{
    Kind kind = dtype_kind(sum->dtype);
    if (kind == KIND_BOOL) {
        sum->integer |= !value->open && value->integer;
        sum->open |= value->open;
        return;
    }
    sum->open |= value->open || (value->either && (isinf(value->re) || isinf(value->im)));
    if (kind == KIND_INT) {
        sum->integer += (uint64_t)value->integer;
        return;
    }
    if (sum->open)
        return;
    sum->count += value->re != 0 || value->im != 0 || value->bound > 0;
    sum->inexact |= value->bound > 0;
    sum->bound += value->bound;
    add_part(sum, 0, value->re);
    if (kind != KIND_COMPLEX)
        return;
    add_part(sum, 1, value->im);
    sum->count += value->inside > 0;
    sum->size[0] += fmax(value->inside - fabs(value->re), 0);
    sum->size[1] += fmax(value->inside - fabs(value->im), 0);
    if (value->grain > 0)
        note_last(sum, last_bit(value->grain));
}

/* Every partial sum is a multiple of 2^last and no larger than `size`: all of them can be held when that takes no more
 * digits than there are, and then no order rounds. */
static bool sum_holds_exactly(const Sum *sum, const Format *format, double size)
{
    return !sum->inexact && (size == 0 || (sum->last >= format->lowest && size <= format->huge &&
                                           size <= ldexp(1, sum->last + format->digits)));
}

static double sum_part(const Sum *sum, int i)
{
    if (sum->nan[i] || (sum->up[i] && sum->down[i]))
        return NAN;
    return sum->up[i] ? INFINITY : sum->down[i] ? -INFINITY : sum->part[i] + sum->rest[i];
}

Value sum_value(const Sum *sum)
{
    if (sum->dtype == DTYPE_BOOL)
        return sum->integer ? value_whole(1) : sum->open ? value_open() : value_whole(0);
    if (sum->open)
        return value_open();
    if (dtype_kind(sum->dtype) == KIND_INT)
        return value_whole(wrap(sum->dtype, sum->integer));
    const Format *format = format_of(sum->dtype);
    Value value = { .re = sum_part(sum, 0), .im = dtype_kind(sum->dtype) == KIND_COMPLEX ? sum_part(sum, 1) : 0 };
    double size = fmax(sum->size[0], sum->size[1]);
    double largest = fmax(isfinite(value.re) ? fabs(value.re) : 0, isfinite(value.im) ? fabs(value.im) : 0);
    value.either = value.re == 0 || (dtype_kind(sum->dtype) == KIND_COMPLEX && value.im == 0);
    if (sum->count <= 1)
        value.bound = sum->bound;
    else if (!sum_holds_exactly(sum, format, size))
        value.bound = sum->bound + rounding_errors(format, (double)(sum->count - 1) * (1 + sum->truncates)) * (size + sum->bound) +
                      largest * VALUE_ERROR + (double)sum->count * DBL_EPSILON * DBL_EPSILON * size;
    /* Some order may overflow on the way. */
    if (!(size + value.bound < format->huge) && !(sum->count <= 1 && size <= format->huge))
        return value_open();
    if (dtype_kind(sum->dtype) != KIND_COMPLEX && !isfinite(value.re))
        value.bound = 0;
    return value;
}
