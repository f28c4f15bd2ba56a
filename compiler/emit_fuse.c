/* A launch whose steps run together, on a grid: templates/cuda/fuse.cu with its holes filled. */
#include <math.h>
#include <string.h>

#include "emit_fuse.h"

/* ---- names ---- */

bool fused_is_state(const Fused *f, int s)
{
    return s > 0 && s + 1 < f->launch->step_count && f->launch->steps[s]->root_count > 0;
}

const char *fused_state(Emitter *e, const Fused *f, int s)
{
    Component components[STATE_COMPONENTS_MAX];
    state_components(f->launch->steps[s]->roots[0], components);
    return emit_text(e, "%s_%d", components[0].name, f->launch->steps[s]->id + 1);
}

static const char *state_of_row(Emitter *e, const Fused *f, int s)
{
    return emit_text(e, "%s[r]", fused_state(e, f, s));
}

/* A step's indices have the names of those of the first product that they are. */
static void bind_same(Emitter *e, const Fused *f, const Step *step, const IndexSet *set)
{
    const Program *lowered = e->plan->lowered;
    for (int i = 0; i < lowered->index_count; i++) {
        const Index *same = f->fuse->same[i];
        if (lowered->indices[i]->statement == step->statement->id && same && indices_have(set->list, set->count, same))
            emit_bind(e, lowered->indices[i], f->first.names[same->id]);
    }
}

/* What a step reads of the launch's other steps: the sums, or what has taken their place, or states of the row. */
static void know_reads(Emitter *e, const Fused *f, const Step *step, bool states)
{
    const Program *lowered = e->plan->lowered;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        for (int s = 0; term->kind == TERM_READ && term->statement == step->statement->id && s < f->launch->step_count; s++) {
            if (term->read.tensor->maker != f->launch->steps[s]->statement || fused_is_state(f, s) != states)
                continue;
            const char *name = states ? state_of_row(e, f, s) : f->sum;
            emit_know(e, term, states ? emit_state_finish(e, f->launch->steps[s]->roots[0], &name, false) : (Value){ name, false });
        }
    }
}

/* ---- functions ---- */

static void begin_step(Emitter *e, const Fused *f, const Step *step)
{
    emit_begin_step(e, f->launch, step, false);
    if (f->ring)
        ring_forget_blocks(e);
}

/* Both kernels are in one file: a ring's functions have other names. */
static const char *head(Emitter *e, const Fused *f, const char *name, int number, const char *body, bool declare)
{
    static const char *const arrays[] = { "sums", "products" }, *const sizes[] = { "SUMS", "PRODUCTS" };
    Text list = text_new(e->arena);
    const char *plain = emit_parameters(e, &f->parameters, body, declare);
    text_put(&list, strcmp(plain, "void") ? plain : "");
    for (int i = 0; i < 2; i++) {
        if (!emit_mentions(body, arrays[i]))
            continue;
        text_print(&list, "%s%s%s", list.length ? ", " : "", declare ? "float " : "", arrays[i]);
        if (declare && f->ring)
            text_print(&list, "[%s_%d]", sizes[i], f->ring->t.number);
        else if (declare)
            text_print(&list, "[HIGH_%d][WIDE_%d]", f->first.number, i ? f->last->id + 1 : f->first.number);
    }
    return emit_text(e, "%s%s_%d(%s)", f->ring ? "ring_" : "", name, number, list.bytes);
}

static const char *function(Emitter *e, const Fused *f, const char *comment, const char *name, int number, const char *body)
{
    return emit_text(e, "/* %s */\nINLINE void %s\n{\n%s}\n\n", comment, head(e, f, name, number, body, true), body);
}

