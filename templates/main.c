/* The skeleton of a program around a generated kernel: operands from .npy files, results into .npy files. The sample
 * calls the sample kernel. */
#include "kernel.c"
//---

/* ---- a program: operands from .npy files, results into .npy files; all of it is called main_… ---- */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAIN_RANK = 64 };

/* What an array is to the kernel: an operand, a result, a result that is added to what it was, or the size of a temporary. */
typedef enum { MAIN_INPUT, MAIN_OUTPUT, MAIN_ADDED, MAIN_SHAPE } MainRole;

typedef struct MainFacts {
    MainRole role;
    const char *name;             /* on the command line */
    const char *dtype, *code;     /* for messages; and as .npy spells it, behind the byte order */
    size_t size;                  /* of an element */
    int rank;
    int place;                    /* of a result: which -o it is */
} MainFacts;

typedef struct MainArray {
    const char *path;             /* of the file to read; NULL: none was given */
    int known;                    /* its shape is */
    char *data, *memory;          /* `data` is in `memory` */
    int64_t shape[MAIN_RANK], stride[MAIN_RANK];
} MainArray;

//{ kernel
enum { MAIN_ARRAYS = 2, MAIN_EXTENTS = 0 };

static const MainFacts main_facts[MAIN_ARRAYS] = {
    { MAIN_INPUT, "x", "f32", "f4", 4, 1, 0 },
    { MAIN_OUTPUT, "out", "f32", "f4", 4, 1, 0 },
};

/* Array and axis of what is added to, array and axis of an operand: they have the same size. */
static const int main_same_axes[][4] = { { -1, 0, 0, 0 } };

/* Extents that no operand fixes. */
static const char *const main_extent_names[MAIN_EXTENTS + 1] = { NULL };

typedef sample_args MainArgs;

static int main_workspace(const MainArgs *args, size_t *bytes)
{
    return sample_workspace(args, 1, bytes);
}

static int main_kernel(const MainArgs *args, void *workspace, size_t bytes)
{
    return sample(args, workspace, bytes, NULL);
}
//}

static MainArray main_arrays[MAIN_ARRAYS + 1];
static int64_t main_extents[MAIN_EXTENTS + 1];
static const char *main_outputs[MAIN_ARRAYS + 1];    /* the files to write, in order */
static int main_output_count;

static int main_fail(int status, const char *about, const char *message, const char *more)
{
    fprintf(stderr, "error: %s%s%s%s\n", about, *about ? ": " : "", message, more);
    return status;
}

/* ---- .npy files ---- */

static char main_byte_order(void)
{
    const uint16_t one = 1;
    char first;
    memcpy(&first, &one, 1);
    return first ? '<' : '>';
}

/* A whole file, or NULL. */
static char *main_load(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL, *more;
    size_t room = 0, got = 1;
    *bytes = 0;
    while (file && got) {
        if (*bytes == room) {
            room = room ? 2 * room : 65536;
            more = (char *)realloc(text, room);
            if (!more)
                break;
            text = more;
        }
        got = fread(text + *bytes, 1, room - *bytes, file);
        *bytes += got;
    }
    if (!file || got || ferror(file)) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

/* What stands behind a key of the header; "" when it has none. */
static const char *main_header_value(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at)
        return "";
    at += strlen(key);
    return at + strspn(at, " :");
}

/* The number of elements; -1 when it is too large. */
static int64_t main_count(const MainArray *array, int rank, size_t size)
{
    int64_t count = 1;
    for (int a = 0; a < rank; a++) {
        if (array->shape[a] > 0 && count > (int64_t)(PTRDIFF_MAX / size) / array->shape[a])
            return -1;
        count *= array->shape[a];
    }
    return count;
}

static void main_lay_out(MainArray *array, int rank, int fortran)
{
    int64_t stride = 1;
    for (int i = 0; i < rank; i++) {
        int axis = fortran ? i : rank - 1 - i;
        array->stride[axis] = stride;
        stride *= array->shape[axis] > 1 ? array->shape[axis] : 1;
    }
}

