/* Where temporaries are, how much of them a unit of work makes, and what workspace that comes to. */
#include <math.h>

#include "planning.h"

enum {
    TASKS_MAX = 1024,
    TASK_WORK = 65536,            /* operations of a task, so that waking a thread for it pays */
    ALIGNMENT = 64,
    TILES_LEAST = 32,             /* into so many a block is cut, so that there is work for all workers */
    WORKERS_GUESS = 8             /* between whom a memory budget is divided */
};

/* How many points a step visits: those of its term with the most indices, which are its loops. */
static const Size *points_of(Planner *planner, const Step *step, double *guess)
{
    const Program *lowered = planner->plan->lowered;
    const Term *widest = NULL;
    *guess = -1;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        double points = 1;
        for (int k = 0; k < term->rank; k++)
            points *= planner_extent(planner, term->indices[k]);
        if (term->statement == step->statement->id && points > *guess) {
            widest = term;
            *guess = points;
        }
    }
    const Size *points = size_constant(planner->arena, 1);
    for (int k = 0; widest && k < widest->rank; k++)
        points = size_op(planner->arena, SIZE_MUL, points, size_extent(planner->arena, widest->indices[k]->origin));
    return points;
}

/* As many tasks as give each some work, by the step that works most. */
static const Size *tasks_of(Planner *planner, const Launch *launch)
{
    Arena *arena = planner->arena;
    const Size *tasks = size_constant(arena, 1);
    double most = -1;
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        double guess, work = step_work(planner, step);
        const Size *points = points_of(planner, step, &guess);
        for (int i = 0; i < step->loop_count; i++) {
            double extent = planner_extent(planner, step->loops[i]);
            work *= step->loops[i] == step->vector ? ceil(extent / planner->plan->lanes) : extent;
        }
        if (work <= most)
            continue;
        double enough = fmin(fmax(TASK_WORK * fmax(guess, 1) / fmax(work, 1), 64), 1 << 20);     /* points for one task */
        tasks = size_op(arena, SIZE_CEIL_DIV, points, size_constant(arena, (int64_t)1 << ilogb(enough)));
        most = work;
    }
    return size_op(arena, SIZE_MIN, size_op(arena, SIZE_MAX_OF, tasks, size_constant(arena, 1)), size_constant(arena, TASKS_MAX));
}

static void cut(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    const Size *units = size_constant(arena, 1);
    for (int b = 0; b < launch->block_count; b++)
        units = size_op(arena, SIZE_MUL, units,
                        size_op(arena, SIZE_CEIL_DIV, launch->blocks[b].extent, launch->blocks[b].tile));
    Step *last = launch->steps[launch->step_count - 1];
    const Size *most = last->split && launch->block_count == 1 ? last->parts
                       : planner->plan->target->grid ? size_constant(arena, INT32_MAX) : tasks_of(planner, launch);
    launch->units = size_named(arena, arena_format(arena, "units_%d", launch->id + 1), units);
    launch->tasks = most;
}

static int launch_of(const Plan *plan, const Statement *statement)
{
    for (int l = 0; l < plan->launch_count; l++)
        for (int s = 0; s < plan->launches[l]->step_count; s++)
            if (plan->launches[l]->steps[s]->statement == statement)
                return l;
    return -1;
}

int plan_last_reader(const Plan *plan, const Tensor *tensor)
{
    int last = launch_of(plan, tensor->maker);
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor)
            continue;
        int launch = launch_of(plan, plan->lowered->statements[term->statement]);
        last = launch > last ? launch : last;
    }
    return last;
}

static const Step *step_of(const Plan *plan, int statement)
{
    for (int s = 0; s < plan->step_count; s++)
        if (plan->steps[s]->statement->id == statement)
            return plan->steps[s];
    return NULL;
}

