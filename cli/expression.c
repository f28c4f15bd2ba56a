#include "expression.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- operands ---- */

static void add_operand(Cli *cli, Expression *e, const char *name, Span span)
{
    Operand operand = { name, name, span };
    if (name && (expression_operand(e, name) || expression_made(e, name)))
        return;
    char letter[2] = "A";
    while (!operand.label && letter[0] <= 'Z') {
        if (!expression_operand(e, letter) && !expression_made(e, letter))
            operand.label = arena_copy(&cli->arena, letter, 1);
        letter[0]++;
    }
    if (!operand.label)
        operand.label = "";
    ARENA_APPEND(&cli->arena, e->operands, e->operand_count, operand);
}

/* A word that stands alone and is a constant, unless it stands where an operand does. */
static bool is_constant(const AstExpr *expr, bool top)
{
    const AstWord *word = expr->letters.words;
    if (word->next || expr->letters.dtype.dtype != DTYPE_NONE || (top && !expr->parenthesised))
        return false;
    return !strcmp(word->text, "inf") || !strcmp(word->text, "nan") || !strcmp(word->text, "pi");
}

static void walk_positions(Cli *cli, Expression *e, const AstPosition *positions);

static void walk(Cli *cli, Expression *e, const AstExpr *expr, bool top)
{
    switch (expr->kind) {
    case AST_CALL:
        for (const AstExpr *a = expr->call.arguments; a; a = a->next)
            walk(cli, e, a, false);
        break;
    case AST_TENSOR:
        add_operand(cli, e, expr->tensor.name->text, expr->span);
        walk_positions(cli, e, expr->tensor.positions);
        break;
    case AST_LETTERS:
        if (!is_constant(expr, top))
            add_operand(cli, e, NULL, expr->span);
        break;
    case AST_EMPTY: add_operand(cli, e, NULL, expr->span); break;
    default: break;
    }
}

static void walk_positions(Cli *cli, Expression *e, const AstPosition *positions)
{
    for (const AstPosition *p = positions; p; p = p->next)
        for (const AstTerm *t = p->terms; t; t = t->next) {
            if (t->gather)
                walk(cli, e, t->gather, false);
            walk_positions(cli, e, t->group);
        }
}

static void walk_statement(Cli *cli, Expression *e, const AstStatement *s)
{
    if (s->target)
        walk_positions(cli, e, s->target->positions);
    for (const AstExpr *f = s->chain->factors; f; f = f->next)
        walk(cli, e, f, true);
    for (const AstStage *stage = s->chain->stages; stage; stage = stage->next)
        for (const AstExpr *f = stage->factors; f; f = f->next)
            walk(cli, e, f, true);
}

/* The targets first: a name that is made somewhere is no operand. */
static void find_operands(Cli *cli, Expression *e, const Ast *ast)
{
    for (const AstStatement *s = ast->statements; s; s = s->next)
        if (s->target && !expression_made(e, s->target->name->text)) {
            MadeName made = { s->target->name->text, s->accumulate };
            ARENA_APPEND(&cli->arena, e->made, e->made_count, made);
        }
    for (const AstStatement *s = ast->statements; s; s = s->next)
        walk_statement(cli, e, s);
}

/* ---- the text ---- */

static int read_file(Cli *cli, const char *path, Source *source)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
    source->name = file == stdin ? "<stdin>" : path;
    if (!file)
        return cli_fail(cli, EINC_FAILED, "%s: cannot open: %s%s", path, strerror(errno), errno != ENOENT ? "" :
                        "\nhint: '@' reads the expression from a file; one that begins with a position needs parentheses: "
                        "'(@i) ...'");
    Text text = text_new(&cli->arena);
    char buffer[4096];
    errno = 0;
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file));)
        text_add(&text, buffer, got);
    bool failed = ferror(file);
    int why = errno;
    if (file != stdin)
        fclose(file);
    if (failed)
        return cli_fail(cli, EINC_FAILED, "%s: cannot read: %s", source->name, strerror(why));
    source->text = text.bytes;
    source->length = text.length;
    return EINC_OK;
}

static int fail_words(Cli *cli)
{
    const char *more = cli->words[1], *end = strrchr(more, '.');
    if (end && !strcmp(end, ".npy"))
        return cli_fail(cli, EINC_USAGE, "'%s' is one word too many\nhint: each operand has its own -i: '-i %s'", more, more);
    if (more[0] == '-')
        return cli_fail(cli, EINC_USAGE, "'%s' stands behind '--', so it is no option\nhint: options come first", more);
    return cli_fail(cli, EINC_USAGE, "'%s' is one word too many: the expression is '%s'\nhint: put the whole expression "
                    "into quotes", more, cli->words[0]);
}

int expression_read(Cli *cli, Expression *e)
{
    *e = (Expression){ 0 };
    for (int i = 0; i < cli->given_count && !cli->word_count; i++)    /* '-ij -> j' was taken for -i */
        if (strstr(cli->given[i].value, "->"))
            return cli_fail(cli, EINC_USAGE, "there is no expression\nhint: one that begins with '-' stands behind '--', at the "
                            "end: einc %s ... -- '-ij -> j'", cli->command->name);
    if (!cli->word_count)
        return cli_fail(cli, EINC_USAGE, "there is no expression\nhint: for example: einc %s 'ij,jk->ik'%s", cli->command->name,
                        cli->command->set == RUN ? " -i a.npy -i b.npy" : "");
    if (cli->word_count > 1)
        return fail_words(cli);
    const char *word = cli->words[0];
    e->source = (Source){ "expr", word, strlen(word) };
    int status = EINC_OK;
    if (word[0] == '@' || !strcmp(word, "-"))
        status = read_file(cli, word + (word[0] == '@'), &e->source);
    if (status)
        return status;
    Diags diags = { .arena = &cli->arena, .source = &e->source };
    const Ast *ast = parse(&cli->arena, &e->source, &diags);
    if (!ast)
        return cli_fail_diags(cli, EINC_EXPRESSION, &diags);
    find_operands(cli, e, ast);
    return EINC_OK;
}

/* ---- names ---- */

const Operand *expression_operand(const Expression *e, const char *name)
{
    for (int i = 0; i < e->operand_count; i++)
        if (!strcmp(e->operands[i].label, name))
            return &e->operands[i];
    return NULL;
}

const MadeName *expression_made(const Expression *e, const char *name)
{
    for (int i = 0; i < e->made_count; i++)
        if (!strcmp(e->made[i].name, name))
            return &e->made[i];
    return NULL;
}

const char *expression_nearest(Cli *cli, const Expression *e, const char *name, bool made)
{
    const char **names = ARENA_ARRAY(&cli->arena, const char *, e->operand_count + e->made_count);
    size_t count = 0;
    for (int i = 0; i < e->operand_count && !made; i++)
        names[count++] = e->operands[i].label;
    for (int i = 0; i < e->made_count; i++)
        if (made || e->made[i].adds)
            names[count++] = e->made[i].name;
    return diag_nearest(name, strlen(name), names, count);
}
