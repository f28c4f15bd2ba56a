/* What a plan does, for a person and as JSON: the loop nest and where each index lives, work and bytes, and what bounds
 * the time. */
#include <math.h>
#include <string.h>

#include "cost.h"
#include "runtime.h"

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

static const Index *index_at(const Program *program, const Tensor *tensor, int axis)
{
    if (tensor->axes)
        return tensor->axes[axis];
    for (int i = 0; i < program->index_count; i++)
        for (int k = 0; k < program->indices[i]->axis_count; k++)
            if (program->indices[i]->axes[k].tensor == tensor && program->indices[i]->axes[k].axis == axis)
                return program->indices[i];
    return NULL;
}

static void explain_tensor(Text *text, const Compiled *c, const Tensor *tensor, const char *kind)
{
    double bytes = (double)dtype_size(tensor->dtype);
    text_print(text, "%-8s %-8s %s[", kind, tensor->label, dtype_name(tensor->dtype));
    for (int a = 0; a < tensor->rank; a++) {
        int64_t size = c->extents->shape[tensor->id][a];
        const Index *index = index_at(c->program, tensor, a);
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

/* ---- the nest ---- */

static void explain_reduction(Text *text, const Compiled *c, const Step *step, const Term *term, int depth);

static void explain_inside(Text *text, const Compiled *c, const Step *step, const Term *term, int depth)
{
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].gather)
                    explain_inside(text, c, step, term->read.positions[a].parts[k].gather, depth);
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            explain_inside(text, c, step, term->map.arguments[i], depth);
        break;
    case TERM_SELECT:
        explain_inside(text, c, step, term->select.condition, depth);
        explain_inside(text, c, step, term->select.yes, depth);
        explain_inside(text, c, step, term->select.no, depth);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: explain_reduction(text, c, step, term, depth); break;
    default: break;
    }
}

static void explain_loop(Text *text, const Compiled *c, const Step *step, const Index *index, const char *what, int depth)
{
    const char *loop = arena_format(text->arena, "for %s", extent_words(text->arena, c->extents, index->origin));
    text_print(text, "%*s%-*s", 4 + 2 * depth, "", 36 - 2 * depth, loop);
    text_put(text, what);
    if (index == step->vector)
        text_print(text, ", %d lanes", c->plan->lanes);
    if (index == step->split)
        text_put(text, ", cut into parts");
    text_put(text, "\n");
}

static void explain_reduction(Text *text, const Compiled *c, const Step *step, const Term *term, int depth)
{
    for (int i = 0; i < term->reduce.over_count; i++)
        explain_loop(text, c, step, term->reduce.over[i], reduction_facts[term->reduce.reduction].name, depth++);
    explain_inside(text, c, step, term->reduce.argument, depth);
}

static const Block *block_of(const Launch *launch, const Step *step, const Index *index)
{
    for (int s = 0; s < launch->step_count; s++)
        for (int b = 0; b < launch->block_count && launch->steps[s] == step; b++)
            if (launch->blocks[b].of_step[s] == index)
                return &launch->blocks[b];
    return NULL;
}

static void explain_step(Text *text, const Compiled *c, const Launch *launch, const Step *step)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    int depth = 0;
    for (int o = 0; o < step->statement->output_count; o++) {
        const Output *output = &step->statement->outputs[o];
        text_print(text, "%s%s[", o ? " & " : "  ", output->tensor->label);
        for (int a = 0; a < output->tensor->rank; a++) {
            text_put(text, a ? "," : "");
            plan_print_position(text, &output->positions[a]);
        }
        text_put(text, step->statement->accumulate ? "] += " : "] = ");
        plan_print_term(text, output->value);
    }
    text_put(text, "\n");
    for (int i = 0; i < step->loop_count; i++) {
        const Block *block = block_of(launch, step, step->loops[i]);
        int64_t tile = block ? size_evaluate(block->tile, &values) : -1;
        const char *what = !block ? "kept" : tile > 1 ? arena_format(text->arena, "kept, in blocks of %lld", (long long)tile)
                                                      : "kept, in blocks";
        explain_loop(text, c, step, step->loops[i], what, depth++);
    }
    for (int o = 0; o < step->statement->output_count; o++)
        explain_inside(text, c, step, step->statement->outputs[o].value, depth);
}

static void explain_temporaries(Text *text, const Compiled *c, const Launch *launch)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    for (int t = 0; t < c->lowered->tensor_count; t++) {
        const Tensor *tensor = c->lowered->tensors[t];
        const Storage *storage = &c->plan->storage[t];
        if (!tensor->maker || tensor->home != tensor || storage->place == PLACE_CALLER || storage->launch != launch->id)
            continue;
        text_print(text, "  %s: %s, %s\n", tensor->label,
                   storage->place == PLACE_BLOCK ? "temporary, one block a worker" : "temporary, whole",
                   byte_words(text->arena, (double)size_evaluate(storage->bytes, &values)));
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
    for (int s = 0; s < launch->step_count; s++)
        explain_step(text, c, launch, launch->steps[s]);
    explain_temporaries(text, c, launch);
}

