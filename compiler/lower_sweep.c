/* Sweeps: chains of reductions over one index whose values in between would be stored along all of it, in blocks instead.
 *
 *     m[q] = s[q,k] | max k          p[q,k] = exp(s[q,k] - m[q])          out[q,v] = (p[q,k] * V[k,v] | sum k) / (p[q,k] | sum k)
 *
 * Some k at a time are taken through all of the statements, and the reductions are carried from block to block. What is made
 * with the maximum so far is exp(s - m_before) and not exp(s - m): as both differ by a factor that is the same for all k, sums
 * of it are multiplied by r = exp(m_before - m) before the next block is added. So a value that reads a carried maximum has to
 * be homogeneous in exp(-m), of degree 1, and what others than sums read may not depend on it. What else a statement does
 * with its sums is done once, behind the last block. */
#include "lower_sweep.h"

/* ---- classes of indices ---- */

int sweep_class(const Sweeper *s, int index)
{
    while (s->parent[index] != index)
        index = s->parent[index] = s->parent[s->parent[index]];
    return index;
}

bool sweep_stores(const Tensor *tensor)
{
    return tensor->maker && !tensor->origin && tensor->home == tensor;
}

static void find_classes(Sweeper *s)
{
    const Program *p = s->l->out;
    s->parent = ARENA_ARRAY(s->l->arena, int, p->index_count);
    for (int i = 0; i < p->index_count; i++)
        s->parent[i] = i;
    for (int i = 0; i < p->term_count; i++) {
        const Term *term = p->terms[i];
        if (term->kind != TERM_READ || !term->read.tensor->maker || term->read.tensor->home != term->read.tensor)
            continue;
        for (int a = 0; a < term->read.tensor->rank; a++)
            if (term->read.tensor->axes[a] && position_is_plain(&term->read.positions[a]))
                s->parent[sweep_class(s, term->read.positions[a].parts[0].index->id)] = sweep_class(s, term->read.tensor->axes[a]->id);
    }
}

Index *sweep_member(const Sweeper *s, const Statement *statement, int class, int *count)
{
    Index *found = NULL;
    *count = 0;
    for (int i = 0; i < s->index_count; i++)
        if (s->l->out->indices[i]->statement == statement->id && sweep_class(s, i) == class) {
            found = s->l->out->indices[i];
            ++*count;
        }
    return found;
}

bool sweep_keeps(const Sweeper *s, const Statement *statement)
{
    const Tensor *tensor = statement->outputs[0].tensor;
    return indices_have(tensor->axes, tensor->rank, s->swept[statement->id]);
}

bool sweep_ranks(const Statement *statement)
{
    const Term *value = statement->outputs[0].value;
    return value->kind == TERM_REDUCE && reduction_facts[value->reduce.reduction].leaves == LEAVES_RANKS;
}

/* ---- how values change with a maximum ---- */

static Scale read_scale(void *user, const Term *read)
{
    return ((Sweeper *)user)->scales[read->read.tensor->id];
}

static const Tensor *maximum_read(void *user, const Term *read)
{
    return ((Sweeper *)user)->is_maximum[read->read.tensor->id] ? read->read.tensor : NULL;
}

/* Whether two indices are of one class, and the only ones of their statements. */
static bool goes_together(void *user, const Index *a, const Index *b)
{
    const Sweeper *s = user;
    int class = sweep_class(s, a->id), counts[2];
    sweep_member(s, s->l->out->statements[a->statement], class, &counts[0]);
    sweep_member(s, s->l->out->statements[b->statement], class, &counts[1]);
    return sweep_class(s, b->id) == class && counts[0] == 1 && counts[1] == 1;
}

/* ---- which statements make a chain ---- */

enum { RANKED_MANY = 128, RANKED_LONGER = 4 };    /* so many rows that are ranked may be so often as long and yet be stored whole */

static void find_inside(void *user, const Term *term)
{
    Roots *r = user;
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
        r->fits = r->fits && !indices_have(term->reduce.over, term->reduce.over_count, r->swept);
}

static void find_roots(void *user, const Term *term)
{
    Roots *r = user;
    if (r->seen[term->id])
        return;
    r->seen[term->id] = true;
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE) {
        if (!indices_have(term->reduce.over, term->reduce.over_count, r->swept))
            return;
        Reduction reduction = term->reduce.reduction;
        r->fits = r->fits && term->reduce.over_count == 1 && term->dtype != DTYPE_BOOL && dtype_kind(term->dtype) != KIND_COMPLEX &&
                  (reduction == REDUCTION_SUM || reduction == REDUCTION_MAX || reduction == REDUCTION_MIN);
        ARENA_APPEND(r->arena, r->list, r->count, (Term *)term);
    } else if (term->kind == TERM_SELECT) {    /* behind a where they may not be evaluated */
        term_each_below(r->arena, term, find_inside, r);
    } else if (term->kind != TERM_READ) {
        term_each_argument(term, find_roots, r);
    }
}

