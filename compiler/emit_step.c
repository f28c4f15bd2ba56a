/* One step: a function for one point of the kept loops (or one vector of points), and one with the loops that calls it
 * for a block. */
#include <string.h>

#include "emit_nest.h"

/* ---- one point ---- */

/* The index of a scan is no loop around it. */
bool emit_scans(const Step *step, const Index *index)
{
    const Term *value = step->statement->outputs[0].value;
    return step->kind == STEP_SCAN && indices_have(value->reduce.over, value->reduce.over_count, index);
}

/* The same of the lanes' index where rows go together. */
static bool has_inside(const Emitter *e, const Index *index)
{
    return emit_scans(e->step, index) || (emit_adds_rows(e) && index == e->step->vector);
}

/* A vector of elements that follow each other: each lane takes those before it from lanes twice as far away each time, then
 * all of them what came before the vector. */
static void emit_scan_vector(Emitter *e, const Term *reduce, const char *state)
{
    Component component[STATE_COMPONENTS_MAX];
    state_components(reduce, component);
    const char *lanes = emit_name(e, emit_text(e, "%s_lanes", component[0].name)), *start = emit_state_start(e, reduce, 0, false);
    const char *suffix = emit_suffix(component[0].dtype, true), *last = e->scope->count ? emit_text(e, "%s - 1", e->scope->count) : "LANES - 1";
    emit_line(e, "%s %s = %s;", emit_type(component[0].dtype, true), lanes, emit_state_start(e, reduce, 0, true));
    emit_state_step(e, reduce, &lanes, true, NULL);
    for (int apart = 1; apart < e->plan->lanes; apart *= 2) {
        const char *earlier = emit_text(e, "later_%s(%s, %d, %s)", suffix, lanes, apart, start);
        emit_state_merge(e, reduce, &lanes, &earlier, true);
    }
    const char *before = emit_splat(e, component[0].dtype, state);
    emit_state_merge(e, reduce, &lanes, &before, true);
    emit_line(e, "%s = lane_%s(%s, %s);", state, suffix, lanes, last);
    emit_know(e, reduce, emit_state_finish(e, reduce, &lanes, true));
    emit_store(e, &e->step->statement->outputs[0]);
}

/* The innermost loop of a scan in vectors, whole ones before the rest. */
static void emit_scan_lanes(Emitter *e, const Term *reduce, const char *state)
{
    const Index *index = e->step->vector;
    const char *name = emit_name(e, index->name), *extent = emit_extent(e, index);
    emit_line(e, "int64_t %s = 0;", name);
    for (int rest = 0; rest < 2; rest++) {
        Scope *body = emit_push(e);
        body->loop = true;
        emit_bind(e, index, name);
        if (rest) {
            body->count = emit_name(e, "rest");
            emit_line(e, "const int %s = (int)(%s - %s);", body->count, extent, name);
        }
        emit_scan_vector(e, reduce, state);
        emit_pop(e);
        emit_line(e, rest ? "if (%s < %s) {" : "for (; %s + LANES <= %s; %s += LANES) {", name, extent, name);
        emit_body(e, body);
        emit_line(e, "}");
    }
}

static void emit_scan_loops(Emitter *e, const Term *reduce, int depth, const char *const *names, bool varying)
{
    if (depth == reduce->reduce.over_count) {
        Scope *points = e->step->jammed ? nest_open_points(e) : NULL;
        emit_state_step(e, reduce, names, varying, NULL);
        emit_know(e, reduce, emit_state_finish(e, reduce, names, varying));
        emit_store(e, &e->step->statement->outputs[0]);
        if (points)
            nest_close_points(e, points);
        return;
    }
    const Index *index = reduce->reduce.over[depth];
    if (e->lanes && index == e->step->vector) {
        emit_scan_lanes(e, reduce, names[0]);
        return;
    }
    Scope *body = emit_push(e);
    const char *name = emit_name(e, index->name);
    body->loop = true;
    emit_bind(e, index, name);
    emit_scan_loops(e, reduce, depth + 1, names, varying);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s++) {", name, name, emit_extent(e, index), name);
    emit_body(e, body);
    emit_line(e, "}");
}

