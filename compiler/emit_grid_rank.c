/* topk and its kin on a grid: each thread goes through its rows one after the other, or the threads of a team each through their share of
 * one, and keeps a sorted list of the best; the heads of a team's lists then make one. */
#include "emitting.h"

/* Of a list's elements. */
static Dtype ranked_dtype(const Term *reduce)
{
    return register_dtype(reduce->reduce.argument->dtype);
}

/* The C variables of a ranking. */
typedef struct Lists {
    const char *list, *places;    /* in the workspace, sorted */
    const char *filled, *head;    /* so many are there; and have been taken for the team's list, where there is one */
    bool most;
} Lists;

/* The team's next best, and where it was in the row; the thread that had it goes on in its list. */
static void take_best(Emitter *e, const Lists *l, Dtype dtype, const char *best, const char *place)
{
    emit_line(e, "%s %s = %s < %s ? %s[%s] : 0;", emit_type(dtype, false), best, l->head, l->filled, l->list, l->head);
    emit_line(e, "int64_t %s = %s < %s ? %s[%s] : INT64_MAX;", place, l->head, l->filled, l->places, l->head);
    emit_line(e, "best_of_team(%d, team, %s_of, %s_of, &%s, &%s);", l->most, l->list, l->places, best, place);
    emit_line(e, "%s += %s < %s && %s[%s] == %s;", l->head, l->head, l->filled, l->places, l->head, place);
}

static void store_ranks(Emitter *e, const Term *reduce, const Lists *l)
{
    const Statement *statement = e->step->statement;
    Scope *body = emit_push(e);
    const char *rank = emit_name(e, "rank");
    emit_bind(e, reduce->reduce.ranks, rank);
    const char *found = emit_text(e, "%s[%s]", l->list, rank), *place = emit_text(e, "%s[%s]", l->places, rank);
    if (e->team)
        take_best(e, l, ranked_dtype(reduce), found = emit_name(e, "best"), place = emit_name(e, "best_place"));
    for (int o = 0; o < statement->output_count; o++) {
        const Term *value = statement->outputs[o].value;
        bool gives_place = reduction_facts[value->reduce.reduction].gives == GIVES_POSITION;
        emit_know(e, value, (Value){ gives_place ? place : found, false });
        emit_store(e, &statement->outputs[o]);
    }
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %lld; %s++) {", rank, rank, (long long)reduce->reduce.parameter, rank);
    emit_body(e, body);
    emit_line(e, "}");
}

/* Some elements of a row are on their way at once. */
static void rank_row(Emitter *e, const Term *reduce, const Lists *l)
{
    enum { SOME = 4 };
    const Index *over = reduce->reduce.over[0];
    const char *from = emit_name(e, emit_text(e, "%s_from", over->name)), *some = emit_name(e, "some"), *n = emit_name(e, "n");
    const char *at = emit_name(e, over->name), *extent = emit_extent(e, over), *size = e->team ? "team.size" : "1";
    const char *loop = emit_text(e, "for (int %s = 0; %s < %d; %s++) {", n, n, SOME, n);
    const char *place = emit_text(e, "const int64_t %s = %s + %s * %s;", at, from, n, size), *is_there = emit_text(e, "if (%s < %s)", at, extent);
    Scope *chunk = emit_push(e);
    chunk->loop = true;
    emit_line(e, "%s %s[%d];", emit_type(ranked_dtype(reduce), false), some, SOME);
    Scope *read = emit_push(e);
    emit_line(e, "%s", place);
    Scope *value = emit_push(e);
    value->branch = true;
    emit_bind(e, over, at);
    emit_line(e, "%s[%s] = %s;", some, n, emit_bare(e, emit_term(e, reduce->reduce.argument).text));
    emit_pop(e);
    emit_line(e, "%s {", is_there);
    emit_body(e, value);
    emit_line(e, "}");
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "%s", loop);
    emit_body(e, read);
    emit_line(e, "}");
    emit_line(e, "UNROLL");
    emit_line(e, "%s", loop);
    emit_line(e, "    %s", place);
    emit_line(e, "    %s", is_there);
    emit_line(e, "        insert_rank(%d, %s, %s, %lld, &%s, %s[%s], %s);", l->most, l->list, l->places, (long long)reduce->reduce.parameter,
              l->filled, some, n, at);
    emit_line(e, "}");
    emit_pop(e);
    emit_line(e, "for (int64_t %s = %s; %s < %s; %s += %s) {", from, e->team ? "team.rank" : "0", from, extent, from,
              e->team ? emit_text(e, "%d * team.size", SOME) : emit_text(e, "%d", SOME));
    emit_body(e, chunk);
    emit_line(e, "}");
}

void emit_grid_rank(Emitter *e)
{
    const Term *reduce = e->step->statement->outputs[0].value;
    Lists l = { .filled = "filled", .list = emit_text(e, "ranked_%d", e->step->id + 1), .places = emit_text(e, "ranked_place_%d", e->step->id + 1),
                .most = reduction_facts[reduce->reduce.reduction].state == STATE_TOPK };
    emit_line(e, "int64_t %s = 0;", l.filled);
    rank_row(e, reduce, &l);
    if (e->team) {
        emit_line(e, "__shared__ %s %s_of[WARPS];", emit_type(ranked_dtype(reduce), false), l.list);
        emit_line(e, "__shared__ int64_t %s_of[WARPS];", l.places);
        emit_line(e, "int64_t %s = 0;", l.head = emit_name(e, "head"));
    }
    store_ranks(e, reduce, &l);
}
