/* Tensors on GPUs in the C API: cuda_main [TEST...] runs all tests, or some, on the devices that libcuda finds, which are real
 * ones or tests/cuda_standin.c's; the expected numbers are those of kernels for the CPU. Says what is wrong and ends with 1;
 * 77 without a device. Run by tests/check_cuda_run.py and `make gpu`. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"
#include "einc.h"

enum { ELEMENTS = 2048, TENSORS = 4, AXES = 4, DEVICES_MAX = 8, THREADS = 6, SKIPPED = 77 };

/* What the tests alone need of the driver. */
#define TEST_FUNCTIONS(X)                                                                                                      \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                                                        \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                                                    \
    X(capture_begin, "cuStreamBeginCapture_v2", (void *stream, int mode))                                                      \
    X(capture_end, "cuStreamEndCapture", (void *stream, void **graph))                                                         \
    X(graph_make, "cuGraphInstantiateWithFlags", (void **made, void *graph, unsigned long long flags))                         \
    X(graph_launch, "cuGraphLaunch", (void *made, void *stream))                                                               \
    X(graph_free, "cuGraphExecDestroy", (void *made))                                                                          \
    X(graph_destroy, "cuGraphDestroy", (void *graph))

static struct {
    TEST_FUNCTIONS(CUDA_MEMBER)
} more;
static CudaDriver driver;
static int devices;
static void *contexts[DEVICES_MAX];
static _Atomic int wrong, expected;

static bool expect(bool holds, const char *format, ...)
{
    va_list arguments;
    expected++;
    if (holds)
        return true;
    va_start(arguments, format);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    wrong++;
    return false;
}

static void must(int error, const char *what)
{
    if (error) {
        printf("%s: error %d\n", what, error);
        exit(1);
    }
}

/* ---- tensors on both sides ---- */

/* A tensor over ELEMENTS numbers, the first somewhere among them. */
typedef struct Both {
    char host[8 * ELEMENTS];
    CudaAddress device;
    int64_t shape[AXES], stride[AXES];
    DLTensor on_host, on_device;
} Both;

static size_t bytes_of(const Both *both)
{
    return (size_t)both->on_host.dtype.bits / 8 * ELEMENTS;
}

/* Numbers between -1 and 1, of integers those below 5, and strides that are not C's: `kind` says how they are mixed up. */
static void make(Both *both, int device, const char *dtype, const char *shape, int kind)
{
    int rank = 0;
    memset(both, 0, sizeof *both);
    for (const char *at = shape; *at; at += *at == ',')
        both->shape[rank++] = strtoll(at, (char **)&at, 10);
    DLTensor *t = &both->on_host;
    *t = einc_tensor(both->host, dtype, rank, both->shape);
    for (int i = 0; i < ELEMENTS; i++)
        if (dtype[0] == 'i')
            ((int64_t *)both->host)[i] = i * 7 % 5;
        else
            ((float *)both->host)[i] = (float)((i * 7919 + kind * 31) % 2003) / 1001.5f - 1;
    int64_t stride = kind % 3 == 2 ? 2 : 1;
    for (int k = 0; k < rank; k++) {
        int a = kind % 2 ? k : rank - 1 - k;             /* Fortran's order, or C's */
        both->stride[a] = kind % 5 == 3 ? -stride : stride;
        stride *= both->shape[a];
    }
    t->strides = both->stride;
    t->byte_offset = (uint64_t)t->dtype.bits / 8 * (kind % 5 == 3 ? ELEMENTS - 1 : kind % 4);
    must(driver.alloc(&both->device, bytes_of(both)), "memory of the device");
    both->on_device = *t;
    both->on_device.data = (void *)(uintptr_t)both->device;
    both->on_device.device = (DLDevice){ kDLCUDA, device };
}

static void send(const Both *both, void *stream)
{
    must(driver.copy_in(both->device, both->host, bytes_of(both), stream), "a copy to the device");
}

static void forget(Both *both)
{
    must(driver.free(both->device), "memory given back");
}

