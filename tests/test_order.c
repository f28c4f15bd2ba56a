/* The order of contractions: the exact search against all orders there are, the greedy one against the exact, both with
 * limits; and which reductions of a program are ordered. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile.h"
#include "ordering.h"

enum { LEAVES_MOST = 48, INDICES_MOST = 160 };

static Arena arena;
static jmp_buf full;

static int set_up(void **state)
{
    (void)state;
    arena = (Arena){ .failed = &full };
    return setjmp(full);
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* ---- networks ---- */

static int below(uint64_t *random, int most)
{
    return (int)(order_uniform(random) * most);
}

static void put(Word *set, int index)
{
    set[index / WORD_BITS] |= (Word)1 << (index % WORD_BITS);
}

/* Each index is in two leaves or, seldom, in three; some stay. Leaves may have nothing in common. */
static Network random_network(int leaves, int indices, uint64_t *random)
{
    Network n = { .arena = &arena, .leaf_count = leaves, .index_count = indices, .words = indices / WORD_BITS + 1,
                  .limit = INFINITY };
    n.extent = ARENA_ARRAY(&arena, double, indices);
    n.kept = ARENA_ARRAY(&arena, Word, n.words);
    n.leaf = ARENA_ARRAY(&arena, Word *, leaves);
    for (int l = 0; l < leaves; l++)
        n.leaf[l] = ARENA_ARRAY(&arena, Word, n.words);
    for (int i = 0; i < indices; i++) {
        n.extent[i] = 2 + below(random, 30);
        int first = below(random, leaves), second = below(random, leaves - 1);
        put(n.leaf[first], i);
        put(n.leaf[second + (second >= first)], i);
        if (order_uniform(random) < 0.15)
            put(n.leaf[below(random, leaves)], i);
        if (order_uniform(random) < 0.15)
            put(n.kept, i);
    }
    return n;
}

/* ---- the exact search ---- */

/* The least that any order costs: each pair of what is there is tried. */
static double least(const Network *n, int *there, int count, Pair *pairs, int made)
{
    double best = INFINITY, cost;
    if (count == 1) {
        order_nodes(n, pairs, &cost);
        return cost;
    }
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            int left[LEAVES_MOST], rest = 0;
            for (int i = 0; i < count; i++)
                if (i != a && i != b)
                    left[rest++] = there[i];
            left[rest++] = n->leaf_count + made;
            pairs[made] = (Pair){ there[a], there[b] };
            cost = least(n, left, rest, pairs, made + 1);
            best = cost < best ? cost : best;
        }
    return best;
}

static void exact_is_the_least_of_all_orders(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int trial = 0; trial < 60; trial++) {
        int leaves = 2 + trial % 4, there[LEAVES_MOST];
        Network n = random_network(leaves, 1 + below(&random, 2 * leaves), &random);
        Pair pairs[LEAVES_MOST];
        for (int l = 0; l < leaves; l++)
            there[l] = l;
        double best = least(&n, there, leaves, pairs, 0), cost;
        double found = order_exact(&n, n.leaf, leaves, n.kept, true, pairs);
        order_nodes(&n, pairs, &cost);
        if (fabs(found - best) > 1e-9 * best || fabs(cost - best) > 1e-9 * best)
            fail_msg("trial %d: found %.17g, which costs %.17g, but %.17g is possible", trial, found, cost, best);
    }
}

/* ---- the greedy search ---- */

/* Each leaf and each pair but the last is used once, by a later pair. */
static void assert_valid(const Network *n, const Pair *pairs)
{
    bool used[2 * LEAVES_MOST] = { false };
    for (int p = 0; p < n->leaf_count - 1; p++) {
        int both[] = { pairs[p].left, pairs[p].right };
        for (int s = 0; s < 2; s++) {
            assert_in_range(both[s], 0, n->leaf_count + p - 1);
            assert_false(used[both[s]]);
            used[both[s]] = true;
        }
    }
}

static void greedy_is_valid_and_always_the_same(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int trial = 0; trial < 12; trial++) {
        int leaves = 13 + below(&random, LEAVES_MOST - 13);
        Network n = random_network(leaves, trial == 0 ? 0 : leaves + below(&random, leaves), &random);
        Pair pairs[LEAVES_MOST], again[LEAVES_MOST];
        double cost, found = order_search(&n, pairs);
        assert_valid(&n, pairs);
        order_nodes(&n, pairs, &cost);
        assert_true(fabs(cost - found) <= 1e-9 * cost);
        order_search(&n, again);
        assert_memory_equal(pairs, again, (size_t)(leaves - 1) * sizeof *pairs);
    }
}

static void greedy_is_near_the_exact_one(void **state)
{
    (void)state;
    uint64_t random = 13;
    double worst = 1;
    for (int trial = 0; trial < 20; trial++) {
        Network n = random_network(EXACT_MOST, EXACT_MOST + below(&random, EXACT_MOST), &random);
        Pair pairs[LEAVES_MOST];
        double best = order_exact(&n, n.leaf, n.leaf_count, n.kept, true, pairs), found = order_greedy(&n, pairs);
        assert_true(found >= best * (1 - 1e-9));
        worst = fmax(worst, found / best);
    }
    if (worst > 1.2)
        fail_msg("%.3g times the least", worst);
}

