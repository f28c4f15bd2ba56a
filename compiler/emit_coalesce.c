/* Axes that become one when the kernel runs: where in every array rows of (i, j) follow each other, the call is one of i = 1 and
 * i * j points of j, so that short rows cost what long ones do. numpy's iterators do the same. The kernel, which is right for
 * any shapes and strides, is only called with others: coalesce() in templates/size.c. */
#include "coalesce.h"
#include "emit_nest.h"

/* The workspace is what the plan says for the shapes that the caller has, so it must not depend on them. */
static bool depends(const Size *size, const Groups *g, int group)
{
    if (!size)
        return false;
    if (size->kind == SIZE_AXIS)
        return true;
    if (size->kind == SIZE_EXTENT)
        return g->group[g->as[size->index->id]->id] == group && !g->apart[g->as[size->index->id]->id];
    return depends(size->a, g, group) || depends(size->b, g, group);
}

/* Products find long rows by themselves, and a grid's threads do not go row by row. */
static bool may_coalesce(const Emitter *e)
{
    bool may = !e->plan->target->grid;
    for (int s = 0; s < e->plan->step_count; s++)
        may &= !e->plan->steps[s]->contract;
    for (int i = 0; i < e->argument_count; i++)
        may &= !e->arguments[i].shape_only;
    return may;
}

/* An index leaves its group, whose last one is `last`. */
static void leave(Groups *g, const Index *index, const Index *last)
{
    const Index *as = index ? g->as[index->origin->id] : last;
    if (as != last && g->group[as->id] == g->group[last->id])
        g->apart[as->id] = true;
}

/* The lanes keep their loop, one that is cut into parts its points, and one that shares out work as well unless the last one
 * does, too. */
static void keep_work(const Emitter *e, Groups *g, const Index *last)
{
    for (int s = 0; s < e->plan->step_count; s++) {
        leave(g, e->plan->steps[s]->vector, last);
        leave(g, e->plan->steps[s]->split, last);
    }
    for (int l = 0; l < e->plan->launch_count; l++) {
        const Launch *launch = e->plan->launches[l];
        bool shares = false;
        for (int b = 0; b < launch->block_count; b++)
            shares |= g->as[launch->blocks[b].of_step[launch->step_count - 1]->origin->id] == last;
        for (int b = 0; b < launch->block_count && !shares; b++)
            leave(g, launch->blocks[b].of_step[launch->step_count - 1], last);
    }
}

static void emit_group(const Emitter *e, Text *text, const Groups *g, const Index *const *indices, int count, int number)
{
    int arrays = 0;
    for (int i = 0; i < e->argument_count; i++) {
        const Argument *argument = &e->arguments[i];
        if (!argument->tensor || groups_axis(g, argument->tensor, indices[0]) < 0)
            continue;
        if (!arrays++)
            text_print(text, "    const Rows rows_%d[] = {\n", number);
        text_print(text, "        { f->in.%s.shape, f->in.%s.stride, { ", argument->name, argument->name);
        for (int k = 0; k < count; k++)
            text_print(text, "%s%d", k ? ", " : "", groups_axis(g, argument->tensor, indices[k]));
        text_put(text, " } },\n");
    }
    text_print(text, "    };\n    coalesce(rows_%d, %d, %d);\n", number, arrays, count);
}

void emit_coalesce(const Emitter *e, Text *text)
{
    if (!may_coalesce(e))
        return;
    Groups g = groups_find(e->arena, e->plan->program);
    const Index **indices = ARENA_ARRAY(e->arena, const Index *, g.program->index_count);
    int number = 0;
    for (int i = 0; i < g.program->index_count; i++)    /* constants stay */
        g.apart[g.as[i]->id] |= !e->extents[i] || e->extents[i][0] != 'e' || emit_given(e, g.program->indices[i]);
    for (int group = 0; group < g.program->index_count; group++) {
        int count = groups_indices(&g, group, indices);
        if (count > 1)
            keep_work(e, &g, indices[count - 1]);
        count = groups_indices(&g, group, indices);
        if (count > 1 && count <= COALESCED_MAX && !depends(e->plan->workspace, &g, group))
            emit_group(e, text, &g, indices, count, ++number);
    }
}

/* ---- loops ---- */

/* The lanes' loop of a reduction in parts, which may have all points of a part's rows; NULL: it has those of one row. */
static const Index *long_loop(const Emitter *e, const Groups *g, const Step *step)
{
    if (!may_coalesce(e) || !step->split || !step->vector || step->vector_kept || step->vector == step->split)
        return NULL;
    for (int t = 0; t < e->plan->lowered->tensor_count; t++)
        if (e->plan->lowered->tensors[t]->rank && !e->plan->lowered->tensors[t]->home->origin)
            return NULL;
    return groups_together(g, step->split->origin, step->vector->origin) ? step->vector : NULL;
}

const char *emit_rows_follow(Emitter *e, const Step *step)
{
    if (!step->split)
        return NULL;
    Groups g = groups_find(e->arena, e->plan->program);
    const Index *inner = long_loop(e, &g, step);
    Text text = text_new(e->arena);
    for (int i = 0; inner && i < e->argument_count; i++) {
        const Argument *argument = &e->arguments[i];
        int from = argument->tensor ? groups_axis(&g, argument->tensor, step->split->origin) : -1;
        if (from >= 0)
            text_print(&text, "%sf->in.%s.stride[%d] == %s * f->in.%s.stride[%d]", text.length ? " && " : "", argument->name, from,
                       e->extents[inner->origin->id], argument->name, groups_axis(&g, argument->tensor, inner->origin));
    }
    return text.length ? text.bytes : NULL;
}

void emit_long_loop(Emitter *e, LoopBounds *loops, int count)
{
    LoopBounds *rows = NULL, *points = &loops[count - 1];
    for (int i = 0; i < count - 1; i++)
        rows = loops[i].index == e->step->split ? &loops[i] : rows;
    if (!rows || points->index != e->step->vector || !emit_rows_follow(e, e->step))
        return;
    const char *row = rows->index->name, *point = points->index->name, *flag = emit_text(e, "f->rows_follow_%d", e->step->id + 1);
    const char *from = emit_name(e, emit_text(e, "%s_from", row)), *to = emit_name(e, emit_text(e, "%s_to", row));
    emit_line(e, "const int64_t %s = %s ? 0 : %s, %s = %s ? 1 : %s;", from, flag, rows->first, to, flag, rows->end);
    const char *first = emit_name(e, emit_text(e, "%s_from", point)), *end = emit_name(e, emit_text(e, "%s_to", point));
    emit_line(e, "const int64_t %s = %s ? %s * %s : 0, %s = %s ? %s * %s : %s;", first, flag, rows->first, points->end, end, flag,
              rows->end, points->end, points->end);
    *rows = (LoopBounds){ rows->index, from, to };
    *points = (LoopBounds){ points->index, first, end };
}
