/* Sums of exponentials of a row's and a column's numbers, as in ik + kj -> ikj | logsumexp k, for several rows at once. Of some
 * elements at a time each side's exponentials are made, powers times 2^whole, for all that they meet. Then an element costs the
 * sum of two whole numbers, by which the largest is found, and the product of two powers. */
#include "emit_nest.h"

enum { POWERS, WHOLES };

/* What the text of one such group is made of. */
typedef struct Powers {
    const LoopBounds *loop;
    const char *suffix;           /* of the lanes' type, "f32v" */
    const char *first, *some;     /* the group's first element, and how many there are */
    const char *at;               /* the element at hand */
    const char *rows[2], *columns[2];     /* arrays of each side's powers and whole numbers */
    const char *top;              /* the largest whole number of each point */
} Powers;

static Powers declare_powers(Emitter *e, const Nest *nest, const LoopBounds *loop, const char *first)
{
    Component components[STATE_COMPONENTS_MAX];
    state_components(nest->reduces[0], components);
    const char *element = emit_type(components[0].dtype, false), *vector = emit_type(components[0].dtype, true);
    int points = e->step->jam, most = GROUP_OF_POWERS;
    Powers p = { loop, emit_suffix(components[0].dtype, true), first, emit_name(e, "some"), emit_name(e, "at"),
                 { emit_name(e, "row_powers"), emit_name(e, "row_wholes") }, { emit_name(e, "powers"), emit_name(e, "wholes") },
                 emit_name(e, "top") };
    emit_line(e, "const int %s = (int)size_min(%d, %s - %s);", p.some, most, loop->end, first);
    emit_line(e, "%s %s[%d][%d], %s[%d][%d];", element, p.rows[POWERS], points, most, p.rows[WHOLES], points, most);
    emit_line(e, "%s %s[%d], %s[%d], %s[%d];", vector, p.columns[POWERS], most, p.columns[WHOLES], most, p.top, points);
    return p;
}

/* Begins the body of a loop over the elements, and ends it. */
static Scope *open_elements(Emitter *e, const Powers *p)
{
    Scope *body = emit_push(e);
    const char *name = emit_name(e, p->loop->index->name);
    body->loop = true;
    emit_bind(e, p->loop->index, name);
    emit_line(e, "const int64_t %s = %s + %s;", name, p->first, p->at);
    return body;
}

static void close_elements(Emitter *e, const Powers *p, const Scope *body, const char *step)
{
    emit_pop(e);
    emit_line(e, "for (int %s = 0; %s < %s; %s%s) {", p->at, p->at, p->some, p->at, step);
    emit_body(e, body);
    emit_line(e, "}");
}

/* The rows' side, with the lanes along the elements. */
static void make_rows(Emitter *e, const Powers *p)
{
    const Step *outer = e->step;
    Step *step = ARENA_NEW(e->arena, Step);
    *step = *outer;
    step->vector = (Index *)p->loop->index;
    const char *row = emit_name(e, step->jammed->name), *power = emit_name(e, "power"), *whole = emit_name(e, "whole");
    Scope *rows = emit_push(e);
    emit_bind(e, step->jammed, row);
    emit_line(e, "const int64_t %s = %s + point;", row, e->jam_first);
    Scope *body = open_elements(e, p);
    body->count = emit_name(e, "count");
    emit_line(e, "const int %s = (int)size_min(LANES, %s - %s);", body->count, p->some, p->at);
    e->step = step;
    const char *value = emit_bare(e, emit_varying(e, step->powers[0]));
    e->step = outer;
    emit_line(e, "%s %s, %s;", p->suffix, power, whole);
    emit_line(e, "part_powers_%s(%s, &%s, &%s);", p->suffix, value, power, whole);
    emit_line(e, "store_%s(&%s[point][%s], 1, %s, LANES);", p->suffix, p->rows[POWERS], p->at, power);
    emit_line(e, "store_%s(&%s[point][%s], 1, %s, LANES);", p->suffix, p->rows[WHOLES], p->at, whole);
    close_elements(e, p, body, " += LANES");
    emit_pop(e);
    emit_line(e, "for (int point = 0; point < points; point++) {");
    emit_body(e, rows);
    emit_line(e, "}");
}

