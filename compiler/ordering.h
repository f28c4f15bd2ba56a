/* What the parts of order share: order.c (what is ordered and why), order_tree.c (what an order costs), order_exact.c,
 * order_greedy.c and order_improve.c (the search), order_build.c and order_same.c
 * (the new program). Only they and their test include it. */
#ifndef EINC_ORDERING_H
#define EINC_ORDERING_H

#include "order.h"
#include "semiring.h"

enum { EXACT_MOST = 12 };         /* leaves for which every order is tried */

/* Sets are bits over the network's indices. */
typedef uint64_t Word;
enum { WORD_BITS = 64 };

#define BEYOND 1e290              /* what an order costs with a value that has no room */

/* Factors as a hypergraph: a leaf is the set of a factor's indices. Indices of the same leaves are one here. */
typedef struct Network {
    Arena *arena;
    int leaf_count, index_count, words;
    double *extent;               /* [index] */
    Word **leaf;                  /* [leaf]: without what only this factor has and nothing keeps: it is reduced before */
    int **axes;                   /* [leaf]: its indices as they lie in memory, the outermost first, and -1; NULL: not known. NULL: of no leaf */
    Word *kept;                   /* the indices that stay */
    double limit;                 /* no more elements are stored of a value in between */
} Network;

/* What is contracted with what: 0 to leaf_count - 1 are the leaves, leaf_count + p is what pair p makes. A pair comes behind
 * those that it uses, and the last makes the result. */
typedef struct Pair {
    int left, right;
} Pair;

/* ---- order_tree.c ---- */

/* The elements of a value that has these indices. */
double order_points(const Network *network, const Word *set);

bool order_has(const Word *set, int index);

/* What one contraction costs, in operations. `points`: of all its indices. What sums is stored, unless it is the `last`:
 * `size` elements, and BEYOND where that is over the limit. What sums nothing is a factor of what reads it. */
double order_cost(const Network *network, double points, double size, bool sums, bool last);

/* A tree's nodes: leaves first, then a node for each pair. */
typedef struct Node {
    int left, right;              /* -1: a leaf */
    Word *all, *set;              /* the indices before and after those are reduced that nothing else has */
    bool sums;
    double points, size;          /* of `all`, of `set` */
} Node;

/* The nodes of an order, and what it costs in all. */
Node *order_nodes(const Network *network, const Pair *pairs, double *cost);

/* The node of two others. `outside`: indices that something else has, or that stay; those of no other node matter, too. */
void order_join(const Network *network, const Node *left, const Node *right, const Word *outside, Node *node);

/* The next of numbers between 0 and 1 that only look random: the same in each run. */
double order_uniform(uint64_t *state);

/* ---- the search: each gives the cost of the pairs that it finds ---- */

/* The best order of `count` sets, EXACT_MOST at most, of which `kept` stays. The pairs number the sets from 0. `whole`: it
 * makes the result, which needs no place. */
double order_exact(const Network *network, Word *const *sets, int count, const Word *kept, bool whole, Pair *pairs);

double order_greedy(const Network *network, Pair *pairs);

/* Makes an order cheaper where it can. */
double order_improve(const Network *network, Pair *pairs, uint64_t *random);

/* The exact or the greedy one, as the number of leaves says. */
double order_search(const Network *network, Pair *pairs);

/* ---- order.c and order_build.c ---- */

/* A reduction that is ordered. */
typedef struct Ordered {
    const Term *reduction;        /* the outermost, where it runs over another of its kind */
    const Term *top;              /* the combination of the factors */
    const Term **factors;         /* the leaves, in the order of the text */
    Network network;
    int *class_of;                /* [index id]: its number in the network; -1: it has none */
    Node *nodes;
    Function function;            /* that joins factors */
    bool comma;                   /* it is written as one */
} Ordered;

/* Whether a leaf is reduced before it is contracted. */
bool order_reduces_leaf(const Ordered *o, int leaf);

/* Whether a node is a statement of its own. The last reduction is not, be it multiplied by factors that have none but its
 * indices: then each of its sums is, where it is made. */
bool order_stores(const Ordered *o, int node);

/* order_same.c: whether two values of an ordered program are the same up to the names of their indices. */
bool order_same_value(Arena *arena, const Term *a, const Term *b);

/* A copy of the program, checked or ordered, with its orders: by term id, NULL where there is none; NULL: nowhere. */
Program *order_build(Arena *arena, const Program *program, Ordered *const *orders);

#endif
