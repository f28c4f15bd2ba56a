/* How much of each side of a tiled product a unit of work takes; plan_room.c has what it stores on the way. */
#include <math.h>

#include "planning.h"

enum {
    UNIT_ROWS = 4096,             /* so many rows pay for packing the columns that they meet */
    RANKED_ROWS = 1024,           /* and so many where they are ranked next; fewer than UNIT_ROWS_LEAST are not worth it, */
    WORK_LEAST = 1 << 24,         /* nor are fewer products where registers hold tiles: they take 12 microseconds */
    TILES_UNITS_LEAST = 8,        /* fewer units waste less of tiles at their ends */
    UNITS_LEAST = 12,             /* so many units of work keep all workers busy */
    WORKERS_LEAST = 4,            /* the same where rows are few; */
    SCATTERED_UNITS = 2,          /* and where all of them come from memory for each unit */
    GRID_ROOM = 8,                /* so often what stays near a block of threads may be stored for the steps behind */
    ASKED_LEAST = 512,            /* so many columns a sweep has that are asked for as they lie in memory */
    ASKED_SHARE = 16,             /* of the second cache, for columns that are asked for as they lie in memory */
    TURNED_LINES = 3,             /* so many vectors of a turned result's run leave together */
    NEXT_SUMS = 4,                /* sums of this part of the second cache leave room for what the next sweep reads */
    ROWS_NEAR = 4                 /* rows of this part of what stays near stay there beside panels */
};

double contract_near(const Target *target)
{
    return target->l2_bytes * 5.0 / 8;
}

bool contract_sums_leave_room(const Target *target, double bytes)
{
    return bytes <= target->l2_bytes / (double)NEXT_SUMS;
}

bool contract_is_near(const Planner *planner, double rows_bytes, double columns_bytes)
{
    double near = contract_near(planner->plan->target);
    near = planner->plan->memory ? fmin(near, (double)planner->plan->memory / 4) : near;
    return rows_bytes <= near / ROWS_NEAR || columns_bytes <= near;
}

/* ---- how much a unit of work takes ---- */

/* What one block is to a product. */
typedef enum { ROLE_BATCH, ROLE_ROW, ROLE_COLUMN } Role;

static Role role_of(const Contract *c, const Index *index)
{
    if (indices_have(c->columns.list, c->columns.count, index))
        return ROLE_COLUMN;
    bool kept = indices_have(c->kept_rows.list, c->kept_rows.count, index);
    return kept || indices_have(c->rows.list, c->rows.count, index) ? ROLE_ROW : ROLE_BATCH;
}

/* The index, as a step has it, that squares of the result have beside the lanes' where it is copied; NULL: it is not. */
static const Index *turned_index(const Launch *launch, int place)
{
    const Step *last = launch->steps[launch->step_count - 1];
    for (int b = 0; b < launch->block_count && last->turned; b++)
        if (launch->blocks[b].of_step[launch->step_count - 1] == last->turned)
            return launch->blocks[b].of_step[place];
    return NULL;
}

/* That index where only the columns have it: it becomes one of
 * those for whose points the product is made one after the other, so that packing reads what follows itself in memory, and
 * panels stay near. NULL: there is none. */
static const Index *turn_by_points(Planner *planner, const Launch *launch, int place)
{
    const Index *turned = turned_index(launch, place);
    for (Contract *c = launch->steps[place]->contract; c && turned; c = c->parts) {
        IndexSet columns = { NULL, 0 }, batch = { NULL, 0 };
        if (c->across || role_of(c, turned) != ROLE_COLUMN || c->columns.list[c->columns.count - 1] == turned)
            return NULL;
        for (int i = 0; i < c->batch.count + c->columns.count; i++) {
            Index *index = i < c->batch.count ? c->batch.list[i] : c->columns.list[i - c->batch.count];
            IndexSet *set = i < c->batch.count || index == turned ? &batch : &columns;
            ARENA_APPEND(planner->arena, set->list, set->count, index);
        }
        c->batch = batch;
        c->columns = columns;
    }
    return turned;
}

/* That index where the rows have it, but not along a tile: a unit of work has as many of its points as squares do. */
static const Index *turn_by_rows(const Launch *launch, int place)
{
    const Index *turned = turned_index(launch, place);
    const Contract *c = launch->steps[place]->contract;
    return turned && indices_have(c->kept_rows.list, c->kept_rows.count, turned) ? turned : NULL;
}

