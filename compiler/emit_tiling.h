/* What the parts of a tiled product's emitter share: emit_contract.c (its functions), emit_tiles.c (the one that runs the
 * tiles), emit_pack.c (packing) and emit_sums.c (what becomes of the sums). Only they include it. */
#ifndef EINC_EMIT_TILING_H
#define EINC_EMIT_TILING_H

#include "emitting.h"

typedef struct Tiling {
    const Contract *c;
    const Step *step;
    int number;                   /* of the step */
    Dtype dtype;                  /* of the sums */
    const char **names;           /* [lowered index id]: of the indices' variables, the same in all functions */
    const Term **first;           /* the reductions behind the product, as their domains leave them */
    int first_count;
    bool in_registers;            /* they take the sums from there */
    ParameterSet parameters;      /* all that a function may ask for */
} Tiling;

/* emit_tiling.c */
const IndexSet *tiling_set(const Contract *c, int i);
Index *tiling_last(const IndexSet *set);
Scope *tiling_open(Emitter *e, Tiling *t, const Index *vector);
void tiling_bind(Emitter *e, const Tiling *t, const IndexSet *set, int count);
const char *tiling_close(Emitter *e);
const char *tiling_first(const Emitter *e, const Index *index);
const char *tiling_end(Emitter *e, const Index *index);
const char *tiling_word(const Tiling *t);
const char *tiling_part(const Tiling *t);
const char *tiling_panel_depth(const Tiling *t);
const char *tiling_packed_step(Emitter *e, const Tiling *t);

/* emit_pack.c: the bodies of functions */
const char *tiling_words_along(Emitter *e, const Tiling *t, int level);
bool tiling_reads_safely(Emitter *e, const Term *side);
const char *tiling_pack_columns(Emitter *e, Tiling *t);
const char *tiling_pack_rows(Emitter *e, Tiling *t);

/* emit_sums.c: likewise */
const char *tiling_state_array(Emitter *e, const Tiling *t, int r, const Component *component);
const char *tiling_taken(Emitter *e, Tiling *t);
const char *tiling_after(Emitter *e, Tiling *t);
const char *tiling_finish(Emitter *e, Tiling *t);

/* emit_tiles.c: the body of the step's function. `calls`: of pack_columns, pack_rows, tiles and finish. */
const char *tiling_step(Emitter *e, Tiling *t, const char *const calls[4]);

#endif
