/* What becomes of the sums of a product in a ring: the first reduction behind it takes them, or the step stores them. */
#include "emit_block.h"

enum { LANES_LINE = 32 };          /* columns of four lanes that store them together */

/* Of a row's indices the i-th: a tile has some points of one, or of two. */
static const Index *row_index(const RingStep *r, int i)
{
    return i ? r->side[0].high : r->side[0].low;
}

static const char *row_box(Emitter *e, const RingStep *r, int i)
{
    return emit_text(e, "(int)%s", emit_size(e, ring_box(e->arena, r->t.c, 0, row_index(r, i))));
}

/* Where it is, of a line of the tile. */
static const char *row_at(Emitter *e, const RingStep *r, int i, const char *line)
{
    const char *first = r->first[row_index(r, i)->id];
    return r->side[0].high ? emit_text(e, "%s + %s %c %s", first, line, i ? '/' : '%', row_box(e, r, 0)) : emit_text(e, "%s + %s", first, line);
}

/* That a tile's line is somebody's, whose indices are names, or NULL: as they are found. */
static const char *row_there(Emitter *e, const RingStep *r, const char *line, const char *const *names)
{
    const char *there = r->side[0].high ? emit_text(e, "%s < %s * %s", line, row_box(e, r, 0), row_box(e, r, 1)) : "";
    for (int i = 0; i < 2 && row_index(r, i); i++)
        there = emit_text(e, "%s%s%s < %s", there, there[0] ? " && " : "", names ? names[i] : row_at(e, r, i, line),
                          emit_extent(e, row_index(r, i)));
    return there;
}

const char *ring_bind_row(Emitter *e, const RingStep *r, bool clamps)
{
    const char *names[2];
    emit_line(e, "const int place = left_line_%d(r);", r->t.number);
    for (int i = 0; i < 2 && row_index(r, i); i++) {
        const Index *index = row_index(r, i);
        const char *at = row_at(e, r, i, "place");
        names[i] = r->t.names[index->id];
        emit_line(e, "const int64_t %s = %s;", names[i], clamps ? emit_text(e, "size_min(%s, %s - 1)", at, emit_extent(e, index)) : at);
        emit_bind(e, index, names[i]);
    }
    return row_there(e, r, "place", clamps ? NULL : names);
}

const char *ring_row_there(Emitter *e, const RingStep *r)
{
    return row_there(e, r, emit_text(e, "left_line_%d(r)", r->t.number), NULL);
}

static const char *column_at(Emitter *e, const RingStep *r)
{
    return emit_text(e, "%s + right_line_%d(c)", r->first[r->side[1].low->id], r->t.number);
}

void ring_bind_column(Emitter *e, const RingStep *r, bool clamps)
{
    const Index *low = r->side[1].low;
    const char *name = r->t.names[low->id], *at = column_at(e, r);
    emit_line(e, "const int64_t %s = %s;", name, clamps ? emit_text(e, "size_min(%s, %s - 1)", at, emit_extent(e, low)) : at);
    emit_bind(e, low, name);
}

const char *ring_column_past(Emitter *e, const RingStep *r)
{
    const Index *low = r->side[1].low;
    emit_line(e, "const int columns = (int)size_min(%s - %s, RIGHT_%d);", r->end[low->id], r->first[low->id], r->t.number);
    return emit_text(e, "right_line_%d(c) >= columns", r->t.number);
}

/* The same of rows of one index, the other way round. */
static const char *not_there(Emitter *e, const RingStep *r)
{
    const Index *low = r->side[0].low;
    return emit_text(e, "%s >= %s", r->t.names[low->id], emit_extent(e, low));
}

static void take_sum(Emitter *e, const RingStep *r)
{
    const char *sum = "sums[r / 2][c / 2 * 4 + r % 2 * 2 + c % 2]";
    emit_know(e, r->t.c->product, emit_state_finish(e, r->t.c->product, &sum, false));
}

/* One sum is taken, or stored. */
static void use_sum(Emitter *e, const RingStep *r)
{
    const BlockTiling *t = &r->t;
    take_sum(e, r);
    for (int k = 0; k < t->first_count; k++) {
        Component components[STATE_COMPONENTS_MAX];
        const char *names[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[k], components); i < n; i++)
            names[i] = emit_text(e, "%s[r]", block_state(e, k, &components[i]));
        emit_state_step(e, t->first[k], names, false, state_needs_place(t->first[k]) ? emit_place(e, t->first[k], false) : NULL);
    }
    for (int o = 0; o < t->step->statement->output_count && !t->first_count; o++)
        emit_store(e, &t->step->statement->outputs[o]);
}

