/* Reads and stores: offsets from positions and strides, and the checks of positions that can be out of range. */
#include <string.h>

#include "emitting.h"

const char *emit_element(Dtype dtype)
{
    switch (dtype) {
    case DTYPE_BOOL: return "boolu";
    case DTYPE_I8: return "i8u";
    case DTYPE_I16: return "i16u";
    case DTYPE_I32: return "i32u";
    case DTYPE_I64: return "i64u";
    case DTYPE_F16: return "f16u";
    case DTYPE_BF16: return "bf16u";
    case DTYPE_F32: return "f32u";
    case DTYPE_F64: return "f64u";
    case DTYPE_C64: return "c64u";
    default: return "c128u";
    }
}

static const char *spell_extent(void *user, const Index *index)
{
    return ((Emitter *)user)->extents[index->id];
}

static const char *spell_axis(void *user, const Tensor *tensor, int axis)
{
    Emitter *e = user;
    return emit_text(e, "f->in.%s.shape[%d]", e->members[tensor->id], axis);
}

const char *emit_size(Emitter *e, const Size *size)
{
    Text text = text_new(e->arena);
    SizeSpelling spelling = { spell_extent, spell_axis, e };
    size_print(&text, size, &spelling);
    return text.bytes;
}

/* ---- positions ---- */

/* An address: where lane 0 is, how far apart the lanes are, and what lanes gather for themselves. */
typedef struct Address {
    Text offset;                  /* in elements; "" is 0 */
    Text lane_stride;             /* "" where all lanes are in one place */
    Text lane_offset;             /* an i64v; "" for none */
} Address;

static void add(Text *sum, const char *text)
{
    text_print(sum, "%s%s", sum->length ? " + " : "", text);
}

static const char *times(Emitter *e, const char *text, const char *stride)
{
    if (!strcmp(stride, "1"))
        return text;
    return emit_text(e, strpbrk(text, "+-") && emit_bare(e, text) == text ? "(%s) * %s" : "%s * %s", text, stride);
}

/* Whether an index is none of the part of an address that is at hand. */
static bool leaves_out(const Emitter *e, const Index *index)
{
    if (e->part == ADDRESS_WHOLE)
        return false;
    const Term *reduce = e->step->roots[0];
    bool moves = emit_adds_rows(e) ? index == e->step->vector : indices_have(reduce->reduce.over, reduce->reduce.over_count, index);
    return moves == (e->part == ADDRESS_FIXED);
}

/* The part of a position that is one number for all lanes; of the vector's index that of lane 0. `local`: in a temporary
 * that holds one block, whose positions count from the block's beginning. */
static const char *uniform_position(Emitter *e, const Position *position, bool local)
{
    Text text = text_new(e->arena);
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (part->gather ? emit_term(e, part->gather).varying : leaves_out(e, part->index))
            continue;
        const char *value = part->index ? emit_bound(e, part->index) : emit_term(e, part->gather).text;
        int64_t c = part->coefficient;
        const char *first = local && part->index ? e->block_first[part->index->id] : NULL;
        if (first)
            value = strcmp(value, first) ? emit_text(e, "(%s - %s)", value, first) : "0";
        if (!strcmp(value, "0"))
            continue;
        text_print(&text, "%s", c < 0 ? (text.length ? " - " : "-") : text.length ? " + " : "");
        if (c == 1 || c == -1)
            text_put(&text, value);
        else
            text_print(&text, "%lld * %s", (long long)(c < 0 ? -c : c), value);
    }
    if (position->constant || !text.length)
        text_print(&text, text.length ? " %c %lld" : "%c%lld", position->constant < 0 ? '-' : text.length ? '+' : ' ',
                   (long long)(position->constant < 0 ? -position->constant : position->constant));
    return text.bytes[0] == ' ' ? text.bytes + 1 : text.bytes;
}

/* How much a position grows from lane to lane: 0 when it does not. */
static int64_t lane_step(const Emitter *e, const Position *position)
{
    for (int k = 0; k < position->count && e->lanes; k++)
        if (position->parts[k].index && position->parts[k].index == e->step->vector)
            return position->parts[k].coefficient;
    return 0;
}

