/* What the scanner, the grammar's actions and parse() share. Only they include it. */
#ifndef EINC_PARSER_H
#define EINC_PARSER_H

#include "ast.h"

typedef struct Parser {
    Arena *arena;
    const Source *source;
    Diags *diags;
    Ast *ast;
    int slips;             /* errors in words and numbers that leave the tree whole */
    int depth;             /* of open brackets: newlines do not count inside them */
    int last;              /* the last token: a newline after an operator does not end the statement */
    Span last_span;
} Parser;

/* A list under construction: first and last element, since a rule appends on the right. LIST_OF(Name, Element, of)
 * makes the type and `of`, a list of one. */
#define LIST_OF(Name, Element, of)                                    \
    typedef struct Name { Element *first, *last; } Name;              \
    static inline Name of(Element *item) { return (Name){ item, item }; }

LIST_OF(WordList, AstWord, word_list)
LIST_OF(ExprList, AstExpr, expr_list)
LIST_OF(PositionList, AstPosition, position_list)
LIST_OF(TermList, AstTerm, term_list)
LIST_OF(ParameterList, AstParameter, parameter_list)
LIST_OF(StageList, AstStage, stage_list)
LIST_OF(StatementList, AstStatement, statement_list)

/* Appends an element that has a `next`. */
#define LIST_ADD(list, item) ((list).last = (list).last->next = (item))

/* parse_hint.c: what was probably meant where the token at `at` cannot stand; NULL for no idea. */
const char *parse_hint(const Parser *parser, Span at);

AstWord *make_word(Parser *parser, Span at);
AstExpr *make_expr(Parser *parser, AstKind kind, Span at);
AstExpr *make_number(Parser *parser, Span at);
AstExpr *make_position(Parser *parser, Span at, AstWord *word);
AstExpr *make_call(Parser *parser, Span at, AstWord *name, AstExpr *arguments);
AstExpr *make_unary(Parser *parser, Function function, Span sign, AstExpr *argument);
AstExpr *make_binary(Parser *parser, Function function, Span sign, AstExpr *left, AstExpr *right);
AstExpr *make_letters(Parser *parser, AstWord *words, Span at);
AstExpr *make_tensor(Parser *parser, AstWord *name, AstPosition *positions, Span at);
AstExpr *more_letters(AstExpr *operand, AstWord *word);
AstExpr *with_dtype(AstExpr *operand, AstDtype dtype);
AstDtype make_dtype(Parser *parser, AstWord *word);

AstPosition *make_position_sum(Parser *parser, AstTerm *terms, Span at);
AstPosition *make_dots(Parser *parser, Span at);
AstTerm *make_integer_term(Parser *parser, Span at);
AstTerm *make_term(Parser *parser, Span at, AstWord *index, AstExpr *gather, AstPosition *group);
AstTerm *scale_term(Parser *parser, AstTerm *term, Span integer);
AstTerm *negate_term(AstTerm *term, Span sign);

AstArrow *make_arrow(Parser *parser, Span at, AstIndices indices, AstDtype dtype);
AstParameter *make_parameter(Parser *parser, Span at, bool negative, Span number);
AstStage *make_reduction(Parser *parser, Span at, Span name, AstParameter *parameters, AstIndices indices);
AstStage *make_apply(Parser *parser, Span name);
AstStage *make_stage(Parser *parser, Span at, AstExpr *factors, AstArrow *arrow);
AstChain *make_chain(Parser *parser, Span at, AstExpr *factors, AstArrow *arrow);
void add_stage(AstChain *chain, AstStage *stage);
AstTarget *make_target(Parser *parser, Span at, AstWord *name, bool brackets, AstPosition *positions, AstDtype dtype);
AstStatement *make_statement(Parser *parser, Span at, AstTarget *target, bool accumulate, AstChain *chain);

#endif
