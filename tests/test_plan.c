/* The Plan's verifier: it accepts what the planner makes of expressions of every kind, and names what is broken in a
 * plan of which one thing was changed. */
#include <stdio.h>

#include "plan_testing.h"

#define LOOPS "x[i,j] | max j"
#define POINTWISE "x[i] + y[i]"
#define PRODUCT "ij,jk->ik"
#define REDUCED "ijk,mnk->ijmn | max n"
#define BLOCK "t[i] = x[i,k] | sum k; t[i] * y[i,j] | max j"
#define COLUMNS "t[i] = x[k,i] | sum k; t[i] * y[j,i] | max j"
#define ATTENTION "ik,jk->ij | softmax j | * jv -> iv"
#define SHARED "s[i] = x[i,k] | sum k; t[j] = y[j,k] | max k; s[i] + t[j] | prod j"
#define IN_TURN "a[i] = x[i,k] | sum k; b[j] = a[i] * y[i,j] | sum i; c[k] = b[j] * z[j,k] | sum j; c[k] * w[k,l] | sum k"
#define SPLIT "x[i,j,k,l] | sum ijkl"
#define SCATTER "y[v[i]:i64,j] += x[i,j]"
#define ADDED "t[i] = x[i,k] | sum k; a[i,j] = t[i] * y[j]; a[j,i] += t[i] * z[j]; a[i,j] | exp"
#define ADDED_AND_READ "a[i,j] = x[i,j] * y[j]; b[j] = a[i,j] | max i; a[i,j] += z[j] * x[i,j]; b[i] + a[i,j] | max j"

#define MASKED "qd,kd->qk | where(@k <= @q, _, -inf) | softmax k | * kv -> qv"
#define RANKED "qd,kd->qk | topk(3) k"
#define KERNEL_SUM "(qd - kd)^2 -> qk | exp(-0.5 * _) | * kv -> qv"

/* ---- what is accepted ---- */

typedef struct Met {
    bool kinds[STEP_ADD + 1], places[PLACE_REGISTERS + 1], split, several, products[2];
} Met;

static void meet(Met *met, const Plan *plan)
{
    for (int s = 0; s < plan->step_count; s++) {
        const Step *step = plan->steps[s];
        met->kinds[step->kind] = true;
        met->split |= step->split != NULL;
        met->several |= step->statement->output_count > 1;
        if (step->contract)
            met->products[step->contract->reduces] = true;
    }
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        met->places[plan->storage[t].place] = true;
}

/* Those of the table, and one of a grid. */
static const Target *next_target(const Target *target)
{
    return target == grid_targets ? NULL : target[1].name ? target + 1 : grid_targets;
}

static void plans_of_every_kind_are_accepted(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        LOOPS, POINTWISE, PRODUCT, REDUCED, BLOCK, SHARED, SPLIT, SCATTER, ADDED, ADDED_AND_READ,
        "x[i,j] | cumsum j", "x[i,j] | topk(3) j & argtopk(3) j", "x[i,j] | sum ij & max ij", "ii->", "4",
        "bhqd,bhkd->bhqk | _ * 0.125 | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv",
        "ik,jk->ij | softmax j | * jv -> iv", "x[n,c,h+r,w+s], k[o,c,r,s] -> [n,o,h,w]", "A[i,k]:i8, B[j,k]:i8 -> ij",
        IN_TURN, "ab,bcd,ce,dfg,eg->af", "where(@i < 1, x[9223372036854775807*i,j], 0) | sum j", "ij + jk + kl -> ijkl | logsumexp jk",
        "a[i] = x[i,k]:c64 | sum k; a[i] * y[i,j] | sum i",
    };
    static const Nests nests[] = { NESTS_BY_COST, NESTS_TILED, NESTS_LOOPS };
    static const int64_t budgets[] = { 0, 1000, 100000 };
    Met met = { 0 };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (const Target *target = targets; target; target = next_target(target))
            for (int n = 0; n < 18; n++) {
                CompileOptions options = { .target = target, .nests = nests[n % 3], .memory = budgets[n / 3 % 3], .sweep = n < 9 ? 0 : 5 };
                Planned *planned = plan_of(texts[i], options);
                const char *broken = plan_verify(planned->plan);
                if (broken)
                    fail_msg("%s for %s: %s", texts[i], target->name, broken);
                meet(&met, planned->plan);
                end(planned);
            }
    for (int i = 0; i <= STEP_ADD; i++)
        assert_true(met.kinds[i]);
    for (int i = 0; i <= PLACE_REGISTERS; i++)
        assert_true(met.places[i]);
    assert_true(met.split && met.several && met.products[false] && met.products[true]);
}

/* ---- what is broken ---- */

