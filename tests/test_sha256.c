/* The hash that names the cache's entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sha256.h"

static void expect_one(const char *text, size_t repeats, size_t piece, bool plain, const char *expected)
{
    Sha256 sha;
    uint8_t digest[32];
    char hex[65];
    size_t length = strlen(text) * repeats;
    char *whole = malloc(length + 1);
    for (size_t i = 0; i < repeats; i++)
        memcpy(whole + i * strlen(text), text, strlen(text));
    sha256_begin(&sha);
    sha.plain |= plain;
    for (size_t at = 0; at < length; at += piece)
        sha256_add(&sha, whole + at, length - at < piece ? length - at : piece);
    sha256_end(&sha, digest);
    for (int i = 0; i < 32; i++)
        sprintf(hex + 2 * i, "%02x", digest[i]);
    assert_string_equal(hex, expected);
    free(whole);
}

static void expect_digest(const char *text, size_t repeats, size_t piece, const char *expected)
{
    expect_one(text, repeats, piece, false, expected);
    expect_one(text, repeats, piece, true, expected);
}

/* The examples of FIPS 180 and of NIST's test vectors, in pieces of every size up to two blocks. */
static void test_sha256(void **state)
{
    (void)state;
    for (size_t piece = 1; piece <= 130; piece++) {
        expect_digest("", 1, piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        expect_digest("abc", 1, piece, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        expect_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, piece,
                      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        expect_digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrs"
                      "mnopqrstnopqrstu", 1, piece, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
    expect_digest("a", 1000000, 4097, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    expect_digest("a", 1000000, 1, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sha256) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
