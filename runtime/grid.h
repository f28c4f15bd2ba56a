/* The work of a kernel for a grid of threads, in its order, by whoever can start kernels: what the launcher of the generated
 * file does, from the list that it was printed from. */
#ifndef EINC_GRID_H
#define EINC_GRID_H

#include "compile.h"

/* Both return 0, or a positive number that ends the work. */
typedef struct GridMachine {
    int (*launch)(void *user, const char *kernel, unsigned blocks, unsigned threads, void *frame);
    int (*clear)(void *user, void *at, size_t bytes);
    void *user;
} GridMachine;

/* `args`: the args struct, of device memory, for shapes that fit the program; `values`: their extents and shapes. `frame` has
 * room for unit->frame_bytes, and is the kernels' argument. 0, what the machine returned, or a negative number as kernels
 * return it: -2 data that is not aligned to its numbers, -3 sizes that are not known, -4 too small a workspace, with nothing
 * done. */
int grid_run(const Compiled *compiled, const uint64_t *args, const SizeValues *values, void *workspace, size_t bytes,
             uint64_t *frame, const GridMachine *machine);

#endif
