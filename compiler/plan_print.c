/* The Plan and terms of lowered programs as text. */
#include "plan.h"

#include <math.h>

/* ---- terms as formulas ---- */

static void print_list(Text *text, Term *const *terms, int count)
{
    for (int i = 0; i < count; i++) {
        text_put(text, i ? ", " : "");
        plan_print_term(text, terms[i]);
    }
}

void plan_print_position(Text *text, const Position *position)
{
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        int64_t c = part->coefficient;
        text_put(text, c < 0 ? "-" : k ? "+" : "");
        if (c != 1 && c != -1)
            text_print(text, "%lld*", (long long)(c < 0 ? -c : c));
        if (part->index)
            text_put(text, part->index->name);
        else
            plan_print_term(text, part->gather);
    }
    if (position->constant || !position->count)
        text_print(text, position->count ? "%+lld" : "%lld", (long long)position->constant);
}

static void print_read(Text *text, const Term *term)
{
    text_put(text, term->read.tensor->label);
    if (term->read.tensor->rank == 0)
        return;
    text_put(text, "[");
    for (int a = 0; a < term->read.tensor->rank; a++) {
        text_put(text, a ? "," : "");
        plan_print_position(text, &term->read.positions[a]);
    }
    text_put(text, "]");
}

/* Printed as "a + b". */
static bool is_operator(const Term *term)
{
    const char *name = term->kind == TERM_MAP ? function_facts[term->map.function].name : "a";
    return (name[0] < 'a' || name[0] > 'z') && term->map.count == 2;
}

/* One side of an operator. */
static void print_operand(Text *text, const Term *term)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && term->map.implicit)
        term = term->map.arguments[0];
    text_put(text, is_operator(term) ? "(" : "");
    plan_print_term(text, term);
    text_put(text, is_operator(term) ? ")" : "");
}

static void print_map(Text *text, const Term *term)
{
    Function function = term->map.function;
    const char *name = function_facts[function].name;
    bool operator = is_operator(term);
    if (function == FUNCTION_CAST && term->map.implicit) {
        plan_print_term(text, term->map.arguments[0]);
    } else if (operator) {
        print_operand(text, term->map.arguments[0]);
        text_print(text, " %s ", name);
        print_operand(text, term->map.arguments[1]);
    } else {
        text_print(text, "%s(", function == FUNCTION_CAST ? dtype_name(term->dtype) : function == FUNCTION_NEG ? "-" : name);
        print_list(text, term->map.arguments, term->map.count);
        text_put(text, ")");
    }
}

static void print_reduce(Text *text, const Term *term)
{
    text_put(text, reduction_facts[term->reduce.reduction].name);
    if (term->kind == TERM_REDUCE && term->reduce.has_parameter)
        text_print(text, "(%g)", term->reduce.parameter);
    text_put(text, "[");
    for (int i = 0; i < term->reduce.over_count; i++)
        text_print(text, "%s%s", i ? "," : "", term->reduce.over[i]->name);
    text_put(text, "](");
    plan_print_term(text, term->reduce.argument);
    text_put(text, ")");
}

void plan_print_term(Text *text, const Term *term)
{
    if (text->length > 4000) {    /* what is shared is printed each time: that can double with each level */
        text_put(text, "...");
        return;
    }
    switch (term->kind) {
    case TERM_READ:
        text_put(text, term->read.carried ? "before(" : "");
        print_read(text, term);
        text_put(text, term->read.carried ? ")" : "");
        break;
    case TERM_CONSTANT:
        if (term->constant.is_integer)
            text_print(text, "%lld", (long long)term->constant.integer);
        else
            text_print(text, "%g", term->constant.value);
        break;
    case TERM_POSITION: text_print(text, "@%s", term->position->name); break;
    case TERM_EXTENT: text_print(text, "extent(%s)", term->extent->name); break;
    case TERM_MAP: print_map(text, term); break;
    case TERM_SELECT:
        text_put(text, "where(");
        print_list(text, (Term *[]){ term->select.condition, term->select.yes, term->select.no }, 3);
        text_put(text, ")");
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: print_reduce(text, term); break;
    }
}

