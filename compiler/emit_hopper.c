/* A step as a tiled product in a ring: templates/cuda/hopper.cu with its holes filled. */
#include <string.h>

#include "emit_block.h"

enum {
    BAND = 16,                    /* so many tiles of the left side meet the same ones of the right side, one after the other */
    POINTS_BYTES = 32             /* of contracted points, that an instruction multiplies */
};

/* ---- functions ---- */

static void keep_name(Emitter *e, const char **name, const char *format, const char *index)
{
    const char *unique = names_unique(&e->scope->names, emit_text(e, format, index));
    *name = *name ? *name : unique;
}

/* Begins one: names of indices, and of what a tile has of them, are the same in each. */
void ring_open(Emitter *e, RingStep *r)
{
    block_open(e, &r->t);
    const IndexSet *reduced = &r->t.c->rows;
    for (int side = 0; side < 2; side++) {
        const RingSide *s = &r->side[side];
        keep_name(e, &r->first[s->low->id], "%s_first", s->low->name);
        if (s->high) {
            keep_name(e, &r->first[s->high->id], "%s_first", s->high->name);
        }
    }
    for (int i = 0; i < reduced->count && r->t.c->reduces; i++) {
        keep_name(e, &r->end[reduced->list[i]->id], "%s_to", reduced->list[i]->name);
        names_unique(&e->scope->names, emit_text(e, "%s_from", reduced->list[i]->name));
        names_unique(&e->scope->names, emit_text(e, "%s_shift", reduced->list[i]->name));
    }
}

const char *ring_from(Emitter *e, const RingStep *r, const Index *index)
{
    const char *to = r->end[index->id];
    return emit_text(e, "%.*sfrom", (int)strlen(to) - 2, to);
}

const char *ring_close(Emitter *e, RingStep *r)
{
    const char *body = emit_without_unread(e->arena, emit_pop(e)->text.bytes);
    Text text = text_new(e->arena);
    for (int i = r->member_count - 1; i >= 0; i--) {    /* a box's members come before what mentions them */
        const char *name = r->members[i];
        if (emit_mentions(body, name) && !emit_mentions(body, emit_text(e, "int64_t %s =", name)))
            text_print(&text, "    const int64_t %s = tile.%s;\n", name, name);
    }
    body = emit_text(e, "%s%s", text.bytes, body);
    return emit_text(e, "%s%s", emit_locals(e, body), body);
}

void ring_add_member(Emitter *e, RingStep *r, const char *name)
{
    for (int i = 0; i < r->member_count; i++)
        if (!strcmp(r->members[i], name))
            return;
    ARENA_APPEND(e->arena, r->members, r->member_count, name);
}

/* ---- where a tile is ---- */

static void set_member(Emitter *e, RingStep *r, const char *name, const char *value)
{
    ring_add_member(e, r, name);
    emit_line(e, "const int64_t %s = tile.%s = %s;", name, name, value);
}

/* The next index of what is left of a number; of the last one all of it. */
static const char *take(Emitter *e, const char *rest, const char *extent, bool last)
{
    return last ? rest : emit_text(e, "take_index(&%s, %s)", rest, extent);
}

/* So many points of an index a tile has, and so many tiles have all of them. */
static const char *box_of(Emitter *e, const RingStep *r, int side, const Index *index)
{
    if (!r->side[side].high)
        return emit_text(e, "%s_%d", side ? "RIGHT" : "LEFT", r->t.number);
    return emit_size(e, ring_box(e->arena, r->t.c, side, index));
}

static const char *count_of(Emitter *e, const RingStep *r, int side, const Index *index)
{
    return emit_size(e, ring_count(e->arena, r->t.c, side, index));
}

/* A side's indices from the number of its tile. */
static void decode_side(Emitter *e, RingStep *r, int side, const char *rest, bool last)
{
    const RingSide *s = &r->side[side];
    for (int i = s->own->count - 1; i >= 0; i--) {
        const Index *index = s->own->list[i];
        const char *at = take(e, rest, count_of(e, r, side, index), last && i == 0);
        if (index == s->low || index == s->high)
            set_member(e, r, r->first[index->id], emit_text(e, "%s * %s", at, box_of(e, r, side, index)));
        else
            set_member(e, r, r->t.names[index->id], at);
    }
}

