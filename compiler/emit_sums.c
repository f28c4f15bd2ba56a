/* What becomes of a tile's sums: the first reduction behind the product takes them, or the step stores them. */
#include <string.h>

#include "emit_tiling.h"

/* The names of the variables that hold a reduction's state, and of the arrays in the worker's memory. */
const char *tiling_state_array(Emitter *e, const Tiling *t, int r, const Component *component)
{
    return emit_text(e, "%s_%d_%d", component->name, r + 1, t->number);
}

/* Those that have no names yet are declared here. */
static void load_states(Emitter *e, const Tiling *t, const char *place, const char *lanes, const char *(*names)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++) {
            const char *type = names[r][i] ? "" : emit_text(e, "%s ", emit_type(components[i].dtype, true));
            if (!names[r][i])
                names[r][i] = emit_name(e, components[i].name);
            emit_line(e, "%s%s = load_%sv(%s + %s + v * LANES, 1, %s);", type, names[r][i], dtype_name(components[i].dtype),
                      tiling_state_array(e, t, r, &components[i]), place, lanes);
        }
    }
}

static void store_states(Emitter *e, const Tiling *t, const char *place, const char *lanes, const char *(*names)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            emit_line(e, "store_%sv(%s + %s + v * LANES, 1, %s, %s);", dtype_name(components[i].dtype),
                      tiling_state_array(e, t, r, &components[i]), place, names[r][i], lanes);
    }
}

void tiling_know_product(Emitter *e, const Tiling *t, const char *sum)
{
    emit_know(e, t->c->product, emit_state_finish(e, t->c->product, &sum, true));
}

/* ---- the best of a tile's rows, and where it is ---- */

/* "the first row's place, how far the next one's is" */
static const char *tile_places(Emitter *e, const Tiling *t, const Term *reduce)
{
    const char *apart = emit_apart(e, reduce, tiling_last(&t->c->rows));
    emit_push(e);
    tiling_bind(e, t, &t->c->rows, t->c->rows.count);
    const char *first = emit_place(e, reduce, true);
    emit_pop(e);
    return emit_text(e, "%s, %s", first, apart);
}

static void take_found(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++)
        if (state_finder(t->first, t->first_count, r) >= 0)
            emit_line(e, "%s = %s;", names[r][0], names[state_finder(t->first, t->first_count, r)][0]);
}

/* In a loop over rows each lane's best is found with its row, and known with its place behind the loop. */
static void declare_tile_best(Emitter *e, const Tiling *t, const char *(*tile)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++) {
        if (!state_needs_place(t->first[r]))
            continue;
        Component components[STATE_COMPONENTS_MAX];
        state_components(t->first[r], components);
        tile[r][0] = emit_name(e, emit_text(e, "tile_%s", components[0].name));
        tile[r][1] = emit_name(e, "tile_row");
        emit_line(e, "%s %s = %s;", emit_type(components[0].dtype, true), tile[r][0], emit_state_start(e, t->first[r], 0, true));
        emit_line(e, "i32v %s = splat_i32v(0);", tile[r][1]);
    }
}

static void merge_tile_best(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX],
                            const char *(*tile)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++)
        if (state_needs_place(t->first[r]))
            emit_line(e, "merge_place_%s(%d, &%s, &%s, %s, row_places(%s, %s));",
                      emit_suffix(register_dtype(t->first[r]->reduce.argument->dtype), true), state_wants_most(t->first[r]), names[r][0],
                      names[r][1], tile[r][0], tile[r][1], tile_places(e, t, t->first[r]));
}

static void step_states(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX],
                        const char *(*tile)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++) {
        const Term *reduce = t->branch ? tiling_whole_first(e, t, r) : t->first[r], *x = reduce->reduce.argument;
        if (state_needs_place(reduce))
            emit_line(e, "step_row_%s(%d, &%s, &%s, %s, r);", emit_suffix(register_dtype(x->dtype), true), state_wants_most(reduce),
                      tile[r][0], tile[r][1], emit_bare(e, emit_varying(e, x)));
        else if (state_finder(t->first, t->first_count, r) < 0)
            emit_state_step(e, reduce, names[r], true, NULL);
    }
}

