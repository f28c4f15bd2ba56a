/* How a job runs. A caller takes a free slot, writes its job there and opens it. Threads that are awake find the slot
 * by looking through all that are in use; some that sleep are woken, and these wake the next, so that the caller does
 * not pay for all. Whoever is in the slot takes the next index until there is none, and the first who finds none
 * closes it. The caller returns when the last thread has left.
 *
 * No lock is held anywhere: a thread that vanishes in a fork, or has not started yet, is only a thread that does not
 * help. */
#include "pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOTS = 64,                   /* jobs at once that get help; `used` has a bit for each */
    LINE = 128,                   /* two cache lines: what processors fetch together */
    SPIN_NS = 40000,              /* how long to look for work before sleeping: about what a wake-up costs */
    WAKE = 2,                     /* threads that one thread wakes */
};

/* Slot.inside: how many threads of the pool are inside, how many may be, and two flags. All in one word, so that to
 * read and to join is one compare-and-swap. */
#define INSIDE_COUNT 0xFFFu
#define INSIDE_LIMIT(word) ((word) >> 12 & 0xFFFu)
#define INSIDE_WAITED (1u << 30)  /* the caller sleeps until the count is 0 */
#define INSIDE_OPEN (1u << 31)

typedef struct Slot {
    _Alignas(LINE) _Atomic int64_t next;
    _Alignas(LINE) _Atomic uint32_t inside;
    _Atomic(pthread_t) caller;    /* 0 when the slot is free */
    _Atomic uint64_t workers[POOL_WORKERS_MAX / 64];   /* a bit for each worker number that is taken */
    /* Written before the slot opens, constant until it is free again. */
    int64_t tasks;
    PoolTask *task;
    void *argument;
    _Atomic int64_t *finished;
    uint64_t float_control;
} Slot;

typedef struct Thread {
    Pool *pool;
    pthread_t handle;             /* the creator's, for pthread_join */
    _Atomic(pthread_t) self;      /* the thread's own, to know it by; 0 before it runs */
} Thread;

enum { NOT_STARTED, STARTING, STARTED };

struct Pool {
    Slot slots[SLOTS];
    _Alignas(LINE) _Atomic uint64_t used;
    _Alignas(LINE) _Atomic uint32_t calls;   /* counts jobs opened; threads sleep on it */
    _Atomic uint32_t sleepers;
    _Alignas(LINE) _Atomic int64_t process;  /* in which the threads live; negative while that one clears the pool */
    _Atomic int state;
    atomic_bool stop;
    int workers, started;
    int64_t spin_ns;
    void (*free)(void *user, void *memory);
    void *user;
    Thread threads[];             /* [workers - 1] */
};

/* ---- the machine ---- */

static int cpus_allowed(void)
{
    for (int most = 1024; most <= 1 << 20; most *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)most);
        int count = sched_getaffinity(0, bytes, set) ? 0 : CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    return 1;
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Rounding mode and flushing of denormals: only with the caller's do all threads give the results that it would. */
static uint64_t float_control_get(void)
{
#if defined(__SSE__)
    return __builtin_ia32_stmxcsr() & ~0x3Fu;      /* without the flags of exceptions that have happened */
#elif defined(__aarch64__)
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
#else
    return 0;
#endif
}

static void float_control_set(uint64_t word)
{
    if (word == float_control_get())
        return;
#if defined(__SSE__)
    __builtin_ia32_ldmxcsr((unsigned)word);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(word));
#endif
}

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Waits until `word` is no longer `value`, but not longer than a wake-up would cost. */
static bool spin_while(const Pool *pool, _Atomic uint32_t *word, uint32_t value)
{
    if (!pool->spin_ns)
        return atomic_load(word) != value;
    int64_t end = now_ns() + pool->spin_ns;
    do {
        for (int i = 0; i < 16; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != value)
                return true;
            pause_briefly();
        }
        sched_yield();            /* this CPU may be the one on which the thread that is waited for wants to run */
    } while (now_ns() < end);
    return false;
}

