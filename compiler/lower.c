/* See lower.h. Which statements are needed, which are written into their readers, and the order of what remains. */
#include "lowering.h"

/* ---- facts about terms ---- */

typedef struct Sum {
    const Lower *l;
    Facts facts;
} Sum;

static void add_facts(void *user, const Term *term)
{
    Sum *sum = user;
    const Facts *facts = &sum->l->facts[term->id];
    sum->facts.cost = sum->facts.cost + facts->cost < COST_LIMIT ? sum->facts.cost + facts->cost : COST_LIMIT;
    sum->facts.can_miss |= facts->can_miss;
}

typedef struct Use {
    Lower *l;
    bool rounds;                  /* a cast to bf16 */
} Use;

static void note_use(void *user, const Term *term)
{
    const Use *use = user;
    use->l->facts[term->id].is_rounded &= use->rounds;
}

/* What nobody uses but casts to bf16. */
static void find_rounded(Lower *l)
{
    const Program *program = l->in;
    for (int i = 0; i < program->term_count; i++)
        l->facts[i].is_rounded = true;
    for (int i = 0; i < program->term_count; i++) {
        const Term *term = program->terms[i];
        Use use = { l, term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->dtype == DTYPE_BF16 };
        term_each_argument(term, note_use, &use);
    }
    for (int s = 0; s < program->statement_count; s++)
        for (int o = 0; o < program->statements[s]->output_count; o++)
            l->facts[program->statements[s]->outputs[o].value->id].is_rounded = false;
}

static Facts facts_of(const Lower *l, const Term *term)
{
    Sum sum = { l, { 1, false, l->facts[term->id].is_rounded } };
    if (term->kind == TERM_READ) {
        const Tensor *tensor = term->read.tensor;
        if (lower_is_written_in(l, tensor))
            add_facts(&sum, lower_value(tensor));
        for (int a = 0; a < tensor->rank; a++)
            sum.facts.can_miss |= !position_is_plain(&term->read.positions[a]);
    } else if (term->kind == TERM_MAP && function_facts[term->map.function].ulp > 0.5) {
        sum.facts.cost = 10;
    } else if (term->kind == TERM_REDUCE || (term->kind == TERM_CONTRACT && term->reduce.over_count)) {
        sum.facts.cost = COST_LIMIT;
    }
    term_each_argument(term, add_facts, &sum);
    return sum.facts;
}

/* ---- which statements are needed, and how their results are read ---- */

typedef struct Reads {
    int *count;                   /* [tensor id] */
    bool *plain;                  /* [tensor id]: every read is at distinct plain indices */
} Reads;

static bool is_distinct_and_plain(const Term *read)
{
    for (int a = 0; a < read->read.tensor->rank; a++) {
        if (!position_is_plain(&read->read.positions[a]))
            return false;
        for (int b = 0; b < a; b++)
            if (read->read.positions[a].parts[0].index == read->read.positions[b].parts[0].index)
                return false;
    }
    return true;
}

static Reads count_reads(Lower *l, const bool *needed)
{
    const Program *p = l->in;
    Reads reads = { ARENA_ARRAY(l->arena, int, p->tensor_count), ARENA_ARRAY(l->arena, bool, p->tensor_count) };
    for (int t = 0; t < p->tensor_count; t++)
        reads.plain[t] = true;
    for (int i = 0; i < p->term_count; i++) {
        const Term *term = p->terms[i];
        if (term->kind != TERM_READ || !needed[term->statement])
            continue;
        reads.count[term->read.tensor->id]++;
        reads.plain[term->read.tensor->id] &= is_distinct_and_plain(term);
    }
    return reads;
}

static bool is_added_to(const Lower *l, const Tensor *tensor)
{
    for (int t = 0; t < l->in->tensor_count; t++)
        if (l->in->tensors[t]->previous == tensor)
            return true;
    return false;
}

