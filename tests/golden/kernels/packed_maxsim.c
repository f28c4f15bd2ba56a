/* einc compile 'Q[i,j,k], D[start[m]:i64+n,k] -> [i,j,m,n] | where(@n < len[m]:i64, _, -inf) | max n | sum j' -o packed_maxsim.c
 *
 *     Q[i,j,k], D[start[m]:i64+n,k] -> ijmn | where(@n < len[m]:i64, _, -inf) | max n | sum j
 *
 * target portable, 4 lanes
 * launch 1: block of i: tile_1_1 = min(64, i), block of m: tile_1_2 = min(4, m)
 *   step 1: store tmp1[i,j,m] = max[n](where(@n < len[m], sum[k](Q[i,j,k] * D[start[m]+n,k]), -(inf)))
 *     tiles of 12 x 4: rows n, columns i j, contracted k, rows packed as vectors
 *     loops i m j, 4 lanes along j
 *   step 2: store out[i,m] = sum[j](tmp1[i,j,m])
 *     loops i m, 4 lanes along j
 * tmp1: a block, row_tmp1 * tile_1_2 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_2 * 4, 64) + align(align(tile_1_1 * j, 4) * k * 4, 64)
 *         + align(k * 192, 64) + align(min(1, k / 129) * align(tile_1_1 * j, 4) * 48, 64) + 64
 *         + align(align(tile_1_1 * j, 4) * 4, 64)) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef PACKED_MAXSIM_H
#define PACKED_MAXSIM_H
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
typedef struct packed_maxsim_args {
    struct {    /* input Q, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } Q;
    struct {    /* input D, f32 */
        const float *data;
        int64_t shape[2], stride[2];
    } D;
    struct {    /* input start, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } start;
    struct {    /* input len, i64 */
        const int64_t *data;
        int64_t shape[1], stride[1];
    } len;
    struct {    /* output, f32[i,m] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
    int64_t given_n;    /* the extent of index n, which no operand fixes */
} packed_maxsim_args;

/* The bytes of workspace that packed_maxsim() wants for these shapes and so many workers. 0, or why not. */
int packed_maxsim_workspace(const packed_maxsim_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int packed_maxsim(const packed_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Most kernels need no more of math.h, which takes longer to read than they do. */
#if !defined(INFINITY) && defined(__GNUC__)
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))
#elif !defined(INFINITY)
#include <math.h>
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

/* The same into the second cache, for what is read later than the first would keep it. */
#ifdef __GNUC__
#define PREFETCH_FAR(p) __builtin_prefetch((p), 0, 2)
#else
#define PREFETCH_FAR(p) ((void)(p))
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

typedef int64_t i64u UNALIGNED;

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

