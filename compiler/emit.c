/* The file: title, declarations, the library's snippets that it needs, frame, functions, and the kernel itself. */
#include "emit.h"

#include <ctype.h>
#include <string.h>

#include "emitting.h"

enum { WIDTH = 118 };

/* ---- lines that are too long ---- */

/* Where a line is best broken: behind ", " or before an operator, as far outside of parentheses and as late as can be. */
static size_t break_at(const char *line, size_t indent, size_t room)
{
    size_t best = 0;
    int depth = 0, least = 1000;
    for (size_t i = indent; i < room && line[i]; i++) {
        depth += line[i] == '(' ? 1 : line[i] == ')' ? -1 : 0;
        size_t at = 0;
        if (line[i] == ',' && line[i + 1] == ' ')
            at = i + 1;
        else if (line[i] == ' ' && strchr("+-|&<>?:", line[i + 1]) && line[i + 1] && strchr(" &|=", line[i + 2]))
            at = i;
        if (at > indent + 40 && depth <= least) {
            best = at;
            least = depth;
        }
    }
    return best;
}

static void wrap_line(Text *out, const char *line, size_t length)
{
    size_t indent = strspn(line, " "), before = 0;
    bool wraps = line[indent] != '#' && strncmp(line + indent, "/*", 2) && strncmp(line + indent, "* ", 2);
    while (wraps && before + length > WIDTH) {
        size_t at = break_at(line, before ? 0 : indent, WIDTH - before);
        if (!at)
            break;
        text_print(out, "%*s", (int)before, "");
        text_add(out, line, at);
        text_put(out, "\n");
        line += at + 1;
        length -= at + 1;
        before = indent + 8;
    }
    text_print(out, "%*s", (int)before, "");
    text_add(out, line, length);
}

const char *emit_wrap(Arena *arena, const char *text)
{
    Text out = text_new(arena);
    while (*text) {
        size_t length = strcspn(text, "\n");
        wrap_line(&out, text, length);
        text += length;
        if (*text) {
            text_put(&out, "\n");
            text++;
        }
    }
    return out.bytes;
}

/* ---- the title ---- */

/* Text in a comment: no line may end it. */
static void comment(Text *out, const char *text)
{
    for (; *text; text++) {
        if (text[0] == '\n')
            text_put(out, text[1] ? "\n * " : "");
        else if (text[0] == '*' && text[1] == '/')
            text_put(out, "* ");
        else if (text[0] == '/' && text[1] == '*')
            text_put(out, "/ ");
        else
            text_add(out, text, 1);
    }
}

const char *emit_title(Emitter *e)
{
    Text out = text_new(e->arena), program = text_new(e->arena), plan = text_new(e->arena);
    program_print(&program, e->plan->program);
    plan_dump(&plan, e->plan);
    text_put(&out, "/* ");
    comment(&out, e->options->command ? e->options->command : "made by einc");
    text_put(&out, "\n *\n *     ");
    for (const char *c = program.bytes; *c; c++) {
        if (*c == '\n')
            text_put(&out, "\n *     ");
        else
            comment(&out, (char[]){ *c, 0 });
    }
    text_put(&out, "\n *\n * ");
    comment(&out, emit_wrap(e->arena, plan.bytes));
    text_put(&out, " */\n");
    return out.bytes;
}

/* ---- the library ---- */

/* Without lanes nothing is for a certain machine. */
static bool has_none(const void *target, const char *feature)
{
    (void)target;
    (void)feature;
    return false;
}

static bool is_library_name(const void *user, const char *name)
{
    return library_has(user, name);
}

/* A macro in front of a helper: `how` it is compiled, for the plan's instruction set; `also`: what only gcc knows. */
static const char *helper_macro(Emitter *e, const char *comment, const char *name, const char *how, const char *also, const char *plain)
{
    const char *target = e->plan->target->attribute, *on = target[0] ? emit_text(e, ", target(\"%s\")", target) : "";
    const char *known = emit_text(e, "#define %s %s __attribute__((%s, unused%s))\n", name, plain, how, on), *first = "#ifdef __GNUC__\n";
    if (also[0])
        first = emit_text(e, "#if defined(__GNUC__) && !defined(__clang__)\n#define %s %s __attribute__((%s, %s, unused%s))\n"
                          "#elif defined(__GNUC__)\n", name, plain, how, also, on);
    return emit_text(e, "/* %s */\n%s%s#else\n#define %s %s\n#endif\n", comment, first, known, name, plain);
}

