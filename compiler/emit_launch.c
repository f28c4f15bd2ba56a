/* Launches: the function of one task, which finds the blocks of its units and calls the steps; and the order of it all. */
#include <string.h>

#include "emitting.h"

/* A block's first index and the one behind its last, from what is left of the unit's number. */
static void emit_block(Emitter *e, Text *text, const Launch *launch, int b)
{
    const Block *block = &launch->blocks[b];
    const char *name = e->block_names[launch->id][b], *extent = emit_size(e, block->extent), *tile = emit_size(e, block->tile);
    const char *left = launch->block_count == 1 ? "unit" : "rest";
    bool whole = b > 0;
    if (size_is_constant(block->tile, 1)) {
        text_print(text, "        const int64_t %s_first = %s%s%s, %s_end = %s_first + 1;\n", name, left, whole ? " % " : "",
                   whole ? extent : "", name, name);
        if (whole)
            text_print(text, "        rest /= size_max(%s, 1);\n", extent);
        return;
    }
    if (whole)
        text_print(text, "        const int64_t %s_tiles = size_max(size_ceil_div(%s, %s), 1);\n", name, extent, tile);
    text_print(text, "        const int64_t %s_first = %s%s%s%s * %s, %s_end = size_min(%s_first + %s, %s);\n", name, left,
               whole ? " % " : "", whole ? name : "", whole ? "_tiles" : "", tile, name, name, tile, extent);
    if (whole)
        text_print(text, "        rest /= %s_tiles;\n", name);
}

/* ---- whether anybody reads a temporary ---- */

/* Conditions under which a term is evaluated at all: conjunctions of extents that are not 0, joined by "||". */
typedef struct Reached {
    Emitter *e;
    const Tensor *tensor;
    const char *any;              /* "" for none */
    bool always;
} Reached;

static const char *and_loops(Emitter *e, const char *around, Index *const *indices, int count)
{
    for (int i = 0; i < count; i++) {
        const char *test = emit_text(e, "%s > 0", emit_extent(e, indices[i]));
        if (!strstr(around, test))
            around = emit_text(e, "%s%s%s", around, around[0] ? " && " : "", test);
    }
    return around;
}

/* Adds the loops around each read of the tensor in a term. */
static void reach_reads(Reached *r, const Term *term, const char *around)
{
    switch (term->kind) {
    case TERM_READ:
        if (term->read.tensor->home == r->tensor->home && !strstr(r->any, emit_text(r->e, "(%s)", around)))
            r->any = emit_text(r->e, "%s%s(%s)", r->any, r->any[0] ? " || " : "", around);
        r->always |= term->read.tensor->home == r->tensor->home && !around[0];
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].gather)
                    reach_reads(r, term->read.positions[a].parts[k].gather, around);
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            reach_reads(r, term->map.arguments[i], around);
        break;
    case TERM_SELECT:
        reach_reads(r, term->select.condition, around);
        reach_reads(r, term->select.yes, around);
        reach_reads(r, term->select.no, around);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        reach_reads(r, term->reduce.argument, and_loops(r->e, around, term->reduce.over, term->reduce.over_count));
        break;
    case TERM_CONSTANT:
    case TERM_POSITION: break;
    }
}

/* A temporary that nobody reads may not fail: the condition under which a step that can read out of range is needed, ""
 * for always. */
static const char *needed_when(Emitter *e, const Step *step)
{
    const Output *output = &step->statement->outputs[0];
    bool misses = e->misses[output->value->id];
    for (int a = 0; a < output->tensor->rank; a++)
        misses |= !position_is_plain(&output->positions[a]);
    if (!misses || e->plan->storage[output->tensor->home->id].place == PLACE_CALLER)
        return "";
    Reached r = { e, output->tensor, "", false };
    for (int s = step->id + 1; s < e->plan->step_count; s++) {
        const Step *reader = e->plan->steps[s];
        for (int o = 0; o < reader->statement->output_count; o++) {
            const Output *into = &reader->statement->outputs[o];
            const char *around = and_loops(e, needed_when(e, reader), reader->loops, reader->loop_count);
            reach_reads(&r, into->value, around);
            for (int a = 0; a < into->tensor->rank; a++)
                for (int k = 0; k < into->positions[a].count; k++)
                    if (into->positions[a].parts[k].gather)
                        reach_reads(&r, into->positions[a].parts[k].gather, around);
        }
    }
    bool one = r.any[0] && !strstr(r.any, " || ");
    return r.always ? "" : one ? emit_bare(e, r.any) : emit_text(e, "(%s)", r.any);
}

