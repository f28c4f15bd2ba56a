#include "peak.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "runtime.h"

enum {
    KERNELS = 3,
    TASKS = 32                    /* for each worker, so that none waits long for another */
};

double peak_seconds(int workers)
{
    struct timespec t;
    clock_gettime(workers == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- multiply-adds ---- */

/* Runs a loop so many times; `kernel` says which. */
typedef void Spin(int64_t turns, int kernel);

struct PeakUnit {
    const char *target;
    Dtype dtype;
    Spin *spin;
    const char *cpu;              /* what the CPU must report */
    bool (*ask)(void);            /* the system for leave to use it; NULL: it needs none */
    int64_t turns;                /* of one task: some 100 microseconds */
    int flops[KERNELS];           /* of one turn */
};

#if defined(__x86_64__)

/* Register 15 is multiplied by 14 and added to each of the others. All are 0, which is as fast as any number. Two units
 * that take 6 cycles for a sum of products of bf16, as AMD's do, need 12 chains, and some more to be busy throughout. */
#define FMA(op, r, n) op " %%" r "14, %%" r "15, %%" r #n "\n"
#define FMA_4(op, r) FMA(op, r, 0) FMA(op, r, 1) FMA(op, r, 2) FMA(op, r, 3)
#define FMA_8(op, r) FMA_4(op, r) FMA(op, r, 4) FMA(op, r, 5) FMA(op, r, 6) FMA(op, r, 7)
#define FMA_12(op, r) FMA_8(op, r) FMA(op, r, 8) FMA(op, r, 9) FMA(op, r, 10) FMA(op, r, 11)
#define FMA_14(op, r) FMA_12(op, r) FMA(op, r, 12) FMA(op, r, 13)

/* Without such an instruction: as many products as sums, each register in one chain of its own. */
#define MUL(type, n) "mul" type " %%xmm15, %%xmm" #n "\n"
#define ADD(type, n) "add" type " %%xmm14, %%xmm" #n "\n"
#define MUL_2(type, a, b) MUL(type, a) MUL(type, b)
#define ADD_2(type, a, b) ADD(type, a) ADD(type, b)
#define MUL_6(type) MUL_2(type, 0, 1) MUL_2(type, 2, 3) MUL_2(type, 4, 5)
#define ADD_6(type) ADD_2(type, 6, 7) ADD_2(type, 8, 9) ADD_2(type, 10, 11)
#define BY_6(type) MUL_6(type) ADD_6(type)
#define BY_4(type) \
    MUL_2(type, 0, 1) MUL_2(type, 2, 3) ADD_2(type, 8, 9) ADD_2(type, 10, 11) MUL_2(type, 4, 5) MUL_2(type, 6, 7) \
    ADD_2(type, 12, 13) ADD_2(type, 8, 9)
#define BY_2(type) \
    MUL_2(type, 0, 1) ADD_2(type, 8, 9) MUL_2(type, 2, 3) ADD_2(type, 10, 11) MUL_2(type, 4, 5) \
    ADD_2(type, 12, 13) MUL_2(type, 6, 7) ADD_2(type, 8, 9)

#define ALL_16(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10) each(11) \
                     each(12) each(13) each(14) each(15)
#define SSE_ZERO(n) "xorps %%xmm" #n ", %%xmm" #n "\n"
#define AVX_ZERO(n) "vxorps %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"

#define TURN(begin, body, end) \
    __asm__ volatile(begin ".p2align 4\n1:\n" body "sub $1, %0\njne 1b\n" end : "+r"(turns) : : "cc", "xmm0", "xmm1", \
                     "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
                     "xmm13", "xmm14", "xmm15")
#define TURN_FMA(body) TURN(ALL_16(AVX_ZERO), body, "vzeroupper\n")
#define TURN_PAIRS(body) TURN(ALL_16(SSE_ZERO), body, "")

static void spin_avx512_f32(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231ps", "zmm")); break;
    case 1: TURN_FMA(FMA_12("vfmadd231ps", "zmm")); break;
    default: TURN_FMA(FMA_14("vfmadd231ps", "zmm"));
    }
}

static void spin_avx512_f64(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231pd", "zmm")); break;
    case 1: TURN_FMA(FMA_12("vfmadd231pd", "zmm")); break;
    default: TURN_FMA(FMA_14("vfmadd231pd", "zmm"));
    }
}

