/* A step as a tiled product: templates/contract.c with its holes filled. Functions hand each other the indices around
 * them; each is written with its lanes along an index of its own. */
#include <ctype.h>
#include <string.h>

#include "emitting.h"

typedef struct Tiling {
    const Contract *c;
    const Step *step;
    int number;                   /* of the step */
    Dtype dtype;                  /* of the sums */
    const char **names;           /* [lowered index id]: of the indices' variables, the same in all functions */
    const Term **first;           /* the reductions behind the product, as their domains leave them */
    int first_count;
    bool in_registers;            /* they take the sums from there */
    ParameterSet parameters;      /* all that a function may ask for */
} Tiling;

static const char *const words[] = { "height", "rows", "row_step", "k_step", "panel", "depth", "sums", "left", "right", "place",
                                     "packed", "tile", "lanes", "span", "spans", "columns", "flat", "at", "to", "v",
                                     "r", "c", "tiles", "ahead", "ahead_step", "kept", "here", "left", "done", "points", "block",
                                     "tiles_left", "is_first", "is_last", "points_first", "points_end", "starts", "words" };

static const IndexSet *sets_of(const Contract *c, int i)
{
    const IndexSet *sets[] = { &c->batch, &c->kept_rows, &c->rows, &c->columns, &c->depth };
    return sets[i];
}

static Index *last_of(const IndexSet *set)
{
    return set->list[set->count - 1];
}

/* Begins a function whose lanes run along `vector`: the indices' names are taken. */
static Scope *open_function(Emitter *e, Tiling *t, const Index *vector)
{
    Step *step = ARENA_NEW(e->arena, Step);
    *step = *t->step;
    step->vector = (Index *)vector;
    e->step = step;
    e->lanes = vector != NULL;
    Scope *scope = emit_push(e);
    scope->indent = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        names_unique(&scope->names, words[i]);
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < sets_of(t->c, s)->count; i++) {
            const Index *index = sets_of(t->c, s)->list[i];
            t->names[index->id] = names_unique(&scope->names, index->name);
        }
    return scope;
}

static void bind_set(Emitter *e, const Tiling *t, const IndexSet *set, int count)
{
    for (int i = 0; i < count; i++)
        emit_bind(e, set->list[i], t->names[set->list[i]->id]);
}

static const char *close_function(Emitter *e)
{
    return emit_without_unread(e->arena, emit_pop(e)->text.bytes);
}

/* Where an index of a unit of work begins and ends. */
static const char *first_of(const Emitter *e, const Index *index)
{
    return e->block_first[index->id] ? e->block_first[index->id] : "0";
}

static const char *end_of(Emitter *e, const Index *index)
{
    return e->block_end[index->id] ? e->block_end[index->id] : emit_extent(e, index);
}

/* What a panel consists of: numbers, or words of several narrow ones. */
static const char *word_c(const Tiling *t)
{
    return t->c->group > 1 ? "u32u" : dtype_c(t->dtype);
}

/* What packed rows consist of. */
static const char *part_c(const Tiling *t)
{
    return t->c->has_starts ? "uint8_t" : dtype_c(t->c->packed);
}

/* How many words a panel's column has, beginning with what its sums start at. */
static const char *panel_depth(const Tiling *t)
{
    return t->c->has_starts ? "(depth + 1)" : "depth";
}

/* Whether a sample's type begins here. */
static bool begins_word(const char *text, const char *word)
{
    return !strncmp(text, word, 5) && !isalnum((unsigned char)text[5]);
}

/* The template's sample is f32, of step N: gives its text the step's dtype and number. */
static const char *rename_sample(Emitter *e, const Tiling *t, const char *text)
{
    Text out = text_new(e->arena);
    const char *before = NULL;
    while (*text) {
        bool begins = !before || !(isalnum((unsigned char)*before) || *before == '_');
        if (text[0] == '_' && text[1] == 'N' && !isalnum((unsigned char)text[2])) {
            text_print(&out, "_%d", t->number);
            before = ++text;
            text++;
        } else if (begins_word(text, "wordu") || begins_word(text, "partu")) {
            text_put(&out, *text == 'w' ? word_c(t) : emit_element(t->c->packed));
            before = text + 4;
            text += 5;
        } else if (begins_word(text, "wordv")) {
            text_put(&out, t->c->group > 1 ? "u32" : dtype_name(t->dtype));
            before = text + 3;
            text += 4;
        } else if (!strncmp(text, "f32", 3)) {
            text_put(&out, dtype_name(t->dtype));
            before = text + 2;
            text += 3;
        } else if (begins && !strncmp(text, "float", 5) && !isalnum((unsigned char)text[5])) {
            text_put(&out, dtype_c(t->dtype));
            before = text + 4;
            text += 5;
        } else {
            text_add(&out, text, 1);
            before = text++;
        }
    }
    return out.bytes;
}

/* ---- packing ---- */

/* How many words the points along one of the contracted indices make. */
static const char *words_along(Emitter *e, const Tiling *t, int level)
{
    const char *extent = emit_extent(e, t->c->depth.list[level]);
    bool words = level == t->c->depth.count - 1 && t->c->group > 1;
    return words ? emit_text(e, "size_ceil_div(%s, %d)", extent, t->c->group) : extent;
}

/* Whether a side's numbers can be copied from where they are, with no look at each. */
static bool is_safe_read(Emitter *e, const Term *side)
{
    for (int a = 0; a < (side->kind == TERM_READ ? side->read.tensor->rank : 0); a++)
        if (emit_is_unsafe(e, side, a) || position_has_gather(&side->read.positions[a]))
            return false;
    return side->kind == TERM_READ;
}

