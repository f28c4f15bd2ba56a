/* Two products one behind the other in a ring: templates/cuda/hopper_fuse.cu with its holes filled. What is between the products is
 * emit_fuse.c's. */
#include <string.h>

#include "emit_fuse.h"

/* The column from which on a tile of the right side is, in functions. */
static const char *column_first(const Fused *f)
{
    return f->ring->first[f->ring->side[1].low->id];
}

/* Some lines with what they mention of the tile. */
static const char *with_members(Emitter *e, const Fused *f, const char *body)
{
    Text text = text_new(e->arena);
    for (int i = f->ring->member_count - 1; i >= 0; i--) {
        const char *name = f->ring->members[i];
        if (emit_mentions(body, name) || emit_mentions(text.bytes, name))
            text_print(&text, "    const int64_t %s = tile.%s;\n", name, name);
    }
    if (!text.length)
        text_put(&text, "    (void)tile;\n");
    return text.bytes;
}

/* ---- what a tile reaches ---- */

static const char *const reach[] = { "reached_from", "reached_to", "whole_from", "whole_to" };

/* Whether the where of the first step bounds its columns. */
static bool has_reach(const Fused *f)
{
    Index *column = f->launch->steps[0]->contract->columns.list[0];
    return f->fuse->met && !f->ring->side[0].high && condition_bounds(f->fuse->met, &column, 1);
}

/* The function that finds the columns that some row of a tile asks for, and those that all rows do. */
static const char *find_reach(Emitter *e, Fused *f)
{
    RingStep *r = f->ring;
    const Index *row = r->side[0].low;
    Index *column = f->launch->steps[0]->contract->columns.list[0];
    const char *name = r->t.names[row->id], *extent = emit_extent(e, column);
    LoopBounds bounds = { column, "0", extent };
    ring_open(e, r);
    ring_bind_others(e, r);
    emit_line(e, "const int64_t rows = size_ceil_div(%s, LEFT_%d);", emit_extent(e, row), r->t.number);
    emit_line(e, "if (number / rows %% 2)");
    emit_line(e, "    tile.%s = (rows - 1) * LEFT_%d - tile.%s;", r->first[row->id], r->t.number, r->first[row->id]);
    const char *first = emit_text(e, "tile.%s", r->first[row->id]);
    for (int i = 0; i < 4; i++)
        emit_line(e, "int64_t %s = %s;", reach[i], i == 0 || i == 3 ? extent : "0");
    emit_push(e)->loop = true;
    emit_line(e, "const int64_t %s = size_min(%s + line, %s - 1);", name, first, emit_extent(e, row));
    emit_bind(e, row, name);
    Domain domain = emit_bounds(e, f->fuse->met, &bounds, 1);
    if (domain.around_count) {
        emit_line(e, "if (!(%s)) {", emit_bare(e, emit_conditions(e, domain.around, domain.around_count)));
        emit_line(e, "    whole_to = 0;");
        emit_line(e, "    continue;");
        emit_line(e, "}");
    }
    emit_line(e, "reached_from = size_min(reached_from, %s);", bounds.first);
    emit_line(e, "reached_to = size_max(reached_to, %s);", bounds.end);
    emit_line(e, "whole_from = size_max(whole_from, %s);", bounds.first);
    emit_line(e, "whole_to = %s;", domain.inside_count ? "0" : emit_text(e, "size_min(whole_to, %s)", bounds.end));
    Scope *body = emit_pop(e);
    emit_line(e, "for (int line = (int)threadIdx.x %% WARP; line < LEFT_%d; line += WARP) {", r->t.number);
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "for (int apart = 1; apart < WARP; apart *= 2) {");
    for (int i = 0; i < 4; i++)
        emit_line(e, "    %s = %s(%s, other_i64(%s, apart));", reach[i], i == 0 || i == 3 ? "size_min" : "size_max", reach[i], reach[i]);
    emit_line(e, "}");
    const char *text = ring_close(e, r);
    for (int i = 0; i < 4; i++)
        text = emit_text(e, "%s    tile.%s = %s;\n", text, reach[i], reach[i]);
    return emit_text(e, "\n/* Of a tile's columns those that some row asks for, and those that all do. Of every other round rows come from the last one on:\n"
                     " * else some blocks would have all that reach far. */\n"
                     "INLINE void find_reach_%d(const Frame *f, int64_t number, Tile_%d &tile)\n{\n%s}\n", r->t.number, r->t.number, text);
}

