/* einc compile 'be,dcea->dcba' -o matrix_times_tensor.c -d b=84,e=96,d=84,c=84,a=96 --target avx512
 *
 *     be, dcea -> dcba
 *
 * target avx512, 16 lanes
 * launch 1: block of d: 1, block of c: 1, block of a: tile_1_3 = min(96, a), block of b: tile_1_4 = min(84, b)
 *   step 1: store out[d,c,b,a] = sum[e](A[b,e] * B[d,c,e,a])
 *     tiles of 14 x 32: rows b, columns d c a, contracted e, rows in place, columns packed by their first tiles,
 *             the next ones asked for in memory's order
 *     loops d c b a, 16 lanes along a, past the caches from 32 MB
 * workspace workers * (align(align(tile_1_3, 32) * e * 4, 64)
 *         + align((1 + min(1, align(tile_1_3, 32) * e / 4097) * 7) * (e + 16) * 56, 64)
 *         + align(min(1, e / 1025) * align(tile_1_3, 32) * 448, 64)
 *         + align((ceil(align(tile_1_3, 32) / 16) + 2) * 24, 64) + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef MATRIX_TIMES_TENSOR_H
#define MATRIX_TIMES_TENSOR_H
#ifdef __cplusplus
extern "C" {
#endif

#ifndef EINC_HOST
#define EINC_HOST
/* Whose threads and messages. Every member may be 0, and so may the pointer to it. parallel_for runs
 * task(argument, index, worker) once for every 0 <= index < tasks, in any order, at once on up to `workers` threads,
 * 0 <= worker < workers, no two calls with the same worker at once; it returns 0, or a number that the kernel gives back. */
typedef struct einc_host {
    void *(*alloc)(void *user, size_t bytes, size_t align);
    void (*free)(void *user, void *memory);
    int (*parallel_for)(void *user, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument);
    int workers;
    int (*cancelled)(void *user);
    void (*error)(void *user, int code, const char *message);
    void *user;
} einc_host;
#endif

/* Strides count elements, and may be 0 or negative; data need not be aligned. An array of rank 0 has no shape.
 * Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */
typedef struct matrix_times_tensor_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[4], stride[4];
    } B;
    struct {    /* output, f32[d,c,b,a] */
        float *data;
        int64_t shape[4], stride[4];
    } out;
} matrix_times_tensor_args;

