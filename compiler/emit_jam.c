/* Points of a kept loop that go through a step's reductions together: each has states of its own. */
#include <string.h>

#include "emit_nest.h"

/* Whether vectors go together that each meet some points. */
static bool has_groups(const Step *step)
{
    return step->met && step->jammed == step->vector;
}

/* Whether the last of those vectors need not be whole: where lanes are masked, that is next to nothing. */
bool emit_has_partial_group(const Emitter *e)
{
    return has_groups(e->step) && e->plan->target->masks;
}

/* A name for a point of one of the loops whose points go together. */
static void bind_point(Emitter *e, Index *index, const char *first, const char *nth)
{
    const char *name = emit_name(e, index->name);
    emit_bind(e, index, name);
    emit_line(e, "const int64_t %s = %s + %s;", name, first, nth);
}

static void each_point(Emitter *e, const char *name, const char *count, const Scope *body)
{
    emit_line(e, "UNROLL_POINTS");
    emit_line(e, "for (int %s = 0; %s < %s; %s++) {", name, name, count, name);
    emit_body(e, body);
    emit_line(e, "}");
}

/* In a loop over vectors that go together: the one at hand, and how many lanes it has. */
static void open_group(Emitter *e)
{
    Scope *body = emit_push(e);
    bind_point(e, e->step->jammed, e->jam_first, "group * LANES");
    if (emit_has_partial_group(e)) {
        body->count = emit_name(e, "lanes");
        emit_line(e, "const int %s = group + 1 < points / meets ? LANES : count;", body->count);
    }
}

static void close_group(Emitter *e)
{
    const Scope *body = emit_pop(e);
    each_point(e, "group", "points / meets", body);
}

/* What a vector has for itself is there once for all points that it meets. */
Scope *nest_open_points(Emitter *e)
{
    const Step *step = e->step;
    if (has_groups(step)) {
        open_group(e);
        Scope *body = emit_push(e);
        emit_line(e, "const int point = group * meets + with;");
        bind_point(e, step->met, e->met_first, "with");
        return body;
    }
    Scope *body = emit_push(e);
    const char *nth = step->met ? "point / meets" : "point", *apart = step->jammed == step->vector ? " * LANES" : step->apart ? " * points_apart" : "";
    bind_point(e, step->jammed, e->jam_first, emit_text(e, "%s%s", nth, apart));
    if (step->met)
        bind_point(e, step->met, e->met_first, "point % meets");
    return body;
}

void nest_close_points(Emitter *e, const Scope *body)
{
    emit_pop(e);
    if (has_groups(e->step)) {
        each_point(e, "with", "meets", body);
        close_group(e);
    } else {
        each_point(e, "point", "points", body);
    }
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

/* Whether it is a read, along each axis by an index. */
static bool is_plain_read(const Term *term)
{
    bool is = term->kind == TERM_READ;
    for (int a = 0; is && a < term->read.tensor->rank; a++)
        is = position_is_plain(&term->read.positions[a]);
    return is;
}

static void begin_read(void *user, const Term *term)
{
    Emitter *e = user;
    if (!is_plain_read(term) || e->begins[term->id] || !step_has_points(e->step, term))
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

/* The rows of points that vectors along columns meet, or one. */
typedef struct Rows {
    Emitter *e;
    const char **steps;           /* [lowered term id]: how many bytes are from one to the next, and "_3" and "_5" times as many */
} Rows;

/* The loop of those rows; NULL: lanes run along them. */
static const Index *rows_along(const Step *step)
{
    return !step->vector_kept || step->powers[0] ? NULL : step->jammed == step->vector ? step->met : step->jammed;
}

static bool is_row(const Emitter *e, const Term *term)
{
    return is_plain_read(term) && term_has_index(term, rows_along(e->step)) && !term_has_index(term, e->step->vector);
}

static void find_step(void *user, const Term *term)
{
    const Rows *rows = user;
    Emitter *e = rows->e;
    if (!is_row(e, term) || rows->steps[term->id])
        return;
    const char *name = emit_name(e, emit_text(e, "%s_step", e->pointers[term->read.tensor->home->id]));
    const char *three = emit_name(e, emit_text(e, "%s_3", name)), *five = emit_name(e, emit_text(e, "%s_5", name));
    const char *stride = emit_stride(e, term->read.tensor, term->read.positions, rows_along(e->step));
    emit_line(e, "int64_t %s = %s * %d, %s = 3 * %s, %s = 5 * %s;    /* see row_address() */", name, stride, (int)dtype_size(term->dtype),
              three, name, five, name);
    rows->steps[term->id] = emit_text(e, "%s, %s, %s", name, three, five);
}

static void find_steps(Emitter *e, Nest *nest)
{
    Rows rows = { e, ARENA_ARRAY(e->arena, const char *, e->plan->lowered->term_count) };
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->reduces[r]->reduce.argument, find_step, &rows);
    nest->row_steps = rows.steps;
}

static void begin_row(void *user, const Term *term)
{
    const Rows *rows = user;
    Emitter *e = rows->e;
    const char *steps = rows->steps[term->id];
    if (!steps || e->rows[term->id])
        return;
    const char *name = emit_name(e, emit_text(e, "%s_row", e->pointers[term->read.tensor->home->id]));
    Scope *first = emit_push(e);
    first->indent--;
    emit_bind(e, rows_along(e->step), e->step->met ? e->met_first : e->jam_first);
    emit_line(e, "HOLD_STEPS(%s);", steps);
    emit_line(e, "const char *%s = (const char *)(%s);", name, emit_pointer(e, term));
    emit_pop(e);
    emit_body(e, first);
    e->rows[term->id] = emit_text(e, "((const %s *)row_address(%s, %s, %s))", emit_element(term->dtype), name, steps,
                                  e->step->met ? "with" : "point");
}

/* Addresses of rows are made of how far these are apart, for each row's own pointer would be more than there are registers for. */
void nest_begin_rows(Emitter *e, const Nest *nest)
{
    Rows rows = { e, nest->row_steps };
    e->rows = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->term_count);
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->reduces[r]->reduce.argument, begin_row, &rows);
}

