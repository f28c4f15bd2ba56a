#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAIT = 1000, BAR = 30 };

int64_t progress_milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

Progress progress_begin(void)
{
    const char *terminal = getenv("TERM");
    bool dumb = !terminal || !strcmp(terminal, "dumb");
    return (Progress){ .wanted = !dumb && isatty(STDERR_FILENO), .begin = progress_milliseconds() };
}

static void put_time(char *text, size_t bytes, double seconds)
{
    long long s = (long long)(seconds + 0.5);
    if (s < 60)
        snprintf(text, bytes, "%lld s", s);
    else if (s < 3600)
        snprintf(text, bytes, "%lld min %02lld s", s / 60, s % 60);
    else
        snprintf(text, bytes, "%lld h %02lld min", s / 3600, s / 60 % 60);
}

void progress_show(void *user, double done)
{
    Progress *progress = user;
    int64_t passed = progress_milliseconds() - progress->begin;
    char line[200], left[40], bar[BAR + 1];
    if (!progress->wanted || passed < WAIT || done <= 0)
        return;
    int full = (int)(done * BAR);
    memset(bar, ' ', BAR);
    memset(bar, '=', (size_t)(full < BAR ? full : BAR));
    bar[BAR] = 0;
    put_time(left, sizeof left, (double)passed / 1000 * (1 - done) / done);
    int length = snprintf(line, sizeof line, "\r[%s] %3.0f %%  %s left\033[K", bar, 100 * done, left);
    /* In one piece, as this may be any thread. */
    progress->shown |= write(STDERR_FILENO, line, (size_t)length) > 0;
}

void progress_end(Progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
