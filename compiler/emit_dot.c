/* Turns of a loop whose instruction takes words of narrow numbers as they lie: plan_dot.c says of which products. */
#include "emit_nest.h"

/* Of what words consist. */
static Dtype dtype_of(const Emitter *e)
{
    return dtype_in_word(e->step->dot[0]->dtype, e->step->dots);
}

static const char *load(Emitter *e, const Term *read)
{
    const char *from = emit_pointer(e, read);
    Dtype dtype = dtype_of(e);
    if (read->dtype == dtype)
        return emit_text(e, "load_u32v(%s, 1, LANES)", from);
    return emit_text(e, "load_words_%s_%s(%s, LANES)", dtype_name(read->dtype), dtype_name(dtype), from);
}

void nest_share_words(Emitter *e, Nest *nest)
{
    for (int i = 0; i < 2; i++) {
        const Term *read = e->step->dot[i];
        nest->words[i] = NULL;
        if (!nest->jammed || step_has_points(e->step, read))
            continue;
        nest->words[i] = emit_name(e, "words");
        emit_line(e, "const u32v %s = %s;", nest->words[i], load(e, read));
    }
}

void nest_dot(Emitter *e, Nest *nest)
{
    const char *words[2], *sum = nest->turn[0][0];
    for (int i = 0; i < 2; i++)
        words[i] = nest->words[i] ? nest->words[i] : load(e, e->step->dot[i]);
    emit_line(e, "%s = dot_%sv(%s, %s, %s);", sum, dtype_name(dtype_of(e)), sum, words[0], words[1]);
}