/* A sum and its maximum with an accumulator: the sum by either unit. */
#define SUM_FMA(r, n, t) "vmovaps %%" r "15, %%" r #t "\nvfmadd231ps %%" r "15, %%" r "14, %%" r #t "\nvmaxps %%" r #t ", %%" r #n ", %%" r #n "\n"
#define SUM_ADD(r, n, t) "vaddps %%" r "15, %%" r "14, %%" r #t "\nvmaxps %%" r #t ", %%" r #n ", %%" r #n "\n"
#define SUMS_8(sum, r) sum(r, 0, 10) sum(r, 1, 11) sum(r, 2, 12) sum(r, 3, 13) sum(r, 4, 10) sum(r, 5, 11) sum(r, 6, 12) sum(r, 7, 13)
#define SUMS_10(sum, r) SUMS_8(sum, r) sum(r, 8, 10) sum(r, 9, 11)

static void spin_maxima_avx512(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(SUM_ADD, "zmm")); break;
    case 1: TURN_FMA(SUMS_8(SUM_FMA, "zmm")); break;
    default: TURN_FMA(SUMS_10(SUM_FMA, "zmm"));
    }
}

static void spin_maxima_avx2(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(SUM_ADD, "ymm")); break;
    case 1: TURN_FMA(SUMS_8(SUM_FMA, "ymm")); break;
    default: TURN_FMA(SUMS_10(SUM_FMA, "ymm"));
    }
}

/* The same with a comparison that finds a NaN, which then takes the accumulator's place. */
#define NAN_STEP(n, t) "vcmpps $3, %%zmm" #t ", %%zmm" #t ", %%k1\nvmovaps %%zmm" #t ", %%zmm" #n "%{%%k1%}\n"
#define NAN_FMA(r, n, t) SUM_FMA(r, n, t) NAN_STEP(n, t)
#define NAN_ADD(r, n, t) SUM_ADD(r, n, t) NAN_STEP(n, t)

static void spin_nans_avx512(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(NAN_ADD, "zmm")); break;
    case 1: TURN_FMA(SUMS_8(NAN_FMA, "zmm")); break;
    default: TURN_FMA(SUMS_10(NAN_FMA, "zmm"));
    }
}

/* The same with AVX2, whose comparisons make vectors. */
#define BLEND_STEP(n, t) "vcmpps $3, %%ymm" #t ", %%ymm" #t ", %%ymm13\nvblendvps %%ymm13, %%ymm" #t ", %%ymm" #n ", %%ymm" #n "\n"
#define BLEND_FMA(r, n, t) SUM_FMA(r, n, t) BLEND_STEP(n, t)
#define BLEND_ADD(r, n, t) SUM_ADD(r, n, t) BLEND_STEP(n, t)
#define BLENDS_8(sum) sum("ymm", 0, 8) sum("ymm", 1, 9) sum("ymm", 2, 10) sum("ymm", 3, 11) sum("ymm", 4, 8) sum("ymm", 5, 9) \
                      sum("ymm", 6, 10) sum("ymm", 7, 11)

static void spin_nans_avx2(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(BLENDS_8(BLEND_ADD)); break;
    default: TURN_FMA(BLENDS_8(BLEND_FMA));
    }
}

/* A difference and its square, added up: one after the other, or some differences first. */
#define DIFFERENCE(r, t) "vsubps %%" r "15, %%" r "14, %%" r #t "\n"
#define SQUARE(r, n, t) "vfmadd231ps %%" r #t ", %%" r #t ", %%" r #n "\n"
#define SQUARE_STEP(r, n, t) DIFFERENCE(r, t) SQUARE(r, n, t)
#define SQUARES_4(r, a, b, c, d) \
    DIFFERENCE(r, 10) DIFFERENCE(r, 11) DIFFERENCE(r, 12) DIFFERENCE(r, 13) SQUARE(r, a, 10) SQUARE(r, b, 11) SQUARE(r, c, 12) SQUARE(r, d, 13)
