/* What a tile of a product does at each contracted point: templates/contract_vectors.c with its holes filled. */
#include "emit_tiling.h"

/* Whether a number of a row is for one product alone, or for sums: the instruction that multiplies can load it. */
static bool is_for_one(const Tiling *t)
{
    return (t->c->tile_vectors == 1 || t->c->tames) && t->c->group == 1 && !t->c->rows_spread;
}

/* What a product takes from a row's number. */
typedef struct Differences {
    Emitter *e;
    const Tiling *t;
    const Term *column;           /* a row's number less a column's */
    int count, signless;          /* of differences, and of those that only a square or a size is made of */
} Differences;

static void find_difference(void *user, const Term *term)
{
    Differences *d = user;
    if (term->kind != TERM_MAP)
        return;
    Function function = term->map.function;
    const Term *x = term->map.arguments[0];
    d->count += function == FUNCTION_SUB && x == d->t->c->left;
    if (function == FUNCTION_SUB && x == d->t->c->left && term->map.arguments[1] == d->t->c->right && dtype_kind(term->dtype) == KIND_FLOAT)
        d->column = term;
    bool even = function == FUNCTION_ABS || function == FUNCTION_SQUARE || (function == FUNCTION_POW && term_is_number(term->map.arguments[1], 2));
    d->signless += even && x == d->column && d->e->uses[x->id] <= 1;
}

static Differences differences_of(Emitter *e, const Tiling *t)
{
    Differences d = { .e = e, .t = t };
    term_each_below(e->arena, t->c->product->reduce.argument, find_difference, &d);
    return d;
}

/* Whether each instruction that takes a row's number loads it for itself: a broadcast would be in the way of those that
 * combine it with a column's before the product is added. It can load what is taken from another number, not what another is
 * taken from. */
static bool is_loaded_each(Emitter *e, const Tiling *t)
{
    const Term *x = t->c->product->reduce.argument;
    bool fused = x->kind == TERM_MAP && x->map.function == FUNCTION_MUL;
    Differences d = differences_of(e, t);
    return e->plan->target->broadcasts && t->c->group == 1 && !fused && !t->c->tames && d.count == d.signless;
}

const char *tiling_left_line(Emitter *e, const Tiling *t)
{
    if (is_loaded_each(e, t) || is_for_one(t))
        return "";
    if (t->c->group > 1)
        return "            const u32v left = splat_word(at);\n";
    bool whole = e->plan->lanes * (int)dtype_size(t->dtype) == e->plan->target->vector_bytes;
    if (t->c->rows_spread)
        return emit_text(e, "            %sv left = load_%sv(at, 1, LANES);\n%s", dtype_name(t->dtype),
                         dtype_name(t->dtype), whole ? "            HOLD(left);\n" : "");
    return emit_text(e, "            %sv left = splat_%sv(*at);\n%s", dtype_name(t->dtype), dtype_name(t->dtype),
                     whole ? "            HOLD(left);\n" : "");
}

/* Each of a tile's sums as `value`. */
static const char *each_sum(Emitter *e, const Tiling *t, const char *indent, const char *value)
{
    return emit_text(e, "%sUNROLL\n%sfor (int r = 0; r < ROWS_%d; r++) {\n%s    UNROLL\n%s    for (int v = 0; v < VECTORS_%d; v++)\n"
                     "%s        sums[r][v] = %s;\n%s}\n", indent, indent, t->number, indent, indent, t->number, indent, value, indent);
}

/* Where sums have starts in memory, they are there for all of them: one row for all rows, or a row of their own each. */
const char *tiling_begin_lines(Emitter *e, const Tiling *t)
{
    const char *dtype = dtype_name(t->dtype), *own = t->c->tile->has_starts ? "start_step" : "start";
    const char *first = t->c->tile->has_starts ? emit_text(e, "load_%sv(start + v * LANES, 1, LANES)", dtype)
                                               : emit_state_start(e, t->c->product, 0, true);
    return emit_text(e, "%s    if (%s) {\n%s    }\n", each_sum(e, t, "    ", first), own,
                     each_sum(e, t, "        ", emit_text(e, "load_%sv(start + r * start_step + v * LANES, 1, LANES)", dtype)));
}

static bool seeks_most(const Tiling *t)
{
    Component component[STATE_COMPONENTS_MAX];
    state_components(t->c->product, component);
    return component[0].merge == MERGE_MAX;
}

/* What an extremum is taken of. */
static const char *combination(Emitter *e, const Tiling *t, const char *left)
{
    const char *dtype = dtype_name(t->dtype);
    Function function = t->c->product->reduce.argument->map.function;
    if (function != FUNCTION_ADD)
        return emit_text(e, "tame ? %s_%sv(%s, right[v]) : %s_%sv(%s, right[v])", function == FUNCTION_MAX ? "greater" : "lesser", dtype, left,
                         function_facts[function].name, dtype, left);
    return t->c->rows_spread ? "left + right[v]" : emit_text(e, "plus_%sv(at, right[v])", dtype);
}

/* Adds what one point makes to a vector of sums. */
static const char *take_point(Emitter *e, Tiling *t, const char *left, const char *sum)
{
    emit_know(e, t->c->left, (Value){ left, true });
    emit_know(e, t->c->right, (Value){ "right[v]", true });
    if (t->c->places)
        emit_line(e, "%s", tiling_find(e, t, emit_bare(e, emit_varying(e, t->c->product->reduce.argument))));
    else
        emit_state_step(e, t->c->product, &sum, true, NULL);
    return tiling_close(e);
}

/* What two points make, in lanes side by side. */
const char *tiling_pair_line(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    e->scope->indent = 4;
    return take_point(e, t, "left", "parts[r][v]");
}