/* Whether a statement's result is written into its only reader, or into all when it is cheap. */
static bool write_in(const Lower *l, const Statement *statement, const bool *wanted, const Reads *reads)
{
    const Tensor *tensor = statement->outputs[0].tensor;
    const Term *value = statement->outputs[0].value;
    if (statement->output_count > 1 || statement->accumulate || statement->stored || wanted[tensor->id] || !reads->plain[tensor->id])
        return false;
    for (int a = 0; a < tensor->rank; a++)
        if (!term_has_index(value, tensor->axes[a]))
            return false;
    /* What a later `+=` changes is read in its place, before. */
    for (int i = 0; i < l->in->term_count; i++)
        if (l->in->terms[i]->statement == statement->id && l->in->terms[i]->kind == TERM_READ &&
            is_added_to(l, l->in->terms[i]->read.tensor))
            return false;
    return !is_added_to(l, tensor) && (reads->count[tensor->id] == 1 || l->facts[value->id].cost <= COST_CHEAP);
}

/* ---- statements ---- */

/* The indices of a target's positions, gathers included, and of the value. */
static Index **target_loops(Lower *l, const Output *output, int *count)
{
    Index **loops = NULL;
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++) {
            const PositionPart *part = &output->positions[a].parts[k];
            Index *const *indices = part->gather ? part->gather->indices : &part->index;
            for (int i = 0, n = part->gather ? part->gather->rank : 1; i < n; i++)
                if (!indices_have(loops, *count, indices[i]))
                    ARENA_APPEND(l->arena, loops, *count, indices[i]);
        }
    for (int i = 0; i < output->value->rank; i++)
        if (!indices_have(loops, *count, output->value->indices[i]))
            ARENA_APPEND(l->arena, loops, *count, output->value->indices[i]);
    return loops;
}

static void add_output(Lower *l, Context *c, const Output *output, const Instance *instance)
{
    c->root = output->value;
    Term *value = lower_copy(l, c, output->value, instance);
    Tensor *tensor = l->tensors[output->tensor->id];
    Position *positions = lower_positions(l, c, output->positions, tensor->rank, instance);
    lower_output(l, c->statement, tensor, value, positions);
    l->out->statements[c->statement]->accumulate = output->tensor->maker->accumulate;
}

/* The value that `&` reduces, without the cast that a reduction asked for. */
static const Term *reduced_value(const Term *reduce)
{
    const Term *value = reduce->reduce.argument;
    while (value->kind == TERM_MAP && value->map.function == FUNCTION_CAST && value->map.implicit)
        value = value->map.arguments[0];
    return value;
}

/* Outputs that one nest can make together: reductions over the same indices of the same value; of rankings, the values and
 * the places of the same ranks. */
static bool share_loops(const Term *a, const Term *b)
{
    if (a->kind != TERM_REDUCE || b->kind != TERM_REDUCE || reduced_value(a) != reduced_value(b) ||
        a->reduce.over_count != b->reduce.over_count)
        return false;
    const ReductionFacts *f = &reduction_facts[a->reduce.reduction], *g = &reduction_facts[b->reduce.reduction];
    bool same_ranks = f->leaves == LEAVES_RANKS && f->state == g->state && a->reduce.parameter == b->reduce.parameter;
    if (!same_ranks && (f->leaves != LEAVES_NOTHING || g->leaves != LEAVES_NOTHING))
        return false;
    for (int i = 0; i < a->reduce.over_count; i++)
        if (!indices_have(b->reduce.over, b->reduce.over_count, a->reduce.over[i]))
            return false;
    return true;
}

/* Of the outputs that share loops, those that are made of their own results of some indices: these come before, together. */
static void lower_results_first(Lower *l, const Statement *statement, int first)
{
    const Term *lead = statement->outputs[first].value, **across = NULL;
    int count = 0;
    for (int o = first; o < statement->output_count; o++)
        if (share_loops(lead, statement->outputs[o].value) && lower_is_across(l, statement->outputs[o].value))
            ARENA_APPEND(l->arena, across, count, statement->outputs[o].value);
    if (count > 1)
        lower_across_first(l, across, count);
}

