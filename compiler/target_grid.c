/* The targets whose threads are many: those of CUDA, by the architecture that a kernel is compiled for. */
#include "target.h"

/* A block's temporaries are in the second cache, which all blocks share. Its lanes are counted in numbers of 4 bytes, though
 * a thread has one whatever its size. */
#define GPU(architecture, of, its) \
    { .name = "cuda:" architecture, .words = "CUDA, " of, .grid = &its, .vector_bytes = 4 * WARP, .attribute = "", \
      .parts = { [PRECISION_TF32] = &rounded, [PRECISION_BF16X3] = &three_products, [PRECISION_BF16X6] = &six_products }, \
      .features = "cuda", .cpu = "a GPU", .l1_bytes = 32 << 10, .l2_bytes = 64 << 10, .fma_per_cycle = 4, .bytes_per_cycle = 16, \
      .rates = { [DTYPE_I8] = 32, [DTYPE_BF16] = 16, [DTYPE_F16] = 16 } }

enum { WARP = 32 };

/* A multiprocessor has 65,536 registers. A thread's sums of the largest tiles take 128 of its own, and what is multiplied now and
 * next, where it comes from and where it goes some 100: 2 blocks of 128 threads have 255 each, and 3, with half the sums, 168. Of
 * shared memory the largest take 27 to 36 KiB, of the 99 and more that a multiprocessor has for all. */
static const BlockTile tiles[] = {
    { .rows = 128, .columns = 128, .high = 16, .wide = 8, .depth = 8, .bytes = 4, .stages = 3, .resident = 2 },
    { .rows = 64, .columns = 128, .high = 8, .wide = 8, .depth = 8, .bytes = 4, .stages = 3, .resident = 3 },
    { .rows = 128, .columns = 64, .high = 8, .wide = 8, .depth = 8, .bytes = 4, .stages = 3, .resident = 3 },
    { .rows = 64, .columns = 128, .high = 8, .wide = 8, .depth = 8, .bytes = 8, .stages = 3, .resident = 2 },
    { .rows = 128, .columns = 64, .high = 8, .wide = 8, .depth = 8, .bytes = 8, .stages = 3, .resident = 2 },
    { .rows = 64, .columns = 64, .high = 8, .wide = 4, .depth = 8, .bytes = 8, .stages = 3, .resident = 3 },
    { .rows = 128, .columns = 32, .high = 8, .wide = 4, .depth = 8, .bytes = 8, .stages = 3, .resident = 3 },
    { .rows = 32, .columns = 64, .high = 4, .wide = 4, .depth = 8, .bytes = 8, .stages = 2, .resident = 4 },
    { .rows = 64, .columns = 32, .high = 4, .wide = 4, .depth = 8, .bytes = 8, .stages = 2, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 4, .wide = 2, .depth = 16, .bytes = 8, .stages = 2, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 4, .wide = 2, .side = 1, .depth = 8, .bytes = 8, .stages = 2, .resident = 4 },
    { 0 }
};

/* The same of few contracted points. A thread has all of its columns' in registers, next to their states, and no sums that wait. */
static const BlockTile brief = { .rows = 64, .columns = 128, .high = 8, .wide = 8, .depth = 4, .bytes = 4, .resident = 3 };

/* The same of squared distances, where f64 on tensor cores takes half the time of a power. A thread has what columns are multiplied with,
 * and four products on their way, in the 128 registers that four blocks leave it. */
static const BlockTile near = { .rows = 32, .columns = 128, .high = 4, .wide = 8, .depth = 4, .bytes = 4, .resident = 4 };

/* The same on tensor cores: a warp has 32 rows and 64 columns, or less, of the tile, and 64 bytes of each one's points at a time.
 * A thread's 64 sums of the largest, what it multiplies and where that is take some 200 registers: 2 blocks, 8 warps. Three
 * slices of these are 36 KiB of shared memory, what two blocks have 76 of 99. */
static const BlockTile matrices[] = {
    { .rows = 64, .columns = 128, .high = 4, .wide = 16, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 3, .resident = 2 },
    { .rows = 128, .columns = 64, .high = 8, .wide = 8, .depth = 4, .bytes = 8, .is_matrix = true, .stages = 3, .resident = 2 },
    { .rows = 64, .columns = 64, .high = 4, .wide = 8, .depth = 4, .bytes = 8, .is_matrix = true, .stages = 4, .resident = 3 },
    { .rows = 128, .columns = 32, .high = 4, .wide = 8, .depth = 4, .bytes = 8, .is_matrix = true, .stages = 4, .resident = 3 },
    { .rows = 32, .columns = 32, .high = 2, .wide = 4, .depth = 4, .bytes = 8, .is_matrix = true, .stages = 4, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 2, .wide = 4, .depth = 4, .bytes = 8, .is_matrix = true, .stages = 3, .resident = 4 },
    { 0 }
};

