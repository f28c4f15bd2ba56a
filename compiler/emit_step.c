/* One step: a function for one point of the kept loops (or one vector of points), and one with the loops that calls it
 * for a block. */
#include <string.h>

#include "emit_loops.h"

/* ---- one point ---- */

/* The index of a scan is no loop around it. */
bool emit_scans(const Step *step, const Index *index)
{
    const Term *value = step->statement->outputs[0].value;
    return step->kind == STEP_SCAN && indices_have(value->reduce.over, value->reduce.over_count, index);
}

/* The same of the lanes' index where rows go together. */
bool emit_has_inside(const Emitter *e, const Index *index)
{
    return emit_scans(e->step, index) || (emit_adds_rows(e) && index == e->step->vector);
}

/* A vector of elements that follow each other: each lane takes those before it from lanes twice as far away each time, then
 * all of them what came before the vector. */
static void emit_scan_vector(Emitter *e, const Term *reduce, const char *state)
{
    Component component[STATE_COMPONENTS_MAX];
    state_components(reduce, component);
    const char *lanes = emit_name(e, emit_text(e, "%s_lanes", component[0].name)), *start = emit_state_start(e, reduce, 0, false);
    const char *suffix = emit_suffix(component[0].dtype, true), *last = e->scope->count ? emit_text(e, "%s - 1", e->scope->count) : "LANES - 1";
    emit_line(e, "%s %s = %s;", emit_type(component[0].dtype, true), lanes, emit_state_start(e, reduce, 0, true));
    emit_state_step(e, reduce, &lanes, true, NULL);
    for (int apart = 1; apart < e->plan->lanes; apart *= 2) {
        const char *earlier = emit_text(e, "later_%s(%s, %d, %s)", suffix, lanes, apart, start);
        emit_state_merge(e, reduce, &lanes, &earlier, true);
    }
    const char *before = emit_splat(e, component[0].dtype, state);
    emit_state_merge(e, reduce, &lanes, &before, true);
    emit_line(e, "%s = lane_%s(%s, %s);", state, suffix, lanes, last);
    emit_know(e, reduce, emit_state_finish(e, reduce, &lanes, true));
    emit_store(e, &e->step->statement->outputs[0]);
}

/* The innermost loop of a scan in vectors, whole ones before the rest. */
static void emit_scan_lanes(Emitter *e, const Term *reduce, const char *state)
{
    const Index *index = e->step->vector;
    const char *name = emit_name(e, index->name), *extent = emit_extent(e, index);
    emit_line(e, "int64_t %s = 0;", name);
    for (int rest = 0; rest < 2; rest++) {
        Scope *body = emit_push(e);
        body->loop = true;
        emit_bind(e, index, name);
        if (rest) {
            body->count = emit_name(e, "rest");
            emit_line(e, "const int %s = (int)(%s - %s);", body->count, extent, name);
        }
        emit_scan_vector(e, reduce, state);
        emit_pop(e);
        emit_line(e, rest ? "if (%s < %s) {" : "for (; %s + LANES <= %s; %s += LANES) {", name, extent, name);
        emit_body(e, body);
        emit_line(e, "}");
    }
}

static void emit_scan_loops(Emitter *e, const Term *reduce, int depth, const char *const *names, bool varying)
{
    if (depth == reduce->reduce.over_count) {
        Scope *points = e->step->jammed ? nest_open_points(e) : NULL;
        emit_state_step(e, reduce, names, varying, NULL);
        emit_know(e, reduce, emit_state_finish(e, reduce, names, varying));
        emit_store(e, &e->step->statement->outputs[0]);
        if (points)
            nest_close_points(e, points);
        return;
    }
    const Index *index = reduce->reduce.over[depth];
    if (e->lanes && index == e->step->vector) {
        emit_scan_lanes(e, reduce, names[0]);
        return;
    }
    Scope *body = emit_push(e);
    const char *name = emit_name(e, index->name);
    body->loop = true;
    emit_bind(e, index, name);
    emit_scan_loops(e, reduce, depth + 1, names, varying);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s++) {", name, name, emit_extent(e, index), name);
    emit_body(e, body);
    emit_line(e, "}");
}