/* Whether the device has what the host has, where two kernels have written. */
static bool agrees(const Both *both, void *stream)
{
    static _Thread_local char there[8 * ELEMENTS];
    must(driver.copy_out(there, both->device, bytes_of(both), stream), "a copy from the device");
    must(driver.wait(stream), "the copy");
    for (int i = 0; i < ELEMENTS; i++) {
        if (both->on_host.dtype.code == kDLInt && ((int64_t *)there)[i] != ((const int64_t *)both->host)[i])
            return false;
        float a = ((float *)there)[i], b = ((const float *)both->host)[i];
        if (both->on_host.dtype.code == kDLFloat && !(fabsf(a - b) <= 1e-5f * (1 + fabsf(b))))
            return false;
    }
    return true;
}

/* ---- cases: an expression and its tensors, the outputs last ---- */

typedef struct Case {
    const char *expression;
    int inputs, outputs;
    const char *dtypes[TENSORS], *shapes[TENSORS];
    int kinds[TENSORS];
} Case;

static const Case cases[] = {
    { "ij,jk->ik", 2, 1, { "f32", "f32", "f32" }, { "5,17", "17,9", "5,9" }, { 0, 1, 2 } },
    { "ijk,mnk->ijmn | max n | sum j", 2, 1, { "f32", "f32", "f32" }, { "3,4,37", "5,6,37", "3,5" }, { 3, 4, 5 } },
    { "ij | softmax j", 1, 1, { "f32", "f32" }, { "7,100", "7,100" }, { 1, 3 } },
    { "ij | max j & argmax j", 1, 2, { "f32", "f32", "i64" }, { "7,100", "7", "7" }, { 6, 2, 0 } },
    { "W[y[t]:i64,h] -> [t]", 2, 1, { "f32", "i64", "f32" }, { "5,20", "30", "30" }, { 1, 0, 8 } },
};

enum { CASES = sizeof cases / sizeof *cases, PRODUCT = 0, SOFTMAX = 2, GATHER = 4 };

typedef struct Setting {
    const Case *of;
    einc_kernel *kernel;
    Both both[TENSORS];
    const DLTensor *in[TENSORS], *host_in[TENSORS];
    DLTensor *out[TENSORS], *host_out[TENSORS];
    void *stream;
    CudaAddress workspace;
    einc_call_options options;
} Setting;

static einc_kernel *compile(einc_context *context, const char *expression, const char *target)
{
    einc_kernel *kernel = einc_compile(context, expression, &(einc_options){ .target = target });
    if (!expect(kernel != NULL, "%s for %s: %s", expression, target ? target : "the CPU", einc_error(context)))
        exit(1);
    return kernel;
}

/* Tensors, a stream and a workspace on a device, whose context stays this thread's until tear_down(). */
static void set_up(Setting *s, const Case *of, einc_kernel *kernel, int device, bool workspace)
{
    size_t bytes = 0;
    memset(s, 0, sizeof *s);
    s->of = of;
    s->kernel = kernel;
    must(driver.context_push(contexts[device]), "the context");
    must(more.stream_create(&s->stream, 1), "a stream");
    for (int i = 0; i < of->inputs + of->outputs; i++) {
        make(&s->both[i], device, of->dtypes[i], of->shapes[i], of->kinds[i]);
        send(&s->both[i], s->stream);
        if (i < of->inputs) {
            s->in[i] = &s->both[i].on_device;
            s->host_in[i] = &s->both[i].on_host;
        } else {
            s->out[i - of->inputs] = &s->both[i].on_device;
            s->host_out[i - of->inputs] = &s->both[i].on_host;
        }
    }
    must(driver.wait(s->stream), "the tensors");
    s->options.stream = s->stream;
    if (workspace) {
        must(einc_workspace(kernel, s->in, of->inputs, 0, &bytes), "einc_workspace()");
        must(driver.alloc(&s->workspace, bytes ? bytes : 64), "a workspace");
        s->options.workspace = (void *)(uintptr_t)s->workspace;
        s->options.workspace_bytes = bytes;
    }
}