/* One word of each lane's column: as it lies in memory, or of its points, with zeros past the last. */
static void pack_column_words(Emitter *e, Tiling *t)
{
    const Contract *c = t->c;
    const Index *point = last_of(&c->depth);
    const char *name = t->names[point->id], *extent = emit_extent(e, point), *packed = dtype_name(c->packed);
    emit_line(e, "u32v words = splat_u32v(0);");
    if (is_safe_read(e, c->right)) {
        Scope *scope = emit_push(e);
        scope->indent--;
        emit_bind(e, point, name);
        const char *k_step = emit_stride(e, c->right->read.tensor, c->right->read.positions, point);
        const char *step = emit_stride(e, c->right->read.tensor, c->right->read.positions, last_of(&c->columns));
        emit_line(e, "if (%s == 1 && %s + %d <= %s)", k_step, name, c->group, extent);
        emit_line(e, "    words = load_words(%s, %d * (%s), lanes);", emit_pointer(e, c->right), (int)dtype_size(c->packed), step);
        emit_line(e, "else");
        emit_pop(e);
        emit_body(e, scope);
    }
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, point, at);
    const char *value = emit_varying(e, c->right);
    emit_line(e, "words |= place_%sv(%s, (int)(%s - %s));", packed, emit_bare(e, value), at, name);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < size_min(%s + %d, %s); %s++) {", at, name, at, name, c->group, extent, at);
    emit_body(e, body);
    emit_line(e, "}");
    if (c->has_starts)
        emit_line(e, "starts = offset_%sv(starts, words);", packed);
    emit_line(e, "store_u32v(to, 1, words, LANES);");
    emit_line(e, "to += COLUMNS_%d;", t->number);
}

static void pack_column_vector(Emitter *e, Tiling *t)
{
    if (t->c->group > 1) {
        pack_column_words(e, t);
        return;
    }
    const char *value = emit_varying(e, t->c->right);
    emit_line(e, "store_%sv(to, 1, %s, LANES);", dtype_name(t->dtype), emit_bare(e, value));
    emit_line(e, "to += COLUMNS_%d;", t->number);
}

static void pack_turned_vector(Emitter *e, Tiling *t);

/* A row's narrow numbers in one go where they lie side by side; else what follows. */
static void copy_row(Emitter *e, const Tiling *t)
{
    const Index *point = last_of(&t->c->depth);
    if (!is_safe_read(e, t->c->left))
        return;
    Scope *scope = emit_push(e);
    scope->indent--;
    emit_bind(e, point, "0");
    const char *from = emit_pointer(e, t->c->left), *extent = emit_extent(e, point);
    emit_line(e, "if (%s == 1) {", emit_stride(e, t->c->left->read.tensor, t->c->left->read.positions, point));
    emit_line(e, "    copy_row_%s(to, %s, %s);", dtype_name(t->c->packed), from, extent);
    emit_line(e, "    to += %s;", extent);
    emit_line(e, "} else");
    emit_pop(e);
    emit_body(e, scope);
}

/* Loops over the contracted points around what packs one of them, or one vector along the last index. */
static void depth_loops(Emitter *e, Tiling *t, int level, bool along, void (*pack)(Emitter *, Tiling *))
{
    const IndexSet *depth = &t->c->depth;
    if (level == depth->count) {
        pack(e, t);
        return;
    }
    const Index *index = depth->list[level];
    bool lanes = along && level == depth->count - 1;
    const char *name = t->names[index->id], *extent = emit_extent(e, index), *first = "0";
    if ((pack == pack_column_vector || pack == pack_turned_vector) && level == 0) {
        first = "points_first";
        extent = "points_end";
    }
    Scope *body = emit_push(e);
    bool words = pack == pack_column_vector && level == depth->count - 1 && t->c->group > 1;
    if (!words)
        emit_bind(e, index, name);
    if (lanes) {
        body->count = "lanes";
        emit_line(e, "const int lanes = (int)size_min(LANES, %s - %s);", extent, name);
    }
    depth_loops(e, t, level + 1, along, pack);
    emit_pop(e);
    const char *turn = lanes ? " += LANES" : words ? emit_text(e, " += %d", t->c->group) : "++";
    if (lanes && t->c->group > 1)
        copy_row(e, t);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s%s) {", name, first, name, extent, name, turn);
    emit_body(e, body);
    emit_line(e, "}");
    if (lanes && t->c->group > 1) {
        emit_line(e, "for (int64_t %s = %s; %s %% %d != 0; %s++)", name, extent, name, t->c->group, name);
        emit_line(e, "    *to++ = 0;");
    }
}

/* A vector of one column's points, and the place in the square that it has. */
static void pack_turned_vector(Emitter *e, Tiling *t)
{
    const char *name = t->names[last_of(&t->c->columns)->id];
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, last_of(&t->c->columns), at);
    emit_line(e, "const int64_t %s = %s + size_min(v * LANES + c, count - 1);", at, name);
    emit_line(e, "square[c] = %s;", emit_bare(e, emit_varying(e, t->c->right)));
    emit_pop(e);
    emit_line(e, "%sv square[LANES];", dtype_name(t->dtype));
    emit_line(e, "for (int c = 0; c < LANES; c++) {");
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "transpose_%sv(square);", dtype_name(t->dtype));
    emit_line(e, "for (int c = 0; c < lanes; c++) {");
    emit_line(e, "    store_%sv(to, 1, square[c], LANES);", dtype_name(t->dtype));
    emit_line(e, "    to += COLUMNS_%d;", t->number);
    emit_line(e, "}");
}

static void declare_panel(Emitter *e, const Tiling *t)
{
    Text inner = text_new(e->arena);
    for (int i = 1; i < t->c->depth.count; i++)
        text_print(&inner, " * %s", words_along(e, t, i));
    if (t->c->group == 1) {
        emit_line(e, "%s *to = panels_%d + place * depth + points_first%s * COLUMNS_%d + v * LANES;", dtype_c(t->dtype), t->number,
                  inner.bytes, t->number);
        return;
    }
    if (t->c->depth.count == 1)
        text_print(&inner, " / %d", t->c->group);
    emit_line(e, "u32u *panel = (u32u *)panels_%d + place * %s + v * LANES;", t->number, panel_depth(t));
    emit_line(e, "u32u *to = panel + %s * COLUMNS_%d;", emit_text(e, t->c->has_starts ? "(1 + points_first%s)" : "points_first%s", inner.bytes),
              t->number);
    if (t->c->has_starts)
        emit_line(e, "i32v starts = points_first ? load_i32v((const i32u *)panel, 1, LANES) : splat_i32v(0);");
}

