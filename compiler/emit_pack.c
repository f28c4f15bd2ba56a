/* Packing: a unit of work's columns into panels, and rows where they cannot be read in place. */
#include <string.h>

#include "emit_tiling.h"
#include "turn.h"

enum { ROWS_AHEAD = 16, RUNS_AHEAD = 2 };    /* points of a contracted index whose numbers are asked for before they are packed */

/* How many words the points along one of the contracted indices make. */
const char *tiling_words_along(Emitter *e, const Tiling *t, int level)
{
    const char *extent = tiling_extent_here(e, t->c->depth.list[level]);
    bool words = level == t->c->depth.count - 1 && t->c->group > 1;
    return words ? emit_text(e, "size_ceil_div(%s, %d)", extent, t->c->group) : extent;
}

/* Whether a side's numbers can be copied from where they are, with no look at each. */
bool tiling_reads_safely(Emitter *e, const Term *side)
{
    for (int a = 0; a < (side->kind == TERM_READ ? side->read.tensor->rank : 0); a++)
        if (emit_is_unsafe(e, side, a) || position_has_gather(&side->read.positions[a]))
            return false;
    return side->kind == TERM_READ;
}

/* One word of each lane's column: as it lies in memory, or of its points, with zeros past the last. */
static void pack_column_words(Emitter *e, Tiling *t)
{
    const Contract *c = t->c;
    const Index *point = tiling_last(&c->depth);
    const char *name = t->names[point->id], *extent = tiling_end(e, point), *packed = dtype_name(c->packed);
    emit_line(e, "u32v words = splat_u32v(0);");
    if (c->tile->has_starts && tiling_reads_safely(e, c->right)) {
        Scope *scope = emit_push(e);
        scope->indent--;
        emit_bind(e, point, name);
        const char *k_step = emit_stride(e, c->right->read.tensor, c->right->read.positions, point);
        const char *step = emit_stride(e, c->right->read.tensor, c->right->read.positions, tiling_last(&c->columns));
        emit_line(e, "if (%s == 1 && %s + %d <= %s)", k_step, name, c->group, extent);
        emit_line(e, "    words = load_words(%s, %d * (%s), lanes);", emit_pointer(e, c->right), (int)dtype_size(c->packed), step);
        emit_line(e, "else");
        emit_pop(e);
        emit_body(e, scope);
    }
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, point, at);
    const char *value = emit_varying(e, c->right);
    emit_line(e, "words |= place_%sv(%s, (int)(%s - %s));", packed, emit_bare(e, value), at, name);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < size_min(%s + %d, %s); %s++) {", at, name, at, name, c->group, extent, at);
    emit_body(e, body);
    emit_line(e, "}");
    if (c->tile->has_starts)
        emit_line(e, "starts = offset_%sv(starts, words);", packed);
    emit_line(e, "store_u32v(to, 1, words, lanes);");
    emit_line(e, "to += COLUMNS_%d;", t->number);
}

static void pack_column_vector(Emitter *e, Tiling *t)
{
    if (t->c->group > 1) {
        pack_column_words(e, t);
        return;
    }
    const char *value = emit_varying(e, t->c->right);
    emit_line(e, "store_%sv(to, 1, %s, lanes);", dtype_name(t->dtype), emit_bare(e, value));
    emit_line(e, "to += COLUMNS_%d;", t->number);
}

static void pack_turned_vector(Emitter *e, Tiling *t);
static void pack_squares_across(Emitter *e, Tiling *t);

/* In the names of what packs rows. */
static const char *without_sign(const Tiling *t)
{
    return t->c->tile->has_starts ? "without_sign_" : "";
}

/* The dtype of a side's numbers, and where they are widened that of what is packed. */
static const char *from_and_to(Emitter *e, const Tiling *t, const Term *side)
{
    const char *to = dtype_name(t->c->packed);
    return side->dtype == t->c->packed ? to : emit_text(e, "%s_%s", dtype_name(side->dtype), to);
}

