/* One file for several instruction sets: a section for each, and functions that call the best that the CPU has. The
 * sections are units as emit() makes them; macros give the names that they define at file scope an ending of their own. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

#define X86 "#if defined(__x86_64__) && defined(__GNUC__)\n"

/* ---- what a section defines ---- */

typedef struct Defined {
    Arena *arena;
    const char **names, **macros;
    int name_count, macro_count;
} Defined;

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void note(Defined *d, const char *name, size_t length, bool macro)
{
    const char ***list = macro ? &d->macros : &d->names;
    int *count = macro ? &d->macro_count : &d->name_count;
    for (int i = 0; i < *count; i++)
        if (strlen((*list)[i]) == length && !memcmp((*list)[i], name, length))
            return;
    const char *copy = arena_copy(d->arena, name, length);
    *list = arena_grow(d->arena, (void *)*list, (size_t)*count, sizeof **list);
    (*list)[(*count)++] = copy;
}

static bool is_macro(const Defined *d, const char *name, size_t length)
{
    for (int i = 0; i < d->macro_count; i++)
        if (strlen(d->macros[i]) == length && !memcmp(d->macros[i], name, length))
            return true;
    return false;
}

/* The word that ends before `end`, but for blanks and macros: in "typedef float f32u UNALIGNED;" it is f32u. */
static void note_before(Defined *d, const char *line, const char *end)
{
    const char *begin = end;
    do {
        for (end = begin; end > line && end[-1] == ' ';)
            end--;
        for (begin = end; begin > line && is_letter(begin[-1]);)
            begin--;
    } while (begin < end && is_macro(d, begin, (size_t)(end - begin)));
    if (begin < end && !isdigit((unsigned char)*begin))
        note(d, begin, (size_t)(end - begin), false);
}

/* enum { A = 1, B } */
static void note_constants(Defined *d, const char *at)
{
    for (at = strchr(at, '{') + 1; *at && *at != '}'; at += *at == ',') {
        at += strspn(at, " \n");
        size_t length = 0;
        while (is_letter(at[length]))
            length++;
        if (length)
            note(d, at, length, false);
        at += strcspn(at, ",}");
    }
}

/* A line that begins at the left: a definition, or the end of one. Over-eager is harmless: what is defined here is called
 * the same in all of the section. */
static void note_line(Defined *d, const char *line)
{
    size_t length = strcspn(line, "\n");
    const char *end = line + length, *attribute = strstr(line, "__attribute__");
    const char *call = memchr(line, '(', length), *array = memchr(line, '[', length), *is = memchr(line, '=', length);
    if (attribute && attribute < end && (!call || attribute < call))
        call = NULL;
    if (!strncmp(line, "enum", 4)) {
        note_constants(d, line);
    } else if (!strncmp(line, "typedef", 7) || line[0] == '}') {
        const char *stop = attribute && attribute < end ? attribute : memchr(line, ';', length);
        if (stop && stop > line + 1)
            note_before(d, line, stop);
    } else if (is_letter(line[0])) {
        const char *stop = call ? call : end;
        stop = array && array < stop ? array : stop;
        stop = is && is < stop ? is : stop;
        if (stop < end)
            note_before(d, line, stop);
    }
}

static Defined defined_by(Arena *arena, const char *section)
{
    Defined d = { .arena = arena };
    for (int pass = 0; pass < 2; pass++)    /* macros first */
        for (const char *line = section; *line; line += strcspn(line, "\n"), line += *line == '\n') {
            const char *word = line + strspn(line, " ");
            bool macro = !strncmp(word, "#define ", 8);
            size_t length = 0;
            for (word += 8; macro && is_letter(word[length]);)
                length++;
            if (macro && !pass)
                note(&d, word, length, true);
            else if (!macro && pass)
                note_line(&d, line);
        }
    return d;
}

/* ---- sections ---- */

/* The functions that the header declares are the dispatcher's; a section's are its own. */
static void put_section(Text *out, const char *section, const char *name)
{
    const char *heads[] = { arena_format(out->arena, "\nint %s_workspace(", name), arena_format(out->arena, "\nint %s(", name) };
    for (const char *next; *section; section = next) {
        next = section + strlen(section);
        for (int h = 0; h < 2; h++) {
            const char *at = strstr(section, heads[h]);
            next = at && at < next ? at : next;
        }
        text_add(out, section, (size_t)(next - section));
        if (*next) {
            text_put(out, "\nstatic ");
            next++;
            size_t length = strcspn(next, "(");
            text_add(out, next, length);
            next += length;
        }
    }
}