/* A loop over a thread's rows. One that is not there is taken for the last. */
static void open_rows(Emitter *e, Fused *f, const Step *step)
{
    BlockTiling *t = &f->first;
    if (f->ring)
        ring_open(e, f->ring);
    else
        block_open(e, t);
    e->step = step;
    block_bind_kept(e, t);
    if (f->ring)
        ring_bind_others(e, f->ring);
    bind_same(e, f, step, &t->c->batch);
    emit_push(e)->loop = true;
    if (f->ring) {
        ring_bind_row(e, f->ring, true);
    } else {
        emit_line(e, "const int64_t row_at = size_min(row + row_%d(r), rows - 1);", t->number);
        block_decode(e, t, &t->c->rows, t->rows, "row_at");
    }
    bind_same(e, f, step, &t->c->rows);
    know_reads(e, f, step, true);
}

/* Whether a step reads arrays along the columns, which go no further than these. */
static bool reads_columns(const Emitter *e, const Fused *f, const Step *step)
{
    const Program *lowered = e->plan->lowered;
    for (int i = 0; i < lowered->term_count; i++) {
        const Term *term = lowered->terms[i];
        bool outside = term->kind == TERM_READ && term->statement == step->statement->id;
        for (int s = 0; s < f->launch->step_count; s++)
            outside &= term->kind != TERM_READ || term->read.tensor->maker != f->launch->steps[s]->statement;
        for (int k = 0; outside && k < term->rank; k++) {
            const Index *same = f->fuse->same[term->indices[k]->id];
            if (same && indices_have(f->first.c->columns.list, f->first.c->columns.count, same))
                return true;
        }
    }
    return false;
}

/* Inside of it one over its columns. Where `clamps`, one that is not there is taken for the last if somebody reads at it. */
static void open_columns(Emitter *e, Fused *f, const Step *step, bool clamps)
{
    BlockTiling *t = &f->first;
    bool reads = reads_columns(e, f, step);
    emit_push(e)->loop = true;
    if (f->ring) {
        ring_bind_column(e, f->ring, reads);
        bind_same(e, f, step, &t->c->columns);
        know_reads(e, f, step, false);
        if (step == t->step)
            emit_know(e, t->c->product, emit_state_finish(e, t->c->product, &f->sum, false));
        return;
    }
    if (!clamps) {
        emit_line(e, "if (column_%d(c) >= columns - column)", t->number);
        emit_line(e, "    break;");
    }
    if (clamps && (t->c->columns.count > 1 || reads))
        emit_line(e, "const int64_t column_at = size_min(column + column_%d(c), columns - 1);", t->number);
    else
        emit_line(e, "const int64_t column_at = column + column_%d(c);", t->number);
    block_decode(e, t, &t->c->columns, t->columns, "column_at");
    bind_same(e, f, step, &t->c->columns);
    know_reads(e, f, step, false);
    if (step == t->step)
        block_know_sum(e, t, "sums[r][c]");
}

/* `loop`: with how many of a number, or of a ring. */
static void close_loop(Emitter *e, const Fused *f, const char *word, int number, const char *ring)
{
    const char *loop = f->ring ? ring : emit_text(e, "%s_%d", word, number), *at = !strcmp(word, "HIGH") ? "r" : "c";
    Scope *body = emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int %s = 0; %s < %s; %s++) {", at, at, loop, at);
    emit_body(e, body);
    emit_line(e, "}");
}

static const char *close_rows(Emitter *e, const Fused *f)
{
    close_loop(e, f, "HIGH", f->first.number, "2");
    return f->ring ? ring_close(e, f->ring) : block_close(e);
}

static void close_columns(Emitter *e, const Fused *f)
{
    close_loop(e, f, "WIDE", f->first.number, f->ring ? emit_text(e, "RIGHT_%d / 4", f->ring->t.number) : "");
}

/* The where that a sum of the first step which it left out does not need any more. */
static void know_implied(Emitter *e, const Fused *f, int s, const Term *element)
{
    if (f->fuse->implied[s])
        emit_know(e, element, emit_term(e, element->select.yes));
}

