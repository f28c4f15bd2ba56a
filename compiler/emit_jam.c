/* Points of a kept loop that go through a step's reductions together: each has states of its own. */
#include <string.h>

#include "emit_nest.h"

Scope *nest_open_points(Emitter *e)
{
    const Step *step = e->step;
    Scope *body = emit_push(e);
    const char *name = emit_name(e, step->jammed->name);
    emit_bind(e, step->jammed, name);
    emit_line(e, "const int64_t %s = %s + point%s%s;", name, e->jam_first, step->met ? " / meets" : "",
              step->jammed == step->vector ? " * LANES" : step->apart ? " * points_apart" : "");
    if (step->met) {
        name = emit_name(e, step->met->name);
        emit_bind(e, step->met, name);
        emit_line(e, "const int64_t %s = %s + point %% meets;", name, e->met_first);
    }
    return body;
}

void nest_close_points(Emitter *e, const Scope *body)
{
    emit_pop(e);
    emit_line(e, "UNROLL_POINTS");
    emit_line(e, "for (int point = 0; point < points; point++) {");
    emit_body(e, body);
    emit_line(e, "}");
}

/* Without the points that each of those together meets. */
static const char *emit_times(Emitter *e, const char *factor, Index *const *indices, int count)
{
    for (int i = 0; i < count; i++)
        if (indices[i] != e->step->met)
            factor = emit_text(e, "%s%s%s", factor, *factor ? " * " : "", emit_extent(e, indices[i]));
    return factor;
}

/* How many numbers a point reduces, or how many sums a row is added to. */
static const char *emit_row(Emitter *e)
{
    const Step *step = e->step;
    const Term *reduce = step->roots[0];
    return step->added   ? emit_extent(e, step->vector)
           : step->split ? emit_times(e, "", step->loops, step->loop_count)
                         : emit_times(e, "", reduce->reduce.over, reduce->reduce.over_count);
}

/* Rows of a matrix that the second cache holds go together whatever their length. */
static const char *emit_whether_near(Emitter *e)
{
    const Step *step = e->step;
    const char *row = emit_row(e);
    if (step->split || step->added)
        return emit_text(e, "%s > %d", row, step->alone[1]);
    return emit_text(e, "%s < %d || %s > %d || %s <= %d", row, step->alone[0], row, step->alone[1],
                     emit_times(e, row, step->loops, step->loop_count), step->near);
}

const char *emit_together(Emitter *e, Text *text, int depth, const char *first, const char *name, const char *end, const char **behind)
{
    const Step *step = e->step;
    *behind = NULL;
    if (!step->alone[1])
        return emit_text(e, "for (; %s + %d <= %s; %s += %d)", name, step->jam, end, name, step->jam);
    const char *near = emit_whether_near(e);
    if (!step->apart)
        return emit_text(e, step->split ? "for (; %s && %s + %d <= %s; %s += %d)" : "for (; (%s) && %s + %d <= %s; %s += %d)", near, name,
                         step->jam, end, name, step->jam);
    const char *count = strcmp(first, "0") ? emit_text(e, "(%s - %s)", end, first) : end;
    text_print(text, "%*sconst int64_t points_turns = %s / %d, points_apart = %s ? 1 : points_turns, points_step = points_apart == 1 ? %d : 1;\n", 4 * depth, "", count, step->jam,
               near, step->jam);
    const char *begin = strcmp(first, "0") ? emit_text(e, "%s + ", first) : "";
    *behind = emit_text(e, "%*s%s = %s%d * points_turns;\n", 4 * depth, "", name, begin, step->jam);
    return emit_text(e, "for (; %s < %spoints_turns * points_step; %s += points_step)", name, begin, name);
}

const char *emit_soon(Emitter *e)
{
    const Step *step = e->step;
    return emit_text(e, "%d * (1 + %d / size_max(%s, 1))", step->jam, step->soon / step->jam, emit_row(e));
}

