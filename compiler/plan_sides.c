/* Which side of a product is its columns, and which row index a tile has: where nothing is reduced behind it both are free,
 * and chosen by what packing, reading and storing cost beside the products. */
#include <math.h>

#include "planning.h"
#include "turn.h"

/* How the elements of an array lie that a tile takes together. */
typedef enum {
    LIES_ALONG,                   /* side by side */
    LIES_TURNED,                  /* side by side along the tile's other direction, so that squares of them are turned, */
    LIES_ACROSS,                  /* or along another index of the same side */
    LIES_APART
} Lies;

/* What an element costs when it is packed and when it is stored, beside its way to memory, by what a vector's product takes. */
static const double pack_cycles[] = { [LIES_ALONG] = 0.5, [LIES_TURNED] = 1, [LIES_ACROSS] = 1.2, [LIES_APART] = 8 };
static const double store_cycles[] = { [LIES_ALONG] = 0.15, [LIES_TURNED] = 1.2, [LIES_APART] = 1.5 };

enum {
    RANKED_LEAST = 32, RANKED_MOST = 192,    /* so many rows that are ranked are columns: the fewest, and more than the most */
    DOT_RATE = 16,                /* times as many products as of f32 a cycle has in registers of tiles */
    SHORT = 128,                  /* bytes of a run of columns that leaves lines half written, */
    SHORT_ROW = 1024,             /* and of a row that is read in place for which memory is waited for where the next one is elsewhere */
    PLACES = 4096                 /* bytes after which lines have the same place in the first cache */
};

#define ROW_CYCLES 0.2            /* what a row's element costs that is met where it is, */
#define CROWDED_ROW_CYCLES 0.8    /* and more for each panel that it meets where its lines have pushed each other out of the second cache meanwhile, */
#define WINDOW_CYCLES 0.25        /* what an element of a window costs more each time that it is packed as a column, */
#define RUN_CYCLES 10.0           /* and a run of these */
#define SHORT_CYCLES 0.6          /* what an element of such a run costs more */
#define CROWDED_CYCLES 0.7        /* what a byte costs more of a line on its way to memory in halves, if one of the same place is, too, */
#define HALVES_CYCLES 1.0         /* and of one whose halves are not stored one after the other */
#define WHERE_CYCLES 0.3          /* what an element costs more that is packed where a condition holds, as a column, */
#define BORDER_CYCLES 0.8         /* or read there, */
#define APART_WHERE_CYCLES 100    /* one lane after the other where columns lie apart, */
#define ROW_WHERE_CYCLES 1.2      /* or as a row's */
#define SPOT_CYCLES 1.5           /* what a tile's point costs more that a table tells the place of */
#define FAR_CYCLES 0.25           /* what a byte costs that comes from behind the second cache */

const Term *plain_read(const Term *side)
{
    while (side->kind == TERM_MAP && side->map.function == FUNCTION_CAST && side->map.implicit)
        side = side->map.arguments[0];
    return side->kind == TERM_READ ? side : NULL;
}

const Term *narrow_side(const Term *side)
{
    while (side->kind == TERM_MAP && side->map.function == FUNCTION_CAST && side->map.implicit)
        side = side->map.arguments[0];
    return side->kind == TERM_READ || (side->kind == TERM_MAP && side->map.function == FUNCTION_CAST) ? side : NULL;
}

bool sum_of_narrow(const Term *reduce, const Component *sum, const Term *sides[2], const Term *factors[2])
{
    const Term *x = reduce->reduce.argument;
    while (x->kind == TERM_MAP && x->map.function == FUNCTION_CAST && x->map.implicit)
        x = x->map.arguments[0];
    if (sum->merge != MERGE_ADD || sum->lift != LIFT_ELEMENT || x->kind != TERM_MAP || x->map.function != FUNCTION_MUL)
        return false;
    for (int i = 0; i < 2; i++) {
        factors[i] = x->map.arguments[i];
        sides[i] = narrow_side(factors[i]);
    }
    return sides[0] && sides[1] && sides[0]->dtype == sides[1]->dtype && sum->dtype == dtype_widen(sides[0]->dtype);
}

