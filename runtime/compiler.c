#include "compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "einc.h"

extern char **environ;

/* No -march and no -ffast-math, not even where CC has it: the target says which instruction sets there are, and fast-math
 * would change NaN and the host's floating-point state. No stack protector, because some systems keep its error function in a
 * static library that is not linked here. With -pipe no assembler file is written. */
#define FLAGS "-O2 -std=gnu11 -fPIC -shared -fno-fast-math -fno-math-errno -fno-stack-protector -w -pipe"

/* A kernel has no constructors, and needs nothing of the C library but what the process has loaded, so start files and
 * libc are left out: a third of the time that an empty file takes. One segment for code and constants halves the file
 * and the calls that load it. */
#define LINK "-nostdlib -Wl,-z,noseparate-code -lm -lgcc"

/* Kernels are loops over vectors whose constants are folded and whose loops are unrolled early on; what these passes of
 * gcc would find after that is next to nothing, and they take a third of its time. Left are those that loops were seen
 * to need: gcse, expensive-optimizations, complete unrolling, ivcanon, moving what is invariant, and of those behind the
 * registers' allocation peephole2 and cprop-registers. */
#define QUICK "-fno-tree-pta -fno-tree-bit-ccp -fno-tree-copy-prop -fno-tree-dominator-opts -fno-tree-pre " \
              "-fno-tree-vrp -fno-code-hoisting -fno-thread-jumps -fno-schedule-insns2 " \
              "-fno-tree-slp-vectorize -fno-tree-loop-vectorize -fno-store-merging -fno-crossjumping " \
              "-fno-cse-follow-jumps -fno-rerun-cse-after-loop -fno-ivopts -fno-tree-sink -fno-tree-slsr " \
              "-fno-tree-scev-cprop -fno-tree-phiprop -fno-ssa-phiopt -fno-tree-cselim -fno-split-loops " \
              "-fno-unswitch-loops -fno-tree-loop-distribute-patterns -fno-align-functions -fno-align-labels " \
              "-fno-aggressive-loop-optimizations -fno-split-wide-types -fno-ree -fno-if-conversion2 " \
              "-fno-lra-remat -fno-ipa-icf -fno-combine-stack-adjustments -fno-ipa-modref"

/* Where gcc before 12.4 knows which registers a function leaves alone, it forgets to leave the upper halves of vectors clean
 * behind a call of it (its bug 112891), and functions of the C library then take a hundred times as long on some CPUs. */
#define CLEAN "-fno-ipa-ra"

/* How a compiler of each kind is called; the next row is for one that knows not all of that, or has no libgcc. */
typedef struct Way {
    const char *flags, *link;
} Way;

static const Way ways[][2] = {
    [COMPILER_GCC] = { { FLAGS " " CLEAN " " QUICK, LINK }, { FLAGS " " CLEAN, "-lm" } },
    [COMPILER_CLANG] = { { FLAGS, LINK }, { FLAGS, "-lm" } },
};

#define ADVICE "install gcc or clang, or set CC"

__attribute__((format(printf, 4, 5)))
static int fail(int status, char *error, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, bytes, format, arguments);
    va_end(arguments);
    return status;
}

static int fail_memory(char *error, size_t bytes)
{
    return fail(EINC_FAILED, error, bytes, "out of memory");
}

/* Ends each word of `text` with a NUL and returns how many there are; `words`, unless NULL, gets their addresses. */
static size_t split(char *text, char **words)
{
    size_t count = 0;
    for (char *rest = text; *(rest += strspn(rest, " \t\n")); count++) {
        if (words)
            words[count] = rest;
        rest += strcspn(rest, " \t\n");
        if (words && *rest)
            *rest++ = 0;
    }
    return count;
}

/* ---- finding ---- */

static bool is_program(const char *path)
{
    struct stat file;
    return !stat(path, &file) && S_ISREG(file.st_mode) && !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
}

/* The path of a program: `name` itself if it has a slash, else the `skip`-th match in PATH. Only absolute directories
 * count, so that no compiler is taken from the current one by accident. NULL when there is none, or no memory. */