static void emit_scan(Emitter *e)
{
    const Term *reduce = e->step->statement->outputs[0].value;
    Component components[STATE_COMPONENTS_MAX];
    const char *names[STATE_COMPONENTS_MAX];
    bool varying = e->lanes && e->step->vector_kept && !emit_scans(e->step, e->step->vector);
    for (int c = 0, n = state_components(reduce, components); c < n; c++) {
        names[c] = emit_name(e, components[c].name);
        const char *type = emit_type(components[c].dtype, varying), *start = emit_state_start(e, reduce, c, varying);
        if (!e->step->jammed) {
            emit_line(e, "%s %s = %s;", type, names[c], start);
            continue;
        }
        emit_line(e, "%s %s[%d];", type, names[c], e->step->jam);
        names[c] = emit_text(e, "%s[point]", names[c]);
        emit_line(e, "UNROLL");
        emit_line(e, "for (int point = 0; point < points; point++)");
        emit_line(e, "    %s = %s;", names[c], start);
    }
    emit_scan_loops(e, reduce, 0, names, varying);
}

/* The kept loops of the steps that are made in this one's loop are its own. */
static void emit_bind_joined(Emitter *e)
{
    const Join *join = e->step->join;
    for (int s = 0; join && s < join->count; s++)
        for (int i = 0; i < join->steps[s]->loop_count; i++) {
            const Index *index = join->steps[s]->loops[i];
            if (index != join->steps[s]->vector)
                emit_bind(e, index, emit_bound(e, join->same[index->id]));
        }
}

/* The body of the function for one point: what the step stores there. */
const char *emit_point(Emitter *e)
{
    const Step *step = e->step;
    Scope *body = emit_push(e);
    body->indent = 1;
    if (step->vector_kept && e->lanes && !has_inside(e, step->vector))
        body->count = "count";
    for (int i = 0; i < step->loop_count; i++) {
        if (step->split && emit_adds_rows(e) && step->loops[i] == step->vector)
            continue;    /* its loop names it */
        const char *name = names_user(&body->names, step->loops[i]->name);
        if (step->loops[i] == step->jammed || step->loops[i] == step->crossed)
            e->jam_first = name;
        else if (!has_inside(e, step->loops[i]))
            emit_bind(e, step->loops[i], name);
    }
    if (emit_adds_rows(e))
        e->jam_first = step->split ? e->block_first[step->split->id] : names_user(&body->names, step->added->name);
    emit_bind_joined(e);
    if (step->kind == STEP_SCAN)
        emit_scan(e);
    else if (step->kind == STEP_RANK)
        (e->plan->target->grid ? emit_grid_rank : emit_rank)(e);
    else if ((step->split || step->added) && !e->merging)
        emit_split_roots(e);
    else if (step->jammed && !e->merging)
        emit_jammed_roots(e);
    else if (step->crossed)
        emit_crossed(e, e->jam_first);
    else {
        if (e->merging)
            (step->added ? emit_added_root : emit_merged_roots)(e);
        if (e->branch)
            emit_know(e, step->statement->outputs[0].value, emit_term(e, e->branch));
        for (int o = 0; o < step->statement->output_count; o++)
            emit_store(e, &step->statement->outputs[o]);
    }
    emit_pop(e);
    return emit_without_unread(e->arena, body->text.bytes);
}

/* ---- functions ---- */

void emit_parameter(ParameterSet *set, const char *type, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (!strcmp(set->list[i].name, name))
            return;
    if (set->count < PARAMETERS_MAX)
        set->list[set->count++] = (Parameter){ type, name };
}

/* The parameters that a text mentions, as a declaration or as arguments. */
const char *emit_parameters(Emitter *e, const ParameterSet *set, const char *body, bool declare)
{
    Text text = text_new(e->arena);
    for (int i = 0; i < set->count; i++) {
        if (!emit_mentions(body, set->list[i].name))
            continue;
        text_put(&text, text.length ? ", " : "");
        text_print(&text, "%s%s", declare ? set->list[i].type : "", set->list[i].name);
    }
    return text.length || !declare ? text.bytes : "void";
}

