/* Finding and running the C compiler: what the environment names, what goes wrong, and that nothing is left behind. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compiler.h"
#include "einc.h"

/* ---- a scratch directory, and the environment as it was ---- */

static char scratch[64];
static char *path_before, *cc_before;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/test_compiler-XXXXXX");
    path_before = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
    cc_before = getenv("CC") ? strdup(getenv("CC")) : NULL;
    unsetenv("CC");
    return !mkdtemp(scratch);
}

static int tear_down(void **state)
{
    (void)state;
    if (path_before)
        setenv("PATH", path_before, 1);
    if (cc_before)
        setenv("CC", cc_before, 1);
    else
        unsetenv("CC");
    free(path_before);
    free(cc_before);
    return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path in the scratch directory, in one of a few buffers that take turns. */
static const char *in_scratch(const char *name)
{
    static char paths[8][256];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void read_file(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, bytes - 1, file)] = 0;
    fclose(file);
}

/* A shell script that stands in for a compiler. It finds the scratch directory in $S and other programs in $P. */
static const char *write_program(const char *name, const char *body)
{
    char text[2048];
    snprintf(text, sizeof text, "#!/bin/sh\nS=%s\nP='%s'\n%s\n", scratch, path_before, body);
    const char *path = in_scratch(name);
    write_file(path, text);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static bool exists(const char *path)
{
    return !access(path, F_OK);
}

/* ---- shorthands ---- */

static char error[4096];

static Compiler *find(void)
{
    Compiler *compiler = NULL;
    assert_int_equal(compiler_find(&compiler, error, sizeof error), EINC_OK);
    assert_non_null(compiler);
    assert_int_equal(compiler_identify(compiler, NULL, error, sizeof error), EINC_OK);
    return compiler;
}

static Compiler *find_named(const char *cc)
{
    setenv("CC", cc, 1);
    Compiler *compiler = find();
    unsetenv("CC");
    return compiler;
}

static int compile(const Compiler *compiler, const char *text, const char *object)
{
    return compiler_run(compiler, text, strlen(text), object, error, sizeof error);
}

static const char seven[] = "__attribute__((visibility(\"default\"))) int seven(void) { return 7; }\n";

/* What the function of that name in the object returns. */
static int call(const char *object, const char *name)
{
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        print_message("%s\n", dlerror());
    assert_non_null(handle);
    int (*function)(void);
    *(void **)&function = dlsym(handle, name);
    assert_non_null(function);
    int value = function();
    dlclose(handle);
    return value;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static int open_files(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

/* ---- finding ---- */

static void expect_none(const char *part)
{
    Compiler *compiler = (Compiler *)&error;
    assert_int_equal(compiler_find(&compiler, error, sizeof error), EINC_NO_COMPILER);
    assert_null(compiler);
    assert_contains(error, part);
    assert_contains(error, "install gcc or clang, or set CC");
}

static void test_none(void **state)
{
    (void)state;
    setenv("PATH", "", 1);
    expect_none("neither cc, gcc nor clang is in PATH ()");
    setenv("PATH", scratch, 1);
    expect_none(scratch);
    setenv("PATH", "::.:relative:", 1);
    write_program("gcc", "exit 0");
    assert_int_equal(chdir(scratch), 0);      /* one in the current directory does not count */
    expect_none("neither");
    assert_int_equal(chdir("/"), 0);
    setenv("PATH", scratch, 1);
    assert_int_equal(chmod(in_scratch("gcc"), 0644), 0);   /* nor does one that cannot be executed */
    expect_none("neither");
    assert_int_equal(mkdir(in_scratch("cc"), 0755), 0);    /* nor a directory */
    expect_none("neither");
}

static void test_named_but_missing(void **state)
{
    (void)state;
    static const char *const names[] = { "no-such-compiler", "/no/such/compiler -O2", "cc;true", "\"cc\"" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("CC", names[i], 1);
        expect_none(names[i]);
    }
}

static void test_order(void **state)
{
    (void)state;
    write_program("clang", "echo clang version 14.0.6");
    write_program("gcc", "echo 'gcc (Debian 12.2.0-14) 12.2.0'");
    setenv("PATH", scratch, 1);
    Compiler *compiler = find();
    assert_string_equal(compiler->arguments[0], in_scratch("gcc"));
    assert_string_equal(compiler->version, "gcc (Debian 12.2.0-14) 12.2.0");
    assert_int_equal(compiler->kind, COMPILER_GCC);
    compiler_free(compiler);
    compiler = find_named(" \t");                /* blank is as good as not set */
    assert_string_equal(compiler->arguments[0], in_scratch("gcc"));
    compiler_free(compiler);
    unlink(in_scratch("gcc"));
    compiler = find();
    assert_string_equal(compiler->arguments[0], in_scratch("clang"));
    assert_int_equal(compiler->kind, COMPILER_CLANG);
    compiler_free(compiler);
    write_program("cc", "echo 'Ubuntu clang version 10.0.0'; echo 'Target: x'");
    compiler = find();
    assert_string_equal(compiler->arguments[0], in_scratch("cc"));
    assert_string_equal(compiler->version, "Ubuntu clang version 10.0.0");
    assert_int_equal(compiler->kind, COMPILER_CLANG);
    compiler_free(compiler);
    compiler_free(NULL);
}

/* The arguments in CC come first, each one word, and no shell has seen them. */
static void test_arguments(void **state)
{
    (void)state;
    char text[1024];
    write_program("wrap", "for a; do echo \"[$a]\" >>$S/log; done\nPATH=$P\nexec \"$@\"");
    setenv("PATH", scratch, 1);
    Compiler *compiler = find_named("  wrap\tcc   -DA=$HOME;x -DB='q' ");
    assert_string_equal(compiler->arguments[0], in_scratch("wrap"));
    assert_string_equal(compiler->arguments[1], "cc");
    assert_string_equal(compiler->arguments[2], "-DA=$HOME;x");
    assert_string_equal(compiler->arguments[3], "-DB='q'");
    assert_null(compiler->arguments[4]);
    read_file(in_scratch("log"), text, sizeof text);
    assert_string_equal(text, "[cc]\n[-DA=$HOME;x]\n[-DB='q']\n[--version]\n");
    assert_int_equal(compile(compiler, seven, in_scratch("a.so")), EINC_OK);
    assert_int_equal(call(in_scratch("a.so"), "seven"), 7);
    read_file(in_scratch("log"), text, sizeof text);
    assert_contains(text, "[--version]\n[cc]\n[-DA=$HOME;x]\n[-DB='q']\n[-O2]\n");
    compiler_free(compiler);
    compiler = find_named(in_scratch("wrap cc -Dseven=eight"));     /* a path, and an argument that matters */
    assert_int_equal(compile(compiler, seven, in_scratch("b.so")), EINC_OK);
    assert_int_equal(call(in_scratch("b.so"), "eight"), 7);
    compiler_free(compiler);
}

static char *stamp_of(const char *cc)
{
    Compiler *compiler;
    setenv("CC", cc, 1);
    assert_int_equal(compiler_find(&compiler, error, sizeof error), EINC_OK);
    char *stamp = strdup(compiler->stamp);
    compiler_free(compiler);
    return stamp;
}

static void expect_stamps(const char *before, const char *cc, bool equal)
{
    char *after = stamp_of(cc);
    if (equal != !strcmp(before, after))
        fail_msg("'%s' and '%s'", before, after);
    free(after);
}

/* An upgrade changes the stamp, and no program runs to find that out. */
static void test_stamp(void **state)
{
    (void)state;
    struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000, .tv_nsec = 500 } };
    write_program("real-1", "touch $S/was-run");
    write_program("ccache", "touch $S/was-run");
    assert_int_equal(symlink("real-1", in_scratch("mycc")), 0);
    setenv("PATH", scratch, 1);
    char *before = stamp_of("mycc");
    assert_contains(before, in_scratch("real-1"));
    assert_null(strchr(before, '\n'));
    expect_stamps(before, "mycc", true);
    expect_stamps(before, "mycc -O3", false);
    assert_int_equal(utimensat(-1, in_scratch("real-1"), times, 0), 0);
    expect_stamps(before, "mycc", false);
    free(before);
    before = stamp_of("ccache mycc -O1");        /* of the program that is behind the first, too */
    expect_stamps(before, "ccache mycc -O1", true);
    write_program("real-1", "touch $S/was-run # larger");
    assert_int_equal(utimensat(-1, in_scratch("real-1"), times, 0), 0);
    expect_stamps(before, "ccache mycc -O1", false);
    free(before);
    assert_false(exists(in_scratch("was-run")));
}

static void test_identify(void **state)
{
    (void)state;
    Compiler *compiler;
    write_program("cc", "touch $S/was-run; echo cc 1.2");
    setenv("PATH", scratch, 1);
    assert_int_equal(compiler_find(&compiler, error, sizeof error), EINC_OK);
    assert_string_equal(compiler->version, "");
    assert_int_equal(compiler_identify(compiler, "clang version 99", error, sizeof error), EINC_OK);
    assert_string_equal(compiler->version, "clang version 99");
    assert_int_equal(compiler->kind, COMPILER_CLANG);
    assert_false(exists(in_scratch("was-run")));
    compiler_free(compiler);
    static const char *const broken[] = { "exit 1", "echo x; exit 1", "exit 0", "kill -9 $$", "echo; echo x" };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_program("cc", broken[i]);
        assert_int_equal(compiler_find(&compiler, error, sizeof error), EINC_OK);
        assert_int_equal(compiler_identify(compiler, NULL, error, sizeof error), EINC_NO_COMPILER);
        assert_contains(error, "--version' fails");
        assert_contains(error, "install gcc or clang, or set CC");
        compiler_free(compiler);
    }
    write_file(in_scratch("cc"), "#!/no/such/interpreter\n");
    assert_int_equal(compiler_find(&compiler, error, sizeof error), EINC_OK);
    assert_int_equal(compiler_identify(compiler, NULL, error, sizeof error), EINC_NO_COMPILER);
    assert_contains(error, strerror(ENOENT));
    assert_int_equal(compile(compiler, seven, in_scratch("a.so")), EINC_NO_COMPILER);
    assert_contains(error, strerror(ENOENT));
    compiler_free(compiler);
    assert_no_children();
}

