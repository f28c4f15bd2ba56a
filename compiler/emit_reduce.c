/* Loops of reductions. Reductions over the same indices that stand side by side (max n & argmax n) share their loops. The
 * innermost loop of simple states keeps several of them, so that one operation need not wait for the one before; that of
 * a state that adds up several elements cheaper than one by one collects them. */
#include <stdlib.h>
#include <string.h>

#include "emit_nest.h"

static void find_reduction(void *user, const Term *term)
{
    *(bool *)user |= term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE;
}

static bool contains_reduction(const Emitter *e, const Term *term)
{
    bool found = false;
    term_each_below(e->arena, term, find_reduction, &found);
    return found;
}

static bool same_loops(const Term *a, const Term *b)
{
    if (a->reduce.over_count != b->reduce.over_count)
        return false;
    for (int i = 0; i < a->reduce.over_count; i++)
        if (!indices_have(b->reduce.over, b->reduce.over_count, a->reduce.over[i]))
            return false;
    return true;
}

/* The reductions that run together with one: all of the step's that stand at its level and have its loops. */
static Term **companions(Emitter *e, const Term *term, int *count)
{
    Term **list = NULL;
    bool is_root = false;
    for (int i = 0; i < e->step->root_count; i++)
        is_root |= e->step->roots[i] == term;
    for (int i = 0; i < e->step->root_count && is_root; i++) {
        Term *other = e->step->roots[i];
        if (same_loops(term, other) && !(e->scope->branch && other != term))
            ARENA_APPEND(e->arena, list, *count, other);
    }
    if (!*count)
        ARENA_APPEND(e->arena, list, *count, (Term *)term);
    return list;
}

/* ---- setting up ---- */

static void set_loops(Emitter *e, Nest *nest)
{
    const Term *first = nest->reduces[0];
    nest->loops = ARENA_ARRAY(e->arena, LoopBounds, first->reduce.over_count);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < first->reduce.over_count; i++) {
            Index *index = first->reduce.over[i];
            bool last = (e->lanes || e->team) && index == e->step->vector;
            if (last != (pass == 1))
                continue;
            nest->across |= last && e->lanes;
            nest->team |= last && e->team;
            const char *from = e->block_first[index->id], *to = e->block_end[index->id];
            nest->loops[nest->loop_count++] = (LoopBounds){ index, from ? from : "0", to ? to : emit_extent(e, index) };
        }
    if (nest->across)
        emit_long_loop(e, nest->loops, nest->loop_count);
    nest->varying = nest->across || (e->lanes && e->step->vector && term_has_index(first, e->step->vector));
}

/* On a grid a thread that has a point for itself asks for twice as much at a time, for its neighbours ask for no more than whole lines. */
static void set_chains(const Emitter *e, Nest *nest)
{
    bool alone = e->plan->target->grid && !nest->team;
    nest->chains = nest->loop_count > 0 && nest->count <= 2 ? alone ? 2 * CHAINS : CHAINS : 1;
    for (int r = 0; r < nest->count; r++)
        if (!state_is_simple(nest->reduces[r]) || contains_reduction(e, nest->reduces[r]->reduce.argument))
            nest->chains = 1;
}

/* What the reductions' wheres leave of their loops. Several of one argument, all of which one finds, have one where. */
static void set_domains(Emitter *e, Nest *nest)
{
    bool together = state_only((const Term *const *)nest->reduces, nest->count) >= 0;
    LoopBounds *loops = ARENA_ARRAY(e->arena, LoopBounds, nest->loop_count);
    for (int i = 0; i < nest->loop_count; i++)
        loops[i] = nest->loops[i];
    for (int r = 0; r < nest->count; r++)
        nest->domains[r] = together ? emit_domain(e, nest->reduces[r], r ? loops : nest->loops, nest->loop_count)
                                    : (Domain){ .reduce = nest->reduces[r] };
}

/* Moments of a column's part are added row by row as they come: their own take another pass over what is far apart. */
static void set_group(const Emitter *e, Nest *nest)
{
    const Domain *domain = &nest->domains[0];
    bool by_rows = e->step->split && !nest->across && !state_adds_exponentials(domain->reduce);
    nest->grouped = nest->loop_count > 0 && !by_rows && nest->count == 1 && nest->varying && state_group(domain->reduce) && !domain->inside_count &&
                    !contains_reduction(e, domain->reduce->reduce.argument);
}