/* ---- taking part in a job ---- */

static bool has_room(uint32_t inside)
{
    return inside & INSIDE_OPEN && (inside & INSIDE_COUNT) < INSIDE_LIMIT(inside);
}

/* The open slot that has room and the fewest threads, of those with fewer than `most`; NULL if there is none. */
static Slot *neediest(Pool *pool, uint32_t most)
{
    Slot *best = NULL;
    for (uint64_t used = atomic_load(&pool->used); used; used &= used - 1) {
        Slot *slot = &pool->slots[__builtin_ctzll(used)];
        uint32_t inside = atomic_load(&slot->inside);
        if (has_room(inside) && (inside & INSIDE_COUNT) < most) {
            best = slot;
            most = inside & INSIDE_COUNT;
        }
    }
    return best;
}

static bool join(Slot *slot)
{
    uint32_t inside = atomic_load(&slot->inside);
    while (has_room(inside))
        if (atomic_compare_exchange_weak(&slot->inside, &inside, inside + 1))
            return true;
    return false;
}

static void leave(Slot *slot)
{
    uint32_t before = atomic_fetch_sub(&slot->inside, 1);
    if (before & INSIDE_WAITED && (before & INSIDE_COUNT) == 1)
        futex_wake(&slot->inside, 1);
}

/* There is a free number: the limit lets no more in than there are, and a number is given back before its thread
 * leaves. */
static int worker_take(Slot *slot)
{
    for (int i = 0;; i = (i + 1) % (POOL_WORKERS_MAX / 64)) {
        uint64_t taken = atomic_load(&slot->workers[i]);
        while (~taken) {
            int bit = __builtin_ctzll(~taken);
            if (atomic_compare_exchange_weak(&slot->workers[i], &taken, taken | 1ull << bit))
                return i * 64 + bit;
        }
    }
}

static void worker_give(Slot *slot, int worker)
{
    atomic_fetch_and(&slot->workers[worker / 64], ~(1ull << worker % 64));
}

/* Another job has two threads fewer than this one. */
static bool is_crowded(Pool *pool, Slot *slot)
{
    uint32_t here = atomic_load(&slot->inside) & INSIDE_COUNT;
    return here > 1 && neediest(pool, here - 1);
}

/* Runs tasks until none is left; a thread of the pool (worker > 0) also leaves when a new job needs it more. */
static void work(Pool *pool, Slot *slot, int worker)
{
    uint32_t calls = atomic_load_explicit(&pool->calls, memory_order_relaxed);
    for (;;) {
        int64_t index = atomic_fetch_add_explicit(&slot->next, 1, memory_order_relaxed);
        if (index >= slot->tasks) {
            atomic_fetch_and(&slot->inside, ~INSIDE_OPEN);
            return;
        }
        slot->task(slot->argument, index, worker);
        if (slot->finished)
            atomic_fetch_add_explicit(slot->finished, 1, memory_order_relaxed);
        uint32_t calls_now = atomic_load_explicit(&pool->calls, memory_order_relaxed);
        if (worker && calls_now != calls) {
            calls = calls_now;
            if (is_crowded(pool, slot))
                return;
        }
    }
}

static void wake_some(Pool *pool)
{
    if (atomic_load(&pool->sleepers))
        futex_wake(&pool->calls, WAKE);
}

/* False when no job has room. */
static bool help(Pool *pool)
{
    Slot *slot = neediest(pool, UINT_MAX);
    if (!slot)
        return false;
    if (!join(slot))
        return true;
    int worker = worker_take(slot);
    if (neediest(pool, UINT_MAX))
        wake_some(pool);
    float_control_set(slot->float_control);
    work(pool, slot, worker);
    worker_give(slot, worker);
    leave(slot);
    return true;
}

