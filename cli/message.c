/* Messages on stderr, in the form of the compiler's diagnostics. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Lines that begin with a kind of message get its colour; diagnostics bring their own. */
static void print(const Cli *cli, const char *text)
{
    static const struct {
        const char *word, *colour;
    } kinds[] = { { "error:", "\033[1;31m" }, { "note:", "\033[1;36m" } };
    size_t k = 0, count = sizeof kinds / sizeof *kinds;
    while (k < count && strncmp(text, kinds[k].word, strlen(kinds[k].word)))
        k++;
    if (cli->colour && k < count) {
        fprintf(stderr, "%s%s\033[0m", kinds[k].colour, kinds[k].word);
        text += strlen(kinds[k].word);
    }
    fputs(text, stderr);
    size_t length = strlen(text);
    if (!length || text[length - 1] != '\n')
        fputc('\n', stderr);
}

int cli_fail(Cli *cli, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(cli, arena_format(&cli->arena, "error: %s", arena_vformat(&cli->arena, format, arguments)));
    va_end(arguments);
    return status;
}

void cli_note(Cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(cli, arena_vformat(&cli->arena, format, arguments));
    va_end(arguments);
}

int cli_fail_runtime(Cli *cli)
{
    print(cli, einc_error(cli->context));
    return cli->failure;
}

int cli_fail_diags(Cli *cli, int status, const Diags *diags)
{
    if (!diags->errors)
        return EINC_OK;
    context_report(cli->context, status, diags);
    return cli_fail_runtime(cli);
}

int cli_finish_stdout(Cli *cli, int status)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    return cli_fail(cli, status ? status : EINC_FAILED, "cannot write to the standard output: %s",
                    errno ? strerror(errno) : "it was cut short");
}
