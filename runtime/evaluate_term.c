/* Terms at one point: reads, maps, selects and reductions, and what is kept of them. What a function or a reduction
 * makes of values stands in other files; here is which elements are needed. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate_walk.h"

enum { ASKS = 1 << 16 };          /* after how many terms it is asked whether to go on */
enum { SPARE_BYTES = 512 };       /* the room of scratch that is kept for the next who asks */

struct Scratch {
    Scratch *below;
    bool is_small;                /* it has SPARE_BYTES */
    _Alignas(max_align_t) char bytes[];
};

/* ---- stopping and memory ---- */

static _Noreturn void stop(Evaluator *e, const Term *culprit)
{
    e->culprit = culprit;
    longjmp(*e->stop, 1);
}

_Noreturn void walk_stop_without_memory(Evaluator *e)
{
    snprintf(e->error, sizeof e->error, "out of memory");
    stop(e, NULL);
}

static _Noreturn void stop_out_of_range(Evaluator *e, const Term *culprit, const Tensor *tensor, int axis, int64_t at)
{
    char words[120];
    if (tensor->name)
        snprintf(words, sizeof words, "'%.100s'", tensor->name);
    else
        snprintf(words, sizeof words, "operand %d", tensor->input + 1);
    snprintf(e->error, sizeof e->error, "%s at %lld, but axis %d has %lld", words, (long long)at, axis,
             (long long)e->extents->shape[tensor->id][axis]);
    stop(e, culprit);
}

/* Zeros, until walk_give_back(). */
void *walk_take(Evaluator *e, int64_t count, size_t size)
{
    size_t most = (SIZE_MAX - sizeof(Scratch)) / size;
    if (count < 0 || (size_t)count > most)
        walk_stop_without_memory(e);
    size_t bytes = (size_t)count * size;
    Scratch *scratch = bytes <= SPARE_BYTES ? e->spare : NULL;
    if (scratch) {
        e->spare = scratch->below;
        memset(scratch->bytes, 0, bytes);
    } else if (!(scratch = calloc(1, sizeof *scratch + (bytes <= SPARE_BYTES ? SPARE_BYTES : bytes)))) {
        walk_stop_without_memory(e);
    }
    scratch->is_small = bytes <= SPARE_BYTES;
    scratch->below = e->scratch;
    e->scratch = scratch;
    return scratch->bytes;
}

void walk_give_back(Evaluator *e, Scratch *down_to)
{
    while (e->scratch != down_to) {
        Scratch *top = e->scratch;
        e->scratch = top->below;
        if (!top->is_small) {
            free(top);
            continue;
        }
        top->below = e->spare;
        e->spare = top;
    }
}

void walk_free_spare(Evaluator *e)
{
    for (Scratch *scratch = e->spare, *below; scratch; scratch = below) {
        below = scratch->below;
        free(scratch);
    }
}

/* ---- loops ---- */

static int64_t extent_of(const Evaluator *e, const Index *index)
{
    return e->extents->of[index->id];
}

/* The number of points that the indices run over; -1 when it does not fit into 63 bits. */
int64_t walk_count(const Evaluator *e, Index *const *indices, int count)
{
    int64_t product = 1;
    bool fits = true;
    for (int i = 0; i < count; i++) {
        if (extent_of(e, indices[i]) == 0)
            return 0;
        fits = fits && !__builtin_mul_overflow(product, extent_of(e, indices[i]), &product);
    }
    return fits ? product : -1;
}

void walk_first(Evaluator *e, Index *const *indices, int count)
{
    for (int i = 0; i < count; i++)
        e->at[indices[i]->id] = 0;
}

void walk_next(Evaluator *e, Index *const *indices, int count)
{
    for (int i = count - 1; i >= 0; i--) {
        if (++e->at[indices[i]->id] < extent_of(e, indices[i]))
            return;
        e->at[indices[i]->id] = 0;
    }
}

/* Where the loops stand among the points of these indices, the last of which runs the fastest. */
static int64_t point_number(const Evaluator *e, Index *const *indices, int count)
{
    int64_t number = 0;
    for (int i = 0; i < count; i++)
        number = number * extent_of(e, indices[i]) + e->at[indices[i]->id];
    return number;
}

/* ---- positions and reads ---- */

static Value load(const Array *array, const void *element)
{
    if (dtype_kind(array->dtype) == KIND_FLOAT)
        return value_exact(array_load_real(array->dtype, element));
    Number number = array_load(array->dtype, element);
    return (Value){ .re = number.re, .im = number.im, .integer = number.integer };
}

Value walk_load(const Array *array, const int64_t *position)
{
    return load(array, array_at(array, position));
}

