/* Answers 16 questions with 600 dictionary definitions by late interaction (MaxSim), as the README beside this file
 * explains:
 *
 *     demo [FOLDER]        FOLDER: examples/data
 *
 * One kernel answers the questions; four others compute all scores from padded and packed documents, in f16 and f32,
 * and are compared with the exact scores of scores.npy. The exit status is 1 when a number is wrong. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "../example.h"

#define PADDED "Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j"
#define PACKED "Q[i,j,k], D[start[m]+n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j"
#define ANSWERS PADDED " | topk(3) m & argtopk(3) m"

enum { BEST = 3, OPERANDS = 4, LINES = 600, LINE_BYTES = 256 };

/* A score is a sum of at most ten dot products of unit vectors, in f32. */
static const double TOLERANCE = 1e-5;

static const char *bold = "", *dim = "", *green = "", *red = "", *plain = "";
static int columns = 100;

static void ask_terminal(void)
{
    struct winsize size;
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col >= 40)
        columns = size.ws_col;
    if (!isatty(STDOUT_FILENO) || (none && *none) || (term && !strcmp(term, "dumb")))
        return;
    bold = "\033[1m";
    dim = "\033[2m";
    green = "\033[32m";
    red = "\033[31m";
    plain = "\033[0m";
}

/* ---- data ---- */

typedef struct Data {
    Array *queries, *documents, *lengths;     /* padded: [i,j,k] [m,n,k] [m] */
    Array *tokens, *offsets;                  /* packed: [token,k] [m+1] */
    Array *exact;                             /* [i,m] */
    char questions[LINES][LINE_BYTES], texts[LINES][LINE_BYTES];
} Data;

static bool load_lines(const char *folder, const char *name, char lines[LINES][LINE_BYTES])
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s is missing\n", path);
        return false;
    }
    for (int i = 0; i < LINES && fgets(lines[i], LINE_BYTES, file); i++)
        lines[i][strcspn(lines[i], "\n")] = 0;
    fclose(file);
    return true;
}

static bool load(Data *data, const char *folder)
{
    return (data->queries = array_load(folder, "queries.npy")) &&
           (data->documents = array_load(folder, "documents.npy")) &&
           (data->lengths = array_load(folder, "document_lengths.npy")) &&
           (data->tokens = array_load(folder, "document_tokens.npy")) &&
           (data->offsets = array_load(folder, "document_offsets.npy")) &&
           (data->exact = array_load(folder, "scores.npy")) && load_lines(folder, "queries.txt", data->questions) &&
           load_lines(folder, "documents.txt", data->texts);
}

static void release(Data *data)
{
    Array *arrays[] = { data->queries, data->documents, data->lengths, data->tokens, data->offsets, data->exact };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        array_free(arrays[i]);
}

/* ---- kernels ---- */

typedef struct Job {
    einc_context *context;
    einc_kernel *kernel;
    const DLTensor *in[OPERANDS];
    int in_count;
    double compile_seconds, seconds;          /* of one call: the median */
    size_t workspace;
} Job;

static bool compile(Job *job, const char *expression, const char *extents)
{
    einc_options options = { .examples = job->in, .example_count = job->in_count, .extents = extents };
    double begin = seconds_now();
    job->kernel = einc_compile(job->context, expression, &options);
    job->compile_seconds = seconds_now() - begin;
    return job->kernel && !einc_workspace(job->kernel, job->in, job->in_count, 1, &job->workspace);
}

