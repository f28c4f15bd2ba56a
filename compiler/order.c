/* See order.h. Which reductions are ordered, and what is said about it. */
#include "ordering.h"

#include <math.h>
#include <string.h>

enum { GUESS = 64 };

/* An order that stores something has to cost less by this factor than one nest that runs as a tiled product or has but two factors; any
 * other order than one nest by the other. */
static const double worth_storing = 0.52, worth_grouping = 0.8;

typedef struct Orders {
    Arena *arena;
    const Program *program;
    const Extents *extents;
    Nests nests;
    int64_t memory;
    bool *used;                   /* [term id]: some output is made of it */
    bool *may_miss;               /* [term id]: it reads where a read can be out of range */
    bool *in_branch;              /* [term id]: behind a where, perhaps */
    int *readers;                 /* [term id]: terms and outputs that are used */
    bool *inside;                 /* [term id]: it is one of the reductions of an order, which another reduction has */
    Ordered **of;                 /* [term id] */
} Orders;

/* ---- reads that a where may protect ---- */

static void add_miss(void *user, const Term *term)
{
    Orders *o = user;
    bool miss = false;
    if (term->kind == TERM_READ) {
        const Tensor *tensor = term->read.tensor;
        for (int a = 0; a < tensor->rank; a++)
            miss |= !position_is_plain(&term->read.positions[a]);
        for (int i = 0; tensor->maker && i < tensor->maker->output_count; i++)
            miss |= o->may_miss[tensor->maker->outputs[i].value->id];
    }
    o->may_miss[term->id] |= miss;
}

typedef struct Spread {
    Orders *o;
    const Term *from;
} Spread;

static void spread_miss(void *user, const Term *argument)
{
    Spread *s = user;
    s->o->may_miss[s->from->id] |= s->o->may_miss[argument->id];
}

static void spread_use(void *user, const Term *argument)
{
    Spread *s = user;
    s->o->used[argument->id] |= s->o->used[s->from->id];
    s->o->readers[argument->id] += s->o->used[s->from->id];
    s->o->in_branch[argument->id] |= s->o->in_branch[s->from->id];
}

static void use_output(Orders *o, const Output *output)
{
    o->used[output->value->id] = true;
    o->readers[output->value->id]++;
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++)
            if (output->positions[a].parts[k].gather)
                o->used[output->positions[a].parts[k].gather->id] = true;
}

/* What a term is made of stands before it, and what a statement reads before that. So one walk forwards finds what may
 * miss, and one backwards what some where is around. */
static void find_protected(Orders *o, const bool *needed)
{
    const Program *p = o->program;
    for (int s = 0; s < p->statement_count; s++)
        for (int i = 0; i < p->statements[s]->output_count && needed[s]; i++)
            use_output(o, &p->statements[s]->outputs[i]);
    for (int i = 0; i < p->term_count; i++) {
        Spread s = { .o = o, .from = p->terms[i] };
        add_miss(o, p->terms[i]);
        term_each_argument(p->terms[i], spread_miss, &s);
    }
    for (int i = p->term_count - 1; i >= 0; i--) {
        const Term *term = p->terms[i];
        Spread s = { .o = o, .from = term };
        term_each_argument(term, spread_use, &s);
        if (term->kind == TERM_SELECT)
            o->in_branch[term->select.yes->id] = o->in_branch[term->select.no->id] = true;
        const Statement *maker = term->kind == TERM_READ ? term->read.tensor->maker : NULL;
        for (int k = 0; maker && k < maker->output_count && o->in_branch[i]; k++)
            o->in_branch[maker->outputs[k].value->id] = true;
    }
}

/* ---- the network of a reduction ---- */

static double extent_of(const Orders *o, const Index *index)
{
    int64_t extent = o->extents ? o->extents->of[index->id] : -1;
    return extent < 0 ? GUESS : (double)extent;
}

typedef struct Listing {
    Arena *arena;
    const Term **list;
    int count;
} Listing;

static void list_factor(void *user, const Term *factor)
{
    Listing *l = user;
    ARENA_APPEND(l->arena, l->list, l->count, factor);
}

/* Which factors have an index, and behind them, whether it stays: as bits. */
static Word **find_members(const Orders *orders, const Ordered *o, const Term *top, int words)
{
    Word **members = ARENA_ARRAY(orders->arena, Word *, orders->program->index_count);
    for (int i = 0; i < top->rank; i++)
        members[top->indices[i]->id] = ARENA_ARRAY(orders->arena, Word, words);
    for (int f = 0; f <= o->network.leaf_count; f++) {
        const Term *term = f < o->network.leaf_count ? o->factors[f] : o->reduction;
        for (int i = 0; i < term->rank; i++)
            if (members[term->indices[i]->id])
                members[term->indices[i]->id][f / WORD_BITS] |= (Word)1 << (f % WORD_BITS);
    }
    return members;
}

