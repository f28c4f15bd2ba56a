/* The last step: drops the terms and indices that nothing uses, then decides which rule fixes each index's extent. */
#include <string.h>

#include "check.h"

static bool is_given(const Check *check, const Index *index)
{
    for (int i = 0; i < check->options->extent_count && !index->in_dots; i++)
        if (!strcmp(check->options->extents[i].name, index->name))
            return true;
    return false;
}

/* Ties the indices that stand alone in positions to the axes of the tensor. */
static void add_axes(Check *check, Tensor *tensor, const Position *positions)
{
    for (int a = 0; a < tensor->rank; a++)
        if (position_is_plain(&positions[a])) {
            Index *index = positions[a].parts[0].index;
            Axis axis = { tensor, a, positions[a].span };
            ARENA_APPEND(check->arena, index->axes, index->axis_count, axis);
            if (index->rule == EXTENT_GIVEN && !tensor->from_caller)
                index->rule = EXTENT_AXES;
        }
}

/* ---- the largest extents that keep positions in range ----
 *
 * An index waits until the others in its positions are known, as far as any rule tells them: in `u[2+r] * v[s+3*r] *
 * w[s]`, r waits for s and then has two positions. Those that wait for each other (`x[h+r] * y[h+1] * z[r+1]`) take
 * what they have, all at once, so that the order of the text decides nothing. */

typedef struct Known {
    bool *now;                    /* [index id]: earlier indices and those that other rules tell */
    bool *ever;                   /* [index id]: what any rule tells in the end */
} Known;

/* Whether a position has `index`, no gather, and all its other indices are known. */
static bool can_fit(const Position *position, const Index *index, const bool *known)
{
    bool found = false;
    for (int k = 0; k < position->count; k++) {
        const Index *part = position->parts[k].index;
        if (!part || (part != index && !known[part->id]))
            return false;
        found |= part == index;
    }
    return found;
}

/* How many positions tell the index when all in `known` are; appends them to its fits where `keep`. */
static int count_fits(Check *check, Index *index, const bool *known, bool keep)
{
    const Program *p = check->program;
    int count = 0;
    for (int i = 0; i < p->term_count; i++) {
        const Term *read = p->terms[i];
        if (read->kind != TERM_READ || read->statement != index->statement || read->read.in_where)
            continue;
        for (int a = 0; a < read->read.tensor->rank; a++) {
            const Position *position = &read->read.positions[a];
            if (!can_fit(position, index, known))
                continue;
            Fit fit = { read->read.tensor, a, position };
            if (keep)
                ARENA_APPEND(check->arena, index->fits, index->fit_count, fit);
            count++;
        }
    }
    return count;
}

/* What any rule can tell, whatever the order. */
static void find_knowable(Check *check, Known *known)
{
    const Program *p = check->program;
    for (int i = 0; i < p->index_count; i++)
        known->ever[i] |= known->now[i];
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->index_count; i++)
            if (!known->ever[i] && count_fits(check, p->indices[i], known->ever, false))
                changed = known->ever[i] = true;
    }
}

/* Settles the indices that wait for nothing, or where there is none (`stuck`), all that have a position. */
static bool settle_fits(Check *check, Known *known, bool stuck)
{
    const Program *p = check->program;
    bool *settled = ARENA_ARRAY(check->arena, bool, p->index_count), any = false;
    for (int i = 0; i < p->index_count; i++) {
        int now = known->now[i] ? 0 : count_fits(check, p->indices[i], known->now, false);
        any |= settled[i] = now && (stuck || now == count_fits(check, p->indices[i], known->ever, false));
    }
    for (int i = 0; i < p->index_count; i++)
        if (settled[i]) {
            count_fits(check, p->indices[i], known->now, true);
            p->indices[i]->rule = EXTENT_FITS;
        }
    for (int i = 0; i < p->index_count; i++)
        known->now[i] |= settled[i];
    return any;
}

