/* What a plan costs for given extents: operations, bytes, and the largest tensor that is never stored. */
#ifndef EINC_COST_H
#define EINC_COST_H

#include "plan.h"

/* Numbers are exact counts as doubles; -1 where an extent is not known. */
typedef struct Cost {
    double flops;                 /* each function and each step of a reduction counts as one */
    double bytes;                 /* what is met of inputs read once, and outputs written once: the least that can move */
    double stored;                /* bytes of temporaries, whole: what stages one after the other would store */
    double largest;               /* bytes of the largest value between operands and results */
    Index *const *largest_indices;/* of that value; NULL when there is none */
    int largest_rank;
    Dtype largest_dtype;
    int64_t workspace;            /* bytes, for `workers` */
    int64_t smallest;             /* the least workspace that the plan can do with */
} Cost;

Cost plan_cost(const Plan *plan, const Extents *extents, int workers);

/* The same for any extents: "2 * i * j * k + i * j". */
void cost_print_flops(Text *text, const Plan *plan);
void cost_print_bytes(Text *text, const Plan *plan);

#endif
