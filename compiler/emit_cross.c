/* A map of operands that lie along another kept index than the lanes: as many points of it as there are lanes go together, for
 * which squares of those operands are turned. */
#include "emitting.h"

/* Whether a turn of the lanes' loop is several vectors of a result that may go past the caches: a strip, or a line, for what is stored
 * there in parts of lines waits for the others. What else is read there comes a line from each of some rows, of which fewer would be on
 * their way at once. */
static bool turns_lines(const Emitter *e)
{
    const Step *step = e->step;
    const int vector = e->plan->lanes * (int)dtype_size(step->statement->outputs[0].tensor->dtype);
    return step->strip || (step->crossed_alone && step->result && vector < CONTRACT_LINE);
}

const char *emit_turn(Emitter *e)
{
    if (e->step->strip)
        return emit_text(e, "%d", e->step->strip);
    return turns_lines(e) ? emit_text(e, "LINE(%s)", dtype_c(e->step->statement->outputs[0].tensor->dtype)) : "LANES";
}

/* The same as numbers as wide as the lanes have them, and the next square is asked for. */
static const char *emit_wide(Emitter *e, Dtype narrow, const char *from, const char *step, const char *apart, const char *soon)
{
    const char *name = emit_name(e, "wide"), *row = emit_name(e, "row"), *wide = dtype_name(register_dtype(narrow));
    emit_line(e, "%s %s[%s * LANES];", dtype_c(register_dtype(narrow)), name, emit_turn(e));
    emit_line(e, "for (int %s = 0; %s < %s; %s++) {", row, row, e->scope->count, row);
    emit_line(e, "    PREFETCH_FAR(%s + %s * %s);", soon, row, step);
    emit_line(e, "    store_%sv(%s + %s * LANES, 1, load_%sv(%s + %s * %s, %s, points), points);", wide, name, row, dtype_name(narrow),
              from, row, step, apart);
    emit_line(e, "}");
    return name;
}

enum { SQUARES_AHEAD = 6, STRIP_AHEAD = 2 };

/* The square of an operand: a row for each point. The next vector's square is asked for, or one that is further along its own rows. */
static const char *emit_square(Emitter *e, const Term *read, const char *first, const char *first_lane)
{
    const Dtype dtype = register_dtype(read->dtype);
    const Tensor *tensor = read->read.tensor;
    const Position *positions = read->read.positions;
    const Index *vector = e->step->vector;
    const char *name = emit_name(e, "square"), *step = emit_stride(e, tensor, positions, vector);
    emit_push(e);
    emit_bind(e, e->step->crossed, first);
    emit_bind(e, vector, first_lane);
    const char *from = emit_pointer(e, read);
    if (e->step->crossed_last)
        emit_bind(e, e->step->crossed, emit_text(e, "(%s + %d * LANES)", first, SQUARES_AHEAD));
    else
        emit_bind(e, vector, e->step->strip ? emit_text(e, "(%s + %d * LANES)", first_lane, STRIP_AHEAD)
                                            : emit_text(e, "(%s + %s)", first_lane, emit_turn(e)));
    const char *soon = emit_pointer(e, read);
    emit_pop(e);
    const char *apart = emit_stride(e, tensor, positions, e->step->crossed);
    if (dtype != read->dtype) {
        from = soon = emit_wide(e, read->dtype, from, step, apart, soon);
        step = "LANES";
        apart = "1";
    }
    emit_line(e, "%s %s[%s * LANES];", dtype_c(dtype), name, emit_turn(e));
    const char *rows = e->scope->count, *row = emit_name(e, "row");
    if (turns_lines(e)) {
        emit_line(e, "for (int %s = 0; %s < %s; %s += LANES)", row, row, rows, row);
        e->scope->indent++;
        from = emit_text(e, "%s + %s * %s", from, row, step);
        soon = emit_text(e, "%s + %s * %s", soon, row, step);
        rows = emit_text(e, "(int)size_min(LANES, %s - %s)", rows, row);
    }
    emit_line(e, "turn_%s(%s%s, %s, 1, %s, %s, %s, %s, points,", dtype_name(dtype), name, turns_lines(e) ? emit_text(e, " + %s", row) : "",
              emit_turn(e), from, step, apart, rows);
    emit_line(e, "        %s, %s);", soon, step);
    e->scope->indent -= turns_lines(e);
    return name;
}