static char *program_find(const char *name, int skip)
{
    if (strchr(name, '/'))
        return !skip && is_program(name) ? strdup(name) : NULL;
    const char *path = getenv("PATH");
    for (const char *next = path ? path : "/usr/bin:/bin"; *next;) {
        size_t length = strcspn(next, ":");
        char *full = NULL;
        if (*next == '/' && asprintf(&full, "%.*s/%s", (int)length, next, name) < 0)
            return NULL;
        if (full && is_program(full) && !skip--)
            return full;
        free(full);
        next += length + (next[length] == ':');
    }
    return NULL;
}

/* All programs of the name in PATH, not only the first, as that may be one that calls the next (ccache). */
static void stamp_program(FILE *stamp, const char *name)
{
    char *path;
    for (int skip = 0; (path = program_find(name, skip)); skip++) {
        char *real = realpath(path, NULL);
        struct stat file;
        if (real && !stat(real, &file))
            fprintf(stamp, "; %s %lld %lld.%09ld", real, (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                    (long)file.st_mtim.tv_nsec);
        free(real);
        free(path);
    }
}

static bool stamp_make(Compiler *compiler)
{
    size_t length;
    FILE *stamp = open_memstream(&compiler->stamp, &length);
    if (!stamp)
        return false;
    for (char **word = compiler->arguments; *word; word++)
        fprintf(stamp, "%s%s", word == compiler->arguments ? "" : " ", *word);
    for (char **word = compiler->arguments; *word; word++)
        if (**word != '-')
            stamp_program(stamp, *word);
    return !fclose(stamp);
}

/* The compiler of a command line such as "ccache gcc -m64". `*compiler` stays NULL if it names no program. */
static int open_command(const char *command, Compiler **compiler, char *error, size_t bytes)
{
    Compiler *new = calloc(1, sizeof *new);
    if (!new || !(new->words = strdup(command))
        || !(new->arguments = calloc(split(new->words, NULL) + 1, sizeof *new->arguments))) {
        compiler_free(new);
        return fail_memory(error, bytes);
    }
    split(new->words, new->arguments);
    char *path = program_find(new->arguments[0], 0);
    bool stamped = path && stamp_make(new);
    new->arguments[0] = path;
    if (stamped)
        *compiler = new;
    else
        compiler_free(new);
    return path && !stamped ? fail_memory(error, bytes) : EINC_OK;
}

int compiler_find(Compiler **compiler, char *error, size_t bytes)
{
    static const char *const usual[] = { "cc", "gcc", "clang" };
    const char *named = getenv("CC");
    *compiler = NULL;
    if (named && named[strspn(named, " \t\n")]) {
        int status = open_command(named, compiler, error, bytes);
        if (status || *compiler)
            return status;
        return fail(EINC_NO_COMPILER, error, bytes, "no C compiler: CC is '%s', and there is no such program; " ADVICE,
                    named);
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        int status = open_command(usual[i], compiler, error, bytes);
        if (status || *compiler)
            return status;
    }
    const char *path = getenv("PATH");
    return fail(EINC_NO_COMPILER, error, bytes, "no C compiler: neither cc, gcc nor clang is in PATH (%s); " ADVICE,
                path ? path : "not set");
}

void compiler_free(Compiler *compiler)
{
    if (!compiler)
        return;
    if (compiler->arguments)
        free(compiler->arguments[0]);
    free(compiler->arguments);
    free(compiler->words);
    free(compiler->stamp);
    free(compiler);
}

/* ---- running ---- */

/* A file without a name, for what a process reads or writes: no pipe that could fill up or raise SIGPIPE. Not one of
 * the first three descriptors, which the process gets others for. -1 when there is none to be had. */
static int scratch_open(void)
{
    int file = memfd_create("einc", MFD_CLOEXEC);
    if (file < 0) {
        const char *directory = getenv("TMPDIR");
        char path[4096];
        snprintf(path, sizeof path, "%s/einc-XXXXXX", directory && *directory ? directory : "/tmp");
        file = mkostemp(path, O_CLOEXEC);
        if (file >= 0)
            unlink(path);
    }
    if (file >= 0 && file <= STDERR_FILENO) {
        int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(file);
        file = higher;
    }
    return file;
}

static bool scratch_write(int file, const char *text, size_t length)
{
    while (length) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

/* The text of the file as far as it fits, without blanks at its end. */
static void scratch_read(int file, char *text, size_t bytes)
{
    size_t length = 0;
    while (length + 1 < bytes) {
        ssize_t got = pread(file, text + length, bytes - 1 - length, (off_t)length);
        if (got > 0)
            length += (size_t)got;
        else if (got == 0 || errno != EINTR)
            break;
    }
    while (length && strchr(" \t\r\n", text[length - 1]))
        length--;
    if (bytes)
        text[length] = 0;
}

static void close_if_open(int file)
{
    if (file >= 0)
        close(file);
}

/* How a process ended when the host has asked not to be told (SIGCHLD ignored), or waits for all children itself. */
enum { STATUS_UNKNOWN = -1 };

/* Runs a program to its end, with `in`, `out` and `err` as its first descriptors; -1: /dev/null. 0 and how it ended,
 * as waitpid() says it; or an error number. */
static int run(char *const *arguments, int in, int out, int err, int *status)
{
    const int files[] = { in, out, err };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t child;
    sigset_t none, usual;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    if ((failed = posix_spawnattr_init(&attributes))) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    for (int i = 0; i < 3 && !failed; i++)
        failed = files[i] < 0 ? posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i ? O_WRONLY : O_RDONLY, 0)
                              : posix_spawn_file_actions_adddup2(&actions, files[i], i);
    /* What the host blocks or ignores would be inherited, but a compiler waits for children and writes to pipes. */
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGCHLD);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!failed)
        failed = posix_spawn(&child, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return failed;
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR) {
            *status = STATUS_UNKNOWN;
            break;
        }
    return 0;
}

