/* Maxima that are guessed, as in the shares of a softmax:
 *
 *     s[q,k] = A[q,d] * B[k,d] | sum d      m[q] = s[q,k] | max k      p[q,k] = exp(s[q,k] - m[q])      l[q] = p[q,k] | sum k
 *
 * Where all that is made of p divides by l, any number in the place of m gives the same shares, as long as no power is too large or
 * all are too small. That of the first columns, and a margin, is there before the other columns are: then each tile of s becomes
 * powers while it is in the first cache, and is not stored. Whether the guess was good is seen at l; if not, the steps run one after
 * the other. Of what is as large as a row of s, only the factors of what follows are left: p, or p as numbers of bf16. */
#include <math.h>

#include "planning.h"
#include "scale.h"

typedef struct Guessing {
    Planner *planner;
    const Launch *launch;
    const Step *product, *largest, *powers, *reduction;
    Scaling scaling;
    bool asks_product;            /* a mask asks for the sums that it masks */
} Guessing;

static const Tensor *made_by(const Step *step)
{
    return step->statement->outputs[0].tensor;
}

enum { MOST = 58 };               /* products of powers with numbers of middling size are numbers */

/* What is made of the powers, in one loop with them. */
static bool is_made_of_powers(const Guessing *g, const Tensor *tensor)
{
    const Join *join = g->reduction->join;
    bool is = tensor == made_by(g->reduction);
    for (int s = 0; s < join->count; s++)
        is |= tensor == made_by(join->steps[s]);
    return is;
}

static Scale read_scale(void *user, const Term *read)
{
    Guessing *g = user;
    if (read->read.tensor == made_by(g->largest))
        return (Scale){ SCALE_OTHER, NULL };
    if (is_made_of_powers(g, read->read.tensor))
        return scale_of(&g->scaling, read->read.tensor->maker->outputs[0].value);
    return (Scale){ SCALE_NONE, NULL };
}

static const Tensor *maximum_read(void *user, const Term *read)
{
    const Guessing *g = user;
    return read->read.tensor == made_by(g->largest) ? read->read.tensor : NULL;
}

static bool goes_together(void *user, const Index *a, const Index *b)
{
    (void)user;
    return a->origin == b->origin;
}

/* A quotient of two values that change alike with the maximum, perhaps where the divisor is not 0. */
static bool is_share(Guessing *g, const Term *term)
{
    while (term->kind == TERM_SELECT ? term_is_number(term->select.yes, 0) : term->kind == TERM_MAP && term->map.function == FUNCTION_CAST)
        term = term->kind == TERM_SELECT ? term->select.no : term->map.arguments[0];
    if (term->kind != TERM_MAP || term->map.function != FUNCTION_DIV)
        return false;
    const Term *divisor = term->map.arguments[1], *condition = divisor->kind == TERM_SELECT ? divisor->select.condition : NULL;
    if (condition && condition->kind == TERM_MAP && condition->map.function == FUNCTION_EQ && condition->map.arguments[0] == divisor->select.no &&
        term_is_number(condition->map.arguments[1], 0))
        divisor = divisor->select.no;
    return scale_is_power(scale_of(&g->scaling, term->map.arguments[0])) && scale_is_power(scale_of(&g->scaling, divisor));
}

static void note(void *user, const Term *term)
{
    ((bool *)user)[term->id] = true;
}

/* What the conditions of a statement's masks are made of. */
static bool *asked_by(const Guessing *g, const Step *step)
{
    const Program *lowered = g->planner->plan->lowered;
    bool *asked = ARENA_ARRAY(g->planner->arena, bool, lowered->term_count);
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->statement == step->statement->id && term->kind == TERM_SELECT && term_is_number(term->select.no, -INFINITY))
            term_each_below(g->planner->arena, term->select.condition, note, asked);
    }
    return asked;
}

/* Each axis of what the product stores is one index of those who read it, and they read nothing else but the maximum, and what a mask
 * asks. What else grows along a row, as a bias does, makes a guess a bad one. */