/* gcc's induction variables may address one array by the pointer of another, with a base of 0, which its analysis of pure
 * functions takes for a null pointer (seen in gcc 12): it would drop the call. noipa keeps it from looking. */
static const char *kernel_macro(Emitter *e)
{
    const char *target = e->plan->target->attribute, *on = target[0] ? emit_text(e, "target(\"%s\")", target) : "";
    return emit_text(e, "#if defined(__clang__)\n#define KERNEL __attribute__((%s))\n#elif defined(__GNUC__)\n"
                     "#define KERNEL __attribute__((noipa%s%s))\n#else\n#define KERNEL\n#endif\n\n", on, on[0] ? ", " : "", on);
}

static const char *prelude(Emitter *e, const char *body)
{
    library_replace(e->library, "INLINE", helper_macro(e, "Helpers are inlined; all functions are for the same instruction set.",
                                                       "INLINE", "always_inline", "", "static inline"));
    library_replace(e->library, "APART", helper_macro(e, "Of what is long and seldom in a hurry one copy keeps the compile short.",
                                                      "APART", "noinline", "noclone", "static"));
    library_replace(e->library, "LANES", emit_text(e, "#if EINC_VECTORS\n#define LANES %d\n#else\n#define LANES 1\n#endif\n",
                                                   e->plan->lanes));
    int bytes = 8 * e->plan->lanes, most = e->plan->target->vector_bytes;
    library_replace(e->library, "LONG",
                    emit_text(e, "/* A vector of elements of 8 bytes may take several registers, and is aligned as one of them. */\n"
                              "#define LONG __attribute__((vector_size(8 * LANES), aligned(%d), may_alias))\n",
                              bytes < most ? bytes : most));
    if (e->plan->lanes == 1)
        library_replace(e->library, "EINC_VECTORS", "/* Nothing here has lanes. */\n#define EINC_VECTORS 0\n");
    return emit_text(e, "%s%s", kernel_macro(e), library_select(e->library, body));
}

/* ---- what holds for the whole lowered program ---- */

/* Whether a term reads where the entry has not checked, in reductions inside too; or, when `loops`, has a reduction. */
static bool holds(const Emitter *e, const Term *term, bool loops)
{
    const bool *of = loops ? e->fixed : e->misses;
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            if (emit_is_unsafe(e, term, a))
                return true;
        return false;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            if (of[term->map.arguments[i]->id])
                return true;
        return false;
    case TERM_SELECT: return of[term->select.condition->id] || of[term->select.yes->id] || of[term->select.no->id];
    case TERM_CONTRACT:
    case TERM_REDUCE: return loops || of[term->reduce.argument->id];
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
    return false;
}

static void count_uses(Emitter *e, const Term *term)
{
    switch (term->kind) {
    case TERM_READ:
        for (int a = 0; a < term->read.tensor->rank; a++)
            for (int k = 0; k < term->read.positions[a].count; k++)
                if (term->read.positions[a].parts[k].gather)
                    e->uses[term->read.positions[a].parts[k].gather->id] += 2;    /* in offset and range check */
        break;
    case TERM_MAP:
        for (int i = 0; i < term->map.count; i++)
            e->uses[term->map.arguments[i]->id]++;
        break;
    case TERM_SELECT:
        e->uses[term->select.condition->id] += 2;
        e->uses[term->select.yes->id]++;
        e->uses[term->select.no->id]++;
        break;
    case TERM_CONTRACT:
    case TERM_REDUCE: e->uses[term->reduce.argument->id] += state_uses(term); break;
    case TERM_CONSTANT:
    case TERM_POSITION:
    case TERM_EXTENT: break;
    }
}

/* ---- the whole ---- */

const Term *emit_culprit(const Program *program, int status)
{
    int number = -16 - status;
    return number >= 0 && number < program->term_count ? program->terms[number] : NULL;
}

static const char *kernel_head(Emitter *e, bool workspace)
{
    const char *name = e->options->name;
    return workspace ? emit_text(e, "int %s_workspace(const %s_args *args, int workers, size_t *bytes)\n", name, name)
                     : emit_text(e, "int %s(const %s_args *args, void *workspace, size_t bytes, const einc_host *host)\n", name, name);
}

