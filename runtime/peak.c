#include "peak.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS = 3,
    TASKS = 32,                   /* for each worker, so that none waits long for another */
    TURNS = 20000,                /* of one task: some 30 microseconds */
    BUFFER = 256 << 20,           /* bytes, at least, that no cache holds */
    SHARE_MIN = 4096,             /* bytes of one worker */
    ROUND = 1 << 19,              /* vectors that one worker walks over, at least, to be measured */
    PIECE_MIN = 1 << 12,          /* vectors of one of several tasks of a worker, at least */
};

enum { WALK_READ, WALK_UPDATE, WALK_WRITE, WALK_SET, WALKS };

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
    int flops[SPINS];           /* of one turn */
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

static double spin_rate(const Peaks *p, int kernel)
{
    const SpinFacts *facts = find_spin(p->target, p->dtype);
    SpinJob job = { facts->spin, kernel };
    int64_t tasks = (int64_t)TASKS * p->workers;
    double begin = seconds_now();
    pool_run(p->pool, p->workers, tasks, spin_task, &job);
    return (double)tasks * TURNS * facts->flops[kernel] / (seconds_now() - begin);
}

/* ---- memory ---- */

typedef uint64_t Words __attribute__((vector_size(64)));

/* What a task does with its piece of the buffer, so many times. */
typedef void Walk(Words *at, int64_t count, int64_t passes);

#define INLINE static inline __attribute__((always_inline))
#define KEEP_ORDER __asm__ volatile("" : : : "memory")

INLINE void walk_read(Words *at, int64_t count, int64_t passes)
{
    Words a = { 0 }, b = a, c = a, d = a;
    for (; passes; passes--) {
        for (int64_t i = 0; i < count; i += 8) {
            a += at[i] ^ at[i + 4];
            b += at[i + 1] ^ at[i + 5];
            c += at[i + 2] ^ at[i + 6];
            d += at[i + 3] ^ at[i + 7];
        }
        KEEP_ORDER;
    }
    *(volatile uint64_t *)at = (a + b + c + d)[0];    /* so that the reading is for something */
}

INLINE void walk_update(Words *at, int64_t count, int64_t passes)
{
    Words one = { 1, 1, 1, 1, 1, 1, 1, 1 };
    for (; passes; passes--) {
        for (int64_t i = 0; i < count; i += 4) {
            at[i] += one;
            at[i + 1] += one;
            at[i + 2] += one;
            at[i + 3] += one;
        }
        KEEP_ORDER;
    }
}

INLINE void walk_write(Words *at, int64_t count, int64_t passes)
{
    Words one = { 1, 1, 1, 1, 1, 1, 1, 1 };
    for (; passes; passes--) {
        for (int64_t i = 0; i < count; i += 4) {
            at[i] = one;
            at[i + 1] = one;
            at[i + 2] = one;
            at[i + 3] = one;
        }
        KEEP_ORDER;
    }
}

/* The C library's own way, which may pass by the caches. */
static void set(Words *at, int64_t count, int64_t passes)
{
    for (; passes; passes--) {
        memset(at, (int)passes, (size_t)count * sizeof *at);
        KEEP_ORDER;
    }
}

static void read_plain(Words *at, int64_t count, int64_t passes) { walk_read(at, count, passes); }
static void update_plain(Words *at, int64_t count, int64_t passes) { walk_update(at, count, passes); }
static void write_plain(Words *at, int64_t count, int64_t passes) { walk_write(at, count, passes); }

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2"))) static
#define AVX512 __attribute__((target("avx512f"))) static
AVX2 void read_avx2(Words *at, int64_t count, int64_t passes) { walk_read(at, count, passes); }
AVX2 void update_avx2(Words *at, int64_t count, int64_t passes) { walk_update(at, count, passes); }
AVX2 void write_avx2(Words *at, int64_t count, int64_t passes) { walk_write(at, count, passes); }
AVX512 void read_avx512(Words *at, int64_t count, int64_t passes) { walk_read(at, count, passes); }
AVX512 void update_avx512(Words *at, int64_t count, int64_t passes) { walk_update(at, count, passes); }
AVX512 void write_avx512(Words *at, int64_t count, int64_t passes) { walk_write(at, count, passes); }
#endif