/* ---- compiling ---- */

/* With every compiler of this machine: the mathematical and string functions are there, and so are the helpers of the
 * compiler's own library. */
static const char text[] =
    "#include <math.h>\n#include <string.h>\n#include <stdint.h>\n"
    "int check(void) __attribute__((visibility(\"default\")));\n"
    "double f(double x) { return exp(x) + fmod(x, 2) + (double)expf((float)x); }\n"
    "static volatile double five = 5;\nstatic volatile unsigned __int128 large = (unsigned __int128)1 << 100;\n"
    "static volatile unsigned bits = 0xF0F0; static volatile char from[300] = \"abc\"; static char to[300];\n"
    "int check(void) { for (int i = 0; i < 300; i++) to[i] = 1; memcpy(to, (char *)from, 300);\n"
    "  return fabs(f(five) - 297.8) < 0.1 && large / (1 + five > 0 ? 3 : 2) > 5 && __builtin_popcount(bits) == 8\n"
    "    && strlen(to) == 3; }\n";

static void test_compile(void **state)
{
    (void)state;
    static const char *const names[] = { "cc", "gcc", "clang" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Compiler *compiler;
        setenv("CC", names[i], 1);
        if (compiler_find(&compiler, error, sizeof error)) {
            print_message("%s is not here\n", names[i]);
            continue;
        }
        assert_int_equal(compiler_identify(compiler, NULL, error, sizeof error), EINC_OK);
        const char *object = in_scratch(names[i]);
        int before = open_files(), status = compile(compiler, text, object);
        if (status)
            print_message("%s\n", error);
        assert_int_equal(status, EINC_OK);
        assert_int_equal(call(object, "check"), 1);
        assert_int_equal(open_files(), before);
        compiler_free(compiler);
    }
    assert_no_children();
    assert_contains(compiler_flags(), "-O2");
    assert_null(strstr(compiler_flags(), "-march"));
    assert_null(strstr(compiler_flags(), "fast-math"));
}

