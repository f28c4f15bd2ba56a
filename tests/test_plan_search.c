/* What the planner makes of a few queries that meet many rows, of which the best are wanted. */
#include "plan_testing.h"

typedef struct Search {
    const char *expression, *target;
    int queries, rows;
} Search;

static Planned *plan_search(const Search *search, int64_t memory)
{
    ExtentSpec extents[] = { { .name = "q", .extent = search->queries }, { .name = "n", .extent = search->rows }, { .name = "d", .extent = 128 },
                             { .name = "b", .extent = 1 } };
    CompileOptions options = { .target = target_find(search->target), .memory = memory, .check = { .extents = extents, .extent_count = 3 } };
    options.check.extent_count += search->expression[0] == 'b';
    options.check.extent_count *= search->rows > 0;    /* nothing is known */
    return plan_of(search->expression, options);
}

/* Rows that a reduction takes from a tile's registers are cut into parts where few columns leave all to one unit of work; few columns are
 * worth it where rows need not be packed as vectors, unless these would be columns that fill them. */
static void reduced_rows_are_cut(void **unused)
{
    (void)unused;
    static const struct { Search search; bool fused, cut; } cases[] = {
        { { "qd,nd->qn | max n", "avx512", 16, 200000 }, true, true },     { { "qd,nd->qn | argmax n", "avx2", 256, 200000 }, true, true },
        { { "bqd,bnd->bqn | max n", "avx512", 16, 200000 }, true, true },
        { { "qd,nd->qn | logsumexp n", "avx512", 3, 20000 }, true, false }, { { "qd,nd->qn | max n", "avx512", 2000, 200000 }, true, false },
        { { "qd,nd->qn | max n", "avx512", 32, 500 }, true, false },       { { "qd,nd->qn | max n", "portable", 16, 200000 }, false, true },
        { { "qd,dn->qn | max n", "avx512", 12, 200000 }, false, true },    { { "qd,dn->qn | max n", "avx512", 16, 200000 }, true, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_search(&cases[i].search, 0);
        const Launch *launch = planned->plan->launches[0];
        const Step *last = launch->steps[launch->step_count - 1];
        bool fused = launch->step_count == 1 && last->contract && last->contract->reduces;
        if (fused != cases[i].fused || (last->split != NULL) != cases[i].cut)
            fail_msg("%s of %d queries and %d rows on %s: %s, %s", cases[i].search.expression, cases[i].search.queries, cases[i].search.rows,
                     cases[i].search.target, fused ? "from registers" : "stored", last->split ? "cut" : "not cut");
        end(planned);
    }
}

typedef enum { RANKS_WHOLE, RANKS_IN_SWEEP, RANKS_IN_PARTS } Way;

/* Long rows that are ranked go by in blocks: for few queries in parts, for more in a sweep of each unit of work; rows that have room are
 * stored whole for many queries, which keep panels busy. They are taken for long where nobody knows. */
static void rankings_go_on_from_block_to_block(void **unused)
{
    (void)unused;
    static const struct { Search search; int64_t memory; Way way; const char *lanes; } cases[] = {
        { { "qd,nd->qn | topk(10) n", "avx512", 16, 200000 }, 0, RANKS_IN_PARTS, "q" },
        { { "qd,nd->qn | topk(10) n", "avx512", 4, 200000 }, 0, RANKS_IN_PARTS, NULL },
        { { "qd,nd->qn | topk(1000) n", "avx512", 16, 200000 }, 0, RANKS_IN_SWEEP, "q" },
        { { "qd,nd->qn | topk(10) n & argtopk(10) n", "avx2", 256, 200000 }, 0, RANKS_IN_SWEEP, "q" },
        { { "qd,nd->qn | topk(10) n", "avx512", 100, 200000 }, 0, RANKS_IN_SWEEP, "q" },
        { { "qd,nd->qn | bottomk(10) n", "avx512", 1000, 200000 }, 0, RANKS_IN_SWEEP, "n" },
        { { "qd,nd->qn | topk(10) n", "avx512", 1000, 10000 }, 0, RANKS_WHOLE, "n" },
        { { "qd,nd->qn | topk(10) n", "avx512", 16, 200000 }, 300000, RANKS_IN_SWEEP, "q" },
        { { "qd,nd->qn | topk(10) n", "avx512", 0, 0 }, 0, RANKS_IN_SWEEP, "q" },
        { { "(id - jd)^2 -> ij | argbottomk(10) j", "portable", 0, 0 }, 0, RANKS_IN_SWEEP, "i" },
        { { "ij | topk(10) j", "avx512", 0, 0 }, 0, RANKS_WHOLE, "j" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_search(&cases[i].search, cases[i].memory);
        const Launch *launch = planned->plan->launches[0];
        const Step *last = launch->steps[launch->step_count - 1];
        Way way = last->statement->goes_on ? RANKS_IN_SWEEP : last->split ? RANKS_IN_PARTS : RANKS_WHOLE;
        if (last->kind != STEP_RANK || way != cases[i].way || (cases[i].lanes && strcmp(last->vector->name, cases[i].lanes)))
            fail_msg("%s of %d queries and %d rows on %s: way %d, lanes along %s", cases[i].search.expression, cases[i].search.queries,
                     cases[i].search.rows, cases[i].search.target, way, last->vector ? last->vector->name : "nothing");
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduced_rows_are_cut),
        cmocka_unit_test(rankings_go_on_from_block_to_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
