/* Operands for `einc bench`: random numbers that the expression can work with. */
#ifndef EINC_SAMPLE_H
#define EINC_SAMPLE_H

#include "job.h"

/* Fills the operand: floats uniform in [-0.5, 0.5), integers small; where one is used as a position, or compared with one,
 * it stays in range. The same numbers each time. */
void sample_fill(const Compiled *front, const Tensor *input, Array *array);

#endif
