/* What becomes of a tile's sums: the first reduction behind the product takes them, or the step stores them. */
#include <string.h>

#include "emit_block.h"

/* A function that may have the sums, too. */
static const char *function(Emitter *e, const BlockTiling *t, const char *comment, const char *name, const char *body, bool sums)
{
    const char *list = emit_parameters(e, &t->parameters, body, true);
    if (sums)
        list = emit_text(e, "%s%s%s sums[HIGH_%d][WIDE_%d]", strcmp(list, "void") ? list : "", strcmp(list, "void") ? ", " : "",
                         dtype_c(t->dtype), t->number, t->number);
    return emit_text(e, "/* %s */\n%sINLINE void %s_%d(%s)\n{\n%s}\n", comment, sums ? "template <int IS_WHOLE>\n" : "", name, t->number,
                     list, body);
}

/* The state of a part, for the merge. */
static void put_part(Emitter *e, int r, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    const char *offset = emit_part_offset(e, "part");
    for (int i = 0, n = state_components(e->step->roots[r], components); i < n; i++)
        emit_store_part(e, emit_part_of(e, r, i), offset, false, names[i]);
}

/* One sum is taken, or stored. */
void block_use_sum(Emitter *e, const BlockTiling *t, const char *sum)
{
    block_know_sum(e, t, sum);
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        const char *names[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            names[i] = emit_text(e, "%s[c]", block_state(e, r, &components[i]));
        emit_state_step(e, t->first[r], names, false, state_needs_place(t->first[r]) ? emit_place(e, t->first[r], false) : NULL);
    }
    if (t->step->split && !t->first_count)
        put_part(e, 0, &sum);
    for (int o = 0; o < t->step->statement->output_count && !t->first_count && !t->step->split; o++)
        emit_store(e, &t->step->statement->outputs[o]);
}

/* Loops over a thread's rows and columns of a tile, around what is written between the two. One of the columns that is not there is
 * taken for the last, or left out. `unless`: in front of the tests, what says that all are there. */
static void open_sums(Emitter *e, BlockTiling *t, bool clamps, const char *unless)
{
    block_open(e, t);
    block_bind_kept(e, t);
    emit_push(e)->loop = true;
    emit_line(e, "const int64_t row_at = row + row_%d(r);", t->number);
    emit_line(e, "if (%srow_at >= rows)", unless);
    emit_line(e, "    break;");
    block_decode(e, t, &t->c->rows, t->rows, "row_at");
    emit_push(e)->loop = true;
    if (clamps) {
        emit_line(e, "const int64_t column_at = size_min(column + column_%d(c), columns - 1);", t->number);
    } else {
        emit_line(e, "const int64_t column_at = column + column_%d(c);", t->number);
        emit_line(e, "if (%scolumn_at >= columns)", unless);
        emit_line(e, "    break;");
    }
    block_decode(e, t, &t->c->columns, t->columns, "column_at");
}

void block_close_sums(Emitter *e, const BlockTiling *t)
{
    static const char *const loops[] = { "for (int c = 0; c < WIDE_%d; c++) {", "for (int r = 0; r < HIGH_%d; r++) {" };
    for (int i = 0; i < 2; i++) {
        Scope *body = emit_pop(e);
        emit_line(e, "UNROLL");
        emit_line(e, loops[i], t->number);
        emit_body(e, body);
        emit_line(e, "}");
    }
}

const char *block_take(Emitter *e, BlockTiling *t, const char **call)
{
    bool takes = t->first_count > 0;    /* nobody asks what a column finds that is not there */
    open_sums(e, t, takes, "!IS_WHOLE && ");
    const char *test = t->inside_count ? emit_bare(e, emit_conditions(e, t->inside, t->inside_count)) : NULL;
    if (test)
        emit_push(e)->branch = true;
    block_use_sum(e, t, "sums[r][c]");
    if (test) {
        Scope *chosen = emit_pop(e);
        emit_line(e, "if (%s) {", test);
        emit_body(e, chosen);
        emit_line(e, "}");
    }
    block_close_sums(e, t);
    const char *text = block_close(e), *name = takes ? "take" : "store";
    const char *list = emit_parameters(e, &t->parameters, text, false);
    *call = emit_text(e, "%s_%d<%%d>(%s%ssums);", name, t->number, list, list[0] ? ", " : "");
    const char *comment = takes ? "The first reduction takes the sums of a tile, of which all or some rows and columns are there."
                                : "Stores what comes of the sums of a tile, of which all or some rows and columns are there.";
    return function(e, t, comment, name, text, true);
}

/* Whether somebody asks for a sum of the tile: all threads have the same answer. */
const char *block_meet(Emitter *e, BlockTiling *t, const char **call)
{
    *call = "";
    if (!t->asked)
        return "";
    open_sums(e, t, false, "");
    emit_line(e, "is_met |= %s;", emit_bare(e, emit_term(e, t->asked).text));
    block_close_sums(e, t);
    const char *body = emit_without_unread(e->arena, emit_pop(e)->text.bytes);
    const char *text = emit_text(e, "%s    int is_met = 0;\n%s    return __syncthreads_or(is_met);\n", emit_locals(e, body), body);
    *call = emit_text(e, "meet_%d(%s)", t->number, emit_parameters(e, &t->parameters, text, false));
    return emit_text(e, "/* Whether somebody asks for a sum of the tile. */\nINLINE int meet_%d(%s)\n{\n%s}\n", t->number,
                     emit_parameters(e, &t->parameters, text, true), text);
}

