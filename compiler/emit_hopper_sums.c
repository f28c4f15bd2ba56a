/* What becomes of the sums of a product in a ring: the first reduction behind it takes them, or the step stores them. */
#include "emit_block.h"

/* A row's indices: a tile has some points of one, or of two, its last lines perhaps nobody's. Where `clamps`, these are taken for
 * others. The condition that a row is there. */
const char *ring_bind_row(Emitter *e, const RingStep *r, bool clamps)
{
    const RingSide *s = &r->side[0];
    const Index *index[] = { s->low, s->high };
    const char *there = "";
    emit_line(e, "const int place = left_line_%d(r);", r->t.number);
    for (int i = 0; i < 2 && index[i]; i++) {
        const char *name = r->t.names[index[i]->id], *first = r->first[index[i]->id], *extent = emit_extent(e, index[i]);
        const char *part = !s->high ? "place" : emit_text(e, "place %c %s", i ? '/' : '%', r->box[s->low->id]);
        if (clamps)
            emit_line(e, "const int64_t %s = size_min(%s + %s, %s - 1);", name, first, part, extent);
        else
            emit_line(e, "const int64_t %s = %s + %s;", name, first, part);
        emit_bind(e, index[i], name);
        there = emit_text(e, "%s%s%s < %s", there, i ? " && " : "", name, extent);
    }
    if (s->high)
        there = emit_text(e, "place < %s * %s && %s", r->box[s->low->id], r->box[s->high->id], there);
    return there;
}

const char *ring_row_there(Emitter *e, const RingStep *r)
{
    const RingSide *s = &r->side[0];
    const Index *index[] = { s->low, s->high };
    const char *place = emit_text(e, "left_line_%d(r)", r->t.number), *there = "";
    for (int i = 0; i < 2 && index[i]; i++) {
        const char *part = !s->high ? place : emit_text(e, "%s %c %s", place, i ? '/' : '%', r->box[s->low->id]);
        there = emit_text(e, "%s%s%s + %s < %s", there, i ? " && " : "", r->first[index[i]->id], part, emit_extent(e, index[i]));
    }
    return s->high ? emit_text(e, "%s < %s * %s && %s", place, r->box[s->low->id], r->box[s->high->id], there) : there;
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
    return emit_text(e, "%s >= %s", column_at(e, r), r->end[r->side[1].low->id]);
}

/* The same of rows of one index, the other way round. */
static const char *not_there(Emitter *e, const RingStep *r)
{
    const Index *low = r->side[0].low;
    return emit_text(e, "%s >= %s", r->t.names[low->id], emit_extent(e, low));
}

/* One sum is taken, or stored. */
static void use_sum(Emitter *e, const RingStep *r)
{
    const BlockTiling *t = &r->t;
    const char *sum = "sums[c / 2 * 4 + r * 2 + c % 2]";
    emit_know(e, t->c->product, emit_state_finish(e, t->c->product, &sum, false));
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
    const char *name = r->t.names[low->id], *end = r->t.c->reduces ? r->end[low->id] : emit_extent(e, low);
    emit_push(e)->loop = true;
    emit_line(e, "const int64_t %s = %s + right_line_%d(c);", name, r->first[low->id], r->t.number);
    emit_line(e, "if (EDGE && %s >= %s)", name, end);
    emit_line(e, "    break;");
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

static void close_rows(Emitter *e)
{
    Scope *rows = emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int r = 0; r < 2; r++) {");
    emit_body(e, rows);
    emit_line(e, "}");
}

const char *ring_use(Emitter *e, RingStep *r, const char *calls[2])
{
    bool takes = r->t.first_count > 0;    /* nobody asks what a row finds that is not there */
    const char *name = takes ? "take_sums" : "store_sums";
    ring_open(e, r);
    ring_bind_others(e, r);
    emit_push(e)->loop = true;
    const char *there = ring_bind_row(e, r, takes);
    if (!takes) {
        emit_line(e, r->side[0].high ? "if (!(%s))" : "if (%s)", r->side[0].high ? there : not_there(e, r));
        emit_line(e, "    continue;");
    }
    use_columns(e, r);
    close_rows(e);
    const char *body = ring_close(e, r), *list = emit_parameters(e, &r->parameters, body, false);
    for (int edge = 0; edge < 2; edge++)
        calls[edge] = emit_text(e, "%s_%d<%d>(%s);", name, r->t.number, edge, list);
    return emit_text(e, "/* %s A tile that goes past the last column has an EDGE. */\ntemplate <int EDGE>\nINLINE void %s_%d(%s)\n{\n%s}\n",
                     takes ? "The first reduction takes a tile's sums." : "Stores what comes of a tile's sums.", name, r->t.number,
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
    close_rows(e);
    const char *body = ring_close(e, r);
    *call = emit_text(e, "finish_rows_%d(%s);", t->number, emit_parameters(e, &r->parameters, body, false));
    return emit_text(e, "/* The lanes of a row merge what they found, and one stores what comes of it. */\nINLINE void finish_rows_%d(%s)\n{\n%s}\n",
                     t->number, emit_parameters(e, &r->parameters, body, true), body);
}