/* What a side reads: without the place outside of an array, where it is a constant. */
static const Term *main_read(const Term *side)
{
    if (side->kind != TERM_SELECT)
        return plain_read(side);
    const Term *yes = plain_read(side->select.yes);
    return yes && side->select.no->rank == 0 ? yes : NULL;
}

static int64_t read_stride(const Planner *planner, const Term *read, const Index *index)
{
    int64_t sum = 0;
    for (int a = 0; a < read->read.tensor->rank; a++)
        for (int k = 0; k < read->read.positions[a].count; k++) {
            const PositionPart *part = &read->read.positions[a].parts[k];
            int64_t stride = planner_stride(planner, read->read.tensor, a);
            if (part->index == index)
                sum = stride == NO_STRIDE ? 0 : planner_add_stride(0, part->coefficient, stride);
        }
    return sum;
}

/* Of a value that is computed, what all that has the index agrees about. */
int64_t side_stride(const Planner *planner, const Term *side, const Index *index)
{
    const Term *read = main_read(side);
    int64_t stride = 0;
    bool found = false;
    if (read)
        return read_stride(planner, read, index);
    for (int i = 0; side->kind == TERM_MAP && i < side->map.count; i++) {
        const Term *argument = side->map.arguments[i];
        if (!term_has_index(argument, index))
            continue;
        int64_t own = side_stride(planner, argument, index);
        if (found && own != stride)
            return 0;
        found = true;
        stride = own;
    }
    return stride;
}

bool lies_along(const Planner *planner, const Term *side, const Index *index)
{
    return side_stride(planner, side, index) == 1;
}

const Index *lies_across(const Planner *planner, const Term *side, const IndexSet *own, const Index *column, double depth, Dtype dtype)
{
    const Target *target = planner->plan->target;
    double lanes = target->vector_bytes / (double)dtype_size(dtype);
    bool is_deep = lanes * target->vector_bytes * depth > target->l2_bytes / 2.0 && planner->hints->nests != NESTS_TILED;
    if (side->kind != TERM_READ || side->dtype != dtype || !turn_has_squares(dtype) || is_deep)
        return NULL;
    for (int a = 0; a < side->read.tensor->rank; a++)
        if (!position_is_plain(&side->read.positions[a]))
            return NULL;
    for (int i = 0; i < own->count; i++)
        if (own->list[i] != column && lies_along(planner, side, own->list[i]) &&
            (2 * planner_extent(planner, own->list[i]) >= lanes || planner->hints->nests == NESTS_TILED))
            return own->list[i];
    return NULL;
}

/* How values lie for a tile's rows or columns along `index`; those that are computed are somewhere between. */
static Lies side_lies(const Planner *planner, const Term *side, const Index *index, const Term *product)
{
    bool along_depth = !main_read(side);
    for (int i = 0; i < product->reduce.over_count; i++)
        along_depth |= lies_along(planner, side, product->reduce.over[i]);
    return lies_along(planner, side, index) ? LIES_ALONG : along_depth ? LIES_TURNED : LIES_APART;
}

/* The axis of a temporary along which a ranking of its elements runs; -1: none does. It wants them side by side, but where its candidates
 * wait from block to block takes them either way. */
static int ranked_axis(const Planner *planner, const Tensor *tensor, bool *either)
{
    const Program *lowered = planner->plan->lowered;
    for (int s = 0; s < lowered->statement_count; s++) {
        const Term *value = lowered->statements[s]->outputs[0].value;
        if (value->kind != TERM_REDUCE || reduction_facts[value->reduce.reduction].leaves != LEAVES_RANKS)
            continue;
        *either = lowered->statements[s]->goes_on || rank_parts(planner, lowered->statements[s]) > 1;
        for (int i = 0; i < lowered->term_count; i++) {
            const Term *read = lowered->terms[i];
            for (int a = 0; read->kind == TERM_READ && read->read.tensor == tensor && a < tensor->rank; a++)
                if (read->statement == s && position_is_plain(&read->read.positions[a]) &&
                    read->read.positions[a].parts[0].index == value->reduce.over[0])
                    return a;
        }
    }
    return -1;
}

