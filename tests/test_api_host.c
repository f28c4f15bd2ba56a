/* The C API's host: its memory, threads, cancellation and messages; the workspace; many threads at once. */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "api.h"

enum { ROWS = 512, COLUMNS = 600 };    /* large enough to be worth several tasks */

/* A kernel with a workspace: the softmax of rows, then of columns. */
static const char *const with_workspace = "ij -> ij | softmax j | softmax i";

static float x[ROWS * COLUMNS], y[ROWS * COLUMNS], z[ROWS * COLUMNS];
static int64_t shape[] = { ROWS, COLUMNS };

static int call(const einc_kernel *k, float *out, const einc_call_options *options)
{
    DLTensor in = einc_tensor(x, "f32", 2, shape), to = einc_tensor(out, "f32", 2, shape);
    return einc_call(k, (const DLTensor *[]){ &in }, 1, (DLTensor *[]){ &to }, 1, options);
}

static size_t workspace_of(const einc_kernel *k, int workers)
{
    DLTensor in = einc_tensor(NULL, "f32", 2, shape);
    size_t bytes = 0;
    assert_int_equal(einc_workspace(k, (const DLTensor *[]){ &in }, 1, workers, &bytes), EINC_OK);
    return bytes;
}

/* ---- memory ---- */

typedef struct Memory {
    atomic_int blocks, calls;
    int fail_at;                  /* the call that gets nothing; -1: none */
} Memory;

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    Memory *memory = user;
    assert_true(align && !(align & (align - 1)));
    if (memory->calls++ == memory->fail_at)
        return NULL;
    memory->blocks++;
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *block)
{
    ((Memory *)user)->blocks--;
    free(block);
}

static void test_allocator(void **state)
{
    (void)state;
    Memory memory = { .fail_at = -1 };
    einc_host host = { .alloc = counted_alloc, .free = counted_free, .user = &memory };
    einc_context *context = einc_context_new(&host);
    einc_kernel *k = einc_compile(context, with_workspace, NULL);
    assert_non_null(k);
    assert_int_equal(call(k, y, NULL), EINC_OK);
    int before = memory.calls, held = memory.blocks;
    assert_true(before > 0 && held > 0);
    assert_int_equal(call(k, y, NULL), EINC_OK);
    assert_int_equal(memory.calls, before + 1);    /* the workspace, from the host and given back */
    assert_int_equal(memory.blocks, held);
    einc_kernel_free(k);
    einc_context_free(context);
    assert_int_equal(memory.blocks, 0);
    host.free = NULL;
    assert_null(einc_context_new(&host));
}

/* Each allocation fails once: that is an error, and nothing is lost. */
static void test_no_memory(void **state)
{
    (void)state;
    int failures = 0;
    for (int at = 0;; at++) {
        Memory memory = { .fail_at = at };
        einc_host host = { .alloc = counted_alloc, .free = counted_free, .user = &memory };
        einc_context *context = einc_context_new(&host);
        einc_kernel *k = context ? einc_compile(context, with_workspace, NULL) : NULL;
        int status = k ? call(k, y, NULL) : EINC_FAILED;
        if (context && status)
            assert_non_null(strstr(einc_error(context), "memory"));
        einc_kernel_free(k);
        einc_context_free(context);
        assert_int_equal(memory.blocks, 0);
        failures += status != EINC_OK;
        if (memory.calls <= at)
            break;
    }
    assert_true(failures > 3);
}

static void test_workspace(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *k = einc_compile(context, with_workspace, NULL);
    size_t bytes = workspace_of(k, 1);
    assert_true(bytes > 0 && workspace_of(k, 4) >= bytes);
    char *memory = aligned_alloc(64, bytes / 64 * 64 + 128);
    memset(memory, 0xA5, bytes / 64 * 64 + 128);
    einc_call_options options = { .workspace = memory, .workspace_bytes = bytes, .workers = 1 };
    assert_int_equal(call(k, y, NULL), EINC_OK);
    assert_int_equal(call(k, z, &options), EINC_OK);
    assert_memory_equal(y, z, sizeof y);
    for (size_t i = bytes; i < bytes / 64 * 64 + 128; i++)
        assert_int_equal((unsigned char)memory[i], 0xA5);
    memset(z, 0, sizeof z);
    options.workspace_bytes = bytes - 1;
    assert_int_equal(call(k, z, &options), EINC_BUDGET);
    options.workspace_bytes = bytes;
    options.workspace = memory + 4;
    assert_int_equal(call(k, z, &options), EINC_USAGE);
    assert_non_null(strstr(einc_error(context), "aligned"));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        assert_true(z[i] == 0);
    free(memory);
    einc_kernel_free(k);
    einc_context_free(context);
}

