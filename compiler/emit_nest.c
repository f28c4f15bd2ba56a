/* Innermost loops that hand several elements of each lane to a function at once. */
#include <string.h>

#include "emit_nest.h"

/* Whole turns, at most GROUP at a time. */
void nest_groups(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at)
{
    const Term *reduce = nest->domains[0].reduce;
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    Dtype dtype = components[0].dtype;
    const char *others = emit_name(e, "others"), *name = emit_name(e, loop->index->name), *some = emit_name(e, "some");
    Scope *body = emit_push(e);
    body->indent++;
    body->loop = true;
    emit_bind(e, loop->index, name);
    if (nest_asks_of_rows(e, nest))
        nest_ask_ahead(e, nest);
    emit_line(e, "%s[other] = %s;", others, emit_bare(e, emit_varying(e, reduce->reduce.argument)));
    emit_pop(e);
    emit_line(e, nest->across ? "for (int %s; %s + LANES <= %s; %s += %s * LANES) {" : "for (int %s; %s < %s; %s += %s) {", some, at,
              loop->end, at, some);
    emit_line(e, "    %s %s[%d];", emit_type(dtype, true), others, GROUP);
    emit_line(e, "    %s = (int)size_min(%d, %s);", some, GROUP, nest->across ? emit_text(e, "(%s - %s) / LANES", loop->end, at)
                                                                      : emit_text(e, "%s - %s", loop->end, at));
    emit_line(e, "    for (int other = 0; other < %s; other++) {", some);
    emit_line(e, "        const int64_t %s = %s + other%s;", name, at, nest->across ? " * LANES" : "");
    emit_body(e, body);
    emit_line(e, "    }");
    Scope *end = emit_push(e);
    emit_state_add(e, reduce, nest->names[0], others, some);
    emit_pop(e);
    emit_body(e, end);
    emit_line(e, "}");
}

/* A loop over some elements of each point, which calls a function for each; without a call they are added one by one. */
static void emit_some(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at, const char *end, const char *call, const char *behind)
{
    Scope *body = emit_push(e);
    const char *name = emit_name(e, loop->index->name);
    body->loop = true;
    emit_bind(e, loop->index, name);
    if (call) {
        Scope *points = nest_open_points(e);
        emit_line(e, "%s, %s%s);", call, emit_bare(e, emit_varying(e, nest->domains[0].reduce->reduce.argument)), behind);
        nest_close_points(e, points);
    } else {
        nest_turn(e, nest, "0");
    }
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, at, name, end, name);
    emit_body(e, body);
    emit_line(e, "}");
}

void nest_each_point(Emitter *e, const char *line)
{
    emit_line(e, "UNROLL_POINTS");
    emit_line(e, "for (int point = 0; point < points; point++)");
    emit_line(e, "    %s", line);
}

/* The same for points that go together. Their elements are made twice, which costs less than to keep them in between. */
void nest_groups_of_points(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at)
{
    const Term *reduce = nest->domains[0].reduce;
    Component components[STATE_COMPONENTS_MAX];
    state_components(reduce, components);
    const char *name = state_group(reduce), *suffix = emit_suffix(components[0].dtype, true);
    const char *state = nest->names[0][0], *sum = nest->names[0][1];
    Scope *body = emit_push(e);
    const char *top = emit_name(e, "top"), *end = emit_name(e, emit_text(e, "%s_end", loop->index->name));
    body->loop = true;
    emit_line(e, "const int64_t %s = size_min(%s + %d, %s);", end, at, GROUP_OF_POINTS, loop->end);
    emit_line(e, "%s %s[%d];", emit_type(components[0].dtype, true), top, e->step->jam);
    nest_each_point(e, emit_text(e, "%s[point] = %s[point];", top, state));
    emit_some(e, nest, loop, at, end, emit_text(e, "reach_%s_%s(&%s[point]", name, suffix, top), "");
    const char *endless = emit_name(e, "endless");
    emit_line(e, "boolv %s = first_boolv(0);", endless);
    nest_each_point(e, emit_text(e, "%s = or_boolv(%s, endless_%s_%s(%s[point]));", endless, endless, name, suffix, top));
    Scope *alone = emit_push(e);
    alone->branch = true;
    emit_some(e, nest, loop, at, end, NULL, NULL);
    emit_line(e, "continue;");
    emit_pop(e);
    emit_line(e, "if (any_boolv(%s)) {", endless);
    emit_body(e, alone);
    emit_line(e, "}");
    nest_each_point(e, emit_text(e, "%s[point] = raise_%s_%s(&%s[point], &%s[point], %s[point]);", top, name, suffix, state, sum, top));
    emit_some(e, nest, loop, at, end, emit_text(e, "weigh_%s_%s(&%s[point]", name, suffix, sum), emit_text(e, ", %s[point]", top));
    emit_pop(e);
    emit_line(e, "for (; %s < %s; %s += %d) {", at, loop->end, at, GROUP_OF_POINTS);
    emit_body(e, body);
    emit_line(e, "}");
}