/* The index along which a step's first result lies side by side; of a temporary whose place is not known yet that along
 * which it is ranked, or the last. */
static const Index *stored_along(const Planner *planner, const Step *step)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    bool either;
    int ranked = tensor->home->origin ? -1 : ranked_axis(planner, tensor, &either);
    if (ranked >= 0)
        return tensor->axes[ranked];
    for (int a = tensor->rank - 1; a >= 0; a--) {
        int64_t stride = planner_stride(planner, tensor, a);
        if (stride == 1 || (stride == NO_STRIDE && a == tensor->rank - 1))
            return tensor->axes[a];
    }
    return NULL;
}

/* The index of what a step stores along which it is ranked, if its rows may lie either way; else NULL. */
static const Index *ranked_either_way(const Planner *planner, const Step *step)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    bool either = false;
    int ranked = tensor->home->origin ? -1 : ranked_axis(planner, tensor, &either);
    return ranked >= 0 && either ? tensor->axes[ranked] : NULL;
}

/* Whether a step's columns lie side by side in what it stores. */
static bool stores_columns(const Planner *planner, const Step *step, const Index *column)
{
    return ranked_either_way(planner, step) || column == stored_along(planner, step);
}

/* Whether rows of a ranking that goes on from block to block are some whole vectors of columns rather than a unit's rows: other units have the
 * other vectors, and what is ranked need not be packed for each. */
static bool ranks_rows(const Planner *planner, const Step *step, const Product *product, int rows, const Index *column)
{
    double points = planner_points(planner, &product->own[rows]);
    return points >= RANKED_LEAST && points < RANKED_MOST && ranked_either_way(planner, step) == column;
}

/* The index of a set that the result has `run` elements apart; NULL: none. */
static const Index *index_apart(const Planner *planner, const Step *step, const IndexSet *set, double run)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    for (int a = 0; a < tensor->rank; a++)
        if (indices_have(set->list, set->count, tensor->axes[a]) && (double)planner_stride(planner, tensor, a) == run)
            return tensor->axes[a];
    return NULL;
}

/* Whether what a tile stores side by side leaves lines half written: few columns follow each other, and no row them. */
static bool is_short(const Planner *planner, const Step *step, const IndexSet *columns, const Index *column, const Index *row)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    double run = planner_extent(planner, column);
    for (int i = 1; i < columns->count; i++) {
        const Index *outer = index_apart(planner, step, columns, run);
        run *= outer ? planner_extent(planner, outer) : 1;
    }
    const IndexSet rows = { (Index *[]){ (Index *)row }, 1 };
    return run * (double)dtype_size(tensor->dtype) < SHORT && !index_apart(planner, step, &rows, run);
}

/* Whether vectors go to memory in halves of lines. */
static bool stores_halves(const Planner *planner, const Step *step)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    double bytes = (double)dtype_size(tensor->dtype);
    for (int a = 0; a < tensor->rank; a++)
        bytes *= planner_extent(planner, tensor->axes[a]);
    return !planner->plan->target->grid && planner->plan->target->vector_bytes < CONTRACT_LINE && bytes > RESULT_PAST;
}

int rows_with_places(const Planner *planner, const Step *step, const Index *row)
{
    const Tensor *tensor = step->statement->outputs[0].tensor;
    int64_t stride = 0, apart = CONTRACT_LINE;
    for (int a = 0; stores_halves(planner, step) && a < tensor->rank; a++)
        if (tensor->axes[a] == row && planner_stride(planner, tensor, a) != NO_STRIDE)
            stride = planner_stride(planner, tensor, a) * (int64_t)dtype_size(tensor->dtype);
    while (stride != 0 && apart < PLACES && stride % (2 * apart) == 0)
        apart *= 2;
    return (int)(PLACES / apart);
}

