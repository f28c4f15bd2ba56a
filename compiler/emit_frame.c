/* The frame of a call: the arguments' struct, the extents that follow from shapes, the checks, the sizes that follow
 * from extents. */
#include <string.h>

#include "emitting.h"

/* ---- names ---- */

/* The parts of an argument's numbers: the same memory. */
static void name_parts(Emitter *e, const Tensor *parts)
{
    const char *pointer = names_unique(&e->names, emit_text(e, "%s_parts", e->pointers[parts->whole->id]));
    e->members[parts->id] = e->members[parts->whole->id];
    e->pointers[parts->id] = pointer;
    e->strides[parts->id] = ARENA_ARRAY(e->arena, const char *, parts->rank);
    for (int a = 0; a < parts->rank; a++)
        e->strides[parts->id][a] = a < parts->whole->rank ? names_unique(&e->names, emit_text(e, "%s_%d", pointer, a)) : "1";
}

/* Whether a name is an index's with a word behind it, as bounds of blocks have them: i_first, i_end. */
static bool is_of_index(const Emitter *e, const char *name)
{
    const char *word = strrchr(name, '_');
    for (int i = 0; word && i < e->plan->lowered->index_count; i++) {
        const char *index = e->plan->lowered->indices[i]->name;
        if (strlen(index) == (size_t)(word - name) && !strncmp(index, name, (size_t)(word - name)))
            return true;
    }
    return false;
}

static void name_tensors(Emitter *e)
{
    const Program *lowered = e->plan->lowered;
    bool (*uses)(const char *) = e->plan->target->grid ? emit_block_uses : emit_tiling_uses, tiled = false;
    for (int s = 0; s < e->plan->step_count; s++)
        tiled |= e->plan->steps[s]->contract != NULL;
    e->members = ARENA_ARRAY(e->arena, const char *, lowered->tensor_count);
    e->pointers = ARENA_ARRAY(e->arena, const char *, lowered->tensor_count);
    e->strides = ARENA_ARRAY(e->arena, const char **, lowered->tensor_count);
    Argument *argument = e->arguments;
    for (int pass = 0; pass < MEMBER_PASSES; pass++)
        for (int t = 0; t < lowered->tensor_count; t++) {
            const Tensor *tensor = lowered->tensors[t];
            if (emit_member_pass(tensor) != pass)
                continue;
            e->members[t] = names_unique(&e->names, tensor->label);
            bool clashes = names_is_numbered(e->members[t]) || emit_numbers(e->members[t]) || is_of_index(e, e->members[t]) ||
                           (tiled && uses(e->members[t]));
            e->pointers[t] = clashes ? names_unique(&e->names, emit_text(e, "%s_data", e->members[t])) : e->members[t];
            e->strides[t] = ARENA_ARRAY(e->arena, const char *, tensor->rank);
            for (int a = 0; a < tensor->rank; a++)
                e->strides[t][a] = names_unique(&e->names, emit_text(e, "%s_%d", e->pointers[t], a));
            if (emit_is_argument(tensor))
                argument++->name = e->members[t];
        }
    for (int t = 0; t < lowered->tensor_count; t++)
        if (lowered->tensors[t]->whole)
            name_parts(e, lowered->tensors[t]);
}

static const char *static_extent(Emitter *e, const Index *index)
{
    int64_t extent = emit_static_extent(e, index);
    return extent < 0 ? NULL : emit_text(e, "%lld", (long long)extent);
}

/* Where an index is called as a bound of a block, it has another name in the kernel. */
static void take_from_index(Emitter *e, const char *bound)
{
    bool taken = false;
    for (int i = 0; i < e->plan->lowered->index_count && !taken; i++)
        taken = !strcmp(e->plan->lowered->indices[i]->name, bound);
    if (taken)
        names_unique(&e->names, bound);
}

