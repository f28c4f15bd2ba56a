/* einc compile 'bij,bjk->bik' -o small_products.c -d b=100000,i=4,j=4,k=4 --target avx512
 *
 *     bij, bjk -> bik
 *
 * target avx512, 16 lanes
 * launch 1: block of b: 1063
 *   step 1: store out[b,i,k] = sum[j](A[b,i,j] * B[b,j,k])
 *     loops b i k, 16 lanes along k, 4 points of i together, stride 1 expected: B axis 2, out axis 2
 *   where strides allow it: lanes shared by some points of b and all of i k, 4 vectors together
 * workspace 0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "NaN and infinities count in this file: no -Ofast or -ffast-math, or -fno-fast-math behind it"
#endif

#ifndef SMALL_PRODUCTS_H
#define SMALL_PRODUCTS_H
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
typedef struct small_products_args {
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } A;
    struct {    /* input, f32 */
        const float *data;
        int64_t shape[3], stride[3];
    } B;
    struct {    /* output, f32[b,i,k] */
        float *data;
        int64_t shape[3], stride[3];
    } out;
} small_products_args;

/* The bytes of workspace that small_products() wants for these shapes and so many workers. 0, or why not. */
int small_products_workspace(const small_products_args *args, int workers, size_t *bytes);

/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument
 * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,
 * -16 and below a position out of range (outputs are then undefined). Thread-safe. */
int small_products(const small_products_args *args, void *workspace, size_t bytes, const einc_host *host);

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

/* Before a loop over points that go together, a number that is known when this is compiled: their sums are in registers. */
#if EINC_VECTORS && !defined(__clang__)
#define UNROLL_POINTS _Pragma("GCC unroll 16")
#elif EINC_VECTORS
#define UNROLL_POINTS _Pragma("clang loop unroll(full)")
#else
#define UNROLL_POINTS
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

typedef int32_t i32u UNALIGNED;

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