/* What an element costs more that goes to memory in halves of lines: as many of a tile's rows as find another's line in their place
 * wait for it. */
static double halves_cycles(const Planner *planner, const Step *step, const Index *row, Lies stores)
{
    double size = (double)dtype_size(step->statement->outputs[0].tensor->dtype);
    double rows = fmin(planner->plan->target->tile->rows, planner_extent(planner, row));
    if (stores != LIES_ALONG)
        return stores_halves(planner, step) ? size * HALVES_CYCLES : 0;
    return size * CROWDED_CYCLES * fmax(1 - rows_with_places(planner, step, row) / rows, 0);
}

/* How many columns follow each other in what is read and in the result; 0: that is not known. */
static double columns_run(const Planner *planner, const Step *step, const Contract *c)
{
    const Index *last = c->columns.list[c->columns.count - 1];
    double run = 1;
    for (int i = c->columns.count - 1; i >= 0; i--) {
        const Index *index = c->columns.list[i];
        if (!planner->hints->extents || planner->hints->extents->of[index->origin->id] < 0)
            return 0;
        if (index_apart(planner, step, &c->columns, run) != index ||
            (double)side_stride(planner, c->right, index) != run * (double)side_stride(planner, c->right, last))
            break;
        run *= planner_extent(planner, index);
    }
    return run;
}

static bool rows_follow(const Planner *planner, const Step *step, const Contract *c, double run)
{
    const IndexSet rows = { &c->rows.list[c->rows.count - 1], 1 };
    return index_apart(planner, step, &rows, run) != NULL;
}

bool columns_may_stage(const Planner *planner, const Step *step, const Contract *c)
{
    double run = columns_run(planner, step, c), bytes = run * (double)dtype_size(step->statement->outputs[0].tensor->dtype);
    return run == 0 || (fmod(bytes, CONTRACT_LINE) != 0 && rows_follow(planner, step, c, run));
}

int columns_halves(const Planner *planner, const Step *step, const Contract *c)
{
    double run = columns_run(planner, step, c), bytes = run * (double)dtype_size(step->statement->outputs[0].tensor->dtype);
    bool is_odd = fmod(bytes, CONTRACT_LINE) == CONTRACT_LINE / 2;
    return is_odd && rows_follow(planner, step, c, run) ? (int)(bytes / (CONTRACT_LINE / 2)) : 0;
}

double planner_points(const Planner *planner, const IndexSet *set)
{
    double product = 1;
    for (int i = 0; i < set->count; i++)
        product *= planner_extent(planner, set->list[i]);
    return product;
}

/* The last index of columns: what is stored side by side, else what is read so, else the innermost loop's. */
static Index *last_column(const Planner *planner, const Step *step, const Product *product, int side)
{
    const IndexSet *own = &product->own[side];
    const Index *stored = stored_along(planner, step);
    Index *last = NULL;
    for (int i = 0; i < step->loop_count; i++)
        if (indices_have(own->list, own->count, step->loops[i]))
            last = step->loops[i];
    for (int i = 0; i < own->count; i++)
        if (own->list[i] == stored)
            return own->list[i];
    for (int i = 0; i < own->count; i++)
        if (lies_along(planner, product->side[side], own->list[i]))
            return own->list[i];
    return last;
}

/* Whether a side's values are columns that are met as they come from memory, for the few rows of the other side. */
static bool is_met_in_order(const Planner *planner, const Product *product, int side, const Index *column)
{
    const IndexSet over = { product->reduce->reduce.over, product->reduce->reduce.over_count };
    const Term *values = product->side[side], *read = plain_read(values);
    bool widens = read && dtype_size(read->dtype) < 4 && register_dtype(values->dtype) == DTYPE_F32;
    double rows = planner_points(planner, &product->own[1 - side]);
    return (read == values || widens) && columns_sweep_in_order(planner, values, &product->own[side], column, &over, rows) > 0;
}

