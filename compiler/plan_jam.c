/* Which points of a step go through its reductions together. Each has sums of its own, so that one operation need not wait
 * for the one before, and what does not depend on their loop is loaded once for all of them: of a matrix times a vector,
 * the vector; of a vector times a matrix, the number that a row is scaled by. A few rows that meet a matrix have a tile of sums. */
#include <math.h>

#include "planning.h"

enum { JAM_ROWS = 8, JAM_VECTORS = 8, JAM_COLUMNS = 16, JAM_BYTES = 512, MEET_MOST = 4 };

/* Bytes: of a row that is worth its own sums, of sums that a row is added to and that stay in the first cache, of a vector of
 * which one keeps up with memory, and what is read before that which is asked for, of rows that go together and of a row alone. */
enum { ROW_LEAST = 128, SUMS_MOST = 4096, ALONE_BYTES = 32, SOON_BYTES = 16384, ALONE_AHEAD = 4096 };
enum { NARROW_LEAST = 128 };      /* numbers of such a row whose numbers are narrow */

typedef struct Reads {
    const Term *reduce;
    const Index *index;
    const Index *lanes;           /* along a kept loop; NULL: along a reduced one */
    bool with, without;           /* reads in the reductions' loops that depend on the index, and that do not */
    bool simple;                  /* nothing but reads and functions */
    bool plain;                   /* at plain positions */
    bool finds;                   /* rows along the lanes, at places from an array that depend on the index */
    bool made;                    /* from a temporary, which may be near */
    size_t size;                  /* of the longest number that depends on the index */
} Reads;

/* Whether each lane asks a where for itself, and the same for all that a reduction runs over: then it bounds no loop, and no point's. */
static bool asks_once(const Reads *reads, const Term *term)
{
    bool once = term->kind == TERM_SELECT && reads->lanes && term_has_index(term->select.condition, reads->lanes);
    for (int i = 0; once && i < reads->reduce->reduce.over_count; i++)
        once = !term_has_index(term->select.condition, reads->reduce->reduce.over[i]);
    return once;
}

static void note_read(void *user, const Term *term)
{
    Reads *reads = user;
    reads->simple &= term->kind == TERM_READ || term->kind == TERM_MAP || term->kind == TERM_CONSTANT || asks_once(reads, term);
    if (term->kind != TERM_READ)
        return;
    reads->made |= !term->read.tensor->origin;
    for (int a = 0; a < term->read.tensor->rank; a++)
        reads->plain &= position_is_plain(&term->read.positions[a]);
    bool inside = false;
    for (int i = 0; i < reads->reduce->reduce.over_count; i++)
        inside |= term_has_index(term, reads->reduce->reduce.over[i]);
    bool with = term_has_index(term, reads->index);
    for (int a = 0; a < term->read.tensor->rank && inside && reads->lanes && term_has_index(term, reads->lanes); a++)
        for (int k = 0; k < term->read.positions[a].count; k++) {
            const Term *gather = term->read.positions[a].parts[k].gather;
            reads->finds |= gather && term_has_index(gather, reads->index) && !term_has_index(gather, reads->lanes);
        }
    reads->with |= inside && with;
    if (inside && with && dtype_size(term->dtype) > reads->size)
        reads->size = dtype_size(term->dtype);
    reads->without |= inside && !with;
}

/* Where a reduction stands in what a step stores. */
typedef struct Standing {
    Arena *arena;
    const Term *reduce, *guard;   /* the where whose branch it is */
    int readers, wheres;          /* terms that it is an argument of, and wheres that it is anywhere in a branch of */
    bool found;
} Standing;

static void note_reader(void *user, const Term *term)
{
    Standing *standing = user;
    standing->readers += term == standing->reduce;
}

static void note_itself(void *user, const Term *term)
{
    Standing *standing = user;
    standing->found |= term == standing->reduce;
}

static void note_where(void *user, const Term *term)
{
    Standing *standing = user;
    term_each_argument(term, note_reader, standing);
    if (term->kind != TERM_SELECT)
        return;
    standing->found = false;
    term_each_below(standing->arena, term->select.yes, note_itself, standing);
    term_each_below(standing->arena, term->select.no, note_itself, standing);
    standing->wheres += standing->found;
    if (term->select.yes == standing->reduce || term->select.no == standing->reduce)
        standing->guard = term;
}

/* Whether points may have their sums of exponentials together, each in lanes of its own: of one reduction, which stands in no
 * where's branch, or is one whose condition the lanes have each for themselves. Sets the step's guard. */
