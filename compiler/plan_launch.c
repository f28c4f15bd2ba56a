/* Which steps run together, and in blocks of which indices; plan_alone.c has those that run on their own. */
#include <string.h>

#include "planning.h"

enum { PARTS_MAX = 64 };          /* of a split reduction */

/* ---- classes of indices: what several steps call by different names ---- */

typedef struct Classes {
    Planner *planner;
    int *parent;                  /* [lowered index id]: a forest */
    bool *blocked;                /* [root]: some read is not aligned along it */
} Classes;

static int find_class(const Classes *c, int index)
{
    while (c->parent[index] != index)
        index = c->parent[index] = c->parent[c->parent[index]];
    return index;
}

static void join_classes(Classes *c, int a, int b)
{
    a = find_class(c, a);
    b = find_class(c, b);
    c->parent[a] = b;
    c->blocked[b] |= c->blocked[a];
}

/* Ties the indices along which a step reads what a step of the group makes. */
static void align_read(Classes *c, const Term *read)
{
    const Tensor *tensor = read->read.tensor;
    for (int a = 0; a < tensor->rank; a++) {
        const Position *position = &read->read.positions[a];
        if (!tensor->axes[a])
            continue;
        if (position_is_plain(position))
            join_classes(c, tensor->axes[a]->id, position->parts[0].index->id);
        else
            c->blocked[find_class(c, tensor->axes[a]->id)] = true;
    }
}

static const Step *maker_in(const Tensor *tensor, Step *const *group, int count)
{
    for (int i = 0; i < count; i++)
        if (tensor->maker == group[i]->statement)
            return group[i];
    return NULL;
}

static Classes classes_of(Planner *planner, Step *const *group, int count)
{
    const Program *lowered = planner->plan->lowered;
    Classes c = { planner, ARENA_ARRAY(planner->arena, int, lowered->index_count),
                  ARENA_ARRAY(planner->arena, bool, lowered->index_count) };
    for (int i = 0; i < lowered->index_count; i++)
        c.parent[i] = i;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool inside = false;
        for (int s = 0; s < count; s++)
            inside |= term->statement == group[s]->statement->id;
        if (inside && term->kind == TERM_READ && maker_in(term->read.tensor, group, count))
            align_read(&c, term);
    }
    return c;
}

/* Whether blocks along a kept index never write the same element. */
static bool writes_apart(const Step *step, const Index *index)
{
    const Output *output = &step->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank; a++)
        if (output->tensor->axes[a] == index)
            return true;
    return false;
}

bool planner_may_be_block(const Step *step, const Index *index)
{
    const Term *value = step->statement->outputs[0].value;
    const Bundle *bundle = step->bundle;
    if (!indices_have(step->loops, step->loop_count, index) || !writes_apart(step, index) ||
        (bundle && indices_have(bundle->axes + bundle->axis_count - bundle->uncut, bundle->uncut, index)))
        return false;
    return step->kind != STEP_SCAN || !indices_have(value->reduce.over, value->reduce.over_count, index);
}

/* The one index of a class that a step has and may be cut along; NULL when it has none or several. */
static Index *member(const Classes *c, const Step *step, int class, bool *split)
{
    Index *found = NULL;
    int count = 0;
    *split = false;
    for (int i = 0; i < c->planner->plan->lowered->index_count; i++) {
        Index *index = c->planner->plan->lowered->indices[i];
        if (index->statement == step->statement->id && find_class(c, i) == class) {
            found = index;
            count++;
        }
    }
    if (count != 1)
        return NULL;
    if (planner_may_be_block(step, found))
        return found;
    *split = step->kind == STEP_RANK ? rank_parts(c->planner, step->statement) > 1 && found == step->statement->outputs[0].value->reduce.over[0]
             : step_can_split(step) && indices_have(step->roots[0]->reduce.over, step->roots[0]->reduce.over_count, found);
    return *split ? found : NULL;
}

/* How many parts a reduction with so many kept points is cut into. */
const Size *planner_most_parts(const Planner *planner, double points)
{
    const Grid *grid = planner->plan->target->grid;
    double parts = grid ? grid->blocks / (points > 1 ? points : 1) : PARTS_MAX;
    return size_constant(planner->arena, parts > 2 ? (int64_t)parts : 2);
}

double planner_kept_points(const Planner *planner, const Step *step)
{
    double points = 1;
    for (int i = 0; i < step->loop_count; i++)
        points *= planner_extent(planner, step->loops[i]);
    return points;
}