/* The smallest budget that the message names can be met; one byte less cannot. */
static void test_budget(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_options options = { .memory = 1 };
    einc_kernel *k = einc_compile(context, with_workspace, &options);
    if (k)
        assert_int_equal(call(k, y, NULL), EINC_BUDGET);
    const char *said = strstr(einc_error(context), "smallest");
    assert_non_null(said);
    long long least = 0;
    for (said += strcspn(said, "0123456789"); *said >= '0' && *said <= '9'; said++)
        least = 10 * least + *said - '0';
    einc_kernel_free(k);
    options.memory = UINT64_MAX;
    k = einc_compile(context, with_workspace, &options);
    assert_true(k && call(k, y, NULL) == EINC_OK);
    einc_kernel_free(k);
    for (int less = 0; less < 2; less++) {
        options.memory = (uint64_t)(least - less);
        k = einc_compile(context, with_workspace, &options);
        assert_true(less ? !k || call(k, y, NULL) == EINC_BUDGET : k && call(k, y, NULL) == EINC_OK);
        if (!less)
            assert_true((long long)workspace_of(k, 1) <= least);
        einc_kernel_free(k);
    }
    einc_context_free(context);
}

/* ---- threads of the host ---- */

typedef struct Threads {
    int workers, calls;
    atomic_int busy[16];
    atomic_int largest, tasks;
    int result;
} Threads;

typedef struct Part {
    Threads *threads;
    int worker;
    int64_t tasks;
    _Atomic int64_t *next;
    void (*task)(void *argument, int64_t index, int worker);
    void *argument;
    pthread_t thread;
} Part;

static void *run_part(void *argument)
{
    Part *part = argument;
    for (int64_t i; (i = (*part->next)++) < part->tasks;)
        part->task(part->argument, i, part->worker);
    return NULL;
}

/* Backwards, on as many threads as the host has, whatever the kernel could use. */
static int parallel_for(void *user, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument)
{
    Threads *threads = user;
    Part parts[16];
    _Atomic int64_t next = 0;
    threads->calls++;
    threads->tasks += (int)tasks;
    for (int w = 0; w < threads->workers; w++) {
        parts[w] = (Part){ threads, threads->workers - 1 - w, tasks, &next, task, argument, 0 };
        pthread_create(&parts[w].thread, NULL, run_part, &parts[w]);
    }
    for (int w = 0; w < threads->workers; w++)
        pthread_join(parts[w].thread, NULL);
    return threads->result;
}

static void test_parallel_for(void **state)
{
    (void)state;
    Threads threads = { .workers = 7 };
    einc_host host = { .parallel_for = parallel_for, .workers = threads.workers, .user = &threads };
    einc_context *plain = einc_context_new(NULL), *context = einc_context_new(&host);
    einc_context_set_threads(plain, 1);
    einc_kernel *one = einc_compile(plain, with_workspace, NULL), *k = einc_compile(context, with_workspace, NULL);
    assert_int_equal(call(one, y, NULL), EINC_OK);
    assert_int_equal(call(k, z, NULL), EINC_OK);
    assert_memory_equal(y, z, sizeof y);    /* no result depends on the threads */
    assert_true(threads.calls > 0 && threads.tasks > 1);
    /* Fewer workers than the host has: their workspace is enough, whatever the host's threads are called. */
    for (int workers = 1; workers <= 7; workers++) {
        size_t bytes = workspace_of(k, workers);
        char *memory = aligned_alloc(64, bytes / 64 * 64 + 128);
        memset(memory, 0xA5, bytes / 64 * 64 + 128);
        memset(z, 0, sizeof z);
        einc_call_options options = { .workspace = memory, .workspace_bytes = bytes, .workers = workers };
        assert_int_equal(call(k, z, &options), EINC_OK);
        assert_memory_equal(y, z, sizeof y);
        for (size_t i = bytes; i < bytes / 64 * 64 + 128; i++)
            assert_int_equal((unsigned char)memory[i], 0xA5);
        free(memory);
    }
    static const int results[] = { 42, EINC_CANCELLED, -EINC_EXPRESSION, -20 };    /* kernels have such numbers, too */
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        char said[80];
        threads.result = results[i];
        assert_int_equal(call(k, z, NULL), EINC_FAILED);
        snprintf(said, sizeof said, "error: the host's parallel_for gave %d\n", results[i]);
        assert_string_equal(einc_error(context), said);
    }
    einc_kernel_free(one);
    einc_kernel_free(k);
    einc_context_free(plain);
    einc_context_free(context);
}

