/* The skeleton of one step as a tiled product: rows of the left operand times columns of the right one, over the
 * contracted indices, and what follows while the sums are at hand.
 *
 * Columns run along the lanes and are packed: a panel for each tile of columns, in it one row of COLUMNS for each point
 * of the contracted indices. A worker packs them once, for all units of work that have the same columns. Rows are broadcast,
 * in place where their strides allow it. Where all panels together have more than NEAR words, BLOCK tiles of rows meet a
 * panel before the next one. The sums of a tile, ROWS x COLUMNS, stay in registers from the first to the last point, as
 * contract_vectors.c or contract_tiles.c has it; where there are more than DEPTH points, the block's tiles take some of them
 * at a time and keep their sums meanwhile.
 *
 * Where one instruction adds several products of narrow numbers to a sum, a word of 32 bits has so many contracted points,
 * and what is said here of a point is meant of a word: see templates/dot.c.
 *
 * The emitter puts the step's number for N, the dtype of its sums for f32, what is broadcast or packed as columns for
 * `word`, and what rows consist of for `part`. The sample is out[i,j] = sum[k](A[i,k] * B[j,k]). */
#include "fold.c"
#include "memory.c"
#include "size.c"
typedef struct Frame {
    const f32u *A, *B;
    f32u *out;
    int64_t extent_i, extent_j, extent_k;
} Frame;
#ifndef KERNEL
#define KERNEL
#endif
typedef f32u wordu, partu;
typedef f32v wordv;
#define load_wordv load_f32v
//---
//{ title
/* out[i,j] = sum[k](A[i,k] * B[j,k]) */
//}
//{ constants
enum { ROWS_N = 6, VECTORS_N = 2, COLUMNS_N = VECTORS_N * LANES, DEPTH_N = 4, NEAR_N = 64, BLOCK_N = 2, PAIRS_N = 2 * VECTORS_N };
//}

//{ pack_columns
/* The panel of the `count` columns from j on. */
KERNEL static void pack_columns_N(const Frame *f, int64_t j, int count, float *panel)
{
    for (int v = 0; v < VECTORS_N; v++) {
        float *to = panel + v * LANES;
        const int64_t j_lanes = j + v * LANES;
        const int lanes = (int)size_max(size_min(count - v * LANES, LANES), 1);
        for (int64_t k = 0; k < f->extent_k; k++, to += COLUMNS_N)
            store_f32v(to, 1, load_f32v(f->B + size_min(j_lanes, f->extent_j - 1) * f->extent_k + k, f->extent_k, lanes), LANES);
    }
}
//}

//{ pack_rows
/* `height` rows from i on, each with its contracted points side by side. */
KERNEL static void pack_rows_N(const Frame *f, int64_t i, int height, float *packed)
{
    for (int r = 0; r < height; r++)
        for (int64_t k = 0; k < f->extent_k; k++)
            *packed++ = f->A[(i + r) * f->extent_k + k];
}
//}

//{ tile
#include "contract_vectors.c"
//}

//{ after
/* Stores a tile. */
KERNEL static void after_N(const Frame *f, int64_t i, int64_t j, int height, int count, const float *tile)
{
    for (int r = 0; r < height; r++)
        for (int c = 0; c < count; c++)
            f->out[(i + r) * f->extent_j + j + c] = tile[r * COLUMNS_N + c];
}
//}

//{ finish
//}

//{ whole
KERNEL static void step_N(const Frame *f, float *panel, float *packed, float *tile)
{
    const int64_t depth = f->extent_k;
    float start[COLUMNS_N];
    for (int c = 0; c < COLUMNS_N; c++)
        start[c] = 0;
    for (int64_t j = 0; j < f->extent_j; j += COLUMNS_N)
        pack_columns_N(f, j, (int)size_min(COLUMNS_N, f->extent_j - j), panel + j * depth);
    for (int64_t i = 0, height; i < f->extent_i; i += height) {
        height = size_next(f->extent_i - i, ROWS_N, ROWS_N);
        pack_rows_N(f, i, (int)height, packed);
        for (int64_t j = 0; j < f->extent_j; j += COLUMNS_N) {
            tile_N((int)height, packed, depth, 1, panel + j * depth, depth, (const char *)f->A, 0, start, 0, tile, COLUMNS_N);
            after_N(f, i, j, (int)height, (int)size_min(COLUMNS_N, f->extent_j - j), tile);
        }
    }
}
//}
