/* A step as a tiled product: templates/contract.c with its holes filled. Functions hand each other the indices around
 * them; each is written with its lanes along an index of its own. */
#include <string.h>

#include "emit_tiling.h"

/* Whether the reductions behind the product are so simple that they take the sums from the registers. Those of tiles have a
 * tile's sums when the next one's rows are at hand, and with them the next one's places. */
static bool takes_registers(Emitter *e, const Tiling *t)
{
    for (int r = 0; r < t->first_count; r++) {
        const Term *reduce = tiling_whole_first(e, t, r);
        bool place = state_needs_place(reduce) && !tiling_has_registers(t) && state_takes_rows(reduce);
        bool group = state_group(reduce) && !tiling_has_registers(t);
        if (!(state_is_simple(reduce) || place || group) || !contract_is_of_sums(reduce->reduce.argument, t->c->product))
            return false;
    }
    return t->first_count > 0;
}

/* Whether a value of the sums alone takes few instructions: so many copies of them stand in a tile as it has vectors. */
static bool is_brief(const Term *term, const Term *product)
{
    static const Function few[] = { FUNCTION_MUL, FUNCTION_ADD, FUNCTION_SUB, FUNCTION_NEG, FUNCTION_MAX, FUNCTION_MIN, FUNCTION_RELU,
                                    FUNCTION_CAST };
    bool known = term == product || term->kind == TERM_CONSTANT;
    for (size_t i = 0; !known && term->kind == TERM_MAP && i < sizeof few / sizeof *few; i++)
        known = term->map.function == few[i];
    for (int i = 0; known && term != product && term->kind == TERM_MAP && i < term->map.count; i++)
        known = is_brief(term->map.arguments[i], product);
    return known;
}

/* Whether what the step stores comes from the sums in registers. */
static bool is_stored(const Tiling *t)
{
    const Output *output = &t->step->statement->outputs[0];
    if (t->c->reduces || t->c->places || t->c->sums_turned || t->step->split || t->step->statement->output_count != 1 ||
        !is_brief(tiling_whole_value(t), t->c->product) || output->value->dtype != t->c->product->dtype || output->tensor->dtype != t->dtype ||
        output->tensor->previous || output->tensor->from_caller || t->step->scatters)
        return false;
    for (int a = 0; a < output->tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]))
            return false;
    if (tiling_has_registers(t))
        return t->c->columns.count == 1 && tiling_whole_value(t) == t->c->product;
    return t->c->columns.count == 1 || t->c->pieces;
}

static void set_parameters(Emitter *e, Tiling *t)
{
    t->parameters = emit_common_parameters(e);
    for (int s = 0; s < 4; s++)
        for (int i = 0; i < tiling_set(t->c, s)->count; i++)
            emit_parameter(&t->parameters, "int64_t ", t->names[tiling_set(t->c, s)->list[i]->id]);
    emit_parameter(&t->parameters, "int64_t ", "depth");
    emit_parameter(&t->parameters, "int64_t ", "tile_place");
    emit_parameter(&t->parameters, "int64_t ", "place");
    if (t->runs)
        emit_parameter(&t->parameters, "int64_t ", "behind");
    emit_parameter(&t->parameters, "int64_t ", "sweep_from");
    emit_parameter(&t->parameters, "int64_t ", "sweep_to");
    emit_parameter(&t->parameters, "int64_t ", "from_point");
    emit_parameter(&t->parameters, "int64_t ", "to_point");
    emit_parameter(&t->parameters, "int ", "count");
    emit_parameter(&t->parameters, "int ", "height");
    emit_parameter(&t->parameters, emit_text(e, "const %s *", dtype_c(t->dtype)), "kept");
    emit_parameter(&t->parameters, "int64_t *", "kept_places");
    emit_parameter(&t->parameters, "int64_t ", "places_from");
    emit_parameter(&t->parameters, "const Piece *", "placed");
    emit_parameter(&t->parameters, emit_text(e, "%s *", emit_element(t->dtype)), "result");
    emit_parameter(&t->parameters, "int64_t ", "result_step");
    emit_parameter(&t->parameters, "int ", "past");
    emit_parameter(&t->parameters, "const Run *", "leaving");
    emit_parameter(&t->parameters, "int ", "tame");
    emit_parameter(&t->parameters, "int ", "is_narrow");
    tiling_reach_parameters(e, t);
}