/* Whether all readers of a temporary run in the launch that makes it. */
static bool stays_inside(const Plan *plan, const Tensor *tensor, int launch)
{
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind == TERM_READ && term->read.tensor == tensor &&
            launch_of(plan, plan->lowered->statements[term->statement]) != launch)
            return false;
    }
    return plan->launches[launch]->block_count > 0 && !step_of(plan, tensor->maker->id)->scatters;
}

/* How much of a block is stored: a tile of each index, of a sweep's alone, or one point. */
typedef enum { PART_TILES, PART_SWEEP, PART_POINT } Part;

/* Whether the points along an axis have the same place, one after the other. */
static bool is_at_point(const Plan *plan, const Tensor *tensor, const Storage *storage, int axis)
{
    const Launch *launch = storage->at_point ? plan->launches[storage->launch] : NULL;
    return launch && launch_block_of(launch, tensor->axes[axis]) == &launch->blocks[launch->block_count - 1];
}

/* How long an axis is in storage. */
static const Size *axis_size(Planner *planner, const Storage *storage, const Tensor *tensor, int axis, Part part)
{
    const Plan *plan = planner->plan;
    const Block *block = storage->place == PLACE_BLOCK ? launch_block_of(plan->launches[storage->launch], tensor->axes[axis]) : NULL;
    if (is_at_point(plan, tensor, storage, axis))
        return size_constant(planner->arena, 1);
    if (block)
        return part == PART_TILES || (part == PART_SWEEP && block == plan->launches[storage->launch]->sweep)
                   ? block->tile : size_constant(planner->arena, 1);
    return tensor->axes[axis] ? size_extent(planner->arena, tensor->axes[axis]->origin)
                              : size_axis(planner->arena, tensor, axis);
}

static void place(Planner *planner, const Tensor *tensor)
{
    Plan *plan = planner->plan;
    Storage *storage = &plan->storage[tensor->id];
    bool shared = tensor->previous != NULL;
    if (!tensor->maker || tensor->origin) {
        storage->place = PLACE_CALLER;
        return;
    }
    storage->launch = launch_of(plan, tensor->maker);
    bool passes = plan->launches[storage->launch]->fuse || step_of(plan, tensor->maker->id)->is_passed_on;
    storage->place = passes                                                     ? PLACE_REGISTERS
                     : !shared && stays_inside(plan, tensor, storage->launch) ? PLACE_BLOCK : PLACE_SHARED;
}

/* An odd number of lines, so that rows do not fall into the same sets of a cache. */
static const Size *odd_lines(Planner *planner, const Size *elements, Dtype dtype)
{
    const int64_t line = ALIGNMENT / (int64_t)dtype_size(dtype);
    const Size *two = size_constant(planner->arena, 2 * line), *whole = size_op(planner->arena, SIZE_ADD, elements, size_constant(planner->arena, line - 1));
    const Size *pairs = size_op(planner->arena, SIZE_MUL, size_op(planner->arena, SIZE_DIV, whole, two), two);
    return size_op(planner->arena, SIZE_ADD, pairs, size_constant(planner->arena, line));
}

/* Whether a tiled product reads it as its rows, where they lie. */
static bool is_rows(const Plan *plan, const Tensor *tensor)
{
    for (int s = 0; s < plan->step_count; s++) {
        const Contract *c = plan->steps[s]->contract;
        if (c && c->in_place && c->left->kind == TERM_READ && c->left->read.tensor == tensor)
            return true;
    }
    return false;
}

