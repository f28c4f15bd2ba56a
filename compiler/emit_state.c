/* The states of reductions in generated code: how they begin, step, merge, fold and end. What they are is in state.c. */
#include <math.h>
#include <string.h>

#include "emitting.h"

/* ---- the beginning ---- */

const char *emit_extreme(Emitter *e, Dtype dtype, bool most)
{
    switch (register_dtype(dtype)) {
    case DTYPE_BOOL: return most ? "1" : "0";
    case DTYPE_I32: return most ? "INT32_MAX" : "INT32_MIN";
    case DTYPE_I64: return most ? "INT64_MAX" : "INT64_MIN";
    default: return emit_number(e, dtype, most ? INFINITY : -INFINITY);
    }
}

/* The value of a component that has seen nothing. */
static const char *identity(Emitter *e, const Component *component)
{
    switch (component->start) {
    case START_ZERO: return emit_number(e, component->dtype, 0);
    case START_ONE: return emit_number(e, component->dtype, 1);
    case START_LEAST: return emit_extreme(e, component->dtype, false);
    case START_MOST: break;
    }
    return emit_extreme(e, component->dtype, true);
}

const char *emit_state_start(Emitter *e, const Term *reduce, int component, bool varying)
{
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    const char *start = identity(e, &components[component]);
    return varying ? emit_splat(e, components[component].dtype, start) : emit_bare(e, start);
}

/* ---- merges of one component with another ---- */

static bool is_or(Merge merge, Dtype dtype)
{
    return merge == MERGE_OR || (dtype == DTYPE_BOOL && (merge == MERGE_ADD || merge == MERGE_MAX));
}

static bool is_and(Merge merge, Dtype dtype)
{
    return merge == MERGE_AND || (dtype == DTYPE_BOOL && (merge == MERGE_MUL || merge == MERGE_MIN));
}

static const char *combine(Emitter *e, const Component *component, bool varying, const char *a, const char *b)
{
    Dtype dtype = component->dtype;
    const char *suffix = emit_suffix(dtype, varying);
    bool real = dtype_kind(dtype) == KIND_FLOAT, any = is_or(component->merge, dtype);
    if (any || is_and(component->merge, dtype)) {
        const char *function = any ? "or" : "and", *sign = any ? "||" : "&&";
        return varying ? emit_text(e, "%s_boolv(%s, %s)", function, a, emit_bare(e, b)) : emit_text(e, "%s %s %s", a, sign, b);
    }
    switch (component->merge) {
    case MERGE_MUL:
        return real ? emit_text(e, "%s * %s", a, b) : emit_text(e, "mul_%s(%s, %s)", suffix, a, emit_bare(e, b));
    case MERGE_MAX: return emit_text(e, "max_%s(%s, %s)", suffix, a, emit_bare(e, b));
    case MERGE_MIN: return emit_text(e, "min_%s(%s, %s)", suffix, a, emit_bare(e, b));
    default: return real ? emit_text(e, "%s + %s", a, b) : emit_text(e, "add_%s(%s, %s)", suffix, a, emit_bare(e, b));
    }
}

