/* What the planner chooses: sweeps, tiles, parts and orders of memory, by the sizes that are known and the target. */
#include <stdio.h>

#include "plan_testing.h"

#define SWEPT "bhqd,bhkd->bhqk | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv"
#define KERNEL_SUM "(qd - kd)^2 -> qk | exp(-0.5 * _) | * kv -> qv"

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
        { "adb,cd->cba", "sapphirerapids", "bd", 96 }, { "adb,cd->cba", "avx512vnni", "bd", 96 }, { "adb,cd->cba", "avx512bf16", "", 0 },
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
        { "ck,kn->cn", "amx", 1, 0, 0, 5000, false, false },       { "ck,kn->cn", "amx", 2, 0, 0, 5000, false, false },
        { "ck,kn->nc", "amx", 14, 96, 2, 5000, true, false },      { "ck,kn->cn", "amx", 15, 96, 1, 5000, true, false },
        { "ck,kn->cn", "amx", 112, 96, 1, 5000, true, false },     { "ck,kn->cn", "amx", 113, 0, 0, 5000, true, false },
        { "ck:f64,kn:f64->cn", "amx", 8, 32, 2, 5000, true, false },    /* where each point is in another page */
        { "ck,kn->cn", "amx", 8, 96, 2, 1500, true, false },       { "ck,kn->cn", "amx", 16, 0, 0, 200, true, false },
        { "ck,kn->cn", "avx512bf16", 8, 96, 2, 5000, true, false }, { "ck,kn->cn", "avx512", 113, 0, 0, 5000, true, false },
        { "ck,nk->cn", "amx", 2, 0, 0, 5000, false, false },       { "ck,nk->cn", "amx", 12, 0, 0, 5000, true, false },
        { "ck,nk->cn", "avx512bf16", 12, 0, 0, 5000, true, false }, { "ck,kn->cn", "portable", 4, 0, 0, 5000, false, false },
        { "ck,kn:bf16->cn", "amx", 64, 96, 1, 2000, true, true },    /* numbers of 16 bits: fewer lines */
        { "ck,kn:i8->cn", "amx", 8, 96, 1, 5000, true, true },
        { "ck:bf16,kn:bf16->cn:f32", "amx", 8, 96, 1, 5000, true, true }, { "ck:bf16,kn:bf16->cn:f32", "amx", 43, 0, 0, 5000, true, false },
        { "ck:f16,kn:f16->cn", "avx512bf16", 8, 96, 1, 5000, true, true },
        { "ck:f64,kn:f64->cn", "avx2", 36, 8, 0, 5000, true, false }, { "ck:f64,kn:f64->cn", "avx2", 37, 384, 0, 5000, true, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find(cases[i].target) };
        ExtentSpec extents[] = { { .name = "c", .extent = cases[i].rows }, { .name = "k", .extent = 4096 }, { .name = "n", .extent = cases[i].columns } };
        options.check.extents = extents;
        options.check.extent_count = 3;
        Planned *planned = plan_of(cases[i].text, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        if ((c != NULL) != cases[i].is_tiled ||
            (c && (c->sweep != cases[i].points || c->asked_lines != cases[i].lines || (c->widened != NULL) != cases[i].widens ||
                   c->columns_asked.count != (cases[i].lines ? 2 : 0))))
            fail_msg("%s of %d rows on %s: %d points at a time, %d lines", cases[i].text, cases[i].rows, cases[i].target, c ? c->sweep : -1, c ? c->asked_lines : -1);
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

/* An expression of such operands and extents ("i=8,j=9") is cut into so many launches on a GPU, of which the last one is in parts, or not. */
typedef struct Busy {
    const char *text, *operands, *extents;
    int64_t memory;
    int launches;
    bool is_split;
    const char *target;           /* NULL: a GPU */
} Busy;

static int64_t extent_in(const char *extents, char index)
{
    while (*extents != index)
        extents += strcspn(extents, ",") + 1;
    return atoll(extents + 2);
}

static int shapes_of(const Busy *busy, OperandSpec *list, int64_t shapes[][4])
{
    int count = 0;
    for (const char *at = busy->operands; *at; at += *at == ',') {
        list[count] = (OperandSpec){ .dtype = DTYPE_NONE, .shape = shapes[count] };
        for (; *at && *at != ','; at++)
            shapes[count][list[count].rank++] = extent_in(busy->extents, *at);
        count++;
    }
    return count;
}

/* Contracted points are cut into parts where a product has too few tiles for the card, unless there is no memory for sums of them or all is done
 * in the time of one more launch; and steps that would leave it, or threads, idle together, or read a matrix in pieces that they
 * could read by whole rows, run one after the other where little is stored between them. */
static void all_of_a_machine_has_work(void **unused)
{
    (void)unused;
    static const Busy cases[] = {
        { "ki,kj->ij", "ki,kj", "k=262144,i=128,j=128", 0, 1, true, NULL },
        { "ki,kj->ij", "ki,kj", "k=262144,i=128,j=128", 1, 1, false, NULL },
        { "ki,kj->ij", "ki,kj", "k=4096,i=4096,j=4096", 0, 1, false, NULL },
        { "ik,kj->ij", "ik,kj", "i=128,j=128,k=128", 0, 1, false, NULL },
        { "bk,kj->bj", "bk,kj", "b=8,k=4096,j=4096", 0, 1, true, NULL },
        { "bi,ijk,bj->bk", "bi,ijk,bj", "b=256,i=128,j=128,k=128", 0, 1, true, NULL },
        { "ki:f64,kj:f64->ij", "ki,kj", "k=262144,i=128,j=128", 0, 1, true, NULL },
        { "ki:bf16,kj:bf16->ij", "ki,kj", "k=65536,i=512,j=512", 0, 1, false, NULL },
        { "ij,jk,kl->il", "ij,jk,kl", "i=100,j=4096,k=4096,l=100", 0, 2, true, NULL },
        { "ij,jk,kl->il", "ij,jk,kl", "i=100,j=64,k=64,l=100", 0, 1, false, NULL },
        { "hd,hjd->hj | softmax j | * hjv->hv", "hd,hjd,hjv", "h=8,j=65536,d=128,v=128", 0, 5, true, NULL },
        { "hd,hjd->hj | softmax j | * hjv->hv", "hd,hjd,hjv", "h=8,j=65536,d=128,v=128", 300000, 1, false, NULL },
        { "hid,hjd->hij | softmax j | * hjv->hiv", "hid,hjd,hjv", "h=16,i=4096,j=4096,d=128,v=128", 0, 1, false, NULL },
        { "ij | softmax j", "ij", "i=8192,j=8192", 0, 1, false, NULL },
        { "ij | softmax j", "ij", "i=16,j=1000000", 0, 4, false, NULL },
        { "ij->", "ij", "i=8192,j=8192", 0, 1, true, NULL },
        { "ij:c64,jk:c64->ik", "ij,jk", "i=100,j=512,k=100", 0, 3, false, NULL },
        { "ij:c64,jk:c64,kl:c64->il", "ij,jk,kl", "i=100,j=4096,k=4096,l=100", 0, 6, false, NULL },
        { "ij,jk,kl->il", "ij,jk,kl", "i=4,j=4096,k=4096,l=1024", 0, 2, false, "avx512" },
        { "ij,jk,kl->il", "ij,jk,kl", "i=4,j=4096,k=4096,l=1024", 30000, 1, false, "avx512" },
        { "ij,jk,kl->il", "ij,jk,kl", "i=4096,j=512,k=64,l=512", 0, 1, false, "avx512" },
        { "ij,jk,kl->il", "ij,jk,kl", "i=4,j=100,k=100,l=100", 0, 1, false, "avx512" },
        { "ij,kj->ik | softmax k", "ij,kj", "i=4,j=512,k=32000", 0, 2, false, "avx512" },
        { "ij | softmax j", "ij", "i=2,j=1000000", 0, 1, false, "avx512" },
        { "hid,hjd->hij | softmax j | * hjv->hiv", "hid,hjd,hjv", "h=1,i=32,j=8192,d=64,v=64", 0, 1, false, "avx512" },
        { "ij,jk->k", "ij,jk", "i=3000,j=3000,k=2", 0, 2, false, "avx512" },
        { "ij,jk->k", "ij,jk", "i=3000,j=3000,k=2", 10000, 1, true, "avx512" },
        { "ij,jk->k", "ij,jk", "i=300,j=300,k=2", 0, 1, true, "avx512" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OperandSpec operands[3];
        int64_t shapes[3][4];
        CompileOptions options = { .target = target_find(cases[i].target ? cases[i].target : "cuda:sm_90a"), .memory = cases[i].memory };
        options.check.operands = operands;
        options.check.operand_count = shapes_of(&cases[i], operands, shapes);
        Planned *planned = plan_of(cases[i].text, options);
        const Launch *last = planned->plan->launches[planned->plan->launch_count - 1];
        assert_int_equal(planned->plan->launch_count, cases[i].launches);
        assert_int_equal(last->steps[last->step_count - 1]->split != NULL, cases[i].is_split);
        end(planned);
    }
}

/* Of two rows whose runs are no whole lines tiles have whole runs, of vectors that are lines or halves of them; and a unit of work has
 * whole lines of a result that is turned. */
static void results_leave_in_lines(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *target;
        int a, halves, rows, vectors;
        int64_t tile;                 /* of a */
    } cases[] = {
        { "bk,cak->cba", "avx2", 24, 3, 4, 3, 24 },    { "bk,cak->cba", "avx512", 24, 3, 8, 3, 24 },
        { "bk,cak->cba", "avx2", 40, 5, 2, 5, 40 },    { "bk,cak->cba", "avx2", 56, 0, 6, 2, 56 },
        { "bk,cak->cba", "avx2", 32, 0, 6, 2, 32 },    { "bk,cak->cba", "portable", 24, 0, 6, 2, 24 },
        { "ackd,kb->dcba", "avx2", 96, 0, 6, 2, 48 },  { "ackd,kb->dcba", "avx512", 96, 0, 14, 2, 96 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find(cases[i].target) };
        ExtentSpec extents[] = { { .name = "a", .extent = cases[i].a }, { .name = "b", .extent = 240 }, { .name = "c", .extent = 2000 },
                                 { .name = "k", .extent = 24 }, { .name = "d", .extent = 64 } };
        options.check.extents = extents;
        options.check.extent_count = strchr(cases[i].text, 'd') ? 5 : 4;
        Planned *planned = plan_of(cases[i].text, options);
        const Launch *launch = planned->plan->launches[0];
        const Contract *c = launch->steps[0]->contract;
        const int64_t tile = tile_along(planned, "a", &options.check);
        if (c->halves != cases[i].halves || c->tile_rows != cases[i].rows || c->tile_vectors != cases[i].vectors || tile != cases[i].tile)
            fail_msg("%s on %s: %d halves, %d rows, %d vectors, %ld of a", cases[i].text, cases[i].target, c->halves, c->tile_rows,
                     c->tile_vectors, (long)tile);
        end(planned);
    }
}

/* Low tiles that meet a matrix as it lies have more columns, and units of work runs as long as their sums have room. */
static void low_tiles_are_wide(void **unused)
{
    (void)unused;
    static const struct { int count, rows, vectors, columns; } cases[] = {
        { 2, 2, 4, 2048 }, { 3, 4, 3, 2040 }, { 4, 4, 3, 2040 }, { 5, 6, 2, 2048 }, { 6, 6, 2, 2048 }, { 8, 4, 3, 2064 }, { 12, 6, 2, 2048 },
        { 32, 4, 3, 1656 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find("avx2") };
        ExtentSpec extents[] = { { .name = "c", .extent = cases[i].count }, { .name = "k", .extent = 8192 }, { .name = "n", .extent = 16384 } };
        options.check.extents = extents;
        options.check.extent_count = 3;
        Planned *planned = plan_of("ck,kn->cn", options);
        const Launch *launch = planned->plan->launches[0];
        const Contract *c = launch->steps[0]->contract;
        const int64_t columns = tile_along(planned, "n", &options.check);
        if (c->tile_rows != cases[i].rows || c->tile_vectors != cases[i].vectors || columns != cases[i].columns)
            fail_msg("of %d rows: %d by %d vectors, %ld columns", cases[i].count, c->tile_rows, c->tile_vectors, (long)columns);
        end(planned);
    }
}

/* Columns whose rows of memory are shorter than a page and follow each other come in whole rows where there are few rows, if enough units
 * of work are left. */
static void short_rows_come_whole(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int batch, columns, rows; Dtype dtype; bool whole; } cases[] = {
        { "akn,ck->acn", "avx2", 40, 384, 8, DTYPE_F32, true },    { "akn,ck->cna", "avx2", 400, 384, 24, DTYPE_F32, true },
        { "akn,ack->acn", "avx2", 40, 1000, 2, DTYPE_F32, true },  { "akn,ck->acn", "avx2", 40, 1025, 8, DTYPE_F32, false },
        { "akn,ck->acn", "avx2", 40, 384, 37, DTYPE_F32, false },  { "akn,ck->acn", "avx2", 7, 384, 8, DTYPE_F32, false },
        { "akn,ck->acn", "avx2", 40, 15, 8, DTYPE_F32, false },    { "akn,ck->acn", "avx512", 40, 384, 8, DTYPE_F32, false },
        { "kan,ck->acn", "avx2", 40, 384, 8, DTYPE_F32, false },
        { "akn,ck->acn", "avx2", 40, 384, 8, DTYPE_BF16, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t shapes[2][3] = { { 0 } };
        OperandSpec operands[2] = { { .dtype = DTYPE_NONE, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .shape = shapes[1] } };
        for (const char *at = cases[i].expression, *end = strchr(at, '-'), *second = strchr(at, ','); at < end; at++) {
            OperandSpec *operand = &operands[at > second];
            int64_t extent = *at == 'a' ? cases[i].batch : *at == 'c' ? cases[i].rows : *at == 'n' ? cases[i].columns : *at == 'k' ? 6000 : 0;
            if (extent)
                shapes[at > second][operand->rank++] = extent;
        }
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .operands = operands, .operand_count = 2 } };
        operands[0].dtype = cases[i].dtype;
        Planned *planned = plan_of(cases[i].expression, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        if ((c && c->sweep_whole) != cases[i].whole)
            fail_msg("%s of %d by %d: %s", cases[i].expression, cases[i].rows, cases[i].columns, cases[i].whole ? "not whole" : "whole");
        end(planned);
    }
}

