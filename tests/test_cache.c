/* The kernel cache: what it stores, what it refuses to load, and what it does where it cannot store. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"
#include "compiler.h"
#include "einc.h"
#include "sha256.h"

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

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static bool compile(int number, const char *path, char *message, size_t bytes)
{
    char text[256];
    snprintf(text, sizeof text, "__attribute__((visibility(\"default\"))) int f(void) { return %d; }\n"
             "const char padding_%d[3000] = { %d };\n", number, number, number);
    return !compiler_run(compiler, text, strlen(text), path, message, bytes);
}

static int set_up_all(void **state)
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

static int tear_down_all(void **state)
{
    (void)state;
    for (int i = 0; i < OBJECTS; i++)
        free(objects[i]);
    compiler_free(compiler);
    return rmdir(scratch);
}

/* Each test has a directory for the cache, which is not yet there, and one for temporary files. */
static int set_up(void **state)
{
    (void)state;
    char temporary[128];
    snprintf(directory, sizeof directory, "%s/cache", scratch);
    snprintf(temporary, sizeof temporary, "%s/tmp", scratch);
    setenv("TMPDIR", temporary, 1);
    return mkdir(temporary, 0777) || chmod(temporary, 01777) || chmod(scratch, 0755);
}

static int tear_down(void **state)
{
    (void)state;
    nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
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
static int build(void *user, const char *path, char *message, size_t bytes)
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

static int build_by_compiler(void *user, const char *path, char *message, size_t bytes)
{
    return compile(((Build *)user)->number, path, message, bytes) ? EINC_OK : EINC_FAILED;
}

static CacheKey key_of(int number)
{
    char text[24];
    snprintf(text, sizeof text, "object %d", number);
    return cache_key((const char *[]){ text, "compiler", "flags" }, 3);
}

/* What the object returns; it is closed. -1: there is none. */
static int value_of(void *object)
{
    int (*f)(void);
    if (!object)
        return -1;
    *(void **)&f = dlsym(object, "f");
    int value = f ? f() : -2;
    dlclose(object);
    return value;
}

static int load(const Cache *cache, int number)
{
    CacheKey key = key_of(number);
    return value_of(cache_load(cache, &key));
}

static int store(const Cache *cache, int number)
{
    CacheKey key = key_of(number);
    Build user = { .number = number };
    void *object;
    int status = cache_build(cache, &key, "ij,jk->ik\nsecond line", build, &user, &object, error, sizeof error);
    return status ? -status : value_of(object);
}

/* Like a kernel's user: from the cache, or built. */
static int load_or_build(const Cache *cache, Build *user, CacheBuilder *builder)
{
    CacheKey key = key_of(user->number);
    char message[1024];
    void *object = cache_load(cache, &key);
    if (!object && cache_build(cache, &key, "", builder, user, &object, message, sizeof message))
        return -1;
    return value_of(object);
}

static const char *entry_path(int number, const char *suffix)
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
static int files_in(const char *path)
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

/* Says where it fails, and does so in a child too, where cmocka's assertions would go on with the next test. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            print_message("line %d: not true: %s\n", __LINE__, #condition);   \
            return 1;                                                         \
        }                                                                     \
    } while (0)

enum { CANNOT_TEST = 77 };

/* A cache that works, or not, as expected: one that does not still gives objects, and leaves nothing anywhere. */
static int check_usable(bool usable)
{
    Cache *cache = cache_open(directory);
    CacheKey key = cache_key((const char *[]){ "text" }, 1);
    char text[16];
    CHECK((cache_problem(cache) == NULL) == usable);
    for (int i = 0; i < 2; i++) {
        CHECK(store(cache, i) == i);
        CHECK(load(cache, i) == (usable ? i : -1));
    }
    cache_remember(cache, &key, "hello");
    CHECK(cache_recall(cache, &key, text, sizeof text) == usable);
    CHECK(files_in(getenv("TMPDIR")) == 0);
    CHECK(cache_clear(cache) == (usable ? 2 : 0));
    CHECK(!usable || files_in(directory) == 0);
    cache_close(cache);
    return 0;
}

/* Runs `body` in a process that may become someone else, or see other mounts. */
static void in_child(int (*body)(void))
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT_TEST) {
        print_message("skipped: needs root, and a system that lets it mount\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Mounts of this process alone, so that nothing is left of them. */
static bool own_mounts(void)
{
    return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static bool mount_memory(const char *path, unsigned long flags, const char *options)
{
    return own_mounts() && (!mkdir(path, 0700) || errno == EEXIST) && !mount("none", path, "tmpfs", flags, options);
}

static bool become_nobody(void)
{
    return !setgroups(0, NULL) && !setgid(65534) && !setuid(65534);
}

/* ---- the hash ---- */

static void expect_digest(const char *text, size_t repeats, size_t piece, const char *expected)
{
    Sha256 sha;
    uint8_t digest[32];
    char hex[65];
    size_t length = strlen(text) * repeats;
    char *whole = malloc(length + 1);
    for (size_t i = 0; i < repeats; i++)
        memcpy(whole + i * strlen(text), text, strlen(text));
    sha256_begin(&sha);
    for (size_t at = 0; at < length; at += piece)
        sha256_add(&sha, whole + at, length - at < piece ? length - at : piece);
    sha256_end(&sha, digest);
    for (int i = 0; i < 32; i++)
        sprintf(hex + 2 * i, "%02x", digest[i]);
    assert_string_equal(hex, expected);
    free(whole);
}

/* The examples of FIPS 180 and of NIST's test vectors, in pieces of every size up to two blocks. */
static void test_sha256(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 130; piece++) {
        expect_digest("", 1, piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        expect_digest("abc", 1, piece, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        expect_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, piece,
                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        expect_digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                      "mnopqrstnopqrstu", 1, piece, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
    expect_digest("a", 1000000, 4097, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    expect_digest("a", 1000000, 1, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_keys(void **state)
{
    (void)state;
    const char *const parts[][3] = { { "ab", "c", "" }, { "a", "bc", "" }, { "abc", "", "" }, { "", "abc", "" } };
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            CacheKey a = cache_key(parts[i], 3), b = cache_key(parts[j], 3);
            assert_int_equal(!memcmp(&a, &b, sizeof a), i == j);
        }
    CacheKey a = cache_key(parts[0], 3), b = cache_key(parts[0], 2);
    assert_memory_not_equal(&a, &b, sizeof a);
}

/* ---- where ---- */

static void expect_path(const char *given, const char *dir, const char *xdg, const char *home, const char *expected)
{
    const char *const names[] = { "EINC_CACHE_DIR", "XDG_CACHE_HOME", "HOME" }, *const values[] = { dir, xdg, home };
    char *before[3];
    for (int i = 0; i < 3; i++) {
        before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        if (values[i])
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
    }
    Cache *cache = cache_open(given);
    if (expected)
        assert_string_equal(cache_path(cache), expected);
    else                             /* from the user database, whatever it says */
        assert_true(!*cache_path(cache) || strstr(cache_path(cache), "/.cache/einc"));
    cache_close(cache);
    for (int i = 0; i < 3; i++) {
        if (before[i])
            setenv(names[i], before[i], 1);
        else
            unsetenv(names[i]);
        free(before[i]);
    }
}

static void test_path(void **state)
{
    (void)state;
    expect_path(NULL, "/a", "/b", "/c", "/a");
    expect_path("/d", "/a", "/b", "/c", "/d");
    expect_path(NULL, "", "/b", "/c", "/b/einc");
    expect_path(NULL, NULL, "relative", "/c", "/c/.cache/einc");   /* as the XDG specification wants it */
    expect_path(NULL, NULL, NULL, "/c", "/c/.cache/einc");
    expect_path(NULL, NULL, NULL, NULL, NULL);
    expect_path(NULL, NULL, "", "", NULL);
    char *here = getcwd(NULL, 0), expected[4200];
    snprintf(expected, sizeof expected, "%s/x/y", here);
    expect_path(NULL, "x/y", "/b", "/c", expected);
    free(here);
    cache_close(NULL);
}

/* ---- storing and loading ---- */

static void test_store_and_load(void **state)
{
    (void)state;
    struct stat status;
    snprintf(directory, sizeof directory, "%s/some/where/cache", scratch);
    Cache *cache = cache_open(directory);
    assert_null(cache_problem(cache));
    assert_int_equal(load(cache, 0), -1);
    assert_int_equal(files_in(directory), -1);       /* nothing is made before something is stored */
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(store(cache, i), i);
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(load(cache, i), i);
    assert_int_equal(files_in(directory), OBJECTS);
    assert_int_equal(stat(directory, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(entry_path(0, ".so"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(files_in(getenv("TMPDIR")), 0);
    cache_close(cache);
}

/* The loader knows an object by the name that it was opened by, and the descriptor has the same number each time. */
static void test_many_at_once(void **state)
{
    (void)state;
    void *handles[OBJECTS], *again[OBJECTS];
    Cache *cache = cache_open(directory);
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(store(cache, i), i);
    for (int i = 0; i < OBJECTS; i++) {
        CacheKey key = key_of(i);
        handles[i] = cache_load(cache, &key);
        again[i] = cache_load(cache, &key);
        assert_ptr_equal(handles[i], again[i]);
    }
    for (int i = 0; i < OBJECTS; i++) {
        assert_int_equal(value_of(handles[i]), i);
        assert_int_equal(value_of(again[i]), i);
    }
    /* The same without a cache, and with objects in memory. */
    Cache *none = cache_open("/dev/null/none");
    for (int i = 0; i < OBJECTS; i++) {
        CacheKey key = key_of(i);
        Build user = { .number = i };
        assert_int_equal(cache_build(none, &key, "", build, &user, &handles[i], error, sizeof error), EINC_OK);
        assert_int_equal(user.calls, 1);
    }
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(value_of(handles[i]), i);
    cache_close(none);
    cache_close(cache);
}

static void test_builder_fails(void **state)
{
    (void)state;
    Cache *cache = cache_open(directory);
    CacheKey key = key_of(0);
    void *object = &key;
    Build user = { .status = EINC_FAILED };
    assert_int_equal(cache_build(cache, &key, "", build, &user, &object, error, sizeof error), EINC_FAILED);
    assert_null(object);
    assert_string_equal(error, "refused");
    assert_int_equal(user.calls, 2);
    user = (Build){ .status = EINC_NO_COMPILER };
    assert_int_equal(cache_build(cache, &key, "", build, &user, &object, error, sizeof error), EINC_NO_COMPILER);
    assert_int_equal(user.calls, 1);
    assert_int_equal(files_in(directory), 0);
    assert_int_equal(files_in(getenv("TMPDIR")), 0);
    cache_close(cache);
}

static int build_rubbish(void *user, const char *path, char *message, size_t bytes)
{
    (void)user, (void)message, (void)bytes;
    FILE *file = fopen(path, "w");
    fputs("not an object", file);
    fclose(file);
    return EINC_OK;
}

static int build_nothing(void *user, const char *path, char *message, size_t bytes)
{
    (void)user, (void)path, (void)message, (void)bytes;
    return EINC_OK;
}

static void test_not_an_object(void **state)
{
    (void)state;
    Cache *cache = cache_open(directory);
    CacheKey key = key_of(0);
    void *object;
    assert_int_equal(cache_build(cache, &key, "", build_rubbish, NULL, &object, error, sizeof error), EINC_FAILED);
    assert_non_null(strstr(error, "cannot load the compiled kernel: "));
    assert_null(strstr(error, "/proc"));
    assert_int_equal(load(cache, 0), -1);
    assert_int_equal(store(cache, 0), 0);            /* what was stored under the key does not stay */
    assert_int_equal(load(cache, 0), 0);
    assert_int_equal(cache_build(cache, &key, "", build_nothing, NULL, &object, error, sizeof error), EINC_OK);
    assert_int_equal(value_of(object), 0);           /* another's is as good */
    key = key_of(1);
    assert_int_equal(cache_build(cache, &key, "", build_nothing, NULL, &object, error, sizeof error), EINC_FAILED);
    cache_close(cache);
}

/* ---- damage ---- */

static void expect_refused(const Cache *cache, int number)
{
    struct stat status;
    assert_int_equal(load(cache, number), -1);
    assert_int_equal(lstat(entry_path(number, ".so"), &status), -1);
    assert_int_equal(store(cache, number), number);
    assert_int_equal(load(cache, number), number);
}

static void test_truncated(void **state)
{
    (void)state;
    struct stat status;
    Cache *cache = cache_open(directory);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(stat(entry_path(0, ".so"), &status), 0);
    for (off_t length = 0; length < status.st_size; length += length + 150 < status.st_size ? 97 : 1) {
        assert_int_equal(truncate(entry_path(0, ".so"), length), 0);
        expect_refused(cache, 0);
    }
    assert_int_equal(truncate(entry_path(0, ".so"), status.st_size + 1), 0);
    expect_refused(cache, 0);
    cache_close(cache);
}

static void test_altered(void **state)
{
    (void)state;
    struct stat status;
    Cache *cache = cache_open(directory);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(stat(entry_path(0, ".so"), &status), 0);
    for (off_t at = 0; at < status.st_size; at += at < 64 || at + 150 > status.st_size ? 1 : 53) {
        int file = open(entry_path(0, ".so"), O_RDWR);
        unsigned char byte;
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= (unsigned char)(1 << at % 8);
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        close(file);
        expect_refused(cache, 0);
    }
    cache_close(cache);
}

/* What has the name of an entry but is another's, or nobody's. */
static void test_other_things(void **state)
{
    (void)state;
    char path[256];
    Cache *cache = cache_open(directory);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(store(cache, 1), 1);
    strcpy(path, entry_path(0, ".so"));
    assert_int_equal(rename(path, entry_path(1, ".so")), 0);        /* a whole entry under another's name */
    expect_refused(cache, 1);
    assert_int_equal(store(cache, 0), 0);
    snprintf(path, sizeof path, "%s/elsewhere.so", scratch);         /* a link to a whole entry */
    assert_int_equal(rename(entry_path(0, ".so"), path), 0);
    assert_int_equal(symlink(path, entry_path(0, ".so")), 0);
    expect_refused(cache, 0);
    assert_int_equal(unlink(entry_path(0, ".so")), 0);
    assert_int_equal(mkfifo(entry_path(0, ".so"), 0600), 0);
    expect_refused(cache, 0);
    assert_int_equal(chmod(entry_path(0, ".so"), 0620), 0);
    expect_refused(cache, 0);
    assert_int_equal(chmod(entry_path(0, ".so"), 0602), 0);
    expect_refused(cache, 0);
    assert_int_equal(unlink(entry_path(0, ".so")), 0);
    assert_int_equal(mkdir(entry_path(0, ".so"), 0700), 0);         /* this one stays, and costs the entry its place */
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(load(cache, 0), -1);
    assert_int_equal(load(cache, 1), 1);
    cache_close(cache);
}

static void test_foreign_entry(void **state)
{
    (void)state;
    if (geteuid()) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    Cache *cache = cache_open(directory);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(chown(entry_path(0, ".so"), 65534, 65534), 0);
    expect_refused(cache, 0);
    cache_close(cache);
}

static void test_texts(void **state)
{
    (void)state;
    char text[64] = "before";
    CacheKey a = key_of(0), b = key_of(1);
    Cache *cache = cache_open(directory);
    assert_false(cache_recall(cache, &a, text, sizeof text));
    cache_remember(cache, &a, "gcc 12.2.0");
    cache_remember(cache, &b, "");
    assert_false(cache_recall(cache, &a, text, 10));
    assert_string_equal(text, "before");
    assert_true(cache_recall(cache, &a, text, 11));
    assert_string_equal(text, "gcc 12.2.0");
    assert_true(cache_recall(cache, &b, text, 1));
    assert_string_equal(text, "");
    cache_remember(cache, &a, "gcc 13");
    assert_true(cache_recall(cache, &a, text, sizeof text));
    assert_string_equal(text, "gcc 13");
    assert_int_equal(load(cache, 0), -1);            /* a text is no object */
    int file = open(entry_path(0, ".txt"), O_WRONLY);
    assert_int_equal(write(file, "G", 1), 1);
    close(file);
    assert_false(cache_recall(cache, &a, text, sizeof text));
    cache_close(cache);
}

/* ---- directories that cannot be used ---- */

static void test_modes(void **state)
{
    (void)state;
    static const int good[] = { 0700, 0755, 0711 }, bad[] = { 0770, 0720, 0707, 0702, 0777, 01777 };
    mkdir(directory, 0700);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        chmod(directory, (mode_t)good[i]);
        assert_int_equal(check_usable(true), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        chmod(directory, (mode_t)bad[i]);
        assert_int_equal(check_usable(false), 0);
        assert_int_equal(files_in(directory), 0);
    }
}

static void test_no_directory(void **state)
{
    (void)state;
    char path[128];
    strcpy(path, directory);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(check_usable(false), 0);        /* a file */
    strcat(directory, "/below/a/file");
    assert_int_equal(check_usable(false), 0);
    strcpy(directory, "/proc/no/such/place");        /* where nobody can make one */
    Cache *cache = cache_open(directory);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(load(cache, 0), -1);
    cache_close(cache);
    unlink(path);
    mkdir(path, 0700);
    snprintf(directory, sizeof directory, "%s/link", scratch);
    assert_int_equal(symlink(path, directory), 0);
    assert_int_equal(check_usable(true), 0);         /* a link to a directory is one */
}

static void test_foreign_directory(void **state)
{
    (void)state;
    if (geteuid()) {
        print_message("skipped: only root can give a directory away\n");
        skip();
    }
    mkdir(directory, 0700);
    assert_int_equal(chown(directory, 65534, 65534), 0);
    assert_int_equal(check_usable(false), 0);
    assert_int_equal(files_in(directory), 0);
    strcat(directory, "/cache");                     /* nor does root make one in there */
    Cache *cache = cache_open(directory);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(files_in(directory), -1);
    cache_close(cache);
}

static int as_nobody(void)
{
    mkdir(directory, 0755);
    if (geteuid() || !become_nobody())
        return CANNOT_TEST;
    return check_usable(false);
}

static int without_permission(void)
{
    mkdir(directory, 0500);
    if (!geteuid() && (chown(directory, 65534, 65534) || !become_nobody()))
        return CANNOT_TEST;
    return check_usable(false);
}

static int read_only(void)
{
    Cache *cache = cache_open(directory);
    CHECK(store(cache, 0) == 0);
    if (!own_mounts() || mount(directory, directory, NULL, MS_BIND, NULL)
        || mount(NULL, directory, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
        return CANNOT_TEST;
    CHECK(cache_problem(cache));
    CHECK(load(cache, 0) == 0);                      /* what is there can be used */
    CHECK(store(cache, 1) == 1);
    CHECK(load(cache, 1) == -1);
    CHECK(cache_clear(cache) == 0);
    CHECK(files_in(directory) == 1);
    cache_close(cache);
    return 0;
}

/* From no free page to enough for an entry; with our builder and with a compiler. */
static int full_disk(void)
{
    enum { PAGES = 6 };
    char path[160];
    if (!mount_memory(directory, 0, "size=24k,mode=0700"))
        return CANNOT_TEST;
    Cache *cache = cache_open(directory);
    snprintf(path, sizeof path, "%s/filler", directory);
    for (int pages = PAGES; pages >= 0; pages--)
        for (int round = 0; round < 2; round++) {
            Build user = { .number = pages % OBJECTS };
            int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
            for (int i = 0; i < pages * 4096 / 512; i++)
                CHECK(write(file, objects[0], 512) == 512);
            close(file);
            CHECK(load_or_build(cache, &user, round ? build_by_compiler : build) == user.number);
            int loaded = load(cache, user.number);
            CHECK(loaded == user.number || (loaded == -1 && pages > 0));
            CHECK(files_in(directory) == 1 + (loaded >= 0));
            CHECK(files_in(getenv("TMPDIR")) == 0);
            cache_clear(cache);
        }
    cache_close(cache);
    return 0;
}

/* No file may be longer than `limit`. Not even a compiler could then write a longer object. */
static int limited_files(void)
{
    Cache *cache = cache_open(directory);
    struct stat status;
    CHECK(store(cache, 0) == 0);
    CHECK(!stat(entry_path(0, ".so"), &status));
    off_t whole = status.st_size, object = (off_t)object_bytes[0];
    signal(SIGXFSZ, SIG_IGN);
    for (off_t limit = 0; limit <= whole; limit += limit < object - 1000 ? 777 : limit < object - 2 ? 100 : 1) {
        cache_clear(cache);
        if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){ (rlim_t)limit, RLIM_INFINITY }))
            return CANNOT_TEST;
        int stored = store(cache, 0);
        CHECK(stored == (limit < object ? -EINC_FAILED : 0));
        CHECK(stored >= 0 || strstr(error, strerror(EFBIG)));
        CHECK(load(cache, 0) == (limit < whole ? -1 : 0));
        CHECK(files_in(directory) == (limit < whole ? 0 : 1));
        CHECK(files_in(getenv("TMPDIR")) == 0);
    }
    cache_close(cache);
    return 0;
}

static int not_executable(void)
{
    return mount_memory(directory, MS_NOEXEC, "mode=0700") ? check_usable(true) : CANNOT_TEST;
}

static int without_proc(void)
{
    return mount_memory("/proc", 0, "") ? check_usable(true) : CANNOT_TEST;
}

/* A umask that lets everybody write. */
static int open_umask(void)
{
    struct stat status;
    umask(0);
    Cache *cache = cache_open(directory);
    CHECK(store(cache, 0) == 0);
    CHECK(!stat(entry_path(0, ".so"), &status) && (status.st_mode & 0777) == 0600);
    CHECK(!stat(directory, &status) && (status.st_mode & 0777) == 0700);
    cache_close(cache);
    return check_usable(true);
}

static void test_as_nobody(void **state) { (void)state, in_child(as_nobody); }
static void test_without_permission(void **state) { (void)state, in_child(without_permission); }
static void test_read_only(void **state) { (void)state, in_child(read_only); }
static void test_full_disk(void **state) { (void)state, in_child(full_disk); }
static void test_limited_files(void **state) { (void)state, in_child(limited_files); }
static void test_not_executable(void **state) { (void)state, in_child(not_executable); }
static void test_without_proc(void **state) { (void)state, in_child(without_proc); }
static void test_open_umask(void **state) { (void)state, in_child(open_umask); }

/* ---- many at once ---- */

typedef struct Shared {
    atomic_int ready, wrong, done;
    atomic_bool go;
} Shared;

static Shared *shared_new(void)
{
    return mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void test_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 64 };
    for (int round = 0; round < 3; round++) {
        Shared *shared = shared_new();
        Build user = { .number = 1, .pause_ns = round * 1000000 };
        Cache *cache = cache_open(directory);
        for (int i = 0; i < PROCESSES; i++)
            if (!fork()) {
                atomic_fetch_add(&shared->ready, 1);
                while (!atomic_load(&shared->go))
                    sched_yield();
                int value = load_or_build(cache, &user, round ? build : build_by_compiler);
                atomic_fetch_add(value == 1 ? &shared->done : &shared->wrong, 1);
                _exit(0);
            }
        while (atomic_load(&shared->ready) < PROCESSES)
            sched_yield();
        atomic_store(&shared->go, true);
        while (wait(NULL) > 0)
            ;
        assert_int_equal(shared->done, PROCESSES);
        assert_int_equal(files_in(directory), 1);
        assert_int_equal(files_in(getenv("TMPDIR")), 0);
        assert_int_equal(load(cache, 1), 1);
        assert_int_equal(cache_clear(cache), 1);
        cache_close(cache);
        munmap(shared, sizeof *shared);
    }
}

typedef struct Worker {
    const Cache *cache;
    pthread_t thread;
    int number, faults;
} Worker;

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    for (int round = 0; round < 40; round++) {
        Build user = { .number = (worker->number + round) % OBJECTS };
        worker->faults += load_or_build(worker->cache, &user, build) != user.number;
        if (round % 10 == worker->number % 10)
            cache_clear(worker->cache);
    }
    return NULL;
}

/* Threads of one process, while entries are being removed too. */
static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 16 };
    Worker workers[THREADS];
    Cache *cache = cache_open(directory);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){ .cache = cache, .number = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].faults, 0);
    }
    assert_in_range(files_in(directory), 0, OBJECTS);
    cache_close(cache);
}

/* ---- killed ---- */

static void use_until_killed(const Cache *cache, Shared *shared)
{
    for (unsigned i = (unsigned)getpid();; i = i * 1103515245 + 12345) {
        Build user = { .number = (int)(i >> 16) % OBJECTS, .pause_ns = (int)(i >> 20) % 200000 };
        int value = load_or_build(cache, &user, build);
        atomic_fetch_add(value == user.number ? &shared->done : &shared->wrong, 1);
        if ((i >> 18) % 4 == 0)
            unlink(entry_path(user.number, ".so"));
    }
}

static void make_stale(const char *path)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - 4000 }, { .tv_sec = time(NULL) - 4000 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static int make_all_stale(void)
{
    int count = 0;
    DIR *list = opendir(directory);
    for (struct dirent *entry; (entry = readdir(list));)
        if (!strncmp(entry->d_name, ".tmp-", 5)) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            make_stale(path);
            count++;
        }
    closedir(list);
    return count;
}

/* Processes are killed at whatever they are doing; no object is ever wrong, and what they leave goes away. */
static void test_killed(void **state)
{
    (void)state;
    enum { ROUNDS = 150, PROCESSES = 4 };
    Shared *shared = shared_new();
    Cache *cache = cache_open(directory);
    int left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[PROCESSES];
        for (int i = 0; i < PROCESSES; i++)
            if (!(children[i] = fork()))
                use_until_killed(cache, shared);
        for (int i = 0; i < PROCESSES; i++) {
            nanosleep(&(struct timespec){ .tv_nsec = 100000 + rand() % 3000000 }, NULL);
            kill(children[i], SIGKILL);
        }
        while (wait(NULL) > 0)
            ;
        for (int i = 0; i < OBJECTS; i++) {
            int value = load(cache, i);
            assert_true(value == i || value == -1);
        }
        left = left > files_in(directory) ? left : files_in(directory);
    }
    assert_int_equal(shared->wrong, 0);
    assert_true(shared->done > ROUNDS);
    int stale = make_all_stale();
    print_message("%d objects used, %d temporary directories left by %d killed processes\n", shared->done, stale,
                  ROUNDS * PROCESSES);
    assert_true(stale > 0);          /* or nobody was killed in the middle */
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(store(cache, i), i);
    assert_int_equal(files_in(directory), OBJECTS);
    cache_close(cache);
    munmap(shared, sizeof *shared);
}

/* ---- listing and clearing ---- */

typedef struct Seen {
    int count;
    uint64_t bytes;
    bool good, damaged;
} Seen;

static void see(void *user, const CacheEntry *entry)
{
    Seen *seen = user;
    seen->count++;
    seen->bytes += entry->bytes;
    seen->good |= !strcmp(entry->description, "ij,jk->ik") && strlen(entry->key) == 32
                  && llabs((long long)(entry->modified - time(NULL))) < 1000;
    seen->damaged |= !*entry->description;
}

static const char *in_cache(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void test_list_and_clear(void **state)
{
    (void)state;
    static const char *const others[] = { "README", "0123456789abcdef0123456789abcdef", "x.so", ".tmp-1-file",
                                          "0123456789abcdef0123456789abcdef.so.bak",
                                          "0123456789ABCDEF0123456789ABCDEF.so" };
    enum { OTHERS = sizeof others / sizeof *others };
    CacheKey key = key_of(0);
    Seen seen = { .count = 0 };
    Cache *cache = cache_open(directory);
    assert_int_equal(cache_list(cache, see, &seen), 0);
    assert_int_equal(cache_clear(cache), 0);
    assert_int_equal(store(cache, 0), 0);
    assert_int_equal(store(cache, 1), 1);
    assert_int_equal(truncate(entry_path(1, ".so"), 1000), 0);
    cache_remember(cache, &key, "text");
    for (int i = 0; i < OTHERS; i++)
        close(open(in_cache(others[i]), O_CREAT | O_WRONLY, 0600));
    mkdir(in_cache(".tmp-2-fresh"), 0700);           /* of a process that may be at work */
    mkdir(in_cache(".tmp-3-stale"), 0700);
    close(open(in_cache(".tmp-3-stale/kernel.so"), O_CREAT | O_WRONLY, 0600));
    make_stale(in_cache(".tmp-3-stale"));
    assert_int_equal(symlink(scratch, in_cache(".tmp-4-link")), 0);
    make_stale(in_cache(".tmp-4-link"));
    assert_int_equal(cache_list(cache, see, &seen), 2);
    assert_int_equal(seen.count, 2);
    assert_true(seen.good && seen.damaged && seen.bytes > 1000 + object_bytes[0]);
    assert_int_equal(cache_clear(cache), 2);
    assert_int_equal(files_in(directory), OTHERS + 2);
    assert_int_equal(access(in_cache(".tmp-2-fresh"), F_OK), 0);
    assert_int_equal(files_in(getenv("TMPDIR")), 0);
    cache_close(cache);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_sha256),         TEST(test_keys),          TEST(test_path),          TEST(test_store_and_load),
        TEST(test_many_at_once),   TEST(test_builder_fails), TEST(test_not_an_object), TEST(test_truncated),
        TEST(test_altered),        TEST(test_other_things),  TEST(test_foreign_entry), TEST(test_texts),
        TEST(test_modes),          TEST(test_no_directory),  TEST(test_foreign_directory),
        TEST(test_as_nobody),      TEST(test_without_permission), TEST(test_read_only),
        TEST(test_full_disk),      TEST(test_limited_files), TEST(test_not_executable), TEST(test_without_proc),
        TEST(test_open_umask),     TEST(test_processes),     TEST(test_threads),       TEST(test_killed),
        TEST(test_list_and_clear),
    };
    return cmocka_run_group_tests_name("cache", tests, set_up_all, tear_down_all);
}