/* One point's share of one vector of sums. */
const char *tiling_step_line(Emitter *e, Tiling *t)
{
    if (t->c->group > 1)
        return emit_text(e, "                sums[r][v] = dot_%sv(sums[r][v], left, right[v]);\n", dtype_name(t->c->packed));
    const char *sum = "sums[r][v]", *dtype = dtype_name(t->dtype);
    const char *left = is_for_one(t) ? emit_text(e, "splat_%sv(*at)", dtype) : "left";
    if (t->c->tames) {
        bool most = seeks_most(t);
        const char *plus = combination(e, t, left);
        if (t->c->places)
            return emit_text(e, "                %s\n", tiling_find(e, t, plus));
        return emit_text(e, "                const %sv value = %s;\n"
                         "                %s = tame ? %s_%sv(value, %s) : %s_%sv(%s, value);\n", dtype, plus, sum,
                         most ? "greater" : "lesser", dtype, sum, most ? "max" : "min", dtype, sum);
    }
    tiling_open(e, t, tiling_last(&t->c->columns));
    e->scope->indent = 4;
    if (is_loaded_each(e, t)) {
        emit_line(e, "HOLD_POINTER(at);");
        left = emit_text(e, "splat_%sv(*at)", dtype);
        Differences d = differences_of(e, t);
        if (d.signless)
            emit_know(e, d.column, (Value){ emit_text(e, "(right[v] - %s)", left), true });
    }
    return take_point(e, t, left, sum);
}

/* Whether a point has so few products that a loop's own instructions count: some points at a turn, not only two. */
bool tiling_is_tight(const Tiling *t)
{
    return t->c->rows_spread || is_for_one(t);
}

/* A call for each height that a tile is known to have, and one for the others. Whole tiles go without a comparison for each row,
 * of which some processors make fewer beside products, and so do the lower ones that rows are known to leave. */
static const char *of_heights(Emitter *e, const Tiling *t, const char *call, const char *rows, const char *rest)
{
    const Contract *c = t->c;
    Text text = text_new(e->arena);
    for (int i = -1; i < LOW_TILES && (i < 0 || c->low[i]); i++) {
        const char *height = i < 0 ? emit_text(e, "ROWS_%d", t->number) : emit_text(e, "%d", c->low[i]);
        const char *some = c->rows_spread ? emit_text(e, "rows, LANES, %s * LANES", height) : rows;
        text_print(&text, "if (height == %s)\n    %s_%d(%s, %s, %s);\nelse ", height, call, t->number, height, some, rest);
    }
    text.bytes[text.length -= 1] = 0;    /* the blank */
    text_print(&text, "\n    %s_%d(height, %s, %s);", call, t->number, rows, rest);
    return text.bytes;
}

bool tiling_has_pairs(const Tiling *t)
{
    return t->c->pairs && !tiling_has_stage(t);
}

const char *tiling_multiply_lines(Emitter *e, const Tiling *t)
{
    const Contract *c = t->c;
    const char *rows = c->window ? "rows, row_step, spots" : "rows, row_step, k_step";
    const char *rest = emit_text(e, "depth, ahead, ahead_step, %s%ssums", tiling_has_stage(t) ? "leaving, " : "", c->places ? "places, " : "");
    const char *packing = emit_text(e, "panel, %s%s", tiling_panel_arguments(e, t, true), rest);
    Text text = text_new(e->arena);
    if (tiling_has_pairs(t)) {
        text_print(&text, "    if (LANES >= 4 && k_step == 1%s) {\n", t->c->pairs % 2 ? " && is_narrow" : "");
        tiling_lines(&text, "        ", of_heights(e, t, "multiply_pairs", "rows, row_step",
                                                  "panel, depth, ahead, ahead_step, start, start_step, sums"));
        text_print(&text, "    } else {\n        begin_%d(start, start_step, sums);\n        multiply_%d(height, %s, panel, %s);\n    }\n",
                   t->number, t->number, rows, rest);
        return text.bytes;
    }
    rest = emit_text(e, "panel, %s%s", tiling_panel_arguments(e, t, false), rest);
    text_print(&text, "    begin_%d(start, start_step, sums);\n%s", t->number, c->places ? tiling_begin_found(e, t) : "");
    if (c->tames) {
        text_print(&text, "    if (!tame)\n        multiply_%d(height, %s, 0, %s);\n", t->number, rows, rest);
        rest = emit_text(e, "1, %s", rest);
        tiling_lines(&text, "    ", emit_text(e, "else %s", of_heights(e, t, "multiply", rows, rest)));
    } else if (tiling_copies_columns(e, t)) {
        text_print(&text, "    if (copy && height == ROWS_%d)\n        multiply_%d(ROWS_%d, %s, %s);\n", t->number, t->number, t->number, rows, packing);
        text_print(&text, "    else if (copy)\n        multiply_%d(height, %s, %s);\n", t->number, rows, packing);
        tiling_lines(&text, "    ", emit_text(e, "else %s", of_heights(e, t, "multiply", rows, rest)));
    } else if (tiling_has_coming(e, t)) {
        text_put(&text, "    const Coming nothing = begin_coming(NULL, NULL, 1, 0, 0, 0);\n    if (beside->rest) {\n");
        tiling_lines(&text, "        ", of_heights(e, t, "multiply", rows, packing));
        text_put(&text, "    } else {\n");
        tiling_lines(&text, "        ", of_heights(e, t, "multiply", rows, rest));
        text_put(&text, "    }\n");
    } else {
        tiling_lines(&text, "    ", of_heights(e, t, "multiply", rows, rest));
    }
    return text.bytes;
}
