/* Teams: threads of a grid that work on one point. Each goes through its share of the innermost loop with a state of its own;
 * then the states of a warp merge, each with one further on, and where the team is a whole block, those of its warps. All
 * threads end with the same state, and one of them stores what comes of it. */
#include <string.h>

#include "emitting.h"

const char *emit_team_first(Emitter *e, const char *first)
{
    return strcmp(first, "0") ? emit_text(e, "%s + team.rank", first) : "team.rank";
}

/* for (int apart = 16; apart > 0; apart /= 2) { … } */
static void fold_warp(Emitter *e, const Term *reduce, const char *const *names, const Component *components, int count)
{
    const char *others[STATE_COMPONENTS_MAX];
    Scope *body = emit_push(e);
    for (int c = 0; c < count; c++) {
        Dtype dtype = components[c].dtype;
        others[c] = emit_name(e, emit_text(e, "later_%s", components[c].name));
        emit_line(e, "const %s %s = later_%s(%s, apart);", emit_type(dtype, false), others[c], emit_suffix(dtype, false), names[c]);
    }
    emit_state_merge(e, reduce, names, others, false);
    emit_pop(e);
    emit_line(e, "for (int apart = WARP / 2; apart > 0; apart /= 2) {");
    emit_body(e, body);
    emit_line(e, "}");
}

/* Shared memory has a state of each warp; a team that is one takes its own. */
static void fold_block(Emitter *e, const Term *reduce, const char *const *names, const Component *components, int count)
{
    const char *shared[STATE_COMPONENTS_MAX], *others[STATE_COMPONENTS_MAX];
    for (int c = 0; c < count; c++) {
        shared[c] = emit_name(e, emit_text(e, "%s_of", components[c].name));
        others[c] = emit_text(e, "%s[warp]", shared[c]);
        emit_line(e, "__shared__ %s %s[WARPS];", emit_type(components[c].dtype, false), shared[c]);
    }
    emit_line(e, "if (threadIdx.x %% WARP == 0) {");
    for (int c = 0; c < count; c++)
        emit_line(e, "    %s[threadIdx.x / WARP] = %s;", shared[c], names[c]);
    emit_line(e, "}");
    emit_line(e, "team_wait(team);");
    for (int c = 0; c < count; c++)
        emit_line(e, "%s = %s[team.size > WARP ? 0 : threadIdx.x / WARP];", names[c], shared[c]);
    Scope *body = emit_push(e);
    emit_state_merge(e, reduce, names, others, false);
    emit_pop(e);
    emit_line(e, "for (int warp = 1; warp < team.size / WARP; warp++) {");
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "team_wait(team);");
}

void emit_team_fold(Emitter *e, const Term *reduce, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    int count = state_components(reduce, components);
    fold_warp(e, reduce, names, components, count);
    fold_block(e, reduce, names, components, count);
}

Scope *emit_alone(Emitter *e)
{
    return e->team ? emit_push(e) : NULL;
}

void emit_end_alone(Emitter *e, const Scope *alone)
{
    if (!alone)
        return;
    emit_pop(e);
    emit_line(e, "team_wait(team);");    /* what takes another's place may still be read */
    emit_line(e, "if (team.rank == 0) {");
    emit_body(e, alone);
    emit_line(e, "}");
}