static void lay_out(Planner *planner, const Tensor *tensor, Storage *storage, Part part)
{
    int inner = step_inner_axis(step_of(planner->plan, tensor->maker->id), tensor);
    const Size *stride = size_constant(planner->arena, 1);
    storage->stride = ARENA_ARRAY(planner->arena, const Size *, tensor->rank);
    if (tensor->rank > 0) {
        storage->stride[inner] = stride;
        stride = axis_size(planner, storage, tensor, inner, part);
    }
    /* A tiled product's columns lie together, so that all of them are one vector. */
    const Contract *contract = step_of(planner->plan, tensor->maker->id)->contract;
    int columns = contract ? contract->columns.count : 1;
    storage->has_padding = tensor->rank > columns && (contract || is_rows(planner->plan, tensor));
    for (int pass = contract ? 0 : 1; pass < 2; pass++) {
        if (storage->has_padding && pass == 1)
            stride = odd_lines(planner, stride, tensor->dtype);
        if (storage->has_padding && pass == 1 && part == PART_TILES)
            stride = size_named(planner->arena, arena_format(planner->arena, "row_%s", tensor->label), stride);
        for (int a = tensor->rank - 1; a >= 0; a--) {
            bool column = contract && indices_have(contract->columns.list, contract->columns.count, tensor->axes[a]);
            if (a == inner || (contract && column != (pass == 0)))
                continue;
            storage->stride[a] = stride;
            stride = size_op(planner->arena, SIZE_MUL, stride, axis_size(planner, storage, tensor, a, part));
        }
    }
    for (int a = 0; a < tensor->rank; a++)
        if (is_at_point(planner->plan, tensor, storage, a))
            storage->stride[a] = size_constant(planner->arena, 0);
    storage->bytes = size_op(planner->arena, SIZE_MUL, stride, size_constant(planner->arena, (int64_t)dtype_size(tensor->dtype)));
}

/* ---- lists ---- */

/* The best values so far, and their places, of a ranking on a grid: a list for each thread of a block. */
static bool has_lists(const Planner *planner, const Step *step)
{
    return step->kind == STEP_RANK && planner->plan->target->grid;
}

static int list_ranks(const Planner *planner, const Step *step, Scratch lists[2])
{
    const Term *reduce = step->statement->outputs[0].value;
    int64_t ranks = (int64_t)reduce->reduce.parameter * planner->plan->target->grid->threads;
    lists[0] = (Scratch){ .name = "ranked", .dtype = register_dtype(reduce->reduce.argument->dtype) };
    lists[1] = (Scratch){ .name = "ranked_place", .dtype = DTYPE_I64 };
    for (int i = 0; i < 2; i++) {
        lists[i].step = step;
        lists[i].name = arena_format(planner->arena, "%s_%d", lists[i].name, step->id + 1);
        lists[i].bytes = size_constant(planner->arena, ranks * (int64_t)dtype_size(lists[i].dtype));
    }
    return 2;
}

static void reserve_ranks(Planner *planner, const Step *step, const Size **end)
{
    Plan *plan = planner->plan;
    Scratch lists[2];
    for (int i = 0, n = list_ranks(planner, step, lists); i < n; i++) {
        lists[i].offset = planner_reserve(planner, end, lists[i].name, lists[i].bytes);
        ARENA_APPEND(planner->arena, plan->scratch, plan->scratch_count, lists[i]);
    }
}

/* What a launch's rankings take of the worker's part, whatever its tiles. */
static const Size *ranks_bytes(Planner *planner, const Launch *launch)
{
    const Size *end = size_constant(planner->arena, 0);
    Scratch lists[2];
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        if (step->kind == STEP_RANK && !has_lists(planner, step))
            end = size_op(planner->arena, SIZE_ADD, end, rank_bytes(planner, step, size_constant(planner->arena, 0)));
        for (int i = 0, n = has_lists(planner, step) ? list_ranks(planner, step, lists) : 0; i < n; i++)
            end = size_op(planner->arena, SIZE_ADD, end, size_align(planner->arena, lists[i].bytes, ALIGNMENT));
    }
    return end;
}

/* ---- tiles of launches that have temporaries ---- */

/* Whether a tensor is stored a block at a time by a launch, in a place of its own. */
bool plan_is_temporary_of(const Plan *plan, const Tensor *tensor, int launch)
{
    const Storage *storage = &plan->storage[tensor->id];
    return tensor->maker && tensor->home == tensor && storage->place == PLACE_BLOCK && storage->launch == launch && !storage->over;
}