static const Size none = { .kind = SIZE_CONSTANT }, large = { .kind = SIZE_CONSTANT, .constant = 1 << 30 };
static Step copy;

static int tensor_at(const Plan *plan, Place place)
{
    int t = 0;
    while (plan->storage[t].place != place || plan->lowered->tensors[t]->home != plan->lowered->tensors[t])
        t++;
    return t;
}

static Storage *storage_at(const Plan *plan, Place place)
{
    return &plan->storage[tensor_at(plan, place)];
}

/* Of what a step makes. */
static Storage *storage_made(const Plan *plan, int step)
{
    return &plan->storage[plan->steps[step]->statement->outputs[0].tensor->id];
}

static void swap_steps(Step **a, Step **b)
{
    Step *step = *a;
    *a = *b;
    *b = step;
}

static void swap_indices(Index **a, Index **b)
{
    Index *index = *a;
    *a = *b;
    *b = index;
}

/* The second launch's step runs in the third one, before its steps. */
static void join_launches(Plan *p)
{
    Launch *launch = p->launches[2];
    Step **steps = ARENA_ARRAY(p->lowered->arena, Step *, launch->step_count + 1);
    steps[0] = p->launches[1]->steps[0];
    memcpy(steps + 1, launch->steps, (size_t)launch->step_count * sizeof *steps);
    launch->steps = steps;
    launch->step_count++;
    launch->id = 1;
    p->launches[1] = launch;
    p->launch_count = 2;
}

static Step *copied(const Step *step)
{
    copy = *step;
    return &copy;
}

static void no_rows(Plan *p)
{
    Contract *c = p->steps[0]->contract;
    c->batch = c->rows;
    c->rows.count = 0;
}

static void made_elsewhere(Plan *p)
{
    Storage *storage = storage_at(p, PLACE_SHARED);
    storage->place = PLACE_BLOCK;
    storage->launch = 1;
}

