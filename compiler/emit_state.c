/* The states of reductions in generated code: one row a state for how it begins, steps, merges, folds and ends. */
#include <math.h>
#include <string.h>

#include "emitting.h"

static State state_of(const Term *reduce)
{
    return reduce->kind == TERM_CONTRACT && reduce->reduce.reduction == REDUCTION_SUM
               ? STATE_SUM : reduction_facts[reduce->reduce.reduction].state;
}

/* A norm is a sum of powers, or for p = inf and -inf an extremum of absolute values. */
static State norm_like(const Term *reduce)
{
    double p = reduce->reduce.parameter;
    return isinf(p) ? (p > 0 ? STATE_MAX : STATE_MIN) : STATE_SUM;
}

/* The state whose merge and fold one component has. */
static State simple_state(const Term *reduce)
{
    State state = state_of(reduce);
    return state == STATE_NORM ? norm_like(reduce) : state;
}

bool state_is_simple(const Term *reduce)
{
    Component components[STATE_COMPONENTS_MAX];
    return state_components(reduce, components) == 1;
}

bool state_needs_place(const Term *reduce)
{
    return state_of(reduce) == STATE_ARGMAX || state_of(reduce) == STATE_ARGMIN;
}

/* ---- the beginning ---- */

static const char *least(Emitter *e, Dtype dtype, bool most)
{
    switch (register_dtype(dtype)) {
    case DTYPE_BOOL: return most ? "1" : "0";
    case DTYPE_I32: return most ? "INT32_MAX" : "INT32_MIN";
    case DTYPE_I64: return most ? "INT64_MAX" : "INT64_MIN";
    default: return emit_number(e, dtype, most ? INFINITY : -INFINITY);
    }
}

/* The value of a component that has seen nothing. */
static const char *identity(Emitter *e, const Term *reduce, int component, Dtype dtype)
{
    switch (state_of(reduce) == STATE_NORM ? norm_like(reduce) : state_of(reduce)) {
    case STATE_PROD:
    case STATE_ALL: return emit_number(e, dtype, 1);
    case STATE_MAX:
        /* No absolute value is below 0, and of none the norm is 0. */
        return state_of(reduce) == STATE_NORM ? emit_number(e, dtype, 0) : least(e, dtype, false);
    case STATE_MIN: return least(e, dtype, true);
    case STATE_EXPONENTIALS: return component == 0 ? least(e, dtype, false) : emit_number(e, dtype, 0);
    case STATE_ARGMAX: return component == 0 ? least(e, dtype, false) : "-1";
    case STATE_ARGMIN: return component == 0 ? least(e, dtype, true) : "-1";
    default: return emit_number(e, dtype, 0);
    }
}

const char *emit_state_start(Emitter *e, const Term *reduce, int component, bool varying)
{
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    const char *start = identity(e, reduce, component, components[component].dtype);
    return varying ? emit_splat(e, components[component].dtype, start) : emit_bare(e, start);
}

/* ---- one operation of two numbers ---- */

static const char *combine(Emitter *e, State state, Dtype dtype, bool varying, const char *a, const char *b)
{
    const char *suffix = emit_suffix(dtype, varying);
    bool real = dtype_kind(dtype) == KIND_FLOAT, logical = dtype == DTYPE_BOOL;
    bool any = state == STATE_ANY || (logical && (state == STATE_SUM || state == STATE_MAX));
    bool all = state == STATE_ALL || (logical && (state == STATE_PROD || state == STATE_MIN));
    if (any || all) {
        const char *function = any ? "or" : "and", *sign = any ? "||" : "&&";
        return varying ? emit_text(e, "%s_boolv(%s, %s)", function, a, emit_bare(e, b)) : emit_text(e, "%s %s %s", a, sign, b);
    }
    switch (state) {
    case STATE_PROD:
        return real ? emit_text(e, "%s * %s", a, b) : emit_text(e, "mul_%s(%s, %s)", suffix, a, emit_bare(e, b));
    case STATE_MAX: return emit_text(e, "max_%s(%s, %s)", suffix, a, emit_bare(e, b));
    case STATE_MIN: return emit_text(e, "min_%s(%s, %s)", suffix, a, emit_bare(e, b));
    default: return real ? emit_text(e, "%s + %s", a, b) : emit_text(e, "add_%s(%s, %s)", suffix, a, emit_bare(e, b));
    }
}

