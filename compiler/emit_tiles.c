/* The loops over tiles: columns packed once, then tiles of rows, each against all columns, some contracted points at a time. */
#include <string.h>

#include "emit_tiling.h"

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

/* Where a block of tiles of rows begins and ends. */
static const char *block_start(Emitter *e, const Tiling *t)
{
    return emit_text(e, "%s_block", t->names[tiling_last(&t->c->rows)->id]);
}

static const char *block_stop(Emitter *e, const Tiling *t)
{
    return emit_text(e, "%s_stop", t->names[tiling_last(&t->c->rows)->id]);
}

/* The rows of a block's next tile, or with `block` those of the next block, of `left`: whole tiles as far as that goes. */
static const char *next_height(Emitter *e, const Tiling *t, const char *left, bool block)
{
    return emit_text(e, "(int)size_next(%s, %sROWS_%d, ROWS_%d)", left, block ? "block * " : "", t->number, t->number);
}

static const char *tile_height(Emitter *e, const Tiling *t)
{
    return next_height(e, t, emit_text(e, "%s - %s", block_stop(e, t), t->names[tiling_last(&t->c->rows)->id]), false);
}

/* Where the rows of the left operand are, of a block of tiles: in place when that can be, else packed. Where packed
 * rows lie side by side, a tile's points are as far apart as it is high, for which k_apart is 0. */
static void find_rows(Emitter *e, const Tiling *t, const char *pack)
{
    const Contract *c = t->c;
    if (c->window) {
        tiling_find_window_rows(e, t);
        return;
    }
    const char *element = emit_element(c->packed);
    const char *packed = c->group > 1 ? emit_text(e, "(const %s *)packed_%d", element, t->number) : emit_text(e, "packed_%d", t->number);
    bool tiles = tiling_packs_tiles(t);
    const char *tile_step = c->rows_spread ? "depth * LANES" : "depth", *k = tiles ? "k_apart" : "k_step";
    const char *packed_step = c->rows_spread ? "LANES" : tiles ? "1" : tiling_packed_step(e, t);
    const char *points = c->group > 1 ? emit_text(e, "%d", c->group) : tiles ? "0" : "1";
    const Index *row = tiling_last(&c->rows), *point = tiling_last(&c->depth);
    bool in_place = c->in_place;
    for (int a = 0; in_place && a < c->left->read.tensor->rank; a++)
        in_place = !emit_is_unsafe(e, c->left, a);
    if (!in_place) {
        emit_line(e, "%s;", pack);
        emit_line(e, "const %s *const rows = %s;", element, packed);
        emit_line(e, "const int64_t row_step = %s, %s = %s%s;", packed_step, k, points, tiles ? emit_text(e, ", tile_step = %s", tile_step) : "");
        return;
    }
    const char *row_step = emit_stride(e, c->left->read.tensor, c->left->read.positions, row);
    const char *k_step = emit_stride(e, c->left->read.tensor, c->left->read.positions, point);
    Scope *scope = emit_push(e);
    scope->indent--;
    for (int i = 0; i < c->depth.count; i++)
        emit_bind(e, c->depth.list[i], i == 0 ? tiling_depth_first(e, t) : "0");
    const char *pointer = emit_pointer(e, c->left);
    emit_pop(e);
    emit_body(e, scope);
    const char *is_flat = tiling_is_flat(e, t, c->left);
    if (is_flat)
        emit_line(e, "const int is_flat = %s;", is_flat);
    emit_line(e, "const %s *rows = %s;", element, pointer);
    emit_line(e, "int64_t row_step = %s, %s = %s%s;", row_step, k, c->group > 1 ? points : k_step,
              tiles ? ", tile_step = row_step" : "");
    if (tiles) {
        /* Points that are far apart are met again by each tile of columns. */
        emit_line(e, "if (%stiles > 4 || k_apart == 0) {", is_flat ? "!is_flat || " : "");
    } else {
        /* Words are whole and lie in memory as they are needed, as many as are read at once. */
        Text when = text_new(e->arena);
        if (is_flat)
            text_put(&when, "!is_flat || ");
        if (c->group > 1 && strcmp(k_step, "1"))
            text_print(&when, "%s != 1 || ", k_step);
        if (c->group > 1)
            text_print(&when, "%s %% %d != 0 || ", tiling_extent_here(e, point), c->group * c->tile->words);
        if (c->tile->least_rows > 1)
            text_print(&when, "height < %d || ", c->tile->least_rows);
        /* Rows whose neighbours fall into the same sets of the cache push each other out of it, and so do points with a line
         * each. */
        const char *apart = c->group > 1 ? "" : emit_text(e, " || k_step * %d >= %d", (int)dtype_size(c->packed), CONTRACT_LINE);
        emit_line(e, "if (%s%stiles > 4 && (row_step * %d %% 2048 == 0%s)%s) {", when.bytes, when.length ? "(" : "",
                  (int)dtype_size(c->packed), apart, when.length ? ")" : "");
    }
    emit_line(e, "    %s;", pack);
    emit_line(e, "    rows = %s;", packed);
    emit_line(e, "    row_step = %s;", packed_step);
    emit_line(e, "    %s = %s;", k, points);
    if (tiles)
        emit_line(e, "    tile_step = %s;", tile_step);
    emit_line(e, "}");
}