/* What packs rows may ask for: those of a block of tiles, or of a unit of work as a window. */
static ParameterSet row_parameters(Emitter *e, const Tiling *t)
{
    if (!t->c->window)
        return t->parameters;
    ParameterSet set = emit_common_parameters(e);
    for (int i = 0; i < t->c->batch.count; i++)
        emit_parameter(&set, "int64_t ", t->names[t->c->batch.list[i]->id]);
    emit_parameter(&set, "int64_t ", "depth");
    emit_parameter(&set, "int64_t ", "sweep_from");
    emit_parameter(&set, "int64_t ", "sweep_to");
    return set;
}

/* "head(parameters)\n{\nlocals body}\n" */
static const char *spell_function(Emitter *e, const ParameterSet *set, const char *comment, const char *name, int number,
                                  const char *body)
{
    const char *whole = emit_text(e, "%s%s", emit_locals(e, body), body);
    return emit_text(e, "/* %s */\nKERNEL static void %s_%d(%s)\n{\n%s}\n", comment, name, number,
                     emit_parameters(e, set, whole, true), whole);
}

static const char *spell_call(Emitter *e, const ParameterSet *set, const char *name, int number, const char *body)
{
    const char *whole = emit_text(e, "%s%s", emit_locals(e, body), body);
    return emit_text(e, "%s_%d(%s)", name, number, emit_parameters(e, set, whole, false));
}

/* What a tile's sums start at before the first point: the first word of each column in the panel, or the product's own start, the
 * same for all, which only registers of tiles load from memory. */
static const char *start_of(Emitter *e, const Tiling *t)
{
    if (!t->c->tile->has_starts)
        return tiling_has_registers(t) ? "start" : "NULL";
    return emit_text(e, "(const %s *)(panels_%d + %s * %s)", dtype_c(t->dtype), t->number, tiling_tile_place(t), tiling_panel_depth(t));
}

static const char *constants(Emitter *e, const Tiling *t)
{
    int n = t->number;
    return emit_text(e, "enum { ROWS_%d = %d, VECTORS_%d = %d, COLUMNS_%d = VECTORS_%d * LANES, DEPTH_%d = %d%s, NEAR_%d = %d, BLOCK_%d = %d%s%s%s%s%s };\n",
                     n, t->c->tile_rows, n, t->c->tile_vectors, n, n, n, t->c->depth_block,
                     t->c->deep_block ? emit_text(e, ", DEEP_%d = %d", n, t->c->deep_block) : "", n, t->c->near, n, t->c->row_block,
                     !t->c->close ? "" : !tiling_has_registers(t) ? emit_text(e, ", CLOSE_%d = %d", n, t->c->close)
                     : emit_text(e, ", CLOSE_%d = %d, CLOSE_BLOCK_%d = %d", n, t->c->close, n, t->c->close_block),
                     t->c->asked_points && tiling_asks_in_order(e, t) ? emit_text(e, ", ASKED_%d = %d", n, t->c->asked_points)
                     : t->c->sweep ? emit_text(e, ", SWEEP_%d = %d", n, t->c->sweep) : "",
                     t->runs ? emit_text(e, ", RUN_%d = %d", n, t->c->run) : "",
                     tiling_pairs_rows(t) ? emit_text(e, ", HALVES_%d = %d", n, t->c->halves)
                     : tiling_has_pairs(t) ? emit_text(e, ", PAIRS_%d = %d", n, t->c->pairs) : "",
                     tiling_has_stage(t) ? emit_text(e, ", STAGE_%d = %d", n, STAGE_BYTES / (int)dtype_size(t->dtype)) : "");
}

/* A function that stores what a tile is in memory: of whole tiles it knows that no vector ends early. */
static const char *spell_whole(Emitter *e, const ParameterSet *set, const char *comment, const char *name, int number, const char *body)
{
    const char *all = emit_text(e, "%s%s", emit_locals(e, body), body), *call = spell_call(e, set, emit_text(e, "%s_rows", name), number, body);
    const char *parameters = emit_parameters(e, set, all, true);
    return emit_text(e, "INLINE void %s_rows_%d(%s)\n{\n%s}\n\n/* %s */\nKERNEL static void %s_%d(%s)\n{\n"
                     "    if (count == COLUMNS_%d) {    /* known from here on: no vector is asked for its lanes */\n        count = COLUMNS_%d;\n        %s;\n"
                     "    } else {\n        %s;\n    }\n}\n", name, number, parameters, all, comment, name, number, parameters, number,
                     number, call, call);
}

