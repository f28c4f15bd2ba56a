/* templates/tiles.c, contract_tiles.c and contract_waiting.c as they stand. The instructions run where the machine has them; elsewhere each one
 * is met when the CPU refuses it, and computed by the model: so what they are told, registers, addresses and steps, is the
 * same on every x86-64. On machines that have them, it is the model that is checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "templates.h"

#define KERNEL TARGETED
#include "../templates/types.c"

static void ask_line(const char *p);
#undef PREFETCH
#define PREFETCH(p) ask_line(p)
#include "../templates/contract_waiting.c"

enum { WORDS_MOST = 48, TILES = 40 };

/* ---- instructions that the CPU refuses ---- */

#if EINC_TILES
#include <signal.h>
#include <ucontext.h>

static TileModel model;           /* of the one thread there is */

static uint64_t general(const ucontext_t *context, int number)
{
    static const int order[] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
    return (uint64_t)context->uc_mcontext.gregs[order[number]];
}

/* An instruction with a VEX prefix of three bytes, as it was decoded. */
typedef struct Instruction {
    int opcode, prefix;           /* the latter: 0 none, 1 66, 2 F3, 3 F2 */
    int mode, reg, rm, other;     /* of the ModRM byte; the register of the prefix */
    uint64_t address, index;      /* where there is memory; the index's register */
    size_t length;
} Instruction;

static Instruction decode(const ucontext_t *context, const uint8_t *code)
{
    assert(code[0] == 0xC4 && (code[1] & 0x1F) == 2);
    Instruction in = { .opcode = code[3], .prefix = code[2] & 3, .mode = code[4] >> 6, .reg = code[4] >> 3 & 7, .rm = code[4] & 7,
                       .other = ~code[2] >> 3 & 15, .length = 5 };
    int base = in.rm;
    if (in.mode == 3)
        return in;
    if (in.rm == 4) {
        const uint8_t sib = code[in.length++];
        const int index = (sib >> 3 & 7) | (code[1] & 0x40 ? 0 : 8);
        base = sib & 7;
        assert(sib >> 6 == 0);
        in.index = index == 4 ? 0 : general(context, index);
    }
    assert(in.mode != 0 || base != 5);
    in.address = general(context, base | (code[1] & 0x20 ? 0 : 8));
    int32_t offset = 0;
    if (in.mode == 1)
        offset = (int8_t)code[in.length];
    else if (in.mode == 2)
        memcpy(&offset, code + in.length, 4);
    in.length += in.mode == 1 ? 1 : in.mode == 2 ? 4 : 0;
    in.address += (uint64_t)(int64_t)offset;
    return in;
}

static void configure(const uint8_t *shape)
{
    assert(shape[0] == 1);
    for (int i = 1; i < 64; i++)
        assert(shape[i] == 0 || (i >= 16 && i < 32) || (i >= 48 && i < 56));
    memset(&model, 0, sizeof model);
    for (int t = 0; t < 8; t++) {
        uint16_t bytes;
        memcpy(&bytes, shape + 16 + 2 * t, 2);
        assert(bytes <= 64 && shape[48 + t] == TILE_ROWS);
        model.bytes[t] = bytes;
    }
}

TARGETED static void compute(int signal, siginfo_t *info, void *user)
{
    ucontext_t *context = user;
    const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
    const Instruction in = decode(context, code);
    (void)signal, (void)info;
    switch (in.opcode << 4 | in.prefix) {
    case 0x490:
        if (in.mode == 3)
            memset(&model, 0, sizeof model);                        /* tilerelease */
        else
            configure((const uint8_t *)in.address);                 /* ldtilecfg */
        break;
    case 0x493: model_tile_zero(&model, in.reg); break;
    case 0x4B3: model_tile_load(&model, in.reg, (const void *)in.address, (int64_t)in.index); break;
    case 0x4B2: model_tile_store(&model, in.reg, (void *)in.address, (int64_t)in.index); break;
    case 0x5C2: model_tile_bf16(&model, in.reg, in.rm, in.other); break;
    case 0x5E3: model_tile_i8(&model, in.reg, in.rm, in.other); break;
    default: abort();
    }
    context->uc_mcontext.gregs[REG_RIP] += (greg_t)in.length;
}

