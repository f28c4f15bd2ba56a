/* The benchmarks: each row against what the machine can do.
 *
 *     build/bench/run [--rows NAME,…] [--seconds S] [--limit S] [--json FILE] [--list] [--serve] [--pretend F]
 *
 * `--rows maxsim,tccg-f32` takes the rows whose names begin so; a row takes about S seconds (3), and one whose single
 * call takes more than the limit (60) is given up. The exit code is 5 when a result is wrong, a call takes memory that
 * its plan does not have, or a share is above 102 %, which no right measurement can give; a goal that is missed is no
 * failure. `--pretend 0.1` takes the peaks for a tenth of what they are, so that a test can see that failure.
 *
 * `--serve` reads commands from the standard input and answers each with a line, so that another program can put runs
 * of its own between those of a row: "begin ROW FOLDER" makes the row ready and writes its operands and result there as
 * .npy; "round" measures it once: seconds of the fastest call, seconds that the peaks allow; "end". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct Bench {
    Arena arena;
    const Row *rows;
    const char *chosen;           /* NULL: all that are not too long */
    bool listing, serving;
    double seconds, limit, pretend;
    const char *path;             /* of `json` */
    FILE *json;
    bool first;                   /* nothing is in `json` yet */
    int broken;                   /* rows that may not be believed */
} Bench;

/* ---- choosing ---- */

static bool is_chosen(const Bench *b, const Row *row)
{
    const char *at = b->chosen;
    if (!at)
        return !row->only_named;
    for (size_t length; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (!strncmp(at, row->name, length) && (!row->only_named || !row->name[length]))
            return true;
    }
    return false;
}

/* ---- reporting ---- */

static void put_text(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', file);
        putc(*text, file);
    }
    putc('"', file);
}

static void write_json(Bench *b, const Work *work, const Figure *f)
{
    const Row *row = work->row;
    FILE *file = b->json;
    if (!file)
        return;
    fprintf(file, "%s\n{\"name\": ", b->first ? "[" : ",");
    b->first = false;
    put_text(file, row->name);
    fputs(", \"work\": ", file);
    put_text(file, row->work);
    fputs(", \"expression\": ", file);
    put_text(file, row->expression);
    fputs(", \"operands\": ", file);
    put_text(file, row->operands);
    fprintf(file, ", \"goal\": %g, \"threads\": %d, \"speedup_row\": %s, \"absent\": %s", row->goal, row->threads,
            row->speedup ? "true" : "false", work->absent ? "true" : "false");
    const char *failure = work->failure ? work->failure : f->failure;
    if (failure) {
        fputs(", \"failure\": ", file);
        put_text(file, failure);
    }
    if (f->rounds)
        fprintf(
            file,
            ", \"share\": %.6g, \"median\": %.6g, \"seconds\": %.6g, \"bound_seconds\": %.6g, \"bounded_by\": \"%s\", "
            "\"flops\": %.6g, \"peak_flops_per_second\": %.5g, \"read_bytes_per_second\": %.5g, "
            "\"write_bytes_per_second\": %.5g, \"speedup\": %.3f, \"rounds\": %d, \"checked\": %lld, "
            "\"workspace_bytes\": %zu, \"extra_bytes\": %.0f",
            f->share, f->median, f->best.seconds, f->bound, f->bounded_by, work->flops, f->best.compute, f->best.read,
            f->best.write, f->speedup, f->rounds, (long long)work->checked, work->workspace_bytes, work->extra_bytes);
    fputs("}", file);
    fflush(file);
}

static void print_row(const Work *work, const Figure *f)
{
    const Row *row = work->row;
    const char *failure = work->failure ? work->failure : f->failure;
    printf("%-26s", row->name);
    if (f->rounds)
        printf(" %6.1f %% of %-10s goal %5.1f  median %6.1f  %9.4g ms  %7.1f Gflop/s  peaks", 100 * f->share,
               f->bounded_by, 100 * row->goal, 100 * f->median, 1e3 * f->best.seconds,
               work->flops / f->best.seconds / 1e9);
    if (f->best.compute > 0)
        printf(" %.1f Gflop/s", f->best.compute / 1e9);
    if (f->best.read > 0)
        printf(" r %.1f GB/s", f->best.read / 1e9);
    if (f->best.write > 0)
        printf(" w %.1f GB/s", f->best.write / 1e9);
    if (f->speedup > 0)
        printf(" speed-up %.2f", f->speedup);
    if (failure)
        printf(" %s: %s", work->absent ? "not measured here" : "FAILED", failure);
    putchar('\n');
    fflush(stdout);
}

