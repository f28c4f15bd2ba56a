#include "product.h"

#include <math.h>
#include <string.h>

#include "state.h"

enum { ROWS_LEAST = 8, DEPTH_LEAST = 2, KEPT_LEAST = 64, WORK_LEAST = 1 << 15, GUESS = 64 };
enum { FEW_ROWS = 2, FEW_MEET = 32, FEW_READ = 1 << 15 };    /* on a grid: so few meet at least so many columns, of so many numbers */
enum { BEHIND_LEAST = 3, BEHIND_MEET = 32, VECTOR_LEAST = 16 };    /* on a CPU, with a reduction behind the product: so few meet at least so many */
enum { RANKED_LEAST = 256, RANKED_DEPTH = 8 };    /* so many points that are ranked are stored if each is a sum of so many numbers */
enum { AGAIN_MOST = 16 };         /* more combinations take longer than to store a sum and to read it */
enum { STORED_MOST = 1 << 16 };   /* points of a product that are stored for one point of a block's index */
enum { ACROSS_LEAST = 64 };       /* points that stay, of a product that is stored for what lies across its tiles */

/* ---- sets of indices ---- */

static void add_index(Arena *arena, IndexSet *set, Index *index)
{
    if (!indices_have(set->list, set->count, index))
        ARENA_APPEND(arena, set->list, set->count, index);
}

static bool has(const IndexSet *set, const Index *index)
{
    return indices_have(set->list, set->count, index);
}

static bool has_any(const Term *term, const IndexSet *set)
{
    for (int i = 0; i < set->count; i++)
        if (term_has_index(term, set->list[i]))
            return true;
    return false;
}

/* ---- the shape of a product ---- */

bool norm_is_sum(const Term *term)
{
    Dtype dtype = term->reduce.argument->dtype;
    return term->kind == TERM_REDUCE && term->reduce.reduction == REDUCTION_NORM && term->dtype == dtype &&
           (term->reduce.parameter == 1 || term->reduce.parameter == 2) && (dtype == DTYPE_F32 || dtype == DTYPE_F64);
}

/* Whether a state is one number that a register tile can hold a vector of, or such a number and its place. */
static bool fits_registers(const Term *term)
{
    if (term->kind != TERM_CONTRACT && (term->kind != TERM_REDUCE || reduction_facts[term->reduce.reduction].leaves != LEAVES_NOTHING))
        return false;
    Component components[STATE_COMPONENTS_MAX];
    bool norm = reduction_facts[term->reduce.reduction].state == STATE_NORM;
    if ((state_components(term, components) != 1 && !state_needs_place(term)) || (norm && !norm_is_sum(term)))
        return false;
    Dtype dtype = components[0].dtype;
    return dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_I32 || dtype_kind(dtype) == KIND_COMPLEX;
}

typedef struct Reads {
    Arena *arena;
    bool *seen;                   /* [term id] */
    const Term **list;            /* outermost: none of a position */
    int count;
    bool reduces;                 /* there is a reduction, be it in a position */
} Reads;

static void list_reads(void *user, const Term *term)
{
    Reads *reads = user;
    if (reads->seen[term->id] || reads->reduces)
        return;
    reads->seen[term->id] = true;
    reads->reduces = term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE;
    int count = reads->count;
    term_each_argument(term, list_reads, reads);
    if (term->kind == TERM_READ) {
        reads->count = count;
        ARENA_APPEND(reads->arena, reads->list, reads->count, term);
    }
}

static bool is_contracted(const Term *reduce, const Index *index)
{
    return indices_have(reduce->reduce.over, reduce->reduce.over_count, index);
}

/* The indices that stay: of the first read only, of the second only, of both. */
static void divide(Arena *arena, Product *p, const Term *a, const Term *b)
{
    const Term *sides[2] = { a, b };
    p->own[0] = p->own[1] = p->batch = (IndexSet){ NULL, 0 };
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->rank; i++) {
            Index *index = sides[s]->indices[i];
            if (!is_contracted(p->reduce, index))
                add_index(arena, term_has_index(sides[1 - s], index) ? &p->batch : &p->own[s], index);
        }
}

