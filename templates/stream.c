/* Stores past the caches: of results that are larger than those, whose lines would be read before they are written. What is
 * stored so is there for other threads behind STREAM_END(). */
#ifndef TEMPLATES_STREAM
#define TEMPLATES_STREAM

#include "types.c"

//{ leave_quarter
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
//}

//{ stream_quarters
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
//}

//{ stream_lead
/* How many numbers of so many bytes come before the next vector of a row that may be stored past the caches, or the next line. */
INLINE int64_t stream_lead(const void *p, int64_t stride, int bytes, int vector, int past)
{
    return past && stride == 1 ? (int64_t)(-(uintptr_t)p / (uintptr_t)bytes % (uintptr_t)vector) : 0;
}
//}

#if defined EINC_FMA || defined EINC_AVX512
//{ leave_half
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
//}
#endif

#if !defined EINC_FMA && !defined EINC_AVX512
//{ stream_bytes
/* Stores x past the caches, which would read the line that it is in before; 0 where that cannot be. */
INLINE int stream_bytes(void *p, const void *x, int bytes)
{
    return stream_quarters(p, x, bytes);
}
//}
#endif

#if defined EINC_FMA && !defined EINC_AVX512
//{ stream_bytes@fma
/* Stores x past the caches, which would read the line that it is in before; 0 where that cannot be. */
INLINE int stream_bytes(void *p, const void *x, int bytes)
{
    if ((uintptr_t)p % 32 || bytes % 32)
        return stream_quarters(p, x, bytes);
    UNROLL
    for (int b = 0; b < bytes; b += 32)
        leave_half((char *)p + b, (const char *)x + b);
    return 1;
}
//}
#endif

#ifdef EINC_AVX512
//{ stream_bytes@avx512
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
//}
#endif

//{ stream_first
/* The same of the first bytes of a vector that has `whole` of them; of less than these where `past` is 2. */
INLINE int stream_first(void *p, const void *x, int whole, int bytes, int past)
{
    if (bytes == whole)
        return stream_bytes(p, x, whole);
    if (past < 2 || whole < 16 || (uintptr_t)p % 16 || bytes % 16)
        return 0;
    for (int b = 0; b < bytes; b += 16)
        leave_quarter((char *)p + b, (const char *)x + b);
    return 1;
}
//}

#if !defined EINC_FMA && !defined EINC_AVX512
//{ pass_bytes
/* The same at an address that is known to be a multiple of so many bytes. */
INLINE int pass_bytes(void *p, const void *x, int bytes)
{
    return stream_bytes(p, x, bytes);
}
//}
#endif

#if defined EINC_FMA && !defined EINC_AVX512
//{ pass_bytes@fma
/* The same at an address that is known to be a multiple of so many bytes, which is not asked for whole halves of lines. */
INLINE int pass_bytes(void *p, const void *x, int bytes)
{
    if (bytes % 32)
        return stream_quarters(p, x, bytes);
    UNROLL
    for (int b = 0; b < bytes; b += 32)
        leave_half((char *)p + b, (const char *)x + b);
    return 1;
}
//}
#endif

#ifdef EINC_AVX512
//{ pass_bytes@avx512
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
//}
#endif

//{ Run
/* Lines that wait to go past the caches: so many at `to`, from where they were put together. */
typedef struct Run {
    char *to;
    const char *from;
    int64_t lines;
} Run;
//}

//{ begin_run
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
//}

//{ leave_line
/* Copies one line past the caches. */
INLINE void leave_line(char *to, const char *from)
{
    if (!pass_bytes(to, from, 64))
        memcpy(to, from, 64);
}
//}

//{ leave_runs
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
//}

//{ STREAM_END
/* What was stored past the caches is there for other threads. */
#if defined(__GNUC__) && defined(__SSE2__)
#define STREAM_END() __asm__ volatile("sfence" : : : "memory")
#else
#define STREAM_END() ((void)0)
#endif
//}

#endif