static void start_states(Emitter *e, const Tiling *t)
{
    if (!t->c->reduces)
        return;
    const char *all = "places";
    if (t->runs)
        all = emit_text(e, "(%s_stop - %s) * places", t->names[tiling_last(&t->c->kept_rows)->id], t->names[tiling_last(&t->c->kept_rows)->id]);
    emit_line(e, "for (int64_t place = 0; place < %s; place += LANES) {", all);
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
        bounds[i] = (LoopBounds){ (Index *)index, tiling_first(e, index), t->runs ? "run_rows" : tiling_end(e, index) };
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

/* What packed rows are made of where that is one array's numbers; NULL: rows are in place, or made of more. */
static const Term *source_of_rows(Emitter *e, const Tiling *t)
{
    const Term *source = t->c->left;
    while (source->kind == TERM_MAP && source->map.count == 1)
        source = source->map.arguments[0];
    return !t->c->in_place && !t->c->window && tiling_reads_safely(e, source) ? source : NULL;
}

/* Where the rows after a tile's own begin: those to be packed where they are from. What streams asks for more while it
 * multiplies. */
static const char *next_rows(Emitter *e, const Tiling *t, const char *row)
{
    const Term *source = source_of_rows(e, t);
    const char *further = tiling_asks_further(t) ? "height" : emit_text(e, "(tiles < %d ? 2 : 1) * height", PANELS_FEW);
    if (!source)
        return emit_text(e, "rows + %s * row_step", further);
    emit_push(e);
    emit_bind(e, tiling_last(&t->c->rows), emit_text(e, "(%s + %s)", row, further));
    for (int i = 0; i < t->c->depth.count; i++)
        emit_bind(e, t->c->depth.list[i], i == 0 ? tiling_depth_first(e, t) : "0");
    const char *pointer = emit_pointer(e, source);
    emit_pop(e);
    return pointer;
}

/* The address of what the step stores for a tile's first row and the column at `place`; NULL: the unit's first one. */
static const char *target_at(Emitter *e, const Tiling *t, const char *place)
{
    const Index *row = tiling_last(&t->c->rows);
    emit_push(e);
    for (int i = 0; i < t->c->columns.count; i++)
        emit_bind(e, t->c->columns.list[i], place ? emit_text(e, "(%s)", tiling_column_at(e, t, place, i))
                                                  : tiling_first(e, t->c->columns.list[i]));
    emit_bind(e, row, t->names[row->id]);
    e->lanes = false;
    const char *target = emit_target(e, &t->step->statement->outputs[0]);
    e->lanes = true;
    emit_pop(e);
    return target;
}

/* Whether an array is one that a unit of work stores for itself, which is near without being asked for. */
static bool is_own(const Emitter *e, const Tensor *tensor)
{
    return e->plan->storage[tensor->home->id].place == PLACE_BLOCK;
}

/* Whether what is stored is asked for before. */
static bool asks_result(const Emitter *e, const Tiling *t)
{
    return !t->c->reduces && !is_own(e, t->step->statement->outputs[0].tensor);
}

/* Whether a tile's sums go past the caches: lines of the result, of few points each. */
static void find_past(Emitter *e, const Tiling *t, Text *text)
{
    int size = (int)dtype_size(t->dtype);
    const char *may = t->in_pieces ? "placed && is_past" : emit_text(e, "f->past_%d && result", t->step->id + 1);
    if (t->may_pass)
        text_print(text, "const int past = %s && ((uintptr_t)result | (uint64_t)result_step * %d) %% %d == 0;\n", may, size,
                   CONTRACT_LINE);
}

/* Where a tile's sums go after the last point: into the result, where that takes all of its columns side by side or in
 * pieces, else what is kept of them. */
static const char *find_target(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    const char *place = tiling_tile_place(t), *type = emit_element(t->dtype);
    const char *row = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows));
    const char *column = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->columns));
    const char *high = t->c->tile->least_rows > 1 ? emit_text(e, "height >= %d && ", t->c->tile->least_rows) : "";
    Text text = text_new(e->arena);
    text_print(&text, "const int64_t result_step = %s;\n", row);
    high = t->guess ? emit_text(e, "!guessed && %s", high) : high;
    if (t->step->result && !t->may_pass)    /* what passes the caches goes there from memory */
        high = emit_text(e, "!f->past_%d && %s", t->step->id + 1, high);
    if (!t->in_pieces) {
        text_print(&text, "%s *result = NULL;\nif (is_last && %s%s%s == 1 && columns - %s >= COLUMNS_%d)\n    result = %s;\n", type,
                   tiling_where(t) ? "is_whole && " : "", high, column, place, t->number, target_at(e, t, place));
        find_past(e, t, &text);
        return text.bytes;
    }
    text_print(&text, "const Piece *placed = is_placed && is_last ? &pieces[tile_place / LANES] : NULL;\n");
    const char *target = target_at(e, t, NULL), *last = t->names[tiling_last(&t->c->rows)->id];
    if (tiling_has_stage(t))
        text_print(&text, "%s *result = is_staged ? stage + (%s - %s) * width : %s;\n", type, last, block_start(e, t), target);
    else
        text_print(&text, "%s *result = %s;\n", type, target);
    find_past(e, t, &text);
    if (!asks_result(e, t))
        return text.bytes;
    text_print(&text, "if (nears && is_placed%s)\n", t->may_pass ? " && !past" : "");
    text_print(&text, "    ahead = (const char *)(result + pieces[tile_place / LANES + VECTORS_%d].first);\n", t->number);
    return text.bytes;
}

