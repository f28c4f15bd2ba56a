#include "bundle.h"

#include "state.h"

enum {
    ROWS_LEAST = 2,               /* of the last axis, in a vector */
    VECTORS_LEAST = 16,           /* of a call: what it does before them is more than fewer save */
    VECTORS_MOST = 4,             /* that go through the reduction together */
    POINTS_MOST = 64              /* contracted: of more, tiles pay */
};

typedef struct Chooser {
    Arena *arena;
    const BundleHints *hints;
    const Output *output;
    Bundle *bundle;
    int64_t lanes, first, inner;  /* points of the first axis in a vector, and of all others */
    int reductions;
    bool able;
} Chooser;

const Index *bundle_index(const Bundle *bundle, int i)
{
    const Term *reduce = bundle->reduce;
    if (i < bundle->axis_count)
        return bundle->axes[i];
    return i < bundle->axis_count + reduce->reduce.over_count ? reduce->reduce.over[i - bundle->axis_count] : NULL;
}

static int64_t extent_of(const Chooser *c, const Index *index)
{
    return c->hints->extents->of[index->origin ? index->origin->id : index->id];
}

static int axis_of(const Tensor *tensor, const Position *positions, const Index *index)
{
    for (int a = 0; a < tensor->rank; a++)
        if (positions[a].parts[0].index == index)
            return a;
    return -1;
}

static bool is_plain(const Tensor *tensor, const Position *positions)
{
    bool plain = !tensor->whole;
    for (int a = 0; a < tensor->rank && plain; a++)
        plain = position_is_plain(&positions[a]) && axis_of(tensor, positions, positions[a].parts[0].index) == a;
    return plain;
}

/* Of the caller's tensor; 0 where it does not go along the index. */
static int64_t stride_along(const Chooser *c, const Tensor *tensor, const Position *positions, const Index *index)
{
    const Tensor *caller = tensor->home && tensor->home->origin ? tensor->home->origin : tensor;
    const int64_t *known = c->hints->strides ? c->hints->strides[caller->id] : NULL;
    const int64_t *shape = c->hints->extents->shape[caller->id];
    int axis = axis_of(tensor, positions, index);
    if (axis < 0 || shape[axis] == 1)
        return 0;
    int64_t stride = 1;
    for (int a = tensor->rank - 1; a > axis && stride < INT32_MAX; a--)
        stride *= shape[a];
    return known ? known[axis] : stride;
}

/* ---- what it is made of ---- */

static bool is_along(const Bundle *bundle, const Term *read)
{
    for (int a = 0; a < bundle->axis_count; a++)
        if (term_has_index(read, bundle->axes[a]))
            return true;
    return false;
}

static void note_term(void *user, const Term *term)
{
    Chooser *c = user;
    bool carried = register_dtype(term->dtype) == c->bundle->dtype;
    switch (term->kind) {
    case TERM_READ:
        c->able &= carried && !term->read.tensor->maker && !term->read.carried &&
                   is_plain(term->read.tensor, term->read.positions);
        if (c->able && is_along(c->bundle, term)) {
            Bundled operand = { term, true };
            ARENA_APPEND(c->arena, c->bundle->operands, c->bundle->operand_count, operand);
        }
        break;
    case TERM_CONSTANT: break;
    case TERM_MAP: c->able &= carried; break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        c->able &= carried && ++c->reductions == 1 && state_is_simple(term);
        c->bundle->reduce = (Term *)term;
        break;
    default: c->able = false;
    }
}

/* ---- what has room ---- */

/* The last axes that have no more points than there are lanes, and the one before them. */
static bool choose_axes(Chooser *c)
{
    const Output *output = c->output;
    int a = output->tensor->rank - 1;
    c->inner = 1;
    for (; a >= 0; a--) {
        int64_t extent = extent_of(c, output->positions[a].parts[0].index);
        if (extent < 1)
            return false;
        if (c->inner * (extent < c->lanes ? extent : c->lanes + 1) > c->lanes)
            break;
        c->inner *= extent;
    }
    for (int k = a; k >= 0 && k < output->tensor->rank; k++)
        ARENA_APPEND(c->arena, c->bundle->axes, c->bundle->axis_count, output->positions[k].parts[0].index);
    return a >= 0 && c->bundle->axis_count > 1;
}

/* How many elements of an operand a vector has to hold, of all contracted points or of one; more than it has lanes
 * for where some go backwards. */
static int64_t span_of(const Chooser *c, const Term *read, bool all)
{
    int64_t span = 1;
    for (int i = 0; all ? bundle_index(c->bundle, i) != NULL : i < c->bundle->axis_count; i++) {
        const Index *index = bundle_index(c->bundle, i);
        int64_t steps = (i ? extent_of(c, index) : c->first) - 1;
        int64_t stride = steps ? stride_along(c, read->read.tensor, read->read.positions, index) : 0;
        if (stride < 0 || stride > c->lanes || steps > c->lanes)
            return c->lanes + 1;
        span += steps * stride;
    }
    return span;
}

