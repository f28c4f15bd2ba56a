/* What a plan does, for a person: the loop nest and where each index lives, work and bytes, and what bounds the time. */
#include <math.h>
#include <string.h>

#include "explaining.h"

/* ---- numbers for people ---- */

const char *count_words(Arena *arena, double count, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
    int p = 0;
    if (count < 0)
        return arena_format(arena, "unknown %s", unit);
    while (count >= 1000 && p < 6) {
        count /= 1000;
        p++;
    }
    return arena_format(arena, count < 10 && p ? "%.2f %s%s" : count < 100 && p ? "%.1f %s%s" : "%.0f %s%s", count, prefixes[p], unit);
}

const char *byte_words(Arena *arena, double bytes)
{
    return count_words(arena, bytes, bytes == 1 ? "byte" : bytes >= 0 && bytes < 1000 ? "bytes" : "B");
}

static const char *extent_words(Arena *arena, const Extents *extents, const Index *index)
{
    int64_t extent = extents->of[index->id];
    return extent < 0 ? arena_format(arena, "%s", index->name) : arena_format(arena, "%s=%lld", index->name, (long long)extent);
}

/* ---- operands ---- */

static void explain_tensor(Text *text, const Compiled *c, const Tensor *tensor, const char *kind)
{
    double bytes = (double)dtype_size(tensor->dtype);
    text_print(text, "%-12s %-8s %s[", kind, tensor->label, dtype_name(tensor->dtype));
    for (int a = 0; a < tensor->rank; a++) {
        int64_t size = c->extents->shape[tensor->id][a];
        const Index *index = program_axis_index(c->program, tensor, a);
        const char *name = index ? index->name : "*";
        text_put(text, a ? ", " : "");
        if (size < 0)
            text_put(text, name);
        else
            text_print(text, "%s=%lld", name, (long long)size);
        bytes = bytes < 0 || size < 0 ? -1 : bytes * (double)size;
    }
    text_put(text, "]");
    if (bytes >= 0)
        text_print(text, "  %s", byte_words(text->arena, bytes));
    text_put(text, "\n");
}

/* ---- orders of contractions ---- */

/* A line for each contraction: its indices, what it costs, and what it makes of them. */
static void explain_path(Text *text, const OrderPath *path)
{
    Arena *arena = text->arena;
    double bytes = (double)dtype_size(path->dtype);
    text_print(text, "\norder of %s%s\n", path->letters, path->guessed ? ", where 64 stands for each extent that is not known" : "");
    for (int i = 0; i < path->step_count; i++) {
        const OrderStep *step = &path->steps[i];
        const char *makes = step->stored ? byte_words(arena, step->size * bytes)
                            : i == path->step_count - 1 ? "the result" : "not stored";
        text_print(text, "  %-34s %-16s %s\n", step->letters, count_words(arena, step->flops, "flop"), makes);
    }
    text_print(text, "  %s instead of %s in one nest, the largest value in between has %s\n", count_words(arena, path->flops, "flop"),
               count_words(arena, path->naive_flops, "flop"), byte_words(arena, path->largest * bytes));
}

/* ---- the nest ---- */

enum { COLUMN = 44 };             /* where what a loop is for stands */

/* A line of the nest, indented; what is said about it is behind it, in a column. */
static void explain_line(Text *text, int depth, const char *loop, const char *what)
{
    text_print(text, "%*s%-*s%s\n", 2 + 2 * depth, "", COLUMN - 2 - 2 * depth, loop, what);
}

static void explain_loop(Text *text, const Compiled *c, const Step *step, const Index *index, bool block, const char *what,
                         int depth)
{
    Arena *arena = text->arena;
    const char *loop = block ? arena_format(arena, "for %s in the block", index->name)
                             : arena_format(arena, "for %s", extent_words(arena, c->extents, index->origin));
    const char *lanes = index == step->vector ? arena_format(arena, ", %d lanes", c->plan->lanes) : "";
    const char *apart = index != step->jammed || !step->apart ? "" : step->added ? ", short rows far apart, into sums in the result" : ", short rows far apart";
    const char *jam = index == step->jammed ? arena_format(arena, ", %d %s together", step->jam, *lanes ? "vectors" : "points")
                    : index == step->met ? arena_format(arena, ", %d points with each", step->meets) : "";
    const char *turned = index == step->turned ? ", turned in squares" : "";
    const char *past = *lanes && step->result ? arena_format(arena, ", stored past the caches from %d MB", step->past >> 20) : "";
    explain_line(text, depth, loop, arena_format(arena, "%s%s%s%s%s%s%s", what, lanes, turned, jam, past, index == step->split ? ", cut into parts" : "", apart));
}