static const char *count_tiles(Emitter *e, const RingStep *r, int side)
{
    const RingSide *s = &r->side[side];
    const char *text = "";
    for (int i = 0; i < s->own->count; i++)
        text = emit_text(e, "%s%s%s", text, i ? " * " : "", count_of(e, r, side, s->own->list[i]));
    return text;
}

/* A band of left tiles meets all right ones before the next band begins, so that what neighbouring blocks read is the same. */
static void decode_band(Emitter *e, RingStep *r, bool last)
{
    emit_line(e, "const int64_t left_tiles = %s, right_tiles = %s;", count_tiles(e, r, 0), count_tiles(e, r, 1));
    emit_line(e, "int64_t side = %s;", take(e, "rest", "left_tiles * right_tiles", last));
    emit_line(e, "int64_t band = side, right = take_index(&band, %d * right_tiles);", BAND);
    emit_line(e, "int64_t left = band * %d;", BAND);
    emit_line(e, "left += take_index(&right, size_min(left_tiles - left, %d));", BAND);
    decode_side(e, r, 0, "left", true);
    decode_side(e, r, 1, "right", true);
}

static void decode_kept(Emitter *e, RingStep *r)
{
    const Contract *c = r->t.c;
    const IndexSet *sets[] = { &c->kept_rows, &c->batch };
    int count = c->batch.count + c->kept_rows.count;
    for (int s = 0; s < 2; s++)
        for (int i = sets[s]->count - 1; i >= 0; i--) {
            const Index *index = sets[s]->list[i];
            set_member(e, r, r->t.names[index->id], take(e, "rest", emit_extent(e, index), --count == 0));
            emit_bind(e, index, r->t.names[index->id]);
        }
}

/* Indices of which a tile has one point, and the kept ones around it. */
void ring_bind_others(Emitter *e, const RingStep *r)
{
    block_bind_kept(e, &r->t);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < r->side[side].own->count; i++) {
            const Index *index = r->side[side].own->list[i];
            if (index != r->side[side].low && index != r->side[side].high)
                emit_bind(e, index, r->t.names[index->id]);
        }
}

/* D[start[m]+n,k]: how much further on a tile's lines are than n. */
static void find_shift(Emitter *e, RingStep *r)
{
    const Term *read = r->side[1].read;
    const char *sum = "";
    for (int a = 0; a < read->read.tensor->rank; a++) {
        const Position *position = &read->read.positions[a];
        for (int k = 0; k < position->count && !position_is_plain(position); k++) {
            const PositionPart *part = &position->parts[k];
            const char *value = part->gather ? emit_term(e, part->gather).text : NULL;
            if (value && part->coefficient != 1)
                value = emit_text(e, "%lld * %s", (long long)part->coefficient, value);
            sum = value ? emit_text(e, "%s%s%s", sum, sum[0] ? " + " : "", value) : sum;
        }
        if (position->constant)
            sum = emit_text(e, "%s%s%lld", sum, sum[0] ? " + " : "", (long long)position->constant);
    }
    if (!sum[0])
        return;
    r->shift = emit_text(e, "%.*sshift", (int)strlen(r->end[r->side[1].low->id]) - 2, r->end[r->side[1].low->id]);
    ring_add_member(e, r, r->shift);
    emit_line(e, "tile.%s = %s;", r->shift, sum);
}

/* All that a tile goes over is read: its first and its last line have to be there. */
static void check_range(Emitter *e, const RingStep *r)
{
    const RingSide *right = &r->side[1];
    const char *first = emit_text(e, "tile.%s", ring_from(e, r, right->low)), *end = emit_text(e, "tile.%s", r->end[right->low->id]);
    emit_push(e)->branch = true;
    emit_bind(e, right->low, first);
    const char *begins = emit_inside(e, right->read, right->read);
    Scope *scope = emit_pop(e);
    emit_push(e)->branch = true;
    emit_bind(e, right->low, emit_text(e, "(%s - 1)", end));
    const char *ends = emit_inside(e, right->read, right->read);
    emit_pop(e);
    if (!begins[0])
        return;
    emit_body(e, scope);
    emit_line(e, "if (%s < %s && !(%s && %s))", first, end, begins, ends);
    emit_line(e, "    FAIL(f, OUT_OF_RANGE - %d);", right->read->origin ? right->read->origin->id : 0);
}

