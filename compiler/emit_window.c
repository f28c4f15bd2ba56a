/* Windows: a unit of work's rows with each number once, where rows share them, and where a tile finds them: see Window. */
#include <stdlib.h>
#include <string.h>

#include "emit_tiling.h"

/* How many points an axis has, as C. */
static const char *axis_span(Emitter *e, const Tiling *t, const WindowAxis *axis)
{
    const IndexSet *depth = &t->c->depth;
    const char *rows = axis->row ? tiling_extent_here(e, axis->row) : NULL, *points = NULL;
    if (axis->point && axis->point == depth->list[0])
        points = t->c->sweep ? "sweep_to - sweep_from" : tiling_extent_here(e, axis->point);
    else if (axis->point)
        points = emit_extent(e, axis->point);
    return !points ? rows : !rows ? points
           : emit_text(e, "size_span(%s, %lld, %s, %lld)", emit_bare(e, rows), llabs(axis->row_factor), points, llabs(axis->point_factor));
}

static const char *span_name(Emitter *e, const Tiling *t, const WindowAxis *axis)
{
    return emit_text(e, "%s_span", t->names[window_base(axis)->id]);
}

/* How far a pair with a negative factor reaches before where the first of both indices is: x[h - r] does by the points but one. */
static const char *back_name(Emitter *e, const Tiling *t, const WindowAxis *axis)
{
    return axis->row_factor < 0 || axis->point_factor < 0 ? emit_text(e, "%s_back", t->names[window_base(axis)->id]) : NULL;
}

/* Where the index begins that an axis' points are taken as. */
static const char *base_first(Emitter *e, const Tiling *t, const WindowAxis *axis)
{
    const char *back = back_name(e, t, axis), *first = "0";
    if (window_base(axis) == axis->row)
        first = tiling_first(e, axis->row);
    else if (axis->row)
        first = emit_text(e, "%s * %lld", tiling_first(e, axis->row), (long long)axis->row_factor);
    else if (axis->point == t->c->depth.list[0])
        first = tiling_depth_first(e, t);
    return !back ? first : strcmp(first, "0") ? emit_text(e, "%s - %s", first, back) : emit_text(e, "-%s", back);
}

/* The spans of all axes but the first are what those before are apart. */
static void declare_spans(Emitter *e, const Tiling *t)
{
    const Window *window = t->c->window;
    for (int i = 0; i < window->count; i++) {
        const WindowAxis *axis = &window->axes[i];
        const char *back = back_name(e, t, axis);
        emit_line(e, "const int64_t %s = %s;", span_name(e, t, axis), emit_bare(e, axis_span(e, t, axis)));
        if (back) {
            const char *others = emit_text(e, "%s - 1", axis->row_factor < 0 ? tiling_extent_here(e, axis->row) : emit_extent(e, axis->point));
            long long factor = llabs(axis->row_factor < 0 ? axis->row_factor : axis->point_factor);
            emit_line(e, "const int64_t %s = %s;", back, factor == 1 ? others : emit_text(e, "(%s) * %lld", others, factor));
        }
    }
}

/* An index less where it begins. */
static const char *less(Emitter *e, const char *name, const char *first)
{
    const char *subtracted = strpbrk(first, "+-") ? emit_text(e, "(%s)", first) : first;
    return strcmp(first, "0") ? emit_text(e, "(%s - %s)", name, subtracted) : name;
}

/* Where a point is whose place along each axis is at[axis], NULL for its beginning. */
static const char *place_in(Emitter *e, const Tiling *t, const char *const *at)
{
    const Window *window = t->c->window;
    const char *place = NULL;
    for (int i = 0; i < window->count; i++) {
        if (place)
            place = emit_text(e, "%s * %s", strchr(place, ' ') && strstr(place, " + ") ? emit_text(e, "(%s)", place) : place,
                              span_name(e, t, &window->axes[i]));
        if (at[i])
            place = place ? emit_text(e, "%s + %s", place, at[i]) : at[i];
    }
    return place ? place : "0";
}

