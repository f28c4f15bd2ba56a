/* The loops over tiles: columns packed once, then tiles of rows, each against all columns, some contracted points at a time. */
#include <string.h>

#include "emit_tiling.h"

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
            const char *test = emit_text(e, "%s == %s * (%s - %s)", outer, inner, tiling_end(e, columns->list[k + 1]),
                                         tiling_first(e, columns->list[k + 1]));
            if (!strstr(text.bytes, test))
                text_print(&text, "%s%s", text.length ? " && " : "", test);
        }
    }
    return text.length ? text.bytes : "1";
}

static const char *extent_here(Emitter *e, const Index *index)
{
    const char *first = tiling_first(e, index), *end = tiling_end(e, index);
    return strcmp(first, "0") ? emit_text(e, "(%s - %s)", end, first) : end;
}

/* How many places for columns there are, in tiles of which the last may have some to spare: one run of all columns where
 * they are flat, else one of `width` places for each point of the outer ones. */
static void declare_places(Emitter *e, const Tiling *t)
{
    const IndexSet *columns = &t->c->columns;
    const char *inner = emit_bare(e, extent_here(e, tiling_last(columns)));
    if (columns->count == 1) {
        emit_line(e, "const int64_t columns = %s, places = size_align(columns, COLUMNS_%d);", inner, t->number);
        return;
    }
    const char *flat = flat_condition(e, t);
    Text outer = text_new(e->arena);
    for (int i = 0; i + 1 < columns->count; i++)
        text_print(&outer, "%s%s", i ? " * " : "", extent_here(e, columns->list[i]));
    if (flat) {
        emit_line(e, "const int flat = %s;", flat);
        emit_line(e, "const int64_t columns = flat ? %s * %s : %s, width = size_align(columns, COLUMNS_%d);", outer.bytes,
                  extent_here(e, tiling_last(columns)), inner, t->number);
        emit_line(e, "const int64_t places = flat ? width : %s * width;", outer.bytes);
    } else {
        emit_line(e, "const int64_t columns = %s, width = size_align(columns, COLUMNS_%d), places = %s * width;", inner,
                  t->number, outer.bytes);
    }
}

static const char *from_first(Emitter *e, const Index *index, const char *offset)
{
    const char *first = tiling_first(e, index);
    return strcmp(first, "0") ? emit_text(e, "%s + %s", first, offset) : offset;
}

/* A loop over all tiles of columns around `call`, which finds the columns' indices, `count` and `place`. */
static void each_tile(Emitter *e, const Tiling *t, const char *call)
{
    const IndexSet *columns = &t->c->columns;
    const char *at = columns->count > 1 ? "place % width" : "place", *outer = "place / width";
    emit_line(e, "for (int64_t place = 0; place < places; place += COLUMNS_%d) {", t->number);
    for (int i = columns->count - 1; i >= 0; i--) {
        const Index *index = columns->list[i];
        const char *name = t->names[index->id], *extent = extent_here(e, index);
        const char *offset = i == columns->count - 1 ? at : i ? emit_text(e, "%s %% %s", outer, extent) : outer;
        if (emit_mentions(call, name))
            emit_line(e, "    const int64_t %s = %s;", name, from_first(e, index, offset));
        if (i < columns->count - 1)
            outer = emit_text(e, "%s / %s", outer, extent);
    }
    if (emit_mentions(call, "count"))
        emit_line(e, "    const int count = (int)size_min(COLUMNS_%d, columns - %s);", t->number, at);
    for (const char *line = call; *line;) {
        size_t length = strcspn(line, "\n");
        emit_line(e, "    %s", arena_copy(e->arena, line, length));
        line += length + (line[length] == '\n');
    }
    emit_line(e, "}");
}

static void open_loops(Emitter *e, const Tiling *t, const IndexSet *set, int count, int *depth)
{
    for (int i = 0; i < count; i++) {
        const Index *index = set->list[i];
        const char *name = t->names[index->id];
        emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, tiling_first(e, index), name, tiling_end(e, index), name);
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
    const char *packed_step = c->rows_along ? "1" : tiling_packed_step(e, t);
    const char *points = c->group > 1 ? emit_text(e, "%d", c->group) : "1";
    const Index *row = tiling_last(&c->rows), *point = tiling_last(&c->depth);
    bool in_place = c->in_place;
    for (int a = 0; in_place && a < c->left->read.tensor->rank; a++)
        in_place = !emit_is_unsafe(e, c->left, a);
    if (!in_place) {
        emit_line(e, "%s;", pack);
        emit_line(e, "const %s *const rows = %s;", element, packed);
        emit_line(e, "const int64_t row_step = %s, k_step = %s;", packed_step, c->rows_along ? "height" : points);
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
    emit_line(e, "    row_step = %s;", packed_step);
    emit_line(e, "    k_step = %s;", c->rows_along ? "height" : points);
    emit_line(e, "}");
}

static void start_states(Emitter *e, const Tiling *t)
{
    if (!t->c->reduces)
        return;
    emit_line(e, "for (int64_t place = 0; place < places; place += LANES) {");
    for (int r = 0; r < t->step->root_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->step->roots[r], components); i < n; i++)
            emit_line(e, "    store_%sv(%s + place, 1, %s, LANES);", dtype_name(components[i].dtype),
                      tiling_state_array(e, t, r, &components[i]), emit_state_start(e, t->step->roots[r], i, true));
    }
    emit_line(e, "}");
}

