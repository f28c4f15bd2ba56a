/* Makes an order of many factors cheaper: first by annealing, which turns (a b) c into (a c) b, then by ordering every
 * small part of it anew, exactly. */
#include <math.h>

#include "ordering.h"

enum {
    ANNEALING = 200,              /* sweeps over all nodes */
    PART = 8,                     /* leaves of a part that is ordered anew */
    SWEEPS = 6                    /* over all parts */
};

typedef struct Tree {
    const Network *network;
    Node *nodes;
    int root;
    uint64_t *random;
    Word *outside;
    Node inner, outer;            /* room for what a turn would make */
    Pair *pairs;                  /* of the part at hand */
    int *leaf, *opened;           /* of the part: nodes of the tree */
    int leaf_count, opened_count;
    bool by_chance;               /* which of a part's leaves are opened, instead of the largest */
} Tree;

static Node new_node(const Network *n)
{
    return (Node){ .all = ARENA_ARRAY(n->arena, Word, n->words), .set = ARENA_ARRAY(n->arena, Word, n->words) };
}

static double cost_of(const Tree *t, const Node *node, bool last)
{
    return order_cost(t->network, node->points, node->size, node->sums, last);
}

/* ---- annealing ---- */

static void copy_node(const Network *n, const Node *from, int left, int right, Node *to)
{
    for (int w = 0; w < n->words; w++) {
        to->all[w] = from->all[w];
        to->set[w] = from->set[w];
    }
    to->left = left;
    to->right = right;
    to->sums = from->sums;
    to->points = from->points;
    to->size = from->size;
}

/* Tries to turn (kept moved) other at a node, whose child is (kept moved), into (kept other) moved. What costs more is
 * taken the more seldom the colder it is. */
static void try_turn(Tree *t, int top, int child, int kept, int moved, int other, double cold)
{
    const Network *n = t->network;
    Node *nodes = t->nodes;
    for (int w = 0; w < n->words; w++)
        t->outside[w] = nodes[moved].set[w] | nodes[top].set[w];
    order_join(n, &nodes[kept], &nodes[other], t->outside, &t->inner);
    order_join(n, &t->inner, &nodes[moved], nodes[top].set, &t->outer);
    double before = cost_of(t, &nodes[child], false) + cost_of(t, &nodes[top], top == t->root);
    double after = cost_of(t, &t->inner, false) + cost_of(t, &t->outer, top == t->root);
    if (after > before && order_uniform(t->random) > exp2(-cold * log2(after / before)))
        return;
    copy_node(n, &t->inner, kept, other, &nodes[child]);
    copy_node(n, &t->outer, child, moved, &nodes[top]);
}

static void turn_below(Tree *t, int top, double cold)
{
    for (int side = 0; side < 2; side++) {
        int child = side ? t->nodes[top].right : t->nodes[top].left;
        int other = side ? t->nodes[top].left : t->nodes[top].right;
        if (t->nodes[child].left < 0)
            continue;
        bool first = order_uniform(t->random) < 0.5;
        int left = t->nodes[child].left, right = t->nodes[child].right;
        try_turn(t, top, child, first ? left : right, first ? right : left, other, cold);
    }
}

static void anneal(Tree *t)
{
    for (int s = 0; s < ANNEALING; s++) {
        double cold = exp2(-3 + 8.0 * s / ANNEALING);
        for (int n = t->network->leaf_count; n <= t->root; n++)
            turn_below(t, n, cold);
    }
}

/* ---- parts ordered anew ---- */

static int choose_opened(const Tree *t)
{
    int open = -1, count = 0;
    for (int i = 0; i < t->leaf_count; i++) {
        const Node *node = &t->nodes[t->leaf[i]];
        if (node->left < 0)
            continue;
        count++;
        bool chosen = t->by_chance ? order_uniform(t->random) * count < 1 : open < 0 || node->size > t->nodes[t->leaf[open]].size;
        open = chosen ? i : open;
    }
    return open;
}

