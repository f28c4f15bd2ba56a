#include "cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "einc.h"
#include "sha256.h"

struct Cache {
    char *path;
};

/* What stands at the end of a file, behind the object and the description. The dynamic loader reads a file by its
 * header and sees nothing of this. */
typedef struct Trailer {
    uint64_t object_bytes, description_bytes;
    uint8_t key[32];
    char magic[16];
    uint8_t digest[32];               /* SHA-256 of all that is before it */
} Trailer;

static const char magic[16] = "einc entry 1\n";

#define OBJECT ".so"                  /* suffixes of entries, after the 32 digits of the key */
#define TEXT ".txt"
#define CODE ".cubin"
#define TEMPORARY ".tmp-"             /* what temporary directories begin with */

enum {
    NAME_BYTES = 32 + sizeof CODE,    /* the longest */
    PATH_BYTES = 4096,
    COPY_BYTES = 32768,
    STALE_SECONDS = 3600,
};

__attribute__((format(printf, 3, 4)))
static int fail(char *error, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, bytes, format, arguments);
    va_end(arguments);
    return EINC_FAILED;
}

/* ---- keys ---- */

CacheKey cache_key(const char *const *parts, size_t count)
{
    CacheKey key;
    Sha256 sha;
    sha256_begin(&sha);
    for (size_t i = 0; i < count; i++) {
        uint64_t length = strlen(parts[i]);
        sha256_add(&sha, &length, sizeof length);
        sha256_add(&sha, parts[i], length);
    }
    sha256_end(&sha, key.bytes);
    return key;
}

/* ---- the directory ---- */

/* The home directory of $HOME or of the user database; NULL when neither tells. To be freed. */
static char *home_directory(void)
{
    const char *home = getenv("HOME");
    if (home && *home == '/')
        return strdup(home);
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) || !found || *entry.pw_dir != '/')
        return NULL;
    return strdup(entry.pw_dir);
}

/* NULL when there is no memory, "" when there is no place. */
static char *choose_path(const char *directory)
{
    char *path = NULL;
    if (!directory)
        directory = getenv("EINC_CACHE_DIR");
    if (directory && *directory == '/')
        return strdup(directory);
    if (directory && *directory) {
        char *here = getcwd(NULL, 0);
        if (!here)
            return strdup("");
        int length = asprintf(&path, "%s/%s", here, directory);
        free(here);
        return length < 0 ? NULL : path;
    }
    const char *base = getenv("XDG_CACHE_HOME");
    if (base && *base == '/')
        return asprintf(&path, "%s/einc", base) < 0 ? NULL : path;
    char *home = home_directory();
    if (!home)
        return strdup("");
    int length = asprintf(&path, "%s/.cache/einc", home);
    free(home);
    return length < 0 ? NULL : path;
}

Cache *cache_open(const char *directory)
{
    Cache *cache = malloc(sizeof *cache);
    if (cache && !(cache->path = choose_path(directory))) {
        free(cache);
        return NULL;
    }
    return cache;
}

void cache_close(Cache *cache)
{
    if (cache)
        free(cache->path);
    free(cache);
}

const char *cache_path(const Cache *cache)
{
    return cache->path;
}

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

/* The directory if it can be trusted; else -1 and the reason in `*problem`. */
static int directory_open(const Cache *cache, bool make, const char **problem)
{
    struct stat status;
    *problem = "no home directory";
    if (!*cache->path)
        return -1;
    int directory = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 && errno == ENOENT && make && make_directory(cache->path))
        directory = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

const char *cache_problem(const Cache *cache)
{
    const char *problem;
    int directory = directory_open(cache, false, &problem);
    if (directory < 0)
        return problem;
    problem = faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) ? strerror(errno) : NULL;
    close(directory);
    return problem;
}

/* ---- entries ---- */

static void entry_name(const CacheKey *key, const char *suffix, char name[NAME_BYTES])
{
    for (int i = 0; i < 16; i++)
        sprintf(name + 2 * i, "%02x", key->bytes[i]);
    strcpy(name + 32, suffix);
}

static bool is_entry_name(const char *name, const char *suffix)
{
    return strspn(name, "0123456789abcdef") == 32 && !strcmp(name + 32, suffix);
}

/* A kernel's: of the CPU, or of a GPU. */
static bool is_kernel_name(const char *name)
{
    return is_entry_name(name, OBJECT) || is_entry_name(name, CODE);
}

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

