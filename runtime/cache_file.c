#include "cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sha256.h"

/* What stands at the end of a file, behind the object and the description. The dynamic loader reads a file by its
 * header and sees nothing of this. */
typedef struct Trailer {
    uint64_t object_bytes, description_bytes;
    uint8_t key[32];
    char magic[16];
    uint8_t digest[32];               /* SHA-256 of all that is before it */
} Trailer;

static const char magic[16] = "einc entry 1\n";

#define TEMPORARY ".tmp-"             /* what temporary directories begin with */

enum { COPY_BYTES = 32768, STALE_SECONDS = 3600 };

/* ---- the directory ---- */

/* Makes the directory and what is missing above it. Root makes none in another user's directory: sudo keeps $HOME, and
 * the user could never write there again. */
static bool make_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!parent)
        return false;
    struct stat status;
    bool made = (!stat(parent, &status) || (errno == ENOENT && make_directory(parent) && !stat(parent, &status)))
                && (geteuid() || !status.st_uid) && (!mkdir(path, 0700) || errno == EEXIST);
    free(parent);
    return made;
}

int directory_open(const char *path, bool make, const char **problem)
{
    struct stat status;
    *problem = "no home directory";
    if (!*path)
        return -1;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 && errno == ENOENT && make && make_directory(path))
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        *problem = errno == ENOENT && !make ? NULL : strerror(errno);
    else if (fstat(directory, &status))
        *problem = strerror(errno);
    else if (status.st_uid != geteuid())
        *problem = "belongs to another user";
    else if (status.st_mode & (S_IWGRP | S_IWOTH))
        *problem = "others may write to it";
    else
        return directory;
    if (directory >= 0)
        close(directory);
    return -1;
}

DIR *directory_list(const char *path)
{
    const char *problem;
    int directory = directory_open(path, false, &problem);
    DIR *entries = directory < 0 ? NULL : fdopendir(directory);
    if (!entries && directory >= 0)
        close(directory);
    return entries;
}

/* ---- reading and writing ---- */

/* Reads exactly `length` bytes at `at`. */
static bool read_at(int file, void *bytes, size_t length, uint64_t at)
{
    for (char *next = bytes; length;) {
        ssize_t got = pread(file, next, length, (off_t)at);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0) {
            next += got;
            at += (uint64_t)got;
            length -= (size_t)got;
        }
    }
    return true;
}

bool file_put(int file, const void *bytes, size_t length)
{
    for (const char *next = bytes; length;) {
        ssize_t written = write(file, next, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            next += written;
            length -= (size_t)written;
        }
    }
    return true;
}

bool file_copy(int from, int to)
{
    char bytes[COPY_BYTES];
    struct stat status;
    if (fstat(from, &status))
        return false;
    for (uint64_t at = 0, length = (uint64_t)status.st_size; at < length;) {
        size_t piece = length - at < sizeof bytes ? (size_t)(length - at) : sizeof bytes;
        if (!read_at(from, bytes, piece, at) || !file_put(to, bytes, piece))
            return false;
        at += piece;
    }
    return true;
}

/* To be freed, with a 0 behind it; NULL when it cannot be read. */
static char *read_all(int file, uint64_t length)
{
    char *bytes = malloc(length + 1);
    if (bytes && read_at(file, bytes, length, 0)) {
        bytes[length] = 0;
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* ---- entries ---- */

void entry_name(const CacheKey *key, const char *suffix, char name[NAME_BYTES])
{
    for (int i = 0; i < 16; i++)
        sprintf(name + 2 * i, "%02x", key->bytes[i]);
    strcpy(name + 32, suffix);
}

static bool is_entry_name(const char *name, const char *suffix)
{
    return strspn(name, "0123456789abcdef") == 32 && !strcmp(name + 32, suffix);
}

bool entry_is_kernel(const char *name)
{
    return is_entry_name(name, OBJECT) || is_entry_name(name, CODE);
}

/* Whether a file of so many bytes may be one with this end. */
static bool is_trailer(const Trailer *trailer, uint64_t length)
{
    uint64_t rest = length - sizeof *trailer;
    return !memcmp(trailer->magic, magic, sizeof magic) && trailer->object_bytes <= rest &&
           trailer->description_bytes == rest - trailer->object_bytes;
}

/* All of the open file, if it is what was once stored under the key, and nobody else could have changed it since; else NULL. */
static char *read_whole(int file, const CacheKey *key, Trailer *trailer)
{
    struct stat status;
    Sha256 sha;
    uint8_t digest[32];
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH) ||
        (uint64_t)status.st_size < sizeof *trailer)
        return NULL;
    size_t length = (size_t)status.st_size;
    char *bytes = read_all(file, length);
    if (!bytes)
        return NULL;
    memcpy(trailer, bytes + length - sizeof *trailer, sizeof *trailer);
    sha256_begin(&sha);
    sha256_add(&sha, bytes, length - sizeof digest);
    sha256_end(&sha, digest);
    if (is_trailer(trailer, length) && !memcmp(trailer->key, key->bytes, sizeof key->bytes) &&
        !memcmp(digest, trailer->digest, sizeof digest))
        return bytes;
    free(bytes);
    return NULL;
}

