/* What every operator, function and reduction is: the one table that the lexer, the check, the evaluator and the
 * emitters read. To add one, add its row here and its bodies in templates/ (see docs/extending.md). */
#ifndef EINC_OPS_H
#define EINC_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "dtype.h"

/* How a function's dtype follows from its arguments'. All but casts, tests and parts promote first. */
typedef enum {
    RULE_ARITHMETIC,   /* narrow types widen; not for bool, but for + and *, which are or and and */
    RULE_ORDERED,      /* as RULE_ARITHMETIC, but not for complex */
    RULE_FLOAT,        /* of real numbers: integers become floats, narrow floats widen */
    RULE_POWER,        /* integers to an integer, else floats */
    RULE_ROUND,        /* integers stay what they are, floats widen */
    RULE_CHOOSE,       /* chooses among its arguments, so nothing widens; not for complex */
    RULE_WHERE,        /* as RULE_CHOOSE after a bool, complex too */
    RULE_COMPARE,      /* bool; not for complex */
    RULE_EQUAL,        /* bool */
    RULE_LOGIC,        /* bool from bools: an argument of another dtype is compared with 0 */
    RULE_TEST,         /* bool from any one number */
    RULE_PART,         /* the real dtype of a complex one */
    RULE_CONJUGATE,    /* any number stays what it is */
    RULE_COMPLEX,      /* two floats make a complex */
    RULE_CAST          /* the dtype that it names */
} Rule;

/* X(tag, name, arity, rule, complex too, ulp)
 *
 * ulp: the largest error of the kernels' own version, in units in the last place of the result, in f32 and f64; what
 * IEEE 754 rounds correctly has 0.5. Names that are no words are operators. */
