#include "extents.h"

#include <string.h>

/* Positions are added up in more bits than they have. */
__extension__ typedef __int128 Wide;

typedef struct Infer {
    Arena *arena;
    const Program *program;
    const ExtentSpec *given;
    int given_count;
    Diags *diags;
    Extents *extents;
    bool *reported;               /* [index id]: its extents disagree, and it was said */
} Infer;

static ExtentSpec given_extent(const Infer *infer, const Index *index)
{
    for (int i = 0; i < infer->given_count && !index->in_dots; i++)
        if (!strcmp(infer->given[i].name, index->name))
            return infer->given[i];
    return (ExtentSpec){ .extent = -1, .is_hint = true };
}

/* ---- ranges ---- */

void position_range(const Extents *extents, const Position *position, int64_t *least, int64_t *greatest)
{
    Wide low = position->constant, high = position->constant;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        Wide reach = (Wide)part->coefficient * (extents->of[part->index->id] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    *least = low < INT64_MIN ? INT64_MIN : (int64_t)low;
    *greatest = high > INT64_MAX ? INT64_MAX : (int64_t)high;
}

static bool position_known(const Extents *extents, const Position *position)
{
    for (int k = 0; k < position->count; k++)
        if (!position->parts[k].index || extents->of[position->parts[k].index->id] < 0)
            return false;
    return true;
}

static bool position_empty(const Extents *extents, const Position *position)
{
    for (int k = 0; k < position->count; k++)
        if (position->parts[k].index && extents->of[position->parts[k].index->id] == 0)
            return true;
    return false;
}

/* One more than the largest position written, where no gather hides it; else -1. */
static int64_t written_extent(const Extents *extents, const Position *position)
{
    int64_t least, greatest;
    if (!position_known(extents, position))
        return -1;
    if (position_empty(extents, position))
        return 0;
    position_range(extents, position, &least, &greatest);
    return greatest < INT64_MAX ? greatest + 1 : -1;
}

/* ---- one index ---- */

static void report_axes(Infer *infer, const Index *index, const Axis *first, int64_t first_size, const Axis *second,
                        int64_t second_size)
{
    if (infer->reported[index->id])
        return;
    infer->reported[index->id] = true;
    diag_error(infer->diags, second->span, "index '%s' is %lld in %s, but %lld in %s", index->name, (long long)second_size,
               tensor_words(infer->arena, second->tensor), (long long)first_size,
               tensor_words(infer->arena, first->tensor));
    diag_note(infer->diags, first->span, "axis %d of %s has %lld", first->axis, tensor_words(infer->arena, first->tensor),
              (long long)first_size);
}

/* The common size of the axes where the index stands alone. Size 1 of an input gives way to any other, as in numpy; what
 * a statement makes has its extents from indices, which are never stretched. */
static int64_t axes_extent(Infer *infer, const Index *index)
{
    const Axis *fixed = NULL;
    int64_t extent = -1;
    bool unknown = false;
    for (int i = 0; i < index->axis_count; i++) {
        const Axis *axis = &index->axes[i];
        int64_t size = infer->extents->shape[axis->tensor->id][axis->axis];
        if (size < 0) {
            unknown |= !axis->tensor->from_caller;
            continue;
        }
        bool yields = size == 1 && !axis->tensor->maker;
        if (!fixed && yields) {
            extent = 1;
        } else if (!fixed) {
            fixed = axis;
            extent = size;
        } else if (!yields && size != extent) {
            report_axes(infer, index, fixed, extent, axis, size);
        }
    }
    ExtentSpec given = given_extent(infer, index);
    bool known = extent >= 0 && (fixed || !unknown);
    if (!given.is_hint && known && given.extent != extent && !infer->reported[index->id]) {
        const Axis *axis = fixed ? fixed : &index->axes[0];
        infer->reported[index->id] = true;
        diag_error(infer->diags, axis->span, "index '%s' is given as %lld, but is %lld in %s", index->name,
                   (long long)given.extent, (long long)extent, tensor_words(infer->arena, axis->tensor));
    }
    return known ? extent : given.extent;
}

/* The extent that one position allows the index: the largest e with every position 0 <= p < size. -1: not known. */
static int64_t fit_extent(const Infer *infer, const Fit *fit, const Index *index)
{
    const Position *position = fit->position;
    int64_t coefficient = 0, size = infer->extents->shape[fit->tensor->id][fit->axis];
    Wide least = position->constant, greatest = position->constant;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (part->index == index) {
            coefficient = part->coefficient;
            continue;
        }
        int64_t extent = infer->extents->of[part->index->id];
        if (extent < 0)
            return -1;
        Wide reach = extent ? (Wide)part->coefficient * (extent - 1) : 0;
        *(reach < 0 ? &least : &greatest) += reach;
    }
    if (size < 0)
        return -1;
    Wide room = coefficient > 0 ? size - 1 - greatest : least;
    Wide step = coefficient > 0 ? coefficient : -(Wide)coefficient;
    if (room < 0)
        return 0;
    Wide extent = room / step + 1;
    return extent > INT64_MAX ? INT64_MAX : (int64_t)extent;
}

