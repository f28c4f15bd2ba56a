/* check: the Ast's statements become the Program's. Takes any Ast; leaves a Program that program_verify() accepts, or
 * diagnostics: as many independent ones as there are, since each part goes on after a mistake with what it has. */
#include "check.h"

#include <string.h>

/* ---- making terms ---- */

Term *check_new_term(Check *check, TermKind kind, Span span)
{
    Program *p = check->program;
    Term *term = ARENA_NEW(check->arena, Term);
    term->kind = kind;
    term->span = span;
    term->id = p->term_count;
    term->statement = check->statement->id;
    ARENA_APPEND(check->arena, p->terms, p->term_count, term);
    return term;
}

void check_add_index(Check *check, Term *term, Index *index)
{
    if (!indices_have(term->indices, term->rank, index))
        ARENA_APPEND(check->arena, term->indices, term->rank, index);
}

/* A name for a tensor that has none: the first of `letters` that no other has, or "base", "base2", … */
static const char *free_label(Check *check, const char *letters, const char *base)
{
    const Program *p = check->program;
    char letter[2] = { 0 };
    for (int try = 0;; try++) {
        const char *label;
        if (*letters) {
            letter[0] = *letters++;
            label = letter;
        } else {
            label = try && base[0] ? arena_format(check->arena, "%s%d", base, try) : base;
        }
        bool taken = check_name(check, label) != NULL;
        for (int i = 0; i < p->tensor_count && !taken; i++)
            taken = !strcmp(p->tensors[i]->label, label);
        if (!taken)
            return arena_copy(check->arena, label, strlen(label));
    }
}

Tensor *check_new_tensor(Check *check, const char *name, Span span, int rank, Dtype dtype)
{
    Program *p = check->program;
    Tensor *tensor = ARENA_NEW(check->arena, Tensor);
    tensor->name = name;
    tensor->span = span;
    tensor->id = p->tensor_count;
    tensor->input = -1;
    tensor->rank = rank;
    tensor->dtype = dtype;
    bool made = check->statement != NULL;
    tensor->label = name   ? name
                    : made ? free_label(check, "", "out")
                           : free_label(check, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "operand");
    ARENA_APPEND(check->arena, p->tensors, p->tensor_count, tensor);
    return tensor;
}

/* ---- statements ---- */

/* Whether "=" would write at a computed position; said. */
static bool is_computed(Check *check, const Position *positions, int rank)
{
    for (int a = 0; a < rank; a++) {
        if (position_is_plain(&positions[a]))
            continue;
        diag_error(check->diags, positions[a].span, "'=' writes at plain indices only");
        if (position_has_gather(&positions[a]))
            diag_hint(check->diags, "'+=' scatters: duplicates add up");
        else
            diag_hint(check->diags, "'+=' adds at computed positions, to zeros or to an array that is passed");
        return true;
    }
    return false;
}

/* Each index of the value must be somewhere in the target, and none twice under "=". */
static bool check_target(Check *check, const AstTarget *target, const Statement *statement, const Position *positions,
                         int rank, const Term *value)
{
    Index **held = NULL;
    int count = 0;
    check_target_indices(check, positions, rank, value, &held, &count);
    for (int i = 0; i < value->rank; i++)
        if (!indices_have(held, count, value->indices[i])) {
            diag_error(check->diags, target->span, "index '%s' of the value is not in the target",
                       value->indices[i]->name);
            diag_hint(check->diags, "the value's indices are %s; sum one with '->' or a reduction",
                      check_index_list(check, value->indices, value->rank));
            return false;
        }
    for (int a = 0; a < rank && !statement->accumulate; a++)
        for (int b = 0; b < a; b++)
            if (positions[a].parts[0].index == positions[b].parts[0].index) {
                diag_error(check->diags, positions[a].span, "index '%s' is in the target twice",
                           positions[a].parts[0].index->name);
                diag_hint(check->diags, "'+=' adds to a diagonal");
                return false;
            }
    return true;
}

static Position *plain_positions(Check *check, const Term *value)
{
    Position *positions = ARENA_ARRAY(check->arena, Position, value->rank);
    for (int i = 0; i < value->rank; i++) {
        positions[i] = (Position){ .span = value->span, .count = 1, .parts = ARENA_NEW(check->arena, PositionPart) };
        positions[i].parts[0] = (PositionPart){ 1, value->indices[i], NULL };
    }
    return positions;
}

static void add_output(Check *check, Tensor *tensor, Term *value, Position *positions)
{
    Statement *s = check->statement;
    tensor->maker = s;
    tensor->axes = ARENA_ARRAY(check->arena, Index *, tensor->rank);
    for (int a = 0; a < tensor->rank; a++)
        if (position_is_plain(&positions[a]))
            tensor->axes[a] = positions[a].parts[0].index;
    Output output = { tensor, value, positions, false };
    ARENA_APPEND(check->arena, s->outputs, s->output_count, output);
}