static void *thread_main(void *argument)
{
    Thread *thread = argument;
    Pool *pool = thread->pool;
    atomic_store(&thread->self, pthread_self());
    for (;;) {
        uint32_t calls = atomic_load(&pool->calls);
        if (atomic_load(&pool->stop))
            return NULL;
        if (help(pool) || spin_while(pool, &pool->calls, calls))
            continue;
        /* Either the caller sees this sleeper, or the sleeper sees the caller's new number and does not sleep. */
        atomic_fetch_add(&pool->sleepers, 1);
        futex_wait(&pool->calls, calls);
        atomic_fetch_sub(&pool->sleepers, 1);
    }
}

/* ---- calls ---- */

/* With all signals blocked: the host's handlers run in the host's threads. Where fewer threads can be had than wanted,
 * these do. */
static void start_threads(Pool *pool)
{
    int expected = NOT_STARTED;
    if (!atomic_compare_exchange_strong(&pool->state, &expected, STARTING))
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (pool->started = 0; pool->started < pool->workers - 1; pool->started++) {
        Thread *thread = &pool->threads[pool->started];
        thread->pool = pool;
        if (pthread_create(&thread->handle, NULL, thread_main, thread))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&pool->state, STARTED);
}

/* In a forked child the pool's threads and the other callers are gone, and what they left in the slots is void. */
static void clear_after_fork(Pool *pool)
{
    int64_t here = getpid(), process = atomic_load(&pool->process);
    while (process != here) {
        if (process == -here) {
            sched_yield();
            process = atomic_load(&pool->process);
        } else if (atomic_compare_exchange_strong(&pool->process, &process, -here)) {
            memset(pool->slots, 0, sizeof pool->slots);
            memset(pool->threads, 0, (size_t)(pool->workers - 1) * sizeof(Thread));
            atomic_store(&pool->used, 0);
            atomic_store(&pool->sleepers, 0);
            atomic_store(&pool->state, NOT_STARTED);
            atomic_store(&pool->process, here);
            return;
        }
    }
}

/* True in a task of this pool: in one of its threads, or in a caller whose job is under way. */
static bool in_task(Pool *pool)
{
    pthread_t self = pthread_self();
    for (uint64_t used = atomic_load(&pool->used); used; used &= used - 1)
        if (atomic_load_explicit(&pool->slots[__builtin_ctzll(used)].caller, memory_order_relaxed) == self)
            return true;
    for (int i = 0; i < pool->workers - 1; i++)
        if (atomic_load_explicit(&pool->threads[i].self, memory_order_relaxed) == self)
            return true;
    return false;
}

static Slot *slot_take(Pool *pool)
{
    uint64_t used = atomic_load(&pool->used);
    while (~used) {
        int bit = __builtin_ctzll(~used);
        if (atomic_compare_exchange_weak(&pool->used, &used, used | 1ull << bit))
            return &pool->slots[bit];
    }
    return NULL;
}

static void slot_give(Pool *pool, Slot *slot)
{
    atomic_store(&slot->inside, 0);
    atomic_store(&slot->caller, 0);
    atomic_fetch_and(&pool->used, ~(1ull << (slot - pool->slots)));
}

static void slot_open(Slot *slot, int workers)
{
    for (int i = 0; i < POOL_WORKERS_MAX / 64; i++) {
        int below = workers - i * 64;          /* numbers from `workers` on count as taken */
        uint64_t taken = below >= 64 ? 0 : below <= 0 ? ~0ull : ~0ull << below;
        atomic_store_explicit(&slot->workers[i], taken | (i == 0), memory_order_relaxed);   /* 0 is the caller */
    }
    slot->float_control = float_control_get();
    atomic_store_explicit(&slot->next, 0, memory_order_relaxed);
    atomic_store(&slot->caller, pthread_self());
    atomic_store(&slot->inside, INSIDE_OPEN | (uint32_t)(workers - 1) << 12);
}