static int main_check_dtype(const MainFacts *facts, const char *path, const char *descr)
{
    char text[200];
    size_t length = strcspn(descr + 1, "'\"") + 1;
    int one = facts->size == 1 || facts->code[0] == 'V';
    if (*descr == '\'' && strlen(facts->code) + 2 == length && !strncmp(descr + 2, facts->code, length - 2)) {
        if (descr[1] == main_byte_order() || descr[1] == '=' || (one && descr[1] == '|'))
            return 0;
        return main_fail(1, path, "the numbers have the other byte order", "");
    }
    int quoted = *descr == '\'' && length < 20;
    snprintf(text, sizeof text, "the dtype is %.*s, but '%.60s' is %s ('%c%s')", quoted ? (int)length + 1 : 7,
             quoted ? descr : "another", facts->name, facts->dtype, main_byte_order(), facts->code);
    return main_fail(3, path, text, "");
}

static int main_read_shape(MainArray *array, const MainFacts *facts, const char *path, const char *shape)
{
    char text[200], *end;
    int rank = 0;
    shape += *shape == '(';
    for (shape += strspn(shape, " "); *shape >= '0' && *shape <= '9'; rank++) {
        int64_t size = strtoll(shape, &end, 10);
        if (rank < MAIN_RANK)
            array->shape[rank] = size;
        shape = end + strspn(end, "L, ");
    }
    if (rank == facts->rank)
        return 0;
    snprintf(text, sizeof text, "the array has %d dimensions, but '%.60s' has %d", rank, facts->name, facts->rank);
    return main_fail(3, path, text, "");
}

/* Reads an array; its data stay where the file was read. */
static int main_read(int which)
{
    const MainFacts *facts = &main_facts[which];
    MainArray *array = &main_arrays[which];
    const char *path = array->path;
    size_t bytes, begin = 10, length;
    char *text = main_load(path, &bytes);
    const unsigned char *file = (const unsigned char *)text;
    array->memory = text;
    if (!text)
        return main_fail(1, path, "cannot be read", "");
    if (bytes < 12 || memcmp(text, "\x93NUMPY", 6))
        return main_fail(1, path, "is no .npy file", "");
    length = file[8] | (size_t)file[9] << 8;
    if (file[6] > 1) {
        length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
        begin = 12;
    }
    if (length < 1 || length > bytes - begin)
        return main_fail(1, path, "is truncated", "");
    char *header = text + begin;
    header[length - 1] = 0;    /* the newline */
    const char *descr = main_header_value(header, "'descr'");
    int status = main_check_dtype(facts, path, *descr ? descr : "nothing");
    if (!status)
        status = main_read_shape(array, facts, path, main_header_value(header, "'shape'"));
    if (status)
        return status;
    int64_t count = main_count(array, facts->rank, facts->size);
    if (count < 0 || (size_t)count > (bytes - begin - length) / facts->size)
        return main_fail(1, path, "is truncated", "");
    main_lay_out(array, facts->rank, *main_header_value(header, "'fortran_order'") == 'T');
    array->data = text + begin + length;
    array->known = 1;
    return 0;
}

/* Where a file is written until it is whole, so that nobody sees half of one; NULL: in its place, as a device or a pipe. */
static char *main_beside(const char *path)
{
    struct stat old;
    char *beside = stat(path, &old) || S_ISREG(old.st_mode) ? (char *)malloc(strlen(path) + 6) : NULL;
    if (beside)
        strcat(strcpy(beside, path), ".part");
    return beside;
}

