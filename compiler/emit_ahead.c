/* What is asked for while a tile multiplies, and where its results go: a share of what comes next for each tile. */
#include <string.h>

#include "emit_tiling.h"

/* Where a block of tiles of rows begins and ends. */
const char *tiling_block_start(Emitter *e, const Tiling *t)
{
    return emit_text(e, "%s_block", t->names[tiling_last(&t->c->rows)->id]);
}

const char *tiling_block_stop(Emitter *e, const Tiling *t)
{
    return emit_text(e, "%s_stop", t->names[tiling_last(&t->c->rows)->id]);
}

/* What packed rows are made of where that is one array's numbers; NULL: rows are in place, or made of more. */
static const Term *source_of_rows(Emitter *e, const Tiling *t)
{
    const Term *source = t->c->left;
    while (source->kind == TERM_MAP && source->map.count == 1)
        source = source->map.arguments[0];
    return !t->c->in_place && !t->c->window && tiling_reads_safely(e, source) ? source : NULL;
}

/* Where the rows after a tile's own begin: those to be packed where they are from. What streams asks for more while it
 * multiplies. */
static const char *next_rows(Emitter *e, const Tiling *t, const char *row)
{
    const Term *source = source_of_rows(e, t);
    const char *further = tiling_asks_further(t) ? "height" : emit_text(e, "(tiles < %d ? 2 : 1) * height", PANELS_FEW);
    if (!source)
        return emit_text(e, "rows + %s * row_step", further);
    emit_push(e);
    emit_bind(e, tiling_last(&t->c->rows), emit_text(e, "(%s + %s)", row, further));
    for (int i = 0; i < t->c->depth.count; i++)
        emit_bind(e, t->c->depth.list[i], i == 0 ? tiling_depth_first(e, t) : "0");
    const char *pointer = emit_pointer(e, source);
    emit_pop(e);
    return pointer;
}

const char *tiling_target_at(Emitter *e, const Tiling *t, const char *place)
{
    const Index *row = tiling_last(&t->c->rows);
    emit_push(e);
    for (int i = 0; i < t->c->columns.count; i++)
        emit_bind(e, t->c->columns.list[i], place ? emit_text(e, "(%s)", tiling_column_at(e, t, place, i))
                                                  : tiling_first(e, t->c->columns.list[i]));
    emit_bind(e, row, t->names[row->id]);
    e->lanes = false;
    const char *target = emit_target(e, &t->step->statement->outputs[0]);
    e->lanes = true;
    emit_pop(e);
    return target;
}

/* Whether an array is one that a unit of work stores for itself, which is near without being asked for. */
static bool is_own(const Emitter *e, const Tensor *tensor)
{
    return e->plan->storage[tensor->home->id].place == PLACE_BLOCK;
}

/* Whether what is stored is asked for before: a sweep stores sums of many more points than it has. */
bool tiling_asks_result(const Emitter *e, const Tiling *t)
{
    return !t->c->reduces && !t->c->sweep && !is_own(e, t->step->statement->outputs[0].tensor);
}

/* Whether a tile's sums go past the caches: lines of the result, of few points each. */
static void find_past(Emitter *e, const Tiling *t, Text *text)
{
    const char *may = t->in_pieces ? "placed && is_past" : emit_text(e, "f->past_%d && result", t->step->id + 1);
    if (t->may_pass)
        text_print(text, "const int past = %s && %s%s;\n", may, tiling_lines_begin(e, t, "result", "result_step"),
                   tiling_pairs_rows(t) ? " && height % 2 == 0" : "");
}

/* Where a tile's sums go after the last point: into the result, where that takes all of its columns side by side or in
 * pieces, else what is kept of them. */
