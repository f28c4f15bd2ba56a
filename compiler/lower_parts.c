/* Complex numbers as two real ones.
 *
 * What is made of complex numbers by arithmetic is complex(re, im) with real numbers, which have lanes, and a sum of them is two
 * sums. What nothing is known of is read or made whole, and has real(x) and imag(x).
 *
 * The parts of a sum of products, sum[j](a[i,j] * b[j,k]), are real products whose contracted points are numbers' parts, too:
 * the real one sum[p,j](a'[i,j,p] * b'[j,k,p]) with p = 0, 1, a' = re a, im a and b' = re b, -im b; the imaginary one has
 * im b, re b. With a side of real numbers they go without p. */
#include "lowering.h"
#include "state.h"

/* A number's parts; NULL for one that is 0. */
typedef struct Parts {
    Term *part[2];
} Parts;

static bool is_complex(const Term *term)
{
    return dtype_kind(term->dtype) == KIND_COMPLEX;
}

static Parts parts_of(Lower *l, const Context *c, Term *x)
{
    Parts parts;
    for (int p = 0; p < 2; p++) {
        bool apart = x->kind == TERM_MAP && x->map.function == FUNCTION_COMPLEX;
        parts.part[p] = apart ? x->map.arguments[p]
                              : lower_map(l, c, p ? FUNCTION_IMAG : FUNCTION_REAL, dtype_real(x->dtype), x, NULL);
        if (term_is_number(parts.part[p], 0))
            parts.part[p] = NULL;
    }
    return parts;
}

static Term *times(Lower *l, const Context *c, Term *x, Term *y)
{
    return x && y ? lower_map(l, c, FUNCTION_MUL, x->dtype, x, y) : NULL;
}

static Term *negative(Lower *l, const Context *c, Term *x)
{
    if (x && x->kind == TERM_MAP && x->map.function == FUNCTION_NEG)
        return x->map.arguments[0];
    return x ? lower_map(l, c, FUNCTION_NEG, x->dtype, x, NULL) : NULL;
}

static Term *plus(Lower *l, const Context *c, Term *x, Term *y)
{
    return x && y ? lower_map(l, c, FUNCTION_ADD, x->dtype, x, y) : x ? x : y;
}

static Term *minus(Lower *l, const Context *c, Term *x, Term *y)
{
    return x && y ? lower_map(l, c, FUNCTION_SUB, x->dtype, x, y) : x ? x : negative(l, c, y);
}

static Term *divided(Lower *l, const Context *c, Term *x, Term *y)
{
    return x && y ? lower_map(l, c, FUNCTION_DIV, x->dtype, x, y) : NULL;
}

static Term *whole(Lower *l, const Context *c, Dtype dtype, Parts parts, Span span)
{
    Term *part[2];
    for (int p = 0; p < 2; p++)
        part[p] = parts.part[p] ? parts.part[p] : lower_number(l, c, dtype_real(dtype), 0, span);
    return lower_map(l, c, FUNCTION_COMPLEX, dtype, part[0], part[1]);
}

