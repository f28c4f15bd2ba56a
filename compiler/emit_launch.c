/* Launches: the function of one task, which finds the blocks of its units and calls the steps; and the order of it all. */
#include <string.h>

#include "emit_tiling.h"

/* A block's first index and the one behind its last, from what is left of the unit's number. */
void emit_unit_block(Emitter *e, Text *text, const Launch *launch, int b)
{
    const Block *block = &launch->blocks[b];
    const char *name = e->block_names[launch->id][b], *extent = emit_size(e, block->extent), *tile = emit_size(e, block->tile);
    const char *left = launch->block_count == 1 ? "unit" : "rest";
    bool whole = b > 0;
    if (size_is_constant(block->tile, 1)) {
        text_print(text, "        const int64_t %s_first = %s%s%s, %s_end = %s_first + 1;\n", name, left, whole ? " % " : "",
                   whole ? extent : "", name, name);
        if (whole)
            text_print(text, "        rest /= size_max(%s, 1);\n", extent);
        return;
    }
    if (whole)
        text_print(text, "        const int64_t %s_tiles = size_max(size_ceil_div(%s, %s), 1);\n", name, extent, tile);
    text_print(text, "        const int64_t %s_first = %s%s%s%s * %s, %s_end = size_min(%s_first + %s, %s);\n", name, left,
               whole ? " % " : "", whole ? name : "", whole ? "_tiles" : "", tile, name, name, tile, extent);
    if (whole)
        text_print(text, "        rest /= %s_tiles;\n", name);
}

/* ---- whether anybody reads a temporary ---- */

/* Extents that must not be 0: a bool for each index of the checked program. */
typedef const bool *Clause;

/* When something is evaluated at all: any of the clauses holds. None of them implies another; an empty one is always. */
struct Needs {
    Clause *clauses;
    int count;
};

/* The tensors whose reads are looked for, and what came of it. */
typedef struct Reached {
    Emitter *e;
    const Statement *maker;
    Needs needs;
    Clause around;                /* the loops that must run for the term at hand to be evaluated */
    Clause *seen;                 /* [term id]: those under which it was last looked at; NULL: not yet */
} Reached;

static bool implies(const Emitter *e, Clause clause, Clause weaker)
{
    for (int i = 0; i < e->plan->program->index_count; i++)
        if (weaker[i] && !clause[i])
            return false;
    return true;
}

static void add_clause(Emitter *e, Needs *needs, Clause clause)
{
    int kept = 0;
    for (int i = 0; i < needs->count; i++)
        if (implies(e, clause, needs->clauses[i]))
            return;
    for (int i = 0; i < needs->count; i++)
        if (!implies(e, needs->clauses[i], clause))
            needs->clauses[kept++] = needs->clauses[i];
    needs->count = kept;
    ARENA_APPEND(e->arena, needs->clauses, needs->count, clause);
}

static Clause and_loops(Emitter *e, Clause around, Index *const *indices, int count)
{
    int all = e->plan->program->index_count;
    bool *clause = ARENA_ARRAY(e->arena, bool, all + 1);
    memcpy(clause, around, (size_t)all * sizeof *clause);
    for (int i = 0; i < count; i++) {
        char first = emit_extent(e, indices[i])[0];
        clause[indices[i]->origin->id] |= first < '1' || first > '9';    /* a number is known not to be 0 */
    }
    return clause;
}

static bool makes(const Statement *statement, const Tensor *tensor)
{
    for (int o = 0; o < statement->output_count; o++)
        if (statement->outputs[o].tensor->home == tensor->home)
            return true;
    return false;
}

/* Adds the loops around each read of the tensors in a term. */
static void reach_reads(void *user, const Term *term)
{
    Reached *r = user;
    Clause around = r->around;
    if (r->seen[term->id] && implies(r->e, around, r->seen[term->id]))
        return;
    r->seen[term->id] = around;
    if (term->kind == TERM_READ && makes(r->maker, term->read.tensor))
        add_clause(r->e, &r->needs, around);
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
        r->around = and_loops(r->e, around, term->reduce.over, term->reduce.over_count);
    term_each_argument(term, reach_reads, r);
    r->around = around;
}

