/* The kernel cache: where it is, what it stores, what it refuses to load. */
#include "cache_testing.h"

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

static void see_code(void *user, const CacheEntry *entry)
{
    *(int *)user += !strcmp(entry->description, "ij->i") && entry->bytes > 3000;
}

static void test_code(void **state)
{
    (void)state;
    char code[3000] = "not a text: 0 and all", *found;
    size_t bytes = 0;
    int seen = 0;
    CacheKey a = key_of(0), b = key_of(1);
    Cache *cache = cache_open(directory);
    code[2999] = 'e';
    assert_null(cache_fetch(cache, &a, &bytes));
    cache_keep(cache, &a, "ij->i", code, sizeof code);
    cache_keep(cache, &b, "ij->i", "", 0);
    assert_non_null(found = cache_fetch(cache, &a, &bytes));
    assert_true(bytes == sizeof code && !memcmp(found, code, bytes) && !found[bytes]);
    free(found);
    assert_non_null(found = cache_fetch(cache, &b, &bytes));
    assert_true(bytes == 0 && !*found);
    free(found);
    assert_int_equal(load(cache, 0), -1);            /* it is no object */
    assert_int_equal(cache_list(cache, see_code, &seen), 2);
    assert_int_equal(seen, 1);
    assert_int_equal(truncate(entry_path(0, ".cubin"), 2000), 0);
    assert_null(cache_fetch(cache, &a, &bytes));
    assert_int_equal(cache_clear(cache), 1);
    cache_close(cache);
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
    make_old(in_cache(".tmp-2-fresh"), FRESH);
    mkdir(in_cache(".tmp-3-stale"), 0700);
    close(open(in_cache(".tmp-3-stale/kernel.so"), O_CREAT | O_WRONLY, 0600));
    make_old(in_cache(".tmp-3-stale"), STALE);
    assert_int_equal(symlink(scratch, in_cache(".tmp-4-link")), 0);
    make_old(in_cache(".tmp-4-link"), STALE);
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
    const struct CMUnitTest tests[] = {
        TEST(test_keys),
        TEST(test_path),
        TEST(test_store_and_load),
        TEST(test_many_at_once),
        TEST(test_builder_fails),
        TEST(test_not_an_object),
        TEST(test_truncated),
        TEST(test_altered),
        TEST(test_other_things),
        TEST(test_foreign_entry),
        TEST(test_texts),
        TEST(test_code),
        TEST(test_list_and_clear),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
