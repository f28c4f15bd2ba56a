/* A step as a tiled product on a grid: templates/cuda/contract.cu with its holes filled. */
#include <ctype.h>
#include <string.h>

#include "emit_block.h"

/* Variables of the templates. */
static const char *const words[] = {
    "slices", "row", "rows", "column", "columns", "depth", "sums", "left", "right", "stage", "now", "point", "points", "p", "line", "lane",
    "chunk", "count", "next_at", "to", "r", "c", "at", "turn", "from", "data", "offset", "is_there", "is_line", "one", "first", "end",
    "row_at", "column_at", "point_at", "value", "fetched", "row_rest", "column_rest", "point_rest", "apart", "warp", "states", "next",
    "rows_fetched", "columns_fetched", "States", "down", "across", "part", "is_met", "behind", "values", "products", "factors",
    "before", "factor", "there", "value_at", "value_rest", "pair", "word", "numbers", "finite",
    "is_point", "places", "held", "most", "own_most", "own_columns", "is_lost", "rows_from", "columns_from", "misses", "last", "AHEAD", "LAST", "HIGH",
    "ring", "tile", "tiles", "number", "side", "band", "high", "whole", "reached", "slice", "phase", "bytes", "full", "place", "panel",
    "copy", "portion", "near", "far", "upper", "lower", "squares", "square", "own", "own_near", "scale", "even", "odd", "set", "is_far"
};