/* In each test, since cmocka takes the signal for an error. */
static void catch_refused(void)
{
    struct sigaction action = { .sa_sigaction = compute, .sa_flags = SA_SIGINFO };
    if (!has_tiles())
        sigaction(SIGILL, &action, NULL);
}
#else
static void catch_refused(void)
{
}
#endif

/* ---- tiles ---- */

/* Numbers of which all sums are exact, as words of two bf16. */
TARGETED static uint32_t random_word(void)
{
    const float a = (float)(random_bits() % 17) - 8, b = (float)(random_bits() % 17) - 8;
    return bits_f32(a) >> 16 | (bits_f32(b) & 0xFFFF0000);
}

TARGETED static float product_of(uint32_t left, uint32_t right)
{
    return from_bits_f32(left << 16) * from_bits_f32(right << 16) +
           from_bits_f32(left & 0xFFFF0000) * from_bits_f32(right & 0xFFFF0000);
}

/* One tile: its rows end where memory does, words past the last are zeros in the panel, and the sums are what they must be. */
typedef struct Sample {
    int height, words, depth;
    uint32_t *rows;
    uint32_t panel[WORDS_MOST * COLUMNS_N];
    float sums[ROWS_N][COLUMNS_N];
} Sample;

static uint32_t *memory_end;      /* no byte behind it may be read */

TARGETED static void make_sample(Sample *sample, int height, int words, float (*start)[COLUMNS_N])
{
    sample->height = height;
    sample->words = words;
    sample->depth = (words + TILE_WORDS - 1) / TILE_WORDS * TILE_WORDS;
    /* Lower tiles than the registers hold are packed, with room behind them. */
    const int room = height < TILE_ROWS ? TILE_ROWS : height;
    sample->rows = memory_end - room * sample->depth;
    for (int i = 0; i < room * sample->depth; i++)
        sample->rows[i] = i % sample->depth < words ? random_word() : 0;
    for (int i = 0; i < sample->depth * COLUMNS_N; i++)
        sample->panel[i] = i / COLUMNS_N < words ? random_word() : 0;
    for (int r = 0; r < height; r++)
        for (int c = 0; c < COLUMNS_N; c++) {
            sample->sums[r][c] = start ? start[r][c] : 0;
            for (int k = 0; k < words; k++)
                sample->sums[r][c] += product_of(sample->rows[r * sample->depth + k], sample->panel[k * COLUMNS_N + c]);
        }
}

static int by_pages;

TARGETED static void run_tile(const Sample *sample, const float *start, int64_t start_step, float *kept, int64_t kept_step,
                     TileRegisters *registers, Pending *pending, f32v (*sums)[VECTORS_N], int64_t place, int64_t rows_left)
{
    tile_N(sample->height, (const bf16u *)sample->rows, 2 * sample->depth, 2, (const u32u *)sample->panel, sample->depth,
           (const char *)sample->rows, 100, by_pages++ % 2, (const f32u *)start, start_step, (f32u *)kept, kept_step, registers, pending, sums,
           place, rows_left);
}

TARGETED static void check_sums(const Sample *sample, const float *sums, int64_t step, int first, int end)
{
    for (int r = 0; r < sample->height; r++)
        for (int c = first; c < end; c++)
            if (sums[r * step + c] != sample->sums[r][c])
                fail_msg("%d rows, %d words: [%d,%d] is %g instead of %g", sample->height, sample->words, r, c,
                         sums[r * step + c], sample->sums[r][c]);
}

static const Sample *waiting[TILES];      /* by place: whose sums are still to be taken */
static int taken;