static void set_rows(const Emitter *e, Nest *nest)
{
    for (int r = 0; r < nest->count; r++)
        nest->in_rows |= nest->varying && nest->loop_count > 0 && state_takes_rows(nest->reduces[r]);
    for (int r = 0; r < nest->count; r++)
        nest->in_rows &= !nest->domains[r].inside_count && !contains_reduction(e, nest->reduces[r]->reduce.argument);
}

int nest_finder(const Nest *nest, int r)
{
    return nest->in_rows ? state_finder((const Term *const *)nest->reduces, nest->count, r) : -1;
}

/* One component: a variable, or an array of one for each chain. */
static void declare_component(Emitter *e, const Nest *nest, int r, int c, Dtype dtype, const char *name)
{
    const char *type = emit_type(dtype, nest->varying), *start = emit_state_start(e, nest->reduces[r], c, nest->varying);
    if (nest->jammed) {
        emit_line(e, "%s %s[%d];", type, name, step_points(e->step));
        emit_line(e, "UNROLL_POINTS");
        emit_line(e, "for (int point = 0; point < points; point++)");
        emit_line(e, "    %s[point] = %s;", name, start);
        return;
    }
    if (nest->chains == 1) {
        emit_line(e, "%s %s = %s;", type, name, start);
        return;
    }
    emit_line(e, "%s %s[%d];", type, name, nest->chains);
    if (nest->varying)    /* so that vectors are in registers, not in memory */
        emit_line(e, "UNROLL");
    emit_line(e, "for (int chain = 0; chain < %d; chain++)", nest->chains);
    emit_line(e, "    %s[chain] = %s;", name, start);
}

void nest_declare(Emitter *e, Nest *nest)
{
    nest->names = arena_array(e->arena, (size_t)nest->count, sizeof *nest->names);
    nest->turn = arena_array(e->arena, (size_t)nest->count, sizeof *nest->turn);
    for (int r = 0; r < nest->count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        int count = nest_finder(nest, r) >= 0 ? 0 : state_components(nest->reduces[r], components);
        for (int c = 0; c < count; c++) {
            nest->names[r][c] = emit_name(e, nest->across ? emit_text(e, "%s_lanes", components[c].name) : components[c].name);
            declare_component(e, nest, r, c, components[c].dtype, nest->names[r][c]);
        }
    }
}

static void set_turn(Emitter *e, Nest *nest, const char *chain)
{
    for (int r = 0; r < nest->count; r++)
        for (int c = 0; c < STATE_COMPONENTS_MAX && nest->names[r][c]; c++)
            nest->turn[r][c] = nest->chains > 1 || nest->jammed ? emit_text(e, "%s[%s]", nest->names[r][c], chain)
                                                                : nest->names[r][c];
}

/* ---- steps ---- */

/* The element's position along the reduction, in the order that its indices were listed. */
const char *emit_place(Emitter *e, const Term *reduce, bool varying)
{
    const char *place = NULL, *factor = NULL;
    for (int i = 0; i < reduce->reduce.over_count; i++) {
        const Index *index = reduce->reduce.over[i];
        const char *at = emit_bound(e, index);
        place = place ? emit_text(e, "(%s) * %s + %s", place, emit_extent(e, index), at) : at;
        if (e->lanes && index == e->step->vector)
            factor = emit_apart(e, reduce, index);
    }
    place = place ? place : "0";
    if (!varying)
        return place;
    const char *splat = emit_splat(e, DTYPE_I64, place);
    if (!factor)
        return splat;
    return emit_text(e, strcmp(factor, "1") ? "%s + lanes_i64v() * (%s)" : "%s + lanes_i64v()", splat, factor);
}

const char *emit_apart(Emitter *e, const Term *reduce, const Index *index)
{
    const char *apart = "1";
    bool behind = false;
    for (int i = 0; i < reduce->reduce.over_count; i++) {
        if (behind)
            apart = strcmp(apart, "1") ? emit_text(e, "%s * %s", apart, emit_extent(e, reduce->reduce.over[i]))
                                       : emit_extent(e, reduce->reduce.over[i]);
        behind |= reduce->reduce.over[i] == index;
    }
    return apart;
}

