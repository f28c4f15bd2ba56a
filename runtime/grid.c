#include "grid.h"

#include <string.h>

enum { BAD_ARGUMENT = -2, BAD_SIZES = -3, BAD_WORKSPACE = -4, ALIGNMENT = 64 };

/* Copies the args struct; axes of size 1 of operands get stride 0, so that they stretch. How many words it has, or
 * BAD_ARGUMENT. */
static int copy_args(const EmittedUnit *unit, const uint64_t *args, uint64_t *frame)
{
    int at = 0;
    for (int i = 0; i < unit->argument_count; i++) {
        const Argument *argument = &unit->arguments[i];
        int rank = argument->tensor ? argument->tensor->rank : 0, room = rank ? rank : 1;
        int words = argument->tensor ? 1 + 2 * room : 1;
        memcpy(frame + at, args + at, (size_t)words * sizeof *frame);
        if (argument->tensor && !argument->shape_only) {
            if (args[at] % dtype_size(dtype_real(argument->tensor->dtype)))
                return BAD_ARGUMENT;
            for (int a = 0; a < rank && !argument->is_output; a++)
                if (args[at + 1 + a] == 1)
                    frame[at + 1 + room + a] = 0;
        }
        at += words;
    }
    return at;
}

/* As many blocks as there are own parts of the workspace for. */
static int64_t most_blocks(const Plan *plan, const SizeValues *values, const void *workspace, size_t bytes)
{
    int64_t shared = size_evaluate(plan->shared, values), own = size_evaluate(plan->per_worker, values);
    if (shared < 0 || own < 0)
        return BAD_SIZES;
    if (shared > INT64_MAX - own || (uint64_t)(shared + own) > bytes)
        return BAD_WORKSPACE;
    if (shared + own > 0 && (!workspace || (uintptr_t)workspace % ALIGNMENT))
        return BAD_WORKSPACE;
    uint64_t blocks = own ? (bytes - (uint64_t)shared) / (uint64_t)own : INT32_MAX;
    return blocks < INT32_MAX ? (int64_t)blocks : INT32_MAX;
}

static int do_work(const GridWork *work, const SizeValues *values, int64_t most, int threads, char *workspace, uint64_t *frame,
                   const GridMachine *machine)
{
    if (!work->kernel)
        return machine->clear(machine->user, workspace + size_evaluate(work->offset, values), (size_t)size_evaluate(work->bytes, values));
    int64_t tasks = size_evaluate(work->tasks, values);
    unsigned blocks = (unsigned)(tasks < most ? tasks : most);
    return tasks > 0 ? machine->launch(machine->user, work->kernel, blocks, (unsigned)threads, frame) : 0;
}

int grid_run(const Compiled *compiled, const uint64_t *args, const SizeValues *values, void *workspace, size_t bytes,
             uint64_t *frame, const GridMachine *machine)
{
    const EmittedUnit *unit = compiled->unit;
    int64_t most = most_blocks(compiled->plan, values, workspace, bytes);
    if (most < 0)
        return (int)most;
    int at = copy_args(unit, args, frame), status = 0;
    if (at < 0)
        return at;
    for (int w = 0; w < unit->frame_count; w++) {
        int64_t value = unit->frame[w] ? size_evaluate(unit->frame[w], values) : (int64_t)(intptr_t)workspace;
        if (unit->frame[w] && value < 0)
            return BAD_SIZES;
        frame[at + w] = (uint64_t)value;
    }
    for (int w = 0; w < unit->work_count && !status; w++)
        status = do_work(&unit->work[w], values, most, compiled->plan->target->grid->threads, workspace, frame, machine);
    return status;
}
