/* What the parts of the einc command share. A command is `int command_x(Cli *)`, which returns the exit code: an
 * einc_status, or 128 + a signal. */
#ifndef EINC_CLI_H
#define EINC_CLI_H

#include <stdio.h>

#include "options.h"
#include "runtime.h"

enum { ERROR_BYTES = 1024 };

struct Cli {
    const Command *command;
    Given *given;                 /* in the order of the command line */
    int given_count;
    const char **words;           /* what is no option */
    int word_count;
    einc_context *context;
    int failure;                  /* the einc_status of the runtime's last failure */
    Arena arena;                  /* all that lives as long as the command */
    bool colour;                  /* of messages: stderr is a terminal and NO_COLOR is not set */
};

/* ---- message.c: what goes to stderr ---- */

/* "error: …" and, behind a newline in the text, hints. Return `status`. */
int cli_fail(Cli *cli, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
void cli_note(Cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the runtime has said last; returns its status. */
int cli_fail_runtime(Cli *cli);

/* Reports diagnostics of the command's own about the expression; EINC_OK when there are none. */
int cli_fail_diags(Cli *cli, int status, const Diags *diags);

/* Ends the data on stdout: what could not be written is an error. */
int cli_finish_stdout(Cli *cli, int status);

/* ---- help.c ---- */

void help_print(FILE *file);
void help_print_command(FILE *file, const Command *command);
const Command *command_find(const char *name);
const char *command_nearest(const char *name);

int command_help(Cli *cli);
int command_compile(Cli *cli);
int command_explain(Cli *cli);
int command_run(Cli *cli);
int command_bench(Cli *cli);
int command_cache(Cli *cli);
int command_doctor(Cli *cli);

/* ---- file.c: text files that appear whole or not at all ---- */

typedef struct TextFile {
    const char *path;             /* "-": stdout */
    char *target, *temporary;     /* NULL: written in place, as stdout and devices are */
} TextFile;

/* Writes the text beside its place; file_commit() puts it there. An einc_status, after a message; then there is nothing
 * to give up. file_abort() may be called at any time. */
int file_write(Cli *cli, TextFile *file, const char *path, const char *text);
int file_commit(Cli *cli, TextFile *file);
void file_abort(TextFile *file);

/* ---- cancel.c ---- */

/* From here on SIGINT and SIGTERM ask for an end; a second one ends the process at once. Once it is known which files
 * to remove then, up to a NULL, the process ends so, too, when nobody has listened for a second. */
void cancel_catch(void);
void cancel_removes(const char *const *files);
void cancel_release(void);        /* signals end the process again */
int cancel_asked(void *user);     /* as einc_host.cancelled */
int cancel_status(void);          /* the exit code: 128 + the signal */

#endif