/* The same of f64, whose 64 sums take 128 registers, and 128 bytes of each line's points: three slices of the largest are 72 KiB. */
static const BlockTile doubles[] = {
    { .rows = 128, .columns = 64, .high = 8, .wide = 8, .depth = 8, .bytes = 8, .is_matrix = true, .stages = 3, .resident = 2, .asks = true },
    { .rows = 64, .columns = 64, .high = 4, .wide = 8, .depth = 8, .bytes = 8, .is_matrix = true, .stages = 3, .resident = 2, .asks = true },
    { .rows = 128, .columns = 32, .high = 4, .wide = 8, .depth = 8, .bytes = 8, .is_matrix = true, .stages = 3, .resident = 2, .asks = true },
    { .rows = 32, .columns = 32, .high = 2, .wide = 4, .depth = 8, .bytes = 8, .is_matrix = true, .stages = 4, .resident = 4 },
    { .rows = 32, .columns = 32, .high = 2, .wide = 4, .depth = 8, .bytes = 8, .is_matrix = true, .stages = 3, .resident = 4 },
    { 0 }
};

/* f32 numbers there: rounded, or in parts. Small products first. */
static const Tile rounded = { .group = 1, .dot = "tf32", .parts = 1, .pairs = "00" };
static const Tile three_products = { .group = 2, .dot = "bf16", .parts = 2, .pairs = "01 10 00" };
static const Tile six_products = { .group = 2, .dot = "bf16", .parts = 3, .pairs = "02 11 20 01 10 00" };

/* Two products one behind the other. A warp has 16 rows of the first on tensor cores, or 4 times `high` on the plain units, with all
 * of the tile's columns, and the same rows of the second. */
#define PLAIN(high_, values_, resident_) \
    { { .rows = 16 * (high_), .columns = 32, .high = (high_), .wide = 4, .depth = 8, .bytes = 4, .stages = 2, .resident = (resident_) }, (values_) }
#define MATRIX(columns_, values_, resident_) \
    { { .rows = 64, .columns = (columns_), .high = 2, .wide = (columns_) / 4, .depth = 4, .bytes = 4, .is_matrix = true, .stages = 3, \
        .resident = (resident_) }, (values_) }

static const FuseTile fuse_tiles[] = {
    PLAIN(4, 64, 2), PLAIN(4, 32, 2),
    { { .rows = 32, .columns = 16, .high = 2, .wide = 2, .depth = 8, .bytes = 4, .stages = 2, .resident = 4 }, 16 },
    { .values = 0 }
};

static const FuseTile fuse_matrices[] = {
    MATRIX(32, 64, 2), MATRIX(32, 32, 2), { .values = 0 }
};

/* A multiprocessor has one such block, and 227 KiB of shared memory for it. Each thread that multiplies has a row of 64 lines by RIGHT
 * sums, 128 registers of its 232, or two of these by fewer. Of each tile the second cache gives the blocks its slices: where the left
 * side's stay, the right side's meet twice as many lines, for a quarter of the bytes. The last one is for tests. */
static const RingTile rings[] = {
    { .left = 256, .right = 160, .stages = 3, .kept = 2 },
    { .left = 128, .right = 256, .stages = 4 },
    { .left = 128, .right = 128, .stages = 3 },
};

/* Of two products a thread that multiplies has RIGHT / 2 sums of the first, half as many words of factors, and half of the values as
 * sums of the second: 184 registers of the largest of its 240. Where more is asked of a column they have fewer: plan_hopper.c. */
static const RingTile fuse_rings[] = {
    { .left = 128, .right = 160, .stages = 6, .depth = 64, .values = 64, .registers = RING_REGISTERS_MOST },
    { .left = 128, .right = 160, .stages = 4, .depth = 128, .values = 128, .registers = RING_REGISTERS_MOST },
    { .left = 128, .right = 64, .stages = 4, .depth = 256, .values = 256, .registers = RING_REGISTERS_MOST },
    { .left = 128, .right = 64, .stages = 3, .depth = 128, .values = 128, .registers = RING_REGISTERS_MOST },
    { 0 }
};

#define GRID .threads = 128, .lanes = WARP, .blocks = 1024, .resident = 4, .frame_bytes = 32764, .shared_bytes = 48 << 10, \
             .asked_bytes = 80 << 10, .tiles = tiles, .matrices = matrices, .brief = &brief, .fuse_tiles = fuse_tiles, \
             .fuse_matrices = fuse_matrices

/* Only those ask whose tensor cores have f64: two blocks have 160 of at least 164 KiB. Graphics cards have such, too, but slower than
 * their plain units. The A100's instruction takes half as many points, which leaves no registers for the largest tile's sums. */
static const Grid cuda_grid = { GRID }, doubles_grid = { GRID, .doubles = doubles }, ampere_grid = { GRID, .doubles = doubles + 1 },
                  hopper_grid = { GRID, .doubles = doubles, .near = &near, .rings = rings, .fuse_rings = fuse_rings };

const Target grid_targets[] = {
    GPU("sm_80", "compute capability 8.0 (A100)", ampere_grid),
    GPU("sm_86", "compute capability 8.6 (RTX 30)", cuda_grid),
    GPU("sm_89", "compute capability 8.9 (RTX 40, L40)", cuda_grid),
    GPU("sm_90a", "compute capability 9.0 (H100, H200)", hopper_grid),
    GPU("sm_100a", "compute capability 10.0 (B200)", doubles_grid),
    GPU("sm_120", "compute capability 12.0 (RTX 50)", cuda_grid),
    { .name = NULL }
};
