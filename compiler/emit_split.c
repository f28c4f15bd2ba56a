/* Where the parts of a split step keep their states in the workspace. */
#include "emitting.h"

/* Where the state of a part stands in the workspace: [part][kept loops]. */
const char *emit_part_offset(Emitter *e, const char *part)
{
    const char *offset = part;
    for (int i = 0; i < e->step->loop_count; i++) {
        const Index *index = e->step->loops[i];
        offset = emit_text(e, "(%s) * %s + %s", offset, emit_extent(e, index), emit_bound(e, index));
    }
    return offset;
}

const char *emit_part_count(Emitter *e)
{
    return e->launch->block_count == 1 ? emit_text(e, "f->tasks_%d", e->launch->id + 1) : emit_size(e, e->step->parts);
}

const Scratch *emit_part_of(const Emitter *e, int root, int component)
{
    int seen = 0;
    for (int i = 0; i < e->plan->scratch_count; i++) {
        const Scratch *scratch = &e->plan->scratch[i];
        if (scratch->step != e->step || !scratch->shared)
            continue;
        Component components[STATE_COMPONENTS_MAX];
        int before = 0;
        for (int r = 0; r < root; r++)
            before += state_components(e->step->roots[r], components);
        if (seen++ == before + component)
            return scratch;
    }
    return NULL;
}

const char *emit_load_part(Emitter *e, const Scratch *scratch, const char *offset, bool varying)
{
    if (varying)
        return emit_text(e, "load_%sv(%s + %s, 1, %s)", dtype_name(scratch->dtype), scratch->name, offset,
                         e->scope->count ? e->scope->count : "LANES");
    if (dtype_kind(scratch->dtype) == KIND_COMPLEX)
        return emit_text(e, "load_%s(%s + %s)", dtype_name(scratch->dtype), scratch->name, offset);
    return emit_text(e, "%s[%s]", scratch->name, offset);
}

void emit_store_part(Emitter *e, const Scratch *scratch, const char *offset, bool varying, const char *value)
{
    if (varying)
        emit_line(e, "store_%sv(%s + %s, 1, %s, %s);", dtype_name(scratch->dtype), scratch->name, offset, value,
                  e->scope->count ? e->scope->count : "LANES");
    else if (dtype_kind(scratch->dtype) == KIND_COMPLEX)
        emit_line(e, "store_%s(%s + %s, %s);", dtype_name(scratch->dtype), scratch->name, offset, value);
    else
        emit_line(e, "%s[%s] = %s%s;", scratch->name, offset, scratch->dtype == DTYPE_BOOL ? "(uint8_t)" : "", value);
}
