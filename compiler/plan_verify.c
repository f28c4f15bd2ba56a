/* The Plan's verifier: what the emitter and the runtime rely on. One walk over the lowered program's terms; sizes are
 * looked at with a few samples of extents. */
#include <stdlib.h>

#include "plan.h"

typedef struct Verifier {
    const Plan *plan;
    Arena *arena;                 /* the lowered program's */
    const char *broken;
    int *launch_of, *place_in;    /* [step id]: its launch, and its place among the launch's steps */
    int *turn;                    /* [step id]: when it runs, among all */
    bool *carries;                /* [step id]: a reduction of the step runs over its vector */
} Verifier;

static bool expect(Verifier *v, bool holds, const char *invariant)
{
    if (!holds && !v->broken)
        v->broken = invariant;
    return holds;
}

static bool set_has(const IndexSet *set, const Index *index)
{
    return indices_have(set->list, set->count, index);
}

static bool is_reduction(const Term *term)
{
    return term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE;
}

static bool reduces_over(const Term *term, const Index *index)
{
    return indices_have(term->reduce.over, term->reduce.over_count, index);
}

/* ---- which steps there are, and when they run ---- */

static void verify_steps(Verifier *v)
{
    const Plan *plan = v->plan;
    if (!expect(v, plan->step_count == plan->lowered->statement_count, "each statement has one step"))
        return;
    for (int s = 0; s < plan->step_count; s++) {
        expect(v, plan->steps[s]->id == s, "a step's number is not its place");
        expect(v, plan->steps[s]->statement == plan->lowered->statements[s],
               "a step stores another statement than its own");
        v->launch_of[s] = -1;
    }
}

static void verify_launches(Verifier *v)
{
    const Plan *plan = v->plan;
    int turns = 0;
    for (int l = 0; l < plan->launch_count; l++) {
        const Launch *launch = plan->launches[l];
        expect(v, launch->id == l, "a launch's number is not its place");
        expect(v, launch->step_count > 0, "a launch has a step");
        for (int i = 0; i < launch->step_count; i++) {
            int s = launch->steps[i]->id;
            if (!expect(v, s >= 0 && s < plan->step_count && plan->steps[s] == launch->steps[i],
                        "a step of a launch is not the plan's"))
                return;
            expect(v, v->launch_of[s] < 0, "a step stands in two launches");
            v->launch_of[s] = l;
            v->place_in[s] = i;
            v->turn[s] = turns++;
        }
    }
    expect(v, turns >= plan->step_count, "a step stands in no launch");
}

/* `+=` changes an array in place: what makes or reads its earlier values has run in a launch before. */
static void verify_before(Verifier *v, const Statement *before, const Statement *adds)
{
    expect(v, v->launch_of[before->id] < v->launch_of[adds->id],
           "a '+=' runs with or before what makes or reads what it adds to");
}

static void verify_read(Verifier *v, const Term *read, const Statement *const *added_by)
{
    const Tensor *tensor = read->read.tensor;
    const Storage *storage = &v->plan->storage[tensor->home->id];
    const Statement *reader = v->plan->lowered->statements[read->statement];
    if (tensor->maker && read->read.carried)
        expect(v, reader->sweep && reader->sweep == tensor->maker->sweep && v->turn[tensor->maker->id] >= v->turn[read->statement],
               "what is carried from block to block is made in time for this one, or not in the sweep");
    else if (tensor->maker)
        expect(v, v->turn[tensor->maker->id] < v->turn[read->statement], "a step runs before what it reads is made");
    if (storage->place == PLACE_BLOCK || storage->place == PLACE_REGISTERS)
        expect(v, storage->launch == v->launch_of[read->statement], "a launch's temporary is read in another one");
    for (int t = 0; t < v->plan->lowered->tensor_count; t++) {
        const Tensor *made = v->plan->lowered->tensors[t];
        expect(v, v->plan->storage[t].over != tensor || v->turn[read->statement] <= v->turn[made->maker->id],
               "a temporary is read whose place another has taken");
    }
    if (added_by[tensor->id] && added_by[tensor->id]->id != read->statement)
        verify_before(v, v->plan->lowered->statements[read->statement], added_by[tensor->id]);
}

