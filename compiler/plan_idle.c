/* Whether steps that would run together had better run one after the other. A launch of few units of work leaves most of the machine
 * idle, so that memory gives it but a part of what it could. Alone each step has units, or parts, of all that it goes over, and reads
 * rows that it adds up from one end to the other; what passes between them is stored. Where that is no more than the operands, and
 * little beside what they would read so slowly, it pays. */
#include <math.h>

#include "planning.h"

/* What keeps a machine busy. Times are those of all of it, in what one byte of memory takes on a grid, else in cycles. */
typedef struct Busy {
    double units;                 /* of work at once; */
    double fused;                 /* of two products one behind the other, whose copies are asked for ahead; */
    double rows, columns;         /* of a product that a unit has at least */
    double launch;                /* the time of one more launch; */
    double byte, cached, near;    /* that of a byte read, of so many at most that are in a cache another; */
    double stored;                /* that of a byte stored, which is written and read, perhaps more than once, or stays in a cache; */
    double operation;             /* that of a vector's operation; 0: it is less than that of what is read */
    double pieces;                /* that of rows whose pieces are read one below the other: as many times that of whole rows */
} Busy;

static const Busy of_grid = { 512, 256, 32, 32, 12 << 20, 1, 0, 1, 3, 0, 1 };    /* four blocks on each multiprocessor of the largest cards */

/* Eight threads, each of which reads 5 bytes from memory or 32 from a cache in a cycle, and makes two operations. */
static const Busy of_threads = { 8, 8, 128, 512, 32768, 1.0 / 40, 32 << 20, 1.0 / 256, 1.0 / 256, 1.0 / 16, 3 };

/* Of an array as a step knows it. */
static double bytes_of(const Planner *planner, const Tensor *tensor)
{
    if (tensor->whole)
        return bytes_of(planner, tensor->whole);
    double bytes = (double)dtype_size(tensor->dtype);
    for (int a = 0; a < tensor->rank; a++)
        if (!tensor->maker)
            bytes *= (double)planner->hints->extents->shape[tensor->home->origin->id][a];
        else if (tensor->axes[a])
            bytes *= planner_extent(planner, tensor->axes[a]);
    return bytes;
}

static bool makes(Step *const *group, int count, const Tensor *tensor)
{
    for (int s = 0; s < count; s++)
        if (tensor->maker == group[s]->statement)
            return true;
    return false;
}

/* What the steps read that they do not make, or all that is read of the caller's if there are no steps; each array once. */
static double bytes_read(const Planner *planner, Step *const *group, int count)
{
    const Program *lowered = planner->plan->lowered;
    bool *seen = ARENA_ARRAY(planner->arena, bool, lowered->tensor_count);
    double bytes = 0;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool inside = count == 0 && term->kind == TERM_READ && !term->read.tensor->maker;
        for (int s = 0; s < count; s++)
            inside |= term->statement == group[s]->statement->id;
        if (!inside || term->kind != TERM_READ || makes(group, count, term->read.tensor) || seen[term->read.tensor->id])
            continue;
        seen[term->read.tensor->id] = true;
        bytes += bytes_of(planner, term->read.tensor);
    }
    return bytes;
}

/* About as many units of work as steps that run together come to, but no more than are at once. */
static double units_of(Planner *planner, const Busy *busy, Step *const *group, int count)
{
    Index *split;
    int block_count;
    const Block *blocks = planner_common_blocks(planner, group, count, &block_count, &split);
    double units = 1, rows = 1, columns = 1;
    for (int b = 0; b < block_count; b++) {
        double *points = &units, lanes = 1;
        for (int s = count - 1; s >= 0; s--) {
            const Contract *c = group[s]->contract;
            const Index *index = blocks[b].of_step[s];
            lanes = !c && index == group[s]->vector ? planner->plan->lanes : lanes;    /* no less than a vector */
            points = c && indices_have(c->rows.list, c->rows.count, index)         ? &rows
                     : c && indices_have(c->columns.list, c->columns.count, index) ? &columns : points;
        }
        *points *= fmax(ceil(planner_extent(planner, blocks[b].of_step[0]) / lanes), 1);
    }
    return split ? busy->units : fmin(units * fmax(rows / busy->rows, 1) * fmax(columns / busy->columns, 1), busy->units);
}

