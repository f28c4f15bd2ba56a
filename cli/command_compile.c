/* einc compile: the kernel as C, for other programs. */
#include <stdio.h>
#include <string.h>

#include "job.h"
#include "standalone.h"

/* ---- the function's name ---- */

/* The stem of a path: "k" of "out/k.c". */
static const char *stem_of(Arena *arena, const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *dot = strrchr(base, '.');
    return arena_copy(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

static int choose_name(Job *job)
{
    Cli *cli = job->cli;
    const char *name = option_value(cli, OPTION_NAME), *output = option_value(cli, OPTION_OUTPUT);
    if (name) {
        const char *fault = emit_name_fault(&cli->arena, job->options.target, name);
        job->options.name = name;
        return fault ? cli_fail(cli, EINC_USAGE, "%s", fault) : EINC_OK;
    }
    const char *stem = output && strcmp(output, "-") ? stem_of(&cli->arena, output) : "";
    job->options.name = emit_name_from(&cli->arena, job->options.target, stem);
    if (*stem && strcmp(stem, job->options.name))
        cli_note(cli, "note: the function is called '%s'", job->options.name);
    return EINC_OK;
}

/* ---- the command ---- */

/* The command as a shell takes it, for the first line of the file: the same for the same input, whatever folder it is
 * in and however its options were spelt. */
static void put_word(Text *text, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    text_put(text, " ");
    if (*word && word[strspn(word, plain)] == 0) {
        text_put(text, word);
        return;
    }
    text_put(text, "'");
    for (; *word; word++)
        text_print(text, *word == '\'' ? "'\\''" : "%c", *word);
    text_put(text, "'");
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *command_line(Cli *cli)
{
    Text text = text_new(&cli->arena);
    const char *expression = cli->words[0];
    bool file = expression[0] == '@', option = expression[0] == '-' && expression[1] && expression[1] != '>';
    text_put(&text, "einc compile");
    if (!option)
        put_word(&text, file ? arena_format(&cli->arena, "@%s", base_of(expression + 1)) : expression);
    for (int i = 0; i < cli->given_count; i++) {
        const Given *given = &cli->given[i];
        const OptionFacts *facts = &option_facts[given->id];
        bool path = given->id == OPTION_OUTPUT || given->id == OPTION_HEADER;
        if (given->id == OPTION_DUMP)
            continue;
        if (facts->letter)
            text_print(&text, " -%c", facts->letter);
        else
            text_print(&text, " --%s", facts->name);
        if (facts->value)
            put_word(&text, path ? base_of(given->value) : given->value);
    }
    if (option) {
        text_put(&text, " --");
        put_word(&text, expression);
    }
    return text.bytes;
}

/* Both files or none: each is complete before the first takes its place. */
static int write_files(Job *job, const char *source, const char *header)
{
    Cli *cli = job->cli;
    const char *output = option_value(cli, OPTION_OUTPUT), *header_path = option_value(cli, OPTION_HEADER);
    TextFile c = { 0 }, h = { 0 };
    int status = cli_finish_stdout(cli, EINC_OK);    /* dumps come first */
    if (!status)
        status = header_path ? file_write(cli, &h, header_path, header) : EINC_OK;
    if (!status && (output || !option_given(cli, OPTION_DUMP)))
        status = file_write(cli, &c, output ? output : "-", source);
    if (!status)
        status = file_commit(cli, &h);
    if (!status)
        status = file_commit(cli, &c);
    file_abort(&h);
    file_abort(&c);
    return status;
}

enum { TARGETS_MAX = 16 };

/* "avx2,avx512": in the order of preference, and at the end the one that runs on any CPU. */
static int read_targets(Job *job, const Target **chosen, int *count)
{
    Cli *cli = job->cli;
    const char *given = option_value(cli, OPTION_TARGET);
    bool wanted[TARGETS_MAX] = { false };
    *count = 0;
    chosen[(*count)++] = job->options.target;
    if (!given || !strchr(given, ','))
        return EINC_OK;
    for (size_t length; *given; given += length + (given[length] == ',')) {
        length = strcspn(given, ",");
        const Target *target = context_target(cli->context, arena_copy(&cli->arena, given, length));
        if (!target)
            return cli_fail_runtime(cli);
        if (target->grid)
            return cli_fail(cli, EINC_USAGE, "--target %s: kernels for CUDA are alone in their file\nhint: write one file for each "
                            "target", given);
        wanted[target - targets] = true;
    }
    *count = 0;
    for (int t = TARGETS_MAX - 1; t >= 0; t--)
        if (t == 0 || wanted[t])
            chosen[(*count)++] = &targets[t];
    return EINC_OK;
}

/* The kernel for each target, the last for job->options.target. */
static int compile_targets(Job *job, const Target *const *chosen, int count, Compiled **compiled)
{
    Cli *cli = job->cli;
    int status = EINC_OK;
    for (int t = 0; t < count && !status; t++) {
        job->options.target = chosen[t];
        compiled[t] = build_compile(cli->context, &cli->arena, &job->expression.source, &job->options);
        status = compiled[t] ? job_check_budget(job, compiled[t]) : cli_fail_runtime(cli);
    }
    return status;
}

/* What is written is text, for a compiler that goes by the file's name. */
static int check_suffix(const Job *job)
{
    static const char *const others[2][10] = { { ".o", ".so", ".a", ".cubin", ".ptx", ".cu" },
                                               { ".o", ".so", ".a", ".cubin", ".ptx", ".c", ".h", ".cc", ".cpp" } };
    Cli *cli = job->cli;
    const bool cuda = job->options.target->grid != NULL;
    const char *output = option_value(cli, OPTION_OUTPUT), *dot = output ? strrchr(base_of(output), '.') : NULL;
    for (const char *const *other = others[cuda]; *other && dot; other++)
        if (!strcmp(dot, *other))
            return cli_fail(cli, EINC_USAGE, "-o %s: what is written is %s\nhint: '-o %s%s', which %s compiles%s", output, cuda ? "CUDA C++" : "C",
                            arena_copy(&cli->arena, output, (size_t)(dot - output)), cuda ? ".cu" : ".c", cuda ? "nvcc" : "a C compiler",
                            strcmp(dot, ".cu") ? "" : "; '--target cuda:sm_90a' makes CUDA C++");
    return EINC_OK;
}

static int compile_job(Job *job)
{
    Cli *cli = job->cli;
    const Target *chosen[TARGETS_MAX + 1];
    Compiled *compiled[TARGETS_MAX + 1];
    const EmittedUnit *units[TARGETS_MAX + 1];
    int count, status = read_targets(job, chosen, &count);
    if (!status)
        status = check_suffix(job);
    if (!status)
        status = choose_name(job);
    if (!status)
        status = job_front(job);
    if (!status)
        status = job_derive_shapes(job);
    if (status)
        return status;
    if (option_given(cli, OPTION_EMIT_MAIN) && job->options.target->grid)
        return cli_fail(cli, EINC_USAGE, "--emit-main: there is no program around kernels for CUDA\nhint: leave it out, or compile for "
                        "a CPU");
    job->options.command = command_line(cli);
    status = compile_targets(job, chosen, count, compiled);
    if (status)
        return status;
    const char *program = "", *fault = NULL, *name = job->options.name;
    if (option_given(cli, OPTION_EMIT_MAIN))
        program = standalone_program(&cli->arena, compiled[count - 1], name, &fault);
    if (!program)
        return cli_fail(cli, EINC_FAILED, "internal error: the template of main() and the kernel disagree about '%s'", fault);
    for (int t = 0; t < count; t++)
        units[t] = compiled[t]->unit;
    if (count == 1)
        return write_files(job, arena_format(&cli->arena, "%s%s", units[0]->source, program), units[0]->header);
    const EmittedUnit *all = emit_several(&cli->arena, units, chosen, count, name, program);
    return write_files(job, all->source, all->header);
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

int command_compile(Cli *cli)
{
    const char *output = option_value(cli, OPTION_OUTPUT), *header = option_value(cli, OPTION_HEADER);
    if (is_stdout(header) && (!output || is_stdout(output)))
        return cli_fail(cli, EINC_USAGE, "file and header cannot both be the standard output\nhint: name a file with -o");
    if (output && header && !strcmp(output, header) && strncmp(output, "/dev/", 5))
        return cli_fail(cli, EINC_USAGE, "file and header cannot both be '%s'", output);
    Job job;
    int status = job_read(cli, &job);
    if (!status)
        status = compile_job(&job);
    job_close(&job);
    return status;
}
