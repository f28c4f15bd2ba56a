/* Which short rows are turned in squares, so that lanes run along others of them. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_rows_are_turned),
        cmocka_unit_test(rows_are_in_blocks),
        cmocka_unit_test(whole_lines_go_past_the_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
