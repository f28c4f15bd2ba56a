/* Chains: expressions become terms, arrows contractions, stages what follows from the value so far. Each goes on after
 * a mistake with what it has. */
#include <string.h>

#include "check.h"

/* ---- expressions ---- */

static Term *build(Check *check, const AstExpr *expr, bool top);

static Term *build_number(Check *check, const AstExpr *expr)
{
    Term *term = check_new_term(check, TERM_CONSTANT, expr->span);
    term->constant.value = expr->number.value;
    term->constant.integer = expr->number.integer;
    term->constant.is_integer = expr->number.is_integer;
    term->weak = expr->number.is_integer ? WEAK_INT : WEAK_FLOAT;
    term->dtype = expr->number.is_integer ? DTYPE_I64 : DTYPE_F64;
    return term;
}

static Term *build_constant(Check *check, const AstExpr *expr)
{
    Term *term = check_new_term(check, TERM_CONSTANT, expr->span);
    const char *word = expr->letters.words->text;
    term->constant.value = !strcmp(word, "inf") ? (double)(1.0 / 0.0)
                           : !strcmp(word, "pi") ? 3.14159265358979323846
                                                 : (double)(0.0 / 0.0);
    term->weak = WEAK_FLOAT;
    term->dtype = DTYPE_F64;
    return term;
}

static Term *build_position(Check *check, const AstExpr *expr)
{
    Index *index = check_position_word(check, expr->position);
    if (!index)
        return NULL;
    Term *term = check_new_term(check, TERM_POSITION, expr->span);
    term->position = index;
    term->weak = WEAK_INT;
    term->dtype = DTYPE_I64;
    check_add_index(check, term, index);
    return term;
}

static bool are_letters(const AstExpr *expr)
{
    for (; expr; expr = expr->next)
        if (expr->kind != AST_LETTERS)
            return false;
    return true;
}

static bool unknown_function(Check *check, const AstExpr *expr)
{
    const AstWord *name = expr->call.name;
    if (expr->call.function != FUNCTION_NONE)
        return false;
    if (reduction_find(name->text, strlen(name->text)) != REDUCTION_NONE) {
        diag_error(check->diags, name->span, "'%s' is a reduction, not a function", name->text);
        diag_hint(check->diags, "a reduction is a stage of its own: '... | %s %s'", name->text,
                  reduction_facts[reduction_find(name->text, strlen(name->text))].parameters == NEEDS_PARAMETER
                      ? "(3) j" : "j");
        return true;
    }
    const char *near = ops_nearest_function(name->text, strlen(name->text));
    diag_error(check->diags, name->span, "there is no function '%s'", name->text);
    if (near && !check_name(check, name->text))
        diag_hint(check->diags, "did you mean '%s'?", near);
    else if (check_name(check, name->text) || are_letters(expr->call.arguments))
        diag_hint(check->diags, "an operand has brackets: '%s[i,j]'", name->text);
    return true;
}

static Term *build_call(Check *check, const AstExpr *expr)
{
    enum { MOST = 3 };
    Term *arguments[MOST] = { NULL };
    Function function = expr->call.function;
    bool failed = unknown_function(check, expr);
    int count = 0;
    for (const AstExpr *a = expr->call.arguments; a; a = a->next, count++) {
        bool branch = function == FUNCTION_WHERE && count > 0;
        check->where_depth += branch;
        Term *argument = build(check, a, false);
        check->where_depth -= branch;
        failed |= !argument;
        if (count < MOST)
            arguments[count] = argument;
    }
    if (function != FUNCTION_NONE && count != function_facts[function].arity) {
        const char *name = expr->call.name->text;
        int arity = function_facts[function].arity;
        diag_error(check->diags, expr->span, "'%s' takes %d argument%s, not %d", name, arity,
                   arity == 1 ? "" : "s", count);
        if (count == 1 && reduction_find(name, strlen(name)) != REDUCTION_NONE)
            diag_hint(check->diags, "to reduce over an index write '... | %s j'", name);
        return NULL;
    }
    return failed ? NULL : check_map(check, expr->span, function, expr->call.cast, arguments, count);
}

