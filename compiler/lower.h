/* lower: a Program whose every statement is one fused nest.
 *
 * Takes a checked Program, or an ordered one, and which of the tensors that statements make are wanted. Gives a Program of the same meaning
 * in which
 *   - statements that nothing wanted needs are gone;
 *   - a statement that one other reads at plain indices is written into it, where that computes nothing twice;
 *   - softmax and log_softmax are written out, and cumsum, topk and their kin are the whole value of their statement;
 *   - a reduction depends on exactly the loops around it, so that it runs once for each of their points; what would
 *     be computed again in a loop that it does not depend on is a statement of its own, a temporary;
 *   - a contraction sums something, or is gone.
 * Indices and tensors point at their origins in the checked Program; temporaries have none. Extent rules are left to the checked Program. */
#ifndef EINC_LOWER_H
#define EINC_LOWER_H

#include "turn.h"

/* A value in between, and a statement that does not read what the others read of it, but what is made again for it alone. Both
 * are statements of the lowered program that those before it in a list have led to. */
typedef struct Again {
    int maker, reader;
} Again;

/* Which values in between are not stored along all of an index, but some points of it at a time, and which are made again. */
typedef struct Sweeping {
    const Extents *extents;
    int64_t longest;              /* indices with more points are taken so; with 0 those whose extent is not known, too */
    int64_t points;               /* at a time, at most */
    const Again *again;
    int again_count;
} Sweeping;

/* `wanted`: by tensor id. `kinds`: by term id, as product_kinds() tells: values behind a product are stored where a
 * reduction is around them, and both they and products where other reductions stand beside them, so that each is a nest of
 * its own; products of powers take the place of a logsumexp where they are exact. `turns`: by statement id, as turn_choose()
 * tells; NULL: none is turned. `strides`: as there. `sweeping`: NULL: everything is stored whole. */
Program *lower(Arena *arena, const Program *program, const bool *wanted, const unsigned short *kinds, const Turn *turns,
               const int64_t *const *strides, const Sweeping *sweeping);

#endif