static void name_blocks(Emitter *e)
{
    const Plan *plan = e->plan;
    e->block_names = ARENA_ARRAY(e->arena, const char **, plan->launch_count);
    for (int l = 0; l < plan->launch_count; l++) {
        const Launch *launch = plan->launches[l];
        Names names = names_new(e->arena, &e->names);
        e->block_names[l] = ARENA_ARRAY(e->arena, const char *, launch->block_count + 1);
        for (int b = 0; b < launch->block_count; b++)
            e->block_names[l][b] = names_user(&names, launch->blocks[b].of_step[launch->step_count - 1]->name);
        for (int s = 0; launch->sweep && s < launch->step_count && !e->block_names[l][launch->block_count]; s++)
            if (launch->sweep->of_step[s])
                e->block_names[l][launch->block_count] = names_user(&names, launch->sweep->of_step[s]->name);
        for (int b = 0; b < launch->block_count + (launch->sweep != NULL); b++) {
            take_from_index(e, emit_text(e, "%s_first", e->block_names[l][b]));
            take_from_index(e, emit_text(e, "%s_end", e->block_names[l][b]));
        }
    }
}

void emit_name_frame(Emitter *e)
{
    const Program *p = e->plan->program;
    name_tensors(e);
    e->extents = ARENA_ARRAY(e->arena, const char *, p->index_count);
    for (int i = 0; i < p->index_count; i++) {
        if (!e->live_indices[i])
            continue;
        const char *constant = static_extent(e, p->indices[i]);
        e->extents[i] = constant ? constant : names_unique(&e->names, emit_text(e, "extent_%s", p->indices[i]->name));
        Argument *given = emit_given(e, p->indices[i]);
        if (given)
            given->name = names_unique(&e->names, emit_text(e, "given_%s", p->indices[i]->name));
    }
    name_blocks(e);
}

/* ---- the struct ---- */

const char *emit_frame(Emitter *e, const char *rest)
{
    Text text = text_new(e->arena);
    text_print(&text, "typedef struct Frame {\n    %s_args in;    /* strides of axes of size 1 are 0 here */\n", e->options->name);
    for (int i = 0; i < e->plan->program->index_count; i++)
        if (e->extents[i] && e->extents[i][0] == 'e')
            text_print(&text, "    int64_t %s;\n", e->extents[i]);
    bool shared = false, per_worker = false;
    for (int i = 0; i < e->size_count; i++) {
        text_print(&text, "    int64_t %s;\n", e->sizes[i]->name);
        shared |= !strcmp(e->sizes[i]->name, "shared");
        per_worker |= !strcmp(e->sizes[i]->name, "per_worker");
    }
    for (int l = 0; l < e->plan->launch_count; l++) {
        bool named = e->plan->launches[l]->units->kind == SIZE_NAMED;
        text_print(&text, "    int64_t %s%s%sgrain_%d, tasks_%d;\n", named ? "" : emit_text(e, "units_%d", l + 1),
                   named ? "" : ", ", "", l + 1, l + 1);
    }
    for (int s = 0; s < e->plan->step_count; s++)
        if (e->plan->steps[s]->units.count)
            text_print(&text, "    int unit_%d;    /* the lanes' strides are 1 */\n", s + 1);
    for (int s = 0; s < e->plan->step_count; s++)
        if (emit_rows_follow(e, e->plan->steps[s]))
            text_print(&text, "    int rows_follow_%d;    /* each other, so that one loop has them all */\n", s + 1);
    for (int s = 0; s < e->plan->step_count; s++)
        if (e->plan->steps[s]->result)
            text_print(&text, "    int past_%d;    /* whether the result is stored past the caches */\n", s + 1);
    for (int s = 0; s < e->plan->step_count; s++)
        if (e->plan->steps[s]->bundle)
            text_print(&text, "    int64_t bundle_%d;    /* so many points of %s share a vector with all others */\n"
                       "    int32_t lanes_%d[%d][LANES];    /* and where each lane finds its own element */\n", s + 1,
                       e->plan->steps[s]->bundle->axes[0]->name, s + 1, e->plan->steps[s]->bundle->operand_count);
    text_print(&text, "%s%s%s} Frame;\n", shared ? "" : "    int64_t shared;\n", per_worker ? "" : "    int64_t per_worker;\n",
               rest);
    return text.bytes;
}

/* ---- extents ---- */

