/* Functions whose argument a kernel scales before the instruction or the polynomial that it has for them: on a grid
 * SCALED_FUNCTIONS in ops.h. Factors that the argument has as it stands become one with that: exp(-0.5 * x) is 2^(-0.72 x). */
#include <float.h>
#include <math.h>

#include "emitting.h"

#define FACTOR_LEAST 1e-30   /* so that its products with other constants are numbers */

/* Whether a product is rounded to what it is: by a power of two that is at most 1. */
bool emit_is_exact(const Term *term)
{
    double number = 0;
    int exponent;
    for (int i = 0; term->kind == TERM_MAP && term->map.function == FUNCTION_MUL && i < 2 && number == 0; i++)
        if (!term_f32_number(term->map.arguments[i], &number))
            number = 0;
    return fabs(frexp(number, &exponent)) == 0.5 && fabs(number) <= 1;
}

static bool is_middling(double factor)
{
    return fabs(factor) >= FACTOR_LEAST && fabs(factor) <= 1 / FACTOR_LEAST;
}

/* Where vectors have no such instruction, their function takes the factor beside its own constants, if it is of middling size. */
static bool scaled_vector(Emitter *e, const Term *x, double factor, Value *value)
{
    Value scaled = emit_term(e, x);
    if (!scaled.varying || !is_middling(factor))
        return false;
    const char *by = emit_bare(e, emit_number(e, DTYPE_F32, factor));
    *value = (Value){ emit_text(e, "exp_times_f32v(%s, %s)", emit_bare(e, scaled.text), by), true };
    return true;
}

/* A power for a sum that is `up` times as large as it is. */
static Value lifted_power(Emitter *e, const Term *x, double factor)
{
    Value scaled = emit_term(e, x);
    return (Value){ emit_text(e, "lifted_exp_%s(%s, %s, up)", emit_suffix(DTYPE_F32, scaled.varying), emit_bare(e, scaled.text),
                              emit_bare(e, emit_number(e, DTYPE_F32, factor))), scaled.varying };
}

bool emit_scaled(Emitter *e, const Term *term, Value *value)
{
    const double log2_of_e = 1.4426950408889634;
    double factor = 1;
    if (term->map.function != FUNCTION_EXP || term->dtype != DTYPE_F32)
        return false;
    const Term *x = term_without_factors(term->map.arguments[0], &factor);
    if (e->plan->lifted[term->id]) {
        bool apart = x->dtype == DTYPE_F32 && is_middling(factor);
        *value = lifted_power(e, apart ? x : term->map.arguments[0], apart ? factor : 1);
        return true;
    }
    bool lossy = term == e->lossy;
    if ((x == term->map.arguments[0] && !lossy) || x->dtype != DTYPE_F32)
        return false;
    if (!e->plan->target->grid)
        return scaled_vector(e, x, factor, value);
    double size = fabs(factor *= log2_of_e);
    if (!(size >= FLT_MIN && size <= FLT_MAX))
        return false;
    const char *which = lossy ? "lossy_f32<FLUSHES>" : "f32";
    if (lossy && e->exponent) {
        *value = (Value){ emit_text(e, "exp2_%s(%s)", which, e->exponent), false };
        return true;
    }
    *value = (Value){ emit_text(e, "exp2_%s(%s * %s)", which, emit_number(e, DTYPE_F32, factor), emit_term(e, x).text), false };
    return true;
}
