/* The einc command: finds the command, reads its options, runs it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* What the parts below may take for granted: that the first three descriptors are not those of files that they open.
 * Those that the caller has closed are there, but fail. */
static void open_standard_files(void)
{
    static const int flags[] = { O_WRONLY, O_RDONLY, O_WRONLY };    /* messages may vanish; data may not */
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd)
            exit(EINC_FAILED);
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb");
}

static void note_failure(void *user, int code, const char *message)
{
    (void)message;
    ((Cli *)user)->failure = code;
}

/* ---- what was asked for ---- */

static int fail_command(Cli *cli, const char *word)
{
    const char *near = command_nearest(word), *option = word + strspn(word, "-");
    for (int o = 0; o < OPTION_COUNT; o++)    /* "version", "-v" */
        if (option_facts[o].commands == HELP && *option && !strncmp(option_facts[o].name, option, strlen(option)))
            return cli_fail(cli, EINC_USAGE, "there is no command '%s'\nhint: did you mean 'einc --%s'?", word,
                            option_facts[o].name);
    if (near)
        return cli_fail(cli, EINC_USAGE, "there is no command '%s'\nhint: did you mean 'einc %s'?", word, near);
    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz")] && *word != '-')
        return cli_fail(cli, EINC_USAGE, "there is no command '%s'\nhint: an expression follows a command, for example: "
                        "einc explain 'ij,jk->ik'", word);
    return cli_fail(cli, EINC_USAGE, "there is no %s '%s'\nhint: 'einc --help' lists the commands",
                    *word == '-' ? "option" : "command", word);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return !strcmp(word, a) || !strcmp(word, b);
}

static int run_command(Cli *cli, int argc, char **argv)
{
    if (argc < 2) {
        help_print(stderr);
        return EINC_USAGE;
    }
    if (is_one_of(argv[1], "--version", "-V")) {
        printf("einc %s\n", einc_version());
        return EINC_OK;
    }
    cli->command = command_find(is_one_of(argv[1], "--help", "-h") ? "help" : argv[1]);
    if (!cli->command)
        return fail_command(cli, argv[1]);
    int status = options_read(cli, argc - 2, argv + 2);
    if (status)
        return status;
    if (option_given(cli, OPTION_SHOW_HELP) && cli->command->set != HELP) {
        help_print_command(stdout, cli->command);
        return EINC_OK;
    }
    return cli->command->run(cli);
}

int main(int argc, char **argv)
{
    Cli cli = { 0 };
    jmp_buf full;
    open_standard_files();
    einc_host host = { .cancelled = cancel_asked, .error = note_failure, .user = &cli };
    cli.arena.failed = &full;
    cli.colour = wants_colour();
    cli.context = einc_context_new(&host);
    if (!cli.context || setjmp(full)) {
        fputs("error: out of memory\n", stderr);
        return EINC_FAILED;
    }
    cli.context->colour = cli.colour;
    int status = cli_finish_stdout(&cli, run_command(&cli, argc, argv));
    einc_context_free(cli.context);
    arena_free(&cli.arena);
    return status;
}
