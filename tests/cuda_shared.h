/* Shared memory in tests/cuda_emulator.h, which alone includes it. All arrays of a file lie one behind the other, as in its text,
 * although a kernel has only its own. Before each is a guard, where nobody has anything, so that what goes past an array's end does
 * not come into another kernel's. Behind the last one is a guard where one more array follows, as tests/cuda_cc.sh writes it. */
#ifndef TESTS_CUDA_SHARED_H
#define TESTS_CUDA_SHARED_H

#define IN_SHARED __attribute__((section("emulated_shared"), no_reorder, used))
#define SHARED_BEHIND(guard)                                                                                                   \
    static emulated::Guard guard IN_SHARED __attribute__((aligned(8))) = { &guard, { 0 } };                                    \
    static IN_SHARED
#define SHARED_OF(line) SHARED_BEHIND(guard_##line)
#define SHARED_IN(line) SHARED_OF(line)
#define __shared__ SHARED_IN(__LINE__)

/* Without any there are no such symbols. */
extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

namespace emulated {

enum { ARRAYS_MAX = 256, GUARD = 1 << 14, WORD = sizeof(void *) };

/* It begins with its own address, by which it is found. */
struct Guard {
    const Guard *self;
    char rest[GUARD - WORD];
};

/* From behind a guard to the next one. */
struct Array {
    char *from, *to;
};

static Array arrays[ARRAYS_MAX];
static int array_count;

/* Before a kernel writes anything there. */
UNWATCHED static void find_arrays()
{
    for (char *at = __start_emulated_shared; at + WORD <= __stop_emulated_shared && array_count < ARRAYS_MAX; at += WORD) {
        if (*(char **)at != at)
            continue;
        if (array_count)
            arrays[array_count - 1].to = at;
        arrays[array_count++] = { at + sizeof(Guard), __stop_emulated_shared };
    }
}

UNWATCHED static size_t shared_bytes()
{
    size_t bytes = 0;
    for (int i = 0; i < array_count; i++)
        bytes += (size_t)(arrays[i].to - arrays[i].from);
    return bytes;
}

/* How far into all arrays, one behind the other, some bytes are that one of them has; -1: none has them all. */
UNWATCHED static long shared_offset(const void *at, size_t bytes)
{
    size_t before = 0;
    if ((const char *)at < __start_emulated_shared || (const char *)at >= __stop_emulated_shared)
        return -1;
    for (int i = 0; i < array_count; i++) {
        if ((const char *)at >= arrays[i].from && (const char *)at + bytes <= arrays[i].to)
            return (long)(before + (size_t)((const char *)at - arrays[i].from));
        before += (size_t)(arrays[i].to - arrays[i].from);
    }
    return -1;
}

UNWATCHED static bool is_shared(const void *at, size_t bytes)
{
    return shared_offset(at, bytes) >= 0;
}

/* The arrays, without what is between them. */
UNWATCHED static void save_shared(char *to)
{
    for (int i = 0; i < array_count; i++) {
        memcpy(to, arrays[i].from, (size_t)(arrays[i].to - arrays[i].from));
        to += arrays[i].to - arrays[i].from;
    }
}

UNWATCHED static void load_shared(const char *from)
{
    for (int i = 0; i < array_count; i++) {
        memcpy(arrays[i].from, from, (size_t)(arrays[i].to - arrays[i].from));
        from += arrays[i].to - arrays[i].from;
    }
}

} // namespace emulated

#endif