/* The part below a node: some of its leaves are opened until there are PART. */
static void find_part(Tree *t, int top)
{
    t->leaf_count = 2;
    t->opened_count = 1;
    t->opened[0] = top;
    t->leaf[0] = t->nodes[top].left;
    t->leaf[1] = t->nodes[top].right;
    for (int open; t->leaf_count < PART && (open = choose_opened(t)) >= 0;) {
        const Node *node = &t->nodes[t->leaf[open]];
        t->opened[t->opened_count++] = t->leaf[open];
        t->leaf[open] = node->left;
        t->leaf[t->leaf_count++] = node->right;
    }
}

static double part_cost(const Tree *t)
{
    double cost = 0;
    for (int i = 0; i < t->opened_count; i++)
        cost += cost_of(t, &t->nodes[t->opened[i]], t->opened[i] == t->root);
    return cost;
}

/* Puts the part's new nodes into the places of its old ones; the top stays in its place. */
static void write_part(Tree *t)
{
    const Network *n = t->network;
    int count = t->leaf_count, *live = ARENA_ARRAY(n->arena, int, 2 * PART);    /* made, and not used yet */
    const Node *top = &t->nodes[t->opened[0]];
    for (int l = 0; l < count; l++)
        live[l] = t->leaf[l];
    for (int p = 0; p < count - 1; p++) {
        int left = live[t->pairs[p].left], right = live[t->pairs[p].right], place = t->opened[p == count - 2 ? 0 : p + 1];
        live[t->pairs[p].left] = live[t->pairs[p].right] = -1;
        for (int w = 0; w < n->words; w++)
            t->outside[w] = top->set[w];
        for (int l = 0; l < count + p; l++)
            for (int w = 0; w < n->words && live[l] >= 0; w++)
                t->outside[w] |= t->nodes[live[l]].set[w];
        Node *node = &t->nodes[place];
        order_join(n, &t->nodes[left], &t->nodes[right], t->outside, &t->inner);
        copy_node(n, &t->inner, left, right, node);
        live[count + p] = place;
    }
}

/* Whether some part below a node, or the one at it, became cheaper. */
static bool order_anew(Tree *t, int top)
{
    if (t->nodes[top].left < 0)
        return false;
    bool better = order_anew(t, t->nodes[top].left);
    better |= order_anew(t, t->nodes[top].right);
    find_part(t, top);
    if (t->leaf_count < 3)
        return better;
    Word *sets[PART];
    for (int i = 0; i < t->leaf_count; i++)
        sets[i] = t->nodes[t->leaf[i]].set;
    double cost = order_exact(t->network, sets, t->leaf_count, t->nodes[top].set, top == t->root, t->pairs);
    if (!(cost < part_cost(t) * (1 - 1e-9)))
        return better;
    write_part(t);
    return true;
}

/* ---- the whole ---- */

static int write_pairs(const Tree *t, int node, Pair *pairs, int *made)
{
    if (t->nodes[node].left < 0)
        return node;
    int left = write_pairs(t, t->nodes[node].left, pairs, made);
    int right = write_pairs(t, t->nodes[node].right, pairs, made);
    pairs[*made] = (Pair){ left, right };
    return t->network->leaf_count + (*made)++;
}

double order_improve(const Network *n, Pair *pairs, uint64_t *random)
{
    double cost;
    int made = 0;
    Tree t = { .network = n, .nodes = order_nodes(n, pairs, &cost), .root = 2 * n->leaf_count - 2, .random = random };
    t.pairs = ARENA_ARRAY(n->arena, Pair, PART);
    t.leaf = ARENA_ARRAY(n->arena, int, PART);
    t.opened = ARENA_ARRAY(n->arena, int, PART);
    t.outside = ARENA_ARRAY(n->arena, Word, n->words);
    t.inner = new_node(n);
    t.outer = new_node(n);
    anneal(&t);
    bool better = true;
    for (int sweep = 0; sweep < SWEEPS && better; sweep++) {
        t.by_chance = sweep & 1;
        better = order_anew(&t, t.root);
    }
    write_pairs(&t, t.root, pairs, &made);
    order_nodes(n, pairs, &cost);
    return cost;
}
