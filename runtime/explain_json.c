/* The same as explain.c, for programs. */
#include <math.h>
#include <string.h>

#include "explaining.h"

static void put_string(Text *text, const char *string)
{
    text_put(text, "\"");
    for (; *string; string++) {
        if (*string == '"' || *string == '\\')
            text_print(text, "\\%c", *string);
        else if ((unsigned char)*string < ' ')
            text_print(text, "\\u%04x", (unsigned char)*string);
        else
            text_add(text, string, 1);
    }
    text_put(text, "\"");
}

/* What is not known is null. */
static void put_number(Text *text, double value)
{
    if (value < 0)
        text_put(text, "null");
    else
        text_print(text, "%.17g", value);
}

static void put_member(Text *text, const char *key, double value)
{
    text_print(text, ",\n  \"%s\": ", key);
    put_number(text, value);
}

static void put_index(Text *text, const Compiled *c, const Index *index)
{
    text_put(text, "{ \"index\": ");
    put_string(text, index->name);
    text_put(text, ", \"extent\": ");
    put_number(text, (double)c->extents->of[index->origin->id]);
}

static void put_names(Text *text, const char *key, const IndexSet *set)
{
    text_print(text, "%s: [", key);
    for (int i = 0; i < set->count; i++) {
        text_put(text, i ? ", " : "");
        put_string(text, set->list[i]->name);
    }
    text_put(text, "]");
}

/* ---- tensors ---- */

static void put_tensor(Text *text, const Compiled *c, const Tensor *tensor)
{
    text_put(text, "{ \"name\": ");
    put_string(text, tensor->label);
    text_print(text, ", \"dtype\": \"%s\", \"shape\": [", dtype_name(tensor->dtype));
    for (int a = 0; a < tensor->rank; a++) {
        text_put(text, a ? ", " : "");
        put_number(text, (double)c->extents->shape[tensor->id][a]);
    }
    text_put(text, "] }");
}

static void put_tensors(Text *text, const Compiled *c, const char *key, const Tensor *const *tensors, int count)
{
    text_print(text, ",\n  \"%s\": [", key);
    for (int i = 0; i < count; i++) {
        text_put(text, i ? ",\n    " : "\n    ");
        put_tensor(text, c, tensors[i]);
    }
    text_put(text, count ? "\n  ]" : "]");
}

/* ---- the nest ---- */

typedef struct Loops {
    Text *text;
    const Compiled *c;
    const Launch *launch;
    const Step *step;
    int count;
    bool *seen;                   /* [term id] */
} Loops;

static void put_loop(Loops *loops, const Index *index, const char *kind, const Block *block)
{
    SizeValues values = { loops->c->extents->of, loops->c->extents->shape, 1 };
    text_put(loops->text, loops->count++ ? ",\n          " : "\n          ");
    put_index(loops->text, loops->c, index);
    text_print(loops->text, ", \"kind\": \"%s\", \"lanes\": %d", kind, index == loops->step->vector ? loops->c->plan->lanes : 1);
    if (block) {
        text_put(loops->text, ", \"tile\": ");
        put_number(loops->text, (double)size_evaluate(block->tile, &values));
    }
    text_put(loops->text, " }");
}

static void put_reductions(void *user, const Term *term)
{
    Loops *loops = user;
    if (loops->seen[term->id])
        return;
    loops->seen[term->id] = true;
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
        for (int i = 0; i < term->reduce.over_count; i++)
            put_loop(loops, term->reduce.over[i], reduction_facts[term->reduce.reduction].name,
                     term->reduce.over[i] == loops->step->statement->swept ? loops->launch->sweep : NULL);
    term_each_argument(term, put_reductions, loops);
}

/* A tiled product, in the order in which its loops stand. */
static void put_contract_loops(Loops *loops, const Launch *launch)
{
    const Step *step = loops->step;
    const Contract *k = step->contract;
    const char *first = k->reduces ? reduction_facts[step->roots[0]->reduce.reduction].name : "kept";
    const struct { const IndexSet *set; const char *kind; } sets[] = {
        { &k->batch, "kept" }, { &k->kept_rows, "kept" }, { &k->rows, first }, { &k->columns, "kept" },
        { &k->depth, reduction_facts[k->product->reduce.reduction].name },
    };
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++)
        for (int i = 0; i < sets[s].set->count; i++) {
            const Index *index = sets[s].set->list[i];
            put_loop(loops, index, sets[s].kind, explain_block(launch, step, index));
        }
}

/* The tiles of a product whose sums stay in registers; a nest of loops has none. */
static void put_tiles(Text *text, const Compiled *c, const Contract *k)
{
    text_put(text, ",\n        \"tiles\": ");
    if (!k) {
        text_put(text, "null }");
        return;
    }
    text_print(text, "{ \"rows\": %d, \"columns\": %d, \"vectors\": %d,\n          ", k->tile_rows,
               k->tile_vectors * c->plan->lanes, k->tile_vectors);
    put_names(text, "\"row_indices\"", &k->rows);
    put_names(text, ", \"column_indices\"", &k->columns);
    put_names(text, ", \"contracted\"", &k->depth);
    text_print(text, ",\n          \"packed\": [%s%s], \"depth_block\": %d } }", k->block || k->in_place ? "" : "\"rows\", ",
               k->block ? "" : "\"columns\"", k->depth_block * k->group);
}

