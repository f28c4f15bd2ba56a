/* Values in between that are made again for one of their readers.
 *
 *     p[i,j] = exp(a[i,k] * b[k,j] | sum k)        x[i] = p[i,j] | sum j        y[j] = p[i,j] * c[i] | sum i
 *
 * Steps that run together have blocks of an index that all of them keep, as those that make p and x have i. y keeps another one: so p would
 * be stored whole. Where that is too much, y has a p of its own, of the same value, made of what is as large again and of what is
 * small as it stands. See compile_search.c, which chooses. */
#include "lower_sweep.h"

/* ---- copies of terms ---- */

static Index *copy_index(TermCopy *c, Index *index)
{
    Index *image = lower_image(c->instance, index);
    if (!image) {
        image = lower_index(c->l, c->statement, index);
        c->instance = lower_link(c->l, c->instance, index, image);
    }
    return image;
}

static Index **copy_indices(TermCopy *c, Index *const *indices, int count)
{
    Index **list = ARENA_ARRAY(c->l->arena, Index *, count);
    for (int i = 0; i < count; i++)
        list[i] = copy_index(c, indices[i]);
    return list;
}

static void copy_positions(TermCopy *c, Term *read)
{
    Position *positions = ARENA_ARRAY(c->l->arena, Position, read->read.tensor->rank);
    for (int a = 0; a < read->read.tensor->rank; a++) {
        positions[a] = read->read.positions[a];
        positions[a].parts = ARENA_ARRAY(c->l->arena, PositionPart, positions[a].count);
        for (int k = 0; k < positions[a].count; k++) {
            positions[a].parts[k] = read->read.positions[a].parts[k];
            if (positions[a].parts[k].index)
                positions[a].parts[k].index = copy_index(c, positions[a].parts[k].index);
            else
                positions[a].parts[k].gather = lower_copy_term(c, positions[a].parts[k].gather);
        }
    }
    read->read.positions = positions;
}

Term *lower_copy_term(TermCopy *c, const Term *term)
{
    Context context = { .statement = c->statement };
    if (c->copies[term->id])
        return c->copies[term->id];
    Term *copy = lower_term(c->l, &context, term->kind, term->dtype, term->span);
    int id = copy->id;
    *copy = *term;
    copy->id = id;
    copy->statement = c->statement;
    copy->indices = copy_indices(c, term->indices, term->rank);
    switch (term->kind) {
    case TERM_READ: copy_positions(c, copy); break;
    case TERM_CONSTANT:
    case TERM_EXTENT: break;
    case TERM_POSITION: copy->position = copy_index(c, term->position); break;
    case TERM_MAP:
        copy->map.arguments = ARENA_ARRAY(c->l->arena, Term *, term->map.count);
        for (int i = 0; i < term->map.count; i++)
            copy->map.arguments[i] = lower_copy_term(c, term->map.arguments[i]);
        break;
    case TERM_SELECT:
        copy->select.condition = lower_copy_term(c, term->select.condition);
        copy->select.yes = lower_copy_term(c, term->select.yes);
        copy->select.no = lower_copy_term(c, term->select.no);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        copy->reduce.over = copy_indices(c, term->reduce.over, term->reduce.over_count);
        copy->reduce.argument = lower_copy_term(c, term->reduce.argument);
        break;
    }
    return c->copies[term->id] = copy;
}

/* ---- the pass ---- */

typedef struct Remaking {
    Lower *l;
    const Extents *extents;
    double least;                 /* points of what is made again */
    Tensor **again;               /* [tensor id]: for the reader */
    int tensor_count;             /* before anything is made */
    int *order, order_count;      /* the statements' new order */
} Remaking;

enum { SMALLER = 4 };    /* what is so much smaller is not made again */

static double points_of(const Remaking *r, const Tensor *tensor)
{
    double points = 1;
    for (int a = 0; a < tensor->rank; a++) {
        const Index *index = tensor->axes[a];
        const int64_t extent = r->extents->of[index->origin ? index->origin->id : index->id];
        points *= extent < 0 ? LONG_EXTENT : (double)extent;
    }
    return points;
}

/* Whether it is a temporary of a plain statement, which may as well stand twice: not behind a `+=` to what it reads. */
static bool may_remake(const Program *out, const Tensor *tensor)
{
    const Statement *s = tensor->maker;
    if (!sweep_stores(tensor) || tensor->previous || s->output_count > 1 || s->accumulate || s->turned || s->sweep || sweep_ranks(s))
        return false;
    for (int a = 0; a < tensor->rank; a++)
        if (!tensor->axes[a] || indices_have(tensor->axes, a, tensor->axes[a]))
            return false;
    for (int i = 0; i < out->term_count; i++) {
        const Term *term = out->terms[i];
        if (term->statement == s->id && term->kind == TERM_READ && term->read.tensor->home != term->read.tensor)
            return false;
    }
    return true;
}

static Tensor *remake(Remaking *r, const Tensor *tensor)
{
    Lower *l = r->l;
    const Instance *instance = NULL;
    if (r->again[tensor->id])
        return r->again[tensor->id];
    const Output *output = &tensor->maker->outputs[0];
    Context c = lower_open(l, tensor->axes, tensor->rank, &instance);
    TermCopy copy = { l, c.statement, instance, ARENA_ARRAY(l->arena, Term *, l->out->term_count) };
    const int first = l->out->term_count;
    Term *value = lower_copy_term(&copy, output->value);
    for (int i = first, end = l->out->term_count; i < end; i++) {
        Term *term = l->out->terms[i];
        const Tensor *read = term->kind == TERM_READ ? term->read.tensor : NULL;
        if (read && read->id < r->tensor_count && may_remake(l->out, read) && points_of(r, read) >= r->least)
            term->read.tensor = remake(r, read);
    }
    Position *positions = ARENA_ARRAY(l->arena, Position, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        positions[a] = lower_plain(l, c.loops[a]);
    Tensor *again = lower_temporary(l, tensor->rank, tensor->dtype);
    lower_output(l, c.statement, again, value, positions);
    l->out->statements[c.statement]->span = tensor->maker->span;
    ARENA_APPEND(l->arena, r->order, r->order_count, c.statement);
    return r->again[tensor->id] = again;
}

bool lower_again(Lower *l, const Extents *extents, Again again)
{
    const Tensor *tensor = l->out->statements[again.maker]->outputs[0].tensor;
    const int statements = l->out->statement_count, terms = l->out->term_count;
    Remaking r = { .l = l, .extents = extents, .tensor_count = l->out->tensor_count };
    r.again = ARENA_ARRAY(l->arena, Tensor *, r.tensor_count);
    if (!may_remake(l->out, tensor))
        return false;
    r.least = points_of(&r, tensor) / SMALLER;
    for (int s = 0; s < statements; s++) {
        for (int i = 0; i < terms && s == again.reader; i++) {
            Term *term = l->out->terms[i];
            if (term->statement == s && term->kind == TERM_READ && term->read.tensor == tensor)
                term->read.tensor = remake(&r, tensor);
        }
        ARENA_APPEND(l->arena, r.order, r.order_count, s);
    }
    l->ended = r.order;
    l->ended_count = r.order_count;
    return true;
}