static void verify_order(Verifier *v)
{
    const Program *lowered = v->plan->lowered;
    const Statement **added_by = ARENA_ARRAY(v->arena, const Statement *, lowered->tensor_count);
    for (int t = 0; t < lowered->tensor_count; t++) {
        const Tensor *tensor = lowered->tensors[t], *previous = tensor->previous;
        if (!tensor->maker || !previous)
            continue;
        added_by[previous->id] = tensor->maker;
        if (previous->maker)
            verify_before(v, previous->maker, tensor->maker);
    }
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->kind == TERM_READ)
            verify_read(v, term, added_by);
        else if (is_reduction(term) && reduction_facts[term->reduce.reduction].leaves != LEAVES_ALL)
            v->carries[term->statement] |= reduces_over(term, v->plan->steps[term->statement]->vector);
    }
}

/* ---- one step ---- */

static void verify_root(Verifier *v, const Step *step, const Term *root)
{
    if (!expect(v, root->statement == step->statement->id && is_reduction(root), "a root is no reduction of its step"))
        return;
    for (int i = 0; i < root->rank; i++)
        expect(v, root->indices[i] == root->reduce.ranks ||
                  indices_have(step->loops, step->loop_count, root->indices[i]),
               "a root depends on an index that is no loop");
    expect(v, !step->split || step->kind == STEP_RANK || reduces_over(root, step->split), "a step is split along what a root does not reduce");
}

static void verify_step(Verifier *v, const Step *step)
{
    for (int i = 0; i < step->loop_count; i++) {
        expect(v, step->loops[i]->statement == step->statement->id, "a loop is of another statement");
        expect(v, !indices_have(step->loops, i, step->loops[i]), "an index has two loops");
    }
    bool kept = step->vector && indices_have(step->loops, step->loop_count, step->vector);
    expect(v, step->vector_kept == kept, "vector_kept says whether a loop has the lanes");
    const Index *around = step->crossed_last ? step->crossed : step->vector;
    expect(v, !kept || step->loops[step->loop_count - 1] == around, "the loop with the lanes, or with squares that follow each other, is not the last");
    expect(v, !step->vector || kept || v->carries[step->id], "the lanes run along no index of the step");
    for (int i = 0; i < step->root_count; i++)
        verify_root(v, step, step->roots[i]);
    expect(v, !step->split || (step->kind == STEP_RANK ? reduces_over(step->statement->outputs[0].value, step->split) : step->root_count > 0),
           "a step without reductions is split");
    expect(v, !step->split || !step->contract || step->contract->block || step->contract->sweep || step->contract->reduces,
           "a tiled product is split that has all points at a time");
    expect(v, (step->split != NULL) == (step->parts != NULL), "a split step has parts, and no other");
    expect(v, !step->dots || (step->dot[0] && step->dot[1] && !step->join), "words are of two reads");
    expect(v, (step->jammed != NULL) == (step->jam > 1), "points that go together are several, of one loop");
    expect(v, !step->added || (step->added == step->jammed && !step->split && step->vector_kept && reduces_over(step->roots[0], step->added)),
           "rows are added that no reduction takes");
    expect(v, !step->jammed || step->jammed == step->split || step->added || indices_have(step->loops, step->loop_count, step->jammed),
           "the loop of points that go together is no kept one");
    expect(v, !step->jammed || (step->root_count && (!step->split || (step->jammed == step->split && step->vector_kept)) && !step->contract),
           "points go together where there are no reductions");
    expect(v, !step->powers[0] || (step->jammed && step->jammed != step->vector), "exponentials of each side are no points' that go together");
    expect(v, (step->met != NULL) == (step->meets > 1) && (!step->met || (step->jammed && step->met != step->jammed && step->met != step->vector &&
                                                                          indices_have(step->loops, step->loop_count, step->met))),
           "points meet those of no other loop");
    expect(v, !step->crossed || (step->vector_kept && step->loop_count > 1 && step->loops[step->loop_count - 2 + step->crossed_last] == step->crossed),
           "the loop of squares is not beside the lanes'");
    expect(v, (step->crossed != NULL) == (step->crossing_count > 0) && !(step->crossed && (step->root_count || step->bounded)),
           "squares are turned for something else than a map");
    expect(v, !step->strip || (step->crossed && step->result && !step->crossed_last), "a strip is of no squares whose rows go past the caches");
    const Bundle *bundle = step->bundle;
    expect(v, !bundle || (step->root_count == 1 && step->roots[0] == bundle->reduce && !step->contract && !step->split && !step->join),
           "lanes are shared by axes of something else than one reduction");
    for (int i = 0; bundle && i < bundle->axis_count; i++)
        expect(v, indices_have(step->loops, step->loop_count, bundle->axes[i]), "an axis that shares the lanes is no kept loop");
    for (int i = 0; i < step->units.count; i++) {
        const Tensor *tensor = step->units.list[i].tensor;
        expect(v, tensor->origin && tensor->home == tensor, "a unit is no array of the caller's");
        expect(v, step->units.list[i].axis >= 0 && step->units.list[i].axis < tensor->rank, "a unit's axis is not there");
    }
}

