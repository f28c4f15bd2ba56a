/* Runs of columns that lie in memory as tiles want them, and come from there: packed as they lie, or, where so few rows meet them
 * that packing them would take longer than their products, read by tiles where they are. */
#include <string.h>

#include "emit_tiling.h"

enum {
    RUN_AHEAD = 4096              /* bytes that are asked for before they are packed */
};

const Term *tiling_columns_read(const Tiling *t)
{
    return t->c->widened ? t->c->widened : t->c->right;
}

/* Where a point is in a panel. */
static const char *packed_point(Emitter *e, const Tiling *t)
{
    const char *point = "", *first = tiling_depth_first(e, t);
    for (int i = 0; i < t->c->depth.count; i++) {
        const char *own = t->names[t->c->depth.list[i]->id];
        if (i == 0)
            point = strcmp(first, "0") ? emit_text(e, "(%s - %s)", own, first) : own;
        else
            point = emit_text(e, "(%s * %s + %s)", point, emit_extent(e, t->c->depth.list[i]), own);
    }
    return point;
}

/* A vector of a run of columns goes to its panel, and what is read soon is asked for. Of a whole one the number of lanes is a
 * constant. */
static Scope *vector_of_run(Emitter *e, Tiling *t, bool whole)
{
    const Index *column = tiling_last(&t->c->columns), *far = t->c->points_read.list[0];
    const char *name = t->names[column->id], *at = emit_name(e, emit_text(e, "%s_lanes", name));
    Scope *body = emit_push(e);
    body->count = whole ? "LANES" : "lanes";
    emit_bind(e, column, at);
    emit_line(e, "const int64_t %s = %s + c, column = (place + c) %% COLUMNS_%d;", at, name, t->number);
    if (!whole)
        emit_line(e, "lanes = (int)size_min(LANES, size_min(count - c, COLUMNS_%d - column));", t->number);
    emit_push(e);
    emit_bind(e, far, emit_text(e, "(%s + soon)", t->names[far->id]));
    const char *next = emit_pointer(e, tiling_columns_read(t));
    emit_pop(e);
    emit_line(e, "PREFETCH_FAR(%s);", next);
    emit_line(e, "store_%sv(panels_%d + (place + c - column) * depth + %s * COLUMNS_%d + column, 1, %s, %s);",
              dtype_name(tiling_panel_dtype(t)), t->number, packed_point(e, t), t->number,
              emit_bare(e, emit_varying(e, tiling_columns_read(t))), body->count);
    return emit_pop(e);
}

/* One point of a run of columns: vectors that are whole in the run and in their panels, and the others. */
static void pack_run_of_point(Emitter *e, Tiling *t)
{
    const Scope *whole = vector_of_run(e, t, true), *rest = vector_of_run(e, t, false);
    emit_line(e, "int c = 0;");
    emit_line(e, "for (; place %% LANES == 0 && c + LANES <= count; c += LANES) {");
    emit_body(e, whole);
    emit_line(e, "}");
    emit_line(e, "for (int lanes; c < count; c += lanes) {");
    emit_body(e, rest);
    emit_line(e, "}");
}

static void points_loops(Emitter *e, Tiling *t, int level)
{
    if (level == t->c->points_read.count) {
        pack_run_of_point(e, t);
        return;
    }
    const Index *index = t->c->points_read.list[level];
    bool outer = index == t->c->depth.list[0];
    const char *name = t->names[index->id];
    Scope *body = emit_push(e);
    emit_bind(e, index, name);
    points_loops(e, t, level + 1);
    emit_pop(e);
    const char *end = outer ? "to_point" : emit_extent(e, index);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, outer ? "from_point" : "0", name, end, name);
    emit_body(e, body);
    emit_line(e, "}");
}

/* A run of columns as it lies in memory, all of a point's before the next one's. What is some kilobytes behind is asked for. */
const char *tiling_pack_runs(Emitter *e, Tiling *t)
{
    const IndexSet *points = &t->c->points_read;
    tiling_open(e, t, tiling_last(&t->c->columns));
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->columns, t->c->columns.count - 1);
    const char *inner = "count";
    for (int i = 1; i < points->count; i++) {
        bool outer = points->list[i] == t->c->depth.list[0];
        inner = emit_text(e, "%s * %s", inner, outer ? "(to_point - from_point)" : emit_extent(e, points->list[i]));
    }
    emit_line(e, "const int64_t soon = 1 + %d / size_max(%s, 1);    /* points */", RUN_AHEAD / (int)dtype_size(t->c->packed), inner);
    points_loops(e, t, 0);
    return tiling_close(e);
}