/* The block along which a step has its lanes; -1: none. */
static int lanes_block(const Launch *launch, int s)
{
    int b = launch->steps[s]->vector ? launch->block_count - 1 : -1;
    while (b >= 0 && launch->blocks[b].of_step[s] != launch->steps[s]->vector)
        b--;
    return b;
}

static bool has_lanes(const Launch *launch, int b)
{
    for (int s = 0; s < launch->step_count; s++)
        if (lanes_block(launch, s) == b)
            return true;
    return false;
}

/* So many points of a block some step takes together, whose others they meet; 1: none does. Lanes along a block need its points more. */
static int points_met(const Launch *launch, int b)
{
    int most = 1;
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->met && launch->steps[s]->met == launch->blocks[b].of_step[s] && launch->steps[s]->meets > most && lanes_block(launch, s) < 0)
            most = launch->steps[s]->meets;
    return most;
}

/* The block that is worth a tile: the one whose points meet those of other loops, or along which some step has its lanes, else the innermost. */
static int tiled_block(const Launch *launch)
{
    for (int lanes = 0; lanes < 2; lanes++)
        for (int b = launch->block_count - 1; b >= 0; b--)
            if (lanes ? has_lanes(launch, b) : points_met(launch, b) > 1)
                return b;
    return launch->block_count - 1;
}

/* A temporary's bytes for one point of every block, or of all but a sweep's. */
static const Size *slice_bytes(Planner *planner, const Tensor *tensor, Part part)
{
    Storage slice = planner->plan->storage[tensor->id];
    lay_out(planner, tensor, &slice, part);
    return slice.bytes;
}

/* As many whole vectors of turned problems as stay in the first cache. */
static const Size *tile_turned(Planner *planner, const Size *slice)
{
    Arena *arena = planner->arena;
    const Size *vector = size_constant(arena, planner->plan->lanes);
    const Size *room = size_constant(arena, planner->plan->target->l1_bytes / 2);
    const Size *vectors = size_op(arena, SIZE_DIV, room, size_op(arena, SIZE_MUL, slice, vector));
    return size_op(arena, SIZE_MUL, size_op(arena, SIZE_MAX_OF, vectors, size_constant(arena, 1)), vector);
}

/* The bytes of all temporaries of a launch, or of those `at_point`, and how many there are. */
static const Size *slices(Planner *planner, const Launch *launch, Part part, bool at_point, int *count)
{
    const Plan *plan = planner->plan;
    const Size *sum = at_point ? size_constant(planner->arena, 0) : rank_kept_bytes(planner, launch);
    *count = 0;
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (plan_is_temporary_of(plan, plan->lowered->tensors[t], launch->id)) {
            ++*count;
            if (plan->storage[t].at_point == at_point)
                sum = size_op(planner->arena, SIZE_ADD, sum, slice_bytes(planner, plan->lowered->tensors[t], part));
        }
    return sum;
}

/* ---- temporaries of one point ---- */

/* Whose place a temporary takes in the end. */
static const Tensor *root_of(const Plan *plan, const Tensor *tensor)
{
    while (plan->storage[tensor->id].over)
        tensor = plan->storage[tensor->id].over;
    return tensor;
}

/* Whether all steps that make or read it, or what takes its place, follow each other for each point of the last block. */
static bool stays_at_point(const Plan *plan, const Launch *launch, const Tensor *tensor)
{
    int from = launch->step_count, to = -1;
    for (int s = 0; s < launch->step_count; s++)
        if (root_of(plan, launch->steps[s]->statement->outputs[0].tensor) == tensor) {
            from = s < from ? s : from;
            to = s;
        }
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind != TERM_READ || root_of(plan, term->read.tensor) != tensor)
            continue;
        if (term->read.carried)
            return false;
        for (int s = 0; s < launch->step_count; s++)
            if (launch->steps[s]->statement->id == term->statement)
                to = s > to ? s : to;
    }
    return launch_goes_by_points(launch, from, to);
}