typedef struct Ahead {
    Emitter *e;
    const char *at;
} Ahead;

/* Of the points that meet others one asks for what they share; `when` more is asked. */
static void emit_ask(Emitter *e, const Term *term, const char *when, const char *ahead)
{
    const char *once = e->step->met && !has_groups(e->step) ? "point % meets == 0" : "", *and = *once && *when ? " && " : "";
    emit_line(e, *once || *when ? "if (%s%s%s) PREFETCH_FAR(%s%s);" : "%s%s%sPREFETCH_FAR(%s%s);", when, and, once, emit_pointer(e, term), ahead);
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
    for (int i = 0; i < term->rank; i++)
        if (!emit_bound(e, term->indices[i]))    /* of a reduction inside of this one */
            return;
    bool alone = step->alone[1] && !step->apart && (step->soon || e->plan->target->streams);
    Scope *later = emit_push(e);
    later->indent--;
    if (step->soon && e->begins && e->begins[term->id]) {
        const char *own = e->begins[term->id];
        e->begins[term->id] = e->soon[term->id];
        emit_ask(e, term, step->met ? "points > meets" : "soon", "");
        e->begins[term->id] = own;
    }
    const Term *reduce = step->later ? step->roots[0] : NULL;
    const Index *inner = reduce ? reduce->reduce.over[reduce->reduce.over_count - 1] : NULL;
    if (reduce && term_has_index(term, inner)) {
        emit_bind(e, inner, emit_text(e, "(%s + %d)", emit_bound(e, inner), step->later));
        emit_ask(e, term, "points > meets", "");
    }
    const char *soon = e->asks ? e->asks[term->id] : NULL, *when = !alone ? "" : step->met ? "points == meets" : "points == 1";
    if (step->ahead && !soon)
        emit_bind(e, step->vector, emit_text(e, "(%s + %d * LANES)", ahead->at, step->ahead));
    if (step->ahead)
        emit_ask(e, term, when, soon ? emit_text(e, " + %s", soon) : "");
    emit_pop(e);
    emit_body(e, later);
}

bool nest_asks_of_rows(const Emitter *e, const Nest *nest)
{
    return e->step->split && e->step->ahead && !e->step->jammed && !nest->across;
}

/* What several rows that are read at once will give soon: so many streams are too many for the hardware's own prefetching. */
void nest_ask_ahead(Emitter *e, const Nest *nest)
{
    Ahead ahead = { e, emit_bound(e, e->step->vector) };
    Scope *points = e->scope;
    e->scope = has_groups(e->step) && !emit_has_partial_group(e) ? points->outer : points;    /* before the vector at hand is loaded */
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->domains[r].reduce->reduce.argument, prefetch_read, &ahead);
    e->scope = points;
}

/* What the step makes of each point. */
static void store_points(Emitter *e)
{
    for (int o = 0; o < e->step->statement->output_count; o++)
        emit_store(e, &e->step->statement->outputs[o]);
}

/* What vectors that go together read: all of it comes before any product, or masked loads would stand between these. */
typedef struct Vectors {
    Emitter *e;
    const char **names;           /* [lowered term id]: of the vectors of a read */
    bool loads;                   /* writes into a loop over vectors, else before it */
} Vectors;

static void load_vector(void *user, const Term *term)
{
    const Vectors *vectors = user;
    Emitter *e = vectors->e;
    bool is = is_plain_read(term) && term_has_index(term, e->step->vector) && !term_has_index(term, e->step->met);
    if (!is || (!vectors->loads && vectors->names[term->id]))
        return;
    if (vectors->loads) {
        emit_line(e, "%s[group] = %s;", vectors->names[term->id], emit_bare(e, emit_read(e, term).text));
        return;
    }
    const char *name = emit_name(e, emit_text(e, "%s_vectors", e->pointers[term->read.tensor->home->id]));
    emit_line(e, "%s %s[%d];", emit_type(term->dtype, true), name, e->step->jam);
    vectors->names[term->id] = name;
}

void nest_load_vectors(Emitter *e, Nest *nest)
{
    Vectors vectors = { e, ARENA_ARRAY(e->arena, const char *, e->plan->lowered->term_count), false };
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->domains[r].reduce->reduce.argument, load_vector, &vectors);
    open_group(e);
    nest_ask_ahead(e, nest);
    vectors.loads = true;
    for (int r = 0; r < nest->count; r++)
        term_each_below(e->arena, nest->domains[r].reduce->reduce.argument, load_vector, &vectors);
    close_group(e);
    nest->vectors = vectors.names;
}

void nest_know_vectors(Emitter *e, const Nest *nest)
{
    for (int i = 0; i < e->plan->lowered->term_count; i++)
        if (nest->vectors[i])
            emit_know(e, e->plan->lowered->terms[i], (Value){ emit_text(e, "%s[group]", nest->vectors[i]), true });
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
    if (rows_along(e->step) && !nest->grouped && !nest->in_rows)
        find_steps(e, nest);
    else if (e->step->jammed != e->step->vector && !e->step->powers[0])
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
