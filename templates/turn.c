/* Copies of squares whose rows become columns. */
#ifndef TEMPLATES_TURN
#define TEMPLATES_TURN

#include "memory.c"
#include "fold.c"

//{ turn_part_f32
/* What turn_f32() does, for less than whole squares: short rows, or columns, one at a time, as are those whose elements
 * are few apart. */
APART void turn_part_f32(f32u *to, int64_t to_column, int64_t to_row, const f32u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns)
{
    f32v x[LANES];
    if (4 * columns <= LANES || (from_row >= 2 && from_row <= 4 && rows == LANES)) {
        for (int c = 0; c < columns; c++)
            store_f32v(to + c * to_column, to_row, load_f32v(from + c * from_column, from_row, rows), rows);
        return;
    }
    if (4 * rows <= LANES) {
        for (int r = 0; r < rows; r++)
            store_f32v(to + r * to_row, to_column, load_f32v(from + r * from_row, from_column, columns), columns);
        return;
    }
    for (int r = 0; r < LANES; r++)
        x[r] = load_f32v(from + (r < rows ? r : 0) * from_row, from_column, columns);
    transpose_f32v(x);
    for (int c = 0; c < columns; c++)
        store_f32v(to + c * to_column, to_row, x[c], rows);
}
//}

//{ turn_f32
/* to[c * to_column + r * to_row] = from[r * from_row + c * from_column], for so many rows and columns, at most LANES. What
 * is `soon`, so many lines `line` apart, is asked for: the next squares, which are no stream that the machine sees. */
APART void turn_f32(f32u *to, int64_t to_column, int64_t to_row, const f32u *from, int64_t from_row, int64_t from_column,
                    int rows, int columns, const f32u *soon, int64_t line)
{
    f32v x[LANES];
    for (int r = 0; r < LANES; r++)
        PREFETCH_FAR(soon + r * line);
    if (rows < LANES || columns < LANES || from_column != 1 || to_row != 1) {
        turn_part_f32(to, to_column, to_row, from, from_row, from_column, rows, columns);
        return;
    }
    UNROLL
    for (int r = 0; r < LANES; r++)
        x[r] = load_f32v(from + r * from_row, 1, LANES);
    if (LANES > 1)
        exchange_f32v(x, 1);
    if (LANES > 2)
        exchange_f32v(x, 2);
    if (LANES > 4)
        exchange_f32v(x, 4);
    if (LANES > 8)
        exchange_f32v(x, 8);
    UNROLL
    for (int c = 0; c < LANES; c++)
        store_f32v(to + c * to_column, 1, x[c], LANES);
}
//}

//{ turn_f32_f16
/* turn_f32() of numbers that are widened on the way. */
APART void turn_f32_f16(f32u *to, int64_t to_column, int64_t to_row, const f16u *from, int64_t from_row, int64_t from_column,
                       int rows, int columns, const f16u *soon, int64_t line)
{
    float square[LANES * LANES];
    for (int r = 0; r < rows; r++) {
        PREFETCH_FAR(soon + r * line);
        store_f32v(square + r * LANES, 1, load_f16v(from + r * from_row, from_column, columns), LANES);
    }
    turn_f32(to, to_column, to_row, square, LANES, 1, rows, columns, square, 0);
}
//}

//{ turn_f32_bf16
/* turn_f32() of numbers that are widened on the way. */
APART void turn_f32_bf16(f32u *to, int64_t to_column, int64_t to_row, const bf16u *from, int64_t from_row, int64_t from_column,
                        int rows, int columns, const bf16u *soon, int64_t line)
{
    float square[LANES * LANES];
    for (int r = 0; r < rows; r++) {
        PREFETCH_FAR(soon + r * line);
        store_f32v(square + r * LANES, 1, load_bf16v(from + r * from_row, from_column, columns), LANES);
    }
    turn_f32(to, to_column, to_row, square, LANES, 1, rows, columns, square, 0);
}
//}

//{ LINE
/* So many numbers of a type are a line, or a vector where that is more. */
#define LINE(type) (LANES * sizeof(type) < 64 ? 64 / (int)sizeof(type) : LANES)
//}

//{ pass_squares_f32
/* So many squares beside each other, whole columns of which go past the caches at once. */
INLINE void pass_squares_f32(f32u *to, int64_t to_column, const f32u *from, int64_t from_row, const int squares)
{
    f32v x[LINE(float)];
    UNROLL
    for (int square = 0; square < squares; square++) {
        UNROLL
        for (int r = square * LANES; r < (square + 1) * LANES; r++)
            x[r] = load_f32v(from + r * from_row, 1, LANES);
        if (LANES > 1)
            exchange_f32v(x + square * LANES, 1);
        if (LANES > 2)
            exchange_f32v(x + square * LANES, 2);
        if (LANES > 4)
            exchange_f32v(x + square * LANES, 4);
        if (LANES > 8)
            exchange_f32v(x + square * LANES, 8);
    }
    UNROLL
    for (int column = 0; column < LANES; column++) {
        UNROLL
        for (int square = 0; square < squares; square++)
            stream_f32v(to + column * to_column + square * LANES, 1, x[square * LANES + column], LANES, 1);
    }
}
//}

