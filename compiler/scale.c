#include "scale.h"

#include <math.h>

static const Scale none = { SCALE_NONE, NULL }, other = { SCALE_OTHER, NULL };

void scaling_start(Scaling *s, Arena *arena, const Program *program)
{
    s->known = ARENA_ARRAY(arena, Scale, program->term_count);
    s->partner = ARENA_ARRAY(arena, const Term *, program->term_count);
    s->seen = ARENA_ARRAY(arena, bool, program->term_count);
}

bool scale_is_power(Scale scale)
{
    return scale.kind == SCALE_POWER || scale.kind == SCALE_BARE;
}

bool scale_is_fixed(Scale scale)
{
    return scale.kind == SCALE_NONE || scale.kind == SCALE_ZERO;
}

/* ---- whether two terms are one ---- */

static bool is_same_position(Scaling *s, const Position *a, const Position *b)
{
    bool same = a->constant == b->constant && a->count == b->count;
    for (int k = 0; same && k < a->count; k++) {
        const PositionPart *x = &a->parts[k], *y = &b->parts[k];
        same = x->coefficient == y->coefficient && !x->index == !y->index &&
               (x->index ? s->is_same(s->user, x->index, y->index) : scaling_is_same(s, x->gather, y->gather));
    }
    return same;
}

static bool is_same_read(Scaling *s, const Term *a, const Term *b)
{
    const Tensor *tensor = a->read.tensor;
    bool same = tensor == b->read.tensor && a->read.carried == b->read.carried;
    for (int i = 0; same && i < tensor->rank; i++)
        same = is_same_position(s, &a->read.positions[i], &b->read.positions[i]);
    return same;
}

static bool is_same_constant(const Term *a, const Term *b)
{
    if (a->constant.is_integer != b->constant.is_integer)
        return false;
    return a->constant.is_integer ? a->constant.integer == b->constant.integer : a->constant.value == b->constant.value;
}

static bool is_same_inside(Scaling *s, const Term *a, const Term *b)
{
    switch (a->kind) {
    case TERM_READ: return is_same_read(s, a, b);
    case TERM_CONSTANT: return is_same_constant(a, b);
    case TERM_POSITION: return s->is_same(s->user, a->position, b->position);
    case TERM_EXTENT: return a->extent == b->extent;
    case TERM_SELECT:
        return scaling_is_same(s, a->select.condition, b->select.condition) && scaling_is_same(s, a->select.yes, b->select.yes) &&
               scaling_is_same(s, a->select.no, b->select.no);
    case TERM_MAP:
        if (a->map.function != b->map.function || a->map.count != b->map.count)
            return false;
        for (int i = 0; i < a->map.count; i++)
            if (!scaling_is_same(s, a->map.arguments[i], b->map.arguments[i]))
                return false;
        return true;
    default: return false;
    }
}

bool scaling_is_same(Scaling *s, const Term *a, const Term *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype)
        return false;
    if (s->partner[a->id] != b && is_same_inside(s, a, b))
        s->partner[a->id] = b;
    return s->partner[a->id] == b;
}

/* ---- how a value changes ---- */

/* What a tensor of maxima is of. */
static const Term *argument_of(const Tensor *maximum)
{
    return maximum->maker->outputs[0].value->reduce.argument;
}

/* Whether a value is what the maximum is of, so that none of its powers is more than 1 whatever points the maximum is of. A where
 * that leaves some out may stand in front of the maximum again, if they were left out when the value was stored. */
static bool is_below(Scaling *s, const Term *value, const Tensor *maximum)
{
    const Term *of = argument_of(maximum);
    if (scaling_is_same(s, value, of))
        return true;
    const Statement *maker = value->kind == TERM_READ ? value->read.tensor->maker : NULL;
    const Term *stored = maker ? maker->outputs[0].value : NULL;
    return of->kind == TERM_SELECT && stored && stored->kind == TERM_SELECT && term_is_number(of->select.no, -INFINITY) &&
           term_is_number(stored->select.no, -INFINITY) && scaling_is_same(s, of->select.condition, stored->select.condition) &&
           scaling_is_same(s, value, of->select.yes);
}

/* Of a sum, or of either of two values. */
static Scale either(Scale a, Scale b)
{
    if (a.kind == SCALE_ZERO || (a.kind == b.kind && a.of == b.of))
        return b;
    return b.kind == SCALE_ZERO ? a : other;
}

static const Tensor *maximum_read(Scaling *s, const Term *term)
{
    return term->kind == TERM_READ ? s->maximum(s->user, term) : NULL;
}