INLINE float lane_f32v(f32v x, int l)
{
#if EINC_VECTORS
    return x[l];
#else
    (void)l;
    return x;
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

/* The first `count` lanes. */
INLINE boolv first_boolv(int count)
{
    return lanes_i32v() < count;
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

/* a * b + c, rounded once or twice. */
INLINE f32v fma_f32v(f32v a, f32v b, f32v c)
{
    CONTRACT
    return a * b + c;
}

/* The greater, and b where either is NaN. */
INLINE f32v greater_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return __builtin_ia32_maxps(a, b);
#else
    return select_f32v(a > b, a, b);
#endif
}

/* Whether a or b is NaN. */
INLINE boolv unordered_f32v(f32v a, f32v b)
{
#if EINC_VECTORS && defined(__SSE2__) && LANES == 4
    return (boolv)__builtin_ia32_cmpunordps(a, b);
#else
    return (a != a) | (b != b);
#endif
}

/* The greatest of `state` and the first `count` of `most` elements of x, `step` apart; NaN where one of them is: it is looked
 * for in two elements at a time, and put in at the end. The others are none. */
INLINE f32v max_all_f32v(f32v state, const f32v *x, const int most, const int step, int count)
{
    boolv lost = {0};
    UNROLL
    for (int i = 0; i < most; i++) {
        if (i >= count)
            continue;
        state = greater_f32v(x[i * step], state);
    }
    UNROLL
    for (int i = 0; i < most; i += 2)
        lost |= unordered_f32v(x[i * step], x[(i + 1 < most ? i + 1 : i) * step]);
    return select_f32v(lost, splat_f32v((float)NAN), state);
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

INLINE float fold_sum_f32v(f32v x)
{
    if (LANES > 8)
        x = x + flip_f32v(x, 8);
    if (LANES > 4)
        x = x + flip_f32v(x, 4);
    if (LANES > 2)
        x = x + flip_f32v(x, 2);
    if (LANES > 1)
        x = x + flip_f32v(x, 1);
    return lane_f32v(x, 0);
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

PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    packed_maxsim_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t extent_m;
    int64_t extent_n;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t at_panels_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_panels_of_1;
    int64_t at_largest_1_1;
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

/* tmp1[i,j,m] = max[n](where(@n < len[m], sum[k](Q[i,j,k] * D[start[m]+n,k]), -(inf))) */
enum { ROWS_1 = 12, VECTORS_1 = 1, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 128, NEAR_1 = 40960, BLOCK_1 = 1 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t i, int64_t j, int64_t depth, int64_t tile_place,
        int64_t place, int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const f32u *Q = (const f32u *)f->in.Q.data;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    const int64_t Q_2 = f->in.Q.stride[2];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        float *to = panels_1 + tile_place * depth + from_point * COLUMNS_1 + place - tile_place + v * LANES;
        for (int64_t k = from_point; k < to_point; k += LANES) {
            const int lanes = (int)size_min(LANES, to_point - k);
            const f32u *from = Q + i * Q_0 + (j + v * LANES) * Q_1 + k * Q_2;
            turn_f32(to, COLUMNS_1, 1, from, Q_1, Q_2, (int)size_min(LANES, count - v * LANES), lanes, from
                    + LANES * (Q_1), Q_1);
            to += lanes * COLUMNS_1;
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t m, int64_t n, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const f32u *D = (const f32u *)f->in.D.data;
    const int64_t D_0 = f->in.D.stride[0], D_1 = f->in.D.stride[1];
    const i64u *start_data = (const i64u *)f->in.start.data;
    const int64_t start_data_0 = f->in.start.stride[0];
    float *packed_1 = (float *)(own + at_packed_1);
    const int64_t start_at = start_data[m * start_data_0];
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_1, ROWS_1);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t n_at = n + before + r;
            float *to = packed_1 + (before * depth + r) * LANES;
            for (int64_t k = 0; k < extent_k; k += LANES) {
                const int lanes = (int)size_min(LANES, extent_k - k);
                f32v found = splat_f32v(0.0f);
                if (is_inside(start_at + n_at, f->in.D.shape[0]))
                    found = load_f32v(D + (start_at + n_at) * D_0 + k * D_1, D_1, lanes);
                else
                    FAIL(f, OUT_OF_RANGE - 2);
                const f32v value = found;
                for (int c = 0; c < lanes; c++)
                    store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value, c)), LANES);
                to += lanes * rows * LANES;
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
INLINE void multiply_1(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, f32v sums[ROWS_1][VECTORS_1])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    UNROLL_SOME
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_1];
        HOLD_STEPS(one, three, five);
        PREFETCH(ahead);
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
        int64_t kept_step, const Frame *f, char *own, int64_t tile_place)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, LANES, ROWS_1 * LANES, panel, depth, ahead, ahead_step, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    if (!kept) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++) {
            f32v largest = load_f32v(largest_1_1 + tile_place + v * LANES, 1, LANES);
            largest = max_all_f32v(largest, &sums[0][v], ROWS_1, VECTORS_1, height);
            store_f32v(largest_1_1 + tile_place + v * LANES, 1, largest, LANES);
        }
        return;
    }
    UNROLL
    for (int r = 0; r < ROWS_1; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_1; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}


/* The columns' results. */
KERNEL static void finish_1(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t m, int64_t i,
        int64_t j, int64_t place, int count)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    const int64_t at_largest_1_1 = f->at_largest_1_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        f32v largest = load_f32v(largest_1_1 + place + v * LANES, 1, lanes);
        store_f32v(tmp1 + (i - i_first) * tmp1_0 + j_lanes + (m - m_first) * tmp1_2, 1, largest, lanes);
    }
}

