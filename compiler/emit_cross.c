/* A map of operands that lie along another kept index than the lanes: as many points of it as there are lanes go together, for
 * which squares of those operands are turned. */
#include "emitting.h"

/* The same as numbers as wide as the lanes have them, and the next square is asked for. */
static const char *emit_wide(Emitter *e, Dtype narrow, const char *from, const char *step, const char *apart, const char *soon)
{
    const char *name = emit_name(e, "wide"), *row = emit_name(e, "row"), *wide = dtype_name(register_dtype(narrow));
    emit_line(e, "%s %s[LANES * LANES];", dtype_c(register_dtype(narrow)), name);
    emit_line(e, "for (int %s = 0; %s < %s; %s++) {", row, row, e->scope->count, row);
    emit_line(e, "    PREFETCH_FAR(%s + %s * %s);", soon, row, step);
    emit_line(e, "    store_%sv(%s + %s * LANES, 1, load_%sv(%s + %s * %s, %s, points), points);", wide, name, row, dtype_name(narrow),
              from, row, step, apart);
    emit_line(e, "}");
    return name;
}

enum { SQUARES_AHEAD = 6 };

/* The square of an operand: a row for each point. The next vector's square is asked for, or one that is further along its own rows. */
static const char *emit_square(Emitter *e, const Term *read, const char *first)
{
    const Dtype dtype = register_dtype(read->dtype);
    const Tensor *tensor = read->read.tensor;
    const Position *positions = read->read.positions;
    const Index *vector = e->step->vector;
    const char *name = emit_name(e, "square"), *step = emit_stride(e, tensor, positions, vector);
    emit_push(e);
    emit_bind(e, e->step->crossed, first);
    const char *from = emit_pointer(e, read);
    if (e->step->crossed_last)
        emit_bind(e, e->step->crossed, emit_text(e, "(%s + %d * LANES)", first, SQUARES_AHEAD));
    else
        emit_bind(e, vector, emit_text(e, "(%s + LANES)", emit_bound(e, vector)));
    const char *soon = emit_pointer(e, read);
    emit_pop(e);
    const char *apart = emit_stride(e, tensor, positions, e->step->crossed);
    if (dtype != read->dtype) {
        from = soon = emit_wide(e, read->dtype, from, step, apart, soon);
        step = "LANES";
        apart = "1";
    }
    emit_line(e, "%s %s[LANES * LANES];", dtype_c(dtype), name);
    emit_line(e, "turn_%s(%s, LANES, 1, %s, %s, %s, %s, points,", dtype_name(dtype), name, from, step, apart, e->scope->count);
    emit_line(e, "        %s, %s);", soon, step);
    return name;
}

void emit_crossed(Emitter *e, const char *first)
{
    const Step *step = e->step;
    const char **squares = ARENA_ARRAY(e->arena, const char *, step->crossing_count);
    for (int i = 0; i < step->crossing_count; i++)
        squares[i] = emit_square(e, step->crossing[i], first);
    Scope *body = emit_push(e);
    const char *name = emit_name(e, step->crossed->name);
    body->count = "count";
    emit_bind(e, step->crossed, name);
    emit_line(e, "const int64_t %s = %s + point;", name, first);
    for (int i = 0; i < step->crossing_count; i++) {
        const char *dtype = dtype_name(register_dtype(step->crossing[i]->dtype));
        const char *row = emit_text(e, "load_%sv(%s + point * LANES, 1, count)", dtype, squares[i]);
        emit_know(e, step->crossing[i], (Value){ row, true });
    }
    for (int o = 0; o < step->statement->output_count; o++)
        emit_store(e, &step->statement->outputs[o]);
    emit_pop(e);
    emit_line(e, "for (int point = 0; point < points; point++) {");
    emit_body(e, body);
    emit_line(e, "}");
}
