/* Turns of a loop whose instruction takes words of narrow numbers as they lie: plan_dot.c says of which products. */
#include "emit_nest.h"

static const char *load(Emitter *e, const Term *read)
{
    return emit_text(e, "load_u32v(%s, 1, LANES)", emit_pointer(e, read));
}

void nest_share_words(Emitter *e, Nest *nest)
{
    for (int i = 0; i < 2; i++) {
        const Term *read = e->step->dot[i];
        nest->words[i] = NULL;
        if (!nest->jammed || term_has_index(read, e->step->jammed))
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
    emit_line(e, "%s = dot_%sv(%s, %s, %s);", sum, dtype_name(e->step->dot[0]->dtype), sum, words[0], words[1]);
}
