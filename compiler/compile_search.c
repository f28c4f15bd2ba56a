/* Which plan a program gets: that of the least cost, unless values in between take much or more than the budget. Then some points of these
 * are made at a time, some are made again for one of their readers, tiles are smaller, products are loops. */
#include "compile_search.h"

#include "gather.h"
#include "turn.h"

/* ---- one plan ---- */

static unsigned short *kinds_of(const Search *s, const Program *program, const PlanHints *hints)
{
    const Target *target = s->options->target;
    const Tile *bf16 = target->narrow[DTYPE_BF16];
    unsigned short *kinds = product_kinds(s->arena, program, hints->nests, hints->extents, target);
    for (int i = 0; i < program->term_count; i++) {
        if (target->grid)    /* threads that share a point all take the same way */
            kinds[i] &= (unsigned short)~PRODUCT_GUARDED;
        if (!target->grid && bf16)
            kinds[i] |= PRODUCT_ROUNDS;
        if (!target->grid && bf16 && bf16->dot && kinds[i] & PRODUCT_OF_BF16)
            kinds[i] |= PRODUCT_STRAIGHT;
    }
    return kinds;
}

enum {
    SWEEP_POINTS = 512, SWEEP_LEAST = 64,     /* of an index that is swept, at a time; with little memory */
    SWEEP_ROWS = 32               /* so many rows of a temporary, no longer in the second cache, are worth it */
};

/* Nothing is swept. */
static Sweeping without_sweeps(const Compiled *c, const Again *again, int count)
{
    return (Sweeping){ c->extents, INT64_MAX, SWEEP_POINTS, again, count };
}

static bool plan_as(const Search *s, Compiled *c, const PlanHints *hints, const Sweeping *sweeping)
{
    Arena *arena = s->arena;
    const Target *target = s->options->target;
    const Program *program = c->gathered = gather(arena, c->order ? c->order->program : c->program, s->wanted, hints->nests, hints->extents, target);
    if (!compile_verify(program_verify(program), "gather", s->diags))
        return false;
    const TurnHints turning = { target, hints->nests, !hints->smallest_tiles, hints->extents, hints->strides };
    const Turn *turned = target->grid ? NULL : turn_choose(arena, program, &turning);
    c->lowered = lower(arena, program, s->wanted, kinds_of(s, program, hints), turned, hints->strides, sweeping);
    if (!compile_verify(program_verify(c->lowered), "lower", s->diags))
        return false;
    c->plan = plan(arena, c->program, c->lowered, target, hints);
    if (!plan_has_whole_sweeps(c->plan)) {
        const Sweeping none = without_sweeps(c, sweeping->again, sweeping->again_count);
        return plan_as(s, c, hints, &none);
    }
    return compile_verify(plan_verify(c->plan), "plan", s->diags);
}

/* One worker's, where it can be known; else -1. */
static int64_t bytes_of(const Compiled *c, const Size *workspace)
{
    SizeValues values = { c->extents->of, c->extents->shape, 1 };
    return size_evaluate(workspace, &values);
}

/* Whether one worker's workspace is within the budget, where it can be known. */
static bool fits(const Compiled *c, const Size *workspace, int64_t budget)
{
    int64_t bytes = bytes_of(c, workspace);
    return !budget || (bytes >= 0 && bytes <= budget);
}

/* By cost, where few rows of what is stored in between would fill the cache; with `points`, wherever it can be. */
static Sweeping sweeping_of(const Search *s, const Compiled *c, int64_t points)
{
    const CompileOptions *options = s->options;
    if (options->target->grid)
        return without_sweeps(c, NULL, 0);
    points = options->sweep && (!points || options->sweep < points) ? options->sweep : points;
    int64_t longest = options->target->l2_bytes / (SWEEP_ROWS * (int64_t)sizeof(float));
    return (Sweeping){ c->extents, points ? 0 : longest, points ? points : SWEEP_POINTS, NULL, 0 };
}

/* ---- what is large ---- */

enum {
    LARGE_BLOCK = 4,              /* of the second cache: what one worker stores of a value */
    LARGE_WHOLE = 1 << 28,        /* bytes of a value that is stored whole, */
    LARGE_OF_GRID = 1 << 19       /* or by a block of threads for one point of its blocks of indices */
};

/* The extents, of those that nobody knows long ones. */
static SizeValues long_extents(Arena *arena, const Compiled *c)
{
    const Program *p = c->program;
    int64_t *of = ARENA_ARRAY(arena, int64_t, p->index_count), **shape = ARENA_ARRAY(arena, int64_t *, p->tensor_count);
    for (int i = 0; i < p->index_count; i++)
        of[i] = c->extents->of[i] < 0 ? LONG_EXTENT : c->extents->of[i];
    for (int t = 0; t < p->tensor_count; t++) {
        shape[t] = ARENA_ARRAY(arena, int64_t, p->tensors[t]->rank);
        for (int a = 0; a < p->tensors[t]->rank; a++)
            shape[t][a] = c->extents->shape[t][a] < 0 ? LONG_EXTENT : c->extents->shape[t][a];
    }
    return (SizeValues){ of, shape, 1 };
}

