/* How high the tiles are that a unit of work has, and how many of them meet a panel before the next one. */
#include <math.h>
#include <string.h>

#include "planning.h"

static void add_low(Contract *c, int64_t height)
{
    for (int i = 0; i < LOW_TILES && height > 0 && height < c->tile_rows; i++)
        if (c->low[i] == 0 || c->low[i] == height) {
            c->low[i] = (int)height;
            return;
        }
}

int64_t planner_next_height(int64_t left, int64_t most)
{
    return left <= most ? left : left - most >= most / 2 ? most : most - most / 2;
}

/* Blocks of a unit's rows have nearly as many tiles each: a few at its end would meet all panels for themselves. */
static void even_block(const Planner *planner, const Launch *launch, int place, const double *tiles, Contract *c)
{
    const Index *row = c->rows.list[c->rows.count - 1];
    double rows = planner_extent(planner, row);
    for (int b = 0; b < launch->block_count; b++)
        rows = launch->blocks[b].of_step[place] == row ? fmin(tiles[b], rows) : rows;
    double count = ceil(rows / c->tile_rows), blocks = ceil(count / c->row_block);
    if (blocks > 1 && !c->sweep && !c->tile->dot)
        c->row_block = (int)ceil(count / blocks);
}

/* How high the last tiles of a unit's rows are, which each row's products go faster for. */
static void set_low(const Planner *planner, const Launch *launch, int place, const double *tiles, Contract *c)
{
    const Index *row = c->rows.list[c->rows.count - 1];
    int64_t extent = planner->hints->extents ? planner->hints->extents->of[row->origin->id] : -1;
    int64_t unit = extent, most = c->tile_rows;
    for (int b = 0; b < launch->block_count; b++)
        unit = launch->blocks[b].of_step[place] == row && tiles[b] < (double)extent ? (int64_t)tiles[b] : unit;
    memset(c->low, 0, sizeof c->low);
    if (extent <= 0 || unit <= 0)
        return;
    const int64_t units[] = { unit, extent % unit };
    for (int u = 0; u < 2; u++) {
        int64_t left = units[u] <= 2 * most ? units[u] : most + units[u] % most;    /* behind whole tiles */
        for (int64_t next; left > 0; left -= next) {
            next = planner_next_height(left, most);
            add_low(c, next);
        }
    }
}

void contract_set_heights(const Planner *planner, const Launch *launch, int place, const double *tiles)
{
    Contract *c = launch->steps[place]->contract;
    even_block(planner, launch, place, tiles, c);
    set_low(planner, launch, place, tiles, c);
}
