/* A product of few contracted points and the reduction behind it: templates/cuda/contract_brief.cu with its holes filled. It stands
 * in front of the form for any number of points, which asks how many there are. */
#include <math.h>
#include <string.h>

#include "emit_block.h"

typedef struct Brief {
    BlockTiling t;
    const Term *reads[ROW_READS_MAX];    /* of the reduction, for a row */
    int read_count;
} Brief;

/* A sum of powers times what their rows have bears that those are 0 which would be denormal, less than 2^-126 each, if it is at
 * least 2^-LOSSY of the largest factor: then what up to 2^38 of them lose is less than 2^-24 of it, which one rounding may lose. So it
 * is made that way first, and again where it is less. */
enum { LOSSY = 64 };

/* Of templates/cuda/contract_squares.cu: what tensor cores multiply is 2^-448 times as large as it is; and as long as a power's argument
 * has no more bits before the point were it for the distance from 0, f64 does. */
enum { NEAR_DOWN = 448, NEAR_BITS = 25 };

/* Whether tensor cores make its distances: templates/cuda/contract_squares.cu. */
static bool is_near(const Brief *b)
{
    return b->t.c->squares != 0;
}

static const char *value_name(Emitter *e, int i)
{
    return emit_text(e, "value_%d", i + 1);
}

static const char *parameters(Emitter *e, const Brief *b, const char *body, bool declare)
{
    return emit_parameters(e, &b->t.parameters, body, declare);
}

/* ---- operands ---- */

static void put_copy(Emitter *e, const char *to, const Term *read)
{
    emit_line(e, "copy_%s(&slices->%s[r], %s, 1);", dtype_name(read->dtype), to, emit_pointer(e, read));
}

static const char *fetch_function(Emitter *e, Brief *b)
{
    BlockTiling *t = &b->t;
    block_open(e, t);
    block_bind_kept(e, t);
    Scope *body = emit_push(e);
    emit_line(e, "const int r = turn * THREADS + (int)threadIdx.x;");
    emit_line(e, "const int64_t row_at = size_min(row + r, rows - 1);");
    block_decode(e, t, &t->c->rows, t->rows, "row_at");
    emit_line(e, "UNROLL");
    emit_line(e, "for (int p = 0; p < POINTS_%d; p++) {", t->number);
    Scope *points = emit_push(e);
    block_decode(e, t, &t->c->depth, t->depth, "p");
    put_copy(e, "rows[stage][p]", t->c->left);
    emit_pop(e);
    emit_body(e, points);
    emit_line(e, "}");
    for (int i = 0; i < b->read_count; i++)
        put_copy(e, emit_text(e, "%s[stage]", value_name(e, i)), b->reads[i]);
    emit_pop(e);
    emit_line(e, "UNROLL");
    emit_line(e, "for (int turn = 0; turn < CHUNK_%d / THREADS; turn++) {", t->number);
    emit_body(e, body);
    emit_line(e, "}");
    emit_line(e, "copies_end();");
    const char *text = block_close(e);
    return emit_text(e, "/* Begins to copy rows from one on; behind the last one it. */\nINLINE void fetch_%d(%s)\n{\n%s}\n", t->number,
                     parameters(e, b, text, true), text);
}

/* The call for rows from one on. */
static const char *fetch_call(Emitter *e, const Brief *b, const char *function, const char *stage, const char *row)
{
    const char *list = parameters(e, b, strchr(function, '{'), false);
    return emit_text(e, "fetch_%d(%s);\n", b->t.number, block_renamed(e, block_renamed(e, list, "row", row), "stage", stage));
}

