/* See gather.h. */
#include "gather.h"

#include <math.h>

#include "order.h"
#include "state.h"

/* An index whose place another one takes: it is the place less the rest of the sum. */
typedef struct Move {
    const Index *gone;
    Index *place;
    const Position *sum;          /* of the target as it was */
} Move;

typedef struct Gather {
    Arena *arena;
    Program *out;
    Statement *statement;
    const Extents *extents;
    Move *moves;
    int move_count;
} Gather;

/* ---- which indices go ---- */

static bool is_known(const Gather *g, const Index *index)
{
    return g->extents && g->extents->of[index->origin->id] >= 0;
}

static double points(const Gather *g, const Index *index)
{
    enum { GUESS = 64 };
    return is_known(g, index) ? (double)g->extents->of[index->origin->id] : GUESS;
}

static const Index *longest_alone(const Gather *g, const Position *sum)
{
    const Index *longest = NULL;
    for (int k = 0; k < sum->count; k++)
        if (sum->parts[k].coefficient == 1 && (!longest || points(g, sum->parts[k].index) > points(g, longest)))
            longest = sum->parts[k].index;
    return longest;
}

static const Move *move_of(const Gather *g, const Index *index)
{
    for (int m = 0; m < g->move_count; m++)
        if (g->moves[m].gone == index)
            return &g->moves[m];
    return NULL;
}

static void find_moves(Gather *g)
{
    const Output *output = &g->statement->outputs[0];
    for (int a = 0; a < output->tensor->rank; a++) {
        const Index *written = output->tensor->written[a];
        if (!written)
            continue;
        Index *place = ARENA_NEW(g->arena, Index);
        *place = *written;
        place->id = g->out->index_count;
        place->statement = g->statement->id;
        place->origin = written;
        ARENA_APPEND(g->arena, g->out->indices, g->out->index_count, place);
        Move move = { longest_alone(g, &output->positions[a]), place, &output->positions[a] };
        ARENA_APPEND(g->arena, g->moves, g->move_count, move);
    }
}

/* Whether what goes stands alone wherever it is read, and the array is not what is added to it. */
static bool can_move(const Gather *g)
{
    const Output *output = &g->statement->outputs[0];
    for (int i = 0; i < g->out->term_count; i++) {
        const Term *term = g->out->terms[i];
        if (term->statement != g->statement->id || term->kind != TERM_READ)
            continue;
        if (term->read.tensor->name && output->tensor->name && term->read.tensor->label == output->tensor->label)
            return false;
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].index && move_of(g, term->read.positions[a].parts[k].index) &&
                    !position_is_plain(&term->read.positions[a]))
                    return false;
    }
    return true;
}

/* ---- terms ---- */

static void depend_on_index(Gather *g, Term *term, Index *index)
{
    if (!term_has_index(term, index))
        ARENA_APPEND(g->arena, term->indices, term->rank, index);
}

static Term *new_term(Gather *g, TermKind kind, Dtype dtype, Span span)
{
    Term *term = ARENA_NEW(g->arena, Term);
    *term = (Term){ .kind = kind, .id = g->out->term_count, .statement = g->statement->id, .span = span, .dtype = dtype };
    ARENA_APPEND(g->arena, g->out->terms, g->out->term_count, term);
    return term;
}

static Term *new_map(Gather *g, Function function, Dtype dtype, Term *a, Term *b)
{
    Term *map = new_term(g, TERM_MAP, dtype, a->span), *arguments[] = { a, b };
    map->map.function = function;
    map->map.arguments = ARENA_ARRAY(g->arena, Term *, 2);
    map->map.count = 2;
    for (int i = 0; i < 2; i++) {
        map->map.arguments[i] = arguments[i];
        for (int k = 0; k < arguments[i]->rank; k++)
            depend_on_index(g, map, arguments[i]->indices[k]);
    }
    return map;
}

static Term *new_integer(Gather *g, Dtype dtype, int64_t integer, Span span)
{
    Term *term = new_term(g, TERM_CONSTANT, dtype, span);
    term->constant.integer = integer;
    term->constant.value = (double)integer;
    term->constant.is_integer = dtype_kind(dtype) == KIND_INT;
    return term;
}

static Term *new_position(Gather *g, Index *index, Span span)
{
    Term *term = new_term(g, TERM_POSITION, DTYPE_I64, span);
    term->position = index;
    depend_on_index(g, term, index);
    return term;
}

