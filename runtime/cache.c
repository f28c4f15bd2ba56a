#include "cache.h"

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

#include "cache_file.h"
#include "einc.h"
#include "sha256.h"

struct Cache {
    char *path;
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

void cache_key_spell(const CacheKey *key, char text[KEY_TEXT])
{
    for (int i = 0; i < 32; i++)
        sprintf(text + 2 * i, "%02x", key->bytes[i]);
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

const char *cache_problem(const Cache *cache)
{
    const char *problem;
    int directory = directory_open(cache->path, false, &problem);
    if (directory < 0)
        return problem;
    problem = faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) ? strerror(errno) : NULL;
    close(directory);
    return problem;
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
    object_name(file, key, name);
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (object)
        return object;
    if (access("/proc/self/fd", X_OK))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int copy = memfd_create("einc", MFD_CLOEXEC);
    if (copy < 0)
        return NULL;
    if (file_copy(file, copy)) {
        object_name(copy, key, name);
        object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    close(copy);
    return object;
}

void *cache_load(const Cache *cache, const CacheKey *key)
{
    char name[NAME_BYTES], path[PATH_BYTES];
    int file = entry_open(cache->path, key, OBJECT);
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
    if (cache && entry_publish(cache->path, path, file, key, OBJECT, description))
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
    if (cache)
        entries_sweep(cache->path, false);
    if (!(cache ? temporary_make_inside(cache->path, directory) : temporary_make_outside(directory)))
        return fail(error, bytes, "no directory for temporary files: tried TMPDIR, /tmp, /var/tmp and /dev/shm");
    snprintf(path, sizeof path, "%s/kernel.so", directory);
    int status = build(user, path, error, bytes);
    if (!status && !(cache && (*object = cache_load(cache, key))))
        status = take(cache, path, key, description, object, error, bytes);
    temporary_remove(directory);
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
    if (!temporary_make_inside(cache->path, directory))
        return;
    snprintf(path, sizeof path, "%s/text", directory);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && file_put(file, bytes, length))
        entry_publish(cache->path, path, file, key, suffix, description);
    if (file >= 0)
        close(file);
    temporary_remove(directory);
}

void cache_remember(const Cache *cache, const CacheKey *key, const char *text)
{
    keep(cache, key, TEXT, "", text, strlen(text));
}

void cache_keep(const Cache *cache, const CacheKey *key, const char *description, const void *code, size_t bytes)
{
    entries_sweep(cache->path, false);
    keep(cache, key, CODE, description, code, bytes);
}

void *cache_fetch(const Cache *cache, const CacheKey *key, size_t *bytes)
{
    return entry_read(cache->path, key, CODE, bytes);
}

bool cache_recall(const Cache *cache, const CacheKey *key, char *text, size_t bytes)
{
    size_t length;
    char *found = entry_read(cache->path, key, TEXT, &length);
    bool fits = found && length < bytes;
    if (fits)
        memcpy(text, found, length + 1);
    free(found);
    return fits;
}

/* ---- the user's view ---- */

int cache_list(const Cache *cache, void (*visit)(void *user, const CacheEntry *entry), void *user)
{
    int count = 0;
    DIR *entries = directory_list(cache->path);
    for (struct dirent *found; entries && (found = readdir(entries));) {
        struct stat status;
        int file = !entry_is_kernel(found->d_name) ? -1
                   : openat(dirfd(entries), found->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file >= 0 && !fstat(file, &status)) {
            char description[1024];
            entry_describe(file, description, sizeof description);
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
    return entries_sweep(cache->path, true);
}
