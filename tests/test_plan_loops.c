/* What the planner makes of loop nests: which points go together, and what they hand each other. */
#include "coalesce.h"
#include "plan_testing.h"

/* A few rows meet a matrix of narrow numbers as these lie, and keys and values of a sweep: in loops, some points of one with some of the other. */
static void few_rows_have_tiles_of_sums(void **unused)
{
    (void)unused;
    static const char keys[] = "rd,kd->rk | softmax k | * kd->rd";
    static const struct { const char *expression, *target; int rows, step, meets, jam; } cases[] = {
        { "rd,kd:bf16->rk", "avx512bf16", 8, 0, 8, 2 }, { "rd,kd:i8->rk", "avx512", 3, 0, 3, 5 },    { "rd,kd:f16->rk", "avx2", 4, 0, 4, 2 },
        { "rd,kd->kr", "avx512bf16", 2, 0, 2, 8 },      { "rd,kd->rk", "avx512bf16", 8, 0, 0, 0 },   { "rd,kd:bf16->rk", "avx512bf16", 40, 0, 0, 0 },
        { "rd:i8,kd:i8->rk", "avx512bf16", 8, 0, 0, 0 }, { "rd + kd->rkd | max d", "avx2", 3, 0, 3, 3 }, { "rd:c64,kd:c64->rk", "avx512", 2, 0, 2, 4 },
        { keys, "avx512bf16", 4, 0, 4, 4 },             { keys, "avx512bf16", 4, 7, 2, 8 },          { keys, "avx2", 4, 7, 2, 4 },
        { keys, "portable", 2, 0, 2, 6 },               { keys, "avx512bf16", 40, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "r", .extent = cases[i].rows }, { .name = "k", .extent = 30000 }, { .name = "d", .extent = 128 } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 3 } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[cases[i].step];
        int meets = step->met ? step->meets : 0;
        if (meets != cases[i].meets || (meets && (step->jam != cases[i].jam || step->contract || step->met->name[0] != 'r')))
            fail_msg("%s of %d rows on %s, step %d: %d points meet %d", cases[i].expression, cases[i].rows, cases[i].target, step->id + 1, step->jam, meets);
        end(planned);
    }
}

/* Rows from memory are asked for where that is faster than the machine's own prefetching, those that meet others a while before. */
static void rows_are_asked_for(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int rows, jam, ahead, soon; } cases[] = {
        { "kd,d->k", "avx512bf16", 0, 4, 64, 0 },      { "kd,d->k", "sapphirerapids", 0, 8, 64, 0 },         { "kd,d->k", "portable", 0, 8, 64, 0 },
        { "kd:bf16,d->k", "avx512bf16", 0, 4, 128, 8192 }, { "kd:bf16,d->k", "sapphirerapids", 0, 8, 64, 0 }, { "kd:bf16,d->k", "avx2", 0, 8, 32, 0 },
        { "rd,kd:bf16->rk", "avx512bf16", 4, 0, 128, 8192 }, { "rd,kd:bf16->rk", "avx512vnni", 4, 0, 128, 8192 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "k", .extent = 30000 }, { .name = "d", .extent = cases[i].rows ? 128 : 1024 }, { .name = "r", .extent = cases[i].rows } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 2 + (cases[i].rows > 0) } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        if ((cases[i].jam && step->jam != cases[i].jam) || step->ahead != cases[i].ahead || step->soon != cases[i].soon)
            fail_msg("%s on %s: %d rows, %d vectors ahead, soon %d", cases[i].expression, cases[i].target, step->jam, step->ahead, step->soon);
        end(planned);
    }
}

/* Loops along rows of memory ask for what is read later, where that is neither near nor left out by a where; of several steps that read a row
 * the last one asks for the next. `step`: the one that asks; -1: none does. */