/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t m_first, int64_t m_end)
{
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t extent_n = f->extent_n, at_panels_1 = f->at_panels_1;
    const int64_t at_packed_1 = f->at_packed_1, at_kept_1 = f->at_kept_1;
    const int64_t at_panels_of_1 = f->at_panels_of_1, at_largest_1_1 = f->at_largest_1_1;
    const int64_t Q_0 = f->in.Q.stride[0], Q_1 = f->in.Q.stride[1];
    const i64u *len = (const i64u *)f->in.len.data;
    const int64_t len_0 = f->in.len.stride[0], tmp1_0 = extent_j;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    float *largest_1_1 = (float *)(own + at_largest_1_1);
    const int64_t depth = extent_k;
    const int64_t columns = (i_end - i_first) * extent_j, places = size_align(columns, COLUMNS_1);
    int64_t width = extent_j;
    if (Q_0 == Q_1 * extent_j && tmp1_0 == 1 * extent_j)
        width *= i_end - i_first;
    const int64_t columns_at = i_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 256) {
            const int64_t to_point = size_min(from_point + 256, extent_k);
            for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
                for (int64_t place = tile_place; place < tile_end;) {
                    const int count = (int)size_min(width - place % width, tile_end - place);
                    const int64_t j = place % width;
                    const int64_t i = i_first + (place - place % width) / extent_j;
                    pack_columns_1(f, own, i, j, depth, tile_place, place, from_point, to_point, count);
                    place += count;
                }
            }
        }
        *panels_of_1 = columns_at;
    }
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t m = m_first; m < m_end; m++) {
        for (int64_t place = 0; place < places; place += LANES) {
            store_f32v(largest_1_1 + place, 1, splat_f32v(-INFINITY), LANES);
        }
        const int64_t limit = len[m * len_0];
        const int64_t n_to = size_min(extent_n, limit);
        for (int64_t n_block = 0, n_stop; n_block < n_to; n_block = n_stop) {
            int height = (int)size_next(n_to - n_block, block * ROWS_1, ROWS_1);
            int64_t n = n_block, done = 0, points;
            n_stop = n_block + height;
            pack_rows_1(f, own, m, n, depth, height);
            const f32u *const rows = packed_1;
            const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
            /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. */
            const char *ahead = NULL;
            const int64_t ahead_step =
                block > 1 ? COLUMNS_1 * 4 / (2 * (n_stop - n_block) > BLOCK_1 * ROWS_1 ? BLOCK_1
                        : (BLOCK_1 + 1) / 2) :
                (k_apart ? k_apart : (int64_t)COLUMNS_1) * 4;
            do {
                points = size_even(depth - done, DEPTH_1);
                float *kept = points < depth ? kept_1 : NULL;
                const int is_last = done + points >= depth;
                for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
                    if (block > 1)
                        ahead = (const char *)(panels_1 + (tile_place + COLUMNS_1) * depth + done * COLUMNS_1);
                    for (n = n_block; n < n_stop; n += height) {
                        height = (int)size_next(n_stop - n, ROWS_1, ROWS_1);
                        const int64_t k_step = k_apart ? k_apart : height * LANES;
                        const f32u *here = rows + (n - n_block) * tile_step + done * k_step;
                        if (block == 1)
                            ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_1
                                    + (tile_place + COLUMNS_1) * depth);
                        tile_1(height, here, row_step, k_step, panels_1 + tile_place * depth + done * COLUMNS_1,
                                points, ahead, ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, is_last ? NULL
                                : kept, COLUMNS_1, f, own, tile_place);
                        kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                        ahead += points * ahead_step;
                    }
                }
                done += points;
            } while (done < depth);
        }
        for (int64_t tile_place = 0; tile_place < places; tile_place += COLUMNS_1) {
            const int64_t tile_end = size_min(tile_place + COLUMNS_1, columns);
            for (int64_t place = tile_place; place < tile_end;) {
                const int count = (int)size_min(width - place % width, tile_end - place);
                const int64_t j = place % width;
                const int64_t i = i_first + (place - place % width) / extent_j;
                finish_1(f, own, i_first, m_first, m, i, j, place, count);
                place += count;
            }
        }
    }
}