/* So many points of a product's result are a line or, where that is more, a vector. */
static double line_points(const Planner *planner, const Contract *c)
{
    return fmax(planner->plan->lanes, CONTRACT_LINE / (double)dtype_size(state_dtype(c->product)));
}

/* How many columns of each index of the squares that packing turns make a unit of at most `most`: whole squares of both, and
 * whole lines, so that neither what is read nor what is stored is a short run. */
static void square_tiles(const Planner *planner, const Contract *c, double most, double side[2])
{
    const Index *index[2] = { c->across, c->columns.list[c->columns.count - 1] };
    double line = line_points(planner, c);
    side[0] = side[1] = 1;
    for (bool grows = true; grows;) {
        int next = side[0] <= side[1] ? 0 : 1;
        grows = false;
        for (int turn = 0; turn < 2 && !grows; turn++, next = 1 - next) {
            double extent = planner_extent(planner, index[next]), more = side[next] < line ? line : side[next] + line;
            grows = side[next] < extent && fmin(more, extent) * side[1 - next] <= most;
            side[next] = grows ? fmin(more, extent) : side[next];
        }
    }
}

/* Rows that lie apart: so many of an index are in a unit of work that the next tile follows this one in memory. */
static double most_rows(const Planner *planner, const Contract *c, const Index *index)
{
    const Index *row = c->rows.list[c->rows.count - 1];
    if (!c->rows_apart || side_stride(planner, c->left, index) < side_stride(planner, c->left, row))
        return INFINITY;
    return index == row ? c->tile_rows : 1;
}

/* The points of a unit of work that gets at most so many, if all get as many, in whole tiles. */
static double even_share(double all, double most, int tile)
{
    double share = ceil(all / ceil(all / fmax(most, 1)) / tile) * tile;
    return all < 1 || share > most ? most : share;
}

/* About so many points of an index, with `inside` columns each, that have whole tiles of `width` columns. */
static double whole_tiles(double inside, double points, double most, double width)
{
    for (double more = 0; more <= points / 2 || more <= 1; more++)
        for (int sign = 1; sign >= -1; sign -= 2) {
            double tried = points + sign * more;
            if (tried >= 1 && tried <= most && fmod(tried * inside, width) == 0)
                return tried;
        }
    return points;
}

/* Which blocks are shrunk last: of the squares of results that rows are turned in; of a tile's rows, or the squares of columns. */
static int shrink_rank(const Contract *c, const Index *index, const Index *turned)
{
    bool of_squares = c->across && (index == c->across || index == c->columns.list[c->columns.count - 1]);
    return index == turned ? 0 : index == c->rows.list[c->rows.count - 1] || of_squares ? 1 : 2;
}

/* Whether a product's columns are turned in squares whose both sides are blocks. */
static bool cuts_squares(const Launch *launch, const Contract *c, int place)
{
    int sides = 0;
    for (int b = 0; b < launch->block_count && c->across; b++) {
        const Index *index = launch->blocks[b].of_step[place];
        sides += index == c->across || index == c->columns.list[c->columns.count - 1];
    }
    return sides == 2;
}

/* Shrinks the blocks of one role until no more than `most` points of them are in a unit: those of a rank outermost first. */
static void shrink(const Planner *planner, const Launch *launch, const Contract *c, int place, Role role, double most,
                   double *tiles)
{
    double inside = 1, side[2];
    const Index *column = c->columns.list[c->columns.count - 1], *by_rows = turn_by_rows(launch, place);
    const bool squares = cuts_squares(launch, c, place) && !(c->close_columns && c->halves);    /* which leave as whole runs */
    if (squares)
        square_tiles(planner, c, most, side);
    for (int rank = 0; rank < 3; rank++)
        for (int b = launch->block_count - 1; b >= 0; b--) {
            const Index *index = launch->blocks[b].of_step[place];
            bool turned = squares && (index == c->across || index == column);
            if (role_of(c, index) != role || shrink_rank(c, index, by_rows) != rank)
                continue;
            double extent = fmin(planner_extent(planner, index), most_rows(planner, c, index));
            if (index == by_rows)
                extent = fmin(planner_extent(planner, index), line_points(planner, c));
            double tile = inside * extent <= most ? extent : most / inside < 1 ? 1 : (double)(int64_t)(most / inside);
            if (role == ROLE_COLUMN && c->close_columns)
                tile = even_share(extent, tile, 1);
            if (role == ROLE_COLUMN && (c->close_columns || (c->columns_in_place && !c->columns_copied)) && tile < extent)
                tile = whole_tiles(inside, tile, extent, c->tile_vectors * planner->plan->lanes);
            tiles[b] = turned ? side[index == column] : tile;
            inside *= tiles[b];
        }
}