void nest_step(Emitter *e, Nest *nest, int r)
{
    const Term *reduce = nest->domains[r].reduce;
    Component components[STATE_COMPONENTS_MAX];
    int n = state_components(reduce, components);
    const char *before[STATE_COMPONENTS_MAX];
    bool masked = nest->across && e->scope->count;
    for (int c = 0; c < n && masked; c++) {
        before[c] = emit_name(e, "before");
        emit_line(e, "const %s %s = %s;", emit_type(components[c].dtype, true), before[c], nest->turn[r][c]);
    }
    emit_state_step(e, reduce, nest->turn[r], nest->varying, state_needs_place(reduce) ? emit_place(e, reduce, nest->varying) : NULL);
    for (int c = 0; c < n && masked; c++)
        emit_line(e, "%s = select_%s(first_boolv(%s), %s, %s);", nest->turn[r][c], emit_suffix(components[c].dtype, true),
                  e->scope->count, nest->turn[r][c], before[c]);
}

const char *emit_conditions(Emitter *e, const Term *const *list, int count)
{
    Text text = text_new(e->arena);
    for (int i = 0; i < count; i++)
        text_print(&text, "%s%s", i ? " && " : "", emit_term(e, list[i]).text);
    return text.bytes;
}

static void emit_steps(Emitter *e, Nest *nest)
{
    for (int r = 0; r < nest->count; r++) {
        const Domain *domain = &nest->domains[r];
        if (nest_finder(nest, r) >= 0)
            continue;
        if (!domain->inside_count) {
            nest_step(e, nest, r);
            continue;
        }
        const char *test = emit_conditions(e, domain->inside, domain->inside_count);
        Scope *body = emit_push(e);
        body->branch = true;
        nest_step(e, nest, r);
        emit_pop(e);
        emit_line(e, "if (%s) {", emit_bare(e, test));
        emit_body(e, body);
        emit_line(e, "}");
    }
}

/* Whether a turn asks for what comes later: of points that go together, of chains once for all, of rows that a state in memory takes. */
static bool asks_ahead(const Emitter *e, const Nest *nest, const char *chain)
{
    const Step *step = e->step;
    bool whole = step->jammed ? !e->scope->count : nest->chains > 1 && !strcmp(chain, "chain");
    return step->later || ((step->ahead || step->soon) && whole) || nest_asks_of_rows(e, nest);
}

void nest_turn(Emitter *e, Nest *nest, const char *chain)
{
    if (nest->dots)
        nest_share_words(e, nest);
    if (nest->row_steps)
        nest_begin_rows(e, nest);
    if (nest->jammed && emit_has_partial_group(e))
        nest_load_vectors(e, nest);
    Scope *points = nest->jammed ? nest_open_points(e) : NULL;
    set_turn(e, nest, points ? "point" : chain);
    if (nest->vectors)
        nest_know_vectors(e, nest);
    else if (asks_ahead(e, nest, chain))
        nest_ask_ahead(e, nest);
    nest_make_joined(e, nest);
    (nest->dots ? nest_dot : emit_steps)(e, nest);
    if (points)
        nest_close_points(e, points);
    e->rows = NULL;
}

/* ---- loops ---- */

static void emit_loops(Emitter *e, Nest *nest, int depth);

/* Where a thread begins in a loop, and how far it goes at once. */
static const char *loop_first(Emitter *e, const Nest *nest, int depth)
{
    const LoopBounds *loop = &nest->loops[depth];
    return nest->team && depth == nest->loop_count - 1 ? emit_team_first(e, loop->first) : loop->first;
}

static const char *loop_stride(Emitter *e, const Nest *nest, int times)
{
    times *= nest->dots ? nest->dots : 1;
    if (nest->across || nest->team)
        return emit_text(e, times > 1 ? "%d * %s" : "%.0d%s", times > 1 ? times : 0, nest->team ? EMIT_TEAM_SIZE : "LANES");
    return emit_text(e, "%d", times);
}