/* out[i,m] = sum[j](tmp1[i,j,m]) */
INLINE void step_2_at(const Frame *f, char *own, int64_t i_first, int64_t m_first, int64_t i, int64_t m)
{
    const int64_t extent_j = f->extent_j, row_tmp1 = f->row_tmp1;
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = extent_j, tmp1_2 = row_tmp1;
    f32v sum_lanes[4];
    UNROLL
    for (int chain = 0; chain < 4; chain++)
        sum_lanes[chain] = splat_f32v(0.0f);
    int64_t j_at = 0;
    for (; j_at + 4 * LANES <= extent_j; j_at += 4 * LANES) {
        UNROLL
        for (int chain = 0; chain < 4; chain++) {
            const int64_t j = j_at + chain * LANES;
            const f32v tmp1_at = load_f32v(tmp1 + (i - i_first) * tmp1_0 + j + (m - m_first) * tmp1_2, 1, LANES);
            sum_lanes[chain] = sum_lanes[chain] + tmp1_at;
        }
    }
    for (; j_at < extent_j; j_at += LANES) {
        const int count_2 = extent_j - j_at < LANES ? (int)(extent_j - j_at) : LANES;
        const f32v before = sum_lanes[0];
        const f32v tmp1_at_2 = load_f32v(tmp1 + (i - i_first) * tmp1_0 + j_at + (m - m_first) * tmp1_2, 1, count_2);
        sum_lanes[0] = sum_lanes[0] + tmp1_at_2;
        sum_lanes[0] = select_f32v(first_boolv(count_2), sum_lanes[0], before);
    }
    UNROLL
    for (int chain = 1; chain < 4; chain++)
        sum_lanes[0] = sum_lanes[0] + sum_lanes[chain];
    float sum = fold_sum_f32v(sum_lanes[0]);
    out[i * out_0 + m * out_1] = sum;
}

KERNEL static void step_2(const Frame *frame, char *own, int64_t i_first, int64_t i_end, int64_t m_first,
        int64_t m_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    for (int64_t i = i_first; i < i_end; i++)
        for (int64_t m = m_first; m < m_end; m++)
            step_2_at(f, own, i_first, m_first, i, m);
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t extent_m = f->extent_m, tile_1_1 = f->tile_1_1;
    const int64_t tile_1_2 = f->tile_1_2;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t m_tiles = size_max(size_ceil_div(extent_m, tile_1_2), 1);
        const int64_t m_first = rest % m_tiles * tile_1_2, m_end = size_min(m_first + tile_1_2, extent_m);
        rest /= m_tiles;
        const int64_t i_first = rest * tile_1_1, i_end = size_min(i_first + tile_1_1, extent_i);
        if (extent_i > 0 && extent_j > 0 && extent_m > 0)
            step_1(f, own, i_first, i_end, m_first, m_end);
        step_2(f, own, i_first, i_end, m_first, m_end);
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
static int prepare(Frame *f, const packed_maxsim_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.Q.shape, f->in.Q.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.D.shape, f->in.D.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.start.shape, f->in.start.stride, 1))
        return BAD_SHAPES;
    if (!settle(f->in.len.shape, f->in.len.stride, 1))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.Q.shape[0];
    const int64_t extent_j = f->extent_j = f->in.Q.shape[1];
    const int64_t extent_k = f->extent_k = meet(f->in.Q.shape[2], f->in.D.shape[1]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_m = f->extent_m = meet(f->in.start.shape[0], f->in.len.shape[0]);
    if (extent_m < 0)
        return BAD_SHAPES;
    const int64_t extent_n = f->extent_n = args->given_n;
    if (extent_n < 0)
        return BAD_SHAPES;
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_m)
        return BAD_SHAPES;
    if (extent_i > 0 && extent_m > 0 && extent_j > 0 && extent_n < 1)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_i);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(4, extent_m);
    f->units_1 = size_mul(size_ceil_div(extent_i, tile_1_1), size_ceil_div(extent_m, tile_1_2));
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(size_mul(extent_j, tile_1_1), 15), 32),
            32), 16);
    const int64_t at_panels_1 = f->at_panels_1 = size_align(size_mul(size_mul(row_tmp1, tile_1_2), 4), 64);
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(size_mul(tile_1_1, extent_j), 4), extent_k), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1, size_align(size_mul(extent_k, 192), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(extent_k, 129)),
            size_align(size_mul(tile_1_1, extent_j), 4)), 48), 64));
    const int64_t at_largest_1_1 = f->at_largest_1_1 = size_add(at_panels_of_1, 64);
    f->per_worker = size_add(at_largest_1_1, size_align(size_mul(size_align(size_mul(tile_1_1, extent_j), 4), 4),
            64));
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(size_mul(extent_i, extent_j),
            extent_k), extent_m), extent_n), 16384), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    return 0;
}

int packed_maxsim_workspace(const packed_maxsim_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int packed_maxsim(const packed_maxsim_args *args, void *workspace, size_t bytes, const einc_host *host)
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
