/* The Plan's verifier: it accepts what the planner makes of expressions of every kind, and names what is broken in a
 * plan of which one thing was changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile.h"

#define LOOPS "x[i,j] | max j"
#define POINTWISE "x[i] + y[i]"
#define PRODUCT "ij,jk->ik"
#define REDUCED "ijk,mnk->ijmn | max n"
#define BLOCK "t[i] = x[i,k] | sum k; t[i] * y[i,j] | max j"
#define ATTENTION "ik,jk->ij | softmax j | * jv -> iv"
#define SHARED "s[i] = x[i,k] | sum k; t[j] = y[j,k] | max k; s[i] + t[j] | prod j"
#define IN_TURN "a[i] = x[i,k] | sum k; b[j] = a[i] * y[i,j] | sum i; c[k] = b[j] * z[j,k] | sum j; c[k] * w[k,l] | sum k"
#define SPLIT "x[i,j,k,l] | sum ijkl"
#define SCATTER "y[v[i]:i64,j] += x[i,j]"
#define ADDED "t[i] = x[i,k] | sum k; a[i,j] = t[i] * y[j]; a[j,i] += t[i] * z[j]; a[i,j] | exp"
#define ADDED_AND_READ "a[i,j] = x[i,j] * y[j]; b[j] = a[i,j] | max i; a[i,j] += z[j] * x[i,j]; b[i] + a[i,j] | max j"

#define SWEPT "bhqd,bhkd->bhqk | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv"
#define KERNEL_SUM "(qd - kd)^2 -> qk | exp(-0.5 * _) | * kv -> qv"

typedef struct Planned {
    Arena arena;
    jmp_buf failed;
    Source source;
    Diags diags;
    Plan *plan;
} Planned;

static Planned *plan_of(const char *text, CompileOptions options)
{
    Planned *planned = calloc(1, sizeof *planned);
    assert_non_null(planned);
    planned->arena.failed = &planned->failed;
    assert_int_equal(setjmp(planned->failed), 0);
    planned->source = (Source){ "expr", text, strlen(text) };
    planned->diags = (Diags){ .arena = &planned->arena, .source = &planned->source };
    options.name = "test";
    options.command = "";
    Compiled *compiled = compile(&planned->arena, &planned->source, &options, &planned->diags);
    if (!compiled)
        fail_msg("%s: %s", text, planned->diags.first->message);
    planned->plan = compiled->plan;
    return planned;
}

static void end(Planned *planned)
{
    arena_free(&planned->arena);
    free(planned);
}

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

/* ---- sweeps ---- */

/* Extents of the indices, which are letters. */
static int64_t extent_of(char index, int64_t k)
{
    return index == 'k' ? k : index == 'q' ? 2048 : index == 'h' ? 8 : index == 'b' ? 1 : 64;
}

/* Bytes of one worker: the workspace, or the least that can be met. */
static int64_t bytes_with(const char *text, int64_t k, bool least)
{
    static const char *const names[] = { "b", "h", "q", "k", "d", "v" };
    CompileOptions options = { .target = target_find("avx512") };
    ExtentSpec extents[6];
    for (int i = 0; i < 6; i++)
        if (strchr(text, names[i][0]))
            extents[options.check.extent_count++] =
                (ExtentSpec){ .name = names[i], .extent = extent_of(names[i][0], k) };
    options.check.extents = extents;
    Planned *planned = plan_of(text, options);
    const Program *program = planned->plan->program;
    int64_t of[32];
    for (int i = 0; i < program->index_count; i++)
        of[i] = extent_of(program->indices[i]->name[0], k);
    int64_t bytes = size_evaluate(least ? planned->plan->smallest : planned->plan->workspace, &(SizeValues){ of, NULL, 1 });
    end(planned);
    return bytes;
}

/* However many keys there are: blocks of them are gone through. */
static void memory_does_not_grow_with_what_is_reduced(void **unused)
{
    (void)unused;
    static const char *const texts[] = { SWEPT, KERNEL_SUM };
    for (int i = 0; i < 4; i++) {
        int64_t bytes = bytes_with(texts[i / 2], 16384, i % 2);
        assert_true(bytes > 0 && bytes < (2 << 20));
        assert_int_equal(bytes_with(texts[i / 2], 1 << 16, i % 2), bytes);
        assert_int_equal(bytes_with(texts[i / 2], 1 << 20, i % 2), bytes);
    }
}

