/* Dtypes: what a function or a reduction makes of its arguments'. Casts that promotion asks for become terms of their
 * own, marked implicit, so that later passes find every argument in the dtype that the operation works in. */
#include <math.h>
#include <string.h>

#include "check.h"

static Dtype weak_dtype(Weak weak)
{
    return weak == WEAK_INT ? DTYPE_I64 : weak == WEAK_FLOAT ? DTYPE_F64 : DTYPE_C128;
}

/* What a weak number becomes beside an array of this dtype: numpy's rule for Python's numbers. */
static Dtype meet_weak(Dtype strong, Weak weak)
{
    Kind kind = dtype_kind(strong);
    if (weak == WEAK_INT)
        return kind == KIND_BOOL ? DTYPE_I64 : strong;
    if (weak == WEAK_FLOAT)
        return kind < KIND_FLOAT ? DTYPE_F64 : strong;
    return kind < KIND_FLOAT ? DTYPE_C128 : dtype_complex(strong);
}

/* The common dtype of some terms. `*weak` is WEAK_NO unless all of them are weak. */
static Dtype common(Term *const *terms, int count, Weak *weak)
{
    Dtype strong = DTYPE_NONE;
    *weak = WEAK_NO;
    for (int i = 0; i < count; i++) {
        if (terms[i]->weak > *weak)
            *weak = terms[i]->weak;
        if (!terms[i]->weak)
            strong = strong == DTYPE_NONE ? terms[i]->dtype : dtype_promote(strong, terms[i]->dtype);
    }
    if (strong == DTYPE_NONE)
        return weak_dtype(*weak);
    if (*weak)
        strong = meet_weak(strong, *weak);
    *weak = WEAK_NO;
    return strong;
}

/* An integer that was written out, with its sign. */
static bool is_integer_constant(const Term *term, int64_t *value)
{
    bool negative = term->kind == TERM_MAP && term->map.function == FUNCTION_NEG;
    const Term *number = negative ? term->map.arguments[0] : term;
    if (number->kind != TERM_CONSTANT || !number->constant.is_integer)
        return false;
    *value = negative ? -number->constant.integer : number->constant.integer;
    return true;
}

static bool integer_fits(int64_t value, Dtype dtype)
{
    int bits = (int)(8 * dtype_size(dtype));
    return bits == 64 || (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1));
}

/* Whether an integer that was written out fits; what is computed from positions is not looked at. */
static bool constant_fits(Check *check, const Term *term, Dtype dtype)
{
    int64_t value;
    if (dtype_kind(dtype) != KIND_INT || !is_integer_constant(term, &value) || integer_fits(value, dtype))
        return true;
    diag_error(check->diags, term->span, "%lld does not fit into %s", (long long)value, dtype_name(dtype));
    diag_hint(check->diags, "cast the other side first, as in 'i64(...)'");
    return false;
}

Term *check_cast(Check *check, Term *term, Dtype dtype, bool implicit)
{
    if (!term || (term->dtype == dtype && !term->weak))
        return term;
    if (dtype_kind(term->dtype) == KIND_COMPLEX && dtype_kind(dtype) < KIND_COMPLEX && dtype != DTYPE_BOOL) {
        diag_error(check->diags, term->span, "a complex number does not become %s", dtype_name(dtype));
        diag_hint(check->diags, "take 'real(...)', 'imag(...)' or 'abs(...)' of it");
        return NULL;
    }
    if (term->weak && implicit && !constant_fits(check, term, dtype))
        return NULL;
    Term *cast = check_new_term(check, TERM_MAP, term->span);
    cast->dtype = dtype;
    cast->map.function = FUNCTION_CAST;
    cast->map.implicit = implicit;
    cast->map.arguments = ARENA_NEW(check->arena, Term *);
    cast->map.arguments[0] = term;
    cast->map.count = 1;
    cast->indices = term->indices;
    cast->rank = term->rank;
    return cast;
}

/* ---- functions ---- */

/* What the arguments are cast to (DTYPE_NONE: nothing) and what the result is. */
typedef struct Typing {
    Dtype argument, result;
    Weak argument_weak, weak;     /* not WEAK_NO while all of the arguments are, and the result is */
} Typing;