/* ---- tiled products ---- */

/* Every set has indices of its own; the first `kept` sets are the loops. */
static void verify_sets(Verifier *v, const Step *step, const IndexSet *const *sets, int count, int kept)
{
    int loops = 0;
    for (int s = 0; s < count; s++)
        for (int i = 0; i < sets[s]->count; i++) {
            const Index *index = sets[s]->list[i];
            bool again = indices_have(sets[s]->list, i, index);
            for (int r = 0; r < s; r++)
                again |= set_has(sets[r], index);
            expect(v, !again, "an index has two roles in a product");
            expect(v, indices_have(step->loops, step->loop_count, index) == (s < kept),
                   "a product's kept indices are not the loops");
            loops += s < kept;
        }
    expect(v, loops == step->loop_count, "a loop has no role in a product");
}

static void verify_reduced(Verifier *v, const IndexSet *set, const Term *reduction, const char *invariant)
{
    bool same = set->count == reduction->reduce.over_count;
    for (int i = 0; i < set->count; i++)
        same &= reduces_over(reduction, set->list[i]);
    expect(v, same, invariant);
}

static void verify_side(Verifier *v, const Term *side, const IndexSet *set, const char *invariant)
{
    for (int i = 0; i < set->count; i++)
        expect(v, !term_has_index(side, set->list[i]), invariant);
}

static void verify_contract(Verifier *v, const Step *step, const Contract *c)
{
    if (!expect(v, step->kind == STEP_STORE && step->root_count > 0 && is_reduction(c->product) &&
                c->product->statement == step->id && c->left->statement == step->id && c->right->statement == step->id,
                "a product is one of its step's reductions"))
        return;
    const IndexSet *sets[] = { &c->batch, &c->kept_rows, &c->columns, &c->rows, &c->depth };
    verify_sets(v, step, sets, 5, c->reduces ? 3 : 4);
    verify_reduced(v, &c->depth, c->product, "a product's depth is what it reduces");
    if (c->reduces)
        for (int r = 0; r < step->root_count; r++)
            verify_reduced(v, &c->rows, step->roots[r], "a product's rows are what the reduction behind it reduces");
    expect(v, c->rows.count && c->columns.count && c->depth.count, "a product has rows, columns and depth");
    expect(v, c->columns.count && step->vector == c->columns.list[c->columns.count - 1],
           "a product's lanes run along its last column");
    verify_side(v, c->left, &c->columns, "a product's left depends on a column");
    verify_side(v, c->right, &c->rows, "a product's right depends on a row");
    verify_side(v, c->right, &c->kept_rows, "a product's right depends on a row");
    expect(v, c->tile_rows > 0 && c->tile_vectors > 0 && c->depth_block > 0 && c->row_block > 0 && c->group > 0,
           "a product's tile or block is empty");
    expect(v, !c->pairs || (c->tile_vectors == (c->pairs + 1) / 2 && (c->pairs == 2 || c->pairs % 2 == 1) && !c->window && !c->rows_along && !c->rows_spread && !c->places && !c->tames),
           "a product takes two points at a time that it cannot");
    expect(v, !c->columns_in_place || ((c->tile_vectors <= 2 || c->columns.count == 1) && c->depth.count == 1 && !c->pairs && !c->tames && !c->places && (!c->sweep || !c->columns_copied)),
           "a product meets columns in place that it cannot");
    expect(v, !c->widened || (c->columns_in_place && c->sweep && c->widened->kind == TERM_READ && dtype_size(c->widened->dtype) < 4),
           "a product's tiles widen columns that are no narrow numbers");
    expect(v, c->columns_asked.count == 0 || (c->columns_in_place && c->columns_asked.count == c->columns.count + 1),
           "a product asks for columns that it does not meet in place");
    expect(v, !c->rows_stay || (c->columns_in_place && !c->columns_copied && c->batch.count && !c->reduces && c->rows.count == 1),
           "a product's rows stay that differ from point to point");
    expect(v, c->halves == 0 || (c->halves % 2 == 1 && c->tile_vectors % c->halves == 0 && c->tile_rows % 2 == 0 && c->pieces && !c->stages),
           "halves of lines are no tile's, or one's whose rows are no pairs");
    expect(v, c->whole == 0 || (c->whole % c->tile->words == 0 && c->whole <= c->depth_block), "a whole tile has other words");
}