#define SQUARES_8(r) SQUARES_4(r, 0, 1, 2, 3) SQUARES_4(r, 4, 5, 6, 7)

/* exp(-|x|^2 / 2), times a number and added up, of 16 differences x of three numbers each: as few instructions as our
 * kernels' e^x takes (docs/measurements.md#gaussian-sums). Vectors d, t, n, q and p are its own. */
#define GAUSSIAN_DISTANCE(r, d, t) \
    DIFFERENCE(r, d) "vmulps %%" r #d ", %%" r #d ", %%" r #d "\n" DIFFERENCE(r, t) SQUARE(r, d, t) DIFFERENCE(r, t) SQUARE(r, d, t)
#define GAUSSIAN_REST(d, n, q, p) \
    "vmovaps %%zmm15, %%zmm" #p "\nvfmadd231ps %%zmm14, %%zmm" #d ", %%zmm" #p "\nvsubps %%zmm15, %%zmm" #p ", %%zmm" #n "\n" \
    "vmovaps %%zmm" #n ", %%zmm" #q "\nvfmsub231ps %%zmm14, %%zmm" #d ", %%zmm" #q "\nvfmadd231ps %%zmm13, %%zmm" #d ", %%zmm" #q "\n"
#define GAUSSIAN_POWER(sum, t, n, q, p) \
    "vpermi2ps %%zmm14, %%zmm13, %%zmm" #p "\nvmovaps %%zmm13, %%zmm" #t "\nvfmadd213ps %%zmm14, %%zmm" #q ", %%zmm" #t "\n" \
    "vmulps %%zmm" #t ", %%zmm" #q ", %%zmm" #q "\nvfmadd213ps %%zmm" #p ", %%zmm" #p ", %%zmm" #q "\n" \
    "vscalefps %%zmm" #n ", %%zmm" #q ", %%zmm" #q "\nvfmadd231ps %%zmm15, %%zmm" #q ", %%zmm" #sum "\n"
#define GAUSSIAN(sum, d, t, n, q, p) GAUSSIAN_DISTANCE("zmm", d, t) GAUSSIAN_REST(d, n, q, p) GAUSSIAN_POWER(sum, t, n, q, p)
#define GAUSSIAN_2(a, b) GAUSSIAN(a, 3, 4, 5, 6, 7) GAUSSIAN(b, 8, 9, 10, 11, 12)
#define GAUSSIAN_MIXED_2(a, b) \
    GAUSSIAN_DISTANCE("zmm", 3, 4) GAUSSIAN_DISTANCE("zmm", 8, 9) GAUSSIAN_REST(3, 5, 6, 7) GAUSSIAN_REST(8, 10, 11, 12) \
    GAUSSIAN_POWER(a, 4, 5, 6, 7) GAUSSIAN_POWER(b, 9, 10, 11, 12)

static void spin_gaussians_avx512(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(GAUSSIAN_2(0, 1)); break;
    case 1: TURN_FMA(GAUSSIAN_MIXED_2(0, 1)); break;
    default: TURN_FMA(GAUSSIAN_2(0, 1) GAUSSIAN_2(0, 2));
    }
}

/* The same with a polynomial of more terms and no table, and the power of two in two steps: AVX2 has no instructions for these. */
#define SMALL_REST(d, n) \
    "vmulps %%ymm15, %%ymm" #d ", %%ymm" #d "\nvmaxps %%ymm14, %%ymm" #d ", %%ymm" #d "\nvminps %%ymm13, %%ymm" #d ", %%ymm" #d "\n" \
    "vmovaps %%ymm15, %%ymm" #n "\nvfmadd231ps %%ymm14, %%ymm" #d ", %%ymm" #n "\nvsubps %%ymm15, %%ymm" #n ", %%ymm" #n "\n" \
    "vfmadd231ps %%ymm14, %%ymm" #n ", %%ymm" #d "\nvfmadd231ps %%ymm13, %%ymm" #n ", %%ymm" #d "\n"