static void run_row(Bench *b, const Row *row)
{
    Work work;
    Figure figure = { 0 };
    if (work_begin(&work, &b->arena, row, b->limit))
        figure = measure(&work, &b->arena, b->seconds, b->pretend);
    b->broken += work.broken || (figure.failure && figure.share > SHARE_MAX && !row->speedup);
    print_row(&work, &figure);
    write_json(b, &work, &figure);
    work_end(&work);
}

/* ---- serving ---- */

static const Row *find_row(const Bench *b, const char *name)
{
    for (const Row *row = b->rows; row->name; row++)
        if (!strcmp(row->name, name))
            return row;
    return NULL;
}

static const char *serve_begin(Bench *b, Work *work, const char *name, const char *folder)
{
    const Row *row = find_row(b, name);
    *work = (Work){ .row = row };
    if (!row)
        return "failed: there is no such row";
    if (!work_begin(work, &b->arena, row, b->limit) || !work_export(work, &b->arena, folder))
        return arena_format(&b->arena, "failed: %s", work->failure);
    return arena_format(&b->arena, "ready %d %.17g", row->threads, work->flops);
}

static const char *serve_round(Bench *b, Work *work)
{
    Round round;
    const char *by = "";
    if (!work->row || work->failure || !measure_round(work, &b->arena, work->row->threads, &round))
        return arena_format(&b->arena, "failed: %s", work->failure ? work->failure : "no row is ready");
    double bound = bound_of(work, &round, &by);
    return arena_format(&b->arena, "round %.9g %.9g %s", round.seconds, bound, by);
}

static int serve(Bench *b)
{
    char line[4200], name[128], folder[4001];
    Work work = { 0 };
    while (fgets(line, sizeof line, stdin)) {
        const char *answer = "failed: no such command";
        if (sscanf(line, "begin %127s %4000s", name, folder) == 2) {
            work_end(&work);
            answer = serve_begin(b, &work, name, folder);
        } else if (!strcmp(line, "round\n")) {
            answer = serve_round(b, &work);
        } else if (!strcmp(line, "end\n")) {
            work_end(&work);
            work = (Work){ 0 };
            answer = "ended";
        }
        puts(answer);
        fflush(stdout);
    }
    work_end(&work);
    return 0;
}

/* ---- the command ---- */

static int list(const Bench *b)
{
    for (const Row *row = b->rows; row->name; row++)
        if (is_chosen(b, row) || !b->chosen)
            printf("%s\t%s\t%s\t%s\t%d\t%g\n", row->name, row->work, row->expression, row->operands, row->threads,
                   row->goal);
    return 0;
}

static int run_rows(Bench *b)
{
    int count = 0;
    if (b->path && !(b->json = fopen(b->path, "w"))) {
        perror(b->path);
        return 1;
    }
    for (const Row *row = b->rows; row->name; row++)
        if (is_chosen(b, row)) {
            run_row(b, row);
            count++;
        }
    if (b->json) {
        fputs(b->first ? "[]\n" : "\n]\n", b->json);
        fclose(b->json);
    }
    if (!count)
        fputs("run: no row has such a name\n", stderr);
    return !count ? 2 : b->broken ? 5 : 0;
}

static bool read_words(Bench *b, int count, char **words)
{
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : NULL;
        bool takes = true;
        if (!strcmp(words[i], "--list"))
            b->listing = true, takes = false;
        else if (!strcmp(words[i], "--serve"))
            b->serving = true, takes = false;
        else if (value && !strcmp(words[i], "--rows"))
            b->chosen = value;
        else if (value && !strcmp(words[i], "--json"))
            b->path = value;
        else if (value && !strcmp(words[i], "--seconds"))
            b->seconds = atof(value);
        else if (value && !strcmp(words[i], "--limit"))
            b->limit = atof(value);
        else if (value && !strcmp(words[i], "--pretend"))
            b->pretend = atof(value);
        else
            return false;
        i += takes;
    }
    return true;
}

int main(int count, char **words)
{
    jmp_buf full;
    Bench b = { .seconds = 3, .limit = 60, .pretend = 1, .first = true };
    if (!read_words(&b, count, words)) {
        fputs("usage: run [--rows NAME,...] [--seconds S] [--limit S] [--json FILE] [--list] [--serve] [--pretend F]\n",
              stderr);
        return 2;
    }
    b.arena.failed = &full;
    if (setjmp(full)) {
        fputs("run: out of memory\n", stderr);
        return 1;
    }
    b.rows = rows_all(&b.arena);
    int status = b.listing ? list(&b) : b.serving ? serve(&b) : run_rows(&b);
    arena_free(&b.arena);
    return status;
}
