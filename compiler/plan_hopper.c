/* Tiled products whose operands come to shared memory as whole tiles, by tensor maps, in a ring of stages: where the target has
 * tensor cores that multiply from there (templates/cuda/hopper.cu). The plain tiles stay, for operands that no map describes. */
#include <limits.h>
#include <math.h>

#include "planning.h"

enum {
    LINES_LEAST = 64,             /* of both sides: for fewer, plain tiles do as well */
    DEPTH_LEAST = 32,             /* contracted points */
    LINES_UNKNOWN = 1024,
    RING_KEEPS = 0, RING_LARGE, RING_FORCED,    /* of the target's */
    LINES_OF_UNIT = 8,            /* of the right side, by so many more; */
    LINES_OF_BYTES = 16,          /* of bytes, by so many; */
    LINES_STORED = 32,            /* likewise where sums are stored, four lanes' at a time */
    LINES_OF_PANEL = 64,
    COLUMNS_OF_PLACES = 128,      /* of a tile whose columns' places are kept: each takes two registers beside its sum */
    TILE_COST = 32                /* what a tile costs beside its columns, in columns */
};

/* Rows of sums are lines of the left side, columns those of the right; a first reduction goes along the columns. */
RingSide ring_side(const Contract *c, int side)
{
    const IndexSet *kept = c->reduces ? &c->columns : &c->rows, *other = c->reduces ? &c->rows : &c->columns;
    bool is_left = (side == 0) != c->reduces;
    RingSide s = { .read = is_left ? c->left : c->right, .own = side == 0 ? kept : other };
    s.low = s.own->list[s.own->count - 1];
    s.panels = c->ring_panels[side];
    s.high = side == 0 && !s.panels && s.own->count > 1 ? s.own->list[s.own->count - 2] : NULL;
    return s;
}

const Index *ring_index(const Term *read, int axis)
{
    const Position *position = &read->read.positions[axis];
    for (int k = 0; k < position->count; k++)
        if (position->parts[k].index)
            return position->parts[k].index;
    return NULL;
}

bool ring_has(const Term *read, const Index *index)
{
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (ring_index(read, a) == index)
            return true;
    return false;
}

static bool has_all(const Term *read, const IndexSet *set)
{
    for (int i = 0; i < set->count; i++)
        if (!ring_has(read, set->list[i]))
            return false;
    return true;
}

/* Whether a tile's points are as many places further on as something says that all of the tile has: D[start[m]+n,k]. */
static bool is_shifted(const Contract *c, int side, const Position *position)
{
    const RingSide s = ring_side(c, side);
    bool low = false;
    for (int k = 0; k < position->count; k++) {
        const PositionPart *part = &position->parts[k];
        if (part->index && (low || part->index != s.low || part->coefficient != 1))
            return false;
        low |= part->index != NULL;
        for (int i = 0; part->gather && i < s.own->count; i++)
            if (term_has_index(part->gather, s.own->list[i]))
                return false;
        for (int i = 0; part->gather && i < c->depth.count; i++)
            if (term_has_index(part->gather, c->depth.list[i]))
                return false;
    }
    return low && side == 1 && c->reduces && !s.panels;
}

/* Whether no axis is shifted whose index has another one, too. */
static bool is_shifted_once(const Term *read)
{
    for (int a = 0; a < read->read.tensor->rank; a++)
        for (int b = 0; b < read->read.tensor->rank && !position_is_plain(&read->read.positions[a]); b++)
            if (a != b && ring_index(read, a) == ring_index(read, b))
                return false;
    return true;
}

/* Whether a map describes what a side reads: an operand of the caller's, at indices alone but for what shifts a tile, of which no
 * more than a map has axes, and whose contracted points, or lines, lie side by side. */
static bool is_mapped(const Planner *planner, Contract *c, int side)
{
    c->ring_panels[side] = lies_along(planner, ring_side(c, side).read, ring_side(c, side).low);
    const RingSide s = ring_side(c, side);
    const Tensor *tensor = s.read->read.tensor;
    const Index *point = c->depth.list[c->depth.count - 1];
    if (tensor->maker || tensor->home != tensor || tensor->rank < 2 || tensor->rank > MAP_AXES_MAX)
        return false;
    for (int a = 0; a < tensor->rank; a++)
        if (!position_is_plain(&s.read->read.positions[a]) && !is_shifted(c, side, &s.read->read.positions[a]))
            return false;
    return ring_has(s.read, point) && is_shifted_once(s.read) && has_all(s.read, s.own) && (s.panels || lies_along(planner, s.read, point));
}

/* ---- tiles ---- */