static bool write_all(int file, const void *bytes, size_t length)
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

/* Adds `length` bytes of the file from its beginning to the hash, unless NULL, and to `copy`, unless -1. */
static bool read_through(int file, uint64_t length, Sha256 *sha, int copy)
{
    char bytes[COPY_BYTES];
    for (uint64_t at = 0; at < length;) {
        size_t piece = length - at < sizeof bytes ? (size_t)(length - at) : sizeof bytes;
        if (!read_at(file, bytes, piece, at) || (copy >= 0 && !write_all(copy, bytes, piece)))
            return false;
        if (sha)
            sha256_add(sha, bytes, piece);
        at += piece;
    }
    return true;
}

static bool trailer_read(int file, Trailer *trailer)
{
    struct stat status;
    if (fstat(file, &status) || !S_ISREG(status.st_mode) || (uint64_t)status.st_size < sizeof *trailer)
        return false;
    uint64_t rest = (uint64_t)status.st_size - sizeof *trailer;
    return read_at(file, trailer, sizeof *trailer, rest) && !memcmp(trailer->magic, magic, sizeof magic)
           && trailer->object_bytes <= rest && trailer->description_bytes == rest - trailer->object_bytes;
}

/* Whether the open file is what was once stored under the key, and nobody else could have changed it since. */
static bool is_whole(int file, const CacheKey *key, Trailer *trailer)
{
    struct stat status;
    Sha256 sha;
    uint8_t digest[32];
    if (fstat(file, &status) || status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH)
        || !trailer_read(file, trailer) || memcmp(trailer->key, key->bytes, sizeof key->bytes))
        return false;
    sha256_begin(&sha);
    if (!read_through(file, (uint64_t)status.st_size - sizeof digest, &sha, -1))
        return false;
    sha256_end(&sha, digest);
    return !memcmp(digest, trailer->digest, sizeof digest);
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
    if (!read_through(file, trailer.object_bytes, &sha, -1))
        return false;
    sha256_add(&sha, description, trailer.description_bytes);
    sha256_add(&sha, &trailer, offsetof(Trailer, digest));
    sha256_end(&sha, trailer.digest);
    return lseek(file, 0, SEEK_END) >= 0 && write_all(file, description, trailer.description_bytes)
           && write_all(file, &trailer, sizeof trailer);
}

/* The entry, open, when it is whole; else -1. One that is not is removed. */
static int entry_open(const Cache *cache, const CacheKey *key, const char *suffix, Trailer *trailer)
{
    char name[NAME_BYTES];
    const char *problem;
    int directory = directory_open(cache, false, &problem);
    if (directory < 0)
        return -1;
    entry_name(key, suffix, name);
    int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool damaged = file >= 0 ? !is_whole(file, key, trailer) : errno == ELOOP;
    if (damaged) {
        unlinkat(directory, name, 0);
        if (file >= 0)
            close(file);
        file = -1;
    }
    close(directory);
    return file;
}

/* The files of the cache, to be read with readdir(); NULL when it cannot be used. */
static DIR *entries_open(const Cache *cache)
{
    const char *problem;
    int directory = directory_open(cache, false, &problem);
    DIR *entries = directory < 0 ? NULL : fdopendir(directory);
    if (!entries && directory >= 0)
        close(directory);
    return entries;
}

/* ---- temporary directories ---- */

/* Removes a directory and the files in it. */
static void temporary_remove(int parent, const char *name)
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

/* Removes what killed processes have left and, with `all`, the entries too; returns how many of these. */
static int sweep(const Cache *cache, bool all)
{
    int removed = 0;
    DIR *entries = entries_open(cache);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        const char *name = entry->d_name;
        struct stat status;
        if (all && is_kernel_name(name))
            removed += !unlinkat(dirfd(entries), name, 0);
        else if (all && is_entry_name(name, TEXT))
            unlinkat(dirfd(entries), name, 0);
        else if (!strncmp(name, TEMPORARY, strlen(TEMPORARY))
                 && !fstatat(dirfd(entries), name, &status, AT_SYMLINK_NOFOLLOW) && S_ISDIR(status.st_mode)
                 && status.st_mtime + STALE_SECONDS < time(NULL))
            temporary_remove(dirfd(entries), name);
    }
    if (entries)
        closedir(entries);
    return removed;
}