bool emit_block_uses(const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

static const IndexSet *set_of(const Contract *c, int i)
{
    const IndexSet *sets[] = { &c->batch, &c->kept_rows, &c->rows, &c->columns, &c->depth };
    return sets[i];
}

static bool is_atom(const char *text)
{
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

/* ---- functions ---- */

/* Begins one: the indices' names are taken, the same in each. */
Scope *block_open(Emitter *e, BlockTiling *t)
{
    e->step = t->step;
    Scope *scope = emit_push(e);
    scope->indent = 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        names_unique(&scope->names, words[i]);
    for (int s = 0; s < 5; s++)
        for (int i = 0; i < set_of(t->c, s)->count; i++) {
            const Index *index = set_of(t->c, s)->list[i];
            t->names[index->id] = names_user(&scope->names, index->name);
        }
    for (int i = 0; t->rows && i < t->c->rows.count; i++) {    /* what the step's own function declares */
        names_unique(&scope->names, t->rows[i].first);
        names_unique(&scope->names, t->rows[i].end);
    }
    return scope;
}

const char *block_close(Emitter *e)
{
    const char *body = emit_without_unread(e->arena, emit_pop(e)->text.bytes);
    return emit_text(e, "%s%s", emit_locals(e, body), body);
}

void block_bind_kept(Emitter *e, const BlockTiling *t)
{
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < set_of(t->c, s)->count; i++)
            emit_bind(e, set_of(t->c, s)->list[i], t->names[set_of(t->c, s)->list[i]->id]);
}

static const char *length_of(Emitter *e, const Along *along)
{
    return strcmp(along->first, "0") ? emit_text(e, "%s - %s", along->end, along->first) : along->end;
}

void block_decode(Emitter *e, const BlockTiling *t, const IndexSet *set, const Along *along, const char *number)
{
    const char *rest = emit_text(e, "%.*s_rest", (int)strcspn(number, "_"), number);
    if (set->count > 1)
        emit_line(e, "int64_t %s = %s;", rest, number);
    for (int i = set->count - 1; i >= 0; i--) {
        const char *name = t->names[set->list[i]->id], *first = along[i].first;
        const char *value = set->count == 1 ? number : rest;
        if (i > 0)
            value = emit_text(e, "take_index(&%s, %s)", rest, length_of(e, &along[i]));
        emit_line(e, "const int64_t %s = %s%s%s;", name, strcmp(first, "0") ? first : "", strcmp(first, "0") ? " + " : "", value);
        emit_bind(e, set->list[i], name);
    }
}

const char *block_state(Emitter *e, int r, const Component *component)
{
    return emit_text(e, "%s_%d", component->name, r + 1);
}

void block_know_sum(Emitter *e, const BlockTiling *t, const char *sum)
{
    emit_know(e, t->c->product, emit_state_finish(e, t->c->product, &sum, false));
}

const char *block_call(Emitter *e, const BlockTiling *t, const char *name, const char *body)
{
    return emit_text(e, "%s_%d(%s)", name, t->number, emit_parameters(e, &t->parameters, body, false));
}

/* ---- what the step goes over ---- */

const Along *block_plain_bounds(Emitter *e, const IndexSet *set)
{
    Along *along = ARENA_ARRAY(e->arena, Along, set->count);
    for (int i = 0; i < set->count; i++) {
        const Index *index = set->list[i];
        const char *first = e->block_first[index->id], *end = e->block_end[index->id];
        along[i] = (Along){ index, first ? first : "0", first ? end : emit_extent(e, index) };
    }
    return along;
}

/* The reductions as their domain leaves them. The conditions that no loop is for: the loops are empty where they do not hold. */
static Domain apply_domain(Emitter *e, BlockTiling *t, LoopBounds *bounds)
{
    Domain domain = { .reduce = NULL };
    t->first_count = t->c->reduces ? t->step->root_count : 0;
    t->first = ARENA_ARRAY(e->arena, const Term *, t->first_count + 1);
    for (int r = 0; r < t->first_count; r++)
        t->first[r] = t->step->roots[r];
    t->inside_count = 0;
    if (t->first_count != 1)
        return domain;
    domain = emit_domain_of_rows(e, t->c, t->first[0], bounds);
    t->first[0] = domain.reduce;
    t->inside = domain.inside;
    t->inside_count = domain.inside_count;
    return domain;
}

static void find_term(void *user, const Term *term)
{
    const Term **sought = user;
    *sought = *sought == term ? NULL : *sought;
}

static bool holds(const Emitter *e, const Term *term, const Term *part)
{
    term_each_below(e->arena, term, find_term, &part);
    return !part;
}

/* The condition of the where that the one reduction behind the product skips, or that the step stores, if what it gives otherwise
 * has nothing to do with the product, and it can be asked anywhere. */
static const Term *asked_for(const Emitter *e, const BlockTiling *t)
{
    const Statement *statement = t->step->statement;
    const Term *x = t->first_count == 1 ? t->first[0]->reduce.argument : statement->outputs[0].value;
    if (t->first_count > 1 || (!t->first_count && (statement->output_count > 1 || t->step->split)) || x->kind != TERM_SELECT ||
        (t->first_count && !state_skips(t->first[0], x->select.no)))
        return NULL;
    const Term *condition = x->select.condition;
    bool safe = !e->misses[condition->id] && !e->fixed[condition->id];
    return safe && !holds(e, condition, t->c->product) && !holds(e, x->select.no, t->c->product) ? condition : NULL;
}

/* How many points a flattened group has. */
const char *block_count(Emitter *e, const IndexSet *set, const Along *along)
{
    Text text = text_new(e->arena);
    for (int i = 0; i < set->count; i++) {
        const char *length = length_of(e, &along[i]);
        bool sum = strchr(length, ' ') && set->count > 1;
        text_print(&text, "%s%s%s%s", i ? " * " : "", sum ? "(" : "", length, sum ? ")" : "");
    }
    return text.bytes;
}

/* A bound as a name, for all functions. */
static const char *bound_name(Emitter *e, const BlockTiling *t, const Index *index, const char *text, const char *word)
{
    if (is_atom(text))
        return text;
    const char *name = names_unique(&e->scope->names, emit_text(e, "%s_%s", t->names[index->id], word));
    emit_line(e, "const int64_t %s = %s;", name, text);
    return name;
}

/* The bounds of the rows that the step goes over, inside its loops: as numbers, or names for them. */
static LoopBounds *find_bounds(Emitter *e, BlockTiling *t, Domain *domain)
{
    const IndexSet *set = &t->c->rows;
    const Along *plain = block_plain_bounds(e, set);
    LoopBounds *bounds = ARENA_ARRAY(e->arena, LoopBounds, set->count);
    for (int i = 0; i < set->count; i++)
        bounds[i] = (LoopBounds){ set->list[i], plain[i].first, plain[i].end };
    *domain = apply_domain(e, t, bounds);
    return bounds;
}

const LoopBounds *block_bounds(Emitter *e, BlockTiling *t, const char **around)
{
    Domain domain;
    const LoopBounds *bounds = find_bounds(e, t, &domain);
    *around = domain.around_count ? emit_conditions(e, domain.around, domain.around_count) : NULL;
    return bounds;
}

/* Finds the rows that the step goes over, inside its loops. */
void block_find_rows(Emitter *e, BlockTiling *t)
{
    const IndexSet *set = &t->c->rows;
    const Along *plain = block_plain_bounds(e, set);
    Domain domain;
    const LoopBounds *bounds = find_bounds(e, t, &domain);
    Along *rows = ARENA_ARRAY(e->arena, Along, set->count);
    for (int i = 0; i < set->count; i++) {
        const Index *index = set->list[i];
        rows[i].index = index;
        rows[i].first = bound_name(e, t, index, bounds[i].first, "from");
        rows[i].end = bound_name(e, t, index, bounds[i].end, "to");
    }
    t->rows = rows;
    const char *count = block_count(e, set, rows);
    bool bounded = false;
    for (int i = 0; i < set->count; i++)
        bounded |= strcmp(bounds[i].first, plain[i].first) || strcmp(bounds[i].end, plain[i].end);
    if (bounded && set->count > 1) {
        count = "1";
        for (int i = 0; i < set->count; i++)
            count = emit_text(e, "%s%ssize_max(%s, 0)", i ? count : "", i ? " * " : "", length_of(e, &rows[i]));
    }
    if (domain.around_count)
        count = emit_text(e, "%s ? %s : 0", emit_conditions(e, domain.around, domain.around_count), count);
    emit_line(e, "const int64_t rows = %s;", count);
}

static void set_parameters(Emitter *e, BlockTiling *t)
{
    ParameterSet *set = &t->parameters;
    *set = emit_common_parameters(e);
    if (t->step->split)
        emit_parameter(set, "int64_t ", "part");
    emit_parameter(set, emit_text(e, "Slices_%d *", t->number), "slices");
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < set_of(t->c, s)->count; i++)
            emit_parameter(set, "int64_t ", t->names[set_of(t->c, s)->list[i]->id]);
    for (int i = 0; i < t->c->rows.count; i++) {
        const Index *index = t->c->rows.list[i];
        if (strcmp(t->rows[i].first, "0") && !e->block_first[index->id])
            emit_parameter(set, "int64_t ", t->rows[i].first);
        if (strcmp(t->rows[i].end, emit_extent(e, index)) && !e->block_first[index->id])
            emit_parameter(set, "int64_t ", t->rows[i].end);
    }
    static const char *const numbers[] = { "row", "rows", "column", "columns" };
    for (int i = 0; i < 4; i++)
        emit_parameter(set, "int64_t ", numbers[i]);
    emit_parameter(set, "int ", "stage");
    emit_parameter(set, "int64_t ", "point");
    emit_parameter(set, "int64_t ", "depth");
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            emit_parameter(set, emit_text(e, "%s *", emit_type(components[i].dtype, false)), block_state(e, r, &components[i]));
    }
}