static const char *function_words(Check *check, Function function)
{
    return arena_format(check->arena, "'%s'", function == FUNCTION_NEG ? "-" : function_facts[function].name);
}

static bool refuse(Check *check, Span span, Function function, Dtype dtype, const char *hint)
{
    diag_error(check->diags, span, "%s does not take %s", function_words(check, function), dtype_name(dtype));
    if (hint)
        diag_hint(check->diags, "%s", hint);
    return false;
}

static bool type_arithmetic(Check *check, Span span, Function function, Typing *t)
{
    bool logical = function == FUNCTION_ADD || function == FUNCTION_MUL;
    if (t->argument == DTYPE_BOOL && !logical)
        return refuse(check, span, function, DTYPE_BOOL, function == FUNCTION_NEG || function == FUNCTION_SUB
                                                             ? "the logical not is '!'" : "cast it: 'i32(...)'");
    t->argument = t->result = t->weak ? t->argument : dtype_widen(t->argument);
    return true;
}

static bool type_power(Check *check, Span span, Term *const *arguments, Typing *t)
{
    Kind kind = dtype_kind(t->argument);
    int64_t exponent;
    if (kind == KIND_BOOL)
        return refuse(check, span, FUNCTION_POW, DTYPE_BOOL, "cast it: 'i32(...)'");
    if (kind == KIND_INT && is_integer_constant(arguments[1], &exponent) && exponent < 0) {
        diag_error(check->diags, arguments[1]->span, "an integer has no negative integer power");
        diag_hint(check->diags, "cast the base first, as in 'f64(...)'");
        return false;
    }
    t->argument = t->result = t->weak ? t->argument : dtype_widen(t->argument);
    return true;
}

static void type_float(Typing *t)
{
    if (t->weak == WEAK_INT)
        t->weak = WEAK_FLOAT;
    t->argument = t->result = t->weak ? weak_dtype(t->weak) : dtype_float(t->argument);
}

static void type_part(Function function, Typing *t)
{
    if (t->weak == WEAK_COMPLEX)
        t->weak = WEAK_FLOAT;
    if (function == FUNCTION_ABS)
        t->argument = t->weak ? t->argument : dtype_widen(t->argument);
    t->result = dtype_real(t->argument);
}

/* Fills in what `function` makes of arguments whose common dtype is t->argument. False after a diagnostic. */
static bool type_function(Check *check, Span span, Function function, Term *const *arguments, Typing *t)
{
    switch (function_facts[function].rule) {
    case RULE_ARITHMETIC:
    case RULE_ORDERED: return type_arithmetic(check, span, function, t);
    case RULE_FLOAT: type_float(t); return true;
    case RULE_POWER: return type_power(check, span, arguments, t);
    case RULE_ROUND:
        if (dtype_kind(t->argument) == KIND_FLOAT && !t->weak)
            t->argument = dtype_widen(t->argument);
        t->result = t->argument;
        return true;
    case RULE_CHOOSE:
    case RULE_WHERE:
    case RULE_CONJUGATE: t->result = t->argument; return true;
    case RULE_COMPARE:
    case RULE_EQUAL:
        t->argument = dtype_widen(t->argument);
        t->result = DTYPE_BOOL;
        t->weak = WEAK_NO;
        return true;
    case RULE_LOGIC:
        t->argument = t->result = DTYPE_BOOL;
        t->weak = WEAK_NO;
        return true;
    case RULE_TEST:
        t->argument = dtype_widen(t->argument);
        t->result = DTYPE_BOOL;
        t->weak = WEAK_NO;
        return true;
    case RULE_PART:
        if (t->argument == DTYPE_BOOL)
            return refuse(check, span, function, DTYPE_BOOL, "cast it: 'i32(...)'");
        type_part(function, t);
        return true;
    case RULE_COMPLEX:
        type_float(t);
        t->result = dtype_complex(t->argument);
        t->weak = t->weak ? WEAK_COMPLEX : WEAK_NO;
        return true;
    case RULE_CAST: break;
    }
    return false;
}