/* Finds the two values below a combination: the largest terms that know nothing of the other side's own indices. */
static bool find_sides(Product *p, const Term *term)
{
    bool knows[2] = { has_any(term, &p->own[0]), has_any(term, &p->own[1]) };
    if (knows[0] != knows[1]) {
        int s = knows[1];
        if (p->side[s] && p->side[s] != term)
            return false;
        p->side[s] = term;
        return true;
    }
    if (!knows[0])
        return term->rank == 0 && (term->kind == TERM_CONSTANT || term->kind == TERM_MAP);
    if (term->kind != TERM_MAP)
        return false;
    for (int i = 0; i < term->map.count; i++)
        if (!find_sides(p, term->map.arguments[i]))
            return false;
    return true;
}

static bool covers(const Product *p, const Term *argument)
{
    for (int i = 0; i < argument->rank; i++) {
        Index *index = argument->indices[i];
        if (is_contracted(p->reduce, index)
                ? !term_has_index(p->side[0], index) || !term_has_index(p->side[1], index)
                : !has(&p->own[0], index) && !has(&p->own[1], index) && !has(&p->batch, index))
            return false;
    }
    return true;
}

/* Whether it combines two values of which a has some indices that stay and b has others. */
static bool combines(Arena *arena, Product *product, const Term *a, const Term *b)
{
    const Term *term = product->reduce;
    divide(arena, product, a, b);
    for (int i = 0; i < term->rank; i++)
        if (!has(&product->own[0], term->indices[i]) && !has(&product->own[1], term->indices[i]))
            add_index(arena, &product->batch, term->indices[i]);
    product->side[0] = product->side[1] = NULL;
    return product->own[0].count && product->own[1].count && find_sides(product, term->reduce.argument) && product->side[0] &&
           product->side[1] && covers(product, term->reduce.argument);
}

/* The first two values that an expression combines, be they made of several operands. */
static bool find_fork(const Term *term, const Term *values[2])
{
    int count = 0;
    for (int i = 0; term->kind == TERM_MAP && i < term->map.count; i++)
        if (term->map.arguments[i]->rank && count++ < 2)
            values[count - 1] = term->map.arguments[i];
    return count == 1 ? find_fork(values[0], values) : count == 2;
}

/* Whether a reduction combines two such values, whatever it does with them. */
static bool match_sides(Arena *arena, const Term *term, Product *product)
{
    const Term *fork[2];
    Reads reads = { .arena = arena, .seen = ARENA_ARRAY(arena, bool, term->id + 1) };
    *product = (Product){ .reduce = term, .places = state_needs_place(term) };
    if (term->reduce.over_count == 0)
        return false;
    list_reads(&reads, term->reduce.argument);
    for (int a = 0; a < reads.count && !reads.reduces; a++)
        for (int b = a + 1; b < reads.count; b++) {
            divide(arena, product, reads.list[a], reads.list[b]);
            if (product->own[0].count && product->own[1].count)
                return combines(arena, product, reads.list[a], reads.list[b]) ||
                       (find_fork(term->reduce.argument, fork) && combines(arena, product, fork[0], fork[1]));
        }
    return false;
}

bool product_match(Arena *arena, const Term *term, Product *product)
{
    return fits_registers(term) && match_sides(arena, term, product);
}

/* ---- what stands behind a product ---- */

typedef struct Found {
    const Term *reduction;
    bool several;
    bool *seen;                   /* [term id] */
} Found;

/* The reductions below a pointwise expression. */
static void find_reduction(void *user, const Term *term)
{
    Found *found = user;
    if (found->seen[term->id])
        return;
    found->seen[term->id] = true;
    bool reduces = term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE;
    if (reduces && term->reduce.over_count > 0) {    /* no arrow that only puts indices in order */
        found->several |= found->reduction != NULL;
        found->reduction = term;
    } else {
        term_each_argument(term, find_reduction, found);
    }
}

const Term *product_inside(Arena *arena, const Term *term)
{
    Found found = { NULL, false, ARENA_ARRAY(arena, bool, term->id + 1) };
    find_reduction(&found, term);
    return found.several ? NULL : found.reduction;
}