/* Of few points the result takes longest: that of the next tile comes nearer. */
static const char *near_target(Emitter *e, const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank && !t->in_pieces; a++)
        if (position_has_gather(&output->positions[a]))
            return "";
    return t->in_pieces ? "" : emit_text(e, "if (nears%s)\n    ahead = (const char *)(%s);\n", t->may_pass ? " && !past" : "",
                     target_at(e, t, emit_text(e, "(%s + COLUMNS_%d)", tiling_tile_place(t), t->number)));
}

/* Whether all numbers of packed rows are tame. */
static const char *tame_rows(Emitter *e, const Tiling *t)
{
    const char *from = block_start(e, t), *to = block_stop(e, t);
    return tiling_packs_tiles(t) ? emit_text(e, "1, 0, (%s - %s) * tile_step", to, from)
                                 : emit_text(e, "%s - %s, row_step, depth", to, from);
}

/* Whether numbers that the step has packed can add up to no NaN. */
static void find_tame(Emitter *e, const Tiling *t, const char *name, const char *also, const char *numbers, const char *runs)
{
    Component component[STATE_COMPONENTS_MAX];
    state_components(t->c->product, component);
    if (t->c->tames)
        emit_line(e, "const int %s = %sall_tame_%sv(%s, %s, %s);", name, also, dtype_name(t->dtype), numbers, runs,
                  component[0].merge == MERGE_MAX ? "1" : "-1");
}

