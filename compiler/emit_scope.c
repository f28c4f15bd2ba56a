/* Blocks of generated code. While one is written, terms that do not depend on its loop go to the blocks around it, which
 * is why a block joins the outer text only when it is finished. */
#include <ctype.h>
#include <string.h>

#include "emitting.h"

const char *emit_text(Emitter *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vformat(e->arena, format, arguments);
    va_end(arguments);
    return text;
}

void emit_line(Emitter *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_print(&e->scope->text, "%*s", 4 * e->scope->indent, "");
    text_vprint(&e->scope->text, format, arguments);
    text_put(&e->scope->text, "\n");
    va_end(arguments);
}

Scope *emit_push(Emitter *e)
{
    Scope *scope = ARENA_NEW(e->arena, Scope);
    scope->outer = e->scope;
    scope->text = text_new(e->arena);
    scope->indent = e->scope ? e->scope->indent + 1 : 1;
    scope->names = names_new(e->arena, &e->names);
    if (e->scope) {
        scope->count = e->scope->count;
        scope->active = e->scope->active;
    }
    return e->scope = scope;
}

Scope *emit_pop(Emitter *e)
{
    Scope *scope = e->scope;
    e->scope = scope->outer;
    return scope;
}

void emit_body(Emitter *e, const Scope *block)
{
    text_add(&e->scope->text, block->text.bytes, block->text.length);
}

void emit_bind(Emitter *e, const Index *index, const char *name)
{
    Bound *bound = ARENA_NEW(e->arena, Bound);
    *bound = (Bound){ e->scope->bound, index, name };
    e->scope->bound = bound;
}

const char *emit_bound(const Emitter *e, const Index *index)
{
    for (const Scope *s = e->scope; s; s = s->outer)
        for (const Bound *b = s->bound; b; b = b->next)
            if (b->index == index)
                return b->name;
    return NULL;
}

void emit_know(Emitter *e, const Term *term, Value value)
{
    Known *known = ARENA_NEW(e->arena, Known);
    *known = (Known){ e->scope->known, term, value };
    e->scope->known = known;
}

const Value *emit_known(const Emitter *e, const Term *term)
{
    for (const Scope *s = e->scope; s; s = s->outer)
        for (const Known *k = s->known; k; k = k->next)
            if (k->term == term)
                return &k->value;
    return NULL;
}

/* Names are fresh in the whole function: a term that is written into an outer block comes after inner names. */
const char *emit_name(Emitter *e, const char *word)
{
    Scope *function = e->scope;
    while (function->outer)
        function = function->outer;
    return names_unique(&function->names, word);
}

const char *emit_active(Emitter *e)
{
    if (e->scope->active)
        return e->scope->active;
    return e->scope->count ? emit_text(e, "first_boolv(%s)", e->scope->count) : NULL;
}

const char *emit_bare(Emitter *e, const char *text)
{
    size_t length = strlen(text);
    int depth = 0;
    if (text[0] != '(' || text[length - 1] != ')')
        return text;
    for (size_t i = 0; i < length - 1; i++) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0)
            return text;
    }
    return arena_copy(e->arena, text + 1, length - 2);
}

/* ---- what nothing reads ---- */

/* The name that a line declares, "" for none: "const T name = ...;" with one name. */
static const char *declared_name(Arena *arena, const char *line)
{
    const char *at = line + strspn(line, " "), *equals = strstr(at, " = "), *more = equals ? strstr(equals, ", ") : NULL;
    if (!equals || !isalpha((unsigned char)*at) || line[strlen(line) - 1] != ';')
        return "";
    for (; more; more = strstr(more + 1, ", ")) {      /* ", x = " declares another */
        const char *end = more + 2;
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        if (!strncmp(end, " = ", 3))
            return "";
    }
    const char *name = equals;
    while (name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    bool typed = name > at && (name[-1] == ' ' || name[-1] == '*');
    return typed && name < equals ? arena_copy(arena, name, (size_t)(equals - name)) : "";
}

/* The last first, since one may be for another. */
/* Whether a line behind the i-th one, in its block or inside of it, mentions a name. */
static bool is_read_behind(const char *const *lines, int count, int i, const char *name)
{
    size_t indent = strspn(lines[i], " ");
    for (int k = i + 1; k < count && !(lines[k] && lines[k][0] && strspn(lines[k], " ") < indent); k++)
        if (lines[k] && emit_mentions(lines[k], name))
            return true;
    return false;
}

/* What remains of a line whose variable nothing reads: a call that leaves the rest of a number to the lines behind. NULL: nothing. */
static const char *what_remains(Arena *arena, const char *const *lines, int count, int i)
{
    const char *call = strstr(lines[i], "take_index(&"), *rest = call ? strchr(call, '&') + 1 : NULL;
    if (!call || !is_read_behind(lines, count, i, arena_copy(arena, rest, strcspn(rest, ","))))
        return NULL;
    const char *end = rest;
    for (int depth = 1; depth > 0; end++)
        depth += *end == '(' ? 1 : *end == ')' ? -1 : 0;
    return arena_format(arena, "%*s%.*s;", (int)strspn(lines[i], " "), "", (int)(end - call), call);
}

const char *emit_without_unread(Arena *arena, const char *text)
{
    const char **lines = NULL;
    int count = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *line = arena_copy(arena, at, strcspn(at, "\n"));
        ARENA_APPEND(arena, lines, count, line);
    }
    for (int i = count - 1; i >= 0; i--) {
        const char *name = declared_name(arena, lines[i]);
        if (name[0] && !is_read_behind(lines, count, i, name))
            lines[i] = what_remains(arena, lines, count, i);
    }
    Text out = text_new(arena);
    for (int i = 0; i < count; i++)
        if (lines[i])
            text_print(&out, "%s\n", lines[i]);
    return out.bytes;
}