void tiling_open_rows(Emitter *e, const Tiling *t, const char *step)
{
    emit_line(e, "UNROLL");
    emit_line(e, "for (int r = 0; r < ROWS_%d; %s) {", t->number, step);
    emit_line(e, "    if (r >= height)");
    emit_line(e, "        break;");
}

/* A value of a tile's sums for each row, as "the first one, how many there are, how far they are apart". */
static const char *tile_values(Emitter *e, const Tiling *t, const Term *x)
{
    if (x == t->c->product)
        return emit_text(e, "&sums[0][v], ROWS_%d, VECTORS_%d", t->number, t->number);
    const char *values = emit_name(e, "values");
    emit_line(e, "%s %s[ROWS_%d];", emit_type(x->dtype, true), values, t->number);
    Scope *inner = emit_push(e);
    tiling_know_product(e, t, "sums[r][v]");
    emit_line(e, "%s[r] = %s;", values, emit_bare(e, emit_varying(e, x)));
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int r = 0; r < ROWS_%d; r++) {", t->number);
    emit_line(e, "    if (r >= height) {    /* no NaN, unless there is one */");
    emit_line(e, "        %s[r] = %s[0];", values, values);
    emit_line(e, "        continue;");
    emit_line(e, "    }");
    emit_body(e, inner);
    emit_line(e, "}");
    return emit_text(e, "%s, ROWS_%d, 1", values, t->number);
}

/* A state that takes several elements at once takes all rows of a tile. */
static void take_group(Emitter *e, const Tiling *t, const Term *reduce, const char *const *names)
{
    const Term *x = reduce->reduce.argument;
    const char *others = emit_name(e, "others");
    emit_line(e, "%s %s[ROWS_%d];", emit_type(x->dtype, true), others, t->number);
    Scope *inner = emit_push(e);
    tiling_know_product(e, t, "sums[r][v]");
    emit_line(e, "%s[r] = %s;", others, emit_bare(e, emit_varying(e, x)));
    emit_pop(e);
    tiling_open_rows(e, t, "r++");
    emit_body(e, inner);
    emit_line(e, "}");
    emit_state_add(e, reduce, names, others, "height");
}

static bool is_extremum(const Tiling *t, const Term *reduce)
{
    State state = reduction_facts[reduce->reduce.reduction].state;
    return reduce->reduce.argument == t->c->product && (state == STATE_MAX || state == STATE_MIN);
}

bool tiling_takes_extrema(const Tiling *t)
{
    for (int r = 0; r < t->first_count; r++)
        if (!is_extremum(t, t->first[r]))
            return false;
    return true;
}

/* One reduction takes a column of sums. An extremum of the sums as they are has a function that looks for NaN at less. */
static void take_sums(Emitter *e, const Tiling *t, const Term *reduce, const char *const *names)
{
    State state = reduction_facts[reduce->reduce.reduction].state;
    const Term *x = reduce->reduce.argument;
    if (is_extremum(t, reduce) && tiling_has_registers(t)) {
        emit_line(e, "%s = %s_%s_%sv(%s, &sums[0][v], %s, VECTORS_%d);", names[0], state == STATE_MAX ? "max" : "min",
                  t->some ? "some" : "rows", dtype_name(t->dtype), names[0], t->some ? "height" : emit_text(e, "ROWS_%d", t->number), t->number);
        return;
    }
    if (is_extremum(t, reduce) && dtype_kind(t->dtype) == KIND_FLOAT) {
        emit_line(e, "%s = %s_all_%sv(%s, &sums[0][v], ROWS_%d, VECTORS_%d, height);", names[0],
                  state == STATE_MAX ? "max" : "min", dtype_name(t->dtype), names[0], t->number, t->number);
        return;
    }
    if (state_needs_place(reduce)) {
        const char *values = tile_values(e, t, x);
        emit_line(e, "place_all_%s(%d, &%s, &%s, %s, height, %s);", emit_suffix(x->dtype, true), state_wants_most(reduce), names[0],
                  names[1], values, tile_places(e, t, reduce));
        return;
    }
    if (state_group(reduce)) {
        take_group(e, t, reduce, names);
        return;
    }
    Scope *inner = emit_push(e);
    tiling_know_product(e, t, "sums[r][v]");
    emit_state_step(e, reduce, names, true, NULL);
    emit_pop(e);
    tiling_open_rows(e, t, "r++");
    emit_body(e, inner);
    emit_line(e, "}");
}

