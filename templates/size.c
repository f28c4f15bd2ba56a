/* Arithmetic on sizes: numbers of bytes and of work, never negative; what does not fit is SIZE_TOO_LARGE, and stays so
 * but in a minimum. The same rules as in compiler/size.c, which evaluates these formulas for the plan. */
#ifndef TEMPLATES_SIZE
#define TEMPLATES_SIZE

#include "mask.c"
#include "types.c"

//{ PLAIN
/* Helpers that run once a call are for any machine, whatever the kernel's instruction set. */
#ifdef __GNUC__
#define PLAIN static inline __attribute__((unused))
#else
#define PLAIN static inline
#endif
//}

//{ SHARED
/* What a formula has dozens of: one copy keeps the compile short. */
#ifdef __GNUC__
#define SHARED static __attribute__((noinline, unused))
#else
#define SHARED static
#endif
//}

//{ SIZE_TOO_LARGE
#define SIZE_TOO_LARGE INT64_MAX
//}

//{ size_min
PLAIN int64_t size_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
//}

//{ size_max
PLAIN int64_t size_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
//}

//{ size_add
SHARED int64_t size_add(int64_t a, int64_t b)
{
    return a > SIZE_TOO_LARGE - b ? SIZE_TOO_LARGE : a + b;
}
//}

//{ size_sub
SHARED int64_t size_sub(int64_t a, int64_t b)
{
    return a == SIZE_TOO_LARGE ? a : a > b ? a - b : 0;
}
//}

//{ size_mul
SHARED int64_t size_mul(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b && a > SIZE_TOO_LARGE / b ? SIZE_TOO_LARGE : a * b;
}
//}

//{ size_div
SHARED int64_t size_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b : a;
}
//}

//{ size_ceil_div
SHARED int64_t size_ceil_div(int64_t a, int64_t b)
{
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    return b ? a / b + (a % b != 0) : a;
}
//}

//{ size_even
/* So much of what is left that it makes as few shares of at most `most` as can be, all nearly equal. */
PLAIN int64_t size_even(int64_t left, int64_t most)
{
    return left <= most ? left : size_ceil_div(left, size_ceil_div(left, most));
}
//}

//{ size_align
/* Up to a multiple of the unit. */
SHARED int64_t size_align(int64_t a, int64_t unit)
{
    return a > SIZE_TOO_LARGE - unit ? SIZE_TOO_LARGE : (a + unit - 1) / unit * unit;
}
//}

//{ size_in_bands
/* The unit of a plane of inner by outer that is the n-th where `band` of the inner ones meet all of the outer ones, then the next;
 * plane by plane. */
PLAIN int64_t size_in_bands(int64_t n, int64_t inner, int64_t outer, int64_t band)
{
    const int64_t plane = n / (inner * outer) * (inner * outer), first = (n - plane) / (band * outer) * band;
    const int64_t width = size_min(band, inner - first), at = n - plane - first * outer;
    return plane + at / width * inner + first + at % width;
}
//}

//{ size_span
/* How many points there are from the first row's first to the last row's last one, where rows are row_apart and a row's points
 * point_apart. */
PLAIN int64_t size_span(int64_t rows, int64_t row_apart, int64_t points, int64_t point_apart)
{
    return rows > 0 && points > 0 ? (rows - 1) * row_apart + (points - 1) * point_apart + 1 : 0;
}
//}

//{ size_next
/* How many of `left` rows come next, of at most `most`, which are whole tiles: those, but so that no tile that is lower
 * than half of one is left behind them. */
PLAIN int64_t size_next(int64_t left, int64_t most, int64_t tile)
{
    return left <= most ? left : left - most >= tile / 2 ? most : most - tile / 2;
}
//}

/* Extents from shapes. */

//{ settle
/* Whether a shape is one; axes of size 1 get stride 0, so that they stretch. */
PLAIN int settle(const int64_t *shape, int64_t *stride, int rank)
{
    for (int a = 0; a < rank; a++) {
        if (shape[a] < 0)
            return 0;
        if (shape[a] == 1)
            stride[a] = 0;
    }
    return 1;
}
//}

//{ Rows coalesce
/* Axes of an array that may become one, outermost first. */
typedef struct Rows {
    int64_t *shape, *stride;
    int axis[8];
} Rows;

static inline int rows_agree(const Rows *rows, int arrays, int axes)
{
    for (int r = 1; r < arrays; r++)
        for (int a = 0; a < axes; a++)
            if (rows[r].shape[rows[r].axis[a]] != rows[0].shape[rows[0].axis[a]])
                return 0;
    return 1;
}

/* Whether in all arrays the points of two axes follow each other as those of one would. Of one point only the innermost axis takes
 * another's: elsewhere what is further out would come further in, past the loops between. */
