/* topk and its kin: templates/rank.c with its holes filled, and what calls it for one point of the kept loops. */
#include <string.h>

#include "emitting.h"

static const char *constants(Emitter *e, const Ranking *ranking, int number, bool most)
{
    int n = number;
    Text text = text_new(e->arena);
    text_print(&text, "enum { RANKS_%d = %lld, MOST_%d = %d, VECTORS_%d = %d, SOME_%d = VECTORS_%d * LANES, RUN_%d = %d, BLOCK_%d = %d };\n",
               n, (long long)ranking->ranks, n, most, n, RANKING_VECTORS, n, n, n, RANKING_RUN, n, ranking->block);
    text_print(&text, "enum { GROUPS_%d = (RANKS_%d * 3 / 2 + LANES - 1) / LANES, PARTS_%d = GROUPS_%d < 4 ? 4 : 1 };\n", n, n, n, n);
    text_print(&text, "enum { PLACES_%d = GROUPS_%d * LANES > RUN_%d ? GROUPS_%d * LANES : RUN_%d };\n", n, n, n, n, n);
    if (ranking->kept)
        text_print(&text, "enum { ROOM_%d = %lld };\n", n, (long long)ranking->kept);
    else
        text_print(&text, "enum { ROOM_%d = RANKS_%d + (RANKS_%d > 2 * SOME_%d ? RANKS_%d : 2 * SOME_%d) };\n", n, n, n, n, n, n);
    return text.bytes;
}

/* The functions that the point's calls. */
static void emit_functions(Emitter *e, const Term *reduce)
{
    const Ranking *ranking = e->step->ranking;
    int number = e->step->id + 1;
    Text title = text_new(e->arena);
    text_put(&title, "/* The best of a row, for ");
    plan_print_term(&title, reduce);
    text_put(&title, " */\n");
    Sample sample = { .file = "rank.c", .number = number, .dtype = ranking->dtype };
    bool most = reduction_facts[reduce->reduce.reduction].state == STATE_TOPK;
    Hole holes[] = {
        { "title", title.bytes },
        { "constants", constants(e, ranking, number, most) },
    };
    text_put(&e->functions, emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes));
    sample.file = "rank_on.c";
    if (ranking->kept)
        text_put(&e->functions, emit_skeleton(e, &sample, NULL, 0));
    sample.file = "rank_merge.c";
    if (e->step->split)
        text_put(&e->functions, emit_skeleton(e, &sample, NULL, 0));
    sample.file = "rank_few.c";
    if (ranking->few)
        text_put(&e->functions, emit_skeleton(e, &sample, NULL, 0));
    text_put(&e->functions, "\n");
}

/* A read whose elements along the index are a row in memory as they are, if their stride is 1. */
static bool is_row(Emitter *e, const Term *x, const Index *over, Dtype dtype)
{
    if (x->kind != TERM_READ || x->dtype != dtype)
        return false;
    for (int a = 0; a < x->read.tensor->rank; a++)
        if (position_has_gather(&x->read.positions[a]) || emit_is_unsafe(e, x, a))
            return false;
    return term_has_index(x, over);
}

/* A vector of elements as they are compared. */
static const char *as_ranked(Emitter *e, const Term *x, const char *text)
{
    return register_dtype(x->dtype) == DTYPE_BOOL ? emit_text(e, "to_i32_boolv(%s)", emit_bare(e, text)) : text;
}

/* One element, or a vector of them, into its place in the block's row. */
static void emit_element_of(Emitter *e, const Term *x, const char *row, const char *at, const char *from)
{
    const Ranking *ranking = e->step->ranking;
    Value value = emit_term(e, x);
    const char *text = value.text, *to = emit_text(e, "%s + (%s - %s)", row, at, from);
    bool varying = e->lanes && e->step->vector == e->step->ranking->over;
    if (varying && !value.varying)
        text = emit_splat(e, x->dtype, text);
    if (varying)
        emit_line(e, "store_%sv(%s, 1, %s, %s);", dtype_name(ranking->dtype), to, emit_bare(e, as_ranked(e, x, text)),
                  e->scope->count ? e->scope->count : "LANES");
    else
        emit_line(e, "%s[%s - %s] = %s;", row, at, from, emit_bare(e, text));
}

