/* topk and its kin: templates/rank.c with its holes filled, and what calls it for one point of the kept loops. */
#include <string.h>

#include "emitting.h"

static const char *constants(Emitter *e, const Ranking *ranking, int number, bool most)
{
    int n = number;
    Text text = text_new(e->arena);
    text_print(&text, "enum { RANKS_%d = %lld, MOST_%d = %d, VECTORS_%d = 4, SOME_%d = VECTORS_%d * LANES, RUN_%d = %d, BLOCK_%d = %d };\n",
               n, (long long)ranking->ranks, n, most, n, n, n, n, RANKING_RUN, n, ranking->block);
    text_print(&text, "enum { GROUPS_%d = (RANKS_%d * 3 / 2 + LANES - 1) / LANES, PARTS_%d = GROUPS_%d < 4 ? 4 : 1 };\n", n, n, n, n);
    text_print(&text, "enum { PLACES_%d = GROUPS_%d * LANES > RUN_%d ? GROUPS_%d * LANES : RUN_%d };\n", n, n, n, n, n);
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

/* One element, or a vector of them, into its place in the block's row. */
static void emit_element_of(Emitter *e, const Term *x, const char *row, const char *at, const char *from)
{
    const Ranking *ranking = e->step->ranking;
    Value value = emit_term(e, x);
    const char *text = value.text, *to = emit_text(e, "%s + (%s - %s)", row, at, from);
    bool varying = e->lanes && e->step->vector == e->step->ranking->over;
    if (varying && !value.varying)
        text = emit_splat(e, x->dtype, text);
    if (varying && register_dtype(x->dtype) == DTYPE_BOOL)
        text = emit_text(e, "to_i32_boolv(%s)", emit_bare(e, text));
    if (varying)
        emit_line(e, "store_%sv(%s, 1, %s, %s);", dtype_name(ranking->dtype), to, emit_bare(e, text),
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
    const char *row = emit_name(e, "row"), *first = emit_name(e, emit_text(e, "%s_first", ranking->over->name));
    const char *s = emit_name(e, "s");
    Scope *body = emit_push(e), *value = emit_push(e);
    body->loop = value->loop = true;
    emit_bind(e, ranking->over, at);
    emit_line(e, "const int64_t %s = size_min(%s + %s, %s - 1);", at, first, s, to);
    const char *text = emit_varying(e, x);
    if (register_dtype(x->dtype) == DTYPE_BOOL)
        text = emit_text(e, "to_i32_boolv(%s)", emit_bare(e, text));
    emit_line(e, "%s[%s] = %s;", square, s, emit_bare(e, text));
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
    Step *scalar = ARENA_NEW(e->arena, Step);
    *scalar = *outer;
    scalar->vector = NULL;
    const char *lanes = emit_bound(e, outer->vector);
    body = emit_push(e);
    body->count = NULL;
    const char *point = emit_name(e, emit_text(e, "%s_at", outer->vector->name));
    emit_bind(e, outer->vector, point);
    emit_line(e, "const int64_t %s = %s + %s;", point, lanes, row);
    emit_line(e, "settle_%d(&%s);", n, one);
    e->step = scalar;
    store_best(e, one);
    e->step = outer;
    emit_pop(e);
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

void emit_rank(Emitter *e)
{
    const Term *reduce = e->step->statement->outputs[0].value;
    const Ranking *ranking = e->step->ranking;
    emit_functions(e, reduce);
    const char *from = emit_name(e, emit_text(e, "%s_from", ranking->over->name)), *to = emit_name(e, emit_text(e, "%s_to", ranking->over->name));
    const char *worst = emit_bare(e, emit_extreme(e, ranking->dtype, reduction_facts[reduce->reduce.reduction].state != STATE_TOPK));
    if (ranking->rows > 1)
        rank_rows(e, reduce, from, to, worst);
    else
        rank_row(e, reduce, from, to, worst);
}