/* Stores a tile's sums from the registers and returns, if `when`: vectors side by side or in pieces. */
static void store_tile(Emitter *e, Tiling *t, const char *when)
{
    const char *dtype = dtype_name(t->dtype);
    Scope *body = emit_push(e);
    body->indent += 2;
    tiling_know_product(e, t, "sums[r][v]");
    const char *value = emit_bare(e, emit_varying(e, tiling_whole_value(t)));
    if (t->in_pieces)
        emit_line(e, "store_piece_%sv(result + r * result_step, &piece, %s);", dtype, value);
    else
        emit_line(e, "store_%sv(result + r * result_step + v * LANES, 1, %s, LANES);", dtype, value);
    emit_pop(e);
    emit_line(e, "if (%s) {", when);
    e->scope->indent++;
    emit_line(e, "UNROLL");
    emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
    e->scope->indent++;
    if (t->in_pieces)
        emit_line(e, "const Piece piece = placed[v];");
    tiling_open_rows(e, t, "r++");
    emit_body(e, body);
    emit_line(e, "}");
    e->scope->indent--;
    emit_line(e, "}");
    emit_line(e, "return;");
    e->scope->indent--;
    emit_line(e, "}");
}

static const char *store_sums(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    if (t->may_pass)
        tiling_stream(e, t);
    store_tile(e, t, t->in_pieces ? "placed" : "result");
    return tiling_close(e);
}

/* The states of the columns take the sums from the registers, or the result; "" where they do not. */
const char *tiling_taken(Emitter *e, Tiling *t)
{
    if (t->is_stored && !tiling_has_registers(t))
        return store_sums(e, t);
    if (t->c->places)
        return tiling_keep_found(e, t);
    if (!t->in_registers)
        return "";
    tiling_open(e, t, tiling_last(&t->c->columns));
    bool whole = tiling_has_registers(t);    /* only what is to be taken comes here */
    if (whole && strcmp(tiling_tile_place(t), "place"))
        emit_line(e, "const int64_t %s = place;", tiling_tile_place(t));
    if (!whole)
        emit_line(e, "if (!kept) {");
    e->scope->indent += !whole;
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *names);
    Scope *body = emit_push(e);
    body->indent -= whole;
    load_states(e, t, tiling_tile_place(t), "LANES", names);
    for (int r = 0; r < t->first_count; r++)
        if (state_finder(t->first, t->first_count, r) < 0)
            take_sums(e, t, tiling_whole_first(e, t, r), names[r]);
    take_found(e, t, names);
    store_states(e, t, tiling_tile_place(t), "LANES", names);
    emit_pop(e);
    if (whole) {
        emit_body(e, body);
    } else {
        emit_line(e, "UNROLL");
        emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
        emit_body(e, body);
        emit_line(e, "}");
        emit_line(e, "return;");
        e->scope->indent--;
        emit_line(e, "}");
    }
    return tiling_close(e);
}

bool tiling_is_by_itself(const Tiling *t)
{
    return t->c->whole > 0 && t->in_registers && tiling_has_registers(t) && tiling_takes_extrema(t) && !tiling_where(t);
}

/* The states of all vectors of a tile, which stay in registers while it takes share by share. */
void tiling_share_states(Emitter *e, Tiling *t, const char *lines[3])
{
    Text begin = text_new(e->arena), take = text_new(e->arena), end = text_new(e->arena);
    for (int r = 0; r < t->first_count; r++) {
        Component component[STATE_COMPONENTS_MAX];
        state_components(t->first[r], component);
        const char *dtype = dtype_name(component->dtype), *name = emit_text(e, "%s_%d", component->name, r + 1);
        const char *at = emit_text(e, "%s + place + v * LANES", tiling_state_array(e, t, r, component));
        text_print(&begin, "    %sv %s[VECTORS_%d];\n    UNROLL\n    for (int v = 0; v < VECTORS_%d; v++)\n"
                   "        %s[v] = load_%sv(%s, 1, LANES);\n", dtype, name, t->number, t->number, name, dtype, at);
        text_print(&take, "        %s[v] = %s_rows_%sv(%s[v], &sums[row][v], TILE_ROWS, VECTORS_%d);\n", name,
                   component->merge == MERGE_MAX ? "max" : "min", dtype, name, t->number);
        text_print(&end, "    UNROLL\n    for (int v = 0; v < VECTORS_%d; v++)\n        store_%sv(%s, 1, %s[v], LANES);\n",
                   t->number, dtype, at, name);
    }
    lines[0] = emit_text(e, "%s%s", emit_locals(e, begin.bytes), begin.bytes);
    lines[1] = take.bytes;
    lines[2] = end.bytes;
}

