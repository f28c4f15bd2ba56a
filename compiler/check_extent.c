/* The last step: drops the terms and indices that nothing uses, then decides which rule fixes each index's extent. */
#include <string.h>

#include "check.h"

static bool is_given(const Check *check, const Index *index)
{
    for (int i = 0; i < check->options->extent_count; i++)
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
            if (index->rule == EXTENT_GIVEN)
                index->rule = EXTENT_AXES;
        }
}

/* Whether a position has `index` and lets its extent be inferred: no gather, and every other index already known. */
static bool can_fit(const Check *check, const Position *position, const Index *index)
{
    bool found = false;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (part->gather)
            return false;
        if (part->index == index)
            found = true;
        else if (part->index->rule == EXTENT_GIVEN && !is_given(check, part->index))
            return false;
    }
    return found;
}

static void add_fits(Check *check, Index *index)
{
    const Program *p = check->program;
    for (int i = 0; i < p->term_count; i++) {
        Term *read = p->terms[i];
        if (read->kind != TERM_READ || read->statement != index->statement || read->read.in_where)
            continue;
        for (int a = 0; a < read->read.tensor->rank; a++)
            if (can_fit(check, &read->read.positions[a], index)) {
                ARENA_APPEND(check->arena, index->fits, index->fit_count, read);
                break;
            }
    }
    if (index->fit_count)
        index->rule = EXTENT_FITS;
}

static void mark(Term *term, bool *used)
{
    if (!term || used[term->id])
        return;
    used[term->id] = true;
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                mark(term->read.positions[a].parts[k].gather, used);
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            mark(term->map.arguments[i], used);
        break;
    case TERM_SELECT:
        mark(term->select.condition, used);
        mark(term->select.yes, used);
        mark(term->select.no, used);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: mark(term->reduce.argument, used); break;
    case TERM_CONSTANT:
    case TERM_POSITION: break;
    }
}

static void drop_unused_terms(Check *check)
{
    Program *p = check->program;
    bool *used = ARENA_ARRAY(check->arena, bool, p->term_count);
    for (int s = 0; s < p->statement_count; s++)
        for (int o = 0; o < p->statements[s]->output_count; o++) {
            const Output *output = &p->statements[s]->outputs[o];
            mark(output->value, used);
            for (int a = 0; a < output->tensor->rank; a++)
                for (int k = 0; k < output->positions[a].count; k++)
                    mark(output->positions[a].parts[k].gather, used);
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

/* Until nothing changes: once one index is known, a position may tell another. */
static void add_all_fits(Check *check)
{
    const Program *p = check->program;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->index_count; i++)
            if (p->indices[i]->rule == EXTENT_GIVEN && !is_given(check, p->indices[i])) {
                add_fits(check, p->indices[i]);
                changed |= p->indices[i]->rule != EXTENT_GIVEN;
            }
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
            if (output->tensor->from_caller)
                add_axes(check, output->tensor, output->positions);
        }
    add_all_fits(check);
    for (int i = 0; i < check->options->extent_count; i++) {
        bool known = false;
        const char **names = ARENA_ARRAY(check->arena, const char *, p->index_count);
        for (int k = 0; k < p->index_count; k++) {
            names[k] = p->indices[k]->name;
            known |= !strcmp(names[k], check->options->extents[i].name);
        }
        if (known)
            continue;
        const char *name = check->options->extents[i].name;
        const char *near = diag_nearest(name, strlen(name), names, (size_t)p->index_count);
        diag_error_nowhere(check->diags, "the expression has no index '%s'", name);
        if (near)
            diag_hint(check->diags, "did you mean '%s'?", near);
    }
}
