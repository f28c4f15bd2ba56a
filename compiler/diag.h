/* Diagnostics: what is wrong with the user's text, where, and what to do about it.
 *
 * Passes add to a list and go on, so that one run reports several independent mistakes. Nothing here prints: the
 * caller renders the list, in clang's manner:
 *
 *     expr:1:9: error: index 'n' is 1990 in operand 2, 1991 in 'len'
 *     ijk,mnk->ijmn | where(@n < len[n], _, 0)
 *                                    ^
 *     hint: ...
 */
#ifndef EINC_DIAG_H
#define EINC_DIAG_H

#include <stdbool.h>

#include "text.h"

/* Bytes begin to end - 1 of the source. */
typedef struct Span {
    size_t begin, end;
} Span;

typedef struct Source {
    const char *name;     /* what stands before the line number: a file's name, or "expr" */
    const char *text;
    size_t length;
} Source;

typedef enum { DIAG_ERROR, DIAG_NOTE } Severity;

typedef struct Diag Diag;
struct Diag {
    Severity severity;
    bool placed;          /* false: about no place in the text, such as a missing operand */
    Span span;
    const char *message;
    const char *hint;     /* NULL, or what to do */
    Diag *next;
};

typedef struct Diags {
    Arena *arena;
    const Source *source;
    Diag *first;          /* the errors in the text's order, each followed by its notes */
    Diag *last;           /* the one added last */
    int errors;
} Diags;

enum { DIAG_ERRORS_MAX = 20 };   /* further errors are counted, not kept */

Span span_join(Span a, Span b);

void diag_error(Diags *diags, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_error_nowhere(Diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Both belong to the error before them; a note points at another place ("first used here"). */
void diag_note(Diags *diags, Span at, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_hint(Diags *diags, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Line and column of a byte, both from 1; columns count characters, not bytes. */
void diag_place(const Source *source, size_t at, int *line, int *column);

/* One diagnostic as text, newline at the end; with `colour`, ANSI colours. */
void diag_render(Text *text, const Source *source, const Diag *diag, bool colour);

/* The word of `words` nearest to `word`, if near enough to be what was meant; else NULL. */
const char *diag_nearest(const char *word, size_t length, const char *const *words, size_t count);

#endif