/* How many tiles of rows meet a panel before the next one. */
static void declare_block(Emitter *e, const Tiling *t)
{
    int n = t->number;
    if (t->c->close && !tiling_has_registers(t))
        emit_line(e, "const int64_t block = depth * places > (f->past_%d ? CLOSE_%d : NEAR_%d) ? BLOCK_%d : 1;", t->step->id + 1, n, n, n);
    else if (t->c->close)
        emit_line(e, "const int64_t block = depth * places > NEAR_%d ? BLOCK_%d : depth * places > CLOSE_%d ? CLOSE_BLOCK_%d : 1;", n, n, n, n);
    else
        emit_line(e, "const int64_t block = depth * places > NEAR_%d ? BLOCK_%d : 1;", n, n);
}

/* Whether panels are not near, so that the next one has to be asked for. */
static const char *panels_are_far(Emitter *e, const Tiling *t)
{
    if (t->c->close && tiling_has_registers(t))
        return emit_text(e, "block > CLOSE_BLOCK_%d", t->number);
    return t->c->close && !tiling_packs_tiles(t) ? emit_text(e, "depth * places > NEAR_%d", t->number) : "block > 1";
}

/* Whether the next panel is asked for. Where many of its words are taken at once it comes by itself. */
static bool asks_panels(const Tiling *t)
{
    return t->c->deep_block == 0;
}

/* How rows that are read in place compare with so many bytes, all of them; NULL: they are the step's own, or packed. */
static const char *rows_in_place(Emitter *e, const Tiling *t, const char *compares, int bytes)
{
    const Contract *c = t->c;
    const IndexSet *sets[] = { &c->batch, &c->kept_rows, &c->rows, &c->depth };
    const char *numbers = "";
    if (!c->in_place || is_own(e, c->left->read.tensor))
        return NULL;
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < sets[s]->count; i++)
            numbers = emit_text(e, "%s%s%s", numbers, numbers[0] ? " * " : "", emit_extent(e, sets[s]->list[i]));
    return emit_text(e, "%s %s %d", numbers, compares, bytes / (int)dtype_size(c->packed));
}

/* Whether rows are asked for. Registers of tiles load so much that nothing is to be asked for that comes by itself. */
static const char *asks_rows(Emitter *e, const Tiling *t)
{
    const char *far = rows_in_place(e, t, ">", e->plan->target->l2_bytes / 4 * 3);
    return !tiling_has_registers(t) ? "" : far ? emit_text(e, "%s && ", far) : "0 && ";
}