static int count_blocks(const Launch *launch, const Contract *c, int place, Role role)
{
    int count = 0;
    for (int b = 0; b < launch->block_count; b++)
        count += role_of(c, launch->blocks[b].of_step[place]) == role;
    return count;
}

/* The place of a block among those of its role: columns as the product has them, others as they come. */
static int place_of(const Contract *c, const Index *index, int place)
{
    for (int i = 0; i < c->columns.count; i++)
        if (c->columns.list[i] == index)
            return i;
    return place;
}

/* Blocks of columns as the product has them, so that those that lie near each other are in one unit of work; and those of rows
 * behind them, so that units with the same columns follow each other. That of a reduction's parts stays the last. */
static void order_blocks(Planner *planner, Launch *launch, int place)
{
    static const Role roles[] = { ROLE_BATCH, ROLE_COLUMN, ROLE_ROW };
    const Contract *c = launch->steps[place]->contract;
    Block *blocks = NULL;
    int count = 0, kept = launch->block_count - (launch->steps[place]->split != NULL);
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++)
        for (int at = 0; at < kept || at < c->columns.count; at++)
            for (int b = 0; b < kept; b++) {
                const Index *index = launch->blocks[b].of_step[place];
                if (role_of(c, index) == roles[r] && place_of(c, index, b) == at)
                    ARENA_APPEND(planner->arena, blocks, count, launch->blocks[b]);
            }
    if (kept < launch->block_count)
        ARENA_APPEND(planner->arena, blocks, count, launch->blocks[kept]);
    launch->blocks = blocks;
}

/* How many points of an index a unit of work has. */
static double extent_in_unit(const Planner *planner, const Launch *launch, const Index *index, const double *tiles)
{
    for (int b = 0; b < launch->block_count; b++)
        for (int s = 0; s < launch->step_count; s++)
            if (launch->blocks[b].of_step[s] == index)
                return tiles[b];
    return planner_extent(planner, index);
}

/* The bytes of what one unit of work stores for the steps behind it, or keeps from block to block of a sweep. */
static double temporary_bytes(const Planner *planner, const Launch *launch, const double *tiles)
{
    const Plan *plan = planner->plan;
    double sum = 0;
    for (int t = 0; t < plan->lowered->tensor_count; t++) {
        const Tensor *tensor = plan->lowered->tensors[t];
        if (!plan_is_temporary_of(plan, tensor, launch->id))
            continue;
        double bytes = (double)dtype_size(tensor->dtype);
        for (int a = 0; a < tensor->rank; a++)
            bytes *= extent_in_unit(planner, launch, tensor->axes[a], tiles);
        sum += bytes;
    }
    for (int s = 0; s < launch->step_count; s++) {
        const Step *step = launch->steps[s];
        double kept = (double)rank_point_bytes(planner, step);
        for (int i = 0; i < step->loop_count; i++)
            kept *= extent_in_unit(planner, launch, step->loops[i], tiles);
        sum += kept;
    }
    return sum;
}

static double units_of(const Planner *planner, const Launch *launch, const double *tiles)
{
    double units = 1;
    for (int b = 0; b < launch->block_count; b++)
        units *= (double)(int64_t)((planner_extent(planner, launch->blocks[b].of_step[0]) + tiles[b] - 1) / tiles[b]);
    return units;
}

/* Rows that have been halved leave up to twice as many units as are wanted. More of them, but fewer than before the last halving,
 * leave `units`. */
static double even_rows(const Planner *planner, const Launch *launch, const Contract *c, int place, double units, double rows,
                        double *tiles)
{
    double more = floor(fmin(floor(rows) * units_of(planner, launch, tiles) / units, 2 * rows));
    if (more <= rows)
        return rows;
    shrink(planner, launch, c, place, ROLE_ROW, more, tiles);
    if (units_of(planner, launch, tiles) >= units)
        return more;
    shrink(planner, launch, c, place, ROLE_ROW, rows < 1 ? 1 : rows, tiles);
    return rows;
}

