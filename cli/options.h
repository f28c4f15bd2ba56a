/* The command line: which commands and options there are, and what was given. */
#ifndef EINC_OPTIONS_H
#define EINC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of commands. */
enum {
    COMPILE = 1,
    EXPLAIN = 2,
    RUN = 4,
    BENCH = 8,
    CACHE = 16,
    DOCTOR = 32,
    HELP = 64,
    KERNELS = COMPILE | EXPLAIN | RUN | BENCH
};

/* X(tag, long name, letter or 0, value or NULL, commands, help) */
#define OPTIONS(X)                                                                                                       \
    X(INPUT, "input", 'i', "[NAME=]FILE", KERNELS, "a .npy file: the next operand, or NAME; - is the standard input")     \
    X(OUTPUT, "output", 'o', "FILE", COMPILE | RUN, "where the result goes; - is the standard output")                   \
    X(OUTPUTS, "outputs", 0, "NAME,NAME", KERNELS, "the results are what has these names, not the last statement's")      \
    X(EXTENTS, "extents", 'd', "I=N,J=N", KERNELS, "extents of indices: needed where no operand tells, else hints")      \
    X(DUMP, "dump", 0, "PASS", COMPILE | EXPLAIN, "print what a pass makes: ast, program, order, gather, lower, plan (short: -dPASS)")  \
    X(SHAPE, "shape", 0, "[NAME=]N,N", KERNELS,                                                                          \
      "the shape of the next operand, or of NAME; a dtype stands in EXPR, as in ij:f16")                                 \
    X(STATIC, "static", 0, "I=N", KERNELS, "extents to compile in as constants")                                         \
    X(MEMORY, "memory", 0, "BYTES", KERNELS, "memory beyond operands and results: 700, 64K, 2M, 1G; 0: none")            \
    X(TARGET, "target", 0, "NAME", KERNELS, "instruction set, one of those below; several for compile: a,b")              \
    X(THREADS, "threads", 0, "N", RUN | BENCH, "at most so many threads; else as many as there are processors")          \
    X(NAME, "name", 0, "NAME", COMPILE, "what the C function is called")                                                 \
    X(HEADER, "header", 0, "FILE", COMPILE, "write a header for the function, too")                                      \
    X(EMIT_MAIN, "emit-main", 0, NULL, COMPILE, "add a main() that reads and writes .npy files")                         \
    X(CHECK, "check", 0, NULL, RUN, "compare the result with a slow and simple evaluator, for up to 5 s")                \
    X(SECONDS, "seconds", 0, "S", BENCH, "how long to measure; 1 if not given")                                          \
    X(JSON, "json", 0, NULL, EXPLAIN | BENCH, "print JSON")                                                              \
    X(DEVICE, "device", 0, "cpu|cuda", KERNELS, "where the kernel runs")                    \
    X(PRECISION, "precision", 0, "NAME", KERNELS, "of products of f32: exact, bf16x6, bf16x3 or tf32")                \
    X(FAST_MATH, "fast-math", 0, NULL, KERNELS, "allow less precise functions; there are none yet")                      \
    X(SHOW_HELP, "help", 'h', NULL, ~0, "print this")                                                                    \
    X(SHOW_VERSION, "version", 0, NULL, HELP, "print the version")

typedef enum {
#define X(tag, name, letter, value, commands, help) OPTION_##tag,
    OPTIONS(X)
#undef X
    OPTION_COUNT
} OptionId;

typedef struct OptionFacts {
    const char *name;
    char letter;
    const char *value;            /* NULL: it takes none */
    int commands;
    const char *help;
} OptionFacts;

extern const OptionFacts option_facts[OPTION_COUNT];

typedef struct Cli Cli;

typedef struct Command {
    const char *name;
    int set;                      /* the one member of the sets above */
    int (*run)(Cli *cli);
    const char *usage;            /* behind "einc " */
    const char *about;            /* a line, for the list of commands */
    const char *more;             /* paragraphs for its own help, with examples */
} Command;

extern const Command commands[];  /* ends in a NULL name */

/* One option as given. */
typedef struct Given {
    OptionId id;
    const char *value;
} Given;

/* Reads what stands behind the command into cli->given and cli->words. An einc_status, after a message. */
int options_read(Cli *cli, int count, char *const *arguments);

/* The value of the last of its kind, or NULL; "" for one without a value. */
const char *option_value(const Cli *cli, OptionId id);
bool option_given(const Cli *cli, OptionId id);

/* Numbers on the command line; false after a message. `*bytes` is 0 when no budget was given, `*threads` likewise. */
bool option_memory(Cli *cli, int64_t *bytes);
bool option_threads(Cli *cli, int *threads);
bool option_seconds(Cli *cli, double *seconds);

#endif