/* Where a computed position stands; a number that is out of every range when it does not fit into 64 bits. False when
 * it depends on an open value. */
static bool locate(Evaluator *e, const Position *position, int64_t *at)
{
    int64_t step;
    bool fits = true;
    *at = position->constant;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        Value value = { .integer = part->gather ? 0 : e->at[part->index->id] };
        if (part->gather)
            walk_term(e, part->gather, &value);
        if (value.open)
            return false;
        fits = fits && !__builtin_mul_overflow(part->coefficient, value.integer, &step) &&
               !__builtin_add_overflow(*at, step, at);
    }
    *at = fits ? *at : INT64_MAX;
    return true;
}

/* The positions of a read, or of a target when `read` is NULL. False when one depends on an open value. */
bool walk_positions(Evaluator *e, const Term *read, const Tensor *tensor, const Position *positions, int64_t *at)
{
    const int64_t *shape = e->extents->shape[tensor->id];
    bool known = true;
    for (int a = 0; a < tensor->rank; a++) {
        if (position_is_plain(&positions[a])) {
            at[a] = read && shape[a] == 1 ? 0 : e->at[positions[a].parts[0].index->id];
        } else if (!locate(e, &positions[a], &at[a])) {
            known = false;
            continue;
        }
        if (at[a] < 0 || at[a] >= shape[a]) {
            e->astray = read ? NULL : &positions[a];
            stop_out_of_range(e, read, tensor, a, at[a]);
        }
    }
    return known;
}

/* Of an array, at one index an axis. */
static Value read_plain(Evaluator *e, const Term *read)
{
    const Tensor *tensor = read->read.tensor;
    const Array *array = e->arrays[tensor->id];
    const int64_t *shape = e->extents->shape[tensor->id];
    int64_t place = 0;
    for (int a = 0; a < tensor->rank; a++) {
        int64_t at = shape[a] == 1 ? 0 : e->at[read->read.positions[a].parts[0].index->id];
        if (at >= shape[a])
            stop_out_of_range(e, read, tensor, a, at);
        place += at * array->stride[a];
    }
    return load(array, (const char *)array->data + place * (int64_t)dtype_size(array->dtype));
}

static Value read_element(Evaluator *e, const Term *read)
{
    const Tensor *tensor = read->read.tensor;
    int64_t at[RANK_MAX];
    if (e->facts[read->id].plain)
        return read_plain(e, read);
    if (!walk_positions(e, read, tensor, read->read.positions, at))
        return value_open();
    return tensor->maker ? walk_element(e, tensor, at) : walk_load(e->arrays[tensor->id], at);
}

/* ---- maps and selects ---- */

#define LEAST_SHARE 0x1p-68     /* FLT_MIN of a sum that is at least 2^-58: compiler/plan_guess.c */

static Dtype read_dtype(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->map.implicit)
        term = term->map.arguments[0];
    return term->dtype;
}

static bool is_narrow(const Term *term)
{
    return read_dtype(term) == DTYPE_BF16;
}

/* What a softmax gives is rounded; or its powers are, before they are divided: by as large a part of each, which may be twice as much,
 * and the least of them may be zeros, those of a guessed maximum from LEAST_SHARE on. */
static bool rounds_softmax(const Term *term)
{
    const Term *x = term->map.arguments[0];
    bool narrows = term->map.function == FUNCTION_CAST && dtype_kind(term->dtype) == KIND_FLOAT && dtype_size(term->dtype) < dtype_size(x->dtype);
    return narrows && x->kind == TERM_REDUCE && x->reduce.reduction == REDUCTION_SOFTMAX;
}

/* By how large a part of it a number may be off that is rounded next, if it is not off by FLT_MIN: COARSE_FUNCTIONS in ops.h. A softmax's
 * powers are, and their sum as much again. */
static double coarseness_of(const Term *term)
{
    const Term *x = term->map.arguments[0];
    if (term->map.function != FUNCTION_CAST || term->dtype != DTYPE_BF16)
        return 0;
    if (x->kind == TERM_MAP)
        return function_coarseness(x->map.function, x->dtype);
    return rounds_softmax(term) ? 2 * function_coarseness(FUNCTION_EXP, x->dtype) : 0;
}

static bool widens(const Term *term)
{
    Dtype from = term->kind == TERM_MAP ? term->map.arguments[0]->dtype : term->dtype;
    return term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && value_is_same(term->dtype, from);
}

static bool is_plain(const Term *read)
{
    bool plain = !read->read.tensor->maker;
    for (int a = 0; a < read->read.tensor->rank; a++)
        plain = plain && position_is_plain(&read->read.positions[a]);
    return plain;
}