static Scale of_power(Scaling *s, const Term *difference, const Tensor *maximum)
{
    const Term *x = difference->map.arguments[0];
    return scale_is_fixed(scale_of(s, x)) && is_below(s, x, maximum) ? (Scale){ SCALE_BARE, maximum } : other;
}

/* exp(x - m), or 0, or what stores it: at most 1, of whatever maximum so far, so that any float has it, with as many digits. */
static bool is_power(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST)
        term = term->map.arguments[0];
    if (term->kind == TERM_READ && term->read.tensor->maker)
        return is_power(term->read.tensor->maker->outputs[0].value);
    if (term->kind == TERM_SELECT)
        return (term_is_number(term->select.yes, 0) || is_power(term->select.yes)) &&
               (term_is_number(term->select.no, 0) || is_power(term->select.no));
    return term->kind == TERM_MAP && term->map.function == FUNCTION_EXP;
}

static Scale of_map(Scaling *s, const Term *term)
{
    Term *const *x = term->map.arguments;
    const Tensor *maximum = term->map.function == FUNCTION_EXP && x[0]->kind == TERM_MAP && x[0]->map.function == FUNCTION_SUB
                            ? maximum_read(s, x[0]->map.arguments[1]) : NULL;
    if (maximum)
        return of_power(s, x[0], maximum);
    Scale first = term->map.count > 0 ? scale_of(s, x[0]) : none, second = term->map.count > 1 ? scale_of(s, x[1]) : none;
    bool fixed = scale_is_fixed(first) && scale_is_fixed(second), real = dtype_kind(term->dtype) == KIND_FLOAT;
    for (int i = 2; i < term->map.count; i++)
        fixed = scale_is_fixed(scale_of(s, x[i])) && fixed;
    if (fixed || !real)
        return fixed ? none : other;
    switch (term->map.function) {
    case FUNCTION_MUL: return scale_is_fixed(second) ? first : scale_is_fixed(first) ? second : other;
    case FUNCTION_DIV: return scale_is_fixed(second) ? first : other;
    case FUNCTION_ADD:
    case FUNCTION_SUB: return either(first, second);
    case FUNCTION_CAST: return term->dtype == x[0]->dtype || is_power(x[0]) ? first : other;
    case FUNCTION_NEG: return first;
    default: return other;
    }
}

/* where(m == -inf, 0, exp(x - m)): a maximum of -inf is that of nothing but -inf, of which the power would be NaN before the
 * first other x. */
static Scale of_select(Scaling *s, const Term *term)
{
    const Term *condition = term->select.condition;
    Scale yes = scale_of(s, term->select.yes), no = scale_of(s, term->select.no);
    bool guards = condition->kind == TERM_MAP && condition->map.function == FUNCTION_EQ && yes.kind == SCALE_ZERO && scale_is_power(no) &&
                  maximum_read(s, condition->map.arguments[0]) == no.of && term_is_number(condition->map.arguments[1], -INFINITY);
    return guards ? (Scale){ SCALE_POWER, no.of } : scale_is_fixed(scale_of(s, condition)) ? either(yes, no) : other;
}

static Scale of_read(Scaling *s, const Term *term)
{
    for (int a = 0; a < term->read.tensor->rank; a++)
        for (int k = 0; k < term->read.positions[a].count; k++) {
            const Term *gather = term->read.positions[a].parts[k].gather;
            if (gather && !scale_is_fixed(scale_of(s, gather)))
                return other;
        }
    return s->read(s->user, term);
}

static Scale of_reduction(Scaling *s, const Term *term)
{
    Scale scale = scale_of(s, term->reduce.argument);
    bool adds = term->reduce.reduction == REDUCTION_SUM && dtype_kind(term->dtype) == KIND_FLOAT;
    return !s->sums ? other : scale_is_fixed(scale) ? none : adds ? scale : other;
}

static Scale find_scale(Scaling *s, const Term *term)
{
    if (term_is_number(term, 0))
        return (Scale){ SCALE_ZERO, NULL };
    switch (term->kind) {
    case TERM_READ: return of_read(s, term);
    case TERM_MAP: return of_map(s, term);
    case TERM_SELECT: return of_select(s, term);
    case TERM_CONTRACT:
    case TERM_REDUCE: return of_reduction(s, term);
    default: return none;
    }
}

Scale scale_of(Scaling *s, const Term *term)
{
    if (!s->seen[term->id]) {
        s->known[term->id] = find_scale(s, term);
        s->seen[term->id] = true;
    }
    return s->known[term->id];
}