/* Of a product that either nest may make. */
static void put_expected(Text *text, const Step *step)
{
    static const char *const names[] = { "{ \"loops\": ", ", \"tiles\": " };
    text_put(text, ",\n        \"expected_cycles\": ");
    for (int nest = 0; nest < 2 && step->expected[0] > 0; nest++) {
        text_put(text, names[nest]);
        put_number(text, isinf(step->expected[nest]) ? -1 : ceil(step->expected[nest]));
    }
    text_put(text, step->expected[0] > 0 ? " }" : "null");
}

static void put_step(Text *text, const Compiled *c, const Launch *launch, const Step *step)
{
    Text formula = text_new(text->arena);
    Loops loops = { text, c, launch, step, 0, ARENA_ARRAY(text->arena, bool, c->lowered->term_count) };
    explain_formula(&formula, step);
    text_put(text, "{ \"formula\": ");
    put_string(text, formula.bytes);
    text_put(text, ",\n        \"loops\": [");
    if (step->contract)
        put_contract_loops(&loops, launch);
    for (int i = 0; i < step->loop_count && !step->contract; i++)
        put_loop(&loops, step->loops[i], "kept", explain_block(launch, step, step->loops[i]));
    for (int o = 0; o < step->statement->output_count && !step->contract; o++)
        put_reductions(&loops, step->statement->outputs[o].value);
    text_put(text, loops.count ? "\n        ]" : "]");
    put_expected(text, step);
    put_tiles(text, c, step->contract);
}

static void put_launch(Text *text, const Compiled *c, const Launch *launch)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    text_put(text, "{ \"units\": ");
    put_number(text, (double)size_evaluate(launch->units, &values));
    text_put(text, ",\n      \"steps\": [");
    for (int s = 0; s < launch->step_count; s++) {
        text_put(text, s ? ",\n        " : "\n        ");
        put_step(text, c, launch, launch->steps[s]);
    }
    text_put(text, "\n      ] }");
}

/* ---- orders of contractions ---- */

static void put_path(Text *text, const OrderPath *path)
{
    double bytes = (double)dtype_size(path->dtype);
    text_put(text, "{ \"of\": ");
    put_string(text, path->letters);
    text_print(text, ", \"dtype\": \"%s\", \"flops\": %.17g, \"naive_flops\": %.17g, \"largest_bytes\": %.17g, \"guessed\": %s,\n"
               "      \"steps\": [", dtype_name(path->dtype), path->flops, path->naive_flops, path->largest * bytes,
               path->guessed ? "true" : "false");
    for (int i = 0; i < path->step_count; i++) {
        const OrderStep *step = &path->steps[i];
        text_put(text, i ? ",\n        { \"of\": " : "\n        { \"of\": ");
        put_string(text, step->letters);
        text_print(text, ", \"flops\": %.17g, \"bytes\": %.17g, \"stored\": %s }", step->flops, step->size * bytes,
                   step->stored ? "true" : "false");
    }
    text_put(text, "\n      ] }");
}

static void put_order(Text *text, const Order *order)
{
    int count = order ? order->path_count : 0;
    text_put(text, ",\n  \"order\": [");
    for (int p = 0; p < count; p++) {
        text_put(text, p ? ",\n    " : "\n    ");
        put_path(text, &order->paths[p]);
    }
    text_put(text, count ? "\n  ]" : "]");
}

const char *explain_json(Arena *arena, const Compiled *c)
{
    Text text = text_new(arena), program = text_new(arena);
    Cost cost = plan_cost(c->plan, c->extents, 1);
    Roof roof = explain_roof(c, &cost);
    program_print(&program, c->program);
    text_put(&text, "{\n  \"expression\": ");
    put_string(&text, program.bytes);
    put_tensors(&text, c, "operands", (const Tensor *const *)c->program->inputs, c->program->input_count);
    put_tensors(&text, c, "outputs", c->outputs, c->output_count);
    text_print(&text, ",\n  \"target\": \"%s\",\n  \"lanes\": %d", c->plan->target->name, c->plan->lanes);
    text_print(&text, ",\n  \"precision\": \"%s\"",
               precisions[plan_has_parts(c->plan) ? c->plan->precision : PRECISION_EXACT].name);
    put_member(&text, "flops", cost.flops);
    put_member(&text, "bytes", cost.bytes);
    put_member(&text, "not_stored_bytes", cost.largest_indices ? cost.largest : 0);
    put_member(&text, "workspace_bytes", (double)cost.workspace);
    put_member(&text, "smallest_workspace_bytes", (double)cost.smallest);
    text_print(&text, ",\n  \"bound\": %s", roof.cycles < 0 ? "null" : roof.compute ? "\"arithmetic\"" : "\"memory\"");
    put_member(&text, "bound_cycles", roof.cycles);
    put_order(&text, c->order);
    text_put(&text, ",\n  \"launches\": [");
    for (int l = 0; l < c->plan->launch_count; l++) {
        text_put(&text, l ? ",\n    " : "\n    ");
        put_launch(&text, c, c->plan->launches[l]);
    }
    text_put(&text, "\n  ]\n}\n");
    return text.bytes;
}
