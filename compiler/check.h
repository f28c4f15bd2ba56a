/* What the parts of the check share: check.c (statements), check_chain.c (expressions and stages),
 * check_name.c (names and inputs), check_index.c (indices and positions), check_type.c (dtypes) and check_extent.c
 * (which rule fixes an extent). Only they include it. */
#ifndef EINC_CHECK_H
#define EINC_CHECK_H

#include "program.h"

/* A NAME of the program. */
typedef struct Name {
    const char *text;
    Span first;
    int made_by;                  /* the first statement that it is the target of; -1: an input */
    int rank;                     /* of an input; -1: not known yet */
    Dtype dtype;                  /* as annotated; DTYPE_NONE */
    Span dtype_at;
    Tensor *tensor;               /* what it stands for now; NULL before its statement */
} Name;

typedef struct Check {
    Arena *arena;
    const Ast *ast;
    const CheckOptions *options;
    Diags *diags;
    Program *program;
    Name *names;
    int name_count;
    Tensor **operands;            /* [ast->operand_count]: the inputs that operands of letters are */
    const AstExpr **written;      /* [input_count]: where each input first stands */
    const OperandSpec **specs;    /* [input_count]: what the caller knows of each input, or NULL */

    const AstStatement *walked;   /* whose operands are collected */

    /* the statement at hand */
    Statement *statement;
    Index **scope;                /* its indices; the last of a name is what the name means now */
    int scope_count;
    const char **bracketed;       /* the words that name indices inside its brackets */
    int bracketed_count;
    Index **dots;                 /* what "..." stands for, longest form */
    int dot_count;
    int where_depth;              /* inside the branches of so many wheres */
    Term *value;                  /* "_"; NULL in the first expression */
} Check;

/* check_name.c */
typedef void OnOperand(Check *check, const AstExpr *expr, int statement);
bool check_collect(Check *check);                          /* names, inputs in order, what the caller knows of them */
void check_walk(Check *check, const AstStatement *s, int id, OnOperand *on);   /* all operands in the text's order */
Name *check_name(Check *check, const char *text);
bool check_is_name(Check *check, const AstExpr *letters);   /* one word, that of a tensor with brackets */
bool check_is_constant(const AstExpr *letters, bool top);  /* inf, nan, pi */

/* check_index.c */
void check_begin_statement(Check *check, const AstStatement *statement);
void check_enter_brackets(Check *check, const AstStatement *statement);
int check_explicit_rank(Check *check, const AstExpr *operand, bool *dots);     /* "..." not counted */
Index *check_index(Check *check, const char *name, Span at);
Index *check_new_index(Check *check, const char *name, Span at);
bool check_indices(Check *check, const AstWord *words, Index ***indices, int *count);
Index *check_position_word(Check *check, const AstWord *word);
Term *check_letters(Check *check, const AstExpr *expr);
Term *check_tensor(Check *check, const AstExpr *expr);
bool check_positions(Check *check, const AstPosition *written, int rank, Position **positions, int *count);

/* check.c */
Term *check_new_term(Check *check, TermKind kind, Span span);
Tensor *check_new_tensor(Check *check, const char *name, Span span, int rank, Dtype dtype);
void check_add_index(Check *check, Term *term, Index *index);

/* check_chain.c */
Term *check_head(Check *check, const AstChain *chain, const AstTarget *target, const Position *positions, int rank);
Term *check_stage(Check *check, const AstStage *stage);
int check_reductions(Check *check, const AstStage *first, Term **terms);    /* those that `&` joins; how many */
void check_target_indices(Check *check, const Position *positions, int rank, const Term *value, Index ***kept,
                          int *count);
const char *check_index_list(Check *check, Index *const *indices, int count);

/* check_type.c: terms of functions and reductions with their dtypes; NULL after a diagnostic or for a NULL argument */
Term *check_cast(Check *check, Term *term, Dtype dtype, bool implicit);
Term *check_map(Check *check, Span span, Function function, Dtype cast, Term **arguments, int count);
Term *check_product(Check *check, Term **factors, int count, Dtype declared);
Term *check_contract(Check *check, Span span, Term *argument, Index **kept, int count, Dtype declared);
Term *check_reduce(Check *check, const AstStage *stage, Term *argument, Index **over, int count);
Term *check_accumulate(Check *check, Term *value, Dtype declared);

/* check_extent.c */
void check_extents(Check *check);

#endif