/* What varying gathers add to a position: an i64v, or NULL. */
static const char *varying_position(Emitter *e, const Position *position)
{
    Text text = text_new(e->arena);
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (!part->gather)
            continue;
        Value value = emit_term(e, part->gather);
        if (!value.varying)
            continue;
        const char *v = register_dtype(part->gather->dtype) == DTYPE_I64
                            ? value.text : emit_text(e, "to_i64_i32v(%s)", emit_bare(e, value.text));
        if (part->coefficient != 1)
            v = emit_text(e, "%s * %lld", v, (long long)part->coefficient);
        add(&text, v);
    }
    return text.length ? text.bytes : NULL;
}

static const char *stride_of(Emitter *e, const Tensor *tensor, int axis)
{
    const Storage *storage = &e->plan->storage[tensor->home->id];
    for (int constant = 0; constant < 2; constant++)
        if (storage->place != PLACE_CALLER && size_is_constant(storage->stride[axis], constant))
            return constant ? "1" : "0";
    return e->strides[tensor->home->id][axis];
}

static Address address_of(Emitter *e, const Tensor *tensor, const Position *positions)
{
    Address at = { text_new(e->arena), text_new(e->arena), text_new(e->arena) };
    for (int a = 0; a < tensor->rank; a++) {
        bool local = e->plan->storage[tensor->home->id].place == PLACE_BLOCK;
        const char *stride = stride_of(e, tensor, a), *text = uniform_position(e, &positions[a], local);
        if (strcmp(text, "0") && strcmp(stride, "0"))
            add(&at.offset, times(e, text, stride));
        int64_t step = lane_step(e, &positions[a]);
        if (step)
            add(&at.lane_stride, step == 1 ? stride : times(e, emit_text(e, "%lld", (long long)step), stride));
        const char *varying = varying_position(e, &positions[a]);
        if (varying)
            add(&at.lane_offset, strcmp(stride, "1") ? emit_text(e, "(%s) * %s", varying, stride) : varying);
    }
    return at;
}

/* Where a read is, from a pointer on: its tensor's, or its point's own. */
static Address address_from(Emitter *e, const Term *read, const char **pointer)
{
    const char *begin = e->begins ? e->begins[read->id] : NULL, *row = e->rows ? e->rows[read->id] : NULL;
    if (row) {
        *pointer = row;
        return (Address){ text_new(e->arena), text_new(e->arena), text_new(e->arena) };
    }
    *pointer = begin ? begin : e->pointers[read->read.tensor->home->id];
    e->part = begin ? ADDRESS_MOVING : e->part;
    Address at = address_of(e, read->read.tensor, read->read.positions);
    e->part = begin ? ADDRESS_WHOLE : e->part;
    return at;
}

const char *emit_pointer(Emitter *e, const Term *read)
{
    const char *pointer;
    Address at = address_from(e, read, &pointer);
    return at.offset.length ? emit_text(e, "%s + %s", pointer, at.offset.bytes) : pointer;
}

const char *emit_target(Emitter *e, const Output *output)
{
    Address at = address_of(e, output->tensor, output->positions);
    const char *pointer = e->pointers[output->tensor->home->id];
    return at.offset.length ? emit_text(e, "%s + %s", pointer, at.offset.bytes) : pointer;
}

/* How far apart neighbours along an index are, in elements: "0" where they are one. A sum is in brackets, as callers multiply. */
const char *emit_stride(Emitter *e, const Tensor *tensor, const Position *positions, const Index *index)
{
    Text sum = text_new(e->arena);
    int count = 0;
    for (int a = 0; a < tensor->rank; a++)
        for (int k = 0; k < positions[a].count; k++)
            if (positions[a].parts[k].index == index) {
                const char *stride = stride_of(e, tensor, a);
                int64_t c = positions[a].parts[k].coefficient;
                add(&sum, c == 1 ? stride : times(e, emit_text(e, "%lld", (long long)c), stride));
                count++;
            }
    return count == 0 ? "0" : count == 1 ? sum.bytes : emit_text(e, "(%s)", sum.bytes);
}

/* ---- ranges ---- */

