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
#include "pages.c"
#include "size.c"
#include "tiles.c"
#ifndef KERNEL
#define KERNEL
#endif
typedef bf16u partu;
typedef u32u wordu;
enum { ROWS_N = 2 * TILE_ROWS, VECTORS_N = 32 / LANES, COLUMNS_N = VECTORS_N * LANES };
KERNEL static void take_sums(int height, int64_t place, int v, f32v (*sums)[VECTORS_N]);
KERNEL static void take_some_sums(int height, int64_t place, int v, f32v (*sums)[VECTORS_N]);
KERNEL static void take_share_of_sums(int row, int64_t place, int v, f32v (*sums)[VECTORS_N]);
//---
//{ dot
#define DOT_N TILE_DOT_BF16
#define BEGIN_N TILE_LOAD
//}
//{ pairs
/* Numbers are multiplied as they are: of one part. */
enum { PARTS_N = 1, PAIRS_N = 1 };
static const unsigned char row_parts_N[] = { 0 };
static const unsigned char column_parts_N[] = { 0 };
//}

//{ beside_function
//}
/* What a tile's products are of: rows, the lower ones of them from `lower` on, and a panel. Meanwhile what is needed next
 * comes nearer: `ahead`, so many bytes for each word, of a stream `by_pages`. */
typedef struct Factors_N {
    const partu *rows;
    int64_t row_step, k_step, lower;
    const wordu *panel;
    int64_t depth;
    const char *ahead;
    int64_t ahead_step;
    int by_pages;
    //{ beside_member
    //}
} Factors_N;

/* One of the `shares` of what is to come nearer with a tile: all lines where they follow each other, else two for a word. */
INLINE void bring_N(const Factors_N *from, int share, int shares)
{
    const int64_t step = from->ahead_step, bytes = from->depth * step / shares;
    const char *ahead = from->ahead + share * bytes;
    if (from->by_pages)
        bring_pages(ahead, bytes);
    for (int64_t at = 0; at < bytes && !from->by_pages; at += step <= 128 ? 64 : step) {
        PREFETCH_FAR(ahead + at);
        if (step > 128)
            PREFETCH_FAR(ahead + at + 64);
    }
}

/* One of the four products of TILE_WORDS words, a pair of parts of those from k on: the first two are of the upper rows, the others
 * of the lower ones, of which there are some if `both` is true. The first one loads the words; what the pair before has left in
 * the registers is not loaded again. Where a tile begins, the sums of the one before go to `last`, the lower ones last_lower rows
 * behind, each just before its register is needed. */
INLINE void multiply_one_N(TileRegisters *registers, const Factors_N *from, int64_t k, const int pair,
                           const int number, const int both, const int begins, f32v (*last)[VECTORS_N],
                           int64_t last_lower)
{
    const partu *rows = from->rows + (k + TILE_WORDS * row_parts_N[pair]) * from->k_step;
    const wordu *panel = from->panel + (k + TILE_WORDS * column_parts_N[pair]) * COLUMNS_N;
    const int new_rows = pair == 0 || row_parts_N[pair] != row_parts_N[pair - 1];
    const int new_columns = pair == 0 || column_parts_N[pair] != column_parts_N[pair - 1];
    const int64_t apart = from->row_step * (int64_t)sizeof *rows, across = COLUMNS_N * 4;
    char *const to = begins ? (char *)(last + number / 2 * last_lower) + number % 2 * 64 : NULL;
    (void)registers;
    if (number == 0 && new_rows)
        TILE_LOAD(registers, 4, rows, apart);
    if (number == 0 && new_columns)
        TILE_LOAD(registers, 6, panel, across);
    if (number == 0 && COLUMNS_N > TILE_WORDS && new_columns)
        TILE_LOAD(registers, 7, panel + TILE_WORDS, across);
    if (number == 0 && both && new_rows)
        TILE_LOAD(registers, 5, rows + from->lower * from->row_step, apart);
    switch (number) {
    case 0:
        if (begins)
            TILE_RENEW(registers, 0, to, across);
        DOT_N(registers, 0, 4, 6);
        break;
    case 1:
        if (begins && COLUMNS_N > TILE_WORDS)
            TILE_RENEW(registers, 1, to, across);
        if (COLUMNS_N > TILE_WORDS)
            DOT_N(registers, 1, 4, 7);
        break;
    case 2:
        if (begins)
            TILE_RENEW(registers, 2, to, across);
        if (both)
            DOT_N(registers, 2, 5, 6);
        break;
    default:
        if (begins && COLUMNS_N > TILE_WORDS)
            TILE_RENEW(registers, 3, to, across);
        if (both && COLUMNS_N > TILE_WORDS)
            DOT_N(registers, 3, 5, 7);
    }
}