/* A row's narrow numbers in one go where they lie side by side; else what follows. */
static void copy_row(Emitter *e, const Tiling *t)
{
    const Index *point = tiling_last(&t->c->depth);
    if (!tiling_reads_safely(e, t->c->left))
        return;
    Scope *scope = emit_push(e);
    scope->indent--;
    emit_bind(e, point, tiling_first(e, point));
    const char *from = emit_pointer(e, t->c->left), *extent = emit_bare(e, tiling_extent_here(e, point));
    emit_line(e, "if (%s == 1) {", emit_stride(e, t->c->left->read.tensor, t->c->left->read.positions, point));
    emit_line(e, "    copy_row_%s%s(to, %s, %s);", without_sign(t), from_and_to(e, t, t->c->left), from, extent);
    emit_line(e, "    to += %s;", extent);
    emit_line(e, "} else");
    emit_pop(e);
    emit_body(e, scope);
}

bool tiling_copies_words(Emitter *e, const Tiling *t)
{
    return t->c->group > 1 && !t->c->tile->parts && tiling_reads_safely(e, t->c->right) && !t->c->tile->has_starts;
}

/* Whole words of columns whose points lie side by side, from the point `first` on, in squares; or of two points, where the columns
 * lie side by side, a vector of each. Back comes the point that the others begin at. */
static const char *copy_words(Emitter *e, const Tiling *t, const char *first, const char *end)
{
    const Contract *c = t->c;
    if (!tiling_copies_words(e, t))
        return first;
    const Index *point = tiling_last(&c->depth);
    const Tensor *tensor = c->right->read.tensor;
    const Position *positions = c->right->read.positions;
    const char *column_step = emit_stride(e, tensor, positions, tiling_last(&c->columns)), *words = emit_name(e, "words_copied");
    emit_push(e);
    emit_bind(e, point, first);
    const char *from = emit_pointer(e, c->right);
    emit_pop(e);
    const char *point_step = emit_stride(e, tensor, positions, point), *count = emit_text(e, "(%s - %s) / %d", end, first, c->group);
    const char *widened = c->right->dtype == c->packed ? "" : emit_text(e, "_%s", from_and_to(e, t, c->right));
    emit_line(e, "const int64_t %s =", words);
    emit_line(e, "    %s == 1 ? turn_words%s(to, COLUMNS_%d, %s, %d * (%s), lanes, %s) :", point_step, widened, t->number, from,
              (int)dtype_size(c->right->dtype), column_step, count);
    if (c->group == 2)
        emit_line(e, "    %s == 1 ? weave_words%s(to, COLUMNS_%d, %s, %s, lanes, %s) :", column_step, widened, t->number, from, point_step,
                  count);
    emit_line(e, "    0;");
    emit_line(e, "to += %s * COLUMNS_%d;", words, t->number);
    return emit_text(e, "%s + %d * %s", first, c->group, words);
}

static bool packs_columns(void (*pack)(Emitter *, Tiling *))
{
    return pack == pack_column_vector || pack == pack_turned_vector || pack == pack_squares_across;
}

/* Loops over the contracted points around what packs one of them, or one vector along the last index. */
static void depth_loops(Emitter *e, Tiling *t, int level, bool along, void (*pack)(Emitter *, Tiling *))
{
    const IndexSet *depth = &t->c->depth;
    if (level == depth->count) {
        pack(e, t);
        return;
    }
    const Index *index = depth->list[level];
    bool lanes = along && level == depth->count - 1;
    const char *name = t->names[index->id], *extent = emit_extent(e, index), *first = "0";
    if (level == 0) {
        first = packs_columns(pack) ? "from_point" : tiling_depth_first(e, t);
        extent = packs_columns(pack) ? "to_point" : tiling_depth_end(e, t);
    }
    bool words = pack == pack_column_vector && level == depth->count - 1 && t->c->group > 1;
    if (words)
        first = copy_words(e, t, first, extent);
    Scope *body = emit_push(e);
    if (!words)
        emit_bind(e, index, name);
    if (lanes) {
        body->count = "lanes";
        emit_line(e, "const int lanes = (int)size_min(LANES, %s - %s);", extent, name);
    }
    depth_loops(e, t, level + 1, along, pack);
    emit_pop(e);
    const char *turn = lanes ? " += LANES" : words ? emit_text(e, " += %d", t->c->group) : "++";
    if (lanes && t->c->group > 1)
        copy_row(e, t);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s%s) {", name, first, name, extent, name, turn);
    emit_body(e, body);
    emit_line(e, "}");
    if (lanes && t->c->group > 1 && (t->c->tile->words == 1 || depth->count > 1)) {
        const char *packed = strcmp(first, "0") ? emit_text(e, "(%s - %s)", name, first) : name;
        emit_line(e, "for (int64_t %s = %s; %s %% %d != 0; %s++)", name, extent, packed, t->c->group, name);
        emit_line(e, "    *to++ = 0;");
    }
}