/* A new directory in `base` that nobody else may enter: what a linker makes, it makes with the permissions that the
 * umask allows. */
static bool temporary_make(const char *base, const char *prefix, char path[PATH_BYTES])
{
    return snprintf(path, PATH_BYTES, "%s/%s%ld-XXXXXX", base, prefix, (long)getpid()) < PATH_BYTES - NAME_BYTES
           && mkdtemp(path);
}

/* In the cache, which is made and swept first. */
static bool temporary_make_inside(const Cache *cache, char path[PATH_BYTES])
{
    const char *problem;
    int directory = directory_open(cache, true, &problem);
    if (directory < 0)
        return false;
    close(directory);
    sweep(cache, false);
    return temporary_make(cache->path, TEMPORARY, path);
}

static bool temporary_make_outside(char path[PATH_BYTES])
{
    const char *bases[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (bases[i] && *bases[i] == '/' && temporary_make(bases[i], "einc-", path))
            return true;
    return false;
}

/* Completes a file and gives it its name in the cache, or leaves it where it is. */
static bool entry_publish(const Cache *cache, const char *temporary, int file, const CacheKey *key, const char *suffix,
                          const char *description)
{
    char name[NAME_BYTES], path[PATH_BYTES];
    entry_name(key, suffix, name);
    return snprintf(path, sizeof path, "%s/%s", cache->path, name) < (int)sizeof path
           && entry_complete(file, key, description) && !rename(temporary, path);
}

/* ---- objects ---- */

/* A name for the open file that no other object has. The loader knows objects by name and would take the one that was
 * loaded earlier under the same number, so the key is spelled out in a way that leads to the same place: each of its
 * bits as "/" or "/.". */
static void object_name(int file, const CacheKey *key, char name[512])
{
    char *end = stpcpy(name, "/proc/self/fd");
    for (int i = 0; i < 128; i++)
        end = stpcpy(end, key->bytes[i / 8] >> i % 8 & 1 ? "/." : "/");
    sprintf(end, "/%d", file);
}

/* Loads the object in an open file: that file, whatever has become of its name since. From a copy in memory when it is
 * on a file system from which nothing may be executed; by its path where there is no /proc. */
static void *object_load(int file, const char *path, const CacheKey *key)
{
    char name[512];
    struct stat status;
    object_name(file, key, name);
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (object)
        return object;
    if (access("/proc/self/fd", X_OK))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int copy = memfd_create("einc", MFD_CLOEXEC);
    if (copy < 0)
        return NULL;
    if (!fstat(file, &status) && read_through(file, (uint64_t)status.st_size, NULL, copy)) {
        object_name(copy, key, name);
        object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    close(copy);
    return object;
}

void *cache_load(const Cache *cache, const CacheKey *key)
{
    Trailer trailer;
    char name[NAME_BYTES], path[PATH_BYTES];
    int file = entry_open(cache, key, OBJECT, &trailer);
    if (file < 0)
        return NULL;
    entry_name(key, OBJECT, name);
    snprintf(path, sizeof path, "%s/%s", cache->path, name);
    void *object = object_load(file, path, key);
    close(file);
    return object;
}

/* Loads what has been built at `path`, as an entry of `cache` unless NULL. An object that cannot be stored, because the
 * disk is full, can still be loaded. */
static int take(const Cache *cache, const char *path, const CacheKey *key, const char *description, void **object,
                char *error, size_t bytes)
{
    int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return fail(error, bytes, "cannot open the compiled kernel: %s", strerror(errno));
    if (cache && entry_publish(cache, path, file, key, OBJECT, description))
        *object = cache_load(cache, key);
    if (!*object && !(*object = object_load(file, path, key))) {
        const char *reason = dlerror(), *colon = reason ? strstr(reason, ": ") : NULL;    /* after the file's name */
        fail(error, bytes, "cannot load the compiled kernel: %s", colon ? colon + 2 : reason ? reason : "");
    }
    close(file);
    return *object ? EINC_OK : EINC_FAILED;
}

/* Builds in a temporary directory of the cache, or elsewhere if `cache` is NULL. Another process may have stored the
 * same meanwhile; then all use that one. */
static int build_once(const Cache *cache, const CacheKey *key, const char *description, CacheBuilder *build,
                      void *user, void **object, char *error, size_t bytes)
{
    char directory[PATH_BYTES], path[PATH_BYTES + NAME_BYTES];
    if (!(cache ? temporary_make_inside(cache, directory) : temporary_make_outside(directory)))
        return fail(error, bytes, "no directory for temporary files: tried TMPDIR, /tmp, /var/tmp and /dev/shm");
    snprintf(path, sizeof path, "%s/kernel.so", directory);
    int status = build(user, path, error, bytes);
    if (!status && !(cache && (*object = cache_load(cache, key))))
        status = take(cache, path, key, description, object, error, bytes);
    temporary_remove(AT_FDCWD, directory);
    return status;
}

int cache_build(const Cache *cache, const CacheKey *key, const char *description, CacheBuilder *build, void *user,
                void **object, char *error, size_t bytes)
{
    *object = NULL;
    int status = build_once(cache, key, description, build, user, object, error, bytes);
    if (status == EINC_FAILED)
        status = build_once(NULL, key, description, build, user, object, error, bytes);
    return status;
}

/* ---- texts and code ---- */

static void keep(const Cache *cache, const CacheKey *key, const char *suffix, const char *description, const void *bytes, size_t length)
{
    char directory[PATH_BYTES], path[PATH_BYTES + NAME_BYTES];
    if (!temporary_make_inside(cache, directory))
        return;
    snprintf(path, sizeof path, "%s/text", directory);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && write_all(file, bytes, length))
        entry_publish(cache, path, file, key, suffix, description);
    if (file >= 0)
        close(file);
    temporary_remove(AT_FDCWD, directory);
}

void cache_remember(const Cache *cache, const CacheKey *key, const char *text)
{
    keep(cache, key, TEXT, "", text, strlen(text));
}

void cache_keep(const Cache *cache, const CacheKey *key, const char *description, const void *code, size_t bytes)
{
    keep(cache, key, CODE, description, code, bytes);
}

void *cache_fetch(const Cache *cache, const CacheKey *key, size_t *bytes)
{
    Trailer trailer;
    int file = entry_open(cache, key, CODE, &trailer);
    char *code = file < 0 ? NULL : malloc((size_t)trailer.object_bytes + 1);
    if (code && !read_at(file, code, (size_t)trailer.object_bytes, 0)) {
        free(code);
        code = NULL;
    }
    if (code)
        code[*bytes = (size_t)trailer.object_bytes] = 0;
    if (file >= 0)
        close(file);
    return code;
}

bool cache_recall(const Cache *cache, const CacheKey *key, char *text, size_t bytes)
{
    Trailer trailer;
    int file = entry_open(cache, key, TEXT, &trailer);
    if (file < 0)
        return false;
    bool found = trailer.object_bytes < bytes && read_at(file, text, (size_t)trailer.object_bytes, 0);
    if (found)
        text[trailer.object_bytes] = 0;
    close(file);
    return found;
}

/* ---- the user's view ---- */

/* The first line, as far as it fits; "" from a damaged entry. */
static void description_read(int file, char *text, size_t bytes)
{
    Trailer trailer;
    size_t length = 0;
    if (trailer_read(file, &trailer))
        length = trailer.description_bytes < bytes ? (size_t)trailer.description_bytes : bytes - 1;
    if (!read_at(file, text, length, length ? trailer.object_bytes : 0))
        length = 0;
    text[length] = 0;
    text[strcspn(text, "\n")] = 0;
}

int cache_list(const Cache *cache, void (*visit)(void *user, const CacheEntry *entry), void *user)
{
    int count = 0;
    DIR *entries = entries_open(cache);
    for (struct dirent *found; entries && (found = readdir(entries));) {
        struct stat status;
        int file = !is_kernel_name(found->d_name) ? -1
                   : openat(dirfd(entries), found->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file >= 0 && !fstat(file, &status)) {
            char description[1024];
            description_read(file, description, sizeof description);
            CacheEntry entry = { .bytes = (uint64_t)status.st_size, .modified = status.st_mtime,
                                 .description = description };
            memcpy(entry.key, found->d_name, 32);
            visit(user, &entry);
            count++;
        }
        if (file >= 0)
            close(file);
    }
    if (entries)
        closedir(entries);
    return count;
}

int cache_clear(const Cache *cache)
{
    return sweep(cache, true);
}
