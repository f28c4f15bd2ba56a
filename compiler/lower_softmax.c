/* Softmax and log_softmax, written out in statements for a row's maximum, its exponentials and their sum. */
#include <math.h>

#include "lowering.h"

/* One of the statements that softmax is written out in, over the term's indices, or those that stay when it reduces. */
typedef struct Row {
    Context context;
    const Instance *instance;
    Index **indices;              /* of the checked program, one per loop */
} Row;

static Row open_row(Lower *l, const Term *term, const Instance *instance, bool reduced)
{
    Row row = { .indices = ARENA_ARRAY(l->arena, Index *, term->rank) };
    Index **outside = ARENA_ARRAY(l->arena, Index *, term->rank);
    const Instance *unused = NULL;
    int count = 0;
    for (int i = 0; i < term->rank; i++)
        if (!reduced || !indices_have(term->reduce.over, term->reduce.over_count, term->indices[i])) {
            row.indices[count] = term->indices[i];
            outside[count++] = lower_image(instance, term->indices[i]);
        }
    row.context = lower_open(l, outside, count, &unused);
    for (int i = 0; i < count; i++)
        row.instance = lower_link(l, row.instance, row.indices[i], row.context.loops[i]);
    return row;
}

/* Whether a mask's value is a product whose sums become powers tile by tile: then no loop over a row is left that the mask could
 * bound, and it goes with the value to those who read it. */
static bool goes_along(Lower *l, const Term *softmax, const Term *mask)
{
    const Term *constant, *value = mask->select.yes;
    return softmax->reduce.reduction == REDUCTION_SOFTMAX && !lower_may_sweep(l->sweeping, softmax->reduce.over[0]) &&
           (l->kinds[value->id] & PRODUCT_STRAIGHT || lower_straight(l, value, &constant));
}

/* The mask that bounds the loops of a softmax; NULL: there is none. */
static const Term *mask_of(Lower *l, const Term *softmax)
{
    const Term *mask = lower_mask(l, softmax);
    return mask && goes_along(l, softmax, mask) ? NULL : mask;
}

/* The argument of a softmax in one more statement. Of a mask that is stored only what it chooses is read again. */
static Term *copy_argument(Lower *l, Context *c, const Term *softmax, const Instance *instance)
{
    const Term *x = softmax->reduce.argument, *mask = lower_mask(l, softmax);
    if (mask && goes_along(l, softmax, mask)) {
        Term *condition = lower_copy(l, c, mask->select.condition, instance), *no = lower_copy(l, c, mask->select.no, instance);
        return lower_select(l, c, condition, lower_copy_again(l, c, mask->select.yes, instance), no);
    }
    if (!mask || l->facts[x->id].cost <= COST_CHEAP)
        return lower_copy_again(l, c, x, instance);
    Term *stored = lower_copy_stored(l, c, &l->masked[x->id], x, instance);
    Output *output = &stored->read.tensor->maker->outputs[0];
    output->partly = output->value->kind == TERM_SELECT;    /* no copy of what is stored in any case */
    Term *condition = lower_copy(l, c, mask->select.condition, instance), *no = lower_copy(l, c, mask->select.no, instance);
    return lower_select(l, c, condition, stored, no);
}

/* What a mask leaves out is stored as 0, and has no share in their sum. */
static Term *read_exponentials(Lower *l, Context *c, const Term *softmax, Tensor *exponentials, const Instance *instance)
{
    Term *power = lower_read_temporary(l, c, exponentials, softmax->indices, instance, softmax->span);
    const Term *mask = mask_of(l, softmax);
    if (!mask)
        return power;
    Term *condition = lower_copy(l, c, mask->select.condition, instance);
    return lower_select(l, c, condition, power, lower_number(l, c, power->dtype, 0, softmax->span));
}

/* exp(x - m), 0 in a row of nothing but -inf, and where a mask chooses -inf: of a row with NaN or inf the sum is NaN in any
 * case, and so is all that it divides. */
static Term *make_exponential(Lower *l, Context *c, const Term *softmax, Term *largest, const Instance *instance)
{
    Dtype dtype = softmax->dtype;
    Term *x = copy_argument(l, c, softmax, instance);
    bool masks = mask_of(l, softmax) != NULL;
    Term *difference = lower_map(l, c, FUNCTION_SUB, dtype, masks ? x->select.yes : x, largest);
    difference->map.implicit = true;
    Term *none = lower_map(l, c, FUNCTION_EQ, DTYPE_BOOL, largest, lower_number(l, c, dtype, -INFINITY, softmax->span));
    Term *power = lower_map(l, c, FUNCTION_EXP, dtype, difference, NULL), *zero = lower_number(l, c, dtype, 0, softmax->span);
    power->map.grade = softmax->reduce.reduction == REDUCTION_SOFTMAX && l->facts[softmax->id].is_rounded &&
                       function_coarseness(FUNCTION_EXP, dtype) > 0 ? GRADE_COARSE : GRADE_FULL;
    power = lower_select(l, c, none, zero, power);
    return masks ? lower_select(l, c, x->select.condition, power, zero) : power;
}

