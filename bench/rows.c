#include "bench.h"

#define MAXSIM "ijk,mnk->ijmn | max n | sum j"
#define MAXSIM_ONE "jk,mnk->jmn | max n | sum j"
#define MAXSIM_RAGGED "Q[i,j,k], D[m,n,k] -> [i,j,m,n] | where(@n < length[m], _, -inf) | max n | sum j"

#define CACHE(dtype) dtype " 16,32,128; " dtype " 256,180,128"
#define CACHE_FLOPS (2.0 * 16 * 32 * 256 * 180 * 128)
#define ODD "f32 30,200,256; f32 32,199,256"
#define ODD_FLOPS (2.0 * 30 * 200 * 32 * 199 * 256)

/* One query of j tokens against documents of 180 tokens of 128: 32 of them in L2, or 1 GiB. */
#define ONE(dtype, j, m) dtype " " #j ",128; " dtype " " #m ",180,128"
#define ONE_FLOPS(j, m) (2.0 * j * m * 180 * 128)
#define GIB_F32 11651
#define GIB_16BIT 23302
#define GIB_I8 46604
#define STREAM_(dtype, j, m) ONE(dtype, j, m)
#define STREAM(dtype, j, m) .operands = STREAM_(dtype, j, m), .flops = ONE_FLOPS(j, m)

#define NARROW_ATTENTION(scale) "bhqd,bhkd->bhqk | _ * " scale " | softmax k | bf16 | _ * bhkv -> bhqv:bf16"
#define ATTENTION(scale) "bhqd,bhkd->bhqk | _ * " scale " | softmax k | * bhkv -> bhqv"
#define CAUSAL(scale) "bhqd,bhkd->bhqk | _ * " scale " | where(@q >= @k, _, -inf) | softmax k | * bhkv -> bhqv"

#define ONE_QUERY(scale) "bhd,bhkd->bhk | _ * " scale " | softmax k | * bhkv -> bhv"
#define GROUPED_QUERY(scale) "hgd,hkd->hgk | _ * " scale " | softmax k | * hkv -> hgv"

#define DEEP .operands = "f32 500000,64; f32 500000,64", .flops = 2.0 * 500000 * 64 * 64
#define SQUARE(dtype, n) .operands = dtype " " #n "," #n "; " dtype " " #n "," #n, .flops = 2.0 * n * n * n

#define PARTS(dtype, n) .operands = dtype " " #n "," #n "; " dtype " " #n "," #n, .flops = 8.0 * n * n * n

#define NEAREST .operands = "f32 10000,64; f32 10000,64", .flops = 2.0 * 10000 * 10000 * 64

/* Inner products of queries with many rows, of which the best are wanted. */
#define SEARCH(best, queries) \
    "qd,nd->qn | topk(" #best ") n", .operands = "f32 " #queries ",128; f32 200000,128", .flops = 2.0 * queries * 200000 * 128, \
    .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE | BOUND_READ

/* A layer with 3 x 3 weights and a border of zeros, batch 1. */
#define CONVOLUTION(title, c, side, least) \
    { "convolution-" title, "convolution f32, 3×3, padding 1, " #c " channels of " #side "²", \
      "where(@h+@r >= 1 && @h+@r <= " #side " && @w+@s >= 1 && @w+@s <= " #side ", x[n,c,h+r-1,w+s-1], 0), k[o,c,r,s] -> [n,o,h,w]", \
      .operands = "f32 1," #c "," #side "," #side "; f32 " #c "," #c ",3,3", .extents = "h=" #side ",w=" #side, \
      .flops = 2.0 * c * c * 9 * side * side, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = least }

