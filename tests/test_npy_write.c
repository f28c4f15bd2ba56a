/* .npy files: write what numpy writes, whole or not at all, wherever it goes. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "npy_testing.h"

static void assert_creates(NpyWriter *writer, const char *path, Dtype dtype, int rank, const int64_t *shape)
{
    if (!npy_create(writer, path, dtype, rank, shape, error, sizeof error))
        fail_msg("%s", error);
    assert_int_equal((uintptr_t)writer->array.data % 64, 0);
}

static void assert_commits(NpyWriter *writer)
{
    if (!npy_commit(writer, error, sizeof error))
        fail_msg("%s", error);
}

static void assert_not_created(const char *path, const char *why)
{
    NpyWriter writer;
    assert_false(npy_create(&writer, path, DTYPE_F32, 1, (int64_t[]){ 3 }, error, sizeof error));
    if (!strstr(error, why) || strncmp(error, path, strlen(path)))
        fail_msg("'%s' does not say '%s'", error, why);
    npy_abort(&writer);
}

/* Writes three numbers; false with `error` set. */
static bool write_three(const char *path, double first)
{
    NpyWriter writer;
    if (!npy_create(&writer, path, DTYPE_F64, 1, (int64_t[]){ 3 }, error, sizeof error))
        return false;
    array_store(DTYPE_F64, writer.array.data, (Number){ .re = first });
    return npy_commit(&writer, error, sizeof error);
}

/* The first of the numbers in a file, -1 if it cannot be read. */
static double first_of(const char *path)
{
    NpyFile file;
    double first = -1;
    if (npy_open(&file, path, error, sizeof error))
        first = array_load(file.array.dtype, file.array.data).re;
    npy_close(&file);
    return first;
}

static int temporaries, entries;

static int count_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)walk;
    temporaries += strstr(path, ".einc-") != NULL;
    entries += type != FTW_D;
    return 0;
}

static void count_entries(const char *folder)
{
    temporaries = entries = 0;
    nftw(folder, count_entry, 16, FTW_PHYS);
}

static bool same_files(const char *a, const char *b)
{
    size_t a_count, b_count;
    char *a_bytes = get_file(a, &a_count), *b_bytes = get_file(b, &b_count);
    bool same = a_count == b_count && !memcmp(a_bytes, b_bytes, a_count);
    free(a_bytes);
    free(b_bytes);
    return same;
}

static void writes_numpys_bytes(void **state)
{
    (void)state;
    make_counting();
    for (int d = 0; d < DTYPE_COUNT; d++) {
        char theirs[64];
        NpyWriter writer;
        snprintf(theirs, sizeof theirs, "counting.%s.l.C", numpy_names[d]);
        assert_creates(&writer, "mine.npy", (Dtype)d, 3, (int64_t[]){ 2, 3, 4 });
        fill_counting_up(&writer.array);
        assert_commits(&writer);
        assert_true(same_files("mine.npy", theirs));
    }
}

/* Shapes that make headers of all lengths around the multiples of 64. */
static void writes_numpys_headers(void **state)
{
    (void)state;
    enum { AXES = 32, TENS = 16 };
    python("if hasattr(np.lib.format, 'GROWTH_AXIS_MAX_DIGITS'):\n"
           "    for rank in range(33):\n"
           "        for tens in range(16):\n"
           "            shape = (1234, 0) + (10,) * tens + (1,) * 32\n"
           "            np.save('shape%d.%d.npy' % (rank, tens), np.zeros(shape[:rank], 'i1'))\n");
    if (access("shape0.0.npy", F_OK))
        skip();                   /* before numpy 1.24, headers had no room to grow */
    for (int rank = 0; rank <= AXES; rank++)
        for (int tens = 0; tens < TENS; tens++) {
            char theirs[40];
            int64_t shape[AXES] = { 1234, 0 };
            NpyWriter writer;
            for (int i = 2; i < rank; i++)
                shape[i] = i < 2 + tens ? 10 : 1;
            snprintf(theirs, sizeof theirs, "shape%d.%d.npy", rank, tens);
            assert_creates(&writer, "mine.npy", DTYPE_I8, rank, shape);
            assert_commits(&writer);
            assert_true(same_files("mine.npy", theirs));
        }
}