/* What the exponentials are read from, or made of again. */
typedef struct Powers {
    Tensor *stored, *largest;     /* themselves; their row's maximum: NULL, NULL: there are none yet */
    Index **kept;                 /* the indices of that */
} Powers;

static Term *power_of(Lower *l, Context *c, const Term *softmax, const Powers *powers, const Instance *instance)
{
    if (powers->stored)
        return read_exponentials(l, c, softmax, powers->stored, instance);
    return make_exponential(l, c, softmax, lower_read_temporary(l, c, powers->largest, powers->kept, instance, softmax->span), instance);
}

/* The row's maximum of the argument, or its sum of exponentials; of log_softmax the sum's logarithm, once for the row. */
static Tensor *store_row(Lower *l, Row *row, const Term *softmax, Reduction reduction, const Powers *powers)
{
    Context *c = &row->context;
    const Instance *instance = row->instance;
    int count = softmax->reduce.over_count;
    Index **over = ARENA_ARRAY(l->arena, Index *, count);
    for (int i = 0; i < count; i++) {
        over[i] = lower_index(l, c->statement, softmax->reduce.over[i]);
        instance = lower_link(l, instance, softmax->reduce.over[i], over[i]);
    }
    Context inner = lower_widen(l, c, over, count);
    Term *argument = powers ? power_of(l, &inner, softmax, powers, instance) : copy_argument(l, &inner, softmax, instance);
    Term like = { .kind = TERM_REDUCE, .dtype = softmax->dtype, .span = softmax->span,
                  .reduce = { .reduction = reduction, .declared = DTYPE_NONE } };
    Term *made = lower_reduction(l, c, &like, over, count, argument);
    if (powers && softmax->reduce.reduction == REDUCTION_LOG_SOFTMAX)
        made = lower_map(l, c, FUNCTION_LOG, softmax->dtype, made, NULL);
    return lower_store(l, c, made, softmax->span);
}

/* Whether the exponentials had better be made again than stored. Only their sum asks for those of log_softmax; those of columns are in
 * memory line by line, which takes longer than to make them. */
static bool makes_again(Lower *l, const Term *softmax)
{
    bool is_cheap = l->facts[softmax->reduce.argument->id].cost <= COST_CHEAP && !lower_mask(l, softmax);
    bool is_row = softmax->rank == 0 || indices_have(softmax->reduce.over, softmax->reduce.over_count, softmax->indices[softmax->rank - 1]);
    return is_cheap && (softmax->reduce.reduction == REDUCTION_LOG_SOFTMAX || !is_row);
}

/* m = x | max k, e = where(m == -inf, 0, exp(x - m)), s = e | sum k, or its logarithm. */
Term *lower_softmax(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    Dtype dtype = term->dtype;
    Span span = term->span;
    Row maxima = open_row(l, term, instance, true);
    Tensor *m = store_row(l, &maxima, term, REDUCTION_MAX, NULL);

    Powers powers = { NULL, m, maxima.indices };
    if (!makes_again(l, term)) {
        Row row = open_row(l, term, instance, false);
        powers.stored = lower_store(l, &row.context, power_of(l, &row.context, term, &powers, row.instance), span);
    }
    Row sums = open_row(l, term, instance, true);
    Tensor *s = store_row(l, &sums, term, REDUCTION_SUM, &powers);

    /* where(s == 0, 0, e / s), or with s of log_softmax where(s == -inf, -inf, x - m - s): a row of nothing but -inf has no NaN. */
    bool is_log = term->reduce.reduction == REDUCTION_LOG_SOFTMAX;
    Term *sum = lower_read_temporary(l, c, s, sums.indices, instance, span), *nothing = lower_number(l, c, dtype, is_log ? -INFINITY : 0, span);
    Term *none = lower_map(l, c, FUNCTION_EQ, DTYPE_BOOL, sum, nothing), *share;
    if (is_log) {
        share = lower_map(l, c, FUNCTION_SUB, dtype, copy_argument(l, c, term, instance),
                          lower_read_temporary(l, c, m, maxima.indices, instance, span));
        share->map.implicit = true;
        return lower_select(l, c, none, nothing, lower_map(l, c, FUNCTION_SUB, dtype, share, sum));
    }
    Term *power = powers.stored ? lower_read_temporary(l, c, powers.stored, term->indices, instance, span) : power_of(l, c, term, &powers, instance);
    share = lower_map(l, c, FUNCTION_DIV, dtype, power, sum);
    share->map.implicit = true;    /* a sum of products may divide at its end instead */
    return lower_select(l, c, none, nothing, share);
}