static bool adds_exponentials(const Planner *planner, Step *step)
{
    const Term *root = step->roots[0];
    Standing standing = { .arena = planner->arena, .reduce = root };
    if (step->root_count > 1 || !state_adds_exponentials(root) || !step->vector_kept || step->statement->output_count > 1)
        return false;
    term_each_below(planner->arena, step->statement->outputs[0].value, note_where, &standing);
    step->guard = standing.guard;
    return !standing.wheres || (standing.wheres == 1 && standing.guard && standing.readers == 1 &&
                                term_has_index(standing.guard->select.condition, step->vector));
}

int step_points(const Step *step)
{
    return step->jam * step->meets;
}

bool step_has_points(const Step *step, const Term *term)
{
    return term_has_index(term, step->jammed) || (step->met && term_has_index(term, step->met));
}

bool plan_states_go_together(const Planner *planner, Step *step)
{
    for (int r = 0; r < step->root_count; r++)
        if (!state_is_simple(step->roots[r]) && !state_takes_rows(step->roots[r]) && !adds_exponentials(planner, step))
            return false;
    return true;
}

/* Whether points along an index can go together, and what they read. */
static bool go_together(const Planner *planner, Step *step, const Index *index, Reads *reads)
{
    *reads = (Reads){ .index = index, .lanes = step->vector_kept ? step->vector : NULL, .plain = true };
    reads->simple = plan_states_go_together(planner, step);
    for (int r = 0; r < step->root_count; r++) {
        reads->reduce = step->roots[r];
        term_each_below(planner->arena, step->roots[r]->reduce.argument, note_read, reads);
    }
    return reads->simple && reads->with && (reads->plain || !step->guard);
}

static int least_of(int a, int b)
{
    return a < b ? a : b;
}

/* As many as leave the fewest turns of the loop, and no more than take these. */
static int best_jam(double extent, int most)
{
    int best = 1;
    double least = extent;
    for (int jam = most; jam > 1; jam--) {
        double whole = (double)(int64_t)(extent / jam), turns = whole + (extent - whole * jam);
        if (turns < least || (turns == least && best > 1)) {
            best = jam;
            least = turns;
        }
    }
    return best;
}

/* Whether the sums of exponentials are of sums of two numbers, one without the lanes' index and one without the points': then
 * each number has an exponential of its own, which all lanes or all points share. */
static bool has_powers(Step *step, const Index *index)
{
    const Term *sum = step->root_count == 1 ? step->roots[0]->reduce.argument : NULL;
    if (!sum || !state_adds_exponentials(step->roots[0]) || sum->kind != TERM_MAP || sum->map.function != FUNCTION_ADD ||
        dtype_size(sum->dtype) < 4 || !step->vector_kept || index == step->vector)
        return false;
    for (int row = 0; row < 2; row++)
        if (!term_has_index(sum->map.arguments[row], step->vector) && !term_has_index(sum->map.arguments[1 - row], index)) {
            step->powers[0] = sum->map.arguments[row];
            step->powers[1] = sum->map.arguments[1 - row];
        }
    return step->powers[0] != NULL;
}

static void jam_along(Step *step, Index *index, double turns, int most)
{
    Component components[STATE_COMPONENTS_MAX];
    int states = 0;
    for (int r = 0; r < step->root_count; r++)
        if (state_finder((const Term *const *)step->roots, step->root_count, r) < 0)
            states += state_takes_rows(step->roots[r]) ? 1 : state_components(step->roots[r], components);    /* places change seldom */
    step->jam = best_jam(turns, has_powers(step, index) ? most : most / states);
    step->jammed = step->jam > 1 ? index : NULL;
    if (!step->jammed)
        step->powers[0] = step->powers[1] = NULL;    /* one point has none to share */
}

/* How many points an index has, or `unknown`. */
static double points_along(const Planner *planner, const Index *index, double unknown)
{
    const Extents *extents = planner->hints->extents;
    return extents && extents->of[index->origin->id] >= 0 ? planner_extent(planner, index) : unknown;
}

/* How many a reduction has, where each index has `unknown` of which that is not known. */
static double points_of(const Planner *planner, const Term *reduce, double unknown)
{
    double points = 1;
    for (int i = 0; i < reduce->reduce.over_count; i++)
        points *= points_along(planner, reduce->reduce.over[i], unknown);
    return points;
}

enum { MANY = 1000000000, NUMBER = 4 };    /* points, that no cache holds, and bytes that each mostly has */

