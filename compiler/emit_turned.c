/* A step that copies squares and exchanges their rows and columns: from operands that lie along another index than the
 * lanes run along, and to such results. */
#include <string.h>

#include "emitting.h"
#include "turn.h"

/* One side of the copy. */
typedef struct Side {
    const Tensor *tensor;
    const Position *positions;
} Side;

static const char *stride_along(Emitter *e, Side side, const Index *index)
{
    return emit_stride(e, side.tensor, side.positions, index);
}

/* Where the caller's tensor and the temporary go on evenly from one index to the next, the two are one, so that short ones
 * fill a square together. */
static void join(Emitter *e, Side from, Side to, const Index *outer, const char *inner_end, const char *outer_end)
{
    const Index *inner = e->step->turned;
    const char *condition = "";
    Side sides[] = { from, to };
    for (int s = 0; s < 2; s++)
        condition = emit_text(e, "%s%s%s == %s * %s", condition, s ? " && " : "", stride_along(e, sides[s], outer), inner_end,
                              stride_along(e, sides[s], inner));
    emit_line(e, "if (%s) {", condition);
    emit_line(e, "    %s *= %s;", inner_end, outer_end);
    emit_line(e, "    %s = 1;", outer_end);
    emit_line(e, "}");
}

/* The kept indices outside of the square, innermost first as the caller's tensor has them. */
static int list_outer(const Step *step, Side caller, const Index *outer[])
{
    int count = 0;
    for (int a = caller.tensor->rank - 1; a >= 0; a--) {
        const Index *index = caller.positions[a].parts[0].index;
        if (index != step->vector && index != step->turned)
            outer[count++] = index;
    }
    return count;
}

static const char *here(Emitter *e, bool out)
{
    const Output *output = &e->step->statement->outputs[0];
    return out ? emit_target(e, output) : emit_pointer(e, turn_read(output->value));
}

/* How many rows of a square: a result's that goes past the caches goes there in lines. */
static const char *rows_at_once(Emitter *e)
{
    const Step *step = e->step;
    return !step->result ? "LANES" : emit_text(e, "LINE(%s)", dtype_c(step->statement->outputs[0].tensor->dtype));
}

/* `down` along the lanes' index, `across` along that of the caller's tensor; of the caller's, what the next block has there
 * is prefetched. */
static void emit_square(Emitter *e, Side from, Side to, const LoopBounds *down, const LoopBounds *across, bool out)
{
    const LoopBounds *row = out ? across : down, *column = out ? down : across;
    const char *rows = emit_text(e, "(int)size_min(%s, %s - %s)", rows_at_once(e), row->end, emit_bound(e, row->index));
    const char *columns = emit_text(e, "(int)size_min(LANES, %s - %s)", column->end, emit_bound(e, column->index));
    const char *target = here(e, true), *source = here(e, false);
    emit_push(e);
    const char *at = emit_bound(e, down->index);
    emit_bind(e, down->index, e->block_first[down->index->id] ? emit_text(e, "(%s + %s - %s)", at, down->end, down->first)
                                                              : emit_text(e, "(%s + LANES)", at));
    const char *soon = here(e, out);
    emit_pop(e);
    const char *past = e->step->result ? emit_text(e, ", f->past_%d", e->step->id + 1) : "";
    const char *widened = from.tensor->dtype != to.tensor->dtype ? emit_text(e, "_%s", dtype_name(from.tensor->dtype)) : "";
    emit_line(e, "turn_%s%s%s(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s%s);", past[0] ? "past_" : "", dtype_name(to.tensor->dtype), widened, target,
              stride_along(e, to, column->index), stride_along(e, to, row->index), source, stride_along(e, from, row->index),
              stride_along(e, from, column->index), rows, columns, soon, stride_along(e, out ? to : from, e->step->vector), past);
}

/* A loop's bounds: those of its block, if it has one, of which this may be one point. */
static LoopBounds bounds_of(Emitter *e, const Index *index)
{
    const char *now = e->block_now[index->id];
    if (now)
        return (LoopBounds){ (Index *)index, now, emit_text(e, "%s + 1", now) };
    LoopBounds bounds = { (Index *)index, e->block_first[index->id], e->block_end[index->id] };
    bounds.end = bounds.first ? bounds.end : emit_extent(e, index);
    bounds.first = bounds.first ? bounds.first : "0";
    return bounds;
}

/* The end of a loop that may join others, as a variable. */
static void name_end(Emitter *e, LoopBounds *loop)
{
    const char *name = emit_name(e, emit_text(e, "%s_to", loop->index->name));
    emit_line(e, "int64_t %s = %s;", name, loop->end);
    loop->end = name;
}

static void open_loop(Emitter *e, const LoopBounds *loop, const char *step)
{
    const char *name = emit_bound(e, loop->index);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s%s)", name, loop->first, name, loop->end, name, step);
    e->scope->indent++;
}

static const char *emit_body_of(Emitter *e)
{
    const Step *step = e->step;
    const Output *output = &step->statement->outputs[0];
    const Term *read = turn_read(output->value);
    Side from = { read->read.tensor, read->read.positions }, to = { output->tensor, output->positions };
    bool out = e->plan->storage[to.tensor->home->id].place == PLACE_CALLER;
    const Index *outer[RANK_MAX];
    LoopBounds loops[RANK_MAX], across = bounds_of(e, step->turned), down = bounds_of(e, step->vector);
    int count = list_outer(step, out ? to : from, outer);
    Scope *body = emit_push(e);
    body->indent = 1;
    for (int i = 0; i < step->loop_count; i++)
        emit_bind(e, step->loops[i], names_user(&body->names, step->loops[i]->name));
    bool joins = !e->block_first[step->turned->id];
    if (joins)
        name_end(e, &across);
    for (int i = 0; i < count; i++) {
        loops[i] = bounds_of(e, outer[i]);
        if (!joins || e->block_first[outer[i]->id])
            continue;
        name_end(e, &loops[i]);
        join(e, from, to, outer[i], across.end, loops[i].end);
    }
    for (int i = count - 1; i >= 0; i--)
        open_loop(e, &loops[i], "++");
    open_loop(e, &down, " += LANES");
    open_loop(e, &across, emit_text(e, " += %s", rows_at_once(e)));
    emit_square(e, from, to, &down, &across, out);
    emit_pop(e);
    return body->text.bytes;
}

void emit_turned(Emitter *e)
{
    const char *name = emit_text(e, "step_%d", e->step->id + 1), *body = emit_body_of(e);
    const char *text = emit_text(e, "%s%s", emit_locals(e, body), body);
    ParameterSet set = emit_common_parameters(e);
    text_print(&e->functions, "/* %s, in squares whose rows become columns */\nKERNEL static void %s(%s)\n{\n%s}\n\n",
               emit_formula(e), name, emit_parameters(e, &set, text, true), text);
    e->calls[0][e->step->id] = emit_text(e, "%s(%s);", name, emit_parameters(e, &set, text, false));
}