/* A loop over a block's elements, whole vectors before the rest. */
static void emit_row(Emitter *e, const Term *x, const char *row, const char *from, const char *to)
{
    const Index *over = e->step->ranking->over;
    const char *at = emit_name(e, over->name);
    bool lanes = e->lanes && e->step->vector == over;
    for (int rest = !lanes; rest < 2; rest++) {
        Scope *body = emit_push(e);
        body->loop = true;
        emit_bind(e, over, at);
        if (lanes && rest) {
            body->count = emit_name(e, "count");
            emit_line(e, "const int %s = (int)(%s - %s);", body->count, to, at);
        }
        emit_element_of(e, x, row, at, from);
        emit_pop(e);
        if (rest == !lanes)
            emit_line(e, "int64_t %s = %s;", at, from);
        emit_line(e, !lanes ? "for (; %s < %s; %s++) {" : rest ? "if (%s < %s) {" : "for (; %s + LANES <= %s; %s += LANES) {", at, to, at);
        emit_body(e, body);
        emit_line(e, "}");
    }
}

/* The elements of a block side by side: where they are, or copied there. */
static const char *emit_block(Emitter *e, const Term *x, const char *from, const char *to)
{
    const Ranking *ranking = e->step->ranking;
    const char *copy = emit_text(e, "row_%d", e->step->id + 1);
    if (!is_row(e, x, ranking->over, ranking->dtype)) {
        emit_row(e, x, copy, from, to);
        return copy;
    }
    const char *row = emit_name(e, "row"), *element = emit_element(ranking->dtype);
    const char *stride = emit_stride(e, x->read.tensor, x->read.positions, ranking->over);
    Scope *scope = emit_push(e);
    scope->indent--;
    emit_bind(e, ranking->over, from);
    const char *pointer = emit_pointer(e, x);
    emit_pop(e);
    emit_body(e, scope);
    emit_line(e, "const %s *%s = %s;", element, row, pointer);
    if (!ranking->copies)
        return row;
    Scope *body = emit_push(e);
    emit_row(e, x, copy, from, to);
    emit_line(e, "%s = %s;", row, copy);
    emit_pop(e);
    emit_line(e, "if (%s != 1) {", stride);
    emit_body(e, body);
    emit_line(e, "}");
    return row;
}

/* Stores the best of one row. */
static void store_best(Emitter *e, const char *state)
{
    const Statement *statement = e->step->statement;
    Scope *body = emit_push(e);
    const char *rank = emit_name(e, "rank");
    emit_bind(e, statement->outputs[0].value->reduce.ranks, rank);
    for (int o = 0; o < statement->output_count; o++) {
        const Term *value = statement->outputs[o].value;
        bool place = reduction_facts[value->reduce.reduction].gives == GIVES_POSITION;
        emit_know(e, value, (Value){ emit_text(e, "%s.%s[%s]", state, place ? "places" : "values", rank), false });
        emit_store(e, &statement->outputs[o]);
    }
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < RANKS_%d; %s++) {", rank, rank, e->step->id + 1, rank);
    emit_body(e, body);
    emit_line(e, "}");
}

/* Of several rows that lie side by side, squares of a block's elements are turned, so that each row lies on its own. */
static void turn_block(Emitter *e, const Term *x, const char *from, const char *to)
{
    const Ranking *ranking = e->step->ranking;
    int n = e->step->id + 1;
    const char *dtype = dtype_name(ranking->dtype), *square = emit_name(e, "square"), *at = emit_name(e, ranking->over->name);
    const char *row = emit_name(e, "row"), *first = emit_name(e, "square_from");
    const char *s = emit_name(e, "s");
    Scope *body = emit_push(e), *value = emit_push(e);
    body->loop = value->loop = true;
    emit_bind(e, ranking->over, at);
    emit_line(e, "const int64_t %s = size_min(%s + %s, %s - 1);", at, first, s, to);
    emit_line(e, "%s[%s] = %s;", square, s, emit_bare(e, as_ranked(e, x, emit_varying(e, x))));
    emit_pop(e);
    emit_line(e, "%sv %s[LANES];", dtype, square);
    emit_line(e, "for (int %s = 0; %s < LANES; %s++) {", s, s, s);
    emit_body(e, value);
    emit_line(e, "}");
    emit_line(e, "transpose_%sv(%s);", dtype, square);
    emit_line(e, "for (int %s = 0; %s < LANES; %s++)", row, row, row);
    emit_line(e, "    store_%sv(row_%d + %s * BLOCK_%d + (%s - %s), 1, %s[%s], LANES);", dtype, n, row, n, first, from, square, row);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s += LANES) {", first, from, first, to, first);
    emit_body(e, body);
    emit_line(e, "}");
}

