/* Equality of Programs. Terms are paired as they are met, so what is shared in one must be shared in the other. */
#include <math.h>
#include <string.h>

#include "program.h"

typedef struct Pairs {
    const Term **partner;         /* [term id of a] */
} Pairs;

static bool same_indices(Index *const *a, int a_count, Index *const *b, int b_count)
{
    if (a_count != b_count)
        return false;
    for (int i = 0; i < a_count; i++)
        if (strcmp(a[i]->name, b[i]->name) || a[i]->rule != b[i]->rule)
            return false;
    return true;
}

static bool same_term(Pairs *pairs, const Term *a, const Term *b);

static bool same_positions(Pairs *pairs, const Position *a, const Position *b, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (a[i].constant != b[i].constant || a[i].count != b[i].count)
            return false;
        for (int k = 0; k < a[i].count; k++) {
            const PositionPart *p = &a[i].parts[k], *q = &b[i].parts[k];
            if (p->coefficient != q->coefficient || (p->index != NULL) != (q->index != NULL))
                return false;
            if (p->index ? strcmp(p->index->name, q->index->name) != 0 : !same_term(pairs, p->gather, q->gather))
                return false;
        }
    }
    return true;
}

static bool same_tensor(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && a->input == b->input && a->from_caller == b->from_caller &&
           (a->name ? b->name && !strcmp(a->name, b->name) : !b->name);
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_operation(Pairs *pairs, const Term *a, const Term *b)
{
    switch (a->kind) {
    case TERM_READ:
        return a->read.in_where == b->read.in_where && same_tensor(a->read.tensor, b->read.tensor) &&
               same_positions(pairs, a->read.positions, b->read.positions, a->read.tensor->rank);
    case TERM_CONSTANT:
        return a->constant.is_integer == b->constant.is_integer && same_number(a->constant.value, b->constant.value) &&
               a->constant.integer == b->constant.integer;
    case TERM_POSITION: return !strcmp(a->position->name, b->position->name);
    case TERM_EXTENT: return !strcmp(a->extent->name, b->extent->name);
    case TERM_MAP:
        if (a->map.function != b->map.function || a->map.implicit != b->map.implicit || a->map.count != b->map.count)
            return false;
        for (int i = 0; i < a->map.count; i++)
            if (!same_term(pairs, a->map.arguments[i], b->map.arguments[i]))
                return false;
        return true;
    case TERM_SELECT:
        return same_term(pairs, a->select.condition, b->select.condition) &&
               same_term(pairs, a->select.yes, b->select.yes) && same_term(pairs, a->select.no, b->select.no);
    case TERM_CONTRACT:
    case TERM_REDUCE:
        return a->reduce.reduction == b->reduce.reduction && same_number(a->reduce.parameter, b->reduce.parameter) &&
               same_indices(a->reduce.over, a->reduce.over_count, b->reduce.over, b->reduce.over_count) &&
               a->reduce.declared == b->reduce.declared && same_term(pairs, a->reduce.argument, b->reduce.argument);
    }
    return false;
}

static bool same_term(Pairs *pairs, const Term *a, const Term *b)
{
    if (pairs->partner[a->id])
        return pairs->partner[a->id] == b;
    pairs->partner[a->id] = b;
    return a->kind == b->kind && a->dtype == b->dtype && a->weak == b->weak &&
           same_indices(a->indices, a->rank, b->indices, b->rank) && same_operation(pairs, a, b);
}

static bool same_statement(Pairs *pairs, const Statement *a, const Statement *b)
{
    if (a->accumulate != b->accumulate || a->named != b->named || a->output_count != b->output_count)
        return false;
    for (int o = 0; o < a->output_count; o++)
        if (!same_tensor(a->outputs[o].tensor, b->outputs[o].tensor) ||
            !same_term(pairs, a->outputs[o].value, b->outputs[o].value) ||
            !same_positions(pairs, a->outputs[o].positions, b->outputs[o].positions, a->outputs[o].tensor->rank))
            return false;
    return true;
}

bool program_equal(const Program *a, const Program *b)
{
    if (a->term_count != b->term_count || a->index_count != b->index_count || a->input_count != b->input_count ||
        a->statement_count != b->statement_count)
        return false;
    Pairs pairs = { ARENA_ARRAY(a->arena, const Term *, a->term_count) };
    for (int i = 0; i < a->input_count; i++)
        if (!same_tensor(a->inputs[i], b->inputs[i]))
            return false;
    for (int s = 0; s < a->statement_count; s++)
        if (!same_statement(&pairs, a->statements[s], b->statements[s]))
            return false;
    return true;
}