/* `top`: a factor between top-level commas, where a word alone is an operand. */
static Term *build(Check *check, const AstExpr *expr, bool top)
{
    switch (expr->kind) {
    case AST_NUMBER: return build_number(check, expr);
    case AST_POSITION: return build_position(check, expr);
    case AST_CALL: return build_call(check, expr);
    case AST_EMPTY: return check_letters(check, expr);
    case AST_LETTERS: return check_is_constant(expr, top) ? build_constant(check, expr) : check_letters(check, expr);
    case AST_TENSOR: return check_tensor(check, expr);
    case AST_VALUE:
    case AST_IMPLICIT: break;
    }
    if (!check->value) {
        diag_error(check->diags, expr->span, "there is no value yet for '_' to stand for");
        diag_hint(check->diags, "'_' is the value so far, in a stage behind '|'");
    }
    return check->value;
}

static Term *build_factors(Check *check, const AstExpr *factors, Dtype declared)
{
    Term **terms = NULL;
    int count = 0;
    bool failed = false;
    for (const AstExpr *f = factors; f; f = f->next) {
        Term *term = build(check, f, true);
        failed |= !term;
        ARENA_APPEND(check->arena, terms, count, term);
    }
    return failed ? NULL : check_product(check, terms, count, declared);
}

/* ---- chains ---- */

/* numpy's rule without "->": the indices of "..." first, then the labels that occur once, sorted. */
static void implicit_output(Check *check, const Term *product, const AstExpr *factors, Index ***kept, int *count)
{
    for (int i = 0; i < check->dot_count; i++)
        if (term_has_index(product, check->dots[i]))
            ARENA_APPEND(check->arena, *kept, *count, check->dots[i]);
    int first = *count;
    for (int i = 0; i < product->rank; i++) {
        Index *index = product->indices[i];
        int times = 0;
        for (const AstExpr *f = factors; f; f = f->next) {
            Index **letters = NULL;
            int letter_count = 0;
            check_indices(check, f->kind == AST_LETTERS ? f->letters.words : NULL, &letters, &letter_count);
            for (int k = 0; k < letter_count; k++)
                times += letters[k] == index;
        }
        if (times != 1 || indices_have(check->dots, check->dot_count, index))
            continue;
        ARENA_APPEND(check->arena, *kept, *count, index);
        for (int k = *count - 1; k > first && strcmp((*kept)[k - 1]->name, (*kept)[k]->name) > 0; k--) {
            Index *swap = (*kept)[k];
            (*kept)[k] = (*kept)[k - 1];
            (*kept)[k - 1] = swap;
        }
    }
}

static bool is_subscript_string(const AstExpr *factors)
{
    for (const AstExpr *f = factors; f; f = f->next)
        if (f->parenthesised || (f->kind != AST_LETTERS && f->kind != AST_EMPTY))
            return false;
    return true;
}

const char *check_index_list(Check *check, Index *const *indices, int count)
{
    Text text = text_new(check->arena);
    int first = 1;
    for (int i = 0; i < count; i++) {
        text_separate(&text, &first, ", ");
        text_put(&text, indices[i]->name);
    }
    return text.bytes;
}

/* The word that first names an index: of several letters where they were meant as one name. */
static const char *word_around(const AstWord *words, const Index *index)
{
    for (const AstWord *w = words; w; w = w->next)
        if (w->span.begin <= index->span.begin && index->span.end <= w->span.end)
            return w->text;
    return index->name;
}

static void hint_index(Check *check, const Term *term, const char *name)
{
    const char **names = ARENA_ARRAY(check->arena, const char *, term->rank);
    size_t count = 0;
    for (int i = 0; i < term->rank; i++)
        if (term->indices[i]->name[1])
            names[count++] = term->indices[i]->name;
    const char *near = diag_nearest(name, strlen(name), names, count);
    if (near)
        diag_hint(check->diags, "did you mean '%s'?", near);
    else
        diag_hint(check->diags, term->rank ? "its indices are %s" : "it is a scalar%s",
                  check_index_list(check, term->indices, term->rank));
}

