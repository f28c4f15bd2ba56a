/* Races in tests/cuda_emulator.h. gcc -fsanitize=thread calls a function for each access to memory; here these are ours. Two
 * accesses to an address, one of them a write, are in order when a wait lies between them that both threads take part in; of
 * threads of different blocks never in one kernel. Volatile accesses may race. */
#ifndef TESTS_CUDA_RACES_H
#define TESTS_CUDA_RACES_H

namespace emulated {

enum { PLACES = 1 << 18, PROBES = 8 };

/* The least that has all threads whose accesses no wait has put in order. */
enum Span { NOBODY, THREAD, OF_WARP, OF_BLOCK, OF_GRID };

/* Who was at an address last, and after how many waits of its block and its warp. */
struct Access {
    Span span;
    unsigned block, thread, block_waits, warp_waits;
};

struct Place {
    uintptr_t address;
    int launch;
    unsigned block;               /* whose shared memory it is in */
    Access read, write;
};

static Place places[PLACES];

UNWATCHED static bool in_order(const Access *before, const Access *now)
{
    if (before->span == NOBODY)
        return true;
    if (before->span == OF_GRID || before->block != now->block)
        return false;
    if (now->block_waits > before->block_waits)
        return true;
    if (before->span == OF_BLOCK || now->thread / LANES != before->thread / LANES)
        return false;
    return now->warp_waits > before->warp_waits || (before->span == THREAD && now->thread == before->thread);
}

/* Where an address is noted: a free place, or one of an earlier kernel, near the address's own. NULL: all are taken. */
UNWATCHED static Place *place_of(uintptr_t address, unsigned block)
{
    uint64_t hash = (address ^ (uint64_t)block << 40) * 0x9E3779B97F4A7C15u;
    for (unsigned i = 0; i < PROBES; i++) {
        Place *place = &places[((hash >> 40) + i) % PLACES];
        if (place->launch != launches + 1) {
            memset(place, 0, sizeof *place);
            place->launch = launches + 1;
            place->address = address;
            place->block = block;
        }
        if (place->address == address && place->block == block)
            return place;
    }
    return NULL;
}

UNWATCHED static void note_read(Access *read, const Access *now)
{
    Span span = in_order(read, now)                         ? THREAD
                : read->block != now->block                   ? OF_GRID
                : read->thread / LANES != now->thread / LANES ? OF_BLOCK : OF_WARP;
    if (!in_order(read, now) && read->span > span)
        span = read->span;
    *read = *now;
    read->span = span;
}

UNWATCHED static void note(const void *pointer, size_t size, bool writes)
{
    uintptr_t address = (uintptr_t)pointer;
    bool own = address >= (uintptr_t)stacks && address < (uintptr_t)(stacks + BLOCKS_MAX);
    own = own || (address >= (uintptr_t)blocks && address < (uintptr_t)(blocks + BLOCKS_MAX));
    if (!running || own)
        return;
    const Block *block = &blocks[current->block];
    bool shared = is_shared(pointer, size);
    if (!shared && address + size > (uintptr_t)__start_emulated_shared && address < (uintptr_t)__stop_emulated_shared)
        fail("%s %d bytes that are in no array of shared memory", writes ? "writes" : "reads", (int)size);
    Place *place = place_of(address, shared ? block->number + 1 : 0);
    if (!place)
        return;
    Access now = { THREAD, block->number, current->thread, block->waits, block->warp_waits[current->thread / LANES] };
    if (!in_order(&place->write, &now))
        fail("%s what thread %u of block %u has just written", writes ? "writes over" : "reads", place->write.thread,
             place->write.block);
    if (writes && !in_order(&place->read, &now))
        fail("writes over what thread %u of block %u has just read", place->read.thread, place->read.block);
    if (writes)
        place->write = now;
    else
        note_read(&place->read, &now);
}

} // namespace emulated

#define RACES_ACCESS(size)                                                                                                     \
    extern "C" UNWATCHED void __tsan_read##size(void *p) { emulated::note(p, size, false); }                                   \
    extern "C" UNWATCHED void __tsan_write##size(void *p) { emulated::note(p, size, true); }                                   \
    extern "C" UNWATCHED void __tsan_unaligned_read##size(void *p) { emulated::note(p, size, false); }                         \
    extern "C" UNWATCHED void __tsan_unaligned_write##size(void *p) { emulated::note(p, size, true); }                         \
    extern "C" UNWATCHED void __tsan_volatile_read##size(void *) {}                                                            \
    extern "C" UNWATCHED void __tsan_volatile_write##size(void *) {}

RACES_ACCESS(1)
RACES_ACCESS(2)
RACES_ACCESS(4)
RACES_ACCESS(8)
RACES_ACCESS(16)

extern "C" UNWATCHED void __tsan_read_range(void *p, size_t size) { emulated::note(p, size, false); }
extern "C" UNWATCHED void __tsan_write_range(void *p, size_t size) { emulated::note(p, size, true); }
extern "C" UNWATCHED void __tsan_init(void) {}
extern "C" UNWATCHED void *__tsan_memcpy(void *to, const void *from, size_t n) { return memcpy(to, from, n); }
extern "C" UNWATCHED void *__tsan_memset(void *to, int value, size_t n) { return memset(to, value, n); }

#endif