/* What of the right side the first reduction asks for. */
static void find_range(Emitter *e, RingStep *r)
{
    const char *around;
    const LoopBounds *bounds = block_bounds(e, &r->t, &around);
    for (int i = 0; i < r->t.c->rows.count; i++) {
        const Index *index = r->t.c->rows.list[i];
        const char *first = ring_from(e, r, index), *end = r->end[index->id], *to = bounds[i].end;
        ring_add_member(e, r, first);
        ring_add_member(e, r, end);
        emit_line(e, "tile.%s = %s;", first, bounds[i].first);
        emit_line(e, "tile.%s = %s;", end, around ? emit_text(e, "%s ? %s : 0", around, to) : to);
    }
    find_shift(e, r);
    check_range(e, r);
}

const char *ring_tile(Emitter *e, RingStep *r)
{
    const Contract *c = r->t.c;
    int n = r->t.number;
    bool kept = c->batch.count + c->kept_rows.count > 0;
    ring_open(e, r);
    emit_line(e, "Tile_%d tile;", n);
    emit_line(e, "int64_t rest = number;");
    if (c->reduces)
        decode_side(e, r, 0, "rest", !kept);
    else
        decode_band(e, r, !kept);
    decode_kept(e, r);
    if (c->reduces)
        find_range(e, r);
    emit_line(e, "return tile;");
    Text text = text_new(e->arena), members = text_new(e->arena);
    const char *body = emit_pop(e)->text.bytes;
    body = emit_text(e, "%s%s", emit_locals(e, body), body);
    for (int i = 0; i < r->member_count; i++)
        text_print(&members, "%s%s", i ? ", " : "", r->members[i]);
    text_print(&text, "/* Where a tile is: the first points that it has, and what it goes over. */\n"
               "typedef struct Tile_%d {\n    int64_t %s;\n} Tile_%d;\n\nINLINE Tile_%d find_tile_%d(const Frame *f, int64_t number)\n{\n%s}\n", n, members.bytes, n, n, n, body);
    return text.bytes;
}

/* ---- the thread that brings ---- */

/* The indices of a slice. */
static void decode_slice(Emitter *e, RingStep *r)
{
    const IndexSet *depth = &r->t.c->depth;
    const Index *last = depth->list[depth->count - 1];
    if (depth->count == 1) {
        emit_line(e, "const int64_t point = slice * SLICE_%d;", r->t.number);
        return;
    }
    emit_line(e, "int64_t rest = slice;");
    emit_line(e, "const int64_t point = take_index(&rest, size_ceil_div(%s, SLICE_%d)) * SLICE_%d;", emit_extent(e, last), r->t.number, r->t.number);
    for (int i = depth->count - 2; i >= 0; i--)
        emit_line(e, "const int64_t %s = %s;", r->t.names[depth->list[i]->id], take(e, "rest", emit_extent(e, depth->list[i]), i == 0));
}

/* Where a tile begins along an axis. */
const char *ring_place(Emitter *e, const RingStep *r, int side, const Index *index)
{
    const char *text = r->first[index->id] ? r->first[index->id] : r->t.names[index->id];
    return r->shift && side == 1 && index == r->side[1].low ? emit_text(e, "%s + %s", text, r->shift) : text;
}

static void put_load(Emitter *e, const RingStep *r, int side)
{
    const Index *axes[MAP_AXES_MAX];
    const Contract *c = r->t.c;
    const char *word = side ? "right" : "left";
    Text text = text_new(e->arena);
    int count = ring_axes(e, c, side, axes);
    const RingSide *s = &r->side[side];
    for (int a = 0; a < count; a++) {
        bool panels = s->panels && axes[a] == s->low, point = axes[a] == c->depth.list[c->depth.count - 1];
        text_print(&text, ", %s", point ? "point" : ring_place(e, r, side, axes[a]));
        if (panels)
            text_print(&text, " + panel * SLICE_%d", r->t.number);
    }
    if (s->panels)
        emit_line(e, "for (int panel = 0; panel < %s_%d / SLICE_%d; panel++)", side ? "RIGHT" : "LEFT", r->t.number, r->t.number);
    const char *at = s->panels ? emit_text(e, "[panel * SLICE_%d]", r->t.number) : "";
    const char *stage = side == 0 && c->ring->kept ? emit_text(e, "turn->stage * KEPT_%d + slice", r->t.number) : "stage";
    emit_line(e, "%sload_tile_%d(ring->%s[%s]%s, &f->%s_%d, full%s);", s->panels ? "    " : "", count, word, stage, at, word, r->t.number, text.bytes);
}

