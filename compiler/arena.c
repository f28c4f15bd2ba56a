#include "arena.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first block is small: a call takes little, and a block becomes zeros. A larger piece has a block of its own; so has each where
 * the address sanitizer looks on, which so sees where it ends. */
#ifdef __SANITIZE_ADDRESS__
enum { FIRST_BYTES = 8 << 10, BLOCK_BYTES = 64 << 10, OWN_BYTES = 0 };
#else
enum { FIRST_BYTES = 8 << 10, BLOCK_BYTES = 64 << 10, OWN_BYTES = FIRST_BYTES / 2 };
#endif

struct ArenaBlock {
    ArenaBlock *older;
    _Alignas(max_align_t) char bytes[];
};

static _Noreturn void full(Arena *arena)
{
    longjmp(*arena->failed, 1);
}

static ArenaBlock *block_new(Arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        full(arena);
    size_t size = sizeof(ArenaBlock) + bytes;
    ArenaBlock *block = arena->alloc ? arena->alloc(arena->user, size, _Alignof(max_align_t)) : malloc(size);
    if (!block)
        full(arena);
    memset(block->bytes, 0, bytes);
    block->older = arena->blocks;
    return arena->blocks = block;
}

void *arena_alloc(Arena *arena, size_t bytes)
{
    const size_t align = _Alignof(max_align_t);
    if (bytes > SIZE_MAX / 2)
        full(arena);
    if (OWN_BYTES)
        bytes = (bytes + align - 1) / align * align;
    else if (!bytes)
        bytes = 1;                /* an array of nothing is somewhere, too: NULL is for none */
    if (bytes > (size_t)(arena->end - arena->next)) {
        if (bytes > OWN_BYTES) {
            /* It lies behind the newest, whose free part goes on being used. */
            ArenaBlock *newest = arena->blocks, *own = block_new(arena, bytes);
            if (newest) {
                arena->blocks = newest;
                own->older = newest->older;
                newest->older = own;
            }
            return own->bytes;
        }
        size_t block = arena->blocks ? BLOCK_BYTES : FIRST_BYTES;
        arena->next = block_new(arena, block)->bytes;
        arena->end = arena->next + block;
    }
    void *memory = arena->next;
    arena->next += bytes;
    return memory;
}

void *arena_array(Arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        full(arena);
    return arena_alloc(arena, count * size);
}

char *arena_copy(Arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_vformat(Arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    char most[256];               /* are no longer */
    int length = vsnprintf(most, sizeof most, format, arguments);
    size_t bytes = (size_t)(length < 0 ? 0 : length) + 1;
    char *text = arena_alloc(arena, bytes);
    if (bytes <= sizeof most)
        memcpy(text, most, bytes - 1);
    else
        vsnprintf(text, bytes, format, again);
    va_end(again);
    return text;
}

char *arena_format(Arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = arena_vformat(arena, format, arguments);
    va_end(arguments);
    return text;
}

void *arena_grow(Arena *arena, const void *items, size_t count, size_t size)
{
    enum { FIRST = 4 };
    bool full_array = !items || (count >= FIRST && (count & (count - 1)) == 0);
    if (!full_array)
        return (void *)(uintptr_t)items;
    void *larger = arena_array(arena, count < FIRST ? FIRST : 2 * count, size);
    if (count)
        memcpy(larger, items, count * size);
    return larger;
}

void arena_free(Arena *arena)
{
    for (ArenaBlock *block = arena->blocks, *older; block; block = older) {
        older = block->older;
        if (arena->free)
            arena->free(arena->user, block);
        else if (!arena->alloc)
            free(block);
    }
    arena->blocks = NULL;
    arena->next = arena->end = NULL;
}