/* Not known before all of its positions are. */
static int64_t fits_extent(const Infer *infer, const Index *index)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < index->fit_count && best >= 0; i++) {
        int64_t e = fit_extent(infer, &index->fits[i], index);
        best = e < best ? e : best;
    }
    return best;
}

/* The size of what topk leaves is written; where it stands alone, axes must agree. */
static int64_t ranks_extent(Infer *infer, const Index *index)
{
    for (int i = 0; i < index->axis_count; i++) {
        const Axis *axis = &index->axes[i];
        int64_t size = infer->extents->shape[axis->tensor->id][axis->axis];
        if (size < 0 || size == index->ranks || (size == 1 && !axis->tensor->maker) || infer->reported[index->id])
            continue;
        infer->reported[index->id] = true;
        diag_error(infer->diags, axis->span, "index '%s' is %lld in %s, but %lld were ranked", index->name, (long long)size,
                   tensor_words(infer->arena, axis->tensor), (long long)index->ranks);
        diag_note(infer->diags, index->span, "'%s' stands for the ranks from here on", index->name);
    }
    return index->ranks;
}

static int64_t index_extent(Infer *infer, const Index *index)
{
    int64_t given = given_extent(infer, index).extent;
    switch (index->rule) {
    case EXTENT_RANKS: return ranks_extent(infer, index);
    case EXTENT_AXES: return axes_extent(infer, index);
    case EXTENT_FITS:
        if (axes_extent(infer, index) >= 0)
            return axes_extent(infer, index);
        return given >= 0 ? given : fits_extent(infer, index);
    case EXTENT_GIVEN: return given;
    case EXTENT_WRITTEN: return written_extent(infer->extents, index->written);
    }
    return -1;
}

static void infer_indices(Infer *infer, int statement)
{
    const Program *p = infer->program;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->index_count; i++)
            if (p->indices[i]->statement == statement && infer->extents->of[i] < 0) {
                infer->extents->of[i] = index_extent(infer, p->indices[i]);
                changed |= infer->extents->of[i] >= 0;
            }
    }
}

/* ---- what is in range ---- */

static void check_position(Infer *infer, const Tensor *tensor, int axis, const Position *position, const char *verb)
{
    const Extents *extents = infer->extents;
    int64_t size = extents->shape[tensor->id][axis], least, greatest;
    if (position_is_plain(position) || size < 0 || !position_known(extents, position) || position_empty(extents, position))
        return;
    position_range(extents, position, &least, &greatest);
    if (least >= 0 && greatest < size)
        return;
    diag_error(infer->diags, position->span, "this %s %s at %lld, but the axis has %lld", verb,
               tensor_words(infer->arena, tensor), (long long)(least < 0 ? least : greatest), (long long)size);
    const char *whole = NULL;
    for (int k = 0; k < position->count; k++)
        if (position->parts[k].index->rule == EXTENT_AXES)
            whole = position->parts[k].index->name;
    if (whole)
        diag_hint(infer->diags, "'%s' stands alone elsewhere and so has that whole axis; pass a slice of the array as "
                  "another operand, or read what is out of range inside 'where(condition, ..., 0)'", whole);
    else
        diag_hint(infer->diags, "give smaller extents, or read it inside 'where(condition, ..., 0)'");
}

/* ---- what each term needs ---- */

static int64_t count_of(const Extents *extents, Index *const *indices, int count)
{
    int64_t product = 1;
    for (int i = 0; i < count; i++) {
        int64_t e = extents->of[indices[i]->id];
        if (e < 0)
            return -1;
        if (e == 0)
            return 0;
        if (__builtin_mul_overflow(product, e, &product))
            product = INT64_MAX;
    }
    return product;
}