/* What every function of a step may need: the frame, the worker's memory, the block. */
ParameterSet emit_common_parameters(Emitter *e)
{
    ParameterSet set = { .count = 0 };
    emit_parameter(&set, "const Frame *", "f");
    emit_parameter(&set, "char *", "own");
    for (int i = 0; i < e->plan->lowered->index_count; i++)
        if (e->block_first[i]) {
            emit_parameter(&set, "int64_t ", e->block_first[i]);
            emit_parameter(&set, "int64_t ", e->block_end[i]);
            if (e->block_now[i])
                emit_parameter(&set, "int64_t ", e->block_now[i]);
        }
    if (e->sweep_first && !e->step->statement->swept)
        emit_parameter(&set, "int64_t ", e->sweep_first);
    if (e->launch->lifts) {
        emit_parameter(&set, "float ", "up");
        emit_parameter(&set, "int *", "overflow");
    }
    return set;
}

ParameterSet emit_step_parameters(Emitter *e, bool point)
{
    ParameterSet set = emit_common_parameters(e);
    const Step *step = e->step;
    if (step->split && !e->merging) {
        emit_parameter(&set, "int64_t ", "part");
        emit_parameter(&set, "int ", "first_unit");
    }
    Names names = names_new(e->arena, &e->names);
    for (int i = 0; i < step->loop_count; i++) {
        const char *name = names_user(&names, step->loops[i]->name);
        if (point && !has_inside(e, step->loops[i]))
            emit_parameter(&set, "int64_t ", name);
    }
    if (point && step->added && !e->merging)
        emit_parameter(&set, "int64_t ", names_user(&names, step->added->name));
    if (point) {
        emit_parameter(&set, "const int ", "points");
        emit_parameter(&set, "const int ", "count");
        emit_parameter(&set, "const int ", "unit");
        emit_parameter(&set, "const int64_t ", "soon");
        emit_parameter(&set, "const int64_t ", "apart");
    }
    return set;
}

/* How the point's function is called. */
typedef struct Around {
    const ParameterSet *set;
    const char *body, *function;  /* the function's text and name */
    const char *other_body, *other;    /* of the one for where the condition of what is stored fails; NULL: there is none */
    const char **names;           /* [loop]: of the variables of the loops so far */
    const char *lead_body, *lead; /* of the one for how many numbers come before a line; NULL: there is none */
    const char *unit, *count, *points, *soon, *apart;    /* what is put in for these parameters */
    const char *row, *first_row;  /* the first of the rows that go together is this variable, and that parameter; or NULL */
    bool whole;                   /* whole vectors, and points that go together, have loops of their own */
} Around;

static void put_call(Text *text, const Around *around)
{
    text_print(text, "%s(", around->function);
    int first = 1;
    for (int i = 0; i < around->set->count; i++) {
        const char *name = around->set->list[i].name;
        if (!emit_mentions(around->body, name))
            continue;
        text_separate(text, &first, ", ");
        text_put(text, !strcmp(name, "count") ? around->count : !strcmp(name, "unit") ? around->unit
                       : !strcmp(name, "points") ? around->points : !strcmp(name, "soon") ? around->soon
                       : !strcmp(name, "apart") ? around->apart
                       : around->row && !strcmp(name, around->first_row) ? around->row : name);
        if (around->row && !strcmp(name, "first_unit"))
            text_print(text, " && %s == %s", around->row, around->first_row);
    }
    text_put(text, ")");
}

static void emit_call(Text *text, int depth, const Around *around)
{
    text_print(text, "%*s", 4 * depth, "");
    put_call(text, around);
    text_put(text, ";\n");
}

static void emit_loops_around(Emitter *e, Text *text, int depth, Names *names, Around around, int at);

/* A loop, or an if, with what runs in it, in braces where that is more than one statement. */
static void emit_around(Emitter *e, Text *text, int depth, const char *head, Names *names, Around around, int at)
{
    Text body = text_new(e->arena);
    Names inner = *names;
    emit_loops_around(e, &body, depth + 1, &inner, around, at);
    int statements = 0;
    for (const char *line = body.bytes; *line; line = strchr(line, '\n') + 1)
        statements += (int)strspn(line, " ") == 4 * depth + 4 && line[4 * depth + 4] != '}';
    text_print(text, "%*s%s%s\n%s", 4 * depth, "", head, statements > 1 ? " {" : "", body.bytes);
    if (statements > 1)
        text_print(text, "%*s}\n", 4 * depth, "");
}

