/* --check: a kernel's results against the evaluator. */
#ifndef EINC_COMPARE_H
#define EINC_COMPARE_H

#include "job.h"

/* One result: what the expression says of it, and what the kernel made. */
typedef struct Result {
    const Tensor *tensor;         /* of the job's front */
    const Array *array;
} Result;

/* Compares elements in a random order, the same each time, for as long as 5 s; says how many of how many. `arrays` has the operands,
 * and what is added to, by tensor id. EINC_CHECK, after a message with the first wrong one. */
int compare_results(Job *job, const Result *results, int count, const Array *const *arrays);

/* Says which read is out of range. False when the evaluator does not find it within 5 s; then nothing is said. */
bool compare_find_fault(Job *job, const Result *results, int count, const Array *const *arrays);

#endif