/* The sum without the index that goes. */
static Term *new_rest(Gather *g, const Move *move, Span span)
{
    Term *rest = NULL;
    for (int k = 0; k < move->sum->count; k++) {
        const PositionPart *part = &move->sum->parts[k];
        if (part->index == move->gone)
            continue;
        Term *term = new_position(g, part->index, span);
        if (part->coefficient != 1)
            term = new_map(g, FUNCTION_MUL, DTYPE_I64, new_integer(g, DTYPE_I64, part->coefficient, span), term);
        rest = rest ? new_map(g, FUNCTION_ADD, DTYPE_I64, rest, term) : term;
    }
    return rest;
}

/* ---- the statement ---- */

static Position moved_position(Gather *g, const Position *alone, const Move *move)
{
    Position position = *alone;
    position.within = move->gone->origin;
    position.parts = ARENA_ARRAY(g->arena, PositionPart, move->sum->count);
    position.count = move->sum->count;
    for (int k = 0; k < move->sum->count; k++) {
        const PositionPart *part = &move->sum->parts[k];
        position.parts[k] = part->index == move->gone ? (PositionPart){ 1, move->place, NULL }
                                                      : (PositionPart){ -part->coefficient, part->index, NULL };
    }
    return position;
}

/* A term's indices with the places and the rest of the sums instead of what goes. */
static void move_indices(Gather *g, Term *term)
{
    Index **before = term->indices;
    int count = term->rank;
    term->indices = NULL;
    term->rank = 0;
    for (int i = 0; i < count; i++) {
        const Move *move = move_of(g, before[i]);
        if (!move) {
            depend_on_index(g, term, before[i]);
            continue;
        }
        depend_on_index(g, term, move->place);
        for (int k = 0; k < move->sum->count; k++)
            if (move->sum->parts[k].index != move->gone)
                depend_on_index(g, term, move->sum->parts[k].index);
    }
}

static void move_term(Gather *g, Term *term)
{
    if (term->kind == TERM_READ)
        for (int a = 0; a < term->read.tensor->rank; a++) {
            Position *position = &term->read.positions[a];
            const Move *move = position_is_plain(position) ? move_of(g, position->parts[0].index) : NULL;
            if (move)
                *position = moved_position(g, position, move);
        }
    const Move *move = term->kind == TERM_POSITION ? move_of(g, term->position) : NULL;
    if (move) {
        Term *difference = new_map(g, FUNCTION_SUB, DTYPE_I64, new_position(g, move->place, term->span), new_rest(g, move, term->span));
        term->kind = TERM_MAP;
        term->map = difference->map;
    }
    move_indices(g, term);
}

/* Whether a place less the rest of its sum is a point of the index that goes. */
static Term *new_condition(Gather *g, Span span)
{
    Term *all = NULL;
    for (int m = 0; m < g->move_count; m++) {
        const Move *move = &g->moves[m];
        Term *extent = new_term(g, TERM_EXTENT, DTYPE_I64, span), *place = new_position(g, move->place, span), *rest = new_rest(g, move, span);
        extent->extent = move->gone->origin;
        Term *first = new_map(g, FUNCTION_GE, DTYPE_BOOL, place, rest);
        Term *last = new_map(g, FUNCTION_LT, DTYPE_BOOL, place, new_map(g, FUNCTION_ADD, DTYPE_I64, rest, extent));
        all = all ? new_map(g, FUNCTION_AND, DTYPE_BOOL, all, first) : first;
        all = new_map(g, FUNCTION_AND, DTYPE_BOOL, all, last);
    }
    return all;
}

static bool is_sum(const Term *term)
{
    return (term->kind == TERM_CONTRACT || term->kind == TERM_REDUCE) && term->reduce.reduction == REDUCTION_SUM &&
           term->dtype == term->reduce.argument->dtype;
}

/* The value where a place has it, added up over the rest of the sums: with what it adds up itself, in one sum. */
static Term *gathered_value(Gather *g, Term *value)
{
    Term *element = is_sum(value) ? value->reduce.argument : value;
    Term *sum = new_term(g, TERM_CONTRACT, value->dtype, value->span), *where = new_term(g, TERM_SELECT, value->dtype, value->span);
    where->select.condition = new_condition(g, value->span);
    where->select.yes = element;
    where->select.no = new_integer(g, value->dtype, 0, value->span);
    for (int k = 0; k < where->select.condition->rank; k++)
        depend_on_index(g, where, where->select.condition->indices[k]);
    for (int k = 0; k < element->rank; k++)
        depend_on_index(g, where, element->indices[k]);
    sum->reduce.reduction = REDUCTION_SUM;
    sum->reduce.declared = DTYPE_NONE;
    sum->reduce.argument = where;
    for (int i = 0; i < where->rank; i++) {
        bool rest = is_sum(value) && indices_have(value->reduce.over, value->reduce.over_count, where->indices[i]);
        for (int m = 0; m < g->move_count; m++)
            for (int k = 0; k < g->moves[m].sum->count; k++)
                rest |= g->moves[m].sum->parts[k].index == where->indices[i];
        if (rest)
            ARENA_APPEND(g->arena, sum->reduce.over, sum->reduce.over_count, where->indices[i]);
    }
    for (int a = 0; a < g->statement->outputs[0].tensor->rank; a++)
        if (term_has_index(where, g->statement->outputs[0].positions[a].parts[0].index))
            depend_on_index(g, sum, g->statement->outputs[0].positions[a].parts[0].index);
    sum->is_value = true;
    return sum;
}

