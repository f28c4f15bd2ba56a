/* An arena: memory that is taken piece by piece and given back all at once.
 *
 * One arena serves one compilation. Nothing in the compiler frees anything; arena_free() at the end does. A full
 * memory does not return NULL: the arena jumps to `failed`, which whoever made the arena has set with setjmp(), so
 * that no pass has to check. */
#ifndef EINC_ARENA_H
#define EINC_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *blocks;
    char *next, *end;                                     /* the free part of the newest block */
    void *(*alloc)(void *user, size_t bytes, size_t align); /* NULL: malloc */
    void (*free)(void *user, void *memory);
    void *user;
    jmp_buf *failed;                                      /* where to go when memory runs out */
} Arena;

/* `bytes` of zeroed memory, aligned for any object. */
void *arena_alloc(Arena *arena, size_t bytes);

/* Zeroed memory for `count` objects of `size` bytes; the product may not overflow, or it counts as a full memory. */
void *arena_array(Arena *arena, size_t count, size_t size);

char *arena_copy(Arena *arena, const char *text, size_t length);
char *arena_format(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vformat(Arena *arena, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Makes room for one more element in a growing array, which is NULL or was made so: doubles `items` when `count` is a power of
 * two, for which others may have no room. The old array stays in the arena. Returns the array to use. */
void *arena_grow(Arena *arena, const void *items, size_t count, size_t size);

/* Gives everything back; the arena can be used again. */
void arena_free(Arena *arena);

#define ARENA_NEW(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *)arena_array((arena), (size_t)(count), sizeof(Type)))

/* Appends `item` to a growing array: `items` holds `count` elements and is moved when it is full. */
#define ARENA_APPEND(arena, items, count, item)                                        \
    ((items) = arena_grow((arena), (items), (size_t)(count), sizeof *(items)), (items)[(count)++] = (item))

#endif
