/* Where a row of a result that goes past the caches does not begin with a line, its first numbers are stored by themselves, for a
 * line that is stored past them in pieces takes several times as long. */
#include "emitting.h"

/* The body of the function that says how many numbers these are: of the first row of what a turn of the lanes' loop stores. */
static const char *lead_body(Emitter *e)
{
    const Step *step = e->step;
    const Output *output = &step->statement->outputs[0];
    Scope *body = emit_push(e);
    bool inside = false;
    body->indent = 1;
    for (int i = 0; i < step->loop_count; i++) {
        const Index *index = step->loops[i];
        const char *first = e->block_first[index->id];
        emit_bind(e, index, inside ? first ? first : "0" : names_user(&body->names, index->name));
        inside |= index == step->vector;
    }
    emit_line(e, "return stream_lead(%s, %s, %d, %s, f->past_%d);", emit_target(e, output),
              emit_stride(e, output->tensor, output->positions, step->vector), (int)dtype_size(output->tensor->dtype), emit_turn(e),
              step->id + 1);
    emit_pop(e);
    return body->text.bytes;
}

/* Whether a step's loop can begin where a line does: not where it is one of several, or begins elsewhere for another reason. */
static bool has_lead(const Launch *launch, const Step *step)
{
    return step->kind == STEP_STORE && launch->step_count == 1 && !launch->sweep && step->result && step->vector && !step->contract &&
           !step->turned && !step->strip && !step->jammed && !step->bounded;
}

/* The axis along which a result's rows follow each other, as its last two axes or its first; the vector's own where there is no other. */
static int axis_of_rows(const Tensor *result, const Index *vector)
{
    int axis = 0;
    while (axis < result->rank - 1 && result->axes[axis] != vector)
        axis++;
    return axis > 0 ? axis - 1 : result->rank > 1;
}

const char *emit_past(Emitter *e, const Launch *launch, const Step *step)
{
    const char *large = emit_text(e, "%s > %d", emit_size(e, step->result), step->past);
    if (step->contract || step->turned || step->crossed)
        return large;
    const Tensor *result = step->statement->outputs[0].tensor;
    const char *member = e->members[result->home->id], *row = emit_extent(e, step->vector);
    const char *apart = result->rank > 1 ? emit_text(e, "f->in.%s.stride[%d]", member, axis_of_rows(result, step->vector)) : row;
    int size = (int)dtype_size(result->dtype);
    const char *rows = emit_text(e, "stream_rows(f->in.%s.data, size_mul(%s, %d), %s * %d, %d)", member, row, size, apart, size,
                                 has_lead(launch, step));
    if (emit_rows_follow(e, step))
        rows = emit_text(e, "(f->rows_follow_%d ? 1 : %s)", step->id + 1, rows);
    return emit_text(e, "%s ? %s : 0", large, rows);
}

const char *emit_lead(Emitter *e, const char *name, const ParameterSet *set)
{
    if (!has_lead(e->launch, e->step) || !e->lanes)
        return NULL;
    const char *body = lead_body(e), *text = emit_text(e, "%s%s", emit_locals(e, body), body);
    text_print(&e->functions, "INLINE int64_t %s(%s)\n{\n%s}\n\n", name, emit_parameters(e, set, text, true), text);
    return text;
}