/* The first blocks' tiles as formulas. */
static void set_tiles(Planner *planner, Launch *launch, const double *tiles, int count)
{
    for (int b = 0; b < count; b++) {
        Block *block = &launch->blocks[b];
        const Size *tile = size_constant(planner->arena, tiles[b] < 1 ? 1 : (int64_t)tiles[b]);
        if (tiles[b] > 1)
            tile = size_named(planner->arena, arena_format(planner->arena, "tile_%d_%d", launch->id + 1, b + 1),
                              size_op(planner->arena, SIZE_MIN, tile, block->extent));
        block->tile = tile;
    }
}

/* The points of rows or columns that are no blocks: a unit of work has all of them. */
static double fixed_points(const Planner *planner, const Launch *launch, int place, const IndexSet *set)
{
    double fixed = 1;
    for (int i = 0; i < set->count; i++) {
        bool block = false;
        for (int b = 0; b < launch->block_count; b++)
            block |= launch->blocks[b].of_step[place] == set->list[i];
        fixed *= block ? 1 : fmax(planner_extent(planner, set->list[i]), 1);
    }
    return fixed;
}

static double fixed_columns(const Planner *planner, const Launch *launch, int place)
{
    return fixed_points(planner, launch, place, &launch->steps[place]->contract->columns);
}

/* On a grid a unit of work is a tile of columns with one of rows, or with all those that the first reduction takes together, or with a
 * part of these, whose size is known by now; less where what it stores for the steps behind it would not stay near. */
static void tile_on_grid(Planner *planner, Launch *launch, int place)
{
    const Contract *c = launch->steps[place]->contract;
    double *tiles = ARENA_ARRAY(planner->arena, double, launch->block_count);
    double columns = (c->brief ? c->brief : c->block)->columns / fixed_columns(planner, launch, place), rows = c->reduces ? 1 : c->block->rows;
    double room = planner->hints->smallest_tiles ? 0 : GRID_ROOM * (double)planner->plan->target->l2_bytes;
    for (;; columns /= 2, rows /= 2) {
        for (int b = 0; b < launch->block_count; b++)
            tiles[b] = 1;
        shrink(planner, launch, c, place, ROLE_COLUMN, columns < 1 ? 1 : columns, tiles);
        shrink(planner, launch, c, place, ROLE_ROW, rows < 1 ? 1 : rows, tiles);
        if ((columns < 2 && rows < 2) || temporary_bytes(planner, launch, tiles) <= room)
            break;
    }
    set_tiles(planner, launch, tiles, launch->block_count - (launch->steps[place]->split != NULL));
    int rows_tiled = count_blocks(launch, c, place, ROLE_ROW), columns_tiled = count_blocks(launch, c, place, ROLE_COLUMN);
    /* Of numbers of 8 bytes, whose slices are the largest: an H200 takes 1 % less for f64 of 4096^3 and 30 % less of 12288^3 so, the
     * same for f32, and 5 % more for f32 in parts of bf16. */
    if (dtype_size(c->packed) == 8 && !c->reduces && !c->ring && !launch->steps[place]->split && rows_tiled > 0 && columns_tiled > 0) {
        launch->band_rows = rows_tiled;
        launch->band_columns = columns_tiled;
    }
}

/* The points of a unit's columns, at most so many: in even shares of whole tiles, where they are of one index and their number is known. */
static double shared_columns(const Planner *planner, const Contract *c, double most)
{
    bool known = c->columns.count == 1 && planner->hints->extents && planner->hints->extents->of[c->columns.list[0]->origin->id] >= 0;
    return known ? even_share(planner_points(planner, &c->columns), most, c->tile_vectors * planner->plan->lanes) : most;
}

/* Whether fewer columns in a unit are shorter runs of memory, which are asked for in its order. */
static bool are_cut(const Contract *c)
{
    return c->columns_asked.count && c->columns_asked.list[c->columns_asked.count - 1] == c->depth.list[0];
}

/* So many points along which a result is turned are made together that whole lines of it leave, of columns in place several that
 * follow each other, if beside them there is room for whole tiles of columns. */