Dtype tiling_panel_dtype(const Tiling *t)
{
    return t->c->widened ? t->c->widened->dtype : t->dtype;
}

bool tiling_meets_columns(Emitter *e, const Tiling *t)
{
    return t->c->columns_in_place && tiling_packs_runs(e, t);
}

static const char *column_stride(Emitter *e, const Tiling *t, const Index *index)
{
    return emit_stride(e, tiling_columns_read(t)->read.tensor, tiling_columns_read(t)->read.positions, index);
}

bool tiling_copies_columns(Emitter *e, const Tiling *t)
{
    return tiling_meets_columns(e, t) && t->c->columns_copied;
}

/* The two of a tile may be of two runs. */
static bool are_vectors_apart(const Tiling *t)
{
    return t->c->columns.count > 1 && t->c->tile_vectors > 1;
}

/* How far the next unit's columns are behind this one's: those of the next block of an index, where the blocks of all inside of it
 * end, which begin again. */
static const char *next_unit(Emitter *e, const Tiling *t)
{
    const IndexSet *sets[] = { &t->c->batch, &t->c->columns };
    const char *behind = "0";
    IndexSet blocked = { NULL, 0 };
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sets[s]->count; i++)
            if (e->block_first[sets[s]->list[i]->id])
                ARENA_APPEND(e->arena, blocked.list, blocked.count, sets[s]->list[i]);
    for (int i = 0; i < blocked.count; i++) {
        const Index *index = blocked.list[i];
        const char *end = tiling_end(e, index), *extent = emit_extent(e, index);
        Text next = text_new(e->arena);
        text_print(&next, "%s * %s", tiling_extent_here(e, index), column_stride(e, t, index));
        for (int j = i + 1; j < blocked.count; j++)
            text_print(&next, " - %s * %s", tiling_first(e, blocked.list[j]), column_stride(e, t, blocked.list[j]));
        behind = emit_text(e, "%s < %s ? %s : %s", end, extent, next.bytes, behind);
    }
    return behind;
}

/* How far the columns that come next are behind these: of the next point of the batch, or one thread's next unit's. */
static void find_further(Emitter *e, const Tiling *t)
{
    const char *unit = next_unit(e, t);
    emit_line(e, "const int64_t next_unit = f->host && f->host->workers > 1 ? 0 : %s;", unit);
    if (t->c->batch.count == 0) {
        emit_line(e, "const int64_t further = next_unit;    /* are the columns that come next */");
        return;
    }
    const Index *index = tiling_last(&t->c->batch);
    const char *name = t->names[index->id], *step = column_stride(e, t, index), *first = tiling_first(e, index);
    emit_line(e, "const int64_t further =    /* are the columns that come next */");
    emit_line(e, "    %s + 1 < %s ? %s : next_unit ? next_unit - (%s - %s) * %s : 0;", name, tiling_end(e, index), step, name, first, step);
}

/* Lines that are a multiple of a large power of 2 apart push each other out of a cache. */
void tiling_find_columns(Emitter *e, const Tiling *t)
{
    const char *apart = column_stride(e, t, t->c->depth.list[0]), *whole = t->c->columns.count > 1 ? " && width % LANES == 0" : "";
    const char *spread = t->c->sweep ? "" : emit_text(e, " && (apart & -apart) * depth <= %d", t->c->met_words);
    emit_line(e, "/* Whole vectors of a run are met where they are%s. */", t->c->sweep ? "" : ", unless their points, `apart`, fall into few sets of the cache");
    emit_line(e, "const int64_t apart = %s;", apart);
    if (!t->c->columns_unasked)
        find_further(e, t);
    emit_line(e, "const int are_met = LANES == %d && %s == 1%s%s;", e->plan->lanes, column_stride(e, t, tiling_last(&t->c->columns)), spread, whole);
}

const char *tiling_is_met(Emitter *e, const Tiling *t)
{
    return emit_text(e, "are_met && %s + COLUMNS_%d <= columns", tiling_tile_place(t), t->number);
}