Roots sweep_roots(const Sweeper *s, const Statement *statement)
{
    Roots roots = { .swept = s->swept[statement->id], .fits = true, .arena = s->l->arena,
                    .seen = ARENA_ARRAY(s->l->arena, bool, s->l->out->term_count) };
    find_roots(&roots, statement->outputs[0].value);
    return roots;
}

Index **sweep_axes(const Sweeper *s, const Statement *statement, const Tensor *maximum)
{
    const Tensor *tensor = statement->outputs[0].tensor;
    Index **own = ARENA_ARRAY(s->l->arena, Index *, maximum->rank);
    for (int a = 0; a < maximum->rank; a++) {
        int count;
        own[a] = sweep_member(s, statement, sweep_class(s, s->axes[maximum->id][a]->id), &count);
        if (count != 1 || !indices_have(tensor->axes, tensor->rank, own[a]))
            return NULL;
    }
    return own;
}

static bool is_plain(const Output *output)
{
    if (output->tensor->previous || output->tensor->home != output->tensor)
        return false;
    for (int a = 0; a < output->tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]) || indices_have(output->tensor->axes, a, output->tensor->axes[a]))
            return false;
    return true;
}

static bool stores_plainly(const Sweeper *s, const Statement *statement)
{
    if (statement_scatters(statement))
        return !statement->sweep && !sweep_keeps(s, statement) && statement->outputs[0].tensor->home->origin;    /* it is the caller's */
    const Term *value = statement->outputs[0].value;
    bool plain = !statement->accumulate && !statement->turned && !statement->sweep, ranks = sweep_ranks(statement) && !sweep_keeps(s, statement);
    for (int o = 0; o < statement->output_count; o++)
        plain &= is_plain(&statement->outputs[o]);
    return plain && (ranks || (statement->output_count == 1 &&
                               (value->kind != TERM_REDUCE || reduction_facts[value->reduce.reduction].leaves == LEAVES_NOTHING)));
}

/* Whether all that reads a tensor which is kept along the index does so at its own point of it. */
static bool is_read_along(const Sweeper *s, const Tensor *tensor)
{
    for (int i = 0; i < s->l->out->term_count; i++) {
        const Term *term = s->l->out->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor)
            continue;
        for (int a = 0; a < tensor->rank; a++)
            if (sweep_class(s, tensor->axes[a]->id) == s->class && !position_is_plain(&term->read.positions[a]))
                return false;
    }
    return true;
}

/* What is ranked has to be known in its own block. */
static bool joins_ranked(Sweeper *s, const Statement *statement)
{
    for (int o = 0; o < statement->output_count; o++)
        s->scales[statement->outputs[o].tensor->id] = (Scale){ SCALE_OTHER, NULL };
    const Term *ranking = statement->outputs[0].value;
    return ranking->reduce.over[0] == s->swept[statement->id] && scale_is_fixed(scale_of(&s->scaling, ranking->reduce.argument));
}

static bool joins_reduced(Sweeper *s, const Statement *statement)
{
    const Output *output = &statement->outputs[0];
    if (sweep_ranks(statement))
        return joins_ranked(s, statement);
    Roots roots = sweep_roots(s, statement);
    for (int i = 0; i < roots.count && roots.fits; i++) {
        const Term *root = roots.list[i];
        Scale scale = scale_of(&s->scaling, root->reduce.argument);
        roots.fits = root->reduce.reduction == REDUCTION_SUM && scale.kind == SCALE_POWER ? sweep_axes(s, statement, scale.of) != NULL
                                                                                        : scale_is_fixed(scale);
    }
    s->is_maximum[output->tensor->id] = roots.count == 1 && roots.list[0] == output->value && sweep_stores(output->tensor) &&
                                        output->value->reduce.reduction == REDUCTION_MAX && dtype_kind(output->value->dtype) == KIND_FLOAT;
    s->scales[output->tensor->id] = (Scale){ SCALE_OTHER, NULL };    /* to be read behind the last block, or as a power's maximum */
    return roots.count > 0 && roots.fits;
}