/* What is done with each of the rows that go together. */
static void each_row(Emitter *e, const char *row, const char *count, const Scope *body)
{
    emit_line(e, "for (int %s = 0; %s < %s; %s++) {", row, row, count, row);
    emit_body(e, body);
    emit_line(e, "}");
}

/* One of the rows that go together, as a point by itself. */
static Scope *open_row(Emitter *e, const char *row, const Step *outer)
{
    const char *lanes = emit_bound(e, outer->vector);
    Scope *body = emit_push(e);
    body->count = NULL;
    const char *point = emit_name(e, emit_text(e, "%s_at", outer->vector->name));
    emit_bind(e, outer->vector, point);
    emit_line(e, "const int64_t %s = %s + %s;", point, lanes, row);
    Step *scalar = ARENA_NEW(e->arena, Step);
    *scalar = *outer;
    scalar->vector = NULL;
    e->step = scalar;
    return body;
}

static void close_row(Emitter *e, const Step *outer)
{
    e->step = outer;
    emit_pop(e);
}

/* ---- candidates that wait from block to block ---- */

/* A block of a row's elements, with what is known of it. */
typedef struct RankBlock {
    const char *from, *to;
    const char *begun;            /* whether candidates of blocks before wait */
    const char *last;             /* whether none comes behind it; NULL: the parts are merged later */
    const char *leave;            /* what goes on with the next one */
    const char *worst;
} RankBlock;

/* Where a point's candidates are: those of the unit's points, or of a part's. */
static const char *emit_kept_place(Emitter *e)
{
    const char *place = NULL;
    if (e->step->split)
        return emit_bare(e, emit_part_offset(e, "part"));
    for (int i = 0; i < e->step->loop_count; i++) {
        const Index *index = e->step->loops[i];
        const Block *block = launch_block_of(e->launch, index);
        const char *at = emit_bound(e, index), *size = block ? emit_size(e, block->tile) : emit_extent(e, index);
        if (block)
            at = emit_text(e, "(%s - %s)", at, e->block_first[index->id]);
        place = place ? emit_text(e, "%s * %s + %s", strpbrk(place, "+-") ? emit_text(e, "(%s)", place) : place, size, at) : at;
    }
    return place ? emit_bare(e, place) : "0";
}

static const char *emit_name_place(Emitter *e)
{
    const char *place = emit_name(e, "place");
    emit_line(e, "const int64_t %s = %s;", place, emit_kept_place(e));
    return place;
}

/* Ranks a block of one row's elements with the candidates of those before; behind the last one the best are stored. */
static void rank_on(Emitter *e, const RankBlock *block, const char *place, const char *row)
{
    const int n = e->step->id + 1;
    const long long kept = e->step->ranking->kept;
    const char *state = emit_name(e, "ranking"), *last = block->last ? block->last : "0";
    emit_line(e, "Ranking_%d %s = { ranked_%d + %s * %lld, sorted_%d, ranked_place_%d + %s * %lld, sorted_place_%d, 0, %s, 0 };", n, state, n,
              place, kept, n, n, place, kept, n, block->worst);
    emit_line(e, "if (%s) {", block->begun);
    emit_line(e, "    %s.count = candidates_%d[%s];", state, n, place);
    emit_line(e, "    %s.bound = bounds_%d[%s];", state, n, place);
    emit_line(e, "    %s.exceeds = %s.count >= RANKS_%d;", state, state, n);
    emit_line(e, "}");
    emit_line(e, "rank_on_%d(&%s, %s, %s - %s, %s, %s);", n, state, row, block->to, block->from, block->from, last);
    emit_line(e, "candidates_%d[%s] = %s.count;", n, place, state);
    emit_line(e, "bounds_%d[%s] = %s.bound;", n, place, state);
    if (!block->last)
        return;
    Scope *behind = emit_push(e);
    store_best(e, state);
    emit_pop(e);
    emit_line(e, "if (%s) {", block->last);
    emit_body(e, behind);
    emit_line(e, "}");
}