static void tear_down(Setting *s)
{
    for (int i = 0; i < s->of->inputs + s->of->outputs; i++)
        forget(&s->both[i]);
    if (s->workspace)
        must(driver.free(s->workspace), "the workspace");
    must(more.stream_destroy(s->stream), "the stream");
    must(driver.context_pop(&(void *){ NULL }), "the context");
}

static int call(Setting *s)
{
    return einc_call(s->kernel, s->in, s->of->inputs, s->out, s->of->outputs, &s->options);
}

/* The same on the CPU, into the host's side of the outputs. */
static void call_cpu(Setting *s, einc_kernel *kernel)
{
    must(einc_call(kernel, s->host_in, s->of->inputs, s->host_out, s->of->outputs, NULL), "on the CPU");
}

static void check_outputs(Setting *s, const char *what)
{
    for (int o = 0; o < s->of->outputs; o++)
        expect(agrees(&s->both[s->of->inputs + o], s->stream), "%s: '%s', output %d differs", what, s->of->expression, o + 1);
}

/* ---- tests ---- */

static void test_in_place(einc_context *context)
{
    static Setting s;
    for (int c = 0; c < CASES; c++) {
        einc_kernel *gpu = compile(context, cases[c].expression, "cuda"), *cpu = compile(context, cases[c].expression, NULL);
        for (int d = 0; d < devices; d++)
            for (int given = 0; given < 2; given++) {
                set_up(&s, &cases[c], gpu, d, given);
                int status = call(&s), waited = einc_wait(gpu, s.out[0]->device, &s.options);
                expect(!status && !waited, "'%s' gave %d, %d: %s", cases[c].expression, status, waited, einc_error(context));
                call_cpu(&s, cpu);
                check_outputs(&s, given ? "in place" : "without a workspace");
                tear_down(&s);
            }
        einc_kernel_free(gpu);
        einc_kernel_free(cpu);
    }
}

/* A graph is launched with other numbers than those that were there when it was made. */
static void test_graph(einc_context *context)
{
    static Setting s;
    for (int c = 0; c < CASES; c++) {
        einc_kernel *gpu = compile(context, cases[c].expression, "cuda"), *cpu = compile(context, cases[c].expression, NULL);
        void *graph, *made;
        set_up(&s, &cases[c], gpu, devices - 1, true);
        must(call(&s), "a first call");
        must(einc_wait(gpu, s.out[0]->device, &s.options), "it");
        must(more.capture_begin(s.stream, 0), "a capture");
        int status = call(&s);
        expect(!status, "captured: '%s' gave %d: %s", cases[c].expression, status, einc_error(context));
        must(more.capture_end(s.stream, &graph), "the capture's end");
        must(more.graph_make(&made, graph, 0), "a graph");
        for (int turn = 0; turn < 3; turn++) {
            for (int i = 0; i < ELEMENTS; i++)
                ((float *)s.both[0].host)[i] *= -1.5f;
            send(&s.both[0], s.stream);
            must(more.graph_launch(made, s.stream), "a graph's launch");
            call_cpu(&s, cpu);
            check_outputs(&s, "a graph");
        }
        must(more.graph_free(made), "the graph");
        must(more.graph_destroy(graph), "the graph");
        tear_down(&s);
        einc_kernel_free(gpu);
        einc_kernel_free(cpu);
    }
}

/* A kernel's first call on a device loads it there, which is no part of what is captured. */
static void test_graph_first(einc_context *context)
{
    static Setting s;
    einc_kernel *gpu = compile(context, cases[SOFTMAX].expression, "cuda"), *cpu = compile(context, cases[SOFTMAX].expression, NULL);
    void *graph = NULL, *made = NULL;
    set_up(&s, &cases[SOFTMAX], gpu, devices - 1, true);
    must(more.capture_begin(s.stream, 0), "a capture");
    int status = call(&s), ended = more.capture_end(s.stream, &graph);
    if (expect(!status && !ended, "a first call that is captured gave %d, %d: %s", status, ended, einc_error(context))) {
        must(more.graph_make(&made, graph, 0), "a graph");
        must(more.graph_launch(made, s.stream), "a graph's launch");
        call_cpu(&s, cpu);
        check_outputs(&s, "a graph of a first call");
        must(more.graph_free(made), "the graph");
        must(more.graph_destroy(graph), "the graph");
    }
    tear_down(&s);
    einc_kernel_free(gpu);
    einc_kernel_free(cpu);
}

