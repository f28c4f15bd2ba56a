#include "coalesce.h"

/* The first of what `+=` makes of an array one after the other. */
static int array_of(const Tensor *tensor)
{
    while (tensor->previous)
        tensor = tensor->previous;
    return tensor->id;
}

/* ---- which indices count as one ---- */

/* Ties what a place has along each axis of an array to what others have there. */
static void tie_positions(Groups *g, const Tensor *tensor, const Position *positions)
{
    for (int a = 0; a < tensor->rank; a++) {
        const Index *index = position_is_plain(&positions[a]) ? positions[a].parts[0].index : NULL;
        const Index **along = &g->along[array_of(tensor)][a];
        const Index *from = index && *along ? g->as[index->id] : NULL, *to = *along ? g->as[(*along)->id] : NULL;
        *along = index ? index : *along;
        for (int i = 0; from && from != to && i < g->program->index_count; i++)
            g->as[i] = g->as[i] == from ? to : g->as[i];
    }
}

/* Indices along the same axis of an array count as one, of which a statement has but one. */
static void find_ties(Groups *g)
{
    const Program *program = g->program;
    for (int t = 0; t < program->term_count; t++)
        if (program->terms[t]->kind == TERM_READ)
            tie_positions(g, program->terms[t]->read.tensor, program->terms[t]->read.positions);
    for (int s = 0; s < program->statement_count; s++)
        for (int o = 0; o < program->statements[s]->output_count; o++)
            tie_positions(g, program->statements[s]->outputs[o].tensor, program->statements[s]->outputs[o].positions);
    for (int t = 0; t < program->tensor_count; t++)
        for (int a = 0; a < program->tensors[t]->rank; a++)
            g->along[t][a] = NULL;
    for (int i = 0; i < program->index_count; i++)
        for (int k = 0; k < i; k++)
            if (g->as[i] == g->as[k] && program->indices[i]->statement == program->indices[k]->statement)
                g->apart[g->as[i]->id] = true;
}

typedef struct Parting {
    Groups *groups;
    Arena *arena;
    bool *here;                   /* [index id]: the place at hand has it */
} Parting;

/* ---- groups ---- */

/* Of those that were together, those that the place at hand has and those that it lacks part. */
static void part(Parting *p)
{
    Groups *g = p->groups;
    int count = g->program->index_count;
    int *next = ARENA_ARRAY(p->arena, int, count);
    for (int i = 0; i < count; i++) {
        int first = 0;
        while (g->group[first] != g->group[i] || p->here[first] != p->here[i])
            first++;
        next[i] = first;
    }
    g->group = next;
    p->here = ARENA_ARRAY(p->arena, bool, count);
}

/* An index parts from all where its position is computed, where it is twice, and where another place has another one there. */
static void part_by_positions(Parting *p, const Tensor *tensor, const Position *positions)
{
    Groups *g = p->groups;
    for (int a = 0; a < tensor->rank; a++) {
        const Index *index = position_is_plain(&positions[a]) ? g->as[positions[a].parts[0].index->id] : NULL;
        for (int k = 0; k < positions[a].count; k++)
            if (positions[a].parts[k].index)
                g->apart[g->as[positions[a].parts[k].index->id]->id] |= !index || p->here[index->id];
        const Index **along = &g->along[array_of(tensor)][a];
        if (*along && *along != index)
            g->apart[(*along)->id] = true;
        if (*along && *along != index && index)
            g->apart[index->id] = true;
        *along = index ? index : *along;
        if (index)
            p->here[index->id] = true;
    }
    part(p);
}

/* Whether a reduction over two indices is the same over one of as many points. */
static bool is_even(const Term *reduce)
{
    const ReductionFacts *facts = &reduction_facts[reduce->reduce.reduction];
    return facts->leaves == LEAVES_NOTHING && facts->gives != GIVES_POSITION;
}

static void part_by_term(Parting *p, const Term *term)
{
    switch (term->kind) {
    case TERM_READ: part_by_positions(p, term->read.tensor, term->read.positions); break;
    case TERM_POSITION: p->groups->apart[p->groups->as[term->position->id]->id] = true; break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        for (int i = 0; i < term->reduce.over_count; i++) {
            const int id = p->groups->as[term->reduce.over[i]->id]->id;
            p->here[id] = true;
            p->groups->apart[id] |= !is_even(term);
        }
        part(p);
        break;
    case TERM_CONSTANT:
    case TERM_EXTENT:
    case TERM_MAP:
    case TERM_SELECT: break;
    }
}

