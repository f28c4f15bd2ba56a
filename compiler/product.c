#include "product.h"

#include <string.h>

#include "state.h"

enum { ROWS_LEAST = 8, DEPTH_LEAST = 2, DEPTH_MOST = 1 << 19, KEPT_LEAST = 64, WORK_LEAST = 1 << 15, GUESS = 64 };

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

/* Whether a state is one number that a register tile can hold a vector of. */
static bool is_simple(const Term *term)
{
    if (term->kind != TERM_CONTRACT && (term->kind != TERM_REDUCE || reduction_facts[term->reduce.reduction].leaves != LEAVES_NOTHING))
        return false;
    Component components[STATE_COMPONENTS_MAX];
    if (state_components(term, components) != 1 || reduction_facts[term->reduce.reduction].state == STATE_NORM)
        return false;
    Dtype dtype = components[0].dtype;
    return dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_I32;
}

/* The elements that a pointwise expression reads, outermost; false when there is a reduction in it. */
static bool list_reads(Arena *arena, const Term *term, const Term ***reads, int *count)
{
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++) {
                const Term *gather = term->read.positions[a].parts[k].gather, **inner = NULL;
                int inner_count = 0;
                if (gather && !list_reads(arena, gather, &inner, &inner_count))
                    return false;
            }
        ARENA_APPEND(arena, *reads, *count, term);
        return true;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            if (!list_reads(arena, term->map.arguments[i], reads, count))
                return false;
        return true;
    case TERM_SELECT:
        return list_reads(arena, term->select.condition, reads, count) && list_reads(arena, term->select.yes, reads, count) &&
               list_reads(arena, term->select.no, reads, count);
    case TERM_CONTRACT:
    case TERM_REDUCE: return false;
    case TERM_CONSTANT:
    case TERM_POSITION: break;
    }
    return true;
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

bool product_match(Arena *arena, const Term *term, Product *product)
{
    const Term **reads = NULL;
    int count = 0;
    *product = (Product){ .reduce = term };
    if (!is_simple(term) || term->reduce.over_count == 0 || !list_reads(arena, term->reduce.argument, &reads, &count))
        return false;
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            divide(arena, product, reads[a], reads[b]);
            if (!product->own[0].count || !product->own[1].count)
                continue;
            product->side[0] = product->side[1] = NULL;
            return find_sides(product, term->reduce.argument) && product->side[0] && product->side[1] &&
                   covers(product, term->reduce.argument);
        }
    return false;
}

/* ---- what stands behind a product ---- */

/* The reductions below a pointwise expression: *found is the only one, *several that there are more. */
static void find_reduction(const Term *term, const Term **found, bool *several)
{
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].gather)
                    find_reduction(term->read.positions[a].parts[k].gather, found, several);
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            find_reduction(term->map.arguments[i], found, several);
        break;
    case TERM_SELECT:
        find_reduction(term->select.condition, found, several);
        find_reduction(term->select.yes, found, several);
        find_reduction(term->select.no, found, several);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        if (term->reduce.over_count == 0) {    /* an arrow that only puts indices in order */
            find_reduction(term->reduce.argument, found, several);
            break;
        }
        *several |= *found && *found != term;
        *found = term;
        break;
    case TERM_CONSTANT:
    case TERM_POSITION: break;
    }
}

const Term *product_inside(const Term *term)
{
    const Term *found = NULL;
    bool several = false;
    find_reduction(term, &found, &several);
    return several ? NULL : found;
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

/* ---- whether it pays ---- */

static double extent_of(const Extents *extents, const Index *index)
{
    int64_t extent = extents ? extents->of[index->origin ? index->origin->id : index->id] : -1;
    return extent < 0 ? GUESS : (double)extent;
}

static double points(const Extents *extents, Index *const *list, int count)
{
    double points = 1;
    for (int i = 0; i < count; i++)
        points *= extent_of(extents, list[i]);
    return points;
}

bool product_pays(const Product *product, Nests nests, const Extents *extents, Index *const *over, int count)
{
    if (nests != NESTS_BY_COST)
        return nests == NESTS_TILED;
    double side[2], all = points(extents, product->batch.list, product->batch.count);
    for (int s = 0; s < 2; s++)
        all *= side[s] = points(extents, product->own[s].list, product->own[s].count);
    double depth = points(extents, product->reduce->reduce.over, product->reduce->reduce.over_count);
    return side[0] >= ROWS_LEAST && side[1] >= ROWS_LEAST && depth >= DEPTH_LEAST && depth <= DEPTH_MOST && all * depth >= WORK_LEAST &&
           all / points(extents, over, count) >= KEPT_LEAST;
}

bool *product_ends(Arena *arena, const Program *program, Nests nests, const Extents *extents)
{
    bool *ends = ARENA_ARRAY(arena, bool, program->term_count);
    for (int i = 0; i < program->term_count; i++) {
        const Term *term = program->terms[i];
        if (term->kind != TERM_REDUCE && term->kind != TERM_CONTRACT)
            continue;
        const Term *inside = product_inside(term->reduce.argument);
        Product product;
        ends[i] = inside && term->kind == TERM_REDUCE && reduction_facts[term->reduce.reduction].leaves == LEAVES_NOTHING &&
                  product_match(arena, inside, &product) &&
                  product_side(&product, term->reduce.over, term->reduce.over_count) >= 0 &&
                  product_pays(&product, nests, extents, term->reduce.over, term->reduce.over_count);
    }
    return ends;
}
