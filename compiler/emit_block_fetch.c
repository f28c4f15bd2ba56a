/* How a tile's function and what it calls bring slices: of one side after the other, and of whole ones of both. */
#include <string.h>

#include "emit_block.h"

static void put_line(Text *text, int indent, const char *line)
{
    text_print(text, "%*s%s\n", 4 * indent, "", line);
}

/* The functions of rows, or columns, and the lines with their calls. */
static void fetch_side(Emitter *e, BlockTiling *t, int side, BlockFetch *f)
{
    const char *calls[3], *word = side ? "columns" : "rows", *name = side ? "fetch_columns" : "fetch_rows";
    f->functions[side] = block_slices(e, t, side, calls);
    bool values = calls[2][0];
    const char *fetched = emit_text(e, "%s_fetched", word);
    if (side)
        f->find_columns = calls[0];
    else if (calls[0][0])
        put_line(&f->find, 1, emit_text(e, "%s;", calls[0]));
    const char *room = emit_text(e, "%s %s[%s_EACH_%d];", dtype_c(t->dtype), fetched, side ? "COLUMNS" : "ROWS", t->number);
    const char *call = block_call(e, t, name, calls[1]);
    if (values) {
        call = emit_text(e, "%.*s, %s)", (int)strlen(call) - 1, call, fetched);
        put_line(&f->find, 1, room);
        put_line(&f->room, 1, room);
    }
    bool stays = side && t->rows_pass && !t->asked && !values;    /* columns of a single slice, for all tiles of rows */
    if (stays)
        put_line(&f->first, 3, emit_text(e, "if (row == 0 || depth > DEPTH_%d)", t->number));
    put_line(&f->first, stays ? 4 : 3, emit_text(e, "%s;", call));
    put_line(&f->next, 3, emit_text(e, "%s;", call));
    if (values) {
        put_line(&f->first, 3, calls[2]);
        put_line(&f->put, 3, calls[2]);
    }
    text_print(&f->before, "%s %s row ", calls[0], calls[1]);
    text_print(&f->mentions, "%s ", calls[1]);
}

const char *block_tile_list(Emitter *e, const BlockTiling *t, const char *mentions, bool declare)
{
    ParameterSet set = { .count = 0 };
    for (int i = 0; i < t->parameters.count; i++)
        if (strcmp(t->parameters.list[i].name, "stage") && strcmp(t->parameters.list[i].name, "point"))
            emit_parameter(&set, t->parameters.list[i].type, t->parameters.list[i].name);
    return emit_parameters(e, &set, emit_text(e, "slices depth %s", mentions), declare);
}

/* What takes whole slices. */
static void fetch_whole(Emitter *e, BlockTiling *t, BlockFetch *f)
{
    BlockWhole side[2];
    for (int i = 0; i < 2; i++)
        block_whole_side(e, t, i, &side[i]);
    const char *mentions = emit_text(e, "%s %s", side[0].mentions, side[1].mentions);
    Hole holes[] = {
        { "keep", emit_text(e, "%s\n%s", side[0].functions, side[1].functions) },
        { "head", emit_text(e, "INLINE int64_t slices_%d(%s, %s sums[HIGH_%d][WIDE_%d])\n", t->number, block_tile_list(e, t, mentions, true),
                            dtype_c(t->dtype), t->number, t->number) },
        { "find", emit_text(e, "    const int misses = %s | %s;\n", side[0].keep, side[1].keep) },
        { "rows", emit_text(e, "                %s\n", side[0].copy) },
        { "columns", emit_text(e, "                %s\n", side[1].copy) },
    };
    Sample sample = block_sample(t, "cuda/contract_whole.cu");
    f->whole = emit_text(e, "\n%s", emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes));
    f->quick = emit_text(e, "    int64_t at = slices_%d(%s, sums);\n", t->number, block_tile_list(e, t, mentions, false));
}

/* What takes whole slices on tensor cores. */
static void fetch_quick(Emitter *e, BlockTiling *t, BlockFetch *f)
{
    BlockWhole side[2];
    for (int i = 0; i < 2; i++)
        block_quick_side(e, t, i, &side[i]);
    bool doubles = t->c->packed == DTYPE_F64;
    int n = t->number, indent = doubles ? 16 : 8;
    const char *mentions = emit_text(e, "%s %s", side[0].mentions, side[1].mentions), *parts = t->c->tile ? "is_whole, " : "";
    Hole holes[] = {
        { "copies", emit_text(e, "%s\n%s", side[0].functions, side[1].functions) },
        { "head", emit_text(e, "INLINE int64_t slices_%d(%s, %s%s sums[HIGH_%d][WIDE_%d])\n", n, block_tile_list(e, t, mentions, true),
                            t->c->tile ? "int is_whole, " : "", dtype_c(t->dtype), n, n) },
        { "find", emit_text(e, "    const int misses = %s | %s;\n", side[0].keep, side[1].keep) },
        { "copy", emit_text(e, "%*s%s\n%*s%s\n", indent, "", side[0].copy, indent, "", side[1].copy) },
        { "multiply", emit_text(e, "        multiply_%d(slices, now, DEPTH_%d, %ssums);\n", n, n, parts) },
    };
    Sample sample = block_sample(t, doubles ? "cuda/contract_quick_double.cu" : "cuda/contract_quick.cu");
    f->whole = emit_text(e, "\n%s", emit_skeleton(e, &sample, holes, doubles ? 4 : 5));
    f->quick = emit_text(e, "    int64_t at = slices_%d(%s, %ssums);\n", n, block_tile_list(e, t, mentions, false), parts);
    text_print(&f->mentions, "%s ", mentions);
}

void block_fetch(Emitter *e, BlockTiling *t, BlockFetch *f)
{
    *f = (BlockFetch){ .find_columns = "", .whole = "", .quick = "    int64_t at = 0;\n", .find = text_new(e->arena), .room = text_new(e->arena),
                       .first = text_new(e->arena), .next = text_new(e->arena), .put = text_new(e->arena), .before = text_new(e->arena),
                       .mentions = text_new(e->arena) };
    for (int side = 0; side < 2; side++)
        fetch_side(e, t, side, f);
    if (t->copied[0] && t->copied[1] && !t->c->block->is_matrix)
        fetch_whole(e, t, f);
    if (block_are_quick(e, t))
        fetch_quick(e, t, f);
    if (f->put.length)
        f->put.bytes = (char *)emit_text(e, "        if (point < depth) {\n%s        }\n", f->put.bytes);
    f->begin = t->c->tile ? "" : emit_text(e, "begin_%d(%s);", t->number, block_tile_list(e, t, f->before.bytes, false));
    const char *mentions = t->c->tile ? emit_text(e, "%s%s", f->mentions.bytes, f->before.bytes) : f->mentions.bytes;
    f->sums = emit_text(e, "tile_%d(%s, sums);", t->number, block_tile_list(e, t, mentions, false));
    f->tile = f->begin[0] ? emit_text(e, "%s\n        %s", f->begin, f->sums) : f->sums;
}
