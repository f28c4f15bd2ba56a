/* What tests that work on files share: directories that go away again, numpy, children. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static inline int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

/* A directory and what is in it, but nothing that is mounted there. */
static inline int remove_tree(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* For a group of tests that run in a directory of their own. */
static char test_directory[] = "/tmp/einc-test-XXXXXX";

static inline int enter_directory(void **state)
{
    (void)state;
    return !mkdtemp(test_directory) || chmod(test_directory, 0755) || chdir(test_directory);
}

static inline int remove_directory(void **state)
{
    (void)state;
    return chdir("/") || remove_tree(test_directory);
}

/* Runs a script that may use numpy as np. */
static inline void python(const char *script)
{
    const char *interpreter = getenv("PYTHON");
    char command[512];
    snprintf(command, sizeof command, "%s -W ignore -", interpreter ? interpreter : "/usr/bin/python3");
    FILE *pipe = popen(command, "w");
    assert_non_null(pipe);
    fprintf(pipe, "import numpy as np\n%s", script);
    assert_int_equal(pclose(pipe), 0);
}

enum { CANNOT_TEST = 77 };

/* Runs `body` in a process that may become someone else, or see other mounts: 0 when all is well, or CANNOT_TEST. */
static inline void in_child(int (*body)(void))
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

#endif
