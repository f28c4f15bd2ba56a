/* ^C while a kernel runs: it stops, and what it has written is given up. A kernel asks between units of work; where one of
 * them is long, the process ends without it. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { PATIENCE = 1 };    /* seconds, from the first signal */

static volatile sig_atomic_t caught;
static const char *const *volatile unfinished;

/* Ends as if the signal had not been caught, but for the files. Calls only what a handler may call. */
static void end_now(int number)
{
    (void)number;
    for (const char *const *file = unfinished; file && *file; file++)
        unlink(*file);
    signal(caught, SIG_DFL);
    raise(caught);
}

static void on_signal(int number)
{
    bool again = caught != 0;
    caught = number;
    if (again)
        end_now(number);
    else if (unfinished)
        alarm(PATIENCE);
}

static void set(void (*handler)(int))
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)    /* as under nohup */
            sigaction(signals[i], &action, NULL);
}

void cancel_catch(void)
{
    signal(SIGALRM, end_now);
    set(on_signal);
}

void cancel_removes(const char *const *files)
{
    unfinished = files;
    if (caught)
        alarm(PATIENCE);
}

void cancel_release(void)
{
    set(SIG_DFL);
}

int cancel_asked(void *user)
{
    (void)user;
    return caught != 0;
}

int cancel_status(void)
{
    return caught ? 128 + caught : 128 + SIGINT;
}