const char *tiling_find_target(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    const char *place = tiling_tile_place(t), *type = emit_element(t->dtype);
    const char *row = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows));
    const char *column = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->columns));
    const char *high = t->c->tile->least_rows > 1 ? emit_text(e, "height >= %d && ", t->c->tile->least_rows) : "";
    Text text = text_new(e->arena);
    text_print(&text, "const int64_t result_step = %s;\n", row);
    high = t->guess ? emit_text(e, "!guessed && %s", high) : high;
    if (t->step->result && tiling_has_registers(t))    /* what passes the caches goes there from memory */
        high = emit_text(e, "!f->past_%d && %s", t->step->id + 1, high);
    if (!t->in_pieces) {
        text_print(&text, "%s *result = NULL;\nif (is_last && %s%s%s == 1 && columns - %s >= COLUMNS_%d)\n    result = %s;\n", type,
                   tiling_where(t) ? "is_whole && " : "", high, column, place, t->number, tiling_target_at(e, t, place));
        find_past(e, t, &text);
        return text.bytes;
    }
    text_print(&text, "const Piece *placed = is_placed && is_last ? &pieces[tile_place / LANES] : NULL;\n");
    const char *target = tiling_target_at(e, t, NULL), *last = t->names[tiling_last(&t->c->rows)->id];
    if (tiling_has_stage(t))
        text_print(&text, "%s *result = is_staged ? stage + (%s - %s) * width : %s;\n", type, last, tiling_block_start(e, t), target);
    else
        text_print(&text, "%s *result = %s;\n", type, target);
    find_past(e, t, &text);
    if (!tiling_asks_result(e, t))
        return text.bytes;
    text_print(&text, "if (nears && is_placed%s)\n", t->may_pass ? " && !past" : "");
    text_print(&text, "    ahead = (const char *)(result + pieces[tile_place / LANES + VECTORS_%d].first);\n", t->number);
    return text.bytes;
}

/* Of few points the result takes longest: that of the next tile comes nearer. */
const char *tiling_near_target(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank && !t->in_pieces; a++)
        if (position_has_gather(&output->positions[a]))
            return "";
    return t->in_pieces ? "" : emit_text(e, "if (nears%s)\n    ahead = (const char *)(%s);\n", t->may_pass ? " && !past" : "",
                     tiling_target_at(e, t, emit_text(e, "(%s + COLUMNS_%d)", tiling_tile_place(t), t->number)));
}

/* Whether panels are not near, so that the next one has to be asked for. */
const char *tiling_panels_are_far(Emitter *e, const Tiling *t)
{
    if (t->c->close && tiling_has_registers(t))
        return emit_text(e, "block > CLOSE_BLOCK_%d", t->number);
    return t->c->close && !tiling_packs_tiles(t) ? emit_text(e, "depth * places > NEAR_%d", t->number) : "block > 1";
}

/* Whether the next panel is asked for. Where many of its words are taken at once it comes by itself. */
bool tiling_asks_panels(const Tiling *t)
{
    return t->c->deep_block == 0 && !t->c->columns_unasked && !tiling_asks_next(t);
}

/* Whether rows of tiles in registers are asked for by pages: nothing else may be. */
bool tiling_comes_by_pages(const Emitter *e, const Tiling *t)
{
    return t->runs && e->plan->target->by_pages && !tiling_asks_panels(t);
}

/* How many numbers an operand has: the extents of its indices. */
static const char *numbers_of(Emitter *e, const Contract *c, const Term *side)
{
    const IndexSet *sets[] = { &c->batch, &c->kept_rows, &c->rows, &c->columns, &c->depth };
    const char *numbers = "";
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < sets[s]->count; i++)
            if (term_has_index(side, sets[s]->list[i]))
                numbers = emit_text(e, "%s%s%s", numbers, numbers[0] ? " * " : "", emit_extent(e, sets[s]->list[i]));
    return numbers;
}

/* How rows that are read in place compare with so many bytes, all of them; NULL: they are the step's own, or packed. */
static const char *rows_in_place(Emitter *e, const Tiling *t, const char *compares, int bytes)
{
    const Contract *c = t->c;
    if (!c->in_place || is_own(e, c->left->read.tensor))
        return NULL;
    return emit_text(e, "%s %s %d", numbers_of(e, c, c->left), compares, bytes / (int)dtype_size(c->packed));
}