const char *fused_limits(Emitter *e, const Fused *f, const Term *condition)
{
    const RingStep *r = f->ring;
    const Index *column = r->side[1].low;
    LoopBounds bounds = { f->first.c->columns.list[0], "0", emit_extent(e, column) };
    Scope *scope = emit_push(e);
    scope->indent--;
    Domain domain = emit_bounds(e, condition, &bounds, 1);
    emit_pop(e);
    if (domain.inside_count || domain.around_count)
        return NULL;
    const char *names[] = { "from", "to" }, *limits[] = { bounds.first, bounds.end }, *first = r->first[column->id];
    emit_body(e, scope);
    for (int i = strcmp(bounds.first, "0") ? 0 : 1; i < 2; i++)
        emit_line(e, "const int %s = (int)size_min(size_max(%s, %s) - %s, RIGHT_%d);", names[i], limits[i], first, first, r->t.number);
    const char *line = emit_text(e, "right_line_%d(c)", r->t.number), *below = emit_text(e, "%s < to", line);
    return strcmp(bounds.first, "0") ? emit_text(e, "%s >= from && %s", line, below) : below;
}

static const char *range(Emitter *e, const Fused *f)
{
    const Index *column = f->ring->side[1].low;
    if (!f->reaches)
        return emit_text(e, "        const int64_t from = tile.%s, to = tile.%s;\n", ring_from(e, f->ring, column), f->ring->end[column->id]);
    return emit_text(e, "        const int64_t from = tile.reached_from / RIGHT_%d * RIGHT_%d, to = tile.reached_to;\n", f->ring->t.number,
                     f->ring->t.number);
}

static const char *others(Emitter *e, const Fused *f, const char *call)
{
    if (!f->reaches)
        return "";
    return emit_text(e, "        for (int64_t column = 0; column < tile.%s; column += RIGHT_%d)\n            if (column < from || column >= to)\n"
                     "                %s\n", f->ring->end[f->ring->side[1].low->id], f->ring->t.number, call);
}

/* ---- the thread that brings ---- */

static const char *load(Emitter *e, const Fused *f, int side)
{
    const RingStep *r = f->ring;
    const Index *axes[MAP_AXES_MAX];
    Text text = text_new(e->arena);
    int n = r->t.number, count = ring_axes(e, r->t.c, side, axes);
    for (int a = 0; a < count; a++)
        text_print(&text, ", %s", a == 0 ? "point" : ring_place(e, r, side, axes[a]));
    return emit_text(e, "        load_tile_%d(ring->%s[slice], &f->%s_%d, full%s);\n", count, side ? "stages[turn->stage]" : "left",
                     side ? "right" : "left", n, text.bytes);
}

static const char *load_values(Emitter *e, const Fused *f)
{
    const Contract *c = f->fuse->ring_values;
    const RingStep *r = f->ring;
    const Index *axes[MAP_AXES_MAX];
    Text text = text_new(e->arena);
    int count = ring_axes(e, c, 1, axes);
    for (int a = 0; a < count; a++) {
        const Index *same = f->fuse->same[axes[a]->id];
        text_print(&text, ", %s", a == 0 ? "value" : axes[a] == c->depth.list[0] ? column_first(f) : r->t.names[same->id]);
    }
    return emit_text(e, "        load_tile_%d(ring->stages[turn->stage][slice], &f->values_%d, full%s);\n", count, r->t.number, text.bytes);
}

static const char *left(Emitter *e, const Fused *f, const char *loads)
{
    const RingStep *r = f->ring;
    const char *bytes = emit_text(e, "    const int bytes = %s * POINTS_%d * (int)sizeof(%s);\n", ring_lines(e, r), r->t.number,
                                  emit_element(r->t.c->packed));
    return emit_text(e, "%s%s%s", emit_locals(e, bytes), with_members(e, f, emit_text(e, "%s%s", bytes, loads)), bytes);
}

static const char *bring_head(Emitter *e, const Fused *f, const char *name)
{
    int n = f->ring->t.number;
    return emit_text(e, "INLINE void %s_%d(const Frame *f, Ring_%d *ring, const Tile_%d &tile, int64_t %s, Turn *turn)\n", name, n, n, n, column_first(f));
}

