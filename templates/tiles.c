/* Registers that hold tiles: 16 rows of 64 bytes, eight of them. One instruction multiplies a tile of rows, 16 words of
 * contracted points each, by a tile of so many words of columns, and adds what comes out to a third: words are those of
 * dot.c, but numbers of i8 have signs on both sides.
 *
 * Without these instructions, or with EINC_MODEL, plain C does the same: what would be in the registers is in memory. */
#ifndef TEMPLATES_TILES
#define TEMPLATES_TILES

#include "dot.c"
#include "integer.c"
#include "extremes.c"
#include "size.c"

//{ EINC_TILES
/* Whether there are instructions for tiles. Assemblers that know them do so without being told for which machine. */
#if defined(__x86_64__) && (__GNUC__ >= 11 || defined(__clang__)) && !defined(EINC_SCALAR) && !defined(EINC_MODEL)
#define EINC_TILES 1
#else
#define EINC_TILES 0
#endif
//}

//{ TILE_ROWS
//{ TILE_WORDS
/* Rows of a tile, and words of a row. */
#define TILE_ROWS 16
#define TILE_WORDS 16
//}

//{ TileModel
/* What is in the registers where there are none. */
typedef struct TileModel {
    int bytes[8];                 /* of a tile's row */
    uint32_t words[8][TILE_ROWS][TILE_WORDS];
} TileModel;
//}

//{ model_tile_zero
INLINE void model_tile_zero(TileModel *model, int t)
{
    memset(model->words[t], 0, sizeof model->words[t]);
}
//}

//{ model_tile_load
INLINE void model_tile_load(TileModel *model, int t, const void *p, int64_t apart)
{
    model_tile_zero(model, t);
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy(model->words[t][r], (const char *)p + r * apart, (size_t)model->bytes[t]);
}
//}

//{ model_tile_store
INLINE void model_tile_store(const TileModel *model, int t, void *p, int64_t apart)
{
    for (int r = 0; r < TILE_ROWS; r++)
        memcpy((char *)p + r * apart, model->words[t][r], (size_t)model->bytes[t]);
}
//}

//{ model_tile_bf16
/* What the unit does: the first numbers of all words make a sum and the second ones another, each product added with one
 * rounding; these two are added, and that to what was there. It flushes all that it takes and gives. */
APART void model_tile_bf16(TileModel *model, int sums, int rows, int columns)
{
    for (int r = 0; r < TILE_ROWS; r++)
        for (int c = 0; c < model->bytes[sums] / 4; c++) {
            float both[2] = { 0, 0 };
            for (int k = 0; k < TILE_WORDS; k++) {
                const uint32_t left = model->words[rows][r][k], right = model->words[columns][k][c];
                both[0] = flush_f32(fmaf(flush_f32(from_bits_f32(left << 16)), flush_f32(from_bits_f32(right << 16)), both[0]));
                both[1] = flush_f32(fmaf(flush_f32(from_bits_f32(left & 0xFFFF0000)),
                                         flush_f32(from_bits_f32(right & 0xFFFF0000)), both[1]));
            }
            const float sum = flush_f32(from_bits_f32(model->words[sums][r][c]));
            model->words[sums][r][c] = bits_f32(flush_f32(sum + flush_f32(both[0] + both[1])));
        }
}
//}

//{ model_tile_i8
APART void model_tile_i8(TileModel *model, int sums, int rows, int columns)
{
    for (int r = 0; r < TILE_ROWS; r++)
        for (int c = 0; c < model->bytes[sums] / 4; c++)
            for (int k = 0; k < TILE_WORDS; k++)
                for (int at = 0; at < 32; at += 8) {
                    const int32_t left = (int8_t)(model->words[rows][r][k] >> at), right = (int8_t)(model->words[columns][k][c] >> at);
                    model->words[sums][r][c] += (uint32_t)(left * right);
                }
}
//}

//{ TileRegisters
/* What the machine is told of its registers, in the order that LDTILECFG wants, or without a machine what is in them. */
typedef struct TileRegisters {
    uint8_t palette, start_row, zeros[14];
    uint16_t bytes[16];           /* of a row */
    uint8_t rows[16];
#if !EINC_TILES
    TileModel model;
#endif
} TileRegisters;
//}