/* More text than a pipe holds, and more messages than are wanted. */
static void test_large(void **state)
{
    (void)state;
    Compiler *compiler = find();
    size_t length = 3 << 20;
    char *large = malloc(length + sizeof seven);
    memset(large, ' ', length);
    for (size_t i = 79; i < length; i += 80)
        large[i] = '\n';
    strcpy(large + length, seven);
    assert_int_equal(compile(compiler, large, in_scratch("a.so")), EINC_OK);
    assert_int_equal(call(in_scratch("a.so"), "seven"), 7);
    for (size_t i = 0; i + 80 < length / 100; i += 80)
        memcpy(large + i, "int a = \"x\" * ; ", 16);
    assert_int_equal(compile(compiler, large, in_scratch("b.so")), EINC_FAILED);
    assert_int_equal(strlen(error), sizeof error - 1);
    for (size_t bytes = 0; bytes < 60; bytes += 3) {
        char small[61];
        memset(small, 'z', sizeof small);
        assert_int_equal(compiler_run(compiler, "!", 1, in_scratch("b.so"), small, bytes), EINC_FAILED);
        assert_int_equal(small[bytes], 'z');
        assert_true(!bytes || memchr(small, 0, bytes));
    }
    free(large);
    compiler_free(compiler);
}

static void test_refused(void **state)
{
    (void)state;
    Compiler *compiler = find();
    const char *object = in_scratch("a.so");
    write_file(object, "");
    assert_int_equal(compile(compiler, "int f(void) { return undeclared_name; }\n", object), EINC_FAILED);
    assert_contains(error, "failed with exit code 1:\n");
    assert_contains(error, "undeclared_name");
    assert_true(error[strlen(error) - 1] != '\n');
    assert_false(exists(object));
    assert_int_equal(compile(compiler, "#include <no_such_header.h>\n", object), EINC_FAILED);
    assert_contains(error, "no_such_header.h");
    assert_int_equal(compile(compiler, seven, in_scratch("no/such/directory/a.so")), EINC_FAILED);
    assert_contains(error, "no/such/directory");
    assert_int_equal(compile(compiler, seven, object), EINC_OK);
    assert_int_equal(call(object, "seven"), 7);
    compiler_free(compiler);
    compiler = find_named(write_program("dies", "test $1 = --version && echo dies && exit 0\nkill -9 $$"));
    write_file(object, "half an object");
    assert_int_equal(compile(compiler, seven, object), EINC_FAILED);
    assert_contains(error, "was killed by signal 9");
    assert_false(exists(object));
    compiler_free(compiler);
    assert_no_children();
}