/* A loop over the vectors of a tile of columns around `body`; `apart`: the code of each stands by itself. */
static void vector_loop(Emitter *e, const Tiling *t, const Scope *body, bool apart)
{
    if (apart) {
        emit_line(e, "UNROLL");
        emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
        emit_line(e, "    if (v * LANES >= count)");
        emit_line(e, "        continue;");
    } else {
        emit_line(e, "for (int v = 0; v * LANES < count; v++) {");
    }
    emit_body(e, body);
    emit_line(e, "}");
}

/* `whole`: no vector has lanes behind the last column, and nobody is to ask where one begins. */
static Scope *open_vectors(Emitter *e, const Tiling *t, bool whole)
{
    const Index *column = tiling_last(&t->c->columns);
    Scope *body = emit_push(e);
    const char *first = emit_name(e, emit_text(e, "%s_lanes", t->names[column->id]));
    emit_bind(e, column, first);
    if (whole)
        return body;
    body->count = "lanes";
    emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
    emit_line(e, "const int64_t %s = %s + v * LANES;", first, t->names[column->id]);
    return body;
}

static void bind_around(Emitter *e, const Tiling *t)
{
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    tiling_bind(e, t, &t->c->rows, t->c->rows.count - 1);
    tiling_bind(e, t, &t->c->columns, t->c->columns.count - 1);
}

/* A vector of a tile's sums, from memory; with places if it has such. */
static void load_sum(Emitter *e, const Tiling *t, const char *name, const char *lanes)
{
    const char *at = emit_text(e, "r * COLUMNS_%d%s + v * LANES", t->number, t->c->columns.count > 1 ? " + place - tile_place" : "");
    emit_line(e, "const %sv %s = load_%sv(kept + %s, 1, %s);", dtype_name(t->dtype), name, dtype_name(t->dtype), at, lanes);
    if (!t->c->places) {
        tiling_know_product(e, t, name);
        return;
    }
    const char *names[] = { name, emit_name(e, "place_found") };
    emit_line(e, "const i64v %s = load_i64v(kept_places + %s, 1, %s);", names[1], at, lanes);
    for (int r = 0; r < t->step->root_count; r++)
        emit_know(e, t->step->roots[r], emit_state_finish(e, t->step->roots[r], names, true));
}

/* Squares of values with their lanes along the columns become vectors along the rows, which the result has side by side. */
static const char *store_turned(Emitter *e, Tiling *t)
{
    const Index *row = tiling_last(&t->c->rows), *column = tiling_last(&t->c->columns);
    const Output *output = &t->step->statement->outputs[0];
    const char *row_name = t->names[row->id], *column_name = t->names[column->id], *dtype = dtype_name(register_dtype(output->value->dtype));
    tiling_open(e, t, column);
    Step *step = ARENA_NEW(e->arena, Step);
    *step = *e->step;
    step->vector = (Index *)row;
    bind_around(e, t);
    Scope *body = open_vectors(e, t, false), *value = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", row_name)), *sum = emit_name(e, "sum");
    emit_bind(e, row, at);
    emit_line(e, "const int r = from + (s < rows ? s : 0);");
    emit_line(e, "const int64_t %s = %s + r;", at, row_name);
    load_sum(e, t, sum, "lanes");
    emit_line(e, "square[s] = %s;", emit_bare(e, emit_varying(e, output_stored(output))));
    emit_pop(e);
    const Step *outer = e->step;
    e->step = step;
    Scope *target = emit_push(e);
    const char *first = emit_name(e, emit_text(e, "%s_rows", row_name)), *one = emit_name(e, emit_text(e, "%s_at", column_name));
    target->count = "rows";
    emit_bind(e, row, first);
    emit_bind(e, column, one);
    emit_line(e, "const int64_t %s = %s + from, %s = %s + v * LANES + c;", first, row_name, one, column_name);
    emit_know(e, output_stored(output), (Value){ "square[c]", true });
    emit_store(e, output);
    emit_pop(e);
    e->step = outer;
    emit_line(e, "for (int from = 0; from < height; from += LANES) {");
    emit_line(e, "    const int rows = (int)size_min(LANES, height - from);");
    emit_line(e, "    %sv square[LANES];", dtype);
    emit_line(e, "    for (int s = 0; s < LANES; s++) {");
    e->scope->indent++;
    emit_body(e, value);
    emit_line(e, "}");
    emit_line(e, "transpose_%sv(square);", dtype);
    emit_line(e, "for (int c = 0; c < lanes; c++) {");
    emit_body(e, target);
    emit_line(e, "}");
    e->scope->indent--;
    emit_line(e, "}");
    emit_pop(e);
    vector_loop(e, t, body, false);
    return tiling_close(e);
}

