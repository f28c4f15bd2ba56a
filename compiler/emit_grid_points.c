/* One step on a grid of threads: the threads of a block share the points of its kept loops, one each, or one for each team. Kept loops that
 * may meet an element again run in order, in one thread, or in several of which each adds to a share of the elements. */
#include <string.h>

#include "emitting.h"

/* Whether points along a loop never store to the same element. */
static bool is_apart(const Step *step, const Index *index)
{
    const Output *output = &step->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank; a++)
        if (output->tensor->axes[a] == index)
            return true;
    return false;
}

static const char *loop_extent(Emitter *e, const Index *index)
{
    if (!e->block_first[index->id])
        return emit_extent(e, index);
    return emit_text(e, "(%s - %s)", e->block_end[index->id], e->block_first[index->id]);
}

static const char *loop_value(Emitter *e, const Index *index, const char *count)
{
    const char *first = e->block_first[index->id];
    return first ? emit_text(e, "%s + %s", first, count) : count;
}

/* What threads share: a loop's points, or shares. Numbers of points are numbers of such digits, the innermost last. */
typedef struct Digit {
    const Index *index;           /* NULL: shares */
    const char *name;             /* of the index, */
    const char *at, *skip, *of;   /* of how far on it is, goes on for the thread's next point, and was for some points */
    const char *extent;
} Digit;

typedef struct Shared {
    Digit *digits;
    int count;
    const char *turn;             /* counts some of a thread's points */
} Shared;

static Shared shared_loops(Emitter *e, Names *names)
{
    const Step *step = e->step;
    Shared s = { .count = 0 };
    if (step->shares > 1) {
        Digit share = { .name = "share", .at = "share_at", .skip = "share_skip", .extent = emit_text(e, "%d", step->shares) };
        ARENA_APPEND(e->arena, s.digits, s.count, share);
    }
    for (int i = 0; i < step->loop_count; i++) {
        const char *name = names_user(names, step->loops[i]->name);
        if (emit_scans(step, step->loops[i]) || !is_apart(step, step->loops[i]))
            continue;
        Digit digit = { .index = step->loops[i], .name = name, .extent = loop_extent(e, step->loops[i]) };
        digit.at = names_unique(names, emit_text(e, "%s_at", name));
        digit.skip = names_unique(names, emit_text(e, "%s_skip", name));
        digit.of = names_unique(names, emit_text(e, "%s_of", name));
        ARENA_APPEND(e->arena, s.digits, s.count, digit);
    }
    s.turn = names_unique(names, "n");
    return s;
}

/* The indices of the point at hand, or of one of some points. */
static void put_indices(Emitter *e, Text *text, const Shared *s, bool of, int indent)
{
    for (int i = s->count - 1; i >= 0; i--) {
        const Digit *digit = &s->digits[i];
        const char *count = s->count == 1 ? "point" : of ? emit_text(e, "%s[%s]", digit->of, s->turn) : digit->at;
        text_print(text, "%*sconst int64_t %s = %s;\n", indent, "", digit->name, digit->index ? loop_value(e, digit->index, count) : count);
    }
}

/* The digits of a thread's first point, and of how far on its next one is. */
static void put_first(Emitter *e, Text *text, const Shared *s, const char *first, const char *stride)
{
    if (s->count < 2)
        return;
    text_print(text, "    if (points <= 0)\n        return;\n    int64_t rest = %s, skip = %s;\n", first, stride);
    for (int i = s->count - 1; i >= 0; i--) {
        const Digit *digit = &s->digits[i];
        for (int skips = 0; skips < 2; skips++) {
            const char *from = skips ? "skip" : "rest", *value = i ? emit_text(e, "take_index(&%s, %s)", from, emit_bare(e, digit->extent)) : from;
            text_print(text, "    %sint64_t %s = %s;\n", skips ? "const " : "", skips ? digit->skip : digit->at, value);
        }
    }
}

static void put_next(Emitter *e, Text *text, const Shared *s, int indent)
{
    for (int i = s->count - 1; i >= 0 && s->count > 1; i--) {
        const Digit *digit = &s->digits[i];
        const char *carry = i < s->count - 1 ? " + carry" : "";
        if (i)
            text_print(text, "%*s%scarry = add_index(&%s, %s%s, %s);\n", indent, "", carry[0] ? "" : "int64_t ", digit->at, digit->skip, carry,
                       emit_bare(e, digit->extent));
        else
            text_print(text, "%*s%s += %s%s;\n", indent, "", digit->at, digit->skip, carry);
    }
}

/* The loops that run in order, around the call of the point's function. */
static void put_point(Emitter *e, Text *text, const char *call)
{
    const Step *step = e->step;
    Names names = names_new(e->arena, &e->names);
    int depth = 2;
    for (int i = 0; i < step->loop_count; i++) {
        const Index *index = step->loops[i];
        const char *name = names_user(&names, index->name), *first = e->block_first[index->id], *end = e->block_end[index->id];
        if (!emit_scans(step, index) && !is_apart(step, index))
            text_print(text, "%*sfor (int64_t %s = %s; %s < %s; %s++)\n", 4 * depth++, "", name, first ? first : "0", name,
                       end ? end : emit_extent(e, index), name);
    }
    text_print(text, "%*s%s\n", 4 * depth, "", call);
}

/* What a thread does for some of its points at a time: it makes their values, then it stores them. */
typedef struct Halves {
    const char *type, *make, *store;
} Halves;

