/* Turning: lanes run along another index than that along which an array lies, and blocks of it are copied, rows and columns
 * exchanged. It serves statements of a checked program of two kinds.
 *
 * Many small problems, each of which lies together: a vector takes one element of as many problems as it has lanes. Operands
 * are turned first, and the result is turned back: packing for the loop nest. The longest kept index is far apart in the
 * operands, and the other extents are too small for the lanes.
 *
 * A product with few results beside the numbers of an operand that lies along another index than they: turning the results
 * is less work than turning that operand, which is read as it lies, line after line. So it is where that operand's contracted
 * points lie side by side, and the rows that follow each other are others than those whose results do. */
#ifndef EINC_TURN_H
#define EINC_TURN_H

#include "product.h"
#include "target.h"

/* How a statement is turned; neither: it is not. */
typedef struct Turn {
    const Index *along;           /* of many small problems, the index that the lanes run along; or NULL; */
    bool rows_short;              /* each is a row, which other indices are around; */
    const Term *read;             /* of a product, the operand that is read as it lies; or NULL, */
    bool rows;                    /* whose contracted points lie side by side: what is made of a row lies side by side, too */
} Turn;

/* What decides: `nests`: of the plan; `products`: whether these have room for more than the least tiles; `strides`: of the
 * caller's tensors, by id; NULL: C order. */
typedef struct TurnHints {
    const Target *target;
    Nests nests;
    bool products;
    const Extents *extents;
    const int64_t *const *strides;
} TurnHints;

/* By statement id: not turned where that does not pay, or what decides is not known. */
const Turn *turn_choose(Arena *arena, const Program *program, const TurnHints *hints);

/* What is read where a value is a plain read, or one of 16-bit floats that becomes f32, of which the library turns squares; NULL: it is
 * neither. */
const Term *turn_read(const Term *value);

enum { TURN_FEW = 128 };          /* elements of a row that is short for a ranking */

/* Whether so few of so short rows are ranked that each element meets all of the best, which stay in registers. */
bool turn_ranks_few(const Extents *extents, const Term *reduce);

/* Whether the result of a statement that is turned is turned back: its best are stored where they belong. */
bool turn_copies_back(const Output *output, const Index *along, const int64_t *const *strides);

/* Dtypes that squares of lanes are turned in. */
bool turn_has_squares(Dtype dtype);

/* Whether a read, or a target, is copied when its statement is turned along an index. */
bool turn_copies(const Tensor *tensor, const Position *positions, const Index *along, const int64_t *const *strides);

#endif