/* The same where neighbouring points of a side that is read as it is are equally far apart, whatever their indices: in one
 * loop over all of them, of which short ones would fill no vector. Else what follows. */
static void flat_loop(Emitter *e, Tiling *t, const Term *side, void (*pack)(Emitter *, Tiling *), void (*pack_apart)(Emitter *, Tiling *))
{
    const IndexSet *depth = &t->c->depth;
    if (t->c->group > 1 || depth->count == 1 || !tiling_reads_safely(e, side)) {
        depth_loops(e, t, 0, true, pack);
        return;
    }
    const char *first = "0", *end = "depth", *outer = tiling_depth_first(e, t);
    if (pack == pack_turned_vector) {
        outer = "0";
        const char *inner = "";
        for (int i = 1; i < depth->count; i++)
            inner = emit_text(e, "%s * %s", inner, emit_extent(e, depth->list[i]));
        first = emit_text(e, "from_point%s", inner);
        end = emit_text(e, "to_point%s", inner);
    }
    Scope *whole = emit_push(e), *body;
    body = emit_push(e);
    for (int i = 0; i < depth->count; i++)
        emit_bind(e, depth->list[i], i == depth->count - 1 ? "flat" : i ? "0" : outer);
    body->count = "lanes";
    emit_line(e, "const int lanes = (int)size_min(LANES, %s - flat);", end);
    pack(e, t);
    emit_pop(e);
    emit_line(e, "for (int64_t flat = %s; flat < %s; flat += LANES) {", first, end);
    emit_body(e, body);
    emit_line(e, "}");
    emit_pop(e);
    Scope *apart = emit_push(e);
    depth_loops(e, t, 0, true, pack_apart);
    emit_pop(e);
    emit_line(e, "if (%s) {", tiling_is_flat(e, t, side));
    emit_body(e, whole);
    emit_line(e, "} else {");
    emit_body(e, apart);
    emit_line(e, "}");
}

/* Whether squares of a side's numbers are copied as they lie. */
bool tiling_turns_as_read(Emitter *e, const Tiling *t, const Term *side)
{
    return tiling_reads_safely(e, side) && side->read.tensor->dtype == t->dtype && turn_has_squares(t->dtype);
}

/* Columns' points as they lie become rows of the panel. Columns far apart are no stream that the machine sees by itself. */
static void turn_square(Emitter *e, Tiling *t)
{
    const Index *column = tiling_last(&t->c->columns), *point = tiling_last(&t->c->depth);
    const Tensor *tensor = t->c->right->read.tensor;
    const Position *positions = t->c->right->read.positions;
    const char *name = t->names[column->id], *step = emit_stride(e, tensor, positions, column);
    emit_push(e);
    emit_bind(e, column, emit_text(e, "(%s + v * LANES)", name));
    const char *from = emit_pointer(e, t->c->right);
    emit_pop(e);
    emit_line(e, "const %s *from = %s;", emit_element(t->dtype), from);
    emit_line(e, "turn_%s(to, COLUMNS_%d, 1, from, %s, %s, (int)size_min(LANES, count - v * LANES), lanes, from + LANES * (%s), %s);",
              dtype_name(t->dtype), t->number, step, emit_stride(e, tensor, positions, point), step, step);
    emit_line(e, "to += lanes * COLUMNS_%d;", t->number);
}

/* A vector of one column's points, and the place in the square that it has. */
static void pack_turned_vector(Emitter *e, Tiling *t)
{
    if (tiling_turns_as_read(e, t, t->c->right)) {
        turn_square(e, t);
        return;
    }
    const char *name = t->names[tiling_last(&t->c->columns)->id];
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, tiling_last(&t->c->columns), at);
    emit_line(e, "const int64_t %s = %s + size_min(v * LANES + c, count - 1);", at, name);
    emit_line(e, "square[c] = %s;", emit_bare(e, emit_varying(e, t->c->right)));
    emit_pop(e);
    emit_line(e, "%sv square[LANES];", dtype_name(t->dtype));
    emit_line(e, "for (int c = 0; c < LANES; c++) {");
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "transpose_%sv(square);", dtype_name(t->dtype));
    emit_line(e, "for (int c = 0; c < lanes; c++) {");
    emit_line(e, "    store_%sv(to, 1, square[c], (int)size_min(LANES, count - v * LANES));", dtype_name(t->dtype));
    emit_line(e, "    to += COLUMNS_%d;", t->number);
    emit_line(e, "}");
}

