/* How a row is measured. A shared machine is not equally fast for long, so that the peaks are sampled before and after
 * every few calls, and both sides count with their best: the best peak against the fastest call. Beside that share, the
 * median of the rounds' own says how steady the machine was. */
#include <stdlib.h>

#include "bench.h"
#include "runtime.h"

enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 200 };

/* How much more than one thread two have to reach at their peak, for a speed-up to be measured at all. */
#define GAIN_LEAST 1.8

#define ROUND_SECONDS 0.05        /* of calls between samples of the peaks */

static void keep_best(double *best, double value)
{
    *best = value > *best ? value : *best;
}

static const PeakUnit *unit_of(const Row *row)
{
    static const char *const native[] = { "avx512", "avx2", "portable" };
    if (row->unit || row->target)
        return peak_unit(row->unit ? row->unit : row->target, row->dtype);
    for (int i = 0;; i++)
        if (peak_unit(native[i], row->dtype))
            return peak_unit(native[i], row->dtype);
}

static void sample_peaks(const Work *work, int workers, Round *round)
{
    const Row *row = work->row;
    Pool *pool = context_pool(work->context);
    if (row->bounds & BOUND_COMPUTE)
        keep_best(&round->compute, peak_sample(pool, workers, unit_of(row)));
    if (row->bounds & BOUND_READ)
        keep_best(&round->read, peak_stream(pool, workers, PEAK_READ, work->in, work->in_bytes));
    if (row->bounds & BOUND_WRITE)
        keep_best(&round->write, peak_stream(pool, workers, PEAK_WRITE, work->out, work->out_bytes));
}

double bound_of(const Work *work, const Round *peaks, const char **by)
{
    const struct {
        double amount, rate;
        const char *by;
    } bounds[] = { { work->flops, peaks->compute, "arithmetic" },
                   { (double)work->in_bytes, peaks->read, "reading" },
                   { (double)work->out_bytes, peaks->write, "writing" },
                   { peaks->other, 1, work->row->other } };
    double most = 0;
    for (int i = 0; i < 4; i++)
        if (bounds[i].rate > 0 && bounds[i].amount / bounds[i].rate > most) {
            most = bounds[i].amount / bounds[i].rate;
            *by = bounds[i].by;
        }
    return most;
}

/* The fastest of some calls. */
static bool call_some(Work *work, Arena *arena, int workers, double *fastest)
{
    for (double spent = 0; spent < ROUND_SECONDS;) {
        double seconds = work_call(work, arena, workers);
        if (seconds < 0)
            return false;
        *fastest = spent == 0 || seconds < *fastest ? seconds : *fastest;
        spent += seconds;
    }
    return true;
}

bool measure_round(Work *work, Arena *arena, int workers, Round *round)
{
    *round = (Round){ 0 };
    sample_peaks(work, workers, round);
    if (!call_some(work, arena, workers, &round->seconds))
        return false;
    if (work->other && !call_some(work->other, arena, workers, &round->other)) {
        work->failure = work->other->failure;
        return false;
    }
    sample_peaks(work, workers, round);
    return true;
}

static void add_round(Round *best, const Round *round)
{
    best->seconds = best->seconds == 0 || round->seconds < best->seconds ? round->seconds : best->seconds;
    best->other = best->other == 0 || round->other < best->other ? round->other : best->other;
    keep_best(&best->compute, round->compute);
    keep_best(&best->read, round->read);
    keep_best(&best->write, round->write);
}

static double share_of(const Work *work, const Round *round, const Round *one, Figure *figure)
{
    double bound = bound_of(work, round, &figure->bounded_by);
    if (!work->row->speedup)
        return bound / round->seconds;
    const char *by;
    return one->seconds / round->seconds / (bound_of(work, one, &by) / bound);
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Figure measure(Work *work, Arena *arena, double seconds, double pretend)
{
    const Row *row = work->row;
    Figure figure = { 0 };
    double shares[ROUNDS_MOST], begin = peak_seconds(2);
    bool enough;
    do {
        Round round, one = { 0 };
        if ((row->speedup && !measure_round(work, arena, 1, &one))
            || !measure_round(work, arena, row->threads, &round)) {
            figure = (Figure){ .failure = work->failure };
            return figure;
        }
        add_round(&figure.best, &round);
        add_round(&figure.one, &one);
        shares[figure.rounds++] = share_of(work, &round, &one, &figure);
        /* Of calls that take longer than all of it should, one is enough. */
        enough = round.seconds > seconds || (figure.rounds >= ROUNDS_LEAST && peak_seconds(2) > begin + seconds);
    } while (!enough && figure.rounds < ROUNDS_MOST);
    qsort(shares, (size_t)figure.rounds, sizeof *shares, compare_numbers);
    figure.median = shares[figure.rounds / 2];
    figure.share = share_of(work, &figure.best, &figure.one, &figure) / pretend;
    figure.bound = bound_of(work, &figure.best, &figure.bounded_by);
    figure.speedup = row->speedup ? figure.one.seconds / figure.best.seconds : 0;
    if (row->speedup && figure.best.compute < GAIN_LEAST * figure.one.compute)
        figure.failure = arena_format(arena, "other programs kept the cores busy: %d threads' peak is %.2f times one's",
                                      row->threads, figure.best.compute / figure.one.compute);
    else if (figure.share > SHARE_MAX && row->goal <= 1)
        figure.failure =
            arena_format(arena, "%.1f %% of the bound: one of the two is measured wrong", 100 * figure.share);
    return figure;
}
