/* What is done while products on registers of tiles are on their way, which take 16 cycles each and leave most to
 * others.
 *
 * A product whose sums become powers (emit_guess.c) may have one behind it that multiplies these: guess->behind. As
 * powers take longer than the first product, they stand behind the products of both. A unit of work takes the first
 * product's columns in parts 0, 1, .. n-1, which are contracted points of the second:
 *
 *     first product, part 0       its own powers, a share of a tile's rows behind each product of the next tile
 *     first product, part p       likewise, but so few of them that the rest is enough for
 *     second product, part p-1    the rest of the powers of part p: behind it all of them are there
 *     second product, part n-1    nothing: it has its turn when the guess is known to be good, and stores the results
 *
 * So there are powers of two parts, those of each in columns of their own of what holds all factors, and none is
 * multiplied before all of its part are made. Rows that are left wait as sums: each tile of a part has its place in
 * `waiting`, and what is noted of it is on a stack, `noted`; the last ones, which are nearest, come first. The second
 * product's sums stay in `kept` from part to part.
 *
 * Only whole tiles that a mask leaves as they are wait; others are done at once, and those that nobody asks for are in
 * neither product. Where the guess was bad all columns are one part, the second product begins again, and what was kept
 * of it is forgotten. One part it is, too, where there are few columns, or fewer rows than a register has. */
#include "emit_tiling.h"

/* Of two products the first. */
static bool leads(const Tiling *t)
{
    return t->along && !t->is_behind;
}

/* What waits is called after the product whose sums it is. */
static int number_of(const Tiling *t)
{
    return t->is_behind ? t->along->product->contract->number : t->number;
}

static Beside cutting_beside(Emitter *e, int n)
{
    return (Beside){ .name = "cutting", .parameter = "Cutting *cutting",
                     .function = emit_text(e, "/* Cuts a share of the rows to come. */\n"
                                           "KERNEL static void cut_%d(Cutting *cutting)\n{\n"
                                           "    cut_some(cutting, cutting->share, PARTS_%d);\n}\n", n, n),
                     .before = "", .behind_one = "", .after = "",
                     .behind_some = emit_text(e, "    cut_%d(from->cutting);\n", n) };
}

/* Of a product whose own powers wait. */
static Beside powers_beside(Emitter *e, const Tiling *t)
{
    int n = t->number;
    const char *more = leads(t) ? " + from->waiting->late->words" : "", *end = leads(t) ? "leave" : "end";
    return (Beside){ .name = "waiting", .parameter = emit_text(e, "Waiting_%d *waiting", n),
                     .function = t->taken_beside,
                     .before = emit_text(e, "    share_rows_%d(from->waiting, from->waiting->now.rows, "
                                         "from->depth%s);\n", n, more),
                     .behind_one = emit_text(e, "    take_share_%d(from->waiting);\n", n), .behind_some = "",
                     .after = emit_text(e, "    %s_rows_%d(from->waiting);\n", end, n),
                     .last = emit_text(e, "%s_rows_%d(&waiting);", end, n) };
}

/* Of the one behind. */
static Beside rest_beside(Emitter *e, const Tiling *t)
{
    int n = number_of(t);
    return (Beside){ .name = "waiting", .parameter = emit_text(e, "Waiting_%d *waiting", n), .function = "",
                     .before = "", .behind_some = "", .after = "",
                     .behind_one = emit_text(e, "    find_rows_%d(from->waiting);\n"
                                             "    take_share_%d(from->waiting);\n", n, n),
                     .last = emit_text(e, "while (find_rows_%d(&waiting))\n    end_rows_%d(&waiting);\n"
                                       "late->rows = 0;", n, n) };
}

const Beside *tiling_beside(Emitter *e, const Tiling *t)
{
    if (!t->cuts && !t->waits && !t->is_behind)
        return NULL;
    Beside *beside = ARENA_NEW(e->arena, Beside);
    *beside = t->cuts ? cutting_beside(e, t->number) : t->is_behind ? rest_beside(e, t) : powers_beside(e, t);
    return beside;
}

