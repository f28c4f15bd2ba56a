/* Rows of memory: which short ones are turned in squares, so that lanes run along others of them, how turned ones are stored, and how far
 * apart those lie that are read together. */
#include "plan_testing.h"

typedef struct Case {
    const char *text;
    int64_t b, i, j;
    const char *along;            /* index of the lanes; NULL: rows are reduced as they lie */
} Case;

static Planned *planned_of(const Case *one, const char *target, ExtentSpec extents[3], CompileOptions *options)
{
    extents[0] = (ExtentSpec){ .name = "b", .extent = one->b };
    extents[1] = (ExtentSpec){ .name = "i", .extent = one->i };
    extents[2] = (ExtentSpec){ .name = "j", .extent = one->j };
    *options = (CompileOptions){ .target = target_find(target), .check = { .extents = extents + (one->b == 0), .extent_count = one->b ? 3 : 2 } };
    return plan_of(one->text, *options);
}

static const char *turned_along(const Planned *planned)
{
    const Step *step = planned->plan->launches[0]->steps[0];
    return step->statement->turned ? step->vector->name : NULL;
}

/* The more a reduction does to a row, the longer rows are turned; few rows are not, nor are those of which four numbers are picked from
 * as many vectors, nor what has no squares. */
static void short_rows_are_turned(void **unused)
{
    (void)unused;
    static const Case cases[] = {
        { "ij | sum j", 0, 100000, 16, "i" },
        { "ij | sum j", 0, 100000, 17, NULL },
        { "ij | exp | sum j", 0, 100000, 32, "i" },
        { "ij | exp | sum j", 0, 100000, 33, NULL },
        { "ij | argmax j", 0, 100000, 48, "i" },
        { "ij | argmax j", 0, 100000, 49, NULL },
        { "ij | logsumexp j", 0, 100000, 96, "i" },
        { "ij | softmax j", 0, 100000, 64, "i" },
        { "ij | softmax j", 0, 100000, 65, NULL },
        { "ij | softmax j", 0, 100000, 4, NULL },
        { "ij:f64 | softmax j", 0, 100000, 32, "i" },
        { "ij:f64 | softmax j", 0, 100000, 33, NULL },
        { "ij:bf16 | softmax j", 0, 100000, 16, "i" },
        { "ij:f16 | logsumexp j", 0, 100000, 16, "i" },
        { "ij:i8 | argmax j", 0, 100000, 16, NULL },
        { "ij | softmax j", 0, 127, 16, NULL },
        { "ij | softmax i", 0, 16, 100000, NULL },
        { "ij | cumsum j", 0, 100000, 16, NULL },
        { "ij | max j & argmax j", 0, 100000, 16, "i" },
        { "ij | topk(2) j & argtopk(2) j", 0, 100000, 16, "i" },
        { "ij | argtopk(8) j", 0, 100000, 128, "i" },
        { "ij | argtopk(8) j", 0, 100000, 129, NULL },
        { "ij | topk(9) j", 0, 100000, 16, NULL },
        { "i64(ij:i32) | topk(2) j", 0, 100000, 16, NULL },
        { "bij | softmax j", 2000, 64, 16, "i" },
        { "bij | softmax j", 2000, 8, 16, "b" },
        { "bij | softmax j", 4, 32, 16, "i" },
        { "bij | softmax j", 2, 32, 16, NULL },
        { "x[i,b,j] -> [i,b,j] | softmax j", 3, 1100, 16, "i" },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        ExtentSpec extents[3];
        CompileOptions options;
        Planned *planned = planned_of(&cases[n], "avx512", extents, &options);
        const char *along = turned_along(planned), *wanted = cases[n].along;
        if ((along != NULL) != (wanted != NULL) || (along && strcmp(along, wanted)))
            fail_msg("%s, %ld %ld %ld: along %s", cases[n].text, (long)cases[n].b, (long)cases[n].i, (long)cases[n].j, along ? along : "none");
        end(planned);
    }
}