/* The bytes of workspace that matrix_times_tensor() wants for these shapes and so many workers. 0, or why not. */
int matrix_times_tensor_workspace(const matrix_times_tensor_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int matrix_times_tensor(const matrix_times_tensor_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#else
#define KERNEL
#endif

#include <math.h>

/* Whether vectors are GNU vectors; without them LANES is 1 and each vector type is its element. They only pass between
 * functions that are inlined, so that the ABI is no concern. */
#if defined(__GNUC__) && !defined(EINC_SCALAR)
#define EINC_VECTORS 1
#pragma GCC diagnostic ignored "-Wpsabi"
#else
#define EINC_VECTORS 0
#endif

/* Helpers are inlined; all functions are for the same instruction set. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#else
#define INLINE static inline
#endif

/* Of what is long and seldom in a hurry one copy keeps the compile short. */
#if defined(__GNUC__) && !defined(__clang__)
#define APART static __attribute__((noinline, noclone, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")))
#else
#define APART static
#endif

#if EINC_VECTORS
#define LANES 16
#else
#define LANES 1
#endif

/* Whether __builtin_shuffle is there; clang needs loops for it to see through. */
#if EINC_VECTORS && !defined(__clang__)
#define EINC_SHUFFLES 1
#else
#define EINC_SHUFFLES 0
#endif

/* Before a loop over lanes that is to become a handful of shuffles, or over a tile's sums, which are to be registers. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 16")
#elif EINC_VECTORS
#define UNROLL _Pragma("clang loop unroll(full)")
#pragma clang diagnostic ignored "-Wpass-failed"    /* of those whose turns are not known, which stay loops */
#else
#define UNROLL
#endif

/* clang is told only of loops that become as many copies as they have turns: it keeps the sums of others in memory. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_TWICE _Pragma("GCC unroll 2")
#else
#define UNROLL_TWICE
#endif

/* Asks for the cache line at p, which need not be one that may be read. */
#ifdef __GNUC__
#define PREFETCH(p) __builtin_prefetch((p), 0, 3)
#else
#define PREFETCH(p) ((void)(p))
#endif

/* The same into the second cache, for what is read later than the first would keep it. */
#ifdef __GNUC__
#define PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)
#else
#define PREFETCH_FAR(p) ((void)(p))
#endif

/* A vector stays in its register: gcc would load it again for each use, and loads are scarcer than copies. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOLD(x) __asm__("" : "+v"(x))
#else
#define HOLD(x) ((void)0)
#endif

/* Steps from row to row that might have become others: so the compiler multiplies them in addresses, where it costs
 * nothing, and not before, where more products than there are registers would wait in memory. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HOLD_STEPS(one, three, five) __asm__("" : "+r"(one), "+r"(three), "+r"(five))
#else
#define HOLD_STEPS(one, three, five) ((void)0)
#endif

/* At the beginning of a function whose a * b + c is to be one instruction where the machine has it. */
#ifdef __clang__
#define CONTRACT _Pragma("clang fp contract(fast)")
#else
#define CONTRACT
#endif

#if EINC_VECTORS
typedef float f32v __attribute__((vector_size(4 * LANES)));
#else
typedef float f32v;
#endif

#if EINC_VECTORS
typedef int32_t i32v __attribute__((vector_size(4 * LANES)));
#else
typedef int32_t i32v;
#endif

#if EINC_VECTORS
typedef uint32_t u32v __attribute__((vector_size(4 * LANES)));
#else
typedef uint32_t u32v;
#endif

#ifdef __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#else
#define UNALIGNED
#endif

typedef float f32u UNALIGNED;

INLINE f32v splat_f32v(float x)
{
#if EINC_VECTORS
    f32v zero = {0};
    return x - zero;    /* which keeps -0 */
#else
    return x;
#endif
}

INLINE u32v bits_f32v(f32v x)
{
    u32v bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE f32v from_bits_f32v(u32v bits)
{
    f32v x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#if EINC_SHUFFLES
/* Elements few apart, out of as many whole vectors, the last of which ends with the last of them. */
INLINE u32v load_near_u32v(const void *p, const int stride)
{
    u32v x;
    memcpy(&x, p, sizeof x);
    UNROLL
    for (int v = 1; v < stride; v++) {
        const int first = v == stride - 1 ? v * (LANES - 1) : v * LANES;
        i32v from = {0};
        UNROLL
        for (int l = 0; l < LANES; l++)
            from[l] = l * stride >= v * LANES ? l * stride - first + LANES : v == 1 ? l * stride : l;
        u32v y;
        memcpy(&y, (const char *)p + 4 * first, sizeof y);
        x = __builtin_shuffle(x, y, from);
    }
    return x;
}
#endif

/* One lane after the other. */
APART u32v load_lanes_u32v(const void *p, int64_t stride, int count)
{
#if EINC_SHUFFLES
    if (stride >= 2 && stride <= (LANES < 4 ? LANES : 4) && count == LANES)
        return stride == 2 ? load_near_u32v(p, 2) : stride == 3 ? load_near_u32v(p, 3) : load_near_u32v(p, 4);
#endif
    uint32_t lanes[LANES];
    u32v x;
    if (count == LANES) {
        UNROLL
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 4 * stride * l, 4);
    } else {
        for (int l = 0; l < LANES; l++)
            memcpy(&lanes[l], (const char *)p + 4 * stride * (l < count ? l : 0), 4);
    }
    memcpy(&x, lanes, sizeof x);
    return x;
}

/* One lane after the other. */
APART void store_lanes_u32v(void *p, int64_t stride, u32v x, int count)
{
    uint32_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < count; l++)
        memcpy((char *)p + 4 * stride * l, &lanes[l], 4);
}

INLINE u32v load_u32v(const void *p, int64_t stride, int count)
{
    u32v x;
    if (stride == 1 && count == LANES) {
        memcpy(&x, p, sizeof x);
        return x;
    }
#if EINC_VECTORS && LANES >= 4
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        u32v zero = {0};
        uint32_t first;
        memcpy(&first, p, 4);
        x = first | zero;
        __asm__("vmovdqu32 (%1), %0%{%2%}" : "+v"(x) : "r"(p), "Yk"(m) : "memory");
        return x;
    }
#endif
    return load_lanes_u32v(p, stride, count);
}

INLINE void store_u32v(void *p, int64_t stride, u32v x, int count)
{
    if (stride == 1 && count == LANES) {
        memcpy(p, &x, sizeof x);
        return;
    }
#if EINC_VECTORS && LANES >= 4
    if (stride == 1) {
        uint16_t m = (uint16_t)((1u << count) - 1);
        __asm__ volatile("vmovdqu32 %1, (%0)%{%2%}" : : "r"(p), "v"(x), "Yk"(m) : "memory");
        return;
    }
#endif
    store_lanes_u32v(p, stride, x, count);
}

/* Stores 16 bytes past the caches, at a multiple of 16. */
INLINE void leave_quarter(char *p, const char *x)
{
#if EINC_VECTORS && defined(__SSE2__)
    typedef float Quarter __attribute__((vector_size(16), may_alias));
    Quarter y;
    memcpy(&y, x, 16);
#ifdef __clang__
    __builtin_nontemporal_store(y, (Quarter *)p);
#else
    __builtin_ia32_movntps((float *)p, y);
#endif
#else
    memcpy(p, x, 16);
#endif
}

/* Stores x past the caches, 16 bytes at a time; 0 where that cannot be. */
INLINE int stream_quarters(void *p, const void *x, int bytes)
{
    if ((uintptr_t)p % 16 || bytes % 16)
        return 0;
    UNROLL
    for (int b = 0; b < bytes; b += 16)
        leave_quarter((char *)p + b, (const char *)x + b);
    return 1;
}

/* Stores 32 bytes past the caches, at a multiple of 32. */
INLINE void leave_half(char *p, const char *x)
{
#if EINC_VECTORS
    typedef float Half __attribute__((vector_size(32), may_alias));
    Half y;
    memcpy(&y, x, 32);
    __asm__ volatile("vmovntps %1, %0" : "=m"(*(Half *)p) : "v"(y));
#else
    memcpy(p, x, 32);
#endif
}

/* Stores x past the caches, which would read the line that it is in before; 0 where that cannot be. */
INLINE int stream_bytes(void *p, const void *x, int bytes)
{
#if EINC_VECTORS
    typedef float Line __attribute__((vector_size(64), may_alias));
    if (bytes == 64 && (uintptr_t)p % 64 == 0) {
        Line y;
        memcpy(&y, x, 64);
        __asm__ volatile("vmovntps %1, %0" : "=m"(*(Line *)p) : "v"(y));
        return 1;
    }
#endif
    if (bytes == 32 && (uintptr_t)p % 32 == 0) {
        leave_half((char *)p, (const char *)x);
        return 1;
    }
    return stream_quarters(p, x, bytes);
}

/* The same at an address that is known to be a multiple of so many bytes, which is not asked for a line. */
INLINE int pass_bytes(void *p, const void *x, int bytes)
{
#if EINC_VECTORS
    typedef float Line __attribute__((vector_size(64), may_alias));
    if (bytes == 64) {
        Line y;
        memcpy(&y, x, 64);
        __asm__ volatile("vmovntps %1, %0" : "=m"(*(Line *)p) : "v"(y));
        return 1;
    }
#endif
    return stream_bytes(p, x, bytes);
}

/* What was stored past the caches is there for other threads. */
#if defined(__GNUC__) && defined(__SSE2__)
#define STREAM_END() __asm__ volatile("sfence" : : : "memory")
#else
#define STREAM_END() ((void)0)
#endif

enum { PAGES = 4, PAGE_LINES = 64, LINE_BYTES = 64, PAGES_BYTES = PAGES * PAGE_LINES * LINE_BYTES };

/* a * b + c, rounded once; gcc contracts it by itself only in its own dialects of C, clang not where a * b is used twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
#if EINC_VECTORS && LANES == 16
    return __builtin_ia32_vfmaddps512_mask(a, b, c, (uint16_t)-1, 4);
#elif EINC_VECTORS && !defined(__clang__) && LANES >= 4
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(c) : "%v"(a), "vm"(b));
    return c;
#else
    CONTRACT
    return a * b + c;
#endif
}

/* The r-th row from `first` on, 0 <= r < 8. One row is `one` bytes further, three and five rows are `three` and `five`:
 * an address is made of one of these, twice or four times, as machines add them for nothing. */
INLINE const char *row_address(const char *first, int64_t one, int64_t three, int64_t five, int r)
{
    return first + (r % 3 == 0 ? three * (r / 3) : r == 5 ? five : r == 7 ? three + one * 4 : one * r);
}

INLINE f32v load_f32v(const f32u *p, int64_t stride, int count)
{
    return from_bits_f32v(load_u32v(p, stride, count));
}

INLINE void store_f32v(f32u *p, int64_t stride, f32v x, int count)
{
    store_u32v(p, stride, bits_f32v(x), count);
}

INLINE void pass_f32v(f32u *p, f32v x)
{
    if (!pass_bytes(p, &x, sizeof x))
        store_f32v(p, 1, x, LANES);
}

/* Helpers that run once a call are for any machine, whatever the kernel's instruction set. */
#ifdef __GNUC__
#define PLAIN static inline __attribute__((unused))
#else
#define PLAIN static inline
#endif

/* What a formula has dozens of: one copy keeps the compile short. */
#ifdef __GNUC__
#define SHARED static __attribute__((noinline, unused))
#else
#define SHARED static
#endif

#define SIZE_TOO_LARGE INT64_MAX

PLAIN int64_t size_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

PLAIN int64_t size_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

SHARED int64_t size_add(int64_t a, int64_t b)
{
    return a > SIZE_TOO_LARGE - b ? SIZE_TOO_LARGE : a + b;
}

SHARED int64_t size_mul(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b && a > SIZE_TOO_LARGE / b ? SIZE_TOO_LARGE : a * b;
}

SHARED int64_t size_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b : a;
}

