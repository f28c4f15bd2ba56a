/* The loops around a step's point: emit_step.c and emit_loops.c. Only they include it. */
#ifndef EINC_EMIT_LOOPS_H
#define EINC_EMIT_LOOPS_H

#include "emit_nest.h"

/* How the point's function is called. */
typedef struct Around {
    const ParameterSet *set;
    const char *body, *function;  /* the function's text and name */
    const char *other_body, *other;    /* of the one for where the condition of what is stored fails; NULL: there is none */
    const char **names;           /* [loop]: of the variables of the loops so far */
    const char *lead_body, *lead; /* of the one for how many numbers come before a line; NULL: there is none */
    const char *unit, *count, *points, *meets, *soon, *apart;    /* what is put in for these parameters */
    const char *row, *first_row;  /* the first of the rows that go together is this variable, and that parameter; or NULL */
    bool whole;                   /* whole vectors, and points that go together, have loops of their own */
} Around;

/* The kept loops from one on, around calls of the point's function. */
void emit_loops_around(Emitter *e, Text *text, int depth, Names *names, Around around, int at);

/* Loops over the rows of a unit of work, some together, around those over kept indices. */
void emit_rows_around(Emitter *e, Text *text, int depth, Names *names, Around around);

/* The condition that bounds the loop with the lanes; NULL: none. */
const Term *emit_bounding_condition(const Emitter *e);

/* emit_step.c: whether the point's function has the loop over an index */
bool emit_has_inside(const Emitter *e, const Index *index);

#endif
