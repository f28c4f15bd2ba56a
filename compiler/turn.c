#include "turn.h"

#include <math.h>

#include "bundle.h"
#include "state.h"

enum {
    VECTORS_LEAST = 8,            /* of problems, so that blocks of them pay */
    FEWER_RESULTS = 2             /* so many times fewer results than an operand's numbers pay for being copied */
};

static bool is_plain(const Tensor *tensor, const Position *positions)
{
    for (int a = 0; a < tensor->rank; a++) {
        if (!position_is_plain(&positions[a]))
            return false;
        for (int b = 0; b < a; b++)
            if (positions[a].parts[0].index == positions[b].parts[0].index)
                return false;
    }
    return true;
}

static int axis_of(const Tensor *tensor, const Position *positions, const Index *index)
{
    for (int a = 0; a < tensor->rank; a++)
        if (positions[a].parts[0].index == index)
            return a;
    return -1;
}

bool turn_copies(const Tensor *tensor, const Position *positions, const Index *along, const int64_t *const *strides)
{
    int axis = axis_of(tensor, positions, along);
    const int64_t *known = strides ? strides[tensor->id] : NULL;
    if (axis < 0 || tensor->rank < 2)
        return false;
    return known ? known[axis] != 1 : axis != tensor->rank - 1;
}

/* What a statement is made of, and whether all of it can be turned. */
typedef struct Turning {
    const Extents *extents;
    const int64_t *const *strides;
    const Index *along;
    double longest;               /* of the other extents */
    double elements;              /* of one problem that are copied, as words of 32 bits */
    double points;                /* of its loops, at most */
    bool able, reduces, copies;
} Turning;

static double extent_of(const Turning *t, const Index *index)
{
    return (double)t->extents->of[index->origin ? index->origin->id : index->id];
}

bool turn_has_squares(Dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_I32;
}

static void note_tensor(Turning *t, const Tensor *tensor, const Position *positions)
{
    t->able &= is_plain(tensor, positions);
    if (!t->able || !turn_copies(tensor, positions, t->along, t->strides))
        return;
    double elements = 1;
    for (int a = 0; a < tensor->rank; a++)
        if (positions[a].parts[0].index != t->along)
            elements *= extent_of(t, positions[a].parts[0].index);
    t->able &= turn_has_squares(tensor->dtype);
    t->elements += elements * (double)dtype_size(tensor->dtype) / 4;
    t->copies = true;
}

static void note_term(void *user, const Term *term)
{
    Turning *t = user;
    double points = 1;
    t->able &= dtype_kind(term->dtype) != KIND_COMPLEX;
    for (int i = 0; i < term->rank; i++) {
        double extent = extent_of(t, term->indices[i]);
        t->able &= extent >= 0;
        if (term->indices[i] == t->along)
            continue;
        points *= extent;
        t->longest = extent > t->longest ? extent : t->longest;
    }
    t->points = points > t->points ? points : t->points;
    if (term->kind == TERM_READ) {
        t->able &= term->read.tensor->maker == NULL;
        note_tensor(t, term->read.tensor, term->read.positions);
    } else if (term->kind == TERM_REDUCE || term->kind == TERM_CONTRACT) {
        t->able &= term->kind == TERM_CONTRACT || reduction_facts[term->reduce.reduction].leaves == LEAVES_NOTHING;
        t->able &= term_has_index(term, t->along);
        t->reduces |= term->reduce.over_count > 0;
    }
}

static const Index *longest_kept(const Turning *t, const Output *output)
{
    const Index *longest = NULL;
    for (int a = 0; a < output->tensor->rank; a++) {
        const Index *index = position_is_plain(&output->positions[a]) ? output->positions[a].parts[0].index : NULL;
        if (index && (!longest || extent_of(t, index) > extent_of(t, longest)))
            longest = index;
    }
    return longest;
}

/* The lanes are short of work along every other index, there are vectors enough of this one, what is copied is used often
 * enough, and a vector of problems stays in the first cache. */
static bool pays(const Turning *t, const Target *target)
{
    double lanes = target->vector_bytes / 4;
    return t->able && t->reduces && t->copies && 2 * t->longest <= lanes && extent_of(t, t->along) >= VECTORS_LEAST * lanes &&
           3 * t->points >= 2 * t->elements && 8 * t->elements * lanes <= target->l1_bytes;
}

static const Index *problems_along(Arena *arena, const Program *program, const Statement *statement, const TurnHints *hints)
{
    const Output *output = &statement->outputs[0];
    const BundleHints bundles = { hints->target, hints->extents, hints->strides };
    Turning t = { .extents = hints->extents, .strides = hints->strides, .able = true };
    if (hints->nests != NESTS_BY_COST || !(t.along = longest_kept(&t, output)))
        return NULL;
    term_each_below(arena, output->value, note_term, &t);
    note_tensor(&t, output->tensor, output->positions);
    return pays(&t, hints->target) && !bundle_choose(arena, program, statement, &bundles) ? t.along : NULL;
}

/* ---- products ---- */

/* How far neighbours along an index are apart in a tensor of plain positions, in elements; 0: it has no such index. */
static double stride_along(const Turning *t, const Tensor *tensor, const Position *positions, const Index *index)
{
    int axis = axis_of(tensor, positions, index);
    const int64_t *known = t->strides ? t->strides[tensor->id] : NULL;
    double stride = 1;
    if (axis < 0 || known)
        return axis < 0 ? 0 : (double)known[axis];
    for (int a = tensor->rank - 1; a > axis; a--)
        stride *= extent_of(t, positions[a].parts[0].index);
    return stride;
}