static LoopBounds *row_bounds(Emitter *e, const Tiling *t)
{
    LoopBounds *bounds = ARENA_ARRAY(e->arena, LoopBounds, t->c->rows.count);
    for (int i = 0; i < t->c->rows.count; i++) {
        const Index *index = t->c->rows.list[i];
        bounds[i] = (LoopBounds){ (Index *)index, tiling_first(e, index), tiling_end(e, index) };
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
    if (!t->c->has_starts || !tiling_reads_safely(e, t->c->left))
        return emit_text(e, "rows + %s * row_step", further);
    emit_push(e);
    emit_bind(e, tiling_last(&t->c->rows), emit_text(e, "(%s + %s)", row, further));
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
    const char *row = t->names[tiling_last(&t->c->rows)->id];
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
    emit_line(e, "const int is_last = done + points >= depth;");
    emit_line(e, "/* What comes nearer: the next rows where all panels are near, else the next panel; a share for each tile. */");
    emit_line(e, "const char *ahead = (const char *)(%s);", next_rows(e, t, row));
    emit_line(e, "const int64_t ahead_step = block > 1 ? COLUMNS_%d * %d / BLOCK_%d :", n, size, n);
    emit_line(e, "                           k_step == %d ? size_ceil_div(height * %d, tiles) : 0;", t->c->group, size);
    /* Of each panel all rows of the block, so that it stays near. */
    Text inner = text_new(e->arena);
    text_put(&inner, "if (block > 1)\n");
    text_print(&inner, "    ahead = (const char *)(panels_%d + (place + COLUMNS_%d) * %s + done * COLUMNS_%d);\n", n, n, tiling_panel_depth(t), n);
    text_print(&inner, "for (%s = %s; %s < %s; %s += height) {\n", row, from, row, to, row);
    text_print(&inner, "    height = (int)size_ceil_div(%s - %s, size_ceil_div(%s - %s, ROWS_%d));\n", to, row, to, row, n);
    text_print(&inner, "    const %s *here = rows + (%s - %s) * row_step + done * k_step;\n", emit_element(t->c->packed), row, from);
    text_print(&inner, "%s    ahead += points * ahead_step;\n}\n", tiles);
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

/* The first points of all blocks that the columns' panels depend on, as one number. */
static const char *columns_at(Emitter *e, const Tiling *t)
{
    const char *text = "";
    for (int s = 0; s < 2; s++) {
        const IndexSet *set = s ? &t->c->columns : &t->c->batch;
        for (int i = 0; i < set->count; i++) {
            const char *first = e->block_first[set->list[i]->id];
            if (first && text[0])
                text = emit_text(e, "%s * %s + %s", strchr(text, ' ') ? emit_text(e, "(%s)", text) : text,
                                 emit_extent(e, set->list[i]), first);
            else if (first)
                text = first;
        }
    }
    return text[0] ? text : "0";
}

/* All panels, unless they are from the unit of work before: some points of all tiles after the others, so that where
 * columns lie side by side lines are read as they come. */
static void pack_all(Emitter *e, const Tiling *t, const char *pack)
{
    const char *points = emit_extent(e, t->c->depth.list[0]);
    if (t->c->panels_of) {
        emit_line(e, "const int64_t columns_at = %s;", columns_at(e, t));
        emit_line(e, "if (*panels_of_%d != columns_at) {", t->number);
        e->scope->indent++;
    }
    /* Sums have starts even where there are no points. */
    emit_line(e, "for (int64_t from_point = 0; from_point < %s; from_point += 16) {",
              t->c->has_starts ? emit_text(e, "size_max(%s, 1)", points) : points);
    e->scope->indent++;
    emit_line(e, "const int64_t to_point = size_min(from_point + 16, %s);", points);
    each_tile(e, t, emit_text(e, "%s;", pack));
    e->scope->indent--;
    emit_line(e, "}");
    if (t->c->panels_of) {
        emit_line(e, "*panels_of_%d = columns_at;", t->number);
        e->scope->indent--;
        emit_line(e, "}");
    }
}

/* Packs the columns; then for each point of the rows that stay, tile after tile of the others. */
const char *tiling_step(Emitter *e, Tiling *t, const char *const calls[4])
{
    const Contract *c = t->c;
    int depth = 0, inner = 0;
    tiling_open(e, t, tiling_last(&c->columns));
    Text points = text_new(e->arena);
    for (int i = 0; i < c->depth.count; i++)
        text_print(&points, "%s%s", i ? " * " : "", tiling_words_along(e, t, i));
    emit_line(e, "const int64_t depth = %s;", points.bytes);
    declare_places(e, t);
    if (!c->has_starts) {
        emit_line(e, "%s start[COLUMNS_%d];", dtype_c(t->dtype), t->number);
        emit_line(e, "for (int c = 0; c < COLUMNS_%d; c++)", t->number);
        emit_line(e, "    start[c] = %s;", emit_state_start(e, c->product, 0, false));
    }
    if (!t->in_registers)
        emit_line(e, "%s tile[ROWS_%d * COLUMNS_%d];", dtype_c(t->dtype), t->number, t->number);
    open_loops(e, t, &c->batch, c->batch.count, &depth);
    pack_all(e, t, calls[0]);
    emit_line(e, "const int64_t tiles = places / COLUMNS_%d, block = depth * places > NEAR_%d ? BLOCK_%d : 1;", t->number, t->number,
              t->number);
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
    return tiling_close(e);
}
