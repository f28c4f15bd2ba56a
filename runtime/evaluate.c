/* The evaluator's interface: makes and frees one, asks for an element, and judges a kernel's result. */
#include <math.h>
#include <stdlib.h>

#include "evaluate_walk.h"

enum { MEMO_MAX = 1 << 20 };      /* elements of one term that are kept; of a larger one, the last row */

/* ---- making one ---- */

static void count_uses(const Position *positions, int rank, int *uses)
{
    for (int a = 0; a < rank; a++)
        for (int k = 0; k < positions[a].count; k++)
            if (positions[a].parts[k].gather)
                uses[positions[a].parts[k].gather->id]++;
}

static void count_term_uses(const Term *term, int *uses)
{
    switch (term->kind) {
    case TERM_READ:
        count_uses(term->read.positions, term->read.tensor->rank, uses);
        /* One read may be many: each point of it asks for an element. */
        if (term->read.tensor->maker)
            uses[walk_output(term->read.tensor)->value->id] += 2;
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            uses[term->map.arguments[i]->id]++;
        break;
    case TERM_SELECT:
        uses[term->select.condition->id]++;
        uses[term->select.yes->id]++;
        uses[term->select.no->id]++;
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: uses[term->reduce.argument->id]++; break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

static int *count_all_uses(const Program *program)
{
    int *uses = calloc((size_t)program->term_count + 1, sizeof *uses);
    for (int i = 0; uses && i < program->term_count; i++)
        count_term_uses(program->terms[i], uses);
    for (int s = 0; uses && s < program->statement_count; s++)
        for (int o = 0; o < program->statements[s]->output_count; o++) {
            const Output *output = &program->statements[s]->outputs[o];
            uses[output->value->id]++;
            count_uses(output->positions, output->tensor->rank, uses);
        }
    return uses;
}

/* Reductions are kept always, maps where more than one asks for them. */
static bool is_kept(const Term *term, int uses)
{
    switch (term->kind) {
    case TERM_CONTRACT:
    case TERM_REDUCE: return true;
    case TERM_MAP:
    case TERM_SELECT: return uses > 1;
    default: return false;
    }
}

/* False without memory. */
static bool plan_memo(const Evaluator *e, const Term *term, Memo *memo)
{
    bool reduces = term->kind == TERM_REDUCE;
    memo->wanted = true;
    memo->keys = malloc(((size_t)term->rank + 1) * sizeof *memo->keys);
    if (!memo->keys)
        return false;
    memo->length = 1;
    if (reduces && reduction_facts[term->reduce.reduction].leaves == LEAVES_RANKS)
        memo->length = (int64_t)term->reduce.parameter;
    if (reduces && reduction_facts[term->reduce.reduction].leaves == LEAVES_ALL)
        memo->length = walk_count(e, term->reduce.over, term->reduce.over_count);
    for (int i = 0; i < term->rank; i++)
        if (!reduces || (term->indices[i] != term->reduce.ranks &&
                         !indices_have(term->reduce.over, term->reduce.over_count, term->indices[i])))
            memo->keys[memo->key_count++] = term->indices[i];
    int64_t size;
    memo->rows = walk_count(e, memo->keys, memo->key_count);
    memo->whole = memo->rows >= 0 && !__builtin_mul_overflow(memo->rows, memo->length, &size) && size <= MEMO_MAX;
    return true;
}

Evaluator *evaluator_new(const Program *program, const Extents *extents, const Array *const *arrays)
{
    Evaluator *e = calloc(1, sizeof *e);
    int *uses = count_all_uses(program);
    if (e) {
        *e = (Evaluator){ .program = program, .extents = extents, .arrays = arrays };
        e->at = calloc((size_t)program->index_count + 1, sizeof *e->at);
        e->memos = calloc((size_t)program->term_count + 1, sizeof *e->memos);
        e->facts = calloc((size_t)program->term_count + 1, sizeof *e->facts);
        e->joined = calloc((size_t)program->term_count + 1, sizeof *e->joined);
        e->scattered = calloc((size_t)program->tensor_count + 1, sizeof *e->scattered);
    }
    bool done = e && uses && e->at && e->memos && e->facts && e->joined && e->scattered;
    for (int i = 0; i < program->term_count && done; i++)
        if (is_kept(program->terms[i], uses[i]))
            done = plan_memo(e, program->terms[i], &e->memos[i]);
    free(uses);
    if (!done) {
        evaluator_free(e);
        return NULL;
    }
    walk_find_joined(e);
    walk_find_facts(e);
    return e;
}

void evaluator_allow(Evaluator *evaluator, double error)
{
    evaluator->product_error = error;
}

void evaluator_scales(Evaluator *evaluator)
{
    evaluator->scales = true;
}

void evaluator_free(Evaluator *evaluator)
{
    if (!evaluator)
        return;
    for (int i = 0; evaluator->memos && i < evaluator->program->term_count; i++) {
        free(evaluator->memos[i].keys);
        free(evaluator->memos[i].known);
        free(evaluator->memos[i].values);
    }
    for (int i = 0; evaluator->scattered && i < evaluator->program->tensor_count; i++)
        free(evaluator->scattered[i]);
    walk_free_spare(evaluator);
    free(evaluator->memos);
    free(evaluator->facts);
    free(evaluator->joined);
    free(evaluator->scattered);
    free(evaluator->at);
    free(evaluator);
}

/* ---- whether a result is right ---- */

static bool part_agrees(double re, const Value *value, double result)
{
    /* The bound was itself computed in float64, from positive numbers. */
    if (isfinite(re))
        return fabs(result - re) <= value->bound * (1 + 1e-9);
    return isnan(re) ? isnan(result) : result == re || (value->either && result == -re);
}

static bool agrees(Dtype dtype, const Value *value, Number result)
{
    if (dtype_kind(dtype) < KIND_FLOAT)
        return value->integer == result.integer;
    return part_agrees(value->re, value, result.re) &&
           (dtype_kind(dtype) == KIND_FLOAT || part_agrees(value->im, value, result.im));
}

/* Whether a reduction that gives positions may give `result` here, behind casts to integers, `narrowest` among them. */
static bool position_agrees(Evaluator *e, const Term *term, Dtype narrowest, int64_t result)
{
    int64_t count = walk_count(e, term->reduce.over, term->reduce.over_count);
    int64_t rank = reduction_facts[term->reduce.reduction].leaves == LEAVES_RANKS ? walk_place(e, term) : 0;
    Scratch *scratch = e->scratch;
    Value *x = walk_take(e, count, sizeof *x);
    bool found = false;
    walk_reduced(e, term, count, x, NULL);
    for (int64_t i = 0; i < count && !found; i++)
        found = wrap(narrowest, (uint64_t)i) == result && order_accepts(term, x, count, rank, i);
    walk_give_back(e, scratch);
    return found;
}

/* Whether an integer term that is open here may be `result`: looks for the argmax that it comes from. */
static bool open_agrees(Evaluator *e, const Term *term, Dtype narrowest, int64_t result)
{
    int64_t at[RANK_MAX];
    const Term *inner = NULL;
    Value condition;
    switch (term->kind) {
    case TERM_MAP:
        if (term->map.function == FUNCTION_CAST && dtype_kind(term->map.arguments[0]->dtype) == KIND_INT)
            inner = term->map.arguments[0];
        break;
    case TERM_SELECT:
        walk_term(e, term->select.condition, &condition);
        inner = condition.open ? NULL : condition.integer ? term->select.yes : term->select.no;
        break;
    case TERM_READ:
        if (!term->read.tensor->maker || term->read.tensor->maker->accumulate ||
            !walk_positions(e, term, term->read.tensor, term->read.positions, at))
            break;
        walk_to(e, walk_output(term->read.tensor), at);
        inner = walk_output(term->read.tensor)->value;
        break;
    case TERM_CONTRACT: inner = term->reduce.over_count ? NULL : term->reduce.argument; break;
    case TERM_REDUCE:
        if (reduction_facts[term->reduce.reduction].gives == GIVES_POSITION)
            return position_agrees(e, term, narrowest, result);
        break;
    default: break;
    }
    if (!inner || dtype_kind(inner->dtype) != KIND_INT)
        return true;
    return open_agrees(e, inner, dtype_size(inner->dtype) < dtype_size(narrowest) ? inner->dtype : narrowest, result);
}

/* ---- the interface ---- */

typedef struct Call {
    const Output *output;
    const int64_t *position;
    const void *result;
    Value value;
    bool accepted;
} Call;

static void call_element(Evaluator *e, Call *call)
{
    call->value = walk_element(e, call->output->tensor, call->position);
}

static void call_accepts(Evaluator *e, Call *call)
{
    const Tensor *tensor = call->output->tensor;
    Number result = array_load(tensor->dtype, call->result);
    call_element(e, call);
    if (!call->value.open)
        call->accepted = agrees(tensor->dtype, &call->value, result);
    else if (dtype_kind(tensor->dtype) != KIND_INT || tensor->maker->accumulate)
        call->accepted = true;
    else
        call->accepted = walk_to(e, call->output, call->position) &&
                         open_agrees(e, call->output->value, tensor->dtype, result.integer);
}

/* False when something was out of range. */
static bool run(Evaluator *e, void (*body)(Evaluator *, Call *), Call *call)
{
    jmp_buf here;
    volatile bool done = false;
    e->stop = &here;
    e->error[0] = 0;
    e->culprit = NULL;
    e->astray = NULL;
    if (!setjmp(here)) {
        body(e, call);
        done = true;
    }
    walk_give_back(e, NULL);
    return done;
}

void evaluator_ask(Evaluator *evaluator, bool (*goes_on)(void *user), void *user)
{
    evaluator->goes_on = goes_on;
    evaluator->user = user;
}

bool evaluator_element(Evaluator *evaluator, const Output *output, const int64_t *position, Value *value)
{
    Call call = { .output = output, .position = position };
    bool done = run(evaluator, call_element, &call);
    *value = call.value;
    return done;
}

bool evaluator_accepts(Evaluator *evaluator, const Output *output, const int64_t *position, const void *result,
                       bool *failed)
{
    Call call = { .output = output, .position = position, .result = result };
    *failed = !run(evaluator, call_accepts, &call);
    return !*failed && call.accepted;
}

const char *evaluator_error(const Evaluator *evaluator)
{
    return evaluator->error;
}

bool evaluator_may_miss(const Evaluator *evaluator)
{
    return evaluator->may_miss;
}

const Term *evaluator_culprit(const Evaluator *evaluator)
{
    return evaluator->culprit;
}

const Position *evaluator_astray(const Evaluator *evaluator)
{
    return evaluator->astray;
}

