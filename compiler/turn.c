#include "turn.h"

#include <math.h>

#include "bundle.h"
#include "state.h"

enum {
    VECTORS_LEAST = 8,            /* of problems, so that blocks of them pay */
    ROW_LEAST = 5,                /* numbers of a row, or lanes pick fewer out of as many whole vectors; */
    ROW_VECTORS = 2,              /* of rows, for which a block has room; */
    COPIES_MOST = 3,              /* and of what is copied, of as many numbers as a row has, where more is done than to add them */
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

/* How many vectors a row has at most that is reduced faster turned than as it lies, for what is done to it: a sum is folded soon; before a function
 * rows that are no whole vectors cost more; a state of several numbers is folded in many steps; and a softmax has two copies. */
enum { SUM_VECTORS = 1, FUNCTION_VECTORS = 2, STATE_VECTORS = 6, SOFTMAX_VECTORS = 4, RANK_VECTORS = 8 };

enum { FEW_RANKS = 8 };            /* of a row stay in registers */

/* What a statement is made of, and whether all of it can be turned. */
typedef struct Turning {
    const Extents *extents;
    const int64_t *const *strides;
    const Index *along;
    const Index **around;         /* indices around rows: all that is copied or reduced has them, and lies along others */
    int around_count;
    double longest;               /* of the other extents */
    double elements;              /* of one problem that are copied, as words of 32 bits */
    double points;                /* of its loops, at most; */
    double rows;                  /* and how many there are */
    size_t widest;                /* dtype in lanes, of 4 bytes at least */
    int vectors;                  /* of a row, at most */
    int narrow;                   /* reads of what has no squares, or not yet: of which a ranking, which takes long, may have one */
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

const Term *turn_read(const Term *value)
{
    const Term *inside = value->kind == TERM_MAP && value->map.function == FUNCTION_CAST ? value->map.arguments[0] : value;
    const bool widens = value->dtype == DTYPE_F32 && (inside->dtype == DTYPE_F16 || inside->dtype == DTYPE_BF16);
    return inside->kind == TERM_READ && (inside == value ? turn_has_squares(value->dtype) : widens) ? inside : NULL;
}

bool turn_ranks_few(const Extents *extents, const Term *reduce)
{
    const bool ranks = reduction_facts[reduce->reduce.reduction].leaves == LEAVES_RANKS && reduce->reduce.parameter <= FEW_RANKS &&
                       turn_has_squares(register_dtype(reduce->reduce.argument->dtype));
    const Index *over = ranks && reduce->reduce.over_count == 1 ? reduce->reduce.over[0] : NULL;
    const int64_t length = over && extents ? extents->of[over->origin ? over->origin->id : over->id] : -1;
    return length >= 0 && length <= TURN_FEW;
}

bool turn_copies_back(const Output *output, const Index *along, const int64_t *const *strides)
{
    const bool ranks = output->value->kind == TERM_REDUCE && output->value->reduce.ranks;
    return !ranks && turn_copies(output->tensor, output->positions, along, strides);
}

/* Whether an index is one of the problem's own. */
static bool is_own(const Turning *t, const Index *index)
{
    if (index == t->along)
        return false;
    for (int i = 0; i < t->around_count; i++)
        if (t->around[i] == index)
            return false;
    return true;
}

static void note_tensor(Turning *t, const Tensor *tensor, const Position *positions)
{
    t->able &= is_plain(tensor, positions);
    if (!t->able || !turn_copies(tensor, positions, t->along, t->strides))
        return;
    double elements = 1;
    for (int a = 0; a < tensor->rank; a++)
        if (is_own(t, positions[a].parts[0].index))
            elements *= extent_of(t, positions[a].parts[0].index);
    t->elements += elements * fmax((double)dtype_size(tensor->dtype) / 4, 1);
    t->copies = true;
}

/* `read` itself, or where it is widened: what has no squares has to be that. */
static void note_read(Turning *t, const Term *term, const Term *read)
{
    t->able &= is_plain(read->read.tensor, read->read.positions);
    if (!t->able || !turn_copies(read->read.tensor, read->read.positions, t->along, t->strides))
        return;
    t->able &= !read->read.tensor->maker;
    t->narrow += turn_read(term) ? 0 : 1;
    t->narrow -= term != read;
    if (turn_read(term))
        note_tensor(t, read->read.tensor, read->read.positions);
}

/* How many vectors a row may have that a reduction makes one number or a row of. */
static int vectors_of(const Term *term)
{
    if (term->kind == TERM_CONTRACT)
        return SUM_VECTORS;
    if (term->reduce.reduction == REDUCTION_SOFTMAX || term->reduce.reduction == REDUCTION_LOG_SOFTMAX)
        return SOFTMAX_VECTORS;
    return reduction_facts[term->reduce.reduction].leaves == LEAVES_RANKS ? RANK_VECTORS : state_is_simple(term) ? SUM_VECTORS : STATE_VECTORS;
}

/* Whether a reduction has a result for each point of an index that is made of that point alone. */
static bool keeps(const Term *reduce, const Index *index)
{
    return term_has_index(reduce, index) && !indices_have(reduce->reduce.over, reduce->reduce.over_count, index);
}

static void note_reduction(Turning *t, const Term *term)
{
    t->able &= keeps(term, t->along);
    t->able &= term->kind == TERM_CONTRACT || reduction_facts[term->reduce.reduction].leaves == LEAVES_NOTHING || vectors_of(term) == SOFTMAX_VECTORS ||
               turn_ranks_few(t->extents, term);
    t->reduces |= term->reduce.over_count > 0;
    t->vectors = t->able && vectors_of(term) > t->vectors ? vectors_of(term) : t->vectors;
}

static void note_term(void *user, const Term *term)
{
    Turning *t = user;
    double points = 1;
    t->able &= dtype_kind(term->dtype) != KIND_COMPLEX;
    for (int i = 0; i < term->rank; i++) {
        double extent = extent_of(t, term->indices[i]);
        t->able &= extent >= 0;
        if (!is_own(t, term->indices[i]))
            continue;
        points *= extent;
        t->longest = extent > t->longest ? extent : t->longest;
    }
    t->points = points > t->points ? points : t->points;
    size_t size = dtype_size(register_dtype(term->dtype));
    const bool ranks = term->kind == TERM_REDUCE && term->reduce.ranks;    /* places are in the lanes of what is ranked */
    if (term->kind != TERM_CONSTANT && !ranks && term_has_index(term, t->along))
        t->widest = size > t->widest ? size : t->widest;
    if (term->kind == TERM_READ || turn_read(term)) {
        note_read(t, term, term->kind == TERM_READ ? term : turn_read(term));
    } else if (term->kind == TERM_REDUCE || term->kind == TERM_CONTRACT) {
        note_reduction(t, term);
    } else if (term->kind == TERM_MAP && function_facts[term->map.function].ulp > 0.5 && t->vectors < FUNCTION_VECTORS) {
        t->vectors = FUNCTION_VECTORS;
    }
}

static const Index *kept(const Output *output, int axis)
{
    return position_is_plain(&output->positions[axis]) ? output->positions[axis].parts[0].index : NULL;
}

static const Index *longest_kept(const Turning *t, const Output *output)
{
    const Index *longest = NULL;
    for (int a = 0; a < output->tensor->rank; a++)
        if (kept(output, a) && (!longest || extent_of(t, kept(output, a)) > extent_of(t, longest)))
            longest = kept(output, a);
    return longest;
}

/* The lanes are short of work along every other index, there are vectors enough of this one, what is copied is used often
 * enough, and a vector of problems stays in the first cache. */
static bool small_pays(const Turning *t, const Target *target)
{
    double lanes = target->vector_bytes / 4;
    return t->able && t->reduces && t->copies && 2 * t->longest <= lanes && t->rows >= VECTORS_LEAST * lanes &&
           3 * t->points >= 2 * t->elements && 8 * t->elements * lanes <= target->l1_bytes;
}

static void note_statement(Arena *arena, Turning *t, const Program *program, const Statement *statement)
{
    bool *seen = ARENA_ARRAY(arena, bool, program->term_count);
    t->rows = extent_of(t, t->along);
    for (int i = 0; i < t->around_count; i++)
        t->rows *= extent_of(t, t->around[i]);
    for (int o = 0; o < statement->output_count; o++) {
        const Output *output = &statement->outputs[o];
        term_each_unseen(seen, output->value, note_term, t);
        t->able &= is_plain(output->tensor, output->positions);
        if (turn_copies_back(output, t->along, t->strides)) {
            note_tensor(t, output->tensor, output->positions);
            t->able &= turn_has_squares(output->tensor->dtype);
        }
    }
    t->able &= t->narrow <= (t->vectors == RANK_VECTORS);
}

/* ---- short rows ---- */

static void narrow_to(Turning *t, const Tensor *tensor, const Position *positions, const Term *reduce)
{
    int count = 0;
    for (int i = 0; i < t->around_count; i++)
        if (reduce ? keeps(reduce, t->around[i]) : turn_copies(tensor, positions, t->around[i], t->strides))
            t->around[count++] = t->around[i];
    t->around_count = count;
}

/* Takes away what is not around rows beside a term. */
static void narrow_around(void *user, const Term *term)
{
    Turning *t = user;
    const bool reads = term->kind == TERM_READ && is_plain(term->read.tensor, term->read.positions);
    if (reads && turn_copies(term->read.tensor, term->read.positions, t->along, t->strides))
        narrow_to(t, term->read.tensor, term->read.positions, NULL);
    else if (term->kind == TERM_REDUCE || term->kind == TERM_CONTRACT)
        narrow_to(t, NULL, NULL, term);
}

static void find_around(Arena *arena, Turning *t, const Statement *statement)
{
    const Output *first = &statement->outputs[0];
    t->around = ARENA_ARRAY(arena, const Index *, first->tensor->rank);
    for (int a = 0; a < first->tensor->rank; a++)
        if (kept(first, a) && kept(first, a) != t->along)
            t->around[t->around_count++] = kept(first, a);
    for (int o = 0; o < statement->output_count; o++) {
        const Output *output = &statement->outputs[o];
        if (is_plain(output->tensor, output->positions) && turn_copies_back(output, t->along, t->strides))
            narrow_to(t, output->tensor, output->positions, NULL);
        term_each_below(arena, output->value, narrow_around, t);
    }
}

/* Rows are so short that folding them takes longer than copying. */
static bool rows_pay(const Turning *t, const Target *target)
{
    double lanes = target->vector_bytes / (double)t->widest, copies = t->vectors > FUNCTION_VECTORS ? COPIES_MOST : 1;
    return t->able && t->reduces && t->copies && t->points >= ROW_LEAST && t->points <= t->vectors * lanes &&
           4 * t->elements <= copies * t->points * (double)t->widest && extent_of(t, t->along) >= ROW_VECTORS * lanes &&
           t->rows >= VECTORS_LEAST * lanes && 8 * t->elements * target->vector_bytes / 4 <= target->l1_bytes;
}

/* ---- the choice ---- */

static Turn problems_along(Arena *arena, const Program *program, const Statement *statement, const TurnHints *hints)
{
    const Output *output = &statement->outputs[0];
    const BundleHints bundles = { hints->target, hints->extents, hints->strides };
    const Turning none = { .extents = hints->extents, .strides = hints->strides, .widest = 4, .able = true };
    Turning t = none;
    Turn turn = { .along = NULL };
    if (hints->nests != NESTS_BY_COST || !(t.along = longest_kept(&t, output)))
        return turn;
    note_statement(arena, &t, program, statement);
    turn.along = small_pays(&t, hints->target) ? t.along : NULL;
    for (int a = output->tensor->rank - 1; a >= 0 && !turn.along; a--) {
        t = none;
        if (!(t.along = kept(output, a)))
            continue;
        find_around(arena, &t, statement);
        note_statement(arena, &t, program, statement);
        turn.rows_short = rows_pay(&t, hints->target);
        turn.along = turn.rows_short ? t.along : NULL;
    }
    return turn.along && bundle_choose(arena, program, statement, &bundles) ? (Turn){ .along = NULL } : turn;
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
        if (statement->accumulate)
            continue;
        turns[s] = problems_along(arena, program, statement, hints);
        if (!turns[s].along && statement->output_count == 1)
            turns[s] = read_as_it_lies(arena, statement, hints);
    }
    return turns;
}