static void check_reduction(Infer *infer, const Term *term)
{
    const ReductionFacts *facts = &reduction_facts[term->reduce.reduction];
    const Extents *extents = infer->extents;
    if (term->kind != TERM_REDUCE || facts->empty || count_of(extents, term->indices, term->rank) <= 0)
        return;
    int64_t over = count_of(extents, term->reduce.over, term->reduce.over_count);
    if (over == 0)
        diag_error(infer->diags, term->span, "'%s' over nothing: index '%s' has extent 0", facts->name,
                   term->reduce.over[0]->name);
    else if (facts->leaves == LEAVES_RANKS && over > 0 && over < (int64_t)term->reduce.parameter)
        diag_error(infer->diags, term->span, "'%s(%lld)' of %lld: index '%s' is too short", facts->name,
                   (long long)term->reduce.parameter, (long long)over, term->reduce.over[0]->name);
}

/* How a term was visited: in a where's branch, where only what no condition excuses is checked, or outside. */
enum { SEEN_IN_BRANCH = 1, SEEN = 2 };

/* Reads are checked where they happen whenever the term is evaluated, which is not in a where's branches, nor in loops
 * that run no times. A reduction of nothing has no value that a where could hide. */
static void check_term(Infer *infer, const Term *term, int how, char *seen)
{
    if (seen[term->id] >= how)
        return;
    bool again = seen[term->id] == SEEN_IN_BRANCH;
    seen[term->id] = (char)how;
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank && how == SEEN; a++) {
            const Position *position = &term->read.positions[a];
            check_position(infer, term->read.tensor, a, position, "reads");
            for (int k = 0; k < position->count; k++)
                if (position->parts[k].gather)
                    check_term(infer, position->parts[k].gather, how, seen);
        }
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            check_term(infer, term->map.arguments[i], how, seen);
        break;
    case TERM_SELECT:
        check_term(infer, term->select.condition, how, seen);
        check_term(infer, term->select.yes, SEEN_IN_BRANCH, seen);
        check_term(infer, term->select.no, SEEN_IN_BRANCH, seen);
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE:
        if (!again)
            check_reduction(infer, term);
        if (count_of(infer->extents, term->reduce.over, term->reduce.over_count) != 0)
            check_term(infer, term->reduce.argument, how, seen);
        break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

/* ---- statements ---- */

/* Whether a statement writes at all: none of its loops is known to run no times. */
static bool writes_something(const Extents *extents, const Output *output)
{
    for (int a = 0; a < output->tensor->rank; a++)
        if (position_known(extents, &output->positions[a]) && position_empty(extents, &output->positions[a]))
            return false;
    return count_of(extents, output->value->indices, output->value->rank) != 0;
}

static void shape_output(Infer *infer, const Output *output)
{
    Extents *extents = infer->extents;
    const Tensor *tensor = output->tensor;
    int64_t *shape = extents->shape[tensor->id];
    const int64_t *previous = tensor->previous ? extents->shape[tensor->previous->id] : NULL;
    for (int a = 0; a < tensor->rank; a++) {
        int64_t own = tensor->axes[a] ? extents->of[tensor->axes[a]->id] : -1;
        if (previous) {
            if (own >= 0 && previous[a] >= 0 && own != previous[a] && !infer->reported[tensor->axes[a]->id]) {
                diag_error(infer->diags, output->positions[a].span, "index '%s' is %lld, but axis %d of %s has %lld",
                           tensor->axes[a]->name, (long long)own, a, tensor_words(infer->arena, tensor),
                           (long long)previous[a]);
                diag_note(infer->diags, tensor->previous->span, "it is made here");
            }
            shape[a] = previous[a];
        } else if (tensor->axes[a]) {
            if (shape[a] < 0)
                shape[a] = own;
        } else if (shape[a] < 0) {
            shape[a] = written_extent(extents, &output->positions[a]);
        }
        if (writes_something(extents, output))
            check_position(infer, tensor, a, &output->positions[a], "writes");
    }
}

static void check_count(Infer *infer, const Tensor *tensor)
{
    int64_t bytes = (int64_t)dtype_size(tensor->dtype);
    const int64_t *shape = infer->extents->shape[tensor->id];
    bool overflow = false, empty = false;
    for (int a = 0; a < tensor->rank; a++) {
        empty |= shape[a] == 0;
        overflow |= shape[a] > 0 && __builtin_mul_overflow(bytes, shape[a], &bytes);
    }
    if (overflow && !empty) {
        diag_error(infer->diags, tensor->span, "%s would have more than 2^63 bytes",
                   tensor->name || tensor->input >= 0 ? tensor_words(infer->arena, tensor) : "the result");
    }
}

