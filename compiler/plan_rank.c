/* Rankings: topk and its kin. How a row is taken, and what it needs of the workspace. */
#include "planning.h"
#include "turn.h"

enum {
    BLOCK_NEAR = 1 << 14,         /* elements of a row that is read where it lies are looked at twice in blocks of so many; */
    BLOCK_COPIED = 1 << 12,       /* of one that may have to be copied in so many, */
    BLOCK_TURNED = 1 << 9,        /* of several that are turned into rows in so few */
    KEPT_MORE = 16                /* candidates that a sweep keeps beside as many as are ranked, at least, before it sorts them */
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

Dtype ranking_dtype(const Term *reduce)
{
    Dtype dtype = register_dtype(reduce->reduce.argument->dtype);
    return dtype == DTYPE_BOOL ? DTYPE_I32 : dtype;
}

/* A point's result is stored by itself, with what its position reads: only at plain positions. */
bool ranking_turns(const Statement *statement)
{
    Dtype dtype = ranking_dtype(statement->outputs[0].value);
    bool plain = !statement->accumulate;
    for (int o = 0; o < statement->output_count; o++)
        for (int a = 0; a < statement->outputs[o].tensor->rank; a++)
            plain &= position_is_plain(&statement->outputs[o].positions[a]);
    return plain && (dtype == DTYPE_F32 || dtype == DTYPE_F64 || dtype == DTYPE_I32);
}

/* Whether a ranking's best are so few, and its rows so short, that they stay in registers, where lanes are rows. */
static bool is_few(const Planner *planner, const Statement *statement)
{
    const Term *reduce = statement->outputs[0].value;
    return !planner->plan->target->grid && !statement->goes_on && ranking_turns(statement) && turn_ranks_few(planner->hints->extents, reduce);
}

int rank_parts(const Planner *planner, const Statement *statement)
{
    const Term *value = statement->outputs[0].value;
    const Extents *extents = planner->hints->extents;
    if (planner->plan->target->grid || planner->hints->uncut || !extents || statement->goes_on || statement->turned || value->kind != TERM_REDUCE ||
        reduction_facts[value->reduce.reduction].leaves != LEAVES_RANKS)
        return 1;
    const int64_t extent = extents->of[value->reduce.over[0]->origin->id];
    double kept = 1;
    for (int i = 0; i < value->rank; i++)
        kept *= value->indices[i] == value->reduce.ranks ? 1 : planner_extent(planner, value->indices[i]);
    return planner->hints->nests == NESTS_TILED ? (extent > 1 && kept < KEPT_ENOUGH ? 2 : 1)
                                                : ranking_parts(extent, kept, (int64_t)value->reduce.parameter);
}

Index *rank_shared(const Planner *planner, const Step *step)
{
    enum { LONG = 256 };
    const Statement *statement = step->statement;
    Index *over = statement->outputs[0].value->reduce.over[0];
    for (int o = 0; o < statement->output_count; o++)    /* a thread that finds a position out of range stores no more, and others would wait for it */
        for (int a = 0; a < statement->outputs[o].tensor->rank; a++)
            if (!position_is_plain(&statement->outputs[o].positions[a]))
                return NULL;
    int64_t extent = planner->hints->extents ? planner->hints->extents->of[over->origin->id] : -1;
    return extent < 0 || extent >= LONG ? over : NULL;
}

/* What a ranking has in the worker's part: the candidates and their places, twice, since sorting needs the room, and a block of
 * a row; of as many rows as go together. */
typedef struct Part {
    const char *word;
    Dtype dtype;
    const Size *count;            /* NULL: none */
} Part;

enum { KEPT = 4, PARTS = KEPT + 3 };

/* What waits from block to block: the candidates of so many points, with how many there are and the bounds. */
static void list_kept(Planner *planner, const Ranking *ranking, const Size *points, Part parts[KEPT])
{
    Arena *arena = planner->arena;
    const Size *all = size_op(arena, SIZE_ADD, size_op(arena, SIZE_MUL, points, size_constant(arena, ranking->kept)),
                              size_constant(arena, ranking->room - ranking->kept));    /* some are read for nothing behind the last */
    parts[0] = (Part){ "ranked", ranking->dtype, all };
    parts[1] = (Part){ "ranked_place", DTYPE_I64, all };
    parts[2] = (Part){ "bounds", ranking->dtype, points };
    parts[3] = (Part){ "candidates", DTYPE_I64, points };
}

/* `points`: NULL where these wait somewhere else. */
static void list_parts(Planner *planner, const Ranking *ranking, const Size *points, Part parts[PARTS])
{
    Arena *arena = planner->arena;
    const Size *room = size_constant(arena, ranking->room * (ranking->kept ? 1 : ranking->rows));
    const Size *block = size_constant(arena, ranking->block * (int64_t)ranking->rows);
    if (ranking->rows == 1)
        block = size_op(arena, SIZE_MIN, block, size_extent(arena, ranking->over->origin));
    for (int i = 0; i < KEPT; i++)
        parts[i] = (Part){ NULL, ranking->dtype, NULL };
    if (ranking->kept && points) {
        list_kept(planner, ranking, points, parts);
    } else if (!ranking->kept) {
        parts[0] = (Part){ "ranked", ranking->dtype, room };
        parts[1] = (Part){ "ranked_place", DTYPE_I64, room };
    }
    parts[KEPT] = (Part){ "sorted", ranking->dtype, room };
    parts[KEPT + 1] = (Part){ "sorted_place", DTYPE_I64, room };
    parts[KEPT + 2] = (Part){ "row", ranking->dtype, ranking->copies ? block : NULL };
}

static const Size *part_bytes(Planner *planner, const Part *part)
{
    return size_op(planner->arena, SIZE_MUL, part->count, size_constant(planner->arena, (int64_t)dtype_size(part->dtype)));
}

/* How a step ranks rows that have to be copied, or need not. */
static Ranking make_ranking(const Planner *planner, const Step *step, bool copies)
{
    const Term *reduce = step->statement->outputs[0].value;
    Ranking ranking = { .over = reduce->reduce.over[0], .ranks = (int64_t)reduce->reduce.parameter, .dtype = ranking_dtype(reduce),
                        .rows = step->vector_kept ? planner->plan->lanes : 1 };
    const int64_t some = RANKING_VECTORS * (int64_t)planner->plan->lanes;
    const bool goes_on = step->statement->goes_on || step->split;
    const int64_t more = goes_on ? some + (ranking.ranks > KEPT_MORE ? ranking.ranks : KEPT_MORE)
                                 : ranking.ranks > 2 * some ? ranking.ranks : 2 * some;
    ranking.room = ranking.ranks + more + some;
    ranking.kept = goes_on ? ranking.ranks + more : 0;
    ranking.copies = ranking.rows > 1 || copies;
    ranking.few = ranking.rows > 1 && !goes_on && is_few(planner, step->statement) ? TURN_FEW : 0;
    ranking.block = !ranking.copies ? BLOCK_NEAR : ranking.rows > 1 ? BLOCK_TURNED : BLOCK_COPIED;
    return ranking;
}

int64_t rank_point_bytes(const Planner *planner, const Step *step)
{
    if (!step->statement->goes_on)
        return 0;
    const Ranking ranking = make_ranking(planner, step, true);
    return (ranking.kept + 1) * (int64_t)(dtype_size(ranking.dtype) + sizeof(int64_t));
}

const Size *rank_points(Planner *planner, const Launch *launch, const Step *step, bool tiles)
{
    if (step->split)    /* what is kept lies in the shared part */
        return size_constant(planner->arena, 0);
    const Size *points = size_constant(planner->arena, 1);
    for (int i = 0; i < step->loop_count; i++) {
        const Block *block = launch_block_of(launch, step->loops[i]);
        if (!block || tiles)
            points = size_op(planner->arena, SIZE_MUL, points, block ? block->tile : size_extent(planner->arena, step->loops[i]->origin));
    }
    return points;
}

const Size *rank_kept_bytes(Planner *planner, const Launch *launch)
{
    Arena *arena = planner->arena;
    const Size *sum = size_constant(arena, 0);
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->statement->goes_on)
            sum = size_op(arena, SIZE_ADD, sum, size_op(arena, SIZE_MUL, rank_points(planner, launch, launch->steps[s], false),
                                                        size_constant(arena, rank_point_bytes(planner, launch->steps[s]))));
    return sum;
}