/* Whether what is read is more than the second cache is known to hold. */
static bool reads_much(const Planner *planner, const Step *step)
{
    double bytes = NUMBER * points_of(planner, step->roots[0], MANY);
    for (int i = 0; i < step->loop_count; i++)
        bytes *= points_along(planner, step->loops[i], MANY);
    return bytes > planner->plan->target->l2_bytes;
}

/* Whether points along an index should go together: what they have in common is loaded once, and rows of memory that are known to be
 * long may come faster several at once. Others have several sums for each row. */
static bool should_go_together(const Planner *planner, Step *step, const Index *index, bool far)
{
    Reads reads;
    if (!go_together(planner, step, index, &reads))
        return false;
    const Target *target = planner->plan->target;
    const int longest = target->apart ? ROW_LEAST - 1 : target->row_bytes;
    return reads.without || (far && !reads.made && longest && points_of(planner, step->roots[0], 0) * (double)reads.size > longest);
}

/* Vectors of columns go down together. */
static void jam_columns(const Planner *planner, Step *step, int most)
{
    jam_along(step, step->vector, (double)(int64_t)(points_along(planner, step->vector, MANY) / planner->plan->lanes), most);
}

/* Where a line of each row alone is no stream. */
static int columns_together(const Planner *planner)
{
    int vectors = JAM_BYTES / planner->plan->target->vector_bytes;
    return vectors < JAM_COLUMNS ? vectors : JAM_COLUMNS;
}

/* Whether lanes read neighbours. */
static bool reads_lines(const Step *step)
{
    for (int u = 0; u < step->units.count; u++)
        if (step->units.list[u].tensor != step->statement->outputs[0].tensor)
            return true;
    return false;
}

/* Whether a scan does not run along its lanes' index. */
static bool scans_columns(const Step *step)
{
    const Term *scan = step->statement->outputs[0].value;
    return step->kind == STEP_SCAN && step->vector_kept && step->units.count > 0 &&
           !indices_have(scan->reduce.over, scan->reduce.over_count, step->vector);
}

/* Rows that are added up into sums in memory go together, too, so many that their lines are streams. */
static void jam_rows(const Planner *planner, Step *step)
{
    Reads reads = { .index = step->split, .simple = true };
    int streams = planner->plan->target->streams;
    for (int r = 0; r < step->root_count; r++) {
        reads.reduce = step->roots[r];
        reads.simple &= state_is_simple(step->roots[r]);
        term_each_below(planner->arena, step->roots[r]->reduce.argument, note_read, &reads);
    }
    if (!reads.simple)
        return;
    step->jammed = step->split;
    step->jam = streams ? streams : JAM_ROWS;
    step->apart = planner->plan->target->apart;
    step->ahead = streams || step->apart ? 0 : step->ahead;
    step->alone[1] = SUMS_MOST / (int)dtype_size(dtype_real(register_dtype(step->roots[0]->dtype)));
}

/* The rows that points which go together have for themselves. */
typedef struct Rows {
    const Planner *planner;
    const Step *step;
    int size;                     /* of their narrowest number */
    bool again;                   /* one of them is read again at another point */
    bool apart;                   /* something lies between two of them */
} Rows;

static void note_row(void *user, const Term *term)
{
    Rows *rows = user;
    const Step *step = rows->step;
    const Term *over = step->roots[0];
    if (term->kind != TERM_READ || !term_has_index(term, step->jammed))
        return;
    int size = (int)dtype_size(term->dtype), rank = term->read.tensor->rank;
    rows->size = rows->size && rows->size < size ? rows->size : size;
    for (int i = 0; i < step->loop_count; i++)
        rows->again |= !term_has_index(term, step->loops[i]) && step->loops[i] != step->met && planner_extent(rows->planner, step->loops[i]) > 1;
    const Position *axes = term->read.positions;
    int a = rank - 1;
    while (a >= 0 && position_is_plain(&axes[a]) && indices_have(over->reduce.over, over->reduce.over_count, axes[a].parts[0].index))
        a--;
    rows->apart |= rank - 1 - a < over->reduce.over_count || a < 0 || axes[a].parts[0].index != step->jammed;
}

/* The rows of points that go together and come from memory. Where each line of narrow numbers takes more instructions than
 * its load, where rows lie apart or meet several points, they are asked for; else rows are best read one after the other, which is
 * one stream that is asked for: if they are long enough to be summed up for themselves, not so long that what they have in common
 * leaves the first cache for them, and vectors are so long that one sum keeps up with memory. */