/* Code for the size of an axis: of an argument, or of what a statement makes, which is an extent. */
static const char *axis_size(Emitter *e, const Tensor *tensor, int axis)
{
    const Argument *argument = emit_argument_of(e, tensor);
    if (argument && (!tensor->maker || tensor->from_caller || !tensor->axes[axis]))
        return emit_text(e, "f->in.%s.shape[%d]", argument->name, axis);
    return tensor->axes[axis] ? e->extents[tensor->axes[axis]->id] : NULL;
}

/* The extent of an index that stands alone at axes, and the checks that they agree. */
static const char *extent_of_axes(Emitter *e, const Index *index, Text *checks)
{
    const char *exact = NULL, *common = NULL;
    const char *name = e->extents[index->id];
    for (int i = 0; i < index->axis_count; i++) {
        const Axis *axis = &index->axes[i];
        if (!emit_is_told(e, axis))
            continue;
        const char *size = axis_size(e, axis->tensor, axis->axis);
        if (!size)
            continue;
        if (axis->tensor->maker) {
            if (exact && strcmp(exact, size))
                text_print(checks, "    if (%s != %s)\n        return BAD_SHAPES;\n", size, name);
            exact = exact ? exact : size;
        } else {
            common = common ? emit_text(e, "meet(%s, %s)", common, size) : size;
        }
    }
    if (!exact || !common)
        return exact ? exact : common;
    text_print(checks, "    if (%s != %s && %s != 1)\n        return BAD_SHAPES;\n", common, name, common);
    return exact;
}

/* The extent that one position allows: as fit_extent() in extents.c. */
static const char *extent_of_fit(Emitter *e, const Index *index, const Position *position, const char *size)
{
    int64_t coefficient = 0;
    for (int k = 0; k < position->count; k++) {
        if (position->parts[k].index == index)
            coefficient = position->parts[k].coefficient;
    }
    long long constant = position->constant;
    Text room = text_new(e->arena);
    if (coefficient < 0)
        text_print(&room, "%lld", constant);
    else
        text_print(&room, constant ? "%s - 1 %c %lld" : "%s - 1", size, constant < 0 ? '+' : '-', constant < 0 ? -constant : constant);
    for (int k = 0; k < position->count; k++) {
        int64_t c = position->parts[k].coefficient;
        if (position->parts[k].index != index && (c > 0) == (coefficient > 0))
            text_print(&room, " - reach(%lld, %s)", (long long)(c < 0 ? -c : c), e->extents[position->parts[k].index->id]);
    }
    return emit_text(e, "fit(%s, %lld)", room.bytes, (long long)(coefficient < 0 ? -coefficient : coefficient));
}

static const char *extent_of_fits(Emitter *e, const Index *index)
{
    const char *extent = NULL;
    for (int i = 0; i < index->fit_count; i++) {
        const Fit *fit = &index->fits[i];
        const char *one = extent_of_fit(e, index, fit->position, axis_size(e, fit->tensor, fit->axis));
        extent = extent ? emit_text(e, "size_min(%s, %s)", extent, one) : one;
    }
    return extent;
}

/* As written_extent() in extents.c. */
static const char *extent_of_written(Emitter *e, const Position *position)
{
    Text all = text_new(e->arena), span = text_new(e->arena);
    for (int k = 0; k < position->count; k++) {
        const char *extent = e->extents[position->parts[k].index->id];
        text_print(&all, "%s%s > 0", k ? " && " : "", extent);
        text_print(&span, " + reach(%lld, %s)", (long long)position->parts[k].coefficient, extent);
    }
    return emit_text(e, "(%s ? 1%s : 0)", all.bytes, span.bytes);
}

static void emit_extent_rule(Emitter *e, Text *text, const Index *index)
{
    const char *name = e->extents[index->id], *value;
    const Argument *given = emit_given(e, index);
    Text checks = text_new(e->arena);
    value = given ? emit_text(e, "args->%s", given->name)
            : emit_has_told_axis(e, index) ? extent_of_axes(e, index, &checks)
            : index->rule == EXTENT_FITS ? extent_of_fits(e, index)
            : index->rule == EXTENT_WRITTEN ? extent_of_written(e, index->written) : name;
    if (name[0] != 'e') {    /* a constant: the shapes must agree with it */
        if (index->rule != EXTENT_RANKS)
            text_print(text, "    if (%s != %s)\n        return BAD_SHAPES;\n", value, name);
        else if (value != name)
            text_print(text, "    if (%s != %s && %s != 1)\n        return BAD_SHAPES;\n", value, name, value);
    } else {
        bool simple = strchr(value, '(') == NULL && !given;
        text_print(text, "    const int64_t %s = f->%s = %s;\n", name, name, value);
        if (!simple)
            text_print(text, "    if (%s < 0)\n        return BAD_SHAPES;\n", name);
    }
    text_put(text, checks.bytes);
}