/* What is read in place, or takes less to be packed, are a tile's rows: of few tokens the weights, narrow ones, too. */
static void weights_are_rows(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int tokens; char column; } cases[] = {
        { "ck,nk->cn", "avx512bf16", 8, 'c' },             { "ck:bf16,nk:bf16->cn", "avx512bf16", 12, 'c' },
        { "ck:i8,nk:i8->cn", "avx512bf16", 8, 'c' },       { "ck,nk:f16->cn", "avx512bf16", 14, 'c' },
        { "ck,nk:i8->cn", "avx512", 14, 'c' },               { "ck:bf16,nk:bf16->cn", "amx", 8, 'c' },
        { "ck,nk->cn", "avx512bf16", 12000, 'n' },          { "ck:i8,kn:i8->cn", "avx512bf16", 16, 'n' },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t shapes[2][2] = { { cases[i].tokens, 4096 }, { 11008, 4096 } };
        if (strstr(cases[i].expression, "kn")) {
            shapes[1][0] = 4096;
            shapes[1][1] = 11008;
        }
        OperandSpec operands[] = { { .dtype = DTYPE_NONE, .rank = 2, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .rank = 2, .shape = shapes[1] } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .operands = operands, .operand_count = 2 } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        if (!c || c->columns.list[0]->name[0] != cases[i].column)
            fail_msg("%s of %d rows on %s: columns are not %c", cases[i].expression, cases[i].tokens, cases[i].target, cases[i].column);
        end(planned);
    }
}

