#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const OptionFacts option_facts[OPTION_COUNT] = {
#define X(tag, name, letter, value, commands, help) { name, letter, value, commands, help },
    OPTIONS(X)
#undef X
};

static const char *const passes[] = { "ast", "program", "order", "gather", "lower", "plan" };

enum { PASS_COUNT = sizeof passes / sizeof *passes };

/* ---- asking ---- */

const char *option_value(const Cli *cli, OptionId id)
{
    const char *value = NULL;
    for (int i = 0; i < cli->given_count; i++)
        if (cli->given[i].id == id)
            value = cli->given[i].value;
    return value;
}

bool option_given(const Cli *cli, OptionId id)
{
    return option_value(cli, id) != NULL;
}

/* ---- numbers ---- */

/* "700", "64K", "2MiB": bytes, or -1. */
static int64_t read_bytes(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return -1;
    long long bytes = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    end += unit != NULL;
    if (unit && !strcmp(end, "iB"))
        end += 2;
    if (!unit && !strcmp(end, "B"))
        end++;
    for (int k = 0; unit && k <= unit - units; k++)
        if (__builtin_mul_overflow(bytes, 1024, &bytes))
            return -1;
    return *end || errno ? -1 : bytes;
}

bool option_memory(Cli *cli, int64_t *bytes)
{
    const char *value = option_value(cli, OPTION_MEMORY);
    *bytes = value ? read_bytes(value) : 0;
    if (*bytes < 0)
        return cli_fail(cli, EINC_USAGE, "'%s' is no number of bytes\nhint: as in '--memory 700', '64K', '2M' or '1G', "
                        "in powers of 1024", value), false;
    if (value && !*bytes)
        *bytes = 1;    /* no kernel has a workspace of 1 byte, and 0 would be no budget */
    return true;
}

bool option_threads(Cli *cli, int *threads)
{
    const char *value = option_value(cli, OPTION_THREADS);
    char *end;
    *threads = 0;
    if (!value)
        return true;
    long number = strtol(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || number < 1 || number > POOL_WORKERS_MAX)
        return cli_fail(cli, EINC_USAGE, "'%s' is no number of threads, from 1 to %d", value, POOL_WORKERS_MAX), false;
    *threads = (int)number;
    return true;
}

bool option_seconds(Cli *cli, double *seconds)
{
    const char *value = option_value(cli, OPTION_SECONDS);
    char *end;
    *seconds = value ? strtod(value, &end) : 1;
    if (value && (end == value || *end || !(*seconds > 0 && *seconds <= 86400)))
        return cli_fail(cli, EINC_USAGE, "'%s' is no number of seconds\nhint: as in '--seconds 0.5'", value), false;
    return true;
}

/* ---- reading ---- */

typedef struct Reader {
    Cli *cli;
    char *const *arguments;
    int count, at;                /* the next argument */
} Reader;

static void add(Cli *cli, OptionId id, const char *value)
{
    Given given = { id, value };
    ARENA_APPEND(&cli->arena, cli->given, cli->given_count, given);
}

/* What a value looks like, for a message. */
static const char *example_of(OptionId id)
{
    switch (id) {
    case OPTION_INPUT: return "-i queries.npy";
    case OPTION_OUTPUT: return "-o out.npy";
    case OPTION_EXTENTS: return "-d n=30";
    case OPTION_SHAPE: return "--shape 2,3,4";
    case OPTION_STATIC: return "--static k=128";
    case OPTION_MEMORY: return "--memory 64M";
    default: return NULL;
    }
}

static int fail_without_value(Cli *cli, OptionId id, const char *as_given)
{
    const char *example = example_of(id);
    return cli_fail(cli, EINC_USAGE, "%s needs a value: %s%s%s", as_given, option_facts[id].value,
                    example ? ", as in " : "", example ? example : "");
}

static int fail_unknown(Cli *cli, const char *argument)
{
    const char *names[OPTION_COUNT], *name = argument + strspn(argument, "-");
    size_t count = 0, length = strcspn(name, "=");
    for (int o = 0; o < OPTION_COUNT; o++)
        if (option_facts[o].commands & cli->command->set)
            names[count++] = option_facts[o].name;
    const char *near = diag_nearest(name, length, names, count);
    if (near)
        return cli_fail(cli, EINC_USAGE, "there is no option '%.*s'\nhint: did you mean '--%s'?",
                        (int)(name - argument + (int)length), argument, near);
    if (strpbrk(argument, "[]()_ |,*") && cli->command->set & KERNELS)
        return cli_fail(cli, EINC_USAGE, "there is no option '%s'\nhint: an expression that begins with '-' stands behind "
                        "'--'", argument);
    return cli_fail(cli, EINC_USAGE, "there is no option '%s'\nhint: 'einc %s --help' lists them", argument,
                    cli->command->name);
}

