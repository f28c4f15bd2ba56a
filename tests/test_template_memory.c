/* The helpers of generated kernels that move and choose: types, masks, loads, stores and gathers. Each is compared with
 * plain C on every lane. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "templates.h"
#include "../templates/asked.c"
#include "../templates/turn.c"

enum { ROUNDS = 2000 };

static bool same(double a, double b)
{
    return a == b ? !signbit(a) == !signbit(b) : a != a && b != b;
}

/* ---- types and masks ---- */

TARGETED static void test_splats_and_lanes(void **state)
{
    (void)state;
    f32v f = splat_f32v(-0.0f);
    f64v d = splat_f64v(-0.0);
    i32v i = splat_i32v(-7), places = lanes_i32v();
    i64v j = splat_i64v(INT64_MIN), far = lanes_i64v();
    u32v u = splat_u32v(0x80000000);
    boolv yes = splat_boolv(2), no = splat_boolv(0);
    uint32_t words[LANES];
    LANES_OF(words, u);
    for (int l = 0; l < LANES; l++) {
        assert_true(same(lane_f32v(f, l), -0.0) && same(lane_f64v(d, l), -0.0));
        assert_true(lane_i32v(i, l) == -7 && lane_i64v(j, l) == INT64_MIN && words[l] == 0x80000000);
        assert_true(lane_i32v(places, l) == l && lane_i64v(far, l) == l);
        assert_true(lane_boolv(yes, l) == 1 && lane_boolv(no, l) == 0);
    }
    for (int count = 0; count <= LANES; count++)
        for (int l = 0; l < LANES; l++)
            assert_int_equal(lane_boolv(first_boolv(count), l), l < count);
}

/* The mask whose lane l is bit l. */
INLINE boolv mask_of(unsigned bits)
{
    int32_t lanes[LANES];
    i32v x;
    for (int l = 0; l < LANES; l++)
        lanes[l] = bits >> l & 1;
    FROM_LANES(x, lanes);
    return x > splat_i32v(0);
}

TARGETED static void test_masks(void **state)
{
    (void)state;
    const unsigned all = (1u << LANES) - 1;
    for (unsigned a = 0; a <= all; a++) {
        unsigned b = (unsigned)random_bits() & all;
        boolv x = mask_of(a), y = mask_of(b);
        i64v wide = widen_boolv(x);
        assert_int_equal(any_boolv(x), a != 0);
        assert_int_equal(all_boolv(x), a == all);
        f32v f = select_f32v(x, splat_f32v(1), splat_f32v(-2));
        f64v d = select_f64v(x, splat_f64v(1), splat_f64v(-2)), e = choose_f64v(wide, splat_f64v(1), splat_f64v(-2));
        i32v i = select_i32v(x, splat_i32v(1), splat_i32v(-2));
        i64v j = select_i64v(x, splat_i64v(1), splat_i64v(-2)), k = choose_i64v(wide, splat_i64v(1), splat_i64v(-2));
        for (int l = 0; l < LANES; l++) {
            int p = a >> l & 1, q = b >> l & 1, one = p ? 1 : -2;
            assert_int_equal(lane_boolv(and_boolv(x, y), l), p & q);
            assert_int_equal(lane_boolv(or_boolv(x, y), l), p | q);
            assert_int_equal(lane_boolv(not_boolv(x), l), !p);
            assert_int_equal(lane_boolv(select_boolv(x, y, not_boolv(y)), l), p ? q : !q);
            assert_int_equal(lane_boolv(narrow_boolv(wide), l), p);
            assert_int_equal(lane_boolv(narrow_boolv(d > splat_f64v(0)), l), p);
            assert_true(lane_f32v(f, l) == one && lane_f64v(d, l) == one && lane_f64v(e, l) == one);
            assert_true(lane_i32v(i, l) == one && lane_i64v(j, l) == one && lane_i64v(k, l) == one);
        }
    }
}

/* ---- loads, stores, gathers ---- */