INLINE i32v load_i32v(const i32u *p, int64_t stride, int count)
{
    return (i32v)load_u32v(p, stride, count);
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

SHARED int64_t size_ceil_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b + (a % b != 0) : a;
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

/* How far an array's points along each axis are apart. */
typedef struct Bundled {
    int64_t stride[8];
} Bundled;

/* How many elements there are from the first to the last of an array's points, so many of the first axis;
 * SIZE_TOO_LARGE where they go backwards. */
PLAIN int64_t bundle_span(const Bundled *array, const int64_t *extent, int axes, int64_t first)
{
    int64_t span = 1;
    for (int a = 0; a < axes; a++) {
        const int64_t steps = (a ? extent[a] : first) - 1;
        if (steps > 0)
            span = size_add(span, array->stride[a] < 0 ? SIZE_TOO_LARGE : size_mul(steps, array->stride[a]));
    }
    return span;
}

/* How many points of the first axis share a vector with all of the others, the last of `axes`; 0: none do. The
 * result's points, the first array's, have to follow each other, and those of the others to be so near each other
 * that a vector has all of them, at all points of the `over` axes behind. How far a lane's element is behind the
 * first one's is in `lanes`. */
SHARED int64_t bundle(const int64_t *extent, int axes, int over, const Bundled *arrays, int count,
                      int32_t (*lanes)[LANES])
{
    int64_t inner = 1;
    for (int a = axes - 1; a > 0; a--) {
        if (extent[a] > 1 && arrays[0].stride[a] != inner)
            return 0;
        inner = size_mul(inner, extent[a]);
    }
    for (int a = 0; a < axes + over; a++)
        if (!extent[a])
            return 0;
    int64_t first = size_min(extent[0], arrays[0].stride[0] == inner ? LANES / inner : inner <= LANES);
    for (int r = 1; r < count; r++)
        while (first > 0 && bundle_span(&arrays[r], extent, axes + over, first) > LANES)
            first--;
    for (int r = 1; r < count && first > 0; r++) {
        int32_t *from = lanes[r - 1];
        int filled = 1;
        from[0] = 0;
        for (int a = axes - 1; a >= 0; a--)
            for (const int row = filled, points = row * (int)(a ? extent[a] : first); filled < points; filled++)
                from[filled] = from[filled - row] + (int32_t)arrays[r].stride[a];
        for (const int all = filled; filled < LANES; filled++)
            from[filled] = from[filled - all];
    }
    return first;
}

/* Lane l of the result is lane from[l]. */
INLINE f32v permute_lanes_f32v(f32v x, i32v from)
{
#if EINC_SHUFFLES
    return __builtin_shuffle(x, from);
#else
    float lanes[LANES], chosen[LANES];
    int32_t places[LANES];
    memcpy(lanes, &x, sizeof x);
    memcpy(places, &from, sizeof from);
    for (int l = 0; l < LANES; l++)
        chosen[l] = lanes[places[l] & (LANES - 1)];
    memcpy(&x, chosen, sizeof x);
    return x;
#endif
}

/* Lane l of the result is lane from[l]. */
INLINE f32v permute_f32v(f32v x, i32v from)
{
#if defined(__clang__) && EINC_VECTORS && LANES == 16
    return __builtin_ia32_permvarsf512(x, from);
#elif EINC_VECTORS && LANES == 8
    return __builtin_ia32_permvarsf256(x, from);
#else
    return permute_lanes_f32v(x, from);
#endif
}

/* One call: the operands, what follows from their shapes, and where tasks report a failure. */
typedef struct Frame {
    small_products_args in;    /* strides of axes of size 1 are 0 here */
    int64_t extent_b;
    int64_t extent_i;
    int64_t extent_j;
    int64_t extent_k;
    int64_t units_1;
    int64_t grain_1, tasks_1;
    int unit_1;    /* the lanes' strides are 1 */
    int64_t bundle_1;    /* so many points of b share a vector with all others */
    int32_t lanes_1[2][LANES];    /* and where each lane finds its own element */
    int64_t shared;
    int64_t per_worker;
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

/* out[b,i,k] = sum[j](A[b,i,j] * B[b,j,k]) */
INLINE void step_1_at(const Frame *f, int64_t b, int64_t i, int64_t k, const int points, const int count,
        const int unit)
{
    const int64_t extent_j = f->extent_j;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = unit ? 1 : f->in.B.stride[2];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0], out_1 = f->in.out.stride[1];
    const int64_t out_2 = unit ? 1 : f->in.out.stride[2];
    int64_t A_step = A_1 * 4, A_step_3 = 3 * A_step, A_step_5 = 5 * A_step;    /* see row_address() */
    f32v sum[4];
    UNROLL_POINTS
    for (int point = 0; point < points; point++)
        sum[point] = splat_f32v(0.0f);
    for (int64_t j = 0; j < extent_j; j++) {
        HOLD_STEPS(A_step, A_step_3, A_step_5);
        const char *A_row = (const char *)(A + b * A_0 + i * A_1 + j * A_2);
        const f32v b_2 = load_f32v(B + b * B_0 + j * B_1 + k * B_2, B_2, count);
        UNROLL_POINTS
        for (int point = 0; point < points; point++) {
            sum[point] = fma_f32v(splat_f32v(((const f32u *)row_address(A_row, A_step, A_step_3, A_step_5,
                    point))[0]), b_2, sum[point]);
        }
    }
    UNROLL_POINTS
    for (int point = 0; point < points; point++) {
        const int64_t i_3 = i + point;
        store_f32v(out + b * out_0 + i_3 * out_1 + k * out_2, out_2, sum[point], count);
    }
}

/* the same for `count` points of b and all of i k, which share a vector's lanes */
INLINE void step_1_bundle_at(const Frame *f, int64_t b, i32v A_lanes, i32v B_lanes, const int points,
        const int64_t count, const int full)
{
    const int64_t extent_i = f->extent_i, extent_j = f->extent_j;
    const int64_t extent_k = f->extent_k;
    const f32u *A = (const f32u *)f->in.A.data;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2];
    const f32u *B = (const f32u *)f->in.B.data;
    const int64_t B_0 = f->in.B.stride[0], B_1 = f->in.B.stride[1];
    const int64_t B_2 = f->in.B.stride[2];
    f32u *out = (f32u *)f->in.out.data;
    const int64_t out_0 = f->in.out.stride[0];
    const int A_count = full ? LANES : (int)((count - 1) * A_0 + (extent_i - 1) * A_1 + (extent_j - 1) * A_2 + 1);
    const int B_count = full ? LANES : (int)((count - 1) * B_0 + (extent_j - 1) * B_1 + (extent_k - 1) * B_2 + 1);
    const int stored = (int)(count * extent_i * extent_k);
    f32v A_near[4];
    f32v B_near[4];
    UNROLL_POINTS
    for (int point = 0; point < points; point++) {
        const int64_t b_2 = b + point * count;
        A_near[point] = load_f32v(A + b_2 * A_0, 1, A_count);
        B_near[point] = load_f32v(B + b_2 * B_0, 1, B_count);
    }
    f32v sum[4];
    UNROLL_POINTS
    for (int point = 0; point < points; point++)
        sum[point] = splat_f32v(0.0f);
    for (int64_t j = 0; j < extent_j; j++) {
        UNROLL_POINTS
        for (int point = 0; point < points; point++) {
            sum[point] = fma_f32v(permute_f32v(A_near[point], A_lanes + (int)(j * A_2)),
                    permute_f32v(B_near[point], B_lanes + (int)(j * B_1)), sum[point]);
        }
    }
    UNROLL_POINTS
    for (int point = 0; point < points; point++) {
        const int64_t b_4 = b + point * count;
        store_f32v(out + b_4 * out_0, 1, sum[point], stored);
    }
}