static bool reads_alone(const Guessing *g, const Step *step)
{
    const Program *lowered = g->planner->plan->lowered;
    const bool *asked = asked_by(g, step);
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->statement != step->statement->id || (term->kind != TERM_READ && term->kind != TERM_POSITION))
            continue;
        bool own = term->kind == TERM_READ && (term->read.tensor == made_by(g->product) || term->read.tensor == made_by(g->largest));
        if ((!own && !asked[i]) || (term->kind == TERM_READ && term->read.carried))
            return false;
        if (term->kind == TERM_POSITION)
            continue;
        for (int a = 0; a < term->read.tensor->rank; a++)
            if (!position_is_plain(&term->read.positions[a]))
                return false;
    }
    return true;
}

/* Whether a step runs with the powers, in their sum's loop. */
static bool is_joined(const Guessing *g, const Step *step)
{
    return step == g->reduction || step->joined == g->reduction;
}

/* Whether of all that reads what these steps make only shares are left. */
static bool leaves_shares(Guessing *g)
{
    const Plan *plan = g->planner->plan;
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind != TERM_READ)
            continue;
        const Step *reader = plan->steps[term->statement];
        const Tensor *tensor = term->read.tensor;
        bool own = reader == g->powers || (reader == g->largest && tensor == made_by(g->product));
        if ((tensor == made_by(g->product) || tensor == made_by(g->largest)) && !own)
            return false;
        if (is_made_of_powers(g, tensor) && !is_joined(g, reader) && !is_share(g, reader->statement->outputs[0].value))
            return false;
    }
    return true;
}

/* A tiled product that stores its sums as they are. */
static bool stores_tiles(const Step *step)
{
    const Contract *c = step->contract;
    const Output *output = &step->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]))
            return false;
    return c && c->tile && !c->reduces && !c->parts && !c->sweep && !c->sums_turned && c->columns.count == 1 &&
           !c->columns_met.condition && !c->points_met.condition && !step->result && step->statement->output_count == 1 &&
           output->value == c->product && !step->statement->accumulate;
}

static bool is_whole(const Step *step, Reduction reduction)
{
    const Term *root = step->root_count == 1 ? step->roots[0] : NULL;
    return root && root->reduce.reduction == reduction && step->statement->outputs[0].value == root && root->dtype == DTYPE_F32 &&
           root->reduce.over_count == 1 && root->reduce.over[0] == step->vector && step->kind == STEP_STORE && !step->split;
}

/* where(m == -inf, 0, exp(..)): with a maximum of -inf the power is NaN, which ends the guess. */
static bool asks_for_maximum(const Guessing *g)
{
    const Term *value = g->powers->statement->outputs[0].value, *condition = value->kind == TERM_SELECT ? value->select.condition : NULL;
    return condition && condition->kind == TERM_MAP && condition->map.function == FUNCTION_EQ && condition->map.arguments[0]->kind == TERM_READ &&
           condition->map.arguments[0]->read.tensor == made_by(g->largest) && value->select.no->kind == TERM_MAP &&
           value->select.no->map.function == FUNCTION_EXP;
}

/* The step that makes what is stored of the powers: that of the powers, or one of the same loop that rounds them to bf16; NULL: it is
 * neither. */
static const Step *factors_of(const Guessing *g)
{
    const Join *join = g->reduction->join;
    if (join->count == 1)
        return g->powers;
    return join->count == 2 && g->powers->is_passed_on && made_by(join->steps[1])->dtype == DTYPE_BF16 ? join->steps[1] : NULL;
}

