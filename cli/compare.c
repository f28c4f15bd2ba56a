#include "compare.h"

#include <math.h>
#include <string.h>

#include "evaluate.h"
#include "print.h"
#include "progress.h"

enum { LIMIT = 5000 };            /* milliseconds */

/* A product of two counts. */
__extension__ typedef __int128 Wide;

typedef struct Comparison {
    Job *job;
    Evaluator *evaluator;
    const Result *results;
    int count;
    int64_t total, step;          /* elements of all results; how far apart one looks */
    int64_t looked, wrong;
    int64_t end;                  /* when to stop, in progress_milliseconds() */
} Comparison;

static int64_t count_of(const Result *result)
{
    return array_count(result->array);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

static bool goes_on(void *comparison)
{
    return !cancel_asked(NULL) && progress_milliseconds() < ((Comparison *)comparison)->end;
}

static bool begin(Comparison *c, Job *job, const Result *results, int count, const Array *const *arrays)
{
    *c = (Comparison){ .job = job, .results = results, .count = count, .end = progress_milliseconds() + LIMIT };
    for (int r = 0; r < count; r++)
        c->total += count_of(&results[r]);
    /* Steps of a golden section, prime to the total, visit every element once, and early ones lie far apart. */
    c->step = (int64_t)((double)c->total * 0.6180339887498949) | 1;
    while (c->total && common_divisor(c->total, c->step) != 1)
        c->step++;
    c->evaluator = evaluator_new(job->front->program, job->front->extents, arrays);
    if (!c->evaluator)
        return false;
    evaluator_allow(c->evaluator, precisions[job->options.precision].error);
    evaluator_ask(c->evaluator, goes_on, c);
    if (job->options.target->grid)
        evaluator_scales(c->evaluator);
    return true;
}

/* The n-th element to look at: its result, and where it is in that. */
static const Result *element_at(const Comparison *c, int64_t n, int64_t *position)
{
    int64_t at = (int64_t)((Wide)n * c->step % c->total);
    const Result *result = c->results;
    for (; at >= count_of(result); result++)
        at -= count_of(result);
    for (int a = result->array->rank - 1; a >= 0; a--) {
        position[a] = at % result->array->shape[a];
        at /= result->array->shape[a];
    }
    return result;
}

static const Output *output_of(const Tensor *tensor)
{
    const Statement *maker = tensor->maker;
    int o = 0;
    while (maker->outputs[o].tensor != tensor)
        o++;
    return &maker->outputs[o];
}

/* ---- what to say ---- */

static const char *place_words(Arena *arena, const Result *result, const int64_t *position)
{
    Text text = text_new(arena);
    text_print(&text, "%s[", result->tensor->label);
    for (int a = 0; a < result->array->rank; a++)
        text_print(&text, a ? ",%lld" : "%lld", (long long)position[a]);
    text_put(&text, "]");
    return text.bytes;
}

static const char *value_words(Arena *arena, Dtype dtype, const Value *value)
{
    if (value->open)
        return "one of several";
    if (dtype_kind(dtype) < KIND_FLOAT)
        return arena_format(arena, "%lld", (long long)value->integer);
    const char *bound = value->bound > 0 ? arena_format(arena, ", give or take %.2g", value->bound) : "";
    if (dtype_kind(dtype) == KIND_COMPLEX)
        return arena_format(arena, "(%.17g%+.17gj)%s", value->re, value->im, bound);
    return arena_format(arena, "%.17g%s", value->re, bound);
}

static void say_wrong(Comparison *c, const Result *result, const int64_t *position)
{
    Arena *arena = &c->job->cli->arena;
    Value value = { 0 };
    Text got = text_new(arena);
    evaluator_element(c->evaluator, output_of(result->tensor), position, &value);
    print_element(&got, result->array->dtype, array_at(result->array, position));
    cli_fail(c->job->cli, EINC_CHECK, "the kernel is wrong: %s is %s, but must be %s", place_words(arena, result, position),
             got.bytes, value_words(arena, result->array->dtype, &value));
}

static void say_fault(Comparison *c, const Result *result, const int64_t *position)
{
    Cli *cli = c->job->cli;
    const Term *culprit = evaluator_culprit(c->evaluator);
    const Position *astray = evaluator_astray(c->evaluator);
    const char *error = evaluator_error(c->evaluator), *place = place_words(&cli->arena, result, position);
    Diags diags = { .arena = &cli->arena, .source = &c->job->expression.source };
    if (culprit)
        diag_error(&diags, culprit->span, "%s, for %s", error, place);
    else if (astray)
        diag_error(&diags, astray->span, "%s", error);
    else
        diag_error_nowhere(&diags, "%s, for %s", error, place);
    cli_fail_diags(cli, EINC_EXPRESSION, &diags);
}

/* ---- the interface ---- */

int compare_results(Job *job, const Result *results, int count, const Array *const *arrays)
{
    Comparison c;
    int64_t position[RANK_MAX];
    bool failed = false;
    if (!begin(&c, job, results, count, arrays))
        return cli_fail(job->cli, EINC_FAILED, "out of memory");
    while (c.looked < c.total && !failed && goes_on(&c)) {
        const Result *result = element_at(&c, c.looked, position);
        bool right = evaluator_accepts(c.evaluator, output_of(result->tensor), position, array_at(result->array, position),
                                       &failed);
        if (failed && !*evaluator_error(c.evaluator)) {
            failed = false;
            break;
        }
        if (failed)
            say_fault(&c, result, position);
        else if (!right && c.wrong++ == 0)
            say_wrong(&c, result, position);
        c.looked++;
    }
    evaluator_free(c.evaluator);
    if (failed)
        return EINC_EXPRESSION;
    if (cancel_asked(NULL) && !c.wrong)
        return EINC_OK;
    if (c.wrong)
        cli_note(job->cli, "note: %lld of the %lld results compared are wrong; there are %lld", (long long)c.wrong,
                 (long long)c.looked, (long long)c.total);
    else if (!c.looked && c.total)
        cli_note(job->cli, "check: none of %lld results compared: the evaluator is not done with one in %d s", (long long)c.total, LIMIT / 1000);
    else
        cli_note(job->cli, "check: %lld of %lld results compared, all right", (long long)c.looked, (long long)c.total);
    return c.wrong ? EINC_CHECK : EINC_OK;
}

bool compare_find_fault(Job *job, const Result *results, int count, const Array *const *arrays)
{
    Comparison c;
    Value value;
    int64_t position[RANK_MAX];
    bool found = false;
    if (!begin(&c, job, results, count, arrays))
        return false;
    for (; !found && c.looked < c.total && goes_on(&c); c.looked++) {
        const Result *result = element_at(&c, c.looked, position);
        found = !evaluator_element(c.evaluator, output_of(result->tensor), position, &value) && *evaluator_error(c.evaluator);
        if (found)
            say_fault(&c, result, position);
    }
    evaluator_free(c.evaluator);
    return found;
}
