/* Indices that an expression cannot tell from one index: each array has all of them, at plain positions, or none; each reduction
 * runs over all or none; and nothing asks where a point is. Those that several statements have along the same axis count as one. A kernel of it may be called as if they were one, with all points
 * along one axis, where strides allow that: see emit_coalesce.c. */
#ifndef EINC_COALESCE_H
#define EINC_COALESCE_H

#include "extents.h"

typedef struct Groups {
    const Program *program;
    const Index **as;             /* [index id]: the one that it counts as; all else is said of these alone */
    bool *apart;                  /* [index id]: it is in no group */
    int *group;                   /* [index id]: the same for all of a group, below index_count */
    const Index ***along;         /* [id of an array's first tensor][axis]: the index that everything reads and writes it along; NULL: there is none */
} Groups;

enum { GROUPED_MAX = 64 };        /* indices: what has more is a network of products */

/* The groups of a checked program. In the arena. */
Groups groups_find(Arena *arena, const Program *program);

/* The indices of a group into `indices`, in the order of the first tensor that has them; how many. */
int groups_indices(const Groups *groups, int group, const Index **indices);

/* The axis of a tensor along which an index lies, or -1. */
int groups_axis(const Groups *groups, const Tensor *tensor, const Index *index);

bool groups_together(const Groups *groups, const Index *a, const Index *b);

/* The extents with which a kernel will run: all points of a group along its last index where its arrays have them one behind the
 * other. `strides`: [tensor id], NULL for C order, as all are where it is NULL itself. */
const Extents *groups_extents(Arena *arena, const Program *program, const Extents *extents, const int64_t *const *strides);

/* Whether anything in a program is reduced; else it is of maps alone. */
bool program_reduces(const Program *program);

#endif