/* A caller's array is always needed; a temporary where a step that is needed reads it. */
static Needs needs_of(Emitter *e, const Step *step)
{
    Reached r = { .e = e, .maker = step->statement };
    for (int o = 0; o < step->statement->output_count; o++)
        if (e->plan->storage[step->statement->outputs[o].tensor->home->id].place == PLACE_CALLER)
            add_clause(e, &r.needs, ARENA_ARRAY(e->arena, bool, e->plan->program->index_count + 1));
    for (int s = step->id + 1; s < e->plan->step_count; s++) {
        const Step *reader = e->plan->steps[s];
        for (int c = 0; c < e->needs[s].count; c++) {
            r.around = and_loops(e, e->needs[s].clauses[c], reader->loops, reader->loop_count);
            r.seen = ARENA_ARRAY(e->arena, Clause, e->plan->lowered->term_count);
            for (int o = 0; o < reader->statement->output_count; o++) {
                const Output *into = &reader->statement->outputs[o];
                reach_reads(&r, into->value);
                for (int a = 0; a < into->tensor->rank; a++)
                    for (int k = 0; k < into->positions[a].count; k++)
                        if (into->positions[a].parts[k].gather)
                            reach_reads(&r, into->positions[a].parts[k].gather);
            }
        }
    }
    return r.needs;
}

void emit_find_needs(Emitter *e)
{
    e->needs = ARENA_ARRAY(e->arena, Needs, e->plan->step_count);
    for (int s = e->plan->step_count - 1; s >= 0; s--)
        e->needs[s] = needs_of(e, e->plan->steps[s]);
}

static const char *spell_clause(Emitter *e, Clause clause)
{
    const char *text = "";
    for (int i = 0; i < e->plan->program->index_count; i++)
        if (clause[i])
            text = emit_text(e, "%s%s%s > 0", text, text[0] ? " && " : "", e->extents[i]);
    return text;
}

static void find_computed_read(void *user, const Term *term)
{
    bool *found = user;
    for (int a = 0; term->kind == TERM_READ && a < term->read.tensor->rank; a++)
        *found |= !position_is_plain(&term->read.positions[a]);
}

/* A temporary that nobody reads may not fail, nor read where nobody has looked whether it may: the condition under which
 * a step that reads at computed positions is needed, "" for always. */
const char *emit_needed_when(Emitter *e, const Step *step)
{
    const Output *output = &step->statement->outputs[0];
    const Needs *needs = &e->needs[step->id];
    bool computed = false;
    for (int o = 0; o < step->statement->output_count; o++)
        term_each_below(e->arena, step->statement->outputs[o].value, find_computed_read, &computed);
    for (int a = 0; a < output->tensor->rank; a++)
        computed |= !position_is_plain(&output->positions[a]);
    if (!computed)
        return "";
    if (needs->count == 1)
        return spell_clause(e, needs->clauses[0]);
    const char *any = needs->count ? "" : "0";
    for (int c = 0; c < needs->count; c++)
        any = emit_text(e, "%s%s(%s)", any, c ? " || " : "", spell_clause(e, needs->clauses[c]));
    return any;
}

static void emit_call(Emitter *e, Text *text, const Step *step, int depth)
{
    const char *needed = emit_needed_when(e, step);
    for (int merging = 0; merging < (step->joined ? 0 : step->added ? 2 : 1); merging++) {
        const char *call = e->calls[merging][step->id];
        if (needed[0])
            text_print(text, "%*sif (%s)\n%*s%s\n", 4 * depth, "", needed, 4 * depth + 4, "", call);
        else
            text_print(text, "%*s%s\n", 4 * depth, "", call);
    }
}