typedef struct WalkFacts {
    const char *target;           /* NULL: any */
    Walk *walks[WALKS];
} WalkFacts;

static const WalkFacts walk_facts[] = {
#if defined(__x86_64__)
    { "avx512", { read_avx512, update_avx512, write_avx512, set } },
    { "avx2", { read_avx2, update_avx2, write_avx2, set } },
#endif
    { NULL, { read_plain, update_plain, write_plain, set } },
};

static Walk *find_walk(const Target *target, int kernel)
{
    const WalkFacts *facts = walk_facts;
    while (facts->target && strcmp(facts->target, target->name))
        facts++;
    return facts->walks[kernel];
}

typedef struct WalkJob {
    Walk *walk;
    Words *buffer;
    int64_t piece, passes;        /* of one task: vectors, a multiple of 8, and how often */
} WalkJob;

static void walk_task(void *argument, int64_t index, int worker)
{
    const WalkJob *job = argument;
    (void)worker;
    job->walk(job->buffer + index * job->piece, job->piece, job->passes);
}

/* Each worker walks over its own share: as often as one round is worth measuring, if the share is small, or in pieces,
 * so that none waits long for another. */
static double walk_rate(const Peaks *p, int kernel)
{
    int64_t share = (int64_t)(p->bytes / sizeof(Words)) / p->workers, pieces = share > PIECE_MIN * TASKS ? TASKS : 1;
    int64_t piece = share / pieces / 8 * 8, passes = share < ROUND ? ROUND / share : 1, tasks = pieces * p->workers;
    WalkJob job = { find_walk(p->target, kernel), p->buffer, piece, passes };
    int moved = kernel == WALK_UPDATE ? 2 : 1;
    double begin = seconds_now();
    pool_run(p->pool, p->workers, tasks, walk_task, &job);
    return (double)(tasks * piece * passes * moved) * sizeof(Words) / (seconds_now() - begin);
}

/* As many bytes as the operands have, up to what no cache holds. */
static size_t buffer_bytes(double operands, int workers)
{
    size_t most = BUFFER, least = (size_t)workers * SHARE_MIN;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    while (cache > 0 && most < 4 * (size_t)cache && most < (size_t)4 << 30)
        most *= 2;
#endif
    return operands > (double)most ? most : operands < (double)least ? least : (size_t)operands;
}

/* ---- the peaks ---- */

bool peaks_open(Peaks *p, Pool *pool, int workers, const Target *target, Dtype dtype, double operands)
{
    *p = (Peaks){ .pool = pool, .workers = workers, .target = target, .dtype = dtype };
    p->bytes = buffer_bytes(operands, workers);
    void *memory = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p->buffer = memory == MAP_FAILED ? NULL : memory;
    if (p->buffer)
        madvise(p->buffer, p->bytes, MADV_HUGEPAGE);
    return p->buffer;
}

static void raise_to(double *best, double rate)
{
    *best = rate > *best ? rate : *best;
}

void peaks_measure(Peaks *p)
{
    for (int k = 0; k < SPINS; k++)
        raise_to(&p->flops, spin_rate(p, k));
    raise_to(&p->written, walk_rate(p, WALK_WRITE));    /* the first, so that no page is still the one of zeros */
    raise_to(&p->written, walk_rate(p, WALK_SET));
    raise_to(&p->updated, walk_rate(p, WALK_UPDATE));
    raise_to(&p->read, walk_rate(p, WALK_READ));
}

double peaks_seconds(const Peaks *p, double read, double written)
{
    double both = read < written ? read : written;
    return 2 * both / p->updated + (read - both) / p->read + (written - both) / p->written;
}

void peaks_close(Peaks *p)
{
    if (p->buffer)
        munmap(p->buffer, p->bytes);
    p->buffer = NULL;
}
