/* The benchmarks on a GPU: gpu [--rows NAME,NAME] [--seconds S] [--json FILE] [--trial]. --trial runs small sizes
 * and times nothing. Ends with 6 without a device, and with 1 when a row fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

enum { FIGURES_MAX = 64 };

typedef struct Options {
    const char *rows, *json;
    double seconds;
    bool trial;
} Options;

static bool read_words(Options *options, int count, char **words)
{
    *options = (Options){ .rows = "", .seconds = 1 };
    for (int w = 1; w < count; w++) {
        const char *value = w + 1 < count ? words[w + 1] : NULL;
        if (!strcmp(words[w], "--trial")) {
            options->trial = true;
            continue;
        }
        if (!value)
            return false;
        if (!strcmp(words[w], "--rows"))
            options->rows = value;
        else if (!strcmp(words[w], "--json"))
            options->json = value;
        else if (!strcmp(words[w], "--seconds"))
            options->seconds = atof(value);
        else
            return false;
        w++;
    }
    return true;
}

/* Whether a name begins as one of the list. */
static bool is_wanted(const char *list, const char *name)
{
    if (!*list)
        return true;
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (!strncmp(name, at, strcspn(at, ",")))
            return true;
    return false;
}

static void print_figure(const Figure *f, bool trial)
{
    if (f->failure)
        printf("%-20s FAILED: %s\n", f->name, f->failure);
    else if (trial)
        printf("%-20s runs, %d elements compared; not timed\n", f->name, f->checked);
    else if (f->rate > 0)
        printf("%-20s %10.3f ms %8.1f TFLOP/s, %5.1f %% of the bound (%s), %5.1f %% of cuBLAS%s%s\n", f->name, 1e3 * f->seconds,
               f->rate / 1e12, 100 * f->bound / f->seconds, f->by, 100 * f->peer / f->seconds,
               *f->goal ? f->met ? ", met: " : ", NOT MET: " : "", f->goal);
    else
        printf("%-20s %10.3f ms%s%s\n", f->name, 1e3 * f->seconds, *f->goal ? f->met ? ", met: " : ", NOT MET: " : "", f->goal);
    fflush(stdout);
}

static void write_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, "\"%s\": \"", key);
    for (const char *c = text ? text : ""; *c; c++)
        fprintf(file, *c == '"' || *c == '\\' ? "\\%c" : *c == '\n' ? "\\n" : "%c", *c);
    fputc('"', file);
}

static void write_figure(FILE *file, const Figure *f, bool first)
{
    fputs(first ? "\n  {" : ",\n  {", file);
    write_text(file, "name", f->name);
    fputs(", ", file);
    write_text(file, "work", f->work);
    fputs(", ", file);
    write_text(file, "goal", f->goal);
    fputs(", ", file);
    write_text(file, "by", f->by);
    fputs(", ", file);
    write_text(file, "failure", f->failure);
    fprintf(file, ", \"seconds\": %.9g, \"rate\": %.9g, \"bound\": %.9g, \"peer\": %.9g, \"met\": %s, \"checked\": %d}", f->seconds, f->rate,
            f->bound, f->peer, f->met ? "true" : "false", f->checked);
}

static bool write_json(const char *path, const Gpu *gpu, const Figure *figures, int count)
{
    const Cuda *cuda = gpu->context->cuda;
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fputs("{", file);
    write_text(file, "card", gpu->name);
    fprintf(file, ", \"driver\": %d, \"nvrtc\": %d, \"architecture\": %d, \"multiprocessors\": %d, \"bandwidth\": %.9g, \"peaks\": [",
            cuda->driver_version, cuda->nvrtc_version, gpu->device->architecture, gpu->device->multiprocessors, gpu->bandwidth);
    for (int p = 0; p < PEAK_COUNT; p++) {
        fputs(p ? ", {" : "{", file);
        write_text(file, "of", peak_words[p]);
        fprintf(file, ", \"measured\": %.9g, \"paper\": %.9g}", gpu->measured[p], gpu->paper[p]);
    }
    fputs("], \"rows\": [", file);
    for (int f = 0; f < count; f++)
        write_figure(file, &figures[f], f == 0);
    fputs("\n]}\n", file);
    return fclose(file) == 0;
}

static int run(Gpu *gpu, Arena *arena, const Options *options)
{
    Figure figures[FIGURES_MAX];
    int count = 0, failed = 0;
    if (!gpu_measure_peaks(gpu, arena, gpu->trial ? 1 << 16 : (size_t)1 << 30)) {
        fprintf(stderr, "%s\n", gpu->failure);
        return 1;
    }
    printf("%s: copies %.0f GB/s; multiply-adds", gpu->name, gpu->bandwidth / 1e9);
    for (int p = 0; p < PEAK_COUNT; p++)
        printf("%s %s %.1f", p ? "," : "", peak_words[p], gpu->measured[p] / 1e12);
    printf(" TFLOP/s\n");
    for (const Row *row = rows; row->name; row++)
        if (is_wanted(options->rows, row->name)) {
            figures[count] = measure_row(gpu, arena, row, options->seconds);
            print_figure(&figures[count++], gpu->trial);
        }
    if (is_wanted(options->rows, "host") && !measure_host(gpu, arena, figures + count))
        for (int h = 0; h < HOST_FIGURES; h++)
            print_figure(&figures[count++], gpu->trial);
    for (int f = 0; f < count; f++)
        failed += figures[f].failure != NULL;
    if (options->json && !write_json(options->json, gpu, figures, count)) {
        fprintf(stderr, "%s cannot be written\n", options->json);
        failed++;
    }
    return count == 0 || failed > 0;
}

int main(int count, char **words)
{
    Options options;
    Arena arena = { 0 };
    jmp_buf full;
    Gpu gpu;
    if (!read_words(&options, count, words)) {
        fputs("usage: gpu [--rows NAME,NAME] [--seconds S] [--json FILE] [--trial]\n", stderr);
        return 2;
    }
    arena.failed = &full;
    if (setjmp(full)) {
        fputs("out of memory\n", stderr);
        return 1;
    }
    einc_context *context = einc_context_new(NULL);
    int status = context ? gpu_open(&gpu, &arena, context, options.trial) : 1;
    if (!context)
        return status;
    if (status)
        fputs(gpu.failure, stderr);
    else
        status = run(&gpu, &arena, &options);
    gpu_close(&gpu);
    einc_context_free(context);
    cublas_end();
    arena_free(&arena);
    return status;
}