/* The bytes of what a worker stores of a value for one point of the launch's blocks. */
static double bytes_of_point(const Plan *plan, const Tensor *tensor, const SizeValues *values)
{
    const Storage *storage = &plan->storage[tensor->id];
    double bytes = (double)dtype_size(tensor->dtype);
    if (storage->place != PLACE_BLOCK)
        return 0;
    const Launch *launch = plan->launches[storage->launch];
    for (int a = 0; a < tensor->rank; a++) {
        const Index *index = tensor->axes[a];
        const Block *block = launch_block_of(launch, index);
        if (index && (!block || block == launch->sweep))
            bytes *= (double)(block ? size_evaluate(block->tile, values) : values->extents[index->origin->id]);
    }
    return bytes;
}

static bool stores_much(const Plan *plan, const SizeValues *values)
{
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        if (bytes_of_point(plan, plan->lowered->tensors[t], values) > LARGE_BLOCK * (double)plan->target->l2_bytes)
            return true;
    return false;
}

/* Values in between along two indices that no block is of are large: of one of these some points at a time. */
static bool sweep_large(const Search *s, Compiled *c, const PlanHints *hints)
{
    const Sweeping sweeping = sweeping_of(s, c, SWEEP_POINTS / 2);
    const SizeValues values = long_extents(s->arena, c);
    Compiled swept = *c;
    if (s->options->target->grid || !stores_much(c->plan, &values))
        return true;
    if (!plan_as(s, &swept, hints, &sweeping))
        return false;
    if (plan_sweeps(swept.plan) && size_evaluate(swept.plan->workspace, &values) < size_evaluate(c->plan->workspace, &values) / 2)
        *c = swept;
    return true;
}

/* ---- what is made again ---- */

enum {
    AGAIN_MOST = 8,               /* values */
    AGAIN_TRIES = 32,             /* plans that are looked at */
    AGAIN_PART = 8                /* of the workspace: what takes less is not worth it */
};

typedef struct Retry {
    const Search *search;
    const PlanHints *hints;
    SizeValues values;
    Again list[AGAIN_MOST];
    Compiled base;                /* without sweeps, so that its statements are those that the list counts */
    int count, tries;
} Retry;

static int64_t workspace_of(const Retry *r, const Compiled *c)
{
    return size_evaluate(c->plan->workspace, &r->values);
}

/* Whether less is stored where one more reader has a value of its own, which then stands in the list. */
static bool takes_less(Retry *r, Again again, int64_t bytes)
{
    r->list[r->count] = again;
    const Sweeping sweeping = without_sweeps(&r->base, r->list, r->count + 1);
    Compiled trial = r->base;
    if (r->tries++ >= AGAIN_TRIES || !plan_as(r->search, &trial, r->hints, &sweeping) ||
        workspace_of(r, &trial) > workspace_of(r, &r->base) - bytes / 2)
        return false;
    r->base = trial;
    r->count++;
    return true;
}

/* Which statements read a tensor. */
static int find_readers(const Program *p, const Tensor *tensor, bool *reads)
{
    int count = 0;
    for (int i = 0; i < p->term_count; i++) {
        const Term *term = p->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor || reads[term->statement])
            continue;
        reads[term->statement] = true;
        count++;
    }
    return count;
}

/* The bytes of a value that takes more than `least` where it is stored whole, or much of a block on a grid, which sweeps nothing; 0: it
 * does not. */
static int64_t large_bytes(const Plan *plan, int tensor, const SizeValues *values, int64_t least)
{
    const Storage *storage = &plan->storage[tensor];
    const bool whole = storage->place == PLACE_SHARED;
    if (!whole && !(plan->target->grid && bytes_of_point(plan, plan->lowered->tensors[tensor], values) > LARGE_OF_GRID))
        return 0;
    const int64_t bytes = size_evaluate(storage->bytes, values);
    return !whole || bytes > least ? bytes : 0;
}

static bool has_large(const Plan *plan, const SizeValues *values, int64_t least)
{
    bool has = false;
    for (int t = 0; t < plan->lowered->tensor_count; t++)
        has |= large_bytes(plan, t, values, least) > 0;
    return has;
}

/* Finds one more of these values, and a reader of it: the last one, since the first runs with what makes it. */
static bool find_again(Retry *r, int64_t least)
{
    const Program *p = r->base.lowered;
    const int64_t part = workspace_of(r, &r->base) / AGAIN_PART;
    for (int t = 0; t < p->tensor_count && r->count < AGAIN_MOST; t++) {
        const int64_t bytes = large_bytes(r->base.plan, t, &r->values, least);
        bool *reads = ARENA_ARRAY(r->search->arena, bool, p->statement_count);
        if (bytes <= part || find_readers(p, p->tensors[t], reads) < 2)
            continue;
        for (int s = p->statement_count - 1; s >= 0; s--)
            if (reads[s] && takes_less(r, (Again){ p->tensors[t]->maker->id, s }, bytes))
                return true;
    }
    return false;
}