/* The index of a reduction with the most points. */
static Index *longest_of(const Planner *planner, const Term *reduce)
{
    Index *longest = reduce->reduce.over[0];
    for (int i = 1; i < reduce->reduce.over_count; i++)
        if (planner_extent(planner, reduce->reduce.over[i]) > planner_extent(planner, longest))
            longest = reduce->reduce.over[i];
    return longest;
}

/* The block of a group along one of its last step's indices; false: not all steps have it, kept by all but perhaps the last one,
 * which reduces it if `splits`. */
static bool block_along(Classes *c, Step *const *group, int count, Index *index, bool splits, Block *block)
{
    int class = find_class(c, index->id);
    Arena *arena = c->planner->arena;
    *block = (Block){ .of_step = ARENA_ARRAY(arena, Index *, count), .extent = size_extent(arena, index->origin) };
    bool all = !c->blocked[class] && index != group[count - 1]->statement->swept;
    for (int s = 0; s < count && all; s++) {
        bool reduced;
        block->of_step[s] = member(c, group[s], class, &reduced);
        all = block->of_step[s] && reduced == (splits && s == count - 1);
    }
    return all;
}

/* The index along which a reduction of a group's last step had better be cut into parts than its kept points into blocks: these are few,
 * so that threads would have little to share, and rows of what is stored for them long. NULL: there is none. */
static Index *reduces_most(const Planner *planner, const Step *last)
{
    if (last->kind == STEP_RANK)
        return rank_parts(planner, last->statement) > 1 ? last->statement->outputs[0].value->reduce.over[0] : NULL;
    double points = planner_kept_points(planner, last);
    if (!step_can_split(last) || last->contract || last->statement->sweep || planner->hints->uncut || points >= KEPT_ENOUGH)
        return NULL;
    Index *longest = longest_of(planner, last->roots[0]);
    return planner_extent(planner, longest) >= points * REDUCED_MORE ? longest : NULL;
}

/* Whether a block's index is around short rows that are turned: no square is along it. */
static bool is_around_rows(Step *const *group, int count, const Block *block)
{
    bool around = group[count - 1]->statement->rows_short;
    for (int s = 0; s < count; s++)
        around &= block->of_step[s] != group[s]->turned;
    return around;
}

typedef struct Runs {
    const Planner *planner;
    const Index *index;
    bool any;
} Runs;

static void find_runs(void *user, const Term *term)
{
    Runs *runs = user;
    runs->any |= term->kind == TERM_READ && term->read.tensor->home->origin && term_has_index(term, runs->index) &&
                 planner_reads_runs(runs->planner, term, runs->index);
}

/* Whether some array of the caller's lies along a block's index. */
static bool goes_along(const Planner *planner, Step *const *group, int count, const Block *block)
{
    Runs runs = { .planner = planner };
    for (int s = 0; s < count; s++) {
        runs.index = block->of_step[s];
        for (int o = 0; o < group[s]->statement->output_count; o++)
            term_each_below(planner->arena, group[s]->statement->outputs[o].value, find_runs, &runs);
    }
    return runs.any;
}

/* The last block is the one that has several points: where there are not enough of them for a vector, one that arrays lie along comes last. */
static void set_last_block(const Planner *planner, Step *const *group, int count, Block *blocks, int block_count)
{
    const int last = block_count - 1, lanes = planner->plan->target->vector_bytes / (int)sizeof(float);
    if (block_count < 2 || !planner_knows(planner, blocks[last].of_step[count - 1]) ||
        planner_extent(planner, blocks[last].of_step[count - 1]) >= lanes)
        return;
    int b = last - 1;
    while (b >= 0 && !(planner_extent(planner, blocks[b].of_step[count - 1]) >= lanes && goes_along(planner, group, count, &blocks[b])))
        b--;
    if (b < 0)
        return;
    Block block = blocks[b];
    memmove(&blocks[b], &blocks[b + 1], (size_t)(last - b) * sizeof *blocks);
    blocks[last] = block;
}