SHARED int64_t size_ceil_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b + (a % b != 0) : a;
}

/* So much of what is left that it makes as few shares of at most `most` as can be, all nearly equal. */
PLAIN int64_t size_even(int64_t left, int64_t most)
{
    return left <= most ? left : size_ceil_div(left, size_ceil_div(left, most));
}

/* Up to a multiple of the unit. */
SHARED int64_t size_align(int64_t a, int64_t unit)
{
    return a > SIZE_TOO_LARGE - unit ? SIZE_TOO_LARGE : (a + unit - 1) / unit * unit;
}

/* How many of `left` rows come next, of at most `most`, which are whole tiles: those, but so that no tile that is lower
 * than half of one is left behind them. */
PLAIN int64_t size_next(int64_t left, int64_t most, int64_t tile)
{
    return left <= most ? left : left - most >= tile / 2 ? most : most - tile / 2;
}

/* Whether a shape is one; axes of size 1 get stride 0, so that they stretch. */
PLAIN int settle(const int64_t *shape, int64_t *stride, int rank)
{
    for (int a = 0; a < rank; a++) {
        if (shape[a] < 0)
            return 0;
        if (shape[a] == 1)
            stride[a] = 0;
    }
    return 1;
}

PLAIN int is_shape(const int64_t *shape, int rank)
{
    for (int a = 0; a < rank; a++)
        if (shape[a] < 0)
            return 0;
    return 1;
}

/* The common size of two axes, where 1 gives way; -1 when they disagree. */
PLAIN int64_t meet(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}

/* A block of memory: `turns` times, `far` bytes from one to the next, so many groups of runs. A group's runs are `apart` bytes from
 * one to the next; a line of each of them is asked for, then the lines behind these. Where the last group is not full,
 * as many lines behind the block are asked for, too. */
typedef struct Asked {
    const char *first, *at;       /* its first line, and that which is next */
    int64_t abreast, lines;       /* runs of a group, and lines of a run */
    int64_t apart, back, gap;     /* bytes from a line to the next one, from a group's last run to its first, and to the next group */
    int64_t runs_left, lines_left;    /* of the group at hand; without end of a block that has been asked for */
    int64_t groups, group, far, turns, turn;
} Asked;

