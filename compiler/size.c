#include "size.h"

#include <string.h>

static const Size *new_size(Arena *arena, Size size)
{
    Size *kept = ARENA_NEW(arena, Size);
    *kept = size;
    return kept;
}

const Size *size_constant(Arena *arena, int64_t value)
{
    return new_size(arena, (Size){ .kind = SIZE_CONSTANT, .constant = value });
}

const Size *size_extent(Arena *arena, const Index *index)
{
    return new_size(arena, (Size){ .kind = SIZE_EXTENT, .index = index });
}

const Size *size_axis(Arena *arena, const Tensor *tensor, int axis)
{
    return new_size(arena, (Size){ .kind = SIZE_AXIS, .tensor = tensor, .axis = axis });
}

const Size *size_workers(Arena *arena)
{
    return new_size(arena, (Size){ .kind = SIZE_WORKERS });
}

const Size *size_named(Arena *arena, const char *name, const Size *formula)
{
    return formula->kind == SIZE_CONSTANT ? formula
                                          : new_size(arena, (Size){ .kind = SIZE_NAMED, .name = name, .a = formula });
}

static int64_t apply(SizeKind kind, int64_t a, int64_t b)
{
    int64_t result;
    if (kind == SIZE_MIN)
        return a < b ? a : b;
    if (a == SIZE_TOO_LARGE || b == SIZE_TOO_LARGE)
        return SIZE_TOO_LARGE;
    switch (kind) {
    case SIZE_ADD: return __builtin_add_overflow(a, b, &result) ? SIZE_TOO_LARGE : result;
    case SIZE_SUB: return a > b ? a - b : 0;
    case SIZE_MUL: return __builtin_mul_overflow(a, b, &result) ? SIZE_TOO_LARGE : result;
    case SIZE_DIV: return a / (b ? b : 1);
    case SIZE_CEIL_DIV: return b ? a / b + (a % b != 0) : a;
    case SIZE_ALIGN: return a > SIZE_TOO_LARGE - b ? SIZE_TOO_LARGE : (a + b - 1) / b * b;
    default: return a > b ? a : b;
    }
}

bool size_is_constant(const Size *size, int64_t value)
{
    return size->kind == SIZE_CONSTANT && size->constant == value;
}

/* The product of two that are no constants both, with one constant at its end. */
static const Size *multiply(Arena *arena, const Size *a, const Size *b)
{
    if (a->kind == SIZE_CONSTANT)
        return size_op(arena, SIZE_MUL, b, a);
    if (a->kind == SIZE_MUL && a->b->kind == SIZE_CONSTANT)
        return size_op(arena, SIZE_MUL, size_op(arena, SIZE_MUL, a->a, b->kind == SIZE_CONSTANT ? size_constant(arena, 1) : b),
                       b->kind == SIZE_CONSTANT ? size_op(arena, SIZE_MUL, a->b, b) : a->b);
    if (b->kind == SIZE_MUL && b->b->kind == SIZE_CONSTANT)
        return size_op(arena, SIZE_MUL, size_op(arena, SIZE_MUL, a, b->a), b->b);
    return new_size(arena, (Size){ .kind = SIZE_MUL, .a = a, .b = b });
}

const Size *size_op(Arena *arena, SizeKind kind, const Size *a, const Size *b)
{
    if (a->kind == SIZE_CONSTANT && b->kind == SIZE_CONSTANT)
        return size_constant(arena, apply(kind, a->constant, b->constant));
    bool unit = (kind == SIZE_MUL && size_is_constant(b, 1)) || (kind == SIZE_ADD && size_is_constant(b, 0)) ||
                (kind == SIZE_SUB && size_is_constant(b, 0)) || (kind == SIZE_DIV && size_is_constant(b, 1)) ||
                ((kind == SIZE_CEIL_DIV || kind == SIZE_ALIGN) && size_is_constant(b, 1)) || (kind == SIZE_MAX_OF && size_is_constant(b, 0));
    if (unit)
        return a;
    if ((kind == SIZE_MUL && size_is_constant(a, 1)) || (kind == SIZE_ADD && size_is_constant(a, 0)) ||
        (kind == SIZE_MAX_OF && size_is_constant(a, 0)))
        return b;
    return kind == SIZE_MUL ? multiply(arena, a, b) : new_size(arena, (Size){ .kind = kind, .a = a, .b = b });
}

const Size *size_align(Arena *arena, const Size *a, int64_t unit)
{
    return size_op(arena, SIZE_ALIGN, a, size_constant(arena, unit));
}