/* What a tile's products bring nearer, and how much of it for each word. */
static void find_ahead(Emitter *e, const Tiling *t, const char *row)
{
    int n = t->number, size = (int)dtype_size(t->dtype);
    bool along = tiling_packs_tiles(t), stores = asks_result(e, t);
    const Output *output = &t->step->statement->outputs[0];
    const char *apart = emit_stride(e, output->tensor, output->positions, tiling_last(&t->c->rows));
    emit_line(e, "/* What comes nearer: %s%s; a share for each tile.%s */",
              asks_panels(t) ? "the next panel where not all of them are near, else " : "",
              along ? "points to come or the next one" : "the next rows",
              stores ? " Of few points what is written takes longest." : "");
    const Term *source = source_of_rows(e, t);
    int bytes = source ? t->c->group * (int)dtype_size(source->read.tensor->dtype) : size;
    emit_line(e, "const char *ahead = %s;", !along ? emit_text(e, "(const char *)(%s)", next_rows(e, t, row)) : t->may_pass ? "(const char *)rows" : "NULL");
    if (stores)
        emit_line(e, "const int writes = depth < size_min(places, ROWS_%d * BLOCK_%d);", n, n);
    if (t->may_pass)
        emit_line(e, "const int passes = writes && %s((uintptr_t)(%s) | (uint64_t)%s * %d) %% %d == 0%s;",
                  tiling_has_stage(t) ? "(is_staged || (is_past && " : t->in_pieces ? "is_past && " : emit_text(e, "f->past_%d && ", t->step->id + 1),
                  target_at(e, t, NULL), strchr(apart, ' ') ? emit_text(e, "(%s)", apart) : apart, (int)dtype_size(t->dtype), CONTRACT_LINE,
                  tiling_has_stage(t) ? "))" : "");
    if (stores)    /* rows that are apart are few; so many points would ask for more than is written */
        emit_line(e, "const int nears = writes && %s(%s < COLUMNS_%d || depth <= 2 * ROWS_%d);",
                  t->may_pass ? "!passes && " : t->step->result ? emit_text(e, "!f->past_%d && ", t->step->id + 1) : "",
                  apart, n, n);
    emit_line(e, "const int64_t ahead_step =");
    const char *near = along || t->c->rows_apart ? NULL : rows_in_place(e, t, "<=", 4 * e->plan->target->l2_bytes);
    if (t->may_pass)    /* what would wait for what goes, unless it comes from memory */
        emit_line(e, "    passes%s ? 0 :", near ? emit_text(e, " && %s", near) : "");
    if (stores)
        emit_line(e, "    nears ? (%s < COLUMNS_%d ? %d : %s * %d) :", apart, n, CONTRACT_LINE, apart,
                  (int)dtype_size(output->tensor->dtype));
    /* Of low blocks each tile has twice the share; more is in the way of the products. */
    if (asks_panels(t))
        emit_line(e, "    %s ? COLUMNS_%d * %d / (2 * (%s - %s) > BLOCK_%d * ROWS_%d ? BLOCK_%d : (BLOCK_%d + 1) / 2) :", panels_are_far(e, t),
                  n, size, block_stop(e, t), block_start(e, t), n, n, n, n);
    else
        emit_line(e, "    %s ? 0 :", panels_are_far(e, t));
    if (along)
        emit_line(e, "    (k_apart ? k_apart : (int64_t)COLUMNS_%d) * %d;", n, size);
    else
        emit_line(e, t->c->rows_apart || t->c->window ? "    0;" : "    %sk_step == %d ? size_ceil_div(%s * %d, tiles) : 0;", asks_rows(e, t),
                  t->c->group, t->may_pass && t->c->close ? emit_text(e, "size_min(height, ROWS_%d)", n) : "height", bytes);
}

/* Whether blocks of rows meet the panels forth and back in turns: those met last are still in the first cache. What takes the
 * sums in registers does not mind their order. */
static bool turns(const Tiling *t)
{
    return tiling_has_registers(t) && t->in_registers && !tiling_has_reach(t);
}

/* The tiles of rows of one segment from `first` to `end`: all columns for each. A block of tiles
 * takes some of the contracted points after the others. */
