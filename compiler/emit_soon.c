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

/* In elements: some vectors where what follows in memory is read next, or a row is long, and a row where rows are near. */
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
    return emit_text(e, "%s == %s * %s || %s ? %s : 0", outer, extent, along, is_long, vectors);
}

void emit_begin_asks(Emitter *e)
{
    e->asks = ARENA_ARRAY(e->arena, const char *, e->step->ask_count);
    for (int i = 0; i < e->step->ask_count; i++) {
        const Ask *ask = &e->step->asks[i];
        e->asks[i] = emit_name(e, emit_text(e, "%s_soon", e->pointers[ask->read->read.tensor->home->id]));
        emit_line(e, "const int64_t %s = %s;", e->asks[i], distance(e, ask));
    }
}

/* A vector's lines. */
void emit_ask_for(Emitter *e, const Term *read)
{
    bool whole = !e->scope->count || !strcmp(e->scope->count, "count");
    int size = (int)dtype_size(read->dtype), lines = size * e->plan->lanes / CONTRACT_LINE;
    for (int i = 0; e->asks && i < e->step->ask_count && e->lanes && whole && !e->merging; i++)
        for (int line = 0; e->step->asks[i].read == read && (line < lines || line == 0); line++)
            emit_line(e, line ? "PREFETCH_FAR(%s + %s + %d);" : "PREFETCH_FAR(%s + %s);", emit_pointer(e, read), e->asks[i],
                      line * CONTRACT_LINE / size);
}