static double turned_side(const Planner *planner, const Contract *c, double extent, double rows, double near)
{
    double line = line_points(planner, c), size = (double)dtype_size(state_dtype(c->product));
    double width = c->tile_vectors * planner->plan->lanes, least = width;
    double run = planner_extent(planner, c->columns.list[c->columns.count - 1]), depth = planner_points(planner, &c->depth);
    for (int i = 1; c->columns.count > 1 && i <= width && fmod(run * i, width) != 0; i++)
        least = run * (i + 1);
    for (double lines = c->columns_in_place && !c->columns_copied && !are_cut(c) ? TURNED_LINES : 1; lines > 1; lines--)
        if (least * (depth + lines * line * rows) * size <= near)
            return even_share(extent, lines * line, (int)line);
    return fmin(line, extent);
}

/* Whether units of work that follow each other may have the same columns: a launch has blocks of rows, and one of each
 * index that the packed columns depend on, so that their first points tell which columns those are. */
bool contract_meets_again(const Launch *launch, const Step *step)
{
    const Contract *c = step->contract;
    int place = 0, batch = 0;
    bool rows = false;
    while (launch->steps[place] != step)
        place++;
    if (step->statement->swept && term_has_index(c->right, step->statement->swept))
        return false;    /* each block of a sweep has its own */
    for (int b = 0; b < launch->block_count; b++) {
        Role role = role_of(c, launch->blocks[b].of_step[place]);
        rows |= role == ROLE_ROW;
        batch += role == ROLE_BATCH;
    }
    return rows && batch == c->batch.count;
}

/* Whether small units of work cost nothing: columns are packed for many of them, stay near, and rows are stored for other steps. */
static bool may_be_small(const Planner *planner, const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++) {
        const Contract *c = launch->steps[s]->contract;
        double panels = c ? planner_points(planner, &c->columns) * planner_points(planner, &c->depth) / c->group : 0;
        double size = c ? (double)dtype_size(state_dtype(c->product)) : 0;
        if (c && (c->reduces || !contract_meets_again(launch, launch->steps[s]) || panels * size > contract_near(planner->plan->target)))
            return false;
    }
    return launch->step_count > 1;
}

/* Whether something is ranked in a launch's sweep: what a unit of work has of a product does not wait for the other columns. */
static bool goes_on(const Launch *launch)
{
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->statement->goes_on)
            return true;
    return false;
}

/* Whether what is stored is scattered next, so that blocks are only of indices that the target has. */
static bool scatters(const Launch *launch)
{
    bool scatters = false;
    for (int s = 0; s < launch->step_count; s++)
        scatters |= launch->steps[s]->scatters;
    return scatters;
}

/* Fewer rows a unit, or columns where blocks are of these alone, until what is stored of them has room. Back come the rows. */
static double fit_stored(const Planner *planner, const Launch *launch, const Contract *c, int place, double room, double rows,
                         double columns, double *tiles)
{
    int tile_columns = c->tile_vectors * planner->plan->lanes;
    while (rows >= 2 && temporary_bytes(planner, launch, tiles) > room)
        shrink(planner, launch, c, place, ROLE_ROW, rows /= 2, tiles);
    while (!count_blocks(launch, c, place, ROLE_ROW) && columns / 2 >= tile_columns && temporary_bytes(planner, launch, tiles) > room) {
        columns = floor(columns / 2 / tile_columns) * tile_columns;
        shrink(planner, launch, c, place, ROLE_COLUMN, columns, tiles);
    }
    return rows;
}

/* Fewer columns a unit, but no fewer than `least`, until there are so many units. Back come the columns. */
static double fewer_columns(const Planner *planner, const Launch *launch, const Contract *c, int place, double units, double least,
                            double columns, double *tiles)
{
    while (units_of(planner, launch, tiles) < units && columns / 2 >= least) {
        columns /= 2;
        shrink(planner, launch, c, place, ROLE_COLUMN, shared_columns(planner, c, columns), tiles);
    }
    return columns;
}

/* Steps without a product have whole vectors along their lanes, as far as what is stored has room. */
static void whole_vectors(const Planner *planner, const Launch *launch, double room, double *tiles)
{
    for (int b = 0; b < launch->block_count; b++)
        for (int s = 0; s < launch->step_count; s++) {
            const Step *step = launch->steps[s];
            const double cut = tiles[b], lanes = planner->plan->lanes;
            if (step->contract || !step->vector_kept || launch->blocks[b].of_step[s] != step->vector)
                continue;
            tiles[b] = fmin(ceil(cut / lanes) * lanes, fmax(planner_extent(planner, step->vector), 1));
            if (tiles[b] > cut && temporary_bytes(planner, launch, tiles) > room)
                tiles[b] = cut;
        }
}

