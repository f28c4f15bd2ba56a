/* The thread pool: every index once, worker numbers never shared, many callers, nested calls, fork. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void burn(int64_t ns)
{
    for (int64_t end = now_ns() + ns; now_ns() < end;)
        ;
}

/* A loop that records what it sees. `counts` and `sums` are plain memory on purpose: with worker numbers shared or an
 * index run twice, the thread sanitizer sees a race. */
typedef struct Loop {
    Pool *pool;
    int64_t tasks;
    int workers;
    int *counts;                 /* [tasks] */
    int64_t sums[64];            /* [workers]: by worker */
    atomic_bool busy[64];        /* [workers] */
    atomic_int faults;           /* asserted on by the thread that called: cmocka's assertions do not work in others */
    int64_t task_ns;             /* a task takes this times (index % 5), so that tasks are uneven */
} Loop;

static void loop_task(void *argument, int64_t index, int worker)
{
    Loop *loop = argument;
    if (index < 0 || index >= loop->tasks || worker < 0 || worker >= loop->workers) {
        atomic_fetch_add(&loop->faults, 1);
        return;
    }
    if (atomic_exchange(&loop->busy[worker], true))
        atomic_fetch_add(&loop->faults, 1);
    loop->counts[index]++;
    loop->sums[worker] += index;
    if (loop->task_ns)
        burn(loop->task_ns * (index % 5));
    atomic_store(&loop->busy[worker], false);
}

/* The number of faults of one loop; `max_workers` 0: no limit. */
static int run_loop(Pool *pool, int max_workers, int64_t tasks, int64_t task_ns)
{
    Loop *loop = calloc(1, sizeof *loop);
    loop->pool = pool;
    loop->tasks = tasks;
    loop->task_ns = task_ns;
    loop->workers = max_workers > 0 && max_workers < pool_workers(pool) ? max_workers : pool_workers(pool);
    loop->counts = calloc((size_t)tasks + 1, sizeof *loop->counts);
    int status = max_workers ? pool_run(pool, max_workers, tasks, loop_task, loop)
                             : pool_parallel_for(pool, tasks, loop_task, loop);
    int faults = atomic_load(&loop->faults) + (status != 0);
    int64_t sum = 0;
    for (int64_t i = 0; i < tasks; i++)
        faults += loop->counts[i] != 1;
    for (int i = 0; i < loop->workers; i++)
        sum += loop->sums[i];
    faults += tasks > 0 && sum != tasks * (tasks - 1) / 2;
    free(loop->counts);
    free(loop);
    return faults;
}

static void test_every_index_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 16; threads = threads * 2 + (threads == 4)) {
        Pool *pool = pool_new(threads, NULL, NULL, NULL);
        assert_int_equal(pool_workers(pool), threads);
        for (int64_t tasks = 0; tasks <= 40; tasks++)
            for (int most = 0; most <= threads + 1; most++)
                assert_int_equal(run_loop(pool, most, tasks, 0), 0);
        assert_int_equal(run_loop(pool, 0, 100000, 0), 0);
        assert_int_equal(run_loop(pool, 3, 100000, 0), 0);
        assert_int_equal(run_loop(pool, 0, 200, 10000), 0);
        pool_free(pool);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    Pool *pool = pool_new(0, NULL, NULL, NULL);
    assert_int_equal(pool_workers(pool), CPU_COUNT(&set));
    pool_free(pool);
    pool = pool_new(1 << 20, NULL, NULL, NULL);
    assert_int_equal(pool_workers(pool), POOL_WORKERS_MAX);
    pool_free(pool);
    pool_free(NULL);
}

/* Threads are there only once they are needed. */
static void count_task(void *argument, int64_t index, int worker)
{
    (void)index, (void)worker;
    atomic_fetch_add((atomic_int *)argument, 1);
}

static int threads_of_process(void)
{
    char line[256];
    int threads = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    if (file)
        fclose(file);
    return threads;
}