Groups groups_find(Arena *arena, const Program *program)
{
    Groups g = { .program = program, .as = ARENA_ARRAY(arena, const Index *, program->index_count),
                 .apart = ARENA_ARRAY(arena, bool, program->index_count),
                 .group = ARENA_ARRAY(arena, int, program->index_count),
                 .along = ARENA_ARRAY(arena, const Index **, program->tensor_count) };
    Parting p = { &g, arena, ARENA_ARRAY(arena, bool, program->index_count) };
    for (int t = 0; t < program->tensor_count; t++)
        g.along[t] = ARENA_ARRAY(arena, const Index *, program->tensors[t]->rank);
    bool few = program->index_count <= GROUPED_MAX;
    for (int i = 0; i < program->index_count; i++)
        g.as[i] = program->indices[i];
    if (few)
        find_ties(&g);
    for (int t = 0; t < program->term_count && few; t++)
        part_by_term(&p, program->terms[t]);
    for (int s = 0; s < program->statement_count && few; s++)
        for (int o = 0; o < program->statements[s]->output_count; o++)
            part_by_positions(&p, program->statements[s]->outputs[o].tensor, program->statements[s]->outputs[o].positions);
    for (int i = 0; i < program->index_count; i++)
        g.apart[g.as[i]->id] |= !few || program->indices[i]->rule != EXTENT_AXES;
    return g;
}

int groups_indices(const Groups *groups, int group, const Index **indices)
{
    const Program *p = groups->program;
    int count = 0;
    for (int t = 0; t < p->tensor_count && !count; t++)
        for (int a = 0; a < p->tensors[t]->rank; a++) {
            const Index *index = groups->along[array_of(p->tensors[t])][a];
            if (index && groups->group[index->id] == group && !groups->apart[index->id])
                indices[count++] = index;
        }
    return count;
}

int groups_axis(const Groups *groups, const Tensor *tensor, const Index *index)
{
    for (int a = 0; a < tensor->rank; a++)
        if (groups->along[array_of(tensor)][a] == groups->as[index->id])
            return a;
    return -1;
}

bool groups_together(const Groups *groups, const Index *a, const Index *b)
{
    const int one = groups->as[a->id]->id, other = groups->as[b->id]->id;
    return groups->group[one] == groups->group[other] && !groups->apart[one] && !groups->apart[other];
}

/* ---- extents ---- */

bool program_reduces(const Program *program)
{
    for (int t = 0; t < program->term_count; t++)
        if (program->terms[t]->kind == TERM_CONTRACT || program->terms[t]->kind == TERM_REDUCE)
            return true;
    return false;
}

/* Whether all that have a group's indices have them one behind the other, with the same known extents. */
static bool lie_together(const Groups *g, const Extents *extents, const int64_t *const *strides, const Index *const *indices,
                         int count)
{
    const Program *p = g->program;
    for (int t = 0; t < p->tensor_count; t++) {
        int first = groups_axis(g, p->tensors[t], indices[0]);
        for (int k = 0; k < count && first >= 0; k++) {
            if (groups_axis(g, p->tensors[t], indices[k]) != first + k)
                return false;
            int64_t extent = extents->of[indices[k]->id], size = extents->shape[t][first + k];    /* -1: as was given */
            const int64_t *stride = strides && strides[t] && k ? &strides[t][first + k] : NULL;
            if (extent < 0 || (size >= 0 && size != extent) || (stride && stride[-1] != extent * stride[0]))
                return false;
        }
    }
    return true;
}

static void join_extents(const Groups *g, Extents *joined, const Index *const *indices, int count)
{
    const Program *p = g->program;
    int64_t points = 1;
    for (int k = 0; k < count; k++) {
        int64_t extent = joined->of[indices[k]->id];
        if (extent && points > INT64_MAX / extent)
            return;
        points *= extent;
    }
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < p->index_count; i++)
            if (g->as[i] == indices[k])
                joined->of[i] = k == count - 1 ? points : 1;
        for (int t = 0; t < p->tensor_count; t++) {
            int axis = groups_axis(g, p->tensors[t], indices[k]);
            if (axis >= 0)
                joined->shape[t][axis] = joined->of[indices[k]->id];
        }
    }
}

static Extents *copy_extents(Arena *arena, const Extents *extents)
{
    const Program *p = extents->program;
    Extents *copy = ARENA_NEW(arena, Extents);
    *copy = *extents;
    copy->of = ARENA_ARRAY(arena, int64_t, p->index_count);
    copy->shape = ARENA_ARRAY(arena, int64_t *, p->tensor_count);
    for (int i = 0; i < p->index_count; i++)
        copy->of[i] = extents->of[i];
    for (int t = 0; t < p->tensor_count; t++) {
        copy->shape[t] = ARENA_ARRAY(arena, int64_t, p->tensors[t]->rank);
        for (int a = 0; a < p->tensors[t]->rank; a++)
            copy->shape[t][a] = extents->shape[t][a];
    }
    return copy;
}

const Extents *groups_extents(Arena *arena, const Program *program, const Extents *extents, const int64_t *const *strides)
{
    Groups groups = groups_find(arena, program);
    const Index **indices = ARENA_ARRAY(arena, const Index *, program->index_count);
    Extents *joined = copy_extents(arena, extents);
    for (int group = 0; group < program->index_count; group++) {
        int count = groups_indices(&groups, group, indices);
        if (count > 1 && lie_together(&groups, extents, strides, indices, count))
            join_extents(&groups, joined, indices, count);
    }
    return joined;
}
