/* A kernel and a main() around it, in one file: templates/main.c. */
#ifndef EINC_STANDALONE_H
#define EINC_STANDALONE_H

#include "compile.h"

/* A main() to stand behind the kernel's source. NULL and *fault when the template does not fit, which is a fault of
 * einc. */
const char *standalone_program(Arena *arena, const Compiled *compiled, const char *name, const char **fault);

#endif