/* Whether rows are asked for. Registers of tiles load so much that nothing is to be asked for that comes by itself. */
static const char *asks_rows(Emitter *e, const Tiling *t)
{
    const char *far = rows_in_place(e, t, ">", e->plan->target->l2_bytes / 4 * 3);
    return !tiling_has_registers(t) ? "" : far ? emit_text(e, "%s && ", far) : "0 && ";
}

/* What a tile's products bring nearer, and how much of it for each word. */
void tiling_find_ahead(Emitter *e, const Tiling *t, const char *row)
{
    int n = t->number, size = (int)dtype_size(t->dtype);
    bool along = tiling_packs_tiles(t), stores = tiling_asks_result(e, t);
    const Output *output = &t->step->statement->outputs[0];
    const char *apart = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows));
    emit_line(e, "/* What comes nearer: %s%s; a share for each tile.%s */",
              tiling_asks_panels(t) ? "the next panel where not all of them are near, else " : "",
              along ? "points to come or the next one" : "the next rows",
              stores ? " Of few points what is written takes longest." : "");
    const Term *source = source_of_rows(e, t);
    int bytes = source ? t->c->group * (int)dtype_size(source->read.tensor->dtype) : size;
    const char *next = !along ? emit_text(e, "(const char *)(%s)", next_rows(e, t, row)) : t->may_pass ? "(const char *)rows" : "NULL";
    if (tiling_comes_by_pages(e, t)) {    /* where rows, of words of 4 bytes, follow each other */
        emit_line(e, "const int by_pages = follows && row_step * %d == depth * 4;", (int)dtype_size(t->c->packed));
        next = emit_text(e, "by_pages ? (const char *)rows + PAGES_BYTES : %s", next);
    }
    emit_line(e, "const char *ahead = %s;", next);
    if (stores || t->may_pass)
        emit_line(e, "const int writes = depth < size_min(places, ROWS_%d * BLOCK_%d);", n, n);
    if (t->may_pass)
        emit_line(e, "const int passes = writes && %s%s%s;",
                  tiling_has_stage(t) ? "(is_staged || (is_past && " : t->in_pieces ? "is_past && " : emit_text(e, "f->past_%d && ", t->step->id + 1),
                  tiling_lines_begin(e, t, emit_text(e, "(%s)", tiling_target_at(e, t, NULL)), apart),
                  tiling_has_stage(t) ? "))" : "");
    if (stores)    /* rows that are apart are few; so many points would ask for more than is written */
        emit_line(e, "const int nears = writes && %s(%s < COLUMNS_%d || depth <= 2 * ROWS_%d);",
                  t->may_pass ? "!passes && " : t->step->result && tiling_has_registers(t) ? emit_text(e, "!f->past_%d && ", t->step->id + 1) : "",
                  apart, n, n);
    emit_line(e, "const int64_t %s =", tiling_brings_rows(t) ? "panel_ahead" : "ahead_step");
    const char *near = along || t->c->rows_apart ? NULL : rows_in_place(e, t, "<=", 4 * e->plan->target->l2_bytes);
    if (t->may_pass)    /* what would wait for what goes, unless it comes from memory */
        emit_line(e, "    passes%s ? 0 :", near ? emit_text(e, " && %s", near) : "");
    if (stores)
        emit_line(e, "    nears ? (%s < COLUMNS_%d ? %d : %s * %d) :", apart, n, CONTRACT_LINE, apart,
                  (int)dtype_size(output->tensor->dtype));
    /* Of low blocks each tile has twice the share; more is in the way of the products. */
    if (tiling_asks_panels(t))
        emit_line(e, "    %s ? COLUMNS_%d * %d / (2 * (%s - %s) > BLOCK_%d * ROWS_%d ? BLOCK_%d : (BLOCK_%d + 1) / 2) :", tiling_panels_are_far(e, t),
                  n, size, tiling_block_stop(e, t), tiling_block_start(e, t), n, n, n, n);
    else
        emit_line(e, "    %s ? 0 :", tiling_panels_are_far(e, t));
    if (tiling_brings_rows(t))
        emit_line(e, "    COLUMNS_%d * %d;", n, size);
    else if (along)
        emit_line(e, "    (k_apart ? k_apart : (int64_t)COLUMNS_%d) * %d;", n, size);
    else
        emit_line(e, t->c->rows_apart || t->c->window ? "    0;" : "    %sk_step == %d ? size_ceil_div(%s * %d, tiles) : 0;", asks_rows(e, t),
                  t->c->group, t->may_pass && t->c->close ? emit_text(e, "size_min(height, ROWS_%d)", n) : "height", bytes);
}