static void store_named(Check *check, const AstStatement *ast, Term *value, Position *positions, int rank)
{
    Statement *s = check->statement;
    const AstTarget *target = ast->target;
    Name *name = check_name(check, target->name->text);
    Tensor *previous = name->tensor;
    if (!target->brackets) {
        positions = plain_positions(check, value);
        rank = value->rank;
    } else if (!check_target(check, target, s, positions, rank, value)) {
        return;
    }
    if (previous && previous->rank != rank) {
        diag_error(check->diags, target->span, "'%s' has rank %d, not %d", name->text, previous->rank, rank);
        diag_note(check->diags, previous->span, "it is made here");
        return;
    }
    Dtype dtype = s->declared != DTYPE_NONE ? s->declared : value->dtype;
    value = check_accumulate(check, value, dtype);
    if (!value)
        return;
    Tensor *tensor = check_new_tensor(check, name->text, target->span, rank, dtype);
    if (previous)
        tensor->label = previous->label;
    tensor->previous = previous;
    tensor->from_caller = s->accumulate && !previous;
    add_output(check, tensor, value, positions);
    name->tensor = tensor;
}

static void store_unnamed(Check *check, Term *value, Span span)
{
    Tensor *tensor = check_new_tensor(check, NULL, span, value->rank, value->dtype);
    add_output(check, tensor, value, plain_positions(check, value));
}

static void store_several(Check *check, const AstStage *first)
{
    int most = 0;
    for (const AstStage *stage = first; stage; stage = stage->also)
        most++;
    Term **values = ARENA_ARRAY(check->arena, Term *, most);
    int count = check_reductions(check, first, values);
    for (int i = 0; i < count; i++)
        if (values[i])
            store_unnamed(check, values[i], values[i]->span);
}

static bool target_positions(Check *check, const AstStatement *ast, Position **positions, int *rank)
{
    return !ast->target || !ast->target->brackets ||
           (check_positions(check, ast->target->positions, -1, positions, rank) &&
            (ast->accumulate || !is_computed(check, *positions, *rank)));
}

/* The chain's value, or with `&` its values, into the statement's outputs. The target's positions stand for the missing
 * arrow of a chain without stages; behind stages its words mean what is left, such as topk's ranks. */
static void check_chain(Check *check, const AstStatement *ast)
{
    const AstStage *last = NULL;
    Position *positions = NULL;
    int rank = 0;
    bool good = ast->chain->stages || target_positions(check, ast, &positions, &rank);
    check->value = check_head(check, ast->chain, ast->target, positions, rank);
    for (const AstStage *stage = ast->chain->stages; stage && check->value; stage = stage->next) {
        check->value->is_value = true;
        last = stage;
        if (!stage->also)
            check->value = check_stage(check, stage);
    }
    if (ast->chain->stages)
        good = target_positions(check, ast, &positions, &rank);
    if (!check->value || !good)
        return;
    check->value->is_value = true;
    bool several = last && last->also;
    if (several && (ast->target || ast->next)) {
        diag_error(check->diags, last->also->span, "'&' gives several results, so it may only end the last statement, "
                   "without a target");
        diag_hint(check->diags, "write one statement for each");
        return;
    }
    if (several) {
        store_several(check, last);
        return;
    }
    if (ast->target)
        store_named(check, ast, check->value, positions, rank);
    else
        store_unnamed(check, check->value, ast->span);
}

static bool redefines(Check *check, const AstStatement *ast)
{
    Name *name = ast->target ? check_name(check, ast->target->name->text) : NULL;
    if (!name || !name->tensor || ast->accumulate)
        return false;
    diag_error(check->diags, ast->target->span, "'%s' is made twice", name->text);
    diag_note(check->diags, name->tensor->span, "first here");
    diag_hint(check->diags, "use another name, or '+=' to add to it");
    return true;
}

/* The dtype of the target where something says so: its own annotation, or the array that `+=` adds to. */
static Dtype declared_dtype(Check *check, const AstStatement *ast)
{
    if (!ast->target)
        return DTYPE_NONE;
    const Name *name = check_name(check, ast->target->name->text);
    Dtype written = ast->target->dtype.dtype;
    Dtype array = !ast->accumulate ? DTYPE_NONE : name->tensor ? name->tensor->dtype : name->dtype;
    if (written != DTYPE_NONE && array != DTYPE_NONE && written != array)
        diag_error(check->diags, ast->target->dtype.span, "'%s' is %s", name->text, dtype_name(array));
    return written != DTYPE_NONE ? written : array;
}

static void check_statement(Check *check, const AstStatement *ast)
{
    Program *p = check->program;
    Statement *s = check->statement = ARENA_NEW(check->arena, Statement);
    s->span = ast->span;
    s->id = p->statement_count;
    s->named = ast->target != NULL;
    s->accumulate = ast->accumulate;
    s->declared = declared_dtype(check, ast);
    ARENA_APPEND(check->arena, p->statements, p->statement_count, s);
    check_begin_statement(check, ast);
    if (!ast->target && ast->next) {
        diag_error(check->diags, ast->span, "the result of this statement has no name");
        diag_hint(check->diags, "only the last statement may go without: 'name = ...'");
    }
    if (!redefines(check, ast))
        check_chain(check, ast);
}

Program *check(Arena *arena, const Ast *ast, const CheckOptions *options, Diags *diags)
{
    static const CheckOptions nothing_known = { 0 };
    Check check = { .arena = arena, .ast = ast, .options = options ? options : &nothing_known, .diags = diags };
    check.program = ARENA_NEW(arena, Program);
    check.program->arena = arena;
    check.program->source = ast->source;
    if (!check_collect(&check))
        return NULL;
    for (const AstStatement *s = ast->statements; s; s = s->next)
        check_statement(&check, s);
    if (diags->errors)
        return NULL;
    check_extents(&check);
    return diags->errors ? NULL : check.program;
}
