/* Sums of powers that are lifted, as in exp(-0.5 * d2[i,j]) * b[j] | sum j, or in the shares of a softmax.
 *
 * Numbers below the normal ones take a processor 150 cycles, and powers of numbers between -87 and -104 are such. So such a sum is
 * made 2^LIFT times as large as it is, and all powers that are not 0 are normal numbers. At its end it is divided by as much; neither
 * is rounded. Where it is not finite, what was added up may have been too large: the unit of work is done again, as it stands. */
#include "planning.h"

typedef struct Lifting {
    Planner *planner;
    const Launch *launch;
    int *uses;                    /* [lowered term id]: by other terms and outputs */
    int *reads;                   /* [lowered tensor id]: terms that read it, less those that are multiplied and added up */
    const Term **stored;          /* [lowered tensor id]: the power that its elements are multiples of; NULL: they are none */
} Lifting;

static void count_use(void *user, const Term *term)
{
    ((int *)user)[term->id]++;
}

/* The power, or the read of one, that a value is a multiple of; NULL: there is none, or somebody else has it, too. */
static const Term *power_of(const Lifting *l, const Term *term)
{
    if (l->uses[term->id] != 1 || term->dtype != DTYPE_F32)
        return NULL;
    if (term->kind == TERM_READ)
        return l->stored[term->read.tensor->id] && !term->read.carried ? term : NULL;
    if (term->kind == TERM_SELECT)
        return term_is_number(term->select.yes, 0) ? power_of(l, term->select.no)
             : term_is_number(term->select.no, 0) ? power_of(l, term->select.yes) : NULL;
    if (term->kind != TERM_MAP)
        return NULL;
    Term *const *x = term->map.arguments;
    const Term *power = NULL;
    switch (term->map.function) {
    case FUNCTION_EXP: return term->map.grade == GRADE_FULL ? term : NULL;
    case FUNCTION_MUL: power = power_of(l, x[0]); return power ? power : power_of(l, x[1]);
    case FUNCTION_DIV:
    case FUNCTION_NEG:
    case FUNCTION_CAST: return power_of(l, x[0]);
    default: return NULL;
    }
}

/* The power that a step's sum is lifted with; NULL: it is none. A product takes such numbers from a temporary, as its rows, which are
 * not packed for later units of work. */
static const Term *lifts(const Lifting *l, const Step *step, const Term *sum)
{
    bool reduces = (sum->kind == TERM_REDUCE || sum->kind == TERM_CONTRACT) && sum->statement == step->statement->id;
    bool adds = reduces && sum->reduce.reduction == REDUCTION_SUM && sum->dtype == DTYPE_F32;
    const Term *power = adds ? power_of(l, sum->reduce.argument) : NULL;
    const Contract *c = step->contract;
    if (power && c && c->product == sum && (power->kind != TERM_READ || power_of(l, c->left) != power))
        return NULL;
    return power;
}

/* Whether its units of work can be done again. */
static bool may_repeat(const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        if (step->kind != STEP_STORE || step->split || step->scatters || step->statement->accumulate)
            return false;
    }
    return true;
}

/* Temporaries of the launch whose elements are multiples of powers, and who reads them. */
static void find_stored(Lifting *l)
{
    const Plan *plan = l->planner->plan;
    for (int s = 0; s < l->launch->step_count; s++) {
        const Step *step = l->launch->steps[s];
        const Output *output = &step->statement->outputs[0];
        const Storage *storage = &plan->storage[output->tensor->id];
        bool block = step->statement->output_count == 1 && storage->place == PLACE_BLOCK && storage->launch == l->launch->id &&
                     output->tensor->home == output->tensor;
        const Term *power = block ? power_of(l, output->value) : NULL;
        l->stored[output->tensor->id] = power && power->kind == TERM_MAP ? power : NULL;
    }
    for (int i = 0; i < plan->lowered->term_count; i++)
        if (plan->lowered->terms[i]->kind == TERM_READ)
            l->reads[plan->lowered->terms[i]->read.tensor->id]++;
    for (int s = 0; s < l->launch->step_count; s++)
        for (int i = 0; i < plan->lowered->term_count; i++) {
            const Term *power = lifts(l, l->launch->steps[s], plan->lowered->terms[i]);
            if (power && power->kind == TERM_READ)
                l->reads[power->read.tensor->id]--;
        }
}

static void lift(Lifting *l, Launch *launch)
{
    Plan *plan = l->planner->plan;
    l->launch = launch;
    find_stored(l);
    for (int s = 0; s < launch->step_count; s++)
        for (int i = 0; i < plan->lowered->term_count; i++) {
            const Term *sum = plan->lowered->terms[i], *power = lifts(l, launch->steps[s], sum);
            const Tensor *tensor = power && power->kind == TERM_READ ? power->read.tensor : NULL;
            if (!power || (tensor && l->reads[tensor->id] > 0))
                continue;
            plan->lifted[sum->id] = plan->lifted[tensor ? l->stored[tensor->id]->id : power->id] = true;
            launch->lifts = true;
        }
}

void plan_lift(Planner *planner)
{
    Plan *plan = planner->plan;
    const Program *lowered = plan->lowered;
    plan->lifted = ARENA_ARRAY(planner->arena, bool, lowered->term_count);
    int *uses = ARENA_ARRAY(planner->arena, int, lowered->term_count);
    for (int i = 0; i < lowered->term_count; i++)
        term_each_argument(lowered->terms[i], count_use, uses);
    for (int s = 0; s < lowered->statement_count; s++)
        for (int o = 0; o < lowered->statements[s]->output_count; o++)
            uses[lowered->statements[s]->outputs[o].value->id]++;
    for (int i = 0; i < plan->launch_count && !plan->target->grid; i++) {
        Lifting l = { planner, NULL, uses, ARENA_ARRAY(planner->arena, int, lowered->tensor_count),
                      ARENA_ARRAY(planner->arena, const Term *, lowered->tensor_count) };
        if (may_repeat(plan->launches[i]))
            lift(&l, plan->launches[i]);
    }
}