void walk_find_facts(Evaluator *e)
{
    for (int i = 0; i < e->program->term_count; i++) {
        const Term *term = e->program->terms[i];
        Facts *facts = &e->facts[term->id];
        facts->same = widens(term) ? term->map.arguments[0] : NULL;
        facts->plain = term->kind == TERM_READ && is_plain(term);
        if (term->kind != TERM_MAP)
            continue;
        Function function = term->map.function;
        int narrow = 0;
        for (int k = 0; k < term->map.count; k++)
            narrow += is_narrow(term->map.arguments[k]);
        facts->products = function != FUNCTION_MUL || term->dtype != DTYPE_F32 ? OTHERS : narrow == 2 ? FLUSHED : narrow == 1 ? MIXED : SINGLE;
        facts->scaling = function_scaling(function, term->dtype);
        facts->coarseness = coarseness_of(term);
        facts->rounds_softmax = rounds_softmax(term);
    }
}

static Value multiply(const Evaluator *e, Products products, const Value *arguments)
{
    if (products == FLUSHED)
        return value_mul_flushed(&arguments[0], &arguments[1]);
    Value product = value_mul(DTYPE_F32, &arguments[0], &arguments[1]);
    if ((products == SINGLE && e->product_error == 0) || product.open || !isfinite(product.re))
        return product;
    double error = e->product_error * (fabs(product.re) + product.bound);
    if (products == MIXED)    /* the f32 number may be three of bf16, whose products round one by one */
        product.bound += 3 * FLT_TRUE_MIN + error;
    else                      /* no part of bf16 has the bits below */
        product.bound += error + (e->scales ? 0x1p-133 * (value_reach(arguments[0]) + value_reach(arguments[1])) + 6 * FLT_TRUE_MIN : 0);
    return product;
}

/* An argument that a kernel has only to so large a part of it, and give or take `least`. */
static void blur(Value *argument, double part, double least)
{
    if (part > 0 && !argument->open && isfinite(argument->re))
        argument->bound += part * (fabs(argument->re) + argument->bound) + least;
}

static Value evaluate_map(Evaluator *e, const Term *term)
{
    Value arguments[3];
    const Facts *facts = &e->facts[term->id];
    if (e->joined[term->id])
        return walk_joined(e, term);
    for (int i = 0; i < term->map.count; i++)
        walk_term(e, term->map.arguments[i], &arguments[i]);
    if (facts->products != OTHERS)
        return multiply(e, facts->products, arguments);
    if (e->scales)
        blur(&arguments[0], facts->scaling * format_of(DTYPE_F32)->unit, 0);
    blur(&arguments[0], facts->coarseness, FLT_MIN);
    Value value = map_apply(term->map.function, term->dtype, term->map.arguments[0]->dtype, arguments);
    if (facts->rounds_softmax && !value.open && isfinite(value.re))
        value.bound = 2 * value.bound + LEAST_SHARE;
    return value;
}

/* As walk_term(), but false, with the loops where they were, when something is out of range. */
static bool try_evaluate(Evaluator *e, const Term *term, Value *value)
{
    jmp_buf here, *outer = e->stop;
    volatile bool done = false;
    Scratch *scratch = e->scratch;
    size_t bytes = (size_t)e->program->index_count * sizeof *e->at;
    int64_t *at = memcpy(walk_take(e, e->program->index_count, sizeof *at), e->at, bytes);
    e->stop = &here;
    if (!setjmp(here)) {
        walk_term(e, term, value);
        done = true;
    }
    memcpy(e->at, at, bytes);
    walk_give_back(e, scratch);
    e->stop = outer;
    return done;
}

static Value evaluate_select(Evaluator *e, const Term *term)
{
    Value condition, yes, no;
    walk_term(e, term->select.condition, &condition);
    if (!condition.open) {
        walk_term(e, condition.integer ? term->select.yes : term->select.no, &yes);
        return yes;
    }
    if (try_evaluate(e, term->select.yes, &yes) && try_evaluate(e, term->select.no, &no))
        return value_either(term->dtype, yes, no);
    e->may_miss = true;
    e->error[0] = 0;
    e->culprit = NULL;
    return value_open();
}

static Value evaluate_constant(const Term *term)
{
    return term->constant.is_integer ? value_whole(term->constant.integer) : value_exact(term->constant.value);
}

/* ---- reductions ---- */