typedef struct Inside {
    Text *text;
    const Compiled *c;
    const Step *step;
    int depth;
    bool *seen;                   /* [term id]: what is shared runs once */
} Inside;

/* The loops of the reductions in a term. */
static void explain_inside(void *user, const Term *term)
{
    Inside *inside = user;
    if (inside->seen[term->id])
        return;
    inside->seen[term->id] = true;
    int depth = inside->depth;
    if (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE)
        for (int i = 0; i < term->reduce.over_count; i++)
            explain_loop(inside->text, inside->c, inside->step, term->reduce.over[i],
                         term->reduce.over[i] == inside->step->statement->swept,
                         reduction_facts[term->reduce.reduction].name, inside->depth++);
    term_each_argument(term, explain_inside, inside);
    inside->depth = depth;
}

const Block *explain_block(const Launch *launch, const Step *step, const Index *index)
{
    return index->statement == step->statement->id ? launch_block_of(launch, index) : NULL;
}

/* "out[i,m] = sum[j](max[n](…))" */
void explain_formula(Text *text, const Step *step)
{
    for (int o = 0; o < step->statement->output_count; o++) {
        const Output *output = &step->statement->outputs[o];
        text_print(text, "%s%s[", o ? " & " : "", output->tensor->label);
        for (int a = 0; a < output->tensor->rank; a++) {
            text_put(text, a ? "," : "");
            plan_print_position(text, &output->positions[a]);
        }
        text_put(text, step->statement->accumulate ? "] += " : "] = ");
        plan_print_term(text, output->value);
    }
}

/* A line for each index of a set; the last one's says more. */
static void explain_set(Text *text, const Compiled *c, const Launch *launch, const Step *step, const IndexSet *set,
                        const char *what, const char *more, int *depth)
{
    for (int i = 0; i < set->count; i++) {
        const char *words = i == set->count - 1 ? arena_format(text->arena, "%s%s", what, more) : what;
        const char *loop = explain_block(launch, step, set->list[i])
                               ? arena_format(text->arena, "for %s in the block", set->list[i]->name)
                               : arena_format(text->arena, "for %s", extent_words(text->arena, c->extents, set->list[i]->origin));
        explain_line(text, (*depth)++, loop, words);
    }
}

/* A tiled product: tiles of rows, each against all tiles of columns, sums in registers. */
static void explain_contract(Text *text, const Compiled *c, const Launch *launch, const Step *step, int depth)
{
    const Contract *k = step->contract;
    Arena *arena = text->arena;
    const char *first = k->reduces ? reduction_facts[step->roots[0]->reduce.reduction].name : "kept";
    explain_set(text, c, launch, step, &k->batch, "kept", "", &depth);
    explain_set(text, c, launch, step, &k->kept_rows, "kept", "", &depth);
    explain_set(text, c, launch, step, &k->rows, first,
                arena_format(arena, ", tiles of %d rows, %s", k->tile_rows, k->block ? "in shared memory" : k->in_place ? "in place" : "packed"), &depth);
    explain_set(text, c, launch, step, &k->columns, "kept",
                arena_format(arena, ", tiles of %d columns, %s, %d lanes", k->block ? k->block->columns : k->tile_vectors * c->plan->lanes,
                             k->block ? "in shared memory" : k->across || k->within || k->columns_turned ? "packed in squares" : k->columns_in_place && !k->columns_copied ? "in place" : "packed", c->plan->lanes), &depth);
    const char *sums = k->block && k->block->is_matrix ? ", a tile's sums in registers of tensor cores" : ", a tile's sums in registers";
    explain_set(text, c, launch, step, &k->depth, reduction_facts[k->product->reduce.reduction].name,
                k->sweep ? arena_format(arena, ", %d points at a time", k->sweep) : sums, &depth);
}

/* Why a product is the nest that it is: what was expected of it, and of the other one. */
static void explain_choice(Text *text, const Step *step, int depth)
{
    static const char *const names[] = { "in loops", "in tiles" };
    int chosen = step->contract != NULL;
    const char *other = isinf(step->expected[!chosen]) ? "more" : count_words(text->arena, step->expected[!chosen], "cycles");
    if (step->expected[chosen] > 0)
        explain_line(text, depth, names[chosen], arena_format(text->arena, "%s expected of a core, %s %s",
                                                              count_words(text->arena, step->expected[chosen], "cycles"), names[!chosen], other));
}

