/* Turning: of many small problems, each of which lies together, a vector takes one element of as many problems as it has
 * lanes. So blocks of them are copied first, rows and columns exchanged, and the result is turned back: packing for the
 * loop nest. It serves any statement of a checked program whose longest kept index is far apart in its operands and whose
 * other extents are too small for the lanes. */
#ifndef EINC_TURN_H
#define EINC_TURN_H

#include "extents.h"
#include "target.h"

/* By statement id: the index to turn along; NULL where turning does not pay, or what decides is not known. `strides`:
 * of the caller's tensors, by id; NULL: C order. */
const Index **turn_choose(Arena *arena, const Program *program, const Target *target, const Extents *extents,
                          const int64_t *const *strides);

/* Dtypes whose squares of lanes the library turns. */
bool turn_has_squares(Dtype dtype);

/* Whether a read, or a target, is copied when its statement is turned along an index. */
bool turn_copies(const Tensor *tensor, const Position *positions, const Index *along, const int64_t *const *strides);

#endif
