/* einc compile 'where(@h+@r >= 1 && @h+@r <= 56, x[n,c,h+r-1], 0) * k[o,c,r] -> [n,o,h]' -o convolution.c -d h=56
 *
 *     where(@h + @r >= 1 && @h + @r <= 56, x[n,c,h+r-1], 0) * k[o,c,r] -> noh
 *
 * target portable, 4 lanes
 * launch 1: block of n: tile_1_1 = min(9, n), block of h: tile_1_2 = min(56, h), block of o: tile_1_3 = min(64, o)
 *   step 1: store out[n,o,h] = sum[r,c](where(((@h + @r) >= 1) && ((@h + @r) <= 56), x[n,c,h+r-1], 0) * k[o,c,r])
 *     tiles of 6 x 8: rows o, columns n h, contracted c r, rows packed as vectors
 *     loops n o h, 4 lanes along h, past the caches from 32 MB
 * workspace workers * (align(align(tile_1_1 * tile_1_2, 8) * c * r * 4, 64)
 *         + align((1 + min(1, align(tile_1_1 * tile_1_2, 8) * c * r / 4097)) * c * r * 96, 64)
 *         + align(min(1, c * r / 1025) * align(tile_1_1 * tile_1_2, 8) * 48, 64)
 *         + align((ceil(align(tile_1_1 * tile_1_2, 8) / 4) + 2) * 24, 64)
 *         + align((ceil(align(tile_1_1 * tile_1_2, 8) / 4) + 2) * 8, 64) + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef CONVOLUTION_H
#define CONVOLUTION_H
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
typedef struct convolution_args {
    struct {    /* input x, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } x;
    struct {    /* input k, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } k;
    struct {    /* output, f32[n,o,h] */
        float *data;
        int64_t shape[3], stride[3];
    } out;
    int64_t given_h;    /* the extent of index h, which no operand fixes */
} convolution_args;

/* The bytes of workspace that convolution() wants for these shapes and so many workers. 0, or why not. */
int convolution_workspace(const convolution_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int convolution(const convolution_args *args, void *workspace, size_t bytes, const einc_host *host);

#ifdef __cplusplus
}
#endif
#endif

/* What a kernel returns when it is not 0; a read out of range is OUT_OF_RANGE - the number of the operand. */
enum { BAD_ARGUMENT = -2, BAD_SHAPES = -3, BAD_WORKSPACE = -4, BAD_MACHINE = -6, CANCELLED = -7, OUT_OF_RANGE = -16 };

#if defined(__clang__)
#define KERNEL __attribute__(())
#elif defined(__GNUC__)
#define KERNEL __attribute__((noipa))
#else
#define KERNEL
#endif

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
#define INLINE static inline __attribute__((always_inline, unused))
#else
#define INLINE static inline
#endif

/* Of what is long and seldom in a hurry one copy keeps the compile short. */
#if defined(__GNUC__) && !defined(__clang__)
#define APART static __attribute__((noinline, noclone, unused))
#elif defined(__GNUC__)
#define APART static __attribute__((noinline, unused))
#else
#define APART static
#endif

#if EINC_VECTORS
#define LANES 4
#else
#define LANES 1
#endif

/* A vector of elements of 8 bytes may take several registers, and is aligned as one of them. */
#define LONG __attribute__((vector_size(8 * LANES), aligned(16), may_alias))

/* The numbers of one vector in the element type of another. */
#if EINC_VECTORS
#define CONVERT(x, type) __builtin_convertvector(x, type)
#else
#define CONVERT(x, type) ((type)(x))
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

#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_SOME _Pragma("GCC unroll 4")
#else
#define UNROLL_SOME
#endif

/* Asks for the cache line at p, which need not be one that may be read. */
#ifdef __GNUC__
#define PREFETCH(p) __builtin_prefetch((p), 0, 3)
#else
#define PREFETCH(p) ((void)(p))
#endif

/* A vector stays in its register: gcc would load it again for each use, and loads are scarcer than copies. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
#define HOLD(x) __asm__("" : "+x"(x))
#else
#define HOLD(x) ((void)0)
#endif

/* Steps from row to row are as the compiler sees them: so few rows have a register each. */
#define HOLD_STEPS(one, three, five) ((void)0)

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
typedef int64_t i64v LONG;
#else
typedef int64_t i64v;
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