/* More shapes than a kernel keeps what it knows of, and the same shape with other strides and addresses, in turn and again. */
static void test_many_shapes(einc_context *context)
{
    enum { SHAPES = 11, TURNS = 3 };
    static Setting s;
    einc_kernel *gpu = compile(context, cases[PRODUCT].expression, "cuda"), *cpu = compile(context, cases[PRODUCT].expression, NULL);
    for (int turn = 0; turn < TURNS * SHAPES; turn++) {
        int64_t rows = 3 + turn % SHAPES, columns = 2 + turn % 4, depth = 7 + turn % 3;
        char left[24], right[24], out[24];
        snprintf(left, sizeof left, "%d,%d", (int)rows, (int)depth);
        snprintf(right, sizeof right, "%d,%d", (int)depth, (int)columns);
        snprintf(out, sizeof out, "%d,%d", (int)rows, (int)columns);
        Case of = { cases[PRODUCT].expression, 2, 1, { "f32", "f32", "f32" }, { left, right, out }, { turn, turn % 5, turn % 7 } };
        set_up(&s, &of, gpu, turn % devices, turn % 2);
        for (int again = 0; again < 2; again++) {
            int status = call(&s);
            expect(!status, "shape %d gave %d: %s", turn, status, einc_error(context));
        }
        call_cpu(&s, cpu);
        check_outputs(&s, "many shapes");
        tear_down(&s);
    }
    einc_kernel_free(gpu);
    einc_kernel_free(cpu);
}

static void test_other_memory(einc_context *context)
{
    static Setting s;
    einc_kernel *gpu = compile(context, cases[SOFTMAX].expression, "cuda"), *cpu = compile(context, cases[SOFTMAX].expression, NULL);
    set_up(&s, &cases[SOFTMAX], gpu, 0, false);
    s.both[0].on_device.device.device_type = kDLCUDAManaged;
    expect(call(&s) == EINC_OK, "managed memory: %s", einc_error(context));
    call_cpu(&s, cpu);
    check_outputs(&s, "managed memory");
    s.both[0].on_host.device.device_type = kDLCUDAHost;
    memset(s.both[1].host, 0, sizeof s.both[1].host);
    expect(einc_call(gpu, s.host_in, 1, s.host_out, 1, &s.options) == EINC_OK, "the host's memory: %s", einc_error(context));
    send(&s.both[1], s.stream);
    memset(s.both[1].host, 0, sizeof s.both[1].host);
    call_cpu(&s, cpu);
    check_outputs(&s, "the host's memory");
    tear_down(&s);
    einc_kernel_free(gpu);
    einc_kernel_free(cpu);
}

static void refuses(einc_context *context, int status, int want, const char *words, const char *what)
{
    expect(status == want && strstr(einc_error(context), words), "%s gave %d: %s", what, status, einc_error(context));
}