TARGETED static void take_sums(int height, int64_t place, int v, f32v (*sums)[VECTORS_N])
{
    float rows[ROWS_N][COLUMNS_N];
    memcpy(rows, sums, sizeof rows);
    assert_int_equal(height, waiting[place]->height);
    check_sums(waiting[place], rows[0], COLUMNS_N, v * LANES, (v + 1) * LANES);
    for (int r = height; r < ROWS_N; r++)
        assert_memory_equal(&rows[r][v * LANES], &rows[height - 1][v * LANES], LANES * sizeof rows[r][0]);
    if (v == VECTORS_N - 1)
        waiting[place] = NULL;
    taken++;
}

/* Of tiles whose rows are several points': which rows of the tile come next, by the place of the point's states. */
enum { ROWS_EACH = 7, PLACES = 100 };
static int64_t left_of[TILES];

TARGETED static void take_some_sums(int height, int64_t place, int v, f32v (*sums)[VECTORS_N])
{
    const int64_t t = place % PLACES, nth = place / PLACES, first = nth ? left_of[t] + (nth - 1) * ROWS_EACH : 0;
    const int64_t rows = size_min(nth ? ROWS_EACH : left_of[t], waiting[t]->height - first);
    float whole[ROWS_N][COLUMNS_N];
    assert_int_equal(height, rows);
    for (int r = 0; r < height; r++)
        memcpy(whole[first + r], sums[r], sizeof whole[0]);
    for (int r = 0; r < waiting[t]->height; r++)
        if (r < first || r >= first + rows)
            memcpy(whole[r], waiting[t]->sums[r], sizeof whole[0]);
    check_sums(waiting[t], whole[0], COLUMNS_N, v * LANES, (v + 1) * LANES);
    if (first + rows < waiting[t]->height)
        return;
    if (v == VECTORS_N - 1)
        waiting[t] = NULL;
    taken++;
}

/* Of a whole tile, TILE_ROWS rows of a vector. */
static int shares;

TARGETED static void take_share_of_sums(int row, int64_t place, int v, f32v (*sums)[VECTORS_N])
{
    float rows[ROWS_N][COLUMNS_N];
    assert_int_equal(waiting[place]->height, ROWS_N);
    for (int r = 0; r < ROWS_N; r++)
        memcpy(rows[r], r >= row && r < row + TILE_ROWS ? (const float *)sums[r] : waiting[place]->sums[r], sizeof rows[r]);
    check_sums(waiting[place], rows[0], COLUMNS_N, v * LANES, (v + 1) * LANES);
    if (row + TILE_ROWS == ROWS_N) {
        taken++;
        if (v == VECTORS_N - 1)
            waiting[place] = NULL;
    }
    shares++;
}

TARGETED static void sums_are_kept(void **state)
{
    (void)state;
    enum { STEP = COLUMNS_N + 3 };
    static float start[ROWS_N][COLUMNS_N], kept[ROWS_N][STEP];
    static Sample sample;
    TileRegisters registers;
    catch_refused();
    tiles_begin(&registers, COLUMNS_N);
    for (int height = 1; height <= ROWS_N; height++)
        for (int words = 0; words <= 33; words++) {
            const int same = words % 2;    /* start for all rows */
            for (int i = 0; i < ROWS_N * COLUMNS_N; i++)
                start[i / COLUMNS_N][i % COLUMNS_N] = same && i >= COLUMNS_N ? start[0][i % COLUMNS_N] : (float)(random_bits() % 99);
            make_sample(&sample, height, words, start);
            run_tile(&sample, start[0], same ? 0 : COLUMNS_N, kept[0], STEP, &registers, NULL, NULL, 0, height);
            check_sums(&sample, kept[0], STEP, 0, COLUMNS_N);
        }
    tiles_end();
}