static void emit_plain_loop(Emitter *e, Nest *nest, int depth)
{
    const LoopBounds *loop = &nest->loops[depth];
    Scope *body = emit_push(e);
    const char *name = emit_name(e, loop->index->name);
    body->loop = true;
    emit_bind(e, loop->index, name);
    emit_loops(e, nest, depth + 1);
    emit_pop(e);
    bool team = nest->team && depth == nest->loop_count - 1;
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s%s) {", name, loop_first(e, nest, depth), name, loop->end, name,
              team ? emit_text(e, " += %s", EMIT_TEAM_SIZE) : "++");
    emit_body(e, body);
    emit_line(e, "}");
}

/* Whether chains of single turns may leave some over: not where the extent is a number that they divide. */
static bool has_rest(const Nest *nest, const LoopBounds *loop, const char *first)
{
    char *behind;
    long end = strtol(loop->end, &behind, 10);
    return nest->chains == 1 || nest->across || nest->team || strcmp(first, "0") || *behind || end % nest->chains;
}

/* A loop over whole vectors, several at a time, from `at` on. */
static void emit_turns(Emitter *e, Nest *nest, int depth, const char *at)
{
    const LoopBounds *loop = &nest->loops[depth];
    const char *step = loop_stride(e, nest, 1);
    int chains = nest->chains;
    Scope *body = emit_push(e);
    const char *name = chains > 1 ? emit_name(e, loop->index->name) : at;
    body->indent += chains > 1;
    body->loop = true;
    emit_bind(e, loop->index, name);
    nest_turn(e, nest, "chain");
    emit_pop(e);
    const char *stride = loop_stride(e, nest, chains);
    const char *last = nest->team ? emit_text(e, "%s < %s", loop_stride(e, nest, chains - 1), loop->end)    /* of this thread */
                                  : emit_text(e, "%s <= %s", stride, loop->end);
    if (nest->jammed)
        emit_line(e, "UNROLL_TWICE");
    emit_line(e, "for (; %s + %s; %s += %s) {", at, last, at, stride);
    if (nest->factors)
        emit_line(e, "    %s %s[%d];", emit_type(DTYPE_F32, true), nest->kept, chains);
    if (chains > 1) {
        emit_line(e, "    UNROLL");
        emit_line(e, "    for (int chain = 0; chain < %d; chain++) {", chains);
        emit_line(e, "        const int64_t %s = %s + chain%s;", name, at,
                  strcmp(step, "1") ? emit_text(e, " * %s", step) : "");
    }
    emit_body(e, body);
    if (chains > 1)
        emit_line(e, "    }");
    nest_store_factors(e, nest, at);
    emit_line(e, "}");
}

/* The same with words of narrow numbers, where these are as they lie. */
static void emit_dots(Emitter *e, Nest *nest, int depth, const char *at)
{
    Scope *body = emit_push(e);
    nest->dots = e->step->dots;
    emit_turns(e, nest, depth, at);
    nest->dots = 0;
    emit_pop(e);
    emit_line(e, "if (unit) {");
    emit_body(e, body);
    emit_line(e, "}");
}

/* The innermost loop: several turns at a time, whole vectors, then what is left, the last lanes masked. */
static void emit_fast_loop(Emitter *e, Nest *nest, int depth)
{
    const LoopBounds *loop = &nest->loops[depth];
    const char *at = emit_name(e, emit_text(e, "%s_at", loop->index->name)), *step = loop_stride(e, nest, 1);
    int chains = nest->chains;
    emit_line(e, "int64_t %s = %s;", at, loop_first(e, nest, depth));
    if (nest->in_rows) {
        set_turn(e, nest, nest->jammed ? "point" : "0");
        nest_rows(e, nest, loop, at);
    }
    if (nest->grouped) {
        (nest->in_powers ? nest_groups_of_powers : nest->jammed ? nest_groups_of_points : nest_groups)(e, nest, loop, at);
    } else if (chains > 1 || nest->across) {
        if (e->step->dots && nest->across && nest->reduces[0] == e->step->roots[0])
            emit_dots(e, nest, depth, at);
        nest_find_factors(e, nest);
        emit_turns(e, nest, depth, at);
    }
    if ((nest->grouped && !nest->across) || !has_rest(nest, loop, loop_first(e, nest, depth)))
        return;
    Scope *rest = emit_push(e);
    rest->loop = true;
    emit_bind(e, loop->index, at);
    if (nest->across) {
        rest->count = emit_name(e, "count");
        emit_line(e, "const int %s = %s - %s < LANES ? (int)(%s - %s) : LANES;", rest->count, loop->end, at, loop->end, at);
    }
    nest_turn(e, nest, "0");
    emit_pop(e);
    emit_line(e, strcmp(step, "1") ? "for (; %s < %s; %s += %s) {" : "for (; %s < %s; %s++) {", at, loop->end, at, step);
    emit_body(e, rest);
    emit_line(e, "}");
}

