/* Formulas over extents: workspace, tiles, task counts. The same formula is evaluated by the planner and the runtime
 * and printed as C into the kernel, so that no figure stands twice. Numbers are non-negative; what does not fit into
 * 63 bits is SIZE_TOO_LARGE, which stays what it is under every operation but min. */
#ifndef EINC_SIZE_H
#define EINC_SIZE_H

#include "program.h"

#define SIZE_TOO_LARGE INT64_MAX

typedef enum {
    SIZE_CONSTANT,
    SIZE_EXTENT,                  /* of an index of the checked program */
    SIZE_AXIS,                    /* of an axis of a lowered program's tensor, whose source's shape is known */
    SIZE_WORKERS,
    SIZE_NAMED,                   /* a formula with a name, printed as the name */
    SIZE_ADD,
    SIZE_SUB,                     /* not below 0 */
    SIZE_MUL,
    SIZE_DIV,                     /* rounded down; by 0 counts as by 1 */
    SIZE_CEIL_DIV,                /* rounded up; by 0 counts as by 1 */
    SIZE_ALIGN,                   /* up to a multiple of a number above 0 */
    SIZE_MIN,
    SIZE_MAX_OF
} SizeKind;

typedef struct Size Size;
struct Size {
    SizeKind kind;
    int64_t constant;
    const Index *index;
    const Tensor *tensor;
    int axis;
    const char *name;
    const Size *a, *b;            /* SIZE_NAMED: a */
};

const Size *size_constant(Arena *arena, int64_t value);
const Size *size_extent(Arena *arena, const Index *index);
const Size *size_axis(Arena *arena, const Tensor *tensor, int axis);
const Size *size_workers(Arena *arena);
const Size *size_named(Arena *arena, const char *name, const Size *formula);

/* The formula of two; constants are folded, those of products into one. */
const Size *size_op(Arena *arena, SizeKind kind, const Size *a, const Size *b);

/* Rounded up to a multiple of `unit` > 0. */
const Size *size_align(Arena *arena, const Size *a, int64_t unit);

/* What a formula is evaluated with. An extent that is -1 makes the result -1. */
typedef struct SizeValues {
    const int64_t *extents;       /* [checked index id] */
    int64_t *const *shapes;       /* [checked tensor id] */
    int workers;
} SizeValues;

int64_t size_evaluate(const Size *size, const SizeValues *values);

bool size_is_constant(const Size *size, int64_t value);

/* As C over int64_t; `extent` and `axis` say how an extent and an axis are spelt. */
typedef struct SizeSpelling {
    const char *(*extent)(void *user, const Index *index);
    const char *(*axis)(void *user, const Tensor *tensor, int axis);
    void *user;
} SizeSpelling;

void size_print(Text *text, const Size *size, const SizeSpelling *spelling);

/* For a person: "min(4096 / (4 * k), max(16, ceil(q / 32)))". */
void size_print_words(Text *text, const Size *size, const SizeSpelling *spelling);

#endif