static int main_write(int which, const char *path)
{
    const MainFacts *facts = &main_facts[which];
    const MainArray *array = &main_arrays[which];
    char header[MAIN_RANK * 22 + 256];
    int length = snprintf(header, sizeof header, "\x93NUMPY%c%c  {'descr': '%c%s', 'fortran_order': False, 'shape': (", 1, '.',
                          facts->size == 1 ? '|' : main_byte_order(), facts->code);
    header[7] = 0;
    for (int a = 0; a < facts->rank; a++)
        length += snprintf(header + length, sizeof header - (size_t)length, a ? " %lld," : "%lld,", (long long)array->shape[a]);
    length -= facts->rank > 1;
    length += snprintf(header + length, sizeof header - (size_t)length, "), }");
    while ((length + 1) % 64)
        header[length++] = ' ';
    header[length++] = '\n';
    header[8] = (char)((length - 10) & 0xFF);
    header[9] = (char)((length - 10) >> 8);
    size_t bytes = (size_t)main_count(array, facts->rank, facts->size) * facts->size;
    char *beside = main_beside(path);
    const char *place = beside ? beside : path;
    FILE *file = fopen(place, "wb");
    int ok = file && fwrite(header, 1, (size_t)length, file) == (size_t)length && fwrite(array->data, 1, bytes, file) == bytes;
    if (file && fclose(file))
        ok = 0;
    if (ok && beside && rename(beside, path))
        ok = 0;
    if (!ok && file && beside)
        remove(beside);
    free(beside);
    return ok ? 0 : main_fail(1, path, "cannot be written", "");
}

/* ---- shapes ---- */

/* The kernel's view of the arrays. */
static void main_fill(MainArgs *args)
{
    memset(args, 0, sizeof *args);
    //{ arguments
    args->x.data = (const float *)main_arrays[0].data;
    memcpy(args->x.shape, main_arrays[0].shape, sizeof args->x.shape);
    memcpy(args->x.stride, main_arrays[0].stride, sizeof args->x.stride);
    args->out.data = (float *)main_arrays[1].data;
    memcpy(args->out.shape, main_arrays[1].shape, sizeof args->out.shape);
    memcpy(args->out.stride, main_arrays[1].stride, sizeof args->out.stride);
    //}
}

/* Where no array is given to add to, each axis has the size of an operand's; 1 gives way to any other. */
static void main_guess_shapes(void)
{
    for (const int (*same)[4] = main_same_axes; (*same)[0] >= 0; same++) {
        MainArray *array = &main_arrays[(*same)[0]];
        int64_t *size = &array->shape[(*same)[1]];
        if (!array->known && (*size < 0 || *size == 1))
            *size = main_arrays[(*same)[2]].shape[(*same)[3]];
    }
}

/* What is added to comes from its file, in whatever order that has it. */
static void main_copy(const MainFacts *facts, const MainArray *array, char *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, from = 0;
        for (int a = facts->rank - 1; a >= 0; a--) {
            from += rest % array->shape[a] * array->stride[a];
            rest /= array->shape[a];
        }
        memcpy(to + (size_t)i * facts->size, array->data + (size_t)from * facts->size, facts->size);
    }
}

static int main_make(int which)
{
    const MainFacts *facts = &main_facts[which];
    MainArray *array = &main_arrays[which];
    for (int a = 0; a < facts->rank; a++)
        if (array->shape[a] < 0)
            return main_fail(2, facts->name, "its shape is not known; give the array that is added to, or --shape ", facts->name);
    int64_t count = main_count(array, facts->rank, facts->size);
    if (count < 0)
        return main_fail(3, facts->name, "the array would be too large", "");
    if (facts->role != MAIN_SHAPE) {
        char *data = (char *)calloc((size_t)count + 1, facts->size);
        if (!data)
            return main_fail(1, facts->name, "there is no memory for the array", "");
        if (array->path)
            main_copy(facts, array, data, count);
        free(array->memory);
        array->data = array->memory = data;
    }
    main_lay_out(array, facts->rank, 0);
    return 0;
}