/* A turn with lanes and reductions inside. In a whole vector the number of lanes is a constant, so that loads are bare. */
static Scope *lane_turn(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at, bool whole)
{
    Scope *body = emit_push(e);
    body->loop = true;
    emit_bind(e, loop->index, at);
    if (!whole) {
        body->count = emit_name(e, "count");
        emit_line(e, "const int %s = (int)(%s - %s);", body->count, loop->end, at);
    }
    set_turn(e, nest, "0");
    emit_steps(e, nest);
    return emit_pop(e);
}

static void emit_lane_loop(Emitter *e, Nest *nest, int depth)
{
    const LoopBounds *loop = &nest->loops[depth];
    const char *at = emit_name(e, loop->index->name);
    emit_line(e, "int64_t %s = %s;", at, loop->first);
    const Scope *whole = lane_turn(e, nest, loop, at, true), *rest = lane_turn(e, nest, loop, at, false);
    emit_line(e, "for (; %s + LANES <= %s; %s += LANES) {", at, loop->end, at);
    emit_body(e, whole);
    emit_line(e, "}");
    emit_line(e, "if (%s < %s) {", at, loop->end);
    emit_body(e, rest);
    emit_line(e, "}");
}

static void emit_loops(Emitter *e, Nest *nest, int depth)
{
    bool innermost = depth == nest->loop_count - 1, leaf = true;
    for (int r = 0; r < nest->count; r++)
        leaf &= !contains_reduction(e, nest->reduces[r]->reduce.argument);
    if (depth == nest->loop_count) {
        nest_turn(e, nest, "0");
    } else if (innermost && leaf && (nest->chains > 1 || nest->across || nest->grouped || nest->in_rows)) {
        emit_fast_loop(e, nest, depth);
    } else if (innermost && nest->across) {
        emit_lane_loop(e, nest, depth);
    } else {
        emit_plain_loop(e, nest, depth);
    }
}

/* ---- the end of a nest ---- */

void nest_merge_chains(Emitter *e, Nest *nest)
{
    if (nest->chains == 1)
        return;
    for (int r = 0; r < nest->count; r++) {
        const char *first[] = { emit_text(e, "%s[0]", nest->names[r][0]) };
        const char *other[] = { emit_text(e, "%s[chain]", nest->names[r][0]) };
        Scope *body = emit_push(e);
        emit_state_merge(e, nest->reduces[r], first, other, nest->varying);
        emit_pop(e);
        if (nest->varying)
            emit_line(e, "UNROLL");
        emit_line(e, "for (int chain = 1; chain < %d; chain++)", nest->chains);
        emit_body(e, body);
    }
}

/* The names of one reduction's finished states, lanes folded. */
void nest_finished(Emitter *e, Nest *nest, int r, const char *names[STATE_COMPONENTS_MAX])
{
    Component components[STATE_COMPONENTS_MAX];
    int n = state_components(nest->reduces[r], components), of = nest_finder(nest, r) >= 0 ? nest_finder(nest, r) : r;
    for (int c = 0; c < n; c++)
        names[c] = nest->chains > 1 || nest->jammed ? emit_text(e, "%s[%s]", nest->names[of][c], nest->jammed ? "point" : "0")
                                                    : nest->names[of][c];
    if (nest->team)
        emit_team_fold(e, nest->reduces[r], names);
    if (!nest->across)
        return;
    const char *lanes[STATE_COMPONENTS_MAX];
    memcpy(lanes, names, sizeof lanes);
    for (int c = 0; c < n; c++)
        names[c] = emit_name(e, components[c].name);
    emit_state_fold(e, nest->reduces[r], lanes, names);
}