static void writes_any_shape(void **state)
{
    (void)state;
    int64_t shape[RANK_MAX];
    for (int i = 0; i < RANK_MAX; i++)
        shape[i] = i ? 4611686018427387 : 0;
    NpyWriter writer;
    NpyFile file;
    assert_false(npy_create(&writer, "axes.npy", DTYPE_C128, 3, shape, error, sizeof error));
    assert_non_null(strstr(error, "too large"));
    for (int i = 0; i < RANK_MAX; i++)
        shape[i] = i == 40 ? 3 : 1;
    assert_creates(&writer, "axes.npy", DTYPE_C128, RANK_MAX, shape);
    for (int i = 0; i < 3 * 16; i++)
        assert_int_equal(((char *)writer.array.data)[i], 0);
    fill_counting_up(&writer.array);
    assert_commits(&writer);
    assert_opens(&file, "axes.npy");
    assert_memory_equal(file.array.shape, shape, sizeof shape);
    assert_counts_up(&file.array);
    npy_close(&file);
    assert_creates(&writer, "scalar.npy", DTYPE_BOOL, 0, NULL);
    fill_counting_up(&writer.array);
    assert_commits(&writer);
    assert_opens(&file, "scalar.npy");
    assert_true(file.array.rank == 0 && file.array.dtype == DTYPE_BOOL);
    npy_close(&file);
}

static void appears_at_commit(void **state)
{
    (void)state;
    NpyWriter writer;
    assert_int_equal(mkdir("place", 0755), 0);
    assert_creates(&writer, "place/out.npy", DTYPE_F64, 1, (int64_t[]){ 100000 });
    assert_true(writer.mapped);
    assert_int_equal(access("place/out.npy", F_OK), -1);
    assert_int_equal(strncmp(writer.temporary, "place/out.npy.einc-", 19), 0);
    assert_int_equal(strlen(writer.temporary), 19 + 6);
    struct stat status;
    assert_int_equal(stat(writer.temporary, &status), 0);
    assert_true(status.st_blocks * 512 >= 800000);   /* allocated, not a hole */
    assert_commits(&writer);
    count_entries("place");
    assert_true(entries == 1 && temporaries == 0);
    npy_abort(&writer);
    assert_int_equal(access("place/out.npy", F_OK), 0);

    assert_true(write_three("place/out.npy", 7));
    assert_creates(&writer, "place/out.npy", DTYPE_F64, 1, (int64_t[]){ 3 });
    fill_counting_up(&writer.array);
    count_entries("place");
    assert_true(entries == 2 && temporaries == 1);
    npy_abort(&writer);
    npy_abort(&writer);
    count_entries("place");
    assert_true(entries == 1 && temporaries == 0);
    assert_true(first_of("place/out.npy") == 7);
    npy_abort(&(NpyWriter){ 0 });
}