/* What is stored of one vector of the squares' rows. */
static void store_vector(Emitter *e, const char *const *squares, const char *lane)
{
    const Step *step = e->step;
    for (int i = 0; i < step->crossing_count; i++) {
        const char *dtype = dtype_name(register_dtype(step->crossing[i]->dtype));
        const char *row = emit_text(e, "load_%sv(%s + point * %s%s, 1, %s)", dtype, squares[i], emit_turn(e), lane, e->scope->count);
        emit_know(e, step->crossing[i], (Value){ row, true });
    }
    for (int o = 0; o < step->statement->output_count; o++)
        emit_store(e, &step->statement->outputs[o]);
}

/* Of a strip, the numbers before the first whole line, which go through the caches, as do those behind the last, and how many of them
 * come first so that whole vectors follow. */
static const char *emit_ends(Emitter *e, const char *first_lane, const char *lane)
{
    const Output *output = &e->step->statement->outputs[0];
    const char *lead = emit_name(e, "lead"), *tail = emit_name(e, "tail"), *line = emit_text(e, "LINE(%s)", dtype_c(output->tensor->dtype));
    emit_push(e);
    emit_bind(e, e->step->vector, first_lane);
    const char *target = emit_target(e, output), *stride = emit_stride(e, output->tensor, output->positions, e->step->vector);
    emit_pop(e);
    emit_line(e, "const int %s = (int)size_min(stream_lead(%s, %s, %d, %s, f->past_%d), count);", lead, target, stride,
              (int)dtype_size(output->tensor->dtype), line, e->step->id + 1);
    emit_line(e, "const int %s = count - (count - %s) %% %s;", tail, lead, line);
    e->past = emit_text(e, "%s >= %s && %s < %s ? f->past_%d : 0", lane, lead, lane, tail, e->step->id + 1);
    return emit_text(e, "%s %% LANES > 0 ? %s %% LANES : LANES", lead, lead);
}

/* What is stored of one row of the squares. */
static void store_vectors(Emitter *e, const char *const *squares, const char *first_lane)
{
    const Step *step = e->step;
    const char *lane = emit_name(e, "offset"), *next = emit_name(e, "next"), *first = step->strip ? emit_ends(e, first_lane, lane) : "LANES";
    Scope *vector = emit_push(e);
    const char *at = emit_name(e, step->vector->name);
    vector->count = emit_name(e, "lanes");
    emit_line(e, "const int64_t %s = %s + %s;", at, first_lane, lane);
    emit_line(e, "const int %s = (int)size_min(%s, count) - %s;", vector->count, next, lane);
    emit_bind(e, step->vector, at);
    store_vector(e, squares, emit_text(e, " + %s", lane));
    e->past = NULL;
    emit_pop(e);
    emit_line(e, "for (int %s = 0, %s = %s; %s < count; %s = %s, %s += LANES) {", lane, next, first, lane, lane, next, next);
    emit_body(e, vector);
    emit_line(e, "}");
}

void emit_crossed(Emitter *e, const char *first, const char *first_lane)
{
    const Step *step = e->step;
    const char **squares = ARENA_ARRAY(e->arena, const char *, step->crossing_count);
    if (!turns_lines(e))
        emit_bind(e, step->vector, first_lane);
    for (int i = 0; i < step->crossing_count; i++)
        squares[i] = emit_square(e, step->crossing[i], first, first_lane);
    Scope *body = emit_push(e);
    const char *name = emit_name(e, step->crossed->name);
    body->count = "count";
    emit_bind(e, step->crossed, name);
    emit_line(e, "const int64_t %s = %s + point;", name, first);
    if (!turns_lines(e)) {
        store_vector(e, squares, "");
    } else {
        store_vectors(e, squares, first_lane);
    }
    emit_pop(e);
    emit_line(e, "for (int point = 0; point < points; point++) {");
    emit_body(e, body);
    emit_line(e, "}");
}