/* The shapes of results are the extents that the kernel itself infers. */
static int main_make_outputs(MainArgs *args)
{
    Frame frame;
    int status = 0;
    main_guess_shapes();
    for (int k = 0; k < MAIN_ARRAYS && !status; k++)
        if (main_facts[k].role == MAIN_ADDED || main_facts[k].role == MAIN_SHAPE)
            status = main_make(k);
    main_fill(args);
    prepare(&frame, args, 1);    /* fails, as the results have no shapes yet */
    //{ shapes
    main_arrays[1].shape[0] = frame.extent_i;
    //}
    for (int k = 0; k < MAIN_ARRAYS && !status; k++)
        if (main_facts[k].role == MAIN_OUTPUT)
            status = main_make(k);
    main_fill(args);
    return status;
}

/* ---- the kernel ---- */

/* What a kernel's status means. */
static int main_explain(int status)
{
    if (status <= OUT_OF_RANGE)
        return main_fail(3, "", "a position is out of range", "");
    if (status == BAD_MACHINE)
        return main_fail(6, "", "this machine lacks what the program is for", "");
    if (status != BAD_SHAPES)
        return main_fail(1, "", status == BAD_WORKSPACE ? "the workspace would be too large" : "the kernel failed", "");
    main_fail(3, "", "the shapes do not fit together", "");
    for (int k = 0; k < MAIN_ARRAYS; k++) {
        fprintf(stderr, "note: '%s' is (", main_facts[k].name);
        for (int a = 0; a < main_facts[k].rank; a++)
            fprintf(stderr, a ? ", %lld" : "%lld", (long long)main_arrays[k].shape[a]);
        fprintf(stderr, ")\n");
    }
    return 3;
}

static int main_run(void)
{
    MainArgs args;
    size_t bytes = 0;
    main_fill(&args);
    int status = main_make_outputs(&args);
    if (status)
        return status;
    status = main_workspace(&args, &bytes);
    if (status)
        return main_explain(status);
    char *memory = (char *)malloc(bytes + 64);
    if (!memory)
        return main_fail(1, "", "there is no memory for the workspace", "");
    status = main_kernel(&args, memory + (64 - (uintptr_t)memory % 64), bytes);
    free(memory);
    if (status)
        return main_explain(status);
    for (int k = 0; k < MAIN_ARRAYS && !status; k++)
        if (main_facts[k].role == MAIN_OUTPUT || main_facts[k].role == MAIN_ADDED)
            status = main_write(k, main_outputs[main_facts[k].place]);
    return status;
}

/* ---- the command line ---- */

static int main_usage(const char *program)
{
    fprintf(stderr, "usage: %s", program);
    for (int k = 0; k < MAIN_ARRAYS; k++)
        if (main_facts[k].role == MAIN_INPUT)
            fprintf(stderr, " [%s=]FILE.npy", main_facts[k].name);
        else if (main_facts[k].role == MAIN_ADDED)
            fprintf(stderr, " [%s=FILE.npy]", main_facts[k].name);
    for (int k = 0; k < MAIN_ARRAYS; k++)
        if (main_facts[k].role == MAIN_OUTPUT || main_facts[k].role == MAIN_ADDED)
            fprintf(stderr, " -o FILE.npy");
    for (int e = 0; e < MAIN_EXTENTS; e++)
        fprintf(stderr, " -d %s=N", main_extent_names[e]);
    fprintf(stderr, "\n");
    return 2;
}

/* The array of that name, or -1. */
static int main_find(const char *name, size_t length)
{
    for (int k = 0; k < MAIN_ARRAYS; k++)
        if (strlen(main_facts[k].name) == length && !strncmp(main_facts[k].name, name, length))
            return k;
    return -1;
}

/* FILE or NAME=FILE. */
static int main_take_file(const char *argument)
{
    const char *is = strchr(argument, '=');
    int which = is ? main_find(argument, (size_t)(is - argument)) : -1;
    if (which >= 0 && (main_facts[which].role == MAIN_INPUT || main_facts[which].role == MAIN_ADDED))
        argument = is + 1;
    else
        for (which = 0; which < MAIN_ARRAYS && (main_facts[which].role != MAIN_INPUT || main_arrays[which].path); which++)
            ;
    if (which == MAIN_ARRAYS)
        return main_fail(2, argument, "the kernel has no operand for this file", "");
    main_arrays[which].path = argument;
    return 0;
}

