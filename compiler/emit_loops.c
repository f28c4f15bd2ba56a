/* The kept loops of a step, around calls of the function for one point. */
#include <string.h>

#include "emit_loops.h"

static void put_call(Emitter *e, Text *text, const Around *around)
{
    text_print(text, "%s(", around->function);
    int first = 1;
    const char *points = !strcmp(around->meets, "1") ? around->points : !strcmp(around->points, "1") ? around->meets
                       : emit_text(e, "%s * %s", around->points, around->meets);
    for (int i = 0; i < around->set->count; i++) {
        const char *name = around->set->list[i].name;
        if (!emit_mentions(around->body, name))
            continue;
        text_separate(text, &first, ", ");
        text_put(text, !strcmp(name, "count") ? around->count : !strcmp(name, "unit") ? around->unit
                       : !strcmp(name, "points") ? points : !strcmp(name, "meets") ? around->meets : !strcmp(name, "soon") ? around->soon
                       : !strcmp(name, "points_apart") ? around->apart
                       : around->row && !strcmp(name, around->first_row) ? around->row : name);
        if (around->row && !strcmp(name, "first_unit"))
            text_print(text, " && %s == %s", around->row, around->first_row);
    }
    text_put(text, ")");
}

static void emit_call(Emitter *e, Text *text, int depth, const Around *around)
{
    text_print(text, "%*s", 4 * depth, "");
    put_call(e, text, around);
    text_put(text, ";\n");
}

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
    put_call(e, text, &call);
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

/* How many vectors go together where fewer than so many are left: two of those that meet points, of which the last may be one in part. */
static int fewer_vectors(const Step *step, int vectors)
{
    return step->met && vectors > 2 && vectors < 8 ? 2 : vectors / 4;
}

/* A loop in parts: points that go together, of vectors then fewer, whole vectors, what is left. */
static void emit_parts(Emitter *e, Text *text, int depth, const char *name, const char *from, const char *to, Names *names, Around around, int at)
{
    const Index *index = e->step->loops[at];
    bool lanes = e->lanes && index == e->step->vector;
    for (int jam = index == e->step->jammed ? e->step->jam : 1; jam > 1; jam = lanes ? fewer_vectors(e->step, jam) : 1) {
        Around many = around;
        many.points = emit_text(e, "%d", jam);
        const char *by = emit_text(e, "%d * LANES", jam);
        if (e->step->soon && emit_mentions(around.body, "soon")) {
            many.soon = "soon";
            text_print(text, "%*sconst int64_t soon = %s;    /* points */\n", 4 * depth, "", emit_soon(e));
        }
        const char *behind = NULL, *head = lanes ? emit_text(e, "for (; %s + %s <= %s; %s += %s)", name, by, to, name, by)
                                                 : emit_together(e, text, depth, from, name, to, &behind);
        many.apart = behind ? "points_apart" : "1";
        emit_around(e, text, depth, head, names, many, at + 1);
        text_put(text, behind ? behind : "");
    }
    if (!lanes) {
        around.whole = !e->step->vector_kept;    /* few points: one text for full vectors and others */
        emit_around(e, text, depth, emit_text(e, "for (; %s < %s; %s++)", name, to, name), names, around, at + 1);
        return;
    }
    bool groups = index == e->step->jammed && emit_has_partial_group(e);
    if (groups) {
        Around two = around;
        two.points = "2";
        two.count = emit_text(e, "(int)(%s - %s) & (LANES - 1)", to, name);
        emit_around(e, text, depth, emit_text(e, "for (; %s + LANES < %s; %s = %s)", name, to, name, to), names, two, at + 1);
    }
    if (around.lead)
        to = emit_before_line(e, text, depth, name, to, names, around, at);
    if (e->step->has_runs)
        text_print(text, "%*sUNROLL_SOME\n", 4 * depth, "");
    emit_around(e, text, depth, emit_text(e, "for (; %s + %s <= %s; %s += %s)", name, emit_turn(e), to, name, emit_turn(e)), names, around, at + 1);
    around.count = emit_text(e, groups ? "(int)(%s - %s) & (LANES - 1)" : "(int)(%s - %s)", to, name);
    emit_around(e, text, depth, emit_text(e, "if (%s < %s)", name, to), names, around, at + 1);
}

