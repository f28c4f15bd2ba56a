/* Templates: real C files with regions, embedded at build.
 *
 *     //{ name
 *     working sample code
 *     //}
 *
 * In a skeleton a region is a hole: template_fill() copies the file and puts the emitter's text where the region was.
 * In a library a region is a snippet, named after the identifiers that it defines, on one such line or several:
 * library_select() gives those whose names occur in a text, and those that they need in turn, in the library's order.
 * `//{ name@feature` replaces the snippet `name` on targets with that feature; the last that fits wins. Lines outside
 * regions are for the file's own compilation and are not part of a library. */
#ifndef EINC_LIBRARY_H
#define EINC_LIBRARY_H

#include <stdbool.h>

#include "text.h"

typedef struct Hole {
    const char *name;
    const char *text;             /* whole lines; NULL: what stands there stays */
} Hole;

/* `skeleton` with its regions replaced. NULL when a region has no hole in `holes` or a hole no region: *culprit is its
 * name. Lines above the first line that reads "//---" are not copied. */
const char *template_fill(Arena *arena, const char *skeleton, const Hole *holes, int count, const char **culprit);

typedef struct Library Library;

/* The snippets of all library files. `has_feature` says whether the target has one. */
Library *library_new(Arena *arena, bool (*has_feature)(const void *target, const char *feature), const void *target);

/* Puts `text` in the place of a snippet: what the sample only stands for, such as LANES. */
void library_replace(Library *library, const char *name, const char *text);

/* The same for each snippet of a file that is in no library. */
void library_override(Library *library, const char *file);

/* The snippets that `text` needs, as text. */
const char *library_select(Library *library, const char *text);

/* Whether there is a snippet of that name. */
bool library_has(const Library *library, const char *name);

/* The embedded files: templates_embed in the Makefile makes them from templates/. */
typedef struct EmbeddedFile {
    const char *name;             /* "math.c" */
    const char *text;
    bool library;                 /* of snippets, not a skeleton */
} EmbeddedFile;

extern const EmbeddedFile embedded_files[];   /* ends in a NULL name */

const char *embedded_find(const char *name);

#endif
