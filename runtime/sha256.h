/* SHA-256 (FIPS 180-4), a piece at a time. */
#ifndef EINC_SHA256_H
#define EINC_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Sha256 {
    uint32_t state[8];
    uint64_t length;              /* bytes so far */
    uint8_t block[64];
    bool plain;                   /* without the CPU's instructions for it; tests set it behind sha256_begin() */
} Sha256;

void sha256_begin(Sha256 *sha);
void sha256_add(Sha256 *sha, const void *bytes, size_t length);
void sha256_end(Sha256 *sha, uint8_t digest[32]);

#endif