/* What waits longer, how it is left, and how it is found. */
static const char *late_functions(Emitter *e, int n)
{
    return emit_text(e, "/* Leaves what waits to the product behind, if there is one. */\n"
                     "INLINE void leave_rows_%d(Waiting_%d *waiting)\n{\n"
                     "    Late_%d *const late = waiting->late;\n"
                     "    if (late->words == 0)\n"
                     "        end_rows_%d(waiting);\n"
                     "    if (waiting->now.rows > 0)\n"
                     "        late->noted[late->count++] = waiting->now;\n"
                     "    late->rows += waiting->now.rows;\n"
                     "    waiting->now.rows = 0;\n}\n\n"
                     "/* Whether there are rows that wait; those that were left last come first. */\n"
                     "INLINE int find_rows_%d(Waiting_%d *waiting)\n{\n"
                     "    if (waiting->now.rows == 0 && waiting->late->count > 0)\n"
                     "        waiting->now = waiting->late->noted[--waiting->late->count];\n"
                     "    return waiting->now.rows > 0;\n}\n\n", n, n, n, n, n, n);
}

/* The functions around `take_row`, the body of the one that takes a row. */
const char *tiling_waiting_functions(Emitter *e, const Tiling *t, const char *take_row)
{
    int n = t->number;
    const char *late = "", *member = "";
    if (leads(t)) {
        late = emit_text(e, "/* Tiles of which rows are left to the product behind, and how many words that has for a "
                         "tile. */\ntypedef struct Late_%d {\n    Sums_%d *noted;\n    int64_t count, rows, words;\n"
                         "} Late_%d;\n\n", n, n, n);
        member = emit_text(e, "    Late_%d *late;\n", n);
    }
    return emit_text(e, "/* A tile's sums that become powers: so many rows of them, those that come next. */\n"
                     "typedef struct Sums_%d {\n    const float *kept, *largest;\n    float *seen;\n"
                     "    bf16u *factors;\n    int64_t largest_step, factors_step, rows;\n} Sums_%d;\n\n%s"
                     "/* They do while other products are on their way: behind each a share, in 256ths of a row. */\n"
                     "typedef struct Waiting_%d {\n    Sums_%d now;\n    int64_t share, due;\n%s} Waiting_%d;\n\n"
                     "INLINE void take_row_%d(Sums_%d *sums)\n{\n%s}\n\n"
                     "INLINE void take_rows_%d(Sums_%d *sums, int64_t count)\n{\n"
                     "    for (const int64_t left = size_max(sums->rows - count, 0); sums->rows > left; sums->rows--)\n"
                     "        take_row_%d(sums);\n}\n\n"
                     "INLINE void take_share_%d(Waiting_%d *waiting)\n{\n"
                     "    const int64_t rows = waiting->now.rows;\n    waiting->due += waiting->share;\n"
                     "    take_rows_%d(&waiting->now, waiting->due >> 8);\n"
                     "    waiting->due -= (rows - waiting->now.rows) << 8;\n}\n\n"
                     "INLINE void end_rows_%d(Waiting_%d *waiting)\n{\n"
                     "    take_rows_%d(&waiting->now, waiting->now.rows);\n}\n\n"
                     "/* There are four products for each TILE_WORDS words. */\n"
                     "INLINE void share_rows_%d(Waiting_%d *waiting, int64_t rows, int64_t words)\n{\n"
                     "    waiting->share = size_ceil_div(rows * TILE_WORDS * 256 / 4, size_max(words, 1));\n}\n\n%s",
                     n, n, late, n, n, member, n, n, n, take_row, n, n, n, n, n, n, n, n, n, n, n,
                     leads(t) ? late_functions(e, n) : "");
}

const char *tiling_registers(const Tiling *t)
{
    return t->along ? "registers" : "&registers";
}

const char *tiling_leaves(const Tiling *t)
{
    return leads(t) ? "late->words > 0" : NULL;
}

void tiling_along_parameters(Emitter *e, ParameterSet *set, const Tiling *t)
{
    if (!t->along)
        return;
    emit_parameter(set, "int64_t ", "met");
    emit_parameter(set, "int64_t ", "made");
    emit_parameter(set, "int64_t ", "made_to");
    emit_parameter(set, "TileRegisters *", "registers");
    emit_parameter(set, emit_text(e, "Late_%d *", number_of(t)), "late");
}