/* ---- the end of a column ---- */

/* Lanes of a warp that have the same columns. */
static void merge_lanes(Emitter *e, const BlockTiling *t, int r, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    const char *others[STATE_COMPONENTS_MAX];
    Scope *body = emit_push(e);
    body->indent++;
    for (int i = 0, n = state_components(t->first[r], components); i < n; i++) {
        others[i] = emit_name(e, emit_text(e, "later_%s", components[i].name));
        emit_line(e, "const %s %s = later_%s(%s, apart);", emit_type(components[i].dtype, false), others[i],
                  emit_suffix(components[i].dtype, false), names[i]);
    }
    emit_state_merge(e, t->first[r], names, others, false);
    emit_pop(e);
    emit_line(e, "for (int apart = WARP / 2; apart >= LANES_%d; apart /= 2) {", t->number);
    emit_line(e, "    UNROLL");
    emit_line(e, "    for (int c = 0; c < WIDE_%d; c++) {", t->number);
    emit_body(e, body);
    emit_line(e, "    }");
    emit_line(e, "}");
}

typedef const char *StateNames[STATE_COMPONENTS_MAX];

/* The states of a column's warps, one above the other, in shared memory. */
static void put_states(Emitter *e, const BlockTiling *t, StateNames *names)
{
    emit_line(e, "typedef struct States {");
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            emit_line(e, "    %s %s[WARPS / WARPS_ACROSS_%d][COLUMNS_%d];", emit_type(components[i].dtype, false),
                      block_state(e, r, &components[i]), t->number, t->number);
    }
    emit_line(e, "} States;");
    emit_line(e, "States *states = (States *)(slices + 1);");
    for (int r = 0; r < t->first_count; r++)
        merge_lanes(e, t, r, names[r]);
    emit_line(e, "if ((int)threadIdx.x %% WARP < LANES_%d) {", t->number);
    emit_line(e, "    UNROLL");
    emit_line(e, "    for (int c = 0; c < WIDE_%d; c++) {", t->number);
    for (int r = 0; r < t->first_count; r++)
        for (int i = 0; i < STATE_COMPONENTS_MAX && names[r][i]; i++)
            emit_line(e, "        states->%.*s[(int)threadIdx.x / WARP / WARPS_ACROSS_%d][column_%d(c)] = %s;",
                      (int)strcspn(names[r][i], "["), names[r][i], t->number, t->number, names[r][i]);
    emit_line(e, "    }");
    emit_line(e, "}");
    emit_line(e, "__syncthreads();");
}

/* One thread has a column: it merges its warps' states and stores what comes of them. */
static Scope *finish_column(Emitter *e, const BlockTiling *t)
{
    Scope *body = emit_push(e);
    body->loop = true;
    emit_line(e, "const int64_t column_at = column + c;");
    emit_line(e, "if (column_at >= columns)");
    emit_line(e, "    break;");
    block_decode(e, t, &t->c->columns, t->columns, "column_at");
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        const char *names[STATE_COMPONENTS_MAX], *others[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++) {
            const char *states = block_state(e, r, &components[i]);
            names[i] = emit_name(e, components[i].name);
            others[i] = emit_text(e, "states->%s[warp][c]", states);
            emit_line(e, "%s %s = states->%s[0][c];", emit_type(components[i].dtype, false), names[i], states);
        }
        Scope *merge = emit_push(e);
        emit_state_merge(e, t->first[r], names, others, false);
        emit_pop(e);
        emit_line(e, "for (int warp = 1; warp < WARPS / WARPS_ACROSS_%d; warp++) {", t->number);
        emit_body(e, merge);
        emit_line(e, "}");
        if (t->step->split)
            put_part(e, r, names);
        else
            emit_know(e, t->step->roots[r], emit_state_finish(e, t->step->roots[r], names, false));
    }
    for (int o = 0; o < t->step->statement->output_count && !t->step->split; o++)
        emit_store(e, &t->step->statement->outputs[o]);
    emit_pop(e);
    return body;
}

const char *block_finish(Emitter *e, BlockTiling *t, const char **call)
{
    StateNames *names = arena_array(e->arena, (size_t)t->first_count + 1, sizeof *names);
    *call = "";
    if (!t->first_count)
        return "";
    block_open(e, t);
    block_bind_kept(e, t);
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            names[r][i] = emit_text(e, "%s[c]", block_state(e, r, &components[i]));
    }
    put_states(e, t, names);
    Scope *body = finish_column(e, t);
    emit_line(e, "for (int c = (int)threadIdx.x; c < COLUMNS_%d; c += THREADS) {", t->number);
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "__syncthreads();");
    const char *text = block_close(e);
    *call = emit_text(e, "finish_%d(%s);", t->number, emit_parameters(e, &t->parameters, text, false));
    const char *comment = "The threads of a column merge what they found: the lanes of a warp first, then its warps through shared memory.";
    return function(e, t, comment, "finish", text, false);
}