static void add_fits(Check *check)
{
    const Program *p = check->program;
    Known known = { ARENA_ARRAY(check->arena, bool, p->index_count), ARENA_ARRAY(check->arena, bool, p->index_count) };
    for (int i = 0; i < p->index_count; i++)
        known.now[i] = p->indices[i]->rule != EXTENT_GIVEN || is_given(check, p->indices[i]);
    find_knowable(check, &known);
    while (settle_fits(check, &known, false) || settle_fits(check, &known, true))
        ;
    /* What only the array that a `+=` adds to can tell, and what follows from it. */
    for (int i = 0; i < p->index_count; i++)
        if (p->indices[i]->rule == EXTENT_GIVEN && p->indices[i]->axis_count) {
            p->indices[i]->rule = EXTENT_AXES;
            known.now[i] = true;
        }
    find_knowable(check, &known);
    while (settle_fits(check, &known, false) || settle_fits(check, &known, true))
        ;
}

static void mark(void *used, const Term *term)
{
    bool *is_used = used;
    if (is_used[term->id])
        return;
    is_used[term->id] = true;
    term_each_argument(term, mark, used);
}

static void drop_unused_terms(Check *check)
{
    Program *p = check->program;
    bool *used = ARENA_ARRAY(check->arena, bool, p->term_count);
    for (int s = 0; s < p->statement_count; s++)
        for (int o = 0; o < p->statements[s]->output_count; o++) {
            const Output *output = &p->statements[s]->outputs[o];
            mark(used, output->value);
            for (int a = 0; a < output->tensor->rank; a++)
                for (int k = 0; k < output->positions[a].count; k++)
                    if (output->positions[a].parts[k].gather)
                        mark(used, output->positions[a].parts[k].gather);
        }
    int kept = 0;
    for (int i = 0; i < p->term_count; i++)
        if (used[i]) {
            p->terms[i]->id = kept;
            p->terms[kept++] = p->terms[i];
        }
    p->term_count = kept;
}

static void drop_unused_indices(Check *check)
{
    Program *p = check->program;
    bool *used = ARENA_ARRAY(check->arena, bool, p->index_count);
    for (int i = 0; i < p->term_count; i++) {
        const Term *term = p->terms[i];
        for (int k = 0; k < term->rank; k++)
            used[term->indices[k]->id] = true;
        if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
            for (int k = 0; k < term->reduce.over_count; k++)
                used[term->reduce.over[k]->id] = true;
    }
    for (int s = 0; s < p->statement_count; s++)
        for (int o = 0; o < p->statements[s]->output_count; o++) {
            const Output *output = &p->statements[s]->outputs[o];
            for (int a = 0; a < output->tensor->rank; a++)
                for (int k = 0; k < output->positions[a].count; k++)
                    if (output->positions[a].parts[k].index)
                        used[output->positions[a].parts[k].index->id] = true;
        }
    int kept = 0;
    for (int i = 0; i < p->index_count; i++)
        if (used[i]) {
            p->indices[i]->id = kept;
            p->indices[kept++] = p->indices[i];
        }
    p->index_count = kept;
}

static void hint_indices(Check *check, const char *const *names, size_t count)
{
    Text list = text_new(check->arena);
    for (size_t k = 0; k < count; k++)
        text_print(&list, "%s%s", k ? ", " : "", names[k]);
    diag_hint(check->diags, count ? "its indices are %s" : "it has none%s", list.bytes);
}

static bool has_name(const char *const *names, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        if (!strcmp(names[k], name))
            return true;
    return false;
}

static void check_given_names(Check *check)
{
    const Program *p = check->program;
    const char **names = ARENA_ARRAY(check->arena, const char *, p->index_count);
    size_t count = 0;
    for (int k = 0; k < p->index_count; k++)
        if (!p->indices[k]->in_dots && !has_name(names, count, p->indices[k]->name))
            names[count++] = p->indices[k]->name;
    for (int i = 0; i < check->options->extent_count; i++) {
        const char *name = check->options->extents[i].name;
        if (has_name(names, count, name))
            continue;
        const char *near = diag_nearest(name, strlen(name), names, count);
        diag_error_nowhere(check->diags, "the expression has no index '%s'", name);
        if (near)
            diag_hint(check->diags, "did you mean '%s'?", near);
        else
            hint_indices(check, names, count);
    }
}

