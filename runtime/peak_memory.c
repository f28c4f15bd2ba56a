#include "peak.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime.h"

enum {
    TASKS = 32,                   /* for each worker */
    PAGE = 4096,
    AHEAD_WORDS = 64,             /* of a prefetch: a page */
    BUFFER = 256 << 20,           /* bytes, at least, that no cache holds */
    PASS = 16 << 20               /* bytes that one measurement reads at least */
};

typedef uint64_t Words __attribute__((vector_size(64)));
typedef uint64_t Half __attribute__((vector_size(32), may_alias));

typedef uint64_t Reader(const Words *at, int64_t count, int loop);
typedef void Writer(Words *at, int64_t count, int loop);

/* The same loops with the widest vectors that this CPU has. */
typedef struct Loops {
    Reader *read;
    Writer *write, *update;
} Loops;

typedef struct Stream {
    char *memory;
    int64_t slice;                /* bytes of one task, whole pages */
    int64_t passes;
    int loop;
    Loops loops;
    uint64_t *sums;               /* [tasks]: so that the reading is for something */
} Stream;

/* ---- reading ---- */

/* Always inlined, so that the vectors are those of the caller's instruction set. */
#define INLINE static inline __attribute__((always_inline))

/* From `streams` places at once (1, 2 or 4), for as many streams of the hardware's own prefetching, and prefetching
 * `ahead`. */
INLINE uint64_t read_streams(const Words *at, int64_t count, int64_t streams, int64_t ahead)
{
    int64_t part = count / streams, step = 4 / streams;
    const Words *p = at, *q = at + (streams > 1 ? part : 1), *r = at + (streams == 4 ? 2 * part : step == 2 ? 1 : 2),
                *s = r + (streams > 1 ? part : 1);
    Words a = { 0 }, b = a, c = a, d = a;
    for (int64_t i = 0; i < part; i += step) {
        if (ahead) {
            __builtin_prefetch(p + i + ahead);
            __builtin_prefetch(q + i + ahead);
            __builtin_prefetch(r + i + ahead);
            __builtin_prefetch(s + i + ahead);
        }
        a ^= p[i], b ^= q[i], c ^= r[i], d ^= s[i];
    }
    a ^= b ^ c ^ d;
    return a[0] ^ a[1] ^ a[2] ^ a[3] ^ a[4] ^ a[5] ^ a[6] ^ a[7];
}

/* Half a line of each of eight rows of a few pages at a time, which some CPUs' prefetching follows best; of what lies behind the last
 * eight whole ones, and where `rows` is false of all, the next eight halves. */
INLINE uint64_t read_halves(const Words *words, int64_t count, bool rows)
{
    enum { ROWS = 8, ROW = 512 };
    const Half *at = (const Half *)words, *end = at + count * 2;
    Half sums[ROWS] = { { 0 } };
    for (; rows && end - at >= ROWS * ROW; at += ROWS * ROW)
        for (const Half *p = at; p < at + ROW; p++)
            for (int r = 0; r < ROWS; r++)
                sums[r] ^= p[r * ROW];
    for (; end - at >= ROWS; at += ROWS)
        for (int r = 0; r < ROWS; r++)
            sums[r] ^= at[r];
    uint64_t sum = 0;
    for (int r = 0; r < ROWS; r++)
        sum ^= sums[r][0] ^ sums[r][1] ^ sums[r][2] ^ sums[r][3];
    return sum;
}

INLINE uint64_t read_slice(const Words *at, int64_t count, int loop)
{
    return loop >= 4   ? read_halves(at, count, loop == 4)
           : loop == 0 ? read_streams(at, count, 1, 128)
           : loop == 1 ? read_streams(at, count, 2, 0)
           : loop == 2 ? read_streams(at, count, 4, 16)
                       : read_streams(at, count, 4, 0);
}

static uint64_t read_plain(const Words *at, int64_t count, int loop)
{
    return read_slice(at, count, loop);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static uint64_t read_avx2(const Words *at, int64_t count, int loop)
{
    return read_slice(at, count, loop);
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const Words *at, int64_t count, int loop)
{
    return read_slice(at, count, loop);
}
#endif

static void read_task(void *argument, int64_t index, int worker)
{
    const Stream *stream = argument;
    const Words *at = (const Words *)(stream->memory + index * stream->slice);
    (void)worker;
    for (int64_t pass = 0; pass < stream->passes; pass++)
        stream->sums[index] ^= stream->loops.read(at, stream->slice / (int64_t)sizeof(Words), stream->loop);
}

/* ---- writing ---- */

/* Ones, for some CPUs write zeros faster than numbers. */
static const Words ones = { 1, 1, 1, 1, 1, 1, 1, 1 };

/* The library's loop, one through the caches, one past them, and the same in four places, RUN lines of each in turn. */
enum { WHOLE, KEPT, PAST, PAST_IN_FOUR };
enum { RUN = 16 };                /* a quarter of a page */

INLINE void write_kept(Words *at, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        at[i] = ones;
        __asm__ volatile("" : : : "memory");    /* or it becomes a call of memset() */
    }
}