static const char *pack_columns(Emitter *e, Tiling *t)
{
    const Index *column = last_of(&t->c->columns);
    const char *name = t->names[column->id];
    bool turned = t->c->columns_turned;
    open_function(e, t, turned ? last_of(&t->c->depth) : column);
    bind_set(e, t, &t->c->batch, t->c->batch.count);
    bind_set(e, t, &t->c->columns, t->c->columns.count - 1);
    Scope *body = emit_push(e);
    declare_panel(e, t);
    if (turned) {
        depth_loops(e, t, 0, true, pack_turned_vector);
    } else {
        const char *first = emit_name(e, emit_text(e, "%s_lanes", name));
        emit_bind(e, column, first);
        body->count = "lanes";
        emit_line(e, "const int lanes = (int)size_max(size_min(LANES, count - v * LANES), 1);");
        emit_line(e, "const int64_t %s = %s + (v * LANES < count ? v * LANES : 0);", first, name);
        depth_loops(e, t, 0, false, pack_column_vector);
    }
    if (t->c->has_starts)
        emit_line(e, "store_i32v((i32u *)panel, 1, starts, LANES);");
    emit_pop(e);
    emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
    emit_body(e, body);
    emit_line(e, "}");
    return close_function(e);
}

static void pack_point_vector(Emitter *e, Tiling *t)
{
    const char *value = emit_varying(e, t->c->left);
    if (t->c->group > 1) {
        emit_line(e, "store_row_%sv(to, %s, lanes);", dtype_name(t->c->packed), emit_bare(e, value));
        emit_line(e, "to += lanes;");
        return;
    }
    emit_line(e, "store_%sv(to, 1, %s, lanes);", dtype_name(t->dtype), emit_bare(e, value));
    emit_line(e, "to += lanes;");
}

static void pack_row_vector(Emitter *e, Tiling *t)
{
    const char *value = emit_varying(e, t->c->left);
    emit_line(e, "store_%sv(to, 1, %s, lanes);", dtype_name(t->dtype), emit_bare(e, value));
    emit_line(e, "to += height;");
}

/* Rows side by side for each contracted point, or the points side by side for each row. */
static const char *pack_rows(Emitter *e, Tiling *t)
{
    const Index *row = last_of(&t->c->rows);
    const char *name = t->names[row->id];
    open_function(e, t, t->c->rows_along ? row : last_of(&t->c->depth));
    bind_set(e, t, &t->c->batch, t->c->batch.count);
    bind_set(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    bind_set(e, t, &t->c->rows, t->c->rows.count - 1);
    Scope *body = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", name));
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, name);
    if (t->c->rows_along) {
        body->count = "lanes";
        emit_line(e, "const int lanes = (int)size_min(LANES, height - r);");
        emit_line(e, "%s *to = packed_%d + r;", dtype_c(t->dtype), t->number);
        depth_loops(e, t, 0, false, pack_row_vector);
    } else {
        depth_loops(e, t, 0, true, pack_point_vector);
    }
    emit_pop(e);
    if (t->c->group > 1)
        emit_line(e, "%s *to = (%s *)packed_%d;", part_c(t), part_c(t), t->number);
    else if (!t->c->rows_along)
        emit_line(e, "%s *to = packed_%d;", dtype_c(t->dtype), t->number);
    emit_line(e, "for (int r = 0; r < height; r%s) {", t->c->rows_along ? " += LANES" : "++");
    emit_body(e, body);
    emit_line(e, "}");
    return close_function(e);
}

/* ---- what becomes of the sums ---- */

/* The names of the variables that hold a reduction's state, and of the arrays in the worker's memory. */
static const char *state_array(Emitter *e, const Tiling *t, int r, const Component *component)
{
    return emit_text(e, "%s_%d_%d", component->name, r + 1, t->number);
}

static void load_states(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++) {
            names[r][i] = emit_name(e, components[i].name);
            emit_line(e, "%s %s = load_%sv(%s + place + v * LANES, 1, LANES);", emit_type(components[i].dtype, true), names[r][i],
                      dtype_name(components[i].dtype), state_array(e, t, r, &components[i]));
        }
    }
}

static void store_states(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            emit_line(e, "store_%sv(%s + place + v * LANES, 1, %s, LANES);", dtype_name(components[i].dtype),
                      state_array(e, t, r, &components[i]), names[r][i]);
    }
}

/* The product's value, from the sum as it is. */
static void know_product(Emitter *e, const Tiling *t, const char *sum)
{
    emit_know(e, t->c->product, emit_state_finish(e, t->c->product, &sum, true));
}

static void step_states(Emitter *e, const Tiling *t, const char *(*names)[STATE_COMPONENTS_MAX])
{
    for (int r = 0; r < t->first_count; r++)
        emit_state_step(e, t->first[r], names[r], true,
                        state_needs_place(t->first[r]) ? emit_place(e, t->first[r], true) : NULL);
}

/* One reduction takes a column of sums. An extremum of the sums as they are has a function that looks for NaN at less. */
static void take_sums(Emitter *e, const Tiling *t, const Term *reduce, const char *const *names)
{
    State state = reduction_facts[reduce->reduce.reduction].state;
    bool plain = reduce->reduce.argument == t->c->product && dtype_kind(t->dtype) == KIND_FLOAT;
    if (plain && (state == STATE_MAX || state == STATE_MIN)) {
        emit_line(e, "%s = %s_all_%sv(%s, &sums[0][v], height, VECTORS_%d);", names[0], state == STATE_MAX ? "max" : "min",
                  dtype_name(t->dtype), names[0], t->number);
        return;
    }
    Scope *inner = emit_push(e);
    know_product(e, t, "sums[r][v]");
    emit_state_step(e, reduce, names, true, NULL);
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int r = 0; r < height; r++) {");
    emit_body(e, inner);
    emit_line(e, "}");
}

/* The states of the columns take the sums from the registers. */
static const char *tile_body(Emitter *e, Tiling *t)
{
    open_function(e, t, last_of(&t->c->columns));
    if (!t->in_registers) {
        emit_line(e, "UNROLL");
        emit_line(e, "for (int r = 0; r < height; r++) {");
        emit_line(e, "    UNROLL");
        emit_line(e, "    for (int v = 0; v < VECTORS_%d; v++)", t->number);
        emit_line(e, "        store_%sv(kept + (r * VECTORS_%d + v) * LANES, 1, sums[r][v], LANES);", dtype_name(t->dtype),
                  t->number);
        emit_line(e, "}");
        return close_function(e);
    }
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *names);
    Scope *body = emit_push(e);
    load_states(e, t, names);
    for (int r = 0; r < t->first_count; r++)
        take_sums(e, t, t->first[r], names[r]);
    store_states(e, t, names);
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int v = 0; v < VECTORS_%d; v++) {", t->number);
    emit_body(e, body);
    emit_line(e, "}");
    return close_function(e);
}

