/* The driver: source - parse - Ast - check - Program - order - Program - lower - Program - plan - Plan - emit - Unit. */
#include "compile.h"

#include <string.h>

#include "coalesce.h"
#include "gather.h"
#include "turn.h"

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
static bool verify(const char *broken, const char *pass, Diags *diags)
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
    if (!c->program || !verify(program_verify(c->program), "check", diags))
        return NULL;
    dump_program(arena, options, "program", c->program);

    c->extents = extents_infer(arena, c->program, known_shapes(arena, c->program, &options->check), options->check.extents,
                               options->check.extent_count, diags);
    return c->extents && find_outputs(arena, c, options, diags) ? c : NULL;
}

static bool plan_as(Arena *arena, Compiled *c, const CompileOptions *options, const bool *wanted, const PlanHints *hints,
                    const Sweeping *sweeping, Diags *diags)
{
    const Program *program = c->gathered = gather(arena, c->order ? c->order->program : c->program, wanted, hints->nests, hints->extents,
                                                  options->target);
    if (!verify(program_verify(program), "gather", diags))
        return false;
    bool grid = options->target->grid;
    unsigned short *kinds = product_kinds(arena, program, hints->nests, hints->extents, options->target);
    const Tile *bf16 = options->target->narrow[DTYPE_BF16];
    for (int i = 0; i < program->term_count; i++) {
        if (grid)    /* threads that share a point all take the same way */
            kinds[i] &= (unsigned short)~PRODUCT_GUARDED;
        if (!grid && bf16)
            kinds[i] |= PRODUCT_ROUNDS;
        if (!grid && bf16 && bf16->dot && kinds[i] & PRODUCT_OF_BF16)
            kinds[i] |= PRODUCT_STRAIGHT;
    }
    const TurnHints turning = { options->target, hints->nests, !hints->smallest_tiles, hints->extents, hints->strides };
    const Turn *turned = grid ? NULL : turn_choose(arena, program, &turning);
    c->lowered = lower(arena, program, wanted, kinds, turned, hints->strides, sweeping);
    if (!verify(program_verify(c->lowered), "lower", diags))
        return false;
    c->plan = plan(arena, c->program, c->lowered, options->target, hints);
    if (!plan_has_whole_sweeps(c->plan))
        return plan_as(arena, c, options, wanted, hints, NULL, diags);
    return verify(plan_verify(c->plan), "plan", diags);
}

/* One worker's, where it can be known; else -1. */
static int64_t bytes_of(const Compiled *c, const Size *workspace)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    return size_evaluate(workspace, &values);
}

/* Whether one worker's workspace is within the budget, where it can be known. */
static bool fits(const Compiled *c, const Size *workspace, int64_t budget)
{
    int64_t bytes = bytes_of(c, workspace);
    return !budget || (bytes >= 0 && bytes <= budget);
}

enum {
    SWEEP_POINTS = 512, SWEEP_LEAST = 64,     /* of an index that is swept, at a time; with little memory */
    SWEEP_ROWS = 32               /* so many rows of a temporary, no longer in the second cache, are worth it */
};

/* By cost, where few rows of what is stored in between would fill the cache; with `points`, wherever it can be. */
static Sweeping sweeping_of(const Compiled *c, const CompileOptions *options, int64_t points)
{
    if (options->target->grid)
        return (Sweeping){ c->extents, INT64_MAX, SWEEP_POINTS };
    points = options->sweep && (!points || options->sweep < points) ? options->sweep : points;
    int64_t longest = options->target->l2_bytes / (SWEEP_ROWS * (int64_t)sizeof(float));
    return (Sweeping){ c->extents, points ? 0 : longest, points ? points : SWEEP_POINTS };
}

/* Loops with the least memory that can be met: with reductions in parts, whose states take some, or uncut; with values in
 * between whole or made some points at a time. The first of these that can do with the budget. */
static bool plan_loops(Arena *arena, Compiled *c, const CompileOptions *options, const bool *wanted, const PlanHints *hints, Diags *diags)
{
    Sweeping sweeping = sweeping_of(c, options, SWEEP_POINTS);
    PlanHints uncut = *hints;
    uncut.uncut = true;
    const struct Way { const PlanHints *hints; const Sweeping *sweeping; } ways[] = {
        { hints, NULL }, { &uncut, NULL }, { hints, &sweeping }, { &uncut, &sweeping },
    };
    Compiled plain = *c, *chosen = NULL, *least = NULL;
    plain.order = NULL;
    bool cuts = true;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0] && !(w > 1 && options->target->grid); w++) {
        if (ways[w].hints->uncut && !cuts)
            continue;
        Compiled *way = ARENA_NEW(arena, Compiled);
        *way = plain;
        if (!plan_as(arena, way, options, wanted, ways[w].hints, ways[w].sweeping, diags))
            return false;
        if (ways[w].sweeping && !plan_sweeps(way->plan))
            break;
        cuts = plan_has_split(way->plan);
        if (!least || bytes_of(c, way->plan->smallest) <= bytes_of(c, least->plan->smallest))
            least = way;
        bool preferred = !chosen || (options->sweep && ways[w].sweeping && !plan_sweeps(chosen->plan));
        if (preferred && fits(c, way->plan->smallest, options->memory))
            chosen = way;
    }
    const Size *smallest = least->plan->smallest;
    *c = chosen ? *chosen : *least;
    c->plan->smallest = smallest;
    return true;
}

/* Tiled products want room for what they pack, and so do values in between, turned copies and sums in memory. Where that
 * is more than the budget, what is reduced is in one part and values in between are made some points at a time, then smaller
 * tiles do with less, then products as they are written, and loops with the least that can be met. */
static bool plan_nests(Arena *arena, Compiled *c, const CompileOptions *options, const bool *wanted, PlanHints *hints,
                       Diags *diags)
{
    Sweeping sweeping = sweeping_of(c, options, 0);
    if (!plan_as(arena, c, options, wanted, hints, &sweeping, diags))
        return false;
    bool stores = !options->target->grid && plan_has_steps_together(c->plan);    /* what may be swept */
    if (!plan_wants_room(c->plan) && !c->order && !stores)
        return true;
    for (int64_t points = SWEEP_POINTS / 4; points >= SWEEP_LEAST && !fits(c, c->plan->workspace, options->memory); points /= 2) {
        hints->smallest_tiles = options->target->grid || points == SWEEP_LEAST;
        hints->uncut |= options->target->grid || plan_has_split(c->plan) || c->plan->stores_whole;
        sweeping = sweeping_of(c, options, points);
        if (!plan_as(arena, c, options, wanted, hints, &sweeping, diags))
            return false;
    }
    if (c->order && !fits(c, c->plan->workspace, options->memory)) {
        c->order = NULL;
        hints->smallest_tiles = hints->uncut = false;
        return plan_nests(arena, c, options, wanted, hints, diags);
    }
    Compiled loops = *c;
    hints->nests = NESTS_LOOPS;
    hints->uncut = false;
    if (!plan_loops(arena, &loops, options, wanted, hints, diags))
        return false;
    const Size *smallest = loops.plan->smallest;
    if (!fits(c, c->plan->workspace, options->memory) || !fits(c, smallest, options->memory))
        *c = loops;
    c->plan->smallest = smallest;
    return true;
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
    return verify(program_verify(program), "order", diags);
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
    if (!plan_nests(arena, c, options, wanted, &hints, diags))
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
