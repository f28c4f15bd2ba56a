/* What an order costs. */
#include "ordering.h"

/* So many operations take the time in which an element is stored and read again, and in which a step begins. */
enum { STORED_ELEMENT = 4, STORED_VALUE = 512 };

bool order_has(const Word *set, int index)
{
    return set[index / WORD_BITS] >> (index % WORD_BITS) & 1;
}

double order_points(const Network *network, const Word *set)
{
    double points = 1;
    for (int w = 0; w < network->words; w++)
        for (Word left = set[w]; left; left &= left - 1)
            points *= network->extent[w * WORD_BITS + __builtin_ctzll(left)];
    return points;
}

double order_cost(const Network *network, double points, double size, bool sums, bool last)
{
    double cost = points * (sums ? 2 : 1);
    if (!sums || last)
        return cost;
    return cost + STORED_ELEMENT * size + STORED_VALUE + (size > network->limit ? BEYOND : 0);
}

double order_uniform(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return ((double)((x ^ (x >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* ---- nodes ---- */

void order_join(const Network *network, const Node *left, const Node *right, const Word *outside, Node *node)
{
    node->sums = false;
    for (int w = 0; w < network->words; w++) {
        Word all = left->set[w] | right->set[w];
        node->all[w] = all;
        node->set[w] = all & outside[w];
        node->sums |= (all & ~outside[w]) != 0;
    }
    node->points = order_points(network, node->all);
    node->size = order_points(network, node->set);
}

/* How many nodes that no other was made of yet have an index. */
static int *count_users(const Network *network)
{
    int *users = ARENA_ARRAY(network->arena, int, network->index_count);
    for (int l = 0; l < network->leaf_count; l++)
        for (int i = 0; i < network->index_count; i++)
            users[i] += order_has(network->leaf[l], i);
    return users;
}

static void make_node(const Network *network, const Node *nodes, Node *node, int *users, Word *outside)
{
    const Node *left = &nodes[node->left], *right = &nodes[node->right];
    for (int w = 0; w < network->words; w++)
        outside[w] = network->kept[w];
    for (int i = 0; i < network->index_count; i++) {
        int in = order_has(left->set, i) + order_has(right->set, i);
        outside[i / WORD_BITS] |= (Word)(users[i] > in) << (i % WORD_BITS);
        users[i] -= in ? in - 1 : 0;
    }
    order_join(network, left, right, outside, node);
}

Node *order_nodes(const Network *network, const Pair *pairs, double *cost)
{
    int leaves = network->leaf_count, count = 2 * leaves - 1, *users = count_users(network);
    Node *nodes = ARENA_ARRAY(network->arena, Node, count);
    Word *outside = ARENA_ARRAY(network->arena, Word, network->words);
    *cost = 0;
    for (int n = 0; n < count; n++) {
        Node *node = &nodes[n];
        node->left = node->right = -1;
        node->all = n < leaves ? network->leaf[n] : ARENA_ARRAY(network->arena, Word, network->words);
        node->set = n < leaves ? network->leaf[n] : ARENA_ARRAY(network->arena, Word, network->words);
        if (n < leaves) {
            node->points = node->size = order_points(network, node->set);
            continue;
        }
        node->left = pairs[n - leaves].left;
        node->right = pairs[n - leaves].right;
        make_node(network, nodes, node, users, outside);
        *cost += order_cost(network, node->points, node->size, node->sums, n == count - 1);
    }
    return nodes;
}

double order_search(const Network *network, Pair *pairs)
{
    if (network->leaf_count > EXACT_MOST)
        return order_greedy(network, pairs);
    return order_exact(network, network->leaf, network->leaf_count, network->kept, true, pairs);
}