/* Sums of products of complex numbers are lowered to real ones that run over the parts of numbers, too. */
static void add_part(Check *check)
{
    Program *p = check->program;
    bool sums = false;
    for (int i = 0; i < p->term_count; i++)
        sums |= (p->terms[i]->kind == TERM_CONTRACT || p->terms[i]->kind == TERM_REDUCE) && dtype_kind(p->terms[i]->dtype) == KIND_COMPLEX;
    if (!sums)
        return;
    p->part = ARENA_NEW(check->arena, Index);
    *p->part = (Index){ .name = "p", .id = p->index_count, .rule = EXTENT_RANKS, .ranks = 2, .in_dots = true };
    ARENA_APPEND(check->arena, p->indices, p->index_count, p->part);
}

/* ---- scatters at sums of indices ---- */

/* Whether a position is a sum of indices, multiples of them, from 0 on, none of which another axis has, and some stand alone in. */
static bool is_sum_of_its_own(const Output *output, int axis)
{
    const Position *position = &output->positions[axis];
    bool alone = false;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (!part->index || part->coefficient < 0)
            return false;
        alone |= part->coefficient == 1;
        for (int a = 0; a < output->tensor->rank; a++)
            for (int j = 0; a != axis && j < output->positions[a].count; j++)
                if (output->positions[a].parts[j].index == part->index)
                    return false;
    }
    return alone && position->count > 1 && position->constant == 0;
}

/* The names of a sum's indices, as one that no other index of the statement has. */
static const char *written_name(Check *check, const Position *position, int statement)
{
    const Program *p = check->program;
    Text name = text_new(check->arena);
    for (int k = 0; k < position->count; k++)
        text_print(&name, "%s%s", k ? "_" : "", position->parts[k].index->name);
    for (int i = 0; i < p->index_count; i++)
        if (p->indices[i]->statement == statement && !strcmp(p->indices[i]->name, name.bytes)) {
            text_put(&name, "_");
            i = -1;
        }
    return name.bytes;
}

/* Whatever goes to a place of such a target may also be added up before: an index runs along each of its axes. */
static void add_written(Check *check, const Output *output)
{
    Program *p = check->program;
    Tensor *tensor = output->tensor;
    bool sums = false;
    for (int a = 0; a < tensor->rank; a++) {
        if (!position_is_plain(&output->positions[a]) && !is_sum_of_its_own(output, a))
            return;
        sums |= !position_is_plain(&output->positions[a]);
    }
    if (!sums)
        return;
    tensor->written = ARENA_ARRAY(check->arena, Index *, tensor->rank);
    for (int a = 0; a < tensor->rank; a++) {
        const Position *position = &output->positions[a];
        if (position_is_plain(position))
            continue;
        tensor->written[a] = ARENA_NEW(check->arena, Index);
        *tensor->written[a] = (Index){ .name = written_name(check, position, tensor->maker->id), .span = position->span, .id = p->index_count,
                                       .statement = tensor->maker->id, .rule = EXTENT_WRITTEN, .written = position, .in_dots = true };
        ARENA_APPEND(check->arena, p->indices, p->index_count, tensor->written[a]);
    }
}

void check_extents(Check *check)
{
    Program *p = check->program;
    drop_unused_terms(check);
    drop_unused_indices(check);
    for (int i = 0; i < p->term_count; i++)
        if (p->terms[i]->kind == TERM_READ)
            add_axes(check, p->terms[i]->read.tensor, p->terms[i]->read.positions);
    for (int s = 0; s < p->statement_count; s++)
        for (int o = 0; o < p->statements[s]->output_count; o++) {
            const Output *output = &p->statements[s]->outputs[o];
            Tensor *whole = output->tensor;      /* of an array that several add to, the first is as long as it */
            while (whole->previous)
                whole = whole->previous;
            if (p->statements[s]->accumulate)
                add_axes(check, whole, output->positions);
        }
    add_fits(check);
    check_given_names(check);
    for (int s = 0; s < p->statement_count; s++)
        if (p->statements[s]->accumulate)
            add_written(check, &p->statements[s]->outputs[0]);
    add_part(check);
}
