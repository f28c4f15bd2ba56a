/* einc: compile an einsum expression with trailing steps into a fused kernel, and call it.
 *
 *     einc_context *c = einc_context_new(NULL);
 *     einc_kernel *k = einc_compile(c, "ijk,mnk->ijmn | max n | sum j", NULL);
 *     const DLTensor *in[] = { &queries, &documents };
 *     DLTensor *out[] = { &scores };
 *     if (!k || einc_call(k, in, 2, out, 1, NULL))
 *         fprintf(stderr, "%s", einc_error(c));
 *     einc_kernel_free(k);
 *     einc_context_free(c);
 *
 * Nothing here prints, exits or aborts. Functions that can fail return an einc_status, or NULL where they return a
 * pointer; the text of the last failure of this thread is einc_error(), and the host's `error` callback gets it too.
 * Functions that get NULL for a context or a kernel do nothing and fail without a text; of free, it is none.
 *
 * Threads: one context and one kernel may be used by any number of threads at once. Objects are freed once, by one
 * thread, when no other uses them. */
#ifndef EINC_H
#define EINC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EINC_VERSION "0.1.0"
#define EINC_ABI 1                /* of einc_host and of generated kernels' arguments */

#if defined(__GNUC__) && defined(EINC_BUILDING)
#define EINC_API __attribute__((visibility("default")))
#else
#define EINC_API
#endif

/* ---- status ---- */

/* The exit codes of the einc command are the same numbers. */
typedef enum {
    EINC_OK = 0,
    EINC_FAILED = 1,              /* input, output, memory, or a fault of einc itself */
    EINC_USAGE = 2,               /* an argument that has no meaning */
    EINC_EXPRESSION = 3,          /* the expression, or shapes and dtypes that do not fit it, or a read out of range */
    EINC_BUDGET = 4,              /* the memory budget cannot be met */
    EINC_CHECK = 5,               /* a result was compared and was wrong */
    EINC_NO_COMPILER = 6,         /* no C compiler or no device */
    EINC_CANCELLED = 7            /* the host's `cancelled` said so */
} einc_status;

/* ---- tensors: DLPack ---- */

/* The structs of DLPack 0.8 and 1.x (dmlc/dlpack, dlpack.h); if that header was included first, its own are used. A
 * tensor is borrowed for the duration of a call. Strides are in elements, may be NULL (C order), negative or, of inputs,
 * zero; data + byte_offset need not be aligned. einc takes tensors of one lane, in memory of the host (kDLCPU, kDLCUDAHost)
 * and, with a target of CUDA, on a device (kDLCUDA, kDLCUDAManaged), where they are aligned to their numbers. */
#ifndef DLPACK_DLPACK_H_
#define DLPACK_DLPACK_H_
#define EINC_OWN_DLPACK
typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 } DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U, kDLBfloat = 4U, kDLComplex = 5U, kDLBool = 6U } DLDataTypeCode;
typedef struct {
    uint8_t code;                 /* DLDataTypeCode */
    uint8_t bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;               /* [ndim], in elements */
    int64_t *strides;             /* [ndim], in elements, or NULL */
    uint64_t byte_offset;
} DLTensor;
#endif

/* A tensor over `data` in C order; `shape` is borrowed and must live as long as the tensor. `dtype` is einc's name:
 * "f16" "bf16" "f32" "f64" "c64" "c128" "i8" "i16" "i32" "i64" "bool". An unknown name gives a tensor with 0 bits,
 * which every call refuses. */
EINC_API DLTensor einc_tensor(void *data, const char *dtype, int ndim, int64_t *shape);

/* ---- the host: whose memory, threads and messages ---- */