/* What comes before a row's first line. A unit of work ends where the next one's lines begin, and begins with one itself if it has not
 * the row's first numbers. Back comes the end. */
static const char *emit_before_line(Emitter *e, Text *text, int depth, const char *name, const char *to, Names *names, Around around, int at)
{
    const Index *index = e->step->loops[at];
    const char *first = e->block_first[index->id], *extent = emit_extent(e, index), *last = to;
    Around call = around;
    call.function = around.lead;
    call.body = around.lead_body;
    text_print(text, "%*sconst int64_t lead = ", 4 * depth, "");
    put_call(text, &call);
    if (first) {
        last = names_user(names, emit_text(e, "%s_last", index->name));
        text_print(text, ", %s = size_min(%s + lead, %s)", last, to, extent);
    }
    text_put(text, ";\n");
    around.count = emit_text(e, "(int)size_min(lead, %s)", extent);
    emit_around(e, text, depth, emit_text(e, first ? "if (lead > 0 && %s == 0)" : "if (lead > 0)", name), names, around, at + 1);
    text_print(text, "%*s%s += lead;\n", 4 * depth, "", name);
    return last;
}

/* A loop in parts: points that go together, of vectors then a quarter as many, whole vectors, what is left. */
static void emit_parts(Emitter *e, Text *text, int depth, const char *name, const char *from, const char *to, Names *names, Around around, int at)
{
    const Index *index = e->step->loops[at];
    bool lanes = e->lanes && index == e->step->vector;
    for (int jam = index == e->step->jammed ? e->step->jam : 1; jam > 1; jam = lanes ? jam / 4 : 1) {
        Around many = around;
        many.points = emit_text(e, "%d", jam);
        const char *by = emit_text(e, "%d * LANES", jam);
        if (e->step->soon && emit_mentions(around.body, "soon")) {
            many.soon = "soon";
            text_print(text, "%*sconst int64_t soon = %s;    /* points */\n", 4 * depth, "", emit_soon(e));
        }
        const char *behind = NULL, *head = lanes ? emit_text(e, "for (; %s + %s <= %s; %s += %s)", name, by, to, name, by)
                                                 : emit_together(e, text, depth, from, name, to, &behind);
        many.apart = behind ? "apart" : "1";
        emit_around(e, text, depth, head, names, many, at + 1);
        text_put(text, behind ? behind : "");
    }
    if (!lanes) {
        around.whole = !e->step->vector_kept;    /* few points: one text for full vectors and others */
        emit_around(e, text, depth, emit_text(e, "for (; %s < %s; %s++)", name, to, name), names, around, at + 1);
        return;
    }
    if (around.lead)
        to = emit_before_line(e, text, depth, name, to, names, around, at);
    emit_around(e, text, depth, emit_text(e, "for (; %s + LANES <= %s; %s += LANES)", name, to, name), names, around, at + 1);
    around.count = emit_text(e, "(int)(%s - %s)", to, name);
    emit_around(e, text, depth, emit_text(e, "if (%s < %s)", name, to), names, around, at + 1);
}

/* The condition that bounds the loop with the lanes; NULL: none. */
static const Term *bounding_condition(const Emitter *e)
{
    return e->step->bounded && e->lanes ? e->step->statement->outputs[0].value->select.condition : NULL;
}