/* Columns in a thread's registers; or, with `shares`, in shared memory where the second rows will be. */
static const char *hold_function(Emitter *e, Brief *b, bool shares, const char **call)
{
    BlockTiling *t = &b->t;
    int n = t->number;
    const char *name = shares ? "share" : "hold";
    block_open(e, t);
    block_bind_kept(e, t);
    Scope *body = emit_push(e);
    emit_line(e, "const int64_t column_at = size_min(column + %s, columns - 1);", shares ? "c" : emit_text(e, "column_%d(c)", n));
    block_decode(e, t, &t->c->columns, t->columns, "column_at");
    emit_line(e, "UNROLL");
    emit_line(e, "for (int p = 0; p < POINTS_%d; p++) {", n);
    Scope *points = emit_push(e);
    points->loop = true;
    block_decode(e, t, &t->c->depth, t->depth, "p");
    emit_line(e, "%s = %s;", shares ? "slices->rows[1][p][c]" : "held->right[p][c]", emit_bare(e, emit_term(e, t->c->right).text));
    emit_pop(e);
    emit_body(e, points);
    emit_line(e, "}");
    emit_pop(e);
    if (!shares)
        emit_line(e, "UNROLL");
    emit_line(e, shares ? "for (int c = (int)threadIdx.x; c < COLUMNS_%d; c += THREADS) {" : "for (int c = 0; c < WIDE_%d; c++) {", n);
    emit_body(e, body);
    emit_line(e, "}");
    const char *text = block_close(e);
    *call = emit_text(e, "%s_%d(%s);", name, n, parameters(e, b, text, false));
    return emit_text(e, "/* Reads %s columns; behind the last one it. */\nINLINE void %s_%d(%s)\n{\n%s}\n", shares ? "the tile's" : "a thread's", name, n,
                     parameters(e, b, text, true), text);
}

/* ---- sums ---- */

/* The largest factor of a power so far. */
static void put_most(Emitter *e, const Brief *b)
{
    const Contract *c = b->t.c;
    if (!c->power)
        return;
    const char *product = "1.0f";
    for (int i = 0; i < c->factor_count; i++) {
        const char *factor = emit_term(e, c->factors[i]).text;
        product = i ? emit_text(e, "%s * %s", product, factor) : factor;
    }
    emit_line(e, "if (FLUSHES)");
    emit_line(e, "    *most = max_f32(*most, fabsf(%s));", emit_bare(e, product));
}

static const char *take_function(Emitter *e, Brief *b, const char **list)
{
    BlockTiling *t = &b->t;
    int n = t->number;
    block_open(e, t);
    block_bind_kept(e, t);
    emit_push(e)->loop = true;
    if (is_near(b)) {
        emit_line(e, "if (FLUSHES && r %% 2 == 0)");
        emit_line(e, "    squares_%d(slices, stage, at + row_%d(r), near, squares);", n, n);
    }
    emit_line(e, "if (!IS_WHOLE && at + row_%d(r) >= there)", n);
    emit_line(e, "    %s;", is_near(b) ? "continue" : "break");
    emit_line(e, "const int64_t row_at = row + at + row_%d(r);", n);
    block_decode(e, t, &t->c->rows, t->rows, "row_at");
    for (int i = 0; i < b->read_count; i++) {
        const char *name = emit_name(e, "value");
        emit_line(e, "const %s %s = slices->%s[stage][at + row_%d(r)];", emit_type(b->reads[i]->dtype, false), name, value_name(e, i), n);
        emit_know(e, b->reads[i], (Value){ name, false });
    }
    put_most(e, b);
    emit_push(e)->loop = true;
    emit_line(e, "const int64_t column_at = size_min(column + column_%d(c), columns - 1);", n);
    block_decode(e, t, &t->c->columns, t->columns, "column_at");
    const char *sum = emit_name(e, is_near(b) ? "exponent" : "sum");
    const char *own = emit_text(e, "sum_%d(slices, stage, at + row_%d(r), held, c)", n, n);
    if (is_near(b)) {
        own = emit_text(e, "FLUSHES ? -squares[r %% 2][c] : %s * %s", emit_number(e, DTYPE_F32, t->c->squares), own);
        e->exponent = sum;
    }
    emit_line(e, "const %s %s = %s;", dtype_c(t->dtype), sum, own);
    e->lossy = t->c->power;
    block_use_sum(e, t, sum);
    e->lossy = NULL;
    e->exponent = NULL;
    block_close_sums(e, t);
    const char *text = emit_text(e, "%s%s", is_near(b) ? emit_text(e, "    float squares[2][WIDE_%d];\n", n) : "", block_close(e));
    *list = parameters(e, b, text, false);
    return emit_text(e, "/* The reduction takes a tile of sums, of which all or some rows are there. */\n"
                     "template <int IS_WHOLE, int FLUSHES>\nINLINE void take_%d(%s)\n{\n%s}\n", n, parameters(e, b, text, true), text);
}