static void test_refusals(einc_context *context)
{
    static Setting s;
    einc_kernel *gpu = compile(context, cases[SOFTMAX].expression, "cuda"), *cpu = compile(context, cases[SOFTMAX].expression, NULL);
    set_up(&s, &cases[SOFTMAX], gpu, 0, true);
    DLTensor *in = &s.both[0].on_device, *out = &s.both[1].on_device;
    s.out[0] = &s.both[1].on_host;
    refuses(context, call(&s), EINC_EXPRESSION, "output 1 is in the host's memory, but operand 1 is on device 0", "a mixture");
    s.out[0] = out;
    out->device.device_id = 1;
    refuses(context, call(&s), EINC_EXPRESSION, devices > 1 ? "on device 1, but operand 1 is on device 0" : "but the machine has 1",
            "two devices");
    out->device.device_id = in->device.device_id = 77;
    refuses(context, call(&s), EINC_EXPRESSION, "is on device 77, but the machine has", "a device that is not there");
    out->device.device_id = in->device.device_id = 0;
    in->device.device_type = (DLDeviceType)8;
    refuses(context, call(&s), EINC_EXPRESSION, "neither in the host's memory nor on a device", "another kind of device");
    in->device.device_type = kDLCUDA;
    in->byte_offset += 2;
    refuses(context, call(&s), EINC_EXPRESSION, "not aligned to its numbers, which have 4 bytes", "odd data");
    in->byte_offset -= 2;
    out->shape[1]--;
    refuses(context, call(&s), EINC_EXPRESSION, "axis 1 of output 1 has 99, but must have 100", "a small output");
    out->shape[1]++;
    s.options.workspace_bytes = 64;
    refuses(context, call(&s), EINC_BUDGET, "the workspace has 64 bytes, but the kernel needs", "a small workspace");
    s.options.workspace_bytes = 1 << 20;
    s.options.workspace = (char *)s.options.workspace + 32;
    refuses(context, call(&s), EINC_USAGE, "not aligned to 64 bytes", "an odd workspace");
    s.kernel = cpu;
    refuses(context, call(&s), EINC_EXPRESSION, "operand 1 is not in the CPU's memory", "a CPU");
    refuses(context, einc_wait(cpu, out->device, NULL), EINC_USAGE, "has not been called for that device", "waiting for a CPU");
    tear_down(&s);
    einc_kernel_free(gpu);
    einc_kernel_free(cpu);
}

/* What a kernel for a CPU finds out itself. */
static void test_shapes(einc_context *context)
{
    static Setting s;
    einc_options options = { .target = "cuda", .statics = "j=99" };
    einc_kernel *any = compile(context, cases[SOFTMAX].expression, "cuda"), *most = compile(context, "ij | max j", "cuda");
    einc_kernel *constant = einc_compile(context, cases[SOFTMAX].expression, &options);
    if (!expect(constant != NULL, "a constant: %s", einc_error(context)))
        exit(1);
    set_up(&s, &cases[SOFTMAX], any, 0, true);
    s.kernel = constant;
    refuses(context, call(&s), EINC_EXPRESSION, "is given as 99, but is", "another constant");
    s.kernel = most;
    s.both[0].shape[1] = 0;
    s.both[1].on_device.ndim = 1;
    refuses(context, call(&s), EINC_EXPRESSION, "over nothing", "an empty max");
    s.both[0].shape[1] = 100;
    expect(call(&s) == EINC_OK, "a max: %s", einc_error(context));
    tear_down(&s);
    einc_kernel_free(any);
    einc_kernel_free(constant);
    einc_kernel_free(most);
}

/* Packed documents, of which there are none: a product in a ring, where the device has such, of which there are no tiles. */
static void test_nothing(einc_context *context)
{
    static Setting s;
    static const Case of = { "Q[i,j,k]:bf16, D[start[m]:i64+n,k]:bf16 -> [i,j,m,n] | max n | sum j", 3, 1, { "bf16", "bf16", "i64", "f32" },
                             { "2,8,16", "120,16", "0", "2,0" }, { 0, 0, 0, 0 } };
    einc_kernel *gpu = einc_compile(context, of.expression, &(einc_options){ .target = "cuda", .extents = "n=100" });
    if (!expect(gpu != NULL, "documents: %s", einc_error(context)))
        exit(1);
    set_up(&s, &of, gpu, 0, false);
    int status = call(&s), waited = einc_wait(gpu, s.out[0]->device, &s.options);
    expect(!status && !waited, "no documents gave %d, %d: %s", status, waited, einc_error(context));
    tear_down(&s);
    einc_kernel_free(gpu);
}