static const char *named_bound(Emitter *e, const char *bound, const char *word)
{
    if (!strchr(bound, '('))
        return bound;
    const char *name = emit_name(e, word);
    emit_line(e, "const int64_t %s = %s;", name, bound);
    return name;
}

Nest nest_open(Emitter *e, const Term *root)
{
    int count = 0;
    Term **reduces = companions(e, root, &count);
    Nest nest = { .reduces = reduces, .count = count, .domains = ARENA_ARRAY(e->arena, Domain, count) };
    set_loops(e, &nest);
    set_chains(e, &nest);
    set_domains(e, &nest);
    set_group(e, &nest);
    for (int i = 0; i < nest.loop_count; i++) {
        LoopBounds *loop = &nest.loops[i];
        loop->first = named_bound(e, loop->first, emit_text(e, "%s_from", loop->index->name));
        loop->end = named_bound(e, loop->end, emit_text(e, "%s_to", loop->index->name));
    }
    set_rows(e, &nest);
    return nest;
}

void nest_run(Emitter *e, Nest *nest)
{
    const Domain *domain = &nest->domains[0];
    if (!domain->around_count) {
        emit_loops(e, nest, 0);
        return;
    }
    const char *test = emit_conditions(e, domain->around, domain->around_count);
    Scope *body = emit_push(e);
    body->branch = true;
    emit_loops(e, nest, 0);
    emit_pop(e);
    emit_line(e, "if (%s) {", emit_bare(e, test));
    emit_body(e, body);
    emit_line(e, "}");
}

void nest_know(Emitter *e, const Term *reduce, const char *const *names, bool varying)
{
    Value value = emit_state_finish(e, reduce, names, varying);
    const char *name = value.text;
    if (strchr(name, '(')) {
        name = emit_name(e, reduction_facts[reduce->reduce.reduction].name);
        emit_line(e, "const %s %s = %s;", emit_type(reduce->dtype, varying), name, emit_bare(e, value.text));
    }
    emit_know(e, reduce, (Value){ name, varying });
}

Value emit_reduction(Emitter *e, const Term *term)
{
    Nest nest = nest_open(e, term);
    nest_declare(e, &nest);
    nest_run(e, &nest);
    nest_merge_chains(e, &nest);
    for (int r = 0; r < nest.count; r++) {
        const char *names[STATE_COMPONENTS_MAX];
        nest_finished(e, &nest, r, names);
        nest_know(e, nest.reduces[r], names, nest.varying && !nest.across);
    }
    return *emit_known(e, term);
}

/* ---- split reductions ---- */

/* The parts' states merged in order; then the step's expression goes on from there. */
void emit_merged_roots(Emitter *e)
{
    int count = 0;
    bool varying = e->lanes;
    Term **reduces = companions(e, e->step->roots[0], &count);
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)count, sizeof *names);
    for (int r = 0; r < count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int c = 0, n = state_components(reduces[r], components); c < n; c++) {
            names[r][c] = emit_name(e, components[c].name);
            emit_line(e, "%s %s = %s;", emit_type(components[c].dtype, varying), names[r][c],
                      emit_state_start(e, reduces[r], c, varying));
        }
    }
    Scope *body = emit_push(e);
    const char *offset = emit_name(e, "place");
    emit_line(e, "const int64_t %s = %s;", offset, emit_part_offset(e, "part"));
    for (int r = 0; r < count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        const char *others[STATE_COMPONENTS_MAX];
        for (int c = 0, n = state_components(reduces[r], components); c < n; c++)
            others[c] = emit_load_part(e, emit_part_of(e, r, c), offset, varying);
        emit_state_merge(e, reduces[r], names[r], others, varying);
    }
    emit_pop(e);
    if (e->plan->target->grid)
        emit_line(e, "UNROLL_MUCH");
    emit_line(e, "for (int64_t part = 0; part < %s; part++) {", emit_part_count(e));
    emit_body(e, body);
    emit_line(e, "}");
    for (int r = 0; r < count; r++)
        nest_know(e, reduces[r], names[r], varying);
}