static void plan_rows(const Planner *planner, Step *step)
{
    const Target *target = planner->plan->target;
    Rows rows = { .planner = planner, .step = step };
    for (int r = 0; r < step->root_count; r++)
        term_each_below(planner->arena, step->roots[r]->reduce.argument, note_row, &rows);
    bool narrow = rows.size < 4 && !step->dots, linked = rows.apart || step->met;
    bool soon = target->streams ? narrow || linked : target->by_pages && linked;
    step->soon = soon ? SOON_BYTES / rows.size : 0;
    step->ahead = target->streams || soon || (target->apart && rows.size >= 4) ? 0 : (target->by_pages ? ALONE_AHEAD : AHEAD_BYTES) / target->vector_bytes;
    step->apart = target->apart && !rows.apart && !rows.again && !step->powers[0];
    int longest = target->row_bytes ? target->row_bytes / rows.size : target->l1_bytes / 4 / (narrow ? NUMBER : rows.size);
    int least = narrow ? NARROW_LEAST : ROW_LEAST / rows.size, most = step->met ? (int)(longest / planner_extent(planner, step->met)) : longest;
    step->apart &= most >= least;
    if ((!narrow || target->streams || soon || step->apart) && !rows.apart && !rows.again && target->vector_bytes >= ALONE_BYTES && most >= least) {
        step->alone[0] = least;
        step->alone[1] = most;
        step->near = target->l2_bytes / rows.size;
        step->ahead = step->ahead || step->apart ? step->ahead : ALONE_AHEAD / (planner->plan->lanes * rows.size);
    }
}

/* Rows that are added to the result's sums. */
static void jam_added(Step *step, Index *rows)
{
    step->added = step->jammed = rows;
    step->jam = JAM_ROWS;
    step->apart = true;
    step->alone[1] = SUMS_MOST / (int)dtype_size(step->statement->outputs[0].tensor->dtype);
}

/* What a reduction's operands have of two loops. */
typedef struct Sharing {
    const Term *reduce;
    const Index *loops[2];
    bool reads[2], both;          /* of one loop without the other, in the reduction's loops; of both */
} Sharing;

static void note_sharing(void *user, const Term *term)
{
    Sharing *sharing = user;
    bool inside = false, has[2];
    for (int i = 0; i < sharing->reduce->reduce.over_count && term->kind == TERM_READ; i++)
        inside |= term_has_index(term, sharing->reduce->reduce.over[i]);
    for (int i = 0; i < 2; i++)
        has[i] = inside && term_has_index(term, sharing->loops[i]);
    for (int i = 0; i < 2; i++)
        sharing->reads[i] |= has[i] && !has[1 - i];
    sharing->both |= has[0] && has[1];
}

/* Whether what each of two loops has for itself is loaded once for all points of the other. */
static bool meet(const Planner *planner, const Step *step, const Index *a, const Index *b)
{
    Sharing sharing = { .loops = { a, b } };
    for (int r = 0; r < step->root_count; r++) {
        if (!state_is_simple(step->roots[r]))
            return false;
        sharing.reduce = step->roots[r];
        term_each_below(planner->arena, step->roots[r]->reduce.argument, note_sharing, &sharing);
    }
    return sharing.reads[0] && sharing.reads[1] && !sharing.both;
}

/* Whether what so many rows reduce stays in the first cache while others meet it. */
static bool stay_near(const Planner *planner, const Term *reduce, double rows)
{
    return rows * points_of(planner, reduce, MANY) * NUMBER <= planner->plan->target->l1_bytes / 4;
}

/* Rows along the lanes, of which the reductions' innermost loop goes from one to the next. */
typedef struct Lines {
    const Planner *planner;
    const Step *step;
    const Index *inner;
    bool narrow, apart;           /* of narrow numbers; something lies between two of them */
    int64_t bytes;                /* from one to the next, at most */
} Lines;

static void note_line(void *user, const Term *term)
{
    Lines *lines = user;
    if (term->kind != TERM_READ || !term_has_index(term, lines->step->vector) || !term_has_index(term, lines->inner))
        return;
    int before = term->read.tensor->rank - 2;
    const Position *row = before >= 0 ? &term->read.positions[before] : NULL;
    lines->narrow |= dtype_size(term->dtype) < NUMBER;
    lines->apart |= !row || !position_is_plain(row) || row->parts[0].index != lines->inner;
    for (int a = 0; a < term->read.tensor->rank; a++) {
        const Position *at = &term->read.positions[a];
        int64_t bytes = position_is_plain(at) && at->parts[0].index == lines->inner ? planner_stride(lines->planner, term->read.tensor, a) : 0;
        bytes *= (int64_t)dtype_size(term->dtype);
        lines->bytes = bytes > lines->bytes ? bytes : lines->bytes;
    }
}

