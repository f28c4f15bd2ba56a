/* A bar on the terminal while a kernel runs. */
#ifndef EINC_PROGRESS_H
#define EINC_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Progress {
    bool wanted;                  /* stderr is a terminal that can draw */
    bool shown;
    int64_t begin;                /* milliseconds */
} Progress;

Progress progress_begin(void);

/* As einc_call_options.progress: after a second, how much is done and how long the rest will take. */
void progress_show(void *progress, double done);

/* Takes the bar away. */
void progress_end(Progress *progress);

int64_t progress_milliseconds(void);

#endif
