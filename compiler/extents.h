/* From the shapes of the operands to the extent of every index: the rules of Program.indices applied to numbers. The
 * generated kernels apply the same rules; see size.h for the formulas that they print. */
#ifndef EINC_EXTENTS_H
#define EINC_EXTENTS_H

#include "program.h"

/* Extents by index id and shapes by tensor id. A number that is not known is -1. */
typedef struct Extents {
    const Program *program;
    int64_t *of;                  /* [index_count] */
    int64_t **shape;              /* [tensor_count][rank]: of inputs and callers' arrays as given, of made ones derived */
    bool complete;                /* nothing is -1 */
} Extents;

/* Of an index that may be long, where nobody knows how long it is. */
enum { LONG_EXTENT = 16384 };

/* So many points of the kept loops are enough for threads to share; where there are fewer, a reduction of so many times more is
 * rather cut into parts. */
enum { KEPT_ENOUGH = 64, REDUCED_MORE = 16 };

/* Into how many parts, for all threads, a ranking of so many points is cut where so many rows are kept; 1: it is not. Each begins without
 * candidates, so that more cost more. */
int ranking_parts(int64_t extent, double kept, int64_t ranks);

/* Applies the rules. `shapes` has a pointer per tensor id, NULL where the shape is not known; those of inputs and of
 * tensors with `from_caller` are read. `given` names extents as `-d` does. Reports shapes that contradict each other
 * (each with both origins), products that overflow 63 bits, and reads that would be out of range without a `where`.
 * NULL after diagnostics; an extent that stays unknown is no error here. */
Extents *extents_infer(Arena *arena, const Program *program, const int64_t *const *shapes, const ExtentSpec *given,
                       int given_count, Diags *diags);

/* Reports every index whose extent is not known, and what to do about it. False when there was one. */
bool extents_require(const Extents *extents, Diags *diags);

/* The least and the greatest value of a position without gathers. The extents it needs are known and not 0. */
void position_range(const Extents *extents, const Position *position, int64_t *least, int64_t *greatest);

#endif