static void what_rows_read_later_is_asked_for(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int64_t rows, row; int step, vectors; bool is_last; } cases[] = {
        { "ij | logsumexp j", "sapphirerapids", 6000, 6000, 0, 64, false }, { "ij | logsumexp j", "avx512bf16", 6000, 6000, -1, 0, false },
        { "ij | logsumexp j", "avx2", 6000, 6000, 0, 128, false },          { "ij | logsumexp j", "sapphirerapids", 1000, 600, 0, 64, false },
        { "ij | logsumexp j", "sapphirerapids", 100, 600, -1, 0, false },   { "ij | max j", "sapphirerapids", 1000, 1000, -1, 0, false },
        { "ij:bf16 | exp", "amx", 6000, 6000, 0, 128, false },              { "ij:f64 | logsumexp ij", "avx512", 6000, 6000, 0, 64, false },
        { "ij | softmax j", "sapphirerapids", 6000, 6000, 1, 64, true },    { "ij | softmax j", "sapphirerapids", 6000, 6000, 0, 64, false },
        { "ij | softmax i", "sapphirerapids", 6000, 6000, -1, 0, false },   { "ij,j->i", "sapphirerapids", 6000, 6000, -1, 0, false },
        { "where(@j < @i, A[i,j], 0)", "sapphirerapids", 6000, 6000, -1, 0, false },
        { "ij | logsumexp j", "sapphirerapids", -1, -1, 0, 64, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "i", .extent = cases[i].rows }, { .name = "j", .extent = cases[i].row } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = cases[i].rows < 0 ? 0 : 2 } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Launch *launch = planned->plan->launches[0];
        int asks = 0;
        for (int s = 0; s < launch->step_count; s++)
            asks += launch->steps[s]->ask_count;
        const Step *step = cases[i].step < 0 ? NULL : launch->steps[cases[i].step];
        bool is_so = step ? step->ask_count == 1 && step->asks[0].vectors == cases[i].vectors && step->asks[0].is_last == cases[i].is_last : asks == 0;
        if (!is_so)
            fail_msg("%s of %d by %d on %s: %d asks", cases[i].expression, (int)cases[i].rows, (int)cases[i].row, cases[i].target, asks);
        end(planned);
    }
}

/* Columns that go down together are asked for where many rows lie half a page apart, as those do whose strides are not known. */
static void lines_of_later_rows_are_asked_for(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int64_t rows, columns; int later; } cases[] = {
        { "ij | softmax i", "sapphirerapids", 6000, 6000, 16 }, { "ij | softmax i", "avx512bf16", 6000, 6000, 0 },
        { "ij:bf16 | softmax i", "sapphirerapids", 60000, 600, 0 }, { "ij | softmax i", "sapphirerapids", 100, 60000, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "i", .extent = cases[i].rows }, { .name = "j", .extent = cases[i].columns } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 2 } };
        Planned *planned = plan_of(cases[i].expression, options);
        for (int s = 0; s < 2; s++) {
            const Step *step = planned->plan->launches[0]->steps[s];
            if (step->later != cases[i].later)
                fail_msg("%s of %d by %d on %s, step %d: %d rows later", cases[i].expression, (int)cases[i].rows, (int)cases[i].columns,
                         cases[i].target, s + 1, step->later);
        }
        end(planned);
    }
}

/* Lanes scan a row's neighbours rather than pick a number of each of some rows, and leave a large result past the caches. */
static void scans_run_along_rows(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int64_t rows, row; bool is_past; } cases[] = {
        { "ij | cumsum j", "portable", 6000, 6000, true }, { "ij:f64 | cumsum j", "avx2", 100000, 30, false },
        { "ij:i32 | cumsum j", "avx2", 500, 500, false },  { "ij:bf16 | cummax j", "sapphirerapids", 8000, 6400, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "i", .extent = cases[i].rows }, { .name = "j", .extent = cases[i].row } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 2 } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        assert_string_equal(step->vector->name, "j");
        assert_int_equal(step->result != NULL, cases[i].is_past);
        end(planned);
    }
}

