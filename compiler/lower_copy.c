/* Copies the terms of the checked program into statements of the lowered one, and decides which get their own. */
#include "lowering.h"
#include "state.h"

bool lower_is_written_in(const Lower *l, const Tensor *tensor)
{
    return tensor->maker && !l->tensors[tensor->id];
}

const Term *lower_value(const Tensor *tensor)
{
    for (int o = 0; o < tensor->maker->output_count; o++)
        if (tensor->maker->outputs[o].tensor == tensor)
            return tensor->maker->outputs[o].value;
    return NULL;
}

/* ---- what stays pointwise ---- */

Position *lower_positions(Lower *l, Context *c, const Position *positions, int rank, const Instance *instance)
{
    Position *copies = ARENA_ARRAY(l->arena, Position, rank);
    for (int a = 0; a < rank; a++) {
        copies[a] = positions[a];
        copies[a].parts = ARENA_ARRAY(l->arena, PositionPart, positions[a].count);
        for (int k = 0; k < positions[a].count; k++) {
            const PositionPart *part = &positions[a].parts[k];
            copies[a].parts[k] = *part;
            if (part->index)
                copies[a].parts[k].index = lower_image(instance, part->index);
            else
                copies[a].parts[k].gather = lower_copy(l, c, part->gather, instance);
        }
    }
    return copies;
}

static Term *copy_read(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    const Tensor *tensor = term->read.tensor;
    if (!lower_is_written_in(l, tensor)) {
        Position *positions = lower_positions(l, c, term->read.positions, tensor->rank, instance);
        Term *read = lower_read(l, c, l->tensors[tensor->id], positions, term->span);
        read->origin = l->in->origin ? term->origin : term;
        return read;
    }
    const Instance *inside = NULL;
    for (int a = 0; a < tensor->rank; a++)
        inside = lower_link(l, inside, tensor->axes[a], lower_image(instance, term->read.positions[a].parts[0].index));
    return lower_copy(l, c, lower_value(tensor), inside);
}

/* One of two numbers is chosen in the dtype that it is wanted in: of where(c, 1, 0) in whole numbers lanes would be longer. */
static bool chooses_number(const Term *cast)
{
    const Term *from = cast->map.arguments[0];
    return cast->map.function == FUNCTION_CAST && from->kind == TERM_SELECT && from->select.yes->kind == TERM_CONSTANT && from->select.no->kind == TERM_CONSTANT &&
           dtype_kind(cast->dtype) == KIND_FLOAT;
}

static Term *copy_chosen(Lower *l, Context *c, const Term *cast, const Instance *instance)
{
    const Term *from = cast->map.arguments[0];
    Term *condition = lower_copy(l, c, from->select.condition, instance);
    Term *yes = lower_cast(l, c, cast->dtype, lower_copy(l, c, from->select.yes, instance));
    return lower_select(l, c, condition, yes, lower_cast(l, c, cast->dtype, lower_copy(l, c, from->select.no, instance)));
}

static Term *copy_map(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    if (chooses_number(term))
        return copy_chosen(l, c, term, instance);
    Term *comparison = lower_comparison(l, c, term, instance);
    if (comparison)
        return comparison;
    Term **arguments = ARENA_ARRAY(l->arena, Term *, term->map.count);
    for (int i = 0; i < term->map.count; i++)
        arguments[i] = lower_copy(l, c, term->map.arguments[i], instance);
    Term *map = lower_term(l, c, TERM_MAP, term->dtype, term->span);
    map->weak = term->weak;
    map->map = term->map;
    map->map.arguments = arguments;
    map->map.grade = l->facts[term->id].is_rounded && function_coarseness(term->map.function, term->dtype) > 0 ? GRADE_COARSE : GRADE_FULL;
    for (int i = 0; i < term->map.count; i++)
        lower_depend_on(l, map, arguments[i]);
    Term *parted = lower_parted_map(l, c, term, arguments);
    return parted && parted->rank == map->rank ? parted : map;      /* a part may lack what a reduction runs over */
}

static Term *copy_branch(Lower *l, Context *c, const Term *select, const Term *branch, bool negated,
                         const Instance *instance)
{
    Path *path = ARENA_NEW(l->arena, Path);
    *path = (Path){ c->path, select->select.condition, instance, negated };
    const Path *outer = c->path;
    c->path = path;
    Term *term = lower_copy(l, c, branch, instance);
    c->path = outer;
    return term;
}

