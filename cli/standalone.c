#include "standalone.h"

#include <ctype.h>
#include <string.h>

#include "library.h"
#include "npy.h"

typedef struct Standalone {
    Arena *arena;
    const Compiled *compiled;
    const char *name;
    const char *fault;
} Standalone;

static int place_of(const Compiled *compiled, const Tensor *tensor)
{
    for (int o = 0; o < compiled->output_count; o++)
        if (compiled->outputs[o] == tensor)
            return o;
    return 0;
}

/* The first tensor of a `+=`: the one that the caller passes. */
static const Tensor *first_of(const Tensor *tensor)
{
    while (tensor->previous)
        tensor = tensor->previous;
    return tensor;
}

static const char *role_of(const Argument *argument)
{
    if (!argument->is_output)
        return argument->shape_only ? "MAIN_SHAPE" : "MAIN_INPUT";
    return first_of(argument->tensor)->from_caller ? "MAIN_ADDED" : "MAIN_OUTPUT";
}

/* ---- the tables ---- */

static int count_arguments(const Standalone *s, bool extents)
{
    int count = 0;
    for (int i = 0; i < s->compiled->unit->argument_count; i++)
        count += (s->compiled->unit->arguments[i].extent != NULL) == extents;
    return count;
}

/* The place of a tensor among the arrays of the program; -1 when it is none. */
static int array_of(const Standalone *s, const Tensor *tensor)
{
    const EmittedUnit *unit = s->compiled->unit;
    for (int i = 0, array = 0; i < unit->argument_count; i++) {
        if (unit->arguments[i].tensor == tensor)
            return array;
        array += unit->arguments[i].tensor != NULL;
    }
    return -1;
}

static void put_facts(const Standalone *s, Text *text)
{
    const EmittedUnit *unit = s->compiled->unit;
    text_put(text, "static const MainFacts main_facts[MAIN_ARRAYS] = {\n");
    for (int i = 0; i < unit->argument_count; i++) {
        const Tensor *tensor = unit->arguments[i].tensor;
        if (tensor)
            text_print(text, "    { %s, \"%s\", \"%s\", \"%s\", %zu, %d, %d },\n", role_of(&unit->arguments[i]),
                       tensor->label, dtype_name(tensor->dtype), npy_code(tensor->dtype), dtype_size(tensor->dtype),
                       tensor->rank, unit->arguments[i].is_output ? place_of(s->compiled, tensor) : 0);
    }
    text_put(text, "};\n");
}

/* Axes of `+=` targets along indices that operands have, too. */
static void put_same_axes(const Standalone *s, Text *text)
{
    const EmittedUnit *unit = s->compiled->unit;
    text_put(text, "static const int main_same_axes[][4] = {");
    for (int i = 0; i < unit->argument_count; i++) {
        const Tensor *tensor = unit->arguments[i].is_output ? first_of(unit->arguments[i].tensor) : NULL;
        for (int a = 0; tensor && tensor->from_caller && a < tensor->rank; a++)
            for (int k = 0; tensor->axes[a] && k < tensor->axes[a]->axis_count; k++) {
                const Axis *axis = &tensor->axes[a]->axes[k];
                int from = axis->tensor->maker ? -1 : array_of(s, axis->tensor);
                if (from >= 0)
                    text_print(text, " { %d, %d, %d, %d },", array_of(s, unit->arguments[i].tensor), a, from, axis->axis);
            }
    }
    text_put(text, " { -1, 0, 0, 0 } };\n");
}