/* What panels cost that come from behind the second cache for each block of a row index, beyond the products that they meet, where
 * rows have so many numbers. Those of a deep product of few results are a sweep's, which stay near. */
static double far_cost(const Planner *planner, const Product *product, int left, const Index *column, double extent, double numbers)
{
    const Target *target = planner->plan->target;
    const IndexSet over = { product->reduce->reduce.over, product->reduce->reduce.over_count };
    double size = (double)dtype_size(register_dtype(product->reduce->dtype)), depth = planner_points(planner, &over);
    double rows = planner_points(planner, &product->own[left]), panels = planner_points(planner, &product->own[1 - left]) * depth;
    double block = fmin(extent, target->tile->rows * ROW_BLOCK), products = block * size / target->vector_bytes;
    bool sweeps = panels * size > PANELS_MOST && contract_sums_leave_room(target, rows * panels / fmax(depth, 1) * size);
    return sweeps || contract_is_near(planner, numbers * size, panels * size) || is_met_in_order(planner, product, 1 - left, column) ? 0
           : panels * ceil(rows / block) * fmax(size * FAR_CYCLES - products, 0);
}

/* What an element of a side costs that comes from memory before anything is multiplied: as part of `count` that are packed. */
static double read_cycles(const Planner *planner, const Term *side, double count)
{
    const Term *read = plain_read(side);
    double size = (double)dtype_size(read ? read->dtype : register_dtype(side->dtype));
    return count * size > planner->plan->target->l2_bytes ? size * FAR_CYCLES : 0;
}

const Tile *narrow_tile(const Planner *planner, const Term *product)
{
    Component sum[STATE_COMPONENTS_MAX];
    const Term *sides[2], *factors[2];
    bool narrow = state_components(product, sum) == 1 && sum_of_narrow(product, sum, sides, factors);
    return narrow ? planner->plan->target->narrow[sides[0]->dtype] : NULL;
}

/* Whether a side's numbers become wide ones when they are packed. */
static bool is_widened(const Planner *planner, const Product *product, int side)
{
    const Term *read = plain_read(product->side[side]);
    return read && dtype_size(read->dtype) < dtype_size(register_dtype(product->reduce->dtype)) && !narrow_tile(planner, product->reduce);
}

/* How much of a cycle a vector's product takes: of narrow numbers less, in registers of tiles most of all. */
static double product_cycles(const Planner *planner, const Term *product)
{
    const Tile *tile = narrow_tile(planner, product);
    return !tile ? 1 : tile->dot ? 1.0 / DOT_RATE : 1.0 / tile->group;
}

/* How many vectors of columns a tile's products are, or half of one where they may take two contracted points at a time, which lie side by
 * side in each row. */
static double product_vectors(const Planner *planner, const Product *product, int left, const IndexSet *over)
{
    const Target *target = planner->plan->target;
    double lanes = target->vector_bytes / (double)dtype_size(register_dtype(product->reduce->dtype));
    double columns = planner_points(planner, &product->own[1 - left]);
    bool fused = state_adds_products(product->reduce) && dtype_kind(product->reduce->dtype) == KIND_FLOAT;
    bool pairs = false;
    for (int i = 0; i < over->count; i++)
        pairs |= lies_along(planner, product->side[left], over->list[i]);
    pairs = pairs && fused && target->tile->pair_rows > 0 && !narrow_tile(planner, product->reduce);
    return pairs && 2 * columns <= lanes ? 0.5 : ceil(columns / lanes);
}

