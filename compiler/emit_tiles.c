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

/* The rows of a block's next tile, or with `block` those of the next block, of `left`: whole tiles as far as that goes. */
static const char *next_height(Emitter *e, const Tiling *t, const char *left, bool block)
{
    return emit_text(e, "(int)size_next(%s, %sROWS_%d, ROWS_%d)", left, block ? "block * " : "", t->number, t->number);
}

static const char *tile_height(Emitter *e, const Tiling *t)
{
    return next_height(e, t, emit_text(e, "%s - %s", tiling_block_stop(e, t), t->names[tiling_last(&t->c->rows)->id]), false);
}

/* Packs a block's rows, unless it has been done for another point of the batch. */
static void pack_block(Emitter *e, const Tiling *t, const char *pack, const char *indent)
{
    const char *first = tiling_block_start(e, t);
    if (!t->c->rows_stay) {
        emit_line(e, "%s%s;", indent, pack);
        return;
    }
    emit_line(e, "%sif (packed_first != %s)", indent, first);
    emit_line(e, "%s    %s;", indent, pack);
    emit_line(e, "%spacked_first = %s;", indent, first);
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
        pack_block(e, t, pack, "");
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
        /* Points that are far apart are met again by each tile of columns, from the first cache if all of them have room there; or from the
         * second one, beside panels that are there, too, unless their lines fall into few of its sets. */
        int size = (int)dtype_size(c->packed);
        const char *far = "";
        if (c->rows_near)
            far = emit_text(e, " && (depth * places > NEAR_%d || (k_apart & -k_apart) * depth > %d)", t->number, e->plan->target->l2_bytes / 2 / size);
        emit_line(e, "if (%s(tiles > 4%s && (k_apart < row_step || k_apart * depth > %d)) || k_apart == 0) {", is_flat ? "!is_flat || " : "", far,
                  e->plan->target->l1_bytes / 2 / size);
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
        int size = (int)dtype_size(c->packed);
        const char *sets = emit_text(e, "row_step * %d %% %d == 0", size, CONTRACT_SETS), *apart = emit_text(e, "k_step * %d >= %d", size, CONTRACT_LINE);
        const char *why = c->group > 1 ? sets : e->plan->target->rows_come && !c->sweep ? apart : emit_text(e, "(%s || %s)", sets, apart);
        emit_line(e, "if (%s%stiles > 4 && %s%s) {", when.bytes, when.length ? "(" : "", why, when.length ? ")" : "");
    }
    pack_block(e, t, pack, "    ");
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
    domain = emit_domain_of_rows(e, t->c, t->first[0], bounds);
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