bool emit_is_unsafe(const Emitter *e, const Term *read, int axis)
{
    const Position *position = &read->read.positions[axis];
    if (position_is_plain(position))
        return false;
    return position->within || position_has_gather(position) || !read->origin || !e->certain[read->origin->id];
}

static const char *axis_extent(Emitter *e, const Tensor *tensor, int axis)
{
    const Tensor *home = tensor->home;
    if (e->plan->storage[home->id].place == PLACE_CALLER || !tensor->axes[axis])
        return emit_text(e, "f->in.%s.shape[%d]", e->members[home->id], axis);
    return emit_extent(e, tensor->axes[axis]);
}

/* The condition that the uniform positions of a read are in range, "" when there is nothing to check; *mask is that of
 * the lanes' own positions, or NULL. */
static const char *range_checks(Emitter *e, const Tensor *tensor, const Position *positions, const bool *unsafe,
                                const char **mask)
{
    Text uniform = text_new(e->arena);
    *mask = NULL;
    for (int a = 0; a < tensor->rank; a++) {
        if (!unsafe[a])
            continue;
        const char *text = uniform_position(e, &positions[a], false);
        const char *extent = positions[a].within ? e->extents[positions[a].within->id] : axis_extent(e, tensor, a);
        const char *varying = varying_position(e, &positions[a]);
        int64_t step = lane_step(e, &positions[a]);
        if (!varying && !step) {
            text_print(&uniform, "%sis_inside(%s, %s)", uniform.length ? " && " : "", text, extent);
            continue;
        }
        if (!varying && step == 1) {
            const char *inside = emit_text(e, "are_inside(%s, %s)", text, extent);
            *mask = *mask ? emit_text(e, "and_boolv(%s, %s)", *mask, inside) : inside;
            continue;
        }
        const char *lanes = varying ? varying : "";
        if (step)
            lanes = emit_text(e, "%s%slanes_i64v()%s", lanes, varying ? " + " : "",
                              step == 1 ? "" : emit_text(e, " * %lld", (long long)step));
        if (strcmp(text, "0"))
            lanes = emit_text(e, "%s + splat_i64v(%s)", lanes, text);
        const char *inside = emit_text(e, "are_inside_i64v(%s, %s)", lanes, extent);
        *mask = *mask ? emit_text(e, "and_boolv(%s, %s)", *mask, inside) : inside;
    }
    return uniform.bytes;
}

/* ---- reads ---- */

static const char *load_scalar(Emitter *e, Dtype dtype, const char *pointer, const char *offset)
{
    const char *at = emit_text(e, "%s[%s]", pointer, offset[0] ? offset : "0");
    switch (dtype) {
    case DTYPE_BOOL: return emit_text(e, "(%s != 0)", at);
    case DTYPE_I8:
    case DTYPE_I16: return emit_text(e, "(int32_t)%s", at);
    case DTYPE_F16: return emit_text(e, "to_f32_f16(%s)", at);
    case DTYPE_BF16: return emit_text(e, "to_f32_bf16(%s)", at);
    case DTYPE_C64:
    case DTYPE_C128: return emit_text(e, "load_%s(%s + %s)", dtype_name(dtype), pointer, offset[0] ? offset : "0");
    default: return at;
    }
}

static const char *lane_count(const Emitter *e)
{
    return e->scope->count ? e->scope->count : "LANES";
}

static const char *load_lanes(Emitter *e, Dtype dtype, const char *pointer, const Address *at)
{
    const char *from = at->offset.length ? emit_text(e, "%s + %s", pointer, at->offset.bytes) : pointer;
    return emit_text(e, "load_%sv(%s, %s, %s)", dtype_name(dtype), from, at->lane_stride.bytes, lane_count(e));
}

/* Lanes that find their own places: all positions as one i64v, and the mask of lanes that may read. Lanes that lie evenly
 * apart are one load where all of them may. */
