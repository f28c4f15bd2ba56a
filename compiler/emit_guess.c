/* A product's tiles whose sums become powers at once, with maxima that are guessed: plan_guess.c says where. */
#include <math.h>
#include <string.h>

#include "emit_tiling.h"

/* Between the powers' limits: that of a row's first maximum is e^-MARGIN, and what follows may be e^2MARGIN times as large. Products with
 * either are numbers for all values of middling size. So it is with powers that are rounded to bf16. Of others the first one is 1:
 * lifted ones have room below, and those that end as shares have a share's precision. */
enum { MARGIN = 20, COLUMNS_LEAST = 16 };

static bool is_lifted(const Emitter *e, const Guess *guess)
{
    return e->plan->lifted[guess->reduction->roots[0]->id];
}

/* Whether the factors are powers rounded to bf16. Then they are powers of 2, so that nothing is left to be scaled of sums times
 * a number: e^x is 2^(x / ln 2). */
#define LOG2_E 1.4426950408889634

static bool rounds(const Guess *guess)
{
    return guess->factors->statement->outputs[0].tensor->dtype == DTYPE_BF16;
}

static const Step *powers_of(const Guess *guess)
{
    return guess->reduction->join->steps[0];
}

/* The text goes on with another step, which reads the product's tile: its indices are the product's, by their names at hand. */
static void go_on_with(Emitter *e, const Tiling *t, const Step *step, const char *row, const char *column)
{
    const Output *made = &t->step->statement->outputs[0];
    const Join *join = t->guess->reduction->join;
    const Index *const last[] = { tiling_last(&t->c->rows), tiling_last(&t->c->columns) };
    e->step = step;
    for (int i = 0; i < e->plan->lowered->term_count; i++) {
        const Term *term = e->plan->lowered->terms[i];
        if (term->kind != TERM_READ || term->statement != step->statement->id || term->read.tensor != made->tensor)
            continue;
        for (int a = 0; a < made->tensor->rank; a++) {
            const Index *own = term->read.positions[a].parts[0].index, *index = made->positions[a].parts[0].index;
            const char *name = index == last[0] ? row : index == last[1] ? column : t->names[index->id];
            if (!name)
                continue;
            emit_bind(e, own, name);
            if (join->same[own->id])
                emit_bind(e, join->same[own->id], name);
        }
    }
    for (int i = 0; step == powers_of(t->guess) && i < t->guess->factors->loop_count; i++) {
        const Index *own = t->guess->factors->loops[i];
        const char *name = emit_bound(e, join->same[own->id]);
        if (name)
            emit_bind(e, own, name);
    }
}

/* A row of the tile. */
static const char *kept_row(Emitter *e, const Tiling *t)
{
    return emit_text(e, "kept + at_row * COLUMNS_%d", t->number);
}

/* A vector of a row's sums, which all reads of the step at hand are of. */
static void know_sums(Emitter *e, const Tiling *t, const char *from, const char *lanes)
{
    const char *sum = emit_name(e, "sum");
    emit_line(e, "const f32v %s = load_f32v(%s + v * LANES, 1, %s);", sum, from, lanes);
    for (int i = 0; i < e->plan->lowered->term_count; i++) {
        const Term *term = e->plan->lowered->terms[i];
        if (term->kind == TERM_READ && term->statement == e->step->statement->id && term->read.tensor == t->step->statement->outputs[0].tensor)
            emit_know(e, term, (Value){ sum, true });
    }
}

/* Where the powers' sums of a row stand, lane by lane. */
static const char *seen_at(Emitter *e, const Tiling *t, const char *row)
{
    const Output *largest = &t->guess->largest->statement->outputs[0];
    const Step *own = e->step;
    emit_push(e);
    go_on_with(e, t, t->guess->largest, row, NULL);
    const char *target = emit_target(e, largest), *offset = strstr(target, " + ");
    emit_pop(e);
    e->step = own;
    return emit_text(e, "seen_%d + LANES * (%s)", t->number, offset ? offset + 3 : "0");
}

