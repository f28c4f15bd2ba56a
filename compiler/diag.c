#include "diag.h"

#include <string.h>

Span span_join(Span a, Span b)
{
    return (Span){ a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end };
}

/* Where an error stands among the others: they are in the text's order, those without a place last. */
static Diag **place_of(Diags *diags, const Diag *error)
{
    Diag **place = &diags->first;
    for (; *place; place = &(*place)->next) {
        bool later = !(*place)->placed || (*place)->span.begin > error->span.begin;
        if ((*place)->severity == DIAG_ERROR && error->placed && later)
            break;
    }
    return place;
}

static void append(Diags *diags, Diag diag, const char *format, va_list arguments)
{
    if (diag.severity == DIAG_ERROR)
        diags->errors++;
    if (diags->errors > DIAG_ERRORS_MAX)
        return;
    Diag *kept = ARENA_NEW(diags->arena, Diag);
    *kept = diag;
    kept->message = arena_vformat(diags->arena, format, arguments);
    Diag **place = diags->last ? &diags->last->next : &diags->first;
    if (diag.severity == DIAG_ERROR)
        place = place_of(diags, kept);
    kept->next = *place;
    *place = kept;
    diags->last = kept;
}

void diag_error(Diags *diags, Span at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(diags, (Diag){ .severity = DIAG_ERROR, .placed = true, .span = at }, format, arguments);
    va_end(arguments);
}

void diag_error_nowhere(Diags *diags, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(diags, (Diag){ .severity = DIAG_ERROR }, format, arguments);
    va_end(arguments);
}

void diag_note(Diags *diags, Span at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(diags, (Diag){ .severity = DIAG_NOTE, .placed = true, .span = at }, format, arguments);
    va_end(arguments);
}

void diag_hint(Diags *diags, const char *format, ...)
{
    if (!diags->last || diags->errors > DIAG_ERRORS_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    diags->last->hint = arena_vformat(diags->arena, format, arguments);
    va_end(arguments);
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

static size_t line_start(const Source *source, size_t at)
{
    while (at > 0 && source->text[at - 1] != '\n')
        at--;
    return at;
}

void diag_place(const Source *source, size_t at, int *line, int *column)
{
    if (at > source->length)
        at = source->length;
    *line = *column = 1;
    for (size_t i = 0; i < at; i++)
        *line += source->text[i] == '\n';
    for (size_t i = line_start(source, at); i < at; i++)
        *column += starts_character(source->text[i]);
}

/* The line that holds the span's beginning, and below it the caret with a tail under the rest of the span. */
static void quote(Text *text, const Source *source, Span span, bool colour)
{
    size_t begin = span.begin < source->length ? span.begin : source->length;
    size_t start = line_start(source, begin), end = begin;
    while (end < source->length && source->text[end] != '\n')
        end++;
    for (size_t i = start; i < end; i++) {
        unsigned char c = (unsigned char)source->text[i];
        text_print(text, "%c", c < ' ' || c == 127 ? ' ' : c);
    }
    text_put(text, "\n");
    for (size_t i = start; i < begin; i++)
        if (starts_character(source->text[i]))
            text_put(text, " ");
    text_put(text, colour ? "\033[1;32m^" : "^");
    for (size_t i = begin + 1; i < span.end && i < end; i++)
        if (starts_character(source->text[i]))
            text_put(text, "~");
    text_put(text, colour ? "\033[0m\n" : "\n");
}

void diag_render(Text *text, const Source *source, const Diag *diag, bool colour)
{
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    const char *kind = diag->severity == DIAG_ERROR ? "error" : "note";
    const char *tint = !colour ? "" : diag->severity == DIAG_ERROR ? "\033[1;31m" : "\033[1;36m";
    if (diag->placed) {
        int line, column;
        diag_place(source, diag->span.begin, &line, &column);
        text_print(text, "%s%s:%d:%d:%s ", bold, source->name, line, column, plain);
    } else {
        text_print(text, "%s%s:%s ", bold, source->name, plain);
    }
    text_print(text, "%s%s:%s %s%s%s\n", tint, kind, plain, bold, diag->message, plain);
    if (diag->placed)
        quote(text, source, diag->span, colour);
    if (diag->hint)
        text_print(text, "hint: %s\n", diag->hint);
}

/* Damerau-Levenshtein distance (optimal string alignment) of two short words. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
    enum { LONGEST = 32 };
    size_t row[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[n % 3][m];
}

const char *diag_nearest(const char *word, size_t length, const char *const *words, size_t count)
{
    const char *best = NULL;
    size_t least = length < 6 ? 1 : length / 3;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, length, words[i], strlen(words[i]));
        if (d <= least && d < length && (!best || d < least)) {
            best = words[i];
            least = d;
        }
    }
    return best;
}
