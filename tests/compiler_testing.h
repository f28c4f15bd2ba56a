/* What the tests of the C compiler share: stand-ins for one, an environment that is as it was afterwards. */
#ifndef TESTS_COMPILER_TESTING_H
#define TESTS_COMPILER_TESTING_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>

#include "compiler.h"
#include "einc.h"
#include "scratch.h"

static char scratch[64];
static char *path_before, *cc_before;

static inline int set_up(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/test_compiler-XXXXXX");
    path_before = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
    cc_before = getenv("CC") ? strdup(getenv("CC")) : NULL;
    unsetenv("CC");
    return !mkdtemp(scratch);
}

static inline int tear_down(void **state)
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
    return remove_tree(scratch);
}

/* A path in the scratch directory, in one of a few buffers that take turns. */
static inline const char *in_scratch(const char *name)
{
    static char paths[8][256];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static inline void read_file(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, bytes - 1, file)] = 0;
    fclose(file);
}

/* A shell script that stands in for a compiler. It finds the scratch directory in $S and other programs in $P. */
static inline const char *write_program(const char *name, const char *body)
{
    char text[2048];
    snprintf(text, sizeof text, "#!/bin/sh\nS=%s\nP='%s'\n%s\n", scratch, path_before, body);
    const char *path = in_scratch(name);
    write_file(path, text);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static inline bool exists(const char *path)
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

static inline int compile(const Compiler *compiler, const char *text, const char *object)
{
    return compiler_run(compiler, "", text, strlen(text), object, error, sizeof error);
}

static const char seven[] = "__attribute__((visibility(\"default\"))) int seven(void) { return 7; }\n";

/* What the function of that name in the object returns. */
static inline int call(const char *object, const char *name)
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

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static inline void assert_no_children(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static inline int open_files(void)
{
    int count = 0;
    DIR *list = opendir("/proc/self/fd");
    while (list && readdir(list))
        count++;
    if (list)
        closedir(list);
    return count;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