/* ---- limits ---- */

static double largest_stored(const Network *n, const Pair *pairs)
{
    double cost, largest = 0;
    const Node *nodes = order_nodes(n, pairs, &cost);
    for (int i = n->leaf_count; i < 2 * n->leaf_count - 2; i++)
        if (nodes[i].sums)
            largest = fmax(largest, nodes[i].size);
    return largest;
}

static void no_value_is_beyond_the_limit(void **state)
{
    (void)state;
    uint64_t random = 17;
    int limited = 0, impossible = 0;
    for (int trial = 0; trial < 40; trial++) {
        int leaves = trial % 2 ? 6 : 16;
        Network n = random_network(leaves, leaves + 4, &random);
        Pair pairs[LEAVES_MOST];
        order_search(&n, pairs);
        double free = largest_stored(&n, pairs);
        n.limit = floor(free / 2);
        double cost = order_search(&n, pairs);
        if (cost < BEYOND)
            assert_true(largest_stored(&n, pairs) <= n.limit);
        limited += cost < BEYOND;
        impossible += cost >= BEYOND;
    }
    assert_true(limited > 0 && impossible > 0);
}

/* ---- programs ---- */

static Compiled *compiled(const char *text, const char *extents, Nests nests, int64_t memory)
{
    Source source = { "expr", text, strlen(text) };
    Diags diags = { .arena = &arena, .source = &source };
    CompileOptions options = { .name = "test", .command = "", .target = target_find("portable"), .nests = nests, .memory = memory };
    ExtentSpec specs[8];
    int count = 0;
    for (const char *at = extents; *at && count < 8; at += strcspn(at, ",") + (strchr(at, ',') != NULL), count++)
        specs[count] = (ExtentSpec){ .name = arena_copy(&arena, at, 1), .extent = strtoll(at + 2, NULL, 10) };
    options.check.extents = specs;
    options.check.extent_count = count;
    Compiled *c = compile(&arena, &source, &options, &diags);
    if (!c)
        fail_msg("%s: %s", text, diags.first->message);
    return c;
}

/* The order that compiling comes to; its first path's steps joined by "; ", "" for none. */
static const char *order_of(const char *text, const char *extents, Nests nests, int64_t memory)
{
    const Compiled *c = compiled(text, extents, nests, memory);
    Text steps = text_new(&arena);
    for (int i = 0; c->order && i < c->order->paths[0].step_count; i++)
        text_print(&steps, "%s%s", i ? "; " : "", c->order->paths[0].steps[i].letters);
    return steps.bytes;
}