/* Blocks are of whole vectors that stay in the first cache, and of one point of what is around the rows. */
static void rows_are_in_blocks(void **unused)
{
    (void)unused;
    static const Case one = { "bij | softmax j", 100, 4096, 16, "i" };
    ExtentSpec extents[3];
    CompileOptions options;
    Planned *planned = planned_of(&one, "avx512", extents, &options);
    assert_int_equal(planned->plan->launch_count, 1);
    assert_int_equal(tile_along(planned, "b", &options.check), 1);
    const int64_t rows = tile_along(planned, "i", &options.check);
    assert_true(rows % 16 == 0 && rows >= 64 && rows * one.j * 4 <= target_find("avx512")->l1_bytes);
    end(planned);
}

/* Large results go past the caches if rows end where lines do. */
static void whole_lines_go_past_the_caches(void **unused)
{
    (void)unused;
    for (int whole = 0; whole < 2; whole++) {
        const Case one = { "ij | softmax j", 0, 1000000, whole ? 32 : 33, "i" };
        ExtentSpec extents[3];
        CompileOptions options;
        Planned *planned = planned_of(&one, "avx512", extents, &options);
        const Launch *launch = planned->plan->launches[0];
        assert_int_equal(launch->steps[launch->step_count - 1]->result != NULL, whole);
        end(planned);
    }
}

/* Rows of a turned result that end within lines are stored in strips, past the caches if they are long enough; unknown ones may be such. */
static void turned_rows_leave_in_lines(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *target;
        int rows, row;                /* 0: not known */
        int strip;
        bool is_past;
    } cases[] = {
        { "ji->ij", "avx512", 4000, 4000, 0, true },           { "ji->ij", "avx512", 4000, 4001, 256, true },
        { "ji->ij", "avx512", 400000, 100, 0, false },         { "ji->ij", "avx512", 400000, 96, 0, true },
        { "ji->ij", "avx512", 400, 401, 0, false },            { "ji->ij", "avx2", 4000, 4001, 256, true },
        { "ij + ji -> ij", "avx2", 4096, 4096, 256, true },    { "ij + ji -> ij", "avx512", 4096, 4096, 0, true },
        { "ji:f64->ij", "avx512", 4000, 4001, 128, true },     { "ji:f16->ij", "avx512", 9000, 9001, 0, true },
        { "ji:f16->ij", "avx512", 90000, 901, 0, false },      { "ji->ij", "avx512", 0, 0, 256, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find(cases[i].target) };
        ExtentSpec extents[] = { { .name = "i", .extent = cases[i].rows }, { .name = "j", .extent = cases[i].row } };
        options.check.extents = extents;
        options.check.extent_count = cases[i].rows ? 2 : 0;
        Planned *planned = plan_of(cases[i].text, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        if (!step->crossed || step->strip != cases[i].strip || (step->result != NULL) != cases[i].is_past)
            fail_msg("%s of %d rows of %d on %s: a strip of %d, %spast the caches", cases[i].text, cases[i].rows, cases[i].row, cases[i].target,
                     step->strip, step->result ? "" : "not ");
        end(planned);
    }
}

/* Where memory is fast for rows of pages of their own, those that go together are so far apart, and are added up where the result will
 * be, unless it has another dtype or they are few; elsewhere each row is a stream. */
