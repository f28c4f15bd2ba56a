/* How operands come to shared memory: copied as they are where a side is read and no more, else computed. */
#include <string.h>

#include "emit_block.h"

static const Term *side_of(const BlockTiling *t, int side)
{
    return side ? t->c->right : t->c->left;
}

static bool has_point(const BlockTiling *t, const Term *term)
{
    for (int i = 0; i < t->c->depth.count; i++)
        if (term_has_index(term, t->c->depth.list[i]))
            return true;
    return false;
}

static bool is_point(const BlockTiling *t, const PositionPart *part)
{
    return part->index && indices_have(t->c->depth.list, t->c->depth.count, part->index);
}

/* Where an element is must be the sum of where its row begins and how far on its contracted point is, and of the latter nothing
 * may have to be looked at. */
bool block_is_copied(Emitter *e, const BlockTiling *t, int side)
{
    const Term *read = side_of(t, side);
    if (read->kind != TERM_READ || read->dtype != t->c->packed)
        return false;
    for (int a = 0; a < read->read.tensor->rank; a++)
        for (int k = 0; k < read->read.positions[a].count; k++) {
            const PositionPart *part = &read->read.positions[a].parts[k];
            if (part->gather ? has_point(t, part->gather) : is_point(t, part) && emit_is_unsafe(e, read, a))
                return false;
        }
    return true;
}

/* The same read with the contracted indices alone, or with all others. */
static const Term *part_of_read(Emitter *e, const BlockTiling *t, const Term *read, bool points)
{
    Term *part = ARENA_NEW(e->arena, Term);
    *part = *read;
    part->read.positions = ARENA_ARRAY(e->arena, Position, read->read.tensor->rank + 1);
    for (int a = 0; a < read->read.tensor->rank; a++) {
        const Position *whole = &read->read.positions[a];
        Position *some = &part->read.positions[a];
        *some = (Position){ .span = whole->span, .constant = points ? 0 : whole->constant };
        for (int k = 0; k < whole->count; k++)
            if (is_point(t, &whole->parts[k]) == points)
                ARENA_APPEND(e->arena, some->parts, some->count, whole->parts[k]);
    }
    return part;
}

/* "" where it is 0. */
static const char *offset_of(Emitter *e, const Term *read)
{
    const char *pointer = e->pointers[read->read.tensor->home->id], *text = emit_pointer(e, read);
    return strcmp(pointer, text) ? text + strlen(pointer) + strlen(" + ") : "0";
}

static void decode_own(Emitter *e, const BlockTiling *t, int side)
{
    block_bind_kept(e, t);
    block_decode(e, t, side ? &t->c->columns : &t->c->rows, side ? t->columns : t->rows, side ? "column_at" : "row_at");
}

static const char *head(Emitter *e, const BlockTiling *t, const char *name, const char *body, const char *more)
{
    const char *list = emit_parameters(e, &t->parameters, body, true);
    return emit_text(e, "INLINE void %s_%d(%s%s)\n", name, t->number, list, more);
}

