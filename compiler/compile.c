/* The driver: source - parse - Ast - check - Program - order - Program - lower - Program - plan - Plan - emit - Unit. */
#include "compile_search.h"

#include <string.h>

#include "coalesce.h"

/* Where there is somebody to see it, what a pass made. */
static void dump_program(Arena *arena, const CompileOptions *options, const char *pass, const Program *program)
{
    Text text = text_new(arena);
    if (!options->dump)
        return;
    program_dump(&text, program);
    options->dump(options->user, pass, text.bytes);
}

static void dump_ast(Arena *arena, const CompileOptions *options, const Ast *ast)
{
    Text text = text_new(arena);
    if (!options->dump)
        return;
    ast_dump(&text, ast);
    options->dump(options->user, "ast", text.bytes);
}

static void dump_plan(Arena *arena, const CompileOptions *options, const Plan *plan)
{
    Text text = text_new(arena);
    if (!options->dump)
        return;
    plan_dump(&text, plan);
    options->dump(options->user, "plan", text.bytes);
}

/* A broken invariant is a fault of ours; the user gets a diagnostic and no kernel. */
bool compile_verify(const char *broken, const char *pass, Diags *diags)
{
    if (broken)
        diag_error_nowhere(diags, "internal error after %s: %s", pass, broken);
    return !broken;
}

/* ---- what is asked for ---- */

static void add_output(Arena *arena, Compiled *c, const Tensor *tensor)
{
    for (int o = 0; o < c->output_count; o++)
        if (c->outputs[o] == tensor)
            return;
    ARENA_APPEND(arena, c->outputs, c->output_count, tensor);
}

static void add_results(Arena *arena, Compiled *c)
{
    const Statement *result = program_result(c->program);
    for (int o = 0; o < result->output_count; o++)
        add_output(arena, c, result->outputs[o].tensor);
}

static bool find_outputs(Arena *arena, Compiled *c, const CompileOptions *options, Diags *diags)
{
    if (!options->output_count)
        add_results(arena, c);
    for (int i = 0; i < options->output_count; i++) {
        if (!options->outputs[i][0]) {
            add_results(arena, c);
            continue;
        }
        const Tensor *tensor = program_find(c->program, options->outputs[i]);
        if (tensor && tensor->maker) {
            add_output(arena, c, tensor);
            continue;
        }
        const char **names = ARENA_ARRAY(arena, const char *, c->program->tensor_count);
        size_t count = 0;
        for (int t = 0; t < c->program->tensor_count; t++)
            if (c->program->tensors[t]->maker && c->program->tensors[t]->name)
                names[count++] = c->program->tensors[t]->name;
        const char *name = options->outputs[i], *near = diag_nearest(name, strlen(name), names, count);
        diag_error_nowhere(diags, tensor ? "'%s' is an input, not an output" : "no statement makes '%s'", name);
        if (near)
            diag_hint(diags, "did you mean '%s'?", near);
        else if (!tensor && count == 0)
            diag_hint(diags, "name the result: '%s = ...'", name);
    }
    return diags->errors == 0;
}

/* The shapes that the operands' specs tell, by tensor id. */
static const int64_t *const *known_shapes(Arena *arena, const Program *program, const CheckOptions *check)
{
    const int64_t **shapes = ARENA_ARRAY(arena, const int64_t *, program->tensor_count);
    const int *places = check_bind(arena, program, check);
    for (int i = 0; i < check->operand_count; i++)
        if (places[i] >= 0)
            shapes[places[i]] = check->operands[i].shape;
    return shapes;
}

/* `widest`: the program, or what order made of it, which has more tensors behind the same ones. */
static const int64_t *const *known_strides(Arena *arena, const Program *program, const Program *widest,
                                           const CompileOptions *options)
{
    if (!options->strides)
        return NULL;
    const int64_t **strides = ARENA_ARRAY(arena, const int64_t *, widest->tensor_count);
    const int *places = check_bind(arena, program, &options->check);
    for (int i = 0; i < options->check.operand_count; i++)
        if (places[i] >= 0)
            strides[places[i]] = options->strides[i];
    return strides;
}