/* How many slices one tile's sums take. */
static const char *slice_count(Emitter *e, const RingStep *r)
{
    const IndexSet *depth = &r->t.c->depth;
    const char *text = emit_text(e, "size_ceil_div(%s, SLICE_%d)", emit_extent(e, depth->list[depth->count - 1]), r->t.number);
    for (int i = 0; i < depth->count - 1; i++)
        text = emit_text(e, "%s * %s", emit_extent(e, depth->list[i]), text);
    return text;
}

const char *ring_lines(Emitter *e, const RingStep *r)
{
    const RingSide *left = &r->side[0];
    if (left->high)
        return emit_text(e, "(int)(%s * %s)", box_of(e, r, 0, left->low), box_of(e, r, 0, left->high));
    return emit_text(e, "LEFT_%d", r->t.number);
}

/* A function that brings the slices of one side, or of both. */
typedef struct Bringing {
    const char *head, *bytes, *load, *call;
} Bringing;

static Bringing bring(Emitter *e, RingStep *r, const char *name, int from, int to)
{
    int n = r->t.number;
    ring_open(e, r);
    e->scope->indent = 2;
    decode_slice(e, r);
    for (int side = from; side <= to; side++)
        put_load(e, r, side);
    const char *load = emit_pop(e)->text.bytes;
    ring_open(e, r);
    const char *lines = ring_lines(e, r), *right = emit_text(e, "RIGHT_%d", n);
    lines = from == 1 ? right : to == 0 ? lines : emit_text(e, "(%s + %s)", lines, right);
    emit_line(e, "const int bytes = %s * SLICE_%d * (int)sizeof(%s)%s;", lines, n, emit_element(r->t.c->packed), to == 0 ? " * (int)slices" : "");
    const char *bytes = emit_pop(e)->text.bytes, *all = emit_text(e, "%s%s", bytes, load);
    Text members = text_new(e->arena);
    for (int i = 0; i < r->member_count; i++)
        if (emit_mentions(all, r->members[i]))
            text_print(&members, "    const int64_t %s = tile.%s;\n", r->members[i], r->members[i]);
    Bringing b = { .load = load, .bytes = emit_text(e, "%s%s%s", emit_locals(e, all), members.bytes, bytes) };
    const char *needs = emit_text(e, "f ring slices turn %s%s", all, members.bytes);
    b.head = emit_text(e, "INLINE void %s_%d(%s)\n", name, n, emit_parameters(e, &r->parameters, needs, true));
    b.call = emit_text(e, "%s_%d(%s);", name, n, emit_parameters(e, &r->parameters, needs, false));
    return b;
}

/* ---- the left side's slices, where they stay ---- */

static const char *bring_left(Emitter *e, RingStep *r, const char **call)
{
    int n = r->t.number;
    const char *turn = "    turn->stage ^= 1;\n    turn->phase ^= turn->stage == 0;\n}\n";
    *call = NULL;
    if (!r->t.c->ring->kept)
        return "";
    Bringing b = bring(e, r, "bring_left", 0, 0);
    *call = b.call;
    return emit_text(e, "/* Asks for all slices of a tile's left side. */\n%s{\n%s    Barrier *full = &ring->left_full[turn->stage];\n"
                     "    barrier_wait(&ring->left_empty[turn->stage], turn->phase ^ 1);\n"
                     "    barrier_expect(full, bytes);\n"
                     "    for (int64_t slice = 0; slice < slices; slice++) {\n%s    }\n%s\n"
                     "/* These slices, from one on; */\n"
                     "INLINE int wait_left_%d(Ring_%d *ring, const Turn *turn)\n{\n"
                     "    barrier_wait(&ring->left_full[turn->stage], turn->phase);\n"
                     "    return turn->stage * KEPT_%d;\n}\n\n"
                     "/* and nobody multiplies these any more. */\n"
                     "INLINE void give_left_%d(Ring_%d *ring, Turn *turn)\n{\n"
                     "    if (threadIdx.x %% WARP == 0)\n"
                     "        barrier_arrive(&ring->left_empty[turn->stage]);\n%s", b.head, b.bytes, b.load, turn, n, n, n, n, n, turn);
}

