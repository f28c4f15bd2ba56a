/* The lowered program under construction: terms, indices, tensors and statements. */
#include <string.h>

#include "lowering.h"

/* ---- terms ---- */

Term *lower_term(Lower *l, const Context *c, TermKind kind, Dtype dtype, Span span)
{
    Term *term = ARENA_NEW(l->arena, Term);
    term->kind = kind;
    term->dtype = dtype;
    term->span = span;
    term->id = l->out->term_count;
    term->statement = c->statement;
    ARENA_APPEND(l->arena, l->out->terms, l->out->term_count, term);
    return term;
}

void lower_depend_on_index(Lower *l, Term *term, Index *index)
{
    if (!term_has_index(term, index))
        ARENA_APPEND(l->arena, term->indices, term->rank, index);
}

void lower_depend_on(Lower *l, Term *term, const Term *used)
{
    for (int i = 0; i < used->rank; i++)
        lower_depend_on_index(l, term, used->indices[i]);
}

Term *lower_map(Lower *l, const Context *c, Function function, Dtype dtype, Term *a, Term *b)
{
    Term *term = lower_term(l, c, TERM_MAP, dtype, a->span);
    term->map.function = function;
    term->map.count = b ? 2 : 1;
    term->map.arguments = ARENA_ARRAY(l->arena, Term *, 2);
    term->map.arguments[0] = a;
    term->map.arguments[1] = b;
    lower_depend_on(l, term, a);
    if (b)
        lower_depend_on(l, term, b);
    return term;
}

Term *lower_cast(Lower *l, const Context *c, Dtype dtype, Term *x)
{
    if (x->dtype == dtype && !x->weak)
        return x;
    Term *cast = lower_map(l, c, FUNCTION_CAST, dtype, x, NULL);
    cast->map.implicit = true;
    return cast;
}

Term *lower_number(Lower *l, const Context *c, Dtype dtype, double value, Span span)
{
    Term *number = lower_term(l, c, TERM_CONSTANT, DTYPE_F64, span);
    number->weak = WEAK_FLOAT;
    number->constant.value = value;
    return lower_cast(l, c, dtype, number);
}

Term *lower_select(Lower *l, const Context *c, Term *condition, Term *yes, Term *no)
{
    Term *term = lower_term(l, c, TERM_SELECT, yes->dtype, condition->span);
    term->select.condition = condition;
    term->select.yes = yes;
    term->select.no = no;
    lower_depend_on(l, term, condition);
    lower_depend_on(l, term, yes);
    lower_depend_on(l, term, no);
    return term;
}

Term *lower_read(Lower *l, const Context *c, Tensor *tensor, Position *positions, Span span)
{
    Term *read = lower_term(l, c, TERM_READ, tensor->dtype, span);
    read->read.tensor = tensor;
    read->read.positions = positions;
    for (int a = 0; a < tensor->rank; a++)
        for (int k = 0; k < positions[a].count; k++) {
            if (positions[a].parts[k].index)
                lower_depend_on_index(l, read, positions[a].parts[k].index);
            else
                lower_depend_on(l, read, positions[a].parts[k].gather);
        }
    return read;
}

/* ---- indices and tensors ---- */

Index *lower_index(Lower *l, int statement, const Index *origin)
{
    Index *index = ARENA_NEW(l->arena, Index);
    *index = *origin;
    index->id = l->out->index_count;
    index->statement = statement;
    index->origin = origin->origin ? origin->origin : origin;
    ARENA_APPEND(l->arena, l->out->indices, l->out->index_count, index);
    return index;
}

static bool is_taken(const Lower *l, const char *label)
{
    for (int i = 0; i < l->in->tensor_count; i++)
        if (!strcmp(l->in->tensors[i]->label, label))
            return true;
    return false;
}

static Tensor *add_tensor(Lower *l, Tensor tensor)
{
    Tensor *kept = ARENA_NEW(l->arena, Tensor);
    *kept = tensor;
    kept->id = l->out->tensor_count;
    kept->maker = NULL;
    kept->axes = NULL;
    kept->home = kept;
    ARENA_APPEND(l->arena, l->out->tensors, l->out->tensor_count, kept);
    return kept;
}

/* `wanted`: the caller passes it. */
Tensor *lower_tensor(Lower *l, const Tensor *origin, bool wanted)
{
    Tensor *tensor = add_tensor(l, *origin);
    tensor->source = l->in->origin ? origin->source : origin;
    tensor->origin = wanted ? tensor->source : NULL;
    tensor->from_caller &= wanted;
    tensor->previous = origin->previous ? l->tensors[origin->previous->id] : NULL;
    for (Tensor *t = tensor->previous; t; t = t->previous) {      /* one array, the caller's if the last is */
        t->home = tensor;
        t->from_caller = wanted && t->source->from_caller;
    }
    return tensor;
}