/* One after the other. */
INLINE void multiply_N(TileRegisters *registers, const Factors_N *from, int64_t k, const int pair, const int both,
                       const int begins, f32v (*last)[VECTORS_N], int64_t last_lower)
{
    UNROLL
    for (int number = 0; number < 4; number++) {
        multiply_one_N(registers, from, k, pair, number, both, begins, last, last_lower);
        //{ behind_product
        //}
    }
    //{ behind_products
    //}
}

/* The other pairs of the words from k on. */
INLINE void multiply_others_N(TileRegisters *registers, const Factors_N *from, int64_t k, const int both)
{
    UNROLL
    for (int pair = 1; pair < PAIRS_N; pair++)
        multiply_N(registers, from, k, pair, both, 0, NULL, 0);
}

/* Words of a tile from k to `end`. */
INLINE void multiply_words_N(TileRegisters *registers, const Factors_N *from, int64_t k, int64_t end, const int both)
{
    for (; k < end; k += PARTS_N * TILE_WORDS) {
        multiply_N(registers, from, k, 0, both, 0, NULL, 0);
        multiply_others_N(registers, from, k, both);
    }
}

/* All words from k on: of many, addresses that are made anew for each few of them take as long as the products. */
INLINE void multiply_rest_N(TileRegisters *registers, const Factors_N *from, int64_t k, const int both)
{
    enum { STEP = PARTS_N * TILE_WORDS };
    Factors_N at = *from;
    at.rows += k * from->k_step;
    at.panel += k * COLUMNS_N;
    for (; k < from->depth; k += STEP) {
        multiply_words_N(registers, &at, 0, STEP, both);
        at.rows += STEP * from->k_step;
        at.panel += STEP * COLUMNS_N;
    }
}

/* The loop stands twice, so that nothing is asked between products. */
INLINE void go_through_N(TileRegisters *registers, const Factors_N *from, int64_t k)
{
    if (from->lower > 0)
        multiply_rest_N(registers, from, k, 1);
    else
        multiply_rest_N(registers, from, k, 0);
}

/* Adds a tile's products to the sums from `start` on; they are kept. What becomes of rows that a tile has not does not
 * matter, but there is room for TILE_ROWS. */
