/* What explain.c and explain_json.c share. */
#ifndef EINC_EXPLAINING_H
#define EINC_EXPLAINING_H

#include "cost.h"
#include "runtime.h"

/* The time that arithmetic or memory takes at the least, by the target's figures on paper. */
typedef struct Roof {
    double flops_per_cycle, bytes_per_cycle, cycles;   /* of one core; cycles are -1 when not known */
    bool compute;                 /* which of the two it is */
} Roof;

Roof explain_roof(const Compiled *c, const Cost *cost);

/* "out[i,m] = sum[j](max[n](...))" */
void explain_formula(Text *text, const Step *step);

/* The block that a step's loop runs over, or NULL. */
const Block *explain_block(const Launch *launch, const Step *step, const Index *index);

const char *explain_json(Arena *arena, const Compiled *c);

#endif