/* A position that is out of range is found by the call, or, where that does not wait, by einc_wait(). */
static void test_positions(einc_context *context)
{
    static Setting s;
    einc_kernel *gpu = compile(context, cases[GATHER].expression, "cuda");
    for (int given = 0; given < 2; given++) {
        set_up(&s, &cases[GATHER], gpu, 0, given);
        ((int64_t *)s.both[1].host)[3] = 5;
        send(&s.both[1], s.stream);
        must(driver.wait(s.stream), "the numbers");
        int status = call(&s);
        if (given) {
            expect(status == EINC_OK, "a call that does not wait: %s", einc_error(context));
            status = einc_wait(gpu, s.out[0]->device, &s.options);
        }
        refuses(context, status, EINC_EXPRESSION, "'W' was read out of range", "a position");
        ((int64_t *)s.both[1].host)[3] = 4;
        send(&s.both[1], s.stream);
        must(driver.wait(s.stream), "the numbers");
        expect(!call(&s) && !einc_wait(gpu, s.out[0]->device, &s.options), "after a position out of range: %s", einc_error(context));
        tear_down(&s);
    }
    einc_kernel_free(gpu);
}

typedef struct Worker {
    einc_context *context;
    einc_kernel *shared, *cpu;
    int number;
    Setting s;
} Worker;

/* Calls one kernel that all have, and one of its own. */
static void *do_work(void *of)
{
    Worker *w = of;
    einc_kernel *own = compile(w->context, cases[SOFTMAX].expression, "cuda");
    for (int turn = 0; turn < 6; turn++) {
        einc_kernel *kernel = turn % 2 ? own : w->shared;
        set_up(&w->s, &cases[SOFTMAX], kernel, (w->number + turn) % devices, turn % 3 == 0);
        int status = call(&w->s);
        expect(!status, "in thread %d: %d, %s", w->number, status, einc_error(w->context));
        call_cpu(&w->s, w->cpu);
        check_outputs(&w->s, "threads");
        tear_down(&w->s);
    }
    einc_kernel_free(own);
    return NULL;
}

