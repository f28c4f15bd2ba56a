/* The kernel cache used by many processes and threads at once, some of which are killed. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "cache_testing.h"

typedef struct Shared {
    atomic_int ready, wrong, done;
    atomic_bool go;
} Shared;

static Shared *shared_new(void)
{
    return mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void test_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 64 };
    for (int round = 0; round < 3; round++) {
        Shared *shared = shared_new();
        Build user = { .number = 1, .pause_ns = round * 1000000 };
        Cache *cache = cache_open(directory);
        for (int i = 0; i < PROCESSES; i++)
            if (!fork()) {
                atomic_fetch_add(&shared->ready, 1);
                while (!atomic_load(&shared->go))
                    sched_yield();
                int value = load_or_build(cache, &user, round ? build : build_by_compiler);
                atomic_fetch_add(value == 1 ? &shared->done : &shared->wrong, 1);
                _exit(0);
            }
        while (atomic_load(&shared->ready) < PROCESSES)
            sched_yield();
        atomic_store(&shared->go, true);
        while (wait(NULL) > 0)
            ;
        assert_int_equal(shared->done, PROCESSES);
        assert_int_equal(files_in(directory), 1);
        assert_int_equal(files_in(getenv("TMPDIR")), 0);
        assert_int_equal(load(cache, 1), 1);
        assert_int_equal(cache_clear(cache), 1);
        cache_close(cache);
        munmap(shared, sizeof *shared);
    }
}

typedef struct Worker {
    const Cache *cache;
    pthread_t thread;
    int number, faults;
} Worker;

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    for (int round = 0; round < 40; round++) {
        Build user = { .number = (worker->number + round) % OBJECTS };
        worker->faults += load_or_build(worker->cache, &user, build) != user.number;
        if (round % 10 == worker->number % 10)
            cache_clear(worker->cache);
    }
    return NULL;
}

/* Threads of one process, while entries are being removed too. */
static void test_threads(void **state)
{
    (void)state;
    enum { THREADS = 16 };
    Worker workers[THREADS];
    Cache *cache = cache_open(directory);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){ .cache = cache, .number = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].faults, 0);
    }
    assert_in_range(files_in(directory), 0, OBJECTS);
    cache_close(cache);
}

/* ---- killed ---- */

static void use_until_killed(const Cache *cache, Shared *shared)
{
    for (unsigned i = (unsigned)getpid();; i = i * 1103515245 + 12345) {
        Build user = { .number = (int)(i >> 16) % OBJECTS, .pause_ns = (int)(i >> 20) % 200000 };
        int value = load_or_build(cache, &user, build);
        atomic_fetch_add(value == user.number ? &shared->done : &shared->wrong, 1);
        if ((i >> 18) % 4 == 0)
            unlink(entry_path(user.number, ".so"));
    }
}

static int make_all_stale(void)
{
    int count = 0;
    DIR *list = opendir(directory);
    for (struct dirent *entry; (entry = readdir(list));)
        if (!strncmp(entry->d_name, ".tmp-", 5)) {
            char path[512];
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            make_old(path, STALE);
            count++;
        }
    closedir(list);
    return count;
}

/* Processes are killed at whatever they are doing; no object is ever wrong, and what they leave goes away. */
static void test_killed(void **state)
{
    (void)state;
    enum { ROUNDS = 150, PROCESSES = 4 };
    Shared *shared = shared_new();
    Cache *cache = cache_open(directory);
    int left = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[PROCESSES];
        for (int i = 0; i < PROCESSES; i++)
            if (!(children[i] = fork()))
                use_until_killed(cache, shared);
        for (int i = 0; i < PROCESSES; i++) {
            nanosleep(&(struct timespec){ .tv_nsec = 100000 + rand() % 3000000 }, NULL);
            kill(children[i], SIGKILL);
        }
        while (wait(NULL) > 0)
            ;
        for (int i = 0; i < OBJECTS; i++) {
            int value = load(cache, i);
            assert_true(value == i || value == -1);
        }
        left = left > files_in(directory) ? left : files_in(directory);
    }
    assert_int_equal(shared->wrong, 0);
    assert_true(shared->done > ROUNDS);
    int stale = make_all_stale();
    print_message("%d objects used, %d temporary directories left by %d killed processes\n", shared->done, stale,
                  ROUNDS * PROCESSES);
    assert_true(stale > 0);          /* or nobody was killed in the middle */
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(store(cache, i), i);
    assert_int_equal(files_in(directory), OBJECTS);
    cache_close(cache);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_processes),
        TEST(test_threads),
        TEST(test_killed),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