/* ---- steps ---- */

static const Term *strip_same(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST &&
           register_dtype(term->map.arguments[0]->dtype) == register_dtype(term->dtype) &&
           dtype_kind(term->dtype) == KIND_FLOAT && dtype_size(term->dtype) > 2)
        term = term->map.arguments[0];
    return term;
}

/* A sum of products of floats in lanes is a chain of fused multiply-adds. */
static bool step_fma(Emitter *e, const Term *reduce, const char *name, bool varying)
{
    const Term *x = strip_same(reduce->reduce.argument);
    bool product = x->kind == TERM_MAP && x->map.function == FUNCTION_MUL && e->uses[x->id] <= 1;
    bool square = x->kind == TERM_MAP && x->map.function == FUNCTION_POW && e->uses[x->id] <= 1 &&
                  x->map.arguments[1]->kind == TERM_MAP && x->map.arguments[1]->map.function == FUNCTION_CAST &&
                  x->map.arguments[1]->map.arguments[0]->kind == TERM_CONSTANT &&
                  x->map.arguments[1]->map.arguments[0]->constant.value == 2;
    if (!varying || dtype_kind(register_dtype(x->dtype)) != KIND_FLOAT || !(product || square) || emit_known(e, x))
        return false;
    const char *a = emit_varying(e, x->map.arguments[0]), *b = square ? a : emit_varying(e, x->map.arguments[1]);
    if (square && strchr(a, '(')) {
        const char *base = emit_name(e, "base");
        emit_line(e, "const %s %s = %s;", emit_type(x->dtype, true), base, emit_bare(e, a));
        a = b = base;
    }
    emit_line(e, "%s = fma_%s(%s, %s, %s);", name, emit_suffix(x->dtype, true), emit_bare(e, a), emit_bare(e, b), name);
    return true;
}

/* |x|^p as the norm adds it up. */
static const char *norm_element(Emitter *e, const Term *reduce, const char *x, bool varying)
{
    Dtype dtype = register_dtype(reduce->reduce.argument->dtype), real = dtype_real(dtype);
    const char *suffix = emit_suffix(real, varying);
    double p = reduce->reduce.parameter;
    const char *size = emit_text(e, "abs_%s(%s)", emit_suffix(dtype, varying), emit_bare(e, x));
    if (p == 1 || isinf(p))
        return size;
    if (p == 0) {
        const char *nonzero = emit_text(e, "to_bool_%s(%s)", suffix, size);
        return emit_text(e, "to_%s_%s(%s)", emit_suffix(real, false), varying ? "boolv" : "bool", nonzero);
    }
    if (p == 2)
        return emit_text(e, "square_%s(%s)", suffix, dtype == real ? emit_bare(e, x) : size);
    const char *power = emit_number(e, real, p);
    return emit_text(e, "pow_%s(%s, %s)", suffix, size, varying ? emit_splat(e, real, power) : power);
}

static void step_library(Emitter *e, const Term *reduce, const char *const *names, const char *x, bool varying,
                         const char *place)
{
    Dtype dtype = register_dtype(reduce->reduce.argument->dtype), real = dtype_real(dtype);
    const char *suffix = emit_suffix(dtype, varying), *one = emit_number(e, real, 1), *zero = emit_number(e, real, 0);
    if (varying) {
        one = emit_splat(e, real, one);
        zero = emit_splat(e, real, zero);
    }
    switch (state_of(reduce)) {
    case STATE_MOMENTS:
        emit_line(e, "merge_moments_%s(&%s, &%s, &%s, %s, %s, %s);", suffix, names[0], names[1], names[2], one,
                  emit_bare(e, x), zero);
        break;
    case STATE_EXPONENTIALS:
        emit_line(e, "merge_exponentials_%s(&%s, &%s, %s, %s);", suffix, names[0], names[1], emit_bare(e, x), one);
        break;
    default:
        emit_line(e, "merge_place_%s(%d, &%s, &%s, %s, %s);", suffix, state_of(reduce) == STATE_ARGMAX, names[0], names[1],
                  emit_bare(e, x), emit_bare(e, place));
        break;
    }
}

