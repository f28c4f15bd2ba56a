/* What is stored around products of bf16 numbers.
 *
 * Factors that are rounded: of a sum of products bf16(p[q,k]) * V[k,v], whose p is a temporary, what it is rounded to becomes
 * one, too. Each row of it is multiplied as it lies, by all columns, and is made where p is.
 *
 * Sums that are multiplied by a constant: registers of tiles are stored as they are, so that it is left to those who read
 * them. */
#include "lowering.h"

static bool is_cast(const Term *x)
{
    return x->kind == TERM_MAP && x->map.function == FUNCTION_CAST;
}

/* Whether a term reads, element by element, a temporary that some statement stores. What a mask leaves out of one is not
 * multiplied, which is seen in the statement that makes it. */
static bool reads_temporary(const Term *x)
{
    if (x->kind != TERM_READ || !x->read.tensor->maker || x->read.tensor->origin || x->read.tensor->previous)
        return false;
    const Term *value = x->read.tensor->maker->outputs[0].value;
    if (value->kind == TERM_SELECT && value->select.no->rank == 0)
        return false;
    for (int a = 0; a < x->read.tensor->rank; a++)
        if (!x->read.tensor->axes[a] || !position_is_plain(&x->read.positions[a]))
            return false;
    return x->read.tensor->rank > 0;
}

static Term *store_rounded(Lower *l, const Context *c, const Term *cast)
{
    const Term *read = cast->map.arguments[0];
    Tensor *tensor = read->read.tensor;
    const Instance *unused = NULL;
    Context own = lower_open(l, tensor->axes, tensor->rank, &unused);
    Position *positions = ARENA_ARRAY(l->arena, Position, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        positions[a] = lower_plain(l, own.loops[a]);
    Term *value = lower_map(l, &own, FUNCTION_CAST, cast->dtype, lower_read(l, &own, tensor, positions, cast->span), NULL);
    value->map.implicit = cast->map.implicit;
    return lower_read(l, c, lower_store(l, &own, value, cast->span), read->read.positions, cast->span);
}

Term *lower_rounded(Lower *l, const Context *c, Term *x)
{
    if (l->turned || x->kind != TERM_MAP)
        return x;
    if (is_cast(x) && x->dtype == DTYPE_BF16 && x->map.arguments[0]->dtype == DTYPE_F32 && reads_temporary(x->map.arguments[0]))
        return store_rounded(l, c, x);
    if (!(is_cast(x) && x->map.implicit) && x->map.function != FUNCTION_MUL)
        return x;
    Term *arguments[2] = { NULL, NULL };
    bool changed = false;
    for (int i = 0; i < x->map.count; i++) {
        arguments[i] = lower_rounded(l, c, x->map.arguments[i]);
        changed |= arguments[i] != x->map.arguments[i];
    }
    if (!changed)
        return x;
    Term *map = lower_map(l, c, x->map.function, x->dtype, arguments[0], arguments[1]);
    map->map.implicit = x->map.implicit;
    return map;
}

static bool is_constant(const Term *term)
{
    return term->kind == TERM_CONSTANT || (is_cast(term) && is_constant(term->map.arguments[0]));
}

const Term *lower_straight(const Lower *l, const Term *term, const Term **constant)
{
    for (int i = 0; term->kind == TERM_MAP && term->map.function == FUNCTION_MUL && i < 2; i++) {
        const Term *sums = term->map.arguments[i];
        *constant = term->map.arguments[1 - i];
        if (l->kinds[sums->id] & PRODUCT_STRAIGHT && is_constant(*constant) && sums->dtype == term->dtype)
            return sums;
    }
    return NULL;
}
