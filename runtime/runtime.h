/* What the parts of the runtime share: context.c, tensor.c, build.c (from expression to function), variant.c,
 * call.c and api.c. The command's own code uses it too, for what einc.h does not show. */
#ifndef EINC_RUNTIME_H
#define EINC_RUNTIME_H

#include <pthread.h>

#include "array.h"
#include "cache.h"
#include "compile.h"
#include "compiler.h"
#include "einc.h"
#include "pool.h"

typedef struct Cuda Cuda;
typedef struct Prepared Prepared;
typedef struct CudaModule CudaModule;

/* A shared object that kernels use: found by what is in it, closed when the last lets go. */
typedef struct Object Object;
struct Object {
    Object *next;
    CacheKey key;
    void *handle;                 /* of dlopen() */
    int users;
    CudaModule *module;           /* on a GPU, instead of the others; no other kernel has it */
    int (*kernel)(const void *args, void *workspace, size_t bytes, const einc_host *host);
    int (*workspace)(const void *args, int workers, size_t *bytes);
};

typedef struct Message Message;

struct einc_context {
    einc_host host;               /* as the caller gave it */
    int threads;
    pthread_key_t error;          /* a thread's Message */
    pthread_mutex_t lock;         /* of everything below */
    Message *messages;
    Pool *pool;                   /* NULL until first needed */
    Compiler *compiler;
    Cache *cache;
    Object *objects;
    const Target *native;
    Cuda *cuda;                   /* NULL until a kernel is to run on a GPU: cuda.h */
    bool colour;                  /* in diagnostics; the command sets it on a terminal */
};

/* One plan of a kernel: for operands whose strides are 1 at the same places, and of some sizes; on GPUs for an architecture. */
typedef struct Variant Variant;
struct Variant {
    Variant *next;
    Compiled *compiled;           /* without its text, */
    const EmittedUnit *_Atomic whole;    /* which is here once somebody has needed it, in the kernel's arena */
    char digest[KEY_TEXT];        /* of the text */
    Object *object;
    size_t *unit_words;           /* the words of the args struct that are 1 when this plan's fast paths fit */
    int unit_count;
    const uint8_t *sizes;         /* [axes of the slots]: how large they are that it is planned for; NULL: for any */
};

/* A member of the kernel's args struct. */
typedef enum { SLOT_INPUT, SLOT_OUTPUT, SLOT_EXTENT, SLOT_SHAPE } SlotKind;

typedef struct Slot {
    SlotKind kind;
    size_t at;                    /* its first word of 8 bytes */
    int which;                    /* the place among inputs or outputs; of SLOT_SHAPE the checked tensor's id */
    int rank;
    Dtype dtype;
    int64_t extent;               /* SLOT_EXTENT; -1: not known */
    const char *name;
} Slot;

struct einc_kernel {
    einc_context *context;
    Arena arena;                  /* all that belongs to the kernel */
    Source source;
    CompileOptions options;
    bool open;                    /* some index has an extent that was not known when it was compiled, */
    bool guesses;                 /* and the order of contractions goes by a guess of it */
    bool each_device;             /* on a GPU: each has a plan for its own architecture, not for that of the options */
    Variant *_Atomic variants;    /* the newest first; the last is the first that was made */
    _Atomic int variant_count;
    pthread_mutex_t lock;         /* of making variants */
    Prepared *_Atomic prepared;   /* calls on GPUs with shapes that have been met: cuda.h */
    Slot *slots;
    int slot_count;
    size_t args_words;            /* the args struct's size in words of 8 bytes */
    const char *explanation;      /* NULL until it is asked for */
};

enum { VARIANTS_MAX = 8 };