/* The outputs from `first` on that share its loops make one statement. */
static void lower_outputs(Lower *l, const Statement *statement, int first, bool *done)
{
    const Output *lead = &statement->outputs[first];
    lower_results_first(l, statement, first);
    const Instance *instance = NULL;
    int count = 0;
    Index **loops = target_loops(l, lead, &count);
    Context c = lower_open(l, loops, count, &instance);
    bool several = statement->output_count > 1 && reduction_facts[lead->value->reduce.reduction].leaves != LEAVES_ALL;
    for (int i = 0; several && i < lead->value->reduce.over_count; i++) {
        const Index *over = lead->value->reduce.over[i];
        instance = lower_link(l, instance, over, lower_index(l, c.statement, over));
    }
    for (int o = first + 1; o < statement->output_count; o++)    /* one index of ranks serves all */
        if (share_loops(lead->value, statement->outputs[o].value) && lead->value->reduce.ranks)
            instance = lower_link(l, instance, statement->outputs[o].value->reduce.ranks,
                                  lower_image(instance, lead->value->reduce.ranks));
    for (int o = first; o < statement->output_count; o++)
        if (o == first || share_loops(lead->value, statement->outputs[o].value)) {
            add_output(l, &c, &statement->outputs[o], instance);
            done[o] = true;
        }
    lower_end(l, c.statement, statement->span);
}

/* Stores a term now, for all of the statement that is lowered next; `axes`: its indices in some order. */
static void force_along(Lower *l, const Term *term, Index *const *axes)
{
    const Instance *instance = NULL;
    Context c = lower_open(l, axes, term->rank, &instance);
    c.root = term;
    Forced *forced = ARENA_NEW(l->arena, Forced);
    *forced = (Forced){ l->forced, term, lower_store(l, &c, lower_copy(l, &c, term, instance), term->span), axes };
    l->forced = forced;
}

static void force(Lower *l, const Term *term)
{
    force_along(l, term, term->indices);
}

/* The value that reductions joined by `&` share is stored when they need more than one nest and it costs too much. */
static void force_shared_value(Lower *l, const Statement *statement)
{
    const Term *shared = reduced_value(statement->outputs[0].value);
    bool together = true;
    for (int o = 1; o < statement->output_count; o++)
        together &= share_loops(statement->outputs[0].value, statement->outputs[o].value);
    if (together || l->facts[shared->id].cost <= COST_CHEAP)
        return;
    force(l, shared);
}

/* Whether a `+=` reads its array only where it adds to it, each element once. */
static bool reads_in_place(const Lower *l, const Output *output)
{
    const Tensor *previous = output->tensor->previous;
    for (int i = 0; i < output->value->rank; i++)
        if (!indices_have(output->tensor->axes, output->tensor->rank, output->value->indices[i]))
            return false;
    for (int i = 0; i < l->in->term_count; i++) {
        const Term *term = l->in->terms[i];
        if (term->statement != output->tensor->maker->id)
            continue;
        if (term->kind == TERM_REDUCE || (term->kind == TERM_CONTRACT && term->reduce.over_count))
            return false;
        if (term->kind != TERM_READ || term->read.tensor != previous)
            continue;
        for (int a = 0; a < previous->rank; a++)
            if (!position_is_plain(&output->positions[a]) || !position_is_plain(&term->read.positions[a]) ||
                term->read.positions[a].parts[0].index != output->positions[a].parts[0].index)
                return false;
    }
    return true;
}

/* What a `+=` reads of its own array it reads before it changes any of it. */
static void force_own_reads(Lower *l, const Output *output)
{
    bool reads = false;
    for (int i = 0; i < l->in->term_count; i++) {
        const Term *term = l->in->terms[i];
        reads |= term->statement == output->tensor->maker->id && term->kind == TERM_READ &&
                 term->read.tensor == output->tensor->previous;
    }
    if (!reads || reads_in_place(l, output))
        return;
    force(l, output->value);
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++)
            if (output->positions[a].parts[k].gather)
                force(l, output->positions[a].parts[k].gather);
}

/* A product is a nest of its own, before what it makes is scattered. */
static void force_scattered(Lower *l, const Output *output)
{
    force_own_reads(l, output);
    bool computed = false;
    for (int a = 0; a < output->tensor->rank; a++)
        computed |= !position_is_plain(&output->positions[a]);
    const Term *product = product_inside(l->arena, output->value);
    if (computed && !l->forced && product && l->kinds[product->id] & PRODUCT_SCATTERED)
        force(l, output->value);
}

static void force_turned_read(void *user, const Term *term)
{
    Lower *l = user;
    const Term *read = turn_read(term);
    for (const Forced *f = l->forced; f; f = f->outer)
        if (f->term == term)    /* for another output */
            return;
    if (read && turn_copies(read->read.tensor, read->read.positions, l->turned, l->strides))
        force(l, term);
}