//{ turn_past_f32
/* The same of up to LINE(float) rows, where `past` whole columns past the caches: a line goes at once, for few wait for their other half. */
APART void turn_past_f32(f32u *to, int64_t to_column, int64_t to_row, const f32u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns, const f32u *soon, int64_t line, int past)
{
    const int is_past = past && rows % LANES == 0 && columns == LANES && from_column == 1 && to_row == 1;
    if (is_past && rows == LINE(float)) {
        pass_squares_f32(to, to_column, from, from_row, LINE(float) / LANES);
        return;
    }
    for (int r = 0; r < rows; r += LANES) {
        if (is_past && LANES < LINE(float))
            pass_squares_f32(to + r, to_column, from + r * from_row, from_row, 1);
        else
            turn_f32(to + r * to_row, to_column, to_row, from + r * from_row, from_row, from_column,
                     rows - r < LANES ? rows - r : LANES, columns, soon, line);
    }
}
//}

//{ turn_part_f64
/* What turn_f64() does, for less than whole squares: short rows, or columns, one at a time, as are those whose elements
 * are few apart. */
APART void turn_part_f64(f64u *to, int64_t to_column, int64_t to_row, const f64u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns)
{
    f64v x[LANES];
    if (4 * columns <= LANES || (from_row >= 2 && from_row <= 4 && rows == LANES)) {
        for (int c = 0; c < columns; c++)
            store_f64v(to + c * to_column, to_row, load_f64v(from + c * from_column, from_row, rows), rows);
        return;
    }
    if (4 * rows <= LANES) {
        for (int r = 0; r < rows; r++)
            store_f64v(to + r * to_row, to_column, load_f64v(from + r * from_row, from_column, columns), columns);
        return;
    }
    for (int r = 0; r < LANES; r++)
        x[r] = load_f64v(from + (r < rows ? r : 0) * from_row, from_column, columns);
    transpose_f64v(x);
    for (int c = 0; c < columns; c++)
        store_f64v(to + c * to_column, to_row, x[c], rows);
}
//}

//{ turn_f64
/* to[c * to_column + r * to_row] = from[r * from_row + c * from_column], for so many rows and columns, at most LANES. What
 * is `soon`, so many lines `line` apart, is asked for: the next squares, which are no stream that the machine sees. */
APART void turn_f64(f64u *to, int64_t to_column, int64_t to_row, const f64u *from, int64_t from_row, int64_t from_column,
                    int rows, int columns, const f64u *soon, int64_t line)
{
    f64v x[LANES];
    for (int r = 0; r < LANES; r++)
        PREFETCH_FAR(soon + r * line);
    if (rows < LANES || columns < LANES || from_column != 1 || to_row != 1) {
        turn_part_f64(to, to_column, to_row, from, from_row, from_column, rows, columns);
        return;
    }
    UNROLL
    for (int r = 0; r < LANES; r++)
        x[r] = load_f64v(from + r * from_row, 1, LANES);
    if (LANES > 1)
        exchange_f64v(x, 1);
    if (LANES > 2)
        exchange_f64v(x, 2);
    if (LANES > 4)
        exchange_f64v(x, 4);
    if (LANES > 8)
        exchange_f64v(x, 8);
    UNROLL
    for (int c = 0; c < LANES; c++)
        store_f64v(to + c * to_column, 1, x[c], LANES);
}
//}

//{ pass_squares_f64
/* So many squares beside each other, whole columns of which go past the caches at once. */
INLINE void pass_squares_f64(f64u *to, int64_t to_column, const f64u *from, int64_t from_row, const int squares)
{
    f64v x[LINE(double)];
    UNROLL
    for (int square = 0; square < squares; square++) {
        UNROLL
        for (int r = square * LANES; r < (square + 1) * LANES; r++)
            x[r] = load_f64v(from + r * from_row, 1, LANES);
        if (LANES > 1)
            exchange_f64v(x + square * LANES, 1);
        if (LANES > 2)
            exchange_f64v(x + square * LANES, 2);
        if (LANES > 4)
            exchange_f64v(x + square * LANES, 4);
        if (LANES > 8)
            exchange_f64v(x + square * LANES, 8);
    }
    UNROLL
    for (int column = 0; column < LANES; column++) {
        UNROLL
        for (int square = 0; square < squares; square++)
            stream_f64v(to + column * to_column + square * LANES, 1, x[square * LANES + column], LANES, 1);
    }
}
//}

