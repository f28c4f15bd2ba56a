/* gather: a scatter at sums of indices as the sum of what goes to each place.
 *
 * Takes a checked Program, or an ordered one. `y[o,h+r] += x[c,h], k[c,o,r]` becomes
 *
 *     y[o,p] += where(p - r >= 0 && p - r < extent of h, x[c,p-r] * k[c,o,r], 0) -> [o,p]
 *
 * where that is a tiled product that pays. p runs over all that may be written. In each sum the index goes that has the most points of
 * those that stand alone; the others are summed. Gives a Program of the same meaning, or the one that it took where there is nothing of
 * that kind. Sums are rounded where they are stored, so that only dtypes that sums are made in are gathered. */
#ifndef EINC_GATHER_H
#define EINC_GATHER_H

#include "product.h"

/* `wanted`: by tensor id; what is gathered is the caller's. */
const Program *gather(Arena *arena, const Program *program, const bool *wanted, Nests nests, const Extents *extents, const Target *target);

#endif