INLINE void step_1_bundle(const Frame *f, int64_t b_first, int64_t b_end)
{
    const int64_t extent_b = f->extent_b, extent_i = f->extent_i;
    const int64_t extent_j = f->extent_j, extent_k = f->extent_k;
    const int64_t A_0 = f->in.A.stride[0], A_1 = f->in.A.stride[1];
    const int64_t A_2 = f->in.A.stride[2], B_0 = f->in.B.stride[0];
    const int64_t B_1 = f->in.B.stride[1], B_2 = f->in.B.stride[2];
    const int64_t share = f->bundle_1;
    const i32v A_lanes = load_i32v((const i32u *)f->lanes_1[0], 1, LANES);
    const int64_t A_last = (extent_b - 1) * A_0 + (extent_i - 1) * A_1 + (extent_j - 1) * A_2 + 1 - LANES;
    const i32v B_lanes = load_i32v((const i32u *)f->lanes_1[1], 1, LANES);
    const int64_t B_last = (extent_b - 1) * B_0 + (extent_j - 1) * B_1 + (extent_k - 1) * B_2 + 1 - LANES;
    int64_t b = b_first;
    for (; b + 4 * share <= b_end && (b + 3 * share) * A_0 <= A_last && (b + 3 * share) * B_0 <= B_last; b
            += 4 * share)
        step_1_bundle_at(f, b, A_lanes, B_lanes, 4, share, 1);
    for (; b < b_end; b += share)
        step_1_bundle_at(f, b, A_lanes, B_lanes, 1, size_min(share, b_end - b), b * A_0 <= A_last && b * B_0
                <= B_last);
}

KERNEL static void step_1(const Frame *frame, int64_t b_first, int64_t b_end)
{
    const Frame unchanged = *frame, *f = &unchanged;
    const int64_t extent_i = f->extent_i, extent_k = f->extent_k;
    if (f->bundle_1) {
        step_1_bundle(f, b_first, b_end);
        return;
    }
    if (f->unit_1) {
        for (int64_t b = b_first; b < b_end; b++) {
            int64_t i = 0;
            for (; i + 4 <= extent_i; i += 4) {
                int64_t k = 0;
                for (; k + LANES <= extent_k; k += LANES)
                    step_1_at(f, b, i, k, 4, LANES, 1);
                if (k < extent_k)
                    step_1_at(f, b, i, k, 4, (int)(extent_k - k), 1);
            }
            for (; i < extent_i; i++)
                for (int64_t k = 0; k < extent_k; k += LANES)
                    step_1_at(f, b, i, k, 1, (int)size_min(LANES, extent_k - k), 1);
        }
    } else {
        for (int64_t b = b_first; b < b_end; b++)
            for (int64_t i = 0; i < extent_i; i++)
                for (int64_t k = 0; k < extent_k; k += LANES)
                    step_1_at(f, b, i, k, 1, (int)size_min(LANES, extent_k - k), 0);
    }
}