typedef struct Memory {
    const char *name;
    size_t bytes;                 /* of an element */
    void (*load)(const void *from, int64_t stride, int count, double *lanes);
    void (*store)(void *to, int64_t stride, const double *lanes, int count);
    void (*gather)(const void *from, const int64_t *offsets, const int32_t *active, double *lanes);
    double (*get)(const void *element);
} Memory;

#define MEMORY(M, Mv, number, vector)                                                                         \
    TARGETED static void load_##M(const void *from, int64_t stride, int count, double *lanes)                 \
    {                                                                                                         \
        number all[LANES];                                                                                    \
        vector x = load_##Mv((const M##u *)from, stride, count);                                              \
        LANES_OF(all, x);                                                                                     \
        for (int l = 0; l < LANES; l++)                                                                       \
            lanes[l] = (double)all[l];                                                                        \
    }                                                                                                         \
    TARGETED static void store_##M(void *to, int64_t stride, const double *lanes, int count)                  \
    {                                                                                                         \
        number all[LANES];                                                                                    \
        vector x;                                                                                             \
        for (int l = 0; l < LANES; l++)                                                                       \
            all[l] = (number)lanes[l];                                                                        \
        FROM_LANES(x, all);                                                                                   \
        store_##Mv((M##u *)to, stride, x, count);                                                             \
    }                                                                                                         \
    TARGETED static void gather_##M(const void *from, const int64_t *offsets, const int32_t *on, double *lanes) \
    {                                                                                                         \
        number all[LANES];                                                                                    \
        i64v offset;                                                                                          \
        i32v active;                                                                                          \
        FROM_LANES(offset, offsets);                                                                          \
        FROM_LANES(active, on);                                                                               \
        vector x = gather_##Mv((const M##u *)from, offset, active != splat_i32v(0));                          \
        LANES_OF(all, x);                                                                                     \
        for (int l = 0; l < LANES; l++)                                                                       \
            lanes[l] = (double)all[l];                                                                        \
    }
MEMORY(f32, f32v, float, f32v)
MEMORY(f64, f64v, double, f64v)
MEMORY(i32, i32v, int32_t, i32v)
MEMORY(i64, i64v, int64_t, i64v)
MEMORY(i16, i16v, int32_t, i32v)
MEMORY(i8, i8v, int32_t, i32v)
MEMORY(bool, boolv, int32_t, boolv)
MEMORY(f16, f16v, float, f32v)
MEMORY(bf16, bf16v, float, f32v)

#define STREAM(M, number, vector)                                                                             \
    TARGETED static void stream_##M(void *to, int64_t stride, const double *lanes, int count)                 \
    {                                                                                                         \
        number all[LANES];                                                                                    \
        vector x;                                                                                             \
        for (int l = 0; l < LANES; l++)                                                                       \
            all[l] = (number)lanes[l];                                                                        \
        FROM_LANES(x, all);                                                                                   \
        stream_##M##v((M##u *)to, stride, x, count, 2);                                                       \
        STREAM_END();                                                                                         \
    }
STREAM(f32, float, f32v)
STREAM(f64, double, f64v)
STREAM(i32, int32_t, i32v)
STREAM(i64, int64_t, i64v)
STREAM(f16, float, f32v)
STREAM(bf16, float, f32v)

static const double truth = EINC_VECTORS ? -1 : 1;    /* what a true lane of a boolv holds */

static double get_f32(const void *at) { return *(const f32u *)at; }
static double get_f64(const void *at) { return *(const f64u *)at; }
static double get_i32(const void *at) { return *(const i32u *)at; }
static double get_i64(const void *at) { return (double)*(const i64u *)at; }
static double get_i16(const void *at) { return *(const i16u *)at; }
static double get_i8(const void *at) { return *(const i8u *)at; }
static double get_bool(const void *at) { return *(const boolu *)at ? truth : 0; }
TARGETED static double get_f16(const void *at) { return unpack_f16(*(const f16u *)at); }
TARGETED static double get_bf16(const void *at) { return to_f32_bf16(*(const bf16u *)at); }

