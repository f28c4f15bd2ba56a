/* Rankings: topk and its kin. How a row is taken, and what it needs of the workspace. */
#include "planning.h"

enum {
    BLOCK_NEAR = 1 << 14,         /* elements of a row that is read where it lies are looked at twice in blocks of so many; */
    BLOCK_COPIED = 1 << 12,       /* of one that may have to be copied in so many, */
    BLOCK_SMALLEST = 64,          /* or where room is scarce */
    RANK_LINE = 64                /* bytes that a part of the workspace is rounded up to */
};

/* Whether a row lies side by side in a temporary, so that nothing has to be copied. */
static bool lies_in_rows(const Plan *plan, const Term *x, const Index *over, Dtype dtype)
{
    if (x->kind != TERM_READ || x->dtype != dtype)
        return false;
    const Storage *storage = &plan->storage[x->read.tensor->home->id];
    bool side_by_side = false, met = false;
    for (int a = 0; a < x->read.tensor->rank; a++) {
        const Position *position = &x->read.positions[a];
        if (!position_is_plain(position))
            return false;
        if (position->parts[0].index != over)
            continue;
        if (met)    /* a diagonal */
            return false;
        met = true;
        side_by_side = storage->place != PLACE_CALLER && size_is_constant(storage->stride[a], 1);
    }
    return side_by_side;
}

static void add_scratch(Planner *planner, const Step *step, const char *word, Dtype dtype, const Size *count, const Size **end)
{
    Arena *arena = planner->arena;
    Scratch scratch = { .step = step, .dtype = dtype, .name = arena_format(arena, "%s_%d", word, step->id + 1),
                        .bytes = size_op(arena, SIZE_MUL, count, size_constant(arena, (int64_t)dtype_size(dtype))) };
    scratch.offset = planner_reserve(planner, end, scratch.name, scratch.bytes);
    ARENA_APPEND(arena, planner->plan->scratch, planner->plan->scratch_count, scratch);
}

/* How many candidates there is room for. */
static int64_t candidates(const Planner *planner, int64_t ranks)
{
    int64_t some = 4 * (int64_t)planner->plan->lanes, more = ranks > 2 * some ? ranks : 2 * some;
    return ranks + more + some;
}

const Size *rank_bytes(Planner *planner, const Step *step)
{
    Arena *arena = planner->arena;
    const Term *reduce = step->statement->outputs[0].value;
    int64_t size = (int64_t)dtype_size(register_dtype(reduce->reduce.argument->dtype)), element = size < 4 ? 4 : size;
    int64_t room = candidates(planner, (int64_t)reduce->reduce.parameter);
    const Size *row = size_op(arena, SIZE_MIN, size_constant(arena, BLOCK_COPIED), size_extent(arena, reduce->reduce.over[0]->origin));
    row = size_op(arena, SIZE_MUL, row, size_constant(arena, element));
    return size_op(arena, SIZE_ADD, row, size_constant(arena, 2 * room * (element + 8) + 5 * RANK_LINE));
}

/* The candidates and their places, twice, since sorting needs the room, and a block of a row. */
void rank_reserve(Planner *planner, Step *step, const Size **end)
{
    Arena *arena = planner->arena;
    const Term *reduce = step->statement->outputs[0].value, *x = reduce->reduce.argument;
    Ranking *ranking = ARENA_NEW(arena, Ranking);
    Dtype dtype = register_dtype(x->dtype);
    *ranking = (Ranking){ .over = reduce->reduce.over[0], .ranks = (int64_t)reduce->reduce.parameter,
                          .dtype = dtype == DTYPE_BOOL ? DTYPE_I32 : dtype };
    ranking->copies = !lies_in_rows(planner->plan, x, ranking->over, ranking->dtype);
    ranking->block = !ranking->copies ? BLOCK_NEAR : planner->hints->smallest_tiles ? BLOCK_SMALLEST : BLOCK_COPIED;
    step->ranking = ranking;
    const Size *room = size_constant(arena, candidates(planner, ranking->ranks));
    add_scratch(planner, step, "ranked", ranking->dtype, room, end);
    add_scratch(planner, step, "sorted", ranking->dtype, room, end);
    add_scratch(planner, step, "ranked_place", DTYPE_I64, room, end);
    add_scratch(planner, step, "sorted_place", DTYPE_I64, room, end);
    if (ranking->copies)
        add_scratch(planner, step, "row", ranking->dtype,
                    size_op(arena, SIZE_MIN, size_constant(arena, ranking->block), size_extent(arena, ranking->over->origin)), end);
}