#define SMALL_TERM(d, q) "vfmadd213ps %%ymm14, %%ymm" #d ", %%ymm" #q "\n"
#define SMALL_POWER(sum, d, t, n, q) \
    "vmovaps %%ymm13, %%ymm" #q "\n" SMALL_TERM(d, q) SMALL_TERM(d, q) SMALL_TERM(d, q) SMALL_TERM(d, q) SMALL_TERM(d, q) \
    "vaddps %%ymm15, %%ymm" #n ", %%ymm" #n "\nvpsrld $1, %%ymm" #n ", %%ymm" #t "\nvpsubd %%ymm" #t ", %%ymm" #n ", %%ymm" #n "\n" \
    "vpslld $23, %%ymm" #t ", %%ymm" #t "\nvpslld $23, %%ymm" #n ", %%ymm" #n "\nvmulps %%ymm" #t ", %%ymm" #q ", %%ymm" #q "\n" \
    "vmulps %%ymm" #n ", %%ymm" #q ", %%ymm" #q "\nvfmadd231ps %%ymm15, %%ymm" #q ", %%ymm" #sum "\n"
#define SMALL(sum, d, t, n, q) GAUSSIAN_DISTANCE("ymm", d, t) SMALL_REST(d, n) SMALL_POWER(sum, d, t, n, q)
#define SMALL_2(a, b) SMALL(a, 3, 4, 5, 6) SMALL(b, 7, 8, 9, 10)

static void spin_gaussians_avx2(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SMALL(0, 3, 4, 5, 6)); break;
    default: TURN_FMA(SMALL_2(0, 1));
    }
}

static void spin_squares_avx512(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(SQUARE_STEP, "zmm")); break;
    case 1: TURN_FMA(SQUARES_8("zmm")); break;
    default: TURN_FMA(SUMS_10(SQUARE_STEP, "zmm"));
    }
}

static void spin_squares_avx2(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(SQUARE_STEP, "ymm")); break;
    case 1: TURN_FMA(SQUARES_8("ymm")); break;
    default: TURN_FMA(SUMS_10(SQUARE_STEP, "ymm"));
    }
}

static void spin_avx2_f32(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231ps", "ymm")); break;
    case 1: TURN_FMA(FMA_12("vfmadd231ps", "ymm")); break;
    default: TURN_FMA(FMA_14("vfmadd231ps", "ymm"));
    }
}

static void spin_avx2_f64(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231pd", "ymm")); break;
    case 1: TURN_FMA(FMA_12("vfmadd231pd", "ymm")); break;
    default: TURN_FMA(FMA_14("vfmadd231pd", "ymm"));
    }
}

static void spin_f32(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_PAIRS(BY_2("ps")); break;
    case 1: TURN_PAIRS(BY_4("ps")); break;
    default: TURN_PAIRS(BY_6("ps"));
    }
}

static void spin_f64(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_PAIRS(BY_2("pd")); break;
    case 1: TURN_PAIRS(BY_4("pd")); break;
    default: TURN_PAIRS(BY_6("pd"));
    }
}

static void spin_bf16(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vdpbf16ps", "zmm")); break;
    case 1: TURN_FMA(FMA_12("vdpbf16ps", "zmm")); break;
    default: TURN_FMA(FMA_14("vdpbf16ps", "zmm"));
    }
}

static void spin_i8(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vpdpbusd", "zmm")); break;
    case 1: TURN_FMA(FMA_12("vpdpbusd", "zmm")); break;
    default: TURN_FMA(FMA_14("vpdpbusd", "zmm"));
    }
}

/* Two products of i16 and their sum are one instruction, and what adds it up is another one; or one is all of it. */
#define SHORT(r, n, t) "vpmaddwd %%" r "15, %%" r "14, %%" r #t "\nvpaddd %%" r #t ", %%" r #n ", %%" r #n "\n"

static void spin_i16_avx512(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(SHORT, "zmm")); break;
    default: TURN_FMA(SUMS_10(SHORT, "zmm"));
    }
}