/* ---- cancellation, messages and progress ---- */

typedef struct Host {
    atomic_int asked;
    int until;                    /* says yes from this question on */
    int code, errors;
    char message[1000];
} Host;

static int cancelled(void *user)
{
    Host *host = user;
    return ++host->asked > host->until;
}

static void note_error(void *user, int code, const char *message)
{
    Host *host = user;
    host->errors++;
    host->code = code;
    snprintf(host->message, sizeof host->message, "%s", message);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_cancellation(void **state)
{
    (void)state;
    Host user = { .until = 3 };
    einc_host host = { .cancelled = cancelled, .error = note_error, .user = &user };
    einc_context *context = einc_context_new(&host);
    /* A minute's work, of which one unit in a hundred is done. */
    einc_kernel *k = einc_compile(context, "sqrt(x[i,j] ^ 2 + @k) -> [i,j]", &(einc_options){ .extents = "k=1000000" });
    assert_non_null(k);
    double begin = seconds_now();
    assert_int_equal(call(k, y, NULL), EINC_CANCELLED);
    assert_true(seconds_now() - begin < 30);
    assert_true(user.errors == 1 && user.code == EINC_CANCELLED && strstr(user.message, "cancelled"));
    einc_kernel_free(k);
    user.until = 1 << 30;
    k = einc_compile(context, with_workspace, NULL);
    assert_int_equal(call(k, y, NULL), EINC_OK);
    einc_kernel_free(k);
    einc_context_free(context);
}

static void test_messages(void **state)
{
    (void)state;
    Host user = { .until = 1 << 30 };
    einc_host host = { .error = note_error, .user = &user };
    einc_context *context = einc_context_new(&host);
    assert_null(einc_compile(context, "ij,jk->iz", NULL));
    assert_true(user.errors == 1 && user.code == EINC_EXPRESSION);
    assert_string_equal(user.message, einc_error(context));
    assert_non_null(strstr(user.message, "\nij,jk->iz\n        ^\n"));
    assert_null(einc_compile(context, "ij->i", &(einc_options){ .target = "none" }));
    assert_true(user.errors == 2 && user.code == EINC_USAGE);
    einc_context_free(context);
}

/* A better plan for the strides of a call is made if it can be. That it cannot is no failure of the call's. */
static void test_no_better_plan(void **state)
{
    (void)state;
    char script[200], broken[200];
    const char *folder = getenv("EINC_CACHE_DIR"), *compiler = getenv("CC");
    char *before = compiler ? strdup(compiler) : NULL;
    snprintf(script, sizeof script, "%s/some-cc", folder);
    snprintf(broken, sizeof broken, "%s/broken", folder);
    FILE *file = fopen(script, "w");
    fprintf(file, "#!/bin/sh\nif [ -e %s ]; then exit 1; fi\nexec %s \"$@\"\n", broken, before ? before : "cc");
    fclose(file);
    assert_int_equal(chmod(script, 0700), 0);
    setenv("CC", script, 1);
    Host user = { 0 };
    einc_host host = { .error = note_error, .user = &user };
    einc_context *context = einc_context_new(&host);
    einc_kernel *k = einc_compile(context, "ij | _ * 3", NULL);
    assert_non_null(k);
    assert_null(einc_compile(context, "ij->iz", NULL));
    fclose(fopen(broken, "w"));
    DLTensor in = einc_tensor(x, "f32", 2, shape), out = einc_tensor(y, "f32", 2, shape);
    in.strides = (int64_t[]){ 1, ROWS };
    assert_int_equal(einc_call(k, (const DLTensor *[]){ &in }, 1, (DLTensor *[]){ &out }, 1, NULL), EINC_OK);
    assert_near(y[1], 3 * x[ROWS]);
    assert_int_equal(user.errors, 1);
    assert_string_equal(einc_error(context), user.message);    /* the last failure is still the last */
    assert_null(einc_compile(context, "ij | _ * 4", NULL));
    assert_int_equal(user.errors, 2);
    einc_kernel_free(k);
    einc_context_free(context);
    unlink(broken);
    if (before)
        setenv("CC", before, 1);
    else
        unsetenv("CC");
    free(before);
}

static atomic_int told, wrong;
static _Atomic double last;

static void note_progress(void *user, double done)
{
    assert_ptr_equal(user, &told);
    told++;
    wrong += !(done >= 0 && done <= 1);
    last = done;
}

static void test_progress(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_options options = { .extents = "k=40000" };    /* some 0.2 s at the least */
    einc_kernel *k = einc_compile(context, "sqrt(x[i,j] ^ 2 + @k) -> [i,j]", &options);
    einc_call_options how = { .progress = note_progress, .user = &told };
    assert_int_equal(call(k, y, &how), EINC_OK);
    assert_true(told >= 1 && !wrong && last > 0);
    einc_kernel_free(k);
    einc_context_free(context);
}

/* ---- many threads ---- */

enum { THREADS = 16, TURNS = 200 };

typedef struct User {
    pthread_t thread;
    einc_context *context;
    const einc_kernel *kernel;
    int number, wrong;
} User;

static void *use(void *argument)
{
    User *user = argument;
    float in[12], out[4], mine[16];
    char wrong[20];
    int64_t matrix[] = { 3, 4 }, row[] = { 4 };
    fill(in, 12, (unsigned)user->number);
    snprintf(wrong, sizeof wrong, "ij->%c", 'k' + user->number);
    for (int turn = 0; turn < TURNS; turn++) {
        DLTensor a = einc_tensor(in, "f32", 2, matrix), b = einc_tensor(out, "f32", 1, row);
        user->wrong += einc_call(user->kernel, (const DLTensor *[]){ &a }, 1, (DLTensor *[]){ &b }, 1, NULL) != EINC_OK;
        for (int j = 0; j < 4; j++)
            user->wrong += fabsf(out[j] - in[j] - in[4 + j] - in[8 + j]) > 1e-5f;
        if (turn % 50)
            continue;
        /* everybody compiles the same, and fails on his own */
        einc_kernel *k = einc_compile(user->context, "ij,jk->ik", NULL);
        DLTensor i = einc_tensor(in, "f32", 2, (int64_t[]){ 4, 3 }), o = einc_tensor(mine, "f32", 2, (int64_t[]){ 4, 4 });
        user->wrong += !k || einc_call(k, (const DLTensor *[]){ &i, &a }, 2, (DLTensor *[]){ &o }, 1, NULL) != EINC_OK;
        einc_kernel_free(k);
        user->wrong += einc_compile(user->context, wrong, NULL) != NULL || !strstr(einc_error(user->context), wrong);
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *k = einc_compile(context, "ij->j", NULL);
    User users[THREADS];
    assert_non_null(k);
    for (int i = 0; i < THREADS; i++) {
        users[i] = (User){ .context = context, .kernel = k, .number = i };
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].wrong, 0);
    }
    einc_kernel_free(k);
    einc_context_free(context);
}