/* Which rows of a vector of points may have something in a block that is one of the best, a bit for each: all as long as so many are not
 * known, and in the last block. */
static const char *rows_with_any(Emitter *e, const Term *reduce, const RankBlock *block, const char *place)
{
    const Ranking *ranking = e->step->ranking;
    const int n = e->step->id + 1;
    const char *dtype = dtype_name(ranking->dtype), *count = e->scope->count, *at = emit_name(e, ranking->over->name);
    const char *worse = emit_name(e, "worse"), *bound = emit_name(e, "bound"), *any = emit_name(e, "any");
    Scope *seen = emit_push(e), *body = emit_push(e);
    body->loop = true;
    emit_bind(e, ranking->over, at);
    const char *element = emit_bare(e, as_ranked(e, reduce->reduce.argument, emit_varying(e, reduce->reduce.argument)));
    emit_line(e, "%s = and_boolv(%s, ahead_%sv(MOST_%d, 1, %s, %s));", worse, worse, dtype, n, bound, element);
    emit_pop(e);
    emit_line(e, "boolv %s = first_boolv(LANES);", worse);
    emit_line(e, "const %sv %s = load_%sv(bounds_%d + %s, 1, %s);", dtype, bound, dtype, n, place, count);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", at, block->from, at, block->to, at);
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "%s &= bits_boolv(not_boolv(%s));", any, worse);
    emit_pop(e);
    emit_line(e, "uint64_t %s = 0xffffffffu >> (32 - %s);", any, count);
    emit_line(e, "if (%s(%s) && candidates_%d[%s] >= RANKS_%d) {", block->last ? emit_text(e, "!(%s) && ", block->last) : "", block->begun, n,
              place, n);
    emit_body(e, seen);
    emit_line(e, "}");
    emit_line(e, "if (!%s)", any);
    emit_line(e, "    %s;", block->leave);
    return any;
}

/* Ranks a block of elements of a vector of points. */
static void rank_rows_on(Emitter *e, const Term *reduce, const RankBlock *block, const char *place)
{
    const Step *outer = e->step;
    const int n = outer->id + 1;
    const char *any = rows_with_any(e, reduce, block, place), *row = emit_name(e, "lane");
    turn_block(e, reduce->reduce.argument, block->from, block->to);
    Scope *body = open_row(e, row, outer);
    rank_on(e, block, emit_text(e, "(%s + %s)", place, row), emit_text(e, "row_%d + %s * BLOCK_%d", n, row, n));
    close_row(e, outer);
    Scope *around = emit_push(e);
    emit_line(e, "const int %s = lowest_bit(%s);", row, any);
    emit_body(e, body);
    emit_pop(e);
    emit_line(e, "for (; %s; %s &= %s - 1) {", any, any, any);
    emit_body(e, around);
    emit_line(e, "}");
}

static void rank_block(Emitter *e, const Term *reduce, const RankBlock *block, const char *place)
{
    if (e->step->ranking->rows > 1)
        rank_rows_on(e, reduce, block, place);
    else
        rank_on(e, block, place, emit_block(e, reduce->reduce.argument, block->from, block->to));
}

/* A sweep's block of elements. */
static void rank_in_sweep(Emitter *e, const Term *reduce, const char *worst)
{
    const Index *over = e->step->ranking->over;
    RankBlock block = { .from = e->block_first[over->id], .to = e->block_end[over->id], .leave = "return", .worst = worst };
    block.begun = emit_text(e, "%s > 0", block.from);
    block.last = emit_text(e, "%s == %s", block.to, emit_extent(e, over));
    rank_block(e, reduce, &block, emit_name_place(e));
}

/* A unit's share of a part's elements. */
static void rank_part(Emitter *e, const Term *reduce, const char *worst)
{
    const Index *over = e->step->ranking->over;
    const int n = e->step->id + 1;
    const char *first = e->block_first[over->id], *end = e->block_end[over->id], *place = emit_name_place(e);
    RankBlock block = { emit_name(e, emit_text(e, "%s_from", over->name)), emit_name(e, emit_text(e, "%s_to", over->name)), .leave = "continue",
                        .worst = worst };
    block.begun = emit_text(e, "!first_unit || %s > %s", block.from, first);
    Scope *body = emit_push(e);
    body->loop = true;
    emit_line(e, "const int64_t %s = size_min(%s + BLOCK_%d, %s);", block.to, block.from, n, end);
    rank_block(e, reduce, &block, place);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s += BLOCK_%d) {", block.from, first, block.from, end, block.from, n);
    emit_body(e, body);
    emit_line(e, "}");
}