static const Memory memories[] = {
#define ROW(M, bytes) { #M, bytes, load_##M, store_##M, gather_##M, get_##M },
    ROW(f32, 4) ROW(f64, 8) ROW(i32, 4) ROW(i64, 8) ROW(i16, 2) ROW(i8, 1) ROW(bool, 1) ROW(f16, 2) ROW(bf16, 2)
#undef ROW
#define ROW(M, bytes) { #M " past the caches", bytes, load_##M, stream_##M, gather_##M, get_##M },
    ROW(f32, 4) ROW(f64, 8) ROW(i32, 4) ROW(i64, 8) ROW(f16, 2) ROW(bf16, 2)
#undef ROW
};
enum { MEMORIES = sizeof memories / sizeof *memories };

/* Two pages between two that cannot be touched. */
static char *fenced, *fence;

static int make_fence(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *all = mmap(NULL, 4 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, 2 * page, PROT_READ | PROT_WRITE))
        return 1;
    fenced = all + page;
    fence = all + 3 * page;
    return 0;
}

/* Bytes whose elements of any dtype are finite and not denormal, so that they are what they were after a round trip. */
static void fill(void)
{
    for (char *at = fenced; at < fence; at++)
        *at = (char)(0x32 + random_bits() % 8);
}

/* The first element such that `count` of them, `stride` apart, end at a fence, or `shift` bytes before it. */
static char *against_fence(const Memory *m, int64_t stride, int count, size_t shift)
{
    int64_t reach = stride * (count - 1);
    if (stride >= 0)
        return fence - shift - (size_t)(reach + 1) * m->bytes;
    return fenced + shift + (size_t)-reach * m->bytes;
}

static const int64_t strides[] = { 1, 0, 2, 3, 4, 5, -1, -3, 37 };
enum { STRIDES = sizeof strides / sizeof *strides };

static void test_loads(void **state)
{
    (void)state;
    fill();
    for (int i = 0; i < MEMORIES; i++)
        for (int s = 0; s < STRIDES; s++)
            for (int count = 1; count <= LANES; count++)
                for (size_t shift = 0; shift < 2; shift++) {
                    const Memory *m = &memories[i];
                    const char *from = against_fence(m, strides[s], count, shift);
                    double lanes[LANES];
                    m->load(from, strides[s], count, lanes);
                    for (int l = 0; l < LANES; l++) {
                        int64_t offset = l < count ? l * strides[s] * (int64_t)m->bytes : 0;
                        if (!same(lanes[l], m->get(from + offset)))
                            fail_msg("%s, stride %d, count %d, lane %d", m->name, (int)strides[s], count, l);
                    }
                }
}

static void test_stores(void **state)
{
    (void)state;
    static char before[1 << 17];
    size_t size = (size_t)(fence - fenced);
    assert_true(size <= sizeof before);
    for (int i = 0; i < MEMORIES; i++)
        for (int s = 0; s < STRIDES; s++)
            for (int count = 0; count <= LANES; count++) {
                const Memory *m = &memories[i];
                char *to = against_fence(m, strides[s], count ? count : 1, (size_t)count % 4);    /* a whole vector is aligned */
                double lanes[LANES];
                for (int l = 0; l < LANES; l++)
                    lanes[l] = !strcmp(m->name, "bool") ? (l % 3 == 1 ? truth : 0) : l * 3 + 1;
                fill();
                memcpy(before, fenced, size);
                m->store(to, strides[s], lanes, count);
                for (int l = 0; l < count; l++) {
                    char *at = to + l * strides[s] * (int64_t)m->bytes;
                    double wanted = strides[s] ? lanes[l] : lanes[count - 1];
                    if (!same(m->get(at), wanted))
                        fail_msg("%s, stride %d, count %d, lane %d", m->name, (int)strides[s], count, l);
                }
                for (int l = 0; l < count; l++) {
                    int64_t offset = to - fenced + l * strides[s] * (int64_t)m->bytes;
                    memcpy(fenced + offset, before + offset, m->bytes);
                }
                assert_memory_equal(fenced, before, size);
            }
}