/* Whether each of `indices` is one of the term's, once. `target`: they are an arrow's. */
static bool require_indices(Check *check, const Term *term, const AstWord *words, Index *const *indices, int count, bool target)
{
    Span at = words ? words->span : term->span;
    for (const AstWord *w = words; w; w = w->next)
        at = span_join(at, w->span);
    for (int i = 0; i < count; i++) {
        if (indices_have(indices, i, indices[i])) {
            diag_error(check->diags, at, "index '%s' is listed twice", indices[i]->name);
            if (target)
                diag_hint(check->diags, "a diagonal is written into with '+=': 'y[%s,%s] += ...'", indices[i]->name,
                          indices[i]->name);
            return false;
        }
        if (!term_has_index(term, indices[i])) {
            bool named_here = indices[i]->span.begin >= at.begin && indices[i]->span.end <= at.end;
            diag_error(check->diags, named_here ? indices[i]->span : at, "the value has no index '%s'",
                       indices[i]->name);
            hint_index(check, term, word_around(words, indices[i]));
            return false;
        }
    }
    return true;
}

static Term *apply_arrow(Check *check, Term *value, const AstArrow *arrow, Dtype declared)
{
    Index **kept = NULL;
    int count = 0;
    if (!check_indices(check, arrow->indices.items, &kept, &count) ||
        !require_indices(check, value, arrow->indices.items, kept, count, true))
        return NULL;
    return check_contract(check, arrow->span, value, kept, count, declared);
}

/* The indices of a target's positions, gathers included, that the value has. */
void check_target_indices(Check *check, const Position *positions, int rank, const Term *value, Index ***kept,
                          int *count)
{
    for (int a = 0; a < rank; a++)
        for (int k = 0; k < positions[a].count; k++) {
            const PositionPart *part = &positions[a].parts[k];
            Index *const *indices = part->gather ? part->gather->indices : &part->index;
            for (int i = 0, n = part->gather ? part->gather->rank : 1; i < n; i++)
                if (term_has_index(value, indices[i]) && !indices_have(*kept, *count, indices[i]))
                    ARENA_APPEND(check->arena, *kept, *count, indices[i]);
        }
}

Term *check_head(Check *check, const AstChain *chain, const AstTarget *target, const Position *positions,
                 int rank)
{
    Dtype declared = chain->arrow ? chain->arrow->dtype.dtype : DTYPE_NONE;
    if (declared == DTYPE_NONE && !chain->stages)
        declared = check->statement->declared;
    Term *product = build_factors(check, chain->factors, declared);
    if (!product)
        return NULL;
    if (chain->arrow)
        return apply_arrow(check, product, chain->arrow, declared);
    Index **kept = NULL;
    int count = 0;
    if (target && target->brackets && !chain->stages)
        check_target_indices(check, positions, rank, product, &kept, &count);
    else if (is_subscript_string(chain->factors))
        implicit_output(check, product, chain->factors, &kept, &count);
    else
        kept = product->indices, count = product->rank;
    return check_contract(check, product->span, product, kept, count, declared);
}

/* The index lists of all reductions that `&` joins are read before any of them makes an index of ranks. */
int check_reductions(Check *check, const AstStage *first, Term **terms)
{
    int count = 0;
    for (const AstStage *stage = first; stage; stage = stage->also)
        count++;
    Index ***over = ARENA_ARRAY(check->arena, Index **, count);
    int *over_count = ARENA_ARRAY(check->arena, int, count);
    bool *good = ARENA_ARRAY(check->arena, bool, count);
    int i = 0;
    for (const AstStage *stage = first; stage; stage = stage->also, i++)
        good[i] = check_indices(check, stage->indices.items, &over[i], &over_count[i]) &&
                  require_indices(check, check->value, stage->indices.items, over[i], over_count[i], false);
    i = 0;
    for (const AstStage *stage = first; stage; stage = stage->also, i++)
        terms[i] = good[i] ? check_reduce(check, stage, check->value, over[i], over_count[i]) : NULL;
    return count;
}