/* An option of other commands. */
static int fail_elsewhere(Cli *cli, OptionId id, const char *as_given)
{
    Text text = text_new(&cli->arena);
    int first = 1;
    for (const Command *c = commands; c->name; c++)
        if (option_facts[id].commands & c->set) {
            text_separate(&text, &first, ", ");
            text_print(&text, "'einc %s'", c->name);
        }
    return cli_fail(cli, EINC_USAGE, "'einc %s' has no option %s\nhint: it belongs to %s%s", cli->command->name, as_given,
                    text.bytes, as_given[1] == '-' ? "" : "; an expression that begins with '-' stands behind '--'");
}

static int take(Reader *r, OptionId id, const char *as_given, const char *value)
{
    const OptionFacts *facts = &option_facts[id];
    if (!(facts->commands & r->cli->command->set))
        return fail_elsewhere(r->cli, id, as_given);
    if (!facts->value && value)
        return cli_fail(r->cli, EINC_USAGE, "%s takes no value", as_given);
    if (facts->value && !value) {
        if (r->at == r->count)
            return fail_without_value(r->cli, id, as_given);
        value = r->arguments[r->at++];
    }
    add(r->cli, id, facts->value ? value : "");
    return EINC_OK;
}

static int take_long(Reader *r, const char *argument)
{
    const char *name = argument + 2, *is = strchr(name, '=');
    size_t length = is ? (size_t)(is - name) : strlen(name);
    for (int o = 0; o < OPTION_COUNT; o++)
        if (strlen(option_facts[o].name) == length && !memcmp(option_facts[o].name, name, length))
            return take(r, (OptionId)o, arena_copy(&r->cli->arena, argument, length + 2), is ? is + 1 : NULL);
    return fail_unknown(r->cli, argument);
}

/* "-d" is extents where there is a '=', and else a pass to dump. */
static int take_d(Reader *r, const char *value)
{
    if (!value && r->at < r->count)
        value = r->arguments[r->at++];
    if (!value || strchr(value, '='))
        return take(r, OPTION_EXTENTS, "-d", value);
    for (int p = 0; p < PASS_COUNT; p++)
        if (!strcmp(value, passes[p]))
            return take(r, OPTION_DUMP, arena_format(&r->cli->arena, "-d%s", value), value);
    const char *near = diag_nearest(value, strlen(value), passes, PASS_COUNT);
    return cli_fail(r->cli, EINC_USAGE, "'-d %s' is neither an extent nor a pass\nhint: %s%s%sextents are given as in "
                    "'-d n=30', and the passes are ast, program, order, gather, lower and plan", value, near ? "did you mean '-d" : "",
                    near ? near : "", near ? "'? " : "");
}

static int take_short(Reader *r, const char *argument)
{
    const char *value = argument[2] == '=' ? argument + 3 : argument[2] ? argument + 2 : NULL;
    if (argument[1] == 'd')
        return take_d(r, value);
    for (int o = 0; o < OPTION_COUNT; o++) {
        bool whole = !strcmp(argument + 1, option_facts[o].name);    /* -json for --json */
        if (option_facts[o].letter == argument[1] && !whole && (option_facts[o].value || !value))
            return take(r, (OptionId)o, arena_format(&r->cli->arena, "-%c", argument[1]), value);
    }
    return fail_unknown(r->cli, argument);
}

int options_read(Cli *cli, int count, char *const *arguments)
{
    Reader r = { cli, arguments, count, 0 };
    bool options = true;
    while (r.at < count) {
        const char *argument = arguments[r.at++];
        bool option = options && argument[0] == '-' && argument[1] && argument[1] != '>';
        int status = EINC_OK;
        if (!option)
            ARENA_APPEND(&cli->arena, cli->words, cli->word_count, argument);
        else if (!strcmp(argument, "--"))
            options = false;
        else
            status = argument[1] == '-' ? take_long(&r, argument) : take_short(&r, argument);
        if (status)
            return status;
    }
    const char *pass = option_value(cli, OPTION_DUMP);
    for (int p = 0; p < PASS_COUNT && pass; p++)
        if (!strcmp(pass, passes[p]))
            return EINC_OK;
    return pass ? cli_fail(cli, EINC_USAGE, "there is no pass '%s'\nhint: the passes are ast, program, order, gather, lower and plan", pass)
                : EINC_OK;
}