/* Sums that a reduction takes come one tile later, tiles of any height one after the other. */
TARGETED static void sums_are_taken(void **state)
{
    (void)state;
    static Sample samples[TILES];
    f32v sums[ROWS_N][VECTORS_N];
    const float none[COLUMNS_N] = { 0 };
    int before = taken;
    catch_refused();
    for (int turn = 0; turn < 12; turn++) {
        TileRegisters registers;
        Pending pending = { .lower = TILE_ROWS, .rows_each = ROWS_EACH, .places = PLACES };
        tiles_begin(&registers, COLUMNS_N);
        for (int t = 0; t < TILES; t++) {
            const bool whole = turn % 3 == 1 && random_bits() % 4;    /* of which some follow each other */
            const int height = whole ? ROWS_N : 1 + (int)(random_bits() % ROWS_N);
            const int words = whole ? WHOLE_N - (int)(random_bits() % TILE_WORDS) : (int)(random_bits() % (turn ? WORDS_MOST : 1));
            make_sample(&samples[t], height, words, NULL);
            waiting[t] = &samples[t];
            left_of[t] = turn % 2 ? ROWS_N : 1 + random_bits() % ROWS_N;
            run_tile(&samples[t], none, 0, NULL, 0, &registers, &pending, sums, t, left_of[t]);
            assert_true(t == 0 || !waiting[t - 1]);
        }
        leave_N(&registers, &pending, sums);
        assert_null(waiting[TILES - 1]);
        leave_N(&registers, &pending, sums);
        tiles_end();
    }
    assert_int_equal(taken - before, 12 * TILES * VECTORS_N);
    assert_true(shares > 0 && shares % (2 * VECTORS_N) == 0);
}

/* Sums that had to be kept on the way are taken at once. */
TARGETED static void last_sums_are_taken(void **state)
{
    (void)state;
    static Sample first, second;
    f32v sums[ROWS_N][VECTORS_N];
    float kept[ROWS_N][COLUMNS_N];
    const float none[COLUMNS_N] = { 0 };
    TileRegisters registers;
    Pending pending = { .lower = TILE_ROWS, .rows_each = ROWS_EACH, .places = PLACES };
    catch_refused();
    tiles_begin(&registers, COLUMNS_N);
    for (int height = 1; height <= ROWS_N; height++) {
        make_sample(&first, height, 32, NULL);
        run_tile(&first, none, 0, kept[0], COLUMNS_N, &registers, &pending, sums, 0, height);
        make_sample(&second, height, 16, kept);
        waiting[3] = &second;
        left_of[3] = 1 + random_bits() % ROWS_N;
        run_tile(&second, kept[0], COLUMNS_N, NULL, 0, &registers, &pending, sums, 3, left_of[3]);
        assert_null(waiting[3]);
    }
    leave_N(&registers, &pending, sums);
    tiles_end();
}

/* Whole tiles one after the other whose rows wait: each row is taken once, in order, when its sums have been stored. */
static const Sample *held;
static int row_at;

TARGETED static void take_row_N(Waiting_N *rows)
{
    assert_true(rows->kept && row_at < ROWS_N);
    for (int c = 0; c < COLUMNS_N; c++)
        if (rows->kept[c] != held->sums[row_at][c])
            fail_msg("row %d of %d words: [%d] is %g instead of %g", row_at, held->words, c, rows->kept[c], held->sums[row_at][c]);
    rows->kept += COLUMNS_N;
    row_at++;
}

TARGETED static void rows_of_held_tiles_are_taken(void **state)
{
    (void)state;
    static Sample samples[2];
    f32v kept[ROWS_N][VECTORS_N];
    const float none[COLUMNS_N] = { 0 };
    TileRegisters registers;
    catch_refused();
    for (int count = 1; count < 4; count++) {
        Waiting_N rows = { .kept = (float *)kept };
        tiles_begin(&registers, COLUMNS_N);
        for (int t = 0; t < count; t++) {
            Sample *now = &samples[t % 2];
            make_sample(now, ROWS_N, WHOLE_N - (int)(random_bits() % TILE_WORDS), NULL);
            const Factors_N from = { .rows = (const bf16u *)now->rows, .row_step = 2 * now->depth, .k_step = 2, .lower = TILE_ROWS,
                                     .panel = (const u32u *)now->panel, .depth = now->depth, .ahead = (const char *)now->rows };
            row_at = 0;
            if (t == 0)
                run_tile(now, none, 0, (float *)kept, COLUMNS_N, &registers, NULL, NULL, 0, ROWS_N);
            else
                hold_N(&registers, &from, &rows);
            assert_int_equal(row_at, t == 0 ? 0 : ROWS_N);
            held = now;
            rows = (Waiting_N){ .kept = (float *)kept, .rows = ROWS_N, .held = 1 };
        }
        memset(kept, 0xFF, sizeof kept);    /* the sums are nowhere but in the registers */
        store_held_N(&registers, &rows);
        assert_false(rows.held);
        check_sums(held, (float *)kept, COLUMNS_N, 0, COLUMNS_N);
        memset(kept, 0, sizeof kept);
        store_held_N(&registers, &rows);    /* and once stored, they are not again */
        assert_true(((float *)kept)[0] == 0);
        tiles_end();
    }
}

