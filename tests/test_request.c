/* The key of what is asked for: it differs wherever the text may, and does not where it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime.h"

typedef struct Asked {
    Arena arena;
    int64_t shape[2], stride[2];
    const int64_t *strides[2];
    OperandSpec operands[2];
    ExtentSpec extents[2], statics[1];
    const char *outputs[2];
    const char *expression;
    CompileOptions options;
} Asked;

static CacheKey key_of(Asked *asked)
{
    Source source = { "expr", asked->expression, strlen(asked->expression) };
    return request_key(&asked->arena, &source, &asked->options);
}

/* Everything is there once, so that everything can change. */
static void ask(Asked *a, jmp_buf *full)
{
    *a = (Asked){ .arena = { .failed = full }, .shape = { 5, 6 }, .stride = { 6, 1 }, .expression = "ij,jk->ik" };
    a->strides[0] = a->stride;
    a->operands[0] = (OperandSpec){ "a", DTYPE_F32, 2, a->shape };
    a->operands[1] = (OperandSpec){ NULL, DTYPE_NONE, -1, NULL };
    a->extents[0] = (ExtentSpec){ .name = "i", .extent = 5 };
    a->extents[1] = (ExtentSpec){ .name = "k", .extent = 7 };
    a->statics[0] = (ExtentSpec){ .name = "j", .extent = 6 };
    a->outputs[0] = "x";
    a->outputs[1] = "";
    a->options = (CompileOptions){ .check = { a->operands, 2, a->extents, 2 }, .strides = a->strides, .outputs = a->outputs,
                                   .output_count = 2, .statics = a->statics, .static_count = 1, .target = target_find("portable"),
                                   .memory = 1 << 20, .name = "kernel" };
}

enum { CHANGES = 28 };

static void change(Asked *a, int number)
{
    switch (number) {
    case 0: break;
    case 1: a->expression = "ij,jk->ki"; break;
    case 2: a->shape[1] = 7; break;
    case 3: a->stride[0] = 7; break;
    case 4: a->strides[0] = NULL; break;
    case 5: a->strides[1] = a->stride; a->operands[1].rank = 2; break;
    case 6: a->options.strides = NULL; break;
    case 7: a->operands[0].name = NULL; break;
    case 8: a->operands[0].name = ""; break;
    case 9: a->operands[0].dtype = DTYPE_F64; break;
    case 10: a->operands[0].rank = 1; break;
    case 11: a->operands[0].shape = NULL; break;
    case 12: a->options.check.operand_count = 1; break;
    case 13: a->extents[0].name = "j"; break;
    case 14: a->extents[1].extent = 8; break;
    case 15: a->options.check.extent_count = 1; break;
    case 16: a->outputs[0] = "y"; break;
    case 17: a->options.output_count = 1; break;
    case 18: a->statics[0].extent = 5; break;
    case 19: a->options.static_count = 0; break;
    case 20: a->options.target = target_find("avx2"); break;
    case 21: a->options.memory = 0; break;
    case 22: a->options.nests = NESTS_LOOPS; break;
    case 23: a->options.sweep = 1; break;
    case 24: a->options.precision = (Precision)1; break;
    case 25: a->options.name = "kernel2"; break;
    case 26: a->options.command = "einc"; break;
    case 27: a->outputs[0] = "", a->outputs[1] = "x"; break;
    }
}

static void test_changes(void **state)
{
    CacheKey keys[CHANGES];
    jmp_buf full;
    (void)state;
    if (setjmp(full))
        fail();
    for (int i = 0; i < CHANGES; i++) {
        Asked asked;
        ask(&asked, &full);
        change(&asked, i);
        keys[i] = key_of(&asked);
        CacheKey again = key_of(&asked);
        assert_memory_equal(&keys[i], &again, sizeof again);
        arena_free(&asked.arena);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(&keys[i], &keys[j], sizeof again);
    }
}

/* Who adds a member adds it to request_key() and to the changes above, if the text depends on it. */
static void test_members(void **state)
{
    (void)state;
    if (sizeof(void *) != 8)
        skip();
    assert_int_equal(sizeof(CompileOptions), 144);
    assert_int_equal(sizeof(CheckOptions), 32);
    assert_int_equal(sizeof(OperandSpec), 24);
    assert_int_equal(sizeof(ExtentSpec), 24);
}

/* A compiler whose code or templates are others is another one: the build says so. */
static void test_identity(void **state)
{
    (void)state;
    assert_int_equal(strlen(build_identity), 64);
    assert_int_equal(strspn(build_identity, "0123456789abcdef"), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_changes), cmocka_unit_test(test_members), cmocka_unit_test(test_identity) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
