/* The cache's files: entries, which are whole or count as absent, and temporary directories. cache.c has what they are for. */
#ifndef EINC_CACHE_FILE_H
#define EINC_CACHE_FILE_H

#include <dirent.h>

#include "cache.h"

#define OBJECT ".so"                  /* suffixes of entries, after the 32 digits of the key */
#define TEXT ".txt"
#define CODE ".cubin"

enum {
    NAME_BYTES = 32 + sizeof CODE,    /* the longest */
    PATH_BYTES = 4096,
};

/* The directory if it can be trusted; else -1 and the reason in `*problem`. */
int directory_open(const char *path, bool make, const char **problem);

/* The files of the directory, to be read with readdir(); NULL when it cannot be used. */
DIR *directory_list(const char *path);

/* ---- entries ---- */

void entry_name(const CacheKey *key, const char *suffix, char name[NAME_BYTES]);
bool entry_is_kernel(const char *name);    /* of the CPU, or of a GPU */

/* The entry, open, when it is whole; else -1. One that is not is removed. */
int entry_open(const char *directory, const CacheKey *key, const char *suffix);

/* What it holds, with a 0 behind it, to be freed; NULL when it is not whole. */
char *entry_read(const char *directory, const CacheKey *key, const char *suffix, size_t *bytes);

/* The first line of an open entry's description, as far as it fits; "" from a damaged one. */
void entry_describe(int file, char *text, size_t bytes);

/* Completes a file and gives it its name in the directory, or leaves it where it is. */
bool entry_publish(const char *directory, const char *temporary, int file, const CacheKey *key, const char *suffix,
                   const char *description);

/* Removes what killed processes have left and, with `all`, the entries too; returns how many kernels. */
int entries_sweep(const char *directory, bool all);

/* ---- temporary directories, which nobody else may enter ---- */

bool temporary_make_inside(const char *directory, char path[PATH_BYTES]);    /* which is made where it is not there */
bool temporary_make_outside(char path[PATH_BYTES]);
void temporary_remove(const char *path);    /* with the files in it */

/* ---- reading and writing ---- */

bool file_put(int file, const void *bytes, size_t length);
bool file_copy(int from, int to);

#endif
