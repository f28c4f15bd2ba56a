/* What the kernel's function may be called. */
#include <ctype.h>
#include <string.h>

#include "emitting.h"

/* Names in the headers that generated files include; with f or l behind it, too. */
static const char *const library_names[] = {
    "abort", "abs", "acos", "acosh", "aligned_alloc", "asin", "asinh", "atan", "atan2", "atanh", "atexit", "atof", "atoi",
    "atol", "atoll", "bcmp", "bcopy", "bsearch", "bzero", "calloc", "cbrt", "ceil", "clock", "copysign", "cos", "cosh", "div",
    "drem", "erf", "erfc", "exit", "exp", "exp2", "expm1", "fabs", "fclose", "fdim", "ffs", "fflush", "fgetc", "fgets",
    "finite", "floor", "fma", "fmax", "fmin", "fmod", "fopen", "fprintf", "fputc", "fputs", "fread", "free", "freopen",
    "frexp", "fscanf", "fseek", "ftell", "fwrite", "gamma", "getc", "getchar", "getenv", "gets", "hypot", "ilogb", "index",
    "isinf", "isnan", "j0", "j1", "jn", "ldexp", "ldiv", "lgamma", "llabs", "lldiv", "llrint", "llround", "log", "log10",
    "log1p", "log2", "logb", "lrint", "lround", "malloc", "memccpy", "memchr", "memcmp", "memcpy", "memmove", "memset",
    "modf", "nan", "nearbyint", "nextafter", "nexttoward", "perror", "pow", "printf", "putc", "putchar", "puts", "qsort",
    "quick_exit", "rand", "random", "realloc", "remainder", "remove", "remquo", "rename", "rewind", "rindex", "rint", "round",
    "scalb", "scalbln", "scalbn", "scanf", "significand", "sin", "sincos", "sinh", "snprintf", "sprintf", "sqrt", "srand",
    "sscanf", "stderr", "stdin", "stdout", "stpcpy", "strcat", "strchr", "strcmp", "strcoll", "strcpy", "strcspn", "strdup",
    "strerror", "strlen", "strncat", "strncmp", "strncpy", "strpbrk", "strrchr", "strsep", "strspn", "strstr", "strtod",
    "strtof", "strtok", "strtol", "strtold", "strtoll", "strtoul", "strxfrm", "swab", "system", "tan", "tanh", "tgamma",
    "tmpfile", "tmpnam", "trunc", "ungetc", "vfprintf", "vprintf", "vsprintf", "y0", "y1", "yn",
};

/* What else is defined in the file: the library's snippets, the C library, and the parts of templates/main.c. */
static bool is_taken(const void *library, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof library_names / sizeof *library_names; i++) {
        size_t n = strlen(library_names[i]);
        if (!strncmp(name, library_names[i], n) && (!name[n] || ((name[n] == 'f' || name[n] == 'l') && length == n + 1)))
            return true;
    }
    return library_has(library, name);
}

/* Functions and variables of a kernel are called so, with a number behind it. */
static const char *const numbered[] = { "step_", "merge_", "launch_", "tile_", "multiply_", "pack_columns_", "pack_rows_",
                                        "after_", "finish_", "order_", "count_better_", "swap_", "merge_pairs_", "settle_", "bound_",
                                        "chosen_", "add_", "scan_", "rank_" };
static const char *const variables[] = { "panels", "kept", "packed", "units", "grain", "tasks", "past", "odd", "sorted", "ranked", "seen",
                                         "spots", "parts", "waiting", "noted", "finite", "sums" };

bool emit_numbers(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++)
        if (!strncmp(name, numbered[i], length) && !strcmp(numbered[i] + length, "_"))
            return true;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (!strcmp(name, variables[i]))
            return true;
    return false;
}

/* Whether a function of the kernel or of templates/main.c has or could have that name. */
static bool is_own(const char *name)
{
    for (size_t i = 0; i < sizeof numbered / sizeof *numbered; i++)
        if (!strncmp(name, numbered[i], strlen(numbered[i])) && isdigit((unsigned char)name[strlen(numbered[i])]))
            return true;
    return !strcmp(name, "main") || !strncmp(name, "main_", 5) || !strncmp(name, "einc_host", 9);
}

static Names free_names(Arena *arena, const Target *target)
{
    Names names = names_new(arena, NULL);
    names.is_taken = is_taken;
    names.user = library_new(arena, target_has_feature, target);
    return names;
}

const char *emit_name_from(Arena *arena, const Target *target, const char *word)
{
    Names names = free_names(arena, target);
    if (!isalnum((unsigned char)word[0]) && word[0] != '_')
        return "einc_kernel";
    return names_unique(&names, is_own(word) ? arena_format(arena, "kernel_%s", word) : word);
}

const char *emit_name_fault(Arena *arena, const Target *target, const char *name)
{
    Names names = free_names(arena, target);
    bool word = *name && !isdigit((unsigned char)*name);
    for (const char *c = name; *c; c++)
        word &= isalnum((unsigned char)*c) || *c == '_';
    if (!word)
        return arena_format(arena, "'%s' is no name for a C function", name);
    if (is_own(name) || strcmp(names_unique(&names, name), name))
        return arena_format(arena, "a function cannot be called '%s': C, its library or the kernel itself has that name", name);
    return NULL;
}
