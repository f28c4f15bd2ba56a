/* Where the columns of a unit of work are: their places follow each other, index by index, in tiles of which the last may
 * have some to spare. Columns that differ in the last index alone make a run, and with them those of outer indices that
 * follow them in the memory of all that have them: `width` places. */
#include <string.h>

#include "emit_tiling.h"

/* Whether columns may be read and stored past the end of an index where the next one begins there. */
static bool may_be_flat(Emitter *e, const Tiling *t)
{
    const IndexSet *columns = &t->c->columns;
    for (int i = 0; i < e->plan->lowered->term_count; i++) {
        const Term *term = e->plan->lowered->terms[i];
        bool touches = false;
        for (int k = 0; k < columns->count; k++)
            touches |= term->statement == t->step->statement->id && term_has_index(term, columns->list[k]);
        if (touches && term->kind == TERM_POSITION)
            return false;
        for (int a = 0; touches && term->kind == TERM_READ && a < term->read.tensor->rank; a++)
            if (emit_is_unsafe(e, term, a))
                return false;
    }
    return true;
}

const char *tiling_extent_here(Emitter *e, const Index *index)
{
    const char *first = tiling_first(e, index), *end = tiling_end(e, index);
    return strcmp(first, "0") ? emit_text(e, "(%s - %s)", end, first) : end;
}

/* Whether a column's point is followed by the next one's first for all that have them: condition as C, "" for always. */
static const char *flat_condition(Emitter *e, const Tiling *t, int column)
{
    const Index *outer_index = t->c->columns.list[column], *inner_index = t->c->columns.list[column + 1];
    Text text = text_new(e->arena);
    for (int i = 0; i < e->plan->lowered->term_count + t->step->statement->output_count; i++) {
        int o = i - e->plan->lowered->term_count;
        const Term *term = o < 0 ? e->plan->lowered->terms[i] : NULL;
        if (term && (term->statement != t->step->statement->id || term->kind != TERM_READ))
            continue;
        const Tensor *tensor = term ? term->read.tensor : t->step->statement->outputs[o].tensor;
        const Position *positions = term ? term->read.positions : t->step->statement->outputs[o].positions;
        const char *outer = emit_stride(e, tensor, positions, outer_index), *inner = emit_stride(e, tensor, positions, inner_index);
        const char *test = emit_text(e, "%s == %s * %s", outer, inner, tiling_extent_here(e, inner_index));
        if ((strcmp(outer, "0") || strcmp(inner, "0")) && !strstr(text.bytes, test))
            text_print(&text, "%s%s", text.length ? " && " : "", test);
    }
    return text.bytes;
}

void tiling_declare_places(Emitter *e, const Tiling *t)
{
    const IndexSet *columns = &t->c->columns;
    const char *inner = tiling_extent_here(e, tiling_last(columns)), *all = inner;
    for (int i = columns->count - 2; i >= 0; i--)
        all = emit_text(e, "%s * %s", tiling_extent_here(e, columns->list[i]), all);
    emit_line(e, "const int64_t columns = %s, places = size_align(columns, COLUMNS_%d);", emit_bare(e, all), t->number);
    if (columns->count == 1)
        return;
    bool may = may_be_flat(e, t);
    emit_line(e, "%sint64_t width = %s;", may ? "" : "const ", emit_bare(e, inner));
    int depth = e->scope->indent;
    for (int i = columns->count - 2; may && i >= 0; i--) {
        const char *condition = flat_condition(e, t, i);
        if (condition[0]) {
            emit_line(e, "if (%s)%s", condition, i > 0 ? " {" : "");
            e->scope->indent++;
        }
        emit_line(e, "width *= %s;", emit_bare(e, tiling_extent_here(e, columns->list[i])));
        if (condition[0] && i == 0)
            e->scope->indent--;
    }
    while (e->scope->indent > depth) {
        e->scope->indent--;
        emit_line(e, "}");
    }
}

static const char *from_first(Emitter *e, const Index *index, const char *offset)
{
    const char *first = tiling_first(e, index);
    return strcmp(first, "0") ? emit_text(e, "%s + %s", first, offset) : offset;
}

const char *tiling_tile_place(const Tiling *t)
{
    return t->c->columns.count > 1 ? "tile_place" : "place";
}