INLINE void add_N(TileRegisters *registers, const Factors_N *from, const f32u *start, int64_t start_step, f32u *kept,
                  int64_t kept_step)
{
    const int64_t lower = from->lower > 0 ? from->lower : 0;
    const f32u *lower_start = start + lower * start_step;
    BEGIN_N(registers, 0, start, 4 * start_step);
    if (from->lower > 0)
        BEGIN_N(registers, 2, lower_start, 4 * start_step);
    if (COLUMNS_N > TILE_WORDS) {
        BEGIN_N(registers, 1, start + TILE_WORDS, 4 * start_step);
        if (from->lower > 0)
            BEGIN_N(registers, 3, lower_start + TILE_WORDS, 4 * start_step);
    }
    bring_N(from, 0, 1);
    //{ before_products
    //}
    go_through_N(registers, from, 0);
    //{ after_products
    //}
    //{ hold
    //}
    f32u *lower_kept = kept + lower * kept_step;
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
/* Stores the sums that wait in the registers, which are 0 then. */
INLINE void renew_N(TileRegisters *registers, f32v (*last)[VECTORS_N], int64_t lower)
{
    (void)registers;
    TILE_RENEW(registers, 0, last[0], COLUMNS_N * 4);
    TILE_RENEW(registers, 2, last[lower], COLUMNS_N * 4);
    if (COLUMNS_N > TILE_WORDS) {
        TILE_RENEW(registers, 1, (char *)last[0] + 64, COLUMNS_N * 4);
        TILE_RENEW(registers, 3, (char *)last[lower] + 64, COLUMNS_N * 4);
    }
}

/* Begins a tile; the sums of the one before go to `last`. Back comes how many words are multiplied: so many that those sums
 * are there while others remain. */
INLINE int64_t begin_N(TileRegisters *registers, const Factors_N *from, f32v (*last)[VECTORS_N], int64_t lower)
{
    const int64_t some = PARTS_N * TILE_WORDS, words = size_min(from->depth, from->depth > 2 * some ? 2 * some : some);
    if (words == 0) {
        renew_N(registers, last, lower);
    } else if (from->lower > 0) {
        multiply_N(registers, from, 0, 0, 1, 1, last, lower);
        multiply_others_N(registers, from, 0, 1);
        multiply_words_N(registers, from, some, words, 1);
    } else {
        multiply_N(registers, from, 0, 0, 0, 1, last, lower);
        multiply_others_N(registers, from, 0, 0);
        multiply_words_N(registers, from, some, words, 0);
    }
    return words;
}

/* The same from k to `end`. */
INLINE void go_on_N(TileRegisters *registers, const Factors_N *from, int64_t k, int64_t end)
{
    if (from->lower > 0)
        multiply_words_N(registers, from, k, end, 1);
    else
        multiply_words_N(registers, from, k, end, 0);
}

/* The rows that a tile has not are as its last one. */
INLINE void complete_N(int height, int v, f32v (*sums)[VECTORS_N])
{
    for (int r = height; r < ROWS_N; r++)
        sums[r][v] = sums[height - 1][v];
}
//}

//{ take_function
/* Takes a tile's sums in one of the vectors. */
KERNEL static void take_N(int height, int64_t place, int v, f32v (*sums)[VECTORS_N])
{
    complete_N(height, v, sums);
    take_sums(height, place, v, sums);
}
//}

//{ take_some
/* The same for so many rows of a tile. */
KERNEL static void take_some_N(int height, int64_t place, int v, f32v (*sums)[VECTORS_N])
{
    take_some_sums(height, place, v, sums);
}
//}

//{ each_head
/* Takes the sums of a tile in which rows of several points follow each other. */
KERNEL static void take_each_N(Pending taken, int v, f32v (*sums)[VECTORS_N])
//}
//{ each
{
    for (int first = 0, rows; first < taken.height; first += rows) {
        rows = (int)size_min(taken.rows_left, taken.height - first);
//}
        //{ some
        take_some_N(rows, taken.place, v, sums + first);
        //}
//{ each_end
        taken.rows_left = taken.rows_each;
        taken.place += taken.places;
    }
}

//}
//{ whole_head
/* A whole tile of WHOLE_N words behind a whole one, without a question between its products: behind two of them each a share of
 * the sums of the tile before is taken, TILE_ROWS rows of a vector. */
enum { WHOLE_N = 2 * TILE_WORDS };
INLINE void whole_N(TileRegisters *registers, int64_t place, const Factors_N *from, f32v (*sums)[VECTORS_N])
//}
//{ whole
{
    enum { TURNS = WHOLE_N / (PARTS_N * TILE_WORDS) * PAIRS_N, FIRST = TURNS > 2 ? 3 : 1, SHARES = 2 * VECTORS_N };
//}
    //{ states
    //}
//{ whole_turns
    UNROLL
    for (int half = 0; half < 2 * TURNS || half < FIRST + SHARES; half++) {
        const int turn = half / 2;
        if (turn < TURNS) {
            UNROLL
            for (int next = 0; next < 2; next++)
                multiply_one_N(registers, from, turn / PAIRS_N * PARTS_N * TILE_WORDS, turn % PAIRS_N, half % 2 * 2 + next, 1,
                               turn == 0, sums, TILE_ROWS);
        }
        const int share = half - FIRST, v = share % VECTORS_N, row = share / VECTORS_N * TILE_ROWS;
        if (share < 0 || share >= SHARES)
            continue;
        if (TURNS > 2 && from->ahead_step)
            bring_N(from, share, SHARES);
//}
        //{ take_share
        take_share_of_sums(row, place, v, sums);
        //}
//{ whole_end
    }
//}
    //{ states_end
    //}
//{ whole_close
    if (TURNS <= 2 && from->ahead_step)    /* few lines, and few products to stand between */
        bring_N(from, 0, 1);
}

//}
//{ waiting
//}
/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product, when the next tile is on its way. */
//{ tile_head
INLINE void tile_N(int height, const partu *rows, int64_t row_step, int64_t k_step, const wordu *panel, int64_t depth,
                   const char *ahead, int64_t ahead_step, int by_pages, const f32u *start, int64_t start_step, f32u *kept,
                   int64_t kept_step, TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_N], int64_t place,
                   int64_t rows_left)