//{ Pending
/* The tile whose sums wait in the registers. The machine is not told of it, so that it need not be in memory. */
typedef struct Pending {
    int height;                   /* 0: there is none */
    int64_t lower, place;         /* its lower half begins at this row; its columns have this place */
    int64_t rows_left;            /* of its rows, those of the point whose states are there; the next one's have rows_each each, */
    int64_t rows_each, places;    /* and states so many places behind */
} Pending;
//}

//{ tiles_begin
/* Makes the registers ready for sums of so many columns: 0 to 3 for the sums, 4 and 5 for words of rows, 6 and 7 for
 * words of columns. All are 0. */
INLINE void tiles_begin(TileRegisters *registers, int columns)
{
    memset(registers, 0, sizeof *registers);
    registers->palette = 1;
    for (int t = 0; t < 8; t++) {
        registers->rows[t] = TILE_ROWS;
        registers->bytes[t] = (uint16_t)(4 * (t == 4 || t == 5 || columns > TILE_WORDS ? TILE_WORDS : columns));
    }
#if EINC_TILES
    __asm__ volatile("ldtilecfg %0" : : "m"(*registers) : "memory");
#else
    for (int t = 0; t < 8; t++)
        registers->model.bytes[t] = registers->bytes[t];
#endif
}
//}

//{ tiles_end
/* The thread's registers are free again, and cost nothing more when it gives way to another. */
INLINE void tiles_end(void)
{
#if EINC_TILES
    __asm__ volatile("tilerelease" : : : "memory");
#endif
}
//}

//{ has_tiles
/* Whether the machine has tiles of bf16 and i8, and the system lets this process use them: it wants to be asked once. */
PLAIN int has_tiles(void)
{
#if EINC_TILES && defined(__linux__)
    enum { SAVED_BY_SYSTEM = 1 << 27, ALL_UNITS = 1 << 22 | 1 << 24 | 1 << 25, TILE_STATE = 3 << 17 };
    enum { ARCH_PRCTL = 158, ASK_PERMISSION = 0x1023, TILE_DATA = 18, YES = 1, NO = 2 };
    static int known;
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        uint32_t a = 0, b, c = 0, d, most, saved = 0;
        __asm__("cpuid" : "=a"(most), "=b"(b), "=c"(c), "=d"(d) : "0"(0), "2"(0));
        __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(1), "2"(0));
        if (most >= 7 && (c & SAVED_BY_SYSTEM))
            __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
        __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "0"(7), "2"(0));
        answer = NO;
        if ((d & ALL_UNITS) == ALL_UNITS && (saved & TILE_STATE) == TILE_STATE) {
            int64_t status = ARCH_PRCTL;
            __asm__ volatile("syscall" : "+a"(status) : "D"((int64_t)ASK_PERMISSION), "S"((int64_t)TILE_DATA)
                             : "rcx", "r11", "memory");
            answer = status == 0 ? YES : NO;
        }
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == YES;
#else
    return 0;
#endif
}
//}

/* The instructions. Which registers they take stands in their text, and so has to be a number as such. */

//{ TILE_LOAD
/* The rows of tile `t` from p on, so many bytes apart. */
#if EINC_TILES
#define TILE_LOAD(registers, t, p, apart) \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((int64_t)(apart)) : "memory")
#else
#define TILE_LOAD(registers, t, p, apart) model_tile_load(&(registers)->model, t, p, apart)
#endif
//}

//{ TILE_STORE
#if EINC_TILES
#define TILE_STORE(registers, t, p, apart) \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(p), "r"((int64_t)(apart)) : "memory")
#else
#define TILE_STORE(registers, t, p, apart) model_tile_store(&(registers)->model, t, p, apart)
#endif
//}

//{ TILE_ZERO
#if EINC_TILES
#define TILE_ZERO(registers, t) __asm__ volatile("tilezero %%tmm" #t : : : "memory")
#else
#define TILE_ZERO(registers, t) model_tile_zero(&(registers)->model, t)
#endif
//}

//{ TILE_BEGIN
/* Begins a tile with sums, rows so many bytes apart, or with zeros, which are the same row for all: 0 bytes. */
#define TILE_BEGIN(registers, t, p, apart) \
    do { \
        if ((apart) == 0) \
            TILE_ZERO(registers, t); \
        else \
            TILE_LOAD(registers, t, p, apart); \
    } while (0)
//}

//{ TILE_RENEW
/* Stores a tile, and begins it with zeros. */
#define TILE_RENEW(registers, t, p, apart) \
    do { \
        TILE_STORE(registers, t, p, apart); \
        TILE_ZERO(registers, t); \
    } while (0)