static const Index *unit_index(const Turning *t, const Tensor *tensor, const Position *positions)
{
    for (int a = 0; a < tensor->rank; a++)
        if (stride_along(t, tensor, positions, positions[a].parts[0].index) == 1)
            return positions[a].parts[0].index;
    return NULL;
}

/* -1: not known. */
static double points_of(const Turning *t, Index *const *list, int count)
{
    double points = 1;
    for (int i = 0; i < count; i++)
        points = extent_of(t, list[i]) < 0 ? -1 : points * extent_of(t, list[i]);
    return points;
}

/* Whether an operand will not be packed that meets so many points of the other one: see Contract's columns_in_place and streams. */
static bool meets_in_place(const Target *target, const Product *product, double others, bool is_rows)
{
    double lanes = target->vector_bytes / (double)dtype_size(product->reduce->dtype);
    if (!target->tile)
        return false;
    return is_rows ? others <= (PANELS_FEW - 1) * target->tile->vectors * lanes
                   : others <= IN_PLACE_TILES * target->tile->rows && product->reduce->reduce.over_count == 1;
}

/* The kept index of a read whose neighbours lie nearest each other. */
static const Index *nearest_kept(const Turning *t, const Term *read, const Product *product)
{
    const Term *reduce = product->reduce;
    const Index *nearest = NULL;
    double least = 0;
    for (int a = 0; a < read->read.tensor->rank; a++) {
        const Index *index = read->read.positions[a].parts[0].index;
        double stride = fabs(stride_along(t, read->read.tensor, read->read.positions, index));
        if (indices_have(reduce->reduce.over, reduce->reduce.over_count, index) || (nearest && stride >= least))
            continue;
        nearest = index;
        least = stride;
    }
    return nearest;
}

/* The index along which a product's results lie that are made as a side is read, line after line: the side's own, or, where
 * contracted points lie side by side there, the last one of the other side, whose numbers are a tile's lanes. */
static const Index *made_along(const Term *value, const Term *read, const Index *along)
{
    const Index *last = along;
    for (int i = 0; i < value->rank && !term_has_index(value, along); i++)
        last = term_has_index(read, value->indices[i]) ? last : value->indices[i];
    return last;
}

/* Whether the product's side that has the index along which the result lies is read with another of its own nearer, both fill
 * squares, and its numbers come from memory and are more than the results. */
static bool side_pays(const Turning *t, const TurnHints *hints, const Product *product, int side, const Index *stored, Turn *turn)
{
    const Term *read = product->side[side];
    const IndexSet *own = &product->own[side], *others = &product->own[1 - side];
    if (!indices_have(own->list, own->count, stored) || read->kind != TERM_READ || read->read.tensor->maker ||
        read->dtype != product->reduce->dtype || !is_plain(read->read.tensor, read->read.positions))
        return false;
    const Index *along = unit_index(t, read->read.tensor, read->read.positions), *nearest = nearest_kept(t, read, product);
    if (!along || !nearest || nearest == stored || !indices_have(own->list, own->count, nearest) || others->count == 0)
        return false;
    const Index *made = made_along(product->reduce, read, along);
    *turn = (Turn){ .read = read, .rows = made != along };
    double depth = points_of(t, product->reduce->reduce.over, product->reduce->reduce.over_count);
    double few = points_of(t, others->list, others->count), size = (double)dtype_size(read->dtype);
    if (hints->nests == NESTS_TILED)
        return few >= 0 && depth > few;
    double lanes = hints->target->vector_bytes / size, bytes = points_of(t, own->list, own->count) * depth * size;
    return 2 * extent_of(t, made) >= lanes && 2 * extent_of(t, stored) >= lanes && bytes > hints->target->l2_bytes &&
           few >= 0 && depth >= (meets_in_place(hints->target, product, few, turn->rows) ? few : FEWER_RESULTS * few);
}

static Turn read_as_it_lies(Arena *arena, const Statement *statement, const TurnHints *hints)
{
    const Output *output = &statement->outputs[0];
    Turning t = { .extents = hints->extents, .strides = hints->strides };
    Product product;
    if (!hints->products || !is_plain(output->tensor, output->positions) || output->value->dtype != output->tensor->dtype ||
        !turn_has_squares(output->tensor->dtype) || !product_match(arena, output->value, &product) || product.places ||
        !product_pays(&product, hints->nests, hints->extents, NULL, 0, hints->target))
        return (Turn){ .read = NULL };
    const Index *stored = unit_index(&t, output->tensor, output->positions);
    Turn turn;
    for (int side = 0; stored && side < 2; side++)
        if (side_pays(&t, hints, &product, side, stored, &turn))
            return turn;
    return (Turn){ .read = NULL };
}

const Turn *turn_choose(Arena *arena, const Program *program, const TurnHints *hints)
{
    Turn *turns = ARENA_ARRAY(arena, Turn, program->statement_count);
    for (int s = 0; s < program->statement_count && hints->nests != NESTS_LOOPS; s++) {
        const Statement *statement = program->statements[s];
        if (statement->output_count > 1 || statement->accumulate)
            continue;
        turns[s].along = problems_along(arena, program, statement, hints);
        if (!turns[s].along)
            turns[s] = read_as_it_lies(arena, statement, hints);
    }
    return turns;
}
