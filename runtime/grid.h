/* The work of a kernel for a grid of threads, in its order, by whoever can start kernels: what the launcher of the generated
 * file does, from the list that it was printed from. */
#ifndef EINC_GRID_H
#define EINC_GRID_H

#include "compile.h"

/* `launch` and `clear` return 0, or a positive number that ends the work; `encode` is the driver's, whose maps are aligned to 128 bytes,
 * or NULL. */
typedef struct GridMachine {
    int (*launch)(void *user, const char *kernel, unsigned blocks, unsigned threads, unsigned shared, void *frame);
    int (*clear)(void *user, void *at, size_t bytes);
    int (*encode)(void *map, int type, uint32_t rank, void *data, const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                  const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);
    unsigned multiprocessors;     /* so many blocks of rings run at once */
    void *user;
} GridMachine;

/* A map of an operand, but for its address; `fits`: there is one if the address is aligned. */
typedef struct GridMapped {
    bool fits;
    uint64_t extents[MAP_AXES_MAX], strides[MAP_AXES_MAX];
    uint32_t box[MAP_AXES_MAX];
} GridMapped;

typedef struct GridTurn {
    int64_t tasks;                /* of a kernel */
    int64_t offset, bytes;        /* of zeros */
    const GridMapped *maps;       /* of a ring */
} GridTurn;

/* What the work comes to for given shapes and strides, wherever the arrays are. */
typedef struct GridCall {
    const Compiled *compiled;
    int64_t shared, own;          /* bytes of workspace: all blocks' and each one's */
    const GridTurn *turns;        /* [work of the unit] */
    const uint64_t *frame;        /* the kernels' argument without addresses and maps */
    int workspace;                /* its word of the frame */
} GridCall;

/* `args`: the args struct, whose addresses do not matter, for shapes that fit the program; `values`: their extents and shapes.
 * NULL: sizes that are not known. */
GridCall *grid_prepare(Arena *arena, const Compiled *compiled, const uint64_t *args, const SizeValues *values);

/* `args`: the same with addresses of device memory. `frame` has room for unit->frame_bytes, and is the kernels' argument. 0, what
 * the machine returned, or a negative number as kernels return it, with nothing done: -2 data that is not aligned to its numbers,
 * -4 too small a workspace. */
int grid_run(const GridCall *call, const uint64_t *args, void *workspace, size_t bytes, uint64_t *frame, const GridMachine *machine);

#endif
