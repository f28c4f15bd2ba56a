/* A unit without its text, which few need once the kernel is compiled: the arguments in their order, and on a grid the order of its
 * work and what each kernel takes. */
#include <string.h>

#include "emitting.h"

/* ---- arguments ---- */

const Argument *emit_argument_of(const Emitter *e, const Tensor *tensor)
{
    for (int i = 0; i < e->argument_count; i++)
        for (const Tensor *t = e->arguments[i].tensor; t; t = t->previous)
            if (t == tensor)
                return &e->arguments[i];
    return NULL;
}

bool emit_is_told(const Emitter *e, const Axis *axis)
{
    return !axis->tensor->maker || !axis->tensor->from_caller || emit_argument_of(e, axis->tensor);
}

bool emit_has_told_axis(const Emitter *e, const Index *index)
{
    for (int i = 0; i < index->axis_count; i++)
        if (emit_is_told(e, &index->axes[i]))
            return true;
    return false;
}

static bool needs_argument(const Emitter *e, const Index *index)
{
    return index->rule == EXTENT_GIVEN || (index->rule == EXTENT_AXES && !emit_has_told_axis(e, index));
}

Argument *emit_given(const Emitter *e, const Index *index)
{
    for (int i = 0; i < e->argument_count; i++)
        if (e->arguments[i].extent == index)
            return &e->arguments[i];
    return NULL;
}

int64_t emit_static_extent(const Emitter *e, const Index *index)
{
    if (index->rule == EXTENT_RANKS)
        return index->ranks;
    for (int i = 0; i < e->options->static_count && !index->in_dots; i++)
        if (!strcmp(e->options->statics[i].name, index->name))
            return e->options->statics[i].extent;
    return -1;
}

static void add_argument(Emitter *e, Argument argument)
{
    ARENA_APPEND(e->arena, e->arguments, e->argument_count, argument);
}

static bool has_computed_axis(const Tensor *tensor)
{
    for (int a = 0; a < tensor->rank; a++)
        if (!tensor->axes[a])
            return true;
    return false;
}

int emit_member_pass(const Tensor *tensor)
{
    if (tensor->home != tensor || (!tensor->maker && tensor->input < 0))
        return -1;
    return !tensor->maker ? 0 : tensor->origin ? 1 : MEMBER_PASSES - 1;
}

bool emit_is_argument(const Tensor *tensor)
{
    return !tensor->maker || tensor->origin || has_computed_axis(tensor);
}

static void list_arguments(Emitter *e)
{
    const Program *lowered = e->plan->lowered, *p = e->plan->program;
    for (int pass = 0; pass < MEMBER_PASSES; pass++)
        for (int t = 0; t < lowered->tensor_count; t++) {
            const Tensor *tensor = lowered->tensors[t];
            bool temporary = tensor->maker && !tensor->origin;
            if (emit_member_pass(tensor) == pass && emit_is_argument(tensor))
                add_argument(e, (Argument){ .tensor = temporary ? tensor->source : tensor->origin, .is_output = pass == 1,
                                            .shape_only = temporary });
        }
    for (int i = 0; i < p->index_count; i++)
        if (e->live_indices[i] && needs_argument(e, p->indices[i]))
            add_argument(e, (Argument){ .extent = p->indices[i] });
}

static void find_live(Emitter *e)
{
    const Program *p = e->plan->program, *lowered = e->plan->lowered;
    bool *wanted = ARENA_ARRAY(e->arena, bool, p->tensor_count);
    for (int t = 0; t < lowered->tensor_count; t++)
        if (lowered->tensors[t]->maker && lowered->tensors[t]->origin)
            wanted[lowered->tensors[t]->origin->id] = true;
    e->live_statements = program_needed(e->arena, p, wanted);
    e->live_indices = ARENA_ARRAY(e->arena, bool, p->index_count);
    bool *used = ARENA_ARRAY(e->arena, bool, p->index_count);
    for (int i = 0; i < lowered->index_count; i++)
        used[lowered->indices[i]->origin->id] = true;
    for (int i = 0; i < p->index_count; i++) {
        const Index *index = p->indices[i];
        e->live_indices[i] = index == p->part || (index->rule == EXTENT_WRITTEN ? used[i] : e->live_statements[index->statement]);
    }
}