/* ---- what multiplies ---- */

static void set_parameters(Emitter *e, Fused *f)
{
    ParameterSet *set = &f->parameters;
    int n = f->ring->t.number;
    *set = (ParameterSet){ .count = 0 };
    emit_parameter(set, "const Frame *", "f");
    emit_parameter(set, emit_text(e, "const Tile_%d &", n), "tile");
    emit_parameter(set, "int64_t ", column_first(f));
    for (int s = 1; s + 1 < f->launch->step_count; s++)
        if (fused_is_state(f, s))
            emit_parameter(set, "float *", fused_state(e, f, s));
    emit_parameter(set, "float *", "factor");
}

/* The function that does all that is done with a tile's sums, and what is in it. */
static const char *use_body(Emitter *e, const Fused *f, const char *calls)
{
    const char *first = column_first(f), *end = emit_text(e, "%s + RIGHT_%d", first, f->ring->t.number);
    const char *inside = f->reaches ? emit_text(e, "%s >= tile.whole_from && %s <= tile.whole_to", first, end)
                                    : emit_text(e, "%s <= tile.%s", end, f->ring->end[f->ring->side[1].low->id]);
    return emit_text(e, "    const int is_edge = !(%s);\n%s", inside, calls);
}

static const char *use(Emitter *e, const Fused *f, const char *body)
{
    return emit_text(e, "/* What becomes of a tile's sums. One with an edge has columns that some row does not have. */\nINLINE void use_sums_%d(%s, float sums[SUMS_%d])\n{\n%s}\n\n",
                     f->ring->t.number, emit_parameters(e, &f->parameters, body, true), f->ring->t.number, body);
}

/* Its calls: there a tile's first column is `column`. */
static const char *use_calls(Emitter *e, const Fused *f, const char *body)
{
    Text list = text_new(e->arena);
    for (int i = 0; i < f->parameters.count; i++) {
        const char *name = f->parameters.list[i].name;
        if (emit_mentions(body, name))
            text_print(&list, "%s, ", strcmp(name, column_first(f)) ? name : "column");
    }
    return emit_text(e, "            use_sums_%d(%ssums);\n", f->ring->t.number, list.bytes);
}

static const char *states(Emitter *e, const Fused *f)
{
    Text text = text_new(e->arena);
    for (int s = 1; s + 1 < f->launch->step_count; s++) {
        if (!fused_is_state(f, s))
            continue;
        const char *start = emit_state_start(e, f->launch->steps[s]->roots[0], 0, false);
        text_print(&text, "        float %s[2] = { %s, %s };\n", fused_state(e, f, s), start, start);
    }
    if (f->fuse->largest)
        text_put(&text, "        float factor[2];\n");
    return text.bytes;
}

static const char *rescale(Emitter *e, const Fused *f)
{
    if (!f->fuse->largest || !f->fuse->scaled[f->launch->step_count - 1])
        return "";
    return emit_text(e, "            UNROLL\n            for (int at = 0; at < PRODUCTS_%d; at++)\n                products[at] *= factor[at / 2 %% 2];\n",
                     f->ring->t.number);
}

/* ---- all of it ---- */

static const char *constants(Emitter *e, const Fused *f)
{
    const Contract *c = f->ring->t.c;
    int n = f->ring->t.number;
    return emit_text(e, "CONSTANTS(LEFT_%d = %d, RIGHT_%d = %d, SLICE_%d = %d, POINTS_%d = %d, VALUES_%d = %d, RING_STAGES_%d = %d);\n"
                     "CONSTANTS(REGISTERS_%d = %d, REGISTERS_LEFT_%d = %d);\n", n, c->ring->left, n, c->ring->right, n,
                     RING_LINE / (int)dtype_size(c->packed), n, c->ring->depth, n, c->ring->values, n, c->ring->stages, n, c->ring->registers, n,
                     RING_REGISTERS - 2 * c->ring->registers);
}

static void begin(Emitter *e, Fused *f, RingStep *r)
{
    const Launch *launch = f->launch;
    emit_begin_step(e, launch, launch->steps[0], false);
    *r = ring_begin(e, launch->steps[0], f->fuse->ring, f->last->id + 1);
    f->ring = r;
    f->first = (BlockTiling){ .c = launch->steps[0]->contract, .step = launch->steps[0], .number = f->last->id + 1, .names = r->t.names };
    f->values = (BlockTiling){ .c = f->last->contract, .step = f->last, .number = f->last->id + 1, .names = r->t.names };
}