/* context.c */
void *context_alloc(einc_context *context, size_t bytes, size_t align);
void context_free(einc_context *context, void *memory);
int context_fail(einc_context *context, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
int context_fail_text(einc_context *context, int status, const char *message);
int context_report(einc_context *context, int status, const Diags *diags);
int context_status(einc_context *context);    /* of this thread's last failure */
void context_hush(einc_context *context, bool hushed);    /* while this thread's failures are not the caller's */
Pool *context_pool(einc_context *context);
int context_workers(einc_context *context);
const Target *context_target(einc_context *context, const char *name);   /* NULL after context_fail() */
bool target_runs_here(const Target *target);
bool cpu_gives_tiles(void);                /* asks the system to let this process use them */
bool cpu_has(const char *feature);
extern const char *const cpu_features[];    /* all that cpu_has() may know; ends in NULL */
Arena context_arena(einc_context *context, jmp_buf *full);

/* tensor.c: NULL or what is wrong with a tensor; only a call needs its data, and where that is, others its shape */
const char *tensor_read(Array *array, const DLTensor *tensor);
/* Whose memory it is in: TENSOR_HOST, the number of a CUDA device, or TENSOR_ELSEWHERE. */
enum { TENSOR_HOST = -1, TENSOR_ELSEWHERE = -2 };
int tensor_device(const DLTensor *tensor);

/* build.c */
Object *object_get(einc_kernel *kernel, Variant *variant, const CompileOptions *options);    /* those that it was planned with */
void object_release(einc_context *context, Object *object);
const Cache *build_cache(einc_context *context);    /* NULL: no memory for it */
Compiled *build_plan(einc_context *context, Arena *arena, const Source *source, const CompileOptions *options);
const EmittedUnit *build_text(einc_context *context, Arena *arena, const Source *source, const Compiled *compiled);
const EmittedUnit *build_whole(einc_kernel *kernel, Variant *variant);    /* in the kernel's arena, under its lock */
Compiled *build_compile(einc_context *context, Arena *arena, const Source *source, const CompileOptions *options);
Compiled *build_front(einc_context *context, Arena *arena, const Source *source, const CompileOptions *options);
int read_options(einc_context *context, Arena *arena, const einc_options *given, CompileOptions *options);

/* Extents as they are given, and which of them are compiled in as constants, which are known, too. */
typedef struct GivenExtents {
    ExtentSpec *extents, *statics;
    int extent_count, static_count;
} GivenExtents;

/* Adds "n=30,k=128". NULL, or what is wrong with it. */
const char *read_extents(Arena *arena, const char *text, bool constant, GivenExtents *given);
/* "best, dQ"; a name that is empty stands for the last statement's. NULL, or what is wrong with it. */
const char *read_outputs(Arena *arena, const char *text, CompileOptions *options);
void give_extents(const GivenExtents *given, CompileOptions *options);

/* request.c: what is asked for, and of which compiler, that makes the same text as long as it is the same */
CacheKey request_key(Arena *arena, const Source *source, const CompileOptions *options);
extern const char build_identity[];    /* of the compiler's own code and templates; made by the build */

/* api.c: einc_compile() for a source with a name and options that are read already; both are copied as far as they are
 * needed, but operands' shapes and strides, which must outlive the call only */
einc_kernel *kernel_make(einc_context *context, const Source *source, const CompileOptions *options);

/* call.c */
void kernel_lay_out(einc_kernel *kernel, const Compiled *compiled);
void call_forget_prepared(Prepared *prepared);    /* call_grid.c */

/* variant.c */
void variant_find_units(einc_kernel *kernel, Variant *variant);
const Variant *variant_choose(einc_kernel *kernel, const uint64_t *words);    /* for a filled args struct */
const Variant *variant_first(const Variant *variant);                         /* the one that was made with the kernel */
const Variant *variant_of_target(einc_kernel *kernel, const Target *target);  /* made when there is none; NULL after context_fail() */

/* explain.c */
const char *kernel_explain(Arena *arena, const Compiled *compiled, bool json);
const char *count_words(Arena *arena, double count, const char *unit);   /* "2.10 Gflop"; in powers of 1000 */
const char *byte_words(Arena *arena, double bytes);

#endif