static size_t count_words(char *const *words)
{
    size_t count = 0;
    while (words[count])
        count++;
    return count;
}

/* The first line that --version prints; "" when it fails. 0, or an error number. */
static int ask_version(Compiler *compiler)
{
    size_t count = count_words(compiler->arguments);
    char **arguments = calloc(count + 2, sizeof *arguments);
    int out = scratch_open(), status = 0, failed = errno;
    if (arguments && out >= 0) {
        memcpy(arguments, compiler->arguments, count * sizeof *arguments);
        arguments[count] = (char *)"--version";
        failed = run(arguments, -1, out, -1, &status);
        scratch_read(out, compiler->version, sizeof compiler->version);
        compiler->version[strcspn(compiler->version, "\r\n")] = 0;
        if (failed || (status && status != STATUS_UNKNOWN))
            *compiler->version = 0;
    }
    free(arguments);
    close_if_open(out);
    return failed;
}

int compiler_identify(Compiler *compiler, const char *version, char *error, size_t bytes)
{
    int failed = 0;
    if (version)
        snprintf(compiler->version, sizeof compiler->version, "%s", version);
    else
        failed = ask_version(compiler);
    if (!*compiler->version)
        return fail(EINC_NO_COMPILER, error, bytes, "no C compiler: '%s --version' fails%s%s; " ADVICE,
                    compiler->arguments[0], failed ? ": " : "", failed ? strerror(failed) : "");
    compiler->kind = strstr(compiler->version, "clang") ? COMPILER_CLANG : COMPILER_GCC;
    return EINC_OK;
}

/* ---- compiling ---- */

void compiler_flags(const Compiler *compiler, const char *flags[2])
{
    flags[0] = ways[compiler->kind][0].flags;
    flags[1] = ways[compiler->kind][0].link;
}

/* The flags for "avx2,fma" behind the others, to be freed; NULL when there is no memory. The text names the sets, too,
 * function by function; gcc is a twentieth faster where all functions of a text have the same. */