const Term *emit_bounding_condition(const Emitter *e)
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
    Domain domain = emit_bounds(e, emit_bounding_condition(e), &bounds, 1);
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
        emit_call(e, text, depth + 1, call);
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
        many.apart = "points_apart";
        text_print(text, "%*s%s\n", 4 * depth, "", head);
        emit_call(e, text, depth + 1, &many);
        text_put(text, behind);
    }
    text_print(text, "%*sfor (; %s < %s; %s++)\n", 4 * depth, "", name, end, name);
    emit_call(e, text, depth + 1, &around);
}

void emit_loops_around(Emitter *e, Text *text, int depth, Names *names, Around around, int at)
{
    const Step *step = e->step;
    if (at == step->loop_count) {
        if (step->added && emit_adds_rows(e))
            emit_added_rows(e, text, depth, names, around);
        else
            emit_call(e, text, depth, &around);
        return;
    }
    const Index *index = step->loops[at];
    const char *name = around.names[at] = names_user(names, index->name);
    const char *from = e->block_first[index->id] ? e->block_first[index->id] : "0";
    const char *to = e->block_end[index->id] ? e->block_end[index->id] : emit_extent(e, index);
    bool lanes = e->lanes && index == step->vector;
    if (e->block_now[index->id]) {
        Text inner = text_new(e->arena);
        emit_loops_around(e, &inner, depth, names, around, at + 1);
        if (emit_mentions(inner.bytes, name))    /* what is at a point alone may be reached without it */
            text_print(text, "%*sconst int64_t %s = %s;\n", 4 * depth, "", name, e->block_now[index->id]);
        text_put(text, inner.bytes);
    } else if (emit_has_inside(e, index)) {
        emit_loops_around(e, text, depth, names, around, at + 1);
    } else if (lanes && emit_bounding_condition(e)) {
        emit_bounded_loop(e, text, depth, from, to, around, at);
    } else if (around.whole && (lanes || index == step->jammed)) {
        text_print(text, "%*sint64_t %s = %s;\n", 4 * depth, "", name, from);
        emit_parts(e, text, depth, name, from, to, names, around, at);
    } else if (around.whole && index == step->met) {
        text_print(text, "%*sint64_t %s = %s;\n", 4 * depth, "", name, from);
        Around many = around;
        many.meets = emit_text(e, "%d", step->meets);
        emit_around(e, text, depth, emit_text(e, "for (; %s + %s <= %s; %s += %s)", name, many.meets, to, name, many.meets), names, many, at + 1);
        emit_around(e, text, depth, emit_text(e, "for (; %s < %s; %s++)", name, to, name), names, around, at + 1);
    } else {
        if (lanes)
            around.count = emit_text(e, "(int)size_min(%s, %s - %s)", emit_turn(e), to, name);
        if (index == step->crossed)
            around.points = emit_text(e, "(int)size_min(LANES, %s - %s)", to, name);
        emit_around(e, text, depth, emit_text(e, "for (int64_t %s = %s; %s < %s; %s%s)", name, from, name, to, name,
                                              lanes ? emit_text(e, " += %s", emit_turn(e)) : index == step->crossed ? " += LANES" : "++"),
                    names, around, at + 1);
    }
}

void emit_rows_around(Emitter *e, Text *text, int depth, Names *names, Around around)
{
    const Index *index = e->step->split;
    const char *end = e->block_end[index->id], *name = around.row = names_user(names, index->name);
    around.first_row = e->block_first[index->id];
    text_print(text, "%*sint64_t %s = %s;\n", 4 * depth, "", name, around.first_row);
    if (around.whole) {
        Around many = around;
        many.points = emit_text(e, "%d", e->step->jam);
        const char *behind, *head = emit_together(e, text, depth, around.first_row, name, end, &behind);
        many.apart = behind ? "points_apart" : "1";
        emit_around(e, text, depth, head, names, many, 0);
        text_put(text, behind ? behind : "");
    }
    emit_around(e, text, depth, emit_text(e, "for (; %s < %s; %s++)", name, end, name), names, around, 0);
}