/* A loop over the vectors of a tile of columns around `inner`. */
static void vector_loop(Emitter *e, const Tiling *t, const Scope *body)
{
    emit_line(e, "for (int v = 0; v * LANES < count; v++) {");
    emit_body(e, body);
    emit_line(e, "}");
    (void)t;
}

static Scope *open_vectors(Emitter *e, const Tiling *t)
{
    const Index *column = last_of(&t->c->columns);
    Scope *body = emit_push(e);
    const char *first = emit_name(e, emit_text(e, "%s_lanes", t->names[column->id]));
    emit_bind(e, column, first);
    body->count = "lanes";
    emit_line(e, "const int lanes = (int)size_min(LANES, count - v * LANES);");
    emit_line(e, "const int64_t %s = %s + v * LANES;", first, t->names[column->id]);
    return body;
}

/* The sums of a tile, from memory: stored, or taken by the states of their columns. */
static const char *after_body(Emitter *e, Tiling *t)
{
    const Index *row = last_of(&t->c->rows);
    open_function(e, t, last_of(&t->c->columns));
    bind_set(e, t, &t->c->batch, t->c->batch.count);
    bind_set(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    bind_set(e, t, &t->c->rows, t->c->rows.count - 1);
    bind_set(e, t, &t->c->columns, t->c->columns.count - 1);
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count + 1, sizeof *names);
    Scope *body = open_vectors(e, t);
    load_states(e, t, names);
    Scope *inner = emit_push(e);
    const char *at = emit_name(e, emit_text(e, "%s_at", t->names[row->id])), *sum = emit_name(e, "sum");
    emit_bind(e, row, at);
    emit_line(e, "const int64_t %s = %s + r;", at, t->names[row->id]);
    emit_line(e, "const %sv %s = load_%sv(kept + (r * VECTORS_%d + v) * LANES, 1, LANES);", dtype_name(t->dtype), sum,
              dtype_name(t->dtype), t->number);
    know_product(e, t, sum);
    if (t->first_count)
        step_states(e, t, names);
    for (int o = 0; o < t->step->statement->output_count && !t->first_count; o++)
        emit_store(e, &t->step->statement->outputs[o]);
    emit_pop(e);
    emit_line(e, "for (int r = 0; r < height; r++) {");
    emit_body(e, inner);
    emit_line(e, "}");
    store_states(e, t, names);
    emit_pop(e);
    vector_loop(e, t, body);
    return close_function(e);
}

/* The columns' states have seen all rows: the step's results. */
static const char *finish_body(Emitter *e, Tiling *t)
{
    open_function(e, t, last_of(&t->c->columns));
    bind_set(e, t, &t->c->batch, t->c->batch.count);
    bind_set(e, t, &t->c->kept_rows, t->c->kept_rows.count);
    bind_set(e, t, &t->c->columns, t->c->columns.count - 1);
    const char *(*names)[STATE_COMPONENTS_MAX] = arena_array(e->arena, (size_t)t->first_count, sizeof *names);
    Scope *body = open_vectors(e, t);
    load_states(e, t, names);
    for (int r = 0; r < t->first_count; r++)
        emit_know(e, t->step->roots[r], emit_state_finish(e, t->step->roots[r], names[r], true));
    for (int o = 0; o < t->step->statement->output_count; o++)
        emit_store(e, &t->step->statement->outputs[o]);
    emit_pop(e);
    vector_loop(e, t, body);
    return close_function(e);
}

/* ---- the step ---- */

/* Whether all columns are one vector for everything that has them: condition as C, NULL where it never holds. */
static const char *flat_condition(Emitter *e, const Tiling *t)
{
    const IndexSet *columns = &t->c->columns;
    Text text = text_new(e->arena);
    for (int i = 0; i < e->plan->lowered->term_count; i++) {
        const Term *term = e->plan->lowered->terms[i];
        bool touches = false;
        for (int k = 0; k < columns->count; k++)
            touches |= term->statement == t->step->statement->id && term_has_index(term, columns->list[k]);
        if (touches && term->kind == TERM_POSITION)
            return NULL;
        if (!touches || term->kind != TERM_READ)
            continue;
        for (int a = 0; a < term->read.tensor->rank; a++)
            if (emit_is_unsafe(e, term, a))
                return NULL;
    }
    for (int i = 0; i < e->plan->lowered->term_count + t->step->statement->output_count; i++) {
        int o = i - e->plan->lowered->term_count;
        const Term *term = o < 0 ? e->plan->lowered->terms[i] : NULL;
        if (term && (term->statement != t->step->statement->id || term->kind != TERM_READ))
            continue;
        const Tensor *tensor = term ? term->read.tensor : t->step->statement->outputs[o].tensor;
        const Position *positions = term ? term->read.positions : t->step->statement->outputs[o].positions;
        for (int k = 0; k + 1 < columns->count; k++) {
            const char *outer = emit_stride(e, tensor, positions, columns->list[k]);
            const char *inner = emit_stride(e, tensor, positions, columns->list[k + 1]);
            if (!strcmp(outer, "0") && !strcmp(inner, "0"))
                continue;
            const char *test = emit_text(e, "%s == %s * (%s - %s)", outer, inner, end_of(e, columns->list[k + 1]),
                                         first_of(e, columns->list[k + 1]));
            if (!strstr(text.bytes, test))
                text_print(&text, "%s%s", text.length ? " && " : "", test);
        }
    }
    return text.length ? text.bytes : "1";
}

static const char *extent_here(Emitter *e, const Index *index)
{
    const char *first = first_of(e, index), *end = end_of(e, index);
    return strcmp(first, "0") ? emit_text(e, "(%s - %s)", end, first) : end;
}

/* How the columns fall into spans of tiles: one of them all where they are flat, else one for each of the outer ones. */
static void declare_spans(Emitter *e, const Tiling *t)
{
    const IndexSet *columns = &t->c->columns;
    const char *flat = columns->count > 1 ? flat_condition(e, t) : NULL;
    Text outer = text_new(e->arena);
    for (int i = 0; i + 1 < columns->count; i++)
        text_print(&outer, "%s%s", i ? " * " : "", extent_here(e, columns->list[i]));
    const char *inner = emit_bare(e, extent_here(e, last_of(columns)));
    if (columns->count == 1) {
        emit_line(e, "const int64_t columns = %s;", inner);
        return;
    }
    if (flat) {
        emit_line(e, "const int flat = %s;", flat);
        emit_line(e, "const int64_t spans = flat ? 1 : %s, columns = flat ? %s * %s : %s;", outer.bytes, outer.bytes,
                  extent_here(e, last_of(columns)), inner);
    } else {
        emit_line(e, "const int64_t spans = %s, columns = %s;", outer.bytes, inner);
    }
}