/* A loop over a tile's rows around what `write` writes for one of them, if `when`; NULL: in any case. `ends`: it is the last. */
static void each_row(Emitter *e, const Tiling *t, const char *when, bool ends, void (*write)(Emitter *e, const Tiling *t, const char *row))
{
    const Index *row = tiling_last(&t->c->rows);
    Scope *rows = emit_push(e);
    rows->indent += when != NULL;
    for (int s = 0; s < 4; s++)
        tiling_bind(e, t, tiling_set(t->c, s), tiling_set(t->c, s)->count);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id]));
    emit_line(e, "const int64_t %s = %s + at_row;", at, t->names[row->id]);
    emit_bind(e, row, at);
    write(e, t, at);
    emit_pop(e);
    if (when)
        emit_line(e, "if (%s) {", when);
    e->scope->indent += when != NULL;
    emit_line(e, "for (int at_row = 0; at_row < height; at_row++) {");
    emit_body(e, rows);
    emit_line(e, "}");
    if (ends)
        emit_line(e, "return;");
    e->scope->indent -= when != NULL;
    if (when)
        emit_line(e, "}");
}

/* Whether columns may be left out, so that a row's first ones may be in any tile. */
static bool masks(const Tiling *t)
{
    return t->c->columns_met.condition != NULL;
}

/* The maximum in exp(x - maximum). */
static const Term *largest_read(const Guess *guess)
{
    return powers_of(guess)->statement->outputs[0].value->select.no->map.arguments[0]->map.arguments[1];
}

/* Guesses a row's maximum: that of this tile, and a margin. */
static void guess_row(Emitter *e, const Tiling *t, const char *row)
{
    const Step *step = t->guess->largest;
    const Term *root = step->roots[0];
    const char *column = t->names[tiling_last(&t->c->columns)->id];
    const char *lanes[STATE_COMPONENTS_MAX] = { emit_name(e, "largest_lanes") }, *all[STATE_COMPONENTS_MAX] = { emit_name(e, "largest") };
    if (masks(t)) {
        go_on_with(e, t, powers_of(t->guess), row, NULL);
        emit_line(e, "if (*(%s) != -INFINITY)", emit_pointer(e, largest_read(t->guess)));
        emit_line(e, "    continue;");
    }
    go_on_with(e, t, step, row, NULL);
    emit_line(e, "f32v %s = %s;", lanes[0], emit_state_start(e, root, 0, true));
    Scope *vector = emit_push(e);
    go_on_with(e, t, step, row, emit_text(e, "(%s + v * LANES)", column));
    emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
    know_sums(e, t, kept_row(e, t), "lanes");
    emit_line(e, "const f32v before = %s;", lanes[0]);
    emit_state_step(e, root, lanes, true, NULL);
    emit_line(e, "%s = select_f32v(first_boolv(lanes), %s, before);", lanes[0], lanes[0]);
    emit_pop(e);
    emit_line(e, "for (int v = 0; v * LANES < count; v++) {");
    emit_body(e, vector);
    emit_line(e, "}");
    emit_state_fold(e, root, lanes, all);
    const char *guess = rounds(t->guess) ? emit_text(e, "((%s + %d) * %.9gf)", all[0], MARGIN, LOG2_E) : all[0];
    emit_know(e, root, (Value){ guess, false });
    emit_store(e, &step->statement->outputs[0]);
}

/* What is taken off a row's sums. Where a mask has left out all of them so far, that is 0: their powers are, too. In tiles of which it
 * leaves out nothing, powers are infinite then, or none, so that the guess was no good. */
static void find_shift(Emitter *e, const Tiling *t, const char *row)
{
    const Term *read = largest_read(t->guess);
    go_on_with(e, t, powers_of(t->guess), row, NULL);
    if (!masks(t) || t->is_guess_whole)
        return;
    const char *largest = emit_term(e, read).text;
    emit_line(e, "const float shift = %s == -INFINITY ? 0 : %s;", largest, largest);
    emit_know(e, read, (Value){ "shift", false });
}

