#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cost.h"
#include "cuda.h"

/* ---- names in front of files ---- */

static bool is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
        if (!letter && !(i && ((c >= '0' && c <= '9') || c == '_')))
            return false;
    }
    return length > 0;
}

const char *job_split_name(Cli *cli, const char *text, const char **rest)
{
    const char *is = strchr(text, '=');
    *rest = text;
    if (!is || !is_word(text, (size_t)(is - text)))
        return NULL;
    *rest = is + 1;
    return arena_copy(&cli->arena, text, (size_t)(is - text));
}

/* Whether arrays can be given for a name; if not, says why. */
static bool takes_array(const Job *job, const char *name)
{
    const MadeName *made = expression_made(&job->expression, name);
    return expression_operand(&job->expression, name) || (made && made->adds);
}

static int fail_name(Job *job, const char *name)
{
    if (expression_made(&job->expression, name))
        return cli_fail(job->cli, EINC_USAGE, "'%s' is made by the expression, so it takes no array", name);
    const char *near = expression_nearest(job->cli, &job->expression, name, false);
    if (near)
        return cli_fail(job->cli, EINC_USAGE, "the expression has no operand '%s'\nhint: did you mean '%s'?", name, near);
    Text list = text_new(&job->cli->arena);
    int first = 1;
    for (int i = 0; i < job->expression.inputs->operand_count; i++) {
        text_separate(&list, &first, ", ");
        text_put(&list, job->expression.inputs->operands[i].label);
    }
    return cli_fail(job->cli, EINC_USAGE, "the expression has no operand '%s'\nhint: its operands are %s", name,
                    first ? "none" : list.bytes);
}

/* ---- what is known of operands ---- */

static void add_known(Job *job, Known *known)
{
    ARENA_APPEND(&job->cli->arena, job->known, job->known_count, known);
}

static int check_twice(const Job *job, const Known *known)
{
    for (int k = 0; k < job->known_count; k++)
        if (known->name && job->known[k]->name && !strcmp(job->known[k]->name, known->name))
            return cli_fail(job->cli, EINC_USAGE, "'%s' is given twice", known->name);
    return EINC_OK;
}

/* "FILE" or "NAME=FILE". What stands before the '=' may also be part of a path, if the expression has no such name. */
static int read_input(Job *job, const char *value)
{
    Cli *cli = job->cli;
    char error[ERROR_BYTES];
    Known *known = ARENA_NEW(&cli->arena, Known);
    known->name = job_split_name(cli, value, &known->path);
    if (known->name && !takes_array(job, known->name)) {
        if (access(value, F_OK))
            return fail_name(job, known->name);
        known->name = NULL;
        known->path = value;
    }
    int status = check_twice(job, known);
    if (status)
        return status;
    add_known(job, known);
    if (!npy_open(&known->file, known->path, error, sizeof error))
        return cli_fail(cli, EINC_FAILED, "%s%s", error, strchr(known->path, ',') && access(known->path, F_OK)
                        ? "\nhint: each operand has its own -i" : "");
    known->rank = known->file.array.rank;
    memcpy(known->shape, known->file.array.shape, sizeof known->shape);
    return EINC_OK;
}

/* "2,3,4" or "NAME=2,3,4"; nothing is the shape of a scalar. */
static int read_shape(Job *job, const char *value)
{
    Cli *cli = job->cli;
    const char *text;
    Known *known = ARENA_NEW(&cli->arena, Known);
    known->name = job_split_name(cli, value, &text);
    if (known->name && !takes_array(job, known->name))
        return fail_name(job, known->name);
    while (*text) {
        char *end;
        errno = 0;
        long long size = strtoll(text, &end, 10);
        if (*text < '0' || *text > '9' || errno || known->rank == RANK_MAX || (*end && (*end != ',' || !end[1])))
            return cli_fail(cli, EINC_USAGE, "'%s' is no shape\nhint: as in '--shape 2,3,4' or '--shape Q=2,3,4'; "
                            "a dtype stands in the expression: 'ij:f16', 'Q[i,j]:f16'", value);
        known->shape[known->rank++] = size;
        text = end + (*end == ',');
    }
    int status = check_twice(job, known);
    if (!status)
        add_known(job, known);
    return status;
}

