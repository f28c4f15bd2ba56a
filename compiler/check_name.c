/* Names: which operands are inputs and in which order, what the caller knows of them, and which index a word means. */
#include <string.h>

#include "check.h"

Name *check_name(Check *check, const char *text)
{
    for (int i = 0; i < check->name_count; i++)
        if (!strcmp(check->names[i].text, text))
            return &check->names[i];
    return NULL;
}

bool check_is_constant(const AstExpr *letters, bool top)
{
    const AstWord *word = letters->letters.words;
    if (letters->kind != AST_LETTERS || word->next || letters->letters.dtype.dtype != DTYPE_NONE ||
        (top && !letters->parenthesised))
        return false;
    return !strcmp(word->text, "inf") || !strcmp(word->text, "nan") || !strcmp(word->text, "pi");
}

/* ---- walking over all operands, in the order of the text ---- */

static void walk_positions(Check *check, const AstPosition *positions, int statement, OnOperand *on);

static void walk_expr(Check *check, const AstExpr *expr, bool top, int statement, OnOperand *on)
{
    if (expr->kind == AST_CALL) {
        for (const AstExpr *a = expr->call.arguments; a; a = a->next)
            walk_expr(check, a, false, statement, on);
    } else if (expr->kind == AST_TENSOR) {
        on(check, expr, statement);
        walk_positions(check, expr->tensor.positions, statement, on);
    } else if (expr->kind == AST_EMPTY || (expr->kind == AST_LETTERS && !check_is_constant(expr, top))) {
        on(check, expr, statement);
    }
}

static void walk_positions(Check *check, const AstPosition *positions, int statement, OnOperand *on)
{
    for (const AstPosition *p = positions; p; p = p->next)
        for (const AstTerm *t = p->terms; t; t = t->next) {
            if (t->gather)
                walk_expr(check, t->gather, false, statement, on);
            if (t->group)
                walk_positions(check, t->group, statement, on);
        }
}

void check_walk(Check *check, const AstStatement *s, int id, OnOperand *on)
{
    if (s->target)
        walk_positions(check, s->target->positions, id, on);
    for (const AstExpr *f = s->chain->factors; f; f = f->next)
        walk_expr(check, f, true, id, on);
    for (const AstStage *stage = s->chain->stages; stage; stage = stage->next)
        for (const AstExpr *f = stage->factors; f; f = f->next)
            walk_expr(check, f, true, id, on);
}

bool check_is_name(Check *check, const AstExpr *letters)
{
    return letters->kind == AST_LETTERS && !letters->letters.words->next && check_name(check, letters->letters.words->text);
}

/* ---- inputs ---- */

static void add_input(Check *check, Tensor *tensor, const AstExpr *written)
{
    Program *p = check->program;
    int count = p->input_count;
    tensor->input = count;
    ARENA_APPEND(check->arena, check->written, count, written);
    ARENA_APPEND(check->arena, p->inputs, p->input_count, tensor);
}

static void note_rank(Check *check, Name *name, const AstExpr *expr)
{
    bool dots;
    int rank = check_explicit_rank(check, expr, &dots);
    if (dots)
        return;
    if (name->rank >= 0 && name->rank != rank) {
        diag_error(check->diags, expr->span, "'%s' has rank %d here, but %d before", name->text, rank, name->rank);
        diag_note(check->diags, name->first, "first used here");
    } else {
        name->rank = rank;
    }
}

static void note_dtype(Check *check, Name *name, AstDtype dtype)
{
    if (dtype.dtype == DTYPE_NONE)
        return;
    if (name->dtype != DTYPE_NONE && name->dtype != dtype.dtype) {
        diag_error(check->diags, dtype.span, "'%s' is %s here, but %s before", name->text, dtype_name(dtype.dtype),
                   dtype_name(name->dtype));
        diag_note(check->diags, name->dtype_at, "declared here");
    } else {
        name->dtype = dtype.dtype;
        name->dtype_at = dtype.span;
    }
}

static void collect_name(Check *check, const AstExpr *expr, int statement)
{
    (void)statement;
    if (expr->kind != AST_TENSOR || check_name(check, expr->tensor.name->text))
        return;
    Name fresh = { .text = expr->tensor.name->text, .first = expr->span, .made_by = -1, .rank = -1,
                   .dtype = DTYPE_NONE };
    ARENA_APPEND(check->arena, check->names, check->name_count, fresh);
}

