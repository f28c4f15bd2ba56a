/* einc compile 'A[i,k]:c64 * conj(B[k,j]:c64) -> [i,j]' -o complex_product.c
 *
 *     A[i,k]:c64 * conj(B[k,j]:c64) -> ij
 *
 * target portable, 4 lanes
 * launch 1: block of j: tile_1_1 = min(64, j), block of i: tile_1_2 = min(64, i)
 *   step 1: store tmp1[i,j] = sum[p,k](A_parts[i,k,p] * where(@p == 0, real(B[k,j]), imag(B[k,j])))
 *     tiles of 6 x 8: rows i, columns j, contracted k p, rows packed as vectors
 *     loops i j, 4 lanes along j
 *   step 2: store tmp2[i,j] = sum[p,k](A_parts[i,k,p] * where(@p == 0, -(imag(B[k,j])), real(B[k,j])))
 *     tiles of 6 x 8: rows i, columns j, contracted k p, rows packed as vectors
 *     loops i j, 4 lanes along j
 *   step 3: store out[i,j] = complex(tmp1[i,j], tmp2[i,j])
 *     loops i j, 4 lanes along j, stride 1 expected: out axis 1
 * tmp1: a block, row_tmp1 * tile_1_2 * 4 bytes
 * tmp2: a block, row_tmp2 * tile_1_2 * 4 bytes
 * workspace workers * (align(row_tmp1 * tile_1_2 * 4, 64) + align(row_tmp2 * tile_1_2 * 4, 64)
 *         + align(align(tile_1_1, 8) * k * p * 4, 64)
 *         + align((1 + min(1, align(tile_1_1, 8) * k * p / 20481) * 5) * k * p * 96, 64)
 *         + align(min(1, k * p / 1025) * align(tile_1_1, 8) * 144, 64) + 64 + align(align(tile_1_1, 8) * k * p * 4, 64)
 *         + align((1 + min(1, align(tile_1_1, 8) * k * p / 20481) * 5) * k * p * 96, 64)
 *         + align(min(1, k * p / 1025) * align(tile_1_1, 8) * 144, 64) + 64) */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef COMPLEX_PRODUCT_H
#define COMPLEX_PRODUCT_H
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
typedef struct complex_product_args {
    struct {    /* input A, c64 */
        const float *data;
        int64_t shape[2], stride[2];
    } A;
    struct {    /* input B, c64 */
        const float *data;
        int64_t shape[2], stride[2];
    } B;
    struct {    /* output, c64[i,j] */
        float *data;
        int64_t shape[2], stride[2];
    } out;
} complex_product_args;

