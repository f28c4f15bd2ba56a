/* What a step asks for before its turn: compiler/plan_ahead.c. How far ahead is known when the kernel runs, once for all of a row. */
#include <string.h>

#include "emitting.h"

/* The axis that an index stands at. */
static int axis_of(const Term *read, const Index *index)
{
    int a = 0;
    while (read->read.positions[a].parts[0].index != index)
        a++;
    return a;
}

/* In elements: some vectors where what follows in memory is read next, or a row is long, else as many rows as have so many; and one row where
 * rows are near. */
static const char *distance(Emitter *e, const Ask *ask)
{
    const Tensor *tensor = ask->read->read.tensor;
    const Position *at = ask->read->read.positions;
    const char *along = emit_stride(e, tensor, at, e->step->vector), *vectors = emit_text(e, "%d * LANES * %s", ask->vectors, along);
    const char *extent = emit_extent(e, e->step->vector), *is_long = emit_text(e, "%s > %d * LANES", extent, ASK_LONG * ask->vectors);
    int a = axis_of(ask->read, e->step->vector);
    if (ask->row) {
        const char *row = emit_stride(e, tensor, at, ask->row);
        return emit_text(e, "%s <= %d ? %s : %s ? %s : 0", row, ask->near, ask->is_last ? row : "0", is_long, vectors);
    }
    if (a == 0)
        return vectors;
    const char *outer = emit_stride(e, tensor, at, at[a - 1].parts[0].index);
    return emit_text(e, "%s == %s * %s || %s ? %s : size_max(%d * LANES / size_max(%s, 1), 1) * %s", outer, extent, along, is_long, vectors,
                     ask->vectors, extent, outer);
}

static void begin_ask(Emitter *e, const Ask *ask)
{
    const char *name = emit_name(e, emit_text(e, "%s_soon", e->pointers[ask->read->read.tensor->home->id]));
    emit_line(e, "const int64_t %s = %s;", name, distance(e, ask));
    e->asks[ask->read->id] = name;
}

/* Of rows that go together, along which the lanes run: nest_ask_ahead() asks for them. */
static void begin_ahead(void *user, const Term *term)
{
    Emitter *e = user;
    const Ask ask = { .read = term, .vectors = e->step->ahead };
    bool is_plain = term->kind == TERM_READ && term_has_index(term, e->step->jammed) && term_has_index(term, e->step->vector);
    for (int a = 0; is_plain && a < term->read.tensor->rank; a++)
        is_plain = position_is_plain(&term->read.positions[a]);
    if (is_plain && !e->asks[term->id])
        begin_ask(e, &ask);
}

void emit_begin_asks(Emitter *e)
{
    const Step *step = e->step;
    e->asks = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->term_count);
    for (int i = 0; i < step->ask_count; i++)
        begin_ask(e, &step->asks[i]);
    for (int r = 0; step->ahead && step->jammed && !step->split && !step->vector_kept && r < step->root_count; r++)
        term_each_below(e->arena, step->roots[r]->reduce.argument, begin_ahead, e);
}

/* A vector's lines. */
void emit_ask_for(Emitter *e, const Term *read)
{
    bool whole = !e->scope->count || !strcmp(e->scope->count, "count");
    int size = (int)dtype_size(read->dtype), lines = size * e->plan->lanes / CONTRACT_LINE;
    if (!e->asks || !e->asks[read->id] || e->step->jammed || !e->lanes || !whole || e->merging)
        return;
    for (int line = 0; line < lines || line == 0; line++)
        emit_line(e, line ? "PREFETCH_FAR(%s + %s + %d);" : "PREFETCH_FAR(%s + %s);", emit_pointer(e, read), e->asks[read->id],
                  line * CONTRACT_LINE / size);
}