static void emit_scan(Emitter *e)
{
    const Term *reduce = e->step->statement->outputs[0].value;
    Component components[STATE_COMPONENTS_MAX];
    const char *names[STATE_COMPONENTS_MAX];
    bool varying = e->lanes && e->step->vector_kept && !emit_scans(e->step, e->step->vector);
    for (int c = 0, n = state_components(reduce, components); c < n; c++) {
        names[c] = emit_name(e, components[c].name);
        const char *type = emit_type(components[c].dtype, varying), *start = emit_state_start(e, reduce, c, varying);
        if (!e->step->jammed) {
            emit_line(e, "%s %s = %s;", type, names[c], start);
            continue;
        }
        emit_line(e, "%s %s[%d];", type, names[c], e->step->jam);
        names[c] = emit_text(e, "%s[point]", names[c]);
        emit_line(e, "UNROLL_POINTS");
        emit_line(e, "for (int point = 0; point < points; point++)");
        emit_line(e, "    %s = %s;", names[c], start);
    }
    emit_scan_loops(e, reduce, 0, names, varying);
}

/* The kept loops of the steps that are made in this one's loop are its own. */
static void emit_bind_joined(Emitter *e)
{
    const Join *join = e->step->join;
    for (int s = 0; join && s < join->count; s++)
        for (int i = 0; i < join->steps[s]->loop_count; i++) {
            const Index *index = join->steps[s]->loops[i];
            if (index != join->steps[s]->vector)
                emit_bind(e, index, emit_bound(e, join->same[index->id]));
        }
}

/* The body of the function for one point: what the step stores there. */
const char *emit_point(Emitter *e)
{
    const Step *step = e->step;
    const char *first_lane = NULL;
    Scope *body = emit_push(e);
    body->indent = 1;
    if (step->vector_kept && e->lanes && !emit_has_inside(e, step->vector))
        body->count = "count";
    for (int i = 0; i < step->loop_count; i++) {
        if (step->split && emit_adds_rows(e) && step->loops[i] == step->vector)
            continue;    /* its loop names it */
        const char *name = names_user(&body->names, step->loops[i]->name);
        if (step->loops[i] == step->jammed || step->loops[i] == step->crossed)
            e->jam_first = name;
        else if (step->loops[i] == step->met)
            e->met_first = name;
        else if (step->crossed && step->loops[i] == step->vector)
            first_lane = name;
        else if (!emit_has_inside(e, step->loops[i]))
            emit_bind(e, step->loops[i], name);
    }
    if (emit_adds_rows(e))
        e->jam_first = step->split ? e->block_first[step->split->id] : names_user(&body->names, step->added->name);
    emit_bind_joined(e);
    emit_begin_asks(e);
    if (step->kind == STEP_SCAN)
        emit_scan(e);
    else if (step->kind == STEP_RANK)
        (e->plan->target->grid ? emit_grid_rank : emit_rank)(e);
    else if ((step->split || step->added) && !e->merging)
        emit_split_roots(e);
    else if (step->jammed && !e->merging)
        emit_jammed_roots(e);
    else if (step->crossed)
        emit_crossed(e, e->jam_first, first_lane);
    else {
        if (e->merging)
            (step->added ? emit_added_root : emit_merged_roots)(e);
        if (e->branch)
            emit_know(e, step->statement->outputs[0].value, emit_term(e, e->branch));
        for (int o = 0; o < step->statement->output_count; o++)
            emit_store(e, &step->statement->outputs[o]);
    }
    emit_pop(e);
    return emit_without_unread(e->arena, body->text.bytes);
}

/* ---- functions ---- */

void emit_parameter(ParameterSet *set, const char *type, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (!strcmp(set->list[i].name, name))
            return;
    if (set->count < PARAMETERS_MAX)
        set->list[set->count++] = (Parameter){ type, name };
}

/* The parameters that a text mentions, as a declaration or as arguments. */
const char *emit_parameters(Emitter *e, const ParameterSet *set, const char *body, bool declare)
{
    Text text = text_new(e->arena);
    for (int i = 0; i < set->count; i++) {
        if (!emit_mentions(body, set->list[i].name))
            continue;
        text_put(&text, text.length ? ", " : "");
        text_print(&text, "%s%s", declare ? set->list[i].type : "", set->list[i].name);
    }
    return text.length || !declare ? text.bytes : "void";
}

/* What every function of a step may need: the frame, the worker's memory, the block. */
ParameterSet emit_common_parameters(Emitter *e)
{
    ParameterSet set = { .count = 0 };
    emit_parameter(&set, "const Frame *", "f");
    emit_parameter(&set, "char *", "own");
    for (int i = 0; i < e->plan->lowered->index_count; i++)
        if (e->block_first[i]) {
            emit_parameter(&set, "int64_t ", e->block_first[i]);
            emit_parameter(&set, "int64_t ", e->block_end[i]);
            if (e->block_now[i])
                emit_parameter(&set, "int64_t ", e->block_now[i]);
        }
    if (e->sweep_first && !e->step->statement->swept)
        emit_parameter(&set, "int64_t ", e->sweep_first);
    if (e->step->split && e->step->contract && !e->merging)
        emit_parameter(&set, "int64_t ", "part");
    if (e->launch->lifts) {
        emit_parameter(&set, "float ", "up");
        emit_parameter(&set, "int *", "overflow");
    }
    return set;
}