/* How many rows later what comes from memory is asked for: of narrow numbers, whose lines are many instructions each, and of rows that lie
 * apart where a sweep has read something else before. Others come faster unasked. */
static int rows_later(const Planner *planner, const Step *step)
{
    enum { NARROW_LATER = 32, APART_LATER = 16 };
    const Term *reduce = step->roots[0];
    Lines lines = { .planner = planner, .step = step, .inner = reduce->reduce.over[reduce->reduce.over_count - 1] };
    if (!(planner->plan->target->streams || planner->plan->target->by_pages) || !reads_much(planner, step))
        return 0;
    term_each_below(planner->arena, reduce->reduce.argument, note_line, &lines);
    return lines.narrow ? NARROW_LATER : lines.apart && step->statement->sweep ? APART_LATER : 0;
}

/* The same of columns that go down together, a few lines of each row: of many rows half a page apart or more, which no stream foresees. */
static int lines_later(const Planner *planner, const Step *step)
{
    enum { LINES_LATER = 16, ROWS_MANY = 128, HALF_PAGE = 2048 };
    const Term *reduce = step->roots[0];
    Lines lines = { .planner = planner, .step = step, .inner = reduce->reduce.over[reduce->reduce.over_count - 1] };
    term_each_below(planner->arena, reduce->reduce.argument, note_line, &lines);
    bool asks = planner->plan->target->asks && !step->statement->sweep && planner_extent(planner, lines.inner) >= ROWS_MANY;
    return asks && reads_much(planner, step) && lines.bytes >= HALF_PAGE ? LINES_LATER : 0;
}

/* A tile of as many sums as registers have, of some points each of two loops: the longer one's, or its vectors', go together. */
static void jam_tile(const Planner *planner, Step *step)
{
    bool is_complex = dtype_kind(step->roots[0]->dtype) == KIND_COMPLEX;    /* such a vector takes two registers */
    const int sums = planner->plan->target->sums / step->root_count / (1 + is_complex);
    Index *few = NULL, *many = step->vector_kept ? step->vector : step->jammed;
    for (int i = step->loop_count - 1; i >= 0 && !few; i--)
        if (step->loops[i] != many && meet(planner, step, many, step->loops[i]))
            few = step->loops[i];
    if (!few || points_along(planner, few, 0) < 2)
        return;
    if (!step->vector_kept && planner_extent(planner, few) > planner_extent(planner, many)) {
        Index *other = few;
        few = many;
        many = other;
    }
    double turns = planner_extent(planner, many) / (step->vector_kept ? planner->plan->lanes : 1);
    turns = planner->plan->target->masks && step->vector_kept && turns > 1 && turns < 2 ? 2 : floor(turns);    /* the second is in part */
    bool is_near = stay_near(planner, step->roots[0], planner_extent(planner, few));
    int most = step->vector_kept ? least_of(JAM_VECTORS, sums / 2) : JAM_ROWS;
    int vectors = step->vector_kept && step->statement->sweep ? best_jam(turns, most) : 2;    /* a sweep's rows come from memory whole */
    if (step->vector_kept && turns == 3 && planner->plan->target->masks)    /* a third one alone would wait for its loads; of 16 registers too few are left */
        vectors = 3;
    int spare = (planner->plan->target->registers - 1 - !step->vector_kept) / (1 + is_complex);    /* beside what comes anew for each that they meet */
    int meets = best_jam(planner_extent(planner, few), least_of(least_of(sums / vectors, spare / (vectors + 1)), is_near ? JAM_ROWS : MEET_MOST));
    int jam = best_jam(turns, least_of(least_of(sums, spare - meets) / meets, most));
    if (meets < 2 || jam < 2)
        return;
    step->jammed = many;
    step->jam = jam;
    step->met = few;
    step->meets = meets;
    if (step->vector_kept)
        step->later = rows_later(planner, step);
    else    /* what the many have comes from memory once */
        step_move_last(step, few);
}

static bool is_block(const Launch *launch, int place, const Index *index)
{
    bool is = false;
    for (int b = 0; b < launch->block_count; b++)
        is |= launch->blocks[b].of_step[place] == index;
    return is;
}