/* Whether the maxima are of rows of the product's tiles: not of its rows' index, nor of a batch's. */
static bool goes_along_columns(const Guessing *g)
{
    const Program *lowered = g->planner->plan->lowered;
    const Output *made = &g->product->statement->outputs[0];
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        for (int a = 0; term->kind == TERM_READ && term->read.tensor == made->tensor && a < made->tensor->rank; a++)
            if (term->statement == g->largest->statement->id && made->positions[a].parts[0].index == g->product->contract->columns.list[0])
                return term->read.positions[a].parts[0].index == g->largest->roots[0]->reduce.over[0];
    }
    return false;
}

/* Whether the steps from one on are a product, the maxima of its rows, and the powers with what is made of them. */
static bool is_softmax(Guessing *g, int from)
{
    Step **steps = g->launch->steps;
    const Join *join = steps[from + 3]->join;
    if (!join || join->steps[0] != steps[from + 2] || (join->count > 1 && (from + 4 >= g->launch->step_count || join->steps[1] != steps[from + 4])))
        return false;
    g->product = steps[from];
    g->largest = steps[from + 1];
    g->powers = steps[from + 2];
    g->reduction = steps[from + 3];
    return stores_tiles(g->product) && is_whole(g->largest, REDUCTION_MAX) && is_whole(g->reduction, REDUCTION_SUM) &&
           g->reduction->roots[0]->reduce.argument->kind == TERM_READ && factors_of(g) && asks_for_maximum(g) && reads_alone(g, g->largest) &&
           reads_alone(g, g->powers) && goes_along_columns(g);
}

/* The largest powers are numbers in the dtypes that they are rounded to, too. */
static int largest_powers(Guessing *g)
{
    const Program *lowered = g->planner->plan->lowered;
    int most = MOST;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool rounds = term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && dtype_kind(term->dtype) == KIND_FLOAT;
        if (rounds && dtype_exponent(term->dtype) < most && scale_is_power(scale_of(&g->scaling, term->map.arguments[0])))
            most = dtype_exponent(term->dtype);
    }
    return most;
}

static void find_product(void *user, const Term *term)
{
    Guessing *g = user;
    g->asks_product |= term->kind == TERM_READ && term->read.tensor == made_by(g->product);
}

/* The powers' index that one of the product's is, or of the factors, which are made in one loop with them. */
static Index *power_index(const Guessing *g, const Index *own)
{
    const Program *lowered = g->planner->plan->lowered;
    const Position *made = g->product->statement->outputs[0].positions;
    Index **same = g->reduction->join->same;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        if (term->kind != TERM_READ || term->statement != g->powers->statement->id || term->read.tensor != made_by(g->product))
            continue;
        for (int a = 0; a < term->read.tensor->rank; a++) {
            Index *index = term->read.positions[a].parts[0].index;
            if (made[a].parts[0].index == own || (same[own->id] && same[index->id] == same[own->id]))
                return index;
        }
    }
    return NULL;
}

/* What does not meet a condition of the powers' statement, where a product's step has what is `made` at its `own` positions. */
static Reach reach_of(const Guessing *g, const Term *condition, const Output *made, const Position *own, const Index *along)
{
    Arena *arena = g->planner->arena;
    int rank = made->tensor->rank;
    Reach reach = { .condition = condition, .count = rank, .own = ARENA_ARRAY(arena, Index *, rank), .theirs = ARENA_ARRAY(arena, Index *, rank) };
    for (int a = 0; a < rank; a++) {
        reach.own[a] = own[a].parts[0].index;
        reach.theirs[a] = power_index(g, made->positions[a].parts[0].index);
        if (reach.own[a] == along)
            reach.along = reach.theirs[a];
    }
    return reach;
}

/* Whether a product multiplies what is read tile by tile of rows, and so leaves out some of its points. */
static bool takes_rows(const Guessing *g, const Step *step, const Term *read)
{
    const Contract *c = step->contract;
    bool here = false;
    for (int s = 0; s < g->launch->step_count; s++)
        here |= g->launch->steps[s] == step;
    return here && c && c->tile && c->depth.count == 1 && !c->sweep && c->left == read;
}