/* One contracted point of a run of columns and of others across it: a square's rows become runs of as many panels. The next
 * point's squares are asked for. */
static void pack_squares_across(Emitter *e, Tiling *t)
{
    const Index *column = tiling_last(&t->c->columns), *across = t->c->across, *point = tiling_last(&t->c->depth);
    const Tensor *tensor = t->c->right->read.tensor;
    const Position *positions = t->c->right->read.positions;
    const char *dtype = dtype_name(t->dtype), *step = emit_stride(e, tensor, positions, column);
    const char *run = tiling_extent_here(e, column), *others = tiling_extent_here(e, across);
    emit_push(e);
    emit_bind(e, column, emit_text(e, "(%s + r)", t->names[column->id]));
    emit_bind(e, across, emit_text(e, "(%s + s)", t->names[across->id]));
    const char *from = emit_pointer(e, t->c->right);
    emit_pop(e);
    emit_line(e, "for (int64_t s = 0; s < %s; s += LANES) {", emit_bare(e, others));
    emit_line(e, "    const int lines = (int)size_min(LANES, %s - s);", others);
    emit_line(e, "    const %s *from = %s;", emit_element(t->dtype), from);
    emit_line(e, "    turn_%s(square, LANES, 1, from, %s, %s, lanes, lines, from + %s, %s);", dtype, step,
              emit_stride(e, tensor, positions, across), emit_stride(e, tensor, positions, point), step);
    emit_line(e, "    for (int c = 0; c < lines; c++) {");
    emit_line(e, "        const int64_t at = place + (s + c) * %s + r, column = at %% COLUMNS_%d;", run, t->number);
    emit_line(e, "        const int here = (int)size_min(lanes, COLUMNS_%d - column);", t->number);
    emit_line(e, "        %s *to = panels_%d + (at - column) * depth + point * COLUMNS_%d + column;", dtype_c(t->dtype), t->number, t->number);
    emit_line(e, "        store_%sv(to, 1, load_%sv(square + c * LANES, 1, here), here);", dtype, dtype);
    emit_line(e, "        if (here < lanes)    /* the others are the next panel's first */");
    emit_line(e, "            store_%sv(to - column + COLUMNS_%d * depth, 1, load_%sv(square + c * LANES + here, 1, lanes - here),", dtype, t->number, dtype);
    emit_line(e, "                      lanes - here);");
    emit_line(e, "    }");
    emit_line(e, "}");
    emit_line(e, "point++;");
}

/* Where a panel has the first point that is packed, as a point of the outermost contracted index. */
static const char *first_packed(Emitter *e, const Tiling *t)
{
    const char *first = tiling_depth_first(e, t);
    return strcmp(first, "0") ? emit_text(e, "(from_point - %s)", first) : "from_point";
}

void tiling_declare_panel(Emitter *e, const Tiling *t)
{
    Text inner = text_new(e->arena);
    for (int i = 1; i < t->c->depth.count; i++)
        text_print(&inner, " * %s", tiling_words_along(e, t, i));
    const char *tile = tiling_tile_place(t), *first = t->c->columns.count > 1 ? "place - tile_place + v * LANES" : "v * LANES";
    if (t->c->group == 1) {
        emit_line(e, "%s *to = panels_%d + %s * depth + %s%s * COLUMNS_%d + %s;", dtype_c(t->dtype), t->number, tile,
                  first_packed(e, t), inner.bytes, t->number, first);
        return;
    }
    if (t->c->depth.count == 1)
        text_print(&inner, " / %d", t->c->group);
    emit_line(e, "u32u *panel = (u32u *)panels_%d + %s * %s + %s;", t->number, tile, tiling_panel_depth(t), first);
    emit_line(e, "u32u *to = panel + %s * COLUMNS_%d;", emit_text(e, t->c->tile->has_starts ? "(1 + %s%s)" : "%s%s", first_packed(e, t), inner.bytes),
              t->number);
    if (t->c->tile->has_starts)
        emit_line(e, "i32v starts = from_point ? load_i32v((const i32u *)panel, 1, lanes) : splat_i32v(0);");
}