/* Values in between that are large, since those that read them keep different indices, are made again for some of their readers. `usual`:
 * the sweeps of the plan, which it has then, too. */
static bool make_again(const Search *s, Compiled *c, const PlanHints *hints, const Sweeping *usual, int64_t least)
{
    Retry r = { .search = s, .hints = hints, .values = long_extents(s->arena, c), .base = *c };
    const Sweeping none = without_sweeps(c, NULL, 0);
    if (!has_large(c->plan, &r.values, least))
        return true;
    if (!plan_as(s, &r.base, hints, &none))
        return false;
    while (find_again(&r, least))
        continue;
    Sweeping sweeping = usual ? *usual : none;
    sweeping.again = r.list;
    sweeping.again_count = r.count;
    Compiled again = *c;
    if (r.count && !plan_as(s, &again, hints, &sweeping))
        return false;
    if (r.count && workspace_of(&r, &again) < workspace_of(&r, c))
        *c = again;
    return true;
}

static bool plan_again(const Search *s, Compiled *c, const PlanHints *hints, const Sweeping *sweeping)
{
    return plan_as(s, c, hints, sweeping) && make_again(s, c, hints, sweeping, 0);
}

/* ---- within the budget ---- */

/* Loops with the least memory that can be met: with reductions in parts, whose states take some, or uncut; with values in
 * between whole or made some points at a time. The first of these that can do with the budget. */
static bool plan_loops(const Search *s, Compiled *c, const PlanHints *hints)
{
    const CompileOptions *options = s->options;
    Sweeping sweeping = sweeping_of(s, c, SWEEP_POINTS);
    PlanHints uncut = *hints;
    uncut.uncut = true;
    const struct Way { const PlanHints *hints; const Sweeping *sweeping; } ways[] = {
        { hints, NULL }, { &uncut, NULL }, { hints, &sweeping }, { &uncut, &sweeping },
    };
    Compiled plain = *c, *chosen = NULL, *least = NULL;
    plain.order = NULL;
    bool cuts = true;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0] && !(w > 1 && options->target->grid); w++) {
        if (ways[w].hints->uncut && !cuts)
            continue;
        Compiled *way = ARENA_NEW(s->arena, Compiled);
        *way = plain;
        if (!plan_again(s, way, ways[w].hints, ways[w].sweeping))
            return false;
        if (ways[w].sweeping && !plan_sweeps(way->plan))
            break;
        cuts = plan_has_split(way->plan);
        if (!least || bytes_of(c, way->plan->smallest) <= bytes_of(c, least->plan->smallest))
            least = way;
        bool preferred = !chosen || (options->sweep && ways[w].sweeping && !plan_sweeps(chosen->plan));
        if (preferred && fits(c, way->plan->smallest, options->memory))
            chosen = way;
    }
    const Size *smallest = least->plan->smallest;
    *c = chosen ? *chosen : *least;
    c->plan->smallest = smallest;
    return true;
}

/* Tiled products want room for what they pack, and so do values in between, turned copies and sums in memory. Where that
 * is more than the budget, what is reduced is in one part and values in between are made some points at a time, then smaller
 * tiles do with less, then products as they are written, and loops with the least that can be met. */
bool search_plan(const Search *s, Compiled *c, PlanHints *hints)
{
    const CompileOptions *options = s->options;
    Sweeping sweeping = sweeping_of(s, c, 0);
    if (!plan_as(s, c, hints, &sweeping) || !sweep_large(s, c, hints) || !make_again(s, c, hints, &sweeping, LARGE_WHOLE))
        return false;
    bool stores = !options->target->grid && plan_has_steps_together(c->plan);    /* what may be swept */
    if (!plan_wants_room(c->plan) && !c->order && !stores)
        return true;
    for (int64_t points = SWEEP_POINTS / 4; points >= SWEEP_LEAST && !fits(c, c->plan->workspace, options->memory); points /= 2) {
        hints->smallest_tiles = options->target->grid || points == SWEEP_LEAST;
        hints->uncut |= options->target->grid || plan_has_split(c->plan) || c->plan->stores_whole;
        sweeping = sweeping_of(s, c, points);
        if (!plan_again(s, c, hints, &sweeping))
            return false;
    }
    if (c->order && !fits(c, c->plan->workspace, options->memory)) {
        c->order = NULL;
        hints->smallest_tiles = hints->uncut = false;
        return search_plan(s, c, hints);
    }
    Compiled loops = *c;
    hints->nests = NESTS_LOOPS;
    hints->uncut = false;
    if (!plan_loops(s, &loops, hints))
        return false;
    const Size *smallest = loops.plan->smallest;
    if (!fits(c, c->plan->workspace, options->memory) || !fits(c, smallest, options->memory))
        *c = loops;
    c->plan->smallest = smallest;
    return true;
}