static void infer_statement(Infer *infer, int s)
{
    const Program *p = infer->program;
    const Statement *statement = p->statements[s];
    infer_indices(infer, s);
    char *seen = ARENA_ARRAY(infer->arena, char, p->term_count);
    for (int o = 0; o < statement->output_count; o++) {
        const Output *output = &statement->outputs[o];
        shape_output(infer, output);
        check_count(infer, output->tensor);
        if (count_of(infer->extents, output->value->indices, output->value->rank) != 0)
            check_term(infer, output->value, SEEN, seen);
        for (int a = 0; a < output->tensor->rank; a++)
            for (int k = 0; k < output->positions[a].count; k++)
                if (output->positions[a].parts[k].gather)
                    check_term(infer, output->positions[a].parts[k].gather, SEEN, seen);
    }
}

Extents *extents_infer(Arena *arena, const Program *program, const int64_t *const *shapes, const ExtentSpec *given,
                       int given_count, Diags *diags)
{
    Infer infer = { arena, program, given, given_count, diags, ARENA_NEW(arena, Extents),
                    ARENA_ARRAY(arena, bool, program->index_count) };
    Extents *extents = infer.extents;
    int before = diags->errors;
    extents->program = program;
    extents->of = ARENA_ARRAY(arena, int64_t, program->index_count);
    extents->shape = ARENA_ARRAY(arena, int64_t *, program->tensor_count);
    for (int i = 0; i < program->index_count; i++)
        extents->of[i] = -1;
    for (int t = 0; t < program->tensor_count; t++) {
        const Tensor *tensor = program->tensors[t];
        bool outside = !tensor->maker || tensor->from_caller;
        extents->shape[t] = ARENA_ARRAY(arena, int64_t, tensor->rank);
        for (int a = 0; a < tensor->rank; a++)
            extents->shape[t][a] = outside && shapes && shapes[t] ? shapes[t][a] : -1;
        if (!tensor->maker)
            check_count(&infer, tensor);
    }
    for (int s = 0; s < program->statement_count; s++)
        infer_statement(&infer, s);
    extents->complete = true;
    for (int i = 0; i < program->index_count; i++)
        extents->complete &= extents->of[i] >= 0;
    for (int t = 0; t < program->tensor_count; t++)
        for (int a = 0; a < program->tensors[t]->rank; a++)
            extents->complete &= extents->shape[t][a] >= 0;
    return diags->errors == before ? extents : NULL;
}

bool extents_require(const Extents *extents, Diags *diags)
{
    const Program *p = extents->program;
    int before = diags->errors;
    for (int i = 0; i < p->index_count; i++)
        if (extents->of[i] < 0 && p->indices[i]->rule != EXTENT_WRITTEN) {
            const Index *index = p->indices[i];
            diag_error(diags, index->span, "the extent of index '%s' is not known", index->name);
            diag_hint(diags, index->axis_count && !index->axes[0].tensor->from_caller
                      ? "give it, as in '-d %s=100', or the shapes of the operands" : "give it, as in '-d %s=100'",
                      index->name);
        }
    for (int t = 0; t < p->tensor_count; t++)
        for (int a = 0; a < p->tensors[t]->rank && diags->errors == before; a++)
            if (extents->shape[t][a] < 0) {
                const Tensor *tensor = p->tensors[t];
                diag_error(diags, tensor->span, "the size of axis %d of %s is not known", a,
                           tensor_words(diags->arena, tensor));
                diag_hint(diags, "pass the array that it adds to, or its shape, as in '--shape %s=100,20'", tensor->label);
            }
    return diags->errors == before;
}

int ranking_parts(int64_t extent, double kept, int64_t ranks)
{
    enum { PART = 1 << 12, PART_RANKS = 256, PARTS_MOST = 16 };
    const int64_t parts = extent / (ranks * PART_RANKS > PART ? ranks * PART_RANKS : PART);
    return kept >= KEPT_ENOUGH || (double)extent < kept * REDUCED_MORE || parts < 2 ? 1 : parts < PARTS_MOST ? (int)parts : PARTS_MOST;
}