/* Where a row or column begins. Behind the last one its, in sums that nobody asks for; or nowhere. */
static const char *find_function(Emitter *e, BlockTiling *t, int side, const char **call, bool *fails)
{
    const Term *read = side_of(t, side), *own = part_of_read(e, t, read, false);
    const char *word = side ? "column" : "row", *name = emit_text(e, "find_%ss", word), *size = side ? "COLUMNS" : "ROWS";
    const char *variable = side ? "c" : "r";
    bool zeros = t->zeros;
    Scope *function = block_open(e, t);
    Scope *loop = emit_push(e), *body = emit_push(e);
    (void)function;
    body->branch = true;
    if (!zeros)
        body->indent--;
    decode_own(e, t, side);
    const char *inside = emit_inside(e, read, own);
    const char *offset = offset_of(e, own);
    if (inside[0]) {
        emit_line(e, "if (%s)", inside);
        emit_line(e, "    from = %s;", offset);
        emit_line(e, "else if (depth > 0)");
        emit_line(e, "    FAIL(f, OUT_OF_RANGE - %d);", read->origin ? read->origin->id : 0);
    } else {
        emit_line(e, "from = %s;", offset);
    }
    emit_pop(e);
    if (zeros) {
        emit_line(e, "const int64_t %s_at = %s + %s;", word, word, variable);
        emit_line(e, "int64_t from = INT64_MIN;");
        emit_line(e, "if (%s_at < %ss) {", word, word);
        emit_body(e, body);
        emit_line(e, "}");
    } else {
        emit_line(e, "const int64_t %s_at = size_min(%s + %s, %ss - 1);", word, word, variable, word);
        emit_line(e, "int64_t from%s;", inside[0] ? " = INT64_MIN" : "");
        emit_body(e, body);
    }
    emit_line(e, "slices->%ss_at[%s] = from;", word, variable);
    emit_pop(e);
    emit_line(e, "const int %s = (int)threadIdx.x;", variable);
    emit_line(e, "if (%s < %s_%d) {", variable, size, t->number);
    emit_body(e, loop);
    emit_line(e, "}");
    const char *text = block_close(e);
    *call = block_call(e, t, name, text);
    *fails = inside[0];
    const char *others = zeros ? "INT64_MIN for those that are not there" : inside[0] ? "INT64_MIN where it is out of range" : "behind the last one its";
    return emit_text(e, "/* Where each %s begins in its array; %s. */\n%s{\n%s}\n", word, others,
                     head(e, t, name, text, ""), text);
}

/* Whether so many points from one on lie side by side. */
static const char *line_test(Emitter *e, const BlockTiling *t, const Term *read)
{
    const IndexSet *depth = &t->c->depth;
    const Index *last = depth->list[depth->count - 1];
    const char *test = emit_text(e, "%s == 1", emit_stride(e, read->read.tensor, read->read.positions, last));
    if (depth->count == 1)
        return test;
    return emit_text(e, "%s && %s + CHUNK_%d <= %s", test, t->names[last->id], t->number, t->depth[depth->count - 1].end);
}

static bool has_lines(const BlockTiling *t, int side)
{
    return side ? t->c->columns_along : t->c->rows_along;
}

/* The number of a contracted point becomes its indices, and those how far on it is; data: where the array is. */
static const char *point_offset(Emitter *e, BlockTiling *t, int side, int indent, bool asks, const char **locals, const char **data)
{
    const Term *read = side_of(t, side), *points = part_of_read(e, t, read, true);
    Scope *function = block_open(e, t);
    function->indent = indent;
    block_decode(e, t, &t->c->depth, t->depth, "point_at");
    emit_line(e, "const int64_t offset = %s;", offset_of(e, points));
    if (asks)
        emit_line(e, "const int is_line = %s;", line_test(e, t, read));
    emit_pop(e);
    const char *text = function->text.bytes;
    const char *pointer = e->pointers[read->read.tensor->home->id], *declared = emit_locals(e, pointer);
    *data = emit_text(e, "%s    const %s *data = %s;\n", declared, emit_element(read->dtype), pointer);
    *locals = emit_locals(e, text);
    return text;
}

static const char *fill_side(Emitter *e, BlockTiling *t, int side, const char *file, const Hole *holes, int count)
{
    Sample sample = { .file = emit_text(e, "cuda/contract_%s.cu", file), .number = t->number, .dtype = t->dtype, .columns = side,
                      .word = dtype_c(t->dtype), .part = emit_element(t->c->packed), .lane = "" };
    return emit_skeleton(e, &sample, holes, count);
}

static const char *fetch_of(Emitter *e, BlockTiling *t, int side, const Hole *holes, int count)
{
    bool chunks = t->c->block->is_matrix;
    return fill_side(e, t, side, chunks ? "chunks" : !t->copied[side] ? "values" : has_lines(t, side) ? "lines" : "copies", holes, count);
}

