/* Builds the library of templates/ for one vector length and one instruction set, as the flags say: -DLANES=2, 4, 8 or
 * 16, and one of -DEINC_FMA, -DEINC_AVX512, -DEINC_AVX512BF16, -DEINC_NEON (or none), or -DEINC_SCALAR alone for plain scalars. */
#ifndef TESTS_TEMPLATES_H
#define TESTS_TEMPLATES_H

#include <stdbool.h>
#include <stdio.h>

#if defined EINC_AVX512BF16    /* a target with AVX-512, VNNI and BF16 */
#define EINC_AVX512
#define EINC_AVX512VNNI
#endif

#if defined EINC_AVX512
#define EINC_F16C
#define TARGETED __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")))
#elif defined EINC_FMA
#define EINC_F16C
#define TARGETED __attribute__((target("avx2,fma,f16c")))
#else
#define TARGETED
#endif
#define INLINE static inline __attribute__((always_inline, unused)) TARGETED
#define APART static __attribute__((noinline, unused)) TARGETED

#include "../templates/bundle.c"
#include "../templates/coming.c"
#include "../templates/complex_exp.c"
#include "../templates/dot.c"
#include "../templates/pieces.c"
#include "../templates/fold.c"
#include "../templates/fold_some.c"
#include "../templates/gather.c"
#include "../templates/real_erf.c"
#include "../templates/real_log.c"
#include "../templates/real_pow.c"
#include "../templates/real_trig.c"

/* The exit code that tests/run counts as skipped. */
enum { SKIPPED = 77 };

/* Whether this machine has what the build asks for; says so where it has not. */
static inline bool machine_fits(void)
{
#if defined EINC_AVX512
    bool fits = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#if defined EINC_AVX512BF16
    fits = fits && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
#endif
#elif defined EINC_FMA
    bool fits = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    bool fits = true;
#endif
    if (!fits)
        printf("skipped: this CPU lacks the instructions\n");
    return fits;
}

/* The lanes of a vector, or of a scalar where there are no vectors. */
#define LANES_OF(array, x) memcpy(array, &(x), sizeof(x))
#define FROM_LANES(x, array) memcpy(&(x), array, sizeof(x))

static inline uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

#endif
