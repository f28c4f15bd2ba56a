/* A tile's sums as lines of the result, which leave the registers past the caches: its columns are whole lines, or two rows' are. */
#include "emit_tiling.h"

static int vector_bytes(const Emitter *e, const Tiling *t)
{
    return e->plan->lanes * (int)dtype_size(t->dtype);
}

bool tiling_is_lines(const Emitter *e, const Tiling *t)
{
    return (t->in_pieces && t->c->halves) || t->c->tile_vectors * vector_bytes(e, t) % CONTRACT_LINE == 0;
}

bool tiling_pairs_rows(const Tiling *t)
{
    return t->in_pieces && t->may_pass && t->c->halves > 0;
}

/* A row's lines one after another, which memory takes a fifth faster than a column's. */
static void stream_rows(Emitter *e, Tiling *t)
{
    Scope *body = emit_push(e);
    body->indent += 1;
    tiling_know_product(e, t, "sums[r][v]");
    const char *value = emit_bare(e, emit_varying(e, tiling_whole_value(t)));
    if (t->in_pieces)
        emit_line(e, "if (v >= wide)\n%*scontinue;", 4 * body->indent + 4, "");
    emit_line(e, "pass_%sv(%s + r * result_step, %s);", dtype_name(t->dtype), t->in_pieces ? "lines[v]" : "result + v * LANES", value);
    emit_pop(e);
    if (t->in_pieces) {
        emit_line(e, "%s *lines[VECTORS_%d];", emit_element(t->dtype), t->number);
        emit_line(e, "int wide = 0;    /* vectors that are not behind the last column */");
        emit_line(e, "UNROLL");
        emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
        emit_line(e, "    lines[v] = result + placed[v].first;");
        emit_line(e, "    wide += placed[v].end != 0;");
        emit_line(e, "}");
    }
    tiling_open_rows(e, t, "r++");
    emit_line(e, "    UNROLL");
    emit_line(e, "    for (int v = 0; v < VECTORS_%d; v++) {", t->number);
    emit_body(e, body);
    emit_line(e, "    }");
    emit_line(e, "}");
}

/* What is stored takes the sums' place, if it is something else. */
static void replace_sums(Emitter *e, Tiling *t)
{
    const Term *value = tiling_whole_value(t);
    if (value == t->c->product)
        return;
    Scope *body = emit_push(e);
    body->indent += 1;
    tiling_know_product(e, t, "sums[r][v]");
    emit_line(e, "sums[r][v] = %s;", emit_bare(e, emit_varying(e, value)));
    emit_pop(e);
    tiling_open_rows(e, t, "r++");
    emit_line(e, "    UNROLL");
    emit_line(e, "    for (int v = 0; v < VECTORS_%d; v++)", t->number);
    emit_body(e, body);
    emit_line(e, "}");
}

/* The lines of two rows: with halves of both rows' runs, one row behind the other, each line has two, of vectors that are lines. */
static void stream_pairs(Emitter *e, Tiling *t)
{
    int n = t->number;
    const char *dtype = dtype_name(t->dtype);
    replace_sums(e, t);
    emit_line(e, "%s *runs[2 * VECTORS_%d / HALVES_%d];    /* of two rows, one behind the other: whole lines */", emit_element(t->dtype), n, n);
    emit_line(e, "int wide = 0;    /* lines that are not behind the last column */");
    emit_line(e, "UNROLL");
    emit_line(e, "for (int half = 0; half < 2 * VECTORS_%d; half += HALVES_%d) {", n, n);
    emit_line(e, "    const Piece *piece = &placed[half / 2];");
    emit_line(e, "    runs[half / HALVES_%d] = result + (half %% 2 ? piece->rest : piece->first);", n);
    emit_line(e, "    wide += piece->end > half %% 2 * LANES / 2 ? HALVES_%d : 0;", n);
    emit_line(e, "}");
    tiling_open_rows(e, t, "r += 2");
    e->scope->indent++;
    emit_line(e, "UNROLL");
    emit_line(e, "for (int at = 0; at < 2 * VECTORS_%d; at++) {", n);
    emit_line(e, "    if (at >= wide)");
    emit_line(e, "        continue;");
    emit_line(e, "    const int run = at / HALVES_%d, half = at %% HALVES_%d * 2;", n, n);
    emit_line(e, "    const int low = run * HALVES_%d + half %% HALVES_%d, high = run * HALVES_%d + (half + 1) %% HALVES_%d;", n, n, n, n);
    emit_line(e, "    const %sv line = join_%sv(sums[r + half / HALVES_%d][low / 2], low %% 2, sums[r + (half + 1) / HALVES_%d][high / 2], high %% 2);",
              dtype, dtype, n, n);
    emit_line(e, "    pass_%sv(runs[run] + r * result_step + half * LANES / 2, line);", dtype);
    emit_line(e, "}");
    e->scope->indent--;
    emit_line(e, "}");
}

static void stream_sums(Emitter *e, Tiling *t)
{
    if (tiling_pairs_rows(t) && vector_bytes(e, t) == CONTRACT_LINE)
        stream_pairs(e, t);
    else
        stream_rows(e, t);
}

void tiling_stream(Emitter *e, Tiling *t)
{
    emit_line(e, "if (past) {");
    e->scope->indent++;
    stream_sums(e, t);
    emit_line(e, "return;");
    e->scope->indent--;
    emit_line(e, "}");
}