static void make_columns(Emitter *e, const Powers *p)
{
    Scope *body = open_elements(e, p);
    const char *value = emit_bare(e, emit_varying(e, e->step->powers[1]));
    emit_line(e, "part_powers_%s(%s, &%s[%s], &%s[%s]);", p->suffix, value, p->columns[POWERS], p->at, p->columns[WHOLES], p->at);
    close_elements(e, p, body, "++");
}

void nest_groups_of_powers(Emitter *e, Nest *nest, const LoopBounds *loop, const char *at)
{
    const char *whole = nest->names[0][0], *sum = nest->names[0][1];
    Scope *body = emit_push(e);
    body->loop = true;
    const Powers p = declare_powers(e, nest, loop, at);
    const char *other = emit_name(e, "other"), *power = emit_name(e, "power");
    make_rows(e, &p);
    make_columns(e, &p);
    const char *both = emit_text(e, "%s[point][%s] + %s", p.rows[WHOLES], p.at, other);
    const char *column = emit_text(e, "const %s %s = %s[%s];", p.suffix, other, p.columns[WHOLES], p.at);
    nest_each_point(e, emit_text(e, "%s[point] = %s[point];", p.top, whole));
    Scope *reach = emit_push(e);
    emit_line(e, "%s", column);
    nest_each_point(e, emit_text(e, "%s[point] = greater_%s(%s, %s[point]);", p.top, p.suffix, both, p.top));
    close_elements(e, &p, reach, "++");
    nest_each_point(e, emit_text(e, "raise_powers_%s(&%s[point], &%s[point], %s[point]);", p.suffix, whole, sum, p.top));
    Scope *weigh = emit_push(e);
    emit_line(e, "%s", column);
    emit_line(e, "const %s %s = %s[%s];", p.suffix, power, p.columns[POWERS], p.at);
    const char *row = emit_text(e, "%s[point][%s]", p.rows[POWERS], p.at);
    nest_each_point(e, emit_text(e, "weigh_powers_%s(&%s[point], %s, %s, %s - %s[point]);", p.suffix, sum, row, power, both,
                                 p.top));
    close_elements(e, &p, weigh, "++");
    emit_pop(e);
    emit_line(e, "for (; %s < %s; %s += %d) {", at, loop->end, at, GROUP_OF_POWERS);
    emit_body(e, body);
    emit_line(e, "}");
}

/* One point gains nothing: what is made for all would be made for it alone. */
void nest_run_in_powers(Emitter *e, Nest *nest)
{
    Component components[STATE_COMPONENTS_MAX];
    int count = state_components(nest->reduces[0], components);
    const char *right = emit_name(e, "right"), *lost = emit_name(e, "lost"), *suffix = emit_suffix(components[0].dtype, true);
    emit_line(e, "int %s = points > 1;", right);
    Scope *powers = emit_push(e);
    powers->branch = true;
    nest->in_powers = true;
    nest_run(e, nest);
    nest->in_powers = false;
    emit_line(e, "boolv %s = first_boolv(0);", lost);
    nest_each_point(e, emit_text(e, "%s = or_boolv(%s, settle_powers_%s(&%s[point], &%s[point]));", lost, lost, suffix,
                            nest->names[0][0], nest->names[0][1]));
    emit_line(e, "%s = !any_boolv(%s);", right, lost);
    emit_pop(e);
    emit_line(e, "if (%s) {", right);
    emit_body(e, powers);
    emit_line(e, "}");
    Scope *plain = emit_push(e);
    plain->branch = true;
    for (int c = 0; c < count; c++)
        nest_each_point(e, emit_text(e, "%s[point] = %s;", nest->names[0][c], emit_state_start(e, nest->reduces[0], c, true)));
    nest_run(e, nest);
    emit_pop(e);
    emit_line(e, "if (!%s) {", right);
    emit_body(e, plain);
    emit_line(e, "}");
}
