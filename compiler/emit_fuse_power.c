/* Powers of a row's sums, exp(x - m) of its maximum m, as a ring takes them: without asking for each sum, which would be a branch, and
 * where all that x is is a sum times a number, as powers of 2 of the sum itself. */
#include <math.h>

#include "emit_fuse.h"

static bool reads_step(const Term *term, const Step *step)
{
    return step && term->kind == TERM_READ && term->read.tensor->maker == step->statement;
}

/* where(m == -inf, 0, exp(x - m)) in a step; NULL: there is none. */
static const Term *guarded_power(const Emitter *e, const Fused *f, const Step *step)
{
    const Program *lowered = e->plan->lowered;
    for (int i = 0; i < lowered->term_count && f->fuse->largest; i++) {
        const Term *x = lowered->terms[i], *asked = x->kind == TERM_SELECT ? x->select.condition : NULL;
        if (asked && x->statement == step->statement->id && asked->kind == TERM_MAP && asked->map.function == FUNCTION_EQ &&
            reads_step(asked->map.arguments[0], f->fuse->largest))
            return x;
    }
    return NULL;
}

/* x - m in exp(x - m), if that is all that a power is; else NULL. */
static const Term *difference_of(const Fused *f, const Term *power)
{
    const Term *x = power->select.no, *difference = x->kind == TERM_MAP && x->map.function == FUNCTION_EXP ? x->map.arguments[0] : NULL;
    bool plain = difference && difference->kind == TERM_MAP && difference->map.function == FUNCTION_SUB &&
                 reads_step(difference->map.arguments[1], f->fuse->largest);
    return plain ? difference : NULL;
}

/* ---- whether the number in sum * number can be left to the powers ---- */

/* What stands under a where that gives -inf otherwise. */
static const Term *inside_where(const Term *term)
{
    return term->kind == TERM_SELECT && term_is_number(term->select.no, -INFINITY) ? term->select.yes : term;
}

static double constant_of(const Term *term)
{
    double number;
    return term_f32_number(term, &number) ? number : NAN;
}

/* How many times the product a value is; NaN: it is something else. */
static double number_of(const Term *value, const Term *product)
{
    if (value == product)
        return 1;
    if (value->kind != TERM_MAP || value->map.count != 2 || value->dtype != DTYPE_F32)
        return NAN;
    const Term *x = value->map.arguments[0], *y = value->map.arguments[1];
    if (value->map.function == FUNCTION_MUL)
        return x == product ? constant_of(y) : y == product ? constant_of(x) : NAN;
    return value->map.function == FUNCTION_DIV && x == product ? 1 / constant_of(y) : NAN;
}

/* Whether a step's power has a term of its sums, or of its maximum. */
static bool has_term(const Term *power, const Term *difference, const Term *term)
{
    return difference && (term == difference->map.arguments[0] || term == difference->map.arguments[1] ||
                          term == power->select.condition->map.arguments[0]);
}

/* Whether of what the first step stores only the maximum is taken, which grows with it, and powers, and of the maximum powers alone. */
static bool reads_powers(const Emitter *e, const Fused *f)
{
    const Program *lowered = e->plan->lowered;
    const Step *first = f->launch->steps[0], *largest = f->fuse->largest;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (!reads_step(term, first) && !reads_step(term, largest))
            continue;
        bool good = term == inside_where(largest->roots[0]->reduce.argument);
        for (int s = 1; s < f->launch->step_count && !good; s++) {
            const Term *power = guarded_power(e, f, f->launch->steps[s]);
            good = power && has_term(power, difference_of(f, power), term);
        }
        if (!good)
            return false;
    }
    return true;
}

void fused_find_scale(Emitter *e, Fused *f)
{
    const double log2_of_e = 1.4426950408889634;
    const Step *first = f->launch->steps[0];
    const Term *value = inside_where(first->statement->outputs[0].value);
    double scale = log2_of_e * number_of(value, first->contract->product);
    if (!f->fuse->largest || f->fuse->neutral != -INFINITY || !(scale > 0x1p-100 && scale < 0x1p100) || !reads_powers(e, f))
        return;
    f->scaled = value;
    f->scale = emit_number(e, DTYPE_F32, scale);
}

/* ---- text ---- */

/* Whether an earlier step of the launch has found it for the same sums. */
static bool is_found(const Emitter *e, const Fused *f, const Step *step)
{
    for (int s = 0; f->launch->steps[s] != step; s++)
        if (guarded_power(e, f, f->launch->steps[s]))
            return true;
    return false;
}

/* The product of a number and a large sum is rounded by more than powers bear: there the maximum is taken off first. */
static void take_off_large(Emitter *e, const Fused *f, const char *most, const char *largest, bool found)
{
    emit_line(e, "if (fabsf(%s) > 1048576.0f) {", most);
    if (!found) {
        emit_line(e, "    UNROLL");
        emit_line(e, "    for (int c = 0; c < RIGHT_%d / 4; c++)", f->ring->t.number);
        emit_line(e, "        %s -= %s;", f->sum, largest);
    }
    emit_line(e, "    %s = 0;", most);
    emit_line(e, "}");
}

const char *fused_find_most(Emitter *e, const Fused *f, const Step *step)
{
    const Term *power = f->ring ? guarded_power(e, f, step) : NULL;
    if (!power)
        return "";
    const char *most = emit_name(e, "most"), *largest = emit_term(e, power->select.condition->map.arguments[0]).text;
    emit_line(e, "%sfloat %s = %s == -INFINITY ? 0.0f : %s%s%s;", f->scaled ? "" : "const ", most, largest, largest, f->scaled ? " * " : "",
              f->scaled ? f->scale : "");
    if (f->scaled)
        take_off_large(e, f, most, largest, is_found(e, f, step));
    return most;
}

/* Of a row of nothing but -inf the power of x - 0 is 0, too. */
void fused_bind_power(Emitter *e, const Fused *f, const Step *step, const char *most)
{
    const Term *power = f->ring ? guarded_power(e, f, step) : NULL;
    if (f->ring && f->scaled && step == f->launch->steps[0])
        emit_know(e, f->scaled, (Value){ f->sum, false });
    if (!power)
        return;
    if (f->scaled)
        emit_know(e, power->select.no, (Value){ emit_text(e, "power_f32(fmaf(%s, %s, -%s))", f->sum, f->scale, most), false });
    else
        emit_know(e, power->select.condition->map.arguments[0], (Value){ most, false });
    emit_know(e, power, emit_term(e, power->select.no));
}

const char *fused_change(Emitter *e, const Fused *f, const char *before, const char *now)
{
    const char *change = emit_text(e, "%s - (%s == -INFINITY ? 0.0f : %s)", before, now, now);
    return f->scaled ? emit_text(e, "power_f32((%s) * %s)", change, f->scale) : emit_text(e, "exp_f32(%s)", change);
}
