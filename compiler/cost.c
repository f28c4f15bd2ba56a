#include "cost.h"

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

/* A product of elements and nothing else, such as einsum itself never stores. */
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

/* Whether a term is a value in the middle: made of operands, and not what a statement stores. */
static bool is_between(const Program *lowered, const Term *term)
{
    if (is_plain_product(term))
        return false;
    if (term->kind == TERM_READ || term->kind == TERM_CONSTANT || term->kind == TERM_POSITION || term->weak)
        return false;
    const Statement *statement = lowered->statements[term->statement];
    for (int o = 0; o < statement->output_count; o++)
        if (statement->outputs[o].value == term)
            return false;
    return true;
}

static void add_term(Cost *cost, const Program *lowered, const Extents *extents, const Term *term)
{
    double count = points(extents, term->indices, term->rank);
    bool cast = term->kind == TERM_MAP && term->map.function == FUNCTION_CAST;
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
        add(&cost->flops, points(extents, term->reduce.argument->indices, term->reduce.argument->rank));
    else if ((term->kind == TERM_MAP && !cast) || term->kind == TERM_SELECT)
        add(&cost->flops, count);
    double bytes = count < 0 ? -1 : count * (double)dtype_size(term->dtype);
    if (is_between(lowered, term) && bytes >= 0 && bytes > cost->largest) {
        cost->largest = bytes;
        cost->largest_term = term;
    }
}

Cost plan_cost(const Plan *plan, const Extents *extents, int workers)
{
    Cost cost = { .largest = -1 };
    const Program *lowered = plan->lowered;
    for (int i = 0; i < lowered->term_count; i++)
        add_term(&cost, lowered, extents, lowered->terms[i]);
    for (int t = 0; t < lowered->tensor_count; t++) {
        const Tensor *tensor = lowered->tensors[t];
        if (tensor->home != tensor)
            continue;
        if (tensor->origin)
            add(&cost.bytes, tensor_bytes(extents, tensor->origin));
        else if (tensor->maker && !tensor->source)
            add(&cost.stored, points(extents, tensor->axes, tensor->rank) * (double)dtype_size(tensor->dtype));
    }
    SizeValues values = { extents->of, extents->shape, workers };
    cost.workspace = size_evaluate(plan->workspace, &values);
    cost.smallest = size_evaluate(plan->smallest, &values);
    return cost;
}