int product_side(const Product *product, Index *const *over, int count)
{
    for (int s = 0; s < 2; s++) {
        bool all = true;
        for (int i = 0; i < count; i++)
            all &= has(&product->own[s], over[i]);
        if (all)
            return s;
    }
    return -1;
}

void product_divide(Arena *arena, const Product *product, int side, const Term *reduce, IndexSet *over, IndexSet *rest)
{
    *over = *rest = (IndexSet){ NULL, 0 };
    for (int i = 0; i < reduce->reduce.over_count; i++)
        add_index(arena, has(&product->own[side], reduce->reduce.over[i]) ? over : rest, reduce->reduce.over[i]);
}

/* ---- whether it pays ---- */

static int64_t known_extent(const Extents *extents, const Index *index)
{
    return extents ? extents->of[index->origin ? index->origin->id : index->id] : -1;
}

static double extent_of(const Extents *extents, const Index *index)
{
    int64_t extent = known_extent(extents, index);
    return extent < 0 ? GUESS : (double)extent;
}

static double points(const Extents *extents, Index *const *list, int count)
{
    double points = 1;
    for (int i = 0; i < count; i++)
        points *= extent_of(extents, list[i]);
    return points;
}

bool product_pays(const Product *product, Nests nests, const Extents *extents, Index *const *over, int count, const Target *target)
{
    if (nests != NESTS_BY_COST)
        return nests == NESTS_TILED;
    double side[2], all = points(extents, product->batch.list, product->batch.count);
    for (int s = 0; s < 2; s++)
        all *= side[s] = points(extents, product->own[s].list, product->own[s].count);
    double depth = points(extents, product->reduce->reduce.over, product->reduce->reduce.over_count);
    /* A few rows that meet large columns leave most of a block's tile empty, but what the columns are made of is read once. Loops would make
     * one sum at a time for a reduction behind them. */
    const bool grid = target && target->grid, behind = !grid && count > 0 && !target->spreads;
    double columns = fmax(side[0], side[1]), least = grid && columns >= FEW_MEET && columns * depth >= FEW_READ ? FEW_ROWS
                                                    : behind && columns >= BEHIND_MEET ? BEHIND_LEAST : ROWS_LEAST;
    return side[0] >= least && side[1] >= least && depth >= DEPTH_LEAST && all * depth >= WORK_LEAST &&
           (behind || all / points(extents, over, count) >= KEPT_LEAST);
}

static bool has_complex_numbers(const Product *product)
{
    return dtype_kind(product->reduce->reduce.argument->dtype) == KIND_COMPLEX;
}

/* Whether a reduction may be made of its own results of some of its indices. */
bool reduction_nests(const Term *term)
{
    const ReductionFacts *facts = &reduction_facts[term->reduce.reduction];
    return facts->nests && (facts->state != STATE_NORM || norm_is_sum(term)) && term->dtype == register_dtype(term->dtype);
}

/* The index that stands alone at the last axis of what is read; NULL: there is none. */
static Index *last_index(const Term *term)
{
    const Position *last = term->kind == TERM_READ && term->read.tensor->rank ? &term->read.positions[term->read.tensor->rank - 1] : NULL;
    return last && position_is_plain(last) ? last->parts[0].index : NULL;
}

typedef struct Along {
    const Product *product;
    bool *seen;                   /* [term id] */
    int count[2];                 /* of reads beside the product, along an index of each of its sides */
} Along;

static void count_along(void *user, const Term *term)
{
    Along *along = user;
    if (along->seen[term->id] || term == along->product->reduce)
        return;
    along->seen[term->id] = true;
    term_each_argument(term, count_along, along);
    const Index *last = last_index(term);
    for (int s = 0; s < 2 && last; s++)
        along->count[s] += has(&along->product->own[s], last);
}

/* Of which side's indices a reduction of both sides' runs first: not of that along which other arrays lie, for lanes run along the
 * others; else of the longer one. */
static int first_side(Arena *arena, const Term *term, const Product *product, const Extents *extents, const IndexSet over[2])
{
    Along along = { product, ARENA_ARRAY(arena, bool, term->id + 1), { 0, 0 } };
    count_along(&along, term->reduce.argument);
    if (along.count[0] != along.count[1])
        return along.count[0] > along.count[1];
    return points(extents, over[1].list, over[1].count) > points(extents, over[0].list, over[0].count);
}