#if defined(__x86_64__)
/* A line past the caches is one store where vectors have its size: of stores of 16 bytes some lines leave in parts. */
static void write_plain(Words *at, int64_t count, int loop)
{
    if (loop == KEPT) {
        write_kept(at, count);
        return;
    }
    __m128i one = _mm_set1_epi64x(1);
    int64_t places = loop == PAST ? 1 : 4, part = count / places;
    for (int64_t i = 0; i < part; i += RUN)
        for (int64_t place = 0; place < places; place++)
            for (int64_t n = 0; n < 4 * RUN; n++)
                _mm_stream_si128((__m128i *)(at + place * part + i) + n, one);
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void write_avx512(Words *at, int64_t count, int loop)
{
    if (loop == KEPT) {
        write_kept(at, count);
        return;
    }
    __m512i one = _mm512_set1_epi64(1);
    int64_t places = loop == PAST ? 1 : 4, part = count / places;
    for (int64_t i = 0; i < part; i += RUN)
        for (int64_t place = 0; place < places; place++)
            for (int64_t n = 0; n < RUN; n++)
                _mm512_stream_si512((__m512i *)(at + place * part + i) + n, one);
    _mm_sfence();
}
#else
static void write_plain(Words *at, int64_t count, int loop)
{
    (void)loop;
    write_kept(at, count);
}
#endif

static void write_task(void *argument, int64_t index, int worker)
{
    const Stream *stream = argument;
    Words *at = (Words *)(stream->memory + index * stream->slice);
    (void)worker;
    for (int64_t pass = 0; pass < stream->passes; pass++)
        if (stream->loop == WHOLE)
            memset(at, 1, (size_t)stream->slice);
        else
            stream->loops.write(at, stream->slice / (int64_t)sizeof(Words), stream->loop);
}

/* ---- both ---- */

INLINE void update_slice(Words *at, int64_t count, int64_t ahead)
{
    Words one = { 1, 1, 1, 1, 1, 1, 1, 1 };
    for (int64_t i = 0; i < count; i += 4) {
        if (ahead)
            for (int64_t n = 0; n < 4; n++)
                __builtin_prefetch(at + i + n + ahead, 1);
        at[i] += one, at[i + 1] += one, at[i + 2] += one, at[i + 3] += one;
    }
}

static void update_plain(Words *at, int64_t count, int loop)
{
    update_slice(at, count, loop * AHEAD_WORDS);
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static void update_avx512(Words *at, int64_t count, int loop)
{
    update_slice(at, count, loop * AHEAD_WORDS);
}
#endif

/* Asking the CPU is slow on a virtual machine: once for a measurement. */
static Loops find_loops(void)
{
#if defined(__x86_64__)
    if (cpu_has("avx512f"))
        return (Loops){ read_avx512, write_avx512, update_avx512 };
    if (cpu_has("avx2"))
        return (Loops){ read_avx2, write_plain, update_plain };
#endif
    return (Loops){ read_plain, write_plain, update_plain };
}

static void update_task(void *argument, int64_t index, int worker)
{
    const Stream *stream = argument;
    Words *at = (Words *)(stream->memory + index * stream->slice);
    int64_t count = stream->slice / (int64_t)sizeof(Words);
    (void)worker;
    for (int64_t pass = 0; pass < stream->passes; pass++)
        stream->loops.update(at, count, stream->loop);
}

/* ---- the interface ---- */

/* What a loop over the memory is, of how many kinds, and how often it moves each byte. */
static const struct {
    PoolTask *task;
    int loops, moves;
} accesses[] = { [PEAK_READ] = { read_task, 6, 1 }, [PEAK_WRITE] = { write_task, 4, 1 }, [PEAK_UPDATE] = { update_task, 3, 2 } };

double peak_stream(Pool *pool, int workers, PeakAccess access, void *memory, size_t bytes)
{
    int64_t pages = (int64_t)(bytes / PAGE), passes = 1 + PASS / (int64_t)(bytes + 1);
    /* What passes again and again has to come from the cache that holds all of a worker's share, not a piece's. */
    int64_t tasks = passes > 1 ? workers : (int64_t)TASKS * workers;
    tasks = pages < tasks ? pages : tasks;
    if (!tasks)
        return 0;
    uint64_t *sums = calloc((size_t)tasks, sizeof *sums);
    if (!sums)
        return 0;
    Stream stream = { .memory = memory, .slice = pages / tasks * PAGE, .passes = passes,
                      .loops = find_loops(), .sums = sums };
    double best = 0;
    for (stream.loop = 0; stream.loop < accesses[access].loops; stream.loop++) {
        double begin = peak_seconds(workers);
        pool_run(pool, workers, tasks, accesses[access].task, &stream);
        double seconds = peak_seconds(workers) - begin;
        double rate = (double)(tasks * stream.slice) * (double)stream.passes * accesses[access].moves / seconds;
        best = rate > best ? rate : best;
    }
    free(sums);
    return best;
}

/* ---- a roof ---- */

/* As many bytes as the operands have, up to what no cache holds. */
static size_t buffer_bytes(double operands, int workers)
{
    size_t most = BUFFER, least = (size_t)workers * PAGE;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    while (cache > 0 && most < 4 * (size_t)cache && most < (size_t)4 << 30)
        most *= 2;
#endif
    return operands > (double)most ? most : operands < (double)least ? least : (size_t)operands;
}

bool peaks_open(Peaks *p, Pool *pool, int workers, const Target *target, Dtype dtype, double operands)
{
    *p = (Peaks){ .pool = pool, .workers = workers, .unit = peak_unit(target->name, dtype) };
    if (!p->unit)
        p->unit = peak_unit("portable", dtype == DTYPE_F64 ? dtype : DTYPE_F32);
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
    raise_to(&p->flops, peak_sample(p->pool, p->workers, p->unit));
    /* The first, so that no page is still the one of zeros. */
    raise_to(&p->written, peak_stream(p->pool, p->workers, PEAK_WRITE, p->buffer, p->bytes));
    raise_to(&p->updated, peak_stream(p->pool, p->workers, PEAK_UPDATE, p->buffer, p->bytes));
    raise_to(&p->read, peak_stream(p->pool, p->workers, PEAK_READ, p->buffer, p->bytes));
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