/* What becomes of a tile's sums: of one that meets the where's condition in part, everywhere, nowhere. */
static const char *after_functions(Emitter *e, const Tiling *t, const char *const afters[3])
{
    static const char *const names[] = { "after", "after_whole", "after_else" };
    static const char *const comments[] = { "What becomes of a tile's sums.", "The same where all of it meets the condition.",
                                            "The same where none of it does." };
    Text text = text_new(e->arena);
    for (int i = 0; i < 3; i++)
        if (afters[i][0])
            text_put(&text, (tiling_stores_whole(t) ? spell_whole : spell_function)(e, &t->parameters, comments[i], names[i], t->number, afters[i]));
    return text.bytes;
}

/* Of the step's own function. */
static ParameterSet step_parameters(Emitter *e, const Tiling *t)
{
    ParameterSet set = emit_common_parameters(e);
    if (t->guess)
        emit_parameter(&set, "int ", "guessed");
    return set;
}

/* The functions for maxima that are guessed, of a unit's tiles and of its end. */
static const char *guess_functions(Emitter *e, Tiling *t, const char *guessed)
{
    if (!t->guess)
        return "";
    ParameterSet common = emit_common_parameters(e);
    const char *body = tiling_near(e, t), *near = emit_text(e, "%s%s", emit_locals(e, body), body), *start = tiling_started(e, t);
    e->step = t->step;
    e->calls[1][t->step->id] = spell_call(e, &common, "near", t->number, body);
    e->calls[1][t->guess->largest->id] = spell_call(e, &common, "start", t->number, start);
    return emit_text(e, "\n%s\n%s\n/* Whether no power of a guessed maximum was too large, nor all of them too small. */\n"
                     "KERNEL static int near_%d(%s)\n{\n%s}\n",
                     spell_function(e, &t->parameters, "A tile's sums as powers, with guessed maxima: those of a row's first columns.",
                                    "guessed", t->number, guessed),
                     spell_function(e, &common, "Powers of no tile.", "start", t->number, start),
                     t->number, emit_parameters(e, &common, near, true), near);
}

static void fill_template(Emitter *e, Tiling *t, const char *const bodies[4], const char *const afters[3], const char *guesses,
                          const char *const meets[2], const char *step)
{
    ParameterSet common = step_parameters(e, t), of_rows = row_parameters(e, t);
    const char *meeting[2];
    for (int points = 0; points < 2; points++)
        meeting[points] = !meets[points][0] ? "" :
                          spell_function(e, &t->parameters, points ? "The contracted points at which a tile's rows are no zeros." :
                                         "The columns of a tile that somebody asks for.", tiling_meet_function(points), t->number,
                                         meets[points]);
    Hole holes[] = {
        { "title", emit_text(e, "/* %s */\n", emit_formula(e)) },
        { "constants", constants(e, t) },
        { "pack_columns", spell_function(e, &t->parameters, "Packs the panel of `count` columns.", "pack_columns", t->number, bodies[0]) },
        { "pack_rows", spell_function(e, &of_rows, t->c->window ? "Packs all rows." : "Packs `height` rows.", "pack_rows", t->number, bodies[1]) },
        { "tile", tiling_functions(e, t) },
        { "after", emit_text(e, "%s%s", after_functions(e, t, afters), guesses) },
        { "finish", emit_text(e, "%s%s%s", meeting[0], meeting[1], t->c->reduces ? spell_function(e, &t->parameters, "The columns' results.", "finish", t->number, bodies[3]) : "") },
        { "whole", spell_function(e, &common, "The step for one unit of work.", "step", t->number, step) },
    };
    text_put(&e->functions, tiling_skeleton(e, t, "contract.c", holes, sizeof holes / sizeof *holes));
    text_put(&e->functions, "\n");
}

/* What becomes of a tile's sums after the last point, run by run. */
static const char *after_tile(Emitter *e, const Tiling *t, const char *call, const char *guessed)
{
    Text text = text_new(e->arena);
    const char *when = t->in_pieces ? "is_last && !placed" : t->is_stored ? "is_last && !result"
                       : tiling_where(t) ? "is_last && !is_whole" : "is_last";
    if (t->waits)
        return emit_text(e, "if (is_last && guessed) {\n    if (%s || !(%s))\n        %s;\n    if (%s) {\n"
                         "        const Waiting_%d noted = %s;\n        waiting = noted;\n    }\n} else if (%s) {\n    %s;\n}",
                         tiling_guesses(e, t), t->waits, guessed, t->waits, t->number, t->waiting, when, call);
    if (t->guess)
        return emit_text(e, "if (is_last && guessed)\n    %s;\nelse if (%s)\n    %s;", guessed, when, call);
    if (t->c->columns.count == 1)
        return emit_text(e, "if (%s)\n    %s;", when, call);
    text_print(&text, "if (%s) {\n", when);
    tiling_lines(&text, "    ", tiling_each_run(e, t, emit_text(e, "%s;", call)));
    text_put(&text, "}");
    return text.bytes;
}

