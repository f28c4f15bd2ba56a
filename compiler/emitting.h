/* What the parts of the emitter share: emit.c (the file), emit_frame.c (extents, checks, tiles), emit_launch.c (units of
 * work), emit_step.c (one nest), emit_grid.c and emit_team.c (both for a grid of threads), emit_reduce.c (loops of reductions), emit_state.c (their states) and emit_term.c
 * (expressions). Only they include it. */
#ifndef EINC_EMITTING_H
#define EINC_EMITTING_H

#include "emit.h"
#include "library.h"
#include "names.h"
#include "state.h"

/* A value in generated code. */
typedef struct Value {
    const char *text;             /* an operand of any operator: a name, a call, or in parentheses */
    bool varying;                 /* one per lane; else one number */
} Value;

typedef struct Known Known;
struct Known {
    Known *next;
    const Term *term;
    Value value;
};

typedef struct Bound Bound;
struct Bound {
    Bound *next;
    const Index *index;
    const char *name;             /* of the loop's variable; of the vector's index that of lane 0 */
};

/* A block of generated code. Terms that do not depend on its loop are written in front of it, into the outer one. */
typedef struct Scope Scope;
struct Scope {
    Scope *outer;
    Text text;
    int indent;
    Bound *bound;
    Known *known;
    Names names;                  /* of the outermost scope: the function's */
    bool branch;                  /* of an if: what can miss, and what is dear, stays inside */
    bool loop;                    /* may run no times: what can miss stays inside */
    const char *count;            /* how many lanes are in use: a variable, or NULL for all */
    const char *active;           /* a mask of the lanes that an if around has chosen; NULL for all in use */
};

/* Of an address all, or what the loops inside of a point's leave as it is, or the rest. */
typedef enum { ADDRESS_WHOLE, ADDRESS_FIXED, ADDRESS_MOVING } AddressPart;

typedef struct Needs Needs;      /* when a step is needed: see emit_launch.c */

typedef struct Emitter {
    Arena *arena;
    const Plan *plan;
    const EmitOptions *options;
    Library *library;
    Names names;                  /* of the file */
    Text functions;               /* steps, merges, launches */
    const char *declarations, *frame, *prepare, *run;
    const char *exported;         /* the declarations in the header */
    const char **extents;         /* [checked index id]: how its extent is spelt; NULL when no kernel code needs it */
    const char ***strides;        /* [lowered tensor id][axis]: the local that holds it */
    const char **members;         /* [lowered tensor id]: of the args, for what is the caller's */
    const char **pointers;        /* [lowered tensor id]: the name of its pointer */
    bool *live_statements;        /* [checked statement id]: what was asked for needs it */
    bool *live_indices;           /* [checked index id] */
    bool *certain;                /* [checked term id]: a read whose range the entry has checked */
    bool *misses;                 /* [lowered term id]: can read out of range */
    bool *fixed;                  /* [lowered term id]: can read out of range, or loops: it stays behind its where */
    const Size **sizes;           /* named formulas, in an order in which each comes after those it uses */
    int size_count;
    const char **calls[2];        /* [merging][step id]: how a step's function, or its merge, is called */
    Needs *needs;                 /* [step id] */
    const char ***block_names;    /* [launch id][block], and of the sweep behind these: the word before "_first" and "_end" */
    Argument *arguments;
    int argument_count;

    /* the step at hand */
    const Step *step;
    const Launch *launch;
    const char **block_first;     /* [lowered index id]: the name of its block's first index, or NULL */
    const char **block_end;
    const char *sweep_first;      /* where the block of a sweep begins that the step is called for; NULL: it is in none */
    const char **block_now;       /* the name of the one point of its block that the step is called for, or NULL: for all */
    const char *past;             /* whether what is stored next goes past the caches, where that is not so for all of a step; else NULL */
    Scope *scope;
    bool lanes;                   /* whether this text has lanes at all */
    bool team;                    /* whether the threads of a team work on one point, along the step's vector */
    int *uses;                    /* [lowered term id] */
    bool merging;                 /* the step's states come from their parts */
    const char *jam_first;        /* the first of the points that go together, a parameter, */
    const char *met_first;        /* and of those that they meet */
    const char **begins;          /* [lowered term id]: the pointer to what a point reads, where its loops begin; or NULL */
    const char **rows;            /* … to a row's element at hand, of rows that vectors meet; or NULL */
    const char **soon;            /* … to what the next points will */
    const char **asks;            /* [lowered term id]: how far ahead of a read the step asks, in elements; or NULL. NULL: no step asks */
    AddressPart part;             /* what addresses at hand are made of */
    const Term *lossy;            /* a power that may be 0 where it is denormal, if FLUSHES; or NULL */
    const char *exponent;         /* what it is 2 to the power of, as C; NULL: that has to be written, too */
    const Term *branch;           /* of the where that the step stores, the one that this text is for; NULL: for both */
} Emitter;