/* All columns of one point of the others' indices. */
static const char *pack_across(Emitter *e, Tiling *t)
{
    const char *inner = "", *run = tiling_extent_here(e, tiling_last(&t->c->columns));
    tiling_open(e, t, t->c->across);
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->columns, t->c->columns.count);
    for (int i = 1; i < t->c->depth.count; i++)
        inner = emit_text(e, "%s * %s", inner, emit_extent(e, t->c->depth.list[i]));
    Scope *body = emit_push(e);
    emit_line(e, "const int lanes = (int)size_min(LANES, %s - r);", run);
    emit_line(e, "%s square[LANES * LANES];", dtype_c(t->dtype));
    emit_line(e, "int64_t point = %s%s;", first_packed(e, t), inner);
    depth_loops(e, t, 0, false, pack_squares_across);
    emit_pop(e);
    emit_line(e, "for (int64_t r = 0; r < %s; r += LANES) {", emit_bare(e, run));
    emit_body(e, body);
    emit_line(e, "}");
    return tiling_close(e);
}

/* Columns' vectors in loops over the contracted points. */
static Masked masked_columns(Emitter *e, const Tiling *t)
{
    const IndexSet *depth = &t->c->depth;
    LoopBounds *loops = ARENA_ARRAY(e->arena, LoopBounds, depth->count);
    const char *point = NULL;
    for (int i = 0; i < depth->count; i++) {
        const char *name = t->names[depth->list[i]->id];
        loops[i] = (LoopBounds){ depth->list[i], i ? "0" : "from_point", i ? emit_extent(e, depth->list[i]) : "to_point" };
        point = i ? emit_text(e, "(%s) * %s + %s", point, emit_extent(e, depth->list[i]), name) : emit_text(e, "%s - from_point", name);
    }
    return (Masked){ t->c->right, tiling_last(&t->c->columns), loops, depth->count, NULL, emit_text(e, "to + (%s) * COLUMNS_%d", point, t->number) };
}

bool tiling_packs_runs(Emitter *e, const Tiling *t)
{
    const Masked masked = masked_columns(e, t);
    return t->c->columns_stream && tiling_reads_safely(e, tiling_columns_read(t)) && !tiling_is_masked(e, t, &masked);
}

const char *tiling_pack_columns(Emitter *e, Tiling *t)
{
    if (t->c->across)
        return pack_across(e, t);
    if (tiling_packs_runs(e, t))
        return tiling_pack_runs(e, t);
    const Index *column = tiling_last(&t->c->columns);
    const char *name = t->names[column->id];
    bool turned = t->c->columns_turned;
    tiling_open(e, t, turned ? tiling_last(&t->c->depth) : column);
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->columns, t->c->columns.count - 1);
    Scope *body = emit_push(e);
    if (turned) {
        tiling_declare_panel(e, t);
        flat_loop(e, t, t->c->right, pack_turned_vector, pack_turned_vector);
    } else if (t->c->within && tiling_turns_as_read(e, t, t->c->right)) {
        tiling_declare_panel(e, t);
        tiling_pack_within(e, t);
    } else {
        const char *first = emit_name(e, emit_text(e, "%s_lanes", name));
        emit_bind(e, column, first);
        body->count = "lanes";
        emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
        emit_line(e, "const int64_t %s = %s + v * LANES;", first, name);
        tiling_declare_panel(e, t);
        const Masked masked = masked_columns(e, t);
        if (tiling_is_masked(e, t, &masked))
            tiling_pack_masked(e, t, &masked);
        else
            depth_loops(e, t, 0, false, pack_column_vector);
    }
    if (t->c->tile->has_starts)
        emit_line(e, "store_i32v((i32u *)panel, 1, starts, lanes);");
    emit_pop(e);
    emit_line(e, "for (int v = 0; v * LANES < count; v++) {");
    emit_body(e, body);
    emit_line(e, "}");
    return tiling_close(e);
}