/* A loop over all tiles of columns around `call`, which finds the columns' indices, `count` and `place`. */
static void each_tile(Emitter *e, const Tiling *t, const char *call)
{
    const IndexSet *columns = &t->c->columns;
    const Index *last = last_of(columns);
    int indent = 0;
    emit_line(e, "place = 0;");
    if (columns->count > 1) {
        emit_line(e, "for (int64_t span = 0; span < spans; span++) {");
        indent = 1;
        const char *rest = "span";
        for (int i = columns->count - 2; i >= 0; i--) {
            const char *extent = extent_here(e, columns->list[i]), *first = first_of(e, columns->list[i]);
            const char *here = i ? emit_text(e, "%s %% %s", rest, extent) : rest;
            emit_line(e, "    const int64_t %s = %s%s%s;", t->names[columns->list[i]->id], strcmp(first, "0") ? first : "",
                      strcmp(first, "0") ? " + " : "", here);
            rest = emit_text(e, "%s / %s", rest, extent);
        }
    }
    const char *first = first_of(e, last), *name = t->names[last->id];
    emit_line(e, "%*sfor (int64_t at = 0; at < columns; at += COLUMNS_%d, place += COLUMNS_%d) {", 4 * indent, "", t->number, t->number);
    emit_line(e, "%*s    const int64_t %s = %s%sat;", 4 * indent, "", name, strcmp(first, "0") ? first : "", strcmp(first, "0") ? " + " : "");
    if (emit_mentions(call, "count"))
        emit_line(e, "%*s    const int count = (int)size_min(COLUMNS_%d, columns - at);", 4 * indent, "", t->number);
    if (!emit_mentions(call, name))
        emit_line(e, "%*s    (void)%s;", 4 * indent, "", name);
    for (int i = 0; i + 1 < columns->count; i++)
        if (!emit_mentions(call, t->names[columns->list[i]->id]))
            emit_line(e, "%*s    (void)%s;", 4 * indent, "", t->names[columns->list[i]->id]);
    for (const char *at = call; *at;) {
        size_t length = strcspn(at, "\n");
        emit_line(e, "%*s    %s", 4 * indent, "", arena_copy(e->arena, at, length));
        at += length + (at[length] == '\n');
    }
    emit_line(e, "%*s}", 4 * indent, "");
    if (indent)
        emit_line(e, "}");
}

static void open_loops(Emitter *e, const Tiling *t, const IndexSet *set, int count, int *depth)
{
    for (int i = 0; i < count; i++) {
        const Index *index = set->list[i];
        const char *name = t->names[index->id];
        emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, first_of(e, index), name, end_of(e, index), name);
        e->scope->indent++;
        emit_bind(e, index, name);
        (*depth)++;
    }
}

static void close_loops(Emitter *e, int depth)
{
    while (depth-- > 0) {
        e->scope->indent--;
        emit_line(e, "}");
    }
}

/* Where the rows of the left operand are, of a block of tiles: in place when that can be, else packed. */
static void find_rows(Emitter *e, const Tiling *t, const char *pack)
{
    const Contract *c = t->c;
    const char *element = emit_element(c->packed);
    const char *packed = c->group > 1 ? emit_text(e, "(const %s *)packed_%d", element, t->number) : emit_text(e, "packed_%d", t->number);
    const char *depth = c->group > 1 ? emit_text(e, "depth * %d", c->group) : "depth";
    const char *points = c->group > 1 ? emit_text(e, "%d", c->group) : "1";
    const Index *row = last_of(&c->rows), *point = last_of(&c->depth);
    bool in_place = c->in_place;
    for (int a = 0; in_place && a < c->left->read.tensor->rank; a++)
        in_place = !emit_is_unsafe(e, c->left, a);
    if (!in_place) {
        emit_line(e, "%s;", pack);
        emit_line(e, "const %s *const rows = %s;", element, packed);
        emit_line(e, "const int64_t row_step = %s, k_step = %s;", c->rows_along ? "1" : depth, c->rows_along ? "height" : points);
        return;
    }
    const char *row_step = emit_stride(e, c->left->read.tensor, c->left->read.positions, row);
    const char *k_step = emit_stride(e, c->left->read.tensor, c->left->read.positions, point);
    Scope *scope = emit_push(e);
    scope->indent--;
    emit_bind(e, point, "0");
    const char *pointer = emit_pointer(e, c->left);
    emit_pop(e);
    emit_body(e, scope);
    emit_line(e, "const %s *rows = %s;", element, pointer);
    emit_line(e, "int64_t row_step = %s, k_step = %s;", row_step, c->group > 1 ? points : k_step);
    /* Words are whole and lie in memory as they are needed. */
    const char *apart = c->group == 1 ? "" : emit_text(e, "%s%s %% %d != 0 || ", strcmp(k_step, "1") ? emit_text(e, "%s != 1 || ", k_step) : "",
                                                       emit_extent(e, point), c->group);
    /* Rows whose neighbours fall into the same sets of the cache push each other out of it. */
    emit_line(e, "if (%s%stiles > 4 && row_step * %d %% 2048 == 0%s) {", apart, apart[0] ? "(" : "", (int)dtype_size(c->packed),
              apart[0] ? ")" : "");
    emit_line(e, "    %s;", pack);
    emit_line(e, "    rows = %s;", packed);
    emit_line(e, "    row_step = %s;", c->rows_along ? "1" : depth);
    emit_line(e, "    k_step = %s;", c->rows_along ? "height" : points);
    emit_line(e, "}");
}

static void start_states(Emitter *e, const Tiling *t)
{
    if (!t->c->reduces)
        return;
    emit_line(e, "for (int64_t at = 0; at < tiles * COLUMNS_%d; at += LANES) {", t->number);
    for (int r = 0; r < t->step->root_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->step->roots[r], components); i < n; i++)
            emit_line(e, "    store_%sv(%s + at, 1, %s, LANES);", dtype_name(components[i].dtype),
                      state_array(e, t, r, &components[i]), emit_state_start(e, t->step->roots[r], i, true));
    }
    emit_line(e, "}");
}