/* ROWS elements of each lane from `at` on, in arrays: of reductions that take them so; the others step. */
static void emit_rows(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at, const char *const *values)
{
    const char *name = emit_name(e, loop->index->name), *turn = emit_name(e, "row");
    Scope *body = emit_push(e);
    body->loop = true;
    emit_bind(e, loop->index, name);
    emit_line(e, "const int64_t %s = %s + %s%s;", name, at, turn, nest->across ? " * LANES" : "");
    if (nest_asks_of_rows(e, nest))
        nest_ask_ahead(e, nest);
    for (int r = 0; r < nest->count; r++)
        if (values[r])
            emit_line(e, "%s[%s] = %s;", values[r], turn, emit_bare(e, emit_varying(e, nest->domains[r].reduce->reduce.argument)));
        else if (nest_finder(nest, r) < 0)
            nest_step(e, nest, r);
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int %s = 0; %s < %d; %s++) {", turn, turn, ROWS, turn);
    emit_body(e, body);
    emit_line(e, "}");
}

/* The array's name of each reduction that takes its elements so; NULL: it does not. */
static const char **declare_rows(Emitter *e, const Nest *nest)
{
    const char **values = ARENA_ARRAY(e->arena, const char *, nest->count);
    for (int r = 0; r < nest->count; r++) {
        const Term *reduce = nest->domains[r].reduce;
        values[r] = state_takes_rows(reduce) ? emit_name(e, "values") : NULL;
        if (values[r])
            emit_line(e, "%s %s[%d];", emit_type(reduce->reduce.argument->dtype, true), values[r], ROWS);
    }
    return values;
}

/* The best of them becomes the state, if it is better. */
static void place_rows(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at, int r, const char *values)
{
    const Term *reduce = nest->domains[r].reduce;
    const char *apart = emit_apart(e, reduce, loop->index), *by_lanes = strcmp(apart, "1") ? "LANES * " : "LANES";
    emit_push(e);
    emit_bind(e, loop->index, at);
    const char *first = emit_place(e, reduce, true);
    emit_pop(e);
    emit_line(e, "place_all_%s(%d, &%s, &%s, %s, %d, 1, %d, %s, %s%s);", emit_suffix(reduce->reduce.argument->dtype, true),
              state_wants_most(reduce), nest->turn[r][0], nest->turn[r][1], values, ROWS, ROWS, first,
              nest->across ? by_lanes : "", nest->across && !strcmp(apart, "1") ? "" : apart);
}

/* Along the lanes only the block of so many elements is noted that has each lane's best: the first with the best of all lanes is looked
 * at again. */
static void nest_blocks(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at, int r)
{
    const Term *reduce = nest->domains[r].reduce;
    const Dtype dtype = state_dtype(reduce);
    const char *suffix = emit_suffix(dtype, true), *best = emit_name(e, "best"), *block = emit_name(e, "block");
    const char *by = emit_text(e, "%d * LANES", ROWS), *begun = emit_name(e, "begun"), *found = emit_name(e, "found");
    emit_line(e, "const int64_t %s = %s;", begun, at);
    emit_line(e, "%s %s = %s;", emit_type(dtype, true), best, emit_state_start(e, reduce, 0, true));
    emit_line(e, "i32v %s = splat_i32v(0);", block);
    Scope *body = emit_push(e);
    const char **values = declare_rows(e, nest);
    emit_rows(e, nest, loop, at, values);
    emit_line(e, "keep_block_%s(%d, &%s, &%s, %s, %d, (int)((%s - %s) / (%s)));", suffix, state_wants_most(reduce), best, block, values[r], ROWS,
              at, begun, by);
    emit_pop(e);
    emit_line(e, "for (; %s + %s <= %s; %s += %s) {", at, by, loop->end, at, by);
    emit_body(e, body);
    emit_line(e, "}");
    Scope *again = emit_push(e);
    again->branch = true;
    emit_line(e, "const int64_t %s = %s + (int64_t)first_block_%s(%d, %s, %s) * (%s);", found, begun, suffix, state_wants_most(reduce), best, block,
              by);
    values = declare_rows(e, nest);
    const char **asks = e->asks;
    e->asks = NULL;
    emit_rows(e, nest, loop, found, values);
    e->asks = asks;
    place_rows(e, nest, loop, found, r, values[r]);
    emit_pop(e);
    emit_line(e, "if (%s > %s) {", at, begun);
    emit_body(e, again);
    emit_line(e, "}");
}

/* The innermost loop with ROWS elements of each lane at a time, as long as there are so many. */
void nest_rows(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at)
{
    const int only = state_only((const Term *const *)nest->reduces, nest->count);
    if (nest->across && nest->loop_count == 1 && only >= 0 && !nest->jammed) {
        nest_blocks(e, nest, loop, at, only);
        return;
    }
    const char *by = emit_text(e, nest->across ? "%d * LANES" : "%d", ROWS);
    Scope *whole = emit_push(e), *points = nest->jammed ? nest_open_points(e) : NULL;
    const char **values = declare_rows(e, nest);
    emit_rows(e, nest, loop, at, values);
    for (int r = 0; r < nest->count; r++)
        if (values[r])
            place_rows(e, nest, loop, at, r, values[r]);
    if (points)
        nest_close_points(e, points);
    emit_pop(e);
    emit_line(e, "for (; %s + %s <= %s; %s += %s) {", at, by, loop->end, at, by);
    emit_body(e, whole);
    emit_line(e, "}");
}