static void rows_of_memory_are_far_apart(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *target;
        int rows, columns;
        bool is_apart, is_added;
    } cases[] = {
        { "bk,bkd->bd", "avx2", 4000, 128, true, true },           { "bk,bkd->bd", "avx2", 4000, 3000, true, true },
        { "bk,bkd->bd", "avx2", 100, 128, false, false },          { "bk,bkd->bd", "avx512", 4000, 128, true, true },
        { "bk,bkd->bd:f16", "avx2", 4000, 128, false, false },
        { "bd,bkd->bk", "avx2", 4000, 128, true, false },          { "bd,bkd->bk", "avx512", 4000, 128, false, false },
        { "bd,bkd:bf16->bk", "avx2", 4000, 128, true, false },     { "bkd->bk", "avx2", 4000, 128, true, false },
        { "bkd->bk", "avx2", 4000, 16, false, false },             { "bd,kbd->bk", "avx2", 4000, 128, false, false },
        { "bk,kbd->bd", "avx2", 4000, 128, true, false },          { "bk,kbd->bd", "avx512", 4000, 128, false, false },
        { "b,bkd->bd", "avx2", 4000, 128, true, true },            { "bkd | where(@k < 9, _, 0) | sum k", "avx2", 4000, 128, false, false },
        { "bkd | max k", "avx2", 4000, 128, true, true },          { "bkd | argmax k", "avx2", 4000, 128, false, false },
        { "kbd->bd", "avx512", 4000, 128, false, false },          { "bkd->bd", "avx512bf16", 4000, 128, true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CompileOptions options = { .target = target_find(cases[i].target) };
        int64_t shapes[2][3] = { { 0 } };
        OperandSpec operands[2] = { { .dtype = DTYPE_NONE, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .shape = shapes[1] } };
        options.check.operands = operands;
        options.check.operand_count = 1;
        for (const char *at = cases[i].text; *at != '-' && *at != '|'; at++) {
            OperandSpec *operand = &operands[options.check.operand_count - 1];
            options.check.operand_count += *at == ',';
            at += *at == ':' ? strcspn(at, ",-|") - 1 : 0;    /* a dtype */
            if (strchr("bkd", *at))
                shapes[options.check.operand_count - 1][operand->rank++] = *at == 'b' ? 16 : *at == 'k' ? cases[i].rows : cases[i].columns;
        }
        Planned *planned = plan_of(cases[i].text, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        if (step->apart != cases[i].is_apart || (step->added != NULL) != cases[i].is_added)
            fail_msg("%s of %d by %d on %s: %d, %d", cases[i].text, cases[i].rows, cases[i].columns, cases[i].target, step->apart, step->added != NULL);
        end(planned);
    }
}

/* Values in between are made for several points of one index: of the last, of one that arrays lie along if that has less than a vector, and of
 * that which a step's lanes run along rather than of one whose points would go together. */
static void several_points_have_lanes(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int k, l, i, j;
        const char *along;
    } cases[] = {
        { "kli,klj -> ijk | softmax k", 500, 300, 128, 2, "i" },
        { "kli,klj -> ijk | softmax k", 500, 300, 8, 2, "j" },     { "kj,lki -> ijkl | log_softmax k", 8, 500, 200, 3, "i" },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        ExtentSpec extents[] = { { .name = "k", .extent = cases[n].k }, { .name = "l", .extent = cases[n].l },
                                 { .name = "i", .extent = cases[n].i }, { .name = "j", .extent = cases[n].j } };
        CompileOptions options = { .target = target_find("avx512"), .check = { .extents = extents, .extent_count = 4 } };
        Planned *planned = plan_of(cases[n].text, options);
        const Launch *launch = planned->plan->launches[planned->plan->launch_count - 1];
        const char *along = "none";
        for (int b = 0; b < launch->block_count; b++)
            along = size_is_constant(launch->blocks[b].tile, 1) ? along : launch->blocks[b].of_step[launch->step_count - 1]->name;
        if (strcmp(along, cases[n].along))
            fail_msg("%s of i=%d, j=%d: several points of %s", cases[n].text, cases[n].i, cases[n].j, along);
        end(planned);
    }
}