static LoopBounds *row_bounds(Emitter *e, const Tiling *t)
{
    LoopBounds *bounds = ARENA_ARRAY(e->arena, LoopBounds, t->c->rows.count);
    for (int i = 0; i < t->c->rows.count; i++) {
        const Index *index = t->c->rows.list[i];
        bounds[i] = (LoopBounds){ (Index *)index, first_of(e, index), end_of(e, index) };
    }
    return bounds;
}

/* The reductions behind the product as their domain leaves them, and the bounds and tests that it gives instead. */
static Domain apply_domain(Emitter *e, Tiling *t, LoopBounds *bounds)
{
    Domain domain = { .reduce = NULL };
    t->first_count = t->c->reduces ? t->step->root_count : 0;
    t->first = ARENA_ARRAY(e->arena, const Term *, t->first_count);
    for (int r = 0; r < t->first_count; r++)
        t->first[r] = t->step->roots[r];
    if (t->first_count != 1)
        return domain;
    domain = emit_domain(e, t->first[0], bounds, t->c->rows.count);
    if (!domain.inside_count)
        t->first[0] = domain.reduce;
    return domain;
}

static const char *hold(Emitter *e, const char *bound, const char *word)
{
    if (!strchr(bound, '('))
        return bound;
    const char *name = emit_name(e, word);
    emit_line(e, "const int64_t %s = %s;", name, bound);
    return name;
}

/* Where the rows after a tile's own begin: those to be packed where they are from. */
static const char *next_rows(Emitter *e, const Tiling *t, const char *row)
{
    const char *further = "(tiles < 4 ? 2 : 1) * height";
    if (!t->c->has_starts || !is_safe_read(e, t->c->left))
        return emit_text(e, "here + %s * row_step", further);
    emit_push(e);
    emit_bind(e, last_of(&t->c->rows), emit_text(e, "(%s + %s)", row, further));
    for (int i = 0; i < t->c->depth.count; i++)
        emit_bind(e, t->c->depth.list[i], "0");
    const char *pointer = emit_pointer(e, t->c->left);
    emit_pop(e);
    return pointer;
}

/* The tiles of rows of one segment from `first` to `end`: of nearly equal height, all columns for each. A block of tiles
 * takes some of the contracted points after the others. */
static void emit_tiles(Emitter *e, const Tiling *t, const char *first, const char *end, const char *pack, const char *tiles)
{
    int n = t->number, size = (int)dtype_size(t->dtype);
    const char *row = t->names[last_of(&t->c->rows)->id];
    const char *from = emit_name(e, emit_text(e, "%s_block", row)), *to = emit_name(e, emit_text(e, "%s_stop", row));
    emit_line(e, "for (int64_t %s = %s, %s; %s < %s; %s = %s) {", from, first, to, from, end, from, to);
    e->scope->indent++;
    emit_line(e, "const int64_t left = %s - %s, tiles_left = size_ceil_div(left, ROWS_%d);", end, from, n);
    emit_line(e, "int height = (int)(tiles_left <= block ? left : size_ceil_div(left * block, tiles_left));");
    emit_line(e, "int64_t %s = %s, done = 0, points;", row, from);
    emit_line(e, "%s = %s + height;", to, from);
    find_rows(e, t, pack);
    emit_line(e, "do {");
    e->scope->indent++;
    emit_line(e, "points = size_ceil_div(depth - done, size_max(size_ceil_div(depth - done, DEPTH_%d), 1));", n);
    emit_line(e, "%s *kept = points < depth ? kept_%d : %s;", dtype_c(t->dtype), n, t->in_registers ? "NULL" : "tile");
    emit_line(e, "const int is_first = done == 0, is_last = done + points >= depth;");
    /* Of each panel all rows of the block, so that it stays near. */
    Text inner = text_new(e->arena);
    text_print(&inner, "for (%s = %s; %s < %s; %s += height) {\n", row, from, row, to, row);
    text_print(&inner, "    height = heights_%d[size_ceil_div(%s - %s, size_ceil_div(%s - %s, ROWS_%d))];\n", n, to, row, to, row, n);
    text_print(&inner, "    const %s *here = rows + (%s - %s) * row_step + done * k_step;\n", emit_element(t->c->packed), row, from);
    text_print(&inner, "    /* The next rows where all points are taken at once, else the next panel: a share for each tile. */\n");
    text_print(&inner, "    const char *ahead = (const char *)(%s);\n", next_rows(e, t, row));
    text_print(&inner, "    int64_t ahead_step = k_step == %d ? size_ceil_div(height * %d, tiles) : 0;\n", t->c->group, size);
    text_print(&inner, "    ahead += place / COLUMNS_%d * depth * ahead_step;\n", n);
    text_put(&inner, "    if (points < depth) {\n");
    text_print(&inner, "        ahead_step = COLUMNS_%d * %d / BLOCK_%d;\n", n, size, n);
    text_print(&inner, "        ahead = (const char *)(panels_%d + (place + COLUMNS_%d) * %s + done * COLUMNS_%d);\n", n, n, panel_depth(t), n);
    text_print(&inner, "        ahead += (%s - %s) / ROWS_%d * points * ahead_step;\n", row, from, n);
    text_put(&inner, "    }\n");
    text_print(&inner, "%s}\n", tiles);
    each_tile(e, t, inner.bytes);
    emit_line(e, "done += points;");
    e->scope->indent--;
    emit_line(e, "} while (done < depth);");
}

static void emit_row_tiles(Emitter *e, Tiling *t, const LoopBounds *bounds, const char *pack, const char *tiles, int *depth)
{
    const IndexSet *rows = &t->c->rows;
    for (int i = 0; i < rows->count; i++) {
        const char *name = t->names[rows->list[i]->id], *first = hold(e, bounds[i].first, emit_text(e, "%s_from", name));
        const char *end = hold(e, bounds[i].end, emit_text(e, "%s_to", name));
        emit_bind(e, rows->list[i], name);
        if (i == rows->count - 1) {
            emit_tiles(e, t, first, end, pack, tiles);
        } else {
            emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, first, name, end, name);
            e->scope->indent++;
        }
        (*depth)++;
    }
}

