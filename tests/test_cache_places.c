/* The kernel cache in directories that it cannot, or should not, use. */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "cache_testing.h"

/* Says where it fails, and does so in a child too, where cmocka's assertions would go on with the next test. */
#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            print_message("line %d: not true: %s\n", __LINE__, #condition);   \
            return 1;                                                         \
        }                                                                     \
    } while (0)

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_modes),
        TEST(test_no_directory),
        TEST(test_foreign_directory),
        TEST(test_as_nobody),
        TEST(test_without_permission),
        TEST(test_read_only),
        TEST(test_full_disk),
        TEST(test_limited_files),
        TEST(test_not_executable),
        TEST(test_without_proc),
        TEST(test_open_umask),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
