/* Packing numbers in parts: each part is the nearest number of bf16 to what the parts before have left, and TILE_WORDS words
 * of one part lie behind those of the one before. The two points of a word are TILE_WORDS apart, so that neighbours need not
 * be told from each other. Rows are cut while those before are multiplied, where they lie in memory as they are: a few blocks
 * behind each pair of parts, since a processor does not look far ahead while tiles multiply. Where a number is not the sum of its parts, or products of them would be too small for the unit,
 * `odd` says so, and the step does its unit of work again with the numbers themselves. */
#include <string.h>

#include "emit_tiling.h"

enum { WORD_POINTS = 2 };

/* The words of a block's points, of one part. */
static int block_words(const Tiling *t)
{
    return t->c->tile->words / t->c->tile->parts;
}

static void open_odds(Emitter *e)
{
    emit_line(e, "i32v most = splat_i32v(0), least = splat_i32v(0);    /* sizes */");
}

static void close_odds(Emitter *e, const Tiling *t)
{
    emit_line(e, "*odd_%d |= any_u32v(odd_sizes(most, least));", t->number);
}

/* Words of `both` numbers. */
static void cut(Emitter *e, const Tiling *t, const char *to, const char *apart, const char *lanes)
{
    for (int i = 0; i < WORD_POINTS; i++)
        emit_line(e, "note_sizes(&most, &least, both[%d]);", i);
    emit_line(e, "store_parts_bf16v(%s, both[0], both[1], %d, %s, %s);", to, t->c->tile->parts, apart, lanes);
}

/* The numbers of both points of a word, `lanes` of points or NULL for columns; before `end` are fewer, and the others 0, unless it
 * is NULL. */
static void load_both(Emitter *e, const Tiling *t, const Term *side, const char *end, const char *lanes)
{
    const char *k = t->names[tiling_last(&t->c->depth)->id], *at = emit_name(e, emit_text(e, "%s_at", k));
    int block = block_words(t);
    Scope *one = emit_push(e);
    one->count = lanes ? lanes : one->count;
    emit_bind(e, tiling_last(&t->c->depth), at);
    emit_line(e, "const int64_t %s = %s + word + %d * half;", at, k, block);
    if (lanes && end)
        emit_line(e, "const int %s = (int)size_min(LANES, %s - %s);", lanes, end, at);
    const char *value = emit_bare(e, emit_varying(e, side));
    emit_line(e, "both[half] = %s;", lanes && end ? emit_text(e, "select_f32v(first_boolv(%s), %s, both[half])", lanes, value) : value);
    emit_pop(e);
    emit_line(e, "f32v both[%d]%s;", WORD_POINTS, end ? " = { splat_f32v(0), splat_f32v(0) }" : "");
    if (!end)
        emit_line(e, "UNROLL");
    emit_line(e, "for (int half = 0; half < %d%s; half++) {", WORD_POINTS,
              end ? emit_text(e, " && %s + word + %d * half < %s", k, block, end) : "");
    emit_body(e, one);
    emit_line(e, "}");
}

/* Whole blocks of points that lie side by side: a column's words, as those of a row, become a column of the panel. */
static void turn_blocks(Emitter *e, const Tiling *t)
{
    const Contract *c = t->c;
    const Index *column = tiling_last(&c->columns), *point = tiling_last(&c->depth);
    const Tensor *tensor = c->right->read.tensor;
    const Position *positions = c->right->read.positions;
    const char *k = t->names[point->id];
    int block = block_words(t), words = c->tile->words;
    emit_push(e);
    emit_bind(e, point, k);
    const char *from = emit_pointer(e, c->right), *step = emit_stride(e, tensor, positions, column);
    emit_pop(e);
    emit_line(e, "for (; %s == 1 && %s + %d <= to_point; %s += %d) {", emit_stride(e, tensor, positions, point), k, WORD_POINTS * block, k,
              WORD_POINTS * block);
    e->scope->indent++;
    emit_line(e, "uint32_t turned[LANES * %d];", words);
    emit_line(e, "for (int c = 0; c < lanes; c++) {");
    e->scope->indent++;
    emit_line(e, "const f32u *from = %s + c * %s;", from, step);
    emit_line(e, "for (int word = 0; word < %d; word += LANES) {", block);
    e->scope->indent++;
    emit_line(e, "const f32v both[] = { load_f32v(from + word, 1, LANES), load_f32v(from + word + %d, 1, LANES) };", block);
    cut(e, t, emit_text(e, "(u32u *)turned + c * %d + word", words), emit_text(e, "%d", block), "LANES");
    for (int i = 0; i < 2; i++) {
        e->scope->indent--;
        emit_line(e, "}");
    }
    emit_line(e, "turn_words(panel + %s / %d * %d * COLUMNS_%d, COLUMNS_%d, turned, %d * 4, lanes, %d);", k, WORD_POINTS * block, words,
              t->number, t->number, words, words);
    e->scope->indent--;
    emit_line(e, "}");
}