/* Numbers next to a narrower integer are compared exactly: in i64 when they do not fit. */
static Dtype compared_in(Term *const *arguments, int count, Dtype dtype)
{
    int64_t value;
    for (int i = 0; i < count; i++)
        if (dtype_kind(dtype) == KIND_INT && arguments[i]->weak == WEAK_INT &&
            !(is_integer_constant(arguments[i], &value) && integer_fits(value, dtype)))
            return DTYPE_I64;
    return dtype;
}

static void join_indices(Check *check, Term *term, Term *const *arguments, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < arguments[i]->rank; k++)
            check_add_index(check, term, arguments[i]->indices[k]);
}

/* An argument in the dtype that the function works in; weak numbers stay weak among themselves. */
static Term *cast_argument(Check *check, Term *argument, Dtype dtype, Weak weak)
{
    if (argument->dtype == dtype && (!argument->weak || weak))
        return argument;
    argument = check_cast(check, argument, dtype, true);
    if (argument)
        argument->weak = weak;
    return argument;
}

static Term *make_select(Check *check, Span span, Term **arguments)
{
    Weak weak;
    Dtype dtype = common(arguments + 1, 2, &weak);
    Term *condition = check_cast(check, arguments[0], DTYPE_BOOL, true);
    Term *yes = cast_argument(check, arguments[1], dtype, weak), *no = cast_argument(check, arguments[2], dtype, weak);
    if (!condition || !yes || !no)
        return NULL;
    Term *term = check_new_term(check, TERM_SELECT, span);
    term->select.condition = condition;
    term->select.yes = yes;
    term->select.no = no;
    term->dtype = dtype;
    term->weak = weak;
    join_indices(check, term, (Term *[]){ condition, yes, no }, 3);
    return term;
}

Term *check_map(Check *check, Span span, Function function, Dtype cast, Term **arguments, int count)
{
    for (int i = 0; i < count; i++)
        if (!arguments[i])
            return NULL;
    if (function == FUNCTION_CAST)
        return check_cast(check, arguments[0], cast, false);
    if (function == FUNCTION_WHERE)
        return make_select(check, span, arguments);
    Typing t;
    t.argument = common(arguments, count, &t.weak);
    t.argument_weak = t.weak;
    if (dtype_kind(t.argument) == KIND_COMPLEX && !function_facts[function].complex) {
        refuse(check, span, function, t.argument,
               function_facts[function].rule == RULE_COMPARE || function_facts[function].rule == RULE_CHOOSE
                   ? "complex numbers have no order; compare 'abs(...)' or 'real(...)'" : NULL);
        return NULL;
    }
    if (!type_function(check, span, function, arguments, &t))
        return NULL;
    if (function_facts[function].rule == RULE_COMPARE || function_facts[function].rule == RULE_EQUAL)
        t.argument = compared_in(arguments, count, t.argument);
    Term **cast_arguments = ARENA_ARRAY(check->arena, Term *, count);
    for (int i = 0; i < count; i++) {
        cast_arguments[i] = cast_argument(check, arguments[i], t.argument, t.argument_weak);
        if (!cast_arguments[i])
            return NULL;
    }
    Term *term = check_new_term(check, TERM_MAP, span);
    term->map.function = function;
    term->map.arguments = cast_arguments;
    term->map.count = count;
    term->dtype = t.result;
    term->weak = t.weak;
    join_indices(check, term, cast_arguments, count);
    return term;
}

/* ---- products and contractions ---- */

/* The dtype that a sum of products is made in, when `declared` stands behind the arrow or the name: the declared one,
 * widened, unless that would lose a kind (a float sum declared i32 is made in floats and cast). */
static Dtype accumulator(Dtype natural, Dtype declared)
{
    if (declared == DTYPE_NONE || dtype_kind(declared) < dtype_kind(natural))
        return natural;
    return dtype_widen(declared);
}

