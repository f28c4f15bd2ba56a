/* The Program: what a checked text means, in SSA form, valid by construction.
 *
 * A Program is a list of statements; a statement stores the values of terms in tensors; a term is one operation over
 * index variables. `ijk,mnk->ijmn | max n` is
 *
 *     t0 = read A[i,j,k]
 *     t1 = read B[m,n,k]
 *     t2 = map * (t0, t1)               [i,j,k,m,n]
 *     t3 = contract k of t2             [i,j,m,n]
 *     t4 = reduce max n of t3           [i,j,m]
 *
 * Terms stand in an order in which each comes after what it uses. Index variables belong to one statement. Extents are
 * not numbers here: each index has a rule that says which shapes fix it, so that one Program serves all shapes. */
#ifndef EINC_PROGRAM_H
#define EINC_PROGRAM_H

#include "ast.h"

typedef struct Index Index;
typedef struct Tensor Tensor;
typedef struct Term Term;
typedef struct Statement Statement;

enum { RANK_MAX = 64 };

/* coefficient * index, or coefficient * the value of a term of integers (a gather). */
typedef struct PositionPart {
    int64_t coefficient;          /* never 0 */
    Index *index;                 /* NULL for a gather */
    Term *gather;
} PositionPart;

/* Where along one axis an operand is read, or a target written: constant + the sum of the parts. An index appears in
 * one part at most. */
typedef struct Position {
    Span span;
    int64_t constant;
    int count;
    PositionPart *parts;
    const Index *within;          /* in a gathered program: it stands for this index of the checked one, which has none but its values */
} Position;

/* How an index gets its extent. */
typedef enum {
    EXTENT_RANKS,                 /* the k of topk(k) */
    EXTENT_AXES,                  /* it stands alone at axes: their common size, where 1 gives way */
    EXTENT_FITS,                  /* of a caller's array where it stands alone in one that is passed; else the largest
                                     that keeps positions in range */
    EXTENT_GIVEN,                 /* nothing fixes it: the user does, by name */
    EXTENT_WRITTEN                /* of no text: along an axis at which a `+=` writes at a sum of indices, from the first element to the
                                     last that may be */
} ExtentRule;

typedef struct Axis {
    Tensor *tensor;
    int axis;
    Span span;                    /* the place that ties the index to this axis */
} Axis;

/* A position of a read that bounds an extent: the largest for which it stays inside its axis. The extents of the other
 * indices in it come first; no two indices wait for each other. */
typedef struct Fit {
    const Tensor *tensor;
    int axis;
    const Position *position;
} Fit;

struct Index {
    const char *name;
    Span span;                    /* where its statement first names it */
    int id;                       /* in Program.indices */
    int statement;                /* in Program.statements */
    ExtentRule rule;
    int64_t ranks;                /* EXTENT_RANKS */
    Axis *axes;                   /* where it stands alone in something read, or in a target that the caller passes */
    int axis_count;
    Fit *fits;                    /* EXTENT_FITS: the extent is the least that any of them allows */
    int fit_count;
    const Position *written;      /* EXTENT_WRITTEN */
    bool in_dots;                 /* a dimension of "...": the name is not the user's, so no -d means it */
    const Index *origin;          /* in an ordered or lowered program: the index of the checked one that has this extent */
};

/* An input, or what a statement makes. */
struct Tensor {
    const char *name;             /* NULL: an operand of letters, or a result without a name */
    const char *label;            /* how diagnostics and generated code call it; unique */
    Span span;                    /* where it first stands */
    int id;                       /* in Program.tensors */
    int input;                    /* its place among the inputs; -1 when a statement makes it */
    int rank;
    Dtype dtype;
    const Statement *maker;       /* NULL: an input */
    Index **axes;                 /* of a made tensor: the index along each axis, NULL where the position is computed */
    Tensor *previous;             /* of `+=`: the value that an earlier statement gave this name, which it adds to */
    bool from_caller;             /* of `+=`: it adds to the caller's array */
    Index **written;              /* of `+=`: along each axis an EXTENT_WRITTEN, NULL at plain indices; NULL: it scatters otherwise, or not */
    /* in an ordered or lowered program */
    const Tensor *origin;         /* in a lowered one: the tensor of the checked program that the caller passes; NULL for a temporary */
    const Tensor *source;         /* the tensor of the checked program, passed or not; NULL where a pass made it */
    Tensor *home;                 /* the last that `+=` makes of this array: they all are in one place */
    const Tensor *whole;          /* an input of complex numbers, whose parts these are: the last axis is theirs; else NULL */
};

typedef enum {
    TERM_READ,                    /* a tensor's element; a gather where a position has one */
    TERM_CONSTANT,
    TERM_POSITION,                /* @i */
    TERM_EXTENT,                  /* in a gathered or lowered program: how many points an index has */
    TERM_MAP,                     /* a function of terms */
    TERM_SELECT,                  /* where(condition, yes, no): only the chosen branch is evaluated */
    TERM_CONTRACT,                /* `->`: Einstein's sum over the indices that are not listed */
    TERM_REDUCE
} TermKind;