/* What a mask of -infinities chooses where it leaves nothing out. */
static Term *chosen(const Tiling *t, Term *x)
{
    return t->is_guess_whole && x->kind == TERM_SELECT && term_is_number(x->select.no, -INFINITY) ? x->select.yes : x;
}

static Term *copy_term(Emitter *e, const Term *term)
{
    Term *copy = ARENA_NEW(e->arena, Term);
    *copy = *term;
    return copy;
}

/* A function of two of a term's kind. */
static Term *map_of(Emitter *e, const Term *like, Function function, Term *a, Term *b)
{
    Term *map = copy_term(e, like);
    map->kind = TERM_MAP;
    map->map.function = function;
    map->map.implicit = false;
    map->map.count = 2;
    map->map.arguments = ARENA_ARRAY(e->arena, Term *, 2);
    map->map.arguments[0] = a;
    map->map.arguments[1] = b;
    return map;
}

/* A term times log2(e): with a number among its factors it is as long as before. */
static Term *in_twos(Emitter *e, Term *x)
{
    if (x->kind == TERM_SELECT && term_is_number(x->select.no, -INFINITY)) {
        Term *select = copy_term(e, x);
        select->select.yes = in_twos(e, x->select.yes);
        return select;
    }
    Term *factor = copy_term(e, x), **of = x->kind == TERM_MAP && x->map.function == FUNCTION_MUL ? x->map.arguments : NULL;
    double value[2] = { 1, 1 };
    int number = !of ? -1 : term_f32_number(of[1], &value[1]) ? 1 : term_f32_number(of[0], &value[0]) ? 0 : -1;
    factor->kind = TERM_CONSTANT;
    factor->constant.is_integer = false;
    factor->constant.value = value[number == 1] * LOG2_E;
    return map_of(e, x, FUNCTION_MUL, number < 0 ? x : of[1 - number], factor);
}

/* exp(x - m), where m is not -inf. The maximum being another, x may be as exact as it comes. */
static const Term *power_term(Emitter *e, const Tiling *t)
{
    Term *power = copy_term(e, powers_of(t->guess)->statement->outputs[0].value->select.no);
    Term *exact = power->map.arguments[0], *x = chosen(t, exact->map.arguments[0]);
    Term *difference = map_of(e, exact, FUNCTION_SUB, rounds(t->guess) ? in_twos(e, x) : x, exact->map.arguments[1]);
    power->map.function = rounds(t->guess) ? FUNCTION_EXP2 : FUNCTION_EXP;
    power->map.arguments = ARENA_ARRAY(e->arena, Term *, 1);
    power->map.arguments[0] = difference;
    return power;
}

/* A vector of powers, which the factors' value is known by. */
static const char *make_powers(Emitter *e, const Tiling *t, const char *row, const char *from, const char *lanes)
{
    const Step *step = powers_of(t->guess);
    go_on_with(e, t, step, row, emit_text(e, "(%s + v * LANES)", t->names[tiling_last(&t->c->columns)->id]));
    know_sums(e, t, from, lanes);
    const char *power = emit_name(e, "power");
    emit_line(e, "const f32v %s = %s;", power, emit_bare(e, emit_varying(e, power_term(e, t))));
    emit_know(e, step->statement->outputs[0].value, (Value){ power, true });
    e->step = t->guess->factors;
    for (int i = 0; i < e->plan->lowered->term_count; i++) {
        const Term *term = e->plan->lowered->terms[i];
        if (term->kind == TERM_READ && term->statement == e->step->statement->id)
            emit_know(e, term, (Value){ power, true });
    }
    return power;
}

/* Powers of a whole tile's row, and what they add to those `seen`. Those that are rounded are stored together, as two vectors
 * are rounded as fast as one. */
