/* The host's side of products in a ring: tensor maps of their operands, how many tiles there are, and shared memory. */
#include <string.h>

#include "emit_block.h"

/* CUtensorMapDataType */
enum { MAP_U8 = 0, MAP_F16 = 6, MAP_BF16 = 9 };

/* What a map calls elements; all bytes are the same to it. */
static const struct {
    int type;
    const char *name;
} map_types[DTYPE_COUNT] = {
    [DTYPE_I8] = { MAP_U8, "MAP_U8" }, [DTYPE_F16] = { MAP_F16, "MAP_F16" }, [DTYPE_BF16] = { MAP_BF16, "MAP_BF16" }
};

enum { MAP_BYTES = 128, MAP_ALIGNMENT = 128 };

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

/* What a map describes. */
typedef struct Mapped {
    const Term *read;
    Dtype dtype;
    const char *word;
    int count;
    const Index *axes[MAP_AXES_MAX];    /* innermost first */
    const Size *box[MAP_AXES_MAX];
    const Index *whole;           /* all of it is in shared memory, */
    int64_t most;                 /* so many points at most; or NULL */
} Mapped;

static Mapped map_side(Emitter *e, const Ringed *ring, int side)
{
    const Contract *c = ring->first;
    Mapped m = { .read = ring_side(c, side).read, .dtype = c->packed, .word = side ? "right" : "left" };
    m.count = ring_axes(e, c, side, m.axes);
    for (int a = 0; a < m.count; a++)
        m.box[a] = axis_box(e, c, side, m.axes[a]);
    if (ring->values || c->ring->kept) {
        m.whole = c->depth.list[0];
        m.most = ring->values ? c->ring->depth : c->ring->kept * RING_LINE / (int)dtype_size(c->packed);
    }
    return m;
}

static Mapped map_values(Emitter *e, const Ringed *ring)
{
    const Contract *c = ring->values;
    Mapped m = { .read = c->right, .dtype = c->packed, .word = "values", .whole = c->columns.list[0], .most = c->ring->values };
    m.count = ring_axes(e, c, 1, m.axes);
    for (int a = 0; a < m.count; a++)
        m.box[a] = size_constant(e->arena, a == 0 ? RING_LINE / (int)dtype_size(m.dtype) : m.axes[a] == c->depth.list[0] ? c->ring->right : 1);
    return m;
}

static int mapped_of(Emitter *e, const Ringed *ring, Mapped *list)
{
    list[0] = map_side(e, ring, 0);
    list[1] = map_side(e, ring, 1);
    if (ring->values)
        list[2] = map_values(e, ring);
    return ring->values ? 3 : 2;
}

static GridMap map_of(Emitter *e, const Mapped *m)
{
    GridMap map = { .argument = argument_of(e, m->read->read.tensor), .type = map_types[m->dtype].type,
                    .bytes = (int)dtype_size(m->dtype), .rank = m->count };
    for (int i = 0; i < map.rank; i++) {
        map.axis[i].extent = axis_extent(e, m->read, m->axes[i]);
        map.axis[i].box = m->box[i];
        map.axis[i].most = m->axes[i] == m->whole ? m->most : 0;
        for (int a = 0; a < m->read->read.tensor->rank; a++)
            if (ring_index(m->read, a) == m->axes[i])
                map.axis[i].axes |= 1u << a;
    }
    return map;
}

int64_t emit_ring_bytes(const Ringed *ring)
{
    const RingTile *t = ring->first->ring;
    int64_t left = t->kept ? 2 * t->kept : t->stages, barriers = 2 * sizeof(uint64_t) * (t->stages + 2);
    int64_t slices = RING_LINE * (t->left * left + t->right * t->stages);
    if (ring->values) {
        int64_t most = t->depth > t->values ? t->depth : t->values, size = (int64_t)dtype_size(ring->first->packed);
        slices = (t->left * t->depth + t->right * most * t->stages) * size;
    }
    return (slices + barriers + 1023) / 1024 * 1024;
}

bool emit_ringed(const Launch *launch, Ringed *ring)
{
    const Step *first = launch->steps[0];
    if (launch->fuse && launch->fuse->ring)
        *ring = (Ringed){ launch, launch->steps[launch->step_count - 1], launch->fuse->ring, launch->fuse->ring_values };
    else if (!launch->fuse && first->contract && first->contract->ring)
        *ring = (Ringed){ launch, first, first->contract, NULL };
    else
        return false;
    return true;
}