/* The best of all parts of one row, in order. */
static void merge_row(Emitter *e, const char *worst)
{
    const int n = e->step->id + 1;
    const long long kept = e->step->ranking->kept;
    const char *state = emit_name(e, "ranking");
    Scope *body = emit_push(e);
    body->loop = true;
    const char *place = emit_name_place(e);
    emit_line(e, "merge_ranks_%d(&%s, ranked_%d + %s * %lld, ranked_place_%d + %s * %lld, candidates_%d[%s]);", n, state, n, place, kept, n, place,
              kept, n, place);
    emit_pop(e);
    emit_line(e, "Ranking_%d %s = { best_%d, spare_%d, best_place_%d, spare_place_%d, 0, %s, 0 };", n, state, n, n, n, n, worst);
    emit_line(e, "for (int64_t part = 0; part < %s; part++) {", emit_part_count(e));
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "settle_%d(&%s);", n, state);
    store_best(e, state);
}

static void merge_rows(Emitter *e, const char *worst)
{
    const Step *outer = e->step;
    const char *row = emit_name(e, "lane"), *count = e->scope->count;
    Scope *body = open_row(e, row, outer);
    body->loop = true;
    merge_row(e, worst);
    close_row(e, outer);
    each_row(e, row, count, body);
}

/* ---- rows that are ranked at once ---- */

/* Stores the best of a vector of rows. */
static void store_few(Emitter *e, const char *best, const char *places)
{
    const Statement *statement = e->step->statement;
    const char *rank = emit_name(e, "rank");
    Scope *body = emit_push(e);
    body->loop = true;
    emit_bind(e, statement->outputs[0].value->reduce.ranks, rank);
    for (int o = 0; o < statement->output_count; o++) {
        const Term *value = statement->outputs[o].value;
        bool place = reduction_facts[value->reduce.reduction].gives == GIVES_POSITION;
        emit_know(e, value, (Value){ emit_text(e, place ? "to_i64_i32v(%s[%s])" : "%s[%s]", place ? places : best, rank), true });
        emit_store(e, &statement->outputs[o]);
    }
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int64_t %s = 0; %s < RANKS_%d; %s++) {", rank, rank, e->step->id + 1, rank);
    emit_body(e, body);
    emit_line(e, "}");
}

/* Ranks the elements of a vector of short rows, one of each after the other. */
static void rank_few(Emitter *e, const Term *reduce)
{
    const Ranking *ranking = e->step->ranking;
    const int n = e->step->id + 1;
    const char *dtype = dtype_name(ranking->dtype), *best = emit_name(e, "best"), *places = emit_name(e, "places");
    const char *rank = emit_name(e, "rank"), *at = emit_name(e, ranking->over->name), *extent = emit_extent(e, ranking->over);
    Scope *body = emit_push(e);
    body->loop = true;
    emit_bind(e, ranking->over, at);
    const char *x = emit_bare(e, emit_varying(e, reduce->reduce.argument));
    emit_line(e, "insert_%d(%s, %s, %s, %s, (int32_t)%s);", n, best, places, at, x, at);
    emit_pop(e);
    emit_line(e, "%sv %s[RANKS_%d];", dtype, best, n);
    emit_line(e, "i32v %s[RANKS_%d];", places, n);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int %s = 0; %s < RANKS_%d; %s++) {", rank, rank, n, rank);
    emit_line(e, "    %s[%s] = splat_%sv(0);", best, rank, dtype);
    emit_line(e, "    %s[%s] = splat_i32v(0);", places, rank);
    emit_line(e, "}");
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s++) {", at, at, extent, at);
    emit_body(e, body);
    emit_line(e, "}");
    store_few(e, best, places);
}