static void find_at_point(Planner *planner, const Launch *launch)
{
    const Plan *plan = planner->plan;
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (!plan->target->grid && plan_is_temporary_of(plan, plan->lowered->tensors[t], launch->id))
            plan->storage[t].at_point = stays_at_point(plan, launch, plan->lowered->tensors[t]);
}

/* A sweep's block takes no more than the room, either. */
static void tile_sweep(Planner *planner, Launch *launch, const Size *room)
{
    Arena *arena = planner->arena;
    int count;
    Block *sweep = ARENA_NEW(arena, Block);
    *sweep = *launch->sweep;
    const Size *point = size_op(arena, SIZE_ADD, slices(planner, launch, PART_POINT, false, &count), slices(planner, launch, PART_POINT, true, &count));
    const Size *tile = size_op(arena, SIZE_MIN, sweep->tile->a, size_op(arena, SIZE_DIV, room, point));
    sweep->tile = size_named(arena, sweep->tile->name, size_op(arena, SIZE_MAX_OF, tile, size_constant(arena, 1)));
    launch->sweep = sweep;
}

/* Of a tile's points along the lanes those that are whole vectors, if there is one. Where nobody gave a budget there is, if that does not
 * take too much: a column at a time takes a line of memory for each number. */
static const Size *whole_vectors(Planner *planner, const Size *points, const Size *slice, const Size *lanes)
{
    enum { LANES_ROOM = 32 << 20 };
    Arena *arena = planner->arena;
    const Size *whole = size_op(arena, SIZE_MUL, size_op(arena, SIZE_DIV, points, lanes), lanes);
    const Size *few = planner->plan->memory ? points : size_op(arena, SIZE_DIV, size_constant(arena, LANES_ROOM), slice);
    return size_op(arena, SIZE_MAX_OF, whole, size_op(arena, SIZE_MIN, few, lanes));
}

/* Into how many tiles a block is cut, so that all blocks together have so many: the others are points. */
static const Size *share_of_tiles(Planner *planner, const Launch *launch, int b, int tiles)
{
    Arena *arena = planner->arena;
    const Size *others = size_constant(arena, 1);
    for (int i = 0; i < launch->block_count; i++)
        others = i == b ? others : size_op(arena, SIZE_MUL, others, launch->blocks[i].extent);
    others = size_op(arena, SIZE_MAX_OF, others, size_constant(arena, 1));
    return size_op(arena, SIZE_CEIL_DIV, size_constant(arena, tiles), others);
}

/* As many points of one block as fill the room that a worker has for temporaries, one at the least. */
static void tile_together(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    const Plan *plan = planner->plan;
    const Size *room = size_constant(arena, plan->target->l2_bytes / 2);
    int count, tiled = tiled_block(launch), tiles = plan->target->grid ? plan->target->grid->blocks : TILES_LEAST;
    find_at_point(planner, launch);
    const Size *slice = slices(planner, launch, PART_SWEEP, false, &count);
    if (plan->memory) {
        const Size *left = size_op(arena, SIZE_SUB, size_constant(arena, plan->memory), plan->shared);
        left = size_op(arena, SIZE_SUB, left, ranks_bytes(planner, launch));
        room = size_op(arena, SIZE_MIN, room, size_op(arena, SIZE_DIV, left, size_constant(arena, WORKERS_GUESS)));
    }
    room = size_op(arena, SIZE_SUB, room, size_constant(arena, ALIGNMENT * count));
    if (launch->sweep) {
        tile_sweep(planner, launch, room);
        slice = slices(planner, launch, PART_SWEEP, false, &count);
    }
    slice = size_is_constant(slice, 0) ? size_constant(arena, 1) : slice;    /* nothing has room for several points */
    room = size_op(arena, SIZE_SUB, room, slices(planner, launch, PART_SWEEP, true, &count));
    for (int b = 0; b < launch->block_count; b++) {
        Block *block = &launch->blocks[b];
        const Size *least = size_constant(arena, has_lanes(launch, b) && plan->lanes ? plan->lanes : points_met(launch, b));
        const Size *share = plan->target->grid ? size_constant(arena, tiles) : share_of_tiles(planner, launch, b, tiles);
        const Size *fair = size_op(arena, SIZE_MAX_OF, least, size_op(arena, SIZE_CEIL_DIV, block->extent, share));
        const Size *tile = size_op(arena, SIZE_DIV, room, slice);
        if (!plan->target->grid && !size_is_constant(least, 1))
            tile = whole_vectors(planner, tile, slice, least);
        tile = size_op(arena, SIZE_MIN, tile, fair);
        if (launch->steps[launch->step_count - 1]->statement->turned)
            tile = tile_turned(planner, slice);
        tile = size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_MIN, tile, block->extent), size_constant(arena, 1));
        block->tile = b == tiled ? size_named(arena, arena_format(arena, "block_%d", launch->id + 1), tile)
                                 : size_constant(arena, 1);
    }
}