/* The compiler's view of what is known; the arrays grow with it. */
static void set_operands(Job *job)
{
    OperandSpec *operands = ARENA_ARRAY(&job->cli->arena, OperandSpec, job->known_count);
    const int64_t **strides = ARENA_ARRAY(&job->cli->arena, const int64_t *, job->known_count);
    for (int k = 0; k < job->known_count; k++) {
        const Known *known = job->known[k];
        bool array = known->file.memory != NULL;
        operands[k] = (OperandSpec){ known->name, array ? known->file.array.dtype : DTYPE_NONE, known->rank, known->shape };
        strides[k] = array ? known->file.array.stride : NULL;
    }
    job->options.check.operands = operands;
    job->options.check.operand_count = job->known_count;
    job->options.strides = strides;
}

void job_close(Job *job)
{
    for (int k = 0; k < job->known_count; k++)
        npy_close(&job->known[k]->file);
}

/* ---- extents ---- */

static int read_all_extents(Job *job)
{
    Cli *cli = job->cli;
    GivenExtents given = { NULL, NULL, 0, 0 };
    for (int i = 0; i < cli->given_count; i++) {
        bool constant = cli->given[i].id == OPTION_STATIC, gives = constant || cli->given[i].id == OPTION_EXTENTS;
        const char *wrong = gives ? read_extents(&cli->arena, cli->given[i].value, constant, &given) : NULL;
        if (wrong)
            return cli_fail(cli, EINC_USAGE, "%s", wrong);
    }
    give_extents(&given, &job->options);
    return EINC_OK;
}

/* ---- reading ---- */

/* What is part of the command line but not there yet: it is refused, not ignored. */
static int check_unsupported(Cli *cli)
{
    const char *device = option_value(cli, OPTION_DEVICE);
    if (device && strcmp(device, "cpu") && strcmp(device, "cuda"))
        return cli_fail(cli, EINC_USAGE, "there is no device '%s'\nhint: the devices are cpu and cuda", device);
    if (option_given(cli, OPTION_FAST_MATH))
        return cli_fail(cli, EINC_USAGE, "--fast-math: there are no faster and less precise functions yet\nhint: leave it out");
    return EINC_OK;
}

/* The target that the options ask for: that of --target, else the least of a device that a file or --device names. */
static const char *target_name(const Cli *cli)
{
    const char *target = option_value(cli, OPTION_TARGET), *device = option_value(cli, OPTION_DEVICE);
    const char *output = option_value(cli, OPTION_OUTPUT);
    size_t length = output ? strlen(output) : 0;
    bool compiles = cli->command->set == COMPILE, cuda = compiles && length > 3 && !strcmp(output + length - 3, ".cu");
    if (!target && (cuda || (device && !strcmp(device, "cuda"))))
        return grid_targets[0].name;
    if (compiles && (!target || strchr(target, ',')))
        return "portable";        /* of several the last: command_compile.c */
    return target;
}

/* A kernel that is to run here needs a machine that can. */
static int check_target(Cli *cli, const Target *target)
{
    const char *device = option_value(cli, OPTION_DEVICE);
    if (device && !strcmp(device, "cuda") != (target->grid != NULL))
        return cli_fail(cli, EINC_USAGE, "--target %s is not for --device %s", target->name, device);
    if (!(cli->command->set & (RUN | BENCH)) || target_runs_here(target))
        return EINC_OK;
    if (target->grid)
        return cuda_open(cli->context) ? cli_fail_runtime(cli) : EINC_OK;
    return cli_fail(cli, EINC_NO_COMPILER, "this CPU cannot run --target %s: it lacks some of %s\nhint: 'einc doctor' "
                    "says what it has", target->name, target->cpu);
}

