/* The parser's actions: each makes one node. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parser.h"

static const char *written(Parser *parser, Span at)
{
    return arena_copy(parser->arena, parser->source->text + at.begin, at.end - at.begin);
}

AstWord *make_word(Parser *parser, Span at)
{
    AstWord *word = ARENA_NEW(parser->arena, AstWord);
    word->text = written(parser, at);
    word->span = at;
    return word;
}

AstExpr *make_expr(Parser *parser, AstKind kind, Span at)
{
    AstExpr *expr = ARENA_NEW(parser->arena, AstExpr);
    expr->kind = kind;
    expr->span = at;
    expr->depth = 1;
    if (kind == AST_LETTERS || kind == AST_EMPTY)
        expr->operand = parser->ast->operand_count++;
    return expr;
}

/* An integer of the source; one that no int64 holds is an error. */
static int64_t read_integer(Parser *parser, Span at)
{
    errno = 0;
    long long value = strtoll(written(parser, at), NULL, 10);
    if (errno == ERANGE) {
        diag_error(parser->diags, at, "the integer does not fit into 64 bits");
        parser->slips++;
        value = 1;                /* of which nothing else can be wrong */
    }
    return value;
}

static bool is_integer(Parser *parser, Span at)
{
    for (size_t i = at.begin; i < at.end; i++)
        if (parser->source->text[i] < '0' || parser->source->text[i] > '9')
            return false;
    return true;
}

AstExpr *make_number(Parser *parser, Span at)
{
    AstExpr *expr = make_expr(parser, AST_NUMBER, at);
    expr->number.is_integer = is_integer(parser, at);
    if (expr->number.is_integer) {
        int slips = parser->slips;
        expr->number.integer = read_integer(parser, at);
        if (parser->slips > slips)
            diag_hint(parser->diags, "write it as a float, with a '.'");
        expr->number.value = (double)expr->number.integer;
    } else {
        expr->number.value = strtod(written(parser, at), NULL);
        if (isinf(expr->number.value)) {
            diag_error(parser->diags, at, "the number is too large for a float of 64 bits");
            diag_hint(parser->diags, "infinity is 'inf'");
            parser->slips++;
        }
    }
    return expr;
}

AstExpr *make_position(Parser *parser, Span at, AstWord *word)
{
    AstExpr *expr = make_expr(parser, AST_POSITION, at);
    expr->position = word;
    return expr;
}

static void set_arguments(Parser *parser, AstExpr *call, AstExpr *arguments)
{
    call->call.arguments = arguments;
    for (const AstExpr *a = arguments; a; a = a->next)
        if (call->depth <= a->depth)
            call->depth = a->depth + 1;
    if (call->depth == AST_DEPTH_MAX)
        diag_error(parser->diags, call->span, "the expression is nested too deeply");
}

AstExpr *make_call(Parser *parser, Span at, AstWord *name, AstExpr *arguments)
{
    AstExpr *expr = make_expr(parser, AST_CALL, at);
    expr->call.name = name;
    expr->call.sign = name->span;
    expr->call.function = function_find(name->text, strlen(name->text));
    expr->call.cast = dtype_find(name->text, strlen(name->text));
    set_arguments(parser, expr, arguments);
    return expr;
}

AstExpr *make_unary(Parser *parser, Function function, Span sign, AstExpr *argument)
{
    AstExpr *expr = make_expr(parser, AST_CALL, span_join(sign, argument->span));
    expr->call.function = function;
    expr->call.sign = sign;
    expr->call.cast = DTYPE_NONE;
    set_arguments(parser, expr, argument);
    return expr;
}

AstExpr *make_binary(Parser *parser, Function function, Span sign, AstExpr *left, AstExpr *right)
{
    AstExpr *expr = make_expr(parser, AST_CALL, span_join(left->span, right->span));
    expr->call.function = function;
    expr->call.sign = sign;
    expr->call.cast = DTYPE_NONE;
    left->next = right;
    set_arguments(parser, expr, left);
    return expr;
}

AstExpr *make_letters(Parser *parser, AstWord *words, Span at)
{
    AstExpr *expr = make_expr(parser, AST_LETTERS, at);
    expr->letters.words = expr->letters.last = words;
    expr->letters.dtype.dtype = DTYPE_NONE;
    return expr;
}

AstExpr *more_letters(AstExpr *operand, AstWord *word)
{
    operand->letters.last = operand->letters.last->next = word;
    operand->span.end = word->span.end;
    return operand;
}

