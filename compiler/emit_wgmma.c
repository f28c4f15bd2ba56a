/* The instruction of Hopper's tensor cores as a function: its text names a register for each of a thread's sums. */
#include "emit_block.h"

enum { SUMS_OF_LINE = 16, SUMS_OF_CONSTRAINT = 4 };

/* "%0, %1, ...": so many registers, some in each line. */
static const char *registers(Emitter *e, int count)
{
    Text text = text_new(e->arena);
    for (int at = 0; at < count; at++) {
        if (at % SUMS_OF_LINE == 0)
            text_print(&text, "                 \"");
        text_print(&text, "%%%d%s", at, at + 1 < count ? ", " : "}, \"\n");
        if (at % SUMS_OF_LINE == SUMS_OF_LINE - 1 && at + 1 < count)
            text_put(&text, "\"\n");
    }
    return text.bytes;
}

static const char *constraints(Emitter *e, Dtype sums, int count)
{
    Text text = text_new(e->arena);
    for (int at = 0; at < count; at += SUMS_OF_CONSTRAINT)
        text_print(&text, "%sSUMS_4_%s(%d)", !at ? "" : at % SUMS_OF_LINE ? ", " : ",\n                   ",
                   dtype_name(sums), at);
    return text.bytes;
}

void emit_wgmma_words(Emitter *e, Dtype dtype, int columns)
{
    int sums = columns / 2;
    const char *type = dtype_name(dtype), *name = emit_text(e, "wgmma_words_%s_%d", type, columns);
    if (emit_mentions(e->functions.bytes, name))
        return;
    text_print(&e->functions, "#ifndef EINC_MODEL\n"
               "/* Begins to add products of 64 lines of words and %d lines in panels to the sums. */\n"
               "INLINE void %s(float sums[%d], const uint32_t left[4], uint64_t right)\n{\n", columns, name, sums);
    text_print(&e->functions, "    asm volatile(\"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {\"\n%s", columns, type, type, registers(e, sums));
    text_print(&e->functions, "                 \"{%%%d, %%%d, %%%d, %%%d}, %%%d, 1, 1, 1, 1;\"\n"
               "                 : %s\n"
               "                 : \"r\"(left[0]), \"r\"(left[1]), \"r\"(left[2]), \"r\"(left[3]), \"l\"(right));\n"
               "}\n#endif\n\n", sums, sums + 1, sums + 2, sums + 3, sums + 4, constraints(e, DTYPE_F32, sums));
}

/* Of bytes, which lie as contracted points alone. */
static void emit_wgmma_bytes(Emitter *e, const char *name, int columns)
{
    int sums = columns / 2;
    text_print(&e->functions, "#ifndef EINC_MODEL\n"
               "/* Begins to add products of 64 by %d lines to the sums; without `adds`, in their place. */\n"
               "INLINE void %s(int32_t sums[%d], uint64_t left, uint64_t right, int adds)\n{\n", columns, name, sums);
    text_print(&e->functions, "    asm volatile(\"{\\n\"\n"
               "                 \".reg .pred adds;\\n\"\n"
               "                 \"setp.ne.b32 adds, %%%d, 0;\\n\"\n"
               "                 \"wgmma.mma_async.sync.aligned.m64n%dk32.s32.s8.s8 {\"\n%s", sums + 2, columns,
               registers(e, sums));
    text_print(&e->functions, "                 \"%%%d, %%%d, adds;\\n\"\n"
               "                 \"}\"\n"
               "                 : %s\n"
               "                 : \"l\"(left), \"l\"(right), \"r\"(adds));\n"
               "}\n#endif\n\n", sums, sums + 1, constraints(e, DTYPE_I32, sums));
}

void emit_wgmma(Emitter *e, Dtype dtype, int columns)
{
    int sums = columns / 2;
    const char *type = dtype_name(dtype), *name = emit_text(e, "wgmma_%s_%d", type, columns);
    if (emit_mentions(e->functions.bytes, name))
        return;
    if (dtype == DTYPE_I8) {
        emit_wgmma_bytes(e, name, columns);
        return;
    }
    text_print(&e->functions, "#ifndef EINC_MODEL\n"
               "/* Begins to add products of 64 by %d lines to the sums; without `adds`, in their place. */\n"
               "template <int LEFT_PANELS, int RIGHT_PANELS>\n"
               "INLINE void %s(float sums[%d], uint64_t left, uint64_t right, int adds)\n{\n", columns, name, sums);
    text_print(&e->functions, "    asm volatile(\"{\\n\"\n"
               "                 \".reg .pred adds;\\n\"\n"
               "                 \"setp.ne.b32 adds, %%%d, 0;\\n\"\n"
               "                 \"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {\"\n%s", sums + 2, columns, type, type, registers(e, sums));
    text_print(&e->functions, "                 \"%%%d, %%%d, adds, 1, 1, %%%d, %%%d;\\n\"\n"
               "                 \"}\"\n"
               "                 : %s\n"
               "                 : \"l\"(left), \"l\"(right), \"r\"(adds), \"n\"(LEFT_PANELS), \"n\"(RIGHT_PANELS));\n"
               "}\n#endif\n\n", sums, sums + 1, sums + 3, sums + 4, constraints(e, DTYPE_F32, sums));
}
