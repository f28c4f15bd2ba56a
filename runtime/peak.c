#include "peak.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    KERNELS = 3,
    TASKS = 32,                   /* for each worker, so that none waits long for another */
    TURNS = 100000,               /* of one task: some 100 microseconds */
    REPEATS = 5,
    BUFFER = 256 << 20
};

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- multiply-adds ---- */

/* Runs a loop so many times; `kernel` says which. */
typedef void Spin(int64_t turns, int kernel);

typedef struct SpinFacts {
    const char *target;           /* NULL: any */
    Dtype dtype;
    Spin *spin;
    int flops[KERNELS];           /* of one turn */
} SpinFacts;

#if defined(__x86_64__)

/* Register 15 is multiplied by 14 and added to each of the others. All are 0, which is as fast as any number. */
#define FMA(op, r, n) op " %%" r "14, %%" r "15, %%" r #n "\n"
#define FMA_8(op, r) FMA(op, r, 0) FMA(op, r, 1) FMA(op, r, 2) FMA(op, r, 3) FMA(op, r, 4) FMA(op, r, 5) FMA(op, r, 6) FMA(op, r, 7)
#define FMA_10(op, r) FMA_8(op, r) FMA(op, r, 8) FMA(op, r, 9)
#define FMA_12(op, r) FMA_10(op, r) FMA(op, r, 10) FMA(op, r, 11)

/* Without such an instruction: as many products as sums. */
#define PAIR(type, a, b) "mul" type " %%xmm15, %%xmm" #a "\nadd" type " %%xmm14, %%xmm" #b "\n"
#define PAIRS_4(type) PAIR(type, 0, 1) PAIR(type, 2, 3) PAIR(type, 4, 5) PAIR(type, 6, 7)
#define PAIRS_5(type) PAIRS_4(type) PAIR(type, 8, 9)
#define PAIRS_6(type) PAIRS_5(type) PAIR(type, 10, 11)

#define ALL_16(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) each(8) each(9) each(10) each(11) \
                     each(12) each(13) each(14) each(15)
#define SSE_ZERO(n) "xorps %%xmm" #n ", %%xmm" #n "\n"
#define AVX_ZERO(n) "vxorps %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"

#define TURN(begin, body, end)                                                                                      \
    __asm__ volatile(begin ".p2align 4\n1:\n" body "sub $1, %0\njne 1b\n" end : "+r"(turns) : : "cc", "xmm0", "xmm1", \
                     "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",     \
                     "xmm13", "xmm14", "xmm15")
#define TURN_FMA(body) TURN(ALL_16(AVX_ZERO), body, "vzeroupper\n")
#define TURN_PAIRS(body) TURN(ALL_16(SSE_ZERO), body, "")

static void spin_avx512_f32(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231ps", "zmm")); break;
    case 1: TURN_FMA(FMA_10("vfmadd231ps", "zmm")); break;
    default: TURN_FMA(FMA_12("vfmadd231ps", "zmm"));
    }
}

static void spin_avx512_f64(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231pd", "zmm")); break;
    case 1: TURN_FMA(FMA_10("vfmadd231pd", "zmm")); break;
    default: TURN_FMA(FMA_12("vfmadd231pd", "zmm"));
    }
}

static void spin_avx2_f32(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231ps", "ymm")); break;
    case 1: TURN_FMA(FMA_10("vfmadd231ps", "ymm")); break;
    default: TURN_FMA(FMA_12("vfmadd231ps", "ymm"));
    }
}

static void spin_avx2_f64(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_FMA(FMA_8("vfmadd231pd", "ymm")); break;
    case 1: TURN_FMA(FMA_10("vfmadd231pd", "ymm")); break;
    default: TURN_FMA(FMA_12("vfmadd231pd", "ymm"));
    }
}

static void spin_f32(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_PAIRS(PAIRS_4("ps")); break;
    case 1: TURN_PAIRS(PAIRS_5("ps")); break;
    default: TURN_PAIRS(PAIRS_6("ps"));
    }
}

static void spin_f64(int64_t turns, int kernel)
{
    switch (kernel) {
    case 0: TURN_PAIRS(PAIRS_4("pd")); break;
    case 1: TURN_PAIRS(PAIRS_5("pd")); break;
    default: TURN_PAIRS(PAIRS_6("pd"));
    }
}