/* Copies have four bytes at least, and each thread as many of them as the next. */
static bool is_quick(const Emitter *e, const BlockTiling *t, int side)
{
    const BlockTile *tile = t->c->block;
    int number = (int)dtype_size(t->c->packed), chunk = BLOCK_LINE / number, chunks = (int)t->c->depth_block / chunk;
    int threads = e->plan->target->grid->threads, lines = side ? tile->columns : tile->rows;
    if (!tile->is_matrix || !t->copied[side])
        return false;
    if (!has_lines(t, side))
        return lines * chunks % threads == 0;
    return number >= 4 && (lines * chunk % threads == 0 || (threads % (lines * chunk) == 0 && chunks % (threads / (lines * chunk)) == 0));
}

bool block_are_quick(const Emitter *e, const BlockTiling *t)
{
    return is_quick(e, t, 0) && is_quick(e, t, 1);
}

/* One point of a chunk that is no line: a narrow number goes through a register, as a copy has four bytes at least. */
static const char *one_value(Emitter *e, BlockTiling *t, const Term *points)
{
    bool narrow = dtype_size(t->c->packed) < 4;
    Scope *function = block_open(e, t);
    function->indent = narrow ? 4 : 3;
    block_decode(e, t, &t->c->depth, t->depth, "next_at");
    const char *offset = offset_of(e, points), *type = emit_element(t->c->packed), *name = dtype_name(t->c->packed);
    if (narrow)
        emit_line(e, "value = data[from + %s];", offset);
    else
        emit_line(e, "copy_%s(&to[next], next < count ? data + from + %s : data, next < count);", name, offset);
    emit_pop(e);
    if (!narrow)
        return function->text.bytes;
    return emit_text(e, "            %s value = 0;\n            if (next < count) {\n%s            }\n"
                     "            to[next] = value;\n", type, function->text.bytes);
}

/* What is copied. */
static const char *copies(Emitter *e, BlockTiling *t, int side, const char *calls[3])
{
    bool fails, chunks = t->c->block->is_matrix;
    const char *locals, *data, *find = find_function(e, t, side, &calls[0], &fails);
    const char *offset = point_offset(e, t, side, chunks ? 3 : has_lines(t, side) ? 2 : 1, chunks, &locals, &data);
    const char *name = side ? "fetch_columns" : "fetch_rows";
    locals = emit_text(e, "%s%s", locals, data);
    const char *needs = emit_text(e, "slices stage point depth %s%s", locals, offset);
    calls[1] = needs;
    calls[2] = "";
    Hole holes[6] = { { "find", find }, { "head", head(e, t, name, needs, "") }, { "locals", locals }, { "offset", offset } };
    int count = 4;
    if (chunks) {
        holes[count++] = (Hole){ "one", one_value(e, t, part_of_read(e, t, side_of(t, side), true)) };
        holes[count++] = (Hole){ "unroll", block_are_quick(e, t) ? "    UNROLL_NOT\n" : NULL };
    }
    else if (!has_lines(t, side))
        holes[count++] = (Hole){ "copy", fails ? NULL : emit_text(e, "        copy_%s(to, there + from[turn], is_point);\n", dtype_name(t->dtype)) };
    return fetch_of(e, t, side, holes, count);
}