/* As in numpy.einsum, all factors are promoted together: i8, i8 and f32 are multiplied in f32. */
Term *check_product(Check *check, Term **factors, int count, Dtype declared)
{
    Weak weak;
    Dtype natural = common(factors, count, &weak);
    if (count > 1 && !weak)
        natural = dtype_widen(natural);
    Dtype dtype = accumulator(natural, declared);
    if (!weak || dtype != natural)
        for (int i = 0; i < count; i++) {
            factors[i] = check_cast(check, factors[i], dtype, true);
            if (!factors[i])
                return NULL;
        }
    /* a, b, c is (a * b) * c, deep as the number of factors: no deeper than an expression may be. */
    if (count >= AST_DEPTH_MAX) {
        diag_error(check->diags, span_join(factors[0]->span, factors[count - 1]->span),
                   "a product has at most %d factors",
                   AST_DEPTH_MAX - 1);
        return NULL;
    }
    Term *product = factors[0];
    for (int i = 1; i < count && product; i++) {
        Term *pair[] = { product, factors[i] };
        product = check_map(check, span_join(product->span, factors[i]->span), FUNCTION_MUL, DTYPE_NONE, pair, 2);
        if (product)
            product->map.comma = true;
    }
    return product;
}

static bool same_order(Index *const *a, int a_count, Index *const *b, int b_count)
{
    return a_count == b_count && (a_count == 0 || !memcmp(a, b, (size_t)a_count * sizeof *a));
}

Term *check_contract(Check *check, Span span, Term *argument, Index **kept, int count, Dtype declared)
{
    if (!argument || (declared == DTYPE_NONE && same_order(argument->indices, argument->rank, kept, count)))
        return argument;
    Index **over = NULL;
    int over_count = 0;
    for (int i = 0; i < argument->rank; i++)
        if (!indices_have(kept, count, argument->indices[i]))
            ARENA_APPEND(check->arena, over, over_count, argument->indices[i]);
    Dtype natural = over_count ? dtype_widen(argument->dtype) : argument->dtype;
    Dtype dtype = accumulator(natural, declared);
    argument = check_cast(check, argument, dtype, true);
    if (!argument)
        return NULL;
    Term *term = check_new_term(check, TERM_CONTRACT, span_join(argument->span, span));
    term->reduce.reduction = dtype == DTYPE_BOOL ? REDUCTION_ANY : REDUCTION_SUM;
    term->reduce.over = over;
    term->reduce.over_count = over_count;
    term->reduce.argument = argument;
    term->reduce.declared = declared;
    term->dtype = dtype;
    term->indices = kept;
    term->rank = count;
    return declared == DTYPE_NONE ? term : check_cast(check, term, declared, true);
}

/* ---- reductions ---- */

static Dtype sum_dtype(Dtype dtype)
{
    return dtype == DTYPE_BOOL || dtype == DTYPE_I32 ? DTYPE_I64 : dtype_widen(dtype);
}

/* What the argument is cast to and what the reduction gives. */
static void type_reduction(Reduction reduction, Dtype dtype, Dtype *argument, Dtype *result)
{
    bool whole = dtype_kind(dtype) < KIND_FLOAT;
    switch (reduction_facts[reduction].gives) {
    case GIVES_SUM: *argument = *result = sum_dtype(dtype); break;
    case GIVES_MEAN: *argument = *result = whole ? DTYPE_F64 : dtype_widen(dtype); break;
    case GIVES_FLOAT: *argument = *result = dtype_float(dtype); break;
    case GIVES_NORM:
        *argument = whole ? DTYPE_F64 : dtype_widen(dtype);
        *result = dtype_real(*argument);
        break;
    case GIVES_SAME: *argument = *result = dtype; break;
    case GIVES_BOOL: *argument = *result = DTYPE_BOOL; break;
    case GIVES_POSITION:
        *argument = dtype;
        *result = DTYPE_I64;
        break;
    }
}

