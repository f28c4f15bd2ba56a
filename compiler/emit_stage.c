/* The stage: where runs of columns are put together that are no whole lines of a result which goes past the caches. Its lines
 * leave one at each point of the tiles to come, since many at once would keep all that comes from the second cache waiting. */
#include "emit_tiling.h"

bool tiling_has_stage(const Tiling *t)
{
    return t->in_pieces && t->may_pass && t->c->stages;
}

/* Runs of columns that are no whole lines, while rows follow each other without a gap: some tiles' are put together, and all rows
 * of a block go past the caches as one run. Those of a tile wait for the next one, which does not take the place of any: there is
 * room for two tiles and a run. */
void tiling_find_stage(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    emit_line(e, "%s stage[STAGE_%d];    /* runs of columns as the result has them, until they are whole */", dtype_c(t->dtype), t->number);
    emit_line(e, "int64_t group = COLUMNS_%d;    /* columns of whole tiles, and of several whole runs */", t->number);
    emit_line(e, "const int64_t waiting = 2 * COLUMNS_%d + width;", t->number);
    emit_line(e, "while (is_placed && (group < waiting || group %% width != 0) && group * ROWS_%d <= STAGE_%d)", t->number, t->number);
    emit_line(e, "    group += COLUMNS_%d;", t->number);
    emit_line(e, "const int64_t pitch = size_min(%s, ROWS_%d * BLOCK_%d) * width;", tiling_extent_here(e, tiling_last(&t->c->rows)), t->number,
              t->number);
    emit_line(e, "const int is_staged = f->past_%d && is_placed && width * %d %% %d != 0 && group >= waiting && group %% width == 0 &&",
              t->step->id + 1, (int)dtype_size(t->dtype), CONTRACT_LINE);
    emit_line(e, "    %s == width && group / width * pitch <= STAGE_%d;",
              emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows)), t->number);
}

const char *tiling_stage_offset(Emitter *e, const char *place)
{
    return emit_text(e, "%s %% group / width * pitch + %s %% group %% width", place, place);
}

/* The copy of the next run that leaves the stage. */
static const char *next_run(Emitter *e, const Tiling *t, const char *first_row)
{
    const Index *row = tiling_last(&t->c->rows);
    emit_push(e);
    for (int i = 0; i < t->c->columns.count; i++)
        emit_bind(e, t->c->columns.list[i], tiling_first(e, t->c->columns.list[i]));
    emit_bind(e, row, first_row);
    e->lanes = false;
    const char *target = emit_target(e, &t->step->statement->outputs[0]);
    e->lanes = true;
    emit_pop(e);
    return emit_text(e, "begin_run(%s + runs_%d[next], stage + next %% (group / width) * pitch, (%s_stop - %s) * width * %d)", target, t->number,
                     t->names[row->id], first_row, (int)dtype_size(t->dtype));
}

const char *tiling_begin_leaving(Emitter *e, const Tiling *t, const char *first_row)
{
    if (!tiling_has_stage(t))
        return "";
    return emit_text(e, "/* Runs that ended in the tile before leave beside the products: what was just stored is not yet to be read. */\n"
                     "Run queue[VECTORS_%d + 2], *end = queue, *leaving = queue;\n"
                     "for (; is_staged && is_last && (next + 1) * width <= tile_place; next++) {\n"
                     "    *end = %s;\n    end += end->lines > 0;\n}\nend->lines = 0;\n", t->number, next_run(e, t, first_row));
}

const char *tiling_leave(Emitter *e, const Tiling *t)
{
    const char *row = t->names[tiling_last(&t->c->rows)->id];
    if (!tiling_has_stage(t))
        return "";
    return emit_text(e, "leaving = leave_runs(leaving, end, size_min(leaving->lines, points), size_ceil_div(%s_stop - %s - height, ROWS_%d));\n",
                     row, row, t->number);
}

void tiling_leave_last(Emitter *e, const Tiling *t, const char *first_row)
{
    if (!tiling_has_stage(t))
        return;
    emit_line(e, "for (; is_staged && is_last && (next + 1) * width <= columns; next++) {");
    emit_line(e, "    Run last = %s;", next_run(e, t, first_row));
    emit_line(e, "    leave_runs(&last, &last + 1, 0, 0);");
    emit_line(e, "}");
}

void tiling_find_runs(Emitter *e, const Tiling *t)
{
    emit_line(e, "for (int64_t r = 0; is_staged && (r + 1) * width <= columns; r++) {");
    emit_line(e, "    const int64_t at = r * width;");
    emit_line(e, "    runs_%d[r] = %s;", t->number, tiling_piece_offset(e, t, "at"));
    emit_line(e, "}");
}

const char *tiling_ahead_lines(Emitter *e, const Tiling *t, const char *indent)
{
    const char *later = e->plan->target->by_pages ? "line_of_pages(ahead + PAGES_BYTES)" : emit_text(e, "ahead + %d", STREAM_AHEAD);
    const char *further = tiling_asks_further(t) ? emit_text(e, "PREFETCH_FAR(%s);\n", later) : "";
    const char *comes = tiling_has_coming(e, t) ? tiling_coming_lines(e, t) : emit_text(e, "PREFETCH(ahead);\n%s", further);
    Text text = text_new(e->arena);
    if (tiling_has_stage(t)) {
        Text leaves = text_new(e->arena);
        text_put(&leaves, "if (k < lines) {\n    leave_line(to, to + from);\n    to += 64;\n} else {\n");
        tiling_lines(&leaves, "    ", comes);
        text_put(&leaves, "}");
        comes = leaves.bytes;
    }
    tiling_lines(&text, indent, comes);
    return text.bytes;
}

const char *tiling_before_points(Emitter *e, const Tiling *t, bool is_tight)
{
    const char *run = "    char *to = leaving->to;\n    const int64_t lines = leaving->lines, from = leaving->from - to;\n";
    const char *asked = "    int64_t runs_left = asked->runs_left, lines_left = asked->lines_left;\n";
    return emit_text(e, "%s%s%s    %s\n", tiling_has_stage(t) ? run : "", tiling_coming_start(e, t), tiling_asks_in_order(e, t) ? asked : "",
                     is_tight ? "UNROLL_SOME" : "UNROLL_TWICE");
}