/* ---- one launch ---- */

static void verify_blocks(Verifier *v, const Launch *launch)
{
    for (int b = 0; b < launch->block_count; b++) {
        const Block *block = &launch->blocks[b];
        expect(v, block->extent && block->tile, "a block has an extent and a tile");
        for (int s = 0; s < launch->step_count; s++) {
            const Step *step = launch->steps[s];
            const Index *index = block->of_step[s];
            expect(v, index && (index == step->split || indices_have(step->loops, step->loop_count, index)),
                   "a block is none of a step's loops");
            for (int other = 0; other < b; other++)
                expect(v, launch->blocks[other].of_step[s] != index, "an index is in two blocks");
        }
    }
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        expect(v, !step->split || (s == launch->step_count - 1 && launch->block_count > 0 &&
                                   launch->blocks[launch->block_count - 1].of_step[s] == step->split), "a step is split, but not its launch");
        expect(v, !step->split || launch->block_count == 1 || (v->plan->target->grid && launch->step_count == 1),
               "kept loops are in the parts of a split step");
    }
    expect(v, launch->units && launch->tasks && launch->bytes, "a launch has units, tasks and bytes");
}

/* Powers that a tile of guessed maxima leaves out are not there: who multiplies them leaves out the same rows'. */
static void verify_guess(Verifier *v, const Launch *launch)
{
    const Contract *sums = launch->guess ? launch->guess->product->contract : NULL;
    for (int s = 0; s < launch->step_count && sums; s++) {
        const Contract *c = launch->steps[s]->contract;
        expect(v, !c || !c->points_met.condition || !c->points_met.clears || c->tile_rows == sums->tile_rows,
               "powers that are not made are multiplied in tiles of other rows");
    }
}

/* The steps of a sweep follow each other in one launch; each has the index as a loop or in all of its reductions, or not at all,
 * and what is stored along it is read in the sweep alone. */
static void verify_sweep(Verifier *v, const Launch *launch)
{
    const Plan *plan = v->plan;
    expect(v, !launch->sweep || (launch->sweep->extent && launch->sweep->tile && launch->sweep_from < launch->sweep_to &&
                                 launch->block_count > 0), "a sweep has an extent, a tile and steps");
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        const Index *index = step->statement->swept;
        expect(v, (step->statement->sweep != NULL) == launch_sweeps(launch, s), "a step of a sweep is not in its place");
        expect(v, !index || (step->statement->sweep && launch->sweep && launch->sweep->of_step[s] == index), "a sweep lacks a step's index");
        expect(v, !index || !step->split, "a step of a sweep is split");
        bool kept = indices_have(step->loops, step->loop_count, index);
        expect(v, !step->statement->goes_on || (step->kind == STEP_RANK && !kept && step->statement->outputs[0].value->reduce.over[0] == index),
               "what goes on from block to block of a sweep ranks along another index");
        expect(v, !index || step->kind != STEP_RANK || kept || step->statement->goes_on, "a ranking in a sweep does not go on from block to block");
        for (int r = 0; r < step->root_count && index && step->kind != STEP_RANK; r++)
            expect(v, kept != reduces_over(step->roots[r], index), "a step of a sweep has the index as a loop, or reduces it");
    }
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        const Step *maker = term->kind == TERM_READ && term->read.tensor->maker ? plan->steps[term->read.tensor->maker->id] : NULL;
        if (maker && v->launch_of[maker->id] == launch->id && maker->statement->swept && !maker->scatters &&
            indices_have(maker->loops, maker->loop_count, maker->statement->swept))
            expect(v, plan->lowered->statements[term->statement]->sweep == maker->statement->sweep, "a block of a sweep is read behind it");
    }
}

