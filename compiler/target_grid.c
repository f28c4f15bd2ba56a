/* The targets whose threads are many: those of CUDA, by the architecture that a kernel is compiled for. */
#include "target.h"

/* A block's temporaries are in the second cache, which all blocks share. Its lanes are counted in numbers of 4 bytes, though
 * a thread has one whatever its size. */
#define GPU(architecture, of) \
    { .name = "cuda:" architecture, .words = "CUDA, " of, .grid = &cuda_grid, .vector_bytes = 4 * WARP, .attribute = "", \
      .features = "cuda", .cpu = "a GPU", .l1_bytes = 32 << 10, .l2_bytes = 64 << 10, .fma_per_cycle = 4, .bytes_per_cycle = 16 }

enum { WARP = 32 };

static const Grid cuda_grid = { .threads = 128, .lanes = WARP, .blocks = 1024, .resident = 4, .frame_bytes = 32764 };

const Target grid_targets[] = {
    GPU("sm_80", "compute capability 8.0 (A100)"),
    GPU("sm_86", "compute capability 8.6 (RTX 30)"),
    GPU("sm_89", "compute capability 8.9 (RTX 40, L40)"),
    GPU("sm_90a", "compute capability 9.0 (H100, H200)"),
    GPU("sm_100a", "compute capability 10.0 (B200)"),
    GPU("sm_120", "compute capability 12.0 (RTX 50)"),
    { .name = NULL }
};