static void emit_tiles(Emitter *e, const Tiling *t, const char *first, const char *end, const char *const calls[8])
{
    int n = t->number;
    const char *row = t->names[tiling_last(&t->c->rows)->id];
    const char *from = block_start(e, t), *to = block_stop(e, t);
    emit_line(e, "for (int64_t %s = %s, %s; %s < %s; %s = %s) {", from, first, to, from, end, from, to);
    e->scope->indent++;
    emit_line(e, "int height = %s;", next_height(e, t, emit_text(e, "%s - %s", end, from), true));
    if (turns(t))
        emit_line(e, "is_back = !is_back;    /* what was met last is nearest */");
    emit_line(e, "int64_t %s = %s, done = 0, points;", row, from);
    emit_line(e, "%s = %s + height;", to, from);
    tiling_find_reach(e, t, calls + 5, tile_height(e, t));
    if (t->cuts)
        tiling_cut_rows(e, t, calls[1], first, end);
    else
        find_rows(e, t, calls[1]);
    find_tame(e, t, "tame", "columns_tame && ", "rows", tame_rows(e, t));
    if (t->c->tile->parts)
        tiling_leave_odd(e, t);
    emit_line(e, "do {");
    e->scope->indent++;
    emit_line(e, "points = size_even(depth - done, %s);",
              t->c->deep_block ? emit_text(e, "%s ? DEEP_%d : DEPTH_%d", panels_are_far(e, t), n, n) : emit_text(e, "DEPTH_%d", n));
    if (t->c->tile->words > 1)
        emit_line(e, "points = size_align(points, %d);", t->c->tile->words);
    if (t->c->sweep)
        emit_line(e, "%s *kept = held;", dtype_c(t->dtype));
    else
        emit_line(e, "%s *kept = points < depth ? kept_%d : %s;", dtype_c(t->dtype), n, t->in_registers && !tiling_where(t) ? "NULL" : "tile");
    emit_line(e, "const int is_last = done + points >= depth%s;", t->c->sweep ? emit_text(e, " && sweep_to >= %s", emit_extent(e, t->c->depth.list[0])) : "");
    find_ahead(e, t, row);
    bool along = tiling_packs_tiles(t), stores = asks_result(e, t);
    /* Of each panel all rows of the block, so that it stays near. */
    Text inner = text_new(e->arena);
    const char *comes = t->may_pass ? " && !passes" : "";
    if (asks_panels(t))
        text_print(&inner, "if (%s%s)\n    ahead = (const char *)(panels_%d + (%s + %sCOLUMNS_%d) * %s + done * COLUMNS_%d);\n",
                   panels_are_far(e, t), comes, n, tiling_tile_place(t), turns(t) ? "(is_back ? -1 : 1) * " : "", n,
                   tiling_panel_depth(t), n);
    bool meets = tiling_has_reach(t);
    text_put(&inner, meets ? "at_tile = 0;\n" : "");
    text_put(&inner, tiling_begin_leaving(e, t, from));
    text_print(&inner, "for (%s = %s; %s < %s; %s += height%s) {\n", row, from, row, to, row, meets ? ", at_tile++" : "");
    text_print(&inner, "    height = %s;\n", tile_height(e, t));
    tiling_lines(&inner, "    ", tiling_reach_lines(e, t, calls[7]));
    if (along)
        text_print(&inner, "    const int64_t k_step = k_apart ? k_apart : height%s;\n", t->c->rows_spread ? " * LANES" : "");
    const char *first_point = t->c->points_met.condition ? "first_point" : "done";
    text_print(&inner, "    const %s *here = rows + (%s - %s) * %s%s;\n", emit_element(t->c->packed), row, from, along ? "tile_step" : "row_step",
               t->c->window ? "" : emit_text(e, " + %s * k_step", first_point));
    if (along)
        text_print(&inner, "    if (block == 1%s)\n        ahead = (const char *)(k_apart ? here + 16 * k_apart : panels_%d + (%s + COLUMNS_%d) * %s);\n",
                   comes, n, tiling_tile_place(t), n, tiling_panel_depth(t));
    if (t->is_stored)
        tiling_lines(&inner, "    ", find_target(e, t));
    if (stores)
        tiling_lines(&inner, "    ", near_target(e, t));
    tiling_lines(&inner, "    ", calls[2]);
    tiling_lines(&inner, "    ", tiling_leave(e, t));
    text_put(&inner, "    ahead += points * ahead_step;\n}\n");
    if (tiling_has_stage(t))
        emit_line(e, "int64_t next = 0;    /* of the runs on the stage, the first that is to leave */");
    if (turns(t))
        tiling_each_tile_back(e, t, inner.bytes);
    else
        tiling_each_tile(e, t, inner.bytes);
    tiling_leave_last(e, t, from);
    emit_line(e, "done += points;");
    if (t->c->sweep)
        emit_line(e, "held = done < depth ? held : kept;");
    e->scope->indent--;
    emit_line(e, "} while (done < depth);");
}

static void emit_row_tiles(Emitter *e, Tiling *t, const LoopBounds *bounds, const char *const calls[8], int *depth)
{
    const IndexSet *rows = &t->c->rows;
    for (int i = 0; i < rows->count; i++) {
        const char *name = t->names[rows->list[i]->id], *first = hold(e, bounds[i].first, emit_text(e, "%s_from", name));
        const char *end = hold(e, bounds[i].end, emit_text(e, "%s_to", name));
        emit_bind(e, rows->list[i], name);
        if (i == rows->count - 1) {
            emit_tiles(e, t, first, end, calls);
        } else {
            emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, first, name, end, name);
            e->scope->indent++;
        }
        (*depth)++;
    }
}

enum { END_CYCLES = 100, DRAIN_CYCLES = 300, ROW_WORDS = 8 };

