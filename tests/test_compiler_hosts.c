/* The C compiler run by hosts with habits: signals, closed descriptors, threads. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "compiler_testing.h"

/* Runs `body` in a child and returns what it returned. */
static int in_host(int (*body)(const Compiler *compiler))
{
    Compiler *compiler = find();
    int status = -1;
    pid_t child = fork();
    if (!child) {
        setpgid(0, 0);
        _exit(body(compiler));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    compiler_free(compiler);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static int compile_twice(const Compiler *compiler)
{
    if (compile(compiler, seven, in_scratch("a.so")))
        return 1;
    if (compile(compiler, "int f(void) { return undeclared_name; }", in_scratch("b.so")) != EINC_FAILED)
        return 2;
    return !strstr(error, "undeclared_name") ? 3 : exists(in_scratch("b.so")) ? 4 : 0;
}

static int without_descriptors(const Compiler *compiler)
{
    close(0);
    close(1);
    close(2);
    Compiler *again;
    if (compiler_find(&again, error, sizeof error) || compiler_identify(again, NULL, error, sizeof error))
        return 10;
    compiler_free(again);
    return compile_twice(compiler);
}

/* What a compiler sees of the signals that the host ignores and blocks: nothing, of those that it may need. */
static int show_signals(void)
{
    unsigned long long blocked = 1, ignored = ~0ull;
    char status[4096];
    Compiler *shows = find_named(in_scratch("shows"));
    compile(shows, seven, in_scratch("c.so"));
    compiler_free(shows);
    read_file(in_scratch("status"), status, sizeof status);
    sscanf(strstr(status, "SigBlk:"), "SigBlk: %llx", &blocked);
    sscanf(strstr(status, "SigIgn:"), "SigIgn: %llx", &ignored);
    return blocked ? 20 : ignored & (1ull << (SIGCHLD - 1) | 1ull << (SIGPIPE - 1)) ? 21 : 0;
}

static int ignoring_signals(const Compiler *compiler)
{
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    int fault = compile_twice(compiler);
    return fault ? fault : show_signals();
}

static int blocking_signals(const Compiler *compiler)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int fault = compile_twice(compiler);
    return fault ? fault : show_signals();
}

static volatile sig_atomic_t alarms;

static void on_signal(int number)
{
    (void)number;
    alarms++;
}

/* A handler without SA_RESTART, run all the time: every system call is interrupted now and then. */
static int interrupted(const Compiler *compiler)
{
    struct sigaction action = { .sa_handler = on_signal };
    struct itimerval often = { { .tv_usec = 700 }, { .tv_usec = 700 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 5; i++) {
        int fault = compile_twice(compiler);
        if (fault)
            return fault;
    }
    return alarms < 10 ? 5 : waitpid(-1, NULL, WNOHANG) != -1 ? 6 : 0;
}

/* Ctrl-C reaches the compiler and a host that handles it: the call fails, and no zombie is left. */
static int stopped(const Compiler *compiler)
{
    struct sigaction action = { .sa_handler = on_signal };
    (void)compiler;
    sigaction(SIGINT, &action, NULL);
    Compiler *slow = find_named(in_scratch("slow"));
    if (compile(slow, seven, in_scratch("a.so")) != EINC_FAILED || !alarms)
        return 1;
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        return 2;
    compiler_free(slow);
    return 0;
}

static void test_hosts(void **state)
{
    (void)state;
    write_program("shows", "PATH=$P\ntest $1 = --version && echo shows && exit 0\n"
                           "exec cat /proc/self/status >$S/status");
    assert_int_equal(in_host(without_descriptors), 0);
    assert_int_equal(in_host(ignoring_signals), 0);
    assert_int_equal(in_host(blocking_signals), 0);
    assert_int_equal(in_host(interrupted), 0);
    write_program("slow", "PATH=$P\ntest $1 = --version && echo slow && exit 0\nkill -INT 0\nexec sleep 20");
    assert_int_equal(in_host(stopped), 0);
}

typedef struct Job {
    const Compiler *compiler;
    pthread_t thread;
    int number, status, value;
} Job;

static void *job_main(void *argument)
{
    Job *job = argument;
    char source[256], object[256], message[1024];
    for (int round = 0; round < 3 && !job->status; round++) {
        snprintf(source, sizeof source, "__attribute__((visibility(\"default\"))) int f(void) { return %d; }",
                 job->number);
        snprintf(object, sizeof object, "%s/%d-%d.so", scratch, job->number, round);
        job->status = compiler_run(job->compiler, "", source, strlen(source), object, message, sizeof message);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { JOBS = 12 };
    Job jobs[JOBS];
    Compiler *compiler = find();
    int before = open_files();
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (Job){ .compiler = compiler, .number = i };
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, job_main, &jobs[i]), 0);
    }
    for (int i = 0; i < JOBS; i++) {
        char name[32];
        pthread_join(jobs[i].thread, NULL);
        assert_int_equal(jobs[i].status, EINC_OK);
        snprintf(name, sizeof name, "%d-2.so", i);
        assert_int_equal(call(in_scratch(name), "f"), i);
    }
    assert_int_equal(open_files(), before);
    assert_no_children();
    compiler_free(compiler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hosts),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