static bool is_ready(const Index *index, const bool *done)
{
    for (int k = 0; index->rule == EXTENT_WRITTEN && k < index->written->count; k++)
        if (!done[index->written->parts[k].index->id])
            return false;
    for (int i = 0; i < index->fit_count; i++) {
        const Position *position = index->fits[i].position;
        for (int k = 0; k < position->count; k++)
            if (position->parts[k].index != index && !done[position->parts[k].index->id])
                return false;
    }
    return true;
}

static void emit_extents(Emitter *e, Text *text)
{
    const Program *p = e->plan->program;
    bool *done = ARENA_ARRAY(e->arena, bool, p->index_count);
    for (int s = 0; s < p->statement_count; s++)
        for (bool changed = true; changed;) {
            changed = false;
            for (int i = 0; i < p->index_count; i++) {
                const Index *index = p->indices[i];
                bool ready = emit_has_told_axis(e, index) || is_ready(index, done);
                if (index->statement != s || done[i] || !e->extents[i] || !ready)
                    continue;
                emit_extent_rule(e, text, index);
                changed = done[i] = true;
            }
        }
}

/* ---- checks ---- */

static void emit_shapes(Emitter *e, Text *text)
{
    for (int i = 0; i < e->argument_count; i++) {
        const Argument *argument = &e->arguments[i];
        if (!argument->tensor || !argument->tensor->rank)
            continue;
        if (argument->is_output || argument->shape_only)
            text_print(text, "    if (!is_shape(f->in.%s.shape, %d))\n        return BAD_SHAPES;\n", argument->name,
                       argument->tensor->rank);
        else
            text_print(text, "    if (!settle(f->in.%s.shape, f->in.%s.stride, %d))\n        return BAD_SHAPES;\n",
                       argument->name, argument->name, argument->tensor->rank);
    }
}

static void emit_output_shapes(Emitter *e, Text *text)
{
    for (int i = 0; i < e->argument_count; i++) {
        const Argument *argument = &e->arguments[i];
        Text tests = text_new(e->arena);
        for (int a = 0; argument->is_output && a < argument->tensor->rank; a++)
            if (argument->tensor->axes[a])
                text_print(&tests, "%sf->in.%s.shape[%d] != %s", tests.length ? " || " : "", argument->name, a,
                           e->extents[argument->tensor->axes[a]->id]);
        if (tests.length)
            text_print(text, "    if (%s)\n        return BAD_SHAPES;\n", tests.bytes);
    }
}

static const char *loop_runs(Emitter *e, const char *around, const Index *index)
{
    if (e->extents[index->id][0] >= '1' && e->extents[index->id][0] <= '9')
        return around;
    const char *test = emit_text(e, "%s > 0 && ", e->extents[index->id]);
    return strstr(around, test) ? around : emit_text(e, "%s%s", around, test);
}

/* "a > 0 && b > 0" for the loops around a term; "" when there are none. */
static const char *loops_run(Emitter *e, const char *around, Index *const *indices, int count)
{
    for (int i = 0; i < count; i++)
        around = loop_runs(e, around, indices[i]);
    return around;
}

/* That a position is in range, be it read or written. */
static void emit_range_check(Emitter *e, Text *text, const Tensor *tensor, int axis, const Position *position, int code, const char *around)
{
    Text low = text_new(e->arena), high = text_new(e->arena);
    text_print(&low, "%lld", (long long)position->constant);
    text_print(&high, "%lld", (long long)position->constant);
    for (int k = 0; k < position->count; k++) {
        int64_t c = position->parts[k].coefficient;
        const char *extent = e->extents[position->parts[k].index->id];
        around = loop_runs(e, around, position->parts[k].index);
        text_print(c < 0 ? &low : &high, " + %lld * (%s - 1)", (long long)c, extent);
    }
    const char *size = axis_size(e, tensor, axis);
    if (size)
        text_print(text, "    if (%s(%s < 0 || %s >= %s))\n        return OUT_OF_RANGE - %d;\n", around, low.bytes, high.bytes,
                   size, code);
}