/* A side's numbers for the next sweep: where they begin, and how many bytes they take, if a unit of work has nearly all that lies there. */
static const char *next_range(Emitter *e, const Tiling *t, const Term *read)
{
    const Contract *c = t->c;
    const IndexSet *sets[] = { &c->kept_rows, &c->rows, &c->columns, &c->depth };
    const Index *outer = c->depth.list[0];
    int size = (int)dtype_size(read->read.tensor->dtype);
    const char *own = emit_text(e, "%d", size);
    emit_push(e);
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < sets[s]->count; i++) {
            const Index *index = sets[s]->list[i];
            emit_bind(e, index, index == outer ? "sweep_to" : tiling_first(e, index));
            if (index != outer && term_has_index(read, index))
                own = emit_text(e, "%s * %s", tiling_extent_here(e, index), own);
        }
    const char *pointer = emit_pointer(e, read), *apart = emit_stride(e, read->read.tensor, read->read.positions, outer);
    emit_pop(e);
    return emit_text(e, "%s, without_gaps(%s * %d, %s) * (sweep_to - sweep_from)", pointer, apart, size, own);
}

/* Of what all tiles' points ask for while a sweep is multiplied. */
void tiling_find_following(Emitter *e, const Tiling *t)
{
    const IndexSet *rows = &t->c->rows, *kept = &t->c->kept_rows;
    const char *met = emit_text(e, "tiles * depth * size_ceil_div(%s, ROWS_%d)", tiling_extent_here(e, tiling_last(rows)), t->number);
    for (int i = 0; i < kept->count; i++)
        met = emit_text(e, "%s * %s", met, tiling_extent_here(e, kept->list[i]));
    for (int i = 0; i < rows->count - 1; i++)
        met = emit_text(e, "%s * %s", met, tiling_extent_here(e, rows->list[i]));
    emit_line(e, "/* Beside the products comes what the next sweep reads, rows%s, as they lie in memory. */", t->c->next_read[1] ? " and columns" : "");
    emit_line(e, "Following next_sweep = follow(%s,", next_range(e, t, t->c->next_read[0]));
    emit_line(e, "        %s,", t->c->next_read[1] ? next_range(e, t, t->c->next_read[1]) : "NULL, 0");
    emit_line(e, "        %s);", met);
}

/* A sweep's sums are those of all tiles of a unit of work, which come from afar. Where what comes from memory has to be asked for, so has
 * what a tile's sums will be stored to. */
const char *tiling_ask_kept(Emitter *e, const Tiling *t)
{
    const int numbers = CONTRACT_LINE / (int)dtype_size(t->dtype);
    if (t->c->sweep)
        return t->c->columns_unasked || tiling_asks_next(t) ? "" : emit_text(e, "for (int at = 0; at < height * COLUMNS_%d; at += %d)    /* the next tile's sums */\n"
                                                         "    PREFETCH_FAR(kept + ROWS_%d * COLUMNS_%d + at);\n", t->number, numbers, t->number, t->number);
    const Target *target = e->plan->target;
    if (!target->by_pages || !tiling_asks_result(e, t) || tiling_has_registers(t) || t->in_pieces || !t->is_stored || tiling_where(t))
        return "";
    return emit_text(e, "for (int r = 0; result && !writes%s && r < height; r++)    /* where sums go */\n"
                     "    for (int at = 0; at < COLUMNS_%d; at += %d)\n        PREFETCH_FAR(result + r * result_step + at);\n",
                     t->may_pass ? " && !past" : "", t->number, CONTRACT_LINE / (int)dtype_size(t->step->statement->outputs[0].tensor->dtype));
}
