/* What statements make, element by element; a small scatter all at once. */
#include <stdlib.h>
#include <string.h>

#include "evaluate_walk.h"

const Output *walk_output(const Tensor *tensor)
{
    const Output *output = tensor->maker->outputs;
    while (output->tensor != tensor)
        output++;
    return output;
}

/* What `+=` adds to. */
static Value element_before(Evaluator *e, const Tensor *tensor, const int64_t *position)
{
    if (tensor->previous)
        return walk_element(e, tensor->previous, position);
    const Array *array = e->arrays ? e->arrays[tensor->id] : NULL;
    return array ? walk_load(array, position) : value_whole(0);
}

/* Puts the loops where a plain target has this element. False where it has none: beside the diagonal of an index that
 * stands twice. */
bool walk_to(Evaluator *e, const Output *output, const int64_t *position)
{
    bool found = true;
    for (int a = 0; a < output->tensor->rank; a++)
        e->at[output->positions[a].parts[0].index->id] = position[a];
    for (int a = 0; a < output->tensor->rank; a++)
        found &= e->at[output->positions[a].parts[0].index->id] == position[a];
    return found;
}

static bool is_scatter(const Output *output)
{
    for (int a = 0; a < output->tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]))
            return true;
    return false;
}

static void add_loop(IndexSet *loops, Index *index)
{
    if (!indices_have(loops->list, loops->count, index))
        loops->list[loops->count++] = index;
}

/* With room for all, until walk_give_back(). */
static IndexSet no_loops(Evaluator *e)
{
    return (IndexSet){ .list = walk_take(e, e->program->index_count, sizeof(Index *)) };
}

/* What a scatter adds up: of a sum that a kernel may add up with the others, its elements. */
static const Term *scattered_value(const Output *output)
{
    const Term *value = output->value;
    bool sums = (value->kind == TERM_CONTRACT || value->kind == TERM_REDUCE) && value->reduce.reduction == REDUCTION_SUM;
    return output->tensor->written && sums && value->dtype == output->tensor->dtype && value->dtype == value->reduce.argument->dtype
               ? value->reduce.argument : value;
}

/* The indices that say where in a scatter's target something goes: those that stand alone at an axis, or the others. */
static IndexSet target_loops(Evaluator *e, const Output *output, bool alone)
{
    IndexSet loops = no_loops(e);
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; position_is_plain(&output->positions[a]) == alone && k < output->positions[a].count; k++) {
            const PositionPart *part = &output->positions[a].parts[k];
            if (part->index)
                add_loop(&loops, part->index);
            for (int i = 0; part->gather && i < part->gather->rank; i++)
                add_loop(&loops, part->gather->indices[i]);
        }
    return loops;
}

static void add_loops(IndexSet *loops, Index *const *list, int count)
{
    for (int i = 0; i < count; i++)
        add_loop(loops, list[i]);
}

static void remove_loops(IndexSet *loops, const IndexSet *others)
{
    int kept = 0;
    for (int i = 0; i < loops->count; i++)
        if (!indices_have(others->list, others->count, loops->list[i]))
            loops->list[kept++] = loops->list[i];
    loops->count = kept;
}

/* Where an element stands in C order. */
static int64_t element_number(const Evaluator *e, const Tensor *tensor, const int64_t *position)
{
    int64_t number = 0;
    for (int a = 0; a < tensor->rank; a++)
        number = number * e->extents->shape[tensor->id][a] + position[a];
    return number;
}

/* Adds every contribution to its element. Where one with an open position goes is not known: then all are open. */
static void add_contributions(Evaluator *e, const Output *output, const IndexSet *loops, Sum *sums, int64_t count)
{
    int64_t at[RANK_MAX], steps = walk_count(e, loops->list, loops->count);
    const Term *added = scattered_value(output);
    bool known = true;
    walk_first(e, loops->list, loops->count);
    for (int64_t i = 0; i < steps; i++, walk_next(e, loops->list, loops->count)) {
        Value value;
        walk_term(e, added, &value);
        if (walk_positions(e, NULL, output->tensor, output->positions, at))
            sum_add(&sums[element_number(e, output->tensor, at)], &value);
        else
            known = false;
    }
    for (int64_t i = 0; i < count && !known; i++)
        sums[i].open = true;
}