/* ---- the plan ---- */

static const char *extent_name(void *user, const Index *index)
{
    (void)user;
    return index->name;
}

static const char *axis_name(void *user, const Tensor *tensor, int axis)
{
    return arena_format(user, "%s.shape[%d]", tensor->label, axis);
}

static void print_size(Text *text, const Size *size)
{
    SizeSpelling spelling = { extent_name, axis_name, text->arena };
    size_print_words(text, size, &spelling);
}

/* With its name, if others refer to it: "tile_1 = min(64, q)". */
static void print_definition(Text *text, const Size *size)
{
    if (size->kind == SIZE_NAMED)
        text_print(text, "%s = ", size->name);
    print_size(text, size->kind == SIZE_NAMED ? size->a : size);
}

static void print_set(Text *text, const char *word, const IndexSet *set, const char *none)
{
    text_put(text, word);
    for (int i = 0; i < set->count; i++)
        text_print(text, " %s", set->list[i]->name);
    text_put(text, set->count ? "" : none);
}

static void dump_contract(Text *text, const Contract *c, int lanes)
{
    text_print(text, "\n    tiles of %d x %d%s:", c->tile_rows, c->block ? c->block->columns : c->tile_vectors * lanes,
               c->places ? " with places" : "");
    print_set(text, " rows", &c->rows, "");
    print_set(text, ", columns", &c->columns, "");
    print_set(text, ", contracted", &c->depth, "");
    if (c->block)
        text_print(text, ", %d at a time in shared memory, %d x %d sums of a thread%s", c->depth_block, c->block->high, c->block->wide,
                   c->block->is_matrix ? ", on tensor cores" : "");
    if (c->block && c->tile)
        text_print(text, ", each number in %d %s of %s", c->tile->parts, c->tile->parts > 1 ? "parts" : "part", c->tile->dot);
    if (!c->block)
        text_put(text, c->window ? ", rows in a window" : c->in_place ? ", rows in place" : c->rows_spread ? ", rows packed as vectors" : c->rows_along ? ", rows packed side by side" : ", rows packed");
    if (c->columns_in_place)
        text_put(text, c->columns_copied ? ", columns packed by their first tiles" : ", whole runs of columns in place");
    if (c->widened)
        text_put(text, ", widened as they are loaded");
    if (c->columns_asked.count)
        text_put(text, ", the next ones asked for in memory's order");
    if (c->pairs)
        text_print(text, ", two points at once%s", c->pairs % 2 ? ", half of the last vector" : "");
    if (c->sweep)
        text_print(text, ", %d points at a time", c->sweep);
    if (c->halves)
        text_put(text, ", lines of two rows");
    if (c->across || c->within)
        text_print(text, ", columns turned in squares with %s", (c->across ? c->across : c->within)->name);
}