/* The loops of one step, inside those over the launch's blocks. */
static void explain_step(Text *text, const Compiled *c, const Launch *launch, const Step *step, int depth)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    text_print(text, "%*s", 2 + 2 * depth, "");
    explain_formula(text, step);
    text_put(text, "\n");
    explain_choice(text, step, ++depth);
    if (step->contract) {
        explain_contract(text, c, launch, step, depth);
        return;
    }
    for (int i = 0; i < step->loop_count; i++) {
        const Block *block = explain_block(launch, step, step->loops[i]);
        if (!block || size_evaluate(block->tile, &values) != 1)
            explain_loop(text, c, step, step->loops[i], block, "kept", depth++);
    }
    Inside inside = { text, c, step, depth, ARENA_ARRAY(text->arena, bool, c->lowered->term_count) };
    for (int o = 0; o < step->statement->output_count; o++)
        explain_inside(&inside, step->statement->outputs[o].value);
}

static const char *temporary_words(Arena *arena, const Compiled *c, const Tensor *tensor)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    const Storage *storage = &c->plan->storage[tensor->id];
    if (storage->place == PLACE_REGISTERS)
        return "in registers, a tile at a time";
    const char *place = storage->place == PLACE_BLOCK ? "one block for each thread" : "whole";
    int64_t bytes = size_evaluate(storage->bytes, &values);
    if (storage->over)
        return arena_format(arena, "in the place of %s", storage->over->label);
    if (storage->after)
        place = "whole, where another was";
    return bytes < 0 ? place : arena_format(arena, "%s, %s", byte_words(arena, (double)bytes), place);
}

static void explain_temporaries(Text *text, const Compiled *c, const Launch *launch)
{
    for (int t = 0; t < c->lowered->tensor_count; t++) {
        const Tensor *tensor = c->lowered->tensors[t];
        const Storage *storage = &c->plan->storage[t];
        if (tensor->maker && tensor->home == tensor && storage->place != PLACE_CALLER && storage->launch == launch->id)
            explain_line(text, 0, arena_format(text->arena, "%s is temporary", tensor->label),
                         temporary_words(text->arena, c, tensor));
    }
}

/* Whether a launch's block is of an index that is reduced, in parts that are merged. */
static bool is_cut(const Launch *launch, int block)
{
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->split && launch->steps[s]->split == launch->blocks[block].of_step[s])
            return true;
    return false;
}

/* The loops over the blocks, which the threads share. */
static int explain_blocks(Text *text, const Compiled *c, const Launch *launch)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    int b;
    for (b = 0; b < launch->block_count; b++) {
        const Block *block = &launch->blocks[b];
        const char *extent = extent_words(text->arena, c->extents, block->of_step[launch->step_count - 1]->origin);
        int64_t tile = size_evaluate(block->tile, &values);
        const char *by = tile == 1 ? "" : tile > 1 ? arena_format(text->arena, " by %lld", (long long)tile) : " by blocks";
        explain_line(text, b, arena_format(text->arena, "for %s%s", extent, by),
                     is_cut(launch, b) ? "in parts, shared by the threads" : "kept, shared by the threads");
    }
    return b;
}

/* The loop over the blocks of a sweep, around the steps that run for each. */
static void explain_sweep(Text *text, const Compiled *c, const Launch *launch, int depth)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    int64_t tile = size_evaluate(launch->sweep->tile, &values);
    for (int s = launch->sweep_from; s < launch->sweep_to; s++)
        if (launch->sweep->of_step[s]) {
            const char *extent = extent_words(text->arena, c->extents, launch->sweep->of_step[s]->origin);
            const char *by = tile > 0 ? arena_format(text->arena, " by %lld", (long long)tile) : " by blocks";
            explain_line(text, depth, arena_format(text->arena, "for %s%s", extent, by), "reductions go on from block to block");
            return;
        }
}

static void explain_launch(Text *text, const Compiled *c, const Launch *launch)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    int64_t units = size_evaluate(launch->units, &values);
    text_print(text, "\nlaunch %d", launch->id + 1);
    if (units >= 0)
        text_print(text, ": %lld unit%s of work", (long long)units, units == 1 ? "" : "s");
    text_put(text, "\n");
    int depth = explain_blocks(text, c, launch);
    for (int s = 0; s < launch->step_count; s++) {
        if (launch->sweep && s == launch->sweep_from)
            explain_sweep(text, c, launch, depth);
        explain_step(text, c, launch, launch->steps[s], depth + launch_sweeps(launch, s));
    }
    Form *forms;
    int count = launch_forms(text->arena, c->plan, launch, &forms);
    for (int f = 0; f < count; f++)
        explain_line(text, 0, forms[f].when, forms[f].what);
    explain_temporaries(text, c, launch);
}

/* ---- the sum of it ---- */

/* How many times as many products as of f32 a unit for narrow numbers makes, of the step that has the fastest: one f32 number's parts
 * are as many products as pairs of them are multiplied. */