/* The bytes of workspace that complex_product() wants for these shapes and so many workers. 0, or why not. */
int complex_product_workspace(const complex_product_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int complex_product(const complex_product_args *args, void *workspace, size_t bytes, const einc_host *host);

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

typedef struct c64v {
    f32v re, im;
} c64v;

typedef struct c64u {
    f32u re, im;
} c64u;

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

INLINE f32v neg_f32v(f32v x)
{
    return -x;
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

INLINE c64v load_c64v(const c64u *p, int64_t stride, int count)
{
    c64v x;
#if EINC_SHUFFLES
    if (stride == 1 && count == LANES) {
        const f32v low = load_f32v(&p->re, 1, LANES), high = load_f32v(&p->re + LANES, 1, LANES);
        x.re = __builtin_shuffle(low, high, 2 * lanes_i32v());
        x.im = __builtin_shuffle(low, high, 2 * lanes_i32v() + 1);
        return x;
    }
#elif EINC_VECTORS
    if (stride == 1 && count == LANES) {
        float both[2 * LANES], re[LANES], im[LANES];
        memcpy(both, p, sizeof both);
        for (int l = 0; l < LANES; l++) {
            re[l] = both[2 * l];
            im[l] = both[2 * l + 1];
        }
        memcpy(&x.re, re, sizeof re);
        memcpy(&x.im, im, sizeof im);
        return x;
    }
#endif
    x.re = load_f32v(&p->re, 2 * stride, count);
    x.im = load_f32v(&p->im, 2 * stride, count);
    return x;
}

INLINE void store_c64v(c64u *p, int64_t stride, c64v x, int count)
{
#if EINC_SHUFFLES
    if (stride == 1 && count == LANES) {
        const i32v from = (lanes_i32v() >> 1) + (lanes_i32v() & 1) * LANES;
        store_f32v(&p->re, 1, __builtin_shuffle(x.re, x.im, from), LANES);
        store_f32v(&p->re + LANES, 1, __builtin_shuffle(x.re, x.im, from + LANES / 2), LANES);
        return;
    }
#elif EINC_VECTORS
    if (stride == 1 && count == LANES) {
        float both[2 * LANES], re[LANES], im[LANES];
        memcpy(re, &x.re, sizeof re);
        memcpy(im, &x.im, sizeof im);
        for (int l = 0; l < LANES; l++) {
            both[2 * l] = re[l];
            both[2 * l + 1] = im[l];
        }
        memcpy(p, both, sizeof both);
        return;
    }
#endif
    store_f32v(&p->re, 2 * stride, x.re, count);
    store_f32v(&p->im, 2 * stride, x.im, count);
}

INLINE c64v complex_f32v(f32v re, f32v im)
{
    c64v x;
    x.re = re;
    x.im = im;
    return x;
}

INLINE f32v real_c64v(c64v x)
{
    return x.re;
}

INLINE f32v imag_c64v(c64v x)
{
    return x.im;
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

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    complex_product_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_i;
    int64_t extent_k;
    int64_t extent_j;
    int64_t tile_1_1;
    int64_t tile_1_2;
    int64_t units_1;
    int64_t row_tmp1;
    int64_t at_tmp2;
    int64_t row_tmp2;
    int64_t at_panels_1;
    int64_t at_packed_1;
    int64_t at_kept_1;
    int64_t at_panels_of_1;
    int64_t at_panels_2;
    int64_t at_packed_2;
    int64_t at_kept_2;
    int64_t at_panels_of_2;
    int64_t per_worker;
    int64_t grain_1, tasks_1;
    int unit_3;    /* the lanes' strides are 1 */
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

/* tmp1[i,j] = sum[p,k](A_parts[i,k,p] * where(@p == 0, real(B[k,j]), imag(B[k,j]))) */
enum { ROWS_1 = 6, VECTORS_1 = 2, COLUMNS_1 = VECTORS_1 * LANES, DEPTH_1 = 1024, NEAR_1 = 20480, BLOCK_1 = 6 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_1(const Frame *f, char *own, int64_t j, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_1 = f->at_panels_1;
    const c64u *B = (const c64u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    float *panels_1 = (float *)(own + at_panels_1);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        float *to = panels_1 + place * depth + from_point * 2 * COLUMNS_1 + v * LANES;
        for (int64_t k = from_point; k < to_point; k++) {
            const c64v b = load_c64v(B + k * B_0 + j_lanes * B_1, B_1, lanes);
            const f32v real_of = real_c64v(b);
            const f32v imag_of = imag_c64v(b);
            for (int64_t p = 0; p < 2; p++) {
                const int value = p == 0;
                store_f32v(to, 1, value ? real_of : imag_of, lanes);
                to += COLUMNS_1;
            }
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_1(const Frame *f, char *own, int64_t i, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_1 = f->at_packed_1;
    const f32u *A_parts = (const f32u *)f->in.A.data;
    const int64_t A_parts_0 = 2 * f->in.A.stride[0], A_parts_1 = 2 * f->in.A.stride[1];
    float *packed_1 = (float *)(own + at_packed_1);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_1, ROWS_1);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t i_at = i + before + r;
            float *to = packed_1 + (before * depth + r) * LANES;
            if (A_parts_1 == 1 * 2) {
                for (int64_t flat = 0; flat < depth; flat += LANES) {
                    const int lanes = (int)size_min(LANES, depth - flat);
                    const f32v value = load_f32v(A_parts + i_at * A_parts_0 + flat, 1, lanes);
                    for (int c = 0; c < lanes; c++)
                        store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value, c)), LANES);
                    to += lanes * rows * LANES;
                }
            } else {
                for (int64_t k = 0; k < extent_k; k++) {
                    for (int64_t p = 0; p < 2; p += LANES) {
                        const int lanes = (int)size_min(LANES, 2 - p);
                        PREFETCH(A_parts + i_at * A_parts_0 + (k + 2) * A_parts_1 + p);
                        const f32v value_2 = load_f32v(A_parts + i_at * A_parts_0 + k * A_parts_1 + p, 1, lanes);
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
                sums[r][v] = fma_f32v(left, right[v], sums[r][v]);
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
        int64_t kept_step, f32u *result, int64_t result_step)
{
    f32v sums[ROWS_1][VECTORS_1];
    begin_1(start, start_step, sums);
    if (height == ROWS_1)
        multiply_1(ROWS_1, rows, LANES, ROWS_1 * LANES, panel, depth, ahead, ahead_step, sums);
    else
        multiply_1(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
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
KERNEL static void after_1(const Frame *f, char *own, int64_t i_first, int64_t j_first, int64_t i, int64_t j,
        int count, int height, const float *kept)
{
    const int64_t row_tmp1 = f->row_tmp1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    for (int r = 0; r < height; r++) {
        const int64_t i_at = i + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t j_lanes = j + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_1 + v * LANES, 1, lanes);
            store_f32v(tmp1 + (i_at - i_first) * tmp1_0 + (j_lanes - j_first), 1, sum, lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_1(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t j_first, int64_t j_end)
{
    const int64_t extent_k = f->extent_k, row_tmp1 = f->row_tmp1;
    const int64_t at_panels_1 = f->at_panels_1, at_packed_1 = f->at_packed_1;
    const int64_t at_kept_1 = f->at_kept_1, at_panels_of_1 = f->at_panels_of_1;
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    float *panels_1 = (float *)(own + at_panels_1);
    float *packed_1 = (float *)(own + at_packed_1);
    float *kept_1 = (float *)(own + at_kept_1);
    int64_t *panels_of_1 = (int64_t *)(own + at_panels_of_1);
    const int64_t depth = extent_k * 2;
    const int64_t columns = j_end - j_first, places = size_align(columns, COLUMNS_1);
    float tile[ROWS_1 * COLUMNS_1];
    const int64_t columns_at = j_first;
    if (*panels_of_1 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_1 + (places - COLUMNS_1) * depth, 0, (size_t)(COLUMNS_1 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 16) {
            const int64_t to_point = size_min(from_point + 16, extent_k);
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t j = j_first + place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                pack_columns_1(f, own, j, depth, place, from_point, to_point, count);
            }
        }
        *panels_of_1 = columns_at;
    }
    const int64_t block = depth * places > NEAR_1 ? BLOCK_1 : 1;
    for (int64_t i_block = i_first, i_stop; i_block < i_end; i_block = i_stop) {
        int height = (int)size_next(i_end - i_block, block * ROWS_1, ROWS_1);
        int64_t i = i_block, done = 0, points;
        i_stop = i_block + height;
        pack_rows_1(f, own, i, depth, height);
        const f32u *const rows = packed_1;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. */
        const char *ahead = NULL;
        const int64_t ahead_step =
            block > 1 ? COLUMNS_1 * 4 / (2 * (i_stop - i_block) > BLOCK_1 * ROWS_1 ? BLOCK_1 : (BLOCK_1 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_1) * 4;
        do {
            points = size_even(depth - done, DEPTH_1);
            float *kept = points < depth ? kept_1 : tile;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_1) {
                const int64_t j = j_first + place;
                const int count = (int)size_min(COLUMNS_1, columns - place);
                if (block > 1)
                    ahead = (const char *)(panels_1 + (place + COLUMNS_1) * depth + done * COLUMNS_1);
                for (i = i_block; i < i_stop; i += height) {
                    height = (int)size_next(i_stop - i, ROWS_1, ROWS_1);
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (i - i_block) * tile_step + done * k_step;
                    if (block == 1)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_1
                                + (place + COLUMNS_1) * depth);
                    const int64_t result_step = tmp1_0;
                    f32u *result = NULL;
                    if (is_last && 1 == 1 && columns - place >= COLUMNS_1)
                        result = tmp1 + (i - i_first) * tmp1_0 + ((j_first + place) - j_first);
                    tile_1(height, here, row_step, k_step, panels_1 + place * depth + done * COLUMNS_1, points, ahead,
                            ahead_step, done ? kept : NULL, done ? COLUMNS_1 : 0, kept, COLUMNS_1, result,
                            result_step);
                    if (is_last && !result)
                        after_1(f, own, i_first, j_first, i, j, count, height, kept);
                    kept += points < depth ? ROWS_1 * COLUMNS_1 : 0;
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
    }
}

/* tmp2[i,j] = sum[p,k](A_parts[i,k,p] * where(@p == 0, -(imag(B[k,j])), real(B[k,j]))) */
enum { ROWS_2 = 6, VECTORS_2 = 2, COLUMNS_2 = VECTORS_2 * LANES, DEPTH_2 = 1024, NEAR_2 = 20480, BLOCK_2 = 6 };

/* Packs the panel of `count` columns. */
KERNEL static void pack_columns_2(const Frame *f, char *own, int64_t j, int64_t depth, int64_t place,
        int64_t from_point, int64_t to_point, int count)
{
    const int64_t at_panels_2 = f->at_panels_2;
    const c64u *B = (const c64u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    float *panels_2 = (float *)(own + at_panels_2);
    for (int v = 0; v * LANES < count; v++) {
        const int lanes = (int)size_min(LANES, count - v * LANES);
        const int64_t j_lanes = j + v * LANES;
        float *to = panels_2 + place * depth + from_point * 2 * COLUMNS_2 + v * LANES;
        for (int64_t k = from_point; k < to_point; k++) {
            const c64v b = load_c64v(B + k * B_0 + j_lanes * B_1, B_1, lanes);
            const f32v neg_of = neg_f32v(imag_c64v(b));
            const f32v real_of = real_c64v(b);
            for (int64_t p = 0; p < 2; p++) {
                const int value = p == 0;
                store_f32v(to, 1, value ? neg_of : real_of, lanes);
                to += COLUMNS_2;
            }
        }
    }
}

/* Packs `height` rows. */
KERNEL static void pack_rows_2(const Frame *f, char *own, int64_t i, int64_t depth, int height)
{
    const int64_t extent_k = f->extent_k, at_packed_2 = f->at_packed_2;
    const f32u *A_parts = (const f32u *)f->in.A.data;
    const int64_t A_parts_0 = 2 * f->in.A.stride[0], A_parts_1 = 2 * f->in.A.stride[1];
    float *packed_2 = (float *)(own + at_packed_2);
    for (int64_t before = 0, rows; before < height; before += rows) {
        rows = size_next(height - before, ROWS_2, ROWS_2);
        for (int64_t r = 0; r < rows; r++) {
            const int64_t i_at = i + before + r;
            float *to = packed_2 + (before * depth + r) * LANES;
            if (A_parts_1 == 1 * 2) {
                for (int64_t flat = 0; flat < depth; flat += LANES) {
                    const int lanes = (int)size_min(LANES, depth - flat);
                    const f32v value = load_f32v(A_parts + i_at * A_parts_0 + flat, 1, lanes);
                    for (int c = 0; c < lanes; c++)
                        store_f32v(to + c * rows * LANES, 1, splat_f32v(lane_f32v(value, c)), LANES);
                    to += lanes * rows * LANES;
                }
            } else {
                for (int64_t k = 0; k < extent_k; k++) {
                    for (int64_t p = 0; p < 2; p += LANES) {
                        const int lanes = (int)size_min(LANES, 2 - p);
                        PREFETCH(A_parts + i_at * A_parts_0 + (k + 2) * A_parts_1 + p);
                        const f32v value_2 = load_f32v(A_parts + i_at * A_parts_0 + k * A_parts_1 + p, 1, lanes);
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
INLINE void begin_2(const f32u *start, int64_t start_step, f32v sums[ROWS_2][VECTORS_2])
{
    UNROLL
    for (int r = 0; r < ROWS_2; r++) {
        UNROLL
        for (int v = 0; v < VECTORS_2; v++)
            sums[r][v] = splat_f32v(0.0f);
    }
    if (start) {
        UNROLL
        for (int r = 0; r < ROWS_2; r++) {
            UNROLL
            for (int v = 0; v < VECTORS_2; v++)
                sums[r][v] = load_f32v(start + r * start_step + v * LANES, 1, LANES);
        }
    }
}

/* Adds the products of `height` rows and one panel to the sums. A row's points are k_step apart, rows row_step. What is
 * needed next comes nearer meanwhile: `ahead`, so many bytes for each point. Loops over rows are unrolled, so that sums
 * have registers, and left early where a tile is low; a whole one's `height` is a constant, so that it goes without
 * comparisons. Two points at a turn make turns few enough for their end to be foreseen. */
INLINE void multiply_2(const int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
                       int64_t depth, const char *ahead, int64_t ahead_step, f32v sums[ROWS_2][VECTORS_2])
{
    const int64_t apart = row_step * (int64_t)sizeof *rows;    /* see row_address() */
    int64_t one = apart, three = 3 * apart, five = 5 * apart;
    const char *low = (const char *)rows, *high = low + 7 * apart;
    UNROLL_SOME
    for (int64_t k = 0; k < depth; k++) {
        f32v right[VECTORS_2];
        HOLD_STEPS(one, three, five);
        PREFETCH(ahead);
        ahead += ahead_step;
        UNROLL
        for (int v = 0; v < VECTORS_2; v++)
            right[v] = load_f32v(panel + v * LANES, 1, LANES);
        UNROLL
        for (int r = 0; r < ROWS_2; r++) {
            if (r >= height)
                continue;
            const f32u *at = (const f32u *)row_address(r < 7 ? low : high, one, three, five, r % 7);
            f32v left = load_f32v(at, 1, LANES);
            HOLD(left);
            UNROLL
            for (int v = 0; v < VECTORS_2; v++) {
                sums[r][v] = fma_f32v(left, right[v], sums[r][v]);
            }
        }
        low += k_step * (int64_t)sizeof *rows;
        high += k_step * (int64_t)sizeof *rows;
        panel += COLUMNS_2;
    }
}

/* One tile, and what becomes of its sums: they are kept, a row kept_step behind the one before, or with NULL for `kept`
 * taken by what follows the product. */
KERNEL static void tile_2(int height, const f32u *rows, int64_t row_step, int64_t k_step, const float *panel,
        int64_t depth, const char *ahead, int64_t ahead_step, const f32u *start, int64_t start_step, f32u *kept,
        int64_t kept_step, f32u *result, int64_t result_step)
{
    f32v sums[ROWS_2][VECTORS_2];
    begin_2(start, start_step, sums);
    if (height == ROWS_2)
        multiply_2(ROWS_2, rows, LANES, ROWS_2 * LANES, panel, depth, ahead, ahead_step, sums);
    else
        multiply_2(height, rows, row_step, k_step, panel, depth, ahead, ahead_step, sums);
    if (result) {
        UNROLL
        for (int v = 0; v < VECTORS_2; v++) {
            UNROLL
            for (int r = 0; r < ROWS_2; r++) {
                if (r >= height)
                    break;
                store_f32v(result + r * result_step + v * LANES, 1, sums[r][v], LANES);
            }
        }
        return;
    }
    UNROLL
    for (int r = 0; r < ROWS_2; r++) {
        if (r >= height)
            continue;
        UNROLL
        for (int v = 0; v < VECTORS_2; v++)
            store_f32v(kept + r * kept_step + v * LANES, 1, sums[r][v], LANES);
    }
}

/* What becomes of a tile's sums. */
KERNEL static void after_2(const Frame *f, char *own, int64_t i_first, int64_t j_first, int64_t i, int64_t j,
        int count, int height, const float *kept)
{
    const int64_t at_tmp2 = f->at_tmp2, row_tmp2 = f->row_tmp2;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t tmp2_0 = row_tmp2;
    for (int r = 0; r < height; r++) {
        const int64_t i_at = i + r;
        for (int v = 0; v * LANES < count; v++) {
            const int lanes = (int)size_min(LANES, count - v * LANES);
            const int64_t j_lanes = j + v * LANES;
            const f32v sum = load_f32v(kept + r * COLUMNS_2 + v * LANES, 1, lanes);
            store_f32v(tmp2 + (i_at - i_first) * tmp2_0 + (j_lanes - j_first), 1, sum, lanes);
        }
    }
}


/* The step for one unit of work. */
KERNEL static void step_2(const Frame *f, char *own, int64_t i_first, int64_t i_end, int64_t j_first, int64_t j_end)
{
    const int64_t extent_k = f->extent_k, at_tmp2 = f->at_tmp2;
    const int64_t row_tmp2 = f->row_tmp2, at_panels_2 = f->at_panels_2;
    const int64_t at_packed_2 = f->at_packed_2, at_kept_2 = f->at_kept_2;
    const int64_t at_panels_of_2 = f->at_panels_of_2;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t tmp2_0 = row_tmp2;
    float *panels_2 = (float *)(own + at_panels_2);
    float *packed_2 = (float *)(own + at_packed_2);
    float *kept_2 = (float *)(own + at_kept_2);
    int64_t *panels_of_2 = (int64_t *)(own + at_panels_of_2);
    const int64_t depth = extent_k * 2;
    const int64_t columns = j_end - j_first, places = size_align(columns, COLUMNS_2);
    float tile[ROWS_2 * COLUMNS_2];
    const int64_t columns_at = j_first;
    if (*panels_of_2 != columns_at) {
        if (places > columns)    /* so that what is there is numbers */
            memset(panels_2 + (places - COLUMNS_2) * depth, 0, (size_t)(COLUMNS_2 * depth) * 4);
        for (int64_t from_point = 0; from_point < extent_k; from_point += 16) {
            const int64_t to_point = size_min(from_point + 16, extent_k);
            for (int64_t place = 0; place < places; place += COLUMNS_2) {
                const int64_t j = j_first + place;
                const int count = (int)size_min(COLUMNS_2, columns - place);
                pack_columns_2(f, own, j, depth, place, from_point, to_point, count);
            }
        }
        *panels_of_2 = columns_at;
    }
    const int64_t block = depth * places > NEAR_2 ? BLOCK_2 : 1;
    for (int64_t i_block = i_first, i_stop; i_block < i_end; i_block = i_stop) {
        int height = (int)size_next(i_end - i_block, block * ROWS_2, ROWS_2);
        int64_t i = i_block, done = 0, points;
        i_stop = i_block + height;
        pack_rows_2(f, own, i, depth, height);
        const f32u *const rows = packed_2;
        const int64_t row_step = LANES, k_apart = 0, tile_step = depth * LANES;
        /* What comes nearer: the next panel where not all of them are near, else points to come or the next one; a share for each tile. */
        const char *ahead = NULL;
        const int64_t ahead_step =
            block > 1 ? COLUMNS_2 * 4 / (2 * (i_stop - i_block) > BLOCK_2 * ROWS_2 ? BLOCK_2 : (BLOCK_2 + 1) / 2) :
            (k_apart ? k_apart : (int64_t)COLUMNS_2) * 4;
        do {
            points = size_even(depth - done, DEPTH_2);
            float *kept = points < depth ? kept_2 : tile;
            const int is_last = done + points >= depth;
            for (int64_t place = 0; place < places; place += COLUMNS_2) {
                const int64_t j = j_first + place;
                const int count = (int)size_min(COLUMNS_2, columns - place);
                if (block > 1)
                    ahead = (const char *)(panels_2 + (place + COLUMNS_2) * depth + done * COLUMNS_2);
                for (i = i_block; i < i_stop; i += height) {
                    height = (int)size_next(i_stop - i, ROWS_2, ROWS_2);
                    const int64_t k_step = k_apart ? k_apart : height * LANES;
                    const f32u *here = rows + (i - i_block) * tile_step + done * k_step;
                    if (block == 1)
                        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_2
                                + (place + COLUMNS_2) * depth);
                    const int64_t result_step = tmp2_0;
                    f32u *result = NULL;
                    if (is_last && 1 == 1 && columns - place >= COLUMNS_2)
                        result = tmp2 + (i - i_first) * tmp2_0 + ((j_first + place) - j_first);
                    tile_2(height, here, row_step, k_step, panels_2 + place * depth + done * COLUMNS_2, points, ahead,
                            ahead_step, done ? kept : NULL, done ? COLUMNS_2 : 0, kept, COLUMNS_2, result,
                            result_step);
                    if (is_last && !result)
                        after_2(f, own, i_first, j_first, i, j, count, height, kept);
                    kept += points < depth ? ROWS_2 * COLUMNS_2 : 0;
                    ahead += points * ahead_step;
                }
            }
            done += points;
        } while (done < depth);
    }
}

/* out[i,j] = complex(tmp1[i,j], tmp2[i,j]) */
INLINE void step_3_at(const Frame *f, char *own, int64_t i_first, int64_t j_first, int64_t i, int64_t j,
        const int count, const int unit)
{
    const int64_t row_tmp1 = f->row_tmp1, at_tmp2 = f->at_tmp2;
    const int64_t row_tmp2 = f->row_tmp2;
    c64u *out = (c64u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = unit ? 1 : f->in.out.stride[1];
    f32u *tmp1 = (f32u *)own;
    const int64_t tmp1_0 = row_tmp1;
    f32u *tmp2 = (f32u *)(own + at_tmp2);
    const int64_t tmp2_0 = row_tmp2;
    const c64v complex_of = complex_f32v(load_f32v(tmp1 + (i - i_first) * tmp1_0 + (j - j_first), 1, count),
            load_f32v(tmp2 + (i - i_first) * tmp2_0 + (j - j_first), 1, count));
    store_c64v(out + i * out_0 + j * out_1, out_1, complex_of, count);
}

KERNEL static void step_3(const Frame *frame, char *own, int64_t i_first, int64_t i_end, int64_t j_first,
        int64_t j_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    if (f->unit_3) {
        for (int64_t i = i_first; i < i_end; i++) {
            int64_t j = j_first;
            for (; j + LANES <= j_end; j += LANES)
                step_3_at(f, own, i_first, j_first, i, j, LANES, 1);
            if (j < j_end)
                step_3_at(f, own, i_first, j_first, i, j, (int)(j_end - j), 1);
        }
    } else {
        for (int64_t i = i_first; i < i_end; i++)
            for (int64_t j = j_first; j < j_end; j += LANES)
                step_3_at(f, own, i_first, j_first, i, j, (int)size_min(LANES, j_end - j), 0);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    char *own = f->workspace + f->shared + worker * f->per_worker;
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t tile_1_1 = f->tile_1_1, tile_1_2 = f->tile_1_2;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        int64_t rest = unit;
        const int64_t i_tiles = size_max(size_ceil_div(extent_i, tile_1_2), 1);
        const int64_t i_first = rest % i_tiles * tile_1_2, i_end = size_min(i_first + tile_1_2, extent_i);
        rest /= i_tiles;
        const int64_t j_first = rest * tile_1_1, j_end = size_min(j_first + tile_1_1, extent_j);
        step_1(f, own, i_first, i_end, j_first, j_end);
        step_2(f, own, i_first, i_end, j_first, j_end);
        step_3(f, own, i_first, i_end, j_first, j_end);
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
static int prepare(Frame *f, const complex_product_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 2))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 2))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 2))
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[0];
    const int64_t extent_k = f->extent_k = meet(f->in.A.shape[1], f->in.B.shape[0]);
    if (extent_k < 0)
        return BAD_SHAPES;
    const int64_t extent_j = f->extent_j = f->in.B.shape[1];
    if (f->in.out.shape[0] != extent_i || f->in.out.shape[1] != extent_j)
        return BAD_SHAPES;
    const int64_t tile_1_1 = f->tile_1_1 = size_min(64, extent_j);
    const int64_t tile_1_2 = f->tile_1_2 = size_min(64, extent_i);
    f->units_1 = size_mul(size_ceil_div(extent_j, tile_1_1), size_ceil_div(extent_i, tile_1_2));
    const int64_t row_tmp1 = f->row_tmp1 = size_add(size_mul(size_div(size_add(tile_1_1, 15), 32), 32), 16);
    const int64_t at_tmp2 = f->at_tmp2 = size_align(size_mul(size_mul(row_tmp1, tile_1_2), 4), 64);
    const int64_t row_tmp2 = f->row_tmp2 = size_add(size_mul(size_div(size_add(tile_1_1, 15), 32), 32), 16);
    const int64_t at_panels_1 = f->at_panels_1 = size_add(at_tmp2,
            size_align(size_mul(size_mul(row_tmp2, tile_1_2), 4), 64));
    const int64_t at_packed_1 = f->at_packed_1 = size_add(at_panels_1,
            size_align(size_mul(size_mul(size_align(tile_1_1, 8), size_mul(extent_k, 2)), 4), 64));
    const int64_t at_kept_1 = f->at_kept_1 = size_add(at_packed_1,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(tile_1_1, 8), size_mul(extent_k, 2)), 20481)), 5)), size_mul(extent_k, 2)),
            96), 64));
    const int64_t at_panels_of_1 = f->at_panels_of_1 = size_add(at_kept_1,
            size_align(size_mul(size_mul(size_min(1, size_div(size_mul(extent_k, 2), 1025)), size_align(tile_1_1, 8)),
            144), 64));
    const int64_t at_panels_2 = f->at_panels_2 = size_add(at_panels_of_1, 64);
    const int64_t at_packed_2 = f->at_packed_2 = size_add(at_panels_2,
            size_align(size_mul(size_mul(size_align(tile_1_1, 8), size_mul(extent_k, 2)), 4), 64));
    const int64_t at_kept_2 = f->at_kept_2 = size_add(at_packed_2,
            size_align(size_mul(size_mul(size_add(1, size_mul(size_min(1,
            size_div(size_mul(size_align(tile_1_1, 8), size_mul(extent_k, 2)), 20481)), 5)), size_mul(extent_k, 2)),
            96), 64));
    const int64_t at_panels_of_2 = f->at_panels_of_2 = size_add(at_kept_2,
            size_align(size_mul(size_mul(size_min(1, size_div(size_mul(extent_k, 2), 1025)), size_align(tile_1_1, 8)),
            144), 64));
    f->per_worker = size_add(at_panels_of_2, 64);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(extent_i, extent_k), 2),
            extent_j), 16384), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_3 = f->in.out.stride[1] == 1;
    return 0;
}

int complex_product_workspace(const complex_product_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int complex_product(const complex_product_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    const int64_t at_panels_of_1 = f->at_panels_of_1, at_panels_of_2 = f->at_panels_of_2;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_1) = -1;
    for (int worker = 0; worker < workers; worker++)
        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + at_panels_of_2) = -1;
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