static void spin_i16_avx2(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(SUMS_8(SHORT, "ymm")); break;
    default: TURN_FMA(SUMS_10(SHORT, "ymm"));
    }
}

static void spin_i16(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vpdpwssd", "zmm")); break;
    case 1: TURN_FMA(FMA_12("vpdpwssd", "zmm")); break;
    default: TURN_FMA(FMA_14("vpdpwssd", "zmm"));
    }
}

/* ---- tiles ---- */

/* Assemblers that come with older compilers do not know these instructions. */
#if __GNUC__ >= 11 || defined(__clang__)

enum { TILE_STEPS = 4, TILE_BYTES = 1024, TILE_SIDE = 2 * TILE_STEPS * TILE_BYTES };

/* Four steps of 64 bytes along k: two tiles of rows (in memory one after the other along k, as a matrix has them), then
 * two of columns (packed). Zeros would be multiplied faster than numbers. */
static uint8_t tile_data[2][2 * TILE_SIDE] __attribute__((aligned(64)));    /* of bf16, of i8 */

static void fill_tile_data(void)
{
    uint32_t state = 1;
    for (int i = 0; i < 2 * TILE_SIDE; i++) {
        state = state * 1664525 + 1013904223;
        uint8_t random = (uint8_t)(state >> 24);
        tile_data[1][i] = random;
        tile_data[0][i] = i % 2 ? (random & 0x80) | 0x3f : random;    /* +-0.5 to 2 */
    }
}

static bool ask_for_tiles(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_tile_data);
    return cpu_gives_tiles();
}

#define LOAD_ROWS(t, offset) "tileloadd " #offset "(%1,%3,1), %%tmm" #t "\n"
#define LOAD_COLUMNS(t, offset) "tileloadd " #offset "(%2,%4,1), %%tmm" #t "\n"
#define PRODUCT(op, c, a, b) op " %%tmm" #b ", %%tmm" #a ", %%tmm" #c "\n"
#define ZERO_TILE(n) "tilezero %%tmm" #n "\n"
#define ZERO_TILES ZERO_TILE(0) ZERO_TILE(1) ZERO_TILE(2) ZERO_TILE(3)

/* The three orders of a step differ in how early loads come before the products that need them. */
#define STEP_SPREAD(op, a0, a1, b0, b1) \
    LOAD_ROWS(4, a0) LOAD_COLUMNS(6, b0) PRODUCT(op, 0, 4, 6) LOAD_COLUMNS(7, b1) \
    PRODUCT(op, 1, 4, 7) LOAD_ROWS(5, a1) PRODUCT(op, 2, 5, 6) PRODUCT(op, 3, 5, 7)
#define STEP_FIRST(op, a0, a1, b0, b1) \
    LOAD_ROWS(4, a0) LOAD_COLUMNS(6, b0) LOAD_COLUMNS(7, b1) LOAD_ROWS(5, a1) \
    PRODUCT(op, 0, 4, 6) PRODUCT(op, 1, 4, 7) PRODUCT(op, 2, 5, 6) PRODUCT(op, 3, 5, 7)
#define STEP_COLUMNS(op, a0, a1, b0, b1) \
    LOAD_COLUMNS(6, b0) LOAD_ROWS(4, a0) PRODUCT(op, 0, 4, 6) LOAD_ROWS(5, a1) \
    PRODUCT(op, 2, 5, 6) LOAD_COLUMNS(7, b1) PRODUCT(op, 1, 4, 7) PRODUCT(op, 3, 5, 7)
#define STEPS(step, op) \
    step(op, 0, 4096, 0, 4096) step(op, 64, 4160, 1024, 5120) step(op, 128, 4224, 2048, 6144) \
    step(op, 192, 4288, 3072, 7168)

#define TURN_TILES(data, body) \
    __asm__ volatile(ZERO_TILES ".p2align 4\n1:\n" body "sub $1, %0\njne 1b\n" \
                     : "+r"(turns) : "r"(data), "r"(data + TILE_SIDE), "r"((int64_t)TILE_STEPS * 64), "r"((int64_t)64) \
                     : "cc", "memory")