/* Everything below the prelude, in a form in which the library can see what it needs. */
static const char *fill(Emitter *e, const char *skeleton, const char *prelude, const char **culprit)
{
    Hole holes[] = {
        { "title", emit_title(e) },
        { "declarations", e->declarations },
        { "prelude", prelude },
        { "frame", e->frame },
        { "functions", emit_wrap(e->arena, e->functions.bytes) },
        { "prepare", emit_wrap(e->arena, e->prepare) },
        { "workspace_head", kernel_head(e, true) },
        { "kernel_head", kernel_head(e, false) },
        { "launches", emit_wrap(e->arena, e->run) },
    };
    return template_fill(e->arena, skeleton, holes, sizeof holes / sizeof *holes, culprit);
}

static const char *guard_of(Emitter *e)
{
    char *guard = arena_format(e->arena, "%s_H", e->options->name);
    for (char *c = guard; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return guard;
}

/* Names, extents, and what is known of each term. */
Emitter *emit_begin(Arena *arena, const Plan *plan, const EmitOptions *options)
{
    Emitter *e = emit_list(arena, plan, options);
    const Program *lowered = plan->lowered;
    e->functions = text_new(arena);
    e->library = library_new(arena, plan->lanes > 1 || plan->target->grid ? target_has_feature : has_none, plan->target);
    e->names = names_new(arena, NULL);
    e->names.is_taken = is_library_name;
    e->names.user = e->library;
    names_unique(&e->names, options->name);
    if (plan->target->grid)
        emit_grid_reserve(e);
    emit_name_frame(e);
    e->certain = ARENA_ARRAY(arena, bool, plan->program->term_count);
    e->misses = ARENA_ARRAY(arena, bool, lowered->term_count);
    e->fixed = ARENA_ARRAY(arena, bool, lowered->term_count);
    e->uses = ARENA_ARRAY(arena, int, lowered->term_count);
    e->block_first = ARENA_ARRAY(arena, const char *, lowered->index_count);
    e->block_end = ARENA_ARRAY(arena, const char *, lowered->index_count);
    e->block_now = ARENA_ARRAY(arena, const char *, lowered->index_count);
    e->calls[0] = ARENA_ARRAY(arena, const char *, plan->step_count);
    e->calls[1] = ARENA_ARRAY(arena, const char *, plan->step_count);
    e->prepare = emit_prepare(e);    /* decides which reads are certain */
    for (int i = 0; i < lowered->term_count; i++) {
        e->misses[i] = holds(e, lowered->terms[i], false);
        e->fixed[i] = holds(e, lowered->terms[i], true);
        count_uses(e, lowered->terms[i]);
    }
    emit_find_needs(e);
    return e;
}

static const char *for_both_languages(Emitter *e, const char *declarations)
{
    return emit_text(e, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n%s\n#ifdef __cplusplus\n}\n#endif\n", declarations);
}

/* What the source and the header declare. */
void emit_declare(Emitter *e, const char *source, const char *header)
{
    const char *guard = guard_of(e);
    e->exported = for_both_languages(e, header);
    e->declarations = emit_text(e, "#ifndef %s\n#define %s\n%s#endif\n", guard, guard, for_both_languages(e, source));
}

EmittedUnit *emit_end(Emitter *e, const EmittedUnit *unit, const char *source)
{
    const char *guard = guard_of(e);
    EmittedUnit *whole = ARENA_NEW(e->arena, EmittedUnit);
    *whole = *unit;
    whole->source = source;
    whole->section = strstr(source, e->declarations) + strlen(e->declarations);
    whole->header = emit_text(e, "%s#ifndef %s\n#define %s\n\n#include <stddef.h>\n#include <stdint.h>\n\n%s\n#endif\n",
                              emit_title(e), guard, guard, e->exported);
    whole->arguments = e->arguments;
    return whole;
}

EmittedUnit *emit(Arena *arena, const Plan *plan, const EmitOptions *options, const EmittedUnit *unit, const char **fault)
{
    Emitter *e = emit_begin(arena, plan, options);
    for (int l = 0; l < plan->launch_count; l++)
        emit_launch(e, plan->launches[l]);
    e->run = emit_run(e);
    e->frame = emit_frame(e, "    char *workspace;\n    const einc_host *host;\n    int *status;\n");
    e->declarations = emit_declarations(e);
    emit_declare(e, e->declarations, e->declarations);

    const char *skeleton = embedded_find("kernel.c");
    const char *draft = fill(e, skeleton, "", fault);
    const char *source = draft ? fill(e, skeleton, prelude(e, draft), fault) : NULL;
    return source ? emit_end(e, unit, source) : NULL;
}
