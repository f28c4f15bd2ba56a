/* Packing of columns whose points lie side by side along the outermost contracted index, while others are inside of it: a
 * panel has those points far apart. Squares of columns and such points are turned, one for each point of the others. */
#include "emit_tiling.h"

/* One point of the others: whole vectors of the outermost one's. Where the next point has them is asked for. */
static void pack_square(Emitter *e, Tiling *t)
{
    const IndexSet *depth = &t->c->depth;
    const Index *column = tiling_last(&t->c->columns), *outer = depth->list[0], *inner = tiling_last(depth);
    const Tensor *tensor = t->c->right->read.tensor;
    const Position *positions = t->c->right->read.positions;
    const char *name = t->names[outer->id], *step = emit_stride(e, tensor, positions, column), *apart = "";
    for (int i = 1; i < depth->count; i++)
        apart = emit_text(e, "%s%s * ", apart, tiling_words_along(e, t, i));
    Scope *body = emit_push(e);
    emit_bind(e, outer, name);
    emit_bind(e, column, emit_text(e, "(%s + v * LANES)", t->names[column->id]));
    emit_line(e, "const %s *from = %s;", emit_element(t->dtype), emit_pointer(e, t->c->right));
    emit_line(e, "turn_%s(to + (%s - from_point) * %sCOLUMNS_%d, %sCOLUMNS_%d, 1, from, %s, %s,", dtype_name(t->dtype), name, apart,
              t->number, apart, t->number, step, emit_stride(e, tensor, positions, outer));
    emit_line(e, "        (int)size_min(LANES, count - v * LANES), (int)size_min(LANES, to_point - %s), from + %s, %s);", name,
              emit_stride(e, tensor, positions, inner), step);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = from_point; %s < to_point; %s += LANES) {", name, name, name);
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "to += COLUMNS_%d;", t->number);
}

static void inner_loops(Emitter *e, Tiling *t, int level)
{
    if (level == t->c->depth.count) {
        pack_square(e, t);
        return;
    }
    const Index *index = t->c->depth.list[level];
    const char *name = t->names[index->id];
    Scope *body = emit_push(e);
    emit_bind(e, index, name);
    inner_loops(e, t, level + 1);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s++) {", name, name, emit_extent(e, index), name);
    emit_body(e, body);
    emit_line(e, "}");
}

void tiling_pack_within(Emitter *e, Tiling *t)
{
    inner_loops(e, t, 1);
}
