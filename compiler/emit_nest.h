/* What the loops of reductions share: emit_reduce.c, emit_jam.c and emit_nest.c. Only they include it. */
#ifndef EINC_EMIT_NEST_H
#define EINC_EMIT_NEST_H

#include "emitting.h"

enum { CHAINS = 4, GROUP = 32, GROUP_OF_POINTS = 256, GROUP_OF_POWERS = 128, ROWS = 8 };

typedef struct Nest {
    Term *const *reduces;         /* as known to others */
    Domain *domains;              /* what runs in the loops */
    int count;
    LoopBounds *loops;
    int loop_count;
    bool across;                  /* the lanes run along the last loop */
    bool team;                    /* or the threads of a team do */
    bool varying;                 /* each lane has a state of its own */
    int chains;
    bool grouped;                 /* up to GROUP elements are added at once, of points that go together GROUP_OF_POINTS */
    bool in_rows;                 /* the best of ROWS elements is found at once, of each lane */
    bool in_powers;               /* exponentials of each side are made apart, and multiplied for each element */
    bool jammed;                  /* each of the points that go together has a state of its own */
    int dots;                     /* a turn adds so many products to each lane's sum; 0: one element */
    const char *words[2];         /* of its operands, where all points share them; NULL: each loads them */
    const char **row_steps;       /* of rows that vectors meet, as row_address() has them, by their reads; NULL: there are none */
    const char **vectors;         /* what those have loaded, where their last may have fewer lanes, by their reads; or NULL */
    const Tensor *factors;        /* that several turns make in `kept`, to be stored together; NULL: there are none */
    const char *kept;
    const char *(*names)[STATE_COMPONENTS_MAX];      /* of the states, declared */
    const char *(*turn)[STATE_COMPONENTS_MAX];       /* of those that the step at hand works on */
} Nest;

void nest_step(Emitter *e, Nest *nest, int r);          /* one element */
void nest_turn(Emitter *e, Nest *nest, const char *chain);    /* one turn of the innermost loop, of a chain or of each point */

/* The reduction of the nest that finds what another one is for, which then has nothing to do until the end; -1: none. */
int nest_finder(const Nest *nest, int r);

/* What a nest is made of: its bounds and domains, of a reduction with those that run with it; its states; its loops; the names of
 * one reduction's finished states, lanes folded; and what is known then. */
Nest nest_open(Emitter *e, const Term *reduce);
void nest_declare(Emitter *e, Nest *nest);
void nest_run(Emitter *e, Nest *nest);
void nest_merge_chains(Emitter *e, Nest *nest);
void nest_finished(Emitter *e, Nest *nest, int r, const char *names[STATE_COMPONENTS_MAX]);
void nest_know(Emitter *e, const Term *reduce, const char *const *names, bool varying);

/* emit_nest.c: a line of the points' arrays, for each `point` */
void nest_each_point(Emitter *e, const char *line);

/* emit_jam.c: the points' own pointers, of what the nest reads, until e->begins is NULL again; a loop over the points that go together,
 * and what is written into it until nest_close_points() */
void nest_begin_points(Emitter *e, const Nest *nest);
void nest_begin_rows(Emitter *e, const Nest *nest);    /* in a turn: where the first of the rows is that vectors meet */
void nest_load_vectors(Emitter *e, Nest *nest);        /* in a turn: what vectors that meet rows have for themselves, */
void nest_know_vectors(Emitter *e, const Nest *nest);  /* … in a loop over their points */

/* The head of a jammed loop for the points that go together, behind what it needs; and what comes behind the loop, or NULL. */
const char *emit_together(Emitter *e, Text *text, int depth, const char *first, const char *name, const char *end, const char **behind);
bool emit_has_partial_group(const Emitter *e);
const char *emit_soon(Emitter *e);        /* how many points later what is read is asked for */
void nest_ask_ahead(Emitter *e, const Nest *nest);    /* in a turn: for what the rows will give later */
bool nest_asks_of_rows(const Emitter *e, const Nest *nest);    /* whether it does so of rows that states in memory take one after the other */
Scope *nest_open_points(Emitter *e);
void nest_close_points(Emitter *e, const Scope *body);

/* emit_dot.c: a turn with words of narrow numbers: those that its points share; the products */
void nest_share_words(Emitter *e, Nest *nest);
void nest_dot(Emitter *e, Nest *nest);

/* emit_join.c: the elements at hand of the steps that are made in the reduction's loop; all who read the first one's have it in a
 * register. Of a loop in chains, factors of products of bf16 are stored together: two vectors are rounded as fast as one. */
void nest_make_joined(Emitter *e, const Nest *nest);
void nest_find_factors(Emitter *e, Nest *nest);
void nest_store_factors(Emitter *e, Nest *nest, const char *at);

/* emit_powers.c: the nest with exponentials of each side, and as it stands where these are too large or none */
void nest_run_in_powers(Emitter *e, Nest *nest);

/* emit_nest.c, emit_powers.c: loops from `at` on, which leave it behind the elements that they took */
void nest_groups(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at);
void nest_groups_of_points(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at);
void nest_groups_of_powers(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at);
void nest_rows(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at);

#endif