int64_t size_evaluate(const Size *size, const SizeValues *values)
{
    switch (size->kind) {
    case SIZE_CONSTANT: return size->constant;
    case SIZE_EXTENT: return values->extents[size->index->id];
    case SIZE_AXIS: return values->shapes[size->tensor->source->id][size->axis];
    case SIZE_WORKERS: return values->workers;
    case SIZE_NAMED: return size_evaluate(size->a, values);
    default: break;
    }
    int64_t a = size_evaluate(size->a, values), b = size_evaluate(size->b, values);
    return a < 0 || b < 0 ? -1 : apply(size->kind, a, b);
}

/* ---- as C ---- */

static void print_call(Text *text, const char *function, const Size *size, const SizeSpelling *spelling)
{
    text_print(text, "%s(", function);
    size_print(text, size->a, spelling);
    text_put(text, ", ");
    size_print(text, size->b, spelling);
    text_put(text, ")");
}

void size_print(Text *text, const Size *size, const SizeSpelling *spelling)
{
    switch (size->kind) {
    case SIZE_CONSTANT: text_print(text, "%lld", (long long)size->constant); break;
    case SIZE_EXTENT: text_put(text, spelling->extent(spelling->user, size->index)); break;
    case SIZE_AXIS: text_put(text, spelling->axis(spelling->user, size->tensor, size->axis)); break;
    case SIZE_WORKERS: text_put(text, "workers"); break;
    case SIZE_NAMED: text_put(text, size->name); break;
    case SIZE_ADD: print_call(text, "size_add", size, spelling); break;
    case SIZE_SUB: print_call(text, "size_sub", size, spelling); break;
    case SIZE_MUL: print_call(text, "size_mul", size, spelling); break;
    case SIZE_DIV: print_call(text, "size_div", size, spelling); break;
    case SIZE_CEIL_DIV: print_call(text, "size_ceil_div", size, spelling); break;
    case SIZE_ALIGN: print_call(text, "size_align", size, spelling); break;
    case SIZE_MIN: print_call(text, "size_min", size, spelling); break;
    case SIZE_MAX_OF: print_call(text, "size_max", size, spelling); break;
    }
}

/* ---- for a person ---- */

static int strength_of(const Size *size)
{
    switch (size->kind) {
    case SIZE_ADD:
    case SIZE_SUB: return 1;
    case SIZE_MUL:
    case SIZE_DIV: return 2;
    default: return 3;
    }
}

/* An operand of an operator, in parentheses where it binds less. */
static void print_part(Text *text, const Size *size, int strength, const SizeSpelling *spelling)
{
    bool weak = strength_of(size) < strength;
    text_put(text, weak ? "(" : "");
    size_print_words(text, size, spelling);
    text_put(text, weak ? ")" : "");
}

/* min(min(a, b), c) is one list. */
static void print_all(Text *text, SizeKind kind, const Size *size, const SizeSpelling *spelling)
{
    if (size->kind != kind) {
        size_print_words(text, size, spelling);
        return;
    }
    print_all(text, kind, size->a, spelling);
    text_put(text, ", ");
    print_all(text, kind, size->b, spelling);
}

void size_print_words(Text *text, const Size *size, const SizeSpelling *spelling)
{
    static const char *const operators[] = {
        [SIZE_ADD] = " + ", [SIZE_SUB] = " - ", [SIZE_MUL] = " * ", [SIZE_DIV] = " / ", [SIZE_CEIL_DIV] = " / "
    };
    int strength = size->kind == SIZE_CEIL_DIV ? 2 : strength_of(size);
    switch (size->kind) {
    case SIZE_NAMED:              /* places in the workspace are sums of what was reserved before */
        if (!strncmp(size->name, "at_", 3))
            size_print_words(text, size->a, spelling);
        else
            text_put(text, size->name);
        break;
    case SIZE_ALIGN:
        text_put(text, "align(");
        size_print_words(text, size->a, spelling);
        text_print(text, ", %lld)", (long long)size->b->constant);
        break;
    case SIZE_MIN:
    case SIZE_MAX_OF:
        text_put(text, size->kind == SIZE_MIN ? "min(" : "max(");
        print_all(text, size->kind, size, spelling);
        text_put(text, ")");
        break;
    case SIZE_ADD:
    case SIZE_SUB:
    case SIZE_MUL:
    case SIZE_DIV:
    case SIZE_CEIL_DIV: {
        bool commutes = size->kind == SIZE_ADD || size->kind == SIZE_MUL;
        text_put(text, size->kind == SIZE_CEIL_DIV ? "ceil(" : "");
        print_part(text, size->a, strength, spelling);
        text_put(text, operators[size->kind]);
        print_part(text, size->b, commutes && size->b->kind == size->kind ? strength : strength + 1, spelling);
        text_put(text, size->kind == SIZE_CEIL_DIV ? ")" : "");
        break;
    }
    default: size_print(text, size, spelling);
    }
}