Term *lower_parted_map(Lower *l, const Context *c, const Term *term, Term *const *arguments)
{
    Function function = term->map.function;
    bool takes = is_complex(term->map.arguments[0]);
    if (!takes && !(function == FUNCTION_CAST && is_complex(term)))
        return NULL;
    if (l->facts[term->id].can_miss)    /* what fails is not left out */
        return NULL;
    Parts x = takes ? parts_of(l, c, arguments[0]) : (Parts){ { arguments[0], NULL } }, made = x;
    Parts y = term->map.count > 1 ? parts_of(l, c, arguments[1]) : x;
    switch (function) {
    case FUNCTION_ADD: made = (Parts){ { plus(l, c, x.part[0], y.part[0]), plus(l, c, x.part[1], y.part[1]) } }; break;
    case FUNCTION_SUB: made = (Parts){ { minus(l, c, x.part[0], y.part[0]), minus(l, c, x.part[1], y.part[1]) } }; break;
    case FUNCTION_SQUARE:
    case FUNCTION_MUL:
        made = (Parts){ { minus(l, c, times(l, c, x.part[0], y.part[0]), times(l, c, x.part[1], y.part[1])),
                          plus(l, c, times(l, c, x.part[0], y.part[1]), times(l, c, x.part[1], y.part[0])) } };
        break;
    case FUNCTION_DIV:
        if (y.part[1] || !y.part[0])
            return NULL;
        for (int p = 0; p < 2; p++)
            made.part[p] = divided(l, c, x.part[p], y.part[0]);
        break;
    case FUNCTION_NEG: made = (Parts){ { negative(l, c, x.part[0]), negative(l, c, x.part[1]) } }; break;
    case FUNCTION_CONJ: made.part[1] = negative(l, c, x.part[1]); break;
    case FUNCTION_CAST:
        if (!is_complex(term))
            return NULL;
        for (int p = 0; p < 2; p++)
            made.part[p] = x.part[p] ? lower_cast(l, c, dtype_real(term->dtype), x.part[p]) : NULL;
        break;
    case FUNCTION_REAL:
    case FUNCTION_IMAG: {
        Term *part = x.part[function == FUNCTION_IMAG];
        return part ? part : lower_number(l, c, term->dtype, 0, term->span);
    }
    default: return NULL;
    }
    return whole(l, c, term->dtype, made, term->span);
}

bool lower_sums_parts(const Term *term)
{
    bool sums = term->kind == TERM_CONTRACT || term->reduce.reduction == REDUCTION_SUM || term->reduce.reduction == REDUCTION_MEAN;
    return sums && is_complex(term) && term->reduce.argument->dtype == term->dtype;
}

static Term *like_part(Lower *l, const Term *term)
{
    Term *like = ARENA_NEW(l->arena, Term);
    *like = *term;
    like->dtype = dtype_real(term->dtype);
    like->reduce.declared = DTYPE_NONE;
    return like;
}

Term *lower_parted_sum(Lower *l, const Context *c, const Context *inner, const Term *term, Index **over, Term *argument)
{
    Parts of = parts_of(l, inner, argument), sums = { { NULL, NULL } };
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < term->reduce.over_count && of.part[p]; i++)
            if (!term_has_index(of.part[p], over[i]))
                return NULL;
    for (int p = 0; p < 2; p++)
        if (of.part[p])
            sums.part[p] = lower_reduction(l, c, like_part(l, term), over, term->reduce.over_count, of.part[p]);
    return whole(l, c, term->dtype, sums, term->span);
}

/* ---- products ---- */

static Term *filled(Lower *l, const Context *c, Term *part, const Term *like)
{
    return part ? part : lower_number(l, c, like->dtype, 0, like->span);
}

/* What a side is where `p` is 0, and where it is 1. */
static Term *side(Lower *l, const Context *c, Index *p, Term *first, Term *second, Span span)
{
    const Term *like = first ? first : second;
    Term *at = lower_term(l, c, TERM_POSITION, DTYPE_I64, span), *zero = lower_term(l, c, TERM_CONSTANT, DTYPE_I64, span);
    at->position = p;
    lower_depend_on_index(l, at, p);
    zero->constant.is_integer = true;
    Term *is_first = lower_map(l, c, FUNCTION_EQ, DTYPE_BOOL, at, zero);
    return lower_select(l, c, is_first, filled(l, c, first, like), filled(l, c, second, like));
}

/* The read of an input that has both parts, the second one perhaps negated; or NULL. */
static const Term *read_of(const Parts *x)
{
    const Term *re = x->part[0], *im = x->part[1];
    if (im && im->kind == TERM_MAP && im->map.function == FUNCTION_NEG)
        im = im->map.arguments[0];
    if (!re || !im || re->kind != TERM_MAP || re->map.function != FUNCTION_REAL || im->kind != TERM_MAP ||
        im->map.function != FUNCTION_IMAG)
        return NULL;
    const Term *read = re->map.arguments[0];
    bool plain = read == im->map.arguments[0] && read->kind == TERM_READ && !read->read.tensor->maker;
    for (int a = 0; plain && a < read->read.tensor->rank; a++)
        plain = !position_has_gather(&read->read.positions[a]);
    return plain ? read : NULL;
}

