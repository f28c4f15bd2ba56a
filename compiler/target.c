#include "target.h"

#include <string.h>

#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"
#define AVX512_CPU "avx512f avx512bw avx512dq avx512vl fma f16c"

const Target targets[] = {
    { .name = "portable", .words = "portable vectors of 16 bytes", .vector_bytes = 16, .tile_rows = 6, .tile_vectors = 2, .spreads = true,
      .attribute = "",
      .features = "", .cpu = "", .l1_bytes = 32 << 10, .l2_bytes = 256 << 10,
      .fma_per_cycle = 1, .bytes_per_cycle = 4 },
    { .name = "avx2", .words = "AVX2 and FMA", .vector_bytes = 32, .tile_rows = 6, .tile_vectors = 2, .attribute = "avx2,fma,f16c",
      .features = "fma f16c", .cpu = "avx2 fma f16c", .l1_bytes = 32 << 10, .l2_bytes = 512 << 10,
      .fma_per_cycle = 2, .bytes_per_cycle = 4 },
    { .name = "avx512", .words = "AVX-512", .vector_bytes = 64, .tile_rows = 14, .tile_vectors = 2,
      .attribute = AVX512, .features = "fma f16c avx512", .cpu = AVX512_CPU, .l1_bytes = 32 << 10, .l2_bytes = 1 << 20,
      .fma_per_cycle = 2, .bytes_per_cycle = 5 },
    { .name = "avx512vnni", .words = "AVX-512 with VNNI", .vector_bytes = 64, .tile_rows = 14, .tile_vectors = 2,
      .group = { [DTYPE_I8] = 4 }, .attribute = AVX512 ",avx512vnni", .features = "fma f16c avx512 avx512vnni",
      .cpu = AVX512_CPU " avx512_vnni", .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .fma_per_cycle = 2, .bytes_per_cycle = 5 },
    { .name = "avx512bf16", .words = "AVX-512 with VNNI and BF16", .vector_bytes = 64, .tile_rows = 14, .tile_vectors = 2,
      .group = { [DTYPE_I8] = 4, [DTYPE_BF16] = 2 }, .attribute = AVX512 ",avx512vnni,avx512bf16",
      .features = "fma f16c avx512 avx512vnni avx512bf16", .cpu = AVX512_CPU " avx512_vnni avx512_bf16",
      .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .fma_per_cycle = 2, .bytes_per_cycle = 5 },
    { .name = NULL }
};

const Target *target_find(const char *name)
{
    for (const Target *t = targets; t->name; t++)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == 0 || at[length] == ' '))
            return true;
    return false;
}

bool target_has_feature(const void *target, const char *feature)
{
    return has_word(((const Target *)target)->features, feature);
}
