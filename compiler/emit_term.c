/* Expressions. A term becomes an operand of C: inline where it is used once and short, else a constant of its own, in
 * the outermost block where all that it depends on is known. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emitting.h"

enum { LONGEST_INLINE = 72 };

/* ---- spelling ---- */

const char *emit_type(Dtype dtype, bool varying)
{
    switch (register_dtype(dtype)) {
    case DTYPE_BOOL: return varying ? "boolv" : "int";
    case DTYPE_I32: return varying ? "i32v" : "int32_t";
    case DTYPE_I64: return varying ? "i64v" : "int64_t";
    case DTYPE_F32: return varying ? "f32v" : "float";
    case DTYPE_F64: return varying ? "f64v" : "double";
    case DTYPE_C64: return varying ? "c64v" : "c64";
    default: return varying ? "c128v" : "c128";
    }
}

const char *emit_suffix(Dtype dtype, bool varying)
{
    switch (register_dtype(dtype)) {
    case DTYPE_BOOL: return varying ? "boolv" : "bool";
    case DTYPE_I32: return varying ? "i32v" : "i32";
    case DTYPE_I64: return varying ? "i64v" : "i64";
    case DTYPE_F32: return varying ? "f32v" : "f32";
    case DTYPE_F64: return varying ? "f64v" : "f64";
    case DTYPE_C64: return varying ? "c64v" : "c64";
    default: return varying ? "c128v" : "c128";
    }
}

const char *emit_splat(Emitter *e, Dtype dtype, const char *text)
{
    return emit_text(e, "splat_%s(%s)", emit_suffix(dtype, true), emit_bare(e, text));
}