static void emit_call(Emitter *e, Text *text, const Step *step)
{
    const char *needed = needed_when(e, step), *call = e->calls[0][step->id];
    if (needed[0])
        text_print(text, "        if (%s)\n            %s\n", emit_bare(e, needed), call);
    else
        text_print(text, "        %s\n", call);
}

void emit_launch(Emitter *e, const Launch *launch)
{
    int id = launch->id + 1;
    Text body = text_new(e->arena), calls = text_new(e->arena);
    for (int s = 0; s < launch->step_count; s++)
        emit_step(e, launch, launch->steps[s]);
    for (int s = 0; s < launch->step_count; s++)
        emit_call(e, &calls, launch->steps[s]);
    for (int b = launch->block_count - 1; b >= 0; b--)
        emit_block(e, &body, launch, b);
    if (emit_mentions(calls.bytes, "part"))
        text_put(&body, "        const int64_t part = task;\n");
    if (emit_mentions(calls.bytes, "first_unit"))
        text_print(&body, "        const int first_unit = unit == task * f->grain_%d;\n", id);
    text_put(&body, calls.bytes);
    bool own = emit_mentions(calls.bytes, "own"), rest = emit_mentions(body.bytes, "rest");
    const char *locals = emit_locals(e, body.bytes);
    text_print(&e->functions, "/* A task of launch %d: its units of work, each one tile of every block. */\n", id);
    text_print(&e->functions, "static void launch_%d(void *argument, int64_t task, int worker)\n{\n"
               "    const Frame *f = (const Frame *)argument;\n", id);
    text_put(&e->functions, own ? "    char *own = f->workspace + f->shared + worker * f->per_worker;\n" : "    (void)worker;\n");
    text_put(&e->functions, locals);
    text_print(&e->functions, "    const int64_t units_end = size_min((task + 1) * f->grain_%d, f->units_%d);\n", id, id);
    text_print(&e->functions, "    for (int64_t unit = task * f->grain_%d; unit < units_end && !is_stopped(f); unit++) {\n", id);
    text_put(&e->functions, rest ? "        int64_t rest = unit;\n" : "");
    text_put(&e->functions, body.bytes);
    text_put(&e->functions, "    }\n}\n\n");
}

/* Temporaries that `+=` adds to at computed positions begin as zeros. */
static void clear_targets(Emitter *e, Text *text, const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++) {
        const Tensor *tensor = launch->steps[s]->statement->outputs[0].tensor;
        const Storage *storage = &e->plan->storage[tensor->home->id];
        if (launch->steps[s]->scatters && !tensor->previous && storage->place != PLACE_CALLER)
            text_print(text, "    memset(f->workspace + %s, 0, (size_t)%s);\n", emit_size(e, storage->offset),
                       emit_size(e, storage->bytes));
    }
}

const char *emit_run(Emitter *e)
{
    Text text = text_new(e->arena);
    for (int l = 0; l < e->plan->launch_count; l++) {
        const Launch *launch = e->plan->launches[l];
        clear_targets(e, &text, launch);
        text_print(&text, "    if (run(f, launch_%d, f->tasks_%d))\n        return failure;\n", l + 1, l + 1);
        for (int s = 0; s < launch->step_count; s++)
            if (launch->steps[s]->split)
                text_print(&text, "    %s\n", e->calls[1][launch->steps[s]->id]);
    }
    text_put(&text, "");
    return emit_text(e, "%s%s", emit_locals(e, text.bytes), text.bytes);
}