INLINE Asked ask_nothing(void)
{
    const Asked nothing = { NULL, NULL, 1, 1, 0, 0, 0, INT64_MAX, INT64_MAX, 0, 0, 0, 0, 0 };
    return nothing;
}

/* Runs of so many bytes, at each of levels[i][0] points that are levels[i][1] bytes apart, for each of these levels, nearest points
 * first. Runs that follow each other are one, and that is taken by pages. Of what is no such block levels are left out. */
INLINE Asked ask_for(const void *first, int64_t bytes, const int64_t (*levels)[2], int count)
{
    Asked asked = ask_nothing();
    int64_t runs = 1;
    asked.turns = 1;
    for (int i = 0; i < count; i++) {
        const int64_t points = levels[i][0], step = levels[i][1];
        if (points == 1)
            continue;
        if (runs == 1 && step == bytes) {
            bytes *= points;
        } else if (runs == 1) {
            runs = points;
            asked.apart = step;
        } else if (asked.turns == 1 && step == runs * asked.apart) {
            runs *= points;
        } else if (asked.turns == 1) {
            asked.turns = points;
            asked.far = step;
        }
    }
    if (runs == 1) {
        asked.apart = size_min(size_align(size_ceil_div(bytes, PAGES), LINE_BYTES), PAGE_LINES * LINE_BYTES);
        runs = size_ceil_div(bytes, size_max(asked.apart, 1));
        bytes = asked.apart;
    }
    if (bytes <= 0 || runs <= 0 || asked.turns <= 0)
        return ask_nothing();
    asked.first = asked.at = (const char *)first;
    asked.abreast = asked.runs_left = size_min(runs, PAGES);
    asked.lines = asked.lines_left = size_ceil_div(bytes, LINE_BYTES);
    asked.groups = size_ceil_div(runs, asked.abreast);
    asked.back = LINE_BYTES - asked.abreast * asked.apart;
    asked.gap = asked.abreast * asked.apart - asked.lines * LINE_BYTES;
    return asked;
}

/* `ahead` has gone one run further: behind a group's last run it is at the first one's next line, behind all lines at the next group. */
INLINE void turn_asked(const Asked *asked, const char **ahead, int64_t *runs_left, int64_t *lines_left)
{
    if (--*runs_left > 0)
        return;
    *runs_left = asked->abreast;
    *ahead += asked->back;
    if (--*lines_left > 0)
        return;
    *lines_left = asked->lines;
    *ahead += asked->gap;
}

/* So many lines more have been asked for, if there were as many. */
INLINE void go_on_asked(Asked *asked, int64_t lines)
{
    const int64_t all = asked->abreast * asked->lines;
    int64_t place = (asked->lines - asked->lines_left) * asked->abreast + asked->abreast - asked->runs_left + lines;
    for (; place >= all && asked->turn < asked->turns; place -= all)
        if (++asked->group == asked->groups) {
            asked->group = 0;
            asked->turn++;
        }
    if (asked->turn == asked->turns) {
        *asked = ask_nothing();
        return;
    }
    const int64_t line = place / asked->abreast, run = place % asked->abreast;
    asked->lines_left = asked->lines - line;
    asked->runs_left = asked->abreast - run;
    asked->at = asked->first + asked->turn * asked->far + (asked->group * asked->abreast + run) * asked->apart + line * LINE_BYTES;
}

/* Where the lanes of a vector lie: those before `here` side by side at `first`, others before `end` at `rest`. */
typedef struct Piece {
    int64_t first, rest;
    int here, end;
} Piece;

/* Whether the columns' vector at a place, whose numbers have so many bytes, goes where it is whole lines or, with those beside it,
 * one line. Behind the last column is nothing; there lines end. */
INLINE int is_of_line(const Piece *piece, int64_t place, int bytes)
{
    const int is_first = place * bytes % 64 == 0;    /* of a line's vectors */
    if (piece->end == 0)
        return is_first || piece[-1].end == 0;
    return piece->here == LANES && (is_first ? piece->first * bytes % 64 == 0 : piece->first == piece[-1].first + LANES);
}

/* One lane after the other. */
APART void store_rest_lanes_u32v(void *p, u32v x, int first, int end)
{
    uint32_t lanes[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = first; l < end; l++)
        memcpy((char *)p + 4 * (l - first), &lanes[l], 4);
}

/* The lanes from `first` on, before `end`, side by side at p. */
INLINE void store_rest_u32v(void *p, u32v x, int first, int end)
{
#if EINC_VECTORS && LANES >= 4
    const uint16_t m = (uint16_t)((1u << end) - (1u << first));
    __asm__ volatile("vmovdqu32 %1, (%0)%{%2%}" : : "r"((uintptr_t)p - 4 * (uintptr_t)first), "v"(x), "Yk"(m) : "memory");
#else
    store_rest_lanes_u32v(p, x, first, end);
#endif
}

INLINE void store_piece_u32v(void *to, const Piece *piece, u32v x)
{
    store_u32v((char *)to + 4 * piece->first, 1, x, piece->here);
    if (piece->here < piece->end)
        store_rest_u32v((char *)to + 4 * piece->rest, x, piece->here, piece->end);
}