/* Sums, and what comes anew for each of the points that they meet, have registers, so many as there are. */
static void sums_and_what_they_meet_have_registers(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int rows, meets, jam; } cases[] = {
        { "rk,kn->rn", "avx2", 4, 4, 2 },     { "rk,kn->rn", "avx2", 3, 3, 4 },   { "rk,kn->rn", "avx2", 6, 3, 4 },   { "rk,nk->rn", "avx2", 3, 3, 3 },
        { "rk,kn->rn", "portable", 4, 4, 2 }, { "rk,kn->rn", "avx512", 4, 4, 4 }, { "rk,nk->rn", "avx512", 4, 4, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "r", .extent = cases[i].rows }, { .name = "k", .extent = 256 }, { .name = "n", .extent = 256 } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 3 } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        if (!step->met || step->meets != cases[i].meets || step->jam != cases[i].jam)
            fail_msg("%s of %d rows on %s: %d meet %d", cases[i].expression, cases[i].rows, cases[i].target, step->jam, step->meets);
        end(planned);
    }
}

/* A product is the nest of which less is expected, where all but its batch is known; else tiles, and so is what a reduction follows. */
static void products_are_the_nest_that_takes_less(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int rows, depth, columns; bool is_tiled, is_chosen; } cases[] = {
        { "rk,nk->rn", "avx512", 4, 1024, 1024, false, true },     { "rk,nk->rn", "avx512", 32, 1024, 1024, true, true },
        { "rk,kn->rn", "avx512", 16, 256, 256, false, true },      { "rk,kn->rn", "avx512", 1000, 1000, 1000, true, true },
        { "rk,kn->rn", "avx512", 16, -1, 256, true, false },       { "rk,nk->rn | max n", "avx512", 256, 256, 256, true, false },
        { "brk,bkn->brn", "avx512", 24, 24, 24, false, true },     { "brk,bnk->brn", "avx512", 24, 24, 24, true, true },
        { "rk,nk->rn", "sapphirerapids", 24, 1024, 1024, true, true },     /* long rows that come again, page by page */
        { "rk,nk->rn", "sapphirerapids", 4, 4096, 4096, false, true },    { "rk,nk->rn", "sapphirerapids", 50, 2048, 1000, true, true },
        { "A[r,k], B[n,k] -> [r,n] | exp(_ - l[r]) - where(@n == y[r]:i64, 1, 0)", "avx512", 256, 512, 16000, true, true },    /* lanes of f32 */
        { "exp(A[r,k]), B[k,n] -> [r,n]", "avx2", 16, 256, 256, true, false }, { "rk:f64,kn:f64->rn", "portable", 2, 300, 300, false, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "r", .extent = cases[i].rows }, { .name = "n", .extent = cases[i].columns }, { .name = "k", .extent = cases[i].depth } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 2 + (cases[i].depth > 0) } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        bool is_chosen = step->expected[0] > 0, is_least = step->contract ? step->expected[1] <= step->expected[0] : step->expected[0] <= step->expected[1];
        if ((step->contract != NULL) != cases[i].is_tiled || is_chosen != cases[i].is_chosen || (is_chosen && !is_least))
            fail_msg("%s of %d by %d by %d on %s: %s, %g cycles in loops and %g in tiles", cases[i].expression, cases[i].rows, cases[i].depth,
                     cases[i].columns, cases[i].target, step->contract ? "tiles" : "loops", step->expected[0], step->expected[1]);
        end(planned);
    }
}

/* Matrices of a batch, so small that tiles would take longer to begin than they do: vectors along rows, of which the last may have fewer
 * lanes where these are masked, meet points of the columns. */