/* The window's values, by vectors of the last axis. The other index of a pair is 0 meanwhile. */
const char *tiling_pack_window(Emitter *e, Tiling *t)
{
    const Window *window = t->c->window;
    const WindowAxis *last = &window->axes[window->count - 1];
    LoopBounds *loops = ARENA_ARRAY(e->arena, LoopBounds, window->count);
    const char **at = ARENA_ARRAY(e->arena, const char *, window->count);
    tiling_open(e, t, window_base(last));
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    for (int i = 0; i < window->count; i++) {
        const WindowAxis *axis = &window->axes[i];
        Index *base = window_base(axis);
        const char *first = base_first(e, t, axis);
        if (axis->row && axis->point)
            emit_bind(e, base == axis->row ? axis->point : axis->row, "0");
        loops[i] = (LoopBounds){ base, first, strcmp(first, "0") ? emit_text(e, "%s + %s", first, span_name(e, t, axis)) : span_name(e, t, axis) };
        at[i] = less(e, t->names[base->id], first);
    }
    declare_spans(e, t);
    const Masked masked = { t->c->left, window_base(last), loops, window->count - 1, &loops[window->count - 1],
                            emit_text(e, "packed_%d + %s", t->number, place_in(e, t, at)) };
    tiling_pack_masked(e, t, &masked);
    return tiling_close(e);
}

/* How far one more of an index is, of a row or of a contracted one, in the window; "0" where it has none. *sign: which way. */
static const char *window_step(Emitter *e, const Tiling *t, const Index *index, char *sign)
{
    const Window *window = t->c->window;
    const char *step = "0";
    *sign = '+';
    for (int i = 0; i < window->count; i++) {
        const WindowAxis *axis = &window->axes[i];
        int64_t factor = axis->row == index ? axis->row_factor : axis->point_factor;
        if (axis->row == index || axis->point == index) {
            step = emit_text(e, "%lld", llabs(factor));
            *sign = factor < 0 ? '-' : '+';
        } else if (strcmp(step, "0")) {
            step = strcmp(step, "1") ? emit_text(e, "%s * %s", step, span_name(e, t, axis)) : span_name(e, t, axis);
        }
    }
    return step;
}

/* Where the first of all indices is in the window. */
static const char *window_origin(Emitter *e, const Tiling *t)
{
    const Window *window = t->c->window;
    const char **at = ARENA_ARRAY(e->arena, const char *, window->count);
    for (int i = 0; i < window->count; i++)
        at[i] = back_name(e, t, &window->axes[i]);
    return place_in(e, t, at);
}

/* Packs the window of a unit's rows, and notes where a row has each contracted point. */
void tiling_make_window(Emitter *e, const Tiling *t, const char *pack)
{
    const IndexSet *depth = &t->c->depth;
    const char *spot = "", *origin;
    declare_spans(e, t);
    emit_line(e, "%s;", pack);
    if (strcmp(origin = window_origin(e, t), "0"))
        spot = origin;
    emit_line(e, "int64_t *spot = spots_%d;    /* where a row has each contracted point, from its first one on */", t->number);
    for (int i = 0; i < depth->count; i++) {
        char sign;
        const char *name = t->names[depth->list[i]->id], *step = window_step(e, t, depth->list[i], &sign);
        const char *first = i == 0 ? tiling_depth_first(e, t) : "0", *end = i == 0 ? tiling_depth_end(e, t) : emit_extent(e, depth->list[i]);
        emit_line(e, "for (int64_t %s = %s; %s < %s; %s++)", name, first, name, end, name);
        e->scope->indent++;
        if (strcmp(step, "0"))
            spot = emit_text(e, "%s%s%s%s", spot, spot[0] ? emit_text(e, " %c ", sign) : sign == '-' ? "-" : "", less(e, name, first),
                             strcmp(step, "1") ? emit_text(e, " * %s", step) : "");
    }
    emit_line(e, "*spot++ = %s;", spot[0] ? spot : "0");
    e->scope->indent -= depth->count;
}

/* Where a block of tiles of rows is in the window. */
void tiling_find_window_rows(Emitter *e, const Tiling *t)
{
    const IndexSet *sets[] = { &t->c->kept_rows, &t->c->rows };
    const char *place = emit_text(e, "packed_%d", t->number);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sets[s]->count; i++) {
            const Index *index = sets[s]->list[i];
            char sign;
            const char *step = window_step(e, t, index, &sign);
            place = emit_text(e, "%s %c %s%s", place, sign, less(e, t->names[index->id], tiling_first(e, index)),
                              strcmp(step, "1") ? emit_text(e, " * %s", step) : "");
        }
    emit_line(e, "const %s *const rows = %s;", emit_element(t->c->packed), place);
    char sign;
    const char *step = window_step(e, t, tiling_last(&t->c->rows), &sign);
    emit_line(e, "const int64_t row_step = %s%s;", sign == '-' ? "-" : "", step);
}