static void find_late(void *user, const Term *term)
{
    const Sweeper *s = ((void **)user)[0];
    *(bool *)((void **)user)[1] |= term->kind == TERM_READ && s->scales[term->read.tensor->id].kind == SCALE_OTHER;
}

/* Whether a statement reads what is known behind the last block. */
static bool is_late(Sweeper *s, const Statement *statement)
{
    bool late = false;
    for (int o = 0; o < statement->output_count; o++)
        term_each_below(s->l->arena, statement->outputs[o].value, find_late, (void *[]){ s, &late });
    return late;
}

static int64_t extent_of(const Extents *extents, const Index *index)
{
    return extents ? extents->of[index->origin ? index->origin->id : index->id] : -1;
}

/* How many points a statement keeps, of those that are known no more than `most`; and how many it reduces, -1 if nobody knows. */
static int64_t kept_points(const Statement *statement, const Extents *extents, int64_t most)
{
    const Tensor *tensor = statement->outputs[0].tensor;
    const Index *ranks = sweep_ranks(statement) ? statement->outputs[0].value->reduce.ranks : NULL;
    int64_t kept = 1;
    for (int a = 0; a < tensor->rank && kept > 0 && kept < most; a++)
        if (!ranks || tensor->axes[a] != ranks)
            kept *= tensor->axes[a] ? extents->of[tensor->axes[a]->origin->id] : most;
    return kept;
}

static int64_t reduced_points(const Sweeper *s, const Statement *statement, const Extents *extents)
{
    return extent_of(extents, s->swept[statement->id]);
}

/* Whether a statement keeps so few points beside those that it reduces that these are rather cut into parts, for all threads. */
static bool keeps_few(const Sweeper *s, const Statement *statement, const Extents *extents)
{
    int64_t reduced = reduced_points(s, statement, extents), kept = reduced > 0 ? kept_points(statement, extents, KEPT_ENOUGH) : 0;
    if (sweep_ranks(statement))
        return kept > 0 && ranking_parts(reduced, (double)kept, (int64_t)statement->outputs[0].value->reduce.parameter) > 1;
    return kept > 0 && kept < KEPT_ENOUGH && reduced / REDUCED_MORE >= kept;
}

/* Whether rows that are ranked are rather stored whole: many points keep the panels that their tiles meet busy, and have room for a tile's
 * rows. */
static bool ranks_whole(const Sweeper *s, const Statement *statement, const Sweeping *sweeping)
{
    int64_t reduced = reduced_points(s, statement, sweeping->extents);
    return sweep_ranks(statement) && reduced > 0 && reduced <= RANKED_LONGER * sweeping->longest &&
           kept_points(statement, sweeping->extents, RANKED_MANY) >= RANKED_MANY;
}

/* Whether all statements with an index of the class can be taken through together, and some of them store along it, and rank along it if it is
 * only `for_rankings`. Where nobody asks for it, one that alone reduces it may be cut into parts instead. */
static bool is_chain(Sweeper *s, const Sweeping *sweeping, bool for_rankings)
{
    const Program *p = s->l->out;
    bool parts = sweeping->longest > 0;
    const Statement *reducer = NULL;
    bool stores = false, ends = false, ranks = false;    /* a statement has it no more, or blocks would do */
    for (int i = 0; i < p->statement_count; i++) {
        const Statement *statement = p->statements[i];
        const Output *output = &statement->outputs[0];
        int count;
        s->swept[i] = sweep_member(s, statement, s->class, &count);
        ends |= count && !sweep_keeps(s, statement);
        if (count > 1 || (count == 1 && !stores_plainly(s, statement)))
            return false;
        if (count && sweep_keeps(s, statement)) {
            const Scale scale = s->scales[output->tensor->id] = scale_of(&s->scaling, output->value);
            const bool passed = output->tensor->origin != NULL;
            if (scale.kind >= SCALE_BARE || (passed && !scale_is_fixed(scale)) || !is_read_along(s, output->tensor))
                return false;
            stores |= !passed;
        } else if (count && statement_scatters(statement)) {
            if (sweep_ranks(statement) || !scale_is_fixed(scale_of(&s->scaling, output->value)))    /* which goes on otherwise */
                return false;
        } else if (count && (!joins_reduced(s, statement) || ranks_whole(s, statement, sweeping))) {
            return false;
        } else if (count) {
            parts &= !reducer;
            reducer = statement;
            ranks |= sweep_ranks(statement);
        }
        for (int o = 0; o < statement->output_count && !count; o++)
            if (is_late(s, statement))
                s->scales[statement->outputs[o].tensor->id] = (Scale){ SCALE_OTHER, NULL };
    }
    return stores && ends && (ranks || !for_rankings) && !(parts && reducer && keeps_few(s, reducer, sweeping->extents));
}