/* Of a statement that is turned, the copies of its operands come before, and that of its result behind. */
static void force_turned(Lower *l, const Output *output)
{
    term_each_below(l->arena, output->value, force_turned_read, l);
    if (turn_copies_back(output, l->turned, l->strides))
        force(l, output->value);
}

/* Of a product the result alone is turned: what makes it is a product whose result has the indices of the operand in question
 * as that has them, inside of the other operand's or, where it has the rows, outside. */
static void force_result(Lower *l, const Term *value, Turn turn)
{
    const Term *read = turn.read;
    Index **axes = ARENA_ARRAY(l->arena, Index *, value->rank);
    int count = 0;
    for (int part = 0; part < 2; part++) {
        bool of_read = turn.rows == (part == 0);
        for (int i = 0; i < value->rank && !of_read; i++)
            if (!term_has_index(read, value->indices[i]))
                axes[count++] = value->indices[i];
        for (int a = 0; a < read->read.tensor->rank && of_read; a++)
            if (term_has_index(value, read->read.positions[a].parts[0].index))
                axes[count++] = read->read.positions[a].parts[0].index;
    }
    force_along(l, value, axes);
    l->turned = axes[count - 1];
}

static void lower_statement(Lower *l, const Statement *statement, const bool *wanted)
{
    const Turn turn = l->turns ? l->turns[statement->id] : (Turn){ .along = NULL };
    l->turned = turn.along;
    l->rows_short = turn.rows_short;
    bool *done = ARENA_ARRAY(l->arena, bool, statement->output_count);
    for (int o = 0; o < statement->output_count; o++) {
        const Tensor *tensor = statement->outputs[o].tensor;
        done[o] = statement->output_count > 1 && !wanted[tensor->id];
        l->tensors[tensor->id] = lower_tensor(l, tensor, wanted[tensor->id]);
    }
    if (statement->output_count > 1)
        force_shared_value(l, statement);
    else if (statement->accumulate)
        force_scattered(l, &statement->outputs[0]);
    else if (turn.read)
        force_result(l, statement->outputs[0].value, turn);
    for (int o = 0; o < statement->output_count && l->turned && !turn.read; o++)
        force_turned(l, &statement->outputs[o]);
    for (int o = 0; o < statement->output_count; o++)
        if (!done[o])
            lower_outputs(l, statement, o, done);
    l->forced = NULL;
    l->turned = NULL;
    l->rows_short = false;
}

/* Puts the statements into the order in which they ended, and numbers them so. */
static void end_program(Lower *l)
{
    Program *out = l->out;
    Statement **ordered = NULL;
    int *number = ARENA_ARRAY(l->arena, int, out->statement_count), count = 0;
    for (int i = 0; i < l->ended_count; i++) {
        ARENA_APPEND(l->arena, ordered, count, out->statements[l->ended[i]]);
        number[l->ended[i]] = ordered[i]->id = i;
    }
    for (int i = 0; i < out->term_count; i++)
        out->terms[i]->statement = number[out->terms[i]->statement];
    for (int i = 0; i < out->index_count; i++)
        out->indices[i]->statement = number[out->indices[i]->statement];
    out->statements = ordered;
    out->statement_count = count;
}

/* Leaves out what was stored for a use that came to nothing, such as one behind a condition that always holds. */
static void drop_unneeded(Lower *l, const bool *wanted)
{
    Program *out = l->out;
    bool *ends = ARENA_ARRAY(l->arena, bool, out->tensor_count);
    for (int t = 0; t < l->in->tensor_count; t++)
        if (wanted[t] && l->tensors[t])
            ends[l->tensors[t]->id] = true;
    const bool *needed = program_needed(l->arena, out, ends);
    int *number = ARENA_ARRAY(l->arena, int, out->statement_count), terms = 0, indices = 0, tensors = 0, statements = 0;
    for (int s = 0; s < out->statement_count; s++)
        number[s] = needed[s] ? statements++ : -1;
    if (statements == out->statement_count)
        return;
    for (int i = 0; i < out->tensor_count; i++)
        if (!out->tensors[i]->maker || needed[out->tensors[i]->maker->id])
            out->tensors[tensors++] = out->tensors[i];
    for (int i = 0; i < out->term_count; i++)
        if ((out->terms[i]->statement = number[out->terms[i]->statement]) >= 0)
            out->terms[terms++] = out->terms[i];
    for (int i = 0; i < out->index_count; i++)
        if ((out->indices[i]->statement = number[out->indices[i]->statement]) >= 0)
            out->indices[indices++] = out->indices[i];
    for (int s = 0; s < out->statement_count; s++)
        if (number[s] >= 0)
            out->statements[number[s]] = out->statements[s];
    for (int i = 0; i < tensors; i++)
        out->tensors[i]->id = i;
    for (int i = 0; i < terms; i++)
        out->terms[i]->id = i;
    for (int i = 0; i < indices; i++)
        out->indices[i]->id = i;
    for (int s = 0; s < statements; s++)
        out->statements[s]->id = s;
    out->tensor_count = tensors;
    out->term_count = terms;
    out->index_count = indices;
    out->statement_count = statements;
}

