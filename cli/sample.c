#include "sample.h"

#include <math.h>

/* Numbers that an integer operand may have. */
typedef struct Range {
    int64_t least, most;
} Range;

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;    /* splitmix64 */
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* ---- ranges ---- */

static const Term *without_casts(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST)
        term = term->map.arguments[0];
    return term;
}

static bool reads(const Term *term, const Tensor *tensor)
{
    term = without_casts(term);
    return term->kind == TERM_READ && term->read.tensor == tensor;
}

static void narrow(Range *range, bool *known, int64_t least, int64_t most)
{
    range->least = *known && range->least > least ? range->least : least;
    range->most = *known && range->most < most ? range->most : most;
    *known = true;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* A position with this tensor's value in it has to stay within an axis of `size`. */
static void narrow_position(const Extents *extents, const Position *position, const Tensor *tensor, int64_t size, Range *range,
                            bool *known)
{
    int64_t least = position->constant, most = position->constant, coefficient = 0;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (part->gather && reads(part->gather, tensor)) {
            coefficient = part->coefficient;
        } else if (part->index) {
            int64_t extent = extents->of[part->index->id];
            *(part->coefficient < 0 ? &least : &most) += part->coefficient * (extent > 0 ? extent - 1 : 0);
        }
    }
    /* 0 <= least + c v and most + c v < size */
    if (coefficient > 0)
        narrow(range, known, -floor_div(least, coefficient), floor_div(size - 1 - most, coefficient));
    else if (coefficient < 0)
        narrow(range, known, -floor_div(size - 1 - most, -coefficient), floor_div(least, -coefficient));
}

static void narrow_positions(const Extents *extents, const Position *positions, const Tensor *at, const Tensor *tensor,
                             Range *range, bool *known)
{
    for (int a = 0; a < at->rank; a++)
        narrow_position(extents, &positions[a], tensor, extents->shape[at->id][a], range, known);
}

/* A length is compared with a position: it lies between 0 and the extent. */
static void narrow_comparison(const Extents *extents, const Term *term, const Tensor *tensor, Range *range, bool *known)
{
    for (int i = 0; i < 2; i++) {
        const Term *other = without_casts(term->map.arguments[1 - i]);
        if (reads(term->map.arguments[i], tensor) && other->kind == TERM_POSITION)
            narrow(range, known, 0, extents->of[other->position->id]);
    }
}

static Range range_of(const Compiled *front, const Tensor *input)
{
    const Program *p = front->program;
    Range range = { -4, 4 };
    bool known = false;
    for (int i = 0; i < p->term_count; i++) {
        const Term *term = p->terms[i];
        if (term->kind == TERM_READ)
            narrow_positions(front->extents, term->read.positions, term->read.tensor, input, &range, &known);
        else if (term->kind == TERM_MAP && function_facts[term->map.function].rule == RULE_COMPARE)
            narrow_comparison(front->extents, term, input, &range, &known);
    }
    for (int s = 0; s < p->statement_count; s++)
        for (int o = 0; o < p->statements[s]->output_count; o++) {
            const Output *output = &p->statements[s]->outputs[o];
            narrow_positions(front->extents, output->positions, output->tensor, input, &range, &known);
        }
    if (range.most < range.least)
        range.most = range.least = 0;
    return range;
}

/* ---- filling ---- */

void sample_fill(const Compiled *front, const Tensor *input, Array *array)
{
    uint64_t state = (uint64_t)input->id + 1;
    size_t size = dtype_size(array->dtype);
    int64_t count = array_count(array);
    Kind kind = dtype_kind(array->dtype);
    Range range = kind == KIND_BOOL ? (Range){ 0, 1 } : kind == KIND_INT ? range_of(front, input) : (Range){ 0, 0 };
    uint64_t width = (uint64_t)range.most - (uint64_t)range.least + 1;
    for (int64_t i = 0; i < count; i++) {
        Number number = { 0 };
        if (kind < KIND_FLOAT) {
            number.integer = range.least + (int64_t)(next_random(&state) % (width ? width : 1));
            number.re = (double)number.integer;
        } else {
            number.re = ldexp((double)(next_random(&state) >> 40), -24) - 0.5;
            number.im = kind == KIND_COMPLEX ? ldexp((double)(next_random(&state) >> 40), -24) - 0.5 : 0;
        }
        array_store(array->dtype, (char *)array->data + (size_t)i * size, number);
    }
}