/* ---- the step ---- */

void block_open_loops(Emitter *e, const BlockTiling *t, const IndexSet *set)
{
    const Along *along = block_plain_bounds(e, set);
    for (int i = 0; i < set->count; i++) {
        const char *name = t->names[set->list[i]->id];
        emit_line(e, "for (int64_t %s = %s; %s < %s; %s++) {", name, along[i].first, name, along[i].end, name);
        emit_push(e)->loop = true;
        emit_bind(e, set->list[i], name);
    }
}

void block_close_loops(Emitter *e, int count)
{
    while (count-- > 0) {
        Scope *body = emit_pop(e);
        emit_body(e, body);
        emit_line(e, "}");
    }
}

void block_start_states(Emitter *e, const BlockTiling *t)
{
    if (!t->first_count)
        return;
    emit_line(e, "UNROLL");
    emit_line(e, "for (int c = 0; c < WIDE_%d; c++) {", t->number);
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            emit_line(e, "    %s[c] = %s;", block_state(e, r, &components[i]), emit_state_start(e, t->first[r], i, false));
    }
    emit_line(e, "}");
}

void block_declare_states(Emitter *e, const BlockTiling *t)
{
    for (int r = 0; r < t->first_count; r++) {
        Component components[STATE_COMPONENTS_MAX];
        for (int i = 0, n = state_components(t->first[r], components); i < n; i++)
            emit_line(e, "%s %s[WIDE_%d];", emit_type(components[i].dtype, false), block_state(e, r, &components[i]), t->number);
    }
    block_start_states(e, t);
}