/* How good a function's results have to be. */
typedef enum {
    GRADE_FULL,
    GRADE_COARSE,                 /* all that becomes of them is rounded to bf16 (COARSE_FUNCTIONS in ops.h) */
    GRADE_LARGE                   /* they may be 0 where a product of two of them would be below the normal numbers */
} Grade;

/* A number that takes the other side's dtype, and of what kind it is meanwhile. */
typedef enum { WEAK_NO, WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX } Weak;

struct Term {
    TermKind kind;
    int id;                       /* in Program.terms */
    int statement;
    Span span;
    Dtype dtype;                  /* of a weak term: i64, f64 or c128 */
    Weak weak;
    Index **indices;              /* what it depends on, in the chain's order */
    int rank;
    bool is_value;                /* a stage ends with it, so that it is what "_" stands for in the next */
    const Term *origin;           /* in an ordered or lowered program: of a read, the one of the checked program, or NULL */
    bool refused;                 /* in a lowered program: evaluated only where a faster form is refused */
    union {
        struct {
            Tensor *tensor;
            Position *positions;  /* tensor->rank of them */
            bool in_where;        /* inside a where's branch as written: such a read fixes no extent */
            bool carried;         /* in a sweep: what the block before left; in the first one `start` */
            double start;
        } read;
        struct {
            double value;
            int64_t integer;
            bool is_integer;      /* exactly `integer`; else `value` */
        } constant;
        Index *position;
        const Index *extent;      /* of the checked program */
        struct {
            Function function;    /* FUNCTION_CAST: to this term's dtype */
            bool implicit;        /* a cast that the rules of promotion put there; it is not printed. A softmax's
                                   * difference: of its argument as rounded, as the maximum has it */
            Grade grade;          /* lowered: how good it has to be */
            bool comma;           /* a product written with ",", whose factors are all promoted together */
            Term **arguments;
            int count;
        } map;
        struct {
            Term *condition, *yes, *no;
        } select;
        struct {
            Reduction reduction;  /* TERM_CONTRACT: REDUCTION_SUM, or REDUCTION_ANY of bool */
            double parameter;     /* norm's p, var's ddof, topk's k */
            bool has_parameter;
            Index **over;         /* what it runs over, in the order that gives argmax its positions */
            int over_count;
            Dtype declared;       /* TERM_CONTRACT: as written behind the arrow, or DTYPE_NONE */
            Index *ranks;         /* of topk and its kin: the index that stands for `over` in the result */
            Term *argument;
        } reduce;
    };
};

/* value -> tensor[positions] */
typedef struct Output {
    Tensor *tensor;
    Term *value;
    Position *positions;          /* tensor->rank; plain unless the statement accumulates */
    bool partly;                  /* in a lowered program: the value is a where, and nobody reads it where the condition fails */
} Output;

/* Statements that run together block by block of an index that each keeps or reduces: see lower_sweep.c. */
typedef struct Sweep {
    int id;
    const Index *origin;          /* the index of the checked program that has the extent */
    int64_t points;               /* of a block, at most */
} Sweep;

struct Statement {
    Span span;
    int id;
    bool named;                   /* written with a target */
    bool accumulate;              /* += */
    Dtype declared;               /* the target's dtype where it was written or is its array's, or DTYPE_NONE */
    Output *outputs;              /* several only for `&`, in the last statement */
    int output_count;
    bool stored;                  /* in an ordered program: a value in between, that its reader does not make again */
    /* in a lowered program */
    const Index *turned;          /* the lanes run along it, and operands that lie otherwise were copied so; NULL: see turn.h */
    bool rows_short;              /* and of which it is one of the rows */
    const Sweep *sweep;           /* it runs for each block of a sweep, with the others that do; NULL: once */
    Index *swept;                 /* its index that the blocks are of, kept or reduced; NULL: it has none */
    bool goes_on;                 /* a ranking in a sweep: it keeps its candidates from block to block, and stores behind the last */
};

typedef struct Program {
    Arena *arena;
    const Source *source;
    Tensor **tensors;
    int tensor_count;
    Tensor **inputs;              /* in order of first appearance */
    int input_count;
    Index **indices;
    int index_count;
    Index *part;                  /* of a checked program, of no text: real and imaginary; NULL: no sum is of complex numbers */
    Term **terms;
    int term_count;
    Statement **statements;
    int statement_count;
    const struct Program *origin; /* of an ordered program, the checked one; else NULL */
} Program;

/* What has to be stored of an output: without the where that nobody asks for. */
const Term *output_stored(const Output *output);

/* What the caller knows of an operand before the program is checked. */
typedef struct OperandSpec {
    const char *name;             /* NULL: the next input in order of first appearance */
    Dtype dtype;                  /* DTYPE_NONE: not known */
    int rank;                     /* -1: not known */
    const int64_t *shape;         /* NULL: not known */
} OperandSpec;

typedef struct ExtentSpec {
    const char *name;             /* of an index, in every statement that has it */
    int64_t extent;
    bool is_hint;                 /* operands may tell another */
} ExtentSpec;