static Term *copy_select(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    Term *condition = lower_copy(l, c, term->select.condition, instance);
    Term *yes = copy_branch(l, c, term, term->select.yes, false, instance);
    Term *no = copy_branch(l, c, term, term->select.no, true, instance);
    Term *select = lower_select(l, c, condition, yes, no);
    select->weak = term->weak;
    return select;
}

static Term *copy_leaf(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    Term *leaf = lower_term(l, c, term->kind, term->dtype, term->span);
    leaf->weak = term->weak;
    if (term->kind == TERM_CONSTANT) {
        leaf->constant = term->constant;
    } else if (term->kind == TERM_EXTENT) {
        leaf->extent = term->extent;
    } else {
        leaf->position = lower_image(instance, term->position);
        lower_depend_on_index(l, leaf, leaf->position);
    }
    return leaf;
}

/* ---- reductions in their loops ---- */

static bool runs_in_all_loops(const Context *c, const Term *term, const Instance *instance)
{
    if (term->rank != c->loop_count)
        return false;
    for (int i = 0; i < term->rank; i++)
        if (!indices_have(c->loops, c->loop_count, lower_image(instance, term->indices[i])))
            return false;
    return true;
}

/* The loops of a context and some more. */
Context lower_widen(Lower *l, const Context *c, Index *const *more, int count)
{
    Context wide = { .statement = c->statement, .path = c->path };
    for (int i = 0; i < c->loop_count; i++)
        ARENA_APPEND(l->arena, wide.loops, wide.loop_count, c->loops[i]);
    for (int i = 0; i < count; i++)
        if (!indices_have(wide.loops, wide.loop_count, more[i]))
            ARENA_APPEND(l->arena, wide.loops, wide.loop_count, more[i]);
    return wide;
}

/* The context inside a reduction: the same one for all that run over the same indices, so that what they share is
 * copied once. */
static Context *inside(Lower *l, Context *c, Index *const *over, int count, const Index *ranks)
{
    Context wide = lower_widen(l, c, over, count);
    for (int i = 0; i < wide.loop_count; i++)
        if (wide.loops[i] == ranks)
            wide.loops[i] = wide.loops[--wide.loop_count];
    for (Context *inner = c->inner; inner; inner = inner->next) {
        bool same = inner->loop_count == wide.loop_count;
        for (int i = 0; i < wide.loop_count && same; i++)
            same = indices_have(inner->loops, inner->loop_count, wide.loops[i]);
        if (same) {
            inner->path = c->path;
            return inner;
        }
    }
    Context *inner = ARENA_NEW(l->arena, Context);
    *inner = wide;
    inner->next = c->inner;
    return c->inner = inner;
}

Term *lower_reduction(Lower *l, const Context *c, const Term *like, Index **over, int over_count, Term *argument)
{
    Term *reduce = lower_term(l, c, like->kind, like->dtype, like->span);
    reduce->reduce = like->reduce;
    reduce->reduce.over = over;
    reduce->reduce.over_count = over_count;
    reduce->reduce.argument = argument;
    for (int i = 0; i < c->loop_count; i++)
        lower_depend_on_index(l, reduce, c->loops[i]);
    return reduce;
}

static bool depends_on(const Term *term, Index *const *indices, int count)
{
    for (int i = 0; i < count; i++)
        if (term_has_index(term, indices[i]))
            return true;
    return false;
}

/* Whether it is a quotient that is rounded, or what is rounded back in its dtype. As powers are at most 1, they may be rounded before
 * they are divided; what is more may then be infinite. */
static bool rounds_whole(const Term *x)
{
    if (x->kind != TERM_MAP || x->map.function != FUNCTION_CAST || dtype_kind(x->dtype) != KIND_FLOAT)
        return false;
    const Term *of = x->map.arguments[0];
    return of->kind == TERM_SELECT ? dtype_size(x->dtype) < dtype_size(of->dtype) : rounds_whole(of) && x->dtype == of->map.arguments[0]->dtype;
}

/* A product without what its softmax divides by, where that is the same for all points of a sum, and the divisor; NULL: there
 * is none. */