#ifndef EINC_HOST
#define EINC_HOST
/* Every member may be 0; so may the pointer to it. Generated kernels take the same struct. */
typedef struct einc_host {
    /* Memory for handles and workspaces: `bytes` aligned to `align`, a power of two. `alloc` gives NULL when it has none.
     * Both or neither; from any thread that uses the context. */
    void *(*alloc)(void *user, size_t bytes, size_t align);
    void (*free)(void *user, void *memory);
    /* Runs task(argument, index, worker) once for every 0 <= index < tasks, in any order, at once on up to `workers`
     * threads; 0 <= worker < workers, and no two calls with the same worker at once. Returns when all have returned:
     * 0, or a number that a generated kernel gives back and einc_call() names in an EINC_FAILED. Without it, a context has
     * threads of its own, and a generated kernel does all in the calling thread. */
    int (*parallel_for)(void *user, int64_t tasks, void (*task)(void *argument, int64_t index, int worker), void *argument);
    int workers;                  /* 0 or 1: parallel_for is never called */
    /* Asked between units of work (a block of results each), from any thread; when it returns non-zero, the call ends
     * with EINC_CANCELLED once the units that run are done, and what its outputs hold is undefined. */
    int (*cancelled)(void *user);
    /* Gets each failure as a code and a text that is valid during the call, in the thread that made the call. */
    void (*error)(void *user, int code, const char *message);
    void *user;
} einc_host;
#endif

/* ---- contexts ---- */

typedef struct einc_context einc_context;
typedef struct einc_kernel einc_kernel;

/* `host` is copied; NULL: malloc, and a pool of as many threads as the machine has, started when first needed. NULL
 * when there is no memory, or one of alloc and free alone. A context is freed after its kernels. After fork() the child
 * makes its own. */
EINC_API einc_context *einc_context_new(const einc_host *host);
EINC_API void einc_context_free(einc_context *context);

/* How many threads the context's own pool uses; 0 or less: as many as the machine has. For a host with parallel_for it means
 * nothing. Not while other threads call kernels of the context. */
EINC_API void einc_context_set_threads(einc_context *context, int threads);

/* The text of this thread's last failure in this context: diagnostics as clang prints them, each line ending in a
 * newline. "" when there was none. Valid until this thread's next call with this context. */
EINC_API const char *einc_error(const einc_context *context);

/* ---- compiling ---- */

typedef struct einc_options {
    /* What is known of the operands: `examples[i]`, of `example_count`, is one with the dtype, shape and strides of
     * operand i (its data is not read), or NULL. dtypes and ranks are then fixed; shapes and strides are hints from
     * which tiles are chosen. `example_names[i]`, or NULL, says which operand it is, for those in another order and
     * for the target of a `+=`. Operands of which nothing is known are f32. */
    const DLTensor *const *examples;
    const char *const *example_names;
    int example_count;
    /* Extents that no operand fixes, and hints for the others: "h=56,n=30". What contradicts them here (examples, statics) is
     * refused; operands of a call may. */
    const char *extents;
    /* The same, to compile in as constants: "k=128". A call with another extent fails with EINC_EXPRESSION. */
    const char *statics;
    /* The outputs wanted, separated by commas, each once: "best,dQ". NULL: those of the last statement, for which an empty
     * name stands, too: "best,". */
    const char *outputs;
    /* Bytes that a call may use beyond inputs and outputs; 0: as the plan likes. */
    uint64_t memory;
    /* Instruction set: "native" (NULL), "portable", "avx2", "avx512" … as in `einc doctor`. With "cuda" the kernel runs on GPUs:
     * that of a call's tensors, or the first, with copies there and back, for tensors of the host. Each has a plan for its
     * own architecture; with "cuda:sm_80" or another such target those have it that can run it. EINC_NO_COMPILER where libcuda
     * or libnvrtc is missing. */
    const char *target;
    const char *name;             /* of the function in the generated file; NULL: "einc_kernel" */
    /* How precise products of f32 must be: "exact" (NULL), or made of six or three products of bf16, or one of tf32, where
     * the target has a unit for these: "bf16x6", "bf16x3", "tf32". einc_explain() says what they leave out. */
    const char *precision;
    int flags;                    /* 0. EINC_FAST_MATH allows less precise functions: there are none yet, it is refused */
} einc_options;

enum { EINC_FAST_MATH = 1 };

/* The kernel for `expression`, compiled or taken from memory or from the cache on disk. NULL on failure. `options` may
 * be NULL and is not kept. */
EINC_API einc_kernel *einc_compile(einc_context *context, const char *expression, const einc_options *options);
EINC_API void einc_kernel_free(einc_kernel *kernel);

/* ---- calling ---- */