/* Closes the slot and waits until all have left. */
static void slot_finish(Pool *pool, Slot *slot)
{
    uint32_t inside = atomic_fetch_and(&slot->inside, ~INSIDE_OPEN) & ~INSIDE_OPEN;
    while (inside & INSIDE_COUNT) {
        if (!spin_while(pool, &slot->inside, inside)
            && atomic_compare_exchange_strong(&slot->inside, &inside, inside | INSIDE_WAITED))
            futex_wait(&slot->inside, inside | INSIDE_WAITED);
        inside = atomic_load(&slot->inside);
    }
}

static int run_alone(int64_t tasks, PoolTask *task, void *argument, _Atomic int64_t *finished)
{
    for (int64_t i = 0; i < tasks; i++) {
        task(argument, i, 0);
        if (finished)
            atomic_fetch_add_explicit(finished, 1, memory_order_relaxed);
    }
    return 0;
}

int pool_run_counted(Pool *pool, int max_workers, int64_t tasks, PoolTask *task, void *argument,
                     _Atomic int64_t *finished)
{
    int workers = max_workers <= 0 || max_workers > pool->workers ? pool->workers : max_workers;
    if (workers > tasks)
        workers = (int)tasks;
    if (workers <= 1)
        return run_alone(tasks, task, argument, finished);
    clear_after_fork(pool);
    Slot *slot = in_task(pool) ? NULL : slot_take(pool);
    if (!slot)
        return run_alone(tasks, task, argument, finished);
    slot->tasks = tasks;
    slot->task = task;
    slot->argument = argument;
    slot->finished = finished;
    slot_open(slot, workers);
    atomic_fetch_add(&pool->calls, 1);
    if (atomic_load(&pool->state) == NOT_STARTED)
        start_threads(pool);
    wake_some(pool);
    work(pool, slot, 0);
    slot_finish(pool, slot);
    slot_give(pool, slot);
    return 0;
}

int pool_run(Pool *pool, int max_workers, int64_t tasks, PoolTask *task, void *argument)
{
    return pool_run_counted(pool, max_workers, tasks, task, argument, NULL);
}

int pool_parallel_for(void *pool, int64_t tasks, PoolTask *task, void *argument)
{
    return pool_run(pool, 0, tasks, task, argument);
}

/* ---- making and freeing ---- */

int pool_workers(const Pool *pool)
{
    return pool->workers;
}

static void free_default(void *user, void *memory)
{
    (void)user;
    free(memory);
}

Pool *pool_new(int threads, void *(*alloc)(void *user, size_t bytes, size_t align),
               void (*free)(void *user, void *memory), void *user)
{
    int cpus = cpus_allowed(), workers = threads > 0 ? threads : cpus;
    if (workers > POOL_WORKERS_MAX)
        workers = POOL_WORKERS_MAX;
    size_t bytes = sizeof(Pool) + (size_t)(workers - 1) * sizeof(Thread);
    bytes = (bytes + LINE - 1) / LINE * LINE;
    Pool *pool = alloc ? alloc(user, bytes, LINE) : aligned_alloc(LINE, bytes);
    if (!pool)
        return NULL;
    memset(pool, 0, bytes);
    pool->workers = workers;
    pool->spin_ns = workers > cpus ? 0 : SPIN_NS;   /* a thread that spins would keep one with work from its CPU */
    pool->free = alloc ? free : free_default;
    pool->user = user;
    atomic_store(&pool->process, getpid());
    return pool;
}

void pool_free(Pool *pool)
{
    if (!pool)
        return;
    if (atomic_load(&pool->process) == getpid()) {
        atomic_store(&pool->stop, true);
        atomic_fetch_add(&pool->calls, 1);
        futex_wake(&pool->calls, INT_MAX);
        for (int i = 0; i < pool->started && atomic_load(&pool->state) == STARTED; i++)
            pthread_join(pool->threads[i].handle, NULL);
    }
    if (pool->free)
        pool->free(pool->user, pool);
}