static Term *without_divisor(Lower *l, const Context *c, Term *x, Index *const *over, int count, Term **divisor)
{
    if (x->kind == TERM_SELECT && x->select.no->kind == TERM_MAP && x->select.no->map.function == FUNCTION_DIV &&
        x->select.no->map.implicit && !depends_on(x->select.condition, over, count)) {
        Term *sum = x->select.no->map.arguments[1];
        *divisor = lower_select(l, c, x->select.condition, lower_number(l, c, sum->dtype, 1, x->span), sum);
        return x->select.no->map.arguments[0];
    }
    if (rounds_whole(x)) {
        Term *power = without_divisor(l, c, x->map.arguments[0], over, count, divisor);
        Term *cast = power ? lower_map(l, c, FUNCTION_CAST, x->dtype, power, NULL) : NULL;
        if (cast)
            cast->map.implicit = x->map.implicit;
        return cast;
    }
    for (int i = 0; x->kind == TERM_MAP && x->map.function == FUNCTION_MUL && i < 2; i++) {
        Term *factor = without_divisor(l, c, x->map.arguments[i], over, count, divisor);
        if (factor)
            return lower_map(l, c, FUNCTION_MUL, x->dtype, i ? x->map.arguments[0] : factor, i ? factor : x->map.arguments[1]);
    }
    return NULL;
}

static bool keeps_indices(const Term *term)
{
    return term->kind == TERM_REDUCE && reduction_facts[term->reduce.reduction].leaves != LEAVES_NOTHING;
}

/* What a norm adds up. Zeros of a mask stay what they are, so that it is one for the sum, too. */
static Term *norm_element(Lower *l, Context *c, const Term *norm, Function function, Term *x)
{
    if (x->kind != TERM_SELECT || !state_skips(norm, x->select.no))
        return lower_map(l, c, function, x->dtype, x, NULL);
    return lower_select(l, c, x->select.condition, lower_map(l, c, function, x->dtype, x->select.yes, NULL), x->select.no);
}

/* A norm as a sum of sizes, or as the root of one of squares: a tiled product may be one. */
static Term *lower_norm(Lower *l, Context *c, Context *inner, const Term *term, Index **over, Term *argument)
{
    bool squares = term->reduce.parameter == 2;
    Term like = *term;
    like.reduce.reduction = REDUCTION_SUM;
    like.reduce.has_parameter = false;
    Term *element = norm_element(l, inner, term, squares ? FUNCTION_SQUARE : FUNCTION_ABS, argument);
    Term *sum = lower_reduction(l, c, &like, over, term->reduce.over_count, element);
    return squares ? lower_map(l, c, FUNCTION_SQRT, term->dtype, sum, NULL) : sum;
}

/* A reduction inside the loops of the context. What it runs over becomes loops of the statement, unless they are there:
 * those of one that keeps its indices (cumsum), or of another reduction that shares them. */
Term *lower_copy_reduction(Lower *l, Context *c, const Term *written, const Instance *instance)
{
    const Term one = lower_as_one(l, written), *term = &one;
    Index *ranks = term->kind == TERM_REDUCE && term->reduce.ranks ? lower_image(instance, term->reduce.ranks) : NULL;
    int count = term->reduce.over_count;
    Index **over = ARENA_ARRAY(l->arena, Index *, count);
    for (int i = 0; i < count; i++) {
        over[i] = lower_image(instance, term->reduce.over[i]);
        if (over[i])
            continue;
        over[i] = lower_index(l, c->statement, term->reduce.over[i]);
        instance = lower_link(l, instance, term->reduce.over[i], over[i]);
    }
    Context *inner = inside(l, c, over, count, ranks);
    inner->reduced = term->reduce.argument;
    inner->again = l->kinds[term->id] & PRODUCT_AGAIN;
    inner->taken = keeps_indices(term) || l->kinds[term->id] & PRODUCT_STORED;
    Term *argument = lower_copy(l, inner, term->reduce.argument, instance), *divisor, *simple = NULL;
    if (norm_is_sum(term) && argument->dtype == term->dtype)
        return lower_norm(l, c, inner, term, over, argument);
    if (term->reduce.reduction == REDUCTION_SUM && dtype_kind(term->dtype) == KIND_FLOAT && term->dtype == argument->dtype)
        simple = without_divisor(l, inner, argument, over, count, &divisor);
    argument = simple ? simple : argument;
    if (l->kinds[term->id] & PRODUCT_ROUNDS)
        argument = lower_rounded(l, inner, argument);
    Term *parted = lower_sums_parts(term) ? lower_parted_sum(l, c, inner, term, over, argument) : NULL;
    if (parted)
        return parted;
    Term *reduce = lower_reduction(l, c, term, over, count, argument);
    reduce->reduce.ranks = ranks;
    return simple ? lower_map(l, c, FUNCTION_DIV, term->dtype, reduce, lower_cast(l, c, term->dtype, divisor)) : reduce;
}