/* I=N: every extent of that name. */
static int main_take_extent(const char *argument)
{
    const char *is = strchr(argument, '=');
    char *end;
    int64_t extent = is ? strtoll(is + 1, &end, 10) : -1;
    int found = 0;
    for (int e = 0; e < MAIN_EXTENTS && is && extent >= 0 && !*end; e++) {
        size_t length = strlen(main_extent_names[e]);
        if (length == (size_t)(is - argument) && !strncmp(argument, main_extent_names[e], length)) {
            main_extents[e] = extent;
            found = 1;
        }
    }
    return found ? 0 : main_fail(2, argument, "is no extent of the kernel's", "");
}

/* NAME=N,N: what is added to begins as zeros of that shape. */
static int main_take_shape(const char *argument)
{
    const char *is = strchr(argument, '=');
    int which = is ? main_find(argument, (size_t)(is - argument)) : -1, rank = 0;
    if (which < 0 || main_facts[which].role == MAIN_INPUT || main_facts[which].role == MAIN_OUTPUT)
        return main_fail(2, argument, "nothing of that name needs a shape", "");
    for (const char *at = is + 1; *at >= '0' && *at <= '9' && rank < MAIN_RANK; rank++) {
        char *end;
        main_arrays[which].shape[rank] = strtoll(at, &end, 10);
        at = end + (*end == ',');
    }
    main_arrays[which].known = 1;
    return rank == main_facts[which].rank ? 0 : main_fail(2, argument, "the shape has another number of axes", "");
}

static int main_take(int argc, char **argv)
{
    int status = 0;
    for (int i = 1; i < argc && !status; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "-o") && value && main_output_count < MAIN_ARRAYS)
            main_outputs[main_output_count++] = argv[++i];
        else if (!strcmp(argv[i], "-d") && value)
            status = main_take_extent(argv[++i]);
        else if (!strcmp(argv[i], "--shape") && value)
            status = main_take_shape(argv[++i]);
        else if (argv[i][0] == '-')
            status = main_usage(argv[0]);
        else
            status = main_take_file(argv[i]);
    }
    return status;
}

int main(int argc, char **argv)
{
    int outputs = 0;
    for (int e = 0; e < MAIN_EXTENTS; e++)
        main_extents[e] = -1;
    for (int k = 0; k < MAIN_ARRAYS; k++)
        for (int a = 0; a < main_facts[k].rank && main_facts[k].role != MAIN_OUTPUT; a++)
            main_arrays[k].shape[a] = -1;
    int status = main_take(argc, argv);
    if (status)
        return status;
    for (int k = 0; k < MAIN_ARRAYS; k++) {
        outputs += main_facts[k].role == MAIN_OUTPUT || main_facts[k].role == MAIN_ADDED;
        if (main_facts[k].role == MAIN_INPUT && !main_arrays[k].path)
            status = main_fail(2, main_facts[k].name, "this operand has no file", "");
    }
    for (int e = 0; e < MAIN_EXTENTS; e++)
        if (main_extents[e] < 0)
            status = main_fail(2, main_extent_names[e], "the extent of this index is not known; give it with -d", "");
    if (outputs != main_output_count)
        status = main_fail(2, "", "each result needs a file: -o FILE", "");
    if (status)
        return main_usage(argv[0]);
    for (int k = 0; k < MAIN_ARRAYS; k++) {
        int failed = main_arrays[k].path ? main_read(k) : 0;
        status = status ? status : failed;
    }
    status = status ? status : main_run();
    for (int k = 0; k < MAIN_ARRAYS; k++)
        free(main_arrays[k].memory);
    return status;
}