void emit_state_step(Emitter *e, const Term *reduce, const char *const *names, bool varying, const char *place)
{
    Dtype dtype = register_dtype(reduce->reduce.argument->dtype);
    State state = state_of(reduce);
    if (state == STATE_SUM && step_fma(e, reduce, names[0], varying))
        return;
    const char *x = varying ? emit_varying(e, reduce->reduce.argument) : emit_term(e, reduce->reduce.argument).text;
    if (!state_is_simple(reduce)) {
        step_library(e, reduce, names, x, varying, place);
        return;
    }
    if (state == STATE_NORM) {
        x = norm_element(e, reduce, x, varying);
        dtype = dtype_real(dtype);
    }
    emit_line(e, "%s = %s;", names[0], combine(e, simple_state(reduce), dtype, varying, names[0], x));
}

/* ---- merges, folds ---- */

void emit_state_merge(Emitter *e, const Term *reduce, const char *const *names, const char *const *others, bool varying)
{
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    Dtype dtype = register_dtype(reduce->reduce.argument->dtype);
    const char *suffix = emit_suffix(dtype, varying);
    switch (state_of(reduce)) {
    case STATE_MOMENTS:
        emit_line(e, "merge_moments_%s(&%s, &%s, &%s, %s, %s, %s);", suffix, names[0], names[1], names[2], others[0],
                  others[1], others[2]);
        break;
    case STATE_EXPONENTIALS:
        emit_line(e, "merge_exponentials_%s(&%s, &%s, %s, %s);", suffix, names[0], names[1], others[0], others[1]);
        break;
    case STATE_ARGMAX:
    case STATE_ARGMIN:
        emit_line(e, "merge_place_%s(%d, &%s, &%s, %s, %s);", suffix, state_of(reduce) == STATE_ARGMAX, names[0], names[1],
                  others[0], others[1]);
        break;
    default:
        emit_line(e, "%s = %s;", names[0],
                  combine(e, simple_state(reduce), components[0].dtype, varying, names[0], others[0]));
        break;
    }
}

/* The lanes' states become one: `names` are declared here. */
void emit_state_fold(Emitter *e, const Term *reduce, const char *const *lanes, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    int count = state_components(reduce, components);
    Dtype dtype = components[0].dtype;
    if (count == 1) {
        static const char *const folds[] = { [STATE_SUM] = "sum", [STATE_PROD] = "prod", [STATE_MAX] = "max",
                                             [STATE_MIN] = "min", [STATE_ANY] = "any", [STATE_ALL] = "all" };
        State state = simple_state(reduce);
        bool any = state == STATE_ANY || state == STATE_SUM || state == STATE_MAX;
        const char *fold = dtype == DTYPE_BOOL ? (any ? "any" : "all") : emit_text(e, "fold_%s", folds[state]);
        emit_line(e, "%s %s = %s_%s(%s);", emit_type(dtype, false), names[0], fold, emit_suffix(dtype, true), lanes[0]);
        return;
    }
    const char *others[STATE_COMPONENTS_MAX];
    for (int c = 0; c < count; c++) {
        emit_line(e, "%s %s = lane_%s(%s, 0);", emit_type(components[c].dtype, false), names[c],
                  emit_suffix(components[c].dtype, true), lanes[c]);
        others[c] = emit_text(e, "lane_%s(%s, lane)", emit_suffix(components[c].dtype, true), lanes[c]);
    }
    Scope *body = emit_push(e);
    emit_state_merge(e, reduce, names, others, false);
    emit_pop(e);
    emit_line(e, "for (int lane = 1; lane < LANES; lane++)");
    emit_body(e, body);
}