static void collect_tensor(Check *check, const AstExpr *expr, int statement)
{
    Name *name = check_name(check, expr->tensor.name->text);
    const AstStatement *own = check->walked;
    bool makes_it = own->target && !own->accumulate && !strcmp(own->target->name->text, name->text);
    if (name->made_by == statement || makes_it) {
        diag_error(check->diags, expr->span, "'%s' is made from itself, and recurrences are not supported yet",
                   name->text);
        diag_hint(check->diags, "give each step a name of its own, or call a kernel of one step in a loop");
        return;
    }
    if (name->made_by > statement) {
        diag_error(check->diags, expr->span, "'%s' is used before it is made", name->text);
        diag_note(check->diags, name->first, "it is made here");
        return;
    }
    if (name->made_by >= 0)
        return;
    note_rank(check, name, expr);
    note_dtype(check, name, expr->tensor.dtype);
    if (!name->tensor) {
        name->tensor = check_new_tensor(check, name->text, expr->span, -1, DTYPE_NONE);
        add_input(check, name->tensor, expr);
    }
}

static void collect_operand(Check *check, const AstExpr *expr, int statement)
{
    if (expr->kind == AST_TENSOR) {
        collect_tensor(check, expr, statement);
        return;
    }
    bool dots = false;
    int rank = expr->kind == AST_EMPTY ? 0 : check_explicit_rank(check, expr, &dots);
    Dtype dtype = expr->kind == AST_EMPTY ? DTYPE_NONE : expr->letters.dtype.dtype;
    Tensor *tensor = check_new_tensor(check, NULL, expr->span, dots ? -1 : rank, dtype);
    check->operands[expr->operand] = tensor;
    add_input(check, tensor, expr);
}

/* The targets first, so that a name that is made somewhere is never taken for an input. */
static void collect_targets(Check *check)
{
    int id = 0;
    for (const AstStatement *s = check->ast->statements; s; s = s->next, id++) {
        const AstTarget *target = s->target;
        if (!target || check_name(check, target->name->text))
            continue;
        Name fresh = { .text = target->name->text, .first = target->span, .made_by = id, .rank = -1,
                       .dtype = DTYPE_NONE };
        if (s->accumulate) {
            fresh.dtype = target->dtype.dtype;
            fresh.dtype_at = target->dtype.span;
        }
        ARENA_APPEND(check->arena, check->names, check->name_count, fresh);
    }
}

/* ---- what the caller knows ---- */

const char *tensor_words(Arena *arena, const Tensor *tensor)
{
    return tensor->name ? arena_format(arena, "'%s'", tensor->name)
                        : arena_format(arena, "operand %d", tensor->input + 1);
}

/* einops users write "batch seq dim" for three indices. */
static void hint_einops(Check *check, const AstExpr *expr, int rank)
{
    int words = 0;
    size_t longest = 0;
    Text text = text_new(check->arena);
    for (const AstWord *w = expr->kind == AST_LETTERS ? expr->letters.words : NULL; w; w = w->next, words++) {
        text_print(&text, "%s%s", w->text, w->next ? "," : "");
        longest = strlen(w->text) > longest ? strlen(w->text) : longest;
    }
    if (rank == words && longest > (words > 1 ? 1 : 3))
        diag_hint(check->diags, "index names of several letters need a name and brackets: 'X[%s]'%s", text.bytes,
                  words > 1 ? "; between operands stands ','" : "");
    else if (words > 1)
        diag_hint(check->diags, "blanks mean nothing in an operand; between operands stands ','");
}

static void bind_rank(Check *check, Tensor *tensor, const OperandSpec *spec)
{
    Name *name = tensor->name ? check_name(check, tensor->name) : NULL;
    int written = name ? name->rank : tensor->rank;
    if (spec && spec->rank > RANK_MAX) {
        diag_error(check->diags, tensor->span, "%s has %d dimensions; the most is %d",
                   tensor_words(check->arena, tensor), spec->rank, RANK_MAX);
    } else if (spec && spec->rank >= 0 && written >= 0 && spec->rank != written) {
        diag_error(check->diags, tensor->span, "%s has %d ind%s here, but its array has %d dimension%s",
                   tensor_words(check->arena, tensor), written, written == 1 ? "ex" : "ices", spec->rank,
                   spec->rank == 1 ? "" : "s");
        hint_einops(check, check->written[tensor->input], spec->rank);
    }
    tensor->rank = spec && spec->rank >= 0 ? spec->rank : written;
    if (tensor->rank > RANK_MAX) {
        diag_error(check->diags, tensor->span, "%s has %d indices; the most is %d", tensor_words(check->arena, tensor),
                   tensor->rank, RANK_MAX);
        tensor->rank = RANK_MAX;
    }
}