static void dump_step(Text *text, const Plan *plan, const Step *step)
{
    static const char *const kinds[] = { "store", "scan", "rank", "add" };
    text_print(text, "  step %d: %s", step->id + 1, kinds[step->kind]);
    for (int o = 0; o < step->statement->output_count; o++) {
        const Output *output = &step->statement->outputs[o];
        text_print(text, "%s%s[", o ? " & " : " ", output->tensor->label);
        for (int a = 0; a < output->tensor->rank; a++) {
            text_put(text, a ? "," : "");
            plan_print_position(text, &output->positions[a]);
        }
        text_put(text, step->statement->accumulate ? "] += " : "] = ");
        plan_print_term(text, output->value);
    }
    if (step->statement->goes_on)
        text_put(text, ", and of the best before");
    if (step->contract)
        dump_contract(text, step->contract, plan->lanes);
    text_put(text, "\n    loops");
    for (int i = 0; i < step->loop_count; i++)
        text_print(text, " %s", step->loops[i]->name);
    if (step->vector)
        text_print(text, ", %d lanes along %s", plan->lanes, step->vector->name);
    if (step->crossed)
        text_print(text, ", squares of operands along %s turned%s", step->crossed->name, step->crossed_last ? " one after the other" : "");
    if (step->strip)
        text_print(text, " for %d numbers of a row", step->strip);
    if (step->turned)
        text_print(text, ", squares with %s turned", step->turned->name);
    if (step->result)
        text_print(text, ", past the caches from %d MB", step->past >> 20);
    if (step->jammed)
        text_print(text, ", %d %s of %s together%s", step->jam, step->jammed == step->vector ? "vectors" : "points",
                   step->jammed->name, step->powers[0] ? ", exponentials of each side" : "");
    if (step->met)
        text_print(text, ", each with %d of %s", step->meets, step->met->name);
    if (step->later)
        text_print(text, ", prefetching %d rows ahead", step->later);
    if (step->added)
        text_put(text, ", added to sums in the result");
    if (step->alone[1])
        text_print(text, ", rows of %d to %d numbers %s%s", step->alone[0], step->alone[1],
                   step->apart ? "each from a stretch of its own" : "one by one",
                   step->near ? arena_format(text->arena, " from %d numbers on", step->near) : "");
    if (step->dots)
        text_print(text, ", %d products of %s added at once", step->dots, dtype_name(step->dot[0]->dtype));
    if (step->ahead)
        text_print(text, ", prefetching %d vectors ahead", step->ahead);
    if (step->soon)
        text_print(text, ", prefetching %d numbers ahead", step->soon);
    for (int i = 0; i < step->ask_count; i++) {
        const Ask *ask = &step->asks[i];
        const char *far = ask->is_last ? arena_format(text->arena, "a point of %s", ask->row->name)
                                   : arena_format(text->arena, "%d vectors", ask->vectors);
        text_print(text, ", prefetching %s %s ahead", ask->read->read.tensor->label, far);
    }
    if (step->has_runs)
        text_put(text, ", several vectors a turn");
    if (step->shares > 1)
        text_print(text, ", %d threads for elements of their own", step->shares);
    if (step->split) {
        text_print(text, ", split along %s into ", step->split->name);
        print_definition(text, step->parts);
    }
    if (step->joined)
        text_print(text, ", in that of step %d", step->joined->id + 1);
    for (int u = 0; u < step->units.count; u++)
        text_print(text, "%s %s axis %d", u ? "," : ", stride 1 expected:", step->units.list[u].tensor->label, step->units.list[u].axis);
    text_put(text, "\n");
}

static const char *made(const Step *step)
{
    return step->statement->outputs[0].tensor->label;
}

static int contract_forms(Arena *arena, const Contract *c, int lanes, Form *forms)
{
    int count = 0;
    if (c->brief)
        forms[count++] = (Form){ arena_format(arena, "where %d points are contracted", c->points),
            arena_format(arena, "tiles of %d x %d, %d x %d sums of a thread, each taken at once%s", c->brief->rows, c->brief->columns,
                         c->brief->high, c->brief->wide, c->squares != 0 ? ", made in f64 on tensor cores where points are near to 0" : "") };
    if (c->ring)
        forms[count++] = (Form){ "where tensor maps describe both sides",
            arena_format(arena, "tiles of %d x %d in a ring of %d stages%s, multiplied by groups of four warps", c->ring->left, c->ring->right,
                         c->ring->stages, c->ring->kept ? ", rows kept" : "") };
    if (c->parts)
        forms[count++] = (Form){ arena_format(arena, "where all numbers have %d parts of bf16", c->parts->tile->parts),
            arena_format(arena, "tiles of %d x %d, products of parts", c->parts->tile_rows, c->parts->tile_vectors * lanes) };
    return count;
}

static Form bundle_form(Arena *arena, const Bundle *bundle)
{
    const IndexSet inner = { bundle->axes + 1, bundle->axis_count - 1 };
    Text what = text_new(arena);
    text_print(&what, "lanes shared by some points of %s and all of", bundle->axes[0]->name);
    print_set(&what, "", &inner, "");
    if (bundle->vectors > 1)
        text_print(&what, ", %d vectors together", bundle->vectors);
    return (Form){ "where strides allow it", what.bytes };
}