/* ---- the parts of a block ---- */

/* A line of loops over tiles, of which one goes over the right side. */
static void open_range(Emitter *e, const RingStep *r)
{
    const IndexSet *reduced = &r->t.c->rows;
    for (int i = 0; i < reduced->count && r->t.c->reduces; i++) {
        const Index *index = reduced->list[i];
        bool low = index == r->side[1].low;
        const char *name = low ? r->first[index->id] : r->t.names[index->id];
        const char *step = low ? emit_text(e, "%s += RIGHT_%d", name, r->t.number) : emit_text(e, "%s++", name);
        emit_line(e, "for (int64_t %s = tile.%s; %s < tile.%s; %s) {", name, ring_from(e, r, index), name, r->end[index->id], step);
        e->scope->indent++;
    }
}

static void close_range(Emitter *e, const RingStep *r)
{
    for (int i = 0; i < r->t.c->rows.count && r->t.c->reduces; i++) {
        e->scope->indent--;
        emit_line(e, "}");
    }
}

const char *ring_tile_count(Emitter *e, const RingStep *r)
{
    const char *needed = emit_needed_when(e, r->t.step), *tiles = emit_size(e, r->t.c->ring_tiles);
    return needed[0] ? emit_text(e, "%s ? %s : 0", needed, tiles) : tiles;
}

static void open_tiles(Emitter *e, RingStep *r)
{
    const char *tiles = ring_tile_count(e, r);
    ring_open(e, r);
    emit_line(e, "const int64_t slices = %s;", slice_count(e, r));
    emit_line(e, "const int64_t tiles = %s;", tiles);
    emit_line(e, "Turn turn = { 0, 0 }%s;", r->t.c->ring->kept ? ", left_turn = { 0, 0 }" : "");
    emit_line(e, "for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {");
    e->scope->indent++;
    emit_line(e, "const Tile_%d tile = find_tile_%d(f, number);", r->t.number, r->t.number);
}

static const char *close_tiles(Emitter *e, const RingStep *r, const char *name)
{
    e->scope->indent--;
    emit_line(e, "}");
    const char *body = emit_pop(e)->text.bytes;
    return emit_text(e, "INLINE void %s_%d(const Frame *f, Ring_%d *ring)\n{\n%s%s}\n", name, r->t.number, r->t.number, emit_locals(e, body), body);
}

/* A call with this turn as its last argument. */
static const char *turned(Emitter *e, const char *call, const char *turn)
{
    const char *last = strstr(call, "turn)");
    return emit_text(e, "%.*s%s);", (int)(last - call), call, turn);
}

static const char *bring_tiles(Emitter *e, RingStep *r, const char *left, const char *call)
{
    open_tiles(e, r);
    if (left)
        emit_line(e, "%s", turned(e, left, "&left_turn"));
    open_range(e, r);
    emit_line(e, "%s", turned(e, call, "&turn"));
    close_range(e, r);
    return close_tiles(e, r, "bring_tiles");
}

static void declare_states(Emitter *e, const RingStep *r)
{
    for (int k = 0; k < r->t.first_count; k++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(r->t.first[k], components); i < n; i++) {
            const char *start = emit_state_start(e, r->t.first[k], i, false);
            emit_line(e, "%s %s[2 * TALL_%d];", emit_type(components[i].dtype, false), block_state(e, k, &components[i]), r->t.number);
            emit_line(e, "for (int r = 0; r < 2 * TALL_%d; r++)", r->t.number);
            emit_line(e, "    %s[r] = %s;", block_state(e, k, &components[i]), start);
        }
    }
}