static const SpinFacts spins[] = {
    { "avx512", DTYPE_F32, spin_avx512_f32, { 8 * 32, 10 * 32, 12 * 32 } },
    { "avx512", DTYPE_F64, spin_avx512_f64, { 8 * 16, 10 * 16, 12 * 16 } },
    { "avx2", DTYPE_F32, spin_avx2_f32, { 8 * 16, 10 * 16, 12 * 16 } },
    { "avx2", DTYPE_F64, spin_avx2_f64, { 8 * 8, 10 * 8, 12 * 8 } },
    { NULL, DTYPE_F32, spin_f32, { 4 * 8, 5 * 8, 6 * 8 } },
    { NULL, DTYPE_F64, spin_f64, { 4 * 4, 5 * 4, 6 * 4 } },
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

static const SpinFacts spins[] = {
    { NULL, DTYPE_F32, spin_f32, { 8 * 8, 8 * 8, 8 * 8 } },
    { NULL, DTYPE_F64, spin_f64, { 8 * 4, 8 * 4, 8 * 4 } },
};

#endif

static const SpinFacts *find_spin(const Target *target, Dtype dtype)
{
    const SpinFacts *spin = spins;
    while (spin->dtype != dtype || (spin->target && strcmp(spin->target, target->name)))
        spin++;
    return spin;
}

typedef struct SpinJob {
    Spin *spin;
    int kernel;
} SpinJob;

static void spin_task(void *argument, int64_t index, int worker)
{
    const SpinJob *job = argument;
    (void)index, (void)worker;
    job->spin(TURNS, job->kernel);
}

double peak_flops(Pool *pool, int workers, const Target *target, Dtype dtype)
{
    const SpinFacts *facts = find_spin(target, dtype);
    double best = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++)
        for (int k = 0; k < KERNELS; k++) {
            SpinJob job = { facts->spin, k };
            int64_t tasks = (int64_t)TASKS * workers;
            double begin = seconds_now();
            pool_run(pool, workers, tasks, spin_task, &job);
            double rate = (double)tasks * TURNS * facts->flops[k] / (seconds_now() - begin);
            best = rate > best ? rate : best;
        }
    return best;
}

/* ---- reading ---- */

typedef uint64_t Words __attribute__((vector_size(16)));

typedef struct ReadJob {
    Words *words;
    int64_t slice;                /* vectors of one task; a multiple of 8 */
    uint64_t *sums;               /* [tasks]: so that the reading is for something */
} ReadJob;

/* Pages that were never written would all be the same one; and each is to lie near a processor that reads it. */
static void touch_task(void *argument, int64_t index, int worker)
{
    const ReadJob *job = argument;
    (void)worker;
    memset(job->words + index * job->slice, 1, (size_t)job->slice * sizeof(Words));
}

static void read_task(void *argument, int64_t index, int worker)
{
    const ReadJob *job = argument;
    const Words *at = job->words + index * job->slice;
    Words a = { 0, 0 }, b = a, c = a, d = a;
    (void)worker;
    for (int64_t i = 0; i < job->slice; i += 8) {
        a += at[i] ^ at[i + 4];
        b += at[i + 1] ^ at[i + 5];
        c += at[i + 2] ^ at[i + 6];
        d += at[i + 3] ^ at[i + 7];
    }
    a += b + c + d;
    job->sums[index] = a[0] + a[1];
}

static size_t buffer_bytes(void)
{
    size_t bytes = BUFFER;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    while (cache > 0 && bytes < 4 * (size_t)cache && bytes < (size_t)4 << 30)
        bytes *= 2;
#endif
    return bytes;
}

double peak_bytes(Pool *pool, int workers)
{
    size_t bytes = buffer_bytes();
    int64_t tasks = (int64_t)TASKS * workers;
    uint64_t *sums = calloc((size_t)tasks, sizeof *sums);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double best = 0;
    if (sums && memory != MAP_FAILED) {
        madvise(memory, bytes, MADV_HUGEPAGE);
        ReadJob job = { memory, (int64_t)(bytes / sizeof(Words)) / tasks / 8 * 8, sums };
        pool_run(pool, workers, tasks, touch_task, &job);
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            double begin = seconds_now();
            pool_run(pool, workers, tasks, read_task, &job);
            double rate = (double)(tasks * job.slice) * sizeof(Words) / (seconds_now() - begin);
            best = rate > best ? rate : best;
        }
    }
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    free(sums);
    return best;
}