static int by_size(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static bool run(Job *job, DLTensor **out, int out_count)
{
    enum { CALLS = 15 };
    double seconds[CALLS];
    for (int i = 0; i < CALLS; i++) {
        double begin = seconds_now();
        if (einc_call(job->kernel, job->in, job->in_count, out, out_count, NULL))
            return false;
        seconds[i] = seconds_now() - begin;
    }
    qsort(seconds, CALLS, sizeof *seconds, by_size);
    job->seconds = seconds[CALLS / 2];
    return true;
}

static bool failed(Job *job)
{
    fprintf(stderr, "%s", einc_error(job->context));
    einc_kernel_free(job->kernel);
    return false;
}

/* ---- the answers ---- */

static void print_indented(const char *text)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        printf("%s%.*s\n", length ? "    " : "", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* A text that `width` columns have room for. */
static void print_cut(const char *text, int width)
{
    if ((int)strlen(text) <= width)
        printf("%s\n", text);
    else
        printf("%.*s...\n", width - 3, text);
}

/* Whether `best` are the numbers of the largest exact scores, in order. */
static bool are_best(const float *exact, int64_t documents, const int64_t *best)
{
    for (int b = 0; b < BEST; b++) {
        int better = 0;
        if (best[b] < 0 || best[b] >= documents)
            return false;
        for (int64_t m = 0; m < documents; m++)
            better += exact[m] > exact[best[b]];
        if (better != b)
            return false;
    }
    return true;
}

static bool print_answers(const Data *data, const float *scores, const int64_t *best)
{
    int64_t documents = data->documents->shape[0];
    bool right = true;
    for (int64_t i = 0; i < data->queries->shape[0]; i++, scores += BEST, best += BEST) {
        printf("\n%s%s%s\n", bold, data->questions[i], plain);
        if (!are_best((const float *)data->exact->tensor.data + i * documents, documents, best)) {
            printf("  %sWRONG: these are not the best%s\n", red, plain);
            right = false;
            continue;
        }
        for (int b = 0; b < BEST; b++) {
            printf("  %s%5.2f%s  ", b ? dim : green, (double)scores[b], plain);
            print_cut(data->texts[best[b]], columns - 9);
        }
    }
    return right;
}

/* The expression goes on behind the scores, so that they are not stored either. */
static bool answer(einc_context *context, const Data *data)
{
    Job job = { .context = context, .in_count = 3,
                .in = { &data->queries->tensor, &data->documents->tensor, &data->lengths->tensor } };
    int64_t questions = data->queries->shape[0];
    Array *scores = array_new("f32", 2, (int64_t[]){ questions, BEST });
    Array *best = array_new("i64", 2, (int64_t[]){ questions, BEST });
    if (!compile(&job, ANSWERS, NULL) || !run(&job, (DLTensor *[]){ &scores->tensor, &best->tensor }, 2))
        return failed(&job);
    bool right = print_answers(data, scores->tensor.data, best->tensor.data);
    printf("\n%sWhat the kernel does%s\n\n", bold, plain);
    print_indented(einc_explain(job.kernel));
    printf("\nThe kernel was ready after %.0f ms and answered all %lld questions in %.1f ms.\n",
           1e3 * job.compile_seconds, (long long)questions, 1e3 * job.seconds);
    einc_kernel_free(job.kernel);
    array_free(scores);
    array_free(best);
    return right;
}

/* ---- against the exact scores ---- */

static void print_bytes(double bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    int unit = 0;
    for (; bytes >= 1000 && unit < 4; unit++)
        bytes /= 1000;
    printf(unit ? "%8.1f %s" : "%8.0f %s", bytes, units[unit]);
}

static bool compare(einc_context *context, const char *name, const char *expression, const char *extents,
                    const DLTensor *const *in, int in_count, const Array *exact)
{
    Job job = { .context = context, .in_count = in_count };
    memcpy(job.in, in, (size_t)in_count * sizeof *in);
    Array *scores = array_new("f32", 2, exact->shape);
    double error = 0, bytes = 0;
    if (!compile(&job, expression, extents) || !run(&job, (DLTensor *[]){ &scores->tensor }, 1))
        return failed(&job);
    const float *found = scores->tensor.data, *expected = exact->tensor.data;
    for (int64_t e = 0; e < array_count(exact); e++)
        error = worse(error, fabs((double)found[e] - (double)expected[e]));
    for (int i = 0; i < in_count; i++) {
        double size = in[i]->dtype.bits / 8.0;
        for (int a = 0; a < in[i]->ndim; a++)
            size *= (double)in[i]->shape[a];
        bytes += size;
    }
    bool right = error <= TOLERANCE;
    printf("  %-12s", name);
    print_bytes(bytes);
    printf("%8.2f ms  ", 1e3 * job.seconds);
    print_bytes((double)job.workspace);
    printf("    %.1e  %s%s%s\n", error, right ? green : red, right ? "right" : "WRONG", plain);
    einc_kernel_free(job.kernel);
    array_free(scores);
    return right;
}

/* einc converts, too. */
static Array *to_f32(einc_context *context, const Array *from)
{
    Array *to = array_new("f32", from->tensor.ndim, from->shape);
    const DLTensor *in[] = { &from->tensor };
    einc_kernel *kernel = einc_compile(context, "X[...] -> [...]:f32",
                                       &(einc_options){ .examples = in, .example_count = 1 });
    if (!kernel || einc_call(kernel, in, 1, (DLTensor *[]){ &to->tensor }, 1, NULL)) {
        array_free(to);
        to = NULL;
    }
    einc_kernel_free(kernel);
    return to;
}

/* All the scores in four ways. The packed form reads document m at rows start[m] to start[m] + len[m] - 1. */
static bool compare_all(einc_context *context, const Data *data)
{
    int64_t count = data->documents->shape[0], longest = data->documents->shape[1];
    char extents[40];
    snprintf(extents, sizeof extents, "n=%lld", (long long)longest);
    const DLTensor *lengths = &data->lengths->tensor;
    DLTensor start = data->offsets->tensor;
    start.shape = &count;                     /* the last offset is the end of the last document */
    Array *queries = to_f32(context, data->queries), *documents = to_f32(context, data->documents);
    Array *tokens = to_f32(context, data->tokens);
    if (!queries || !documents || !tokens) {
        fprintf(stderr, "%s", einc_error(context));
        return false;
    }
    printf("\n%sAll scores, compared with the exact ones%s\n\n", bold, plain);
    printf("  padded  %s\n  packed  %s\n\n", PADDED, PACKED);
    printf("  %sform            operands       time   workspace   max error%s\n", dim, plain);
    const struct {
        const char *name, *expression, *extents;
        int in_count;
        const DLTensor *in[OPERANDS];
    } forms[] = {
        { "padded f16", PADDED, NULL, 3, { &data->queries->tensor, &data->documents->tensor, lengths } },
        { "padded f32", PADDED, NULL, 3, { &queries->tensor, &documents->tensor, lengths } },
        { "packed f16", PACKED, extents, 4, { &data->queries->tensor, &data->tokens->tensor, &start, lengths } },
        { "packed f32", PACKED, extents, 4, { &queries->tensor, &tokens->tensor, &start, lengths } },
    };
    bool right = true;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        right &= compare(context, forms[f].name, forms[f].expression, forms[f].extents, forms[f].in, forms[f].in_count,
                         data->exact);
    array_free(queries);
    array_free(documents);
    array_free(tokens);
    return right;
}

static void print_not_needed(const Data *data)
{
    const int64_t *q = data->queries->shape, *d = data->documents->shape;
    printf("\nThe tensor in the middle, [i,j,m,n] in f32, was never stored. Bytes that were not needed:\n\n");
    printf("  %lldx%lldx%lld against %lldx%lldx%lld, here                 ", (long long)q[0], (long long)q[1],
           (long long)q[2], (long long)d[0], (long long)d[1], (long long)d[2]);
    print_bytes(4.0 * (double)(q[0] * q[1] * d[0] * d[1]));
    printf("\n  300x2000x256 against 315x1990x256, where einc began ");
    print_bytes(4.0 * 300 * 2000 * 315 * 1990);
    printf("\n");
}

static void print_commands(const char *folder)
{
    printf("\n%sThe same from the command line%s\n\n", bold, plain);
    printf("  build/einc run '" PADDED "' \\\n"
           "    -i %s/queries.npy -i %s/documents.npy \\\n"
           "    -i %s/document_lengths.npy\n\n", folder, folder, folder);
    printf("  build/einc run '\n"
           "    start[m] = offset[m+1] - len[m]\n"
           "    " PACKED "' \\\n"
           "    -d n=30 -i Q=%s/queries.npy -i D=%s/document_tokens.npy \\\n"
           "    -i offset=%s/document_offsets.npy -i len=%s/document_lengths.npy\n\n", folder, folder, folder, folder);
    printf("  build/einc explain '" PADDED "' \\\n    -d i=16,j=10,k=128,m=600,n=30\n");
}

int main(int argc, char **argv)
{
    static Data data;
    const char *folder = argc > 1 ? argv[1] : "examples/data";
    ask_terminal();
    einc_context *context = einc_context_new(NULL);
    bool right = context && load(&data, folder);
    if (right) {
        printf("%sA dictionary in reverse:%s %lld questions find their words among %lld definitions. Every token is\n"
               "a vector of %lld numbers; each token of a question takes its best match in the definition, and their\n"
               "sum is the score:\n\n  %s\n", bold, plain, (long long)data.queries->shape[0],
               (long long)data.documents->shape[0], (long long)data.queries->shape[2], ANSWERS);
        right = answer(context, &data);
        right &= compare_all(context, &data);
        print_not_needed(&data);
        print_commands(folder);
    }
    release(&data);
    einc_context_free(context);
    return right ? 0 : 1;
}