static void emit_reduction_check(Emitter *e, Text *text, const Term *term, const char *around)
{
    const ReductionFacts *facts = &reduction_facts[term->reduce.reduction];
    if (term->kind != TERM_REDUCE || facts->empty)
        return;
    for (int i = 0; i < term->reduce.over_count; i++)
        text_print(text, "    if (%s%s < %lld)\n        return BAD_SHAPES;\n", loops_run(e, around, term->indices, term->rank),
                   e->extents[term->reduce.over[i]->id],
                   facts->leaves == LEAVES_RANKS ? (long long)term->reduce.parameter : 1LL);
}

/* How a term was visited, as in extents.c. */
enum { SEEN_IN_BRANCH = 1, SEEN = 2 };

/* What is evaluated whenever the term is, and the reductions in a where's branches: as check_term() in extents.c. */
static void emit_checks(Emitter *e, Text *text, const Term *term, const char *around, int how, char *seen)
{
    if (seen[term->id] >= how)
        return;
    bool again = seen[term->id] == SEEN_IN_BRANCH;
    seen[term->id] = (char)how;
    switch (term->kind) {
    case TERM_READ:
        e->certain[term->id] = how == SEEN;
        for (int a = 0; a < term->read.tensor->rank && how == SEEN; a++) {
            const Position *position = &term->read.positions[a];
            if (!position_is_plain(position) && !position_has_gather(position))
                emit_range_check(e, text, term->read.tensor, a, position, term->id, around);
            for (int k = 0; k < position->count; k++)
                if (position->parts[k].gather)
                    emit_checks(e, text, position->parts[k].gather, around, how, seen);
        }
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            emit_checks(e, text, term->map.arguments[i], around, how, seen);
        break;
    case TERM_SELECT:
        emit_checks(e, text, term->select.condition, around, how, seen);
        emit_checks(e, text, term->select.yes, around, SEEN_IN_BRANCH, seen);
        emit_checks(e, text, term->select.no, around, SEEN_IN_BRANCH, seen);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        if (!again)
            emit_reduction_check(e, text, term, around);
        emit_checks(e, text, term->reduce.argument, loops_run(e, around, term->reduce.over, term->reduce.over_count), how,
                    seen);
        break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

bool emit_is_certain_target(const Emitter *e, const Tensor *tensor, const Position *position)
{
    return !e->plan->target->grid && !position_has_gather(position) && tensor && emit_argument_of(e, tensor);
}

/* What is returned when a tensor of the checked program is written out of range. */
static int target_code(const Emitter *e, const Tensor *tensor)
{
    const Program *lowered = e->plan->lowered;
    int home = 0;
    for (int t = 0; t < lowered->tensor_count; t++)
        home = lowered->tensors[t]->source == tensor ? lowered->tensors[t]->home->id : home;
    return e->plan->program->term_count + home;
}

/* Of a `+=` that all positions are in range which no array tells. */
static void emit_target_checks(Emitter *e, Text *text, const Output *output, const char *around)
{
    for (int a = 0; a < output->tensor->rank; a++)
        for (int k = 0; k < output->positions[a].count; k++) {
            const PositionPart *part = &output->positions[a].parts[k];
            around = part->index ? loop_runs(e, around, part->index) : loops_run(e, around, part->gather->indices, part->gather->rank);
        }
    for (int a = 0; a < output->tensor->rank; a++)
        if (!position_is_plain(&output->positions[a]) && emit_is_certain_target(e, output->tensor, &output->positions[a]))
            emit_range_check(e, text, output->tensor, a, &output->positions[a], target_code(e, output->tensor), around);
}

static void emit_statement_checks(Emitter *e, Text *text)
{
    const Program *p = e->plan->program;
    char *seen = ARENA_ARRAY(e->arena, char, p->term_count);
    for (int s = 0; s < p->statement_count; s++)
        for (int o = 0; o < p->statements[s]->output_count && e->live_statements[s]; o++) {
            const Output *output = &p->statements[s]->outputs[o];
            const char *around = loops_run(e, "", output->value->indices, output->value->rank);
            emit_checks(e, text, output->value, around, SEEN, seen);
            emit_target_checks(e, text, output, around);
            for (int a = 0; a < output->tensor->rank; a++)
                for (int k = 0; k < output->positions[a].count; k++)
                    if (output->positions[a].parts[k].gather)
                        emit_checks(e, text, output->positions[a].parts[k].gather, around, SEEN, seen);
        }
}

/* ---- sizes ---- */

/* The sizes that depend on no other: tasks of each launch, and what is fast for these strides. */
static void emit_launch_sizes(Emitter *e, Text *text)
{
    const Plan *plan = e->plan;
    if (plan->shared->kind != SIZE_NAMED && !size_is_constant(plan->shared, 0))
        text_print(text, "    f->shared = %s;\n", emit_size(e, plan->shared));
    if (plan->per_worker->kind != SIZE_NAMED && !size_is_constant(plan->per_worker, 0))
        text_print(text, "    f->per_worker = %s;\n", emit_size(e, plan->per_worker));
    for (int l = 0; l < plan->launch_count; l++) {
        const Launch *launch = plan->launches[l];
        if (launch->units->kind != SIZE_NAMED)
            text_print(text, "    f->units_%d = %s;\n", l + 1, emit_size(e, launch->units));
        const char *most = emit_size(e, launch->tasks);
        if (strchr(most, '(')) {
            text_print(text, "    const int64_t most_%d = %s;\n", l + 1, most);
            most = emit_text(e, "most_%d", l + 1);
        }
        text_print(text, "    f->grain_%d = size_max(size_ceil_div(f->units_%d, %s), 1);\n", l + 1, l + 1, most);
        text_print(text, "    f->tasks_%d = size_ceil_div(f->units_%d, f->grain_%d);\n", l + 1, l + 1, l + 1);
    }
    for (int s = 0; s < plan->step_count; s++) {
        const Step *step = plan->steps[s];
        for (int u = 0; u < step->units.count; u++)
            text_print(text, "%sf->in.%s.stride[%d] == 1%s", u ? " && " : emit_text(e, "    f->unit_%d = ", s + 1),
                       e->members[step->units.list[u].tensor->id], step->units.list[u].axis, u == step->units.count - 1 ? ";\n" : "");
        const char *rows = emit_rows_follow(e, step);
        if (rows)
            text_print(text, "    f->rows_follow_%d = %s;\n", s + 1, rows);
        if (step->bundle)
            emit_bundle_sizes(e, text, step);
    }
    for (int l = 0; l < plan->launch_count; l++)
        for (int s = 0; s < plan->launches[l]->step_count; s++)
            if (plan->launches[l]->steps[s]->result)
                text_print(text, "    f->past_%d = %s;\n", plan->launches[l]->steps[s]->id + 1,
                           emit_past(e, plan->launches[l], plan->launches[l]->steps[s]));
}

/* Named sizes in front, from the last to the first, so that a local is declared only where something uses it. */
static void emit_sizes(Emitter *e, Text *text)
{
    Text last = text_new(e->arena);
    emit_launch_sizes(e, &last);
    const char *rest = last.bytes;
    for (int i = e->size_count - 1; i >= 0; i--) {
        const char *name = e->sizes[i]->name, *formula = emit_size(e, e->sizes[i]->a);
        bool used = emit_mentions(rest, name);
        rest = emit_text(e, used ? "    const int64_t %s = f->%s = %s;\n%s" : "    %.0sf->%s = %s;\n%s", name, name, formula, rest);
    }
    text_put(text, rest);
}

/* An extent that nothing below uses needs no local of its own. */
static const char *drop_unused_locals(Emitter *e, const char *text)
{
    static const char local[] = "    const int64_t extent_";
    Text out = text_new(e->arena);
    while (*text) {
        size_t length = strcspn(text, "\n") + 1;
        const char *name = text + sizeof "    const int64_t " - 1;
        bool unused = !strncmp(text, local, sizeof local - 1) &&
                      !emit_mentions(text + length, arena_copy(e->arena, name, strcspn(name, " ")));
        const char *rest = unused ? name + strcspn(name, " ") + strlen(" = ") : text;    /* what it is assigned from */
        text_put(&out, unused ? "    " : "");
        text_add(&out, rest, (size_t)(text + length - rest));
        text += length;
    }
    return out.bytes;
}

const char *emit_prepare(Emitter *e)
{
    Text text = text_new(e->arena);
    text_print(&text, "static int prepare(Frame *f, const %s_args *args, int workers)\n{\n", e->options->name);
    text_put(&text, "    (void)workers;\n    memset(f, 0, sizeof *f);\n    f->in = *args;\n");
    emit_shapes(e, &text);
    emit_coalesce(e, &text);
    emit_extents(e, &text);
    emit_output_shapes(e, &text);
    emit_statement_checks(e, &text);
    emit_sizes(e, &text);
    text_put(&text, "    return 0;\n}\n");
    return drop_unused_locals(e, text.bytes);
}

/* ---- the header ---- */

static const char *data_type(Dtype dtype)
{
    return dtype == DTYPE_C64 ? "float" : dtype == DTYPE_C128 ? "double" : dtype_c(dtype);
}

static void declare_argument(Emitter *e, Text *text, const Argument *argument)
{
    if (argument->extent) {
        text_print(text, "    int64_t %s;    /* the extent of index %s, which no operand fixes */\n", argument->name,
                   argument->extent->name);
        return;
    }
    const Tensor *tensor = argument->tensor;
    text_print(text, "    struct {    /* %s", argument->is_output ? "output" : argument->shape_only ? "shape only" : "input");
    if (tensor->name)
        text_print(text, " %s", tensor->name);
    text_print(text, ", %s", dtype_name(tensor->dtype));
    if (argument->is_output && tensor->rank) {
        text_put(text, "[");
        for (int a = 0; a < tensor->rank; a++)
            text_print(text, "%s%s", a ? "," : "", tensor->axes[a] ? tensor->axes[a]->name : "*");
        text_put(text, "]");
    }
    if (tensor->from_caller)
        text_put(text, ", added to");
    text_print(text, " */\n        %s%s *data;\n", argument->is_output ? "" : "const ", data_type(tensor->dtype));
    text_print(text, "        int64_t shape[%d], stride[%d];\n    } %s;\n", tensor->rank ? tensor->rank : 1,
               tensor->rank ? tensor->rank : 1, argument->name);
    (void)e;
}

const char *emit_arguments(Emitter *e)
{
    Text text = text_new(e->arena);
    text_print(&text, "typedef struct %s_args {\n", e->options->name);
    for (int i = 0; i < e->argument_count; i++)
        declare_argument(e, &text, &e->arguments[i]);
    text_print(&text, "} %s_args;\n", e->options->name);
    return text.bytes;
}

const char *emit_declarations(Emitter *e)
{
    const char *name = e->options->name;
    Text text = text_new(e->arena);
    text_put(&text, embedded_find("host.h"));
    text_print(&text, "\n/* Strides count elements, and may be 0 or negative; data need not be aligned. An array of rank 0 has no shape.\n"
               " * Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */\n%s", emit_arguments(e));
    text_print(&text, "\n/* The bytes of workspace that %s() wants for these shapes and so many workers. 0, or why not. */\n"
               "int %s_workspace(const %s_args *args, int workers, size_t *bytes);\n", name, name, name);
    text_print(&text, "\n/* Runs the kernel. `workspace` is aligned to 64 bytes; NULL host: one thread. 0, or a negative number: -2 an argument\n"
               " * that has no meaning, -3 shapes that do not fit, -4 too small a workspace (nothing was written), -7 cancelled,\n%s"
               " * -16 and below a position out of range (outputs are then undefined). Thread-safe. */\n"
               "int %s(const %s_args *args, void *workspace, size_t bytes, const einc_host *host);\n",
               plan_permission(e->plan) ? " * -6 a machine that lacks what this is for, or whose system does not allow it (nothing was written),\n" : "", name, name);
    return text.bytes;
}