Block *planner_common_blocks(Planner *planner, Step *const *group, int count, int *block_count, Index **split)
{
    Classes c = classes_of(planner, group, count);
    const Step *last = group[count - 1];
    Block *blocks = NULL, block;
    *block_count = 0;
    *split = NULL;
    bool has_product = false;
    for (int s = 0; s < count; s++)
        has_product |= group[s]->contract != NULL;
    const Index *only = has_product ? NULL : last->statement->turned;    /* of many small problems */
    Index *longest = reduces_most(planner, last);
    if (longest) {
        if ((!only || longest == only) && block_along(&c, group, count, longest, true, &block)) {
            *split = longest;
            ARENA_APPEND(planner->arena, blocks, *block_count, block);
            return blocks;
        }
    }
    for (int i = 0; i < last->loop_count; i++)
        if (block_along(&c, group, count, last->loops[i], false, &block) &&
            (!only || last->loops[i] == only || is_around_rows(group, count, &block)))
            ARENA_APPEND(planner->arena, blocks, *block_count, block);
    if (!has_product && !only && !planner->plan->target->grid)
        set_last_block(planner, group, count, blocks, *block_count);
    return blocks;
}

/* ---- groups ---- */

typedef struct Group {
    Step **steps;                 /* in order */
    int count;
} Group;

bool planner_reads(const Planner *planner, const Step *step, const Step *maker)
{
    return planner->reads[step->id * planner->plan->step_count + maker->id];
}

static void note_read(Planner *planner, int step, const Tensor *tensor)
{
    if (tensor && tensor->maker)
        planner->reads[step * planner->plan->step_count + tensor->maker->id] = true;
}

/* Steps and statements have the same numbers. */
static void find_reads(Planner *planner)
{
    const Plan *plan = planner->plan;
    planner->reads = ARENA_ARRAY(planner->arena, bool, (size_t)plan->step_count * (size_t)plan->step_count);
    for (int i = 0; i < plan->lowered->term_count; i++)
        if (plan->lowered->terms[i]->kind == TERM_READ)
            note_read(planner, plan->lowered->terms[i]->statement, plan->lowered->terms[i]->read.tensor);
    for (int s = 0; s < plan->step_count; s++)
        for (int o = 0; o < plan->steps[s]->statement->output_count; o++)
            note_read(planner, s, plan->steps[s]->statement->outputs[o].tensor->previous);
}

/* Whether a `+=` changes an array that another step makes, or reads as it was before. */
static bool changes(const Planner *planner, const Step *step, const Step *other)
{
    const Program *lowered = planner->plan->lowered;
    const Tensor *previous = step->statement->outputs[0].tensor->previous;
    if (!previous || step == other)
        return false;
    for (int i = 0; i < lowered->term_count; i++)
        if (lowered->terms[i]->statement == other->statement->id && lowered->terms[i]->kind == TERM_READ)
            for (const Tensor *t = previous; t; t = t->previous)
                if (lowered->terms[i]->read.tensor == t)
                    return true;
    for (; previous; previous = previous->previous)
        if (previous->maker == other->statement)
            return true;
    return false;
}

static bool follows(const Planner *planner, const Step *step, const Step *other)
{
    return planner_reads(planner, step, other) || changes(planner, step, other);
}

static bool is_in(const Group *group, const Step *step)
{
    for (int i = 0; i < group->count; i++)
        if (group->steps[i] == step)
            return true;
    return false;
}

/* The blocks of two steps need not be the same part of an array that one of them changes: they run one after the other. */
static bool has_changes(const Planner *planner, const Group *group)
{
    for (int s = 0; s < group->count; s++)
        for (int r = 0; r < group->count; r++)
            if (changes(planner, group->steps[s], group->steps[r]))
                return true;
    return false;
}

/* Steps of two sweeps have blocks of two indices. */
static bool has_sweeps(const Group *group)
{
    const Sweep *sweep = NULL;
    for (int s = 0; s < group->count; s++) {
        const Sweep *own = group->steps[s]->statement->sweep;
        if (own && sweep && own != sweep)
            return true;
        sweep = own ? own : sweep;
    }
    return false;
}

/* A product in a ring has blocks of other threads than what the rest of a launch has. */
static bool has_ring(const Group *group)
{
    for (int s = 0; s < group->count; s++)
        if (group->steps[s]->contract && group->steps[s]->contract->ring)
            return true;
    return false;
}

/* Whether some step outside of the group would have to run in its middle: it follows it and is followed by it. */
static bool is_interrupted(const Planner *planner, const Group *group)
{
    const Plan *plan = planner->plan;
    bool *after = ARENA_ARRAY(planner->arena, bool, plan->step_count);
    for (int s = 0; s < plan->step_count; s++) {
        bool inside = is_in(group, plan->steps[s]);
        for (int r = 0; r < s; r++)
            if ((is_in(group, plan->steps[r]) || after[r]) && follows(planner, plan->steps[s], plan->steps[r])) {
                if (inside && after[r])
                    return true;
                after[s] |= !inside;
            }
    }
    return false;
}