/* Columns as many as their packed panels may take, at most; rows as many as pay for the packing, if enough units are
 * left; of batches one. */
void contract_tiles(Planner *planner, Launch *launch)
{
    const Plan *plan = planner->plan;
    int place = 0;
    while (!launch->steps[place]->contract)
        place++;
    const Index *turned = plan->target->grid ? NULL : turn_by_points(planner, launch, place);
    order_blocks(planner, launch, place);
    if (plan->target->grid) {
        tile_on_grid(planner, launch, place);
        return;
    }
    for (int s = place; s < launch->step_count; s++)
        for (Contract *c = launch->steps[s]->contract; c; c = c->parts)
            contract_shape(planner, launch->steps[s], c);
    const Contract *c = launch->steps[place]->contract;
    double *tiles = ARENA_ARRAY(planner->arena, double, launch->block_count);
    double depth = c->sweep ? c->sweep : planner_points(planner, &c->depth) / c->group, size = (double)dtype_size(state_dtype(c->product));
    depth = depth > 0 ? depth : 1;    /* panels of no points have room for columns without end */
    bool in_order = c->sweep && c->columns_in_place, is_far = c->sweep && c->sweep_far && !c->columns_unasked;
    const bool scattered = scatters(launch), far_rows = scattered && launch->sweep;
    double near = contract_near(plan->target), most = is_far ? SWEEP_PANELS : PANELS_MOST;
    double room_behind = is_far ? SWEEP_SUMS : 2.0 * plan->target->l2_bytes;
    if (plan->memory) {
        double budget = (double)plan->memory / 4;
        near = fmin(near, budget);
        most = fmin(most, budget);
        room_behind = fmin(room_behind, budget);
    }
    if (c->columns_asked.count && c->columns_copied)    /* beside them is room for those that come next, as they lie in memory */
        near = fmin(near, plan->target->l2_bytes / (double)ASKED_SHARE);
    int tile_columns = c->tile_vectors * plan->lanes;
    double fixed = fixed_columns(planner, launch, place);
    /* Rows that stay near meet panels that do; others come anew for each unit's columns, and are worth more of those. */
    double all_rows = planner_points(planner, &c->kept_rows) * planner_points(planner, &c->rows);
    double rows_bytes = (c->window ? window_points(planner, c->window, NULL, 0, NULL) : all_rows * depth) * size;
    bool is_near = !is_far && (far_rows || (c->sweep && near / (depth * size) >= 2 * tile_columns) ||
                               contract_is_near(planner, rows_bytes, planner_points(planner, &c->columns) * depth * size));
    /* Beside what is packed for one point of a square's side is what is stored for all of them. */
    double side = turned ? turned_side(planner, c, planner_extent(planner, turned), all_rows, near) : 1, stored = turned ? side * all_rows : 0;
    if (in_order)    /* what comes next is beside what is met, and so are sums */
        stored += depth + all_rows;
    if (far_rows)
        stored += all_rows;
    double columns = (is_near ? near : most) / ((depth + stored) * size * fixed);
    if (c->close_columns)
        columns = fmin(columns, floor(c->close_columns / fixed));
    if (c->sweep_whole)
        columns = ceil(planner_extent(planner, c->columns.list[c->columns.count - 1]) / tile_columns) * tile_columns;
    if (c->columns_unasked)    /* as long runs as have sums in the second cache */
        columns = fmin(plan->target->l2_bytes / all_rows, most / stored) / (size * fixed);
    if (planner->hints->smallest_tiles || columns < tile_columns / fixed)
        columns = tile_columns / fixed;
    if (fixed == 1)
        columns = (double)((int64_t)columns / tile_columns * tile_columns);
    if (fixed == 1 && c->sweep)
        columns = even_share(planner_points(planner, &c->columns), columns, tile_columns);
    for (int b = 0; b < launch->block_count; b++)
        tiles[b] = launch->blocks[b].of_step[place] == turned ? side : 1;
    const Index *split = launch->steps[place]->split;
    if (split)
        tiles[launch->block_count - 1] = ceil(planner_extent(planner, split) / SPLIT_PARTS);
    shrink(planner, launch, c, place, ROLE_COLUMN, columns < 1 ? 1 : shared_columns(planner, c, columns), tiles);
    double inner_rows = fmax(c->reduces ? planner_points(planner, &c->rows) : fixed_points(planner, launch, place, &c->rows), 1);
    double rows = UNIT_ROWS / inner_rows;
    if (launch->steps[launch->step_count - 1]->kind == STEP_RANK && launch->steps[launch->step_count - 1]->split)
        rows = fmin(rows, RANKED_ROWS);    /* which are looked at again */
    const Index *by_rows = turn_by_rows(launch, place);
    if (by_rows)    /* whole rows of tiles, which are read as they follow each other */
        rows = fmin(planner_extent(planner, by_rows), line_points(planner, c)) * planner_extent(planner, c->rows.list[c->rows.count - 1]);
    if (c->sweep)    /* their sums lie in the caches */
        rows = even_share(all_rows, fmin(rows, room_behind / (fmin(columns, planner_points(planner, &c->columns)) * size)), c->tile_rows);
    rows = planner->hints->smallest_tiles ? 1 : rows;
    shrink(planner, launch, c, place, ROLE_ROW, rows < 1 ? 1 : rows, tiles);
    double least = UNIT_ROWS_LEAST, units = c->tile->dot || c->parts ? TILES_UNITS_LEAST : UNITS_LEAST;
    if (c->sweep && c->next_read[0])    /* what has some rows alone asks for none of the next sweep's */
        units = WORKERS_LEAST;
    if (c->tile->dot || c->parts)
        least = fmax(least, WORK_LEAST / (fmin(columns * fixed, planner_points(planner, &c->columns)) * planner_points(planner, &c->depth)));
    double unhalved = rows;
    while (units_of(planner, launch, tiles) < units && rows * inner_rows / 2 >= least)
        shrink(planner, launch, c, place, ROLE_ROW, (rows /= 2) < 1 ? 1 : rows, tiles);
    if (rows < unhalved && inner_rows > 1 && (c->tile->dot || c->parts))    /* registers of tiles begin and end in a thousand cycles */
        rows = even_rows(planner, launch, c, place, units, rows, tiles);
    if (is_far)    /* columns of which there are many cost less */
        columns = fewer_columns(planner, launch, c, place, units, UNIT_COLUMNS_LEAST, columns, tiles);
    const bool known = planner->hints->extents && planner->hints->extents->complete;
    const bool few_blocks = scattered || (goes_on(launch) && known);    /* of rows */
    const double narrowest = is_far ? SWEEP_LEAST : in_order ? ASKED_LEAST : few_blocks ? tile_columns / fixed : UNIT_COLUMNS_LEAST;
    columns = fewer_columns(planner, launch, c, place, c->columns_unasked ? RUNS_LEAST : far_rows ? SCATTERED_UNITS : WORKERS_LEAST,
                            narrowest, columns, tiles);
    if (far_rows || (goes_on(launch) && fixed == 1)) {    /* whole vectors */
        const int vector = fixed == 1 ? plan->lanes : 1, tile = (int)fmax(floor(tile_columns / fixed), 1);
        columns = ceil(even_share(planner_points(planner, &c->columns) / fixed, columns, tile) / vector) * vector;
        shrink(planner, launch, c, place, ROLE_COLUMN, columns, tiles);
    }
    while (rows >= 2 && c->window && window_points(planner, c->window, launch, place, tiles) * size > most)
        shrink(planner, launch, c, place, ROLE_ROW, rows /= 2, tiles);
    bool small = !by_rows && may_be_small(planner, launch);
    for (int s = place; small && s < launch->step_count; s++)
        if (launch->steps[s]->contract)    /* each product's panels push the others' out */
            launch->steps[s]->contract->near /= launch_products(launch);
    if (small)    /* so that what is stored stays in the second cache, beside panels */
        room_behind = fmin(room_behind, plan->target->l2_bytes / 2.0);
    rows = fit_stored(planner, launch, c, place, room_behind, rows, columns, tiles);
    if (small && rows > c->tile_rows && rows < all_rows)    /* whole tiles */
        shrink(planner, launch, c, place, ROLE_ROW, floor(rows / c->tile_rows) * c->tile_rows, tiles);
    if (!planner->hints->smallest_tiles && launch->step_count > 1)
        whole_vectors(planner, launch, room_behind, tiles);
    for (int s = place; s < launch->step_count; s++)
        if (launch->steps[s]->contract) {
            contract_set_heights(planner, launch, s, tiles);
        }
    set_tiles(planner, launch, tiles, launch->block_count - (split != NULL));
}