const Size *rank_bytes(Planner *planner, const Step *step, const Size *points)
{
    const Ranking ranking = step->ranking ? *step->ranking : make_ranking(planner, step, true);
    Part parts[PARTS];
    const Size *sum = size_constant(planner->arena, 0);
    list_parts(planner, &ranking, points, parts);
    for (int i = 0; i < PARTS; i++)
        if (parts[i].count)
            planner_reserve(planner, &sum, NULL, part_bytes(planner, &parts[i]));
    return sum;
}

static void reserve(Planner *planner, const Step *step, const Part *parts, int count, bool shared, const Size **end)
{
    for (int i = 0; i < count; i++) {
        if (!parts[i].count)
            continue;
        Scratch scratch = { .step = step, .dtype = parts[i].dtype, .bytes = part_bytes(planner, &parts[i]), .shared = shared,
                            .name = arena_format(planner->arena, "%s_%d", parts[i].word, step->id + 1) };
        scratch.offset = planner_reserve(planner, end, scratch.name, scratch.bytes);
        ARENA_APPEND(planner->arena, planner->plan->scratch, planner->plan->scratch_count, scratch);
    }
}

void rank_reserve_parts(Planner *planner, const Step *step, const Size *points)
{
    const Ranking ranking = make_ranking(planner, step, true);
    const Size *room = size_constant(planner->arena, ranking.room);
    Part parts[KEPT + 4] = { [KEPT] = { "best", ranking.dtype, room }, { "spare", ranking.dtype, room }, { "best_place", DTYPE_I64, room },
                             { "spare_place", DTYPE_I64, room } };
    list_kept(planner, &ranking, points, parts);
    reserve(planner, step, parts, KEPT + 4, true, &planner->plan->shared);
}

void rank_reserve(Planner *planner, const Launch *launch, Step *step, const Size **end)
{
    const Term *reduce = step->statement->outputs[0].value;
    Ranking *ranking = ARENA_NEW(planner->arena, Ranking);
    *ranking = make_ranking(planner, step,
                            !lies_in_rows(planner->plan, reduce->reduce.argument, reduce->reduce.over[0], ranking_dtype(reduce)));
    step->ranking = ranking;
    Part parts[PARTS];
    list_parts(planner, ranking, step->split ? NULL : rank_points(planner, launch, step, true), parts);
    reserve(planner, step, parts, PARTS, false, end);
}
