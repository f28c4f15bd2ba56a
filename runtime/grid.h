/* The work of a kernel for a grid of threads, in its order, by whoever can start kernels: what the launcher of the generated
 * file does, from the list that it was printed from. */
#ifndef EINC_GRID_H
#define EINC_GRID_H

#include "compile.h"

/* `launch` and `clear` return 0, or a positive number that ends the work; `encode` is the driver's, whose maps are aligned to 64 bytes,
 * or NULL. */
typedef struct GridMachine {
    int (*launch)(void *user, const char *kernel, unsigned blocks, unsigned threads, unsigned shared, void *frame);
    int (*clear)(void *user, void *at, size_t bytes);
    int (*encode)(void *map, int type, uint32_t rank, void *data, const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                  const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);
    unsigned multiprocessors;     /* so many blocks of rings run at once */
    void *user;
} GridMachine;

/* `args`: the args struct, of device memory, for shapes that fit the program; `values`: their extents and shapes. `frame` has
 * room for unit->frame_bytes, and is the kernels' argument. 0, what the machine returned, or a negative number as kernels
 * return it: -2 data that is not aligned to its numbers, -3 sizes that are not known, -4 too small a workspace, with nothing
 * done. */
int grid_run(const Compiled *compiled, const uint64_t *args, const SizeValues *values, void *workspace, size_t bytes,
             uint64_t *frame, const GridMachine *machine);

#endif