/* Pixels are rows of a window, but columns where there is little to multiply for each that is stored, and where they are few. */
static void pixels_are_rows_of_a_window(void **unused)
{
    (void)unused;
    static const struct { int64_t channels, side, weights, size, step; bool is_window; } cases[] = {
        { 64, 58, 64, 3, 1, true },   { 128, 30, 128, 3, 1, true }, { 16, 66, 32, 5, 1, true },
        { 64, 57, 128, 3, 2, true },  { 3, 229, 64, 7, 2, true },
        { 3, 226, 64, 3, 1, false },  { 512, 9, 512, 3, 1, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t shapes[2][4] = { { 1, cases[i].channels, cases[i].side, cases[i].side },
                                 { cases[i].weights, cases[i].channels, cases[i].size, cases[i].size } };
        OperandSpec operands[] = { { .dtype = DTYPE_NONE, .rank = 4, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .rank = 4, .shape = shapes[1] } };
        CompileOptions options = { .target = target_find("avx512"), .check = { .operands = operands, .operand_count = 2 } };
        Planned *planned = plan_of(cases[i].step == 1 ? "x[n,c,h+r,w+s], k[o,c,r,s] -> [n,o,h,w]"
                                                      : "x[n,c,2*h+r,2*w+s], k[o,c,r,s] -> [n,o,h,w]", options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        if (!c || (c->window != NULL) != cases[i].is_window)
            fail_msg("%ld channels of %ld squared: %s", (long)cases[i].channels, (long)cases[i].side, cases[i].is_window ? "no window" : "a window");
        end(planned);
    }
}

/* Rows that each point has side by side are packed in long runs, where vectors are lines: many of them at a time, of some of the points. */
static void far_rows_are_packed_in_long_runs(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int depth, sweep, block; } cases[] = {
        { "ki,kj->ij", "avx512", 3000, 896, 15 }, { "ki,kj->ij", "avx512", 2048, 0, 7 }, { "ik,kj->ij", "avx512", 3000, 0, 6 },
        { "ik,kj->ij", "avx512", 8000, 640, 8 },  { "ki,kj->ij", "amx", 3000, 896, 20 }, { "ki,kj->ij", "avx2", 3000, 0, 8 },
        { "ki,kj->ij", "avx2", 8000, 896, 8 },    { "ki:f64,kj:f64->ij", "avx512", 3000, 896, 7 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "i", .extent = 2000 }, { .name = "j", .extent = 2000 }, { .name = "k", .extent = cases[i].depth } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 3 } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        if (!c || c->sweep != cases[i].sweep || c->row_block != cases[i].block)
            fail_msg("%s of %d points on %s: %d points at a time, %d tiles of rows", cases[i].expression, cases[i].depth, cases[i].target,
                     c ? c->sweep : -1, c ? c->row_block : -1);
        end(planned);
    }
}

