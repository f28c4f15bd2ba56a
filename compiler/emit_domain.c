/* Domains: `where(@n < len[m], x, -inf) | max n` runs its loop to len[m] and no further. The conditions under which a
 * reduction's argument is not its identity become bounds of loops where they are linear in the loop's index, a test
 * around the loops where they do not depend on them, and a test inside where they do. */
#include <string.h>

#include "emitting.h"

static bool depends_on_any(const Term *term, Index *const *indices, int count)
{
    for (int i = 0; i < count; i++)
        if (term_has_index(term, indices[i]))
            return true;
    return false;
}

static bool is_uniform(const Emitter *e, const Term *term)
{
    return !e->lanes || !e->step->vector || !term_has_index(term, e->step->vector);
}

/* coefficient * index + rest, as far as adding, subtracting and positions go. */
typedef struct Linear {
    const Index *index;
    Index *const *loops;
    int loop_count;
    int coefficient;
    Text rest;
} Linear;

static bool read_linear(Emitter *e, Linear *linear, const Term *term, int sign)
{
    if (term->kind == TERM_POSITION && term->position == linear->index) {
        linear->coefficient += sign;
        return true;
    }
    if (!depends_on_any(term, linear->loops, linear->loop_count)) {
        if (!is_uniform(e, term) || e->fixed[term->id])
            return false;
        Value value = emit_term(e, term);
        text_print(&linear->rest, " %c %s", sign < 0 ? '-' : '+', value.text);
        return true;
    }
    if (term->kind != TERM_MAP)
        return false;
    Term *const *a = term->map.arguments;
    switch (term->map.function) {
    case FUNCTION_CAST: return dtype_kind(a[0]->dtype) == KIND_INT && term->dtype == DTYPE_I64 && read_linear(e, linear, a[0], sign);
    case FUNCTION_NEG: return read_linear(e, linear, a[0], -sign);
    case FUNCTION_ADD: return read_linear(e, linear, a[0], sign) && read_linear(e, linear, a[1], sign);
    case FUNCTION_SUB: return read_linear(e, linear, a[0], sign) && read_linear(e, linear, a[1], -sign);
    default: return false;
    }
}

static Function flip(Function comparison)
{
    switch (comparison) {
    case FUNCTION_LT: return FUNCTION_GT;
    case FUNCTION_LE: return FUNCTION_GE;
    case FUNCTION_GT: return FUNCTION_LT;
    case FUNCTION_GE: return FUNCTION_LE;
    default: return comparison;
    }
}

static void raise_first(Emitter *e, LoopBounds *loop, const char *limit)
{
    loop->first = strcmp(loop->first, "0") ? emit_text(e, "size_max(%s, %s)", loop->first, limit)
                                           : emit_text(e, "size_max(0, %s)", limit);
}

static void lower_end(Emitter *e, LoopBounds *loop, const char *limit)
{
    loop->end = emit_text(e, "size_min(%s, %s)", loop->end, limit);
}

/* Tightens one loop's bounds by a comparison that is linear in its index; false when it is not. */
static bool tighten(Emitter *e, LoopBounds *loop, Index *const *loops, int loop_count, const Term *condition)
{
    if (!comparison_is_of_integers(condition) || condition->map.function == FUNCTION_NE)
        return false;
    Function comparison = condition->map.function;
    Term *const *sides = condition->map.arguments;
    Linear linear = { loop->index, loops, loop_count, 0, text_new(e->arena) };
    if (!read_linear(e, &linear, sides[0], 1) || !read_linear(e, &linear, sides[1], -1))
        return false;
    /* left - right = c * index + rest */
    int c = linear.coefficient;
    if (c != 1 && c != -1)
        return false;
    if (c < 0)
        comparison = flip(comparison);
    linear.rest = text_new(e->arena);
    read_linear(e, &linear, sides[0], -c);
    read_linear(e, &linear, sides[1], c);
    const char *rest = linear.rest.length ? linear.rest.bytes + (linear.rest.bytes[1] == '+' ? 3 : 1) : "0";
    const char *limit = emit_name(e, comparison == FUNCTION_LT || comparison == FUNCTION_LE ? "limit" : "least");
    emit_line(e, "const int64_t %s = %s;", limit, rest);
    if (comparison == FUNCTION_GT || comparison == FUNCTION_GE || comparison == FUNCTION_EQ)
        raise_first(e, loop, comparison == FUNCTION_GT ? emit_text(e, "size_add(%s, 1)", limit) : limit);
    if (comparison == FUNCTION_LT || comparison == FUNCTION_LE || comparison == FUNCTION_EQ)
        lower_end(e, loop, comparison == FUNCTION_LT ? limit : emit_text(e, "size_add(%s, 1)", limit));
    return true;
}

