/* Combinations of factors that a kernel may contract in any order, two at a time: a sum of products, a maximum of sums
 * (semiring_any_order()). Then factors are joined in any order, and partial sums of some of them are made on the way, which can
 * overflow where the whole would not; infinities may meet zeros and each other, or not. The errors of partial sums are
 * within the bound of the whole sum, which holds for any order of all its terms. */
#include <float.h>
#include <math.h>

#include "evaluate_walk.h"

void walk_find_joined(Evaluator *e)
{
    for (int i = 0; i < e->program->term_count; i++) {
        const Term *reduce = e->program->terms[i], *top = semiring_any_order(reduce);
        bool rounds = top && dtype_kind(top->dtype) >= KIND_FLOAT &&
                      (top->map.function == FUNCTION_MUL || top->map.function == FUNCTION_ADD);
        /* Of what several reduce, logsumexp is the least exact, and the outermost reduction of the most points. */
        if (rounds && (!e->joined[top->id] || semiring_inner(reduce) || reduce->reduce.reduction == REDUCTION_LOGSUMEXP))
            e->joined[top->id] = reduce;
    }
}

typedef struct Factors {
    Evaluator *e;
    Value *list;
    int count, narrow;            /* of the latter, those that are bf16 made wider */
} Factors;

static bool is_narrow(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->map.implicit)
        term = term->map.arguments[0];
    return term->dtype == DTYPE_BF16;
}

static void add_factor(void *user, const Term *factor)
{
    Factors *f = user;
    f->narrow += is_narrow(factor);
    walk_term(f->e, factor, &f->list[f->count++]);
}

/* How many points a kernel adds up at most on the way, in a sum of sums those of both. */
static double points_of(const Evaluator *e, const Term *reduce)
{
    double all = 1;
    for (; reduce; reduce = semiring_inner(reduce)) {
        int64_t points = walk_count(e, reduce->reduce.over, reduce->reduce.over_count);
        all *= points < 0 ? INFINITY : (double)points;
    }
    return all;
}

static Value product_of(const Factors *f, const Term *top, const Term *reduce)
{
    double largest, points = points_of(f->e, reduce);
    Value product = value_product(top->dtype, f->list, f->count, &largest);
    for (int i = 0; i < f->count; i++)
        if (isinf(f->list[i].re) || isinf(f->list[i].im))
            return value_open();
    if (product.open || value_is_nan(product))
        return product;
    if (!(largest * points * 2 < format_of(top->dtype)->huge))
        return value_open();
    if (product.bound == 0 && points > 1)    /* exact, but sums of its factors may have more digits */
        product.bound = rounding_errors(format_of(top->dtype), f->count - 1) * fabs(product.re);
    if (semiring_inner(reduce))    /* whose sums know only of what they add up themselves */
        product.bound += rounding_errors(format_of(top->dtype), points) * (hypot(product.re, product.im) + product.bound);
    if (top->dtype == DTYPE_F32 && f->narrow > 1) {      /* see value_mul_flushed() */
        bool denormal = false;
        for (int i = 0; i < f->count; i++)
            denormal |= fabs(f->list[i].re) - f->list[i].bound < FLT_MIN && (f->list[i].re != 0 || f->list[i].bound > 0);
        product.bound += 4 * FLT_MIN * f->count * largest + (denormal ? value_reach(product) : 0);
        product.either |= denormal;
    }
    if (top->dtype == DTYPE_F32)
        product.bound += f->e->product_error * f->count * (fabs(product.re) + product.bound);
    return product;
}

/* Of logarithms, each partial sum rounds its exponentials and its logarithm. */
static double logarithms_bound(const Factors *f, const Term *top, const Term *reduce, double size)
{
    const double each = 16, once = 64;
    double points = points_of(f->e, reduce);
    return f->count * format_of(top->dtype)->unit * (4 * (size + log(points + 1)) + each * points + once);
}

static Value sum_of(const Factors *f, const Term *top, const Term *reduce)
{
    Sum sum = { .dtype = top->dtype };
    double size = 0;
    bool up = false, down = false;
    for (int i = 0; i < f->count; i++) {
        sum_add(&sum, &f->list[i]);
        up |= f->list[i].re == INFINITY;
        down |= f->list[i].re == -INFINITY;
        size += isfinite(f->list[i].re) ? value_reach(f->list[i]) : 0;
    }
    Value value = sum_value(&sum);
    if (value.open || (up && down))
        return value_open();
    if (isfinite(value.re) && reduce->reduce.reduction == REDUCTION_LOGSUMEXP)
        value.bound += logarithms_bound(f, top, reduce, size);
    return value;
}

Value walk_joined(Evaluator *e, const Term *top)
{
    const Term *reduce = e->joined[top->id];
    Scratch *scratch = e->scratch;
    Factors f = { .e = e, .list = walk_take(e, semiring_factor_count(top), sizeof *f.list) };
    semiring_each_factor(top, add_factor, &f);
    Value value = top->map.function == FUNCTION_MUL ? product_of(&f, top, reduce) : sum_of(&f, top, reduce);
    walk_give_back(e, scratch);
    return value;
}
