#include "cost.h"

#include <string.h>

static double points(const Extents *extents, Index *const *indices, int count)
{
    double product = 1;
    for (int i = 0; i < count; i++) {
        int64_t extent = extents->of[indices[i]->origin->id];
        if (extent < 0)
            return -1;
        product *= (double)extent;
    }
    return product;
}

static void add(double *sum, double more)
{
    *sum = *sum < 0 || more < 0 ? -1 : *sum + more;
}

static double tensor_bytes(const Extents *extents, const Tensor *tensor)
{
    double bytes = (double)dtype_size(tensor->dtype);
    for (int a = 0; a < tensor->rank; a++) {
        int64_t size = extents->shape[tensor->id][a];
        if (size < 0)
            return -1;
        bytes *= (double)size;
    }
    return bytes;
}

/* ---- what is read of an array ---- */

static bool same_way(const Term *a, const Term *b)
{
    bool same = true;
    for (int i = 0; i < a->read.tensor->rank && same; i++) {
        const Position *x = &a->read.positions[i], *y = &b->read.positions[i];
        same = x->constant == y->constant && x->count == y->count &&
               (x->count == 0 || (x->parts[0].coefficient == y->parts[0].coefficient && x->parts[0].index->origin == y->parts[0].index->origin));
    }
    return same;
}

/* The one way in which an array is read wherever it is, along each axis by an index or at a constant: a diagonal, say, or a row. NULL:
 * there are several, or others, and all of it counts. */
static const Term *only_read(const Program *lowered, const Tensor *tensor)
{
    const Term *only = NULL;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor)
            continue;
        for (int a = 0; a < tensor->rank; a++)
            if (term->read.positions[a].count > 1 || (term->read.positions[a].count == 1 && !term->read.positions[a].parts[0].index))
                return NULL;
        if (only && !same_way(only, term))
            return NULL;
        only = term;
    }
    return only;
}

/* Whether a caller's array is written or read at all: statements that nobody needs may name others. */
static bool is_met(const Program *lowered, const Tensor *tensor)
{
    bool met = tensor->maker || tensor->from_caller;
    for (int i = 0; i < lowered->term_count && !met; i++)
        met = lowered->terms[i]->kind == TERM_READ && lowered->terms[i]->read.tensor == tensor;
    return met;
}

/* The index of the checked program that goes along an axis, if none before it does; NULL: one does, or none at all. */
static const Index *new_index(const Term *read, int axis)
{
    const Position *positions = read->read.positions;
    const Index *index = positions[axis].count ? positions[axis].parts[0].index->origin : NULL;
    for (int a = 0; a < axis && index; a++)
        index = positions[a].count && positions[a].parts[0].index->origin == index ? NULL : index;
    return index;
}

/* Bytes of the elements of a caller's array that are read or written, as far as that is the plan's to say. */
static double bytes_met(const Program *lowered, const Extents *extents, const Tensor *tensor)
{
    const Term *read = tensor->maker ? NULL : only_read(lowered, tensor);
    double whole = tensor_bytes(extents, tensor->origin), bytes = (double)dtype_size(tensor->dtype);
    for (int a = 0; read && a < tensor->rank; a++) {
        const Index *index = new_index(read, a);
        bytes *= index ? (double)extents->of[index->id] : 1;
    }
    return read && whole >= 0 && bytes < whole ? bytes : whole;
}

/* ---- what einsum itself never stores ---- */

/* A product of elements and nothing else. */
static bool is_plain_product(const Term *term)
{
    if (term->kind != TERM_MAP)
        return term->kind == TERM_READ;
    if (term->map.function != FUNCTION_MUL && term->map.function != FUNCTION_CAST)
        return false;
    for (int i = 0; i < term->map.count; i++)
        if (!is_plain_product(term->map.arguments[i]))
            return false;
    return true;
}

/* A product whose factors lack some of its indices, and that is summed: a matrix product's. */
static bool is_contracted(const Term *term)
{
    if (term->kind != TERM_MAP || term->map.function != FUNCTION_MUL)
        return false;
    for (int i = 0; i < term->map.count; i++)
        if (term->map.arguments[i]->rank == term->rank)
            return false;
    return true;
}

/* Whether a term is a value in the middle: made of operands, and not what a statement stores. */
static bool is_between(const Program *lowered, const Term *term)
{
    if (is_plain_product(term) || is_contracted(term))
        return false;
    if (term->kind == TERM_READ || term->kind == TERM_CONSTANT || term->kind == TERM_POSITION || term->weak)
        return false;
    const Statement *statement = lowered->statements[term->statement];
    for (int o = 0; o < statement->output_count; o++)
        if (statement->outputs[o].value == term)
            return false;
    return true;
}

static void note_largest(Cost *cost, double points, Index *const *indices, int rank, Dtype dtype)
{
    double bytes = points < 0 ? -1 : points * (double)dtype_size(dtype);
    if (bytes > cost->largest) {
        cost->largest = bytes;
        cost->largest_indices = indices;
        cost->largest_rank = rank;
        cost->largest_dtype = dtype;
    }
}

/* ---- the figures ---- */

/* The indices whose points a term is calculated for, once each; false when it costs nothing, as what is for what a faster
 * form refuses. */