/* Indices of the same factors, of which all stay or none does, are one of the network. */
static void find_classes(const Orders *orders, Ordered *o, const Term *top)
{
    Network *n = &o->network;
    int words = n->leaf_count / WORD_BITS + 1;
    Word **members = find_members(orders, o, top, words), **of_class = ARENA_ARRAY(orders->arena, Word *, top->rank);
    o->class_of = ARENA_ARRAY(orders->arena, int, orders->program->index_count);
    n->extent = ARENA_ARRAY(orders->arena, double, top->rank + 1);
    for (int i = 0; i < orders->program->index_count; i++)
        o->class_of[i] = -1;
    for (int i = 0; i < top->rank; i++) {
        Index *index = top->indices[i];
        int c = 0;
        while (c < n->index_count && memcmp(of_class[c], members[index->id], (size_t)words * sizeof(Word)))
            c++;
        if (c == n->index_count) {
            of_class[c] = members[index->id];
            n->extent[n->index_count++] = 1;
        }
        n->extent[c] *= extent_of(orders, index);
        o->class_of[index->id] = c;
    }
    n->words = n->index_count / WORD_BITS + 1;
}

static void add_class(Word *set, int c)
{
    set[c / WORD_BITS] |= (Word)1 << (c % WORD_BITS);
}

/* The leaves: of indices that one factor alone has, only those that stay. */
static void make_leaves(const Orders *orders, Ordered *o)
{
    Network *n = &o->network;
    int *users = ARENA_ARRAY(orders->arena, int, n->index_count + 1);
    n->leaf = ARENA_ARRAY(orders->arena, Word *, n->leaf_count);
    n->kept = ARENA_ARRAY(orders->arena, Word, n->words);
    for (int i = 0; i < o->reduction->rank; i++)
        if (o->class_of[o->reduction->indices[i]->id] >= 0)
            add_class(n->kept, o->class_of[o->reduction->indices[i]->id]);
    for (int f = 0; f < n->leaf_count; f++) {
        n->leaf[f] = ARENA_ARRAY(orders->arena, Word, n->words);
        for (int i = 0; i < o->factors[f]->rank; i++)
            add_class(n->leaf[f], o->class_of[o->factors[f]->indices[i]->id]);
        for (int c = 0; c < n->index_count; c++)
            users[c] += order_has(n->leaf[f], c);
    }
    for (int f = 0; f < n->leaf_count; f++)
        for (int c = 0; c < n->index_count; c++)
            if (users[c] == 1 && !order_has(n->kept, c))
                n->leaf[f][c / WORD_BITS] &= ~((Word)1 << (c % WORD_BITS));
}

/* The indices of a leaf as they lie in memory, if it is read from an array as C lays it out; else NULL. */
static int *axes_of(const Orders *orders, const Ordered *o, int leaf)
{
    const Term *factor = o->factors[leaf];
    while (factor->kind == TERM_MAP && factor->map.count == 1)
        factor = factor->map.arguments[0];
    if (factor->kind != TERM_READ)
        return NULL;
    int rank = factor->read.tensor->rank, count = 0, *axes = ARENA_ARRAY(orders->arena, int, rank + 1);
    for (int a = 0; a < rank; a++) {
        const Position *at = &factor->read.positions[a];
        if (!position_is_plain(at))
            return NULL;
        int class = o->class_of[at->parts[0].index->id];
        if (class >= 0 && order_has(o->network.leaf[leaf], class) && (count == 0 || axes[count - 1] != class))
            axes[count++] = class;
    }
    axes[count] = -1;
    return axes;
}

/* Whether what a reduction runs over has other readers: then it is made for these, too. */
static bool is_read_elsewhere(const Orders *orders, const Term *reduction)
{
    for (const Term *inner = semiring_inner(reduction); inner; inner = semiring_inner(inner))
        if (orders->readers[inner->id] > 1)
            return true;
    return false;
}

