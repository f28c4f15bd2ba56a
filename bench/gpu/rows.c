#include "rows.h"

#define MAXSIM "ijk,mnk->ijmn | max n | sum j"
#define MAXSIM_ONE "jk,mnk->jmn | max n | sum j"
/* Its weights are rounded before values are multiplied, as libraries do. */
#define ATTENTION "bhqd,bhkd->bhqk | _ * 0.0883883 | softmax k | bf16 | _ * bhkv -> bhqv:bf16"

#define PRODUCT(dtype, n, on, to) \
    { "product-" dtype "-" #n, "product " dtype ", " #n "³", "ik,kj->ij" to, dtype " " #n "," #n "; " dtype " " #n "," #n, \
      .trial = dtype " 20,33; " dtype " 33,18", .flops = 2.0 * n * n * n, .peak = on, .beside = BESIDE_PRODUCT, .has_goal = true }
/* f32 numbers rounded or in parts: these go beside cuBLAS's product of f32, or of such that it rounds, too. */
#define PRODUCT_IN(name, n, on, its_parts, as) \
    { "product-" name "-" #n, "product f32, --precision " name ", " #n "³", "ik,kj->ij", "f32 " #n "," #n "; f32 " #n "," #n, \
      .trial = "f32 20,33; f32 33,18", .flops = 2.0 * n * n * n, .peak = on, .parts = its_parts, .precision = name, .beside = as }

const Row rows[] = {
    { "rerank", "ColPali rerank bf16: a query of 1,024 tokens, 1,000 pages of 1,024, 128 numbers each", MAXSIM_ONE,
      "bf16 1024,128; bf16 1000,1024,128", .trial = "bf16 5,32; bf16 3,7,32", .flops = 2.0 * 1024 * 1000 * 1024 * 128,
      .peak = PEAK_BF16, .goal_rate = 650e12 },
    { "batch", "ColBERT in batch bf16: 128 queries of 32 tokens, 128 documents of 300, 128 numbers each", MAXSIM,
      "bf16 128,32,128; bf16 128,300,128", .trial = "bf16 2,4,32; bf16 3,5,32", .flops = 2.0 * 128 * 32 * 128 * 300 * 128,
      .peak = PEAK_BF16, .goal_rate = 500e12 },
    { "batch-f32", "the same in f32", MAXSIM, "f32 128,32,128; f32 128,300,128", .trial = "f32 2,4,32; f32 3,5,32",
      .flops = 2.0 * 128 * 32 * 128 * 300 * 128, .peak = PEAK_F32 },
    PRODUCT("bf16", 8192, PEAK_BF16, ":bf16"),
    PRODUCT("bf16", 2048, PEAK_BF16, ":bf16"),
    PRODUCT("f32", 4096, PEAK_F32, ""),
    PRODUCT("f64", 4096, PEAK_F64_MATRICES, ""),
    PRODUCT_IN("tf32", 4096, PEAK_TF32, 1, BESIDE_TF32),
    PRODUCT_IN("bf16x3", 4096, PEAK_BF16, 3, BESIDE_PRODUCT),
    PRODUCT_IN("bf16x6", 4096, PEAK_BF16, 6, BESIDE_PRODUCT),
    { "product-i8-8192", "product i8, 8192³, both sides' contracted numbers side by side", "ik,jk->ij", "i8 8192,8192; i8 8192,8192",
      .trial = "i8 20,33; i8 18,33", .flops = 2.0 * 8192 * 8192 * 8192, .peak = PEAK_I8, .beside = BESIDE_ALONG },
    { "attention", "attention forward bf16, weights cast to bf16, b=1 h=16 q=k=16,384 d=128", ATTENTION,
      "bf16 1,16,16384,128; bf16 1,16,16384,128; bf16 1,16,16384,128", .trial = "bf16 1,2,6,16; bf16 1,2,6,16; bf16 1,2,6,16",
      .flops = 4.0 * 16 * 16384 * 16384 * 128, .peak = PEAK_BF16, .goal_rate = 520e12 },
    /* For a pair three differences, three multiply-adds, a multiplication and a multiply-add; the exponential meanwhile takes its own
     * unit as long. */
    { "gaussian", "Gaussian sum f32, N=1,000,000 D=3, a pair as 8 multiply-adds", "(id - jd)^2 -> ij | exp(-0.5 * _) | * j -> i",
      "f32 1000000,3; f32 1000000,3; f32 1000000", .trial = "f32 40,3; f32 40,3; f32 40", .flops = 16e12, .peak = PEAK_F32,
      .goal_seconds = 0.30 },
    { .name = NULL }
};