static bool work_of(const Term *term, Index *const **indices, int *count)
{
    bool reduces = term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE;
    const Term *at = reduces ? term->reduce.argument : term;
    *indices = at->indices;
    *count = at->rank;
    return !term->refused && (reduces || term->kind == TERM_SELECT ||
                              (term->kind == TERM_MAP && term->map.function != FUNCTION_CAST));
}

static void add_term(Cost *cost, const Program *lowered, const Extents *extents, const Term *term)
{
    Index *const *indices;
    int count;
    if (work_of(term, &indices, &count))
        add(&cost->flops, points(extents, indices, count));
    if (is_between(lowered, term))
        note_largest(cost, points(extents, term->indices, term->rank), term->indices, term->rank, term->dtype);
}

Cost plan_cost(const Plan *plan, const Extents *extents, int workers)
{
    Cost cost = { .largest = -1 };
    const Program *lowered = plan->lowered;
    for (int i = 0; i < lowered->term_count; i++)
        add_term(&cost, lowered, extents, lowered->terms[i]);
    for (int s = 0; s < lowered->statement_count; s++) {
        const Term *value = lowered->statements[s]->outputs[0].value;
        if (lowered->statements[s]->accumulate)
            add(&cost.flops, points(extents, value->indices, value->rank));
    }
    for (int t = 0; t < lowered->tensor_count; t++) {
        const Tensor *tensor = lowered->tensors[t];
        if (tensor->home != tensor)
            continue;
        if (tensor->origin && is_met(lowered, tensor)) {
            add(&cost.bytes, bytes_met(lowered, extents, tensor));
        } else if (!tensor->origin && tensor->maker && !tensor->source) {
            double count = points(extents, tensor->axes, tensor->rank);
            add(&cost.stored, count * (double)dtype_size(tensor->dtype));
            if (plan->storage[t].place == PLACE_BLOCK || plan->storage[t].place == PLACE_REGISTERS)
                note_largest(&cost, count, tensor->axes, tensor->rank, tensor->dtype);
        }
    }
    SizeValues values = { extents->of, extents->shape, workers };
    cost.workspace = size_evaluate(plan->workspace, &values);
    cost.smallest = size_evaluate(plan->smallest, &values);
    return cost;
}

/* ---- as formulas ---- */

/* A sum of products of extents; equal products are added up. */
typedef struct Formula {
    Arena *arena;
    const char **products;
    double *factors;
    int count;
} Formula;

static Formula formula_new(Arena *arena, int capacity)
{
    return (Formula){ arena, ARENA_ARRAY(arena, const char *, capacity), ARENA_ARRAY(arena, double, capacity), 0 };
}

static void formula_add(Formula *f, double factor, const char *product)
{
    int i = 0;
    while (i < f->count && strcmp(f->products[i], product))
        i++;
    if (i == f->count)
        f->products[f->count++] = product;
    f->factors[i] += factor;
}

static void formula_print(Text *text, const Formula *f)
{
    for (int i = 0; i < f->count; i++) {
        text_put(text, i ? " + " : "");
        if (f->factors[i] != 1 || !*f->products[i])
            text_print(text, "%.15g%s", f->factors[i], *f->products[i] ? " * " : "");
        text_put(text, f->products[i]);
    }
    text_put(text, f->count ? "" : "0");
}

static const char *product_of(Arena *arena, Index *const *indices, int count)
{
    Text text = text_new(arena);
    for (int i = 0; i < count; i++)
        text_print(&text, "%s%s", i ? " * " : "", indices[i]->name);
    return text.bytes;
}

void cost_print_flops(Text *text, const Plan *plan)
{
    const Program *lowered = plan->lowered;
    Formula formula = formula_new(text->arena, lowered->term_count + lowered->statement_count);
    for (int i = 0; i < lowered->term_count; i++) {
        Index *const *indices;
        int count;
        if (work_of(lowered->terms[i], &indices, &count))
            formula_add(&formula, 1, product_of(text->arena, indices, count));
    }
    for (int s = 0; s < lowered->statement_count; s++) {
        const Term *value = lowered->statements[s]->outputs[0].value;
        if (lowered->statements[s]->accumulate)
            formula_add(&formula, 1, product_of(text->arena, value->indices, value->rank));
    }
    formula_print(text, &formula);
}

/* Named after the index along it, or, where the position is computed, after the axis. */
static const char *axis_words(Arena *arena, const Program *program, const Tensor *tensor, int axis)
{
    const Index *index = program_axis_index(program, tensor, axis);
    return index ? index->name : arena_format(arena, "%s.shape[%d]", tensor->label, axis);
}

void cost_print_bytes(Text *text, const Plan *plan)
{
    const Program *lowered = plan->lowered;
    Formula formula = formula_new(text->arena, lowered->tensor_count);
    for (int t = 0; t < lowered->tensor_count; t++) {
        const Tensor *own = lowered->tensors[t], *tensor = own->home == own && is_met(lowered, own) ? own->origin : NULL;
        const Term *read = tensor && !own->maker ? only_read(lowered, own) : NULL;
        Text product = text_new(text->arena);
        for (int a = 0; tensor && a < tensor->rank; a++)
            if (!read || new_index(read, a))
                text_print(&product, "%s%s", product.length ? " * " : "", axis_words(text->arena, plan->program, tensor, a));
        if (tensor)
            formula_add(&formula, (double)dtype_size(tensor->dtype), product.bytes);
    }
    formula_print(text, &formula);
}