static void bind_dtype(Check *check, Tensor *tensor, const OperandSpec *spec)
{
    Name *name = tensor->name ? check_name(check, tensor->name) : NULL;
    Dtype written = name ? name->dtype : tensor->dtype;
    if (spec && spec->dtype != DTYPE_NONE && written != DTYPE_NONE && spec->dtype != written) {
        diag_error(check->diags, name ? name->dtype_at : tensor->span, "%s is declared %s, but its array is %s",
                   tensor_words(check->arena, tensor), dtype_name(written), dtype_name(spec->dtype));
        diag_hint(check->diags, "leave the ':%s' out, or cast inside the expression: '%s(...)'", dtype_name(written),
                  dtype_name(written));
    }
    tensor->dtype = written != DTYPE_NONE                   ? written
                    : spec && spec->dtype != DTYPE_NONE ? spec->dtype
                                                        : DTYPE_F32;
}

/* A comparison of operands of letters is legal but seldom meant: the first such operand, or NULL. */
static const AstExpr *compared_letters(const AstExpr *expr)
{
    const AstExpr *found = NULL;
    for (; expr && !found; expr = expr->next) {
        if (expr->kind != AST_CALL)
            continue;
        bool compares = expr->call.function != FUNCTION_NONE &&
                        (function_facts[expr->call.function].rule == RULE_COMPARE ||
                         function_facts[expr->call.function].rule == RULE_EQUAL);
        for (const AstExpr *a = expr->call.arguments; a && compares && !found; a = a->next)
            if (a->kind == AST_LETTERS && !check_is_constant(a, false) && !a->letters.words->text[1])
                found = a;
        found = found ? found : compared_letters(expr->call.arguments);
    }
    return found;
}

static const AstExpr *compared_in(const AstStatement *s)
{
    const AstExpr *letters = compared_letters(s->chain->factors);
    for (const AstStage *stage = s->chain->stages; stage && !letters; stage = stage->next)
        letters = compared_letters(stage->factors);
    return letters;
}

static void hint_comparison(Check *check, const AstStatement *s)
{
    const AstExpr *letters = compared_in(s);
    if (!letters)
        return;
    diag_note(check->diags, letters->span, "'%s' is an operand here", letters->letters.words->text);
    diag_hint(check->diags, "letters are operands; positions are compared with '@i < @j'");
}

static bool bind_named(Check *check, const OperandSpec *spec)
{
    Program *p = check->program;
    for (int i = 0; i < p->input_count; i++)
        if (!strcmp(p->inputs[i]->label, spec->name)) {
            check->specs[i] = spec;
            return true;
        }
    Name *name = check_name(check, spec->name);
    if (!name)
        return false;
    /* The array that a `+=` adds to. */
    if (name->dtype != DTYPE_NONE && spec->dtype != DTYPE_NONE && name->dtype != spec->dtype)
        diag_error(check->diags, name->dtype_at, "'%s' is declared %s, but its array is %s", name->text,
                   dtype_name(name->dtype), dtype_name(spec->dtype));
    else if (spec->dtype != DTYPE_NONE)
        name->dtype = spec->dtype;
    return true;
}

static void bind_specs(Check *check)
{
    Program *p = check->program;
    check->specs = ARENA_ARRAY(check->arena, const OperandSpec *, p->input_count);
    for (int i = 0; i < check->options->operand_count; i++) {
        const OperandSpec *spec = &check->options->operands[i];
        if (!spec->name || bind_named(check, spec))
            continue;
        const char **labels = ARENA_ARRAY(check->arena, const char *, p->input_count);
        for (int k = 0; k < p->input_count; k++)
            labels[k] = p->inputs[k]->label;
        const char *near = diag_nearest(spec->name, strlen(spec->name), labels, (size_t)p->input_count);
        diag_error_nowhere(check->diags, "the expression has no operand '%s'", spec->name);
        if (near)
            diag_hint(check->diags, "did you mean '%s'?", near);
    }
    int input = 0;
    for (int i = 0; i < check->options->operand_count; i++) {
        if (check->options->operands[i].name)
            continue;
        while (input < p->input_count && check->specs[input])
            input++;
        if (input == p->input_count) {
            diag_error_nowhere(check->diags, "the expression has %d operand%s, but %d were given", input,
                               input == 1 ? "" : "s", check->options->operand_count);
            break;
        }
        check->specs[input++] = &check->options->operands[i];
    }
}

