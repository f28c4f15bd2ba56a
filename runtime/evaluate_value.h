/* Values with bounds: what the parts of the evaluator share. evaluate.c walks the Program, evaluate_value.c adds and
 * multiplies, evaluate_sum.c adds up, evaluate_map.c, evaluate_complex.c and evaluate_power.c know the functions,
 * evaluate_reduce.c and evaluate_order.c the reductions. Only they include it.
 *
 * A Value stands for every number that a correct kernel may have in its place: those within the bound. Each function
 * here takes such Values and gives one that holds whatever the kernel may make of them, if it rounds each operation in
 * the term's dtype, with the error that ops.h allows. A bound of 0 is a promise: every kernel has exactly this number.
 * What no bound can describe is open. */
#ifndef EINC_EVALUATE_VALUE_H
#define EINC_EVALUATE_VALUE_H

#include "evaluate.h"

/* A float dtype, or the parts of a complex one. */
typedef struct Format {
    int digits;                   /* of the significand, the hidden bit included */
    int lowest;                   /* the last bit of the smallest denormal is 2^lowest */
    double unit;                  /* the largest relative error of one rounding: 2^-digits */
    double tiny;                  /* the largest absolute error of an operation whose result underflows */
    double huge;                  /* the largest finite number */
} Format;

const Format *format_of(Dtype dtype);

#define VALUE_ERROR 0x1p-50       /* the evaluator's own: its functions are float64's, a few of them composed */

/* ---- making Values ---- */

Value value_exact(double re);
Value value_whole(int64_t integer);
Value value_parts(double re, double im);            /* exact */
Value value_open(void);

/* The result of one operation of `dtype`. `carried`: how far the arguments' bounds can move it; `ulps`: the operation's
 * own error; `exact`: whether `re` is the result to the last bit if the arguments are exact. */
Value value_rounded(Dtype dtype, double re, double carried, double ulps, bool exact);

/* Everything that is in `a` or in `b`. */
Value value_either(Dtype dtype, Value a, Value b);

bool value_is_nan(Value a);                         /* either part; not asked of open values */
bool value_is_finite(Value a);                      /* both parts */

/* The ends of the interval, rounded outwards. */
double value_low(Value a);
double value_high(Value a);

/* The largest modulus of a number within the bound, and the largest distance from the value. */
double value_reach(Value a);
double value_distance(Dtype dtype, Value a);

/* ---- arithmetic in a float or complex dtype ---- */

Value value_add(Dtype dtype, Value a, Value b);
Value value_negate(Dtype dtype, Value a);
Value value_mul(Dtype dtype, const Value *a, const Value *b);
Value value_mul_flushed(const Value *a, const Value *b);         /* of two bf16 to an f32 that is added to others */
Value value_div(Dtype dtype, Value a, Value b);
Value value_root(Dtype dtype, Value a);             /* of what is not negative, whatever its bound says */
Value value_modulus(Dtype dtype, Value a);
Value value_cast(Dtype to, Dtype from, Value a);    /* between any two dtypes */
bool value_is_same(Dtype to, Dtype from);           /* whether a cast of floats or complex numbers changes none of them */

int64_t wrap(Dtype dtype, uint64_t integer);        /* into an integer dtype, modulo 2^bits */

/* n * unit / (1 - n * unit): the relative error of n roundings, one upon the other. */
double rounding_errors(const Format *format, double n);

/* Whether a - b, a + b or a * b in float64 loses nothing. */
bool sum_is_exact(double a, double b);
bool product_is_exact(double a, double b);

/* The last bit of a finite number that is not 0, as a power of 2. */
int last_bit(double x);

/* ---- a sum in any order ---- */

/* Of any dtype: integers wrap, bools are joined by or. A Sum of zeros, but for the dtype, is an empty one. */
typedef struct Sum {
    Dtype dtype;
    int64_t count;                /* of the summands that are not exactly 0 */
    uint64_t integer;
    double part[2], rest[2];      /* real and imaginary: the sum, and what its roundings lost */
    double size[2];               /* the sum of the absolute values */
    double bound;                 /* the sum of the bounds */
    int last;                     /* the least last bit of all summands, once one that is not 0 has begun it */
    bool nan[2], up[2], down[2];  /* a NaN, +inf or -inf was there */
    bool begun, inexact, open;
    bool truncates;               /* additions may round toward zero: each is then off by twice as much */
} Sum;

void sum_add(Sum *sum, const Value *value);
Value sum_value(const Sum *sum);

/* ---- a product in any order: evaluate_reduce.c ---- */

/* Of `count` numbers. *largest: no product of some of them is larger in size. */
Value value_product(Dtype dtype, const Value *x, int64_t count, double *largest);

/* ---- functions: evaluate_map.c, evaluate_complex.c, evaluate_power.c ---- */

/* `dtype`: the term's; `from`: its arguments'. */
Value map_apply(Function function, Dtype dtype, Dtype from, const Value *arguments);
Value map_real(Function function, Dtype dtype, Value x);
Value map_complex(Function function, Dtype dtype, Value z);
Value map_power(Dtype dtype, Value x, Value y);
Value map_power_of_size(Dtype dtype, Value x, Value y);   /* of an x that is not negative, whatever its bound says */
int64_t integer_power(Dtype dtype, int64_t base, int64_t exponent);

/* ---- reductions: evaluate_reduce.c, evaluate_order.c ---- */

/* An element as a sort sees it: NaN first, then the smaller key. */
typedef struct Ranked {
    double key;                   /* of floats; negated where the largest is best */
    int64_t integer;              /* of integers, likewise, but complemented, which cannot overflow */
    int64_t position;
} Ranked;

/* What a TERM_REDUCE makes of `count` values of its argument, in the order of its indices: one Value, or for what keeps
 * its indices `count`, or for topk and its kin k. `scratch` has room for `count`. */
void reduce_values(const Term *term, const Value *x, int64_t count, Ranked *scratch, Value *result);
void order_values(const Term *term, const Value *x, int64_t count, Ranked *scratch, Value *result);

/* Whether a kernel's argmax or argtopk may have `position` at `rank`. */
bool order_accepts(const Term *term, const Value *x, int64_t count, int64_t rank, int64_t position);

#endif