/* Whether a step copies runs of several vectors along the lanes, of numbers that are loaded and stored as they are, from places that do not
 * follow each other as the loops do. */
static bool copies_runs(const Planner *planner, const Step *step)
{
    enum { RUN_VECTORS = 4 };
    const Term *x = step->statement->outputs[0].value;
    const int last = step->loop_count - 1;
    if (step->kind != STEP_STORE || step->turned || x->kind != TERM_READ || last < 1 || step->loops[last] != step->vector || x->read.tensor->rank < 2 ||
        register_dtype(x->dtype) != x->dtype || planner_extent(planner, step->vector) < RUN_VECTORS * planner->plan->lanes)
        return false;
    const Position *along = &x->read.positions[x->read.tensor->rank - 1], *before = along - 1;
    return position_is_plain(along) && along->parts[0].index == step->vector &&
           !(position_is_plain(before) && before->parts[0].index == step->loops[last - 1]);
}

/* Whether something reads the rows of a block's points that a step reduces, too. */
static bool reads_rows_of(const Planner *planner, const Launch *launch, int reader, int place)
{
    const Program *lowered = planner->plan->lowered;
    const Index *const *points = (const Index *const *)launch->blocks[launch->block_count - 1].of_step;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *own = lowered->terms[i];
        if (own->kind != TERM_READ || own->statement != launch->steps[place]->statement->id || !term_has_index(own, points[place]))
            continue;
        for (int j = 0; j < lowered->term_count; j++) {
            const Term *other = lowered->terms[j];
            if (other->kind == TERM_READ && other->statement == launch->steps[reader]->statement->id &&
                other->read.tensor == own->read.tensor && term_has_index(other, points[reader]))
                return true;
        }
    }
    return false;
}

/* Whether rows that a step reduces are read again by another one of the launch, which had better be while they are near: then the steps
 * take their points one after the other, and none takes several together. */
static bool is_read_again(const Planner *planner, const Launch *launch, int place)
{
    const Step *step = launch->steps[place];
    if (!step->root_count || step->vector_kept || !launch_goes_by_points(launch, place, place))
        return false;
    for (int s = 0; s < launch->step_count; s++)
        if (s != place && launch_goes_by_points(launch, s < place ? s : place, s < place ? place : s) &&
            reads_rows_of(planner, launch, s, place))
            return true;
    return false;
}

/* Along the innermost loop without lanes, else along the one with them. Threads are many enough to wait for one another. */
void plan_jam(Planner *planner, const Launch *launch, int place)
{
    Step *step = launch->steps[place];
    step->jam = step->meets = 1;
    Index *added = step->split || launch->sweep || is_block(launch, place, step->vector) ? NULL : plan_added(planner, step);
    if (added) {
        jam_added(step, added);
        return;
    }
    if (!planner->plan->target->grid && scans_columns(step))
        jam_columns(planner, step, columns_together(planner));
    if (step->split && step->ahead)
        jam_rows(planner, step);
    step->has_runs = !planner->plan->target->grid && copies_runs(planner, step);
    if (!is_read_again(planner, launch, place))
        plan_points(planner, step);
}

void plan_points(const Planner *planner, Step *step)
{
    if (planner->plan->target->grid || step->contract || step->split || !step->vector || !step_can_split(step))
        return;
    int last = step->loop_count - 1 - step->vector_kept, streams = planner->plan->target->streams;
    Reads reads;
    bool far = !step->vector_kept && reads_much(planner, step);
    bool lines = planner->plan->target->vector_bytes == CONTRACT_LINE;    /* of a row that is found all go together */
    bool finds = lines && last >= 0 && go_together(planner, step, step->loops[last], &reads) && reads.finds &&
                 points_along(planner, step->vector, MANY) >= 2 * planner->plan->lanes;
    if (last >= 0 && !finds && should_go_together(planner, step, step->loops[last], far))
        jam_along(step, step->loops[last], planner_extent(planner, step->loops[last]), far && streams ? streams : JAM_ROWS);
    if (step->jammed && planner->plan->target->sums && !step->guard && !step->powers[0])
        jam_tile(planner, step);
    if (step->jammed && far)
        plan_rows(planner, step);
    if (!step->jammed && step->vector_kept && step->root_count && go_together(planner, step, step->vector, &reads) &&
        (reads.without || reads_lines(step)))
        jam_columns(planner, step, reads.without ? JAM_VECTORS : columns_together(planner));
    if (step->jammed && step->jammed == step->vector && !step->met)
        step->later = lines_later(planner, step);
}