/* A panel's words of two points, for all parts; a point past the last is 0. */
const char *tiling_pack_column_parts(Emitter *e, Tiling *t)
{
    const Contract *c = t->c;
    const Index *column = tiling_last(&c->columns);
    const char *name = t->names[column->id], *k = t->names[tiling_last(&c->depth)->id];
    int block = block_words(t);
    tiling_open(e, t, column);
    tiling_bind(e, t, &c->batch, c->batch.count);
    tiling_bind(e, t, &c->columns, c->columns.count - 1);
    Scope *body = emit_push(e);
    const char *first = emit_name(e, emit_text(e, "%s_lanes", name));
    emit_bind(e, column, first);
    body->count = "lanes";
    emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
    emit_line(e, "const int64_t %s = %s + v * LANES;", first, name);
    emit_line(e, "u32u *panel = (u32u *)panels_%d + %s * depth + %s;", t->number, tiling_tile_place(t),
              c->columns.count > 1 ? "place - tile_place + v * LANES" : "v * LANES");
    open_odds(e);
    emit_line(e, "int64_t %s = from_point;", k);
    if (tiling_reads_safely(e, c->right))
        turn_blocks(e, t);
    Scope *inner = emit_push(e);
    inner->indent++;
    load_both(e, t, c->right, "to_point", NULL);
    cut(e, t, emit_text(e, "panel + (%s / %d * %d + word) * COLUMNS_%d", k, WORD_POINTS * block, c->tile->words, t->number),
        emit_text(e, "%d * COLUMNS_%d", block, t->number), "lanes");
    emit_pop(e);
    emit_line(e, "for (; %s < to_point; %s += %d) {", k, k, WORD_POINTS * block);
    emit_line(e, "    for (int word = 0; word < %d; word++) {", block);
    emit_body(e, inner);
    emit_line(e, "    }");
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
    int block = block_words(t);
    tiling_open(e, t, point);
    tiling_bind(e, t, &c->batch, c->batch.count);
    tiling_bind(e, t, &c->kept_rows, c->kept_rows.count);
    tiling_bind(e, t, &c->rows, c->rows.count - 1);
    extent = emit_extent(e, point);
    open_odds(e);
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, name);
    emit_line(e, "u32u *to = (u32u *)((uint16_t *)packed_%d + r * (%s));", t->number, tiling_packed_step(e, t));
    Scope *loads[2];
    for (int rest = 0; rest < 2; rest++) {
        loads[rest] = emit_push(e);
        loads[rest]->indent += !rest;
        load_both(e, t, c->left, rest ? extent : NULL, rest ? "lanes" : "LANES");
        cut(e, t, "to + word", emit_text(e, "%d", block), "LANES");
        emit_pop(e);
    }
    emit_line(e, "int64_t %s = 0;", k);
    emit_line(e, "for (; %s + %d <= %s; %s += %d, to += %d) {", k, WORD_POINTS * block, extent, k, WORD_POINTS * block, c->tile->words);
    emit_line(e, "    for (int word = 0; word < %d; word += LANES) {", block);
    emit_body(e, loads[0]);
    emit_line(e, "    }");
    emit_line(e, "}");
    emit_line(e, "for (int word = 0; word < %d && %s < %s; word += LANES) {", block, k, extent);
    emit_body(e, loads[1]);
    emit_line(e, "}");
    emit_pop(e);
    emit_line(e, "for (int r = 0; r < height; r++) {");
    emit_body(e, body);
    emit_line(e, "}");
    close_odds(e, t);
    return tiling_close(e);
}