/* ---- storage ---- */

static bool is_stored(const Plan *plan, int tensor)
{
    const Tensor *stored = plan->lowered->tensors[tensor];
    return stored->home == stored && plan->storage[tensor].place != PLACE_CALLER && plan->storage[tensor].place != PLACE_REGISTERS;
}

/* Whether the steps from a temporary's maker to its last reader go by points of the launch's last block. */
static bool verify_follows(const Verifier *v, const Tensor *tensor)
{
    const Launch *launch = v->plan->launches[v->plan->storage[tensor->id].launch];
    int from = 0, to = 0;
    for (int s = 0; s < launch->step_count; s++) {
        const Statement *statement = launch->steps[s]->statement;
        from = statement == tensor->maker ? s : from;
        for (int i = 0; i < v->plan->lowered->term_count; i++) {
            const Term *term = v->plan->lowered->terms[i];
            if (term->kind == TERM_READ && term->read.tensor == tensor && term->statement == statement->id)
                to = s;
        }
    }
    return launch_goes_by_points(launch, from, to);
}

static void verify_storage(Verifier *v, const Tensor *tensor)
{
    const Storage *storage = &v->plan->storage[tensor->id];
    bool own = storage->place != PLACE_CALLER, kept = storage->place == PLACE_REGISTERS, all = storage->offset && storage->bytes && storage->stride;
    bool some = storage->offset || storage->bytes || storage->stride;
    expect(v, own == (tensor->maker && !tensor->origin), "what the caller passes is the caller's, and nothing else");
    expect(v, own && !kept ? all : !some, "a temporary has a place and strides, and no other");
    for (int a = 0; a < tensor->rank && own && all; a++)
        expect(v, storage->stride[a] != NULL, "a temporary has a place and strides, and no other");
    const Storage *over = storage->over ? &v->plan->storage[storage->over->id] : NULL;
    expect(v, !over || (over->place == PLACE_BLOCK && over->launch == storage->launch && over->offset == storage->offset &&
                        storage->over->dtype == tensor->dtype && storage->over->rank == tensor->rank),
           "a temporary is in the place of another that is not like it");
    if (storage->place == PLACE_BLOCK || storage->place == PLACE_REGISTERS)
        expect(v, tensor->maker && storage->launch == v->launch_of[tensor->maker->id],
               "a launch's temporary is made in another one");
    expect(v, !storage->at_point || (storage->place == PLACE_BLOCK && verify_follows(v, tensor)),
           "a temporary has room for one point at a time, but its steps do not follow each other for each");
}

static int last_reader(const Verifier *v, const Tensor *tensor)
{
    int last = v->launch_of[tensor->maker->id];
    for (int i = 0; i < v->plan->lowered->term_count; i++) {
        const Term *term = v->plan->lowered->terms[i];
        if (term->kind == TERM_READ && term->read.tensor == tensor && v->launch_of[term->statement] > last)
            last = v->launch_of[term->statement];
    }
    return last;
}

/* What lies in one place is used by some launches, one after the other. */
static void verify_shared(Verifier *v, const Tensor *tensor)
{
    const Plan *plan = v->plan;
    const Storage *storage = &plan->storage[tensor->id];
    expect(v, !storage->after || (storage->place == PLACE_SHARED && storage->after->place == PLACE_SHARED &&
                                  storage->after->offset == storage->offset && !storage->after->after),
           "a temporary is in a place that is none");
    for (int t = 0; t < plan->lowered->tensor_count && storage->after; t++) {
        const Storage *other = &plan->storage[t];
        if (other == storage || (other != storage->after && other->after != storage->after))
            continue;
        bool before = last_reader(v, plan->lowered->tensors[t]) < storage->launch;
        bool behind = last_reader(v, tensor) < other->launch;
        expect(v, before || behind, "two temporaries are in one place at the same time");
    }
}

