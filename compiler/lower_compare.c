/* Comparisons of positions as bounds of loops and lanes want them: `@q - @k < 256` is `@q < 256 + @k`, so that no position is taken
 * off another, and `abs(@q - @k) < 256` is two of these. Terms go to the other side only of what is made of positions, extents and
 * numbers of middling size, all of whose sums are numbers. */
#include <stdlib.h>

#include "lowering.h"

enum { TERMS_MOST = 16 };
#define NUMBER_MOST ((int64_t)1 << 56)

/* What two sides that are compared consist of: terms to be added up, all of the program that is read. */
typedef struct Sides {
    const Term *terms[2][TERMS_MOST];
    int count[2];
    bool moves;                   /* a position was taken off */
} Sides;

static const Term *uncast(const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->map.arguments[0]->dtype == DTYPE_I64)
        term = term->map.arguments[0];
    return term;
}

static void find_position(void *user, const Term *term)
{
    bool *found = user;
    *found |= term->kind == TERM_POSITION;
}

/* Adds a term to a side, or takes it off by adding it to the other one; false if it is another kind of term. */
static bool add_side(Sides *sides, const Term *term, int side, bool off)
{
    if (term->dtype != DTYPE_I64)
        return false;
    term = uncast(term);
    Term *const *a = term->kind == TERM_MAP ? term->map.arguments : NULL;
    if (a && (term->map.function == FUNCTION_ADD || term->map.function == FUNCTION_SUB))
        return add_side(sides, a[0], side, off) && add_side(sides, a[1], side, off != (term->map.function == FUNCTION_SUB));
    if (a && term->map.function == FUNCTION_NEG)
        return add_side(sides, a[0], side, !off);
    bool is_number = term->kind == TERM_CONSTANT && term->constant.is_integer && llabs(term->constant.integer) < NUMBER_MOST;
    int to = off ? 1 - side : side;
    if ((!is_number && term->kind != TERM_POSITION && term->kind != TERM_EXTENT) || sides->count[to] == TERMS_MOST)
        return false;
    sides->moves |= off && term->kind == TERM_POSITION;
    if (!is_number || term->constant.integer != 0)
        sides->terms[to][sides->count[to]++] = term;
    return true;
}

static Term *sum_of(Lower *l, Context *c, const Sides *sides, int side, const Term *like, const Instance *instance)
{
    Term *sum = sides->count[side] ? NULL : lower_number(l, c, DTYPE_I64, 0, like->span);
    for (int i = 0; i < sides->count[side]; i++) {
        Term *term = lower_cast(l, c, DTYPE_I64, lower_copy(l, c, sides->terms[side][i], instance));
        sum = sum ? lower_map(l, c, FUNCTION_ADD, DTYPE_I64, sum, term) : term;
    }
    return sum;
}

static Term *compare(Lower *l, Context *c, const Sides *sides, const Term *like, const Instance *instance)
{
    return lower_map(l, c, like->map.function, DTYPE_BOOL, sum_of(l, c, sides, 0, like, instance), sum_of(l, c, sides, 1, like, instance));
}

/* A size with or without its sign. */
static Term *compare_plainly(Lower *l, Context *c, const Term *x, const Term *y, bool off, const Term *like, const Instance *instance)
{
    Term *left = lower_copy(l, c, x, instance), *right = lower_copy(l, c, y, instance);
    left = off ? lower_map(l, c, FUNCTION_NEG, left->dtype, left, NULL) : left;
    bool turned = comparison_within(like) == 1;
    return lower_map(l, c, like->map.function, DTYPE_BOOL, turned ? right : left, turned ? left : right);
}

Term *lower_comparison(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    if (!comparison_is_of_integers(term))
        return NULL;
    int inner = comparison_within(term);
    if (inner < 0) {
        Sides sides = { .moves = false };
        bool all = add_side(&sides, term->map.arguments[0], 0, false) && add_side(&sides, term->map.arguments[1], 1, false);
        return all && sides.moves ? compare(l, c, &sides, term, instance) : NULL;
    }
    /* |x| < y: x < y, and -x < y, of any numbers */
    const Term *x = comparison_side(term, inner), *y = term->map.arguments[1 - inner];
    bool found = false;
    term_each_below(l->arena, x, find_position, &found);
    if (!found)
        return NULL;
    Term *both[2];
    for (int half = 0; half < 2; half++) {
        Sides sides = { .moves = false };
        bool all = add_side(&sides, x, inner, half > 0) && add_side(&sides, y, 1 - inner, false);
        both[half] = all ? compare(l, c, &sides, term, instance) : compare_plainly(l, c, x, y, half > 0, term, instance);
    }
    return lower_map(l, c, FUNCTION_AND, DTYPE_BOOL, both[0], both[1]);
}