/* A function that does one thing to a plan `p`. */
#define BREAK(name, ...) static void name(Plan *p) { __VA_ARGS__; }
BREAK(no_lanes, p->lanes = 0)
BREAK(no_smallest, p->smallest = NULL)
BREAK(step_missing, p->step_count--)
BREAK(step_number, p->steps[0]->id = 1)
BREAK(step_statement, p->steps[0]->statement = p->steps[1]->statement)
BREAK(launch_number, p->launches[0]->id = 1)
BREAK(launch_empty, p->launches[0]->step_count = 0)
BREAK(launch_foreign, p->launches[0]->steps[0] = copied(p->steps[0]))
BREAK(step_twice, p->launches[1]->steps[0] = p->launches[0]->steps[0])
BREAK(step_nowhere, p->launches[1]->step_count--)
BREAK(step_early, swap_steps(&p->launches[0]->steps[0], &p->launches[0]->steps[1]))
BREAK(loop_foreign, p->steps[0]->loops[0] = p->steps[1]->loops[0])
BREAK(loop_twice, p->steps[0]->loops[1] = p->steps[0]->loops[0])
BREAK(vector_not_kept, p->steps[0]->vector_kept = false)
BREAK(vector_kept, p->steps[0]->vector_kept = true)
BREAK(vector_first, swap_indices(&p->steps[0]->loops[0], &p->steps[0]->loops[1]))
BREAK(vector_foreign, p->steps[0]->vector = p->steps[1]->vector)
BREAK(root_foreign, p->steps[0]->roots[0] = p->steps[1]->roots[0])
BREAK(root_free, p->steps[0]->loop_count = 0)
BREAK(split_kept, p->steps[0]->split = p->steps[0]->loops[0])
BREAK(split_product, p->steps[0]->split = p->steps[0]->contract->depth.list[0]; p->steps[0]->parts = &large)
BREAK(split_without_parts, p->steps[0]->parts = NULL)
BREAK(split_without_block, p->launches[0]->block_count = 0)
BREAK(unit_foreign, p->steps[0]->units.list[0].tensor = p->lowered->tensors[tensor_at(p, PLACE_BLOCK)])
BREAK(unit_axis, p->steps[0]->units.list[0].axis = p->steps[0]->units.list[0].tensor->rank)
BREAK(product_none, p->steps[0]->contract->product = p->steps[0]->contract->left)
BREAK(product_role_twice, p->steps[0]->contract->rows.list[0] = p->steps[0]->contract->depth.list[0])
BREAK(product_reduced_kept, p->steps[0]->contract->kept_rows.list[0] = p->steps[0]->contract->depth.list[0])
BREAK(product_no_role, p->steps[0]->contract->kept_rows.count--)
BREAK(product_depth, p->steps[0]->contract->depth.count--)
BREAK(product_rows, p->steps[0]->contract->rows.count--)
BREAK(product_lanes, swap_indices(&p->steps[0]->contract->columns.list[0], &p->steps[0]->contract->columns.list[1]))
BREAK(product_left, p->steps[0]->contract->left = p->steps[0]->contract->right)
BREAK(product_right, p->steps[0]->contract->right = p->steps[0]->contract->left)
BREAK(product_tile_rows, p->steps[0]->contract->tile_rows = 0)
BREAK(product_tile_vectors, p->steps[0]->contract->tile_vectors = 0)
BREAK(product_depth_block, p->steps[0]->contract->depth_block = 0)
BREAK(product_row_block, p->steps[0]->contract->row_block = 0)
BREAK(product_group, p->steps[0]->contract->group = 0)
BREAK(block_extent, p->launches[0]->blocks[0].extent = NULL)
BREAK(block_tile, p->launches[0]->blocks[0].tile = NULL)
BREAK(block_reduced, p->launches[0]->blocks[0].of_step[0] = p->steps[0]->roots[0]->reduce.over[0])
BREAK(block_twice, p->launches[0]->blocks[1].of_step[0] = p->launches[0]->blocks[0].of_step[0])
BREAK(launch_units, p->launches[0]->units = NULL)
BREAK(launch_tasks, p->launches[0]->tasks = NULL)
BREAK(launch_bytes, p->launches[0]->bytes = NULL)
BREAK(caller_laid_out, storage_at(p, PLACE_CALLER)->bytes = &none)
BREAK(temporary_of_caller, storage_at(p, PLACE_BLOCK)->place = PLACE_CALLER)
BREAK(temporary_nowhere, storage_at(p, PLACE_BLOCK)->offset = NULL)
BREAK(temporary_without_stride, storage_at(p, PLACE_BLOCK)->stride[0] = NULL)
BREAK(place_not_alike, storage_made(p, 2)->offset = &large)
BREAK(place_taken_early, storage_made(p, 1)->over = storage_made(p, 2)->over)
BREAK(place_in_use, storage_made(p, 1)->after = storage_made(p, 0); storage_made(p, 1)->offset = storage_made(p, 0)->offset)
BREAK(place_too_small, storage_made(p, 0)->room = &none)
BREAK(read_elsewhere, storage_at(p, PLACE_SHARED)->place = PLACE_BLOCK)
BREAK(scratch_foreign, p->scratch[0].step = copied(p->steps[0]); copy.id = p->step_count)
BREAK(scratch_nowhere, p->scratch[0].offset = NULL)
BREAK(scratch_shared, p->scratch[0].shared ^= true)
BREAK(block_beyond, storage_at(p, PLACE_BLOCK)->offset = &large)
BREAK(shared_beyond, storage_at(p, PLACE_SHARED)->offset = p->per_worker)
BREAK(scratch_beyond, p->scratch[0].bytes = p->launches[0]->bytes)
BREAK(overlap, p->scratch[1].offset = p->scratch[0].offset)
BREAK(stride_large, storage_at(p, PLACE_BLOCK)->stride[0] = &large)
BREAK(stride_none, storage_at(p, PLACE_BLOCK)->stride[0] = &none)
BREAK(one_point, storage_at(p, PLACE_BLOCK)->at_point = true)
BREAK(bytes_none, storage_at(p, PLACE_SHARED)->bytes = &none)
BREAK(worker_without_room, p->per_worker = &none)
static Block sweep_of_none;
BREAK(sweep_nowhere, p->launches[0]->sweep = NULL)
BREAK(sweep_short, p->launches[0]->sweep_to--)
BREAK(sweep_without_index, sweep_of_none = *p->launches[0]->sweep; sweep_of_none.of_step = calloc(9, sizeof(Index *)); p->launches[0]->sweep = &sweep_of_none)
BREAK(other_rows, p->steps[p->step_count - 1]->contract->tile_rows++)
BREAK(workspace_of_one, p->workspace = p->per_worker)

BREAK(ranks_anew, ((Statement *)p->steps[p->step_count - 1]->statement)->goes_on = false)