ParameterSet emit_step_parameters(Emitter *e, bool point)
{
    ParameterSet set = emit_common_parameters(e);
    const Step *step = e->step;
    if (step->split && !e->merging) {
        emit_parameter(&set, "int64_t ", "part");
        emit_parameter(&set, "int ", "first_unit");
    }
    Names names = names_new(e->arena, &e->names);
    for (int i = 0; i < step->loop_count; i++) {
        const char *name = names_user(&names, step->loops[i]->name);
        if (point && !emit_has_inside(e, step->loops[i]))
            emit_parameter(&set, "int64_t ", name);
    }
    if (point && step->added && !e->merging)
        emit_parameter(&set, "int64_t ", names_user(&names, step->added->name));
    if (point) {
        emit_parameter(&set, "const int ", "points");
        emit_parameter(&set, "const int ", "meets");
        emit_parameter(&set, "const int ", "count");
        emit_parameter(&set, "const int ", "unit");
        emit_parameter(&set, "const int64_t ", "soon");
        if (step->apart)
            emit_parameter(&set, "const int64_t ", "points_apart");
    }
    return set;
}

const char *emit_formula(Emitter *e)
{
    Text text = text_new(e->arena);
    for (int o = 0; o < e->step->statement->output_count; o++) {
        const Output *output = &e->step->statement->outputs[o];
        text_print(&text, "%s%s[", o ? " & " : "", output->tensor->label);
        for (int a = 0; a < output->tensor->rank; a++) {
            text_put(&text, a ? "," : "");
            plan_print_position(&text, &output->positions[a]);
        }
        text_put(&text, e->step->statement->accumulate ? "] += " : "] = ");
        plan_print_term(&text, output->value);
    }
    return text.bytes;
}

/* What a step makes, behind what is made in its loop. */
static const char *emit_formulas(Emitter *e)
{
    const Step *own = e->step;
    const char *text = "";
    for (int s = 0; own->join && s < own->join->count; s++) {
        e->step = own->join->steps[s];
        text = emit_text(e, "%s%s;\n * ", text, emit_formula(e));
    }
    e->step = own;
    return emit_text(e, "%s%s", text, emit_formula(e));
}

/* The function for one point: its text, and in *whole what it mentions. */
static void emit_point_function(Emitter *e, const char *name, const char *comment, const ParameterSet *set, const char **whole)
{
    const char *body = emit_point(e), *locals = emit_locals(e, body);
    *whole = emit_text(e, "%s%s", locals, body);
    text_print(&e->functions, "/* %s */\nINLINE void %s(%s)\n{\n%s}\n\n", comment, name, emit_parameters(e, set, *whole, true),
               *whole);
}

/* For all that the C compiler knows, a step's stores could change its frame. Of a copy its loops keep in registers what they need. */
#define FRAME_COPY "    const Frame unchanged = *frame, *f = &unchanged;\n"

