/* Packing what is read where a condition holds, inside of a border for one: what it says and which lanes are in range is found once
 * for all points that change neither. */
#include <math.h>
#include <string.h>

#include "emit_tiling.h"

/* Whether an index changes neither what a where around a side's read says nor whether that is in range. */
static bool is_free(const Emitter *e, const Term *side, const Index *index)
{
    const Term *read = side->select.yes;
    bool is_free = !term_has_index(side->select.condition, index);
    for (int a = 0; a < read->read.tensor->rank; a++)
        for (int k = 0; k < read->read.positions[a].count; k++)
            is_free &= read->read.positions[a].parts[k].index != index || !emit_is_unsafe(e, read, a);
    return is_free;
}

/* Whether values are one number except where a condition holds that is the same for some of the loops' indices: then it is asked once
 * for those. */
bool tiling_is_masked(Emitter *e, const Tiling *t, const Masked *masked)
{
    const Term *side = masked->side;
    double number;
    if (side->kind != TERM_SELECT || t->c->group > 1 || side->select.yes->kind != TERM_READ ||
        register_dtype(side->select.yes->dtype) != t->dtype || !term_f32_number(side->select.no, &number))
        return false;
    const Term *read = side->select.yes;
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (position_has_gather(&read->read.positions[a]))
            return false;
    bool some = false;
    for (int i = 0; i < masked->loop_count; i++)
        some |= is_free(e, side, masked->loops[i].index);
    return some && !read->read.carried && strcmp(emit_stride(e, read->read.tensor, read->read.positions, masked->lanes), "0");
}

/* Which lanes are read, in text. */
typedef struct Mask {
    const char *lanes, *some;     /* the mask, and whether it has any */
    const char *step;             /* how far they are apart */
} Mask;

/* A vector of values, without a mask as they are evaluated. */
static void pack_vector(Emitter *e, const Tiling *t, const Masked *masked, const Mask *mask)
{
    const Term *side = masked->side;
    const char *dtype = dtype_name(t->dtype);
    if (!mask) {
        emit_line(e, "store_%sv(%s, 1, %s, lanes);", dtype, masked->place, emit_bare(e, emit_varying(e, side)));
        return;
    }
    const char *other = emit_varying(e, side->select.no), *value = emit_name(e, "value");
    const char *picked = emit_pick(e, side->select.yes, mask->step, mask->lanes);
    double number;
    if (!term_f32_number(side->select.no, &number) || number != 0 || signbit(number))
        picked = emit_text(e, "select_%sv(%s, %s, %s)", dtype, mask->lanes, picked, emit_bare(e, other));
    emit_line(e, "const %sv %s = %s ? %s : %s;", dtype, value, mask->some, picked, other);
    emit_line(e, "store_%sv(%s, 1, %s, lanes);", dtype, masked->place, value);
}

/* Loops over the indices that the mask depends on and what uses it, or with a mask over the others. */
static void masked_loops(Emitter *e, const Tiling *t, const Masked *masked, int level, const Mask *mask, bool all);

/* Declares the mask. Lanes side by side, as they mostly are, have loops of their own, which do not ask how far they are apart. */
static void use_mask(Emitter *e, const Tiling *t, const Masked *masked)
{
    const Term *side = masked->side, *read = side->select.yes;
    const Value condition = emit_term(e, side->select.condition);
    const char *where = emit_name(e, "where"), *some = emit_name(e, "some");
    emit_line(e, "const boolv %s = and_boolv(first_boolv(lanes), %s);", where,
              condition.varying ? emit_bare(e, condition.text) : emit_splat(e, DTYPE_BOOL, condition.text));
    const char *lanes = emit_may_read(e, read, where, "depth > 0");
    const char *step = emit_stride(e, read->read.tensor, read->read.positions, masked->lanes);
    const Mask masks[] = { { lanes, some, "1" }, { lanes, some, step } };
    emit_line(e, "const int %s = any_boolv(%s);", some, lanes);
    for (int i = strcmp(step, "1") ? 0 : 1; i < 2; i++) {
        Scope *body = emit_push(e);
        body->indent -= !strcmp(step, "1");
        masked_loops(e, t, masked, 0, &masks[i], false);
        emit_pop(e);
        if (strcmp(step, "1"))
            emit_line(e, i ? "} else {" : "if (%s == 1) {", step);
        emit_body(e, body);
    }
    if (strcmp(step, "1"))
        emit_line(e, "}");
}

/* What is inside of all loops but those that a mask is for: in a loop of vectors, where there is one. */
static void inside_loops(Emitter *e, const Tiling *t, const Masked *masked, bool all)
{
    const LoopBounds *vectors = masked->vectors;
    const char *name = t->names[masked->lanes->id];
    Scope *body = vectors ? emit_push(e) : NULL;
    if (vectors) {
        body->count = "lanes";
        emit_bind(e, vectors->index, name);
        emit_line(e, "const int lanes = (int)size_min(LANES, %s - %s);", vectors->end, name);
    }
    if (all)
        pack_vector(e, t, masked, NULL);
    else
        use_mask(e, t, masked);
    if (vectors) {
        emit_pop(e);
        emit_line(e, "for (int64_t %s = %s; %s < %s; %s += LANES) {", name, vectors->first, name, vectors->end, name);
        emit_body(e, body);
        emit_line(e, "}");
    }
}

static void masked_loops(Emitter *e, const Tiling *t, const Masked *masked, int level, const Mask *mask, bool all)
{
    if (level == masked->loop_count) {
        if (mask)
            pack_vector(e, t, masked, mask);
        else
            inside_loops(e, t, masked, all);
        return;
    }
    const LoopBounds *loop = &masked->loops[level];
    if (!all && is_free(e, masked->side, loop->index) != (mask != NULL)) {
        masked_loops(e, t, masked, level + 1, mask, all);
        return;
    }
    const char *name = t->names[loop->index->id];
    Scope *body = emit_push(e);
    emit_bind(e, loop->index, name);
    masked_loops(e, t, masked, level + 1, mask, all);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, loop->first, name, loop->end, name);
    emit_body(e, body);
    emit_line(e, "}");
}

void tiling_pack_masked(Emitter *e, const Tiling *t, const Masked *masked)
{
    masked_loops(e, t, masked, 0, NULL, !tiling_is_masked(e, t, masked));
}