/* Whether a group that ends with a product may be, or become, two of them one behind the other: a product is what its first step reads. */
static bool may_be_fused(const Planner *planner, Step *const *group, int count)
{
    const Plan *plan = planner->plan;
    bool *feeds = ARENA_ARRAY(planner->arena, bool, plan->step_count), product = group[0]->contract != NULL;
    feeds[group[0]->id] = true;
    for (int s = group[0]->id - 1; s >= 0; s--) {
        for (int r = s + 1; r <= group[0]->id && !feeds[s]; r++)
            feeds[s] = feeds[r] && planner_reads(planner, plan->steps[r], plan->steps[s]);
        product |= feeds[s] && plan->steps[s]->contract;
    }
    return product && count > 1 && group[count - 1]->contract;
}

/* How many vectors of points steps visit: those of the term with the most indices of each. */
static double operations(const Planner *planner, Step *const *group, int count)
{
    const Program *lowered = planner->plan->lowered;
    double sum = 0;
    for (int s = 0; s < count; s++) {
        double most = 0;
        for (int i = 0; i < lowered->term_count; i++) {
            double points = 1;
            for (int k = 0; k < lowered->terms[i]->rank; k++)
                points *= planner_extent(planner, lowered->terms[i]->indices[k]);
            most = lowered->terms[i]->statement == group[s]->statement->id ? fmax(most, points) : most;
        }
        sum += most / planner->plan->lanes;
    }
    return sum;
}

/* On threads: whether a group's first step goes over what no other of its steps does. Otherwise that stays in a cache from one to the next,
 * and so do the blocks of a sweep. */
static bool reads_alone(const Planner *planner, Step *const *group, int count)
{
    double alone = bytes_read(planner, group, 1), others = bytes_read(planner, group + 1, count - 1), all = bytes_read(planner, group, count);
    double between = 0;
    for (int o = 0; o < group[0]->statement->output_count; o++)
        between += bytes_of(planner, group[0]->statement->outputs[o].tensor);
    bool sweeps = false;
    for (int s = 0; s < count; s++)
        sweeps |= group[s]->statement->sweep != NULL || group[s]->statement->swept;
    return !sweeps && alone + others - between <= all;
}

/* The time of steps for all of a machine. */
static double time_of(const Planner *planner, const Busy *busy, Step *const *group, int count)
{
    double read = bytes_read(planner, group, count);
    return fmax(read * (read > busy->cached ? busy->byte : busy->near), operations(planner, group, count) * busy->operation);
}

bool planner_idles(Planner *planner, Step *const *group, int count)
{
    const PlanHints *hints = planner->hints;
    const Grid *grid = planner->plan->target->grid;
    const Busy *busy = grid ? &of_grid : &of_threads;
    if (hints->uncut || hints->nests != NESTS_BY_COST || !hints->extents || !hints->extents->complete ||
        (!grid && !reads_alone(planner, group, count)))
        return false;
    double stored = 0, units = units_of(planner, busy, group, count);
    for (int o = 0; o < group[0]->statement->output_count; o++)
        stored += bytes_of(planner, group[0]->statement->outputs[o].tensor);
    double cost = busy->stored * stored + busy->launch, saved;
    if (grid) {
        double most = may_be_fused(planner, group, count) ? busy->fused : busy->units;
        saved = time_of(planner, busy, group, count) * (most / units - 1);
    } else {    /* what is stored has room; and most of the work must become faster */
        units = fmax(units, fmin(stored / planner->plan->target->l2_bytes, busy->units));
        double first = time_of(planner, busy, group, 1), rest = time_of(planner, busy, group + 1, count - 1);
        saved = first * (busy->units / units - busy->units / units_of(planner, busy, group, 1)) +
                rest * (busy->units / units - busy->units / units_of(planner, busy, group + 1, count - 1));
        saved += plan_reads_rows(planner, group[0]) ? first * (busy->pieces - 1) : 0;
        cost = fmax(cost, (first + rest) * (busy->units / units - 1) / 2);
    }
    return stored <= bytes_read(planner, NULL, 0) && cost < saved;
}
