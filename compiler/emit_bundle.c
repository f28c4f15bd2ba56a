/* A reduction whose lanes are shared by several short axes: see bundle.h. Each operand is loaded as it lies, once or
 * at each contracted point, and permuted. Whether strides allow that is found when the kernel runs: bundle() in
 * templates/bundle.c. */
#include <string.h>

#include "emit_nest.h"

/* An operand's names: the vectors that are held, how many elements of each are loaded, where each lane finds its own,
 * and where the last whole vector begins. */
typedef struct OperandNames {
    const char *near, *count, *lanes, *last;
} OperandNames;

typedef struct Bundling {
    const Bundle *bundle;
    OperandNames *of;             /* [operand] */
    const char *stored;           /* so many lanes */
} Bundling;

static const Index *first_axis(const Bundling *b)
{
    return b->bundle->axes[0];
}

/* The indices of a read: those outside of the bundle, its first axis, the others, and the contracted ones. */
enum { OUTER = 1, FIRST = 2, INNER = 4, CONTRACTED = 8 };

static int part_of(const Bundle *bundle, const Index *index)
{
    const Term *reduce = bundle->reduce;
    return index == bundle->axes[0] ? FIRST
         : indices_have(bundle->axes, bundle->axis_count, index) ? INNER
         : indices_have(reduce->reduce.over, reduce->reduce.over_count, index) ? CONTRACTED : OUTER;
}

/* How far an element is from the first one along the indices of some parts: the last of all, or the one at hand.
 * `first` is the place along the first axis; NULL: as along the others. */
static const char *distance(Emitter *e, const Bundle *bundle, const Term *read, int parts, bool last, const char *first)
{
    Text sum = text_new(e->arena);
    for (int a = 0; a < read->read.tensor->rank; a++) {
        const Index *index = read->read.positions[a].parts[0].index;
        int part = part_of(bundle, index);
        if (!(part & parts))
            continue;
        const char *place = part == FIRST && first ? first
                          : last ? emit_text(e, "(%s - 1)", emit_extent(e, index)) : emit_bound(e, index);
        text_print(&sum, "%s%s * %s", sum.length ? " + " : "", place,
                   emit_stride(e, read->read.tensor, read->read.positions, index));
    }
    return sum.length ? sum.bytes : "0";
}

/* ---- when the kernel runs ---- */

/* The strides of an array along the axes of a bundle, and along the contracted ones where a vector has all of these. */
static void list_strides(Emitter *e, Text *text, const Bundle *bundle, const Tensor *tensor, const Position *positions,
                         bool all)
{
    text_put(text, "        { { ");
    for (int i = 0; bundle_index(bundle, i); i++) {
        const char *stride = "0";
        for (int a = 0; a < tensor->rank && (i < bundle->axis_count || all); a++)
            if (positions[a].parts[0].index == bundle_index(bundle, i))
                stride = emit_text(e, "f->in.%s.stride[%d]", e->members[tensor->home->id], a);
        text_print(text, "%s%s", i ? ", " : "", stride);
    }
    text_put(text, " } },\n");
}

void emit_bundle_sizes(Emitter *e, Text *text, const Step *step)
{
    const Bundle *bundle = step->bundle;
    const Output *output = &step->statement->outputs[0];
    int n = step->id + 1;
    text_print(text, "    const int64_t bundle_%d[] = { ", n);
    for (int i = 0; bundle_index(bundle, i); i++)
        text_print(text, "%s%s", i ? ", " : "", emit_extent(e, bundle_index(bundle, i)));
    text_print(text, " };\n    const Bundled bundled_%d[] = {\n", n);
    list_strides(e, text, bundle, output->tensor, output->positions, false);
    for (int o = 0; o < bundle->operand_count; o++) {
        const Term *read = bundle->operands[o].read;
        list_strides(e, text, bundle, read->read.tensor, read->read.positions, bundle->operands[o].held);
    }
    text_print(text, "    };\n    f->bundle_%d = bundle(bundle_%d, %d, %d, bundled_%d, %d, f->lanes_%d);\n", n, n,
               bundle->axis_count, bundle->reduce->reduce.over_count, n, bundle->operand_count + 1, n);
}

/* ---- some vectors ---- */