/* In a context that nothing has been called in yet. */
static void test_threads(einc_context *unused)
{
    static Worker workers[THREADS];
    pthread_t threads[THREADS];
    (void)unused;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *shared = compile(context, cases[SOFTMAX].expression, "cuda"), *cpu = compile(context, cases[SOFTMAX].expression, NULL);
    for (int t = 0; t < THREADS; t++) {
        workers[t] = (Worker){ .context = context, .shared = shared, .cpu = cpu, .number = t };
        must(pthread_create(&threads[t], NULL, do_work, &workers[t]), "a thread");
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    einc_kernel_free(shared);
    einc_kernel_free(cpu);
    einc_context_free(context);
}

/* The whole way of a call in a new context; whether nothing failed. */
static bool goes_well(Setting *s, int *status, char *message, size_t bytes)
{
    einc_context *context = einc_context_new(NULL);
    einc_kernel *kernel = einc_compile(context, s->of->expression, &(einc_options){ .target = "cuda" });
    s->kernel = kernel;
    *status = kernel ? call(s) : -1;
    if (!*status)
        *status = einc_wait(kernel, s->out[0]->device, &s->options);
    snprintf(message, bytes, "%s", einc_error(context));
    einc_kernel_free(kernel);
    einc_context_free(context);
    return *status == EINC_OK;
}

/* Every call of the driver fails once; a stand-in alone can do that. */
static void test_failures(einc_context *context)
{
    static Setting s;
    void (*fail)(int number);
    int (*kept)(void);
    *(void **)&fail = dlsym(driver.library, "standin_fail");
    *(void **)&kept = dlsym(driver.library, "standin_kept");
    for (int given = 0; given < 2 && fail && kept; given++) {
        einc_kernel *gpu = compile(context, cases[GATHER].expression, "cuda");
        char message[600];
        int status, number = 0;
        bool well = false;
        set_up(&s, &cases[GATHER], gpu, 0, given);
        for (int before = kept(); !well && number < 100; number++) {
            fail(number + 1);
            well = goes_well(&s, &status, message, sizeof message);
            fail(0);
            must(driver.wait(s.stream), "the stream");
            expect(well || !strncmp(message, "error: ", 7), "call %d fails: %d, '%s'", number, status, message);
            if (!well)            /* else it was a module's release that failed: the module goes with the device's context */
                expect(kept() == before, "call %d fails, and %d are kept", number, kept() - before);
        }
        expect(number > 15 && number < 100, "%d calls failed", number);
        int before = kept();
        expect(goes_well(&s, &status, message, sizeof message) && kept() == before, "no call fails, and %d are kept", kept() - before);
        tear_down(&s);
        einc_kernel_free(gpu);
    }
}

static void hold_contexts(bool hold)
{
    static bool held;
    for (int d = 0; d < devices && hold != held; d++)
        if (hold)
            must(driver.context_retain(&contexts[d], d), "a primary context");
        else
            driver.context_release(d);
    held = hold;
}

/* A kernel that reads where no memory is: the process lives on, and every later call says so, even after all have let go of the device.
 * The last test: it leaves nothing as it was. */
static void test_lost(einc_context *unused)
{
    static Setting s;
    (void)unused;
    einc_context *context = einc_context_new(NULL);
    einc_kernel *gpu = compile(context, cases[PRODUCT].expression, "cuda");
    set_up(&s, &cases[PRODUCT], gpu, 0, false);
    s.both[0].on_device.data = (void *)(uintptr_t)(1 << 16);
    setenv("CUDA_STANDIN_LOST", "1", 1);
    int status = call(&s);
    expect(!status, "a call that does not wait: %s", einc_error(context));
    refuses(context, einc_wait(gpu, s.out[0]->device, &s.options), EINC_FAILED, "after einc_kernel_launch_1 with ", "a read of no memory");
    expect(strstr(einc_error(context), "for 'ij,jk->ik'") != NULL, "its expression: %s", einc_error(context));
    expect(strstr(einc_error(context), "CUDA_ERROR_ILLEGAL_ADDRESS (700)") != NULL, "its name: %s", einc_error(context));
    refuses(context, call(&s), EINC_FAILED, "device 0 serves this process no more since an earlier call failed", "a later call");
    unsetenv("CUDA_STANDIN_LOST");
    einc_kernel_free(gpu);
    einc_context_free(context);
    context = einc_context_new(NULL);
    gpu = compile(context, cases[PRODUCT].expression, "cuda");
    s.kernel = gpu;
    refuses(context, call(&s), EINC_FAILED, "device 0 serves this process no more", "a new context beside an old one");
    einc_kernel_free(gpu);
    einc_context_free(context);
    must(driver.context_pop(&(void *){ NULL }), "the context");
    hold_contexts(false);
    context = einc_context_new(NULL);
    gpu = compile(context, cases[PRODUCT].expression, "cuda");
    s.kernel = gpu;
    refuses(context, call(&s), EINC_FAILED, "device 0 serves this process no more", "a new context after all others");
    einc_kernel_free(gpu);
    einc_context_free(context);
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    void (*run)(einc_context *context);
} tests[] = {
    { "in_place", test_in_place }, { "graph", test_graph }, { "graph_first", test_graph_first }, { "many_shapes", test_many_shapes }, { "other_memory", test_other_memory }, { "refusals", test_refusals },
    { "shapes", test_shapes }, { "nothing", test_nothing }, { "positions", test_positions }, { "threads", test_threads },
    { "failures", test_failures }, { "lost", test_lost },
};

static void load(void)
{
    const char *missing = cuda_driver_load(&driver);
    if (!missing && (driver.init(0) || driver.device_count(&devices) || !devices))
        missing = "the driver finds no device";
    if (missing) {
        printf("SKIPPED: %s\n", missing);
        exit(SKIPPED);
    }
#define FIND(name, symbol, parameters) must(!(*(void **)&more.name = dlsym(driver.library, symbol)), symbol);
    TEST_FUNCTIONS(FIND)
    devices = devices < DEVICES_MAX ? devices : DEVICES_MAX;
}

int main(int count, char **words)
{
    load();
    hold_contexts(true);
    for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
        bool wanted = count == 1;
        for (int w = 1; w < count; w++)
            wanted |= !strcmp(words[w], tests[t].name);
        if (!wanted)
            continue;
        einc_context *context = einc_context_new(NULL);
        tests[t].run(context);
        einc_context_free(context);
        printf("%s\n", tests[t].name);
        fflush(stdout);
    }
    hold_contexts(false);
    printf("%d devices, %d expectations, %d wrong\n", devices, expected, wrong);
    return wrong > 0;
}