/* ---- sizes ---- */

static void collect_sizes(Emitter *e, const Size *size)
{
    if (!size)
        return;
    collect_sizes(e, size->a);
    collect_sizes(e, size->b);
    if (size->kind != SIZE_NAMED)
        return;
    for (int i = 0; i < e->size_count; i++)
        if (!strcmp(e->sizes[i]->name, size->name))
            return;
    ARENA_APPEND(e->arena, e->sizes, e->size_count, size);
}

static void list_sizes(Emitter *e)
{
    const Plan *plan = e->plan;
    collect_sizes(e, plan->shared);
    for (int l = 0; l < plan->launch_count; l++) {
        for (int b = 0; b < plan->launches[l]->block_count; b++)
            collect_sizes(e, plan->launches[l]->blocks[b].tile);
        collect_sizes(e, plan->launches[l]->sweep ? plan->launches[l]->sweep->tile : NULL);
        collect_sizes(e, plan->launches[l]->units);
        collect_sizes(e, plan->launches[l]->fuse && plan->launches[l]->fuse->ring ? plan->launches[l]->fuse->ring->ring_tiles : NULL);
    }
    for (int s = 0; s < plan->step_count; s++)
        collect_sizes(e, plan->steps[s]->parts);
    for (int s = 0; s < plan->step_count; s++)
        collect_sizes(e, plan->steps[s]->contract ? plan->steps[s]->contract->ring_tiles : NULL);
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        collect_sizes(e, plan->storage[t].offset);
    for (int i = 0; i < plan->scratch_count; i++)
        collect_sizes(e, plan->scratch[i].offset);
    collect_sizes(e, plan->per_worker);
}

/* ---- the order of the work ---- */

static void add_work(Emitter *e, EmittedUnit *unit, GridWork work)
{
    ARENA_APPEND(e->arena, unit->work, unit->work_count, work);
}

/* A launch's tasks, as emit_launch_sizes() has them. */
static const Size *grain_of(Emitter *e, const Launch *launch)
{
    return size_op(e->arena, SIZE_MAX_OF, size_op(e->arena, SIZE_CEIL_DIV, launch->units, launch->tasks), size_constant(e->arena, 1));
}

static const Size *tasks_of(Emitter *e, const Launch *launch)
{
    return size_op(e->arena, SIZE_CEIL_DIV, launch->units, grain_of(e, launch));
}

/* How many blocks the points of a merge take, a thread each. */
static const Size *merge_blocks(Emitter *e, const Step *step)
{
    const Size *points = size_constant(e->arena, 1);
    for (int i = 0; i < step->loop_count; i++)
        points = size_op(e->arena, SIZE_MUL, points, size_extent(e->arena, step->loops[i]->origin));
    return size_op(e->arena, SIZE_CEIL_DIV, points, size_constant(e->arena, e->plan->target->grid->threads));
}

/* The shared memory that a launch's products ask for, where it is not simply there. */
static int64_t asked_bytes(const Emitter *e, const Launch *launch)
{
    int64_t bytes = 0;
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->contract && launch->steps[s]->contract->shared > bytes)
            bytes = launch->steps[s]->contract->shared;
    return e->plan->block_bytes > e->plan->target->grid->shared_bytes ? bytes : 0;
}