/* ---- the workspace ---- */

const Size *planner_reserve(Planner *planner, const Size **end, const char *name, const Size *bytes)
{
    const Size *offset = *end;
    if (offset->kind != SIZE_CONSTANT && name)
        offset = size_named(planner->arena, arena_format(planner->arena, "at_%s", name), offset);
    *end = size_op(planner->arena, SIZE_ADD, offset, size_align(planner->arena, bytes, ALIGNMENT));
    return offset;
}

/* The states of a split step's parts: an array for each component of each of its reductions. */
static void reserve_parts(Planner *planner, const Step *step)
{
    Arena *arena = planner->arena;
    Plan *plan = planner->plan;
    const Size *points = step->parts;
    for (int i = 0; i < step->loop_count; i++)
        points = size_op(arena, SIZE_MUL, points, size_extent(arena, step->loops[i]->origin));
    if (step->kind == STEP_RANK) {
        rank_reserve_parts(planner, step, points);
        return;
    }
    for (int r = 0; r < step->root_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int c = 0, n = state_components(step->roots[r], components); c < n; c++) {
            Scratch scratch = { .step = step, .dtype = components[c].dtype, .shared = true };
            scratch.name = arena_format(arena, "parts_%s_%d_%d", components[c].name, step->id + 1, r + 1);
            scratch.bytes = size_op(arena, SIZE_MUL, points, size_constant(arena, (int64_t)dtype_size(scratch.dtype)));
            scratch.offset = planner_reserve(planner, &plan->shared, scratch.name, scratch.bytes);
            ARENA_APPEND(arena, plan->scratch, plan->scratch_count, scratch);
        }
    }
}

/* Whether some position may turn out to be out of range while the kernel runs. */
static bool has_computed_position(const Program *lowered)
{
    for (int i = 0; i < lowered->term_count; i++)
        for (int a = 0; lowered->terms[i]->kind == TERM_READ && a < lowered->terms[i]->read.tensor->rank; a++)
            if (!position_is_plain(&lowered->terms[i]->read.positions[a]))
                return true;
    for (int s = 0; s < lowered->statement_count; s++)
        for (int a = 0; a < lowered->statements[s]->outputs[0].tensor->rank; a++)
            if (!position_is_plain(&lowered->statements[s]->outputs[0].positions[a]))
                return true;
    return false;
}

static void reserve_shared(Planner *planner)
{
    Plan *plan = planner->plan;
    plan->status = plan->target->grid && has_computed_position(plan->lowered);
    plan->shared = size_constant(planner->arena, plan->status ? ALIGNMENT : 0);
    for (int t = 0; t < plan->lowered->tensor_count; t++) {
        const Tensor *tensor = plan->lowered->tensors[t];
        Storage *storage = &plan->storage[t];
        if (!tensor->maker || tensor->home != tensor || storage->place != PLACE_SHARED)
            continue;
        lay_out(planner, tensor, storage, PART_TILES);
        storage->room = storage->bytes;
    }
    plan_share(planner);
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < plan->lowered->tensor_count; t++) {
            Storage *storage = &plan->storage[t];
            if (storage->room && !storage->after && pass == 0)
                storage->offset = planner_reserve(planner, &plan->shared, plan->lowered->tensors[t]->label, storage->room);
            else if (storage->after && pass == 1)
                storage->offset = storage->after->offset;
        }
    for (int s = 0; s < plan->step_count; s++)
        if (plan->steps[s]->split)
            reserve_parts(planner, plan->steps[s]);
    plan->shared = size_named(planner->arena, "shared", plan->shared);
}