static void put_names(Text *out, const Defined *d, const char *name, const char *ending, bool only_public)
{
    const char *workspace = arena_format(out->arena, "%s_workspace", name);
    for (int i = 0; i < d->name_count; i++) {
        bool public = !strcmp(d->names[i], name) || !strcmp(d->names[i], workspace);
        if (ending)
            text_print(out, "#define %s %s_%s\n", d->names[i], d->names[i], ending);
        else if (public == only_public)
            text_print(out, "#undef %s\n", d->names[i]);
    }
}

/* " * target …" to the end of the title. */
static const char *plan_of(const EmittedUnit *unit)
{
    const char *plan = strstr(unit->source, "\n * target ");
    return plan ? plan + 1 : unit->source;
}

static void put_title(Text *out, const EmittedUnit *unit, const Target *const *targets, int count)
{
    text_add(out, unit->source, (size_t)(plan_of(unit) - unit->source));
    text_put(out, " * For ");
    for (int t = 0; t < count; t++)
        text_print(out, "%s%s", t ? t == count - 1 ? " and " : ", " : "", targets[t]->name);
    text_put(out, ": each call takes the first of these that the CPU has. */\n");
}

/* How compilers call a feature in __builtin_cpu_supports(); NULL for those that some of them do not know. */
static const char *builtin_name(Arena *arena, const char *word)
{
    Text name = text_new(arena);
    if (!target_may_ask(word))
        return NULL;
    for (; *word; word++)
        if (*word != '_')
            text_add(&name, word, 1);
    return name.bytes;
}

static void put_dispatcher(Text *out, const EmittedUnit *const *units, const Target *const *targets, int count, const char *head,
                           const char *call)
{
    text_print(out, "\n%s\n{\n" X86, head);
    for (int t = 0; t + 1 < count; t++) {
        char words[256], *rest = words;
        int tests = 0;
        snprintf(words, sizeof words, "%s", targets[t]->cpu);
        for (const char *word, *name; (word = strtok_r(rest, " ", &rest));)
            if ((name = builtin_name(out->arena, word)))
                text_print(out, "%s__builtin_cpu_%s(\"%s\")", tests++ ? " &&\n        " : "    if (", target_is_maker(word) ? "is" : "supports", name);
        if (units[t]->permission)
            text_print(out, " &&\n        %s_%s()", units[t]->permission, targets[t]->name);
        text_put(out, ")\n        return ");
        text_print(out, call, targets[t]->name);
    }
    text_put(out, "#endif\n    return ");
    text_print(out, call, targets[count - 1]->name);
    text_put(out, "}\n");
}

const EmittedUnit *emit_several(Arena *arena, const EmittedUnit *const *units, const Target *const *targets, int count,
                                const char *name, const char *more)
{
    Text out = text_new(arena), header = text_new(arena);
    EmittedUnit *all = ARENA_NEW(arena, EmittedUnit);
    *all = *units[0];
    all->target = targets[count - 1];
    put_title(&out, units[0], targets, count);
    put_title(&header, units[0], targets, count);
    const char *title_end = strstr(units[0]->source, " */\n") + 4;
    text_put(&header, strstr(units[0]->header, " */\n") + 4);
    text_add(&out, title_end, (size_t)(units[0]->section - title_end));
    for (int t = 0; t < count; t++) {
        Defined d = defined_by(arena, units[t]->section);
        const char *plan = plan_of(units[t]);
        bool last = t == count - 1;
        text_print(&out, "\n%s/* ---- %s ----\n *\n", targets[t]->attribute[0] ? X86 : "", targets[t]->name);
        text_add(&out, plan, (size_t)(strstr(plan, " */\n") + 4 - plan));
        put_names(&out, &d, name, targets[t]->name, false);
        put_section(&out, units[t]->section, name);
        put_names(&out, &d, name, NULL, true);
        if (last) {
            put_dispatcher(&out, units, targets, count, arena_format(arena, "int %s_workspace(const %s_args *args, int workers, size_t *bytes)",
                                                              name, name),
                           arena_format(arena, "%s_workspace_%%s(args, workers, bytes);\n", name));
            put_dispatcher(&out, units, targets, count, arena_format(arena, "int %s(const %s_args *args, void *workspace, size_t bytes, "
                                                              "const einc_host *host)", name, name),
                           arena_format(arena, "%s_%%s(args, workspace, bytes, host);\n", name));
            text_put(&out, more);
            break;
        }
        put_names(&out, &d, name, NULL, false);
        for (int i = 0; i < d.macro_count; i++)
            text_print(&out, "#undef %s\n", d.macros[i]);
        text_put(&out, targets[t]->attribute[0] ? "#endif\n" : "");
    }
    all->source = out.bytes;
    all->header = header.bytes;
    return all;
}