/* A product's rows are met where they lie, unless their lines would push each other out of the second cache. */
static void crowded_rows_are_columns(void **unused)
{
    (void)unused;
    static const struct { const char *text; int64_t b, i, j; char column; } cases[] = {
        { "bi,ij->bj", 128, 4096, 1024, 'j' }, { "bi,ij->bj", 128, 4096, 1000, 'b' }, { "bi,ij->bj", 128, 768, 3072, 'j' },
        { "bi,ji->bj", 128, 4096, 1024, 'b' }, { "ib,ij->bj", 128, 768, 3072, 'j' },  { "ib,ij->bj", 128, 4096, 1024, 'b' },    /* a sweep */
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const char *text = cases[n].text;
        int64_t of[128] = { ['b'] = cases[n].b, ['i'] = cases[n].i, ['j'] = cases[n].j };
        int64_t shapes[2][2] = { { of[(int)text[0]], of[(int)text[1]] }, { of[(int)text[3]], of[(int)text[4]] } };
        OperandSpec operands[] = { { .dtype = DTYPE_NONE, .rank = 2, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .rank = 2, .shape = shapes[1] } };
        Planned *planned = plan_of(text, (CompileOptions){ .target = target_find("sapphirerapids"), .check = { .operands = operands, .operand_count = 2 } });
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        if (!c || c->columns.list[0]->name[0] != cases[n].column)
            fail_msg("%s of %lld by %lld by %lld: columns are not %c", text, (long long)of['b'], (long long)of['i'], (long long)of['j'], cases[n].column);
        end(planned);
    }
}