/* Whether it does, so that what is read for them is on its way at once: the compiler cannot know that nothing is stored where it is read. */
static bool goes_ahead(const Emitter *e, const Shared *s)
{
    enum { DIGITS_MOST = 6 };    /* of each point, in registers */
    const Step *step = e->step;
    const Statement *statement = step->statement;
    const Output *output = &statement->outputs[0];
    bool plain = !e->merging && step->kind == STEP_STORE && step->root_count == 0 && step->shares <= 1 && s->count == step->loop_count &&
                 s->count > 0 && s->count <= DIGITS_MOST && statement->output_count == 1 && !statement->accumulate && !output->tensor->previous &&
                 !output->tensor->from_caller && !e->misses[output->value->id] && output->value->kind != TERM_CONSTANT;
    for (int a = 0; a < output->tensor->rank && plain; a++)
        plain = position_is_plain(&output->positions[a]);
    return plain;
}

static void put_ahead(Emitter *e, Text *text, const Shared *s, const Halves *halves)
{
    const char *n = s->turn, *head = emit_text(e, "        UNROLL\n        for (int %s = 0; %s < POINTS_AHEAD; %s++) {\n"
                                               "            const int64_t point = first + %s * THREADS;\n", n, n, n, n);
    text_print(text, "        %s made[POINTS_AHEAD];\n", halves->type);
    for (int i = 0; i < s->count && s->count > 1; i++)
        text_print(text, "        int64_t %s[POINTS_AHEAD];\n", s->digits[i].of);
    text_put(text, head);
    for (int i = 0; i < s->count && s->count > 1; i++)
        text_print(text, "            %s[%s] = %s;\n", s->digits[i].of, n, s->digits[i].at);
    put_indices(e, text, s, false, 12);
    text_print(text, "            if (point < points)\n                made[%s] = %s\n", n, halves->make);
    put_next(e, text, s, 12);
    text_print(text, "        }\n%s", head);
    put_indices(e, text, s, true, 12);
    text_print(text, "            if (point < points)\n                %s\n        }\n", halves->store);
}

/* A loop over the points, by threads of the block; those of a merge by all threads of the grid. */
static const char *points_loop(Emitter *e, const Shared *s, const char *call, const Halves *halves)
{
    Text text = text_new(e->arena);
    text_put(&text, "    const int64_t points = ");
    for (int i = 0; i < s->count; i++)
        text_print(&text, "%s%s", i ? " * " : "", s->count > 1 ? s->digits[i].extent : emit_bare(e, s->digits[i].extent));
    text_put(&text, s->count ? ";\n" : "1;\n");
    const char *first = "threadIdx.x", *stride = "THREADS";
    if (e->team) {
        text_put(&text, "    const Team team = team_of(points);\n");
        first = "team.number";
        stride = "team.count";
    } else if (e->merging) {
        first = "(int64_t)blockIdx.x * THREADS + threadIdx.x";
        stride = "(int64_t)gridDim.x * THREADS";
    }
    put_first(e, &text, s, first, stride);
    const char *point = halves ? "first" : "point";
    text_print(&text, "    for (int64_t %s = %s; %s < points; %s += %s%s) {\n", point, first, point, point, halves ? "POINTS_AHEAD * " : "", stride);
    if (halves) {
        put_ahead(e, &text, s, halves);
    } else {
        put_indices(e, &text, s, false, 8);
        put_point(e, &text, call);
        put_next(e, &text, s, 8);
    }
    text_put(&text, "    }\n");
    return text.bytes;
}

/* The function for one point. Back comes how it is called. */
static const char *put_point_function(Emitter *e, const Shared *s, const char *type, const char *name, const char *comment)
{
    const char *body = emit_point(e), *whole = emit_text(e, "%s%s", emit_locals(e, body), body);
    ParameterSet inner = emit_step_parameters(e, true);
    emit_parameter(&inner, "int64_t ", "share");
    emit_parameter(&inner, "const Team ", "team");
    bool stores = e->point == POINT_STORES;
    const char *list = emit_parameters(e, &inner, whole, true), *more = stores ? emit_text(e, ", %s made", e->made_type) : "";
    text_print(&e->functions, "%sINLINE %s %s(%s%s)\n{\n%s}\n\n", comment, type, name, list, more, whole);
    return emit_text(e, "%s(%s%s);", name, emit_parameters(e, &inner, whole, false), stores ? emit_text(e, ", made[%s]", s->turn) : "");
}

/* The function of a step for one point, or one that makes its value and one that stores it, and that for the points of a unit. */
void emit_grid_step(Emitter *e, const char *name, const char *comment)
{
    Names names = names_new(e->arena, &e->names);
    Shared s = shared_loops(e, &names);
    Halves halves = { .type = NULL }, *ahead = NULL;
    comment = emit_text(e, "/* %s */\n", comment);
    if (goes_ahead(e, &s)) {
        ahead = &halves;
        halves.type = e->made_type = emit_type(emit_unrounded(e, &e->step->statement->outputs[0])->dtype, false);
        e->point = POINT_VALUE;
        halves.make = put_point_function(e, &s, halves.type, emit_text(e, "%s_of", name), comment);
        e->point = POINT_STORES;
        comment = "";
    }
    const char *call = halves.store = put_point_function(e, &s, "void", emit_text(e, "%s_at", name), comment);
    e->point = POINT_WHOLE;
    ParameterSet outer = emit_step_parameters(e, false);
    const char *loop = points_loop(e, &s, call, ahead), *text = emit_text(e, "%s%s", emit_locals(e, loop), loop);
    text_print(&e->functions, "INLINE void %s(%s)\n{\n%s}\n\n", name, emit_parameters(e, &outer, text, true), text);
    e->calls[e->merging][e->step->id] = emit_text(e, "%s(%s);", name, emit_parameters(e, &outer, text, false));
}
