/* What the CPU at hand can do, and so which targets it runs. */
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "runtime.h"

const char *const cpu_features[] = { "sse4.2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512dq",
                                     "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16",
                                     "amx_int8", "sha_ni", "intel", "neon", "sve", NULL };

#if defined(__x86_64__)

/* A feature by its bit in the registers of CPUID. */
typedef struct CpuidBit {
    const char *name;
    unsigned leaf, subleaf;
    int reg, bit;                 /* 0 is EAX */
    unsigned state;               /* what the system must save of a thread: bits of XCR0 */
} CpuidBit;

#define READ (1u << 31)           /* beside the bits of the features, one of each row */
#define BY_INTEL (1u << 30)

enum { STATE_AVX = 0x6, STATE_AVX512 = 0xe6, STATE_AMX = 0x60000 };

static const CpuidBit cpuid_bits[] = {
    { "sse4.2", 1, 0, 2, 20, 0 },
    { "avx", 1, 0, 2, 28, STATE_AVX },
    { "f16c", 1, 0, 2, 29, STATE_AVX },
    { "fma", 1, 0, 2, 12, STATE_AVX },
    { "avx2", 7, 0, 1, 5, STATE_AVX },
    { "avx_vnni", 7, 1, 0, 4, STATE_AVX },
    { "avx512f", 7, 0, 1, 16, STATE_AVX512 },
    { "avx512bw", 7, 0, 1, 30, STATE_AVX512 },
    { "avx512dq", 7, 0, 1, 17, STATE_AVX512 },
    { "avx512vl", 7, 0, 1, 31, STATE_AVX512 },
    { "avx512_vnni", 7, 0, 2, 11, STATE_AVX512 },
    { "avx512_bf16", 7, 1, 0, 5, STATE_AVX512 },
    { "avx512_fp16", 7, 0, 3, 23, STATE_AVX512 },
    { "amx_tile", 7, 0, 3, 24, STATE_AMX },
    { "amx_bf16", 7, 0, 3, 22, STATE_AMX },
    { "amx_int8", 7, 0, 3, 25, STATE_AMX },
    { "sha_ni", 7, 0, 1, 29, 0 },
};

/* What CPUID says, and with it XCR0: what the system saves and restores of a thread. */
static unsigned read_features(void)
{
    unsigned leaves[3][4] = { { 0 } }, maker = 0, most = __get_cpuid_max(0, &maker), low = 0, high = 0;
    unsigned known = READ | (maker == signature_INTEL_ebx ? BY_INTEL : 0);
    static const unsigned wanted[3][2] = { { 1, 0 }, { 7, 0 }, { 7, 1 } };
    for (int i = 0; i < 3; i++)
        if (wanted[i][0] <= most && (wanted[i][1] == 0 || leaves[1][0] >= 1))
            __cpuid_count(wanted[i][0], wanted[i][1], leaves[i][0], leaves[i][1], leaves[i][2], leaves[i][3]);
    if (leaves[0][2] >> 27 & 1)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    for (size_t i = 0; i < sizeof cpuid_bits / sizeof *cpuid_bits; i++) {
        const CpuidBit *bit = &cpuid_bits[i];
        const unsigned *leaf = leaves[bit->leaf == 1 ? 0 : 1 + bit->subleaf];
        if (leaf[bit->reg] >> bit->bit & 1 && (low & bit->state) == bit->state)
            known |= 1u << i;
    }
    return known;
}

/* The registers are so large that the system keeps them for those alone who ask. */
bool cpu_gives_tiles(void)
{
    enum { ASK_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA) == 0;
}

/* CPUID is asked once: each time it leaves a virtual machine, which takes tens of microseconds. */
bool cpu_has(const char *feature)
{
    static _Atomic unsigned features;
    unsigned known = features;
    if (!known)
        features = known = read_features();
    for (size_t i = 0; i < sizeof cpuid_bits / sizeof *cpuid_bits; i++)
        if (!strcmp(cpuid_bits[i].name, feature))
            return known >> i & 1;
    return !strcmp(feature, "intel") && known & BY_INTEL;
}

#elif defined(__aarch64__)

/* NEON is part of the architecture; SVE is what the kernel says. */
bool cpu_has(const char *feature)
{
    return !strcmp(feature, "neon") || (!strcmp(feature, "sve") && getauxval(AT_HWCAP) >> 22 & 1);
}

#else

bool cpu_has(const char *feature)
{
    (void)feature;
    return false;
}

#endif

#if !defined(__x86_64__)

bool cpu_gives_tiles(void)
{
    return false;
}

#endif

bool target_runs_here(const Target *target)
{
    char words[256];
    if (target->grid)
        return false;
    snprintf(words, sizeof words, "%s", target->cpu);
    char *rest = words;
    for (const char *word; (word = strtok_r(rest, " ", &rest));)
        if (!cpu_has(word))
            return false;
    return !target->permission || cpu_gives_tiles();
}