static void verify_scratch(Verifier *v, const Scratch *scratch)
{
    int s = scratch->step->id;
    expect(v, s >= 0 && s < v->plan->step_count && v->plan->steps[s] == scratch->step, "a scratch belongs to no step");
    expect(v, scratch->name && scratch->offset && scratch->bytes, "a scratch has a name, an offset and bytes");
    bool of_parts = scratch->step->split && !scratch->step->contract && scratch->step->kind != STEP_RANK;    /* all of it; a product has panels, too, a ranking room to sort */
    expect(v, scratch->shared ? scratch->step->split != NULL : !of_parts, "a scratch is shared for the parts of a split step alone");
}

/* ---- sizes, with extents that are all the same ---- */

/* A part of the workspace that is in use as long as its launch runs, or all the time. */
typedef struct Piece {
    int launch;                   /* -1: shared */
    int64_t begin, end;
} Piece;

static int64_t sum_of(const Size *a, const Size *b, const SizeValues *values)
{
    Size sum = { .kind = SIZE_ADD, .a = a, .b = b };
    return size_evaluate(&sum, values);
}

static int compare_pieces(const void *a, const void *b)
{
    const Piece *x = a, *y = b;
    if (x->launch != y->launch)
        return x->launch < y->launch ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static void verify_pieces(Verifier *v, const SizeValues *values, Piece *pieces)
{
    const Plan *plan = v->plan;
    int count = 0;
    for (int t = 0; t < plan->lowered->tensor_count; t++) {
        const Storage *s = &plan->storage[t];
        if (is_stored(plan, t) && !s->over && !s->after)
            pieces[count++] = (Piece){ s->place == PLACE_BLOCK ? s->launch : -1, size_evaluate(s->offset, values),
                                       sum_of(s->offset, s->room ? s->room : s->bytes, values) };
        if (is_stored(plan, t) && s->room)
            expect(v, size_evaluate(s->bytes, values) <= size_evaluate((s->after ? s->after : s)->room, values),
                   "a place has no room for one of its temporaries");
    }
    for (int i = 0; i < plan->scratch_count; i++) {
        const Scratch *s = &plan->scratch[i];
        pieces[count++] = (Piece){ s->shared ? -1 : v->launch_of[s->step->id], size_evaluate(s->offset, values),
                                   sum_of(s->offset, s->bytes, values) };
    }
    qsort(pieces, (size_t)count, sizeof *pieces, compare_pieces);
    int64_t room = 0;
    for (int i = 0; i < count; i++) {
        bool next = i > 0 && pieces[i - 1].launch == pieces[i].launch;
        if (!next)
            room = size_evaluate(pieces[i].launch < 0 ? plan->shared : plan->launches[pieces[i].launch]->bytes, values);
        expect(v, pieces[i].begin >= 0 && pieces[i].end <= room,
               "a temporary reaches beyond its part of the workspace");
        expect(v, !next || pieces[i].begin >= pieces[i - 1].end, "two temporaries overlap");
    }
}

static int64_t axis_size(const Verifier *v, const Tensor *tensor, int axis, const SizeValues *values)
{
    const Storage *storage = &v->plan->storage[tensor->id];
    const Block *block = storage->place == PLACE_BLOCK ? launch_block_of(v->plan->launches[storage->launch], tensor->axes[axis]) : NULL;
    return block ? size_evaluate(block->tile, values) : values->extents[0];
}

/* The last element is the last of the bytes, unless they are too many to count; of padded rows there is less
 * than three lines to spare. */
static void verify_strides(Verifier *v, const Tensor *tensor, const SizeValues *values)
{
    const Storage *storage = &v->plan->storage[tensor->id];
    int64_t last = 0, bytes = size_evaluate(storage->bytes, values);
    if (bytes == SIZE_TOO_LARGE)
        return;
    for (int a = 0; a < tensor->rank; a++) {
        int64_t far, stride = size_evaluate(storage->stride[a], values);
        if (__builtin_mul_overflow(axis_size(v, tensor, a, values) - 1, stride, &far) ||
            __builtin_add_overflow(last, far, &last)) {
            last = -1;
            break;
        }
    }
    const Tensor *first = tensor;    /* whose place it has */
    while (v->plan->storage[first->id].over)
        first = v->plan->storage[first->id].over;
    bool padded = v->plan->storage[first->id].has_padding;
    int64_t spare = bytes - (last + 1) * (int64_t)dtype_size(tensor->dtype);
    expect(v, spare == 0 || (padded && (bytes == 0 || (spare > 0 && spare < 3 * CONTRACT_LINE))),
           "a temporary's strides and bytes disagree");
}

static void verify_sizes(Verifier *v, int64_t extent, Piece *pieces)
{
    const Plan *plan = v->plan;
    int64_t *extents = ARENA_ARRAY(v->arena, int64_t, plan->program->index_count + RANK_MAX);
    int64_t **shapes = ARENA_ARRAY(v->arena, int64_t *, plan->program->tensor_count);
    for (int i = 0; i < plan->program->index_count + RANK_MAX; i++)
        extents[i] = extent;
    for (int t = 0; t < plan->program->tensor_count; t++)
        shapes[t] = extents;
    SizeValues values = { extents, shapes, 3 };
    verify_pieces(v, &values, pieces);
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (is_stored(plan, t))
            verify_strides(v, plan->lowered->tensors[t], &values);
    for (int l = 0; l < plan->launch_count; l++)
        expect(v, size_evaluate(plan->launches[l]->bytes, &values) <= size_evaluate(plan->per_worker, &values),
               "a launch wants more than a worker has");
    Size workers = { .kind = SIZE_MUL, .a = &(Size){ .kind = SIZE_WORKERS }, .b = plan->per_worker };
    expect(v, size_evaluate(plan->workspace, &values) == sum_of(plan->shared, &workers, &values),
           "the workspace is the shared part and one part for each worker");
}

const char *plan_verify(const Plan *plan)
{
    static const int64_t samples[] = { 1, 7, 1000 };
    Arena *arena = plan->lowered->arena;
    int count = plan->step_count;
    Verifier v = { .plan = plan, .arena = arena, .launch_of = ARENA_ARRAY(arena, int, count),
                   .place_in = ARENA_ARRAY(arena, int, count), .turn = ARENA_ARRAY(arena, int, count),
                   .carries = ARENA_ARRAY(arena, bool, count) };
    expect(&v, plan->lanes > 0, "a vector has a lane");
    expect(&v, plan->shared && plan->per_worker && plan->workspace && plan->smallest, "a plan has a workspace");
    verify_steps(&v);
    if (!v.broken)
        verify_launches(&v);
    if (v.broken)
        return v.broken;
    verify_order(&v);
    for (int s = 0; s < count; s++) {
        verify_step(&v, plan->steps[s]);
        if (plan->steps[s]->contract)
            verify_contract(&v, plan->steps[s], plan->steps[s]->contract);
        if (plan->steps[s]->contract && plan->steps[s]->contract->parts)
            verify_contract(&v, plan->steps[s], plan->steps[s]->contract->parts);
    }
    for (int l = 0; l < plan->launch_count; l++) {
        verify_blocks(&v, plan->launches[l]);
        verify_sweep(&v, plan->launches[l]);
        verify_guess(&v, plan->launches[l]);
    }
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (plan->lowered->tensors[t]->home == plan->lowered->tensors[t])
            verify_storage(&v, plan->lowered->tensors[t]);
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (is_stored(plan, t))
            verify_shared(&v, plan->lowered->tensors[t]);
    for (int i = 0; i < plan->scratch_count; i++)
        verify_scratch(&v, &plan->scratch[i]);
    Piece *pieces = ARENA_ARRAY(arena, Piece, plan->lowered->tensor_count + plan->scratch_count);
    for (int i = 0; i < 3 && !v.broken; i++)
        verify_sizes(&v, samples[i], pieces);
    return v.broken;
}