static void use_columns(Emitter *e, const RingStep *r)
{
    const Index *low = r->side[1].low;
    const char *name = r->t.names[low->id];
    emit_push(e)->loop = true;
    emit_line(e, "if (EDGE && right_line_%d(c) >= columns)", r->t.number);
    emit_line(e, "    continue;");
    emit_line(e, "const int64_t %s = %s + right_line_%d(c);", name, r->first[low->id], r->t.number);
    emit_bind(e, low, name);
    const char *test = r->t.inside_count ? emit_bare(e, emit_conditions(e, r->t.inside, r->t.inside_count)) : NULL;
    if (test)
        emit_push(e)->branch = true;
    use_sum(e, r);
    if (test) {
        Scope *chosen = emit_pop(e);
        emit_line(e, "if (%s) {", test);
        emit_body(e, chosen);
        emit_line(e, "}");
    }
    Scope *columns = emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int c = 0; c < RIGHT_%d / 4; c++) {", r->t.number);
    emit_body(e, columns);
    emit_line(e, "}");
}

/* Whether a row's lanes store an output's columns as lines: see store_line_2() in templates/cuda/team.cu. */
static bool stores_lines(const Emitter *e, const RingStep *r)
{
    const Statement *statement = r->t.step->statement;
    bool all = r->t.first_count == 0 && !r->t.inside_count && r->t.c->ring->right % LANES_LINE == 0;
    for (int o = 0; o < statement->output_count; o++) {
        const Output *output = &statement->outputs[o];
        size_t bytes = dtype_size(output->tensor->dtype);
        all &= emit_stores_plainly(e, output) && (bytes == 2 || bytes == 4);
    }
    return all;
}

/* What is read of columns beside the product. */
typedef struct Beside {
    const Term *product;
    const Index *column;
    bool is_read;
} Beside;

static void find_beside(void *user, const Term *term)
{
    Beside *beside = (Beside *)user;
    if (term == beside->product)
        return;
    beside->is_read |= term->kind == TERM_READ && term_has_index(term, beside->column);
    term_each_argument(term, find_beside, beside);
}

/* Whether all rows of some columns are stored before the next ones: where a row's come one after the other, the places of what is read
 * beside all of them would stay in registers for the next row. */
static bool stores_columns_first(const RingStep *r)
{
    Beside beside = { r->t.c->product, r->side[1].low, false };
    for (int o = 0; o < r->t.step->statement->output_count; o++)
        find_beside(&beside, r->t.step->statement->outputs[o].value);
    return beside.is_read;
}

static void open_columns(Emitter *e)
{
    emit_push(e)->loop = true;
}

static void close_columns(Emitter *e, const RingStep *r)
{
    Scope *columns = emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int block = 0; block < RIGHT_%d / %d; block++) {", r->t.number, LANES_LINE);
    emit_body(e, columns);
    emit_line(e, "}");
}

/* Of each 32 columns a lane has 8; and when they are turned, 8 that are neighbours. What is read beside columns that are not there
 * is of the last one that is. */
static void store_lines(Emitter *e, const RingStep *r)
{
    const Index *low = r->side[1].low;
    const Statement *statement = r->t.step->statement;
    const char *name = r->t.names[low->id], *first = r->first[low->id];
    int n = r->t.number;
    for (int o = 0; o < statement->output_count; o++)
        emit_line(e, "%s line_%d[8];", emit_element(statement->outputs[o].tensor->dtype), o + 1);
    Scope *each = emit_push(e);
    each->loop = true;
    emit_line(e, "const int c = 8 * block + at;");
    emit_line(e, "const int64_t %s = EDGE ? size_min(%s + right_line_%d(c), %s - 1) : %s + right_line_%d(c);", name, first, n,
              emit_extent(e, low), first, n);
    emit_bind(e, low, name);
    take_sum(e, r);
    for (int o = 0; o < statement->output_count; o++)
        emit_store_at(e, &statement->outputs[o], emit_text(e, "line_%d", o + 1), "at");
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int at = 0; at < 8; at++) {");
    emit_body(e, each);
    emit_line(e, "}");
    emit_line(e, "const int column = %d * block + 8 * ((int)threadIdx.x %% 4);", LANES_LINE);
    emit_line(e, "const int64_t %s = %s + column;", name, first);
    emit_bind(e, low, name);
    for (int o = 0; o < statement->output_count; o++) {
        const Output *output = &statement->outputs[o];
        emit_line(e, "store_line_%d(%s, %s, line_%d, is_there ? columns - column : 0);", (int)dtype_size(output->tensor->dtype),
                  emit_target(e, output), emit_stride(e, output->tensor, output->positions, low), o + 1);
    }
}

static void close_rows(Emitter *e, const RingStep *r)
{
    Scope *rows = emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int r = 0; r < 2 * TALL_%d; r++) {", r->t.number);
    emit_body(e, rows);
    emit_line(e, "}");
}