typedef struct SweepCase {
    const char *text;
    int steps;                    /* in the sweep; 0: it is none */
} SweepCase;

/* What is carried, what is left for the end, and what cannot be taken in blocks. */
static void only_what_scales_with_its_maximum_is_swept(void **unused)
{
    (void)unused;
    static const SweepCase cases[] = {
        { KERNEL_SUM, 2 },
        { SWEPT, 8 },
        { "s = Q[q,d], K[k,d] -> [q,k]; s[q,k] | max k | _ * w[q]", 0 },    /* nothing is stored */
        { "p = Q[q,d], K[k,d] -> [q,k] | exp; n = p[q,k] | sum k; p[q,k] * V[k,v] -> [q,v] | _ / n[q]", 3 },
        { "qd,kd->qk | softmax k | max k", 0 },    /* of shares, which are known in the end */
        { "qd,kd->qk | softmax k", 0 },
        { "qd,kd->qk | log_softmax k | * kv -> qv", 0 },
        /* -inf so far is a NaN where there was no look at it, and another factor does not scale so */
        { "s = Q[q,d], K[k,d] -> [q,k]; m = s[q,k] | max k; exp(s[q,k] - m[q]) * V[k,v] -> [q,v]", 0 },
        { "s = Q[q,d], K[k,d] -> [q,k]; m = s[q,k] | max k; (s[q,k] - m[q]) * V[k,v] -> [q,v]", 0 },
        { "s = Q[q,d], K[k,d] -> [q,k]; m = s[q,k] | max k; where(m[q] == -inf, 0, exp(s[q,k] - m[q])) * V[k,v] -> [q,v]", 5 },
        { "s = Q[q,d], K[k,d] -> [q,k]; s[q,k] | argmax k & max k", 0 },
        { "s = Q[q,d], K[k,d] -> [q,k]; s[q,k] | cumsum k | * V[k,v] -> [q,v]", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_of(cases[i].text, (CompileOptions){ .target = target_find("avx512"), .nests = NESTS_TILED, .sweep = 32 });
        const Plan *plan = planned->plan;
        int steps = 0;
        for (int l = 0; l < plan->launch_count; l++)
            steps += plan->launches[l]->sweep ? plan->launches[l]->sweep_to - plan->launches[l]->sweep_from : 0;
        if (steps != cases[i].steps)
            fail_msg("%s: %d steps in a sweep, not %d", cases[i].text, steps, cases[i].steps);
        end(planned);
    }
}

/* ---- units of work ---- */

typedef struct Units {
    int64_t count, bytes;         /* bytes: the workspace of one worker */
} Units;

/* Of a MaxSim of so many documents of 180 tokens on registers of tiles. */
static Units units_of_documents(int64_t documents)
{
    ExtentSpec extents[] = { { .name = "j", .extent = 128 }, { .name = "m", .extent = documents }, { .name = "n", .extent = 180 },
                             { .name = "k", .extent = 128 } };
    CompileOptions options = { .target = target_find("amx") };
    options.check.extents = extents;
    options.check.extent_count = 4;
    Planned *planned = plan_of("jk:i8,mnk:i8->jmn | max n | sum j", options);
    const Plan *plan = planned->plan;
    int64_t of[32];
    for (int i = 0; i < plan->program->index_count; i++)
        for (int x = 0; x < 4; x++)
            if (!strcmp(plan->program->indices[i]->name, extents[x].name))
                of[i] = extents[x].extent;
    const SizeValues values = { of, NULL, 1 };
    const Units units = { size_evaluate(plan->launches[0]->units, &values), size_evaluate(plan->workspace, &values) };
    end(planned);
    return units;
}

/* Few documents make about as many units as keep workers busy; many make more of them, not larger ones. */
static void many_documents_make_more_units(void **unused)
{
    (void)unused;
    for (int64_t documents = 60; documents <= 180; documents++)
        assert_in_range(units_of_documents(documents).count, 8, 12);
    const Units some = units_of_documents(1000), many = units_of_documents(100000);
    assert_int_equal(some.bytes, many.bytes);
    assert_in_range(many.count, 98 * some.count, 102 * some.count);
}

/* Where memory is fast in its own order, columns in place are asked for nearest points first, some points at a time; those that many
 * rows meet are packed. */
static void columns_are_asked_for_in_order(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *target, *order;
        int points;
    } cases[] = {
        { "adb,cd->cba", "amx", "bd", 96 }, { "abde,cd->ceba", "amx", "edb", 96 }, { "adbe,cd->ceba", "amx", "ebd", 32 },
        { "adb,cd->cba", "avx512bf16", "", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int many = 0; many < 2; many++) {
            CompileOptions options = { .target = target_find(cases[i].target) };
            ExtentSpec extents[] = { { .name = "a", .extent = 384 }, { .name = "b", .extent = 384 }, { .name = "c", .extent = many ? 4000 : 24 },
                                     { .name = "d", .extent = 384 }, { .name = "e", .extent = 384 } };
            options.check.extents = extents;
            options.check.extent_count = strchr(cases[i].text, 'e') ? 5 : 4;
            Planned *planned = plan_of(cases[i].text, options);
            const Contract *c = planned->plan->launches[0]->steps[0]->contract;
            const char *order = many ? "" : cases[i].order;
            assert_int_equal(c->columns_asked.count, strlen(order));
            for (int n = 0; order[n]; n++)
                assert_int_equal(c->columns_asked.list[n]->name[0], order[n]);
            assert_int_equal(c->asked_points, many ? 0 : cases[i].points);
            end(planned);
        }
}

/* There a matrix that few rows meet is taken some points at a time, in place, for as many columns as long runs have; a vector's is not,
 * nor where it is small. One whose rows are read is tiled for few columns. */
static void few_rows_meet_a_matrix_in_order(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *target;
        int rows, points, lines, columns;
        bool is_tiled, widens;
    } cases[] = {
        { "ck,kn->cn", "amx", 1, 0, 0, 5000, false, false },       { "ck,kn->cn", "amx", 2, 96, 2, 5000, true, false },
        { "ck,kn->nc", "amx", 14, 96, 2, 5000, true, false },      { "ck,kn->cn", "amx", 15, 96, 1, 5000, true, false },
        { "ck,kn->cn", "amx", 112, 96, 1, 5000, true, false },     { "ck,kn->cn", "amx", 113, 0, 0, 5000, true, false },
        { "ck:f64,kn:f64->cn", "amx", 8, 32, 2, 5000, true, false },    /* where each point is in another page */
        { "ck,kn->cn", "amx", 8, 96, 2, 600, true, false },        { "ck,kn->cn", "amx", 8, 0, 2, 200, true, false },
        { "ck,kn->cn", "avx512bf16", 8, 0, 0, 5000, true, false }, { "ck,kn->cn", "avx512bf16", 4, 0, 0, 5000, false, false },
        { "ck,nk->cn", "amx", 2, 0, 0, 5000, false, false },       { "ck,nk->cn", "amx", 3, 0, 0, 5000, true, false },
        { "ck,nk->cn", "avx512bf16", 3, 0, 0, 5000, false, false },
        { "ck,kn:bf16->cn", "amx", 64, 96, 1, 2000, true, true },    /* numbers of 16 bits: fewer lines */
        { "ck,kn:i8->cn", "amx", 8, 96, 1, 5000, true, true },
        { "ck:bf16,kn:bf16->cn:f32", "amx", 8, 96, 1, 5000, true, true }, { "ck:bf16,kn:bf16->cn:f32", "amx", 43, 0, 0, 5000, true, false },
        { "ck:f16,kn:f16->cn", "avx512bf16", 8, 0, 0, 5000, true, false },
        { "ck:f64,kn:f64->cn", "avx2", 12, 8, 1, 5000, true, false }, { "ck:f64,kn:f64->cn", "avx2", 13, 384, 0, 5000, true, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find(cases[i].target) };
        ExtentSpec extents[] = { { .name = "c", .extent = cases[i].rows }, { .name = "k", .extent = 4096 }, { .name = "n", .extent = cases[i].columns } };
        options.check.extents = extents;
        options.check.extent_count = 3;
        Planned *planned = plan_of(cases[i].text, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        assert_int_equal(c != NULL, cases[i].is_tiled);
        if (c) {
            assert_int_equal(c->sweep, cases[i].points);
            assert_int_equal(c->asked_lines, cases[i].lines);
            assert_int_equal(c->widened != NULL, cases[i].widens);
            assert_int_equal(c->columns_asked.count, cases[i].lines ? 2 : 0);
        }
        end(planned);
    }
}

/* On a grid a product's columns are blocks, and where these are too few for it a reduction of the rows is cut into parts behind them,
 * unless there is no memory for their states, or other steps follow in the same launch; so it is of numbers that a ring would multiply
 * in a few blocks. Tiles are large where parts make up for them. */
static void few_columns_are_cut_along_rows_too(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int columns, rows, memory, tile, blocks;
        bool is_split, has_ring;
    } cases[] = {
        { "ik,jk->ij | max j", 2048, 2048, 0, 128, 2, true, false },    { "ik:f64,jk:f64->ij | argmax j", 2048, 2048, 0, 64, 2, true, false },
        { "ik,jk->ij | max j", 2048, 2048, 1, 32, 1, false, false },    { "ik,jk->ij | max j | sum i", 2048, 2048, 0, 32, 1, false, false },
        { "ik,jk->ij | max j", 100, 100, 0, 32, 1, false, false },      { "ik,jk->ij | max j", 20000, 20000, 0, 64, 1, false, false },
        { "ik:bf16,jk:bf16->ij | argmax j", 64, 100000, 0, 64, 2, true, false },
        { "ik:bf16,jk:bf16->ij | max j", 100, 100, 0, 32, 1, false, true },
        { "ik:bf16,jk:bf16->ij | max j", 20000, 20000, 0, 64, 1, false, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find("cuda:sm_90a"), .memory = cases[i].memory };
        int64_t shapes[2][2] = { { cases[i].columns, 128 }, { cases[i].rows, 128 } };
        OperandSpec operands[] = { { .dtype = DTYPE_NONE, .rank = 2, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .rank = 2, .shape = shapes[1] } };
        options.check.operands = operands;
        options.check.operand_count = 2;
        Planned *planned = plan_of(cases[i].text, options);
        const Launch *launch = planned->plan->launches[0];
        assert_int_equal(launch->block_count, cases[i].blocks);
        assert_int_equal(launch->steps[0]->split != NULL, cases[i].is_split);
        assert_int_equal(launch->steps[0]->contract->block->columns, cases[i].tile);
        assert_int_equal(launch->steps[0]->contract->ring != NULL, cases[i].has_ring);
        end(planned);
    }
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
BREAK(bytes_none, storage_at(p, PLACE_SHARED)->bytes = &none)
BREAK(worker_without_room, p->per_worker = &none)
static Block sweep_of_none;
BREAK(sweep_nowhere, p->launches[0]->sweep = NULL)
BREAK(sweep_short, p->launches[0]->sweep_to--)
BREAK(sweep_without_index, sweep_of_none = *p->launches[0]->sweep; sweep_of_none.of_step = calloc(9, sizeof(Index *)); p->launches[0]->sweep = &sweep_of_none)
BREAK(workspace_of_one, p->workspace = p->per_worker)

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
        { BLOCK, stride_none, "strides and bytes" },
        { SHARED, bytes_none, "strides and bytes" },
        { BLOCK, worker_without_room, "more than a worker" },
        { SHARED, workspace_of_one, "one part for each worker" },
        { KERNEL_SUM, sweep_nowhere, "not in its place" },
        { KERNEL_SUM, sweep_short, "not in its place" },
        { KERNEL_SUM, sweep_without_index, "lacks a step's index" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool sweeps = !strcmp(cases[i].text, KERNEL_SUM);
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
        cmocka_unit_test(memory_does_not_grow_with_what_is_reduced),
        cmocka_unit_test(only_what_scales_with_its_maximum_is_swept),
        cmocka_unit_test(many_documents_make_more_units),
        cmocka_unit_test(columns_are_asked_for_in_order),
        cmocka_unit_test(few_rows_meet_a_matrix_in_order),
        cmocka_unit_test(few_columns_are_cut_along_rows_too),
        cmocka_unit_test(what_is_broken_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