/* Each lane fills a vector; the next one's lies `apart` behind it. */
static void spread_lanes(Emitter *e, const Tiling *t, const char *value, const char *apart)
{
    const char *dtype = dtype_name(t->dtype), *spread = emit_name(e, "value");
    emit_line(e, "const %sv %s = %s;", dtype, spread, emit_bare(e, value));
    emit_line(e, "for (int c = 0; c < lanes; c++)");
    emit_line(e, "    store_%sv(to + c * %s, 1, splat_%sv(lane_%sv(%s, c)), LANES);", dtype, apart, dtype, dtype, spread);
}

/* What becomes a number of 16 bits when it is packed; NULL: nothing is rounded then. */
static const Term *rounded(const Term *side)
{
    bool rounds = side->kind == TERM_MAP && side->map.function == FUNCTION_CAST && side->dtype == DTYPE_BF16;
    return rounds && register_dtype(side->map.arguments[0]->dtype) == DTYPE_F32 ? side->map.arguments[0] : NULL;
}

/* Asks for what a row has some points later: no stream that the machine sees. */
static void ask_soon(Emitter *e, const Tiling *t, const Index *point, int points)
{
    if (!tiling_reads_safely(e, t->c->left))
        return;
    emit_push(e);
    emit_bind(e, point, emit_text(e, "(%s + %d)", t->names[point->id], points));
    const char *soon = emit_pointer(e, t->c->left);
    emit_pop(e);
    emit_line(e, "PREFETCH(%s);", soon);
}

static void pack_point_vector(Emitter *e, Tiling *t)
{
    const char *turn = "lanes";
    const Term *whole = t->c->group > 1 && t->c->packed == DTYPE_BF16 ? rounded(t->c->left) : NULL;
    const char *value = emit_varying(e, whole ? whole : t->c->left);
    if (t->c->rows_spread) {
        spread_lanes(e, t, value, "rows * LANES");
        turn = "lanes * rows * LANES";
    } else if (whole) {
        emit_line(e, "store_factor_bf16v((bf16u *)to, 1, %s, lanes);", emit_bare(e, value));
    } else if (t->c->group > 1) {
        emit_line(e, "store_row_%s%sv(to, %s, lanes);", without_sign(t), dtype_name(t->c->packed), emit_bare(e, value));
    } else {
        emit_line(e, "store_%sv(to, 1, %s, lanes);", dtype_name(t->dtype), emit_bare(e, value));
    }
    emit_line(e, "to += %s;", turn);
}

/* One vector of a run of a row's points, of which the next runs are elsewhere. */
static void pack_run_vector(Emitter *e, Tiling *t)
{
    if (t->c->group == 1 && !t->c->rows_inside)
        ask_soon(e, t, t->c->depth.list[t->c->depth.count - 2], RUNS_AHEAD);
    pack_point_vector(e, t);
}

/* A loop over the tiles of a block of rows around `body`. */
static void each_tile_of_rows(Emitter *e, const Tiling *t, const Scope *body)
{
    emit_line(e, "for (int64_t before = 0, rows; before < height; before += rows) {");
    emit_line(e, "    rows = size_next(height - before, ROWS_%d, ROWS_%d);", t->number, t->number);
    emit_body(e, body);
    emit_line(e, "}");
}

/* One vector of rows from the r-th of a tile on. */
static void open_row_vector(Emitter *e, Tiling *t, const char *lanes)
{
    const Index *row = tiling_last(&t->c->rows);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id]));
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + before + r;", at, t->names[row->id]);
    if (lanes)
        emit_line(e, "const int lanes = (int)size_min(LANES, rows - r);");
}

/* One contracted point of all tiles of a block: lines are read as they come. */
static void pack_rows_of_point(Emitter *e, Tiling *t)
{
    Scope *tile = emit_push(e), *body = emit_push(e);
    body->count = "lanes";
    open_row_vector(e, t, body->count);
    const char *to = emit_text(e, t->c->rows_spread ? "packed_%d + (before * depth + point * rows + r) * LANES"
                                                    : "packed_%d + before * depth + point * rows + r", t->number);
    ask_soon(e, t, tiling_last(&t->c->depth), ROWS_AHEAD);
    const char *value = emit_varying(e, t->c->left);
    if (t->c->rows_spread) {
        emit_line(e, "%s *to = %s;", dtype_c(t->dtype), to);
        spread_lanes(e, t, value, "LANES");
    } else {
        emit_line(e, "const int wide = (depth - point) * rows - r < LANES ? lanes : LANES;    /* points to come take what is behind */");
        emit_line(e, "store_%sv(%s, 1, %s, wide);", dtype_name(t->dtype), to, emit_bare(e, value));
    }
    emit_pop(e);
    emit_line(e, "for (int64_t r = 0; r < rows; r += LANES) {");
    emit_body(e, body);
    emit_line(e, "}");
    emit_pop(e);
    each_tile_of_rows(e, t, tile);
    emit_line(e, "point++;");
}

