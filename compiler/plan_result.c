/* How a step's result is stored: past the caches, or in squares whose rows become columns. */
#include <math.h>

#include "planning.h"
#include "turn.h"

/* In tests of tiles a small result goes past the caches, too. Registers of tiles multiply so fast that storing through the caches
 * takes longer than reading from memory what was there: of more bytes than L2 has, none of which would stay in it. Where squares are
 * turned, each line is met again a vector at a time, and those of both sides are more than a cache holds. */
enum { PAST_TURNED = 16 << 20, PAST_FORCED = 256 };

/* Of a row of results from squares so much is stored at once where lines are cut, and how long the rows are for that at least, or to be
 * cut a vector at a time if they are narrow. */
enum { STRIP_BYTES = 1024, STRIP_LEAST = 512, NARROW_LEAST = 2048 };

static bool is_read(const Program *lowered, const Tensor *tensor)
{
    for (int i = 0; i < lowered->term_count; i++)
        if (lowered->terms[i]->kind == TERM_READ && lowered->terms[i]->read.tensor->home == tensor->home)
            return true;
    return false;
}

static bool has_unit(const Step *step, const Tensor *tensor)
{
    for (int u = 0; u < step->units.count; u++)
        if (step->units.list[u].tensor == tensor->home)
            return true;
    return false;
}

/* Whether a step stores vectors side by side as they come: pointwise, from a tile's registers, turned, or scanned along the lanes. */
static bool stores_vectors(const Step *step, const Tensor *tensor)
{
    const Term *value = step->statement->outputs[0].value;
    if (step->kind == STEP_SCAN)
        return has_unit(step, tensor) && indices_have(value->reduce.over, value->reduce.over_count, step->vector);
    if (step->turned)
        return tensor->home->origin != NULL;
    if (step->contract)
        return !step->contract->reduces && !step->contract->sums_turned;
    return step->root_count == 0 && step->vector_kept && has_unit(step, tensor);
}

/* From one point of an index to the next, where a tensor lies as C has it. */
static double bytes_apart(const Planner *planner, const Tensor *tensor, const Index *index)
{
    double bytes = (double)dtype_size(tensor->dtype);
    for (int a = tensor->rank - 1; a >= 0 && tensor->axes[a] != index; a--)
        bytes *= planner_extent(planner, tensor->axes[a]);
    return bytes;
}

static bool cuts_lines(double bytes)
{
    return fmod(bytes, CONTRACT_LINE) > 0;
}

static bool is_narrow(const Tensor *tensor)
{
    return dtype_size(tensor->dtype) < dtype_size(register_dtype(tensor->dtype));
}

/* Whether much of what squares are turned to would be parts of lines, which are waited for past the caches: many small problems, whose rows
 * end within lines, or short rows of a map. */
static bool is_in_parts(const Planner *planner, const Step *step, const Tensor *tensor)
{
    if ((!step->turned && !step->crossed) || planner->hints->nests == NESTS_TILED)
        return false;
    double row = step->turned ? bytes_apart(planner, tensor, step->vector)
                              : planner_extent(planner, step->vector) * (double)dtype_size(tensor->dtype);
    return cuts_lines(row) && (step->turned || row < (is_narrow(tensor) ? NARROW_LEAST : STRIP_LEAST));
}

/* How many numbers of a row are turned together: where not all rows of a square begin lines at the same number, or a line is more than a
 * vector and others' rows are read, too. Narrow ones are made wider a row at a time, for which a square is enough. */
static int strip_of(const Planner *planner, const Step *step, const Tensor *tensor, bool known)
{
    bool halves = planner->plan->target->vector_bytes < CONTRACT_LINE && !step->crossed_alone;
    bool strip = step->crossed && !is_narrow(tensor) && (!known || halves || cuts_lines(bytes_apart(planner, tensor, step->crossed)));
    return strip ? STRIP_BYTES / (int)dtype_size(tensor->dtype) : 0;
}

/* A result of the caller's that is stored once, and that nothing reads: where it is large, a line of it need not be read
 * into the cache before. */
void plan_result(Planner *planner, Step *step)
{
    Arena *arena = planner->arena;
    const Tensor *tensor = step->statement->outputs[0].tensor;
    bool may = (step->kind == STEP_STORE || step->kind == STEP_SCAN) && !step->added && step->statement->output_count == 1 &&
               !step->statement->accumulate && !planner->plan->target->grid;
    if (!may || !stores_vectors(step, tensor) || is_read(planner->plan->lowered, tensor) ||
        dtype_kind(tensor->dtype) == KIND_COMPLEX || tensor->dtype == DTYPE_BOOL || tensor->dtype == DTYPE_I8 ||
        tensor->dtype == DTYPE_I16)
        return;
    double bytes = (double)dtype_size(tensor->dtype);
    const Size *size = size_constant(arena, (int64_t)bytes);
    bool known = planner->hints->extents != NULL;
    for (int a = 0; a < tensor->rank; a++) {
        size = size_op(arena, SIZE_MUL, size, size_extent(arena, tensor->axes[a]->origin));
        known = known && planner->hints->extents->of[tensor->axes[a]->origin->id] >= 0;
        bytes *= planner_extent(planner, tensor->axes[a]);
    }
    step->past = planner->hints->nests == NESTS_TILED ? PAST_FORCED
               : step->contract && step->contract->tile->dot ? planner->plan->target->l2_bytes : step->crossed ? PAST_TURNED : RESULT_PAST;
    if (known && (bytes <= step->past || is_in_parts(planner, step, tensor)))
        return;
    step->result = size;
    step->strip = strip_of(planner, step, tensor, known);
    if (step->contract)
        plan_contract_past(planner, step->contract);
}

/* Whether a step only copies between a tensor of the caller's and a temporary, at plain positions; what it reads may become wider. */
static const Tensor *copied_tensor(const Step *step, const Position **positions)
{
    const Output *output = &step->statement->outputs[0];
    const Term *read = turn_read(output->value);
    if (!read || output->value->dtype != output->tensor->dtype)
        return NULL;
    bool in = read->read.tensor->home->origin != NULL;
    if (in == (output->tensor->home->origin != NULL))
        return NULL;
    *positions = in ? read->read.positions : output->positions;
    return in ? read->read.tensor : output->tensor;
}

/* A statement that is turned has its lanes along that index. What copies for it takes squares, with the caller's side along
 * the index whose neighbours lie together there. */
void plan_turned(const Planner *planner, Step *step)
{
    const Index *along = step->statement->turned;
    const Position *positions;
    for (int i = 0; i < step->loop_count; i++)
        if (step->loops[i] == along)
            step->vector = step->loops[i];
    step->vector_kept = true;
    const Tensor *tensor = copied_tensor(step, &positions);
    for (int a = 0; tensor && a < tensor->rank; a++) {
        Index *index = positions[a].parts[0].index;
        if (index != along && (!step->turned || planner_stride(planner, tensor, a) == 1))
            step->turned = index;
    }
}