static void list_work(Emitter *e, EmittedUnit *unit)
{
    const Size *none = size_constant(e->arena, 0);
    if (e->plan->status)
        add_work(e, unit, (GridWork){ .launch = -1, .offset = none, .bytes = size_constant(e->arena, (int64_t)sizeof(int32_t)) });
    for (int l = 0; l < e->plan->launch_count; l++) {
        const Launch *launch = e->plan->launches[l];
        for (int s = 0; s < launch->step_count; s++) {    /* temporaries that `+=` adds to at computed positions */
            const Tensor *tensor = launch->steps[s]->statement->outputs[0].tensor;
            const Storage *storage = &e->plan->storage[tensor->home->id];
            if (launch->steps[s]->scatters && !tensor->previous && storage->place != PLACE_CALLER)
                add_work(e, unit, (GridWork){ .launch = -1, .offset = storage->offset, .bytes = storage->bytes });
        }
        Ringed ring;
        if (emit_ringed(launch, &ring))
            add_work(e, unit, (GridWork){ .kernel = emit_kernel_name(e, "ring", ring.step->id + 1), .tasks = ring.first->ring_tiles, .launch = -1,
                                          .ring = emit_ring(e, &ring), .asked_bytes = emit_ring_bytes(&ring) });
        add_work(e, unit, (GridWork){ .kernel = emit_kernel_name(e, "launch", l + 1), .tasks = tasks_of(e, launch), .launch = l,
                                      .asked_bytes = asked_bytes(e, launch) });
        for (int s = 0; s < launch->step_count; s++)
            if (launch->steps[s]->split)
                add_work(e, unit, (GridWork){ .kernel = emit_kernel_name(e, "merge", launch->steps[s]->id + 1),
                                              .tasks = merge_blocks(e, launch->steps[s]), .launch = -1 });
    }
}

/* ---- the frame as formulas ---- */

static void add_word(Emitter *e, EmittedUnit *unit, const Size *word)
{
    ARENA_APPEND(e->arena, unit->frame, unit->frame_count, word);
}

static bool is_size(const Emitter *e, const char *name)
{
    for (int i = 0; i < e->size_count; i++)
        if (!strcmp(e->sizes[i]->name, name))
            return true;
    return false;
}

/* In the order in which emit_frame() declares them. */
static void list_frame(Emitter *e, EmittedUnit *unit)
{
    const Plan *plan = e->plan;
    for (int i = 0; i < plan->program->index_count; i++)
        if (e->live_indices[i] && emit_static_extent(e, plan->program->indices[i]) < 0)
            add_word(e, unit, size_extent(e->arena, plan->program->indices[i]));
    for (int i = 0; i < e->size_count; i++)
        add_word(e, unit, e->sizes[i]);
    for (int l = 0; l < plan->launch_count; l++) {
        const Launch *launch = plan->launches[l];
        if (launch->units->kind != SIZE_NAMED)
            add_word(e, unit, launch->units);
        add_word(e, unit, grain_of(e, launch));
        add_word(e, unit, tasks_of(e, launch));
    }
    if (!is_size(e, "shared"))
        add_word(e, unit, plan->shared);
    if (!is_size(e, "per_worker"))
        add_word(e, unit, plan->per_worker);
    add_word(e, unit, NULL);      /* the workspace */
    int64_t words = unit->frame_count;
    for (int i = 0; i < e->argument_count; i++) {
        int rank = e->arguments[i].tensor ? e->arguments[i].tensor->rank : 0;
        words += e->arguments[i].tensor ? 1 + 2 * (rank ? rank : 1) : 1;
    }
    unit->frame_bytes = 8 * words;
    emit_ring_frame(e, unit);
}

/* ---- the whole ---- */

Emitter *emit_list(Arena *arena, const Plan *plan, const EmitOptions *options)
{
    Emitter *e = ARENA_NEW(arena, Emitter);
    e->arena = arena;
    e->plan = plan;
    e->options = options;
    find_live(e);
    list_arguments(e);
    list_sizes(e);
    return e;
}

EmittedUnit *emit_unit(Arena *arena, const Plan *plan, const EmitOptions *options)
{
    Emitter *e = emit_list(arena, plan, options);
    EmittedUnit *unit = ARENA_NEW(arena, EmittedUnit);
    unit->arguments = e->arguments;
    unit->argument_count = e->argument_count;
    unit->permission = plan_permission(plan);
    unit->target = plan->target;
    if (plan->target->grid) {
        list_work(e, unit);
        list_frame(e, unit);
    }
    return unit;
}