/* ---- the sum of it ---- */

typedef struct Roof {
    double flops_per_cycle, bytes_per_cycle, cycles;   /* of one core */
    bool compute;
} Roof;

static Roof roof_of(const Compiled *c, const Cost *cost)
{
    const Target *target = c->plan->target;
    Roof roof = { 2 * target->fma_per_cycle * c->plan->lanes, target->bytes_per_cycle, -1, false };
    double compute = cost->flops / roof.flops_per_cycle, memory = cost->bytes / roof.bytes_per_cycle;
    roof.compute = compute >= memory;
    roof.cycles = cost->flops < 0 || cost->bytes < 0 ? -1 : roof.compute ? compute : memory;
    return roof;
}

static void explain_sum(Text *text, const Compiled *c)
{
    Cost cost = plan_cost(c->plan, c->extents, 1);
    Arena *arena = text->arena;
    Roof roof = roof_of(c, &cost);
    if (cost.largest_term && cost.largest >= 0) {
        text_put(text, "\nnot stored   ");
        for (int i = 0; i < cost.largest_term->rank; i++)
            text_print(text, "%s%s", i ? "," : "[", cost.largest_term->indices[i]->name);
        text_print(text, "%s %s, %s", cost.largest_term->rank ? "]" : "a scalar", dtype_name(cost.largest_term->dtype),
                   byte_words(arena, cost.largest));
    }
    text_put(text, "\nworkspace    ");
    if (cost.workspace >= 0)
        text_print(text, "%s with one thread", byte_words(arena, (double)cost.workspace));
    else
        text_put(text, "depends on extents that are not known");
    if (cost.smallest >= 0 && cost.smallest != cost.workspace)
        text_print(text, ", the least is %s", byte_words(arena, (double)cost.smallest));
    text_print(text, "\nwork         %s", count_words(arena, cost.flops, "flop"));
    text_print(text, "\noperands     %s read and written once", byte_words(arena, cost.bytes));
    if (cost.flops > 0 && cost.bytes > 0)
        text_print(text, ", %.3g flop a byte", cost.flops / cost.bytes);
    text_print(text, "\ntarget       %s, %d lanes", c->plan->target->words, c->plan->lanes);
    if (roof.cycles >= 0)
        text_print(text, "\nbound        %s: %s a core at %.3g flop and %.3g bytes a cycle",
                   roof.compute ? "arithmetic" : "memory", count_words(arena, roof.cycles, "cycles"), roof.flops_per_cycle,
                   roof.bytes_per_cycle);
    text_put(text, "\n");
}

/* ---- JSON ---- */

static void json_string(Text *text, const char *string)
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

static void json_number(Text *text, const char *key, double value)
{
    text_print(text, ",\n  \"%s\": ", key);
    if (value < 0)
        text_put(text, "null");
    else
        text_print(text, "%.17g", value);
}

static const char *explain_json(Arena *arena, const Compiled *c)
{
    Text text = text_new(arena), program = text_new(arena);
    Cost cost = plan_cost(c->plan, c->extents, 1);
    Roof roof = roof_of(c, &cost);
    program_print(&program, c->program);
    text_put(&text, "{\n  \"expression\": ");
    json_string(&text, program.bytes);
    text_print(&text, ",\n  \"target\": \"%s\",\n  \"lanes\": %d", c->plan->target->name, c->plan->lanes);
    json_number(&text, "flops", cost.flops);
    json_number(&text, "bytes", cost.bytes);
    json_number(&text, "not_stored_bytes", cost.largest_term ? cost.largest : 0);
    json_number(&text, "workspace_bytes", (double)cost.workspace);
    json_number(&text, "smallest_workspace_bytes", (double)cost.smallest);
    text_print(&text, ",\n  \"bound\": %s", roof.cycles < 0 ? "null" : roof.compute ? "\"arithmetic\"" : "\"memory\"");
    json_number(&text, "bound_cycles", roof.cycles);
    text_put(&text, ",\n  \"launches\": [");
    for (int l = 0; l < c->plan->launch_count; l++) {
        const Launch *launch = c->plan->launches[l];
        text_print(&text, "%s\n    [", l ? "," : "");
        for (int s = 0; s < launch->step_count; s++) {
            Text step = text_new(arena);
            explain_step(&step, c, launch, launch->steps[s]);
            text_put(&text, s ? ", " : "");
            json_string(&text, step.bytes);
        }
        text_put(&text, "]");
    }
    text_put(&text, "\n  ]\n}\n");
    return text.bytes;
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
    for (int l = 0; l < c->plan->launch_count; l++)
        explain_launch(&text, c, c->plan->launches[l]);
    explain_sum(&text, c);
    return text.bytes;
}
