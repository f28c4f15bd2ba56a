/* Launches on a grid of threads. A launch is one kernel, whose blocks take tasks in turn. Of a unit of work the block's threads share what
 * each step does (emit_grid_points.c); after a step they wait for one another. */
#include <string.h>

#include "emitting.h"

enum { BAND = 16 };    /* tiles of rows: some 264 blocks run at once on the largest cards, so that a plane of theirs is about square */

/* ---- launches ---- */

const char *emit_kernel_name(Emitter *e, const char *what, int number)
{
    return emit_text(e, "%s_%s_%d", e->options->name, what, number);
}

static void put_head(Emitter *e, const char *name)
{
    text_print(&e->functions, "extern \"C\" __global__ void __launch_bounds__(THREADS, RESIDENT) %s(const __grid_constant__ Frame frame)\n{\n"
               "    const Frame *f = &frame;\n", name);
}

/* How many tiles there are of some blocks. */
static const char *count_tiles(Emitter *e, const Block *blocks, int count)
{
    Text text = text_new(e->arena);
    for (int b = 0; b < count; b++)
        text_print(&text, "%s%s", b ? " * " : "", emit_size(e, size_op(e->arena, SIZE_CEIL_DIV, blocks[b].extent, blocks[b].tile)));
    return text.bytes;
}

/* Which unit comes at this one's turn. */
static const char *in_bands(Emitter *e, const Launch *launch)
{
    const Block *rows = launch->blocks + launch->block_count - launch->band_rows;
    return emit_text(e, "size_in_bands(unit, %s, %s, %d)", count_tiles(e, rows, launch->band_rows),
                     count_tiles(e, rows - launch->band_columns, launch->band_columns), BAND);
}

/* What a block does for one unit: its steps in order. Between them its threads wait, since each may read what others made. */
static const char *unit_body(Emitter *e, const Launch *launch)
{
    Text calls = text_new(e->arena), body = text_new(e->arena);
    bool waits = !launch->fuse && (launch->step_count > 1 || launch->steps[0]->split);
    for (int s = launch->fuse ? launch->step_count - 1 : 0; s < launch->step_count; s++) {
        const char *needed = emit_needed_when(e, launch->steps[s]), *call = e->calls[0][launch->steps[s]->id];
        if (needed[0])
            text_print(&calls, "        if (%s)\n            %s\n", needed, call);
        else
            text_print(&calls, "        %s\n", call);
        text_put(&calls, waits ? "        __syncthreads();\n" : "");
    }
    for (int b = launch->block_count - 1; b >= 0; b--)
        emit_unit_block(e, &body, launch, b);
    Text text = text_new(e->arena);
    if (emit_mentions(body.bytes, "rest"))
        text_print(&text, "        int64_t rest = %s;\n", launch->band_rows ? in_bands(e, launch) : "unit");
    text_put(&text, body.bytes);
    int last = launch->block_count - 1;
    if (last > 0 && emit_mentions(calls.bytes, "part"))    /* else each task is one */
        text_print(&text, "        const int64_t part = %s_first / %s;\n", e->block_names[launch->id][last],
                   emit_size(e, launch->blocks[last].tile));
    if (emit_mentions(calls.bytes, "first_unit"))
        text_print(&text, "        const int first_unit = unit == task * f->grain_%d;\n", launch->id + 1);
    text_put(&text, calls.bytes);
    return text.bytes;
}

/* Lines one level further in. */
static const char *inner(Emitter *e, const char *lines)
{
    Text text = text_new(e->arena);
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        text_print(&text, "    %.*s\n", (int)(end - lines), lines);
    return text.bytes;
}

static void put_launch(Emitter *e, const Launch *launch)
{
    int id = launch->id + 1;
    const char *unit = unit_body(e, launch);
    put_head(e, emit_kernel_name(e, "launch", id));
    if (emit_mentions(unit, "own"))
        text_put(&e->functions, "    char *own = f->workspace + f->shared + blockIdx.x * f->per_worker;\n");
    text_put(&e->functions, emit_locals(e, unit));
    bool parts = emit_mentions(unit, "part") || emit_mentions(unit, "task");
    if (!parts) {
        text_print(&e->functions, "    for (int64_t unit = blockIdx.x; unit < f->units_%d; unit += gridDim.x) {\n%s    }\n}\n\n", id, unit);
        return;
    }
    text_print(&e->functions, "    for (unsigned task = blockIdx.x; task < (unsigned)f->tasks_%d; task += gridDim.x) {\n", id);
    if (emit_mentions(unit, "part") && launch->block_count == 1)
        text_put(&e->functions, "        const int64_t part = task;\n");
    text_print(&e->functions, "        const int64_t units_end = size_min((task + 1) * f->grain_%d, f->units_%d);\n"
               "        for (int64_t unit = task * f->grain_%d; unit < units_end; unit++) {\n%s        }\n    }\n}\n\n", id, id, id, inner(e, unit));
}

static void put_merge(Emitter *e, const Step *step)
{
    const char *call = e->calls[1][step->id];
    put_head(e, emit_kernel_name(e, "merge", step->id + 1));
    text_print(&e->functions, "%s    %s\n}\n\n", emit_locals(e, call), call);
}

void emit_grid_launch(Emitter *e, const Launch *launch)
{
    if (launch->fuse)
        emit_fuse(e, launch);
    for (int s = 0; s < launch->step_count && !launch->fuse; s++) {
        emit_begin_step(e, launch, launch->steps[s], false);
        if (launch->steps[s]->contract) {
            emit_block_product(e);
            continue;
        }
        emit_grid_step(e, emit_text(e, "step_%d", launch->steps[s]->id + 1), emit_formula(e));
    }
    put_launch(e, launch);
    Ringed ring;
    if (emit_ringed(launch, &ring) && ring.values)
        emit_ring_fuse(e, launch);
    else if (emit_ringed(launch, &ring))
        emit_ring_product(e, ring.step);
    for (int s = 0; s < launch->step_count; s++)
        if (launch->steps[s]->split) {
            emit_begin_step(e, launch, launch->steps[s], true);
            emit_grid_step(e, emit_text(e, "merge_%d", launch->steps[s]->id + 1), "the parts, in order");
            put_merge(e, launch->steps[s]);
        }
}

/* ---- the order of it all ---- */

const char *emit_grid_run(Emitter *e, const EmittedUnit *unit)
{
    Text text = text_new(e->arena);
    for (int w = 0; w < unit->work_count; w++) {
        const GridWork *work = &unit->work[w];
        const char *tasks = work->launch >= 0 ? emit_text(e, "f->tasks_%d", work->launch + 1) : work->kernel ? emit_size(e, work->tasks) : "";
        if (work->ring)
            text_put(&text, emit_ring_run(e, work));
        else if (work->kernel)
            text_print(&text, "    if (%slaunch(%s, f, %s, workers, %lld, (cudaStream_t)stream))\n        return BAD_MACHINE;\n",
                       w && work[-1].ring ? emit_text(e, "!is_mapped_%d && ", work[-1].ring->step + 1) : "", work->kernel, tasks,
                       (long long)work->asked_bytes);
        else
            text_print(&text, "    if (cudaMemsetAsync(f->workspace%s%s, 0, (size_t)%s, (cudaStream_t)stream) != cudaSuccess)\n"
                       "        return BAD_MACHINE;\n", size_is_constant(work->offset, 0) ? "" : " + ",
                       size_is_constant(work->offset, 0) ? "" : emit_size(e, work->offset), emit_size(e, work->bytes));
    }
    return emit_text(e, "%s%s", emit_locals(e, text.bytes), text.bytes);
}