const Size *ring_box(Arena *arena, const Contract *c, int side, const Index *index)
{
    const RingSide s = ring_side(c, side);
    if (index == c->depth.list[c->depth.count - 1])
        return size_constant(arena, RING_LINE / (int)dtype_size(c->packed));
    return index == s.low || index == s.high ? c->ring_boxes[side][index == s.high] : size_constant(arena, 1);
}

const Size *ring_count(Arena *arena, const Contract *c, int side, const Index *index)
{
    const RingSide s = ring_side(c, side);
    return index == s.low || index == s.high ? c->ring_counts[side][index == s.high] : size_extent(arena, index->origin);
}

/* The boxes of both sides have names, so that kernels read them instead of dividing. */
static void cut_side(const Planner *planner, const Step *step, Contract *c, int side)
{
    Arena *arena = planner->arena;
    const RingSide s = ring_side(c, side);
    const Index *index[] = { s.low, s.high };
    const Size *lines = size_constant(arena, side ? c->ring->right : c->ring->left), *most = lines;
    for (int i = 0; i < 2 && index[i]; i++) {
        const Size *extent = size_extent(arena, index[i]->origin), *box = s.high && i == 0 ? size_op(arena, SIZE_MIN, extent, lines) : most;
        box = c->ring_boxes[side][i] = size_named(arena, arena_format(arena, "%s_box_%d", index[i]->name, step->id + 1), box);
        c->ring_counts[side][i] = size_named(arena, arena_format(arena, "%s_tiles_%d", index[i]->name, step->id + 1),
                                             size_op(arena, SIZE_CEIL_DIV, extent, box));
        most = size_op(arena, SIZE_DIV, lines, box);
    }
}

static const Size *times_tiles(Arena *arena, const Contract *c, int side, const Size *product)
{
    const RingSide s = ring_side(c, side);
    for (int i = 0; i < s.own->count; i++)
        product = size_op(arena, SIZE_MUL, product, ring_count(arena, c, side, s.own->list[i]));
    return product;
}

static const Size *count_tiles(Arena *arena, const Contract *c)
{
    const Size *product = size_constant(arena, 1);
    const IndexSet *kept[] = { &c->batch, &c->kept_rows };
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < kept[s]->count; i++)
            product = size_op(arena, SIZE_MUL, product, size_extent(arena, kept[s]->list[i]->origin));
    product = times_tiles(arena, c, 0, product);
    return c->reduces ? product : times_tiles(arena, c, 1, product);
}

static double extent_of(const Planner *planner, const Index *index)
{
    const Extents *extents = planner->hints->extents;
    int64_t extent = extents ? extents->of[index->origin->id] : -1;
    return extent < 0 ? LINES_UNKNOWN : (double)extent;
}

/* The fewest lines of the right side are best that take no more tiles than the most do, if a tile costs something, too. */
static int right_lines(const Planner *planner, const Contract *c, int most, bool places)
{
    const RingSide right = ring_side(c, 1);
    int unit = c->packed == DTYPE_I8 ? LINES_OF_BYTES : LINES_OF_UNIT;
    int step = right.panels ? LINES_OF_PANEL : c->reduces ? unit : LINES_STORED, chosen = 0;
    double extent = extent_of(planner, right.low), best = 0;
    most = places && most > COLUMNS_OF_PLACES ? COLUMNS_OF_PLACES : most;
    for (int lines = LINES_LEAST; lines <= most; lines += step) {
        double time = ceil(extent / lines) * (lines + TILE_COST);
        if (chosen && time > best)
            continue;
        best = time;
        chosen = lines;
    }
    return chosen;
}

/* Whether the left side's slices of a tile can stay, and meet more than one tile of the right side. */
static bool may_keep(const Planner *planner, const Contract *c, const RingTile *tile)
{
    double points = planner_points(planner, &c->depth), slices = tile->kept * RING_LINE / (double)dtype_size(c->packed);
    return c->reduces && c->depth.count == 1 && planner->hints->extents && points <= slices &&
           planner_points(planner, ring_side(c, 0).own) > tile->left / 2.0 && !ring_side(c, 0).panels;
}

/* What a product stores that others read has to be less than the product: they run after all of it. */
static bool may_stand_alone(const Planner *planner, const Step *step, const Contract *c)
{
    bool all = !planner->plan->memory && !planner->hints->smallest_tiles && !step->scatters;
    for (int o = 0; o < step->statement->output_count; o++)
        all &= c->reduces || step->statement->outputs[o].tensor->origin != NULL;
    return all;
}