const char *ring_use(Emitter *e, RingStep *r, const char *calls[2])
{
    bool takes = r->t.first_count > 0;    /* nobody asks what a row finds that is not there */
    bool lines = stores_lines(e, r), columns_first = lines && stores_columns_first(r);
    const char *name = takes ? "take_sums" : "store_sums";
    const Index *low = r->side[1].low;
    ring_open(e, r);
    ring_bind_others(e, r);
    emit_line(e, "const int columns = (int)size_min(%s - %s, RIGHT_%d);", takes ? r->end[low->id] : emit_extent(e, low), r->first[low->id],
              r->t.number);
    if (columns_first)
        open_columns(e);
    emit_push(e)->loop = true;
    const char *there = ring_bind_row(e, r, takes || lines);
    if (!takes && !lines) {
        emit_line(e, r->side[0].high ? "if (!(%s))" : "if (%s)", r->side[0].high ? there : not_there(e, r));
        emit_line(e, "    continue;");
    }
    if (lines) {
        emit_line(e, "const int is_there = %s;", there);
        if (!columns_first)
            open_columns(e);
        store_lines(e, r);
        if (!columns_first)
            close_columns(e, r);
    } else {
        use_columns(e, r);
    }
    close_rows(e, r);
    if (columns_first)
        close_columns(e, r);
    const char *body = ring_close(e, r), *list = emit_parameters(e, &r->parameters, body, false);
    for (int edge = 0; edge < 2; edge++)
        calls[edge] = emit_text(e, "%s_%d<%d>(%s);", name, r->t.number, edge, list);
    const char *line = emit_text(e, "right_line_%d", r->t.number), *columns = "";
    if (emit_mentions(body, line))
        columns = emit_text(e, "/* and which of the right side its c-th column. */\nINLINE int %s(int c)\n{\n"
                            "    return c / 2 * 8 + (int)threadIdx.x %% 4 * 2 + c %% 2;\n}\n\n", line);
    return emit_text(e, "%s/* %s A tile that goes past the last column has an EDGE. */\ntemplate <int EDGE>\nINLINE void %s_%d(%s)\n{\n%s}\n",
                     columns, takes ? "The first reduction takes a tile's sums." : "Stores what comes of a tile's sums.", name, r->t.number,
                     emit_parameters(e, &r->parameters, body, true), body);
}

/* ---- the end of a row ---- */

typedef const char *StateNames[STATE_COMPONENTS_MAX];

/* The four lanes that have a row's columns. */
static void merge_lanes(Emitter *e, const RingStep *r, int k, const char *const *names)
{
    Component components[STATE_COMPONENTS_MAX];
    const char *others[STATE_COMPONENTS_MAX];
    Scope *body = emit_push(e);
    for (int i = 0, n = state_components(r->t.first[k], components); i < n; i++) {
        others[i] = emit_name(e, emit_text(e, "later_%s", components[i].name));
        emit_line(e, "const %s %s = later_%s(%s, apart);", emit_type(components[i].dtype, false), others[i],
                  emit_suffix(components[i].dtype, false), names[i]);
    }
    emit_state_merge(e, r->t.first[k], names, others, false);
    emit_pop(e);
    emit_line(e, "for (int apart = 2; apart > 0; apart /= 2) {");
    emit_body(e, body);
    emit_line(e, "}");
}

const char *ring_finish(Emitter *e, RingStep *r, const char **call)
{
    const BlockTiling *t = &r->t;
    StateNames *names = arena_array(e->arena, (size_t)t->first_count + 1, sizeof *names);
    *call = "";
    if (!t->first_count)
        return "";
    ring_open(e, r);
    ring_bind_others(e, r);
    emit_push(e)->loop = true;
    for (int k = 0; k < t->first_count; k++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[k], components); i < n; i++)
            names[k][i] = emit_text(e, "%s[r]", block_state(e, k, &components[i]));
        merge_lanes(e, r, k, names[k]);
    }
    const char *there = ring_bind_row(e, r, false);
    Scope *chosen = emit_push(e);
    chosen->branch = true;
    for (int k = 0; k < t->first_count; k++)
        emit_know(e, t->step->roots[k], emit_state_finish(e, t->step->roots[k], names[k], false));
    for (int o = 0; o < t->step->statement->output_count; o++)
        emit_store(e, &t->step->statement->outputs[o]);
    emit_pop(e);
    emit_line(e, "if (threadIdx.x %% 4 == 0 && %s) {", there);
    emit_body(e, chosen);
    emit_line(e, "}");
    close_rows(e, r);
    const char *body = ring_close(e, r);
    *call = emit_text(e, "finish_rows_%d(%s);", t->number, emit_parameters(e, &r->parameters, body, false));
    return emit_text(e, "/* The lanes of a row merge what they found, and one stores what comes of it. */\nINLINE void finish_rows_%d(%s)\n{\n%s}\n",
                     t->number, emit_parameters(e, &r->parameters, body, true), body);
}