/* The same as parts of its memory, which lie side by side. */
static Term *read_parts(Lower *l, const Context *c, const Term *read, Index *p)
{
    Tensor *parts = lower_parts(l, read->read.tensor);
    Position *positions = ARENA_ARRAY(l->arena, Position, parts->rank);
    for (int a = 0; a < parts->rank; a++)
        positions[a] = a < read->read.tensor->rank ? read->read.positions[a] : lower_plain(l, p);
    Term *made = lower_read(l, c, parts, positions, read->span);
    made->origin = read->origin;
    return made;
}

/* The element of the sum that is a product's part. Numbers of the side that lacks `last`, of the rows, are read as they lie. */
static Term *element(Lower *l, const Context *c, const Parts *sides, int part, Index *p, const Index *last, Span span)
{
    for (int s = 0; s < 2; s++)
        if (!sides[s].part[1] && sides[1 - s].part[part])
            return times(l, c, sides[s].part[0], sides[1 - s].part[part]);
    int rows = read_of(&sides[1]) && !term_has_index(sides[1].part[0], last);
    const Parts *x = &sides[rows], *y = &sides[1 - rows];
    const Term *read = term_has_index(filled(l, c, x->part[0], x->part[1]), last) ? NULL : read_of(x);
    bool negated = read && x->part[1]->map.function == FUNCTION_NEG;
    Term *crossed = y->part[1 - part];
    crossed = negated == (part == 0) ? crossed : negative(l, c, crossed);
    Term *left = read ? read_parts(l, c, read, p) : side(l, c, p, x->part[0], x->part[1], span);
    return lower_map(l, c, FUNCTION_MUL, left->dtype, left, side(l, c, p, y->part[part], crossed, span));
}

static Tensor *store_part(Lower *l, const Term *term, int part, const Instance *outside)
{
    const Instance *unused = NULL;
    Context own = lower_open(l, lower_images(l, term, outside), term->rank, &unused);
    const Instance *instance = lower_link_all(l, term, &own);
    Index **over = ARENA_ARRAY(l->arena, Index *, term->reduce.over_count + 1);
    int count = term->reduce.over_count;
    own.root = term;
    over[0] = lower_index(l, own.statement, (l->in->origin ? l->in->origin : l->in)->part);
    for (int i = 0; i < count; i++) {
        over[1 + i] = lower_index(l, own.statement, term->reduce.over[i]);
        instance = lower_link(l, instance, term->reduce.over[i], over[1 + i]);
    }
    Context inner = lower_widen(l, &own, over, count + 1);
    Parts of[2];
    for (int s = 0; s < 2; s++)
        of[s] = parts_of(l, &inner, lower_copy_again(l, &inner, term->reduce.argument->map.arguments[s], instance));
    Term *of_part = element(l, &inner, of, part, over[0], own.loops[term->rank - 1], term->span);
    bool has_parts = term_has_index(of_part, over[0]);
    Term *sum = lower_reduction(l, &own, like_part(l, term), has_parts ? over : over + 1, count + has_parts, of_part);
    return lower_store(l, &own, sum, term->span);
}

Term *lower_parted_product(Lower *l, Context *c, const Term *term, const Instance *instance)
{
    Parts parts;
    for (int p = 0; p < 2; p++) {
        Tensor **stored = &l->parts[p][term->id];
        if (!*stored)
            *stored = store_part(l, term, p, instance);
        parts.part[p] = lower_read_temporary(l, c, *stored, term->indices, instance, term->span);
    }
    return whole(l, c, term->dtype, parts, term->span);
}
