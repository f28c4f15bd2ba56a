/* The parts of a split step: where they keep their states in the workspace, and what they add to them. */
#include "emit_nest.h"

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

const char *emit_part_stride(Emitter *e, const Index *index)
{
    const char *stride = "1";
    for (int i = e->step->loop_count - 1; i >= 0 && e->step->loops[i] != index; i--)
        stride = emit_text(e, "%s * %s", stride, emit_extent(e, e->step->loops[i]));
    return stride;
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

/* Behind the state that the part has so far, of units before this one. */
static void add_before(Emitter *e, const Term *reduce, int root, const char *offset, const char *const *names, bool varying)
{
    Component components[STATE_COMPONENTS_MAX];
    const char *earlier[STATE_COMPONENTS_MAX];
    int n = state_components(reduce, components);
    Scope *merge = emit_push(e);
    for (int c = 0; c < n; c++) {
        earlier[c] = emit_name(e, emit_text(e, "%s_before", components[c].name));
        emit_line(e, "%s %s = %s;", emit_type(components[c].dtype, varying), earlier[c],
                  emit_load_part(e, emit_part_of(e, root, c), offset, varying));
    }
    emit_state_merge(e, reduce, earlier, names, varying);
    for (int c = 0; c < n; c++)
        emit_line(e, "%s = %s;", names[c], earlier[c]);
    emit_pop(e);
    emit_line(e, "if (!first_unit) {");
    emit_body(e, merge);
    emit_line(e, "}");
}

/* The sum that stands where the result will. */
static const char *load_sum(Emitter *e)
{
    const Output *output = &e->step->statement->outputs[0];
    return emit_text(e, "load_%sv(%s, %s, %s)", dtype_name(output->tensor->dtype), emit_target(e, output),
                     emit_stride(e, output->tensor, output->positions, e->step->vector), e->scope->count ? e->scope->count : "LANES");
}

/* A nest's sums, added to those of the rows before. */
static void keep_sums(Emitter *e, Nest *nest)
{
    const Output *output = &e->step->statement->outputs[0];
    const char *names[STATE_COMPONENTS_MAX];
    nest_finished(e, nest, 0, names);
    Scope *merge = emit_push(e);
    const char *before = emit_name(e, "before");
    emit_line(e, "%s %s = %s;", emit_type(output->tensor->dtype, true), before, load_sum(e));
    emit_state_merge(e, nest->reduces[0], &before, names, true);
    emit_line(e, "%s = %s;", names[0], before);
    emit_pop(e);
    emit_line(e, "if (%s > 0) {", e->jam_first);
    emit_body(e, merge);
    emit_line(e, "}");
    emit_line(e, "store_%sv(%s, %s, %s, %s);", dtype_name(output->tensor->dtype), emit_target(e, output),
              emit_stride(e, output->tensor, output->positions, e->step->vector), names[0], e->scope->count ? e->scope->count : "LANES");
}

void emit_added_root(Emitter *e)
{
    Term *reduce = e->step->roots[0];
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    const char *name = emit_name(e, components[0].name);
    emit_line(e, "%s %s = %s;", emit_type(components[0].dtype, true), name, emit_state_start(e, reduce, 0, true));
    Scope *merge = emit_push(e);
    const char *sum = load_sum(e);
    emit_state_merge(e, reduce, &name, &sum, true);
    emit_pop(e);
    emit_line(e, "if (%s > 0) {", emit_extent(e, e->step->added));
    emit_body(e, merge);
    emit_line(e, "}");
    nest_know(e, reduce, &name, true);
}

/* Whether a nest's states are variables that can begin as the part's so far, of units before this one; else these are merged behind it. */
static bool goes_on(const Emitter *e, const Nest *nest)
{
    bool all = nest->varying && !nest->across && !nest->jammed && nest->chains == 1 && e->launch->block_count == 1;
    for (int r = 0; r < nest->count && all; r++) {
        Component components[STATE_COMPONENTS_MAX];
        all = nest_finder(nest, r) < 0 && state_components(nest->reduces[r], components) > 0;
    }
    return all;
}

static void begin_states(Emitter *e, const Nest *nest, const char *offset)
{
    emit_line(e, "if (!first_unit) {");
    for (int r = 0; r < nest->count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int c = 0, n = state_components(nest->reduces[r], components); c < n; c++)
            emit_line(e, "    %s = %s;", nest->names[r][c], emit_load_part(e, emit_part_of(e, r, c), offset, true));
    }
    emit_line(e, "}");
}

static const char *emit_part_place(Emitter *e)
{
    const char *offset = emit_name(e, "place");
    emit_line(e, "const int64_t %s = %s;", offset, emit_part_offset(e, "part"));
    return offset;
}

/* The states of a nest that has run, added to those that the part has so far unless they `went_on` with these. */
static void keep_states(Emitter *e, Nest *nest, const char *offset, bool went_on)
{
    bool varying = nest->varying && !nest->across;
    for (int r = 0; r < nest->count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        int n = state_components(nest->reduces[r], components);
        const char *names[STATE_COMPONENTS_MAX];
        nest_finished(e, nest, r, names);
        if (e->launch->block_count == 1 && !went_on)    /* else each unit is a part */
            add_before(e, nest->reduces[r], r, offset, names, varying);
        Scope *alone = emit_alone(e);
        for (int c = 0; c < n; c++)
            emit_store_part(e, emit_part_of(e, r, c), offset, varying, names[c]);
        emit_end_alone(e, alone);
    }
}

bool emit_adds_rows(const Emitter *e)
{
    return (e->step->split || e->step->added) && e->step->jammed && !e->merging;
}

/* A vector of columns: of all rows together. */
static void add_columns(Emitter *e, Nest *nest)
{
    nest_declare(e, nest);
    Scope *points = nest_open_points(e);
    nest_turn(e, nest, "0");
    nest_close_points(e, points);
    if (e->step->added)
        keep_sums(e, nest);
    else
        keep_states(e, nest, emit_part_place(e), false);
}

/* Rows that go together, a vector of columns at a time. */
static void add_rows(Emitter *e, Nest *nest)
{
    const Index *index = e->step->vector;
    const char *name = emit_name(e, index->name), *extent = emit_extent(e, index);
    nest->chains = 1;
    nest_begin_points(e, nest);
    emit_line(e, "int64_t %s = 0;", name);
    for (int rest = 0; rest < 2; rest++) {
        Scope *body = emit_push(e);
        body->loop = true;
        emit_bind(e, index, name);
        if (rest) {
            body->count = emit_name(e, "rest");
            emit_line(e, "const int %s = (int)(%s - %s);", body->count, extent, name);
        }
        add_columns(e, nest);
        emit_pop(e);
        if (!rest)
            emit_line(e, "UNROLL_TWICE");
        emit_line(e, rest ? "if (%s < %s) {" : "for (; %s + LANES <= %s; %s += LANES) {", name, extent, name);
        emit_body(e, body);
        emit_line(e, "}");
    }
    e->begins = NULL;
}

/* The step's reductions over this unit's share of the split index, added to the state that the part has so far. */
void emit_split_roots(Emitter *e)
{
    Nest nest = nest_open(e, e->step->roots[0]);
    if (emit_adds_rows(e)) {
        add_rows(e, &nest);
        return;
    }
    const char *place = emit_part_place(e);
    const bool on = goes_on(e, &nest);
    nest_declare(e, &nest);
    if (on)
        begin_states(e, &nest, place);
    nest_run(e, &nest);
    nest_merge_chains(e, &nest);
    keep_states(e, &nest, place, on);
}