/* Packs the columns; then for each point of the rows that stay, tile after tile of the others. */
static const char *step_body(Emitter *e, Tiling *t, const char *const calls[4])
{
    const Contract *c = t->c;
    int depth = 0, inner = 0;
    open_function(e, t, last_of(&c->columns));
    Text points = text_new(e->arena);
    for (int i = 0; i < c->depth.count; i++)
        text_print(&points, "%s%s", i ? " * " : "", words_along(e, t, i));
    emit_line(e, "const int64_t depth = %s;", points.bytes);
    declare_spans(e, t);
    emit_line(e, "int64_t place;");
    if (!t->in_registers)
        emit_line(e, "%s tile[ROWS_%d * COLUMNS_%d];", dtype_c(t->dtype), t->number, t->number);
    open_loops(e, t, &c->batch, c->batch.count, &depth);
    /* Some points of all tiles after the others: where columns lie side by side, lines are read as they come. */
    const char *points_all = emit_extent(e, c->depth.list[0]);
    emit_line(e, "place = 0;");
    /* Sums have starts even where there are no points. */
    emit_line(e, "for (int64_t points_first = 0; points_first < %s; points_first += 64) {",
              c->has_starts ? emit_text(e, "size_max(%s, 1)", points_all) : points_all);
    e->scope->indent++;
    emit_line(e, "const int64_t points_end = size_min(points_first + 64, %s);", points_all);
    each_tile(e, t, emit_text(e, "%s;", calls[0]));
    e->scope->indent--;
    emit_line(e, "}");
    emit_line(e, "const int64_t tiles = %ssize_ceil_div(columns, COLUMNS_%d), block = depth > DEPTH_%d ? BLOCK_%d : 1;",
              c->columns.count > 1 ? "spans * " : "", t->number, t->number, t->number);
    open_loops(e, t, &c->kept_rows, c->kept_rows.count, &depth);
    LoopBounds *bounds = row_bounds(e, t);
    start_states(e, t);
    Domain domain = apply_domain(e, t, bounds);
    if (domain.around_count) {
        emit_line(e, "if (%s) {", emit_bare(e, emit_conditions(e, domain.around, domain.around_count)));
        e->scope->indent++;
        inner++;
    }
    emit_row_tiles(e, t, bounds, calls[1], calls[2], &inner);
    close_loops(e, inner);
    if (c->reduces)
        each_tile(e, t, emit_text(e, "%s;", calls[3]));
    close_loops(e, depth);
    return close_function(e);
}

/* ---- the whole ---- */

static bool is_of_sums_alone(const Term *term, const Term *product)
{
    if (term == product || term->kind == TERM_CONSTANT)
        return true;
    for (int i = 0; term->kind == TERM_MAP && i < term->map.count; i++)
        if (!is_of_sums_alone(term->map.arguments[i], product))
            return false;
    return term->kind == TERM_MAP;
}

/* Whether the reductions behind the product are so simple that they take the sums from the registers. */
static bool takes_registers(const Tiling *t)
{
    for (int r = 0; r < t->first_count; r++)
        if (!state_is_simple(t->first[r]) || !is_of_sums_alone(t->first[r]->reduce.argument, t->c->product))
            return false;
    return t->first_count > 0;
}

static void set_parameters(Emitter *e, Tiling *t)
{
    t->parameters = emit_common_parameters(e);
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < sets_of(t->c, s)->count; i++)
            emit_parameter(&t->parameters, "int64_t ", t->names[sets_of(t->c, s)->list[i]->id]);
    emit_parameter(&t->parameters, "int64_t ", "depth");
    emit_parameter(&t->parameters, "int64_t ", "place");
    emit_parameter(&t->parameters, "int64_t ", "points_first");
    emit_parameter(&t->parameters, "int64_t ", "points_end");
    emit_parameter(&t->parameters, "int ", "count");
    emit_parameter(&t->parameters, "int ", "height");
    emit_parameter(&t->parameters, emit_text(e, "const %s *", dtype_c(t->dtype)), "kept");
}

/* "head(parameters)\n{\nlocals body}\n" */
static const char *spell_function(Emitter *e, const ParameterSet *set, const char *comment, const char *name, int number,
                                  const char *body)
{
    const char *whole = emit_text(e, "%s%s", emit_locals(e, body), body);
    return emit_text(e, "/* %s */\nKERNEL static void %s_%d(%s)\n{\n%s}\n", comment, name, number,
                     emit_parameters(e, set, whole, true), whole);
}

static const char *spell_call(Emitter *e, const ParameterSet *set, const char *name, int number, const char *body)
{
    const char *whole = emit_text(e, "%s%s", emit_locals(e, body), body);
    return emit_text(e, "%s_%d(%s)", name, number, emit_parameters(e, set, whole, false));
}

/* What a tile needs beside the product's own parameters; its height is one of those. */
static const char *tile_extra(Emitter *e, const Tiling *t, const char *body, bool declare)
{
    ParameterSet set = { .count = 0 };
    for (int i = 0; i < t->parameters.count; i++)
        if (strcmp(t->parameters.list[i].name, "height") && strcmp(t->parameters.list[i].name, "depth") &&
            strcmp(t->parameters.list[i].name, "kept"))
            emit_parameter(&set, t->parameters.list[i].type, t->parameters.list[i].name);
    const char *list = emit_parameters(e, &set, body, declare);
    return strcmp(list, "void") && list[0] ? emit_text(e, ", %s", list) : "";
}

static const char *start_line(Emitter *e, const Tiling *t)
{
    if (t->c->has_starts)
        return emit_text(e, "            sums[r][v] = load_%sv((const %s *)panel + (v * LANES - COLUMNS_%d), 1, LANES);\n",
                         dtype_name(t->dtype), emit_element(t->dtype), t->number);
    return emit_text(e, "            sums[r][v] = %s;\n", emit_state_start(e, t->c->product, 0, true));
}

static const char *left_line(Emitter *e, const Tiling *t)
{
    if (t->c->group > 1)
        return "            const u32v left = splat_word(rows + r * row_step);\n";
    return emit_text(e, "            const %sv left = splat_%sv(rows[r * row_step]);\n", dtype_name(t->dtype), dtype_name(t->dtype));
}