void emit_ring_fuse(Emitter *e, const Launch *launch)
{
    RingStep ring;
    Fused fused = { .launch = launch, .fuse = launch->fuse, .last = launch->steps[launch->step_count - 1],
                    .sum = "sums[c / 2 * 4 + r * 2 + c % 2]", .product = "products[c / 2 * 4 + r * 2 + c % 2]" }, *f = &fused;
    begin(e, f, &ring);
    fused_find_scale(e, f);
    int n = ring.t.number;
    const RingTile *tile = ring.t.c->ring;
    f->reaches = has_reach(f);
    for (int i = 0; i < 4 && f->reaches; i++)
        ring_add_member(e, &ring, reach[i]);
    const char *tiles = ring_tile(e, &ring), *calls, *end;
    tiles = f->reaches ? emit_text(e, "%s%s", tiles, find_reach(e, f)) : tiles;
    set_parameters(e, f);
    const char *functions = fused_between(e, f, &calls), *finish = fused_finish(e, f, &end);
    emit_begin_step(e, launch, f->last, false);
    const char *title = emit_formula(e);
    emit_begin_step(e, launch, launch->steps[0], false);
    ring_forget_blocks(e);
    calls = use_body(e, f, calls);
    const char *loads[] = { load(e, f, 0), load(e, f, 1), load_values(e, f) };
    const char *count = emit_text(e, "    const int64_t tiles = %s;\n", ring_tile_count(e, &ring));
    Hole holes[] = {
        { "title", emit_text(e, "/* In a ring: %s */\n", title) },
        { "constants", constants(e, f) },
        { "tile", tiles },
        { "left", left(e, f, loads[0]) },
        { "left_load", loads[0] },
        { "right_head", bring_head(e, f, "bring_right") },
        { "right", with_members(e, f, loads[1]) },
        { "right_load", loads[1] },
        { "values_head", bring_head(e, f, "bring_values") },
        { "values", with_members(e, f, loads[2]) },
        { "values_load", loads[2] },
        { "multiply", emit_text(e, "            wgmma_%s_%d<0, 0>(sums, left + 2 * points, right + 2 * points, slice + points > 0);\n",
                                dtype_name(ring.t.c->packed), tile->right) },
        { "multiply_values", emit_text(e, "        wgmma_words_%s_%d(products, factors + 4 * points, right + 128 * points);\n",
                                       dtype_name(f->fuse->ring_values->packed), tile->values) },
        { "round", emit_text(e, "        factors[at] = pair_%s(sums[2 * at], sums[2 * at + 1]);\n", dtype_name(f->fuse->ring_values->packed)) },
        { "steps", emit_text(e, "%s%s%s", functions, use(e, f, calls), finish) },
        { "tiles", emit_text(e, "%s%s", emit_locals(e, count), count) },
        { "find", emit_text(e, f->reaches ? "        Tile_%d tile = find_tile_%d(f, number);\n        find_reach_%d(f, number, tile);\n"
                                          : "        const Tile_%d tile = find_tile_%d(f, number);\n", n, n, n) },
        { "range", range(e, f) },
        { "zeros", f->reaches ? NULL : "" },
        { "bring_others", others(e, f, emit_text(e, "bring_values_%d(f, ring, tile, column, &turn);", n)) },
        { "add_others", others(e, f, emit_text(e, "add_zeros_%d(ring, products, &turn);", n)) },
        { "states", states(e, f) },
        { "use", use_calls(e, f, calls) },
        { "rescale", rescale(e, f) },
        { "finish", emit_text(e, "        %s;\n", end) },
        { "kernel_head", emit_text(e, "extern \"C\" __global__ void __launch_bounds__(RING_THREADS, 1) %s_ring_%d(const __grid_constant__ Frame frame)\n",
                                   e->options->name, n) },
    };
    emit_wgmma(e, ring.t.c->packed, tile->right);
    emit_wgmma_words(e, f->fuse->ring_values->packed, tile->values);
    Sample sample = { .file = "cuda/hopper_fuse.cu", .number = n, .dtype = DTYPE_F32, .word = "float", .part = emit_element(ring.t.c->packed), .lane = "" };
    text_print(&e->functions, "%s\n", emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes));
}