static void begin_read(void *user, const Term *term)
{
    Emitter *e = user;
    if (term->kind != TERM_READ || e->begins[term->id] || !step_has_points(e->step, term))
        return;
    for (int a = 0; a < term->read.tensor->rank; a++)
        if (!position_is_plain(&term->read.positions[a]))
            return;
    const char *name = emit_name(e, emit_text(e, "%s_points", e->pointers[term->read.tensor->home->id]));
    emit_line(e, "const %s *%s[%d];", emit_element(term->dtype), name, step_points(e->step));
    Scope *points = nest_open_points(e);
    e->part = ADDRESS_FIXED;
    emit_line(e, "%s[point] = %s;", name, emit_pointer(e, term));
    e->part = ADDRESS_WHOLE;
    nest_close_points(e, points);
    e->begins[term->id] = emit_text(e, "%s[point]", name);
    const char *stride = emit_stride(e, term->read.tensor, term->read.positions, e->step->jammed);
    e->soon[term->id] = emit_text(e, "%s[point] + soon * %s", name, stride);
}

/* Each point's own pointers: with one for all and an index for each, gcc computes every address in the loop, which takes 1.3 times
 * as long as a matrix from memory does. */
void nest_begin_points(Emitter *e, const Nest *nest)
{
    e->begins = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->term_count);
    e->soon = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->term_count);
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->reduces[r]->reduce.argument, begin_read, e);
}

typedef struct Ahead {
    Emitter *e;
    const char *at;
} Ahead;

/* Of the points that meet others one asks for what they share; `when` more is asked. */
static void emit_ask(Emitter *e, const Term *term, const char *when)
{
    const char *once = e->step->met ? "point % meets == 0" : "", *and = *once && *when ? " && " : "";
    emit_line(e, *once || *when ? "if (%s%s%s) PREFETCH_FAR(%s);" : "%s%s%sPREFETCH_FAR(%s);", when, and, once, emit_pointer(e, term));
}

static void prefetch_read(void *user, const Term *term)
{
    const Ahead *ahead = user;
    Emitter *e = ahead->e;
    const Step *step = e->step;
    if (term->kind != TERM_READ || !term_has_index(term, step->jammed ? step->jammed : step->split) || !term_has_index(term, step->vector))
        return;
    for (int a = 0; a < term->read.tensor->rank; a++)
        if (position_has_gather(&term->read.positions[a]))
            return;
    bool alone = step->alone[1] && !step->apart && e->plan->target->streams;
    Scope *later = emit_push(e);
    later->indent--;
    if (step->soon && e->begins && e->begins[term->id]) {
        const char *own = e->begins[term->id];
        e->begins[term->id] = e->soon[term->id];
        emit_ask(e, term, step->met ? "points > meets" : "soon");
        e->begins[term->id] = own;
    }
    const Term *reduce = step->later ? step->roots[0] : NULL;
    const Index *inner = reduce ? reduce->reduce.over[reduce->reduce.over_count - 1] : NULL;
    if (reduce && term_has_index(term, inner)) {
        emit_bind(e, inner, emit_text(e, "(%s + %d)", emit_bound(e, inner), step->later));
        emit_ask(e, term, "points > meets");
    }
    if (step->ahead) {
        emit_bind(e, step->vector, emit_text(e, "(%s + %d * LANES)", ahead->at, step->ahead));
        emit_ask(e, term, !alone ? "" : step->met ? "points == meets" : "points == 1");
    }
    emit_pop(e);
    emit_body(e, later);
}

/* What several rows that are read at once will give soon: so many streams are too many for the hardware's own prefetching. */
void nest_ask_ahead(Emitter *e, const Nest *nest)
{
    Ahead ahead = { e, emit_bound(e, e->step->vector) };
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->domains[r].reduce->reduce.argument, prefetch_read, &ahead);
}