GridRing *emit_ring(Emitter *e, const Ringed *of)
{
    GridRing *ring = ARENA_NEW(e->arena, GridRing);
    Mapped list[RING_MAPS];
    ring->map_count = mapped_of(e, of, list);
    for (int m = 0; m < ring->map_count; m++)
        ring->maps[m] = map_of(e, &list[m]);
    ring->step = of->step->id;
    ring->threads = RING_THREADS;
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
                unit->frame_bytes = end = end + unit->work[w].ring->map_count * MAP_BYTES;
            }
}

/* ---- text ---- */

static void put_mapped(Emitter *e, Text *text, const Mapped *m)
{
    text_print(text, "    const MapAxis %s[] = { ", m->word);
    for (int i = 0; i < m->count; i++)
        text_print(text, "%s{ %s, %s, %s }", i ? ", " : "", emit_size(e, axis_extent(e, m->read, m->axes[i])),
                   emit_stride(e, m->read->read.tensor, m->read->read.positions, m->axes[i]), emit_size(e, m->box[i]));
    text_put(text, " };\n");
}

/* Whether what is in shared memory as a whole has room there. */
static const char *has_room(Emitter *e, const Mapped *list, int count)
{
    const char *text = "";
    for (int m = 0; m < count; m += 2)    /* both sides have the same points */
        if (list[m].whole)
            text = emit_text(e, "%s%s <= %lld && ", text, emit_extent(e, list[m].whole), (long long)list[m].most);
    return text;
}

/* The function that makes a step's maps. */
static const char *map_function(Emitter *e, const Ringed *ring)
{
    Text text = text_new(e->arena);
    Mapped list[RING_MAPS];
    int count = mapped_of(e, ring, list), n = ring->step->id + 1;
    for (int m = 0; m < count; m++) {
        e->step = m < 2 ? ring->launch->steps[0] : ring->step;
        put_mapped(e, &text, &list[m]);
    }
    for (int m = 0; m < count; m++) {
        const char *word = list[m].word;
        text_put(&text, m ? " &&\n           " : emit_text(e, "    return has_rings() && %s", has_room(e, list, count)));
        text_print(&text, "make_map(&f->%s_%d, %s, f->in.%s.data, %s, (int)(sizeof %s / sizeof *%s))", word, n,
                   map_types[list[m].dtype].name, e->members[list[m].read->read.tensor->id], word, word, word);
    }
    return emit_text(e, "/* Whether tensor maps describe what step %d multiplies: then it has them. */\nstatic int map_step_%d(Frame *f)\n{\n%s%s;\n}\n\n",
                     n, n, emit_locals(e, text.bytes), text.bytes);
}

/* In the launcher: of this kernel or of the next one, which is in its place where there are no maps. */
const char *emit_ring_run(Emitter *e, const GridWork *work)
{
    int n = work->ring->step + 1;
    return emit_text(e, "    const int is_mapped_%d = map_step_%d(f);\n"
                     "    if (is_mapped_%d && launch_ring(%s, f, %s, RING_THREADS, %lld, (cudaStream_t)stream))\n        return BAD_MACHINE;\n",
                     n, n, n, work->kernel, emit_size(e, work->tasks), (long long)work->asked_bytes);
}

const char *emit_ring_maps(Emitter *e)
{
    Text text = text_new(e->arena);
    Ringed ring;
    for (int l = 0; l < e->plan->launch_count; l++)
        if (emit_ringed(e->plan->launches[l], &ring))
            text_put(&text, map_function(e, &ring));
    return text.bytes;
}

const char *emit_ring_members(Emitter *e)
{
    Text text = text_new(e->arena);
    Ringed ring;
    for (int l = 0; l < e->plan->launch_count; l++)
        if (emit_ringed(e->plan->launches[l], &ring)) {
            int n = ring.step->id + 1;
            text_print(&text, "    TensorMap left_%d, right_%d%s;\n", n, n, ring.values ? emit_text(e, ", values_%d", n) : "");
        }
    return text.bytes;
}

const char *emit_ring_memory(Emitter *e)
{
    int64_t bytes = 0;
    Ringed ring;
    for (int l = 0; l < e->plan->launch_count; l++)
        if (emit_ringed(e->plan->launches[l], &ring) && emit_ring_bytes(&ring) > bytes)
            bytes = emit_ring_bytes(&ring);
    if (!bytes)
        return "";
    return emit_text(e, "/* A block that multiplies from a ring has more threads, in groups of four warps, and as much shared memory as its launch\n"
                     " * says. */\nCONSTANTS(GROUP = 4 * WARP, GROUPS = 3, RING_THREADS = GROUPS * GROUP);\n\n#ifdef EINC_MODEL\n"
                     "__shared__ __align__(1024) char ring_memory[%lld];\n#else\nextern __shared__ __align__(1024) char ring_memory[];\n#endif\n\n",
                     (long long)bytes);
}