void block_whole_side(Emitter *e, BlockTiling *t, int side, BlockWhole *whole)
{
    const char *locals, *data, *offset = point_offset(e, t, side, has_lines(t, side) ? 2 : 1, false, &locals, &data);
    const char *type = emit_element(t->c->packed);
    const char *keep = side ? "keep_columns" : "keep_rows", *copy = side ? "copy_columns" : "copy_rows";
    const char *from = emit_text(e, "%s_from", side ? "columns" : "rows"), *size = side ? "COLUMNS_OWN" : "ROWS_OWN";
    bool few = side && !has_lines(t, 0) && !has_lines(t, 1);    /* registers for pointers of both sides */
    locals = emit_text(e, "%s%s", locals, few ? data : "");
    const char *keeps = emit_text(e, "slices %s", few ? "" : data), *copies = emit_text(e, "slices stage point %s%s", locals, offset);
    const char *lists[] = { emit_parameters(e, &t->parameters, keeps, true), emit_parameters(e, &t->parameters, copies, true) };
    whole->mentions = emit_text(e, "%s%s%s", data, locals, offset);
    whole->keep = emit_text(e, "%s_%d(%s, %s)", keep, t->number, emit_parameters(e, &t->parameters, keeps, false), from);
    whole->copy = emit_text(e, "%s_%d(%s, %s);", copy, t->number, emit_parameters(e, &t->parameters, copies, false), from);
    Hole holes[] = {
        { "keep_head", emit_text(e, "INLINE int %s_%d(%s, const %s *from[%s_%d])\n", keep, t->number, lists[0], type, size, t->number) },
        { "head", emit_text(e, "INLINE void %s_%d(%s, const %s *const from[%s_%d])\n", copy, t->number, lists[1], type, size, t->number) },
        { "locals", locals },
        { "offset", offset },
        { "data", data },
    };
    const char *file = has_lines(t, side) ? "whole_lines" : few ? "whole_places" : "whole_copies";
    whole->functions = fill_side(e, t, side, file, holes, sizeof holes / sizeof *holes - few);
}

/* ---- the same on tensor cores ---- */

/* Whether the chunks of a line are aligned if its first one is. */
static const char *chunks_test(Emitter *e, const BlockTiling *t, const Term *read)
{
    const IndexSet *depth = &t->c->depth;
    const Index *last = depth->list[depth->count - 1];
    Text test = text_new(e->arena);
    text_print(&test, "%s == 1", emit_stride(e, read->read.tensor, read->read.positions, last));
    for (int i = 0; i + 1 < depth->count; i++)
        text_print(&test, " && %s %% CHUNK_%d == 0", emit_stride(e, read->read.tensor, read->read.positions, depth->list[i]), t->number);
    const Along *along = &t->depth[depth->count - 1];
    if (depth->count > 1)
        text_print(&test, " && %s %% CHUNK_%d == 0", strcmp(along->first, "0") ? emit_text(e, "(%s - %s)", along->end, along->first) : along->end,
                   t->number);
    return test.bytes;
}

/* A loop over what a thread copies, for a portion of it. */
static const char *some_turns(Emitter *e, const BlockTiling *t, int side)
{
    const char *size = side ? "COLUMNS" : "ROWS";
    int n = t->number;
    if (!has_lines(t, side))
        return emit_text(e, "    for (int turn = portion; turn < %s_OWN_%d; turn += LAST_%d)\n", size, n, n);
    return emit_text(e, "    for (int chunk = portion * %s_CHUNKS_%d; chunk < CHUNKS_%d; chunk += LAST_%d * %s_CHUNKS_%d) {\n", size, n, n, n, size, n);
}