/* How many rows a step's tiles will have. */
static int rows_of_tiles(const Guessing *g, const Step *step)
{
    Contract shaped = *step->contract;
    contract_shape(g->planner, step, &shaped);
    return shaped.tile_rows;
}

/* Whether a product's tiles have the same rows as those of the sums, and no form of it takes all points. */
static bool takes_same_rows(const Guessing *g, const Step *step, const Reach *reach)
{
    const Contract *c = step->contract, *sums = g->product->contract;
    const Index *row = power_index(g, sums->rows.list[sums->rows.count - 1]);
    bool same = rows_of_tiles(g, step) == rows_of_tiles(g, g->product) && !c->parts;
    for (int a = 0; a < reach->count; a++)
        same = same && (reach->own[a] == c->rows.list[c->rows.count - 1]) == (reach->theirs[a] == row);
    return same;
}

/* Factors that are zeros for a mask are not multiplied. Back comes whether nobody asks for them. */
static bool leave_out_factors(Guessing *g, const Term *condition, const Output *made)
{
    const Plan *plan = g->planner->plan;
    bool all = true;
    for (int i = 0; i < plan->lowered->term_count; i++) {
        const Term *read = plan->lowered->terms[i];
        Step *reader = read->kind == TERM_READ && read->read.tensor == made->tensor ? plan->steps[read->statement] : NULL;
        if (!reader || is_joined(g, reader))
            continue;
        bool takes = takes_rows(g, reader, read);
        if (takes)
            reader->contract->points_met = reach_of(g, condition, made, read->read.positions, reader->contract->depth.list[0]);
        all = all && takes && takes_same_rows(g, reader, &reader->contract->points_met);
    }
    for (int s = 0; s < g->launch->step_count; s++)
        if (g->launch->steps[s]->contract)
            g->launch->steps[s]->contract->points_met.clears = all;
    return all;
}

/* Tiles of columns that a mask leaves out, in front of the maximum and of the powers, are not made, nor factors multiplied that are
 * zeros for it. */
static void leave_out(Guessing *g, const Step *factors)
{
    const Term *x = g->powers->statement->outputs[0].value->select.no->map.arguments[0]->map.arguments[0];
    if (x->kind != TERM_SELECT || !term_is_number(x->select.no, -INFINITY))
        return;
    const Term *condition = x->select.condition;
    const Output *sums = &g->product->statement->outputs[0];
    Contract *c = g->product->contract;
    Reach reach = reach_of(g, condition, sums, sums->positions, c->columns.list[0]);
    term_each_below(g->planner->arena, condition, find_product, g);
    if (g->asks_product || !planner_reads_plainly(g->planner, condition) || !condition_bounds(condition, &reach.along, 1))
        return;
    reach.splits = true;
    reach.fills = !leave_out_factors(g, condition, &factors->statement->outputs[0]);
    c->columns_met = reach;
}

void plan_guess(Planner *planner, Launch *launch)
{
    for (int from = 0; from + 3 < launch->step_count && !launch->sweep && !launch->guess; from++) {
        Guessing g = { .planner = planner, .launch = launch };
        if (!is_softmax(&g, from))
            continue;
        g.scaling = (Scaling){ .user = &g, .read = read_scale, .maximum = maximum_read, .is_same = goes_together, .sums = true };
        scaling_start(&g.scaling, planner->arena, planner->plan->lowered);
        if (scale_of(&g.scaling, g.powers->statement->outputs[0].value).kind != SCALE_POWER || !leaves_shares(&g))
            continue;
        Guess *guess = ARENA_NEW(planner->arena, Guess);
        *guess = (Guess){ .product = g.product, .largest = g.largest, .reduction = g.reduction, .factors = factors_of(&g), .from = from,
                          .to = from + 3 + g.reduction->join->count, .most = largest_powers(&g) };
        if (guess->most < MOST && guess->factors != g.powers)       /* those begin far below 1 */
            continue;
        launch->guess = guess;
        leave_out(&g, guess->factors);
    }
}
