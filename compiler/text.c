#include "text.h"

#include <stdio.h>
#include <string.h>

Text text_new(Arena *arena)
{
    return (Text){ .arena = arena, .bytes = "" };
}

/* Room for `more` bytes and the NUL. */
static void reserve(Text *text, size_t more)
{
    if (text->length + more < text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity : 128;
    while (capacity <= text->length + more)
        capacity *= 2;
    char *bytes = arena_alloc(text->arena, capacity);
    memcpy(bytes, text->bytes, text->length + 1);
    text->bytes = bytes;
    text->capacity = capacity;
}

void text_add(Text *text, const char *bytes, size_t length)
{
    if (!length)
        return;
    reserve(text, length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
}

void text_put(Text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_vprint(Text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    reserve(text, 64);            /* of most pieces one try is enough */
    int length = vsnprintf(text->bytes + text->length, text->capacity - text->length, format, arguments);
    if (length > 0 && (size_t)length >= text->capacity - text->length) {
        reserve(text, (size_t)length);
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    }
    text->length += length > 0 ? (size_t)length : 0;
    text->bytes[text->length] = 0;
    va_end(again);
}

void text_print(Text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_vprint(text, format, arguments);
    va_end(arguments);
}

void text_separate(Text *text, int *first, const char *separator)
{
    if (!*first)
        text_put(text, separator);
    *first = 0;
}