void emit_state_merge(Emitter *e, const Term *reduce, const char *const *names, const char *const *others, bool varying)
{
    Component components[STATE_COMPONENTS_MAX];
    int count = state_components(reduce, components);
    const char *leading, *merge = state_merge(reduce, &leading);
    if (!merge) {
        for (int c = 0; c < count; c++)
            emit_line(e, "%s = %s;", names[c], combine(e, &components[c], varying, names[c], others[c]));
        return;
    }
    Text text = text_new(e->arena);
    for (int c = 0; c < count; c++)
        text_print(&text, "&%s, ", names[c]);
    for (int c = 0; c < count; c++)
        text_print(&text, "%s%s", c ? ", " : "", others[c]);
    emit_line(e, "merge_%s_%s(%s%s);", merge, emit_suffix(register_dtype(reduce->reduce.argument->dtype), varying), leading,
              text.bytes);
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
    bool square = x->kind == TERM_MAP && e->uses[x->id] <= 1 && (x->map.function == FUNCTION_SQUARE ||
                  (x->map.function == FUNCTION_POW &&
                   x->map.arguments[1]->kind == TERM_MAP && x->map.arguments[1]->map.function == FUNCTION_CAST &&
                   x->map.arguments[1]->map.arguments[0]->kind == TERM_CONSTANT &&
                   x->map.arguments[1]->map.arguments[0]->constant.value == 2));
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

/* What a component is of the element x. */
static const char *lift(Emitter *e, const Component *component, const char *x, bool varying, const char *place)
{
    const char *number = emit_number(e, component->dtype, component->lift == LIFT_ONE);
    switch (component->lift) {
    case LIFT_ELEMENT: return x;
    case LIFT_PLACE: return emit_bare(e, place);
    default: return varying ? emit_splat(e, component->dtype, number) : number;
    }
}

void emit_state_step(Emitter *e, const Term *reduce, const char *const *names, bool varying, const char *place)
{
    Component components[STATE_COMPONENTS_MAX];
    int count = state_components(reduce, components);
    const char *lifted[STATE_COMPONENTS_MAX], *leading;
    bool norm = reduction_facts[reduce->reduce.reduction].state == STATE_NORM;
    if (count == 1 && components[0].merge == MERGE_ADD && !norm && step_fma(e, reduce, names[0], varying))
        return;
    const char *x = varying ? emit_varying(e, reduce->reduce.argument) : emit_term(e, reduce->reduce.argument).text;
    if (norm)
        x = norm_element(e, reduce, x, varying);
    if (state_merge(reduce, &leading))
        x = emit_bare(e, x);
    for (int c = 0; c < count; c++)
        lifted[c] = lift(e, &components[c], x, varying, place);
    emit_state_merge(e, reduce, names, lifted, varying);
}

/* "&largest, &sum" */
static const char *addresses(Emitter *e, const Term *reduce, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    const char *list = emit_text(e, "&%s", names[0]);
    for (int c = 1, n = state_components(reduce, components); c < n; c++)
        list = emit_text(e, "%s, &%s", list, names[c]);
    return list;
}

void emit_state_add(Emitter *e, const Term *reduce, const char *const *names, const char *others, const char *count)
{
    emit_line(e, "add_%s_%s(%s, %s, %s);", state_group(reduce), emit_suffix(state_dtype(reduce), true), addresses(e, reduce, names), others,
              count);
}

/* ---- folds ---- */

static const char *fold_name(const Component *component)
{
    static const char *const names[] = { [MERGE_ADD] = "fold_sum", [MERGE_MUL] = "fold_prod", [MERGE_MAX] = "fold_max",
                                         [MERGE_MIN] = "fold_min", [MERGE_OR] = "any", [MERGE_AND] = "all" };
    return is_or(component->merge, component->dtype)    ? "any"
           : is_and(component->merge, component->dtype) ? "all" : names[component->merge];
}

/* The lanes' states become one: `names` are declared here. */
void emit_state_fold(Emitter *e, const Term *reduce, const char *const *lanes, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    int count = state_components(reduce, components);
    const char *leading;
    if (!state_merge(reduce, &leading)) {
        for (int c = 0; c < count; c++)
            emit_line(e, "%s %s = %s_%s(%s);", emit_type(components[c].dtype, false), names[c], fold_name(&components[c]),
                      emit_suffix(components[c].dtype, true), lanes[c]);
        return;
    }
    if (state_group(reduce)) {
        const char *type = emit_type(components[0].dtype, false), *list = lanes[0], *declared = names[0];
        for (int c = 1; c < count; c++) {
            list = emit_text(e, "%s, %s", list, lanes[c]);
            declared = emit_text(e, "%s, %s", declared, names[c]);
        }
        emit_line(e, "%s %s;", type, declared);
        emit_line(e, "fold_%s_%s(%s, %s);", state_group(reduce), emit_suffix(components[0].dtype, true), list, addresses(e, reduce, names));
        return;
    }
    if (state_takes_rows(reduce)) {
        for (int c = 0; c < count; c++)
            emit_line(e, "%s %s;", emit_type(components[c].dtype, false), names[c]);
        emit_line(e, "fold_place_%s(%s%s, %s, %s);", emit_suffix(components[0].dtype, true), leading, lanes[0], lanes[1], addresses(e, reduce, names));
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
    if (e->plan->lifted[reduce->id])
        return (Value){ emit_text(e, "lowered_%s(%s, up, overflow)", suffix, text), varying };
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
