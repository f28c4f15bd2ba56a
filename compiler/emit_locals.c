/* What a function's text mentions, and the local variables that are declared for it. */
#include <ctype.h>
#include <string.h>

#include "emitting.h"

bool emit_mentions(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length) {
        bool before = at != text && (isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '.' || at[-1] == '>');
        bool after = isalnum((unsigned char)at[length]) || at[length] == '_';
        if (!before && !after)
            return true;
    }
    return false;
}

/* The words of texts, members of structs left out: what emit_mentions() finds, for many names. */
typedef struct Words {
    Arena *arena;
    const char **slots;           /* each a word's beginning, or NULL */
    size_t slot_count, count;     /* a power of two, no more than half of them taken */
} Words;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word_length(const char *text)
{
    size_t length = 0;
    while (is_word(text[length]))
        length++;
    return length;
}

/* Where a word is, or where it would be. */
static const char **find_word(const Words *w, const char *word, size_t length)
{
    size_t hash = 5381;
    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)word[i];
    for (size_t at = hash & (w->slot_count - 1);; at = (at + 1) & (w->slot_count - 1))
        if (!w->slots[at] || (!strncmp(w->slots[at], word, length) && !is_word(w->slots[at][length])))
            return &w->slots[at];
}

static void add_word(Words *w, const char *word, size_t length)
{
    if (2 * w->count >= w->slot_count) {
        Words more = { w->arena, NULL, w->slot_count ? 2 * w->slot_count : 256, w->count };
        more.slots = ARENA_ARRAY(w->arena, const char *, more.slot_count);
        for (size_t i = 0; i < w->slot_count; i++)
            if (w->slots[i])
                *find_word(&more, w->slots[i], word_length(w->slots[i])) = w->slots[i];
        *w = more;
    }
    const char **slot = find_word(w, word, length);
    w->count += !*slot;
    *slot = word;
}

static void add_words(Words *w, const char *text)
{
    for (const char *at = text; *at;) {
        size_t length = word_length(at);
        bool member = at != text && (at[-1] == '.' || at[-1] == '>');
        if (length && !member)
            add_word(w, at, length);
        at += length ? length : 1;
    }
}

typedef struct Declarations {
    Words mentioned;
    const char **list;            /* the last first: each mentions only what comes behind it here */
    int count;
} Declarations;

static bool wants(const Declarations *d, const char *name)
{
    return d->mentioned.slot_count && *find_word(&d->mentioned, name, strlen(name));
}

static void declare(Emitter *e, Declarations *d, const char *text)
{
    add_words(&d->mentioned, strchr(text, '=') + 1);
    ARENA_APPEND(e->arena, d->list, d->count, text);
}

static void declare_number(Emitter *e, Declarations *d, const char *name)
{
    if (wants(d, name))
        declare(e, d, emit_text(e, "const int64_t %s = f->%s;", name, name));
}

static void declare_sizes(Emitter *e, Declarations *d)
{
    const Program *p = e->plan->program;
    for (int i = e->size_count - 1; i >= 0; i--)
        declare_number(e, d, e->sizes[i]->name);
    for (int i = p->index_count - 1; i >= 0; i--)
        if (e->extents[i] && isalpha((unsigned char)e->extents[i][0]))
            declare_number(e, d, e->extents[i]);
}

static bool is_unit(const Emitter *e, const Tensor *tensor, int axis)
{
    for (int u = 0; u < e->step->units.count; u++)
        if (e->step->units.list[u].tensor == tensor && e->step->units.list[u].axis == axis)
            return true;
    return false;
}

/* A part of the workspace: "(f32u *)(own + at_tmp1)". */
static const char *part_of(Emitter *e, const char *type, bool shared, const Size *offset)
{
    const char *base = shared ? "f->workspace" : "own";
    if (size_is_constant(offset, 0))
        return emit_text(e, "(%s *)%s", type, base);
    return emit_text(e, "(%s *)(%s + %s)", type, base, emit_size(e, offset));
}

/* A stride is a product of sizes that the entry has found to fit: no more than a multiplication. */
static const char *spell_stride(Emitter *e, const Size *stride)
{
    if (stride->kind != SIZE_MUL)
        return emit_size(e, stride);
    return emit_text(e, "%s * %s", spell_stride(e, stride->a), spell_stride(e, stride->b));
}

static void declare_tensor(Emitter *e, Declarations *d, const Tensor *tensor)
{
    const Storage *storage = &e->plan->storage[tensor->id];
    const char *name = e->pointers[tensor->id], *member = e->members[tensor->id], *element = emit_element(tensor->dtype);
    const char *constant = tensor->maker ? "" : "const ";
    for (int a = tensor->rank - 1; a >= 0; a--) {
        const char *stride = e->strides[tensor->id][a];
        if (!strcmp(stride, "1") || !wants(d, stride))
            continue;
        const char *value = storage->place != PLACE_CALLER ? spell_stride(e, storage->stride[a])
                                                           : emit_text(e, "%sf->in.%s.stride[%d]", tensor->whole ? "2 * " : "", member, a);
        if (is_unit(e, tensor, a))
            value = emit_text(e, "unit ? 1 : %s", value);
        declare(e, d, emit_text(e, "const int64_t %s = %s;", stride, value));
    }
    if (!wants(d, name))
        return;
    if (storage->place == PLACE_CALLER)
        declare(e, d, emit_text(e, "%s%s *%s = (%s%s *)f->in.%s.data;", constant, element, name, constant, element, member));
    else
        declare(e, d, emit_text(e, "%s *%s = %s;", element, name,
                                part_of(e, element, storage->place == PLACE_SHARED, storage->offset)));
}

static void declare_scratch(Emitter *e, Declarations *d)
{
    for (int i = e->plan->scratch_count - 1; i >= 0; i--) {
        const Scratch *s = &e->plan->scratch[i];
        const char *type = s->shared ? emit_element(s->dtype) : dtype_c(s->dtype);
        const char *thread = "";      /* each thread of a grid has a list of its own */
        if (!s->shared && e->plan->target->grid)
            thread = emit_text(e, " + threadIdx.x * %lld", (long long)s->step->statement->outputs[0].value->reduce.parameter);
        if (wants(d, s->name))
            declare(e, d, emit_text(e, "%s *%s = %s%s;", type, s->name, part_of(e, type, s->shared, s->offset), thread));
    }
}

/* The locals that a body mentions, in an order in which each comes after what it mentions itself. */
const char *emit_locals(Emitter *e, const char *body)
{
    Declarations d = { .mentioned = { .arena = e->arena } };
    add_words(&d.mentioned, body);
    declare_scratch(e, &d);
    for (int t = e->plan->lowered->tensor_count - 1; t >= 0; t--) {
        const Tensor *tensor = e->plan->lowered->tensors[t];
        if (tensor->home == tensor && e->pointers[t])
            declare_tensor(e, &d, tensor);
    }
    declare_sizes(e, &d);
    /* Neighbours of one type share a line. */
    static const char type[] = "const int64_t ";
    Text text = text_new(e->arena);
    size_t line = 0;
    for (int i = d.count - 1; i >= 0; i--) {
        const char *declaration = d.list[i];
        size_t length = strlen(declaration);
        bool joins = line && !strncmp(declaration, type, sizeof type - 1) && line + length < 100;
        if (joins) {
            text.length -= 2;    /* ";\n" */
            text_print(&text, ", %s\n", declaration + sizeof type - 1);
            line += length;
        } else {
            text_print(&text, "    %s\n", declaration);
            line = strncmp(declaration, type, sizeof type - 1) ? 0 : length;
        }
    }
    return text.bytes;
}