bool tiling_stores_whole(const Tiling *t)
{
    return tiling_has_registers(t) && !t->first_count && !t->c->sums_turned && t->c->columns.count == 1;
}

/* A row after the other, so that each line of the result is stored at once. */
static const char *store_rows(Emitter *e, Tiling *t)
{
    const Index *row = tiling_last(&t->c->rows);
    e->step = t->step;
    const Scratch *part = t->step->split ? emit_part_of(e, 0, 0) : NULL;
    tiling_open(e, t, tiling_last(&t->c->columns));
    Step *step = ARENA_NEW(e->arena, Step);
    *step = *e->step;
    step->result = tiling_has_registers(t) ? t->step->result : NULL;
    e->step = step;
    bind_around(e, t);
    Scope *one = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id])), *sum = emit_name(e, "sum");
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, t->names[row->id]);
    Scope *body = open_vectors(e, t, false);
    load_sum(e, t, sum, "lanes");
    if (t->branch)
        emit_know(e, t->step->statement->outputs[0].value, emit_term(e, t->branch));
    if (part)
        emit_line(e, "store_%sv(%s + %s, %s, %s, lanes);", dtype_name(part->dtype), part->name, emit_part_offset(e, "part"),
                  emit_part_stride(e, tiling_last(&t->c->columns)), sum);
    for (int o = 0; o < t->step->statement->output_count && !part; o++)
        emit_store(e, &t->step->statement->outputs[o]);
    emit_pop(e);
    vector_loop(e, t, body, tiling_stores_whole(t));
    emit_pop(e);
    emit_line(e, "for (int r = 0; r < height; r++) {");
    emit_body(e, one);
    emit_line(e, "}");
    return tiling_close(e);
}

/* The states of a whole tile's vectors take a row of sums at once: what these share is found once, and the one goes on while
 * the other waits. Not where more than the sums differs along the columns: that is found once for all rows of a vector. */
static void take_whole(Emitter *e, const Tiling *t)
{
    const Index *row = tiling_last(&t->c->rows);
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *names);
    Component components[STATE_COMPONENTS_MAX];
    const char *each = emit_text(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
    Scope *tile = emit_push(e);
    for (int r = 0; r < t->first_count; r++)
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++) {
            const char *name = emit_name(e, components[i].name);
            emit_line(e, "%s %s[VECTORS_%d];", emit_type(components[i].dtype, true), name, t->number);
            names[r][i] = emit_text(e, "%s[v]", name);
        }
    Scope *load = emit_push(e);
    load_states(e, t, "place", "LANES", names);
    emit_pop(e);
    Scope *one = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id])), *sum = emit_name(e, "sum");
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, t->names[row->id]);
    Scope *body = open_vectors(e, t, true);
    const char *first = emit_bound(e, tiling_last(&t->c->columns));
    load_sum(e, t, sum, "LANES");
    step_states(e, t, names, NULL);
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "%s", each);
    emit_body(e, body);
    emit_line(e, "}");
    emit_pop(e);
    Scope *store = emit_push(e);
    store_states(e, t, "place", "LANES", names);
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "%s", each);
    emit_body(e, load);
    emit_line(e, "}");
    emit_line(e, "UNROLL_TWICE");
    emit_line(e, "for (int64_t r = 0; r < height; r++) {");
    emit_body(e, one);
    emit_line(e, "}");
    emit_line(e, "UNROLL");
    emit_line(e, "%s", each);
    emit_body(e, store);
    emit_line(e, "}");
    emit_line(e, "return;");
    emit_pop(e);
    if (emit_mentions(body->text.bytes, first))
        return;
    emit_line(e, "if (count == COLUMNS_%d) {", t->number);
    emit_body(e, tile);
    emit_line(e, "}");
}