/* ---- the end ---- */

static const char *count_of(Emitter *e, const Term *reduce)
{
    Text text = text_new(e->arena);
    Dtype real = dtype_real(register_dtype(reduce->dtype));
    for (int i = 0; i < reduce->reduce.over_count; i++)
        text_print(&text, "%s(%s)%s", i ? " * " : "", emit_type(real, false), emit_extent(e, reduce->reduce.over[i]));
    return text.length ? emit_text(e, "(%s)", text.bytes) : emit_number(e, real, 1);
}

static const char *divide(Emitter *e, Dtype dtype, const char *a, const char *b)
{
    if (dtype_kind(dtype) != KIND_COMPLEX)
        return emit_text(e, "(%s / %s)", a, b);
    return emit_text(e, "make_%s(%s.re / %s, %s.im / %s)", dtype_name(dtype), a, b, a, b);
}

static const char *norm_root(Emitter *e, const Term *reduce, const char *sum, bool varying)
{
    Dtype real = register_dtype(reduce->dtype);
    const char *suffix = emit_suffix(real, varying);
    double p = reduce->reduce.parameter;
    if (p == 0 || p == 1 || isinf(p))
        return sum;
    if (p == 2)
        return emit_text(e, "sqrt_%s(%s)", suffix, sum);
    const char *root = emit_number(e, real, 1 / p);
    return emit_text(e, "pow_%s(%s, %s)", suffix, sum, varying ? emit_splat(e, real, root) : root);
}

Value emit_state_finish(Emitter *e, const Term *reduce, const char *const *names, bool varying)
{
    Dtype dtype = register_dtype(reduce->dtype);
    const char *suffix = emit_suffix(dtype, varying), *text = names[0];
    switch (reduce->reduce.reduction) {
    case REDUCTION_MEAN: text = divide(e, dtype, names[0], count_of(e, reduce)); break;
    case REDUCTION_NORM: text = norm_root(e, reduce, names[0], varying); break;
    case REDUCTION_VAR:
    case REDUCTION_STD: {
        const char *freedom = emit_text(e, "max_%s(%s - %s, 0)", emit_suffix(dtype, false), count_of(e, reduce),
                                        emit_number(e, dtype, reduce->reduce.parameter));
        text = emit_text(e, "(%s / %s)", names[2], freedom);
        if (reduce->reduce.reduction == REDUCTION_STD)
            text = emit_text(e, "sqrt_%s(%s)", suffix, emit_bare(e, text));
        break;
    }
    case REDUCTION_LOGSUMEXP: text = emit_text(e, "(%s + log_%s(%s))", names[0], suffix, names[1]); break;
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN: text = names[1]; break;
    default: break;
    }
    return (Value){ text, varying };
}

/* ---- identities ---- */

bool state_skips(const Term *reduce, const Term *value)
{
    while (value->kind == TERM_MAP && value->map.function == FUNCTION_CAST)
        value = value->map.arguments[0];
    double sign = 1;
    if (value->kind == TERM_MAP && value->map.function == FUNCTION_NEG) {
        sign = -1;
        value = value->map.arguments[0];
    }
    if (value->kind != TERM_CONSTANT)
        return false;
    double number = sign * value->constant.value;
    switch (state_of(reduce)) {
    case STATE_SUM:
    case STATE_ANY: return number == 0;
    case STATE_PROD:
    case STATE_ALL: return number == 1;
    case STATE_MAX:
    case STATE_EXPONENTIALS: return number == -INFINITY && dtype_kind(reduce->reduce.argument->dtype) == KIND_FLOAT;
    case STATE_MIN: return number == INFINITY && dtype_kind(reduce->reduce.argument->dtype) == KIND_FLOAT;
    case STATE_NORM: return number == 0 && reduce->reduce.parameter >= 0 && !isinf(reduce->reduce.parameter);
    default: return false;
    }
}