/* Rows of several points of the last index that stays, as one run where they follow each other in memory: a tile has rows of
 * two or more, and none is low because a point's rows end. A tile in which they end takes END_CYCLES more, where nothing
 * follows DRAIN_CYCLES go by, and a row more that is none takes one for ROW_WORDS words: so is judged which is less. */
static void open_run(Emitter *e, const Tiling *t, int *depth)
{
    const Index *index = tiling_last(&t->c->kept_rows), *row = tiling_last(&t->c->rows);
    const char *name = t->names[index->id], *first = tiling_first(e, index), *end = tiling_end(e, index), *extent = emit_extent(e, row);
    const Tensor *tensor = t->c->left->read.tensor;
    const char *step = emit_stride(e, tensor, t->c->left->read.positions, row);
    emit_line(e, "const int64_t spare = (size_align(%s, TILE_ROWS) - %s) * depth / %d;    /* cycles */", extent, extent, ROW_WORDS);
    emit_line(e, "const int64_t run = %s == %s * %s && tiles * (%d - spare) < %d ? RUN_%d : 1;",
              emit_stride(e, tensor, t->c->left->read.positions, index), extent, strchr(step, ' ') ? emit_text(e, "(%s)", step) : step,
              END_CYCLES, DRAIN_CYCLES, t->number);
    emit_line(e, "for (int64_t %s = %s, %s_stop; %s < %s;) {", name, first, name, name, end);
    e->scope->indent++;
    emit_bind(e, index, name);
    emit_line(e, "%s_stop = size_min(%s + run, %s);", name, name, end);
    emit_line(e, "const int64_t run_rows = (%s_stop - %s) * %s;", name, name, extent);
    ++*depth;
}

/* The results of all columns, of each point of a run. */
static void finish_states(Emitter *e, const Tiling *t, const char *finish)
{
    const char *name = t->runs ? t->names[tiling_last(&t->c->kept_rows)->id] : "";
    if (t->runs) {
        emit_line(e, "for (int64_t behind = 0; %s < %s_stop; %s++, behind += places) {", name, name, name);
        e->scope->indent++;
    }
    tiling_each_tile(e, t, tiling_each_run(e, t, emit_text(e, "%s;", finish)));
    close_loops(e, t->runs);
}

/* Some contracted points of all columns and rows after the others. Even where there are none, sums have a start. */
static void open_sweep(Emitter *e, const Tiling *t, int *depth)
{
    const IndexSet *points = &t->c->depth;
    const char *extent = emit_extent(e, points->list[0]), *inner = "";
    for (int i = 1; i < points->count; i++)
        inner = emit_text(e, "%s%s%s", inner, inner[0] ? " * " : "", emit_extent(e, points->list[i]));
    if (inner[0])
        emit_line(e, "const int64_t sweep = size_max(SWEEP_%d / size_max(%s, 1), 1);", t->number, inner);
    const char *step = inner[0] ? "sweep" : emit_text(e, "SWEEP_%d", t->number);
    emit_line(e, "for (int64_t sweep_from = 0; sweep_from == 0 || sweep_from < %s; sweep_from += %s) {", extent, step);
    e->scope->indent++;
    emit_line(e, "const int64_t sweep_to = size_min(sweep_from + %s, %s), depth = (sweep_to - sweep_from)%s%s;", step, extent,
              inner[0] ? " * " : "", inner);
    emit_line(e, "%s *held = kept_%d;    /* of sums: as many as the unit has, tile by tile */", dtype_c(t->dtype), t->number);
    ++*depth;
}

static void begin_registers(Emitter *e, const Tiling *t)
{
    if (t->in_registers)
        emit_line(e, "%sv sums[ROWS_%d][VECTORS_%d];", dtype_name(t->dtype), t->number, t->number);
    emit_line(e, "TileRegisters registers;");
    if (t->c->tile->parts)
        emit_line(e, "*odd_%d = 0;", t->number);
    emit_line(e, "tiles_begin(&registers, COLUMNS_%d);", t->number);
    if (t->runs) {
        emit_line(e, "registers.rows_each = %s;", emit_extent(e, tiling_last(&t->c->rows)));
        emit_line(e, "registers.places = places;");
    }
}

