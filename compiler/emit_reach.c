/* What a tile of rows leaves out: of all its rows together the columns that nobody asks for, or the contracted points at
 * which the rows are zeros. */
#include <string.h>

#include "emit_tiling.h"

const Term *tiling_where(const Tiling *t)
{
    return t->c->columns_met.condition ? t->c->columns_met.where : NULL;
}

const Term *tiling_whole_value(const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    return tiling_where(t) && !t->c->reduces ? tiling_where(t)->select.yes : output_stored(output);
}

const Term *tiling_whole_first(Emitter *e, const Tiling *t, int r)
{
    if (!tiling_where(t))
        return t->first[r];
    Term *whole = ARENA_NEW(e->arena, Term);
    *whole = *t->first[r];
    whole->reduce.argument = tiling_where(t)->select.yes;
    return whole;
}

/* The names in the texts of a reach: of columns, of contracted points. */
static const char *const from_names[] = { "columns_from", "points_from" }, *const to_names[] = { "columns_to", "points_to" };
static const char *const functions[] = { "meet_columns", "meet_points" };

static const Reach *reach_of(const Tiling *t, int points)
{
    const Reach *reach = points ? &t->c->points_met : &t->c->columns_met;
    return reach->condition ? reach : NULL;
}

/* Whether tiles that meet the condition everywhere are told from others. */
static bool tells_whole(const Reach *reach)
{
    return reach->where || reach->splits;
}

void tiling_reach_parameters(Emitter *e, Tiling *t)
{
    for (int points = 0; points < 2; points++) {
        emit_parameter(&t->parameters, "int64_t *", from_names[points]);
        emit_parameter(&t->parameters, "int64_t *", to_names[points]);
    }
    emit_parameter(&t->parameters, "int64_t *", "whole_from");
    emit_parameter(&t->parameters, "int64_t *", "whole_to");
    emit_parameter(&t->parameters, "int ", "at_tile");
    emit_parameter(&t->parameters, "int ", "is_whole");
    (void)e;
}

/* The condition's indices are those of the step, under other names. */
static void bind_theirs(Emitter *e, const Tiling *t, const Reach *reach, bool block)
{
    for (int i = 0; i < reach->count; i++) {
        const Index *own = reach->own[i], *theirs = reach->theirs[i];
        bool row = own == tiling_last(&t->c->rows);
        if (theirs != reach->along && !block && emit_bound(e, own))
            emit_bind(e, theirs, emit_bound(e, own));
        if (block && (row || e->block_first[own->id])) {
            e->block_first[theirs->id] = e->block_first[own->id];
            e->block_end[theirs->id] = e->block_end[own->id];
        }
    }
}

/* The bounds of their blocks, as they were. */
static void forget_theirs(Emitter *e, const Reach *reach, const char *const *first, const char *const *end)
{
    for (int i = 0; i < reach->count; i++) {
        e->block_first[reach->theirs[i]->id] = first[i];
        e->block_end[reach->theirs[i]->id] = end[i];
    }
}

/* Zeros in each of a tile's rows, from one point to before another one, and from `to` to before a last one. */
static void clear_ends(Emitter *e, const Tiling *t, const char *first, const char *end)
{
    const Index *row = tiling_last(&t->c->rows), *point = t->c->depth.list[0];
    const char *name = t->names[row->id], *type = dtype_c(t->c->left->read.tensor->dtype);
    Scope *rows = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    rows->loop = true;
    emit_bind(e, row, at);
    emit_bind(e, point, first);
    const char *before = strcmp(first, "0") ? emit_text(e, "(from - %s)", first) : "from";
    emit_line(e, "memset(%s, 0, (size_t)%s * sizeof(%s));", emit_pointer(e, t->c->left), before, type);
    emit_bind(e, point, "to");
    emit_line(e, "memset(%s, 0, (size_t)(%s - to) * sizeof(%s));", emit_pointer(e, t->c->left), end, type);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s + height; %s++) {", at, name, at, name, at);
    emit_body(e, rows);
    emit_line(e, "}");
}