static int begin(void **state)
{
    fill(x, ROWS * COLUMNS, 5);
    return api_begin(state);
}

/* ---- vectors ---- */

/* Whether the upper halves of vectors are in use: then code for SSE, as in the C library, may be slow. */
static int upper_halves_in_use(void)
{
#ifdef __x86_64__
    unsigned a = 0, b, c = 0, d, low = 0, high = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) && c >> 27 & 1 && __get_cpuid_count(13, 1, &a, &b, &c, &d) && a >> 2 & 1)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & (1 << 2 | 1 << 6)) != 0;
#else
    return 0;
#endif
}

static void test_vectors_are_left_clean(void **state)
{
    (void)state;
    einc_context *context = einc_context_new(NULL);
    static const struct { const char *text, *dtype; int operands, rank; } rows[] = {
        { "ij:c64 | abs", "c64", 1, 2 }, { "ij | exp | sum j", "f32", 1, 1 }, { "ij,kj -> ik | max k", "f32", 2, 1 },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        einc_kernel *k = einc_compile(context, rows[r].text, NULL);
        assert_non_null(k);
        int64_t small[] = { 8, 300 };
        DLTensor a = einc_tensor(x, rows[r].dtype, 2, small), b = einc_tensor(y, rows[r].dtype, 2, small);
        DLTensor out = einc_tensor(z, "f32", rows[r].rank, small);
        einc_call_options alone = { .workers = 1 };
        assert_int_equal(einc_call(k, (const DLTensor *[]){ &a, &b }, rows[r].operands, (DLTensor *[]){ &out }, 1, &alone), EINC_OK);
        assert_false(upper_halves_in_use());
        einc_kernel_free(k);
    }
    einc_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_are_left_clean), cmocka_unit_test(test_allocator), cmocka_unit_test(test_no_memory), cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_budget), cmocka_unit_test(test_parallel_for), cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_messages), cmocka_unit_test(test_no_better_plan), cmocka_unit_test(test_progress), cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, begin, api_end);
}