AstExpr *make_tensor(Parser *parser, AstWord *name, AstPosition *positions, Span at)
{
    AstExpr *expr = make_expr(parser, AST_TENSOR, at);
    expr->tensor.name = name;
    expr->tensor.positions = positions;
    expr->tensor.dtype.dtype = DTYPE_NONE;
    for (const AstPosition *p = positions; p; p = p->next)
        for (const AstTerm *t = p->terms; t; t = t->next)
            if (t->gather && expr->depth <= t->gather->depth)
                expr->depth = t->gather->depth + 1;
    if (expr->depth == AST_DEPTH_MAX)
        diag_error(parser->diags, at, "the expression is nested too deeply");
    return expr;
}

AstExpr *with_dtype(AstExpr *operand, AstDtype dtype)
{
    if (operand->kind == AST_LETTERS)
        operand->letters.dtype = dtype;
    else
        operand->tensor.dtype = dtype;
    operand->span.end = dtype.span.end;
    return operand;
}

/* What numpy, torch and C call the dtypes. */
static const struct {
    const char *name, *ours;
} other_dtypes[] = {
    { "float", "f32" }, { "double", "f64" }, { "half", "f16" }, { "float16", "f16" }, { "bfloat16", "bf16" },
    { "float32", "f32" }, { "float64", "f64" }, { "complex", "c64" }, { "complex64", "c64" }, { "complex128", "c128" },
    { "cfloat", "c64" }, { "cdouble", "c128" }, { "int8", "i8" }, { "int16", "i16" }, { "int32", "i32" },
    { "int64", "i64" }, { "int", "i64" }, { "long", "i64" }, { "boolean", "bool" }, { "bool_", "bool" },
    { "f8", "f64" }, { "f4", "f32" }, { "i1", "i8" }, { "i2", "i16" }, { "i4", "i32" },
    { "c8", "c64" }, { "c16", "c128" },
};

static const char *likely_dtype(const char *name)
{
    static const char *const names[] = {
#define X(tag, name, bytes, kind, bits, c) name,
        DTYPES(X)
#undef X
    };
    for (size_t i = 0; i < sizeof other_dtypes / sizeof *other_dtypes; i++)
        if (!strcmp(other_dtypes[i].name, name))
            return other_dtypes[i].ours;
    return diag_nearest(name, strlen(name), names, DTYPE_COUNT);
}