int launch_forms(Arena *arena, const Plan *plan, const Launch *launch, Form **list)
{
    Form *forms = *list = ARENA_ARRAY(arena, Form, 3 * launch->step_count + 3);
    int count = 0;
    const Guess *guess = launch->guess;
    const RingTile *ring = launch->fuse && launch->fuse->ring ? launch->fuse->ring->ring : NULL;
    for (int s = 0; s < launch->step_count; s++) {
        if (launch->steps[s]->contract)
            count += contract_forms(arena, launch->steps[s]->contract, plan->lanes, forms + count);
        if (launch->steps[s]->bundle)
            forms[count++] = bundle_form(arena, launch->steps[s]->bundle);
    }
    if (ring)
        forms[count++] = (Form){ "where tensor maps describe all operands",
            arena_format(arena, "tiles of %d x %d in a ring of %d stages, multiplied by groups of four warps", ring->left, ring->right, ring->stages) };
    if (guess)
        forms[count++] = (Form){ "where guessed maxima are good",
            arena_format(arena, "%s to %s tile by tile", made(guess->product), made(launch->steps[guess->to - 1])) };
    if (launch->lifts)
        forms[count++] = (Form){ "where none of them overflows", arena_format(arena, "sums of powers 2^%d times as large", LIFT) };
    return count;
}

static const Index *sweep_index(const Launch *launch)
{
    int s = launch->sweep_from;
    while (!launch->sweep->of_step[s])
        s++;
    return launch->sweep->of_step[s];
}

static void dump_launch(Text *text, const Plan *plan, const Launch *launch)
{
    text_print(text, "launch %d:", launch->id + 1);
    for (int b = 0; b < launch->block_count; b++) {
        const Block *block = &launch->blocks[b];
        text_print(text, "%s block of %s: ", b ? "," : "", block->of_step[launch->step_count - 1]->name);
        print_definition(text, block->tile);
    }
    text_put(text, launch->block_count ? "\n" : " one unit\n");
    for (int s = 0; s < launch->step_count; s++) {
        if (launch->sweep && s == launch->sweep_from) {
            text_print(text, "  steps %d to %d for each block of %s: ", launch->steps[s]->id + 1, launch->steps[launch->sweep_to - 1]->id + 1,
                       sweep_index(launch)->name);
            print_definition(text, launch->sweep->tile);
            text_put(text, "\n");
        }
        dump_step(text, plan, launch->steps[s]);
    }
    Form *forms;
    int count = launch_forms(text->arena, plan, launch, &forms);
    for (int f = 0; f < count; f++)
        text_print(text, "  %s: %s\n", forms[f].when, forms[f].what);
}

void plan_dump(Text *text, const Plan *plan)
{
    text_print(text, "target %s, %d lanes\n", plan->target->name, plan->lanes);
    for (int l = 0; l < plan->launch_count; l++)
        dump_launch(text, plan, plan->launches[l]);
    for (int t = 0; t < plan->lowered->tensor_count; t++) {
        const Tensor *tensor = plan->lowered->tensors[t];
        const Storage *storage = &plan->storage[t];
        if (!tensor->maker || tensor->home != tensor || storage->place == PLACE_CALLER)
            continue;
        if (storage->place == PLACE_REGISTERS) {
            text_print(text, "%s: in registers\n", tensor->label);
            continue;
        }
        if (storage->over) {
            text_print(text, "%s: in the place of %s\n", tensor->label, storage->over->label);
            continue;
        }
        text_print(text, "%s: %s, ", tensor->label, storage->place == PLACE_SHARED ? "whole" : "a block");
        print_size(text, storage->bytes);
        text_put(text, " bytes\n");
    }
    text_put(text, "workspace ");
    const Size *shared = plan->shared->kind == SIZE_NAMED ? plan->shared->a : plan->shared;
    const Size *per_worker = plan->per_worker->kind == SIZE_NAMED ? plan->per_worker->a : plan->per_worker;
    bool none = size_is_constant(per_worker, 0);
    if (none || !size_is_constant(shared, 0))
        print_size(text, shared);
    if (!none) {
        text_put(text, size_is_constant(shared, 0) ? "workers * (" : " + workers * (");
        print_size(text, per_worker);
        text_put(text, ")");
    }
    text_put(text, "\n");
}
