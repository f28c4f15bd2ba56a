/* What statements make, element by element; a scatter all at once. */
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

static void add_loop(Index **loops, int *count, Index *index)
{
    if (!indices_have(loops, *count, index))
        loops[(*count)++] = index;
}

/* What a scatter adds up: of a sum that a kernel may add up with the others, its elements. */
static const Term *scattered_value(const Output *output)
{
    const Term *value = output->value;
    bool sums = (value->kind == TERM_CONTRACT || value->kind == TERM_REDUCE) && value->reduce.reduction == REDUCTION_SUM;
    return output->tensor->written && sums && value->dtype == output->tensor->dtype && value->dtype == value->reduce.argument->dtype
               ? value->reduce.argument : value;
}

/* The indices that a scatter runs over: the value's, and those that only the target has. */
static int scatter_loops(const Output *output, const Term *value, Index **loops)
{
    int count = 0;
    for (int i = 0; i < value->rank; i++)
        add_loop(loops, &count, value->indices[i]);
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++) {
            const PositionPart *part = &output->positions[a].parts[k];
            if (part->index)
                add_loop(loops, &count, part->index);
            for (int i = 0; part->gather && i < part->gather->rank; i++)
                add_loop(loops, &count, part->gather->indices[i]);
        }
    return count;
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
static void add_contributions(Evaluator *e, const Output *output, Sum *sums, int64_t count)
{
    int64_t at[RANK_MAX];
    Index **loops = walk_take(e, e->program->index_count, sizeof *loops);
    const Term *added = scattered_value(output);
    int loop_count = scatter_loops(output, added, loops);
    int64_t steps = walk_count(e, loops, loop_count);
    bool known = true;
    walk_first(e, loops, loop_count);
    for (int64_t i = 0; i < steps; i++, walk_next(e, loops, loop_count)) {
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

static void scatter(Evaluator *e, const Output *output)
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
    add_contributions(e, output, sums, count);
    Value *values = calloc((size_t)count + 1, sizeof *values);
    if (!values)
        walk_stop_without_memory(e);
    for (int64_t i = 0; i < count; i++)
        values[i] = sum_value(&sums[i]);
    e->scattered[tensor->id] = values;
    walk_give_back(e, scratch);
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
    if (is_scatter(output)) {
        if (!e->scattered[tensor->id])
            scatter(e, output);
        return e->scattered[tensor->id][element_number(e, tensor, position)];
    }
    Sum sum = { .dtype = tensor->dtype };
    Value value = element_before(e, tensor, position);
    sum_add(&sum, &value);
    if (walk_to(e, output, position)) {
        walk_term(e, output->value, &value);
        sum_add(&sum, &value);
    }
    return sum_value(&sum);
}

