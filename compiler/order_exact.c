/* The best order of a few sets: dynamic programming over all subsets of them, outer products among them. A way to cut a
 * subset in two is dropped as soon as its halves alone cost more than the best so far. */
#include <math.h>

#include "ordering.h"

/* An array whose elements are used once is read from its beginning to its end where its last axes are summed up, and in pieces where
 * others are, which takes as long as so many operations an element, if its rows are long. */
static const double pieces_cost = 0.25;
enum { LONG_ROW = 64 };

typedef struct Exact {
    const Network *network;
    int words, index_count;       /* of the indices that the sets have, numbered anew */
    double *extent;               /* [index] */
    int *members;                 /* [index]: the sets that have it, as bits */
    bool *kept;                   /* [index] */
    int *number;                  /* [the network's index] */
    int *const *axes;             /* [set]: Network's of a leaf with long rows; else NULL */
    Word *left;                   /* [subset][words]: the indices that a subset leaves */
    double *cost, *size;          /* [subset] */
    int *half;                    /* [subset]: where it is cut */
} Exact;

static void number_indices(Exact *e, Word *const *sets, int count, const Word *kept)
{
    const Network *n = e->network;
    e->extent = ARENA_ARRAY(n->arena, double, n->index_count);
    e->members = ARENA_ARRAY(n->arena, int, n->index_count);
    e->kept = ARENA_ARRAY(n->arena, bool, n->index_count);
    e->number = ARENA_ARRAY(n->arena, int, n->index_count);
    for (int i = 0; i < n->index_count; i++) {
        int members = 0;
        for (int s = 0; s < count; s++)
            members |= order_has(sets[s], i) << s;
        if (!members)
            continue;
        e->number[i] = e->index_count;
        e->extent[e->index_count] = n->extent[i];
        e->members[e->index_count] = members;
        e->kept[e->index_count++] = order_has(kept, i);
    }
    e->words = e->index_count / WORD_BITS + 1;
}

/* Of the sets that are leaves of the network. */
static void find_axes(Exact *e, Word *const *sets, int count)
{
    const Network *n = e->network;
    int **axes = ARENA_ARRAY(n->arena, int *, count);
    for (int s = 0; s < count; s++)
        for (int leaf = 0; n->axes && leaf < n->leaf_count; leaf++) {
            int *own = n->leaf[leaf] == sets[s] ? n->axes[leaf] : NULL, last = 0;
            while (own && own[last] >= 0)
                last++;
            axes[s] = last && n->extent[own[last - 1]] >= LONG_ROW ? own : axes[s];
        }
    e->axes = axes;
}

static double points_of(const Exact *e, const Word *a, const Word *b)
{
    double points = 1;
    for (int w = 0; w < e->words; w++)
        for (Word left = a[w] | b[w]; left; left &= left - 1)
            points *= e->extent[w * WORD_BITS + __builtin_ctzll(left)];
    return points;
}

static const Word *left_by(const Exact *e, int subset)
{
    return e->left + (size_t)subset * (size_t)e->words;
}

static void find_left(Exact *e, int subset)
{
    Word *left = e->left + (size_t)subset * (size_t)e->words;
    for (int i = 0; i < e->index_count; i++)
        if ((e->members[i] & subset) && (e->kept[i] || (e->members[i] & ~subset)))
            left[i / WORD_BITS] |= (Word)1 << (i % WORD_BITS);
    e->size[subset] = points_of(e, left, left);
}

static bool sums(const Exact *e, int subset, const Word *a, const Word *b)
{
    for (int w = 0; w < e->words; w++)
        if ((a[w] | b[w]) != left_by(e, subset)[w])
            return true;
    return false;
}

/* What it costs more that a half is an array of which an axis before one that stays is summed up. */
static double read_in_pieces(const Exact *e, int half, const Word *left, double points)
{
    const int *axes = half & (half - 1) ? NULL : e->axes[__builtin_ctz((unsigned)half)];
    bool sums = false, pieces = false;
    for (int a = 0; axes && axes[a] >= 0; a++) {
        bool stays = order_has(left, e->number[axes[a]]);
        pieces |= sums && stays;
        sums |= !stays;
    }
    return pieces && points == e->size[half] ? points * pieces_cost : 0;
}

static void cut_subset(Exact *e, int subset, bool last)
{
    int low = subset & -subset, others = subset ^ low;
    e->cost[subset] = INFINITY;
    for (int some = (others - 1) & others;; some = (some - 1) & others) {
        int a = some | low, b = subset ^ a;
        const Word *left = left_by(e, a), *right = left_by(e, b);
        double halves = e->cost[a] + e->cost[b];
        if (halves < e->cost[subset]) {
            double points = points_of(e, left, right);
            bool reduces = sums(e, subset, left, right);
            double cost = halves + order_cost(e->network, points, e->size[subset], reduces, last);
            if (reduces)
                cost += read_in_pieces(e, a, left_by(e, subset), points) + read_in_pieces(e, b, left_by(e, subset), points);
            if (cost < e->cost[subset]) {
                e->cost[subset] = cost;
                e->half[subset] = a;
            }
        }
        if (some == 0)
            return;
    }
}

/* Writes the pairs of a subset; its own last. The number of what it makes. */
static int write_pairs(const Exact *e, int subset, int count, Pair *pairs, int *made)
{
    if (!(subset & (subset - 1)))
        return __builtin_ctz((unsigned)subset);
    int left = write_pairs(e, e->half[subset], count, pairs, made);
    int right = write_pairs(e, subset ^ e->half[subset], count, pairs, made);
    pairs[*made] = (Pair){ left, right };
    return count + (*made)++;
}

double order_exact(const Network *network, Word *const *sets, int count, const Word *kept, bool whole, Pair *pairs)
{
    Exact e = { .network = network };
    int all = (1 << count) - 1, made = 0;
    number_indices(&e, sets, count, kept);
    find_axes(&e, sets, count);
    e.left = ARENA_ARRAY(network->arena, Word, (size_t)(all + 1) * (size_t)e.words);
    e.cost = ARENA_ARRAY(network->arena, double, all + 1);
    e.size = ARENA_ARRAY(network->arena, double, all + 1);
    e.half = ARENA_ARRAY(network->arena, int, all + 1);
    for (int subset = 1; subset <= all; subset++) {
        find_left(&e, subset);
        if (subset & (subset - 1))
            cut_subset(&e, subset, whole && subset == all);
    }
    write_pairs(&e, all, count, pairs, &made);
    return e.cost[all];
}
