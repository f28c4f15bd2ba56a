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

/* Ranks the elements of one point of the kept loops, and stores the best. */
void emit_rank(Emitter *e)
{
    const Statement *statement = e->step->statement;
    const Term *reduce = statement->outputs[0].value;
    const Ranking *ranking = e->step->ranking;
    int n = e->step->id + 1;
    emit_functions(e, reduce);
    const char *state = emit_name(e, "ranking"), *from = emit_name(e, emit_text(e, "%s_from", ranking->over->name));
    const char *to = emit_name(e, emit_text(e, "%s_to", ranking->over->name)), *extent = emit_extent(e, ranking->over);
    bool most = reduction_facts[reduce->reduce.reduction].state == STATE_TOPK;
    emit_line(e, "Ranking_%d %s = { ranked_%d, sorted_%d, ranked_place_%d, sorted_place_%d, 0, %s, 0 };", n, state, n, n, n, n,
              emit_extreme(e, ranking->dtype, !most));
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
    Scope *body = emit_push(e);
    const char *rank = emit_name(e, "rank");
    emit_bind(e, reduce->reduce.ranks, rank);
    for (int o = 0; o < statement->output_count; o++) {
        const Term *value = statement->outputs[o].value;
        bool place = reduction_facts[value->reduce.reduction].gives == GIVES_POSITION;
        emit_know(e, value, (Value){ emit_text(e, "%s.%s[%s]", state, place ? "places" : "values", rank), false });
        emit_store(e, &statement->outputs[o]);
    }
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < RANKS_%d; %s++) {", rank, rank, n, rank);
    emit_body(e, body);
    emit_line(e, "}");
}
