/* The cache of compiled kernels on disk.
 *
 *     Cache *cache = cache_open(NULL);
 *     CacheKey key = cache_key((const char *[]){ text, compiler->stamp, compiler->version }, 3);
 *     void *object = cache_load(cache, &key);
 *     if (!object)
 *         status = cache_build(cache, &key, "ij,jk->ik", build, user, &object, error, sizeof error);
 *
 * One directory, one file for each entry: <key>.so, the shared object, <key>.cubin, code of a GPU, or <key>.txt, a short text
 * that is remembered; behind it what it is and a hash of all. What is loaded is what was verified. A damaged entry is removed
 * and counts as absent; so does everything when the directory cannot be used, and then cache_build() makes objects that last as
 * long as they are loaded.
 *
 * A Cache is constant once it is open: any number of threads may use it, and any number of processes the directory. */
#ifndef EINC_CACHE_H
#define EINC_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct Cache Cache;

typedef struct CacheKey {
    uint8_t bytes[32];
} CacheKey;

/* `directory`, or what the environment says: EINC_CACHE_DIR, else XDG_CACHE_HOME/einc, else .cache/einc in the user's
 * home. Touches nothing on disk: the directory is made, with mode 0700, when something is first stored. NULL when there
 * is no memory. */
Cache *cache_open(const char *directory);
void cache_close(Cache *cache);

/* The directory's absolute path; "" when there is no place for one. */
const char *cache_path(const Cache *cache);

/* NULL, or why the directory cannot be used or written to: "belongs to another user" … One that is still to be made has
 * no problem. */
const char *cache_problem(const Cache *cache);

/* The SHA-256 of the parts, each with its length in front, so that what parts say together does not depend on where
 * one ends. */
CacheKey cache_key(const char *const *parts, size_t count);

/* A key in hexadecimal, as a part of others. */
enum { KEY_TEXT = 65 };
void cache_key_spell(const CacheKey *key, char text[KEY_TEXT]);

/* dlopen()'s handle of the entry; NULL when there is none that is whole. The caller dlclose()s it. */
void *cache_load(const Cache *cache, const CacheKey *key);

/* Makes the shared object at `path`: EINC_OK, or another einc_status and a message. After EINC_FAILED it is called once
 * more, with a path outside the cache, as a full disk looks to a compiler like any other error. */
typedef int CacheBuilder(void *user, const char *path, char *error, size_t bytes);

/* Builds an entry, stores it if that is possible, and loads it. Another process that has stored the same meanwhile is
 * as good. `description` is for cache_list(). EINC_OK and the handle in `*object`, or what the builder returned, or
 * EINC_FAILED; with a message. */
int cache_build(const Cache *cache, const CacheKey *key, const char *description, CacheBuilder *build, void *user,
                void **object, char *error, size_t bytes);

/* Code that something else than the loader takes, such as a GPU: kept, which may fail, unnoticed; and fetched, to be freed, with a
 * 0 behind it, or NULL. */
void cache_keep(const Cache *cache, const CacheKey *key, const char *description, const void *code, size_t bytes);
void *cache_fetch(const Cache *cache, const CacheKey *key, size_t *bytes);

/* A short text kept under a key, such as the version of a compiler under its stamp. Storing it may fail, unnoticed. */
void cache_remember(const Cache *cache, const CacheKey *key, const char *text);
bool cache_recall(const Cache *cache, const CacheKey *key, char *text, size_t bytes);

typedef struct CacheEntry {
    char key[33];                 /* the file's name, without its suffix */
    uint64_t bytes;
    time_t modified;
    const char *description;      /* its first line; "" when the entry is damaged */
} CacheEntry;

/* Calls `visit` for each entry, in no particular order, and returns how many there are. */
int cache_list(const Cache *cache, void (*visit)(void *user, const CacheEntry *entry), void *user);

/* Removes all entries, what is remembered, and temporary files that have been left behind; no other file, and not the
 * directory. Returns how many entries it removed. */
int cache_clear(const Cache *cache);

#endif
