/* Orders of many factors. Greedy: again and again the pair whose contraction makes the values in between the smallest.
 * Restarts with some noise find others; the best of some restarts is improved. */
#include <math.h>

#include "ordering.h"

enum {
    ROUNDS = 2,                   /* of restarts, the best of each of which is improved */
    ROUND_WORK = 1 << 19,         /* in words of sets that are looked at */
    ROUND_RESTARTS = 64
};

/* ---- one greedy order ---- */

typedef struct Candidate {
    double score;                 /* the least is taken first */
    int left, right;
} Candidate;

typedef struct Greedy {
    const Network *network;
    Word **set;                   /* [node]: leaves, then what pairs make */
    double *size;                 /* [node] */
    bool *used;                   /* [node]: another was made of it */
    int *users;                   /* [index]: nodes not used yet that have it */
    Word *single, *twice;         /* the indices that one such node has, that two have */
    Candidate *heap;
    int heap_count, heap_room;
    int *active, active_count;    /* nodes not used yet */
    uint64_t random;
    double share, heat;           /* how much the values that vanish count, and how strong the noise is */
    double work;
} Greedy;

static void note_users(Greedy *g, int index)
{
    Word bit = (Word)1 << (index % WORD_BITS);
    int w = index / WORD_BITS;
    g->single[w] = g->users[index] == 1 ? g->single[w] | bit : g->single[w] & ~bit;
    g->twice[w] = g->users[index] == 2 ? g->twice[w] | bit : g->twice[w] & ~bit;
}

/* What a contraction leaves: not what only these two have, and nothing keeps. */
static Word left_of(const Greedy *g, int w, Word a, Word b)
{
    Word only = (a & b & g->twice[w]) | ((a ^ b) & g->single[w]);
    return (a | b) & ~(only & ~g->network->kept[w]);
}

static double points_of(const Greedy *g, int w, Word set)
{
    double points = 1;
    for (; set; set &= set - 1)
        points *= g->network->extent[w * WORD_BITS + __builtin_ctzll(set)];
    return points;
}

static double size_left(const Greedy *g, const Word *a, const Word *b)
{
    double size = 1;
    for (int w = 0; w < g->network->words; w++)
        size *= points_of(g, w, left_of(g, w, a[w], b[w]));
    return size;
}

/* What a contraction adds to what is stored, on a logarithmic scale, and some noise. */
static double score(Greedy *g, double made, double gone)
{
    double grows = made - g->share * gone, log = log2(1 + fabs(grows));
    double noise = g->heat > 0 ? g->heat * log2(-log2(order_uniform(&g->random))) : 0;
    return (grows < 0 ? -log : log) + noise;
}