/* Deep products of few results are made in parts, which are units of work; as tiles however deep they are. */
static void deep_products_are_shared(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int depth, rows, columns, parts, sweep; } cases[] = {
        { "kc,kn->cn", "avx2", 500000, 64, 64, 16, 96 },     { "kc,kn->cn", "avx512bf16", 100000, 128, 500, 16, 192 },
        { "kc,kn->cn | relu", "avx2", 40000, 64, 64, 16, 96 }, { "kc,kn->cn", "avx2", 1700, 64, 64, 4, 96 },
        { "kc,kn->cn", "sapphirerapids", 10000, 128, 128, 16, 192 }, { "kc,kn->cn", "sapphirerapids", 1500, 200, 200, 7, 192 },
        { "kc,kn->cn", "sapphirerapids", 200, 128, 128, 0, 0 },     { "kc,kn->cn", "sapphirerapids", 2000, 500, 500, 0, 0 },
        { "kc,nk->cn", "sapphirerapids", 10000, 128, 128, 13, 768 }, { "ck,kn->cn", "sapphirerapids", 1500, 128, 128, 0, 0 },
        { "bkc,bkn->bcn", "sapphirerapids", 5000, 64, 64, 0, 96 },
        { "kc,kn->cn", "avx2", 500000, 64, 600, 0, 896 },     { "kc,kn->cn", "avx2", 1000000, 600, 600, 0, 896 },
        { "kc,kn->cn | max c", "avx2", 500000, 64, 64, 0, 0 }, { "kc,kn->cn", "avx2", 1000000, 4, 64, 16, 1280 },
        { "kc,kn,k->cn", "sapphirerapids", 40000, 200, 32, 16, 192 }, { "kc,kn,k->cn", "avx2", 500000, 64, 64, 16, 96 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t shapes[3][3];
        OperandSpec operands[3];
        int count = 0;
        for (const char *letter = cases[i].expression; *letter != '-'; letter += *letter == ',') {
            int64_t *shape = shapes[count];
            operands[count] = (OperandSpec){ .dtype = DTYPE_NONE, .shape = shape };
            for (; *letter >= 'a' && *letter <= 'z'; letter++)
                shape[operands[count].rank++] = *letter == 'k' ? cases[i].depth : *letter == 'c' ? cases[i].rows : *letter == 'n' ? cases[i].columns : 16;
            count++;
        }
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .operands = operands, .operand_count = count } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        int64_t of[32] = { 0 };
        for (int n = 0; n < planned->plan->program->index_count; n++) {
            char name = planned->plan->program->indices[n]->name[0];
            of[n] = name == 'k' ? cases[i].depth : name == 'c' ? cases[i].rows : cases[i].columns;
        }
        int64_t parts = step->split ? size_evaluate(step->parts, &(SizeValues){ of, NULL, 1 }) : 0;
        if (!step->contract || parts != cases[i].parts || step->contract->sweep != cases[i].sweep)
            fail_msg("%s of %d points, %d rows, %d columns on %s: %ld parts, %d points at a time", cases[i].expression, cases[i].depth, cases[i].rows, cases[i].columns, cases[i].target, (long)parts,
                     step->contract ? step->contract->sweep : -1);
        end(planned);
    }
}