static void take_vectors(Emitter *e, const Tiling *t, const char *row, const char *from, const char *seen)
{
    const Output *factors = &t->guess->factors->statement->outputs[0];
    Scope *vector = emit_push(e);
    const char *power = make_powers(e, t, row, from, "LANES");
    emit_line(e, "total = total + %s;", power);
    if (rounds(t->guess))
        emit_line(e, "factors[v] = %s;", emit_varying(e, emit_unrounded(e, factors)));
    else
        emit_store(e, factors);
    emit_pop(e);
    emit_line(e, "f32v total = load_f32v(%s, 1, LANES)%s;", seen,
              rounds(t->guess) ? emit_text(e, ", factors[VECTORS_%d]", t->number) : "");
    emit_line(e, "UNROLL");
    emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
    emit_body(e, vector);
    emit_line(e, "}");
    emit_line(e, "store_f32v(%s, 1, total, LANES);", seen);
}

static void store_row(Emitter *e, const Tiling *t, const char *to)
{
    emit_line(e, "store_factors_bf16v(%s, factors, VECTORS_%d);", to, t->number);
}

/* Where a row's factors from the tile's first column on are stored. */
static const char *factors_at(Emitter *e, const Tiling *t, const char *row)
{
    go_on_with(e, t, powers_of(t->guess), row, t->names[tiling_last(&t->c->columns)->id]);
    e->step = t->guess->factors;
    return emit_target(e, &t->guess->factors->statement->outputs[0]);
}

static void take_row(Emitter *e, const Tiling *t, const char *row)
{
    emit_line(e, "float *const seen = %s;", seen_at(e, t, row));
    find_shift(e, t, row);
    take_vectors(e, t, row, kept_row(e, t), "seen");
    if (rounds(t->guess))
        store_row(e, t, factors_at(e, t, row));
}

/* The same of a tile with fewer columns. */
static void take_some(Emitter *e, const Tiling *t, const char *row)
{
    emit_line(e, "float *const seen = %s;", seen_at(e, t, row));
    find_shift(e, t, row);
    Scope *vector = emit_push(e);
    emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
    vector->count = "lanes";
    const char *power = make_powers(e, t, row, kept_row(e, t), "lanes");
    emit_line(e, "total = total + select_f32v(first_boolv(lanes), %s, splat_f32v(0.0f));", power);
    emit_store(e, &t->guess->factors->statement->outputs[0]);
    emit_pop(e);
    emit_line(e, "f32v total = load_f32v(seen, 1, LANES);");
    emit_line(e, "for (int v = 0; v * LANES < count; v++) {");
    emit_body(e, vector);
    emit_line(e, "}");
    emit_line(e, "store_f32v(seen, 1, total, LANES);");
}

const char *tiling_guesses(Emitter *e, const Tiling *t)
{
    const Index *column = tiling_last(&t->c->columns);
    return masks(t) ? emit_text(e, "!is_whole || %s <= whole_from[at_tile]", t->names[column->id])
                    : emit_text(e, "%s == %s", t->names[column->id], tiling_first(e, column));
}

const char *tiling_guessed(Emitter *e, Tiling *t)
{
    const Index *column = tiling_last(&t->c->columns);
    tiling_open(e, t, column);
    each_row(e, t, tiling_guesses(e, t), false, guess_row);
    t->is_guess_whole = masks(t) && !t->waits;
    if (t->waits) {
        emit_line(e, "if (%s)", t->waits);
        emit_line(e, "    return;");
    } else if (t->is_guess_whole) {
        each_row(e, t, emit_text(e, "is_whole && count == COLUMNS_%d", t->number), true, take_row);
    }
    t->is_guess_whole = false;
    if (!t->waits || masks(t))
        each_row(e, t, emit_text(e, "count == COLUMNS_%d", t->number), true, take_row);
    each_row(e, t, NULL, false, take_some);
    return tiling_close(e);
}