static void begin_tiles(void)
{
    uint8_t shape[64] = { 1 };                  /* palette 1, then from 16 bytes of a row, from 48 rows */
    for (int t = 0; t < 8; t++)
        shape[16 + 2 * t] = 64, shape[48 + t] = 16;
    __asm__ volatile("ldtilecfg %0" : : "m"(shape) : "memory");
}

static void end_tiles(void)
{
    __asm__ volatile("tilerelease" : : : "memory");
}

static void spin_tiles_bf16(int64_t turns, int kernel)
{
    const uint8_t *data = tile_data[0];
    begin_tiles();
    switch (kernel) {
    case 0: TURN_TILES(data, STEPS(STEP_SPREAD, "tdpbf16ps")); break;
    case 1: TURN_TILES(data, STEPS(STEP_FIRST, "tdpbf16ps")); break;
    default: TURN_TILES(data, STEPS(STEP_COLUMNS, "tdpbf16ps"));
    }
    end_tiles();
}

static void spin_tiles_i8(int64_t turns, int kernel)
{
    const uint8_t *data = tile_data[1];
    begin_tiles();
    switch (kernel) {
    case 0: TURN_TILES(data, STEPS(STEP_SPREAD, "tdpbssd")); break;
    case 1: TURN_TILES(data, STEPS(STEP_FIRST, "tdpbssd")); break;
    default: TURN_TILES(data, STEPS(STEP_COLUMNS, "tdpbssd"));
    }
    end_tiles();
}

#define TILE_FLOPS(k) { 16 * 16 * 16 * 2 * k, 16 * 16 * 16 * 2 * k, 16 * 16 * 16 * 2 * k }
#define TILE_UNITS \
    { "amx", DTYPE_BF16, spin_tiles_bf16, "amx_bf16", ask_for_tiles, 1000, TILE_FLOPS(32) }, \
    { "amx", DTYPE_I8, spin_tiles_i8, "amx_int8", ask_for_tiles, 1000, TILE_FLOPS(64) },
#else
#define TILE_UNITS
#endif

static const PeakUnit units[] = {
    TILE_UNITS
    { "avx512", DTYPE_F32, spin_avx512_f32, "avx512f", NULL, 100000, { 8 * 32, 12 * 32, 14 * 32 } },
    { "avx512", DTYPE_F64, spin_avx512_f64, "avx512f", NULL, 100000, { 8 * 16, 12 * 16, 14 * 16 } },
    { "avx512bf16", DTYPE_BF16, spin_bf16, "avx512_bf16", NULL, 100000, { 8 * 64, 12 * 64, 14 * 64 } },
    { "avx512vnni", DTYPE_I8, spin_i8, "avx512_vnni", NULL, 100000, { 8 * 128, 12 * 128, 14 * 128 } },
    { "avx512vnni", DTYPE_I16, spin_i16, "avx512_vnni", NULL, 100000, { 8 * 64, 12 * 64, 14 * 64 } },
    { "avx512", DTYPE_I16, spin_i16_avx512, "avx512bw", NULL, 100000, { 8 * 64, 10 * 64, 10 * 64 } },
    { "avx2", DTYPE_I16, spin_i16_avx2, "avx2", NULL, 100000, { 8 * 32, 10 * 32, 10 * 32 } },
    { "avx2", DTYPE_F32, spin_avx2_f32, "fma", NULL, 100000, { 8 * 16, 12 * 16, 14 * 16 } },
    { "avx2", DTYPE_F64, spin_avx2_f64, "fma", NULL, 100000, { 8 * 8, 12 * 8, 14 * 8 } },
    { "portable", DTYPE_F32, spin_f32, NULL, NULL, 100000, { 8 * 8, 8 * 8, 6 * 8 } },
    { "portable", DTYPE_F64, spin_f64, NULL, NULL, 100000, { 8 * 4, 8 * 4, 6 * 4 } },
    { "maxima", DTYPE_F32, spin_maxima_avx512, "avx512f", NULL, 50000, { 8 * 32, 8 * 32, 10 * 32 } },
    { "maxima", DTYPE_F32, spin_maxima_avx2, "fma", NULL, 50000, { 8 * 16, 8 * 16, 10 * 16 } },
    { "nans", DTYPE_F32, spin_nans_avx512, "avx512f", NULL, 50000, { 8 * 32, 8 * 32, 10 * 32 } },
    { "nans", DTYPE_F32, spin_nans_avx2, "fma", NULL, 50000, { 8 * 16, 8 * 16, 8 * 16 } },
    { "gaussians", DTYPE_F32, spin_gaussians_avx512, "avx512f", NULL, 50000, { 2 * 32, 2 * 32, 4 * 32 } },
    { "gaussians", DTYPE_F32, spin_gaussians_avx2, "fma", NULL, 50000, { 16, 2 * 16, 2 * 16 } },
    { "squares", DTYPE_F32, spin_squares_avx512, "avx512f", NULL, 50000, { 8 * 32, 8 * 32, 10 * 32 } },
    { "squares", DTYPE_F32, spin_squares_avx2, "fma", NULL, 50000, { 8 * 16, 8 * 16, 10 * 16 } },
    { .target = NULL }
};

