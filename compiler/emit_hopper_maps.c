/* The host's side of products in a ring: tensor maps of their operands, how many tiles there are, and shared memory. */
#include <string.h>

#include "emit_block.h"

/* CUtensorMapDataType */
enum { MAP_F16 = 6, MAP_BF16 = 9 };

enum { MAP_BYTES = 128, MAP_ALIGNMENT = 64 };

static void add_axis(const Index **axes, int *count, const Term *read, const Index *index)
{
    for (int a = 0; a < *count; a++)
        if (axes[a] == index)
            return;
    if (index && ring_has(read, index))
        axes[(*count)++] = index;
}

int ring_axes(Emitter *e, const Contract *c, int side, const Index **axes)
{
    const RingSide s = ring_side(c, side);
    int count = 0;
    (void)e;
    const Index *point = c->depth.list[c->depth.count - 1];
    add_axis(axes, &count, s.read, s.panels ? s.low : point);
    add_axis(axes, &count, s.read, s.panels ? point : s.low);
    add_axis(axes, &count, s.read, s.high);
    for (int a = s.read->read.tensor->rank - 1; a >= 0; a--)
        add_axis(axes, &count, s.read, ring_index(s.read, a));
    return count;
}

static int argument_of(const Emitter *e, const Tensor *tensor)
{
    int i = 0;
    while (e->arguments[i].tensor != tensor->origin || e->arguments[i].is_output)
        i++;
    return i;
}

/* What of an axis a map copies at once. */
static const Size *axis_box(Emitter *e, const Contract *c, int side, const Index *index)
{
    const RingSide s = ring_side(c, side);
    bool panel = s.panels && index == s.low;
    return panel ? size_constant(e->arena, RING_LINE / (int)dtype_size(c->packed)) : ring_box(e->arena, c, side, index);
}

/* How far an axis of a map goes: of an index that all tiles have from its beginning, or of what they are parts of. */
static const Size *axis_extent(Emitter *e, const Term *read, const Index *index)
{
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (ring_index(read, a) == index && !position_is_plain(&read->read.positions[a]))
            return size_axis(e->arena, read->read.tensor, a);
    return size_extent(e->arena, index->origin);
}

static GridMap map_of(Emitter *e, const Contract *c, int side)
{
    const RingSide s = ring_side(c, side);
    const Index *axes[MAP_AXES_MAX];
    GridMap map = { .argument = argument_of(e, s.read->read.tensor), .type = c->packed == DTYPE_F16 ? MAP_F16 : MAP_BF16,
                    .bytes = (int)dtype_size(c->packed), .rank = ring_axes(e, c, side, axes) };
    for (int i = 0; i < map.rank; i++) {
        map.axis[i].extent = axis_extent(e, s.read, axes[i]);
        map.axis[i].box = axis_box(e, c, side, axes[i]);
        for (int a = 0; a < s.read->read.tensor->rank; a++)
            if (ring_index(s.read, a) == axes[i])
                map.axis[i].axes |= 1u << a;
    }
    return map;
}

static int64_t ring_bytes(const Contract *c)
{
    const RingTile *tile = c->ring;
    int64_t left = tile->kept ? 2 * tile->kept : tile->stages, barriers = 2 * sizeof(uint64_t) * (tile->stages + (tile->kept ? 2 : 0));
    return (RING_LINE * (tile->left * left + tile->right * tile->stages) + barriers + 1023) / 1024 * 1024;
}

static int points_kept(const Contract *c)
{
    return c->ring->kept * RING_LINE / (int)dtype_size(c->packed);
}

GridRing *emit_ring(Emitter *e, const Step *step)
{
    GridRing *ring = ARENA_NEW(e->arena, GridRing);
    for (int side = 0; side < 2; side++)
        ring->maps[side] = map_of(e, step->contract, side);
    ring->step = step->id;
    ring->threads = RING_THREADS;
    ring->shared_bytes = ring_bytes(step->contract);
    if (step->contract->ring->kept) {
        ring->points = size_extent(e->arena, step->contract->depth.list[0]->origin);
        ring->most = points_kept(step->contract);
    }
    return ring;
}

/* In the steps' order. */
void emit_ring_frame(Emitter *e, EmittedUnit *unit)
{
    int64_t end = (unit->frame_bytes + MAP_ALIGNMENT - 1) / MAP_ALIGNMENT * MAP_ALIGNMENT;
    for (int s = 0; s < e->plan->step_count; s++)
        for (int w = 0; w < unit->work_count; w++)
            if (unit->work[w].ring && unit->work[w].ring->step == s) {
                unit->work[w].ring->at = end;
                unit->frame_bytes = end = end + 2 * MAP_BYTES;
            }
}