const char *tiling_waits(Emitter *e, const Tiling *t)
{
    if (!tiling_has_registers(t) || !rounds(t->guess))
        return NULL;
    return emit_text(e, "%scount == COLUMNS_%d", masks(t) ? "is_whole && " : "", t->number);
}

bool tiling_holds(const Tiling *t)
{
    return t->waits && t->c->whole > 0;
}

const char *tiling_stays(Emitter *e, const Tiling *t)
{
    int n = t->number;
    return emit_text(e, "const int stays = is_last && guessed && !done && points == WHOLE_%d && height == ROWS_%d && %s && !(%s);\n", n, n,
                     t->waits, tiling_guesses(e, t));
}

/* How far a row's number is from the next row's, in what the step at hand reads or stores: what goes on from the product's row. */
static const char *row_step(Emitter *e, const Tiling *t, const Tensor *tensor, const Position *positions)
{
    const char *step = "0";
    for (int a = 0; a < tensor->rank; a++)
        if (emit_bound(e, positions[a].parts[0].index) == t->names[tiling_last(&t->c->rows)->id])
            step = emit_stride(e, tensor, positions, positions[a].parts[0].index);
    return step;
}

const char *tiling_waiting(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    const char *row = t->names[tiling_last(&t->c->rows)->id];
    for (int s = 0; s < 4; s++)
        tiling_bind(e, t, tiling_set(t->c, s), tiling_set(t->c, s)->count);
    const char *seen = seen_at(e, t, row), *factors = factors_at(e, t, row);
    const Output *made = &t->guess->factors->statement->outputs[0];
    const char *factors_step = row_step(e, t, made->tensor, made->positions);
    const Term *read = largest_read(t->guess);
    go_on_with(e, t, powers_of(t->guess), row, NULL);
    const char *largest = emit_pointer(e, read), *largest_step = row_step(e, t, read->read.tensor, read->read.positions);
    tiling_close(e);
    return emit_text(e, "{ kept, %s, %s, %s, %s, %s, height, 0%s }", largest, seen, factors, largest_step, factors_step,
                     tiling_holds(t) ? ", stays" : "");
}

/* What is between products is there for each of them, and so are constants in registers, without a call. */
const char *tiling_taken_beside(Emitter *e, Tiling *t)
{
    int n = t->number;
    tiling_open(e, t, tiling_last(&t->c->columns));
    t->is_guess_whole = masks(t);
    emit_line(e, "const float shift = *waiting->largest;");
    emit_know(e, largest_read(t->guess), (Value){ "shift", false });
    take_vectors(e, t, NULL, "waiting->kept", "waiting->seen");
    store_row(e, t, "waiting->factors");
    emit_line(e, "waiting->kept += COLUMNS_%d;", n);
    emit_line(e, "waiting->largest += waiting->largest_step;");
    emit_line(e, "waiting->seen += waiting->largest_step * LANES;");
    emit_line(e, "waiting->factors += waiting->factors_step;");
    t->is_guess_whole = false;
    return emit_text(e, "/* A tile's sums that become powers while the next tile's products are on their way: so many rows of them, "
                     "a share\n * behind each product. */\n"
                     "typedef struct Waiting_%d {\n    float *kept;\n    const float *largest;\n    float *seen;\n    bf16u *factors;\n"
                     "    int64_t largest_step, factors_step, rows, share;\n%s} Waiting_%d;\n\n"
                     "INLINE void take_row_%d(Waiting_%d *waiting)\n{\n%s}\n\n"
                     "INLINE void take_rows_%d(Waiting_%d *waiting, int64_t count)\n{\n"
                     "    for (const int64_t left = size_max(waiting->rows - count, 0); waiting->rows > left; waiting->rows--)\n"
                     "        take_row_%d(waiting);\n}\n\n"
                     "/* There are four products for each TILE_WORDS words. */\n"
                     "INLINE void share_rows_%d(Waiting_%d *waiting, int64_t depth)\n{\n"
                     "    waiting->share = size_ceil_div(waiting->rows * TILE_WORDS, size_max(4 * depth, 1));\n}\n\n",
                     n, tiling_holds(t) ? "    int held;    /* the sums are in the registers, and belong into `kept` */\n" : "", n, n, n,
                     tiling_close(e), n, n, n, n, n);
}

