/* What the planner stores of values in between that several statements read along different indices, as gradients do. */
#include "plan_testing.h"

/* The gradient of attention, of which the sums of powers' logarithms L and the dot products D of results and their gradients are known. */
#define ATTENTION                                                                                       \
    "P = Q[h,q,d], K[h,k,d] -> [h,q,k] | exp(_ * 0.125 - L[h,q]) ; dV = P[h,q,k], dO[h,q,d] -> [h,k,d] ;" \
    "T = dO[h,q,d], V[h,k,d] -> [h,q,k] ; dS = P[h,q,k] * (T[h,q,k] - D[h,q]) * 0.125 ;"                 \
    "dQ = dS[h,q,k], K[h,k,d] -> [h,q,d] ; dK = dS[h,q,k], Q[h,q,d] -> [h,k,d]"

/* The same beside attention itself. */
#define TRAINING                                                                                                      \
    "P = Q[h,q,d], K[h,k,d] -> [h,q,k] | _ * 0.125 | softmax k ; O = P[h,q,k], V[h,k,d] -> [h,q,d] ;"               \
    "D = O[h,q,d] * dO[h,q,d] -> [h,q] ; dV = P[h,q,k], dO[h,q,d] -> [h,k,d] ;"                                      \
    "T = dO[h,q,d], V[h,k,d] -> [h,q,k] ; dS = P[h,q,k] * (T[h,q,k] - D[h,q]) * 0.125 ;"                             \
    "dQ = dS[h,q,k], K[h,k,d] -> [h,q,d] ; dK = dS[h,q,k], Q[h,q,d] -> [h,k,d]"

/* Of a product with the shares of a softmax. */
#define SHARES                                                                       \
    "p = Q[q,d], K[k,d] -> [q,k] | softmax k ; dQ = p[q,k], K[k,d] -> [q,d] ;"       \
    "dK = p[q,k], Q[q,d] -> [k,d]"

typedef struct Case {
    const char *expression, *outputs[4], *target;
    int64_t points, memory;       /* of q and k; 0: not known. The budget, or 0 */
    bool sweeps;
    int products;                 /* over d: those of the expression, and those that are made again */
    int64_t most;                 /* bytes of workspace with one worker; 0: more than one of q and k has */
} Case;

static int products_of(const Plan *plan)
{
    int count = 0;
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        count += term->kind == TERM_CONTRACT && term->reduce.over_count == 1 && !strcmp(term->reduce.over[0]->name, "d");
    }
    return count;
}

static int64_t workspace_of(const Plan *plan, int64_t points)
{
    int64_t of[64];
    assert_true(plan->program->index_count <= 64);
    for (int i = 0; i < plan->program->index_count; i++)
        of[i] = strchr("qk", plan->program->indices[i]->name[0]) ? points : plan->program->indices[i]->name[0] == 'd' ? 64 : 2;
    return size_evaluate(plan->workspace, &(SizeValues){ of, NULL, 1 });
}

/* What all of two long indices would be stored of goes by in blocks of one of them where the others keep no other index, and is made again
 * where they do, if it is large or the budget is small; on a grid always the latter. */
static void nothing_has_two_long_indices(void **unused)
{
    (void)unused;
    static const Case cases[] = {
        { ATTENTION, { "dQ", "dK", "dV" }, "avx512", 512, 0, false, 2, 0 },
        { ATTENTION, { "dQ", "dK", "dV" }, "avx512", 16384, 0, true, 2, 80 << 20 },
        { ATTENTION, { "dQ", "dK", "dV" }, "avx2", 16384, 0, true, 2, 80 << 20 },
        { ATTENTION, { "dQ", "dK", "dV" }, "avx2", 0, 0, true, 2, 80 << 20 },
        { ATTENTION, { "dQ", "dK", "dV" }, "avx512", 1024, 1 << 20, true, 2, 1 << 20 },
        { TRAINING, { "O", "dQ", "dK", "dV" }, "avx512", 4096, 0, true, 3, 20 << 20 },    /* D is a product, too */
        { SHARES, { "dQ", "dK" }, "avx512", 2048, 0, false, 1, 0 },
        { SHARES, { "dQ", "dK" }, "avx512", 16384, 0, false, 2, 80 << 20 },
        { SHARES, { "dQ", "dK" }, "portable", 2048, 1 << 20, false, 2, 1 << 20 },
        { SHARES, { "dK" }, "avx2", 2048, 1 << 18, false, 2, 1 << 18 },
        { ATTENTION, { "dQ", "dK", "dV" }, "cuda:sm_90a", 4096, 0, false, 4, 1 << 20 },    /* of one block of threads */
        { SHARES, { "dQ", "dK" }, "cuda:sm_80", 16384, 0, false, 2, 1 << 20 },
        { SHARES, { "p", "dK" }, "avx512", 16384, 0, false, 2, 80 << 20 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        ExtentSpec extents[] = { { .name = "d", .extent = 64 }, { .name = "q", .extent = c->points }, { .name = "k", .extent = c->points },
                                 { .name = "h", .extent = 2 } };
        const int known = c->points == 0 ? 1 : c->expression[0] == 'P' ? 4 : 3;
        CompileOptions options = { .target = target_find(c->target), .memory = c->memory, .outputs = c->outputs,
                                   .check = { .extents = extents, .extent_count = known } };
        while (options.output_count < 4 && c->outputs[options.output_count])
            options.output_count++;
        Planned *planned = plan_of(c->expression, options);
        const int64_t points = c->points ? c->points : 16384, bytes = workspace_of(planned->plan, points);
        const bool fits = c->most ? bytes <= c->most : bytes > 4 * points * points;
        if (plan_sweeps(planned->plan) != c->sweeps || products_of(planned->plan) != c->products || !fits)
            fail_msg("case %d: %s, %d products, %lld bytes", (int)i, plan_sweeps(planned->plan) ? "sweeps" : "no sweep",
                     products_of(planned->plan), (long long)bytes);
        end(planned);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_two_long_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
