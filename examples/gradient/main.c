/* MaxSim's gradient, written by hand as three statements, over the data in examples/data:
 *
 *     gradient [FOLDER]
 *
 * With loss = sum of weight[i,m] * score[i,m], only the token that wins the max counts, and it counts like a dot
 * product. So the gradient needs the winners and two scatters, and nothing of four dimensions. It is compared with
 * finite differences of the loss; the exit status is 1 when they disagree. */
#include "../example.h"

#define SCORES "Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | max n | sum j"

static const char gradient[] =
    "best[i,j,m] = Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < len[m], _, -inf) | argmax n\n"
    "dQ[i,j,k] += weight[i,m], D[m,best[i,j,m],k]\n"
    "dD[m,best[i,j,m],k] += weight[i,m], Q[i,j,k]\n";

typedef struct Problem {
    einc_context *context;
    Array *Q, *D, *len, *weight, *scores, *dQ, *dD;
    einc_kernel *score;
} Problem;

static Array *like(const Array *array)
{
    return array_new("f64", array->tensor.ndim, array->shape);
}

/* In double, so that the differences have digits left. */
static Array *load(einc_context *context, const char *folder, const char *name)
{
    Array *file = array_load(folder, name), *array = file ? like(file) : NULL;
    if (!file)
        return NULL;
    const DLTensor *in[] = { &file->tensor };
    einc_kernel *kernel = einc_compile(context, "x[...] -> [...]:f64",
                                       &(einc_options){ .examples = in, .example_count = 1 });
    if (!kernel || einc_call(kernel, in, 1, (DLTensor *[]){ &array->tensor }, 1, NULL)) {
        fprintf(stderr, "%s", einc_error(context));
        array_free(array);
        array = NULL;
    }
    einc_kernel_free(kernel);
    array_free(file);
    return array;
}

static bool compute_gradient(Problem *p)
{
    const DLTensor *in[] = { &p->Q->tensor, &p->D->tensor, &p->len->tensor, &p->weight->tensor };
    const DLTensor *examples[] = { in[0], in[1], in[2], in[3], &p->dQ->tensor, &p->dD->tensor };
    const char *names[] = { "Q", "D", "len", "weight", "dQ", "dD" };
    einc_options options = { .examples = examples, .example_names = names, .example_count = 6, .outputs = "dQ,dD" };
    DLTensor *out[] = { &p->dQ->tensor, &p->dD->tensor };
    size_t workspace = 0;
    einc_kernel *kernel = einc_compile(p->context, gradient, &options);
    double begin = seconds_now();
    bool done = kernel && !einc_workspace(kernel, in, 4, 1, &workspace) && !einc_call(kernel, in, 4, out, 2, NULL);
    if (done) {
        const int64_t *q = p->Q->shape, *d = p->D->shape;
        printf("%s\n", gradient);
        printf("time       %.1f ms\n", 1e3 * (seconds_now() - begin));
        printf("workspace  %.2f MB; [i,j,m,n] would take %.1f MB, [i,j,m,k] %.1f MB\n", 1e-6 * (double)workspace,
               8e-6 * (double)(q[0] * q[1] * d[0] * d[1]), 8e-6 * (double)(q[0] * q[1] * d[0] * q[2]));
    }
    einc_kernel_free(kernel);
    return done;
}

/* The loss at Q and D; NaN on failure. */
static double loss(const Problem *p)
{
    const DLTensor *in[] = { &p->Q->tensor, &p->D->tensor, &p->len->tensor };
    if (einc_call(p->score, in, 3, (DLTensor *[]){ &p->scores->tensor }, 1, NULL))
        return NAN;
    const double *scores = p->scores->tensor.data;
    const float *weight = p->weight->tensor.data;
    double sum = 0;
    for (int64_t e = 0; e < array_count(p->scores); e++)
        sum += (double)weight[e] * scores[e];
    return sum;
}

/* How fast the loss grows when x[e] does. Scores are linear in x while no max changes its mind, and so for a small
 * enough step. */
static double slope(const Problem *p, double *x)
{
    const double step = 1e-6, old = *x;
    *x = old + step;
    double above = loss(p);
    *x = old - step;
    double below = loss(p);
    *x = old;
    return (above - below) / (2 * step);
}

/* The largest difference at some elements spread over the array. Where all of a token is 0, the score has a kink. */
static double largest_error(const Problem *p, Array *array, const Array *derivative, int samples, int *compared)
{
    double *x = array->tensor.data, *d = derivative->tensor.data, error = 0;
    int64_t count = array_count(array), width = array->shape[array->tensor.ndim - 1];
    for (int s = 0; s < samples; s++) {
        int64_t e = s * (count / samples) + 7 * s % (count / samples), token = e / width * width;
        bool padding = true;
        for (int64_t k = token; k < token + width && padding; k++)
            padding = x[k] == 0;
        if (padding)
            continue;
        error = worse(error, fabs(slope(p, &x[e]) - d[e]));
        ++*compared;
    }
    return error;
}

static bool check(Problem *p)
{
    const DLTensor *in[] = { &p->Q->tensor, &p->D->tensor, &p->len->tensor };
    p->score = einc_compile(p->context, SCORES, &(einc_options){ .examples = in, .example_count = 3 });
    int of_queries = 0, of_documents = 0;
    double dQ = p->score ? largest_error(p, p->Q, p->dQ, 40, &of_queries) : NAN;
    double dD = p->score ? largest_error(p, p->D, p->dD, 24, &of_documents) : NAN;
    printf("dQ         %d elements compared with finite differences, max error %.1e\n", of_queries, dQ);
    printf("dD         %d elements, max error %.1e\n", of_documents, dD);
    return of_queries >= 20 && of_documents >= 20 && dQ < 1e-5 && dD < 1e-5;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "examples/data";
    einc_context *context = einc_context_new(NULL);
    Problem p = { .context = context, .Q = load(context, folder, "queries.npy"),
                  .D = load(context, folder, "documents.npy"), .len = array_load(folder, "document_lengths.npy") };
    bool right = false;
    if (p.Q && p.D && p.len) {
        p.dQ = like(p.Q);
        p.dD = like(p.D);
        p.weight = array_new("f32", 2, (int64_t[]){ p.Q->shape[0], p.D->shape[0] });
        p.scores = array_new("f64", 2, p.weight->shape);
        array_fill(p.weight, 3);
        right = compute_gradient(&p) && check(&p);
        fprintf(stderr, "%s", einc_error(context));
    }
    einc_kernel_free(p.score);
    Array *arrays[] = { p.Q, p.D, p.len, p.weight, p.scores, p.dQ, p.dD };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        array_free(arrays[i]);
    einc_context_free(context);
    return right ? 0 : 1;
}