/* Zeros in the place of a tile's numbers that nobody has stored: where words are multiplied as a whole, of which tiles of columns may
 * have stored a part, and where all points are: times what is not finite they are no zeros. */
static void clear_points(Emitter *e, const Tiling *t, const char *first, const char *end)
{
    if (t->c->tile->words > 1) {
        int points = t->c->group * t->c->tile->words;
        const char *start = strcmp(first, "0") ? emit_text(e, "(from - %s)", first) : "from";
        const char *last = strcmp(first, "0") ? emit_text(e, "%s + size_align(to - %s, %d)", first, first, points) : emit_text(e, "size_align(to, %d)", points);
        emit_line(e, "if (LANES < TILE_WORDS) {    /* words are multiplied as a whole, of which a tile of columns is a part */");
        e->scope->indent++;
        emit_line(e, "const int64_t word_from = from - %s %% %d, word_to = size_min(%s, %s);", start, points, last, end);
        clear_ends(e, t, "word_from", "word_to");
        e->scope->indent--;
        emit_line(e, "}");
    }
    emit_line(e, "if (!*finite_%d) {    /* what was not made is multiplied, too */", t->number);
    e->scope->indent++;
    clear_ends(e, t, first, end);
    emit_line(e, "from = %s;", first);
    emit_line(e, "to = %s;", end);
    e->scope->indent--;
    emit_line(e, "}");
}

/* The body of the function that finds what the rows of a tile meet. */
const char *tiling_meet(Emitter *e, Tiling *t, int points)
{
    const Reach *reach = reach_of(t, points);
    if (!reach)
        return "";
    const Index *row = tiling_last(&t->c->rows), *along = points ? t->c->depth.list[0] : reach->along;
    tiling_open(e, t, NULL);
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    tiling_bind(e, t, &t->c->rows, t->c->rows.count - 1);
    const char *first = tiling_first(e, along), *end = tiling_end(e, along);
    const char *start = points && strcmp(first, "0") ? emit_text(e, " - %s", first) : "";    /* points are counted from there */
    if (points && !reach->clears) {
        emit_line(e, "points_from[at_tile] = 0;");
        emit_line(e, "points_to[at_tile] = %s%s;", end, start);
        emit_line(e, "if (!*finite_%d)    /* times 0 they are no zeros */", t->number);
        emit_line(e, "    return;");
    }
    bool splits = !points && tells_whole(reach);
    emit_line(e, "int64_t from = %s, to = %s;", end, first);
    if (splits)
        emit_line(e, "whole_from[at_tile] = %s, whole_to[at_tile] = %s;", first, end);
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id]));
    body->loop = true;
    emit_bind(e, row, at);
    const char **first_of = ARENA_ARRAY(e->arena, const char *, reach->count + 1);
    const char **end_of = ARENA_ARRAY(e->arena, const char *, reach->count + 1);
    for (int i = 0; i < reach->count; i++) {
        first_of[i] = e->block_first[reach->theirs[i]->id];
        end_of[i] = e->block_end[reach->theirs[i]->id];
    }
    bind_theirs(e, t, reach, false);
    bind_theirs(e, t, reach, true);
    LoopBounds bounds = { reach->along, first, end };
    Domain domain = emit_bounds(e, reach->condition, &bounds, 1);
    if (domain.around_count) {
        emit_line(e, "if (!(%s))%s", emit_bare(e, emit_conditions(e, domain.around, domain.around_count)), splits ? " {" : "");
        if (splits)
            emit_line(e, "    whole_to[at_tile] = %s;", first);
        emit_line(e, "    continue;");
        if (splits)
            emit_line(e, "}");
    }
    if (splits) {
        emit_line(e, "whole_from[at_tile] = size_max(whole_from[at_tile], %s);", bounds.first);
        emit_line(e, "whole_to[at_tile] = size_min(whole_to[at_tile], %s);", bounds.end);
    }
    emit_line(e, "from = size_min(from, %s);", bounds.first);
    emit_line(e, "to = size_max(to, %s);", bounds.end);
    emit_pop(e);
    forget_theirs(e, reach, first_of, end_of);
    const char *name = t->names[row->id];
    emit_line(e, "for (int64_t %s = %s; %s < %s + height; %s++) {", at, name, at, name, at);
    emit_body(e, body);
    emit_line(e, "}");
    if (reach->clears)
        clear_points(e, t, first, end);
    emit_line(e, "%s[at_tile] = from%s;", from_names[points], start);
    emit_line(e, "%s[at_tile] = to%s;", to_names[points], start);
    return tiling_close(e);
}

