/* Skeletons of templates/ with a step's names, and their holes filled. */
#include <ctype.h>
#include <string.h>

#include "emitting.h"

/* Whether a sample's type begins here. */
static bool begins_word(const char *text, const char *word)
{
    return !strncmp(text, word, 5) && !isalnum((unsigned char)text[5]);
}

/* The skeleton's sample is f32, of step N: gives its text the step's dtype and number. */
static const char *rename_sample(Emitter *e, const Sample *sample, const char *text)
{
    Text out = text_new(e->arena);
    const char *before = NULL;
    while (*text) {
        size_t plain = strcspn(text, "_wpf");
        if (plain) {
            text_add(&out, text, plain);
            text += plain;
            before = text - 1;
            continue;
        }
        bool begins = !before || !(isalnum((unsigned char)*before) || *before == '_');
        if (text[0] == '_' && text[1] == 'N' && !isalnum((unsigned char)text[2])) {
            text_print(&out, "_%d", sample->number);
            before = ++text;
            text++;
        } else if (sample->word && (begins_word(text, "wordu") || begins_word(text, "partu"))) {
            text_put(&out, *text == 'w' ? sample->word : sample->part);
            before = text + 4;
            text += 5;
        } else if (sample->word && begins_word(text, "wordv")) {
            text_put(&out, sample->lane);
            before = text + 3;
            text += 4;
        } else if (!strncmp(text, "f32", 3)) {
            text_put(&out, dtype_name(sample->dtype));
            before = text + 2;
            text += 3;
        } else if (begins && !strncmp(text, "float", 5) && !isalnum((unsigned char)text[5])) {
            text_put(&out, dtype_c(sample->dtype));
            before = text + 4;
            text += 5;
        } else {
            text_add(&out, text, 1);
            before = text++;
        }
    }
    return out.bytes;
}

/* What a sample says of rows, of columns. */
static const char *of_columns(Emitter *e, const char *text)
{
    Text out = text_new(e->arena);
    while (*text) {
        bool small = !strncmp(text, "row", 3), large = !strncmp(text, "ROW", 3);
        text_put(&out, small ? "column" : large ? "COLUMN" : "");
        if (!small && !large)
            text_add(&out, text, 1);
        text += small || large ? 3 : 1;
    }
    return out.bytes;
}

const char *emit_skeleton(Emitter *e, const Sample *sample, const Hole *holes, int count)
{
    const char *fault = NULL, *renamed = rename_sample(e, sample, embedded_find(sample->file));
    const char *text = template_fill(e->arena, sample->columns ? of_columns(e, renamed) : renamed, holes, count, &fault);
    return text ? text : emit_text(e, "#error \"the template %s and the emitter disagree about %s\"\n", sample->file, fault);
}