static const char *kernel_text(const Standalone *s)
{
    const EmittedUnit *unit = s->compiled->unit;
    Text text = text_new(s->arena);
    text_print(&text, "enum { MAIN_ARRAYS = %d, MAIN_EXTENTS = %d };\n\n", count_arguments(s, false), count_arguments(s, true));
    put_facts(s, &text);
    text_put(&text, "\n/* Array and axis of what is added to, array and axis of an operand: they have the same size. */\n");
    put_same_axes(s, &text);
    text_put(&text, "\n/* Extents that no operand fixes. */\nstatic const char *const main_extent_names[MAIN_EXTENTS + 1] = {");
    for (int i = 0; i < unit->argument_count; i++)
        if (unit->arguments[i].extent)
            text_print(&text, " \"%s\",", unit->arguments[i].extent->name);
    text_print(&text, " NULL };\n\ntypedef %s_args MainArgs;\n", s->name);
    text_print(&text, "\nstatic int main_workspace(const MainArgs *args, size_t *bytes)\n{\n"
               "    return %s_workspace(args, 1, bytes);\n}\n", s->name);
    text_print(&text, "\nstatic int main_kernel(const MainArgs *args, void *workspace, size_t bytes)\n{\n"
               "    return %s(args, workspace, bytes, NULL);\n}\n", s->name);
    return text.bytes;
}

/* ---- the arguments ---- */

static const char *data_type(Dtype dtype)
{
    return dtype == DTYPE_C64 ? "float" : dtype == DTYPE_C128 ? "double" : dtype_c(dtype);
}

static const char *arguments_text(const Standalone *s)
{
    const EmittedUnit *unit = s->compiled->unit;
    Text text = text_new(s->arena);
    int array = 0, extent = 0;
    for (int i = 0; i < unit->argument_count; i++) {
        const Argument *argument = &unit->arguments[i];
        if (argument->extent) {
            text_print(&text, "    args->%s = main_extents[%d];\n", argument->name, extent++);
            continue;
        }
        text_print(&text, "    args->%s.data = (%s%s *)main_arrays[%d].data;\n", argument->name,
                   argument->is_output ? "" : "const ", data_type(argument->tensor->dtype), array);
        text_print(&text, "    memcpy(args->%s.shape, main_arrays[%d].shape, sizeof args->%s.shape);\n", argument->name, array,
                   argument->name);
        text_print(&text, "    memcpy(args->%s.stride, main_arrays[%d].stride, sizeof args->%s.stride);\n", argument->name,
                   array++, argument->name);
    }
    return text.bytes;
}

/* ---- the results' shapes ---- */

/* How the kernel spells the extent of an output's axis: prepare() compares the axis with it. A number, or a member of
 * the Frame. */
static const char *extent_of_axis(Standalone *s, const char *member, int axis)
{
    const char *test = arena_format(s->arena, "f->in.%s.shape[%d] != ", member, axis);
    const char *at = strstr(s->compiled->unit->source, test);
    if (!at) {
        s->fault = arena_format(s->arena, "%s.shape[%d]", member, axis);
        return "0";
    }
    at += strlen(test);
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return arena_format(s->arena, isdigit((unsigned char)*at) ? "%.*s" : "frame.%.*s", (int)length, at);
}

static const char *shapes_text(Standalone *s)
{
    const EmittedUnit *unit = s->compiled->unit;
    Text text = text_new(s->arena);
    for (int i = 0, array = 0; i < unit->argument_count; i++) {
        const Argument *argument = &unit->arguments[i];
        bool output = argument->is_output && !first_of(argument->tensor)->from_caller;
        for (int a = 0; output && a < argument->tensor->rank; a++)
            text_print(&text, "    main_arrays[%d].shape[%d] = %s;\n", array, a, extent_of_axis(s, argument->name, a));
        array += argument->tensor != NULL;
    }
    return text.bytes;
}

const char *standalone_program(Arena *arena, const Compiled *compiled, const char *name, const char **fault)
{
    Standalone s = { .arena = arena, .compiled = compiled, .name = name };
    Hole holes[] = {
        { "kernel", kernel_text(&s) },
        { "arguments", arguments_text(&s) },
        { "shapes", shapes_text(&s) },
    };
    *fault = s.fault;
    const char *skeleton = embedded_find("main.c");
    return s.fault || !skeleton ? NULL : template_fill(arena, skeleton, holes, sizeof holes / sizeof *holes, fault);
}
