/* Sums of powers, exp(-0.5 * d) * v say, behind products of few contracted points on a grid. */
#include <math.h>

#include "planning.h"

#define LOG2_OF_E 1.4426950408889634
#define FACTOR_LEAST 1e-6         /* of a square: with more or less of it, numbers that are near enough are small or large themselves */

static bool has_column(const Contract *c, const Term *term)
{
    bool has = term == c->product;
    for (int i = 0; i < c->columns.count; i++)
        has |= term_has_index(term, c->columns.list[i]);
    return has;
}

/* Whether a term is a power times factors that do not depend on columns. */
static bool find_power(Arena *arena, Contract *c, const Term *term)
{
    if (term->kind != TERM_MAP || term->dtype != DTYPE_F32)
        return false;
    if (term->map.function == FUNCTION_EXP)
        c->power = term;
    if (term->map.function == FUNCTION_EXP || term->map.function == FUNCTION_NEG)
        return c->power == term || find_power(arena, c, term->map.arguments[0]);
    for (int i = 0; term->map.function == FUNCTION_MUL && i < 2; i++) {
        const Term *factor = term->map.arguments[1 - i];
        if (has_column(c, factor) || !find_power(arena, c, term->map.arguments[i]))
            continue;
        ARENA_APPEND(arena, c->factors, c->factor_count, factor);
        return true;
    }
    return false;
}

/* Whether it adds up squares of what one side is more than the other. */
static bool adds_squares(const Contract *c)
{
    Component sum[STATE_COMPONENTS_MAX];
    const Term *x = c->product->reduce.argument;
    if (state_components(c->product, sum) != 1 || sum[0].merge != MERGE_ADD || sum[0].lift != LIFT_ELEMENT || x->kind != TERM_MAP ||
        !(x->map.function == FUNCTION_SQUARE || (x->map.function == FUNCTION_POW && term_is_number(x->map.arguments[1], 2))))
        return false;
    const Term *d = x->map.arguments[0];
    if (d->kind != TERM_MAP || d->map.function != FUNCTION_SUB)
        return false;
    const Term *a = d->map.arguments[0], *b = d->map.arguments[1];
    return (a == c->left && b == c->right) || (a == c->right && b == c->left);
}

void block_find_power(Planner *planner, const Step *step, Contract *c)
{
    Component components[STATE_COMPONENTS_MAX];
    const Term *root = step->root_count == 1 ? step->roots[0] : NULL;
    c->power = NULL;
    c->squares = 0;
    c->factors = NULL;
    c->factor_count = 0;
    if (!root || state_components(root, components) != 1 || components[0].merge != MERGE_ADD || components[0].lift != LIFT_ELEMENT ||
        components[0].dtype != DTYPE_F32 || !find_power(planner->arena, c, root->reduce.argument)) {
        c->power = NULL;
        return;
    }
    double factor = 1;
    const Term *of = term_without_factors(c->power->map.arguments[0], &factor);
    factor *= LOG2_OF_E;
    if (planner->plan->target->grid->near && adds_squares(c) && of == c->product && factor <= -FACTOR_LEAST && factor >= -1 / FACTOR_LEAST)
        c->squares = factor;
}