//}
{
    //{ factors
    const Factors_N from = { rows, row_step, k_step, height - TILE_ROWS, panel, depth, ahead, ahead_step, by_pages };
    //}
    //{ keep
    if (kept) {
        add_N(registers, &from, start, start_step, kept, kept_step);
        return;
    }
    //}
    //{ by_itself
    if (height == ROWS_N && depth == WHOLE_N && !start_step && pending->height == ROWS_N && pending->rows_left >= ROWS_N) {
        whole_N(registers, pending->place, &from, sums);
        pending->place = place;
        pending->rows_left = rows_left;
        return;
    }
    //}
    //{ begin
    int64_t words = depth;
    if (start_step)
        add_N(registers, &from, start, start_step, (f32u *)sums, COLUMNS_N);
    else
        words = begin_N(registers, &from, sums, pending->lower);
    const Pending now = { height, from.lower > 0 ? from.lower : TILE_ROWS, place, rows_left, pending->rows_each, pending->places };
    const Pending taken = start_step ? now : *pending;
    UNROLL
    for (int v = 0; v < VECTORS_N; v++) {
        if (!start_step)
            bring_N(&from, v, VECTORS_N);
        if (taken.height && taken.height <= taken.rows_left)
    //}
            //{ take
            take_N(taken.height, taken.place, v, sums);
            //}
            //{ take_each
        else if (taken.height)
            take_each_N(taken, v, sums);
            //}
    //{ go_on
        const int64_t end = size_min(depth, words + PARTS_N * TILE_WORDS);
        go_on_N(registers, &from, words, end);
        words = end;
    }
    go_through_N(registers, &from, words);
    *pending = now;
    if (start_step)
        pending->height = 0;
    //}
}

//{ leave_head
/* The sums that still wait are taken. */
INLINE void leave_N(TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_N])
//}
//{ leave
{
    const Pending taken = *pending;
    renew_N(registers, sums, taken.lower);
    pending->height = 0;
    for (int v = 0; v < VECTORS_N; v++)
        if (taken.height && taken.height <= taken.rows_left)
//}
            //{ take
            take_N(taken.height, taken.place, v, sums);
            //}
            //{ take_each
        else if (taken.height)
            take_each_N(taken, v, sums);
            //}
//{ leave_end
}
//}
