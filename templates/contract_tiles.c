/* A tile's sums in registers that hold tiles: the part of contract.c that makes them, and what contract.c says holds here.
 *
 * The sums of 32 rows and 32 columns are in four registers, the upper rows' in 0 and 1, the lower ones' in 2 and 3. Where
 * there are fewer rows, the lower 16 begin among the upper ones, so that no row past the last is read, and what both have
 * is stored twice. 16 rows are read even where there are fewer: such rows are packed, with room behind them.
 *
 * A product takes long until its sums are there. So sums that a reduction takes stay in the registers until the next tile
 * begins: its first products each come when the register has been stored that they need, and while they are on their way
 * the sums are taken.
 *
 * Numbers may be sums of parts. Then words are as many times as deep, TILE_WORDS words of the first part before as many of
 * the next, and pairs of parts are multiplied. The sample is for words of bf16. */
#include "memory.c"
#include "size.c"
#include "tiles.c"
#ifndef KERNEL
#define KERNEL
#endif
typedef bf16u partu;
typedef u32u wordu;
enum { ROWS_N = 2 * TILE_ROWS, VECTORS_N = 32 / LANES, COLUMNS_N = VECTORS_N * LANES };
KERNEL static void take_sums(int height, int64_t place, f32v (*sums)[VECTORS_N]);
//---
//{ dot
#define DOT_N TILE_DOT_BF16
//}
//{ pairs
/* Numbers are multiplied as they are: of one part. */
enum { PARTS_N = 1, PAIRS_N = 1 };
static const unsigned char row_parts_N[] = { 0 };
static const unsigned char column_parts_N[] = { 0 };
//}

/* What a tile's products are of: rows, the lower ones of them from `lower` on, and a panel. Meanwhile what is needed next
 * comes nearer: `ahead`, so many bytes for each word. */
typedef struct Factors_N {
    const partu *rows;
    int64_t row_step, k_step, lower;
    const wordu *panel;
    int64_t depth;
    const char *ahead;
    int64_t ahead_step;
} Factors_N;

/* Half of what is to come nearer with TILE_WORDS words: two lines for a word where it has so many bytes. */
INLINE void bring_N(const char *ahead, int64_t ahead_step)
{
    const int64_t lines = ahead_step > 64 ? 2 : 1;
    for (int64_t line = 0; line < lines; line++) {
        UNROLL
        for (int k = 0; k < TILE_WORDS / 2; k++)
            PREFETCH(ahead + 64 * line + k * ahead_step);
    }
}

/* Adds to the sums what TILE_WORDS words make, of the upper rows or of `both`: those of rows from row_word on and those of
 * the panel from column_word on. Where a tile begins, the sums of the one before go to `last`, each just before its
 * register is needed. */
INLINE void multiply_N(TileRegisters *registers, const Factors_N *from, int64_t row_word, int64_t column_word,
                       const int both, const int begins, f32v (*last)[VECTORS_N])
{
    const partu *rows = from->rows + row_word * from->k_step;
    const wordu *panel = from->panel + column_word * COLUMNS_N;
    const char *ahead = from->ahead + row_word * from->ahead_step;
    const int64_t apart = from->row_step * (int64_t)sizeof *rows, across = COLUMNS_N * 4;
    char *upper_last = begins ? (char *)last[0] : NULL;
    char *lower_last = begins ? (char *)last[registers->lower] : NULL;
    TILE_LOAD(registers, 4, rows, apart);
    TILE_LOAD(registers, 6, panel, across);
    if (begins)
        TILE_RENEW(registers, 0, upper_last, across);
    DOT_N(registers, 0, 4, 6);
    bring_N(ahead, from->ahead_step);
    if (COLUMNS_N > TILE_WORDS) {
        TILE_LOAD(registers, 7, panel + TILE_WORDS, across);
        if (begins)
            TILE_RENEW(registers, 1, upper_last + 64, across);
        DOT_N(registers, 1, 4, 7);
    }
    bring_N(ahead + TILE_WORDS / 2 * from->ahead_step, from->ahead_step);
    if (both)
        TILE_LOAD(registers, 5, rows + from->lower * from->row_step, apart);
    if (begins)
        TILE_RENEW(registers, 2, lower_last, across);
    if (both)
        DOT_N(registers, 2, 5, 6);
    if (COLUMNS_N > TILE_WORDS) {
        if (begins)
            TILE_RENEW(registers, 3, lower_last + 64, across);
        if (both)
            DOT_N(registers, 3, 5, 7);
    }
}