/* Where vectors are halves of lines, rows of a large result that are 4096 bytes apart, or half of that, would wait for each other. */
static void rows_go_to_different_places(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *target;
        int b, d;
        const char *row;
        int rows;
    } cases[] = {
        { "bak:f64,cdk:f64->dcba", "avx2", 16, 1000, "c", 4 },      { "bak:f64,cdk:f64->dcba", "avx2", 17, 1000, "c", 6 },
        { "bak:f64,cdk:f64->cdba", "avx2", 16, 1024, "d", 4 },      { "bak:f64,cdk:f64->dcba", "avx2", 16, 100, "c", 6 },
        { "bak:f64,cdk:f64->dcba", "avx512", 16, 1000, "c", 14 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find(cases[i].target) };
        ExtentSpec extents[] = { { .name = "a", .extent = 24 }, { .name = "b", .extent = cases[i].b }, { .name = "c", .extent = 16 },
                                 { .name = "d", .extent = cases[i].d }, { .name = "k", .extent = 24 } };
        options.check.extents = extents;
        options.check.extent_count = 5;
        Planned *planned = plan_of(cases[i].text, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        const char *row = c->rows.list[c->rows.count - 1]->name;
        if (strcmp(row, cases[i].row) || c->tile_rows != cases[i].rows)
            fail_msg("%s on %s, b=%d, d=%d: %d rows of %s", cases[i].text, cases[i].target, cases[i].b, cases[i].d, c->tile_rows, row);
        end(planned);
    }
}

