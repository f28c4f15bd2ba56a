/* The grammar of docs/notation.md: LALR(1) without conflicts. Each action is one call that makes a node of the Ast. */
%require "3.8"
%code requires { #include "parser.h" }
%code {
#include <string.h>

#include "lex.h"

#define P ((Parser *)ein_get_extra(scanner))
#define YYLLOC_DEFAULT(Current, Rhs, N)                                       \
    ((Current) = (N) ? (Span){ YYRHSLOC(Rhs, 1).begin, YYRHSLOC(Rhs, N).end } \
                     : (Span){ YYRHSLOC(Rhs, 0).end, YYRHSLOC(Rhs, 0).end })
/* The stack never grows, so a jump out of a full arena loses nothing. */
#define YYINITDEPTH 1500
#define YYMAXDEPTH YYINITDEPTH

static void yyerror(const YYLTYPE *at, void *scanner, const char *message);
static const AstDtype no_dtype = { DTYPE_NONE, { 0, 0 } };
}
%define api.pure full
%define api.prefix {ein_}
%define api.token.prefix {T_}
%define api.location.type {Span}
%define api.value.type union
%define parse.error custom
%define parse.lac full
%locations
%param {void *scanner}
%expect 0
%initial-action { @$ = (Span){ 0, 0 }; }

%token END 0 "end of the program"
%token WORD "letters" INF "'inf'" NAME "name" INT "integer" FLOAT "number" DOTS "'...'" VALUE "'_'"
%token IMPLICIT "operator" REDUCTION "reduction" FUNCTION "function"
%token ARROW "'->'" BAR "'|'" AND "'&'" COMMA "','" SEMICOLON "';'" NEWLINE "newline" COLON "':'"
%token IS "'='" ADD_TO "'+='" AT "'@'"
%token LPAREN "'('" RPAREN "')'" LBRACKET "'['" RBRACKET "']'"
%token PLUS "'+'" MINUS "'-'" STAR "'*'" SLASH "'/'" CARET "'^'" NOT "'!'"
%token LT "'<'" GT "'>'" LE "'<='" GE "'>='" EQ "'=='" NE "'!='" ANDAND "'&&'" OROR "'||'"
%token BAD "invalid character" BAD_NUMBER "malformed number" BAD_NAME "malformed name"

%left OROR
%left ANDAND
%nonassoc LT GT LE GE EQ NE
%left PLUS MINUS
%left STAR SLASH
%precedence SIGN NOT
%right CARET

%nterm <StatementList> list
%nterm <AstStatement *> statement
%nterm <bool> assign
%nterm <AstTarget *> target
%nterm <AstChain *> chain open head
%nterm <ExprList> product factors arguments
%nterm <AstExpr *> opt_expr expr atom call operand single many named
%nterm <AstArrow *> arrow
%nterm <AstIndices> out indices
%nterm <WordList> words names names1
%nterm <AstWord *> letters item word
%nterm <StageList> multi
%nterm <AstStage *> stage reduction
%nterm <ParameterList> parameters
%nterm <AstParameter *> parameter
%nterm <PositionList> positions positions1
%nterm <AstPosition *> position
%nterm <TermList> affine
%nterm <AstTerm *> term factor
%nterm <AstDtype> dtype
%%
program: %empty                      { P->ast->statements = make_statement(P, @$, NULL, false,
                                           make_chain(P, @$, make_expr(P, AST_EMPTY, @$), NULL)); }
    | list                           { P->ast->statements = $list.first; }
    | list separator                 { P->ast->statements = $list.first; }
    | separator                      { P->ast->statements = make_statement(P, @$, NULL, false,
                                           make_chain(P, @$, make_expr(P, AST_EMPTY, @$), NULL)); }
    | separator list                 { P->ast->statements = $list.first; }
    | separator list separator       { P->ast->statements = $list.first; }
    ;
separator: SEMICOLON | NEWLINE | separator SEMICOLON | separator NEWLINE ;
list: statement                      { $$ = statement_list($statement); }
    | list separator statement       { $$ = $1; LIST_ADD($$, $statement); }
    ;
statement: chain                     { $$ = make_statement(P, @$, NULL, false, $chain); }
    | target assign chain            { $$ = make_statement(P, @$, $target, $assign, $chain); }
    | error                          { $$ = make_statement(P, @$, NULL, false, NULL); }
    ;
assign: IS { $$ = false; } | ADD_TO  { $$ = true; } ;
target: single                       { $$ = make_target(P, @$, $1->letters.words, false, NULL, no_dtype); }
    | single COLON dtype             { $$ = make_target(P, @$, $1->letters.words, false, NULL, $dtype); }
    | NAME                           { $$ = make_target(P, @$, make_word(P, @1), false, NULL, no_dtype); }
    | NAME COLON dtype               { $$ = make_target(P, @$, make_word(P, @1), false, NULL, $dtype); }
    | named                          { $$ = make_target(P, @$, $1->tensor.name, true, $1->tensor.positions, no_dtype); }
    | named COLON dtype              { $$ = make_target(P, @$, $1->tensor.name, true, $1->tensor.positions, $dtype); }
    ;

chain: open
    | open BAR multi                 { $$ = $open; add_stage($$, $multi.first); }
    ;
open: head
    | open BAR stage                 { $$ = $1; add_stage($$, $stage); }
    ;
head: product                        { $$ = make_chain(P, @$, $product.first, NULL); }
    | product arrow                  { $$ = make_chain(P, @$, $product.first, $arrow); }
    | arrow                          { $$ = make_chain(P, @$, make_expr(P, AST_EMPTY, @$), $arrow); }
    ;
product: expr                        { $$ = expr_list($expr); }
    | COMMA opt_expr                 { $$ = expr_list(make_expr(P, AST_EMPTY, @1)); LIST_ADD($$, $opt_expr); }
    | product COMMA opt_expr         { $$ = $1; LIST_ADD($$, $opt_expr); }
    ;
opt_expr: %empty                     { $$ = make_expr(P, AST_EMPTY, @$); }
    | expr
    ;
arrow: ARROW out                     { $$ = make_arrow(P, @$, $out, no_dtype); }
    | ARROW out COLON dtype          { $$ = make_arrow(P, @$, $out, $dtype); }
    ;
out: %empty                          { $$ = (AstIndices){ @$, NULL }; }
    | indices
    ;
indices: words                       { $$ = (AstIndices){ @$, $words.first }; }
    | LBRACKET names RBRACKET        { $$ = (AstIndices){ @$, $names.first }; }
    ;
words: item                          { $$ = word_list($item); }
    | words item                     { $$ = $1; LIST_ADD($$, $item); }
    | words COMMA item               { $$ = $1; LIST_ADD($$, $item); }
    ;
item: word
    | DOTS                           { $$ = make_word(P, @1); }
    ;
names: %empty                        { $$ = word_list(NULL); }
    | names1
    ;
names1: item                         { $$ = word_list($item); }
    | names1 COMMA item              { $$ = $1; LIST_ADD($$, $item); }
    ;
word: letters
    | NAME                           { $$ = make_word(P, @1); }
    ;

multi: reduction AND reduction[also] { $$ = stage_list($1); $$.last = $$.last->also = $also; }
    | multi AND reduction            { $$ = $1; $$.last = $$.last->also = $reduction; }
    ;
stage: reduction
    | FUNCTION                       { $$ = make_apply(P, @1); }
    | factors                        { $$ = make_stage(P, @$, $factors.first, NULL); }
    | factors arrow                  { $$ = make_stage(P, @$, $factors.first, $arrow); }
    | arrow                          { $$ = make_stage(P, @$, make_expr(P, AST_IMPLICIT, @$), $arrow); }
    ;
factors: expr                        { $$ = expr_list($expr); }
    | factors COMMA expr             { $$ = $1; LIST_ADD($$, $expr); }
    ;
reduction: REDUCTION indices         { $$ = make_reduction(P, @$, @1, NULL, $indices); }
    | REDUCTION LPAREN parameters RPAREN indices
                                     { $$ = make_reduction(P, @$, @1, $parameters.first, $indices); }
    ;
parameters: parameter                { $$ = parameter_list($parameter); }
    | parameters COMMA parameter     { $$ = $1; LIST_ADD($$, $parameter); }
    ;
parameter: number                    { $$ = make_parameter(P, @$, false, @1); }
    | MINUS number                   { $$ = make_parameter(P, @$, true, @2); }
    ;
number: INT | FLOAT | INF ;

expr: atom
    | MINUS expr[a] %prec SIGN       { $$ = make_unary(P, FUNCTION_NEG, @1, $a); }
    | NOT expr[a]                    { $$ = make_unary(P, FUNCTION_NOT, @1, $a); }
    | expr[a] CARET expr[b]          { $$ = make_binary(P, FUNCTION_POW, @2, $a, $b); }
    | expr[a] STAR expr[b]           { $$ = make_binary(P, FUNCTION_MUL, @2, $a, $b); }
    | expr[a] SLASH expr[b]          { $$ = make_binary(P, FUNCTION_DIV, @2, $a, $b); }
    | expr[a] PLUS expr[b]           { $$ = make_binary(P, FUNCTION_ADD, @2, $a, $b); }
    | expr[a] MINUS expr[b]          { $$ = make_binary(P, FUNCTION_SUB, @2, $a, $b); }
    | expr[a] LT expr[b]             { $$ = make_binary(P, FUNCTION_LT, @2, $a, $b); }
    | expr[a] GT expr[b]             { $$ = make_binary(P, FUNCTION_GT, @2, $a, $b); }
    | expr[a] LE expr[b]             { $$ = make_binary(P, FUNCTION_LE, @2, $a, $b); }
    | expr[a] GE expr[b]             { $$ = make_binary(P, FUNCTION_GE, @2, $a, $b); }
    | expr[a] EQ expr[b]             { $$ = make_binary(P, FUNCTION_EQ, @2, $a, $b); }
    | expr[a] NE expr[b]             { $$ = make_binary(P, FUNCTION_NE, @2, $a, $b); }
    | expr[a] ANDAND expr[b]         { $$ = make_binary(P, FUNCTION_AND, @2, $a, $b); }
    | expr[a] OROR expr[b]           { $$ = make_binary(P, FUNCTION_OR, @2, $a, $b); }
    ;
atom: INT                            { $$ = make_number(P, @1); }
    | FLOAT                          { $$ = make_number(P, @1); }
    | VALUE                          { $$ = make_expr(P, AST_VALUE, @1); }
    | IMPLICIT                       { $$ = make_expr(P, AST_IMPLICIT, @1); }
    | AT word                        { $$ = make_position(P, @$, $word); }
    | LPAREN expr RPAREN             { $$ = $expr; $$->parenthesised = true; }
    | call
    | operand
    ;
call: word LPAREN arguments RPAREN   { $$ = make_call(P, @$, $word, $arguments.first); } ;
arguments: expr                      { $$ = expr_list($expr); }
    | arguments COMMA expr           { $$ = $1; LIST_ADD($$, $expr); }
    ;
operand: single
    | single COLON dtype             { $$ = with_dtype($1, $dtype); }
    | many
    | many COLON dtype               { $$ = with_dtype($1, $dtype); }
    | named
    | named COLON dtype              { $$ = with_dtype($1, $dtype); }
    ;
single: letters                      { $$ = make_letters(P, $letters, @$); } ;
letters: WORD                        { $$ = make_word(P, @1); }
    | INF                            { $$ = make_word(P, @1); }
    ;
many: DOTS                           { $$ = make_letters(P, make_word(P, @1), @$); }
    | single letters                 { $$ = more_letters($1, $letters); }
    | single DOTS                    { $$ = more_letters($1, make_word(P, @2)); }
    | many letters                   { $$ = more_letters($1, $letters); }
    | many DOTS                      { $$ = more_letters($1, make_word(P, @2)); }
    ;
named: word LBRACKET positions RBRACKET { $$ = make_tensor(P, $word, $positions.first, @$); } ;
positions: %empty                    { $$ = position_list(NULL); }
    | positions1
    ;
positions1: position                 { $$ = position_list($position); }
    | positions1 COMMA position      { $$ = $1; LIST_ADD($$, $position); }
    ;
position: affine                     { $$ = make_position_sum(P, $affine.first, @$); }
    | DOTS                           { $$ = make_dots(P, @1); }
    ;
affine: term                         { $$ = term_list($term); }
    | MINUS term                     { $$ = term_list(negate_term($term, @1)); }
    | affine PLUS term               { $$ = $1; LIST_ADD($$, $term); }
    | affine MINUS term              { $$ = $1; LIST_ADD($$, negate_term($term, @2)); }
    ;
term: factor
    | INT                            { $$ = make_integer_term(P, @1); }
    | INT STAR factor                { $$ = scale_term(P, $factor, @1); }
    | factor STAR INT                { $$ = scale_term(P, $factor, @3); }
    ;
factor: word                         { $$ = make_term(P, @$, $word, NULL, NULL); }
    | named                          { $$ = make_term(P, @$, NULL, $named, NULL); }
    | named COLON dtype              { $$ = make_term(P, @$, NULL, with_dtype($named, $dtype), NULL); }
    | LPAREN affine RPAREN           { $$ = make_term(P, @$, NULL, NULL,
                                           make_position_sum(P, $affine.first, @affine)); }
    ;
dtype: word                          { $$ = make_dtype(P, $word); } ;
%%
static void yyerror(const YYLTYPE *at, void *scanner, const char *message)
{
    bool deep = strstr(message, "exhausted") != NULL;
    diag_error(P->diags, *at, "%s", deep ? "the expression is nested too deeply" : message);
}

static int yyreport_syntax_error(const yypcontext_t *context, void *scanner)
{
    enum { LISTED = 8, ALL = 64 };
    Parser *parser = P;
    yysymbol_kind_t wanted[ALL], got = yypcontext_token(context);
    Span at = *yypcontext_location(context);
    int count = yypcontext_expected_tokens(context, wanted, ALL);
    Text expected = text_new(parser->arena);
    for (int i = 0; i < count && count <= LISTED; i++)
        text_print(&expected, "%s%s", i == 0 ? ", expected " : i == count - 1 ? " or " : ", ",
                   yysymbol_name(wanted[i]));
    parser->depth = 0;
    Span behind = { parser->last_span.end, parser->last_span.end };
    if (at.begin == at.end)
        diag_error(parser->diags, behind, "unexpected %s%s", yysymbol_name(got), expected.bytes);
    else if (got == YYSYMBOL_NEWLINE)
        diag_error(parser->diags, (Span){ at.begin, at.begin + 1 }, "unexpected end of the line%s", expected.bytes);
    else if (yysymbol_name(got)[0] == '\'')
        diag_error(parser->diags, at, "unexpected %s%s", yysymbol_name(got), expected.bytes);
    else if (got == YYSYMBOL_BAD || got == YYSYMBOL_BAD_NUMBER || got == YYSYMBOL_BAD_NAME)
        diag_error(parser->diags, at, "%s '%.*s'", yysymbol_name(got), (int)(at.end - at.begin),
                   parser->source->text + at.begin);
    else
        diag_error(parser->diags, at, "unexpected %s '%.*s'%s", yysymbol_name(got), (int)(at.end - at.begin),
                   parser->source->text + at.begin, expected.bytes);
    const char *hint = parse_hint(parser, at);
    if (hint)
        diag_hint(parser->diags, "%s", hint);
    return 0;
}

Ast *parse(Arena *arena, const Source *source, Diags *diags)
{
    Parser parser = { .arena = arena, .source = source, .diags = diags, .ast = ARENA_NEW(arena, Ast) };
    parser.ast->source = source;
    yyscan_t scanner;
    int before = diags->errors;
    if (source->length > INT32_MAX / 2 || ein_lex_init_extra(&parser, &scanner) != 0) {
        diag_error_nowhere(diags, "the program is too long");
        return NULL;
    }
    ein__scan_bytes(source->text, (int)source->length, scanner);
    ein_parse(scanner);
    ein_lex_destroy(scanner);
    return diags->errors == before + parser.slips ? parser.ast : NULL;
}
