/* Windows: the numbers of a product's rows where rows share them. They may be read at x[h + r], so that of all its points (h, r)
 * only h + r tells which number that is. */
#include <math.h>
#include <stdlib.h>

#include "planning.h"

/* What is known of how a value depends on its rows' indices and on contracted ones. */
typedef struct Finding {
    const Planner *planner;
    bool *seen;                   /* [lowered term id] */
    int steps;                    /* so many terms may still be added to the form */
    const IndexSet *rows, *points;
    WindowAxis *pair;             /* [lowered index id]: of which a sum is all that was met so far; without indices: none was met */
    bool *apart;                  /* [lowered index id]: the value depends on the index itself */
    int64_t *form;                /* [lowered index id]: the factors in a sum that is looked at */
    bool may_miss;                /* numbers of an array tell where is read, or whether: where nobody asks, they may be any */
} Finding;

enum { FORM_STEPS = 100, FACTOR_MOST = 1 << 20 };

/* An integer of the text. */
static bool is_factor(const Term *term, int64_t *factor)
{
    while (term->kind == TERM_MAP && term->map.function == FUNCTION_CAST && dtype_kind(term->dtype) == KIND_INT)
        term = term->map.arguments[0];
    *factor = term->kind == TERM_CONSTANT && term->constant.is_integer ? term->constant.integer : 0;
    return *factor > -FACTOR_MOST && *factor < FACTOR_MOST && *factor != 0;
}

/* Adds so many times an integer to the form, if it is a sum of multiples of positions. */
static bool add_form(Finding *f, const Term *term, int64_t times)
{
    int64_t factor;
    if (dtype_kind(term->dtype) != KIND_INT || f->steps-- <= 0 || times <= -FACTOR_MOST || times >= FACTOR_MOST)
        return false;
    if (term->kind == TERM_CONSTANT || term->kind == TERM_EXTENT)
        return true;
    if (term->kind == TERM_POSITION) {
        f->form[term->position->id] += times;
        return true;
    }
    Term *const *a = term->kind == TERM_MAP ? term->map.arguments : NULL;
    switch (a ? term->map.function : FUNCTION_MAX) {
    case FUNCTION_CAST: return term->dtype == DTYPE_I64 && add_form(f, a[0], times);
    case FUNCTION_NEG: return add_form(f, a[0], -times);
    case FUNCTION_ADD: return add_form(f, a[0], times) && add_form(f, a[1], times);
    case FUNCTION_SUB: return add_form(f, a[0], times) && add_form(f, a[1], -times);
    case FUNCTION_MUL:
        return is_factor(a[0], &factor) ? add_form(f, a[1], times * factor) : is_factor(a[1], &factor) && add_form(f, a[0], times * factor);
    default: return false;
    }
}

static void clear_form(Finding *f)
{
    f->steps = FORM_STEPS;
    for (int i = 0; i < f->planner->plan->lowered->index_count; i++)
        f->form[i] = 0;
}

/* The one index of a set that the form has; NULL: there is none, or are several, which `count` tells. */
static Index *only_of(const Finding *f, const IndexSet *set, int *count)
{
    Index *only = NULL;
    *count = 0;
    for (int i = 0; i < set->count; i++)
        if (f->form[set->list[i]->id]) {
            only = set->list[i];
            ++*count;
        }
    return *count == 1 ? only : NULL;
}