static void mark_index(bool *used, const Index *index)
{
    if (index)
        used[index->id] = true;
}

/* Leaves out indices of statements that were taken apart, or of which something was. */
static void drop_unused_indices(Lower *l)
{
    Program *out = l->out;
    bool *used = ARENA_ARRAY(l->arena, bool, out->index_count);
    int count = 0;
    for (int i = 0; i < out->term_count; i++) {
        const Term *term = out->terms[i];
        for (int k = 0; k < term->rank; k++)
            mark_index(used, term->indices[k]);
        for (int k = 0; (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE) && k < term->reduce.over_count; k++)
            mark_index(used, term->reduce.over[k]);
    }
    for (int s = 0; s < out->statement_count; s++)
        for (int o = 0; o < out->statements[s]->output_count; o++)
            for (int a = 0; a < out->statements[s]->outputs[o].tensor->rank; a++)
                mark_index(used, out->statements[s]->outputs[o].tensor->axes[a]);
    for (int i = 0; i < out->index_count; i++)
        if (used[i])
            out->indices[count++] = out->indices[i];
    out->index_count = count;
    for (int i = 0; i < count; i++)
        out->indices[i]->id = i;
}

Program *lower(Arena *arena, const Program *program, const bool *wanted, const unsigned short *kinds, const Turn *turns,
               const int64_t *const *strides, const Sweeping *sweeping)
{
    Lower l = { .arena = arena, .in = program, .out = ARENA_NEW(arena, Program) };
    l.kinds = kinds;
    l.turns = turns;
    l.strides = strides;
    l.sweeping = sweeping;
    l.out->arena = arena;
    l.out->source = program->source;
    l.tensors = ARENA_ARRAY(arena, Tensor *, program->tensor_count);
    l.facts = ARENA_ARRAY(arena, Facts, program->term_count);
    l.temporaries = ARENA_ARRAY(arena, Tensor *, program->term_count);
    for (int part = 0; part < 2; part++)
        l.parts[part] = ARENA_ARRAY(arena, Tensor *, program->term_count);
    l.masked = ARENA_ARRAY(arena, Tensor *, program->term_count);
    for (int i = 0; i < program->input_count; i++) {
        Tensor *input = lower_tensor(&l, program->inputs[i], true);
        l.tensors[program->inputs[i]->id] = input;
        ARENA_APPEND(arena, l.out->inputs, l.out->input_count, input);
    }
    find_rounded(&l);
    bool *needed = program_needed(arena, program, wanted);
    Reads reads = count_reads(&l, needed);
    for (int s = 0; s < program->statement_count; s++) {
        for (int i = 0; i < program->term_count; i++)
            if (program->terms[i]->statement == s)
                l.facts[i] = facts_of(&l, program->terms[i]);
        if (needed[s] && !write_in(&l, program->statements[s], wanted, &reads))
            lower_statement(&l, program->statements[s], wanted);
    }
    end_program(&l);
    program_sort_terms(l.out);
    drop_unneeded(&l, wanted);
    for (int i = 0; sweeping && i < sweeping->again_count; i++)
        if (lower_again(&l, sweeping->extents, sweeping->again[i])) {
            end_program(&l);
            program_sort_terms(l.out);
        }
    while (sweeping && lower_sweep(&l, sweeping)) {
        end_program(&l);
        program_sort_terms(l.out);
        drop_unused_indices(&l);
    }
    return l.out;
}