/* Where the columns at a place have their first point. */
static const char *columns_at(Emitter *e, const Tiling *t, const char *place)
{
    emit_push(e);
    for (int i = 0; i < t->c->batch.count; i++)
        emit_bind(e, t->c->batch.list[i], t->names[t->c->batch.list[i]->id]);
    for (int i = 0; i < t->c->columns.count; i++)
        emit_bind(e, t->c->columns.list[i], emit_text(e, "(%s)", tiling_column_at(e, t, place, i)));
    emit_bind(e, t->c->depth.list[0], tiling_depth_first(e, t));
    const char *pointer = emit_pointer(e, tiling_columns_read(t));
    emit_pop(e);
    return pointer;
}

const char *tiling_panel_lines(Emitter *e, const Tiling *t)
{
    const char *place = tiling_tile_place(t), *type = emit_element(tiling_columns_read(t)->dtype);
    const char *lines = emit_text(e, "const int is_met = %s;\nconst %s *there = %s;    /* the tile's columns in memory */\n",
                                  tiling_is_met(e, t), type, columns_at(e, t, place));
    if (!are_vectors_apart(t))
        return lines;
    return emit_text(e, "%sconst int64_t there_apart = %s - there;\n", lines, columns_at(e, t, emit_text(e, "(%s + LANES)", place)));
}

bool tiling_asks_in_order(Emitter *e, const Tiling *t)
{
    return t->c->columns_asked.count && tiling_meets_columns(e, t);
}

/* Those are the next points of these columns, or the first of those that come next; where a first tile packs columns, all of theirs. */
void tiling_find_asked(Emitter *e, const Tiling *t)
{
    const IndexSet *asked = &t->c->columns_asked;
    const Index *inner = tiling_last(&t->c->columns);
    int size = (int)dtype_size(tiling_panel_dtype(t));
    bool copies = tiling_copies_columns(e, t);
    Text levels = text_new(e->arena);
    for (int i = 0; i < asked->count; i++) {
        const Index *index = asked->list[i];
        bool is_point = index == t->c->depth.list[0];
        const char *step = is_point ? "apart" : column_stride(e, t, index), *here = is_point ? copies ? "depth" : "points" : tiling_extent_here(e, index);
        if (index != inner)
            text_print(&levels, "%s{ %s, %s * %d }", levels.length ? ", " : "", here, step, size);
    }
    const char *when = copies ? "is_new && done == 0 && further" : "are_met && (!is_last || further)";
    const char *next = t->c->sweep ? "further - sweep_from * apart" : "further";
    const char *from = copies ? "further" : emit_text(e, "(is_last ? %s : (done + points) * apart)", next);
    emit_line(e, "if (%s) {", when);
    emit_line(e, "    const int64_t levels[][2] = { %s };    /* points, and how far apart */", levels.bytes);
    emit_line(e, "    next_lines = ask_for(%s + %s, %s * %d, levels, %d);", columns_at(e, t, "0"), from, tiling_extent_here(e, inner), size,
              asked->count - 1);
    emit_line(e, "}");
}

bool tiling_has_coming(Emitter *e, const Tiling *t)
{
    return t->c->rows_stay && tiling_meets_columns(e, t) && !tiling_has_stage(t);
}

void tiling_declare_coming(Emitter *e, const Tiling *t)
{
    int n = t->number;
    emit_line(e, "/* Columns of the batch's next point are packed beside this one's products, each of their points in one run. */");
    emit_line(e, "Coming next_columns = begin_coming(NULL, NULL, 1, 0, 0, 0);");
    emit_line(e, "%s *columns_here = panels_%d, *columns_next = coming_%d;", dtype_c(t->dtype), n, n);
}