void tiling_begin_waiting(Emitter *e, const Tiling *t)
{
    if (tiling_beside(e, t) && !t->cuts)
        emit_line(e, "Waiting_%d waiting = { { NULL, NULL, NULL, NULL, 0, 0, 0 }, 0, 0%s };", number_of(t),
                  t->along ? ", late" : "");
}

void tiling_share_waiting(Emitter *e, const Tiling *t)
{
    int n = t->number;
    if (leads(t)) {
        const Contract *behind = t->along->behind->contract;
        emit_line(e, "late->words = made > 0 && depth <= DEPTH_%d ? "
                  "size_ceil_div(%s, COLUMNS_%d) * (COLUMNS_%d / %d) : 0;", n,
                  emit_extent(e, tiling_last(&behind->columns)), n, n, behind->group);
    } else if (t->is_behind) {
        const Index *row = tiling_last(&t->c->rows);
        emit_line(e, "const int64_t first = met / %d, stop = made < %s ? made / %d : depth;    /* words */",
                  t->c->group, emit_extent(e, t->c->depth.list[0]), t->c->group);
        emit_line(e, "%s *held = kept_%d;    /* of sums: as many as the unit has, tile by tile */", dtype_c(t->dtype),
                  n);
        emit_line(e, "share_rows_%d(&waiting, late->rows, (stop - first) * tiles * size_ceil_div(%s - %s, ROWS_%d));",
                  number_of(t), tiling_end(e, row), tiling_first(e, row), n);
    }
}

/* The parts of a unit of work one after the other, as above. */
static const char *parts_text(Emitter *e, const Guess *guess, const AlongCalls *calls)
{
    const Contract *c = guess->product->contract;
    const Index *row = tiling_last(&c->rows);
    const char *all = emit_extent(e, tiling_last(&c->columns));
    Text text = text_new(e->arena);
    text_put(&text, "    TileRegisters tiles, *const registers = &tiles;\n");
    text_print(&text, "    Late_%d left = { (Sums_%d *)noted_%d, 0, 0, 0 }, *const late = &left;\n", c->number,
               c->number, c->number);
    text_print(&text, "    const int64_t part = %s - %s < TILE_ROWS ? %s : "
               "size_align(size_even(%s, %d), COLUMNS_%d);\n", tiling_end(e, row), tiling_first(e, row), all, all, guess->part,
               c->number);
    text_print(&text, "    int64_t met = 0, made = 0, made_to;\n    int guessed = %s;\n", emit_guess_pays(e, guess));
    text_print(&text, "    tiles_begin(registers, COLUMNS_%d);\n", c->number);
    text_print(&text, "    if (guessed) {\n        %s;\n", calls->start);
    text_print(&text, "        for (; made < %s; made = made_to) {\n", all);
    text_print(&text, "            made_to = size_min(made + part, %s);\n            %s\n", all, calls->product);
    text_put(&text, "            if (made > 0) {\n");
    tiling_lines(&text, "                ", calls->behind);
    text_put(&text, "                met = made;\n            }\n        }\n");
    text_print(&text, "        guessed = %s;\n    }\n    if (!guessed) {\n        met = made = 0;\n", calls->near);
    text_print(&text, "        made_to = %s;\n", all);
    tiling_lines(&text, "        ", calls->again);
    text_put(&text, "        made = made_to;\n    }\n");
    tiling_lines(&text, "    ", calls->behind);
    text_put(&text, "    tiles_end();\n");
    return text.bytes;
}

const char *emit_along(Emitter *e, const Guess *guess, const ParameterSet *set, const AlongCalls *calls)
{
    const char *parts = parts_text(e, guess, calls);
    const char *body = emit_text(e, "%s%s", emit_locals(e, parts), parts);
    int n = guess->product->contract->number;
    text_print(&e->functions, "/* A unit of work: some columns of step %d after the others, and step %d one such part "
               "behind. Its products leave time\n * for the powers of the next part that are left; the last part waits "
               "until the guess is known to be good. */\n", guess->product->id + 1, guess->behind->id + 1);
    text_print(&e->functions, "KERNEL static void along_%d(%s)\n{\n%s}\n\n", n, emit_parameters(e, set, body, true),
               body);
    return emit_text(e, "along_%d(%s);", n, emit_parameters(e, set, body, false));
}
