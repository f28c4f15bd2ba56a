/* Finding and running the C compiler: what the environment names, what goes wrong, and that nothing is left behind. */
#include "compiler_testing.h"

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
        const char *flags[2];
        compiler_flags(compiler, flags);
        assert_contains(flags[0], "-O2");
        assert_null(strstr(flags[0], "-march"));
        assert_contains(flags[0], "-fno-fast-math");
        assert_int_equal(strstr(flags[0], "-fno-tree-pre") != NULL, compiler->kind == COMPILER_GCC);
        compiler_free(compiler);
    }
    assert_no_children();
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
        assert_int_equal(compiler_run(compiler, "", "!", 1, in_scratch("b.so"), small, bytes), EINC_FAILED);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_none),
        TEST(test_named_but_missing),
        TEST(test_order),
        TEST(test_arguments),
        TEST(test_stamp),
        TEST(test_identify),
        TEST(test_compile),
        TEST(test_large),
        TEST(test_refused),
        TEST(test_other_link),
        TEST(test_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