/* The loop with the lanes in three parts: where the condition of what is stored holds, and before and behind. */
static void emit_bounded_loop(Emitter *e, Text *text, int depth, const char *from, const char *to, Around around, int at)
{
    const Step *step = e->step;
    const char *name = around.names[at], *first = from;
    Scope *scope = emit_push(e);
    scope->indent = depth;
    for (int i = 0; i < at + 1; i++) {
        names_user(&scope->names, step->loops[i]->name);    /* taken, as around.names has them */
        if (i < at)
            emit_bind(e, step->loops[i], around.names[i]);
    }
    LoopBounds bounds = { step->loops[at], from, to };
    Domain domain = emit_bounds(e, bounding_condition(e), &bounds, 1);
    if (strcmp(bounds.first, from)) {
        first = emit_name(e, emit_text(e, "%s_from", name));
        emit_line(e, "const int64_t %s = size_min(%s, %s);", first, bounds.first, to);
    }
    const char *behind = emit_name(e, emit_text(e, "%s_to", name)), *end = emit_text(e, "size_max(%s, %s)", bounds.end, first);
    if (domain.around_count)
        end = emit_text(e, "%s ? %s : %s", emit_conditions(e, domain.around, domain.around_count), end, first);
    emit_line(e, "const int64_t %s = %s;", behind, end);
    emit_pop(e);
    text_put(text, scope->text.bytes);
    Around other = around;
    other.body = around.other_body;
    other.function = around.other;
    const char *const begins[] = { from, first, behind }, *const ends[] = { first, behind, to };
    for (int part = 0; part < 3; part++) {
        Around *call = part == 1 ? &around : &other;
        if (!call->function || begins[part] == ends[part])
            continue;
        text_print(text, "%*sfor (int64_t %s = %s; %s < %s; %s += LANES)\n", 4 * depth, "", name, begins[part], name, ends[part], name);
        call->count = emit_text(e, "(int)size_min(LANES, %s - %s)", ends[part], name);
        emit_call(text, depth + 1, call);
    }
}

/* Loops over all rows that are added to a point's sums, some together. */
static void emit_added_rows(Emitter *e, Text *text, int depth, const Names *names, Around around)
{
    Names inner = *names;
    const char *name = around.row = names_user(&inner, e->step->added->name), *end = emit_extent(e, e->step->added);
    around.first_row = name;
    text_print(text, "%*sint64_t %s = 0;\n", 4 * depth, "", name);
    if (around.whole) {
        Around many = around;
        const char *behind, *head = emit_together(e, text, depth, "0", name, end, &behind);
        many.points = emit_text(e, "%d", e->step->jam);
        many.apart = "apart";
        text_print(text, "%*s%s\n", 4 * depth, "", head);
        emit_call(text, depth + 1, &many);
        text_put(text, behind);
    }
    text_print(text, "%*sfor (; %s < %s; %s++)\n", 4 * depth, "", name, end, name);
    emit_call(text, depth + 1, &around);
}

/* The kept loops from one on, around calls of the point's function. */
static void emit_loops_around(Emitter *e, Text *text, int depth, Names *names, Around around, int at)
{
    const Step *step = e->step;
    if (at == step->loop_count) {
        if (step->added && emit_adds_rows(e))
            emit_added_rows(e, text, depth, names, around);
        else
            emit_call(text, depth, &around);
        return;
    }
    const Index *index = step->loops[at];
    const char *name = around.names[at] = names_user(names, index->name);
    const char *from = e->block_first[index->id] ? e->block_first[index->id] : "0";
    const char *to = e->block_end[index->id] ? e->block_end[index->id] : emit_extent(e, index);
    bool lanes = e->lanes && index == step->vector;
    if (e->block_now[index->id]) {
        text_print(text, "%*sconst int64_t %s = %s;\n", 4 * depth, "", name, e->block_now[index->id]);
        emit_loops_around(e, text, depth, names, around, at + 1);
    } else if (has_inside(e, index)) {
        emit_loops_around(e, text, depth, names, around, at + 1);
    } else if (lanes && bounding_condition(e)) {
        emit_bounded_loop(e, text, depth, from, to, around, at);
    } else if (around.whole && (lanes || index == step->jammed)) {
        text_print(text, "%*sint64_t %s = %s;\n", 4 * depth, "", name, from);
        emit_parts(e, text, depth, name, from, to, names, around, at);
    } else {
        if (lanes)
            around.count = emit_text(e, "(int)size_min(LANES, %s - %s)", to, name);
        if (index == step->crossed)
            around.points = emit_text(e, "(int)size_min(LANES, %s - %s)", to, name);
        emit_around(e, text, depth, emit_text(e, "for (int64_t %s = %s; %s < %s; %s%s)", name, from, name, to, name,
                                              lanes || index == step->crossed ? " += LANES" : "++"), names, around, at + 1);
    }
}