static bool comes_before(const Candidate *a, const Candidate *b)
{
    if (a->score != b->score)
        return a->score < b->score;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static void push(Greedy *g, Candidate candidate)
{
    if (g->heap_count == g->heap_room) {
        Candidate *more = ARENA_ARRAY(g->network->arena, Candidate, 2 * g->heap_room);
        for (int i = 0; i < g->heap_count; i++)
            more[i] = g->heap[i];
        g->heap = more;
        g->heap_room *= 2;
    }
    int at = g->heap_count++;
    for (; at && comes_before(&candidate, &g->heap[(at - 1) / 2]); at = (at - 1) / 2)
        g->heap[at] = g->heap[(at - 1) / 2];
    g->heap[at] = candidate;
}

static Candidate pop(Greedy *g)
{
    Candidate first = g->heap[0], last = g->heap[--g->heap_count];
    int at = 0;
    for (int child; (child = 2 * at + 1) < g->heap_count; at = child) {
        if (child + 1 < g->heap_count && comes_before(&g->heap[child + 1], &g->heap[child]))
            child++;
        if (!comes_before(&g->heap[child], &last))
            break;
        g->heap[at] = g->heap[child];
    }
    g->heap[at] = last;
    return first;
}

static bool meet(const Greedy *g, int a, int b)
{
    for (int w = 0; w < g->network->words; w++)
        if (g->set[a][w] & g->set[b][w])
            return true;
    return false;
}

/* A node that is there from now on, and what it can be contracted with: all that it has an index in common with. */
static void enter(Greedy *g, int node)
{
    for (int i = 0; i < g->active_count; i++) {
        int other = g->active[i];
        g->work += g->network->words;
        if (!meet(g, node, other))
            continue;
        g->work += 4 * g->network->words;
        double made = size_left(g, g->set[node], g->set[other]);
        push(g, (Candidate){ score(g, made, g->size[node] + g->size[other]), other, node });
    }
    g->active[g->active_count++] = node;
}

static void leave(Greedy *g, int node)
{
    int i = 0;
    while (g->active[i] != node)
        i++;
    g->active[i] = g->active[--g->active_count];
    g->used[node] = true;
}

static void count_users(Greedy *g, int node, int by)
{
    for (int w = 0; w < g->network->words; w++)
        for (Word left = g->set[node][w]; left; left &= left - 1) {
            int index = w * WORD_BITS + __builtin_ctzll(left);
            g->users[index] += by;
            note_users(g, index);
        }
}

/* The two smallest: of what has nothing in common, an outer product. */
static Candidate smallest(const Greedy *g)
{
    int best[2] = { -1, -1 };
    for (int i = 0; i < g->active_count; i++) {
        int node = g->active[i];
        for (int b = 0; b < 2; b++)
            if (best[b] < 0 || g->size[node] < g->size[best[b]] || (g->size[node] == g->size[best[b]] && node < best[b])) {
                int moved = best[b];
                best[b] = node;
                node = moved;
                if (node < 0)
                    break;
            }
    }
    return (Candidate){ 0, best[0], best[1] };
}

static double contract(Greedy *g, int left, int right, int made, bool last)
{
    const Word *a = g->set[left], *b = g->set[right];
    Word *set = g->set[made];
    double points = 1;
    bool sums = false;
    for (int w = 0; w < g->network->words; w++) {
        set[w] = left_of(g, w, a[w], b[w]);
        points *= points_of(g, w, a[w] | b[w]);
        sums |= set[w] != (a[w] | b[w]);
    }
    g->size[made] = order_points(g->network, set);
    count_users(g, left, -1);
    count_users(g, right, -1);
    count_users(g, made, 1);
    leave(g, left);
    leave(g, right);
    return order_cost(g->network, points, g->size[made], sums, last);
}

/* One order; given up as soon as it costs more than `most`. */
static double run(Greedy *g, Pair *pairs, double most)
{
    int leaves = g->network->leaf_count;
    double cost = 0;
    g->heap_count = g->active_count = 0;
    for (int i = 0; i < g->network->index_count; i++)
        g->users[i] = 0;
    for (int n = 0; n < 2 * leaves - 1; n++)
        g->used[n] = false;
    for (int l = 0; l < leaves; l++)
        count_users(g, l, 1);
    for (int l = 0; l < leaves; l++)
        enter(g, l);
    for (int made = leaves; made < 2 * leaves - 1 && cost < most; made++) {
        Candidate best = { 0, -1, -1 };
        while (g->heap_count && best.left < 0) {
            best = pop(g);
            if (g->used[best.left] || g->used[best.right])
                best.left = -1;
        }
        if (best.left < 0)
            best = smallest(g);
        cost += contract(g, best.left, best.right, made, made == 2 * leaves - 2);
        pairs[made - leaves] = (Pair){ best.left, best.right };
        enter(g, made);
    }
    return cost;
}

static Greedy begin(const Network *n)
{
    int nodes = 2 * n->leaf_count - 1;
    Greedy g = { .network = n, .random = 1, .heap_room = 8 * n->leaf_count };
    g.set = ARENA_ARRAY(n->arena, Word *, nodes);
    g.size = ARENA_ARRAY(n->arena, double, nodes);
    g.used = ARENA_ARRAY(n->arena, bool, nodes);
    g.active = ARENA_ARRAY(n->arena, int, nodes);
    g.users = ARENA_ARRAY(n->arena, int, n->index_count);
    g.single = ARENA_ARRAY(n->arena, Word, n->words);
    g.twice = ARENA_ARRAY(n->arena, Word, n->words);
    g.heap = ARENA_ARRAY(n->arena, Candidate, g.heap_room);
    for (int i = 0; i < nodes; i++) {
        g.set[i] = i < n->leaf_count ? n->leaf[i] : ARENA_ARRAY(n->arena, Word, n->words);
        g.size[i] = i < n->leaf_count ? order_points(n, n->leaf[i]) : 0;
    }
    return g;
}

/* ---- the search ---- */

/* The best of some restarts. */
static double best_of_round(Greedy *g, bool plain, Pair *pairs, Pair *tried)
{
    double best = INFINITY;
    g->work = 0;
    for (int r = 0; r < ROUND_RESTARTS && g->work < ROUND_WORK; r++) {
        bool exact = plain && r == 0;
        g->share = exact ? 1 : 0.5 + order_uniform(&g->random);
        g->heat = exact ? 0 : exp2(-7 * order_uniform(&g->random));
        double cost = run(g, tried, best);
        if (!(cost < best))
            continue;
        best = cost;
        for (int p = 0; p < g->network->leaf_count - 1; p++)
            pairs[p] = tried[p];
    }
    return best;
}

double order_greedy(const Network *n, Pair *pairs)
{
    Greedy g = begin(n);
    Pair *found = ARENA_ARRAY(n->arena, Pair, n->leaf_count), *tried = ARENA_ARRAY(n->arena, Pair, n->leaf_count);
    double best = INFINITY;
    for (int r = 0; r < ROUNDS; r++) {
        best_of_round(&g, r == 0, found, tried);
        double cost = order_improve(n, found, &g.random);
        if (!(cost < best))
            continue;
        best = cost;
        for (int p = 0; p < n->leaf_count - 1; p++)
            pairs[p] = found[p];
    }
    return best;
}