static void test_gathers(void **state)
{
    (void)state;
    fill();
    for (int i = 0; i < MEMORIES; i++)
        for (int round = 0; round < 200; round++) {
            const Memory *m = &memories[i];
            int64_t offsets[LANES], count = (fence - fenced) / (int64_t)m->bytes;
            int32_t active[LANES];
            double lanes[LANES];
            for (int l = 0; l < LANES; l++) {
                active[l] = random_bits() % 3 != 0;
                offsets[l] = active[l] ? -(int64_t)(random_bits() % (uint64_t)count) - 1 : 1 << 20;
            }
            m->gather(fence, offsets, active, lanes);
            for (int l = 0; l < LANES; l++)
                assert_true(same(lanes[l], active[l] ? m->get(fence + offsets[l] * (int64_t)m->bytes) : 0));
        }
}

/* Complex numbers are loaded from any address. */
TARGETED static void test_complex_memory(void **state)
{
    (void)state;
    char bytes[64];
    for (int shift = 0; shift < 8; shift++) {
        store_c64((c64u *)(bytes + shift), make_c64(1.5f, -2));
        store_c128((c128u *)(bytes + 16 + shift), make_c128(-0.0, 1e300));
        c64 x = load_c64((const c64u *)(bytes + shift));
        c128 y = load_c128((const c128u *)(bytes + 16 + shift));
        assert_true(x.re == 1.5f && x.im == -2 && same(y.re, -0.0) && y.im == 1e300);
    }
}