/* Loops over the rows of a unit of work, some together, around those over kept indices. */
static void emit_rows_around(Emitter *e, Text *text, int depth, Names *names, Around around)
{
    const Index *index = e->step->split;
    const char *end = e->block_end[index->id], *name = around.row = names_user(names, index->name);
    around.first_row = e->block_first[index->id];
    text_print(text, "%*sint64_t %s = %s;\n", 4 * depth, "", name, around.first_row);
    if (around.whole) {
        Around many = around;
        many.points = emit_text(e, "%d", e->step->jam);
        const char *behind, *head = emit_together(e, text, depth, around.first_row, name, end, &behind);
        many.apart = behind ? "apart" : "1";
        emit_around(e, text, depth, head, names, many, 0);
        text_put(text, behind ? behind : "");
    }
    emit_around(e, text, depth, emit_text(e, "for (; %s < %s; %s++)", name, end, name), names, around, 0);
}

const char *emit_formula(Emitter *e)
{
    Text text = text_new(e->arena);
    for (int o = 0; o < e->step->statement->output_count; o++) {
        const Output *output = &e->step->statement->outputs[o];
        text_print(&text, "%s%s[", o ? " & " : "", output->tensor->label);
        for (int a = 0; a < output->tensor->rank; a++) {
            text_put(&text, a ? "," : "");
            plan_print_position(&text, &output->positions[a]);
        }
        text_put(&text, e->step->statement->accumulate ? "] += " : "] = ");
        plan_print_term(&text, output->value);
    }
    return text.bytes;
}

/* What a step makes, behind what is made in its loop. */
static const char *emit_formulas(Emitter *e)
{
    const Step *own = e->step;
    const char *text = "";
    for (int s = 0; own->join && s < own->join->count; s++) {
        e->step = own->join->steps[s];
        text = emit_text(e, "%s%s;\n * ", text, emit_formula(e));
    }
    e->step = own;
    return emit_text(e, "%s%s", text, emit_formula(e));
}

/* The function for one point: its text, and in *whole what it mentions. */
static void emit_point_function(Emitter *e, const char *name, const char *comment, const ParameterSet *set, const char **whole)
{
    const char *body = emit_point(e), *locals = emit_locals(e, body);
    *whole = emit_text(e, "%s%s", locals, body);
    text_print(&e->functions, "/* %s */\nINLINE void %s(%s)\n{\n%s}\n\n", comment, name, emit_parameters(e, set, *whole, true),
               *whole);
}

/* For all that the C compiler knows, a step's stores could change its frame. Of a copy its loops keep in registers what they need. */
#define FRAME_COPY "    const Frame unchanged = *frame, *f = &unchanged;\n"

static void emit_function(Emitter *e, const char *name, const char *comment)
{
    const char *point = emit_text(e, "%s_at", name);
    const char *whole, *other_body = NULL, *other = NULL;
    const Term *condition = bounding_condition(e);
    const Output *output = &e->step->statement->outputs[0];
    ParameterSet inner = emit_step_parameters(e, true), outer = emit_step_parameters(e, false);
    if (condition && !output->partly) {
        other = emit_text(e, "%s_else", name);
        e->branch = output->value->select.no;
        emit_point_function(e, other, "the same where its condition fails", &inner, &other_body);
    }
    e->branch = condition && condition_only_bounds(condition, e->step->vector) ? output->value->select.yes : NULL;
    emit_point_function(e, point, comment, &inner, &whole);
    e->branch = NULL;
    const char *lead = emit_text(e, "%s_lead", name), *lead_body = emit_lead(e, lead, &inner);
    Text loops = text_new(e->arena);
    if (e->step->bundle && !e->merging)
        text_print(&loops, "    if (f->bundle_%d) {\n        %s\n        return;\n    }\n", e->step->id + 1, emit_bundle(e));
    bool units = e->step->units.count > 0 && e->lanes && emit_mentions(whole, "unit");
    Around around = { .set = &inner, .body = whole, .function = point, .other_body = other_body, .other = other,
                      .lead_body = lead_body, .lead = lead_body ? lead : NULL,
                      .names = ARENA_ARRAY(e->arena, const char *, e->step->loop_count), .count = "LANES", .points = "1", .soon = "0", .apart = "1" };
    for (int u = units; u >= 0; u--) {
        Names names = names_new(e->arena, &e->names);
        if (units)
            text_print(&loops, u ? "    if (f->unit_%d) {\n" : "    } else {\n", e->step->id + 1);
        around.unit = u ? "1" : "0";
        around.whole = u || (!units && e->step->jammed && !e->merging);
        if (e->step->split && emit_adds_rows(e))
            emit_rows_around(e, &loops, 1 + units, &names, around);
        else
            emit_loops_around(e, &loops, 1 + units, &names, around, 0);
    }
    text_put(&loops, units ? "    }\n" : "");
    const char *text = emit_text(e, "%s%s", emit_locals(e, loops.bytes), loops.bytes);
    ParameterSet declared = outer;
    bool loops_on = strstr(text, "for (") && emit_mentions(text, "f");
    for (int i = 0; i < declared.count; i++)
        if (loops_on && !strcmp(declared.list[i].name, "f"))
            declared.list[i].name = "frame";
    const char *own = loops_on ? emit_text(e, FRAME_COPY "%s", text) : text;
    text_print(&e->functions, "KERNEL static void %s(%s)\n{\n%s}\n\n", name, emit_parameters(e, &declared, own, true), own);
    e->calls[e->merging][e->step->id] = emit_text(e, "%s(%s);", name, emit_parameters(e, &outer, text, false));
}

