#include "library.h"

#include <ctype.h>
#include <string.h>

typedef struct Snippet {
    const char *name;
    size_t name_length;
    const char *text;
    size_t length;
    bool chosen;                  /* the one of its name that fits the target */
    bool needed;
    int same;                     /* the snippet has several names: how many stand before this one */
} Snippet;

struct Library {
    Arena *arena;
    Snippet *snippets;
    int count;
    int *table;                   /* open addressing by name: snippet + 1, or 0 */
    size_t table_size;
};

const char *embedded_find(const char *name)
{
    for (const EmbeddedFile *file = embedded_files; file->name; file++)
        if (!strcmp(file->name, name))
            return file->text;
    return NULL;
}

/* ---- regions ---- */

typedef struct Line {
    const char *text;
    size_t length;                /* the newline included */
    const char *mark;             /* the name behind "//{", or NULL */
    size_t mark_length;
    bool end;                     /* "//}" */
} Line;

static Line next_line(const char **at)
{
    Line line = { .text = *at, .length = strcspn(*at, "\n") };
    const char *word = line.text + strspn(line.text, " \t");
    if (!strncmp(word, "//{ ", 4)) {
        line.mark = word + 4;
        line.mark_length = strcspn(line.mark, "\n");
    }
    line.end = !strncmp(word, "//}", 3);
    line.length += line.text[line.length] == '\n';
    *at += line.length;
    return line;
}

const char *template_fill(Arena *arena, const char *skeleton, const Hole *holes, int count, const char **culprit)
{
    Text text = text_new(arena);
    bool *used = ARENA_ARRAY(arena, bool, count), skipping = false, started = strstr(skeleton, "//---\n") == NULL;
    while (*skeleton) {
        Line line = next_line(&skeleton);
        if (!started) {
            started = !strncmp(line.text, "//---\n", 6);
        } else if (line.mark) {
            int h = 0;
            while (h < count && (strlen(holes[h].name) != line.mark_length ||
                                 memcmp(holes[h].name, line.mark, line.mark_length)))
                h++;
            if (h == count) {
                *culprit = arena_copy(arena, line.mark, line.mark_length);
                return NULL;
            }
            used[h] = true;
            text_put(&text, holes[h].text ? holes[h].text : "");
            skipping = holes[h].text != NULL;
        } else if (line.end) {
            skipping = false;
        } else if (!skipping) {
            text_add(&text, line.text, line.length);
        }
    }
    for (int h = 0; h < count; h++)
        if (!used[h]) {
            *culprit = holes[h].name;
            return NULL;
        }
    return text.bytes;
}

/* ---- snippets ---- */

static size_t hash(const char *name, size_t length)
{
    size_t h = 1469598103u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)name[i]) * 1099511u;
    return h;
}

static Snippet *find(const Library *library, const char *name, size_t length)
{
    for (size_t i = hash(name, length) % library->table_size;; i = (i + 1) % library->table_size) {
        if (!library->table[i])
            return NULL;
        Snippet *s = &library->snippets[library->table[i] - 1];
        if (s->name_length == length && !memcmp(s->name, name, length))
            return s;
    }
}

bool library_has(const Library *library, const char *name)
{
    return find(library, name, strlen(name)) != NULL;
}

/* One snippet under each of its names. */
static void append(Library *library, const char *names, Snippet snippet)
{
    for (; *names; snippet.same++) {
        snippet.name = names;
        snippet.name_length = strcspn(names, "@ ");
        ARENA_APPEND(library->arena, library->snippets, library->count, snippet);
        names += strcspn(names, " ");
        names += strspn(names, " ");
    }
}

void library_override(Library *library, const char *file)
{
    Snippet *s = NULL;
    while (*file) {
        Line line = next_line(&file);
        if (line.mark) {
            s = find(library, line.mark, line.mark_length);
            if (s) {
                s->text = file;
                s->length = 0;
            }
        } else if (line.end) {
            s = NULL;
        } else if (s) {
            s->length += line.length;
        }
    }
}

static void read_file(Library *library, const char *text, bool (*has_feature)(const void *, const char *),
                      const void *target)
{
    Text names = text_new(library->arena);
    const char *begin = NULL;
    while (*text) {
        Line line = next_line(&text);
        if (line.mark) {
            text_put(&names, names.length ? " " : "");
            text_add(&names, line.mark, line.mark_length);
            begin = text;
        } else if (line.end && names.length) {
            const char *feature = strchr(names.bytes, '@');
            if (!feature || has_feature(target, feature + 1))
                append(library, names.bytes, (Snippet){ .text = begin, .length = (size_t)(line.text - begin), .chosen = true });
            names = text_new(library->arena);
        }
    }
}

/* A later snippet of a name takes the place of an earlier one, and its place in the order. */
static void enter(Library *library, int snippet)
{
    const Snippet *s = &library->snippets[snippet];
    size_t i = hash(s->name, s->name_length) % library->table_size;
    for (; library->table[i]; i = (i + 1) % library->table_size) {
        Snippet *other = &library->snippets[library->table[i] - 1];
        if (other->name_length == s->name_length && !memcmp(other->name, s->name, s->name_length)) {
            other->chosen = false;
            break;
        }
    }
    library->table[i] = snippet + 1;
}

Library *library_new(Arena *arena, bool (*has_feature)(const void *target, const char *feature), const void *target)
{
    Library *library = ARENA_NEW(arena, Library);
    library->arena = arena;
    for (const EmbeddedFile *file = embedded_files; file->name; file++)
        if (file->library)
            read_file(library, file->text, has_feature, target);
    library->table_size = 4 * (size_t)library->count + 1;
    library->table = ARENA_ARRAY(arena, int, library->table_size);
    for (int i = 0; i < library->count; i++)
        enter(library, i);
    return library;
}

void library_replace(Library *library, const char *name, const char *text)
{
    Snippet *s = find(library, name, strlen(name));
    if (s) {
        s->text = text;
        s->length = strlen(text);
    }
}

/* Marks what a text needs, and what that needs. Comments are no uses. */
static void need(Library *library, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        if (text[i] == '/' && i + 1 < length && text[i + 1] == '*') {
            while (i + 1 < length && !(text[i] == '*' && text[i + 1] == '/'))
                i++;
            i += 2;
            continue;
        }
        if (!isalpha((unsigned char)text[i]) && text[i] != '_') {
            i++;
            continue;
        }
        size_t begin = i;
        while (i < length && (isalnum((unsigned char)text[i]) || text[i] == '_'))
            i++;
        Snippet *s = find(library, text + begin, i - begin);
        s = s ? s - s->same : NULL;
        if (s && !s->needed) {
            s->needed = true;
            need(library, s->text, s->length);
        }
    }
}

const char *library_select(Library *library, const char *text)
{
    Text selected = text_new(library->arena);
    for (int i = 0; i < library->count; i++)
        library->snippets[i].needed = false;
    need(library, text, strlen(text));
    for (int i = 0; i < library->count; i++)
        if (library->snippets[i].needed && library->snippets[i].chosen) {
            text_put(&selected, selected.length ? "\n" : "");
            text_add(&selected, library->snippets[i].text, library->snippets[i].length);
        }
    return selected.bytes;
}