Tensor *lower_temporary(Lower *l, int rank, Dtype dtype)
{
    const char *label;
    do
        label = arena_format(l->arena, "tmp%d", ++l->temporary_count);
    while (is_taken(l, label));
    return add_tensor(l, (Tensor){ .name = label, .label = label, .input = -1, .rank = rank, .dtype = dtype });
}

Tensor *lower_parts(Lower *l, const Tensor *whole)
{
    for (int t = 0; t < l->out->tensor_count; t++)
        if (l->out->tensors[t]->whole == whole)
            return l->out->tensors[t];
    const char *label = arena_format(l->arena, "%s_parts", whole->label);
    return add_tensor(l, (Tensor){ .name = label, .label = label, .input = -1, .rank = whole->rank + 1, .dtype = dtype_real(whole->dtype),
                                   .whole = whole });
}

Position lower_plain(Lower *l, Index *index)
{
    Position position = { .span = index->span, .count = 1, .parts = ARENA_NEW(l->arena, PositionPart) };
    position.parts[0] = (PositionPart){ 1, index, NULL };
    return position;
}

/* ---- statements ---- */

int lower_begin(Lower *l)
{
    Statement *statement = ARENA_NEW(l->arena, Statement);
    statement->id = l->out->statement_count;
    statement->declared = DTYPE_NONE;
    ARENA_APPEND(l->arena, l->out->statements, l->out->statement_count, statement);
    return statement->id;
}

void lower_output(Lower *l, int statement, Tensor *tensor, Term *value, Position *positions)
{
    Statement *s = l->out->statements[statement];
    Output output = { tensor, value, positions, false };
    tensor->maker = s;
    tensor->axes = ARENA_ARRAY(l->arena, Index *, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        tensor->axes[a] = position_is_plain(&positions[a]) ? positions[a].parts[0].index : NULL;
    s->named = tensor->name != NULL;
    ARENA_APPEND(l->arena, s->outputs, s->output_count, output);
}

/* Statements are numbered when they are begun, since their terms carry the number; they run in the order in which they
 * end, so that a temporary comes before what reads it. */
void lower_end(Lower *l, int statement, Span span)
{
    l->out->statements[statement]->span = span;
    ARENA_APPEND(l->arena, l->ended, l->ended_count, statement);
}

/* ---- indices of the old program in the new ---- */

const Instance *lower_link(Lower *l, const Instance *outer, const Index *from, Index *to)
{
    Instance *link = ARENA_NEW(l->arena, Instance);
    *link = (Instance){ outer, from, to };
    return link;
}

Index *lower_image(const Instance *instance, const Index *index)
{
    for (; instance; instance = instance->outer)
        if (instance->from == index)
            return instance->to;
    return NULL;
}

/* Begins a statement whose loops are fresh copies of `indices`; the instance gets the links to them. */
Context lower_open(Lower *l, Index *const *indices, int count, const Instance **instance)
{
    Context c = { .statement = lower_begin(l) };
    for (int i = 0; i < count; i++) {
        Index *fresh = lower_index(l, c.statement, indices[i]);
        *instance = lower_link(l, *instance, indices[i], fresh);
        ARENA_APPEND(l->arena, c.loops, c.loop_count, fresh);
    }
    l->out->statements[c.statement]->turned = lower_image(*instance, l->turned);
    l->out->statements[c.statement]->rows_short = l->rows_short;
    return c;
}

const Instance *lower_link_over(Lower *l, const Context *c, const Term *reduce, const Instance *instance, Index **over)
{
    for (int i = 0; i < reduce->reduce.over_count; i++) {
        over[i] = lower_index(l, c->statement, reduce->reduce.over[i]);
        instance = lower_link(l, instance, reduce->reduce.over[i], over[i]);
    }
    return instance;
}

Context lower_open_over(Lower *l, Index *const *kept, int count, const Instance *outside, const Instance **instance)
{
    Index **images = ARENA_ARRAY(l->arena, Index *, count);
    const Instance *unused = NULL;
    for (int i = 0; i < count; i++)
        images[i] = lower_image(outside, kept[i]);
    Context c = lower_open(l, images, count, &unused);
    for (int i = 0; i < count; i++)
        *instance = lower_link(l, *instance, kept[i], c.loops[i]);
    return c;
}