#define FUNCTIONS(X)                                     \
    X(ADD, "+", 2, RULE_ARITHMETIC, true, 0.5)           \
    X(SUB, "-", 2, RULE_ARITHMETIC, true, 0.5)           \
    X(MUL, "*", 2, RULE_ARITHMETIC, true, 0.5)           \
    X(DIV, "/", 2, RULE_FLOAT, true, 0.5)                \
    X(LT, "<", 2, RULE_COMPARE, false, 0)                \
    X(LE, "<=", 2, RULE_COMPARE, false, 0)               \
    X(GT, ">", 2, RULE_COMPARE, false, 0)                \
    X(GE, ">=", 2, RULE_COMPARE, false, 0)               \
    X(EQ, "==", 2, RULE_EQUAL, true, 0)                  \
    X(NE, "!=", 2, RULE_EQUAL, true, 0)                  \
    X(AND, "&&", 2, RULE_LOGIC, true, 0)                 \
    X(OR, "||", 2, RULE_LOGIC, true, 0)                  \
    X(NOT, "!", 1, RULE_LOGIC, true, 0)                  \
    X(NEG, "neg", 1, RULE_ARITHMETIC, true, 0)           \
    X(ABS, "abs", 1, RULE_PART, true, 2)                 \
    X(SIGN, "sign", 1, RULE_ORDERED, false, 0)           \
    X(SQUARE, "square", 1, RULE_ARITHMETIC, true, 0.5)   \
    X(SQRT, "sqrt", 1, RULE_FLOAT, true, 0.5)            \
    X(RSQRT, "rsqrt", 1, RULE_FLOAT, true, 1.5)          \
    X(RECIP, "recip", 1, RULE_FLOAT, true, 0.5)          \
    X(EXP, "exp", 1, RULE_FLOAT, true, 4)                \
    X(EXP2, "exp2", 1, RULE_FLOAT, false, 4)             \
    X(EXPM1, "expm1", 1, RULE_FLOAT, false, 4)           \
    X(LOG, "log", 1, RULE_FLOAT, true, 4)                \
    X(LOG2, "log2", 1, RULE_FLOAT, false, 4)             \
    X(LOG10, "log10", 1, RULE_FLOAT, false, 4)           \
    X(LOG1P, "log1p", 1, RULE_FLOAT, false, 4)           \
    X(SIN, "sin", 1, RULE_FLOAT, true, 4)                \
    X(COS, "cos", 1, RULE_FLOAT, true, 4)                \
    X(TAN, "tan", 1, RULE_FLOAT, true, 4)                \
    X(ASIN, "asin", 1, RULE_FLOAT, false, 4)             \
    X(ACOS, "acos", 1, RULE_FLOAT, false, 4)             \
    X(ATAN, "atan", 1, RULE_FLOAT, false, 4)             \
    X(ATAN2, "atan2", 2, RULE_FLOAT, false, 4)           \
    X(SINH, "sinh", 1, RULE_FLOAT, true, 4)              \
    X(COSH, "cosh", 1, RULE_FLOAT, true, 4)              \
    X(TANH, "tanh", 1, RULE_FLOAT, true, 4)              \
    X(SIGMOID, "sigmoid", 1, RULE_FLOAT, false, 6)       \
    X(SOFTPLUS, "softplus", 1, RULE_FLOAT, false, 6)     \
    X(RELU, "relu", 1, RULE_ORDERED, false, 0)           \
    X(GELU, "gelu", 1, RULE_FLOAT, false, 8)             \
    X(SILU, "silu", 1, RULE_FLOAT, false, 8)             \
    X(ERF, "erf", 1, RULE_FLOAT, false, 4)               \
    X(POW, "pow", 2, RULE_POWER, true, 8)                \
    X(MIN, "min", 2, RULE_CHOOSE, false, 0)              \
    X(MAX, "max", 2, RULE_CHOOSE, false, 0)              \
    X(CLAMP, "clamp", 3, RULE_CHOOSE, false, 0)          \
    X(FLOOR, "floor", 1, RULE_ROUND, false, 0)           \
    X(CEIL, "ceil", 1, RULE_ROUND, false, 0)             \
    X(ROUND, "round", 1, RULE_ROUND, false, 0)           \
    X(TRUNC, "trunc", 1, RULE_ROUND, false, 0)           \
    X(MOD, "mod", 2, RULE_ORDERED, false, 1)             \
    X(WHERE, "where", 3, RULE_WHERE, true, 0)            \
    X(ISNAN, "isnan", 1, RULE_TEST, true, 0)             \
    X(ISINF, "isinf", 1, RULE_TEST, true, 0)             \
    X(ISFINITE, "isfinite", 1, RULE_TEST, true, 0)       \
    X(REAL, "real", 1, RULE_PART, true, 0)               \
    X(IMAG, "imag", 1, RULE_PART, true, 0)               \
    X(CONJ, "conj", 1, RULE_CONJUGATE, true, 0)          \
    X(COMPLEX, "complex", 2, RULE_COMPLEX, false, 0)     \
    X(CAST, "cast", 1, RULE_CAST, true, 0.5)

/* X(tag, dtype, roundings)
 *
 * What a grid's threads have an instruction for, of an argument that is scaled first: e^x is 2^(x log2 e), in f32, where
 * the instruction's own error is 2 ulp. Beside what the table above allows, such a function's result is as if its argument
 * were off by so many roundings: that of the product, and of the constant, which is off by 0.23 of one. */
#define SCALED_FUNCTIONS(X) \
    X(EXP, DTYPE_F32, 1.25)

/* X(tag, dtype, error)
 *
 * What kernels make with fewer instructions where all that becomes of it is rounded to bf16, whose numbers are 2^-8 apart: the
 * largest relative error, that of a scaled argument included. What is below the normal numbers may be 0. */
#define COARSE_FUNCTIONS(X)     \
    X(EXP, DTYPE_F32, 0x1p-13)  \
    X(EXP2, DTYPE_F32, 0x1p-13)

typedef enum {
#define X(tag, name, arity, rule, complex, ulp) FUNCTION_##tag,
    FUNCTIONS(X)
#undef X
    FUNCTION_COUNT,
    FUNCTION_NONE = FUNCTION_COUNT
} Function;