/* ---- text ---- */

static void put_side(Emitter *e, Text *text, const Step *step, int side)
{
    const Contract *c = step->contract;
    const RingSide s = ring_side(c, side);
    const Index *axes[MAP_AXES_MAX];
    int count = ring_axes(e, c, side, axes);
    text_print(text, "    const MapAxis %s[] = { ", side ? "right" : "left");
    for (int i = 0; i < count; i++)
        text_print(text, "%s{ %s, %s, %s }", i ? ", " : "", emit_size(e, axis_extent(e, s.read, axes[i])),
                   emit_stride(e, s.read->read.tensor, s.read->read.positions, axes[i]), emit_size(e, axis_box(e, c, side, axes[i])));
    text_put(text, " };\n");
}

/* The function that makes a step's maps. */
static const char *map_function(Emitter *e, const Step *step)
{
    Text text = text_new(e->arena);
    e->step = step;
    put_side(e, &text, step, 0);
    put_side(e, &text, step, 1);
    for (int side = 0; side < 2; side++) {
        const Tensor *tensor = ring_side(step->contract, side).read->read.tensor;
        const char *word = side ? "right" : "left";
        text_put(&text, side ? " &&\n           " : "    return has_rings() && ");
        if (!side && step->contract->ring->kept)
            text_print(&text, "%s <= %d && ", emit_extent(e, step->contract->depth.list[0]), points_kept(step->contract));
        text_print(&text, "make_map(&f->%s_%d, MAP_%s, f->in.%s.data, %s, (int)(sizeof %s / sizeof *%s))", word, step->id + 1,
                   step->contract->packed == DTYPE_F16 ? "F16" : "BF16", e->members[tensor->id], word, word, word);
    }
    return emit_text(e, "/* Whether tensor maps describe what step %d multiplies: then it has them. */\nstatic int map_step_%d(Frame *f)\n{\n%s%s;\n}\n\n",
                     step->id + 1, step->id + 1, emit_locals(e, text.bytes), text.bytes);
}

/* In the launcher: of this kernel or of the next one, which is in its place where there are no maps. */
const char *emit_ring_run(Emitter *e, const GridWork *work)
{
    int n = work->ring->step + 1;
    return emit_text(e, "    const int is_mapped_%d = map_step_%d(f);\n"
                     "    if (is_mapped_%d && launch_ring(%s, f, %s, RING_THREADS, %lld, (cudaStream_t)stream))\n        return BAD_MACHINE;\n",
                     n, n, n, work->kernel, emit_size(e, work->tasks), (long long)work->ring->shared_bytes);
}

static bool has_ring(const Step *step)
{
    return step->contract && step->contract->ring;
}

const char *emit_ring_maps(Emitter *e)
{
    Text text = text_new(e->arena);
    for (int s = 0; s < e->plan->step_count; s++)
        if (has_ring(e->plan->steps[s]))
            text_put(&text, map_function(e, e->plan->steps[s]));
    return text.bytes;
}

const char *emit_ring_members(Emitter *e)
{
    Text text = text_new(e->arena);
    for (int s = 0; s < e->plan->step_count; s++)
        if (has_ring(e->plan->steps[s]))
            text_print(&text, "    TensorMap left_%d, right_%d;\n", s + 1, s + 1);
    return text.bytes;
}

const char *emit_ring_memory(Emitter *e)
{
    int64_t bytes = 0;
    for (int s = 0; s < e->plan->step_count; s++)
        if (has_ring(e->plan->steps[s]) && ring_bytes(e->plan->steps[s]->contract) > bytes)
            bytes = ring_bytes(e->plan->steps[s]->contract);
    if (!bytes)
        return "";
    return emit_text(e, "/* A block that multiplies from a ring has more threads, in groups of four warps, and as much shared memory as its launch\n"
                     " * says. */\nenum { GROUP = 4 * WARP, GROUPS = 3, RING_THREADS = GROUPS * GROUP };\n\n#ifdef EINC_MODEL\n"
                     "__shared__ __align__(1024) char ring_memory[%lld];\n#else\nextern __shared__ __align__(1024) char ring_memory[];\n#endif\n\n",
                     (long long)bytes);
}
