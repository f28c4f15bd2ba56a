/* ^C while a kernel runs: it stops, and what it has written is given up. */
#include <signal.h>
#include <string.h>

#include "cli.h"

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
    caught = signal;
}

static void set(void (*handler)(int), int flags)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)    /* as under nohup */
            sigaction(signals[i], &action, NULL);
}

void cancel_catch(void)
{
    set(on_signal, SA_RESTART | (int)SA_RESETHAND);
}

void cancel_release(void)
{
    set(SIG_DFL, 0);
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