static const RingTile *choose_tile(const Planner *planner, const Contract *c, bool places)
{
    const RingTile *tiles = planner->plan->target->grid->rings;
    RingTile *chosen = ARENA_NEW(planner->arena, RingTile);
    bool forced = planner->hints->nests == NESTS_TILED, keeps = may_keep(planner, c, &tiles[RING_KEEPS]);
    *chosen = tiles[keeps ? RING_KEEPS : forced ? RING_FORCED : RING_LARGE];
    if (forced)
        return chosen;
    chosen->right = right_lines(planner, c, chosen->right, places);
    int left = chosen->left * RING_LINE, right = chosen->right * RING_LINE;
    int stages = keeps ? (RING_BYTES - 2 * chosen->kept * left) / right : RING_BYTES / (left + right);
    chosen->stages = stages < chosen->stages ? chosen->stages : stages;
    return chosen;
}

void ring_choose(const Planner *planner, const Step *step, Contract *c)
{
    bool forced = planner->hints->nests == NESTS_TILED, halves = c->packed == DTYPE_BF16 || c->packed == DTYPE_F16;
    if (!planner->plan->target->grid->rings || !(halves || c->packed == DTYPE_I8) || !may_stand_alone(planner, step, c) ||
        !is_mapped(planner, c, 0) || !is_mapped(planner, c, 1))
        return;
    if (!halves && (c->ring_panels[0] || c->ring_panels[1]))    /* of bytes there are no panels */
        return;
    const RingSide left = ring_side(c, 0), right = ring_side(c, 1);
    if (!forced && (planner_points(planner, left.own) < LINES_LEAST || planner_points(planner, right.own) < LINES_LEAST ||
                    planner_points(planner, &c->depth) < DEPTH_LEAST))
        return;
    bool places = false;
    for (int r = 0; r < step->root_count && c->reduces; r++)
        places |= state_needs_place(step->roots[r]);
    c->ring = choose_tile(planner, c, places);
    for (int side = 0; side < 2; side++)
        cut_side(planner, step, c, side);
    c->ring_tiles = size_named(planner->arena, arena_format(planner->arena, "ring_tiles_%d", step->id + 1), count_tiles(planner->arena, c));
}

/* ---- two products one behind the other ---- */

static bool reads_plainly(const Term *read)
{
    for (int a = 0; a < read->read.tensor->rank; a++)
        if (!position_is_plain(&read->read.positions[a]))
            return false;
    return true;
}

/* The first product as one whose columns are gone over: what rings call rows. */
static Contract *turned_round(Arena *arena, const Contract *first)
{
    Contract *c = ARENA_NEW(arena, Contract);
    *c = *first;
    c->left = first->right;
    c->right = first->left;
    c->rows = first->columns;
    c->columns = first->rows;
    c->reduces = true;
    return c;
}

/* Whether factors are rounded to what values are of, so that tensor cores multiply them as they are, and maps describe the values. */
static bool are_values_mapped(const Planner *planner, Contract *last)
{
    const Term *factor = narrow_side(last->left), *read = plain_read(last->right);
    if (!factor || !read || factor->kind != TERM_MAP || factor->dtype != read->dtype || (read->dtype != DTYPE_BF16 && read->dtype != DTYPE_F16) ||
        last->columns.count != 1 || last->depth.count != 1)
        return false;
    last->left = factor->map.arguments[0];    /* as they are before they are rounded */
    last->right = read;
    last->packed = read->dtype;
    return is_mapped(planner, last, 1) && last->ring_panels[1] && reads_plainly(read);
}

/* What is asked of a column between the products beside its sum: whether a row goes that far, which one it is, or a number of an array. */
typedef enum Asked { ASKED_NOTHING, ASKED_LIMIT, ASKED_PLACE, ASKED_NUMBER } Asked;

typedef struct Asking {
    const Launch *launch;
    const Fuse *fuse;
    const Contract *first, *last;
    bool *seen;    /* [term id] */
    Asked most;
} Asking;

static bool is_made_here(const Asking *a, const Tensor *tensor)
{
    for (int s = 0; s < a->launch->step_count; s++)
        if (tensor->maker == a->launch->steps[s]->statement)
            return true;
    return false;
}

/* The index of a step that is that of the columns; NULL: a term has none. */
static const Index *column_of(const Asking *a, const Term *term)
{
    for (int k = 0; k < term->rank; k++) {
        Index *same = a->fuse->same[term->indices[k]->id];
        if ((same ? same : term->indices[k]) == a->first->columns.list[0])
            return term->indices[k];
    }
    return NULL;
}