static void test_starts_lazily(void **state)
{
    (void)state;
    int before = threads_of_process();
    atomic_int count = 0;
    Pool *pool = pool_new(4, NULL, NULL, NULL);
    pool_run(pool, 0, 1, count_task, &count);
    pool_run(pool, 1, 10, count_task, &count);
    pool_run(pool, 0, 0, count_task, &count);
    pool_run(pool, 0, -5, count_task, &count);
    assert_int_equal(count, 11);
    assert_int_equal(threads_of_process(), before);
    pool_run(pool, 0, 10, count_task, &count);
    if (before >= 0)
        assert_int_equal(threads_of_process(), before + 3);
    pool_free(pool);
}

/* The host's memory is used, and given back. */
static void *host_alloc(void *user, size_t bytes, size_t align)
{
    ++*(int *)user;
    return aligned_alloc(align, bytes);
}

static void host_free(void *user, void *memory)
{
    --*(int *)user;
    free(memory);
}

static void *no_alloc(void *user, size_t bytes, size_t align)
{
    (void)user, (void)bytes, (void)align;
    return NULL;
}

static void test_memory(void **state)
{
    (void)state;
    int live = 0;
    Pool *pool = pool_new(3, host_alloc, host_free, &live);
    assert_int_equal(live, 1);
    assert_int_equal(run_loop(pool, 0, 100, 0), 0);
    pool_free(pool);
    assert_int_equal(live, 0);
    assert_null(pool_new(3, no_alloc, host_free, &live));
}

static void sleep_task(void *argument, int64_t index, int worker)
{
    (void)index;
    atomic_fetch_or((_Atomic uint64_t *)argument, 1ull << worker);
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

/* All threads wake up for a job that has work for all. */
static void test_wakes_all(void **state)
{
    (void)state;
    Pool *pool = pool_new(16, NULL, NULL, NULL);
    for (int round = 0; round < 3; round++) {
        _Atomic uint64_t workers = 0;
        pool_parallel_for(pool, 16, sleep_task, &workers);
        assert_int_equal(workers, 0xFFFF);
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);      /* until they sleep */
    }
    pool_free(pool);
}

/* ---- many callers ---- */

typedef struct Caller {
    Pool *pool;
    pthread_t thread;
    int rounds, faults;
    int64_t tasks, task_ns;
} Caller;

static void *caller_main(void *argument)
{
    Caller *caller = argument;
    for (int i = 0; i < caller->rounds; i++)
        caller->faults += run_loop(caller->pool, i % 4, caller->tasks + i % 7, caller->task_ns);
    return NULL;
}

/* More callers than the pool has slots for jobs. */
static void test_many_callers(void **state)
{
    (void)state;
    enum { CALLERS = 90 };
    static Caller callers[CALLERS];
    Pool *pool = pool_new(8, NULL, NULL, NULL);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (Caller){ .pool = pool, .rounds = 40, .tasks = i, .task_ns = i % 3 * 100 };
        assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].faults, 0);
    }
    pool_free(pool);
}

/* Which threads ran tasks of a job that is long enough for a second one to come. */
typedef struct Share {
    Pool *pool;
    atomic_int inside, most;     /* at once, after the second job has begun */
    atomic_bool *both;
    _Atomic int64_t finished;
    int64_t tasks;
} Share;

static void share_task(void *argument, int64_t index, int worker)
{
    (void)index, (void)worker;
    Share *share = argument;
    int inside = atomic_fetch_add(&share->inside, 1) + 1;
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    if (atomic_load(share->both) && inside > atomic_load(&share->most))
        atomic_store(&share->most, inside);
    atomic_fetch_sub(&share->inside, 1);
}

static void *share_main(void *argument)
{
    Share *share = argument;
    pool_run_counted(share->pool, 0, share->tasks, share_task, share, &share->finished);
    return NULL;
}