/* What a stage without an arrow gives: the indices of the value so far in their order, then the new ones. */
static Term *keep_order(Check *check, Term *value, Span span)
{
    Index **kept = NULL;
    int count = 0;
    for (int i = 0; i < check->value->rank; i++)
        ARENA_APPEND(check->arena, kept, count, check->value->indices[i]);
    for (int i = 0; i < value->rank; i++)
        if (!indices_have(kept, count, value->indices[i]))
            ARENA_APPEND(check->arena, kept, count, value->indices[i]);
    return check_contract(check, span, value, kept, count, DTYPE_NONE);
}

/* What a stage without "_" was probably meant to be. */
static const char *unused_value_hint(Check *check, const AstExpr *expr)
{
    bool call = expr->kind == AST_CALL && expr->call.name;
    const AstWord *word = call ? expr->call.name : expr->kind == AST_LETTERS ? expr->letters.words
                          : expr->kind == AST_TENSOR ? expr->tensor.name : NULL;
    size_t length = word ? strlen(word->text) : 0;
    bool letters = word && !call && expr->kind == AST_LETTERS, is_name = length > 2;
    const char *near = word ? ops_nearest_reduction(check->arena, word->text, length) : NULL;
    const char *function = is_name ? ops_nearest_function(word->text, length) : NULL;
    if (call && reduction_find(word->text, length) != REDUCTION_NONE)
        return arena_format(check->arena, "the indices of a reduction stand behind its name: '%s j'", word->text);
    if (call && expr->call.function != FUNCTION_NONE)
        return arena_format(check->arena, "'_' stands for it, as in '%s(_%s)'", word->text,
                            function_facts[expr->call.function].arity > 1 ? ", ..." : "");
    if (near && (!letters || word->next))
        return near;
    if (function && (call || (letters && !word->next)))
        return arena_format(check->arena, call ? "did you mean '%s(_)'?" : "did you mean '%s'?", function);
    if (is_name && (call || (letters && word->next && !word->next->next)))
        return ops_reduction_hint(check->arena, word->text, length);
    if (is_name && letters && !word->next)
        return arena_format(check->arena, "there is no function '%s'; with an operand of these letters: '_ * %s'",
                            word->text, word->text);
    if (word && !call)
        return arena_format(check->arena, "'_' stands for it, as in '_ * %.*s'",
                            (int)(expr->span.end - expr->span.begin), check->ast->source->text + expr->span.begin);
    return "'_' stands for it; logical or is '||'";
}

Term *check_stage(Check *check, const AstStage *stage)
{
    if (stage->kind == STAGE_REDUCE) {
        Term *value = NULL;
        check_reductions(check, stage, &value);
        return value;
    }
    if (stage->kind == STAGE_APPLY) {
        int arity = function_facts[stage->function].arity;
        if (arity != 1) {
            diag_error(check->diags, stage->span, "'%s' takes %d arguments", stage->name->text, arity);
            diag_hint(check->diags, "write them out, with '_' for the value so far: '%s(_, ...)'", stage->name->text);
            return NULL;
        }
        return check_map(check, stage->span, stage->function, stage->cast, &check->value, 1);
    }
    bool has_value = false;
    for (const AstExpr *f = stage->factors; f; f = f->next)
        has_value |= ast_has_value(f);
    if (!has_value) {
        diag_error(check->diags, stage->span, "this stage does not use the value so far");
        diag_hint(check->diags, "%s", unused_value_hint(check, stage->factors));
        return NULL;
    }
    Dtype declared = stage->arrow ? stage->arrow->dtype.dtype : DTYPE_NONE;
    Term *value = build_factors(check, stage->factors, declared);
    if (!value)
        return NULL;
    return stage->arrow ? apply_arrow(check, value, stage->arrow, declared) : keep_order(check, value, stage->span);
}