/* The step and the groups of all its readers as one, in the steps' order. */
static Group join_readers(const Planner *planner, Step *step, const Group *groups, const int *group_of)
{
    const Plan *plan = planner->plan;
    Group joined = { ARENA_ARRAY(planner->arena, Step *, plan->step_count), 1 };
    joined.steps[0] = step;
    for (int s = step->id + 1; s < plan->step_count; s++) {
        const Group *group = &groups[group_of[s]];
        bool reads = false;
        for (int i = 0; i < group->count; i++)
            reads |= planner_reads(planner, group->steps[i], step);
        if (reads)
            joined.steps[joined.count++] = plan->steps[s];
    }
    return joined;
}

/* From the last step to the first: a step joins the groups of its readers when there is an index that all of them keep,
 * so that what it makes has the size of a block; else, or where these would leave a grid idle, it begins a group. */
static Group *group_steps(Planner *planner, int *group_count)
{
    const Plan *plan = planner->plan;
    Group *groups = ARENA_ARRAY(planner->arena, Group, plan->step_count);
    int *group_of = ARENA_ARRAY(planner->arena, int, plan->step_count);
    *group_count = 0;
    for (int s = plan->step_count - 1; s >= 0; s--) {
        Step *step = plan->steps[s];
        Group joined = join_readers(planner, step, groups, group_of);
        int block_count = 0;
        Index *split = NULL;
        if (joined.count > 1 && !has_ring(&joined) && !has_changes(planner, &joined) && !has_sweeps(&joined) &&
            !is_interrupted(planner, &joined))
            planner_common_blocks(planner, joined.steps, joined.count, &block_count, &split);
        bool idles = block_count && planner_idles(planner, joined.steps, joined.count);
        planner->plan->stores_whole |= idles;
        if (!block_count || idles)
            joined.count = 1;
        for (int i = 1; i < joined.count; i++)
            groups[group_of[joined.steps[i]->id]].count = 0;
        for (int i = 0; i < joined.count; i++)
            group_of[joined.steps[i]->id] = *group_count;
        groups[(*group_count)++] = joined;
    }
    return groups;
}

/* The next group all of whose steps follow only its own and those of groups that have had their turn. */
static Group *next_group(const Planner *planner, Group *groups, int count, const bool *done)
{
    const Plan *plan = planner->plan;
    Group *best = NULL;
    for (int g = 0; g < count; g++) {
        bool ready = groups[g].count > 0 && !done[groups[g].steps[0]->id];
        for (int i = 0; i < groups[g].count && ready; i++)
            for (int r = 0; r < groups[g].steps[i]->id && ready; r++)
                ready = done[r] || is_in(&groups[g], plan->steps[r]) || !follows(planner, groups[g].steps[i], plan->steps[r]);
        if (ready && (!best || groups[g].steps[0]->id < best->steps[0]->id))
            best = &groups[g];
    }
    return best;
}

static void block_together(Planner *planner, Launch *launch)
{
    Index *split;
    launch->blocks = planner_common_blocks(planner, launch->steps, launch->step_count, &launch->block_count, &split);
    if (split) {
        Step *last = launch->steps[launch->step_count - 1];
        last->split = split;
        last->parts = size_named(planner->arena, arena_format(planner->arena, "parts_%d", last->id + 1),
                                 size_op(planner->arena, SIZE_MIN, size_extent(planner->arena, split->origin),
                                         last->kind == STEP_RANK ? size_constant(planner->arena, rank_parts(planner, last->statement))
                                                                 : planner_most_parts(planner, planner_kept_points(planner, last))));
    }
}

/* Steps that a sweep needs come before those that it takes through its blocks, and the others behind. */
static void order_sweep(Planner *planner, Launch *launch, const Sweep *sweep)
{
    Plan *plan = planner->plan;
    int *turn = ARENA_ARRAY(planner->arena, int, plan->step_count), count = 0;    /* 0: before, 1: in it, 2: behind */
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        turn[step->id] = step->statement->sweep == sweep;
        for (int r = 0; r < s && !turn[step->id]; r++)
            turn[step->id] = turn[launch->steps[r]->id] && follows(planner, step, launch->steps[r]) ? 2 : 0;
    }
    Step **steps = ARENA_ARRAY(planner->arena, Step *, launch->step_count);
    for (int pass = 0; pass < 3; pass++) {
        for (int s = 0; s < launch->step_count; s++)
            if (turn[launch->steps[s]->id] == pass)
                steps[count++] = launch->steps[s];
        launch->sweep_from = pass == 0 ? count : launch->sweep_from;
        launch->sweep_to = pass == 1 ? count : launch->sweep_to;
    }
    launch->steps = steps;
}