/* A job that comes when all threads work on another one gets its half of them. */
static void test_fair_between_callers(void **state)
{
    (void)state;
    atomic_bool both = false;
    Pool *pool = pool_new(9, NULL, NULL, NULL);
    Share first = { .pool = pool, .both = &both, .tasks = 1200 };
    Share second = { .pool = pool, .both = &both, .tasks = 400 };
    pthread_t a, b;
    pthread_create(&a, NULL, share_main, &first);
    while (atomic_load(&first.finished) < 200)
        sched_yield();
    int64_t before = atomic_load(&first.finished);
    pthread_create(&b, NULL, share_main, &second);
    while (atomic_load(&second.finished) < 20)
        sched_yield();
    atomic_store(&both, true);
    pthread_join(b, NULL);
    int64_t meanwhile = atomic_load(&first.finished) - before;
    pthread_join(a, NULL);
    assert_int_equal(first.finished, 1200);
    assert_int_equal(second.finished, 400);
    assert_in_range(second.most, 4, 7);      /* 8 threads shared by two, and the caller */
    assert_in_range(meanwhile, 200, 800);
    pool_free(pool);
}

/* ---- nested calls ---- */

typedef struct Nest {
    Pool *pool, *other;
    atomic_int count, faults, other_count;
    int64_t task_ns;
} Nest;

typedef struct Inner {
    Nest *nest;
    pthread_t thread;
    int64_t next;
} Inner;

static void inner_task(void *argument, int64_t index, int worker)
{
    Inner *inner = argument;
    if (worker || index != inner->next++ || !pthread_equal(inner->thread, pthread_self()))
        atomic_fetch_add(&inner->nest->faults, 1);
    atomic_fetch_add(&inner->nest->count, 1);
    nanosleep(&(struct timespec){ .tv_nsec = inner->nest->task_ns }, NULL);
}

static void outer_task_long(void *argument, int64_t index, int worker)
{
    (void)index, (void)worker;
    Inner inner = { .nest = argument, .thread = pthread_self() };
    pool_parallel_for(inner.nest->pool, 100, inner_task, &inner);
}

static void outer_task(void *argument, int64_t index, int worker)
{
    (void)worker;
    Nest *nest = argument;
    Inner inner = { .nest = nest, .thread = pthread_self() };
    pool_parallel_for(nest->pool, index, inner_task, &inner);
    pool_parallel_for(nest->other, 3, count_task, &nest->other_count);
}

static void test_nested(void **state)
{
    (void)state;
    Nest nest = { .pool = pool_new(4, NULL, NULL, NULL), .other = pool_new(3, NULL, NULL, NULL) };
    nest.task_ns = 50000;
    pool_parallel_for(nest.pool, 2, outer_task_long, &nest);         /* while the other threads have nothing to do */
    assert_int_equal(nest.faults, 0);
    assert_int_equal(nest.count, 200);
    nest.task_ns = 0;
    nest.count = 0;
    pool_parallel_for(nest.pool, 200, outer_task, &nest);
    assert_int_equal(nest.faults, 0);
    assert_int_equal(nest.count, 200 * 199 / 2);
    assert_int_equal(nest.other_count, 600);
    assert_int_equal(run_loop(nest.pool, 0, 100, 100), 0);   /* the thread that called is no longer in a task */
    pool_free(nest.other);
    pool_free(nest.pool);
}

/* ---- progress, float environment, starting under way ---- */

typedef struct Progress {
    _Atomic int64_t finished;
    atomic_bool stop;
    int faults;
} Progress;

static void *watch_main(void *argument)
{
    Progress *progress = argument;
    for (int64_t last = 0; !atomic_load(&progress->stop);) {
        int64_t now = atomic_load(&progress->finished);
        progress->faults += now < last || now > 1000;
        last = now;
        sched_yield();
    }
    return NULL;
}

static void slow_task(void *argument, int64_t index, int worker)
{
    (void)argument, (void)index, (void)worker;
    burn(5000);
}