typedef struct Calls {
    const char *find_columns, *meet, *begin, *tile, *use, *finish;    /* use: a format that asks whether the tile is whole */
    const char *brief;            /* of the form for few contracted points, and where it is taken; "" */
} Calls;

const char *block_renamed(Emitter *e, const char *text, const char *name, const char *as)
{
    Text renamed = text_new(e->arena);
    for (size_t length; *text; text += length) {
        for (length = 0; isalnum((unsigned char)text[length]) || text[length] == '_';)
            length++;
        if (length == strlen(name) && !strncmp(text, name, length))
            text_put(&renamed, as);
        else
            text_add(&renamed, text, length = length ? length : 1);
    }
    return renamed.bytes;
}

/* Whether the next tile begins before a reduction takes this one's sums. On tensor cores a thread has no registers for that. */
static bool begins_ahead(const BlockTiling *t)
{
    return t->first_count && !t->c->block->is_matrix;
}

/* The sums of a tile. Another one's first slices are on their way while the reduction takes them. */
static void put_tile(Emitter *e, const BlockTiling *t, const Calls *calls)
{
    bool ahead = begins_ahead(t);
    if (!ahead && calls->begin[0])
        emit_line(e, "%s", calls->begin);
    emit_line(e, "%s", calls->tile);
    if (!ahead)
        return;
    emit_line(e, "if (row + ROWS_%d < rows)", t->number);
    emit_line(e, "    %s", block_renamed(e, calls->begin, "row", emit_text(e, "row + ROWS_%d", t->number)));
}

/* The same where nobody may ask for a tile. What is stored where nobody asks for them does not need the sums. */
static void put_asked_tile(Emitter *e, const BlockTiling *t, const Calls *calls)
{
    emit_line(e, "if (%s) {", calls->meet);
    if (calls->begin[0])
        emit_line(e, "    %s", calls->begin);
    emit_line(e, "    %s", calls->tile);
    if (!t->first_count)
        emit_line(e, "}");
}

static void put_use(Emitter *e, const BlockTiling *t, const char *use)
{
    for (int whole = 1; whole >= 0 && use[0]; whole--) {
        emit_line(e, "%s", whole ? emit_text(e, "if (row + ROWS_%d <= rows && column + COLUMNS_%d <= columns)", t->number, t->number) : "else");
        emit_line(e, "    %.*s%d%s", (int)(strstr(use, "%d") - use), use, whole, strstr(use, "%d") + 2);
    }
}

/* The most that a formula gives, as far as a constant bounds it. */
static int64_t most_of(const Size *size)
{
    switch (size->kind) {
    case SIZE_CONSTANT: return size->constant;
    case SIZE_NAMED: return most_of(size->a);
    case SIZE_MIN: return most_of(size->a) < most_of(size->b) ? most_of(size->a) : most_of(size->b);
    default: return SIZE_TOO_LARGE;
    }
}

/* Whether a unit of work has no more of a group of indices than a tile. */
static bool is_one_tile(const Emitter *e, const BlockTiling *t, const IndexSet *set, int most)
{
    const Launch *launch = e->launch;
    int place = 0;
    while (launch->steps[place] != t->step)
        place++;
    for (int b = 0; b < launch->block_count; b++)
        if (set->count == 1 && launch->blocks[b].of_step[place] == set->list[0])
            return most_of(launch->blocks[b].tile) <= most;
    return false;
}

void block_open_tiles(Emitter *e, const BlockTiling *t, int side)
{
    const IndexSet *set = side ? &t->c->columns : &t->c->rows;
    const char *name = side ? "column" : "row", *size = side ? "COLUMNS" : "ROWS";
    if (is_one_tile(e, t, set, side ? t->c->block->columns : t->c->block->rows)) {
        emit_line(e, "const int64_t %s = 0;", name);
        return;
    }
    emit_line(e, "for (int64_t %s = 0; %s < %ss; %s += %s_%d) {", name, name, name, name, size, t->number);
    e->scope->indent++;
}

void block_close_tiles(Emitter *e, const BlockTiling *t, int side)
{
    if (is_one_tile(e, t, side ? &t->c->columns : &t->c->rows, side ? t->c->block->columns : t->c->block->rows))
        return;
    e->scope->indent--;
    emit_line(e, "}");
}