/* How far a column's index is behind its first one in the unit of work. */
static const char *column_from_first(Emitter *e, const Tiling *t, const char *place, int column)
{
    const IndexSet *columns = &t->c->columns;
    const char *at = place;
    if (column < columns->count - 1)    /* what is flat counts for the last index alone */
        at = emit_text(e, "(%s - %s %% width)", place, place);
    for (int i = columns->count - 1; i > column; i--)
        at = emit_text(e, "%s / %s", at, tiling_extent_here(e, columns->list[i]));
    if (columns->count > 1 && column > 0)
        at = emit_text(e, "%s %% %s", at, column == columns->count - 1 ? "width" : tiling_extent_here(e, columns->list[column]));
    return at;
}

const char *tiling_column_at(Emitter *e, const Tiling *t, const char *place, int column)
{
    return from_first(e, t->c->columns.list[column], column_from_first(e, t, place, column));
}

const char *tiling_columns_of(Emitter *e, const Tiling *t, const char *place, const char *call)
{
    const IndexSet *columns = &t->c->columns;
    Text text = text_new(e->arena);
    for (int i = columns->count - 1; i >= 0; i--) {
        const char *name = t->names[columns->list[i]->id];
        if (emit_mentions(call, name))
            text_print(&text, "const int64_t %s = %s;\n", name, tiling_column_at(e, t, place, i));
    }
    return text.bytes;
}

void tiling_lines(Text *text, const char *indent, const char *lines)
{
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        text_print(text, "%s%.*s\n", length ? indent : "", (int)length, lines);
    }
}

const char *tiling_each_run(Emitter *e, const Tiling *t, const char *call)
{
    if (t->c->columns.count == 1)
        return call;
    Text text = text_new(e->arena);
    text_print(&text, "const int64_t tile_end = size_min(tile_place + COLUMNS_%d, columns);\n", t->number);
    text_put(&text, "for (int64_t place = tile_place; place < tile_end;) {\n"
             "    const int count = (int)size_min(width - place % width, tile_end - place);\n");
    tiling_lines(&text, "    ", tiling_columns_of(e, t, "place", call));
    tiling_lines(&text, "    ", call);
    text_put(&text, "    place += count;\n}\n");
    return text.bytes;
}

static void tiles_loop(Emitter *e, const Tiling *t, const char *head, const char *call)
{
    const char *place = tiling_tile_place(t);
    bool single = t->c->columns.count == 1;
    Text text = text_new(e->arena);
    text_put(&text, head);
    if (single)
        tiling_lines(&text, "    ", tiling_columns_of(e, t, place, call));
    if (single && emit_mentions(call, "count"))
        text_print(&text, "    const int count = (int)size_min(COLUMNS_%d, columns - place);\n", t->number);
    if (emit_mentions(call, "is_narrow"))
        text_print(&text, "    const int is_narrow = 2 * (columns - %s) <= PAIRS_%d * LANES;\n", place, t->number);
    tiling_lines(&text, "    ", call);
    text_put(&text, "}\n");
    tiling_put(e, text.bytes);
}

void tiling_each_tile(Emitter *e, const Tiling *t, const char *call)
{
    const char *place = tiling_tile_place(t);
    tiles_loop(e, t, emit_text(e, "for (int64_t %s = 0; %s < places; %s += COLUMNS_%d) {\n", place, place, place, t->number), call);
}

void tiling_each_tile_back(Emitter *e, const Tiling *t, const char *call)
{
    tiles_loop(e, t, emit_text(e, "for (int64_t turn = 0; turn < tiles; turn++) {\n"
                               "    const int64_t %s = (is_back ? tiles - 1 - turn : turn) * COLUMNS_%d;\n", tiling_tile_place(t), t->number), call);
}

/* How far the result's element of the columns at a place is behind that of the unit's first ones. */
const char *tiling_piece_offset(Emitter *e, const Tiling *t, const char *place)
{
    const Output *output = &t->step->statement->outputs[0];
    const char *sum = "";
    for (int i = 0; i < t->c->columns.count; i++) {
        const char *stride = emit_stride(e, output->tensor, output->positions, t->c->columns.list[i]);
        sum = emit_text(e, "%s%s%s * %s", sum, i ? " + " : "", column_from_first(e, t, place, i), stride);
    }
    return sum;
}