static Ordered *network_of(const Orders *orders, const Term *reduction)
{
    const Term *top = semiring_any_order(reduction);
    if (!top || is_read_elsewhere(orders, reduction))
        return NULL;
    Listing listing = { .arena = orders->arena };
    semiring_each_factor(top, list_factor, &listing);
    Ordered *o = ARENA_NEW(orders->arena, Ordered);
    o->reduction = reduction;
    o->top = top;
    o->factors = listing.list;
    o->function = top->map.function;
    o->comma = top->map.comma;
    o->network = (Network){ .arena = orders->arena, .leaf_count = listing.count, .limit = INFINITY };
    if (orders->memory)
        o->network.limit = (double)orders->memory / (double)dtype_size(reduction->dtype);
    find_classes(orders, o, top);
    make_leaves(orders, o);
    o->network.axes = ARENA_ARRAY(orders->arena, int *, listing.count);
    for (int f = 0; f < listing.count; f++)
        o->network.axes[f] = axes_of(orders, o, f);
    return o;
}

/* ---- whether it pays ---- */

bool order_reduces_leaf(const Ordered *o, int leaf)
{
    const Term *factor = o->factors[leaf];
    for (int i = 0; i < factor->rank; i++)
        if (!order_has(o->nodes[leaf].set, o->class_of[factor->indices[i]->id]))
            return true;
    return false;
}

static double points(const Orders *orders, Index *const *indices, int count)
{
    double product = 1;
    for (int i = 0; i < count; i++)
        product *= extent_of(orders, indices[i]);
    return product;
}

static bool sums_nothing(const Ordered *o, int node)
{
    const Node *n = &o->nodes[node];
    return node < o->network.leaf_count ? !order_reduces_leaf(o, node)
                                        : !n->sums && sums_nothing(o, n->left) && sums_nothing(o, n->right);
}

/* Whether all that is done with a node, from `at` down to it, is to multiply each of its elements. */
static bool is_multiplied(const Ordered *o, int at, int node)
{
    const Node *n = &o->nodes[at], *whole = &o->nodes[2 * o->network.leaf_count - 2];
    if (memcmp(n->set, whole->set, (size_t)o->network.words * sizeof(Word)))
        return false;
    return at == node || (n->left >= 0 && !n->sums && ((sums_nothing(o, n->right) && is_multiplied(o, n->left, node)) ||
                                                       (sums_nothing(o, n->left) && is_multiplied(o, n->right, node))));
}

bool order_stores(const Ordered *o, int node)
{
    int leaves = o->network.leaf_count;
    return node < leaves ? order_reduces_leaf(o, node) : o->nodes[node].sums && !is_multiplied(o, 2 * leaves - 2, node);
}

/* Whether one nest runs as a tiled product, its factors grouped into two sides. */
static bool is_tiled(const Orders *orders, const Term *reduction)
{
    Product product;
    return product_match(orders->arena, reduction, &product) && product_pays(&product, orders->nests, orders->extents, NULL, 0, NULL);
}

static bool pays(const Orders *orders, const Ordered *o, double cost)
{
    int leaves = o->network.leaf_count;
    bool stores = false;
    for (int n = 0; n < 2 * leaves - 1; n++)
        stores |= order_stores(o, n);
    for (int l = 0; l < leaves; l++)
        if (order_reduces_leaf(o, l))
            cost += order_cost(&o->network, points(orders, o->factors[l]->indices, o->factors[l]->rank) / 2,
                               o->nodes[l].size, true, false);
    const Term *top = o->top;
    double naive = points(orders, top->indices, top->rank) * leaves;
    double worth = stores && (leaves == 2 || is_tiled(orders, o->reduction)) ? worth_storing : worth_grouping;
    return cost < BEYOND && (orders->nests == NESTS_TILED || cost < naive * worth);
}

/* ---- what is said about it ---- */

/* The indices of a node in the order of the text, as einsum has them: letters, or names in brackets. */
static void print_indices(Text *text, const Ordered *o, const Word *set, bool named)
{
    const Term *top = o->top;
    int first = 1;
    text_put(text, named ? "[" : "");
    for (int i = 0; i < top->rank; i++) {
        if (!order_has(set, o->class_of[top->indices[i]->id]))
            continue;
        if (named)
            text_separate(text, &first, ",");
        text_put(text, top->indices[i]->name);
    }
    text_put(text, named ? "]" : "");
}

static void print_term(Text *text, const Term *term, bool named)
{
    text_put(text, named ? "[" : "");
    for (int i = 0; i < term->rank; i++)
        text_print(text, "%s%s", named && i ? "," : "", term->indices[i]->name);
    text_put(text, named ? "]" : "");
}

static void print_node(Text *text, const Ordered *o, int node, bool named)
{
    if (node < o->network.leaf_count && !order_reduces_leaf(o, node))
        print_term(text, o->factors[node], named);
    else if (node == 2 * o->network.leaf_count - 2)
        print_term(text, o->reduction, named);
    else
        print_indices(text, o, o->nodes[node].set, named);
}