/* Calls of some steps in order; those that run point by point of a block in a loop over it. */
static void emit_calls(Emitter *e, Text *text, const Launch *launch, int from, int to, int depth)
{
    for (int s = from; s < to; s++) {
        if (!launch_runs_by_points(launch, s)) {
            emit_call(e, text, launch->steps[s], depth);
            continue;
        }
        const char *name = e->block_names[launch->id][launch->block_count - 1];
        text_print(text, "%*sfor (int64_t %s_now = %s_first; %s_now < %s_end; %s_now++) {\n", 4 * depth, "", name, name, name, name, name);
        for (; s < to && launch_runs_by_points(launch, s); s++)
            emit_call(e, text, launch->steps[s], depth + 1);
        text_print(text, "%*s}\n", 4 * depth, "");
        s--;
    }
}

/* Those of some steps with guessed maxima, and where these were no good one after the other. */
static void emit_guessed_calls(Emitter *e, Text *text, const Launch *launch, int depth)
{
    const Guess *guess = launch->guess;
    const char *calls[] = { e->calls[1][guess->largest->id], e->calls[0][guess->product->id], e->calls[1][guess->product->id] };
    Text guessed = text_new(e->arena);
    text_print(&guessed, "int guessed = %s;\nif (guessed) {\n    %s;\n    %s\n    guessed = %s;\n}\nif (!guessed) {\n",
               emit_guess_pays(e, guess), calls[0], calls[1], calls[2]);
    tiling_lines(text, emit_text(e, "%*s", 4 * depth, ""), guessed.bytes);
    emit_calls(e, text, launch, guess->from, guess->to, depth + 1);
    text_print(text, "%*s}\n", 4 * depth, "");
}

/* All of them; those of a sweep for each of its blocks. Even where there are no points what is carried has a start. */
static void emit_calls_once(Emitter *e, Text *text, const Launch *launch, int depth)
{
    if (!launch->sweep && launch->guess) {
        emit_calls(e, text, launch, 0, launch->guess->from, depth);
        emit_guessed_calls(e, text, launch, depth);
        emit_calls(e, text, launch, launch->guess->to, launch->step_count, depth);
        return;
    }
    if (!launch->sweep) {
        emit_calls(e, text, launch, 0, launch->step_count, depth);
        return;
    }
    const char *name = e->block_names[launch->id][launch->block_count], *extent = emit_size(e, launch->sweep->extent);
    const char *tile = emit_size(e, launch->sweep->tile);
    emit_calls(e, text, launch, 0, launch->sweep_from, depth);
    text_print(text, "%*sfor (int64_t %s_first = 0; %s_first == 0 || %s_first < %s; %s_first += %s) {\n", 4 * depth, "", name, name, name, extent,
               name, tile);
    text_print(text, "%*s    const int64_t %s_end = size_min(%s_first + %s, %s);\n", 4 * depth, "", name, name, tile, extent);
    emit_calls(e, text, launch, launch->sweep_from, launch->sweep_to, depth + 1);
    text_print(text, "%*s}\n", 4 * depth, "");
    emit_calls(e, text, launch, launch->sweep_to, launch->step_count, depth);
}

static void emit_all_calls(Emitter *e, Text *text, const Launch *launch)
{
    if (!launch->lifts) {
        emit_calls_once(e, text, launch, 2);
        return;
    }
    text_print(text, "        /* Sums of powers are so many times as large as they are, so that no power is below the normal numbers; where\n"
               "         * one overflows, all is done again as it is. */\n        for (float up = 0x1p%df; up > 0;) {\n", LIFT);
    text_put(text, "            int overflows = 0, *const overflow = &overflows;\n");
    emit_calls_once(e, text, launch, 3);
    text_put(text, "            up = overflows && up > 1 ? 1.0f : 0.0f;\n        }\n");
}