/* A loop over the vectors that go together, each of as many points of the first axis. */
static Scope *open_vectors(Emitter *e, const Bundling *b)
{
    Scope *body = emit_push(e);
    const char *name = emit_name(e, first_axis(b)->name);
    emit_line(e, "const int64_t %s = %s + point * count;", name, e->jam_first);
    emit_bind(e, first_axis(b), name);
    for (int a = 1; a < b->bundle->axis_count; a++)
        emit_bind(e, b->bundle->axes[a], "0");
    return body;
}

/* How many elements of an operand are loaded: a whole vector, or those from the first lane's to the last one's. */
static void count_elements(Emitter *e, const Bundling *b, int operand)
{
    const Bundled *o = &b->bundle->operands[operand];
    const char *behind = distance(e, b->bundle, o->read, FIRST | INNER | (o->held ? CONTRACTED : 0), true, "(count - 1)");
    emit_line(e, "const int %s = full ? LANES : (int)(%s + 1);", b->of[operand].count, behind);
}

static const char *load(Emitter *e, const Bundling *b, int operand)
{
    const Term *read = b->bundle->operands[operand].read;
    return emit_text(e, "load_%sv(%s, 1, %s)", dtype_name(read->dtype), emit_pointer(e, read), b->of[operand].count);
}

static void hold(Emitter *e, const Bundling *b)
{
    for (int o = 0; o < b->bundle->operand_count; o++)
        if (b->bundle->operands[o].held)
            emit_line(e, "%s %s[%d];", emit_type(b->bundle->dtype, true), b->of[o].near, b->bundle->vectors);
    Scope *vectors = open_vectors(e, b);
    for (int i = 0; i < b->bundle->reduce->reduce.over_count; i++)
        emit_bind(e, b->bundle->reduce->reduce.over[i], "0");
    for (int o = 0; o < b->bundle->operand_count; o++)
        if (b->bundle->operands[o].held)
            emit_line(e, "%s[point] = %s;", b->of[o].near, load(e, b, o));
    nest_close_points(e, vectors);
}

/* How much further a held operand's lanes are at the contracted point at hand: " + (int)(j * A_2)". */
static const char *further(Emitter *e, const Bundling *b, const Term *read)
{
    const char *points = distance(e, b->bundle, read, CONTRACTED, false, NULL);
    return strcmp(points, "0") ? emit_text(e, " + (int)(%s)", points) : "";
}

typedef struct Below {
    Emitter *e;
    const Bundling *b;
} Below;

/* What the lanes have of the operands that a term is made of, but for those inside of the reduction. */
static void know_operands(void *user, const Term *term)
{
    const Below *below = user;
    Emitter *e = below->e;
    const Bundle *bundle = below->b->bundle;
    if (term == bundle->reduce || emit_known(e, term))
        return;
    term_each_argument(term, know_operands, user);
    for (int o = 0; o < bundle->operand_count; o++) {
        const OperandNames *names = &below->b->of[o];
        if (bundle->operands[o].read != term)
            continue;
        bool held = bundle->operands[o].held;
        const char *vector = held ? emit_text(e, "%s[point]", names->near) : load(e, below->b, o);
        const char *value = emit_text(e, "permute_%s(%s, %s%s)", emit_suffix(bundle->dtype, true), vector, names->lanes,
                                      held ? further(e, below->b, term) : "");
        if (e->uses[term->id] > 1) {
            const char *name = emit_name(e, emit_text(e, "%s_at", term->read.tensor->label));
            emit_line(e, "const %s %s = %s;", emit_type(bundle->dtype, true), name, value);
            value = name;
        }
        emit_know(e, term, (Value){ value, true });
    }
}

static void step_loops(Emitter *e, const Bundling *b, int depth, const char *const *names)
{
    const Term *reduce = b->bundle->reduce;
    if (depth == reduce->reduce.over_count) {
        Scope *vectors = open_vectors(e, b);
        know_operands(&(Below){ e, b }, reduce->reduce.argument);
        emit_state_step(e, reduce, names, true, NULL);
        nest_close_points(e, vectors);
        return;
    }
    const Index *index = reduce->reduce.over[depth];
    Scope *body = emit_push(e);
    const char *name = emit_name(e, index->name);
    body->loop = true;
    emit_bind(e, index, name);
    step_loops(e, b, depth + 1, names);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s++) {", name, name, emit_extent(e, index), name);
    emit_body(e, body);
    emit_line(e, "}");
}