/* Prints what a pass made, if it was asked for, and the first time it is made. */
static void print_dump(void *user, const char *pass, const char *text)
{
    Job *job = user;
    const Cli *cli = job->cli;
    int dumped = 0;
    while (job->dumped[dumped])
        if (!strcmp(job->dumped[dumped++], pass))
            return;
    for (int i = 0; i < cli->given_count; i++)
        if (cli->given[i].id == OPTION_DUMP && !strcmp(cli->given[i].value, pass)) {
            fputs(text, stdout);
            job->dumped[dumped] = pass;
            return;
        }
}

static int read_simple_options(Job *job)
{
    Cli *cli = job->cli;
    int status = check_unsupported(cli);
    if (status)
        return status;
    job->options.target = context_target(cli->context, target_name(cli));
    if (!job->options.target)
        return cli_fail_runtime(cli);
    status = check_target(cli, job->options.target);
    if (status)
        return status;
    if (cli->context->cuda && !option_value(cli, OPTION_TARGET))
        job->options.target = cuda_target(cli->context, CUDA_HOST);
    const char *precision = option_value(cli, OPTION_PRECISION);
    int known = precision_find(precision ? precision : "exact");
    if (known < 0)
        return cli_fail(cli, EINC_USAGE, "there is no precision '%s'\nhint: there are exact, bf16x6, bf16x3 and tf32", precision);
    job->options.precision = (Precision)known;
    if (!option_memory(cli, &job->options.memory))
        return EINC_USAGE;
    Text outputs = text_new(&cli->arena);
    int first = 1;
    for (int i = 0; i < cli->given_count; i++)
        if (cli->given[i].id == OPTION_OUTPUTS) {
            text_separate(&outputs, &first, ",");
            text_put(&outputs, cli->given[i].value);
        }
    const char *wrong = read_outputs(&cli->arena, outputs.bytes, &job->options);
    if (wrong)
        return cli_fail(cli, EINC_USAGE, "%s", wrong);
    job->options.name = "einc_kernel";
    job->options.dump = print_dump;
    job->options.user = job;
    return read_all_extents(job);
}

/* Which of `known` each operand has, by place; -1 for none. *left_over is the first of `known` that finds no operand. */
static int *bind(Job *job, int *left_over)
{
    const Expression *e = &job->expression;
    int *of = ARENA_ARRAY(&job->cli->arena, int, e->inputs->operand_count), next = 0;
    *left_over = -1;
    for (int i = 0; i < e->inputs->operand_count; i++)
        of[i] = -1;
    for (int k = 0; k < job->known_count; k++) {
        const Operand *operand = job->known[k]->name ? expression_operand(e, job->known[k]->name) : NULL;
        if (operand)
            of[operand - e->inputs->operands] = k;
    }
    for (int k = 0; k < job->known_count; k++) {
        if (job->known[k]->name)
            continue;
        while (next < e->inputs->operand_count && of[next] >= 0)
            next++;
        if (next < e->inputs->operand_count)
            of[next] = k;
        else if (*left_over < 0)
            *left_over = k;
    }
    return of;
}

/* "ij jk" is one operand of four letters; whoever has more arrays than operands meant two. */
static void hint_blanks(const Job *job, Diags *diags)
{
    const Expression *e = &job->expression;
    for (int i = 0; i < e->inputs->operand_count; i++) {
        const Operand *operand = &e->inputs->operands[i];
        const char *text = e->source.text + operand->span.begin;
        int length = (int)(operand->span.end - operand->span.begin);
        if (operand->name || !memchr(text, ' ', (size_t)length))
            continue;
        diag_hint(diags, "'%.*s' is one operand; between operands stands ','", length, text);
        return;
    }
}