/* The window of a side's rows; NULL: they have none, as narrow ones that an instruction of their own takes. */
static const Window *row_window(const Planner *planner, const Product *product, int left, const IndexSet *over)
{
    const Target *target = planner->plan->target;
    const Term *narrow = narrow_side(product->side[left]);
    if (target->spreads || (narrow && target->narrow[narrow->dtype]))
        return NULL;
    return plan_window(planner, product->side[left], &product->own[left], over);
}

/* What a number costs more that is packed where a condition holds. */
static double where_cycles(const Term *side, Lies lies)
{
    return side->kind != TERM_SELECT ? 0 : !main_read(side) ? WHERE_CYCLES : lies == LIES_ALONG ? BORDER_CYCLES : APART_WHERE_CYCLES;
}

/* What a number costs that is packed for the rows, as one of a window or of a row's own. */
static double row_read_cost(const Planner *planner, const Term *side, const Window *window, Lies lies)
{
    if (!window)
        return pack_cycles[lies == LIES_APART ? LIES_APART : LIES_ALONG] + (side->kind == TERM_SELECT ? ROW_WHERE_CYCLES : 0);
    bool along = !main_read(side) || lies_along(planner, side, window_base(&window->axes[window->count - 1]));
    return pack_cycles[along ? LIES_ALONG : LIES_APART] + where_cycles(side, along ? LIES_ALONG : LIES_APART);
}

/* Whether rows that are read in place are short runs, each elsewhere. */
static bool is_scattered(const Planner *planner, const Term *side, const Index *row, const IndexSet *over)
{
    double run = 1, size = (double)dtype_size(side->dtype);
    for (int i = 0; i < over->count; i++)
        if (lies_along(planner, side, over->list[i]))
            run = planner_extent(planner, over->list[i]);
    return run * size < SHORT_ROW && (double)side_stride(planner, side, row) > run;
}

/* Whether lines of rows that lie side by side for each contracted point fall into so few sets of the second cache that they push each other
 * out of it before the next panel meets them. Those of a sweep, in which both sides come in order, are few at a time. */
static bool are_crowded(const Planner *planner, const Product *product, int left, const Index *column, const IndexSet *over)
{
    const Target *target = planner->plan->target;
    double size = (double)dtype_size(register_dtype(product->reduce->dtype));
    double sums = planner_points(planner, &product->own[0]) * planner_points(planner, &product->own[1]) * size;
    bool sweeps = contract_sums_leave_room(target, sums) && lies_along(planner, product->side[1 - left], column);
    int64_t apart = over->count == 1 ? side_stride(planner, product->side[left], over->list[0]) * (int64_t)size : 0;
    return !sweeps && (double)(apart & -apart) * fmin(planner_points(planner, over), target->tile->depth) > target->l2_bytes / 2.0;
}