const char *tiling_meet_function(int points)
{
    return functions[points];
}

/* Finds what each tile of a block of rows meets, before the rows are packed. */
void tiling_find_reach(Emitter *e, const Tiling *t, const char *const calls[2], const char *height)
{
    const char *row = t->names[tiling_last(&t->c->rows)->id];
    Text inner = text_new(e->arena);
    for (int points = 0; points < 2; points++)
        if (reach_of(t, points)) {
            emit_line(e, "int64_t %s[BLOCK_%d], %s[BLOCK_%d];", from_names[points], t->number, to_names[points], t->number);
            if (!points && tells_whole(reach_of(t, points)))
                emit_line(e, "int64_t whole_from[BLOCK_%d], whole_to[BLOCK_%d];", t->number, t->number);
            text_print(&inner, "    %s;\n", calls[points]);
        }
    if (!inner.length)
        return;
    emit_line(e, "int at_tile = 0;");
    emit_line(e, "for (; %s < %s_stop; %s += height, at_tile++) {", row, row, row);
    emit_line(e, "    height = %s;", height);
    tiling_put(e, inner.bytes);
    emit_line(e, "}");
    emit_line(e, "%s = %s_block;", row, row);
    emit_line(e, "height = (int)(%s_stop - %s);", row, row);
}

/* Around the call for one tile: what ends its turn, whether it meets the where's condition everywhere, and from which point it
 * goes up to which. `fill`: what stores a tile that meets it nowhere. */
const char *tiling_reach_lines(Emitter *e, const Tiling *t, const char *fill)
{
    Text text = text_new(e->arena);
    const Reach *columns = reach_of(t, 0);
    if (columns) {
        const char *column = t->names[tiling_last(&t->c->columns)->id];
        text_print(&text, "if (%s >= columns_to[at_tile] || %s + COLUMNS_%d <= columns_from[at_tile])%s\n", column, column, t->number,
                   columns->fills ? " {" : "");
        if (columns->fills)
            text_print(&text, "    if (is_last%s)\n        %s;\n", t->guess ? " && guessed" : "", fill);
        text_print(&text, "    continue;\n%s", columns->fills ? "}\n" : "");
    }
    if (columns && tells_whole(columns)) {
        const char *column = t->names[tiling_last(&t->c->columns)->id];
        text_print(&text, "const int is_whole = %s >= whole_from[at_tile] && %s + count <= whole_to[at_tile];\n", column, column);
    }
    if (reach_of(t, 1)) {
        const char *from = "points_from[at_tile]", *to = "points_to[at_tile]";
        if (t->c->group > 1) {    /* in whole registers of words */
            from = emit_text(e, "%s / %d * %d", from, t->c->group * t->c->tile->words, t->c->tile->words);
            to = emit_text(e, "size_align(size_ceil_div(%s, %d), %d)", to, t->c->group, t->c->tile->words);
        }
        text_print(&text, "const int64_t first_point = size_max(done, %s);\n"
                   "const int64_t end_point = size_max(size_min(done + points, %s), first_point);\n", from, to);
    }
    return text.bytes;
}

bool tiling_has_reach(const Tiling *t)
{
    return reach_of(t, 0) || reach_of(t, 1);
}