/* Whether what a term takes mentions a word. */
static bool takes(Emitter *e, const Term *term, const char *word)
{
    emit_push(e)->branch = true;
    const char *value = emit_term(e, term).text;
    return emit_mentions(emit_pop(e)->text.bytes, word) || emit_mentions(value, word);
}

/* What becomes of a sum. A ring masks afterwards what nobody asks for, at the edges of what it reaches: there it may be anything
 * that can be had, if who asks does not ask for the sum. */
static const Term *unmasked(Emitter *e, Fused *f, int s)
{
    const Term *term = f->launch->steps[s]->statement->outputs[0].value;
    f->masks |= s == 0 && f->reaches && !takes(e, term->select.yes, "FAIL") && !takes(e, term->select.condition, "sums");
    return s == 0 && f->masks ? term->select.yes : term;
}

/* A value takes the place of each sum. From the first on, columns that are not there have the neutral number. */
static const char *map(Emitter *e, Fused *f, int s, const char **call)
{
    const Step *step = f->launch->steps[s];
    begin_step(e, f, step);
    const char *comment = emit_formula(e);
    open_rows(e, f, step);
    const char *most = fused_find_most(e, f, step);
    open_columns(e, f, step, true);
    fused_bind_power(e, f, step, most);
    know_implied(e, f, s, step->statement->outputs[0].value);
    const char *value = emit_bare(e, emit_term(e, unmasked(e, f, s)).text);
    if (s == 0 && !isnan(f->fuse->neutral) && !f->ring)
        value = emit_text(e, "column_%d(c) < columns - column ? %s : %s", f->first.number, value,
                          emit_bare(e, emit_number(e, DTYPE_F32, f->fuse->neutral)));
    bool stays = !strcmp(value, f->sum);
    emit_line(e, "%s = %s;", f->sum, value);
    close_columns(e, f);
    const char *body = close_rows(e, f);
    *call = stays ? "" : head(e, f, "map", step->id + 1, body, false);
    return stays ? "" : function(e, f, comment, "map", step->id + 1, body);
}

/* In a ring: the neutral number for columns that are not there, and what the where says for those that a row does not ask for. */
static const char *mask(Emitter *e, Fused *f, const char **call)
{
    const Step *step = f->launch->steps[0];
    const Term *term = step->statement->outputs[0].value;
    begin_step(e, f, step);
    open_rows(e, f, step);
    const char *past = ring_column_past(e, f->ring), *value = f->sum;
    const char *within = f->masks ? fused_limits(e, f, term->select.condition) : NULL;
    open_columns(e, f, step, true);
    if (f->masks) {
        within = within ? within : emit_term(e, term->select.condition).text;
        value = emit_text(e, "%s ? %s : %s", within, f->sum, emit_term(e, term->select.no).text);
    }
    emit_line(e, "%s = %s ? %s : %s;", f->sum, past, emit_bare(e, emit_number(e, DTYPE_F32, f->fuse->neutral)), value);
    close_columns(e, f);
    const char *body = close_rows(e, f);
    *call = head(e, f, "mask", step->id + 1, body, false);
    return function(e, f, "Columns that a tile's rows do not have.", "mask", step->id + 1, body);
}

/* What they become for the last product, "" for what they are. */
static const char *factors(Emitter *e, Fused *f, const char **call)
{
    const Term *left = f->ring ? f->fuse->ring_values->left : f->last->contract->left;
    *call = "";
    if (!isnan(f->fuse->neutral) && left->kind == TERM_READ)
        return "";
    begin_step(e, f, f->last);
    open_rows(e, f, f->last);
    open_columns(e, f, f->last, true);
    Scope *branch = emit_push(e);
    branch->branch = true;
    const char *value = emit_bare(e, emit_term(e, left).text);
    emit_pop(e);
    emit_body(e, branch);
    if (!isnan(f->fuse->neutral))
        emit_line(e, "%s = %s;", f->sum, value);
    else
        emit_line(e, "sums[r][c] = column_%d(c) < columns - column ? %s : 0;", f->first.number, value);
    close_columns(e, f);
    const char *body = close_rows(e, f);
    *call = head(e, f, "factors", f->last->id + 1, body, false);
    return function(e, f, "What is multiplied with the values.", "factors", f->last->id + 1, body);
}