static const char *decimal(Emitter *e, double value, int digits, const char *suffix)
{
    const char *text = emit_text(e, "%.*g", digits, fabs(value));
    text = emit_text(e, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", suffix);
    return signbit(value) ? emit_text(e, "(-%s)", text) : text;
}

static const char *real_number(Emitter *e, Dtype dtype, double value)
{
    if (isnan(value))
        return "NAN";
    if (isinf(value))
        return value > 0 ? "INFINITY" : "(-INFINITY)";
    if (dtype == DTYPE_F64)
        return decimal(e, value, 17, "");
    if (fabs(value) > 3.4028235677973366e38)
        return value > 0 ? "INFINITY" : "(-INFINITY)";
    return decimal(e, (double)(float)value, 9, "f");
}

static const char *integer_number(Emitter *e, Dtype dtype, int64_t value)
{
    if (value == INT64_MIN)
        return "INT64_MIN";
    if (value == INT32_MIN)
        return "INT32_MIN";
    bool large = dtype == DTYPE_I64 && (value > INT32_MAX || value < -INT32_MAX);
    const char *text = emit_text(e, large ? "INT64_C(%lld)" : "%lld", (long long)(value < 0 ? -value : value));
    return value < 0 ? emit_text(e, "(-%s)", text) : text;
}

const char *emit_number(Emitter *e, Dtype dtype, double value)
{
    switch (register_dtype(dtype)) {
    case DTYPE_BOOL: return value != 0 ? "1" : "0";
    case DTYPE_I32: return integer_number(e, DTYPE_I32, (int64_t)value);
    case DTYPE_I64: return integer_number(e, DTYPE_I64, (int64_t)value);
    case DTYPE_F32: return real_number(e, DTYPE_F32, value);
    case DTYPE_F64: return real_number(e, DTYPE_F64, value);
    case DTYPE_C64: return emit_text(e, "make_c64(%s, 0)", real_number(e, DTYPE_F32, value));
    default: return emit_text(e, "make_c128(%s, 0)", real_number(e, DTYPE_F64, value));
    }
}

const char *emit_extent(Emitter *e, const Index *index)
{
    return e->extents[index->origin->id];
}

const char *emit_varying(Emitter *e, const Term *term)
{
    Value value = emit_term(e, term);
    return value.varying ? value.text : emit_splat(e, term->dtype, value.text);
}

/* ---- where a term is written ---- */

static bool binds_all(const Scope *scope, const Term *term)
{
    for (int i = 0; i < term->rank; i++) {
        bool bound = false;
        for (const Scope *s = scope; s && !bound; s = s->outer)
            for (const Bound *b = s->bound; b && !bound; b = b->next)
                bound = b->index == term->indices[i];
        if (!bound)
            return false;
    }
    return true;
}

/* The outermost block in which everything that the term depends on is bound. Out of a branch go only terms that are safe
 * and cheap to evaluate where the branch is not taken; out of a loop only those that are safe where it runs no times. */
static Scope *home_of(const Emitter *e, const Term *term)
{
    Scope *scope = e->scope;
    bool fixed = e->fixed[term->id], misses = e->misses[term->id];
    while (scope->outer && !(scope->branch && fixed) && !(scope->loop && misses) && binds_all(scope->outer, term))
        scope = scope->outer;
    return scope;
}

static bool is_atom(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_' && *text != '.')
            return false;
    return true;
}

static const char *word_for(Emitter *e, const Term *term)
{
    if (term->kind == TERM_READ) {
        const char *label = term->read.tensor->label;
        if (isupper((unsigned char)label[0]) && !label[1])
            return emit_text(e, "%c", tolower((unsigned char)label[0]));
        return emit_text(e, "%s_at", label);
    }
    if (term->kind == TERM_MAP) {
        const char *name = function_facts[term->map.function].name;
        return isalpha((unsigned char)name[0]) ? emit_text(e, "%s_of", name)
               : term->map.function == FUNCTION_SUB ? "difference"
               : term->map.function == FUNCTION_MUL ? "product"
               : term->map.function == FUNCTION_DIV ? "quotient" : "value";
    }
    return term->kind == TERM_SELECT ? "chosen" : "value";
}

static Value name_value(Emitter *e, const Term *term, Value value)
{
    const char *name = emit_name(e, word_for(e, term));
    emit_line(e, "const %s %s = %s;", emit_type(term->dtype, value.varying), name, emit_bare(e, value.text));
    return (Value){ name, value.varying };
}

/* ---- numbers and positions ---- */

/* A float as an integer narrower than its register ends at the nearest that there is. */
static const char *clamp_narrow(Emitter *e, Dtype to, const char *text, bool varying)
{
    if (to != DTYPE_I8 && to != DTYPE_I16)
        return text;
    const char *ends[2] = { to == DTYPE_I8 ? "-128" : "-32768", to == DTYPE_I8 ? "127" : "32767" };
    for (int i = 0; i < 2 && varying; i++)
        ends[i] = emit_splat(e, DTYPE_I32, ends[i]);
    return emit_text(e, "clamp_i32%s(%s, %s, %s)", varying ? "v" : "", text, ends[0], ends[1]);
}

static Value emit_constant(Emitter *e, const Term *term, Dtype dtype)
{
    if (dtype_kind(dtype) == KIND_INT && term->constant.is_integer)
        return (Value){ integer_number(e, dtype, term->constant.integer), false };
    if (dtype == DTYPE_F16 || dtype == DTYPE_BF16)
        return (Value){ emit_text(e, "round_%s_f64(%s)", dtype_name(dtype), real_number(e, DTYPE_F64, term->constant.value)),
                        false };
    if (dtype_kind(dtype) == KIND_INT)
        return (Value){ clamp_narrow(e, dtype, emit_text(e, "to_%s_f64(%s)", emit_suffix(dtype, false),
                                                         real_number(e, DTYPE_F64, term->constant.value)), false), false };
    if (dtype == DTYPE_BOOL)
        return (Value){ term->constant.value != 0 ? "1" : "0", false };
    return (Value){ emit_number(e, dtype, term->constant.value), false };
}

static Value emit_position(Emitter *e, const Term *term)
{
    const char *name = emit_bound(e, term->position);
    if (!e->lanes || term->position != e->step->vector)
        return (Value){ name, false };
    return (Value){ emit_text(e, "(splat_i64v(%s) + lanes_i64v())", name), true };
}

/* ---- functions ---- */

/* Arguments as operands: all in lanes when one of them is, unless an operator stretches the others itself. */
typedef struct Operands {
    const char *text[3];
    bool varying;
} Operands;

static Operands operands_of(Emitter *e, const Term *term, bool operator)
{
    Operands o = { .varying = false };
    Value values[3];
    for (int i = 0; i < term->map.count; i++) {
        values[i] = emit_term(e, term->map.arguments[i]);
        o.varying |= values[i].varying;
    }
    for (int i = 0; i < term->map.count; i++)
        o.text[i] = o.varying && !values[i].varying && !operator
                        ? emit_splat(e, term->map.arguments[i]->dtype, values[i].text) : values[i].text;
    return o;
}

static const char *call(Emitter *e, const char *function, const char *suffix, const Operands *o, int count)
{
    Text text = text_new(e->arena);
    text_print(&text, "%s_%s(", function, suffix);
    for (int i = 0; i < count; i++)
        text_print(&text, "%s%s", i ? ", " : "", emit_bare(e, o->text[i]));
    text_put(&text, ")");
    return text.bytes;
}

static Value emit_library_call(Emitter *e, const Term *term, const char *function)
{
    Operands o = operands_of(e, term, false);
    Dtype dtype = term->map.arguments[0]->dtype;
    return (Value){ call(e, function, emit_suffix(dtype, o.varying), &o, term->map.count), o.varying };
}

static Value emit_operator(Emitter *e, const Term *term, const char *sign)
{
    bool rounds = term->map.implicit && term->map.arguments[0]->kind == TERM_MAP && !emit_is_exact(term->map.arguments[0]);
    Operands o = operands_of(e, term, !rounds);
    if (rounds)
        o.text[0] = emit_text(e, "rounded_%s(%s)", emit_suffix(term->dtype, o.varying), emit_bare(e, o.text[0]));
    return (Value){ emit_text(e, "(%s %s %s)", o.text[0], sign, o.text[1]), o.varying };
}

static Value emit_logic(Emitter *e, const Term *term, Function function)
{
    Operands o = operands_of(e, term, false);
    if (function == FUNCTION_NOT)
        return (Value){ emit_text(e, o.varying ? "not_boolv(%s)" : "(!%s)", o.text[0]), o.varying };
    bool and = function == FUNCTION_AND;
    if (o.varying)
        return (Value){ call(e, and ? "and" : "or", "boolv", &o, 2), true };
    return (Value){ emit_text(e, "(%s %s %s)", o.text[0], and ? "&&" : "||", o.text[1]), false };
}

static Value emit_comparison(Emitter *e, const Term *term)
{
    Dtype dtype = register_dtype(term->map.arguments[0]->dtype);
    const char *sign = function_facts[term->map.function].name;
    const char *lanes = dtype == DTYPE_I64 && e->lanes ? emit_compared_line(e, term) : NULL;
    if (lanes)
        return (Value){ lanes, true };
    if (dtype_kind(dtype) == KIND_COMPLEX)
        return emit_library_call(e, term, term->map.function == FUNCTION_EQ ? "eq" : "ne");
    if (dtype == DTYPE_BOOL) {
        /* A mask's true may be 1 or -1: compare as numbers. */
        Operands o = operands_of(e, term, false);
        if (o.varying)
            return (Value){ emit_text(e, "(to_i32_boolv(%s) %s to_i32_boolv(%s))", o.text[0], sign, o.text[1]), true };
        return (Value){ emit_text(e, "(%s %s %s)", o.text[0], sign, o.text[1]), false };
    }
    Value value = emit_operator(e, term, sign);
    if (value.varying && dtype_size(dtype) == 8)
        value.text = emit_text(e, "narrow_boolv(%s)", emit_bare(e, value.text));
    return value;
}

/* Small whole powers are products. */
static Value emit_power(Emitter *e, const Term *term)
{
    const Term *exponent = term->map.arguments[1];
    while (exponent->kind == TERM_MAP && exponent->map.function == FUNCTION_CAST)
        exponent = exponent->map.arguments[0];
    Dtype dtype = register_dtype(term->dtype);
    double power = exponent->kind == TERM_CONSTANT ? exponent->constant.value : 0;
    Value base = emit_term(e, term->map.arguments[0]);
    const char *suffix = emit_suffix(dtype, base.varying);
    if (power == 1)
        return base;
    if (power == 2)
        return (Value){ emit_text(e, "square_%s(%s)", suffix, emit_bare(e, base.text)), base.varying };
    if (power == 4)
        return (Value){ emit_text(e, "square_%s(square_%s(%s))", suffix, suffix, emit_bare(e, base.text)), base.varying };
    if (power == 3 && dtype_kind(dtype) == KIND_FLOAT) {
        const char *name = is_atom(base.text) ? base.text : emit_name(e, "base");
        if (name != base.text)
            emit_line(e, "const %s %s = %s;", emit_type(dtype, base.varying), name, emit_bare(e, base.text));
        return (Value){ emit_text(e, "(%s * square_%s(%s))", name, suffix, name), base.varying };
    }
    return emit_library_call(e, term, "pow");
}

/* A constant in the place of a function whose argument it does not need; reads in it may fail all the same. */
static Value instead_of(Emitter *e, const Term *argument, const char *text)
{
    if (e->misses[argument->id])
        emit_line(e, "(void)%s;", emit_term(e, argument).text);
    return (Value){ text, false };
}

/* Whether an index is 0 wherever the text is, as one whose points another's stand for. */
static bool is_nothing(const Emitter *e, const Term *term)
{
    return term->kind == TERM_POSITION && !(e->lanes && term->position == e->step->vector) && !strcmp(emit_bound(e, term->position), "0");
}

/* Tests and roundings that say nothing new of integers, parts of numbers that are real already, sums with nothing. */
static bool emit_trivial(Emitter *e, const Term *term, Value *value)
{
    Kind kind = dtype_kind(term->map.arguments[0]->dtype);
    switch (term->map.function) {
    case FUNCTION_FLOOR: case FUNCTION_CEIL: case FUNCTION_ROUND: case FUNCTION_TRUNC:
        if (kind >= KIND_FLOAT)
            return false;
        break;
    case FUNCTION_REAL: case FUNCTION_CONJ:
        if (kind == KIND_COMPLEX)
            return false;
        break;
    case FUNCTION_IMAG:
        if (kind == KIND_COMPLEX)
            return false;
        *value = instead_of(e, term->map.arguments[0], emit_number(e, term->dtype, 0));
        return true;
    case FUNCTION_ISNAN: case FUNCTION_ISINF: case FUNCTION_ISFINITE:
        if (kind >= KIND_FLOAT)
            return false;
        *value = instead_of(e, term->map.arguments[0], term->map.function == FUNCTION_ISFINITE ? "1" : "0");
        return true;
    case FUNCTION_ADD:
        if (!is_nothing(e, term->map.arguments[0]) && !is_nothing(e, term->map.arguments[1]))
            return false;
        *value = emit_term(e, term->map.arguments[is_nothing(e, term->map.arguments[0])]);
        return true;
    default: return false;
    }
    *value = emit_term(e, term->map.arguments[0]);
    return true;
}

/* A float number behind a minus, or a small integer: "-inf" is one number. */
static bool is_negated_constant(const Term *term)
{
    if (term->kind != TERM_MAP || term->map.function != FUNCTION_NEG || term->map.arguments[0]->kind != TERM_CONSTANT)
        return false;
    const Term *constant = term->map.arguments[0];
    return dtype_kind(term->dtype) == KIND_FLOAT || (dtype_kind(term->dtype) == KIND_INT && constant->constant.is_integer &&
                                                     constant->constant.integer <= INT32_MAX);
}

static Value emit_cast(Emitter *e, const Term *term)
{
    const Term *from = term->map.arguments[0];
    if (from->kind == TERM_CONSTANT)
        return emit_constant(e, from, term->dtype);
    if (is_negated_constant(from)) {
        Term negated = *from->map.arguments[0];
        negated.constant.integer = -negated.constant.integer;
        negated.constant.value = negated.constant.is_integer ? (double)negated.constant.integer : -negated.constant.value;
        return emit_constant(e, &negated, term->dtype);
    }
    Dtype source = register_dtype(from->dtype), to = term->dtype, target = register_dtype(to);
    const char *line = e->lanes && (to == DTYPE_F32 || to == DTYPE_F64) ? emit_real_line(e, from, to) : NULL;
    if (line)
        return (Value){ line, true };
    Value value = emit_term(e, from);
    const char *v = value.varying ? "v" : "", *text = emit_bare(e, value.text);
    bool narrow_float = to == DTYPE_F16 || to == DTYPE_BF16, same_narrow = from->dtype == to;
    if (narrow_float && source == DTYPE_F64)
        return (Value){ emit_text(e, "round_%s_f64%s(%s)", dtype_name(to), v, text), value.varying };
    if (source != target)
        text = emit_text(e, "to_%s_%s%s(%s)", emit_suffix(target, false), emit_suffix(source, false), v, text);
    else if (same_narrow || (!narrow_float && to != DTYPE_I8 && to != DTYPE_I16))
        return value;
    if (narrow_float && !(dtype_kind(from->dtype) == KIND_BOOL))
        text = emit_text(e, "round_%s%s(%s)", dtype_name(to), v, text);
    bool narrow = to == DTYPE_I8 || to == DTYPE_I16;
    if (narrow && dtype_kind(from->dtype) == KIND_FLOAT)
        text = clamp_narrow(e, to, text, value.varying);
    else if (narrow)
        text = emit_text(e, "to_%s_i32%s(%s)", dtype_name(to), v, text);
    return (Value){ text, value.varying };
}

static Value emit_bool_choice(Emitter *e, const Term *term)
{
    if (term->map.function == FUNCTION_MIN)
        return emit_logic(e, term, FUNCTION_AND);
    if (term->map.function == FUNCTION_MAX)
        return emit_logic(e, term, FUNCTION_OR);
    Operands o = operands_of(e, term, false);
    const char *format = o.varying ? "and_boolv(or_boolv(%s, %s), %s)" : "((%s || %s) && %s)";
    return (Value){ emit_text(e, format, o.text[0], o.text[1], o.text[2]), o.varying };
}

static Value emit_map(Emitter *e, const Term *term)
{
    static const char *const grades[] = { [GRADE_FULL] = "", [GRADE_COARSE] = "coarse_", [GRADE_LARGE] = "large_" };
    Function function = term->map.function;
    const char *name = function_facts[function].name;
    Dtype dtype = register_dtype(term->map.arguments[0]->dtype);
    bool real = dtype_kind(dtype) == KIND_FLOAT;
    Value value;
    if (emit_trivial(e, term, &value) || emit_scaled(e, term, &value))
        return value;
    switch (function) {
    case FUNCTION_CAST: return emit_cast(e, term);
    case FUNCTION_AND: case FUNCTION_OR: case FUNCTION_NOT: return emit_logic(e, term, function);
    case FUNCTION_LT: case FUNCTION_LE: case FUNCTION_GT: case FUNCTION_GE: case FUNCTION_EQ: case FUNCTION_NE:
        return emit_comparison(e, term);
    case FUNCTION_ADD:
        return real ? emit_operator(e, term, "+")
                    : dtype == DTYPE_BOOL ? emit_logic(e, term, FUNCTION_OR) : emit_library_call(e, term, "add");
    case FUNCTION_MUL:
        return real ? emit_operator(e, term, "*")
                    : dtype == DTYPE_BOOL ? emit_logic(e, term, FUNCTION_AND) : emit_library_call(e, term, "mul");
    case FUNCTION_SUB: return real ? emit_operator(e, term, "-") : emit_library_call(e, term, "sub");
    case FUNCTION_DIV: return real ? emit_operator(e, term, "/") : emit_library_call(e, term, "div");
    case FUNCTION_POW: return emit_power(e, term);
    case FUNCTION_MIN: case FUNCTION_MAX: case FUNCTION_CLAMP:
        return dtype == DTYPE_BOOL ? emit_bool_choice(e, term) : emit_library_call(e, term, name);
    default: return emit_library_call(e, term, e->plan->target->grid ? name : emit_text(e, "%s%s", grades[term->map.grade], name));
    }
}

/* ---- where ---- */

/* One branch as a block of its own that sets `name`. */
static Scope *emit_branch(Emitter *e, const Term *branch, const char *name, bool varying, const char *mask)
{
    Scope *block = emit_push(e);
    block->branch = true;
    if (mask)
        block->active = mask;
    Value value = emit_term(e, branch);
    const char *text = varying && !value.varying ? emit_splat(e, branch->dtype, value.text) : value.text;
    if (mask)
        emit_line(e, "%s = select_%s(%s, %s, %s);", name, emit_suffix(branch->dtype, true), mask, emit_bare(e, text), name);
    else
        emit_line(e, "%s = %s;", name, emit_bare(e, text));
    return emit_pop(e);
}

/* Where one branch does no harm where it is not chosen, it is the value to begin with, and the other takes its place. */
static Value emit_one_branch(Emitter *e, const Term *term, const char *condition, const char *name)
{
    bool chosen = e->fixed[term->select.yes->id];
    const Term *branch = chosen ? term->select.yes : term->select.no, *other = chosen ? term->select.no : term->select.yes;
    const char *active = emit_active(e), *mask = emit_name(e, "where");
    Value value = emit_term(e, other);
    const char *which = chosen ? condition : emit_text(e, "not_boolv(%s)", condition);
    emit_line(e, "const boolv %s = %s;", mask, active ? emit_text(e, "and_boolv(%s, %s)", active, which) : which);
    emit_line(e, "%s %s = %s;", emit_type(term->dtype, true), name,
              emit_bare(e, value.varying ? value.text : emit_splat(e, term->dtype, value.text)));
    Scope *block = emit_branch(e, branch, name, true, mask);
    emit_line(e, "if (any_boolv(%s)) {", mask);
    emit_body(e, block);
    emit_line(e, "}");
    return (Value){ name, true };
}

static Value emit_branches(Emitter *e, const Term *term, Value condition, bool varying)
{
    const char *name = emit_name(e, "chosen"), *type = emit_type(term->dtype, varying);
    if (!condition.varying) {
        Scope *yes = emit_branch(e, term->select.yes, name, varying, NULL);
        Scope *no = emit_branch(e, term->select.no, name, varying, NULL);
        emit_line(e, "%s %s;", type, name);
        emit_line(e, "if (%s) {", emit_bare(e, condition.text));
        emit_body(e, yes);
        emit_line(e, "} else {");
        emit_body(e, no);
        emit_line(e, "}");
        return (Value){ name, varying };
    }
    if (!e->fixed[term->select.yes->id] || !e->fixed[term->select.no->id])
        return emit_one_branch(e, term, emit_bare(e, condition.text), name);
    const char *zero = emit_splat(e, term->dtype, emit_number(e, term->dtype, 0)), *active = emit_active(e);
    const char *masks[2] = { emit_name(e, "where"), emit_name(e, "elsewhere") };
    const char *all = active ? emit_text(e, "and_boolv(%s, %s)", active, emit_bare(e, condition.text)) : condition.text;
    const char *rest = active ? emit_text(e, "and_boolv(%s, not_boolv(%s))", active, emit_bare(e, condition.text))
                              : emit_text(e, "not_boolv(%s)", emit_bare(e, condition.text));
    emit_line(e, "const boolv %s = %s, %s = %s;", masks[0], emit_bare(e, all), masks[1], rest);
    emit_line(e, "%s %s = %s;", type, name, zero);
    for (int i = 0; i < 2; i++) {
        Scope *block = emit_branch(e, i ? term->select.no : term->select.yes, name, true, masks[i]);
        emit_line(e, "if (any_boolv(%s)) {", masks[i]);
        emit_body(e, block);
        emit_line(e, "}");
    }
    return (Value){ name, true };
}

static Value emit_select(Emitter *e, const Term *term)
{
    Value condition = emit_term(e, term->select.condition);
    if (e->fixed[term->select.yes->id] || e->fixed[term->select.no->id]) {
        /* Whether the branches vary is known only once they are written: what depends on the vector's index may. */
        bool varying = e->lanes && e->step->vector && term_has_index(term, e->step->vector) &&
                       emit_bound(e, e->step->vector) != NULL;
        return emit_branches(e, term, condition, varying);
    }
    Value yes = emit_term(e, term->select.yes), no = emit_term(e, term->select.no);
    bool varying = condition.varying || yes.varying || no.varying;
    const char *a = varying && !yes.varying ? emit_splat(e, term->dtype, yes.text) : yes.text;
    const char *b = varying && !no.varying ? emit_splat(e, term->dtype, no.text) : no.text;
    /* A branch would keep the chains of a reduction apart. */
    bool uniform = !condition.varying && e->step->joined && yes.varying != no.varying;
    if (uniform)
        condition.text = emit_text(e, "splat_boolv(%s)", emit_bare(e, condition.text));
    if (condition.varying || uniform)
        return (Value){ emit_text(e, "select_%s(%s, %s, %s)", emit_suffix(term->dtype, true), emit_bare(e, condition.text),
                                  emit_bare(e, a), emit_bare(e, b)), true };
    /* To gcc a sum of two f64v is no f64v, as its alignment is another. */
    const char *cast = varying && dtype_size(register_dtype(term->dtype)) == 8 && dtype_kind(term->dtype) != KIND_COMPLEX ? emit_text(e, "(%s)", emit_type(term->dtype, true)) : "";
    return (Value){ emit_text(e, "(%s ? %s%s : %s%s)", condition.text, cast, a, cast, b), varying };
}

/* ---- terms ---- */

static Value emit_new(Emitter *e, const Term *term)
{
    switch (term->kind) {
    case TERM_READ: return emit_read(e, term);
    case TERM_CONSTANT: return emit_constant(e, term, term->dtype);
    case TERM_POSITION: return emit_position(e, term);
    case TERM_EXTENT: return (Value){ e->extents[term->extent->id], false };
    case TERM_MAP: return emit_map(e, term);
    case TERM_SELECT: return emit_select(e, term);
    case TERM_CONTRACT:
    case TERM_REDUCE: break;
    }
    return emit_reduction(e, term);
}

Value emit_term(Emitter *e, const Term *term)
{
    const Value *known = emit_known(e, term);
    if (known)
        return *known;
    Scope *inner = e->scope;
    e->scope = home_of(e, term);
    Value value = emit_new(e, term);
    const Value *meanwhile = emit_known(e, term);
    if (meanwhile) {
        value = *meanwhile;
    } else {
        bool apart = e->scope != inner || e->uses[term->id] > 1 || strlen(value.text) > LONGEST_INLINE;
        if (apart && !is_atom(value.text) && term->kind != TERM_CONSTANT && term->kind != TERM_POSITION)
            value = name_value(e, term, value);
        emit_know(e, term, value);
    }
    e->scope = inner;
    return value;
}
