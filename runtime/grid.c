#include "grid.h"

#include <string.h>

enum { BAD_ARGUMENT = -2, BAD_WORKSPACE = -4, ALIGNMENT = 64, MAP_STEP = 16 };

/* The words of an argument of a given rank. */
static int words_of(const Argument *argument)
{
    int rank = argument->tensor ? argument->tensor->rank : 0;
    return argument->tensor ? 1 + 2 * (rank ? rank : 1) : 1;
}

/* ---- whatever the addresses are ---- */

/* Copies the args struct; axes of size 1 of operands get stride 0, so that they stretch. How many words it has. */
static int copy_args(const EmittedUnit *unit, const uint64_t *args, uint64_t *frame)
{
    int at = 0;
    for (int i = 0; i < unit->argument_count; i++) {
        const Argument *argument = &unit->arguments[i];
        int rank = argument->tensor ? argument->tensor->rank : 0, room = rank ? rank : 1;
        memcpy(frame + at, args + at, (size_t)words_of(argument) * sizeof *frame);
        for (int a = 0; a < rank && !argument->shape_only && !argument->is_output; a++)
            if (args[at + 1 + a] == 1)
                frame[at + 1 + room + a] = 0;
        at += words_of(argument);
    }
    return at;
}

/* The first word of an argument: its address. */
static int place_of(const EmittedUnit *unit, int number)
{
    int at = 0;
    for (int i = 0; i < number; i++)
        at += words_of(&unit->arguments[i]);
    return at;
}

/* As make_map() of templates/cuda/maps.cu. */
static void map_prepare(const EmittedUnit *unit, const GridMap *map, const SizeValues *values, const uint64_t *frame, GridMapped *mapped)
{
    const uint64_t *words = frame + place_of(unit, map->argument);
    int rank = unit->arguments[map->argument].tensor->rank;
    mapped->fits = true;
    for (int a = 0; a < map->rank; a++) {
        int64_t extent = size_evaluate(map->axis[a].extent, values), stride = 0;
        for (int own = 0; own < rank; own++)
            stride += map->axis[a].axes >> own & 1 ? (int64_t)words[1 + rank + own] : 0;
        if (extent == 1)
            stride = a == 0 ? 1 : MAP_STEP;
        if (extent < 1 || extent > (map->axis[a].most ? map->axis[a].most : INT32_MAX) || stride < 1 ||
            (a == 0 ? stride != 1 : stride * map->bytes % MAP_STEP != 0))
            mapped->fits = false;
        mapped->extents[a] = (uint64_t)extent;
        mapped->strides[a] = (uint64_t)stride * (uint64_t)map->bytes;
        mapped->box[a] = (uint32_t)size_evaluate(map->axis[a].box, values);
    }
}

static GridTurn turn_prepare(Arena *arena, const EmittedUnit *unit, const GridWork *work, const SizeValues *values, const uint64_t *frame)
{
    if (!work->kernel)
        return (GridTurn){ .offset = size_evaluate(work->offset, values), .bytes = size_evaluate(work->bytes, values) };
    GridMapped *maps = work->ring ? ARENA_ARRAY(arena, GridMapped, work->ring->map_count) : NULL;
    for (int m = 0; maps && m < work->ring->map_count; m++)
        map_prepare(unit, &work->ring->maps[m], values, frame, &maps[m]);
    return (GridTurn){ .tasks = size_evaluate(work->tasks, values), .maps = maps };
}

GridCall *grid_prepare(Arena *arena, const Compiled *compiled, const uint64_t *args, const SizeValues *values)
{
    const EmittedUnit *unit = compiled->unit;
    GridCall *call = ARENA_NEW(arena, GridCall);
    uint64_t *frame = ARENA_ARRAY(arena, uint64_t, (size_t)unit->frame_bytes / sizeof *frame + 1);
    GridTurn *turns = ARENA_ARRAY(arena, GridTurn, unit->work_count);
    call->compiled = compiled;
    call->shared = size_evaluate(compiled->plan->shared, values);
    call->own = size_evaluate(compiled->plan->per_worker, values);
    bool known = call->shared >= 0 && call->own >= 0;
    int at = copy_args(unit, args, frame);
    for (int w = 0; w < unit->frame_count; w++) {
        int64_t value = unit->frame[w] ? size_evaluate(unit->frame[w], values) : 0;
        known &= value >= 0;
        frame[at + w] = (uint64_t)value;
        call->workspace = unit->frame[w] ? call->workspace : at + w;
    }
    for (int w = 0; w < unit->work_count; w++)
        turns[w] = turn_prepare(arena, unit, &unit->work[w], values, frame);
    call->turns = turns;
    call->frame = frame;
    return known ? call : NULL;
}