static const char *gather_lanes(Emitter *e, Dtype dtype, const char *pointer, const Address *at, const char *mask)
{
    const char *offset = at->lane_offset.length ? at->lane_offset.bytes : "";
    if (at->lane_stride.length)
        offset = emit_text(e, "%s%slanes_i64v() * (%s)", offset, offset[0] ? " + " : "", at->lane_stride.bytes);
    const char *from = at->offset.length ? emit_text(e, "%s + %s", pointer, at->offset.bytes) : pointer;
    const char *active = emit_active(e);
    if (active && mask)
        mask = emit_text(e, "and_boolv(%s, %s)", active, mask);
    else if (!mask)
        mask = active ? active : "splat_boolv(1)";
    if (at->lane_offset.length)
        return emit_text(e, "gather_%sv(%s, %s, %s)", dtype_name(dtype), from, offset, mask);
    const char *may = emit_name(e, "may"), *first = emit_name(e, "first");
    emit_line(e, "const boolv %s = %s;", may, mask);
    emit_line(e, "const %s *%s = %s;", emit_element(dtype), first, from);
    return emit_text(e, "pick_%sv(%s, %s, %s)", dtype_name(dtype), first, at->lane_stride.bytes, may);
}

/* A read that has to look before: the variable keeps 0 when the position is out of range, and the kernel fails. */
static Value checked_read(Emitter *e, const Term *term, const Address *at, const char *uniform, const char *mask, bool varying)
{
    const Tensor *tensor = term->read.tensor;
    const char *pointer = e->pointers[tensor->home->id], *name = emit_name(e, "found");
    const char *zero = emit_number(e, term->dtype, 0), *value;
    int code = term->origin ? term->origin->id : 0;
    emit_line(e, "%s %s = %s;", emit_type(term->dtype, varying), name,
              varying ? emit_splat(e, term->dtype, zero) : zero);
    if (mask) {
        const char *ok = emit_name(e, "inside"), *active = emit_active(e);
        emit_line(e, "const boolv %s = %s;", ok, mask);
        const char *bad = emit_text(e, "not_boolv(%s)", ok);
        emit_line(e, "if (any_boolv(%s))", active ? emit_text(e, "and_boolv(%s, %s)", active, bad) : bad);
        emit_line(e, "    FAIL(f, OUT_OF_RANGE - %d);", code);
        mask = ok;
    }
    if (mask || at->lane_offset.length)
        value = gather_lanes(e, term->dtype, pointer, at, mask);
    else if (varying)
        value = load_lanes(e, term->dtype, pointer, at);
    else
        value = load_scalar(e, term->dtype, pointer, at->offset.bytes);
    if (!uniform[0]) {
        emit_line(e, "%s = %s;", name, emit_bare(e, value));
        return (Value){ name, varying };
    }
    emit_line(e, "if (%s)", uniform);
    emit_line(e, "    %s = %s;", name, emit_bare(e, value));
    emit_line(e, "else");
    emit_line(e, "    FAIL(f, OUT_OF_RANGE - %d);", code);
    return (Value){ name, varying };
}

/* The lanes that read: those of the mask `where` that are in range. Where others should, the kernel fails if anything `reads`. */
const char *emit_may_read(Emitter *e, const Term *read, const char *where, const char *reads)
{
    const Tensor *tensor = read->read.tensor;
    const char *mask;
    bool *unsafe = ARENA_ARRAY(e->arena, bool, tensor->rank + 1);
    for (int a = 0; a < tensor->rank; a++)
        unsafe[a] = emit_is_unsafe(e, read, a);
    const char *uniform = range_checks(e, tensor, read->read.positions, unsafe, &mask);
    if (!uniform[0] && !mask)
        return where;
    const char *inside = uniform[0] ? emit_text(e, "splat_boolv(%s)", uniform) : mask, *may = emit_name(e, "may");
    if (uniform[0] && mask)
        inside = emit_text(e, "and_boolv(%s, %s)", mask, inside);
    emit_line(e, "const boolv %s = and_boolv(%s, %s);", may, where, inside);
    emit_line(e, "if (%s && any_boolv(and_boolv(%s, not_boolv(%s))))", reads, where, may);
    emit_line(e, "    FAIL(f, OUT_OF_RANGE - %d);", read->origin ? read->origin->id : 0);
    return may;
}