static void move_target(Gather *g)
{
    Output *output = &g->statement->outputs[0];
    Position *positions = ARENA_ARRAY(g->arena, Position, output->tensor->rank);
    for (int a = 0, m = 0; a < output->tensor->rank; a++) {
        positions[a] = output->positions[a];
        if (!output->tensor->written[a])
            continue;
        positions[a].parts = ARENA_NEW(g->arena, PositionPart);
        positions[a].parts[0] = (PositionPart){ 1, g->moves[m].place, NULL };
        positions[a].count = 1;
        output->tensor->axes[a] = g->moves[m++].place;
    }
    output->positions = positions;
}

/* ---- whether it pays ---- */

/* What an element of a stored product costs that is added to its place. */
static const double SCATTER_CYCLES = 3;

/* Whether what is multiplied for places at the edges, where fewer terms meet, costs less than to store the product of `before` and to
 * scatter it. Where nobody knows how long a sum is, its first index is taken to be the long one. */
static bool is_cheaper(const Gather *g, const Term *before, const Term *sum, const Target *target)
{
    double gathered = 1, edges = 1, depth = 1, lanes = target->vector_bytes / (double)dtype_size(register_dtype(sum->dtype));
    for (int i = 0; i < sum->reduce.argument->rank; i++)
        gathered *= points(g, sum->reduce.argument->indices[i]);
    for (int m = 0; m < g->move_count; m++) {
        if (!is_known(g, g->moves[m].place) && g->moves[m].gone != g->moves[m].sum->parts[0].index)
            return false;
        edges *= points(g, g->moves[m].place) / fmax(points(g, g->moves[m].gone), 1);
    }
    for (int i = 0; is_sum(before) && i < before->reduce.over_count; i++)
        depth *= fmax(points(g, before->reduce.over[i]), 1);
    double products = gathered / edges;
    return (gathered - products) / (2 * lanes) <= products / depth * SCATTER_CYCLES;
}

/* ---- the pass ---- */

static bool may_gather(const Program *program, const Statement *statement, const bool *wanted)
{
    const Output *output = &statement->outputs[0];
    const Tensor *tensor = output->tensor;
    Dtype dtype = output->value->dtype;
    if (!statement->accumulate || !tensor->written || tensor->previous || !wanted[tensor->id] || tensor->dtype != dtype ||
        dtype != register_dtype(dtype) || (dtype_kind(dtype) != KIND_FLOAT && dtype_kind(dtype) != KIND_INT))
        return false;
    for (int t = 0; t < program->tensor_count; t++)
        if (program->tensors[t]->previous == tensor)
            return false;
    return true;
}

/* The program with one scatter gathered; NULL: it is no product that pays. */
static const Program *gathered(Arena *arena, const Program *program, int s, Nests nests, const Extents *extents, const Target *target)
{
    Gather g = { .arena = arena, .out = order_copy(arena, program), .extents = extents };
    g.statement = g.out->statements[s];
    Output *output = &g.statement->outputs[0];
    find_moves(&g);
    if (!can_move(&g))
        return NULL;
    for (int i = 0, count = g.out->term_count; i < count; i++)
        if (g.out->terms[i]->statement == s)
            move_term(&g, g.out->terms[i]);
    move_target(&g);
    const Term *before = output->value;
    output->value = gathered_value(&g, output->value);
    program_sort_terms(g.out);
    WhereProduct where;
    Product product;
    bool pays = product_of_where(arena, output->value, &where, &product) && product_pays(&product, nests, extents, NULL, 0, target) &&
                (nests != NESTS_BY_COST || is_cheaper(&g, before, output->value, target));
    return pays ? g.out : NULL;
}

const Program *gather(Arena *arena, const Program *program, const bool *wanted, Nests nests, const Extents *extents, const Target *target)
{
    for (int s = 0; s < program->statement_count && !target->grid; s++) {
        const Program *next = may_gather(program, program->statements[s], wanted)
                                  ? gathered(arena, program, s, nests, extents, target) : NULL;
        program = next ? next : program;
    }
    return program;
}