/* What becomes of the sums of a tile all of which takes one branch of the where. */
static const char *after_branch(Emitter *e, Tiling *t, const Term *branch)
{
    t->branch = branch;
    const char *body = tiling_after(e, t);
    t->branch = NULL;
    return body;
}

/* The functions of one product, and how the step is called that it makes. */
static const char *emit_product(Emitter *e, const Step *step, const Contract *c)
{
    Tiling tiling = { .c = c, .step = step, .number = c->number }, *t = &tiling;
    const char *const nothing[8] = { "", "", "", "", "", "", "", "" };
    t->dtype = state_dtype(t->c->product);
    t->names = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->index_count);
    tiling_step(e, t, nothing);    /* finds the names and the domain */
    t->in_registers = takes_registers(e, t);
    t->runs = c->run > 1 && t->in_registers && tiling_reads_safely(e, c->left);
    t->cuts = tiling_may_cut(e, t);
    t->is_stored = is_stored(t) && !e->plan->lifted[c->product->id];
    t->in_pieces = t->is_stored && t->c->columns.count > 1;
    t->guess = e->launch->guess && e->launch->guess->product == step ? e->launch->guess : NULL;
    t->may_pass = t->is_stored && step->result && !tiling_has_registers(t) && (tiling_is_lines(e, t) || (t->in_pieces && c->stages));
    set_parameters(e, t);
    bool parts = c->tile->parts > 0;
    const Term *where = tiling_where(t);
    const char *bodies[4] = { parts ? tiling_pack_column_parts(e, t) : tiling_pack_columns(e, t),
                              parts ? tiling_pack_row_parts(e, t) : tiling_pack_rows(e, t),
                              t->in_registers && !where ? "" : tiling_after(e, t), t->c->reduces ? tiling_finish(e, t) : "" };
    const char *whole_after = "", *else_after = "", *guessed = "";
    if (t->guess) {
        t->waits = tiling_waits(e, t);
        guessed = tiling_guessed(e, t);
    }
    if (t->waits) {
        t->waiting = tiling_waiting(e, t);
        t->taken_beside = tiling_taken_beside(e, t);
    }
    if (where && !t->in_registers && !t->is_stored)
        whole_after = after_branch(e, t, where->select.yes);
    if (c->columns_met.condition && c->columns_met.fills)
        else_after = t->guess ? tiling_cleared(e, t) : after_branch(e, t, where->select.no);
    const char *taken = tiling_taken(e, t), *whole = emit_text(e, "%s%s", emit_locals(e, taken), taken);
    bool straight = t->is_stored && tiling_has_registers(t);    /* the tile's own instructions store it */
    const char *whole_tile = emit_text(e, "COLUMNS_%d", t->number), *kept_step = whole_tile;
    if (straight)
        kept_step = emit_text(e, "result ? result_step : (int64_t)%s", whole_tile);
    const char *kept = emit_text(e, "%s%s", tiling_holds(t) ? "stays ? NULL : " : "", straight ? "result ? result : kept" : "kept");
    bool some = t->c->points_met.condition != NULL;
    const char *before = !c->sweep ? "done" : step->split ? emit_text(e, "sweep_from - %s + done", tiling_first(e, step->split))
                                                          : "sweep_from + done";    /* contracted points */
    const char *points = c->window ? emit_text(e, "spots_%d + done", t->number) : "k_step";
    const char *panel = emit_text(e, "%spanels_%d + %s * %s + %s * COLUMNS_%d", t->c->group > 1 ? "(const u32u *)" : "", t->number,
                                  tiling_tile_place(t), tiling_panel_depth(t), t->c->tile->has_starts ? "(done + 1)" : some ? "first_point" : "done",
                                  t->number), *ahead = !tiling_has_registers(t) ? "ahead, ahead_step"
                                        : tiling_comes_by_pages(e, t) ? "ahead, ahead_step, by_pages" : "ahead, ahead_step, 0";
    if (tiling_meets_columns(e, t)) {
        panel = emit_text(e, "panel, %s", tiling_panel_arguments(e, t, true));
        panel = arena_copy(e->arena, panel, strlen(panel) - 2);
        const char *step = tiling_asks_in_order(e, t) ? "asked->apart" : emit_text(e, "apart * %d", (int)dtype_size(t->dtype));
        ahead = t->c->columns_unasked ? ahead : emit_text(e, "coming, asks ? %s : ahead_step", step);
    }
    const char *tiles = emit_text(e, "tile_%d(height, here, row_step, %s, %s, %s, %s, %s ? kept : %s, %s ? COLUMNS_%d : 0, %s, %s%s%s);",
                                  t->number, points, panel, some ? "end_point - first_point" : "points", ahead, before, start_of(e, t), before, t->number,
                                  t->in_registers ? where ? "is_last && is_whole ? NULL : kept" : "is_last ? NULL : kept" : kept,
                                  kept_step, tiling_registers(e, t, tiling_tile_place(t)), tiling_extra(e, t, whole, false));
    tiles = emit_text(e, "%s%s%s", tiling_holds(t) ? tiling_stays(e, t) : "", tiling_ask_kept(e, t), tiles);
    if (c->places)
        tiles = emit_text(e, "%s%s", tiling_found(e, t), tiles);
    if (t->runs) {
        const char *row = t->names[tiling_last(&c->rows)->id], *extent = emit_extent(e, tiling_last(&c->rows));
        tiles = emit_text(e, "const int64_t nth = %s / %s, rows_left = (nth + 1) * %s - %s;    /* of the run's points */\n%s", row, extent, extent,
                          row, tiles);
    }
    if (!t->in_registers || where)
        tiles = emit_text(e, "%s\n%s", tiles, after_tile(e, t, spell_call(e, &t->parameters, "after", t->number, bodies[2]),
                                                               spell_call(e, &t->parameters, "guessed", t->number, guessed)));
    if (whole_after[0])
        tiles = emit_text(e, "%s\nif (is_last && is_whole)\n    %s;", tiles,
                          spell_call(e, &t->parameters, "after_whole", t->number, whole_after));
    tiles = emit_text(e, c->sweep ? "%s\nkept += ROWS_%d * COLUMNS_%d;\n" : "%s\nkept += points < depth ? ROWS_%d * COLUMNS_%d : 0;\n", tiles,
                      t->number, t->number);
    const char *hold = tiling_holds(t) ? emit_text(e, "store_held_%d(&registers, &waiting); ", t->number) : "";
    const char *last = t->waits ? emit_text(e, "%stake_rows_%d(&waiting, waiting.rows);", hold, t->number) :
                       !tiling_has_registers(t) || !t->in_registers ? "" :
                       emit_text(e, "leave_%d(&registers, &pending, sums%s);", t->number, tiling_extra(e, t, whole, false));
    const char *meets[2] = { tiling_meet(e, t, 0), tiling_meet(e, t, 1) };
    const ParameterSet of_rows = row_parameters(e, t);
    const char *calls[8] = { spell_call(e, &t->parameters, "pack_columns", t->number, bodies[0]),
                             spell_call(e, &of_rows, "pack_rows", t->number, bodies[1]), tiles,
                             t->c->reduces ? spell_call(e, &t->parameters, "finish", t->number, bodies[3]) : "", last,
                             spell_call(e, &t->parameters, tiling_meet_function(0), t->number, meets[0]),
                             spell_call(e, &t->parameters, tiling_meet_function(1), t->number, meets[1]),
                             spell_call(e, &t->parameters, "after_else", t->number, else_after) };
    const char *body = tiling_step(e, t, calls);
    const char *afters[3] = { bodies[2], whole_after, else_after };
    fill_template(e, t, bodies, afters, guess_functions(e, t, guessed), meets, body);
    ParameterSet common = step_parameters(e, t);
    e->step = step;
    return emit_text(e, "%s;", spell_call(e, &common, "step", t->number, body));
}

/* Where a product is of its numbers' parts, that of the numbers themselves follows where they have none. */
void emit_contract(Emitter *e)
{
    const Step *step = e->step;
    const Contract *c = step->contract;
    const char *call = emit_product(e, step, c);
    if (c->parts) {
        ParameterSet common = emit_common_parameters(e);
        const char *body = emit_text(e, "    %s\n    if (*odd_%d)\n        %s\n", emit_product(e, step, c->parts), c->parts->number, call);
        text_put(&e->functions, spell_function(e, &common, "The step with its numbers in parts; where they have none, as they are.",
                                               "parts", c->number, body));
        text_put(&e->functions, "\n");
        call = emit_text(e, "%s;", spell_call(e, &common, "parts", c->number, body));
    }
    e->calls[0][step->id] = call;
}