void block_quick_side(Emitter *e, BlockTiling *t, int side, BlockWhole *whole)
{
    bool apart = has_lines(t, side);
    const char *locals, *data, *offset = point_offset(e, t, side, apart ? 2 : 1, false, &locals, &data), *word = side ? "columns" : "rows";
    const char *test = apart ? "" : chunks_test(e, t, side_of(t, side)), *asks = emit_locals(e, test);
    if (!apart && t->c->depth.count == 1) {    /* they lie side by side */
        locals = "";
        const char *first = t->depth[0].first;
        offset = emit_text(e, "    const int64_t offset = %s%spoint_at;\n", strcmp(first, "0") ? first : "", strcmp(first, "0") ? " + " : "");
    }
    const char *keeps = emit_text(e, "slices %s%s%s", data, asks, test), *copies = emit_text(e, "slices stage point %s%s", locals, offset);
    const char *from = emit_text(e, "%s_from", word), *keep = emit_text(e, "keep_%s", word), *copy = emit_text(e, "copy_%s", word);
    const char *array = emit_text(e, "from[%s_OWN_%d]", side ? "COLUMNS" : "ROWS", t->number), *type = emit_element(t->c->packed);
    bool some = t->c->packed == DTYPE_F64;
    const char *turns = !some ? NULL : some_turns(e, t, side);
    whole->mentions = emit_text(e, "%s%s", keeps, copies);
    whole->keep = emit_text(e, "%s_%d(%s, %s)", keep, t->number, emit_parameters(e, &t->parameters, keeps, false), from);
    whole->copy = emit_text(e, "%s_%d(%s, %s%s);", copy, t->number, emit_parameters(e, &t->parameters, copies, false), some ? "portion, " : "", from);
    Hole holes[] = {
        { "keep_head", emit_text(e, "INLINE int %s_%d(%s, const %s *%s)\n", keep, t->number, emit_parameters(e, &t->parameters, keeps, true),
                                 type, array) },
        { "head", head(e, t, copy, copies, emit_text(e, "%s, const %s *const %s", some ? ", int portion" : "", type, array)) },
        { "locals", locals },
        { "offset", offset },
        { "data", data },
        { "turns", turns },
        { "misses", emit_text(e, "%s    int misses = !(%s);\n", asks, test) },
    };
    whole->functions = fill_side(e, t, side, apart ? "quick_apart" : "quick_lines", holes, 7 - apart);
}

/* What is computed. */
static const char *values(Emitter *e, BlockTiling *t, int side, const char *calls[3])
{
    const char *name = side ? "fetch_columns" : "fetch_rows", *size = side ? "COLUMNS" : "ROWS", *word = side ? "columns" : "rows";
    bool along = side ? t->c->columns_along : t->c->rows_along;
    Scope *function = block_open(e, t), *body = emit_push(e);
    (void)function;
    body->indent = 3;
    body->branch = body->loop = true;
    decode_own(e, t, side);
    block_decode(e, t, &t->c->depth, t->depth, "point_at");
    const char *value = emit_term(e, side_of(t, side)).text;
    emit_line(e, "value = %s;", emit_bare(e, value));
    emit_pop(e);
    emit_pop(e);
    const char *text = emit_without_unread(e->arena, body->text.bytes), *outside = function->text.bytes;
    const char *locals = emit_text(e, "%s%s", emit_locals(e, emit_text(e, "%s%s", outside, text)), outside);
    const char *needs = emit_text(e, "%s %s point depth %s%s", word, side ? "column" : "row", locals, text);
    const char *length = along ? emit_text(e, "%s_%d", size, t->number) : emit_text(e, "DEPTH_%d", t->number);
    const char *quotient = emit_text(e, "    return at / %s;\n", length), *remainder = emit_text(e, "    return at %% %s;\n", length);
    const char *more = emit_text(e, ", %s fetched[%s_EACH_%d]", dtype_c(t->dtype), size, t->number);
    calls[0] = "";
    calls[1] = needs;
    calls[2] = emit_text(e, "put_%s_%d(slices, stage, %s_fetched);", word, t->number, word);
    Hole holes[] = { { "point_of", along ? quotient : remainder }, { "place_of", along ? remainder : quotient }, { "head", head(e, t, name, needs, more) }, { "locals", locals }, { "value", text } };
    return fetch_of(e, t, side, holes, sizeof holes / sizeof *holes);
}

const char *block_slices(Emitter *e, BlockTiling *t, int side, const char *calls[3])
{
    return t->copied[side] ? copies(e, t, side, calls) : values(e, t, side, calls);
}