static void test_progress(void **state)
{
    (void)state;
    Progress progress = { .finished = 0 };
    pthread_t thread;
    Pool *pool = pool_new(4, NULL, NULL, NULL);
    pthread_create(&thread, NULL, watch_main, &progress);
    pool_run_counted(pool, 0, 1000, slow_task, NULL, &progress.finished);
    assert_int_equal(progress.finished, 1000);
    atomic_store(&progress.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(progress.faults, 0);
    pool_free(pool);
}

#if defined(__SSE__)
enum { FLUSH_TO_ZERO = 0x8000 };

static void flush_task(void *argument, int64_t index, int worker)
{
    (void)index, (void)worker;
    if (__builtin_ia32_stmxcsr() & FLUSH_TO_ZERO)
        atomic_fetch_add((atomic_int *)argument, 1);
    burn(20000);
}

static void test_float_control(void **state)
{
    (void)state;
    Pool *pool = pool_new(4, NULL, NULL, NULL);
    unsigned before = __builtin_ia32_stmxcsr();
    for (int round = 0; round < 20; round++) {
        atomic_int flushing = 0;
        __builtin_ia32_ldmxcsr(round % 2 ? before | FLUSH_TO_ZERO : before);
        pool_parallel_for(pool, 100, flush_task, &flushing);
        assert_int_equal(flushing, round % 2 ? 100 : 0);
    }
    __builtin_ia32_ldmxcsr(before);
    pool_free(pool);
}
#endif

/* The pool's threads leave signals to the host's. */
static void signal_task(void *argument, int64_t index, int worker)
{
    (void)index;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (worker && !sigismember(&set, SIGINT))
        atomic_fetch_add((atomic_int *)argument, 1);
    burn(20000);
}

static void test_signals(void **state)
{
    (void)state;
    atomic_int faults = 0;
    sigset_t set;
    Pool *pool = pool_new(4, NULL, NULL, NULL);
    pool_parallel_for(pool, 200, signal_task, &faults);
    assert_int_equal(faults, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    assert_false(sigismember(&set, SIGINT));
    pool_free(pool);
}

/* ---- fork ---- */

static int exit_status(pid_t child)
{
    int status = -1;
    for (int i = 0; i < 3000; i++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

/* In the child: the threads start anew, help, and end. */
static void check_in_child(Pool *pool)
{
    int faults = 0;
    for (int i = 0; i < 20; i++)
        faults += run_loop(pool, 0, 100, 1000);
    faults += threads_of_process() >= 0 && threads_of_process() != pool_workers(pool);
    pool_free(pool);
    _exit(faults ? 1 : 0);
}

static void test_fork(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    print_message("skipped: the thread sanitizer allows no threads after fork\n");
    skip();
#endif
    Pool *pool = pool_new(4, NULL, NULL, NULL);
    for (int round = 0; round < 10; round++) {
        pid_t child = fork();
        if (!child)
            check_in_child(pool);
        assert_int_equal(exit_status(child), 0);
        assert_int_equal(run_loop(pool, 0, 100, 1000), 0);
    }
    pid_t child = fork();        /* a child that only frees */
    if (!child) {
        pool_free(pool);
        _exit(0);
    }
    assert_int_equal(exit_status(child), 0);
    pool_free(pool);
}

/* Forks while other threads' jobs are under way: in the child those jobs and their threads do not exist. */
static void test_fork_while_busy(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    print_message("skipped: the thread sanitizer allows no threads after fork\n");
    skip();
#endif
    Pool *pool = pool_new(4, NULL, NULL, NULL);
    Caller callers[3];
    for (int i = 0; i < 3; i++) {
        callers[i] = (Caller){ .pool = pool, .rounds = 400, .tasks = 60, .task_ns = 1000 };
        pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]);
    }
    for (int round = 0; round < 40; round++) {
        /* The loops in the child take memory: malloc is safe after fork with glibc and musl. */
        pid_t child = fork();
        if (!child)
            check_in_child(pool);
        assert_int_equal(exit_status(child), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].faults, 0);
    }
    pool_free(pool);
}

/* ---- many pools, short lives ---- */

static void test_new_and_free(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        Pool *pool = pool_new(1 + i % 6, NULL, NULL, NULL);
        for (int j = 0; j < i % 4; j++)
            assert_int_equal(run_loop(pool, 0, 5, 0), 0);
        pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_starts_lazily),    cmocka_unit_test(test_memory),
        cmocka_unit_test(test_wakes_all),        cmocka_unit_test(test_many_callers),
        cmocka_unit_test(test_fair_between_callers),
        cmocka_unit_test(test_nested),           cmocka_unit_test(test_progress),
#if defined(__SSE__)
        cmocka_unit_test(test_float_control),
#endif
        cmocka_unit_test(test_signals),          cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_while_busy),  cmocka_unit_test(test_new_and_free),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