static const char *step_body(Emitter *e, BlockTiling *t, const Calls *calls)
{
    int n = t->number;
    t->rows = NULL;
    block_open(e, t);
    t->columns = (Along *)block_plain_bounds(e, &t->c->columns);
    t->depth = (Along *)block_plain_bounds(e, &t->c->depth);
    emit_line(e, "Slices_%d *slices = (Slices_%d *)block_memory;", n, n);
    emit_line(e, "const int64_t columns = %s, depth = %s;", block_count(e, &t->c->columns, t->columns),
              block_count(e, &t->c->depth, t->depth));
    if (calls->brief[0])
        emit_line(e, "%s", calls->brief);
    block_open_loops(e, t, &t->c->batch);
    block_open_loops(e, t, &t->c->kept_rows);
    block_find_rows(e, t);
    block_open_tiles(e, t, 1);
    block_declare_states(e, t);
    if (calls->find_columns[0])
        emit_line(e, "%s;", calls->find_columns);
    if (!calls->meet[0] && begins_ahead(t)) {
        emit_line(e, "if (rows > 0)");
        emit_line(e, "    %s", block_renamed(e, calls->begin, "row", "0"));
    }
    block_open_tiles(e, t, 0);
    emit_line(e, "%s sums[HIGH_%d][WIDE_%d];", dtype_c(t->dtype), n, n);
    bool inside = calls->meet[0] && t->first_count;
    if (calls->meet[0])
        put_asked_tile(e, t, calls);
    else
        put_tile(e, t, calls);
    e->scope->indent += inside;
    put_use(e, t, calls->use);
    e->scope->indent -= inside;
    if (inside)
        emit_line(e, "}");
    block_close_tiles(e, t, 0);
    if (calls->finish[0])
        emit_line(e, "%s", calls->finish);
    block_close_tiles(e, t, 1);
    block_close_loops(e, t->c->batch.count + t->c->kept_rows.count);
    return block_close(e);
}

int block_side(const BlockTile *tile, Dtype dtype)
{
    int side = tile->side ? tile->side : BLOCK_LINE / (int)dtype_size(dtype);
    side = tile->high < side ? tile->high : side;
    return tile->wide < side ? tile->wide : side;
}

static const char *constants(Emitter *e, const BlockTiling *t)
{
    const BlockTile *tile = t->c->block;
    int n = t->number, line = BLOCK_LINE / (int)dtype_size(t->dtype);
    const char *own = tile->is_matrix ? "" : emit_text(e, ", SIDE_%d = %d, PAD_%d = %d", n, block_side(tile, t->dtype), n, line);
    return emit_text(e, "CONSTANTS(ROWS_%d = %d, COLUMNS_%d = %d, DEPTH_%d = %d, STAGES_%d = %d, HIGH_%d = %d, WIDE_%d = %d%s);\n", n,
                     tile->rows, n, tile->columns, n, t->c->depth_block, n, tile->stages, n, tile->high, n, tile->wide, own);
}

Sample block_sample(const BlockTiling *t, const char *file)
{
    return (Sample){ .file = file, .number = t->number, .dtype = t->dtype, .word = dtype_c(t->dtype),
                     .part = emit_element(t->c->packed), .lane = "" };
}

/* One product is added to its sum. */
const char *block_step_lines(Emitter *e, BlockTiling *t, const char *sum, const char *left, const char *right, int indent)
{
    block_open(e, t)->indent = indent;
    emit_know(e, t->c->left, (Value){ left, false });
    emit_know(e, t->c->right, (Value){ right, false });
    emit_state_step(e, t->c->product, &sum, false, NULL);
    return emit_pop(e)->text.bytes;
}

/* What is a kind of units' own: shared memory, places and products. */
static const char *units(Emitter *e, BlockTiling *t)
{
    if (t->c->block->is_matrix)
        return block_matrices(e, t);
    Sample sample = block_sample(t, "cuda/contract_plain.cu"), threads = block_sample(t, "cuda/contract_threads.cu");
    Hole hole = { "step", block_step_lines(e, t, "sums[r][c]", "left[r]", "right[c]", 3) };
    return emit_text(e, "%s\n%s", emit_skeleton(e, &threads, NULL, 0), emit_skeleton(e, &sample, &hole, 1));
}

