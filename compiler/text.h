/* Text that grows: where dumps and generated files are written. */
#ifndef EINC_TEXT_H
#define EINC_TEXT_H

#include "arena.h"

typedef struct Text {
    Arena *arena;
    char *bytes;     /* always ends in a NUL that `length` does not count; "" when nothing was added */
    size_t length, capacity;
} Text;

Text text_new(Arena *arena);
void text_add(Text *text, const char *bytes, size_t length);
void text_put(Text *text, const char *string);
void text_print(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprint(Text *text, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Puts `separator` unless this is the first of a list: text_separate(t, &first, ", "). */
void text_separate(Text *text, int *first, const char *separator);

#endif