/* A compiler that cannot link as we would like to, links in its own way. */
static void test_other_link(void **state)
{
    (void)state;
    write_program("odd", "PATH=$P\nfor a; do test \"$a\" = -lgcc && { echo no such library >&2; exit 1; }; done\n"
                         "exec cc \"$@\"");
    Compiler *compiler = find_named(in_scratch("odd"));
    assert_int_equal(compile(compiler, text, in_scratch("a.so")), EINC_OK);
    assert_int_equal(call(in_scratch("a.so"), "check"), 1);
    compiler_free(compiler);
    write_program("odd", "test $1 = --version && echo odd && exit 0\n"
                         "for a; do test \"$a\" = -lgcc && { echo one two three >&2; exit 1; }; done\n"
                         "echo four >&2; exit 3");
    compiler = find_named(in_scratch("odd"));
    assert_int_equal(compile(compiler, text, in_scratch("b.so")), EINC_FAILED);
    assert_contains(error, "odd failed with exit code 3:\nfour");
    assert_null(strstr(error, "three"));             /* only what the last attempt said */
    compiler_free(compiler);
}

/* The compiler gets none of our descriptors but its first three. (From 10 on they are the shell's own.) */
static void test_descriptors(void **state)
{
    (void)state;
    char list[4096];
    write_program("lists", "PATH=$P\ntest $1 = --version && echo lists && exit 0\n"
                           "for f in 3 4 5 6 7 8 9; do readlink /proc/$$/fd/$f; done >$S/log\n"
                           "for a; do test \"$last\" = -o && cp $S/done.so \"$a\"; last=$a; done; exit 0");
    Compiler *real = find(), *compiler = find_named(in_scratch("lists"));
    assert_int_equal(compile(real, seven, in_scratch("done.so")), EINC_OK);
    assert_int_equal(compile(compiler, seven, in_scratch("a.so")), EINC_OK);
    assert_int_equal(call(in_scratch("a.so"), "seven"), 7);
    read_file(in_scratch("log"), list, sizeof list);
    assert_null(strstr(list, "einc"));
    compiler_free(compiler);
    compiler_free(real);
}

/* ---- hosts with habits ---- */

