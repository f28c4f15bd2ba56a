/* The state of a reduction: what it carries from element to element. Each component is stored as an array of its own
 * everywhere: registers, workspace. The table in state.c says of each state how it begins, what one element is as a
 * state, and how two merge; a step is a merge with an element. */
#ifndef EINC_STATE_H
#define EINC_STATE_H

#include "program.h"

enum { STATE_COMPONENTS_MAX = 3 };

/* What a component is before the first element. */
typedef enum { START_ZERO, START_ONE, START_LEAST, START_MOST } Start;

/* What it is of one element. */
typedef enum { LIFT_ELEMENT, LIFT_ZERO, LIFT_ONE, LIFT_PLACE } Lift;

/* How two of them merge, where each component does so by itself; an argmax's element merges as that of max does. */
typedef enum { MERGE_ADD, MERGE_MUL, MERGE_MAX, MERGE_MIN, MERGE_OR, MERGE_AND } Merge;

typedef struct Component {
    const char *name;             /* as the generated code calls it */
    Dtype dtype;
    Start start;
    Lift lift;
    Merge merge;
} Component;

/* The components of a reduce or contract term's state; none of topk and its kin, whose state has an extent. */
int state_components(const Term *reduce, Component components[STATE_COMPONENTS_MAX]);

/* Of the first component, which is made of the elements. */
Dtype state_dtype(const Term *reduce);

/* Where components merge together: the function merge_NAME_… of templates/state.c and its leading argument, or NULL. */
const char *state_merge(const Term *reduce, const char **leading);

/* Of a state of several numbers to which several elements are cheaper to add at once: the functions add_NAME_… and
 * fold_NAME_… of templates/state.c, or NULL. */
const char *state_group(const Term *reduce);
bool state_adds_exponentials(const Term *reduce);      /* one of these, which has functions for points that go together, too */

/* Whether elements of this value change nothing, so that a reduction need not look at them. */
bool state_skips(const Term *reduce, const Term *value);

/* How often a step writes the element down. */
int state_uses(const Term *reduce);

bool state_is_simple(const Term *reduce);      /* one component and a step of one operation */
bool state_adds_products(const Term *reduce);  /* its elements are products, of which it is the sum */
bool state_needs_place(const Term *reduce);

bool state_wants_most(const Term *reduce);     /* argmax, not argmin */

/* Whether place_all_… of templates/state.c takes several elements of it at once: argmax and argmin of some dtypes. */
bool state_takes_rows(const Term *reduce);

/* Which of several reductions finds the place of what another one of them finds, and so that itself; -1: none does. */
int state_finder(const Term *const *reduces, int count, int r);

/* The one of several reductions that finds what all others do, or the only one; -1: there is none. */
int state_only(const Term *const *reduces, int count);

/* The dtype that a value of this one has in a register: f16 and bf16 are f32 there, i8 and i16 are i32. */
Dtype register_dtype(Dtype dtype);

#endif
