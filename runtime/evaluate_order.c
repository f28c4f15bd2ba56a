/* Reductions that compare: max and min, argmax and argmin, topk and its kin, cummax and cummin.
 *
 * All are one ranking: best first, NaN before everything, the lower position first among equals. What kernels know of
 * the values has bounds, so the element at a rank lies between the elements at that rank of the low and of the high
 * ends, and two elements that are closer than their bounds may stand either way round. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "evaluate_value.h"

static bool wants_largest(Reduction reduction)
{
    switch (reduction) {
    case REDUCTION_MIN: case REDUCTION_ARGMIN: case REDUCTION_BOTTOMK: case REDUCTION_ARGBOTTOMK:
    case REDUCTION_CUMMIN: return false;
    default: return true;
    }
}

static bool is_float(const Term *term)
{
    return dtype_kind(term->reduce.argument->dtype) == KIND_FLOAT;
}

static bool has_open(const Value *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (x[i].open || (isinf(x[i].re) && x[i].either))
            return true;
    return false;
}

/* ---- which of two stands first ---- */

typedef enum { BEFORE, AFTER, EITHER } Place;

static Place place_floats(bool largest, Value a, Value b, bool a_is_first)
{
    if (isnan(a.re) || isnan(b.re))
        return isnan(a.re) && (!isnan(b.re) || a_is_first) ? BEFORE : AFTER;
    bool above = largest ? a.re > b.re : a.re < b.re;
    if (isinf(a.re) || isinf(b.re) || a.bound + b.bound == 0)
        return a.re == b.re ? (a_is_first ? BEFORE : AFTER) : above ? BEFORE : AFTER;
    double apart = fabs(a.re - b.re) * (1 - DBL_EPSILON), bound = (a.bound + b.bound) * (1 + DBL_EPSILON);
    return apart > bound ? (above ? BEFORE : AFTER) : EITHER;
}

/* Where the element at `i` stands to that at `j` in the ranking. */
static Place place(const Term *term, const Value *x, int64_t i, int64_t j)
{
    bool largest = wants_largest(term->reduce.reduction);
    if (has_open(&x[i], 1) || has_open(&x[j], 1))
        return EITHER;
    if (is_float(term))
        return place_floats(largest, x[i], x[j], i < j);
    int64_t a = x[i].integer, b = x[j].integer;
    if (a == b)
        return i < j ? BEFORE : AFTER;
    return (largest ? a > b : a < b) ? BEFORE : AFTER;
}

bool order_accepts(const Term *term, const Value *x, int64_t count, int64_t rank, int64_t position)
{
    if (position < 0 || position >= count)
        return false;
    int64_t before = 0, unsure = 0;
    for (int64_t j = 0; j < count; j++) {
        Place at = j == position ? AFTER : place(term, x, j, position);
        before += at == BEFORE;
        unsure += at == EITHER;
    }
    return before <= rank && rank <= before + unsure;
}

/* ---- one best ---- */

/* The best so far. */
typedef struct Best {
    double re, low, high;
    int64_t integer;
    bool open;
} Best;

static double better(bool largest, double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return largest ? fmax(a, b) : fmin(a, b);
}

static void best_add(Best *best, bool largest, const Value *x, bool is_first)
{
    double low = value_low(*x), high = value_high(*x);
    best->open |= has_open(x, 1);
    best->re = is_first ? x->re : better(largest, best->re, x->re);
    best->low = is_first ? low : better(largest, best->low, low);
    best->high = is_first ? high : better(largest, best->high, high);
    if (is_first || (largest ? x->integer > best->integer : x->integer < best->integer))
        best->integer = x->integer;
}

static Value best_value(const Best *best, bool is_integer)
{
    if (best->open)
        return value_open();
    if (is_integer)
        return value_whole(best->integer);
    Value value = { .re = best->re, .either = best->re == 0 };
    if (isfinite(best->re))
        value.bound = fmax(best->high - best->re, best->re - best->low);
    return value;
}

/* max and min, and with every value on the way cummax and cummin. */
static void extreme_values(const Term *term, const Value *x, int64_t count, Value *result)
{
    bool all = reduction_facts[term->reduce.reduction].leaves == LEAVES_ALL;
    Best best = { 0 };
    for (int64_t i = 0; i < count; i++) {
        best_add(&best, wants_largest(term->reduce.reduction), &x[i], i == 0);
        if (all || i == count - 1)
            result[all ? i : 0] = best_value(&best, !is_float(term));
    }
}

/* ---- a ranking ---- */

static int compare_ranked(const void *left, const void *right)
{
    const Ranked *a = left, *b = right;
    bool a_nan = isnan(a->key), b_nan = isnan(b->key);
    if (a_nan != b_nan)
        return a_nan ? -1 : 1;
    if (!a_nan && a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->integer != b->integer)
        return a->integer < b->integer ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

/* Sorts by the values, or by the ends of their intervals. */
static void rank(const Term *term, const Value *x, int64_t count, double (*key)(Value), Ranked *ranked)
{
    bool largest = wants_largest(term->reduce.reduction), floats = is_float(term);
    for (int64_t i = 0; i < count; i++) {
        double k = floats ? key(x[i]) : 0;
        int64_t integer = floats ? 0 : x[i].integer;
        ranked[i] = (Ranked){ largest ? -k : k, largest ? ~integer : integer, i };
    }
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranked);
}

static double middle(Value x)
{
    return x.re;
}

static void best_values(const Term *term, const Value *x, int64_t count, int64_t k, Ranked *ranked, Value *result)
{
    bool floats = is_float(term);
    rank(term, x, count, middle, ranked);
    for (int64_t r = 0; r < k; r++) {
        Value value = x[ranked[r].position];
        result[r] = floats ? (Value){ .re = value.re, .either = value.re == 0 } : value;
    }
    for (int side = 0; side < 2 && floats; side++) {
        rank(term, x, count, side ? value_high : value_low, ranked);
        for (int64_t r = 0; r < k; r++) {
            double end = (side ? value_high : value_low)(x[ranked[r].position]);
            if (isfinite(result[r].re))
                result[r].bound = fmax(result[r].bound, fabs(end - result[r].re));
        }
    }
}

static void best_positions(const Term *term, const Value *x, int64_t count, int64_t k, Ranked *ranked, Value *result)
{
    rank(term, x, count, middle, ranked);
    for (int64_t r = 0; r < k; r++) {
        int64_t at = ranked[r].position;
        result[r] = value_whole(at);
        for (int64_t j = 0; j < count && !result[r].open; j++)
            if (j != at && place(term, x, at, j) == EITHER)
                result[r] = value_open();
    }
}

void order_values(const Term *term, const Value *x, int64_t count, Ranked *scratch, Value *result)
{
    int64_t k = 1;
    switch (term->reduce.reduction) {
    case REDUCTION_MAX:
    case REDUCTION_MIN: assert(count > 0); extreme_values(term, x, count, result); return;
    case REDUCTION_CUMMAX:
    case REDUCTION_CUMMIN: extreme_values(term, x, count, result); return;
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN: break;
    default: k = (int64_t)term->reduce.parameter;
    }
    assert(count >= k);
    if (has_open(x, count))
        for (int64_t r = 0; r < k; r++)
            result[r] = value_open();
    else if (reduction_facts[term->reduce.reduction].gives == GIVES_POSITION)
        best_positions(term, x, count, k, scratch, result);
    else
        best_values(term, x, count, k, scratch, result);
}
