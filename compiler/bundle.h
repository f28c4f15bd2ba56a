/* Bundles: short axes that share a vector's lanes. Where the last axes of what is stored have fewer points together
 * than a vector has lanes, one of them alone leaves most lanes empty. A bundle has all points of these, and as many
 * of the next axis outwards as there is room for. What they read of an operand is within a vector that is loaded as
 * it lies; a permutation takes each lane's element to it, another one for each contracted point. */
#ifndef EINC_BUNDLE_H
#define EINC_BUNDLE_H

#include "extents.h"
#include "target.h"

enum { BUNDLE_AXES = 8 };         /* and contracted ones, at most, as in templates/bundle.c */

/* An operand of which each lane has its own element. */
typedef struct Bundled {
    const Term *read;
    bool held;                    /* a vector has all contracted points of it; else each is loaded */
} Bundled;

typedef struct Bundle {
    Index **axes;                 /* in the order of what is stored: some points of the first, all of the others */
    int axis_count, uncut;        /* so many of them, from the last on, are in no block of a launch */
    Term *reduce;
    Bundled *operands;
    int operand_count;
    Dtype dtype;                  /* that the lanes carry */
    int vectors;                  /* so many go through the reduction together */
} Bundle;

typedef struct BundleHints {
    const Target *target;
    const Extents *extents;
    const int64_t *const *strides;    /* of the caller's tensors, by id; NULL: C order */
} BundleHints;

/* Its axes, and behind them the contracted ones; NULL behind all. */
const Index *bundle_index(const Bundle *bundle, int i);

/* Of a sum of a checked or lowered program; NULL where lanes along one index do better, or extents are not known. */
const Bundle *bundle_choose(Arena *arena, const Program *program, const Statement *statement, const BundleHints *hints);

#endif
