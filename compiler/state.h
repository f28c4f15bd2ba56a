/* The state of a reduction: what it carries from element to element. Each component is stored as an array of its own
 * everywhere: registers, workspace. templates/state.c has the bodies. */
#ifndef EINC_STATE_H
#define EINC_STATE_H

#include "program.h"

enum { STATE_COMPONENTS_MAX = 3 };

typedef struct Component {
    const char *name;             /* as the generated code calls it */
    Dtype dtype;
} Component;

/* The components of a reduce or contract term's state; not of topk and its kin, whose state has an extent. */
int state_components(const Term *reduce, Component components[STATE_COMPONENTS_MAX]);

/* The dtype that a value of this one has in a register: f16 and bf16 are f32 there, i8 and i16 are i32. */
Dtype register_dtype(Dtype dtype);

#endif