/* The parameter, or the reduction's own when there may be one and is none. False after a diagnostic. */
static bool check_parameter(Check *check, const AstStage *stage, Term *term)
{
    const ReductionFacts *facts = &reduction_facts[stage->reduction];
    const AstParameter *p = stage->parameters;
    term->reduce.has_parameter = p != NULL;
    term->reduce.parameter = p ? p->value : stage->reduction == REDUCTION_NORM ? 2 : 0;
    if (p ? facts->parameters == NO_PARAMETER || p->next : facts->parameters == NEEDS_PARAMETER) {
        diag_error(check->diags, stage->name->span, "'%s' takes %s", facts->name,
                   facts->parameters == NO_PARAMETER ? "no parameter"
                   : p ? "one parameter" : "a number of places, as in 'topk(10) n'");
        if (facts->parameters == NO_PARAMETER)
            diag_hint(check->diags, "indices go by name: '%s j'", facts->name);
        return false;
    }
    if (p && facts->leaves == LEAVES_RANKS && (!p->is_integer || p->value < 1 || p->value > INT32_MAX)) {
        diag_error(check->diags, p->span, "'%s' takes an integer from 1 to %d", facts->name, INT32_MAX);
        diag_hint(check->diags, "it says how many places stay: '%s(10) n'", facts->name);
        return false;
    }
    if (p && facts->state == STATE_MOMENTS && !(fabs(p->value) <= INT32_MAX)) {
        diag_error(check->diags, p->span, "'%s' takes the degrees of freedom to subtract, as in '%s(1)'", facts->name,
                   facts->name);
        return false;
    }
    return true;
}

Term *check_reduce(Check *check, const AstStage *stage, Term *argument, Index **over, int count)
{
    const ReductionFacts *facts = &reduction_facts[stage->reduction];
    Term *term = ARENA_NEW(check->arena, Term);
    if (!check_parameter(check, stage, term))
        return NULL;
    if (facts->ordered && dtype_kind(argument->dtype) == KIND_COMPLEX) {
        diag_error(check->diags, stage->name->span, "'%s' does not take %s", facts->name, dtype_name(argument->dtype));
        diag_hint(check->diags, "complex numbers have no order; reduce 'abs(_)' or 'real(_)'");
        return NULL;
    }
    if (facts->leaves == LEAVES_RANKS && count != 1) {
        diag_error(check->diags, stage->indices.span, "'%s' ranks along one index, not %d", facts->name, count);
        return NULL;
    }
    Dtype wanted = DTYPE_NONE, result = DTYPE_NONE;
    type_reduction(stage->reduction, argument->dtype, &wanted, &result);
    argument = check_cast(check, argument, wanted, true);
    if (!argument)
        return NULL;
    double parameter = term->reduce.parameter;
    bool has_parameter = term->reduce.has_parameter;
    term = check_new_term(check, TERM_REDUCE, stage->span);
    term->dtype = result;
    term->reduce.reduction = stage->reduction;
    term->reduce.parameter = parameter;
    term->reduce.has_parameter = has_parameter;
    term->reduce.over = over;
    term->reduce.over_count = count;
    term->reduce.argument = argument;
    if (facts->leaves == LEAVES_RANKS) {
        term->reduce.ranks = check_new_index(check, over[0]->name, stage->indices.span);
        term->reduce.ranks->rule = EXTENT_RANKS;
        term->reduce.ranks->ranks = (int64_t)parameter;
    }
    for (int i = 0; i < argument->rank; i++) {
        Index *index = argument->indices[i];
        bool reduced = indices_have(over, count, index);
        if (!reduced || facts->leaves == LEAVES_ALL)
            check_add_index(check, term, index);
        else if (facts->leaves == LEAVES_RANKS)
            check_add_index(check, term, term->reduce.ranks);
    }
    return term;
}

/* The value as the target's dtype: a sum is made in it where that is no narrower, anything else is cast. */
Term *check_accumulate(Check *check, Term *value, Dtype declared)
{
    bool sums = value->kind == TERM_REDUCE && !value->weak &&
                (reduction_facts[value->reduce.reduction].gives == GIVES_SUM ||
                 reduction_facts[value->reduce.reduction].gives == GIVES_MEAN);
    Dtype dtype = accumulator(value->dtype, declared);
    if (sums && dtype != value->dtype) {
        Term *argument = check_cast(check, value->reduce.argument, dtype, true);
        if (!argument)
            return NULL;
        Term *sum = check_new_term(check, TERM_REDUCE, value->span);
        int id = sum->id;
        *sum = *value;
        sum->id = id;
        sum->dtype = dtype;
        sum->reduce.argument = argument;
        value = sum;
    }
    return check_cast(check, value, declared, true);
}