/* Whether all tiles of a block may go at one call: nothing else is done beside their products, for which a function would take more. */
static bool passes_blocks(Emitter *e, const Tiling *t)
{
    return t->may_pass && !tiling_has_stage(t) && !tiling_has_pairs(t) && !tiling_meets_columns(e, t) && !t->c->window && !t->c->sweep &&
           !t->c->tames && !t->c->tile->has_starts;
}

/* What is done for each tile: its function's instructions without what goes on around them. */
static const char *pass_body(Emitter *e, Tiling *t)
{
    bool along = tiling_packs_tiles(t);
    Scope *scope = tiling_open(e, t, tiling_last(&t->c->columns));
    scope->indent = 3;
    emit_line(e, "height = (int)size_next(rows_left, ROWS_%d, ROWS_%d);", t->number, t->number);
    if (along)
        emit_line(e, "%s", tiling_points_apart(e, t));
    emit_line(e, "%sv sums[ROWS_%d][VECTORS_%d];", dtype_name(t->dtype), t->number, t->number);
    scope->indent = 2;
    tiling_put(e, tiling_multiply_lines(e, t));
    scope->indent = 3;
    stream_sums(e, t);
    emit_line(e, "rows += height * %s;", along ? "tile_step" : "row_step");
    emit_line(e, "result += height * result_step;");
    emit_line(e, "ahead += depth * ahead_step;");
    return tiling_close(e);
}

const char *tiling_pass_function(Emitter *e, Tiling *t)
{
    if (!passes_blocks(e, t))
        return "";
    int n = t->number;
    const char *body = pass_body(e, t), *packed = emit_element(t->c->packed), *number = emit_element(t->dtype);
    return emit_text(e, "\n/* All tiles of a block of rows, of few points, whose sums leave the registers past the caches. */\n"
                     "KERNEL static void pass_%d(int block_rows, const %s *block, int64_t row_step, %s, const %s *panel, int64_t tiles, "
                     "int64_t depth, const char *ahead, int64_t ahead_step, %s%s *target, int64_t result_step)\n{\n"
                     "    const %s *const start = NULL;\n    const int64_t start_step = 0;\n"
                     "    for (int64_t tile = 0; tile < tiles; tile++) {\n"
                     "        const %s *rows = block;\n        %s *result = target;\n"
                     "        for (int rows_left = block_rows, height; rows_left > 0; rows_left -= height) {\n%s        }\n"
                     "        panel += COLUMNS_%d * depth;\n        %s;\n    }\n}\n", n, packed,
                     tiling_packs_tiles(t) ? "int64_t tile_step, int64_t k_apart" : "int64_t k_step", tiling_word(t),
                     t->in_pieces ? "const Piece *placed, " : "", number, number, packed, number, body, n,
                     emit_text(e, t->in_pieces ? "placed += VECTORS_%d" : "target += COLUMNS_%d", n));
}

void tiling_pass_block(Emitter *e, const Tiling *t)
{
    if (!passes_blocks(e, t))
        return;
    const Output *output = &t->step->statement->outputs[0];
    const char *rows = emit_text(e, "%s - %s", tiling_block_stop(e, t), tiling_block_start(e, t));
    const char *row_step = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows));
    const char *column_step = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->columns));
    const char *whole = t->in_pieces ? "is_placed" : emit_text(e, "%s == 1 && columns == places", column_step);
    const char *even = tiling_pairs_rows(t) ? emit_text(e, " && (%s) %% 2 == 0", rows) : "";
    const char *steps = tiling_packs_tiles(t) ? "tile_step, k_apart" : "k_step";
    const char *panel = emit_text(e, "%spanels_%d", t->c->group > 1 ? "(const u32u *)" : "", t->number);
    const char *target = emit_text(e, "%s%s", t->in_pieces ? "pieces, " : "", tiling_target_at(e, t, NULL));
    emit_line(e, "if (passes && points == depth && %s%s) {", whole, even);
    emit_line(e, "    pass_%d((int)(%s), rows, row_step, %s, %s, tiles, depth, ahead, ahead_step, %s, %s);", t->number, rows, steps, panel, target,
              row_step);
    emit_line(e, "    break;");
    emit_line(e, "}");
}

const char *tiling_may_be_past(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    int n = t->number, id = t->step->id + 1;
    if (!tiling_is_lines(e, t))
        return "const int is_past = 0;    /* a tile's rows are less than lines */";
    if (!tiling_pairs_rows(t))
        return emit_text(e, "int is_past = f->past_%d;    /* all vectors are lines of it, past the caches */", id);
    return emit_text(e, "/* Two rows at a time are whole lines of the result, past the caches. */\n"
                     "int is_past = f->past_%d && width * %d == HALVES_%d * %d && %s == width;", id, (int)dtype_size(t->dtype), n, CONTRACT_LINE / 2, emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows)));
}

const char *tiling_piece_is_past(Emitter *e, const Tiling *t)
{
    int size = (int)dtype_size(t->dtype);
    return tiling_pairs_rows(t) ? emit_text(e, "(count == 0 || (piece->first - place %% width) * %d %% %d == 0)", size, CONTRACT_LINE)
                                : emit_text(e, "is_of_line(piece, place, %d)", size);
}

const char *tiling_lines_begin(Emitter *e, const Tiling *t, const char *at, const char *row_step)
{
    int apart = (tiling_pairs_rows(t) ? 2 : 1) * (int)dtype_size(t->dtype);
    return emit_text(e, "((uintptr_t)%s | (uint64_t)%s * %d) %% %d == 0", at, row_step, apart, CONTRACT_LINE);
}