/* The threads of a row have what each of them found. */
static void merge_row(Emitter *e, const Fused *f, int s)
{
    const char *name = state_of_row(e, f, s), *other = emit_text(e, "other_f32(%s, apart)", name);
    Scope *body = emit_push(e);
    emit_state_merge(e, f->launch->steps[s]->roots[0], &name, &other, false);
    emit_pop(e);
    emit_line(e, "for (int apart = 1; apart < %s; apart *= 2)", f->ring ? "4" : emit_text(e, "LANES_%d", f->first.number));
    emit_body(e, body);
}

/* Of numbers that are multiples of exp(-maximum), after the maximum has changed; before the first number they are zeros. */
static void rescale(Emitter *e, const Fused *f, int s)
{
    int count = f->launch->step_count;
    const char *now = state_of_row(e, f, s), *factor = f->ring ? "factor[r]" : "factor";
    if (f->ring)    /* what is behind is multiplied when its products are there */
        emit_line(e, "factor[r] = %s;", fused_change(e, f, "before", now));
    else
        emit_line(e, "const float factor = before == %s ? 1.0f : exp_f32(before - %s);", now, now);
    for (int other = 1; other < count - 1; other++)
        if (fused_is_state(f, other) && f->fuse->scaled[other])
            emit_line(e, "%s *= %s;", state_of_row(e, f, other), factor);
    if (!f->fuse->scaled[count - 1] || f->ring)
        return;
    emit_line(e, "UNROLL");
    emit_line(e, "for (int c = 0; c < WIDE_%d; c++)", f->last->id + 1);
    emit_line(e, "    products[r][c] *= factor;");
}

/* The states of rows take a tile's values. A maximum that others subtract is that of the whole row at once. */
static const char *take(Emitter *e, Fused *f, int s, const char **call)
{
    const Step *step = f->launch->steps[s];
    const char *name = state_of_row(e, f, s);
    bool largest = step == f->fuse->largest;
    begin_step(e, f, step);
    const char *comment = emit_formula(e);
    open_rows(e, f, step);
    if (largest)
        emit_line(e, "const float before = %s;", name);
    open_columns(e, f, step, !isnan(f->fuse->neutral));
    know_implied(e, f, s, step->roots[0]->reduce.argument);
    emit_state_step(e, step->roots[0], &name, false, NULL);
    close_columns(e, f);
    if (largest) {
        merge_row(e, f, s);
        rescale(e, f, s);
    }
    const char *body = close_rows(e, f);
    *call = head(e, f, "take", step->id + 1, body, false);
    return function(e, f, comment, "take", step->id + 1, body);
}