/* ---- what the instructions do ---- */

TARGETED static uint32_t any_word(int kind)
{
    const uint32_t bits = (uint32_t)random_bits();
    if (kind == 0)
        return bits;                                          /* all exponents: what is infinite or no number as well */
    const uint32_t exponents = kind == 1 ? 0x3F803F80 : 0x1F801F80;    /* near 1, and so small that sums are denormal */
    return (bits & 0x807F807F) | exponents;
}

/* NaN is NaN; all else is the same to the last bit. */
TARGETED static void assert_same(uint32_t a, uint32_t b, bool is_float)
{
    if (a != b && !(is_float && isnan(from_bits_f32(a)) && isnan(from_bits_f32(b))))
        fail_msg("the instruction gives %08x, its model %08x", (unsigned)a, (unsigned)b);
}

TARGETED static void instructions_are_as_their_models(void **state)
{
    (void)state;
    uint32_t rows[16][16], columns[16][16], sums[2][16][16], out[16][16];
    static TileModel own;
    catch_refused();
    for (int turn = 0; turn < 60; turn++) {
        const int width = turn % 4 == 3 ? 5 : 16;
        TileRegisters registers;
        tiles_begin(&registers, width);
        for (int t = 0; t < 8; t++)
            own.bytes[t] = registers.bytes[t];
        for (int i = 0; i < 256; i++) {
            rows[i / 16][i % 16] = any_word(turn % 3);
            columns[i / 16][i % 16] = any_word(turn % 3);
            sums[0][i / 16][i % 16] = sums[1][i / 16][i % 16] = any_word(turn % 3);
        }
        TILE_LOAD(&registers, 4, rows, 64);
        TILE_LOAD(&registers, 7, columns, 64);
        TILE_LOAD(&registers, 1, sums[0], 64);
        TILE_LOAD(&registers, 2, sums[1], 64);
        TILE_DOT_BF16(&registers, 1, 4, 7);
        TILE_DOT_I8(&registers, 2, 4, 7);
        model_tile_load(&own, 4, rows, 64);
        model_tile_load(&own, 7, columns, 64);
        model_tile_load(&own, 1, sums[0], 64);
        model_tile_load(&own, 2, sums[1], 64);
        model_tile_bf16(&own, 1, 4, 7);
        model_tile_i8(&own, 2, 4, 7);
        TILE_STORE(&registers, 1, sums[0], 64);
        TILE_RENEW(&registers, 2, sums[1], 64);
        memset(out, 1, sizeof out);
        TILE_STORE(&registers, 2, out, 64);
        for (int i = 0; i < 256; i++)
            if (i % 16 < width) {
                assert_same(sums[0][i / 16][i % 16], own.words[1][i / 16][i % 16], true);
                assert_same(sums[1][i / 16][i % 16], own.words[2][i / 16][i % 16], false);
                assert_int_equal(out[i / 16][i % 16], 0);
            } else {
                assert_int_equal(out[i / 16][i % 16], 0x01010101);
            }
        tiles_end();
    }
}

