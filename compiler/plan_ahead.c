/* What loops along rows of memory ask for before its turn. What a core fetches by itself ends with each page of memory, and is no more
 * than it waits for: a loop that does more with its numbers than add them up waits for half of its time. So it asks for a line of
 * each row that it reads, some vectors further on; and where several steps of a unit of work read the same row, which is near for all
 * but the first, the last of them asks for the next row, since what it does itself needs no memory. */
#include "planning.h"

enum { ASK_BYTES = 4096, ASK_NEAR = 16 };    /* so far ahead; and a row of a part of the second cache is near for another step */
enum { ASK_LEAST = 16 };          /* times the second cache: what is smaller may come from the third sooner than a loop of few instructions asks for it */
enum { ASK_UNKNOWN = 1 << 20 };   /* points of an index whose extent is not known */

typedef struct Asking {
    const Planner *planner;
    const Launch *launch;
    int place;
    bool *behind;                 /* [lowered term id]: a where that it stands in may leave it out */
} Asking;

static void note_unseen(void *user, const Term *term)
{
    bool *behind = user;
    behind[term->id] = true;
}

typedef struct Condition {
    const Index *vector;
    bool leaves_out;
} Condition;

/* Whether a condition may leave out what is read: it bounds a loop, or is the caller's and one for all lanes. Where each lane has its
 * own all is read, and what the kernel has made, as the maxima of softmax, leaves out few rows. */
static void note_condition(void *user, const Term *term)
{
    Condition *condition = user;
    bool is_given = term->kind == TERM_READ && term->read.tensor->home->origin && !term_has_index(term, condition->vector);
    condition->leaves_out |= term->kind == TERM_POSITION || is_given;
}

static void note_where(void *user, const Term *term)
{
    const Asking *asking = user;
    Condition condition = { .vector = asking->launch->steps[asking->place]->vector };
    if (term->kind == TERM_SELECT)
        term_each_below(asking->planner->arena, term->select.condition, note_condition, &condition);
    if (!condition.leaves_out)
        return;
    term_each_below(asking->planner->arena, term->select.yes, note_unseen, asking->behind);
    term_each_below(asking->planner->arena, term->select.no, note_unseen, asking->behind);
}

/* Whether its innermost loop runs along the lanes' index, so that what it reads there follows each other. */
static bool goes_along(const Step *step)
{
    const Term *value = step->statement->outputs[0].value;
    bool plain = step->vector && !step->contract && !step->jammed && !step->added && !step->crossed && !step->turned &&
                 !step->joined && !step->dots && !step->guard && !step->powers[0];
    if (!plain || step->kind == STEP_RANK || (step->split && step->ahead))
        return false;
    if (step->kind == STEP_SCAN)
        return indices_have(value->reduce.over, value->reduce.over_count, step->vector);
    return !step->vector_kept || step->root_count == 0;
}

/* Whether a read is of the caller's rows, another place for each point of the step's loops. */
static bool is_streamed(const Asking *asking, const Term *read)
{
    const Step *step = asking->launch->steps[asking->place];
    if (read->kind != TERM_READ || !read->read.tensor->home->origin || asking->behind[read->id] || read->read.carried ||
        !planner_reads_runs(asking->planner, read, step->vector))
        return false;
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return false;
    for (int i = 0; i < step->loop_count; i++)
        if (!term_has_index(read, step->loops[i]))
            return false;
    return true;
}

/* Whether the step asks for the same element already. */
static bool is_asked(const Step *step, const Term *read)
{
    for (int i = 0; i < step->ask_count; i++) {
        const Term *other = step->asks[i].read;
        bool same = other->read.tensor->home == read->read.tensor->home;
        for (int a = 0; a < read->read.tensor->rank && same; a++)
            same = other->read.positions[a].parts[0].index == read->read.positions[a].parts[0].index;
        if (same)
            return true;
    }
    return false;
}

/* The first and the last of the launch's steps that read what the one at hand reads. */
static void find_readers(const Asking *asking, const Tensor *tensor, int *first, int *last)
{
    const Program *lowered = asking->planner->plan->lowered;
    *first = *last = asking->place;
    for (int s = 0; s < asking->launch->step_count; s++)
        for (int t = 0; t < lowered->term_count; t++) {
            const Term *term = lowered->terms[t];
            if (term->kind != TERM_READ || term->statement != asking->launch->steps[s]->statement->id || term->read.tensor->home != tensor->home)
                continue;
            *first = s < *first ? s : *first;
            *last = s > *last ? s : *last;
        }
}

/* Whether it is more than comes from a near cache as soon as it is asked for: where much is done with each number, from any. */
static bool is_far(const Asking *asking, const Term *read, bool again)
{
    const Planner *planner = asking->planner;
    const Step *step = asking->launch->steps[asking->place];
    double bytes = (double)dtype_size(read->dtype);
    for (int i = 0; i < read->rank; i++)
        bytes *= planner_knows(planner, read->indices[i]) ? planner_extent(planner, read->indices[i]) : ASK_UNKNOWN;
    bool much = again || (step->root_count && state_group(step->roots[0]));
    return bytes > (double)planner->plan->target->l2_bytes * (much ? 1 : ASK_LEAST);
}

static void note_ask(void *user, const Term *term)
{
    const Asking *asking = user;
    const Launch *launch = asking->launch;
    Step *step = launch->steps[asking->place];
    if (!is_streamed(asking, term) || is_asked(step, term))
        return;
    int first, last, size = (int)dtype_size(term->dtype);
    find_readers(asking, term->read.tensor, &first, &last);
    Ask ask = { .read = term, .vectors = ASK_BYTES / (size * asking->planner->plan->lanes) };
    bool by_points = first < last && launch_goes_by_points(launch, first, last);
    if (!is_far(asking, term, by_points))
        return;
    if (by_points) {
        ask.row = launch->blocks[launch->block_count - 1].of_step[asking->place];
        ask.near = asking->planner->plan->target->l2_bytes / ASK_NEAR / size;
        ask.is_last = asking->place == last;
    }
    if ((asking->place == first || ask.is_last) && (!ask.row || term_has_index(term, ask.row)))
        ARENA_APPEND(asking->planner->arena, step->asks, step->ask_count, ask);
}

void plan_ahead(Planner *planner, const Launch *launch, int place)
{
    const Step *step = launch->steps[place];
    Asking asking = { planner, launch, place, ARENA_ARRAY(planner->arena, bool, planner->plan->lowered->term_count) };
    if (!planner->plan->target->asks || !goes_along(step))
        return;
    for (int o = 0; o < step->statement->output_count; o++)
        term_each_below(planner->arena, step->statement->outputs[o].value, note_where, &asking);
    for (int o = 0; o < step->statement->output_count; o++)
        term_each_below(planner->arena, step->statement->outputs[o].value, note_ask, &asking);
}
