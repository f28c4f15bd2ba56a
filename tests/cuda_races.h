/* Races in tests/cuda_emulator.h. gcc -fsanitize=thread calls a function for each access to memory; here these are ours. Two
 * accesses to an address, one of them a write, are in order when a wait lies between them that both threads take part in; of
 * threads of different blocks never in one kernel. Volatile accesses may race. */
#ifndef TESTS_CUDA_RACES_H
#define TESTS_CUDA_RACES_H

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace emulated {

enum { PLACES_LEAST = 1 << 14 };

/* The least that has all threads whose accesses no wait has put in order. */
enum Span { NOBODY, THREAD, OF_WARP, OF_BLOCK, OF_GRID };

/* Who was at an address last, and after how many waits of its block and its warp. */
struct Access {
    Span span;
    unsigned block, thread, block_waits, warp_waits;
};

struct Place {
    uintptr_t address;
    unsigned turn;                /* of what it is noted: a launch, or in shared memory a block */
    Access read, write;
};

static Place shared_places[BLOCKS_MAX][SHARED_MAX];
static Place *places;                 /* of other memory */
static size_t places_room, places_noted;
static unsigned places_turn;          /* the launch of which so many are noted */

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

/* A place begins anew with what it is in. */
UNWATCHED static Place *place_since(Place *place, uintptr_t address, unsigned turn)
{
    if (place->turn != turn) {
        memset(place, 0, sizeof *place);
        place->turn = turn;
        place->address = address;
    }
    return place;
}

/* The address's own place, or where that is another one's of this launch, the first one behind it that is not. */
UNWATCHED static Place *find_place(uintptr_t address, unsigned turn)
{
    const size_t last = places_room - 1;    /* the room is a power of 2 */
    size_t at = (address * 0x9E3779B97F4A7C15u) >> 32 & last;
    while (places[at].turn == turn && places[at].address != address)
        at = (at + 1) & last;
    return &places[at];
}

/* By the system's own call: in tests/kernel_main.c, mmap counts what kernels take. */
UNWATCHED static void grow_places(unsigned turn)
{
    Place *before = places;
    size_t room = places_room;
    places_room = room ? 2 * room : PLACES_LEAST;
    places = (Place *)syscall(SYS_mmap, NULL, places_room * sizeof *places, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (places == MAP_FAILED)
        fail("accesses %zu places, more than there is memory to note them", places_noted);
    for (size_t i = 0; i < room; i++)
        if (before[i].turn == turn)
            *find_place(before[i].address, turn) = before[i];
    if (room)
        munmap(before, room * sizeof *before);
}

/* Where an address is noted that all blocks have. None is left out: a half of the places are free. */
UNWATCHED static Place *place_of(uintptr_t address, unsigned turn)
{
    places_noted = places_turn == turn ? places_noted : 0;
    places_turn = turn;
    if (2 * places_noted >= places_room)
        grow_places(turn);
    Place *place = find_place(address, turn);
    places_noted += place->turn != turn;
    return place_since(place, address, turn);
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
    long offset = shared_offset(pointer, size);
    if (offset < 0 && address + size > (uintptr_t)__start_emulated_shared && address < (uintptr_t)__stop_emulated_shared)
        fail("%s %d bytes that are in no array of shared memory", writes ? "writes" : "reads", (int)size);
    Place *place = offset < 0 ? place_of(address, (unsigned)launches + 1)
                              : place_since(&shared_places[current->block][offset], address, block->begun);
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