/* What the last step stores. */
const char *fused_finish(Emitter *e, Fused *f, const char **call)
{
    int number = f->last->id + 1;
    const IndexSet *set = &f->last->contract->columns;
    BlockTiling *t = &f->values;
    begin_step(e, f, f->last);
    open_rows(e, f, f->last);
    Scope *rows = e->scope;
    for (int i = 0; i < set->count; i++)
        t->names[set->list[i]->id] = names_user(&rows->outer->names, set->list[i]->name);
    Text merges = text_new(e->arena);
    for (int s = 1; s + 1 < f->launch->step_count; s++)
        if (fused_is_state(f, s) && f->launch->steps[s] != f->fuse->largest) {
            Scope *one = emit_push(e);
            one->indent = rows->indent;
            merge_row(e, f, s);
            emit_pop(e);
            text_put(&merges, one->text.bytes);
        }
    emit_push(e)->loop = true;
    if (f->ring) {
        const char *name = t->names[set->list[0]->id];
        emit_line(e, "const int64_t %s = right_line_%d(c);", name, number);
        emit_line(e, "if (!(%s) || %s >= %s)", ring_row_there(e, f->ring), name, emit_extent(e, set->list[0]));
        emit_line(e, "    break;");
        emit_bind(e, set->list[0], name);
    } else {
        emit_line(e, "const int64_t value_at = value + value_%d(c);", number);
        emit_line(e, "if (row + row_%d(r) >= rows || value_at >= values)", f->first.number);
        emit_line(e, "    break;");
        block_decode(e, t, set, f->fuse->parts ? t->depth : t->columns, "value_at");
    }
    emit_know(e, f->last->contract->product, emit_state_finish(e, f->last->contract->product, &f->product, false));
    emit_store(e, &f->last->statement->outputs[0]);
    close_loop(e, f, "WIDE", number, emit_text(e, "VALUES_%d / 4", number));
    rows->text.bytes = (char *)emit_text(e, "%s%s", merges.bytes, rows->text.bytes);
    rows->text.length = strlen(rows->text.bytes);
    const char *body = close_rows(e, f);
    *call = head(e, f, "finish", number, body, false);
    return function(e, f, "The rows' threads merge what they found, and store what comes of it.", "finish", number, body);
}

/* ---- values ---- */

/* A call of a function of the values', with other names for what it asks for. */
static const char *values_call(Emitter *e, const Fused *f, const char *name, const char *needs)
{
    bool lines = f->fuse->parts > 0;    /* a line has a column's values; else a point's */
    const char *const names[][2] = {
        { "slices", "behind" }, { "stage", "0" }, { "column", lines ? "column" : "value" }, { "columns", lines ? "columns" : "values" },
        { "point", lines ? "value" : "column" }, { "depth", lines ? "values" : "columns" },
    };
    Text text = text_new(e->arena);
    const ParameterSet *set = &f->values.parameters;
    for (int i = 0; i < set->count; i++) {
        const char *argument = set->list[i].name;
        if (!emit_mentions(needs, argument))
            continue;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (!strcmp(names[k][0], argument)) {
                argument = names[k][1];
                break;
            }
        for (int k = 0; k < e->plan->lowered->index_count; k++) {
            const Index *index = e->plan->lowered->indices[k], *same = f->fuse->same[k];
            if (index->statement == f->last->statement->id && same && f->values.names[k] && !strcmp(f->values.names[k], set->list[i].name))
                argument = f->first.names[same->id];
        }
        text_print(&text, "%s%s", text.length ? ", " : "", argument);
    }
    return emit_text(e, "%s_%d(%s", name, f->last->id + 1, text.bytes);
}

typedef struct ValueCalls {
    const char *functions, *find, *next;
} ValueCalls;

static ValueCalls values(Emitter *e, Fused *f)
{
    BlockTiling *t = &f->values;
    const char *calls[3];
    ValueCalls v;
    emit_begin_step(e, f->launch, f->last, false);
    v.functions = block_slices(e, t, 1, calls);
    v.find = v.next = "";
    if (calls[0][0]) {
        const char *open = strchr(calls[0], '('), *comma = open + 1;
        v.find = emit_text(e, "        %s);\n", values_call(e, f, "find_columns", comma));
    }
    const char *call = values_call(e, f, "fetch_columns", calls[1]);
    if (calls[2][0])
        v.next = emit_text(e, "        %s columns_fetched[COLUMNS_EACH_%d];\n        %s, columns_fetched);\n"
                           "        put_columns_%d(behind, 0, columns_fetched);\n", dtype_c(t->dtype), t->number, call, t->number);
    else
        v.next = emit_text(e, "        %s);\n", call);
    return v;
}

