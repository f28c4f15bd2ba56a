/* Runs the evaluator on whole arrays, one job a line, so that thousands of expressions need one process only.
 *
 * A job is fields with tabs between them, in which \t, \n and \\ stand for those characters:
 *
 *     expression  [-d index=extent]…  [-i [NAME=]in.npy]…  [-r result.npy]…  [-p 1]  -o prefix
 *
 * For the k-th output (from 0) it writes prefix.k.value.npy (int64, float64 or complex128), prefix.k.bound.npy and
 * prefix.k.state.npy: per element 0, 1 where the value is open, 2 where a read was out of range, plus 4 where a zero or
 * an infinity may have the other sign. With -r, the k-th result in the output's dtype as a kernel made it,
 * prefix.k.accepted.npy says which elements are right. With -p 1, the Program must print as text that is read as the
 * same Program.
 *
 * The answer is one line: "ok" and for each output its dtype and shape, as "\tf32 3,4"; or "refused\tmessage" for an
 * expression or shapes that the compiler does not take; or "failed\tmessage". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "npy.h"

enum { FIELDS_MAX = 256, ARRAYS_MAX = 64, ERROR_BYTES = 512 };

typedef struct Job {
    Arena arena;
    const char *expression, *prefix;
    ExtentSpec extents[FIELDS_MAX];
    OperandSpec operands[ARRAYS_MAX];
    NpyFile files[ARRAYS_MAX], results[ARRAYS_MAX];
    int extent_count, operand_count, result_count;
    bool prints;
    char error[ERROR_BYTES];
} Job;

/* ---- the line ---- */

