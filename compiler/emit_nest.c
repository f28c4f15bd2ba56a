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
    emit_line(e, "    add_%s_%s(&%s, &%s, %s, %s);", state_group(reduce), emit_suffix(dtype, true), nest->names[0][0], nest->names[0][1],
              others, some);
    emit_line(e, "}");
}

/* The innermost loop with ROWS elements of each lane at a time, as long as there are so many. */
void nest_rows(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at)
{
    const char **values = ARENA_ARRAY(e->arena, const char *, nest->count), *turn = emit_name(e, "row"), *by = emit_text(e, nest->across ? "%d * LANES" : "%d", ROWS);
    Scope *whole = emit_push(e);
    for (int r = 0; r < nest->count; r++) {
        const Term *reduce = nest->domains[r].reduce;
        values[r] = state_takes_rows(reduce) ? emit_name(e, "values") : NULL;
        if (values[r])
            emit_line(e, "%s %s[%d];", emit_type(reduce->reduce.argument->dtype, true), values[r], ROWS);
    }
    Scope *body = emit_push(e);
    const char *name = emit_name(e, loop->index->name);
    body->loop = true;
    emit_bind(e, loop->index, name);
    emit_line(e, "const int64_t %s = %s + %s%s;", name, at, turn, nest->across ? " * LANES" : "");
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
    for (int r = 0; r < nest->count; r++) {
        const Term *reduce = nest->domains[r].reduce;
        const char *apart = emit_apart(e, reduce, loop->index), *by_lanes = strcmp(apart, "1") ? "LANES * " : "LANES";
        if (!values[r])
            continue;
        emit_push(e);
        emit_bind(e, loop->index, at);
        const char *first = emit_place(e, reduce, true);
        emit_pop(e);
        emit_line(e, "place_all_%s(%d, &%s, &%s, %s, %d, 1, %d, %s, %s%s);", emit_suffix(reduce->reduce.argument->dtype, true),
                  state_wants_most(reduce), nest->turn[r][0], nest->turn[r][1], values[r], ROWS, ROWS, first,
                  nest->across ? by_lanes : "", nest->across && !strcmp(apart, "1") ? "" : apart);
    }
    emit_pop(e);
    emit_line(e, "for (; %s + %s <= %s; %s += %s) {", at, by, loop->end, at, by);
    emit_body(e, whole);
    emit_line(e, "}");
}
