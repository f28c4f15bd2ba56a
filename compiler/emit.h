/* emit: a Plan becomes C text, the same for the same plan: one self-contained file and a header with its public part. */
#ifndef EINC_EMIT_H
#define EINC_EMIT_H

#include "plan.h"

typedef struct EmitOptions {
    const char *name;             /* of the kernel's function */
    const char *command;          /* for the first line of the file; may be NULL */
    const ExtentSpec *statics;    /* extents that are constants */
    int static_count;
} EmitOptions;

/* An argument of the kernel, in the order of the members of its args struct. */
typedef struct Argument {
    const Tensor *tensor;         /* of the checked program; NULL for an extent */
    const Index *extent;          /* of the checked program: a number that no operand fixes */
    const char *name;             /* the member's */
    bool is_output;
    bool shape_only;              /* a temporary of which the caller knows the size; its data is not used */
} Argument;

/* A tensor map of an argument: CUDA's cuTensorMapEncodeTiled makes it. */
typedef struct GridAxis {
    const Size *extent, *box;     /* points of all of it, and of a tile */
    int64_t most;                 /* a longer one has no map; 0: it may be of any length */
    unsigned axes;                /* bits: the argument's, whose strides add up to its own */
} GridAxis;

typedef struct GridMap {
    int argument, type, bytes;    /* of an element */
    int rank;
    GridAxis axis[MAP_AXES_MAX];  /* innermost first */
} GridMap;

/* What a kernel needs that multiplies from a ring: where all maps can be made. */
enum { RING_MAPS = 3 };
typedef struct GridRing {
    GridMap maps[RING_MAPS];
    int map_count;
    int step, threads;
    int64_t at;                   /* where its maps are in the argument */
} GridRing;

/* What a grid is asked for, in order: a kernel, or that a part of the workspace becomes zeros. */
typedef struct GridWork {
    const char *kernel;           /* NULL: zeros */
    const Size *tasks;            /* of the kernel: it takes at most so many blocks */
    int launch;                   /* the plan's, whose tasks these are; -1: none's */
    int64_t asked_bytes;          /* of a block's shared memory, that it has to ask for */
    GridRing *ring;               /* it takes the place of the next one, which is for arguments that have no such maps; or NULL */
    const Size *offset, *bytes;   /* of the zeros */
} GridWork;

typedef struct EmittedUnit {
    const char *source, *header;  /* NULL in one without its text, whose arguments have no names */
    const char *section;          /* of the source: what is behind the declarations */
    Argument *arguments;
    int argument_count;
    const char *permission;       /* a function of its text that has to allow it to run; or NULL */
    const Target *target;         /* that its text is for; of several, the one for any CPU */
    /* Of a grid: the order of its work, and each kernel's argument, which is the args struct and these words behind it. The
     * last word is the workspace's address. */
    GridWork *work;
    int work_count;
    const Size **frame;
    int frame_count;
    int64_t frame_bytes;          /* of the argument */
} EmittedUnit;

/* Why the kernel's function may not be called `name`, on one line; NULL: it may. */
const char *emit_name_fault(Arena *arena, const Target *target, const char *name);

/* What it may be called that is as much like `word` as can be. */
const char *emit_name_from(Arena *arena, const Target *target, const char *word);

/* All but the text, which takes ten times as long. */
EmittedUnit *emit_unit(Arena *arena, const Plan *plan, const EmitOptions *options);

/* The same unit with its text. NULL and *fault when templates and emitter do not fit together, which is a fault of einc. */
EmittedUnit *emit(Arena *arena, const Plan *plan, const EmitOptions *options, const EmittedUnit *unit, const char **fault);

/* The same for a target with a grid: CUDA, with kernels and a launcher. */
EmittedUnit *emit_cuda(Arena *arena, const Plan *plan, const EmitOptions *options, const EmittedUnit *unit, const char **fault);

/* One unit of several, of which each is for one target: the first first, the last for any CPU; all with the same
 * declarations. `more` stands behind them and sees the last one's names. */
const EmittedUnit *emit_several(Arena *arena, const EmittedUnit *const *units, const Target *const *targets, int count,
                                const char *name, const char *more);

/* What a kernel returned: the read or write that was out of range. NULL when the number says something else. */
const Term *emit_culprit(const Program *program, int status);

#endif
