/* The functions that make a tile's sums, in vectors or in registers of tiles: the skeletons of these with their holes filled. */
#include <string.h>

#include "emit_tiling.h"

/* Whether the head of a tile's function has a parameter in any case. */
static bool is_of_tile(const Tiling *t, const char *name)
{
    static const char *const names[] = { "height", "depth", "kept", "place", "tile_place" };
    int count = tiling_has_registers(t) ? 5 : 3;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* What a tile needs beside that. */
const char *tiling_extra(Emitter *e, const Tiling *t, const char *body, bool declare)
{
    body = emit_text(e, "%s%s%s%s", body, t->c->tames ? " tame" : "", tiling_has_stage(t) ? " leaving" : "",
                     tiling_has_pairs(t) && t->c->pairs % 2 ? " is_narrow" : "");
    ParameterSet set = { .count = 0 };
    for (int i = 0; i < t->parameters.count; i++)
        if (!is_of_tile(t, t->parameters.list[i].name))
            emit_parameter(&set, t->parameters.list[i].type, t->parameters.list[i].name);
    const char *list = emit_parameters(e, &set, body, declare);
    return strcmp(list, "void") && list[0] ? emit_text(e, ", %s", list) : "";
}

/* A skeleton with the step's names. */
const char *tiling_skeleton(Emitter *e, const Tiling *t, const char *name, const Hole *holes, int count)
{
    Sample sample = { .file = name, .number = t->number, .dtype = t->dtype, .word = tiling_word(t),
                      .part = emit_element(t->c->packed), .lane = t->c->group > 1 ? "u32" : dtype_name(t->dtype) };
    return emit_skeleton(e, &sample, holes, count);
}

/* The pairs of parts as two arrays, those of rows and those of columns. */
static const char *pairs_of(Emitter *e, const Tiling *t)
{
    const Tile *tile = t->c->tile;
    const char *pairs = tile->parts ? tile->pairs : "00";
    Text text = text_new(e->arena);
    text_put(&text, tile->parts ? "/* Which parts of numbers are multiplied, in this order. */\n"
                                : "/* Numbers are multiplied as they are: of one part. */\n");
    text_print(&text, "enum { PARTS_%d = %d, PAIRS_%d = %d };\n", t->number, tile->parts ? tile->parts : 1, t->number,
               (int)(strlen(pairs) + 1) / 3);
    for (int side = 0; side < 2; side++) {
        text_print(&text, "static const unsigned char %s_parts_%d[] = {", side ? "column" : "row", t->number);
        for (const char *pair = pairs; pair[0]; pair += pair[2] ? 3 : 2)
            text_print(&text, "%s %c", pair == pairs ? "" : ",", pair[side]);
        text_put(&text, " };\n");
    }
    return text.bytes;
}

/* How the functions are declared that take a tile's sums: those of few instructions wait for no call. */
static const char *take_kind(const Tiling *t)
{
    return tiling_takes_extrema(t) ? "INLINE" : "KERNEL static";
}

/* What takes some rows of a tile's sums. */
static const char *take_some(Emitter *e, Tiling *t, const char *sums)
{
    t->some = true;
    const char *taken = tiling_taken(e, t);
    t->some = false;
    return emit_text(e, "/* The same for so many rows of a tile. */\n"
                     "%s void take_some_%d(int height, int64_t place, int v, %s)\n{\n%s%s}\n", take_kind(t), t->number, sums,
                     emit_locals(e, taken), taken);
}

/* What tells where a row has its contracted points. */
static const char *points_parameter(const Tiling *t)
{
    return t->c->window ? "const int64_t *spots" : "int64_t k_step";
}

/* What a panel consists of. */
static const char *panel_element(Emitter *e, const Tiling *t)
{
    return tiling_meets_columns(e, t) ? emit_element(tiling_panel_dtype(t)) : tiling_word(t);
}

/* What else is done while a tile's products are on their way. */
typedef struct Beside {
    const char *name, *parameter;           /* of what it works on */
    const char *function;
    const char *before, *behind_one, *behind_some, *after;    /* of a tile's products; behind one, and those of a pair of parts */
} Beside;

static const Beside *beside(Emitter *e, const Tiling *t)
{
    if (!t->cuts && !t->waits)
        return NULL;
    int n = t->number;
    Beside *beside = ARENA_NEW(e->arena, Beside);
    if (t->cuts)
        *beside = (Beside){ "cutting", "Cutting *cutting",
                            emit_text(e, "/* Cuts a share of the rows to come. */\nKERNEL static void cut_%d(Cutting *cutting)\n{\n"
                                      "    cut_some(cutting, cutting->share, PARTS_%d);\n}\n", n, n),
                            "", "", emit_text(e, "    cut_%d(from->cutting);\n", n), "" };
    else
        *beside = (Beside){ "waiting", emit_text(e, "Waiting_%d *waiting", n), t->taken_beside,
                            emit_text(e, "    share_rows_%d(from->waiting, from->depth);\n", n),
                            emit_text(e, "        take_rows_%d(from->waiting, from->waiting->share);\n", n), "",
                            emit_text(e, "    take_rows_%d(from->waiting, from->waiting->rows);\n", n) };
    return beside;
}

/* The head of the function that makes a tile's sums. */
static const char *tile_head(Emitter *e, const Tiling *t, const char *extra)
{
    const char *registers = tiling_has_registers(t) ? ", TileRegisters *registers" : "", *number = emit_element(t->dtype);
    const char *by_pages = tiling_has_registers(t) ? "int by_pages, " : "";
    if (tiling_has_registers(t) && t->in_registers)
        registers = emit_text(e, "%s, Pending *pending, %sv (*sums)[VECTORS_%d], int64_t place, int64_t rows_left", registers, dtype_name(t->dtype),
                              t->number);
    if (beside(e, t))
        registers = emit_text(e, "%s, %s", registers, beside(e, t)->parameter);
    return emit_text(e, "%s void tile_%d(int height, const %s *rows, int64_t row_step, %s, "
                     "const %s *panel, %sint64_t depth, const char *ahead, int64_t ahead_step, %sconst %s *start, "
                     "int64_t start_step, %s *kept, int64_t kept_step%s%s)\n", tiling_has_registers(t) ? "INLINE" : "KERNEL static",
                     t->number, emit_element(t->c->packed), points_parameter(t), panel_element(e, t), tiling_panel_parameters(e, t), by_pages, number, number,
                     registers, extra);
}

/* The head of the function for whole tiles of as many words as all have. */
static const char *whole_head(Emitter *e, const Tiling *t, const char *sums)
{
    return emit_text(e, "/* A whole tile of WHOLE_%d words behind a whole one, without a question between its products: "
                     "behind two of them\n * each a share of the sums of the tile before is taken, TILE_ROWS rows of a vector. */\n"
                     "enum { WHOLE_%d = %d };\n"
                     "INLINE void whole_%d(TileRegisters *registers, int64_t place, const Factors_%d *from, %s)\n", t->number, t->number, t->c->whole,
                     t->number, t->number, sums);
}

static const char *by_itself(Emitter *e, const Tiling *t, const char *more)
{
    int n = t->number;
    return emit_text(e, "    if (height == ROWS_%d && depth == WHOLE_%d && !start_step && pending->height == ROWS_%d && "
                     "pending->rows_left >= ROWS_%d) {\n        whole_%d(registers, pending->place, &from, sums%s);\n"
                     "        pending->place = place;\n        pending->rows_left = rows_left;\n        return;\n    }\n",
                     n, n, n, n, n, more);
}

/* The functions that make a tile's sums in registers of tiles. */
static const char *register_functions(Emitter *e, Tiling *t, const char *whole)
{
    const char *extra = tiling_extra(e, t, whole, true), *stays = t->in_registers ? NULL : "";
    const char *sums = emit_text(e, "%sv (*sums)[VECTORS_%d]%s", dtype_name(t->dtype), t->number, extra);
    const char *take = emit_text(e, "/* Takes a tile's sums in one of the vectors. */\n"
                                 "%s void take_%d(int height, int64_t place, int v, %s)\n{\n    complete_%d(height, v, sums);\n%s}\n",
                                 take_kind(t), t->number, sums, t->number, whole);
    const char *more = tiling_extra(e, t, whole, false);
    const char *leave = emit_text(e, "/* The sums that still wait are taken. */\nINLINE void leave_%d(TileRegisters *registers, Pending *pending, %s)\n",
                                  t->number, sums);
    const char *call = emit_text(e, "            take_%d(taken.height, taken.place, v, sums%s);\n", t->number, more);
    const char *each = emit_text(e, "/* Takes the sums of a tile in which rows of several points follow each other. */\n"
                                 "%s void take_each_%d(Pending taken, int v, %s)\n", take_kind(t), t->number, sums);
    const char *call_each = emit_text(e, "        else if (taken.height)\n            take_each_%d(taken, v, sums%s);\n", t->number, more);
    const char *call_some = emit_text(e, "        take_some_%d(rows, taken.place, v, sums + first%s);\n", t->number, more);
    const char *loop = t->runs ? NULL : "", *itself = tiling_is_by_itself(t) ? NULL : "";
    const char *states[3] = { "", "", "" }, *waiting = "", *held = "";
    if (!itself)
        tiling_share_states(e, t, states);
    if (tiling_holds(t)) {
        Hole words[] = { { "words", emit_text(e, "enum { WHOLE_%d = %d };\n", t->number, t->c->whole) } };
        waiting = emit_text(e, "%s\n", tiling_skeleton(e, t, "contract_waiting.c", words, 1));
        held = emit_text(e, "    if (!kept && waiting->held) {\n        hold_%d(registers, &from, waiting);\n        return;\n    }\n"
                         "    store_held_%d(registers, waiting);\n", t->number, t->number);
    }
    const Beside *other = beside(e, t);
    Hole tiles[] = {
        { "waiting", waiting },
        { "hold", waiting[0] ? "    if (!kept)    /* the registers hold them */\n        return;\n" : "" },
        { "dot", emit_text(e, "#define DOT_%d %s\n#define BEGIN_%d %s\n", t->number, t->c->tile->dot, t->number,
                           t->c->tile->has_starts ? "TILE_LOAD" : "TILE_BEGIN") },
        { "beside_member", other ? emit_text(e, "    %s;\n", other->parameter) : "" },
        { "beside_function", other ? other->function : "" },
        { "before_products", other ? other->before : "" },
        { "behind_product", other ? other->behind_one : "" },
        { "behind_products", other ? other->behind_some : "" },
        { "after_products", other ? other->after : "" },
        { "factors", other ? emit_text(e, "    const Factors_%d from = { rows, row_step, k_step, height - TILE_ROWS, panel, depth, "
                                       "ahead, ahead_step, by_pages, %s };\n", t->number, other->name) : NULL },
        { "pairs", pairs_of(e, t) },
        { "exchange", stays },
        { "take_function", stays ? stays : take },
        { "take_some", t->runs ? take_some(e, t, sums) : "" },
        { "each_head", t->runs ? each : "" },
        { "each", loop },
        { "some", t->runs ? call_some : "" },
        { "each_end", loop },
        { "tile_head", tile_head(e, t, extra) },
        { "keep", stays ? emit_text(e, "%s    add_%d(registers, &from, start, start_step, kept, kept_step);\n", held, t->number) : NULL },
        { "whole_head", itself ? itself : whole_head(e, t, sums) },
        { "whole", itself },
        { "states", states[0] },
        { "whole_turns", itself },
        { "take_share", states[1] },
        { "whole_end", itself },
        { "states_end", states[2] },
        { "whole_close", itself },
        { "by_itself", itself ? itself : by_itself(e, t, more) },
        { "begin", stays },
        { "take", stays ? stays : call },
        { "take_each", t->runs ? call_each : "" },
        { "go_on", stays },
        { "leave_head", stays ? stays : leave },
        { "leave", stays },
        { "leave_end", stays },
    };
    return tiling_skeleton(e, t, t->c->tile->skeleton, tiles, sizeof tiles / sizeof *tiles);
}

/* The head of what multiplies, where it takes more than the skeleton's does. */
static const char *multiply_head(Emitter *e, const Tiling *t)
{
    bool stage = tiling_has_stage(t);
    if (!t->c->tames && !stage && !t->c->places && !t->c->window && !tiling_meets_columns(e, t))
        return NULL;
    const char *places = t->c->places ? emit_text(e, "%s places[ROWS_%d][VECTORS_%d], ", tiling_points_type(t), t->number, t->number) : "";
    return emit_text(e, "%s%s%s%sINLINE void multiply_%d(const int height, const %s *rows, int64_t row_step, %s, %sconst %s *panel,\n"
                     "                       %sint64_t depth, const char *ahead, int64_t ahead_step, %s%s%sv sums[ROWS_%d][VECTORS_%d])\n",
                     t->c->tames ? "/* `tame`: no number is infinite in the direction that is sought, or a NaN, so that no sum is a NaN. */\n" : "",
                     stage ? "/* A line of the run that is `leaving` goes past the caches at each point, until there are no more. */\n" : "",
                     t->c->window ? "/* Where a row has its points `spots` tells. */\n" : "",
                     !tiling_meets_columns(e, t) ? "" : tiling_panel_comment(e, t),
                     t->number, emit_element(t->c->packed), points_parameter(t), t->c->tames ? "const int tame, " : "",
                     panel_element(e, t), tiling_panel_parameters(e, t), stage ? "const Run *leaving, " : "", places, dtype_name(t->dtype), t->number, t->number);
}

/* A vector of the panel's row of a point, the last one of the tile. */
static const char *last_columns(Emitter *e, const Tiling *t, const char *row)
{
    return emit_text(e, "load_%sv(panel%s + PAIRS_%d / 2 * LANES, 1, LANES)", dtype_name(t->dtype), row, t->number);
}

/* The function for two points at a time. Where its last vector has half of its columns, they are woven to one. */
static const char *pairs_function(Emitter *e, Tiling *t)
{
    if (!tiling_has_pairs(t))
        return "";
    int n = t->number;
    const char *dtype = dtype_name(t->dtype), *next = emit_text(e, " + COLUMNS_%d", n), *half = NULL, *sums = NULL;
    if (t->c->pairs % 2) {
        half = emit_text(e, "        right[PAIRS_%d - 1] = weave_half_%sv(%s, %s);\n", n, dtype, last_columns(e, t, ""), last_columns(e, t, next));
        sums = emit_text(e, "        sums[r][PAIRS_%d / 2] = add_half_%sv(parts[r][PAIRS_%d - 1]);\n", n, dtype, n);
    }
    Hole pairs[] = {
        { "half", half },
        { "half_sums", sums },
        { "ahead", tiling_ahead_lines(e, t, "            ") },
        { "step", tiling_pair_line(e, t) },
    };
    return emit_text(e, "\n%s", tiling_skeleton(e, t, "contract_pairs.c", pairs, sizeof pairs / sizeof *pairs));
}

/* The functions that make a tile's sums. */
const char *tiling_functions(Emitter *e, Tiling *t)
{
    const char *taken = tiling_taken(e, t);
    const char *whole = emit_text(e, "%s%s", emit_locals(e, taken), taken);
    if (tiling_has_registers(t))
        return register_functions(e, t, whole);
    Hole vectors[] = {
        { "multiply_head", multiply_head(e, t) },
        { "point", t->c->window ? "        low = (const char *)(rows + spots[k]);\n        high = low + 7 * apart;\n" : "" },
        { "next_point", t->c->window ? "" : NULL },
        { "next_ahead", tiling_next_asked(e, t) },
        { "columns", tiling_meets_columns(e, t) ? tiling_column_lines(e, t) : NULL },
        { "next_columns", tiling_meets_columns(e, t) ? "        panel += panel_step;\n" : NULL },
        { "begin", tiling_begin_lines(e, t) },
        { "left", tiling_left_line(e, t) },
        { "step", tiling_step_line(e, t) },
        { "pairs", pairs_function(e, t) },
        { "tile_head", tile_head(e, t, tiling_extra(e, t, whole, true)) },
        { "turns", tiling_before_points(e, t, tiling_is_tight(t)) },
        { "ahead", tiling_ahead_lines(e, t, "        ") },
        { "multiply", tiling_multiply_lines(e, t) },
        { "taken", whole },
        { "kept_rows", t->in_registers && !t->is_stored ? "" : NULL },    /* what takes them all sees a NaN in any */
    };
    const char *tile = tiling_skeleton(e, t, t->c->tile->skeleton, vectors, sizeof vectors / sizeof *vectors);
    return emit_text(e, "%s%s", tile, tiling_pass_function(e, t));
}

/* What a tile in registers of tiles needs: those, and where sums go that wait in them. */
const char *tiling_registers(Emitter *e, const Tiling *t, const char *place)
{
    const Beside *other = beside(e, t);
    const char *also = other ? emit_text(e, ", &%s", other->name) : "";
    if (!tiling_has_registers(t) || !t->in_registers)
        return tiling_has_registers(t) ? emit_text(e, ", &registers%s", also) : "";
    return emit_text(e, ", &registers, &pending, sums, %s%s%s", place, t->runs ? " + nth * places, rows_left" : ", height", also);
}