static char *flags_make(const Way *way, const char *sets)
{
    char *flags = NULL;
    size_t all;
    FILE *words = open_memstream(&flags, &all);
    if (!words)
        return NULL;
    fputs(way->flags, words);
    while (*sets) {
        size_t length = strcspn(sets, ",");
        fprintf(words, " -m%.*s", (int)length, sets);
        sets += length + (sets[length] == ',');
    }
    if (fclose(words)) {
        free(flags);
        flags = NULL;
    }
    return flags;
}

/* The argument vector, to be freed; its words point into `flags` and `link`. NULL when there is no memory. */
static char **arguments_make(const Compiler *compiler, char *flags, char *link, const char *object)
{
    size_t count = count_words(compiler->arguments);
    char **arguments = calloc(count + split(flags, NULL) + 5 + split(link, NULL) + 1, sizeof *arguments);
    if (!arguments)
        return NULL;
    memcpy(arguments, compiler->arguments, count * sizeof *arguments);
    count += split(flags, arguments + count);
    arguments[count++] = (char *)"-x";
    arguments[count++] = (char *)"c";
    arguments[count++] = (char *)"-";
    arguments[count++] = (char *)"-o";
    arguments[count++] = (char *)object;
    split(link, arguments + count);      /* libraries after the text that needs them */
    return arguments;
}

/* Whether the compiler did its work. With an unknown status the signs of it must do: an object, and no word said. */
static bool has_worked(int status, int messages, const char *object)
{
    struct stat file;
    if (status != STATUS_UNKNOWN)
        return status == 0;
    return !stat(object, &file) && file.st_size > 0 && lseek(messages, 0, SEEK_END) == 0;
}

/* "gcc failed with exit code 1:" and what it said. */
static int fail_compile(const char *name, int status, int messages, char *error, size_t bytes)
{
    char how[64] = "failed";
    if (status != STATUS_UNKNOWN && WIFSIGNALED(status))
        snprintf(how, sizeof how, "was killed by signal %d", WTERMSIG(status));
    else if (status != STATUS_UNKNOWN)
        snprintf(how, sizeof how, "failed with exit code %d", WEXITSTATUS(status));
    size_t length = (size_t)snprintf(error, bytes, "%s %s:\n", name, how);
    if (length < bytes)
        scratch_read(messages, error + length, bytes - length);
    return EINC_FAILED;
}

/* One attempt, with the text and the messages in open files. */
static int compile(const Compiler *compiler, const Way *way, const char *sets, int in, int messages,
                   const char *object, char *error, size_t bytes)
{
    int status = 0;
    char *flags = flags_make(way, sets), *link = strdup(way->link);
    char **arguments = flags && link ? arguments_make(compiler, flags, link, object) : NULL;
    if (!arguments) {
        free(flags);
        free(link);
        return fail_memory(error, bytes);
    }
    int failed = lseek(in, 0, SEEK_SET) || ftruncate(messages, 0) || lseek(messages, 0, SEEK_SET) ? errno : 0;
    if (!failed)
        failed = run(arguments, in, messages, messages, &status);
    free(arguments);
    free(flags);
    free(link);
    if (failed)
        return fail(EINC_NO_COMPILER, error, bytes, "cannot run '%s': %s; " ADVICE, compiler->arguments[0],
                    strerror(failed));
    if (has_worked(status, messages, object))
        return EINC_OK;
    unlink(object);
    return fail_compile(compiler->arguments[0], status, messages, error, bytes);
}

int compiler_run(const Compiler *compiler, const char *sets, const char *text, size_t length, const char *object,
                 char *error, size_t bytes)
{
    int in = scratch_open(), messages = scratch_open(), status = EINC_FAILED;
    if (in < 0 || messages < 0 || !scratch_write(in, text, length))
        fail(EINC_FAILED, error, bytes, "cannot store the compiler's input: %s", strerror(errno));
    else
        for (size_t i = 0; i < 2 && status == EINC_FAILED; i++)
            status = compile(compiler, &ways[compiler->kind][i], sets, in, messages, object, error, bytes);
    close_if_open(in);
    close_if_open(messages);
    return status;
}
