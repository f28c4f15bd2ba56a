/* Contexts: whose memory and threads, and the last failure of each thread. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

#include "cuda.h"

/* ---- memory ---- */

enum { HUGE_PAGE = 2 << 20, LARGE = HUGE_PAGE / 4 };

/* A large block is a huge page where the system has them: of small ones, which lie anywhere, some push each other out of a cache that
 * would have room for all. */
void *context_alloc(einc_context *context, size_t bytes, size_t align)
{
    if (context->host.alloc)
        return context->host.alloc(context->host.user, bytes, align);
    size_t unit = bytes >= LARGE && align < HUGE_PAGE ? HUGE_PAGE : align;
    if (bytes > SIZE_MAX - unit)
        return NULL;
    bytes = (bytes + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, bytes);
#ifdef MADV_HUGEPAGE
    if (memory && unit == HUGE_PAGE)
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

void context_free(einc_context *context, void *memory)
{
    if (!memory)
        return;
    if (context->host.alloc)
        context->host.free(context->host.user, memory);
    else
        free(memory);
}

Arena context_arena(einc_context *context, jmp_buf *full)
{
    return (Arena){ .alloc = context->host.alloc, .free = context->host.free, .user = context->host.user, .failed = full };
}

/* ---- failures ---- */

/* A thread's message stays until its next one or the context's end; that of a thread that ended goes to another. */
struct Message {
    Message *next;
    char *text;
    int status;
    bool hushed;                  /* the thread tries what need not succeed */
    _Atomic bool in_use;
};

static void let_go(void *message)
{
    ((Message *)message)->in_use = false;
}

static Message *own_message(einc_context *context)
{
    Message *own = pthread_getspecific(context->error);
    if (own)
        return own;
    pthread_mutex_lock(&context->lock);
    for (own = context->messages; own && own->in_use; own = own->next)
        ;
    if (!own) {
        own = calloc(1, sizeof *own);
        if (own) {
            own->next = context->messages;
            context->messages = own;
        }
    }
    if (own)
        own->in_use = true;
    pthread_mutex_unlock(&context->lock);
    pthread_setspecific(context->error, own);
    return own;
}

void context_hush(einc_context *context, bool hushed)
{
    Message *own = own_message(context);
    if (own)
        own->hushed = hushed;
}

int context_fail_text(einc_context *context, int status, const char *message)
{
    Message *own = own_message(context);
    if (own && own->hushed)
        return status;
    if (own) {
        free(own->text);
        own->text = strdup(message);
        own->status = status;
    }
    if (context->host.error)
        context->host.error(context->host.user, status, message);
    return status;
}

int context_status(einc_context *context)
{
    const Message *own = pthread_getspecific(context->error);
    return own ? own->status : EINC_FAILED;
}

int context_fail(einc_context *context, int status, const char *format, ...)
{
    char message[4096];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof message - 2)
        length = (int)sizeof message - 2;
    if (length <= 0 || message[length - 1] != '\n')
        strcpy(message + (length > 0 ? length : 0), "\n");
    return context_fail_text(context, status, message);
}

int context_report(einc_context *context, int status, const Diags *diags)
{
    Text text = text_new(diags->arena);
    for (const Diag *d = diags->first; d; d = d->next)
        diag_render(&text, diags->source, d, context->colour);
    if (diags->errors > DIAG_ERRORS_MAX)
        text_print(&text, "%d more errors\n", diags->errors - DIAG_ERRORS_MAX);
    return context_fail_text(context, status, text.bytes);
}

const char *einc_error(const einc_context *context)
{
    const Message *own = context ? pthread_getspecific(context->error) : NULL;
    return own && own->text ? own->text : "";
}

/* ---- contexts ---- */

einc_context *einc_context_new(const einc_host *host)
{
    static const einc_host plain = { 0 };
    if (!host)
        host = &plain;
    if ((host->alloc != NULL) != (host->free != NULL))
        return NULL;
    einc_context *context = host->alloc ? host->alloc(host->user, sizeof *context, _Alignof(max_align_t))
                                        : malloc(sizeof *context);
    if (!context)
        return NULL;
    memset(context, 0, sizeof *context);
    context->host = *host;
    if (pthread_key_create(&context->error, let_go)) {
        context_free(context, context);
        return NULL;
    }
    pthread_mutex_init(&context->lock, NULL);
    for (const Target *t = targets; t->name; t++)
        if (target_runs_here(t))
            context->native = t;
    return context;
}

void einc_context_free(einc_context *context)
{
    if (!context)
        return;
    pool_free(context->pool);
    cuda_close(context);
    compiler_free(context->compiler);
    cache_close(context->cache);
    pthread_key_delete(context->error);
    for (Message *m = context->messages, *next; m; m = next) {
        next = m->next;
        free(m->text);
        free(m);
    }
    pthread_mutex_destroy(&context->lock);
    context_free(context, context);
}

void einc_context_set_threads(einc_context *context, int threads)
{
    if (!context)
        return;
    pthread_mutex_lock(&context->lock);
    context->threads = threads < 0 ? 0 : threads;
    pool_free(context->pool);
    context->pool = NULL;
    pthread_mutex_unlock(&context->lock);
}

Pool *context_pool(einc_context *context)
{
    if (context->host.parallel_for)
        return NULL;
    Pool *pool = __atomic_load_n(&context->pool, __ATOMIC_ACQUIRE);
    if (pool)
        return pool;
    pthread_mutex_lock(&context->lock);
    if (!context->pool)
        __atomic_store_n(&context->pool, pool_new(context->threads, context->host.alloc, context->host.free, context->host.user),
                         __ATOMIC_RELEASE);
    pool = context->pool;
    pthread_mutex_unlock(&context->lock);
    return pool;
}

int context_workers(einc_context *context)
{
    if (context->host.parallel_for)
        return context->host.workers > 0 ? context->host.workers : 1;
    Pool *pool = context_pool(context);
    return pool ? pool_workers(pool) : 1;
}

/* ---- targets ---- */

enum { TARGETS_MOST = 32 };

/* That of which only "cuda:", capital letters or the 'a' behind the number was forgotten; else one that is spelt nearly so. */
static const char *nearest_target(const char *name, const char *const *names, size_t count)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const char *colon = strchr(names[i], ':'), *architecture = colon ? colon + 1 : names[i];
        const char *same = !strncasecmp(names[i], name, length) ? names[i] : !strncasecmp(architecture, name, length) ? architecture : NULL;
        if (same && (!same[length] || !strcmp(same + length, "a")))
            return names[i];
    }
    return diag_nearest(name, length, names, count);
}

const Target *context_target(einc_context *context, const char *name)
{
    if (!name || !strcmp(name, "native"))
        return context->native;
    const Target *target = target_find(name);
    if (target)
        return target;
    const char *names[TARGETS_MOST];
    size_t count = 0;
    char list[512] = "";
    for (int grid = 0; grid < 2; grid++)
        for (const Target *t = grid ? grid_targets : targets; t->name && count < TARGETS_MOST; t++) {
            names[count++] = t->name;
            snprintf(list + strlen(list), sizeof list - strlen(list), " %s", t->name);
        }
    const char *near = nearest_target(name, names, count);
    bool any_gpu = !strcmp(name, "cuda");
    context_fail(context, EINC_USAGE, "error: there is no target '%s'\nhint: %s%s%sthe targets are native%s", name,
                 near ? "did you mean '" : any_gpu ? "name the GPU's, such as cuda:sm_90a of an H100; 'einc run --device cuda' takes that of "
                                                      "the one that is here; " : "", near ? near : "", near ? "'? " : "", list);
    return NULL;
}