//}

//{ TILE_DOT_BF16
/* Adds rows times columns to sums. */
#if EINC_TILES
#define TILE_DOT_BF16(registers, sums, rows, columns) \
    __asm__ volatile("tdpbf16ps %%tmm" #columns ", %%tmm" #rows ", %%tmm" #sums : : : "memory")
#else
#define TILE_DOT_BF16(registers, sums, rows, columns) model_tile_bf16(&(registers)->model, sums, rows, columns)
#endif
//}

//{ TILE_DOT_I8
/* Adds rows times columns to sums. */
#if EINC_TILES
#define TILE_DOT_I8(registers, sums, rows, columns) \
    __asm__ volatile("tdpbssd %%tmm" #columns ", %%tmm" #rows ", %%tmm" #sums : : : "memory")
#else
#define TILE_DOT_I8(registers, sums, rows, columns) model_tile_i8(&(registers)->model, sums, rows, columns)
#endif
//}

/* What reductions take of sums in memory. */

//{ max_rows_i32v
/* The greatest of `state` and so many elements of x, a multiple of 4, `step` apart in memory, in four chains. */
INLINE i32v max_rows_i32v(i32v state, const i32v *x, const int rows, const int step)
{
    i32v most[4] = { x[0], x[step], x[2 * step], x[3 * step] };
    UNROLL
    for (int i = 4; i < rows; i += 4) {
        UNROLL
        for (int c = 0; c < 4; c++)
            most[c] = max_i32v(most[c], x[(i + c) * step]);
    }
    return max_i32v(state, max_i32v(max_i32v(most[0], most[1]), max_i32v(most[2], most[3])));
}
//}

//{ min_rows_i32v
/* The least of `state` and so many elements of x, a multiple of 4, `step` apart in memory, in four chains. */
INLINE i32v min_rows_i32v(i32v state, const i32v *x, const int rows, const int step)
{
    i32v least[4] = { x[0], x[step], x[2 * step], x[3 * step] };
    UNROLL
    for (int i = 4; i < rows; i += 4) {
        UNROLL
        for (int c = 0; c < 4; c++)
            least[c] = min_i32v(least[c], x[(i + c) * step]);
    }
    return min_i32v(state, min_i32v(min_i32v(least[0], least[1]), min_i32v(least[2], least[3])));
}
//}

//{ max_some_i32v
/* The greatest of `state` and so many elements of x, at least one, `step` apart in memory. */
INLINE i32v max_some_i32v(i32v state, const i32v *x, int rows, const int step)
{
    i32v most[4] = { state, x[0], x[0], x[0] };
    for (; rows >= 4; rows -= 4, x += 4 * step) {
        UNROLL
        for (int c = 0; c < 4; c++)
            most[c] = max_i32v(most[c], x[c * step]);
    }
    for (; rows > 0; rows--, x += step)
        most[0] = max_i32v(most[0], x[0]);
    return max_i32v(max_i32v(most[0], most[1]), max_i32v(most[2], most[3]));
}
//}

//{ max_some_f32v
/* The greatest of `state` and so many elements of x, at least one, `step` apart in memory; NaN where one is. */
INLINE f32v max_some_f32v(f32v state, const f32v *x, int rows, const int step)
{
    f32v most[4] = { state, x[0], x[0], x[0] };
    for (; rows >= 4; rows -= 4, x += 4 * step) {
        UNROLL
        for (int c = 0; c < 4; c++)
            most[c] = max_f32v(most[c], x[c * step]);
    }
    for (; rows > 0; rows--, x += step)
        most[0] = max_f32v(most[0], x[0]);
    return max_f32v(max_f32v(most[0], most[1]), max_f32v(most[2], most[3]));
}
//}

//{ min_some_i32v
/* The least of `state` and so many elements of x, at least one, `step` apart in memory. */
INLINE i32v min_some_i32v(i32v state, const i32v *x, int rows, const int step)
{
    i32v least[4] = { state, x[0], x[0], x[0] };
    for (; rows >= 4; rows -= 4, x += 4 * step) {
        UNROLL
        for (int c = 0; c < 4; c++)
            least[c] = min_i32v(least[c], x[c * step]);
    }
    for (; rows > 0; rows--, x += step)
        least[0] = min_i32v(least[0], x[0]);
    return min_i32v(min_i32v(least[0], least[1]), min_i32v(least[2], least[3]));
}
//}

//{ min_some_f32v
/* The least of `state` and so many elements of x, at least one, `step` apart in memory; NaN where one is. */
INLINE f32v min_some_f32v(f32v state, const f32v *x, int rows, const int step)
{
    f32v least[4] = { state, x[0], x[0], x[0] };
    for (; rows >= 4; rows -= 4, x += 4 * step) {
        UNROLL
        for (int c = 0; c < 4; c++)
            least[c] = min_f32v(least[c], x[c * step]);
    }
    for (; rows > 0; rows--, x += step)
        least[0] = min_f32v(least[0], x[0]);
    return min_f32v(min_f32v(least[0], least[1]), min_f32v(least[2], least[3]));
}
//}

#ifndef EINC_AVX512
//{ max_rows_f32v
/* The greatest of `state` and so many elements of x, a multiple of 4, `step` apart in memory; NaN where one is. */
INLINE f32v max_rows_f32v(f32v state, const f32v *x, const int rows, const int step)
{
    return max_all_f32v(state, x, rows, step, rows);
}
//}
#else
//{ max_rows_f32v@avx512
/* The greatest of `state` and so many elements of x, a multiple of 4, `step` apart in memory; NaN where one is. In four chains,
 * since each instruction waits for the one before, and each element is loaded once. */
INLINE f32v max_rows_f32v(f32v state, const f32v *x, const int rows, const int step)
{
#if EINC_VECTORS && LANES >= 4
    f32v most[4];
    uint16_t ordered[2] = { 0xffff, 0xffff };
    UNROLL
    for (int i = 0; i < rows; i += 2) {
        f32v a = x[i * step], b = x[(i + 1) * step];
        HOLD(a);
        HOLD(b);
        __asm__("vcmpps $7, %2, %1, %0%{%0%}" : "+Yk"(ordered[i / 2 % 2]) : "v"(a), "v"(b));
        most[i % 4] = i < 4 ? a : greater_f32v(most[i % 4], a);
        most[i % 4 + 1] = i < 4 ? b : greater_f32v(most[i % 4 + 1], b);
    }
    most[0] = greater_f32v(greater_f32v(most[0], most[1]), greater_f32v(most[2], most[3]));
    state = greater_f32v(most[0], state);
    ordered[0] = (uint16_t)~(ordered[0] & ordered[1]);
    __asm__("vmovaps %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered[0]), "v"(splat_f32v((float)NAN)));
#else
    state = max_all_f32v(state, x, rows, step, rows);
#endif
    return state;
}
//}
#endif

#ifndef EINC_AVX512
//{ min_rows_f32v
/* The least of `state` and so many elements of x, a multiple of 4, `step` apart in memory; NaN where one is. */
INLINE f32v min_rows_f32v(f32v state, const f32v *x, const int rows, const int step)
{
    return min_all_f32v(state, x, rows, step, rows);
}
//}
#else
//{ min_rows_f32v@avx512
/* The least of `state` and so many elements of x, a multiple of 4, `step` apart in memory; NaN where one is. In four chains,
 * since each instruction waits for the one before, and each element is loaded once. */
INLINE f32v min_rows_f32v(f32v state, const f32v *x, const int rows, const int step)
{
#if EINC_VECTORS && LANES >= 4
    f32v least[4];
    uint16_t ordered[2] = { 0xffff, 0xffff };
    UNROLL
    for (int i = 0; i < rows; i += 2) {
        f32v a = x[i * step], b = x[(i + 1) * step];
        HOLD(a);
        HOLD(b);
        __asm__("vcmpps $7, %2, %1, %0%{%0%}" : "+Yk"(ordered[i / 2 % 2]) : "v"(a), "v"(b));
        least[i % 4] = i < 4 ? a : lesser_f32v(least[i % 4], a);
        least[i % 4 + 1] = i < 4 ? b : lesser_f32v(least[i % 4 + 1], b);
    }
    least[0] = lesser_f32v(lesser_f32v(least[0], least[1]), lesser_f32v(least[2], least[3]));
    state = lesser_f32v(least[0], state);
    ordered[0] = (uint16_t)~(ordered[0] & ordered[1]);
    __asm__("vmovaps %2, %0%{%1%}" : "+v"(state) : "Yk"(ordered[0]), "v"(splat_f32v((float)NAN)));
#else
    state = min_all_f32v(state, x, rows, step, rows);
#endif
    return state;
}
//}
#endif

#endif