/* The sums that may have lost too much are made again, without a loss: by all threads, which bring each other's rows. */
static void put_again(Emitter *e, const Brief *b, const char *hold, const char *rows)
{
    int n = b->t.number;
    Component component[STATE_COMPONENTS_MAX];
    state_components(b->t.first[0], component);
    emit_line(e, "int is_lost = 0;");
    emit_line(e, "UNROLL");
    emit_line(e, "for (int c = 0; c < WIDE_%d; c++)", n);
    emit_line(e, "    is_lost |= !(fabsf(%s[c]) >= %s * *most);", block_state(e, 0, component), emit_number(e, DTYPE_F32, ldexp(1, -LOSSY)));
    emit_line(e, "if (__syncthreads_or(is_lost)) {");
    e->scope->indent++;
    block_start_states(e, &b->t);
    if (is_near(b))
        emit_line(e, "%s", hold);
    emit_line(e, "rows_%d<0>(%s);", n, rows);
    e->scope->indent--;
    emit_line(e, "}");
}

static const char *whole_body(Emitter *e, Brief *b, const char *hold, const char *share, const char *rows, const char *finish)
{
    BlockTiling *t = &b->t;
    int n = t->number;
    block_open(e, t);
    emit_line(e, "Slices_%d *slices = (Slices_%d *)block_memory;", n, n);
    emit_line(e, "const int64_t columns = %s;", block_count(e, &t->c->columns, t->columns));
    block_open_loops(e, t, &t->c->batch);
    block_open_loops(e, t, &t->c->kept_rows);
    block_find_rows(e, t);
    block_open_tiles(e, t, 1);
    block_declare_states(e, t);
    emit_line(e, "Held_%d own_columns, *held = &own_columns;", n);
    if (is_near(b)) {
        emit_line(e, "Near_%d own_near, *near = &own_near;", n);
        emit_line(e, "%s", share);
        emit_line(e, "__syncthreads();");
        emit_line(e, "const int is_far = spread_%d(slices, near);", n);
    } else {
        emit_line(e, "%s", hold);
    }
    if (t->c->power) {
        emit_line(e, "float own_most = %s;", is_near(b) ? "is_far ? INFINITY : 0" : "0");
        emit_line(e, "float *most = &own_most;");
    }
    emit_line(e, "rows_%d<%d>(%s);", n, t->c->power != NULL, rows);
    if (t->c->power)
        put_again(e, b, hold, rows);
    emit_line(e, "%s", finish);
    block_close_tiles(e, t, 1);
    block_close_loops(e, t->c->batch.count + t->c->kept_rows.count);
    return block_close(e);
}

/* The same product in a tile of its own. */
static Brief begin(Emitter *e, const BlockTiling *any)
{
    Brief b = { .t = *any };
    Contract *c = ARENA_NEW(e->arena, Contract);
    *c = *any->c;
    c->block = c->brief;
    b.t.c = c;
    b.t.number = e->plan->step_count + any->number;
    b.t.names = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->index_count);
    block_begin(e, &b.t);
    b.read_count = block_row_reads(c, any->step, b.reads);
    emit_parameter(&b.t.parameters, "int ", "at");
    emit_parameter(&b.t.parameters, "int ", "there");
    emit_parameter(&b.t.parameters, emit_text(e, "Held_%d *", b.t.number), "held");
    emit_parameter(&b.t.parameters, emit_text(e, "Near_%d *", b.t.number), "near");
    emit_parameter(&b.t.parameters, "float *", "most");
    return b;
}

/* What makes distances. */
static const char *squares(Emitter *e, const Brief *b)
{
    if (!is_near(b))
        return "";
    const Contract *c = b->t.c;
    const char *down = emit_number(e, DTYPE_F64, ldexp(1, -NEAR_DOWN));
    const char *scale = emit_number(e, DTYPE_F64, ldexp(fabs(c->squares), -NEAR_DOWN) * (1 + ldexp(1, -24)));
    Sample sample = block_sample(&b->t, "cuda/contract_squares.cu");
    Hole holes[] = {
        { "far", emit_text(e, "INLINE int is_far_%d(double square)\n{\n    return !(square <= %s);\n}\n", b->t.number,
                           emit_number(e, DTYPE_F64, ldexp(1 / fabs(c->squares), NEAR_BITS))) },
        { "scale", emit_text(e, "    const double down = %s, scale = %s;\n", down, scale) },
        { "down", emit_text(e, "    const double down = %s;\n", down) },
    };
    return emit_text(e, "\n%s", emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes));
}