/* Whether some index has a name of more than one character. */
static bool has_names(const Term *top)
{
    for (int i = 0; i < top->rank; i++) {
        const char *c = top->indices[i]->name + 1;
        while ((*c & 0xc0) == 0x80)
            c++;
        if (*c)
            return true;
    }
    return false;
}

static void add_step(Arena *arena, OrderPath *path, const Text *letters, double flops, double size, bool stored)
{
    OrderStep step = { letters->bytes, flops, size, stored };
    ARENA_APPEND(arena, path->steps, path->step_count, step);
    path->flops += flops;
    path->largest = stored && size > path->largest ? size : path->largest;
}

static OrderPath describe(const Orders *orders, const Ordered *o)
{
    const Term *top = o->top;
    Arena *arena = orders->arena;
    bool named = has_names(top);
    int leaves = o->network.leaf_count;
    OrderPath path = { .reduction = o->reduction, .dtype = o->reduction->dtype };
    Text all = text_new(arena);
    path.naive_flops = points(orders, top->indices, top->rank) * leaves;
    for (int i = 0; i < top->rank; i++)
        path.guessed |= !orders->extents || orders->extents->of[top->indices[i]->id] < 0;
    for (int n = 0; n < 2 * leaves - 1; n++) {
        const Node *node = &o->nodes[n];
        Text letters = text_new(arena);
        if (n < leaves) {
            text_put(&all, n ? "," : "");
            print_term(&all, o->factors[n], named);
        }
        if (n < leaves && !order_reduces_leaf(o, n))
            continue;
        if (n < leaves) {
            print_term(&letters, o->factors[n], named);
        } else {
            print_node(&letters, o, node->left, named);
            text_put(&letters, ",");
            print_node(&letters, o, node->right, named);
        }
        text_put(&letters, "->");
        print_node(&letters, o, n, named);
        double flops = n < leaves ? points(orders, o->factors[n]->indices, o->factors[n]->rank)
                                  : node->points * (node->sums ? 2 : 1);
        add_step(arena, &path, &letters, flops, node->size, order_stores(o, n));
    }
    text_put(&all, "->");
    print_term(&all, o->reduction, named);
    path.letters = all.bytes;
    return path;
}

/* ---- the pass ---- */

static Ordered *order_reduction(const Orders *orders, const Term *reduction)
{
    double cost;
    if (orders->in_branch[reduction->id] && orders->may_miss[reduction->id])
        return NULL;
    Ordered *o = network_of(orders, reduction);
    if (!o)
        return NULL;
    Pair *pairs = ARENA_ARRAY(orders->arena, Pair, o->network.leaf_count);
    order_search(&o->network, pairs);
    o->nodes = order_nodes(&o->network, pairs, &cost);
    return pays(orders, o, cost) ? o : NULL;
}

/* From the outermost reductions on, which take in what they run over. */
static void order_reductions(Orders *o)
{
    for (int i = o->program->term_count - 1; i >= 0; i--) {
        const Term *term = o->program->terms[i];
        o->of[i] = o->used[i] && !o->inside[i] ? order_reduction(o, term) : NULL;
        for (const Term *inner = o->of[i] ? semiring_inner(term) : NULL; inner; inner = semiring_inner(inner))
            o->inside[inner->id] = true;
    }
}

Order *order(Arena *arena, const Program *program, const bool *wanted, const Extents *extents, Nests nests, int64_t memory)
{
    if (nests == NESTS_LOOPS)
        return NULL;
    Orders o = { .arena = arena, .program = program, .extents = extents, .nests = nests, .memory = memory };
    Order *result = ARENA_NEW(arena, Order);
    o.may_miss = ARENA_ARRAY(arena, bool, program->term_count);
    o.in_branch = ARENA_ARRAY(arena, bool, program->term_count);
    o.of = ARENA_ARRAY(arena, Ordered *, program->term_count);
    o.used = ARENA_ARRAY(arena, bool, program->term_count);
    o.readers = ARENA_ARRAY(arena, int, program->term_count);
    o.inside = ARENA_ARRAY(arena, bool, program->term_count);
    find_protected(&o, program_needed(arena, program, wanted));
    order_reductions(&o);
    for (int i = 0; i < program->term_count; i++)
        if (o.of[i])
            ARENA_APPEND(arena, result->paths, result->path_count, describe(&o, o.of[i]));
    if (!result->path_count)
        return NULL;
    result->program = order_build(arena, program, o.of);
    return result;
}