/* Rows in the order of tiles that meet them: side by side for each contracted point, or each number as a vector. */
static void pack_tiles_of_rows(Emitter *e, Tiling *t)
{
    if (t->c->rows_along) {
        emit_line(e, "int64_t point = 0;");
        depth_loops(e, t, 0, false, pack_rows_of_point);
        return;
    }
    Scope *tile = emit_push(e), *body = emit_push(e);
    open_row_vector(e, t, NULL);
    emit_line(e, "%s *to = packed_%d + (before * depth + r) * LANES;", dtype_c(t->dtype), t->number);
    flat_loop(e, t, t->c->left, pack_point_vector, pack_run_vector);
    emit_pop(e);
    emit_line(e, "for (int64_t r = 0; r < rows; r++) {");
    emit_body(e, body);
    emit_line(e, "}");
    emit_pop(e);
    each_tile_of_rows(e, t, tile);
}

/* The r-th row of a block, and where it is packed from `point` on. */
static void open_row(Emitter *e, Tiling *t, const char *point)
{
    const Index *row = tiling_last(&t->c->rows);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id])), *part = tiling_part(t);
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, t->names[row->id]);
    emit_line(e, "%s *to = %spacked_%d + r * (%s)%s;", part, t->c->group > 1 ? emit_text(e, "(%s *)", part) : "", t->number,
              tiling_packed_step(e, t), point);
}

/* Of all rows a run of the innermost contracted points before the next run, as they follow each other in memory. */
static void pack_runs_of_rows(Emitter *e, Tiling *t, int level)
{
    const Index *index = t->c->depth.list[level];
    const char *name = t->names[index->id], *head = emit_text(e, "for (int r = 0; r < height; r++) {");
    bool last = level == t->c->depth.count - 1;
    if (!last)
        head = emit_text(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, level ? "0" : tiling_depth_first(e, t), name,
                         level ? emit_extent(e, index) : tiling_depth_end(e, t), name);
    Scope *body = emit_push(e);
    if (last) {
        open_row(e, t, " + point");
        depth_loops(e, t, level, true, pack_point_vector);
    } else {
        emit_bind(e, index, name);
        pack_runs_of_rows(e, t, level + 1);
    }
    emit_pop(e);
    emit_line(e, "%s", head);
    emit_body(e, body);
    emit_line(e, "}");
    if (last)
        emit_line(e, "point += %s;", emit_bare(e, emit_extent(e, index)));
}

/* Rows side by side for each contracted point, or the points side by side for each row. */
const char *tiling_pack_rows(Emitter *e, Tiling *t)
{
    if (t->c->window)
        return tiling_pack_window(e, t);
    const Index *row = tiling_last(&t->c->rows);
    tiling_open(e, t, t->c->rows_along ? row : tiling_last(&t->c->depth));
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    tiling_bind(e, t, &t->c->rows, t->c->rows.count - 1);
    if (tiling_packs_tiles(t)) {
        pack_tiles_of_rows(e, t);
        return tiling_close(e);
    }
    if (t->c->rows_inside && tiling_reads_safely(e, t->c->left)) {
        emit_line(e, "int64_t point = 0;");
        pack_runs_of_rows(e, t, 0);
        return tiling_close(e);
    }
    Scope *body = emit_push(e);
    open_row(e, t, "");
    if (t->c->tile->words > 1)
        emit_line(e, "%s *const end = to + depth * %d;", tiling_part(t), t->c->group);
    flat_loop(e, t, t->c->left, pack_point_vector, pack_run_vector);
    if (t->c->tile->words > 1) {
        emit_line(e, "while (to < end)");
        emit_line(e, "    *to++ = 0;");
    }
    emit_pop(e);
    emit_line(e, "for (int r = 0; r < height; r++) {");
    emit_body(e, body);
    emit_line(e, "}");
    return tiling_close(e);
}