/* ---- the passes ---- */

Compiled *compile_front(Arena *arena, const Source *source, const CompileOptions *options, Diags *diags)
{
    Compiled *c = ARENA_NEW(arena, Compiled);
    Ast *ast = parse(arena, source, diags);
    if (!ast)
        return NULL;
    dump_ast(arena, options, ast);

    c->program = check(arena, ast, &options->check, diags);
    if (!c->program || !compile_verify(program_verify(c->program), "check", diags))
        return NULL;
    dump_program(arena, options, "program", c->program);

    c->extents = extents_infer(arena, c->program, known_shapes(arena, c->program, &options->check), options->check.extents,
                               options->check.extent_count, diags);
    return c->extents && find_outputs(arena, c, options, diags) ? c : NULL;
}

static const bool *wanted_tensors(Arena *arena, const Compiled *c, const Program *widest)
{
    bool *wanted = ARENA_ARRAY(arena, bool, widest->tensor_count);
    for (int o = 0; o < c->output_count; o++)
        wanted[c->outputs[o]->id] = true;
    return wanted;
}

static bool dump_order(Arena *arena, const Compiled *c, const CompileOptions *options, Diags *diags)
{
    const Program *program = c->order ? c->order->program : c->program;
    dump_program(arena, options, "order", program);
    return compile_verify(program_verify(program), "order", diags);
}

Compiled *compile_plan(Arena *arena, const Source *source, const CompileOptions *options, Diags *diags)
{
    Compiled *c = compile_front(arena, source, options, diags);
    if (!c)
        return NULL;
    PlanHints hints = { .extents = c->extents, .memory = options->memory, .nests = options->nests, .precision = options->precision,
                        .part = options->target->grid ? options->sweep : 0 };
    const bool *wanted = wanted_tensors(arena, c, c->program);
    c->order = order(arena, c->program, wanted, c->extents, options->nests, options->memory);
    if (!dump_order(arena, c, options, diags))
        return NULL;
    const Program *widest = c->order ? c->order->program : c->program;
    wanted = wanted_tensors(arena, c, widest);
    hints.strides = known_strides(arena, c->program, widest, options);
    hints.coalesced = options->target->grid ? c->extents : groups_extents(arena, c->program, c->extents, hints.strides);
    if (!program_reduces(c->program))
        hints.extents = hints.coalesced;
    const Search search = { arena, options, wanted, diags };
    if (!search_plan(&search, c, &hints))
        return NULL;
    dump_program(arena, options, "gather", c->gathered);
    dump_program(arena, options, "lower", c->lowered);
    dump_plan(arena, options, c->plan);

    c->emit = (EmitOptions){ options->name, options->command, options->statics, options->static_count };
    c->unit = emit_unit(arena, c->plan, &c->emit);
    if (options->target->grid && c->unit->frame_bytes > options->target->grid->frame_bytes)
        diag_error_nowhere(diags, "operands of so many axes are more than a kernel of '%s' takes", options->target->name);
    return diags->errors == 0 ? c : NULL;
}

const EmittedUnit *compile_text(Arena *arena, const Compiled *c, Diags *diags)
{
    const char *fault = NULL;
    const EmittedUnit *unit = (c->plan->target->grid ? emit_cuda : emit)(arena, c->plan, &c->emit, c->unit, &fault);
    if (!unit)
        diag_error_nowhere(diags, "internal error: the kernel's template and the emitter disagree about '%s'", fault);
    return unit;
}

Compiled *compile(Arena *arena, const Source *source, const CompileOptions *options, Diags *diags)
{
    Compiled *c = compile_plan(arena, source, options, diags);
    if (c)
        c->unit = compile_text(arena, c, diags);
    return c && c->unit ? c : NULL;
}