static void small_products_have_tiles_of_sums(void **unused)
{
    (void)unused;
    static const struct { const char *expression, *target; int batch, rows, columns, points, vectors; } cases[] = {
        { "bij,bjk->bik", "avx512bf16", 100, 24, 24, 8, 2 }, { "bij,bjk->bik", "avx512", 100, 16, 16, 8, 1 },
        { "bij,bjk->bik", "avx512", 100, 64, 64, 8, 2 },     { "bij,bjk->bik", "avx512", 100, 65, 64, 8, 2 },
        { "bij,bjk->bik", "avx512", 100, 40, 16, 8, 1 },     { "bji,bjk->bik", "avx512", 100, 20, 33, 5, 2 },
        { "bij,bkj->bik", "avx512", 100, 24, 24, 0, 0 },     { "bij,jk->bik", "avx512", 100, 24, 24, 8, 2 },
        { "bij,bjk->bik", "avx512", 9000, 32, 32, 0, 0 },    { "bij:bf16,bjk:bf16->bik", "avx512bf16", 100, 24, 24, 0, 0 },
        { "bij,bjk->bik", "avx512", 9000, 24, 24, 8, 2 },    { "bij,bjk->bik", "avx2", 100, 12, 12, 6, 1 },
        { "bij,bjk->bik", "avx2", 100, 24, 25, 4, 2 },       { "bij,bjk->bik", "avx512", 100, 48, 48, 4, 3 },
        { "bij,bjk->bik", "avx512", 100, -1, 24, 0, 0 },     { "bij,bjk->bik", "avx2", 100, 24, 24, 4, 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "b", .extent = cases[i].batch }, { .name = "j", .extent = 24 },
                                 { .name = "k", .extent = cases[i].columns }, { .name = "i", .extent = cases[i].rows } };
        CompileOptions options = { .target = target_find(cases[i].target), .check = { .extents = extents, .extent_count = 3 + (cases[i].rows > 0) } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[0];
        int vectors = step->contract ? 0 : step->met ? step->jam : 1, points = step->contract ? 0 : step->met ? step->meets : step->jam;
        if (points != cases[i].points || vectors != cases[i].vectors)
            fail_msg("%s, %d times %d x %d, on %s: %d vectors meet %d points", cases[i].expression, cases[i].batch, cases[i].rows, cases[i].columns,
                     cases[i].target, vectors, points);
        end(planned);
    }
}

/* Steps that hand each other temporaries do so for one point of all indices that they keep but the last: none of them has its lanes there. */
static void lanes_run_where_blocks_have_points(void **unused)
{
    (void)unused;
    static const struct { const char *expression; int extents[5], step; char lanes; } cases[] = {
        { "bhqd,bhkd->bhqk | softmax k | * bhkv -> bhqv", { 64, 8, 8, 8, 32 }, 2, 'k' }, { "bhqk | softmax k", { 64, 8, 8, 8 }, 1, 'b' },
        { "abi,ibc->abc | softmax c", { 100, 10, 16, 6 }, 2, 'a' },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const names[] = { "bhqkd", "bhqk", "abic" };
        ExtentSpec extents[6];
        char letters[6][2] = { "v" };
        int count = 0;
        for (int n = 0; n < 5 && cases[i].extents[n]; n++) {
            letters[count][0] = names[i][n];
            extents[count] = (ExtentSpec){ .name = letters[count], .extent = cases[i].extents[n] };
            count++;
        }
        CompileOptions options = { .target = target_find("avx512"), .check = { .extents = extents, .extent_count = count } };
        Planned *planned = plan_of(cases[i].expression, options);
        const Step *step = planned->plan->launches[0]->steps[cases[i].step];
        if (!step->vector_kept || step->vector->name[0] != cases[i].lanes)
            fail_msg("%s, step %d: lanes along %s, not %c", cases[i].expression, cases[i].step + 1, step->vector ? step->vector->name : "nothing", cases[i].lanes);
        end(planned);
    }
}