static const char *multiply_tiles(Emitter *e, RingStep *r, const char *const calls[2], const char *finish)
{
    int n = r->t.number;
    const RingSide *right = &r->side[1];
    const char *first = r->first[right->low->id];
    bool kept = r->t.c->ring->kept;
    open_tiles(e, r);
    if (kept)
        emit_line(e, "const int kept = wait_left_%d(ring, &left_turn);", n);
    declare_states(e, r);
    open_range(e, r);
    emit_line(e, "Sums_%d sums[TALL_%d];", n, n);
    emit_line(e, "multiply_slices_%d(ring, %sslices, sums, &turn);", n, kept ? "kept, " : "");
    if (r->t.c->reduces)
        emit_line(e, "if (%s + RIGHT_%d <= tile.%s)", first, n, r->end[right->low->id]);
    else
        emit_line(e, "if (tile.%s + RIGHT_%d <= %s)", first, n, emit_extent(e, right->low));
    emit_line(e, "    %s", calls[0]);
    emit_line(e, "else");
    emit_line(e, "    %s", calls[1]);
    close_range(e, r);
    if (kept)
        emit_line(e, "give_left_%d(ring, &left_turn);", n);
    if (finish[0])
        emit_line(e, "%s", finish);
    return close_tiles(e, r, "multiply_tiles");
}

/* ---- the whole ---- */

static void set_parameters(Emitter *e, RingStep *r)
{
    ParameterSet *set = &r->parameters;
    int n = r->t.number;
    *set = (ParameterSet){ .count = 0 };
    emit_parameter(set, "const Frame *", "f");
    emit_parameter(set, emit_text(e, "Ring_%d *", n), "ring");
    emit_parameter(set, emit_text(e, "const Tile_%d &", n), "tile");
    for (int i = 0; i < r->t.c->rows.count && r->t.c->reduces; i++) {
        const Index *index = r->t.c->rows.list[i];
        emit_parameter(set, "int64_t ", index == r->side[1].low ? r->first[index->id] : r->t.names[index->id]);
    }
    emit_parameter(set, "int64_t ", "slices");
    emit_parameter(set, "Turn *", "turn");
    emit_parameter(set, emit_text(e, "const Sums_%d *", n), "sums");
    for (int k = 0; k < r->t.first_count; k++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, count = state_components(r->t.first[k], components); i < count; i++)
            emit_parameter(set, emit_text(e, "%s *", emit_type(components[i].dtype, false)), block_state(e, k, &components[i]));
    }
}

/* Its launch has blocks, but of the plain form's. */
void ring_forget_blocks(Emitter *e)
{
    int count = e->plan->lowered->index_count;
    e->block_first = ARENA_ARRAY(e->arena, const char *, count);
    e->block_end = ARENA_ARRAY(e->arena, const char *, count);
    e->block_now = ARENA_ARRAY(e->arena, const char *, count);
}

RingStep ring_begin(Emitter *e, const Step *step, const Contract *c, int number)
{
    int count = e->plan->lowered->index_count;
    RingStep r = { .t = { .c = c, .step = step, .number = number, .dtype = register_dtype(c->product->dtype) } };
    ring_forget_blocks(e);
    r.t.names = ARENA_ARRAY(e->arena, const char *, count);
    r.first = ARENA_ARRAY(e->arena, const char *, count);
    r.end = ARENA_ARRAY(e->arena, const char *, count);
    for (int side = 0; side < 2; side++)
        r.side[side] = ring_side(c, side);
    return r;
}

static const char *constants(Emitter *e, const RingStep *r)
{
    const RingTile *tile = r->t.c->ring;
    int n = r->t.number, bytes = (int)dtype_size(r->t.c->packed);
    const char *left = tile->kept ? emit_text(e, "KEPT_%d = %d, LEFT_STAGES_%d = 2 * KEPT_%d", n, tile->kept, n, n)
                                  : emit_text(e, "LEFT_STAGES_%d = RING_STAGES_%d", n, n);
    const char *shape = emit_text(e, "LEFT_%d = %d, RIGHT_%d = %d, SLICE_%d = %d, POINTS_%d = %d", n, tile->left,
                                  n, tile->right, n, RING_LINE / bytes, n, POINTS_BYTES / bytes);
    return emit_text(e, "CONSTANTS(%s, TALL_%d = LEFT_%d / 128, SUMS_%d = RIGHT_%d / 2);\n"
                     "CONSTANTS(RING_STAGES_%d = %d, %s);\ntypedef %s Sums_%d[SUMS_%d];\n", shape, n, n, n, n,
                     n, tile->stages, left, dtype_c(r->t.dtype), n, n);
}