/* Whether all numbers of packed rows are tame. */
static const char *tame_rows(Emitter *e, const Tiling *t)
{
    const char *from = tiling_block_start(e, t), *to = tiling_block_stop(e, t);
    return tiling_packs_tiles(t) ? emit_text(e, "1, 0, (%s - %s) * tile_step", to, from)
                                 : emit_text(e, "%s - %s, row_step, depth", to, from);
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

/* Whether blocks of rows meet the panels forth and back in turns: those met last are still in the first cache. What takes the
 * sums in registers does not mind their order. */
static bool turns(const Tiling *t)
{
    return tiling_has_registers(t) && t->in_registers && !tiling_has_reach(t);
}

enum { ROWS_AHEAD = 64 };

/* A sweep's rows in place come from memory with the first panel, so many points before they are met. */
static void bring_rows(const Tiling *t, Text *text, const char *comes, const char *next_panel)
{
    text_print(text, "    const int brings = %s == 0 && k_apart != 0;    /* rows, to the first panel */\n", tiling_tile_place(t));
    text_print(text, "    const int64_t ahead_step = brings ? k_apart * %d : panel_ahead;\n", (int)dtype_size(t->c->packed));
    text_print(text, "    if (brings)\n        ahead = (const char *)(here + %d * k_apart);\n", ROWS_AHEAD);
    text_print(text, "    else if (block == 1%s)\n        ahead = (const char *)(%s);\n", comes, next_panel);
}

/* Of each panel all rows of the block, so that it stays near. */
static const char *each_row_tile(Emitter *e, const Tiling *t, const char *const calls[8])
{
    int n = t->number;
    const char *row = t->names[tiling_last(&t->c->rows)->id], *from = tiling_block_start(e, t), *to = tiling_block_stop(e, t);
    bool along = tiling_packs_tiles(t), stores = tiling_asks_result(e, t);
    Text inner = text_new(e->arena);
    const char *unless = t->may_pass ? " && !passes" : "";
    if (tiling_asks_panels(t))
        text_print(&inner, "if (%s%s)\n    ahead = (const char *)(panels_%d + (%s + %sCOLUMNS_%d) * %s + done * COLUMNS_%d);\n",
                   tiling_panels_are_far(e, t), unless, n, tiling_tile_place(t), turns(t) ? "(is_back ? -1 : 1) * " : "", n,
                   tiling_panel_depth(t), n);
    bool meets = tiling_has_reach(t);
    text_put(&inner, tiling_meets_columns(e, t) ? tiling_panel_lines(e, t) : "");
    text_put(&inner, meets ? "at_tile = 0;\n" : "");
    text_put(&inner, tiling_begin_leaving(e, t, from));
    text_print(&inner, "for (%s = %s; %s < %s; %s += height%s) {\n", row, from, row, to, row, meets ? ", at_tile++" : "");
    text_print(&inner, "    height = %s;\n", tile_height(e, t));
    tiling_lines(&inner, "    ", tiling_reach_lines(e, t, calls[7]));
    if (along)
        text_print(&inner, "    %s\n", tiling_points_apart(e, t));
    const char *first_point = t->c->points_met.condition ? "first_point" : "done";
    text_print(&inner, "    const %s *here = rows + (%s - %s) * %s%s;\n", emit_element(t->c->packed), row, from, along ? "tile_step" : "row_step",
               t->c->window ? "" : emit_text(e, " + %s * k_step", first_point));
    const char *next_panel = emit_text(e, "panels_%d + (%s + COLUMNS_%d) * %s", n, tiling_tile_place(t), n, tiling_panel_depth(t));
    if (tiling_asks_next(t))
        text_put(&inner, "    const char *const ahead = next_sweep.at;\n    const int64_t ahead_step = next_sweep.step;\n");
    else if (tiling_brings_rows(t))
        bring_rows(t, &inner, unless, next_panel);
    else if (along)
        text_print(&inner, "    if (block == 1%s)\n        ahead = (const char *)(k_apart ? here + 16 * k_apart : %s);\n", unless, next_panel);
    if (t->is_stored)
        tiling_lines(&inner, "    ", tiling_find_target(e, t));
    if (stores)
        tiling_lines(&inner, "    ", tiling_near_target(e, t));
    if (tiling_meets_columns(e, t))
        tiling_lines(&inner, "    ", tiling_ask_columns(e, t));
    tiling_lines(&inner, "    ", calls[2]);
    tiling_lines(&inner, "    ", tiling_leave(e, t));
    tiling_lines(&inner, "    ", tiling_went_on(e, t));
    text_print(&inner, "    %s;\n}\n", tiling_asks_next(t) ? "follow_on(&next_sweep, points)" : "ahead += points * ahead_step");
    return inner.bytes;
}

/* The tiles of rows of one segment from `first` to `end`: all columns for each. A block of tiles
 * takes some of the contracted points after the others. */
static void emit_tiles(Emitter *e, const Tiling *t, const char *first, const char *end, const char *const calls[8])
{
    int n = t->number;
    const char *row = t->names[tiling_last(&t->c->rows)->id];
    const char *from = tiling_block_start(e, t), *to = tiling_block_stop(e, t);
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
    tiling_find_tame(e, t, emit_text(e, "const int tame = *columns_tame_%d && ", n), "rows", tame_rows(e, t));
    if (t->c->tile->parts)
        tiling_leave_odd(e, t);
    if (tiling_asks_in_order(e, t))
        emit_line(e, "Asked next_lines = ask_nothing();    /* of columns that come next, as they lie in memory */");
    if (!tiling_asks_next(t))
        tiling_find_ahead(e, t, row);
    emit_line(e, "do {");
    e->scope->indent++;
    emit_line(e, "points = size_even(depth - done, %s);",
              t->c->asked_points && tiling_asks_in_order(e, t) ? emit_text(e, "are_met ? ASKED_%d : DEPTH_%d", n, n) : t->c->deep_block ? emit_text(e, "%s ? DEEP_%d : DEPTH_%d", tiling_panels_are_far(e, t), n, n) : emit_text(e, "DEPTH_%d", n));
    if (t->c->tile->words > 1)
        emit_line(e, "points = size_align(points, %d);", t->c->tile->words);
    if (t->c->sweep)
        emit_line(e, "%s *kept = held;", dtype_c(t->dtype));
    else
        emit_line(e, "%s *kept = points < depth ? kept_%d : %s;", dtype_c(t->dtype), n, t->in_registers && !tiling_where(t) ? "NULL" : "tile");
    emit_line(e, "const int is_last = done + points >= depth%s;", t->c->sweep ? emit_text(e, " && sweep_to >= %s", tiling_end(e, t->c->depth.list[0])) : "");
    if (tiling_asks_in_order(e, t))
        tiling_find_asked(e, t);
    tiling_pass_block(e, t);
    const char *each = each_row_tile(e, t, calls);
    if (tiling_has_stage(t))
        emit_line(e, "int64_t next = 0;    /* of the runs on the stage, the first that is to leave */");
    if (turns(t))
        tiling_each_tile_back(e, t, each);
    else
        tiling_each_tile(e, t, each);
    tiling_leave_last(e, t, from);
    emit_line(e, "done += points;");
    if (t->c->sweep)
        emit_line(e, "held = done < depth ? held : kept;");
    e->scope->indent--;
    emit_line(e, "} while (done < depth);");
    if (tiling_copies_columns(e, t))
        emit_line(e, "is_new = 0;");
    if (tiling_copies_columns(e, t) && t->c->panels_of)
        emit_line(e, "*panels_of_%d = columns_at;", n);
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
    emit_line(e, "const int follows = %s == %s * %s;", emit_stride(e, tensor, t->c->left->read.positions, index), extent, step);
    emit_line(e, "const int64_t run = follows && tiles * (%d - spare) < %d ? RUN_%d : 1;", END_CYCLES, DRAIN_CYCLES, t->number);
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
    const char *first = tiling_first(e, points->list[0]), *end = tiling_end(e, points->list[0]), *inner = "";
    const char *extent = strcmp(first, "0") ? emit_text(e, "%s - %s", end, first) : end;
    for (int i = 1; i < points->count; i++)
        inner = emit_text(e, "%s%s%s", inner, inner[0] ? " * " : "", emit_extent(e, points->list[i]));
    const char *most = emit_text(e, "SWEEP_%d", t->number);
    if (inner[0])
        most = emit_text(e, "size_max(SWEEP_%d / size_max(%s, 1), 1)", t->number, inner);
    /* Squares want whole lines of the outermost index; else no sweep is much shorter than the others, in which sums come and go for
     * less. Of no points there is one, too. */
    emit_line(e, "const int64_t sweep = %s;", t->c->within ? most : emit_text(e, "size_max(size_even(%s, %s), 1)", extent, most));
    emit_line(e, "for (int64_t sweep_from = %s; sweep_from == %s || sweep_from < %s; sweep_from += sweep) {", first, first, end);
    e->scope->indent++;
    emit_line(e, "const int64_t sweep_to = size_min(sweep_from + sweep, %s), depth = (sweep_to - sweep_from)%s%s;", end,
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
    if (t->waits)
        emit_line(e, "Waiting_%d waiting = { NULL, NULL, NULL, NULL, 0, 0, 0, 0%s };", t->number, tiling_holds(t) ? ", 0" : "");
    if (!t->in_registers)
        return;
    const char *each = t->runs ? emit_extent(e, tiling_last(&t->c->rows)) : "0";
    emit_line(e, "Pending pending = { 0, TILE_ROWS, 0, 0, %s, %s };", each, t->runs ? "places" : "0");
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
    if (c->rows_stay)
        emit_line(e, "int64_t packed_first = -1;    /* of the rows that are packed, for all points of the batch */");
    if (tiling_has_coming(e, t))
        tiling_declare_coming(e, t);
    open_loops(e, t, &c->batch, c->batch.count, &depth);
    if (c->sweep)
        open_sweep(e, t, &depth);
    if (tiling_meets_columns(e, t))
        tiling_find_columns(e, t);
    tiling_pack_all(e, t, calls[0]);
    if (c->window)
        tiling_make_window(e, t, calls[1]);
    emit_line(e, "const int64_t tiles = places / COLUMNS_%d;", t->number);
    if (c->sweep)    /* tiles come in the same order each time */
        emit_line(e, "const int64_t block = BLOCK_%d;", t->number);
    else
        declare_block(e, t);
    if (tiling_asks_next(t))
        tiling_find_following(e, t);
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