static double fastest_rate(const Plan *plan)
{
    double fastest = 1;
    for (int s = 0; s < plan->step_count; s++) {
        const Step *step = plan->steps[s];
        const Contract *c = step->contract && step->contract->parts ? step->contract->parts : step->contract;
        bool parts = c && c->tile && c->tile->parts > 0;
        double rate = plan->target->rates[step_multiplies(step)] / (parts ? (double)(strlen(c->tile->pairs) + 1) / 3 : 1);
        fastest = rate > fastest ? rate : fastest;
    }
    return fastest;
}

Roof explain_roof(const Compiled *c, const Cost *cost)
{
    const Target *target = c->plan->target;
    Roof roof = { 2 * target->fma_per_cycle * c->plan->lanes * fastest_rate(c->plan), target->bytes_per_cycle, -1, false };
    double compute = cost->flops / roof.flops_per_cycle, memory = cost->bytes / roof.bytes_per_cycle;
    roof.compute = compute >= memory;
    roof.cycles = cost->flops < 0 || cost->bytes < 0 ? -1 : roof.compute ? compute : memory;
    return roof;
}

static void explain_memory(Text *text, const Cost *cost)
{
    Arena *arena = text->arena;
    if (cost->largest_indices) {
        text_print(text, "not stored   %s[", dtype_name(cost->largest_dtype));
        for (int i = 0; i < cost->largest_rank; i++)
            text_print(text, "%s%s", i ? "," : "", cost->largest_indices[i]->name);
        text_print(text, "], %s\n", byte_words(arena, cost->largest));
    }
    text_put(text, "workspace    ");
    if (cost->workspace < 0)
        text_put(text, "depends on extents that are not known");
    else
        text_print(text, "%s with one thread", byte_words(arena, (double)cost->workspace));
    if (cost->smallest >= 0 && (cost->workspace < 0 || cost->smallest < cost->workspace))
        text_print(text, ", the least is %s", byte_words(arena, (double)cost->smallest));
}

/* What products may lose; nothing where as little as ever. */
static void explain_precision(Text *text, const Plan *plan)
{
    const PrecisionFacts *facts = &precisions[plan->precision];
    if (plan->precision == PRECISION_EXACT)
        return;
    if (!plan_has_parts(plan)) {
        text_print(text, "precision    exact: no product here has a unit for %s\n", facts->name);
        return;
    }
    bool grid = plan->target->grid != NULL;
    text_print(text, "precision    %s: %s, where all of a %s\n"
               "             error: at most %s of a product's size%s is left out, and sums are rounded as %s\n",
               facts->name, facts->words,
               grid ? "tile's sums are finite" : "block's numbers are 0 or between 2^-40 and 2^40 in size", facts->left_out,
               grid ? ", or 2^-134 of a number," : "", grid ? "tensor cores do" : "in f32");
}

static void explain_sum(Text *text, const Compiled *c)
{
    Cost cost = plan_cost(c->plan, c->extents, 1);
    Arena *arena = text->arena;
    Roof roof = explain_roof(c, &cost);
    text_put(text, "\n");
    explain_memory(text, &cost);
    text_put(text, "\noperands     ");
    if (cost.bytes < 0) {
        cost_print_bytes(text, c->plan);
        text_put(text, " bytes");
    } else {
        text_put(text, byte_words(arena, cost.bytes));
    }
    text_put(text, " read and written once\nwork         ");
    if (cost.flops < 0) {
        cost_print_flops(text, c->plan);
        text_put(text, " flop");
    } else {
        text_put(text, count_words(arena, cost.flops, "flop"));
    }
    if (cost.flops > 0 && cost.bytes > 0)
        text_print(text, ", %s a byte of operands", count_words(arena, cost.flops / cost.bytes, "flop"));
    if (roof.cycles >= 0)
        text_print(text, "\nbound        %s: at least %s of a core, at %.4g flop and %.3g bytes a cycle",
                   roof.compute ? "arithmetic" : "memory", count_words(arena, roof.cycles, "cycles"), roof.flops_per_cycle,
                   roof.bytes_per_cycle);
    text_print(text, "\ntarget       %s, %d lanes\n", c->plan->target->words, c->plan->lanes);
    explain_precision(text, c->plan);
}

const char *kernel_explain(Arena *arena, const Compiled *c, bool json)
{
    if (json)
        return explain_json(arena, c);
    Text text = text_new(arena);
    program_print(&text, c->program);
    text_put(&text, "\n\n");
    for (int i = 0; i < c->program->input_count; i++)
        explain_tensor(&text, c, c->program->inputs[i], "operand");
    for (int o = 0; o < c->output_count; o++)
        explain_tensor(&text, c, c->outputs[o], "output");
    for (int p = 0; c->order && p < c->order->path_count; p++)
        explain_path(&text, &c->order->paths[p]);
    for (int l = 0; l < c->plan->launch_count; l++)
        explain_launch(&text, c, c->plan->launches[l]);
    explain_sum(&text, c);
    return text.bytes;
}