/* All words of a tile: of TILE_WORDS words the products of their parts, then of the next. */
INLINE void multiply_pairs_N(TileRegisters *registers, const Factors_N *from, const int both, const int begins,
                             f32v (*last)[VECTORS_N])
{
    int pair = 0;
    if (begins) {
        multiply_N(registers, from, TILE_WORDS * row_parts_N[0], TILE_WORDS * column_parts_N[0], both, 1, last);
        pair = 1;
    }
    for (int64_t k = 0; k < from->depth; k += PARTS_N * TILE_WORDS) {
        for (; pair < PAIRS_N; pair++)
            multiply_N(registers, from, k + TILE_WORDS * row_parts_N[pair], k + TILE_WORDS * column_parts_N[pair],
                       both, 0, NULL);
        pair = 0;
    }
}

/* The loop stands twice, so that nothing is asked between products. */
INLINE void multiply_all_N(TileRegisters *registers, const Factors_N *from, const int begins, f32v (*last)[VECTORS_N])
{
    if (from->lower > 0)
        multiply_pairs_N(registers, from, 1, begins, last);
    else
        multiply_pairs_N(registers, from, 0, begins, last);
}

/* Adds a tile's products to the sums from `start` on; they are kept. What becomes of rows that a tile has not does not
 * matter, but there is room for TILE_ROWS. */
INLINE void add_N(TileRegisters *registers, const Factors_N *from, const f32u *start, int64_t start_step, f32u *kept,
                  int64_t kept_step)
{
    const int64_t lower = from->lower > 0 ? from->lower : 0;
    const f32u *lower_start = start + lower * start_step;
    f32u *lower_kept = kept + lower * kept_step;
    TILE_LOAD(registers, 0, start, 4 * start_step);
    if (from->lower > 0)
        TILE_LOAD(registers, 2, lower_start, 4 * start_step);
    if (COLUMNS_N > TILE_WORDS) {
        TILE_LOAD(registers, 1, start + TILE_WORDS, 4 * start_step);
        if (from->lower > 0)
            TILE_LOAD(registers, 3, lower_start + TILE_WORDS, 4 * start_step);
    }
    multiply_all_N(registers, from, 0, NULL);
    TILE_STORE(registers, 0, kept, 4 * kept_step);
    if (from->lower > 0)
        TILE_STORE(registers, 2, lower_kept, 4 * kept_step);
    if (COLUMNS_N > TILE_WORDS) {
        TILE_STORE(registers, 1, kept + TILE_WORDS, 4 * kept_step);
        if (from->lower > 0)
            TILE_STORE(registers, 3, lower_kept + TILE_WORDS, 4 * kept_step);
    }
}

//{ exchange
/* Begins a tile and leaves its sums in the registers; those of the tile before, if there was one, are in `sums` then, and
 * `height` and `place` are its own. Without words there is no product that the registers have to be stored for. */
INLINE void exchange_N(TileRegisters *registers, const Factors_N *from, int *height, int64_t *place, f32v (*sums)[VECTORS_N])
{
    const int last_height = registers->height;
    const int64_t last_place = registers->place;
    if (from->depth > 0) {
        multiply_all_N(registers, from, 1, sums);
    } else {
        TILE_RENEW(registers, 0, sums[0], COLUMNS_N * 4);
        TILE_RENEW(registers, 2, sums[registers->lower], COLUMNS_N * 4);
        if (COLUMNS_N > TILE_WORDS) {
            TILE_RENEW(registers, 1, (char *)sums[0] + 64, COLUMNS_N * 4);
            TILE_RENEW(registers, 3, (char *)sums[registers->lower] + 64, COLUMNS_N * 4);
        }
    }
    registers->lower = from->lower > 0 ? from->lower : TILE_ROWS;
    registers->height = *height;
    registers->place = *place;
    *height = last_height;
    *place = last_place;
}
//}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. A tile without rows is none: only the sums of the one before are taken. */
//{ tile_head
KERNEL static void tile_N(int height, const partu *rows, int64_t row_step, int64_t k_step, const wordu *panel, int64_t depth,
                          const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
                          int64_t kept_step, TileRegisters *registers, f32v (*sums)[VECTORS_N], int64_t place)
//}
{
    const Factors_N from = { rows, row_step, k_step, height - TILE_ROWS, panel, depth, ahead, ahead_step };
    //{ takes
    const int takes = !kept;
    if (takes) {
        kept = (f32u *)sums;
        kept_step = COLUMNS_N;
    }
    if (takes && !start_step)
        exchange_N(registers, &from, &height, &place, sums);
    else
        add_N(registers, &from, start, start_step, kept, kept_step);
    if (!takes || height == 0)
        return;
    /* The rows that are missing are as the last one. */
    for (int r = height; r < ROWS_N; r++)
        for (int v = 0; v < VECTORS_N; v++)
            sums[r][v] = sums[height - 1][v];
    //}
    //{ taken
    take_sums(height, place, sums);
    //}
}