static void programs_are_ordered_where_it_pays(void **state)
{
    (void)state;
    static const struct {
        const char *text, *extents, *steps;
    } cases[] = {
        { "ij,jk,kl->il", "i=100,j=100,k=100,l=2", "jk,kl->jl; ij,jl->il" },
        { "ij,jk,kl->il", "i=2,j=100,k=100,l=100", "ij,jk->ik; ik,kl->il" },
        { "ij,jk,kl->il", "i=2,j=2,k=2,l=2", "" },
        { "ij,jk->ik", "i=100,j=100,k=100", "" },
        { "ij,jk,kl->i", "i=100,j=100,k=100,l=100", "kl->k; jk,k->j; ij,j->i" },
        { "ij,jk,ij->ik", "i=100,j=100,k=100", "ij,ij->ij; ij,jk->ik" },
        { "ij,jk,ik->ik", "i=100,j=100,k=100", "ij,jk->ik; ik,ik->ik" },
        { "ij,jk,kl->ijkl | sum jk", "i=100,j=100,k=100,l=2", "jk,kl->jl; ij,jl->il" },
        { "ij + jk + kl -> ijkl | max jk", "i=100,j=100,k=100,l=2", "jk,kl->jl; ij,jl->il" },
        { "ij:i32 + jk:i32 + kl:i32 -> ijkl | max jk", "i=100,j=100,k=100,l=2", "" },
        { "ij:i32 * jk:i32 * kl:i32 -> il", "i=100,j=100,k=100,l=2", "jk,kl->jl; ij,jl->il" },
        { "ij + jk + kl -> il", "i=100,j=100,k=100,l=2", "" },
        { "exp(ij), jk, (kl - l)^2 -> il", "i=100,j=100,k=100,l=2", "jk,kl->jl; ij,jl->il" },
        { "where(@i < 5, A[i+j,k], 0) * B[k,l] * C[l,j] -> [i]", "i=9,j=80,k=80,l=80", "kl,lj->jk; ijk,jk->i" },
        { "X[i,j] * B[k] | where(@i < 5, _, 0)", "i=9,j=9,k=9", "" },
        /* A matrix is read by long rows, an array in its order. */
        { "i,ij,j->", "i=3000,j=1000", "ij,j->i; i,i->" },
        { "i,ij,j->", "i=3000,j=20", "i,ij->j; j,j->" },
        { "i,ijk,j,k->", "i=200,j=200,k=200", "j,k->jk; ijk,jk->i; i,i->" },
        /* Of two factors one is reduced before where it alone has what is reduced, and the whole has more points than either. */
        { "ijk,jr->kr", "i=100,j=100,k=100,r=2", "ijk->jk; jk,jr->kr" },
        { "ij,kl->", "i=100,j=100,k=100,l=100", "ij->; kl->; ,->" },
        { "i,jk->ij", "i=100,j=100,k=100", "jk->j; i,j->ij" },
        { "ij + jk -> ijk | max ij", "i=100,j=100,k=100", "ij->j; j,jk->k" },
        { "ij:i32 + jk:i32 -> ijk | max ij", "i=100,j=100,k=100", "" },
        { "ij,ik->i", "i=1000,j=3,k=3", "" },
        { "i,ij->i", "i=1000,j=1000", "" },
        { "2 * ij -> i", "i=1000,j=1000", "" },
        /* A sum of sums, or their mean, is one, unless something else reads the inner sums, or they are rounded. */
        { "ij,jk->ik | sum i", "i=100,j=100,k=100", "ij->j; j,jk->k" },
        { "ij,jk->ik | mean i | sum k", "i=100,j=100,k=100", "ij->j; jk->j; j,j->" },
        { "ij,ik->ijk | mean jk", "i=100,j=100,k=100", "ij->i; ik->i; i,i->i" },
        { "ij + jk -> ijk | max k | max j", "i=100,j=100,k=100", "jk->j; ij,j->i" },
        { "ij,jk->ik | sum i & max i", "i=100,j=100,k=100", "" },
        { "ij,jk->ik | max i", "i=100,j=100,k=100", "" },
        { "ij,jk->ik:bf16 | sum i", "i=100,j=100,k=100", "" },
        { "T[i] = A[i+j,k], B[k,l], C[l,j] -> [i]; where(@i < 5, T[i], 0)", "i=9,j=80,k=80,l=80", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *steps = order_of(cases[i].text, cases[i].extents, NESTS_BY_COST, 0);
        if (strcmp(steps, cases[i].steps))
            fail_msg("%s with %s: '%s' instead of '%s'", cases[i].text, cases[i].extents, steps, cases[i].steps);
    }
    assert_string_equal(order_of("ij,jk,kl->il", "i=9,j=2,k=9,l=2", NESTS_TILED, 0), "jk,kl->jl; ij,jl->il");
    assert_string_equal(order_of("ij,jk,kl->il", "i=100,j=100,k=100,l=2", NESTS_LOOPS, 0), "");
}

static void an_order_keeps_the_budget(void **state)
{
    (void)state;
    static const char text[] = "ij,jk,kl->il", extents[] = "i=300,j=200,k=200,l=100";
    assert_string_equal(order_of(text, extents, NESTS_BY_COST, 0), "jk,kl->jl; ij,jl->il");
    assert_string_equal(order_of(text, extents, NESTS_BY_COST, 1 << 20), "jk,kl->jl; ij,jl->il");
    assert_string_equal(order_of(text, extents, NESTS_BY_COST, 10000), "");
}

static int statements_of(const char *text, const char *extents)
{
    return compiled(text, extents, NESTS_BY_COST, 0)->lowered->statement_count;
}

static void what_is_the_same_is_made_once(void **state)
{
    (void)state;
    assert_int_equal(statements_of("X[i,j], Y[j,k], X[i,l], Y[l,k] -> [i,k]", "i=60,j=50,k=40,l=50"), 2);
    assert_int_equal(statements_of("X[i,j], Y[j,k], X[i,l], Z[l,k] -> [i,k]", "i=60,j=50,k=40,l=50"), 3);
    /* What only multiplies each sum is no value in between. */
    assert_int_equal(statements_of("X[i,j], Y[j,k], Z[i,k] -> [i,k]", "i=60,j=50,k=40"), 1);
    assert_int_equal(statements_of("X[i,j], Y[j,k], Z[i,k], w[k] -> [i,k]", "i=60,j=50,k=40"), 1);
    /* Where X has one row, i is 1 and k is not: two values, of two shapes. */
    assert_int_equal(statements_of("X[i,j], X[j,k], X[k,l], X[l,m] -> [i,m]", "i=50,j=50,k=50,l=50,m=50"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exact_is_the_least_of_all_orders),
        TEST(greedy_is_valid_and_always_the_same),
        TEST(greedy_is_near_the_exact_one),
        TEST(no_value_is_beyond_the_limit),
        TEST(programs_are_ordered_where_it_pays),
        TEST(an_order_keeps_the_budget),
        TEST(what_is_the_same_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
