#include "target.h"

#include <string.h>

#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"
#define AVX512_CPU "avx512f avx512bw avx512dq avx512vl fma f16c"
#define NARROW ",avx512vnni,avx512bf16"
#define NARROW_FEATURES "fma f16c avx512 avx512vnni avx512bf16"
#define NARROW_CPU AVX512_CPU " avx512_vnni avx512_bf16"

/* Cores of a maker beside their instructions: those of Zen 4 and 5; of Intel's, the older ones' caches and those from Sapphire Rapids on. */
#define ZEN .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .broadcasts = true, .streams = 4, .in_order = 32, .lines_apart = true
#define INTEL_BEFORE .l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .broadcasts = true, .by_pages = true, .in_order = 32, .asks = true
#define INTEL .l1_bytes = 48 << 10, .l2_bytes = 2 << 20, .rows_come = true, .by_pages = true, .in_order = 32, .asks = true

#define WITH_DOTS .vector_bytes = 64, .tile = &fourteen, .masks = true, .permutes = true, .attribute = AVX512 NARROW, .registers = 32, .sums = 16, \
    .narrow = { [DTYPE_I8] = &fourteen_i8, [DTYPE_I16] = &fourteen_of_two }, .dots = { [DTYPE_I8] = 2, [DTYPE_I16] = 2, [DTYPE_BF16] = 2 }, \
    .rates = { [DTYPE_I8] = 4, [DTYPE_I16] = 2 }, .fma_per_cycle = 2, .bytes_per_cycle = 5

#define VECTORS .words = 1, .least_rows = 1, .depth = 1024, .skeleton = "contract_vectors.c"

/* Four registers have the sums, two by two of 16 rows and 16 vectors' lanes. Of more words than DEPTH those of a tile's
 * rows and columns push each other out of L1; where these come from L2 anyway, keeping sums there costs more. */
#define TILES .rows = 32, .vectors = 2, .words = 16, .least_rows = 16, .depth = 128, .deep = 1024, .skeleton = "contract_tiles.c"

static const Tile six = { .rows = 6, .vectors = 2, .group = 1, VECTORS };
static const Tile six_of_pairs = { .rows = 6, .vectors = 2, .group = 1, .pair_rows = 6, VECTORS };
/* Of numbers of 16 bits, or of 8 that were widened to them. */
static const Tile six_of_two = { .rows = 6, .vectors = 2, .group = 2, VECTORS };
static const Tile fourteen = { .rows = 14, .vectors = 2, .group = 1, .pair_rows = 12, VECTORS };
static const Tile fourteen_of_two = { .rows = 14, .vectors = 2, .group = 2, VECTORS };
static const Tile fourteen_i8 = { .rows = 14, .vectors = 2, .group = 4, .has_starts = true, VECTORS };
static const Tile tiles_bf16 = { .group = 2, .dot = "TILE_DOT_BF16", TILES };
static const Tile tiles_i8 = { .group = 4, .dot = "TILE_DOT_I8", TILES };

/* One side's part is always the one before, which need not be loaded again; else small products come first. */
#define PARTS(n) .rows = 32, .vectors = 2, .group = 2, .parts = n, .words = n * 16, .least_rows = 16, .depth = n * 64, \
                 .skeleton = "contract_tiles.c", .dot = "TILE_DOT_BF16"

static const Tile three_products = { PARTS(2), .pairs = "01 00 10" };
static const Tile six_products = { PARTS(3), .pairs = "02 01 11 10 20 00" };

