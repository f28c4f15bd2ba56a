/* Packing columns that are read where a condition holds, inside of a border for one: what it says and which lanes are in range
 * is found once for all contracted points that change neither. */
#include <math.h>
#include <string.h>

#include "emit_tiling.h"

/* Whether a contracted index changes neither what a where around the columns' read says nor whether that is in range. */
static bool is_free(const Emitter *e, const Term *side, const Index *index)
{
    const Term *read = side->select.yes;
    bool is_free = !term_has_index(side->select.condition, index);
    for (int a = 0; a < read->read.tensor->rank; a++)
        for (int k = 0; k < read->read.positions[a].count; k++)
            is_free &= read->read.positions[a].parts[k].index != index || !emit_is_unsafe(e, read, a);
    return is_free;
}

/* Whether columns are one number except where a condition holds that is the same for some of the contracted indices: then it is
 * asked once for those. */
bool tiling_is_masked(Emitter *e, const Tiling *t)
{
    const Term *side = t->c->right;
    double number;
    if (side->kind != TERM_SELECT || t->c->group > 1 || side->select.yes->kind != TERM_READ ||
        register_dtype(side->select.yes->dtype) != t->dtype || !emit_is_number(side->select.no, &number))
        return false;
    const Term *read = side->select.yes;
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (position_has_gather(&read->read.positions[a]))
            return false;
    bool some = false;
    for (int i = 0; i < t->c->depth.count; i++)
        some |= is_free(e, side, t->c->depth.list[i]);
    const char *step = emit_stride(e, read->read.tensor, read->read.positions, tiling_last(&t->c->columns));
    return some && !read->read.carried && strcmp(step, "0");
}

/* Which lanes of the columns are read, in text. */
typedef struct Mask {
    const char *lanes, *some;     /* the mask, and whether it has any */
    const char *step;             /* how far they are apart */
} Mask;

/* The vector of one contracted point, at the place in the panel that its indices tell. */
static void pack_masked_vector(Emitter *e, const Tiling *t, const Mask *mask)
{
    const IndexSet *depth = &t->c->depth;
    const Term *side = t->c->right;
    const char *point = emit_text(e, "%s - from_point", t->names[depth->list[0]->id]), *dtype = dtype_name(t->dtype);
    const char *other = emit_varying(e, side->select.no), *value = emit_name(e, "value");
    const char *picked = emit_pick(e, side->select.yes, mask->step, mask->lanes);
    double number;
    if (!emit_is_number(side->select.no, &number) || number != 0 || signbit(number))
        picked = emit_text(e, "select_%sv(%s, %s, %s)", dtype, mask->lanes, picked, emit_bare(e, other));
    for (int i = 1; i < depth->count; i++)
        point = emit_text(e, "(%s) * %s + %s", point, emit_extent(e, depth->list[i]), t->names[depth->list[i]->id]);
    emit_line(e, "const %sv %s = %s ? %s : %s;", dtype, value, mask->some, picked, other);
    emit_line(e, "store_%sv(to + (%s) * COLUMNS_%d, 1, %s, lanes);", dtype, point, t->number, value);
}

/* Loops over the contracted indices that the mask depends on and what uses it, or with a mask over the others. */
static void masked_loops(Emitter *e, const Tiling *t, int level, const Mask *mask);

/* Declares the mask. Lanes side by side, as they mostly are, have loops of their own, which do not ask how far they are apart. */
static void use_mask(Emitter *e, const Tiling *t)
{
    const Term *side = t->c->right, *read = side->select.yes;
    const Value condition = emit_term(e, side->select.condition);
    const char *where = emit_name(e, "where"), *some = emit_name(e, "some");
    emit_line(e, "const boolv %s = and_boolv(first_boolv(lanes), %s);", where,
              condition.varying ? emit_bare(e, condition.text) : emit_splat(e, DTYPE_BOOL, condition.text));
    const char *lanes = emit_may_read(e, read, where, "depth > 0");
    const char *step = emit_stride(e, read->read.tensor, read->read.positions, tiling_last(&t->c->columns));
    const Mask masks[] = { { lanes, some, "1" }, { lanes, some, step } };
    emit_line(e, "const int %s = any_boolv(%s);", some, lanes);
    for (int i = strcmp(step, "1") ? 0 : 1; i < 2; i++) {
        Scope *body = emit_push(e);
        body->indent -= !strcmp(step, "1");
        masked_loops(e, t, 0, &masks[i]);
        emit_pop(e);
        if (strcmp(step, "1"))
            emit_line(e, i ? "} else {" : "if (%s == 1) {", step);
        emit_body(e, body);
    }
    if (strcmp(step, "1"))
        emit_line(e, "}");
}

static void masked_loops(Emitter *e, const Tiling *t, int level, const Mask *mask)
{
    const IndexSet *depth = &t->c->depth;
    if (level == depth->count && mask) {
        pack_masked_vector(e, t, mask);
        return;
    }
    if (level == depth->count) {
        use_mask(e, t);
        return;
    }
    const Index *index = depth->list[level];
    if (is_free(e, t->c->right, index) != (mask != NULL)) {
        masked_loops(e, t, level + 1, mask);
        return;
    }
    const char *name = t->names[index->id];
    Scope *body = emit_push(e);
    emit_bind(e, index, name);
    masked_loops(e, t, level + 1, mask);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, level ? "0" : "from_point", name,
              level ? emit_extent(e, index) : "to_point", name);
    emit_body(e, body);
    emit_line(e, "}");
}

void tiling_pack_masked(Emitter *e, const Tiling *t)
{
    masked_loops(e, t, 0, NULL);
}
