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
    const char *at, *skip;        /* of how far on it is, and goes on for the thread's next point */
    const char *extent;
} Digit;

typedef struct Shared {
    Digit *digits;
    int count;
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
        ARENA_APPEND(e->arena, s.digits, s.count, digit);
    }
    return s;
}

/* The indices of the point at hand. */
static void put_indices(Emitter *e, Text *text, const Shared *s)
{
    for (int i = s->count - 1; i >= 0; i--) {
        const Digit *digit = &s->digits[i];
        const char *count = s->count == 1 ? "point" : digit->at;
        text_print(text, "        const int64_t %s = %s;\n", digit->name, digit->index ? loop_value(e, digit->index, count) : count);
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

static void put_next(Emitter *e, Text *text, const Shared *s)
{
    for (int i = s->count - 1; i >= 0 && s->count > 1; i--) {
        const Digit *digit = &s->digits[i];
        const char *carry = i < s->count - 1 ? " + carry" : "";
        if (i)
            text_print(text, "        %scarry = add_index(&%s, %s%s, %s);\n", carry[0] ? "" : "int64_t ", digit->at, digit->skip, carry,
                       emit_bare(e, digit->extent));
        else
            text_print(text, "        %s += %s%s;\n", digit->at, digit->skip, carry);
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

/* A loop over the points, by threads of the block; those of a merge by all threads of the grid. */
static const char *points_loop(Emitter *e, const Shared *s, const char *call)
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
    text_print(&text, "    UNROLL_NOT\n    for (int64_t point = %s; point < points; point += %s) {\n", first, stride);    /* in few registers */
    put_indices(e, &text, s);
    put_point(e, &text, call);
    put_next(e, &text, s);
    text_put(&text, "    }\n");
    return text.bytes;
}

/* The function of a step for one point, and that for the points of a unit. */
void emit_grid_step(Emitter *e, const char *name, const char *comment)
{
    const char *point = emit_text(e, "%s_at", name), *body = emit_point(e);
    const char *whole = emit_text(e, "%s%s", emit_locals(e, body), body);
    ParameterSet inner = emit_step_parameters(e, true), outer = emit_step_parameters(e, false);
    emit_parameter(&inner, "int64_t ", "share");
    emit_parameter(&inner, "const Team ", "team");
    text_print(&e->functions, "/* %s */\nINLINE void %s(%s)\n{\n%s}\n\n", comment, point, emit_parameters(e, &inner, whole, true), whole);
    const char *call = emit_text(e, "%s(%s);", point, emit_parameters(e, &inner, whole, false));
    Names names = names_new(e->arena, &e->names);
    Shared s = shared_loops(e, &names);
    const char *loop = points_loop(e, &s, call), *text = emit_text(e, "%s%s", emit_locals(e, loop), loop);
    text_print(&e->functions, "INLINE void %s(%s)\n{\n%s}\n\n", name, emit_parameters(e, &outer, text, true), text);
    e->calls[e->merging][e->step->id] = emit_text(e, "%s(%s);", name, emit_parameters(e, &outer, text, false));
}