/* How many operands and outputs, and what the i-th is called ("" without a name); dtypes as einc names them. */
EINC_API int einc_input_count(const einc_kernel *kernel);
EINC_API int einc_output_count(const einc_kernel *kernel);
EINC_API const char *einc_input_name(const einc_kernel *kernel, int i);
EINC_API const char *einc_output_name(const einc_kernel *kernel, int i);
EINC_API const char *einc_input_dtype(const einc_kernel *kernel, int i);
EINC_API const char *einc_output_dtype(const einc_kernel *kernel, int i);
EINC_API int einc_input_rank(const einc_kernel *kernel, int i);
EINC_API int einc_output_rank(const einc_kernel *kernel, int i);

/* The shape of output i for these inputs, whose data is not read, into `shape` (einc_output_rank numbers). A size that
 * only the caller's array can tell (the target of a scatter) is -1. */
EINC_API int einc_output_shape(const einc_kernel *kernel, const DLTensor *const *inputs, int input_count, int i,
                               int64_t *shape);

/* Bytes of workspace for these inputs, whose data is not read, with `workers` threads: what the plan prints. On a GPU workers
 * are blocks of threads. 0 or less: as many as the context has, or as keep the device of the inputs busy. */
EINC_API int einc_workspace(const einc_kernel *kernel, const DLTensor *const *inputs, int input_count, int workers,
                            size_t *bytes);

typedef struct einc_call_options {
    void *workspace;              /* of einc_workspace() bytes, 64-byte aligned; NULL: taken from the host's memory */
    size_t workspace_bytes;
    int workers;                  /* at most so many threads; 0 or less: as many as the context has */
    void (*progress)(void *user, double done);   /* 0 to 1, from any thread, now and then; may be NULL */
    void *user;
    void *stream;                 /* of a GPU: a CUstream or cudaStream_t; NULL: the default one */
} einc_call_options;

/* Runs the kernel, in this thread and the context's. Inputs are in the order of einc_input_name(), all of them, outputs in that
 * of einc_output_name(), with the dtypes and ranks asked there. Outputs have the shapes of einc_output_shape() and any
 * strides but 0; they overlap neither each other nor inputs. The target of a `+=` is an output and is added to. Inputs are not
 * written. `options` may be NULL.
 *
 * EINC_EXPRESSION: tensors that do not fit, with nothing written; or a read out of range, after which what the outputs
 * hold is undefined. EINC_BUDGET: the budget or the given workspace is too small, with nothing written. */
EINC_API int einc_call(const einc_kernel *kernel, const DLTensor *const *inputs, int input_count,
                       DLTensor *const *outputs, int output_count, const einc_call_options *options);

/* With tensors on a device, einc_call() puts the work into the stream and returns: it does not wait, nor allocate where
 * `workspace` is given, which is on the device, so that a CUDA graph can capture all calls but a kernel's first on the
 * device, which loads it. Without one it takes memory in the stream's order. A kernel that reads at positions from the data
 * then waits, to say whether one was out of range; with a workspace einc_wait() says so. A workspace serves one call at a time.
 * `progress` and `cancelled` are not asked. The context of the device is its primary one, as with the CUDA run time.
 *
 * Waits for the stream of calls on `device` and says how the last one with that workspace went. After EINC_FAILED the
 * device may be lost to the process: every later call says so. Of the host's devices EINC_OK at once. */
EINC_API int einc_wait(const einc_kernel *kernel, DLDevice device, const einc_call_options *options);

/* ---- looking inside ---- */

/* Texts that live as long as the kernel: the generated C, its header, and the plan for a person. They are made when they are
 * first asked for; NULL when there is no memory. */
EINC_API const char *einc_source(const einc_kernel *kernel);
EINC_API const char *einc_header(const einc_kernel *kernel);
EINC_API const char *einc_explain(const einc_kernel *kernel);

/* The generated C and header without compiling them. The texts are the caller's, to be freed with einc_text_free();
 * NULL for one that is not wanted. */
EINC_API int einc_generate(einc_context *context, const char *expression, const einc_options *options, char **source,
                           char **header);
EINC_API void einc_text_free(einc_context *context, char *text);

/* EINC_VERSION and EINC_ABI of the library at hand, which for a shared library may be another than that of this header.
 * The structs here are as long as this header says only where the ABI is the same. */
EINC_API const char *einc_version(void);
EINC_API int einc_abi(void);

#ifdef __cplusplus
}
#endif

#endif