/* What the tensor cores read. */
static const char *matrices(Emitter *e, const RingStep *r)
{
    static const char *const words[] = { "matrix", "panels" };
    return emit_text(e, "    const uint64_t left = %s_of(ring->left[%s][first]), right = %s_of(ring->right[stage][0]);\n",
                     words[r->side[0].panels], r->t.c->ring->kept ? "kept + slice" : "stage", words[r->side[1].panels]);
}

/* Some points of all lines: 32 bytes further on, or 16 lines of 128. */
static const char *multiply(Emitter *e, const RingStep *r)
{
    bool left = r->side[0].panels, right = r->side[1].panels;
    const char *panels = r->t.c->packed == DTYPE_I8 ? "" : emit_text(e, "<%d, %d>", left, right);
    return emit_text(e, "            wgmma_%s_%d%s(sums[high], left + 512 * high + %d * points, right + %d * points, "
                     "!IS_FIRST || points > 0);\n", dtype_name(r->t.c->packed), r->t.c->ring->right, panels, left ? 128 : 2, right ? 128 : 2);
}

static const char begin_kept[] =
    "        for (int kept = 0; kept < 2; kept++) {\n"
    "            barrier_init(&ring->left_full[kept], 1);\n"
    "            barrier_init(&ring->left_empty[kept], (GROUPS - 1) * GROUP / WARP);\n"
    "        }\n";

void emit_ring_product(Emitter *e, const Step *step)
{
    RingStep all = ring_begin(e, step, step->contract, step->id + 1), *r = &all;
    const char *tiles = ring_tile(e, r), *calls[2], *finish;
    int n = r->t.number;
    set_parameters(e, r);
    bool kept = step->contract->ring->kept;
    const char *left_call, *left = bring_left(e, r, &left_call);
    Bringing b = bring(e, r, "bring", kept ? 1 : 0, 1);
    const char *use = ring_use(e, r, calls), *end = ring_finish(e, r, &finish);
    Hole holes[] = {
        { "title", emit_text(e, "/* %s */\n", emit_formula(e)) },
        { "constants", constants(e, r) },
        { "kept_barriers", kept ? "    Barrier left_full[2], left_empty[2];\n" : "" },
        { "begin_kept", kept ? begin_kept : "" },
        { "tile", tiles },
        { "bring_left", left },
        { "bring_head", b.head },
        { "bytes", b.bytes },
        { "load", b.load },
        { "begin_slice_head", emit_text(e, "template <int IS_FIRST>\nINLINE void begin_slice_%d(Ring_%d *ring, %sSums_%d sums[TALL_%d], const Turn *turn)\n",
                                        n, n, kept ? "int kept, int64_t slice, " : "", n, n) },
        { "matrices", matrices(e, r) },
        { "multiply", multiply(e, r) },
        { "multiply_head", emit_text(e, "INLINE void multiply_slices_%d(Ring_%d *ring, %sint64_t slices, Sums_%d sums[TALL_%d], Turn *turn)\n",
                                     n, n, kept ? "int kept, " : "", n, n) },
        { "begin_first", emit_text(e, "    begin_slice_%d<1>(ring, %ssums, turn);\n", n, kept ? "kept, 0, " : "") },
        { "begin_next", emit_text(e, "        begin_slice_%d<0>(ring, %ssums, turn);\n", n, kept ? "kept, slice, " : "") },
        { "use", use },
        { "finish", end },
        { "bring_tiles", bring_tiles(e, r, left_call, b.call) },
        { "multiply_tiles", multiply_tiles(e, r, calls, finish) },
        { "kernel_head", emit_text(e, "extern \"C\" __global__ void __launch_bounds__(RING_THREADS, 1) %s_ring_%d(const __grid_constant__ Frame frame)\n",
                                   e->options->name, n) },
    };
    emit_wgmma(e, step->contract->packed, step->contract->ring->right);
    Sample sample = block_sample(&r->t, "cuda/hopper.cu");
    text_print(&e->functions, "%s\n", emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes));
}
