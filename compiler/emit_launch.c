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

void emit_launch(Emitter *e, const Launch *launch)
{
    int id = launch->id + 1;
    Text body = text_new(e->arena), calls = text_new(e->arena);
    for (int s = 0; s < launch->step_count; s++)
        emit_step(e, launch, launch->steps[s]);
    for (int s = 0; s < launch->step_count; s++)
        text_print(&calls, "        %s\n", e->calls[0][launch->steps[s]->id]);
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
        if (launch->steps[s]->kind == STEP_ADD && !tensor->previous && storage->place != PLACE_CALLER)
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
