/* compile_search: which plan a program gets, by what its values in between take. */
#ifndef EINC_COMPILE_SEARCH_H
#define EINC_COMPILE_SEARCH_H

#include "compile.h"

typedef struct Search {
    Arena *arena;
    const CompileOptions *options;
    const bool *wanted;           /* by tensor id: the caller passes it */
    Diags *diags;
} Search;

/* Sets gathered, lowered and plan, and gives up the order where products as they are written take less and the budget asks for it.
 * `hints` becomes what they were made with. False after a diagnostic. */
bool search_plan(const Search *s, Compiled *c, PlanHints *hints);

/* compile.c: a broken invariant, if there is one, as a diagnostic; then false. */
bool compile_verify(const char *broken, const char *pass, Diags *diags);

#endif