/* The entry, open, and all of it, when it is whole; else -1. One that is not is removed. */
static int open_whole(const char *path, const CacheKey *key, const char *suffix, char **bytes, Trailer *trailer)
{
    char name[NAME_BYTES];
    const char *problem;
    int directory = directory_open(path, false, &problem);
    if (directory < 0)
        return -1;
    entry_name(key, suffix, name);
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool damaged = file >= 0 ? !(*bytes = read_whole(file, key, trailer)) : errno == ELOOP;
    if (damaged) {
        unlinkat(directory, name, 0);
        if (file >= 0)
            close(file);
        file = -1;
    }
    close(directory);
    return file;
}

int entry_open(const char *directory, const CacheKey *key, const char *suffix)
{
    Trailer trailer;
    char *bytes = NULL;
    int file = open_whole(directory, key, suffix, &bytes, &trailer);
    free(bytes);
    return file;
}

char *entry_read(const char *directory, const CacheKey *key, const char *suffix, size_t *bytes)
{
    Trailer trailer;
    char *whole = NULL;
    int file = open_whole(directory, key, suffix, &whole, &trailer);
    if (file < 0)
        return NULL;
    close(file);
    *bytes = (size_t)trailer.object_bytes;
    whole[*bytes] = 0;
    return whole;
}

void entry_describe(int file, char *text, size_t bytes)
{
    Trailer trailer;
    struct stat status;
    size_t length = 0;
    bool whole = !fstat(file, &status) && (uint64_t)status.st_size >= sizeof trailer &&
                 read_at(file, &trailer, sizeof trailer, (uint64_t)status.st_size - sizeof trailer) &&
                 is_trailer(&trailer, (uint64_t)status.st_size);
    if (whole)
        length = trailer.description_bytes < bytes ? (size_t)trailer.description_bytes : bytes - 1;
    if (!read_at(file, text, length, length ? trailer.object_bytes : 0))
        length = 0;
    text[length] = 0;
    text[strcspn(text, "\n")] = 0;
}

/* Turns a file that holds an object into an entry. */
static bool entry_complete(int file, const CacheKey *key, const char *description)
{
    Trailer trailer = { .description_bytes = strlen(description) };
    struct stat status;
    Sha256 sha;
    if (fchmod(file, 0600) || fstat(file, &status))
        return false;
    trailer.object_bytes = (uint64_t)status.st_size;
    memcpy(trailer.key, key->bytes, sizeof trailer.key);
    memcpy(trailer.magic, magic, sizeof magic);
    sha256_begin(&sha);
    char *object = read_all(file, trailer.object_bytes);
    if (!object)
        return false;
    sha256_add(&sha, object, trailer.object_bytes);
    free(object);
    sha256_add(&sha, description, trailer.description_bytes);
    sha256_add(&sha, &trailer, offsetof(Trailer, digest));
    sha256_end(&sha, trailer.digest);
    return lseek(file, 0, SEEK_END) >= 0 && file_put(file, description, trailer.description_bytes)
           && file_put(file, &trailer, sizeof trailer);
}

bool entry_publish(const char *directory, const char *temporary, int file, const CacheKey *key, const char *suffix,
                   const char *description)
{
    char name[NAME_BYTES], path[PATH_BYTES];
    entry_name(key, suffix, name);
    return snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path
           && entry_complete(file, key, description) && !rename(temporary, path);
}

/* ---- temporary directories ---- */

/* Removes a directory and the files in it. */
static void remove_at(int parent, const char *name)
{
    int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *files = directory < 0 ? NULL : fdopendir(directory);
    for (struct dirent *file; files && (file = readdir(files));)
        if (strcmp(file->d_name, ".") && strcmp(file->d_name, ".."))
            unlinkat(directory, file->d_name, 0);
    if (files)
        closedir(files);
    else if (directory >= 0)
        close(directory);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void temporary_remove(const char *path)
{
    remove_at(AT_FDCWD, path);
}

int entries_sweep(const char *directory, bool all)
{
    int removed = 0;
    DIR *entries = directory_list(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        const char *name = entry->d_name;
        struct stat status;
        if (all && entry_is_kernel(name))
            removed += !unlinkat(dirfd(entries), name, 0);
        else if (all && is_entry_name(name, TEXT))
            unlinkat(dirfd(entries), name, 0);
        else if (!strncmp(name, TEMPORARY, strlen(TEMPORARY))
                 && !fstatat(dirfd(entries), name, &status, AT_SYMLINK_NOFOLLOW) && S_ISDIR(status.st_mode)
                 && status.st_mtime + STALE_SECONDS < time(NULL))
            remove_at(dirfd(entries), name);
    }
    if (entries)
        closedir(entries);
    return removed;
}

/* A new directory in `base`: what a linker makes there, it makes with the permissions that the umask allows. */
static bool make_in(const char *base, const char *prefix, char path[PATH_BYTES])
{
    return snprintf(path, PATH_BYTES, "%s/%s%ld-XXXXXX", base, prefix, (long)getpid()) < PATH_BYTES - NAME_BYTES
           && mkdtemp(path);
}

bool temporary_make_inside(const char *directory, char path[PATH_BYTES])
{
    const char *problem;
    int file = directory_open(directory, true, &problem);
    if (file < 0)
        return false;
    close(file);
    return make_in(directory, TEMPORARY, path);
}

bool temporary_make_outside(char path[PATH_BYTES])
{
    const char *bases[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (bases[i] && *bases[i] == '/' && make_in(bases[i], "einc-", path))
            return true;
    return false;
}
