#include "expression.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    if (more[0] == '-' && more[1] && more[1] != '>')
        return cli_fail(cli, EINC_USAGE, "'%s' stands behind '--', so it is no option\nhint: options come first", more);
    return cli_fail(cli, EINC_USAGE, "'%s' is one word too many: the expression is '%s'\nhint: put the whole expression "
                    "into quotes, or the shell takes blanks, '|' and '>' for itself", more, cli->words[0]);
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
    e->inputs = check_inputs(&cli->arena, ast);
    return EINC_OK;
}

/* ---- names ---- */

const Operand *expression_operand(const Expression *e, const char *name)
{
    for (int i = 0; i < e->inputs->operand_count; i++)
        if (!strcmp(e->inputs->operands[i].label, name))
            return &e->inputs->operands[i];
    return NULL;
}

const MadeName *expression_made(const Expression *e, const char *name)
{
    for (int i = 0; i < e->inputs->made_count; i++)
        if (!strcmp(e->inputs->made[i].name, name))
            return &e->inputs->made[i];
    return NULL;
}

const char *expression_nearest(Cli *cli, const Expression *e, const char *name, bool made)
{
    const Inputs *of = e->inputs;
    const char **names = ARENA_ARRAY(&cli->arena, const char *, of->operand_count + of->made_count);
    size_t count = 0;
    for (int i = 0; i < of->operand_count && !made; i++)
        names[count++] = of->operands[i].label;
    for (int i = 0; i < of->made_count; i++)
        if (made || of->made[i].adds)
            names[count++] = of->made[i].name;
    return diag_nearest(name, strlen(name), names, count);
}