/* What a reduction leaves of its indices. */
typedef enum {
    LEAVES_NOTHING,    /* sum: they are gone */
    LEAVES_ALL,        /* softmax, cumsum: they stay */
    LEAVES_RANKS       /* topk(10) n: n stays with extent 10, best first */
} Leaves;

/* How a reduction's dtype follows from its argument's. */
typedef enum {
    GIVES_SUM,         /* wide enough to add up: narrow types widen, bool counts in i64, i32 adds up in i64 */
    GIVES_MEAN,        /* a float; of integers f64 */
    GIVES_FLOAT,       /* a float, narrow ones widened */
    GIVES_NORM,        /* a real float */
    GIVES_SAME,        /* one of the values that it saw */
    GIVES_BOOL,
    GIVES_POSITION     /* i64 */
} Gives;

typedef enum { NO_PARAMETER, MAY_HAVE_PARAMETER, NEEDS_PARAMETER } Parameters;

/* X(tag, name, parameters, leaves, gives, of an empty range, ordered, of its own, state)
 *
 * "of an empty range": whether it has a value there (an empty max has none).
 * "ordered": whether it compares, and so has no meaning for complex numbers.
 * "of its own": whether that of all elements is that of its values of parts of equal size (of norms, of those that are sums).
 * "state": reductions of one argument that have the same state are computed by one pass over it. */
#define REDUCTIONS(X) \
    X(SUM, "sum", NO_PARAMETER, LEAVES_NOTHING, GIVES_SUM, true, false, true, STATE_SUM) \
    X(PROD, "prod", NO_PARAMETER, LEAVES_NOTHING, GIVES_SUM, true, false, true, STATE_PROD) \
    X(MAX, "max", NO_PARAMETER, LEAVES_NOTHING, GIVES_SAME, false, true, true, STATE_MAX) \
    X(MIN, "min", NO_PARAMETER, LEAVES_NOTHING, GIVES_SAME, false, true, true, STATE_MIN) \
    X(MEAN, "mean", NO_PARAMETER, LEAVES_NOTHING, GIVES_MEAN, true, false, true, STATE_SUM) \
    X(ANY, "any", NO_PARAMETER, LEAVES_NOTHING, GIVES_BOOL, true, false, true, STATE_ANY) \
    X(ALL, "all", NO_PARAMETER, LEAVES_NOTHING, GIVES_BOOL, true, false, true, STATE_ALL) \
    X(NORM, "norm", MAY_HAVE_PARAMETER, LEAVES_NOTHING, GIVES_NORM, true, false, true, STATE_NORM) \
    X(VAR, "var", MAY_HAVE_PARAMETER, LEAVES_NOTHING, GIVES_NORM, true, false, false, STATE_MOMENTS) \
    X(STD, "std", MAY_HAVE_PARAMETER, LEAVES_NOTHING, GIVES_NORM, true, false, false, STATE_MOMENTS) \
    X(LOGSUMEXP, "logsumexp", NO_PARAMETER, LEAVES_NOTHING, GIVES_FLOAT, true, true, true, STATE_EXPONENTIALS) \
    X(ARGMAX, "argmax", NO_PARAMETER, LEAVES_NOTHING, GIVES_POSITION, false, true, false, STATE_ARGMAX) \
    X(ARGMIN, "argmin", NO_PARAMETER, LEAVES_NOTHING, GIVES_POSITION, false, true, false, STATE_ARGMIN) \
    X(TOPK, "topk", NEEDS_PARAMETER, LEAVES_RANKS, GIVES_SAME, false, true, false, STATE_TOPK) \
    X(BOTTOMK, "bottomk", NEEDS_PARAMETER, LEAVES_RANKS, GIVES_SAME, false, true, false, STATE_BOTTOMK) \
    X(ARGTOPK, "argtopk", NEEDS_PARAMETER, LEAVES_RANKS, GIVES_POSITION, false, true, false, STATE_TOPK) \
    X(ARGBOTTOMK, "argbottomk", NEEDS_PARAMETER, LEAVES_RANKS, GIVES_POSITION, false, true, false, STATE_BOTTOMK) \
    X(SOFTMAX, "softmax", NO_PARAMETER, LEAVES_ALL, GIVES_FLOAT, true, true, false, STATE_EXPONENTIALS) \
    X(LOG_SOFTMAX, "log_softmax", NO_PARAMETER, LEAVES_ALL, GIVES_FLOAT, true, true, false, STATE_EXPONENTIALS) \
    X(CUMSUM, "cumsum", NO_PARAMETER, LEAVES_ALL, GIVES_SUM, true, false, false, STATE_SUM) \
    X(CUMPROD, "cumprod", NO_PARAMETER, LEAVES_ALL, GIVES_SUM, true, false, false, STATE_PROD) \
    X(CUMMAX, "cummax", NO_PARAMETER, LEAVES_ALL, GIVES_SAME, true, true, false, STATE_MAX) \
    X(CUMMIN, "cummin", NO_PARAMETER, LEAVES_ALL, GIVES_SAME, true, true, false, STATE_MIN)

