/* The Ast as text, one statement a paragraph, for `-dast` and the golden tests. */
#include "ast.h"

static void dump_expr(Text *text, const AstExpr *expr);

static void dump_words(Text *text, const AstWord *words)
{
    int first = 1;
    text_put(text, "[");
    for (; words; words = words->next) {
        text_separate(text, &first, " ");
        text_put(text, words->text);
    }
    text_put(text, "]");
}

static void dump_dtype(Text *text, AstDtype dtype)
{
    if (dtype.dtype != DTYPE_NONE)
        text_print(text, ":%s", dtype_name(dtype.dtype));
}

static void dump_position(Text *text, const AstPosition *position)
{
    int first = 1;
    if (position->dots)
        text_put(text, "...");
    for (const AstTerm *t = position->terms; t; t = t->next) {
        text_separate(text, &first, " + ");
        if (!t->index && !t->gather && !t->group) {
            text_print(text, "%lld", (long long)t->coefficient);
            continue;
        }
        if (t->coefficient != 1)
            text_print(text, "%lld*", (long long)t->coefficient);
        if (t->index) {
            text_put(text, t->index->text);
        } else if (t->gather) {
            dump_expr(text, t->gather);
        } else {
            text_put(text, "(");
            dump_position(text, t->group);
            text_put(text, ")");
        }
    }
}

static void dump_positions(Text *text, const AstPosition *positions)
{
    int first = 1;
    text_put(text, "[");
    for (; positions; positions = positions->next) {
        text_separate(text, &first, ", ");
        dump_position(text, positions);
    }
    text_put(text, "]");
}

static void dump_expr(Text *text, const AstExpr *expr)
{
    switch (expr->kind) {
    case AST_EMPTY: text_put(text, "empty"); break;
    case AST_NUMBER:
        if (expr->number.is_integer)
            text_print(text, "%lld", (long long)expr->number.integer);
        else
            text_print(text, "%.17g", expr->number.value);
        break;
    case AST_VALUE: text_put(text, "_"); break;
    case AST_IMPLICIT: text_put(text, "_implied"); break;
    case AST_POSITION: text_print(text, "@%s", expr->position->text); break;
    case AST_CALL:
        text_print(text, "(%s", expr->call.name ? expr->call.name->text : function_facts[expr->call.function].name);
        for (const AstExpr *a = expr->call.arguments; a; a = a->next) {
            text_put(text, " ");
            dump_expr(text, a);
        }
        text_put(text, ")");
        break;
    case AST_LETTERS:
        dump_words(text, expr->letters.words);
        dump_dtype(text, expr->letters.dtype);
        break;
    case AST_TENSOR:
        text_put(text, expr->tensor.name->text);
        dump_positions(text, expr->tensor.positions);
        dump_dtype(text, expr->tensor.dtype);
        break;
    }
}

static void dump_factors(Text *text, const AstExpr *factors)
{
    int first = 1;
    for (; factors; factors = factors->next) {
        text_separate(text, &first, " , ");
        dump_expr(text, factors);
    }
}

static void dump_arrow(Text *text, const AstArrow *arrow)
{
    if (!arrow)
        return;
    text_put(text, " -> ");
    dump_words(text, arrow->indices.items);
    dump_dtype(text, arrow->dtype);
}

static void dump_stage(Text *text, const AstStage *stage)
{
    switch (stage->kind) {
    case STAGE_APPLY: text_put(text, stage->name->text); break;
    case STAGE_EXPR:
        dump_factors(text, stage->factors);
        dump_arrow(text, stage->arrow);
        break;
    case STAGE_REDUCE:
        for (const AstStage *s = stage; s; s = s->also) {
            text_print(text, "%s%s", s == stage ? "" : " & ", s->name->text);
            for (const AstParameter *p = s->parameters; p; p = p->next)
                text_print(text, "%s%g%s", p == s->parameters ? "(" : ", ", p->value, p->next ? "" : ")");
            text_put(text, " ");
            dump_words(text, s->indices.items);
        }
        break;
    }
}

void ast_dump(Text *text, const Ast *ast)
{
    for (const AstStatement *s = ast->statements; s; s = s->next) {
        if (s->target) {
            text_put(text, s->target->name->text);
            if (s->target->brackets)
                dump_positions(text, s->target->positions);
            dump_dtype(text, s->target->dtype);
            text_put(text, s->accumulate ? " +=\n" : " =\n");
        }
        text_put(text, "  ");
        dump_factors(text, s->chain->factors);
        dump_arrow(text, s->chain->arrow);
        text_put(text, "\n");
        for (const AstStage *stage = s->chain->stages; stage; stage = stage->next) {
            text_put(text, "  | ");
            dump_stage(text, stage);
            text_put(text, "\n");
        }
    }
}