static void unescape(char *field)
{
    char *to = field;
    for (const char *from = field; *from; from++) {
        if (*from == '\\' && from[1]) {
            from++;
            *to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
}

static bool open_array(Job *job, NpyFile *file, const char *path)
{
    return npy_open(file, path, job->error, sizeof job->error);
}

static bool add_operand(Job *job, char *field)
{
    char *equals = strchr(field, '='), *path = equals ? equals + 1 : field;
    int k = job->operand_count;
    if (k == ARRAYS_MAX || !open_array(job, &job->files[k], path))
        return false;
    if (equals)
        *equals = 0;
    const Array *array = &job->files[k].array;
    job->operands[k] = (OperandSpec){ equals ? field : NULL, array->dtype, array->rank, array->shape };
    job->operand_count++;
    return true;
}

static bool add_option(Job *job, const char *option, char *field)
{
    char *equals = strchr(field, '=');
    if (!strcmp(option, "-d") && equals) {
        *equals = 0;
        job->extents[job->extent_count++] = (ExtentSpec){ .name = field, .extent = atoll(equals + 1) };
    } else if (!strcmp(option, "-i")) {
        return add_operand(job, field);
    } else if (!strcmp(option, "-r") && job->result_count < ARRAYS_MAX) {
        return open_array(job, &job->results[job->result_count++], field);
    } else if (!strcmp(option, "-p")) {
        job->prints = atoi(field) != 0;
    } else if (!strcmp(option, "-o")) {
        job->prefix = field;
    } else {
        snprintf(job->error, sizeof job->error, "no such option: %s %s", option, field);
        return false;
    }
    return true;
}

static bool read_job(Job *job, char *line)
{
    char *fields[FIELDS_MAX];
    int count = 0;
    for (char *field = line; field && count < FIELDS_MAX;) {
        char *tab = strchr(field, '\t');
        if (tab)
            *tab = 0;
        unescape(field);
        fields[count++] = field;
        field = tab ? tab + 1 : NULL;
    }
    job->expression = fields[0];
    for (int i = 1; i + 1 < count; i += 2)
        if (!add_option(job, fields[i], fields[i + 1]))
            return false;
    return true;
}

/* ---- the program ---- */

static void report(const Diags *diags)
{
    printf("refused\t%s\n", diags->first ? diags->first->message : "");
}

static Program *compile(Job *job, const char *text, Diags *diags)
{
    Source *source = ARENA_NEW(&job->arena, Source);
    *source = (Source){ "expr", text, strlen(text) };
    *diags = (Diags){ .arena = &job->arena, .source = source };
    CheckOptions options = { job->operands, job->operand_count, job->extents, job->extent_count };
    Ast *ast = parse(&job->arena, source, diags);
    return ast ? check(&job->arena, ast, &options, diags) : NULL;
}

/* What a Program prints must be the same Program. */
static bool prints_itself(Job *job, const Program *program)
{
    Text text = text_new(&job->arena);
    Diags diags;
    program_print(&text, program);
    Program *again = compile(job, text.bytes, &diags);
    if (again && program_equal(program, again))
        return true;
    printf("failed\tit prints as another program: ");
    for (const char *c = text.bytes; *c; c++)
        putchar(*c == '\n' ? ';' : *c);
    printf(" %s\n", diags.first ? diags.first->message : "");
    return false;
}

/* The arrays by tensor: by name first, then in the order of the inputs. */
static void bind_arrays(Job *job, const Program *program, const Array **arrays)
{
    for (int i = 0; i < job->operand_count; i++) {
        const char *name = job->operands[i].name;
        for (int t = 0; name && t < program->tensor_count; t++) {
            const Tensor *tensor = program->tensors[t];
            if (!strcmp(tensor->label, name) && (tensor->input >= 0 || tensor->from_caller))
                arrays[t] = &job->files[i].array;
        }
    }
    int input = 0;
    for (int i = 0; i < job->operand_count; i++) {
        if (job->operands[i].name)
            continue;
        while (input < program->input_count && arrays[program->inputs[input]->id])
            input++;
        if (input < program->input_count)
            arrays[program->inputs[input]->id] = &job->files[i].array;
    }
}

/* ---- the outputs ---- */

typedef struct Table {
    NpyWriter value, bound, state, accepted;
} Table;

static bool create(Job *job, NpyWriter *writer, int k, const char *what, Dtype dtype, const Array *shape)
{
    char *path = arena_format(&job->arena, "%s.%d.%s.npy", job->prefix, k, what);
    return npy_create(writer, path, dtype, shape->rank, shape->shape, job->error, sizeof job->error);
}

static bool commit(Job *job, NpyWriter *writer)
{
    return !writer->memory || npy_commit(writer, job->error, sizeof job->error);
}

static void fill(Evaluator *e, const Output *output, const NpyFile *result, const int64_t *position, Table *table)
{
    Value value;
    bool failed, done = evaluator_element(e, output, position, &value);
    array_store(table->value.array.dtype, array_at(&table->value.array, position),
                (Number){ value.re, value.im, value.integer });
    array_store(DTYPE_F64, array_at(&table->bound.array, position), (Number){ .re = value.bound });
    int64_t state = !done ? 2 : value.open + 4 * value.either;
    array_store(DTYPE_I8, array_at(&table->state.array, position), (Number){ (double)state, 0, state });
    if (!result)
        return;
    bool accepted = evaluator_accepts(e, output, position, array_at(&result->array, position), &failed);
    array_store(DTYPE_BOOL, array_at(&table->accepted.array, position), (Number){ .re = accepted });
}

static bool is_result_for(Job *job, const Array *result, const Array *shape)
{
    if (result->dtype == shape->dtype && result->rank == shape->rank &&
        !memcmp(result->shape, shape->shape, (size_t)shape->rank * sizeof *shape->shape))
        return true;
    snprintf(job->error, sizeof job->error, "the result has another dtype or shape");
    return false;
}

static bool evaluate_output(Job *job, Evaluator *e, const Extents *extents, const Output *output, int k)
{
    const Tensor *tensor = output->tensor;
    Array shape = { .rank = tensor->rank, .dtype = tensor->dtype };
    Kind kind = dtype_kind(tensor->dtype);
    memcpy(shape.shape, extents->shape[tensor->id], (size_t)tensor->rank * sizeof *shape.shape);
    const NpyFile *result = k < job->result_count ? &job->results[k] : NULL;
    Table table = { 0 };
    if ((result && !is_result_for(job, &result->array, &shape)) ||
        !create(job, &table.value, k, "value",
                kind == KIND_COMPLEX ? DTYPE_C128 : kind == KIND_FLOAT ? DTYPE_F64 : DTYPE_I64, &shape) ||
        !create(job, &table.bound, k, "bound", DTYPE_F64, &shape) ||
        !create(job, &table.state, k, "state", DTYPE_I8, &shape) ||
        (result && !create(job, &table.accepted, k, "accepted", DTYPE_BOOL, &shape)))
        return false;
    int64_t position[RANK_MAX] = { 0 };
    for (bool more = array_count(&shape) > 0; more; more = array_next(&shape, position))
        fill(e, output, result, position, &table);
    return commit(job, &table.value) && commit(job, &table.bound) && commit(job, &table.state) &&
           commit(job, &table.accepted);
}

static bool evaluate_program(Job *job, const Program *program, const Extents *extents, const Array *const *arrays)
{
    const Statement *result = program_result(program);
    Evaluator *e = evaluator_new(program, extents, arrays);
    bool done = e != NULL;
    for (int k = 0; k < result->output_count && done; k++)
        done = evaluate_output(job, e, extents, &result->outputs[k], k);
    evaluator_free(e);
    if (!done)
        return false;
    printf("ok");
    for (int k = 0; k < result->output_count; k++) {
        const Tensor *tensor = result->outputs[k].tensor;
        printf("\t%s ", dtype_name(tensor->dtype));
        for (int a = 0; a < tensor->rank; a++)
            printf("%s%lld", a ? "," : "", (long long)extents->shape[tensor->id][a]);
    }
    putchar('\n');
    return true;
}

static bool run_job(Job *job, char *line)
{
    Diags diags;
    if (!read_job(job, line))
        return false;
    Program *program = compile(job, job->expression, &diags);
    if (!program) {
        report(&diags);
        return true;
    }
    const char *broken = program_verify(program);
    if (broken) {
        snprintf(job->error, sizeof job->error, "the program is not valid: %s", broken);
        return false;
    }
    if (job->prints && !prints_itself(job, program))
        return true;
    const Array **arrays = ARENA_ARRAY(&job->arena, const Array *, program->tensor_count);
    const int64_t **shapes = ARENA_ARRAY(&job->arena, const int64_t *, program->tensor_count);
    bind_arrays(job, program, arrays);
    for (int t = 0; t < program->tensor_count; t++)
        shapes[t] = arrays[t] ? arrays[t]->shape : NULL;
    Extents *extents = extents_infer(&job->arena, program, shapes, job->extents, job->extent_count, &diags);
    if (!extents || !extents_require(extents, &diags)) {
        report(&diags);
        return true;
    }
    return evaluate_program(job, program, extents, arrays);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        jmp_buf failed;
        Job *job = calloc(1, sizeof *job);
        if (!job)
            return 1;
        job->arena.failed = &failed;
        if (line[length - 1] == '\n')
            line[length - 1] = 0;
        if (setjmp(failed))
            printf("failed\tout of memory\n");
        else if (!run_job(job, line))
            printf("failed\t%s\n", job->error);
        fflush(stdout);
        for (int i = 0; i < ARRAYS_MAX; i++) {
            npy_close(&job->files[i]);
            npy_close(&job->results[i]);
        }
        arena_free(&job->arena);
        free(job);
    }
    free(line);
    return 0;
}