static void keep_apart(Finding *f, const IndexSet *set)
{
    for (int i = 0; i < set->count; i++)
        f->apart[set->list[i]->id] |= f->form[set->list[i]->id] != 0;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* A sum that the value depends on. With one index of the rows and a contracted one in it, these are a pair, unless either is
 * in another sum without the other or times other numbers. */
static void note_form(Finding *f)
{
    int rows, points;
    Index *row = only_of(f, f->rows, &rows), *point = only_of(f, f->points, &points);
    int64_t row_factor = row ? f->form[row->id] : 0, point_factor = point ? f->form[point->id] : 0;
    WindowAxis pair = { row, point, row_factor, point_factor };
    bool is_pair = row && point && row_factor > INT64_MIN && point_factor > INT64_MIN;
    if (is_pair) {
        int64_t divisor = common_divisor(llabs(row_factor), llabs(point_factor));
        int64_t unit = llabs(row_factor) == divisor ? row_factor : point_factor;    /* what becomes 1 */
        pair.row_factor = row_factor / unit;
        pair.point_factor = point_factor / unit;
        is_pair = llabs(unit) == divisor;
    }
    for (int side = 0; is_pair && side < 2; side++) {
        WindowAxis *known = &f->pair[side ? point->id : row->id];
        if (!known->row)
            *known = pair;
        is_pair = known->row == row && known->point == point && known->row_factor == pair.row_factor &&
                  known->point_factor == pair.point_factor;
    }
    if (!is_pair) {
        keep_apart(f, f->rows);
        keep_apart(f, f->points);
    }
}

static void find_read(void *user, const Term *term)
{
    *(bool *)user |= term->kind == TERM_READ;
}

static void note_read(Finding *f, const Term *read)
{
    for (int a = 0; a < read->read.tensor->rank; a++) {
        f->may_miss |= position_has_gather(&read->read.positions[a]);
        clear_form(f);
        for (int k = 0; k < read->read.positions[a].count; k++) {
            const PositionPart *part = &read->read.positions[a].parts[k];
            if (part->index)
                f->form[part->index->id] += part->coefficient;
        }
        note_form(f);
    }
}

static void note_term(void *user, const Term *term)
{
    Finding *f = user;
    if (f->seen[term->id])
        return;
    f->seen[term->id] = true;
    if (term->kind == TERM_SELECT)
        term_each_below(f->planner->arena, term->select.condition, find_read, &f->may_miss);
    bool compares = term->kind == TERM_MAP && term->map.function >= FUNCTION_LT && term->map.function <= FUNCTION_NE;
    clear_form(f);
    if (compares ? add_form(f, term->map.arguments[0], 1) && add_form(f, term->map.arguments[1], -1) : add_form(f, term, 1)) {
        note_form(f);
        return;
    }
    if (term->kind == TERM_READ)
        note_read(f, term);
    term_each_argument(term, note_term, f);
}

Index *window_base(const WindowAxis *axis)
{
    return axis->row && axis->row_factor == 1 ? axis->row : axis->point;
}

/* Whether every number between the first and the last of a window is one that somebody asks for, whatever the extents. */
static bool is_dense(const WindowAxis *pair)
{
    return llabs(pair->row_factor) == 1 && llabs(pair->point_factor) == 1;
}

static bool is_paired(const Finding *f, const Index *index)
{
    const WindowAxis *pair = &f->pair[index->id];
    return pair->row && !f->apart[pair->row->id] && !f->apart[pair->point->id] && (!f->may_miss || is_dense(pair));
}

/* Puts an axis behind those that are farther apart in the memory that the side is read from. */
static void add_axis(const Planner *planner, Window *window, const Term *side, WindowAxis axis)
{
    int64_t stride = side_stride(planner, side, window_base(&axis));
    int at = window->count;
    ARENA_APPEND(planner->arena, window->axes, window->count, axis);
    for (; at > 0 && side_stride(planner, side, window_base(&window->axes[at - 1])) < stride; at--) {
        window->axes[at] = window->axes[at - 1];
        window->axes[at - 1] = axis;
    }
}

double window_points(const Planner *planner, const Window *window, const Launch *launch, int place, const double *tiles)
{
    double product = 1;
    for (int i = 0; i < window->count; i++) {
        const WindowAxis *axis = &window->axes[i];
        double rows = axis->row ? planner_extent(planner, axis->row) : 1, points = axis->point ? planner_extent(planner, axis->point) : 1;
        for (int b = 0; launch && b < launch->block_count; b++)
            rows = axis->row && launch->blocks[b].of_step[place] == axis->row ? tiles[b] : rows;
        product *= (rows - 1) * fabs((double)axis->row_factor) + (points - 1) * fabs((double)axis->point_factor) + 1;
    }
    return product;
}

Window *plan_window(const Planner *planner, const Term *side, const IndexSet *rows, const IndexSet *points)
{
    Arena *arena = planner->arena;
    const Program *lowered = planner->plan->lowered;
    Finding f = { planner, ARENA_ARRAY(arena, bool, lowered->term_count), 0, rows, points,
                  ARENA_ARRAY(arena, WindowAxis, lowered->index_count), ARENA_ARRAY(arena, bool, lowered->index_count),
                  ARENA_ARRAY(arena, int64_t, lowered->index_count), false };
    note_term(&f, side);
    Window *window = ARENA_NEW(arena, Window);
    for (int set = 0; set < 2; set++)
        for (int i = 0; i < (set ? points : rows)->count; i++) {
            Index *index = (set ? points : rows)->list[i];
            if (!is_paired(&f, index) && (set == 0 || term_has_index(side, index)))
                add_axis(planner, window, side, set ? (WindowAxis){ NULL, index, 0, 1 } : (WindowAxis){ index, NULL, 1, 0 });
        }
    int alone = window->count;
    for (int i = 0; i < rows->count; i++)
        if (is_paired(&f, rows->list[i]))
            add_axis(planner, window, side, f.pair[rows->list[i]->id]);
    bool forced = planner->hints->nests == NESTS_TILED;
    double most = planner_points(planner, rows) * planner_points(planner, points);
    return window->count > alone && (forced || window_points(planner, window, NULL, 0, NULL) <= most) ? window : NULL;
}
