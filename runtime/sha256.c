#include "sha256.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* FIPS 180-4, 6.2.2. */
static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22), s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + sha256_constants[t] + w[t];
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t sums[8] = { a, b, c, d, e, f, g, h };
    for (int i = 0; i < 8; i++)
        state[i] += sums[i];
}

#if defined(__x86_64__)

/* The same by the CPU's own instructions, whose registers have a, b, e, f and c, d, g, h. */
__attribute__((target("sha,sse4.1")))
static void add_blocks_by_cpu(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i dcba = _mm_loadu_si128((const __m128i *)state), hgfe = _mm_loadu_si128((const __m128i *)(state + 4));
    __m128i badc = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, efgh, 8), cdgh = _mm_blend_epi16(efgh, badc, 0xf0), w[4];
    for (; count; count--, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks + 16 * i)), big_endian);
#pragma GCC unroll 16
        for (int t = 0; t < 16; t++) {
            __m128i *now = &w[t % 4], next = w[(t + 1) % 4], last = w[(t + 3) % 4];
            __m128i sum = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)&sha256_constants[4 * t]));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            __m128i seventh = _mm_alignr_epi8(last, w[(t + 2) % 4], 4);
            *now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*now, next), seventh), last);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static bool cpu_does_it(void)
{
    return cpu_has("sha_ni") && cpu_has("sse4.2");
}

#else

static void add_blocks_by_cpu(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    (void)state, (void)blocks, (void)count;
}

static bool cpu_does_it(void)
{
    return false;
}

#endif

static void add_blocks(Sha256 *sha, const uint8_t *blocks, size_t count)
{
    if (!sha->plain)
        add_blocks_by_cpu(sha->state, blocks, count);
    for (; sha->plain && count; count--, blocks += 64)
        add_block(sha->state, blocks);
}

void sha256_begin(Sha256 *sha)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(sha->state, first, sizeof first);
    sha->length = 0;
    sha->plain = !cpu_does_it();
}

void sha256_add(Sha256 *sha, const void *bytes, size_t length)
{
    const uint8_t *next = bytes;
    size_t held = sha->length % 64;
    sha->length += length;
    if (held && length >= 64 - held) {
        memcpy(sha->block + held, next, 64 - held);
        add_blocks(sha, sha->block, 1);
        next += 64 - held;
        length -= 64 - held;
        held = 0;
    }
    if (!held) {
        add_blocks(sha, next, length / 64);
        next += length / 64 * 64;
        length %= 64;
    }
    if (length)
        memcpy(sha->block + held, next, length);
}

void sha256_end(Sha256 *sha, uint8_t digest[32])
{
    uint64_t bits = sha->length * 8;
    uint8_t end[72] = { 0x80 };
    size_t zeros = (119 - sha->length % 64) % 64;     /* so that the length ends a block */
    for (int i = 0; i < 8; i++)
        end[1 + zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(sha, end, 1 + zeros + 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