typedef enum {
#define X(tag, name, parameters, leaves, gives, empty, ordered, nests, state) REDUCTION_##tag,
    REDUCTIONS(X)
#undef X
    REDUCTION_COUNT,
    REDUCTION_NONE = REDUCTION_COUNT
} Reduction;

typedef enum {
    STATE_SUM, STATE_PROD, STATE_MAX, STATE_MIN, STATE_ANY, STATE_ALL, STATE_NORM, STATE_MOMENTS, STATE_EXPONENTIALS,
    STATE_ARGMAX, STATE_ARGMIN, STATE_TOPK, STATE_BOTTOMK, STATE_COUNT
} State;

/* X(reduction, function, floats only)
 *
 * Semirings: f(a, x) can be taken out of a reduction over an index that `a` lacks, as a factor out of a sum. Integers
 * wrap around, so that one added to all may change which is the largest. */
#define SEMIRINGS(X)          \
    X(SUM, MUL, false)        \
    X(ANY, MUL, false)        \
    X(ANY, AND, false)        \
    X(ALL, OR, false)         \
    X(MAX, ADD, true)         \
    X(MIN, ADD, true)         \
    X(MAX, MIN, false)        \
    X(MIN, MAX, false)        \
    X(LOGSUMEXP, ADD, true)

typedef struct FunctionFacts {
    const char *name;
    int arity;
    Rule rule;
    bool complex;      /* whether it takes complex numbers */
    double ulp;
} FunctionFacts;

typedef struct ReductionFacts {
    const char *name;
    Parameters parameters;
    Leaves leaves;
    Gives gives;
    bool empty;
    bool ordered;
    bool nests;
    State state;
} ReductionFacts;

extern const FunctionFacts function_facts[FUNCTION_COUNT];

/* Of SCALED_FUNCTIONS; 0 for all else. */
double function_scaling(Function function, Dtype dtype);

/* Of COARSE_FUNCTIONS; 0 for all else. */
double function_coarseness(Function function, Dtype dtype);

extern const ReductionFacts reduction_facts[REDUCTION_COUNT];

/* A word of the notation, or _NONE. A dtype's name finds FUNCTION_CAST; operators are not found. */
Function function_find(const char *name, size_t length);
Reduction reduction_find(const char *name, size_t length);

/* The function or dtype that a word is nearly, for "did you mean"; NULL: none. */
const char *ops_nearest_function(const char *word, size_t length);

/* "did you mean" for a word where a reduction's name belongs: the nearest by letters, or by what others call it; NULL:
 * none. In the arena, like the next. */
const char *ops_nearest_reduction(Arena *arena, const char *word, size_t length);

/* The same; where no name is near, all that there are. */
const char *ops_reduction_hint(Arena *arena, const char *word, size_t length);

#endif