/* ---- statements for temporaries ---- */

/* A temporary over the context's loops that gets `value`. */
Tensor *lower_store_in(Lower *l, const Context *c, Term *value)
{
    Tensor *tensor = lower_temporary(l, c->loop_count, value->dtype);
    Position *positions = ARENA_ARRAY(l->arena, Position, c->loop_count);
    for (int i = 0; i < c->loop_count; i++)
        positions[i] = lower_plain(l, c->loops[i]);
    lower_output(l, c->statement, tensor, value, positions);
    return tensor;
}

/* The same; ends the statement. */
Tensor *lower_store(Lower *l, const Context *c, Term *value, Span span)
{
    Tensor *tensor = lower_store_in(l, c, value);
    lower_end(l, c->statement, span);
    return tensor;
}

/* Reads a temporary whose axes are `indices` of the checked program. */
Term *lower_read_temporary(Lower *l, Context *c, Tensor *tensor, Index *const *indices, const Instance *instance,
                            Span span)
{
    Position *positions = ARENA_ARRAY(l->arena, Position, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        positions[a] = lower_plain(l, lower_image(instance, indices[a]));
    return lower_read(l, c, tensor, positions, span);
}

/* The links from a term's indices to the loops of a statement that was opened over their images. */
const Instance *lower_link_all(Lower *l, const Term *term, const Context *c)
{
    const Instance *instance = NULL;
    for (int i = 0; i < term->rank; i++)
        instance = lower_link(l, instance, term->indices[i], c->loops[i]);
    return instance;
}

/* The images of a term's indices in the statement at hand. */
Index **lower_images(Lower *l, const Term *term, const Instance *instance)
{
    Index **list = ARENA_ARRAY(l->arena, Index *, term->rank);
    for (int i = 0; i < term->rank; i++)
        list[i] = lower_image(instance, term->indices[i]);
    return list;
}

/* Reads a term from *stored, where it is made first if it is not there. */
Term *lower_copy_stored(Lower *l, Context *c, Tensor **stored, const Term *term, const Instance *instance)
{
    Tensor *tensor = *stored;
    if (!tensor) {
        const Instance *unused = NULL;
        Context own = lower_open(l, lower_images(l, term, instance), term->rank, &unused);
        own.root = term;
        tensor = lower_store(l, &own, lower_copy(l, &own, term, lower_link_all(l, term, &own)), term->span);
        *stored = tensor;
    }
    return lower_read_temporary(l, c, tensor, term->indices, instance, term->span);
}

static Term *copy_stored(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    return lower_copy_stored(l, c, &l->temporaries[term->id], term, instance);
}

/* The value of a term in one more statement: written there, or stored first when it costs too much to repeat. */
Term *lower_copy_again(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    const Term *constant, *sums = lower_straight(l, term, &constant);
    if (sums)
        return lower_map(l, c, FUNCTION_MUL, term->dtype, copy_stored(l, c, sums, instance), lower_copy(l, c, constant, instance));
    return l->facts[term->id].cost > COST_CHEAP ? copy_stored(l, c, term, instance) : lower_copy(l, c, term, instance);
}

/* ---- temporaries behind a where ---- */

/* The conditions of the path in another statement: `known` links the indices of the statement at hand to those of the
 * other; one that has none there gets a fresh one, appended to `extra`. */
static const Instance *know_indices(Lower *l, const Context *c, const Path *path, const Instance *known, Index ***extra,
                                    int *extra_count)
{
    for (const Path *p = path; p; p = p->outer)
        for (int i = 0; i < p->condition->rank; i++) {
            const Index *outside = lower_image(p->instance, p->condition->indices[i]);
            if (lower_image(known, outside))
                continue;
            Index *fresh = lower_index(l, c->statement, outside);
            known = lower_link(l, known, outside, fresh);
            ARENA_APPEND(l->arena, *extra, *extra_count, fresh);
        }
    return known;
}

/* Whether the wheres around choose the value for some of the indices that the statement at hand has and the context has
 * not. Each condition is asked only where those around it hold. */
static Term *needed_under(Lower *l, const Context *c, const Path *path, const Instance *known)
{
    Index **extra = NULL;
    int extra_count = 0;
    known = know_indices(l, c, path, known, &extra, &extra_count);
    Context inner = lower_widen(l, c, extra, extra_count);
    Term *holds = NULL;
    for (const Path *p = path; p; p = p->outer) {
        const Instance *instance = NULL;
        for (int i = 0; i < p->condition->rank; i++)
            instance = lower_link(l, instance, p->condition->indices[i],
                                  lower_image(known, lower_image(p->instance, p->condition->indices[i])));
        Term *condition = lower_copy(l, &inner, p->condition, instance);
        if (p->negated)
            condition = lower_map(l, &inner, FUNCTION_NOT, DTYPE_BOOL, condition, NULL);
        holds = !holds ? condition
                       : lower_select(l, &inner, condition, holds, lower_number(l, &inner, DTYPE_BOOL, 0, condition->span));
    }
    if (!extra_count)
        return holds;
    Term any = { .kind = TERM_CONTRACT, .dtype = DTYPE_BOOL, .span = holds->span,
                 .reduce = { .reduction = REDUCTION_ANY, .declared = DTYPE_NONE } };
    return lower_reduction(l, c, &any, extra, extra_count, holds);
}

/* The path as another statement has it: `known` links the indices of the statement at hand to those of the other. What
 * has none there keeps its own, which needed_under() replaces. */
static const Path *carry_path(Lower *l, const Path *path, const Instance *known)
{
    if (!path)
        return NULL;
    const Instance *instance = NULL;
    for (int i = 0; i < path->condition->rank; i++) {
        Index *outside = lower_image(path->instance, path->condition->indices[i]), *there = lower_image(known, outside);
        instance = lower_link(l, instance, path->condition->indices[i], there ? there : outside);
    }
    Path *carried = ARENA_NEW(l->arena, Path);
    *carried = (Path){ carry_path(l, path->outer, known), path->condition, instance, path->negated };
    return carried;
}

/* Stores a term for this path alone: its value where some element behind the wheres needs it, 0 elsewhere, so that
 * nothing is read that the wheres protect. Along the indices in `whole` one needed element needs them all. */
static Tensor *store_guarded(Lower *l, Context *c, const Term *term, const Instance *instance, const Term *whole)
{
    const Instance *unused = NULL, *known = NULL;
    Index **outside = lower_images(l, term, instance);
    Context own = lower_open(l, outside, term->rank, &unused);
    for (int i = 0; i < term->rank; i++)
        if (!whole || !indices_have(whole->reduce.over, whole->reduce.over_count, term->indices[i]))
            known = lower_link(l, known, outside[i], own.loops[i]);
    Term *needed = needed_under(l, &own, c->path, known);
    own.path = carry_path(l, c->path, known);    /* what the value stores in turn is needed no more than the value */
    Term *value = lower_copy(l, &own, term, lower_link_all(l, term, &own));
    Term *guarded = lower_select(l, &own, needed, value, lower_number(l, &own, value->dtype, 0, term->span));
    return lower_store(l, &own, guarded, term->span);
}

/* ---- reductions ---- */

typedef struct Outermost {
    const Lower *l;
    bool *seen;                   /* [in term id] */
    int rank;                     /* of the value */
    int count;                    /* of reductions that run in all of its loops; others are stored before */
} Outermost;

static void count_outermost(void *user, const Term *term)
{
    Outermost *o = user;
    if (o->seen[term->id])
        return;
    o->seen[term->id] = true;
    if (term->kind == TERM_REDUCE || (term->kind == TERM_CONTRACT && term->reduce.over_count)) {
        o->count += term->rank == o->rank;
        return;
    }
    if (term->kind == TERM_READ && lower_is_written_in(o->l, term->read.tensor))
        count_outermost(o, lower_value(term->read.tensor));
    term_each_argument(term, count_outermost, o);
}

/* Whether a value is made of several reductions side by side. NULL: it is part of one. */
static bool stands_beside(Lower *l, const Term *value)
{
    Outermost o = { l, ARENA_ARRAY(l->arena, bool, l->in->term_count), value ? value->rank : 0, 0 };
    if (value)
        count_outermost(&o, value);
    return o.count > 1;
}

static Term *copy_reduce_unguarded(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    Reduction reduction = term->reduce.reduction;
    if (reduction == REDUCTION_SOFTMAX || reduction == REDUCTION_LOG_SOFTMAX)
        return lower_softmax(l, c, term, instance);
    unsigned kind = l->kinds[term->id];
    if (kind & PRODUCT_OF_COMPLEX)
        return lower_parted_product(l, c, term, instance);
    bool apart = (c->reduced && kind & PRODUCT_END) || (c->taken && kind & PRODUCT_ITSELF) ||
                 (kind & (PRODUCT_END | PRODUCT_ITSELF) && stands_beside(l, c->reduced ? c->reduced : c->root));
    bool runs = (c->again && kind & PRODUCT_ITSELF) || runs_in_all_loops(c, term, instance);
    if (!runs || (keeps_indices(term) && c->root != term) || apart)
        return copy_stored(l, c, term, instance);
    if (kind & PRODUCT_WHERE && !c->path)
        return lower_where_product(l, c, term, instance);
    if (!(kind & PRODUCT_GUARDED))
        return lower_is_across(l, term) ? lower_across(l, c, term, instance) : lower_copy_reduction(l, c, term, instance);
    return state_needs_place(term) ? lower_place_product(l, c, term, instance) : lower_log_product(l, c, term, instance);
}

/* Behind a where, what may read out of range is stored only where it is needed. A reduction that runs in the loops
 * around it is in its place behind the where already. */
static Term *copy_reduce(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    const Term *argument = term->reduce.argument;
    if (term->kind == TERM_CONTRACT && term->reduce.over_count == 0) {
        if (c->root == term)
            c->root = argument;
        return lower_copy(l, c, argument, instance);
    }
    if (!c->path || !l->facts[term->id].can_miss)
        return copy_reduce_unguarded(l, c, term, instance);
    if (!keeps_indices(term)) {
        if (runs_in_all_loops(c, term, instance))
            return lower_copy_reduction(l, c, term, instance);
        return lower_read_temporary(l, c, store_guarded(l, c, term, instance, NULL), term->indices, instance, term->span);
    }
    /* What keeps its indices is made from a stored argument, whole rows of which are needed or not. */
    Tensor *stored = l->temporaries[term->id];
    const Instance *wide = instance;
    for (int i = 0; i < term->reduce.over_count; i++)
        if (!lower_image(instance, term->reduce.over[i]))
            wide = lower_link(l, wide, term->reduce.over[i], lower_index(l, c->statement, term->reduce.over[i]));
    Forced forced = { l->forced, argument, store_guarded(l, c, argument, wide, term), argument->indices };
    l->forced = &forced;
    l->temporaries[term->id] = NULL;
    Term *made = copy_reduce_unguarded(l, c, term, instance);
    l->forced = forced.outer;
    l->temporaries[term->id] = stored;
    return made;
}

static Term *copy_new(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    switch (term->kind) {
    case TERM_READ: return copy_read(l, c, term, instance);
    case TERM_MAP: return copy_map(l, c, term, instance);
    case TERM_SELECT: return copy_select(l, c, lower_turned_where(l, term), instance);
    case TERM_CONTRACT:
    case TERM_REDUCE: return copy_reduce(l, c, term, instance);
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
    return copy_leaf(l, c, term, instance);
}

/* Whether all wheres of `outer` are around `path`, too. */
static bool is_within(const Path *path, const Path *outer)
{
    while (path && path != outer)
        path = path->outer;
    return path == outer;
}

/* Within one context a term is copied once. What may read out of range is the same copy only inside the wheres that the
 * first is inside of: where they do not choose it, it is not read. */
Term *lower_copy(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    for (const Forced *f = l->forced; f; f = f->outer)
        if (term == f->term)
            return lower_read_temporary(l, c, f->tensor, f->axes, instance, term->span);
    for (const Memo *m = c->memo; m; m = m->next)
        if (m->from == term && m->instance == instance && is_within(c->path, m->path))
            return m->to;
    const Path *path = l->facts[term->id].can_miss ? c->path : NULL;
    Term *made = copy_new(l, c, term, instance);
    Memo *memo = ARENA_NEW(l->arena, Memo);
    *memo = (Memo){ c->memo, term, instance, path, made };
    c->memo = memo;
    return made;
}