/* ---- with addresses ---- */

/* As many blocks as there are own parts of the workspace for. */
static int64_t most_blocks(const GridCall *call, const void *workspace, size_t bytes)
{
    if (call->shared > INT64_MAX - call->own || (uint64_t)(call->shared + call->own) > bytes)
        return BAD_WORKSPACE;
    if (call->shared + call->own > 0 && (!workspace || (uintptr_t)workspace % ALIGNMENT))
        return BAD_WORKSPACE;
    uint64_t blocks = call->own ? (bytes - (uint64_t)call->shared) / (uint64_t)call->own : INT32_MAX;
    return blocks < INT32_MAX ? (int64_t)blocks : INT32_MAX;
}

/* Whether all arrays are aligned to their numbers; then their addresses are in the frame. */
static bool put_addresses(const EmittedUnit *unit, const uint64_t *args, uint64_t *frame)
{
    for (int i = 0, at = 0; i < unit->argument_count; at += words_of(&unit->arguments[i++])) {
        const Argument *argument = &unit->arguments[i];
        if (argument->tensor && !argument->shape_only && args[at] % dtype_size(dtype_real(argument->tensor->dtype)))
            return false;
        frame[at] = args[at];
    }
    return true;
}

/* Whether all operands have maps; then they are in the frame. */
static bool make_maps(const EmittedUnit *unit, const GridRing *ring, const GridMapped *maps, uint64_t *frame, const GridMachine *machine)
{
    enum { SWIZZLE_128 = 3, PROMOTION_256 = 3 };
    static const uint32_t steps[MAP_AXES_MAX] = { 1, 1, 1, 1, 1 };
    _Alignas(128) uint64_t made[RING_MAPS][16];
    for (int m = 0; m < ring->map_count; m++) {
        const GridMap *map = &ring->maps[m];
        uint64_t data = frame[place_of(unit, map->argument)];
        if (!machine->encode || !maps[m].fits || data % MAP_STEP ||
            machine->encode(made[m], map->type, (uint32_t)map->rank, (void *)(uintptr_t)data, maps[m].extents, maps[m].strides + 1,
                            maps[m].box, steps, 0, SWIZZLE_128, PROMOTION_256, 0))
            return false;
    }
    memcpy((char *)frame + ring->at, made, (size_t)ring->map_count * sizeof *made);
    return true;
}

static int launch_ring(const GridWork *work, int64_t tiles, uint64_t *frame, const GridMachine *machine)
{
    unsigned blocks = tiles < machine->multiprocessors ? (unsigned)tiles : machine->multiprocessors;
    const GridRing *ring = work->ring;
    return blocks ? machine->launch(machine->user, work->kernel, blocks, (unsigned)ring->threads, (unsigned)work->asked_bytes, frame) : 0;
}

static int do_work(const GridWork *work, const GridTurn *turn, int64_t most, int threads, char *workspace, uint64_t *frame,
                   const GridMachine *machine)
{
    if (!work->kernel)
        return machine->clear(machine->user, workspace + turn->offset, (size_t)turn->bytes);
    unsigned blocks = (unsigned)(turn->tasks < most ? turn->tasks : most);
    return turn->tasks > 0 ? machine->launch(machine->user, work->kernel, blocks, (unsigned)threads, (unsigned)work->asked_bytes, frame) : 0;
}

int grid_run(const GridCall *call, const uint64_t *args, void *workspace, size_t bytes, uint64_t *frame, const GridMachine *machine)
{
    const EmittedUnit *unit = call->compiled->unit;
    int64_t most = most_blocks(call, workspace, bytes);
    int threads = call->compiled->plan->target->grid->threads, status = 0;
    if (most < 0)
        return (int)most;
    memcpy(frame, call->frame, (size_t)unit->frame_bytes);
    if (!put_addresses(unit, args, frame))
        return BAD_ARGUMENT;
    frame[call->workspace] = (uintptr_t)workspace;
    for (int w = 0; w < unit->work_count && !status; w++) {
        const GridWork *work = &unit->work[w];
        bool mapped = work->ring && make_maps(unit, work->ring, call->turns[w].maps, frame, machine);
        if (mapped)
            status = launch_ring(work, call->turns[w].tasks, frame, machine);
        w += work->ring != NULL;    /* the next one is in its place */
        if (!mapped)
            status = do_work(&unit->work[w], &call->turns[w], most, threads, workspace, frame, machine);
    }
    return status;
}
