/* Names, bounds and functions of a tiled product, for all who write parts of it. */
#include <string.h>

#include "emit_tiling.h"

static const char *const words[] = {
    "height", "rows", "row_step", "k_step", "panel", "depth", "sums", "left", "right", "place", "packed", "tile",
    "lanes", "columns", "flat", "to", "v", "square", "r", "c", "tiles", "ahead", "ahead_step", "panel_ahead", "brings", "kept", "here",
    "done", "points", "block", "tiles_left", "is_last", "start", "start_step", "places", "width", "from_point",
    "to_point", "columns_at", "tile_place", "tile_end", "before", "pieces", "piece", "is_placed", "placed",
    "behind", "result", "result_step", "past", "is_past", "k_apart", "tile_step", "writes", "from", "s", "starts",
    "least", "higher", "stage", "waiting", "noted", "group", "pitch", "is_staged", "whole", "words", "registers", "end",
    "low", "pair", "tame", "is_narrow", "high", "half", "both", "word",
    "turned", "most", "is_flat", "columns_from", "columns_to", "points_from", "points_to", "run", "run_rows", "nth",
    "turn", "is_back", "rows_left", "at_tile", "first_point", "end_point", "spare",
    "whole_from", "whole_to", "is_whole", "sweep", "sweep_from", "sweep_to", "held", "nears", "passes", "wide", "guessed",
    "near", "seen", "total", "factors", "tile_lines", "point", "at", "column", "lines", "at_row", "leaving",
    "queue", "next", "last", "apart", "are_met", "is_met", "is_new", "next_unit", "further", "there", "there_apart", "panel_step", "panel_apart",
    "copies", "copy", "line", "asks", "follows", "by_pages", "coming", "kept_places", "tile_places", "places_from", "spot", "spots", "runs",
    "asked", "block_rows", "target", "next_lines", "runs_left", "lines_left", "levels", "word_from", "word_to",
    "next_sweep"
};

bool emit_tiling_uses(const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

const IndexSet *tiling_set(const Contract *c, int i)
{
    const IndexSet *sets[] = { &c->batch, &c->kept_rows, &c->rows, &c->columns, &c->depth };
    return sets[i];
}

Index *tiling_last(const IndexSet *set)
{
    return set->list[set->count - 1];
}

/* Begins a function whose lanes run along `vector`: the indices' names are taken. */
Scope *tiling_open(Emitter *e, Tiling *t, const Index *vector)
{
    Step *step = ARENA_NEW(e->arena, Step);
    *step = *t->step;
    step->vector = (Index *)vector;
    step->result = NULL;    /* what is stored from memory, in parts, goes through the caches */
    e->step = step;
    e->lanes = vector != NULL;
    Scope *scope = emit_push(e);
    scope->indent = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        names_unique(&scope->names, words[i]);
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < tiling_set(t->c, s)->count; i++) {
            const Index *index = tiling_set(t->c, s)->list[i];
            t->names[index->id] = names_user(&scope->names, index->name);
        }
    return scope;
}

void tiling_bind(Emitter *e, const Tiling *t, const IndexSet *set, int count)
{
    for (int i = 0; i < count; i++)
        emit_bind(e, set->list[i], t->names[set->list[i]->id]);
}

const char *tiling_close(Emitter *e)
{
    return emit_without_unread(e->arena, emit_pop(e)->text.bytes);
}

/* Where an index of a unit of work begins and ends. */
const char *tiling_first(const Emitter *e, const Index *index)
{
    return e->block_first[index->id] ? e->block_first[index->id] : "0";
}

const char *tiling_end(Emitter *e, const Index *index)
{
    return e->block_end[index->id] ? e->block_end[index->id] : emit_extent(e, index);
}

const char *tiling_depth_first(const Emitter *e, const Tiling *t)
{
    return t->c->sweep ? "sweep_from" : tiling_first(e, t->c->depth.list[0]);
}

const char *tiling_depth_end(Emitter *e, const Tiling *t)
{
    return t->c->sweep ? "sweep_to" : tiling_end(e, t->c->depth.list[0]);
}

/* What a panel consists of: numbers, or words of several narrow ones. */
const char *tiling_word(const Tiling *t)
{
    return t->c->group > 1 ? "u32u" : dtype_c(t->dtype);
}

/* What packed rows consist of. */
const char *tiling_part(const Tiling *t)
{
    return t->c->tile->has_starts ? "uint8_t" : dtype_c(t->c->packed);
}

bool tiling_has_registers(const Tiling *t)
{
    return t->c->tile->dot != NULL;
}

bool tiling_asks_further(const Tiling *t)
{
    return t->c->streams && !tiling_has_registers(t);
}

bool tiling_packs_tiles(const Tiling *t)
{
    return t->c->rows_along || t->c->rows_spread;
}

bool tiling_asks_next(const Tiling *t)
{
    return t->c->sweep && t->c->next_read[0] && !t->c->columns_in_place;
}

bool tiling_brings_rows(const Tiling *t)
{
    return t->c->sweep && !tiling_asks_next(t) && tiling_packs_tiles(t) && !t->c->columns_in_place;
}

/* How far apart a tile's points are, where those of packed tiles are as far as these are high. */
const char *tiling_points_apart(Emitter *e, const Tiling *t)
{
    return emit_text(e, "const int64_t k_step = k_apart ? k_apart : height%s;", t->c->rows_spread ? " * LANES" : "");
}

/* How far packed rows are apart: a line more than their points take, so that not all of them fall into the same sets of
 * the cache. */
const char *tiling_packed_step(Emitter *e, const Tiling *t)
{
    int line = CONTRACT_LINE / (int)dtype_size(t->c->packed);
    return t->c->group > 1 ? emit_text(e, "depth * %d + %d", t->c->group, line) : emit_text(e, "depth + %d", line);
}

/* The contracted indices follow each other as they do in the product: each goes on where the next one ends. */
const char *tiling_is_flat(Emitter *e, const Tiling *t, const Term *side)
{
    const IndexSet *depth = &t->c->depth;
    const char *text = NULL;
    for (int i = depth->count - 1; i > 0; i--) {
        const char *outer = emit_stride(e, side->read.tensor, side->read.positions, depth->list[i - 1]);
        const char *inner = emit_stride(e, side->read.tensor, side->read.positions, depth->list[i]);
        const char *nests = emit_text(e, "%s == %s * %s", outer, inner, emit_extent(e, depth->list[i]));
        text = text ? emit_text(e, "%s && %s", text, nests) : nests;
    }
    return text;
}

/* How many words a panel's column has, beginning with what its sums start at. */
const char *tiling_panel_depth(const Tiling *t)
{
    return t->c->tile->has_starts ? "(depth + 1)" : "depth";
}
