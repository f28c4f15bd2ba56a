/* einc compile 'adb,cd->cba' -o columns_in_place.c -d a=384,b=384,c=24,d=384 --target amx
 *
 *     adb, cd -> cba
 *
 * target amx, 16 lanes
 * launch 1: block of a: tile_1_1 = min(16, a), block of b: tile_1_2 = min(384, b), block of c: tile_1_3 = min(24, c)
 *   step 1: store tmp1[c,a,b] = sum[d](A[a,d,b] * B[c,d])
 *     tiles of 14 x 32: rows c, columns b, contracted d, rows in place, whole runs of columns in place,
 *             the next ones asked for in memory's order
 *     loops c a b, 16 lanes along b
 *   step 2: store out[c,b,a] = tmp1[c,a,b]
 *     loops c a b, 16 lanes along b, squares with a turned
 * tmp1: a block, row_tmp1 * tile_1_1 * tile_1_3 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_1 * tile_1_3 * 4, 64) + align(align(tile_1_2, 32) * d * 4, 64)
 *         + align(align(tile_1_2, 32) * d * 4, 64) + align((1 + min(1, align(tile_1_2, 32) * d) * 7) * (d + 16) * 56,
 *         64) + align(min(1, d / 97) * align(tile_1_2, 32) * 448, 64) + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef COLUMNS_IN_PLACE_H
#define COLUMNS_IN_PLACE_H
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
typedef struct columns_in_place_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* output, f32[c,b,a] */
        float *data;
        int64_t shape[3], stride[3];
    } out;
} columns_in_place_args;

