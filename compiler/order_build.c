/* Writes an ordered program: a copy of the checked one in which reductions that are ordered read the values in between. */
#include <string.h>

#include "ordering.h"

typedef struct Build {
    Arena *arena;
    const Program *in;
    Program *out;
    Ordered *const *orders;       /* [in term id]; NULL: there are none */
    Statement **ended;            /* in the order in which they run: a value in between ends before what it is for */
    int ended_count, value_count;
} Build;

/* A statement that is being written: what stands in it for indices and terms of the checked program. */
typedef struct Scope {
    Build *b;
    Statement *statement;
    Index **indices;              /* [in index id] */
    Term **terms;                 /* [in term id] */
} Scope;

static Term *copy(Scope *s, const Term *term);

/* ---- indices, tensors, statements ---- */

static Scope open(Build *b)
{
    Scope s = { b, ARENA_NEW(b->arena, Statement), ARENA_ARRAY(b->arena, Index *, b->in->index_count),
                ARENA_ARRAY(b->arena, Term *, b->in->term_count) };
    s.statement->id = b->out->statement_count;
    s.statement->declared = DTYPE_NONE;
    ARENA_APPEND(b->arena, b->out->statements, b->out->statement_count, s.statement);
    return s;
}

static void end(Scope *s)
{
    ARENA_APPEND(s->b->arena, s->b->ended, s->b->ended_count, s->statement);
}

static Index *image(Scope *s, const Index *index)
{
    Index **at = &s->indices[index->id];
    if (*at)
        return *at;
    *at = ARENA_NEW(s->b->arena, Index);
    **at = *index;
    (*at)->id = s->b->out->index_count;
    (*at)->statement = s->statement->id;
    (*at)->origin = index->origin ? index->origin : index;
    ARENA_APPEND(s->b->arena, s->b->out->indices, s->b->out->index_count, *at);
    return *at;
}

static Index **images(Scope *s, Index *const *indices, int count)
{
    Index **list = ARENA_ARRAY(s->b->arena, Index *, count);
    for (int i = 0; i < count; i++)
        list[i] = image(s, indices[i]);
    return list;
}

static Tensor *add_tensor(Build *b, Tensor tensor)
{
    Tensor *added = ARENA_NEW(b->arena, Tensor);
    *added = tensor;
    added->id = b->out->tensor_count;
    ARENA_APPEND(b->arena, b->out->tensors, b->out->tensor_count, added);
    return added;
}

static Tensor *new_value(Build *b, int rank, Dtype dtype)
{
    const char *label;
    bool taken = true;
    for (label = NULL; taken;) {
        label = arena_format(b->arena, "tmp%d", ++b->value_count);
        taken = false;
        for (int i = 0; i < b->in->tensor_count; i++)
            taken |= !strcmp(b->in->tensors[i]->label, label);
    }
    return add_tensor(b, (Tensor){ .name = label, .label = label, .input = -1, .rank = rank, .dtype = dtype });
}

static Position plain(Arena *arena, Index *index)
{
    Position position = { .span = index->span, .count = 1, .parts = ARENA_NEW(arena, PositionPart) };
    position.parts[0] = (PositionPart){ 1, index, NULL };
    return position;
}