/* Runs `body` in a child and returns what it returned. */
static int in_child(int (*body)(const Compiler *compiler))
{
    Compiler *compiler = find();
    int status = -1;
    pid_t child = fork();
    if (!child) {
        setpgid(0, 0);
        _exit(body(compiler));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    compiler_free(compiler);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static int compile_twice(const Compiler *compiler)
{
    if (compile(compiler, seven, in_scratch("a.so")))
        return 1;
    if (compile(compiler, "int f(void) { return undeclared_name; }", in_scratch("b.so")) != EINC_FAILED)
        return 2;
    return !strstr(error, "undeclared_name") ? 3 : exists(in_scratch("b.so")) ? 4 : 0;
}

static int without_descriptors(const Compiler *compiler)
{
    close(0);
    close(1);
    close(2);
    Compiler *again;
    if (compiler_find(&again, error, sizeof error) || compiler_identify(again, NULL, error, sizeof error))
        return 10;
    compiler_free(again);
    return compile_twice(compiler);
}

/* What a compiler sees of the signals that the host ignores and blocks: nothing, of those that it may need. */
static int show_signals(void)
{
    unsigned long long blocked = 1, ignored = ~0ull;
    char status[4096];
    Compiler *shows = find_named(in_scratch("shows"));
    compile(shows, seven, in_scratch("c.so"));
    compiler_free(shows);
    read_file(in_scratch("status"), status, sizeof status);
    sscanf(strstr(status, "SigBlk:"), "SigBlk: %llx", &blocked);
    sscanf(strstr(status, "SigIgn:"), "SigIgn: %llx", &ignored);
    return blocked ? 20 : ignored & (1ull << (SIGCHLD - 1) | 1ull << (SIGPIPE - 1)) ? 21 : 0;
}

static int ignoring_signals(const Compiler *compiler)
{
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    int fault = compile_twice(compiler);
    return fault ? fault : show_signals();
}

static int blocking_signals(const Compiler *compiler)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int fault = compile_twice(compiler);
    return fault ? fault : show_signals();
}

static volatile sig_atomic_t alarms;

static void on_signal(int number)
{
    (void)number;
    alarms++;
}

/* A handler without SA_RESTART, run all the time: every system call is interrupted now and then. */
static int interrupted(const Compiler *compiler)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct itimerval often = { { .tv_usec = 700 }, { .tv_usec = 700 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 5; i++) {
        int fault = compile_twice(compiler);
        if (fault)
            return fault;
    }
    return alarms < 10 ? 5 : waitpid(-1, NULL, WNOHANG) != -1 ? 6 : 0;
}

/* Ctrl-C reaches the compiler and a host that handles it: the call fails, and no zombie is left. */
static int stopped(const Compiler *compiler)
{
    struct sigaction action = { .sa_handler = on_signal };
    (void)compiler;
    sigaction(SIGINT, &action, NULL);
    Compiler *slow = find_named(in_scratch("slow"));
    if (compile(slow, seven, in_scratch("a.so")) != EINC_FAILED || !alarms)
        return 1;
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        return 2;
    compiler_free(slow);
    return 0;
}

static void test_hosts(void **state)
{
    (void)state;
    write_program("shows", "PATH=$P\ntest $1 = --version && echo shows && exit 0\n"
                           "exec cat /proc/self/status >$S/status");
    assert_int_equal(in_child(without_descriptors), 0);
    assert_int_equal(in_child(ignoring_signals), 0);
    assert_int_equal(in_child(blocking_signals), 0);
    assert_int_equal(in_child(interrupted), 0);
    write_program("slow", "PATH=$P\ntest $1 = --version && echo slow && exit 0\nkill -INT 0\nexec sleep 20");
    assert_int_equal(in_child(stopped), 0);
}

typedef struct Job {
    const Compiler *compiler;
    pthread_t thread;
    int number, status, value;
} Job;

static void *job_main(void *argument)
{
    Job *job = argument;
    char source[256], object[256], message[1024];
    for (int round = 0; round < 3 && !job->status; round++) {
        snprintf(source, sizeof source, "__attribute__((visibility(\"default\"))) int f(void) { return %d; }",
                 job->number);
        snprintf(object, sizeof object, "%s/%d-%d.so", scratch, job->number, round);
        job->status = compiler_run(job->compiler, source, strlen(source), object, message, sizeof message);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { JOBS = 12 };
    Job jobs[JOBS];
    Compiler *compiler = find();
    int before = open_files();
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (Job){ .compiler = compiler, .number = i };
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, job_main, &jobs[i]), 0);
    }
    for (int i = 0; i < JOBS; i++) {
        char name[32];
        pthread_join(jobs[i].thread, NULL);
        assert_int_equal(jobs[i].status, EINC_OK);
        snprintf(name, sizeof name, "%d-2.so", i);
        assert_int_equal(call(in_scratch(name), "f"), i);
    }
    assert_int_equal(open_files(), before);
    assert_no_children();
    compiler_free(compiler);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_none),     TEST(test_named_but_missing), TEST(test_order),      TEST(test_arguments),
        TEST(test_stamp),    TEST(test_identify),          TEST(test_compile),    TEST(test_large),
        TEST(test_refused),  TEST(test_other_link),        TEST(test_descriptors), TEST(test_hosts),
        TEST(test_threads),
    };
    return cmocka_run_group_tests_name("compiler", tests, NULL, NULL);
}