static void emit_vectors(Emitter *e, const Bundling *b)
{
    const Term *reduce = b->bundle->reduce;
    const Output *output = &e->step->statement->outputs[0];
    Component state[STATE_COMPONENTS_MAX];
    state_components(reduce, state);
    const char *name = emit_name(e, state[0].name), *names[] = { emit_text(e, "%s[point]", name) };
    for (int o = 0; o < b->bundle->operand_count; o++)
        count_elements(e, b, o);
    Text stored = text_new(e->arena);
    for (int a = 1; a < b->bundle->axis_count; a++)
        text_print(&stored, " * %s", emit_extent(e, b->bundle->axes[a]));
    emit_line(e, "const int %s = (int)(count%s);", b->stored, stored.bytes);
    hold(e, b);
    emit_line(e, "%s %s[%d];", emit_type(state[0].dtype, true), name, b->bundle->vectors);
    nest_each_point(e, emit_text(e, "%s = %s;", names[0], emit_state_start(e, reduce, 0, true)));
    step_loops(e, b, 0, names);
    Scope *vectors = open_vectors(e, b);
    emit_know(e, reduce, emit_state_finish(e, reduce, names, true));
    know_operands(&(Below){ e, b }, output->value);
    const char *value = emit_bare(e, emit_varying(e, emit_unrounded(e, output)));
    const char *to = emit_target(e, output);
    emit_line(e, "store_%sv(%s, 1, %s, %s);", dtype_name(output->tensor->dtype), to, value, b->stored);
    nest_close_points(e, vectors);
}

/* ---- functions ---- */

/* The indices outside of the bundle, as the result has them. */
static int outer_axes(const Step *step, const Index *outer[])
{
    const Output *output = &step->statement->outputs[0];
    int count = 0;
    while (output->positions[count].parts[0].index != step->bundle->axes[0]) {
        outer[count] = output->positions[count].parts[0].index;
        count++;
    }
    return count;
}

static const char *emit_vectors_function(Emitter *e, Bundling *b, const char *name, ParameterSet *set)
{
    const Index *outer[RANK_MAX];
    int count = outer_axes(e->step, outer);
    Scope *body = emit_push(e);
    body->indent = 1;
    for (int i = 0; i < count; i++) {
        const char *loop = names_user(&body->names, outer[i]->name);
        emit_bind(e, outer[i], loop);
        emit_parameter(set, "int64_t ", loop);
    }
    e->jam_first = names_user(&body->names, first_axis(b)->name);
    emit_parameter(set, "int64_t ", e->jam_first);
    for (int o = 0; o < b->bundle->operand_count; o++) {
        const char *label = b->bundle->operands[o].read->read.tensor->label;
        b->of[o].near = emit_name(e, emit_text(e, "%s_near", label));
        b->of[o].count = emit_name(e, emit_text(e, "%s_count", label));
        b->of[o].lanes = emit_name(e, emit_text(e, "%s_lanes", label));
        b->of[o].last = emit_name(e, emit_text(e, "%s_last", label));
        emit_parameter(set, "i32v ", b->of[o].lanes);
    }
    b->stored = emit_name(e, "stored");
    emit_parameter(set, "const int ", "points");
    emit_parameter(set, "const int64_t ", "count");
    emit_parameter(set, "const int ", "full");
    emit_vectors(e, b);
    emit_pop(e);
    const char *text = emit_without_unread(e->arena, body->text.bytes);
    text = emit_text(e, "%s%s", emit_locals(e, text), text);
    text_print(&e->functions, "/* the same for `count` points of %s and all of", first_axis(b)->name);
    for (int a = 1; a < b->bundle->axis_count; a++)
        text_print(&e->functions, " %s", b->bundle->axes[a]->name);
    text_print(&e->functions, ", which share a vector's lanes */\nINLINE void %s(%s)\n{\n%s}\n\n", name,
               emit_parameters(e, set, text, true), text);
    return text;
}

/* Where the last whole vector of an operand begins, from its first element on; of what is loaded at each contracted
 * point, from that point's on. */
static const char *last_vector(Emitter *e, const Bundle *bundle, const Bundled *o)
{
    int parts = OUTER | FIRST | INNER | (o->held ? CONTRACTED : 0);
    return emit_text(e, "%s + 1 - LANES", distance(e, bundle, o->read, parts, true, NULL));
}

