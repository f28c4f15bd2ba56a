/* einc doctor: what is there of what einc needs, and what to do about what is not. */
#include <dlfcn.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"

static void line(const char *what, const char *text)
{
    printf("%-10s  %s\n", what, text);
}

static void advise(const char *text)
{
    printf("%-10s  -> %s\n", "", text);
}

/* ---- the compiler ---- */

static int report_compiler(Cli *cli)
{
    Compiler *compiler = NULL;
    char error[ERROR_BYTES];
    int status = compiler_find(&compiler, error, sizeof error);
    if (!status)
        status = compiler_identify(compiler, NULL, error, sizeof error);
    if (status) {
        line("compiler", "none");
        advise(error);
    } else {
        line("compiler", arena_format(&cli->arena, "%s, %s", compiler->arguments[0], compiler->version));
    }
    compiler_free(compiler);
    return status;
}

/* Compiles and runs a small kernel, outside the cache. */
static int report_kernel(Cli *cli)
{
    float x[3] = { 1, 2, 3 }, sum = 0;
    DLTensor in = einc_tensor(x, "f32", 1, (int64_t[]){ 3 }), out = einc_tensor(&sum, "f32", 0, NULL), *outputs[] = { &out };
    const DLTensor *inputs[] = { &in };
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    cli->context->cache = cache_open("/dev/null/none");
    einc_kernel *kernel = einc_compile(cli->context, "i->", NULL);
    int status = !kernel ? cli->failure : einc_call(kernel, inputs, 1, outputs, 1, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    if (!status && sum == 6) {
        line("kernels", arena_format(&cli->arena, "compile and run: the first took %.2f s", seconds));
    } else {
        line("kernels", "cannot be compiled and run");
        advise(status ? einc_error(cli->context) : "a sum is wrong: einc and the compiler do not fit together");
        status = status ? status : EINC_FAILED;
    }
    einc_kernel_free(kernel);
    return status;
}

/* ---- the machine ---- */

static const char *cpu_model(Arena *arena)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char text[512];
    const char *model = "unknown";
    while (file && fgets(text, sizeof text, file)) {
        const char *colon = strchr(text, ':');
        if (colon && !strncmp(text, "model name", 10)) {
            model = arena_copy(arena, colon + 2, strcspn(colon + 2, "\n"));
            break;
        }
    }
    if (file)
        fclose(file);
    return model;
}

static const char *features_found(Arena *arena)
{
    Text found = text_new(arena);
    for (const char *const *feature = cpu_features; *feature; feature++)
        if (cpu_has(*feature))
            text_print(&found, "%s%s", found.length ? " " : "", *feature);
    return found.length ? found.bytes : "none that einc knows";
}

static void report_targets(Cli *cli)
{
    const Target *native = context_target(cli->context, NULL);
    Text text = text_new(&cli->arena);
    for (const Target *t = targets; t->name; t++)
        text_print(&text, "%s%s%s", text.length ? ", " : "", t->name,
                   t == native ? " (native)" : target_runs_here(t) ? "" : " (not on this CPU)");
    line("targets", text.bytes);
}

static void report_cuda(void)
{
    static const char *const libraries[][5] = {
        { "libcuda", "libcuda.so.1", "libcuda.so" },
        { "libnvrtc", "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" },
    };
    char text[200] = "for --device cuda";
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *handle = NULL;    /* stays open: libraries of this kind do not clean up behind themselves */
        for (int k = 1; k < 5 && libraries[i][k] && !handle; k++)
            handle = dlopen(libraries[i][k], RTLD_LAZY | RTLD_LOCAL);
        snprintf(text + strlen(text), sizeof text - strlen(text), "; %s is %s", libraries[i][0],
                 handle ? "there" : "not installed");
    }
    line("CUDA", text);
    advise("nothing to do: kernels run on this CPU");
}

/* ---- the cache ---- */

static void add_bytes(void *user, const CacheEntry *entry)
{
    *(double *)user += (double)entry->bytes;
}

static void report_cache(Cli *cli)
{
    Cache *cache = cache_open(NULL);
    const char *path = cache ? cache_path(cache) : "", *problem = cache ? cache_problem(cache) : "out of memory";
    struct stat status;
    line("cache", *path ? path : "no place for one");
    if (!*path) {
        advise("set EINC_CACHE_DIR or HOME; until then every run compiles its kernel anew");
    } else if (stat(path, &status)) {
        line("", "not there yet; it is made with the first kernel");
    } else {
        const struct passwd *owner = getpwuid(status.st_uid);
        double bytes = 0;
        int count = cache_list(cache, add_bytes, &bytes);
        line("", arena_format(&cli->arena, "owner %s, mode %04o, %d kernel%s, %s",
                              owner ? owner->pw_name : arena_format(&cli->arena, "%ld", (long)status.st_uid),
                              (unsigned)status.st_mode & 07777, count, count == 1 ? "" : "s", byte_words(&cli->arena, bytes)));
    }
    if (*path && problem)
        advise(arena_format(&cli->arena, "it cannot be used: %s; set EINC_CACHE_DIR to another folder, or every run compiles "
                            "its kernel anew", problem));
    cache_close(cache);
}

int command_doctor(Cli *cli)
{
    if (cli->word_count)
        return cli_fail(cli, EINC_USAGE, "'einc doctor' takes no '%s'", cli->words[0]);
    line("einc", einc_version());
    int status = report_compiler(cli);
    if (!status)
        status = report_kernel(cli);
    line("CPU", cpu_model(&cli->arena));
    line("features", features_found(&cli->arena));
    report_targets(cli);
    line("threads", arena_format(&cli->arena, "%d", context_workers(cli->context)));
    report_cuda();
    report_cache(cli);
    return status;
}
