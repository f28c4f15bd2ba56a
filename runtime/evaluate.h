/* The reference evaluator: the meaning of a Program, element by element, by plain loops straight from its terms: in
 * float64, complex128, or exact integers of the term's dtype. Beside each value it carries a bound on the error of a
 * kernel, which computes each term in the term's own dtype and adds up in any order. Slow and simple on purpose:
 * everything else is compared with it. */
#ifndef EINC_EVALUATE_H
#define EINC_EVALUATE_H

#include "array.h"
#include "extents.h"

/* What an element is, and how far from it a kernel's result may be.
 *
 * A result r is right when |r - re| <= bound (of complex numbers, both parts), when both are NaN or the same infinity,
 * or when `open` is set: a comparison, a floor or a position before it was decided by less than the errors there, or a
 * number may have overflowed, so that the result may be anything. Integers and bools are exact: `integer`, with bound
 * 0, or open. -0 and +0 are the same. A rounding to a narrower dtype is in the bound, not in the value: f16(0.1) is
 * 0.1, give or take half an ulp of f16. */
typedef struct Value {
    double re, im;
    int64_t integer;
    double bound;
    bool open;
    bool either;                      /* of a zero or an infinity: some kernels have the other sign */
    double inside, grain;             /* of a complex product: the two real ones that a part adds up are no larger than `inside` together,
                                       * and multiples of the power of two `grain`. A sum may take them one by one. Else 0 */
} Value;

typedef struct Evaluator Evaluator;

/* `arrays` has an array per tensor id: the inputs, and what a `+=` adds to (NULL there: zeros); NULL elsewhere. All
 * extents must be known. Everything is borrowed until evaluator_free(). NULL without memory. One thread at a time. */
Evaluator *evaluator_new(const Program *program, const Extents *extents, const Array *const *arrays);

/* Products of f32 may be off by so much of their size: what a kernel was allowed to leave out of them. */
void evaluator_allow(Evaluator *evaluator, double error);

/* The kernel is for a grid of threads, whose functions may be made otherwise: SCALED_FUNCTIONS in ops.h. */
void evaluator_scales(Evaluator *evaluator);
void evaluator_free(Evaluator *evaluator);

/* From now on a computation asks now and then whether to go on, and stops, as if it had read out of range but without an
 * error, once `goes_on` says no. */
void evaluator_ask(Evaluator *evaluator, bool (*goes_on)(void *user), void *user);

/* One element of what a statement makes, computed on demand with no more than it needs (a scatter's element is its
 * whole statement). `position` has the tensor's rank. False when a read was out of range: see evaluator_error(). */
bool evaluator_element(Evaluator *evaluator, const Output *output, const int64_t *position, Value *value);

/* Whether `result`, an element of the output's dtype that a kernel made, is right. It differs from comparing with
 * evaluator_element() where the output is a position (argmax, argtopk): any position whose value cannot be told from
 * the best passes. So one row of argtopk may pass with a position twice, which a caller who has the row can see. False
 * with *failed set when a read was out of range. */
bool evaluator_accepts(Evaluator *evaluator, const Output *output, const int64_t *position, const void *result,
                       bool *failed);

/* What was read or written out of range: "'W' at 70, but axis 0 has 50"; or "out of memory". "" when nothing was. */
const char *evaluator_error(const Evaluator *evaluator);

/* Whether so far a read out of range may have happened or not: a condition that is open decides. */
bool evaluator_may_miss(const Evaluator *evaluator);

/* The term that this happened in, or the target's position, for their spans; one of them, and both NULL when nothing did or
 * memory ran out. */
const Term *evaluator_culprit(const Evaluator *evaluator);
const Position *evaluator_astray(const Evaluator *evaluator);

#endif
