/* The Ast: what was written, with spans; nothing is resolved yet. Lists are linked by `next`, in source order. */
#ifndef EINC_AST_H
#define EINC_AST_H

#include <stdint.h>

#include "diag.h"
#include "dtype.h"
#include "ops.h"

/* A word, or "..." (whose text is "..."). */
typedef struct AstWord AstWord;
struct AstWord {
    const char *text;
    Span span;
    AstWord *next;
};

/* `:bf16` behind an operand, a target or an arrow; `dtype` is DTYPE_NONE when none was written. */
typedef struct AstDtype {
    Dtype dtype;
    Span span;
} AstDtype;

typedef struct AstExpr AstExpr;
typedef struct AstPosition AstPosition;
typedef struct AstTerm AstTerm;

/* One summand of a position: coefficient * (nothing | index | gather | group). */
struct AstTerm {
    Span span;
    int64_t coefficient;          /* with its sign; alone, the integer itself */
    const AstWord *index;
    const AstExpr *gather;        /* an operand with brackets */
    const AstPosition *group;     /* a position in parentheses */
    AstTerm *next;
};

struct AstPosition {
    Span span;
    bool dots;                    /* "..." */
    AstTerm *terms;
    AstPosition *next;
};

typedef enum {
    AST_EMPTY,                    /* nothing between two commas: a scalar operand */
    AST_NUMBER,
    AST_VALUE,                    /* _ */
    AST_IMPLICIT,                 /* the `_` that a stage's leading operator implies */
    AST_POSITION,                 /* @i */
    AST_CALL,                     /* a function or an operator */
    AST_LETTERS,                  /* ijk: a new operand */
    AST_TENSOR                    /* Q[batch,q,d] */
} AstKind;

struct AstExpr {
    AstKind kind;
    Span span;
    int depth;                    /* of the tree below, so that no pass recurses without bound */
    int operand;                  /* AST_LETTERS, AST_EMPTY: its number among them, in source order */
    AstExpr *next;
    bool parenthesised;           /* (pi) is the constant, pi between commas an operand */
    union {
        struct {
            double value;
            int64_t integer;      /* where `is_integer` */
            bool is_integer;
        } number;
        AstWord *position;
        struct {
            Function function;    /* FUNCTION_NONE: `name` is no function */
            Dtype cast;           /* of FUNCTION_CAST */
            AstWord *name;        /* NULL for operators */
            AstExpr *arguments;
            Span sign;            /* the operator's own place */
        } call;
        struct {
            AstWord *words, *last;
            AstDtype dtype;
        } letters;
        struct {
            AstWord *name;
            AstPosition *positions;
            AstDtype dtype;
        } tensor;
    };
};

/* Indices in an arrow or a reduction. */
typedef struct AstIndices {
    Span span;
    AstWord *items;
} AstIndices;

typedef struct AstArrow {
    Span span;
    AstIndices indices;
    AstDtype dtype;
} AstArrow;

typedef struct AstParameter AstParameter;
struct AstParameter {
    Span span;
    double value;
    bool is_integer;
    AstParameter *next;
};

typedef enum { STAGE_REDUCE, STAGE_APPLY, STAGE_EXPR } AstStageKind;

typedef struct AstStage AstStage;
struct AstStage {
    AstStageKind kind;
    Span span;
    AstStage *next;
    /* STAGE_REDUCE */
    Reduction reduction;
    AstWord *name;                /* STAGE_APPLY too */
    AstParameter *parameters;
    AstIndices indices;
    AstStage *also;               /* the next reduction of `&`, over the same value */
    /* STAGE_APPLY */
    Function function;
    Dtype cast;
    /* STAGE_EXPR: factors between commas, then the arrow or NULL */
    AstExpr *factors;
    AstArrow *arrow;
};

typedef struct AstChain {
    Span span;
    AstExpr *factors;             /* of the product; AST_EMPTY ones too */
    AstArrow *arrow;
    AstStage *stages, *last_stage;
} AstChain;

typedef struct AstTarget {
    Span span;
    AstWord *name;
    bool brackets;
    AstPosition *positions;
    AstDtype dtype;
} AstTarget;

typedef struct AstStatement AstStatement;
struct AstStatement {
    Span span;
    AstTarget *target;            /* NULL: the chain alone */
    bool accumulate;              /* += */
    AstChain *chain;              /* NULL: could not be parsed */
    AstStatement *next;
};

typedef struct Ast {
    const Source *source;
    AstStatement *statements;
    int operand_count;            /* of AST_LETTERS and AST_EMPTY */
} Ast;

enum { AST_DEPTH_MAX = 400 };

/* The Ast of a program. NULL after diagnostics, unless they are about numbers and dtypes alone: then check() goes on to
 * add its own, and refuses. */
Ast *parse(Arena *arena, const Source *source, Diags *diags);

void ast_dump(Text *text, const Ast *ast);

/* Whether `_`, written or implied, stands somewhere in it. */
bool ast_has_value(const AstExpr *expr);

#endif