const Target targets[] = {
    { .name = "portable", .words = "portable vectors of 16 bytes", .vector_bytes = 16, .tile = &six, .spreads = true, .registers = 16, .sums = 12,
      .attribute = "",
      .features = "", .cpu = "", .l1_bytes = 32 << 10, .l2_bytes = 256 << 10,
      .fma_per_cycle = 1, .bytes_per_cycle = 4 },
    { .name = "avx2", .words = "AVX2 and FMA", .vector_bytes = 32, .tile = &six_of_pairs, .attribute = "avx2,fma,f16c",
      .permutes = true, .features = "fma f16c", .cpu = "avx2 fma f16c", .l1_bytes = 32 << 10, .l2_bytes = 512 << 10, .in_order = 8, .registers = 16, .sums = 12,
      .row_bytes = 4096, .apart = true, .asks = true,
      .narrow = { [DTYPE_I8] = &six_of_two, [DTYPE_I16] = &six_of_two }, .dots = { [DTYPE_I8] = 2, [DTYPE_I16] = 2 },
      .rates = { [DTYPE_I8] = 2, [DTYPE_I16] = 2 }, .fma_per_cycle = 2, .bytes_per_cycle = 4 },
    { .name = "avx512", .words = "AVX-512", .vector_bytes = 64, .tile = &fourteen, INTEL_BEFORE, .masks = true, .permutes = true,
      .attribute = AVX512, .features = "fma f16c avx512", .cpu = AVX512_CPU, .registers = 32, .sums = 16,
      .narrow = { [DTYPE_I8] = &fourteen_of_two, [DTYPE_I16] = &fourteen_of_two }, .dots = { [DTYPE_I8] = 2, [DTYPE_I16] = 2 },
      .rates = { [DTYPE_I8] = 2, [DTYPE_I16] = 2 }, .fma_per_cycle = 2, .bytes_per_cycle = 5 },
    { .name = "avx512vnni", .words = "AVX-512 with VNNI", .vector_bytes = 64, .tile = &fourteen, INTEL_BEFORE, .masks = true,
      .permutes = true, .attribute = AVX512 ",avx512vnni", .features = "fma f16c avx512 avx512vnni", .cpu = AVX512_CPU " avx512_vnni",
      .registers = 32, .sums = 16, .narrow = { [DTYPE_I8] = &fourteen_i8, [DTYPE_I16] = &fourteen_of_two },
      .dots = { [DTYPE_I8] = 2, [DTYPE_I16] = 2 }, .rates = { [DTYPE_I8] = 4, [DTYPE_I16] = 2 }, .fma_per_cycle = 2, .bytes_per_cycle = 5 },
    { .name = "avx512bf16", .words = "AVX-512 with VNNI and BF16", ZEN, .features = NARROW_FEATURES, .cpu = NARROW_CPU, WITH_DOTS,
      .narrow[DTYPE_BF16] = &fourteen_of_two, .rates[DTYPE_BF16] = 2 },
    { .name = "sapphirerapids", .words = "AVX-512 with VNNI and BF16 on Intel's cores", INTEL, .features = NARROW_FEATURES " adders", .cpu = NARROW_CPU " intel", WITH_DOTS, .slow_pairs = true },
    { .name = "amx", .words = "AVX-512 and AMX", .vector_bytes = 64, .tile = &fourteen, INTEL, .masks = true,
      .permutes = true, .narrow = { [DTYPE_I8] = &tiles_i8, [DTYPE_I16] = &fourteen_of_two, [DTYPE_BF16] = &tiles_bf16 },
      .dots = { [DTYPE_I8] = 2, [DTYPE_I16] = 2, [DTYPE_BF16] = 2 },
      .parts = { [PRECISION_BF16X3] = &three_products, [PRECISION_BF16X6] = &six_products }, .attribute = AVX512 NARROW,
      .features = NARROW_FEATURES " adders", .cpu = NARROW_CPU " amx_tile amx_bf16 amx_int8", .permission = "has_tiles",
      .registers = 32, .sums = 16,
      .rates = { [DTYPE_I8] = 32, [DTYPE_I16] = 2, [DTYPE_BF16] = 16 }, .fma_per_cycle = 2, .bytes_per_cycle = 5 },
    { .name = NULL }
};

/* A number's second part is at most 2^-8 of it, its third one and what two parts leave 2^-17. So three products leave out one
 * of 2^-16 and two remainders of 2^-17, six leave out two products of 2^-25 and one of 2^-34. Rounded to tf32 a number is off by
 * 2^-11 of it at most. */
const PrecisionFacts precisions[PRECISION_COUNT] = {
    [PRECISION_EXACT] = { "exact", "as precise as the dtypes", NULL, 0 },
    [PRECISION_TF32] = { "tf32", "one product of tf32 for one of f32", "2^-10", 0x1.1p-10 },
    [PRECISION_BF16X3] = { "bf16x3", "three products of bf16 for one of f32", "2^-15", 0x1p-14 },
    [PRECISION_BF16X6] = { "bf16x6", "six products of bf16 for one of f32", "2^-24", 0x1p-20 },
};

int precision_find(const char *name)
{
    for (int p = 0; p < PRECISION_COUNT; p++)
        if (!strcmp(precisions[p].name, name))
            return p;
    return -1;
}

const Target *target_find(const char *name)
{
    for (const Target *t = targets; t->name; t++)
        if (!strcmp(t->name, name))
            return t;
    for (const Target *t = grid_targets; t->name; t++)
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

bool target_may_ask(const char *word)
{
    return !has_word("f16c amx_tile amx_bf16 amx_int8", word);    /* gcc before 11, clang before 16 */
}

bool target_is_maker(const char *word)
{
    return has_word("intel", word);
}

bool target_has_feature(const void *target, const char *feature)
{
    return has_word(((const Target *)target)->features, feature);
}