static const char *constants(Emitter *e, const Fused *f)
{
    int n = f->last->id + 1, first = f->first.number;
    const BlockTile *tile = f->last->contract->block;
    const char *shape = emit_text(e, "HIGH_%d = HIGH_%d, WIDE_%d = %d, FACTORS_%d = WIDE_%d, LANES_%d = LANES_%d", n, first, n, tile->wide, n,
                                  first, n, first);
    if (f->fuse->parts)
        return emit_text(e, "CONSTANTS(COLUMNS_%d = COLUMNS_%d, DEPTH_%d = %d, %s, PARTS_%d = %d);\n", n, first, n, tile->columns, shape, n,
                         f->fuse->parts);
    int side = tile->wide < 4 ? tile->wide : 4;
    return emit_text(e, "CONSTANTS(ROWS_%d = ROWS_%d, COLUMNS_%d = %d, DEPTH_%d = COLUMNS_%d, %s, SIDE_%d = %d, PAD_%d = 4);\n", n, first, n,
                     tile->columns, n, first, shape, n, side, n);
}

static const char *units(Emitter *e, Fused *f)
{
    int n = f->last->id + 1;
    Sample sample = { .file = f->fuse->parts ? "cuda/fuse_mma.cu" : "cuda/fuse_plain.cu", .number = n, .dtype = DTYPE_F32, .word = "float",
                      .part = emit_element(f->behind.packed), .lane = "" };
    if (f->fuse->parts)
        return emit_skeleton(e, &sample, NULL, 0);
    emit_begin_step(e, f->launch, f->last, false);
    Scope *scope = block_open(e, &f->values);
    scope->indent = 4;
    const char *sum = "products[r][c]";
    emit_know(e, f->last->contract->left, (Value){ "left[r]", false });
    emit_know(e, f->last->contract->right, (Value){ "right[c]", false });
    emit_state_step(e, f->last->contract->product, &sum, false, NULL);
    const char *step = emit_pop(e)->text.bytes;
    const char *places = emit_text(e, "INLINE int row_of_%d(int r)\n{\n    return row_%d(r);\n}\n\nINLINE int column_of_%d(int c)\n{\n"
                                   "    return column_%d(c);\n}\n", n, f->first.number, n, f->first.number);
    Hole holes[] = { { "places", places }, { "step", step } };
    return emit_skeleton(e, &sample, holes, 2);
}

/* ---- all of it ---- */

static void set_parameters(Emitter *e, Fused *f)
{
    const ParameterSet *own = &f->first.parameters;
    f->parameters.count = 0;
    for (int i = 0; i < own->count; i++)
        if (strcmp(own->list[i].name, "stage") && strcmp(own->list[i].name, "point"))
            emit_parameter(&f->parameters, own->list[i].type, own->list[i].name);
    emit_parameter(&f->parameters, emit_text(e, "Slices_%d *", f->last->id + 1), "behind");
    emit_parameter(&f->parameters, "int64_t ", "value");
    emit_parameter(&f->parameters, "int64_t ", "values");
    for (int s = 1; s + 1 < f->launch->step_count; s++)
        if (fused_is_state(f, s))
            emit_parameter(&f->parameters, "float *", fused_state(e, f, s));
}

/* The states of rows that have seen nothing. */
static const char *states(Emitter *e, const Fused *f)
{
    Text declared = text_new(e->arena), begun = text_new(e->arena);
    for (int s = 1; s + 1 < f->launch->step_count; s++) {
        if (!fused_is_state(f, s))
            continue;
        const char *name = fused_state(e, f, s);
        text_print(&declared, "%s%s[HIGH_%d]", declared.length ? ", " : "    float ", name, f->last->id + 1);
        text_print(&begun, "        %s[r] = %s;\n", name, emit_state_start(e, f->launch->steps[s]->roots[0], 0, false));
    }
    if (!declared.length)
        return "";
    return emit_text(e, "%s;\n    UNROLL\n    for (int r = 0; r < HIGH_%d; r++) {\n%s    }\n", declared.bytes, f->last->id + 1, begun.bytes);
}