/* The temporaries of one launch in the worker's part; *least is their size with tiles of one. */
static const Size *reserve_launch(Planner *planner, Launch *launch, const Size **least)
{
    Plan *plan = planner->plan;
    const Size *end = size_constant(planner->arena, 0);
    *least = end;
    for (int t = 0; t < plan->lowered->tensor_count; t++) {
        const Tensor *tensor = plan->lowered->tensors[t];
        Storage *storage = &plan->storage[t];
        if (!plan_is_temporary_of(plan, tensor, launch->id))
            continue;
        lay_out(planner, tensor, storage, PART_TILES);
        storage->offset = planner_reserve(planner, &end, tensor->label, storage->bytes);
        planner_reserve(planner, least, NULL, slice_bytes(planner, tensor, PART_POINT));
    }
    for (int s = 0; s < launch->step_count; s++) {
        Storage *storage = &plan->storage[launch->steps[s]->statement->outputs[0].tensor->id];
        const Storage *over = storage->over ? &plan->storage[storage->over->id] : NULL;
        if (over) {
            storage->stride = over->stride;
            storage->offset = over->offset;
            storage->bytes = over->bytes;
        }
    }
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->kind == STEP_RANK || launch->steps[s]->contract) {
            const Size *before = end;
            if (launch->steps[s]->contract)
                contract_reserve(planner, launch, launch->steps[s], &end);
            else if (has_lists(planner, launch->steps[s]))
                reserve_ranks(planner, launch->steps[s], &end);
            else
                rank_reserve(planner, launch, launch->steps[s], &end);
            const Step *step = launch->steps[s];
            const Size *own = step->statement->goes_on ? rank_bytes(planner, step, rank_points(planner, launch, step, false))
                                                       : size_op(planner->arena, SIZE_SUB, end, before);
            *least = size_op(planner->arena, SIZE_ADD, *least, own);
        }
    return end;
}

static bool has_contract(const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->contract)
            return launch->block_count > 0;
    return false;
}

/* Temporaries get their places, launches their tiles, the plan its workspace: first what launches share, since a memory
 * budget leaves the rest to the workers. */
void plan_storage(Planner *planner)
{
    Arena *arena = planner->arena;
    Plan *plan = planner->plan;
    plan->storage = ARENA_ARRAY(arena, Storage, plan->lowered->tensor_count);
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (plan->lowered->tensors[t]->home == plan->lowered->tensors[t])
            place(planner, plan->lowered->tensors[t]);
    reserve_shared(planner);
    const Size *per_worker = size_constant(arena, 0), *least = per_worker;
    for (int l = 0; l < plan->launch_count; l++) {
        Launch *launch = plan->launches[l];
        plan_reuse(planner, launch);
        if (launch->fuse)
            fuse_tiles(planner, launch);
        else if (has_contract(launch))
            contract_tiles(planner, launch);
        else if (launch->step_count > 1)
            tile_together(planner, launch);
        const Size *smallest;
        launch->bytes = reserve_launch(planner, launch, &smallest);
        per_worker = size_op(arena, SIZE_MAX_OF, per_worker, launch->bytes);
        least = size_op(arena, SIZE_MAX_OF, least, smallest);
        cut(planner, launch);
    }
    plan->per_worker = size_named(arena, "per_worker", per_worker);
    plan->workspace = size_op(arena, SIZE_ADD, plan->shared, size_op(arena, SIZE_MUL, size_workers(arena), plan->per_worker));
    plan->smallest = size_op(arena, SIZE_ADD, plan->shared, least);
}
