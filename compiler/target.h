/* What the planner and the emitter know of a machine: a row of a table. Neither names a target; a new instruction set is
 * a row here and its snippets in templates/. Cache sizes are constants, never probed, so that the same input gives the
 * same text everywhere. */
#ifndef EINC_TARGET_H
#define EINC_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "dtype.h"

typedef struct Target {
    const char *name;             /* as `--target` takes it */
    const char *words;            /* for a person: "AVX-512" */
    int vector_bytes;
    int tile_rows, tile_vectors;  /* of a product's sums in registers */
    bool spreads;                 /* to fill all lanes with a number costs as much as a product: rows are packed so */
    unsigned char group[DTYPE_COUNT];    /* so many products of this dtype one instruction adds to a sum; 0: there is none */
    const char *attribute;        /* of every function: __attribute__((target("..."))); "" for none */
    const char *features;         /* of the library's `//{ name@feature`, separated by blanks */
    const char *cpu;              /* what the CPU must report, separated by blanks, as einc doctor spells it */
    int l1_bytes, l2_bytes;
    double fma_per_cycle;         /* vector instructions that a core issues, for the roofline on paper */
    double bytes_per_cycle;       /* that a core reads from memory, likewise */
} Target;

/* All rows, the most capable last; ends in a NULL name. */
extern const Target targets[];

/* NULL when there is none of that name. */
const Target *target_find(const char *name);

bool target_has_feature(const void *target, const char *feature);

#endif