static void begin(Emitter *e, Fused *f)
{
    const Launch *launch = f->launch;
    const Step *first = launch->steps[0];
    const char **names = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->index_count);
    const Contract *last = f->last->contract;
    const Term *right = last->right;
    while (f->fuse->parts && right->kind == TERM_MAP)    /* bf16 as it is read */
        right = right->map.arguments[0];
    f->behind = *last;
    f->behind.right = right;
    f->behind.rows.count = f->behind.kept_rows.count = 0;
    if (f->fuse->parts) {
        f->behind.columns = last->depth;
        f->behind.depth = last->columns;
    }
    f->values = (BlockTiling){ .c = &f->behind, .step = f->last, .number = f->last->id + 1, .names = names, .zeros = f->fuse->parts > 0 };
    emit_begin_step(e, launch, f->last, false);
    block_begin(e, &f->values);
    f->first = (BlockTiling){ .c = first->contract, .step = first, .number = first->id + 1, .names = names };
    emit_begin_step(e, launch, first, false);
    block_begin(e, &f->first);
    f->first.asked = f->fuse->met ? f->first.asked : NULL;
    set_parameters(e, f);
}

/* The functions of the steps between the products, and the calls of these. */
const char *fused_between(Emitter *e, Fused *f, const char **calls)
{
    Text functions = text_new(e->arena), text = text_new(e->arena);
    const char *call, *indent = f->ring ? "    " : "        ";
    for (int s = 0; s < f->launch->step_count; s++) {
        bool last = s + 1 == f->launch->step_count;
        text_put(&functions, last ? factors(e, f, &call) : fused_is_state(f, s) ? take(e, f, s, &call) : map(e, f, s, &call));
        text_put(&text, call[0] ? emit_text(e, "%s%s;\n", indent, call) : "");
        if (s > 0 || !f->ring)
            continue;
        text_put(&functions, mask(e, f, &call));
        text_print(&text, "%sif (is_edge)\n%s    %s;\n", indent, indent, call);
    }
    *calls = text.bytes;
    return functions.bytes;
}

/* A tile's sums. One that nobody asks for is left out if all values are numbers: then it adds zeros. */
static const char *met_of(Emitter *e, Fused *f, const char **function)
{
    const char *call;
    emit_begin_step(e, f->launch, f->first.step, false);
    *function = block_meet(e, &f->first, &call);
    if (call[0]) {
        bool lines = f->fuse->parts > 0;
        const char *test = lines ? "        is_odd |= (slices->columns[0][at / DEPTH_%d][at %% DEPTH_%d] & 0x7F80) == 0x7F80;\n"
                                 : "        const float x = slices->columns[0][at / COLUMNS_%d][at %% COLUMNS_%d];\n        is_odd |= x - x != 0;\n";
        Hole hole = { "test", emit_text(e, test, f->last->id + 1, f->last->id + 1) };
        Sample sample = { .file = "cuda/fuse_odd.cu", .number = f->last->id + 1, .dtype = DTYPE_F32, .word = "float", .part = "", .lane = "" };
        *function = emit_text(e, "%s\n%s", *function, emit_skeleton(e, &sample, &hole, 1));
    }
    return call[0] ? emit_text(e, "        if (!%s && !is_odd_%d(behind))\n            continue;\n", call, f->last->id + 1) : "";
}

/* The step for one unit of work, around calls of the pass. */
static const char *whole(Emitter *e, Fused *f, const char *pass)
{
    BlockTiling *t = &f->first;
    int n = f->last->id + 1;
    emit_begin_step(e, f->launch, t->step, false);
    block_open(e, t);
    emit_line(e, "Slices_%d *slices = (Slices_%d *)block_memory;", t->number, t->number);
    emit_line(e, "Slices_%d *behind = (Slices_%d *)(slices + 1);", n, n);
    emit_line(e, "const int64_t columns = %s, depth = %s;", block_count(e, &t->c->columns, t->columns), block_count(e, &t->c->depth, t->depth));
    emit_line(e, "const int64_t values = %s;", block_count(e, &f->last->contract->columns, f->fuse->parts ? f->values.depth : f->values.columns));
    block_open_loops(e, t, &t->c->batch);
    block_find_rows(e, t);
    emit_line(e, "for (int64_t row = 0; row < rows; row += ROWS_%d) {", t->number);
    emit_line(e, "    for (int64_t value = 0; value < values; value += %s_%d)", f->fuse->parts ? "DEPTH" : "COLUMNS", n);
    emit_line(e, "        %s;", pass);
    emit_line(e, "}");
    block_close_loops(e, t->c->batch.count);
    return block_close(e);
}