void tiling_find_pieces(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    if (!t->in_pieces)
        return;
    emit_line(e, "Piece *const pieces = (Piece *)pieces_%d;    /* where the result has each vector of columns */", t->number);
    emit_line(e, "const int is_placed = LANES == %d && width >= LANES && %s == 1;", e->plan->lanes,
              emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->columns)));
    bool stage = tiling_has_stage(t);
    if (t->may_pass)
        tiling_put(e, tiling_may_be_past(e, t));
    if (stage)
        tiling_find_stage(e, t);
    emit_line(e, "for (int64_t place = 0; is_placed && place < places + COLUMNS_%d; place += LANES) {", t->number);
    emit_line(e, "    Piece *const piece = &pieces[place / LANES];");
    emit_line(e, "    const int64_t count = size_max(size_min(columns - place, LANES), 0);");
    emit_line(e, "    const int64_t here = size_min(count, width - place %% width), behind = place + here;");
    for (int i = 0; i < 2; i++) {
        const char *place = i ? "behind" : "place", *offset = tiling_piece_offset(e, t, place);
        emit_line(e, "    piece->%s = %s%s;", i ? "rest" : "first", stage ? emit_text(e, "is_staged ? %s : ", tiling_stage_offset(e, place)) : "", offset);
    }
    emit_line(e, "    piece->here = (int)(piece->rest == piece->first + here ? count : here);");
    emit_line(e, "    piece->end = (int)count;");
    if (t->may_pass && tiling_is_lines(e, t))
        emit_line(e, "    is_past = is_past && %s;", tiling_piece_is_past(e, t));
    emit_line(e, "}");
    if (stage)
        tiling_find_runs(e, t);
}

void tiling_put(Emitter *e, const char *lines)
{
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        emit_line(e, "%s", arena_copy(e->arena, lines, length));
    }
}

/* What the columns' panels depend on, as one number: the first points of the columns' blocks, and the batch at hand, of which
 * a unit of work may have several. */
static const char *columns_at(Emitter *e, const Tiling *t)
{
    const char *text = "";
    for (int s = 0; s < 2; s++) {
        const IndexSet *set = s ? &t->c->columns : &t->c->batch;
        for (int i = 0; i < set->count; i++) {
            const char *first = e->block_first[set->list[i]->id];
            if (first && !s)
                first = emit_bound(e, set->list[i]);
            if (first && text[0])
                text = emit_text(e, "%s * %s + %s", strchr(text, ' ') ? emit_text(e, "(%s)", text) : text,
                                 emit_extent(e, set->list[i]), first);
            else if (first)
                text = first;
        }
    }
    return text[0] ? text : "0";
}

/* Columns of the last two indices together: squares reach into panels of several tiles. */
static void each_square_run(Emitter *e, const Tiling *t, const char *call)
{
    const IndexSet *columns = &t->c->columns;
    Text text = text_new(e->arena);
    text_print(&text, "for (int64_t place = 0; place < columns; place += %s * %s) {\n",
               tiling_extent_here(e, columns->list[columns->count - 2]), tiling_extent_here(e, tiling_last(columns)));
    tiling_lines(&text, "    ", tiling_columns_of(e, t, "place", call));
    tiling_lines(&text, "    ", call);
    text_put(&text, "}\n");
    tiling_put(e, text.bytes);
}

/* Runs of columns, whatever panels they are in. */
static void each_whole_run(Emitter *e, const Tiling *t, const char *call)
{
    bool single = t->c->columns.count == 1;
    const char *run = single ? "columns" : "width";
    Text text = text_new(e->arena);
    text_print(&text, "for (int64_t place = 0; place < columns; place += %s) {\n    const int count = (int)%s;\n", run, run);
    tiling_lines(&text, "    ", tiling_columns_of(e, t, "place", call));
    tiling_lines(&text, "    ", call);
    text_put(&text, "}\n");
    tiling_put(e, text.bytes);
}

/* How many points of a tile are packed before those of the next: fewer where the columns lie side by side than where a column's
 * points do, so that lines are read as they come. */
static const char *points_packed(Emitter *e, const Tiling *t)
{
    const Contract *c = t->c;
    const char *few = emit_text(e, "%d", PACKED_POINTS * c->group);
    if (c->columns_turned)
        return emit_text(e, "%d", PACKED_POINTS_TURNED);
    if (!tiling_copies_words(e, t) || c->depth.count > 1)
        return few;
    const char *step = emit_stride(e, c->right->read.tensor, c->right->read.positions, tiling_last(&c->depth));
    return emit_text(e, "(%s == 1 ? %d : %s)", step, PACKED_POINTS_TURNED, few);
}