#else

typedef float F32Vector __attribute__((vector_size(16)));
typedef double F64Vector __attribute__((vector_size(16)));

static volatile float start;      /* that the compiler does not know, and where results go */

static void spin_f32(int64_t turns, int kernel)
{
    F32Vector x = { start, start, start, start }, a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x;
    (void)kernel;
    for (; turns; turns--) {
        a = a * x + x, b = b * x + x, c = c * x + x, d = d * x + x;
        e = e * x + x, f = f * x + x, g = g * x + x, h = h * x + x;
    }
    a += b + c + d + e + f + g + h;
    start = a[0] + a[1] + a[2] + a[3];
}

static void spin_f64(int64_t turns, int kernel)
{
    F64Vector x = { start, start }, a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x;
    (void)kernel;
    for (; turns; turns--) {
        a = a * x + x, b = b * x + x, c = c * x + x, d = d * x + x;
        e = e * x + x, f = f * x + x, g = g * x + x, h = h * x + x;
    }
    a += b + c + d + e + f + g + h;
    start = (float)(a[0] + a[1]);
}

static const PeakUnit units[] = {
    { "portable", DTYPE_F32, spin_f32, NULL, NULL, 100000, { 8 * 8, 8 * 8, 8 * 8 } },
    { "portable", DTYPE_F64, spin_f64, NULL, NULL, 100000, { 8 * 4, 8 * 4, 8 * 4 } },
    { .target = NULL }
};

#endif

/* A target that runs here has the units that are named like its features, too: avx512bf16 those of avx512. Those of semirings and of
 * differences count as two operations what takes the place of a multiply-add. */
static bool has_unit(const char *name, const PeakUnit *unit)
{
    const Target *target = target_find(name);
    return !strcmp(name, unit->target) || (target && target_runs_here(target) && target_has_feature(target, unit->target));
}

const PeakUnit *peak_unit(const char *target, Dtype dtype)
{
    for (const PeakUnit *unit = units; unit->target; unit++)
        if (unit->dtype == dtype && has_unit(target, unit) && (!unit->cpu || cpu_has(unit->cpu))
            && (!unit->ask || unit->ask()))
            return unit;
    return NULL;
}

typedef struct SpinJob {
    const PeakUnit *unit;
    int kernel;
} SpinJob;

static void spin_task(void *argument, int64_t index, int worker)
{
    const SpinJob *job = argument;
    (void)index, (void)worker;
    job->unit->spin(job->unit->turns, job->kernel);
}

double peak_sample(Pool *pool, int workers, const PeakUnit *unit)
{
    double best = 0;
    for (int k = 0; k < KERNELS; k++) {
        SpinJob job = { unit, k };
        int64_t tasks = (int64_t)TASKS * workers;
        double begin = peak_seconds(workers);
        pool_run(pool, workers, tasks, spin_task, &job);
        double rate = (double)tasks * (double)unit->turns * unit->flops[k] / (peak_seconds(workers) - begin);
        best = rate > best ? rate : best;
    }
    return best;
}