void emit_launch(Emitter *e, const Launch *launch)
{
    int id = launch->id + 1;
    Text body = text_new(e->arena), calls = text_new(e->arena);
    for (int s = 0; s < launch->step_count; s++)
        emit_step(e, launch, launch->steps[s]);
    emit_all_calls(e, &calls, launch);
    for (int b = launch->block_count - 1; b >= 0; b--)
        emit_unit_block(e, &body, launch, b);
    if (emit_mentions(calls.bytes, "part"))
        text_put(&body, "        const int64_t part = task;\n");
    if (emit_mentions(calls.bytes, "first_unit"))
        text_print(&body, "        const int first_unit = unit == task * f->grain_%d;\n", id);
    text_put(&body, calls.bytes);
    bool own = emit_mentions(calls.bytes, "own"), rest = emit_mentions(body.bytes, "rest");
    const char *locals = emit_locals(e, body.bytes);
    text_print(&e->functions, "/* A task of launch %d: its units of work, each one tile of every block. */\n", id);
    text_print(&e->functions, "static void launch_%d(void *argument, int64_t task, int worker)\n{\n"
               "    const Frame *f = (const Frame *)argument;\n", id);
    text_put(&e->functions, own ? "    char *own = f->workspace + f->shared + worker * f->per_worker;\n" : "    (void)worker;\n");
    text_put(&e->functions, locals);
    text_print(&e->functions, "    const int64_t units_end = size_min((task + 1) * f->grain_%d, f->units_%d);\n", id, id);
    text_print(&e->functions, "    for (int64_t unit = task * f->grain_%d; unit < units_end && !is_stopped(f); unit++) {\n", id);
    text_put(&e->functions, rest ? "        int64_t rest = unit;\n" : "");
    text_put(&e->functions, body.bytes);
    text_put(&e->functions, "    }\n");
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->result)
            text_print(&e->functions, "    if (f->past_%d)\n        STREAM_END();\n", launch->steps[s]->id + 1);
    text_put(&e->functions, "}\n\n");
}

/* Temporaries that `+=` adds to at computed positions begin as zeros. */
static void clear_targets(Emitter *e, Text *text, const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++) {
        const Tensor *tensor = launch->steps[s]->statement->outputs[0].tensor;
        const Storage *storage = &e->plan->storage[tensor->home->id];
        if (launch->steps[s]->scatters && !tensor->previous && storage->place != PLACE_CALLER)
            text_print(text, "    memset(f->workspace + %s, 0, (size_t)%s);\n", emit_size(e, storage->offset),
                       emit_size(e, storage->bytes));
    }
}

/* No worker has packed a tiled product's columns yet. */
static void forget_panels(Emitter *e, Text *text, const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++) {
        for (const Contract *contract = launch->steps[s]->contract; contract; contract = contract->parts)
            if (contract->panels_of)
                text_print(text, "    for (int worker = 0; worker < workers; worker++)\n"
                           "        *(int64_t *)(f->workspace + f->shared + worker * f->per_worker + %s) = -1;\n",
                           emit_size(e, contract->panels_of));
    }
}

const char *emit_run(Emitter *e)
{
    Text text = text_new(e->arena);
    const char *permission = plan_permission(e->plan);
    if (permission)
        text_print(&text, "    if (EINC_TILES && !%s())\n        return BAD_MACHINE;\n", permission);
    for (int l = 0; l < e->plan->launch_count; l++) {
        const Launch *launch = e->plan->launches[l];
        clear_targets(e, &text, launch);
        forget_panels(e, &text, launch);
        text_print(&text, "    if (run(f, launch_%d, f->tasks_%d))\n        return failure;\n", l + 1, l + 1);
        for (int s = 0; s < launch->step_count; s++)
            if (launch->steps[s]->split)
                text_print(&text, "    %s\n", e->calls[1][launch->steps[s]->id]);
    }
    text_put(&text, "");
    return emit_text(e, "%s%s", emit_locals(e, text.bytes), text.bytes);
}