/* Some points of all tiles after the others. Sums have starts even where there are no points. */
static void pack_some_points(Emitter *e, const Tiling *t, const char *pack)
{
    const char *points = tiling_depth_end(e, t), *some = points_packed(e, t);
    emit_line(e, "for (int64_t from_point = %s; from_point < %s; from_point += %s) {", tiling_depth_first(e, t),
              t->c->tile->has_starts ? emit_text(e, "size_max(%s, 1)", points) : points, some);
    e->scope->indent++;
    emit_line(e, "const int64_t to_point = size_min(from_point + %s, %s);", some, points);
    if (t->c->across)
        each_square_run(e, t, emit_text(e, "%s;", pack));
    else
        tiling_each_tile(e, t, tiling_each_run(e, t, emit_text(e, "%s;", pack)));
    e->scope->indent--;
    emit_line(e, "}");
}

/* Runs of columns; those that tiles meet where they are stay there. */
static void pack_whole_runs(Emitter *e, const Tiling *t, const char *pack)
{
    emit_line(e, "const int64_t from_point = %s, to_point = %s;", tiling_depth_first(e, t), tiling_depth_end(e, t));
    if (!tiling_meets_columns(e, t)) {
        each_whole_run(e, t, emit_text(e, "%s;", pack));
        return;
    }
    emit_line(e, "if (are_met) {");
    e->scope->indent++;
    tiling_each_tile(e, t, emit_text(e, "if (%s)\n    continue;\n%s", tiling_is_met(e, t), tiling_each_run(e, t, emit_text(e, "%s;", pack))));
    e->scope->indent--;
    emit_line(e, "} else {");
    e->scope->indent++;
    each_whole_run(e, t, emit_text(e, "%s;", pack));
    e->scope->indent--;
    emit_line(e, "}");
}

/* Whether numbers that the step has packed can add up to no NaN. */
void tiling_find_tame(Emitter *e, const Tiling *t, const char *to, const char *numbers, const char *runs)
{
    Component component[STATE_COMPONENTS_MAX];
    state_components(t->c->product, component);
    if (t->c->tames)
        emit_line(e, "%sall_tame_%sv(%s, %s, %s);", to, dtype_name(t->dtype), numbers, runs,
                  component[0].merge == MERGE_MAX ? "1" : "-1");
}

/* All panels, unless they are from the unit of work before. Of those that the first tile of rows packs it is noted when it has. */
void tiling_pack_all(Emitter *e, const Tiling *t, const char *pack)
{
    bool copies = tiling_copies_columns(e, t);
    if (t->c->panels_of)
        emit_line(e, "const int64_t columns_at = %s;", columns_at(e, t));
    if (copies)
        emit_line(e, "int is_new = %s;    /* some panels are not packed yet */",
                  t->c->panels_of ? emit_text(e, "are_met && *panels_of_%d != columns_at", t->number) : "are_met");
    const char *when = t->c->panels_of ? emit_text(e, "*panels_of_%d != columns_at", t->number) : NULL;
    if (tiling_has_coming(e, t)) {
        tiling_find_coming(e, t);
        when = when ? emit_text(e, "!comes && %s", when) : "!comes";
    }
    if (when) {
        emit_line(e, "if (%s) {", when);
        e->scope->indent++;
    }
    emit_line(e, "if (places > columns)    /* so that what is there is numbers */");
    emit_line(e, "    memset(panels_%d + (places - COLUMNS_%d) * %s, 0, (size_t)(COLUMNS_%d * %s) * %d);", t->number, t->number,
              tiling_panel_depth(t), t->number, tiling_panel_depth(t), (int)dtype_size(tiling_panel_dtype(t)));
    if (tiling_packs_runs(e, t))
        pack_whole_runs(e, t, pack);
    else
        pack_some_points(e, t, pack);
    if (!t->c->tile->parts && t->c->tile->words > 1)
        tiling_each_tile(e, t, emit_text(e, "memset((u32u *)panels_%d + %s * depth + words * COLUMNS_%d, 0, "
                                         "(size_t)((depth - words) * COLUMNS_%d) * 4);",
                                         t->number, tiling_tile_place(t), t->number, t->number));
    if (t->c->tile->parts)
        tiling_leave_odd(e, t);
    tiling_find_tame(e, t, emit_text(e, "*columns_tame_%d = ", t->number), emit_text(e, "panels_%d", t->number), "1, 0, places * depth");
    if (t->c->points_met.condition)
        emit_line(e, "*finite_%d = are_finite_%s(panels_%d, places * depth);", t->number, dtype_name(t->c->group > 1 ? t->c->packed : t->dtype),
                  t->number);
    if (t->c->panels_of)
        emit_line(e, "*panels_of_%d = %s;", t->number, copies ? "is_new ? -1 : columns_at" : "columns_at");
    if (when) {
        e->scope->indent--;
        emit_line(e, "}");
    }
}