/* What a row's steps hand each other has room for one row; of columns, and of log_softmax, no exponentials are stored. */
static void softmax_has_room_for_one_row(void **unused)
{
    (void)unused;
    enum { LINE = 64, ROW = 1000 * 4 + 32 };
    static const struct { const char *text; int64_t bytes; } cases[] = {
        { "ij | softmax j", ROW + 2 * LINE }, { "ij | log_softmax j", 2 * LINE }, { "m = A[i,j] | mean j; c = A[i,j] - m[i]; c[i,j]^2 | sum j", LINE },
        { "ij | softmax i", 512 },            { "ij | log_softmax i", 512 },
    };
    ExtentSpec extents[] = { { .name = "i", .extent = 2000 }, { .name = "j", .extent = 1000 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_of(cases[i].text, (CompileOptions){ .target = target_find("avx512"), .check = { .extents = extents, .extent_count = 2 } });
        const Program *program = planned->plan->program;
        int64_t of[8];
        for (int x = 0; x < program->index_count; x++)
            of[x] = program->indices[x]->name[0] == 'i' ? 2000 : 1000;
        int64_t bytes = size_evaluate(planned->plan->workspace, &(SizeValues){ of, NULL, 1 });
        if (bytes > cases[i].bytes)
            fail_msg("%s: %lld bytes, not %lld", cases[i].text, (long long)bytes, (long long)cases[i].bytes);
        end(planned);
    }
}

/* Reductions of one kind that follow each other are one, of one array and where nobody else asks for the first. */
static void reductions_of_one_kind_are_one(void **unused)
{
    (void)unused;
    static const struct { const char *text; int over; } cases[] = {
        { "ijk | sum i | sum k", 2 }, { "ijk | mean k | mean j | mean i", 3 }, { "ijk->jk | sum k", 2 },      { "ijk | max i | sum k", 1 },
        { "ijk | norm(2) i | norm k", 2 }, { "ijk | norm(1) i | norm(2) k", 1 }, { "ij,jk->ik | sum i", 1 }, { "ijk | sum i | abs | sum k", 1 },
        { "s = A[i,j,k] | sum i; t = s[j,k] | sum k; s[j,k] - t[j]", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_of(cases[i].text, (CompileOptions){ .target = target_find("avx2") });
        int most = 0;
        for (int s = 0; s < planned->plan->step_count; s++)
            for (int r = 0; r < planned->plan->steps[s]->root_count; r++)
                most = planned->plan->steps[s]->roots[r]->reduce.over_count > most ? planned->plan->steps[s]->roots[r]->reduce.over_count : most;
        if (most != cases[i].over)
            fail_msg("%s: one of %d indices", cases[i].text, most);
        end(planned);
    }
}

/* Indices that follow each other in all arrays and statements are a group, which a call may have as one. */
static void indices_of_all_statements_are_one(void **unused)
{
    (void)unused;
    static const struct { const char *text; int grouped; } cases[] = {
        { "m = x[a,b,c] | mean b,c ; x[i,j,k] - m[i]", 2 },      { "m = x[a,b,c] | sum b ; x[i,j,k] - m[i,k]", 2 },
        { "y = x[a,b] * 2 ; y[a,b] + x[b,a]", 0 },               { "y = x[a,b] * 2 ; z = y[a,b] + 1 ; z[c,d] + x[c,d]", 2 },
        { "w[a,b] += x[a,b] ; w[b,a] += x[a,b]", 0 },            { "w[a,b] += x[a,b] ; w[c,d] += z[c,d]", 2 },
        { "y = where(@b > 1, x[a,b], 0) ; y[a,b] + x[a,b]", 0 }, { "y = x[a,b,c] | max b,c ; z = x[c,b,a] | max a ; y[i] + z[j,k] -> [i,j,k]", 0 },
        { "y = x[a,b] * 2 ; z = x[a,b] | argmax ab ; y[a,b] + z[]", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Planned *planned = plan_of(cases[i].text, (CompileOptions){ .target = target_find("avx2") });
        const Program *program = planned->plan->program;
        const Groups groups = groups_find(&planned->arena, program);
        const Index **indices = ARENA_ARRAY(&planned->arena, const Index *, program->index_count);
        int grouped = 0;
        for (int g = 0; g < program->index_count; g++) {
            int count = groups_indices(&groups, g, indices);
            grouped += count > 1 ? count : 0;
        }
        if (grouped != cases[i].grouped)
            fail_msg("%s: %d indices are grouped, not %d", cases[i].text, grouped, cases[i].grouped);
        end(planned);
    }
}

/* Steps that read the same rows take them point by point, while they are near; rows at places from an array go by vectors; a position that is
 * compared with a number takes no lanes of 64 bits; and a product is stored where what it meets lies across its tiles. */
static void rows_are_read_while_they_are_near(void **unused)
{
    (void)unused;
    static const struct { const char *text, *indices, *jammed; int lanes, steps; bool product; } cases[] = {
        { "b = g[t,h] * w[h] * x[t,h] -> [t,h] | mean h ; g[t,h] * w[h] - x[t,h] * b[t]", "th", NULL, 16, 2, false },
        { "g[t,h] * w[h] * x[t,h] -> [t,h] | mean h", "th", "t", 16, 1, false },
        { "w[i,m], D[m,at[i,j,m]:i64,h] -> [i,j,h]", "ijmh", "h", 16, 1, false },
        { "w[i,m], D[m,h] -> [i,h]", "imh", "h", 16, 1, false },
        { "z[t,h] - where(@h == y[t]:i64, 1, 0)", "th", NULL, 16, 1, false },
        { "z[t,h] - where(@h * 2 == y[t]:i64, 1, 0)", "th", NULL, 8, 1, false },
        { "A[t,d], B[h,d] -> [t,h] | _ + M[t,h] | max h", "tdh", NULL, 16, 2, true },
        { "A[t,d], B[h,d] -> [t,h] | _ + M[h,t] | max h", "tdh", NULL, 16, 1, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ExtentSpec extents[] = { { .name = "t", .extent = 4096 }, { .name = "h", .extent = 1024 }, { .name = "i", .extent = 16 },
                                 { .name = "j", .extent = 32 },   { .name = "m", .extent = 256 },  { .name = "d", .extent = 64 } };
        CompileOptions options = { .target = target_find("avx512"), .check = { .extents = extents } };
        for (size_t k = 0; k < sizeof extents / sizeof *extents; k++)    /* those that the text has come first */
            if (strstr(cases[i].indices, extents[k].name))
                extents[options.check.extent_count++] = extents[k];
        Planned *planned = plan_of(cases[i].text, options);
        const Launch *launch = planned->plan->launches[0];
        const Step *step = launch->steps[0];
        const char *jammed = step->jammed ? step->jammed->name : "nothing";
        if (strcmp(jammed, cases[i].jammed ? cases[i].jammed : "nothing") || planned->plan->lanes != cases[i].lanes ||
            launch->step_count != cases[i].steps || (step->contract != NULL) != cases[i].product)
            fail_msg("%s: together go points of %s, %d lanes, %d steps, %s", cases[i].text, jammed, planned->plan->lanes, launch->step_count,
                     step->contract ? "a product" : "loops");
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_of_all_statements_are_one),
        cmocka_unit_test(rows_are_read_while_they_are_near),
        cmocka_unit_test(few_rows_have_tiles_of_sums),
        cmocka_unit_test(rows_are_asked_for),
        cmocka_unit_test(what_rows_read_later_is_asked_for),
        cmocka_unit_test(lines_of_later_rows_are_asked_for),
        cmocka_unit_test(scans_run_along_rows),
        cmocka_unit_test(sums_and_what_they_meet_have_registers),
        cmocka_unit_test(products_are_the_nest_that_takes_less),
        cmocka_unit_test(small_products_have_tiles_of_sums),
        cmocka_unit_test(lanes_run_where_blocks_have_points),
        cmocka_unit_test(softmax_has_room_for_one_row),
        cmocka_unit_test(reductions_of_one_kind_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
