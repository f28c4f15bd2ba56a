/* Plans of expressions, for tests of the planner. */
#ifndef TESTS_PLAN_TESTING_H
#define TESTS_PLAN_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compile.h"

typedef struct Planned {
    Arena arena;
    jmp_buf failed;
    Source source;
    Diags diags;
    Plan *plan;
} Planned;

static Planned *plan_of(const char *text, CompileOptions options)
{
    Planned *planned = calloc(1, sizeof *planned);
    assert_non_null(planned);
    planned->arena.failed = &planned->failed;
    assert_int_equal(setjmp(planned->failed), 0);
    planned->source = (Source){ "expr", text, strlen(text) };
    planned->diags = (Diags){ .arena = &planned->arena, .source = &planned->source };
    options.name = "test";
    options.command = "";
    Compiled *compiled = compile(&planned->arena, &planned->source, &options, &planned->diags);
    if (!compiled)
        fail_msg("%s: %s", text, planned->diags.first->message);
    planned->plan = compiled->plan;
    return planned;
}

static void end(Planned *planned)
{
    arena_free(&planned->arena);
    free(planned);
}

#endif
