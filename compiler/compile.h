/* compile: from the text of an expression to the text of a kernel. The list of the passes. */
#ifndef EINC_COMPILE_H
#define EINC_COMPILE_H

#include "emit.h"
#include "lower.h"
#include "order.h"

typedef struct CompileOptions {
    CheckOptions check;                   /* what is known of operands, and -d extents */
    const int64_t *const *strides;        /* hints, by place among `check.operands`; NULL: C order */
    const char *const *outputs;           /* names of the outputs wanted; "" stands for those of the last statement */
    int output_count;                     /* 0: those of the last statement */
    const ExtentSpec *statics;
    int static_count;
    const Target *target;
    int64_t memory;                       /* bytes; 0: no budget */
    Nests nests;
    int64_t sweep;                        /* for tests: temporaries are made so many points at a time wherever they can be, on a grid products so many slices; 0: by cost */
    Precision precision;                  /* of products: the least that will do */
    const char *name, *command;           /* as EmitOptions */
    /* Each pass's result as text, for `-d<pass>`: "ast", "program", "order", "gather", "lower", "plan". NULL: not wanted. */
    void (*dump)(void *user, const char *pass, const char *text);
    void *user;
} CompileOptions;

typedef struct Compiled {
    Program *program;
    Extents *extents;                     /* what the shapes that are known say; may be incomplete */
    Order *order;                         /* of contractions; NULL where all are as they are written */
    const Program *gathered;              /* what of either was lowered */
    Program *lowered;
    Plan *plan;
    const EmittedUnit *unit;
    EmitOptions emit;                     /* of its text: names that live as long as it may be asked for */
    const Tensor **outputs;               /* of the checked program, in the order asked for */
    int output_count;
} Compiled;

/* Only as far as the checked program, its extents and outputs: `plan` and `unit` stay NULL. */
Compiled *compile_front(Arena *arena, const Source *source, const CompileOptions *options, Diags *diags);

/* As far as the plan, and a unit without text, which is what a kernel needs that has been compiled before. */
Compiled *compile_plan(Arena *arena, const Source *source, const CompileOptions *options, Diags *diags);

/* The same unit with its text. NULL after diagnostics. `compiled` stays as it is. */
const EmittedUnit *compile_text(Arena *arena, const Compiled *compiled, Diags *diags);

/* All of it. NULL after diagnostics. A fault of einc itself is reported as a diagnostic too. */
Compiled *compile(Arena *arena, const Source *source, const CompileOptions *options, Diags *diags);

#endif