/* What the lanes of a mask read that lie `step` apart. */
const char *emit_pick(Emitter *e, const Term *read, const char *step, const char *mask)
{
    const char *pointer;
    Address at = address_from(e, read, &pointer);
    return emit_text(e, "pick_%sv(%s + %s, %s, %s)", dtype_name(read->dtype), pointer, at.offset.length ? at.offset.bytes : "0",
                     step, mask);
}

const char *emit_inside(Emitter *e, const Term *read, const Term *part)
{
    const char *mask;
    bool *unsafe = ARENA_ARRAY(e->arena, bool, read->read.tensor->rank + 1);
    for (int a = 0; a < read->read.tensor->rank; a++)
        unsafe[a] = emit_is_unsafe(e, read, a);
    return range_checks(e, read->read.tensor, part->read.positions, unsafe, &mask);
}

static Value plain_read(Emitter *e, const Term *term);

/* In the first block of a sweep nothing has been carried yet. */
Value emit_read(Emitter *e, const Term *term)
{
    Value value = plain_read(e, term);
    if (!term->read.carried)
        return value;
    const char *start = emit_number(e, term->dtype, term->read.start);
    start = value.varying ? emit_splat(e, term->dtype, start) : start;
    value.text = emit_text(e, "(%s > 0 ? %s : %s)", e->sweep_first, emit_bare(e, value.text), start);
    return value;
}

static Value plain_read(Emitter *e, const Term *term)
{
    const Tensor *tensor = term->read.tensor;
    const char *pointer, *mask;
    bool *unsafe = ARENA_ARRAY(e->arena, bool, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        unsafe[a] = emit_is_unsafe(e, term, a);
    Address at = address_from(e, term, &pointer);
    const char *uniform = range_checks(e, tensor, term->read.positions, unsafe, &mask);
    bool varying = at.lane_stride.length || at.lane_offset.length;
    if (uniform[0] || mask)
        return checked_read(e, term, &at, uniform, mask, varying);
    if (at.lane_offset.length)
        return (Value){ gather_lanes(e, term->dtype, pointer, &at, NULL), true };
    if (!varying)
        return (Value){ load_scalar(e, term->dtype, pointer, at.offset.bytes), false };
    emit_ask_for(e, term);
    return (Value){ load_lanes(e, term->dtype, pointer, &at), true };
}

/* ---- stores ---- */

static const char *plus(Emitter *e, Dtype dtype, bool varying, const char *a, const char *b)
{
    if (dtype_kind(dtype) == KIND_FLOAT)
        return emit_text(e, "%s + %s", a, b);
    if (dtype == DTYPE_BOOL)
        return varying ? emit_text(e, "or_boolv(%s, %s)", a, b) : emit_text(e, "%s || %s", a, b);
    return emit_text(e, "add_%s(%s, %s)", emit_suffix(dtype, varying), a, emit_bare(e, b));
}

static void store_scalar(Emitter *e, Dtype dtype, const char *pointer, const char *offset, const char *value)
{
    if (!offset[0])
        offset = "0";
    switch (dtype) {
    case DTYPE_F16:
    case DTYPE_BF16: emit_line(e, "%s[%s] = to_%s_f32(%s);", pointer, offset, dtype_name(dtype), value); break;
    case DTYPE_BOOL:
    case DTYPE_I8:
    case DTYPE_I16: emit_line(e, "%s[%s] = (%s)(%s);", pointer, offset, dtype_c(dtype), value); break;
    case DTYPE_C64:
    case DTYPE_C128: emit_line(e, "store_%s(%s + %s, %s);", dtype_name(dtype), pointer, offset, value); break;
    default: emit_line(e, "%s[%s] = %s;", pointer, offset, value); break;
    }
}

/* Of the threads that meet a point, the one that adds to its element goes on: the computed positions say which. */
static void emit_share(Emitter *e, const Output *output)
{
    Text sum = text_new(e->arena);
    for (int a = 0; a < output->tensor->rank; a++)
        if (!output->tensor->axes[a])
            add(&sum, uniform_position(e, &output->positions[a], false));
    emit_line(e, "if ((uint64_t)(%s) %% %d != (uint64_t)share)", sum.bytes, e->step->shares);
    emit_line(e, "    return;");
}

bool emit_stores_plainly(const Emitter *e, const Output *output)
{
    bool plain = !output->tensor->previous && !output->tensor->from_caller && !e->step->scatters && e->step->shares <= 1;
    for (int a = 0; a < output->tensor->rank; a++)
        plain &= position_is_plain(&output->positions[a]);
    return plain;
}

void emit_store_at(Emitter *e, const Output *output, const char *pointer, const char *offset)
{
    store_scalar(e, output->tensor->dtype, pointer, offset, emit_bare(e, emit_term(e, output_stored(output)).text));
}

/* What is stored without a cast that storing makes anyway: to a float of 16 bits, of what is in a register as f32. */
const Term *emit_unrounded(const Emitter *e, const Output *output)
{
    const Term *value = output_stored(output);
    Dtype dtype = output->tensor->dtype;
    bool rounds = register_dtype(dtype) == DTYPE_F32 && dtype != DTYPE_F32 && value->kind == TERM_MAP &&
                  value->map.function == FUNCTION_CAST && value->dtype == dtype && !emit_known(e, value);
    return rounds && register_dtype(value->map.arguments[0]->dtype) == DTYPE_F32 ? value->map.arguments[0] : value;
}

/* Whether nobody reads an array but products of bf16, which take what is below the normal numbers for 0. */
bool emit_is_factor(const Emitter *e, const Tensor *tensor)
{
    const Plan *plan = e->plan;
    bool all = tensor->dtype == DTYPE_BF16 && plan->storage[tensor->home->id].place != PLACE_CALLER;
    for (int i = 0; i < plan->lowered->term_count && all; i++) {
        const Term *term = plan->lowered->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor)
            continue;
        all = false;
        for (int s = 0; s < plan->step_count; s++) {
            const Contract *c = plan->steps[s]->contract;
            all |= c && c->group > 1 && c->packed == DTYPE_BF16 && (c->left == term || c->right == term);
        }
    }
    return all;
}