static void list_conjuncts(Emitter *e, const Term *condition, const Term ***list, int *count)
{
    if (condition->kind == TERM_MAP && condition->map.function == FUNCTION_AND) {
        list_conjuncts(e, condition->map.arguments[0], list, count);
        list_conjuncts(e, condition->map.arguments[1], list, count);
    } else {
        ARENA_APPEND(e->arena, *list, *count, condition);
    }
}

Domain emit_bounds(Emitter *e, const Term *condition, LoopBounds *loops, int loop_count)
{
    Domain domain = { .reduce = NULL };
    Index **indices = ARENA_ARRAY(e->arena, Index *, loop_count);
    for (int i = 0; i < loop_count; i++)
        indices[i] = loops[i].index;
    const Term **conjuncts = NULL;
    int count = 0;
    list_conjuncts(e, condition, &conjuncts, &count);
    for (int i = 0; i < count; i++) {
        bool done = false;
        for (int k = 0; k < loop_count && !done; k++)
            done = term_has_index(conjuncts[i], indices[k]) && tighten(e, &loops[k], indices, loop_count, conjuncts[i]);
        if (done)
            continue;
        if (!depends_on_any(conjuncts[i], indices, loop_count) && !e->misses[conjuncts[i]->id])
            ARENA_APPEND(e->arena, domain.around, domain.around_count, conjuncts[i]);
        else
            ARENA_APPEND(e->arena, domain.inside, domain.inside_count, conjuncts[i]);
    }
    return domain;
}

/* Whether each lane has a condition of its own, though the lanes run along none of the loops. */
static bool is_of_lanes(Emitter *e, const Term *condition, const LoopBounds *loops, int loop_count)
{
    const Term **conjuncts = NULL;
    int count = 0;
    list_conjuncts(e, condition, &conjuncts, &count);
    for (int i = 0; i < loop_count; i++)
        if (loops[i].index == e->step->vector)
            return false;
    for (int i = 0; i < count; i++)
        if (!is_uniform(e, conjuncts[i]))
            return true;
    return false;
}

Domain emit_domain(Emitter *e, const Term *reduce, LoopBounds *loops, int loop_count)
{
    Domain none = { .reduce = reduce };
    const Term *argument = reduce->reduce.argument;
    if (argument->kind != TERM_SELECT || !state_skips(reduce, argument->select.no) ||
        is_of_lanes(e, argument->select.condition, loops, loop_count))
        return none;
    Domain domain = emit_bounds(e, argument->select.condition, loops, loop_count);
    domain.reduce = reduce;
    bool lanes_ask = false;
    for (int i = 0; i < domain.around_count + domain.inside_count; i++)
        lanes_ask |= !is_uniform(e, i < domain.around_count ? domain.around[i] : domain.inside[i - domain.around_count]);
    if (lanes_ask) {           /* what bounds and tests leave to the lanes is the whole condition again */
        domain.inside_count = 0;
        return domain;
    }
    Term *within = ARENA_NEW(e->arena, Term);
    *within = *reduce;
    within->reduce.argument = argument->select.yes;
    domain.reduce = within;
    return domain;
}

Domain emit_domain_of_rows(Emitter *e, const Contract *c, const Term *reduce, LoopBounds *rows)
{
    const Term *argument = reduce->reduce.argument;
    for (int i = 0; i < c->columns.count && argument->kind == TERM_SELECT; i++)
        if (term_has_index(argument->select.condition, c->columns.list[i]))
            return (Domain){ .reduce = reduce };
    return emit_domain(e, reduce, rows, c->rows.count);
}
