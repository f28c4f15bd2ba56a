/* The 48 contractions of the Tensor Contraction Benchmark v0.1 (P. Springer, P. Bientinesi: Design of a
 * high-performance GEMM-like tensor-tensor multiplication, TOMS 2018), with the extents that its rule gives. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* C-A-B; the first index of each is the one with stride 1. */
static const struct {
    const char *words;
    char narrow;                  /* this index has extent 24; 0: none */
} contractions[TCCG_COUNT] = {
    /* a matrix times a tensor (InTensLi) */
    { "abc-bda-dc", 'c' }, { "abc-dca-bd", 'b' }, { "abcd-dbea-ec", 'c' }, { "abcd-deca-be", 'b' },
    { "abcd-ebad-ce", 'c' }, { "abcde-efbad-cf", 'c' }, { "abcde-ecbfa-fd", 'd' }, { "abcde-efcad-bf", 'b' },
    /* a change of basis (AO to MO) */
    { "abcd-ea-ebcd", 0 }, { "abcd-eb-aecd", 0 }, { "abcd-ec-abed", 0 },
    /* coupled cluster, CCSD */
    { "ab-ac-cb", 0 }, { "ab-acd-dbc", 0 }, { "ab-cad-dcb", 0 }, { "abc-acd-db", 0 }, { "abc-ad-bdc", 0 },
    { "abc-adc-bd", 0 }, { "abc-adc-db", 0 }, { "abc-adec-ebd", 0 }, { "abcd-aebf-dfce", 0 }, { "abcd-aebf-fdec", 0 },
    { "abcd-aecf-bfde", 0 }, { "abcd-aecf-fbed", 0 }, { "abcd-aedf-bfce", 0 }, { "abcd-aedf-fbec", 0 },
    { "abcd-aefb-fdce", 0 }, { "abcd-aefc-fbed", 0 }, { "abcd-eafb-fdec", 0 }, { "abcd-eafc-bfde", 0 },
    { "abcd-eafd-fbec", 0 },
    /* coupled cluster, CCSD(T) */
    { "abcdef-dega-gfbc", 0 }, { "abcdef-degb-gfac", 0 }, { "abcdef-degc-gfab", 0 }, { "abcdef-dfga-gebc", 0 },
    { "abcdef-dfgb-geac", 0 }, { "abcdef-dfgc-geab", 0 }, { "abcdef-efga-gdbc", 0 }, { "abcdef-efgb-gdac", 0 },
    { "abcdef-efgc-gdab", 0 }, { "abcdef-gdab-efgc", 0 }, { "abcdef-gdac-efgb", 0 }, { "abcdef-gdbc-efga", 0 },
    { "abcdef-geab-dfgc", 0 }, { "abcdef-geac-dfgb", 0 }, { "abcdef-gebc-dfga", 0 }, { "abcdef-gfab-degc", 0 },
    { "abcdef-gfac-degb", 0 }, { "abcdef-gfbc-dega", 0 },
};

enum { NARROW = 24, FIRST_MULTIPLE = 24, MULTIPLE = 4 };

/* Its benchmark.py: about as many elements in the tensor of most indices as `bytes` hold, all indices alike, the one
 * with stride 1 rounded up to a multiple of 24, others to the nearest of 4. */
static int64_t extent_of(char index, char narrow, const char *c, const char *a, const char *b, double side)
{
    if (index == narrow)
        return NARROW;
    if (index == c[0] || index == a[0] || index == b[0])
        return (int64_t)((side + FIRST_MULTIPLE - 1) / FIRST_MULTIPLE) * FIRST_MULTIPLE;
    int64_t below = (int64_t)(side / MULTIPLE) * MULTIPLE,
            above = (int64_t)((side + MULTIPLE - 1) / MULTIPLE) * MULTIPLE;
    below = below < MULTIPLE ? MULTIPLE : below;
    return fabs(side - (double)above) < fabs(side - (double)below) ? above : below;
}

/* Its tensors are in Fortran order: the letters backwards for the same bytes in C order. */
static const char *backwards(Arena *arena, const char *word)
{
    size_t length = strlen(word);
    char *copy = arena_copy(arena, word, length);
    for (size_t i = 0; i < length; i++)
        copy[i] = word[length - 1 - i];
    return copy;
}

static const char *shape_words(Arena *arena, const char *word, const int64_t *extents)
{
    const char *words = "";
    for (size_t i = 0; word[i]; i++)
        words = arena_format(arena, "%s%s%lld", words, i ? "," : "", (long long)extents[word[i] - 'a']);
    return words;
}

Row tccg_row(Arena *arena, int i, Dtype dtype, double bytes)
{
    char c[AXES_MAX], a[AXES_MAX], b[AXES_MAX];
    int64_t extents[26] = { 0 };
    double flops = 2;
    sscanf(contractions[i].words, "%7[a-z]-%7[a-z]-%7[a-z]", c, a, b);
    size_t most = strlen(c) > strlen(a) ? strlen(c) : strlen(a);
    most = strlen(b) > most ? strlen(b) : most;
    double side = pow(bytes / (double)dtype_size(dtype), 1.0 / (double)most);
    for (const char *at = contractions[i].words; *at; at++)
        if (*at != '-' && !extents[*at - 'a']) {
            extents[*at - 'a'] = extent_of(*at, contractions[i].narrow, c, a, b, side);
            flops *= (double)extents[*at - 'a'];
        }
    const char *left = backwards(arena, a), *right = backwards(arena, b), *name = dtype_name(dtype);
    return (Row){
        .name = arena_format(arena, "tccg-%s-%s", name, contractions[i].words),
        .work = arena_format(arena, "TCCG %s %s", name, contractions[i].words),
        .expression = arena_format(arena, "%s,%s->%s", left, right, backwards(arena, c)),
        .operands = arena_format(arena, "%s %s; %s %s", name, shape_words(arena, left, extents), name,
                                 shape_words(arena, right, extents)),
        .flops = flops, .dtype = dtype, .bounds = BOUND_ALL, .goal = 0.85, .threads = 1,
    };
}
