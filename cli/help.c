/* Help, from the tables of commands and options. Its examples are run by tests/check_cli.py. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

const Command commands[] = {
    { "run", RUN, command_run, "run EXPR -i FILE ... [-o FILE ...] [options]", "compute an expression from .npy files",
      "Without -o, the result is printed.\nOperands and results are given in the order of the expression or by name.\n"
      "\n"
      "  einc run 'ij,jk->ik' -i a.npy -i b.npy -o c.npy\n"
      "  einc run 'ijk,mnk->ijmn | max n | sum j' -i queries.npy -i documents.npy\n"
      "  einc run 'Q[i,k], D[j,k] -> [i,j] | topk(5) j & argtopk(5) j' -i D=d.npy -i Q=q.npy -o best.npy -o where.npy\n" },
    { "explain", EXPLAIN, command_explain, "explain EXPR [-d I=N,...] [--shape [NAME=]N,N] [-i FILE] [options]",
      "say what the kernel does and costs, without running it",
      "Needs neither data nor a C compiler. Of files, only shapes and dtypes are read.\n"
      "\n"
      "  einc explain 'ijk,mnk->ijmn | max n | sum j' -d i=32,j=20,k=128,m=1000,n=300\n"
      "  einc explain 'ijk,mnk->ijmn | max n | sum j' -i queries.npy -i documents.npy\n"
      "  einc explain 'bhqd,bhkd->bhqk | softmax k | * bhkv -> bhqv' --memory 64K\n" },
    { "compile", COMPILE, command_compile, "compile EXPR [-o FILE.c] [--header FILE.h] [options]",
      "write the kernel as one C file without dependencies",
      "The target is 'portable' unless --target says otherwise.\nWith --emit-main the file is a program.\n"
      "\n"
      "  einc compile 'ij,jk->ik' -o product.c --header product.h --target avx2\n"
      "  einc compile 'ij,jk->ik' -o product.c --emit-main && cc -O2 product.c -o product -lm\n"
      "  ./product a.npy b.npy -o c.npy\n" },
    { "bench", BENCH, command_bench, "bench EXPR (-d I=N,... | --shape [NAME=]N,N ... | -i FILE ...) [options]",
      "measure the kernel, and the machine beside it",
      "Operands without a file are random.\n"
      "\n"
      "  einc bench 'ij,jk->ik' -d i=500,j=500,k=500\n"
      "  einc bench 'ij,jk->ik' --shape 500,300 --shape 300,400 --threads 1 --json\n" },
    { "cache", CACHE, command_cache, "cache ls|clear|path", "list or remove the compiled kernels on disk",
      "  einc cache ls\n" },
    { "doctor", DOCTOR, command_doctor, "doctor", "check that kernels can be compiled and run here",
      "  einc doctor\n" },
    { "help", HELP, command_help, "help [COMMAND]", "explain a command", "  einc help run\n" },
    { .name = NULL }
};

const Command *command_find(const char *name)
{
    for (const Command *c = commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *names[32];
    size_t count = 0;
    for (const Command *c = commands; c->name; c++)
        names[count++] = c->name;
    return diag_nearest(name, strlen(name), names, count);
}

void help_print(FILE *file)
{
    fputs("einc compiles einsum expressions with steps behind them into fused kernels.\n\nusage:\n", file);
    for (const Command *c = commands; c->name; c++)
        fprintf(file, "  einc %-10s %s\n", c->name, c->about);
    fputs("  einc --version\n\n'einc help COMMAND' says more, and 'man einc' all. An example:\n\n"
          "  einc run 'ij,jk->ik' -i a.npy -i b.npy -o c.npy\n", file);
}

static void print_option(FILE *file, const OptionFacts *option)
{
    char text[64];
    int length = option->letter ? snprintf(text, sizeof text, "-%c, ", option->letter) : 0;
    snprintf(text + length, sizeof text - (size_t)length, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    if (strlen(text) > 26)
        fprintf(file, "  %s\n%30s", text, "");
    else
        fprintf(file, "  %-28s", text);
    fprintf(file, "%s\n", option->help);
}

static void print_targets(FILE *file)
{
    fprintf(file, "\ntargets:\n  %-28s%s\n", "native", "the most that this CPU has");
    for (const Target *t = targets; t->name; t++)
        fprintf(file, "  %-28s%s\n", t->name, t->words);
    for (const Target *t = grid_targets; t->name; t++)
        fprintf(file, "  %-28s%s\n", t->name, t->words);
}

void help_print_command(FILE *file, const Command *command)
{
    fprintf(file, "usage: einc %s\n\n%c%s.", command->usage, *command->about - 'a' + 'A', command->about + 1);
    fprintf(file, "\n%s%s", command->more[0] == ' ' ? "\n" : "", command->more);
    if (command->set & KERNELS)
        fputs("\nEXPR may be '-' for the standard input, or '@FILE'; one that begins with '-' stands behind '--'.\n", file);
    fputs("\noptions:\n", file);
    for (int o = 0; o < OPTION_COUNT; o++)
        if (option_facts[o].commands & command->set)
            print_option(file, &option_facts[o]);
    if (option_facts[OPTION_TARGET].commands & command->set)
        print_targets(file);
}

int command_help(Cli *cli)
{
    if (!cli->word_count) {
        if (option_given(cli, OPTION_SHOW_VERSION))
            printf("einc %s\n", einc_version());
        else
            help_print(stdout);
        return EINC_OK;
    }
    const Command *command = command_find(cli->words[0]);
    if (!command) {
        const char *near = command_nearest(cli->words[0]);
        return cli_fail(cli, EINC_USAGE, "there is no command '%s'%s%s%s", cli->words[0],
                        near ? "\nhint: did you mean '" : "\nhint: 'einc --help' lists the commands", near ? near : "",
                        near ? "'?" : "");
    }
    help_print_command(stdout, command);
    return EINC_OK;
}
