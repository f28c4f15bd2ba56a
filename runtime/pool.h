/* A pool of threads that runs loops of independent tasks.
 *
 *     Pool *pool = pool_new(0, NULL, NULL, NULL);
 *     pool_parallel_for(pool, tasks, task, argument);
 *     pool_free(pool);
 *
 * Any number of threads may call at once. Each call is a job of its own: its caller works on it, the pool's threads
 * spread evenly over the open jobs, and a job is done even if no thread ever comes to help. Threads start with the
 * first call that can use them. After fork() the child has a pool that works: its threads start anew there. */
#ifndef EINC_POOL_H
#define EINC_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct Pool Pool;
typedef void PoolTask(void *argument, int64_t index, int worker);

enum { POOL_WORKERS_MAX = 1024 };

/* `threads` counts the caller; 0: as many as this process may run on. `alloc` and `free` as in einc_host, or NULL for
 * malloc's. NULL when there is no memory. */
Pool *pool_new(int threads, void *(*alloc)(void *user, size_t bytes, size_t align),
               void (*free)(void *user, void *memory), void *user);

/* Ends the threads. No call may be under way; not to be called from a task. NULL is allowed. */
void pool_free(Pool *pool);

/* The most workers that one call has, its caller included. */
int pool_workers(const Pool *pool);

/* einc_host.parallel_for, with the pool as `user`: runs task(argument, index, worker) once for each 0 <= index < tasks
 * with 0 <= worker < pool_workers(), never two at once with the same worker, and returns 0 when all have returned.
 * What the tasks wrote is visible to the caller then. From inside a task of the same pool, all run in that thread. */
int pool_parallel_for(void *pool, int64_t tasks, PoolTask *task, void *argument);

/* The same with 0 <= worker < max_workers; 0 or less: no limit but the pool's. */
int pool_run(Pool *pool, int max_workers, int64_t tasks, PoolTask *task, void *argument);

/* The same, adding 1 to `finished` after each task: progress that any thread may read meanwhile. */
int pool_run_counted(Pool *pool, int max_workers, int64_t tasks, PoolTask *task, void *argument,
                     _Atomic int64_t *finished);

#endif