static void emit_function(Emitter *e, const char *name, const char *comment)
{
    const char *point = emit_text(e, "%s_at", name);
    const char *whole, *other_body = NULL, *other = NULL;
    const Term *condition = emit_bounding_condition(e);
    const Output *output = &e->step->statement->outputs[0];
    ParameterSet inner = emit_step_parameters(e, true), outer = emit_step_parameters(e, false);
    if (condition && !output->partly) {
        other = emit_text(e, "%s_else", name);
        e->branch = output->value->select.no;
        emit_point_function(e, other, "the same where its condition fails", &inner, &other_body);
    }
    e->branch = condition && condition_only_bounds(condition, e->step->vector) ? output->value->select.yes : NULL;
    emit_point_function(e, point, comment, &inner, &whole);
    e->branch = NULL;
    const char *lead = emit_text(e, "%s_lead", name), *lead_body = emit_lead(e, lead, &inner);
    Text loops = text_new(e->arena);
    if (e->step->bundle && !e->merging)
        text_print(&loops, "    if (f->bundle_%d) {\n        %s\n        return;\n    }\n", e->step->id + 1, emit_bundle(e));
    bool units = e->step->units.count > 0 && e->lanes && emit_mentions(whole, "unit");
    Around around = { .set = &inner, .body = whole, .function = point, .other_body = other_body, .other = other,
                      .lead_body = lead_body, .lead = lead_body ? lead : NULL,
                      .names = ARENA_ARRAY(e->arena, const char *, e->step->loop_count), .count = emit_turn(e), .points = "1", .meets = "1", .soon = "0", .apart = "1" };
    for (int u = units; u >= 0; u--) {
        Names names = names_new(e->arena, &e->names);
        if (units)
            text_print(&loops, u ? "    if (f->unit_%d) {\n" : "    } else {\n", e->step->id + 1);
        around.unit = u ? "1" : "0";
        around.whole = u || (!units && e->step->jammed && !e->merging);
        if (e->step->split && emit_adds_rows(e))
            emit_rows_around(e, &loops, 1 + units, &names, around);
        else
            emit_loops_around(e, &loops, 1 + units, &names, around, 0);
    }
    text_put(&loops, units ? "    }\n" : "");
    const char *text = emit_text(e, "%s%s", emit_locals(e, loops.bytes), loops.bytes);
    ParameterSet declared = outer;
    bool loops_on = strstr(text, "for (") && emit_mentions(text, "f");
    for (int i = 0; i < declared.count; i++)
        if (loops_on && !strcmp(declared.list[i].name, "f"))
            declared.list[i].name = "frame";
    const char *own = loops_on ? emit_text(e, FRAME_COPY "%s", text) : text;
    text_print(&e->functions, "KERNEL static void %s(%s)\n{\n%s}\n\n", name, emit_parameters(e, &declared, own, true), own);
    e->calls[e->merging][e->step->id] = emit_text(e, "%s(%s);", name, emit_parameters(e, &outer, text, false));
}

/* The names of a step's part of the launch's blocks. */
static void set_step_blocks(Emitter *e, const Launch *launch, const Step *step)
{
    int place = 0;
    while (launch->steps[place] != step)
        place++;
    bool grid = e->plan->target->grid;
    for (int b = 0; b < launch->block_count && (step->added || !e->merging); b++) {
        const Index *index = launch->blocks[b].of_step[place];
        e->block_first[index->id] = emit_text(e, "%s_first", e->block_names[launch->id][b]);
        e->block_end[index->id] = emit_text(e, "%s_end", e->block_names[launch->id][b]);
        if (!grid && launch_runs_by_points(launch, place) && b == launch->block_count - 1)
            e->block_now[index->id] = emit_text(e, "%s_now", e->block_names[launch->id][b]);
    }
    const char *sweep = e->block_names[launch->id][launch->block_count];
    const Index *swept = step->statement->swept;
    e->sweep_first = launch_sweeps(launch, place) ? emit_text(e, "%s_first", sweep) : NULL;
    if (e->sweep_first && swept) {
        e->block_first[swept->id] = e->sweep_first;
        e->block_end[swept->id] = emit_text(e, "%s_end", sweep);
    }
}

static void set_blocks(Emitter *e, const Launch *launch, const Step *step)
{
    for (int i = 0; i < e->plan->lowered->index_count; i++)
        e->block_first[i] = e->block_end[i] = e->block_now[i] = NULL;
    for (int i = 0; step->join && i < step->join->count; i++)
        set_step_blocks(e, launch, step->join->steps[i]);
    for (int s = launch->guess && launch->guess->product == step ? launch->guess->from : launch->step_count; s < launch->step_count; s++)
        set_step_blocks(e, launch, launch->steps[s]);
    set_step_blocks(e, launch, step);
}

void emit_begin_step(Emitter *e, const Launch *launch, const Step *step, bool merging)
{
    bool grid = e->plan->target->grid;
    e->step = step;
    e->launch = launch;
    e->merging = merging;
    e->lanes = step->vector && !grid && (!merging || step->vector_kept);
    e->team = step->vector && !step->vector_kept && grid && !merging;
    set_blocks(e, launch, step);
}

void emit_step(Emitter *e, const Launch *launch, const Step *step)
{
    if (step->joined)
        return;
    emit_begin_step(e, launch, step, false);
    if (step->turned && !step->contract) {
        emit_turned(e);
        return;
    }
    if (step->contract)
        emit_contract(e);
    else
        emit_function(e, emit_text(e, "step_%d", step->id + 1), emit_formulas(e));
    if (!step->split && !step->added)
        return;
    emit_begin_step(e, launch, step, true);
    emit_function(e, emit_text(e, step->added ? "finish_%d" : "merge_%d", step->id + 1), step->added ? "what is made of the sums" : "the parts, in order");
    e->merging = false;
}