static void scatter(Evaluator *e, const Output *output, const IndexSet *loops)
{
    const Tensor *tensor = output->tensor;
    Array shape = { .rank = tensor->rank };
    memcpy(shape.shape, e->extents->shape[tensor->id], (size_t)tensor->rank * sizeof *shape.shape);
    int64_t count = array_count(&shape), position[RANK_MAX] = { 0 };
    Scratch *scratch = e->scratch;
    Sum *sums = walk_take(e, count, sizeof *sums);
    for (int64_t i = 0; i < count; i++, array_next(&shape, position)) {
        sums[i].dtype = tensor->dtype;
        Value before = element_before(e, tensor, position);
        sum_add(&sums[i], &before);
    }
    add_contributions(e, output, loops, sums, count);
    Value *values = calloc((size_t)count + 1, sizeof *values);
    if (!values)
        walk_stop_without_memory(e);
    for (int64_t i = 0; i < count; i++)
        values[i] = sum_value(&sums[i]);
    e->scattered[tensor->id] = values;
    walk_give_back(e, scratch);
}

/* One element of a scatter by itself: the indices that stand alone at an axis are where it is, and of the others it takes those points
 * that go there. */
static Value gather(Evaluator *e, const Output *output, const IndexSet *places, const IndexSet *inner, const int64_t *position)
{
    const Tensor *tensor = output->tensor;
    const Term *added = scattered_value(output);
    int64_t at[RANK_MAX], steps = walk_count(e, places->list, places->count), each = walk_count(e, inner->list, inner->count);
    Sum sum = { .dtype = tensor->dtype };
    Value value = element_before(e, tensor, position);
    sum_add(&sum, &value);
    for (int a = 0; a < tensor->rank; a++)
        if (position_is_plain(&output->positions[a]))
            e->at[output->positions[a].parts[0].index->id] = position[a];
    walk_first(e, places->list, places->count);
    for (int64_t i = 0; i != steps; i++, walk_next(e, places->list, places->count)) {
        bool known = walk_positions(e, NULL, tensor, output->positions, at);
        sum.open |= !known;
        if (!known || memcmp(at, position, (size_t)tensor->rank * sizeof *at))
            continue;
        walk_first(e, inner->list, inner->count);
        for (int64_t k = 0; k != each; k++, walk_next(e, inner->list, inner->count)) {
            walk_term(e, added, &value);
            sum_add(&sum, &value);
        }
    }
    return sum_value(&sum);
}

enum { SCATTERED_POINTS = 1 << 23, SCATTERED_TIMES = 16 };

/* All at once where that are few points, or hardly more than one element has to look at. */
static Value scattered_element(Evaluator *e, const Output *output, const int64_t *position)
{
    const Tensor *tensor = output->tensor;
    const Term *added = scattered_value(output);
    Scratch *scratch = e->scratch;
    IndexSet alone = target_loops(e, output, true), places = target_loops(e, output, false), inner = no_loops(e), all = no_loops(e);
    add_loops(&inner, added->indices, added->rank);
    add_loops(&all, alone.list, alone.count);
    add_loops(&all, places.list, places.count);
    add_loops(&all, inner.list, inner.count);
    remove_loops(&places, &alone);
    remove_loops(&inner, &alone);
    remove_loops(&inner, &places);
    int64_t points = walk_count(e, all.list, all.count), looked_at = walk_count(e, places.list, places.count);
    bool at_once = e->scattered[tensor->id] || (points >= 0 && (points <= SCATTERED_POINTS || points / SCATTERED_TIMES <= looked_at));
    if (at_once && !e->scattered[tensor->id])
        scatter(e, output, &all);
    Value value = at_once ? e->scattered[tensor->id][element_number(e, tensor, position)] : gather(e, output, &places, &inner, position);
    walk_give_back(e, scratch);
    return value;
}

Value walk_element(Evaluator *e, const Tensor *tensor, const int64_t *position)
{
    const Output *output = walk_output(tensor);
    if (!tensor->maker->accumulate) {
        Value value;
        walk_to(e, output, position);
        walk_term(e, output->value, &value);
        return value;
    }
    if (is_scatter(output))
        return scattered_element(e, output, position);
    Sum sum = { .dtype = tensor->dtype };
    Value value = element_before(e, tensor, position);
    sum_add(&sum, &value);
    if (walk_to(e, output, position)) {
        walk_term(e, output->value, &value);
        sum_add(&sum, &value);
    }
    return sum_value(&sum);
}