/* The model against sums by hand. */
TARGETED static void models_add_as_they_should(void **state)
{
    (void)state;
    static TileModel own;
    for (int t = 0; t < 8; t++)
        own.bytes[t] = 64;
    const uint32_t one = 0x3F80, least = 0x0080, tiny = 0x0001, large = 0x4B80;    /* 1, 2^-126, 2^-133, 2^24 */
    own.words[4][0][0] = one | large << 16, own.words[6][0][0] = one << 16 | one;
    own.words[4][0][1] = one, own.words[6][1][0] = one;                   /* 1 + 1 apart from 2^24, which would lose them */
    own.words[4][1][0] = least, own.words[6][0][1] = 0x3F00;              /* 2^-127 is flushed */
    own.words[4][2][0] = tiny, own.words[6][0][2] = large;                /* so is what comes in */
    own.words[0][3][3] = 0x00000001;                                      /* and what was there */
    model_tile_bf16(&own, 0, 4, 6);
    assert_int_equal(own.words[0][0][0], bits_f32(16777218));
    assert_int_equal(own.words[0][1][1], 0);
    assert_int_equal(own.words[0][2][2], 0);
    assert_int_equal(own.words[0][3][3], 0);
    own.words[5][0][0] = 0x80FF017F, own.words[7][0][0] = 0x80FF81FF;     /* 128 128, -1 -1, 1 -127, 127 -1 */
    own.words[1][0][0] = 0xFFFFFFFF;
    model_tile_i8(&own, 1, 5, 7);
    assert_int_equal((int32_t)own.words[1][0][0], -1 + 16384 + 1 - 127 - 127);
}

TARGETED static void integer_rows_are_reduced(void **state)
{
    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        i32v sums[ROWS_N][VECTORS_N], most = splat_i32v(turn % 3 ? INT32_MIN : 7), least = splat_i32v(turn % 3 ? INT32_MAX : -7);
        int32_t x[ROWS_N][COLUMNS_N], lanes[2][LANES];
        for (int i = 0; i < ROWS_N * COLUMNS_N; i++)
            x[i / COLUMNS_N][i % COLUMNS_N] = (int32_t)(turn % 2 ? random_bits() : random_bits() % 20);
        memcpy(sums, x, sizeof sums);
        const int v = turn % VECTORS_N;
        const int rows = turn % 4 ? ROWS_N : 1 + (int)(random_bits() % ROWS_N);
        most = rows < ROWS_N ? max_some_i32v(most, &sums[0][v], rows, VECTORS_N) : max_rows_i32v(most, &sums[0][v], ROWS_N, VECTORS_N);
        least = rows < ROWS_N ? min_some_i32v(least, &sums[0][v], rows, VECTORS_N) : min_rows_i32v(least, &sums[0][v], ROWS_N, VECTORS_N);
        memcpy(lanes[0], &most, sizeof most), memcpy(lanes[1], &least, sizeof least);
        for (int l = 0; l < LANES; l++) {
            int32_t expected[2] = { turn % 3 ? INT32_MIN : 7, turn % 3 ? INT32_MAX : -7 };
            for (int r = 0; r < rows; r++) {
                const int32_t one = x[r][v * LANES + l];
                expected[0] = one > expected[0] ? one : expected[0];
                expected[1] = one < expected[1] ? one : expected[1];
            }
            assert_true(lanes[0][l] == expected[0] && lanes[1][l] == expected[1]);
        }
    }
}