/* The bytes of workspace that columns_in_place() wants for these shapes and so many workers. 0, or why not. */
int columns_in_place_workspace(const columns_in_place_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int columns_in_place(const columns_in_place_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
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
#define INLINE static inline __attribute__((always_inline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#else
#define INLINE static inline
#endif

/* Of what is long and seldom in a hurry one copy keeps the compile short. */
#if defined(__GNUC__) && !defined(__clang__)
#define APART static __attribute__((noinline, noclone, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, unused, target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512vnni,avx512bf16")))
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

/* A truth per lane: 0 or -1 in a vector, 0 or 1 in a scalar. */
typedef i32v boolv;

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

/* 0, 1, 2, ... */
INLINE i32v lanes_i32v(void)
{
    static const int32_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i32v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}

INLINE f32v select_f32v(boolv m, f32v a, f32v b)
{
#if EINC_VECTORS
    return (f32v)((m & (i32v)a) ^ (~m & (i32v)b));
#else
    return m ? a : b;
#endif
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

/* Runs of whole vectors that are to lie side by side, in bytes. */
typedef struct Coming {
    const char *from;             /* where those are that come next, and where they go */
    char *to;
    int64_t run, apart;           /* a run, and from one's beginning to the next one's */
    int64_t left, rest;           /* of the run at hand, and of all */
    int64_t soon;                 /* what is so far behind is asked for */
} Coming;

/* `soon`: bytes that are packed before those that are asked for. */
INLINE Coming begin_coming(const void *from, void *to, int64_t run, int64_t apart, int64_t runs, int64_t soon)
{
    const int64_t further = run > 0 && soon > run ? soon / run : 1;
    const Coming coming = { (const char *)from, (char *)to, run, apart, run, run * runs, further * apart };
    return coming;
}

/* So many bytes have been packed, if there were as many. */
INLINE void go_on_coming(Coming *coming, int64_t bytes)
{
    if (bytes > coming->rest)
        bytes = coming->rest;
    if (bytes == 0)
        return;
    const int64_t before = coming->run - coming->left, place = before + bytes;
    coming->from += place / coming->run * coming->apart + place % coming->run - before;
    coming->to += bytes;
    coming->left = coming->run - place % coming->run;
    coming->rest -= bytes;
}

/* Packs all others. */
INLINE void end_coming(Coming *coming)
{
    while (coming->rest > 0) {
        memcpy(coming->to, coming->from, (size_t)coming->left);
        go_on_coming(coming, coming->left);
    }
}

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

/* Lane l of the result is lane l ^ n, for n less than LANES: the partner in a fold. */
INLINE f32v flip_f32v(f32v x, int n)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, lanes_i32v() ^ n);
#else
    float lanes[LANES], others[LANES];
    memcpy(lanes, &x, sizeof x);
    for (int l = 0; l < LANES; l++)
        others[l] = lanes[l ^ n];
    memcpy(&x, others, sizeof x);
    return x;
#endif
}

/* In each square of 2n by 2n the two n by n corners off the diagonal change places. */
INLINE void exchange_f32v(f32v *x, int n)
{
#if EINC_SHUFFLES
    const i32v lane = lanes_i32v(), from = lane + (((lane & n) != 0) & (LANES - n));    /* lanes of two vectors */
#else
    const boolv upper = (lanes_i32v() & n) != 0;
#endif
    UNROLL
    for (int pair = 0; pair < LANES / 2; pair++) {
        const int i = pair / n * 2 * n + pair % n;
        const f32v a = x[i], b = x[i + n];
#if EINC_SHUFFLES
        x[i] = __builtin_shuffle(a, b, from);
        x[i + n] = __builtin_shuffle(a, b, from + n);
#else
        x[i] = select_f32v(upper, flip_f32v(b, n), a);
        x[i + n] = select_f32v(upper, b, flip_f32v(a, n));
#endif
    }
}

/* Lane j of x[i] becomes lane i of x[j]. */
APART void transpose_f32v(f32v *x)
{
    if (LANES > 1)
        exchange_f32v(x, 1);
    if (LANES > 2)
        exchange_f32v(x, 2);
    if (LANES > 4)
        exchange_f32v(x, 4);
    if (LANES > 8)
        exchange_f32v(x, 8);
}

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

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    columns_in_place_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_a;
    int64_t extent_d;
    int64_t extent_b;
    int64_t extent_c;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t tile_1_3;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t at_panels_1;
    int64_t at_coming_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_panels_of_1;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
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

/* tmp1[c,a,b] = sum[d](A[a,d,b] * B[c,d]) */
enum { ROWS_1 = 14, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 0, BLOCK_1 = 8,
        ASKED_1 = 96 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t a, int64_t b, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    float *panels_1 = (float *)(own + at_panels_1);
    const int64_t soon = 1 + 1024 / size_max(count, 1);    /* points */
    for (int64_t d = from_point; d < to_point; d++) {
        int c = 0;
        for (; place % LANES == 0 && c + LANES <= count; c += LANES) {
            const int64_t b_lanes = b + c, column = (place + c) % COLUMNS_1;
            PREFETCH_FAR(A + a * A_0 + (d + soon) * A_1 + b_lanes * A_2);
            store_f32v(panels_1 + (place + c - column) * depth + d * COLUMNS_1 + column, 1,
                    load_f32v(A + a * A_0 + d * A_1 + b_lanes * A_2, A_2, LANES), LANES);
        }
        for (int lanes; c < count; c += lanes) {
            const int64_t b_lanes_2 = b + c, column = (place + c) % COLUMNS_1;
            lanes = (int)size_min(LANES, size_min(count - c, COLUMNS_1 - column));
            PREFETCH_FAR(A + a * A_0 + (d + soon) * A_1 + b_lanes_2 * A_2);
            store_f32v(panels_1 + (place + c - column) * depth + d * COLUMNS_1 + column, 1,
                    load_f32v(A + a * A_0 + d * A_1 + b_lanes_2 * A_2, A_2, lanes), lanes);
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t c_2, int64_t depth, int height)
{
    const int64_t extent_d = f->extent_d, at_packed_1 = f->at_packed_1;
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int r = 0; r < height; r++) {
        const int64_t c_2_at = c_2 + r;
        float *to = packed_1 + r * (depth + 16);
        for (int64_t d = 0; d < extent_d; d += LANES) {
            const int lanes = (int)size_min(LANES, extent_d - d);
            store_f32v(to, 1, load_f32v(B + c_2_at * B_0 + d * B_1, B_1, lanes), lanes);
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
/* A panel's points are panel_step apart. What is `beside` is packed, a vector at each point. */
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const f32u *panel,
                       int64_t panel_step, const Coming *beside, const Asked *asked, int64_t depth, const char *ahead,
                               int64_t ahead_step, f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    const char *from = beside->from;
    char *to = beside->to;
    const int64_t vectors = beside->rest / (LANES * 4), run = beside->run, gap = beside->apart - run;
    int64_t left = beside->left;
    int64_t runs_left = asked->runs_left, lines_left = asked->lines_left;
    UNROLL_TWICE
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
        HOLD_STEPS(one, three, five);
        if (k < vectors) {
            PREFETCH(from + beside->soon);
            store_f32v((f32u *)to, 1, load_f32v((const f32u *)from, 1, LANES), LANES);
            to += LANES * 4;
            from += LANES * 4;
            left -= LANES * 4;
            if (left == 0) {
                left = run;
                from += gap;
            }
        } else {
            PREFETCH(ahead);
        }
        ahead += ahead_step;
        turn_asked(asked, &ahead, &runs_left, &lines_left);
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            right[v] = load_f32v(panel + v * LANES, 1, LANES);
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = splat_f32v(*at);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                sums[r][v] = fma_f32v(right[v], left, sums[r][v]);
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
        int64_t panel_step, const Coming *beside, const Asked *asked, int64_t depth, const char *ahead,
        int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept, int64_t kept_step, f32u *result,
        int64_t result_step)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    const Coming nothing = begin_coming(NULL, NULL, 1, 0, 0, 0);
    if (beside->rest) {
        if (height == ROWS_1)
            multiply_1(ROWS_1, rows, row_step, k_step, panel, panel_step, beside, asked, depth, ahead, ahead_step,
                    sums);
        else if (height == 10)
            multiply_1(10, rows, row_step, k_step, panel, panel_step, beside, asked, depth, ahead, ahead_step, sums);
        else
            multiply_1(height, rows, row_step, k_step, panel, panel_step, beside, asked, depth, ahead, ahead_step,
                    sums);
    } else {
        if (height == ROWS_1)
            multiply_1(ROWS_1, rows, row_step, k_step, panel, panel_step, &nothing, asked, depth, ahead, ahead_step,
                    sums);
        else if (height == 10)
            multiply_1(10, rows, row_step, k_step, panel, panel_step, &nothing, asked, depth, ahead, ahead_step,
                    sums);
        else
            multiply_1(height, rows, row_step, k_step, panel, panel_step, &nothing, asked, depth, ahead, ahead_step,
                    sums);
    }
    if (result) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            UNROLL
            for (int r = 0; r < ROWS_1; r++) {
                if (r >= height)
                    break;
                store_f32v(result + r * result_step + v * LANES, 1, sums[r][v], LANES);
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
KERNEL static void after_1(const Frame *f, char *own, int64_t c_first, int64_t a_first, int64_t b_first, int64_t a,
        int64_t c_2, int64_t b, int count, int height, const float *kept)
{
    const int64_t tile_1_1 = f->tile_1_1, row_tmp1 = f->row_tmp1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1 * tile_1_1, tmp1_1 = row_tmp1;
    for (int r = 0; r < height; r++) {
        const int64_t c_2_at = c_2 + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t b_lanes = b + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + v * LANES, 1, lanes);
            store_f32v(tmp1 + (c_2_at - c_first) * tmp1_0 + (a - a_first) * tmp1_1 + (b_lanes - b_first), 1, sum,
                    lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t c_first, int64_t c_end, int64_t a_first, int64_t a_end,
        int64_t b_first, int64_t b_end)
{
    const int64_t extent_a = f->extent_a, extent_d = f->extent_d;
    const int64_t extent_b = f->extent_b, tile_1_1 = f->tile_1_1;
    const int64_t row_tmp1 = f->row_tmp1, at_panels_1 = f->at_panels_1;
    const int64_t at_coming_1 = f->at_coming_1, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_panels_of_1 = f->at_panels_of_1;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1 * tile_1_1, tmp1_1 = row_tmp1;
    float *panels_1 = (float *)(own + at_panels_1);
    float *coming_1 = (float *)(own + at_coming_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    const int64_t depth = extent_d;
    const int64_t columns = b_end - b_first, places = size_align(columns, COLUMNS_1);
    float tile[ROWS_1 * COLUMNS_1];
    int64_t packed_first = -1;    /* of the rows that are packed, for all points of the batch */
    /* Columns of the batch's next point are packed beside this one's products, each of their points in one run. */
    Coming next_columns = begin_coming(NULL, NULL, 1, 0, 0, 0);
    float *columns_here = panels_1, *columns_next = coming_1;
    for (int64_t a = a_first; a < a_end; a++) {
        /* Whole vectors of a run are met where they are, unless their points, `apart`, fall into few sets of the cache. */
        const int64_t apart = A_1;
        const int64_t next_unit = f->host && f->host->workers > 1 ? 0 : b_end < extent_b ? (b_end - b_first) * A_2
                : a_end < extent_a ? (a_end - a_first) * A_0 - b_first * A_2 : 0;
        const int64_t further =    /* are the columns that come next */
            a + 1 < a_end ? A_0 : next_unit ? next_unit - (a - a_first) * A_0 : 0;
        const int are_met = LANES == 16 && A_2 == 1 && (apart & -apart) * depth <= 131072;
        const int64_t columns_at = a * extent_b + b_first;
        const int comes = LANES == 16 && !are_met && A_2 == 1 && columns % COLUMNS_1 == 0;
        if (comes) {
            const f32u *first = A + a * A_0 + (b_first + 0) * A_2;
            const int64_t run = columns * 4, soon = depth * LANES * 4;
            if (!next_columns.to)
                next_columns = begin_coming(first, columns_next, run, apart * 4, depth, soon);
            end_coming(&next_columns);
            float *const packed = columns_next;
            columns_next = columns_here;
            columns_here = packed;
            const int goes_on = a + 1 < a_end;
            next_columns = begin_coming(first + (goes_on ? A_0 : 0), goes_on ? columns_next : NULL, run, apart * 4,
                    goes_on ? depth : 0, soon);
            *panels_of_1 = -1;
        }
        if (!comes && *panels_of_1 != columns_at) {
            if (places > columns)    /* so that what is there is numbers */
                memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
            const int64_t from_point = 0, to_point = extent_d;
            if (are_met) {
                for (int64_t place = 0; place < places; place += COLUMNS_1) {
                    const int64_t b = b_first + place;
                    const int count = (int)size_min(COLUMNS_1, columns - place);
                    if (are_met && place + COLUMNS_1 <= columns)
                        continue;
                    pack_columns_1(f, own, a, b, depth, place, from_point, to_point, count);
                }
            } else {
                for (int64_t place = 0; place < columns; place += columns) {
                    const int count = (int)columns;
                    const int64_t b = b_first + place;
                    pack_columns_1(f, own, a, b, depth, place, from_point, to_point, count);
                }
            }
            *panels_of_1 = columns_at;
        }
        const int64_t tiles = places / COLUMNS_1;
        const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
        for (int64_t c_2_block = c_first, c_2_stop; c_2_block < c_end; c_2_block = c_2_stop) {
            int height = (int)size_next(c_end - c_2_block, block * ROWS_1, ROWS_1);
            int64_t c_2 = c_2_block, done = 0, points;
            c_2_stop = c_2_block + height;
            const f32u *rows = B + c_2 * B_0;
            int64_t row_step = B_0, k_step = B_1;
            if (tiles > 4 && k_step * 4 >= 64) {
                if (packed_first != c_2_block)
                    pack_rows_1(f, own, c_2, depth, height);
                packed_first = c_2_block;
                rows = packed_1;
                row_step = depth + 16;
                k_step = 1;
            }
            Asked next_lines = ask_nothing();    /* of columns that come next, as they lie in memory */
            /* What comes nearer: the next panel where not all of them are near, else the next rows; a share for each tile. */
            const char *ahead = (const char *)(rows + (tiles < 4 ? 2 : 1) * height * row_step);
            const int64_t ahead_step =
                block > 1 ? COLUMNS_1 * 4 / (2 * (c_2_stop - c_2_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                        : (BLOCK_1 + 1) / 2) :
                k_step == 1 ? size_ceil_div(height * 4, tiles) : 0;
            do {
                points = size_even(depth - done, are_met ? ASKED_1 : DEPTH_1);
                float *kept = points < depth ? kept_1 : tile;
                const int is_last = done + points >= depth;
                if (are_met && (!is_last || further)) {
                    const int64_t levels[][2] = { { points, apart * 4 } };    /* points, and how far apart */
                    next_lines = ask_for(A + a * A_0 + (b_first + 0) * A_2
                            + (is_last ? further : (done + points) * apart), (b_end - b_first) * 4, levels, 1);
                }
                for (int64_t place = 0; place < places; place += COLUMNS_1) {
                    const int64_t b = b_first + place;
                    const int count = (int)size_min(COLUMNS_1, columns - place);
                    if (block > 1)
                        ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                    const int is_met = are_met && place + COLUMNS_1 <= columns;
                    const f32u *there = A + a * A_0 + (b_first + place) * A_2;    /* the tile's columns in memory */
                    for (c_2 = c_2_block; c_2 < c_2_stop; c_2 += height) {
                        height = (int)size_next(c_2_stop - c_2, ROWS_1, ROWS_1);
                        const f32u *here = rows + (c_2 - c_2_block) * row_step + done * k_step;
                        const int64_t result_step = tmp1_0;
                        f32u *result = NULL;
                        if (is_last && 1 == 1 && columns - place >= COLUMNS_1)
                            result = tmp1 + (c_2 - c_first) * tmp1_0 + (a - a_first) * tmp1_1
                                    + ((b_first + place) - b_first);
                        const Coming *beside = &next_columns;
                        const f32u *panel = is_met ? there + done * apart : comes ? (const f32u *)columns_here
                                + done * columns + place
                                : (const f32u *)panels_1 + place * depth + done * COLUMNS_1;
                        const int64_t panel_step = is_met ? apart : comes ? columns : (int64_t)COLUMNS_1;
                        const Asked *asked = &next_lines;
                        const int asks = asked->turns > 0;
                        const char *coming = asks ? asked->at : ahead;
                        tile_1(height, here, row_step, k_step, panel, panel_step, beside, asked, points, coming, asks
                                ? asked->apart : ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept,
                                COLUMNS_1, result, result_step);
                        if (is_last && !result)
                            after_1(f, own, c_first, a_first, b_first, a, c_2, b, count, height, kept);
                        kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                        go_on_coming(&next_columns, points * LANES * 4);
                        if (asks)
                            go_on_asked(&next_lines, points);
                        ahead += points * ahead_step;
                    }
                }
                done += points;
            } while (done < depth);
        }
    }
}

/* out[c,b,a] = tmp1[c,a,b], in squares whose rows become columns */
KERNEL static void step_2(const Frame *f, char *own, int64_t c_first, int64_t c_end, int64_t b_first, int64_t b_end,
        int64_t a_first, int64_t a_end)
{
    const int64_t tile_1_1 = f->tile_1_1, row_tmp1 = f->row_tmp1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1 * tile_1_1, tmp1_1 = row_tmp1;
    for (int64_t c = c_first; c < c_end; c++)
        for (int64_t b = b_first; b < b_end; b += LANES)
            for (int64_t a = a_first; a < a_end; a += LANES)
                turn_f32(out + c * out_0 + b * out_1 + a * out_2, out_1, out_2, tmp1 + (c - c_first) * tmp1_0
                        + (a - a_first) * tmp1_1 + (b - b_first), tmp1_1, 1, (int)size_min(LANES, a_end - a),
                        (int)size_min(LANES, b_end - b), out + c * out_0 + (b + b_end - b_first) * out_1 + a * out_2,
                        out_1);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_a = f->extent_a, extent_b = f->extent_b;
    const int64_t extent_c = f->extent_c, tile_1_1 = f->tile_1_1;
    const int64_t tile_1_2 = f->tile_1_2, tile_1_3 = f->tile_1_3;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t c_tiles = size_max(size_ceil_div(extent_c, tile_1_3), 1);
        const int64_t c_first = rest % c_tiles * tile_1_3, c_end = size_min(c_first + tile_1_3, extent_c);
        rest /= c_tiles;
        const int64_t b_tiles = size_max(size_ceil_div(extent_b, tile_1_2), 1);
        const int64_t b_first = rest % b_tiles * tile_1_2, b_end = size_min(b_first + tile_1_2, extent_b);
        rest /= b_tiles;
        const int64_t a_first = rest * tile_1_1, a_end = size_min(a_first + tile_1_1, extent_a);
        step_1(f, own, c_first, c_end, a_first, a_end, b_first, b_end);
        step_2(f, own, c_first, c_end, b_first, b_end, a_first, a_end);
    }
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
static int prepare(Frame *f, const columns_in_place_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 3))
        return BAD_SHAPES;
    const int64_t extent_a = f->extent_a = f->in.A.shape[0];
    const int64_t extent_d = f->extent_d = meet(f->in.A.shape[1], f->in.B.shape[1]);
    if (extent_d < 0)
        return BAD_SHAPES;
    const int64_t extent_b = f->extent_b = f->in.A.shape[2];
    const int64_t extent_c = f->extent_c = f->in.B.shape[0];
    if (f->in.out.shape[0] != extent_c || f->in.out.shape[1] != extent_b || f->in.out.shape[2] != extent_a)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(16, extent_a);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(384, extent_b);
    const int64_t tile_1_3 = f->tile_1_3 = size_min(24, extent_c);
    f->units_1 = size_mul(size_mul(size_ceil_div(extent_a, tile_1_1), size_ceil_div(extent_b, tile_1_2)),
            size_ceil_div(extent_c, tile_1_3));
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(tile_1_2, 15), 32), 32), 16);
    const int64_t at_panels_1 = f->at_panels_1 = size_align(size_mul(size_mul(size_mul(row_tmp1, tile_1_1), tile_1_3),
            4), 64);
    const int64_t at_coming_1 = f->at_coming_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(tile_1_2, 32), extent_d), 4), 64));
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_coming_1,
            size_align(size_mul(size_mul(size_align(tile_1_2, 32), extent_d), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_mul(size_align(tile_1_2, 32), extent_d)), 7)), size_add(extent_d, 16)), 56), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_d, 97)), size_align(tile_1_2, 32)), 448), 64));
    f->per_worker = size_add(at_panels_of_1, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(extent_a, extent_d), extent_b),
            extent_c), 262144), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int columns_in_place_workspace(const columns_in_place_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int columns_in_place(const columns_in_place_args *args, void *workspace, size_t bytes, const einc_host *host)
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