static void add_output(Scope *s, Tensor *tensor, Term *value, Position *positions)
{
    Output output = { tensor, value, positions, false };
    tensor->maker = s->statement;
    tensor->axes = ARENA_ARRAY(s->b->arena, Index *, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        tensor->axes[a] = position_is_plain(&positions[a]) ? positions[a].parts[0].index : NULL;
    ARENA_APPEND(s->b->arena, s->statement->outputs, s->statement->output_count, output);
}

/* ---- terms ---- */

static Term *new_term(Scope *s, TermKind kind, Dtype dtype, Span span)
{
    Term *term = ARENA_NEW(s->b->arena, Term);
    *term = (Term){ .kind = kind, .id = s->b->out->term_count, .statement = s->statement->id, .span = span, .dtype = dtype };
    ARENA_APPEND(s->b->arena, s->b->out->terms, s->b->out->term_count, term);
    return term;
}

static void depend_on(Scope *s, Term *term, const Term *used)
{
    for (int i = 0; i < used->rank; i++)
        if (!term_has_index(term, used->indices[i]))
            ARENA_APPEND(s->b->arena, term->indices, term->rank, used->indices[i]);
}

static Term *new_map(Scope *s, Function function, Dtype dtype, Term *left, Term *right, Span span)
{
    Term *map = new_term(s, TERM_MAP, dtype, span);
    map->map.function = function;
    map->map.arguments = ARENA_ARRAY(s->b->arena, Term *, 2);
    map->map.arguments[0] = left;
    map->map.count = 1;
    depend_on(s, map, left);
    if (right) {
        map->map.arguments[map->map.count++] = right;
        depend_on(s, map, right);
    }
    return map;
}

static Position *copy_positions(Scope *s, const Position *positions, int rank)
{
    Position *copies = ARENA_ARRAY(s->b->arena, Position, rank);
    for (int a = 0; a < rank; a++) {
        copies[a] = positions[a];
        copies[a].parts = ARENA_ARRAY(s->b->arena, PositionPart, positions[a].count);
        for (int k = 0; k < positions[a].count; k++) {
            PositionPart *part = &copies[a].parts[k];
            *part = positions[a].parts[k];
            if (part->index)
                part->index = image(s, part->index);
            else
                part->gather = copy(s, part->gather);
        }
    }
    return copies;
}

/* ---- an ordered reduction ---- */

static Term *write_node(Scope *s, const Ordered *o, int node);

/* The checked program's indices that a node reduces, or those that it leaves, in the order of the text. */
static Index **node_indices(Scope *s, const Ordered *o, int node, bool reduced, int *count)
{
    const Node *n = &o->nodes[node];
    const Term *all = node < o->network.leaf_count ? o->factors[node] : o->top;
    Index **list = NULL;
    for (int i = 0; i < all->rank; i++) {
        int class = o->class_of[all->indices[i]->id];
        bool here = node < o->network.leaf_count || order_has(n->all, class);
        if (here && order_has(n->set, class) != reduced)
            ARENA_APPEND(s->b->arena, list, *count, all->indices[i]);
    }
    return list;
}

/* A factor as the reduction takes it: its product may be wider than itself. */
static Term *write_factor(Scope *s, const Ordered *o, int leaf)
{
    Term *factor = copy(s, o->factors[leaf]);
    Dtype dtype = o->reduction->reduce.argument->dtype;
    if (factor->dtype == dtype)
        return factor;
    Term *cast = new_map(s, FUNCTION_CAST, dtype, factor, NULL, factor->span);
    cast->map.implicit = true;
    return cast;
}

/* The factors of a node, joined. */
static Term *write_joined(Scope *s, const Ordered *o, int node)
{
    const Node *n = &o->nodes[node];
    if (n->left < 0)
        return write_factor(s, o, node);
    Term *left = write_node(s, o, n->left), *right = write_node(s, o, n->right);
    Term *joined = new_map(s, o->function, left->dtype, left, right, o->reduction->reduce.argument->span);
    joined->map.comma = o->comma;
    return joined;
}

/* A node's reduction in the statement at hand. Where it reduces nothing an arrow is left, which puts indices in order. */
static Term *write_reduction(Scope *s, const Ordered *o, int node, Index **kept, int kept_count)
{
    int count = 0;
    Index **over = node_indices(s, o, node, true, &count);
    Term *argument = write_joined(s, o, node);
    Term *reduce = new_term(s, count ? o->reduction->kind : TERM_CONTRACT, o->reduction->dtype, o->reduction->span);
    reduce->reduce = o->reduction->reduce;
    reduce->reduce.reduction = o->reduction->reduce.reduction == REDUCTION_MEAN ? REDUCTION_SUM : o->reduction->reduce.reduction;
    reduce->reduce.over = images(s, over, count);
    reduce->reduce.over_count = count;
    reduce->reduce.argument = argument;
    reduce->reduce.declared = DTYPE_NONE;
    reduce->indices = images(s, kept, kept_count);
    reduce->rank = kept_count;
    return reduce;
}

static void multiply(Scope *s, Term **product, Term *factor)
{
    *product = *product ? new_map(s, FUNCTION_MUL, factor->dtype, *product, factor, factor->span) : factor;
}

/* The number of points that a reduction's means are of; NULL: there is no mean. */
static Term *write_count(Scope *s, const Ordered *o)
{
    Term *count = NULL;
    for (const Term *reduce = o->reduction; reduce; reduce = semiring_inner(reduce))
        for (int i = 0; i < reduce->reduce.over_count && reduce->reduce.reduction == REDUCTION_MEAN; i++) {
            Term *extent = new_term(s, TERM_EXTENT, DTYPE_I64, o->reduction->span);
            extent->extent = reduce->reduce.over[i]->origin ? reduce->reduce.over[i]->origin : reduce->reduce.over[i];
            multiply(s, &count, extent);
        }
    return count;
}

/* The whole of it. */
static Term *write_ordered(Scope *s, const Ordered *o)
{
    Term *sum = write_reduction(s, o, 2 * o->network.leaf_count - 2, o->reduction->indices, o->reduction->rank), *count = write_count(s, o);
    if (!count)
        return sum;
    Term *divisor = new_map(s, FUNCTION_CAST, sum->dtype, count, NULL, sum->span);
    return new_map(s, FUNCTION_DIV, sum->dtype, sum, divisor, sum->span);
}

/* The first tensor with this value: nothing reads the second then, and lowering leaves it out. */
static Tensor *same_made_before(Build *b, const Output *output)
{
    for (int i = 0; i < b->ended_count; i++) {
        const Output *other = &b->ended[i]->outputs[0];
        if (b->ended[i]->stored && order_same_value(b->arena, other->value, output->value))
            return other->tensor;
    }
    return output->tensor;
}

/* A value in between: a statement before this one, and a read of what it makes. */
static Term *write_stored(Scope *s, const Ordered *o, int node)
{
    Arena *arena = s->b->arena;
    int count = 0;
    Index **indices = node_indices(s, o, node, false, &count);
    Scope own = open(s->b);
    Term *value = write_reduction(&own, o, node, indices, count);
    Tensor *tensor = new_value(s->b, count, value->dtype);
    Position *made = ARENA_ARRAY(arena, Position, count), *read = ARENA_ARRAY(arena, Position, count);
    for (int a = 0; a < count; a++) {
        made[a] = plain(arena, image(&own, indices[a]));
        read[a] = plain(arena, image(s, indices[a]));
    }
    add_output(&own, tensor, value, made);
    own.statement->span = o->reduction->span;
    own.statement->named = own.statement->stored = true;
    end(&own);
    Term *term = new_term(s, TERM_READ, tensor->dtype, o->reduction->span);
    term->read.tensor = same_made_before(s->b, &own.statement->outputs[0]);
    term->read.positions = read;
    term->indices = images(s, indices, count);
    term->rank = count;
    return term;
}

static Term *write_node(Scope *s, const Ordered *o, int node)
{
    int count = 0;
    if (order_stores(o, node))
        return write_stored(s, o, node);
    if (node < o->network.leaf_count || !o->nodes[node].sums)
        return write_joined(s, o, node);
    Index **kept = node_indices(s, o, node, false, &count);
    return write_reduction(s, o, node, kept, count);
}

/* ---- everything else ---- */

static void copy_arguments(Scope *s, const Term *from, Term *to)
{
    switch (from->kind) {
    case TERM_READ:
        to->read.tensor = s->b->out->tensors[from->read.tensor->id];
        to->read.positions = copy_positions(s, from->read.positions, from->read.tensor->rank);
        break;
    case TERM_MAP:
        to->map.arguments = ARENA_ARRAY(s->b->arena, Term *, from->map.count);
        for (int i = 0; i < from->map.count; i++)
            to->map.arguments[i] = copy(s, from->map.arguments[i]);
        break;
    case TERM_SELECT:
        to->select.condition = copy(s, from->select.condition);
        to->select.yes = copy(s, from->select.yes);
        to->select.no = copy(s, from->select.no);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        to->reduce.argument = copy(s, from->reduce.argument);
        to->reduce.over = images(s, from->reduce.over, from->reduce.over_count);
        to->reduce.ranks = from->kind == TERM_REDUCE && from->reduce.ranks ? image(s, from->reduce.ranks) : NULL;
        break;
    case TERM_POSITION: to->position = image(s, from->position); break;
    case TERM_CONSTANT:
    case TERM_EXTENT: break;
    }
}

static Term *copy(Scope *s, const Term *term)
{
    const Ordered *o = s->b->orders ? s->b->orders[term->id] : NULL;
    if (s->terms[term->id])
        return s->terms[term->id];
    Term *made;
    if (o) {
        made = write_ordered(s, o);
        made->is_value = term->is_value;
    } else {
        Term like = *term;
        copy_arguments(s, term, &like);
        made = new_term(s, term->kind, term->dtype, term->span);
        like.id = made->id;
        like.statement = made->statement;
        like.origin = s->b->in->origin ? term->origin : term;
        like.indices = images(s, term->indices, term->rank);
        *made = like;
    }
    return s->terms[term->id] = made;
}

static void copy_statement(Build *b, const Statement *statement)
{
    Scope s = open(b);
    s.statement->span = statement->span;
    s.statement->named = statement->named;
    s.statement->accumulate = statement->accumulate;
    s.statement->declared = statement->declared;
    s.statement->stored = statement->stored;
    for (int o = 0; o < statement->output_count; o++) {
        const Output *output = &statement->outputs[o];
        Term *value = copy(&s, output->value);
        add_output(&s, b->out->tensors[output->tensor->id], value, copy_positions(&s, output->positions, output->tensor->rank));
    }
    end(&s);
}

static void copy_tensors(Build *b)
{
    for (int i = 0; i < b->in->tensor_count; i++) {
        const Tensor *tensor = b->in->tensors[i];
        Tensor *own = add_tensor(b, *tensor);
        own->source = b->in->origin ? tensor->source : tensor;
        own->maker = NULL;
        own->axes = NULL;
        own->previous = tensor->previous ? b->out->tensors[tensor->previous->id] : NULL;
    }
    for (int i = 0; i < b->in->input_count; i++) {
        Tensor *input = b->out->tensors[b->in->inputs[i]->id];
        ARENA_APPEND(b->arena, b->out->inputs, b->out->input_count, input);
    }
}

/* Puts the statements into the order in which they ended, and numbers them so. */
static void number_statements(Build *b)
{
    int *number = ARENA_ARRAY(b->arena, int, b->ended_count);
    for (int i = 0; i < b->ended_count; i++)
        number[b->ended[i]->id] = i;
    for (int i = 0; i < b->ended_count; i++)
        b->ended[i]->id = i;
    for (int i = 0; i < b->out->term_count; i++)
        b->out->terms[i]->statement = number[b->out->terms[i]->statement];
    for (int i = 0; i < b->out->index_count; i++)
        b->out->indices[i]->statement = number[b->out->indices[i]->statement];
    b->out->statements = b->ended;
}

Program *order_build(Arena *arena, const Program *program, Ordered *const *orders)
{
    Build b = { .arena = arena, .in = program, .out = ARENA_NEW(arena, Program), .orders = orders };
    b.out->arena = arena;
    b.out->source = program->source;
    b.out->origin = program->origin ? program->origin : program;
    copy_tensors(&b);
    for (int s = 0; s < program->statement_count; s++)
        copy_statement(&b, program->statements[s]);
    number_statements(&b);
    return b.out;
}

Program *order_copy(Arena *arena, const Program *program)
{
    return order_build(arena, program, NULL);
}