/* Whether a reduction's product is rather made for each point of the indices that it lacks than stored and read. Those that it
 * contracts it would not know from the loops around it. */
static bool is_made_again(Arena *arena, const Term *term, const Extents *extents)
{
    const Term *argument = term->reduce.argument, *inside = product_inside(arena, argument);
    double times = 1, depth = points(extents, inside->reduce.over, inside->reduce.over_count);
    for (int i = 0; i < argument->rank; i++) {
        if (is_contracted(inside, argument->indices[i]))
            return false;
        times *= term_has_index(inside, argument->indices[i]) ? 1 : extent_of(extents, argument->indices[i]);
    }
    return (times - 1) * depth <= AGAIN_MOST;
}

/* Whether all points of a reduction have a product of their own. */
static bool has_own_products(const Term *argument, const Term *inside)
{
    for (int i = 0; i < argument->rank; i++)
        if (!term_has_index(inside, argument->indices[i]))
            return false;
    return true;
}

/* Whether a product is rather stored for a reduction of one side's indices: the other one fills no vector of a CPU, and that side's would be
 * whole ones, for its numbers lie along them. */
static bool fills_vectors(const Product *product, int side, const Extents *extents)
{
    const Term *read = product->side[side];
    double other = points(extents, product->own[1 - side].list, product->own[1 - side].count);
    const Index *last = last_index(read);
    return other >= ROWS_LEAST && other < VECTOR_LEAST && last && has(&product->own[side], last);
}

/* What the first reduction behind a product is, if it pays. Of both sides' indices it is two, if enough of the others are left and
 * no product is stored for it. */
static int end_kind(Arena *arena, const Term *term, Nests allowed, const Extents *extents, const Target *target)
{
    const Term *inside = product_inside(arena, term->reduce.argument);
    Product product;
    if (!inside || reduction_facts[term->reduce.reduction].leaves != LEAVES_NOTHING || !product_match(arena, inside, &product) ||
        product.places || has_complex_numbers(&product))
        return 0;
    const int side = product_side(&product, term->reduce.over, term->reduce.over_count);
    if (side >= 0 && !target->grid && allowed == NESTS_BY_COST && fills_vectors(&product, side, extents))
        return 0;
    if (side >= 0)
        return product_pays(&product, allowed, extents, term->reduce.over, term->reduce.over_count, target) ? PRODUCT_END : 0;
    if (!reduction_nests(term) || !(has_own_products(term->reduce.argument, inside) || is_made_again(arena, term, extents)))
        return 0;
    IndexSet over[2], rest[2];
    for (int s = 0; s < 2; s++)
        product_divide(arena, &product, s, term, &over[s], &rest[s]);
    int first = first_side(arena, term, &product, extents, over);
    for (int i = 0; i < 2; i++) {
        int s = i ? 1 - first : first;
        if (over[s].count && product_pays(&product, allowed, extents, over[s].list, over[s].count, target))
            return PRODUCT_END | (s ? PRODUCT_ACROSS_SECOND : PRODUCT_ACROSS);
    }
    return 0;
}

/* Whether a product that a reduction cannot take from registers is stored for it, in blocks: of each point that the reduction
 * keeps, or where it keeps few, which are cut into parts, of some points of its longest index. What is stored of one has to be
 * few points; extents that are not known may be many. */
static bool is_stored(Arena *arena, const Term *term, const unsigned short *kinds, const Extents *extents)
{
    const Term *inside = product_inside(arena, term->reduce.argument);
    if (!inside || !(kinds[inside->id] & PRODUCT_ITSELF))
        return false;
    double all = 1, blocks = 1, longest = 1, kept = points(extents, term->indices, term->rank);
    for (int i = 0; i < inside->rank; i++) {
        Index *index = inside->indices[i];
        if (known_extent(extents, index) < 0)
            return false;
        double extent = extent_of(extents, index);
        all *= extent;
        if (is_contracted(term, index))
            longest = fmax(longest, extent);
        else
            blocks *= extent;
    }
    return all / (kept < KEPT_ENOUGH && longest >= kept * REDUCED_MORE ? longest : blocks) <= STORED_MOST;
}