static void ask(void *user, const Term *term)
{
    Asking *a = user;
    const Index *column = column_of(a, term);
    if (!column || a->seen[term->id] || term == a->first->left || term == a->first->right || term == a->last->right)
        return;
    a->seen[term->id] = true;
    Asked asked = term->kind == TERM_POSITION ? ASKED_PLACE : ASKED_NOTHING;
    if (term->kind == TERM_READ && !is_made_here(a, term->read.tensor))
        asked = ASKED_NUMBER;
    if (term->kind == TERM_SELECT && column_of(a, term->select.condition) && condition_only_bounds(term->select.condition, column)) {
        asked = ASKED_LIMIT;
        a->seen[term->select.condition->id] = true;
    }
    a->most = asked > a->most ? asked : a->most;
    term_each_argument(term, ask, a);
}

static Asked most_asked(const Planner *planner, const Launch *launch, const Fuse *fuse, const Contract *first, const Contract *last)
{
    int count = planner->plan->lowered->term_count;
    Asking asking = { launch, fuse, first, last, ARENA_ARRAY(planner->arena, bool, count), ASKED_NOTHING };
    for (int s = 0; s < launch->step_count; s++)
        for (int o = 0; o < launch->steps[s]->statement->output_count; o++)
            ask(&asking, launch->steps[s]->statement->outputs[o].value);
    return asking.most;
}

/* The tile with the fewest slices that has all contracted points and all values; the last one, for tests, where tiles are forced. Of
 * fewer columns where more is asked of them: what a thread has of all its columns together would not fit in its registers. */
static const RingTile *fuse_tile(const Planner *planner, const Contract *first, const Contract *last, Asked asked)
{
    enum { USUAL = 128 };
    static const int columns[] = { [ASKED_NOTHING] = INT_MAX, [ASKED_LIMIT] = 128, [ASKED_PLACE] = 112, [ASKED_NUMBER] = 80 };
    RingTile *chosen = NULL;
    const Extents *extents = planner->hints->extents;
    int64_t depth = extents ? extents->of[first->depth.list[0]->origin->id] : -1, values = extents ? extents->of[last->columns.list[0]->origin->id] : -1;
    bool forced = planner->hints->nests == NESTS_TILED;
    for (const RingTile *tile = planner->plan->target->grid->fuse_rings; tile->left; tile++)
        if (forced == (tile[1].left == 0) && (forced || (tile->depth >= (depth < 0 ? USUAL : depth) && tile->values >= (values < 0 ? USUAL : values))) &&
            (!chosen || tile->depth + tile->values < chosen->depth + chosen->values)) {
            chosen = chosen ? chosen : ARENA_NEW(planner->arena, RingTile);
            *chosen = *tile;
        }
    if (!chosen || (asked == ASKED_NOTHING && first->rows.count == 1))
        return chosen;
    chosen->right = chosen->right < columns[asked] ? chosen->right : columns[asked];
    chosen->registers = RING_REGISTERS_FEWER;    /* the thread that brings finds what is reached, or rows of several indices */
    return chosen;
}

void ring_fuse(const Planner *planner, const Launch *launch, Fuse *fuse)
{
    const Contract *first = launch->steps[0]->contract;
    const Step *step = launch->steps[launch->step_count - 1];
    Contract *turned = turned_round(planner->arena, first), *last = ARENA_NEW(planner->arena, Contract);
    bool forced = planner->hints->nests == NESTS_TILED;
    *last = *step->contract;
    if (!planner->plan->target->grid->fuse_rings || planner->plan->memory || planner->hints->smallest_tiles || isnan(fuse->neutral) ||
        (first->packed != DTYPE_BF16 && first->packed != DTYPE_F16) || first->columns.count != 1 || first->depth.count != 1 ||
        !is_mapped(planner, turned, 0) || !is_mapped(planner, turned, 1) || turned->ring_panels[0] || turned->ring_panels[1] ||
        !reads_plainly(turned->left) || !are_values_mapped(planner, last))
        return;
    if (!forced && (planner_points(planner, &first->rows) < LINES_LEAST || planner_points(planner, &first->columns) < LINES_LEAST))
        return;
    turned->ring = last->ring = fuse_tile(planner, first, last, most_asked(planner, launch, fuse, first, last));
    if (!turned->ring)
        return;
    for (int side = 0; side < 2; side++)
        cut_side(planner, step, turned, side);
    turned->ring_tiles = size_named(planner->arena, arena_format(planner->arena, "ring_tiles_%d", step->id + 1), count_tiles(planner->arena, turned));
    fuse->ring = turned;
    fuse->ring_values = last;
}