INLINE void store_piece_f32v(f32u *to, const Piece *piece, f32v x)
{
    store_piece_u32v(to, piece, bits_f32v(x));
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    matrix_times_tensor_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_b;
    int64_t extent_e;
    int64_t extent_d;
    int64_t extent_c;
    int64_t extent_a;
    int64_t tile_1_3;
    int64_t tile_1_4;
    int64_t units_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_pieces_1;
    int64_t at_panels_of_1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int past_1;    /* whether the result is stored past the caches */
    int64_t shared;
    char *workspace;
    const einc_host *host;
    int *status;
} Frame;

/* The first failure counts. Tasks run on several threads, so the status is read and written whole. */
#ifdef __GNUC__
#define STATUS(f) __atomic_load_n((f)->status, __ATOMIC_RELAXED)
#define FAIL(f, code) __atomic_store_n((f)->status, (code), __ATOMIC_RELAXED)
#else
#define STATUS(f) (*(volatile int *)(f)->status)
#define FAIL(f, code) (*(volatile int *)(f)->status = (code))
#endif

static int is_stopped(const Frame *f)
{
    if (STATUS(f) == 0 && f->host && f->host->cancelled && f->host->cancelled(f->host->user))
        FAIL(f, CANCELLED);
    return STATUS(f) != 0;
}

/* out[d,c,b,a] = sum[e](A[b,e] * B[d,c,e,a]) */
enum { ROWS_1 = 14, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 163840, BLOCK_1 = 8,
        CLOSE_1 = 4096 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t d, int64_t c_2, int64_t a, int64_t depth,
        int64_t place, int64_t from_point, int64_t to_point, int count)
{
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2], B_3 = f->in.B.stride[3];
    float *panels_1 = (float *)own;
    const int64_t soon = 1 + 1024 / size_max(count, 1);    /* points */
    for (int64_t e = from_point; e < to_point; e++) {
        int c = 0;
        for (; place % LANES == 0 && c + LANES <= count; c += LANES) {
            const int64_t a_lanes = a + c, column = (place + c) % COLUMNS_1;
            PREFETCH_FAR(B + d * B_0 + c_2 * B_1 + (e + soon) * B_2 + a_lanes * B_3);
            store_f32v(panels_1 + (place + c - column) * depth + e * COLUMNS_1 + column, 1,
                    load_f32v(B + d * B_0 + c_2 * B_1 + e * B_2 + a_lanes * B_3, B_3, LANES), LANES);
        }
        for (int lanes; c < count; c += lanes) {
            const int64_t a_lanes_2 = a + c, column = (place + c) % COLUMNS_1;
            lanes = (int)size_min(LANES, size_min(count - c, COLUMNS_1 - column));
            PREFETCH_FAR(B + d * B_0 + c_2 * B_1 + (e + soon) * B_2 + a_lanes_2 * B_3);
            const f32v b_2 = load_f32v(B + d * B_0 + c_2 * B_1 + e * B_2 + a_lanes_2 * B_3, B_3, lanes);
            store_f32v(panels_1 + (place + c - column) * depth + e * COLUMNS_1 + column, 1, b_2, lanes);
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t b, int64_t depth, int height)
{
    const int64_t extent_e = f->extent_e, at_packed_1 = f->at_packed_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int r = 0; r < height; r++) {
        const int64_t b_at = b + r;
        float *to = packed_1 + r * (depth + 16);
        for (int64_t e = 0; e < extent_e; e += LANES) {
            const int lanes = (int)size_min(LANES, extent_e - e);
            store_f32v(to, 1, load_f32v(A + b_at * A_0 + e * A_1, A_1, lanes), lanes);
            to += lanes;
        }
    }
}

/* What a tile's sums start from: `start`, where a row's are start_step further than the row's before; with NULL they
 * begin. The sums of rows that a tile has not start, too, and stay so: there are starts for them. */
INLINE void begin_1(const f32u *start, int64_t start_step, f32v sums[ROWS_1][VECTORS_1])
{
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            sums[r][v] = splat_f32v(0.0f);
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_1; v++)
                sums[r][v] = load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
}

/* Adds the products of `height` rows and one panel to the sums. A row's points are k_step apart, rows row_step. What is
 * needed next comes nearer meanwhile: `ahead`, so many bytes for each point. Loops over rows are unrolled, so that sums
 * have registers, and left early where a tile is low; a whole one's `height` is a constant, so that it goes without
 * comparisons. Two points at a turn make turns few enough for their end to be foreseen. */