/* Vectors of complex numbers: each count and stride, and from lanes' own places, into the parts and back; nothing else is written. */
#define COMPLEX_LANES(c, f, real)                                                                       \
    TARGETED static void test_lanes_##c(void **state)                                                   \
    {                                                                                                   \
        (void)state;                                                                                    \
        enum { FAR = 3, MOST = FAR * LANES };                                                           \
        c from[MOST], to[MOST];                                                                         \
        for (int i = 0; i < MOST; i++)                                                                  \
            from[i] = make_##c((real)(i + 1), (real)(-100 - i));                                        \
        for (int stride = -FAR; stride <= FAR; stride++)                                                \
            for (int count = 1; count <= LANES; count++) {                                              \
                int first = stride < 0 ? MOST - 1 : 0;                                                  \
                c##v x = load_##c##v((const c##u *)from + first, stride, count);                        \
                c##v picked = pick_##c##v((const c##u *)from + first, stride, first_boolv(count));      \
                i64v places = lanes_i64v() * stride;                                                    \
                c##v gathered = gather_##c##v((const c##u *)from + first, places, first_boolv(count));  \
                memset(to, 0, sizeof to);                                                               \
                store_##c##v((c##u *)to + first, stride ? stride : 1, x, count);                        \
                for (int l = 0; l < LANES; l++) {                                                       \
                    c wanted = from[first + stride * (l < count ? l : 0)];                              \
                    c there = to[first + (stride ? stride : 1) * l];                                    \
                    c none = make_##c(0, 0), active = l < count ? wanted : none;                        \
                    assert_true(lane_##f##v(real_##c##v(x), l) == wanted.re && lane_##f##v(imag_##c##v(x), l) == wanted.im);      \
                    assert_true(lane_##f##v(picked.re, l) == active.re && lane_##f##v(picked.im, l) == active.im);                \
                    assert_true(lane_##f##v(gathered.re, l) == active.re && lane_##f##v(gathered.im, l) == active.im);            \
                    assert_true(there.re == active.re && there.im == active.im);                        \
                }                                                                                       \
            }                                                                                           \
        c##v all = splat_##c##v(from[1]), chosen = select_##c##v(first_boolv(1), all, add_##c##v(all, all));              \
        for (int l = 0; l < LANES; l++)                                                                 \
            assert_true(lane_##f##v(chosen.re, l) == (l ? 4 : 2) && lane_##f##v(chosen.im, l) == (l ? -202 : -101));      \
    }

COMPLEX_LANES(c64, f32, float)
COMPLEX_LANES(c128, f64, double)

/* ---- numbers that add up to no NaN ---- */

/* Each place of rows of every length, with and without a stride, holds each number that is not tame in turn. */
TARGETED static void test_tame(void **state)
{
    (void)state;
    enum { MOST = 2 * LANES + 1, STEP = MOST + 3 };
    float x[2 * STEP];
    double y[2 * STEP];
    const double wild[] = { NAN, INFINITY, -INFINITY, 3 };
    for (int count = 0; count <= MOST; count++)
        for (int at = 0; at < 2 * STEP; at++)
            for (int w = 0; w < 4; w++) {
                for (int i = 0; i < 2 * STEP; i++)
                    y[i] = x[i] = i % STEP < count ? (float)(i - STEP) : NAN;
                bool met = at % STEP < count;
                if (met)
                    y[at] = x[at] = (float)wild[w];
                bool low = met && wild[w] == -INFINITY, high = met && wild[w] == INFINITY, nan = met && w == 0;
                assert_int_equal(all_tame_f32v((const f32u *)x, 2, STEP, count, 1), !(nan || high));
                assert_int_equal(all_tame_f64v((const f64u *)y, 2, STEP, count, -1), !(nan || low));
            }
}

TARGETED static void test_plus(void **state)
{
    (void)state;
    const double numbers[] = { 0, -0.0, 1, -3.5, 1e38, INFINITY, -INFINITY };
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            float a = (float)numbers[i], b = (float)numbers[j];
            double c = numbers[i], d = numbers[j];
            f32v x = plus_f32v((const f32u *)&a, splat_f32v(b));
            f64v y = plus_f64v((const f64u *)&c, splat_f64v(d));
            for (int l = 0; l < LANES; l++)
                assert_true(same(lane_f32v(x, l), a + b) && same(lane_f64v(y, l), c + d));
        }
}

/* Runs of three pieces come piece by piece, some at a time, and end where they should. */
TARGETED static void test_coming(void **state)
{
    (void)state;
    enum { PIECE = 8, RUN = 3 * PIECE, STEP_RUN = 40, RUNS = 5 };
    char from[RUNS * STEP_RUN], to[RUNS * RUN];
    for (int i = 0; i < RUNS * STEP_RUN; i++)
        from[i] = (char)i;
    for (int some = 0; some <= RUNS * 3 + 2; some++) {
        memset(to, 0, sizeof to);
        Coming coming = begin_coming(from, to, RUN, STEP_RUN, RUNS, 2 * RUN + PIECE);
        assert_int_equal(coming.soon, 2 * STEP_RUN);
        for (int taken = 0; taken < 2 && some; taken++) {
            for (int64_t k = 0, left = coming.left, at = 0; k < some && k < coming.rest / PIECE; k++, at += PIECE) {
                const char *next = coming.from + at + (at < left ? 0 : ((at - left) / RUN + 1) * (STEP_RUN - RUN));
                memcpy(coming.to + at, next, PIECE);
            }
            go_on_coming(&coming, some * PIECE);
        }
        end_coming(&coming);
        assert_int_equal(coming.rest, 0);
        for (int i = 0; i < RUNS * RUN; i++)
            assert_int_equal(to[i], from[i / RUN * STEP_RUN + i % RUN]);
    }
    Coming nothing = begin_coming(NULL, NULL, 0, 0, 0, PIECE);
    go_on_coming(&nothing, PIECE);
    end_coming(&nothing);
    assert_int_equal(nothing.rest, 0);
}

enum { ASKED_BYTES = 1 << 18 };

static char asked_memory[ASKED_BYTES];
static int asked_times[ASKED_BYTES / LINE_BYTES];

/* Asks for a block, so many lines at a time as tiles do, and counts how often for each line of memory. */
TARGETED static void ask_all(Asked asked, int some)
{
    memset(asked_times, 0, sizeof asked_times);
    while (asked.turns > 0) {
        const char *ahead = asked.at;
        int64_t runs_left = asked.runs_left, lines_left = asked.lines_left;
        for (int k = 0; k < some; k++) {
            const int64_t at = ahead - asked_memory;
            if (at >= 0 && at < ASKED_BYTES)
                asked_times[at / LINE_BYTES]++;
            ahead += asked.apart;
            turn_asked(&asked, &ahead, &runs_left, &lines_left);
        }
        go_on_asked(&asked, some);
    }
}

/* Each line of a block is asked for once, whether its runs follow each other or not, and however many at a time. Of blocks in turns
 * a share may end behind one. */
TARGETED static void test_asked(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes, levels[3][2];
        int count;
    } blocks[] = {
        { 64, { { 0, 0 } }, 0 },       { 640, { { 0, 0 } }, 0 },           { 192, { { 7, 192 }, { 40, 1344 } }, 2 },
        { 192, { { 8, 512 } }, 1 },    { 256, { { 3, 256 }, { 9, 1024 } }, 2 }, { 128, { { 4, 256 }, { 3, 1024 } }, 2 },
        { 128, { { 1, 77 }, { 4, 256 }, { 3, 8192 } }, 3 }, { 64, { { 5, 1024 } }, 1 },
    };
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (int some = 1; some < 40; some++) {
            const Asked asked = ask_for(asked_memory, blocks[b].bytes, blocks[b].levels, blocks[b].count);
            int64_t points[3] = { 1, 1, 1 }, step[3] = { 0, 0, 0 };
            for (int i = 0; i < blocks[b].count; i++) {
                points[i] = blocks[b].levels[i][0];
                step[i] = blocks[b].levels[i][1];
            }
            ask_all(asked, some);
            for (int64_t i = 0; i < points[0] * points[1] * points[2] && (some == 1 || asked.turns == 1); i++) {
                const int64_t at = i % points[0] * step[0] + i / points[0] % points[1] * step[1] + i / points[0] / points[1] * step[2];
                for (int64_t line = at; line < at + blocks[b].bytes; line += LINE_BYTES)
                    assert_int_equal(asked_times[line / LINE_BYTES], 1);
            }
        }
    static const int64_t none[][2] = { { 0, 64 } };
    assert_int_equal(ask_for(asked_memory, 64, none, 1).turns, 0);
    assert_int_equal(ask_for(asked_memory, 0, none, 0).turns, 0);
}

/* ---- axes that share lanes ---- */

/* Products of 2 by 2 matrices A and B, `apart` in the result. */
static int64_t bundle_squares(int64_t count, int64_t apart, int64_t column, int32_t lanes[2][LANES])
{
    const int64_t extent[] = { count, 2, 2, 2 };
    const Bundled arrays[] = { { { apart, 2, 1, 0 } }, { { 4, 2, 0, 1 } }, { { 4, 0, column, 2 } } };
    return bundle(extent, 3, 1, arrays, 3, lanes);
}

/* The rows of squares and of what is less become columns, past the caches or not, wherever a line begins; nothing else is written. */
#define TEST_TURNED(T, c)                                                                                          \
    TARGETED static void test_turned_past_##T(void **state)                                                        \
    {                                                                                                              \
        enum { LINE = LINE(c), ROWS = LINE + 2, COLUMNS = LANES + 1, PITCH = LINE + 3 };                           \
        static c from[ROWS * COLUMNS];                                                                             \
        static _Alignas(64) c to[COLUMNS * PITCH + LINE];                                                          \
        (void)state;                                                                                               \
        for (int i = 0; i < ROWS * COLUMNS; i++)                                                                   \
            from[i] = (c)(i + 1);                                                                                  \
        for (int rows = 1; rows <= LINE; rows++)                                                                   \
            for (int columns = 1; columns <= LANES; columns++)                                                     \
                for (int at = 0; at < 2 * LINE; at++) {    /* each past the caches and through them */             \
                    const int apart = rows == LINE ? LINE : PITCH;                                                 \
                    memset(to, 0, sizeof to);                                                                      \
                    turn_past_##T((T##u *)(to + at / 2), apart, 1, (const T##u *)from, COLUMNS, 1, rows, columns,  \
                                  (const T##u *)from, 1, at % 2);                                                  \
                    STREAM_END();                                                                                  \
                    for (int i = 0; i < COLUMNS * PITCH + LINE; i++) {                                             \
                        const int inside = i >= at / 2, r = (i - at / 2) % apart, k = (i - at / 2) / apart;        \
                        const c expected = inside && r < rows && k < columns ? from[r * COLUMNS + k] : 0;          \
                        assert_true(to[i] == expected);                                                            \
                    }                                                                                              \
                }                                                                                                  \
    }

TEST_TURNED(f32, float)
TEST_TURNED(f64, double)
TEST_TURNED(i32, int32_t)

/* Vectors are of a line if all of it is there, in one run that begins with one. */
TARGETED static void test_lines_of_pieces(void **state)
{
    (void)state;
    enum { SIZE = 4, EACH = 64 / SIZE > LANES ? 64 / SIZE / LANES : 1, MANY = 3 * EACH };
    static const struct {
        int64_t apart;    /* from one line to the next */
        int64_t first;
        int full, split;  /* vectors that are there, and the one whose lanes are in two runs */
        bool is_line;
    } cases[] = {
        { 128, 0, MANY, -1, true },      { 64, 64, MANY, -1, true },         { 128, 0, 2 * EACH, -1, true },
        { 128, 8, MANY, -1, false },     { 128, 0, MANY, 0, false },         { 128, 0, MANY, MANY - 1, false },
        { 120, 0, MANY, -1, false },     { 128, 0, 0, -1, true },            { 128, 0, 2 * EACH - 1, -1, EACH == 1 },
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        Piece pieces[MANY];
        bool is_line = true;
        for (int v = 0; v < MANY; v++) {
            const int64_t first = cases[n].first + v / EACH * cases[n].apart + v % EACH * LANES;
            const int count = v < cases[n].full ? LANES : 0;
            pieces[v] = (Piece){ first, first + count, v == cases[n].split ? count / 2 : count, count };
            is_line = is_line && is_of_line(&pieces[v], v * LANES, SIZE);
        }
        assert_int_equal(is_line, cases[n].is_line);
    }
}

TARGETED static void test_bundles(void **state)
{
    (void)state;
    int32_t lanes[2][LANES];
    const int64_t squares = LANES / 4, first = bundle_squares(100, 4, 1, lanes);
    assert_int_equal(first, squares);
    for (int l = 0; first && l < LANES; l++) {
        assert_int_equal(lanes[0][l], l / 2 * 2);
        assert_int_equal(lanes[1][l], l / 4 * 4 + l % 2);
    }
    assert_int_equal(bundle_squares(100, 5, 1, lanes), squares > 0);
    assert_int_equal(bundle_squares(1, 4, 1, lanes), squares > 0);
    assert_int_equal(bundle_squares(0, 4, 1, lanes), 0);
    assert_int_equal(bundle_squares(100, 4, -1, lanes), 0);
    assert_int_equal(bundle_squares(100, 4, INT64_MAX, lanes), 0);
}

TARGETED static void test_permutations(void **state)
{
    (void)state;
    float f[LANES];
    double d[LANES];
    f32v x;
    f64v y;
    for (int l = 0; l < LANES; l++)
        d[l] = f[l] = (float)(l + 1);
    memcpy(&x, f, sizeof x);
    memcpy(&y, d, sizeof y);
    for (int shift = 0; shift < LANES; shift++) {
        const i32v from = (lanes_i32v() * 3 + shift) & (LANES - 1);
        for (int l = 0; l < LANES; l++) {
            assert_true(lane_f32v(permute_f32v(x, from), l) == f[(3 * l + shift) % LANES]);
            assert_true(lane_f64v(permute_f64v(y, from), l) == d[(3 * l + shift) % LANES]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coming), cmocka_unit_test(test_asked),
        cmocka_unit_test(test_turned_past_f32), cmocka_unit_test(test_turned_past_f64), cmocka_unit_test(test_turned_past_i32),
        cmocka_unit_test(test_lines_of_pieces),
        cmocka_unit_test(test_tame),
        cmocka_unit_test(test_plus),
        cmocka_unit_test(test_splats_and_lanes),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_loads),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_bundles),
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_complex_memory),
        cmocka_unit_test(test_lanes_c64),
        cmocka_unit_test(test_lanes_c128),
    };
    return machine_fits() ? cmocka_run_group_tests(tests, make_fence, NULL) : SKIPPED;
}
