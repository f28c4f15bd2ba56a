#include "names.h"

#include <ctype.h>
#include <string.h>

/* Keywords of C11 and C++17, and macros that the included headers or compilers define in small letters. */
static const char *const reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "class", "compl", "const", "const_cast", "constexpr", "continue", "decltype", "default",
    "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
    "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "restrict",
    "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
    "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned",
    "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "linux", "unix", "i386", "near", "far",
    "signbit", "fpclassify", "isnan", "isinf", "isfinite", "isnormal", "isgreater", "isless", "isunordered", "NAN",
    "INFINITY", "HUGE_VAL", "HUGE_VALF", "NULL", "KERNEL", "STATUS", "FAIL", "Frame", "f", "frame", "unchanged", "soon", "lead", "points_apart", "points_turns", "points_step", "in", "own", "run", "args",
    "workspace", "bytes", "host", "task", "worker", "unit", "units", "count", "data", "shape", "stride", "argument", "main",
    "chain", "lane", "filled", "rest", "units_end", "memcpy", "memset", "memmove", "size_t", "offsetof", "part", "first_unit", "prepare", "is_stopped",
    "up", "overflow", "point", "points", "meets", "group", "with", "share", "full", "per_worker", "shared", "failure", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
    "uint64_t", "INT32_MAX", "INT32_MIN", "INT64_MAX", "INT64_MIN", "SIZE_MAX", "EOF", "MAXFLOAT", "M_E", "M_PI", "M_PI_2", "BAD_ARGUMENT",
    "BAD_SHAPES", "BAD_WORKSPACE", "BAD_MACHINE", "CANCELLED", "OUT_OF_RANGE", "EINC_HOST", "einc_host", NULL
};

Names names_new(Arena *arena, const Names *outer)
{
    return (Names){ .arena = arena, .outer = outer };
}

static unsigned hash_of(const char *name)
{
    unsigned hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static bool is_taken(const Names *names, const char *name)
{
    unsigned hash = hash_of(name);
    for (; names; names = names->outer) {
        for (int i = 0; i < names->count; i++)
            if (names->hashes[i] == hash && !strcmp(names->taken[i], name))
                return true;
        if (names->is_taken && names->is_taken(names->user, name))
            return true;
    }
    for (int i = 0; reserved[i]; i++)
        if (reserved[i][0] == name[0] && !strcmp(reserved[i], name))
            return true;
    return false;
}

/* Letters beyond ASCII are spelt by their number: 'é' is u00e9. */
static const char *to_ascii(Arena *arena, const char *word)
{
    char *plain = arena_alloc(arena, 6 * strlen(word) + 2), *to = plain;
    if (!isalpha((unsigned char)word[0]) && (unsigned char)word[0] < 0x80)
        *to++ = 'x';
    for (const unsigned char *c = (const unsigned char *)word; *c; c++) {
        if (*c < 0x80) {
            *to++ = isalnum(*c) ? (char)*c : '_';
            continue;
        }
        unsigned point = *c < 0xE0 ? *c & 0x1Fu : *c & 0x0Fu;
        while ((c[1] & 0xC0) == 0x80)
            point = point << 6 | (*++c & 0x3Fu);
        *to++ = 'u';
        for (int shift = 12; shift >= 0; shift -= 4)
            *to++ = "0123456789abcdef"[point >> shift & 15];
    }
    return plain;
}

bool names_is_numbered(const char *name)
{
    size_t length = strlen(name), digits = 0;
    while (digits < length && isdigit((unsigned char)name[length - 1 - digits]))
        digits++;
    return digits && digits < length && name[length - 1 - digits] == '_';
}

const char *names_user(Names *names, const char *word)
{
    return names_unique(names, names_is_numbered(word) ? arena_format(names->arena, "%s_", word) : word);
}

const char *names_unique(Names *names, const char *word)
{
    const char *base = to_ascii(names->arena, word), *name = base;
    for (int n = 2; is_taken(names, name); n++)
        name = arena_format(names->arena, "%s_%d", base, n);
    ARENA_APPEND(names->arena, names->taken, names->count, name);
    ARENA_APPEND(names->arena, names->hashes, names->hash_count, hash_of(name));
    return name;
}