/* The argument at all points of the reduced indices, into `x` or, where that is NULL, into `sum`. */
void walk_reduced(Evaluator *e, const Term *term, int64_t count, Value *x, Sum *sum)
{
    Index **over = term->reduce.over;
    int over_count = term->reduce.over_count;
    int64_t *before = walk_take(e, over_count, sizeof *before);
    for (int i = 0; i < over_count; i++)
        before[i] = e->at[over[i]->id];
    walk_first(e, over, over_count);
    for (int64_t i = 0; i < count; i++, walk_next(e, over, over_count)) {
        Value value;
        walk_term(e, term->reduce.argument, x ? &x[i] : &value);
        if (!x)
            sum_add(sum, &value);
    }
    for (int i = 0; i < over_count; i++)
        e->at[over[i]->id] = before[i];
}

static bool has_16_bits(const Term *term)
{
    Dtype dtype = read_dtype(term);
    return dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

/* Tensor cores round what they add up of products of 16-bit floats toward zero. */
static bool may_truncate(const Term *x)
{
    return x->kind == TERM_MAP && x->map.function == FUNCTION_MUL && x->dtype == DTYPE_F32 && has_16_bits(x->map.arguments[0]) &&
           has_16_bits(x->map.arguments[1]);
}

static void reduce_row(Evaluator *e, const Term *term, Value *row)
{
    int64_t count = walk_count(e, term->reduce.over, term->reduce.over_count);
    Scratch *scratch = e->scratch;
    const Term *top = count == 0 ? semiring_any_order(term) : NULL;
    /* Of nothing the sum is 0, and a factor that was taken out of it may be infinite. */
    if (top && e->joined[top->id]) {
        *row = value_open();
        return;
    }
    if (term->kind == TERM_CONTRACT || term->reduce.reduction == REDUCTION_SUM) {
        Sum sum = { .dtype = term->dtype, .truncates = may_truncate(term->reduce.argument) };
        walk_reduced(e, term, count < 0 ? INT64_MAX : count, NULL, &sum);
        *row = sum_value(&sum);
    } else {
        Value *x = walk_take(e, count, sizeof *x);
        Ranked *ranked = walk_take(e, count, sizeof *ranked);
        walk_reduced(e, term, count, x, NULL);
        reduce_values(term, x, count, ranked, row);
    }
    walk_give_back(e, scratch);
}

/* Which element of its row a term is at. */
int64_t walk_place(const Evaluator *e, const Term *term)
{
    if (term->kind != TERM_REDUCE)
        return 0;
    switch (reduction_facts[term->reduce.reduction].leaves) {
    case LEAVES_ALL: return point_number(e, term->reduce.over, term->reduce.over_count);
    case LEAVES_RANKS: return e->at[term->reduce.ranks->id];
    default: return 0;
    }
}

/* ---- terms, and what is kept of them ---- */

static void compute_row(Evaluator *e, const Term *term, Value *row)
{
    switch (term->kind) {
    case TERM_MAP: *row = evaluate_map(e, term); break;
    case TERM_SELECT: *row = evaluate_select(e, term); break;
    default: reduce_row(e, term, row); break;
    }
}

static void begin_memo(Evaluator *e, Memo *memo)
{
    int64_t rows = memo->whole ? memo->rows : 1;
    memo->known = calloc((size_t)rows + 1, 1);
    memo->values = memo->known ? calloc((size_t)(rows * memo->length) + 1, sizeof *memo->values) : NULL;
    if (memo->values)
        return;
    free(memo->known);
    memo->known = NULL;
    walk_stop_without_memory(e);
}

static const Value *evaluate_kept(Evaluator *e, const Term *term, Memo *memo)
{
    int64_t number = memo->rows < 0 ? -1 : point_number(e, memo->keys, memo->key_count);
    int64_t row = memo->whole ? number : 0;
    if (!memo->values)
        begin_memo(e, memo);
    Value *values = memo->values + row * memo->length;
    if (!memo->known[row] || (!memo->whole && (memo->held != number || number < 0))) {
        memo->known[row] = 0;
        compute_row(e, term, values);
        memo->known[row] = 1;
        memo->held = number;
    }
    return &values[walk_place(e, term)];
}

void walk_term(Evaluator *e, const Term *term, Value *value)
{
    if (++e->terms % ASKS == 0 && e->goes_on && !e->goes_on(e->user))
        stop(e, NULL);
    while (e->facts[term->id].same && !e->memos[term->id].wanted)
        term = e->facts[term->id].same;
    switch (term->kind) {
    case TERM_READ: *value = read_element(e, term); return;
    case TERM_CONSTANT: *value = evaluate_constant(term); return;
    case TERM_POSITION: *value = value_whole(e->at[term->position->id]); return;
    default: break;
    }
    Memo *memo = &e->memos[term->id];
    if (memo->wanted)
        *value = *evaluate_kept(e, term, memo);
    else
        compute_row(e, term, value);
}

