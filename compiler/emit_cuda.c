/* The file of a kernel for CUDA: as emit.c, with kernels for launches and a launcher for the host. */
#include <string.h>

#include "emitting.h"

/* What the launcher finds aligned: elements of a tensor, of complex numbers their parts. */
static const char *alignment_checks(Emitter *e)
{
    Text text = text_new(e->arena);
    for (int i = 0; i < e->argument_count; i++) {
        const Argument *argument = &e->arguments[i];
        size_t size = argument->tensor && !argument->shape_only ? dtype_size(dtype_real(argument->tensor->dtype)) : 1;
        if (size > 1)
            text_print(&text, "%s(uintptr_t)f->in.%s.data %% %d", text.length ? " || " : "", argument->name, (int)size);
    }
    return text.length ? emit_text(e, "    if (%s)\n        return BAD_ARGUMENT;\n", text.bytes) : "";
}

static const char *arguments(Emitter *e)
{
    return emit_text(e, "/* Arrays of the device. Strides count elements, and may be 0 or negative; data is aligned to its numbers. An array of rank 0\n"
               " * has no shape. Complex numbers are two floats, f16 and bf16 their 16 bits, bool one byte. */\n%s", emit_arguments(e));
}

static const char *prototypes(Emitter *e)
{
    const char *name = e->options->name;
    Text text = text_new(e->arena);
    text_print(&text, "\n/* The bytes of workspace, on the device, that %s() wants for these shapes and so many blocks of threads at once. 0, or why\n"
               " * not. */\nint %s_workspace(const %s_args *args, int workers, size_t *bytes);\n", name, name, name);
    text_print(&text, "\n/* Starts the kernel on a stream (a cudaStream_t) and does not wait. `workspace` is aligned to 64 bytes; with more of it than one\n"
               " * block wants, more blocks run at once. 0, or a negative number: -2 an argument that has no meaning, -3 shapes that do not\n"
               " * fit, -4 too small a workspace, -6 what cudaGetLastError() says. Thread-safe. */\n"
               "int %s(const %s_args *args, void *workspace, size_t bytes, void *stream);\n", name, name);
    text_print(&text, "\n/* Waits for the stream. 0, or why the kernel that had the workspace failed: -6 what cudaGetLastError() says, -16 and below a\n"
               " * position out of range (outputs are then undefined). */\n"
               "int %s_status(const void *workspace, void *stream);\n", name);
    return text.bytes;
}

static const char *status_body(Emitter *e)
{
    if (!e->plan->status)
        return "    (void)workspace;\n";
    return "    if (cudaMemcpyAsync(&status, workspace, sizeof status, cudaMemcpyDeviceToHost, (cudaStream_t)stream) != cudaSuccess)\n"
           "        return BAD_MACHINE;\n";
}

/* How many blocks have registers at once: of its products' tiles the fewest. */
static int resident_blocks(const Plan *plan)
{
    int resident = plan->target->grid->resident;
    for (int s = 0; s < plan->step_count; s++) {
        const Contract *c = plan->steps[s]->contract;
        resident = c && c->resident < resident ? c->resident : resident;
    }
    return resident;
}

static const char *fill(Emitter *e, const char *prelude, const char **culprit)
{
    const char *name = e->options->name;
    const Grid *grid = e->plan->target->grid;
    Hole holes[] = {
        { "title", emit_title(e) },
        { "declarations", e->declarations },
        { "threads", emit_text(e, "CONSTANTS(THREADS = %d, WARP = %d, WARPS = THREADS / WARP, RESIDENT = %d);\n", grid->threads, grid->lanes,
                                resident_blocks(e->plan)) },
        { "prelude", prelude },
        { "frame", e->frame },
        { "functions", emit_wrap(e->arena, emit_text(e, "%s%s%s", emit_block_memory(e), emit_ring_memory(e), e->functions.bytes)) },
        { "prepare", emit_wrap(e->arena, emit_text(e, "%s%s", emit_ring_maps(e), e->prepare)) },
        { "workspace_head", emit_text(e, "int %s_workspace(const %s_args *args, int workers, size_t *bytes)\n", name, name) },
        { "kernel_head", emit_text(e, "int %s(const %s_args *args, void *workspace, size_t bytes, void *stream)\n", name, name) },
        { "launches", emit_wrap(e->arena, e->run) },
        { "status_head", emit_text(e, "int %s_status(const void *workspace, void *stream)\n", name) },
        { "status", status_body(e) },
    };
    return template_fill(e->arena, embedded_find("cuda/kernel.cu"), holes, sizeof holes / sizeof *holes, culprit);
}

EmittedUnit *emit_cuda(Arena *arena, const Plan *plan, const EmitOptions *options, const EmittedUnit *unit, const char **fault)
{
    Emitter *e = emit_begin(arena, plan, options);
    library_override(e->library, embedded_find("cuda/macros.cu"));
    library_override(e->library, embedded_find("cuda/functions.cu"));
    for (int l = 0; l < plan->launch_count; l++)
        emit_grid_launch(e, plan->launches[l]);
    e->frame = emit_frame(e, emit_text(e, "    char *workspace;\n%s", emit_ring_members(e)));
    e->run = emit_text(e, "%s%s", alignment_checks(e), emit_grid_run(e, unit));
    const char *args = arguments(e), *functions = prototypes(e);
    emit_declare(e, emit_text(e, "%s\n#ifndef __CUDACC_RTC__%s#endif\n", args, functions), emit_text(e, "%s%s", args, functions));
    const char *draft = fill(e, "", fault), *source = draft ? fill(e, library_select(e->library, draft), fault) : NULL;
    return source ? emit_end(e, unit, source) : NULL;
}
