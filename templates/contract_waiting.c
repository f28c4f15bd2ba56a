/* Whole tiles whose rows wait for the next tile's products: the part of contract_tiles.c for these. Their sums stay in the
 * registers until the next one begins, so that nothing waits for the last products; each row is taken when it has been stored. */
#include "contract_tiles.c"
typedef struct Waiting_N {
    float *kept;
    int64_t rows;
    int held;                     /* the sums are in the registers, and belong into `kept` */
} Waiting_N;
KERNEL static void take_row_N(Waiting_N *waiting);
//---
//{ words
//}
/* Stores the sums that the registers hold of the tile whose rows wait. */
INLINE void store_held_N(TileRegisters *registers, Waiting_N *waiting)
{
    (void)registers;
    if (!waiting->held)
        return;
    float *const upper = waiting->kept, *const lower = upper + TILE_ROWS * COLUMNS_N;
    waiting->held = 0;
    TILE_STORE(registers, 0, upper, COLUMNS_N * 4);
    TILE_STORE(registers, 2, lower, COLUMNS_N * 4);
    if (COLUMNS_N > TILE_WORDS) {
        TILE_STORE(registers, 1, upper + TILE_WORDS, COLUMNS_N * 4);
        TILE_STORE(registers, 3, lower + TILE_WORDS, COLUMNS_N * 4);
    }
}

/* A whole tile of WHOLE_N words behind one that is held, whose sums it stores just before it needs their registers. Behind all
 * products but the first as many of their rows are taken as behind the others, without a question between them. */
INLINE void hold_N(TileRegisters *registers, const Factors_N *from, Waiting_N *waiting)
{
    enum { TURNS = WHOLE_N / TILE_WORDS, PLACES = 4 * TURNS - 1, MOST = (ROWS_N + PLACES - 1) / PLACES };
    f32v (*const last)[VECTORS_N] = (f32v (*)[VECTORS_N])waiting->kept;
    Waiting_N left = *waiting;
    bring_N(from, 0, 1);
    UNROLL
    for (int turn = 0; turn < TURNS; turn++) {
        UNROLL
        for (int number = 0; number < 4; number++) {
            const int place = 4 * turn + number, first = (place - 1) * ROWS_N / PLACES, end = place * ROWS_N / PLACES;
            multiply_one_N(registers, from, turn * TILE_WORDS, 0, number, 1, turn == 0, last, TILE_ROWS);
            UNROLL
            for (int row = 0; row < MOST; row++)
                if (place > 0 && first + row < end)
                    take_row_N(&left);
        }
    }
    waiting->rows = 0;
}