typedef struct Beside {
    const Product *product;
    const Term *reduction;
    int side;
    bool *seen;                   /* [term id] */
    bool across;
} Beside;

static void find_across(void *user, const Term *term)
{
    Beside *beside = user;
    if (beside->seen[term->id] || term == beside->product->reduce)
        return;
    beside->seen[term->id] = true;
    term_each_argument(term, find_across, beside);
    const Index *last = last_index(term);
    beside->across |= last && is_contracted(beside->reduction, last) && has_any(term, &beside->product->own[1 - beside->side]);
}

/* Whether what a reduction reads beside a product lies along the indices that it reduces: a tile, whose lanes run along the others, would
 * load it number by number, so that the product is rather stored, if those are some vectors. */
static bool reads_across(Arena *arena, const Term *term, const Extents *extents)
{
    Product product;
    const Term *inside = product_inside(arena, term->reduce.argument);
    if (!inside || !product_match(arena, inside, &product))
        return false;
    Beside beside = { &product, term, product_side(&product, term->reduce.over, term->reduce.over_count), NULL, false };
    beside.seen = ARENA_ARRAY(arena, bool, term->id + 1);
    if (beside.side >= 0 && points(extents, product.own[1 - beside.side].list, product.own[1 - beside.side].count) >= ACROSS_LEAST)
        find_across(&beside, term->reduce.argument);
    return beside.across;
}

static bool is_sum_of_sides(const Product *product)
{
    const Term *sum = product->reduce->reduce.argument;
    if (sum->kind != TERM_MAP || sum->map.function != FUNCTION_ADD || sum->dtype != product->reduce->dtype)
        return false;
    int first = sum->map.arguments[0] == product->side[1];
    return sum->map.arguments[0] == product->side[first] && sum->map.arguments[1] == product->side[1 - first];
}

static bool is_of_powers(Arena *arena, const Term *term, Nests nests, const Extents *extents)
{
    Product product;
    return term->kind == TERM_REDUCE && term->reduce.reduction == REDUCTION_LOGSUMEXP && dtype_kind(term->dtype) == KIND_FLOAT &&
           match_sides(arena, term, &product) && is_sum_of_sides(&product) && product_pays(&product, nests, extents, NULL, 0, NULL);
}

static bool is_place_of_sum(Arena *arena, const Term *term, Nests nests, const Extents *extents)
{
    PlaceSum sum;
    Product product;
    const Term *place = product_of_place(arena, term, &sum) ? product_place_of_sides(arena, term, &sum) : NULL;
    return place && product_match(arena, place, &product) && product_pays(&product, nests, extents, NULL, 0, NULL);
}

/* Whether a sum is of products of two bf16 numbers, in f32. */
static bool is_of_bf16(const Product *product)
{
    bool all = product->reduce->dtype == DTYPE_F32;
    for (int s = 0; s < 2; s++) {
        const Term *side = product->side[s];
        while (side->kind == TERM_MAP && side->map.function == FUNCTION_CAST && side->map.implicit)
            side = side->map.arguments[0];
        all &= side->dtype == DTYPE_BF16;
    }
    return all;
}

/* Whether a product is one of complex numbers, which is made of real ones: a sum of its sides' products. */
static bool is_of_complex(const Product *product)
{
    const Term *x = product->reduce->reduce.argument;
    Component components[STATE_COMPONENTS_MAX];
    state_components(product->reduce, components);
    if (dtype_kind(components[0].dtype) != KIND_COMPLEX || components[0].merge != MERGE_ADD || product->reduce->dtype != x->dtype ||
        x->kind != TERM_MAP || x->map.function != FUNCTION_MUL)
        return false;
    int first = x->map.arguments[0] == product->side[1];
    return x->map.arguments[0] == product->side[first] && x->map.arguments[1] == product->side[1 - first];
}