/* Rows that stay in the second cache are met there by each panel; others are packed once for all of them. */
static void near_rows_are_not_packed(void **unused)
{
    (void)unused;
    static const struct { const char *text, *target; int64_t b, i, j; bool near; } cases[] = {
        { "ib,ij->bj", "sapphirerapids", 384, 768, 768, true },    { "ib,ij->bj", "avx512bf16", 384, 768, 768, false },
        { "ib,ij->bj", "sapphirerapids", 4000, 768, 768, false },  { "ib,ij->bj", "sapphirerapids", 64, 20000, 64, false },    /* a sweep */
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const Case one = { cases[n].text, cases[n].b, cases[n].i, cases[n].j, NULL };
        ExtentSpec extents[3];
        CompileOptions options;
        Planned *planned = planned_of(&one, cases[n].target, extents, &options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        assert_non_null(c);
        assert_int_equal(c->rows_near, cases[n].near);
        end(planned);
    }
}

/* Units of work have as many columns, as far as these are whole tiles. */
static void units_have_even_shares(void **unused)
{
    (void)unused;
    static const struct { const char *target; int64_t columns, share; } cases[] = {
        { "sapphirerapids", 768, 384 }, { "sapphirerapids", 3072, 1536 }, { "avx2", 768, 384 }, { "avx512", 777, 416 }, { "portable", 3072, 1536 },
        { "sapphirerapids", 0, 1 },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const Case one = { "bi,ij->bj", 384, 768, cases[n].columns, NULL };
        ExtentSpec extents[3];
        CompileOptions options;
        Planned *planned = planned_of(&one, cases[n].target, extents, &options);
        assert_int_equal(tile_along(planned, "j", &options.check), cases[n].share);
        end(planned);
    }
}

/* Tiles are wider, and lower, where the target's would leave more of the last one empty; of columns whose number is not known they are not. */
static void tiles_are_as_wide_as_columns(void **unused)
{
    (void)unused;
    static const struct { const char *target; int64_t columns; int vectors, rows; } cases[] = {
        { "avx512", 48, 3, 8 },  { "avx512", 40, 3, 8 },   { "avx512", 64, 2, 14 },  { "avx512", 96, 2, 14 },   { "avx512", 80, 5, 4 },
        { "avx512", 144, 3, 8 }, { "avx512", 336, 3, 8 },  { "avx512", 960, 2, 14 }, { "avx512", 1000, 2, 14 }, { "avx512", 16, 1, 0 },
        { "avx2", 24, 3, 4 },    { "avx2", 40, 1, 6 },     { "avx2", 72, 3, 4 },     { "avx2", 64, 2, 6 },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const Case one = { "bi,ij->bj", 2000, 500, cases[n].columns, NULL };
        ExtentSpec extents[3];
        CompileOptions options;
        Planned *planned = planned_of(&one, cases[n].target, extents, &options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        assert_non_null(c);
        if (c->tile_vectors != cases[n].vectors || (cases[n].rows && c->tile_rows != cases[n].rows))
            fail_msg("%ld columns on %s: tiles of %d rows by %d vectors", (long)cases[n].columns, cases[n].target, c->tile_rows, c->tile_vectors);
        end(planned);
    }
    Planned *unknown = plan_of("bi,ij->bj", (CompileOptions){ .target = target_find("avx512") });
    assert_int_equal(unknown->plan->launches[0]->steps[0]->contract->tile_vectors, 2);
    end(unknown);
}

/* Where sums go past the caches and an index has few rows, a unit of work has as many columns as the first cache has panels of: whole tiles, of
 * squares whole lines, of two rows' lines whole runs. */
static void panels_are_close(void **unused)
{
    (void)unused;
    static const struct { const char *text, *target; int64_t b, i, k, c, j; int columns; int64_t share; } cases[] = {
        { "bik,kcj->bicj", "sapphirerapids", 60, 12, 32, 600, 160, 240, 1 },
        { "bik,kcj->bcij", "sapphirerapids", 60, 12, 32, 600, 160, 240, 1 },
        { "bik,kcj->bicj", "avx512bf16", 60, 12, 32, 600, 160, 0, 32 },
        { "bik,kcj->bicj", "sapphirerapids", 60, 12, 16, 600, 48, 480, 10 },
        { "bik,kcj->bcij", "sapphirerapids", 60, 20, 24, 800, 24, 320, 12 },    /* two rows' lines */
        { "bik,kcj->bicj", "sapphirerapids", 60, 29, 32, 600, 160, 0, 64 },     /* panels come seldom enough */
        { "bik,kcj->bicj", "sapphirerapids", 60, 12, 100, 600, 160, 0, 20 },    /* too few have room */
        { "bik,kcj->bicj", "sapphirerapids", 60, 12, 32, 600, 161, 0, 63 },     /* no whole lines */
        { "ikb,kcj->bicj", "sapphirerapids", 60, 12, 32, 600, 160, 0, 64 },     /* rows in no lines */
        { "bik,kcj->bicj", "sapphirerapids", 6, 12, 32, 60, 160, 0, 16 },       /* a small result */
        { "bik,kj->bij", "sapphirerapids", 1200, 14, 24, 0, 4000, 0, 0 },       /* rows of several indices are met in a block */
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const int64_t of[128] = { ['b'] = cases[n].b, ['i'] = cases[n].i, ['k'] = cases[n].k, ['c'] = cases[n].c, ['j'] = cases[n].j };
        int64_t shapes[2][4];
        OperandSpec operands[2] = { { .dtype = DTYPE_NONE, .shape = shapes[0] }, { .dtype = DTYPE_NONE, .shape = shapes[1] } };
        int operand = 0;
        for (const char *at = cases[n].text; *at != '-'; at++)
            if (*at == ',')
                operand++;
            else
                shapes[operand][operands[operand].rank++] = of[(unsigned char)*at];
        const CompileOptions options = { .target = target_find(cases[n].target), .check = { .operands = operands, .operand_count = 2 } };
        Planned *planned = plan_of(cases[n].text, options);
        const Contract *c = planned->plan->launches[0]->steps[0]->contract;
        assert_non_null(c);
        if (c->close_columns != cases[n].columns)
            fail_msg("%s on %s, case %zu: %d close columns", cases[n].text, cases[n].target, n, c->close_columns);
        const ExtentSpec extent = { .name = "c", .extent = cases[n].c };
        const CheckOptions given = { .extents = &extent, .extent_count = 1 };
        if (tile_along(planned, "c", &given) != cases[n].share)
            fail_msg("%s on %s, case %zu: %ld points of c", cases[n].text, cases[n].target, n, (long)tile_along(planned, "c", &given));
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_rows_are_turned),
        cmocka_unit_test(rows_are_in_blocks),
        cmocka_unit_test(whole_lines_go_past_the_caches),
        cmocka_unit_test(turned_rows_leave_in_lines),
        cmocka_unit_test(rows_of_memory_are_far_apart),
        cmocka_unit_test(several_points_have_lanes),
        cmocka_unit_test(crowded_rows_are_columns),
        cmocka_unit_test(near_rows_are_not_packed),
        cmocka_unit_test(units_have_even_shares),
        cmocka_unit_test(tiles_are_as_wide_as_columns),
        cmocka_unit_test(panels_are_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