/* A panel's points are panel_step apart, its vectors panel_apart. Into `copy`, if it is none, they go side by side. */
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const f32u *panel,
                       int64_t panel_step, int64_t panel_apart, float *copy, const Asked *asked, int64_t depth,
                               const char *ahead, int64_t ahead_step, f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    int64_t runs_left = asked->runs_left, lines_left = asked->lines_left;
    UNROLL_TWICE
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
        HOLD_STEPS(one, three, five);
        PREFETCH(ahead);
        ahead += ahead_step;
        turn_asked(asked, &ahead, &runs_left, &lines_left);
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            right[v] = load_f32v(panel + v * panel_apart, 1, LANES);
            if (copy)
                store_f32v(copy + k * COLUMNS_1 + v * LANES, 1, right[v], LANES);
        }
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = splat_f32v(*at);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                sums[r][v] = fma_f32v(left, right[v], sums[r][v]);
            }
        }
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        panel += panel_step;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_1(int height, const f32u *rows, int64_t row_step, int64_t k_step, const f32u *panel,
        int64_t panel_step, int64_t panel_apart, float *copy, const Asked *asked, int64_t depth, const char *ahead,
        int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept, int64_t kept_step, const Piece *placed,
        f32u *result, int64_t result_step, int past)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (copy && height == ROWS_1)
        multiply_1(ROWS_1, rows, row_step, k_step, panel, panel_step, panel_apart, copy, asked, depth, ahead,
                ahead_step, sums);
    else if (copy)
        multiply_1(height, rows, row_step, k_step, panel, panel_step, panel_apart, copy, asked, depth, ahead,
                ahead_step, sums);
    else if (height == ROWS_1)
        multiply_1(ROWS_1, rows, row_step, k_step, panel, panel_step, panel_apart, NULL, asked, depth, ahead,
                ahead_step, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, panel_step, panel_apart, NULL, asked, depth, ahead,
                ahead_step, sums);
    if (past) {
        f32u *lines[VECTORS_1];
        int wide = 0;    /* vectors that are not behind the last column */
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            lines[v] = result + placed[v].first;
            wide += placed[v].end != 0;
        }
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                break;
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                if (v >= wide)
                    continue;
                pass_f32v(lines[v] + r * result_step, sums[r][v]);
            }
        }
        return;
    }
    if (placed) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            const Piece piece = placed[v];
            UNROLL
            for (int r = 0; r < ROWS_1; r++) {
                if (r >= height)
                    break;
                store_piece_f32v(result + r * result_step, &piece, sums[r][v]);
            }
        }
        return;
    }
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        if (r >= height)
            continue;
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}

