/* Whole numbers that grow by the same from lane to lane, as positions do: what one lane holds says what all do, so that they
 * need no vectors of 64 bits, which are twice as long as those beside them. */
#include <stdlib.h>
#include <string.h>

#include "emitting.h"

/* first + lane * step; no line where first is NULL. */
typedef struct Line {
    const char *first;
    int64_t step;
} Line;

enum { STEP_MOST = 1 << 20 };

static Line line_of(Emitter *e, const Term *term);

/* A line and what is the same in all lanes, on either side of a sign; a line behind a minus. Nothing is added. */
static Line line_of_sum(Emitter *e, const Term *term)
{
    bool minus = term->map.function != FUNCTION_ADD;
    const Term *const *arguments = (const Term *const *)term->map.arguments;
    if (term->map.count == 1 || lanes_is_small(arguments[0], e->step->vector)) {
        Line line = line_of(e, arguments[term->map.count - 1]);
        const char *before = term->map.count == 1 ? "" : emit_term(e, arguments[0]).text;
        return line.first && !minus && !strcmp(before, "0") ? line : line.first ? (Line){ emit_text(e, minus ? "%s - (%s)" : "%s + %s", before, line.first), minus ? -line.step : line.step } : line;
    }
    Line line = lanes_is_small(arguments[1], e->step->vector) ? line_of(e, arguments[0]) : (Line){ NULL, 0 };
    const char *behind = line.first ? emit_term(e, arguments[1]).text : "0";
    return strcmp(behind, "0") ? (Line){ emit_text(e, "%s %c %s", line.first, minus ? '-' : '+', behind), line.step } : line;
}

/* A line times a small constant. */
static Line line_of_product(Emitter *e, const Term *term)
{
    for (int i = 0; i < 2; i++) {
        const Term *factor = term->map.arguments[i];
        while (factor->kind == TERM_MAP && factor->map.function == FUNCTION_CAST && factor->dtype == DTYPE_I64)
            factor = factor->map.arguments[0];
        if (factor->kind != TERM_CONSTANT || !factor->constant.is_integer || llabs(factor->constant.integer) > STEP_MOST)
            continue;
        Line line = line_of(e, term->map.arguments[1 - i]);
        if (line.first && llabs(line.step * factor->constant.integer) <= STEP_MOST)
            return (Line){ emit_text(e, "(%s) * %lld", line.first, (long long)factor->constant.integer), line.step * factor->constant.integer };
    }
    return (Line){ NULL, 0 };
}

static Line line_of(Emitter *e, const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->dtype == DTYPE_I64 &&
           term->map.arguments[0]->dtype == DTYPE_I64)
        term = term->map.arguments[0];
    if (term->kind == TERM_POSITION && e->lanes && term->position == e->step->vector)
        return (Line){ emit_bound(e, term->position), 1 };
    if (term->kind != TERM_MAP || term->dtype != DTYPE_I64)
        return (Line){ NULL, 0 };
    switch (term->map.function) {
    case FUNCTION_ADD: case FUNCTION_SUB: case FUNCTION_NEG: return line_of_sum(e, term);
    case FUNCTION_MUL: return line_of_product(e, term);
    default: return (Line){ NULL, 0 };
    }
}

/* Which lanes a comparison of a position along them and a number holds for is a matter of counting them. */
const char *emit_compared_line(Emitter *e, const Term *term)
{
    static const struct { Function function; const char *words[2]; } rows[] = {    /* as written, and with sides exchanged */
        { FUNCTION_LT, { "are_before(%s, %s)", "not_boolv(are_up_to(%s, %s))" } },
        { FUNCTION_LE, { "are_up_to(%s, %s)", "not_boolv(are_before(%s, %s))" } },
        { FUNCTION_GT, { "not_boolv(are_up_to(%s, %s))", "are_before(%s, %s)" } },
        { FUNCTION_GE, { "not_boolv(are_before(%s, %s))", "are_up_to(%s, %s)" } },
        { FUNCTION_EQ, { "are_at(%s, %s)", "are_at(%s, %s)" } },
        { FUNCTION_NE, { "not_boolv(are_at(%s, %s))", "not_boolv(are_at(%s, %s))" } },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int s = 0; s < 2 && term->map.function == rows[r].function; s++) {
            const Term *other = term->map.arguments[1 - s];
            Line line = term_has_index(other, e->step->vector) ? (Line){ NULL, 0 } : line_of(e, term->map.arguments[s]);
            if (line.first && line.step == 1)
                return emit_text(e, rows[r].words[s], line.first, emit_bare(e, emit_term(e, other).text));
        }
    return NULL;
}

/* The nearest real numbers; they are as far from 0 as those of the line without its sign. */
const char *emit_real_line(Emitter *e, const Term *term, Dtype real)
{
    const char *suffix = emit_suffix(real, true);
    if (term->kind == TERM_MAP && term->map.function == FUNCTION_ABS) {
        const char *line = emit_real_line(e, term->map.arguments[0], real);
        return line ? emit_text(e, "abs_%s(%s)", suffix, line) : NULL;
    }
    Line line = term->dtype == DTYPE_I64 ? line_of(e, term) : (Line){ NULL, 0 };
    return line.first ? emit_text(e, "line_%s(%s, %lld)", suffix, line.first, (long long)line.step) : NULL;
}