/* What a tile's rows along one index cost: to be packed, to be stored, and where they are so few that products wait. */
static double row_cost(const Planner *planner, const Step *step, const Product *product, int left, const Index *row,
                       const Index *column, double vectors)
{
    const Target *target = planner->plan->target;
    const Index *stored = stored_along(planner, step);
    double rows = planner_points(planner, &product->own[left]), extent = fmax(planner_extent(planner, row), 1);
    double columns = planner_points(planner, &product->own[1 - left]);
    const IndexSet over = { product->reduce->reduce.over, product->reduce->reduce.over_count };
    double depth = planner_points(planner, &over);
    double height = extent / ceil(extent / target->tile->rows), sums = height * target->tile->vectors;
    Lies lies = side_lies(planner, product->side[left], row, product->reduce);
    Lies stores = stores_columns(planner, step, column) ? LIES_ALONG : row == stored ? LIES_TURNED : LIES_APART;
    double store = store_cycles[stores];
    if (stores == LIES_ALONG && is_short(planner, step, &product->own[1 - left], column, row))
        store += SHORT_CYCLES;
    store += halves_cycles(planner, step, row, stores);
    const Window *window = row_window(planner, product, left, &over);
    double numbers = window ? window_points(planner, window, NULL, 0, NULL) : rows * depth;
    double reads = row_read_cost(planner, product->side[left], window, lies), spots = window ? SPOT_CYCLES / sums : 0;
    bool in_place = lies == LIES_TURNED && product->side[left]->kind == TERM_READ;
    double panel = target->tile->vectors * target->vector_bytes / (double)dtype_size(register_dtype(product->reduce->dtype));
    double few = (PANELS_FEW - 1) * panel;
    /* Met where they are, unless each is to fill a vector. */
    if (!window && !target->spreads && product->side[left]->kind == TERM_READ && (in_place || (lies == LIES_ALONG && columns <= PANELS_FEW * panel)))
        reads = ROW_CYCLES + (!in_place && are_crowded(planner, product, left, column, &over) ? CROWDED_ROW_CYCLES * ceil(columns / panel) : 0);
    if (is_widened(planner, product, left))
        reads *= ROW_WIDENED;
    if (!in_place || columns > few || is_scattered(planner, product->side[left], row, &over))    /* others are read beside their products */
        reads += read_cycles(planner, product->side[left], numbers);
    return numbers * reads + rows * columns * store + rows * depth * vectors * (fmax(1, SUMS_BUSY / sums) + spots) * product_cycles(planner, product->reduce) +
           far_cost(planner, product, left, column, extent, numbers);
}

static Index *best_row(const Planner *planner, const Step *step, const Product *product, int left, const Index *column,
                       double vectors, double *cost)
{
    const IndexSet *own = &product->own[left];
    Index *best = NULL;
    for (int i = 0; i < step->loop_count; i++) {
        if (!indices_have(own->list, own->count, step->loops[i]))
            continue;
        double own_cost = row_cost(planner, step, product, left, step->loops[i], column, vectors);
        if (!best || own_cost <= *cost) {
            best = step->loops[i];
            *cost = own_cost;
        }
    }
    return best;
}

bool product_choose_sides(const Planner *planner, const Step *step, const Product *product, Sides *sides)
{
    const IndexSet over = { product->reduce->reduce.over, product->reduce->reduce.over_count };
    double least = 0;
    sides->row = NULL;
    for (int left = 0; left < 2; left++) {
        const IndexSet *own = &product->own[1 - left];
        Index *column = last_column(planner, step, product, 1 - left);
        if (!column || !product->own[left].count || ranks_rows(planner, step, product, left, column))
            continue;
        double columns = planner_points(planner, own), cost = 0;
        double depth = planner_points(planner, &over);
        Index *row = best_row(planner, step, product, left, column, product_vectors(planner, product, left, &over), &cost);
        Lies lies = side_lies(planner, product->side[1 - left], column, product->reduce);
        if (lies == LIES_APART &&
            lies_across(planner, product->side[1 - left], own, column, depth, register_dtype(product->reduce->dtype)))
            lies = LIES_ACROSS;
        const Window *window = plan_window(planner, product->side[1 - left], own, &over);
        double numbers = window ? window_points(planner, window, NULL, 0, NULL) : columns * depth;    /* read; as columns each is packed */
        double packing = is_met_in_order(planner, product, 1 - left, column) ? 0 : pack_cycles[lies];
        if (is_widened(planner, product, 1 - left))
            packing *= COLUMN_WIDENED;
        if (packing > 0 && row_window(planner, product, 1 - left, &over))    /* which as rows would be packed once */
            packing += WINDOW_CYCLES + RUN_CYCLES / fmax(planner_extent(planner, column), 1);
        cost += columns * depth * (packing + where_cycles(product->side[1 - left], lies)) +
                numbers * read_cycles(planner, product->side[1 - left], numbers);
        if (!sides->row || cost < least) {
            *sides = (Sides){ left, row, column, row == stored_along(planner, step) && !stores_columns(planner, step, column) };
            least = cost;
        }
    }
    return sides->row != NULL;
}
