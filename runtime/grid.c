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

/* The words of an argument in the frame: its address, its shape, its strides. */
static const uint64_t *argument_at(const EmittedUnit *unit, const uint64_t *frame, int number)
{
    for (int i = 0; i < number; i++) {
        int rank = unit->arguments[i].tensor ? unit->arguments[i].tensor->rank : 0;
        frame += unit->arguments[i].tensor ? 1 + 2 * (rank ? rank : 1) : 1;
    }
    return frame;
}

/* As make_map() of templates/cuda/maps.cu. */
static bool make_map(const EmittedUnit *unit, const GridMap *map, const SizeValues *values, const uint64_t *frame, void *made,
                     const GridMachine *machine)
{
    enum { STEP = 16, SWIZZLE_128 = 3, PROMOTION_256 = 3 };
    const uint64_t *words = argument_at(unit, frame, map->argument);
    int rank = unit->arguments[map->argument].tensor->rank;
    uint64_t extents[MAP_AXES_MAX], strides[MAP_AXES_MAX];
    uint32_t box[MAP_AXES_MAX], steps[MAP_AXES_MAX];
    for (int a = 0; a < map->rank; a++) {
        int64_t extent = size_evaluate(map->axis[a].extent, values), stride = 0;
        for (int own = 0; own < rank; own++)
            stride += map->axis[a].axes >> own & 1 ? (int64_t)words[1 + rank + own] : 0;
        if (extent == 1)
            stride = a == 0 ? 1 : STEP;
        if (extent < 1 || extent > (map->axis[a].most ? map->axis[a].most : INT32_MAX) || stride < 1 || (a == 0 ? stride != 1 : stride * map->bytes % STEP != 0))
            return false;
        extents[a] = (uint64_t)extent;
        strides[a] = (uint64_t)(stride * map->bytes);
        box[a] = (uint32_t)size_evaluate(map->axis[a].box, values);
        steps[a] = 1;
    }
    return words[0] % STEP == 0 && !machine->encode(made, map->type, (uint32_t)map->rank, (void *)(uintptr_t)words[0], extents, strides + 1, box,
                                                    steps, 0, SWIZZLE_128, PROMOTION_256, 0);
}

/* Whether all operands have maps; then they are in the frame. */
static bool make_maps(const EmittedUnit *unit, const GridRing *ring, const SizeValues *values, uint64_t *frame, const GridMachine *machine)
{
    _Alignas(64) uint64_t made[RING_MAPS][16];
    for (int m = 0; m < ring->map_count; m++)
        if (!machine->encode || !make_map(unit, &ring->maps[m], values, frame, made[m], machine))
            return false;
    memcpy((char *)frame + ring->at, made, (size_t)ring->map_count * sizeof *made);
    return true;
}

static int launch_ring(const GridWork *work, const SizeValues *values, uint64_t *frame, const GridMachine *machine)
{
    int64_t tiles = size_evaluate(work->tasks, values);
    unsigned blocks = tiles < machine->multiprocessors ? (unsigned)tiles : machine->multiprocessors;
    return machine->launch(machine->user, work->kernel, blocks, (unsigned)work->ring->threads, (unsigned)work->ring->shared_bytes, frame);
}

static int do_work(const GridWork *work, const SizeValues *values, int64_t most, int threads, char *workspace, uint64_t *frame,
                   const GridMachine *machine)
{
    if (!work->kernel)
        return machine->clear(machine->user, workspace + size_evaluate(work->offset, values), (size_t)size_evaluate(work->bytes, values));
    int64_t tasks = size_evaluate(work->tasks, values);
    unsigned blocks = (unsigned)(tasks < most ? tasks : most);
    return tasks > 0 ? machine->launch(machine->user, work->kernel, blocks, (unsigned)threads, 0, frame) : 0;
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
    for (int w = 0; w < unit->work_count && !status; w++) {
        const GridWork *work = &unit->work[w];
        bool mapped = work->ring && make_maps(unit, work->ring, values, frame, machine);
        w += work->ring != NULL;    /* the next one is in its place */
        status = mapped ? launch_ring(work, values, frame, machine)
                        : do_work(&unit->work[w], values, most, compiled->plan->target->grid->threads, workspace, frame, machine);
    }
    return status;
}
