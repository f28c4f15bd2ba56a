/* A log-space product, logsumexp[k](A[i,k] + B[k,j]), as a product of exponentials.
 *
 * With a[i] = max[k] A[i,k] and b[j] = max[k] B[k,j] it is log(s[i,j]) + (a[i] + b[j]), where
 * s[i,j] = sum[k] exp(A[i,k] - a[i]) * exp(B[k,j] - b[j]) is an ordinary product. The factors are at most 1, so that
 * nothing overflows; what underflows is lost, and factors that are so small that products of two of them could are 0, as
 * numbers below the normal ones take long. Therefore the result is taken only where s stands clear of that, and the
 * reduction itself runs where it does not: also where there are infinities or a NaN, which make s a NaN. */
#include "lowering.h"

/* Such a sum has lost less than the roundings of as many terms. Its logarithm is a small number, too, beside which the roundings of the
 * differences, each a unit of |A - a| + |B - b|, are no more than the reduction's own. */
static const double CLEAR = 0x1p-16;

/* One side of the sum, and the maxima along what is contracted. */
typedef struct LogSide {
    const Term *value;            /* of the checked program */
    Tensor *largest;
    Index **kept;                 /* of the checked program: the largest element's indices */
} LogSide;

/* Stores the maxima of a side. */
static LogSide store_largest(Lower *l, const Term *log, const Term *value, const Instance *outside)
{
    LogSide side = { value, NULL, ARENA_ARRAY(l->arena, Index *, value->rank) };
    int count = 0, over_count = log->reduce.over_count;
    for (int i = 0; i < value->rank; i++)
        if (!indices_have(log->reduce.over, over_count, value->indices[i]))
            side.kept[count++] = value->indices[i];
    const Instance *instance = NULL;
    Context c = lower_open_over(l, side.kept, count, outside, &instance);
    Index **over = ARENA_ARRAY(l->arena, Index *, over_count);
    instance = lower_link_over(l, &c, log, instance, over);
    Context inner = lower_widen(l, &c, over, over_count);
    Term like = { .kind = TERM_REDUCE, .dtype = log->dtype, .span = log->span,
                  .reduce = { .reduction = REDUCTION_MAX, .declared = DTYPE_NONE } };
    Term *largest = lower_reduction(l, &c, &like, over, over_count, lower_copy_again(l, &inner, value, instance));
    side.largest = lower_store(l, &c, largest, log->span);
    return side;
}

/* exp(A - a) */
static Term *make_power(Lower *l, Context *c, const LogSide *side, const Instance *instance)
{
    Dtype dtype = side->value->dtype;
    Term *largest = lower_read_temporary(l, c, side->largest, side->kept, instance, side->value->span);
    Term *centred = lower_map(l, c, FUNCTION_SUB, dtype, lower_copy_again(l, c, side->value, instance), largest);
    Term *power = lower_map(l, c, FUNCTION_EXP, dtype, centred, NULL);
    power->map.grade = dtype == DTYPE_F32 || dtype == DTYPE_F64 ? GRADE_LARGE : GRADE_FULL;
    return power;
}

/* Stores the product of exponentials. */
static Tensor *store_sum(Lower *l, const Term *log, const LogSide *sides, const Instance *outside)
{
    const Instance *instance = NULL;
    Context c = lower_open_over(l, log->indices, log->rank, outside, &instance);
    Index **over = ARENA_ARRAY(l->arena, Index *, log->reduce.over_count);
    instance = lower_link_over(l, &c, log, instance, over);
    Context inner = lower_widen(l, &c, over, log->reduce.over_count);
    Term *product = lower_map(l, &inner, FUNCTION_MUL, log->dtype, make_power(l, &inner, &sides[0], instance),
                              make_power(l, &inner, &sides[1], instance));
    Term like = { .kind = TERM_REDUCE, .dtype = log->dtype, .span = log->span,
                  .reduce = { .reduction = REDUCTION_SUM, .declared = DTYPE_NONE } };
    return lower_store(l, &c, lower_reduction(l, &c, &like, over, log->reduce.over_count, product), log->span);
}

Term *lower_log_product(Lower *l, Context *c, const Term *log, const Instance *instance)
{
    Term *const *arguments = log->reduce.argument->map.arguments;
    LogSide sides[2];
    for (int s = 0; s < 2; s++)
        sides[s] = store_largest(l, log, arguments[s], instance);
    Tensor *sums = store_sum(l, log, sides, instance);
    Term *sum = lower_read_temporary(l, c, sums, log->indices, instance, log->span), *largest[2];
    for (int s = 0; s < 2; s++)
        largest[s] = lower_read_temporary(l, c, sides[s].largest, sides[s].kept, instance, log->span);
    Term *clear = lower_map(l, c, FUNCTION_GE, DTYPE_BOOL, sum, lower_number(l, c, log->dtype, CLEAR, log->span));
    Term *shift = lower_map(l, c, FUNCTION_ADD, log->dtype, largest[0], largest[1]);
    Term *fast = lower_map(l, c, FUNCTION_ADD, log->dtype, lower_map(l, c, FUNCTION_LOG, log->dtype, sum, NULL), shift);
    return lower_select(l, c, clear, fast, lower_refused(l, c, log, instance));
}