typedef uint32_t u32u UNALIGNED;

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

INLINE i64v splat_i64v(int64_t x)
{
#if EINC_VECTORS
    i64v zero = {0};
    return x | zero;
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

INLINE float lane_f32v(f32v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}

INLINE int64_t lane_i64v(i64v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
#endif
}

/* 0 or 1. */
INLINE int lane_boolv(boolv m, int l)
{
#if EINC_VECTORS
    return m[l] & 1;
#else
    (void)l;
    return m;
#endif
}

/* 0, 1, 2, ... */
INLINE i32v lanes_i32v(void)
{
    static const int32_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i32v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}

/* 0, 1, 2, ... */
INLINE i64v lanes_i64v(void)
{
    static const int64_t lanes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    i64v x;
    memcpy(&x, lanes, sizeof x);
    return x;
}

/* A mask as a comparison of f64v or i64v would give it. */
INLINE i64v widen_boolv(boolv m)
{
    return CONVERT(m, i64v);
}

/* The first `count` lanes. */
INLINE boolv first_boolv(int count)
{
    return lanes_i32v() < count;
}

INLINE boolv and_boolv(boolv a, boolv b)
{
    return a & b;
}

INLINE boolv not_boolv(boolv m)
{
#if EINC_VECTORS
    return ~m;
#else
    return !m;
#endif
}

/* Whether some lane is true. */
INLINE int any_boolv(boolv m)
{
    int32_t lanes[LANES], any = 0;
    memcpy(lanes, &m, sizeof lanes);
    UNROLL
    for (int l = 0; l < LANES; l++)
        any |= lanes[l];
    return any != 0;
}

/* Whether every lane is true. */
INLINE int all_boolv(boolv m)
{
    return !any_boolv(not_boolv(m));
}

INLINE u32v select_u32v(boolv m, u32v a, u32v b)
{
#if EINC_VECTORS
    return ((u32v)m & a) ^ (~(u32v)m & b);
#else
    return m ? a : b;
#endif
}

/* select_i64v by what a comparison of f64v or i64v gives. */
INLINE i64v choose_i64v(i64v m, i64v a, i64v b)
{
#if EINC_VECTORS
    return (m & a) ^ (~m & b);
#else
    return m ? a : b;
#endif
}

INLINE i64v select_i64v(boolv m, i64v a, i64v b)
{
    return choose_i64v(widen_boolv(m), a, b);
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
    if (stride != 1 || count != LANES)
        return load_lanes_u32v(p, stride, count);
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void store_u32v(void *p, int64_t stride, u32v x, int count)
{
    if (stride == 1 && count == LANES)
        memcpy(p, &x, sizeof x);
    else
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

/* Stores x past the caches, which would read the line that it is in before; 0 where that cannot be. */
INLINE int stream_bytes(void *p, const void *x, int bytes)
{
    return stream_quarters(p, x, bytes);
}

/* The same at an address that is known to be a multiple of so many bytes. */
INLINE int pass_bytes(void *p, const void *x, int bytes)
{
    return stream_bytes(p, x, bytes);
}

/* Lines that wait to go past the caches: so many at `to`, from where they were put together. */
typedef struct Run {
    char *to;
    const char *from;
    int64_t lines;
} Run;

/* The whole lines of a run of `bytes` bytes; what is before and behind them is copied at once. */
INLINE Run begin_run(void *to, const void *from, int64_t bytes)
{
    char *p = (char *)to;
    const char *x = (const char *)from;
    const int64_t apart = (int64_t)(-(uintptr_t)p % 64), before = apart < bytes ? apart : bytes;
    const int64_t lines = (bytes - before) / 64, end = before + 64 * lines;
    if (before)
        memcpy(p, x, (size_t)before);
    if (end < bytes)
        memcpy(p + end, x + end, (size_t)(bytes - end));
    const Run run = { p + before, x + before, lines };
    return run;
}

/* Copies one line past the caches. */
INLINE void leave_line(char *to, const char *from)
{
    if (!pass_bytes(to, from, 64))
        memcpy(to, from, 64);
}

/* Behind a tile in which so many lines of the first run have left: all others of as many runs leave as there are more of them, up
 * to `end`, than tiles to come. Back comes the first that still waits. */
INLINE Run *leave_runs(Run *run, const Run *end, int64_t lines, int64_t tiles)
{
    for (; run < end; run++) {
        run->to += 64 * lines;
        run->from += 64 * lines;
        run->lines -= lines;
        lines = 0;
        if (run->lines > 0 && end - run <= tiles)
            break;
        for (int64_t l = 0; l < run->lines; l++)
            leave_line(run->to + 64 * l, run->from + 64 * l);
    }
    return run;
}

/* What was stored past the caches is there for other threads. */
#if defined(__GNUC__) && defined(__SSE2__)
#define STREAM_END() __asm__ volatile("sfence" : : : "memory")
#else
#define STREAM_END() ((void)0)
#endif

/* a * b + c, rounded once or twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
    CONTRACT
    return a * b + c;
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

/* p[offset] of each lane, as a vector is written. */
#define AT_2(p, offset, l) (p)[lane_i64v(offset, l)], (p)[lane_i64v(offset, (l) + 1)]
#define AT_4(p, offset, l) AT_2(p, offset, l), AT_2(p, offset, (l) + 2)
#define AT_8(p, offset, l) AT_4(p, offset, l), AT_4(p, offset, (l) + 4)
#if LANES == 16
#define AT_OFFSETS(p, offset) AT_8(p, offset, 0), AT_8(p, offset, 8)
#elif LANES == 8
#define AT_OFFSETS(p, offset) AT_8(p, offset, 0)
#elif LANES == 4
#define AT_OFFSETS(p, offset) AT_4(p, offset, 0)
#elif LANES == 2
#define AT_OFFSETS(p, offset) AT_2(p, offset, 0)
#else
#define AT_OFFSETS(p, offset) (p)[lane_i64v(offset, 0)]
#endif

/* Where lanes are not active, what the first one that is has: so all can be read from, and no lane waits for a branch. */
INLINE i64v fill_i64v(i64v x, boolv active)
{
    int l = 0;
    while (!lane_boolv(active, l))
        l++;
    return select_i64v(active, x, splat_i64v(lane_i64v(x, l)));
}

/* gather_u32v where some lanes are not active. */
APART u32v gather_some_u32v(const void *p, i64v offset, boolv active)
{
    const u32v none = {0};
    if (!any_boolv(active))
        return none;
    const i64v from = fill_i64v(offset, active);
    const u32v all = { AT_OFFSETS((const u32u *)p, from) };
    return select_u32v(active, all, none);
}

/* p[offset] in the active lanes. */
INLINE u32v gather_u32v(const void *p, i64v offset, boolv active)
{
    if (!all_boolv(active))
        return gather_some_u32v(p, offset, active);
    const u32v all = { AT_OFFSETS((const u32u *)p, offset) };
    return all;
}

/* p[0], p[stride], ... in the active lanes. */
INLINE u32v pick_u32v(const void *p, int64_t stride, boolv active)
{
    return all_boolv(active) ? load_u32v(p, stride, LANES) : gather_u32v(p, lanes_i64v() * stride, active);
}

INLINE f32v pick_f32v(const f32u *p, int64_t stride, boolv active)
{
    return from_bits_f32v(pick_u32v(p, stride, active));
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

/* How many of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
static inline int lanes_before(int64_t first, int64_t bound)
{
    return first >= bound ? 0 : (uint64_t)bound - (uint64_t)first < LANES ? (int)(bound - first) : LANES;
}

/* Which of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
INLINE boolv are_before(int64_t first, int64_t bound)
{
    return first_boolv(lanes_before(first, bound));
}

/* Which of them are not more. */
INLINE boolv are_up_to(int64_t first, int64_t bound)
{
    return first_boolv(first > bound ? 0 : lanes_before(first, bound) + 1);
}

/* Which of them are in range. */
INLINE boolv are_inside(int64_t first, int64_t extent)
{
    return and_boolv(not_boolv(are_before(first, 0)), are_before(first, extent));
}

/* Where the lanes of a vector lie: those before `here` side by side at `first`, others before `end` at `rest`. */
typedef struct Piece {
    int64_t first, rest;
    int here, end;
} Piece;

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
    store_rest_lanes_u32v(p, x, first, end);
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
    convolution_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_h;
    int64_t extent_r;
    int64_t extent_n;
    int64_t extent_c;
    int64_t extent_o;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t tile_1_3;
    int64_t units_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_pieces_1;
    int64_t at_runs_1;
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

/* out[n,o,h] = sum[r,c](where(((@h + @r) >= 1) && ((@h + @r) <= 56), x[n,c,h+r-1], 0) * k[o,c,r]) */
enum { ROWS_1 = 6, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 40960, BLOCK_1 = 2,
        CLOSE_1 = 4096, STAGE_1 = 2048 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t n, int64_t h, int64_t depth, int64_t tile_place,
        int64_t place, int64_t from_point, int64_t to_point, int count)
{
    const int64_t extent_r = f->extent_r;
    const f32u *x = (const f32u *)f->in.x.data;
    const int64_t x_0 = f->in.x.stride[0], x_1 = f->in.x.stride[1];
    const int64_t x_2 = f->in.x.stride[2];
    float *panels_1 = (float *)own;
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t h_lanes = h + v * LANES;
        float *to = panels_1 + tile_place * depth + from_point * extent_r * COLUMNS_1 + place - tile_place
                + v * LANES;
        for (int64_t r_2 = 0; r_2 < extent_r; r_2++) {
            const boolv value = and_boolv(not_boolv(are_before(h_lanes + r_2, 1)), are_up_to(h_lanes + r_2, 56));
            const boolv where = and_boolv(first_boolv(lanes), value);
            const boolv may = and_boolv(where, are_inside(h_lanes + r_2 - 1, f->in.x.shape[2]));
            if (depth > 0 && any_boolv(and_boolv(where, not_boolv(may))))
                FAIL(f, OUT_OF_RANGE - 11);
            const int some = any_boolv(may);
            if (x_2 == 1) {
                for (int64_t c_2 = from_point; c_2 < to_point; c_2++) {
                    const f32v value_2 = some ? pick_f32v(x + n * x_0 + c_2 * x_1 + (h_lanes + r_2 - 1) * x_2, 1,
                            may) : splat_f32v(0.0f);
                    store_f32v(to + ((c_2 - from_point) * extent_r + r_2) * COLUMNS_1, 1, value_2, lanes);
                }
            } else {
                for (int64_t c_2 = from_point; c_2 < to_point; c_2++) {
                    const f32v value_3 = some ? pick_f32v(x + n * x_0 + c_2 * x_1 + (h_lanes + r_2 - 1) * x_2, x_2,
                            may) : splat_f32v(0.0f);
                    store_f32v(to + ((c_2 - from_point) * extent_r + r_2) * COLUMNS_1, 1, value_3, lanes);
                }
            }
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t o, int64_t depth, int height)
{
    const int64_t extent_r = f->extent_r, extent_c = f->extent_c;
    const int64_t at_packed_1 = f->at_packed_1;
    const f32u *k = (const f32u *)f->in.k.data;
    const int64_t k_0 = f->in.k.stride[0], k_1 = f->in.k.stride[1];
    const int64_t k_2 = f->in.k.stride[2];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_1, ROWS_1);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t o_at = o + before + r;
            float *to = packed_1 + (before * depth + r) * LANES;
            if (k_1 == k_2 * extent_r) {
                for (int64_t flat = 0; flat < depth; flat += LANES) {
                    const int lanes = (int)size_min(LANES, depth - flat);
                    const f32v value = load_f32v(k + o_at * k_0 + flat * k_2, k_2, lanes);
                    for (int c = 0; c < lanes; c++)
                        store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value, c)), LANES);
                    to += lanes * rows * LANES;
                }
            } else {
                for (int64_t c_2 = 0; c_2 < extent_c; c_2++) {
                    for (int64_t r_2 = 0; r_2 < extent_r; r_2 += LANES) {
                        const int lanes = (int)size_min(LANES, extent_r - r_2);
                        PREFETCH(k + o_at * k_0 + (c_2 + 2) * k_1 + r_2 * k_2);
                        const f32v value_2 = load_f32v(k + o_at * k_0 + c_2 * k_1 + r_2 * k_2, k_2, lanes);
                        for (int c = 0; c < lanes; c++)
                            store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value_2, c)), LANES);
                        to += lanes * rows * LANES;
                    }
                }
            }
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
/* A line of the run that is `leaving` goes past the caches at each point, until there are no more. */
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, const Run *leaving,
                               f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    char *to = leaving->to;
    const int64_t lines = leaving->lines, from = leaving->from - to;
    UNROLL_SOME
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
        HOLD_STEPS(one, three, five);
        if (k < lines) {
            leave_line(to, to + from);
            to += 64;
        } else {
            PREFETCH(ahead);
        }
        ahead += ahead_step;
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            right[v] = load_f32v(panel + v * LANES, 1, LANES);
        UNROLL
        for (int r = 0; r < ROWS_1; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = load_f32v(at, 1, LANES);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_1; v++) {
                sums[r][v] = fma_f32v(right[v], left, sums[r][v]);
            }
        }
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        panel += COLUMNS_1;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_1(int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
        int64_t depth, const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step, const Piece *placed, f32u *result, int64_t result_step, int past, const Run *leaving)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, LANES, ROWS_1 * LANES, panel, depth, ahead, ahead_step, leaving, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, leaving, sums);
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
KERNEL static void after_1(const Frame *f, int64_t o, int64_t n, int64_t h, int64_t tile_place, int64_t place,
        int count, int height, const float *kept)
{
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2];
    for (int r = 0; r < height; r++) {
        const int64_t o_at = o + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t h_lanes = h + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + place - tile_place + v * LANES, 1, lanes);
            store_f32v(out + n * out_0 + o_at * out_1 + h_lanes * out_2, out_2, sum, lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t n_first, int64_t n_end, int64_t o_first, int64_t o_end,
        int64_t h_first, int64_t h_end)
{
    const int64_t extent_h = f->extent_h, extent_r = f->extent_r;
    const int64_t extent_c = f->extent_c, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_pieces_1 = f->at_pieces_1;
    const int64_t at_runs_1 = f->at_runs_1, at_panels_of_1 = f->at_panels_of_1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = f->in.out.stride[2];
    float *panels_1 = (float *)own;
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *pieces_1 = (int64_t *)(own + at_pieces_1);
    int64_t *runs_1 = (int64_t *)(own + at_runs_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    const int64_t depth = extent_c * extent_r;
    const int64_t columns = (n_end - n_first) * (h_end - h_first), places = size_align(columns, COLUMNS_1);
    const int64_t width = h_end - h_first;
    float tile[ROWS_1 * COLUMNS_1];
    Piece *const pieces = (Piece *)pieces_1;    /* where the result has each vector of columns */
    const int is_placed = LANES == 4 && width >= LANES && out_2 == 1;
    const int is_past = 0;    /* a tile's rows are less than lines */
    float stage[STAGE_1];    /* runs of columns as the result has them, until they are whole */
    int64_t group = COLUMNS_1;    /* columns of whole tiles, and of several whole runs */
    const int64_t waiting = 2 * COLUMNS_1 + width;
    while (is_placed && (group < waiting || group % width != 0) && group * ROWS_1 <= STAGE_1)
        group += COLUMNS_1;
    const int64_t pitch = size_min((o_end - o_first), ROWS_1 * BLOCK_1) * width;
    const int is_staged = f->past_1 && is_placed && width * 4 % 64 != 0 && group >= waiting && group % width == 0 &&
        out_1 == width && group / width * pitch <= STAGE_1;
    for (int64_t place = 0; is_placed && place < places + COLUMNS_1; place += LANES) {
        Piece *const piece = &pieces[place / LANES];
        const int64_t count = size_max(size_min(columns - place, LANES), 0);
        const int64_t here = size_min(count, width - place % width), behind = place + here;
        piece->first = is_staged ? place % group / width * pitch + place % group % width
                : (place - place % width) / (h_end - h_first) * out_0 + place % width * out_2;
        piece->rest = is_staged ? behind % group / width * pitch + behind % group % width
                : (behind - behind % width) / (h_end - h_first) * out_0 + behind % width * out_2;
        piece->here = (int)(piece->rest == piece->first + here ? count : here);
        piece->end = (int)count;
    }
    for (int64_t r = 0; is_staged && (r + 1) * width <= columns; r++) {
        const int64_t at = r * width;
        runs_1[r] = (at - at % width) / (h_end - h_first) * out_0 + at % width * out_2;
    }
    const int64_t columns_at = n_first * extent_h + h_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_c; from_point += 16) {
            const int64_t to_point = size_min(from_point + 16, extent_c);
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t h = h_first + place % width;
                    const int64_t n = n_first + (place - place % width) / (h_end - h_first);
                    pack_columns_1(f, own, n, h, depth, tile_place, place, from_point, to_point, count);
                    place += count;
                }
            }
        }
        *panels_of_1 = columns_at;
    }
    const int64_t block = depth * places > (f->past_1 ? CLOSE_1 : NEAR_1) ? BLOCK_1 : 1;
    for (int64_t o_block = o_first, o_stop; o_block < o_end; o_block = o_stop) {
        int height = (int)size_next(o_end - o_block, block * ROWS_1, ROWS_1);
        int64_t o = o_block, done = 0, points;
        o_stop = o_block + height;
        pack_rows_1(f, own, o, depth, height);
        const f32u *const rows = packed_1;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. Of few points what is written takes longest. */
        const char *ahead = (const char *)rows;
        const int writes = depth < size_min(places, ROWS_1 * BLOCK_1);
        const int passes = writes && (is_staged || (is_past
                && ((uintptr_t)(out + n_first * out_0 + o * out_1 + h_first * out_2)
                | (uint64_t)out_1 * 4) % 64 == 0));
        const int nears = writes && !passes && (out_1 < COLUMNS_1 || depth <= 2 * ROWS_1);
        const int64_t ahead_step =
            passes ? 0 :
            nears ? (out_1 < COLUMNS_1 ? 64 : out_1 * 4) :
            block > 1 ? COLUMNS_1 * 4 / (2 * (o_stop - o_block) > BLOCK_1 * ROWS_1 ? BLOCK_1 : (BLOCK_1 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_1) * 4;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : tile;
            const int is_last = done + points >= depth;
            int64_t next = 0;    /* of the runs on the stage, the first that is to leave */
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                if (block > 1 && !passes)
                    ahead = (const char *)(panels_1 + (tile_place + COLUMNS_1) * depth + done * COLUMNS_1);
                /* Runs that ended in the tile before leave beside the products: what was just stored is not yet to be read. */
                Run queue[VECTORS_1 + 2], *end = queue, *leaving = queue;
                for (; is_staged && is_last && (next + 1) * width <= tile_place; next++) {
                    *end = begin_run(out + n_first * out_0 + o_block * out_1 + h_first * out_2 + runs_1[next], stage
                            + next % (group / width) * pitch, (o_stop - o_block) * width * 4);
                    end += end->lines > 0;
                }
                end->lines = 0;
                for (o = o_block; o < o_stop; o += height) {
                    height = (int)size_next(o_stop - o, ROWS_1, ROWS_1);
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (o - o_block) * tile_step + done * k_step;
                    if (block == 1 && !passes)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_1
                                + (tile_place + COLUMNS_1) * depth);
                    const int64_t result_step = out_1;
                    const Piece *placed = is_placed && is_last ? &pieces[tile_place / LANES] : NULL;
                    f32u *result = is_staged ? stage + (o - o_block) * width : out + n_first * out_0 + o * out_1
                            + h_first * out_2;
                    const int past = placed && is_past && ((uintptr_t)result | (uint64_t)result_step * 4) % 64 == 0;
                    if (nears && is_placed && !past)
                        ahead = (const char *)(result + pieces[tile_place / LANES + VECTORS_1].first);
                    tile_1(height, here, row_step, k_step, panels_1 + tile_place * depth + done * COLUMNS_1, points,
                            ahead, ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept, COLUMNS_1, placed,
                            result, result_step, past, leaving);
                    if (is_last && !placed) {
                        const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                        for (int64_t place = tile_place; place < tile_end;) {
                            const int count = (int)size_min(width - place % width, tile_end - place);
                            const int64_t h = h_first + place % width;
                            const int64_t n = n_first + (place - place % width) / (h_end - h_first);
                            after_1(f, o, n, h, tile_place, place, count, height, kept);
                            place += count;
                        }
                    }
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    leaving = leave_runs(leaving, end, size_min(leaving->lines, points),
                            size_ceil_div(o_stop - o - height, ROWS_1));
                    ahead += points * ahead_step;
                }
            }
            for (; is_staged && is_last && (next + 1) * width <= columns; next++) {
                Run last = begin_run(out + n_first * out_0 + o_block * out_1 + h_first * out_2 + runs_1[next], stage
                        + next % (group / width) * pitch, (o_stop - o_block) * width * 4);
                leave_runs(&last, &last + 1, 0, 0);
            }
            done += points;
        } while (done < depth);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_h = f->extent_h, extent_n = f->extent_n;
    const int64_t extent_o = f->extent_o, tile_1_1 = f->tile_1_1;
    const int64_t tile_1_2 = f->tile_1_2, tile_1_3 = f->tile_1_3;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t o_tiles = size_max(size_ceil_div(extent_o, tile_1_3), 1);
        const int64_t o_first = rest % o_tiles * tile_1_3, o_end = size_min(o_first + tile_1_3, extent_o);
        rest /= o_tiles;
        const int64_t h_tiles = size_max(size_ceil_div(extent_h, tile_1_2), 1);
        const int64_t h_first = rest % h_tiles * tile_1_2, h_end = size_min(h_first + tile_1_2, extent_h);
        rest /= h_tiles;
        const int64_t n_first = rest * tile_1_1, n_end = size_min(n_first + tile_1_1, extent_n);
        step_1(f, own, n_first, n_end, o_first, o_end, h_first, h_end);
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
static int prepare(Frame *f, const convolution_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.x.shape, f->in.x.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.k.shape, f->in.k.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 3))
        return BAD_SHAPES;
    const int64_t extent_h = f->extent_h = args->given_h;
    if (extent_h < 0)
        return BAD_SHAPES;
    const int64_t extent_r = f->extent_r = f->in.k.shape[2];
    const int64_t extent_n = f->extent_n = f->in.x.shape[0];
    const int64_t extent_c = f->extent_c = meet(f->in.x.shape[1], f->in.k.shape[1]);
    if (extent_c < 0)
        return BAD_SHAPES;
    const int64_t extent_o = f->extent_o = f->in.k.shape[0];
    if (f->in.out.shape[0] != extent_n || f->in.out.shape[1] != extent_o || f->in.out.shape[2] != extent_h)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(9, extent_n);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(56, extent_h);
    const int64_t tile_1_3 = f->tile_1_3 = size_min(64, extent_o);
    f->units_1 = size_mul(size_mul(size_ceil_div(extent_n, tile_1_1), size_ceil_div(extent_h, tile_1_2)),
            size_ceil_div(extent_o, tile_1_3));
    const int64_t at_packed_1 = f->at_packed_1 = size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, tile_1_2),
            8), size_mul(extent_c, extent_r)), 4), 64);
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_min(1,
            size_div(size_mul(size_align(size_mul(tile_1_1, tile_1_2), 8), size_mul(extent_c, extent_r)), 4097))),
            size_mul(extent_c, extent_r)), 96), 64));
    const int64_t at_pieces_1 = f->at_pieces_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(size_mul(extent_c, extent_r), 1025)),
            size_align(size_mul(tile_1_1, tile_1_2), 8)), 48), 64));
    const int64_t at_runs_1 = f->at_runs_1 = size_add(at_pieces_1,
            size_align(size_mul(size_add(size_ceil_div(size_align(size_mul(tile_1_1, tile_1_2), 8), 4), 2), 24), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_runs_1,
            size_align(size_mul(size_add(size_ceil_div(size_align(size_mul(tile_1_1, tile_1_2), 8), 4), 2), 8), 64));
    f->per_worker = size_add(at_panels_of_1, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(extent_h, extent_r),
            extent_n), extent_c), extent_o), 32768), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->past_1 = size_mul(size_mul(size_mul(extent_n, extent_o), extent_h), 4) > 33554432;
    return 0;
}

int convolution_workspace(const convolution_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int convolution(const convolution_args *args, void *workspace, size_t bytes, const einc_host *host)
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