/* Ranks the elements of a vector of points, whose rows lie side by side. */
static void rank_rows(Emitter *e, const Term *reduce, const char *from, const char *to, const char *worst)
{
    const Ranking *ranking = e->step->ranking;
    int n = e->step->id + 1;
    const char *states = emit_name(e, "rankings"), *row = emit_name(e, "lane"), *extent = emit_extent(e, ranking->over);
    const char *count = e->scope->count, *one = emit_text(e, "%s[%s]", states, row), *room = emit_text(e, "%s * %lld", row, (long long)ranking->room);
    emit_line(e, "Ranking_%d %s[LANES];", n, states);
    Scope *body = emit_push(e);
    const char *begin = emit_name(e, "begin");
    emit_line(e, "const Ranking_%d %s = { ranked_%d + %s, sorted_%d + %s, ranked_place_%d + %s, sorted_place_%d + %s, 0, %s, 0 };", n, begin, n,
              room, n, room, n, room, n, room, worst);
    emit_line(e, "%s = %s;", one, begin);
    emit_pop(e);
    each_row(e, row, count, body);
    Scope *block = emit_push(e);
    block->loop = true;
    emit_line(e, "const int64_t %s = size_min(%s + BLOCK_%d, %s);", to, from, n, extent);
    turn_block(e, reduce->reduce.argument, from, to);
    body = emit_push(e);
    emit_line(e, "rank_%d(&%s, row_%d + %s * BLOCK_%d, %s - %s, %s);", n, one, n, row, n, to, from, from);
    emit_pop(e);
    each_row(e, row, count, body);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s += BLOCK_%d) {", from, from, extent, from, n);
    emit_body(e, block);
    emit_line(e, "}");
    const Step *outer = e->step;
    body = open_row(e, row, outer);
    emit_line(e, "settle_%d(&%s);", n, one);
    store_best(e, one);
    close_row(e, outer);
    each_row(e, row, count, body);
}

/* Ranks the elements of one point of the kept loops, and stores the best. */
static void rank_row(Emitter *e, const Term *reduce, const char *from, const char *to, const char *worst)
{
    const Ranking *ranking = e->step->ranking;
    int n = e->step->id + 1;
    const char *state = emit_name(e, "ranking"), *extent = emit_extent(e, ranking->over);
    emit_line(e, "Ranking_%d %s = { ranked_%d, sorted_%d, ranked_place_%d, sorted_place_%d, 0, %s, 0 };", n, state, n, n, n, n, worst);
    Scope *block = emit_push(e);
    block->loop = true;
    emit_line(e, "const int64_t %s = size_min(%s + BLOCK_%d, %s);", to, from, n, extent);
    const char *row = emit_block(e, reduce->reduce.argument, from, to);
    emit_line(e, "rank_%d(&%s, %s, %s - %s, %s);", n, state, row, to, from, from);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s += BLOCK_%d) {", from, from, extent, from, n);
    emit_body(e, block);
    emit_line(e, "}");
    emit_line(e, "settle_%d(&%s);", n, state);
    store_best(e, state);
}

static void rank_at_once(Emitter *e, const Term *reduce, const char *worst)
{
    const char *over = e->step->ranking->over->name;
    const char *from = emit_name(e, emit_text(e, "%s_from", over)), *to = emit_name(e, emit_text(e, "%s_to", over));
    (e->step->ranking->rows > 1 ? rank_rows : rank_row)(e, reduce, from, to, worst);
}

/* Rows that were to be short may be long when the kernel runs. */
static void rank_short(Emitter *e, const Term *reduce, const char *worst)
{
    const Ranking *ranking = e->step->ranking;
    Scope *few = emit_push(e);
    rank_few(e, reduce);
    emit_pop(e);
    Scope *many = emit_push(e);
    rank_at_once(e, reduce, worst);
    emit_pop(e);
    emit_line(e, "if (%s <= %d) {", emit_extent(e, ranking->over), ranking->few);
    emit_body(e, few);
    emit_line(e, "} else {");
    emit_body(e, many);
    emit_line(e, "}");
}

void emit_rank(Emitter *e)
{
    const Term *reduce = e->step->statement->outputs[0].value;
    const Ranking *ranking = e->step->ranking;
    const char *worst = emit_bare(e, emit_extreme(e, ranking->dtype, reduction_facts[reduce->reduce.reduction].state != STATE_TOPK));
    if (e->merging) {
        (ranking->rows > 1 ? merge_rows : merge_row)(e, worst);
        return;
    }
    emit_functions(e, reduce);
    if (ranking->kept)
        (e->step->split ? rank_part : rank_in_sweep)(e, reduce, worst);
    else
        (ranking->few ? rank_short : rank_at_once)(e, reduce, worst);
}
