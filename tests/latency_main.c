/* How long einc takes between a string and a result, beside what the C compiler takes for an empty file; the best of many
 * turns, as others may use the machine. For check_latency.sh: prints milliseconds (of the processor for what
 * the compiler does, of the clock for the rest), and exits with 1 above a limit.
 *
 *     latency_main CC FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "einc.h"

/* Milliseconds of a new kernel and of one from the disk. What optimisation takes depends on how much of a kernel is
 * unrolled; what is above its goal on this machine, now, is said, and what is above the limit is a fault anywhere. */
enum { COLD_GOAL = 150, COLD_LIMIT = 450, WARM_GOAL = 2, WARM_LIMIT = 5 };

enum { COLD_TURNS = 9, WARM_TURNS = 50, CALLS = 100000, CALL_TURNS = 10 };

static const char *const expressions[] = { "i->", "ij,jk->ik", "ijk,mnk->ijmn | max n | sum j" };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* The processor's time of this process and of all that it has run, which does not count what others use. */
static double used(void)
{
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    struct timeval parts[] = { own.ru_utime, own.ru_stime, children.ru_utime, children.ru_stime };
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += 1e3 * (double)parts[i].tv_sec + 1e-3 * (double)parts[i].tv_usec;
    return sum;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* What any compilation costs: an empty file to a shared object, in a process of its own. */
static double empty_compile(const char *cc)
{
    double best = 1e9;
    for (int turn = 0; turn < COLD_TURNS; turn++) {
        double begin = used();
        pid_t child = fork();
        if (!child) {
            execlp(cc, cc, "-O2", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", "empty.so", (char *)NULL);
            _exit(1);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status)
            return -1;
        best = least(best, used() - begin);
    }
    return best;
}

static einc_kernel *compile(einc_context *context, const char *text)
{
    einc_kernel *kernel = einc_compile(context, text, NULL);
    if (!kernel) {
        fputs(einc_error(context), stderr);
        exit(1);
    }
    return kernel;
}

/* A kernel that no cache knows: each turn has another name, which is part of the text. */
static double cold_compile(const char *text)
{
    double best = 1e9;
    for (int turn = 0; turn < COLD_TURNS; turn++) {
        einc_context *context = einc_context_new(NULL);
        char name[20];
        snprintf(name, sizeof name, "kernel_%d", turn);
        einc_options options = { .name = name };
        double begin = used();
        einc_kernel *kernel = einc_compile(context, text, &options);
        best = least(best, used() - begin);
        if (!kernel) {
            fputs(einc_error(context), stderr);
            exit(1);
        }
        einc_kernel_free(kernel);
        einc_context_free(context);
    }
    return best;
}

/* From the disk: a new context each time, as a new process has. */
static double warm_compile(void)
{
    double best = 1e9;
    for (int turn = -1; turn < WARM_TURNS; turn++) {
        einc_context *context = einc_context_new(NULL);
        double begin = now();
        einc_kernel *kernel = compile(context, expressions[2]);
        best = turn < 0 ? best : least(best, now() - begin);
        einc_kernel_free(kernel);
        einc_context_free(context);
    }
    return best;
}

static double one_call(void)
{
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = compile(context, "i,i->");
    float x[4] = { 1, 2, 3, 4 }, sum = 0;
    int64_t shape[] = { 4 };
    DLTensor in = einc_tensor(x, "f32", 1, shape), out = einc_tensor(&sum, "f32", 0, NULL), *outputs[] = { &out };
    const DLTensor *inputs[] = { &in, &in };
    double best = 1e9;
    for (int turn = 0; turn < CALL_TURNS; turn++) {
        double begin = now();
        for (int call = 0; call < CALLS; call++)
            if (einc_call(kernel, inputs, 2, outputs, 1, NULL))
                return -1;
        best = least(best, (now() - begin) / CALLS);
    }
    einc_kernel_free(kernel);
    einc_context_free(context);
    return sum == 30 ? best : -1;
}

/* Above the goal is said, above the limit fails. */
static int report(const char *what, double milliseconds, double goal, double limit)
{
    printf("%-40s %9.4f ms, the goal is %g ms%s\n", what, milliseconds, goal,
           milliseconds > limit ? ": FAILED" : milliseconds > goal ? ": missed" : "");
    return milliseconds > limit || milliseconds < 0;
}

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[2]))
        return 2;
    double empty = empty_compile(argv[1]);
    printf("%-40s %9.1f ms\n", "an empty file, compiled", empty);
    int failed = 0;
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
        failed |= report(expressions[i], cold_compile(expressions[i]) - empty, COLD_GOAL, COLD_LIMIT);
    failed |= report("warm: string to kernel, from the disk", warm_compile(), WARM_GOAL, WARM_LIMIT);
    failed |= report("a call of a kernel in memory", one_call(), 1e-3, 1e-3);
    return failed || empty < 0;
}