/* ---- what is scattered ---- */

enum {
    SCATTERED_MOST = 1 << 11,     /* points of a temporary for one of a target's points of plain indices */
    SCATTERED_UNKNOWN = 4         /* of an index at a time, where nobody knows how many there are of the others */
};

/* How many points of a temporary's axis are made and scattered at a time, since it is long in all that its target adds up; 0: all. */
static int64_t scattered_points(const Program *p, const Sweeping *sweeping, const Tensor *tensor, int axis)
{
    const Term *read = program_scattered_read(p, tensor);
    if (!read || sweeping->longest == INT64_MAX || !position_is_plain(&read->read.positions[axis]))
        return 0;
    const Tensor *target = p->statements[read->statement]->outputs[0].tensor;
    int64_t others = 1, own = extent_of(sweeping->extents, tensor->axes[axis]);
    for (int a = 0; a < tensor->rank; a++) {
        const Index *index = read->read.positions[a].parts[0].index;
        bool plain = indices_have(target->axes, target->rank, index);
        if (a == axis && plain)
            return 0;
        int64_t extent = extent_of(sweeping->extents, index);
        if (a != axis && !plain && others > 0 && others <= SCATTERED_MOST)
            others = extent < 0 ? -1 : others * extent;
    }
    if (others <= 0)
        return others < 0 ? SCATTERED_UNKNOWN : 0;
    int64_t most = others < SCATTERED_MOST ? SCATTERED_MOST / others : 1;
    return own < 0 || own > most ? most : 0;
}

/* ---- the pass ---- */

/* Tries the class of one index, so many points at a time; the statements have their new order when it is swept. */
static bool sweep_along(Lower *l, const Sweeping *sweeping, const Index *index, int64_t points, bool for_rankings)
{
    const Program *p = l->out;
    Sweeper s = { .l = l, .index_count = p->index_count, .tensor_count = p->tensor_count };
    s.swept = ARENA_ARRAY(l->arena, Index *, p->statement_count);
    s.scales = ARENA_ARRAY(l->arena, Scale, p->tensor_count);
    s.is_maximum = ARENA_ARRAY(l->arena, bool, p->tensor_count);
    s.axes = ARENA_ARRAY(l->arena, Index **, p->tensor_count);
    s.before = ARENA_ARRAY(l->arena, Tensor *, p->tensor_count);
    s.factor = ARENA_ARRAY(l->arena, Tensor *, p->tensor_count);
    s.scaling = (Scaling){ .user = &s, .read = read_scale, .maximum = maximum_read, .is_same = goes_together, .sums = true };
    scaling_start(&s.scaling, l->arena, p);
    for (int t = 0; t < p->tensor_count; t++)
        s.axes[t] = p->tensors[t]->axes;
    find_classes(&s);
    s.class = sweep_class(&s, index->id);
    if (!is_chain(&s, sweeping, for_rankings))
        return false;
    s.sweep = ARENA_NEW(l->arena, Sweep);
    *s.sweep = (Sweep){ l->sweep_count++, index->origin, points };
    sweep_rewrite(&s);
    return true;
}

bool lower_may_sweep(const Sweeping *sweeping, const Index *index)
{
    int64_t extent = sweeping ? extent_of(sweeping->extents, index) : -1;
    return sweeping && (extent > sweeping->longest || (extent < 0 && sweeping->longest == 0));
}

/* Whether nobody knows how long rows are, which may be ranked: searches go through long ones. */
static bool may_be_long(const Sweeping *sweeping, const Index *index)
{
    return sweeping && sweeping->longest < INT64_MAX && extent_of(sweeping->extents, index) < 0;
}

bool lower_sweep(Lower *l, const Sweeping *sweeping)
{
    for (int t = 0; t < l->out->tensor_count; t++) {
        const Tensor *tensor = l->out->tensors[t];
        for (int a = 0; sweep_stores(tensor) && !tensor->maker->sweep && a < tensor->rank; a++) {
            const Index *index = tensor->axes[a];
            int64_t scattered = index ? scattered_points(l->out, sweeping, tensor, a) : 0;
            if (scattered && sweep_along(l, sweeping, index, scattered < sweeping->points ? scattered : sweeping->points, false))
                return true;
            if (index && (lower_may_sweep(sweeping, index) || may_be_long(sweeping, index)) &&
                sweep_along(l, sweeping, index, sweeping->points, !lower_may_sweep(sweeping, index)))
                return true;
        }
    }
    return false;
}
