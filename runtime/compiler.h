/* The C compiler of the machine: which one it is, and C text made into a shared object with it.
 *
 *     Compiler *compiler;
 *     char error[4096];
 *     if (compiler_find(&compiler, error, sizeof error) == EINC_OK
 *         && compiler_identify(compiler, NULL, error, sizeof error) == EINC_OK)
 *         compiler_run(compiler, "avx2,fma", text, length, "/tmp/k.so", error, sizeof error);
 *     compiler_free(compiler);
 *
 * It runs by argv, never through a shell, and inherits no descriptor of ours. Functions that can fail return an
 * einc_status and write a message into `error`, cut to `bytes`. A Compiler may be used by many threads at once after
 * compiler_identify(). */
#ifndef EINC_COMPILER_H
#define EINC_COMPILER_H

#include <stddef.h>

typedef enum { COMPILER_GCC, COMPILER_CLANG } CompilerKind;

typedef struct Compiler {
    char **arguments;       /* what the user named, NULL at the end; the first is the program's path */
    char *words;            /* what the other arguments point into */
    /* One line that changes when $CC does or when a program that it names is replaced, made without running any: paths
     * with symbolic links resolved, sizes and times of change. */
    char *stamp;
    char version[256];      /* the first line of what --version prints; "" before compiler_identify() */
    CompilerKind kind;      /* valid after compiler_identify(); what is neither is taken for gcc */
} Compiler;

/* $CC, split at blanks, or the first of cc, gcc and clang in PATH. EINC_NO_COMPILER when there is none; a $CC that
 * names nothing is never replaced by another compiler. Starts no process. */
int compiler_find(Compiler **compiler, char *error, size_t bytes);
void compiler_free(Compiler *compiler);

/* Fills in version and kind, by running the compiler with --version. To start a process takes far longer than to load
 * a kernel, so whoever remembers the version under the stamp gives it as `version`, and nothing is run. */
int compiler_identify(Compiler *compiler, const char *version, char *error, size_t bytes);

/* What compiler_run() gives an identified compiler before and behind the text, for the key of what it makes; static. */
void compiler_flags(const Compiler *compiler, const char *flags[2]);

/* Compiles C text into a shared object at the path `object`, with the instruction sets that `sets` names ("avx2,fma")
 * besides those that the text asks for. EINC_FAILED with what the compiler wrote to stderr, and nothing at `object`,
 * when it refuses; EINC_NO_COMPILER when it cannot be started. */
int compiler_run(const Compiler *compiler, const char *sets, const char *text, size_t length, const char *object,
                 char *error, size_t bytes);

#endif
