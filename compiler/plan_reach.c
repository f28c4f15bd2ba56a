/* Domains. Of loops: what a step stores is a where, whose condition bounds the loop with the lanes. Of tiled products: the
 * columns that nobody asks for, since what is stored is a where that its readers ask themselves, and the contracted points
 * at which the rows' numbers are zeros, since what made them is a where. */
#include "planning.h"

static void find_dear(void *user, const Term *term)
{
    *(bool *)user |= term->kind == TERM_MAP && function_facts[term->map.function].ulp > 0.5;
}

bool planner_reads_plainly(const Planner *planner, const Term *term)
{
    return term_reads_plainly(planner->arena, term);
}

bool planner_is_bounded(const Planner *planner, const Step *step, Index *vector)
{
    const Output *output = &step->statement->outputs[0];
    const Term *value = output->value;
    if (step->kind != STEP_STORE || step->root_count || step->statement->output_count > 1 || step->statement->accumulate ||
        !indices_have(step->loops, step->loop_count, vector) || value->kind != TERM_SELECT || value->select.no->rank > 0 ||
        !condition_bounds(value->select.condition, &vector, 1))
        return false;
    bool dear = output->partly;
    term_each_below(planner->arena, value->select.yes, find_dear, &dear);
    return dear && planner_reads_plainly(planner, value->select.condition);
}

/* Whether a condition bounds a loop over an index, and can be asked anywhere. */
static bool is_bound(const Planner *planner, const Term *condition, Index *along)
{
    return planner_reads_plainly(planner, condition) && condition_bounds(condition, &along, 1);
}

/* The where that the one reduction behind a product skips, or that its step stores; NULL: none. */
static const Term *asked_where(const Step *step, const Contract *c)
{
    const Output *output = &step->statement->outputs[0];
    const Term *root = step->roots[0], *x = c->reduces ? root->reduce.argument : output->value;
    bool one = c->reduces ? step->root_count == 1 : step->statement->output_count == 1;
    if (!one || x->kind != TERM_SELECT || (c->reduces && !state_skips(root, x->select.no)))
        return NULL;
    return c->reduces || output->partly || (x->select.no->rank == 0 && !c->sums_turned) ? x : NULL;
}

/* The columns whose sums somebody asks for. */
static void find_columns(const Planner *planner, const Step *step, Contract *c)
{
    const Term *where = asked_where(step, c);
    Index *column = c->columns.list[0];
    if (!where || c->columns.count > 1 || !is_bound(planner, where->select.condition, column))
        return;
    bool partly = !c->reduces && step->statement->outputs[0].partly, only = condition_only_bounds(where->select.condition, column);
    if (!c->reduces && !partly && !only)
        return;
    c->columns_met = (Reach){ .condition = where->select.condition, .along = column, .where = partly || !only ? NULL : where,
                              .fills = !c->reduces && !partly };
}

/* Whether the product is the sum of products of its two sides. */
static bool is_sum_of_products(const Contract *c)
{
    const Term *x = c->product->reduce.argument;
    return state_adds_products(c->product) && ((x->map.arguments[0] == c->left && x->map.arguments[1] == c->right) ||
                                               (x->map.arguments[1] == c->left && x->map.arguments[0] == c->right));
}

/* The value that another step stores in a tensor that is read at plain indices; NULL: none does. */
static const Term *stored_value(const Term *read)
{
    const Tensor *tensor = read->kind == TERM_READ ? read->read.tensor : NULL;
    if (!tensor || !tensor->maker || tensor->home != tensor || tensor->maker->accumulate || tensor->maker->output_count > 1)
        return NULL;
    for (int a = 0; a < tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return NULL;
    return tensor->maker->outputs[0].partly ? NULL : tensor->maker->outputs[0].value;
}

/* The contracted points at which a row is not made to be 0, by the product's own where or by that of what it reads. */
static void find_points(const Planner *planner, Contract *c)
{
    bool is_own = c->left->kind == TERM_SELECT;
    const Term *value = is_own ? c->left : stored_value(c->left);
    if (c->depth.count > 1 || c->window || c->group > 1 || dtype_kind(c->packed) != KIND_FLOAT || !value || value->kind != TERM_SELECT ||
        !is_sum_of_products(c) || !state_skips(c->product, value->select.no))
        return;
    Reach reach = { .condition = value->select.condition, .along = is_own ? c->depth.list[0] : NULL };
    if (!is_own) {
        const Tensor *tensor = c->left->read.tensor;
        reach.theirs = tensor->axes;
        reach.count = tensor->rank;
        reach.own = ARENA_ARRAY(planner->arena, Index *, tensor->rank);
    }
    for (int a = 0; a < reach.count; a++) {
        reach.own[a] = c->left->read.positions[a].parts[0].index;
        if (reach.own[a] == c->depth.list[0])
            reach.along = reach.theirs[a];
    }
    if (reach.along && is_bound(planner, reach.condition, reach.along))
        c->points_met = reach;
}

void plan_reach(const Planner *planner, const Step *step, Contract *c)
{
    if (c->tile->dot)
        return;    /* tiles in registers of their own follow each other without gaps */
    find_columns(planner, step, c);
    find_points(planner, c);
}
