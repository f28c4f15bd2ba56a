/* The targets whose threads are many: those of CUDA, by the architecture that a kernel is compiled for. */
#include "target.h"

/* A block's temporaries are in the second cache, which all blocks share. Its lanes are counted in numbers of 4 bytes, though
 * a thread has one whatever its size. */
#define GPU(architecture, of) \
    { .name = "cuda:" architecture, .words = "CUDA, " of, .grid = &cuda_grid, .vector_bytes = 4 * WARP, .attribute = "", \
      .features = "cuda", .cpu = "a GPU", .l1_bytes = 32 << 10, .l2_bytes = 64 << 10, .fma_per_cycle = 4, .bytes_per_cycle = 16 }

enum { WARP = 32 };

/* A multiprocessor has 65,536 registers. A thread's sums of the largest tiles take 64 of its own, and what is multiplied, where it
 * comes from and where it goes as many again: 3 blocks of 128 threads have 168 each, 12 of the 48 or 64 warps that fit. Of shared
 * memory the largest take 14 to 18 KiB, of the 99 and more that a multiprocessor has for all. */
static const BlockTile tiles[] = {
    { .rows = 64, .columns = 128, .high = 8, .wide = 8, .depth = 8, .bytes = 4, .stages = 2, .resident = 3 },
    { .rows = 128, .columns = 64, .high = 8, .wide = 8, .depth = 8, .bytes = 4, .stages = 2, .resident = 3 },
    { .rows = 64, .columns = 64, .high = 8, .wide = 4, .depth = 8, .bytes = 8, .stages = 2, .resident = 3 },
    { .rows = 128, .columns = 32, .high = 8, .wide = 4, .depth = 8, .bytes = 8, .stages = 2, .resident = 3 },
    { .rows = 32, .columns = 64, .high = 4, .wide = 4, .depth = 8, .bytes = 8, .stages = 2, .resident = 4 },
    { .rows = 64, .columns = 32, .high = 4, .wide = 4, .depth = 8, .bytes = 8, .stages = 2, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 4, .wide = 2, .depth = 16, .bytes = 8, .stages = 2, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 4, .wide = 2, .side = 1, .depth = 8, .bytes = 8, .stages = 2, .resident = 4 },
    { 0 }
};

/* The same on tensor cores: a warp has 32 rows and 64 columns, or less, of the tile, and 64 bytes of each one's points at a time.
 * A thread's 64 sums of the largest, what it multiplies and where that is take some 200 registers: 2 blocks, 8 warps. Three
 * slices of these are 36 KiB of shared memory, what two blocks have 76 of 99. */
static const BlockTile matrices[] = {
    { .rows = 64, .columns = 128, .high = 4, .wide = 16, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 3, .resident = 2 },
    { .rows = 128, .columns = 64, .high = 8, .wide = 8, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 3, .resident = 2 },
    { .rows = 64, .columns = 64, .high = 4, .wide = 8, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 4, .resident = 3 },
    { .rows = 128, .columns = 32, .high = 4, .wide = 8, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 4, .resident = 3 },
    { .rows = 32, .columns = 32, .high = 2, .wide = 4, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 4, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 2, .wide = 4, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 3, .resident = 4 },
    { 0 }
};

static const Grid cuda_grid = { .threads = 128, .lanes = WARP, .blocks = 1024, .resident = 4, .frame_bytes = 32764,
                                .shared_bytes = 48 << 10, .tiles = tiles, .matrices = matrices };

const Target grid_targets[] = {
    GPU("sm_80", "compute capability 8.0 (A100)"),
    GPU("sm_86", "compute capability 8.6 (RTX 30)"),
    GPU("sm_89", "compute capability 8.9 (RTX 40, L40)"),
    GPU("sm_90a", "compute capability 9.0 (H100, H200)"),
    GPU("sm_100a", "compute capability 10.0 (B200)"),
    GPU("sm_120", "compute capability 12.0 (RTX 50)"),
    { .name = NULL }
};