/* The form's functions, with the lists of what those take that go over rows. */
static const char *functions(Emitter *e, Brief *b, const char *fetch, const char *hold, const char *take, const char *take_list,
                             const char *rows_list, const char *finish, const char *whole)
{
    BlockTiling *t = &b->t;
    const BlockTile *tile = t->c->block;
    int n = t->number;
    Text values = text_new(e->arena);
    for (int i = 0; i < b->read_count; i++)
        text_print(&values, "    %s %s[2][CHUNK_%d];\n", dtype_c(b->reads[i]->dtype), value_name(e, i), n);
    if (is_near(b))
        text_print(&values, "    double numbers[2][CHUNK_%d][%d];    /* what tensor cores multiply */\n", n, block_near_points(t->c));
    Sample sample = block_sample(t, "cuda/contract_brief.cu");
    Sample threads = block_sample(t, is_near(b) ? "cuda/contract_places.cu" : "cuda/contract_threads.cu");
    Hole holes[] = {
        { "title", emit_text(e, "/* The same where there are %d of %s. */\n", t->c->points, t->c->depth.list[0]->name) },
        { "constants", emit_text(e, "CONSTANTS(ROWS_%d = %d, COLUMNS_%d = %d, POINTS_%d = %d, HIGH_%d = %d, WIDE_%d = %d, SIDE_%d = %d);\n",
                                 n, tile->rows, n, tile->columns, n, t->c->points, n, tile->high, n, tile->wide, n,
                                 block_side(tile, t->dtype)) },
        { "threads", emit_skeleton(e, &threads, NULL, 0) },
        { "values", values.bytes },
        { "fetch", emit_text(e, "%s\n%s%s", fetch, hold, squares(e, b)) },
        { "start", emit_text(e, "    %s sum = %s;\n", dtype_c(t->dtype), emit_state_start(e, t->c->product, 0, false)) },
        { "step", block_step_lines(e, t, "sum", "left", "right", 2) },
        { "take", take },
        { "rows_head", emit_text(e, "template <int FLUSHES>\nINLINE void rows_%d(%s)\n", n, rows_list) },
        { "first", emit_text(e, "        %s", fetch_call(e, b, fetch, "0", "0")) },
        { "next", emit_text(e, "            %s", fetch_call(e, b, fetch, "1 - stage", emit_text(e, "row + CHUNK_%d", n))) },
        { "widen", is_near(b) ? emit_text(e, "        if (FLUSHES && widen_%d(slices, stage))\n            *most = INFINITY;\n", n) : "" },
        { "use", emit_text(e, "            if (there == CHUNK_%d)\n                take_%d<1, FLUSHES>(%s);\n"
                           "            else\n                take_%d<0, FLUSHES>(%s);\n", n, n, take_list, n, take_list) },
        { "finish", finish },
        { "whole", whole },
    };
    return emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes);
}

const char *block_brief(Emitter *e, const BlockTiling *any)
{
    if (!any->c->brief)
        return "";
    Brief brief = begin(e, any), *b = &brief;
    BlockTiling *t = &b->t;
    int n = t->number;
    const char *hold_call, *share_call = "", *take_list, *finish_call;
    const char *fetch = fetch_function(e, b), *hold = hold_function(e, b, false, &hold_call), *take = take_function(e, b, &take_list);
    if (is_near(b))
        hold = emit_text(e, "%s\n%s", hold, hold_function(e, b, true, &share_call));
    const char *finish = block_finish(e, t, &finish_call);
    const char *mentions = emit_text(e, "slices rows %s %s", take_list, strchr(fetch, '{'));
    ParameterSet rows = { .count = 0 };
    for (int i = 0; i < t->parameters.count; i++) {
        const Parameter *p = &t->parameters.list[i];
        if (strcmp(p->name, "row") && strcmp(p->name, "stage") && strcmp(p->name, "at") && strcmp(p->name, "there"))
            emit_parameter(&rows, p->type, p->name);
    }
    const char *body = whole_body(e, b, hold_call, share_call, emit_parameters(e, &rows, mentions, false), finish_call);
    ParameterSet common = emit_common_parameters(e);
    if (t->step->split)
        emit_parameter(&common, "int64_t ", "part");
    const char *whole = emit_text(e, "/* The step for one unit of work. */\nINLINE void step_%d(%s)\n{\n%s}\n", n,
                                  emit_parameters(e, &common, body, true), body);
    text_print(&e->functions, "%s\n", functions(e, b, fetch, hold, take, take_list, emit_parameters(e, &rows, mentions, true), finish, whole));
    e->step = any->step;
    return emit_text(e, "if (depth == POINTS_%d) {\n        step_%d(%s);\n        return;\n    }", n, n,
                     emit_parameters(e, &common, body, false));
}