TARGETED static void rows_are_reduced(void **state)
{
    (void)state;
    for (int turn = 0; turn < 400; turn++) {
        f32v sums[ROWS_N][VECTORS_N], most = splat_f32v(turn % 3 ? -INFINITY : 2), least = splat_f32v(turn % 3 ? INFINITY : -2);
        float x[ROWS_N][COLUMNS_N], lanes[2][LANES];
        for (int i = 0; i < ROWS_N * COLUMNS_N; i++)
            x[i / COLUMNS_N][i % COLUMNS_N] = (float)(random_bits() % 1000) - 999 + 500 * (float)(turn % 2);
        if (turn % 5 == 0)
            x[random_bits() % ROWS_N][random_bits() % COLUMNS_N] = (float)NAN;
        memcpy(sums, x, sizeof sums);
        const int v = turn % VECTORS_N;
        const f32v before[2] = { most, least };
        const int rows = turn % 4 ? ROWS_N : 1 + (int)(random_bits() % ROWS_N);
        most = rows < ROWS_N ? max_some_f32v(most, &sums[0][v], rows, VECTORS_N) : max_rows_f32v(most, &sums[0][v], ROWS_N, VECTORS_N);
        least = rows < ROWS_N ? min_some_f32v(least, &sums[0][v], rows, VECTORS_N) : min_rows_f32v(least, &sums[0][v], ROWS_N, VECTORS_N);
        memcpy(lanes[0], &most, sizeof most), memcpy(lanes[1], &least, sizeof least);
        for (int l = 0; l < LANES; l++) {
            float expected[2] = { lane_f32v(before[0], l), lane_f32v(before[1], l) };
            for (int r = 0; r < rows; r++) {
                const float one = x[r][v * LANES + l];
                expected[0] = isnan(one) || one > expected[0] ? one : expected[0];
                expected[1] = isnan(one) || one < expected[1] ? one : expected[1];
                if (isnan(one))
                    break;
            }
            for (int m = 0; m < 2; m++)
                assert_true(isnan(expected[m]) ? isnan(lanes[m][l]) : lanes[m][l] == expected[m]);
        }
        most = max_rows_f32v(splat_f32v((float)NAN), &sums[0][v], ROWS_N, VECTORS_N);
        least = min_rows_f32v(splat_f32v((float)NAN), &sums[0][v], ROWS_N, VECTORS_N);
        assert_true(isnan(lane_f32v(most, turn % LANES)) && isnan(lane_f32v(least, turn % LANES)));
    }
}

/* ---- what comes nearer ---- */

enum { CHUNKS = 5, STREAM_LINES = CHUNKS * PAGES_BYTES / LINE_BYTES };

static const char *stream;        /* begins where its pages change places */
static int asked[STREAM_LINES];

static void ask_line(const char *p)
{
    if (stream && p >= stream && p < stream + CHUNKS * PAGES_BYTES)
        asked[(p - stream) / LINE_BYTES]++;
}

/* Whatever shares follow each other, each line is asked for once, of PAGES pages in turn. */
TARGETED static void streams_come_by_pages(void **state)
{
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        stream = (const char *)(uintptr_t)(64 * PAGES_BYTES);
        memset(asked, 0, sizeof asked);
        const char *end = stream + CHUNKS * PAGES_BYTES;
        const char *at = stream + (turn ? 16 * (random_bits() % (PAGES_BYTES / 16)) : 0);
        const int64_t skipped = at - stream;
        while (at < end) {
            const int64_t share = size_min(end - at, 1 + (int64_t)(random_bits() % (turn % 2 ? 300 : 9000)));
            bring_pages(at, share);
            at += share;
        }
        int lines = 0;
        for (int line = 0; line < STREAM_LINES; line++) {
            assert_in_range(asked[line], line < PAGES * PAGE_LINES && skipped ? 0 : 1, 1);
            lines += asked[line];
        }
        assert_int_equal(lines, STREAM_LINES - (skipped + PAGES * LINE_BYTES - 1) / (PAGES * LINE_BYTES) * PAGES);
    }
    memset(asked, 0, sizeof asked);
    bring_pages(stream, PAGES * LINE_BYTES);
    for (int line = 0; line < STREAM_LINES; line++)
        assert_int_equal(asked[line], line % PAGE_LINES == 0 && line < PAGES * PAGE_LINES);
    stream = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_add_as_they_should),
        cmocka_unit_test(instructions_are_as_their_models),
        cmocka_unit_test(sums_are_kept),
        cmocka_unit_test(sums_are_taken),
        cmocka_unit_test(last_sums_are_taken),
        cmocka_unit_test(rows_of_held_tiles_are_taken),
        cmocka_unit_test(rows_are_reduced),
        cmocka_unit_test(integer_rows_are_reduced),
        cmocka_unit_test(streams_come_by_pages),
    };
    if (!machine_fits())
        return SKIPPED;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 16 * page;
    char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + room, page, PROT_NONE))
        return 1;
    memory_end = (uint32_t *)(void *)(memory + room);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