/* Of the batch's point at hand: what no tile has packed yet; and begins the next one's. */
void tiling_find_coming(Emitter *e, const Tiling *t)
{
    const Index *index = tiling_last(&t->c->batch);
    const char *name = t->names[index->id], *step = column_stride(e, t, index), *size = emit_text(e, "%d", (int)dtype_size(t->dtype));
    const char *whole = t->c->columns.count > 1 ? " && width == columns" : "";
    emit_line(e, "const int comes = LANES == %d && !are_met && %s == 1 && columns %% COLUMNS_%d == 0%s;", e->plan->lanes,
              column_stride(e, t, tiling_last(&t->c->columns)), t->number, whole);
    emit_line(e, "if (comes) {");
    emit_line(e, "    const %s *first = %s;", emit_element(tiling_columns_read(t)->dtype), columns_at(e, t, "0"));
    emit_line(e, "    const int64_t run = columns * %s, soon = depth * LANES * %s;", size, size);
    emit_line(e, "    if (!next_columns.to)");
    emit_line(e, "        next_columns = begin_coming(first, columns_next, run, apart * %s, depth, soon);", size);
    emit_line(e, "    end_coming(&next_columns);");
    emit_line(e, "    %s *const packed = columns_next;", dtype_c(t->dtype));
    emit_line(e, "    columns_next = columns_here;");
    emit_line(e, "    columns_here = packed;");
    emit_line(e, "    const int goes_on = %s + 1 < %s;", name, tiling_end(e, index));
    emit_line(e, "    next_columns = begin_coming(first + (goes_on ? %s : 0), goes_on ? columns_next : NULL, run, apart * %s, goes_on ? depth : 0, soon);",
              step, size);
    if (t->c->panels_of)
        emit_line(e, "    *panels_of_%d = -1;", t->number);
    emit_line(e, "}");
}

const char *tiling_coming_start(Emitter *e, const Tiling *t)
{
    return !tiling_has_coming(e, t) ? "" :
           emit_text(e, "    const char *from = beside->from;\n    char *to = beside->to;\n    const int64_t vectors = beside->rest / (LANES * %d), "
                     "run = beside->run, gap = beside->apart - run;\n    int64_t left = beside->left;\n", (int)dtype_size(t->dtype));
}

const char *tiling_coming_lines(Emitter *e, const Tiling *t)
{
    const char *dtype = dtype_name(t->dtype);
    int size = (int)dtype_size(t->dtype);
    return emit_text(e, "if (k < vectors) {\n    PREFETCH(from + beside->soon);\n"
                     "    store_%sv((%su *)to, 1, load_%sv((const %su *)from, 1, LANES), LANES);\n"
                     "    to += LANES * %d;\n    from += LANES * %d;\n    left -= LANES * %d;\n"
                     "    if (left == 0) {\n        left = run;\n        from += gap;\n    }\n} else {\n    PREFETCH(ahead);\n}\n",
                     dtype, dtype, dtype, dtype, size, size, size);
}

const char *tiling_went_on(Emitter *e, const Tiling *t)
{
    return emit_text(e, "%s%s", tiling_has_coming(e, t) ? emit_text(e, "go_on_coming(&next_columns, points * LANES * %d);\n", (int)dtype_size(t->dtype)) : "",
                     !tiling_asks_in_order(e, t) ? "" : emit_text(e, "if (asks)\n    go_on_asked(&next_lines, points%s);\n",
                                                                  t->c->asked_lines > 1 ? emit_text(e, " * %d", t->c->asked_lines) : ""));
}

/* At each point. */
const char *tiling_next_asked(Emitter *e, const Tiling *t)
{
    Text text = text_new(e->arena);
    for (int i = 0; i < t->c->asked_lines && tiling_asks_in_order(e, t); i++)
        text_print(&text, "%s        turn_asked(asked, &ahead, &runs_left, &lines_left);\n", i ? "        PREFETCH(ahead);\n        ahead += ahead_step;\n" : "");
    return text.length ? text.bytes : "";
}

