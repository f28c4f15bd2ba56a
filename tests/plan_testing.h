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

/* How much of an index the first launch's units of work have at the extents that are given; 0: it has no blocks of the index. */
static inline int64_t tile_along(const Planned *planned, const char *index, const CheckOptions *given)
{
    const Program *program = planned->plan->program;
    const Launch *launch = planned->plan->launches[0];
    int64_t of[32] = { 0 };
    assert_true(program->index_count <= 32);
    for (int n = 0; n < program->index_count; n++)
        for (int x = 0; x < given->extent_count; x++)
            if (!strcmp(program->indices[n]->name, given->extents[x].name))
                of[n] = given->extents[x].extent;
    for (int b = 0; b < launch->block_count; b++)
        if (!strcmp(launch->blocks[b].of_step[0]->name, index))
            return size_evaluate(launch->blocks[b].tile, &(SizeValues){ of, NULL, 1 });
    return 0;
}

static void end(Planned *planned)
{
    arena_free(&planned->arena);
    free(planned);
}

#endif