static void set_sweep(Planner *planner, Launch *launch)
{
    Arena *arena = planner->arena;
    const Sweep *sweep = NULL;
    for (int s = 0; s < launch->step_count; s++)
        sweep = launch->steps[s]->statement->sweep ? launch->steps[s]->statement->sweep : sweep;
    if (!sweep || launch->step_count == 1)
        return;
    order_sweep(planner, launch, sweep);
    Block *block = ARENA_NEW(arena, Block);
    *block = (Block){ ARENA_ARRAY(arena, Index *, launch->step_count), size_extent(arena, sweep->origin), NULL };
    for (int s = 0; s < launch->step_count; s++)
        block->of_step[s] = launch->steps[s]->statement->swept;
    block->tile = size_named(arena, arena_format(arena, "sweep_%d", launch->id + 1),
                             size_op(arena, SIZE_MAX_OF, size_op(arena, SIZE_MIN, size_constant(arena, sweep->points), block->extent),
                                     size_constant(arena, 1)));
    launch->sweep = block;
}

/* Whether its loop over the launch's last block may be around other steps, too: neither lanes nor squares nor a tile run along it. */
static bool has_loop(const Launch *launch, int s)
{
    const Block *last = launch->block_count ? &launch->blocks[launch->block_count - 1] : NULL;
    const Step *step = launch->steps[s];
    return last && step->kind == STEP_STORE && !step->contract && !step->split && last->of_step[s] != step->vector &&
           last->of_step[s] != step->turned && last->of_step[s] != step->jammed && last->of_step[s] != step->met &&
           indices_have(step->loops, step->loop_count, last->of_step[s]);
}

bool launch_goes_by_points(const Launch *launch, int from, int to)
{
    bool all = true;
    for (int s = from; s <= to && all; s++)
        all = has_loop(launch, s) && (s == from || (s != launch->sweep_from && s != launch->sweep_to));
    return all;
}

bool launch_runs_by_points(const Launch *launch, int step)
{
    bool before = step > 0 && launch_goes_by_points(launch, step - 1, step);
    bool after = step + 1 < launch->step_count && launch_goes_by_points(launch, step, step + 1);
    return has_loop(launch, step) && !size_is_constant(launch->blocks[launch->block_count - 1].tile, 1) && (before || after);
}

void plan_launches(Planner *planner)
{
    Plan *plan = planner->plan;
    bool *done = ARENA_ARRAY(planner->arena, bool, plan->step_count);
    int count;
    find_reads(planner);
    Group *groups = group_steps(planner, &count), *group;
    while ((group = next_group(planner, groups, count, done))) {
        Launch *launch = ARENA_NEW(planner->arena, Launch);
        launch->id = plan->launch_count;
        launch->steps = group->steps;
        launch->step_count = group->count;
        set_sweep(planner, launch);
        if (launch->step_count == 1)
            plan_alone(planner, launch);
        else
            block_together(planner, launch);
        for (int i = 0; i < group->count; i++)
            step_plan_again(planner, launch, i);
        launch->fuse = plan->target->grid ? plan_fuse(planner, launch) : NULL;
        for (int i = 0; i < group->count; i++)
            plan_dot(planner, launch->steps[i]);
        for (int i = 0; i < group->count; i++)
            plan_jam(planner, launch, i);
        if (!plan->target->grid)
            plan_join(planner, launch);
        plan_tile_alone(planner, launch);
        for (int i = 0; i < group->count; i++)
            if (launch->step_count > 1 || launch->steps[i]->split || launch->steps[i]->added)
                launch->steps[i]->bundle = NULL;
        if (!plan->target->grid)
            plan_guess(planner, launch);
        for (int i = 0; i < group->count; i++)
            plan_ahead(planner, launch, i);
        for (int i = 0; i < group->count; i++)
            done[group->steps[i]->id] = true;
        ARENA_APPEND(planner->arena, plan->launches, plan->launch_count, launch);
    }
    for (int s = 0; s < plan->step_count; s++)
        if (plan->steps[s]->contract && plan->steps[s]->contract->shared > plan->block_bytes)
            plan->block_bytes = plan->steps[s]->contract->shared;
}
