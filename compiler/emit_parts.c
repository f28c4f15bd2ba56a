/* Packing numbers in parts: each part is the nearest number of bf16 to what the parts before have left, and TILE_WORDS words
 * of one part lie behind those of the one before. Where a number is not the sum of its parts, or products of them would be
 * too small for the unit, `odd` says so, and the step does its unit of work again with the numbers themselves. */
#include <string.h>

#include "emit_tiling.h"

enum { WORD_POINTS = 2 };

static void open_odds(Emitter *e)
{
    emit_line(e, "u32v odds = splat_u32v(0);");
}

static void close_odds(Emitter *e, const Tiling *t)
{
    emit_line(e, "*odd_%d |= any_u32v(odds);", t->number);
}

/* A panel's words of two points, for all parts; a point past the last is 0. */
const char *tiling_pack_column_parts(Emitter *e, Tiling *t)
{
    const Contract *c = t->c;
    const Index *column = tiling_last(&c->columns), *point = tiling_last(&c->depth);
    const char *name = t->names[column->id], *k = t->names[point->id];
    int parts = c->tile->parts, block = c->tile->words / parts;
    tiling_open(e, t, column);
    tiling_bind(e, t, &c->batch, c->batch.count);
    tiling_bind(e, t, &c->columns, c->columns.count - 1);
    Scope *body = emit_push(e), *inner;
    const char *first = emit_name(e, emit_text(e, "%s_lanes", name));
    emit_bind(e, column, first);
    body->count = "lanes";
    emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
    emit_line(e, "const int64_t %s = %s + v * LANES;", first, name);
    emit_line(e, "u32u *panel = (u32u *)panels_%d + %s * depth + %s;", t->number, tiling_tile_place(t),
              c->columns.count > 1 ? "place - tile_place + v * LANES" : "v * LANES");
    open_odds(e);
    inner = emit_push(e);
    emit_line(e, "f32v square[%d] = { splat_f32v(0), splat_f32v(0) };", WORD_POINTS);
    Scope *one = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", k));
    emit_bind(e, point, at);
    emit_line(e, "square[%s - %s] = %s;", at, k, emit_bare(e, emit_varying(e, c->right)));
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < size_min(%s + %d, to_point); %s++) {", at, k, at, k, WORD_POINTS, at);
    emit_body(e, one);
    emit_line(e, "}");
    emit_line(e, "odds |= odd_f32v(square[0]) | odd_f32v(square[1]);");
    emit_line(e, "u32u *to = panel + (%s / %d * %d + %s / %d %% %d) * COLUMNS_%d;", k, WORD_POINTS * block, c->tile->words, k,
              WORD_POINTS, block, t->number);
    emit_line(e, "for (int part = 0; part < %d; part++) {", parts);
    emit_line(e, "    const u32v low = part_bf16v(&square[0]);");
    emit_line(e, "    store_u32v(to + part * %d * COLUMNS_%d, 1, low >> 16 | part_bf16v(&square[1]), lanes);", block, t->number);
    emit_line(e, "}");
    emit_pop(e);
    emit_line(e, "for (int64_t %s = from_point; %s < to_point; %s += %d) {", k, k, k, WORD_POINTS);
    emit_body(e, inner);
    emit_line(e, "}");
    close_odds(e, t);
    emit_pop(e);
    emit_line(e, "for (int v = 0; v * LANES < count; v++) {");
    emit_body(e, body);
    emit_line(e, "}");
    return tiling_close(e);
}

/* Rows, each with the parts of so many points side by side. */
const char *tiling_pack_row_parts(Emitter *e, Tiling *t)
{
    const Contract *c = t->c;
    const Index *row = tiling_last(&c->rows), *point = tiling_last(&c->depth);
    const char *name = t->names[row->id], *k = t->names[point->id], *extent;
    int parts = c->tile->parts, block = c->tile->words / parts * WORD_POINTS;
    tiling_open(e, t, point);
    tiling_bind(e, t, &c->batch, c->batch.count);
    tiling_bind(e, t, &c->kept_rows, c->kept_rows.count);
    tiling_bind(e, t, &c->rows, c->rows.count - 1);
    extent = emit_extent(e, point);
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, name);
    emit_line(e, "uint16_t *words = (uint16_t *)packed_%d + r * (%s);", t->number, tiling_packed_step(e, t));
    open_odds(e);
    Scope *inner = emit_push(e);
    inner->count = "lanes";
    emit_bind(e, point, k);
    emit_line(e, "const int lanes = (int)size_min(LANES, %s - %s);", extent, k);
    emit_line(e, "f32v left = %s;", emit_bare(e, emit_varying(e, c->left)));
    emit_line(e, "uint16_t *to = words + %s / %d * %d + %s %% %d;", k, block, block * parts, k, block);
    emit_line(e, "odds |= odd_f32v(left);");
    emit_line(e, "for (int part = 0; part < %d; part++)", parts);
    emit_line(e, "    store_row_bf16v(to + part * %d, from_bits_f32v(part_bf16v(&left)), lanes);", block);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s += LANES) {", k, k, extent, k);
    emit_body(e, inner);
    emit_line(e, "}");
    emit_line(e, "for (int64_t %s = %s; %s %% %d != 0; %s++)", k, extent, k, block, k);
    emit_line(e, "    for (int part = 0; part < %d; part++)", parts);
    emit_line(e, "        words[%s / %d * %d + part * %d + %s %% %d] = 0;", k, block, block * parts, block, k, block);
    close_odds(e, t);
    emit_pop(e);
    emit_line(e, "for (int r = 0; r < height; r++) {");
    emit_body(e, body);
    emit_line(e, "}");
    return tiling_close(e);
}

/* The words of panels behind the last point are zeros, in each part. */
void tiling_clear_parts(Emitter *e, const Tiling *t)
{
    int parts = t->c->tile->parts, block = t->c->tile->words / parts;
    const char *from = emit_text(e, "panels_%d + %s * depth + ((words / %d * %d + part) * %d + words %% %d) * COLUMNS_%d", t->number,
                                 tiling_tile_place(t), block, parts, block, block, t->number);
    tiling_each_tile(e, t, emit_text(e, "for (int part = 0; part < %d && words %% %d != 0; part++)\n"
                                     "    memset((u32u *)%s, 0, (size_t)((%d - words %% %d) * COLUMNS_%d) * 4);", parts, block, from,
                                     block, block, t->number));
}

void tiling_leave_odd(Emitter *e, const Tiling *t)
{
    emit_line(e, "if (*odd_%d) {", t->number);
    emit_line(e, "    tiles_end();");
    emit_line(e, "    return;");
    emit_line(e, "}");
}