/* The factors of a tile that a mask leaves out are zeros. */
static void clear_row(Emitter *e, const Tiling *t, const char *row)
{
    go_on_with(e, t, powers_of(t->guess), row, t->names[tiling_last(&t->c->columns)->id]);
    e->step = t->guess->factors;
    const Output *factors = &t->guess->factors->statement->outputs[0];
    emit_line(e, "memset(%s, 0, (size_t)count * sizeof(%s));", emit_target(e, factors), dtype_c(factors->tensor->dtype));
}

const char *tiling_cleared(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    each_row(e, t, NULL, false, clear_row);
    return tiling_close(e);
}

/* Loops over all of a unit's rows around what `write` writes for one of them. */
static void each_unit_row(Emitter *e, const Tiling *t, void (*write)(Emitter *e, const Tiling *t, const char *row))
{
    int depth = 0;
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < tiling_set(t->c, s)->count; i++, depth++) {
            const Index *index = tiling_set(t->c, s)->list[i];
            const char *name = t->names[index->id];
            emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, tiling_first(e, index), name, tiling_end(e, index), name);
            e->scope->indent++;
            emit_bind(e, index, name);
        }
    write(e, t, t->names[tiling_last(&t->c->rows)->id]);
    while (depth-- > 0) {
        e->scope->indent--;
        emit_line(e, "}");
    }
}

static void start_row(Emitter *e, const Tiling *t, const char *row)
{
    const Step *step = t->guess->largest;
    emit_line(e, "store_f32v(%s, 1, splat_f32v(0.0f), LANES);", seen_at(e, t, row));
    go_on_with(e, t, step, row, NULL);
    emit_know(e, step->roots[0], (Value){ "-INFINITY", false });
    emit_store(e, &step->statement->outputs[0]);
}

const char *tiling_started(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    each_unit_row(e, t, start_row);
    return tiling_close(e);
}

static void end_row(Emitter *e, const Tiling *t, const char *row)
{
    const Step *step = t->guess->reduction;
    const Term *root = step->roots[0];
    const char *lanes[STATE_COMPONENTS_MAX] = { "seen" }, *all[STATE_COMPONENTS_MAX] = { emit_name(e, "sum") };
    emit_line(e, "const f32v seen = load_f32v(%s, 1, LANES);", seen_at(e, t, row));
    go_on_with(e, t, powers_of(t->guess), row, NULL);
    const char *largest = emit_pointer(e, largest_read(t->guess));
    e->step = step;
    emit_state_fold(e, root, lanes, all);
    if (is_lifted(e, t->guess)) {
        const char *lifted = all[0];
        all[0] = emit_name(e, "lowered");
        emit_line(e, "const float %s = %s * (1 / up);", all[0], lifted);
    }
    const char *good = rounds(t->guess) ? emit_text(e, "%s >= 0x1p-29f && %s <= 0x1p29f", all[0], all[0])
                                        : emit_text(e, "%s >= 0.5f && %s <= 0x1p%df", all[0], all[0], t->guess->most);
    emit_know(e, root, (Value){ all[0], false });
    emit_store(e, &step->statement->outputs[0]);
    emit_line(e, masks(t) ? "near &= (%s) || (%s == 0 && *(%s) == -INFINITY);" : "near &= %s;", good, all[0], largest);
}

const char *tiling_near(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    emit_line(e, "int near = 1;");
    each_unit_row(e, t, end_row);
    emit_line(e, "return near;");
    return tiling_close(e);
}

const char *emit_guess_pays(Emitter *e, const Guess *guess)
{
    return emit_text(e, "%s >= %d", emit_extent(e, tiling_last(&guess->product->contract->columns)), COLUMNS_LEAST);
}