/* Reports operands without an array, and arrays without an operand. */
static int require_operands(Job *job)
{
    const Expression *e = &job->expression;
    int left_over, *of = bind(job, &left_over);
    Diags diags = { .arena = &job->cli->arena, .source = &e->source };
    for (int i = 0; i < e->inputs->operand_count; i++) {
        const Operand *operand = &e->inputs->operands[i];
        if (of[i] >= 0 && job->known[of[i]]->path)
            continue;
        if (operand->name)
            diag_error(&diags, operand->span, "operand '%s' has no array", operand->name);
        else
            diag_error(&diags, operand->span, "operand %d has no array", i + 1);
        if (operand->is_compared)
            diag_hint(&diags, "letters are operands; positions are compared with '@i < @j'");
        else
            diag_hint(&diags, "give it with '-i %s=FILE', or all in order with one -i each", operand->label);
    }
    if (left_over >= 0) {
        const char *path = job->known[left_over]->path;
        diag_error_nowhere(&diags, "the expression has %d operand%s, so '%s' is left over", e->inputs->operand_count,
                           e->inputs->operand_count == 1 ? "" : "s", path ? path : "--shape");
        hint_blanks(job, &diags);
    }
    return cli_fail_diags(job->cli, EINC_USAGE, &diags);
}

/* Only one thing can be read from the standard input, but arrays, which come one after the other. */
static int check_stdin(Cli *cli)
{
    for (int i = 0; i < cli->given_count; i++) {
        const char *value = cli->given[i].value, *is = strchr(value, '=');
        bool standard = cli->given[i].id == OPTION_INPUT && (!strcmp(value, "-") || (is && !strcmp(is, "=-")));
        if (standard && cli->word_count == 1 && !strcmp(cli->words[0], "-"))
            return cli_fail(cli, EINC_USAGE, "the expression and an operand cannot both be the standard input");
    }
    return EINC_OK;
}

int job_read(Cli *cli, Job *job)
{
    *job = (Job){ .cli = cli };
    int status = check_stdin(cli);
    if (!status)
        status = expression_read(cli, &job->expression);
    if (!status)
        status = read_simple_options(job);
    if (status)
        return status;
    for (int i = 0; i < cli->given_count; i++) {
        const Given *given = &cli->given[i];
        int failed = given->id == OPTION_INPUT   ? read_input(job, given->value)
                     : given->id == OPTION_SHAPE ? read_shape(job, given->value)
                                                 : EINC_OK;
        status = status ? status : failed;
    }
    set_operands(job);
    /* After a mistake in -i it is not known for which operand that was. */
    if (cli->command->set == RUN && status != EINC_USAGE && !job->expression.inputs->broken) {
        int missing = require_operands(job);
        status = status ? status : missing;
    }
    return status;
}

/* A statement that the results do without is a mistake, unless names were asked for. */
static void note_unneeded(const Job *job)
{
    const Compiled *c = job->front;
    const Program *p = c->program;
    Cli *cli = job->cli;
    bool *wanted = ARENA_ARRAY(&cli->arena, bool, p->tensor_count);
    for (int i = 0; i < job->options.output_count; i++)
        if (job->options.outputs[i][0])
            return;
    for (int o = 0; o < c->output_count; o++)
        wanted[c->outputs[o]->id] = true;
    const bool *needed = program_needed(&cli->arena, p, wanted);
    const char *last = program_result(p)->outputs[0].tensor->name;
    for (int s = 0; s < p->statement_count; s++) {
        if (needed[s])
            continue;
        const Tensor *tensor = p->statements[s]->outputs[0].tensor;
        Text text = text_new(&cli->arena);
        Diag note = { DIAG_NOTE, true, p->statements[s]->span, NULL, NULL, NULL };
        note.message = arena_format(&cli->arena, "'%s' is not computed, for no result needs it", tensor->name);
        note.hint = arena_format(&cli->arena, "'--outputs %s,%s' asks for both", tensor->name, last ? last : "");
        diag_render(&text, &job->expression.source, &note, cli->colour);
        cli_note(cli, "%s", text.bytes);
    }
}

int job_front(Job *job)
{
    job->front = build_front(job->cli->context, &job->cli->arena, &job->expression.source, &job->options);
    if (!job->front)
        return cli_fail_runtime(job->cli);
    if (!job->noted)
        note_unneeded(job);
    job->noted = true;
    return EINC_OK;
}