/* What becomes of a tile's sums. */
KERNEL static void after_1(const Frame *f, int64_t b, int64_t d, int64_t c_2, int64_t a, int64_t tile_place,
        int64_t place, int count, int height, const float *kept)
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2], out_3 = f->in.out.stride[3];
    for (int r = 0; r < height; r++) {
        const int64_t b_at = b + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t a_lanes = a + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + place - tile_place + v * LANES, 1, lanes);
            store_f32v(out + d * out_0 + c_2 * out_1 + b_at * out_2 + a_lanes * out_3, out_3, sum, lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t d_first, int64_t d_end, int64_t c_first, int64_t c_end,
        int64_t b_first, int64_t b_end, int64_t a_first, int64_t a_end)
{
    const int64_t extent_b = f->extent_b, extent_e = f->extent_e;
    const int64_t extent_d = f->extent_d, extent_c = f->extent_c;
    const int64_t extent_a = f->extent_a, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_pieces_1 = f->at_pieces_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2], B_3 = f->in.B.stride[3];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2], out_3 = f->in.out.stride[3];
    float *panels_1 = (float *)own;
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *pieces_1 = (int64_t *)(own + at_pieces_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    const int64_t depth = extent_e;
    const int64_t columns = (d_end - d_first) * (c_end - c_first) * (a_end - a_first),
            places = size_align(columns, COLUMNS_1);
    int64_t width = a_end - a_first;
    if (B_1 == B_3 * (a_end - a_first) && out_1 == out_3 * (a_end - a_first)) {
        width *= c_end - c_first;
        if (B_0 == B_1 * (c_end - c_first) && out_0 == out_1 * (c_end - c_first))
            width *= d_end - d_first;
    }
    float tile[ROWS_1 * COLUMNS_1];
    Piece *const pieces = (Piece *)pieces_1;    /* where the result has each vector of columns */
    const int is_placed = LANES == 16 && width >= LANES && out_3 == 1;
    int is_past = f->past_1;    /* all vectors are lines of it, past the caches */
    for (int64_t place = 0; is_placed && place < places + COLUMNS_1; place += LANES) {
        Piece *const piece = &pieces[place / LANES];
        const int64_t count = size_max(size_min(columns - place, LANES), 0);
        const int64_t here = size_min(count, width - place % width), behind = place + here;
        piece->first = (place - place % width) / (a_end - a_first) / (c_end - c_first) * out_0
                + (place - place % width) / (a_end - a_first) % (c_end - c_first) * out_1 + place % width * out_3;
        piece->rest = (behind - behind % width) / (a_end - a_first) / (c_end - c_first) * out_0
                + (behind - behind % width) / (a_end - a_first) % (c_end - c_first) * out_1 + behind % width * out_3;
        piece->here = (int)(piece->rest == piece->first + here ? count : here);
        piece->end = (int)count;
        is_past = is_past && is_of_line(piece, place, 4);
    }
    /* Whole vectors of a run are met where they are, unless their points, `apart`, fall into few sets of the cache. */
    const int64_t apart = B_2;
    const int64_t next_unit = f->host && f->host->workers > 1 ? 0 : a_end < extent_a ? (a_end - a_first) * B_3
            : c_end < extent_c ? (c_end - c_first) * B_1 - a_first * B_3 : d_end < extent_d ? (d_end - d_first) * B_0
            - c_first * B_1 - a_first * B_3 : 0;
    const int64_t further = next_unit;    /* are the columns that come next */
    const int are_met = LANES == 16 && B_3 == 1 && (apart & -apart) * depth <= 65536 && width % LANES == 0;
    const int64_t columns_at = (d_first * extent_c + c_first) * extent_a + a_first;
    int is_new = are_met && *panels_of_1 != columns_at;    /* some panels are not packed yet */
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        const int64_t from_point = 0, to_point = extent_e;
        if (are_met) {
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                if (are_met && tile_place + COLUMNS_1 <= columns)
                    continue;
                const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t a = a_first + place % width;
                    const int64_t c_2 = c_first + (place - place % width) / (a_end - a_first) % (c_end - c_first);
                    const int64_t d = d_first + (place - place % width) / (a_end - a_first) / (c_end - c_first);
                    pack_columns_1(f, own, d, c_2, a, depth, place, from_point, to_point, count);
                    place += count;
                }
            }
        } else {
            for (int64_t place = 0; place < columns; place += width) {
                const int count = (int)width;
                const int64_t a = a_first + place % width;
                const int64_t c_2 = c_first + (place - place % width) / (a_end - a_first) % (c_end - c_first);
                const int64_t d = d_first + (place - place % width) / (a_end - a_first) / (c_end - c_first);
                pack_columns_1(f, own, d, c_2, a, depth, place, from_point, to_point, count);
            }
        }
        *panels_of_1 = is_new ? -1 : columns_at;
    }
    const int64_t tiles = places / COLUMNS_1;
    const int64_t block = depth * places > (f->past_1 ? CLOSE_1 : NEAR_1) ? BLOCK_1 : 1;
    for (int64_t b_block = b_first, b_stop; b_block < b_end; b_block = b_stop) {
        int height = (int)size_next(b_end - b_block, block * ROWS_1, ROWS_1);
        int64_t b = b_block, done = 0, points;
        b_stop = b_block + height;
        const f32u *rows = A + b * A_0;
        int64_t row_step = A_0, k_step = A_1;
        if (tiles > 4 && (row_step * 4 % 2048 == 0 || k_step * 4 >= 64)) {
            pack_rows_1(f, own, b, depth, height);
            rows = packed_1;
            row_step = depth + 16;
            k_step = 1;
        }
        Asked next_lines = ask_nothing();    /* of columns that come next, as they lie in memory */
        /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. Of few points what is written takes longest. */
        const char *ahead = (const char *)(rows + (tiles < 4 ? 2 : 1) * height * row_step);
        const int writes = depth < size_min(places, ROWS_1 * BLOCK_1);
        const int passes = writes && is_past && ((uintptr_t)(out + d_first * out_0 + c_first * out_1 + b * out_2
                + a_first * out_3) | (uint64_t)out_2 * 4) % 64 == 0;
        const int nears = writes && !passes && (out_2 < COLUMNS_1 || depth <= 2 * ROWS_1);
        const int64_t ahead_step =
            passes && extent_b * extent_e <= 1048576 ? 0 :
            nears ? (out_2 < COLUMNS_1 ? 64 : out_2 * 4) :
            depth * places > NEAR_1 ? COLUMNS_1 * 4 / (2 * (b_stop - b_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                    : (BLOCK_1 + 1) / 2) :
            k_step == 1 ? size_ceil_div(size_min(height, ROWS_1) * 4, tiles) : 0;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : tile;
            const int is_last = done + points >= depth;
            if (is_new && done == 0 && further) {
                const int64_t levels[][2] = { { depth, apart * 4 }, { (c_end - c_first), B_1 * 4 },
                        { (d_end - d_first), B_0 * 4 } };    /* points, and how far apart */
                next_lines = ask_for(B + (d_first + (0 - 0 % width) / (a_end - a_first) / (c_end - c_first)) * B_0
                        + (c_first + (0 - 0 % width) / (a_end - a_first) % (c_end - c_first)) * B_1
                        + (a_first + 0 % width) * B_3 + further, (a_end - a_first) * 4, levels, 3);
            }
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                if (depth * places > NEAR_1 && !passes)
                    ahead = (const char *)(panels_1 + (tile_place + COLUMNS_1) * depth + done * COLUMNS_1);
                const int is_met = are_met && tile_place + COLUMNS_1 <= columns;
                const f32u *there = B + (d_first + (tile_place - tile_place % width) / (a_end - a_first) / (c_end
                        - c_first)) * B_0 + (c_first + (tile_place - tile_place % width) / (a_end - a_first) % (c_end
                        - c_first)) * B_1 + (a_first + tile_place % width) * B_3;    /* the tile's columns in memory */
                const int64_t there_apart = B + (d_first + ((tile_place + LANES)
                        - (tile_place + LANES) % width) / (a_end - a_first) / (c_end - c_first)) * B_0
                        + (c_first + ((tile_place + LANES) - (tile_place + LANES) % width) / (a_end
                        - a_first) % (c_end - c_first)) * B_1 + (a_first + (tile_place + LANES) % width) * B_3
                        - there;
                for (b = b_block; b < b_stop; b += height) {
                    height = (int)size_next(b_stop - b, ROWS_1, ROWS_1);
                    const f32u *here = rows + (b - b_block) * row_step + done * k_step;
                    const int64_t result_step = out_2;
                    const Piece *placed = is_placed && is_last ? &pieces[tile_place / LANES] : NULL;
                    f32u *result = out + d_first * out_0 + c_first * out_1 + b * out_2 + a_first * out_3;
                    const int past = placed && is_past && ((uintptr_t)result | (uint64_t)result_step * 4) % 64 == 0;
                    if (nears && is_placed && !past)
                        ahead = (const char *)(result + pieces[tile_place / LANES + VECTORS_1].first);
                    const int copies = is_met && is_new && b == b_block;
                    const f32u *panel = copies ? there + done * apart : (const f32u *)panels_1 + tile_place * depth
                            + done * COLUMNS_1;
                    const int64_t panel_step = copies ? apart : (int64_t)COLUMNS_1;
                    const int64_t panel_apart = copies ? there_apart : LANES;
                    float *copy = copies ? panels_1 + tile_place * depth + done * COLUMNS_1 : NULL;
                    const Asked *asked = &next_lines;
                    const int asks = asked->turns > 0;
                    const char *coming = asks ? asked->at : ahead;
                    tile_1(height, here, row_step, k_step, panel, panel_step, panel_apart, copy, asked, points,
                            coming, asks ? asked->apart : ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept,
                            COLUMNS_1, placed, result, result_step, past);
                    if (is_last && !placed) {
                        const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                        for (int64_t place = tile_place; place < tile_end;) {
                            const int count = (int)size_min(width - place % width, tile_end - place);
                            const int64_t a = a_first + place % width;
                            const int64_t c_2 = c_first + (place - place % width) / (a_end - a_first) % (c_end
                                    - c_first);
                            const int64_t d = d_first + (place - place % width) / (a_end - a_first) / (c_end
                                    - c_first);
                            after_1(f, b, d, c_2, a, tile_place, place, count, height, kept);
                            place += count;
                        }
                    }
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    if (asks)
                        go_on_asked(&next_lines, points);
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
        is_new = 0;
        *panels_of_1 = columns_at;
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_b = f->extent_b, extent_c = f->extent_c;
    const int64_t extent_a = f->extent_a, tile_1_3 = f->tile_1_3;
    const int64_t tile_1_4 = f->tile_1_4;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t b_tiles = size_max(size_ceil_div(extent_b, tile_1_4), 1);
        const int64_t b_first = rest % b_tiles * tile_1_4, b_end = size_min(b_first + tile_1_4, extent_b);
        rest /= b_tiles;
        const int64_t a_tiles = size_max(size_ceil_div(extent_a, tile_1_3), 1);
        const int64_t a_first = rest % a_tiles * tile_1_3, a_end = size_min(a_first + tile_1_3, extent_a);
        rest /= a_tiles;
        const int64_t c_first = rest % extent_c, c_end = c_first + 1;
        rest /= size_max(extent_c, 1);
        const int64_t d_first = rest, d_end = d_first + 1;
        step_1(f, own, d_first, d_end, c_first, c_end, b_first, b_end, a_first, a_end);
    }
    if (f->past_1)
        STREAM_END();
}


/* Runs tasks on the host's threads, or here. */
static int run(Frame *f, void (*task)(void *argument, int64_t index, int worker), int64_t tasks)
{
    if (tasks > 1 && f->host && f->host->parallel_for) {
        int status = f->host->parallel_for(f->host->user, tasks, task, f);
        if (status && STATUS(f) == 0)
            FAIL(f, status);
    } else {
        for (int64_t index = 0; index < tasks; index++)
            task(f, index, 0);
    }
    return STATUS(f);
}

/* Fills in the frame: extents from the shapes, which must agree; then tiles and workspace, which follow from them. */
static int prepare(Frame *f, const matrix_times_tensor_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 4))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 4))
        return BAD_SHAPES;
    const int64_t extent_b = f->extent_b = f->in.A.shape[0];
    const int64_t extent_e = f->extent_e = meet(f->in.A.shape[1], f->in.B.shape[2]);
    if (extent_e < 0)
        return BAD_SHAPES;
    const int64_t extent_d = f->extent_d = f->in.B.shape[0];
    const int64_t extent_c = f->extent_c = f->in.B.shape[1];
    const int64_t extent_a = f->extent_a = f->in.B.shape[3];
    if (f->in.out.shape[0] != extent_d || f->in.out.shape[1] != extent_c || f->in.out.shape[2] != extent_b
            || f->in.out.shape[3] != extent_a)
        return BAD_SHAPES;
    const int64_t tile_1_3 = f->tile_1_3 = size_min(96, extent_a);
    const int64_t tile_1_4 = f->tile_1_4 = size_min(84, extent_b);
    f->units_1 = size_mul(size_mul(size_mul(extent_d, extent_c), size_ceil_div(extent_a, tile_1_3)),
            size_ceil_div(extent_b, tile_1_4));
    const int64_t at_packed_1 = f->at_packed_1 = size_align(size_mul(size_mul(size_align(tile_1_3, 32), extent_e), 4),
            64);
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(tile_1_3, 32), extent_e), 4097)), 7)), size_add(extent_e, 16)), 56), 64));
    const int64_t at_pieces_1 = f->at_pieces_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_e, 1025)), size_align(tile_1_3, 32)), 448), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_pieces_1,
            size_align(size_mul(size_add(size_ceil_div(size_align(tile_1_3, 32), 16), 2), 24), 64));
    f->per_worker = size_add(at_panels_of_1, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(extent_b, extent_e),
            extent_d), extent_c), extent_a), 262144), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->past_1 = size_mul(size_mul(size_mul(size_mul(extent_d, extent_c), extent_b), extent_a), 4) > 33554432;
    return 0;
}

int matrix_times_tensor_workspace(const matrix_times_tensor_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int matrix_times_tensor(const matrix_times_tensor_args *args, void *workspace, size_t bytes, const einc_host *host)
{
    Frame frame, *f = &frame;
    int workers = host && host->workers > 1 ? host->workers : 1, failure = 0;
    int status = args ? prepare(f, args, workers) : BAD_ARGUMENT;
    if (status)
        return status;
    int64_t all = size_add(f->shared, size_mul(workers, f->per_worker));
    if (all > 0 && (all == SIZE_TOO_LARGE || (uint64_t)all > bytes || !workspace || (uintptr_t)workspace % 64))
        return BAD_WORKSPACE;
    f->workspace = (char *)workspace;
    f->host = host;
    f->status = &failure;
    const int64_t at_panels_of_1 = f->at_panels_of_1;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_1) = -1;
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