static void what_is_broken_is_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        void (*breaks)(Plan *plan);
        const char *word;
    } cases[] = {
        { LOOPS, no_lanes, "has a lane" },
        { LOOPS, no_smallest, "has a workspace" },
        { BLOCK, step_missing, "has one step" },
        { BLOCK, step_number, "step's number" },
        { BLOCK, step_statement, "another statement than its own" },
        { BLOCK, launch_number, "launch's number" },
        { SHARED, launch_empty, "a launch has a step" },
        { LOOPS, launch_foreign, "not the plan's" },
        { SHARED, step_twice, "two launches" },
        { SHARED, step_nowhere, "no launch" },
        { BLOCK, step_early, "before what it reads" },
        { ADDED, join_launches, "'+='" },
        { ADDED_AND_READ, join_launches, "'+='" },
        { BLOCK, loop_foreign, "of another statement" },
        { REDUCED, loop_twice, "two loops" },
        { POINTWISE, vector_not_kept, "vector_kept" },
        { LOOPS, vector_kept, "vector_kept" },
        { SCATTER, vector_first, "not the last" },
        { BLOCK, vector_foreign, "no index of the step" },
        { BLOCK, root_foreign, "root is no reduction" },
        { LOOPS, root_free, "root depends" },
        { LOOPS, split_kept, "root does not reduce" },
        { POINTWISE, split_kept, "without reductions" },
        { PRODUCT, split_product, "product is split" },
        { SPLIT, split_without_parts, "has parts" },
        { SPLIT, split_without_block, "but not its launch" },
        { BLOCK, unit_foreign, "no array of the caller's" },
        { LOOPS, unit_axis, "unit's axis" },
        { REDUCED, product_none, "its step's reductions" },
        { REDUCED, product_role_twice, "two roles" },
        { REDUCED, product_reduced_kept, "are not the loops" },
        { REDUCED, product_no_role, "no role" },
        { REDUCED, product_depth, "depth is what" },
        { REDUCED, product_rows, "rows are what" },
        { PRODUCT, no_rows, "rows, columns and depth" },
        { REDUCED, product_lanes, "last column" },
        { REDUCED, product_left, "left depends" },
        { REDUCED, product_right, "right depends" },
        { PRODUCT, product_right, "right depends" },
        { REDUCED, product_tile_rows, "tile or block" },
        { REDUCED, product_tile_vectors, "tile or block" },
        { REDUCED, product_depth_block, "tile or block" },
        { REDUCED, product_row_block, "tile or block" },
        { REDUCED, product_group, "tile or block" },
        { LOOPS, block_extent, "extent and a tile" },
        { LOOPS, block_tile, "extent and a tile" },
        { LOOPS, block_reduced, "none of a step's loops" },
        { REDUCED, block_twice, "in two blocks" },
        { LOOPS, launch_units, "units, tasks" },
        { LOOPS, launch_tasks, "units, tasks" },
        { LOOPS, launch_bytes, "units, tasks" },
        { LOOPS, caller_laid_out, "and no other" },
        { BLOCK, temporary_of_caller, "what the caller passes" },
        { BLOCK, temporary_nowhere, "a place and strides" },
        { BLOCK, temporary_without_stride, "a place and strides" },
        { ATTENTION, place_not_alike, "in the place of another" },
        { ATTENTION, place_taken_early, "whose place another has taken" },
        { IN_TURN, place_in_use, "at the same time" },
        { IN_TURN, place_not_alike, "a place that is none" },
        { IN_TURN, place_too_small, "no room" },
        { SHARED, read_elsewhere, "read in another" },
        { SHARED, made_elsewhere, "made in another" },
        { REDUCED, scratch_foreign, "no step" },
        { REDUCED, scratch_nowhere, "a name, an offset" },
        { REDUCED, scratch_shared, "shared for the parts" },
        { SPLIT, scratch_shared, "shared for the parts" },
        { BLOCK, block_beyond, "beyond" },
        { SHARED, shared_beyond, "beyond" },
        { REDUCED, scratch_beyond, "overlap" },
        { REDUCED, overlap, "overlap" },
        { BLOCK, stride_large, "strides and bytes" },
        { COLUMNS, stride_none, "strides and bytes" },
        { COLUMNS, one_point, "one point at a time" },
        { SHARED, bytes_none, "strides and bytes" },
        { BLOCK, worker_without_room, "more than a worker" },
        { SHARED, workspace_of_one, "one part for each worker" },
        { MASKED, other_rows, "tiles of other rows" },
        { KERNEL_SUM, sweep_nowhere, "not in its place" },
        { KERNEL_SUM, sweep_short, "not in its place" },
        { KERNEL_SUM, sweep_without_index, "lacks a step's index" },
        { RANKED, ranks_anew, "does not go on" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool sweeps = !strcmp(cases[i].text, KERNEL_SUM) || !strcmp(cases[i].text, RANKED);
        Planned *planned = plan_of(cases[i].text, (CompileOptions){ .target = target_find("avx2"), .sweep = sweeps ? 16 : 0 });
        assert_null(plan_verify(planned->plan));
        cases[i].breaks(planned->plan);
        const char *broken = plan_verify(planned->plan);
        if (!broken || !strstr(broken, cases[i].word))
            fail_msg("case %zu, %s: expected '%s', not '%s'", i, cases[i].text, cases[i].word,
                     broken ? broken : "nothing");
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_every_kind_are_accepted),
        cmocka_unit_test(what_is_broken_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