/* Whether all points of a vector are near each other in each operand. */
static bool fits(Chooser *c)
{
    for (int o = 0; o < c->bundle->operand_count; o++) {
        Bundled *operand = &c->bundle->operands[o];
        operand->held = span_of(c, operand->read, true) <= c->lanes;
        if (span_of(c, operand->read, false) > c->lanes)
            return false;
    }
    return true;
}

static bool follows(const Chooser *c)
{
    const Output *output = c->output;
    int64_t points = 1;
    for (int a = c->bundle->axis_count - 1; a >= 0; a--) {
        const Index *index = c->bundle->axes[a];
        bool several = a ? extent_of(c, index) != 1 : c->first > 1;
        if (several && stride_along(c, output->tensor, output->positions, index) != points)
            return false;
        points *= extent_of(c, index);
    }
    return true;
}

/* Rows of the last axis that a vector has to have. Loops along that axis would gather what lies far apart; else they load
 * what is there as often as a bundle that does not hold all contracted points. */
static int rows_least(const Chooser *c)
{
    const Bundle *bundle = c->bundle;
    bool held = true, far = false;
    for (int o = 0; o < bundle->operand_count; o++) {
        const Term *read = bundle->operands[o].read;
        held &= bundle->operands[o].held;
        far |= stride_along(c, read->read.tensor, read->read.positions, bundle->axes[bundle->axis_count - 1]) > 1;
    }
    return held || far ? 1 : ROWS_LEAST;
}

static bool pays(const Chooser *c)
{
    const Bundle *bundle = c->bundle;
    int64_t most = extent_of(c, bundle->axes[0]), row = extent_of(c, bundle->axes[bundle->axis_count - 1]);
    int64_t vectors = (most + c->first - 1) / c->first, all = vectors;
    for (int a = 0; c->output->positions[a].parts[0].index != bundle->axes[0] && all < VECTORS_LEAST; a++)
        all *= extent_of(c, c->output->positions[a].parts[0].index);
    return most * (c->inner / row) >= rows_least(c) * vectors && all >= VECTORS_LEAST;
}

static int choose_vectors(const Chooser *c)
{
    int64_t turns = extent_of(c, c->bundle->axes[0]) / c->first;
    int vectors = VECTORS_MOST;
    while (vectors > 1 && turns < VECTORS_MOST * VECTORS_MOST && turns % vectors)
        vectors--;
    return vectors;
}

/* Contracted points. */
static bool are_few(const Chooser *c)
{
    const Term *reduce = c->bundle->reduce;
    int64_t points = 1;
    for (int i = 0; i < reduce->reduce.over_count && points > 0 && points <= POINTS_MOST; i++)
        points *= extent_of(c, reduce->reduce.over[i]);
    return points > 0 && points <= POINTS_MOST && c->bundle->axis_count + reduce->reduce.over_count <= BUNDLE_AXES;
}

static bool is_read(const Program *program, const Tensor *tensor)
{
    for (int i = 0; i < program->term_count; i++)
        if (program->terms[i]->kind == TERM_READ && program->terms[i]->read.tensor == tensor)
            return true;
    return false;
}

const Bundle *bundle_choose(Arena *arena, const Program *program, const Statement *statement, const BundleHints *hints)
{
    const Output *output = &statement->outputs[0];
    const Tensor *tensor = output->tensor;
    Bundle *bundle = ARENA_NEW(arena, Bundle);
    Chooser c = { .arena = arena, .hints = hints, .output = output, .bundle = bundle, .able = true };
    if (!hints->target->permutes || !hints->extents || !hints->extents->complete || statement->output_count > 1 || statement->accumulate ||
        statement->sweep || !is_plain(tensor, output->positions) || is_read(program, tensor))
        return NULL;
    bundle->dtype = register_dtype(tensor->dtype);
    if (bundle->dtype != DTYPE_F32 && bundle->dtype != DTYPE_F64)
        return NULL;
    c.lanes = hints->target->vector_bytes / (int64_t)dtype_size(bundle->dtype);
    if (!choose_axes(&c))
        return NULL;
    term_each_below(arena, output->value, note_term, &c);
    if (!c.able || !c.reductions || !bundle->operand_count || !are_few(&c))
        return NULL;
    int64_t most = extent_of(&c, bundle->axes[0]);
    c.first = c.lanes / c.inner < most ? c.lanes / c.inner : most;
    while (c.first > 0 && !fits(&c))
        c.first--;
    if (!c.first || !pays(&c) || !follows(&c))
        return NULL;
    bundle->vectors = choose_vectors(&c);
    bundle->uncut = bundle->axis_count - (most >= KEPT_ENOUGH || bundle->axis_count == tensor->rank);
    return bundle;
}