int job_known_of(const Job *job, const Tensor *tensor)
{
    const int *places = check_bind(&job->cli->arena, job->front->program, &job->options.check);
    for (int k = 0; k < job->options.check.operand_count; k++)    /* more may be known that the compiler has not been told yet */
        if (places[k] == tensor->id)
            return k;
    return -1;
}

/* ---- shapes from extents ---- */

/* The size that one read needs of an axis: 0 when any will do, -1 when that is not known. */
static int64_t size_of_read(const Extents *extents, const Term *read, const Position *position)
{
    if (position_has_gather(position) || (read->read.in_where && !position_is_plain(position)))
        return 0;
    for (int k = 0; k < position->count; k++)
        if (extents->of[position->parts[k].index->id] <= 0)
            return extents->of[position->parts[k].index->id];
    int64_t least, greatest;
    position_range(extents, position, &least, &greatest);
    return greatest < 0 ? 0 : greatest < INT64_MAX ? greatest + 1 : -1;
}

/* The size that all reads of an axis need; -1 when no read tells. */
static int64_t size_of_axis(const Compiled *front, const Tensor *tensor, int axis)
{
    int64_t size = -1;
    for (int i = 0; i < front->program->term_count; i++) {
        const Term *term = front->program->terms[i];
        if (term->kind != TERM_READ || term->read.tensor != tensor)
            continue;
        const Position *position = &term->read.positions[axis];
        bool tells = !position_has_gather(position) && (!term->read.in_where || position_is_plain(position));
        int64_t needed = size_of_read(front->extents, term, position);
        if (needed < 0)
            return -1;
        if (tells && needed > size)
            size = needed;
    }
    return size;
}

int job_derive_shapes(Job *job)
{
    const Program *p = job->front->program;
    int before = job->known_count;
    for (int i = 0; i < p->input_count; i++) {
        const Tensor *tensor = p->inputs[i];
        if (job_known_of(job, tensor) >= 0)
            continue;
        Known *known = ARENA_NEW(&job->cli->arena, Known);
        known->name = tensor->label;
        known->rank = tensor->rank;
        for (int a = 0; a < tensor->rank; a++)
            known->shape[a] = size_of_axis(job->front, tensor, a);
        add_known(job, known);
    }
    if (job->known_count == before)
        return EINC_OK;
    set_operands(job);
    return job_front(job);
}

/* Sizes that only a shape can tell: of what is read at positions that come from data. */
static void require_sizes(const Job *job, Diags *diags)
{
    const Program *p = job->front->program;
    for (int i = 0; i < p->input_count; i++)
        for (int a = 0; a < p->inputs[i]->rank; a++) {
            if (job->front->extents->shape[p->inputs[i]->id][a] >= 0)
                continue;
            diag_error(diags, p->inputs[i]->span, "the size of axis %d of %s is not known", a,
                       tensor_words(&job->cli->arena, p->inputs[i]));
            diag_hint(diags, "give its shape, as in '--shape %s=%s'", p->inputs[i]->label, p->inputs[i]->rank == 1 ? "100" : "100,20");
            break;
        }
}

int job_require_extents(Job *job)
{
    const Extents *extents = job->front->extents;
    Diags diags = { .arena = &job->cli->arena, .source = &job->expression.source };
    bool indices = true;
    for (int i = 0; i < job->front->program->index_count; i++)
        indices &= extents->of[i] >= 0;
    if (indices)
        require_sizes(job, &diags);
    if (!diags.errors)
        extents_require(extents, &diags);
    return cli_fail_diags(job->cli, EINC_EXPRESSION, &diags);
}

/* ---- the budget ---- */

int job_check_budget(Job *job, const Compiled *compiled)
{
    Cost cost = plan_cost(compiled->plan, compiled->extents, 1);
    if (!job->options.memory || cost.smallest < 0 || cost.smallest <= job->options.memory)
        return EINC_OK;
    return cli_fail(job->cli, EINC_BUDGET, "the kernel needs at least %lld bytes beyond operands and results, but the budget "
                    "is %s\nhint: the smallest that can be met is '--memory %lld'", (long long)cost.smallest,
                    option_value(job->cli, OPTION_MEMORY), (long long)cost.smallest);
}