/* What a softmax is of, but for masks and constant factors. */
static const Term *scores_of(const Term *softmax)
{
    for (const Term *x = softmax->reduce.argument;;) {
        Term *const *factors = x->map.arguments;
        if (x->kind == TERM_CONTRACT && x->reduce.over_count == 0)    /* an arrow that puts indices in order */
            x = x->reduce.argument;
        else if (x->kind == TERM_SELECT)
            x = x->select.yes->rank > 0 ? x->select.yes : x->select.no;
        else if (x->kind == TERM_MAP && x->map.function == FUNCTION_MUL && (factors[0]->rank == 0 || factors[1]->rank == 0))
            x = factors[factors[0]->rank == 0];
        else
            return x;
    }
}

/* Whether sums of few rows or of one are stored for a ranking, which would make one at a time: how they are made, their step's cost says. */
static bool is_ranked(Arena *arena, const Term *term, Nests allowed, const Extents *extents, const Term **inside)
{
    bool ranks = term->kind == TERM_REDUCE && reduction_facts[term->reduce.reduction].leaves == LEAVES_RANKS;
    *inside = ranks && allowed == NESTS_BY_COST ? product_inside(arena, term->reduce.argument) : NULL;
    if (!*inside || !term_has_index(*inside, term->reduce.over[0]) || dtype_kind((*inside)->dtype) == KIND_COMPLEX ||
        reduction_facts[(*inside)->reduce.reduction].leaves != LEAVES_NOTHING)
        return false;
    double depth = points(extents, (*inside)->reduce.over, (*inside)->reduce.over_count);
    return depth >= RANKED_DEPTH && extent_of(extents, term->reduce.over[0]) >= RANKED_LEAST &&
           depth * points(extents, (*inside)->indices, (*inside)->rank) >= WORK_LEAST;
}

unsigned short *product_kinds(Arena *arena, const Program *program, Nests allowed, const Extents *extents, const Target *target)
{
    const bool grid = target->grid;
    unsigned short *kinds = ARENA_ARRAY(arena, unsigned short, program->term_count);
    for (int i = 0; i < program->term_count; i++) {
        const Term *term = program->terms[i];
        Product product;
        WhereProduct where;
        if (term->kind != TERM_REDUCE && term->kind != TERM_CONTRACT)
            continue;
        if (product_match(arena, term, &product) && !(grid && product.places) &&
            product_pays(&product, allowed, extents, NULL, 0, target))
            kinds[i] |= is_of_complex(&product) ? PRODUCT_OF_COMPLEX : has_complex_numbers(&product) ? 0
                        : PRODUCT_ITSELF | (is_of_bf16(&product) ? PRODUCT_OF_BF16 : 0);
        if (!grid && kinds[i] & PRODUCT_ITSELF)
            kinds[i] |= PRODUCT_SCATTERED;
        int end = end_kind(arena, term, allowed, extents, target);
        bool stored = !grid && is_stored(arena, term, kinds, extents);
        if (end && !(stored && allowed == NESTS_BY_COST && reads_across(arena, term, extents)))
            kinds[i] |= (unsigned short)(end | (is_made_again(arena, term, extents) ? PRODUCT_AGAIN : 0));
        else if (stored)
            kinds[i] |= PRODUCT_STORED;
        if (is_of_powers(arena, term, allowed, extents) || is_place_of_sum(arena, term, allowed, extents))
            kinds[i] |= PRODUCT_GUARDED;
        if (!grid && product_of_where(arena, term, &where, &product) && product_pays(&product, allowed, extents, NULL, 0, target))
            kinds[i] |= PRODUCT_WHERE;
    }
    for (int i = 0; i < program->term_count && !grid; i++) {
        const Term *term = program->terms[i], *inside;
        if (is_ranked(arena, term, allowed, extents, &inside))
            kinds[inside->id] |= PRODUCT_ITSELF;
        bool is_softmax = term->kind == TERM_REDUCE && term->reduce.reduction == REDUCTION_SOFTMAX && term->dtype == DTYPE_F32;
        const Term *scores = is_softmax ? scores_of(term) : term;
        if (is_softmax && kinds[scores->id] & PRODUCT_ITSELF)
            kinds[scores->id] |= PRODUCT_STRAIGHT;
    }
    return kinds;
}
