/* Extrema that a tiled product finds with their places. Beside each register of extrema is one of their points, counted from the
 * first of those that the tile takes at a time; behind them the places are kept in memory. */
#include "emit_tiling.h"

/* Where there is more than one turn the places are kept where the extrema are. */
const char *tiling_found(Emitter *e, const Tiling *t)
{
    int n = t->number;
    const char *all = emit_text(e, "kept_places_%d + (kept - kept_%d)", n, n), *inner = "";
    if (!t->c->sweep)
        return emit_text(e, "int64_t *const kept_places = points < depth ? %s : tile_places;\nconst int64_t places_from = done;\n", all);
    for (int i = 1; i < t->c->depth.count; i++)
        inner = emit_text(e, "%s * %s", inner, emit_extent(e, t->c->depth.list[i]));
    return emit_text(e, "int64_t *const kept_places = %s;\nconst int64_t places_from = sweep_from%s + done;\n", all, inner);
}

/* Points are as wide as what is sought. */
const char *tiling_points_type(const Tiling *t)
{
    return dtype_size(t->dtype) == 8 ? "i64v" : "i32v";
}

const char *tiling_begin_found(Emitter *e, const Tiling *t)
{
    int n = t->number;
    const char *type = tiling_points_type(t);
    return emit_text(e, "    %s places[ROWS_%d][VECTORS_%d];    /* the best of these points; -1: what was found before is better */\n"
                     "    UNROLL\n    for (int r = 0; r < ROWS_%d; r++) {\n        UNROLL\n        for (int v = 0; v < VECTORS_%d; v++)\n"
                     "            places[r][v] = splat_%s(-1);\n    }\n", type, n, n, n, n, type);
}

const char *tiling_find(Emitter *e, const Tiling *t, const char *value)
{
    return emit_text(e, "step_point_%sv(%d, %s, &sums[r][v], &places[r][v], %s, k);", dtype_name(t->dtype),
                     state_wants_most(t->c->product), t->c->tames ? "tame" : "0", value);
}

const char *tiling_keep_found(Emitter *e, const Tiling *t)
{
    int n = t->number;
    return emit_text(e, "    UNROLL\n    for (int r = 0; r < ROWS_%d; r++) {\n        if (r >= height)\n            break;\n        UNROLL\n"
                     "        for (int v = 0; v < VECTORS_%d; v++) {\n"
                     "            int64_t *const at = kept_places + r * COLUMNS_%d + v * LANES;\n"
                     "            const i64v before = start ? load_i64v(at, 1, LANES) : splat_i64v(0);\n"
                     "            store_i64v(at, 1, found_places_%sv(places[r][v], places_from, before), LANES);\n"
                     "        }\n    }\n", n, n, n, dtype_name(t->dtype));
}