/* emit_scope.c */
void emit_line(Emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
Scope *emit_push(Emitter *e);                       /* begins a block; what is written goes into it */
Scope *emit_pop(Emitter *e);                        /* ends it; nothing of it is in the outer block yet */
void emit_body(Emitter *e, const Scope *block);     /* writes a block that was ended */
void emit_bind(Emitter *e, const Index *index, const char *name);
const char *emit_bound(const Emitter *e, const Index *index);
void emit_know(Emitter *e, const Term *term, Value value);
const Value *emit_known(const Emitter *e, const Term *term);
const char *emit_name(Emitter *e, const char *word);     /* a fresh local name */
const char *emit_active(Emitter *e);                     /* the mask of the lanes in use, or NULL for all */
const char *emit_without_unread(Arena *arena, const char *body);   /* without variables that nothing mentions */
const char *emit_bare(Emitter *e, const char *text);     /* without the parentheses around all of it */
const char *emit_text(Emitter *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* emit_term.c: expressions */
Value emit_term(Emitter *e, const Term *term);
const char *emit_varying(Emitter *e, const Term *term);  /* in lanes, splat if it is one number */
const char *emit_type(Dtype dtype, bool varying);        /* "float", "f32v" */
const char *emit_suffix(Dtype dtype, bool varying);      /* of library functions: "f32", "f32v" */
const char *emit_splat(Emitter *e, Dtype dtype, const char *text);
const char *emit_number(Emitter *e, Dtype dtype, double value);
const char *emit_extent(Emitter *e, const Index *index);

/* emit_lanes.c: values that grow by the same from lane to lane; NULL: this one does not */
const char *emit_compared_line(Emitter *e, const Term *comparison);
const char *emit_real_line(Emitter *e, const Term *term, Dtype real);

/* emit_scaled.c: whether it is a function of an argument with constant factors, which are scaled with it; then its value */
bool emit_scaled(Emitter *e, const Term *term, Value *value);

bool emit_is_exact(const Term *term);                                       /* whether it is a product that is rounded to what it is */

/* emit_memory.c */
const char *emit_pointer(Emitter *e, const Term *read);                     /* to the element, or lane 0 of it */
const char *emit_target(Emitter *e, const Output *output);                   /* likewise, of what is stored */
const char *emit_stride(Emitter *e, const Tensor *tensor, const Position *positions, const Index *index);
bool emit_stores_plainly(const Emitter *e, const Output *output);           /* at its indices, and nothing is added */
void emit_store_at(Emitter *e, const Output *output, const char *pointer, const char *offset);    /* its value, somewhere else */
bool emit_is_unsafe(const Emitter *e, const Term *read, int axis);   /* a position that each read has to check */
Value emit_read(Emitter *e, const Term *term);
/* The condition that a read is in range at those positions that have to be checked, `part` with some of their parts; "": it is. */
const char *emit_inside(Emitter *e, const Term *read, const Term *part);
const char *emit_may_read(Emitter *e, const Term *read, const char *where, const char *reads);    /* a mask of lanes, declared */
const char *emit_pick(Emitter *e, const Term *read, const char *step, const char *mask);    /* what lanes `step` apart read */
void emit_store(Emitter *e, const Output *output);
const Term *emit_unrounded(const Emitter *e, const Output *output);         /* what is stored, without a cast that storing makes */
bool emit_is_factor(const Emitter *e, const Tensor *tensor);                /* of products of bf16 alone */
const char *emit_size(Emitter *e, const Size *size);     /* with the names of locals */
const char *emit_element(Dtype dtype);                   /* the type of an element in memory: "f32u" */

/* emit_soon.c: what a step asks for before its turn: where its function begins, and with a read of a vector */
void emit_begin_asks(Emitter *e);
void emit_ask_for(Emitter *e, const Term *read);

/* A loop of a reduction: from `first` to before `end`, both as C. */
typedef struct LoopBounds {
    Index *index;
    const char *first, *end;
} LoopBounds;

/* What a where around a reduction's argument leaves to do: the reduction of the chosen branch alone, under conditions
 * that are tested around the loops and inside them. */
typedef struct Domain {
    const Term *reduce;
    const Term **around, **inside;
    int around_count, inside_count;
} Domain;

/* emit_domain.c: tightens the loops' bounds as far as a condition allows; what it leaves is in the result */
Domain emit_bounds(Emitter *e, const Term *condition, LoopBounds *loops, int loop_count);
/* The same for what a where around a reduction's argument leaves to do. */
Domain emit_domain(Emitter *e, const Term *reduce, LoopBounds *loops, int loop_count);
/* Of a tiled product's rows: a condition that asks for columns stays with the elements. */
Domain emit_domain_of_rows(Emitter *e, const Contract *c, const Term *reduce, LoopBounds *rows);

/* emit_reduce.c */
Value emit_reduction(Emitter *e, const Term *term);
void emit_split_roots(Emitter *e);        /* or of one that adds rows */
void emit_added_root(Emitter *e);         /* what the rows that were added have come to */
void emit_jammed_roots(Emitter *e);
void emit_merged_roots(Emitter *e);
const char *emit_conditions(Emitter *e, const Term *const *list, int count);     /* that all of them hold */
const char *emit_place(Emitter *e, const Term *reduce, bool varying);       /* of the element at hand, for argmax */
const char *emit_apart(Emitter *e, const Term *reduce, const Index *index); /* how far the next one's along an index is */

/* emit_split.c: the states of a split step's parts; whether rows go together: then the loop over the lanes is inside of a row's */
bool emit_adds_rows(const Emitter *e);
const char *emit_part_offset(Emitter *e, const char *part);       /* in the workspace, of the point at hand: [part][kept loops] */
const char *emit_part_stride(Emitter *e, const Index *index);     /* from one point of a kept loop to the next */
const char *emit_part_count(Emitter *e);                          /* how many were made: each task's, or each tile's */
const Scratch *emit_part_of(const Emitter *e, int root, int component);
const char *emit_load_part(Emitter *e, const Scratch *scratch, const char *offset, bool varying);
void emit_store_part(Emitter *e, const Scratch *scratch, const char *offset, bool varying, const char *value);

/* emit_state.c: `names` has the variables of the components, `place` the position of the element along the reduction */
const char *emit_extreme(Emitter *e, Dtype dtype, bool most);                                 /* the least, or the greatest */
const char *emit_state_start(Emitter *e, const Term *reduce, int component, bool varying);   /* what has seen nothing */
void emit_state_step(Emitter *e, const Term *reduce, const char *const *names, bool varying, const char *place);
void emit_state_merge(Emitter *e, const Term *reduce, const char *const *names, const char *const *others, bool varying);
/* Several elements of each lane added at once, of a state that has a group: an array of them, and how many. */
void emit_state_add(Emitter *e, const Term *reduce, const char *const *names, const char *others, const char *count);
void emit_state_fold(Emitter *e, const Term *reduce, const char *const *lanes, const char *const *names);
Value emit_state_finish(Emitter *e, const Term *reduce, const char *const *names, bool varying);

/* emit_team.c: threads that share a point. Without a team these write nothing. */
#define EMIT_TEAM_SIZE "team.size"
const char *emit_team_first(Emitter *e, const char *first);                     /* where a thread begins in the team's loop */
void emit_team_fold(Emitter *e, const Term *reduce, const char *const *names);  /* the threads' states become one, in each */
Scope *emit_alone(Emitter *e);                                                  /* what one thread does for its team */
void emit_end_alone(Emitter *e, const Scope *alone);

/* emit_locals.c */
const char *emit_locals(Emitter *e, const char *body);   /* declarations of what a function's body mentions */
bool emit_mentions(const char *text, const char *name);

/* emit_step.c */
void emit_begin_step(Emitter *e, const Launch *launch, const Step *step, bool merging);
const char *emit_point(Emitter *e);                      /* the body of the function for one point */
bool emit_scans(const Step *step, const Index *index);   /* the index of a scan is no loop around it */
void emit_step(Emitter *e, const Launch *launch, const Step *step);

const char *emit_formula(Emitter *e);                    /* what the step at hand makes */

/* What may have to be handed from one function to the next. */
typedef struct Parameter {
    const char *type, *name;
} Parameter;

enum { PARAMETERS_MAX = 400 };

typedef struct ParameterSet {
    Parameter list[PARAMETERS_MAX];
    int count;
} ParameterSet;

void emit_parameter(ParameterSet *set, const char *type, const char *name);
ParameterSet emit_common_parameters(Emitter *e);
ParameterSet emit_step_parameters(Emitter *e, bool point);    /* of a step's function, or that for one point */
const char *emit_parameters(Emitter *e, const ParameterSet *set, const char *body, bool declare);

/* emit_lead.c: a function that says how many numbers of a row come before its first whole line that is stored past the caches: what it
 * mentions. NULL: the step has no such rows */
const char *emit_lead(Emitter *e, const char *name, const ParameterSet *set);
/* Whether a result goes past the caches: 0, 1 or 2, as templates/stream.c has it. */
const char *emit_past(Emitter *e, const Launch *launch, const Step *step);

/* emit_skeleton.c: what a skeleton's sample has in the place of a step's own names */
typedef struct Sample {
    const char *file;             /* of templates/ */
    int number;                   /* for N */
    Dtype dtype;                  /* for f32 */
    const char *word, *part, *lane;    /* for wordu, partu and wordv's word: templates/contract.c; or NULL */
    bool columns;                 /* for `row`, whatever its case, stands `column` */
} Sample;

const char *emit_skeleton(Emitter *e, const Sample *sample, const Hole *holes, int count);

/* emit_rank.c: the body of the function of a ranking for one point */
void emit_rank(Emitter *e);

/* emit_cross.c: a map for some points of the index that its operands lie along, from `first` on */
void emit_crossed(Emitter *e, const char *first, const char *first_lane);    /* of the points, and of the step's lanes */
const char *emit_turn(Emitter *e);    /* how many lanes a turn of the step's loop along them has: a vector's, or those of several */

/* emit_bundle.c: of a step with a bundle, how many points share a vector, in the kernel's entry; and functions for a block, of which
 * the call comes back */
void emit_bundle_sizes(Emitter *e, Text *text, const Step *step);
const char *emit_bundle(Emitter *e);

/* emit_turned.c: the function of a step that copies squares */
void emit_turned(Emitter *e);

/* emit_contract.c: the functions of a step that is a tiled product */
void emit_contract(Emitter *e);
const char *emit_guess_pays(Emitter *e, const Guess *guess);    /* emit_guess.c: where there are columns enough */
bool emit_tiling_uses(const char *name);    /* whether a tiled product has a variable of that name */

/* emit_block.c: the functions of a step that is a tiled product on a grid, and the shared memory that all of them want */
void emit_block_product(Emitter *e);
const char *emit_block_memory(Emitter *e);
void emit_fuse(Emitter *e, const Launch *launch);    /* emit_fuse.c: a launch whose steps run together */
void emit_ring_fuse(Emitter *e, const Launch *launch);    /* emit_hopper_fuse.c: the same in a ring */

/* emit_hopper.c and emit_hopper_maps.c: the kernel of a step that is one in a ring, what it needs, the memory of all, what the frame
 * has for them, and the launcher's functions for their maps */
typedef struct Ringed {
    const Launch *launch;
    const Step *step;             /* that it is named for */
    const Contract *first, *values;    /* of two products one behind the other the second; else NULL */
} Ringed;

bool emit_ringed(const Launch *launch, Ringed *ring);    /* whether a launch may be one kernel that multiplies from a ring */
void emit_ring_product(Emitter *e, const Step *step);
GridRing *emit_ring(Emitter *e, const Ringed *ring);
int64_t emit_ring_bytes(const Ringed *of);    /* of shared memory, for a block */
void emit_ring_frame(Emitter *e, EmittedUnit *unit);      /* puts the maps behind the frame's words */
const char *emit_ring_memory(Emitter *e);
const char *emit_ring_members(Emitter *e);
const char *emit_ring_maps(Emitter *e);
const char *emit_ring_run(Emitter *e, const GridWork *work);
bool emit_block_uses(const char *name);     /* whether such a product has a variable of that name */

/* emit_launch.c */
void emit_find_needs(Emitter *e);                        /* before the first: which steps are needed when */
void emit_launch(Emitter *e, const Launch *launch);      /* appends its functions */
const char *emit_run(Emitter *e);                        /* the launches in the kernel's function */

const char *emit_needed_when(Emitter *e, const Step *step);                       /* a condition; "": always */
void emit_unit_block(Emitter *e, Text *text, const Launch *launch, int b);             /* the unit's part of a block */

/* emit_grid_rank.c: topk and its kin, where each thread keeps a list */
void emit_grid_rank(Emitter *e);

/* emit_grid_points.c: the functions of the step at hand, for a point and for those that a block has of a unit of work */
void emit_grid_step(Emitter *e, const char *name, const char *comment);

/* emit_grid.c: the same for a grid of threads */
void emit_grid_launch(Emitter *e, const Launch *launch);
const char *emit_grid_run(Emitter *e, const EmittedUnit *unit);    /* the order of it all as text of the launcher */
const char *emit_kernel_name(Emitter *e, const char *what, int number);

/* emit_unit.c: an emitter with the lists that a unit has, without names */
enum { MEMBER_PASSES = 3 };                              /* inputs come first, then outputs, then temporaries */
Emitter *emit_list(Arena *arena, const Plan *plan, const EmitOptions *options);
int emit_member_pass(const Tensor *tensor);              /* of lowered: when it has its turn; -1: it is no array of its own */
bool emit_is_argument(const Tensor *tensor);             /* of lowered, or only its shape */
/* The argument that a tensor is: its own, or that of a later `+=` to it, since both are one array. NULL for none. */
const Argument *emit_argument_of(const Emitter *e, const Tensor *tensor);
/* Whether the entry checks that a tensor of the checked program is written in range along an axis, for all points of the loops. */
bool emit_is_certain_target(const Emitter *e, const Tensor *tensor, const Position *position);
bool emit_is_told(const Emitter *e, const Axis *axis);   /* whether an axis of a tensor has a size that the arguments tell */
bool emit_has_told_axis(const Emitter *e, const Index *index);
Argument *emit_given(const Emitter *e, const Index *index);              /* an extent that is an argument; NULL for none */
int64_t emit_static_extent(const Emitter *e, const Index *index);        /* a constant; -1 for none */

/* emit_name.c */
void emit_grid_reserve(Emitter *e);                      /* first of all: words that texts for CUDA have, so no name of the user's is one */
bool emit_numbers(const char *name);                     /* whether a kernel may have name_1 of its own */

/* emit_frame.c */
void emit_name_frame(Emitter *e);                        /* names extents and arguments; first of all */
const char *emit_frame(Emitter *e, const char *rest);    /* `rest`: the members that are the machine's */
const char *emit_prepare(Emitter *e);
const char *emit_arguments(Emitter *e);                  /* the args struct */
const char *emit_declarations(Emitter *e);

/* emit_coalesce.c */
enum { COALESCED_MAX = 8 };                              /* axes, as in templates/size.c */
void emit_coalesce(const Emitter *e, Text *text);        /* the call, once shapes are known to be shapes, made one with fewer axes */
const char *emit_rows_follow(Emitter *e, const Step *step);    /* the condition that one loop may have all rows of a part; NULL: none may */
void emit_long_loop(Emitter *e, struct LoopBounds *loops, int count);    /* the bounds of loops that then are one */

/* emit.c */
Emitter *emit_begin(Arena *arena, const Plan *plan, const EmitOptions *options);
const char *emit_wrap(Arena *arena, const char *text);   /* lines that are too long, broken */
const char *emit_title(Emitter *e);
void emit_declare(Emitter *e, const char *source, const char *header);
EmittedUnit *emit_end(Emitter *e, const EmittedUnit *unit, const char *source);

#endif