//{ turn_past_f64
/* The same of up to LINE(double) rows, where `past` whole columns past the caches: a line goes at once, for few wait for their other half. */
APART void turn_past_f64(f64u *to, int64_t to_column, int64_t to_row, const f64u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns, const f64u *soon, int64_t line, int past)
{
    const int is_past = past && rows % LANES == 0 && columns == LANES && from_column == 1 && to_row == 1;
    if (is_past && rows == LINE(double)) {
        pass_squares_f64(to, to_column, from, from_row, LINE(double) / LANES);
        return;
    }
    for (int r = 0; r < rows; r += LANES) {
        if (is_past && LANES < LINE(double))
            pass_squares_f64(to + r, to_column, from + r * from_row, from_row, 1);
        else
            turn_f64(to + r * to_row, to_column, to_row, from + r * from_row, from_row, from_column,
                     rows - r < LANES ? rows - r : LANES, columns, soon, line);
    }
}
//}

//{ turn_part_i32
/* What turn_i32() does, for less than whole squares: short rows, or columns, one at a time, as are those whose elements
 * are few apart. */
APART void turn_part_i32(i32u *to, int64_t to_column, int64_t to_row, const i32u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns)
{
    i32v x[LANES];
    if (4 * columns <= LANES || (from_row >= 2 && from_row <= 4 && rows == LANES)) {
        for (int c = 0; c < columns; c++)
            store_i32v(to + c * to_column, to_row, load_i32v(from + c * from_column, from_row, rows), rows);
        return;
    }
    if (4 * rows <= LANES) {
        for (int r = 0; r < rows; r++)
            store_i32v(to + r * to_row, to_column, load_i32v(from + r * from_row, from_column, columns), columns);
        return;
    }
    for (int r = 0; r < LANES; r++)
        x[r] = load_i32v(from + (r < rows ? r : 0) * from_row, from_column, columns);
    transpose_i32v(x);
    for (int c = 0; c < columns; c++)
        store_i32v(to + c * to_column, to_row, x[c], rows);
}
//}

//{ turn_i32
/* to[c * to_column + r * to_row] = from[r * from_row + c * from_column], for so many rows and columns, at most LANES. What
 * is `soon`, so many lines `line` apart, is asked for: the next squares, which are no stream that the machine sees. */
APART void turn_i32(i32u *to, int64_t to_column, int64_t to_row, const i32u *from, int64_t from_row, int64_t from_column,
                    int rows, int columns, const i32u *soon, int64_t line)
{
    i32v x[LANES];
    for (int r = 0; r < LANES; r++)
        PREFETCH_FAR(soon + r * line);
    if (rows < LANES || columns < LANES || from_column != 1 || to_row != 1) {
        turn_part_i32(to, to_column, to_row, from, from_row, from_column, rows, columns);
        return;
    }
    UNROLL
    for (int r = 0; r < LANES; r++)
        x[r] = load_i32v(from + r * from_row, 1, LANES);
    if (LANES > 1)
        exchange_i32v(x, 1);
    if (LANES > 2)
        exchange_i32v(x, 2);
    if (LANES > 4)
        exchange_i32v(x, 4);
    if (LANES > 8)
        exchange_i32v(x, 8);
    UNROLL
    for (int c = 0; c < LANES; c++)
        store_i32v(to + c * to_column, 1, x[c], LANES);
}
//}

//{ pass_squares_i32
/* So many squares beside each other, whole columns of which go past the caches at once. */
INLINE void pass_squares_i32(i32u *to, int64_t to_column, const i32u *from, int64_t from_row, const int squares)
{
    i32v x[LINE(int32_t)];
    UNROLL
    for (int square = 0; square < squares; square++) {
        UNROLL
        for (int r = square * LANES; r < (square + 1) * LANES; r++)
            x[r] = load_i32v(from + r * from_row, 1, LANES);
        if (LANES > 1)
            exchange_i32v(x + square * LANES, 1);
        if (LANES > 2)
            exchange_i32v(x + square * LANES, 2);
        if (LANES > 4)
            exchange_i32v(x + square * LANES, 4);
        if (LANES > 8)
            exchange_i32v(x + square * LANES, 8);
    }
    UNROLL
    for (int column = 0; column < LANES; column++) {
        UNROLL
        for (int square = 0; square < squares; square++)
            stream_i32v(to + column * to_column + square * LANES, 1, x[square * LANES + column], LANES, 1);
    }
}
//}

//{ turn_past_i32
/* The same of up to LINE(int32_t) rows, where `past` whole columns past the caches: a line goes at once, for few wait for their other half. */
APART void turn_past_i32(i32u *to, int64_t to_column, int64_t to_row, const i32u *from, int64_t from_row, int64_t from_column,
                         int rows, int columns, const i32u *soon, int64_t line, int past)
{
    const int is_past = past && rows % LANES == 0 && columns == LANES && from_column == 1 && to_row == 1;
    if (is_past && rows == LINE(int32_t)) {
        pass_squares_i32(to, to_column, from, from_row, LINE(int32_t) / LANES);
        return;
    }
    for (int r = 0; r < rows; r += LANES) {
        if (is_past && LANES < LINE(int32_t))
            pass_squares_i32(to + r, to_column, from + r * from_row, from_row, 1);
        else
            turn_i32(to + r * to_row, to_column, to_row, from + r * from_row, from_row, from_column,
                     rows - r < LANES ? rows - r : LANES, columns, soon, line);
    }
}
//}

#endif