/* What is kept of a tile: registers of tiles store lines of the cache, whole ones if they begin where these do. */
static void declare_tile(Emitter *e, const Tiling *t)
{
    const char *dtype = dtype_name(t->dtype), *type = dtype_c(t->dtype);
    if (!tiling_has_registers(t)) {
        emit_line(e, "%s tile[ROWS_%d * COLUMNS_%d];", type, t->number, t->number);
        if (t->c->places)
            emit_line(e, "int64_t tile_places[ROWS_%d * COLUMNS_%d];", t->number, t->number);
        return;
    }
    emit_line(e, "%sv tile_lines[ROWS_%d * VECTORS_%d];", dtype, t->number, t->number);
    emit_line(e, "%s *const tile = (%s *)tile_lines;", type, type);
}

/* Packs the columns; then for each point of the rows that stay, tile after tile of the others. */
const char *tiling_step(Emitter *e, Tiling *t, const char *const calls[8])
{
    const Contract *c = t->c;
    int depth = 0, inner = 0;
    tiling_open(e, t, tiling_last(&c->columns));
    Text points = text_new(e->arena);
    for (int i = 0; i < c->depth.count; i++)
        text_print(&points, "%s%s", i ? " * " : "", tiling_words_along(e, t, i));
    if (c->tile->parts)
        emit_line(e, "const int64_t words = %s, depth = size_ceil_div(words, %d) * %d;", points.bytes, c->tile->words / c->tile->parts,
                  c->tile->words);
    else if (c->tile->words > 1)
        emit_line(e, "const int64_t words = %s, depth = size_align(words, %d);", points.bytes, c->tile->words);
    else if (!c->sweep)
        emit_line(e, "const int64_t depth = %s;", points.bytes);
    tiling_declare_places(e, t);
    if (tiling_has_registers(t) && !c->tile->has_starts) {
        emit_line(e, "%s start[COLUMNS_%d];", dtype_c(t->dtype), t->number);
        emit_line(e, "for (int c = 0; c < COLUMNS_%d; c++)", t->number);
        emit_line(e, "    start[c] = %s;", emit_state_start(e, c->product, 0, false));
    }
    if (!c->sweep && (!t->in_registers || tiling_where(t)))
        declare_tile(e, t);
    tiling_find_pieces(e, t);
    if (tiling_has_registers(t))
        begin_registers(e, t);
    open_loops(e, t, &c->batch, c->batch.count, &depth);
    if (c->sweep)
        open_sweep(e, t, &depth);
    tiling_pack_all(e, t, calls[0]);
    if (c->window)
        tiling_make_window(e, t, calls[1]);
    emit_line(e, "const int64_t tiles = places / COLUMNS_%d;", t->number);
    find_tame(e, t, "columns_tame", "", emit_text(e, "panels_%d", t->number), "1, 0, places * depth");
    if (c->sweep)    /* tiles come in the same order each time */
        emit_line(e, "const int64_t block = BLOCK_%d;", t->number);
    else
        declare_block(e, t);
    if (turns(t))
        emit_line(e, "int is_back = 1;");
    if (t->cuts)
        tiling_declare_cutting(e, t);
    open_loops(e, t, &c->kept_rows, c->kept_rows.count - t->runs, &depth);
    if (t->runs)
        open_run(e, t, &depth);
    LoopBounds *bounds = row_bounds(e, t);
    start_states(e, t);
    Domain domain = apply_domain(e, t, bounds);
    if (domain.around_count) {
        emit_line(e, "if (%s) {", emit_bare(e, emit_conditions(e, domain.around, domain.around_count)));
        e->scope->indent++;
        inner++;
    }
    emit_row_tiles(e, t, bounds, calls, &inner);
    close_loops(e, inner);
    if (calls[4][0])
        emit_line(e, "%s", calls[4]);
    if (c->reduces)
        finish_states(e, t, calls[3]);
    close_loops(e, depth);
    if (tiling_has_registers(t))
        emit_line(e, "tiles_end();");
    return tiling_close(e);
}
