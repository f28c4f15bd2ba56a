/* Tiled products on tensor cores: of narrow numbers and f64 as they are, of f32 numbers in parts. */
#include <string.h>

#include "emit_block.h"

static const char *places(Emitter *e, const BlockTiling *t)
{
    Sample sample = block_sample(t, "cuda/contract_mma.cu"), places = block_sample(t, "cuda/contract_places.cu");
    Hole hole = { "places", emit_skeleton(e, &places, NULL, 0) };
    return emit_skeleton(e, &sample, &hole, 1);
}

static const char *narrow(Emitter *e, const BlockTiling *t)
{
    Sample sample = block_sample(t, "cuda/contract_narrow.cu");
    Hole hole = { "multiply", emit_text(e, "                mma_%s(&sums[2 * r][2 * c], &sums[2 * r + 1][2 * c], left[r], "
                                        "&right[c / 2][c %% 2 * 2]);\n", dtype_name(t->c->packed)) };
    return emit_skeleton(e, &sample, &hole, 1);
}

static const char *doubles(Emitter *e, const BlockTiling *t)
{
    Sample sample = block_sample(t, "cuda/contract_double.cu");
    return emit_skeleton(e, &sample, NULL, 0);
}

/* Which parts are multiplied, in the order of the tile's list: "01 10 00". */
static const char *pairs(Emitter *e, const Tile *tile, int number)
{
    Text text = text_new(e->arena);
    for (const char *pair = tile->pairs; *pair; pair += 2 + (pair[2] == ' '))
        text_print(&text, "            add_%d(left, %c, right[%c], c, sums);\n", number, pair[0], pair[1]);
    return text.bytes;
}

static const char *parts(Emitter *e, const BlockTiling *t)
{
    int n = t->number;
    const Tile *tile = t->c->tile;
    Sample sample = block_sample(t, "cuda/contract_parts.cu");
    const char *cut = tile->group > 1 ? emit_text(e, "part_near_%s(&numbers[0][word], &numbers[1][word])", tile->dot)
                                      : emit_text(e, "near_%s(numbers[0][word])", tile->dot);
    Hole holes[] = {
        { "constants", emit_text(e, "CONSTANTS(PARTS_%d = %d, POINTS_%d = %d);\n", n, tile->parts, n, tile->group) },
        { "cut", emit_text(e, "            words[part][word] = %s;\n", cut) },
        { "add", emit_text(e, "            mma_%s(&sums[2 * r][4 * c + c_at], &sums[2 * r + 1][4 * c + c_at], left[r][part], right + c_at);\n",
                           tile->dot) },
        { "pairs", pairs(e, tile, n) },
    };
    return emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes);
}

const char *block_matrices(Emitter *e, const BlockTiling *t)
{
    return emit_text(e, "%s\n%s", places(e, t), (t->c->tile ? parts : t->c->packed == DTYPE_F64 ? doubles : narrow)(e, t));
}

const char *block_again(Emitter *e, const BlockTiling *t, const BlockFetch *f)
{
    Sample sample = block_sample(t, "cuda/contract_again.cu");
    const char *both = emit_text(e, "%s%s", f->mentions.bytes, f->before.bytes);
    int n = t->number;
    const char *begins = block_tile_list(e, t, f->before.bytes, false), *adds = block_tile_list(e, t, f->mentions.bytes, false);
    Hole holes[] = {
        { "head", emit_text(e, "INLINE void tile_%d(%s, float sums[HIGH_%d][WIDE_%d])\n", n, block_tile_list(e, t, both, true), n, n) },
        { "sums", emit_text(e, "        begin_%d(%s);\n        sums_%d(%s, is_whole, sums);\n", n, begins, n, adds) },
    };
    return emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes);
}