static inline int rows_follow(const Rows *rows, int arrays, int outer, int inner, int innermost)
{
    for (int r = 0; r < arrays; r++) {
        const int64_t *shape = rows[r].shape, *stride = rows[r].stride;
        const int from = rows[r].axis[outer], to = rows[r].axis[inner];
        if (shape[to] == 1 ? !innermost : (uint64_t)stride[from] != (uint64_t)shape[to] * (uint64_t)stride[to])
            return 0;
    }
    return 1;
}

/* Where rows follow each other in all arrays the inner axis takes their points, and the outer one keeps one. */
SHARED void coalesce(const Rows *rows, int arrays, int axes)
{
    if (!rows_agree(rows, arrays, axes))
        return;
    const Rows *first = &rows[0];
    for (int outer = axes - 2; outer >= 0; outer--) {
        int inner = axes - 1;
        while (inner > outer && !rows_follow(rows, arrays, outer, inner, inner == axes - 1))
            inner--;
        const int64_t points = size_mul(first->shape[first->axis[outer]], first->shape[first->axis[inner]]);
        if (inner == outer || first->shape[first->axis[outer]] == 1 || points == SIZE_TOO_LARGE)
            continue;
        for (int r = 0; r < arrays; r++) {
            int64_t *shape = rows[r].shape, *stride = rows[r].stride;
            const int from = rows[r].axis[outer], to = rows[r].axis[inner];
            if (shape[to] == 1)
                stride[to] = stride[from];
            shape[to] = points;
            shape[from] = 1;
            stride[from] = 0;
        }
    }
}
//}

//{ is_shape
PLAIN int is_shape(const int64_t *shape, int rank)
{
    for (int a = 0; a < rank; a++)
        if (shape[a] < 0)
            return 0;
    return 1;
}
//}

//{ meet
/* The common size of two axes, where 1 gives way; -1 when they disagree. */
PLAIN int64_t meet(int64_t a, int64_t b)
{
    return a == b || b == 1 ? a : a == 1 ? b : -1;
}
//}

//{ reach
/* How far a part of a position goes: its coefficient times the last index. */
PLAIN int64_t reach(int64_t coefficient, int64_t extent)
{
    return extent ? coefficient * (extent - 1) : 0;
}
//}

//{ fit
/* How many steps stay within the room. */
PLAIN int64_t fit(int64_t room, int64_t step)
{
    return room < 0 ? 0 : room / step + 1;
}
//}

//{ is_inside
PLAIN int is_inside(int64_t position, int64_t extent)
{
    return (uint64_t)position < (uint64_t)extent;
}
//}

//{ lanes_before
/* How many of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
static inline int lanes_before(int64_t first, int64_t bound)
{
    return first >= bound ? 0 : (uint64_t)bound - (uint64_t)first < LANES ? (int)(bound - first) : LANES;
}
//}

//{ are_before
/* Which of the lanes' positions, which follow each other from `first` on, are less than `bound`. */
INLINE boolv are_before(int64_t first, int64_t bound)
{
    return first_boolv(lanes_before(first, bound));
}
//}

//{ are_up_to
/* Which of them are not more. */
INLINE boolv are_up_to(int64_t first, int64_t bound)
{
    return first_boolv(first > bound ? 0 : lanes_before(first, bound) + 1);
}
//}

//{ are_at
/* Which of them is `at`, if one is. */
INLINE boolv are_at(int64_t first, int64_t at)
{
    return lanes_i32v() == (first > at ? LANES : lanes_before(first, at));
}
//}

//{ are_inside
/* Which of them are in range. */
INLINE boolv are_inside(int64_t first, int64_t extent)
{
    return and_boolv(not_boolv(are_before(first, 0)), are_before(first, extent));
}
//}

//{ are_inside_i64v
/* Which of the lanes' positions are in range. */
INLINE boolv are_inside_i64v(i64v position, int64_t extent)
{
    return narrow_boolv((u64v)position < (uint64_t)extent);
}
//}

//{ stream_rows
/* How rows of a large result are stored past the caches, the first of them at p, the next so many bytes further: 2, all of them; 1,
 * their whole vectors; 0, not at all. A line that goes past them in part takes 10 times as long unless the next row has the rest
 * of it: so rows are whole pieces of 16 bytes without gaps, or whole lines, or long and the numbers before a line have a turn of their own. */
PLAIN int stream_rows(const void *p, int64_t bytes, int64_t apart, int leads)
{
    const uint64_t odd = (uintptr_t)p | (uint64_t)bytes | (uint64_t)apart;
    return odd % 16 == 0 && bytes == apart ? 2 : odd % 64 == 0 || (leads && bytes >= 4096);
}
//}

#endif
