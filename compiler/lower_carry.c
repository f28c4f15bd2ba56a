/* The statements of a sweep: reductions are carried from block to block in statements of their own, and what else is done with
 * them is left behind the last block: see lower_sweep.c. */
#include <math.h>

#include "lower_sweep.h"

/* A statement of the sweep with copies of some indices as its loops. */
typedef struct Row {
    Context context;
    TermCopy copy;
} Row;

static Row open_row(Sweeper *s, Index *const *axes, int rank)
{
    Lower *l = s->l;
    const Instance *instance = NULL;
    Row row = { .context = lower_open(l, axes, rank, &instance) };
    row.copy = (TermCopy){ l, row.context.statement, instance, ARENA_ARRAY(l->arena, Term *, l->out->term_count) };
    l->out->statements[row.context.statement]->sweep = s->sweep;
    return row;
}

static void append(Sweeper *s, int statement)
{
    ARENA_APPEND(s->l->arena, s->order, s->order_count, statement);
}

static void store_row(Sweeper *s, Row *row, Tensor *tensor, Term *value)
{
    Lower *l = s->l;
    Position *positions = ARENA_ARRAY(l->arena, Position, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        positions[a] = lower_plain(l, row->context.loops[a]);
    lower_output(l, row->context.statement, tensor, value, positions);
    l->out->statements[row->context.statement]->span = value->span;
    append(s, row->context.statement);
}

static Term *read_at(Lower *l, const Context *c, const Tensor *tensor, Index *const *indices, Span span)
{
    Position *positions = ARENA_ARRAY(l->arena, Position, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        positions[a] = lower_plain(l, indices[a]);
    return lower_read(l, c, (Tensor *)tensor, positions, span);
}

static double start_of(Reduction reduction)
{
    return reduction == REDUCTION_SUM ? 0 : reduction == REDUCTION_MAX ? -INFINITY : INFINITY;
}

/* What a tensor was behind the block before. */
static Term *read_before(Lower *l, const Context *c, const Tensor *tensor, Reduction reduction, Span span)
{
    Term *read = read_at(l, c, tensor, c->loops, span);
    read->read.carried = true;
    read->read.start = start_of(reduction);
    return read;
}

/* The factor by which what has been added up is multiplied: made once for each maximum, which then becomes the one before. */
static Tensor *factor_of(Sweeper *s, const Tensor *maximum)
{
    Lower *l = s->l;
    Tensor *before = s->before[maximum->id];
    if (s->factor[maximum->id])
        return s->factor[maximum->id];
    Row row = open_row(s, maximum->axes, maximum->rank);
    Context *c = &row.context;
    Span span = maximum->maker->span;
    Dtype dtype = maximum->dtype;
    Term *now = read_at(l, c, maximum, c->loops, span), *then = read_before(l, c, before, REDUCTION_MAX, span);
    Term *difference = lower_map(l, c, FUNCTION_SUB, dtype, then, now);
    difference->map.implicit = true;
    Term *nothing = lower_map(l, c, FUNCTION_EQ, DTYPE_BOOL, now, lower_number(l, c, dtype, -INFINITY, span));
    Term *power = lower_map(l, c, FUNCTION_EXP, dtype, difference, NULL);
    Tensor *factor = lower_temporary(l, maximum->rank, dtype);
    store_row(s, &row, factor, lower_select(l, c, nothing, lower_number(l, c, dtype, 1, span), power));
    row = open_row(s, maximum->axes, maximum->rank);
    store_row(s, &row, before, read_at(l, &row.context, maximum, row.context.loops, span));
    s->factor[maximum->id] = factor;
    return factor;
}

/* The loops of a row that stand for the axes of a maximum. */
static Index **images(const Sweeper *s, const Row *row, const Statement *statement, const Tensor *maximum)
{
    Index **list = sweep_axes(s, statement, maximum);
    for (int a = 0; a < maximum->rank; a++)
        list[a] = lower_image(row->copy.instance, list[a]);
    return list;
}

/* A reduction over all blocks so far becomes `tensor`: that of this block, and what was carried here. Where a sum is scaled, and
 * is of no more indices than its factor, that of the block is made before: its rows are near. */
static void carry(Sweeper *s, const Statement *statement, const Term *root, Tensor *tensor)
{
    Lower *l = s->l;
    const Tensor *out = statement->outputs[0].tensor;
    Scale scale = scale_of(&s->scaling, root->reduce.argument);
    bool scales = root->reduce.reduction == REDUCTION_SUM && scale.kind == SCALE_POWER;
    bool apart = scales && out->rank == scale.of->rank;
    Tensor *share = apart ? lower_temporary(l, out->rank, root->dtype) : NULL;
    Row row = open_row(s, out->axes, out->rank);
    if (apart) {
        store_row(s, &row, share, lower_copy_term(&row.copy, root));
        l->out->statements[row.context.statement]->swept = lower_image(row.copy.instance, s->swept[statement->id]);
    }
    const Tensor *factor = scales ? factor_of(s, scale.of) : NULL;
    if (scales)
        row = open_row(s, out->axes, out->rank);
    Context *c = &row.context;
    const Tensor *carried = tensor->id < s->tensor_count && s->before[tensor->id] ? s->before[tensor->id] : tensor;
    Term *now = apart ? read_at(l, c, share, c->loops, root->span) : lower_copy_term(&row.copy, root);
    Term *before = read_before(l, c, carried, root->reduce.reduction, root->span);
    if (scales) {
        Term *times = read_at(l, c, factor, images(s, &row, statement, scale.of), root->span);
        before = lower_map(l, c, FUNCTION_MUL, root->dtype, before, lower_cast(l, c, root->dtype, times));
    }
    Function function = root->reduce.reduction == REDUCTION_SUM ? FUNCTION_ADD : root->reduce.reduction == REDUCTION_MAX ? FUNCTION_MAX : FUNCTION_MIN;
    store_row(s, &row, tensor, lower_map(l, c, function, root->dtype, before, now));
    l->out->statements[row.context.statement]->swept = lower_image(row.copy.instance, s->swept[statement->id]);
}

static Term *with_read(Term *term, const Term *root, Term *read, bool *seen)
{
    if (term == root)
        return read;
    if (term->id == read->id || seen[term->id])
        return term;
    seen[term->id] = true;
    for (int i = 0; term->kind == TERM_MAP && i < term->map.count; i++)
        term->map.arguments[i] = with_read(term->map.arguments[i], root, read, seen);
    return term;
}

/* A statement that reduces: its reductions are carried in statements of their own, and what it does with them is left. */
static void take_apart(Sweeper *s, Statement *statement)
{
    Lower *l = s->l;
    Output *output = &statement->outputs[0];
    Roots roots = sweep_roots(s, statement);
    if (output->value == roots.list[0]) {
        carry(s, statement, output->value, output->tensor);
        return;
    }
    const Context c = { .statement = statement->id };
    for (int i = 0; i < roots.count; i++) {
        Tensor *sum = lower_temporary(l, output->tensor->rank, roots.list[i]->dtype);
        carry(s, statement, roots.list[i], sum);
        Term *read = read_at(l, &c, sum, output->tensor->axes, roots.list[i]->span);
        output->value = with_read(output->value, roots.list[i], read, ARENA_ARRAY(l->arena, bool, l->out->term_count));
    }
    append(s, statement->id);
}

/* Maxima that something is scaled by are carried in one more tensor. */
static void find_maxima(Sweeper *s)
{
    for (int i = 0; i < s->l->out->statement_count; i++) {
        const Statement *statement = s->l->out->statements[i];
        if (!s->swept[i] || sweep_keeps(s, statement))
            continue;
        Roots roots = sweep_roots(s, statement);
        for (int r = 0; r < roots.count; r++) {
            Scale scale = scale_of(&s->scaling, roots.list[r]->reduce.argument);
            if (scale.kind == SCALE_POWER && !s->before[scale.of->id])
                s->before[scale.of->id] = lower_temporary(s->l, scale.of->rank, scale.of->dtype);
        }
    }
}

void sweep_rewrite(Sweeper *s)
{
    Lower *l = s->l;
    find_maxima(s);
    for (int i = 0, n = l->out->statement_count; i < n; i++) {
        Statement *statement = l->out->statements[i];
        const bool reduces = s->swept[i] && !sweep_keeps(s, statement);
        statement->goes_on |= reduces && sweep_ranks(statement);
        if (reduces && !statement->goes_on && !statement_scatters(statement)) {
            take_apart(s, statement);
            continue;
        }
        statement->sweep = s->swept[i] ? s->sweep : statement->sweep;
        statement->swept = s->swept[i] ? s->swept[i] : statement->swept;
        append(s, i);
    }
    l->ended = s->order;
    l->ended_count = s->order_count;
}
