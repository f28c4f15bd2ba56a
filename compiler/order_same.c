/* Whether two values in between are the same up to the names of their indices, so that one is made and read twice. */
#include "ordering.h"

typedef struct Renaming {
    Arena *arena;
    const Index **from, **to;
    int count;
} Renaming;

static bool has_axis(const Index *index, const Axis *axis)
{
    for (int i = 0; i < index->axis_count; i++)
        if (index->axes[i].tensor == axis->tensor && index->axes[i].axis == axis->axis)
            return true;
    return false;
}

/* Whether two indices of the checked program have the same extent whatever the shapes: they are tied to the same axes. */
static bool same_extent(const Index *a, const Index *b)
{
    if (a == b)
        return true;
    bool same = a->rule == EXTENT_AXES && b->rule == EXTENT_AXES;
    for (int i = 0; i < a->axis_count && same; i++)
        same = has_axis(b, &a->axes[i]);
    for (int i = 0; i < b->axis_count && same; i++)
        same = has_axis(a, &b->axes[i]);
    return same;
}

/* Whether one index can stand for the other, and does wherever it is met. */
static bool rename_index(Renaming *r, const Index *a, const Index *b)
{
    for (int i = 0; i < r->count; i++)
        if (r->from[i] == a || r->to[i] == b)
            return r->from[i] == a && r->to[i] == b;
    if (!same_extent(a->origin, b->origin))
        return false;
    int count = r->count;
    ARENA_APPEND(r->arena, r->from, count, a);
    ARENA_APPEND(r->arena, r->to, r->count, b);
    return true;
}

static bool rename_all(Renaming *r, Index *const *a, Index *const *b, int count)
{
    for (int i = 0; i < count; i++)
        if (!rename_index(r, a[i], b[i]))
            return false;
    return true;
}

static bool same_term(Renaming *r, const Term *a, const Term *b);

static bool same_positions(Renaming *r, const Term *a, const Term *b)
{
    if (a->read.tensor != b->read.tensor)
        return false;
    for (int i = 0; i < a->read.tensor->rank; i++) {
        const Position *p = &a->read.positions[i], *q = &b->read.positions[i];
        if (!position_is_plain(p) || !position_is_plain(q) || !rename_index(r, p->parts[0].index, q->parts[0].index))
            return false;
    }
    return true;
}

/* Products and sums of reads; anything else is another value. */
static bool same_term(Renaming *r, const Term *a, const Term *b)
{
    if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank)
        return false;
    switch (a->kind) {
    case TERM_READ: return same_positions(r, a, b);
    case TERM_MAP:
        for (int i = 0; i < a->map.count && a->map.function == b->map.function; i++)
            if (!same_term(r, a->map.arguments[i], b->map.arguments[i]))
                return false;
        return a->map.function == b->map.function;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        return a->reduce.reduction == b->reduce.reduction && a->reduce.over_count == b->reduce.over_count &&
               rename_all(r, a->indices, b->indices, a->rank) && same_term(r, a->reduce.argument, b->reduce.argument);
    case TERM_SELECT:
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
    return false;
}

bool order_same_value(Arena *arena, const Term *a, const Term *b)
{
    Renaming renaming = { .arena = arena };
    return same_term(&renaming, a, b);
}