AstDtype make_dtype(Parser *parser, AstWord *word)
{
    Dtype dtype = dtype_find(word->text, strlen(word->text));
    if (dtype == DTYPE_NONE) {
        const char *near = likely_dtype(word->text);
        parser->slips++;
        diag_error(parser->diags, word->span, "'%s' is no dtype", word->text);
        diag_hint(parser->diags, "%s%s%sthe dtypes are f16 bf16 f32 f64 c64 c128 i8 i16 i32 i64 bool",
                  near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
    }
    return (AstDtype){ dtype, word->span };
}

AstPosition *make_position_sum(Parser *parser, AstTerm *terms, Span at)
{
    AstPosition *position = ARENA_NEW(parser->arena, AstPosition);
    position->span = at;
    position->terms = terms;
    return position;
}

AstPosition *make_dots(Parser *parser, Span at)
{
    AstPosition *position = ARENA_NEW(parser->arena, AstPosition);
    position->span = at;
    position->dots = true;
    return position;
}

AstTerm *make_integer_term(Parser *parser, Span at)
{
    AstTerm *term = ARENA_NEW(parser->arena, AstTerm);
    term->span = at;
    term->coefficient = read_integer(parser, at);
    return term;
}

AstTerm *make_term(Parser *parser, Span at, AstWord *index, AstExpr *gather, AstPosition *group)
{
    AstTerm *term = ARENA_NEW(parser->arena, AstTerm);
    term->span = at;
    term->coefficient = 1;
    term->index = index;
    term->gather = gather;
    term->group = group;
    return term;
}

AstTerm *scale_term(Parser *parser, AstTerm *term, Span integer)
{
    term->coefficient = read_integer(parser, integer);
    term->span = span_join(term->span, integer);
    return term;
}

AstTerm *negate_term(AstTerm *term, Span sign)
{
    term->coefficient = -term->coefficient;   /* read_integer gives no INT64_MIN */
    term->span = span_join(sign, term->span);
    return term;
}

AstArrow *make_arrow(Parser *parser, Span at, AstIndices indices, AstDtype dtype)
{
    AstArrow *arrow = ARENA_NEW(parser->arena, AstArrow);
    *arrow = (AstArrow){ at, indices, dtype };
    return arrow;
}

AstParameter *make_parameter(Parser *parser, Span at, bool negative, Span number)
{
    AstParameter *parameter = ARENA_NEW(parser->arena, AstParameter);
    double value = strtod(written(parser, number), NULL);
    parameter->span = at;
    parameter->value = negative ? -value : value;
    parameter->is_integer = is_integer(parser, number);
    return parameter;
}

AstStage *make_reduction(Parser *parser, Span at, Span name, AstParameter *parameters, AstIndices indices)
{
    AstStage *stage = ARENA_NEW(parser->arena, AstStage);
    stage->kind = STAGE_REDUCE;
    stage->span = at;
    stage->name = make_word(parser, name);
    stage->reduction = reduction_find(stage->name->text, name.end - name.begin);
    stage->parameters = parameters;
    stage->indices = indices;
    return stage;
}

AstStage *make_apply(Parser *parser, Span name)
{
    AstStage *stage = ARENA_NEW(parser->arena, AstStage);
    stage->kind = STAGE_APPLY;
    stage->span = name;
    stage->name = make_word(parser, name);
    stage->function = function_find(stage->name->text, name.end - name.begin);
    stage->cast = dtype_find(stage->name->text, name.end - name.begin);
    return stage;
}

bool ast_has_value(const AstExpr *expr)
{
    if (expr->kind == AST_VALUE || expr->kind == AST_IMPLICIT)
        return true;
    if (expr->kind == AST_CALL)
        for (const AstExpr *a = expr->call.arguments; a; a = a->next)
            if (ast_has_value(a))
                return true;
    return false;
}

static bool has_written_value(const AstExpr *expr)
{
    if (expr->kind == AST_CALL)
        for (const AstExpr *a = expr->call.arguments; a; a = a->next)
            if (has_written_value(a))
                return true;
    return expr->kind == AST_VALUE;
}

static bool is_product(const AstExpr *expr)
{
    return expr->kind == AST_CALL && !expr->parenthesised && !expr->call.name &&
           (expr->call.function == FUNCTION_MUL || expr->call.function == FUNCTION_DIV);
}

/* What `left - right` is when the minus is the sign of the first factor of `right`: `-a / b` is (-a) / b. */
static AstExpr *sign_first_factor(Parser *parser, Span sign, AstExpr *right)
{
    AstExpr *above = NULL, *first = right;
    for (; is_product(first); first = first->call.arguments) {
        above = first;
        above->span.begin = sign.begin;
    }
    AstExpr *rest = first->next;
    first->next = NULL;
    AstExpr *negative = make_unary(parser, FUNCTION_NEG, sign, first);
    negative->next = rest;
    if (above)
        above->call.arguments = negative;
    return above ? right : negative;
}

/* "| -_" : the minus that the scanner put IMPLICIT in front of is the sign when the expression has its own "_". The
 * implied value is the leftmost leaf; `factors` is given back without it. */
static AstExpr *drop_implicit(Parser *parser, AstExpr *factors)
{
    bool written_value = false;
    for (const AstExpr *f = factors; f; f = f->next)
        written_value |= has_written_value(f);
    AstExpr **place = &factors;
    while ((*place)->kind == AST_CALL && (*place)->call.arguments->kind == AST_CALL)
        place = &(*place)->call.arguments;
    AstExpr *difference = *place;
    if (!written_value || difference->kind != AST_CALL || difference->call.function != FUNCTION_SUB ||
        difference->call.arguments->kind != AST_IMPLICIT)
        return factors;
    AstExpr *signed_one = sign_first_factor(parser, difference->call.sign, difference->call.arguments->next);
    signed_one->next = difference->next;
    *place = signed_one;
    return factors;
}

AstStage *make_stage(Parser *parser, Span at, AstExpr *factors, AstArrow *arrow)
{
    AstStage *stage = ARENA_NEW(parser->arena, AstStage);
    stage->kind = STAGE_EXPR;
    stage->span = at;
    stage->factors = drop_implicit(parser, factors);
    stage->arrow = arrow;
    return stage;
}

AstChain *make_chain(Parser *parser, Span at, AstExpr *factors, AstArrow *arrow)
{
    AstChain *chain = ARENA_NEW(parser->arena, AstChain);
    chain->span = at;
    chain->factors = factors;
    chain->arrow = arrow;
    return chain;
}

void add_stage(AstChain *chain, AstStage *stage)
{
    if (chain->last_stage)
        chain->last_stage->next = stage;
    else
        chain->stages = stage;
    chain->last_stage = stage;
    chain->span.end = stage->span.end;
}

AstTarget *make_target(Parser *parser, Span at, AstWord *name, bool brackets, AstPosition *positions, AstDtype dtype)
{
    AstTarget *target = ARENA_NEW(parser->arena, AstTarget);
    *target = (AstTarget){ at, name, brackets, positions, dtype };
    return target;
}

AstStatement *make_statement(Parser *parser, Span at, AstTarget *target, bool accumulate, AstChain *chain)
{
    AstStatement *statement = ARENA_NEW(parser->arena, AstStatement);
    *statement = (AstStatement){ at, target, accumulate, chain, NULL };
    return statement;
}