/* The names of a step's part of the launch's blocks. */
static void set_step_blocks(Emitter *e, const Launch *launch, const Step *step)
{
    int place = 0;
    while (launch->steps[place] != step)
        place++;
    bool grid = e->plan->target->grid;
    for (int b = 0; b < launch->block_count && (step->added || !e->merging); b++) {
        const Index *index = launch->blocks[b].of_step[place];
        e->block_first[index->id] = emit_text(e, "%s_first", e->block_names[launch->id][b]);
        e->block_end[index->id] = emit_text(e, "%s_end", e->block_names[launch->id][b]);
        if (!grid && launch_runs_by_points(launch, place) && b == launch->block_count - 1)
            e->block_now[index->id] = emit_text(e, "%s_now", e->block_names[launch->id][b]);
    }
    const char *sweep = e->block_names[launch->id][launch->block_count];
    const Index *swept = step->statement->swept;
    e->sweep_first = launch_sweeps(launch, place) ? emit_text(e, "%s_first", sweep) : NULL;
    if (e->sweep_first && swept) {
        e->block_first[swept->id] = e->sweep_first;
        e->block_end[swept->id] = emit_text(e, "%s_end", sweep);
    }
}

static void set_blocks(Emitter *e, const Launch *launch, const Step *step)
{
    for (int i = 0; i < e->plan->lowered->index_count; i++)
        e->block_first[i] = e->block_end[i] = e->block_now[i] = NULL;
    for (int i = 0; step->join && i < step->join->count; i++)
        set_step_blocks(e, launch, step->join->steps[i]);
    for (int s = launch->guess && launch->guess->product == step ? launch->guess->from : launch->step_count; s < launch->step_count; s++)
        set_step_blocks(e, launch, launch->steps[s]);
    set_step_blocks(e, launch, step);
}

void emit_begin_step(Emitter *e, const Launch *launch, const Step *step, bool merging)
{
    bool grid = e->plan->target->grid;
    e->step = step;
    e->launch = launch;
    e->merging = merging;
    e->lanes = step->vector && !grid && (!merging || step->vector_kept);
    e->team = step->vector && !step->vector_kept && grid && !merging;
    set_blocks(e, launch, step);
}

void emit_step(Emitter *e, const Launch *launch, const Step *step)
{
    if (step->joined)
        return;
    emit_begin_step(e, launch, step, false);
    if (step->contract) {
        emit_contract(e);
        return;
    }
    if (step->turned) {
        emit_turned(e);
        return;
    }
    emit_function(e, emit_text(e, "step_%d", step->id + 1), emit_formulas(e));
    if (!step->split && !step->added)
        return;
    emit_begin_step(e, launch, step, true);
    emit_function(e, emit_text(e, step->added ? "finish_%d" : "merge_%d", step->id + 1), step->added ? "what is made of the sums" : "the parts, in order");
    e->merging = false;
}