/* That there are whole vectors where the points from one on are. */
static const char *has_whole(Emitter *e, const Bundling *b, const char *first)
{
    Text text = text_new(e->arena);
    for (int o = 0; o < b->bundle->operand_count; o++)
        text_print(&text, "%s%s <= %s", o ? " && " : "",
                   distance(e, b->bundle, b->bundle->operands[o].read, OUTER | FIRST, false, first), b->of[o].last);
    return text.bytes;
}

/* Loops over what is outside of the bundle, and along its first axis: vectors together while all are whole, then the
 * rest. */
static void emit_loops_around(Emitter *e, Text *text, const Bundling *b, const char *call)
{
    const Index *outer[RANK_MAX + 1];
    int count = outer_axes(e->step, outer), depth = 1, vectors = b->bundle->vectors;
    Scope *scope = emit_push(e);
    outer[count] = first_axis(b);
    for (int i = 0; i <= count; i++, depth++) {
        const Index *index = outer[i];
        const char *block = e->block_first[index->id], *from = block ? block : "0";
        const char *to = block ? e->block_end[index->id] : emit_extent(e, index);
        const char *name = names_user(&scope->names, index->name);
        emit_bind(e, index, name);
        if (i < count) {
            text_print(text, "%*sfor (int64_t %s = %s; %s < %s; %s++) {\n", 4 * depth, "", name, from, name, to, name);
            continue;
        }
        const char *by = vectors > 1 ? emit_text(e, "%d * share", vectors) : "share";
        const char *last = vectors > 2 ? emit_text(e, "(%s + %d * share)", name, vectors - 1)
                         : vectors > 1 ? emit_text(e, "(%s + share)", name) : name;
        text_print(text, "%*sint64_t %s = %s;\n", 4 * depth, "", name, from);
        text_print(text, "%*sfor (; %s + %s <= %s && %s; %s += %s)\n%*s%s%d, share, 1);\n", 4 * depth, "", name, by, to,
                   has_whole(e, b, last), name, by, 4 * depth + 4, "", call, vectors);
        text_print(text, "%*sfor (; %s < %s; %s += share)\n", 4 * depth, "", name, to, name);
        text_print(text, "%*s%s1, size_min(share, %s - %s), %s);\n", 4 * depth + 4, "", call, to, name,
                   has_whole(e, b, name));
    }
    emit_pop(e);
    for (depth -= 2; depth > 0; depth--)
        text_print(text, "%*s}\n", 4 * depth, "");
}

/* What calls a step's function for a block when several axes share its lanes. */
const char *emit_bundle(Emitter *e)
{
    Step step = *e->step;
    const Step *own = e->step;
    int n = own->id + 1;
    Bundling b = { own->bundle, ARENA_ARRAY(e->arena, OperandNames, own->bundle->operand_count), NULL };
    step.vector = step.jammed = step.met = NULL;
    step.units.count = 0;
    e->step = &step;
    e->lanes = true;
    ParameterSet inner = emit_common_parameters(e), outer = inner;
    const char *name = emit_text(e, "step_%d_bundle", n), *point = emit_text(e, "%s_at", name);
    const char *body = emit_vectors_function(e, &b, point, &inner);
    const char *arguments = emit_parameters(e, &inner, body, false);
    arguments = arena_copy(e->arena, arguments, strlen(arguments) - strlen("points, count, full"));
    Text text = text_new(e->arena);
    text_print(&text, "    const int64_t share = f->bundle_%d;\n", n);
    for (int o = 0; o < b.bundle->operand_count; o++)
        text_print(&text, "    const i32v %s = load_i32v((const i32u *)f->lanes_%d[%d], 1, LANES);\n"
                   "    const int64_t %s = %s;\n",
                   b.of[o].lanes, n, o, b.of[o].last, last_vector(e, b.bundle, &b.bundle->operands[o]));
    emit_loops_around(e, &text, &b, emit_text(e, "%s(%s", point, arguments));
    const char *whole = emit_text(e, "%s%s", emit_locals(e, text.bytes), text.bytes);
    const char *passed = emit_parameters(e, &outer, whole, false);
    text_print(&e->functions, "INLINE void %s(%s)\n{\n%s}\n\n", name, emit_parameters(e, &outer, whole, true), whole);
    e->step = own;
    e->lanes = own->vector != NULL;
    return emit_text(e, "%s(%s);", name, passed);
}
