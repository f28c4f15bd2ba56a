/* Names in generated C: the user's words as identifiers that clash with nothing. */
#ifndef EINC_NAMES_H
#define EINC_NAMES_H

#include <stdbool.h>

#include "arena.h"

typedef struct Names {
    Arena *arena;
    const struct Names *outer;
    bool (*is_taken)(const void *user, const char *name);   /* by something else, such as the library; may be NULL */
    const void *user;
    const char **taken;
    unsigned *hashes;             /* of what is taken */
    int count, hash_count;
} Names;

Names names_new(Arena *arena, const Names *outer);

/* An identifier made from `word`, which no other call on these names or the outer ones has returned. */
const char *names_unique(Names *names, const char *word);

/* Whether a name ends in "_7", as those of functions, tiles and places that the emitter numbers do. */
bool names_is_numbered(const char *name);

/* names_unique() for a word of the user's: one that is numbered gets another end. */
const char *names_user(Names *names, const char *word);

#endif