void emit_fuse(Emitter *e, const Launch *launch)
{
    Fused fused = { .launch = launch, .fuse = launch->fuse, .last = launch->steps[launch->step_count - 1], .sum = "sums[r][c]",
                    .product = "products[r][c]" }, *f = &fused;
    int n = f->last->id + 1, number;
    begin(e, f);
    number = f->first.number;
    BlockFetch fetch;
    emit_begin_step(e, launch, f->first.step, false);
    block_fetch(e, &f->first, &fetch);
    const char *title = emit_formula(e);
    text_print(&e->functions, "%s\n", block_text(e, &f->first, &fetch, title, "", "", ""));
    const ValueCalls v = values(e, f);
    const char *meet, *use, *met = met_of(e, f, &meet), *functions = fused_between(e, f, &use), *end;
    const char *stores = fused_finish(e, f, &end);
    const char *find = emit_text(e, "%s%s%s", v.find, fetch.find_columns[0] ? emit_text(e, "        %s;\n", fetch.find_columns) : "", "");
    const char *sums = emit_text(e, "        float sums[HIGH_%d][WIDE_%d];\n        %s\n", number, number, fetch.tile);
    const char *finishes = emit_text(e, "    %s;\n", end), *start = emit_state_start(e, f->last->contract->product, 0, false);
    const char *mentioned = emit_text(e, "%s %s %s %s %s %s behind columns", v.next, met, find, sums, use, finishes);
    ParameterSet passed = { .count = 0 };
    for (int i = 0; i < f->parameters.count; i++)
        if (strcmp(f->parameters.list[i].name, "column") && f->parameters.list[i].type[0] != 'f')
            emit_parameter(&passed, f->parameters.list[i].type, f->parameters.list[i].name);
    const char *pass = emit_text(e, "pass_%d(%s)", n, emit_parameters(e, &passed, mentioned, false)), *body = whole(e, f, pass);
    const ParameterSet common = emit_common_parameters(e);
    emit_begin_step(e, launch, f->last, false);
    Hole holes[] = {
        { "title", emit_text(e, "/* %s */\n", emit_formula(e)) },
        { "constants", constants(e, f) },
        { "units", units(e, f) },
        { "fetch", v.functions },
        { "steps", emit_text(e, "%s%s%s%s", meet, meet[0] ? "\n" : "", functions, stores) },
        { "head", emit_text(e, "INLINE void pass_%d(%s)\n", n, emit_parameters(e, &passed, mentioned, true)) },
        { "start", emit_text(e, "            products[r][c] = %s;\n", start) },
        { "states", states(e, f) },
        { "find", find },
        { "next", v.next },
        { "met", met },
        { "sums", sums },
        { "use", use },
        { "finish", finishes },
        { "whole", emit_text(e, "/* The steps for one unit of work. */\nINLINE void step_%d(%s)\n{\n%s}\n", n,
                             emit_parameters(e, &common, body, true), body) },
    };
    Sample sample = { .file = "cuda/fuse.cu", .number = n, .dtype = DTYPE_F32, .word = "float", .part = emit_element(f->behind.packed), .lane = "" };
    text_print(&e->functions, "%s\n", emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes));
    emit_begin_step(e, launch, f->last, false);
    e->calls[0][f->last->id] = emit_text(e, "step_%d(%s);", n, emit_parameters(e, &common, body, false));
}