static const Row rows[] = {
    /* MaxSim, f32 */
    { "maxsim-f32-cache", "MaxSim f32, i=16 j=32 m=256 n=180 k=128", MAXSIM, .operands = CACHE("f32"),
      .flops = CACHE_FLOPS, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.93 },
    { "maxsim-f32-odd", "MaxSim f32, i=30 j=200 m=32 n=199 k=256", MAXSIM, .operands = ODD, .flops = ODD_FLOPS,
      .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.93 },
    { "maxsim-f32-ragged", "MaxSim f32, i=16 j=32 m=256 k=128, n from 8 to 300, of the useful flops", MAXSIM_RAGGED,
      .operands = "f32 16,32,128; f32 256,300,128; i64 256", .flops = 2.0 * 16 * 32 * 256 * 300 * 128, .least = 8,
      .most = 300, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "maxsim-f32-stream-16", "MaxSim f32, 1 GiB streamed, a query of 16 tokens", MAXSIM_ONE,
      STREAM("f32", 16, GIB_F32), .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE | BOUND_READ, .goal = 0.90 },
    { "maxsim-f32-stream-32", "MaxSim f32, 1 GiB streamed, a query of 32 tokens", MAXSIM_ONE,
      STREAM("f32", 32, GIB_F32), .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE | BOUND_READ, .goal = 0.82 },
    { "maxsim-f32-stream-64", "MaxSim f32, 1 GiB streamed, a query of 64 tokens", MAXSIM_ONE,
      STREAM("f32", 64, GIB_F32), .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE | BOUND_READ, .goal = 0.90 },

    /* MaxSim on AMX */
    { "maxsim-bf16-amx-32", "MaxSim bf16, AMX, in cache, 32 query tokens", MAXSIM_ONE, STREAM("bf16", 32, 32),
      .target = "amx", .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE, .goal = 0.83 },
    { "maxsim-bf16-amx-128", "MaxSim bf16, AMX, in cache, 128 query tokens", MAXSIM_ONE, STREAM("bf16", 128, 32),
      .target = "amx", .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE, .goal = 0.86 },
    { "maxsim-bf16-amx-1024", "MaxSim bf16, AMX, in cache, 1024 query tokens", MAXSIM_ONE, STREAM("bf16", 1024, 32),
      .target = "amx", .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "maxsim-bf16-amx-stream", "MaxSim bf16, AMX, 1 GiB streamed, 32 query tokens", MAXSIM_ONE,
      STREAM("bf16", 32, GIB_16BIT), .target = "amx", .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE | BOUND_READ,
      .goal = 0.88 },
    { "maxsim-i8-amx-stream", "MaxSim int8, AMX, 1 GiB streamed, 32 query tokens", MAXSIM_ONE, STREAM("i8", 32, GIB_I8),
      .target = "amx", .dtype = DTYPE_I8, .bounds = BOUND_COMPUTE | BOUND_READ, .goal = 0.92 },
    { "maxsim-i8-amx-128", "MaxSim int8, AMX, in cache, 128 query tokens", MAXSIM_ONE, STREAM("i8", 128, 64),
      .target = "amx", .dtype = DTYPE_I8, .bounds = BOUND_COMPUTE, .goal = 0.80 },
    { "maxsim-bf16x6-1024", "MaxSim f32 by bf16x6, AMX, 1024 query tokens, of the FMA peak", MAXSIM_ONE,
      STREAM("f32", 1024, 16), .target = "amx", .unit = "avx512", .precision = "bf16x6", .dtype = DTYPE_F32,
      .bounds = BOUND_COMPUTE, .goal = 1.9 },
    { "maxsim-bf16x6-128", "MaxSim f32 by bf16x6, AMX, 128 query tokens, of the FMA peak", MAXSIM_ONE,
      STREAM("f32", 128, 16), .target = "amx", .unit = "avx512", .precision = "bf16x6", .dtype = DTYPE_F32,
      .bounds = BOUND_COMPUTE, .goal = 1.5 },
    { "maxsim-bf16x3-1024", "MaxSim f32 by bf16x3, AMX, 1024 query tokens, of the FMA peak", MAXSIM_ONE,
      STREAM("f32", 1024, 16), .target = "amx", .unit = "avx512", .precision = "bf16x3", .dtype = DTYPE_F32,
      .bounds = BOUND_COMPUTE, .goal = 3.8 },
    { "maxsim-bf16x3-128", "MaxSim f32 by bf16x3, AMX, 128 query tokens, of the FMA peak", MAXSIM_ONE,
      STREAM("f32", 128, 16), .target = "amx", .unit = "avx512", .precision = "bf16x3", .dtype = DTYPE_F32,
      .bounds = BOUND_COMPUTE, .goal = 3.2 },

    /* MaxSim, each instruction set against its own peak */
    { "maxsim-bf16", "MaxSim bf16, AVX-512-BF16, i=16 j=32 m=256 n=180 k=128", MAXSIM, .operands = CACHE("bf16"),
      .flops = CACHE_FLOPS, .target = "avx512bf16", .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "maxsim-i8", "MaxSim int8, AVX-512-VNNI, i=16 j=32 m=256 n=180 k=128", MAXSIM, .operands = CACHE("i8"),
      .flops = CACHE_FLOPS, .target = "avx512vnni", .dtype = DTYPE_I8, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "maxsim-f32-avx2", "MaxSim f32, AVX2, i=16 j=32 m=256 n=180 k=128", MAXSIM, .operands = CACHE("f32"),
      .flops = CACHE_FLOPS, .target = "avx2", .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "maxsim-f32-portable", "MaxSim f32, portable vectors, i=16 j=32 m=256 n=180 k=128", MAXSIM,
      .operands = CACHE("f32"), .flops = CACHE_FLOPS, .target = "portable", .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE,
      .goal = 0.90 },
    { "maxsim-f16", "MaxSim f16, f32 accumulators, i=16 j=32 m=256 n=180 k=128, of the FMA peak", MAXSIM,
      .operands = CACHE("f16"), .flops = CACHE_FLOPS, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.85 },

    /* products */
    { "product-f32-1024", "product f32, 1024³", "ik,kj->ij", SQUARE("f32", 1024), .dtype = DTYPE_F32,
      .bounds = BOUND_ALL, .goal = 0.90 },
    { "product-f32-2048", "product f32, 2048³", "ik,kj->ij", SQUARE("f32", 2048), .dtype = DTYPE_F32,
      .bounds = BOUND_ALL, .goal = 0.90 },
    { "product-c64-1024", "product c64, 1024³, four real products", "ik,kj->ij", PARTS("c64", 1024), .dtype = DTYPE_F32,
      .bounds = BOUND_ALL, .goal = 0.80 },
    { "product-c128-1024", "product c128, 1024³, four real products", "ik,kj->ij", PARTS("c128", 1024), .dtype = DTYPE_F64,
      .bounds = BOUND_ALL, .goal = 0.80 },
    { "product-c64-abs", "product c64, 1024³, the largest size of each row", "ik,kj->ij | abs | max j", PARTS("c64", 1024),
      .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "product-f32-abde", "product f32, abc,dec->abde, a=b=d=e=32 c=1024", "abc,dec->abde",
      .operands = "f32 32,32,1024; f32 32,32,1024", .flops = 2.0 * 1024 * 1024 * 1024, .dtype = DTYPE_F32,
      .bounds = BOUND_ALL, .goal = 0.90 },
    { "product-f32-deep", "product f32, 64×64 of 500,000 points", "kc,kn->cn", DEEP, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "product-bf16-2048", "product bf16, AMX, 2048³, bf16 out", "ik,kj->ij:bf16", SQUARE("bf16", 2048),
      .target = "amx", .dtype = DTYPE_BF16, .bounds = BOUND_ALL, .goal = 0.50 },

    /* products that are no work for tiles */
    { "small-4", "100,000 products f32 of 4×4", "bij,bjk->bik", .operands = "f32 100000,4,4; f32 100000,4,4",
      .flops = 2.0 * 100000 * 64, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.90 },
    { "small-24", "50 products f32 of 24×24, in cache", "bij,bjk->bik", .operands = "f32 50,24,24; f32 50,24,24",
      .flops = 2.0 * 50 * 24 * 24 * 24, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.60 },
    { "skinny-vector", "matrix times vector f32, 16384×8192", "ij,j->i", .operands = "f32 16384,8192; f32 8192",
      .flops = 2.0 * 16384 * 8192, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.90 },
    { "skinny-vector-bf16", "matrix times vector bf16, 16384×16384", "ij,j->i", .operands = "bf16 16384,16384; bf16 16384",
      .flops = 2.0 * 16384 * 16384, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.85 },
    { "skinny-vector-i8", "weights i8 times vector f32, scaled by rows, 32768×16384", "ij,j->i | _ * s[i]", .operands = "i8 32768,16384; f32 16384; f32 32768",
      .flops = 2.0 * 32768 * 16384, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.75 },
    { "skinny-8", "8 rows times matrix f32, 8192×16384", "ck,kn->cn", .operands = "f32 8,8192; f32 8192,16384",
      .flops = 16.0 * 16384 * 8192, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "skinny-8-turned", "8 rows times matrix f32, 16384×8192, transposed", "ck,nk->cn", .operands = "f32 8,8192; f32 16384,8192",
      .flops = 16.0 * 16384 * 8192, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "skinny-dot", "dot product f32, 2^26", "i,i->", .operands = "f32 67108864; f32 67108864",
      .flops = 2.0 * (1 << 26), .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.90 },
    { "skinny-outer", "outer product f32, 16384×8192", "i,j->ij", .operands = "f32 16384; f32 8192",
      .flops = 16384.0 * 8192, .dtype = DTYPE_F32, .bounds = BOUND_WRITE, .goal = 0.90 },
    { "skinny-rows-sum", "dot product f32 of rows of three, 2^24×3", "nd,nd->", .operands = "f32 16777216,3; f32 16777216,3",
      .flops = 6.0 * (1 << 24), .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.90 },
    { "skinny-columns", "sums of columns f32, 16384×8192", "ij->j", .operands = "f32 16384,8192",
      .flops = 16384.0 * 8192, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.90 },

    /* two products with a map between them */
    { "attention-64", "attention f32, b=1 h=8 q=k=2048 d=64", ATTENTION("0.125"), .operands = "f32 1,8,2048,64; f32 1,8,2048,64; f32 1,8,2048,64",
      .flops = 4.0 * 8 * 2048 * 2048 * 64, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.75 },
    { "attention-128", "attention f32, b=1 h=8 q=k=2048 d=128", ATTENTION("0.0883883"), .operands = "f32 1,8,2048,128; f32 1,8,2048,128; f32 1,8,2048,128",
      .flops = 4.0 * 8 * 2048 * 2048 * 128, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.80 },
    { "attention-causal-128", "attention f32, causal, b=1 h=8 q=k=2048 d=128, of the useful flops", CAUSAL("0.0883883"), .operands = "f32 1,8,2048,128; f32 1,8,2048,128; f32 1,8,2048,128",
      .flops = 2.0 * 8 * 2048 * 2049 * 128, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.70 },
    { "attention-one", "attention f32 of one query, b=8 h=32 k=1024 d=128", ONE_QUERY("0.0883883"), .operands = "f32 8,32,128; f32 8,32,1024,128; f32 8,32,1024,128",
      .flops = 4.0 * 8 * 32 * 1024 * 128, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "attention-grouped", "… in groups of 4 heads, h=8 k=32768 d=128", GROUPED_QUERY("0.0883883"), .operands = "f32 8,4,128; f32 8,32768,128; f32 8,32768,128",
      .flops = 4.0 * 8 * 4 * 32768 * 128, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "attention-grouped-bf16", "… keys and values of bf16", GROUPED_QUERY("0.0883883"), .operands = "f32 8,4,128; bf16 8,32768,128; bf16 8,32768,128",
      .flops = 4.0 * 8 * 4 * 32768 * 128, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.80 },
    { "attention-bf16-64", "attention bf16, AMX, b=1 h=8 q=k=2048 d=64, weights cast to bf16", NARROW_ATTENTION("0.125"),
      .operands = "bf16 1,8,2048,64; bf16 1,8,2048,64; bf16 1,8,2048,64", .flops = 4.0 * 8 * 2048 * 2048 * 64, .target = "amx",
      .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE, .goal = 0.33 },
    { "attention-bf16-128", "attention bf16, AMX, b=1 h=8 q=k=2048 d=128, weights cast to bf16", NARROW_ATTENTION("0.0883883"),
      .operands = "bf16 1,8,2048,128; bf16 1,8,2048,128; bf16 1,8,2048,128", .flops = 4.0 * 8 * 2048 * 2048 * 128, .target = "amx",
      .dtype = DTYPE_BF16, .bounds = BOUND_COMPUTE, .goal = 0.45 },

    /* other semirings, and distances: two operations for each combination */
    { "log-512", "logsumexp product f32, 512³, of our product", "ik + kj -> ikj | logsumexp k", SQUARE("f32", 512), .dtype = DTYPE_F32,
      .bounds = BOUND_OTHER, .other = "ik,kj->ij", .goal = 0.80 },
    { "log-batched", "logsumexp product f32, 40 of 200³, of our product", "bik + bkj -> bikj | logsumexp k",
      .operands = "f32 40,200,200; f32 40,200,200", .flops = 2.0 * 40 * 200 * 200 * 200, .dtype = DTYPE_F32,
      .bounds = BOUND_OTHER, .other = "bik,bkj->bij", .goal = 0.70 },
    { "log-unsafe-512", "logsumexp product f32, 512³, numbers too far apart, of sums and exponentials", "ik + kj -> ikj | logsumexp k",
      SQUARE("f32", 512), .data = DATA_WIDE, .dtype = DTYPE_F32, .bounds = BOUND_OTHER, .other = "ik + kj -> ikj | exp | sum k", .goal = 0.75 },
    { "max-plus-1024", "(max,+) product f32, 1024³", "ik + kj -> ikj | max k", SQUARE("f32", 1024), .unit = "maxima",
      .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "min-plus-1024", "(min,+) product f32, 1024³", "ik + kj -> ikj | min k", SQUARE("f32", 1024), .unit = "maxima",
      .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.90 },
    { "max-plus-nan-1024", "(max,+) product f32, 1024³, with a NaN", "ik + kj -> ikj | max k", SQUARE("f32", 1024), .unit = "nans",
      .data = DATA_ONE_NAN, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.85 },
    { "nearest-min", "nearest of 10,000 to 10,000 f32, d=64, exact differences", "(ik - jk)^2 -> ij | min j", NEAREST,
      .unit = "squares", .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.85 },
    { "nearest-bottomk", "ten nearest of 10,000 to 10,000 f32, d=64, of the nearest alone", "(ik - jk)^2 -> ij | bottomk(10) j", NEAREST,
      .dtype = DTYPE_F32, .bounds = BOUND_OTHER, .other = "(ik - jk)^2 -> ij | min j", .goal = 0.87 },
    { "nearest-expanded", "nearest of 10,000 to 10,000 f32, d=64, by squares and products, of the largest product",
      "n = x[i,k]^2 -> [i] ; m = y[j,k]^2 -> [j] ; x[i,k], y[j,k] -> [i,j] | n[i] + m[j] - 2 * _ | min j", NEAREST,
      .dtype = DTYPE_F32, .bounds = BOUND_OTHER, .other = "ik,jk->ij | min j", .goal = 0.85 },
    { "search-16", "ten best of 200,000 rows for 16 queries f32, d=128", SEARCH(10, 16), .goal = 0.75 },
    { "search-256", "… for 256 queries", SEARCH(10, 256), .goal = 0.80 },
    { "search-256-100", "… the hundred best", SEARCH(100, 256), .goal = 0.70 },
    { "gaussian", "Gaussian sum f32, N=20,000 D=3", "(id - jd)^2 -> ij | exp(-0.5 * _) | * jv -> iv",
      .operands = "f32 20000,3; f32 20000,3; f32 20000,1", .flops = 2.0 * 20000 * 20000, .unit = "gaussians",
      .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.70 },

    /* several statements */
    { "cross-entropy", "linear cross entropy f32, 512 tokens, hidden 1024, vocabulary 32,000, of our product",
      "lse = X[t,h], W[v,h] -> [t,v] | logsumexp v ; pick = X[t,h], W[y[t],h] -> [t] ; lse[t] - pick[t]",
      .operands = "f32 512,1024; f32 32000,1024; i64 512", .labels = 32000, .flops = 2.0 * 512 * 1024 * 32000, .dtype = DTYPE_F32,
      .bounds = BOUND_OTHER, .other = "th,vh->tv", .other_operands = "f32 512,1024; f32 32000,1024", .goal = 0.85 },

    /* convolutions */
    CONVOLUTION("56", 64, 56, 0.80), CONVOLUTION("28", 128, 28, 0.80), CONVOLUTION("14", 256, 14, 0.70),
    CONVOLUTION("7", 512, 7, 0.50),

    /* two threads: 0.95 of the bound's speed-up is 1.9 where the bound doubles */
    { "threads-maxsim-cache", "two threads: MaxSim f32, i=16 j=32 m=256 n=180 k=128", MAXSIM, .operands = CACHE("f32"),
      .flops = CACHE_FLOPS, .threads = 2, .speedup = true, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.95 },
    { "threads-maxsim-odd", "two threads: MaxSim f32, i=30 j=200 m=32 n=199 k=256", MAXSIM, .operands = ODD,
      .flops = ODD_FLOPS, .threads = 2, .speedup = true, .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.95 },
    { "threads-maxsim-stream", "two threads: MaxSim f32, 1 GiB streamed, a query of 32 tokens", MAXSIM_ONE,
      STREAM("f32", 32, GIB_F32), .threads = 2, .speedup = true, .dtype = DTYPE_F32,
      .bounds = BOUND_COMPUTE | BOUND_READ, .goal = 0.95 },
    { "threads-product-2048", "two threads: product f32, 2048³", "ik,kj->ij", SQUARE("f32", 2048), .threads = 2,
      .speedup = true, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.95 },

    { "threads-product-deep", "two threads: product f32, 64×64 of 500,000 points", "kc,kn->cn", DEEP, .threads = 2,
      .speedup = true, .dtype = DTYPE_F32, .bounds = BOUND_ALL, .goal = 0.95 },

    /* minutes of work */
    { "first-question", "two threads: MaxSim f32, 300×2000×256 against 315×1990×256", MAXSIM,
      .operands = "f32 300,2000,256; f32 315,1990,256", .flops = 2.0 * 300 * 2000 * 315 * 1990 * 256, .threads = 2,
      .dtype = DTYPE_F32, .bounds = BOUND_COMPUTE, .goal = 0.93, .only_named = true },
    { .name = NULL }
};

enum { FIXED = sizeof rows / sizeof *rows - 1 };

const Row *rows_all(Arena *arena)
{
    static const Dtype dtypes[] = { DTYPE_F32, DTYPE_F64 };
    Row *all = ARENA_ARRAY(arena, Row, FIXED + 2 * TCCG_COUNT + 1);
    for (int i = 0; i < FIXED; i++) {
        all[i] = rows[i];
        all[i].threads += !all[i].threads;
    }
    for (int i = 0; i < 2 * TCCG_COUNT; i++)
        all[FIXED + i] = tccg_row(arena, i % TCCG_COUNT, dtypes[i / TCCG_COUNT], TCCG_BYTES);
    return all;
}