static void bind_inputs(Check *check)
{
    Program *p = check->program;
    bind_specs(check);
    int before = check->diags->errors;
    for (int i = 0; i < p->input_count; i++) {
        const OperandSpec *spec = check_is_name(check, check->written[i]) ? NULL : check->specs[i];    /* a mistake, for later */
        bind_rank(check, p->inputs[i], spec);
        bind_dtype(check, p->inputs[i], spec);
        Name *name = p->inputs[i]->name ? check_name(check, p->inputs[i]->name) : NULL;
        if (name)
            name->rank = p->inputs[i]->rank;
    }
    if (check->diags->errors == before)
        return;
    for (const AstStatement *s = check->ast->statements; s; s = s->next)
        hint_comparison(check, s);
}

/* All names come before the first label, so that no label is also a name. */
static void collect(Check *check)
{
    int id = 0;
    check->operands = ARENA_ARRAY(check->arena, Tensor *, check->ast->operand_count);
    collect_targets(check);
    for (const AstStatement *s = check->ast->statements; s; s = s->next)
        check_walk(check, s, 0, collect_name);
    for (const AstStatement *s = check->ast->statements; s; s = s->next, id++) {
        check->walked = s;
        check_enter_brackets(check, s);
        check_walk(check, s, id, collect_operand);
    }
}

bool check_collect(Check *check)
{
    int before = check->diags->errors;
    collect(check);
    if (check->diags->errors == before)    /* else an array might be another operand's */
        bind_inputs(check);
    return check->diags->errors == before;
}

static bool is_compared(const Ast *ast, Span at)
{
    for (const AstStatement *s = ast->statements; s; s = s->next) {
        const AstExpr *letters = compared_in(s);
        if (letters && letters->span.begin == at.begin)
            return true;
    }
    return false;
}

static bool lacks_value(const Ast *ast)
{
    for (const AstStatement *s = ast->statements; s; s = s->next)
        for (const AstStage *stage = s->chain->stages; stage; stage = stage->next) {
            bool has = stage->kind != STAGE_EXPR;
            for (const AstExpr *f = stage->factors; f && !has; f = f->next)
                has = ast_has_value(f);
            if (!has)
                return true;
        }
    return false;
}

Inputs *check_inputs(Arena *arena, const Ast *ast)
{
    static const CheckOptions nothing_known = { 0 };
    Diags unused = { .arena = arena, .source = ast->source };
    Check check = { .arena = arena, .ast = ast, .options = &nothing_known, .diags = &unused };
    Inputs *found = ARENA_NEW(arena, Inputs);
    check.program = ARENA_NEW(arena, Program);
    collect(&check);
    found->broken = unused.errors || lacks_value(ast);
    for (int i = 0; i < check.program->input_count; i++) {
        const Tensor *input = check.program->inputs[i];
        Operand operand = { input->name, input->label, input->span, is_compared(ast, input->span) };
        ARENA_APPEND(arena, found->operands, found->operand_count, operand);
        found->broken |= check_is_name(&check, check.written[i]);
    }
    int id = 0;
    for (const AstStatement *s = ast->statements; s; s = s->next, id++) {
        const Name *name = s->target ? check_name(&check, s->target->name->text) : NULL;
        if (!name || name->made_by != id)
            continue;
        MadeName made = { name->text, s->accumulate };
        ARENA_APPEND(arena, found->made, found->made_count, made);
    }
    return found;
}

const int *check_bind(Arena *arena, const Program *program, const CheckOptions *options)
{
    int *places = ARENA_ARRAY(arena, int, options->operand_count);
    bool *taken = ARENA_ARRAY(arena, bool, program->input_count);
    for (int i = 0; i < options->operand_count; i++) {
        places[i] = -1;
        for (int k = 0; options->operands[i].name && k < program->tensor_count; k++)
            if (!strcmp(program->tensors[k]->label, options->operands[i].name)) {
                /* Of all that `+=` makes of a name, the array that the caller passes is the first. */
                places[i] = places[i] < 0 ? k : places[i];
                if (program->tensors[k]->input >= 0)
                    taken[program->tensors[k]->input] = true;
            }
    }
    int input = 0;
    for (int i = 0; i < options->operand_count; i++) {
        if (options->operands[i].name)
            continue;
        while (input < program->input_count && taken[input])
            input++;
        if (input < program->input_count)
            places[i] = program->inputs[input++]->id;
    }
    return places;
}