/* A line of each of their points with each tile of rows. */
const char *tiling_ask_columns(Emitter *e, const Tiling *t)
{
    int n = t->number, lines = CONTRACT_LINE / (int)dtype_size(t->dtype);
    const Index *row = tiling_last(&t->c->rows);
    const char *name = t->names[row->id], *type = emit_element(tiling_columns_read(t)->dtype);
    const char *line = emit_text(e, "(%s - %s) / ROWS_%d * %d", name, tiling_first(e, row), n, lines);
    const char *at = !are_vectors_apart(t) ? "line" : "line / LANES * there_apart + line % LANES", *met = "is_met";
    Text text = text_new(e->arena);
    if (tiling_copies_columns(e, t)) {
        met = "copies";
        text_print(&text, "const int copies = is_met && is_new && %s == %s;\n", name, tiling_block_start(e, t));
    }
    const char *coming = "", *coming_step = "";
    if (tiling_has_coming(e, t)) {
        coming = emit_text(e, "comes ? (const %s *)columns_here + done * columns + %s\n        : ", type, tiling_tile_place(t));
        coming_step = "comes ? columns : ";
        text_put(&text, "const Coming *beside = &next_columns;\n");
    }
    text_print(&text, "const %s *panel = %s ? there + done * apart : %s(const %s *)panels_%d + %s * depth + done * COLUMNS_%d;\n", type, met, coming,
               type, n, tiling_tile_place(t), n);
    text_print(&text, "const int64_t panel_step = %s ? apart : %s(int64_t)COLUMNS_%d;\n", met, coming_step, n);
    if (are_vectors_apart(t))
        text_print(&text, "const int64_t panel_apart = %s ? there_apart : LANES;\n", met);
    if (tiling_copies_columns(e, t))
        text_print(&text, "%s *copy = copies ? panels_%d + %s * depth + done * COLUMNS_%d : NULL;\n", dtype_c(t->dtype), n, tiling_tile_place(t), n);
    if (tiling_asks_in_order(e, t)) {
        text_put(&text, "const Asked *asked = &next_lines;\nconst int asks = asked->turns > 0;\nconst char *coming = asks ? asked->at : ahead;\n");
        return text.bytes;
    }
    if (t->c->columns_unasked)
        return text.bytes;
    text_print(&text, "const int64_t line = %s;    /* of each point of the columns that come next, with this tile of rows */\n"
               "const int asks = is_met && further && line < COLUMNS_%d;\n"
               "const char *coming = asks ? (const char *)(there + further + done * apart + %s) : ahead;\n", line, n, at);
    return text.bytes;
}

const char *tiling_panel_parameters(Emitter *e, const Tiling *t)
{
    return !tiling_meets_columns(e, t) ? "" : emit_text(e, "int64_t panel_step, %s%s%s%s", are_vectors_apart(t) ? "int64_t panel_apart, " : "",
                                                        tiling_has_coming(e, t) ? "const Coming *beside, " : "",
                                                        tiling_copies_columns(e, t) ? emit_text(e, "%s *copy, ", dtype_c(t->dtype)) : "",
                                                        tiling_asks_in_order(e, t) ? "const Asked *asked, " : "");
}

const char *tiling_panel_arguments(Emitter *e, const Tiling *t, bool packs)
{
    const char *more = tiling_copies_columns(e, t) ? packs ? "copy, " : "NULL, " : tiling_has_coming(e, t) ? packs ? "beside, " : "&nothing, " : "";
    return !tiling_meets_columns(e, t) ? "" : emit_text(e, "panel_step, %s%s%s", are_vectors_apart(t) ? "panel_apart, " : "", more,
                                                        tiling_asks_in_order(e, t) ? "asked, " : "");
}

const char *tiling_panel_comment(Emitter *e, const Tiling *t)
{
    return emit_text(e, "/* A panel's points are panel_step apart%s.%s */\n", are_vectors_apart(t) ? ", its vectors panel_apart" : "",
                     tiling_copies_columns(e, t) ? " Into `copy`, if it is none, they go side by side."
                     : tiling_has_coming(e, t) ? " What is `beside` is packed, a vector at each point." : "");
}

const char *tiling_column_lines(Emitter *e, const Tiling *t)
{
    const Dtype panel = tiling_panel_dtype(t);
    const char *dtype = dtype_name(t->dtype), *apart = are_vectors_apart(t) ? "panel_apart" : "LANES";
    const char *vector = emit_text(e, "load_%sv(panel + v * %s, 1, LANES)", dtype_name(panel), apart);
    if (register_dtype(panel) != t->dtype)
        vector = emit_text(e, "to_%s_%sv(%s)", dtype, dtype_name(register_dtype(panel)), vector);
    bool copies = tiling_copies_columns(e, t);
    const char *copy = !copies ? "" : emit_text(e, "            if (copy)\n                store_%sv(copy + k * COLUMNS_%d + v * LANES, 1, right[v], LANES);\n"
                                                "        }\n", dtype, t->number);
    return emit_text(e, "        for (int v = 0; v < VECTORS_%d; v++)%s\n            right[v] = %s;\n%s", t->number, copies ? " {" : "", vector, copy);
}