typedef struct CheckOptions {
    const OperandSpec *operands;
    int operand_count;
    const ExtentSpec *extents;
    int extent_count;
} CheckOptions;

/* The Program that an Ast means. NULL after diagnostics. Inputs whose dtype nobody knows are f32; a rank that only
 * an array could tell ("...") and that nobody knows is an error. */
Program *check(Arena *arena, const Ast *ast, const CheckOptions *options, Diags *diags);

/* An input as the text alone tells it. */
typedef struct Operand {
    const char *name;             /* NULL: an operand of letters */
    const char *label;            /* as Tensor.label: the name, or A, B, … */
    Span span;
    bool is_compared;             /* a letter in a comparison, which may be meant as a position */
} Operand;

/* A name that a statement makes. */
typedef struct MadeName {
    const char *name;
    bool adds;                    /* its first statement is a `+=`: it adds to the caller's array */
} MadeName;

typedef struct Inputs {
    Operand *operands;            /* the inputs, in order of first appearance */
    int operand_count;
    MadeName *made;
    int made_count;
    bool broken;                  /* check() will refuse the text, whatever the arrays are */
} Inputs;

/* What a text's operands are, before anything is known of them; mistakes in it are for check() to report. */
Inputs *check_inputs(Arena *arena, const Ast *ast);

/* Which tensor each of the options' operands is, by tensor id; -1 for none. In the arena. The program was checked with
 * the same operands: named ones find their name (the last tensor that has it), the others follow in order of input. */
const int *check_bind(Arena *arena, const Program *program, const CheckOptions *options);

/* The Program in the notation; what is printed reads back as the same Program. */
void program_print(Text *text, const Program *program);

/* The Program as a list of terms, for `-dprogram`. */
void program_dump(Text *text, const Program *program);

/* NULL, or which invariant does not hold. */
const char *program_verify(const Program *program);

/* Whether two programs are the same up to spans and the numbers of terms. */
bool program_equal(const Program *a, const Program *b);

typedef struct IndexSet {
    Index **list;
    int count;
} IndexSet;

bool position_is_plain(const Position *position);
bool position_has_gather(const Position *position);
bool statement_scatters(const Statement *statement);         /* a `+=` at computed positions */
/* What is read of a tensor by a statement that scatters it; NULL: none does. */
const Term *program_scattered_read(const Program *program, const Tensor *tensor);
bool term_has_index(const Term *term, const Index *index);
bool term_reads_plainly(Arena *arena, const Term *term);     /* all that it reads is at indices that stand alone, so always in range */
const Term *term_without_arrow(const Term *term);            /* what arrows have that only put indices in order */
bool term_is_whole(const Term *term);    /* whether it is made of complex numbers by more than taking apart and putting together */
bool term_is_number(const Term *term, double number);    /* a constant, whatever its dtype and sign are made by */
bool term_f32_number(const Term *term, double *number);  /* whether it is one, in f32 */
const Term *term_without_factors(const Term *term, double *factor);    /* a term in f32, whose constant factors become one */
bool indices_have(Index *const *indices, int count, const Index *index);

/* Whether a condition compares integers; of such a one the side that is abs(x) and has to be within the other, -1: none; and a
 * side, of that one x. */
bool comparison_is_of_integers(const Term *condition);
int comparison_within(const Term *comparison);
const Term *comparison_side(const Term *comparison, int side);

/* Whether a condition bounds a loop over one of the indices: comparisons of its position are among its parts, those that all
 * have to hold. And whether of what depends on an index there is nothing but such. */
bool condition_bounds(const Term *condition, Index *const *over, int count);
bool condition_only_bounds(const Term *condition, const Index *index);

/* Calls `on` for each term that a term is made of: gathers, arguments, a condition and its branches. */
typedef void OnTerm(void *user, const Term *term);
void term_each_argument(const Term *term, OnTerm *on, void *user);

/* Calls `on` for a term and all below it, each once however many share it, what is below first. */
void term_each_below(Arena *arena, const Term *term, OnTerm *on, void *user);

/* The same for those not yet seen, which then are: seen[term id]. Terms may have any numbers. */
void term_each_unseen(bool *seen, const Term *term, OnTerm *on, void *user);

/* Lists again the terms that statements are made of, each behind what it uses, and numbers them so. */
void program_sort_terms(Program *program);

/* The tensor that stands for a name at the end of the program, or NULL. */
Tensor *program_find(const Program *program, const char *name);

/* What the program results in: the outputs of its last statement. */
const Statement *program_result(const Program *program);

/* The index that stands alone at a tensor's axis, or NULL. */
const Index *program_axis_index(const Program *program, const Tensor *tensor, int axis);

/* Which statements are needed for the tensors that are `wanted` (by tensor id); by statement id, in the arena. */
bool *program_needed(Arena *arena, const Program *program, const bool *wanted);

/* An operand as diagnostics call it: "operand 2" or "'Q'". In the arena. */
const char *tensor_words(Arena *arena, const Tensor *tensor);

#endif
