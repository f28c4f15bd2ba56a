/* What the tests of the kernel cache share: objects to store, builders that stand in for a compiler, a directory. */
#ifndef TESTS_CACHE_TESTING_H
#define TESTS_CACHE_TESTING_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "cache.h"
#include "compiler.h"
#include "einc.h"
#include "scratch.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#ifdef __SANITIZE_THREAD__
/* The thread sanitizer does not see the lock that the dynamic loader holds. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "race:_dl_\n"; }
#endif

/* ---- objects to store: number i has a function f that returns i ---- */

enum { OBJECTS = 4 };

static char scratch[64], directory[128], error[4096];
static Compiler *compiler;
static char *objects[OBJECTS];
static size_t object_bytes[OBJECTS];

static inline bool compile(int number, const char *path, char *message, size_t bytes)
{
    char text[256];
    snprintf(text, sizeof text, "__attribute__((visibility(\"default\"))) int f(void) { return %d; }\n"
             "const char padding_%d[3000] = { %d };\n", number, number, number);
    return !compiler_run(compiler, "", text, strlen(text), path, message, bytes);
}

static inline int set_up_all(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/test_cache-XXXXXX");
    if (!mkdtemp(scratch) || compiler_find(&compiler, error, sizeof error))
        return 1;
    for (int i = 0; i < OBJECTS; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/object.so", scratch);
        if (!compile(i, path, error, sizeof error))
            return 1;
        FILE *file = fopen(path, "r");
        objects[i] = malloc(1 << 20);
        object_bytes[i] = fread(objects[i], 1, 1 << 20, file);
        fclose(file);
        unlink(path);
    }
    return 0;
}

static inline int tear_down_all(void **state)
{
    (void)state;
    for (int i = 0; i < OBJECTS; i++)
        free(objects[i]);
    compiler_free(compiler);
    return rmdir(scratch);
}

/* Each test has a directory for the cache, which is not yet there, and one for temporary files. */
static inline int set_up(void **state)
{
    (void)state;
    char temporary[128];
    snprintf(directory, sizeof directory, "%s/cache", scratch);
    snprintf(temporary, sizeof temporary, "%s/tmp", scratch);
    setenv("TMPDIR", temporary, 1);
    return mkdir(temporary, 0777) || chmod(temporary, 01777) || chmod(scratch, 0755);
}

static inline int tear_down(void **state)
{
    (void)state;
    remove_tree(scratch);
    return mkdir(scratch, 0700);
}

/* ---- builders ---- */

typedef struct Build {
    int number;
    atomic_int calls;
    int status;               /* what to return instead of building */
    int64_t pause_ns;         /* between pieces, for what happens meanwhile */
} Build;

/* Stands in for a compiler: writes the object in pieces. */
static inline int build(void *user, const char *path, char *message, size_t bytes)
{
    Build *build = user;
    atomic_fetch_add(&build->calls, 1);
    if (build->status) {
        snprintf(message, bytes, "refused");
        return build->status;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0777);
    size_t at = 0, length = object_bytes[build->number];
    while (file >= 0 && at < length) {
        ssize_t written = write(file, objects[build->number] + at, length - at < 1000 ? length - at : 1000);
        if (written <= 0)
            break;
        at += (size_t)written;
        if (build->pause_ns)
            nanosleep(&(struct timespec){ .tv_nsec = build->pause_ns }, NULL);
    }
    if (file >= 0)
        close(file);
    if (at == length)
        return EINC_OK;
    snprintf(message, bytes, "cannot write: %s", strerror(errno));
    unlink(path);
    return EINC_FAILED;
}

static inline int build_by_compiler(void *user, const char *path, char *message, size_t bytes)
{
    return compile(((Build *)user)->number, path, message, bytes) ? EINC_OK : EINC_FAILED;
}

static inline CacheKey key_of(int number)
{
    char text[24];
    snprintf(text, sizeof text, "object %d", number);
    return cache_key((const char *[]){ text, "compiler", "flags" }, 3);
}

/* What the object returns; it is closed. -1: there is none. */
static inline int value_of(void *object)
{
    int (*f)(void);
    if (!object)
        return -1;
    *(void **)&f = dlsym(object, "f");
    int value = f ? f() : -2;
    dlclose(object);
    return value;
}

static inline int load(const Cache *cache, int number)
{
    CacheKey key = key_of(number);
    return value_of(cache_load(cache, &key));
}

static inline int store(const Cache *cache, int number)
{
    CacheKey key = key_of(number);
    Build user = { .number = number };
    void *object;
    int status = cache_build(cache, &key, "ij,jk->ik\nsecond line", build, &user, &object, error, sizeof error);
    return status ? -status : value_of(object);
}

/* Like a kernel's user: from the cache, or built. */
static inline int load_or_build(const Cache *cache, Build *user, CacheBuilder *builder)
{
    CacheKey key = key_of(user->number);
    char message[1024];
    void *object = cache_load(cache, &key);
    if (!object && cache_build(cache, &key, "", builder, user, &object, message, sizeof message))
        return -1;
    return value_of(object);
}

static inline const char *entry_path(int number, const char *suffix)
{
    static char path[256];
    CacheKey key = key_of(number);
    char *end = path + sprintf(path, "%s/", directory);
    for (int i = 0; i < 16; i++)
        end += sprintf(end, "%02x", key.bytes[i]);
    strcpy(end, suffix);
    return path;
}

/* How many files there are, "." and ".." not counted; -1: no such directory. */
static inline int files_in(const char *path)
{
    int count = -2;
    DIR *list = opendir(path);
    if (!list)
        return -1;
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

/* Temporary directories of the cache go when they are older than an hour. */
enum { STALE = 4000, FRESH = 3000 };

static inline void make_old(const char *path, int seconds)
{
    struct timespec then = { .tv_sec = time(NULL) - seconds }, times[2] = { then, then };
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