/* A task of launch 1: its units of work, each one tile of every block. */
static void launch_1(void *argument, int64_t task, int worker)
{
    const Frame *f = (const Frame *)argument;
    (void)worker;
    const int64_t extent_b = f->extent_b;
    const int64_t units_end = size_min((task + 1) * f->grain_1, f->units_1);
    for (int64_t unit = task * f->grain_1; unit < units_end && !is_stopped(f); unit++) {
        const int64_t b_first = unit * 1063, b_end = size_min(b_first + 1063, extent_b);
        step_1(f, b_first, b_end);
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
static int prepare(Frame *f, const small_products_args *args, int workers)
{
    (void)workers;
    memset(f, 0, sizeof *f);
    f->in = *args;
    if (!settle(f->in.A.shape, f->in.A.stride, 3))
        return BAD_SHAPES;
    if (!settle(f->in.B.shape, f->in.B.stride, 3))
        return BAD_SHAPES;
    if (!is_shape(f->in.out.shape, 3))
        return BAD_SHAPES;
    const int64_t extent_b = f->extent_b = meet(f->in.A.shape[0], f->in.B.shape[0]);
    if (extent_b < 0)
        return BAD_SHAPES;
    const int64_t extent_i = f->extent_i = f->in.A.shape[1];
    const int64_t extent_j = f->extent_j = meet(f->in.A.shape[2], f->in.B.shape[1]);
    if (extent_j < 0)
        return BAD_SHAPES;
    const int64_t extent_k = f->extent_k = f->in.B.shape[2];
    if (f->in.out.shape[0] != extent_b || f->in.out.shape[1] != extent_i || f->in.out.shape[2] != extent_k)
        return BAD_SHAPES;
    f->units_1 = size_ceil_div(extent_b, 1063);
    const int64_t most_1 = size_min(size_max(size_ceil_div(size_mul(size_mul(size_mul(extent_b, extent_i), extent_j),
            extent_k), 65536), 1), 1024);
    f->grain_1 = size_max(size_ceil_div(f->units_1, most_1), 1);
    f->tasks_1 = size_ceil_div(f->units_1, f->grain_1);
    f->unit_1 = f->in.B.stride[2] == 1 && f->in.out.stride[2] == 1;
    const int64_t bundle_1[] = { extent_b, extent_i, extent_k, extent_j };
    const Bundled bundled_1[] = {
        { { f->in.out.stride[0], f->in.out.stride[1], f->in.out.stride[2], 0 } },
        { { f->in.A.stride[0], f->in.A.stride[1], 0, f->in.A.stride[2] } },
        { { f->in.B.stride[0], 0, f->in.B.stride[2], f->in.B.stride[1] } },
    };
    f->bundle_1 = bundle(bundle_1, 3, 1, bundled_1, 3, f->lanes_1);
    return 0;
}

int small_products_workspace(const small_products_args *args, int workers, size_t *bytes)
{
    Frame f;
    int status = workers < 1 || !args || !bytes ? BAD_ARGUMENT : prepare(&f, args, workers);
    if (status)
        return status;
    int64_t all = size_add(f.shared, size_mul(workers, f.per_worker));
    *bytes = (size_t)all;
    return all == SIZE_TOO_LARGE ? BAD_WORKSPACE : 0;
}

int small_products(const small_products_args *args, void *workspace, size_t bytes, const einc_host *host)
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
    if (run(f, launch_1, f->tasks_1))
        return failure;
    return 0;
}