/* Whether none of the states keeps a place, for which a tile's rows are counted. */
static bool has_no_places(const Tiling *t)
{
    for (int r = 0; r < t->first_count; r++)
        if (state_needs_place(t->first[r]) || state_finder(t->first, t->first_count, r) >= 0)
            return false;
    return true;
}

/* The sums of a tile, from memory: stored, or taken by the states of their columns. */
const char *tiling_after(Emitter *e, Tiling *t)
{
    if (t->c->sums_turned && !t->step->split)
        return store_turned(e, t);
    if (!t->first_count)
        return store_rows(e, t);
    const Index *row = tiling_last(&t->c->rows);
    tiling_open(e, t, tiling_last(&t->c->columns));
    bind_around(e, t);
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *names);
    const char *(*tile)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *tile);
    const bool brief = has_no_places(t);
    if (brief)
        take_whole(e, t);
    Scope *body = open_vectors(e, t, false);
    load_states(e, t, "place", "lanes", names);
    declare_tile_best(e, t, tile);
    Scope *inner = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id])), *sum = emit_name(e, "sum");
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, t->names[row->id]);
    load_sum(e, t, sum, t->c->columns.count == 1 ? "LANES" : "lanes");    /* a tile's rows are whole vectors */
    step_states(e, t, names, tile);
    emit_pop(e);
    if (brief)
        emit_line(e, "UNROLL_TWICE");
    emit_line(e, "for (int64_t r = 0; r < height; r++) {");
    emit_body(e, inner);
    emit_line(e, "}");
    merge_tile_best(e, t, names, tile);
    take_found(e, t, names);
    store_states(e, t, "place", "lanes", names);
    emit_pop(e);
    vector_loop(e, t, body, brief);
    return tiling_close(e);
}

/* The columns' states have seen all rows of a part, whose they become. */
static void keep_part(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX])
{
    const Step *opened = e->step;    /* perhaps a copy of the step that has the parts */
    const char *offset = emit_name(e, "of_part");
    emit_line(e, "const int64_t %s = %s;", offset, emit_part_offset(e, "part"));
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->step->roots[r], components); i < n; i++) {
            e->step = t->step;
            const Scratch *part = emit_part_of(e, r, i);
            e->step = opened;
            emit_line(e, "store_%sv(%s + %s, %s, %s, lanes);", dtype_name(part->dtype), part->name, offset,
                      emit_part_stride(e, tiling_last(&t->c->columns)), names[r][i]);
        }
    }
}

/* The columns' states have seen all rows: the step's results. */
const char *tiling_finish(Emitter *e, Tiling *t)
{
    tiling_open(e, t, tiling_last(&t->c->columns));
    tiling_bind(e, t, &t->c->batch, t->c->batch.count);
    tiling_bind(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    tiling_bind(e, t, &t->c->columns, t->c->columns.count - 1);
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *names);
    Scope *body = open_vectors(e, t, false);
    load_states(e, t, t->runs ? "behind + place" : "place", "lanes", names);
    if (t->step->split)
        keep_part(e, t, names);
    for (int r = 0; r < t->first_count && !t->step->split; r++)
        emit_know(e, t->step->roots[r], emit_state_finish(e, t->step->roots[r], names[r], true));
    for (int o = 0; o < t->step->statement->output_count && !t->step->split; o++)
        emit_store(e, &t->step->statement->outputs[o]);
    emit_pop(e);
    vector_loop(e, t, body, false);
    return tiling_close(e);
}