/* `einc run … -i a.npy -o a.npy`: what was mapped stays what it was. */
static void replaces_its_own_input(void **state)
{
    (void)state;
    NpyFile file;
    assert_true(write_three("self.npy", 1));
    assert_opens(&file, "self.npy");
    assert_true(write_three("self.npy", 2));
    assert_true(array_load(DTYPE_F64, file.array.data).re == 1);
    npy_close(&file);
    assert_true(first_of("self.npy") == 2);
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void keeps_permissions(void **state)
{
    (void)state;
    mode_t kept = umask(027);
    assert_true(write_three("mode.npy", 1));
    assert_int_equal(mode_of("mode.npy"), 0640);
    umask(077);
    assert_int_equal(chmod("mode.npy", 0664), 0);
    assert_true(write_three("mode.npy", 2));
    assert_int_equal(mode_of("mode.npy"), 0664);
    umask(0);
    assert_int_equal(chmod("mode.npy", 0600), 0);
    assert_true(write_three("mode.npy", 3));
    assert_int_equal(mode_of("mode.npy"), 0600);
    assert_true(write_three("mode2.npy", 3));
    assert_int_equal(mode_of("mode2.npy"), 0666);
    umask(kept);
}

static void follows_links(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_true(write_three("sub/real.npy", 1));
    assert_int_equal(symlink("real.npy", "sub/inner.npy"), 0);
    assert_int_equal(symlink("sub/inner.npy", "outer.npy"), 0);
    assert_true(write_three("outer.npy", 2));
    assert_true(first_of("sub/real.npy") == 2);
    assert_true(!lstat("outer.npy", &status) && S_ISLNK(status.st_mode));
    assert_true(!lstat("sub/inner.npy", &status) && S_ISLNK(status.st_mode));

    char absolute[128];
    snprintf(absolute, sizeof absolute, "%s/sub/new.npy", test_directory);
    assert_int_equal(symlink(absolute, "dangling.npy"), 0);
    assert_true(write_three("dangling.npy", 3));
    assert_true(first_of("sub/new.npy") == 3);

    assert_int_equal(symlink("loop.npy", "loop.npy"), 0);
    assert_not_created("loop.npy", "symbolic links");
}

static void takes_long_names(void **state)
{
    (void)state;
    char name[256], path[300];
    memset(name, 'n', 255);
    name[255] = 0;
    snprintf(path, sizeof path, "./%s", name);
    assert_true(write_three(name, 4) && first_of(name) == 4);
    assert_true(write_three(path, 5) && first_of(name) == 5);
}

static void refuses_bad_paths(void **state)
{
    (void)state;
    assert_not_created("nowhere/out.npy", "No such file");
    assert_not_created("", "Is a directory");
    assert_not_created("sub", "Is a directory");
    assert_not_created("nowhere/", "Is a directory");
    assert_not_created("mode.npy/out.npy", "Not a directory");
    NpyWriter writer;
    assert_creates(&writer, "usurped.npy", DTYPE_F64, 1, (int64_t[]){ 3 });
    assert_int_equal(mkdir("usurped.npy", 0755), 0);
    assert_false(npy_commit(&writer, error, sizeof error));
    assert_non_null(strstr(error, "usurped.npy: cannot write its 152 bytes: Is a directory"));
    npy_abort(&writer);
    count_entries(".");
    assert_int_equal(temporaries, 0);
}

/* What arrives at the other end of a pipe is put into a file. */
static void drain(int fd, const char *name)
{
    char bytes[4096];
    size_t count = 0;
    for (ssize_t n; (n = read(fd, bytes + count, sizeof bytes - count)) > 0;)
        count += (size_t)n;
    close(fd);
    put_file(name, bytes, count);
}

static void writes_to_pipes(void **state)
{
    (void)state;
    static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1" };
    assert_true(write_three("sample.npy", 6));
    for (int i = 0; i < 3; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        int kept = redirect(STDOUT_FILENO, ends[1]);
        bool ok = write_three(names[i], 6);
        redirect_back(STDOUT_FILENO, kept);
        drain(ends[0], "drained.npy");
        assert_true(ok && same_files("drained.npy", "sample.npy"));
    }
    assert_int_equal(mkfifo("out.fifo", 0600), 0);
    int reader = open("out.fifo", O_RDONLY | O_NONBLOCK);
    assert_true(write_three("out.fifo", 6));
    drain(reader, "drained.npy");
    assert_true(same_files("drained.npy", "sample.npy"));
    assert_true(write_three("/dev/null", 6));
    assert_false(write_three("/dev/full", 6));
    assert_non_null(strstr(error, "/dev/full: cannot write its 152 bytes: No space left"));
}

/* `{ einc …; einc …; } > both.npy`, then read one after the other. */
static void writes_where_stdout_stands(void **state)
{
    (void)state;
    int kept = redirect(STDOUT_FILENO, open("both.npy", O_WRONLY | O_CREAT, 0666));
    bool ok = write_three("-", 1) && write_three("/dev/stdout", 2);
    redirect_back(STDOUT_FILENO, kept);
    assert_true(ok);
    kept = redirect(STDIN_FILENO, open("both.npy", O_RDONLY));
    double first = first_of("-"), second = first_of("-");
    redirect_back(STDIN_FILENO, kept);
    assert_true(first == 1 && second == 2);
}

/* ---- full disks, foreign files: in a child that gives rights away or mounts ---- */

static bool become_nobody(void)
{
    return geteuid() || !setresuid(65534, 65534, 65534);
}

static int as_nobody(void)
{
    if (!become_nobody())
        return CANNOT_TEST;
    if (write_three("public/locked.npy", 1) || !strstr(error, "Permission denied"))
        return 1;
    if (write_three("foreign/new.npy", 1) || !strstr(error, "Permission denied"))
        return 2;
    /* No file can be made beside this one, but it can be written to. */
    return write_three("foreign/open.npy", 9) && first_of("foreign/open.npy") == 9 ? 0 : 3;
}

static void respects_protection(void **state)
{
    (void)state;
    assert_int_equal(mkdir("foreign", 0755) || mkdir("public", 0755), 0);
    assert_true(write_three("public/locked.npy", 5));
    NpyWriter writer;
    assert_creates(&writer, "foreign/open.npy", DTYPE_F64, 1, (int64_t[]){ 1000 });
    assert_commits(&writer);
    assert_int_equal(chmod("public/locked.npy", 0444) || chmod("public", 0777), 0);
    assert_int_equal(chmod("foreign/open.npy", 0666) || chmod("foreign", 0555), 0);
    in_child(as_nobody);
    assert_int_equal(chmod("foreign", 0755), 0);
    assert_true(first_of("public/locked.npy") == 5 && first_of("foreign/open.npy") == 9);
    struct stat status;
    assert_true(!stat("foreign/open.npy", &status) && status.st_size == 152);
}

static int with_small_files(void)
{
    struct rlimit limit = { 4096, 4096 };
    NpyWriter writer;
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return CANNOT_TEST;
    if (npy_create(&writer, "limited.npy", DTYPE_F64, 1, (int64_t[]){ 1000 }, error, sizeof error))
        return 1;
    return strstr(error, "File too large") && write_three("limited.npy", 1) ? 0 : 2;
}

static void respects_the_file_size_limit(void **state)
{
    (void)state;
    in_child(with_small_files);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Makes this process one that may mount, in a namespace that nobody else sees. */
static bool may_mount(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (geteuid() ? unshare(CLONE_NEWUSER | CLONE_NEWNS) : unshare(CLONE_NEWNS))
        return false;
    if (geteuid())
        (void)(write_text("/proc/self/uid_map", users) && write_text("/proc/self/setgroups", "deny")
               && write_text("/proc/self/gid_map", groups));
    return !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

static int on_other_file_systems(void)
{
    NpyWriter writer;
    if (!may_mount() || mount("none", "mnt", "tmpfs", 0, "size=256k"))
        return CANNOT_TEST;
    if (npy_create(&writer, "mnt/full.npy", DTYPE_F64, 1, (int64_t[]){ 100000 }, error, sizeof error))
        return 1;
    if (!strstr(error, "cannot write its 800128 bytes: No space left"))
        return 2;
    temporaries = entries = 0;
    nftw("mnt", count_entry, 16, FTW_PHYS);
    if (entries || !write_three("mnt/fits.npy", 3) || first_of("mnt/fits.npy") != 3)
        return 3;

    /* A file that is itself a mount cannot be replaced, only written to. */
    if (!write_three("mnt/below.npy", 1) || mount("mnt/fits.npy", "mnt/below.npy", NULL, MS_BIND, NULL))
        return CANNOT_TEST;
    if (!write_three("mnt/below.npy", 4) || first_of("mnt/fits.npy") != 4)
        return 4;
    temporaries = entries = 0;
    nftw("mnt", count_entry, 16, FTW_PHYS);
    if (temporaries)
        return 5;

    /* ramfs cannot allocate ahead, so the array is in memory and written at the end. */
    if (mount("none", "mnt", "ramfs", 0, NULL))
        return CANNOT_TEST;
    if (!npy_create(&writer, "mnt/ram.npy", DTYPE_F64, 1, (int64_t[]){ 3 }, error, sizeof error) || writer.mapped)
        return 6;
    array_store(DTYPE_F64, writer.array.data, (Number){ .re = 8 });
    return npy_commit(&writer, error, sizeof error) && first_of("mnt/ram.npy") == 8 ? 0 : 7;
}

static void handles_other_file_systems(void **state)
{
    (void)state;
    assert_int_equal(mkdir("mnt", 0755), 0);
    in_child(on_other_file_systems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_numpys_bytes),
        cmocka_unit_test(writes_numpys_headers),
        cmocka_unit_test(writes_any_shape),
        cmocka_unit_test(appears_at_commit),
        cmocka_unit_test(replaces_its_own_input),
        cmocka_unit_test(keeps_permissions),
        cmocka_unit_test(follows_links),
        cmocka_unit_test(takes_long_names),
        cmocka_unit_test(refuses_bad_paths),
        cmocka_unit_test(writes_to_pipes),
        cmocka_unit_test(writes_where_stdout_stands),
        cmocka_unit_test(respects_protection),
        cmocka_unit_test(respects_the_file_size_limit),
        cmocka_unit_test(handles_other_file_systems),
    };
    return cmocka_run_group_tests(tests, enter_directory, remove_directory);
}