/* Rows that lie in memory as they are, all blocks in the order in which they are multiplied. */
bool tiling_may_cut(Emitter *e, const Tiling *t)
{
    return t->c->tile->parts && t->c->depth.count == 1 && !tiling_has_reach(t) && tiling_reads_safely(e, t->c->left);
}

/* The blocks of a row are none where it is not whole ones side by side. */
void tiling_declare_cutting(Emitter *e, const Tiling *t)
{
    const Term *left = t->c->left;
    const Index *point = t->c->depth.list[0];
    const Tensor *tensor = left->read.tensor;
    const char *extent = emit_extent(e, point), *row = emit_stride(e, tensor, left->read.positions, tiling_last(&t->c->rows));
    int n = t->number, points = WORD_POINTS * block_words(t);
    emit_line(e, "Cutting cutting;");
    emit_line(e, "cut_begin(&cutting, (u32u *)packed_%d, block * ROWS_%d * (depth + %d),", n, n, CONTRACT_LINE / 4);
    emit_line(e, "        %s == 1 && %s %% %d == 0 ? %s / %d : 0, %s - %s, %d);", emit_stride(e, tensor, left->read.positions, point), extent,
              points, extent, points, row, extent, CONTRACT_LINE / 4);
}

/* Where a row is from which numbers are cut. */
static const char *row_pointer(Emitter *e, const Tiling *t, const char *row)
{
    emit_push(e);
    emit_bind(e, tiling_last(&t->c->rows), row);
    emit_bind(e, t->c->depth.list[0], tiling_depth_first(e, t));
    const char *pointer = emit_pointer(e, t->c->left);
    emit_pop(e);
    return pointer;
}

/* A block's rows: what is left of them is cut, and the next block's are begun; from `first` to `end`. */
void tiling_cut_rows(Emitter *e, const Tiling *t, const char *pack, const char *first, const char *end)
{
    int n = t->number;
    const char *name = t->names[tiling_last(&t->c->rows)->id], *next = emit_text(e, "%s_stop", name);
    emit_line(e, "const bf16u *rows = (const bf16u *)packed_%d;", n);
    emit_line(e, "const int64_t row_step = %s, k_step = %d;", tiling_packed_step(e, t), t->c->group);
    emit_line(e, "if (cutting.blocks) {");
    emit_line(e, "    if (%s_block == %s)", name, first);
    emit_line(e, "        cut_next(&cutting, %s, height, 1);", row_pointer(e, t, name));
    emit_line(e, "    cut_some(&cutting, cutting.left, %d);", t->c->tile->parts);
    emit_line(e, "    *odd_%d |= any_u32v(odd_sizes(cutting.most, cutting.least));", n);
    emit_line(e, "    rows = (const bf16u *)cutting.packed[1];");
    emit_line(e, "    cut_next(&cutting, %s, size_next(%s - %s, block * ROWS_%d, ROWS_%d),", row_pointer(e, t, next), end,
              next, n, n);
    emit_line(e, "            size_max(tiles, 1) * size_ceil_div(height, ROWS_%d) * (depth / %d) * PAIRS_%d);", n, t->c->tile->words, n);
    emit_line(e, "} else {");
    emit_line(e, "    %s;", pack);
    emit_line(e, "}");
}

void tiling_leave_odd(Emitter *e, const Tiling *t)
{
    emit_line(e, "if (*odd_%d) {", t->number);
    emit_line(e, "    tiles_end();");
    emit_line(e, "    return;");
    emit_line(e, "}");
}