/* Guessed maxima are of the rows of a product's tiles: not of its batch, which a softmax may go over as well. */
static void guesses_are_of_columns(void **unused)
{
    (void)unused;
    static const struct { const char *text; int k, i, j, d; int64_t memory; bool guesses; } cases[] = {
        { "kid,kjd -> kij | softmax j", 4, 100, 512, 64, 0, true }, { "kdi,kdj -> ijk | softmax k", 500, 8, 2, 300, 100000, false },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        ExtentSpec extents[] = { { .name = "k", .extent = cases[n].k }, { .name = "i", .extent = cases[n].i },
                                 { .name = "j", .extent = cases[n].j }, { .name = "d", .extent = cases[n].d } };
        CompileOptions options = { .target = target_find("avx512"), .check = { .extents = extents, .extent_count = 4 }, .memory = cases[n].memory };
        Planned *planned = plan_of(cases[n].text, options);
        bool guesses = false;
        for (int l = 0; l < planned->plan->launch_count; l++)
            guesses |= planned->plan->launches[l]->guess != NULL;
        if (guesses != cases[n].guesses)
            fail_msg("%s: a maximum is %sguessed", cases[n].text, guesses ? "" : "not ");
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_go_to_different_places),
        cmocka_unit_test(low_tiles_are_wide),
        cmocka_unit_test(short_rows_come_whole),
        cmocka_unit_test(weights_are_rows),
        cmocka_unit_test(pixels_are_rows_of_a_window),
        cmocka_unit_test(far_rows_are_packed_in_long_runs),
        cmocka_unit_test(deep_products_are_shared),
        cmocka_unit_test(results_leave_in_lines),
        cmocka_unit_test(memory_does_not_grow_with_what_is_reduced),
        cmocka_unit_test(only_what_scales_with_its_maximum_is_swept),
        cmocka_unit_test(many_documents_make_more_units),
        cmocka_unit_test(columns_are_asked_for_in_order),
        cmocka_unit_test(few_rows_meet_a_matrix_in_order),
        cmocka_unit_test(few_columns_are_cut_along_rows_too),
        cmocka_unit_test(all_of_a_machine_has_work),
        cmocka_unit_test(guesses_are_of_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