/* The value of an output, at its positions: stored, or added to what is there. */
void emit_store(Emitter *e, const Output *output)
{
    const Tensor *tensor = output->tensor;
    if (e->step->shares > 1)
        emit_share(e, output);
    Value value = emit_term(e, emit_unrounded(e, output));
    Scope *alone = emit_alone(e);
    Dtype dtype = tensor->dtype;
    const char *pointer = e->pointers[tensor->home->id], *mask, *text = value.text;
    bool adds = tensor->previous || tensor->from_caller || e->step->scatters;
    bool *unsafe = ARENA_ARRAY(e->arena, bool, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        unsafe[a] = !position_is_plain(&output->positions[a]) && !emit_is_certain_target(e, tensor->source, &output->positions[a]);
    Address at = address_of(e, tensor, output->positions);
    const char *uniform = range_checks(e, tensor, output->positions, unsafe, &mask);
    bool varying = at.lane_stride.length > 0;
    if (varying && !value.varying)
        text = emit_splat(e, dtype, text);
    if (adds)
        text = plus(e, dtype, varying, varying ? load_lanes(e, dtype, pointer, &at)
                                               : load_scalar(e, dtype, pointer, at.offset.bytes), text);
    if (uniform[0]) {
        int code = e->plan->program->term_count + output->tensor->home->id;
        emit_line(e, "if (!(%s)) {", uniform);
        emit_line(e, "    FAIL(f, OUT_OF_RANGE - %d);", code);
        emit_line(e, "    return;");
        emit_line(e, "}");
    }
    if (varying)
        emit_line(e, "%s_%sv(%s%s%s, %s, %s, %s%s);", e->step->result ? "stream" : emit_is_factor(e, tensor) ? "store_factor" : "store",
                  dtype_name(dtype), pointer,
                  at.offset.length ? " + " : "", at.offset.bytes, at.lane_stride.bytes, emit_bare(e, text), lane_count(e),
                  e->step->result ? emit_text(e, ", %s", e->past ? e->past : emit_text(e, "f->past_%d", e->step->id + 1)) : "");
    else
        store_scalar(e, dtype, pointer, at.offset.bytes, emit_bare(e, text));
    emit_end_alone(e, alone);
}
