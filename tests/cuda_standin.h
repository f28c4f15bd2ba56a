/* What the stand-ins for libcuda and libnvrtc share: one call at a time, counted, and one of them made to fail.
 *
 *     CUDA_STANDIN_FAIL=7       the library's seventh call fails, of those that einc makes
 *     CUDA_STANDIN_LOG=file     gets the number of calls, and of what was not given back, at the end
 */
#ifndef TESTS_CUDA_STANDIN_H
#define TESTS_CUDA_STANDIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED = 999 };

static pthread_mutex_t lock;
static int calls, kept;           /* contexts, memory, programs … that somebody still has */
static int failing;               /* the call that is to fail; 0: none */

__attribute__((constructor)) static void make_lock(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("CUDA_STANDIN_LOG");
    FILE *file = path && calls ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%d %d\n", calls, kept);
        fclose(file);
    }
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "0");
}

static void let_go(const int *held)
{
    (void)held;
    pthread_mutex_unlock(&lock);
}

/* Whether the call at hand is the one that fails. */
static bool fails(void)
{
    const char *number = getenv("CUDA_STANDIN_FAIL");
    return ++calls == (number ? atoi(number) : failing);
}

#define CALL(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)
/* One call at a time. */
#define HOLD __attribute__((cleanup(let_go), unused)) const int held = pthread_mutex_lock(&lock)
#define BEGIN HOLD; do { if (fails()) return FAILED; } while (0)

#endif
