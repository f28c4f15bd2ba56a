/* Reductions over a combination of several factors, each of which can be taken out of the reduction over an index that
 * it lacks: a sum of products, a maximum of sums and the like. The pairs are in ops.h. */
#ifndef EINC_SEMIRING_H
#define EINC_SEMIRING_H

#include "program.h"

/* The combination that a reduction runs over, behind casts that only widen and arrows that only put indices in order;
 * NULL: it is no semiring's. */
const Term *semiring_top(const Term *reduce);

/* Calls `on` for each factor of a combination, in the order of the text; a factor that stands there twice comes twice. */
void semiring_each_factor(const Term *top, OnTerm *on, void *user);

int semiring_factor_count(const Term *top);

/* The reduction of the same kind that one runs over, as in a sum of sums, behind casts that only widen; else NULL, also where that
 * rounds to a narrower dtype. A mean is of a sum's kind. */
const Term *semiring_inner(const Term *reduce);

/* The combination that a reduction, or the innermost of its kind in it, runs over, if its factors may be contracted in any order,
 * two at a time; else NULL. There are three and more, or two that each lack an index, one of which is reduced and stands in
 * one factor alone: that factor may be reduced first. */
const Term *semiring_any_order(const Term *reduce);

#endif