/* One point's share of one vector of sums. */
static const char *step_line(Emitter *e, Tiling *t)
{
    if (t->c->group > 1)
        return emit_text(e, "                sums[r][v] = dot_%sv(sums[r][v], left, right[v]);\n", dtype_name(t->c->packed));
    open_function(e, t, last_of(&t->c->columns));
    e->scope->indent = 4;
    const char *sum = "sums[r][v]";
    emit_know(e, t->c->left, (Value){ "left", true });
    emit_know(e, t->c->right, (Value){ "right[v]", true });
    emit_state_step(e, t->c->product, &sum, true, NULL);
    return close_function(e);
}

static const char *constants(Emitter *e, const Tiling *t)
{
    Text heights = text_new(e->arena);
    for (int h = 1, best = 1; h <= t->c->tile_rows; h++) {
        best = t->c->heights & 1u << h ? h : best;
        text_print(&heights, ", %d", best);
    }
    return emit_text(e, "enum { ROWS_%d = %d, VECTORS_%d = %d, COLUMNS_%d = VECTORS_%d * LANES, DEPTH_%d = %d, "
                     "BLOCK_%d = %d };\n\n/* How many of so many rows the next tile takes. */\n"
                     "static const unsigned char heights_%d[ROWS_%d + 1] = { 0%s };\n", t->number, t->c->tile_rows,
                     t->number, t->c->tile_vectors, t->number,
                     t->number, t->number, t->c->depth_block, t->number, t->c->row_block, t->number, t->number, heights.bytes);
}

static const char *heights(Emitter *e, const Tiling *t, const char *extra)
{
    Text text = text_new(e->arena);
    for (int h = t->c->tile_rows; h > 0; h--)
        if (t->c->heights & 1u << h)
            text_print(&text, "    %s tile_%s%d(%d, rows, row_step, k_step, panel, depth, ahead, ahead_step, kept, is_first, is_last%s); break;\n",
                   h > 1 ? emit_text(e, "case %d:", h) : "default:", "at_", t->number, h, extra);
    return text.bytes;
}

static void fill_template(Emitter *e, Tiling *t, const char *const bodies[4], const char *step)
{
    const char *tile = tile_body(e, t), *locals = emit_locals(e, tile), *fault = NULL;
    const char *whole = emit_text(e, "%s%s", locals, tile), *extra = tile_extra(e, t, whole, true);
    const char *head = emit_text(e, "const %s *rows, int64_t row_step, int64_t k_step, const %s *panel, int64_t depth, "
                                 "const char *ahead, int64_t ahead_step, %s *kept, int is_first, int is_last",
                                 emit_element(t->c->packed), word_c(t), dtype_c(t->dtype));
    ParameterSet common = emit_common_parameters(e);
    Hole holes[] = {
        { "title", emit_text(e, "/* %s */\n", emit_formula(e)) },
        { "constants", constants(e, t) },
        { "pack_columns", spell_function(e, &t->parameters, "Packs the panel of `count` columns.", "pack_columns", t->number, bodies[0]) },
        { "pack_rows", spell_function(e, &t->parameters, "Packs `height` rows.", "pack_rows", t->number, bodies[1]) },
        { "start", start_line(e, t) },
        { "left", left_line(e, t) },
        { "step", step_line(e, t) },
        { "tile_head", emit_text(e, "INLINE void tile_at_%d(const int height, %s%s)\n", t->number, head, extra) },
        { "tile", whole },
        { "after", t->in_registers ? "" : spell_function(e, &t->parameters, "What becomes of a tile's sums.", "after", t->number, bodies[2]) },
        { "heights_head", emit_text(e, "KERNEL static void tiles_%d(int height, %s%s)\n", t->number, head, extra) },
        { "heights", heights(e, t, tile_extra(e, t, whole, false)) },
        { "finish", t->c->reduces ? spell_function(e, &t->parameters, "The columns' results.", "finish", t->number, bodies[3]) : "" },
        { "whole", spell_function(e, &common, "The step for one unit of work.", "step", t->number, step) },
    };
    const char *sample = rename_sample(e, t, embedded_find("contract.c"));
    const char *text = template_fill(e->arena, sample, holes, sizeof holes / sizeof *holes, &fault);
    if (!text)
        text = emit_text(e, "#error \"the template contract.c and the emitter disagree about %s\"\n", fault);
    text_put(&e->functions, text);
    text_put(&e->functions, "\n");
}

void emit_contract(Emitter *e)
{
    const Step *step = e->step;
    Tiling tiling = { .c = step->contract, .step = step, .number = step->id + 1 }, *t = &tiling;
    const char *const nothing[4] = { "", "", "", "" };
    t->dtype = register_dtype(t->c->product->dtype);
    t->names = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->index_count);
    step_body(e, t, nothing);    /* finds the names and the domain */
    t->in_registers = takes_registers(t);
    set_parameters(e, t);
    const char *bodies[4] = { pack_columns(e, t), pack_rows(e, t), t->in_registers ? "" : after_body(e, t),
                              t->c->reduces ? finish_body(e, t) : "" };
    const char *tile = tile_body(e, t), *whole = emit_text(e, "%s%s", emit_locals(e, tile), tile);
    const char *tiles = emit_text(e, "    tiles_%d(height, here, row_step, k_step, %spanels_%d + place * %s + %s * COLUMNS_%d, points,\n"
                                  "            ahead, ahead_step, kept, is_first, is_last%s);",
                                  t->number, t->c->group > 1 ? "(const u32u *)" : "", t->number, panel_depth(t),
                                  t->c->has_starts ? "(done + 1)" : "done", t->number, tile_extra(e, t, whole, false));
    if (!t->in_registers)
        tiles = emit_text(e, "%s\n    if (is_last)\n        %s;", tiles, spell_call(e, &t->parameters, "after", t->number, bodies[2]));
    tiles = emit_text(e, "%s\n    kept += points < depth ? height * COLUMNS_%d : 0;\n", tiles, t->number);
    const char *calls[4] = { spell_call(e, &t->parameters, "pack_columns", t->number, bodies[0]), spell_call(e, &t->parameters, "pack_rows", t->number, bodies[1]), tiles,
                             t->c->reduces ? spell_call(e, &t->parameters, "finish", t->number, bodies[3]) : "" };
    const char *body = step_body(e, t, calls);
    fill_template(e, t, bodies, body);
    ParameterSet common = emit_common_parameters(e);
    e->calls[0][step->id] = emit_text(e, "%s;", spell_call(e, &common, "step", t->number, body));
    e->step = step;
}
