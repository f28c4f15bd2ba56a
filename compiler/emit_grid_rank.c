/* topk and its kin on a grid: each thread goes through its rows one after the other, and keeps a sorted list of the best. */
#include "emitting.h"

static void store_ranks(Emitter *e, const char *list, const char *places)
{
    const Statement *statement = e->step->statement;
    const Term *reduce = statement->outputs[0].value;
    Scope *body = emit_push(e);
    const char *rank = emit_name(e, "rank");
    emit_bind(e, reduce->reduce.ranks, rank);
    for (int o = 0; o < statement->output_count; o++) {
        const Term *value = statement->outputs[o].value;
        bool place = reduction_facts[value->reduce.reduction].gives == GIVES_POSITION;
        emit_know(e, value, (Value){ emit_text(e, "%s[%s]", place ? places : list, rank), false });
        emit_store(e, &statement->outputs[o]);
    }
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %lld; %s++) {", rank, rank, (long long)reduce->reduce.parameter, rank);
    emit_body(e, body);
    emit_line(e, "}");
}

void emit_grid_rank(Emitter *e)
{
    const Term *reduce = e->step->statement->outputs[0].value;
    const Index *over = reduce->reduce.over[0];
    bool most = reduction_facts[reduce->reduce.reduction].state == STATE_TOPK;
    const char *list = emit_text(e, "ranked_%d", e->step->id + 1), *places = emit_text(e, "ranked_place_%d", e->step->id + 1);
    emit_line(e, "int64_t filled = 0;");
    Scope *body = emit_push(e);
    const char *at = emit_name(e, over->name);
    body->loop = true;
    emit_bind(e, over, at);
    Value x = emit_term(e, reduce->reduce.argument);
    emit_line(e, "insert_rank(%d, %s, %s, %lld, &filled, %s, %s);", most, list, places, (long long)reduce->reduce.parameter,
              emit_bare(e, x.text), at);
    emit_pop(e);
    emit_line(e, "for (int64_t %s = 0; %s < %s; %s++) {", at, at, emit_extent(e, over), at);
    emit_body(e, body);
    emit_line(e, "}");
    store_ranks(e, list, places);
}