/* What the step makes of each point. */
static void store_points(Emitter *e)
{
    for (int o = 0; o < e->step->statement->output_count; o++)
        emit_store(e, &e->step->statement->outputs[o]);
}

/* The sums of all points, whose lanes are folded together; NULL where each is folded by itself. */
static const char *nest_fold_points(Emitter *e, const Nest *nest, int r)
{
    Component components[STATE_COMPONENTS_MAX];
    const Dtype dtype = state_components(nest->reduces[r], components) ? components[0].dtype : DTYPE_BOOL;
    if (!nest->across || components[0].merge != MERGE_ADD || !state_is_simple(nest->reduces[r]) || nest_finder(nest, r) >= 0 ||
        (dtype != DTYPE_F32 && dtype != DTYPE_F64 && dtype != DTYPE_I32))
        return NULL;
    const char *name = emit_name(e, components[0].name);
    emit_line(e, "%s %s[%d];", emit_type(dtype, false), name, step_points(e->step));
    emit_line(e, "fold_sums_%s(%s, points, %s);", emit_suffix(dtype, true), nest->names[r][0], name);
    return emit_text(e, "%s[point]", name);
}

/* The reductions of all points, and what the step makes of them. */
static void run_jammed(Emitter *e, Nest *nest)
{
    if (e->step->jammed != e->step->vector && !e->step->powers[0])
        nest_begin_points(e, nest);
    nest_declare(e, nest);
    (nest->grouped && e->step->powers[0] ? nest_run_in_powers : nest_run)(e, nest);
    e->begins = NULL;
    const char **folded = ARENA_ARRAY(e->arena, const char *, nest->count);
    for (int r = 0; r < nest->count; r++)
        folded[r] = nest_fold_points(e, nest, r);
    Scope *points = nest_open_points(e);
    for (int r = 0; r < nest->count; r++) {
        const char *names[STATE_COMPONENTS_MAX] = { folded[r] };
        if (!folded[r])
            nest_finished(e, nest, r, names);
        if (e->step->guard)    /* not finished where the point asks for nothing */
            emit_know(e, nest->reduces[r], emit_state_finish(e, nest->reduces[r], names, true));
        else
            nest_know(e, nest->reduces[r], names, nest->varying && !nest->across);
    }
    store_points(e);
    nest_close_points(e, points);
}

/* The same where one of the points asks for it; else the where's other branch is taken. */
static void run_guarded(Emitter *e, Nest *nest)
{
    const Term *guard = e->step->guard;
    const char *asked = emit_name(e, "asked"), *active = emit_active(e);
    bool is_no = guard->select.no == nest->reduces[0];
    emit_line(e, "boolv %s = first_boolv(0);", asked);
    Scope *points = nest_open_points(e);
    const char *condition = emit_bare(e, emit_term(e, guard->select.condition).text);
    emit_line(e, is_no ? "%s = or_boolv(%s, not_boolv(%s));" : "%s = or_boolv(%s, %s);", asked, asked, condition);
    nest_close_points(e, points);
    Scope *some = emit_push(e);
    some->branch = true;
    run_jammed(e, nest);
    emit_pop(e);
    Scope *none = emit_push(e);
    none->branch = true;
    points = nest_open_points(e);
    emit_know(e, guard, (Value){ emit_varying(e, is_no ? guard->select.yes : guard->select.no), true });
    store_points(e);
    nest_close_points(e, points);
    emit_pop(e);
    emit_line(e, "if (any_boolv(%s)) {", active ? emit_text(e, "and_boolv(%s, %s)", active, asked) : asked);
    emit_body(e, some);
    emit_line(e, "} else {");
    emit_body(e, none);
    emit_line(e, "}");
}

/* The step's reductions for several points of a kept loop at once. */
void emit_jammed_roots(Emitter *e)
{
    Nest nest = nest_open(e, e->step->roots[0]);
    nest.chains = 1;
    nest.jammed = true;
    (e->step->guard ? run_guarded : run_jammed)(e, &nest);
}