/* Finds the names, and what the step goes over. */
void block_begin(Emitter *e, BlockTiling *t)
{
    const Calls none = { "", "", "", "", "", "", "" };
    t->dtype = register_dtype(t->c->product->dtype);
    step_body(e, t, &none);
    set_parameters(e, t);
    t->asked = asked_for(e, t);
    for (int side = 0; side < 2; side++)
        t->copied[side] = block_is_copied(e, t, side);
}

const char *block_text(Emitter *e, BlockTiling *t, const BlockFetch *f, const char *title, const char *after, const char *finish, const char *whole)
{
    bool parts = t->c->tile != NULL;
    Hole holes[] = {
        { "title", emit_text(e, "/* %s */\n", title) },
        { "constants", constants(e, t) },
        { "units", units(e, t) },
        { "fetch", emit_text(e, "%s\n%s%s", f->functions[0], f->functions[1], f->whole) },
        { "begin_head", emit_text(e, "INLINE void begin_%d(%s)\n", t->number, block_tile_list(e, t, f->before.bytes, true)) },
        { "tile_head", emit_text(e, "INLINE void %s_%d(%s, %s%s sums[HIGH_%d][WIDE_%d])\n", parts ? "sums" : "tile", t->number,
                                 block_tile_list(e, t, f->mentions.bytes, true), parts ? "int is_whole, " : "", dtype_c(t->dtype),
                                 t->number, t->number) },
        { "multiply", emit_text(e, "        multiply_%d(slices, now, depth - at, %ssums);\n", t->number,
                                parts ? "is_whole, " : "") },
        { "again", parts ? block_again(e, t, f) : "" },
        { "start", emit_text(e, "            sums[r][c] = %s;\n", emit_state_start(e, t->c->product, 0, false)) },
        { "find", f->find.bytes },
        { "room", f->room.bytes },
        { "first", f->first.bytes },
        { "quick", f->quick },
        { "next", f->next.bytes },
        { "put", f->put.bytes },
        { "after", after },
        { "finish", finish },
        { "whole", whole },
    };
    Sample sample = block_sample(t, "cuda/contract.cu");
    return emit_skeleton(e, &sample, holes, sizeof holes / sizeof *holes);
}

/* Several products of a launch have a thread's registers one after the other: what is common to inlined ones would be kept beside sums. */
static const char *step_linkage(const Launch *launch)
{
    return launch_products(launch) > 1 ? "APART" : "INLINE";
}

void emit_block_product(Emitter *e)
{
    const Step *step = e->step;
    BlockTiling tiling = { .c = step->contract, .step = step, .number = step->id + 1, .rows_pass = step->contract->reduces }, *t = &tiling;
    t->names = ARENA_ARRAY(e->arena, const char *, e->plan->lowered->index_count);
    block_begin(e, t);
    BlockFetch f;
    block_fetch(e, t, &f);
    Calls calls = { .find_columns = f.find_columns, .begin = f.begin, .tile = f.sums, .brief = block_brief(e, t) };
    const char *meet = block_meet(e, t, &calls.meet), *take = block_take(e, t, &calls.use), *finish = block_finish(e, t, &calls.finish);
    const char *body = step_body(e, t, &calls);
    ParameterSet common = emit_common_parameters(e);
    if (step->split)
        emit_parameter(&common, "int64_t ", "part");
    const char *after = emit_text(e, "%s%s%s", meet, meet[0] ? "\n" : "", take);
    const char *whole = emit_text(e, "/* The step for one unit of work. */\n%s void step_%d(%s)\n{\n%s}\n", step_linkage(e->launch), t->number,
                                  emit_parameters(e, &common, body, true), body);
    const char *title = emit_formula(e);
    text_print(&e->functions, "%s\n", block_text(e, t, &f, title, after, finish, whole));
    e->step = step;
    e->calls[0][step->id] = emit_text(e, "step_%d(%s);", t->number, emit_parameters(e, &common, body, false));
}

const char *emit_block_memory(Emitter *e)
{
    int bytes = e->plan->block_bytes;
    if (!bytes)
        return "";
    const char *memory = emit_text(e, "__shared__ __align__(16) char block_memory[%d];\n", bytes);
    if (bytes > e->plan->target->grid->shared_bytes)
        memory = emit_text(e, "#ifdef EINC_MODEL\n%s#else\nextern __shared__ __align__(16) char block_memory[];\n#endif\n", memory);
    return emit_text(e, "/* Shared memory of a block, which its products use one after the other. */\n%s\n", memory);
}
